/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "cfg/seen.h"
#include "estimate/estimate_priv.h"
#include "estimate/parts.h"
#include "estimate/targets.h"
#include "x86/insn.h"
#include "observe/edges.h"

struct collector {
	struct estimate *e;
	const struct estimate_source *src;
	const struct site **site; /* sites in ELF images, sorted by image and address */
	size_t n;
	struct targets targets;
	size_t cap_proc, cap_range, cap_call;
	struct err *err;
};

/* Sites of a recording. */

static int by_place(const void *a, const void *b)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;

	if (x->id.image != y->id.image)
		return x->id.image < y->id.image ? -1 : 1;
	return (x->id.addr > y->id.addr) - (x->id.addr < y->id.addr);
}

static int sort_sites(struct collector *c)
{
	const struct profile *p = c->src->profile;
	const struct site *s;

	c->site = malloc((p->sites.n + 1) * sizeof(struct site *));
	if (!c->site)
		return err_no_memory(c->err, "estimates");
	SITES_EACH(&p->sites, s)
	if (s->id.image < p->nimage && p->image[s->id.image]->kind == IMAGE_FILE)
		c->site[c->n++] = s;
	qsort(c->site, c->n, sizeof(struct site *), by_place);
	return 0;
}

/* Index of the first site of the image at or behind addr. */
static size_t site_from(const struct collector *c, uint32_t image, uint64_t addr)
{
	struct site_id id = { .image = image, .addr = addr };

	return search_first(i, 0, c->n, site_id_order(c->site[i]->id, id) >= 0);
}

static const struct site *site_at(const struct collector *c, uint32_t image, uint64_t addr)
{
	size_t i = site_from(c, image, addr);

	return i < c->n && c->site[i]->id.image == image && c->site[i]->id.addr == addr ? c->site[i]
											: NULL;
}

/* Evidence of one procedure. */

static void proc_fini(struct estimate_proc *p)
{
	cfg_fini(&p->g);
	free(p->site);
	free(p->samples);
	free(p->observed);
	free(p->share);
	free(p->block);
	free(p->edge);
	free(p->alone);
}

static int proc_alloc(struct estimate_proc *p)
{
	const struct cfg *g = &p->g;

	p->site = calloc(g->ninsns + 1, sizeof(struct site *));
	p->samples = calloc(g->nblocks + 1, sizeof(double));
	p->observed = calloc(g->nblocks + 1, sizeof(double));
	p->share = calloc(g->nedges + 1, sizeof(double));
	p->block = calloc(g->nblocks + 1, sizeof(*p->block));
	p->edge = calloc(g->nedges + 1, sizeof(*p->edge));
	p->alone = calloc(g->nblocks + 1, sizeof(*p->alone));
	return p->site && p->samples && p->observed && p->share && p->block && p->edge && p->alone
		       ? 0
		       : -1;
}

/* Reads a block's evidence: its samples are the sum over its instructions, its observations the
 * mean. */
static void read_block(const struct collector *c, struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];

	for (uint32_t i = k->insn; i < k->insn + k->ninsn; i++) {
		p->site[i] = site_at(c, p->image, p->g.insn[i].addr);
		if (!p->site[i])
			continue;
		p->samples[b] += (double)p->site[i]->samples;
		p->observed[b] += site_weights(p->site[i]).observed;
	}
	if (k->ninsn)
		p->observed[b] /= k->ninsn;
}

/* The probability that the branch is taken, drawn towards the side whose block was observed if
 * there were few observations. */
static double taken_share(const struct estimate_proc *p, const struct cfg_block *k)
{
	const struct site *s = k->ninsn ? p->site[k->insn + k->ninsn - 1] : NULL;
	struct site_weights w;

	if (!s || !s->observed)
		return 0.5;
	w = site_weights(s);
	return (w.taken + 0.01) / (w.observed + 0.02);
}

/* Divides the executions of several targets by how often each was observed. */
static void share_by_observed(struct estimate_proc *p, const struct cfg_block *k)
{
	double sum = 0;

	for (uint32_t i = k->out; i < k->out + k->nout; i++)
		sum += p->observed[p->g.edge[i].to] + 1e-6;
	for (uint32_t i = k->out; i < k->out + k->nout; i++)
		p->share[i] = (p->observed[p->g.edge[i].to] + 1e-6) / sum;
}

