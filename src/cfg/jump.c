/* SPDX-License-Identifier: MIT */
#include "cfg/jump.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/search.h"
#include "cfg/expr.h"
#include "cfg/height.h"

#define PATH_MAX_INSNS 160
#define PIECE 12	  /* instructions executed between two checks of the result */
#define MERGES 6	  /* places on one path where control flow joins */
#define PATHS 24	  /* paths to one jump */
#define TABLES 8	  /* tables of one jump */
#define ENTRIES_MAX 65536 /* entries of one table */
#define ROUNDS 6	  /* rounds over all jumps */
#define WORK_EACH 4000	  /* instructions executed for one jump */
#define STEPS_EACH 50000  /* instructions looked at for constants, for one jump */
#define STEP_PART 8	  /* looking at so many instructions costs as much as executing one */
#define WORK_BASE 200000  /* instructions that may be executed for all jumps of any procedure */
#define WORK_A_BYTE 16 /* instructions that may be executed besides, for each byte of a procedure */

enum form {
	FORM_NEVER, /* the target cannot come from a table of jumps */
	FORM_MORE,  /* the target depends on earlier instructions of the path */
	FORM_TABLE, /* the target comes from a table, or is constant */
};

struct table {
	uint64_t at;   /* address of the entry of index 0 */
	uint64_t base; /* value that is added to each entry */
	uint8_t size;  /* bytes of an entry; 0: there is no table, the target is `base` */
	bool sign;
	bool bounded;
	uint64_t lo, hi; /* bounds of the index */
};

struct jumps {
	struct walk *w;
	struct expr_path *expr;
	uint32_t path[PATH_MAX_INSNS]; /* instructions of the path, from the jump backwards */
	struct insn *in;	       /* the decoded instructions of the path */
	uint32_t n, merges, paths;
	uint32_t *stamp, nstamp, now; /* by instruction: the last search that examined it */
	uint32_t *todo;
	/* instructions that may still be executed: for all jumps, for this jump */
	int64_t work, left;
	/* instructions that may still be examined for constants, for this jump */
	int64_t steps;
	struct table table[TABLES];
	uint32_t ntables;
	bool incomplete; /* a path to the jump was not understood */
	uint64_t *
		/*
		 * addresses that the procedure names, ascending: tables and other data begin there
		 */
		data;
	/* data_of: number of instructions that were searched for such addresses */
	uint32_t ndata, data_of;
	struct heights *heights;
};

/* Constants that registers have held since before the path: a table's address, for example, from
 * before a loop. */

static bool room_for_search(struct jumps *j)
{
	uint32_t n = j->w->n;
	uint32_t todo = j->nstamp;

	return array_widen(j->todo, todo, n) && array_widen(j->stamp, j->nstamp, n);
}

