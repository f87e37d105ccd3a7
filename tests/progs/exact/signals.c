/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous signals: what the handler is told, when it comes, what a system call returns, storms while
 * something is computed, and deaths.
 */
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static volatile sig_atomic_t caught, last_number;
static volatile siginfo_t last_info;

static void on_info(int number, siginfo_t *info, void *context)
{
	(void)context;
	last_info = *info;
	last_number = number;
	caught++;
}

static void on_count(int number)
{
	last_number = number;
	caught++;
}

static void handle(int number, void (*f)(int, siginfo_t *, void *), int flags)
{
	struct sigaction act = { .sa_sigaction = f, .sa_flags = SA_SIGINFO | flags };

	EQ(sigaction(number, &act, NULL), 0);
}

static void every(int microseconds)
{
	struct itimerval t = { { 0, microseconds }, { 0, microseconds } };

	setitimer(ITIMER_REAL, &t, NULL);
}

CASE(info)
{
	union sigval value = { .sival_int = 1234567 };

	handle(SIGUSR1, on_info, 0);
	raise(SIGUSR1);
	EQ(last_info.si_code, SI_TKILL);
	EQ(last_info.si_pid, getpid());
	EQ(last_info.si_uid, getuid());
	kill(getpid(), SIGUSR1);
	EQ(last_info.si_code, SI_USER);
	sigqueue(getpid(), SIGUSR1, value);
	EQ(last_info.si_code, SI_QUEUE);
	EQ(last_info.si_value.sival_int, 1234567);
	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
	EQ(last_info.si_code, SI_TKILL);
	EQ(caught, 4);
}

/* sigaction gives back what was set, and refuses what the kernel refuses. */
CASE(actions)
{
	struct sigaction act = { .sa_sigaction = on_info, .sa_flags = SA_SIGINFO | SA_RESTART },
			 old;

	for (int i = 1; i <= 64; i++) {
		int set;

		sigemptyset(&act.sa_mask);
		sigaddset(&act.sa_mask, i % 30 + 1);
		set = sigaction(i, &act, NULL);
		printf("%d: %d %d\n", i, set, set ? errno : 0);
		if (!set) {
			sigaction(i, NULL, &old);
			CHECK(old.sa_sigaction == on_info);
			EQ(old.sa_flags & ~0x04000000, act.sa_flags);
			EQ(sigismember(&old.sa_mask, i % 30 + 1),
			   i % 30 + 1 != SIGKILL && i % 30 + 1 != SIGSTOP);
		}
	}
	EQ(syscall(SYS_rt_sigaction, SIGUSR1, NULL, NULL, 4), -1);
	EQ(errno, EINVAL);
	EQ(syscall(SYS_rt_sigaction, 65, NULL, NULL, 8), -1);
	EQ(errno, EINVAL);
	EQ(syscall(SYS_rt_sigaction, SIGUSR1, (void *)8, NULL, 8), -1);
	EQ(errno, EFAULT);
	signal(SIGUSR2, SIG_IGN);
	sigaction(SIGUSR2, NULL, &old);
	CHECK(old.sa_handler == SIG_IGN);
	raise(SIGUSR2);
}

static volatile int level, deepest;
static void on_deep(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	level++;
	if (level > deepest)
		deepest = level;
	if (level < 20)
		raise(number);
	level--;
	caught++;
}

CASE(nodefer)
{
	handle(SIGUSR1, on_deep, SA_NODEFER);
	raise(SIGUSR1);
	EQ(deepest, 20);
	EQ(caught, 20);
}

static void on_once_more(int number)
{
	level++;
	caught++;
	if (caught < 10) {
		raise(number);
		raise(number);
	}
	EQ(level, 1);
	level--;
}

CASE(deferred_while_handled)
{
	signal(SIGUSR1, on_once_more);
	raise(SIGUSR1);
	EQ(caught, 10);
}

CASE(resethand)
{
	struct sigaction old;

	handle(SIGTERM, on_info, SA_RESETHAND);
	raise(SIGTERM);
	sigaction(SIGTERM, NULL, &old);
	CHECK(old.sa_handler == SIG_DFL);
	puts("dying");
	raise(SIGTERM);
	puts("not reached");
}

