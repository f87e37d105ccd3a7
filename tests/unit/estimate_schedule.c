/* SPDX-License-Identifier: MIT */
/* Static schedules: llvm-mca itself on small blocks, answers that are none, the table. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "estimate/mca.h"
#include "estimate/memo.h"
#include "x86/uop.h"

/* add rax, rbx; add rax, rcx; imul rax, rdx; dec rsi; jnz: a chain of 1 + 1 + 3 cycles */
static const uint8_t chain[] = { 0x48, 0x01, 0xd8, 0x48, 0x01, 0xc8, 0x48, 0x0f,
				 0xaf, 0xc2, 0x48, 0xff, 0xce, 0x75, 0xf1 };
/* mov rax, [rdi]; lea rcx, [rip+8]; rep movsb; call; lock inc [rdi]; xchg rax, [rip]; ret */
static const uint8_t odd[] = { 0x48, 0x8b, 0x07, 0x48, 0x8d, 0x0d, 8, 0,    0,	  0,
			       0xf3, 0xa4, 0xe8, 4,    0,    0,	   0, 0xf0, 0x48, 0xff,
			       0x07, 0x48, 0x87, 0x05, 0,    0,	   0, 0,    0xc3 };

/* push rbx; push rbp; push r12; push 1; pop rax; pop rcx; pop rdx; pop r13; ret: no pop waits for another */
static const uint8_t saves[] = { 0x53, 0x55, 0x41, 0x54, 0x6a, 0x01,
				 0x58, 0x59, 0x5a, 0x41, 0x5d, 0xc3 };
/* push fs; pop [rax]; push [rax]; pop rsp: as they are */
static const uint8_t rarer[] = { 0x0f, 0xa0, 0x8f, 0x00, 0xff, 0x30, 0x5c };

static struct schedule_insn insn[2][16];

static void blocks(struct schedule_block v[2])
{
	v[0] = (struct schedule_block){
		.code = chain, .size = sizeof(chain), .n = 5, .carried = SCHEDULE_LOOP
	};
	v[1] = (struct schedule_block){ .code = odd, .size = sizeof(odd), .n = 7 };
	for (int i = 0; i < 2; i++) {
		v[i].insn = insn[i];
		v[i].addr = 0x401000;
	}
}

static double total(const struct schedule_block *b)
{
	double sum = 0;

	for (unsigned i = 0; i < b->n; i++)
		sum += b->insn[i].least;
	return sum;
}

