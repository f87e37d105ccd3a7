/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

/* Nodes of one procedure below one node become one, wherever in it the calls are. */
struct merged {
	uint32_t key[2]; /* parent, func */
	uint32_t number;
	UT_hash_handle hh;
};

#define NO_FUNC UINT32_MAX

static long merge_node(struct html_graph *g, struct merged **known, uint32_t parent, uint32_t func)
{
	struct merged *m, wanted = { 0 };

	wanted.key[0] = parent;
	wanted.key[1] = func;
	HASH_FIND(hh, *known, wanted.key, sizeof(wanted.key), m);
	if (m)
		return m->number;
	m = malloc(sizeof(*m));
	if (!m)
		return -1;
	*m = wanted;
	m->number = (uint32_t)g->n;
	HASH_ADD(hh, *known, key, sizeof(m->key), m);
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

/* node[]: by node of the call tree, the graph's. */
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

static void sum_up(struct html_graph *g)
{
	memset(g->all, 0, g->n * sizeof(*g->all));
	for (size_t i = 0; i < g->nsample; i++)
		g->all[g->sample[i].frame] += g->sample[i].count;
	for (size_t i = g->n; i-- > 1;)
		g->all[g->parent[i]] += g->all[i];
}

static int largest_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

uint32_t *html_cut(const double *held, const uint32_t *parent, size_t n, size_t *kept)
{
	double *sorted = malloc(n * sizeof(*sorted)), least;
	uint32_t *to = calloc(n, sizeof(*to));

	if (!sorted || !to) {
		free(sorted);
		free(to);
		return NULL;
	}
	memcpy(sorted, held, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), largest_first);
	least = n > HTML_NODES ? sorted[HTML_NODES] : -1;
	free(sorted);
	*kept = 1;
	for (size_t i = 1; i < n; i++)
		to[i] = held[i] > least ? (uint32_t)(*kept)++ : to[parent[i]];
	return to;
}

static int cut(struct html_graph *g)
{
	size_t kept, k = 1;
	uint32_t *to;

	if (g->n <= HTML_NODES)
		return 0;
	to = html_cut(g->all, g->parent, g->n, &kept);
	if (!to)
		return -1;
	for (size_t i = 1; i < g->n; i++) {
		if (to[i] != k)
			continue;
		g->parent[k] = to[g->parent[i]];
		g->func[k] = g->func[i];
		g->all[k++] = g->all[i];
	}
	for (size_t i = 0; i < g->nsample; i++)
		g->sample[i].frame = to[g->sample[i].frame];
	g->cut = g->n - kept;
	g->n = kept;
	free(to);
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct stack_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Samples of the same node, thread and bucket become one, unless their count would be too large. */
static void fold(struct html_graph *g)
{
	size_t k = 0;

	qsort(g->sample, g->nsample, sizeof(*g->sample), by_key);
	for (size_t i = 0; i < g->nsample; i++) {
		if (k && !by_key(&g->sample[k - 1], &g->sample[i]) &&
		    g->sample[i].count <= UINT32_MAX - g->sample[k - 1].count)
			g->sample[k - 1].count += g->sample[i].count;
		else
			g->sample[k++] = g->sample[i];
	}
	g->nsample = k;
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
		sum_up(g);
		rc = cut(g);
		fold(g);
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
	calltree_close(&g->tree);
	*g = (struct html_graph){ 0 };
}

/* Recursive calls are in the outermost one's counts already. */
static bool is_outermost(const struct html_graph *g, size_t i)
{
	for (uint32_t above = g->parent[i]; above; above = g->parent[above])
		if (g->func[above] == g->func[i])
			return false;
	return true;
}

double *html_graph_inclusive(const struct html_graph *g)
{
	double *sum = calloc(g->tree.nfunc + 1, sizeof(*sum));

	for (size_t i = 1; sum && i < g->n; i++)
		if (is_outermost(g, i))
			sum[g->func[i]] += g->all[i];
	return sum;
}

static void write_funcs(const struct html_graph *g, FILE *out)
{
	fputs("\"images\":[", out);
	for (uint32_t i = 0; i < g->tree.profile->nimage; i++) {
		json_t *name = emit_text_json(calltree_image(&g->tree, i));

		fputs(i ? "," : "", out);
		html_json(out, name);
		json_decref(name);
	}
	fputs("],\n\"funcs\":[", out);
	for (size_t i = 0; i < g->tree.nfunc; i++) {
		const struct calltree_func *f = &g->tree.func[i];
		bool kernel = g->tree.profile->image[f->image]->kind == IMAGE_KERNEL;
		json_t *one = json_pack("[o,i,i]", emit_text_json(f->name), (int)f->image,
					(int)(f->is_end	   ? HTML_END
					      : f->inlined ? HTML_INLINED
					      : kernel	   ? HTML_KERNEL
							   : HTML_USER));

		fputs(i ? ",\n" : "", out);
		html_json(out, one);
		json_decref(one);
	}
	fputs("],\n", out);
}

static void write_threads(const struct html_graph *g, FILE *out)
{
	fputs("\"threads\":[", out);
	for (size_t i = 0; i < g->tree.nthread; i++) {
		const struct stack_thread *t = &g->tree.thread[i];
		json_t *one = json_pack("[I,I,o,o]", (json_int_t)t->pid, (json_int_t)t->tid,
					emit_text_json(t->comm), emit_text_json(t->cgroup));

		fputs(i ? "," : "", out);
		html_json(out, one);
		json_decref(one);
	}
	fputs("],\n", out);
}

#define WRITE_COLUMN(name, n, value) \
	do { \
		fputs("\"" name "\":[", out); \
		for (size_t i = 0; i < (n); i++) \
			fprintf(out, "%s%" PRId64, i ? "," : "", (int64_t)(value)); \
		fputs("]", out); \
	} while (0)

/* Numbers that are much like the one before are shorter as differences from it. */
#define WRITE_DIFFERENCES(name, field) \
	WRITE_COLUMN(name, g->nsample, \
		     (int64_t)g->sample[i].field - (i ? g->sample[i - 1].field : 0))

void html_graph_write(const struct html_graph *g, FILE *out)
{
	write_funcs(g, out);
	write_threads(g, out);
	fputs("\"nodes\":{", out);
	/* how far before a node its parent is */
	WRITE_COLUMN("p", g->n, i - g->parent[i]);
	fputs(",\n", out);
	WRITE_COLUMN("f", g->n, g->func[i] == NO_FUNC ? -1 : (int64_t)g->func[i]);
	fprintf(out, "},\n\"buckets\":%zu,\"width\":%.6g,\"flat\":%s,\n\"samples\":{", g->buckets,
		g->width, g->tree.flat ? "true" : "false");
	WRITE_DIFFERENCES("n", frame);
	fputs(",\n", out);
	WRITE_DIFFERENCES("t", thread);
	fputs(",\n", out);
	WRITE_DIFFERENCES("b", bucket);
	fputs(",\n", out);
	WRITE_COLUMN("c", g->nsample, g->sample[i].count);
	fputs("}", out);
}
