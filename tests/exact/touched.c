/* SPDX-License-Identifier: MIT */
/*
 * Which lines of memory a program touches, by its own accesses in order, and which lines of code it executes: what
 * recordings of working sets are held against where single steps (lines.c) take too long. The engine gives each access
 * of each instruction (EXACT_ORDER, which tests/exact/order.t holds against single steps), this program makes sets of
 * them and cuts these at instructions; what is unmapped it sees as a tracer of system calls. Nothing of what marks lines
 * has a part in that.
 *
 * Usage: touched [-l LINE] -e ENDS -o FILE COMMAND ARG…
 *   ENDS  a file with the counts of instructions at which intervals end
 *   FILE  gets a line for each: the end, how many lines of data, of code
 * The engine, assay-exact, has to lie beside this program. One process, one thread.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact/exact.h"
#include "exact/order.h"
#include "engine/shared.h"
#include "sampler/spawn.h"

#define PAGE 4096ull

static void die(const char *what)
{
	fprintf(stderr, "touched: %s\n", what);
	exit(125);
}

/* Lines, each with the interval that touched it last: a table with open addressing. */

struct set {
	struct {
		uint64_t line; /* + 1; 0: free */
		uint32_t in;   /* the interval, from 1; 0: none */
	} * slot;
	size_t room, used;
	uint64_t now; /* lines of the interval at hand */
};

static size_t place_of(const struct set *s, uint64_t line)
{
	size_t i = (size_t)((line * 0x9e3779b97f4a7c15ull) >> 20) & (s->room - 1);

	while (s->slot[i].line && s->slot[i].line != line + 1)
		i = (i + 1) & (s->room - 1);
	return i;
}

static void widen(struct set *s)
{
	struct set old = *s;

	s->room = old.room ? 2 * old.room : 1u << 16;
	s->slot = calloc(s->room, sizeof(*s->slot));
	if (!s->slot)
		die("out of memory");
	for (size_t i = 0; i < old.room; i++)
		if (old.slot[i].line)
			s->slot[place_of(s, old.slot[i].line - 1)] = old.slot[i];
	free(old.slot);
}

static void touch(struct set *s, uint64_t line, uint32_t interval)
{
	size_t i;

	if (2 * s->used >= s->room)
		widen(s);
	i = place_of(s, line);
	if (!s->slot[i].line) {
		s->slot[i].line = line + 1;
		s->used++;
	}
	if (s->slot[i].in != interval)
		s->now++;
	s->slot[i].in = interval;
}

static void forget(struct set *s, uint64_t from, uint64_t to, uint32_t interval)
{
	for (size_t i = 0; i < s->room; i++)
		if (s->slot[i].in == interval && s->slot[i].line > from && s->slot[i].line <= to) {
			s->slot[i].in = 0;
			s->now--;
		}
}

/* What is unmapped, and before which instruction: known before the accesses around it are. */
struct unmapped {
	uint64_t at, from, to; /* addresses */
};

static struct {
	unsigned shift;
	struct set data, code;
	uint32_t interval;
	uint64_t begin, end; /* of the interval, in instructions */
	bool began;	     /* it has had an event */
	uint64_t line;	     /* of code, where control is; UINT64_MAX: not yet */
	uint64_t now;	     /* instructions before the event at hand */
	FILE *ends, *out;
	struct unmapped *v;
	size_t n, room, done;
	unsigned threads;
} t = { .shift = 6, .interval = 1, .line = UINT64_MAX };

static void next_end(void)
{
	unsigned long end;

	t.end = fscanf(t.ends, "%lu", &end) == 1 ? end : UINT64_MAX;
}

/* Control is where it was when the interval began, unless its first instruction, entering a line, says otherwise. */
static void begin(const struct order_event *e)
{
	const struct site *s = e ? e->site : NULL;

	if (!t.began && t.line != UINT64_MAX &&
	    !(s && e->kind == ORDER_FETCH && t.now == t.begin && e->at % PAGE == s->id.addr % PAGE))
		touch(&t.code, t.line, t.interval);
	t.began = true;
}

static void cut(uint64_t at)
{
	begin(NULL);
	fprintf(t.out, "%lu %lu %lu\n", (unsigned long)at, (unsigned long)t.data.now,
		(unsigned long)t.code.now);
	t.interval++;
	t.data.now = t.code.now = 0;
	t.begin = at;
	t.began = false;
	next_end();
}

/* All that happened before instruction `now`; at the same one, unmapping is before the interval's end. */
static void advance(uint64_t now)
{
	for (;;) {
		const struct unmapped *u = t.done < t.n ? &t.v[t.done] : NULL;

		if (u && u->at <= now && u->at <= t.end) {
			forget(&t.data, u->from >> t.shift, u->to >> t.shift, t.interval);
			t.done++;
		} else if (t.end <= now) {
			cut(t.end);
		} else {
			return;
		}
	}
}

/* The consumer. */

static void *site_of(void *arg, struct site *s)
{
	(void)arg;
	return s;
}

static void *process_of(void *arg, uint32_t pid)
{
	(void)pid;
	return arg;
}

static void *thread_of(void *arg, void *process)
{
	(void)arg;
	if (t.threads++)
		die("more than one thread");
	return process;
}

static void ends(void *arg, void *what)
{
	(void)arg;
	(void)what;
}

