/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "query/share.h"

/* The contents of the files beside this one. */
#define ASSET(name, file) \
	__asm__(".pushsection .rodata\n" \
		".globl html_asset_" #name "\n" \
		".globl html_asset_" #name "_end\n" \
		"html_asset_" #name ": .incbin \"src/html/" file "\"\n" \
		"html_asset_" #name "_end: .byte 0\n" \
		".popsection\n"); \
	extern const char html_asset_##name[], html_asset_##name##_end[]

ASSET(page, "page.html");
ASSET(style, "page.css");
ASSET(base, "base.js");
ASSET(flame, "flame.js");
ASSET(procs, "procs.js");
ASSET(annotate, "annotate.js");
ASSET(diff, "diff.js");
ASSET(main, "page.js");

#define PROCS_SHOWN 1000
#define PROCS_PART 0.08	  /* part of the page's bytes that the table of procedures may take */
#define GRAPH_PART 0.5	  /* bytes of style and scripts */
#define OWN_BYTES 61440	  /* style and scripts, */
#define OTHER_BYTES 16384 /* bytes of the summary, notes, and keys of the data */
#define DIGITS 6	  /* of a real number */
#define DIGITS_LISTED 3	  /* of an instruction's estimates, which are most of a page */

struct page {
	struct reading *r;
	const struct html_options *o;
	FILE *out;
	struct html_graph graph;
	bool has_graph;
	uint32_t *order; /* procedures, hottest first */
	struct html_listings listings;
	json_t *plots, *procs;
	size_t procs_total;
	unsigned long failures; /* emit_json_failures() when the page was begun */
};

struct writer {
	FILE *out; /* or NULL: bytes are counted */
	size_t bytes;
};

static int write_escaped(const char *text, size_t n, void *ctx)
{
	struct writer *w = ctx;

	for (size_t i = 0; i < n; i++) {
		bool special = text[i] == '<' || text[i] == '>' || text[i] == '&';

		w->bytes += special ? strlen("\\u003c") : 1;
		if (w->out && special)
			fprintf(w->out, "\\u%04x", (unsigned)text[i]);
		else if (w->out)
			putc(text[i], w->out);
	}
	return 0;
}

static size_t put_json(FILE *out, const json_t *value, size_t digits)
{
	struct writer w = { .out = out };

	json_dump_callback(value, write_escaped, &w,
			   JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY |
				   JSON_REAL_PRECISION(digits));
	return w.bytes;
}

size_t html_json_size(const json_t *value, bool listed)
{
	return put_json(NULL, value, listed ? DIGITS_LISTED : DIGITS);
}

void html_json(FILE *out, const json_t *value)
{
	put_json(out, value, DIGITS);
}

static void put_member(FILE *out, const char *key, json_t *value, size_t digits)
{
	fprintf(out, "\"%s\":", key);
	put_json(out, value, digits);
	fputs(",\n", out);
	json_decref(value);
}

void html_member(FILE *out, const char *key, json_t *value)
{
	put_member(out, key, value, DIGITS);
}

/* The summary: a label, a value, whether it is a warning. */
static void add_item(json_t *list, const char *label, const char *value, bool bad)
{
	json_array_append_new(list, json_pack("[s,o,b]", label, emit_text_json(value), (int)bad));
}

static json_t *summary(const struct reading *r)
{
	const struct run_counters *n = &r->view.counters;
	const struct run *run = r->profile.nrun ? &r->profile.run[0] : NULL;
	json_t *list = json_array();
	char text[160];

	snprintf(text, sizeof(text), "%s", run && run->source ? run->source : "?");
	if (!r->view.exact && run && run->rate > 0)
		snprintf(text, sizeof(text), "%s, %s at %g Hz", run->source ? run->source : "?",
			 run->event ? run->event : "?", run->rate);
	add_item(list, "recorded by", text, false);
	add_item(list, "in", fmt_time((double)n->elapsed_ns, text, sizeof(text)), false);
	if (n->program_ns)
		add_item(list, "CPU time", fmt_time((double)n->program_ns, text, sizeof(text)),
			 false);
	if (n->processes)
		add_item(list, "processes", fmt_count(n->processes, text, sizeof(text)), false);
	add_item(list, r->view.exact ? "instructions" : "samples",
		 fmt_count(r->view.exact ? n->instructions : n->samples, text, sizeof(text)),
		 false);
	if (!r->view.exact) {
		add_item(list, "lost", fmt_count(reading_lost(n), text, sizeof(text)),
			 reading_lost(n) > n->samples / 100);
		if (*reading_cost_text(n, text, sizeof(text)))
			add_item(list, "overhead", text + strlen("cost "), false);
	}
	if (run && run->host)
		add_item(list, "on", run->host, false);
	if (run && run->cpu)
		add_item(list, "CPU", run->cpu, false);
	if (!reading_finished(r))
		add_item(list, "unfinished:", READING_UNFINISHED, true);
	return list;
}

