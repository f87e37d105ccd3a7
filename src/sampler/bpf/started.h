/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The addresses of a process's program and of its loader, noted by the kernel side when the process executes the
 * program. So the call stacks of short-lived processes need nothing that user space would have to look up. Only
 * sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_STARTED_H
#define ASSAY_SAMPLER_BPF_STARTED_H

#define STARTED_RANGES 2
struct started {
	uint64_t
		exec_vm; /* pages of code at that time: a process with fewer pages has unmapped some */
	struct proc_range range[STARTED_RANGES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct proc_key);
	__type(value, struct started);
} started SEC(".maps");

/* The range of the mapping that holds the address, if its file is known. */
static __noinline int started_find(struct task_struct *task, uint64_t at, struct proc_range *r)
{
	struct sample_vma v = { 0 };
	struct vma_ctx vc = { .v = &v };

	if (bpf_find_vma(task, at, on_vma, &vc, 0) || !v.ino)
		return 0;
	r->image = file_at(&v, at, &r->bias);
	r->start = v.start;
	r->end = r->image ? v.end : 0;
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_started(uint64_t *args)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct proc_key key = { (uint64_t)mm, bpf_get_current_pid_tgid() >> 32 };
	const struct pt_regs *regs = (const void *)bpf_task_pt_regs(task);
	struct started s = { .exec_vm = BPF_CORE_READ(mm, exec_vm) };
	uint64_t entry = 0;

	bpf_probe_read_kernel(&entry, sizeof(entry), &regs->rip);
	started_find(task, BPF_CORE_READ(mm, start_code), &s.range[0]);
	started_find(task, entry, &s.range[1]);
	bpf_map_update_elem(&started, &key, &s, BPF_ANY);
	return 0;
}

/* Copies the parent's mappings, with which a process is born. */
SEC("raw_tp/sched_process_fork")
int on_born(uint64_t *args)
{
	struct task_struct *parent = (struct task_struct *)args[0],
			   *child = (struct task_struct *)args[1];
	struct proc_key from = { (uint64_t)BPF_CORE_READ(parent, mm), BPF_CORE_READ(parent, tgid) },
			to = { (uint64_t)BPF_CORE_READ(child, mm), BPF_CORE_READ(child, tgid) };
	const struct started *s;
	const struct proc *p;

	if (!starts_process(child))
		return 0;
	s = bpf_map_lookup_elem(&started, &from);
	if (s)
		bpf_map_update_elem(&started, &to, s, BPF_ANY);
	p = bpf_map_lookup_elem(&procs, &from);
	if (p)
		bpf_map_update_elem(&procs, &to, p, BPF_ANY);
	return 0;
}

#endif