/* Whether the instruction loads a constant into its register. */
static bool loads_constant(struct jumps *j, uint32_t insn, uint64_t *value)
{
	struct insn in;

	if (!code_decode_fully(j->w->code, j->w->insn[insn].addr, &in))
		return false;
	if (in.z.mnemonic == ZYDIS_MNEMONIC_LEA && in.op[1].mem.base == ZYDIS_REGISTER_RIP) {
		*value = in.addr + in.len + (uint64_t)in.op[1].mem.disp.value;
		return in.op[0].size == 64;
	}
	if (in.z.mnemonic != ZYDIS_MNEMONIC_MOV || in.op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return false;
	*value = in.op[1].imm.value.u;
	if (in.op[0].size == 32)
		*value &= UINT32_MAX;
	return in.op[0].size >= 32;
}

/* Finds the constant that `reg` has on every way to `insn`. */
static bool constant_before(struct jumps *j, uint32_t insn, int reg, uint64_t *value)
{
	struct walk *w = j->w;
	uint32_t n = 0;
	bool have = false;

	if (!room_for_search(j))
		return false;
	j->now++;
	j->todo[n++] = insn;
	j->stamp[insn] = j->now;
	while (n) {
		uint32_t at = j->todo[--n];

		if (w->insn[at].root)
			return false;
		for (uint32_t k = w->insn[at].into; k != CFG_NONE; k = w->link[k].more) {
			uint32_t from = w->link[k].from;
			uint64_t v;

			invariant(k < w->nlinks && from < w->n && n < w->n);
			if (!walk_is_live(w, from, at) || j->stamp[from] == j->now)
				continue;
			if (j->steps-- <= 0)
				return false;
			j->stamp[from] = j->now;
			if (walk_writes(w, from) >> reg & 1) {
				if (!loads_constant(j, from, &v) || (have && v != *value))
					return false;
				*value = v;
				have = true;
				continue;
			}
			if ((w->insn[from].cls == INSN_CALL || w->insn[from].cls == INSN_ICALL) &&
			    (reg == UR_RAX || reg == UR_RDX))
				return false;
			j->todo[n++] = from;
		}
	}
	return have;
}

/* The form of the target. */

/* Finds the registers at the path's beginning whose constants would complete the form. */
static bool only_registers(const struct expr_path *p, const struct expr *sum, uint32_t without,
			   uint16_t *need)
{
	for (int i = 0; i < sum->nterms; i++) {
		uint32_t node = sum->term[i].node;
		const struct expr *x;

		if (node == without)
			continue;
		x = &p->node[node];
		if (x->op != EXPR_INIT || sum->term[i].coef != 1)
			return false;
		*need |= (uint16_t)(1u << x->size);
	}
	return true;
}

/* Asks for the registers of the table that the index itself comes from. */
static void lookup_registers(const struct expr_path *p, uint32_t index, uint16_t *need)
{
	const struct expr *x = &p->node[index];
	struct expr at;
	uint16_t more = 0;

	if (x->op == EXPR_ZEXT)
		x = &p->node[x->a];
	if (x->op != EXPR_LOAD || x->size > 2)
		return;
	at = expr_as_sum(p, x->a);
	for (int i = 0; i < at.nterms; i++)
		if (p->node[at.term[i].node].op != EXPR_INIT && at.nterms == 2 &&
		    only_registers(p, &at, at.term[i].node, &more))
			*need |= more;
}

/* Finds the term with a factor, which is the index. */
static const struct expr_term *index_of(const struct expr *sum, unsigned size)
{
	const struct expr_term *index = NULL;

	for (int i = 0; i < sum->nterms; i++) {
		if (sum->term[i].coef != size)
			continue;
		if (index)
			return NULL;
		index = &sum->term[i];
	}
	return index;
}

/* Whether a longer path could show that this is a table's entry. */
static bool may_become_table(const struct expr_path *p, uint32_t node, int depth)
{
	const struct expr *x = &p->node[node];

	if (depth > 6)
		return false;
	switch (x->op) {
	case EXPR_INIT:
		return true;
	case EXPR_ZEXT:
	case EXPR_SEXT:
		return may_become_table(p, x->a, depth + 1);
	case EXPR_LOAD: {
		struct expr at = expr_as_sum(p, x->a);

		/* a spilled register, or one that holds an entry's address */
		return at.nterms > 1 ||
		       (at.nterms == 1 && p->node[at.term[0].node].op == EXPR_INIT);
	}
	case EXPR_SUM:
		for (int i = 0; i < x->nterms; i++)
			if (may_become_table(p, x->term[i].node, depth + 1))
				return true;
		return false;
	default:
		return false;
	}
}

/* Whether the load is of a spilled register, and not of an entry. */
static bool is_plain_stack(const struct expr_path *p, const struct expr *load)
{
	struct expr at = expr_as_sum(p, load->a);
	const struct expr *x = &p->node[at.term[0].node];

	return at.nterms == 1 && at.term[0].coef == 1 && x->op == EXPR_INIT &&
	       (x->size == UR_RSP || x->size == UR_RBP);
}

/* Finds the load among the terms of the target, and how it is extended. */
static uint32_t find_load(const struct expr_path *p, const struct expr *sum, uint32_t *term,
			  bool *sign)
{
	for (int i = 0; i < sum->nterms; i++) {
		uint32_t node = sum->term[i].node;
		const struct expr *x = &p->node[node];

		*sign = x->op == EXPR_SEXT;
		*term = node;
		if (sum->term[i].coef != 1)
			continue;
		if (x->op == EXPR_SEXT && p->node[x->a].op == EXPR_LOAD &&
		    p->node[x->a].size == x->size)
			return x->a;
		if (x->op == EXPR_LOAD && !is_plain_stack(p, x))
			return node;
	}
	return CFG_NONE;
}

/* Matches the target to base + table[index]; *need: the registers whose constants are missing. */
static enum form form_of(const struct expr_path *p, uint32_t target, struct table *t,
			 uint16_t *need)
{
	struct expr sum = expr_as_sum(p, target), at;
	const struct expr_term *index;
	uint32_t term, load;
	bool sign;

	*need = 0;
	if (!sum.nterms) {
		*t = (struct table){ .base = sum.c, .bounded = true };
		return FORM_TABLE;
	}
	load = find_load(p, &sum, &term, &sign);
	if (load == CFG_NONE || !only_registers(p, &sum, term, need))
		return may_become_table(p, target, 0) ? FORM_MORE : FORM_NEVER;
	at = expr_as_sum(p, p->node[load].a);
	index = index_of(&at, p->node[load].size);
	if (!index && at.nterms && only_registers(p, &at, CFG_NONE, need)) {
		*t = (struct table){ .bounded = false };
		return FORM_TABLE; /* the registers of one entry, if they hold constants */
	}
	if (!index || p->node[load].size < 4 || !only_registers(p, &at, index->node, need))
		return may_become_table(p, target, 0) ? FORM_MORE : FORM_NEVER;
	*t = (struct table){ .at = at.c, .base = sum.c, .size = p->node[load].size, .sign = sign };
	lookup_registers(p, index->node, need);
	t->bounded = expr_range(p, index->node, &t->lo, &t->hi) && t->hi - t->lo < ENTRIES_MAX;
	return FORM_TABLE;
}

/* Paths to a jump. */

static bool append(struct jumps *j, uint32_t insn)
{
	if (j->n == PATH_MAX_INSNS ||
	    !code_decode_fully(j->w->code, j->w->insn[insn].addr, &j->in[j->n]))
		return false;
	j->path[j->n++] = insn;
	return true;
}

static uint32_t execute(struct jumps *j, uint16_t known, const uint64_t *value)
{
	struct walk *w = j->w;

	expr_begin(j->expr, w->code, known, value);
	j->left -= j->n;
	for (uint32_t i = j->n - 1; i > 0; i--) {
		const struct walk_insn *x = &w->insn[j->path[i]];

		invariant(x->next == j->path[i - 1] || x->to == j->path[i - 1] ||
			  x->jump != CFG_NONE);
		invariant(j->in[i].addr == x->addr && j->in[i].len == x->len);
		if (x->cls != INSN_BRANCH)
			expr_step(j->expr, &j->in[i]);
		else if (x->next != x->to)
			expr_branch(j->expr, &j->in[i], j->path[i - 1] == x->to);
	}
	return expr_target(j->expr, &j->in[0]);
}

static enum form look(struct jumps *j, struct table *t)
{
	uint64_t value[16] = { 0 };
	uint16_t need = 0, known = 0;
	enum form form = form_of(j->expr, execute(j, 0, value), t, &need);

	if (form != FORM_TABLE || !need)
		return j->expr->full ? FORM_MORE : form;
	for (int r = 0; r < 16; r++)
		if (need >> r & 1 && constant_before(j, j->path[j->n - 1], r, &value[r]))
			known |= (uint16_t)(1u << r);
	if (known != need)
		return FORM_MORE;
	form = form_of(j->expr, execute(j, known, value), t, &need);
	return j->expr->full || need ? FORM_MORE : form;
}

static bool is_same_table(const struct table *a, const struct table *b)
{
	return a->at == b->at && a->base == b->base && a->size == b->size && a->sign == b->sign;
}

/* Ends a path with the present knowledge of the jump. */
static void end_path(struct jumps *j, enum form form, const struct table *t)
{
	struct table *same = NULL;

	invariant(form != FORM_TABLE || t->size <= 8);
	if (form == FORM_TABLE && t->bounded && t->lo > t->hi)
		return; /* The path is never taken. */
	for (uint32_t i = 0; form == FORM_TABLE && i < j->ntables && !same; i++)
		if (is_same_table(&j->table[i], t))
			same = &j->table[i];
	if (same) {
		same->lo = t->lo < same->lo ? t->lo : same->lo;
		same->hi = t->hi > same->hi ? t->hi : same->hi;
		same->bounded = same->bounded && t->bounded;
	} else if (form == FORM_TABLE && j->ntables < TABLES) {
		j->table[j->ntables++] = *t;
	} else {
		j->incomplete = true;
	}
}

static bool is_on_path(const struct jumps *j, uint32_t insn)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->path[i] == insn)
			return true;
	return false;
}

