/* SPDX-License-Identifier: MIT */
#include "culprit/carried.h"

#include <math.h>

#define REGISTERS 64
#define VECTORS (~0ull << FACT_VECTOR)
#define FRAME (1ull << UR_RSP | 1ull << UR_RBP)

/* A block, and by register the cycles from the loaded value to that of the register; -1: the
 * register does not depend on the loaded value. */
struct chain {
	const struct culprits *c;
	const struct estimate_proc *p;
	uint32_t block;
	uint64_t through; /* registers through which it goes: those for vectors, or all others */
	double depth[REGISTERS];
};

static const struct fact *fact_at(const struct chain *k, uint32_t i)
{
	return paths_fact(k->c->paths, k->p, k->block, i);
}

/* The latency of the operation alone, as of the addition of a number in memory. What loads and
 * reads no other register of the chain is a move. */
static double operation(const struct chain *k, const struct fact *f)
{
	const struct culprit_machine *m = &k->c->machine;

	if (f->load && !(f->reads & k->through))
		return 0;
	return fmax(0, f->latency - (!f->load		   ? 0
				     : f->writes & VECTORS ? m->vector_load
							   : m->load));
}

/* The latency of an instruction behind the first load. General registers also make addresses, so a load waits for
 * them. */
static double latency(const struct chain *k, const struct fact *f)
{
	return k->through == VECTORS || !f->load ? operation(k, f) : f->latency;
}

static double deepest(const struct chain *k, uint64_t registers)
{
	double depth = -1;

	for (unsigned r = 0; r < REGISTERS; r++)
		if (registers >> r & 1)
			depth = fmax(depth, k->depth[r]);
	return depth;
}

static void set(struct chain *k, uint64_t registers, double depth)
{
	for (unsigned r = 0; r < REGISTERS; r++)
		if (registers >> r & 1)
			k->depth[r] = depth;
}

/* The cycles from the block's load to its store; -1: the store does not depend on the load. */
static double between(struct chain *k, uint32_t load, uint32_t store)
{
	const struct fact *f = fact_at(k, load);

	set(k, ~0ull, -1);
	k->through = f->writes & VECTORS ? VECTORS : ~VECTORS;
	set(k, f->writes, f->reads & k->through & ~FRAME ? operation(k, f) : 0);
	for (uint32_t i = load + 1; i < store; i++) {
		double depth;

		f = fact_at(k, i);
		if (!f)
			return -1;
		depth = deepest(k, f->reads & k->through);
		set(k, f->writes, depth < 0 ? -1 : depth + latency(k, f));
	}
	f = fact_at(k, store);
	return f ? deepest(k, f->reads & k->through) : -1;
}

/* The block's instruction at the address of a store, or the number of its instructions. */
static uint32_t find_store(const struct chain *k, struct site_id store)
{
	const struct cfg_block *b = &k->p->g.block[k->block];
	uint32_t i = 0;

	while (i < b->ninsn &&
	       (store.image != k->p->image || k->p->g.insn[b->insn + i].addr != store.addr))
		i++;
	return i;
}

/* Whether a chain through the place that it loads is told: into vector registers from anywhere; into general registers
 * from the frame, where the store that was met is that of the last execution, and takes no time. */
static bool is_carried(const struct fact *f)
{
	const uint64_t flags = 1ull << FACT_FLAGS;

	return f->writes & VECTORS ||
	       (f->reads & FRAME && !(f->reads & ~(FRAME | f->writes | flags)));
}

/* The cycles of the chain that begins with the block's i-th instruction, for the mean execution. */
static double chain_at(struct chain *k, uint32_t i)
{
	const struct fact *f = fact_at(k, i);
	struct site_id load = { .image = k->p->image };
	const struct meeting *m;
	uint32_t store;
	double cycles;

	if (!f || !f->load || !is_carried(f))
		return 0;
	load.addr = f->addr;
	m = meetings_at(&k->c->meetings, load);
	if (!m || !m->judged || !m->count[CONFLICT_FULL])
		return 0;
	store = find_store(k, m->store[CONFLICT_FULL]);
	if (store <= i || store >= k->p->g.block[k->block].ninsn)
		return 0;
	cycles = between(k, i, store);
	return cycles < 0 ? 0
			  : ((f->writes & VECTORS ? k->c->machine.vector_load : 0) + cycles) *
				    (double)m->count[CONFLICT_FULL] / (double)m->judged;
}

double carried_cycles(const struct culprits *c, const struct estimate_proc *p, uint32_t block)
{
	struct chain k = { .c = c, .p = p, .block = block };
	double longest = 0;

	for (uint32_t i = 0; i < p->g.block[block].ninsn; i++)
		longest = fmax(longest, chain_at(&k, i));
	return longest;
}

#define IN_FRAME (1ull << 63) /* stands for all places of the frame, beside registers */

static bool is_in_frame(const struct fact *f)
{
	return (f->load || f->store) && f->reads & FRAME;
}

/* What the block's end has of the result of its i-th instruction. */
static uint64_t reached(const struct chain *k, uint32_t i)
{
	uint64_t has = fact_at(k, i)->writes;

	for (uint32_t j = i; j < k->p->g.block[k->block].ninsn; j++) {
		const struct fact *f = fact_at(k, j);

		if (!f)
			return ~0ull;
		if (j > i)
			has = f->reads & has ? has | f->writes : has & ~f->writes;
		if (f->store && is_in_frame(f) && (has & f->reads & ~FRAME || j == i))
			has |= IN_FRAME;
	}
	return has;
}

/* What the block's i-th instruction needs at the block's start. */
static uint64_t needed(const struct chain *k, uint32_t i)
{
	uint64_t needs = 0;

	for (uint32_t j = i + 1; j-- > 0;) {
		const struct fact *f = fact_at(k, j);

		if (!f)
			return ~0ull;
		if (j < i && !(f->writes & needs))
			continue;
		needs = (needs & ~f->writes) | f->reads;
		if (f->load && is_in_frame(f))
			needs |= IN_FRAME;
	}
	return needs & ~FRAME;
}

bool carried_to_itself(const struct culprits *c, const struct estimate_proc *p, uint32_t block,
		       uint32_t i)
{
	const struct chain k = { .c = c, .p = p, .block = block };

	return !fact_at(&k, i) || reached(&k, i) & needed(&k, i);
}
