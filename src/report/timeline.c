/* SPDX-License-Identifier: MIT */
#include "report/timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "report/svg.h"

#define MARGIN 11 /* columns of labels in the picture: "phase 12 |" */
#define WIDTH_MAX 200
#define COLORS 8

const struct phases *timeline_process(const struct reading *r, unsigned pid, struct err *err)
{
	const struct phases *best = NULL;

	for (size_t i = 0; i < r->profile.nphases; i++) {
		const struct phases *p = r->profile.phases[i];

		if ((!pid || p->pid == pid) && p->ninterval &&
		    (!best || phases_instructions(p) > phases_instructions(best)))
			best = p;
	}
	if (best)
		return best;
	if (pid) {
		err_set(err, ERR_EMPTY, "%s holds no phases of a process %u", r->path, pid);
		err_hint(err, "without --process, the one that executed most is shown");
		return NULL;
	}
	err_set(err, ERR_EMPTY, "%s holds no phases", r->path);
	err_hint(err, "`assay record --exact --observe phases -- CMD` records them");
	return NULL;
}

static void list_processes(struct reading *r)
{
	static const struct column column[] = {
		{ "run", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "pid", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "parent", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "instructions", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
		{ "intervals", NULL, NULL, 0, EMIT_RIGHT, EMIT_COUNT },
	};

	emit_table(&r->emit, "processes", column, 5);
	for (size_t i = 0; i < r->profile.nphases; i++) {
		const struct phases *p = r->profile.phases[i];

		emit_row(&r->emit, (struct cell[5]){ cell_count(p->run), cell_count(p->pid),
						     cell_count(p->parent),
						     cell_count(phases_instructions(p)),
						     cell_count(p->ninterval) });
	}
}

void timeline_heading(struct reading *r, const struct phases *p)
{
	char n[32], more[64] = "";

	if (r->emit.json) {
		emit_set(&r->emit, "pid", json_integer(p->pid));
		emit_set(&r->emit, "instructions",
			 json_integer((json_int_t)phases_instructions(p)));
		emit_set(&r->emit, "interval", json_integer((json_int_t)p->wanted));
		list_processes(r);
		return;
	}
	if (r->profile.nphases > 1)
		snprintf(more, sizeof(more), "; the largest of %zu (--json lists them)",
			 r->profile.nphases);
	emit_line(&r->emit, "process %u: %s instructions in %zu interval%s%s", p->pid,
		  fmt_count(phases_instructions(p), n, sizeof(n)), p->ninterval,
		  plural(p->ninterval), more);
}

/* The phase's share of the instructions of each column. */
static void spread(const struct phases *p, const struct clusters *c, unsigned k, double *share,
		   int width)
{
	double column = (double)c->instructions / width;

	for (int i = 0; i < width; i++)
		share[i] = 0;
	for (size_t i = 0; i < c->n; i++) {
		double from = (double)p->interval[i].start / column;
		double to = (double)p->interval[i].end / column;

		for (int x = (int)from; c->label[i] == k && x < to && x < width; x++)
			share[x] += fmin(to, x + 1) - fmax(from, x);
	}
}

static void draw_row(struct reading *r, const double *share, unsigned k, int width)
{
	static const char *const shades[2][5] = { { " ", "░", "▒", "▓", "█" },
						  { " ", ".", ":", "+", "#" } };
	char line[1024];
	size_t n = (size_t)snprintf(line, sizeof(line), "phase %2u |", k + 1);

	for (int i = 0; i < width; i++)
		n += (size_t)snprintf(
			line + n, sizeof(line) - n, "%s",
			shades[r->emit.ascii][(int)ceil(fmin(share[i], 1) * 4 - 1e-6)]);
	emit_line(&r->emit, "%s", line);
}

static void put_json(struct reading *r, const struct phases *p, const struct clusters *c)
{
	json_t *labels = json_array(), *ends = json_array();

	for (size_t i = 0; i < c->n; i++) {
		json_array_append_new(labels, json_integer(c->label[i] + 1));
		json_array_append_new(ends, json_integer((json_int_t)p->interval[i].end));
	}
	emit_set(&r->emit, "phase_of", labels);
	emit_set(&r->emit, "ends", ends);
}

void timeline_draw(struct reading *r, const struct phases *p, const struct clusters *c)
{
	int width = r->emit.width - MARGIN - 1;
	double share[WIDTH_MAX];
	char end[32];

	if (r->emit.json) {
		put_json(r, p, c);
		return;
	}
	width = width < 10 ? 10 : width > WIDTH_MAX ? WIDTH_MAX : width;
	for (unsigned k = 0; k < c->k; k++) {
		spread(p, c, k, share, width);
		draw_row(r, share, k, width);
	}
	emit_line(&r->emit, "%*s0%*s", MARGIN - 1, "", width - 1,
		  fmt_count(c->instructions, end, sizeof(end)));
	emit_line(&r->emit, "%s", "");
}

/* Draws consecutive intervals of one phase as one bar. */
static void put_bars(FILE *f, const struct phases *p, const struct clusters *c, double height)
{
	static const char *const color[COLORS] = { "#4477aa", "#ee6677", "#228833", "#ccbb44",
						   "#66ccee", "#aa3377", "#999999", "#884400" };
	double end = (double)c->instructions;

	for (size_t i = 0, next; i < c->n; i = next) {
		double from = (double)p->interval[i].start, to;

		for (next = i + 1; next < c->n && c->label[next] == c->label[i];)
			next++;
		to = (double)p->interval[next - 1].end;
		fprintf(f,
			"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\">"
			"<title>phase %u: %.0f to %.0f</title></rect>\n",
			SVG_LEFT + SVG_WIDTH * from / end, SVG_TOP + height * c->label[i],
			SVG_WIDTH * (to - from) / end, height * 0.9, color[c->label[i] % COLORS],
			c->label[i] + 1, from, to);
	}
}

static void put_samples(FILE *f, const struct phases *p, const struct clusters *c, double height)
{
	for (unsigned k = 0; k < c->k; k++) {
		double at = (double)p->interval[c->cluster[k].sample].start;
		double x = SVG_LEFT + SVG_WIDTH * at / (double)c->instructions;
		double y = SVG_TOP + height * (k + 0.9);

		fprintf(f,
			"<path d=\"M%.2f %.2fl-4 7h8z\" fill=\"#000\"><title>sample of phase %u, "
			"at "
			"%.0f</title></path>\n",
			x, y - 7, k + 1, at);
		fprintf(f,
			"<text x=\"%.0f\" y=\"%.2f\" text-anchor=\"end\" font-size=\"10\">"
			"phase %u, %.1f %%</text>\n",
			SVG_LEFT - 6, SVG_TOP + height * (k + 0.5) + 3, k + 1,
			100 * c->cluster[k].share);
	}
}

int timeline_svg(const struct reading *r, const char *path, const struct phases *p,
		 const struct clusters *c, struct err *err)
{
	double height = SVG_HEIGHT / c->k;
	char command[512], title[600], end[32];
	FILE *f;

	snprintf(title, sizeof(title), "Phases of %s",
		 reading_command(r, command, sizeof(command)));
	f = svg_open(path, title, err);
	if (!f)
		return -1;
	fputs("<g shape-rendering=\"crispEdges\">\n", f);
	put_bars(f, p, c, height);
	fputs("</g>\n", f);
	put_samples(f, p, c, height);
	fprintf(f, "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s instructions</text>\n",
		SVG_LEFT + SVG_WIDTH, SVG_TOP + SVG_HEIGHT + 20,
		fmt_count(c->instructions, end, sizeof(end)));
	return svg_close(f, path, err);
}
