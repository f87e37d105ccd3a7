/* SPDX-License-Identifier: MIT */
#include "culprit/facts.h"

#include <math.h>
#include <string.h>

#include "estimate/wrong.h"
#include "observe/layouts.h"

double fact_upper(double part, double n)
{
	const double z = 1.96;
	double p, mid, half;

	if (n <= 0)
		return 1;
	p = part / n;
	mid = p + z * z / (2 * n);
	half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
	return fmin(1, (mid + half) / (1 + z * z / n));
}

#define FRESH 0.005 /* share of accesses to new lines above which a pattern matters */
#define PRIOR 4.0   /* weight of the observations of all sites beside those of one site */

struct odds fact_part(uint64_t part, uint64_t n, double all)
{
	return (struct odds){ fact_upper((double)part, (double)n),
			      ((double)part + PRIOR * all) / ((double)n + PRIOR) };
}

/* Facts from the instruction's bytes. */

static bool is_vector(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_XMM0 && r <= ZYDIS_REGISTER_ZMM31;
}

static uint64_t vector_bit(ZydisRegister r)
{
	return 1ULL << (FACT_VECTOR + (r - ZYDIS_REGISTER_XMM0) % 32);
}

static void note_registers(struct fact *f, const struct insn *in)
{
	f->reads = in->gpr_read | (in->fl_read ? 1ULL << FACT_FLAGS : 0);
	f->writes = in->gpr_written | (in->fl_written ? 1ULL << FACT_FLAGS : 0);
	for (unsigned i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &in->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || !is_vector(o->reg.value))
			continue;
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			f->reads |= vector_bit(o->reg.value);
		if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			f->writes |= vector_bit(o->reg.value);
	}
}

static const ZydisDecodedOperand *memory_of(const struct insn *in)
{
	for (unsigned i = 0; i < in->z.operand_count; i++)
		if (in->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    in->op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM)
			return &in->op[i];
	return NULL;
}

static void note_accesses(struct fact *f, const struct insn *in)
{
	for (unsigned i = 0; in->nmem && i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *o = &in->op[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		f->load |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
		f->store |= (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
	}
}

static bool divides(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return true;
	default:
		/* divss, vdivpd, fdivr, sqrtsd, vsqrtps and the like */
		return strstr(ZydisMnemonicGetString(in->z.mnemonic), "div") ||
		       strstr(ZydisMnemonicGetString(in->z.mnemonic), "sqrt");
	}
}

static bool multiplies(const struct insn *in)
{
	return in->z.mnemonic == ZYDIS_MNEMONIC_MUL || in->z.mnemonic == ZYDIS_MNEMONIC_IMUL ||
	       in->z.mnemonic == ZYDIS_MNEMONIC_MULX;
}

static bool waits(const struct insn *in)
{
	if (in->cls == INSN_SYSCALL || (in->z.attributes & ZYDIS_ATTRIB_HAS_LOCK))
		return true;
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_XCHG: /* xchg with memory is locked */
		return in->nmem > 0;
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_LFENCE:
	case ZYDIS_MNEMONIC_SFENCE:
	case ZYDIS_MNEMONIC_CPUID:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_PAUSE:
	case ZYDIS_MNEMONIC_XGETBV:
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_RDRAND:
		return true;
	default:
		return false;
	}
}

/* Whether the instruction takes a unit for integers or branches. Moves between registers and loads take none; an
 * instruction that fuses with a branch is counted with it. */
static bool is_integer(const struct fact *f, const struct insn *in)
{
	uint64_t general = f->writes & ((1ULL << FACT_VECTOR) - 1);

	if (in->cls == INSN_BRANCH || in->cls == INSN_JUMP)
		return true;
	return general && !f->load && in->z.mnemonic != ZYDIS_MNEMONIC_MOV &&
	       f->writes != 1ULL << FACT_FLAGS;
}

static uint8_t latency(const struct fact *f, const struct insn *in, const struct culprit_machine *m)
{
	double cycles = 1;

	if (in->cls == INSN_BRANCH || in->cls == INSN_JUMP)
		return 1;
	if (in->vector)
		cycles = 4;
	if (f->multiplies)
		cycles = m->multiply;
	if (f->divides)
		cycles = m->divide;
	if (f->load)
		cycles += in->vector ? m->vector_load : m->load;
	return (uint8_t)fmin(cycles, UINT8_MAX);
}

/* Bounds from windows. */

static const struct hot *list_of(const struct site *s, int operand)
{
	return s ? site_hot(s, operand) : NULL;
}

static struct locality locality_at(const struct site *s)
{
	return s ? locality_get(s) : (struct locality){ 0 };
}

/* The share over all sites; 1 if nothing is known. */
static double part(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 1;
}