/* Whether the edge is a jump to another procedure; a block has at most one such edge. */
static bool leaves(const struct cfg_edge *e)
{
	return e->kind == CFG_TAIL || e->kind == CFG_LOST;
}

/* Divides the executions of an indirect jump by how often it was seen to go to each target. */
static int share_by_target(struct collector *c, struct estimate_proc *p, const struct cfg_block *k)
{
	const struct site *s = k->ninsn ? p->site[k->insn + k->ninsn - 1] : NULL;

	double outside = 1;

	c->targets.n = 0;
	if (s && targets_of(&c->targets, s, c->err))
		return -1;
	if (!c->targets.n)
		share_by_observed(p, k);
	for (uint32_t i = k->out; i < k->out + k->nout && c->targets.n; i++) {
		const struct cfg_block *to = &p->g.block[p->g.edge[i].to];

		if (to->ninsn) {
			p->share[i] =
				targets_share(&c->targets, p->image, to->start, to->start + 1);
			outside -= p->share[i];
		}
	}
	for (uint32_t i = k->out; i < k->out + k->nout && c->targets.n; i++)
		if (leaves(&p->g.edge[i]))
			p->share[i] = fmax(outside, 0);
	return 0;
}

static int read_edges(struct collector *c, struct estimate_proc *p, uint32_t b)
{
	const struct cfg_block *k = &p->g.block[b];
	double taken = 0.5;

	if (b == CFG_ENTRY_BLOCK || b == CFG_EXIT_BLOCK)
		return 0;
	if (k->ends == CFG_END_BRANCH) {
		taken = taken_share(p, k);
		for (uint32_t i = k->out; i < k->out + k->nout; i++)
			p->share[i] = p->g.edge[i].kind == CFG_VIRTUAL ? 0
				      : cfg_is_untaken(&p->g, i)       ? 1 - taken
								       : taken;
	} else if (k->nout == 1) {
		p->share[k->out] = p->g.edge[k->out].kind == CFG_VIRTUAL ? 0 : 1;
	} else {
		return share_by_target(c, p, k);
	}
	return 0;
}

/* Observations of control entering the block by this edge of the entry block: those of the block,
 * minus those of the other edges that lead there. */
static double entered(const struct estimate_proc *p, const struct cfg_edge *enter)
{
	const struct cfg_block *to = &p->g.block[enter->to];
	double rest = p->observed[enter->to];

	for (uint32_t k = to->in; k < to->in + to->nin; k++) {
		const struct cfg_edge *in = &p->g.edge[p->g.in[k]];

		if (in->from != CFG_ENTRY_BLOCK)
			rest -= p->share[p->g.in[k]] * p->observed[in->from];
	}
	return fmax(rest, 0);
}

/* Sets the observations of the entry block to those of control coming from it; a procedure may
 * have several entries. */
static void observe_entry(struct estimate_proc *p)
{
	const struct cfg_block *entry = &p->g.block[CFG_ENTRY_BLOCK];
	double all = 0, enters = 0;

	for (uint32_t i = entry->out; i < entry->out + entry->nout; i++) {
		p->share[i] = p->g.edge[i].kind == CFG_ENTER ? entered(p, &p->g.edge[i]) : 0;
		all += p->share[i];
		enters += p->g.edge[i].kind == CFG_ENTER;
	}
	for (uint32_t i = entry->out; i < entry->out + entry->nout; i++)
		if (p->g.edge[i].kind == CFG_ENTER)
			p->share[i] = all > 0 ? p->share[i] / all : 1 / enters;
	p->observed[CFG_ENTRY_BLOCK] = all;
}

static int add_ranges(struct collector *c, uint32_t image, const struct cfg *g)
{
	for (uint32_t i = 0; i < g->nparts; i++) {
		if (!array_reserve(c->e->range, c->cap_range, c->e->nranges + 1))
			return -1;
		c->e->range[c->e->nranges++] =
			(struct estimate_range){ .image = image,
						 .proc = (uint32_t)c->e->nproc,
						 .start = g->part[i].start,
						 .end = g->part[i].end };
	}
	return 0;
}