static volatile int orders[32], n_orders;
static void on_order(int number, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	orders[n_orders++] = number;
}

/* Blocked signals, then all at once: the order and the count are the kernel's. */
CASE(pending)
{
	sigset_t all, old, is_pending;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = SIGRTMIN; i < SIGRTMIN + 5; i++) {
		handle(i, on_order, 0);
		raise(i);
		raise(i);
	}
	handle(SIGUSR1, on_order, 0);
	handle(SIGUSR2, on_order, 0);
	raise(SIGUSR2);
	raise(SIGUSR1);
	raise(SIGUSR1);
	sigpending(&is_pending);
	CHECK(sigismember(&is_pending, SIGUSR1) && !sigismember(&is_pending, SIGHUP));
	EQ(n_orders, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	for (int i = 0; i < n_orders; i++)
		printf("%d ", orders[i]);
	puts("");
}

static sigset_t seen_mask;
static void on_mask(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	sigprocmask(SIG_BLOCK, NULL, &seen_mask);
	CHECK(!sigismember(&uc->uc_sigmask, SIGUSR1));
	sigaddset(&uc->uc_sigmask, SIGWINCH); /* stays after the handler */
	caught++;
}

CASE(masks)
{
	struct sigaction act = { .sa_sigaction = on_mask, .sa_flags = SA_SIGINFO };
	sigset_t now;

	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGHUP);
	sigaction(SIGUSR1, &act, NULL);
	raise(SIGUSR1);
	for (int i = 1; i < 64; i++)
		if (sigismember(&seen_mask, i) > 0)
			printf("in handler %d\n", i);
	sigprocmask(SIG_BLOCK, NULL, &now);
	for (int i = 1; i < 64; i++)
		if (sigismember(&now, i) > 0)
			printf("after it %d\n", i);
}

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

NOINLINE static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static uint64_t half(uint64_t x)
{
	return x / 2 + 1;
}
static uint64_t twice(uint64_t x)
{
	return x * 3;
}
static uint64_t turn(uint64_t x)
{
	return x << 7 | x >> 57;
}

/* Calls, indirect calls, divisions, floating point, string instructions, library calls: no state may be lost. */
NOINLINE static uint64_t work(int rounds)
{
	static uint64_t (*const f[])(uint64_t) = { half, twice, turn };
	static char text[4096], other[4096];
	uint64_t h = 1;
	double x = 1;

	for (int i = 0; i < rounds; i++) {
		h = mix(h, f[h % 3](h));
		h = mix(h, fib((uint64_t)(i % 12)));
		x = x * 1.0000001 + (double)(h & 15);
		if (i % 16 == 0) {
			size_t n = sizeof text;
			char *to = text;

			__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(i) : "memory");
			n = sizeof text / 8;
			char *from = text;
			to = other;
			__asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
			h = mix(h, (uint64_t)other[i % 4096]);
			snprintf(text, sizeof text, "%d %.6f", i, x);
			h = mix(h, strlen(text));
		}
	}
	return mix(h, (uint64_t)x);
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

static char *alternate_stack;
static void on_alternate(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	stack_t now;
	char here;

	(void)number;
	(void)info;
	CHECK(&here >= alternate_stack && &here < alternate_stack + 65536);
	CHECK(uc->uc_stack.ss_sp == alternate_stack);
	sigaltstack(NULL, &now);
	EQ(now.ss_flags, SS_ONSTACK);
	EQ(sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL), -1);
	EQ(errno, EPERM);
	caught++;
}

CASE(alternate_stack)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack }, old;

	alternate_stack = stack;
	EQ(sigaltstack(NULL, &old), 0);
	EQ(old.ss_flags, SS_DISABLE);
	EQ(sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = 100 }, NULL), -1);
	EQ(errno, ENOMEM);
	sigaltstack(&alternate, NULL);
	handle(SIGUSR1, on_alternate, SA_ONSTACK);
	raise(SIGUSR1);
	EQ(caught, 1);
	sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
	handle(SIGUSR1, on_info, SA_ONSTACK);
	raise(SIGUSR1);
	EQ(caught, 2);
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

