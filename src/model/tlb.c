/* SPDX-License-Identifier: MIT */
#include "model/tlb.h"

int tlb_init(struct tlb *t, struct cache_geometry first, struct cache_geometry second)
{
	*t = (struct tlb){ 0 };
	if (!cache_init(&t->first, first, CACHE_LRU) && !cache_init(&t->second, second, CACHE_LRU))
		return 0;
	tlb_fini(t);
	return -1;
}

void tlb_fini(struct tlb *t)
{
	cache_fini(&t->first);
	cache_fini(&t->second);
}

enum tlb_result tlb_touch(struct tlb *t, uint64_t page)
{
	if (cache_touch(&t->first, page))
		return TLB_HIT;
	return cache_touch(&t->second, page) ? TLB_SECOND : TLB_WALK;
}
