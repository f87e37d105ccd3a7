/* SPDX-License-Identifier: MIT */
/*
 * Single-steps a program and holds what its instructions leave, load and store, where, and what calls are given,
 * against a recording of the same run made with --observe values.
 *
 * Usage: values [-a] RECORDING BEGIN END COMMAND ARG…
 *   -a          the recording was made with --observe addresses: nothing else is in it
 *   BEGIN END   ELF virtual addresses: the code of the executable that is looked at
 * Where a list is exact it has to hold just those values, just so often; else bounds have to hold what is
 * true, as far as they are certain. Of values that are addresses of the stack, which lies elsewhere under the engine, only the number is
 * compared. Prints each difference, then "lists N, values M, of the stack K". Exit status 1 if there is one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "observe/profile.h"
#include "oracle/step.h"
#include "store/recording.h"

struct seen {
	uint64_t value, count;
};
struct list {
	struct seen *v;
	size_t n;
	uint64_t total;
	bool stack;
};
struct truth {
	struct list of[OPERAND_N];
};

static uint64_t begin_at, end_at;
static bool addresses;
static struct { /* the step under way */
	bool has, load, store;
	uint64_t address, value;
	unsigned size;
} memory;

static void put(struct truth *t, int operand, uint64_t value, const struct step *s)
{
	struct list *l = &t->of[operand];

	l->total++;
	if (value - (s->before->rsp - 0x20000) < 0x40000)
		l->stack = true;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].value == value) {
			l->v[i].count++;
			return;
		}
	l->v = realloc(l->v, (l->n + 1) * sizeof(*l->v));
	if (!l->v)
		abort();
	l->v[l->n++] = (struct seen){ value, 1 };
}

static struct truth *truth_of(struct step_site *s)
{
	if (!s->user)
		s->user = calloc(1, sizeof(struct truth));
	if (!s->user)
		abort();
	return s->user;
}

/* The general register that a register is a part of, by its number in encoding; -1 for others. */
static int number_of(ZydisRegister r)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	return ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64 ? ZydisRegisterGetId(whole)
								    : -1;
}

static uint64_t whole(const struct user_regs_struct *r, int n)
{
	const unsigned long long v[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
					   r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
					   r->r12, r->r13, r->r14, r->r15 };

	return v[n];
}

static uint64_t part(const struct user_regs_struct *regs, ZydisRegister r)
{
	uint64_t v = whole(regs, number_of(r));

	if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
		return v >> 8 & 0xff;
	switch (ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, r)) {
	case 8:
		return v & 0xff;
	case 16:
		return v & 0xffff;
	case 32:
		return v & 0xffffffff;
	default:
		return v;
	}
}

static bool is_control(const struct insn *in)
{
	return in->cls == INSN_BRANCH || in->cls == INSN_JUMP || in->cls == INSN_IJUMP ||
	       in->cls == INSN_CALL || in->cls == INSN_ICALL || in->cls == INSN_RET ||
	       in->cls == INSN_SYSCALL;
}

static bool is_string(const struct insn *in)
{
	return in->z.meta.category == ZYDIS_CATEGORY_STRINGOP ||
	       in->z.attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static uint64_t address_of(const ZydisDecodedOperand *o, const struct insn *in,
			   const struct user_regs_struct *r, uint64_t pc)
{
	uint64_t a = o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0;

	if (o->mem.base == ZYDIS_REGISTER_RIP)
		return a + pc + in->len;
	if (o->mem.base != ZYDIS_REGISTER_NONE)
		a += part(r, o->mem.base);
	if (o->mem.index != ZYDIS_REGISTER_NONE)
		a += part(r, o->mem.index) * o->mem.scale;
	if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP &&
	    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		a -= o->size / 8;
	if (in->z.mnemonic == ZYDIS_MNEMONIC_POP && o->mem.base == ZYDIS_REGISTER_RSP &&
	    o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		a += o->size / 8; /* rsp is what it is after its step */
	return a;
}

/* Before it runs: where it will access memory, and what is there. */
static void ahead(void *ctx, const struct step *s)
{
	const struct insn *in = &s->site->in;

	(void)ctx;
	memset(&memory, 0, sizeof(memory));
	if (s->site->addr < begin_at || s->site->addr >= end_at || is_control(in))
		return;
	for (unsigned i = 0; i < in->z.operand_count && !memory.has; i++) {
		const ZydisDecodedOperand *o = &in->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
		    o->mem.segment == ZYDIS_REGISTER_FS ||
		    in->z.meta.category == ZYDIS_CATEGORY_NOP ||
		    in->z.meta.category == ZYDIS_CATEGORY_WIDENOP)
			continue;
		memory.has = true;
		memory.address = address_of(o, in, s->before, s->site->pc);
		memory.size = o->size / 8 < 8 ? o->size / 8 : 8;
		memory.load = !is_string(in) && o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
		memory.store = !is_string(in) && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		if (memory.load && !step_read(s->pid, memory.address, &memory.value, memory.size))
			memory.has = false; /* it will fault */
	}
}

/* A call's arguments are its callee's. */
static struct step_site callees[256];

static void arguments(const struct step *s)
{
	static const int reg[6] = { 7, 6, 2, 1, 8, 9 };
	uint64_t to = s->after->rip - s->site->pc + s->site->addr;
	size_t i = 0;

	if (to < begin_at || to >= end_at)
		return;
	while (callees[i].addr && callees[i].addr != to)
		i++;
	if (i == sizeof(callees) / sizeof(*callees) - 1)
		abort();
	callees[i].addr = to;
	for (int k = 0; k < 6; k++)
		put(truth_of(&callees[i]), OPERAND_ARG0 + k, whole(s->before, reg[k]), s);
}

static void done(void *ctx, const struct step *s)
{
	const struct insn *in = &s->site->in;
	struct truth *t;
	uint64_t v = 0;
	int results = 0;

	(void)ctx;
	if (s->again || !s->after)
		return;
	if (!s->site->anon && (in->cls == INSN_CALL || in->cls == INSN_ICALL))
		arguments(s);
	if (s->site->addr < begin_at || s->site->addr >= end_at)
		return;
	t = truth_of(s->site);
	if (memory.has) {
		put(t, OPERAND_ADDRESS, memory.address, s);
		if (memory.load)
			put(t, OPERAND_LOAD, memory.value, s);
		if (memory.store && step_read(s->pid, memory.address, &v, memory.size))
			put(t, OPERAND_STORE, v, s);
	}
	for (unsigned i = 0; i < in->z.operand_count && !is_control(in) && !is_string(in); i++) {
		const ZydisDecodedOperand *o = &in->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) ||
		    number_of(o->reg.value) < 0 || number_of(o->reg.value) == 4 || results == 2)
			continue;
		put(t, results++ ? OPERAND_RESULT2 : OPERAND_RESULT, part(s->after, o->reg.value),
		    s);
	}
	if (in->cls == INSN_RET)
		put(t, OPERAND_RETURN, s->before->rax, s);
	if (in->cls == INSN_IJUMP || in->cls == INSN_ICALL)
		put(t, OPERAND_TARGET, s->after->rip, s);
}

