/* SPDX-License-Identifier: MIT */
#include "cmd/session.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/text.h"
#include "base/pages.h"
#include "base/privilege.h"
#include "cmd/describe.h"
#include "cmd/signals.h"
#include "report/reading.h"
#include "sampler/budget.h"
#include "sampler/permit.h"
#include "sampler/spawn.h"
#include "store/recording.h"

#define TICK_MS 100 /* interval at which periods are drawn again and waiting work is done */
#define FLUSH_NS 900000000ull	/* a killed recorder loses at most a second */
#define JOURNAL_MOST (2u << 20) /* bytes of windows at which they are written at once */
#define CHECKPOINT_PART 50	/* writing all counts takes at most this part of the time */
#define PID_BITS (1u << 22)	/* largest possible pid_max */

struct session {
	const struct session_options *o;
	struct profile profile;
	struct sampler *sampler;
	struct recording *recording;
	struct spawn child;
	struct broker broker;
	sigset_t old_mask;
	int epoll, signals;
	struct family family;
	int *pidfds; /* pidfds of the processes that the user named, -1 for those that have ended */
	size_t running; /* number of these processes that have not ended */
	bool done;	/* stop sampling */
	bool hurry;	/* stop at once: readers aggregate the journal */
	bool reaped;	/* the command has ended */
	int status;	/* the process's wait status */
	int interrupts;
	uint64_t started, flushed;
	uint64_t flush_ns;    /* time until the next flush */
	struct err store_err; /* the recording could not be written */
	uint8_t *pids;	      /* a bit for each process seen */
	uint64_t processes;
	struct budget budget;
	struct rusage child_usage;
	uint64_t fixed_ns; /* CPU time of the recorder before and after the command ran */
};

/* The sampler's sink. */
static int on_window(void *ctx, const struct window *w, struct err *err)
{
	struct session *s = ctx;

	if (w->pid < PID_BITS && !(s->pids[w->pid / 8] >> w->pid % 8 & 1)) {
		s->pids[w->pid / 8] |= (uint8_t)(1u << w->pid % 8);
		s->processes++;
	}
	if (profile_window(&s->profile, w))
		return err_no_memory(err, "more instructions");
	/* counting the branches of long windows takes less than writing the windows one by one */
	if (s->profile.branches)
		return 0;
	if (recording_window(s->recording, w, err))
		return -1;
	return recording_waiting(s->recording) < JOURNAL_MOST
		       ? 0
		       : recording_flush(s->recording, &s->profile, err);
}

static uint64_t own_cpu_ns(void)
{
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	return describe_usage_ns(&self);
}

/*
 * CPU time of the command. The kernel adds up the time of those descendants that were waited for; a daemon, or what runs in
 * a container, is not among them. Where samples stand for more time than chance explains (four standard deviations), theirs
 * is taken.
 */
static uint64_t program_ns(const struct session *s)
{
	double rate = s->o->sampler.rate, measured = (double)describe_usage_ns(&s->child_usage);
	double expected = measured * rate / 1e9, seen = (double)s->profile.run[0].n.samples;

	if (s->o->all ||
	    s->o->cgroup) /* the command's time says little about processes sampled beside it */
		return 0;
	if (!s->o->sampler.command || !measured || seen < expected + 4 * sqrt(expected) + 4)
		return (uint64_t)measured;
	return (uint64_t)(seen * 1e9 / rate);
}

/* Returns the CPU time of the command that no sample stands for. Lost samples are reported
 * separately. */
static uint64_t missed_ns(const struct session *s)
{
	const struct run_counters *n = &s->profile.run[0].n;
	double seen = (double)(n->samples + reading_lost(n)) * 1e9 / s->o->sampler.rate;

	if (!s->reaped || !s->o->sampler.command || seen >= (double)n->program_ns)
		return 0;
	return n->program_ns - (uint64_t)seen;
}

static void update_run(struct session *s, bool finished)
{
	struct run *r = &s->profile.run[0];

	sampler_fill_run(s->sampler, r);
	r->n.recorder_ns = own_cpu_ns();
	r->n.fixed_ns = s->fixed_ns;
	r->n.program_ns = program_ns(s);
	r->n.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - s->started;
	r->n.missed_ns = missed_ns(s);
	r->n.processes = s->processes;
	r->status = s->status;
	r->finished = finished;
}

/* Ends a recording that cannot be written; the program continues undisturbed. */
static void give_up_writing(struct session *s, const struct err *err)
{
	s->store_err = *err;
	log_warn("%s; the recording ends here, the program goes on", err->msg);
	s->done = true;
}

