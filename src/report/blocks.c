/* SPDX-License-Identifier: MIT */
#include "report/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"
#include "cfg/cfg.h"
#include "report/analysis.h"
#include "query/listing.h"
#include "query/lookup.h"
#include "report/why.h"

#define DOT_INSNS 12 /* instructions shown of a block */

struct blocks {
	struct reading *r;
	const struct view_proc *proc;
	struct image *im;
	struct cfg_code *code;
	struct cfg_seen seen;
	struct cfg g;
	struct estimate e; /* the estimate, for a sampled recording with observations */
	bool estimated;
};

/* Sums over a block's sites. */
struct block_sum {
	double time;
	uint64_t samples, executions;
};

/* Executions, counted (with high confidence) or estimated; NONE: not known. */
struct runs {
	double n;
	uint8_t confidence;
};

static const struct site *site_at(const struct blocks *b, uint64_t addr)
{
	return profile_site_find(b->r->view.profile, (struct site_id){ b->proc->image, 0, addr });
}

static struct block_sum sum_block(const struct blocks *b, const struct cfg_block *x)
{
	struct block_sum sum = { 0 };

	for (uint32_t i = x->insn; i < x->insn + x->ninsn; i++) {
		const struct site *s = site_at(b, b->g.insn[i].addr);

		if (!s)
			continue;
		sum.time += view_time(&b->r->view, s);
		sum.samples += s->samples;
		if (i == x->insn)
			sum.executions = s->observed;
	}
	return sum;
}

/* Passes of the edge, where an exact recording tells them; else NAN. */
static double edge_count(const struct blocks *b, const struct cfg_edge *e)
{
	const struct cfg_block *x = &b->g.block[e->from];
	const struct site *s = x->ninsn ? site_at(b, b->g.insn[x->insn + x->ninsn - 1].addr) : NULL;

	if (!b->r->view.exact || !x->ninsn)
		return NAN;
	return cfg_edge_passed(&b->g, (uint32_t)(e - b->g.edge), s ? (double)s->observed : 0,
			       s ? (double)s->taken : 0,
			       (double)sum_block(b, &b->g.block[e->to]).executions);
}

static struct runs estimated(const struct blocks *b, struct estimate_value v)
{
	return (struct runs){ v.f * b->e.scale, v.confidence };
}

static struct runs block_runs(const struct blocks *b, const struct cfg_block *x)
{
	struct estimate_at at;

	if (!b->estimated || !x->ninsn ||
	    !estimate_find(&b->e, b->proc->image, b->g.insn[x->insn].addr, &at))
		return (struct runs){ 0 };
	return estimated(b, at.proc->block[at.block]);
}

/* Estimated passes of an edge. The estimate's graph has the same edges in another order. */
static struct runs edge_runs(const struct blocks *b, const struct cfg_edge *e)
{
	const struct cfg_block *x = &b->g.block[e->from];
	double count = edge_count(b, e);
	struct estimate_at at;

	if (!isnan(count))
		return (struct runs){ count, CONFIDENCE_HIGH };
	if (!b->estimated || !x->ninsn ||
	    !estimate_find(&b->e, b->proc->image, b->g.insn[x->insn].addr, &at))
		return (struct runs){ 0 };
	for (uint32_t k = at.proc->g.block[at.block].out, i = 0;
	     i < at.proc->g.block[at.block].nout; i++, k++) {
		const struct cfg_edge *other = &at.proc->g.edge[k];

		if (other->kind == e->kind &&
		    at.proc->g.block[other->to].start == b->g.block[e->to].start)
			return estimated(b, at.proc->edge[k]);
	}
	return (struct runs){ 0 };
}

static double share_of(const struct blocks *b, double time)
{
	return b->proc->sum.time > 0 ? time / b->proc->sum.time : 0;
}

/* Names a block by its number in the graph; virtual blocks have names of their own. */
static const char *block_name(uint32_t block, char *buf, size_t n)
{
	if (block == CFG_ENTRY_BLOCK)
		return "entry";
	if (block == CFG_EXIT_BLOCK)
		return "exit";
	snprintf(buf, n, "%" PRIu32, block);
	return buf;
}

/* Writes text like "5 taken 1.2M, 3 fall 40": passes of each edge, if there are several. */
static void edges_text(const struct blocks *b, const struct cfg_block *x, char *buf, size_t n)
{
	size_t k = 0;

	buf[0] = 0;
	for (uint32_t e = x->out; e < x->out + x->nout && k < n; e++) {
		char name[16], count[16];
		struct runs runs = edge_runs(b, &b->g.edge[e]);
		bool several = x->nout > 1 && runs.confidence != CONFIDENCE_NONE;

		k += (size_t)snprintf(buf + k, n - k, "%s%s %s%s%s", e == x->out ? "" : ", ",
				      block_name(b->g.edge[e].to, name, sizeof(name)),
				      cfg_edge_name[b->g.edge[e].kind], several ? " " : "",
				      several ? fmt_short(runs.n, count, sizeof(count)) : "");
	}
}