static void again(int number)
{
	static int depth;

	if (++depth < 20)
		raise(number);
}

/* A stack that a frame does not fit on, or that is full at last: what lies below it stays as it is. */
CASE(alternate_stack_full)
{
	static uint8_t memory[65536];

	for (int i = 0; i < 2; i++) {
		int child, status;

		memset(memory, 0x5a, sizeof memory);
		child = fork();
		if (!child) {
			stack_t s = { .ss_sp = memory + 32768, .ss_size = i ? 2048 : 16384 };
			struct sigaction a = { .sa_handler = again,
					       .sa_flags = SA_ONSTACK | SA_NODEFER };

			sigaltstack(&s, NULL);
			sigaction(SIGUSR1, &a, NULL);
			raise(SIGUSR1);
			_exit(memory[32767] == 0x5a);
		}
		EQ(waitpid(child, &status, 0), child);
		EQ(WTERMSIG(status), SIGSEGV);
	}
}

#define EMULATED 0x12345678 /* no process has that number */
static volatile char selector;
static volatile int refused, refused_code;

static void on_refused(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number;
	selector = 0;
	refused = info->si_syscall;
	refused_code = info->si_code;
	EQ(c->uc_mcontext.gregs[REG_RAX], SYS_getppid);
	EQ(info->si_call_addr, c->uc_mcontext.gregs[REG_RIP]);
	EQ(info->si_arch, 0xc000003e);
	c->uc_mcontext.gregs[REG_RAX] = EMULATED;
}

/* System calls that the program emulates: prctl(PR_SET_SYSCALL_USER_DISPATCH). */
CASE(emulated_calls)
{
	struct sigaction a = { .sa_sigaction = on_refused, .sa_flags = SA_SIGINFO };

	sigaction(SIGSYS, &a, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector)) {
		printf("%d\n", errno);
		return;
	}
	for (int i = 0; i < 100; i++) {
		selector = 1;
		EQ(syscall(SYS_getppid), EMULATED);
		EQ(refused, SYS_getppid);
		CHECK(syscall(SYS_getppid) != EMULATED);
	}
	printf("%d\n", refused_code);
	EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, -4096l), -1);
	EQ(errno, EFAULT);
	EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0), 0);
	selector = 1;
	CHECK(syscall(SYS_getppid) != EMULATED);
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

/* System calls that are interrupted. */
static int pipe_ends[2];
static void on_write(int number)
{
	(void)number;
	caught++;
	if (write(pipe_ends[1], "x", 1) != 1)
		_exit(9);
}

CASE(eintr)
{
	struct timespec t = { 10, 0 }, left;
	struct sigaction act = { .sa_handler = on_count };
	struct pollfd p = { 0, POLLIN, 0 };
	fd_set set;
	char c;

	EQ(pipe(pipe_ends), 0);
	p.fd = pipe_ends[0];
	sigaction(SIGALRM, &act, NULL);
	for (int round = 0; round < 2; round++) {
		ualarm(10000, 0);
		EQ(read(pipe_ends[0], &c, 1), -1);
		EQ(errno, EINTR);
		ualarm(10000, 0);
		EQ(nanosleep(&t, &left), -1);
		EQ(errno, EINTR);
		CHECK(left.tv_sec == 9);
		ualarm(10000, 0);
		EQ(poll(&p, 1, 10000), -1);
		EQ(errno, EINTR);
		FD_ZERO(&set);
		FD_SET(pipe_ends[0], &set);
		ualarm(10000, 0);
		EQ(select(pipe_ends[0] + 1, &set, NULL, NULL, NULL), -1);
		EQ(errno, EINTR);
		ualarm(10000, 0);
		EQ(pause(), -1);
		EQ(errno, EINTR);
		ualarm(10000, 0);
		EQ(wait4(-1, NULL, 0, NULL), -1);
		EQ(errno, ECHILD);
		pause();
		ualarm(10000, 0);
		int e = epoll_create1(0);
		struct epoll_event ev = { EPOLLIN, { .u32 = 1 } };
		epoll_ctl(e, EPOLL_CTL_ADD, pipe_ends[0], &ev);
		EQ(epoll_wait(e, &ev, 1, -1), -1);
		EQ(errno, EINTR);
		close(e);
		int word = 5;
		ualarm(10000, 0);
		EQ(syscall(SYS_futex, &word, 0, 5, NULL, NULL, 0), -1);
		EQ(errno, EINTR);
		ualarm(10000, 0);
		EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), EINTR);
	}
	EQ(caught, 18);
}

