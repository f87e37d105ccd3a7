/* SPDX-License-Identifier: MIT */
#include "sampler/sideband.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_PAGES 32	 /* power of two */
#define RECORD_MAX 65536 /* bytes; the kernel's size has 16 bits */
#define TAIL_BYTES 16	 /* of each record: pid, tid, time */
#define NONE UINT64_MAX

struct buffer {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t time; /* time of the record at the buffer's tail; NONE: not known */
};

struct sideband {
	struct buffer *cpu;
	size_t n;
	size_t page, data; /* bytes; data: power of two */
	struct sideband_record record;
	union {
		struct perf_event_header header;
		uint8_t bytes[RECORD_MAX];
	} raw;
};

/* Records as the kernel writes them, without their headers. */
struct raw_map {
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, generation;
	uint32_t prot, flags;
	char name[];
};
struct raw_task {
	uint32_t pid, ppid, tid, ptid;
};

static int open_cpu(struct sideband *s, int cgroup, int cpu, struct err *err)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = (uint32_t)s->data / 2,
	};
	struct buffer *b = &s->cpu[s->n];

	b->fd = (int)syscall(SYS_perf_event_open, &attr, cgroup, cpu, -1,
			     PERF_FLAG_FD_CLOEXEC | (cgroup < 0 ? 0 : PERF_FLAG_PID_CGROUP));
	if (b->fd < 0 && errno == ENODEV) /* the CPU is offline */
		return 0;
	if (b->fd < 0)
		return err_sys(err, "cannot follow the processes of CPU %d", cpu);
	b->time = NONE;
	b->page = mmap(NULL, s->page + s->data, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0);
	if (b->page == MAP_FAILED) {
		close(b->fd);
		return err_sys(err, "cannot map the buffer of CPU %d's processes", cpu);
	}
	s->n++;
	return 0;
}

struct sideband *sideband_open(int cgroup, struct err *err)
{
	struct sideband *s = calloc(1, sizeof(*s));
	long n = sysconf(_SC_NPROCESSORS_CONF);

	if (s)
		s->cpu = calloc((size_t)n, sizeof(*s->cpu));
	if (!s || !s->cpu) {
		free(s);
		err_no_memory(err, "the events of processes");
		return NULL;
	}
	s->page = (size_t)sysconf(_SC_PAGESIZE);
	s->data = BUFFER_PAGES * s->page;
	for (long cpu = 0; cpu < n; cpu++)
		if (open_cpu(s, cgroup, (int)cpu, err)) {
			sideband_close(s);
			return NULL;
		}
	return s;
}

void sideband_close(struct sideband *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++) {
		munmap(s->cpu[i].page, s->page + s->data);
		close(s->cpu[i].fd);
	}
	free(s->cpu);
	free(s);
}

