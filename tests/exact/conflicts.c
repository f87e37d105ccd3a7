/* SPDX-License-Identifier: MIT */
/*
 * Which earlier store each load meets, by single steps: what recordings of conflicts are held against.
 * conflicts -d DISTANCE -o FILE PROGRAM ARGS…
 * conflicts -r RECORDING -o FILE
 * prints for each load, kind and store (run-time addresses, decimal) how often, and the sum of distances. Of aliases
 * nothing: they depend on where the stack lies, which the engine lays out by itself. It decodes by itself, and looks
 * through all stores one by one.
 */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "observe/conflicts.h"
#include "oracle/singlestep.h"
#include "store/recording.h"

#define STORES 4096 /* the last ones */
#define SEEN (1u << 16)

static struct store {
	uint64_t at, size, pc, now;
} store[STORES];
static uint64_t nstore, now, distance = 128;

static struct seen {
	uint64_t load, store, count, sum;
	char kind; /* n f p; 0: free */
} seen[SEEN];

static struct user_regs_struct r;

static void die(const char *what)
{
	fprintf(stderr, "conflicts: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void note(char kind, uint64_t by, uint64_t far)
{
	uint64_t k = (r.rip * 31 + by * 7 + (uint64_t)kind) % SEEN;

	for (unsigned i = 0; seen[k].kind; k = (k + 1) % SEEN) {
		if (seen[k].kind == kind && seen[k].load == r.rip && seen[k].store == by)
			break;
		if (++i == SEEN - 1)
			die("too many pairs");
	}
	seen[k].kind = kind;
	seen[k].load = r.rip;
	seen[k].store = by;
	seen[k].count++;
	seen[k].sum += far;
}

static void load(uint64_t at, uint64_t size)
{
	if (now < distance)
		return;
	for (uint64_t i = nstore; i-- > 0 && nstore - i <= STORES;) {
		const struct store *s = &store[i % STORES];

		if (now - s->now > distance)
			break;
		if (s->at < at + size && at < s->at + s->size) {
			note(s->at <= at && s->at + s->size >= at + size ? 'f' : 'p', s->pc,
			     now - s->now);
			return;
		}
	}
	note('n', 0, 0);
}

static uint64_t value(ZydisRegister reg, uint64_t next)
{
	const uint64_t by[16] = { r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
				  r.r8,	 r.r9,	r.r10, r.r11, r.r12, r.r13, r.r14, r.r15 };

	if (reg == ZYDIS_REGISTER_RIP)
		return next;
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return by[reg - ZYDIS_REGISTER_RAX];
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (uint32_t)by[reg - ZYDIS_REGISTER_EAX];
	return 0;
}

/* Its one operand in memory; NULL: none, several, or one that is left out. */
static const ZydisDecodedOperand *operand(const ZydisDecodedInstruction *d,
					  const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *found = NULL;

	switch (d->meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_STRINGOP:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_UNCOND_BR:
		return NULL;
	default:
		break;
	}
	if ((d->mnemonic >= ZYDIS_MNEMONIC_BT && d->mnemonic <= ZYDIS_MNEMONIC_BTS) ||
	    d->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED)
		return NULL;
	for (int i = 0; i < d->operand_count; i++) {
		bool hidden = op[i].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;

		if (op[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    op[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		if (found || op[i].size > 512 ||
		    (hidden && d->mnemonic != ZYDIS_MNEMONIC_PUSH &&
		     d->mnemonic != ZYDIS_MNEMONIC_POP))
			return NULL;
		found = &op[i];
	}
	return found;
}

static void observe(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	const ZydisDecodedOperand *o = operand(d, op);
	uint64_t at, size;

	if (!o)
		return;
	size = o->size / 8;
	at = value(o->mem.base, r.rip + d->length) + value(o->mem.index, 0) * o->mem.scale +
	     (o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0);
	if (o->mem.segment == ZYDIS_REGISTER_FS)
		at += r.fs_base;
	if (d->mnemonic == ZYDIS_MNEMONIC_PUSH && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		at -= size;
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		load(at, size);
	if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		store[nstore++ % STORES] = (struct store){ at, size, r.rip, now };
}

static void step_all(pid_t pid)
{
	ZydisDecoder decoder;
	uint64_t repeats = 0;
	int status;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (;;) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction d;
		uint8_t code[15] = { 0 };
		struct iovec to = { code, 15 }, from = { NULL, 15 };

		ptrace(PTRACE_GETREGS, pid, 0, &r);
		from.iov_base = (void *)r.rip;
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 15) {
			from.iov_len = 4096 - (r.rip & 4095);
			process_vm_readv(pid, &to, 1, &from, 1, 0);
		}
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, 15, &d, op)) &&
		    r.rip != repeats) {
			observe(&d, op);
			now++;
			repeats = d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						  ZYDIS_ATTRIB_HAS_REPNE)
					  ? r.rip
					  : 0;
		}
		if (single_step(pid, pid, &r, 0) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			return;
		if (WSTOPSIG(status) != SIGTRAP)
			die("a signal");
	}
}

/* Prints what a recording holds. */
static int print_recorded(const char *path, FILE *out)
{
	struct conflict *c, *tmp;
	struct profile p;
	struct err err;

	if (profile_init(&p, &err) || recording_read(path, &p, &err))
		die(err.msg);
	HASH_ITER (hh, p.conflicts, c, tmp)
		if (c->key.kind != CONFLICT_ALIAS)
			fprintf(out, "%lu %s %lu %lu %lu\n", c->key.load.addr,
				conflict_kind_name[c->key.kind], c->key.store.addr, c->count,
				c->distance);
	profile_fini(&p);
	return 0;
}

int main(int argc, char **argv)
{
	const char *recording = NULL;
	FILE *out = NULL;
	int c, status;
	pid_t pid;

	while ((c = getopt(argc, argv, "+d:o:r:")) != -1) {
		if (c == 'd')
			distance = strtoul(optarg, NULL, 0);
		else if (c == 'o')
			out = fopen(optarg, "w");
		else if (c == 'r')
			recording = optarg;
		else
			return 125;
	}
	if (recording && out)
		return print_recorded(recording, out);
	if (optind >= argc || !out)
		return 125;
	pid = fork();
	if (!pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execv(argv[optind], argv + optind);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("cannot execute it");
	step_all(pid);
	for (const struct seen *s = seen; s < seen + SEEN; s++)
		if (s->kind)
			fprintf(out, "%lu %s %lu %lu %lu\n", s->load,
				s->kind == 'f'	 ? "full"
				: s->kind == 'p' ? "partial"
						 : "none",
				s->store, s->count, s->sum);
	return 0;
}
