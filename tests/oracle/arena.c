/* SPDX-License-Identifier: MIT */
#include "arena.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "x86/lift.h"
#include "runahead/user.h"
#include "slot.h"

int arena_init(struct arena *a)
{
	memset(a, 0, sizeof(*a));
	a->lane = calloc(LANES, sizeof(*a->lane));
	a->uop = calloc(1 + LANES * LANE_UOPS, sizeof(*a->uop));
	a->line = calloc(1u << LANE_LINE_BITS, sizeof(*a->line));
	if (a->lane && a->uop && a->line)
		return 0;
	arena_fini(a);
	return -1;
}

void arena_fini(struct arena *a)
{
	free(a->lane);
	free(a->uop);
	free(a->line);
	memset(a, 0, sizeof(*a));
}

void arena_clear(struct arena *a)
{
	memset(a->line, 0, sizeof(*a->line) << LANE_LINE_BITS);
	a->used = 0;
}

static void put_entry(struct arena *a, uint32_t image, uint64_t addr, uint32_t uop)
{
	uint64_t key = CODE_KEY(image, addr);
	struct code_line *l;
	uint32_t i = 0, k = code_place(addr);

	do {
		assert(i < CODE_PROBES);
		l = &a->line[code_record(key, LANE_LINE_BITS, i++) & ((1u << LANE_LINE_BITS) - 1)];
	} while (l->key && l->key != key);
	l->key = key;
	while (l->slot[k])
		k++;
	assert(k < code_place(addr) + CODE_SLOTS);
	l->slot[k] = CODE_SLOT(uop, addr);
}

static uint32_t put_preludes(struct uop *u, uint32_t at, const struct trial *t)
{
	for (uint32_t i = 0; i < t->nprelude; i++) {
		const struct prelude *p = &t->prelude[i];

		if (!p->unknown)
			u[at++] = (struct uop){ .op = UOP_MOV,
						.flags = UF_IMM | 3,
						.dst = UR_T10,
						.a = UR_ZERO,
						.imm = (int64_t)p->value };
		u[at++] = (struct uop){ .op = p->unknown ? UOP_STU : UOP_ST,
					.flags = p->w,
					.dst = UR_T10,
					.a = UR_ZERO,
					.b = UR_ZERO,
					.imm = (int64_t)p->addr };
	}
	for (uint32_t i = 0; i < t->nvec; i++) {
		uint32_t k = t->vec_known[i], mask = k >= 32 * 8;

		u[at++] = (struct uop){ .op = UOP_MOV,
					.flags = UF_IMM | 3,
					.dst = UR_T10,
					.a = UR_ZERO,
					.imm = (int64_t)t->vec[k] };
		u[at++] = (struct uop){ .op = UOP_VPUT,
					.flags = 3,
					.dst = (uint8_t)(mask ? UV_K0 + k - 32 * 8 : k / 8),
					.b = UR_T10,
					.imm = mask ? 0 : k % 8 * 8 | UV_INSERT };
	}
	if (t->fl_unk)
		u[at++] = (struct uop){ .op = UOP_UNKFL, .imm = t->fl_unk };
	/* what an instruction does not set itself is wrong */
	for (uint32_t i = UR_EA; i <= UR_T10; i++)
		u[at++] = (struct uop){ .op = UOP_MOV,
					.flags = UF_IMM | 3,
					.dst = (uint8_t)i,
					.a = UR_ZERO,
					.imm = (int64_t)(0x5a5a5a5a00a5a5a5ull + i) };
	return at;
}

/* The tails of the three ways out, each found at its own micro-op. */
static uint32_t put_tails(struct uop *u, uint32_t at, uint32_t tail[3])
{
	static const uint32_t flag[6] = { FL_CF, FL_PF, FL_AF, FL_ZF, FL_SF, FL_OF };

	for (uint32_t k = 0; k < 3; k++) {
		tail[k] = at;
		u[at++] = (struct uop){
			.op = UOP_MOV, .flags = UF_IMM | 3, .dst = UR_T6, .a = UR_ZERO, .imm = k
		};
		u[at++] = (struct uop){ .op = UOP_BR, .imm = 5 - 2 * (int64_t)k };
	}
	for (uint32_t i = 0; i < 6; i++)
		u[at++] = (struct uop){
			.op = UOP_GETFL, .flags = 3, .dst = (uint8_t)(UR_T0 + i), .imm = flag[i]
		};
	u[at++] = (struct uop){ .op = UOP_STOP, .imm = ARENA_DONE };
	return at;
}

/* Direct branches: as code_lift() links them. */
static void link_branches(struct uop *u, uint32_t n, const struct trial *t, uint32_t base,
			  const uint32_t tail[3])
{
	uint64_t code = (uintptr_t)t->place.code - t->bias;

	for (uint32_t i = 0; i < n; i++) {
		if (u[i].op != UOP_JCC && !(u[i].op == UOP_JMP && (u[i].flags & UF_RETIRE)))
			continue;
		if (t->in.target == code + NATIVE_AFTER_AT)
			u[i].imm = base + tail[NATIVE_AFTER];
		if (t->in.target == code + NATIVE_BEFORE_AT)
			u[i].imm = base + tail[NATIVE_BEFORE];
	}
}

