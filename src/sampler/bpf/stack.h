/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Call stacks of samples. The interrupt walks them by tables (sampler/bpf/unwind.h). Where a walk does not reach its
 * end, and the ring buffer has room, the thread's registers in user space and the top of its stack are copied. User
 * space walks the copy by everything that the images tell (sampler/stacks.h), and adds the missing rules to the tables.
 * Only sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_STACK_H
#define ASSAY_SAMPLER_BPF_STACK_H

#define STACK_PAGE 4096
#define CALL_EXECVE 59 /* numbers of system calls */
#define CALL_EXECVEAT 322

const volatile uint32_t cfg_stack = 0; /* whether stacks are recorded */

struct stack_slot {
	struct sample_stack s;
	struct pt_regs regs; /* registers of user space, while the thread is in the kernel */
};

/* Stacks by CPU, as `cpus` is. */
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
 * Whether no byte of a page may be read (keep_off_devices). A page has one mapping: a range that begins within a page,
 * such as the one behind the end of the first thread's stack, is no device's.
 */
static __always_inline bool stack_keep_off(uint64_t page)
{
	return unwind_is_off(page, 1);
}

/* Copies up to STACK_COPY bytes from the stack pointer on, page by page, because memory above the stack cannot be read. */
static __always_inline uint32_t stack_copy(struct sample_stack *k)
{
	uint64_t sp = k->reg[4], page = sp & ~(uint64_t)(STACK_PAGE - 1);
	uint32_t first = STACK_PAGE - (sp & (STACK_PAGE - 1)), at = 0;

	if (stack_keep_off(page) ||
	    bpf_probe_read_user(k->bytes, first & (2 * STACK_PAGE - 1), (const void *)sp))
		return 0;
	at = first;
	for (int i = 0; i < STACK_COPY / STACK_PAGE - 1; i++) {
		if (at > STACK_COPY - STACK_PAGE || stack_keep_off(sp + at))
			break;
		if (bpf_probe_read_user(k->bytes + at, STACK_PAGE, (const void *)(sp + at)))
			break;
		at += STACK_PAGE;
	}
	return at;
}

/* The fields of a sample that both kinds of records have. */
struct stack_of {
	uint64_t id, time, period;
	uint64_t kernel_ip; /* the address in the kernel if the thread is there, else 0 */
};

/* Sends the copy of a stack that user space has to walk. */
static __always_inline void stack_send_copy(struct cpu_state *c, struct sampler_counters *n,
					    struct sample_stack *k, const struct stack_of *of)
{
	uint64_t bytes;

	k->kind = SAMPLE_STACK;
	k->flags = 0;
	k->pid = of->id >> 32;
	k->tid = (uint32_t)of->id;
	k->time = of->time;
	k->period = of->period;
	k->mm = c->ra.key[0];
	k->exec_vm = c->exec_vm;
	k->kernel_ip = of->kernel_ip;
	bpf_get_current_comm(k->comm, sizeof(k->comm));
	k->n = k->ip ? stack_copy(k) : 0;
	n->stack_copies += k->ip != 0;
	bytes = sizeof(*k) - sizeof(k->bytes) + k->n;
	if (bytes > sizeof(*k) || send_bytes(c, k, bytes, k->ip != 0))
		n->lost_stacks++;
}

static __always_inline void stack_send_frames(struct cpu_state *c, struct sampler_counters *n,
					      struct unwind_walk *w, const struct stack_of *of)
{
	struct unwind_frames *f = &w->out;
	uint64_t bytes;

	f->kind = SAMPLE_FRAMES;
	f->end = (uint16_t)w->end;
	f->tid = (uint32_t)of->id;
	f->time = of->time;
	f->period = of->period;
	f->kernel_ip = of->kernel_ip;
	bpf_get_current_comm(f->comm, sizeof(f->comm));
	n->stack_frames += f->n;
	bytes = sizeof(*f) - sizeof(f->frame) + (uint64_t)f->n * 8;
	if (bytes > sizeof(*f) || send_bytes(c, f, bytes, false))
		n->lost_stacks++;
}

