/* SPDX-License-Identifier: MIT */
/* Pictures of a study: the error over time and over overhead, and estimates against the truth. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "report/coproc.h"
#include "report/svg.h"

#define CURVES 2
static const char *const curve_name[CURVES] = { "co-processor", "simple sampler" };
static const char *const curve_color[CURVES] = { "#1b6ca8", "#c8553d" };

struct point {
	double x, y;
};
struct curve {
	struct point at[LAB_PICTURES];
	unsigned n;
};

static void axis_text(FILE *f, double x, double y, const char *anchor, const char *text)
{
	fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	svg_text(f, text);
	fputs("</text>\n", f);
}

static double place_x(double x, double most)
{
	return SVG_LEFT + SVG_WIDTH * (most > 0 ? x / most : 0);
}

static double place_y(double y, double most)
{
	return SVG_TOP + SVG_HEIGHT * (1 - (most > 0 ? y / most : 0));
}

static void draw_curve(FILE *f, const struct curve *c, unsigned which, struct point most)
{
	fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"",
		curve_color[which]);
	for (unsigned i = 0; i < c->n; i++)
		fprintf(f, "%.1f,%.1f ", place_x(c->at[i].x, most.x), place_y(c->at[i].y, most.y));
	fputs("\"/>\n", f);
	fprintf(f, "<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n",
		SVG_LEFT + SVG_WIDTH - 150, SVG_TOP + 8 + 20.0 * which, curve_color[which]);
	axis_text(f, SVG_LEFT + SVG_WIDTH - 128, SVG_TOP + 14 + 20.0 * which, "start",
		  curve_name[which]);
}

static void draw_axes(FILE *f, struct point most, const char *x, const char *y)
{
	char text[64];

	for (unsigned i = 0; i <= 4; i++) {
		snprintf(text, sizeof(text), "%.1f", 100 * most.y * i / 4);
		axis_text(f, SVG_LEFT - 8, place_y(most.y * i / 4, most.y) + 4, "end", text);
		fmt_count((uint64_t)(most.x * i / 4), text, sizeof(text));
		axis_text(f, place_x(most.x * i / 4, most.x), SVG_TOP + SVG_HEIGHT + 18, "middle",
			  text);
	}
	axis_text(f, SVG_LEFT + SVG_WIDTH / 2, SVG_TOP + SVG_HEIGHT + 38, "middle", x);
	axis_text(f, SVG_LEFT, SVG_TOP - 6, "start", y);
}

static int draw_curves(const struct curve c[CURVES], const char *path, const char *title,
		       const char *x, struct err *err)
{
	struct point most = { 0, 0 };
	FILE *f = svg_open(path, title, err);

	if (!f)
		return -1;
	for (unsigned k = 0; k < CURVES; k++)
		for (unsigned i = 0; i < c[k].n; i++) {
			most.x = c[k].at[i].x > most.x ? c[k].at[i].x : most.x;
			most.y = c[k].at[i].y > most.y ? c[k].at[i].y : most.y;
		}
	draw_axes(f, most, x, "weighted RMS error, points");
	for (unsigned k = 0; k < CURVES; k++)
		draw_curve(f, &c[k], k, most);
	return svg_close(f, path, err);
}

static int draw_convergence(const struct lab *l, const char *folder, const char *title,
			    bool overhead, struct err *err)
{
	struct curve c[CURVES] = { 0 };
	char path[4096];

	for (unsigned i = 0; i < l->npicture; i++) {
		const struct lab_picture *p = &l->picture[i];
		double errors[CURVES] = { truth_error(&l->truth, p->estimate, p->n),
					  truth_error(&l->truth, p->simple, p->simple_n) };
		double overheads[CURVES] = { (double)p->overhead, (double)p->simple_overhead };

		for (unsigned k = 0; k < CURVES; k++)
			c[k].at[c[k].n++] =
				(struct point){ overhead ? overheads[k] : (double)p->now,
						errors[k] };
	}
	snprintf(path, sizeof(path), "%s/%s.svg", folder, overhead ? "overhead" : "time");
	return draw_curves(c, path, title, overhead ? "cycles of overhead" : "cycles", err);
}

/* Draws one of the dots of one size in each cell: a large program has ten thousand values with
 * nearly the same two shares. */
#define CELL 3 /* pixels */
#define SIZES 3
struct dots {
	bool drawn[SIZES][(unsigned)SVG_HEIGHT / CELL + 1][(unsigned)SVG_WIDTH / CELL + 1];
};

static void draw_dot(FILE *f, struct dots *d, double share, double estimate, double n)
{
	static const double radius[SIZES] = { 1.2, 2.0, 3.2 };
	unsigned size = n < 10000 ? 0 : n < 100000 ? 1 : 2;
	double x = place_x(share, 1), y = place_y(estimate, 1);
	bool *drawn =
		&d->drawn[size][(unsigned)(y - SVG_TOP) / CELL][(unsigned)(x - SVG_LEFT) / CELL];

	if (*drawn)
		return;
	*drawn = true;
	fprintf(f, "<circle cx=\"%.0f\" cy=\"%.0f\" r=\"%.1f\"/>\n", x, y, radius[size]);
}

static int draw_scatter(const struct lab *l, const char *folder, const char *title, struct err *err)
{
	const struct lab_picture *last = &l->picture[l->npicture - 1];
	static struct dots dots;
	char path[4096];
	FILE *f;

	memset(&dots, 0, sizeof(dots));
	snprintf(path, sizeof(path), "%s/scatter.svg", folder);
	f = svg_open(path, title, err);
	if (!f)
		return -1;
	for (unsigned i = 0; i <= 4; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", 25 * i);
		axis_text(f, SVG_LEFT - 8, place_y(i, 4) + 4, "end", text);
		axis_text(f, place_x(i, 4), SVG_TOP + SVG_HEIGHT + 18, "middle", text);
	}
	axis_text(f, SVG_LEFT + SVG_WIDTH / 2, SVG_TOP + SVG_HEIGHT + 38, "middle",
		  "true invariance, %; a larger dot is a value that was loaded more often");
	axis_text(f, SVG_LEFT, SVG_TOP - 6, "start", "estimated, %");
	fprintf(f, "<path d=\"M%.0f %.0fL%.0f %.0f\" stroke=\"#999\"/>\n", SVG_LEFT,
		SVG_TOP + SVG_HEIGHT, SVG_LEFT + SVG_WIDTH, SVG_TOP);
	fputs("<g fill=\"#1b6ca8\" fill-opacity=\"0.5\">\n", f);
	for (size_t i = 0; i < last->n; i++)
		for (unsigned k = 0; k < last->estimate[i].n; k++) {
			const struct estimate *e = &last->estimate[i];
			double n, share;

			if (!truth_share(&l->truth, e->pc, e->value[k], &n, &share) ||
			    (share < 0.05 && e->share[k] < 0.05f) || n < 1000)
				continue;
			draw_dot(f, &dots, share, fmin((double)e->share[k], 1), n);
		}
	fputs("</g>\n", f);
	return svg_close(f, path, err);
}

int coproc_draw_study(const struct lab *l, const char *folder, const char *title, struct err *err)
{
	return draw_convergence(l, folder, title, false, err) ||
			       draw_convergence(l, folder, title, true, err) ||
			       draw_scatter(l, folder, title, err)
		       ? -1
		       : 0;
}
