/* SPDX-License-Identifier: MIT */
#include "cmd/exact_session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/clock.h"
#include "base/fmt.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/text.h"
#include "cmd/describe.h"
#include "cmd/exact_again.h"
#include "cmd/exact_samples.h"
#include "cmd/signals.h"
#include "exact/exact.h"
#include "engine/shared.h"
#include "exact/simulate.h"
#include "sampler/spawn.h"
#include "store/recording.h"

#define TICK_MS 100
#define COUNT_NS 900000000ull
#define PROBE_MS 10000
#define WRITE_NS 1700000000ull /* shortest time between two writes of the recording */
#define WRITE_PART 33	       /* writing takes at most this part of the time */

struct session {
	const struct session_options *o;
	struct profile profile;
	struct profile *
		/* profile that the recorder observes into; complete samples are added to
		 * `profile` */
		observed;
	struct exact_samples samples;
	struct exact *exact;
	const struct order_consumer *simulation; /* consumer of a simulation, or NULL */
	struct recording *recording;
	struct spawn child;
	struct broker broker;
	sigset_t old_mask;
	int signals;
	bool reaped, stop, no_writing;
	int status, interrupts;
	uint64_t started, write_at, flush_at;
	struct rusage usage;
};

static void reap(struct session *s)
{
	if (!s->reaped && wait4(s->child.pid, &s->status, WNOHANG, &s->usage) == s->child.pid)
		s->reaped = true;
}

/* As in a sampled recording, the command gets Ctrl-C too and decides what to do; a second one ends the recording. */
static void take_signals(struct session *s)
{
	struct signalfd_siginfo si;

	while (read(s->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		if (si.ssi_signo != SIGINT)
			broker_signal(&s->broker, (int)si.ssi_signo);
		else if (++s->interrupts > 1)
			s->stop = true;
	}
	reap(s);
}

/* The instructions that a profile of weighted samples stands for. Each execution counts as a window. */
static uint64_t executed(const struct profile *p)
{
	uint64_t sum = 0;
	struct site *s;

	SITES_EACH(&p->sites, s)
	{
		s->windows = s->observed;
		sum += s->observed;
	}
	return sum;
}

static void update_run(struct session *s, bool finished)
{
	struct run *r = &s->profile.run[0];
	struct exact_totals t;
	struct rusage self;

	exact_totals(s->exact, &t);
	if (s->samples.sampled)
		t.instructions = executed(&s->profile);
	getrusage(RUSAGE_SELF, &self);
	r->n.instructions = t.instructions;
	r->n.processes = t.processes;
	r->n.native = t.native;
	r->n.uncounted = t.uncounted;
	r->n.recorder_ns = describe_usage_ns(&self);
	r->n.program_ns = describe_usage_ns(&s->usage);
	r->n.elapsed_ns = clock_ns(CLOCK_MONOTONIC) - s->started;
	r->status = s->status;
	r->finished = finished;
}

/* Whether the run is written to a recording. */
static bool records(const struct session *s)
{
	return !s->o->custom || s->o->custom->records;
}

/* Writes the recording so far, for the case that the recorder is killed. Values are merged at
 * growing intervals, whenever the run's length has doubled: merged lists have wider bounds than one
 * list. */
static void checkpoint(struct session *s, struct err *err)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), took;
	struct err why;

	if (!s->recording || s->no_writing || s->o->custom || began < s->write_at)
		return;
	if (s->o->observe & EXACT_STREAM && began >= s->flush_at && !s->samples.sampled) {
		if (exact_flush(s->exact, err)) {
			log_warn("%s; the recording ends here, the program goes on", err->msg);
			return;
		}
		s->flush_at = began + (began - s->started);
	}
	update_run(s, false);
	/* the first checkpoint may fail silently, because nothing would be lost yet */
	if (recording_checkpoint(s->recording, &s->profile, &why) && s->write_at) {
		log_warn("%s; tried again at the end", why.msg);
		s->no_writing = true;
	}
	took = clock_ns(CLOCK_MONOTONIC) - began;
	s->write_at = began + took;
	s->write_at += took * WRITE_PART > WRITE_NS ? took * WRITE_PART : WRITE_NS;
}