CASE(restart)
{
	struct sigaction act = { .sa_handler = on_write, .sa_flags = SA_RESTART };
	struct pollfd p = { 0, POLLIN, 0 };
	char c = 0;
	int status;

	EQ(pipe(pipe_ends), 0);
	p.fd = pipe_ends[0];
	sigaction(SIGALRM, &act, NULL);
	for (int i = 0; i < 20; i++) {
		ualarm(2000, 0);
		EQ(read(pipe_ends[0], &c, 1), 1); /* the handler writes what it waits for */
		EQ(c, 'x');
	}
	ualarm(2000, 0);
	EQ(poll(&p, 1, 10000), -1); /* is never restarted */
	EQ(errno, EINTR);
	EQ(poll(&p, 1, 10000), 1);
	if (!fork()) {
		usleep(20000);
		_exit(5);
	}
	ualarm(5000, 0);
	EQ(wait(&status) > 0, 1);
	EQ(WEXITSTATUS(status), 5);
	EQ(caught, 22);
}

/* Signals that instructions raise, sent while they are blocked. */
CASE(blocked_segv)
{
	static const int all[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP };
	sigset_t set, now;
	int status = 0;

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		int before = caught;

		handle(all[i], on_info, 0);
		sigemptyset(&set);
		sigaddset(&set, all[i]);
		sigprocmask(SIG_BLOCK, &set, NULL);
		raise(all[i]);
		kill(getpid(), all[i]);
		EQ(caught, before);
		sigpending(&now);
		EQ(sigismember(&now, all[i]), 1);
		sigprocmask(SIG_BLOCK, NULL, &now);
		EQ(sigismember(&now, all[i]), 1);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		CHECK(caught > before);
		EQ(last_number, all[i]);
		EQ(last_info.si_pid, getpid());
		sigprocmask(SIG_BLOCK, NULL, &now);
		EQ(sigismember(&now, all[i]), 0);
		sigpending(&now);
		EQ(sigismember(&now, all[i]), 0);
		if (!fork()) { /* the mask stays, and a fault then kills */
			sigprocmask(SIG_BLOCK, &set, NULL);
			if (all[i] == SIGSEGV)
				__asm__ volatile("mov %rax, 8");
			_exit(3);
		}
		EQ(wait(&status) > 0, 1);
		printf("%d: %#x\n", all[i], status);
	}
}

/* A signal between the check and the system call must not be lost. */
CASE(race_sigsuspend)
{
	sigset_t block, old;

	signal(SIGALRM, on_count);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	sigprocmask(SIG_BLOCK, &block, &old);
	for (int i = 0; i < 2000; i++) {
		struct itimerval t = { { 0, 0 }, { 0, 1 + i % 60 } };
		int before = caught;

		setitimer(ITIMER_REAL, &t, NULL);
		for (volatile int j = 0; j < i * 7 % 3000; j++)
			;
		EQ(sigsuspend(&old), -1);
		EQ(errno, EINTR);
		EQ(caught, before + 1);
	}
}

CASE(race_pselect)
{
	sigset_t block, old;
	struct timespec ten = { 10, 0 };

	signal(SIGALRM, on_count);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	sigprocmask(SIG_BLOCK, &block, &old);
	for (int i = 0; i < 2000; i++) {
		struct itimerval t = { { 0, 0 }, { 0, 1 + i % 60 } };
		int before = caught, r;

		setitimer(ITIMER_REAL, &t, NULL);
		r = i % 2 ? pselect(0, NULL, NULL, NULL, &ten, &old) : ppoll(NULL, 0, &ten, &old);
		EQ(r, -1);
		EQ(errno, EINTR);
		EQ(caught, before + 1);
	}
}

