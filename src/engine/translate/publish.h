/* SPDX-License-Identifier: MIT */
/* Blocks get their places in the cache. */
#ifndef ASSAY_ENGINE_TRANSLATE_PUBLISH_H
#define ASSAY_ENGINE_TRANSLATE_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct link;

void publish_init(void);
/* Before memory gets a limit: what is opened later would be taken from the program's share. */
void publish_open_all(void);
void publish_limit(uint64_t bytes); /* of code; 0: as much as there is room for */
bool publish_full(void);	    /* for one more block */
void publish_reset(void);
void publish_leave(void); /* the cache is unmapped, for good */
/* The link's jump is made to lead to its stub; or has been made to lead elsewhere: it may go without one until the
 * former. */
void publish_unlinked(struct link *l), publish_linked(struct link *l);

#pragma GCC visibility pop

#endif
