/* SPDX-License-Identifier: MIT */
/*
 * Single-steps a program, and runs it under the engine with a consumer of what is executed, in order: both have to
 * tell the same, one after the other. Of accesses that is where, how much, and which kind; of branches whether they were
 * taken; of indirect jumps, calls and returns where they went; and which lines of code were entered.
 *
 * Usage: order BEGIN END DATA COMMAND ARG…
 *   BEGIN END   run-time addresses: the code that is looked at
 *   DATA        where the program's data ends
 * The engine, assay-exact, has to lie beside this program. Stack and heap lie elsewhere under it: addresses there are
 * compared by how far they are from the first. Prints the first differences, then "events N, lines M".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exact/exact.h"
#include "exact/order.h"
#include "engine/shared.h"
#include "oracle/step.h"
#include "sampler/spawn.h"

#define LINE 6

struct item {
	uint64_t site, value, size;
	unsigned kind;
};
struct list {
	struct item *v;
	size_t n, room;
};
static struct told {
	struct list events, lines;
	uint64_t first[2]; /* addresses of the heap, of the stack */
} stepped, recorded;
static uint64_t begin_at, end_at, data_end;

static struct item *add(struct list *l, uint64_t site, unsigned kind, uint64_t value, uint64_t size)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 1024;
		l->v = realloc(l->v, l->room * sizeof(*l->v));
		if (!l->v)
			abort();
	}
	l->v[l->n] = (struct item){ site, value, size, kind };
	return &l->v[l->n++];
}

static bool inside(uint64_t at)
{
	return at >= begin_at && at < end_at;
}

static void add_access(struct told *t, uint64_t site, unsigned kind, uint64_t at, uint64_t size)
{
	uint64_t *first = &t->first[at >> 40 == 0x7f];

	if (at < data_end) {
		add(&t->events, site, kind, at, size);
		return;
	}
	if (!*first)
		*first = at;
	add(&t->events, site, kind, at - *first, size);
}

static void add_line(struct told *t, uint64_t at)
{
	struct list *l = &t->lines;

	if (!l->n || l->v[l->n - 1].value != at >> LINE)
		add(l, at, ORDER_FETCH, at >> LINE, 0);
}

/* Stepping. */

static struct item *repeated; /* its accesses, of the step under way */
static unsigned nrepeated;
static uint64_t count_before;
static struct {
	unsigned kind;
	uint64_t at, size;
} access_of[4];
static unsigned naccess;

static uint64_t register_of(const struct user_regs_struct *r, ZydisRegister reg)
{
	const unsigned long long v[16] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
					   r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
					   r->r12, r->r13, r->r14, r->r15 };
	int n = ZydisRegisterGetId(
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg));

	return ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, reg) == 64 ? v[n] : (uint32_t)v[n];
}

