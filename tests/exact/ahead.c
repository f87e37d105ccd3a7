/* SPDX-License-Identifier: MIT */
/*
 * Runs ahead from anywhere in a program and holds what the interpreter says of the next instructions against a
 * recording of the same program made with --observe values: each value has to be one that occurred there.
 *
 * Usage: ahead RECORDING BEGIN END WINDOWS COMMAND ARG…
 *   BEGIN END   addresses: the code that is looked at, whose values must not depend on where the stack is
 * COMMAND: static, at the addresses of its file. Passed over, and counted, are lists that do not hold all values, and
 * addresses outside the program's image, which lie elsewhere under the engine. Prints each difference, then the
 * counts. Exit status 1 if there is a difference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86/insn.h"
#include "observe/profile.h"
#include "oracle/windows.h"
#include "store/recording.h"

#define SHOWN 20

static struct profile profile;
static uint32_t image;
static uint64_t begin_at, end_at, held, differences, elsewhere, partial, absent;

static bool occurred(const struct hot *h, uint64_t value)
{
	static struct hot_value top[HOT_CAPACITY_MAX];
	unsigned n = hot_top(h, top, HOT_CAPACITY_MAX);

	for (unsigned i = 0; i < n; i++)
		if (top[i].value == value)
			return true;
	return false;
}

/* An address that is mapped, but not the program's image: the stack, the heap. */
static bool is_elsewhere(const struct proc *p, uint64_t value)
{
	uint8_t byte;

	return value >> 24 && proc_read(p, value, &byte, 1) == 1;
}

/* Its address is where it begins in a recording, where it is in a window. */
static bool is_string(const struct proc *p, uint64_t ip)
{
	uint8_t byte[INSN_MAX_LEN];
	struct insn in;

	return proc_read(p, ip, byte, sizeof(byte)) == sizeof(byte) &&
	       insn_decode(&in, byte, sizeof(byte), ip) &&
	       in.z.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static void complain(uint64_t ip, int operand, uint64_t value, const char *what)
{
	if (++differences <= SHOWN)
		printf("%#" PRIx64 " %s: %#" PRIx64 " %s\n", ip, operand_name[operand], value,
		       what);
}

/* One of the two operands has the value. */
static void hold(const struct site *s, const int operand[2], uint64_t value)
{
	const struct hot *a = site_hot(s, operand[0]), *b = site_hot(s, operand[1]);

	if (!a && !b)
		absent++;
	else if ((a && occurred(a, value)) || (b && occurred(b, value)))
		held++;
	else if ((a && !hot_exact(a)) || (b && !hot_exact(b)))
		partial++;
	else
		complain(s->id.addr, operand[0], value, "never occurred");
}

static void said(void *ctx, const struct proc *p, uint64_t ip, int what, uint64_t value)
{
	static const int operands[][2] = {
		[UREC_NONE] = { OPERAND_ADDRESS, OPERAND_ADDRESS },
		[UREC_RESULT] = { OPERAND_RESULT, OPERAND_RESULT2 },
		[UREC_LOAD] = { OPERAND_LOAD, OPERAND_LOAD },
		[UREC_STORE] = { OPERAND_STORE, OPERAND_STORE },
	};
	const struct site *s =
		profile_site_find(&profile, (struct site_id){ .image = image, .addr = ip });

	(void)ctx;
	if (ip < begin_at || ip >= end_at)
		return;
	if (is_elsewhere(p, value) || (what == UREC_NONE && is_string(p, ip)))
		elsewhere++;
	else if (!s)
		complain(ip, operands[what][0], value, "never ran");
	else
		hold(s, operands[what], value);
}

int main(int argc, char **argv)
{
	struct windows_opts o = { .seed = 1, .least_us = 1, .most_us = 4000, .said = said };
	struct windows_counts n = { 0 };

	struct err err;

	if (argc < 6) {
		fprintf(stderr, "usage: ahead RECORDING BEGIN END WINDOWS COMMAND ARG…\n");
		return 2;
	}
	begin_at = strtoull(argv[2], NULL, 16);
	end_at = strtoull(argv[3], NULL, 16);
	o.count = strtoull(argv[4], NULL, 10);
	o.argv = argv + 5;
	if (profile_init(&profile, &err) || recording_read(argv[1], &profile, &err)) {
		fprintf(stderr, "ahead: %s\n", err.msg);
		return 2;
	}
	for (uint32_t i = 0; i < profile.nimage; i++)
		if (profile.image[i]->kind == IMAGE_FILE)
			image = i;
	if (windows_run(&o, &n)) {
		fprintf(stderr, "ahead: cannot run %s\n", o.argv[0]);
		return 2;
	}
	printf("windows %" PRIu64 ", values held %" PRIu64 ", addresses elsewhere %" PRIu64
	       ", lists not exact %" PRIu64 ", not observed %" PRIu64 "\n",
	       n.windows, held, elsewhere, partial, absent);
	profile_fini(&profile);
	return differences || n.differences || !held;
}
