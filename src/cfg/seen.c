/* SPDX-License-Identifier: MIT */
/*
 * Targets are recorded as run-time addresses, and a recording does not say where an image was
 * mapped. But a called address must be a procedure's start, and the targets in a jump's table are
 * known: each recorded target votes for the distances that would make it one of these. Distances
 * are whole pages, so few fit. An image that several processes mapped may have several distances.
 */
#include "cfg/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/search.h"
#include "cfg/cfg.h"
#include "cfg/code_priv.h"

#define PAGE 4096u
#define VALUES_MAX 64	/* values used of one jump or call */
#define VOTERS_MAX 4000 /* most targets that vote */
#define GRAPHS_MAX 200	/* most procedures whose jumps vote */
#define DISTANCES 8	/* most distances that are accepted */
#define LEAST_PART 4	/* least part of the best distance's votes that another distance needs */

struct vote {
	uint64_t distance;
	uint64_t n;
};

struct raw {
	uint64_t from, value;
	uint8_t cls;
};

struct reader {
	struct cfg_code *code;
	struct cfg_seen *seen;
	struct raw *raw;
	size_t nraw, raw_cap;
	struct vote *vote;
	size_t nvotes, vote_cap;
	uint64_t *start; /* starts of procedures, sorted by their offset in the page */
	size_t nstarts;
	uint64_t distance[DISTANCES];
	unsigned ndistances;
	bool failed; /* no memory */
};

static void *grown(struct reader *r, void *v, size_t n, size_t *cap, size_t size)
{
	void *to = r->failed ? NULL : array_reserved(v, cap, n + 1, size, SIZE_MAX);

	r->failed = !to;
	return to;
}

/* Reading the recording. */

static void add_raw(struct reader *r, const struct site *s)
{
	struct hot_value value[VALUES_MAX];
	unsigned n = hot_top(site_hot(s, OPERAND_TARGET), value, VALUES_MAX);

	for (unsigned i = 0; i < n; i++) {
		struct raw *raw = grown(r, r->raw, r->nraw, &r->raw_cap, sizeof(*raw));

		if (!raw)
			return;
		r->raw = raw;
		r->raw[r->nraw++] = (struct raw){ s->id.addr, value[i].value, s->cls };
	}
}

