/* SPDX-License-Identifier: MIT */
#include "cfg/walk.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/search.h"

#define SCAN_MAX 4096 /* bytes of a separate part that are searched for jumps back */
/* largest number of calls into the procedure itself, and of second returns */
#define WALK_ROOTS 65536

/* Makes room for one more element in an array of a walk. After one failure all further ones fail. */
#define ROOM(w, v, n, cap) \
	({ \
		(w)->failed = (w)->failed || !array_reserve(v, cap, (n) + 1); \
		!(w)->failed; \
	})

/* Parts of the procedure. */

static bool add_part(struct walk *w, uint64_t start, uint64_t end)
{
	struct walk_part *p = &w->part[w->nparts];
	uint64_t size = end - start;

	for (uint32_t i = 0; i < w->nparts; i++) {
		if (start < w->part[i].end && w->part[i].start < end)
			return false;
		size += w->part[i].end - w->part[i].start;
	}
	if (w->nparts == WALK_PARTS || start >= end || size > CFG_CODE_MAX)
		return false;
	*p = (struct walk_part){ start, end, calloc(end - start, sizeof(*p->insn)) };
	if (!p->insn) {
		w->failed = true;
		return false;
	}
	w->nparts++;
	return true;
}

const struct walk_part *walk_part_at(const struct walk *w, uint64_t addr)
{
	for (uint32_t i = 0; i < w->nparts; i++)
		if (addr - w->part[i].start < w->part[i].end - w->part[i].start)
			return &w->part[i];
	return NULL;
}

static uint32_t *slot_of(const struct walk *w, uint64_t addr)
{
	const struct walk_part *p = walk_part_at(w, addr);

	return p ? &p->insn[addr - p->start] : NULL;
}

uint32_t walk_at(const struct walk *w, uint64_t addr)
{
	const uint32_t *slot = slot_of(w, addr);

	return slot && *slot ? *slot - 1 : CFG_NONE;
}

bool walk_is_inside(const struct walk *w, uint64_t addr)
{
	if (walk_at(w, addr) != CFG_NONE)
		return false;
	for (unsigned back = 1; back < INSN_MAX_LEN; back++) {
		uint32_t i = walk_at(w, addr - back);

		if (i != CFG_NONE && w->insn[i].len > back && !w->insn[i].swept)
			return true;
	}
	return false;
}

/* Whether the name is NAME.cold or NAME.cold.3: code that the compiler placed elsewhere. */
static bool is_cold_of(const char *name, const char *of)
{
	size_t n = strlen(of);
	const char *rest = name + n;

	if (!n || strncmp(name, of, n) != 0 || strncmp(rest, ".cold", 5) != 0)
		return false;
	for (rest += 5; *rest; rest++)
		if (*rest != '.' && !isdigit((unsigned char)*rest))
			return false;
	return true;
}

/* Whether the code of p jumps into the middle of the walked procedure. */
static bool jumps_back(struct walk *w, const struct cfg_proc *p)
{
	const struct walk_part *home = &w->part[0];
	uint64_t end = p->end - p->start > SCAN_MAX ? p->start + SCAN_MAX : p->end;
	struct code_at at = { 0 };
	struct code_insn in;

	for (uint64_t addr = p->start; addr < end; addr += in.len) {
		if (!code_decode(w->code, &at, addr, &in))
			return false;
		if ((in.cls == INSN_JUMP || in.cls == INSN_BRANCH) && in.target > home->start &&
		    in.target < home->end)
			return true;
	}
	return false;
}

static bool is_unnamed(const char *name)
{
	return !name[0] || !strncmp(name, "sub_", 4);
}

bool walk_adopt(struct walk *w, uint64_t addr)
{
	struct cfg_proc p;

	if (w->nparts == WALK_PARTS || !w->code->src.proc(w->code->src.ctx, addr, &p) ||
	    addr < p.start || addr >= p.end)
		return false;
	if (!is_cold_of(p.name, w->proc.name) &&
	    !(is_unnamed(p.name) && is_unnamed(w->proc.name) && jumps_back(w, &p)))
		return false;
	return add_part(w, p.start, p.end);
}

/* Instructions and links. */

static void add_link(struct walk *w, uint32_t from, uint32_t to)
{
	if (!ROOM(w, w->link, w->nlinks, w->link_cap))
		return;
	invariant(from < w->n && to < w->n);
	invariant(w->insn[to].into == CFG_NONE || w->insn[to].into < w->nlinks);
	w->link[w->nlinks] = (struct walk_link){ from, w->insn[to].into };
	w->insn[to].into = w->nlinks++;
}

static void add_todo(struct walk *w, uint32_t insn)
{
	if (ROOM(w, w->todo, w->ntodo, w->todo_cap))
		w->todo[w->ntodo++] = insn;
}