/* Writes the state for readers of a killed recorder's recording: the journal's windows, or the counts so far. */
static int keep(struct session *s, struct err *err)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), pause;

	if (!s->profile.branches)
		return recording_flush(s->recording, &s->profile, err);
	if (recording_checkpoint(s->recording, &s->profile, err))
		return -1;
	pause = (clock_ns(CLOCK_MONOTONIC) - began) * CHECKPOINT_PART;
	s->flush_ns = pause > FLUSH_NS ? pause : FLUSH_NS;
	return 0;
}

/* Lets fewer windows run if recording takes more than its budget. */
static void keep_budget(struct session *s)
{
	const struct run_counters *n = &s->profile.run[0].n;
	uint64_t before = s->fixed_ns; /* the cost of the start */

	if (s->o->sampler.budget)
		sampler_thin(s->sampler,
			     budget_tell(&s->budget, n->elapsed_ns,
					 n->recorder_ns - before + n->ahead_ns + n->stack_ns));
}

static void flush(struct session *s)
{
	struct err err;

	s->flushed = clock_ns(CLOCK_MONOTONIC);
	update_run(s, false);
	keep_budget(s);
	if (sampler_observe(s->sampler, &err) || sampler_rest(s->sampler, &err) || keep(s, &err))
		give_up_writing(s, &err);
}

static void reap(struct session *s)
{
	if (s->child.pid > 0 && !s->reaped &&
	    wait4(s->child.pid, &s->status, WNOHANG, &s->child_usage) == s->child.pid) {
		s->reaped = true;
		s->done = true;
	}
}

/* Ctrl-C reaches the command too, which decides what to do; the second one within its life ends the recording. Without
 * a command the first one ends the recording, and a second leaves the aggregation to readers. */
static void on_signal(struct session *s, int sig)
{
	if (sig == SIGCHLD) {
		reap(s);
		return;
	}
	s->interrupts++;
	if (!s->o->argv) {
		s->hurry = s->done;
		s->done = true;
		return;
	}
	if (sig == SIGTERM || sig == SIGHUP)
		broker_signal(&s->broker, sig);
	if (sig == SIGINT && s->interrupts > 1)
		s->done = true;
}

static void take_signals(struct session *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == sizeof(si))
		on_signal(s, (int)si.ssi_signo);
}

static int watch(int epoll, int fd, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev))
		return err_sys(err, "cannot watch for events");
	return 0;
}

static int open_watches(struct session *s, struct err *err)
{
	s->signals = signals_open(&s->old_mask, err);
	if (s->signals < 0)
		return -1;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0)
		return err_sys(err, "cannot wait for events");
	return watch(s->epoll, s->signals, err);
}

static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd >= 0 && poll(&p, 1, 0) > 0;
}

/* Returns how many processes, or threads, the user named. */
static size_t named(const struct session_options *o)
{
	return o->tid ? 1 : o->pids->n;
}

static pid_t named_pid(const struct session_options *o, size_t i)
{
	return o->tid ? o->tid : (pid_t)o->pids->at[i];
}

/* The pidfd is opened first and checked last, so that the process that was attached to is the one that the user may
 * sample. */
static int attach_named(struct session *s, size_t i, struct err *err)
{
	pid_t pid = named_pid(s->o, i);
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	s->pidfds[i] = fd;
	if (s->o->tid ? sampler_attach_thread(s->sampler, pid, err) || permit_process(pid, err)
		      : sampler_attach_process(s->sampler, &s->family, pid, err))
		return -1;
	if (has_ended(fd))
		return err_set(err, ERR_FAILED, "process %d ended while it was being attached to",
			       (int)pid);
	s->running += fd >= 0;
	return fd >= 0 ? watch(s->epoll, fd, err) : 0;
}

static int attach_descendants(struct session *s, struct err *err)
{
	if (s->o->tid || s->o->sampler.no_children)
		return 0;
	if (sampler_attach_descendants(s->sampler, &s->family, err))
		return -1;
	if (s->family.refused)
		log_warn("%u descendant%s left out: this user may not trace them",
			 s->family.refused, s->family.refused == 1 ? " is" : "s are");
	return 0;
}

/* Raises the limit on descriptors, because each thread takes one. */
static void allow_descriptors(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) || l.rlim_cur == l.rlim_max)
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

static int attach_running(struct session *s, struct err *err)
{
	size_t n = named(s->o);

	allow_descriptors();
	s->pidfds = calloc(n, sizeof(*s->pidfds));
	if (!s->pidfds)
		return err_no_memory(err, "the recording");
	for (size_t i = 0; i < n; i++)
		if (attach_named(s, i, err))
			return -1;
	return attach_descendants(s, err);
}

