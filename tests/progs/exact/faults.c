/* SPDX-License-Identifier: MIT */
/*
 * Synchronous faults: the handler sees the program's own rip, registers, flags, vector registers, code
 * and address; what it changes in the context is what the program goes on with.
 */
#include "cases.h"

#include <cpuid.h>
#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	RFLAGS,
	N_REGS
};
static const char *const names[N_REGS] = { "rax", "rcx", "rdx", "rbx", "rsp",	"rbp",
					   "rsi", "rdi", "r8",	"r9",  "r10",	"r11",
					   "r12", "r13", "r14", "r15", "rflags" };
static const int greg[N_REGS] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				  REG_R12, REG_R13, REG_R14, REG_R15, REG_EFL };

extern uint64_t faults_in[N_REGS], faults_out[N_REGS];
extern char faults_page[4096];

/* Arithmetic flags and DF; what of rflags is compared. */
#define STATUS 0x8d5u
#define DF 0x400u
#define FLAGS (STATUS | DF)

static struct {
	uint64_t at, next, in[N_REGS], out[N_REGS];
	uint64_t change[N_REGS]; /* what the instructions up to the fault add to the registers */
	int seen, signal, code;
	uint64_t address;
	uint64_t
		or_at; /* where some processors and hypervisors report it instead; 0: nowhere else */
} now;