/* Returns 1 if the procedure has no graph. */
static int add_proc(struct collector *c, uint32_t image, uint64_t addr, struct cfg_code *code,
		    const struct cfg_seen *seen)
{
	struct estimate_proc *p;
	struct err ignored = { 0 };
	int rc = 0;

	if (!array_reserve(c->e->proc, c->cap_proc, c->e->nproc + 1))
		return -1;
	p = &c->e->proc[c->e->nproc];
	*p = (struct estimate_proc){ .image = image, .first = c->e->nblocks };
	if (cfg_build(&p->g, code, addr, seen, &ignored))
		return 1;
	if (proc_alloc(p) || add_ranges(c, image, &p->g)) {
		proc_fini(p);
		return -1;
	}
	for (uint32_t b = 0; b < p->g.nblocks; b++)
		read_block(c, p, b);
	for (uint32_t b = 0; b < p->g.nblocks && !rc; b++)
		rc = read_edges(c, p, b);
	observe_entry(p);
	c->e->nblocks += p->g.nblocks;
	c->e->nproc++;
	return rc;
}

/* Looks for addr among the ranges of this image, which are not sorted yet. */
static bool has_range(const struct collector *c, size_t from, uint64_t addr)
{
	for (size_t i = c->e->nranges; i > from; i--) /* it mostly is in the last one */
		if (addr >= c->e->range[i - 1].start && addr < c->e->range[i - 1].end)
			return true;
	return false;
}

static int collect_image(struct collector *c, size_t *at)
{
	uint32_t image = c->site[*at]->id.image;
	struct image *im = c->src->image(c->src->ctx, image);
	struct cfg_code *code = im ? cfg_code_new(im, c->err) : NULL;
	struct cfg_seen seen = { 0 };
	size_t ranges = c->e->nranges;
	int rc = 0;

	if (code)
		rc = cfg_seen_read(&seen, c->src->profile, image, code, c->err);
	for (; *at < c->n && c->site[*at]->id.image == image; ++*at) {
		const struct site *s = c->site[*at];

		if (!code || rc || !s->observed || has_range(c, ranges, s->id.addr))
			continue;
		if (add_proc(c, image, s->id.addr, code, &seen) < 0)
			rc = err_no_memory(c->err, "estimates");
	}
	cfg_seen_fini(&seen);
	cfg_code_free(code);
	return rc;
}

