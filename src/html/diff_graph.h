/* SPDX-License-Identifier: MIT */
/*
 * The call stacks of both sides of a difference as one tree, and a second tree from the ends of the
 * stacks. Each node tells the time of both sides in the procedure and in everything that it called,
 * and whether chance could have made the difference.
 */
#ifndef ASSAY_HTML_DIFF_GRAPH_H
#define ASSAY_HTML_DIFF_GRAPH_H

#include "report/diff_rows.h"

struct diff_func {
	char *key, *name, *image;
	int kind; /* enum html_func, as in the page */
	uint32_t number;
	UT_hash_handle hh;
};

struct diff_tree {
	size_t n, room;
	uint32_t *parent, *func; /* by node; node 0 is the root, a parent has a smaller number */
	struct diff_amounts *a;
	double *each; /* by node: the base's recordings, then the new side's */
	struct diff_node *known;
};

struct diff_graph {
	const struct diff_side *side; /* both sides */
	const struct diff_rows *rows;
	const char *image; /* shell pattern of the images in which stacks have to end, or NULL */
	struct diff_func *by_key, **func;
	size_t nfunc;
	struct diff_tree forward, backward;
	bool flat; /* a recording has no call stacks: there are no trees */
};

/* -1 with err set. */
int diff_graph_open(struct diff_graph *g, const struct diff_rows *rows,
		    const struct diff_side side[2], const char *image, struct err *err);
void diff_graph_close(struct diff_graph *g);

#endif
