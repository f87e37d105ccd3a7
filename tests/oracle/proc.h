/* SPDX-License-Identifier: MIT */
/*
 * A program under ptrace: let run, stopped anywhere, and single-stepped.
 */
#ifndef ASSAY_TESTS_PROC_H
#define ASSAY_TESTS_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct proc_map {
	uint64_t start, end, offset;
	bool exec;
};

struct proc {
	pid_t pid; /* 0: none, or it has ended */
	int mem;   /* /proc/PID/mem */
	struct proc_map *map;
	uint32_t nmap;
	struct user_regs_struct regs; /* where it is stopped */
};

/* Starts a program, its input and output /dev/null, and stops it at its first instruction. -1 with
 * errno. */
int proc_start(struct proc *p, char **argv);
void proc_kill(struct proc *p);

/* Lets it run for so long and stops it in user code. False if it has ended. */
bool proc_run(struct proc *p, uint32_t us);
/* One instruction, or one round of a repeated one. False if it has ended, or a signal came
 * between. */
bool proc_step(struct proc *p);

/* Reads memory; how many bytes were read. */
size_t proc_read(const struct proc *p, uint64_t addr, void *buf, size_t n);
/* The executable mapping that holds an address, or NULL. Looks anew if it is in none. */
const struct proc_map *proc_code_at(struct proc *p, uint64_t addr);

#endif