/* Sampling ends with the last of the processes that the user named. */
static void on_event(struct session *s, int fd)
{
	for (size_t i = 0; s->pidfds && i < named(s->o); i++) {
		if (s->pidfds[i] != fd)
			continue;
		close(fd); /* closing the descriptor ends watching it, too */
		s->pidfds[i] = -1;
		if (!--s->running)
			s->done = true;
	}
}

/* Reads the present mappings of the processes that are attached to. */
static void look(struct session *s)
{
	if (s->o->tid)
		sampler_look(s->sampler, s->o->tid);
	for (size_t i = 0; i < s->family.n; i++)
		sampler_look(s->sampler, s->family.pid[i]);
}

static int attach(struct session *s, struct err *err)
{
	const struct session_options *o = s->o;

	if (o->all)
		return permit_all("-a samples the processes of all users", err)
			       ? -1
			       : sampler_attach_all(s->sampler, err);
	if (o->cgroup)
		return permit_all("the processes of a control group may be other users'", err)
			       ? -1
			       : sampler_attach_cgroup(s->sampler, o->cgroup, err);
	if (o->argv)
		return sampler_attach_command(s->sampler, s->child.pid, err);
	return attach_running(s, err);
}

/* After this, files may be read that anybody may have written. */
static int drop(struct session *s, struct err *err)
{
	cap_value_t keep[SAMPLER_NEEDS];

	return privilege_drop(keep, sampler_needs(s->sampler, keep), err);
}

static bool out_of_time(const struct session *s)
{
	return s->o->seconds > 0 &&
	       (double)(clock_ns(CLOCK_MONOTONIC) - s->started) >= s->o->seconds * 1e9;
}

static void loop(struct session *s)
{
	struct epoll_event ev[4];
	uint64_t ticked = clock_ns(CLOCK_MONOTONIC), now;
	struct err err;

	while (!s->done) {
		int n = epoll_wait(s->epoll, ev, 4, TICK_MS);

		take_signals(s);
		for (int i = 0; i < n; i++)
			on_event(s, ev[i].data.fd);
		if (sampler_poll(s->sampler, &err)) {
			give_up_writing(s, &err);
			break;
		}
		now = clock_ns(CLOCK_MONOTONIC);
		if (now - ticked >= TICK_MS * 1000000ull) {
			ticked = now;
			sampler_redraw(s->sampler);
			sampler_look_at_pages(s->sampler);
		}
		if (now - s->flushed >= s->flush_ns)
			flush(s);
		if (out_of_time(s))
			s->done = true;
	}
}

/* The command outlives the recording: its status is awaited, because the recorder returns it. */
static void wait_for_command(struct session *s)
{
	if (!s->o->argv || s->reaped || s->child.pid <= 0)
		return;
	if (s->interrupts > 1) {
		log_warn("process %d goes on without being recorded", (int)s->child.pid);
		s->status = SIGINT;
		return;
	}
	while (!s->reaped) {
		struct epoll_event ev;

		epoll_wait(s->epoll, &ev, 1, 1000);
		take_signals(s);
		reap(s);
		if (s->interrupts > 1)
			break;
	}
}

/* Whether the process runs; a zombie does not. */
static bool runs(unsigned pid)
{
	char path[32], to[2];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return readlink(path, to, sizeof(to)) >= 0 || errno == EACCES;
}

/* Says which sampled descendants outlive the command, as daemons do: sampling ends with the command. */
static void print_survivors(const struct session *s)
{
	unsigned n = 0, one = 0;

	if (!s->o->sampler.command || !s->reaped)
		return;
	for (unsigned pid = 0; pid < PID_BITS; pid += s->pids[pid / 8] ? 1 : 8)
		if (s->pids[pid / 8] >> pid % 8 & 1 && runs(pid) && !n++)
			one = pid;
	if (n)
		fprintf(stderr,
			"[ record: %u process%s outlived the command, with which recording ends: "
			"-p %u records %s ]\n",
			n, n == 1 ? "" : "es", one, n == 1 ? "it" : "one of them");
}

static void closing_line(const struct session *s)
{
	const struct run_counters *n = &s->profile.run[0].n;
	char samples[32], lost[32], size[32], cost[80], output[1024], missed[32];
	struct stat st = { 0 };

	if (s->o->quiet)
		return;
	stat(s->o->output, &st);
	if (!n->program_ns)
		snprintf(cost, sizeof(cost), "cost %.1f ms CPU/s",
			 (double)(n->recorder_ns + n->ahead_ns + n->stack_ns) / 1e3 /
				 ((double)n->elapsed_ns / 1e6));
	else
		reading_cost_text(n, cost, sizeof(cost));
	fprintf(stderr, "[ record: %s sample%s, %s lost, %s -> %s, %s ]\n",
		fmt_count(n->samples, samples, sizeof(samples)), n->samples == 1 ? "" : "s",
		fmt_count(reading_lost(n), lost, sizeof(lost)),
		fmt_size((uint64_t)st.st_size, size, sizeof(size)),
		text_copy(s->o->output, output, sizeof(output)), cost);
	if (!isnan(reading_missed(n)))
		fprintf(stderr,
			"[ record: no samples of %s %% of the program's CPU time: set-uid "
			"programs and the like ]\n",
			fmt_percent(reading_missed(n), missed, sizeof(missed)));
	print_survivors(s);
}