static void loop(struct session *s, struct err *err)
{
	struct pollfd p = { .fd = s->signals, .events = POLLIN };
	bool stream = s->o->observe & EXACT_STREAM || s->simulation || s->samples.sampled;
	uint64_t counted = clock_ns(CLOCK_MONOTONIC);
	int tick = 1; /* programs meet most of their code at their start */

	while (!s->reaped && !s->stop) {
		uint64_t now;

		if (stream && !err->code)
			exact_wait(s->exact, TICK_MS / 4);
		else
			poll(&p, 1, tick);
		tick = 2 * tick < TICK_MS ? 2 * tick : TICK_MS;
		take_signals(s);
		s->stop |= s->o->custom && s->o->custom->failed(s->o->custom->arg);
		now = clock_ns(CLOCK_MONOTONIC);
		if (!err->code && exact_poll(s->exact, now - counted > COUNT_NS, err))
			log_warn("%s; the recording ends here, the program goes on", err->msg);
		if (now - counted > COUNT_NS) {
			counted = now;
			if (!err->code)
				checkpoint(s, err);
		}
	}
	/* a command that is not recorded ran for its consumer alone, which has its results */
	if (!s->reaped && s->o->custom && !s->o->custom->records)
		kill(s->child.pid, SIGTERM);
	else if (!s->reaped)
		log_warn("process %d goes on without being recorded", (int)s->child.pid);
}

static void closing_line(const struct session *s)
{
	struct exact_totals t;
	char n[32], more[32], blocks[32], output[1024];

	if (s->o->quiet)
		return;
	exact_totals(s->exact, &t);
	if (!t.blocks && !s->samples.sampled) /* the engine has printed the reason */
		return;
	if (!records(s))
		return;
	fprintf(stderr, "[ record: ");
	if (s->samples.sampled)
		fprintf(stderr, "samples of %s instructions, %s observed, in ",
			fmt_count(s->samples.sampled->instructions, n, sizeof(n)),
			fmt_count(sampled_observed(s->samples.sampled), more, sizeof(more)));
	else if (t.instructions && !s->o->custom)
		fprintf(stderr, "%s instructions of ", fmt_count(t.instructions, n, sizeof(n)));
	fprintf(stderr, "%s blocks in %lu process%s -> %s ]\n",
		fmt_count(t.blocks, blocks, sizeof(blocks)), (unsigned long)t.processes,
		t.processes == 1 ? "" : "es", text_copy(s->o->output, output, sizeof(output)));
	if (t.native)
		fprintf(stderr, "[ %lu program%s ran without the engine and %s not in it ]\n",
			(unsigned long)t.native, t.native == 1 ? "" : "s",
			t.native == 1 ? "is" : "are");
	if (t.uncounted)
		fprintf(stderr, "[ %s instructions whose code kept changing are not in it ]\n",
			fmt_count(t.uncounted, n, sizeof(n)));
	if (t.shortened)
		fprintf(stderr,
			"[ %s accesses of string instructions were too long and were cut short ]\n",
			fmt_count(t.shortened, n, sizeof(n)));
	if (t.forgotten)
		fprintf(stderr,
			"[ %s calls without a return were forgotten, since there were too many ]\n",
			fmt_count(t.forgotten, n, sizeof(n)));
}

static void finish(struct session *s, struct err *err)
{
	const struct session_custom *custom = s->o->custom;
	struct err why;

	if (exact_finish(s->exact, &why) && !err->code)
		*err = why;
	if (!err->code &&
	    exact_samples_end(&s->samples, s->exact, s->status, s->o->allow_mismatch, err))
		return;
	if (!s->recording && records(s))
		s->recording = recording_create(s->o->output, err);
	if (!s->recording && records(s))
		return;
	update_run(s, !err->code);
	if (custom && custom->finish(custom->arg, &s->profile, &why) && !err->code)
		*err = why;
	if (!records(s) || (custom && err->code)) {
		if (!err->code)
			closing_line(s);
		return;
	}
	if (recording_finish(s->recording, &s->profile, &why) && !err->code)
		*err = why;
	s->recording = NULL;
	if (err->code)
		return;
	closing_line(s);
	if (s->samples.sampled)
		exact_again(&s->profile, s->o->output, s->o->quiet);
}

