/* SPDX-License-Identifier: MIT */
/* Steps that complete a graph once it has its blocks and edges. */
#ifndef ASSAY_CFG_GRAPH_H
#define ASSAY_CFG_GRAPH_H

#include "cfg/cfg.h"

/* Sorts the edges by `from`, keeping the order of those from one block; fills in out, nout, in, nin.
 * false without memory. */
bool graph_link(struct cfg *g);

/* Flags the blocks that the entry does not reach, and gives those that do not reach the exit a
 * CFG_VIRTUAL edge to it: one for each set of blocks that control never leaves. Takes and leaves
 * a linked graph. False without memory. */
bool graph_close(struct cfg *g);

/* Numbers the frequency-equivalence classes of a closed graph. false without memory. */
bool graph_classes(struct cfg *g);

#endif
