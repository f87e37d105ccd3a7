/* SPDX-License-Identifier: MIT */
/*
 * Runs a command under the exact engine with a program on the simulated co-processor that drops nothing, and holds what it
 * counted against what the engine counted in the same run.
 *
 * Usage: coproc edges|values|RECORDING:BEGIN:END COMMAND ARG...
 *   edges   each conditional branch: executions, and how often it jumped; each indirect one: where it went, how often
 *   values  executions of each load, of those whose values are known
 *   RECORDING:BEGIN:END  of the same command, made with --observe values and fixed addresses: each value of each load
 *           between two addresses of the command's own image (hexadecimal), how often it was loaded
 *   contexts=MISSES,CALLS,BEGIN,END  with recordings of the same command made with --observe misses and with calls: mispredictions of
 *           branches and indirect jumps, all contexts together; and that the outer call of a context calls the procedure that
 *           the inner one is in
 *   dependences=CONFLICTS,-,BEGIN,END  with one made with --observe conflicts --distance 4096: how often a load between two
 *           addresses of the command's own image met each store, of loads that always met one that wrote all of what they
 *           read. Code there has to access 8 bytes at a time, as the program takes memory
 *   sets=MISSES,REUSE,BEGIN,END  with ones made with --observe misses and with reuse: how often each instruction there missed lines
 *           that had been touched before. Its accesses have to lie within lines
 * Prints differences, then how much was compared. Exit status 1 if there is a difference, or nothing to compare.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "coproc/asm.h"
#include "exact/coprocess.h"
#include "exact/exact.h"
#include "engine/shared.h"
#include "x86/insn.h"
#include "observe/calls.h"
#include "observe/conflicts.h"
#include "observe/distances.h"
#include "observe/edges.h"
#include "observe/misses.h"
#include "sampler/spawn.h"
#include "store/recording.h"

static struct profile profile;
static struct lab lab;
static struct coprocess *process;
static unsigned differences, compared;

static void differ(struct site_id id, const char *what, uint64_t counted, uint64_t found)
{
	compared++;
	if (counted != found && ++differences < 20)
		printf("image %u 0x%" PRIx64 ": %s: counted %" PRIu64 ", found %" PRIu64 "\n",
		       id.image, id.addr, what, counted, found);
}

static int record(char *const command[], struct err *err)
{
	struct spawn child = { .pid = -1, .go = -1, .result = -1 };
	struct exact *e;
	char *const *argv;
	sigset_t mask;
	int status, rc = 0;

	sigprocmask(SIG_BLOCK, NULL, &mask);
	e = exact_open(EXACT_COUNTS, NULL, coprocess_consumer(process), &profile, err);
	argv = e ? exact_command(e, command, err) : NULL;
	if (!argv || spawn_hold(&child, argv, &mask, err) || spawn_go(&child, argv, err))
		return -1;
	while (!rc && !waitpid(child.pid, &status, WNOHANG)) {
		exact_wait(e, 20);
		rc = exact_poll(e, false, err);
	}
	rc = rc || exact_finish(e, err);
	exact_close(e);
	return rc || coprocess_end(process, err) ? -1 : 0;
}

static uint32_t pc_of(const struct site *s)
{
	return (uint32_t)(((uint64_t)s->id.image << 28) + s->id.addr);
}

static void compare_branches(void)
{
	struct site *s;

	SITES_EACH(&profile.sites, s)
	{
		const struct counted_pair *p;

		if (s->cls != INSN_BRANCH || !s->observed)
			continue;
		p = host_counts_find(&lab.of_counts, pc_of(s), 0);
		differ(s->id, "not taken", s->observed - s->taken, p ? p->n[0] : 0);
		differ(s->id, "taken", s->taken, p ? p->n[1] : 0);
	}
}

static bool is_indirect(struct site_id id)
{
	const struct site *s = profile_site_find(&profile, id);

	return s && (s->cls == INSN_IJUMP || s->cls == INSN_ICALL || s->cls == INSN_RET);
}

static void compare_edges(void)
{
	for (const struct edge *e = profile.edges; e; e = e->hh.next) {
		const struct site *from = profile_site_find(&profile, e->key.from);
		const struct site *to = profile_site_find(&profile, e->key.to);
		const struct counted_pair *p;

		if (e->key.kind != EDGE_WENT || !is_indirect(e->key.from) || !to || !e->count)
			continue;
		p = host_counts_find(&lab.of_counts, pc_of(from), pc_of(to));
		differ(e->key.from, "went", e->count, p ? p->n[1] : 0);
	}
}

/* What the truth has of a load is what ran of it. */
static void compare_loads(void)
{
	for (size_t i = 0; i < lab.truth.nload; i++) {
		const struct site *s = coprocess_site(process, lab.truth.load[i].pc);

		if (s)
			differ(s->id, "loads", s->observed, lab.truth.load[i].n);
	}
}

