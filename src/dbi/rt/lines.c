/* SPDX-License-Identifier: MIT */
/*
 * Which lines of memory are touched: the bytes at SHADOW that code in the cache sets (shadow.c), and the
 * snapshots that are made of them.
 *
 * A snapshot takes and clears eight bytes at a time, in one exchange: what another thread sets meanwhile is in
 * this snapshot or in the next one, never in none. Code sets a line's byte first, then the bytes above it; a
 * snapshot clears from above: where it comes too early it leaves all three to the next one.
 *
 * Threads mark in different planes, so that it is known which lines more than one of them touched; more threads
 * than there are planes take turns.
 *
 * An interval ends where the block begins that would exceed it. A thread takes from what is left of it by
 * itself, in parts (T_LEFT), which are granted anew, as they were used, when one does not suffice; where there are
 * several threads each is given a part, and the end is off by that much.
 */
#include <asm/errno.h>
#include <linux/mman.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

#include "dbi/rt/procfs.h"
#include "dbi/rt/rt.h"
#include "dbi/rt/shadow.h"
#include "dbi/rt/sys.h"

#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define POLL 20000 /* instructions between looks at a clock */
#define MADV_NOHUGEPAGE 15
#define MADV_DONTDUMP 16
#define BLOCKS_BYTES (1u << 19) /* a bit for each block there can be */

struct exact_lines lines;
bool lines_alone;

_Static_assert(EXACT_BLOCKS_MAX == T_RAN_SIZE, "layout");

static int lines_lock, mapping_lock;
static struct {
	uint64_t interval, next; /* in the unit */
	uint64_t total;		 /* executed, as far as threads have said so */
	uint32_t taken;
	uint32_t threads; /* that have begun */
	long pid;
	bool mappings_changed;
	uint8_t *ran;
} now;

static uint64_t lines_in_all(void)
{
	return 1ull << (ADDRESS_BITS - lines.shift);
}

/* Of a plane. */
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
	uint32_t n = __atomic_load_n(&now.threads, __ATOMIC_ACQUIRE);

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

/* Where marks lie: of each level, those of all planes, and of the thread that is alone. */
struct room {
	uint64_t at, size;
};
#define ROOMS 6
#define ROOMS_ALONE 3 /* the last ones */

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

static uint64_t clock_ns(int which)
{
	int64_t t[2] = { 0, 0 };

	sys(__NR_clock_gettime, which, t);
	return (uint64_t)t[0] * 1000000000ull + (uint64_t)t[1];
}

static bool timed(void)
{
	return lines.unit == EXACT_CPU_NS || lines.unit == EXACT_WALL_NS;
}

