/* SPDX-License-Identifier: MIT */
/*
 * Small programs whose counts can be known: single-stepped within a second, or, in storms of signals, by
 * what their code says. Such code is in the section truth_code. With a file as argument, storms write how
 * often their handler ran to it.
 */
#include "cases.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#define TRUTH __attribute__((section("truth_code"), noipa))

TRUTH static unsigned fib(unsigned n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

CASE(recursion)
{
	printf("%u\n", fib(12));
}

TRUTH static uint64_t interpret(const uint8_t *code, uint64_t v)
{
	static const void *const op[] = { &&add, &&mul, &&shift, &&odd, &&end };

	goto *op[*code];
add:
	v += 3;
	goto *op[*++code];
mul:
	v *= 5;
	goto *op[*++code];
shift:
	v ^= v >> 7;
	goto *op[*++code];
odd:
	if (v & 1)
		v = ~v;
	goto *op[*++code];
end:
	return v;
}

static void program(uint8_t *code, unsigned n)
{
	for (unsigned i = 0; i < n - 1; i++)
		code[i] = (uint8_t)((i * 7 + i / 5) % 4);
	code[n - 1] = 4;
}

CASE(jumps)
{
	uint8_t code[500];

	program(code, sizeof(code));
	printf("%#llx\n", (unsigned long long)interpret(code, 1));
}

TRUTH static uint64_t twice(uint64_t v)
{
	return v + v;
}
TRUTH static uint64_t plus(uint64_t v)
{
	return 3 * v + 1;
}
TRUTH static uint64_t swap(uint64_t v)
{
	return __builtin_bswap64(v);
}
TRUTH static uint64_t through(uint64_t (*const *f)(uint64_t), unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++)
		v = f[i % 3](v);
	return v;
}

static uint64_t (*const functions[])(uint64_t) = { twice, plus, swap };

CASE(pointers)
{
	printf("%#llx\n", (unsigned long long)through(functions, 300, 5));
}

/* Calls that are left by longjmp, return on another stack, or for others. */
static jmp_buf way_out;
static ucontext_t here, there;

TRUTH static uint64_t leaf(uint64_t v)
{
	return 7 * v + 3;
}
TRUTH static uint64_t instead(uint64_t v)
{
	return leaf(v ^ 5);
}
TRUTH static uint64_t elsewhere(uint64_t v)
{
	swapcontext(&there, &here);
	return leaf(v);
}
TRUTH static uint64_t down(unsigned n, uint64_t (*f)(uint64_t))
{
	if (!n)
		longjmp(way_out, 1);
	return n == 100 ? f(n) : down(n - 1, f) + f(n);
}
TRUTH static void other_stack(void)
{
	uint64_t v = 0;

	for (uint64_t i = 0;; i++)
		v += (i % 2 ? elsewhere : instead)(elsewhere(i));
}
TRUTH static uint64_t calls(void)
{
	static uint64_t (*const f[])(uint64_t) = { leaf, instead };
	volatile uint64_t v = 0;

	for (volatile unsigned i = 0; i < 20; i = i + 1) {
		if (!setjmp(way_out))
			v = v + down(i % 3 ? 104 : 4, f[i % 2]);
		v = v * 3 + f[(i + 1) % 2](i);
		swapcontext(&here, &there);
	}
	return v;
}

CASE(calls)
{
	static char stack[1 << 16];

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	makecontext(&there, other_stack, 0);
	printf("%#llx\n", (unsigned long long)calls());
}

/* Branches that count, and those that count nothing. */
TRUTH static uint64_t loops(uint64_t v)
{
	__asm__ volatile("mov $9, %%ecx\n"
			 "1:	add %%rcx, %0\n\t"
			 "loop 1b\n\t"
			 "mov $7, %%ecx\n"
			 "2:	rol $3, %0\n\t"
			 "test $1, %0\n\t"
			 "loope 2b\n\t"
			 "jrcxz 3f\n\t"
			 "xor $5, %0\n"
			 "3:	jecxz 4f\n"
			 "5:	dec %%rcx\n\t"
			 "jnz 5b\n"
			 "4:\n\t"
			 : "+a"(v)
			 :
			 : "rcx", "cc");
	return v;
}

CASE(loops)
{
	uint64_t v = 3;

	for (int i = 0; i < 100; i++)
		v = loops(v);
	printf("%#llx\n", (unsigned long long)v);
}

