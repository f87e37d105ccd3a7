/* SPDX-License-Identifier: MIT */
/*
 * What is done to a graph once its blocks and edges are there.
 */
#ifndef ASSAY_CFG_GRAPH_H
#define ASSAY_CFG_GRAPH_H

#include "cfg/cfg.h"

/* Sorts the edges by `from`, keeping the order of those from one block; fills in out, nout, in, nin.
 * false without memory. */
bool graph_link(struct cfg *g);

/* Flags the blocks that the entry does not reach, and gives those that the exit is not reached from a
 * CFG_VIRTUAL edge to it: one for each set of blocks that control, once there, goes round for ever.
 * Takes and leaves a linked graph. false without memory. */
bool graph_close(struct cfg *g);

/* Numbers the frequency-equivalence classes of a closed graph. false without memory. */
bool graph_classes(struct cfg *g);

#endif