/*
 * The number of misses of a load that are under way at a time: one in a chain; otherwise as many as
 * the reorder buffer has executions of the load, and as there are buffers for. Where the number of
 * instructions between two executions is unknown, the geometric mean of both.
 */
static double overlap(struct pattern p, double fresh, const struct culprit_machine *m)
{
	if (p.kind == PATTERN_CHAIN)
		return 1;
	if (!p.every)
		return sqrt(m->misses);
	return fmin(m->misses, fmax(1, m->window / p.every * fresh));
}

bool fact_is_fresh(const struct insn *in, const struct site *site)
{
	struct locality seen = locality_at(site);

	return in->nmem && (double)seen.lines > FRESH * (double)seen.accesses;
}

#define SKETCH_ERROR \
	1.3 /* factor by which a sketch's number of values may be too small: two standard errors */

/* The largest number of units that a site accesses. */
static double distinct_of(const struct locality *l, const struct distinct *d)
{
	return l->spread ? SKETCH_ERROR * distinct_drawn_from(d, (double)l->spread->seen)
			 : INFINITY;
}

/* The part of a list's region that lies in small pages, at most: what they do not hold lies in large ones. */
static double part_small(const struct hot *h, const struct fact_source *src)
{
	double region = h && hot_total(h) ? footprint_region(h, src->processes) : INFINITY;

	return isinf(region) || src->small <= 0 ? 1 - src->large : fmin(1, src->small / region);
}

static void bound_accesses(struct fact *f, const struct insn *in, const struct site *site,
			   struct pattern pattern, const struct fact_source *src)
{
	const ZydisDecodedOperand *m = memory_of(in);
	bool bare = m && m->mem.index == ZYDIS_REGISTER_NONE;
	ZydisRegister base = m ? m->mem.base : ZYDIS_REGISTER_NONE;
	struct locality seen = locality_at(site);
	struct footprint p = {
		.hot = list_of(site, OPERAND_ADDRESS),
		.uses = f->executions,
		.unit = MACHINE_LINE,
		.crowd = src->data_lines,
		.places = src->line_places,
		.fresh = fact_part(seen.lines, seen.accesses,
				   part(src->seen.lines, src->seen.accesses)),
		.fixed = bare && (base == ZYDIS_REGISTER_RIP || base == ZYDIS_REGISTER_NONE),
		.stack = bare && (base == ZYDIS_REGISTER_RSP || base == ZYDIS_REGISTER_RBP),
		.processes = src->processes,
		.layouts =
			site && src->profile ? layouts_of(src->profile->image[site->id.image]) : 1,
		.samples = src->samples,
		.refills = src->refills,
		.distinct = distinct_of(&seen, seen.spread ? &seen.spread->lines : NULL),
	};

	if (!f->load && !f->store)
		return;
	/* the frame pointer may be any pointer, and a copy has two places */
	if (base == ZYDIS_REGISTER_RBP && p.hot)
		p.stack = false;
	if (in->cls == INSN_COPY || f->string)
		p.stack = p.fixed = false;
	if (in->cls == INSN_CALL || in->cls == INSN_RET)
		p.stack = true;
	f->located = seen.accesses > 0;
	f->hide_line.stream = f->hide_page.stream = pattern.kind == PATTERN_STREAM;
	f->hide_line.overlap = overlap(pattern, p.fresh.likely, src->machine);
	f->hide_page.overlap = fmin(f->hide_line.overlap, src->machine->walks);
	f->hide_line.most = fmax(f->hide_line.overlap,
				 pattern.kind == PATTERN_CHAIN ? 1 : src->machine->misses);
	f->hide_page.most =
		fmax(f->hide_page.overlap, pattern.kind == PATTERN_CHAIN ? 1 : src->machine->walks);
	if (pattern.every && pattern.kind != PATTERN_CHAIN)
		f->hide_line.behind = f->hide_page.behind =
			src->machine->window / src->machine->retire;
	p.hiding = f->hide_line;
	p.walk = pattern.walk;
	f->dcache = footprint_cost(&p, src->machine->data);
	p.unit = MACHINE_PAGE;
	p.refills = 0;
	p.walk = 0; /* it comes by a page again and again */
	p.distinct = distinct_of(&seen, seen.spread ? &seen.spread->pages : NULL);
	p.crowd = src->data_pages;
	p.places = src->page_places;
	p.fresh = fact_part(seen.pages, seen.accesses, part(src->seen.pages, src->seen.accesses));
	p.hiding = f->hide_page;
	f->dtlb = footprint_cost(&p, src->machine->dtlb);
	f->dtlb.likely *= part_small(p.hot, src);
}

#define UNKNOWN 0.01 /* likely share of mispredictions where none was ever judged */

static struct odds part_of(double part, double n)
{
	return (struct odds){ fact_upper(part, n), n > 0 ? fmin(1, part / n) : UNKNOWN };
}

