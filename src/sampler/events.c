/* SPDX-License-Identifier: MIT */
#include "sampler/events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"

const char *const event_name[EVENT_KIND_N] = { "cpu-clock", "cycles", "minor-faults" };
static const struct {
	uint32_t type;
	uint64_t config;
} kind_of[EVENT_KIND_N] = {
	[EVENT_CPU_CLOCK] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
	[EVENT_CYCLES] = { PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[EVENT_FAULTS] = { PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
};

/* A guess at the clock rate is enough: the kernel reports each sample's own period. */
#define CYCLES_A_SECOND 3e9

void events_init(struct events *e, int kind, double rate, int prog)
{
	memset(e, 0, sizeof(*e));
	e->kind = kind;
	e->rate = rate;
	e->period = kind == EVENT_FAULTS
			    ? 1
			    : (uint64_t)((kind == EVENT_CYCLES ? CYCLES_A_SECOND : 1e9) / rate);
	e->prog = prog;
	e->random = clock_ns(CLOCK_MONOTONIC) % 1000000000 << 20 | (uint64_t)getpid() | 1;
}

static uint64_t draw_period(struct events *e)
{
	uint64_t width = e->period / 8;

	return e->period - width / 2 + random_below(&e->random, width + 1);
}

static void redraw(struct events *e, int fd)
{
	uint64_t period = draw_period(e);

	if (e->kind == EVENT_FAULTS)
		return;
	ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
}

/* Returns the youngest pid of this pid namespace, in which pids are given in turn; 0 if it cannot
 * be read. */
static pid_t youngest_pid(void)
{
	FILE *f = fopen("/proc/loadavg", "re");
	int pid = 0;

	if (f && fscanf(f, "%*s %*s %*s %*s %d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

static struct event_birth now_born(void)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), now = clock_ns(CLOCK_BOOTTIME);

	return (struct event_birth){
		.ticks = now / 1000000000 * hz + now % 1000000000 * hz / 1000000000,
		.pid = youngest_pid(),
	};
}

static int make_room(struct events *e, struct err *err)
{
	size_t cap = e->cap ? 2 * e->cap : 16;
	struct event_birth *b;
	pid_t *t;
	int *f;

	if (e->n < e->cap)
		return 0;
	f = reallocarray(e->fd, cap, sizeof(*f));
	if (f)
		e->fd = f;
	t = f ? reallocarray(e->tid, cap, sizeof(*t)) : NULL;
	if (t)
		e->tid = t;
	b = t ? reallocarray(e->birth, cap, sizeof(*b)) : NULL;
	if (!b)
		return err_no_memory(err, "%zu events", cap);
	e->birth = b;
	e->cap = cap;
	return 0;
}

/* keeps the system call's errno */
static int refuse(const struct events *e, pid_t tid, int cpu, struct err *err)
{
	int why = errno;

	err_sys(err, "cannot open a %s event on %s %d", event_name[e->kind],
		cpu < 0 ? "thread" : "CPU", cpu < 0 ? (int)tid : cpu);
	if (why == EMFILE) {
		err_set(err, ERR_FAILED,
			"too many threads: each takes a file descriptor, and the limit was reached "
			"at "
			"thread %d, after %zu threads",
			(int)tid, e->n);
		err_hint(err, "raise the limit (ulimit -Hn), or record all processes with -a");
	}
	errno = why;
	return -1;
}

/* A cgroup's descriptor is passed instead of a tid. */
static int add(struct events *e, pid_t tid, int cpu, bool inherit, struct err *err)
{
	struct perf_event_attr attr = {
		.type = kind_of[e->kind].type,
		.size = sizeof(attr),
		.config = kind_of[e->kind].config,
		/* the period that a software event reports, whichever period is drawn later */
		.sample_period = e->period,
		.disabled = 1,
		.inherit = inherit,
		.inherit_thread = inherit && e->no_children,
		.exclude_idle = e->no_idle,
		.exclude_hv = 1,
	};
	struct event_birth birth = now_born();
	int fd;

	if (make_room(e, err))
		return -1;
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC | (cpu >= 0 && tid >= 0 ? PERF_FLAG_PID_CGROUP : 0));
	if (fd < 0)
		return refuse(e, tid, cpu, err);
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, e->prog)) {
		err_sys(err, "cannot attach the program to a %s event", event_name[e->kind]);
		close(fd);
		return -1;
	}
	redraw(e, fd);
	e->fd[e->n] = fd;
	e->birth[e->n] = birth;
	e->tid[e->n++] = cpu < 0 ? tid : -1 - cpu;
	return 0;
}