int sideband_enable(struct sideband *s, struct err *err)
{
	for (size_t i = 0; i < s->n; i++)
		if (ioctl(s->cpu[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(err, "cannot enable the events of processes");
	return 0;
}

int sideband_watch(const struct sideband *s, int epoll, struct err *err)
{
	for (size_t i = 0; i < s->n; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.fd = s->cpu[i].fd };

		if (epoll_ctl(epoll, EPOLL_CTL_ADD, s->cpu[i].fd, &ev))
			return err_sys(err, "cannot wait for the events of processes");
	}
	return 0;
}

/* Buffers. */

/* Copies bytes from position `at` on, counted from the first byte ever written. */
static void copy_out(const struct sideband *s, const struct buffer *b, uint64_t at, void *to,
		     size_t n)
{
	const uint8_t *data = (const uint8_t *)b->page + s->page;
	size_t from = at & (s->data - 1), first = s->data - from < n ? s->data - from : n;

	memcpy(to, data + from, first);
	memcpy((uint8_t *)to + first, data, n - first);
}

/* Returns the size of the record at the buffer's tail; 0: there is none. */
static size_t waiting(const struct sideband *s, const struct buffer *b)
{
	uint64_t head = __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE),
		 tail = b->page->data_tail;
	struct perf_event_header h;

	if (head - tail < sizeof(h))
		return 0;
	copy_out(s, b, tail, &h, sizeof(h));
	return h.size < sizeof(h) || h.size > head - tail ? 0 : h.size;
}

static uint64_t time_of(const struct sideband *s, struct buffer *b)
{
	size_t size;

	if (b->time != NONE)
		return b->time;
	size = waiting(s, b);
	if (!size)
		return NONE;
	b->time = 0;
	if (size >= sizeof(struct perf_event_header) + TAIL_BYTES)
		copy_out(s, b, b->page->data_tail + size - 8, &b->time, 8);
	return b->time;
}

static void take(struct sideband *s, struct buffer *b)
{
	size_t size = waiting(s, b);

	copy_out(s, b, b->page->data_tail, s->raw.bytes, size);
	s->record.time = b->time;
	b->time = NONE;
	__atomic_store_n(&b->page->data_tail, b->page->data_tail + size, __ATOMIC_RELEASE);
}

/* Records. */

/* Returns what follows the header of the record in s->raw, if the record is long enough. */
static void *body(struct sideband *s, size_t least)
{
	size_t head = sizeof(s->raw.header);

	return s->raw.header.size < head + least + TAIL_BYTES ? NULL : s->raw.bytes + head;
}

static bool parse_map(struct sideband *s, struct sideband_record *r)
{
	struct raw_map *m = body(s, sizeof(*m) + 8);

	if (!m || m->len > UINT64_MAX - m->addr)
		return false;
	/* the name is padded with zeroes before the record's last fields */
	s->raw.bytes[s->raw.header.size - TAIL_BYTES - 1] = 0;
	r->kind = SIDEBAND_MAP;
	r->pid = (pid_t)m->pid;
	r->map = (struct map){ .start = m->addr,
			       .end = m->addr + m->len,
			       .offset = m->pgoff,
			       .dev_major = m->maj,
			       .dev_minor = m->min,
			       .inode = m->ino,
			       .read = m->prot & PROT_READ,
			       .write = m->prot & PROT_WRITE,
			       .exec = m->prot & PROT_EXEC,
			       .name = m->name };
	return r->map.exec;
}

/* The birth or end of a thread other than the first leaves its process as it is. */
static bool parse_task(struct sideband *s, struct sideband_record *r, enum sideband_kind kind)
{
	const struct raw_task *t = body(s, sizeof(*t));

	if (!t || t->pid != t->tid)
		return false;
	r->kind = kind;
	r->pid = (pid_t)t->pid;
	r->parent = (pid_t)t->ppid;
	return true;
}

static bool parse_comm(struct sideband *s, struct sideband_record *r)
{
	const uint32_t *pid = body(s, sizeof(*pid));

	if (!pid || !(s->raw.header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return false;
	r->kind = SIDEBAND_EXEC;
	r->pid = (pid_t)*pid;
	return true;
}

/* True if the record in s->raw is of use. */
static bool parse(struct sideband *s, struct sideband_record *r)
{
	switch (s->raw.header.type) {
	case PERF_RECORD_MMAP2:
		return parse_map(s, r);
	case PERF_RECORD_FORK:
		return parse_task(s, r, SIDEBAND_FORK);
	case PERF_RECORD_EXIT:
		return parse_task(s, r, SIDEBAND_EXIT);
	case PERF_RECORD_COMM:
		return parse_comm(s, r);
	default: /* other records, such as those of lost ones: missing mappings are read from /proc */
		return false;
	}
}

static struct buffer *oldest(struct sideband *s, uint64_t until)
{
	struct buffer *b = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (time_of(s, &s->cpu[i]) <= until && (!b || s->cpu[i].time < b->time))
			b = &s->cpu[i];
	return b && b->time <= until ? b : NULL;
}

const struct sideband_record *sideband_next(struct sideband *s, uint64_t until)
{
	struct buffer *b;

	if (until == NONE)
		until--;
	while ((b = oldest(s, until))) {
		take(s, b);
		if (parse(s, &s->record))
			return &s->record;
	}
	return NULL;
}
