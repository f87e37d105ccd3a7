/* SPDX-License-Identifier: MIT */
/* Builds blocks and edges from the instructions of a walk and the links between them. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/search.h"
#include "cfg/cfg.h"
#include "cfg/graph.h"
#include "cfg/jump.h"
#include "cfg/walk.h"

#define PADS_MAX 4096
#define CALLED_MAX 256
#define PART_MAX 4096 /* bytes up to which a procedure may be a part of another */
#define ALIGNED 16    /* alignment of procedures */

struct build {
	struct cfg *g;
	struct walk w;
	uint32_t *order; /* instructions in order of address */
	uint32_t *block; /* by instruction: its block, or CFG_NONE */
	bool *leads;	 /* by instruction: a block begins there */
	uint32_t edge_cap;
	bool failed;
};

/* Additions from a recording. */

static const struct cfg_target *targets_of(const struct cfg_seen *seen, uint64_t from, size_t *n)
{
	size_t lo = search_first(i, 0, seen->ntargets, seen->target[i].from >= from);

	for (*n = 0; lo + *n < seen->ntargets && seen->target[lo + *n].from == from; ++*n)
		;
	return *n ? &seen->target[lo] : NULL;
}

static bool add_targets(struct walk *w, const struct cfg_seen *seen)
{
	bool added = false;

	for (uint32_t k = 0; k < w->njumps; k++) {
		size_t n, outside = 0;
		const struct cfg_target *t = targets_of(seen, w->insn[w->jump[k].insn].addr, &n);

		for (size_t i = 0; i < n; i++) {
			if (!walk_part_at(w, t[i].to) ||
			    (t[i].to == w->proc.start && w->jump[k].fate == WALK_TAIL)) {
				outside++;
				continue;
			}
			if (!walk_add_case(w, k, t[i].to))
				continue;
			added = true;
			/* The table lacks a recorded target, so the jump has other targets, too. */
			w->jump[k].fate = WALK_UNKNOWN;
		}
		w->jump[k].outside |= outside > 0;
		if (outside && outside == n && !w->jump[k].n)
			w->jump[k].fate = WALK_TAIL;
	}
	return added;
}

/* Enters at recorded instructions that no known control flow leads to. */
static bool add_found(struct walk *w, const struct cfg_seen *seen)
{
	uint32_t n = w->n;

	for (uint32_t p = 0; p < w->nparts; p++) {
		size_t lo = search_first(i, 0, seen->ninsns, seen->insn[i] >= w->part[p].start);

		for (; lo < seen->ninsns && seen->insn[lo] < w->part[p].end; lo++)
			if (walk_at(w, seen->insn[lo]) == CFG_NONE)
				walk_enter(w, seen->insn[lo], CFG_FOUND);
	}
	return w->n != n;
}

/* Enters where other procedures jump into this one; jumps from its own parts do not count. */
static void add_entries_from_outside(struct walk *w)
{
	for (uint32_t p = 0; p < w->nparts; p++) {
		size_t n;
		const struct code_entry *e =
			code_entries(w->code, w->part[p].start, w->part[p].end, &n);

		for (size_t i = 0; i < n; i++)
			if (!walk_part_at(w, e[i].from))
				walk_enter(w, e[i].to, CFG_ENTER);
	}
	if (w->code->im) {
		uint64_t called[CALLED_MAX];
		size_t n = image_called(w->code->im, called, CALLED_MAX);

		for (size_t i = 0; i < n; i++)
			walk_enter(w, called[i], CFG_ENTER);
	}
}

static void add_pads(struct walk *w)
{
	struct cfg_source *src = &w->code->src;
	uint64_t *pad = src->pads ? malloc(PADS_MAX * sizeof(*pad)) : NULL;

	for (uint32_t p = 0; pad && p < w->nparts; p++) {
		size_t n = src->pads(src->ctx, w->part[p].start, pad, PADS_MAX);

		for (size_t i = 0; i < n && i < PADS_MAX; i++)
			if (walk_part_at(w, pad[i]) || walk_adopt(w, pad[i]))
				walk_enter(w, pad[i], CFG_UNWIND);
	}
	free(pad);
}

static bool explore(struct walk *w, const struct cfg_seen *seen)
{
	struct jumps *j = jumps_new(w);

	if (!j)
		return false;
	walk_enter(w, w->proc.start, CFG_ENTER);
	add_pads(w);
	add_entries_from_outside(w);
	jumps_resolve(j);
	if (seen) {
		if (add_targets(w, seen))
			jumps_resolve(j);
		if (add_found(w, seen)) {
			jumps_resolve(j);
			add_targets(w, seen);
		}
	}
	walk_sweep(w);
	jumps_free(j);
	return !w->failed;
}

