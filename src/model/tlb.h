/* SPDX-License-Identifier: MIT */
/* Two levels of TLB. All pages have one size, because the program's use of larger ones is not
 * known. */
#ifndef ASSAY_MODEL_TLB_H
#define ASSAY_MODEL_TLB_H

#include "model/cache.h"

struct tlb {
	struct cache first, second;
};

enum tlb_result {
	TLB_HIT,
	TLB_SECOND, /* only the second level has it */
	TLB_WALK,   /* neither level has it */
};

/* `second` may have no ways. Returns -1 without memory. */
int tlb_init(struct tlb *t, struct cache_geometry first, struct cache_geometry second);
void tlb_fini(struct tlb *t);
enum tlb_result tlb_touch(struct tlb *t, uint64_t page);

#endif
