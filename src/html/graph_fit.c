/* SPDX-License-Identifier: MIT */
/* A call tree made small enough for a page: small nodes are merged with their callers, threads with others of their
 * name, and stretches of time with the next. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "html/html.h"

#define BUCKETS_LEAST 50 /* stretches of time, while there are nodes to cut */

/* Nodes. */

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

double html_least(const double *held, size_t n, size_t most)
{
	double *sorted, least;

	if (n <= most)
		return -1;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return held[0];
	memcpy(sorted, held, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), largest_first);
	least = sorted[most];
	free(sorted);
	return least;
}

uint32_t *html_cut(const double *held, const uint32_t *parent, size_t n, double least, size_t *kept)
{
	uint32_t *to = calloc(n, sizeof(*to));

	*kept = 1;
	for (size_t i = 1; to && i < n; i++)
		to[i] = held[i] > least ? (uint32_t)(*kept)++ : to[parent[i]];
	return to;
}

/* Adds nodes that hold at most that much to their callers. */
static int cut(struct html_graph *g, double least)
{
	size_t kept, k = 1;
	uint32_t *to = html_cut(g->all, g->parent, g->n, least, &kept);

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
	g->cut += g->n - kept;
	g->least = least;
	g->n = kept;
	free(to);
	g->nsample = stack_samples_fold(g->sample, g->nsample);
	return 0;
}

/* Threads. */

/* Threads of one name that are not shown alone. */
struct named {
	const char *comm;
	uint32_t number;
	UT_hash_handle hh;
};

struct count {
	uint32_t thread;
	double count;
};

static int most_first(const void *a, const void *b)
{
	const struct count *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static struct count *count_threads(const struct html_graph *g)
{
	struct count *count = calloc(g->tree.nthread + 1, sizeof(*count));

	for (size_t i = 0; count && i < g->tree.nthread; i++)
		count[i].thread = (uint32_t)i;
	for (size_t i = 0; count && i < g->nsample; i++)
		count[g->sample[i].thread].count += g->sample[i].count;
	if (count && g->tree.nthread)
		qsort(count, g->tree.nthread, sizeof(*count), most_first);
	return count;
}

static uint32_t add_thread(struct html_graph *g, const struct html_thread *t)
{
	g->thread[g->nthread] = *t;
	return (uint32_t)g->nthread++;
}

/* Returns the number of the entry for threads of that name, or for all remaining threads once there are too many
 * entries; negative without memory. */
static long together(struct html_graph *g, struct named **names, const char *comm)
{
	struct named *known;

	if (g->nthread >= 2 * HTML_THREADS)
		comm = HTML_OTHERS;
	HASH_FIND_STR(*names, comm, known);
	if (!known) {
		known = calloc(1, sizeof(*known));
		if (!known)
			return -1;
		known->comm = comm;
		known->number = add_thread(g, &(struct html_thread){ .comm = comm });
		HASH_ADD_KEYPTR(hh, *names, known->comm, strlen(known->comm), known);
		if (!known->hh.tbl) {
			free(known);
			return -1;
		}
	}
	g->thread[known->number].together++;
	return known->number;
}

static void forget(struct named **names)
{
	struct named *n, *next;

	HASH_ITER (hh, *names, n, next) {
		HASH_DEL(*names, n);
		free(n);
	}
}

/* Gives each thread of the call tree a number in the graph, in to[]. -1 without memory. */
static int number_threads(struct html_graph *g, const struct count *count, uint32_t *to)
{
	struct named *names = NULL;
	int rc = 0;

	for (size_t i = 0; i < g->tree.nthread && count[i].count > 0 && !rc; i++) {
		const struct stack_thread *t = &g->tree.thread[count[i].thread];
		long number;

		if (i < HTML_THREADS)
			number = add_thread(g, &(struct html_thread){ t->pid, t->tid, t->comm, 1 });
		else
			number = together(g, &names, t->comm);
		rc = number < 0 ? -1 : 0;
		to[count[i].thread] = (uint32_t)number;
	}
	forget(&names);
	return rc;
}

static int join_threads(struct html_graph *g)
{
	struct count *count = count_threads(g);
	uint32_t *to = calloc(g->tree.nthread + 1, sizeof(*to));
	int rc = -1;

	g->thread = calloc(2 * HTML_THREADS + 2, sizeof(*g->thread));
	if (count && to && g->thread)
		rc = number_threads(g, count, to);
	for (size_t i = 0; !rc && i < g->nsample; i++)
		g->sample[i].thread = to[g->sample[i].thread];
	free(count);
	free(to);
	return rc;
}

/* Time. */

static void widen(struct html_graph *g)
{
	for (size_t i = 0; i < g->nsample; i++)
		g->sample[i].bucket /= 2;
	g->buckets = (g->buckets + 1) / 2;
	g->width *= 2;
	g->nsample = stack_samples_fold(g->sample, g->nsample);
}

/* The whole. */

int html_graph_limit(struct html_graph *g)
{
	double least;

	sum_up(g);
	if (join_threads(g))
		return -1;
	least = html_least(g->all, g->n, HTML_NODES);
	if (least >= 0)
		return cut(g, least);
	g->nsample = stack_samples_fold(g->sample, g->nsample);
	return 0;
}

/* The smallest count that is larger. */
static double next_least(const struct html_graph *g)
{
	double more = g->least < 0 ? 0 : g->least * 1.25, least = g->all[0];

	for (size_t i = 1; i < g->n; i++)
		if (g->all[i] > more && g->all[i] < least)
			least = g->all[i];
	return least;
}

/* Makes the graph smaller by one step; 1: that is impossible. */
static int shrink(struct html_graph *g)
{
	if (g->buckets > 1 && g->nsample > 2 * g->n &&
	    (g->buckets > BUCKETS_LEAST || g->n < BUCKETS_LEAST)) {
		widen(g);
		return 0;
	}
	if (g->n > 1)
		return cut(g, next_least(g));
	return 1;
}

static int write_text(struct html_graph *g)
{
	FILE *out;
	int rc;

	free(g->text);
	g->text = NULL;
	out = open_memstream(&g->text, &g->bytes);
	if (!out)
		return -1;
	rc = html_graph_write(g, out);
	return fclose(out) ? -1 : rc;
}

int html_graph_fit(struct html_graph *g, size_t bytes, struct err *err)
{
	int rc = write_text(g);

	while (!rc && g->bytes > bytes) {
		rc = shrink(g);
		if (!rc)
			rc = write_text(g);
	}
	return rc < 0 ? err_no_memory(err, "the flame graph") : 0;
}
