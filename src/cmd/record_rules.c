/* SPDX-License-Identifier: MIT */
/* Which options of `assay record` go together: a table of observers, and one of rules. */
#include <string.h>

#include "cmd/record_priv.h"
#include "cmd/verbs.h"
#include "engine/shared.h"
#include "observe/conflicts.h"

static const struct record_observer observers[] = {
	{ .name = "counts", .part = 50 },
	{ .name = "addresses", .observe = EXACT_ADDRESSES, .part = 400 },
	{ .name = "values", .observe = EXACT_ADDRESSES | EXACT_VALUES, .part = 4000 },
	{ .name = "calls", .observe = EXACT_CALLS, .part = 100 },
	{ .name = "conflicts", .simulate = SIMULATE_CONFLICTS, .part = 2500 },
	{ .name = "lines",
	  .observe = EXACT_LINES,
	  .whole = "working sets",
	  .interval = 1e7,
	  .snapshots = 128 },
	{ .name = "reuse", .simulate = SIMULATE_REUSE, .whole = "reuse distances" },
	{ .name = "misses", .simulate = SIMULATE_MISSES, .part = 6000, .warms = true },
	{ .name = "cycles", .simulate = SIMULATE_CYCLES, .part = 12000, .warms = true },
	{ .name = "phases",
	  .observe = EXACT_PHASES,
	  .whole = "phases",
	  .interval = 2e4,
	  .snapshots = 1000 },
};

const struct record_observer *record_observer(void)
{
	const struct record_observer *o = observers;

	while (record_given.exact && strcmp(o->name, record_given.observe))
		o++;
	return o;
}

bool record_has_policy(void)
{
	return strcmp(record_given.policy, "default") != 0;
}

/* What a recording is asked to be. */
enum {
	EXACT = 1 << 0,
	REUSE = 1 << 1,	  /* --reuse */
	PGO = 1 << 2,	  /* --pgo */
	SLOTS = 1 << 3,	  /* --policy slots */
	SHARED = 1 << 4,  /* -a, --cgroup: the machine, or a part of it */
	COMMAND = 1 << 5, /* a command is given */
	/* exact recordings, by what their observer has */
	LINES = 1 << 6,
	INTERVALS = 1 << 7,
	WARMED = 1 << 8,
	MACHINE = 1 << 9, /* a simulated machine */
};

static unsigned asked(int argc)
{
	const struct record_given *g = &record_given;
	const struct record_observer *o = record_observer();
	unsigned is = 0;

	is |= g->exact ? EXACT : 0;
	is |= g->reuse ? REUSE : 0;
	is |= g->pgo ? PGO : 0;
	is |= record_has_policy() ? SLOTS : 0;
	is |= g->all || g->cgroup ? SHARED : 0;
	is |= argc ? COMMAND : 0;
	is |= o->observe & EXACT_LINES ? LINES : 0;
	is |= o->snapshots ? INTERVALS : 0;
	is |= o->warms ? WARMED : 0;
	is |= o->warms || o->simulate == SIMULATE_REUSE ? MACHINE : 0;
	return is;
}

/* `refusal` and `hint` are formats of the option's name and of half the rate. */
struct rule {
	unsigned when, clashes, needs;
	const char *refusal, *hint;
	const void *option[9];
};

/* A recording that is one cannot be the other. */
#define CLASH(one, other, refusal, hint) \
	{ \
		one, other, 0, refusal, hint, \
		{ \
			NULL \
		} \
	}
/* These options are refused in such recordings; or in all but such recordings. */
#define REFUSED(in, refusal, hint, ...) \
	{ \
		0, in, 0, refusal, hint, \
		{ \
			__VA_ARGS__ \
		} \
	}
#define ONLY(in, refusal, hint, ...) \
	{ \
		0, 0, in, refusal, hint, \
		{ \
			__VA_ARGS__ \
		} \
	}
#define CHOOSE "leave one of them out"
#define ALONE "--exact runs a command itself, from beginning to end"
#define ALONE_HINT "assay record --exact -- CMD; without --exact for -p, -t, -a and -d"

static const struct rule rules[] = {
	CLASH(SLOTS, EXACT, "--policy slots passes over windows, which --exact has none of",
	      CHOOSE),
	CLASH(SLOTS, REUSE, "--policy slots passes over windows, which --reuse needs all of",
	      CHOOSE),
	CLASH(SLOTS, PGO, "--policy slots passes over windows, which --pgo keeps no values of",
	      CHOOSE),
	REFUSED(EXACT, "--budget passes over windows, which --exact has none of", CHOOSE,
		GIVEN(budget)),
	REFUSED(REUSE, "--budget passes over windows, which --reuse needs all of", CHOOSE,
		GIVEN(budget)),
	REFUSED(PGO, "--budget passes over windows, which --pgo keeps all of", CHOOSE,
		GIVEN(budget)),
	REFUSED(SLOTS, "--budget passes over windows, which --policy slots chooses", CHOOSE,
		GIVEN(budget)),
	ONLY(SHARED, "--budget is for -a and --cgroup",
	     "a lower rate costs a program less: -F %2$g", GIVEN(budget)),
	REFUSED(EXACT, "--%s is the sampler's", "--exact --observe calls counts who calls whom",
		GIVEN(stacks), GIVEN(no_stacks), GIVEN(call_graph)),
	CLASH(EXACT, REUSE, "--reuse is the sampler's",
	      "--exact --observe reuse keeps reuse distances exactly"),
	CLASH(EXACT, PGO, "--pgo is the sampler's", "--exact counts all branches: leave --pgo out"),
	REFUSED(PGO, "--%s is of values, of which --pgo keeps none", "leave it out, or --pgo",
		GIVEN(capacity), GIVEN(sketch), GIVEN(distance), GIVEN(reuse)),
	REFUSED(EXACT, "--%s is the sampler's", "leave it out, or --exact", GIVEN(rate),
		GIVEN(burst), GIVEN(event), GIVEN(ring_mib), GIVEN(code_kuops),
		GIVEN(neighbourhood)),
	ONLY(EXACT, "--%s is for --exact", "assay record --exact --%s ... -- CMD", GIVEN(observe),
	     GIVEN(cache_kib), GIVEN(schedule), GIVEN(sample_size), GIVEN(warmup_size),
	     GIVEN(sample_period), GIVEN(skip), GIVEN(allow_mismatch)),
	ONLY(LINES, "--%s is for --exact --observe lines", "working sets are recorded by that",
	     GIVEN(line), GIVEN(interval_unit), GIVEN(lines_how), GIVEN(kernel_buffers)),
	ONLY(INTERVALS, "--%s is for --exact --observe lines or phases", "these observe intervals",
	     GIVEN(interval), GIVEN(snapshots)),
	ONLY(WARMED, "--warming is for --exact --observe misses or cycles",
	     "nothing else has a state to be warmed up", GIVEN(warming)),
	ONLY(MACHINE, "--%s is for --exact --observe misses, cycles or reuse", "these simulate one",
	     GIVEN(machine)),
	REFUSED(EXACT, ALONE, ALONE_HINT, GIVEN(pids), GIVEN(tid), GIVEN(all), GIVEN(cgroup),
		GIVEN(seconds)),
	{ EXACT, 0, COMMAND, ALONE, ALONE_HINT, { NULL } },
};