static void runs_json(json_t *o, struct runs runs)
{
	bool known = runs.confidence != CONFIDENCE_NONE;

	json_object_set_new(o, "estimated_executions", known ? json_real(runs.n) : json_null());
	json_object_set_new(o, "confidence",
			    known ? json_string(confidence_name[runs.confidence]) : json_null());
}

static json_t *edges_json(const struct blocks *b, const struct cfg_block *x)
{
	json_t *all = json_array();

	for (uint32_t e = x->out; e < x->out + x->nout; e++) {
		const struct cfg_edge *edge = &b->g.edge[e];
		double count = edge_count(b, edge);
		struct runs runs = edge_runs(b, edge);
		char name[16];
		json_t *o = json_pack("{s:s,s:s,s:i,s:o}", "to",
				      block_name(edge->to, name, sizeof(name)), "kind",
				      cfg_edge_name[edge->kind], "class", (int)edge->cls, "count",
				      isnan(count) ? json_null() : json_integer((json_int_t)count));

		if (b->estimated)
			runs_json(o, runs);
		json_array_append_new(all, o);
	}
	return all;
}

enum {
	COLUMN_BLOCK,
	COLUMN_SHARE,
	COLUMN_COUNT,
	COLUMN_RUNS,
	COLUMN_ADDRESS,
	COLUMN_END,
	COLUMN_INSNS,
	COLUMN_CLASS,
	COLUMN_ENDS,
	COLUMN_EDGES_TEXT,
	COLUMN_EDGES,
	COLUMN_REACHED,
	COLUMN_CALLEE,
	COLUMN_ESTIMATED,
	COLUMN_CONFIDENCE,
	COLUMN_N,
};

static const struct column columns[COLUMN_N] = {
	[COLUMN_BLOCK] = { "block", "block", NULL, 5, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_SHARE] = { "share", "share", "%", 7, EMIT_RIGHT, EMIT_SHARE },
	[COLUMN_COUNT] = { "samples", "samples", NULL, 8, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_RUNS] = { NULL, NULL, NULL, 6, EMIT_RIGHT, EMIT_TEXT },
	[COLUMN_ADDRESS] = { "address", "address", NULL, 8, EMIT_RIGHT, EMIT_ADDR },
	[COLUMN_END] = { "end", NULL, NULL, 0, EMIT_RIGHT, EMIT_ADDR },
	[COLUMN_INSNS] = { "instructions", "insns", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_CLASS] = { "class", "class", NULL, 5, EMIT_RIGHT, EMIT_COUNT },
	[COLUMN_ENDS] = { "ends", "ends", NULL, 8, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_EDGES_TEXT] = { NULL, "edges", NULL, 0, EMIT_LEFT, EMIT_TEXT },
	[COLUMN_EDGES] = { "edges", NULL, NULL, 0, EMIT_LEFT, EMIT_JSON },
	[COLUMN_REACHED] = { "reached", NULL, NULL, 0, EMIT_LEFT, EMIT_BOOL },
	[COLUMN_CALLEE] = { "callee", NULL, NULL, 0, EMIT_LEFT, EMIT_ADDR },
	[COLUMN_ESTIMATED] = { NULL, NULL, NULL, 0, EMIT_LEFT, EMIT_REAL },
	[COLUMN_CONFIDENCE] = { NULL, NULL, NULL, 0, EMIT_LEFT, EMIT_TEXT },
};

