/* SPDX-License-Identifier: MIT */
/* Maps the program, its interpreter and the decoder's library. */
#ifndef ASSAY_ENGINE_OS_ELF_H
#define ASSAY_ENGINE_OS_ELF_H

#include <stdbool.h>
#include <stdint.h>

/* The engine is linked into one file: hidden symbols are reached without a global offset table. */
#pragma GCC visibility push(hidden)

struct loaded {
	uint64_t base; /* added to the file's addresses */
	uint64_t entry, phdr;
	unsigned phnum, phent;
	char interp[256]; /* the interpreter's path; "" if the program asks for none */
	uint64_t
		/* where the kernel would begin the heap: behind an image with fixed addresses; else
		 * 0 */
		heap;
	bool exec_stack;
};
/* Maps a program or an interpreter. fd stays open. Returns -ENOEXEC if the headers are damaged, or another -errno if
 * the file cannot be run. */
enum refusal {
	REFUSE_FORMAT = -1000,
	REFUSE_32_BIT,
	REFUSE_MACHINE,
	REFUSE_TYPE,
	REFUSE_RIGHTS,
	REFUSE_UNREADABLE,
};
int elf_load(int fd, struct loaded *out);
struct library {
	uint64_t base;
	const void *sym;
	const char *str;
	unsigned nsym;
};
/* Returns an address for n bytes of an image, within reach of the cache; 0: anywhere. */
uint64_t near_hint(uint64_t n);
/* Returns a place in the engine's own room. */
int elf_load_library(int fd, struct library *lib, uint64_t (*resolve)(const char *name));
uint64_t elf_symbol(const struct library *lib, const char *name);

#pragma GCC visibility pop

#endif