static int take(void *arg, void *thread, const struct order_event *e, size_t n)
{
	(void)arg;
	(void)thread;
	for (const struct order_event *end = e + n; e < end; e++) {
		t.now += (uint32_t)(e->now - (uint32_t)t.now);
		if (t.now >= t.end || t.done < t.n)
			advance(t.now);
		if (!t.began)
			begin(e);
		if (e->kind == ORDER_FETCH) {
			t.line = e->at >> t.shift;
			touch(&t.code, t.line, t.interval);
		} else if (e->size) {
			for (uint64_t l = e->at >> t.shift; l <= (e->at + e->size - 1) >> t.shift;
			     l++)
				touch(&t.data, l, t.interval);
		}
	}
	return 0;
}

/* The tracer. */

static uint64_t instructions(struct exact *e)
{
	struct exact_totals totals;
	struct err err;

	if (exact_poll(e, true, &err))
		die(err.msg);
	exact_totals(e, &totals);
	return totals.instructions;
}

/* Whole pages. */
static void add_unmapped(struct exact *e, uint64_t from, uint64_t bytes)
{
	if (t.n == t.room) {
		t.room = t.room ? 2 * t.room : 64;
		t.v = realloc(t.v, t.room * sizeof(*t.v));
		if (!t.v)
			die("out of memory");
	}
	from = (from + PAGE - 1) & ~(PAGE - 1);
	t.v[t.n++] = (struct unmapped){ instructions(e), from,
					from + ((bytes + PAGE - 1) & ~(PAGE - 1)) };
}

/* The system call has returned: the engine's own, too, which unmap nothing that the program touches. */
static void after_call(struct exact *e, uint64_t nr, const uint64_t *arg, uint64_t ret)
{
	static uint64_t brk;

	switch (nr) {
	case SYS_munmap:
		add_unmapped(e, arg[0], arg[1]);
		break;
	case SYS_mmap:
		if (arg[3] & MAP_FIXED)
			add_unmapped(e, ret, arg[1]);
		break;
	case SYS_mremap:
		if (ret != arg[0])
			add_unmapped(e, arg[0], arg[1]);
		else if (arg[2] < arg[1])
			add_unmapped(e, arg[0] + arg[2], arg[1] - arg[2]);
		break;
	case SYS_brk:
		if (ret < brk) {
			uint64_t from = (ret + PAGE - 1) & ~(PAGE - 1);

			add_unmapped(e, from, brk > from ? brk - from : 0);
		}
		brk = instructions(e) ? ret : 0; /* not the engine's own end of data */
		break;
	default:
		break;
	}
}

/* A stop of the traced program: false if it has ended. */
static bool stopped(struct exact *e, pid_t pid, int status)
{
	static struct __ptrace_syscall_info entry;
	struct __ptrace_syscall_info i;
	int sig = 0;

	if (!WIFSTOPPED(status))
		return false;
	if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
		if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(i), &i) <= 0)
			die("no PTRACE_GET_SYSCALL_INFO");
		if (i.op == PTRACE_SYSCALL_INFO_ENTRY)
			entry = i;
		else if (i.op == PTRACE_SYSCALL_INFO_EXIT && !i.exit.is_error)
			after_call(e, entry.entry.nr, (const uint64_t *)entry.entry.args,
				   (uint64_t)i.exit.rval);
	} else if (!(status >> 16)) {
		sig = WSTOPSIG(status);
	}
	if (ptrace(PTRACE_SYSCALL, pid, 0, sig))
		die("the program does not go on");
	return true;
}

static void interrupt(int sig)
{
	(void)sig; /* so that exact_wait returns */
}

static void record(char *const command[])
{
	struct order_consumer c = { .arg = &t,
				    .kinds = ORDER_ACCESSES | 1u << ORDER_FETCH,
				    .shift = t.shift,
				    .site = site_of,
				    .process = process_of,
				    .thread = thread_of,
				    .take = take,
				    .thread_end = ends,
				    .process_end = ends };
	struct sigaction child_stops = { .sa_handler = interrupt };
	struct spawn child = { .pid = -1, .go = -1, .result = -1 };
	struct err err = { 0 };
	struct profile p;
	struct exact *e;
	char *const *argv;
	sigset_t mask;
	int status;

	personality(
		ADDR_NO_RANDOMIZE); /* as for recordings of working sets: addresses are theirs */
	sigaction(SIGCHLD, &child_stops, NULL);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	e = profile_init(&p, &err) ? NULL : exact_open(EXACT_COUNTS, NULL, &c, &p, &err);
	argv = e ? exact_command(e, command, &err) : NULL;
	if (!argv || spawn_hold(&child, argv, &mask, &err))
		die(err.msg);
	if (ptrace(PTRACE_SEIZE, child.pid, 0,
		   PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		die("cannot trace it");
	if (spawn_go(&child, argv, &err))
		die(err.msg);
	for (;;) {
		pid_t pid = waitpid(child.pid, &status, WNOHANG | __WALL);

		if (pid == child.pid && !stopped(e, pid, status))
			break;
		if (!pid)
			exact_wait(e, 1);
		if (exact_poll(e, false, &err))
			die(err.msg);
	}
	if (exact_finish(e, &err))
		die(err.msg);
	advance(instructions(e) - 1);
	cut(instructions(e));
	exact_close(e);
	profile_fini(&p);
}

int main(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "+l:e:o:")) != -1) {
		if (c == 'l')
			t.shift = (unsigned)__builtin_ctzl(strtoul(optarg, NULL, 0));
		else if (c == 'e')
			t.ends = fopen(optarg, "r");
		else if (c == 'o')
			t.out = fopen(optarg, "w");
		else
			return 125;
	}
	if (optind >= argc || !t.ends || !t.out)
		return 125;
	next_end();
	record(argv + optind);
	return fclose(t.out) ? 125 : 0;
}