static void add_jump(struct walk *w, uint32_t insn)
{
	if (!ROOM(w, w->jump, w->njumps, w->jump_cap))
		return;
	invariant(w->insn[insn].jump == CFG_NONE);
	w->insn[insn].jump = w->njumps;
	w->jump[w->njumps++] = (struct walk_jump){ .insn = insn };
}

static void add_root(struct walk *w, uint64_t addr, int kind)
{
	if (ROOM(w, w->root, w->nroots, w->root_cap))
		w->root[w->nroots++] = (struct walk_root){ addr, (uint8_t)kind };
}

static uint32_t add_insn(struct walk *w, uint64_t addr, const struct code_insn *in)
{
	if (!ROOM(w, w->insn, w->n, w->cap))
		return CFG_NONE;
	w->insn[w->n] = (struct walk_insn){ .addr = addr,
					    .target = in->target,
					    .next = CFG_NONE,
					    .to = CFG_NONE,
					    .into = CFG_NONE,
					    .jump = CFG_NONE,
					    .len = in->len,
					    .cls = in->cls,
					    .nop = in->nop };
	invariant(!*slot_of(w, addr) && in->len && in->len <= INSN_MAX_LEN);
	*slot_of(w, addr) = w->n + 1;
	return w->n++;
}

/* Queues the places that follow from an instruction that was just met. */
static void meet(struct walk *w, uint32_t i)
{
	struct walk_insn *x = &w->insn[i];
	uint64_t after = x->addr + x->len;

	switch (x->cls) {
	case INSN_BRANCH:
	case INSN_JUMP:
		add_todo(w, i);
		break;
	case INSN_IJUMP:
		add_jump(w, i);
		break;
	case INSN_CALL:
		x->noreturn = !code_returns(w->code, x->target, false);
		if (x->target != w->part[0].start && x->target != after &&
		    walk_part_at(w, x->target) && w->nroots < WALK_ROOTS)
			add_root(w, x->target, CFG_ENTER);
		if (code_returns_twice(w->code, x->target) && w->nroots < WALK_ROOTS)
			add_root(w, after, CFG_UNWIND);
		break;
	default:
		break;
	}
}

/* Decodes from addr on, until control leaves or reaches a known instruction. Returns the
 * instruction at addr, or CFG_NONE. */
static uint32_t run(struct walk *w, uint64_t addr)
{
	uint32_t first = CFG_NONE, before = CFG_NONE;
	struct code_insn in;

	while (walk_part_at(w, addr) && !w->failed) {
		uint32_t i = walk_at(w, addr);
		bool known = i != CFG_NONE;

		if (!known) {
			if (!code_decode(w->code, &w->at, addr, &in))
				break;
			i = add_insn(w, addr, &in);
			if (i == CFG_NONE)
				break;
		}
		if (before != CFG_NONE) {
			invariant(w->insn[before].next == CFG_NONE);
			invariant(w->insn[i].addr == w->insn[before].addr + w->insn[before].len);
			w->insn[before].next = i;
			add_link(w, before, i);
		} else {
			first = i;
		}
		if (known)
			break;
		meet(w, i);
		if (!in.falls || w->insn[i].noreturn)
			break;
		before = i;
		addr += in.len;
	}
	return first;
}

/* Follows the queued places. */
static void follow(struct walk *w)
{
	while (w->ntodo && !w->failed) {
		uint32_t i = w->todo[--w->ntodo], to;
		uint64_t target = w->insn[i].target;

		if (!walk_part_at(w, target) && !walk_adopt(w, target))
			continue;
		to = run(w, target);
		if (to == CFG_NONE)
			continue;
		invariant(w->insn[i].to == CFG_NONE && w->insn[to].addr == target);
		w->insn[i].to = to;
		add_link(w, i, to);
	}
}

static void follow_roots(struct walk *w, uint32_t from)
{
	for (uint32_t k = from; k < w->nroots && !w->failed; k++) {
		uint32_t i = run(w, w->root[k].addr);

		if (i != CFG_NONE)
			w->insn[i].root = true;
		follow(w);
	}
}

void walk_enter(struct walk *w, uint64_t addr, int kind)
{
	uint32_t i = walk_at(w, addr), first = w->nroots;

	if (!walk_part_at(w, addr) || (i != CFG_NONE && w->insn[i].root))
		return;
	add_root(w, addr, kind);
	follow_roots(w, first);
}