/* Making blocks. */

static int by_part(const void *va, const void *vb)
{
	const struct walk_part *const *a = va, *const *b = vb;

	return ((*a)->start > (*b)->start) - ((*a)->start < (*b)->start);
}

static void put_in_order(struct build *b)
{
	const struct walk_part *part[WALK_PARTS];
	uint32_t n = 0;

	for (uint32_t p = 0; p < b->w.nparts; p++)
		part[p] = &b->w.part[p];
	qsort(part, b->w.nparts, sizeof(part[0]), by_part);
	for (uint32_t p = 0; p < b->w.nparts; p++)
		for (uint64_t at = 0; at < part[p]->end - part[p]->start; at++)
			if (part[p]->insn[at])
				b->order[n++] = part[p]->insn[at] - 1;
	assert(n == b->w.n);
}

static bool ends_block(const struct walk_insn *x)
{
	return x->cls >= INSN_BRANCH;
}

static void find_leaders(struct build *b)
{
	for (uint32_t i = 0; i < b->w.n; i++) {
		uint32_t from = walk_single(&b->w, i);

		b->leads[i] = from == CFG_NONE || ends_block(&b->w.insn[from]);
	}
}

/* Adds the block that begins at `first`, and its instructions to g->insn. */
static void add_block(struct build *b, uint32_t first)
{
	struct cfg *g = b->g;
	struct cfg_block *x = &g->block[g->nblocks];
	uint32_t i = first;

	*x = (struct cfg_block){ .start = b->w.insn[first].addr, .insn = g->ninsns };
	for (;;) {
		const struct walk_insn *in = &b->w.insn[i];

		b->block[i] = g->nblocks;
		g->insn[g->ninsns++] = (struct cfg_insn){ in->addr, in->len, in->cls };
		x->end = in->addr + in->len;
		if (ends_block(in) || in->next == CFG_NONE || b->leads[in->next])
			break;
		i = in->next;
	}
	x->ninsn = g->ninsns - x->insn;
	g->nblocks++;
}

/* Whether the code at `first` is padding that no control flow leads to. */
static bool is_filler(const struct build *b, uint32_t first)
{
	const struct walk_insn *x = &b->w.insn[first];

	if (x->root)
		return false;
	for (uint32_t k = x->into; k != CFG_NONE; k = b->w.link[k].more)
		if (walk_is_live(&b->w, b->w.link[k].from, first))
			return false;
	for (;; x = &b->w.insn[x->next]) {
		if (!x->nop && x->cls != INSN_TRAP)
			return false;
		if (x->next == CFG_NONE || b->leads[x->next])
			return true;
	}
}

static void add_blocks(struct build *b)
{
	b->g->nblocks = CFG_FIRST_BLOCK;
	for (uint32_t k = 0; k < b->w.n; k++) {
		uint32_t i = b->order[k];

		if (b->leads[i] && !is_filler(b, i))
			add_block(b, i);
	}
}

/* Making edges. */

static void add_edge(struct build *b, uint32_t from, uint32_t to, int kind)
{
	struct cfg *g = b->g;

	if (b->failed)
		return;
	if (!array_reserve(g->edge, b->edge_cap, g->nedges + 1)) {
		b->failed = true;
		return;
	}
	g->edge[g->nedges++] = (struct cfg_edge){ .from = from, .to = to, .kind = (uint8_t)kind };
}

/* Adds the edge by which control goes from the block to the instruction `to`; if that is
 * CFG_NONE, to addr, where no instruction of this procedure begins. */
static void add_way(struct build *b, uint32_t from, uint32_t to, uint64_t addr, int kind)
{
	if (to != CFG_NONE && b->block[to] != CFG_NONE)
		add_edge(b, from, b->block[to], kind);
	else
		add_edge(b, from, CFG_EXIT_BLOCK, walk_part_at(&b->w, addr) ? CFG_STOP : CFG_TAIL);
}

