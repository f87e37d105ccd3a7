/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "base/fmt.h"
#include "report/reuse.h"

#define WIDTH 900.0
#define HEIGHT 300.0
#define LEFT 70.0
#define TOP 40.0

static void put_text(FILE *f, const char *s)
{
	for (; *s; s++) {
		if (*s == '<')
			fputs("&lt;", f);
		else if (*s == '&')
			fputs("&amp;", f);
		else if ((unsigned char)*s >= ' ')
			fputc(*s, f);
	}
}

/* Sizes by their logarithm. */
static double across(const struct reuse_point *point, size_t n, double bytes)
{
	double from = log2(point[0].bytes), to = log2(point[n - 1].bytes);

	return LEFT + WIDTH * (to > from ? (log2(bytes) - from) / (to - from) : 0);
}

static void put_marks(FILE *f, const struct reuse_point *point, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double x = across(point, n, point[i].bytes);

		if (!point[i].mark)
			continue;
		fprintf(f,
			"<path d=\"M%.2f %.0fV%.0f\" stroke=\"#c44\" stroke-dasharray=\"4 3\"/>\n"
			"<text x=\"%.2f\" y=\"%.0f\" fill=\"#c44\">",
			x, TOP, TOP + HEIGHT, x + 4, TOP + 12);
		put_text(f, point[i].mark);
		fprintf(f, " %.2f %%</text>\n", 100 * point[i].ratio);
	}
}

int reuse_svg(const char *path, const struct reuse_point *point, size_t n, const char *title,
	      struct err *err)
{
	char text[32];
	FILE *f = fopen(path, "we");

	if (!f)
		return err_sys(err, "cannot write %s", path);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n<text x=\"%.0f\" y=\"20\">",
		LEFT + WIDTH + 20, TOP + HEIGHT + 50, LEFT);
	put_text(f, title);
	fputs("</text>\n<path fill=\"none\" stroke=\"#4477aa\" stroke-width=\"2\" d=\"", f);
	for (size_t i = 0; i < n; i++) {
		double y = TOP + HEIGHT * (1 - point[i].ratio);

		fprintf(f, i ? "H%.2fV%.2f" : "M%.2f %.2f", across(point, n, point[i].bytes), y);
	}
	fprintf(f, "\"/>\n<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#444\"/>\n", LEFT,
		TOP, TOP + HEIGHT, LEFT + WIDTH);
	put_marks(f, point, n);
	for (int i = 0; i <= 4; i++)
		fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%d %%</text>\n",
			LEFT - 6, TOP + HEIGHT * (1 - i / 4.0) + 4, 25 * i);
	for (size_t i = 0; i<n; i += n> 1 ? n - 1 : 1)
		fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n",
			across(point, n, point[i].bytes), TOP + HEIGHT + 20, i ? "end" : "start",
			fmt_size((uint64_t)point[i].bytes, text, sizeof(text)));
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">cache size</text>\n</svg>\n",
		LEFT + WIDTH / 2, TOP + HEIGHT + 40);
	if (fclose(f)) {
		err_sys(err, "cannot write %s", path);
		return err_hint(err, "is the disk full?");
	}
	return 0;
}
