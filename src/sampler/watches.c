/* SPDX-License-Identifier: MIT */
#include "sampler/watches.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/random.h"
#include "observe/reuses.h"

#define WORD (REUSES_LINE / REUSES_WORDS)
#define EXCEPTION_NS 10000   /* time of an exception, used if no short intervals show it */
#define EXCEPTION_MOST 40000 /* longer intervals are the program's time */
#define HITS (REUSES_WATCHED * WATCH_HITS)

struct hit {
	uint64_t time; /* time for which the watchpoint was set while the thread ran */
	unsigned word; /* one bit: the word's */
};

struct watch {
	int fd[REUSES_WATCHED]; /* a group of perf events; [0] is the leader, or -1 in a free watch */
	uint32_t pid, tid;
	uint64_t addr[REUSES_WATCHED],
		moved;	      /* when the watch was set or last hit; ns, CLOCK_MONOTONIC */
	struct site_id start; /* where the window began */
	unsigned found;	      /* number of touches among which one was drawn */
	double weight;	      /* known once the watch is settled */
	bool before;	      /* the picked touch was not the first touch of its visit */
	unsigned hits[REUSES_WATCHED], nhit;
	struct hit hit[HITS];
	uint64_t end; /* when the watch was over, in the time of its hits */
};

struct watches {
	struct profile *profile;
	int prog;
	struct watch watch[WATCH_MAX];
	unsigned open;
	struct watch *over;
	size_t nover, cap;
	uint64_t random;
	uint64_t set, hits, unhit, failed;
};

struct watches *watches_new(struct profile *p, int prog)
{
	struct watches *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->profile = p;
	w->prog = prog;
	w->random = clock_ns(CLOCK_MONOTONIC) | 1;
	for (unsigned i = 0; i < WATCH_MAX; i++)
		memset(w->watch[i].fd, -1, sizeof(w->watch[i].fd));
	return w;
}

/* Taking off. */

/* Returns when a watch was over: after the time for which it was set while the thread ran; if that
 * cannot be read, with its last hit. */
static void end_now(struct watch *t)
{
	uint64_t last = t->nhit ? t->hit[t->nhit - 1].time : 0;
	struct {
		uint64_t hits, enabled, running;
	} v;
	bool known = read(t->fd[0], &v, sizeof(v)) == sizeof(v);

	t->end = known && v.running > last ? v.running : last;
}

static void keep(struct watches *w, const struct watch *t)
{
	if (!array_reserve(w->over, w->cap, w->nover + 1))
		return; /* without memory, the watch counts as not set */
	w->over[w->nover++] = *t;
	w->unhit += !t->nhit;
}

static void close_group(struct watch *t)
{
	for (unsigned i = REUSES_WATCHED; i--;) {
		if (t->fd[i] >= 0)
			close(t->fd[i]);
		t->fd[i] = -1;
	}
}

static void take_off(struct watches *w, struct watch *t)
{
	if (!t->end)
		end_now(t);
	close_group(t);
	keep(w, t);
	w->open--;
}

void watches_expire(struct watches *w, uint64_t now)
{
	for (unsigned i = 0; i < WATCH_MAX; i++) {
		struct watch *t = &w->watch[i];

		if (t->fd[0] >= 0 && (int64_t)(now - t->moved) > WATCH_NS)
			take_off(w, t);
	}
}

static unsigned word_at(const struct watch *t, uint64_t addr)
{
	unsigned k = 0;

	while (k < REUSES_WATCHED && t->addr[k] != addr)
		k++;
	return k;
}

void watches_hit(struct watches *w, uint32_t tid, uint64_t addr, uint64_t hits, uint64_t running)
{
	w->hits++;
	for (unsigned i = 0; i < WATCH_MAX; i++) {
		struct watch *t = &w->watch[i];
		unsigned k = t->fd[0] >= 0 && t->tid == tid ? word_at(t, addr) : REUSES_WATCHED;

		/* hits of an earlier watchpoint on the same word are numbered from 1 as well */
		if (k == REUSES_WATCHED || hits != t->hits[k] + 1)
			continue;
		t->hits[k]++;
		t->hit[t->nhit++] = (struct hit){ running, 1u << k };
		t->moved = clock_ns(CLOCK_MONOTONIC);
		/* the kernel has removed that word's watchpoint, so the other words alone would show another picture */
		if (t->hits[k] == WATCH_HITS) {
			t->end = running;
			take_off(w, t);
		}
		return;
	}
}