/* Extends the path backwards while only one way leads to it, over at most one branch. False: the
 * path ends or divides. */
static bool extend(struct jumps *j)
{
	uint32_t limit = j->n + PIECE;

	while (j->n < limit) {
		uint32_t from = walk_single(j->w, j->path[j->n - 1]);

		if (from == CFG_NONE || is_on_path(j, from) || !append(j, from))
			return false;
		if (j->w->insn[from].cls == INSN_BRANCH)
			break;
	}
	return true;
}

static void try_path(struct jumps *j)
{
	struct walk *w = j->w;
	struct table t = { 0 };
	enum form form;
	uint32_t n, at, tried = 0;
	bool more;

	do {
		more = extend(j);
		form = look(j, &t);
		if (form == FORM_NEVER || (form == FORM_TABLE && t.bounded)) {
			end_path(j, form, &t);
			return;
		}
	} while (more && j->left > 0);
	at = j->path[j->n - 1];
	n = j->n;
	if (j->left <= 0 || j->merges == MERGES || w->insn[at].root) {
		end_path(j, form, &t);
		return;
	}
	j->merges++;
	for (uint32_t k = w->insn[at].into; k != CFG_NONE; k = w->link[k].more) {
		uint32_t from = w->link[k].from;

		if (!walk_is_live(w, from, at) || is_on_path(j, from))
			continue;
		tried++;
		if (j->paths == PATHS || !append(j, from)) {
			end_path(j, form, &t);
			break;
		}
		j->paths++;
		try_path(j);
		j->n = n;
	}
	invariant(j->merges && j->n == n);
	j->merges--;
	if (!tried)
		end_path(j, form, &t);
}

