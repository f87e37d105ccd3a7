/* SPDX-License-Identifier: MIT */
/*
 * A full cache, or one whose code is to be made in another way. All threads leave it, all blocks are forgotten, the
 * program goes on where it is; for the recorder it is a process that has ended and another one that takes its place,
 * with counters of its own: so nothing that was counted is lost, and numbers of blocks begin again.
 *
 * A thread is inside from when it has found a block, under the cache's lock, to when it has done with what it left
 * the block by; system calls, which may take forever, are outside. Who is inside gets a signal that brings it out.
 */
#include <asm/signal.h>

#include "dbi/rt/once.h"
#include "dbi/rt/rt.h"
#include "dbi/rt/sys.h"

#define SI_TKILL_CODE (-6)
#define NAP_NS 50000

struct nap {
	int64_t s, ns;
};

uint32_t flushes;
bool faults_keep_state;
static bool keep_state; /* … after the next one */
static bool all;	/* flush_all() */
static int flush_lock;	/* held while it is emptied */
static int flushing;

bool flush_due(bool more)
{
	return __atomic_load_n(&keep_state, __ATOMIC_ACQUIRE) != faults_keep_state ||
	       __atomic_load_n(&all, __ATOMIC_ACQUIRE) ||
	       (more && (publish_full() || cache_full()));
}

void flush_to_keep_state(void)
{
	if (log_mode & (EXACT_COUNTS | EXACT_LINES)) /* else nothing changes them */
		__atomic_store_n(&keep_state, true, __ATOMIC_RELEASE);
}

void flush_all(void)
{
	__atomic_store_n(&all, true, __ATOMIC_RELEASE);
}

bool flush_signal(struct thread *t, int sig, const struct sig_info *info)
{
	return sig == SIGTRAP && info->code == SI_TKILL_CODE &&
	       __atomic_exchange_n(&t->called, 0, __ATOMIC_ACQ_REL);
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
	self()->stop = self()->called = 0;
}

/* Asks who is inside to come out. */
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
		if (__atomic_exchange_n(&o->called, 1, __ATOMIC_ACQ_REL))
			continue; /* it has not heard it yet */
		if (sys_failed(sys(__NR_tkill, o->tid, SIGTRAP)))
			o->ended = true; /* it was killed where it was */
	}
	return any;
}

static void empty(void)
{
	if (lines_on())
		lines_restart();
	once_reset();
	publish_reset();
	cache_reset();
	regions_renumber();
	log_restart();
	faults_keep_state = __atomic_load_n(&keep_state, __ATOMIC_ACQUIRE);
	all = false;
	flushes++;
}

void flush_cache(struct thread *t)
{
	const struct nap nap = { 0, NAP_NS };

	lock(&flush_lock);
	__atomic_store_n(&flushing, 1, __ATOMIC_RELEASE);
	lines_hold();
	lock(&threads_lock);
	lock(&cache_lock);
	if (flush_due(true)) {
		while (any_inside(t)) {
			unlock(&cache_lock); /* they may need them to come out */
			unlock(&threads_lock);
			lines_release();
			sys(__NR_nanosleep, &nap, 0);
			lines_hold();
			lock(&threads_lock);
			lock(&cache_lock);
		}
		empty();
		for (struct thread *o = threads; o; o = o->next)
			__atomic_store_n(&o->stop, 0, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&flushing, 0, __ATOMIC_RELEASE);
	unlock(&cache_lock);
	unlock(&threads_lock);
	lines_release();
	unlock(&flush_lock);
}