static unsigned differences, lists, values, on_stack;
static const struct profile *profile;
static uint32_t image;

static void complain(const struct step_site *s, int operand, const char *what, uint64_t value,
		     double got, double wanted)
{
	if (++differences <= 40)
		printf("%#" PRIx64 " %s: %s (%#" PRIx64 "): recorded %.17g, true %.17g\n", s->addr,
		       operand_name[operand], what, value, got, wanted);
}

static void hold(const struct step_site *s, int operand, struct list *l, struct hot *h)
{
	struct hot_value top[HOT_CAPACITY_MAX];
	unsigned n = h ? hot_top(h, top, HOT_CAPACITY_MAX) : 0;
	bool certain = h && hot_confidence(h) == 1;

	lists++;
	if ((h ? hot_total(h) : 0) != l->total) {
		complain(s, operand, "number of values", 0, h ? (double)hot_total(h) : 0,
			 (double)l->total);
		return;
	}
	if (l->stack) {
		on_stack++;
		return;
	}
	if (h && hot_exact(h) && n != l->n)
		complain(s, operand, "distinct values", 0, n, (double)l->n);
	for (unsigned i = 0; i < n; i++) {
		double count = 0;

		for (size_t k = 0; k < l->n; k++)
			if (l->v[k].value == top[i].value)
				count = (double)l->v[k].count;
		values++;
		if (count < top[i].low || (certain && count > top[i].high) ||
		    (hot_exact(h) && count != top[i].count))
			complain(s, operand, hot_exact(h) ? "count" : "bounds", top[i].value,
				 top[i].count, count);
	}
	for (size_t k = 0; k < l->n; k++) {
		bool listed = false;

		for (unsigned i = 0; i < n; i++)
			listed |= top[i].value == l->v[k].value;
		if (h && certain && !listed && (double)l->v[k].count > hot_rest_bound(h))
			complain(s, operand, "left out", l->v[k].value, hot_rest_bound(h),
				 (double)l->v[k].count);
	}
}

static void check(void *ctx, struct step_site *s)
{
	struct site_id id = { .image = image, .addr = s->addr };
	const struct site *r;
	struct truth *t = s->user;

	(void)ctx;
	if (!t)
		return;
	r = profile_site_find(profile, id);
	for (int o = 0; o < OPERAND_N; o++) {
		if ((o >= OPERAND_ARG0) != (s->count == 0))
			continue; /* arguments are kept apart */
		if (addresses && o != OPERAND_ADDRESS && !(r && site_hot(r, o)))
			continue;
		if (t->of[o].total || (r && site_hot(r, o)))
			hold(s, o, &t->of[o], r ? site_hot(r, o) : NULL);
	}
}

int main(int argc, char **argv)
{
	struct step_options o = { .start = "_", .ahead = ahead, .done = done };
	struct profile p;
	struct err err;
	int status;

	if (argc > 1 && !strcmp(argv[1], "-a")) {
		addresses = true;
		argv++;
		argc--;
	}
	if (argc < 5) {
		fprintf(stderr, "usage: values [-a] RECORDING BEGIN END COMMAND ARG…\n");
		return 2;
	}
	begin_at = strtoull(argv[2], NULL, 16);
	end_at = strtoull(argv[3], NULL, 16);
	if (profile_init(&p, &err) || recording_read(argv[1], &p, &err)) {
		fprintf(stderr, "values: %s\n", err.msg);
		return 2;
	}
	profile = &p;
	for (size_t i = 0; i < p.nimage; i++)
		if (p.image[i]->kind == IMAGE_FILE && strstr(p.image[i]->path, "/truth"))
			image = (uint32_t)i;
	status = step_run(&o, argv + 4);
	if (status < 0 || WIFSIGNALED(status))
		return 2;
	step_sites(check, NULL);
	for (size_t i = 0; callees[i].addr; i++)
		check(NULL, &callees[i]);
	printf("lists %u, values %u, of the stack %u\n", lists, values, on_stack);
	profile_fini(&p);
	return differences != 0;
}
