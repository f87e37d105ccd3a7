/* SPDX-License-Identifier: MIT */
/*
 * The description of a profiling co-processor: the sizes of its structures, and how it is attached to the main
 * processor. Craig Zilles and Gurindar Sohi, "A Programmable Co-processor for Profiling" (HPCA 2001), describe the
 * structures; the copy of the paper that this was built from has lost most numbers, so the defaults are ours, chosen
 * so that the whole stays near the half million transistors that the paper names.
 *
 * A description is a text: one "NAME = NUMBER" a line, '#' begins a comment, numbers may end in K or M.
 */
#ifndef ASSAY_COPROC_SPEC_H
#define ASSAY_COPROC_SPEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

/* Name, default, least, most, meaning. Sizes are in entries unless stated otherwise. */
#define SPEC_PARAMETERS(X) \
	X(words, 256, 16, 1024, "microcode words, of 128 bits") \
	X(entries, 512, 4, 16384, "entries of the associative array") \
	X(entry_bits, 32, 16, 64, "bits of an entry of the associative array") \
	X(data, 1024, 8, 65536, "words of the data array") \
	X(data_bits, 32, 16, 64, "bits of a word of the data array") \
	X(buffer, 1024, 8, 1048576, "bytes of the sample buffer") \
	X(bus, 8, 1, 64, "bytes that move from the main processor to the buffer in a cycle") \
	X(latency, 10, 0, 10000, "main processor cycles from retirement to the buffer") \
	X(ignore, 65536, 64, 4194304, "ignore bits of the PC filter, a power of two") \
	X(values, 16, 2, 16, "value registers, of 64 bits") \
	X(constants, 16, 2, 16, "constant registers, of 64 bits") \
	X(indexes, 8, 2, 8, "index registers, of 16 bits") \
	X(bases, 8, 1, 8, "base address registers") \
	X(targets, 4, 0, 8, "branch target registers") \
	X(fields, 8, 1, 8, "fields of a sample that the extractor can name") \
	X(index_alus, 2, 0, 2, "index ALUs") \
	X(value_reads, 3, 1, 8, "read ports of the value registers") \
	X(value_writes, 2, 1, 4, "write ports of the value registers") \
	X(index_reads, 6, 1, 8, "read ports of the index registers") \
	X(index_writes, 3, 1, 4, "write ports of the index registers") \
	X(constant_reads, 3, 1, 8, "read ports of the constant registers") \
	X(stages, 3, 1, 8, "stages of the pipeline: a mispredicted branch costs one cycle less") \
	X(predictor, 256, 0, 4096, "one-bit branch predictors, by word; 0: not taken") \
	X(ratio, 1, 1, 64, "main processor cycles in one of the co-processor's") \
	X(limit, 4096, 8, 1048576, "words that a sample may take before it counts as endless") \
	X(seed, 44257, 1, 65535, "the first state of the random number register") \
	X(host_bus, 8, 1, 64, "bytes that the host reads or writes in one bus operation") \
	X(host_cycles, 4, 0, 1000, "main processor cycles of a bus operation, pipelined") \
	X(interrupt_cycles, 500, 0, 1000000, "main processor cycles to enter and leave a handler") \
	X(record_cycles, 130, 0, 100000, "main processor cycles of a handler for what it records") \
	X(far_cycles, 155, 0, 100000, "more of them, where its table is larger than host_cache") \
	X(host_cache, 2097152, 0, 1073741824, "bytes of the host's table that its caches hold") \
	X(scan_cycles, 4, 0, 100000, "main processor cycles of a handler for what it passes over")

struct spec {
#define X(name, value, least, most, what) uint32_t name;
	SPEC_PARAMETERS(X)
#undef X
};

extern const struct spec spec_default;

/* Changes the parameters that the text names. `from` is the file's name, for messages. -1 with
 * err set. */
int spec_parse(struct spec *s, const char *text, const char *from, struct err *err);
/* Reads a file of at most 64 KiB. */
int spec_read(struct spec *s, const char *path, struct err *err);
/* Parses one "NAME = NUMBER" of a command line. */
int spec_set(struct spec *s, const char *assignment, struct err *err);
/* Checks that the parameters agree with each other. -1 with err set. */
int spec_check(const struct spec *s, struct err *err);
/* Prints all parameters as a description that spec_parse reads. */
void spec_print(const struct spec *s, FILE *to);

/* A hardware structure, for a table. */
struct spec_part {
	const char *name;
	char size[48];
	unsigned reads, writes; /* ports; a port for both counts twice */
	uint64_t bits;		/* bits of storage */
	uint64_t transistors;	/* estimated number of transistors */
};
#define SPEC_PARTS 16
/* Lists the structures of the machine. Returns how many. */
unsigned spec_parts(const struct spec *s, struct spec_part part[SPEC_PARTS]);

#endif