static int check_rule(const struct rule *r, unsigned is, struct err *err)
{
	const char *name = r->option[0] ? opt_given(&cmd_record, r->option) : "";

	if ((r->when && !(is & r->when)) || !name ||
	    (!(is & r->clashes) && (is & r->needs || !r->needs)))
		return 0;
	err_set(err, ERR_USAGE, r->refusal, name);
	return err_hint(err, r->hint, name, record_given.rate / 2);
}

/* --call-graph is -g or --no-stacks. What follows a comma, as in dwarf,8192, is perf's business. */
static int read_call_graph(struct err *err)
{
	static const struct {
		const char *method;
		bool *means;
	} methods[] = {
		{ "dwarf", &record_given.stacks },
		{ "fp", &record_given.stacks },
		{ "no", &record_given.no_stacks },
		{ "none", &record_given.no_stacks },
	};
	const char *call_graph = record_given.call_graph;
	size_t n = call_graph ? strcspn(call_graph, ",") : 0;

	if (!call_graph)
		return 0;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strlen(methods[i].method) == n && !strncmp(call_graph, methods[i].method, n)) {
			*methods[i].means = true;
			return 0;
		}
	if (!strncmp(call_graph, "lbr", 3))
		err_set(err, ERR_USAGE,
			"--call-graph lbr: call stacks are not taken from the CPU's branch records "
			"here, which are short and which many machines lack");
	else
		err_set(err, ERR_USAGE, "--call-graph %s is none of dwarf, fp, no", call_graph);
	return err_hint(err, "leave it out: call stacks are recorded anyway, by unwind information "
			     "and frame pointers");
}

static int check_targets(int argc, struct err *err)
{
	const struct record_given *g = &record_given;
	int n = (g->pids.n != 0) + (g->tid != 0) + (g->cgroup || g->all || argc > 0);

	if (n == 0) {
		err_set(err, ERR_USAGE, "nothing to record");
		return err_hint(err,
				"give a command (assay record -- CMD), or -p PID, -t TID, --cgroup "
				"NAME, or -a");
	}
	if (n > 1 || (g->all && g->cgroup)) {
		err_set(err, ERR_USAGE,
			"-p, -t, -a, --cgroup and a command exclude each other (but -a -- CMD and "
			"--cgroup NAME -- CMD record while CMD runs)");
		return err_hint(err, "give one of them; -d S ends a recording after S seconds");
	}
	if (g->no_children && !g->pids.n) {
		err_set(err, ERR_USAGE, "--no-children is for -p");
		return err_hint(err, "leave it out, or attach to a process: assay record -p PID");
	}
	return 0;
}

static int check_numbers(struct err *err)
{
	const struct record_given *g = &record_given;

	if (g->line & (g->line - 1)) {
		err_set(err, ERR_USAGE, "--line is %u, no power of two", g->line);
		return err_hint(err, "for instance 64");
	}
	if (g->snapshots % 2) {
		err_set(err, ERR_USAGE,
			"--snapshots is %u, no even number: they are merged by twos", g->snapshots);
		return err_hint(err, "--snapshots %u", g->snapshots + 1);
	}
	if (record_observer()->simulate == SIMULATE_CONFLICTS && !g->distance) {
		err_set(err, ERR_USAGE, "--observe conflicts with --distance 0 observes none");
		return err_hint(err, "for instance --distance %d", CONFLICT_DISTANCE_DEFAULT);
	}
	if (g->ring_mib & (g->ring_mib - 1)) {
		err_set(err, ERR_USAGE, "--ring is %u, no power of two", g->ring_mib);
		return err_hint(err, "for instance 16 or 64");
	}
	return 0;
}

int record_check(int argc, struct err *err)
{
	unsigned is = asked(argc);

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (check_rule(&rules[i], is, err))
			return -1;
	if (read_call_graph(err))
		return -1;
	if (record_given.stacks && record_given.no_stacks) {
		err_set(err, ERR_USAGE, "-g and --no-stacks exclude each other");
		return err_hint(err,
				"give one of them, or neither: call stacks are recorded anyway");
	}
	if (!record_given.exact && check_targets(argc, err))
		return -1;
	return check_numbers(err);
}