bool walk_add_case(struct walk *w, uint32_t jump, uint64_t addr)
{
	struct walk_jump *j = &w->jump[jump];
	uint32_t at, first = w->nroots, to;

	if (!walk_part_at(w, addr))
		return false;
	at = search_first(i, 0, j->n, j->to[i] >= addr);
	if (at < j->n && j->to[at] == addr)
		return false;
	to = run(w, addr);
	j = &w->jump[jump]; /* adding instructions may have moved the array of jumps */
	if (to == CFG_NONE || !ROOM(w, j->to, j->n, j->cap))
		return false;
	memmove(&j->to[at + 1], &j->to[at], (j->n - at) * sizeof(*j->to));
	j->to[at] = addr;
	j->n++;
	invariant(!at || j->to[at - 1] < addr);
	invariant(at + 1 == j->n || j->to[at + 1] > addr);
	add_link(w, j->insn, to);
	follow(w);
	follow_roots(w, first);
	return true;
}

/* Calls that do not return. */

/* Whether the call may not return. After a call that does not return, compilers put only code that
 * is reached otherwise. */
static bool is_doubtful(const struct walk *w, const struct walk_insn *x)
{
	const struct walk_insn *next = &w->insn[x->next];
	uint32_t links = 0;

	if (next->nop || next->cls == INSN_TRAP || next->root)
		return true;
	for (uint32_t k = next->into; k != CFG_NONE && links < 2; k = w->link[k].more)
		links++;
	return links > 1;
}

void walk_prune(struct walk *w)
{
	for (uint32_t i = 0; i < w->n; i++) {
		struct walk_insn *x = &w->insn[i];

		if ((x->cls != INSN_CALL && x->cls != INSN_ICALL) || x->noreturn)
			continue;
		if (x->next == CFG_NONE)
			x->noreturn =
				true; /* the call is the last code there, so it has nowhere to return to */
		else if (x->cls == INSN_CALL && is_doubtful(w, x))
			x->noreturn = !code_returns(w->code, x->target, true);
	}
}

/* Code that control was not seen to reach. */

static bool is_filler(const struct code_insn *in)
{
	return in->nop || in->cls == INSN_TRAP;
}

static void sweep_part(struct walk *w, uint64_t start, uint64_t end)
{
	struct code_insn in;

	for (uint64_t addr = start; addr < end && !w->failed;) {
		uint32_t i = walk_at(w, addr), before = w->n;

		if (i != CFG_NONE) {
			addr += w->insn[i].len;
			continue;
		}
		if (!code_decode(w->code, &w->at, addr, &in)) {
			addr++;
			continue;
		}
		if (!is_filler(&in)) {
			run(w, addr);
			w->ntodo = 0;
			for (uint32_t k = before; k < w->n; k++)
				w->insn[k].swept = true;
		}
		addr += in.len;
	}
}

void walk_sweep(struct walk *w)
{
	uint32_t first = w->n, roots = w->nroots;

	for (uint32_t p = 0; p < w->nparts; p++)
		sweep_part(w, w->part[p].start, w->part[p].end);
	w->nroots = roots;
	/* Branches in such code lead to those of their targets that are known. */
	for (uint32_t i = first; i < w->n && !w->failed; i++) {
		struct walk_insn *x = &w->insn[i];

		if (x->cls != INSN_BRANCH && x->cls != INSN_JUMP)
			continue;
		x->to = walk_at(w, x->target);
		if (x->to != CFG_NONE)
			add_link(w, i, x->to);
	}
}

uint32_t walk_single(const struct walk *w, uint32_t insn)
{
	uint32_t single = CFG_NONE;

	if (w->insn[insn].root)
		return CFG_NONE;
	for (uint32_t k = w->insn[insn].into; k != CFG_NONE; k = w->link[k].more) {
		if (!walk_is_live(w, w->link[k].from, insn))
			continue;
		if (single != CFG_NONE)
			return CFG_NONE;
		single = w->link[k].from;
		invariant(single < w->n);
	}
	return single;
}

uint16_t walk_writes(struct walk *w, uint32_t insn)
{
	struct walk_insn *x = &w->insn[insn];
	struct insn in;

	if (!x->writes_known) {
		x->writes = code_decode_fully(w->code, x->addr, &in) ? in.gpr_written : 0xffff;
		x->writes_known = true;
	}
	return x->writes;
}

bool walk_init(struct walk *w, struct cfg_code *code, const struct cfg_proc *proc)
{
	*w = (struct walk){ .code = code, .proc = *proc };
	return add_part(w, proc->start, proc->end);
}

void walk_fini(struct walk *w)
{
	for (uint32_t p = 0; p < w->nparts; p++)
		free(w->part[p].insn);
	for (uint32_t j = 0; j < w->njumps; j++)
		free(w->jump[j].to);
	free(w->insn);
	free(w->link);
	free(w->jump);
	free(w->root);
	free(w->todo);
}
