/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as code, with any boundaries of procedures, and as the tables of its jumps; any addresses as
 * what a recording saw.
 *
 * Input: a byte for the number of procedures, one for that of addresses seen; two bytes for the length
 * of each of the former, two for each of the latter; then code, which is data, too.
 */
#include <stdlib.h>
#include <string.h>

#include "cfg/cfg.h"

#define CODE 0x1000ull
#define PROCS 8
#define SEEN 16

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

struct input {
	const uint8_t *code;
	size_t n;
	struct cfg_proc proc[PROCS];
	size_t procs;
	uint64_t insn[SEEN];
	struct cfg_target target[SEEN];
	size_t seen;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *bytes(void *ctx, uint64_t addr, size_t *n)
{
	const struct input *in = ctx;

	if (addr < CODE || addr >= CODE + in->n)
		return NULL;
	*n = in->n - (addr - CODE);
	return in->code + (addr - CODE);
}

static bool proc_at(void *ctx, uint64_t addr, struct cfg_proc *proc)
{
	const struct input *in = ctx;

	for (size_t i = 0; i < in->procs; i++)
		if (addr >= in->proc[i].start && addr < in->proc[i].end) {
			*proc = in->proc[i];
			return true;
		}
	return false;
}

static bool read_data(void *ctx, uint64_t addr, void *buf, size_t n, bool *constant)
{
	const struct input *in = ctx;

	if (addr < CODE || addr - CODE > in->n || n > in->n - (addr - CODE))
		return false;
	memcpy(buf, in->code + (addr - CODE), n);
	*constant = addr % 5;
	return true;
}

static size_t pads(void *ctx, uint64_t start, uint64_t *pad, size_t max)
{
	(void)ctx;
	if (start % 3 || !max)
		return 0;
	pad[0] = start + 7;
	return 1;
}

static int by_value(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return (*a > *b) - (*a < *b);
}

/* Whatever the code, a graph is one. */
static void check(const struct cfg *g)
{
	uint32_t insns = 0, in = 0;

	MUST(g->nblocks > CFG_FIRST_BLOCK && g->nparts);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *x = &g->block[b];

		MUST(x->cls < g->nclasses);
		for (uint32_t e = x->out; e < x->out + x->nout; e++)
			MUST(e < g->nedges && g->edge[e].from == b && g->edge[e].to < g->nblocks &&
			     g->edge[e].cls < g->nclasses);
		for (uint32_t i = x->in; i < x->in + x->nin; i++)
			MUST(i < g->nedges && g->edge[g->in[i]].to == b);
		in += x->nin;
		if (b < CFG_FIRST_BLOCK)
			continue;
		MUST(x->ninsn && x->nout && x->insn == insns && x->start < x->end);
		MUST(g->insn[x->insn].addr == x->start);
		for (uint32_t i = x->insn + 1; i < x->insn + x->ninsn; i++)
			MUST(g->insn[i].addr == g->insn[i - 1].addr + g->insn[i - 1].len);
		MUST(b == CFG_FIRST_BLOCK || g->block[b - 1].start < x->start);
		MUST(cfg_block_at(g, x->start) == b);
		MUST(cfg_block_at(g, g->insn[x->insn + x->ninsn - 1].addr) == b);
		insns += x->ninsn;
	}
	MUST(insns == g->ninsns && in == g->nedges);
	for (uint32_t e = 0; e < g->nedges; e++)
		MUST((g->edge[e].kind >= CFG_RETURN) == (g->edge[e].to == CFG_EXIT_BLOCK));
}

static size_t read_input(struct input *in, const uint8_t *data, size_t size)
{
	static const char *const names[PROCS] = { "f",	   "f.cold", "abort@plt", "sub_1000",
						  "sub_2", "setjmp", "f.cold.12", "" };
	size_t procs = data[0] % (PROCS + 1), seen = data[1] % (SEEN + 1), at = 2;
	uint64_t start = CODE;

	if (size < 2 + 2 * procs + 2 * seen)
		return 0;
	for (; in->procs < procs; at += 2) {
		uint64_t n = data[at] + 256u * (data[at + 1] % 16u);

		in->proc[in->procs] = (struct cfg_proc){ start, start + n + 1, names[in->procs] };
		in->procs++;
		start += n + 1;
	}
	for (; in->seen < seen; at += 2) {
		uint64_t addr = CODE + data[at] + 256u * (data[at + 1] % 16u);

		in->insn[in->seen] = addr;
		in->target[in->seen] = (struct cfg_target){ addr, CODE + data[at] * 3u };
		in->seen++;
	}
	qsort(in->insn, in->seen, sizeof(in->insn[0]), by_value);
	qsort(in->target, in->seen, sizeof(in->target[0]), by_value);
	return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { 0 };
	struct cfg_source src = {
		.ctx = &in, .bytes = bytes, .proc = proc_at, .data = read_data, .pads = pads
	};
	struct cfg_seen seen;
	struct cfg_code *code;
	struct err err;
	size_t at = size < 2 ? 0 : read_input(&in, data, size);

	if (!at)
		return 0;
	in.code = data + at;
	in.n = size - at;
	code = cfg_code_over(&src, &err);
	MUST(code);
	seen = (struct cfg_seen){ in.insn, in.seen, in.target, in.seen };
	for (size_t i = 0; i < in.procs; i++) {
		struct cfg g;

		if (cfg_build(&g, code, in.proc[i].start + i, i % 2 ? &seen : NULL, &err))
			continue;
		check(&g);
		cfg_fini(&g);
	}
	cfg_code_free(code);
	return 0;
}