/* Strings, partial registers, both halves of products, memory of each width. */
TRUTH static uint64_t operands(uint8_t *m, uint64_t v)
{
	__asm__ volatile("mov %%rax, (%1)\n\t"
			 "add %%al, 8(%1)\n\t"
			 "mov 8(%1), %%ah\n\t"
			 "movzbl 1(%1), %%ecx\n\t"
			 "movswq 2(%1), %%rdx\n\t"
			 "imul %%rdx, %%rcx\n\t"
			 "mul %%rcx\n\t"
			 "xchg %%rdx, 16(%1)\n\t"
			 "push %%rdx\n\t"
			 "pop 24(%1)\n\t"
			 "push %%rdx\n\t"
			 "push %%rdx\n\t"
			 "pop (%%rsp)\n\t"
			 "pop %%rdx\n\t"
			 "lock xadd %%ecx, 32(%1)\n\t"
			 "movdqu (%1), %%xmm0\n\t"
			 "movdqu %%xmm0, 40(%1)\n\t"
			 "lea 64(%1), %%rdi\n\t"
			 "mov %1, %%rsi\n\t"
			 "mov $7, %%ecx\n\t"
			 "rep movsb\n\t"
			 "setc 3(%1)\n\t"
			 "cmovc %%rdx, %%rax\n\t"
			 "bswap %%rax\n\t"
			 : "+a"(v)
			 : "b"(m)
			 : "rcx", "rdx", "rsi", "rdi", "memory", "cc", "xmm0");
	return v;
}

CASE(operands)
{
	static uint8_t m[128];
	uint64_t v = 1;

	for (int i = 0; i < 200; i++)
		v = operands(m, v % 23 + (uint64_t)i);
	printf("%#llx\n", (unsigned long long)v);
}

#define EACH_4(f, k) f(k) f(k + 1) f(k + 2) f(k + 3)
#define EACH_16(f, k) EACH_4(f, k) EACH_4(f, k + 4) EACH_4(f, k + 8) EACH_4(f, k + 12)
#define EXCHANGE(k) __asm__("xadd %0, %1" : "+r"(v), "+m"(a[k])::"cc");

TRUTH static uint64_t widely(uint64_t *a, unsigned n)
{
	uint64_t v = 1;

	for (unsigned i = 0; i < n; i++) {
		EACH_16(EXCHANGE, 0)
		EACH_16(EXCHANGE, 16)
	}
	return v;
}

/* So many values in few executions that what they are written to is filled some times, in the midst of one. */
CASE(filled)
{
	static uint64_t a[32];

	printf("%#llx\n", (unsigned long long)widely(a, 4000));
}

/* The same again and again, to be met anywhere. */
CASE(rounds)
{
	static uint8_t code[500], m[128];
	uint64_t v = 0;

	program(code, sizeof(code));
	for (int round = 0; round < 500; round++) {
		v = fib(8) + interpret(code, 1) + through(functions, 300, 5);
		for (int i = 0; i < 100; i++)
			v = loops(v);
		memset(m, 0, sizeof(m));
		for (int i = 0; i < 200; i++)
			v = operands(m, v % 23 + (uint64_t)i);
	}
	printf("%#llx\n", (unsigned long long)v);
}

static volatile sig_atomic_t caught;

TRUTH static void on_signal(int number)
{
	caught = caught + number;
}

static sigjmp_buf back;

TRUTH static void on_fault(int number)
{
	siglongjmp(back, number);
}

CASE(signals)
{
	signal(SIGUSR1, on_signal);
	signal(SIGSEGV, on_fault);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 10; i++)
		if (!sigsetjmp(back, 1))
			*(volatile int *)((char *)NULL + i) = 1;
	printf("%d\n", (int)caught);
}

static char *page;

TRUTH static void on_protected(int number, siginfo_t *info, void *context)
{
	(void)number, (void)info, (void)context;
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

CASE(retried)
{
	struct sigaction a = { .sa_sigaction = on_protected, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &a, NULL);
	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 10; i++) {
		page[i] += (char)i;
		mprotect(page, 4096, PROT_READ);
	}
	printf("%d\n", page[9]);
}

static void *thread(void *n)
{
	uint8_t code[200];

	program(code, sizeof(code));
	return (void *)(interpret(code, (uint64_t)n) + fib(8));
}

CASE(threads)
{
	pthread_t t[5];

	for (uint64_t i = 0; i < 5; i++)
		EQ(pthread_create(&t[i], NULL, thread, (void *)i), 0);
	for (int i = 0; i < 5; i++) {
		void *v;

		pthread_join(t[i], &v);
		printf("%p\n", v);
	}
}

