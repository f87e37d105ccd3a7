/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel build of the run-ahead interpreter, to be run on demand (BPF_PROG_TEST_RUN) on states
 * that user space lays down.
 */
#include "sampler/bpf/types.h"

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "lane.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, LANES);
	__type(key, uint32_t);
	__type(value, struct lane);
} lanes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 + LANES * LANE_UOPS);
	__type(key, uint32_t);
	__type(value, struct uop);
} code SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << LANE_LINE_BITS);
	__type(key, uint32_t);
	__type(value, struct code_line);
} lines SEC(".maps");

static __always_inline const struct uop *ra_uop_at(uint32_t index)
{
	return bpf_map_lookup_elem(&code, &index);
}

static __always_inline int ra_read_user(uint64_t addr, uint32_t bytes, uint64_t *val)
{
	uint64_t n = bytes;

	*val = 0;
	barrier_var(n); /* keeps the compiler from dropping the bound, which the verifier wants */
	if (n > sizeof(*val))
		return -1;
	return bpf_probe_read_user(val, n, (const void *)addr);
}

static __always_inline int ra_read_line(uint64_t addr, uint64_t *data)
{
	return bpf_probe_read_user(data, RA_LINE_BYTES, (const void *)addr);
}

static __always_inline const struct code_line *ra_line_at(uint32_t index)
{
	return bpf_map_lookup_elem(&lines, &index);
}

static __always_inline uint32_t ra_line_bits(void)
{
	return LANE_LINE_BITS;
}

static __always_inline void ra_mark(uint32_t at, uint32_t flags)
{
	struct uop *u = bpf_map_lookup_elem(&code, &at);

	if (u)
		u->flags |= flags;
}

static __always_inline void ra_link(uint32_t from, uint32_t to)
{
	struct uop *u = bpf_map_lookup_elem(&code, &from);

	if (u)
		*(volatile int64_t *)&u->imm = to;
}

static __noinline int ra_map(struct ra_state *s, uint64_t addr)
{
	s->start = s->key[0] & ~(LANE_CODE - 1ull);
	s->end = s->start + LANE_CODE;
	s->bias = s->key[1];
	s->image = (uint32_t)s->key[0] & (LANE_CODE - 1);
	return addr - s->start < LANE_CODE ? 0 : RA_STOP_UNMAPPED;
}

#include "sampler/bpf/loop.h"

static __always_inline void run(uint32_t at, bool in_place)
{
	struct lane *l = bpf_map_lookup_elem(&lanes, &at);
	struct ra_state *s;

	if (!l)
		return;
	s = &l->ra;
	ra_new_mappings(s);
	s->known &= (1u << UR_BIAS) - 1;
	ra_begin(s, l->rflags, l->burst);
	if (ra_goto(s, l->ip))
		return;
	if (in_place)
		run_in_place(s);
	else
		run_by_calls(s, ra_budget(l->burst));
}

static long run_lane(uint32_t i, struct lane_range *range)
{
	run((uint32_t)range->first + i, true);
	return 0;
}

static long run_lane_calls(uint32_t i, struct lane_range *range)
{
	run((uint32_t)range->first + i, false);
	return 0;
}

/* One of them is loaded. */

SEC("raw_tp")
int interp(struct bpf_raw_tracepoint_args *ctx)
{
	struct lane_range range = { .first = ctx->args[0], .n = ctx->args[1] };

	if (range.n > LANES)
		return 1;
	bpf_loop(range.n, run_lane, &range, 0);
	return 0;
}

SEC("raw_tp")
int interp_calls(struct bpf_raw_tracepoint_args *ctx)
{
	struct lane_range range = { .first = ctx->args[0], .n = ctx->args[1] };

	if (range.n > LANES)
		return 1;
	bpf_loop(range.n, run_lane_calls, &range, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