static const char *observed(const struct session_options *o)
{
	unsigned mode = o->observe;

	return o->custom			   ? o->custom->observed
	       : o->simulate == SIMULATE_REUSE	   ? "reuse"
	       : o->simulate == SIMULATE_MISSES	   ? "misses"
	       : o->simulate == SIMULATE_CYCLES	   ? "cycles"
	       : o->simulate == SIMULATE_CONFLICTS ? "conflicts"
	       : mode & EXACT_LINES		   ? "lines"
	       : mode & EXACT_PHASES		   ? "phases"
	       : mode & EXACT_CALLS		   ? "calls"
	       : mode & EXACT_VALUES		   ? "values"
	       : mode & EXACT_ADDRESSES		   ? "addresses"
						   : "counts";
}

static int start_simulation(struct session *s, struct err *err)
{
	const struct session_options *o = s->o;
	bool cycles = o->simulate == SIMULATE_CYCLES;
	char text[MACHINE_TEXT];

	if (o->simulate == SIMULATE_CONFLICTS) {
		s->profile.conflict_distance = s->profile.run[0].distance = o->distance;
		s->observed->conflict_distance = o->distance;
		s->simulation = simulate_conflicts(s->observed);
		return s->simulation ? 0 : err_no_memory(err, "the recording");
	}
	s->simulation = o->simulate == SIMULATE_REUSE ? simulate_reuse(s->observed, o->machine.line)
			: cycles		      ? simulate_cycles(s->observed, &o->machine)
						      : simulate_misses(s->observed, &o->machine);
	s->profile.run[0].machine =
		strdup(cycles ? machine_text_core(&o->machine, text, sizeof(text))
			      : machine_text(&o->machine, text, sizeof(text)));
	return s->simulation && s->profile.run[0].machine ? 0 : err_no_memory(err, "the recording");
}

static int prepare(struct session *s, char *const **argv, struct err *err)
{
	const struct session_options *o = s->o;
	unsigned mode = o->observe & EXACT_LINES ? o->observe : EXACT_COUNTS | o->observe;

	if (spawn_check(o->argv, err) || profile_init(&s->profile, err) ||
	    describe_run(&s->profile, "exact", o, err))
		return -1;
	s->signals = signals_open(&s->old_mask, err);
	if (s->signals < 0)
		return -1;
	s->profile.run[0].event = strdup(observed(o));
	if (!s->profile.run[0].event)
		return err_no_memory(err, "the recording");
	s->profile.method = o->sketch;
	s->profile.capacity = o->sketch_capacity;
	if (exact_samples_begin(&s->samples, &o->schedule, o->schedule_text ? o->schedule_text : "",
				&s->profile, &s->observed, err))
		return -1;
	if (o->simulate && start_simulation(s, err))
		return -1;
	if (o->custom) {
		s->simulation = o->custom->start(o->custom->arg, s->observed, err);
		if (!s->simulation)
			return -1;
	}
	s->exact = exact_open(mode, &o->lines, s->simulation, s->observed, err);
	if (!s->exact || exact_samples_start(&s->samples, s->exact, err))
		return -1;
	exact_limit_code(s->exact, (uint64_t)o->cache_kib << 10);
	*argv = exact_command(s->exact, o->argv, err);
	if (!*argv)
		return -1;
	return 0;
}

/* Makes addresses the same in each run, so that two runs touch the same lines: child processes inherit this. */
static bool fix_addresses(bool on)
{
	static int before;

	if (on)
		before = personality(0xffffffff);
	if (before >= 0 && personality((unsigned long)before | (on ? ADDR_NO_RANDOMIZE : 0)) >= 0)
		return true;
	log_warn("cannot fix addresses (personality): another run may touch other lines");
	return false;
}

