/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The sampler's kernel side: on each timer interrupt, take the interrupted thread's registers and
 * run ahead.
 */
#include "sampler/bpf/types.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "sampler/bpf/shared.h"

/*
 * The kernel structures that are read, as little of each as is needed; CO-RE finds the offsets. All reads are
 * BPF_CORE_READ's: where a pointer is followed directly, the verifier searches all types of the kernel by name.
 */
#define KERNEL_STRUCT __attribute__((preserve_access_index))
struct mm_struct {
	unsigned long total_vm, data_vm, exec_vm, stack_vm; /* in pages */
	unsigned long start_code, start_data, brk, start_stack, env_end;
} KERNEL_STRUCT;
struct thread_struct {
	unsigned long fsbase, gsbase;
} KERNEL_STRUCT;
struct task_struct {
	struct mm_struct *mm;
	struct thread_struct thread;
	int pid, tgid;
	struct task_struct *real_parent;
} KERNEL_STRUCT;
struct super_block {
	__u32 s_dev;
} KERNEL_STRUCT;
struct inode {
	unsigned long i_ino;
	struct super_block *i_sb;
} KERNEL_STRUCT;
struct qstr {
	const unsigned char *name;
} KERNEL_STRUCT;
struct dentry {
	struct qstr d_name;
} KERNEL_STRUCT;
struct path {
	struct dentry *dentry;
} KERNEL_STRUCT;
struct file {
	struct inode *f_inode;
	struct path f_path;
} KERNEL_STRUCT;
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
} KERNEL_STRUCT;

const volatile uint32_t cfg_burst = 32;
const volatile uint32_t cfg_more = 0; /* ra_state.more */
const volatile uint32_t cfg_line_bits = 14;
const volatile uint32_t cfg_ring_bytes = 1 << 24;
const volatile uint64_t cfg_wake_ns = 300000; /* least time between two wake-ups for missing code */
const volatile uint32_t cfg_pick_every =
	0; /* one window in this number has a touch picked; 0: none */
const volatile uint32_t cfg_pick_burst = 32;
const volatile uint32_t cfg_watch_hits = 0; /* hits after which a watchpoint ends */
const volatile uint32_t cfg_members = 0;    /* only processes in `members` are sampled */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct uop);
} code SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct code_line);
} lines SEC(".maps");

struct cpu_state {
	struct ra_state ra;
	struct sample_vma vma; /* mapping of the present interrupt */
	uint64_t exec_vm;      /* exec_vm of the process that ra.key names */
	uint32_t other;	       /* other_pages() of that process */
	uint32_t devices;      /* value of device_changes when its devices were looked up */
	uint32_t look, pad;    /* whether user space must look at its mappings */
	uint64_t woken;
	uint64_t rare_spent; /* sampler/bpf/rare.h */
	uint32_t busy;
	uint32_t unpicked; /* windows since the last long one */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_state);
} cpus SEC(".maps");

/* Stacks by CPU, as `cpus` is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct sampler_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct proc_key);
	__type(value, struct proc);
} procs SEC(".maps");

/* The initial entry of a process that has none yet; it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct proc);
} no_ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, struct file_info);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, struct device_ranges);
} devices SEC(".maps");

uint32_t device_changes; /* number of changes to ranges of devices, counted by user space */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} ring SEC(".maps");

#include "sampler/bpf/filter.h"
#include "sampler/bpf/members.h"
#include "sampler/bpf/rare.h"

/* Functions that the interpreter needs (runahead/interp.h). */

static __always_inline const struct uop *ra_uop_at(uint32_t index)
{
	return bpf_map_lookup_elem(&code, &index);
}

