/* SPDX-License-Identifier: MIT */
/*
 * Single-steps a program and holds what its calls are given and give back, by caller and callee, against a recording
 * of the same run made with --observe calls and lists that hold all values.
 *
 * Usage: calls RECORDING BEGIN END COMMAND ARG…
 *   BEGIN END   addresses of an executable that lies where it says: the callers that are looked at
 * Of values that are addresses of the stack, which lies elsewhere under the engine, only the number is compared.
 * Prints each difference, then "calls N, lists N, values M, results R". Exit status 1 if there is one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "observe/calls.h"
#include "oracle/step.h"
#include "store/recording.h"

struct list {
	uint64_t *v;
	size_t n;
	bool stack;
};
struct pair { /* of caller and callee */
	uint64_t from, to;
	struct list of[CALL_VALUES];
};
struct open { /* the latest last */
	uint64_t at, behind;
	size_t pair;
};

static uint64_t begin_at, end_at;
static struct pair *pairs;
static struct open *opened;
static size_t npair, nopen, room;
static unsigned differences, lists, values, results;

static void *widen(void *old, size_t n, size_t size)
{
	void *p = realloc(old, n * size);

	if (!p)
		abort();
	return p;
}

static size_t pair_of(uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < npair; i++)
		if (pairs[i].from == from && pairs[i].to == to)
			return i;
	pairs = widen(pairs, npair + 1, sizeof(*pairs));
	memset(&pairs[npair], 0, sizeof(*pairs));
	pairs[npair].from = from;
	pairs[npair].to = to;
	return npair++;
}

static void put(size_t pair, int operand, uint64_t value, const struct step *s)
{
	struct list *l = &pairs[pair].of[operand - OPERAND_RETURN];

	l->v = widen(l->v, l->n + 1, sizeof(*l->v));
	l->v[l->n++] = value;
	if (value - (s->before->rsp - 0x20000) < 0x40000)
		l->stack = true;
}

static void call(const struct step *s)
{
	const struct user_regs_struct *r = s->before;
	const uint64_t arg[6] = { r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9 };
	size_t pair = pair_of(s->site->pc, s->after->rip);

	for (int i = 0; i < 6; i++)
		put(pair, OPERAND_ARG0 + i, arg[i], s);
	if (nopen == room) {
		room = room ? 2 * room : 64;
		opened = widen(opened, room, sizeof(*opened));
	}
	opened[nopen++] = (struct open){ s->after->rsp, s->site->pc + s->site->in.len, pair };
}

/* Of the calls that put their return address there, the last; there may be calls on other stacks above it. */
static void ret(const struct step *s)
{
	for (size_t i = nopen; i-- > 0;) {
		if (opened[i].at != s->before->rsp)
			continue;
		if (opened[i].behind == s->after->rip) {
			put(opened[i].pair, OPERAND_RETURN, s->before->rax, s);
			memmove(&opened[i], &opened[i + 1], (--nopen - i) * sizeof(*opened));
		}
		return;
	}
}

static void done(void *ctx, const struct step *s)
{
	(void)ctx;
	if (s->again || !s->after)
		return;
	if (s->site->in.cls == INSN_CALL || s->site->in.cls == INSN_ICALL)
		call(s);
	else if (s->site->in.cls == INSN_RET)
		ret(s);
}

static void complain(const struct pair *p, int operand, const char *what, uint64_t got,
		     uint64_t wanted)
{
	if (++differences <= 40)
		printf("%#" PRIx64 " to %#" PRIx64 " %s: %s: recorded %" PRIu64 ", true %" PRIu64
		       "\n",
		       p->from, p->to, operand_name[operand], what, got, wanted);
}

static size_t times(const struct list *l, uint64_t value)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->v[i] == value;
	return n;
}

static void hold(const struct pair *p, int operand, const struct hot *h)
{
	const struct list *l = &p->of[operand - OPERAND_RETURN];
	static struct hot_value top[HOT_CAPACITY_MAX];
	unsigned n = h ? hot_top(h, top, HOT_CAPACITY_MAX) : 0;

	lists++;
	results += operand == OPERAND_RETURN ? (unsigned)l->n : 0;
	if ((h ? hot_total(h) : 0) != l->n)
		complain(p, operand, "number of values", h ? hot_total(h) : 0, l->n);
	if (h && !hot_exact(h))
		complain(p, operand, "the list is not exact", n, l->n);
	for (unsigned i = 0; i < n && !l->stack; i++) {
		values++;
		if ((uint64_t)top[i].count != times(l, top[i].value))
			complain(p, operand, "count", (uint64_t)top[i].count,
				 times(l, top[i].value));
	}
}

static void check(const struct profile *profile, const struct pair *p)
{
	struct call_key key = { { .addr = p->from }, { .addr = p->to } };
	struct call *c;

	for (size_t i = 0; i < profile->nimage; i++)
		if (profile->image[i]->kind == IMAGE_FILE &&
		    strstr(profile->image[i]->path, "/truth"))
			key.from.image = key.to.image = (uint32_t)i;
	HASH_FIND(hh, profile->calls, &key, sizeof(key), c);
	for (int i = 0; i < CALL_VALUES; i++)
		if (p->of[i].n || (c && c->value[i]))
			hold(p, OPERAND_RETURN + i, c ? c->value[i] : NULL);
}

int main(int argc, char **argv)
{
	struct step_options o = { .start = "_", .done = done };
	unsigned looked_at = 0;
	struct profile p;
	struct err err;
	int status;

	if (argc < 5) {
		fprintf(stderr, "usage: calls RECORDING BEGIN END COMMAND ARG…\n");
		return 2;
	}
	begin_at = strtoull(argv[2], NULL, 16);
	end_at = strtoull(argv[3], NULL, 16);
	if (profile_init(&p, &err) || recording_read(argv[1], &p, &err)) {
		fprintf(stderr, "calls: %s\n", err.msg);
		return 2;
	}
	status = step_run(&o, argv + 4);
	if (status < 0 || WIFSIGNALED(status))
		return 2;
	for (size_t i = 0; i < npair; i++)
		if (pairs[i].from >= begin_at && pairs[i].from < end_at) {
			check(&p, &pairs[i]);
			looked_at++;
		}
	printf("calls %u, lists %u, values %u, results %u\n", looked_at, lists, values, results);
	profile_fini(&p);
	return differences || !looked_at;
}
