/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Counts the interrupts of perf events, by the thread that they hit.
 */
#include "sampler/bpf/types.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

struct count {
	uint64_t n, period;	    /* the last one's */
	uint64_t time, between[16]; /* of the event's clock, between the last ones */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, struct count);
} counts SEC(".maps");

SEC("perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	struct count zero = { 0 }, *c;
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();
	struct bpf_perf_event_value now = { 0 };

	bpf_map_update_elem(&counts, &tid, &zero, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&counts, &tid);
	if (!c)
		return 0;
	bpf_perf_prog_read_value(ctx, &now, sizeof(now));
	c->between[c->n++ & 15] = now.counter - c->time;
	c->time = now.counter;
	c->period = ctx->sample_period;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