static __always_inline int ra_read_user(uint64_t addr, uint32_t bytes, uint64_t *val)
{
	uint64_t n = bytes;

	*val = 0;
	barrier_var(n); /* keeps the compiler from dropping the bound that the verifier needs */
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
	return cfg_line_bits;
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

/* Returns the number of the process's range that holds the address, or PROC_RANGES. The verifier
 * checks this function separately. */
__noinline uint32_t range_of(uint64_t mm, uint64_t tgid, uint64_t va)
{
	struct proc_key key = { mm, tgid };
	const struct proc *p = bpf_map_lookup_elem(&procs, &key);

	if (!p)
		return PROC_RANGES;
	for (uint32_t i = 0; i < PROC_RANGES; i++)
		if (va >= p->range[i].start && va < p->range[i].end)
			return i;
	return PROC_RANGES;
}

static __noinline int ra_map(struct ra_state *s, uint64_t va)
{
	const struct proc *p = bpf_map_lookup_elem(&procs, &s->key);
	uint32_t i = range_of(s->key[0], s->key[1], va);
	const struct proc_range *r;

	if (!p || i >= PROC_RANGES)
		return RA_STOP_UNMAPPED;
	r = &p->range[i];
	if (r->image == PROC_NOIMAGE)
		return RA_STOP_NOIMAGE;
	s->start = r->start;
	s->end = r->end;
	s->bias = r->bias;
	s->image = r->image;
	return 0;
}

#include "sampler/bpf/loop.h"

/* Finds the mapping of the interrupted instruction, if it was not seen yet. */

struct vma_ctx { /* callbacks are handed a pointer to the stack */
	struct sample_vma *v;
};

static long on_vma(struct task_struct *task, struct vm_area_struct *vma, struct vma_ctx *ctx)
{
	struct sample_vma *v = ctx->v;
	struct file *f = BPF_CORE_READ(vma, vm_file);

	v->start = BPF_CORE_READ(vma, vm_start);
	v->end = BPF_CORE_READ(vma, vm_end);
	v->pgoff = BPF_CORE_READ(vma, vm_pgoff) << 12;
	v->ino = v->dev = 0;
	if (f) {
		v->ino = BPF_CORE_READ(f, f_inode, i_ino);
		v->dev = BPF_CORE_READ(f, f_inode, i_sb, s_dev);
		bpf_probe_read_kernel_str(v->name, sizeof(v->name),
					  BPF_CORE_READ(f, f_path.dentry, d_name.name));
	}
	return 0;
}

/* Returns the number of the image that the mapping's file is, and the difference of run-time and ELF addresses; 0: the
 * file is not known. */
static __always_inline uint32_t file_at(const struct sample_vma *v, uint64_t at, uint64_t *bias)
{
	struct file_key key = { .ino = v->ino, .dev = v->dev };
	const struct file_info *f = bpf_map_lookup_elem(&files, &key);
	uint64_t off = at - v->start + v->pgoff;

	if (!f)
		return 0;
	for (uint32_t i = 0; i < FILE_SEGMENTS; i++)
		if (i < f->nseg && off - f->seg[i].offset < f->seg[i].size)
			*bias = at - (off - f->seg[i].offset + f->seg[i].addr);
	return f->image;
}

/* Adds the range of v to the process's; the image's number, 0 if its file is not known yet. */
static __noinline uint32_t add_range(struct ra_state *s, const struct sample_vma *v, uint64_t ip)
{
	struct proc *p = bpf_map_lookup_elem(&procs, &s->key);
	uint32_t image = PROC_NOIMAGE;
	struct proc_range *r;
	uint64_t bias = 0;

	if (!p) {
		s->key[0] = 0; /* the process was evicted from the map */
		return 0;
	}
	if (v->ino) {
		image = file_at(v, ip, &bias);
		if (!image)
			return 0;
	}
	r = &p->range[__sync_fetch_and_add(&p->n, 1) & (PROC_RANGES - 1)];
	r->end = 0;
	barrier_var(r);
	r->start = v->start;
	r->bias = bias;
	r->image = image;
	barrier_var(r);
	r->end = v->end;
	return image;
}

/* Finds the process's mappings; the entry is emptied if it is new or the mappings have changed. 0
 * without room. */
static __noinline int find_proc(struct ra_state *s, uint64_t exec_vm)
{
	struct proc *p = bpf_map_lookup_elem(&procs, &s->key);
	uint32_t zero = 0;
	struct proc *none;

	if (p && p->exec_vm == exec_vm)
		return 1;
	none = bpf_map_lookup_elem(&no_ranges, &zero);
	if (!none || bpf_map_update_elem(&procs, &s->key, none, BPF_ANY))
		return 0;
	p = bpf_map_lookup_elem(&procs, &s->key);
	if (!p)
		return 0;
	p->exec_vm = exec_vm;
	return 1;
}

/* The number of pages that are neither private data, code nor stack. Devices are mapped as such
 * pages. */
static __always_inline uint32_t other_pages(struct mm_struct *mm, uint64_t exec_vm)
{
	return (uint32_t)(BPF_CORE_READ(mm, total_vm) - BPF_CORE_READ(mm, data_vm) - exec_vm -
			  BPF_CORE_READ(mm, stack_vm));
}

static __always_inline void keep_off(struct ra_state *s, uint32_t i, uint64_t start, uint64_t end)
{
	s->keep_off[i & (RA_KEEP_OFF - 1)] = (struct ra_extent){ start, end };
}

/* Forbids reading of all memory that may be a device: only the program's own data, its heap, and the first thread's
 * stack remain. */
static __noinline int keep_off_unknown(struct ra_state *s, struct mm_struct *mm)
{
	uint64_t stack = BPF_CORE_READ(mm, start_stack) - (BPF_CORE_READ(mm, stack_vm) << 12);

	keep_off(s, 0, 0, BPF_CORE_READ(mm, start_data));
	keep_off(s, 1, BPF_CORE_READ(mm, brk), stack);
	keep_off(s, 2, BPF_CORE_READ(mm, env_end), ~0ull);
	s->nkeep_off = 3;
	return 0;
}

/*
 * Fills in the ranges that must not be read. Non-zero if the process has mapped more since user
 * space looked: the new memory may be a device, however little time has passed.
 */
static __noinline int keep_off_devices(struct ra_state *s, uint32_t other)
{
	uint32_t tgid = (uint32_t)s->key[1];
	struct device_ranges *d = bpf_map_lookup_elem(&devices, &tgid);

	s->nkeep_off = 0;
	if (!d || d->mm != s->key[0] || other > d->other)
		return 1;
	d->other = other;
	for (uint32_t i = 0; i < DEVICE_RANGES; i++)
		s->keep_off[i] = d->range[i];
	s->nkeep_off = d->n;
	return 0;
}

/* Makes this process the one whose mappings the state holds. 0 without room. */
static __always_inline int enter_proc(struct cpu_state *c, struct mm_struct *mm, uint64_t tgid,
				      uint64_t exec_vm, uint32_t other)
{
	struct ra_state *s = &c->ra;

	bool same = s->key[0] == (uint64_t)mm && s->key[1] == tgid && c->exec_vm == exec_vm;

	if (same && c->other == other && c->devices == device_changes)
		return 1;
	s->key[0] = (uint64_t)mm;
	s->key[1] = tgid;
	c->exec_vm = exec_vm;
	c->other = other;
	c->devices = device_changes;
	c->look = keep_off_devices(s, other);
	if (c->look)
		keep_off_unknown(s, mm);
	if (same)
		return 1;
	ra_new_mappings(s);
	if (find_proc(s, exec_vm))
		return 1;
	s->key[0] = 0;
	return 0;
}

/* Sends a record. Wakes the reader if the record asks for something that user space can supply, or if the buffer fills.
 * Non-zero if the buffer is full. */
static __always_inline long send_bytes(struct cpu_state *c, void *h, uint64_t bytes, bool wake)
{
	uint64_t flags = BPF_RB_NO_WAKEUP, now;

	if (wake) {
		now = bpf_ktime_get_ns();
		if (now - c->woken > cfg_wake_ns) {
			c->woken = now;
			flags = BPF_RB_FORCE_WAKEUP;
		}
	}
	if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > cfg_ring_bytes / 4)
		flags = BPF_RB_FORCE_WAKEUP;
	return bpf_ringbuf_output(&ring, h, bytes, flags);
}

