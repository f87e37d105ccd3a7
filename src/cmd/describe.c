/* SPDX-License-Identifier: MIT */
#include "cmd/describe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "cpu/cpu.h"
#include "cpu/memory.h"
#include "cpu/penalties.h"

uint64_t describe_usage_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * 1000u;
}

/* The name of a process or thread, or "?". */
static void write_name(FILE *to, unsigned pid)
{
	char path[64], name[64] = "?";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (f) {
		if (!fgets(name, sizeof(name), f))
			strcpy(name, "?");
		fclose(f);
	}
	name[strcspn(name, "\n")] = 0;
	fputs(name, to);
}

static void write_targets(FILE *to, const char *option, const struct opt_uints *list)
{
	fputs(option, to);
	for (size_t i = 0; i < list->n; i++)
		fprintf(to, "%c%u", i ? ',' : ' ', list->at[i]);
	for (size_t i = 0; i < list->n; i++) {
		fputs(i ? ", " : " (", to);
		write_name(to, list->at[i]);
	}
	fputc(')', to);
}

/* Returns the option with processes and their names, such as "-p 1234,1240 (nginx, postgres)"; NULL without memory. */
static char *targets_text(const char *option, const struct opt_uints *list)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	write_targets(f, option, list);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static char *command_text(const struct session_options *o)
{
	unsigned tid = (unsigned)o->tid;
	char *text;

	if (o->cgroup)
		return asprintf(&text, "--cgroup %s", o->cgroup) < 0 ? NULL : text;
	if (o->argv && o->all) {
		char *command = fmt_shell_quote(o->argv);
		int n = command ? asprintf(&text, "-a -- %s", command) : -1;

		free(command);
		return n < 0 ? NULL : text;
	}
	if (o->argv)
		return fmt_shell_quote(o->argv);
	if (tid)
		return targets_text("-t", &(struct opt_uints){ &tid, 1 });
	return o->pids->n ? targets_text("-p", o->pids) : strdup("-a");
}

#define CLOCK_ROUNDS 500
#define CLOCK_CHAIN 100 /* length of a chain of additions */

/* A chain of additions takes a cycle each on any CPU: several that take microseconds are timed, and
 * the quickest counts. */
uint64_t describe_clock(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 32; i++) {
		uint64_t start = clock_ns(CLOCK_MONOTONIC), sum = 1, n = CLOCK_ROUNDS;

		__asm__ volatile("1:\n\t"
				 ".rept %c[chain]\n\t"
				 "add %[one], %[sum]\n\t"
				 ".endr\n\t"
				 "dec %[n]\n\t"
				 "jnz 1b"
				 : [sum] "+r"(sum), [n] "+r"(n)
				 : [one] "r"(1ul), [chain] "i"(CLOCK_CHAIN)
				 : "cc");
		start = clock_ns(CLOCK_MONOTONIC) - start;
		if (start && start < best)
			best = start;
	}
	best = CLOCK_ROUNDS * CLOCK_CHAIN * 1000000000ul / best;
	return best >= 100000000 && best <= RUN_CLOCK_MAX ? best : 0;
}

void describe_memory(struct run *r)
{
	const struct machine_level *second = &culprit_machine(r->cpu)->data[1];
	struct cpu_memory m;

	if (!cpu_memory_measure(&m, (uint64_t)second->room << MACHINE_LINE))
		return;
	r->n.memory_measured = 1;
	r->n.near_ps = (uint64_t)(m.near * 1000);
	r->n.far_ps = (uint64_t)(m.far * 1000);
	r->n.near_line_ps = (uint64_t)(m.near_line * 1000);
	r->n.far_line_ps = (uint64_t)(m.far_line * 1000);
	r->n.page_walk_ps = (uint64_t)(m.walk * 1000);
	r->n.refills = (uint64_t)(m.refills * 1000);
}

int describe_run(struct profile *p, const char *source, const struct session_options *o,
		 struct err *err)
{
	struct run *r = profile_run(p);
	struct utsname u;

	uname(&u);
	if (!r)
		return err_no_memory(err, "the description of the run");
	r->source = strdup(source);
	r->command = command_text(o);
	r->host = strdup(u.nodename);
	r->kernel = strdup(u.release);
	r->cpu = cpu_name();
	r->version = strdup(ASSAY_VERSION);
	r->started = (uint64_t)time(NULL);
	r->sketch = o->sketch;
	r->sketch_capacity = o->sketch_capacity;
	if (!r->source || !r->command || !r->host || !r->kernel || !r->cpu || !r->version)
		return err_no_memory(err, "the description of the run");
	return 0;
}