/* Forks the command, which keeps the recorder's privileges; then drops them, before the recorder reads files that
 * anybody may have written, or anything that the program writes. */
static int hold(struct session *s, char *const *argv, struct err *err)
{
	bool fixed = (s->o->observe & EXACT_LINES || s->samples.sampled) && fix_addresses(true);
	int rc = spawn_hold(&s->child, argv, &s->old_mask, err);

	if (fixed)
		fix_addresses(false);
	if (rc || broker_start(&s->broker, s->child.pid, err) || privilege_drop(NULL, 0, err))
		return -1;
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit on file sizes fails with a message */
	/* nothing is written of a run that differs from the one the targets were chosen for */
	if (records(s) && (s->o->schedule.kind != SCHEDULE_TARGETED || s->o->allow_mismatch))
		s->recording = recording_create(s->o->output, err);
	if (err->code)
		return -1;
	s->started = clock_ns(CLOCK_MONOTONIC);
	checkpoint(s, err);
	return 0;
}

static int exit_status(const struct session *s)
{
	return WIFSIGNALED(s->status) ? 128 + WTERMSIG(s->status) : WEXITSTATUS(s->status);
}

int exact_session_run(const struct session_options *o, struct err *err)
{
	struct session s = { .o = o,
			     .signals = -1,
			     .broker = BROKER_NONE,
			     .child = { .pid = -1, .go = -1, .result = -1 } };
	char *const *argv = NULL;
	int rc;

	*err = (struct err){ 0 };
	signal(SIGXFSZ, SIG_IGN); /* the shared memory may exceed the limit on file sizes */
	rc = prepare(&s, &argv, err);
	signal(SIGXFSZ, SIG_DFL); /* the command inherits the default */
	if (!rc)
		rc = hold(&s, argv, err);
	if (!rc) {
		s.started = clock_ns(CLOCK_MONOTONIC);
		rc = spawn_go(&s.child, argv, err);
	}
	if (!rc) {
		loop(&s, err);
		finish(&s, err);
	}
	if (s.recording)
		recording_abandon(s.recording);
	if (rc)
		spawn_cancel(&s.child);
	broker_end(&s.broker);
	exact_close(s.exact);
	if (!o->custom)
		simulate_free(s.simulation);
	exact_samples_fini(&s.samples);
	profile_fini(&s.profile);
	close(s.signals);
	return err->code ? err->code : exit_status(&s);
}

static int wait_for_probe(pid_t pid, struct err *err)
{
	struct timespec nap = { 0, 1000000 };
	int status = 0;

	for (int i = 0; i < PROBE_MS; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status ? err_set(err, ERR_FAILED, "`true` failed: wait status 0x%x",
						(unsigned)status)
				      : 0;
		nanosleep(&nap, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return err_set(err, ERR_FAILED, "`true` did not end in %d s", PROBE_MS / 1000);
}

static int probe(struct exact *e, uint64_t *instructions, struct err *err)
{
	static char *const command[] = { "true", NULL };
	struct spawn child = { .pid = -1, .go = -1, .result = -1 };
	char *const *argv = exact_command(e, command, err);
	struct exact_totals t;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	if (!argv || spawn_hold(&child, argv, &mask, err))
		return -1;
	if (spawn_go(&child, argv, err)) {
		spawn_cancel(&child);
		return -1;
	}
	if (wait_for_probe(child.pid, err) || exact_finish(e, err))
		return -1;
	exact_totals(e, &t);
	*instructions = t.instructions;
	return t.instructions ? 0 : err_set(err, ERR_FAILED, "`true` was not observed");
}

int exact_session_probe(uint64_t *instructions, struct err *err)
{
	struct profile p;
	struct exact *e;
	int rc = -1;

	if (profile_init(&p, err))
		return -1;
	e = exact_open(EXACT_COUNTS, NULL, NULL, &p, err);
	if (e)
		rc = probe(e, instructions, err);
	exact_close(e);
	profile_fini(&p);
	return rc;
}
