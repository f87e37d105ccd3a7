/* SPDX-License-Identifier: MIT */
/*
 * Checks that in an exact recording as much control comes to each instruction as leaves it.
 *
 * Usage: flow RECORDING
 *
 * What comes: from sites by their counts and targets, and by edges (src/observe/edges.h says which). What leaves: the
 * instruction's executions, and as often as control was to execute it and went elsewhere instead. All of it has to
 * be accounted for: each execution of an indirect jump, call or return by an edge, too. Code that no file holds is not
 * judged, since it may have been replaced.
 *
 * Prints a line for each instruction that is odd, at most 20, and the sums: `starts` and `ends` of threads,
 * `interrupts` (edges of EDGE_CAME, but for ends). Exit status 1 if there is an odd one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "x86/insn.h"
#include "observe/edges.h"
#include "store/recording.h"

struct node {
	struct site_id id;
	const struct site *site; /* NULL: nothing but edges */
	int64_t left;		 /* what leaves without having come */
	uint64_t went;		 /* by edges */
};

static struct profile profile;
static struct image **images;
static struct node *nodes;
static size_t n_nodes;
static struct {
	uint64_t executions, edges, starts, ends, interrupts;
	unsigned odd;
} sum;

static int by_place(const void *a, const void *b)
{
	const struct node *x = a, *y = b;
	int order = site_id_order(x->id, y->id);

	/* the one with a site first: it stays */
	return order ? order : (x->site == NULL) - (y->site == NULL);
}

static struct node *find(struct site_id id)
{
	size_t low = 0, high = n_nodes;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = site_id_order(nodes[mid].id, id);

		if (!order)
			return &nodes[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static bool is_outside(struct site_id id)
{
	return !id.image && !id.addr;
}

static bool is_judged(struct site_id id)
{
	return profile.image[id.image]->kind == IMAGE_FILE;
}

static void collect(void)
{
	struct edge *e, *tmp;
	struct site *s;
	size_t k = 0;

	images = calloc(profile.nimage, sizeof(*images));
	nodes = calloc(profile.sites.n + 2 * HASH_COUNT(profile.edges) + 1, sizeof(*nodes));
	if (!images || !nodes)
		abort();
	for (size_t i = 0; i < profile.nimage; i++) {
		struct err ignored;

		if (profile.image[i]->kind == IMAGE_FILE)
			images[i] = image_open(profile.image[i]->path, profile.image[i]->path,
					       &ignored);
	}
	SITES_EACH(&profile.sites, s)
	if (s->observed)
		nodes[n_nodes++] =
			(struct node){ .id = s->id, .site = s, .left = (int64_t)s->observed };
	HASH_ITER (hh, profile.edges, e, tmp) {
		nodes[n_nodes++].id = e->key.from;
		nodes[n_nodes++].id = e->key.to;
	}
	qsort(nodes, n_nodes, sizeof(*nodes), by_place);
	for (size_t i = 0; i < n_nodes; i++)
		if (!k || site_id_order(nodes[k - 1].id, nodes[i].id))
			nodes[k++] = nodes[i];
	n_nodes = k;
}

static void odd(struct site_id id, int64_t n, const char *what)
{
	const struct node *at = find(id);

	if (!is_judged(id))
		return;
	if (++sum.odd <= 20)
		printf("%s %#" PRIx64 ": %+" PRId64 " of %" PRIu64 " %s\n",
		       profile.image[id.image]->path, id.addr, n,
		       at && at->site ? at->site->observed : 0, what);
}

static void follow_edges(void)
{
	struct edge *e, *tmp;

	HASH_ITER (hh, profile.edges, e, tmp) {
		bool came = e->key.kind == EDGE_CAME, ends = is_outside(e->key.to);
		struct node *from = find(e->key.from), *to = find(e->key.to);

		sum.edges++;
		sum.starts += is_outside(e->key.from) ? e->count : 0;
		sum.ends += ends ? e->count : 0;
		sum.interrupts += came && !ends ? e->count : 0;
		if (came)
			from->left += (int64_t)e->count;
		else
			from->went += e->count;
		to->left -= (int64_t)e->count;
		if (!came && !is_outside(e->key.from) && !from->site)
			odd(e->key.from, (int64_t)e->count, "went, but were never executed");
	}
}

static void lead(const struct node *from, uint64_t addr, uint64_t count)
{
	struct node *to = find((struct site_id){ .image = from->id.image, .addr = addr });

	if (to)
		to->left -= (int64_t)count;
	else if (count)
		odd(from->id, (int64_t)count, "lead to what was never executed");
}

static void check_target(const struct node *n)
{
	size_t room;
	struct insn in;
	const uint8_t *code =
		images[n->id.image] ? image_code(images[n->id.image], n->id.addr, &room) : NULL;

	if (code && insn_decode(&in, code, room, n->id.addr) == n->site->len && n->site->target &&
	    n->site->target != in.target)
		odd(n->id, 0, "have another target");
}

/* Where the executions went that edges do not tell of. */
static void follow(const struct node *n)
{
	const struct site *s = n->site;
	uint64_t left = s->observed - n->went;

	sum.executions += s->observed;
	if (n->went > s->observed)
		odd(n->id, (int64_t)(n->went - s->observed), "went, that were not executed");
	check_target(n);
	if (s->cls == INSN_BRANCH && s->target) {
		lead(n, s->target, s->taken);
		left -= s->taken;
	}
	if (edges_falls(s->cls))
		lead(n, s->id.addr + s->len, left);
	else if (s->target)
		lead(n, s->target, left);
	else if (left)
		odd(n->id, (int64_t)left, "went nobody knows where");
}

int main(int argc, char **argv)
{
	struct err err;

	if (argc != 2) {
		fprintf(stderr, "usage: flow RECORDING\n");
		return 2;
	}
	if (profile_init(&profile, &err) || recording_read(argv[1], &profile, &err)) {
		fprintf(stderr, "flow: %s\n", err.msg);
		return 2;
	}
	collect();
	follow_edges();
	for (size_t i = 0; i < n_nodes; i++)
		if (nodes[i].site)
			follow(&nodes[i]);
	for (size_t i = 0; i < n_nodes; i++)
		if (nodes[i].left)
			odd(nodes[i].id, nodes[i].left,
			    nodes[i].left > 0 ? "come from nowhere" : "are missing");
	printf("instructions %zu, executions %" PRIu64 ", edges %" PRIu64 ", starts %" PRIu64
	       ", ends %" PRIu64 ", interrupts %" PRIu64 ", odd %u\n",
	       n_nodes, sum.executions, sum.edges, sum.starts, sum.ends, sum.interrupts, sum.odd);
	return !sum.executions || sum.odd;
}
