/* SPDX-License-Identifier: MIT */
/*
 * oracle_windows [--windows N] [--seed N] [--least US] [--most US] CMD…
 *
 * Runs ahead in windows of a real program, single-steps it, compares. Exit 1 on a difference that
 * no other writer of memory explains.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle/windows.h"

static const char *const stop_name[] = {
#define X(id, name, what) name,
	RA_STOPS(X)
#undef X
};

static void print_counts(const char *cmd, const struct windows_counts *n)
{
	double windows = n->windows ? (double)n->windows : 1;

	printf("%s: %" PRIu64 " windows in %" PRIu64 " runs, %" PRIu64 " (%.1f %%) full, mean "
	       "length %.2f, %" PRIu64 " cut by signals\n",
	       cmd, n->windows, n->runs, n->full, 100 * (double)n->full / windows,
	       (double)n->instructions / windows, n->cut);
	printf("%s: %" PRIu64 " instructions, %" PRIu64 " loads, %" PRIu64 " stores, %" PRIu64
	       " results; stops:",
	       cmd, n->instructions, n->loads, n->stores, n->results);
	for (int i = 0; i < RA_STOP_N; i++)
		if (n->stops[i])
			printf(" %s %" PRIu64, stop_name[i], n->stops[i]);
	printf("\n%s: %" PRIu64 " differences, %" PRIu64
	       " more explained by memory that others wrote\n",
	       cmd, n->differences, n->explained);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "windows", required_argument, NULL, 'w' },
		{ "seed", required_argument, NULL, 's' },
		{ "least", required_argument, NULL, 'l' },
		{ "most", required_argument, NULL, 'm' },
		{ NULL, 0, NULL, 0 },
	};
	struct windows_opts o = { .seed = 1, .count = 3000, .least_us = 50, .most_us = 1500 };
	struct windows_counts n = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		uint64_t v = optarg ? strtoull(optarg, NULL, 0) : 0;

		switch (c) {
		case 'w':
			o.count = v;
			break;
		case 's':
			o.seed = v;
			break;
		case 'l':
			o.least_us = (uint32_t)v;
			break;
		case 'm':
			o.most_us = (uint32_t)v;
			break;
		default:
			return 2;
		}
	}
	o.argv = argv + optind;
	if (!*o.argv || o.most_us <= o.least_us) {
		fprintf(stderr, "usage: oracle_windows [--windows N] [--seed N] CMD...\n");
		return 2;
	}
	if (windows_run(&o, &n)) {
		perror(o.argv[0]);
		return 2;
	}
	print_counts(o.argv[0], &n);
	return n.differences != 0;
}