CASE(children)
{
	for (int i = 0; i < 4; i++) {
		int status, pid = fork();

		if (!pid) {
			if (i == 3)
				raise(SIGKILL);
			_exit((int)fib(5 + (unsigned)i) & 127);
		}
		waitpid(pid, &status, 0);
		printf("%#x\n", status);
	}
}

CASE(child_executed)
{
	printf("%u %s\n", fib(9), argv[0]);
}

CASE(executes)
{
	static char *const words[] = { "truth", "child_executed", "word", NULL };
	int pid = vfork();

	if (!pid) {
		execv("/proc/self/exe", words);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
	fflush(stdout);
	execv("/proc/self/exe", words);
}

/* Code that is written again before each of its calls, and code on a page that others may write. */
static const uint8_t returns_number[] = {
	0xb8, 1,    0, 0, 0, /* mov eax, 1 */
	0xff, 0xc8,	     /* dec eax */
	0x75, 0xfc,	     /* jnz to the dec */
	0xc3,
};

static unsigned call_code(uint8_t *code, unsigned rounds, unsigned writes)
{
	unsigned sum = 0;

	memcpy(code, returns_number, sizeof(returns_number));
	for (unsigned i = 0; i < rounds; i++) {
		if (i < writes)
			*(volatile uint8_t *)(code + 1) = (uint8_t)(1 + i % 5);
		sum += ((unsigned (*)(void))code)() + i;
	}
	return sum;
}

CASE(rewritten)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("%u\n", call_code(code, 200, 200));
}

CASE(shared_page)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	printf("%u\n", call_code(code, 50, 10));
}

/*
 * A loop in which each instruction runs once in each round, whatever interrupts it: memory, a call, an
 * indirect jump, flags, a repeated move, a system call.
 */
#define STORM_ROUNDS 100000
uint64_t storm_loop(uint64_t rounds, uint64_t *memory);
__asm__(".section truth_code, \"ax\", @progbits\n"
	".globl storm_loop\n"
	".type storm_loop, @function\n"
	"storm_loop:\n"
	"	push %rbx\n"
	"	push %rbp\n"
	"	mov %rdi, %rbx\n"
	"	mov %rsi, %rbp\n"
	"	xor %eax, %eax\n"
	".globl storm_begin\n"
	"storm_begin:\n"
	"	add $3, %rax\n"
	"	pushf\n"
	"	mov %rax, (%rbp)\n"
	"	add (%rbp), %rax\n"
	"	rol $5, %rax\n"
	"	call storm_callee\n"
	"	lea 1f(%rip), %rcx\n"
	"	mov %rcx, 8(%rbp)\n"
	"	jmp *8(%rbp)\n"
	"1:	lea 64(%rbp), %rdi\n"
	"	lea 128(%rbp), %rsi\n"
	"	mov $200, %ecx\n"
	"	rep movsb\n"
	"	popf\n"
	"	adc $0, %rax\n"
	"	test $15, %bl\n"
	"	jmp 2f\n"
	"2:	mov %rax, %r8\n"
	"	mov $110, %eax\n" /* getppid */
	"	syscall\n"
	"	mov %r8, %rax\n"
	"	dec %rbx\n"
	".globl storm_branch\n"
	"storm_branch:\n"
	"	jnz storm_begin\n"
	".globl storm_end\n"
	"storm_end:\n"
	"	pop %rbp\n"
	"	pop %rbx\n"
	"	ret\n"
	".globl storm_callee\n"
	"storm_callee:\n"
	"	bswap %rax\n"
	"	imul $77, %rax, %rax\n"
	"	ret\n"
	".globl storm_callee_end\n"
	"storm_callee_end:\n"
	"	.previous\n");

static uint64_t storm_memory[64];
static volatile uint64_t storms;

__attribute__((section("truth_code"), noipa)) void storm_handler(int number);
void storm_handler(int number)
{
	(void)number;
	storms = storms + 1;
}

static void storm(int flags, int argc, char **argv)
{
	struct sigaction a = { .sa_handler = storm_handler, .sa_flags = flags };
	struct itimerval t = { { 0, 60 }, { 0, 60 } }, none = { 0 };

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
	printf("%#llx\n", (unsigned long long)storm_loop(STORM_ROUNDS, storm_memory));
	setitimer(ITIMER_REAL, &none, NULL);
	CHECK(storms > 20);
	if (argc) {
		FILE *f = fopen(argv[0], "w");

		if (f) {
			fprintf(f, "%d %llu\n", STORM_ROUNDS, (unsigned long long)storms);
			fclose(f);
		}
	}
}

CASE(storm)
{
	storm(0, argc, argv);
}

CASE(storm_restarting)
{
	storm(SA_RESTART, argc, argv);
}
