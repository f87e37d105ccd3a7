/* SPDX-License-Identifier: MIT */
/*
 * Working sets: which lines of memory each interval touches. Snapshots are made of the marks that code sets (marks.c).
 *
 * An interval ends where a block begins that would exceed it. A thread subtracts its instructions from what is left of
 * the interval, in parts (T_LEFT). When one part is exhausted, the rest is divided again in proportion to how the parts
 * were used. With several threads each is granted a share, and the interval's end is off by that much.
 */
#include <asm/errno.h>
#include <linux/mman.h>
#include <linux/fcntl.h>
#include <linux/prctl.h>

#include "engine/os/procfs.h"
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/flush.h"
#include "engine/core/layout.h"
#include "engine/core/left.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/shared.h"
#include "engine/translate/shadow.h"
#include "engine/os/sys.h"

#define CLOCK_MONOTONIC 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define POLL 20000		/* instructions between two readings of the clock */
#define BLOCKS_BYTES (1u << 19) /* a bit for each block there can be */

struct exact_lines lines;
_Static_assert(EXACT_BLOCKS_MAX == T_RAN_SIZE, "layout");

static int lines_lock, mapping_lock;
static struct {
	uint64_t interval, next; /* in the interval's unit */
	uint64_t total;		 /* instructions executed, as far as threads have reported them */
	uint32_t taken;
	long pid;
	bool mappings_changed;
	uint8_t *ran;
} now;

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
	now.total = now.taken = 0;
	marks_begin();
	now.mappings_changed = true;
}

/* Grants the thread the instructions until the next snapshot, so that at least one execution of that weight fits in
 * `part`. */
static void grant(struct thread *t, unsigned weight, unsigned part)
{
	uint64_t room = now.next > now.total ? now.next - now.total : 0;

	if (timed())
		room = POLL > weight ? POLL : weight;
	else
		room = left_share(room, weight);
	left_divide(t, room, weight, part);
}

void lines_init(struct thread *t)
{
	lines = *log_lines();
	if (!lines.interval || lines.snapshots < 2)
		die("the recorder asks for lines that cannot be");
	marks_init(t);
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
	marks_thread(t);
}

void lines_after_fork(struct thread *t)
{
	marks_clear();
	sys(__NR_madvise, now.ran, BLOCKS_BYTES, MADV_DONTNEED);
	lines_lock = mapping_lock = 0;
	begin();
	lines_thread(t);
	grant(t, 0, 0);
}

/* Number of elements from one address to another, which is after the last element or, downwards,
 * before it. */
static uint64_t mark_elements(const struct thread *t, uint64_t from, uint64_t to, unsigned size)
{
	return to > from ? marks_set(t, from, to - from) : marks_set(t, to + size, from - to);
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
			first += marks_set(
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
	if (block != NO_BLOCK && lines_observed() && !(lines.flags & EXACT_LINES_UNCHECKED))
		((uint64_t *)((char *)t + T_FIRSTS))[block] += first;
}

/* Marks the lines that the kernel reads or writes for system calls that move data. */
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
		marks_set(t, r[RSI], (uint64_t)ret);
		break;
	case __NR_getrandom:
	case __NR_getcwd:
		marks_set(t, r[RDI], (uint64_t)ret);
		break;
	case __NR_readlink:
		marks_set(t, r[RSI], (uint64_t)ret);
		break;
	case __NR_readv:
	case __NR_preadv:
	case __NR_writev:
	case __NR_pwritev: {
		uint64_t left = (uint64_t)ret, v[2];

		for (uint64_t i = 0; i < r[RDX] && left; i++) {
			if (!rt_copy(v, (const void *)(r[RSI] + 16 * i), sizeof(v)))
				break;
			marks_set(t, r[RSI] + 16 * i, 16);
			v[1] = v[1] < left ? v[1] : left;
			marks_set(t, v[0], v[1]);
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
	if (lines_observed())
		lock(&mapping_lock);
}

void lines_mapping_end(void)
{
	if (lines_observed()) {
		now.mappings_changed = true;
		unlock(&mapping_lock);
	}
}

void lines_join(struct thread *t)
{
	if (!lines_observed() || !lines_alone)
		return;
	lock(&lines_lock);
	marks_spread(t);
	flush_all();
	unlock(&lines_lock);
}

void lines_give_way(struct thread *t, uint64_t start, uint64_t n)
{
	if (marks_stand_alone(start, n))
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
	    marks_in_the_way(start, end - start))
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

/* Collects the blocks that the thread has executed since the last snapshot. */
static void note_ran(struct thread *t)
{
	uint32_t n = __atomic_load_n(&nids, __ATOMIC_ACQUIRE);
	uint64_t *marked = ran_of(t);

	for (uint32_t i = 0; i < n; i += 8) {
		uint64_t v = marks_take(&marked[i / 8]);

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
	if (lines_observed())
		lock(&lines_lock);
}

void lines_release(void)
{
	if (lines_observed())
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
	lock(&mapping_lock); /* the recorder would not know the mapping of lines touched in a new one */
	put_mappings();
	marks_tell();
	unlock(&mapping_lock);
	lock(&threads_lock);
	put_ran();
	unlock(&threads_lock);
	log_stack(t);
	log_snapshot(&s);
	if (++now.taken >=
	    lines.snapshots) { /* the recorder merged snapshots in pairs: intervals are twice as long from now on */
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
	if (!lines_observed() || log_fd < 0 ||
	    now.pid !=
		    sys(__NR_getpid)) /* the pid differs in a child of vfork, which shares this memory */
		return;
	lock(&lines_lock);
	now.total += left_settle(t);
	snapshot(t, true);
	grant(t, 0, 0);
	unlock(&lines_lock);
}
