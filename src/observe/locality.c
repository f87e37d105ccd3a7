/* SPDX-License-Identifier: MIT */
#include "observe/locality.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "x86/insn.h"
#include "observe/pace.h"

#define WINDOWS 1500.0 /* windows a second above which only a part is examined */
#define UNITS 1024     /* slots of a set: twice the number of lines of a window */
#define STAMP_BITS 20  /* bits of a slot for the window that used it last; the line is above */

struct units {
	uint64_t slot[UNITS];
	unsigned n;
};

/* The thread that last touched each line. */
#define TOUCHED 4096	/* slots, by the line's hash; a later line replaces an earlier one */
#define LATELY 20000000 /* ns between two touches that count as contention */
struct touched {
	uint64_t line; /* the line, combined with the process */
	uint64_t time;
	uint32_t tid;
	bool wrote;
};

struct locality_past {
	struct touched touched[TOUCHED];
	uint32_t pid, tid;
	uint64_t time;
	struct units lines, pages, code_lines, code_pages;
	uint64_t stamp; /* stamp of the current window */
	unsigned outcomes;
	uint64_t line; /* line of the previous instruction's code */
};

struct locality_kept {
	uint16_t n[LOCALITY_N];
	uint16_t met, contended;
	bool full; /* the counts are those of a struct full, which this begins */
};

struct full {
	struct locality_kept kept;
	struct locality counts;
};

static struct full *full_of(const struct locality_kept *k)
{
	return (struct full *)k;
}

struct locality locality_get(const struct site *s)
{
	const struct locality_kept *k = s->locality;
	struct locality l = { 0 };
	unsigned i = 0;

	if (!k)
		return l;
	if (k->full)
		return full_of(k)->counts;
#define X(name, what) l.name = k->n[i++];
	LOCALITIES(X)
#undef X
	l.met = k->met;
	l.contended = k->contended;
	return l;
}

struct locality *locality_of(struct site *s)
{
	struct full *f;

	if (s->locality && s->locality->full)
		return &full_of(s->locality)->counts;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->kept.full = true;
	f->counts = locality_get(s);
	free(s->locality);
	s->locality = &f->kept;
	return &f->counts;
}

/* Whether the sums fit into 16 bits. */
static bool fits(const struct locality *a, const struct locality *b)
{
	bool ok = a->met + b->met <= UINT16_MAX;

#define X(name, what) ok &= a->name + b->name <= UINT16_MAX;
	LOCALITIES(X)
#undef X
	return ok;
}

int locality_count(struct site *s, const struct locality *now)
{
	struct locality l = locality_get(s), *to;
	struct locality_kept *k = s->locality;
	unsigned i = 0;

	if ((k && k->full) || !fits(&l, now)) {
		to = locality_of(s);
		if (to)
			locality_add(to, now);
		return to ? 0 : -1;
	}
	if (!k)
		s->locality = k = calloc(1, sizeof(*k));
	if (!k)
		return -1;
#define X(name, what) k->n[i++] = (uint16_t)(l.name + now->name);
	LOCALITIES(X)
#undef X
	k->met = (uint16_t)(l.met + now->met);
	k->contended = (uint16_t)(l.contended + now->contended);
	return 0;
}

void locality_add(struct locality *to, const struct locality *from)
{
#define X(name, what) to->name += from->name;
	LOCALITIES(X)
#undef X
	to->met += from->met;
	to->contended += from->contended;
}

int locality_spread(struct locality *to, const struct spread *from)
{
	if (!to->spread)
		to->spread = calloc(1, sizeof(*to->spread));
	if (!to->spread)
		return -1;
	to->spread->seen += from->seen;
	distinct_merge(&to->spread->lines, &from->lines);
	distinct_merge(&to->spread->pages, &from->pages);
	return 0;
}

void locality_drop(struct locality_kept *k)
{
	if (k && k->full)
		free(full_of(k)->counts.spread);
	free(k);
}

void locality_free(struct profile *p)
{
	free(p->locality);
	p->locality = NULL;
}

static struct locality_past *past_of(struct profile *p)
{
	if (!p->locality)
		p->locality = calloc(1, sizeof(*p->locality));
	return p->locality;
}

/* Marks the unit as used. Returns whether it was used in this window; true also if its set is
 * full of this window's units. */
static bool use(struct units *u, uint64_t unit, uint64_t stamp)
{
	uint64_t key = unit << STAMP_BITS | stamp;

	for (uint64_t i = hash_bits(unit, 10);; i++) {
		uint64_t *slot = &u->slot[i % UNITS];

		if (*slot == key)
			return true;
		if ((*slot & ((1u << STAMP_BITS) - 1)) == stamp)
			continue;
		if (u->n == UNITS / 2)
			return true;
		u->n++;
		*slot = key;
		return false;
	}
}

