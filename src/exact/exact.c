/* SPDX-License-Identifier: MIT */
#include "exact/exact.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "exact/exact_priv.h"

#define CLOSE_PART 16 /* largest part of the samples that waits to be closed */

bool exact_fits(uint64_t at, uint64_t n)
{
	return at % EXACT_PAGE == 0 && at <= EXACT_SIZE && n <= EXACT_SIZE - at;
}

void *exact_map(const struct exact *e, uint64_t at, uint64_t n)
{
	void *p;

	if (!exact_fits(at, n))
		return NULL;
	p = mmap(NULL, n, PROT_READ, MAP_SHARED, e->fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

/* Maps a process's record, for writing as well, because the recorder answers in it. */
static void *map_process(const struct exact *e, uint64_t at)
{
	void *p;

	if (!exact_fits(at, EXACT_PAGE))
		return NULL;
	p = mmap(NULL, EXACT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, (off_t)at);
	return p == MAP_FAILED ? NULL : p;
}

/* A descriptor number that programs rarely reach. */
static int move_high(int fd)
{
	struct rlimit l;
	int high;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur < 32)
		return fd;
	high = l.rlim_cur > 4096 ? 4096 : (int)l.rlim_cur;
	high = fcntl(fd, F_DUPFD, high - 8);
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* The file is sparse; a limit on file sizes (ulimit -f) is raised for it if that is allowed. */
static int make_large(int fd)
{
	struct rlimit old, none = { RLIM_INFINITY, RLIM_INFINITY };
	bool lifted = !getrlimit(RLIMIT_FSIZE, &old) && !setrlimit(RLIMIT_FSIZE, &none);
	int rc = ftruncate(fd, (off_t)EXACT_SIZE), why = errno;

	if (lifted)
		setrlimit(RLIMIT_FSIZE, &old);
	errno = why;
	return rc;
}

/* The program must not shorten the file: reading a mapping beyond a file's end kills the recorder (SIGBUS). */
static int seal(int fd)
{
	return fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

struct exact *exact_open(unsigned mode, const struct exact_lines *lines,
			 const struct order_consumer *consumer, struct profile *p, struct err *err)
{
	/* the lock lasts as long as the recorder: closing another descriptor of the file would
	 * release it */
	struct flock ours = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct exact *e = calloc(1, sizeof(*e));

	if (!e) {
		err_no_memory(err, "the exact recording");
		return NULL;
	}
	e->profile = p;
	e->classes = calloc(1, sizeof(*e->classes));
	if (!e->classes) {
		err_no_memory(err, "the exact recording");
		free(e);
		return NULL;
	}
	files_init(&e->files, p, NULL, -1, NULL, NULL);
	e->fd = memfd_create("assay", MFD_ALLOW_SEALING);
	if (e->fd < 0 || make_large(e->fd) || seal(e->fd)) {
		bool limited = errno == EFBIG;

		err_sys(err, "cannot make memory to share with the program");
		if (limited)
			err_hint(err, "the limit on file sizes counts for it: ulimit -f unlimited");
		exact_close(e);
		return NULL;
	}
	e->fd = move_high(e->fd);
	fcntl(e->fd, F_SETLK, &ours);
	e->header = mmap(NULL, EXACT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	if (e->header == MAP_FAILED) {
		e->header = NULL;
		err_sys(err, "cannot map the memory shared with the program");
		exact_close(e);
		return NULL;
	}
	if (consumer)
		mode |= EXACT_ORDER | (consumer->values ? EXACT_LOADED : 0);
	e->header->mode = e->mode = mode;
	e->consumer = consumer;
	if (lines)
		e->header->lines = e->lines = *lines;
	e->began_ns = clock_ns(CLOCK_MONOTONIC);
	e->header->reading = 1;
	e->header->next = EXACT_PAGE;
	e->header->magic = EXACT_MAGIC;
	return e;
}

static void unmap(struct process *p)
{
	if (p->log)
		munmap(p->log, EXACT_LOG_SIZE);
	if (p->shared)
		munmap(p->shared, EXACT_PAGE);
	p->log = NULL;
	p->shared = NULL;
}

/* Drops one user of the process's blocks. */
static void leave_code(struct process *p)
{
	while (p && --p->users == 0) {
		struct code_memory *m;

		for (struct code_block *b = p->own; b; b = b->next) {
			streams_free_block(b);
			order_free_block(b);
			calls_free_block(b);
		}
		p->own = NULL;
		while ((m = p->memory)) {
			p->memory = m->next;
			free(m);
		}
		p = p->parent;
	}
}

/* Frees everything of a process but its structure: processes may still appear that were forked from
 * it, although they inherit nothing. */
static void release(struct exact *e, struct process *p)
{
	if (p->released)
		return;
	p->released = true;
	e->nblock -= p->nblock;
	e->nthread -= p->nthread;
	if (p->sink)
		streams_free(e, p);
	if (e->consumer)
		order_free(e, p);
	calls_end(p);
	phases_free_reader(p);
	unmap(p);
	free(p->block);
	free(p->inverted);
	counters_free(p);
	for (size_t i = 0; i < p->nthread; i++) {
		counters_forget(e, p->thread[i]);
		free(p->thread[i]);
	}
	free(p->thread);
	if (!p->lines) { /* a reader of lines still names places by the images */
		free(p->image);
		p->image = NULL;
		p->nimage = 0;
	}
	free(p->way);
	free(p->cut);
	p->block = NULL;
	p->inverted = NULL;
	p->thread = NULL;
	p->way = NULL;
	p->nway = p->way_room = 0;
	p->cut = NULL;
	p->sink = NULL;
	p->sinks = 0;
	p->sink_room = NULL;
	p->nblock = p->room = 0;
	p->nthread = p->ncut = 0;
	p->chunk = 0;
	leave_code(p);
}

void exact_close(struct exact *e)
{
	if (!e)
		return;
	HASH_CLEAR(hh, e->by_at);
	for (size_t i = 0; i < e->nprocess; i++)
		release(e, e->process[i]);
	for (size_t i = 0; i < e->nprocess; i++) {
		lines_free(e->process[i]);
		free(e->process[i]->image);
		free(e->process[i]);
	}
	free(e->process);
	streams_close(e);
	for (size_t i = 0; i < e->files.nby_image; i++)
		image_close(e->files.by_image[i]);
	files_fini(&e->files);
	if (e->header)
		munmap(e->header, EXACT_PAGE);
	if (e->fd >= 0)
		close(e->fd);
	free(e->classes);
	free(e->record);
	free(e->sample);
	free(e->argv);
	free(e->path);
	free(e->option);
	free(e);
}

int exact_schedule(struct exact *e, const struct exact_schedule *s, const uint64_t *starts,
		   const struct exact_sampling *sampling, struct err *err)
{
	struct exact_schedule *to = &e->header->schedule;
	uint64_t bytes = (s->n * sizeof(*starts) + EXACT_PAGE - 1) & ~(EXACT_PAGE - 1);

	*to = *s;
	e->sampling = sampling;
	e->warms = s->warming && e->consumer && e->consumer->touched;
	to->warming = e->warms;
	if (e->warms)
		e->header->lines.shift = e->consumer->shift;
	to->each |= s->kind == EXACT_LISTED || e->consumer || e->mode & EXACT_CALLS;
	if (!s->n)
		return 0;
	to->list = e->header->next;
	e->header->next += bytes;
	if (pwrite(e->fd, starts, s->n * sizeof(*starts), (off_t)to->list) !=
	    (ssize_t)(s->n * sizeof(*starts)))
		return err_sys(err, "cannot write to the memory shared with the program");
	return 0;
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

void exact_limit_code(struct exact *e, uint64_t bytes)
{
	e->header->code_limit = bytes;
}

bool exact_grow(void *array, size_t *n, size_t size)
{
	void **a = array, *p = array_doubled(*a, *n, size);

	if (!p)
		return false;
	*a = p;
	memset((char *)p + *n * size, 0, size);
	++*n;
	return true;
}

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

static void give_back(struct exact *e, struct process *p)
{
	for (size_t t = 0; t < p->nthread; t++) {
		if (p->thread[t]->stream) {
			munmap(p->thread[t]->stream, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE);
			p->thread[t]->stream = NULL;
			exact_punch(e, p->thread[t]->stream_at, EXACT_STREAM_SIZE);
		}
		counters_forget(e, p->thread[t]);
		if (p->thread[t]->at)
			exact_punch(e, p->thread[t]->at, EXACT_COUNTERS_SIZE);
		if (p->thread[t]->firsts)
			exact_punch(e, p->thread[t]->firsts, EXACT_FIRSTS_SIZE);
	}
	p->forks = __atomic_load_n(&p->shared->forks, __ATOMIC_RELAXED);
	unmap(p);
	if (p->chunk)
		exact_punch(e, p->chunk, EXACT_LOG_SIZE);
	p->chunk = 0;
	counters_free(p);
}

static struct process *find_process(const struct exact *e, uint64_t at)
{
	struct process *p;

	HASH_FIND(hh, e->by_at, &at, sizeof(at), p);
	return p;
}

/* Copies what the parent had when it forked; the parent may have continued since. */
static int inherit(struct exact *e, struct process *p, const struct exact_process *r,
		   struct err *err)
{
	struct process *from = p->parent;

	if (from->bytes < r->parent_log && exact_read_log_to(e, from, r->parent_log, err))
		return -1;
	for (uint32_t i = 0; i < from->nblock && i < r->parent_blocks; i++)
		if (exact_add_block(e, p, from->block[i], from->inverted[i], err))
			return -1;
	for (size_t i = 0; i < from->nimage && i < r->parent_images; i++) {
		if (!exact_grow(&p->image, &p->nimage, sizeof(*p->image)))
			return err_no_memory(err, "the exact recording");
		p->image[i] = from->image[i];
	}
	return ways_inherit(p, r->parent_pairs, err);
}

/* Copies a process's record. The copy cannot change while it is checked, whereas the program can change the mapping. */
static int read_process(const struct exact *e, uint64_t at, struct exact_process *r,
			struct err *err)
{
	if (exact_fits(at, EXACT_PAGE) &&
	    pread(e->fd, r, sizeof(*r), (off_t)at) == (ssize_t)sizeof(*r))
		return 0;
	exact_bad(err);
	return -1;
}

static struct process *add_process(struct exact *e, uint64_t at, const struct exact_process *r,
				   struct err *err)
{
	struct process *p;

	if (!r->pid || r->pid > INT32_MAX || !exact_fits(r->log, EXACT_LOG_SIZE) ||
	    find_process(e, at)) {
		exact_bad(err);
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (!p || !exact_grow(&e->process, &e->nprocess, sizeof(*e->process))) {
		free(p);
		err_no_memory(err, "the exact recording");
		return NULL;
	}
	e->process[e->nprocess - 1] = p;
	p->at = at;
	p->pid = r->pid;
	p->chunk = r->log;
	p->users = 1;
	HASH_ADD(hh, e->by_at, at, sizeof(p->at), p);
	p->shared = p->hh.tbl ? map_process(e, at) : NULL;
	if (p->shared)
		return p;
	err_no_memory(err, "the exact recording");
	return NULL;
}

static int new_process(struct exact *e, uint64_t at, struct err *err)
{
	struct exact_process r;
	struct process *p, *parent, *replaced;
	bool goes_on;
	int rc = 0;

	if (read_process(e, at, &r, err))
		return -1;
	parent = find_process(e, r.parent);
	replaced = find_process(e, r.replaces);
	p = add_process(e, at, &r, err);
	if (!p)
		return -1;
	goes_on = replaced && !replaced->replaced && !replaced->done;
	if (replaced)
		replaced->replaced = true;
	if (replaced && r.same)
		replaced->successor = p;
	if (parent && !parent->released) {
		p->parent = parent;
		parent->users++;
		parent->forked++;
		rc = inherit(e, p, &r, err);
	}
	if (!replaced || !r.same)
		e->totals.processes++;
	else if (!rc) /* the process has ended: everything that it logged is read first */
		rc = exact_read_log(e, replaced, err) || lines_go_on(p, replaced, err) ? -1 : 0;
	if (!rc && goes_on && e->mode & EXACT_PHASES)
		rc = exact_read_log(e, replaced, err) || counters_read(e, replaced, err) ||
				     phases_go_on(e, p, replaced, err)
			     ? -1
			     : 0;
	return rc;
}

/* Adds the process at *at to the list, and moves *at to the preceding one in the chain. */
static bool list_process(const struct exact *e, uint64_t *at, uint64_t **list, size_t *n,
			 struct err *err)
{
	struct exact_process r;

	if (e->nprocess + *n >= EXACT_PROCESSES_MAX) {
		exact_too_many("processes", EXACT_PROCESSES_MAX, err);
		return false;
	}
	if (!exact_grow(list, n, sizeof(**list))) {
		err_no_memory(err, "the exact recording");
		return false;
	}
	(*list)[*n - 1] = *at;
	if (read_process(e, *at, &r, err))
		return false;
	*at = r.next;
	return true;
}

/* The chain has the newest process first. Adds those that are not known yet, the oldest first. */
static int new_processes(struct exact *e, struct err *err)
{
	uint64_t at = __atomic_load_n(&e->header->process, __ATOMIC_ACQUIRE), *new = NULL;
	size_t n = 0;
	int rc = 0;

	while (at && !find_process(e, at) && !rc)
		rc = list_process(e, &at, &new, &n, err) ? 0 : -1;
	while (n-- > 0 && !rc)
		rc = new_process(e, new[n], err);
	free(new);
	return rc;
}

static int finish_streams(struct exact *e, struct process *p, struct err *err)
{
	return p->sink ? streams_finish(e, p, err) : 0;
}

/* Tells the consumer that the samples that ended are complete in the profile. */
static int close_samples(struct exact *e, struct err *err)
{
	size_t n = e->nsample;

	if (!n)
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
	if (ended && e->mode & EXACT_PHASES && new_processes(e, err))
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
		give_back(e, p);
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
	if (new_processes(e, err))
		return give_up(e);
	for (size_t i = 0; i < e->nprocess; i++) {
		struct process *p = e->process[i];

		if (!p->done && poll_process(e, p, counters, err))
			return give_up(e);
		if (!p->done || p->released)
			continue;
		/* A successor began before the process ended, and gets what the process still
		 * holds; a forked child that is not known yet needs the process's blocks. */
		if (new_processes(e, err))
			return give_up(e);
		if (p->forked >= p->forks)
			release(e, p);
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

void exact_totals(const struct exact *e, struct exact_totals *t)
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