/* The site of the command's image in the recording. */
static struct site *same_site(struct profile *other, const struct site *s)
{
	const char *path = profile.image[s->id.image]->path;

	for (uint32_t i = 0; i < other->nimage; i++)
		if (!strcmp(other->image[i]->path, path))
			return profile_site_find(
				other, (struct site_id){ .image = i, .addr = s->id.addr });
	return NULL;
}

static uint64_t times(const struct hot *h, uint64_t value)
{
	static struct hot_value top[HOT_CAPACITY_MAX];
	unsigned n = hot_top(h, top, HOT_CAPACITY_MAX);

	for (unsigned i = 0; i < n; i++)
		if (top[i].value == value)
			return (uint64_t)top[i].count;
	return 0;
}

static int compare_values(const char *what, const char *command, struct err *err)
{
	static struct profile other;
	uint64_t begin, end;
	char path[256];

	if (sscanf(what, "%255[^:]:%" SCNx64 ":%" SCNx64, path, &begin, &end) != 3)
		return err_set(err, ERR_USAGE, "\"%s\" is no RECORDING:BEGIN:END", what);
	if (profile_init(&other, err) || recording_read(path, &other, err))
		return -1;
	for (size_t i = 0; i < lab.truth.pairs; i++) {
		const struct truth_pair *p = &lab.truth.pair[i];
		const struct site *s =
			p->load ? coprocess_site(process, lab.truth.load[p->load - 1].pc) : NULL;
		struct site *known = s ? same_site(&other, s) : NULL;

		if (!s || s->id.addr < begin || s->id.addr >= end ||
		    strcmp(profile.image[s->id.image]->path, command) != 0)
			continue;
		if (known && site_hot(known, OPERAND_LOAD) &&
		    !hot_exact(site_hot(known, OPERAND_LOAD)))
			continue;
		differ(s->id, "value", p->n,
		       known && site_hot(known, OPERAND_LOAD)
			       ? times(site_hot(known, OPERAND_LOAD), p->value)
			       : 0);
	}
	profile_fini(&other);
	return 0;
}

static uint32_t pc_in(const struct site_id *id, const struct profile *other)
{
	const char *path = other->image[id->image]->path;

	for (uint32_t i = 0; i < profile.nimage; i++)
		if (!strcmp(profile.image[i]->path, path))
			return (uint32_t)(((uint64_t)i << 28) + id->addr);
	return 0;
}

static int read_other(const char *path, struct profile *other, struct err *err)
{
	return profile_init(other, err) || recording_read(path, other, err) ? -1 : 0;
}

static uint64_t clashes(void)
{
	return copro_read_index(&lab.c, program_index(lab.o.program, "keep_clashes"));
}

static uint64_t all_counted(void)
{
	uint64_t sum = clashes();

	for (const struct counted_pair *p = lab.of_counts.pairs; p; p = p->hh.next)
		sum += p->n[0];
	return sum;
}

static uint64_t mispredicted(const struct profile *other)
{
	const struct site *s;
	const struct misses *m;
	uint64_t sum = 0;

	MISSES_EACH(other, s, m)
	{
		if (s->cls == INSN_BRANCH || s->cls == INSN_IJUMP)
			sum += m->n[MISS_MISPREDICTED];
	}
	return sum;
}

static const struct profile_proc *procedure(const struct profile *other, struct site_id at)
{
	const struct profile_image *pi = other->image[at.image];

	for (size_t i = 0; i < pi->nproc; i++)
		if (at.addr >= pi->proc[i].start && at.addr < pi->proc[i].end)
			return &pi->proc[i];
	return NULL;
}