/* Number of the listing of that procedure, or -1. */
static int listing_of(const struct page *p, const char *name, const char *image, uint64_t start)
{
	json_t *l;
	size_t i;

	json_array_foreach(p->listings.list, i,
			   l) if (!strcmp(json_string_value(json_object_get(l, "name")), name) &&
				  !strcmp(json_string_value(json_object_get(l, "image")), image) &&
				  strtoull(json_string_value(json_object_get(l, "from")), NULL,
					   16) == start) return (int)i;
	return -1;
}

/* Share of the time in the procedure and what it called, or NAN. */
static double with_calls(const struct page *p, const double *inclusive,
			 const struct view_proc *proc)
{
	const struct calltree *t = &p->graph.tree;

	for (size_t i = 0; inclusive && !t->flat && i < t->nfunc; i++)
		if (t->func[i].image == proc->image && t->func[i].start == proc->start &&
		    !t->func[i].is_end && !t->func[i].inlined)
			return inclusive[i];
	return NAN;
}

static json_t *make_proc(const struct page *p, const struct view_proc *proc,
			 const double *inclusive)
{
	const struct view *v = &p->r->view;
	double n = (double)v->sum.samples, share = view_share(v, proc->sum.time);
	double all = with_calls(p, inclusive, proc);
	char name[1024];
	json_t *text = emit_text_json(view_proc_name(proc, name, sizeof(name)));
	json_t *image = emit_text_json(v->image[proc->image].name);
	int listing = listing_of(p, json_string_value(text), json_string_value(image), proc->start);

	return json_pack("{s:o,s:o,s:f,s:f,s:o,s:I,s:i}", "name", text, "image", image, "share",
			 share, "bound", v->exact ? 0 : share_of(share * n, n).bound, "all",
			 isnan(all) ? json_null() : json_real(all), "count",
			 (json_int_t)view_sum_count(v, &proc->sum), "listing", listing);
}

/* The hottest procedures, as many as fit. */
static void make_procs(struct page *p, size_t bytes)
{
	const struct view *v = &p->r->view;
	double *inclusive = p->has_graph ? html_graph_inclusive(&p->graph) : NULL;
	bool full = false;

	p->procs = json_array();
	for (size_t i = 0; i < v->nproc; i++) {
		const struct view_proc *proc = &v->proc[p->order[i]];
		json_t *row;
		size_t size;

		if (!view_sum_count(v, &proc->sum) || p->procs_total++ >= PROCS_SHOWN || full)
			continue;
		row = make_proc(p, proc, inclusive);
		size = html_json_size(row, false) + 1;
		full = size > bytes;
		if (!full)
			json_array_append(p->procs, row);
		bytes -= full ? 0 : size;
		json_decref(row);
	}
	free(inclusive);
}

/* What the page lacks because of its size. */
static void add_note(json_t *notes, const char *view, const char *format, ...)
{
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(notes, json_pack("[s,s]", view, text));
}

static void note_listings(const struct page *p, json_t *notes)
{
	const struct html_listings *l = &p->listings;

	if (l->left_out)
		add_note(notes, "annotate",
			 "%zu of the hottest procedures are not annotated: the page has no room.",
			 l->left_out);
	if (l->unread)
		add_note(notes, "annotate", "%zu source files are left out: the page has no room.",
			 l->unread);
}

static void note_graph(const struct page *p, json_t *notes)
{
	const struct html_graph *g = &p->graph;
	char n[40], most[80];
	const char *unit = p->r->view.exact ? "execution" : "sample";

	if (!g->cut)
		return;
	fmt_count(g->cut, n, sizeof(n));
	snprintf(most, sizeof(most), "one %s", unit);
	if (g->least > 1)
		snprintf(most, sizeof(most), "at most %.0f %ss", g->least, unit);
	add_note(notes, "flame",
		 "%s frames with %s each are left out; their callers have what they held.", n,
		 most);
}

static void note_threads(const struct page *p, json_t *notes)
{
	const struct html_graph *g = &p->graph;
	size_t joined = 0;
	char n[40];

	for (size_t i = 0; i < g->nthread; i++)
		joined += g->thread[i].together > 1 ? g->thread[i].together : 0;
	if (joined)
		add_note(notes, "flame",
			 "The %s threads with the fewest samples are together with others of their "
			 "name.",
			 fmt_count(joined, n, sizeof(n)));
}

