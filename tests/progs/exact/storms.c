/* SPDX-License-Identifier: MIT */
/*
 * Signals while something is computed: storms of them, loops that only a handler ends, calls that a handler
 * injects, and vector registers that handlers use, too.
 */
#include "cases.h"
#include "handlers.h"
#include "work.h"

#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

/* Storms. */
struct range {
	uint64_t from, to;
};
static struct range code[64];
static int n_code;

static int add_code(struct dl_phdr_info *info, size_t size, void *nothing)
{
	(void)size;
	(void)nothing;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X) &&
		    n_code < 64)
			code[n_code++] =
				(struct range){ info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
						info->dlpi_addr + info->dlpi_phdr[i].p_vaddr +
							info->dlpi_phdr[i].p_memsz };
	return 0;
}

static void find_code(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");

	dl_iterate_phdr(add_code, NULL);
	while (maps && fgets(line, sizeof line, maps)) { /* the vdso, of static programs too */
		unsigned long from, to;

		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			code[n_code++] = (struct range){ from, to };
	}
	if (maps)
		fclose(maps);
}

static char *stack_top;
/* The handler interrupts at an address of the program, on the program's stack. */
static void on_storm(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uint64_t rsp = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	char here;
	int inside = 0;

	(void)number;
	(void)info;
	for (int i = 0; i < n_code; i++)
		inside |= rip >= code[i].from && rip < code[i].to;
	CHECK(inside);
	CHECK(rsp < (uint64_t)stack_top && rsp > (uint64_t)stack_top - (8 << 20));
	CHECK(&here<stack_top && & here> stack_top - (8 << 20));
	caught++;
}

static void storm_on(int number, int flags)
{
	stack_top = (char *)__builtin_frame_address(0) + 65536;
	find_code();
	handle(number, on_storm, flags);
}

CASE(storm_itimer)
{
	storm_on(SIGALRM, SA_RESTART);
	every(100);
	printf("%#llx\n", (unsigned long long)work(1500000));
	every(0);
	CHECK(caught > 10);
}

CASE(storm_virtual)
{
	struct itimerval t = { { 0, 1000 }, { 0, 1000 } };

	storm_on(SIGVTALRM, SA_RESTART);
	storm_on(SIGPROF, SA_RESTART);
	setitimer(ITIMER_VIRTUAL, &t, NULL);
	setitimer(ITIMER_PROF, &t, NULL);
	printf("%#llx\n", (unsigned long long)work(1500000));
	CHECK(caught > 5);
}

CASE(storm_timers)
{
	timer_t timers[8];

	storm_on(SIGRTMIN, SA_RESTART);
	for (int i = 0; i < 8; i++) {
		struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
		struct itimerspec t = { { 0, 300000 + i * 7000 }, { 0, 300000 + i * 7000 } };

		EQ(timer_create(CLOCK_MONOTONIC, &ev, &timers[i]), 0);
		timer_settime(timers[i], 0, &t, NULL);
	}
	printf("%#llx\n", (unsigned long long)work(1500000));
	for (int i = 0; i < 8; i++)
		timer_delete(timers[i]);
	CHECK(caught > 10);
}

static pthread_t victim;
static volatile int stop_sending;
static void *send_many(void *number)
{
	while (!stop_sending) {
		pthread_kill(victim, (int)(intptr_t)number);
		for (volatile int i = 0; i < 1000; i++)
			;
	}
	return NULL;
}

CASE(storm_from_thread)
{
	pthread_t t[2];

	victim = pthread_self();
	storm_on(SIGUSR1, SA_RESTART);
	storm_on(SIGUSR2, SA_RESTART);
	pthread_create(&t[0], NULL, send_many, (void *)(intptr_t)SIGUSR1);
	pthread_create(&t[1], NULL, send_many, (void *)(intptr_t)SIGUSR2);
	printf("%#llx\n", (unsigned long long)work(300000));
	while (caught <= 10)
		fib(5);
	stop_sending = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	CHECK(caught > 10);
}

