/* SPDX-License-Identifier: MIT */
/* Call frame information: every row of this test and of the C library beside libdw's, and rules that only a few programs have. */
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "image/image_priv.h"
#include "image/rows.h"
#include "image/unwind.h"

#define DWARF_RSP 7

/*
 * Code that is never run. In `nested`, more states are remembered than are kept, and a register has a number beyond all that
 * exist. In `returning`, the CFA is rsp + 16, then the value at rsp + 8, then rsp with the offset that was given before: so
 * libgcrypt's procedures end.
 */
__asm__(".pushsection .text\n"
	"nested: .cfi_startproc\n"
	"	nop\n"
	"	.cfi_escape 0x05, 0xff, 0xff, 0xff, 0x7f, 1\n"
	"	nop\n"
	"	.cfi_def_cfa_offset 24\n"
	"	.rept 8\n"
	"	.cfi_remember_state\n"
	"	.endr\n"
	"	nop\n"
	"	.cfi_def_cfa_offset 32\n"
	"	nop\n"
	"	.cfi_restore_state\n"
	"	nop\n"
	"	.rept 2\n"
	"	.cfi_remember_state\n"
	"	.endr\n"
	"	nop\n"
	"	.cfi_endproc\n"
	"returning: .cfi_startproc\n"
	"	nop\n"
	"	.cfi_def_cfa_offset 16\n"
	"	nop\n"
	"	.cfi_escape 0x0f, 3, 0x77, 8, 0x06\n"
	"	nop\n"
	"	.cfi_escape 0x0d, 7\n"
	"	nop\n"
	"	.cfi_endproc\n"
	"odd_end: .popsection\n");
extern char nested[], returning[], odd_end[];

static struct image *open_object(const void *in, uint64_t *base, char const **path)
{
	Dl_info at;
	struct err err;
	struct image *im;

	assert_int_not_equal(dladdr(in, &at), 0);
	*path = at.dli_fname;
	*base = (uint64_t)at.dli_fbase;
	im = image_open(*path, *path, &err);
	assert_non_null(im);
	return im;
}

/* Where nothing is said of the stack pointer, libdw says that it is the CFA. */
static void check_rule(int column, const struct cfi_rule *rule, const Dwarf_Op *op, size_t n)
{
	switch (rule->how) {
	case CFI_DEFAULT:
		assert_true(!n || column == DWARF_RSP);
		break;
	case CFI_UNDEFINED:
		assert_true(!n && op);
		break;
	case CFI_SAME:
		assert_true(!n && !op);
		break;
	case CFI_OFFSET:
		assert_int_equal(op[0].atom, DW_OP_call_frame_cfa);
		assert_int_equal(n == 1 ? 0 : (int64_t)op[1].number, rule->off);
		break;
	case CFI_REGISTER:
		assert_int_equal(op[0].atom, DW_OP_regx);
		assert_int_equal(op[0].number, rule->reg);
		break;
	case CFI_VAL_OFFSET:
		assert_int_equal(op[n - 1].atom, DW_OP_stack_value);
		assert_int_equal(n == 2 ? 0 : (int64_t)op[1].number, rule->off);
		break;
	default:
		assert_true(n > 1 && rule->bytes);
		assert_int_equal(op[1].atom, rule->expression[0]);
	}
}

static void check_frame(const struct cfi_frame *f, Dwarf_Frame *is)
{
	Dwarf_Op mem[3], *op;
	Dwarf_Addr end;
	bool signal;
	size_t n;

	assert_true(dwarf_frame_info(is, NULL, &end, &signal) >= 0);
	assert_int_equal(f->signal, signal);
	assert_true(f->end <= end);
	assert_int_equal(dwarf_frame_cfa(is, &op, &n), 0);
	if (f->cfa == CFI_CFA_OFFSET) {
		assert_int_equal(n, 1);
		assert_int_equal(op[0].atom, DW_OP_bregx);
		assert_int_equal(op[0].number, f->base);
		assert_int_equal(op[0].number2, f->off);
	} else {
		assert_int_equal(op[0].atom, f->expression.p[0]);
	}
	for (int i = 0; i < CFI_REGISTERS; i++) {
		assert_int_equal(dwarf_frame_register(is, i, mem, &op, &n), 0);
		check_rule(i, &f->rule[i], op, n);
	}
}

