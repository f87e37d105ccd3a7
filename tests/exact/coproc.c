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
 * Prints differences, then how much was compared. Exit status 1 if there is a difference, or nothing to compare.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "coproc/asm.h"
#include "dbi/coprocess.h"
#include "dbi/exact.h"
#include "dbi/shared.h"
#include "isa/insn.h"
#include "observe/edges.h"
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
		if (known && known->operand[OPERAND_LOAD] &&
		    !hot_exact(known->operand[OPERAND_LOAD]))
			continue;
		differ(s->id, "value", p->n,
		       known && known->operand[OPERAND_LOAD]
			       ? times(known->operand[OPERAND_LOAD], p->value)
			       : 0);
	}
	profile_fini(&other);
	return 0;
}

int main(int argc, char **argv)
{
	struct lab_options o = { .spec = spec_default, .period = 1000 };
	struct program *p = NULL;
	struct err err = { 0 };

	if (argc < 3)
		return 2;
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
	printf("compared %u, differences %u\n", compared, differences);
	return differences || !compared ? 1 : 0;
failed:
	printf("%s\n", err.msg);
	return 2;
}