static json_t *make_notes(const struct page *p)
{
	json_t *notes = json_array();

	if (!p->has_graph)
		return notes;
	note_listings(p, notes);
	note_graph(p, notes);
	if (json_array_size(notes))
		add_note(notes, "", "assay html --size MB makes a larger page, with more in it.");
	note_threads(p, notes);
	return notes;
}

static void put_data(void *ctx)
{
	struct page *p = ctx;
	char command[1024];

	putc('{', p->out);
	html_member(p->out, "command",
		    emit_text_json(reading_command(p->r, command, sizeof(command))));
	html_member(p->out, "exact", json_boolean(p->r->view.exact));
	html_member(p->out, "summary", summary(p->r));
	html_member(p->out, "procs", json_incref(p->procs));
	html_member(p->out, "procs_total", json_integer((json_int_t)p->procs_total));
	html_member(p->out, "notes", make_notes(p));
	put_member(p->out, "listings", json_incref(p->listings.list), DIGITS_LISTED);
	html_member(p->out, "sources", json_incref(p->listings.sources));
	html_member(p->out, "plots", json_incref(p->plots));
	if (p->has_graph)
		fwrite(p->graph.text, 1, p->graph.bytes, p->out);
	else
		fputs("\"images\":[],\"funcs\":[],\"threads\":[],\"nodes\":{\"p\":[0],\"f\":[-1]},"
		      "\"buckets\":1,\"width\":1,\"flat\":true,"
		      "\"samples\":{\"g\":[],\"n\":[],\"c\":[]}",
		      p->out);
	putc('}', p->out);
}

static void put(FILE *out, const char *from, const char *end)
{
	fwrite(from, 1, (size_t)(end - from), out);
}

static void put_scripts(FILE *out, enum html_kind kind)
{
	put(out, html_asset_base, html_asset_base_end);
	if (kind == HTML_DIFF)
		put(out, html_asset_diff, html_asset_diff_end);
	else
		put(out, html_asset_procs, html_asset_procs_end);
	put(out, html_asset_flame, html_asset_flame_end);
	if (kind == HTML_RECORDING)
		put(out, html_asset_annotate, html_asset_annotate_end);
	put(out, html_asset_main, html_asset_main_end);
}

void html_page(FILE *out, enum html_kind kind, void (*data)(void *ctx), void *ctx)
{
	const char *at = html_asset_page, *mark;

	for (; (mark = strchr(at, '@')); at = strchr(mark + 1, '@') + 1) {
		put(out, at, mark);
		if (!strncmp(mark, "@STYLE@", 7))
			put(out, html_asset_style, html_asset_style_end);
		else if (!strncmp(mark, "@DATA@", 6))
			data(ctx);
		else
			put_scripts(out, kind);
	}
	put(out, at, html_asset_page_end);
}

/* The parts of a page other than procedures, listings and the graph. */
static size_t other_bytes(const struct page *p)
{
	return OWN_BYTES + OTHER_BYTES + html_json_size(p->plots, false);
}

static int fill(struct page *p, size_t bytes, struct err *err)
{
	size_t listings;

	if (html_graph_fit(&p->graph, (size_t)(GRAPH_PART * (double)bytes), err))
		return -1;
	listings = bytes - (size_t)(PROCS_PART * (double)bytes) - p->graph.bytes;
	if (html_listings_make(&p->listings, p->r, p->o, p->order, listings, err))
		return -1;
	if (emit_json_failures() != p->failures)
		return err_no_memory(err, "the page");
	make_procs(p, (size_t)(PROCS_PART * (double)bytes));
	return 0;
}

static int make(struct page *p, struct err *err)
{
	size_t all = (size_t)(p->o->megabytes * 1e6), other;

	p->plots = html_plots(p->r);
	p->order = view_procs_by_time(&p->r->view);
	if (!p->order)
		return err_no_memory(err, "the page");
	if (html_graph_open(&p->graph, &p->r->profile, err)) {
		if (err->code != ERR_EMPTY || !json_array_size(p->plots))
			return -1;
		*err = (struct err){ 0 };
		p->procs = json_array();
		p->listings =
			(struct html_listings){ .list = json_array(), .sources = json_object() };
		return 0;
	}
	p->has_graph = true;
	other = other_bytes(p);
	return fill(p, all > other ? all - other : 0, err);
}

int html_write(struct reading *r, const struct html_options *o, FILE *out, struct err *err)
{
	struct page p = { .r = r, .o = o, .out = out, .failures = emit_json_failures() };
	int rc = make(&p, err);

	if (!rc)
		html_page(out, HTML_RECORDING, put_data, &p);
	if (emit_json_failures() != p.failures)
		rc = err_no_memory(err, "the page");
	html_listings_fini(&p.listings);
	json_decref(p.plots);
	json_decref(p.procs);
	free(p.order);
	if (p.has_graph)
		html_graph_close(&p.graph);
	return rc;
}
