/* SPDX-License-Identifier: MIT */
/*
 * Empties the code cache when it is full, or when its code is to be made in another way. All
 * threads leave the cache, all blocks are forgotten, and the program goes on where it is. For the
 * recorder the process has ended, and another one with counters of its own takes its place: so no
 * count is lost, and blocks are numbered from the beginning.
 *
 * A thread is inside the cache from when it looks for a block, under the cache's lock, until it has
 * handled the reason for leaving that block; system calls, which may take forever, are outside. A
 * thread that is inside gets a signal that brings it out. If another SIGTRAP of that thread is
 * pending already, as after a single step, the kernel drops this signal: so a thread that has come
 * out by itself checks whether the signal is still to be expected.
 */
#include <asm/errno.h>
#include <asm/signal.h>
#include <linux/futex.h>

#include "engine/core/once.h"
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/flush.h"
#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/record/phases.h"
#include "engine/record/warm.h"
#include "engine/translate/block.h"
#include "engine/translate/publish.h"
#include "engine/shared.h"
#include "engine/os/sys.h"

#define SI_USER_CODE 0
#define SI_TKILL_CODE (-6)
#define NAP_NS 50000

/*
 * The low bits of a thread's `called`: whether the thread is called out of the cache. The bits above count the calls,
 * so that a new call is told from the one whose signal the thread is looking for.
 */
enum called {
	NOT_CALLED,
	CALLING, /* the signal is being sent */
	CALLED, /* the signal has been sent: the next return from a system call delivers it, unless it was dropped */
};
#define CALLED_MASK 3u
#define CALLED_NEXT 4u

struct nap {
	int64_t s, ns;
};

uint32_t flushes;
bool faults_keep_state;
static bool keep_state; /* the value that faults_keep_state takes after the next flush */
static bool all;	/* flush_all() */
static int flush_lock;	/* held while the cache is emptied */
static int flushing;

bool flush_due(bool more)
{
	return __atomic_load_n(&keep_state, __ATOMIC_ACQUIRE) != faults_keep_state ||
	       __atomic_load_n(&all, __ATOMIC_ACQUIRE) ||
	       (more && (publish_full() || cache_full()));
}

void flush_to_keep_state(void)
{
	/* only code that counts, or marks lines, overwrites flags and registers that the program
	 * could read */
	if (log_observed & (EXACT_COUNTS | EXACT_LINES))
		__atomic_store_n(&keep_state, true, __ATOMIC_RELEASE);
}

void flush_all(void)
{
	__atomic_store_n(&all, true, __ATOMIC_RELEASE);
}

/* If the user has too many queued signals (RLIMIT_SIGPENDING), the kernel does not say how a signal
 * was sent, or by whom. */
static bool may_be_ours(const struct sig_info *info)
{
	return info->code == SI_TKILL_CODE || (info->code == SI_USER_CODE && !info->addr);
}

bool flush_signal(struct thread *t, int sig, const struct sig_info *info)
{
	return sig == SIGTRAP && may_be_ours(info) &&
	       __atomic_fetch_and(&t->called, ~CALLED_MASK, __ATOMIC_ACQ_REL) & CALLED_MASK;
}

void flush_expect_signal(struct thread *t)
{
	uint32_t before;

	while ((before = __atomic_load_n(&t->called, __ATOMIC_ACQUIRE)) & CALLED_MASK) {
		sys(__NR_futex, &t->called, FUTEX_WAKE_PRIVATE, 0);
		/* the signal was dropped, unless it has arrived just now */
		if ((before & CALLED_MASK) == CALLED)
			__atomic_compare_exchange_n(&t->called, &before, before & ~CALLED_MASK,
						    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
}

void flush_wait(void)
{
	if (!__atomic_load_n(&flushing, __ATOMIC_ACQUIRE))
		return;
	lock(&flush_lock);
	unlock(&flush_lock);
}

void flush_after_fork(void)
{
	flush_lock = flushing = 0;
	self()->stop = self()->called = NOT_CALLED;
}

/* Calls the thread out of the cache. A filter of system calls may forbid one way of calling; if it forbids both, the
 * thread is called again until it comes out by itself. */
static void call_out(struct thread *o)
{
	uint32_t before = __atomic_load_n(&o->called, __ATOMIC_ACQUIRE), now;
	long pid = sys(__NR_getpid), r;

	if (before & CALLED_MASK) {
		o->ended = sys(__NR_tkill, o->tid, 0) == -ESRCH;
		return;
	}
	/* only this code makes the call, and without arguments the call changes nothing */
	before += CALLED_NEXT;
	now = before | CALLING;
	__atomic_store_n(&o->called, now, __ATOMIC_RELEASE);
	r = sys(__NR_tkill, o->tid, SIGTRAP);
	o->ended = r == -ESRCH; /* the thread has been killed */
	if (sys_failed(r) && !o->ended)
		r = sys(__NR_tgkill, pid, o->tid, SIGTRAP);
	/* unless the signal is there already */
	__atomic_compare_exchange_n(&o->called, &now, sys_failed(r) ? before : before | CALLED,
				    false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Asks each thread that is inside the cache to come out. Returns whether there is one. */
static bool any_inside(const struct thread *t)
{
	bool any = false;

	for (struct thread *o = threads; o; o = o->next) {
		if (o == t || o->ended)
			continue;
		__atomic_store_n(&o->stop, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&o->inside, __ATOMIC_SEQ_CST))
			continue;
		any = true;
		call_out(o);
	}
	return any;
}

static void empty(void)
{
	if (lines_observed())
		lines_restart();
	if (phases_on())
		phases_restart();
	once_reset();
	publish_reset();
	cache_reset();
	regions_renumber();
	log_restart();
	if (warming)
		warm_restart();
	faults_keep_state = __atomic_load_n(&keep_state, __ATOMIC_ACQUIRE);
	all = false;
	flushes++;
}

static void hold(void)
{
	lock(&flush_lock);
	__atomic_store_n(&flushing, 1, __ATOMIC_RELEASE);
	lines_hold();
	phases_hold();
	lock(&threads_lock);
	lock(&cache_lock);
}

/* Waits until all other threads are out of the cache; they stay outside until let_in(). */
static void call_all(const struct thread *t)
{
	const struct nap nap = { 0, NAP_NS };

	while (any_inside(t)) {
		unlock(&cache_lock); /* threads may need these locks in order to come out */
		unlock(&threads_lock);
		phases_release();
		lines_release();
		sys(__NR_nanosleep, &nap, 0);
		lines_hold();
		phases_hold();
		lock(&threads_lock);
		lock(&cache_lock);
	}
}

static void let_in(void)
{
	for (struct thread *o = threads; o; o = o->next)
		__atomic_store_n(&o->stop, 0, __ATOMIC_RELEASE);
}

static void release(void)
{
	__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
	unlock(&cache_lock);
	unlock(&threads_lock);
	phases_release();
	lines_release();
	unlock(&flush_lock);
}

void flush_cache(struct thread *t)
{
	hold();
	if (flush_due(true)) {
		call_all(t);
		empty();
		let_in();
	}
	release();
}

void flush_outside(struct thread *t, void (*f)(struct thread *t))
{
	hold();
	call_all(t);
	/* marked as inside, so that signals_arrival.c (trapped) takes system calls of f() for the engine's own */
	__atomic_store_n(&t->inside, true, __ATOMIC_RELEASE);
	f(t);
	__atomic_store_n(&t->inside, false, __ATOMIC_RELEASE);
	let_in();
	release();
}
