/* SPDX-License-Identifier: MIT */
/*
 * Where the code of processes is mapped, as call stacks are walked by it. What the kernel tells of processes
 * (sampler/sideband) is applied up to the time of each sample; mappings that it did not tell of are read from /proc.
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
	uint64_t bias;		  /* run-time addresses less those of the ELF file */
	struct mapped_file *file; /* NULL: no file, or one that could not be opened */
	bool vdso;
};

struct process {
	pid_t pid;
	struct place *place; /* in the order of addresses */
	size_t n, cap;
	bool followed;	      /* the mappings are those that the kernel told of */
	uint64_t read;	      /* when they were read from /proc; ns, CLOCK_MONOTONIC; 0: never */
	uint64_t mm, exec_vm; /* the values that the last sample had (struct sample_stack) */
	bool cgroup_known;
	char cgroup[256];
	UT_hash_handle hh;
};

#define SPACES_ENDED 64 /* processes that ended, and of which samples may still come in */
struct spaces {
	struct files *files;
	uint32_t vdso_image, anon_image; /* numbers in the profile */
	struct image *vdso;		 /* or NULL; all processes have the same */
	int map;    /* the kernel side's of processes' mappings; -1: there is none */
	pid_t only; /* this process and its descendants are followed; 0: all processes */
	struct sideband *sideband; /* or NULL */
	struct process *processes;
	pid_t ended[SPACES_ENDED];
	size_t nended;
	struct unwind_space space; /* the one that is being published */
};

/* files, vdso_image, anon_image and map are set. */
void spaces_init(struct spaces *s);
void spaces_fini(struct spaces *s);
/* The process is one of those that are followed. */
void spaces_follow(struct spaces *s, pid_t pid);
/* Applies what the kernel told up to that time. */
void spaces_advance(struct spaces *s, uint64_t until);
/* NULL without memory. */
struct process *spaces_process(struct spaces *s, pid_t pid);
/* The control group that the process is in, which is that of its parent where it was told of its birth. */
const char *spaces_cgroup(struct process *p);
/* Says which address space the process has at the time of a sample: mappings of another one are read again. */
void spaces_enter(struct spaces *s, struct process *p, uint64_t mm, uint64_t exec_vm,
		  uint64_t time);
/* The mapping of code that holds the address, or NULL. */
const struct place *spaces_find(struct spaces *s, struct process *p, uint64_t at, uint64_t time);
/* What has the code of the mapping, and rules for it; or NULL. */
struct image *spaces_image(const struct spaces *s, const struct place *p);
/* The number of the mapping's image in the profile. */
uint32_t spaces_number(const struct spaces *s, const struct place *p);

#endif