/* Setting. */

/* Each watchpoint is an event of a group whose leader is disabled: enabling the group needs no
 * interrupt on the CPU that runs the thread. */
static int open_word(const struct watches *w, uint32_t tid, uint64_t addr, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_RW,
		.bp_addr = addr,
		.bp_len = WORD,
		.sample_period = 1,
		.disabled = group < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, (pid_t)tid, -1, group,
			      PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, w->prog)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Opens the watchpoints of a line together; the kernel removes each after a number of hits. -1 with
 * errno set. */
static int open_group(const struct watches *w, struct watch *t)
{
	memset(t->fd, -1, sizeof(t->fd));
	for (unsigned i = 0; i < REUSES_WATCHED; i++) {
		t->fd[i] = open_word(w, t->tid, t->addr[i], t->fd[0]);
		if (t->fd[i] < 0)
			return -1;
	}
	for (unsigned i = REUSES_WATCHED; i--;) /* the leader is closed last */
		if (ioctl(t->fd[i], PERF_EVENT_IOC_REFRESH, WATCH_HITS))
			return -1;
	return 0;
}

static void set(struct watches *w, struct watch *t)
{
	if (open_group(w, t)) {
		w->failed += errno != ESRCH;
		close_group(t);
		return;
	}
	t->moved = clock_ns(CLOCK_MONOTONIC);
	w->set++;
	w->open++;
}

/* Returns a free watch, if the thread has none. */
static struct watch *room_for(struct watches *w, uint32_t tid)
{
	struct watch *room = NULL;

	for (unsigned i = 0; i < WATCH_MAX; i++) {
		if (w->watch[i].fd[0] < 0)
			room = &w->watch[i];
		else if (w->watch[i].tid == tid)
			return NULL;
	}
	return room;
}

bool watches_wanted(struct watches *w, uint32_t tid)
{
	return room_for(w, tid);
}

/* Chooses the touched word, and others of its line. */
static void choose_words(struct watches *w, uint64_t addr, uint64_t word[REUSES_WATCHED])
{
	uint64_t line = addr & ~(uint64_t)(REUSES_LINE - 1);
	unsigned free_ones[REUSES_WORDS], n = 0;

	for (unsigned i = 0; i < REUSES_WORDS; i++)
		if (i != addr % REUSES_LINE / WORD)
			free_ones[n++] = i;
	word[0] = addr & ~(uint64_t)(WORD - 1);
	for (unsigned i = 1; i < REUSES_WATCHED; i++) {
		unsigned k = (unsigned)random_below(&w->random, n);

		word[i] = line + free_ones[k] * WORD;
		free_ones[k] = free_ones[--n];
	}
}

static bool is_long(const uint64_t *at, unsigned n, unsigned i)
{
	for (unsigned k = 1; k <= REUSES_LONG && i + k < n; k++)
		if (at[i + k] / REUSES_LINE == at[i] / REUSES_LINE)
			return false;
	return true;
}

/* Whether one of the touches before i touched one of the words. */
static bool touched_before(const uint64_t *at, unsigned i, const uint64_t word[REUSES_WATCHED])
{
	for (unsigned k = i - REUSES_LONG; k < i; k++)
		for (unsigned j = 0; j < REUSES_WATCHED; j++)
			if (at[k] / WORD == word[j] / WORD)
				return true;
	return false;
}

void watches_pick(struct watches *w, const struct window *win)
{
	struct watch *t = room_for(w, win->tid);
	unsigned n, found = 0, picked = 0;
	uint64_t at[REUSES_TOUCHES];

	if (!t)
		return;
	n = reuses_touches(win, at);
	for (unsigned i = REUSES_LONG; i + REUSES_LONG < n; i++)
		if (is_long(at, n, i) && random_below(&w->random, ++found) == 0)
			picked = i;
	if (!found)
		return;
	*t = (struct watch){
		.pid = win->pid, .tid = win->tid, .start = win->start, .found = found
	};
	choose_words(w, at[picked], t->addr);
	t->before = touched_before(at, picked, t->addr);
	set(w, t);
}