static void add_indirect(struct build *b, uint32_t from, const struct walk_insn *x)
{
	const struct walk_jump *j = &b->w.jump[x->jump];

	for (uint32_t i = 0; i < j->n; i++)
		add_way(b, from, walk_at(&b->w, j->to[i]), j->to[i], CFG_CASE);
	if (j->fate == WALK_UNKNOWN)
		add_edge(b, from, CFG_EXIT_BLOCK, CFG_LOST);
	if (j->fate == WALK_TAIL || j->outside)
		add_edge(b, from, CFG_EXIT_BLOCK, CFG_TAIL);
	b->g->block[from].ends = j->fate == WALK_TABLE	? CFG_END_TABLE
				 : j->fate == WALK_TAIL ? CFG_END_TAIL
							: CFG_END_UNKNOWN;
}

static void add_call(struct build *b, uint32_t from, const struct walk_insn *x)
{
	struct cfg_block *block = &b->g->block[from];

	block->callee = x->target;
	block->ends = x->noreturn ? CFG_END_NORETURN : CFG_END_CALL;
	if (x->noreturn)
		add_edge(b, from, CFG_EXIT_BLOCK, CFG_STOP);
	else
		add_way(b, from, x->next, x->addr + x->len, CFG_AFTER);
}

/* Adds the edge of a block that ends without a control transfer. */
static void add_next(struct build *b, uint32_t from, const struct walk_insn *x)
{
	struct cfg_block *block = &b->g->block[from];
	uint64_t after = x->addr + x->len;

	block->ends = x->next != CFG_NONE	   ? CFG_END_NEXT
		      : walk_part_at(&b->w, after) ? CFG_END_INVALID
						   : CFG_END_TAIL;
	if (block->ends == CFG_END_TAIL)
		block->callee = after;
	add_way(b, from, x->next, after, CFG_FALL);
}

static void add_edges_of(struct build *b, uint32_t from, const struct walk_insn *x)
{
	struct cfg_block *block = &b->g->block[from];
	uint64_t after = x->addr + x->len;

	switch (x->cls) {
	case INSN_BRANCH:
		block->ends = CFG_END_BRANCH;
		add_way(b, from, x->next, after, CFG_FALL);
		add_way(b, from, x->to, x->target, CFG_TAKEN);
		break;
	case INSN_JUMP:
		block->ends = x->to != CFG_NONE ? CFG_END_JUMP : CFG_END_TAIL;
		block->callee = x->to != CFG_NONE ? 0 : x->target;
		add_way(b, from, x->to, x->target, CFG_JUMP);
		break;
	case INSN_IJUMP:
		add_indirect(b, from, x);
		break;
	case INSN_CALL:
	case INSN_ICALL:
		add_call(b, from, x);
		break;
	case INSN_SYSCALL:
		block->ends = CFG_END_SYSCALL;
		add_way(b, from, x->next, after, CFG_AFTER);
		break;
	case INSN_RET:
		block->ends = CFG_END_RETURN;
		add_edge(b, from, CFG_EXIT_BLOCK, CFG_RETURN);
		break;
	case INSN_TRAP:
		block->ends = CFG_END_TRAP;
		add_edge(b, from, CFG_EXIT_BLOCK, CFG_STOP);
		break;
	default:
		add_next(b, from, x);
		break;
	}
}

static int by_root(const void *va, const void *vb)
{
	const struct walk_root *a = va, *b = vb;

	if (a->addr != b->addr)
		return (a->addr > b->addr) - (a->addr < b->addr);
	return (a->kind > b->kind) - (a->kind < b->kind);
}

static void add_entries(struct build *b)
{
	struct walk *w = &b->w;

	if (w->nroots)
		qsort(w->root, w->nroots, sizeof(*w->root), by_root);
	for (uint32_t k = 0; k < w->nroots; k++) {
		uint32_t i = walk_at(w, w->root[k].addr);

		if (i == CFG_NONE || b->block[i] == CFG_NONE ||
		    (k && w->root[k - 1].addr == w->root[k].addr))
			continue;
		add_edge(b, CFG_ENTRY_BLOCK, b->block[i], w->root[k].kind);
	}
}

static void add_edges(struct build *b)
{
	struct cfg *g = b->g;

	add_entries(b);
	for (uint32_t k = CFG_FIRST_BLOCK; k < g->nblocks; k++) {
		const struct cfg_block *x = &g->block[k];

		add_edges_of(b, k,
			     &b->w.insn[walk_at(&b->w, g->insn[x->insn + x->ninsn - 1].addr)]);
	}
}

/* Properties of blocks. */

static void flag_overlaps(struct cfg *g)
{
	uint32_t furthest = CFG_NONE;

	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++) {
		struct cfg_block *x = &g->block[b];

		if (furthest != CFG_NONE && g->block[furthest].end > x->start) {
			x->flags |= CFG_OVERLAPS;
			g->block[furthest].flags |= CFG_OVERLAPS;
		}
		if (furthest == CFG_NONE || x->end > g->block[furthest].end)
			furthest = b;
	}
}