static uint64_t clock_now(void)
{
	return clock_ns(lines.unit == EXACT_CPU_NS ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

static void begin(void)
{
	now.pid = sys(__NR_getpid);
	now.interval = lines.interval;
	now.next = timed() ? clock_now() + now.interval : now.interval;
	now.total = now.taken = now.threads = 0;
	now.mappings_changed = true;
}

/* How much the thread may execute before it asks again: in `part`, an execution of that weight. */
static void grant(struct thread *t, unsigned weight, unsigned part)
{
	uint64_t room = now.next > now.total ? now.next - now.total : 0;

	if (timed())
		room = POLL > weight ? POLL : weight;
	else
		room = left_share(room, weight);
	left_divide(t, room, weight, part);
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

/* False: there is no room for it, or gs does not point there. */
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

void lines_init(struct thread *t)
{
	struct room room[ROOMS];

	lines = *log_lines();
	if (lines.shift < 4 || lines.shift > 12 || !lines.interval || lines.snapshots < 2)
		die("the recorder asks for lines that cannot be");
	get_rooms(room);
	for (unsigned i = 0; i < ROOMS - ROOMS_ALONE; i++) {
		long p = map_room(&room[i]);

		if (p != (long)room[i].at)
			die("no address space to mark lines in: %ld GiB, errno %ld (see ulimit -v "
			    "and vm.overcommit_memory)",
			    (long)(room[i].size >> 30), -p);
	}
	lines_alone = map_alone(t, room + ROOMS - ROOMS_ALONE);
	/* with marks code is several times as long: pages for it are more than the CPU remembers */
	sys(__NR_madvise, CACHE_BASE, CACHE_SIZE, MADV_HUGEPAGE);
	now.ran = reserve(BLOCKS_BYTES);
	begin();
	lines_thread(t);
	grant(t, 0, 0);
}

static void forget_ran(struct thread *t)
{
	sys(__NR_madvise, (char *)t + T_RAN, T_RAN_SIZE, MADV_DONTNEED);
}

void lines_thread(struct thread *t)
{
	forget_ran(t);
	left_clear(t);
	t->plane = (uint64_t)level_of(
		__atomic_fetch_add(&now.threads, 1, __ATOMIC_ACQ_REL) % planes(), 0);
}

void lines_after_fork(struct thread *t)
{
	struct room room[ROOMS];

	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		sys(__NR_madvise, room[i].at, room[i].size, MADV_DONTNEED);
	sys(__NR_madvise, now.ran, BLOCKS_BYTES, MADV_DONTNEED);
	lines_lock = mapping_lock = 0;
	begin();
	lines_thread(t);
	grant(t, 0, 0);
}

void lines_leave(void)
{
	struct room room[ROOMS];

	if (!lines_on())
		return;
	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		sys(__NR_munmap, room[i].at, room[i].size);
}

/* Marking by the engine itself. */

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

/* How many of them were not marked yet. */
static uint64_t mark_all(const struct thread *t, uint64_t addr, uint64_t n)
{
	uint64_t last = addr + n - 1, first = 0;

	if (!n || last < addr || last >> ADDRESS_BITS)
		return 0;
	for (uint64_t i = addr >> lines.shift; i <= last >> lines.shift; i++)
		first += mark(t, i);
	return first;
}

/* Elements from one address to another, which is behind the last one, or, downwards, before it. */
static uint64_t mark_elements(const struct thread *t, uint64_t from, uint64_t to, unsigned size)
{
	return to > from ? mark_all(t, from, to - from) : mark_all(t, to + size, from - to);
}

static uint64_t mark_gather(const struct thread *t, uint64_t what)
{
	uint64_t first = 0;
	const uint32_t *narrow = (const uint32_t *)&t->later[LATER_INDEX];
	const uint32_t *lanes = (const uint32_t *)&t->later[LATER_LANES];

	for (unsigned i = 0; i < LATER_COUNT_OF(what); i++) {
		int64_t index = what & LATER_INDEX_64 ? (int64_t)t->later[LATER_INDEX + i]
						      : (int32_t)narrow[i];
		bool on = what & LATER_VECTOR_MASK
				  ? lanes[what & LATER_MASK_64 ? 2 * i + 1 : i] >> 31
				  : t->later[LATER_MASK] >> i & 1;

		if (on)
			first += mark_all(
				t, t->later[LATER_BASE] + (uint64_t)index * LATER_SCALE(what),
				LATER_SIZE(what));
	}
	return first;
}

void lines_later(struct thread *t, uint32_t block)
{
	uint64_t what = t->later[LATER_WHAT], first = 0;
	unsigned size = LATER_SIZE(what);
	bool moved = what & LATER_STRING && t->later[LATER_COUNT] != t->regs[RCX];

	if (what & LATER_GATHER)
		first += mark_gather(t, what);
	if (moved && what & LATER_READS)
		first += mark_elements(t, t->later[LATER_FROM], t->regs[RSI], size);
	if (moved && what & LATER_WRITES)
		first += mark_elements(t, t->later[LATER_TO], t->regs[RDI], size);
	if (block != NO_BLOCK && !(lines.flags & EXACT_LINES_UNCHECKED))
		((uint64_t *)((char *)t + T_FIRSTS))[block] += first;
}

/* What the kernel reads and writes for the calls that programs move data with. */
void lines_syscall(struct thread *t, long nr, const uint64_t *r, long ret)
{
	if (!(lines.flags & EXACT_LINES_KERNEL) || ret <= 0)
		return;
	switch (nr) {
	case __NR_read:
	case __NR_pread64:
	case __NR_recvfrom:
	case __NR_write:
	case __NR_pwrite64:
	case __NR_sendto:
	case __NR_getdents64:
		mark_all(t, r[RSI], (uint64_t)ret);
		break;
	case __NR_getrandom:
	case __NR_getcwd:
		mark_all(t, r[RDI], (uint64_t)ret);
		break;
	case __NR_readlink:
		mark_all(t, r[RSI], (uint64_t)ret);
		break;
	case __NR_readv:
	case __NR_preadv:
	case __NR_writev:
	case __NR_pwritev: {
		uint64_t left = (uint64_t)ret, v[2];

		for (uint64_t i = 0; i < r[RDX] && left; i++) {
			if (!rt_copy(v, (const void *)(r[RSI] + 16 * i), sizeof(v)))
				break;
			mark_all(t, r[RSI] + 16 * i, 16);
			v[1] = v[1] < left ? v[1] : left;
			mark_all(t, v[0], v[1]);
			left -= v[1];
		}
		break;
	}
	default:
		break;
	}
}

/* Mappings. */

void lines_mapping_begin(void)
{
	if (lines_on())
		lock(&mapping_lock);
}

void lines_mapping_end(void)
{
	if (lines_on()) {
		now.mappings_changed = true;
		unlock(&mapping_lock);
	}
}

/* Bytes of a level that stand for [first, last] of the one below, where that is marked. */
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

/* Of one chunk. */
static void clear_lines(unsigned plane, uint64_t first, uint64_t last)
{
	uint8_t *line = level_of(plane, 0);

	if (!level_of(plane, 1)[first / EXACT_CHUNK])
		return;
	for (uint64_t i = first; i <= last; i++)
		if (line[i])
			line[i] = 0;
}

/* Whole chunks are given back to the kernel; of others, lines are cleared one by one. */
static void clear_plane(unsigned plane, uint64_t first, uint64_t last)
{
	uint64_t c0 = (first + EXACT_CHUNK - 1) / EXACT_CHUNK;
	uint64_t c1 = (last + 1) / EXACT_CHUNK; /* behind the last whole one */

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

void lines_unmapped(uint64_t start, uint64_t n)
{
	uint64_t first = start >> lines.shift, end = (start + n + 4095) & ~4095ull;

	if (!n || end <= start || end >> ADDRESS_BITS)
		return;
	for (unsigned i = 0; i < planes_used(); i++)
		clear_plane(i, first, (end >> lines.shift) - 1);
}

bool lines_in_the_way(uint64_t start, uint64_t n)
{
	struct room room[ROOMS];

	get_rooms(room);
	for (unsigned i = 0; i < rooms_used(); i++)
		if (start < room[i].at + room[i].size && room[i].at < start + n)
			return true;
	return false;
}

/* What is marked at `from` is marked where the thread's plane is. */
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

void lines_join(struct thread *t)
{
	struct room room[ROOMS];

	if (!lines_on() || !lines_alone)
		return;
	lock(&lines_lock);
	get_rooms(room);
	lines_alone = false;
	t->plane = (uint64_t)level_of(0, 0);
	move_marks(t, ALONE);
	for (unsigned i = ROOMS - ROOMS_ALONE; i < ROOMS; i++)
		sys(__NR_munmap, room[i].at, room[i].size);
	flush_all();
	unlock(&lines_lock);
}

void lines_give_way(struct thread *t, uint64_t start, uint64_t n)
{
	if (lines_alone && start < ALONE + level_size(0) && ALONE < start + n)
		lines_join(t);
}

/* Snapshots. */

static bool put_mapping(void *first, const char *text, size_t n)
{
	uint64_t start, end;

	(void)n;
	if (*procfs_hex(procfs_hex(text, &start) + 1, &end) != ' ')
		return true;
	if ((start >= ROOM_BASE && start < ROOM_END) || start == CACHE_BASE ||
	    lines_in_the_way(start, end - start))
		return true;
	log_mapping(text, *(bool *)first);
	*(bool *)first = false;
	return true;
}

static void put_mappings(void)
{
	bool first = true;
	long fd;

	if (!now.mappings_changed)
		return;
	fd = sys(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
	now.mappings_changed = false;
	if (sys_failed(fd))
		return;
	procfs_lines(fd, put_mapping, &first);
	sys(__NR_close, fd);
}

/* Eight bytes of a level: taken, and cleared. */
static uint64_t take(uint64_t *p)
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
		uint64_t v = take(&p[i]);

		if (v) { /* a bit of each byte, the lowest first */
			v = v * 0x0102040810204080ull >> 56;
			bits[i / 8] |= v << (i % 8 * 8);
			for (; v; v &= v - 1)
				n++;
		}
	}
	if (n)
		log_touched(plane, chunk, bits, n);
}

/* The chunks that eight bytes of level 1 stand for. */
static void put_chunks(unsigned plane, uint64_t *p, uint64_t chunk)
{
	uint64_t v = take(p);

	for (unsigned k = 0; v; k++, v >>= 8)
		if (v & 0xff)
			put_chunk(plane, chunk + k);
}

static void put_plane(unsigned plane)
{
	uint64_t *top = (uint64_t *)level_of(plane, 2);

	for (uint64_t i = 0; i < level_size(2) / 8; i++) {
		uint64_t v = take(&top[i]);

		for (unsigned k = 0; v; k++, v >>= 8) {
			uint64_t first = (8 * i + k) << LEVEL_SHIFT; /* chunk */
			uint64_t *p = (uint64_t *)(level_of(plane, 1) + first);

			for (unsigned j = 0; v & 0xff && j < 1u << LEVEL_SHIFT >> 3; j++)
				put_chunks(plane, &p[j], first + 8ull * j);
		}
	}
}

static void put_touched(void)
{
	for (unsigned i = 0; i < planes_used(); i++)
		put_plane(i);
}

static uint64_t *ran_of(struct thread *t)
{
	return (uint64_t *)((char *)t + T_RAN);
}

void lines_ran(struct thread *t, uint32_t block)
{
	((uint8_t *)ran_of(t))[block] = 1;
}

static void block_ran(uint32_t id)
{
	now.ran[id / 8] |= (uint8_t)(1u << id % 8);
}

/* Blocks that the thread has executed since it was last asked. */
static void note_ran(struct thread *t)
{
	uint32_t n = __atomic_load_n(&nids, __ATOMIC_ACQUIRE);
	uint64_t *marked = ran_of(t);

	for (uint32_t i = 0; i < n; i += 8) {
		uint64_t v = take(&marked[i / 8]);

		for (; v; v &= v - 1)
			block_ran(i + (unsigned)__builtin_ctzll(v) / 8);
	}
}

static void put_ran(void)
{
	uint32_t n = __atomic_load_n(&nids, __ATOMIC_ACQUIRE);

	for (struct thread *t = threads; t; t = t->next)
		if (!t->ended)
			note_ran(t);
	log_ran(now.ran, n);
	memset(now.ran, 0, (n + 7) / 8);
}

void lines_hold(void)
{
	if (lines_on())
		lock(&lines_lock);
}

void lines_release(void)
{
	if (lines_on())
		unlock(&lines_lock);
}

void lines_restart(void)
{
	if (log_fd >= 0)
		put_ran();
	for (struct thread *t = threads; t; t = t->next)
		forget_ran(t);
}

static void snapshot(struct thread *t, bool last)
{
	struct exact_snapshot s = { .count = now.total,
				    .cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID),
				    .wall_ns = clock_ns(CLOCK_MONOTONIC),
				    .tid = (uint32_t)t->tid,
				    .last = last };

	sys(__NR_prctl, PR_GET_NAME, s.name);
	lock(&mapping_lock); /* what was mapped meanwhile, and touched, would belong to nothing */
	put_mappings();
	put_touched();
	unlock(&mapping_lock);
	lock(&threads_lock);
	put_ran();
	unlock(&threads_lock);
	log_stack(t);
	log_snapshot(&s);
	if (++now.taken >= lines.snapshots) { /* the recorder has made one of two */
		now.taken /= 2;
		now.interval *= 2;
	}
}

void lines_interval(struct thread *t, unsigned weight, unsigned part)
{
	uint64_t end;

	lock(&lines_lock);
	now.total += left_settle(t);
	end = timed() ? clock_now() + 1 : now.total + left_slack(now.interval, weight);
	if (now.next < end) {
		snapshot(t, false);
		while (now.next < end)
			now.next += now.interval;
	}
	grant(t, weight, part);
	unlock(&lines_lock);
}

void lines_thread_end(struct thread *t)
{
	lock(&lines_lock);
	now.total += left_settle(t);
	note_ran(t);
	unlock(&lines_lock);
}

void lines_end(struct thread *t)
{
	if (!lines_on() || log_fd < 0 || now.pid != sys(__NR_getpid)) /* a vfork's child */
		return;
	lock(&lines_lock);
	now.total += left_settle(t);
	snapshot(t, true);
	grant(t, 0, 0);
	unlock(&lines_lock);
}