/* The end. */

void watches_stop(struct watches *w)
{
	for (unsigned i = 0; i < WATCH_MAX; i++) {
		struct watch *t = &w->watch[i];

		if (t->fd[0] < 0)
			continue;
		ioctl(t->fd[0], PERF_EVENT_IOC_DISABLE, 0);
		end_now(t);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the time that a hit itself adds to the time until the next one. Most short intervals
 * consist of nothing else: the result is the median of those near the shortest. */
static uint64_t exception_ns(const struct watches *w)
{
	uint64_t *v = calloc(w->nover * HITS + 1, sizeof(*v)), ns = EXCEPTION_NS;
	size_t n = 0, near = 0;

	for (size_t i = 0; v && i < w->nover; i++)
		for (unsigned k = 1; k < w->over[i].nhit; k++) {
			uint64_t d = w->over[i].hit[k].time - w->over[i].hit[k - 1].time;

			if (d < EXCEPTION_MOST)
				v[n++] = d;
		}
	if (n) {
		qsort(v, n, sizeof(*v), by_value);
		while (near < n && v[near] < v[n / 50] + v[n / 50] / 3)
			near++;
		ns = v[near / 2];
	}
	free(v);
	return ns;
}

/* Returns the words of the visit that begins with hit k; *next: the first hit after the visit. */
static unsigned visit(const struct watch *t, unsigned k, uint64_t limit, unsigned *next)
{
	unsigned words = t->hit[k].word;

	for (k++; k < t->nhit && t->hit[k].time - t->hit[k - 1].time < limit; k++)
		words |= t->hit[k].word;
	*next = k;
	return words;
}

static void settle_soon(struct reuses *u, const struct watch *t, uint64_t limit, uint64_t units)
{
	uint64_t next = t->nhit > 1 ? t->hit[1].time : t->end;
	bool soon = next - t->hit[0].time < limit;

	if (soon && t->nhit == 1)
		return; /* the watch ended too early to tell */
	u->watches += units;
	u->watches_square += reuses_units(t->weight * t->weight);
	u->soon += soon ? units : 0;
	u->before += t->before ? units : 0;
}

/* Adds the first long time between visits that a watch saw; or, if there was none, the time at
 * which it ended as a lower limit. */
static void settle(struct reuses *u, const struct watch *t, uint64_t exception)
{
	uint64_t units = reuses_units(t->weight), limit = exception + REUSES_SOON_NS, d;
	unsigned next, k, first, second;

	u->watched++;
	if (!t->nhit) {
		u->unhit += units;
		u->far_left[distance_bucket(t->end)] += units;
		return;
	}
	settle_soon(u, t, limit, units);
	first = visit(t, 0, limit, &next);
	if (next < t->nhit) {
		d = t->hit[next].time - t->hit[next - 1].time;
		second = visit(t, next, limit, &k);
		u->far_ended[distance_bucket(d - exception)] += units;
		if ((first & second) || (second & (second - 1)))
			u->same += units;
		else
			u->other += units;
		return;
	}
	d = t->end - t->hit[next - 1].time;
	if (d >= limit)
		u->far_left[distance_bucket(d - exception)] += units;
}

int watches_settle(struct watches *w)
{
	uint64_t exception;

	for (unsigned i = 0; i < WATCH_MAX; i++)
		if (w->watch[i].fd[0] >= 0)
			take_off(w, &w->watch[i]);
	exception = exception_ns(w);
	for (size_t i = 0; i < w->nover; i++) {
		struct watch *t = &w->over[i];
		struct reuses *u = reuses_get(w->profile, 0, t->pid), *region;

		if (!u)
			return -1;
		t->weight = t->found * profile_window_weight(w->profile, t->start);
		settle(u, t, exception);
		region = reuses_region_find(u, reuses_place(t->start));
		if (region)
			settle(region, t, exception);
	}
	w->nover = 0;
	return 0;
}

void watches_count(const struct watches *w, struct run_counters *n)
{
	n->watches = w->set;
	n->watch_hits = w->hits;
	n->watch_unhit = w->unhit;
	n->watch_failed = w->failed;
}

void watches_free(struct watches *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < WATCH_MAX; i++)
		close_group(&w->watch[i]);
	free(w->over);
	free(w);
}
