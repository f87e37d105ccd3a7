/* SPDX-License-Identifier: MIT */
/*
 * Which lines of memory a program touches, by single steps: what recordings of working sets are held against.
 * lines [-l LINE] [-p BYTES] -e ENDS [-o FILE] [-s] PROGRAM ARGS…
 *   ENDS: a file with the instruction counts at which intervals end; prints how many lines each touched.
 *   -s: but for the stack's.
 *   BYTES: the stack begins so far below, strings where they are: the engine lays it out by itself.
 * It decodes by itself: every operand in memory, from its first to its last byte.
 */
#include <Zydis/Zydis.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle/singlestep.h"

#define SLOTS (1u << 20)

static uint64_t slot[SLOTS], line = 64;
static size_t used;
static bool no_stack;
static uint64_t stack_low; /* addresses from here on are the stack */
static pid_t pid;
static struct user_regs_struct r;

static void die(const char *what)
{
	fprintf(stderr, "lines: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void touch(uint64_t addr, uint64_t n)
{
	if (!n || (no_stack && addr >= stack_low))
		return;
	for (uint64_t i = addr / line; i <= (addr + n - 1) / line; i++) {
		uint64_t k = (i * 0x9e3779b97f4a7c15ull) >> 44;

		while (slot[k % SLOTS] && slot[k % SLOTS] != i + 1)
			k++;
		if (!slot[k % SLOTS] && ++used > SLOTS / 2)
			die("too many lines");
		slot[k % SLOTS] = i + 1;
	}
}

/* What is unmapped is touched no more: all others are put in again. */
static void forget(uint64_t addr, uint64_t n)
{
	static uint64_t old[SLOTS];

	memcpy(old, slot, sizeof(slot));
	memset(slot, 0, sizeof(slot));
	used = 0;
	for (size_t i = 0; i < SLOTS; i++)
		if (old[i] && ((old[i] - 1) * line < addr || (old[i] - 1) * line >= addr + n))
			touch((old[i] - 1) * line, 1);
}

static uint64_t value(ZydisRegister reg, uint64_t next)
{
	static const size_t at[16] = {
#define R(name) offsetof(struct user_regs_struct, name)
		R(rax), R(rcx), R(rdx), R(rbx), R(rsp), R(rbp), R(rsi), R(rdi),
		R(r8),	R(r9),	R(r10), R(r11), R(r12), R(r13), R(r14), R(r15),
	};
	if (reg == ZYDIS_REGISTER_RIP)
		return next;
	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return *(uint64_t *)((char *)&r + at[reg - ZYDIS_REGISTER_RAX]);
	if (reg >= ZYDIS_REGISTER_EAX && reg <= ZYDIS_REGISTER_R15D)
		return (uint32_t) * (uint64_t *)((char *)&r + at[reg - ZYDIS_REGISTER_EAX]);
	return 0;
}

static void observe(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *op)
{
	if (d->meta.category == ZYDIS_CATEGORY_PREFETCH || d->meta.category == ZYDIS_CATEGORY_NOP ||
	    d->meta.category == ZYDIS_CATEGORY_WIDENOP)
		return;
	if (d->attributes &
		    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE) &&
	    !r.rcx)
		return;
	for (int i = 0; i < d->operand_count; i++) {
		const ZydisDecodedOperand *o = &op[i];
		bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
		uint64_t at;

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		at = value(o->mem.base, r.rip + d->length) + value(o->mem.index, 0) * o->mem.scale +
		     (o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0);
		if (o->mem.segment == ZYDIS_REGISTER_FS)
			at += r.fs_base;
		if (hidden && o->mem.base == ZYDIS_REGISTER_RSP &&
		    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			at -= o->size / 8;
		if (!hidden && d->mnemonic == ZYDIS_MNEMONIC_POP &&
		    o->mem.base == ZYDIS_REGISTER_RSP)
			at += 8;
		if (d->mnemonic >= ZYDIS_MNEMONIC_BT && d->mnemonic <= ZYDIS_MNEMONIC_BTS &&
		    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
			int64_t bit = o->size == 64 ? (int64_t)value(op[1].reg.value, 0)
						    : (int32_t)value(op[1].reg.value, 0);

			at += (uint64_t)((bit >> (o->size == 64 ? 6 : 5)) * (o->size / 8));
		}
		touch(at, o->size / 8);
	}
}

/* argc, argv, envp, auxv and what they point to stay as they are, but for where the first four lie. */
static void move_stack(uint64_t below)
{
	uint64_t from, n = 0, v, zeros = 0;

	ptrace(PTRACE_GETREGS, pid, 0, &r);
	from = r.rsp;
	while (zeros < 3) { /* the end of argv, of envp, of auxv, which are pairs */
		errno = 0;
		v = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, from + 8 * n, 0);
		if (errno)
			die("no stack");
		ptrace(PTRACE_POKEDATA, pid, from - below + 8 * n, v);
		if (zeros == 2 && v) {
			n++;
			v = (uint64_t)ptrace(PTRACE_PEEKDATA, pid, from + 8 * n, 0);
			ptrace(PTRACE_POKEDATA, pid, from - below + 8 * n, v);
		} else if (n && !v) {
			zeros++;
		}
		n++;
	}
	ptrace(PTRACE_POKEDATA, pid, from - below + 8 * n, 0);
	r.rsp -= below;
	ptrace(PTRACE_SETREGS, pid, 0, &r);
}

static void after_call(uint64_t nr, const struct user_regs_struct *before, uint64_t old_brk,
		       uint64_t *brk)
{
	uint64_t ret = r.rax;

	if (ret > -4096ul)
		return;
	if (nr == SYS_munmap)
		forget(before->rdi, (before->rsi + 4095) & ~4095ul);
	if (nr == SYS_mmap && before->r10 & MAP_FIXED)
		forget(ret, (before->rsi + 4095) & ~4095ul);
	if (nr == SYS_brk) {
		if (old_brk && ret < old_brk)
			forget((ret + 4095) & ~4095ul, ((old_brk + 4095) & ~4095ul) - ret);
		*brk = ret;
	}
}

int main(int argc, char **argv)
{
	uint64_t count = 0, next_end = 0, last = 0, brk = 0;
	bool go_on = true, called = false;
	struct user_regs_struct before = { 0 };
	ZydisDecoder decoder;
	FILE *ends = NULL, *out = stdout;
	int c, below = 0, status;

	while ((c = getopt(argc, argv, "+l:p:e:o:s")) != -1) {
		if (c == 'l')
			line = strtoul(optarg, NULL, 0);
		else if (c == 'p')
			below = atoi(optarg);
		else if (c == 'e')
			ends = fopen(optarg, "r");
		else if (c == 's')
			no_stack = true;
		else if (c == 'o')
			out = fopen(optarg, "w");
		else
			return 125;
	}
	if (optind >= argc || !ends || !out)
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
	ptrace(PTRACE_GETREGS, pid, 0, &r);
	stack_low = r.rsp - (8ul << 20);
	if (below)
		move_stack((uint64_t)below);
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (fscanf(ends, "%lu", &next_end) != 1)
		return 125;
	while (go_on) {
		ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
		ZydisDecodedInstruction d;
		uint8_t code[16] = { 0 };
		struct iovec to = { code, 15 }, from = { NULL, 15 };

		ptrace(PTRACE_GETREGS, pid, 0, &r);
		if (called) {
			uint64_t nr = before.rax;

			after_call(nr, &before, brk, &brk);
			called = false;
		}
		from.iov_base = (void *)r.rip;
		if (process_vm_readv(pid, &to, 1, &from, 1, 0) < 15) {
			from.iov_len = 4096 - (r.rip & 4095);
			process_vm_readv(pid, &to, 1, &from, 1, 0);
		}
		if (r.rip != last) { /* else the same one, repeating */
			if (count == next_end) {
				fprintf(out, "%lu %zu\n", count, used);
				memset(slot, 0, sizeof(slot));
				used = 0;
				if (fscanf(ends, "%lu", &next_end) != 1)
					next_end = 0;
			}
			count++;
		}
		if (ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, 15, &d, op))) {
			bool rep = d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						   ZYDIS_ATTRIB_HAS_REPNE);

			observe(&d, op);
			last = rep ? r.rip : 0;
			if (d.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
				called = true;
				before = r;
			}
		}
		/* a signal's stop is no step */
		for (int sig = 0;; sig = WSTOPSIG(status)) {
			if (single_step(pid, pid, &r, sig) || waitpid(pid, &status, 0) != pid ||
			    !WIFSTOPPED(status)) {
				go_on = false;
				break;
			}
			if (WSTOPSIG(status) == SIGTRAP)
				break;
		}
	}
	fprintf(out, "%lu %zu\n", count, used);
	return 0;
}