static void finish(struct session *s, struct err *err)
{
	uint64_t ran;
	struct err why;

	if (!s->store_err.code && sampler_stop(s->sampler, &why))
		give_up_writing(s, &why);
	ran = own_cpu_ns();
	wait_for_command(s);
	if (s->store_err.code || s->hurry) {
		if (s->hurry)
			flush(s);
		recording_abandon(s->recording);
		s->recording = NULL;
		*err = s->store_err;
		return;
	}
	sampler_name_procedures(s->sampler);
	s->fixed_ns += own_cpu_ns() - ran;
	update_run(s, true);
	if (recording_finish(s->recording, &s->profile, err))
		s->store_err = *err;
	s->recording = NULL;
	if (!s->store_err.code)
		closing_line(s);
}

static int prepare(struct session *s, struct err *err)
{
	const struct session_options *o = s->o;

	if (o->argv && spawn_check(o->argv, err))
		return -1;
	if (profile_init(&s->profile, err) || describe_run(&s->profile, "sampler", o, err) ||
	    open_watches(s, err))
		return -1;
	s->profile.run[0].clock = describe_clock();
	describe_memory(&s->profile.run[0]);
	s->profile.method = o->sketch;
	s->profile.capacity = o->sketch_capacity;
	/* half of a window is what lies before the loads that are judged */
	s->profile.branches = o->sampler.branches;
	s->profile.conflict_distance =
		o->distance < o->sampler.burst / 2 ? o->distance : o->sampler.burst / 2;
	s->profile.run[0].distance = s->profile.conflict_distance;
	s->pids = calloc(PID_BITS / 8, 1);
	if (!s->pids)
		return err_no_memory(err, "the recording");
	/* done before large mappings exist, which a fork would have to copy */
	if (o->argv && spawn_hold(&s->child, o->argv, &s->old_mask, err))
		return -1;
	if (broker_start(&s->broker, o->argv ? s->child.pid : 0, err))
		return -1;
	s->sampler = sampler_open(&o->sampler, &s->profile, &s->broker, on_window, s, err);
	if (!s->sampler)
		return -1;
	if (attach(s, err) || drop(s, err))
		return -1;
	/* exceeding a file size limit is an error of write(), not the recorder's end; the command
	 * was forked before */
	signal(SIGXFSZ, SIG_IGN);
	s->recording = recording_create(o->output, err);
	if (!s->recording)
		return -1;
	look(s);
	return watch(s->epoll, sampler_fd(s->sampler), err);
}

static void say_what_all_means(const struct session *s)
{
	if (s->o->all && !s->o->quiet)
		fputs("[ record: -a keeps values from the memory of all users' processes: the "
		      "recording is as secret as they are ]\n",
		      stderr);
}

static int start(struct session *s, struct err *err)
{
	say_what_all_means(s);
	s->fixed_ns = own_cpu_ns();
	s->started = s->flushed = clock_ns(CLOCK_MONOTONIC);
	s->flush_ns = FLUSH_NS;
	budget_begin(&s->budget, s->o->budget, (unsigned)sysconf(_SC_NPROCESSORS_ONLN));
	if (sampler_enable(s->sampler, err))
		return -1;
	return s->o->argv ? spawn_go(&s->child, s->o->argv, err) : 0;
}

static int exit_status(const struct session *s)
{
	if (!s->o->argv)
		return 0;
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

int session_run(const struct session_options *o, struct err *err)
{
	/* static: a process has one session, and ends after it; the kernel frees at once what would
	 * take long piece by piece */
	static struct session s;
	int rc;

	s = (struct session){ .o = o,
			      .epoll = -1,
			      .signals = -1,
			      .broker = BROKER_NONE,
			      .child = { .pid = -1, .go = -1, .result = -1 } };
	*err = (struct err){ 0 };
	pages_heap();
	rc = prepare(&s, err);
	if (!rc)
		rc = start(&s, err);
	if (!rc) {
		loop(&s);
		finish(&s, err);
	}
	free(s.pidfds);
	family_fini(&s.family);
	if (s.recording)
		recording_abandon(s.recording);
	if (rc)
		spawn_cancel(&s.child);
	return err->code ? err->code : exit_status(&s);
}
