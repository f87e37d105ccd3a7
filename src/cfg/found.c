/* SPDX-License-Identifier: MIT */
/*
 * Procedures that neither a symbol nor unwind information describes: hand-written code in a
 * stripped file. All code is read once for the places it calls. In code outside all procedures, one
 * begins at each place that is called and at the beginning of a section, and extends to the next.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/search.h"
#include "cfg/code_priv.h"

#define CALLED_MAX 256
#define ALIGNED 16 /* alignment of procedures */
#define SMALL 64   /* bytes of a small gap */

struct starts {
	uint64_t *v;
	size_t n, cap;
};

static bool add_start(struct starts *s, uint64_t addr)
{
	if (!array_reserve(s->v, s->cap, s->n + 1))
		return false;
	s->v[s->n++] = addr;
	return true;
}

void code_learn(struct cfg_code *c, uint64_t addr)
{
	if (!c->im || image_proc_at(c->im, addr) || !array_one_more(c->learnt, c->nlearnt))
		return;
	c->learnt[c->nlearnt++] = addr;
	if (c->found_ready)
		code_found_fini(c);
}

void code_found_fini(struct cfg_code *c)
{
	free(c->found);
	c->found = NULL;
	c->nfound = 0;
	c->found_ready = false;
}

/* Whether a nop ends right before addr. */
static bool is_after_filler(struct cfg_code *c, uint64_t addr)
{
	for (unsigned n = 1; n < INSN_MAX_LEN; n++) {
		struct code_at at = { 0 };
		struct code_insn in;

		if (code_decode(c, &at, addr - n, &in) && in.nop && in.len == n)
			return true;
	}
	return false;
}

/* Collects the places outside all procedures that [start, end) calls, and those it jumps to that
 * look like a beginning because padding precedes them. */
static bool sweep(struct cfg_code *c, struct starts *s, uint64_t start, uint64_t end)
{
	struct code_at at = { 0 };
	struct code_insn in;

	for (uint64_t addr = start; addr < end;) {
		bool jumps;

		if (!code_decode(c, &at, addr, &in)) {
			addr++;
			continue;
		}
		jumps = in.cls == INSN_JUMP && in.target % ALIGNED == 0 &&
			!image_proc_at(c->im, addr) && is_after_filler(c, in.target);
		if ((in.cls == INSN_CALL || jumps) && !image_proc_at(c->im, in.target) &&
		    !add_start(s, in.target))
			return false;
		addr += in.len;
	}
	return true;
}

