/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/fmt.h"
#include "report/svg.h"
#include "report/wset.h"

#define OWN "#4477aa"
#define SHARED "#ee6677"

static FILE *begin(const char *path, const char *title, struct err *err)
{
	FILE *f = svg_open(path, title, err);

	if (f)
		fputs("<g fill=\"" OWN "\" shape-rendering=\"crispEdges\">\n", f);
	return f;
}

/* Position of `end` on the time axis. */
static int end_of(FILE *f, const char *path, double end, const char *unit, struct err *err)
{
	char text[32];

	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s %s</text>\n",
		SVG_LEFT + SVG_WIDTH, SVG_TOP + SVG_HEIGHT + 20,
		fmt_count((uint64_t)end, text, sizeof(text)), unit);
	return svg_close(f, path, err);
}

static void put_bars(FILE *f, const struct wset_bar *bar, size_t n, bool shared, uint64_t most,
		     double end)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = shared ? bar[i].shared : bar[i].value;
		double h = SVG_HEIGHT * (double)value / (double)most;
		double x = SVG_LEFT + SVG_WIDTH * bar[i].from / end;

		if (shared && !value)
			continue;
		fprintf(f, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"><title>", x,
			SVG_TOP + SVG_HEIGHT - h, SVG_WIDTH * (bar[i].to - bar[i].from) / end, h);
		svg_text(f, bar[i].what);
		fputs("</title></rect>\n", f);
	}
}

static void put_legend(FILE *f)
{
	static const char *const name[2] = { "one thread's", "shared between threads" };
	static const char *const color[2] = { OWN, SHARED };

	for (int i = 0; i < 2; i++)
		fprintf(f,
			"<rect x=\"%.0f\" y=\"%.0f\" width=\"10\" height=\"10\" fill=\"%s\"/>\n"
			"<text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
			SVG_LEFT + 8, SVG_TOP + 16.0 * i, color[i], SVG_LEFT + 24,
			SVG_TOP + 16.0 * i + 9, name[i]);
}

int wset_svg(const char *path, const struct wset_bar *bar, size_t n, const char *title,
	     const char *unit, struct err *err)
{
	double end = n && bar[n - 1].to > 0 ? bar[n - 1].to : 1;
	FILE *f = begin(path, title, err);
	uint64_t most = 1, shared = 0;
	char text[32];

	if (!f)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (bar[i].value > most)
			most = bar[i].value;
		shared |= bar[i].shared;
	}
	put_bars(f, bar, n, false, most, end);
	if (shared) {
		fputs("</g>\n<g fill=\"" SHARED "\" shape-rendering=\"crispEdges\">\n", f);
		put_bars(f, bar, n, true, most, end);
	}
	fputs("</g>\n", f);
	if (shared)
		put_legend(f);
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", SVG_LEFT - 6,
		SVG_TOP + 10, fmt_count(most, text, sizeof(text)));
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">0 lines</text>\n", SVG_LEFT - 6,
		SVG_TOP + SVG_HEIGHT);
	return end_of(f, path, end, unit, err);
}

int wset_map_svg(const char *path, const struct wset_map *m, const struct wset *w, const double *to,
		 const char *title, struct err *err)
{
	double end = m->ninterval && to[m->ninterval - 1] > 0 ? to[m->ninterval - 1] : 1;
	double h = SVG_HEIGHT / (double)(m->nband ? m->nband : 1);
	FILE *f = begin(path, title, err);

	if (!f)
		return -1;
	for (size_t b = 0; b < m->nband; b++) {
		double y = SVG_TOP + h * (double)(m->nband - 1 - b), from = 0;

		fputs("<g><title>", f);
		svg_text(f, w->region[m->band[b].region].name);
		fputs("</title>\n", f);
		for (size_t i = 0; i < m->ninterval; i++) {
			uint64_t n = m->lines[b * m->ninterval + i];

			if (n)
				fprintf(f,
					"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
					"height=\"%.2f\" fill-opacity=\"%.2f\"/>\n",
					SVG_LEFT + SVG_WIDTH * from / end, y,
					SVG_WIDTH * (to[i] - from) / end, h,
					0.15 + 0.85 * (double)n / (double)m->most);
			from = to[i];
		}
		fputs("</g>\n", f);
	}
	fputs("</g>\n<g font-size=\"9\" text-anchor=\"end\">\n", f);
	for (size_t b = 0; b < m->nband; b++)
		fprintf(f, "<text x=\"%.0f\" y=\"%.2f\">%lx</text>\n", SVG_LEFT - 6,
			SVG_TOP + h * ((double)(m->nband - 1 - b) + 0.5) + 3,
			(unsigned long)(m->band[b].start * WSET_CHUNK * w->line));
	fputs("</g>\n", f);
	return end_of(f, path, end, wset_unit_name[w->unit], err);
}