/* Sends a sample, of which `words` words at h are there. */
static __always_inline void send(struct cpu_state *c, struct sampler_counters *n, void *h,
				 uint32_t words, bool wake)
{
	if (words > RA_OUT_WORDS)
		words = RA_OUT_WORDS;
	if (send_bytes(c, h, words * 8, wake))
		n->lost_ring++;
}

/* Finds the mapping of ip, and adds it to the process's mappings. 0: the mapping is not known, or
 * has no file. */
static __always_inline uint32_t find_range(struct cpu_state *c, struct sampler_counters *n,
					   uint64_t ip)
{
	struct vma_ctx vc = { .v = &c->vma };

	n->find_vma++;
	c->vma.start = 0;
	if (bpf_find_vma(bpf_get_current_task_btf(), ip, on_vma, &vc, 0)) {
		n->find_vma_failed++;
		return 0;
	}
	return add_range(&c->ra, &c->vma, ip);
}

#include "sampler/bpf/started.h"
#include "sampler/bpf/walk.h"
#include "sampler/bpf/stack.h"

static __always_inline void on_kernel(struct bpf_perf_event_data *ctx, struct cpu_state *c,
				      struct sampler_counters *n, uint64_t id)
{
	struct sample h = {
		.kind = SAMPLE_KERNEL,
		.pid = id >> 32,
		.tid = (uint32_t)id,
		.period = ctx->sample_period,
		.ip = ctx->regs.rip,
	};

