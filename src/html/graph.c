/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/keyed.h"

/* Nodes of one procedure below one node are merged, wherever in the procedure the calls are. */
struct merged {
	uint64_t key; /* parent << 32 | func */
	uint32_t number;
	UT_hash_handle hh;
};

#define NO_FUNC UINT32_MAX

static long merge_node(struct html_graph *g, struct merged **known, uint32_t parent, uint32_t func)
{
	unsigned had = HASH_COUNT(*known);
	const uint64_t wanted = (uint64_t)parent << 32 | func;
	struct merged *m = keyed_get(*known, key, &wanted);

	if (!m)
		return -1;
	if (HASH_COUNT(*known) == had)
		return m->number;
	m->number = (uint32_t)g->n;
	g->parent[g->n] = parent;
	g->func[g->n] = func;
	return (long)g->n++;
}

static void forget(struct merged **known)
{
	struct merged *m, *next;

	HASH_ITER (hh, *known, m, next) {
		HASH_DEL(*known, m);
		free(m);
	}
}

/* node[]: by node of the call tree, its node in the graph. */
static int merge(struct html_graph *g, uint32_t *node)
{
	struct merged *known = NULL;
	int rc = 0;

	g->parent[0] = 0;
	g->func[0] = NO_FUNC;
	g->n = 1;
	node[0] = 0;
	for (size_t i = 1; i < g->tree.nnode && !rc; i++) {
		const struct calltree_node *n = &g->tree.node[i];
		long number = node[n->parent];

		if (n->place != CALLTREE_NOWHERE)
			number = merge_node(g, &known, node[n->parent],
					    g->tree.place[n->place].func);
		rc = number < 0 ? -1 : 0;
		node[i] = (uint32_t)number;
	}
	forget(&known);
	return rc;
}

static void take_samples(struct html_graph *g, const uint32_t *node)
{
	uint32_t last = 0, by;

	g->nsample = g->tree.nsample;
	for (size_t i = 0; i < g->nsample; i++)
		last = g->tree.sample[i].bucket > last ? g->tree.sample[i].bucket : last;
	by = last / HTML_BUCKETS + 1;
	for (size_t i = 0; i < g->nsample; i++) {
		g->sample[i] = g->tree.sample[i];
		g->sample[i].frame = node[g->sample[i].frame];
		g->sample[i].bucket /= by;
	}
	g->buckets = last / by + 1;
	g->width = (double)g->tree.width * by / 1e6;
}

int html_graph_open(struct html_graph *g, const struct profile *p, struct err *err)
{
	uint32_t *node;
	int rc = -1;

	*g = (struct html_graph){ 0 };
	if (calltree_open(&g->tree, p, err))
		return -1;
	node = malloc(g->tree.nnode * sizeof(*node));
	g->parent = malloc(g->tree.nnode * sizeof(*g->parent));
	g->func = malloc(g->tree.nnode * sizeof(*g->func));
	g->all = malloc(g->tree.nnode * sizeof(*g->all));
	g->sample = malloc(g->tree.nsample * sizeof(*g->sample));
	if (node && g->parent && g->func && g->all && g->sample && !merge(g, node)) {
		take_samples(g, node);
		rc = html_graph_limit(g);
	}
	free(node);
	if (!rc)
		return 0;
	html_graph_close(g);
	return err_no_memory(err, "the flame graph");
}

void html_graph_close(struct html_graph *g)
{
	free(g->parent);
	free(g->func);
	free(g->all);
	free(g->sample);
	free(g->thread);
	free(g->text);
	calltree_close(&g->tree);
	*g = (struct html_graph){ 0 };
}

double *html_graph_inclusive(const struct html_graph *g)
{
	const struct stack_filter any = { 0 };
	struct stack_sum *sum = calltree_sum(&g->tree, &any);
	struct calltree_total *total = sum ? calltree_totals(&g->tree, sum) : NULL;
	double *share = total ? calloc(g->tree.nfunc + 1, sizeof(*share)) : NULL;

	for (size_t i = 0; share && i < g->tree.nfunc; i++) {
		if (sum[0].all > 0)
			share[i] = total[i].all / sum[0].all;
		else if (sum[0].all_count)
			share[i] = (double)total[i].all_count / (double)sum[0].all_count;
	}
	free(sum);
	free(total);
	return share;
}
