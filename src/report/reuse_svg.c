/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>

#include "base/fmt.h"
#include "report/reuse.h"
#include "report/svg.h"

/* Horizontal position of a size, by its logarithm. */
static double across(const struct reuse_point *point, size_t n, double bytes)
{
	double from = log2(point[0].bytes), to = log2(point[n - 1].bytes);

	return SVG_LEFT + SVG_WIDTH * (to > from ? (log2(bytes) - from) / (to - from) : 0);
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
			x, SVG_TOP, SVG_TOP + SVG_HEIGHT, x + 4, SVG_TOP + 12);
		svg_text(f, point[i].mark);
		fprintf(f, " %.2f %%</text>\n", 100 * point[i].ratio);
	}
}

int reuse_svg(const char *path, const struct reuse_point *point, size_t n, const char *title,
	      struct err *err)
{
	char text[32];
	FILE *f = svg_open(path, title, err);

	if (!f)
		return -1;
	fputs("<path fill=\"none\" stroke=\"#4477aa\" stroke-width=\"2\" d=\"", f);
	for (size_t i = 0; i < n; i++) {
		double y = SVG_TOP + SVG_HEIGHT * (1 - point[i].ratio);

		fprintf(f, i ? "H%.2fV%.2f" : "M%.2f %.2f", across(point, n, point[i].bytes), y);
	}
	fputs("\"/>\n", f);
	put_marks(f, point, n);
	for (int i = 0; i <= 4; i++)
		fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%d %%</text>\n",
			SVG_LEFT - 6, SVG_TOP + SVG_HEIGHT * (1 - i / 4.0) + 4, 25 * i);
	for (size_t i = 0; i<n; i += n> 1 ? n - 1 : 1)
		fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n",
			across(point, n, point[i].bytes), SVG_TOP + SVG_HEIGHT + 20,
			i ? "end" : "start",
			fmt_size((uint64_t)point[i].bytes, text, sizeof(text)));
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">cache size</text>\n",
		SVG_LEFT + SVG_WIDTH / 2, SVG_TOP + SVG_HEIGHT + 40);
	return svg_close(f, path, err);
}