static void bound_meetings(struct fact *f, const struct insn *in, const struct site *site,
			   const struct fact_source *src)
{
	const struct meeting *m;

	if (!f->load || in->cls == INSN_RET)
		return;
	m = src->meetings && site ? meetings_at(src->meetings, site->id) : NULL;
	f->forward = f->alias = (struct odds){ 1, UNKNOWN };
	if (!m)
		return;
	f->judged = true;
	f->forward = part_of((double)m->count[CONFLICT_PARTIAL], (double)m->judged);
	f->alias = part_of((double)m->count[CONFLICT_ALIAS], (double)m->judged);
	f->forward_store = m->store[CONFLICT_PARTIAL].addr;
	f->alias_store = m->store[CONFLICT_ALIAS].addr;
}

/* Bounds mispredictions by the share of the rarer way in n observations; a predictor that
 * learned from windows is likely better. */
static void bound_branch(struct fact *f, const struct site *site, uint64_t processes)
{
	double most = f->cls == INSN_BRANCH ? 0.5 : 1, n = 0, rarer;

	if (f->cls != INSN_BRANCH && f->cls != INSN_IJUMP && f->cls != INSN_ICALL) {
		f->mispredicted = (struct odds){ 0, 0 };
		return;
	}
	f->mispredicted = (struct odds){ most, wrong_predicted(site, f->cls) };
	if (!site)
		return;
	rarer = wrong_rarer(site, f->cls, &n);
	/* each of several processes has the target elsewhere */
	if (n > 0 && (f->cls == INSN_BRANCH || processes <= 1))
		f->mispredicted.most = fmin(most, fact_upper(rarer * n, n));
}

static void bound_fetches(struct fact *f, const struct site *site, const struct fact_source *src)
{
	struct locality seen = locality_at(site), all = src->seen;

	f->code_line = fact_part(seen.code_lines, seen.fetches, part(all.code_lines, all.fetches));
	f->code_page = fact_part(seen.code_pages, seen.fetches, part(all.code_pages, all.fetches));
}

/* Bounds contention. Successive windows are of one thread as often as of several: where two threads
 * contend all the time, half of the windows find the line as their own thread left it. */
static void bound_sharing(struct fact *f, const struct site *site)
{
	struct locality seen = locality_at(site);
	double n = (double)seen.met, part = (double)seen.contended;

	if (seen.contended)
		f->contended =
			(struct odds){ fmin(1, 2 * fact_upper(part, n)), fmin(1, 2 * part / n) };
}

void fact_make(struct fact *f, const struct insn *in, const struct site *site, double executions,
	       struct pattern pattern, const struct fact_source *src)
{
	*f = (struct fact){ .addr = in->addr,
			    .executions = executions,
			    .len = in->len,
			    .cls = in->cls,
			    .hide_line = HIDES_NOTHING,
			    .hide_page = HIDES_NOTHING,
			    .fetch_line = { INFINITY, INFINITY },
			    .fetch_page = { INFINITY, INFINITY } };
	note_registers(f, in);
	note_accesses(f, in);
	f->divides = divides(in);
	f->multiplies = multiplies(in);
	f->serial = waits(in);
	f->string = (in->z.attributes &
		     (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) &&
		    in->z.meta.category == ZYDIS_CATEGORY_STRINGOP;
	f->fuses = insn_may_fuse(in);
	f->integer = is_integer(f, in);
	f->latency = latency(f, in, src->machine);
	bound_accesses(f, in, site, pattern, src);
	bound_meetings(f, in, site, src);
	bound_sharing(f, site);
	bound_branch(f, site, src->processes);
	bound_fetches(f, site, src);
}

void fact_resolve(struct fact *block, unsigned n)
{
	double done[64] = { 0 };

	for (unsigned i = 0; i < n; i++) {
		block[i].ready = 0;
		for (uint64_t r = block[i].reads; r; r &= r - 1)
			block[i].ready = fmax(block[i].ready, done[__builtin_ctzll(r)]);
		block[i].ready += block[i].latency;
		for (uint64_t w = block[i].writes; w; w &= w - 1)
			done[__builtin_ctzll(w)] = block[i].ready;
	}
}

double fact_most(const struct fact *f, const struct culprit_machine *m)
{
	if (f->serial || f->string)
		return EXPLAINS;
	return (f->load ? f->dcache.most : 0) + f->dtlb.most + f->forward.most * m->forward +
	       f->alias.most * m->alias + f->contended.most * m->contended + f->branch.most +
	       f->icache.most + f->itlb.most + f->front.most + (f->divides ? m->divide : 0) +
	       (f->multiplies ? m->multiply : 0);
}

bool fact_feeds(const struct fact *a, const struct fact *b)
{
	uint64_t common = a->writes & b->reads;

	if (a->fuses && b->cls == INSN_BRANCH)
		common &= ~(1ULL << FACT_FLAGS);
	return common != 0;
}
