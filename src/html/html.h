/* SPDX-License-Identifier: MIT */
/*
 * A recording as one page that needs nothing else: the template page.html with style, data and scripts put into it.
 *
 *   html.c      the template and what goes where
 *   graph.c     the call tree and its samples; graph_fit.c makes them small enough, graph_write.c columns of numbers
 *   listings.c  the hottest procedures, instruction by instruction, and their source
 *   plots.c     curves: working sets, miss ratios
 *   diff.c      the page of a difference; diff_graph.c the call trees of both sides as one
 *
 * The data is JSON in which neither '<' nor '>' nor '&' occurs (html_json), so no name can end the element that holds it;
 * scripts only make text of it.
 */
#ifndef ASSAY_HTML_HTML_H
#define ASSAY_HTML_HTML_H

#include <jansson.h>
#include <stdio.h>

#include "report/calltree.h"
#include "report/diff.h"
#include "report/reading.h"

typedef void (*html_progress)(const char *what, size_t done, size_t of);

struct html_options {
	unsigned procedures;	/* most procedures that are annotated */
	double megabytes;	/* of the page, at most */
	html_progress progress; /* told how far the page is; NULL: nobody is told */
};

enum html_kind {
	HTML_RECORDING,
	HTML_DIFF
};

/* Writes the page of a recording. -1 with err set. The reading's emit is used while this runs. */
int html_write(struct reading *r, const struct html_options *o, FILE *out, struct err *err);

/* The difference between both sides as a page: the rows, and flame graphs of what the call stacks of both have in time. */
int html_diff_write(struct diff_side side[2], const struct diff_options *o, FILE *out,
		    struct err *err);

/* Writes the template with style and the scripts of such a page; `data` writes the data. */
void html_page(FILE *out, enum html_kind kind, void (*data)(void *ctx), void *ctx);
/* "key":value, and a comma; takes the value. */
void html_member(FILE *out, const char *key, json_t *value);
/* Writes a value as compact ASCII JSON, without a character that HTML would interpret. */
void html_json(FILE *out, const json_t *value);
/* Returns the bytes of a value as it is written. listed: with the few digits that listings have. */
size_t html_json_size(const json_t *value, bool listed);

/* Kinds of procedures in flame graphs. */
enum html_func {
	HTML_USER,
	HTML_KERNEL,
	HTML_END, /* no procedure: why a stack is cut */
	HTML_INLINED,
};

/* graph.c, graph_fit.c, graph_write.c */

#define HTML_NODES 100000 /* most nodes of a graph: of more, those with the least are cut */
#define HTML_BUCKETS 400
#define HTML_THREADS \
	1000 /* largest number of threads that have an entry of their own; the others share one for each name */
#define HTML_OTHERS "others"

/* A thread, or several of one name. */
struct html_thread {
	uint32_t pid, tid; /* 0: several */
	const char *comm;
	uint32_t together; /* how many */
};

struct html_graph {
	struct calltree tree;
	size_t n;
	uint32_t *parent, *func;     /* by node; node 0 is the root */
	double *all;		     /* counts of a node and those below it */
	struct stack_sample *sample; /* by node and thread of this graph, and bucket */
	size_t nsample;
	struct html_thread *thread;
	size_t nthread;
	size_t buckets;
	double width; /* ms */
	size_t cut;   /* nodes that were left out, whose contents went to their parents */
	double least; /* what they held at most */
	char *text;   /* for the page, from html_graph_fit() */
	size_t bytes; /* of the text */
};

/* Returns a limit for html_cut(): the largest content among the nodes that have to go for `most` nodes to remain.
 * Negative: there are no more than that. */
double html_least(const double *held, size_t n, size_t most);
/* Drops the nodes of a tree that hold at most `least`: a node holds everything below it, so no node is kept whose
 * parent is dropped. Returns for each node its new number, or that of the nearest kept node above it, and sets the
 * number of kept nodes. To be freed; NULL without memory. */
uint32_t *html_cut(const double *held, const uint32_t *parent, size_t n, double least,
		   size_t *kept);
int html_graph_open(struct html_graph *g, const struct profile *p, struct err *err);
void html_graph_close(struct html_graph *g);
/* Joins threads and cuts nodes that are too many for a browser, and sums up. */
int html_graph_limit(struct html_graph *g);
/* Writes the graph as text, and makes it smaller until the text has at most that many bytes, or nothing is left to
 * drop. */
int html_graph_fit(struct html_graph *g, size_t bytes, struct err *err);
/* Returns for each procedure of the tree the share of the time in it and in what it called. To be freed; NULL without
 * memory. */
double *html_graph_inclusive(const struct html_graph *g);
/* "images":..., "funcs":... to "samples":...; -1 without memory. */
int html_graph_write(const struct html_graph *g, FILE *out);

/* listings.c */

struct html_listings {
	json_t *list, *sources;
	/* procedures that were not annotated because the page would have become too large */
	size_t left_out;
	size_t unread; /* source files that were left out for the same reason */
};

/* order: procedures, hottest first; bytes: of listings and sources together. -1 with err set. */
int html_listings_make(struct html_listings *l, struct reading *r, const struct html_options *o,
		       const uint32_t *order, size_t bytes, struct err *err);
void html_listings_fini(struct html_listings *l);

/* plots.c; an empty list where nothing of the kind was recorded. */
json_t *html_plots(struct reading *r);

#endif
