/* SPDX-License-Identifier: MIT */
/* Polls an exact run: reads what the engine has written, adds it to the profile, and answers
 * processes that wait for that. */
#include "exact/exact.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exact/exact_priv.h"

#define CLOSE_PART 16 /* largest part of the samples that waits to be closed */

/* A sample or a warm-up ends only when the recorder has read everything observed in it. So what has
 * been read belongs to the process's present phase. */
void exact_note_phase(struct exact *e, const struct process *p)
{
	const struct order_consumer *k = e->consumer;

	if (!e->sampling || !p->shared)
		return;
	e->discard = __atomic_load_n(&p->shared->phase, __ATOMIC_ACQUIRE) == EXACT_WARMUP;
	if (k && k->warm_up)
		k->warm_up(k->arg, e->discard,
			   __atomic_load_n(&p->shared->phase_length, __ATOMIC_RELAXED));
}

static int finish_streams(struct exact *e, struct process *p, struct err *err)
{
	return p->sink ? streams_finish(e, p, err) : 0;
}

/* Tells the consumer that the samples that ended are complete in the profile. */
static int close_samples(struct exact *e, struct err *err)
{
	size_t n = e->nsample;

	if (!n || !e->sampling) /* there are samples only with a schedule */
		return 0;
	if (e->mode & EXACT_STREAM && !e->consumer && !(e->mode & EXACT_CALLS) &&
	    e->header->schedule.kind == EXACT_LISTED && exact_flush(e, err))
		return -1;
	e->nsample = 0;
	e->nclosed += n;
	return e->sampling->closed(e->sampling->arg, e->sample, n, err);
}

/* Closes several samples at once where all samples weigh the same, because closing takes time in
 * proportion to the code. */
static bool close_due(const struct exact *e)
{
	return e->header->schedule.kind == EXACT_LISTED || e->nsample > e->nclosed / CLOSE_PART;
}

/* Answers the process's request: everything it has observed has been read, so it may continue. */
static int answer(struct exact *e, struct process *p, uint32_t asked, struct err *err)
{
	if (!e->discard && close_due(e) && close_samples(e, err))
		return -1;
	if (p->gap && e->consumer)
		order_gap(p);
	if (p->gap && e->mode & EXACT_CALLS)
		calls_gap(p);
	p->gap = false;
	p->answered = asked;
	__atomic_store_n(&p->shared->answered, asked, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &p->shared->answered, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	return 0;
}

static int poll_process(struct exact *e, struct process *p, bool counters, struct err *err)
{
	uint32_t asked = __atomic_load_n(&p->shared->asked, __ATOMIC_ACQUIRE);
	bool asks = e->sampling && asked != p->answered;
	bool ended =
		p->replaced || __atomic_load_n(&p->shared->state, __ATOMIC_ACQUIRE) == EXACT_ENDED;

	if (!ended && (counters || !e->read_before))
		ended = kill((pid_t)p->pid, 0) && errno == ESRCH;
	/* the successor, which continues the intervals, began before the process ended */
	if (ended && e->mode & EXACT_PHASES && processes_add_new(e, err))
		return -1;
	exact_note_phase(e, p);
	if (exact_read_log(e, p, err) || streams_read(e, p, ended || asks, err))
		return -1;
	if (e->sampling && __atomic_load_n(&p->shared->main, __ATOMIC_RELAXED)) {
		uint64_t position = __atomic_load_n(&p->shared->position, __ATOMIC_RELAXED);

		e->position = position > e->position ? position : e->position;
	}
	if (!ended && !counters && !asks)
		return 0;
	order_settle(e);
	if (e->mode & EXACT_COUNTS) {
		if (counters_read(e, p, err))
			return -1;
		if (counters_cut(e, p))
			return err_no_memory(err, "the exact recording");
	}
	if (asks && !ended && answer(e, p, asked, err))
		return -1;
	if (ended) {
		if ((e->mode & EXACT_COUNTS && ways_end(e, p, err)) || finish_streams(e, p, err) ||
		    lines_finish(e, p, err) || phases_finish(e, p, err))
			return -1;
		order_settle(
			e); /* the process's code, which has what was counted since, is freed */
		p->done = true;
		processes_give_back(e, p);
	}
	return 0;
}

/* Lets processes continue that wait for the recorder to read. */
static int give_up(struct exact *e)
{
	__atomic_store_n(&e->header->reading, 0, __ATOMIC_RELAXED);
	return -1;
}

/* Reads the procedures of new images while the program runs, so that nobody waits for that at the end. */
static void read_procedures(struct exact *e)
{
	for (; e->procedures_read < e->files.nby_image; e->procedures_read++)
		if (e->files.by_image[e->procedures_read])
			image_has_symbols(e->files.by_image[e->procedures_read]);
}

int exact_poll(struct exact *e, bool counters, struct err *err)
{
	e->read_before = e->read_any;
	e->read_any = false;
	if (processes_add_new(e, err))
		return give_up(e);
	for (size_t i = 0; i < e->nprocess; i++) {
		struct process *p = e->process[i];

		if (!p->done && poll_process(e, p, counters, err))
			return give_up(e);
		if (!p->done || p->released)
			continue;
		/* A successor began before the process ended, and gets what the process still
		 * holds; a forked child that is not known yet needs the process's blocks. */
		if (processes_add_new(e, err))
			return give_up(e);
		if (p->forked >= p->forks)
			processes_release(e, p);
	}
	if (!(e->mode & EXACT_STREAM))
		read_procedures(e);
	return 0;
}

int exact_flush(struct exact *e, struct err *err)
{
	for (size_t i = 0; i < e->nprocess; i++)
		if (!e->process[i]->done && finish_streams(e, e->process[i], err))
			return give_up(e);
	return 0;
}

void exact_wait(struct exact *e, int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000l };
	uint32_t now = __atomic_load_n(&e->header->bell, __ATOMIC_ACQUIRE);

	if (e->read_any || now != e->heard) {
		e->heard = now;
		return;
	}
	__atomic_store_n(&e->header->waits, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &e->header->bell, FUTEX_WAIT, now, &t, NULL, 0);
	__atomic_store_n(&e->header->waits, 0, __ATOMIC_RELAXED);
	e->heard = __atomic_load_n(&e->header->bell, __ATOMIC_ACQUIRE);
}

int exact_finish(struct exact *e, struct err *err)
{
	int rc = exact_poll(e, true, err);

	for (size_t i = 0; i < e->nprocess && !rc; i++)
		if (!e->process[i]->done)
			rc = streams_read(e, e->process[i], true, err) ||
			     finish_streams(e, e->process[i], err) ||
			     phases_finish(e, e->process[i], err);
	order_settle(e);
	files_name_procedures(&e->files);
	return rc;
}

uint64_t exact_position(const struct exact *e)
{
	return e->position;
}

const struct exact_sample *exact_samples(const struct exact *e, size_t *n)
{
	*n = e->nsample;
	return e->sample;
}

void exact_totals(struct exact *e, struct exact_totals *t)
{
	struct site *s;

	*t = e->totals;
	t->uncounted = __atomic_load_n(&e->header->uncounted, __ATOMIC_RELAXED);
	t->instructions = lines_instructions(e);
	SITES_EACH(&e->profile->sites, s)
	{
		if (!e->profile
			     ->nsampled) /* without a schedule there are batches of samples only */
			s->windows = s->observed;
		t->instructions += s->observed;
	}
}
