/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Which processes are the command that is recorded and its descendants. Events are the CPUs', so that a process is
 * sampled in proportion to its time however soon it ends: an event that a process inherits begins with a whole period.
 * Only sampler.bpf.c includes this file.
 */
#ifndef ASSAY_SAMPLER_BPF_MEMBERS_H
#define ASSAY_SAMPLER_BPF_MEMBERS_H

/* The kernel's rule on who may look into a process: a word before Linux 6.18, a structure since
 * then. */
struct mm_struct___word {
	unsigned long flags;
} KERNEL_STRUCT;
typedef struct {
	unsigned long __mm_flags[1];
} KERNEL_STRUCT mm_flags_t;
struct mm_struct___bitmap {
	mm_flags_t flags;
} KERNEL_STRUCT;

/* Members by tgid, as the first pid namespace numbers it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, uint32_t);
	__type(value, uint8_t);
} members SEC(".maps");

uint64_t unfollowed; /* descendants that `members` had no room for */
uint32_t
	waiting_parent; /* the next child of this process that executes a program is the command; 0: none */

static __always_inline bool is_member(uint32_t tgid)
{
	return bpf_map_lookup_elem(&members, &tgid);
}

static __always_inline bool starts_process(struct task_struct *task)
{
	return BPF_CORE_READ(task, pid) == BPF_CORE_READ(task, tgid);
}

SEC("raw_tp/sched_process_fork")
int on_fork(uint64_t *args)
{
	struct task_struct *child = (struct task_struct *)args[1];
	uint32_t parent = BPF_CORE_READ((struct task_struct *)args[0], tgid), tgid;
	uint8_t yes = 1;

	if (!starts_process(child) || !is_member(parent))
		return 0;
	tgid = BPF_CORE_READ(child, tgid);
	if (bpf_map_update_elem(&members, &tgid, &yes, BPF_ANY))
		unfollowed++;
	return 0;
}

/* Follows the kernel's own rule for inherited events: a process that others may not look into, such
 * as a set-uid program's, has none. */
static __always_inline bool may_be_sampled(struct mm_struct *mm)
{
	struct mm_struct___bitmap *bitmap = (void *)mm;
	struct mm_struct___word *word = (void *)mm;
	unsigned long flags = 0;

	if (bpf_core_field_exists(bitmap->flags.__mm_flags))
		flags = BPF_CORE_READ(bitmap, flags.__mm_flags[0]);
	else if (bpf_core_field_exists(word->flags))
		flags = BPF_CORE_READ(word, flags);
	return (flags & 3) == 1;
}

SEC("raw_tp/sched_process_exec")
int on_exec(uint64_t *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	uint32_t tgid = BPF_CORE_READ(task, tgid);
	uint8_t yes = 1;

	if (waiting_parent && BPF_CORE_READ(task, real_parent, tgid) == waiting_parent) {
		waiting_parent = 0;
		bpf_map_update_elem(&members, &tgid, &yes, BPF_ANY);
	}
	if (is_member(tgid) && !may_be_sampled(BPF_CORE_READ(task, mm)))
		bpf_map_delete_elem(&members, &tgid);
	return 0;
}

SEC("raw_tp/sched_process_free")
int on_free(uint64_t *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	uint32_t tgid = BPF_CORE_READ(task, tgid);

	if (starts_process(task))
		bpf_map_delete_elem(&members, &tgid);
	return 0;
}

/* Run by user space: the next child of the caller that executes a program is the command. */
SEC("syscall")
int await_command(void *ctx)
{
	waiting_parent = bpf_get_current_pid_tgid() >> 32;
	return 0;
}

#endif
