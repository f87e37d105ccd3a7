/* SPDX-License-Identifier: MIT */
/*
 * The reader's side of the kernel's ring buffer (BPF_MAP_TYPE_RINGBUF). Its pages are mapped once, while the kernel lets
 * them be mapped twice in a row so that no record has an end behind the last page: such a record is copied.
 *
 *   page 0   position up to which the reader has read
 *   page 1   position up to which the kernel has reserved records
 *   then     the ring: records of 8 bytes (length, with flags in the two highest bits; the kernel's own) and the content,
 *            each at a multiple of 8
 */
#ifndef ASSAY_SAMPLER_RING_H
#define ASSAY_SAMPLER_RING_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct ring {
	int epoll;	    /* readable when the kernel has woken the reader; -1: not open */
	size_t page, bytes; /* bytes of the ring: a power of two */
	uint64_t *consumer; /* page 0; NULL: not mapped */
	uint64_t *producer; /* page 1, with the ring behind it; NULL: not mapped */
	uint8_t *copy;	    /* of the last record that lay across the end */
	size_t copy_room;
};

/* Opens the map's ring, of that many bytes. On failure ring_close() is still to be called. */
int ring_open(struct ring *r, int map, size_t bytes, struct err *err);
void ring_close(struct ring *r);
/*
 * Takes the records that wait, oldest first. Stops behind a record for which `take` returns a negative number, and returns
 * that; -ENOMEM without memory; else 0.
 */
int ring_read(struct ring *r, int (*take)(void *ctx, const void *record, size_t n), void *ctx);

#endif