/* Reading tables. */

static bool read_entry(struct jumps *j, const struct table *t, uint64_t index, uint64_t *to,
		       bool *fixed)
{
	struct cfg_source *src = &j->w->code->src;
	uint64_t v = 0;

	*fixed = true;
	if (t->size &&
	    (!src->data || !src->data(src->ctx, t->at + index * t->size, &v, t->size, fixed)))
		return false;
	if (t->sign && t->size == 4)
		v = (uint64_t)(int64_t)(int32_t)v;
	*to = t->base + v;
	return true;
}

static bool is_inside(struct jumps *j, uint64_t addr)
{
	return walk_part_at(j->w, addr) || walk_adopt(j->w, addr);
}

static void add_data(struct jumps *j, const struct insn *in)
{
	for (int i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || !op->mem.disp.has_displacement)
			continue;
		if (op->mem.base == ZYDIS_REGISTER_RIP)
			j->data[j->ndata++] = in->addr + in->len + (uint64_t)op->mem.disp.value;
		else if (op->mem.base == ZYDIS_REGISTER_NONE)
			j->data[j->ndata++] = (uint64_t)op->mem.disp.value;
	}
}

static int by_value(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static void find_data(struct jumps *j)
{
	struct walk *w = j->w;
	uint64_t *v = realloc(j->data, 2 * (size_t)w->n * sizeof(*v));

	j->ndata = 0;
	if (!v)
		return;
	j->data = v;
	j->data_of = w->n;
	for (uint32_t i = 0; i < w->n; i++) {
		struct insn *in = &j->in[PATH_MAX_INSNS - 1];

		/* an instruction has at most two memory operands */
		if (code_decode_fully(w->code, w->insn[i].addr, in) && j->ndata + 2 <= 2 * w->n)
			add_data(j, in);
	}
	j->work -= w->n;
	if (j->ndata)
		qsort(j->data, j->ndata, sizeof(*j->data), by_value);
}

/* Finds the first address above addr that the procedure names. */
static uint64_t next_data(struct jumps *j, uint64_t addr)
{
	uint32_t lo;

	if (j->data_of != j->w->n && j->work > 0)
		find_data(j);
	lo = search_first(i, 0, j->ndata, j->data[i] > addr);
	return lo < j->ndata ? j->data[lo] : UINT64_MAX;
}

/* Finds the end of a table without a bound: entries count while they can be entries, up to the next
 * address that the procedure names. Some may be too many; none is missing. */
static uint64_t guess_end(struct jumps *j, const struct table *t)
{
	uint64_t i = t->lo < ENTRIES_MAX ? t->lo : 0, end = t->hi, to;
	uint64_t first = i, next;
	bool fixed;

	invariant(!t->bounded);
	next = next_data(j, t->at + i * t->size);
	if (end - i >= ENTRIES_MAX)
		end = i + ENTRIES_MAX - 1;
	for (; i <= end; i++) {
		if (t->at + (i + 1) * t->size > next)
			return i;
		if (!read_entry(j, t, i, &to, &fixed) || !is_inside(j, to) ||
		    walk_is_inside(j->w, to))
			return i;
		if (!fixed && i == first + 1)
			return first; /* A single plausible entry can be due to chance. */
	}
	return i;
}

/* Adds the targets in the table. False: it is no table of jump targets. */
static bool read_table(struct jumps *j, uint32_t jump, const struct table *t)
{
	uint64_t first = t->lo, end = t->hi + 1, to;
	struct cfg_proc p;
	bool fixed = false, ok = true;

	if (!t->bounded) {
		first = t->lo < ENTRIES_MAX ? t->lo : 0;
		end = guess_end(j, t);
	}
	if (first >= end) {
		/* a table of procedures */
		j->w->jump[jump].outside = read_entry(j, t, first, &to, &fixed) && fixed &&
					   j->w->code->src.proc(j->w->code->src.ctx, to, &p) &&
					   p.start == to;
		return j->w->jump[jump].outside;
	}
	for (uint64_t i = first; i < end && ok; i++) {
		j->work--;
		if (!read_entry(j, t, i, &to, &fixed))
			return false;
		if (is_inside(j, to))
			walk_add_case(j->w, jump, to);
		else if (j->w->code->src.proc(j->w->code->src.ctx, to, &p))
			j->w->jump[jump].outside = true;
		else
			ok = false;
		if (!fixed && j->w->jump[jump].outside)
			ok = false;
	}
	return ok;
}

/* Follows a word of the GOT, which points back into the PLT until the word is bound. */
static void follow_word(struct jumps *j, uint32_t jump)
{
	const struct insn *in = &j->in[0];
	const ZydisDecodedOperand *op = &in->op[0];
	struct cfg_source *src = &j->w->code->src;
	uint64_t to;
	bool fixed;

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.base == ZYDIS_REGISTER_RIP &&
	    src->data &&
	    src->data(src->ctx, in->addr + in->len + (uint64_t)op->mem.disp.value, &to, 8,
		      &fixed) &&
	    walk_part_at(j->w, to))
		j->w->jump[jump].by_word = walk_add_case(j->w, jump, to);
}