static int by_value(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static int by_from(const void *va, const void *vb)
{
	const struct raw *a = va, *b = vb;

	if (a->from != b->from)
		return (a->from > b->from) - (a->from < b->from);
	return (a->value > b->value) - (a->value < b->value);
}

static bool read_sites(struct reader *r, const struct profile *p, uint32_t image)
{
	size_t cap = 0;
	const struct site *s;

	SITES_EACH(&p->sites, s)
	{
		uint64_t *v;

		if (s->id.image != image || (!s->observed && !s->samples))
			continue;
		v = grown(r, r->seen->insn, r->seen->ninsns, &cap, sizeof(*v));
		if (!v)
			return false;
		r->seen->insn = v;
		r->seen->insn[r->seen->ninsns++] = s->id.addr;
		if ((s->cls == INSN_IJUMP || s->cls == INSN_ICALL) && site_hot(s, OPERAND_TARGET))
			add_raw(r, s);
	}
	if (!r->seen->ninsns)
		return true;
	qsort(r->seen->insn, r->seen->ninsns, sizeof(*r->seen->insn), by_value);
	for (size_t i = 1; i < r->seen->ninsns; i++)
		invariant(r->seen->insn[i - 1] < r->seen->insn[i]);
	if (r->nraw)
		qsort(r->raw, r->nraw, sizeof(*r->raw), by_from);
	return !r->failed;
}

/* Voting. */

static int by_page_offset(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;
	uint64_t x = *a % PAGE, y = *b % PAGE;

	return x != y ? (x > y) - (x < y) : (*a > *b) - (*a < *b);
}

static bool read_starts(struct reader *r)
{
	const struct image_proc *proc;
	size_t n = r->code->im ? image_procs(r->code->im, &proc) : 0;

	r->start = malloc((n + 1) * sizeof(*r->start));
	if (!r->start)
		return false;
	for (size_t i = 0; i < n; i++)
		r->start[r->nstarts++] = proc[i].start;
	qsort(r->start, r->nstarts, sizeof(*r->start), by_page_offset);
	return true;
}

static void add_vote(struct reader *r, uint64_t distance)
{
	struct vote *v = grown(r, r->vote, r->nvotes, &r->vote_cap, sizeof(*v));

	if (!v)
		return;
	r->vote = v;
	r->vote[r->nvotes++] = (struct vote){ distance, 1 };
}

static void vote_by_starts(struct reader *r, uint64_t value)
{
	size_t lo = search_first(i, 0, r->nstarts, r->start[i] % PAGE >= value % PAGE);

	for (; lo < r->nstarts && r->start[lo] % PAGE == value % PAGE; lo++)
		add_vote(r, value - r->start[lo]);
}

/* Lets raw[i .. end), the targets of one jump, vote; the edges of its block lead to the possible
 * ones. */
static void vote_by_graph(struct reader *r, const struct cfg *g, size_t i, size_t end)
{
	uint32_t b = cfg_block_at(g, r->raw[i].from);
	const struct cfg_block *x = b == CFG_NONE ? NULL : &g->block[b];

	for (; x && i < end; i++)
		for (uint32_t e = x->out; e < x->out + x->nout; e++) {
			uint64_t to = g->block[g->edge[e].to].start;

			if (g->edge[e].kind == CFG_CASE && to % PAGE == r->raw[i].value % PAGE)
				add_vote(r, r->raw[i].value - to);
		}
}

static void vote(struct reader *r)
{
	size_t voters = 0;
	unsigned graphs = 0;

	for (size_t i = 0, end; i < r->nraw && voters < VOTERS_MAX && !r->failed; i = end) {
		struct cfg g;
		struct err err;

		for (end = i; end < r->nraw && r->raw[end].from == r->raw[i].from; end++)
			if (++voters < VOTERS_MAX)
				vote_by_starts(r, r->raw[end].value);
		if (r->raw[i].cls != INSN_IJUMP || graphs++ >= GRAPHS_MAX ||
		    cfg_build(&g, r->code, r->raw[i].from, NULL, &err))
			continue;
		vote_by_graph(r, &g, i, end);
		cfg_fini(&g);
	}
}

static int by_distance(const void *va, const void *vb)
{
	const struct vote *a = va, *b = vb;

	return (a->distance > b->distance) - (a->distance < b->distance);
}

static int by_votes(const void *va, const void *vb)
{
	const struct vote *a = va, *b = vb;

	return (a->n < b->n) - (a->n > b->n);
}

static void elect(struct reader *r)
{
	size_t n = 0;

	if (!r->nvotes)
		return;
	qsort(r->vote, r->nvotes, sizeof(*r->vote), by_distance);
	for (size_t i = 1; i < r->nvotes; i++)
		if (r->vote[n].distance == r->vote[i].distance)
			r->vote[n].n++;
		else
			r->vote[++n] = r->vote[i];
	n++;
	qsort(r->vote, n, sizeof(*r->vote), by_votes);
	if (n > 1 && r->vote[0].n == r->vote[1].n && r->vote[0].n < LEAST_PART)
		return; /* a vote without alternatives tells nothing */
	for (size_t i = 0; i < n && i < DISTANCES; i++)
		if (i == 0 ||
		    (r->vote[i].n > LEAST_PART && r->vote[i].n >= r->vote[0].n / LEAST_PART))
			r->distance[r->ndistances++] = r->vote[i].distance;
	invariant(r->ndistances && r->ndistances <= DISTANCES);
}

/* Resolved targets. */

static bool is_code(struct reader *r, uint64_t addr)
{
	struct cfg_source *src = &r->code->src;
	size_t n;

	return src->bytes(src->ctx, addr, &n) != NULL;
}

/* Whether addr is a possible target of the jump or call at `from`. */
static bool is_likely(struct reader *r, uint64_t from, uint64_t to)
{
	struct cfg_proc p, own;

	if (!r->code->src.proc(r->code->src.ctx, to, &p))
		return false;
	if (p.start == to)
		return true;
	return r->code->src.proc(r->code->src.ctx, from, &own) && own.start == p.start;
}

/* Converts a run-time target; 0: the target is not in this image. False: that cannot be told. */
static bool place(struct reader *r, const struct raw *raw, uint64_t *to)
{
	unsigned fit = 0;

	*to = 0;
	if (r->ndistances == 1) {
		*to = raw->value - r->distance[0];
		if (!is_code(r, *to))
			*to = 0;
		return true;
	}
	for (unsigned i = 0; i < r->ndistances; i++) {
		uint64_t at = raw->value - r->distance[i];

		if (!is_code(r, at) || !is_likely(r, raw->from, at))
			continue;
		*to = at;
		fit++;
	}
	return fit == 1;
}

static bool read_targets(struct reader *r)
{
	struct cfg_seen *s = r->seen;

	s->target = malloc((r->nraw + 1) * sizeof(*s->target));
	if (!s->target)
		return false;
	for (size_t i = 0; i < r->nraw && r->ndistances; i++) {
		uint64_t to;

		invariant(!i || r->raw[i - 1].from <= r->raw[i].from); /* so targets are sorted */
		if (!place(r, &r->raw[i], &to))
			continue;
		if (r->raw[i].cls == INSN_IJUMP)
			s->target[s->ntargets++] = (struct cfg_target){ r->raw[i].from, to };
		else if (to)
			code_learn(r->code, to);
	}
	return true;
}

int cfg_seen_read(struct cfg_seen *s, const struct profile *p, uint32_t image,
		  struct cfg_code *code, struct err *err)
{
	struct reader r = { .code = code, .seen = s };
	bool ok;

	*s = (struct cfg_seen){ 0 };
	ok = read_sites(&r, p, image) && read_starts(&r);
	if (ok) {
		vote(&r);
		elect(&r);
		ok = !r.failed && read_targets(&r);
	}
	free(r.raw);
	free(r.vote);
	free(r.start);
	if (ok)
		return 0;
	cfg_seen_fini(s);
	return err_no_memory(err, "what the recording saw of control flow");
}

void cfg_seen_fini(struct cfg_seen *s)
{
	free(s->insn);
	free(s->target);
	*s = (struct cfg_seen){ 0 };
}

bool cfg_seen_ran(const struct cfg_seen *s, uint64_t addr)
{
	size_t lo = search_first(i, 0, s->ninsns, s->insn[i] >= addr);

	return lo < s->ninsns && s->insn[lo] == addr;
}
