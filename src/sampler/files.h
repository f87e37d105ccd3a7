/* SPDX-License-Identifier: MIT */
/* The files that processes map and run: the profile's image of each file, and its code. The kernel
 * side identifies a file by device and inode, so what is learnt of a file serves every process. */
#ifndef ASSAY_SAMPLER_FILES_H
#define ASSAY_SAMPLER_FILES_H

#include <sys/types.h>
#include <uthash.h>

#include "base/broker.h"
#include "image/image.h"
#include "image/maps.h"
#include "observe/profile.h"
#include "runahead/code.h"
#include "sampler/bpf/shared.h"
#include "sampler/devices.h"

struct files;

struct mapped_file {
	struct files *files;
	struct file_key key;
	uint32_t image;	     /* number in the profile, and on the kernel side */
	struct image *im;    /* NULL: could not be opened as ELF */
	uint64_t start, end; /* extent of the procedure asked for last */
	UT_hash_handle hh;
};

/* A process that runs code outside any file. */
struct generator {
	pid_t pid, inner; /* inner: in its own pid namespace */
};

struct files {
	struct mapped_file *all;
	struct profile *profile;
	struct code *code;
	int map; /* BPF map `files` */
	const struct broker *broker;
	struct devices devices;
	struct image **by_image; /* indexed by number; NULL: none, or no ELF */
	size_t nby_image;
	size_t names;		     /* bytes of names that are kept */
	bool nameless;		     /* none are kept: there were too many */
	struct generator *generator; /* each once */
	size_t ngenerator, generator_room;
};

/* map -1 and devices NULL: there is no kernel side. The broker opens the files that processes map; it outlives f. */
void files_init(struct files *f, struct profile *p, struct code *c, int map,
		const struct devices *devices, const struct broker *broker);
void files_fini(struct files *f);
struct mapped_file *files_find(const struct files *f, struct file_key key);
/* The file with that key that pid maps, opened and made known to the kernel side; `name` is its
 * last component, for when the process has ended. NULL if the file cannot be found now. */
struct mapped_file *files_resolve(struct files *f, pid_t pid, struct file_key key,
				  const char *name);
/* The file of a mapping of pid, opened and made known to the kernel side if it is new. NULL if it cannot be opened. */
struct mapped_file *files_add(struct files *f, pid_t pid, const struct map *map);
/* File offset to ELF virtual address; the offset itself where no segment has it. */
uint64_t files_addr(const struct mapped_file *m, uint64_t offset);
/* The procedure of that image that holds addr, or NULL. It has no name where files_region() was asked for many images. */
const struct image_proc *files_procedure(const struct files *f, uint32_t image, uint64_t addr);
/* Finds about `bytes` of whole procedures around addr in that image, or a part of the procedure that holds addr if that
 * one is much larger. False if no procedures are known there. */
bool files_region(struct files *f, uint32_t image, uint64_t addr, uint64_t bytes, uint64_t *start,
		  uint64_t *end);
/* Opens every file that pid maps executable; with `look` (or NULL) looks for the devices that pid
 * maps, too. */
void files_resolve_all(struct files *f, pid_t pid, const struct device_look *look);
/* Looks for the devices that the process maps. */
void files_note_devices(struct files *f, const struct device_look *look);
/* Writes the name of pid's mapping at addr ("[vdso]" and others, "" if it has none) into buf. False
 * if pid is gone. */
bool files_mapping_name(const struct files *f, pid_t pid, uint64_t addr, char *buf, size_t n);
/* Notes that the process runs code that no file holds: its runtime may have written down the code's names. */
void files_note_generator(struct files *f, pid_t pid);
/* Adds a procedure to an image's table (the name is copied; *cap: its capacity); sorts it, once all are
 * there, and drops repeats. */
bool files_add_procedure(struct profile_image *pi, uint64_t start, uint64_t end, const char *name,
			 size_t *cap);
void files_sort_procedures(struct profile_image *pi);
/* Frees what was read of files and is read again where it is asked for, if that is much. No pointers to code are kept then. */
void files_rest(struct files *f);
/* Finds the procedures that the sites of each image lie in; those of generated code by the names that its runtime wrote
 * (image/perf_map.h). To be called at the end of a recording. */
void files_name_procedures(struct files *f);

#endif