/* Whether control can leave the procedure for another one without a call: then calls do not tell who runs. */
static bool jumps_out(const struct profile *other, uint32_t image, const struct profile_proc *proc)
{
	const struct site *s;

	SITES_EACH(&other->sites, s)
	{
		if (s->id.image != image || s->id.addr < proc->start || s->id.addr >= proc->end)
			continue;
		if (s->cls == INSN_IJUMP || (s->target && s->cls != INSN_CALL &&
					     (s->target < proc->start || s->target >= proc->end)))
			return true;
	}
	return false;
}

/* Whether the call at pc was observed to call the procedure that the call at `inner` is in, or one that may have jumped
 * there. */
static bool calls_into(const struct profile *other, uint32_t pc, uint32_t inner)
{
	const struct profile_proc *within = NULL;

	for (const struct call *c = other->calls; c && !within; c = c->hh.next)
		if (pc_in(&c->key.from, other) == inner)
			within = procedure(other, c->key.from);
	if (!within)
		return true; /* an image without procedures */
	for (const struct call *c = other->calls; c; c = c->hh.next)
		if (pc_in(&c->key.from, other) == pc) {
			const struct profile_proc *to = procedure(other, c->key.to);

			if (!to || to == within || jumps_out(other, c->key.to.image, to))
				return true;
		}
	return false;
}

static int compare_contexts(const char *misses, const char *calls, struct err *err)
{
	static struct profile of_misses, of_calls;

	if (read_other(misses, &of_misses, err) || read_other(calls, &of_calls, err))
		return -1;
	differ(EDGE_OUTSIDE, "mispredictions", all_counted(), mispredicted(&of_misses));
	for (const struct counted_pair *p = lab.of_counts.pairs; p; p = p->hh.next) {
		const struct site *inner = coprocess_site(process, p->key.first);

		if (p->key.second && inner)
			differ(inner->id, "called from there", 1,
			       calls_into(&of_calls, (uint32_t)p->key.second,
					  (uint32_t)p->key.first));
	}
	profile_fini(&of_misses);
	profile_fini(&of_calls);
	return 0;
}

/* Whether the load met a store that wrote all of it each time. */
static bool always_full(const struct profile *other, struct site_id load)
{
	for (const struct conflict *c = other->conflicts; c; c = c->hh.next)
		if (c->count && !site_id_order(c->key.load, load) &&
		    (c->key.kind == CONFLICT_NONE || c->key.kind == CONFLICT_PARTIAL))
			return false;
	return true;
}

/* What is compared: code of the command's own image. */
static struct range {
	const char *image;
	uint64_t begin, end;
} range;

static bool in_range(const struct profile *other, struct site_id at)
{
	return at.addr >= range.begin && at.addr < range.end &&
	       !strcmp(other->image[at.image]->path, range.image);
}

static int compare_dependences(const char *path, const char *unused, struct err *err)
{
	static struct profile other;

	(void)unused;
	if (read_other(path, &other, err))
		return -1;
	for (const struct conflict *c = other.conflicts; c; c = c->hh.next) {
		const struct counted_pair *p;

		if (c->key.kind != CONFLICT_FULL || !in_range(&other, c->key.load) ||
		    !always_full(&other, c->key.load))
			continue;
		p = host_counts_find(&lab.of_counts, pc_in(&c->key.load, &other),
				     pc_in(&c->key.store, &other));
		differ(c->key.load, "met", c->count, p ? p->n[0] : 0);
	}
	profile_fini(&other);
	return 0;
}

/* Of an instruction, in all sets. */
static uint64_t missed_again(uint32_t pc)
{
	uint64_t sum = 0;

	for (const struct counted_pair *p = lab.of_counts.pairs; p; p = p->hh.next)
		sum += p->key.first == pc ? p->n[0] : 0;
	return sum;
}

/* Lines that the instruction at pc touched first. */
static uint64_t first_touches(const struct profile *reuse, uint32_t pc)
{
	for (const struct site_distances *d = reuse->site_distances; d; d = d->hh.next)
		if (pc_in(&d->key, reuse) == pc)
			return d->cold;
	return 0;
}

