/* SPDX-License-Identifier: MIT */
/* Any bytes as instructions: what the engine knows of one that it has met before is what decoding it says. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/translate/decode.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What of the engine it calls; none of these comes to pass. */
uint64_t log_mode = EXACT_COUNTS;
struct exact_lines lines;
bool schedule_on;
static struct thread thread = { .self = &thread, .in_library = true };
struct thread *rt_context = &thread; /* gs is 0 */
static void never(void)
{
	abort();
}
void die(const char *fmt, ...)
{
	(void)fmt;
	abort();
}
bool has_fsgsbase;
uint64_t fs_base(const struct thread *t)
{
	(void)t;
	abort();
}
void set_fs_base(uint64_t v)
{
	(void)v;
	abort();
}
bool rt_copy(void *to, const void *from, size_t n)
{
	(void)to, (void)from, (void)n;
	abort();
}
int elf_load_library(int fd, struct library *lib, uint64_t (*resolve)(const char *))
{
	(void)fd, (void)lib, (void)resolve;
	abort();
}
uint64_t elf_symbol(const struct library *lib, const char *name)
{
	(void)lib, (void)name;
	abort();
}
void stream_fields(struct stream_fields *f, const ZydisDecodedInstruction *d,
		   const ZydisDecodedOperand *op, uint64_t next)
{
	(void)f, (void)d, (void)op, (void)next;
	never();
}
void shadow_operands(struct shadow_insn *s, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *op, uint64_t next)
{
	(void)s, (void)d, (void)op, (void)next;
	never();
}
void rt_save_xmm(void *to)
{
	(void)to;
	never();
}
void rt_load_xmm(const void *from)
{
	(void)from;
	never();
}

static void hold(const uint8_t *p)
{
	struct insn said, known_, learnt;

	/* nothing is looked up or remembered where fewer bytes can be read than the longest has */
	bool is = decode_one(&said, p, (uint64_t)p, INSN_MAX - 1, false);

	memset(&known_, 0, sizeof(known_));
	if (decode_known(&known_, p, (uint64_t)p) &&
	    (!is || said.kind == INVALID || said.len != known_.len || said.kind != known_.kind ||
	     said.gs || said.narrow || (said.reads ^ known_.reads) & FLAGS_ALL ||
	     (said.writes ^ known_.writes) & FLAGS_ALL))
		abort();
	if (known_.kind != PLAIN &&
	    (said.modrm != known_.modrm || said.disp != known_.disp || said.imm != known_.imm ||
	     said.rex != known_.rex || said.rip != known_.rip || said.narrow ||
	     said.target != known_.target))
		abort();
	decode_one(&learnt, p, (uint64_t)p, INSN_MAX, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t p[INSN_MAX];

	if (!decode) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		decode = ZydisDecoderDecodeInstruction;
		decode_operands = ZydisDecoderDecodeOperands;
	}
	for (size_t i = 0; i < size; i++) {
		memset(p, 0, sizeof(p));
		memcpy(p, data + i, size - i < sizeof(p) ? size - i : sizeof(p));
		hold(p);
	}
	return 0;
}
