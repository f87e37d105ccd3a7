/* SPDX-License-Identifier: MIT */
#include "sampler/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

int ring_open(struct ring *r, int map, size_t bytes, struct err *err)
{
	struct epoll_event wake = { .events = EPOLLIN };
	void *consumer, *producer;

	*r = (struct ring){ .epoll = -1, .page = (size_t)sysconf(_SC_PAGESIZE), .bytes = bytes };
	consumer = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	producer = mmap(NULL, r->page + bytes, PROT_READ, MAP_SHARED, map, (off_t)r->page);
	r->consumer = consumer == MAP_FAILED ? NULL : consumer;
	r->producer = producer == MAP_FAILED ? NULL : producer;
	if (!r->consumer || !r->producer)
		return err_sys(err, "cannot map the ring buffer");
	r->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll < 0 || epoll_ctl(r->epoll, EPOLL_CTL_ADD, map, &wake))
		return err_sys(err, "cannot wait for the ring buffer");
	return 0;
}

void ring_close(struct ring *r)
{
	if (r->consumer)
		munmap(r->consumer, r->page);
	if (r->producer)
		munmap(r->producer, r->page + r->bytes);
	if (r->epoll >= 0)
		close(r->epoll);
	free(r->copy);
	*r = (struct ring){ .epoll = -1 };
}

/* The content of the record at that position, in one piece; NULL without memory. */
static const void *content(struct ring *r, uint64_t at, size_t n)
{
	const uint8_t *data = (const uint8_t *)r->producer + r->page;
	size_t from = (at + BPF_RINGBUF_HDR_SZ) & (r->bytes - 1), first = r->bytes - from;
	uint8_t *more;

	if (n <= first)
		return data + from;
	more = n > r->copy_room ? realloc(r->copy, n) : r->copy;
	if (!more)
		return NULL;
	if (n > r->copy_room)
		r->copy_room = n;
	r->copy = more;
	memcpy(more, data + from, first);
	memcpy(more + first, data, n - first);
	return more;
}

int ring_read(struct ring *r, int (*take)(void *ctx, const void *record, size_t n), void *ctx)
{
	const uint8_t *data = (const uint8_t *)r->producer + r->page;
	uint64_t at = *r->consumer;
	const void *record;
	uint32_t head;
	size_t n;
	int rc = 0;

	while (!rc && at < __atomic_load_n(r->producer, __ATOMIC_ACQUIRE)) {
		head = __atomic_load_n((const uint32_t *)(data + (at & (r->bytes - 1))),
				       __ATOMIC_ACQUIRE);
		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		n = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		if (!(head & BPF_RINGBUF_DISCARD_BIT)) {
			record = content(r, at, n);
			if (!record)
				return -ENOMEM;
			rc = take(ctx, record, n);
		}
		at += (n + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
		__atomic_store_n(r->consumer, at, __ATOMIC_SEQ_CST);
	}
	return rc < 0 ? rc : 0;
}