/* Whether the jump, which uses no table, leads to another procedure: the frame is gone, or the
 * target is a word of the GOT. */
static bool is_tail(struct jumps *j, uint32_t jump)
{
	struct insn *in = &j->in[0];

	if (!code_decode_fully(j->w->code, j->w->insn[j->w->jump[jump].insn].addr, in))
		return false;
	if (in->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    in->op[0].mem.index == ZYDIS_REGISTER_NONE &&
	    (in->op[0].mem.base == ZYDIS_REGISTER_RIP || in->op[0].mem.base == ZYDIS_REGISTER_NONE))
		return true;
	return heights_at_entry(j->heights, j->w, j->w->jump[jump].insn);
}

/* Whether the beginning of the table is known, and at least roughly its end. Entries of a table
 * without a bound are checked from its first on, because offsets count from there. */
static bool has_end(const struct table *t)
{
	return t->bounded || t->hi < ENTRIES_MAX || (t->sign && t->base == t->at);
}

static bool resolve(struct jumps *j, uint32_t jump)
{
	uint32_t n = j->w->n, cases = j->w->jump[jump].n;
	uint8_t fate = j->w->jump[jump].fate;
	bool ok = true;

	j->n = j->merges = j->paths = j->ntables = 0;
	j->incomplete = false;
	j->left = j->work < WORK_EACH ? j->work : WORK_EACH;
	j->work -= j->left;
	j->steps = STEPS_EACH;
	if (!append(j, j->w->jump[jump].insn))
		return false;
	if (j->left > 0)
		try_path(j);
	invariant(!j->merges && j->ntables <= TABLES && j->paths <= PATHS);
	j->work += j->left > 0 ? j->left : 0;
	j->work -= (STEPS_EACH - j->steps) / STEP_PART;
	for (uint32_t i = 0; i < j->ntables && ok; i++)
		ok = read_table(j, jump, &j->table[i]) && has_end(&j->table[i]);
	if (j->ntables && ok && !j->incomplete)
		j->w->jump[jump].fate = j->w->jump[jump].n ? WALK_TABLE : WALK_TAIL;
	else
		j->w->jump[jump].fate = WALK_UNKNOWN;
	return j->w->n != n || j->w->jump[jump].n != cases || j->w->jump[jump].fate != fate;
}