CASE(storm_alternate_stack)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack }, old;

	sigaltstack(&alternate, NULL);
	handle(SIGALRM, on_info, SA_ONSTACK | SA_RESTART);
	every(100);
	printf("%#llx\n", (unsigned long long)work(300000));
	every(0);
	sigaltstack(NULL, &old);
	CHECK(old.ss_sp == stack && old.ss_size == sizeof stack && old.ss_flags == 0);
	CHECK(caught > 10);
}

/* Loops that only a handler ends. */
static void on_change(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	uc->uc_mcontext.gregs[REG_R12] = 77;
	uc->uc_mcontext.gregs[REG_RDX] = -1;
	uc->uc_mcontext.gregs[REG_EFL] |= 1;
	caught++;
}

CASE(loop_until_register)
{
	uint64_t r12, rdx;

	handle(SIGALRM, on_change, 0);
	ualarm(20000, 0);
	__asm__ volatile("xor %%r12, %%r12\n\txor %%edx, %%edx\n1:\ttest %%r12, %%r12\n\tjz "
			 "1b\n\tmov %%r12, %0\n\tmov %%rdx, %1"
			 : "=r"(r12), "=r"(rdx)
			 :
			 : "r12", "rdx", "cc");
	EQ(r12, 77);
	EQ(rdx, ~0ull);
}

CASE(loop_until_flag)
{
	handle(SIGALRM, on_change, 0);
	ualarm(20000, 0);
	__asm__ volatile("clc\n1:\tjnc 1b" : : : "r12", "rdx", "cc");
	EQ(caught, 1);
}

static uint64_t escape;
static void on_escape(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	if ((uint64_t)uc->uc_mcontext.gregs[REG_RIP] != escape - 2) {
		ualarm(3000, 0); /* too early */
		return;
	}
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)escape;
	caught++;
}

CASE(loop_to_itself) /* jmp . : rip can only be there */
{
	handle(SIGALRM, on_escape, 0);
	__asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %0" : "=m"(escape) : : "rax");
	for (int i = 0; i < 20; i++) {
		ualarm(3000, 0);
		__asm__ volatile("lea 1f(%%rip), %%rax\n\tmov %%rax, %0\n\tjmp .\n1:"
				 : "=m"(escape)
				 :
				 : "rax");
	}
	EQ(caught, 20);
}

static sigjmp_buf back;
static void on_jump(int number)
{
	caught++;
	siglongjmp(back, number);
}

CASE(loop_until_longjmp)
{
	signal(SIGALRM, on_jump);
	for (volatile int i = 0; i < 50; i++) {
		if (!sigsetjmp(back, 1)) {
			ualarm(2000, 0);
			for (;;)
				fib(10);
		}
	}
	EQ(caught, 50);
}

CASE(loop_until_memory)
{
	handle(SIGALRM, on_info, 0);
	ualarm(20000, 0);
	while (!caught)
		;
	ualarm(20000, 0);
	while (caught < 2)
		getppid();
	EQ(caught, 2);
}

/* A handler that puts another frame below: as Go and preemptive runtimes do. */
static volatile uint64_t pushed;
NOINLINE static void injected(void)
{
	__atomic_add_fetch(&pushed, 1, __ATOMIC_RELAXED);
}
static void on_inject(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	uint64_t *rsp = (uint64_t *)((uint64_t)uc->uc_mcontext.gregs[REG_RSP] - 128);

	extern void inject_stub(void);
	(void)number;
	(void)info;
	*--rsp = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	uc->uc_mcontext.gregs[REG_RSP] = (greg_t)rsp;
	uc->uc_mcontext.gregs[REG_RIP] = (greg_t)inject_stub;
	caught++;
}
void injected_call(void);
void injected_call(void)
{
	injected();
}
__asm__(".text\n.globl inject_stub\ninject_stub:\n\tpushfq\n\tpush %rax\n\tpush %rcx\n\tpush "
	"%rdx\n\tpush %rsi\n\tpush %rdi\n\t"
	"push %r8\n\tpush %r9\n\tpush %r10\n\tpush %r11\n\tpush %rbp\n\tmov %rsp, %rbp\n\tand "
	"$-16, %rsp\n\tcld\n\t"
	"call injected_call\n\tmov %rbp, %rsp\n\tpop %rbp\n\tpop %r11\n\tpop %r10\n\tpop "
	"%r9\n\tpop %r8\n\tpop %rdi\n\tpop %rsi\n\t"
	"pop %rdx\n\tpop %rcx\n\tpop %rax\n\tpopfq\n\tret $128\n");