static uint64_t address_of(const ZydisDecodedOperand *o, const struct step *s)
{
	const struct insn *in = &s->site->in;
	const struct user_regs_struct *r = s->before;
	uint64_t a = o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0;
	bool pushes = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		      o->mem.base == ZYDIS_REGISTER_RSP &&
		      o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (o->mem.base == ZYDIS_REGISTER_RIP)
		a += s->site->pc + in->len;
	else if (o->mem.base != ZYDIS_REGISTER_NONE)
		a += register_of(r, o->mem.base);
	if (o->mem.index != ZYDIS_REGISTER_NONE)
		a += register_of(r, o->mem.index) * o->mem.scale;
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		a += r->fs_base;
	if (pushes)
		a -= o->size / 8;
	if (in->z.mnemonic == ZYDIS_MNEMONIC_POP && o->mem.base == ZYDIS_REGISTER_RSP &&
	    o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		a += o->size / 8;
	return a;
}

static bool accesses(const struct insn *in, const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
	       in->z.address_width == 64 && o->mem.segment != ZYDIS_REGISTER_GS &&
	       in->z.meta.category != ZYDIS_CATEGORY_NOP &&
	       in->z.meta.category != ZYDIS_CATEGORY_WIDENOP &&
	       in->z.mnemonic != ZYDIS_MNEMONIC_XLAT && in->z.mnemonic != ZYDIS_MNEMONIC_CLFLUSH &&
	       in->z.mnemonic != ZYDIS_MNEMONIC_CLFLUSHOPT &&
	       in->z.mnemonic != ZYDIS_MNEMONIC_CLWB &&
	       !((in->z.mnemonic == ZYDIS_MNEMONIC_BT || in->z.mnemonic == ZYDIS_MNEMONIC_BTS ||
		  in->z.mnemonic == ZYDIS_MNEMONIC_BTR || in->z.mnemonic == ZYDIS_MNEMONIC_BTC) &&
		 in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER);
}

/* Before it runs: its accesses, loads first. */
static void ahead(void *ctx, const struct step *s)
{
	const struct insn *in = &s->site->in;

	(void)ctx;
	if (!inside(s->site->pc) || (nrepeated && s->again))
		return;
	naccess = 0;
	for (unsigned stores = 0; stores < 2; stores++)
		for (unsigned i = 0; i < in->z.operand_count; i++) {
			const ZydisDecodedOperand *o = &in->op[i];
			bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
			bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
			bool prefetch = in->z.meta.category == ZYDIS_CATEGORY_PREFETCH;

			if (!accesses(in, o) || (writes && !reads) != stores)
				continue;
			access_of[naccess].kind = prefetch	    ? ORDER_PREFETCH
						  : reads && writes ? ORDER_MODIFY
						  : reads	    ? ORDER_LOAD
								    : ORDER_STORE;
			access_of[naccess].at = address_of(o, s);
			access_of[naccess++].size = o->size / 8;
		}
}

static bool repeats(const struct insn *in)
{
	return in->z.meta.category == ZYDIS_CATEGORY_STRINGOP &&
	       in->z.attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

static void done(void *ctx, const struct step *s)
{
	const struct insn *in = &s->site->in;
	struct told *t = &stepped;
	uint64_t pc = s->site->pc;
	unsigned from = 0;

	(void)ctx;
	if (!s->after || !inside(pc))
		return;
	if (repeats(in)) {
		/* rounds: as many elements as rcx has lost */
		if (!s->again) {
			for (uint64_t at = pc; at < pc + in->len; at++)
				add_line(t, at);
			nrepeated = 0;
			count_before = s->before->rcx;
			if (s->before->rcx)
				for (; from < naccess; from++)
					add_access(t, pc, access_of[from].kind, access_of[from].at,
						   access_of[from].size);
			nrepeated = from;
		}
		repeated = &t->events.v[t->events.n - nrepeated];
		for (unsigned i = 0; i < nrepeated; i++)
			repeated[i].size = access_of[i].size * (count_before - s->after->rcx);
		return;
	}
	nrepeated = 0;
	for (uint64_t at = pc; at < pc + in->len; at++)
		add_line(t, at);
	for (; from < naccess; from++)
		add_access(t, pc, access_of[from].kind, access_of[from].at, access_of[from].size);
	if (in->cls == INSN_BRANCH)
		add(&t->events, pc, ORDER_BRANCH, s->after->rip != pc + in->len, 0);
	if (in->cls == INSN_IJUMP)
		add(&t->events, pc, ORDER_JUMP, s->after->rip, 0);
	if (in->cls == INSN_CALL || in->cls == INSN_ICALL)
		add(&t->events, pc, in->cls == INSN_CALL ? ORDER_CALL : ORDER_ICALL, s->after->rip,
		    0);
	if (in->cls == INSN_RET)
		add(&t->events, pc, ORDER_RETURN, s->after->rip, 0);
}

/* The engine. */

static void *site_of(void *arg, struct site *s)
{
	(void)arg;
	return s;
}

static void *process_of(void *arg, uint32_t pid)
{
	(void)pid;
	return arg;
}

static void *thread_of(void *arg, void *process)
{
	(void)process;
	return arg;
}

static void ends(void *arg, void *what)
{
	(void)arg;
	(void)what;
}

static int take(void *arg, void *thread, const struct order_event *e, size_t n)
{
	struct told *t = arg;

	(void)thread;
	for (size_t i = 0; i < n; i++, e++) {
		const struct site *s = e->site;
		bool control = e->kind >= ORDER_BRANCH;

		if (e->kind == ORDER_FETCH && inside(e->at))
			add_line(t, e->at);
		else if (!inside(control ? e->at : s->id.addr))
			continue;
		else if (e->kind == ORDER_BRANCH)
			add(&t->events, e->at, e->kind, e->taken, 0);
		else if (control)
			add(&t->events, e->at, e->kind, e->to, 0);
		else if (e->kind != ORDER_FETCH)
			add_access(t, s->id.addr, e->kind, e->at, e->size);
	}
	return 0;
}

static int record(char *const command[], struct err *err)
{
	struct order_consumer c = { .arg = &recorded,
				    .kinds = (1u << ORDER_KIND_N) - 1,
				    .shift = LINE,
				    .site = site_of,
				    .process = process_of,
				    .thread = thread_of,
				    .take = take,
				    .thread_end = ends,
				    .process_end = ends };
	struct spawn child = { .pid = -1, .go = -1, .result = -1 };
	struct profile p;
	struct exact *e;
	char *const *argv;
	sigset_t mask;
	int status, rc = 0;

	if (profile_init(&p, err))
		return -1;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	e = exact_open(EXACT_COUNTS, NULL, &c, &p, err);
	argv = e ? exact_command(e, command, err) : NULL;
	if (!argv || spawn_hold(&child, argv, &mask, err) || spawn_go(&child, argv, err))
		return -1;
	while (!rc && !waitpid(child.pid, &status, WNOHANG)) {
		exact_wait(e, 20);
		rc = exact_poll(e, false, err);
	}
	rc = rc || exact_finish(e, err);
	exact_close(e);
	profile_fini(&p);
	return rc ? -1 : 0;
}

static unsigned compare(const struct list *a, const struct list *b, const char *what)
{
	unsigned differences = 0;

	for (size_t i = 0; i < a->n && i < b->n && differences < 10; i++) {
		const struct item *x = &a->v[i], *y = &b->v[i];

		if (x->kind == y->kind && x->value == y->value && x->size == y->size &&
		    (x->kind == ORDER_FETCH || x->site == y->site))
			continue;
		printf("%s %zu: stepped %#" PRIx64 " kind %u %#" PRIx64 " %" PRIu64
		       ", recorded %#" PRIx64 " kind %u %#" PRIx64 " %" PRIu64 "\n",
		       what, i, x->site, x->kind, x->value, x->size, y->site, y->kind, y->value,
		       y->size);
		differences++;
	}
	if (a->n != b->n) {
		printf("%s: stepped %zu, recorded %zu\n", what, a->n, b->n);
		differences++;
	}
	return differences;
}

int main(int argc, char **argv)
{
	struct step_options o = { .start = "_", .ahead = ahead, .done = done };
	unsigned differences;
	struct err err = { 0 };
	int status;

	if (argc < 5) {
		fprintf(stderr, "usage: order BEGIN END DATA COMMAND ARG…\n");
		return 2;
	}
	begin_at = strtoull(argv[1], NULL, 16);
	end_at = strtoull(argv[2], NULL, 16);
	data_end = strtoull(argv[3], NULL, 16);
	status = step_run(&o, argv + 4);
	if (status < 0 || WIFSIGNALED(status))
		return 2;
	if (record(argv + 4, &err)) {
		printf("%s\n", err.msg);
		return 2;
	}
	differences = compare(&stepped.events, &recorded.events, "event") +
		      compare(&stepped.lines, &recorded.lines, "line");
	printf("events %zu, lines %zu\n", stepped.events.n, stepped.lines.n);
	return differences || !stepped.events.n ? 1 : 0;
}