static int by_value(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

static bool add_found(struct cfg_code *c, uint64_t start, uint64_t end)
{
	struct code_found *v;

	if (start >= end)
		return true;
	if (!array_one_more(c->found, c->nfound))
		return false;
	v = &c->found[c->nfound++];
	*v = (struct code_found){ .start = start, .end = end };
	snprintf(v->name, sizeof(v->name), "sub_%" PRIx64, start);
	return true;
}

/* Divides a gap [start, end) between procedures, within one section, at the places where a
 * procedure begins. */
static bool divide_piece(struct cfg_code *c, const struct starts *s, uint64_t start, uint64_t end)
{
	size_t lo = search_first(i, 0, s->n, s->v[i] > start);

	for (; lo < s->n && s->v[lo] < end; lo++) {
		if (!add_found(c, start, s->v[lo]))
			return false;
		start = s->v[lo];
	}
	return add_found(c, start, end);
}

static bool divide(struct cfg_code *c, const struct starts *s, uint64_t start, uint64_t end)
{
	uint64_t from, to;

	if (!image_section_at(c->im, 0, &from, &to))
		return divide_piece(c, s, start, end); /* The file has no sections. */
	while (start < end && image_section_at(c->im, start, &from, &to) && from < end) {
		start = from > start ? from : start;
		to = to < end ? to : end;
		if (!divide_piece(c, s, start, to))
			return false;
		start = to;
	}
	return true;
}

/* Divides all code outside procedures, in order of address. */
static bool divide_gaps(struct cfg_code *c, const struct starts *s)
{
	const struct image_segment *seg;
	const struct image_proc *proc;
	unsigned nseg = image_segments(c->im, &seg);
	size_t n = image_procs(c->im, &proc);

	for (unsigned i = 0; i < nseg; i++) {
		uint64_t at = seg[i].addr, end = seg[i].addr + seg[i].size;

		for (size_t k = 0; k < n; k++) {
			if (proc[k].end <= at || proc[k].start >= end)
				continue;
			if (!divide(c, s, at, proc[k].start))
				return false;
			at = proc[k].end;
		}
		if (!divide(c, s, at, end))
			return false;
	}
	return true;
}

static int by_start(const void *va, const void *vb)
{
	const struct code_found *a = va, *b = vb;

	return (a->start > b->start) - (a->start < b->start);
}

static bool find_all(struct cfg_code *c, struct starts *s)
{
	const struct image_segment *seg;
	unsigned nseg = image_segments(c->im, &seg);
	uint64_t called[CALLED_MAX];
	size_t n = image_called(c->im, called, CALLED_MAX);

	for (size_t i = 0; i < n; i++)
		if (!add_start(s, called[i]))
			return false;
	for (size_t i = 0; i < c->nlearnt; i++)
		if (!add_start(s, c->learnt[i]))
			return false;
	for (unsigned i = 0; i < nseg; i++)
		if (!sweep(c, s, seg[i].addr, seg[i].addr + seg[i].size))
			return false;
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_value);
	if (!divide_gaps(c, s))
		return false;
	if (c->nfound)
		qsort(c->found, c->nfound, sizeof(*c->found), by_start);
	for (size_t i = 1; i < c->nfound; i++)
		invariant(c->found[i - 1].end <= c->found[i].start);
	return true;
}

/* Finds the gap that holds addr, if it is too small to be divided: the code before the first slot
 * of a PLT, for example. */
static const struct code_found *find_small(struct cfg_code *c, uint64_t addr)
{
	const struct image_proc *proc;
	size_t n = image_procs(c->im, &proc), lo;
	uint64_t start, end;
	struct code_found *f = &c->small;

	if (!image_section_at(c->im, addr, &start, &end) || addr < start)
		return NULL;
	lo = search_first(i, 0, n, proc[i].start > addr);
	if (lo && proc[lo - 1].end > start)
		start = proc[lo - 1].end;
	if (lo < n && proc[lo].start < end)
		end = proc[lo].start;
	if (end - start > SMALL || addr < start)
		return NULL;
	*f = (struct code_found){ .start = start, .end = end };
	snprintf(f->name, sizeof(f->name), "sub_%" PRIx64, start);
	return f;
}

const struct code_found *code_find_unnamed(struct cfg_code *c, uint64_t addr)
{
	const struct code_found *small = c->im ? find_small(c, addr) : NULL;
	struct starts s = { 0 };
	size_t lo;

	if (!c->im || small)
		return small;
	if (!c->found_ready) {
		c->found_ready = true;
		if (!find_all(c, &s))
			c->nfound = 0;
		free(s.v);
	}
	lo = search_first(i, 0, c->nfound, c->found[i].start > addr);
	return lo && addr < c->found[lo - 1].end ? &c->found[lo - 1] : NULL;
}

/* Jumps into the middle of procedures: hand-written procedures share code. They lie close together,
 * so only code near a procedure is searched for such jumps, piece by piece. */

#define PIECE 32768u
#define NEAR 65536u

static bool add_entry(struct cfg_code *c, uint64_t to, uint64_t from)
{
	if (!array_reserve(c->entry, c->entry_cap, c->nentries + 1))
		return false;
	c->entry[c->nentries++] = (struct code_entry){ to, from };
	return true;
}

