/* SPDX-License-Identifier: MIT */
/*
 * The bytes at SHADOW that tell which lines of memory have been touched. Code in the cache sets them (shadow.c);
 * working sets (lines.c) and the warm-up of simulated caches (warm.c) read which have been set since the last time.
 *
 * Eight bytes are taken and cleared at a time, in one exchange: a mark that another thread sets meanwhile is read now
 * or the next time, but never lost. Code sets a line's byte first, then the bytes of the levels above; the reader
 * clears from above, so a mark that is read too early is left to the next time in all three levels.
 *
 * Threads mark in different planes, so that it is known which lines were touched by more than one of them; threads
 * beyond the number of planes share planes in turn.
 */
#include <linux/mman.h>

#include "engine/core/layout.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

#define MADV_NOHUGEPAGE 15
#define MADV_DONTDUMP 16

bool lines_alone;

static uint32_t begun; /* number of threads that have begun */

static uint64_t lines_in_all(void)
{
	return 1ull << (ADDRESS_BITS - lines.shift);
}

/* Marks of one plane. */
static uint64_t level_size(unsigned n)
{
	return lines_in_all() >> (n * LEVEL_SHIFT);
}

static unsigned planes(void)
{
	uint64_t room = SHADOW / level_size(0);

	return room < PLANES_MAX ? (unsigned)room : PLANES_MAX;
}

static unsigned planes_used(void)
{
	uint32_t n = __atomic_load_n(&begun, __ATOMIC_ACQUIRE);

	return n < planes() ? n : planes();
}

static uint64_t above(uint64_t at)
{
	return at >> LEVEL_SHIFT | 1ull << LEVEL_BIT;
}

static uint8_t *level_of(unsigned plane, unsigned n)
{
	uint64_t at = !plane && lines_alone ? ALONE : SHADOW + plane * level_size(0);

	while (n-- > 0)
		at = above(at);
	return (uint8_t *)at;
}

/* Extents of the marks: of each level, those of all planes, and those of the only thread. */
struct room {
	uint64_t at, size;
};
#define ROOMS 6
#define ROOMS_ALONE 3 /* number of places for the marks of an only thread, which come last */

static void get_rooms(struct room r[ROOMS])
{
	uint64_t at = SHADOW, alone = ALONE;

	for (unsigned n = 0; n < 3; n++, at = above(at), alone = above(alone)) {
		r[n] = (struct room){ at, (planes() * level_size(n) + 4095) & ~4095ull };
		r[3 + n] = (struct room){ alone, (level_size(n) + 4095) & ~4095ull };
	}
}

static unsigned rooms_used(void)
{
	return lines_alone ? ROOMS : ROOMS - ROOMS_ALONE;
}

static long map_room(const struct room *r)
{
	long p = sys(__NR_mmap, r->at, r->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == (long)r->at) {
		sys(__NR_madvise, p, r->size, MADV_NOHUGEPAGE);
		sys(__NR_madvise, p, r->size, MADV_DONTDUMP);
	}
	return p;
}

/* Reserves the marks that gs reaches. False: there is no room, or gs has the wrong base. */
static bool map_alone(const struct thread *t, const struct room *r)
{
	if (level_size(0) > ALONE || (uint64_t)t != CONTEXT + ALONE)
		return false;
	for (unsigned i = 0; i < ROOMS_ALONE; i++) {
		if (map_room(&r[i]) == (long)r[i].at)
			continue;
		while (i-- > 0)
			sys(__NR_munmap, r[i].at, r[i].size);
		return false;
	}
	return true;
}

