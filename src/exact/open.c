/* SPDX-License-Identifier: MIT */
/* Opens and closes an exact recording: makes the memory that it shares with the program, sets what
 * the engine finds there at its start, and maps pieces of it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "exact/exact_priv.h"

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

void exact_punch(const struct exact *e, uint64_t at, uint64_t n)
{
	fallocate(e->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)n);
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

void exact_limit_code(struct exact *e, uint64_t bytes)
{
	e->header->code_limit = bytes;
}

void exact_close(struct exact *e)
{
	if (!e)
		return;
	processes_free(e);
	sinks_close(e);
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