/* Sets the memory that the walk may not read: that of keep_off_devices(). */
static __always_inline void stack_copy_keep_off(const struct ra_state *s, struct unwind_walk *w)
{
	w->nkeep_off = s->nkeep_off;
	for (uint32_t i = 0; i < RA_KEEP_OFF; i++) {
		if (i >= s->nkeep_off)
			break;
		w->keep_off[i][0] = s->keep_off[i].start;
		w->keep_off[i][1] = s->keep_off[i].end;
	}
}

/*
 * Sends the stack that belongs to the registers in the CPU's slot, whose ip is 0 where the thread has no stack in user
 * space. The verifier checks this function separately, and so only once.
 */
__noinline int stack_send(uint64_t id, uint64_t time, uint64_t period, uint64_t kernel_ip)
{
	const struct stack_of of = {
		.id = id, .time = time, .period = period, .kernel_ip = kernel_ip
	};
	uint32_t cpu = bpf_get_smp_processor_id();
	struct unwind_walk *w = bpf_map_lookup_elem(&unwind_walks, &cpu);
	struct stack_slot *slot = bpf_map_lookup_elem(&stacks, &cpu);
	struct cpu_state *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct sampler_counters *n = bpf_map_lookup_elem(&counters, &cpu);
	uint64_t begin = bpf_ktime_get_ns();
	struct sample_stack *k;

	if (!w || !slot || !c || !n)
		return 0;
	k = &slot->s;
	w->mm = c->ra.key[0];
	w->exec_vm = c->exec_vm;
	w->out.pid = id >> 32;
	w->pc = k->ip;
	__builtin_memcpy(w->reg, k->reg, sizeof(w->reg));
	stack_copy_keep_off(&c->ra, w);
	n->stacks++;
	if (k->ip &&
	    (walk(w) || bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > cfg_ring_bytes / 2)) {
		n->walk_ns += bpf_ktime_get_ns() - begin;
		stack_send_frames(c, n, w, &of);
	} else {
		stack_send_copy(c, n, k, &of);
	}
	n->stack_ns += bpf_ktime_get_ns() - begin;
	return 0;
}

static __always_inline void stack_user(struct bpf_perf_event_data *ctx, uint64_t id, uint64_t time)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct stack_slot *k = bpf_map_lookup_elem(&stacks, &cpu);

	if (!k)
		return;
	stack_registers(&k->s, &ctx->regs);
	stack_send(id, time, ctx->sample_period, 0);
}

/* Whether the thread is executing another program: its stack went with the old address space. */
static __always_inline bool stack_is_gone(const struct pt_regs *r)
{
	uint64_t word;

	return (r->orig_rax == CALL_EXECVE || r->orig_rax == CALL_EXECVEAT) &&
	       bpf_probe_read_user(&word, sizeof(word), (const void *)r->rsp);
}

/* Reads the user-space registers of a thread that is in the kernel, if the thread belongs to a process and has a stack
 * in user space. */
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
				      (const void *)bpf_task_pt_regs(task)) &&
	       !stack_is_gone(&k->regs);
}

/* Sends the user-space stack of a thread that is in the kernel. The verifier checks this function separately. */
__noinline int stack_kernel(uint64_t id, uint64_t time, uint64_t period, uint64_t kernel_ip)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	struct stack_slot *k = bpf_map_lookup_elem(&stacks, &cpu);
	struct cpu_state *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct sampler_counters *n = bpf_map_lookup_elem(&counters, &cpu);

	if (!k || !c || !n)
		return 0;
	if (!stack_outer(c, k, id))
		__builtin_memset(&k->regs, 0, sizeof(k->regs));
	stack_registers(&k->s, &k->regs);
	if (k->s.ip && range_of(c->ra.key[0], c->ra.key[1], k->s.ip) == PROC_RANGES)
		find_range(c, n, k->s.ip);
	return stack_send(id, time, period, kernel_ip);
}

#endif
