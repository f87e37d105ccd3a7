/* SPDX-License-Identifier: MIT */
/*
 * Call stacks by procedure: what frames are called, and trees of procedures, from the root down or from where the time is
 * up.
 *
 * Frames of a recording are addresses (observe/stacks.h); those of one procedure below the same callers become one node.
 */
#ifndef ASSAY_REPORT_CALL_TREE_H
#define ASSAY_REPORT_CALL_TREE_H

#include "observe/stacks.h"
#include "query/binary.h"

/* A procedure that occurs in stacks, or what a frame of another kind is shown as. */
struct call_proc {
	char *name;	/* demangled, without parameters; "[root]" and the like */
	uint64_t start; /* in the image; 0: not known */
	uint32_t image;
	uint32_t kind; /* enum frame_kind; FRAME_CODE: a procedure */
};

struct call_names {
	struct call_proc *proc;
	size_t n, room;
	uint32_t *of; /* by frame: its procedure */
	/* private */
	struct call_key *keys;
};

/* Names all frames. -1 with err set. */
int call_names_init(struct call_names *c, const struct profile *p, struct binaries *b,
		    struct err *err);
void call_names_fini(struct call_names *c);

struct call_node {
	uint32_t proc, parent;
	uint32_t child, next; /* the first node below, the next one beside; 0: none */
	double self, all;     /* time here; and below, too */
	uint64_t self_count, all_count;
};

struct call_tree {
	struct call_node *
		node; /* a parent has a smaller number; node 0 is the sum of all, of no procedure */
	size_t n, room;
	/* private */
	uint32_t *slot;
	size_t nslot;
};

enum call_tree_order {
	CALL_TREE_DOWN, /* nodes 0's children are why stacks end: "[root]" */
	CALL_TREE_UP, /* its children are procedures by their own time; below each are its callers, outwards */
};

/* -1 with err set. f: NULL is all samples. */
int call_tree_build(struct call_tree *t, const struct call_names *names, const struct stacks *s,
		    const struct stack_filter *f, enum call_tree_order order, struct err *err);
void call_tree_fini(struct call_tree *t);
/* Time in each procedure, and in it and what it called, which is counted once where it called itself; by its number in
 * `names`. From a tree that was built down; to be freed. NULL without memory. The fields `proc` are set. */
struct call_node *call_tree_totals(const struct call_tree *t, const struct call_names *names);

#endif