void marks_init(const struct thread *alone)
{
	struct room room[ROOMS];

	if (lines.shift < 4 || lines.shift > 12)
		die("the recorder asks for lines that cannot be");
	get_rooms(room);
	for (unsigned i = 0; i < ROOMS - ROOMS_ALONE; i++) {
		long p = map_room(&room[i]);

		if (p != (long)room[i].at)
			die("no address space to mark lines in: %ld GiB, errno %ld (see ulimit -v "
			    "and vm.overcommit_memory)",
			    (long)(room[i].size >> 30), -p);
	}
	lines_alone = alone && map_alone(alone, room + ROOMS - ROOMS_ALONE);
	/* code with marks is several times as long: it has more pages than the CPU's TLB holds */
	sys(__NR_madvise, CACHE_BASE, CACHE_SIZE, MADV_HUGEPAGE);
}

void marks_begin(void)
{
	begun = 0;
}

void marks_thread(struct thread *t)
{
	t->plane =
		(uint64_t)level_of(__atomic_fetch_add(&begun, 1, __ATOMIC_ACQ_REL) % planes(), 0);
}

void marks_clear(void)
{
	struct room room[ROOMS];

	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		sys(__NR_madvise, room[i].at, room[i].size, MADV_DONTNEED);
}

void marks_leave(void)
{
	struct room room[ROOMS];

	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		sys(__NR_munmap, room[i].at, room[i].size);
}

/* Marks that the engine itself sets. */

static bool mark(const struct thread *t, uint64_t line)
{
	uint64_t at = t->plane + line;

	if (*(volatile uint8_t *)at)
		return false;
	*(volatile uint8_t *)at = 1;
	for (unsigned n = 1; n <= 2; n++) {
		at = above(at);
		*(volatile uint8_t *)at = 1;
	}
	return true;
}

/* Marks lines, and returns how many were not marked before. */
uint64_t marks_set(const struct thread *t, uint64_t addr, uint64_t n)
{
	uint64_t last = addr + n - 1, first = 0;

	if (!n || last < addr || last >> ADDRESS_BITS)
		return 0;
	for (uint64_t i = addr >> lines.shift; i <= last >> lines.shift; i++)
		first += mark(t, i);
	return first;
}

/* Marks the bytes of a level that stand for [first, last] of the level below, where the level below has marks. */
static void clear_chunks(unsigned plane, uint64_t first, uint64_t last)
{
	uint8_t *chunk = level_of(plane, 1);

	for (uint64_t i = first; i <= last;) {
		if (!level_of(plane, 2)[i >> LEVEL_SHIFT]) {
			i = ((i >> LEVEL_SHIFT) + 1) << LEVEL_SHIFT;
			continue;
		}
		if (chunk[i])
			chunk[i] = 0;
		i++;
	}
}

/* Clears marks of one chunk. */
static void clear_lines(unsigned plane, uint64_t first, uint64_t last)
{
	uint8_t *line = level_of(plane, 0);

	if (!level_of(plane, 1)[first / EXACT_CHUNK])
		return;
	for (uint64_t i = first; i <= last; i++)
		if (line[i])
			line[i] = 0;
}

/* Clears the marks of lines first to last: whole chunks of marks are given back to the kernel, the rest is cleared line by line. */
static void clear_plane(unsigned plane, uint64_t first, uint64_t last)
{
	uint64_t c0 = (first + EXACT_CHUNK - 1) / EXACT_CHUNK;
	uint64_t c1 = (last + 1) / EXACT_CHUNK; /* the chunk behind the last whole one */

	if (c0 >= c1) {
		uint64_t middle = last / EXACT_CHUNK * EXACT_CHUNK;

		if (middle > first)
			clear_lines(plane, first, middle - 1);
		clear_lines(plane, middle > first ? middle : first, last);
		return;
	}
	if (first < c0 * EXACT_CHUNK)
		clear_lines(plane, first, c0 * EXACT_CHUNK - 1);
	if (last >= c1 * EXACT_CHUNK)
		clear_lines(plane, c1 * EXACT_CHUNK, last);
	sys(__NR_madvise, level_of(plane, 0) + c0 * EXACT_CHUNK, (c1 - c0) * EXACT_CHUNK,
	    MADV_DONTNEED);
	clear_chunks(plane, c0, c1 - 1);
}