static void print_row(const struct blocks *b, uint32_t number)
{
	const struct cfg_block *x = &b->g.block[number];
	struct block_sum sum = sum_block(b, x);
	bool code = number >= CFG_FIRST_BLOCK;
	uint64_t count = b->r->view.exact ? sum.executions : sum.samples;
	struct runs runs = block_runs(b, x);
	bool known = runs.confidence != CONFIDENCE_NONE;
	struct cell cell[COLUMN_N];
	char name[16], edges[512], text[24], count_text[16];

	snprintf(text, sizeof(text), "%s%c", fmt_short(runs.n, count_text, sizeof(count_text)),
		 why_mark(runs.confidence));
	edges_text(b, x, edges, sizeof(edges));
	cell[COLUMN_BLOCK] = cell_text(block_name(number, name, sizeof(name)));
	cell[COLUMN_SHARE] = cell_blank_if(!count, cell_real(share_of(b, sum.time)));
	cell[COLUMN_COUNT] = cell_blank_if(!count, cell_count(count));
	cell[COLUMN_RUNS] = cell_blank_if(!known, cell_text(text));
	cell[COLUMN_ESTIMATED] = known ? cell_real(runs.n) : cell_none();
	cell[COLUMN_CONFIDENCE] = cell_text(known ? confidence_name[runs.confidence] : NULL);
	cell[COLUMN_ADDRESS] = code ? cell_count(x->start) : cell_blank_if(true, cell_none());
	cell[COLUMN_END] = code ? cell_count(x->end) : cell_none();
	cell[COLUMN_INSNS] = cell_blank_if(!code, cell_count(x->ninsn));
	cell[COLUMN_CLASS] = cell_count(x->cls);
	cell[COLUMN_ENDS] = cell_blank_if(!code, cell_text(cfg_end_name[x->ends]));
	cell[COLUMN_EDGES_TEXT] = cell_text(edges);
	cell[COLUMN_EDGES] = b->r->emit.json ? cell_json(edges_json(b, x)) : cell_none();
	cell[COLUMN_REACHED] = cell_count(!(x->flags & CFG_UNREACHED));
	cell[COLUMN_CALLEE] = x->callee ? cell_count(x->callee) : cell_none();
	emit_row(&b->r->emit, cell);
}

static void print_title(struct blocks *b)
{
	struct emit *e = &b->r->emit;
	const struct cfg *g = &b->g;
	const char *image = b->r->view.image[b->proc->image].name;
	json_t *parts = json_array();
	char name[1024];

	view_proc_name(b->proc, name, sizeof(name));
	for (uint32_t p = 0; p < g->nparts; p++)
		json_array_append_new(parts, json_pack("{s:o,s:o}", "from",
						       emit_hex_json(g->part[p].start), "to",
						       emit_hex_json(g->part[p].end)));
	emit_set(e, "procedure", emit_text_json(name));
	emit_set(e, "image", emit_text_json(image));
	emit_set(e, "parts", parts);
	emit_set(e, "classes", json_integer(g->nclasses));
	emit_set(e, "unknown", json_integer(g->nunknown));
	emit_set(e, "missing", json_boolean(g->missing));
	emit_line(e, "%s (%s)", name, image);
	emit_line(e, "%u blocks, %u edges, %u classes of blocks and edges that run equally often",
		  g->nblocks - CFG_FIRST_BLOCK, g->nedges, g->nclasses);
	for (uint32_t p = 1; p < g->nparts; p++)
		emit_line(e, "part of it: 0x%" PRIx64 " to 0x%" PRIx64, g->part[p].start,
			  g->part[p].end);
	emit_line(e, "%s", "");
}

static const struct term terms[] = {
	{ "runs", "how often the block was executed; numbers behind edges: how often control went "
		  "there; estimated, or counted (--counts)" },
	{ "~ ?", "of medium (~) or low (?) confidence, as are the edges of the block" },
	{ "class", "blocks and edges of one class run equally often" },
	{ 0 },
};

static void print_footer(struct blocks *b)
{
	uint32_t unreached = 0;

	for (uint32_t k = CFG_FIRST_BLOCK; k < b->g.nblocks; k++)
		unreached += (b->g.block[k].flags & CFG_UNREACHED) != 0;
	if (b->g.nunknown)
		emit_footer(&b->r->emit,
			    "edges are missing: where %u indirect jump%s not known, so that each "
			    "block has a class of its own; what a recording with values saw of it "
			    "is used",
			    b->g.nunknown, b->g.nunknown == 1 ? " goes is" : "s go is");
	else if (b->g.missing)
		emit_footer(&b->r->emit, "edges are missing: code ran that nothing known leads to, "
					 "so that each block has a class of its own");
	if (unreached)
		emit_footer(&b->r->emit, "%u block%s: nothing known leads there", unreached,
			    plural(unreached));
	if (!b->estimated)
		return;
	emit_terms(&b->r->emit, terms);
	why_print_scale(b->r, b->e.apart, estimate_counted(&b->e));
}

static void print_table(struct blocks *b)
{
	struct column c[COLUMN_N];

	memcpy(c, columns, sizeof(c));
	if (b->r->view.exact) {
		c[COLUMN_COUNT].key = c[COLUMN_COUNT].header = "executions";
		c[COLUMN_COUNT].width = 13;
	}
	if (b->estimated) {
		c[COLUMN_RUNS].header = "runs";
		c[COLUMN_ESTIMATED].key = "estimated_executions";
		c[COLUMN_CONFIDENCE].key = "confidence";
	}
	if (!b->r->emit.wide &&
	    (b->estimated || b->r->view.exact)) /* room that is left for edges */
		c[COLUMN_INSNS].header = c[COLUMN_CLASS].header = NULL;
	reading_heading(b->r);
	print_title(b);
	emit_table(&b->r->emit, "blocks", c, COLUMN_N);
	for (uint32_t k = 0; k < b->g.nblocks; k++)
		print_row(b, k);
	print_footer(b);
}