static void flag_seen(struct cfg *g, const struct cfg_seen *seen)
{
	for (uint32_t b = CFG_FIRST_BLOCK; seen && b < g->nblocks; b++) {
		struct cfg_block *x = &g->block[b];

		for (uint32_t i = x->insn; i < x->insn + x->ninsn; i++)
			if (cfg_seen_ran(seen, g->insn[i].addr)) {
				x->flags |= CFG_SEEN;
				break;
			}
	}
}

static void find_missing(struct cfg *g)
{
	for (uint32_t b = CFG_FIRST_BLOCK; b < g->nblocks; b++)
		g->nunknown +=
			g->block[b].ends == CFG_END_UNKNOWN && !(g->block[b].flags & CFG_UNREACHED);
	g->missing = g->nunknown;
	for (uint32_t e = 0; e < g->block[CFG_ENTRY_BLOCK].nout; e++)
		g->missing |= g->edge[e].kind == CFG_FOUND;
}

static bool allocate(struct build *b)
{
	size_t n = b->w.n;

	b->order = malloc((n + 1) * sizeof(*b->order));
	b->block = malloc((n + 1) * sizeof(*b->block));
	b->leads = malloc((n + 1) * sizeof(*b->leads));
	b->g->block = calloc(n + CFG_FIRST_BLOCK, sizeof(*b->g->block));
	b->g->insn = malloc((n + 1) * sizeof(*b->g->insn));
	b->g->part = malloc(WALK_PARTS * sizeof(*b->g->part));
	if (!b->order || !b->block || !b->leads || !b->g->block || !b->g->insn || !b->g->part)
		return false;
	memset(b->block, 0xff, (n + 1) * sizeof(*b->block));
	return true;
}

/* Properties that all readers of a graph rely on. */
static void check_block(const struct cfg *g, uint32_t b)
{
	const struct cfg_block *x = &g->block[b];
	uint64_t at = x->start;

	invariant(x->insn + x->ninsn <= g->ninsns);
	invariant(x->out + x->nout <= g->nedges && x->in + x->nin <= g->nedges);
	invariant(x->cls < g->nclasses && x->ends < CFG_END_N);
	invariant(b < CFG_FIRST_BLOCK ? !x->ninsn : x->ninsn && x->start < x->end);
	invariant(b <= CFG_FIRST_BLOCK || g->block[b - 1].start < x->start);
	invariant(b == CFG_EXIT_BLOCK ? !x->nout : b == CFG_ENTRY_BLOCK || x->nout);
	for (uint32_t i = x->insn; i < x->insn + x->ninsn; i++) {
		invariant(g->insn[i].addr == at && g->insn[i].len);
		at += g->insn[i].len;
	}
	invariant(at == x->end);
	for (uint32_t e = x->out; e < x->out + x->nout; e++)
		invariant(g->edge[e].from == b);
	for (uint32_t i = x->in; i < x->in + x->nin; i++)
		invariant(g->in[i] < g->nedges && g->edge[g->in[i]].to == b);
}

static void check_edge(const struct cfg *g, const struct cfg_edge *x)
{
	invariant(x->kind < CFG_EDGE_N && x->cls < g->nclasses);
	invariant(x->from != CFG_EXIT_BLOCK && x->to != CFG_ENTRY_BLOCK);
	invariant((x->kind >= CFG_RETURN) == (x->to == CFG_EXIT_BLOCK));
	invariant((x->kind <= CFG_FOUND) == (x->from == CFG_ENTRY_BLOCK));
}

/* Control that cannot divide or join runs as often on both sides. */
static void check_classes(const struct cfg *g, const struct cfg_block *x)
{
	if (x->flags & CFG_UNREACHED || g->missing)
		return;
	invariant(x->nout != 1 || g->edge[x->out].cls == x->cls);
	invariant(x->nin != 1 || g->edge[g->in[x->in]].cls == x->cls);
}

static void check_graph(const struct cfg *g)
{
	invariant(!g->block[CFG_ENTRY_BLOCK].cls);
	invariant(g->nblocks >= CFG_FIRST_BLOCK && g->nparts);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		check_block(g, b);
		check_classes(g, &g->block[b]);
	}
	for (uint32_t e = 0; e < g->nedges; e++)
		check_edge(g, &g->edge[e]);
}