/* The self-pipe: a handler that came before the read must have run before it. */
CASE(race_self_pipe)
{
	struct sigaction act = { .sa_handler = on_write, .sa_flags = SA_RESTART };
	char c;

	EQ(pipe(pipe_ends), 0);
	sigaction(SIGALRM, &act, NULL);
	for (int i = 0; i < 3000; i++) {
		struct itimerval t = { { 0, 0 }, { 0, 1 + i % 50 } };

		setitimer(ITIMER_REAL, &t, NULL);
		for (volatile int j = 0; j < i * 13 % 5000; j++)
			;
		if (read(pipe_ends[0], &c, 1) != 1)
			printf("BAD read %d\n", errno);
	}
	EQ(caught, 3000);
}

/* Unblocking delivers before the system call returns. */
CASE(unblock_delivers)
{
	sigset_t set, old;

	signal(SIGUSR1, on_count);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	for (int i = 0; i < 3000; i++) {
		sigprocmask(SIG_BLOCK, &set, &old);
		raise(SIGUSR1);
		EQ(caught, i);
		sigprocmask(SIG_SETMASK, &old, NULL);
		EQ(caught, i + 1);
	}
}

CASE(kill_self_delivers)
{
	signal(SIGUSR1, on_count);
	for (int i = 0; i < 3000; i++) {
		kill(getpid(), SIGUSR1);
		EQ(caught, i + 1);
	}
}

CASE(sigwait)
{
	sigset_t set;
	siginfo_t info;
	struct timespec soon = { 0, 1000000 };
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	EQ(sigwait(&set, &number), 0);
	EQ(number, SIGUSR1);
	sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 99 });
	EQ(sigwaitinfo(&set, &info), SIGRTMIN + 1);
	EQ(info.si_value.sival_int, 99);
	EQ(sigtimedwait(&set, &info, &soon), -1);
	EQ(errno, EAGAIN);
}

CASE(signalfd)
{
	struct signalfd_siginfo info[4];
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	raise(SIGUSR1);
	ualarm(1000, 0);
	EQ(read(fd, info, sizeof info), (ssize_t)sizeof *info);
	EQ(info[0].ssi_signo, SIGUSR1);
	EQ(read(fd, info, sizeof info), (ssize_t)sizeof *info);
	EQ(info[0].ssi_signo, SIGALRM);
}

