/* SPDX-License-Identifier: MIT */
/* The places of blocks in the cache. */
#ifndef ASSAY_ENGINE_TRANSLATE_PUBLISH_H
#define ASSAY_ENGINE_TRANSLATE_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct link;

void publish_init(void);
/* Called before the program limits its memory: pages that the cache opens later would count against that limit. */
void publish_open_all(void);
void publish_limit(
	uint64_t bytes); /* largest size of code in bytes; 0: no limit but the cache's size */
bool publish_full(void); /* whether there is no room for another block */
void publish_reset(void);
void publish_leave(void); /* unmaps the cache for good */
/* Makes the link's jump lead to its stub, which is made if there is none. */
void publish_unlinked(struct link *l);
/* Called when the link's jump leads elsewhere, so that the link needs no stub until it is unlinked. */
void publish_linked(struct link *l);

#pragma GCC visibility pop

#endif
