/* SPDX-License-Identifier: MIT */
/*
 * The graphs of all procedures that ran in an exact recording, against what ran: each instruction must
 * be in a graph, blocks must run as a whole, each branch, jump and target must be an edge, and what is
 * of one class must have run equally often. Prints what does not hold.
 *
 * Usage: cfg_programs [--every PREFIX] RECORDING
 *	--every PREFIX	procedures whose name begins so ran whole: no block of theirs may not have run, and
 *			no edge of theirs may be missing
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cfg/cfg.h"
#include "cfg/seen.h"
#include "x86/insn.h"
#include "store/recording.h"

#define SHOWN 12 /* of each kind */

#define COUNTS(X) \
	X(procedures, "procedures") \
	X(failed, "without a graph") \
	X(missing, "with edges missing") \
	X(blocks, "blocks that ran") \
	X(outside, "instructions that ran and are in no graph") \
	X(unreached, "blocks that ran and that nothing leads to") \
	X(entered, "blocks that were entered in the middle") \
	X(left, "blocks that were left in the middle") \
	X(branches, "branches") \
	X(targets, "targets of indirect jumps") \
	X(untold, "of them, such that no edge tells of") \
	X(classes, "classes with several blocks") \
	X(unequal, "of them, such whose blocks ran unequally often") \
	X(whole, "procedures of which every block must have run") \
	X(never, "blocks of theirs that did not run, or edges missing") \
	X(explained, "classes with a call that was left for good, or came back twice")

struct check {
#define X(name, what) uint64_t name;
	COUNTS(X)
#undef X
	const struct profile *p;
	uint32_t image;
	const char *path, *every;
	double seconds;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t ran(const struct check *c, uint64_t addr)
{
	const struct site *s = profile_site_find(c->p, (struct site_id){ c->image, 0, addr });

	return s ? s->observed : 0;
}

static void show(const struct check *c, uint64_t *n, uint64_t addr, const char *what)
{
	if ((*n)++ < SHOWN)
		printf("# %s 0x%" PRIx64 ": %s\n", c->path, addr, what);
}

/* The instructions of a block must have run equally often; a signal, or the end, may come between. */
static void check_block(struct check *c, const struct cfg *g, uint32_t b)
{
	const struct cfg_block *x = &g->block[b];
	uint64_t before = ran(c, x->start);
	bool any = before;

	for (uint32_t i = x->insn + 1; i < x->insn + x->ninsn; i++) {
		uint64_t n = ran(c, g->insn[i].addr);

		any |= n > 0;
		if (n > before)
			show(c, &c->entered, g->insn[i].addr, "entered in the middle of a block");
		if (n < before)
			show(c, &c->left, g->insn[i].addr, "left in the middle of a block");
		before = n;
	}
	c->blocks += any;
	if (any && x->flags & CFG_UNREACHED && !g->missing)
		show(c, &c->unreached, x->start, "ran, but nothing leads there");
	c->branches += any && x->ends == CFG_END_BRANCH;
}

static bool has_edge(const struct cfg *g, const struct cfg_block *x, uint64_t to)
{
	for (uint32_t e = x->out; e < x->out + x->nout; e++) {
		const struct cfg_block *y = &g->block[g->edge[e].to];

		if ((g->edge[e].kind == CFG_CASE && y->start == to) || g->edge[e].kind == CFG_LOST)
			return true;
	}
	return false;
}

static bool leaves(const struct cfg *g, const struct cfg_block *x)
{
	for (uint32_t e = x->out; e < x->out + x->nout; e++)
		if (g->edge[e].kind == CFG_TAIL || g->edge[e].kind == CFG_LOST)
			return true;
	return false;
}

static bool is_part(const struct cfg *g, uint64_t addr)
{
	for (uint32_t p = 0; p < g->nparts; p++)
		if (addr >= g->part[p].start && addr < g->part[p].end)
			return true;
	return false;
}

/* In the procedure, and not where it is called. */
static bool is_inner(const struct cfg *g, uint64_t addr)
{
	return is_part(g, addr) && addr != g->part[0].start;
}

static void check_targets(struct check *c, const struct cfg *g, const struct cfg_seen *seen)
{
	for (size_t i = 0; i < seen->ntargets; i++) {
		uint32_t b = cfg_block_at(g, seen->target[i].from);

		if (b == CFG_NONE)
			continue;
		c->targets++;
		if (!(is_part(g, seen->target[i].to) &&
		      has_edge(g, &g->block[b], seen->target[i].to)) &&
		    !(!is_inner(g, seen->target[i].to) && leaves(g, &g->block[b])))
			show(c, &c->untold, seen->target[i].from, "went where no edge leads");
	}
}

/* Did every call of the block come back once? Only then does what follows run as often. */
static bool returned(const struct check *c, const struct cfg *g, const struct cfg_block *x)
{
	const struct cfg_block *next;

	if (x->nout != 1 || g->edge[x->out].kind != CFG_AFTER)
		return true;
	next = &g->block[g->edge[x->out].to];
	return next->nin > 1 || ran(c, next->start) == ran(c, x->start);
}

struct class
{
	uint64_t ran;
	uint32_t blocks;
	bool unequal;
};

/* A procedure in which a call did not return once, or an exception landed, keeps no balance. */
static bool keeps_balance(const struct check *c, const struct cfg *g)
{
	for (uint32_t e = 0; e < g->nedges; e++) {
		const struct cfg_edge *x = &g->edge[e];

		if (x->from == CFG_ENTRY_BLOCK && x->kind != CFG_ENTER &&
		    ran(c, g->block[x->to].start))
			return false;
	}
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++)
		if (!returned(c, g, &g->block[b]))
			return false;
	return true;
}

