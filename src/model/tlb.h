/* SPDX-License-Identifier: MIT */
/* Two levels of translation buffers. All pages have one size: which of a program's are larger is not known. */
#ifndef ASSAY_MODEL_TLB_H
#define ASSAY_MODEL_TLB_H

#include "model/cache.h"

struct tlb {
	struct cache first, second;
};

enum tlb_result {
	TLB_HIT,
	TLB_SECOND, /* only the second one has it */
	TLB_WALK,   /* neither */
};

/* `second` may have no ways. -1 without memory. */
int tlb_init(struct tlb *t, struct cache_geometry first, struct cache_geometry second);
void tlb_fini(struct tlb *t);
enum tlb_result tlb_touch(struct tlb *t, uint64_t page);

#endif