/* Compares all rows but those in [but, but_end); returns how many there are. */
static size_t compare(struct image *im, const char *path, uint64_t but, uint64_t but_end)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	Dwarf_CFI *oracle = elf ? dwarf_getcfi_elf(elf) : NULL;
	struct unwind u;
	size_t rows = 0;

	assert_non_null(oracle);
	assert_true(unwind_read(&u, im));
	for (size_t i = 0; i < u.n; i++)
		for (uint64_t at = u.v[i].start; at < u.v[i].end; rows++) {
			const struct cfi_frame *f;
			Dwarf_Frame *is;

			if (at >= but && at < but_end)
				break;
			f = cfi_frame(&im->cfi, &im->file, at);
			assert_non_null(f);
			assert_true(f->start <= at && at < f->end);
			assert_int_equal(dwarf_cfi_addrframe(oracle, at, &is), 0);
			check_frame(f, is);
			free(is);
			at = f->end;
		}
	unwind_fini(&u);
	dwarf_cfi_end(oracle);
	elf_end(elf);
	close(fd);
	return rows;
}

static void own_rows(void **state)
{
	uint64_t base;
	const char *path;
	struct image *im = open_object(nested, &base, &path);

	(void)state;
	assert_true(compare(im, path, (uint64_t)nested - base, (uint64_t)odd_end - base) > 50);
	image_close(im);
}

static void library_rows(void **state)
{
	uint64_t base;
	const char *path;
	struct image *im = open_object(dlsym(RTLD_NEXT, "qsort"), &base, &path);

	(void)state;
	assert_true(compare(im, path, 0, 0) > 10000);
	image_close(im);
}

/* Rules are the same whether they are reached from the range's start or at once. */
static void any_order(void **state)
{
	uint64_t base;
	const char *path;
	struct image *im = open_object(dlsym(RTLD_NEXT, "qsort"), &base, &path);
	struct unwind u;

	(void)state;
	assert_true(unwind_read(&u, im));
	for (size_t i = 0; i < u.n; i += 16)
		for (uint64_t at = u.v[i].start + 3; at < u.v[i].end; at += 5) {
			const struct cfi_frame *by_steps, *at_once;
			struct cfi fresh = { 0 };

			assert_non_null(cfi_frame(&im->cfi, &im->file, u.v[i].start));
			by_steps = cfi_frame(&im->cfi, &im->file, at);
			fresh.eh = im->cfi.eh;
			at_once = cfi_frame(&fresh, &im->file, at);
			assert_true(by_steps && at_once && at_once->start <= at);
			assert_int_equal(by_steps->end, at_once->end);
			assert_int_equal(by_steps->off, at_once->off);
			for (int r = 0; r < CFI_REGISTERS; r++) {
				assert_int_equal(by_steps->rule[r].how, at_once->rule[r].how);
				assert_int_equal(by_steps->rule[r].off, at_once->rule[r].off);
			}
			free(fresh.run);
		}
	unwind_fini(&u);
	image_close(im);
}

static void bounded(void **state)
{
	uint64_t base;
	const char *path;
	struct image *im = open_object(nested, &base, &path);
	uint64_t at = (uint64_t)nested - base;

	(void)state;
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at)->off, 8);
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at + 1)->off, 8);
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at + 2)->off, 24);
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at + 3)->off, 32);
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at + 4)->off, 24);
	assert_null(cfi_frame(&im->cfi, &im->file, at + 5));
	assert_int_equal(cfi_frame(&im->cfi, &im->file, at)->off, 8);
	assert_true(cfi_bytes(&im->cfi) < 1u << 20);
	image_close(im);
}

static void register_behind_expression(void **state)
{
	uint64_t base;
	const char *path;
	struct image *im = open_object(nested, &base, &path);
	uint64_t at = (uint64_t)returning - base;
	struct unwind_row row;

	(void)state;
	rows_at(im, at + 2, &row);
	assert_int_equal(row.rule.kind, RULE_DEREF);
	assert_int_equal(row.rule.off, 8);
	rows_at(im, at + 3, &row);
	assert_int_equal(row.rule.kind, RULE_CFA);
	assert_int_equal(row.rule.reg, RULE_RSP);
	assert_int_equal(row.rule.off, 16);
	image_close(im);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_rows),
		cmocka_unit_test(library_rows),
		cmocka_unit_test(any_order),
		cmocka_unit_test(bounded),
		cmocka_unit_test(register_behind_expression),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
