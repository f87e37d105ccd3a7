/* SPDX-License-Identifier: MIT */
/*
 * Asynchronous signals: what the handler is told, when it comes, what a system call returns, and deaths.
 */
#include "cases.h"
#include "handlers.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static void on_count(int number)
{
	last_number = number;
	caught++;
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

static void print_mask(const char *what, const sigset_t *mask)
{
	printf("%s:", what);
	for (int i = 1; i < 64; i++)
		if (sigismember(mask, i) > 0)
			printf(" %d", i);
	puts("");
}

/* Signals where the stack pointer leads nowhere: SIGSEGV comes in their place, and kills where it is blocked, ignored or
 * has no stack of its own. */
extern const char no_stack_end[];
NOINLINE static void without_stack(uint64_t sp, long nr, long first, long second)
{
	__asm__ volatile("mov %%rsp, %%rbp\n\tmov %[sp], %%rsp\n\ttest %%rax, %%rax\n\tjs 1f\n\t"
			 "syscall\n.globl no_stack_end\nno_stack_end:\n\tjmp 2f\n"
			 "1:\tud2\n2:\tmov %%rbp, %%rsp"
			 :
			 : [sp] "r"(sp), "a"(nr), "D"(first), "S"(second)
			 : "rcx", "r11", "rbp", "memory", "cc");
}

static void on_no_stack(int number, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	sigset_t now;

	printf("signal %d, code %d, address %p, at %ld, rax %lld, rsp %#llx\n", number,
	       info->si_code, info->si_code > 0 ? info->si_addr : NULL,
	       (long)((const char *)uc->uc_mcontext.gregs[REG_RIP] - no_stack_end),
	       uc->uc_mcontext.gregs[REG_RAX], uc->uc_mcontext.gregs[REG_RSP]);
	print_mask("mask to return to", &uc->uc_sigmask);
	sigprocmask(SIG_BLOCK, NULL, &now);
	print_mask("mask", &now);
	_exit(17);
}

static void sent_without_stack(int how, int handled, uint64_t sp)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
	sigset_t segv;

	handle(SIGILL, on_info, 0);
	handle(SIGUSR1, on_info, 0);
	sigaltstack(&alternate, NULL);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	if (handled == 1)
		signal(SIGSEGV, SIG_IGN);
	if (handled > 1)
		handle(SIGSEGV, on_no_stack, handled == 2 ? 0 : SA_ONSTACK);
	if (handled == 3)
		sigprocmask(SIG_BLOCK, &segv, NULL);
	if (how == 0)
		without_stack(sp, -1, 0, 0);
	else if (how == 1)
		without_stack(sp, SYS_kill, getpid(), SIGUSR1);
	else if (how == 2)
		without_stack(sp, SYS_rt_sigreturn, 0, 0);
	else
		without_stack(sp, SYS_kill, getpid(), SIGSEGV);
	_exit(18);
}

CASE(no_stack_for_handler)
{
	static const uint64_t nowhere[] = { 4096, 1ull << 50 };

	for (int how = 0; how < 4; how++)
		for (int handled = 0; handled < 5; handled++)
			for (int i = 0; i < 2; i++) {
				int status, child = fork();

				if (!child)
					sent_without_stack(how, handled, nowhere[i]);
				waitpid(child, &status, 0);
				printf("%d %d %d: %#x\n", how, handled, i, status & 0xff7f);
			}
}

/* Handlers that spoil where the state of vector registers is to be taken from. */
static void on_spoil(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	((ucontext_t *)context)->uc_mcontext.fpregs = (void *)64;
}

CASE(no_vectors_to_return_to)
{
	for (int handled = 0; handled < 2; handled++) {
		int status, child = fork();

		if (!child) {
			handle(SIGUSR1, on_spoil, 0);
			if (handled)
				handle(SIGSEGV, on_info, SA_RESETHAND);
			raise(SIGUSR1);
			printf("%d, code %d\n", (int)last_number, last_info.si_code);
			_exit(16);
		}
		waitpid(child, &status, 0);
		printf("%#x\n", status & 0xff7f);
	}
}

/*
 * System calls that wait with a mask of their own: it is in force in the handlers that end them, not in what these return
 * to. SIGUSR1, SIGUSR2 and SIGSEGV are blocked and have been sent; the call lets them in and blocks SIGHUP.
 */
static void on_waited(int number, siginfo_t *info, void *context)
{
	sigset_t now;

	printf("handler of %d, code %d\n", number, info->si_code);
	sigprocmask(SIG_BLOCK, NULL, &now);
	print_mask("mask", &now);
	print_mask("mask to return to", &((ucontext_t *)context)->uc_sigmask);
}