int events_add_thread(struct events *e, pid_t tid, struct err *err)
{
	if (kill(tid, 0) && errno == ESRCH) {
		err_set(err, ERR_FAILED, "no thread %d", (int)tid);
		return err_hint(err, "`ps -eL` lists those there are, in its column LWP");
	}
	return add(e, tid, -1, false, err);
}

/* Returns the index of the thread's event among the n events, or n if the thread has none. */
static size_t find(const struct events *e, pid_t tid)
{
	size_t i = 0;

	while (i < e->n && e->tid[i] != tid)
		i++;
	return i;
}

static bool have(const struct events *e, pid_t tid)
{
	return find(e, tid) < e->n;
}

bool events_miss_child(const struct events *e, pid_t parent, pid_t child, uint64_t ticks)
{
	size_t i = find(e, parent);

	if (i == e->n || have(e, child))
		return false;
	if (ticks != e->birth[i].ticks)
		return ticks < e->birth[i].ticks;
	return child <= e->birth[i].pid;
}

/*
 * Opens events in one pass over the process's threads; returns the number of new threads, or -1. A
 * thread that ends meanwhile is not an error. A thread inherits the event of the thread that
 * creates it; such a thread is recognised, and left alone, only if it existed before the pass.
 */
static int add_threads(struct events *e, pid_t pid, struct err *err)
{
	char path[64];
	struct dirent *d;
	int added = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return err_sys(err, "cannot attach to process %d", (int)pid);
	while ((d = readdir(dir))) {
		pid_t tid = (pid_t)atoi(d->d_name);

		if (tid <= 0 || have(e, tid))
			continue;
		if (add(e, tid, -1, true, err)) {
			if (errno == ESRCH)
				continue;
			closedir(dir);
			return -1;
		}
		added++;
	}
	closedir(dir);
	return added;
}

int events_add_process(struct events *e, pid_t pid, struct err *err)
{
	size_t before = e->n;

	if (kill(pid, 0) && errno == ESRCH) {
		err_set(err, ERR_FAILED, "no process %d", (int)pid);
		return err_hint(err, "`ps -e` lists those there are");
	}
	if (add_threads(e, pid, err) < 0)
		return -1;
	if (e->n == before) {
		err_set(err, ERR_FAILED, "process %d ended while it was being attached to",
			(int)pid);
		return err_hint(err, "record it from its start: assay record -- COMMAND");
	}
	return 0;
}

int events_add_cpus(struct events *e, int cgroup, struct err *err)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	for (long cpu = 0; cpu < n; cpu++)
		if (add(e, cgroup, (int)cpu, false, err) && errno != ENODEV)
			return -1;
	return 0;
}

int events_enable(struct events *e, struct err *err)
{
	for (size_t i = 0; i < e->n; i++)
		if (ioctl(e->fd[i], PERF_EVENT_IOC_ENABLE, 0))
			return err_sys(err, "cannot enable the %s event", event_name[e->kind]);
	return 0;
}

void events_redraw(struct events *e)
{
	for (size_t i = 0; i < e->n; i++)
		redraw(e, e->fd[i]);
}

void events_keep(struct events *e, size_t n)
{
	while (e->n > n)
		close(e->fd[--e->n]);
}

void events_fini(struct events *e)
{
	events_keep(e, 0);
	free(e->fd);
	free(e->tid);
	free(e->birth);
	memset(e, 0, sizeof(*e));
}