static void a_chain_takes_its_latency(void **state)
{
	const struct schedule_options o = { .cpu = "AMD EPYC 9654 96-Core Processor" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(v[0].modelled && v[1].modelled);
	assert_true(total(&v[0]) == 5);
	/* what waits for the chain is at fault */
	for (unsigned i = 0; i < 5; i++)
		if (v[0].insn[i].least > 1) {
			assert_int_equal(v[0].insn[i].why, SCHEDULE_DEPENDENCE);
			assert_in_range(v[0].insn[i].cause, 0, 2);
		}
}

/* What it finds in rax and rsi was not left there by its last execution: executions overlap. */
static void what_is_no_loop_does_not_wait_for_itself(void **state)
{
	const struct schedule_options o = { .cpu = "AMD EPYC 9654 96-Core Processor" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	v[0].carried = 0;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(v[0].modelled);
	assert_true(total(&v[0]) <= 2);
	for (unsigned i = 0; i < 5; i++)
		assert_true(v[0].insn[i].cause <= (int)i);
	/* but where nothing else sets rax */
	v[0].carried = 1u << UR_RAX;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(total(&v[0]) == 5);
	v[0].carried = 1u << UR_RSI;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(total(&v[0]) <= 2);
}

/* addpd xmm1, xmm0; dec rsi; jnz: a chain of additions. Then one through pxor xmm1, xmm2. */
static void sums_are_handed_on_early(void **state)
{
	static const uint8_t sums[] = { 0x66, 0x0f, 0x58, 0xc8, 0x48, 0xff, 0xce, 0x75, 0xf7 };
	static const uint8_t apart[] = { 0x66, 0x0f, 0x58, 0xc8, 0x66, 0x0f, 0xef,
					 0xca, 0x48, 0xff, 0xce, 0x75, 0xf3 };
	const struct schedule_options o = { .cpu = "Intel(R) Xeon(R) Processor (Sapphire Rapids)" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	v[0].code = sums;
	v[0].size = sizeof(sums);
	v[0].n = 3;
	v[1].code = apart;
	v[1].size = sizeof(apart);
	v[1].n = 4;
	v[1].carried = SCHEDULE_LOOP;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(v[0].modelled && v[1].modelled);
	assert_true(total(&v[0]) == 2);
	assert_true(total(&v[1]) == 4);
}

/* add rax, rbx; mov rdx, rax; add rdx, rbx; mov rax, rdx; dec rsi; jnz. Then with mov dx, ax, which keeps the rest of rdx. */
static void moves_take_no_time_in_a_chain(void **state)
{
	static const uint8_t whole[] = { 0x48, 0x01, 0xd8, 0x48, 0x89, 0xc2, 0x48, 0x01, 0xda,
					 0x48, 0x89, 0xd0, 0x48, 0xff, 0xce, 0x75, 0xef };
	static const uint8_t half[] = { 0x48, 0x01, 0xd8, 0x66, 0x89, 0xc2, 0x48, 0x01, 0xda,
					0x48, 0x89, 0xd0, 0x48, 0xff, 0xce, 0x75, 0xef };
	const struct schedule_options o = { .cpu = "Intel(R) Xeon(R) Processor (Sapphire Rapids)" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (int loop = 0; loop < 2; loop++) {
		blocks(v);
		for (int i = 0; i < 2; i++) {
			v[i].code = i ? half : whole;
			v[i].size = sizeof(whole);
			v[i].n = 6;
			v[i].carried = loop ? SCHEDULE_LOOP : 0;
		}
		assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
		assert_true(v[0].modelled && v[1].modelled);
		assert_true(loop ? fabs(total(&v[0]) - 2) < 0.1 : total(&v[0]) < 2);
		assert_true(!loop || fabs(total(&v[1]) - 3) < 0.1);
	}
}

/* mulpd xmm0, xmm1; movapd xmm2, xmm0; mulpd xmm2, xmm1; movapd xmm0, xmm2. */
static void redwood_cove_multiplies_in_three_cycles(void **state)
{
	static const uint8_t code[] = { 0x66, 0x0f, 0x59, 0xc1, 0x66, 0x0f, 0x28, 0xd0,
					0x66, 0x0f, 0x59, 0xd1, 0x66, 0x0f, 0x28, 0xc2 };
	static const char *const cpu[] = { "Intel(R) Xeon(R) Processor (Sapphire Rapids)",
					   "Intel(R) Xeon(R) Processor (Granite Rapids)" };
	static const double cycles[] = { 8, 6 };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct schedule_options o = { .cpu = cpu[i] };

		blocks(v);
		v[0].code = code;
		v[0].size = sizeof(code);
		v[0].n = 4;
		v[0].carried = SCHEDULE_LOOP;
		assert_int_equal(schedule_blocks(v, 1, &o, &err), 0);
		assert_true(v[0].modelled);
		assert_true(fabs(total(&v[0]) - cycles[i]) < 0.2);
	}
}

/* mov eax, 5; xor edx, edx; div ecx or rcx: the loop takes as long as the unit is occupied. */
static void divisions_wait_for_their_unit(void **state)
{
	static const uint8_t code[][10] = { { 0xb8, 5, 0, 0, 0, 0x31, 0xd2, 0xf7, 0xf1 },
					    { 0xb8, 5, 0, 0, 0, 0x31, 0xd2, 0x48, 0xf7, 0xf1 } };
	static const double cycles[] = { 6, 10 };
	const struct schedule_options o = { .cpu = "Intel(R) Xeon(R) Processor (Sapphire Rapids)" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		blocks(v);
		v[0].code = code[i];
		v[0].size = 9 + i;
		v[0].n = 3;
		v[0].carried = SCHEDULE_LOOP;
		assert_int_equal(schedule_blocks(v, 1, &o, &err), 0);
		assert_true(v[0].modelled);
		assert_true(fabs(total(&v[0]) - cycles[i]) < 0.01);
		assert_int_equal(v[0].insn[2].why, SCHEDULE_UNIT);
		assert_int_equal(v[0].insn[2].cause, 2);
	}
}

/* xor eax, eax; add eax, ebx; imul eax, ebx: no execution waits for another. Then pxor xmm0, xmm0; mulpd xmm0, xmm1 twice. */
static void what_clears_a_register_waits_for_nothing(void **state)
{
	static const uint8_t general[] = { 0x31, 0xc0, 0x01, 0xd8, 0x0f, 0xaf, 0xc3 };
	static const uint8_t vector[] = { 0x66, 0x0f, 0xef, 0xc0, 0x66, 0x0f,
					  0x59, 0xc1, 0x66, 0x0f, 0x59, 0xc1 };
	static const char *const cpu[] = { "Intel(R) Xeon(R) Processor (Sapphire Rapids)",
					   "AMD EPYC 9654" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct schedule_options o = { .cpu = cpu[i] };

		blocks(v);
		v[0].code = general;
		v[0].size = sizeof(general);
		v[1].code = vector;
		v[1].size = sizeof(vector);
		v[0].n = v[1].n = 3;
		v[0].carried = v[1].carried = SCHEDULE_LOOP;
		assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
		assert_true(v[0].modelled && v[1].modelled);
		assert_true(total(&v[0]) <= 1.1 && total(&v[1]) <= 1.6);
	}
}

/* cmp rdi, rax; jz, four times: four operations, in one cycle. test rdi, rax; nop; jz, four times: twelve, in two. */
static void branches_fuse_with_what_compares(void **state)
{
	static const uint8_t fused[] = { 0x48, 0x39, 0xc7, 0x74, 0, 0x48, 0x39, 0xc7, 0x74, 0,
					 0x48, 0x39, 0xc7, 0x74, 0, 0x48, 0x39, 0xc7, 0x74, 0 };
	static const uint8_t apart[] = { 0x48, 0x85, 0xc7, 0x90, 0x74, 0,    0x48, 0x85,
					 0xc7, 0x90, 0x74, 0,	 0x48, 0x85, 0xc7, 0x90,
					 0x74, 0,    0x48, 0x85, 0xc7, 0x90, 0x74, 0 };
	const struct schedule_options o = { .cpu = "Intel(R) Xeon(R) Processor (Sapphire Rapids)" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	v[0].code = fused;
	v[0].size = sizeof(fused);
	v[0].n = 8;
	v[1].code = apart;
	v[1].size = sizeof(apart);
	v[1].n = 12;
	v[0].carried = v[1].carried = SCHEDULE_LOOP;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(v[0].modelled && v[1].modelled);
	if (!(total(&v[0]) <= 1 && total(&v[1]) >= 2))
		fail_msg("%g %g", total(&v[0]), total(&v[1]));
}

/* imul r8, rax, 7 eight times; dec rsi; jnz. And mov [rdi], rax four times; dec rsi; jnz. */
static void zen_5_has_more_units_than_its_model(void **state)
{
	static const uint8_t products[] = { 0x4c, 0x6b, 0xc0, 0x07, 0x4c, 0x6b, 0xc0, 0x07,
					    0x4c, 0x6b, 0xc0, 0x07, 0x4c, 0x6b, 0xc0, 0x07,
					    0x4c, 0x6b, 0xc0, 0x07, 0x4c, 0x6b, 0xc0, 0x07,
					    0x4c, 0x6b, 0xc0, 0x07, 0x4c, 0x6b, 0xc0, 0x07,
					    0x48, 0xff, 0xce, 0x75, 0xdb };
	static const uint8_t stores[] = { 0x48, 0x89, 0x07, 0x48, 0x89, 0x07, 0x48, 0x89, 0x07,
					  0x48, 0x89, 0x07, 0x48, 0xff, 0xce, 0x75, 0xef };
	static const struct {
		const char *cpu;
		double products, stores;
	} take[] = { { "AMD EPYC 9654", 8, 4 }, { "AMD EPYC (Zen 5)", 2.67, 2 } };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct schedule_options o = { .cpu = take[i].cpu };

		blocks(v);
		v[0].code = products;
		v[0].size = sizeof(products);
		v[0].n = 10;
		v[1].code = stores;
		v[1].size = sizeof(stores);
		v[1].n = 6;
		v[1].carried = SCHEDULE_LOOP;
		assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
		assert_true(v[0].modelled && v[1].modelled);
		assert_true(fabs(total(&v[0]) - take[i].products) < 0.5);
		assert_true(fabs(total(&v[1]) - take[i].stores) < 0.5);
	}
}

/* mulsd xmm0, xmm1 twice; and vmulps ymm0, ymm0, ymm1 twice: both halves of ymm0 are set anew. */
static void nor_through_vector_registers(void **state)
{
	static const uint8_t sse[] = { 0xf2, 0x0f, 0x59, 0xc1, 0xf2, 0x0f, 0x59, 0xc1 };
	static const uint8_t avx[] = { 0xc5, 0xfc, 0x59, 0xc1, 0xc5, 0xfc, 0x59, 0xc1 };
	const struct schedule_options o = { .cpu = "AMD EPYC 9654 96-Core Processor" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	for (int loop = 0; loop < 2; loop++) {
		blocks(v);
		v[0].code = sse;
		v[1].code = avx;
		for (int i = 0; i < 2; i++) {
			v[i].size = sizeof(sse);
			v[i].n = 2;
			v[i].carried = loop ? SCHEDULE_LOOP : 0;
		}
		assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
		for (int i = 0; i < 2; i++) {
			assert_true(v[i].modelled);
			assert_true(loop ? total(&v[i]) >= 6 : total(&v[i]) <= 2);
		}
	}
}

/* add rax, rbx, 600 times: each waits for the one before it, also where pieces meet. */
static void long_blocks_are_scheduled_in_pieces(void **state)
{
	enum {
		N = 600
	};
	static struct schedule_insn all[N];
	static uint8_t code[3 * N];
	const struct schedule_options o = { .cpu = "AMD EPYC 9654 96-Core Processor" };
	struct schedule_block b = { .code = code, .size = sizeof(code), .n = N, .insn = all };
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(code); i += 3)
		memcpy(&code[i], chain, 3);
	assert_int_equal(schedule_blocks(&b, 1, &o, &err), 0);
	assert_true(b.modelled);
	assert_true(total(&b) > 0.75 * N && total(&b) <= 1.01 * N);
	for (int i = 0; i < N; i++)
		assert_true(all[i].cause == -1 || all[i].cause == i || all[i].cause == i - 1);
	/* no instruction in the middle: that piece is by the table */
	memset(&code[3 * 300], 0x06, 3);
	assert_int_equal(schedule_blocks(&b, 1, &o, &err), 0);
	assert_false(b.modelled);
	assert_true(all[0].least > 0 && all[N - 1].least > 0);
}

static void the_stack_s_end_is_known_at_once(void **state)
{
	struct schedule_options o = { .cpu = "AMD EPYC 7763 64-Core Processor" };
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	v[0].code = saves;
	v[0].size = sizeof(saves);
	v[0].n = 9;
	v[1].code = rarer;
	v[1].size = sizeof(rarer);
	v[1].n = 4;
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(v[0].modelled && v[1].modelled);
	assert_true(total(&v[0]) >= 2 && total(&v[0]) <= 6);
	o.cpu = "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz";
	assert_int_equal(schedule_blocks(v, 1, &o, &err), 0);
	assert_true(v[0].modelled);
	assert_true(total(&v[0]) >= 2 && total(&v[0]) <= 10);
}

static void many_blocks_are_answered(void **state)
{
	enum {
		N = 1700, /* for several processes */
		COLD = 7, /* of so many one; and the last ones */
		LAST = N - 100
	};
	static struct schedule_insn all[N][16];
	struct schedule_block *v = calloc(N, sizeof(*v)), two[2];
	struct err err = { 0 };

	(void)state;
	assert_non_null(v);
	blocks(two);
	for (int i = 0; i < N; i++) {
		v[i] = two[i % 2];
		v[i].insn = all[i];
		v[i].cold = i % COLD == 2 || i >= LAST;
	}
	assert_int_equal(schedule_blocks(v, N, &(struct schedule_options){ 0 }, &err), 0);
	for (int i = 0; i < N; i++) {
		assert_int_equal(v[i].modelled, i % COLD != 2 && i < LAST);
		if (v[i].modelled)
			assert_true(total(&v[i]) == total(&v[i % 2]));
	}
	free(v);
}

static void its_absence_is_told_and_the_table_taken(void **state)
{
	const char *programs[] = { "/nonexistent", "/bin/false", "/bin/cat", "/usr/bin/yes" };
	struct schedule_block v[2];

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct schedule_options o = { .program = programs[i], .timeout_ms = 200 };
		struct err err = { 0 };

		blocks(v);
		assert_int_equal(schedule_blocks(v, 2, &o, &err), 1);
		assert_true(strlen(err.msg) > 0);
		assert_false(v[0].modelled);
		assert_true(total(&v[0]) > 0 && total(&v[1]) > 0);
	}
}

/* One that dies of imul, and else is llvm-mca: what has none is still modelled; one that always dies is told. */
static void what_it_dies_of_is_by_the_table(void **state)
{
	char path[] = "/tmp/assay-mca-XXXXXX";
	struct schedule_options o = { .program = path };
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	(void)state;
	assert_non_null(f);
	fprintf(f,
		"#!/bin/bash\ntext=$(cat)\n[[ $text != *imul* ]] || kill -SEGV $$\n"
		"exec %s \"$@\" <<< \"$text\"\n",
		mca_program(&(struct schedule_options){ 0 }));
	assert_int_equal(fchmod(fd, 0755), 0); /* root's llvm-mca runs as nobody */
	assert_int_equal(fclose(f), 0);
	for (int always = 0; always < 2; always++) {
		static struct schedule_insn all[100][16];
		struct schedule_block v[100], two[2];
		struct err err = { 0 };

		blocks(two);
		for (size_t i = 0; i < 100; i++) {
			v[i] = two[always || i % 40 == 7 ? 0 : 1];
			v[i].insn = all[i];
		}
		assert_int_equal(schedule_blocks(v, 100, &o, &err), always);
		assert_int_equal(strlen(err.msg) > 0, always);
		for (size_t i = 0; i < 100 && !always; i++)
			assert_int_equal(v[i].modelled, i % 40 != 7);
	}
	unlink(path);
}

/* What runs in its place tells with which rights: root's is nobody's. */
static void it_runs_without_privileges(void **state)
{
	char path[] = "/tmp/assay-mca-XXXXXX", told[] = "/tmp/assay-told-XXXXXX", line[256];
	struct schedule_options o = { .program = path };
	int fd = mkstemp(path), to = mkstemp(told);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	struct schedule_block v[2];
	unsigned uid = 0, checked = 0;
	unsigned long long caps = 1;
	struct err err = { 0 };

	(void)state;
	assert_non_null(f);
	fprintf(f, "#!/bin/bash\ncat > /dev/null\nexec cat /proc/self/status > %s\n", told);
	assert_int_equal(fchmod(fd, 0755), 0);
	assert_int_equal(fchmod(to, 0666), 0);
	assert_int_equal(fclose(f), 0);
	blocks(v);
	schedule_blocks(v, 2, &o, &err);
	f = fdopen(to, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u", &uid) == 1) {
			assert_int_equal(uid, getuid() ? getuid() : 65534);
			checked++;
		}
		if (sscanf(line, "CapPrm: %llx", &caps) == 1 ||
		    sscanf(line, "CapEff: %llx", &caps) == 1) {
			assert_int_equal(caps, 0);
			checked++;
		}
	}
	assert_int_equal(checked, 3);
	fclose(f);
	unlink(path);
	unlink(told);
}

static void an_answer_is_taken_as_asked_or_not_at_all(void **state)
{
	static const char *const none[] = {
		"",
		"{}",
		"{\"CodeRegions\": 1}",
		"{\"CodeRegions\": [{]}",
		"{\"CodeRegions\": [{\"Name\": \"0\"",
	};
	static const char *const other[] = {
		"{\"CodeRegions\": []}",
		"{\"CodeRegions\": [{}]}",
		"{\"CodeRegions\": [{\"Name\": \"2\"}]}",
		"{\"CodeRegions\": [{\"Name\": \"-1\"}]}",
		"{\"CodeRegions\": [{\"Name\": \"0x\"}]}",
		("{\"CodeRegions\": [{\"Name\": \"0\", \"Instructions\": [1,2,3,4,5], "
		 "\"TimelineView\": {\"TimelineInfo\": [1,2]}}]}"),
		"{\"CodeRegions\": [{\"Name\": \"0\", \"Instructions\": 5, \"TimelineView\": 3}]}",
	};
	struct schedule_block v[2];
	struct err err = { 0 };

	(void)state;
	blocks(v);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_int_equal(mca_parse(none[i], strlen(none[i]), v, 2, &err), -1);
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_int_equal(mca_parse(other[i], strlen(other[i]), v, 2, &err), 0);
	assert_false(v[0].modelled);
}

static void the_model_follows_the_cpu(void **state)
{
	static const char *const known[][2] = {
		{ "AMD EPYC 7601 32-Core Processor", "znver1" },
		{ "AMD EPYC 7R13 Processor", "znver3" },
		{ "AMD EPYC 9R14", "znver4" },
		{ "AMD EPYC 9575F 64-Core Processor", "znver5" },
		{ "AMD EPYC", "znver4" },
		{ "AMD EPYC ", "znver4" },
		{ "AMD EPYC 7R", "znver4" },
		{ "AMD EPYC (Zen 5)", "znver5" },
		{ "Intel(R) Xeon(R) Processor (Sapphire Rapids)", "sapphirerapids" },
		{ "Intel Xeon Processor (Skylake, IBRS)", "skylake-avx512" },
		{ "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", "skylake-avx512" },
		{ "Intel(R) Core(TM) i7-8700K CPU @ 3.70GHz", "skylake" },
		{ "", "znver4" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(schedule_model(known[i][0]), known[i][1]);
	assert_string_equal(schedule_model(NULL), "znver4");
}

static void the_table_knows_what_takes_long(void **state)
{
	static const uint8_t div[] = { 0x48, 0xf7, 0xf1, 0x48, 0x01, 0xd8, 0x06 };
	struct schedule_block b = { .code = div, .size = sizeof(div), .n = 3, .insn = insn[0] };

	(void)state;
	schedule_by_table(&b);
	assert_true(insn[0][0].least > 4 * insn[0][1].least);
	assert_int_equal(insn[0][0].why, SCHEDULE_LATENCY);
	assert_true(insn[0][2].least > 0); /* no instruction */
}

static void what_is_known_is_not_asked_for(void **state)
{
	struct schedule_memo *memo = schedule_memo_new(), *again = schedule_memo_new();
	struct schedule_options o = { .cpu = "AMD EPYC 9654", .memo = memo };
	struct schedule_block v[2], w[2];
	struct schedule_insn first[16];
	struct buffer b = { 0 };
	struct err err = { 0 };

	(void)state;
	assert_true(memo && again);
	blocks(v);
	assert_int_equal(schedule_blocks(v, 2, &o, &err), 0);
	assert_true(schedule_memo_changed(memo));
	assert_int_equal(schedule_memo_count(memo), 2);
	memcpy(first, insn[0], sizeof(first));

	/* through bytes: llvm-mca is not run, or it would fail */
	assert_true(schedule_memo_write(memo, &b));
	assert_true(schedule_memo_read(again, b.p, b.n));
	assert_false(schedule_memo_changed(again));
	schedule_memo_free(memo);
	memset(insn, 0, sizeof(insn));
	o.memo = again;
	blocks(w);
	assert_int_equal(schedule_blocks(w, 2, &o, &err), 0);
	assert_true(w[0].modelled && w[1].modelled);
	for (int i = 0; i < 5; i++) {
		assert_true(insn[0][i].least == first[i].least);
		assert_int_equal(insn[0][i].cause, first[i].cause);
		assert_int_equal(insn[0][i].why, first[i].why);
	}
	assert_false(schedule_memo_changed(again));

	/* another model, another program, other bytes: not known */
	o.cpu = "AMD EPYC 7601";
	assert_int_equal(schedule_blocks(w, 2, &o, &err), 0);
	assert_int_equal(schedule_memo_count(again), 4);
	o.program = "/nonexistent";
	assert_int_equal(schedule_blocks(w, 2, &o, &err), 1);
	assert_int_equal(schedule_memo_count(again), 4);
	w[0].size--;
	w[0].n--;
	assert_false(schedule_memo_get(again, schedule_memo_seed("znver1", ""), &w[0]));

	/* cut off anywhere: refused, or a whole one less */
	for (size_t n = 0; n < b.n; n++) {
		memo = schedule_memo_new();
		assert_non_null(memo);
		schedule_memo_read(memo, b.p, n);
		assert_true(schedule_memo_count(memo) < 2);
		schedule_memo_free(memo);
	}
	schedule_memo_free(again);
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_takes_its_latency),
		cmocka_unit_test(what_is_no_loop_does_not_wait_for_itself),
		cmocka_unit_test(sums_are_handed_on_early),
		cmocka_unit_test(moves_take_no_time_in_a_chain),
		cmocka_unit_test(redwood_cove_multiplies_in_three_cycles),
		cmocka_unit_test(divisions_wait_for_their_unit),
		cmocka_unit_test(what_clears_a_register_waits_for_nothing),
		cmocka_unit_test(branches_fuse_with_what_compares),
		cmocka_unit_test(zen_5_has_more_units_than_its_model),
		cmocka_unit_test(nor_through_vector_registers),
		cmocka_unit_test(long_blocks_are_scheduled_in_pieces),
		cmocka_unit_test(the_stack_s_end_is_known_at_once),
		cmocka_unit_test(many_blocks_are_answered),
		cmocka_unit_test(its_absence_is_told_and_the_table_taken),
		cmocka_unit_test(what_it_dies_of_is_by_the_table),
		cmocka_unit_test(it_runs_without_privileges),
		cmocka_unit_test(an_answer_is_taken_as_asked_or_not_at_all),
		cmocka_unit_test(the_model_follows_the_cpu),
		cmocka_unit_test(what_is_known_is_not_asked_for),
		cmocka_unit_test(the_table_knows_what_takes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
