/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>

#include "base/fmt.h"
#include "report/wset.h"

#define WIDTH 900.0
#define HEIGHT 300.0
#define LEFT 90.0
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

static FILE *begin_svg(const char *path, const char *title, struct err *err)
{
	FILE *f = fopen(path, "we");

	if (!f) {
		err_sys(err, "cannot write %s", path);
		return NULL;
	}
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n<text x=\"%.0f\" y=\"20\">",
		LEFT + WIDTH + 20, TOP + HEIGHT + 50, LEFT);
	put_text(f, title);
	fputs("</text>\n<g fill=\"#4477aa\" shape-rendering=\"crispEdges\">\n", f);
	return f;
}

/* The axes; `end` at the one of time. */
static int end_svg(FILE *f, const char *path, double end, const char *unit, struct err *err)
{
	char text[32];
	bool bad;

	fprintf(f,
		"<path d=\"M%.0f %.0fV%.0fH%.0f\" fill=\"none\" stroke=\"#444\"/>\n"
		"<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s %s</text>\n</svg>\n",
		LEFT, TOP, TOP + HEIGHT, LEFT + WIDTH, LEFT + WIDTH, TOP + HEIGHT + 20,
		fmt_count((uint64_t)end, text, sizeof(text)), unit);
	bad = ferror(f);
	if (!fclose(f) && !bad)
		return 0;
	err_sys(err, "cannot write %s", path);
	return err_hint(err, "is the disk full?");
}

static void put_bars(FILE *f, const struct wset_bar *bar, size_t n, uint64_t most, double end)
{
	for (size_t i = 0; i < n; i++) {
		double h = HEIGHT * (double)bar[i].value / (double)most;
		double x = LEFT + WIDTH * bar[i].from / end;

		fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>", x,
			TOP + HEIGHT - h, WIDTH * (bar[i].to - bar[i].from) / end, h);
		put_text(f, bar[i].what);
		fputs("</title></rect>\n", f);
	}
}

int wset_svg(const char *path, const struct wset_bar *bar, size_t n, const char *title,
	     const char *unit, struct err *err)
{
	double end = n && bar[n - 1].to > 0 ? bar[n - 1].to : 1;
	FILE *f = begin_svg(path, title, err);
	uint64_t most = 1;
	char text[32];

	if (!f)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (bar[i].value > most)
			most = bar[i].value;
	put_bars(f, bar, n, most, end);
	fprintf(f, "</g>\n<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
		TOP + 10, fmt_count(most, text, sizeof(text)));
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0 lines</text>\n", LEFT - 6,
		TOP + HEIGHT);
	return end_svg(f, path, end, unit, err);
}

int wset_map_svg(const char *path, const struct wset_map *m, const struct wset *w, const double *to,
		 const char *title, struct err *err)
{
	double end = m->ninterval && to[m->ninterval - 1] > 0 ? to[m->ninterval - 1] : 1;
	double h = HEIGHT / (double)(m->nband ? m->nband : 1);
	FILE *f = begin_svg(path, title, err);

	if (!f)
		return -1;
	for (size_t b = 0; b < m->nband; b++) {
		double y = TOP + h * (double)(m->nband - 1 - b), from = 0;

		fputs("<g><title>", f);
		put_text(f, w->region[m->band[b].region].name);
		fputs("</title>\n", f);
		for (size_t i = 0; i < m->ninterval; i++) {
			uint64_t n = m->lines[b * m->ninterval + i];

			if (n)
				fprintf(f,
					"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
					"height=\"%.2f\" fill-opacity=\"%.2f\"/>\n",
					LEFT + WIDTH * from / end, y, WIDTH * (to[i] - from) / end,
					h, 0.15 + 0.85 * (double)n / (double)m->most);
			from = to[i];
		}
		fputs("</g>\n", f);
	}
	fputs("</g>\n<g font-size=\"9\" text-anchor=\"end\">\n", f);
	for (size_t b = 0; b < m->nband; b++)
		fprintf(f, "<text x=\"%.0f\" y=\"%.2f\">%lx</text>\n", LEFT - 6,
			TOP + h * ((double)(m->nband - 1 - b) + 0.5) + 3,
			(unsigned long)(m->band[b].start * WSET_CHUNK * w->line));
	fputs("</g>\n", f);
	return end_svg(f, path, end, wset_unit_name[w->unit], err);
}
