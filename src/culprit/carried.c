/* SPDX-License-Identifier: MIT */
#include "culprit/carried.h"

#include <math.h>

#define REGISTERS 64
#define VECTORS (~0ull << FACT_VECTOR)

/* A block, and by register the cycles from the loaded value to that of the register; -1: the
 * register does not depend on the loaded value. */
struct chain {
	const struct culprits *c;
	const struct estimate_proc *p;
	uint32_t block;
	double depth[REGISTERS];
};

static const struct fact *fact_at(const struct chain *k, uint32_t i)
{
	return paths_fact(k->c->paths, k->p, k->block, i);
}

/* The latency of the operation alone, as of the addition of a number in memory. What loads and
 * reads no other vector register is a move. */
static double operation(const struct chain *k, const struct fact *f)
{
	if (f->load && !(f->reads & VECTORS))
		return 0;
	return fmax(0, f->latency - (f->load ? k->c->machine->vector_load : 0));
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
	set(k, f->writes, operation(k, f));
	for (uint32_t i = load + 1; i < store; i++) {
		double depth;

		f = fact_at(k, i);
		if (!f)
			return -1;
		depth = deepest(k, f->reads & VECTORS);
		set(k, f->writes, depth < 0 ? -1 : depth + operation(k, f));
	}
	f = fact_at(k, store);
	return f ? deepest(k, f->reads & VECTORS) : -1;
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

/* The cycles of the chain that begins with the block's i-th instruction, for the mean execution. */
static double chain_at(struct chain *k, uint32_t i)
{
	const struct fact *f = fact_at(k, i);
	struct site_id load = { .image = k->p->image };
	const struct meeting *m;
	uint32_t store;
	double cycles;

	if (!f || !f->load || !(f->writes & VECTORS))
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
			  : (k->c->machine->vector_load + cycles) *
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