static void same_registers(const char *where, const uint64_t *got, const uint64_t *wanted)
{
	char text[128];

	for (int i = 0; i < N_REGS; i++) {
		uint64_t mask = i == RFLAGS ? FLAGS : ~0ull;

		if ((got[i] & mask) != (wanted[i] & mask)) {
			snprintf(text, sizeof text, "BAD %s: %s is %#llx, not %#llx\n", where,
				 names[i], (unsigned long long)(got[i] & mask),
				 (unsigned long long)(wanted[i] & mask));
			say_bad(text);
		}
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *g = uc->uc_mcontext.gregs;
	uint64_t got[N_REGS];

	if (now.seen++) {
		printf("a second fault, signal %d\n", number);
		_exit(3);
	}
	if (now.or_at && (uint64_t)g[REG_RIP] == now.or_at)
		now.at = now.address = now.or_at;
	EQ(number, now.signal);
	EQ(info->si_signo, now.signal);
	EQ(info->si_code, now.code);
	EQ((uint64_t)info->si_addr, now.address);
	EQ(g[REG_RIP], now.at);
	for (int i = 0; i < N_REGS; i++)
		got[i] = (uint64_t)g[greg[i]];
	same_registers("in the handler", got, now.in);
	for (int i = 0; i < N_REGS; i++)
		g[greg[i]] = (greg_t)(i == RFLAGS ? (got[i] & ~(uint64_t)FLAGS) | now.out[i]
						  : now.out[i]);
	g[REG_RIP] = (greg_t)now.next;
	EQ(uc->uc_mcontext.fpregs->_xmm[5].element[1], 0x5a5a5a5a);
	uc->uc_mcontext.fpregs->_xmm[5].element[1] = 0x77777777;
}

static void catch_all(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static const int all[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };

	sigaltstack(&alternate, NULL);
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		sigaction(all[i], &act, NULL);
}

/* Registers that no address is computed from hold what cannot be mistaken for anything else. */
static void prepare(void)
{
	memset(&now, 0, sizeof now);
	for (int i = 0; i < N_REGS; i++) {
		faults_in[i] = 0x1111000000000000u * (uint64_t)(i + 1) + 0xabcd00u + (uint64_t)i;
		now.out[i] = 0xfedc000000000000u - 0x0101010101u * (uint64_t)i;
	}
	/* some virtual machines cannot go on with a stack pointer that is no address */
	faults_in[RSP] >>= 17;
	now.out[RSP] >>= 17;
	faults_in[RFLAGS] = 0x202u | 0x8d1u; /* OF SF ZF AF CF, not PF */
	now.out[RFLAGS] = 0x005u | DF;
	catch_all();
	mprotect(faults_page, 4096, PROT_NONE);
	faults_in[RBX] = (uint64_t)faults_page;
}

static void fault(void (*entry)(void), int signal, int code, uint64_t address)
{
	uint32_t vector[4] = { 0x11111111, 0x5a5a5a5a, 0x33333333, 0x44444444 };

	now.signal = signal;
	now.code = code;
	now.address = address;
	for (int i = 0; i < N_REGS; i++)
		now.in[i] = faults_in[i] + now.change[i];
	__asm__ volatile("movups %0, %%xmm5\n\tcall *%1\n\tmovups %%xmm5, %0\n"
			 : "+m"(vector)
			 : "r"(entry)
			 : "xmm5", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11",
			   "memory", "cc");
	EQ(now.seen, 1);
	same_registers("after it", faults_out, now.out);
	EQ(vector[0], 0x11111111);
	EQ(vector[1], 0x77777777);
	EQ(vector[3], 0x44444444);
}

#define SITE(name) \
	extern char fault_##name##_at[], fault_##name##_next[]; \
	void fault_##name(void); \
	prepare(); \
	now.at = (uint64_t)fault_##name##_at; \
	now.next = (uint64_t)fault_##name##_next;

#define PAGE ((uint64_t)faults_page)

/* Of what the processor reports as a general protection fault the kernel knows no address. */
#define GENERAL SIGSEGV, SI_KERNEL, 0

CASE(load)
{
	SITE(load);
	fault(fault_load, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(load_ah)
{
	SITE(load_ah);
	fault(fault_load_ah, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(load_unmapped)
{
	SITE(load);
	munmap(faults_page, 4096);
	fault(fault_load, SIGSEGV, SEGV_MAPERR, PAGE);
}

CASE(load_null)
{
	SITE(load);
	faults_in[RBX] = 0;
	fault(fault_load, SIGSEGV, SEGV_MAPERR, 0);
}

CASE(store)
{
	SITE(store);
	mprotect(faults_page, 4096, PROT_READ);
	fault(fault_store, SIGSEGV, SEGV_ACCERR, PAGE + 8);
}

CASE(add_memory)
{
	SITE(add_memory);
	faults_in[RCX] = 100;
	fault(fault_add_memory, SIGSEGV, SEGV_ACCERR, PAGE + 200);
}

/* Nothing but the fault reads the flags in the block. */
CASE(add_memory_first)
{
	SITE(add_memory_first);
	faults_in[RCX] = 100;
	fault(fault_add_memory_first, SIGSEGV, SEGV_ACCERR, PAGE + 200);
}

CASE(load_first)
{
	SITE(load_first);
	fault(fault_load_first, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(rip_load)
{
	SITE(rip_load);
	fault(fault_rip_load, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(rip_store_immediate)
{
	SITE(rip_store_immediate);
	fault(fault_rip_store_immediate, SIGSEGV, SEGV_ACCERR, PAGE + 16);
}

CASE(rip_vector)
{
	SITE(rip_vector);
	fault(fault_rip_vector, SIGSEGV, SEGV_ACCERR, PAGE + 32);
}

CASE(rip_all_busy)
{
	SITE(rip_all_busy);
	fault(fault_rip_all_busy, SIGSEGV, SEGV_ACCERR, PAGE + 64);
}

CASE(push)
{
	SITE(push);
	faults_in[RSP] = PAGE + 128;
	fault(fault_push, SIGSEGV, SEGV_ACCERR, PAGE + 120);
}

CASE(push_memory)
{
	SITE(push_memory);
	fault(fault_push_memory, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(pop)
{
	SITE(pop);
	faults_in[RSP] = PAGE + 128;
	fault(fault_pop, SIGSEGV, SEGV_ACCERR, PAGE + 128);
}

CASE(leave)
{
	SITE(leave);
	faults_in[RBP] = PAGE + 64;
	fault(fault_leave, SIGSEGV, SEGV_ACCERR, PAGE + 64);
}

CASE(call)
{
	SITE(call);
	faults_in[RSP] = PAGE + 64;
	fault(fault_call, SIGSEGV, SEGV_ACCERR, PAGE + 56);
}

CASE(call_register)
{
	SITE(call_register);
	faults_in[RSP] = PAGE + 64;
	faults_in[R11] = (uint64_t)fault_call_register_next;
	fault(fault_call_register, SIGSEGV, SEGV_ACCERR, PAGE + 56);
}

CASE(call_memory)
{
	SITE(call_memory);
	fault(fault_call_memory, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(call_rip)
{
	SITE(call_rip);
	fault(fault_call_rip, SIGSEGV, SEGV_ACCERR, PAGE + 8);
}

CASE(jmp_memory)
{
	SITE(jmp_memory);
	faults_in[RCX] = 4;
	fault(fault_jmp_memory, SIGSEGV, SEGV_ACCERR, PAGE + 40);
}

CASE(ret)
{
	SITE(ret);
	faults_in[RSP] = PAGE + 64;
	fault(fault_ret, SIGSEGV, SEGV_ACCERR, PAGE + 64);
}

/* Control goes where there is no code: the fault is there, after the transfer's own effects. */
static uint64_t nowhere_stack[16];

CASE(call_nowhere)
{
	SITE(call_nowhere);
	faults_in[RSP] = (uint64_t)&nowhere_stack[8];
	now.at = PAGE;
	now.change[RSP] = -8ull;
	fault(fault_call_nowhere, SIGSEGV, SEGV_ACCERR, PAGE);
	EQ(nowhere_stack[7], (uint64_t)fault_call_nowhere_next);
}

CASE(jmp_nowhere)
{
	SITE(jmp_nowhere);
	now.at = PAGE;
	fault(fault_jmp_nowhere, SIGSEGV, SEGV_ACCERR, PAGE);
}

CASE(jmp_null)
{
	SITE(jmp_nowhere);
	faults_in[RBX] = 0;
	now.at = 0;
	fault(fault_jmp_nowhere, SIGSEGV, SEGV_MAPERR, 0);
}

CASE(jmp_data)
{
	SITE(jmp_nowhere);
	faults_in[RBX] = (uint64_t)nowhere_stack;
	now.at = faults_in[RBX];
	fault(fault_jmp_nowhere, SIGSEGV, SEGV_ACCERR, faults_in[RBX]);
}

/* The processor checks the target before it leaves: rip is still the jump's. */
CASE(may_jmp_noncanonical)
{
	SITE(jmp_noncanonical);
	faults_in[RBX] = 0x8000000000001234u;
	fault(fault_jmp_noncanonical, GENERAL);
}

CASE(ret_nowhere)
{
	SITE(ret_nowhere);
	nowhere_stack[3] = PAGE + 0x123;
	faults_in[RSP] = (uint64_t)&nowhere_stack[3];
	now.at = PAGE + 0x123;
	now.change[RSP] = 8;
	fault(fault_ret_nowhere, SIGSEGV, SEGV_ACCERR, PAGE + 0x123);
}

CASE(noncanonical)
{
	SITE(noncanonical);
	faults_in[RBX] = 0x1234567800000000u;
	fault(fault_noncanonical, GENERAL);
}

/* What is kept of an address that there cannot be must not end up in memory of the program's. */
CASE(noncanonical_beside)
{
	const size_t size = 1 << 16;
	char *there = (char *)(3ul << 41);
	char *p = mmap(there, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK(p == there);
	SITE(noncanonical);
	faults_in[RBX] = (1ul << 48) + 64 * size / 2;
	fault(fault_noncanonical, GENERAL);
	for (size_t i = 0; i < size; i++)
		CHECK(!p[i]);
	munmap(p, size);
}

CASE(misaligned)
{
	SITE(misaligned);
	mprotect(faults_page, 4096, PROT_READ | PROT_WRITE);
	fault(fault_misaligned, GENERAL);
}

/* A string instruction stops in the middle, with its registers there. */
CASE(rep_movs)
{
	static char from[300];

	SITE(rep_movs);
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(two + 4096, 4096);
	memset(from, 'x', sizeof from);
	faults_in[RFLAGS] = 0x202;
	faults_in[RSI] = (uint64_t)from;
	faults_in[RDI] = (uint64_t)(two + 4096 - 100);
	faults_in[RCX] = 300;
	now.change[RSI] = 100;
	now.change[RDI] = 100;
	now.change[RCX] = -100ull;
	fault(fault_rep_movs, SIGSEGV, SEGV_MAPERR, (uint64_t)(two + 4096));
	CHECK(!memcmp(from, two + 4096 - 100, 100));
}

CASE(bus)
{
	SITE(bus);
	char *map;
	FILE *f = tmpfile();

	fputs("short", f);
	fflush(f);
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fileno(f), 0);
	faults_in[RBX] = (uint64_t)(map + 4096);
	fault(fault_bus, SIGBUS, BUS_ADRERR, faults_in[RBX]);
}

CASE(divide)
{
	SITE(divide);
	faults_in[RBX] = 0;
	fault(fault_divide, SIGFPE, FPE_INTDIV, now.at);
}

CASE(divide_overflow)
{
	SITE(divide_overflow);
	faults_in[RBX] = 1;
	fault(fault_divide_overflow, SIGFPE, FPE_INTDIV, now.at);
}

CASE(ud2)
{
	SITE(ud2);
	fault(fault_ud2, SIGILL, ILL_ILLOPN, now.at);
}

/* The end of a transaction that was not begun; where the CPU has none, no instruction. */
CASE(xend)
{
	unsigned a, b = 0, c, d;

	SITE(xend);
	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_RTM)
		fault(fault_xend, GENERAL);
	else
		fault(fault_xend, SIGILL, ILL_ILLOPN, now.at);
}

CASE(bad_opcode)
{
	SITE(bad_opcode);
	fault(fault_bad_opcode, SIGILL, ILL_ILLOPN, now.at);
}

CASE(bad_lock)
{
	SITE(bad_lock);
	fault(fault_bad_lock, SIGILL, ILL_ILLOPN, now.at);
}

CASE(int3)
{
	SITE(int3);
	now.at++;
	fault(fault_int3, SIGTRAP, SI_KERNEL, 0);
}

CASE(int_3)
{
	SITE(int_3);
	now.at += 2;
	fault(fault_int_3, SIGTRAP, SI_KERNEL, 0);
}

CASE(icebp)
{
	SITE(icebp);
	now.or_at = now.at + 1;
	fault(fault_icebp, SIGTRAP, TRAP_BRKPT, now.at);
}

CASE(hlt)
{
	SITE(hlt);
	fault(fault_hlt, GENERAL);
}

CASE(in)
{
	SITE(in);
	fault(fault_in, GENERAL);
}

CASE(int_99)
{
	SITE(int_99);
	fault(fault_int_99, GENERAL);
}

CASE(second_of_block)
{
	SITE(second_of_block);
	/* the registers as the instructions before the fault leave them */
	now.at = (uint64_t)fault_second_of_block_next - 3;
	now.change[RDX] = 2 * faults_in[RAX] - faults_in[RDX];
	now.change[R9] = -faults_in[R9];
	now.change[RFLAGS] = 0x246 - faults_in[RFLAGS];
	fault(fault_second_of_block, SIGSEGV, SEGV_ACCERR, PAGE);
}

/* The same fault again and again, also when its code has become hot. */
CASE(again)
{
	for (int i = 0; i < 5000; i++) {
		SITE(rip_load);
		fault(fault_rip_load, SIGSEGV, SEGV_ACCERR, PAGE);
	}
}

static volatile int retries;
static void on_retry(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	retries++;
	mprotect((void *)((uint64_t)info->si_addr & ~4095ull), 4096, PROT_READ | PROT_WRITE);
}

/* Write barriers as garbage collectors have them: the page opens, the instruction runs again. */
CASE(mprotect_and_retry)
{
	struct sigaction act = { .sa_sigaction = on_retry, .sa_flags = SA_SIGINFO };
	enum {
		PAGES = 300
	};
	char *map = mmap(NULL, PAGES * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;

	sigaction(SIGSEGV, &act, NULL);
	for (int i = 0; i < PAGES * 4; i++) {
		map[i * 1024 + 7] += (char)i;
		sum = mix(sum, (uint64_t)map[i * 1024 + 7]);
	}
	EQ(retries, PAGES);
	printf("%#llx\n", (unsigned long long)sum);
}

static sigjmp_buf back;
static volatile int jumps;
static void on_jump(int number)
{
	jumps++;
	siglongjmp(back, number);
}

CASE(siglongjmp_out)
{
	signal(SIGSEGV, on_jump);
	signal(SIGFPE, on_jump);
	signal(SIGILL, on_jump);
	for (volatile int i = 0; i < 3000; i++) {
		int number = sigsetjmp(back, 1);

		if (!number) {
			if (i % 3 == 0)
				*(volatile int *)(uintptr_t)(8 * i) = 1;
			else if (i % 3 == 1)
				__asm__ volatile("divl %0" : : "r"(0) : "rax", "rdx");
			else
				__asm__ volatile("ud2");
			CHECK(!"reached");
		}
		EQ(number, i % 3 == 0 ? SIGSEGV : i % 3 == 1 ? SIGFPE : SIGILL);
	}
	EQ(jumps, 3000);
}

static char *deep_limit;
NOINLINE static int deep(int n)
{
	char frame[500];

	memset(frame, n, sizeof frame);
	return deep_limit == frame ? 0 : deep(n + 1) + frame[0];
}

static void on_overflow(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char *rsp = (char *)uc->uc_mcontext.gregs[REG_RSP];

	(void)number;
	CHECK((char *)info->si_addr < rsp + 65536 && (char *)info->si_addr > rsp - 65536);
	deep_limit = info->si_addr;
	siglongjmp(back, 1);
}

/* As interpreters do it: run over the end of the stack, come back. */
CASE(stack_overflow)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	struct sigaction act = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGSEGV, &act, NULL);
	for (volatile int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			printf("%d\n", deep(0));
		CHECK(deep_limit != NULL);
	}
	puts("came back");
}

static volatile int order[8], n_order;
static void on_inner(int number)
{
	order[n_order++] = number;
}
static void on_outer(int number)
{
	order[n_order++] = number;
	if (!sigsetjmp(back, 1))
		__asm__ volatile("divl %0" : : "r"(0) : "rax", "rdx");
	order[n_order++] = -number;
}
static void on_fpe(int number)
{
	order[n_order++] = number;
	raise(SIGUSR1);
	siglongjmp(back, 1);
}

CASE(nested)
{
	signal(SIGSEGV, on_outer);
	signal(SIGFPE, on_fpe);
	signal(SIGUSR1, on_inner);
	raise(SIGSEGV);
	for (int i = 0; i < n_order; i++)
		printf("%d\n", order[i]);
}

static void on_step(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	retries++;
}

/* A program that single-steps itself. */
CASE(may_single_step)
{
	struct sigaction act = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &act, NULL);
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torl $0x100, (%%rsp)\n\tpopfq\n\t"
			 "nop\n\tnop\n\txor %%eax, %%eax\n\tnop\n\t"
			 "pushfq\n\tandl $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp"
			 :
			 :
			 : "rax", "memory", "cc");
	printf("%d steps\n", retries);
}

/* With alignment checks on: code not run before, calls, an indirect jump, until they are off again. */
CASE(alignment_check)
{
	uint64_t flags = 0, sum = 0;

	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
			 "mov $5, %%ecx\n\t"
			 "1: lea 3f(%%rip), %%rax\n\tcall 2f\n\tdec %%ecx\n\tjnz 1b\n\tjmp 4f\n\t"
			 "2: jmp *%%rax\n\t"
			 "3: add $3, %1\n\tret\n\t"
			 "4: pushfq\n\tmov (%%rsp), %0\n\tandl $~0x40000, (%%rsp)\n\tpopfq\n\tadd "
			 "$128, %%rsp"
			 : "+r"(flags), "+r"(sum)
			 :
			 : "rax", "rcx", "memory", "cc");
	EQ(flags & 0x40000, 0x40000);
	printf("%d\n", (int)sum);
}

static void load_unaligned(void)
{
	static char place[16];

	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torl $0x40000, (%%rsp)\n\tpopfq\n\t"
			 "mov 1(%0), %%eax"
			 :
			 : "r"(place)
			 : "rax", "memory", "cc");
}

static volatile int *volatile nowhere = (int *)16;
#define DIE(name, how) \
	CASE(name) \
	{ \
		puts("about to"); \
		how; \
		puts("still here"); \
	}
DIE(die_segv, *nowhere = 1)
DIE(die_jump, ((void (*)(void))64)())
DIE(die_ud2, __asm__ volatile("ud2"))
DIE(die_int3, __asm__ volatile("int3"))
DIE(die_hlt, __asm__ volatile("hlt"))
DIE(die_divide, __asm__ volatile("div %0" : : "r"(0ull) : "rax", "rdx"))
DIE(die_stack, deep(0))
DIE(die_unaligned, load_unaligned())