NOINLINE static uint64_t integers(int rounds)
{
	uint64_t h = 1;

	for (int i = 0; i < rounds; i++)
		h = mix(h, fib((uint64_t)(i % 14)));
	return h;
}

CASE(injected_calls)
{
	handle(SIGALRM, on_inject, SA_RESTART);
	every(300);
	printf("%#llx\n", (unsigned long long)integers(300000));
	every(0);
	CHECK(pushed > 10);
	EQ(pushed, (uint64_t)caught);
}

/* Vector registers, all their bits, over handlers that use them. */
static void on_vectors(int number)
{
	static volatile float f[64];

	(void)number;
	for (int i = 0; i < 64; i++)
		f[i] = f[i] * 2 + 1;
	if (__builtin_cpu_supports("avx2"))
		__asm__ volatile("vpcmpeqb %%ymm0, %%ymm0, %%ymm0\n\tvpcmpeqb %%ymm7, %%ymm7, "
				 "%%ymm7\n\tvpcmpeqb %%ymm15, %%ymm15, %%ymm15"
				 :
				 :
				 : "xmm0", "xmm7", "xmm15");
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile("vpternlogd $255, %%zmm1, %%zmm1, %%zmm1\n\tvpternlogd $255, "
				 "%%zmm31, %%zmm31, %%zmm31\n\tkxnorw %%k3, %%k3, %%k3"
				 :
				 :
				 : "xmm1");
	caught++;
}

__attribute__((target("avx512f"))) NOINLINE static void spin_zmm(uint32_t out[3][16],
								 uint64_t *mask)
{
	uint32_t in[16];

	for (int i = 0; i < 16; i++)
		in[i] = (uint32_t)i * 0x01010101u;
	__asm__ volatile(
		"vmovdqu32 %[in], %%zmm1\n\tvmovdqu32 %[in], %%zmm31\n\tvmovdqu32 %[in], %%zmm7\n\t"
		"mov $0x1234, %%eax\n\tkmovw %%eax, %%k3\n"
		"1:\tcmpl $200, %[caught]\n\tjl 1b\n\t"
		"vmovdqu32 %%zmm1, %[a]\n\tvmovdqu32 %%zmm31, %[b]\n\tvmovdqu32 %%zmm7, "
		"%[c]\n\tkmovw %%k3, %%eax\n\tmov %%rax, %[mask]"
		: [a] "=m"(*(uint32_t(*)[16])out[0]), [b] "=m"(*(uint32_t(*)[16])out[1]),
		  [c] "=m"(*(uint32_t(*)[16])out[2]), [mask] "=m"(*mask)
		: [in] "m"(in), [caught] "m"(caught)
		: "rax", "xmm1", "xmm7", "cc", "memory");
}

CASE(vectors)
{
	uint32_t out[3][16];
	uint64_t mask = 0;

	signal(SIGALRM, on_vectors);
	if (__builtin_cpu_supports("avx512f")) {
		every(100);
		spin_zmm(out, &mask);
		every(0);
		for (int v = 0; v < 3; v++)
			for (int i = 0; i < 16; i++)
				EQ(out[v][i], (uint32_t)i * 0x01010101u);
		EQ(mask, 0x1234);
	}
	every(100);
	printf("%#llx\n", (unsigned long long)work(200000));
}

/* x87 state, in the middle of a computation. */
CASE(x87)
{
	long double x = 1, sum = 0;

	signal(SIGALRM, on_vectors);
	every(100);
	for (int i = 1; i < 2000000; i++) {
		x = x * 1.0000003L;
		sum += x / i;
	}
	every(0);
	printf("%.18Lg\n", sum);
	CHECK(caught > 5);
}