void jumps_resolve(struct jumps *j)
{
	bool changed = true;

	for (int round = 0; changed && round < ROUNDS && !j->w->failed; round++) {
		walk_prune(j->w);
		changed = false;
		for (uint32_t i = 0; i < j->w->njumps && j->work > 0; i++)
			changed |= !j->w->jump[i].by_word && resolve(j, i);
	}
	for (uint32_t i = 0; i < j->w->njumps && !j->w->failed; i++) {
		struct walk_jump *x = &j->w->jump[i];

		if (x->fate != WALK_UNKNOWN || x->n || !is_tail(j, i))
			continue;
		x->fate = WALK_TAIL;
		follow_word(j, i);
	}
}

struct jumps *jumps_new(struct walk *w)
{
	struct jumps *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->w = w;
	j->expr = malloc(sizeof(*j->expr));
	j->in = malloc(PATH_MAX_INSNS * sizeof(*j->in));
	j->heights = heights_new();
	j->work = WORK_BASE + WORK_A_BYTE * (int64_t)(w->proc.end - w->proc.start);
	if (!j->expr || !j->in || !j->heights) {
		jumps_free(j);
		return NULL;
	}
	return j;
}

void jumps_free(struct jumps *j)
{
	if (!j)
		return;
	heights_free(j->heights);
	free(j->expr);
	free(j->in);
	free(j->stamp);
	free(j->todo);
	free(j->data);
	free(j);
}
