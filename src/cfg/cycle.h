/* SPDX-License-Identifier: MIT */
/*
 * Cycle equivalence of the edges of an undirected graph: two are equivalent if each cycle has both or
 * neither. In a strongly connected directed graph the same classes hold for directed cycles, so that
 * equivalent edges are passed equally often by whatever returns to where it began (Johnson, Pearson,
 * Pingali: The Program Structure Tree, PLDI 1994).
 */
#ifndef ASSAY_CFG_CYCLE_H
#define ASSAY_CFG_CYCLE_H

#include <stdint.h>

struct cycle_edge {
	uint32_t a, b; /* nodes; a == b is a cycle by itself */
};

/*
 * Computes cls[0 .. nedges): each edge's class, numbered from 0. An edge that lies on no cycle, or
 * that no path from node 0 leads to, has a class of its own. Returns the number of classes, or -1
 * without memory. Takes linear time.
 */
int64_t cycle_classes(uint32_t nnodes, const struct cycle_edge *edge, uint32_t nedges,
		      uint32_t *cls);

#endif
