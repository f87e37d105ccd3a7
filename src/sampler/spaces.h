/* SPDX-License-Identifier: MIT */
/*
 * Where the code of processes is mapped, for walking call stacks. The kernel's records of processes (sampler/sideband)
 * are applied up to the time of each sample; mappings without a record are read from /proc.
 */
#ifndef ASSAY_SAMPLER_SPACES_H
#define ASSAY_SAMPLER_SPACES_H

#include <stdbool.h>
#include <uthash.h>

#include "sampler/bpf/unwind_tables.h"
#include "sampler/files.h"
#include "sampler/sideband.h"

/* An executable mapping of a process. */
struct place {
	uint64_t start, end, offset;
	uint64_t bias;		  /* run-time addresses minus ELF addresses */
	struct mapped_file *file; /* NULL: no file, or one that could not be opened */
	bool vdso;
};

struct process {
	pid_t pid;
	struct place *place; /* in the order of addresses */
	size_t n, cap;
	bool followed;	      /* the mappings are those that the kernel's records gave */
	uint64_t read;	      /* when they were read from /proc; ns, CLOCK_MONOTONIC; 0: never */
	uint64_t mm, exec_vm; /* the values of the last sample (struct sample_stack) */
	bool cgroup_known;
	char cgroup[256];
	UT_hash_handle hh;
};

#define SPACES_ENDED 64 /* processes that ended but whose samples may still arrive */
struct spaces {
	struct files *files;
	uint32_t vdso_image, anon_image; /* image numbers in the profile */
	struct image *vdso;		 /* the vDSO, or NULL; all processes have the same one */
	int map;    /* the kernel side's map of processes' mappings; -1: there is none */
	pid_t only; /* this process and its descendants are followed; 0: all processes */
	struct sideband *sideband; /* or NULL */
	struct process *processes;
	pid_t ended[SPACES_ENDED];
	size_t nended;
	struct unwind_space space; /* the process whose mappings are being published */
};

/* The caller sets files, vdso_image, anon_image and map. */
void spaces_init(struct spaces *s);
void spaces_fini(struct spaces *s);
/* Whether the process is one of those that are followed. */
void spaces_follow(struct spaces *s, pid_t pid);
/* Applies the kernel's records up to that time. */
void spaces_advance(struct spaces *s, uint64_t until);
/* Returns the process, added if it is new. NULL without memory. */
struct process *spaces_process(struct spaces *s, pid_t pid);
/* Returns the process's control group. It is the parent's if the process's birth was recorded. */
const char *spaces_cgroup(struct process *p);
/* Tells the process's address space at the time of a sample. If it is another one, the mappings are read again. */
void spaces_enter(struct spaces *s, struct process *p, uint64_t mm, uint64_t exec_vm,
		  uint64_t time);
/* Returns the mapping of code that holds the address, or NULL. */
const struct place *spaces_find(struct spaces *s, struct process *p, uint64_t at, uint64_t time);
/* Returns the image that has the code of the mapping and its rules; or NULL. */
struct image *spaces_image(const struct spaces *s, const struct place *p);
/* Returns the number of the mapping's image in the profile. */
uint32_t spaces_number(const struct spaces *s, const struct place *p);

#endif