static long wait_by(int way, const sigset_t *mask)
{
	struct {
		const sigset_t *mask;
		size_t size;
	} packed = { mask, 8 };
	struct timespec ten = { 10, 0 };
	struct epoll_event event;
	uint64_t completion[4], completions = 0;
	int epoll;
	long r;

	switch (way) {
	case 0:
		return syscall(SYS_rt_sigsuspend, mask, 8);
	case 1:
		return syscall(SYS_ppoll, NULL, 0, &ten, mask, 8);
	case 2:
		return syscall(SYS_pselect6, 0, NULL, NULL, NULL, &ten, &packed);
	case 3:
	case 4:
		epoll = epoll_create1(0);
		r = way == 3 ? syscall(SYS_epoll_pwait, epoll, &event, 1, 10000, mask, 8)
			     : syscall(SYS_epoll_pwait2, epoll, &event, 1, &ten, mask, 8);
		close(epoll);
		return r;
	default:
		if (syscall(SYS_io_setup, 1, &completions)) {
			errno = EINTR; /* a kernel without it */
			return syscall(SYS_rt_sigsuspend, mask, 8);
		}
		r = syscall(SYS_io_pgetevents, completions, 1, 1, completion, &ten, &packed);
		syscall(SYS_io_destroy, completions);
		return r;
	}
}

CASE(masks_while_waiting)
{
	struct sigaction act = { .sa_sigaction = on_waited, .sa_flags = SA_SIGINFO };
	static const int sent[] = { SIGUSR1, SIGUSR2, SIGSEGV };
	sigset_t before, waiting, now;

	sigemptyset(&act.sa_mask);
	sigaddset(&act.sa_mask, SIGWINCH);
	sigemptyset(&before);
	sigemptyset(&waiting);
	sigaddset(&waiting, SIGHUP);
	for (int i = 0; i < 3; i++) {
		sigaction(sent[i], &act, NULL);
		sigaddset(&before, sent[i]);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (int way = 0; way < 6; way++)
		for (int all = 0; all < 2; all++) {
			for (int i = all ? 0 : way % 3; i < (all ? 3 : way % 3 + 1); i++)
				kill(getpid(), sent[i]);
			errno = 0;
			printf("way %d: %ld", way, wait_by(way, &waiting));
			printf(", error %d\n", errno);
			sigprocmask(SIG_BLOCK, NULL, &now);
			print_mask("mask after", &now);
		}
}

/* What the call's mask keeps out stays pending, also where nothing but a timeout or an event ends the call. */
CASE(masks_without_signals)
{
	struct timespec soon = { 0, 1000000 };
	struct pollfd ready = { .events = POLLIN };
	sigset_t segv, none, now;
	int ends[2];

	handle(SIGSEGV, on_order, 0);
	sigemptyset(&none);
	sigemptyset(&segv);
	sigaddset(&segv, SIGSEGV);
	sigprocmask(SIG_SETMASK, &segv, NULL);
	kill(getpid(), SIGSEGV);
	EQ(ppoll(NULL, 0, &soon, &segv), 0);
	EQ(pipe(ends), 0);
	EQ(write(ends[1], "x", 1), 1);
	ready.fd = ends[0];
	EQ(ppoll(&ready, 1, NULL, &none), 1);
	EQ(n_orders, 0);
	sigpending(&now);
	print_mask("pending", &now);
	sigprocmask(SIG_SETMASK, &none, NULL);
	EQ(n_orders, 1);
	EQ(ppoll(NULL, 0, &soon, (sigset_t *)1), -1);
	EQ(errno, EFAULT);
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
	EQ(read(fd, info, sizeof info), (ssize_t)sizeof *info);
	EQ(info[0].ssi_signo, SIGUSR1);
	ualarm(1000, 0);
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

/* A handler begins with initial vector state, whatever it interrupts, which goes on with its own. */
static uint32_t handler_mxcsr;
static uint16_t handler_control, handler_tags[14];
static uint64_t handler_ymm[4];

static void on_state(int number)
{
	(void)number;
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstenv %2"
			 : "=m"(handler_mxcsr), "=m"(handler_control), "=m"(handler_tags));
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu %%ymm9, %0" : "=m"(handler_ymm));
}

CASE(handler_begins_anew)
{
	const uint32_t towards_zero = 0x7f80;
	const uint16_t narrow = 0xc7f;
	const uint64_t ones[4] = { 1, 1, 1, 1 };
	uint64_t ymm[4] = { 1, 1, 1, 1 };
	uint32_t mxcsr;
	uint16_t control, status;

	signal(SIGUSR1, on_state);
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu %0, %%ymm9" : : "m"(ones) : "xmm9");
	__asm__ volatile("ldmxcsr %4\n\tfldcw %5\n\tfldpi\n\tfldpi\n\tsyscall\n\t"
			 "stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2\n\tfninit"
			 : "=m"(mxcsr), "=m"(control), "=m"(status)
			 : "a"(SYS_tgkill), "m"(towards_zero), "m"(narrow), "D"(getpid()),
			   "S"(gettid()), "d"(SIGUSR1)
			 : "rcx", "r11", "memory");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vmovdqu %%ymm9, %0" : "=m"(ymm));
	__asm__ volatile("ldmxcsr %0" : : "m"((const uint32_t){ 0x1f80 }));
	EQ(handler_mxcsr, 0x1f80);
	EQ(handler_control, 0x37f);
	EQ(handler_tags[4], 0xffff);
	for (int i = 0; i < 4; i++)
		EQ(handler_ymm[i], 0);
	EQ(mxcsr, towards_zero);
	EQ(control, narrow);
	EQ(status >> 11 & 7, 6); /* the stack's top */
	for (int i = 0; i < 4; i++)
		EQ(ymm[i], 1);
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