CASE(sigio)
{
	handle(SIGIO, on_info, 0);
	EQ(pipe(pipe_ends), 0);
	fcntl(pipe_ends[0], F_SETOWN, getpid());
	fcntl(pipe_ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	EQ(write(pipe_ends[1], "x", 1), 1);
	EQ(caught, 1);
}

CASE(sigpipe)
{
	EQ(pipe(pipe_ends), 0);
	close(pipe_ends[0]);
	signal(SIGPIPE, SIG_IGN);
	EQ(write(pipe_ends[1], "x", 1), -1);
	EQ(errno, EPIPE);
	signal(SIGPIPE, on_count);
	EQ(write(pipe_ends[1], "x", 1), -1);
	EQ(caught, 1);
	signal(SIGPIPE, SIG_DFL);
	puts("dying");
	if (write(pipe_ends[1], "x", 1))
		puts("not reached");
}

CASE(stop_and_continue)
{
	int status, child;

	char c;

	signal(SIGCONT, on_count);
	EQ(pipe(pipe_ends), 0);
	child = fork();
	if (!child) {
		raise(SIGSTOP);
		close(pipe_ends[1]);
		EQ(read(pipe_ends[0], &c, 1), 0);
		_exit(caught == 1 ? 7 : 8);
	}
	EQ(waitpid(child, &status, WUNTRACED), child);
	CHECK(WIFSTOPPED(status));
	EQ(WSTOPSIG(status), SIGSTOP);
	kill(child, SIGCONT);
	EQ(waitpid(child, &status, WCONTINUED), child);
	CHECK(WIFCONTINUED(status));
	close(pipe_ends[1]);
	EQ(waitpid(child, &status, 0), child);
	EQ(WEXITSTATUS(status), 7);
}

static void on_child(int number)
{
	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		caught++;
}

CASE(sigchld)
{
	struct sigaction act = { .sa_handler = on_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	sigaction(SIGCHLD, &act, NULL);
	for (int i = 0; i < 50; i++)
		if (!fork())
			_exit(i);
	while (caught < 50)
		usleep(1000);
	EQ(caught, 50);
}

static void on_fork(int number)
{
	int status, child;

	(void)number;
	child = fork();
	if (!child)
		_exit(11);
	waitpid(child, &status, 0);
	caught += WEXITSTATUS(status) == 11;
}

CASE(fork_in_handler)
{
	signal(SIGUSR1, on_fork);
	for (int i = 0; i < 20; i++)
		raise(SIGUSR1);
	EQ(caught, 20);
}

/* A handler that is also left by the child. */
static void on_fork_return(int number)
{
	(void)number;
	if (!fork())
		caught = 100;
	else
		caught++;
}

CASE(fork_leaves_handler)
{
	int status;

	signal(SIGUSR1, on_fork_return);
	raise(SIGUSR1);
	if (caught == 100)
		_exit((int)(work(100) % 50 + 1));
	wait(&status);
	EQ(WEXITSTATUS(status), work(100) % 50 + 1);
}

static void on_mprotect(int number)
{
	(void)number;
	caught++;
}

/* setcontext and a context that getcontext made, from a handler. */
static ucontext_t saved;
static void on_setcontext(int number)
{
	(void)number;
	caught++;
	setcontext(&saved);
}

CASE(setcontext_from_handler)
{
	signal(SIGUSR1, on_setcontext);
	getcontext(&saved);
	if (caught < 100)
		raise(SIGUSR1);
	EQ(caught, 100);
}

/* A frame that the program makes itself and returns through. */
static void on_sigreturn(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)number;
	(void)info;
	uc->uc_mcontext.gregs[REG_RAX] = 4242;
	uc->uc_mcontext.fpregs->mxcsr ^= 0x6000; /* rounding */
	caught++;
}

CASE(mxcsr_and_result)
{
	uint32_t mxcsr;
	uint64_t result;

	handle(SIGUSR1, on_sigreturn, 0);
	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_tgkill), "D"(getpid()), "S"(gettid()), "d"(SIGUSR1)
			 : "rcx", "r11", "memory");
	EQ(result, 4242);
	__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
	EQ(mxcsr & 0x6000, 0x6000);
	signal(SIGUSR1, on_mprotect);
	raise(SIGUSR1);
	EQ(caught, 2);
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

CASE(alarm)
{
	handle(SIGALRM, on_info, 0);
	EQ(alarm(100), 0);
	EQ(alarm(1), 100);
	EQ(pause(), -1);
	EQ(caught, 1);
	EQ(last_info.si_code, SI_KERNEL);
}

static volatile int *volatile nowhere = (int *)16;
#define DIE(name, how) \
	CASE(die_##name) \
	{ \
		puts("about to"); \
		how; \
		puts("still here"); \
	}
DIE(abort, abort())
DIE(term, raise(SIGTERM))
DIE(kill, raise(SIGKILL))
DIE(rt, raise(SIGRTMIN + 3))
DIE(alarm, (ualarm(1000, 0), pause()))
DIE(looping, {
	ualarm(5000, 0);
	for (;;)
		;
})
DIE(blocked_segv, {
	sigset_t s;
	sigfillset(&s);
	sigprocmask(SIG_BLOCK, &s, NULL);
	*nowhere = 1;
})
DIE(ignored_segv, {
	signal(SIGSEGV, SIG_IGN);
	*nowhere = 1;
})
DIE(no_stack, {
	signal(SIGSEGV, on_count);
	__asm__ volatile("mov $64, %rsp\n\tpush %rax");
})
DIE(xcpu, { raise(SIGXCPU); })
DIE(quit_from_child, {
	if (!fork()) {
		kill(getppid(), SIGQUIT);
		_exit(0);
	}
	pause();
	pause();
})
