/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as code, any state: decode, lift, run ahead.
 *
 * Input: 8 bytes that registers and memory are made from, a byte for the burst, a byte of options,
 * then code.
 */
#include <stdlib.h>
#include <string.h>

#include "x86/insn.h"
#include "x86/lift.h"
#include "oracle/rng.h"
#include "runahead/user.h"

#define UOPS 8192
#define UOPS_FEW 300
#define LINE_BITS 7
#define HEAD 10
#define BIAS 0x7f0000000000ull
#define CODE 0x1000ull

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

struct input {
	const uint8_t *code;
	size_t n;
	uint64_t seed;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *bytes(void *ctx, uint64_t addr, size_t *n)
{
	const struct input *in = ctx;

	if (addr < CODE || addr >= CODE + in->n)
		return NULL;
	*n = in->n - (addr - CODE);
	return in->code + (addr - CODE);
}

static bool is_entry(void *ctx, uint64_t addr)
{
	(void)ctx;
	return addr % 3 == 0;
}

/* Memory holds what its address says; one line in eight is not there. Some of it points to code. */
static int read_memory(void *ctx, uint64_t addr, uint32_t n, uint64_t *val)
{
	const struct input *in = ctx;
	struct rng r = { in->seed ^ addr };

	*val = 0;
	if ((addr >> 6 & 7) == (in->seed & 7))
		return -1;
	*val = rng_chance(&r, 20) ? BIAS + CODE + rng_below(&r, in->n + 1) : rng_value(&r);
	if (n < 8)
		*val &= (1ull << 8 * n) - 1;
	return 0;
}

static int map_code(void *ctx, struct ra_state *s, uint64_t addr)
{
	const struct input *in = ctx;

	if (addr < BIAS + CODE || addr >= BIAS + CODE + in->n)
		return RA_STOP_UNMAPPED;
	s->image = 1;
	s->start = BIAS + CODE;
	s->end = s->start + in->n;
	s->bias = BIAS;
	return 0;
}

/* Follows the ways through an instruction from micro-op i on: each retires it once, or stops
 * before. */
static void walk(const struct uop *u, int n, int i, int retired, uint8_t *seen)
{
	const struct uop *v = &u[i];

	MUST(i >= 0 && i <= n);
	if (i == n) {
		MUST(retired == 1);
		return;
	}
	if (seen[i] & 1 << retired)
		return;
	seen[i] |= 1 << retired;
	MUST((v->op < UOP_N || v->op & UOP_HOT) &&
	     v->dst < (v->op >= UOP_VLD && v->op < UOP_N ? UV_N : UR_N) &&
	     ((v->op >= UOP_VLD && v->op < UOP_N) || v->dst != UR_ZERO || v->op == UOP_BT));
	if (v->op == UOP_STOP) {
		MUST(!retired && (uint64_t)v->imm < RA_STOP_N);
		return;
	}
	if (v->flags & UF_RETIRE)
		MUST(++retired == 1);
	switch (v->op) {
	case UOP_JMP:
	case UOP_JIND:
		MUST(retired);
		return;
	case UOP_BR:
		walk(u, n, i + (int)v->imm, retired, seen);
		return;
	case UOP_BRZ:
	case UOP_BRNZ:
	case UOP_BRCC:
		walk(u, n, i + (int)v->imm, retired, seen);
		break;
	default:
		break;
	}
	walk(u, n, i + 1, retired, seen);
}

static void check_lifting(const struct input *in)
{
	struct uop u[LIFT_MAX];
	char text[256];
	struct insn insn;
	size_t at = 0;
	int len, n;

	while (at < in->n && (len = insn_decode(&insn, in->code + at, in->n - at, CODE + at))) {
		uint8_t seen[LIFT_MAX] = { 0 };

		MUST(len <= INSN_MAX_LEN && (size_t)len <= in->n - at);
		insn_format(&insn, text, sizeof(text));
		n = lift_insn(&insn, (uint16_t)(in->seed >> at % 48 & FL_STATUS), u);
		MUST(n >= 1 && n <= LIFT_MAX);
		for (int i = 0; i < n; i++)
			uop_format(&u[i], text, sizeof(text));
		walk(u, n, 0, 0, seen);
		at += (size_t)len;
	}
}

/* What a window left behind reads as the header says. */
static void check_window(const struct ra_state *s, const struct code *code, uint32_t burst)
{
	uint32_t at = RA_OUT_HEAD, n = 0;
	struct code_site site;

	MUST(s->stop < RA_STOP_N && s->n <= burst && s->out_n <= RA_OUT_WORDS);
	MUST(s->r[UR_ZERO] == 0 && (s->known >> UR_ZERO & 1));
	MUST(s->stop != RA_STOP_FULL || s->n == burst);
	while (at < s->out_n) {
		uint64_t head = s->out[at++];

		MUST(code_site(code, (uint32_t)head, &site));
		if (head & RA_ARGS) {
			at += (uint32_t)__builtin_popcountll(head >> RA_ARGS_SHIFT & 63);
			continue;
		}
		at += (uint32_t)__builtin_popcountll(head & (RA_HAS_EA | RA_HAS_A | RA_HAS_B));
		n++;
	}
	MUST(at == s->out_n && n == s->n);
}

static void run(struct code *code, struct ra_state *s, struct input *in, uint32_t burst)
{
	struct ra_env env = { .code = code, .read = read_memory, .map = map_code, .ctx = in };
	struct rng r;
	uint32_t lifted = 0;

	for (int i = 0; i < 8; i++) {
		r.s = in->seed;
		for (uint32_t k = 0; k <= UR_GS; k++)
			s->r[k] = rng_chance(&r, 10) ? BIAS + CODE + rng_below(&r, in->n + 1)
						     : rng_value(&r);
		s->known = (uint32_t)(rng_u64(&r) | rng_u64(&r));
		ra_user_run(s, &env, BIAS + CODE, rng_u64(&r) & ~(uint64_t)FL_DF, burst);
		check_window(s, code, burst);
		if (s->stop != RA_STOP_MISS)
			break;
		lifted = code_lift(code, 1, s->target - BIAS, 16);
		if (!lifted)
			break;
	}
}

/* Lifts from anywhere, until long after there is no more room. */
static void lift_all(struct code *code, const struct input *in)
{
	for (uint64_t i = 0; i < in->n && i < 256; i++)
		code_lift(code, 1, CODE + i, 64);
	code_sweep(code, 1, CODE, CODE + in->n, 1024);
	MUST(code->nuop <= code->uop_cap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct uop uop[UOPS];
	static struct code_line line[1 << LINE_BITS];
	static struct ra_state s;
	struct input in = { 0 };
	struct code_source src = { .bytes = bytes, .ctx = &in };
	struct code code;
	struct err err;

	if (size <= HEAD || size > 4096)
		return 0;
	memcpy(&in.seed, data, 8);
	in.code = data + HEAD;
	in.n = size - HEAD;
	check_lifting(&in);
	memset(uop, 0, sizeof(uop));
	memset(line, 0, sizeof(line));
	MUST(!code_init(&code, uop, data[9] & 2 ? UOPS_FEW : UOPS, line, LINE_BITS, &err));
	if (data[9] & 1)
		src.entry = is_entry;
	MUST(!code_image(&code, 1, &src, &err));
	run(&code, &s, &in, data[8] ? data[8] : 1);
	lift_all(&code, &in);
	code_fini(&code);
	return 0;
}
