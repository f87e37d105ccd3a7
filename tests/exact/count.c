/* SPDX-License-Identifier: MIT */
/*
 * Counts what a program executes, with its threads, children and what they execute, by single-stepping it:
 * the truth for small programs.
 *
 * Usage: count [-s SYMBOL] [-o FILE] [-r] COMMAND ARG…
 *   -s SYMBOL   from the first execution of this symbol of the executable (default: the entry of the program,
 *               which for a dynamic one is after the loader; "_" for the first instruction of all)
 *   -o FILE     a line "COUNT OBJECT ADDRESS TAKEN" for each instruction, sorted by the two in the middle:
 *               the file it is of and its ELF virtual address there, or "-" and its address at run time;
 *               TAKEN is how often a conditional branch jumped, "-" for all else
 *   -r          counts a repeated string instruction once for each round (default: once for each
 *               execution, as processors count retired instructions)
 * On standard error: "instructions N, addresses M". The exit status is the program's, 128 + signal.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle/step.h"

static struct step_site **all;
static size_t n_all;

static void take(void *ctx, struct step_site *s)
{
	(void)ctx;
	if (!s->count)
		return;
	all = realloc(all, (n_all + 1) * sizeof(*all));
	if (!all)
		abort();
	all[n_all++] = s;
}

static int by_place(const void *a, const void *b)
{
	const struct step_site *x = *(struct step_site *const *)a,
			       *y = *(struct step_site *const *)b;
	int c = strcmp(x->object, y->object);

	return c ? c : (x->addr > y->addr) - (x->addr < y->addr);
}

static void add_up(void)
{
	size_t n = 0;

	step_sites(take, NULL);
	if (n_all)
		qsort(all, n_all, sizeof(*all), by_place);
	for (size_t i = 0; i < n_all; i++) {
		if (n && !by_place(&all[n - 1], &all[i])) {
			all[n - 1]->count += all[i]->count;
			all[n - 1]->taken += all[i]->taken;
		} else {
			all[n++] = all[i];
		}
	}
	n_all = n;
}

static int write_counts(const char *file)
{
	FILE *f = fopen(file, "w");

	if (!f)
		return -1;
	for (size_t i = 0; i < n_all; i++) {
		const struct step_site *s = all[i];

		fprintf(f, "%lu %s %#lx ", s->count, s->object, s->addr);
		if (s->in.cls == INSN_BRANCH)
			fprintf(f, "%lu\n", s->taken);
		else
			fprintf(f, "-\n");
	}
	return fclose(f);
}

int main(int argc, char **argv)
{
	struct step_options options = { 0 };
	const char *file = NULL;
	int o, status;

	while ((o = getopt(argc, argv, "+s:o:r")) != -1) {
		if (o == 's')
			options.start = optarg;
		else if (o == 'o')
			file = optarg;
		else if (o == 'r')
			options.rounds = true;
		else
			return 2;
	}
	if (optind == argc) {
		fprintf(stderr, "usage: count [-s SYMBOL] [-o FILE] [-r] COMMAND ARG…\n");
		return 2;
	}
	status = step_run(&options, argv + optind);
	if (status < 0)
		return 125;
	add_up();
	fprintf(stderr, "instructions %lu, addresses %zu\n", step_total(), n_all);
	if (file && write_counts(file)) {
		fprintf(stderr, "count: %s: %s\n", file, strerror(errno));
		return 125;
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
