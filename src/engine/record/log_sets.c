/* SPDX-License-Identifier: MIT */
/* Records of working sets and of phases: mappings, touched lines, executed blocks, stacks, ends of intervals. */
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/procfs.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/shared.h"

void log_mapping(const char *line, bool first)
{
	struct exact_mapping *r;
	const char *s;
	size_t n;

	r = log_open(EXACT_MAPPING, sizeof(*r));
	memset(&r->first, 0, sizeof(*r) - sizeof(r->r));
	r->first = first;
	s = procfs_hex(line, &r->start);
	s = procfs_hex(s + 1, &r->end) + 1;
	memcpy(r->perms, s, 4);
	/* skips permissions, offset, device and inode */
	for (unsigned spaces = 0; *s && spaces < 4; s++)
		spaces += *s == ' ';
	while (*s == ' ')
		s++;
	n = strlen(s);
	memcpy(r->name, s, n < sizeof(r->name) ? n : sizeof(r->name) - 1);
	log_close(r);
}

/* most lines of a chunk that are listed: a longer list would be larger than a bit for each line */
#define LISTED_MAX 255

void log_touched(unsigned plane, uint64_t chunk_number, const uint64_t *bits, unsigned n)
{
	bool listed = n <= LISTED_MAX;
	struct exact_touched *r;
	uint16_t *to;

	r = log_open(EXACT_TOUCHED, sizeof(*r) + (listed ? 2ul * n : EXACT_CHUNK / 8));
	r->chunk = chunk_number;
	r->n = n;
	r->listed = listed;
	r->plane = (uint8_t)plane;
	to = (uint16_t *)r->lines;
	if (!listed)
		memcpy(r->lines, bits, EXACT_CHUNK / 8);
	for (unsigned i = 0; listed && i < EXACT_CHUNK / 64; i++)
		for (uint64_t v = bits[i]; v; v &= v - 1)
			*to++ = (uint16_t)(64 * i + (unsigned)__builtin_ctzll(v));
	log_close(r);
}

#define RAN_BYTES 0x8000u

void log_ran(const uint8_t *bits, uint32_t n)
{
	uint32_t bytes = (n + 7) / 8;

	for (uint32_t at = 0; at < bytes; at += RAN_BYTES) {
		uint32_t part = bytes - at < RAN_BYTES ? bytes - at : RAN_BYTES;
		struct exact_ran *r;

		r = log_open(EXACT_RAN, sizeof(*r) + part);
		r->first = 8 * at;
		r->bytes = part;
		memcpy(r->blocks, bits + at, part);
		log_close(r);
	}
}

void log_stack(const struct thread *t)
{
	uint64_t sp = t->regs[RSP], n = EXACT_STACK_MAX;
	struct exact_stack *r;

	r = log_open(EXACT_STACK, sizeof(*r) + n);
	r->pc = t->pc;
	memcpy(r->reg, t->regs, sizeof(r->reg));
	for (uint64_t at = 0; at < n;) { /* page by page, up to the end of the stack */
		uint64_t part = 4096 - ((sp + at) & 4095);

		part = part < n - at ? part : n - at;
		if (!rt_copy(r->bytes + at, (const void *)(sp + at), part))
			n = at;
		at += part;
	}
	r->r.size = (uint32_t)((sizeof(*r) + n + 7) & ~7ull);
	log_close(r);
}

void log_snapshot(const struct exact_snapshot *s)
{
	struct exact_snapshot *r;

	r = log_open(EXACT_SNAPSHOT, sizeof(*r));
	r->count = s->count;
	r->cpu_ns = s->cpu_ns;
	r->wall_ns = s->wall_ns;
	r->tid = s->tid;
	r->last = s->last;
	memcpy(r->name, s->name, sizeof(r->name));
	log_close(r);
}

void log_vector(const struct exact_executed *e, unsigned n, bool of_pairs)
{
	struct exact_vector *r;

	r = log_open(EXACT_VECTOR, sizeof(*r) + n * sizeof(*e));
	r->n = n;
	r->pairs = of_pairs;
	memcpy(r->entry, e, n * sizeof(*e));
	log_close(r);
}

void log_interval(void)
{
	log_close(log_open(EXACT_INTERVAL, sizeof(struct exact_record)));
}