/* Graphviz. */

static void dot_quoted(const char *s)
{
	char text[1024];

	for (s = text_copy(s, text, sizeof(text)); *s; s++) {
		if (*s == '"' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
}

static void dot_block(const struct blocks *b, uint32_t number)
{
	const struct cfg_block *x = &b->g.block[number];
	struct block_sum sum = sum_block(b, x);
	double share = share_of(b, sum.time);
	char text[256], percent[16];
	struct insn in;

	if (number < CFG_FIRST_BLOCK) {
		printf("\tb%u [label=\"%s\", shape=oval];\n", number,
		       block_name(number, text, sizeof(text)));
		return;
	}
	printf("\tb%u [label=\"%u: %" PRIx64 "  class %u  %s %%\\l", number, number, x->start,
	       x->cls, fmt_percent(share, percent, sizeof(percent)));
	for (uint32_t i = 0; i < x->ninsn && i < DOT_INSNS; i++) {
		if (!listing_decode(&in, b->im, b->g.insn[x->insn + i].addr))
			continue;
		dot_quoted(insn_format(&in, text, sizeof(text)));
		printf("\\l");
	}
	if (x->ninsn > DOT_INSNS)
		printf("%u more\\l", x->ninsn - DOT_INSNS);
	/* hotter blocks are redder */
	printf("\", fillcolor=\"0.0 %.3f 1.0\"%s];\n", share < 1 ? share : 1,
	       x->flags & CFG_UNREACHED ? ", color=gray" : "");
}

static void dot_edge(const struct blocks *b, const struct cfg_edge *e)
{
	struct runs runs = edge_runs(b, e);
	double count = edge_count(b, e);
	char text[32];
	bool certain = e->kind != CFG_LOST && e->kind != CFG_VIRTUAL && e->kind != CFG_UNWIND &&
		       e->kind != CFG_FOUND;

	printf("\tb%u -> b%u [label=\"%s", e->from, e->to, cfg_edge_name[e->kind]);
	if (!isnan(count))
		printf(" %s", fmt_count((uint64_t)count, text, sizeof(text)));
	else if (runs.confidence != CONFIDENCE_NONE)
		printf(" %s", fmt_short(runs.n, text, sizeof(text)));
	printf("\"%s];\n", certain ? "" : ", style=dashed");
}

static void print_dot(const struct blocks *b)
{
	char name[1024];

	view_proc_name(b->proc, name, sizeof(name));
	printf("digraph \"");
	dot_quoted(name);
	printf("\" {\n\tnode [shape=box, style=filled, fontname=monospace];\n"
	       "\tedge [fontname=monospace];\n");
	for (uint32_t k = 0; k < b->g.nblocks; k++)
		dot_block(b, k);
	for (uint32_t e = 0; e < b->g.nedges; e++)
		dot_edge(b, &b->g.edge[e]);
	printf("}\n");
}

static int build(struct blocks *b, struct err *err)
{
	const struct view *v = &b->r->view;

	b->im = binaries_get(&b->r->binaries, b->proc->image);
	if (!b->im) {
		struct image *im = cfg_open_recorded(v->image[b->proc->image].image, err);

		image_close(im);
		return im ? err_set(err, ERR_FAILED, "%s changed while it was read",
				    v->image[b->proc->image].name)
			  : -1;
	}
	b->code = cfg_code_new(b->im, err);
	if (!b->code || cfg_seen_read(&b->seen, v->profile, b->proc->image, b->code, err))
		return -1;
	return cfg_build(&b->g, b->code, b->proc->start, &b->seen, err);
}

/* Makes the estimate, if the recording has windows. */
static int make_estimate(struct blocks *b, struct err *err)
{
	struct analysis a;
	int rc;

	if (b->r->view.exact || !b->r->view.sum.samples)
		return 0;
	if (analysis_open(&a, b->r, false, err))
		return -1;
	rc = analysis_estimate(&a, &b->e, err);
	analysis_close(&a);
	b->estimated = !rc;
	return rc;
}

int blocks_print(struct reading *r, const struct blocks_options *o, struct err *err)
{
	struct blocks b = { .r = r };
	int rc;

	b.proc = lookup_proc(&r->view, o->procedure, o->image, err);
	if (!b.proc)
		return -1;
	rc = build(&b, err);
	if (!rc)
		rc = make_estimate(&b, err);
	if (!rc && o->dot)
		print_dot(&b);
	else if (!rc)
		print_table(&b);
	if (b.estimated)
		estimate_fini(&b.e);
	cfg_fini(&b.g);
	cfg_seen_fini(&b.seen);
	cfg_code_free(b.code);
	return rc;
}
