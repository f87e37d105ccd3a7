/* SPDX-License-Identifier: MIT */
#include "culprit/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "estimate/parts.h"

static int by_place(const void *a, const void *b)
{
	const struct culprit_insn_time *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_cycles(const void *a, const void *b)
{
	const struct culprit_program_proc *x = a, *y = b;

	if (x->sum.cycles != y->sum.cycles)
		return x->sum.cycles > y->sum.cycles ? -1 : 1;
	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Adds the certainty of the procedure's executions. */
static void add_known(struct culprit_sum *s, const struct estimate *e,
		      const struct estimate_proc *q)
{
	s->error = s->executions * estimate_sum(e, q).error;
	for (uint32_t b = CFG_FIRST_BLOCK; b < q->g.nblocks; b++)
		if (e->method != ESTIMATE_DCPI && e->parts->part[part_of(e, q, b)].counted)
			s->counted += q->samples[b];
}

static int add_proc(struct culprit_program *p, struct culprits *c, const struct estimate *e,
		    const struct estimate_proc *q, size_t *room, struct err *err)
{
	struct culprit_proc got;

	if (culprits_of(c, q, &got, err))
		return -1;
	add_known(&got.sum, e, q);
	if (!array_reserve(p->insn, *room, p->ninsn + got.n)) {
		culprit_proc_fini(&got);
		return err_no_memory(err, "culprits");
	}
	if (got.n && p->insn)
		memcpy(&p->insn[p->ninsn], got.insn, got.n * sizeof(*got.insn));
	p->ninsn += got.n;
	culprit_sum_add(&p->sum, &got.sum);
	if (got.sum.samples > 0)
		p->proc[p->nproc++] = (struct culprit_program_proc){
			.image = q->image,
			.addr = q->g.nparts ? q->g.part[0].start : 0,
			.sum = got.sum,
		};
	culprit_proc_fini(&got);
	return 0;
}

/*
 * Attributes stalls to the procedures whose instructions are at fault; a stall without a known
 * fault, or whose fault lies in a procedure without samples, to the procedure that stalls. row: by
 * the estimate's procedures, their index here + 1.
 */
static void find_causes(struct culprit_program *p, const struct estimate *e, const uint32_t *row)
{
	for (size_t i = 0; i < p->ninsn; i++) {
		const struct culprit_insn_time *t = &p->insn[i];
		struct estimate_at own, at;

		if (!estimate_find(e, t->image, t->addr, &own))
			continue;
		for (int k = 0; k < CULPRIT_N; k++) {
			const struct culprit_range *r = &t->range[k];
			uint32_t to = 0;

			if (r->fault && estimate_find(e, r->image, r->fault, &at))
				to = row[at.proc - e->proc];
			if (!to)
				to = row[own.proc - e->proc];
			if (to)
				p->proc[to - 1].sum.caused[k] += r->expected;
			p->sum.caused[k] += r->expected;
		}
	}
}

static void sort(struct culprit_program *p)
{
	if (p->insn && p->ninsn)
		qsort(p->insn, p->ninsn, sizeof(*p->insn), by_place);
	if (p->proc && p->nproc)
		qsort(p->proc, p->nproc, sizeof(*p->proc), by_cycles);
}

int culprit_program_make(struct culprit_program *p, const struct estimate_source *src,
			 enum estimate_method method, struct err *err)
{
	struct estimate e;
	struct culprits *c;
	uint32_t *row;
	size_t room = 0;
	int rc = 0;

	memset(p, 0, sizeof(*p));
	if (estimate_make(&e, src, method, err))
		return -1;
	c = culprits_open(&e, src, err);
	p->proc = calloc(e.nproc + 1, sizeof(*p->proc));
	row = calloc(e.nproc + 1, sizeof(*row));
	if (!c || !p->proc || !row)
		rc = err_no_memory(err, "culprits");
	for (size_t i = 0; row && i < e.nproc && !rc; i++) {
		size_t before = p->nproc;

		rc = add_proc(p, c, &e, &e.proc[i], &room, err);
		row[i] = p->nproc > before ? (uint32_t)p->nproc : 0;
	}
	if (row && !rc)
		find_causes(p, &e, row);
	free(row);
	if (c) {
		p->period = culprits_period(c);
		p->apart = e.apart;
		snprintf(p->warning, sizeof(p->warning), "%s", culprits_warning(c));
	}
	culprits_close(c);
	estimate_fini(&e);
	sort(p);
	if (rc)
		culprit_program_fini(p);
	return rc;
}

void culprit_program_fini(struct culprit_program *p)
{
	free(p->insn);
	free(p->proc);
	memset(p, 0, sizeof(*p));
}

const struct culprit_insn_time *culprit_program_at(const struct culprit_program *p, uint32_t image,
						   uint64_t addr)
{
	const struct culprit_insn_time key = { .image = image, .addr = addr };

	return p->ninsn ? bsearch(&key, p->insn, p->ninsn, sizeof(key), by_place) : NULL;
}

const struct culprit_program_proc *culprit_program_proc(const struct culprit_program *p,
							uint32_t image, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < p->nproc; i++)
		if (p->proc[i].image == image && p->proc[i].addr >= from && p->proc[i].addr < to)
			return &p->proc[i];
	return NULL;
}

/*
 * The form in bytes: the period, numbers of procedures and of instructions, the warning; then
 * procedures and instructions. Reals are floats as in memory, integers are varints; an instruction
 * has ranges only for culprits that are not innocent.
 */

static bool put_real(struct buffer *b, double v)
{
	float f = (float)v;

	if (!buffer_room(b, sizeof(f)))
		return false;
	memcpy(b->p + b->n, &f, sizeof(f));
	b->n += sizeof(f);
	return true;
}

static bool put(struct buffer *b, uint64_t v)
{
	if (!buffer_room(b, VARINT_MAX))
		return false;
	varint_put(b, v);
	return true;
}

static bool get_real(struct cursor *c, double *v)
{
	float f;

	if ((size_t)(c->end - c->p) < sizeof(f))
		return false;
	memcpy(&f, c->p, sizeof(f));
	c->p += sizeof(f);
	*v = f;
	return isfinite(f);
}

/* The reals of a sum, and of an instruction. */
#define SUM_REALS(X) \
	X(samples) \
	X(cycles) \
	X(unestimated) \
	X(executions) \
	X(error) \
	X(counted) \
	X(ideal) \
	X(stall) \
	X(gain) \
	X(unexplained) \
	X(raised) \
	X(doubtful) \
	X(divide) X(multiply) X(multiply_least) X(fixed[0]) X(fixed[1]) X(fixed[2]) X(fixed[3])
#define INSN_REALS(X) \
	X(executions) X(cycles) X(least) X(ideal) X(fixed) X(stall) X(gain) X(unexplained) X(raised)

#define X(name) +1
#define PROC_LEAST (2 + sizeof(float) * (0 SUM_REALS(X) + 4 * CULPRIT_N))
#define INSN_LEAST (6 + sizeof(float) * (0 INSN_REALS(X)))
/* least bytes of a procedure, and of an instruction */
static const size_t proc_least = PROC_LEAST, insn_least = INSN_LEAST;
#undef X

static bool write_sum(struct buffer *b, const struct culprit_sum *s)
{
	bool ok = true;

#define X(name) ok = ok && put_real(b, s->name);
	SUM_REALS(X)
#undef X
	for (int i = 0; i < CULPRIT_N; i++)
		ok = ok && put_real(b, s->min[i]) && put_real(b, s->max[i]) &&
		     put_real(b, s->expected[i]) && put_real(b, s->caused[i]);
	return ok;
}

static bool read_sum(struct cursor *c, struct culprit_sum *s)
{
	bool ok = true;

#define X(name) ok = ok && get_real(c, &s->name);
	SUM_REALS(X)
#undef X
	for (int i = 0; i < CULPRIT_N; i++)
		ok = ok && get_real(c, &s->min[i]) && get_real(c, &s->max[i]) &&
		     get_real(c, &s->expected[i]) && get_real(c, &s->caused[i]);
	return ok;
}

static bool write_insn(struct buffer *b, const struct culprit_insn_time *t)
{
	bool ok = put(b, t->image) && put(b, t->addr) && put(b, t->confidence) && put(b, t->why) &&
		  put(b, t->cause);
	uint64_t guilty = 0;

#define X(name) ok = ok && put_real(b, t->name);
	INSN_REALS(X)
#undef X
	for (int i = 0; i < CULPRIT_N; i++)
		guilty |= t->range[i].max > 0 ? 1ULL << i : 0;
	ok = ok && put(b, guilty);
	for (int i = 0; i < CULPRIT_N; i++)
		if (guilty >> i & 1)
			ok = ok && put_real(b, t->range[i].min) && put_real(b, t->range[i].max) &&
			     put_real(b, t->range[i].expected) && put(b, t->range[i].fault) &&
			     put(b, t->range[i].with) && put(b, t->range[i].image);
	return ok;
}

static bool read_insn(struct cursor *c, struct culprit_insn_time *t, size_t nimages)
{
	uint64_t image, confidence, why, guilty;
	bool ok = varint_get(c, &image) && image < nimages && varint_get(c, &t->addr) &&
		  varint_get(c, &confidence) && confidence < CONFIDENCE_N && varint_get(c, &why) &&
		  why < 4 && varint_get(c, &t->cause);

	if (!ok)
		return false;
	t->image = (uint32_t)image;
	t->confidence = (uint8_t)confidence;
	t->why = (uint8_t)why;
#define X(name) ok = ok && get_real(c, &t->name);
	INSN_REALS(X)
#undef X
	if (!ok || !varint_get(c, &guilty) || guilty >> CULPRIT_N)
		return false;
	for (int i = 0; i < CULPRIT_N; i++)
		if (guilty >> i & 1)
			ok = ok && get_real(c, &t->range[i].min) && get_real(c, &t->range[i].max) &&
			     get_real(c, &t->range[i].expected) &&
			     varint_get(c, &t->range[i].fault) &&
			     varint_get(c, &t->range[i].with) && varint_get(c, &image) &&
			     image < nimages && (t->range[i].image = (uint32_t)image, true);
	return ok;
}

bool culprit_program_write(const struct culprit_program *p, struct buffer *b)
{
	size_t said = strlen(p->warning);
	bool ok = put_real(b, p->period) && put(b, p->nproc) && put(b, p->ninsn) && put(b, said) &&
		  buffer_room(b, said);

	if (!ok)
		return false;
	memcpy(b->p + b->n, p->warning, said);
	b->n += said;
	for (size_t i = 0; i < p->nproc && ok; i++)
		ok = put(b, p->proc[i].image) && put(b, p->proc[i].addr) &&
		     write_sum(b, &p->proc[i].sum);
	for (size_t i = 0; i < p->ninsn && ok; i++)
		ok = write_insn(b, &p->insn[i]);
	return ok && write_sum(b, &p->sum);
}

static bool read_head(struct culprit_program *p, struct cursor *c)
{
	uint64_t nproc, ninsn, said;

	if (!get_real(c, &p->period) || !varint_get(c, &nproc) || !varint_get(c, &ninsn) ||
	    !varint_get(c, &said) || said >= sizeof(p->warning) || said > (size_t)(c->end - c->p))
		return false;
	memcpy(p->warning, c->p, said);
	c->p += said;
	if (nproc > (size_t)(c->end - c->p) / proc_least ||
	    ninsn > (size_t)(c->end - c->p) / insn_least)
		return false;
	p->proc = calloc(nproc + 1, sizeof(*p->proc));
	p->insn = calloc(ninsn + 1, sizeof(*p->insn));
	p->nproc = nproc;
	p->ninsn = ninsn;
	return p->proc && p->insn;
}

static bool read_all(struct culprit_program *p, struct cursor *c, size_t nimages)
{
	if (!read_head(p, c))
		return false;
	for (size_t i = 0; i < p->nproc; i++) {
		uint64_t image;

		if (!varint_get(c, &image) || image >= nimages ||
		    !varint_get(c, &p->proc[i].addr) || !read_sum(c, &p->proc[i].sum))
			return false;
		p->proc[i].image = (uint32_t)image;
	}
	for (size_t i = 0; i < p->ninsn; i++)
		if (!read_insn(c, &p->insn[i], nimages))
			return false;
	return read_sum(c, &p->sum) && c->p == c->end;
}

bool culprit_program_read(struct culprit_program *p, const uint8_t *bytes, size_t n, size_t nimages)
{
	struct cursor c = { bytes, bytes + n };

	memset(p, 0, sizeof(*p));
	if (!read_all(p, &c, nimages)) {
		culprit_program_fini(p);
		return false;
	}
	sort(p);
	return true;
}
