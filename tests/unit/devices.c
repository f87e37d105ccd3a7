/* SPDX-License-Identifier: MIT */
/* Which mappings are taken for devices, and what the interpreter then leaves alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runahead/user.h"
#include "sampler/devices.h"

static void find(const char *text, struct device_ranges *r)
{
	struct maps maps;
	struct err err;

	assert_int_equal(maps_parse(&maps, text, &err), 0);
	devices_find(&maps, r);
	maps_fini(&maps);
}

static void test_devices_are_found(void **state)
{
	struct device_ranges r;

	(void)state;
	find("1000-2000 r--s 00000000 00:05 11 /dev/dri/card0\n"
	     "2000-3000 rw-p 00000000 00:00 0 \n"
	     "3000-4000 rw-s 00000000 00:01 12 /dev/zero (deleted)\n"
	     "4000-5000 rw-s 00000000 00:01 13 /dev/shm/x\n"
	     "5000-6000 rw-s 00000000 00:01 14 /memfd:x (deleted)\n"
	     "6000-7000 r-xp 00000000 08:01 15 /devil/dev/x\n"
	     "7000-9000 rw-s 00000000 00:10 16 /sys/devices/pci0000:00/resource0\n"
	     "9000-a000 rw-s 00000000 00:0e 17 anon_inode:[vfio-device]\n"
	     "a000-b000 rw-p 00000000 00:00 0 [heap]\n",
	     &r);
	assert_int_equal(r.n, 3);
	assert_int_equal(r.range[0].start, 0x1000);
	assert_int_equal(r.range[0].end, 0x2000);
	assert_int_equal(r.range[1].start, 0x7000);
	assert_int_equal(r.range[1].end, 0x9000);
	assert_int_equal(r.range[2].start, 0x9000);
	assert_int_equal(r.range[2].end, 0xa000);
}

static void test_none_is_left_out(void **state)
{
	char text[4096] = "";
	struct device_ranges r;
	size_t at = 0;

	(void)state;
	for (unsigned i = 0; i < 2 * DEVICE_RANGES; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "%x-%x rw-s 00000000 00:05 11 /dev/uio%u\n",
				       0x10000 * (i + 1), 0x10000 * (i + 1) + 0x1000, i);
	find(text, &r);
	assert_int_equal(r.n, DEVICE_RANGES);
	assert_int_equal(r.range[DEVICE_RANGES - 1].start, 0x10000 * DEVICE_RANGES);
	assert_int_equal(r.range[DEVICE_RANGES - 1].end, 0x10000 * 2 * DEVICE_RANGES + 0x1000);
}

/* mov rax, [rdi]; ret */
static const uint8_t load_code[] = { 0x48, 0x8b, 0x07, 0xc3 };

static const uint8_t *bytes(void *ctx, uint64_t addr, size_t *n)
{
	(void)ctx;
	*n = addr < sizeof(load_code) ? sizeof(load_code) - addr : 0;
	return *n ? load_code + addr : NULL;
}

static int read_any(void *ctx, uint64_t addr, uint32_t n, uint64_t *val)
{
	(void)n;
	*val = 5;
	*(uint64_t *)ctx = addr;
	return 0;
}

static int map_all(void *ctx, struct ra_state *s, uint64_t addr)
{
	(void)ctx, (void)addr;
	s->start = s->bias = 0;
	s->end = sizeof(load_code);
	s->image = 1;
	return addr < s->end ? 0 : RA_STOP_UNMAPPED;
}

/* The line that a device shares with what lies before it is left alone too. */
static void test_devices_are_not_read(void **state)
{
	static const struct {
		uint64_t at;
		bool is_read;
	} cases[] = { { 0x4fb0, true },	 { 0x4fb8, true },  { 0x5000, false },
		      { 0x5ff8, false }, { 0x4ff9, false }, { 0x6000, true } };
	struct code_source src = { .bytes = bytes };
	struct ra_state *s = test_calloc(1, sizeof(*s));
	struct uop *uop = test_calloc(4096, sizeof(*uop));
	struct code_line *line = test_calloc(64, sizeof(*line));
	uint64_t read = 0;
	struct code code;
	struct err err;
	struct ra_env env = { &code, read_any, map_all, &read };

	(void)state;
	assert_int_equal(code_init(&code, uop, 4096, line, 6, &err), 0);
	assert_int_equal(code_image(&code, 1, &src, &err), 0);
	code_lift(&code, 1, 0, 10);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		read = 0;
		s->r[UR_RDI] = cases[i].at;
		s->known = (1u << UR_BIAS) - 1;
		s->nkeep_off = 1;
		s->keep_off[0] = (struct ra_extent){ 0x5000, 0x6000 };
		ra_user_run(s, &env, 0, 0, 1);
		assert_int_equal(s->stop, cases[i].is_read ? RA_STOP_FULL : RA_STOP_PAGE);
		assert_int_equal(read != 0, cases[i].is_read);
	}
	code_fini(&code);
	test_free(s);
	test_free(uop);
	test_free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devices_are_found),
		cmocka_unit_test(test_none_is_left_out),
		cmocka_unit_test(test_devices_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