static int by_range(const void *a, const void *b)
{
	const struct estimate_range *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static const struct estimate_range *find_range(const struct estimate *e, uint32_t image,
					       uint64_t addr)
{
	const struct estimate_range *r = e->range;
	size_t low = search_first(i, 0, e->nranges,
				  r[i].image > image || (r[i].image == image && r[i].start > addr));

	if (!low || e->range[low - 1].image != image || addr >= e->range[low - 1].end)
		return NULL;
	return &e->range[low - 1];
}

bool estimate_find(const struct estimate *e, uint32_t image, uint64_t addr, struct estimate_at *at)
{
	const struct estimate_range *r = find_range(e, image, addr);

	if (!r)
		return false;
	at->proc = &e->proc[r->proc];
	at->block = cfg_block_at(&at->proc->g, addr);
	return at->block != CFG_NONE;
}

/* Calls between procedures. */

/* Resolves a slot of a linkage table to the procedure of its name, in whichever image has it. */
static const struct estimate_range *behind_plt(const struct collector *c, uint32_t image,
					       uint64_t addr)
{
	struct image *im = c->src->image(c->src->ctx, image);
	const struct image_proc *slot = im ? image_proc_at(im, addr) : NULL;
	const char *at = slot ? strstr(slot->name, "@plt") : NULL;
	char name[512];

	if (!at || (size_t)(at - slot->name) >= sizeof(name))
		return NULL;
	memcpy(name, slot->name, (size_t)(at - slot->name));
	name[at - slot->name] = 0;
	for (uint32_t i = 0; i < c->src->profile->nimage; i++) {
		struct image *other = c->src->profile->image[i]->kind == IMAGE_FILE
					      ? c->src->image(c->src->ctx, i)
					      : NULL;
		const struct image_proc *p = other ? image_proc_named(other, name) : NULL;
		const struct estimate_range *r = p ? find_range(c->e, i, p->start) : NULL;

		if (r && (i != image || p->start != slot->start))
			return r;
	}
	return NULL;
}

static int add_call(struct collector *c, uint32_t proc, uint32_t b, uint32_t to, double share)
{
	struct estimate *e = c->e;

	if (!array_reserve(e->call, c->cap_call, e->ncalls + 1))
		return err_no_memory(c->err, "estimates");
	e->call[e->ncalls++] = (struct estimate_call){ proc, b, to, share };
	return 0;
}

/* Adds the observed targets of an indirect call or jump, each with its share. 1: none was
 * observed. */
static int add_seen(struct collector *c, uint32_t proc, uint32_t b, const struct site *s)
{
	struct targets *t = &c->targets;

	if (!s)
		return 1;
	if (targets_of(t, s, c->err))
		return -1;
	for (size_t i = 0; i < t->n; i++) {
		struct site_id to = t->v[i].to;
		const struct estimate_range *r = find_range(c->e, to.image, to.addr);

		if (r && r->proc != proc && add_call(c, proc, b, r->proc, t->v[i].share))
			return -1;
	}
	return t->n ? 0 : 1;
}

/* The share of the block's executions that leaves for another procedure by a jump. */
static double tail_share(const struct estimate_proc *p, const struct cfg_block *k)
{
	double share = 0;

	for (uint32_t i = k->out; i < k->out + k->nout; i++)
		if (leaves(&p->g.edge[i]))
			share += p->share[i];
	return share;
}

/* Adds the ways by which a branch leaves its procedure: it runs into the next procedure, or
 * jumps there. */
static int add_branch(struct collector *c, uint32_t proc, uint32_t b, const struct site *s)
{
	const struct estimate_proc *p = &c->e->proc[proc];
	const struct cfg_block *k = &p->g.block[b];

	for (uint32_t i = k->out; i < k->out + k->nout; i++) {
		uint64_t addr = cfg_is_untaken(&p->g, i) ? k->end : s ? s->target : 0;
		const struct estimate_range *to = NULL;

		if (leaves(&p->g.edge[i]) && p->share[i] > 0 && addr)
			to = find_range(c->e, p->image, addr);
		if (to && add_call(c, proc, b, to->proc, p->share[i]))
			return -1;
	}
	return 0;
}

/* Adds the calls of a block, and its jumps out of the procedure. */
static int add_calls(struct collector *c, uint32_t proc, uint32_t b)
{
	const struct estimate_proc *p = &c->e->proc[proc];
	const struct cfg_block *k = &p->g.block[b];
	const struct cfg_insn *last = k->ninsn ? &p->g.insn[k->insn + k->ninsn - 1] : NULL;
	const struct site *s = last ? p->site[k->insn + k->ninsn - 1] : NULL;
	const struct estimate_range *to = NULL;
	bool calls = k->ends == CFG_END_CALL || k->ends == CFG_END_NORETURN;
	double share = calls ? 1 : tail_share(p, k);

	if (share <= 0 || !last)
		return 0;
	if (k->callee)
		to = find_range(c->e, p->image, k->callee);
	else if (k->ends == CFG_END_NEXT)
		to = find_range(c->e, p->image, k->end);
	else if (k->ends == CFG_END_BRANCH)
		return add_branch(c, proc, b, s);
	else if (edges_is_indirect(last->cls) && last->cls != INSN_RET) {
		int rc = add_seen(c, proc, b, s);

		if (rc <= 0)
			return rc;
		if (k->ends == CFG_END_TAIL)
			to = behind_plt(c, p->image, k->start);
	}
	return to ? add_call(c, proc, b, to->proc, share) : 0;
}

int evidence_collect(struct estimate *e, const struct estimate_source *src, struct err *err)
{
	struct collector c = { .e = e, .src = src, .err = err };
	int rc = sort_sites(&c);

	if (!rc)
		rc = targets_init(&c.targets, src->profile, err);
	for (size_t i = 0; i < c.n && !rc;)
		rc = collect_image(&c, &i);
	if (e->nranges)
		qsort(e->range, e->nranges, sizeof(*e->range), by_range);
	for (uint32_t i = 0; i < e->nproc && !rc; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < e->proc[i].g.nblocks && !rc; b++)
			rc = add_calls(&c, i, b);
	free(c.site);
	targets_fini(&c.targets);
	return rc;
}

void estimate_fini(struct estimate *e)
{
	for (size_t i = 0; i < e->nproc; i++)
		proc_fini(&e->proc[i]);
	free(e->proc);
	parts_free(e->parts);
	free(e->range);
	free(e->call);
	memset(e, 0, sizeof(*e));
}