	if (!id) {
		n->idle++;
		return;
	}
	n->kernel++;
	h.time = bpf_ktime_get_ns();
	send(c, n, &h, sizeof(h) / 8, false);
	if (cfg_stack)
		stack_kernel(id, h.time, ctx->sample_period, ctx->regs.rip);
}

static __always_inline void take_registers(struct ra_state *s, struct bpf_perf_event_data *ctx,
					   uint64_t fsbase)
{
	s->r[UR_RAX] = ctx->regs.rax;
	s->r[UR_RCX] = ctx->regs.rcx;
	s->r[UR_RDX] = ctx->regs.rdx;
	s->r[UR_RBX] = ctx->regs.rbx;
	s->r[UR_RSP] = ctx->regs.rsp;
	s->r[UR_RBP] = ctx->regs.rbp;
	s->r[UR_RSI] = ctx->regs.rsi;
	s->r[UR_RDI] = ctx->regs.rdi;
	s->r[UR_R8] = ctx->regs.r8;
	s->r[UR_R9] = ctx->regs.r9;
	s->r[UR_R10] = ctx->regs.r10;
	s->r[UR_R11] = ctx->regs.r11;
	s->r[UR_R12] = ctx->regs.r12;
	s->r[UR_R13] = ctx->regs.r13;
	s->r[UR_R14] = ctx->regs.r14;
	s->r[UR_R15] = ctx->regs.r15;
	s->r[UR_FS] = fsbase;
	/* the saved gs base is unknown while the thread is in the kernel */
	s->known = (1u << UR_GS) - 1;
}

static __always_inline void go_on(struct ra_state *s, bool in_place)
{
	if (in_place)
		run_in_place(s);
	else
		run_by_calls(s, ra_budget(s->burst));
}

/* Runs ahead from ip. */
static __always_inline void run(struct ra_state *s, uint64_t ip, uint64_t rflags, uint32_t burst,
				bool in_place)
{
	ra_begin(s, rflags, burst);
	s->more = cfg_more;
	if (rflags & FL_DF) {
		s->stop = RA_STOP_UNSUPPORTED;
		return;
	}
	if (!ra_goto(s, ip))
		go_on(s, in_place);
}

/* Goes on after the mapping of s->target has been found. */
static __always_inline void run_on(struct ra_state *s, bool in_place)
{
	s->stop = RA_STOP_RUNNING;
	if (!ra_goto(s, s->target))
		go_on(s, in_place);
}

/* Whether this window is a long one, of which a touch is picked to watch its line. */
static __always_inline bool pick(struct cpu_state *c)
{
	if (!cfg_pick_every || ++c->unpicked < cfg_pick_every)
		return false;
	c->unpicked = 0;
	return true;
}