static void check_classes(struct check *c, const struct cfg *g)
{
	struct class *class = calloc(g->nclasses, sizeof(*class));
	bool balanced = keeps_balance(c, g);

	if (!class)
		abort();
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++) {
		const struct cfg_block *x = &g->block[b];
		struct class *k = &class[x->cls];
		uint64_t n = ran(c, x->start);

		if (k->blocks++ && k->ran != n && !k->unequal) {
			k->unequal = true;
			if (balanced)
				show(c, &c->unequal, x->start,
				     "another of its class ran otherwise");
			else
				c->explained++;
		}
		k->ran = n;
	}
	for (uint32_t k = 0; k < g->nclasses; k++)
		c->classes += class[k].blocks > 1 && class[k].ran;
	free(class);
}

static void check_outside(struct check *c, const struct cfg *g, const struct cfg_seen *seen,
			  size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		if (cfg_block_at(g, seen->insn[i]) == CFG_NONE)
			show(c, &c->outside, seen->insn[i], "ran, but is in no block");
}

static void check_whole(struct check *c, const struct cfg *g)
{
	c->whole++;
	if (g->missing)
		show(c, &c->never, g->part[0].start, "edges are missing");
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++)
		if (!ran(c, g->block[b].start) && !(g->block[b].flags & CFG_UNREACHED))
			show(c, &c->never, g->block[b].start, "never ran");
}

static void check_image(struct check *c, struct image *im)
{
	struct cfg_code *code;
	struct cfg_seen seen;
	struct err err;
	double t0 = now();

	code = cfg_code_new(im, &err);
	if (!code || cfg_seen_read(&seen, c->p, c->image, code, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		exit(1);
	}
	c->seconds += now() - t0;
	for (size_t i = 0, end; i < seen.ninsns; i = end) {
		struct cfg_proc proc;
		struct cfg g;

		end = i + 1;
		if (!cfg_code_proc(code, seen.insn[i], &proc)) {
			show(c, &c->failed, seen.insn[i], "in no procedure");
			continue;
		}
		while (end < seen.ninsns && seen.insn[end] < proc.end)
			end++;
		c->procedures++;
		t0 = now();
		/* without what was seen: the graph must be right by itself */
		if (cfg_build(&g, code, seen.insn[i], NULL, &err)) {
			show(c, &c->failed, seen.insn[i], err.msg);
			continue;
		}
		c->seconds += now() - t0;
		c->missing += g.missing;
		check_outside(c, &g, &seen, i, end);
		for (uint32_t b = CFG_FIRST_BLOCK; b < g.nblocks; b++)
			check_block(c, &g, b);
		check_targets(c, &g, &seen);
		if (!g.missing)
			check_classes(c, &g);
		if (c->every && !strncmp(proc.name, c->every, strlen(c->every)))
			check_whole(c, &g);
		cfg_fini(&g);
	}
	cfg_seen_fini(&seen);
	cfg_code_free(code);
}

int main(int argc, char **argv)
{
	struct check c = { 0 };
	struct profile p;
	struct err err;

	if (argc == 4 && !strcmp(argv[1], "--every")) {
		c.every = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc != 2 || profile_init(&p, &err) || recording_read(argv[1], &p, &err)) {
		fprintf(stderr, "%s\n",
			argc == 2 ? err.msg : "usage: cfg_programs [--every PREFIX] RECORDING");
		return 2;
	}
	c.p = &p;
	for (c.image = 0; c.image < p.nimage; c.image++) {
		struct image *im;

		if (p.image[c.image]->kind != IMAGE_FILE)
			continue;
		c.path = p.image[c.image]->path;
		im = cfg_open_recorded(p.image[c.image], &err);
		if (!im) {
			fprintf(stderr, "%s\n", err.msg);
			return 1;
		}
		check_image(&c, im);
		image_close(im);
	}
#define X(name, what) printf("%8" PRIu64 " %s\n", c.name, what);
	COUNTS(X)
#undef X
	printf("%8.2f s of CPU time for the graphs\n", c.seconds);
	profile_fini(&p);
	return c.outside || c.unreached || c.entered || c.untold || c.unequal || c.failed ||
	       c.never || (c.every && !c.whole);
}