static bool make_graph(struct build *b, const struct cfg_seen *seen)
{
	struct cfg *g = b->g;

	if (!allocate(b))
		return false;
	for (uint32_t p = 0; p < b->w.nparts; p++)
		g->part[g->nparts++] = (struct cfg_part){ b->w.part[p].start, b->w.part[p].end };
	put_in_order(b);
	find_leaders(b);
	add_blocks(b);
	add_edges(b);
	if (b->failed || !graph_link(g) || !graph_close(g))
		return false;
	flag_overlaps(g);
	flag_seen(g, seen);
	find_missing(g);
	if (!graph_classes(g))
		return false;
	check_graph(g);
	return true;
}

static int build(struct cfg *g, struct cfg_code *code, const struct cfg_proc *proc,
		 const struct cfg_seen *seen, struct err *err)
{
	struct build b = { .g = g };
	bool ok;

	*g = (struct cfg){ 0 };
	if (proc->end - proc->start > CFG_CODE_MAX)
		return err_set(err, ERR_FAILED,
			       "the procedure at 0x%" PRIx64 " has %" PRIu64
			       " bytes: graphs are made of up to %u",
			       proc->start, proc->end - proc->start, CFG_CODE_MAX);
	ok = walk_init(&b.w, code, proc) && explore(&b.w, seen);
	if (ok && walk_at(&b.w, proc->start) == CFG_NONE) {
		walk_fini(&b.w);
		return err_set(err, ERR_FAILED, "no code at 0x%" PRIx64, proc->start);
	}
	ok = ok && make_graph(&b, seen);
	walk_fini(&b.w);
	free(b.order);
	free(b.block);
	free(b.leads);
	if (ok)
		return 0;
	cfg_fini(g);
	return err_no_memory(err, "the control-flow graph at 0x%" PRIx64, proc->start);
}

static bool has_part_at(const struct cfg *g, uint64_t addr)
{
	for (uint32_t p = 0; p < g->nparts; p++)
		if (addr - g->part[p].start < g->part[p].end - g->part[p].start)
			return true;
	return false;
}

/* Finds the procedure of a part without a name, which jumps back into the middle of it. The
 * procedure begins at an aligned address, and its parts lie behind it. */
static bool find_unnamed_whole(struct cfg_code *c, const struct cfg_proc *proc,
			       struct cfg_proc *whole)
{
	struct code_at at = { 0 };
	struct code_insn in;

	if (strncmp(proc->name, "sub_", 4) != 0 || proc->end - proc->start > PART_MAX)
		return false;
	for (uint64_t addr = proc->start; addr < proc->end; addr += in.len) {
		if (!code_decode(c, &at, addr, &in))
			return false;
		if ((in.cls == INSN_JUMP || in.cls == INSN_BRANCH) &&
		    !(in.target >= proc->start && in.target < proc->end) &&
		    c->src.proc(c->src.ctx, in.target, whole) && whole->start != in.target &&
		    !strncmp(whole->name, "sub_", 4) && whole->start % ALIGNED == 0 &&
		    (proc->start % ALIGNED || proc->start < whole->start))
			return true;
	}
	return false;
}

/* Finds the procedure NAME of a part NAME.cold. */
static bool find_whole(struct cfg_code *c, const struct cfg_proc *proc, struct cfg_proc *whole)
{
	const char *cold = strstr(proc->name, ".cold");
	const struct image_proc *p;
	char name[512];

	if (!cold)
		return find_unnamed_whole(c, proc, whole);
	if (!c->im || (size_t)(cold - proc->name) >= sizeof(name))
		return false;
	memcpy(name, proc->name, (size_t)(cold - proc->name));
	name[cold - proc->name] = 0;
	p = image_proc_named(c->im, name);
	if (!p || strcmp(p->name, name) != 0)
		return false;
	*whole = (struct cfg_proc){ p->start, p->end, p->name };
	return true;
}

int cfg_build(struct cfg *g, struct cfg_code *code, uint64_t addr, const struct cfg_seen *seen,
	      struct err *err)
{
	struct cfg_proc proc, whole;

	*g = (struct cfg){ 0 };
	if (!cfg_code_proc(code, addr, &proc))
		return err_set(err, ERR_FAILED, "no procedure at 0x%" PRIx64, addr);
	if (find_whole(code, &proc, &whole)) {
		if (!build(g, code, &whole, seen, err) && has_part_at(g, addr))
			return 0;
		cfg_fini(g);
	}
	return build(g, code, &proc, seen, err);
}