static __always_inline void on_user(struct bpf_perf_event_data *ctx, struct cpu_state *c,
				    struct sampler_counters *n, uint64_t id, bool in_place)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct ra_state *s = &c->ra;
	struct sample *h = (struct sample *)s->out;
	uint64_t ip = ctx->regs.rip, begin = bpf_ktime_get_ns(), exec_vm = 0, taken;
	uint32_t words, image, other, stands = 1;
	bool have_vma = false, found = false, picked = false;
	bool rare = ctx->sample_period == RARE_PERIOD;
	int why;

	exec_vm = BPF_CORE_READ(mm, exec_vm);
	take_registers(s, ctx, BPF_CORE_READ(task, thread.fsbase));
	other = other_pages(mm, exec_vm);
	if (!enter_proc(c, mm, id >> 32, exec_vm, other)) {
		n->lost_map++;
		return;
	}
	why = ra_find_mapping(s, ip);
	if (why == RA_STOP_UNMAPPED) {
		found = true;
		image = find_range(c, n, ip);
		have_vma = c->vma.start && (image == 0 || image == PROC_NOIMAGE);
		why = ra_find_mapping(s, ip);
	}
	h->image = why ? 0 : s->image;
	h->bias = s->bias;
	if (why || ctx->regs.cs != 0x33) {
		ra_begin(s, 0, 0);
		s->target = ip;
		s->stop = why ? (uint32_t)why : RA_STOP_UNSUPPORTED;
	} else if (!rare && (stands = draw(s->image, ip - s->bias)) == FILTER_PASSED) {
		ra_begin(s, 0, 0);
		s->stop = RA_STOP_PASSED;
	} else {
		picked = pick(c);
		run(s, ip, ctx->regs.eflags,
		    rare     ? cfg_rare_burst
		    : picked ? cfg_pick_burst
			     : cfg_burst,
		    in_place);
		/* one look-up succeeds in each interrupt */
		if (s->stop == RA_STOP_UNMAPPED && !found && find_range(c, n, s->target))
			run_on(s, in_place);
	}
	h->kind = SAMPLE_USER;
	h->flags = (have_vma ? SAMPLE_VMA
		    : picked ? SAMPLE_PICK
			     : 0) |
		   (c->look ? SAMPLE_LOOK : 0) | (rare ? SAMPLE_RARE : 0) |
		   (cfg_filter || cfg_budget ? stands << SAMPLE_STANDS_SHIFT : 0);
	h->other = other;
	h->pid = id >> 32;
	h->tid = (uint32_t)id;
	h->time = taken = begin;
	h->period = rare ? 0 : ctx->sample_period;
	h->ip = ip;
	h->target = s->target;
	h->mm = (uint64_t)mm;
	h->stack = BPF_CORE_READ(mm, start_stack);
	h->exec_vm = exec_vm;
	h->stop = s->stop;
	h->stop_image = s->image;
	h->n = s->n;
	h->uops = s->uops;
	h->stop_bias = s->bias;
	words = s->out_n;
	if (have_vma) {
		/* the image was not known, so no window begins */
		__builtin_memcpy(&s->out[RA_OUT_HEAD], &c->vma, sizeof(c->vma));
		words = RA_OUT_HEAD + sizeof(c->vma) / 8;
	}
	begin = bpf_ktime_get_ns() - begin;
	h->ns = (uint32_t)begin;
	if (rare)
		n->rare++;
	else
		n->user++;
	if (s->n && !rare)
		n->windows++;
	n->instructions += s->n;
	n->uops += s->uops;
	n->ahead_ns += begin;
	send(c, n, h, words,
	     s->stop == RA_STOP_MISS || s->stop == RA_STOP_UNMAPPED || have_vma || picked ||
		     c->look);
	if (cfg_stack && !rare)
		stack_user(ctx, id, taken);
}

static __always_inline int on_interrupt(struct bpf_perf_event_data *ctx, bool in_place)
{
	uint32_t cpu = bpf_get_smp_processor_id();
	uint64_t id = bpf_get_current_pid_tgid();
	struct cpu_state *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct sampler_counters *n = bpf_map_lookup_elem(&counters, &cpu);

	if (!c || !n || (cfg_members && !is_member(id >> 32)))
		return 0;
	if (ctx->sample_period == RARE_PERIOD &&
	    (!(ctx->regs.cs & 3) || c->busy || !rare_wanted(&c->rare_spent, ctx->regs.rip)))
		return 0;
	if (c->busy) {
		n->lost_nested++;
		return 0;
	}
	c->busy = 1;
	if (ctx->regs.cs & 3)
		on_user(ctx, c, n, id, in_place);
	else
		on_kernel(ctx, c, n, id);
	c->busy = 0;
	return 0;
}

/* Only one of these programs is loaded. */

SEC("perf_event")
int on_sample(struct bpf_perf_event_data *ctx)
{
	return on_interrupt(ctx, true);
}

SEC("perf_event")
int on_sample_calls(struct bpf_perf_event_data *ctx)
{
	return on_interrupt(ctx, false);
}

/* Handles a hit of a watchpoint. Its result lets the kernel count, and end, the event. */
SEC("perf_event")
int on_watch(struct bpf_perf_event_data *ctx)
{
	struct bpf_perf_event_value v = { 0 };
	struct sample_watch h = {
		.kind = SAMPLE_WATCH,
		.tid = (uint32_t)bpf_get_current_pid_tgid(),
		.addr = ctx->addr,
	};

	if (bpf_perf_prog_read_value(ctx, &v, sizeof(v)))
		return 1;
	h.hits = v.counter;
	h.running = v.running;
	bpf_ringbuf_output(&ring, &h, sizeof(h),
			   h.hits < cfg_watch_hits ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 1;
}

/* Prints the kernel's name of the code at code_address, run by user space: "name+0xOFFSET/0xSIZE
 * [module]". */

uint64_t code_address;
char code_name[CODE_NAME_MAX];

SEC("syscall")
int name_code(void *ctx)
{
	static const char form[] = "%pS";
	uint64_t arg = code_address;

	return (int)bpf_snprintf(code_name, sizeof(code_name), form, &arg, sizeof(arg));
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
