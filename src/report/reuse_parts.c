/* SPDX-License-Identifier: MIT */
#include "report/reuse_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "estimate/anchor.h"
#include "estimate/parts.h"
#include "observe/curve.h"
#include "report/analysis.h"

#define IPC 1.0	      /* instructions a cycle of code without an estimate */
#define IPC_ERROR 0.7 /* standard deviation of its logarithm, among programs */
/* Cycles that the program may wait for a line that was not touched for long. */
#define FAR_CYCLES 300
#define OTHERS UINT32_MAX /* number of the rest: code in none of the process's regions */

/* A region of code, of any process, and the part of its instruction with the most samples. */
struct place {
	struct site_id id;
	uint32_t part;
	uint64_t samples; /* of that instruction */
};

struct speed {
	double time, instructions; /* time in ns; instructions executed */
	double error;		   /* standard deviation of the logarithm of instructions */
	bool counted;		   /* counters of the program give the executions */
};

struct making {
	struct reuse_parts *out;
	struct reading *r;
	struct estimate e;
	struct speed *speed; /* by part of the estimate; OTHERS comes last */
	size_t nspeeds;
	struct place *place;
	size_t nplaces;
	double window_ns; /* time that a window stands for */
};

/* Speeds of parts. */

static double sample_ns(const struct reading *r)
{
	double rate = r->profile.nrun ? r->profile.run[0].rate : 0;

	return rate > 0 ? 1e9 / rate : 0;
}

static double window_ns(const struct reading *r)
{
	const struct run_counters *n = &r->view.counters;

	return n->windows ? sample_ns(r) * (double)n->user / (double)n->windows : 0;
}

/* Instructions a ns of code without any information. */
static double usual_speed(const struct reading *r)
{
	return IPC * anchor_ghz(r->profile.nrun ? &r->profile.run[0] : NULL);
}

static int tell_speeds(struct making *m)
{
	const struct estimate *e = &m->e;
	size_t n = e->parts->n;

	m->nspeeds = n;
	m->speed = calloc(n + 1, sizeof(*m->speed));
	if (!m->speed)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct part *p = &e->parts->part[i];

		m->speed[i].time = p->samples * sample_ns(m->r);
		m->speed[i].counted = p->counted;
		m->speed[i].error = sqrt(fmax(p->variance, 0));
	}
	for (size_t i = 0; i < e->nproc; i++)
		for (uint32_t b = CFG_FIRST_BLOCK; b < e->proc[i].g.nblocks; b++)
			m->speed[part_of(e, &e->proc[i], b)].instructions +=
				e->scale * e->proc[i].block[b].f * e->proc[i].g.block[b].ninsn;
	return 0;
}

static bool is_known(const struct making *m, uint32_t part)
{
	return part < m->nspeeds && m->speed[part].time > 0 && m->speed[part].instructions > 0 &&
	       isfinite(m->speed[part].error);
}

/* Regions of code. */

static int by_id(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return site_id_order(x->id, y->id);
}

static int list_places(struct making *m)
{
	const struct reuses *u, *r;
	size_t n = 0, k = 0;

	for (u = m->r->profile.reuses; u; u = u->hh.next)
		n += HASH_COUNT(u->regions);
	m->place = calloc(n + 1, sizeof(*m->place));
	if (!m->place)
		return -1;
	for (u = m->r->profile.reuses; u; u = u->hh.next)
		for (r = u->regions; r; r = r->hh.next)
			m->place[m->nplaces++].id = r->place;
	if (n)
		qsort(m->place, n, sizeof(*m->place), by_id);
	for (size_t i = 0; i < n; i++)
		if (!k || by_id(&m->place[k - 1], &m->place[i]))
			m->place[k++] = m->place[i];
	m->nplaces = k;
	return 0;
}

static struct place *place_at(const struct making *m, struct site_id id)
{
	const struct place key = { .id = id };

	return bsearch(&key, m->place, m->nplaces, sizeof(key), by_id);
}

static void tell_places(struct making *m)
{
	const struct site *s;

	SITES_EACH(&m->r->profile.sites, s)
	{
		struct place *p = s->samples ? place_at(m, reuses_place(s->id)) : NULL;
		struct estimate_at at;

		if (!p || s->samples <= p->samples ||
		    !estimate_find(&m->e, s->id.image, s->id.addr, &at))
			continue;
		p->samples = s->samples;
		p->part = part_of(&m->e, at.proc, at.block);
	}
}

/* The part of a region; or a number of its own. */
static uint32_t part_at(const struct making *m, struct site_id id)
{
	const struct place *p = place_at(m, id);

	if (p->samples && is_known(m, p->part))
		return p->part;
	return (uint32_t)(m->nspeeds + 1 + (size_t)(p - m->place));
}

/* Making the parts of a process. */

static struct reuse_part *add_part(struct making *m, const struct reuses *u, uint32_t number)
{
	struct reuse_parts *out = m->out;
	struct reuse_part *part;

	for (size_t i = out->n; i-- && out->part[i]->process == u->key;)
		if (out->part[i]->number == number)
			return out->part[i];
	part = array_one_more(out->part, out->n) ? calloc(1, sizeof(*part)) : NULL;
	if (!part)
		return NULL;
	part->process = u->key;
	part->number = number;
	out->part[out->n++] = part;
	return part;
}