static bool writes(const struct retired *r)
{
	return r->cls == INSN_STORE || r->cls == INSN_RMW || r->cls == INSN_COPY;
}

static void note_touch(struct locality_past *t, struct locality *l, const struct retired *r,
		       bool first)
{
	uint64_t line = r->value[OPERAND_ADDRESS] >> LOCALITY_LINE ^ (uint64_t)t->pid << 42;
	struct touched *e = &t->touched[hash_bits(line, 12)];
	bool same = e->line == line && t->time - e->time < LATELY;

	if (first) {
		l->met++;
		l->contended += same && e->tid != t->tid && (e->wrote || writes(r));
	}
	*e = (struct touched){ line, t->time, t->tid,
			       writes(r) || (same && e->tid == t->tid && e->wrote) };
}

/* Notes where the site's access to a line that the window had not used went. -1 without memory. */
static int note_spread(struct site *s, uint64_t addr)
{
	struct locality *l;

	if (locality_get(s).lines < SPREAD_AFTER && !locality_get(s).spread)
		return 0;
	l = locality_of(s);
	if (l && !l->spread)
		l->spread = calloc(1, sizeof(*l->spread));
	if (!l || !l->spread)
		return -1;
	l->spread->seen++;
	distinct_add(&l->spread->lines, addr >> LOCALITY_LINE);
	distinct_add(&l->spread->pages, addr >> LOCALITY_PAGE);
	return 0;
}

/* Returns whether the access is to a line that the window had not used. */
static bool note_access(struct locality_past *t, struct locality *l, const struct retired *r,
			bool asked)
{
	uint64_t addr = r->value[OPERAND_ADDRESS];
	bool line = use(&t->lines, addr >> LOCALITY_LINE, t->stamp);
	bool page = line || use(&t->pages, addr >> LOCALITY_PAGE, t->stamp);

	note_touch(t, l, r, !line);
	if (asked) {
		l->accesses++;
		l->lines += !line;
		l->pages += !page;
	}
	return !line;
}

static void note_fetch(struct locality_past *t, struct locality *l, const struct retired *r,
		       bool asked)
{
	uint64_t addr = r->site.addr ^ (uint64_t)r->site.image << 44;
	bool line = use(&t->code_lines, addr >> LOCALITY_LINE, t->stamp);
	bool page = line || use(&t->code_pages, addr >> LOCALITY_PAGE, t->stamp);

	if (!asked)
		return;
	l->fetches++;
	l->code_lines += !line;
	l->code_pages += !page;
}

static void note_branch(struct locality_past *t, struct locality *l,
			enum locality_prediction prediction)
{
	if (t->outcomes++ < LOCALITY_OUTCOMES || prediction == LOCALITY_UNSURE)
		return;
	l->branches++;
	l->mispredicted += prediction == LOCALITY_WRONG;
}

static uint64_t line_of(const struct retired *r)
{
	return r->site.addr >> LOCALITY_LINE ^ (uint64_t)r->site.image << 40;
}

int locality_note(struct locality_past *t, struct site *s, const struct retired *r, bool asked,
		  enum locality_prediction prediction)
{
	bool fetch = line_of(r) != t->line, access = r->have >> OPERAND_ADDRESS & 1;
	struct locality now = { 0 };
	bool new;

	t->line = line_of(r);
	if (!fetch && !access && !pace_is_predicted(r))
		return 0;
	if (fetch)
		note_fetch(t, &now, r, asked);
	new = access &&note_access(t, &now, r, asked);
	if (pace_is_predicted(r))
		note_branch(t, &now, prediction);
	if (locality_count(s, &now))
		return -1;
	return new ? note_spread(s, r->value[OPERAND_ADDRESS]) : 0;
}

int locality_begin(struct profile *p, const struct window *w, struct locality_past **now)
{
	double rate = p->nrun ? p->run[0].rate : 0;
	struct locality_past *t;

	*now = NULL;
	if (w->n <= LOCALITY_AFTER || p->windows % (uint64_t)(1 + rate / WINDOWS))
		return 0;
	*now = t = past_of(p);
	if (!t)
		return -1;
	/* Stamps wrap around so late that old slots are mistaken for new ones once in a million
	 * windows. */
	t->stamp = (t->stamp + 1) & ((1u << STAMP_BITS) - 1);
	t->stamp += !t->stamp;
	t->lines.n = t->pages.n = t->code_lines.n = t->code_pages.n = 0;
	t->outcomes = 0;
	t->line = UINT64_MAX;
	t->pid = w->pid;
	t->tid = w->tid;
	t->time = w->time;
	return 0;
}