static int compare_sets(const char *misses, const char *reuse, struct err *err)
{
	static struct profile of_misses, of_reuse;
	const struct site *s;
	const struct misses *m;

	if (read_other(misses, &of_misses, err) || read_other(reuse, &of_reuse, err))
		return -1;
	MISSES_EACH(&of_misses, s, m)
	{
		uint32_t pc = pc_in(&s->id, &of_misses);

		if (in_range(&of_misses, s->id) && m->n[MISS_ACCESSES])
			differ(s->id, "missed again", m->n[MISS_L1D] - first_touches(&of_reuse, pc),
			       missed_again(pc));
	}
	profile_fini(&of_misses);
	profile_fini(&of_reuse);
	return 0;
}

/* Programs of counts against recordings: their names, and what to define so that nothing is left out. */
static const struct oracle {
	const char *program, *define;
	int (*compare)(const char *first, const char *second, struct err *err);
} oracles[] = {
	{ "contexts", "DEPTH=1024", compare_contexts },
	{ "dependences", NULL, compare_dependences },
	{ "sets", "SOON=2147483647", compare_sets },
};

/* FIRST,SECOND,BEGIN,END */
static int compare_recordings(const char *text, const char *command, const struct oracle *o,
			      struct err *err)
{
	char first[256], second[256];

	range.image = command;
	if (sscanf(text, "%255[^,],%255[^,],%" SCNx64 ",%" SCNx64, first, second, &range.begin,
		   &range.end) != 4)
		return err_set(err, ERR_USAGE, "\"%s\" is no FIRST,SECOND,BEGIN,END", text);
	return o->compare(first, second, err);
}

/* PROGRAM=FILES COMMAND...: on a large machine, timed. */
static int against_recordings(const struct oracle *oracle, char *files, char **command,
			      struct err *err)
{
	struct lab_options o = { .spec = spec_default, .period = 1000 };
	static struct machine machine;
	struct program *p;

	o.spec.buffer = 1 << 25;
	o.spec.latency = 0;
	o.spec.entries = 16384;
	o.spec.data = 65536;
	p = asm_file(oracle->program, &o.spec, &oracle->define, oracle->define ? 1 : 0, err);
	o.program = p;
	machine_this(&machine);
	if (!p || lab_init(&lab, &o, err) || profile_init(&profile, err))
		return -1;
	process = coprocess_new(&lab, &profile, &machine, err);
	if (!process || record(command, err))
		return -1;
	if (lab.f.n.dropped)
		return err_set(err, ERR_FAILED, "samples were dropped");
	return compare_recordings(files, command[0], oracle, err);
}

static int result(void)
{
	printf("compared %u, differences %u\n", compared, differences);
	return differences || !compared ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct lab_options o = { .spec = spec_default, .period = 1000 };
	struct program *p = NULL;
	struct err err = { 0 };

	if (argc < 3)
		return 2;
	for (unsigned i = 0; i < sizeof(oracles) / sizeof(oracles[0]); i++) {
		size_t n = strlen(oracles[i].program);

		if (strncmp(argv[1], oracles[i].program, n) != 0 || argv[1][n] != '=')
			continue;
		if (against_recordings(&oracles[i], argv[1] + n + 1, argv + 2, &err))
			goto failed;
		return result();
	}
	o.spec.buffer = 1 << 25; /* more than a description may say: nothing is to be dropped */
	o.spec.latency = 0;
	o.study = strcmp(argv[1], "edges") != 0;
	p = asm_file(o.study ? "values" : "edges", &o.spec, NULL, 0, &err);
	o.program = p;
	if (!p || lab_init(&lab, &o, &err) || profile_init(&profile, &err))
		goto failed;
	process = coprocess_new(&lab, &profile, NULL, &err);
	if (!process || record(argv + 2, &err))
		goto failed;
	if (lab.f.n.dropped && !o.study) {
		printf("%" PRIu64 " samples were dropped\n", lab.f.n.dropped);
		return 1;
	}
	if (o.study && strcmp(argv[1], "values") != 0) {
		if (compare_values(argv[1], argv[2], &err))
			goto failed;
	} else if (o.study) {
		compare_loads();
	} else {
		compare_branches();
		compare_edges();
	}
	return result();
failed:
	printf("%s\n", err.msg);
	return 2;
}
