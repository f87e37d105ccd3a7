/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a call stack is found from: the thread's registers in user space and the top of its stack, which are copied in the
 * interrupt. User space walks the copy (sampler/stacks.h), so it has all of an image's unwind information. Only
 * sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_STACK_H
#define ASSAY_SAMPLER_BPF_STACK_H

#define STACK_PAGE 4096

const volatile uint32_t cfg_stack = 0; /* whether stacks are copied */

struct stack_slot {
	struct sample_stack s;
	struct pt_regs regs; /* of user space, while the thread is in the kernel */
};

/* By CPU, like cpus. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct stack_slot);
} stacks SEC(".maps");

static __always_inline void stack_registers(struct sample_stack *k, const struct pt_regs *r)
{
	k->ip = r->rip;
	k->reg[0] = r->rax;
	k->reg[1] = r->rcx;
	k->reg[2] = r->rdx;
	k->reg[3] = r->rbx;
	k->reg[4] = r->rsp;
	k->reg[5] = r->rbp;
	k->reg[6] = r->rsi;
	k->reg[7] = r->rdi;
	k->reg[8] = r->r8;
	k->reg[9] = r->r9;
	k->reg[10] = r->r10;
	k->reg[11] = r->r11;
	k->reg[12] = r->r12;
	k->reg[13] = r->r13;
	k->reg[14] = r->r14;
	k->reg[15] = r->r15;
}

/*
 * Whether nothing of a page may be read (keep_off_devices). A page is of one mapping: where a range begins within it, as
 * behind the end of the first thread's stack, it is no device's.
 */
static __always_inline bool stack_keep_off(const struct ra_state *s, uint64_t page)
{
	bool hit = false;

	for (uint32_t i = 0; i < RA_KEEP_OFF; i++)
		if (i < s->nkeep_off && page < s->keep_off[i].end && page >= s->keep_off[i].start)
			hit = true;
	return hit;
}

/* Copies up to STACK_COPY bytes from the stack pointer on, page by page: what lies above the stack cannot be read. */
static __always_inline uint32_t stack_copy(const struct ra_state *s, struct sample_stack *k)
{
	uint64_t sp = k->reg[4], page = sp & ~(uint64_t)(STACK_PAGE - 1);
	uint32_t first = STACK_PAGE - (sp & (STACK_PAGE - 1)), at = 0;

	if (stack_keep_off(s, page) ||
	    bpf_probe_read_user(k->bytes, first & (2 * STACK_PAGE - 1), (const void *)sp))
		return 0;
	at = first;
	for (int i = 0; i < STACK_COPY / STACK_PAGE - 1; i++) {
		if (at > STACK_COPY - STACK_PAGE || stack_keep_off(s, sp + at))
			break;
		if (bpf_probe_read_user(k->bytes + at, STACK_PAGE, (const void *)(sp + at)))
			break;
		at += STACK_PAGE;
	}
	return at;
}

/* Sends the stack whose registers are in k. `kernel_ip`: where the thread is in the kernel, or 0. */
static __always_inline void stack_send(struct cpu_state *c, struct sampler_counters *n,
				       struct sample_stack *k, uint64_t id, uint64_t time,
				       uint64_t period, uint64_t kernel_ip)
{
	uint64_t bytes;

	k->kind = SAMPLE_STACK;
	k->flags = 0;
	k->pid = id >> 32;
	k->tid = (uint32_t)id;
	k->time = time;
	k->period = period;
	k->mm = c->ra.key[0];
	k->exec_vm = c->exec_vm;
	k->kernel_ip = kernel_ip;
	bpf_get_current_comm(k->comm, sizeof(k->comm));
	k->n = k->ip ? stack_copy(&c->ra, k) : 0;
	bytes = sizeof(*k) - sizeof(k->bytes) + k->n;
	if (bytes > sizeof(*k) || send_bytes(c, k, bytes, false))
		n->lost_stacks++;
}

static __always_inline void stack_user(struct bpf_perf_event_data *ctx, struct cpu_state *c,
				       struct sampler_counters *n, uint64_t id, uint64_t time)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct stack_slot *k = bpf_map_lookup_elem(&stacks, &cpu);

	if (!k)
		return;
	stack_registers(&k->s, &ctx->regs);
	stack_send(c, n, &k->s, id, time, ctx->sample_period, 0);
}

/* Reads the registers that a thread in the kernel has in user space, where it is one of a process. */
static __always_inline bool stack_outer(struct cpu_state *c, struct stack_slot *k, uint64_t id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	uint64_t exec_vm;

	if (!mm)
		return false;
	exec_vm = BPF_CORE_READ(mm, exec_vm);
	return enter_proc(c, mm, id >> 32, exec_vm, other_pages(mm, exec_vm)) &&
	       !bpf_probe_read_kernel(&k->regs, sizeof(k->regs),
				      (const void *)bpf_task_pt_regs(task));
}

static __always_inline void stack_kernel(struct bpf_perf_event_data *ctx, struct cpu_state *c,
					 struct sampler_counters *n, uint64_t id, uint64_t time)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct stack_slot *k = bpf_map_lookup_elem(&stacks, &cpu);

	if (!k)
		return;
	if (!stack_outer(c, k, id))
		__builtin_memset(&k->regs, 0, sizeof(k->regs));
	stack_registers(&k->s, &k->regs);
	stack_send(c, n, &k->s, id, time, ctx->sample_period, ctx->regs.rip);
}

#endif
