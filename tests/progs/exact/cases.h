/* SPDX-License-Identifier: MIT */
/*
 * What every program here consists of: cases, each hard on one thing an instrumenter may get wrong, each
 * with output that is the same on every run.
 *
 *   PROGRAM            lists its cases
 *   PROGRAM CASE ARG…  runs one; exit status 1 if a check failed
 *
 * A case says what it saw with printf, and CHECKs what must hold in any run, so that a mistake of the
 * native run does not pass for the truth. Cases "child_…" are run by others and not listed; cases
 * "may_…" are reported and not judged.
 */
#ifndef EXACT_CASES_H
#define EXACT_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct exact_case {
	const char *name;
	void (*run)(int argc, char **argv);
};

#define CASE(id) \
	static void case_##id(int argc, char **argv); \
	static const struct exact_case reg_##id = { #id, case_##id }; \
	static const struct exact_case *const ptr_##id \
		__attribute__((used, section("exact_cases"))) = &reg_##id; \
	static void case_##id(int argc __attribute__((unused)), char **argv __attribute__((unused)))

#define CHECK(cond) check_that(cond, #cond, __LINE__)
#define EQ(got, wanted) check_eq((uint64_t)(got), (uint64_t)(wanted), #got, __LINE__)
#define NOINLINE __attribute__((noipa))

static int checks_failed;

/* Also called in signal handlers: by write, since stdio may be in use. The first few are enough. */
static inline int say_bad(const char *text)
{
	if (++checks_failed <= 20 && write(1, text, strlen(text)) < 0)
		_exit(4);
	return 0;
}

static inline int check_that(int holds, const char *what, int line)
{
	char text[256];

	if (holds)
		return 1;
	snprintf(text, sizeof text, "BAD %d: %s\n", line, what);
	return say_bad(text);
}

static inline int check_eq(uint64_t got, uint64_t wanted, const char *what, int line)
{
	char text[256];

	if (got == wanted)
		return 1;
	snprintf(text, sizeof text, "BAD %d: %s is %#llx, not %#llx\n", line, what,
		 (unsigned long long)got, (unsigned long long)wanted);
	return say_bad(text);
}

/* A checksum that takes its inputs in order. */
static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v;
	h *= 0x9e3779b97f4a7c15u;
	return h ^ (h >> 29);
}

/* Cases from elsewhere: lists them (NULL), or runs the one of that name if there is one. */
__attribute__((weak)) void extra_cases(const char *name);

extern const struct exact_case *const __start_exact_cases[], *const __stop_exact_cases[];

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	for (const struct exact_case *const *c = __start_exact_cases; c < __stop_exact_cases; c++) {
		if (argc < 2 && strncmp((*c)->name, "child_", 6))
			puts((*c)->name);
		if (argc >= 2 && !strcmp(argv[1], (*c)->name)) {
			(*c)->run(argc - 2, argv + 2);
			printf("%s done\n", (*c)->name);
			return checks_failed != 0;
		}
	}
	if (extra_cases) {
		extra_cases(argv[1]);
		if (argc >= 2)
			return checks_failed != 0;
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "no case %s\n", argv[1]);
	return 2;
}

#endif