void marks_unmapped(uint64_t start, uint64_t n)
{
	uint64_t first = start >> lines.shift, end = (start + n + 4095) & ~4095ull;

	if (!n || end <= start || end >> ADDRESS_BITS)
		return;
	for (unsigned i = 0; i < planes_used(); i++)
		clear_plane(i, first, (end >> lines.shift) - 1);
}

bool marks_in_the_way(uint64_t start, uint64_t n)
{
	struct room room[ROOMS];

	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		if (start < room[i].at + room[i].size && room[i].at < start + n)
			return true;
	return false;
}

/* Copies the marks at `from` to the thread's plane. */
static void move_marks(const struct thread *t, uint64_t from)
{
	const uint8_t *line = (const uint8_t *)from, *chunk = (const uint8_t *)above(from);
	const uint8_t *top = (const uint8_t *)above(above(from));

	for (uint64_t i = 0; i < level_size(2); i++)
		for (uint64_t j = i << LEVEL_SHIFT; top[i] && j < (i + 1) << LEVEL_SHIFT; j++)
			for (uint64_t k = j << LEVEL_SHIFT; chunk[j] && k < (j + 1) << LEVEL_SHIFT;
			     k++)
				if (line[k])
					mark(t, k);
}

void marks_spread(struct thread *t)
{
	struct room room[ROOMS];

	get_rooms(room);
	lines_alone = false;
	t->plane = (uint64_t)level_of(0, 0);
	move_marks(t, ALONE);
	for (unsigned i = ROOMS - ROOMS_ALONE; i < ROOMS; i++)
		sys(__NR_munmap, room[i].at, room[i].size);
}

bool marks_stand_alone(uint64_t start, uint64_t n)
{
	return lines_alone && start < ALONE + level_size(0) && ALONE < start + n;
}

/* Reporting marks to the recorder. */

/* Reads eight bytes of a level, and clears them. */
uint64_t marks_take(uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED) ? __atomic_exchange_n(p, 0, __ATOMIC_SEQ_CST)
						    : 0;
}

static void put_chunk(unsigned plane, uint64_t chunk)
{
	uint64_t *p = (uint64_t *)(level_of(plane, 0) + chunk * EXACT_CHUNK),
		 bits[EXACT_CHUNK / 64] = { 0 };
	unsigned n = 0;

	for (unsigned i = 0; i < EXACT_CHUNK / 8; i++) {
		uint64_t v = marks_take(&p[i]);

		if (v) { /* gathers one bit of each byte, the lowest byte first */
			v = v * 0x0102040810204080ull >> 56;
			bits[i / 8] |= v << (i % 8 * 8);
			for (; v; v &= v - 1)
				n++;
		}
	}
	if (n)
		log_touched(plane, chunk, bits, n);
}

/* Reports the chunks that eight bytes of level 1 stand for. */
static void put_chunks(unsigned plane, uint64_t *p, uint64_t chunk)
{
	uint64_t v = marks_take(p);

	for (unsigned k = 0; v; k++, v >>= 8)
		if (v & 0xff)
			put_chunk(plane, chunk + k);
}

static void put_plane(unsigned plane)
{
	uint64_t *top = (uint64_t *)level_of(plane, 2);

	for (uint64_t i = 0; i < level_size(2) / 8; i++) {
		uint64_t v = marks_take(&top[i]);

		for (unsigned k = 0; v; k++, v >>= 8) {
			/* the first line of the chunk */
			uint64_t first = (8 * i + k) << LEVEL_SHIFT;
			uint64_t *p = (uint64_t *)(level_of(plane, 1) + first);

			for (unsigned j = 0; v & 0xff && j < 1u << LEVEL_SHIFT >> 3; j++)
				put_chunks(plane, &p[j], first + 8ull * j);
		}
	}
}

void marks_tell(void)
{
	for (unsigned i = 0; i < planes_used(); i++)
		put_plane(i);
}
