/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types that the kernel side reads, and no others. libbpf finds the offsets of members in the kernel's type
 * information (BTF); all of that is several megabytes, which libbpf copies and searches once for each structure. Here it is
 * mapped and read once, and the structures needed, with the members needed, are handed to libbpf.
 */
#ifndef ASSAY_SAMPLER_KERNEL_TYPES_H
#define ASSAY_SAMPLER_KERNEL_TYPES_H

#include <bpf/btf.h>
#include <stddef.h>

/* Returns the types needed out of the type information that the bytes are; NULL if these are malformed, or without memory. */
struct btf *kernel_types_reduce(const void *bytes, size_t size);

/* Returns a descriptor of a file with the types needed of the kernel that runs; -1 where there are none: libbpf can still
 * read the kernel's type information itself. */
int kernel_types_open(void);

#endif
