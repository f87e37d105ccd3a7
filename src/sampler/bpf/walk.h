/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The kernel's side of sampler/bpf/unwind.h: its tables as maps, and walks of the interrupted thread's stack. Only
 * sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_WALK_H
#define ASSAY_SAMPLER_BPF_WALK_H

#define UNWIND_FUNCTION __noinline
#include "sampler/bpf/unwind.h"

/* By pid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, struct unwind_space);
} unwind_spaces SEC(".maps");

/* The sizes are set where stacks are recorded. */
#define UNWIND_ARRAY(name, of) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1); \
		__type(key, uint32_t); \
		__type(value, of); \
	} name SEC(".maps")
UNWIND_ARRAY(unwind_images, struct unwind_image);
UNWIND_ARRAY(unwind_pages, uint64_t);
UNWIND_ARRAY(unwind_lines, struct unwind_line);
UNWIND_ARRAY(unwind_rules, struct unwind_rule);

/* By CPU, like cpus. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct unwind_walk);
} unwind_walks SEC(".maps");

static __always_inline const struct unwind_image *unwind_image_at(uint32_t image)
{
	return bpf_map_lookup_elem(&unwind_images, &image);
}

static __always_inline const uint64_t *unwind_page_at(uint32_t page)
{
	return bpf_map_lookup_elem(&unwind_pages, &page);
}

static __always_inline uint32_t unwind_row_at(uint32_t row)
{
	uint32_t line = row / UNWIND_LINE;
	const struct unwind_line *l = bpf_map_lookup_elem(&unwind_lines, &line);

	return l ? l->row[row & (UNWIND_LINE - 1)] : 0;
}

static __always_inline const struct unwind_rule *unwind_rule_at(uint32_t rule)
{
	return bpf_map_lookup_elem(&unwind_rules, &rule);
}

/* Whether the walk that this CPU performs must not read at the address. */
__noinline int unwind_is_off(uint64_t addr, uint32_t bytes)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	const struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &cpu);

	for (uint32_t i = 0; w && i < UNWIND_KEEP_OFF; i++)
		if (i < w->nkeep_off && addr + bytes > w->keep_off[i][0] &&
		    addr < w->keep_off[i][1])
			return 1;
	return 0;
}

static __always_inline int unwind_read(struct unwind_walk *w, uint64_t addr, void *to,
				       uint32_t bytes)
{
	if (w->nkeep_off && unwind_is_off(addr, bytes))
		return -1;
	return bpf_probe_read_user(to, bytes, (const void *)addr);
}

/* Returns the index of the process's range that holds the address, or UNWIND_RANGES. */
__noinline uint32_t unwind_range_of(uint32_t pid, uint64_t addr)
{
	const struct unwind_space *s = bpf_map_lookup_elem(&unwind_spaces, &pid);
	uint32_t lo = 0, hi;

	if (!s || addr >> 63)
		return UNWIND_RANGES;
	hi = s->n;
	for (int i = 0; i < 10; i++) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (lo >= hi)
			break;
		unwind_halve(s->range[mid & (UNWIND_RANGES - 1)].end, addr, &lo, mid + 1, &hi, mid);
	}
	if (lo >= s->n || s->range[lo & (UNWIND_RANGES - 1)].start > addr)
		return UNWIND_RANGES;
	return lo;
}

static __always_inline int unwind_enter(struct unwind_walk *w, const struct proc_range *r)
{
	if (r->image >= UNWIND_IMAGES)
		return -1;
	w->range.start = r->start;
	w->range.end = r->end;
	w->range.bias = r->bias;
	w->range.image = r->image;
	w->range.rules = 1;
	return 0;
}

/* Looks up an address of a process whose mappings user space has not told yet: among the mappings in which windows
 * began, and among those of the program and its loader. */
static __always_inline int unwind_find_noted(struct unwind_walk *w, uint64_t addr)
{
	struct proc_key key = { w->mm, w->out.pid };
	const struct proc *p = bpf_map_lookup_elem(&procs, &key);
	const struct started *s = bpf_map_lookup_elem(&started, &key);
	uint32_t i = range_of(w->mm, w->out.pid, addr);

	if (p && i < PROC_RANGES && p->exec_vm == w->exec_vm)
		return unwind_enter(w, &p->range[i]);
	for (i = 0; s && i < STARTED_RANGES; i++)
		if (w->exec_vm >= s->exec_vm && addr >= s->range[i].start && addr < s->range[i].end)
			return unwind_enter(w, &s->range[i]);
	return -1;
}

static __always_inline int unwind_find_range(struct unwind_walk *w, uint64_t addr)
{
	uint32_t pid = w->out.pid, i = unwind_range_of(pid, addr);
	const struct unwind_space *s = bpf_map_lookup_elem(&unwind_spaces, &pid);

	if (!s || s->mm != w->mm || s->exec_vm != w->exec_vm)
		return unwind_find_noted(w, addr);
	if (i >= UNWIND_RANGES)
		return unwind_find_noted(w, addr) ? 1 : 0;
	w->range = s->range[i & (UNWIND_RANGES - 1)];
	return 0;
}

struct walk_ctx { /* callbacks are handed a pointer to the stack */
	struct unwind_walk *w;
};

static long walk_step(uint32_t i, struct walk_ctx *c)
{
	return unwind_step(c->w);
}

/* Walks the stack whose registers are in w. False: user space has to walk a copy. */
static __always_inline bool walk(struct unwind_walk *w)
{
	struct walk_ctx c = { .w = w };

	unwind_begin(w);
	bpf_loop(UNWIND_FRAMES + 1, walk_step, &c, 0);
	return w->end == UNWIND_ROOT || w->end == UNWIND_DEPTH || w->end == UNWIND_NO_RULE;
}

#endif