/* Collects jumps from the procedure into the middle of others, from the part of it that lies in
 * [start, end). */
static bool scan_proc(struct cfg_code *c, const struct image_proc *p, uint64_t start, uint64_t end)
{
	struct code_at at = { 0 };
	struct code_insn in;
	/* an instruction decoded from within another one is out of step at first */
	uint64_t addr = p->start < start ? start : p->start;

	while (addr < end && addr < p->end) {
		const struct image_proc *to;

		if (!code_decode(c, &at, addr, &in)) {
			addr++;
			continue;
		}
		addr += in.len;
		if ((in.cls != INSN_JUMP && in.cls != INSN_BRANCH) ||
		    (in.target >= p->start && in.target < p->end))
			continue;
		to = image_proc_at(c->im, in.target);
		if (to && to->start != in.target && !add_entry(c, in.target, addr - in.len))
			return false;
	}
	return true;
}

static size_t first_proc(const struct image_proc *proc, size_t n, uint64_t addr)
{
	return search_first(i, 0, n, proc[i].end > addr);
}

static bool scan(struct cfg_code *c, uint64_t start, uint64_t end)
{
	const struct image_proc *proc;
	size_t n = image_procs(c->im, &proc);

	for (size_t i = first_proc(proc, n, start); i < n && proc[i].start < end; i++)
		if (!scan_proc(c, &proc[i], start, end))
			return false;
	return true;
}

static int by_to(const void *va, const void *vb)
{
	const struct code_entry *a = va, *b = vb;

	return (a->to > b->to) - (a->to < b->to);
}

static const struct image_segment *segment_at(const struct cfg_code *c, uint64_t addr,
					      uint64_t *before)
{
	const struct image_segment *seg;
	unsigned n = image_segments(c->im, &seg);

	*before = 0;
	for (unsigned i = 0; i < n; i++) {
		if (addr - seg[i].addr < seg[i].size)
			return &seg[i];
		*before += seg[i].size / PIECE + 1;
	}
	return NULL;
}

static bool make_scanned(struct cfg_code *c)
{
	const struct image_segment *seg;
	unsigned n = image_segments(c->im, &seg);
	uint64_t pieces = 0;

	for (unsigned i = 0; i < n; i++)
		pieces += seg[i].size / PIECE + 1;
	c->scanned = calloc(pieces / 64 + 1, sizeof(*c->scanned));
	return c->scanned;
}

const struct code_entry *code_entries(struct cfg_code *c, uint64_t start, uint64_t end, size_t *n)
{
	const struct image_segment *seg;
	uint64_t before, from, to;
	size_t lo, had = c->nentries;
	bool ok = true;

	*n = 0;
	seg = c->im && (c->scanned || make_scanned(c)) ? segment_at(c, start, &before) : NULL;
	if (!seg)
		return NULL;
	from = start - seg->addr > NEAR ? start - seg->addr - NEAR : 0;
	to = seg->size - (end - seg->addr) > NEAR ? end - seg->addr + NEAR : seg->size;
	for (uint64_t piece = from / PIECE; piece * PIECE < to && ok; piece++) {
		uint64_t *word = &c->scanned[(before + piece) / 64];
		uint64_t bit = 1ull << (before + piece) % 64;

		ok = *word & bit ||
		     scan(c, seg->addr + piece * PIECE, seg->addr + (piece + 1) * PIECE);
		*word |= ok ? bit : 0;
	}
	if (c->nentries != had)
		qsort(c->entry, c->nentries, sizeof(*c->entry), by_to);
	if (!ok)
		return NULL;
	for (size_t i = 1; i < c->nentries; i++)
		invariant(c->entry[i - 1].to <= c->entry[i].to);
	lo = search_first(i, 0, c->nentries, c->entry[i].to > start);
	while (lo + *n < c->nentries && c->entry[lo + *n].to < end)
		++*n;
	return *n ? &c->entry[lo] : NULL;
}
