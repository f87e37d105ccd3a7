/* SPDX-License-Identifier: MIT */
/*
 * The call stacks of a profile with names: a tree of nodes, each at a place in a procedure, and samples that ended in
 * nodes. A profile without stacks becomes a flat tree: each instruction that has samples (or executions) is a root.
 *
 * A frame of the profile's stacks (observe/stacks.h) is a node; of code that the compiler has put into a procedure from
 * another one, a node of the procedure and one of each that was inlined, the innermost one last. A node's parent has a
 * smaller number.
 */
#ifndef ASSAY_REPORT_CALLTREE_H
#define ASSAY_REPORT_CALLTREE_H

#include "observe/stacks.h"
#include "query/binary.h"

struct calltree_func {
	char *name; /* demangled, clean; a word in brackets where no procedure covers the code, or why a stack is cut */
	uint32_t image;
	uint64_t start;	  /* 0: not known */
	const char *file; /* file that its debug information names, or NULL */
	int line;
	bool is_end;  /* not a procedure, but the reason why a stack is cut */
	bool inlined; /* into another procedure: the name says so at its end (NAME_INLINED) */
};

/* The remedy where a reading needs call stacks, and the recording has none. */
#define STACKS_REMEDY \
	"`assay record` without --no-stacks records them (with --pgo and --policy slots: with -g)"

/* A place in code, which occurs once; inlined code has a place in each of the procedures that it
 * belongs to. */
struct calltree_place {
	uint32_t func;
	uint32_t image;
	uint64_t addr;
	const char *file; /* source file, or NULL */
	int line;
	uint32_t
		outer; /* the place in the code that this one was inlined into; CALLTREE_NOWHERE: it was not inlined */
	bool is_outer; /* nothing but the outer one of another place */
};

#define CALLTREE_NOWHERE \
	UINT32_MAX /* place of the root, and of frames that say that a stack is whole */

struct calltree_node {
	uint32_t parent, place;
};

struct calltree {
	const struct profile *profile;
	struct calltree_func *func;
	struct calltree_place *place;
	struct calltree_node *node;
	const struct stack_sample *sample;
	const struct stack_thread *thread;
	size_t nfunc, nplace, nnode, nsample, nthread;
	uint64_t width; /* ns of a sample's bucket */
	bool flat;	/* the profile has no stacks */
	bool inlines;	/* procedures that were inlined are nodes of their own */
	bool exact;	/* counts are executions, and times 0 */
	struct binaries binaries;
	/* private */
	struct calltree_key *funcs, *places;
	struct calltree_name *inlined;
	struct stack_sample *own_sample;
	struct stack_thread *own_thread;
};

/* -1 with err set: nothing is in the profile, no memory. */
int calltree_open(struct calltree *t, const struct profile *p, struct err *err);
/* Makes the tree; inlines: procedures that were inlined are nodes of their own; without them, node
 * n is frame n of the profile's stacks. */
int calltree_open_as(struct calltree *t, const struct profile *p, bool inlines, struct err *err);
struct stack_sum {
	double self,
		all; /* time of samples that ended in the node; and in the nodes below it, too */
	uint64_t self_count, all_count;
};
/* Sums by node, of the samples that pass; to be freed. NULL without memory. */
struct stack_sum *calltree_sum(const struct calltree *t, const struct stack_filter *f);
void calltree_close(struct calltree *t);
/* Lists the nodes from the outermost procedure to where the sample ended, except those that are nowhere. Returns their
 * number, at most `max`: the innermost ones. */
size_t calltree_stack(const struct calltree *t, uint32_t node, uint32_t *stack, size_t max);
#define CALLTREE_DEPTH 1024
/* The procedure that a node is in; t->nfunc for the root, and for frames that say that a stack is whole. */
uint32_t calltree_func_of(const struct calltree *t, uint32_t node);
/* The procedure's name; that of whole stacks for t->nfunc. */
const char *calltree_name(const struct calltree *t, uint32_t func);
/* The number of the procedure at an address of an image of the profile; negative without memory. It may add one: t->nfunc grows. */
long calltree_func_at(struct calltree *t, uint32_t image, uint64_t addr);
/* Whether the procedure has that name, or one that matches it as a shell pattern. */
bool calltree_is_named(const struct calltree *t, uint32_t func, const char *pattern);
/* Whether a node farther out is in the same procedure. */
bool calltree_is_inner(const struct calltree *t, uint32_t node);

/* Time in a procedure, and in it and what it called: once where it called itself. */
struct calltree_total {
	double self, all;
	uint64_t self_count, all_count;
};
/* Sums by procedure, t->nfunc included; sum: calltree_sum(). To be freed; NULL without memory. */
struct calltree_total *calltree_totals(const struct calltree *t, const struct stack_sum *sum);
/* Length of the procedure's name without the mark of those that were inlined. */
size_t calltree_plain(const struct calltree_func *f);
/* Last component of an image's path. */
const char *calltree_image(const struct calltree *t, uint32_t image);

#endif