static int add_process(struct making *m, const struct reuses *u)
{
	struct reuse_part *others = add_part(m, u, OTHERS);
	const struct reuses *r;

	if (!others)
		return -1;
	curve_add(&others->sum, u, 1);
	for (r = u->regions; r; r = r->hh.next) {
		struct reuse_part *p = add_part(m, u, part_at(m, r->place));

		if (!p)
			return -1;
		curve_add(&p->sum, r, 1);
		curve_remove(&others->sum, r);
	}
	m->out->windows += u->windows;
	m->out->watched += u->watched;
	return 0;
}

/* Adds up all parts, for the code outside regions. */
static void tell_others(struct making *m)
{
	struct speed *others = &m->speed[m->nspeeds];

	for (size_t i = 0; i < m->nspeeds; i++) {
		const struct speed *s = &m->speed[i];

		if (!is_known(m, (uint32_t)i))
			continue;
		others->time += s->time;
		others->instructions += s->instructions;
		others->error += s->instructions * s->error;
	}
	if (others->instructions > 0)
		others->error /= others->instructions;
}

/* The share of its touches that are to lines not touched again soon, as far as watched lines
 * tell. */
static double far_part(const struct reuses *u)
{
	double alive[REUSES_NEAR], far = u->watches ? 1 - (double)u->soon / (double)u->watches : 1;

	survival(u->near_ended, u->near_left, REUSES_NEAR, 0, alive);
	return alive[distance_bucket(REUSES_LONG)] * fmax(far, 0);
}

/*
 * Raises the error where executions are estimated by time alone, as if the code ran at the usual
 * speed. The code may be slower by the waits for all of its far lines, or for none: the mean of
 * both (of logarithms) is taken, half of their distance is added to the error, and the estimate is
 * drawn to it in proportion to its error. The number of windows bounds how well its time is known.
 */
static void doubt(const struct making *m, struct reuse_part *p)
{
	double usual = p->time * usual_speed(m->r);
	double waits = log1p(IPC * FAR_CYCLES * far_part(&p->sum) * p->touches / p->instructions);
	double of = IPC_ERROR * IPC_ERROR, error, factor;

	error = hypot(hypot(p->error, waits / 2), 1 / sqrt((double)p->sum.windows));
	factor = pow(usual * exp(-waits / 2) / p->instructions,
		     error * error / (error * error + of));
	p->instructions *= factor;
	p->touches *= factor;
	p->error = error;
}

static void tell_touches(struct making *m, struct reuse_part *p, double *known)
{
	const struct speed *s = &m->speed[p->number < m->nspeeds ? p->number : m->nspeeds];
	bool estimated = p->number < m->nspeeds || p->number == OTHERS;

	p->time = (double)p->sum.windows * m->window_ns;
	if (estimated && s->time > 0 && s->instructions > 0) {
		p->instructions = p->time * s->instructions / s->time;
		p->error = s->error;
		*known += p->time;
	} else {
		p->instructions = p->time * usual_speed(m->r);
		p->error = IPC_ERROR;
	}
	p->touches = p->sum.instructions ? p->instructions * (double)p->sum.touches /
						   (double)p->sum.instructions
					 : 0;
	if ((!estimated || !s->counted) && p->touches > 0)
		doubt(m, p);
}

/* Whether windows saw reuse times there: a window that was only begun may have touches, but no times. */
static bool has_times(const struct reuses *u)
{
	for (unsigned b = 0; b < REUSES_NEAR; b++)
		if (u->near_ended[b] || u->near_left[b])
			return true;
	return false;
}

/* Completes the parts; those without touches, or without reuse times, are left out. */
static void finish(struct making *m)
{
	struct reuse_parts *out = m->out;
	double known = 0, all = 0;
	size_t k = 0;

	tell_others(m);
	for (size_t i = 0; i < out->n; i++) {
		tell_touches(m, out->part[i], &known);
		all += out->part[i]->time;
		if (out->part[i]->touches > 0 && isfinite(out->part[i]->touches) &&
		    has_times(&out->part[i]->sum))
			out->part[k++] = out->part[i];
		else
			free(out->part[i]);
	}
	out->n = k;
	out->known = all > 0 ? known / all : 0;
}

static int make(struct making *m, unsigned process)
{
	const struct reuses *u;

	if (tell_speeds(m) || list_places(m))
		return -1;
	tell_places(m);
	for (u = m->r->profile.reuses; u; u = u->hh.next)
		if (u->touches && (!process || u->pid == process) && add_process(m, u))
			return -1;
	finish(m);
	return 0;
}

int reuse_parts_make(struct reuse_parts *parts, struct reading *r, unsigned process,
		     struct err *err)
{
	struct making m = { .out = parts, .r = r, .window_ns = window_ns(r) };
	struct analysis a;
	int rc;

	memset(parts, 0, sizeof(*parts));
	if (analysis_open(&a, r, false, err))
		return -1;
	rc = analysis_estimate(&a, &m.e, err);
	analysis_close(&a);
	if (rc)
		return -1;
	if (make(&m, process))
		rc = err_no_memory(err, "reuse distances");
	estimate_fini(&m.e);
	free(m.speed);
	free(m.place);
	if (rc)
		reuse_parts_free(parts);
	return rc;
}

void reuse_parts_free(struct reuse_parts *parts)
{
	for (size_t i = 0; i < parts->n; i++)
		free(parts->part[i]);
	free(parts->part);
	*parts = (struct reuse_parts){ 0 };
}