void arena_put(struct arena *a, uint32_t n, const struct trial *t)
{
	uint32_t base = 1 + n * LANE_UOPS, at, end, tail[3], image = n + 1;
	uint64_t code = (uintptr_t)t->place.code - t->bias;
	struct lane *l = &a->lane[n];
	struct uop *u = a->uop + base;
	int nlift;

	at = put_preludes(u, 0, t);
	nlift = lift_insn(&t->in, t->fl_live, u + at);
	assert(nlift >= 1 && nlift <= LIFT_MAX);
	end = put_tails(u, at + (uint32_t)nlift, tail);
	assert(end <= LANE_UOPS);
	(void)end;
	link_branches(u + at, (uint32_t)nlift, t, base, tail);
	put_entry(a, image, t->in.addr, base);
	put_entry(a, image, t->in.addr + t->len, base + tail[NATIVE_FALL]);
	put_entry(a, image, code + NATIVE_BEFORE_AT, base + tail[NATIVE_BEFORE]);
	put_entry(a, image, code + NATIVE_AFTER_AT, base + tail[NATIVE_AFTER]);
	l->ip = t->in.addr + t->bias;
	l->rflags = t->regs.flags ^ t->fl_unk;
	l->burst = 2;
	memcpy(l->ra.r, t->regs.r, sizeof(t->regs.r));
	l->ra.r[UR_FS] = t->fs;
	l->ra.r[UR_GS] = t->gs;
	l->ra.known = t->known;
	for (uint32_t i = 0; i < UR_BIAS; i++) /* nobody is to look at it */
		if (!(t->known >> i & 1))
			l->ra.r[i] = ~l->ra.r[i] - 0x1234;
	for (uint32_t i = 0; i < UV_N * 8; i++)
		l->ra.v[i / 8][i % 8] = 0x1234567ull * i;
	l->ra.key[0] = (uintptr_t)t->place.code | image;
	l->ra.key[1] = t->bias;
	a->used++;
}

/* The user build's surroundings: the same as those in tests/bpf/interp.bpf.c. */

static int read_place(void *ctx, uint64_t addr, uint32_t bytes, uint64_t *val)
{
	const struct trial *t = ctx;
	uint64_t off = addr - (uintptr_t)t->place.data;

	*val = 0;
	if (off > TRIAL_DATA - bytes)
		return -1;
	memcpy(val, t->place.data + off, bytes);
	return 0;
}

static int map_lane(void *ctx, struct ra_state *s, uint64_t addr)
{
	(void)ctx;
	s->start = s->key[0] & ~(LANE_CODE - 1ull);
	s->end = s->start + LANE_CODE;
	s->bias = s->key[1];
	s->image = (uint32_t)s->key[0] & (LANE_CODE - 1);
	return addr - s->start < LANE_CODE ? 0 : RA_STOP_UNMAPPED;
}

void arena_run(struct arena *a, uint32_t n, const struct trial *t)
{
	struct code code = { .uop = a->uop,
			     .uop_cap = 1 + LANES * LANE_UOPS,
			     .nuop = 1 + LANES * LANE_UOPS,
			     .line = a->line,
			     .line_bits = LANE_LINE_BITS };
	struct ra_env env = {
		.code = &code, .read = read_place, .map = map_lane, .ctx = (void *)(uintptr_t)t
	};
	struct lane *l = &a->lane[n];

	ra_user_run(&l->ra, &env, l->ip, l->rflags, l->burst);
}

const char *arena_compare(const struct arena *a, const struct arena *b, uint32_t n)
{
	const struct ra_state *s = &a->lane[n].ra, *o = &b->lane[n].ra;

	if (s->stop != o->stop)
		return "stop reason";
	if (s->n != o->n || s->uops != o->uops)
		return "number of micro-ops";
	if (s->known != o->known)
		return "which registers are known";
	for (uint32_t i = 0; i < UR_N; i++)
		if ((s->known >> i & 1) && s->r[i] != o->r[i])
			return "a register";
	if (s->vlive != o->vlive)
		return "which vector registers are known";
	for (uint32_t i = 0; i < UV_N; i++)
		if ((s->vlive >> i & 1) && s->vknown[i] != o->vknown[i])
			return "what of a vector register is known";
	if (s->out_n != o->out_n || memcmp(&s->out[RA_OUT_HEAD], &o->out[RA_OUT_HEAD],
					   (s->out_n - RA_OUT_HEAD) * sizeof(s->out[0])))
		return "what was recorded";
	for (uint32_t i = 0; i < RA_SB_SLOTS; i++) {
		const struct ra_slot *e = &s->sb[i], *f = &o->sb[i];

		if (slot_used(s, e) != slot_used(o, f))
			return "the store buffer";
		if (slot_used(s, e) && (slot_addr(e) != slot_addr(f) || e->data != f->data ||
					e->valid != f->valid || e->unknown != f->unknown))
			return "a store";
	}
	return NULL;
}
