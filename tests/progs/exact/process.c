/* SPDX-License-Identifier: MIT */
/*
 * fork, vfork, spawn, clone: what the new process finds, and what becomes of it.
 */
#include "cases.h"
#include "children.h"
#include "images.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/user.h>

static volatile int shared_word;
CASE(fork)
{
	int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int parent = getpid();

	for (int i = 0; i < 100; i++) {
		int child = fork();

		if (!child) {
			EQ(getppid(), parent);
			shared_word = i;
			__atomic_add_fetch(shared, i, __ATOMIC_RELAXED);
			exit(i);
		}
		int status;
		EQ(waitpid(child, &status, 0), child);
		EQ(WEXITSTATUS(status), i);
	}
	EQ(shared_word, 0);
	EQ(*shared, 4950);
}

CASE(fork_many_at_once)
{
	int sum = 0, status;

	for (int i = 0; i < 60; i++)
		if (!fork()) {
			usleep(1000);
			_exit(i);
		}
	while (wait(&status) > 0)
		sum += WEXITSTATUS(status);
	EQ(sum, 1770);
}

CASE(fork_deep)
{
	int depth = 0, status;

	while (depth < 25) {
		int child = fork();

		if (child) {
			waitpid(child, &status, 0);
			if (depth == 0) {
				EQ(WEXITSTATUS(status), 25);
				return;
			}
			_exit(WEXITSTATUS(status));
		}
		depth++;
	}
	_exit(depth);
}

/* The child shares the parent's memory until it execs, and the parent waits. */
CASE(vfork)
{
	find_self();
	for (int i = 0; i < 50; i++) {
		int child = vfork();

		if (!child) {
			shared_word++;
			_exit(12);
		}
		int status;
		EQ(shared_word, i + 1);
		EQ(waitpid(child, &status, 0), child);
		EQ(WEXITSTATUS(status), 12);
	}
	for (int i = 0; i < 5; i++) {
		int child = vfork();

		if (!child) {
			shared_word++;
			execl(self, self, "child_count", "a", "bc", (char *)NULL);
			_exit(9);
		}
		EQ(shared_word, 51 + i);
		reap(child);
	}
}

CASE(vfork_exec_fails)
{
	for (int i = 0; i < 20; i++) {
		int child = vfork();

		if (!child) {
			execl("/no/such/file", "x", (char *)NULL);
			shared_word = errno;
			_exit(3);
		}
		EQ(shared_word, ENOENT);
		shared_word = 0;
		waitpid(child, NULL, 0);
	}
}

/* A child that dies of a signal between vfork and exec. */
CASE(vfork_killed)
{
	int child = vfork();

	if (!child) {
		signal(SIGTERM, SIG_DFL);
		kill(getpid(), SIGTERM);
		_exit(1);
	}
	reap(child);
}

static int clone_child(void *p)
{
	*(int *)p += 5;
	return 17;
}

CASE(clone_vm)
{
	static char stack[65536] __attribute__((aligned(16)));
	int value = 1, status;

	for (int i = 0; i < 20; i++) {
		int child = clone(clone_child, stack + sizeof stack,
				  CLONE_VM | CLONE_VFORK | SIGCHLD, &value);

		EQ(value, 6 + 5 * i);
		EQ(waitpid(child, &status, 0), child);
		EQ(WEXITSTATUS(status), 17);
	}
}

/* Shares memory and runs at the same time, without being a thread. */
static int clone_concurrent(void *p)
{
	volatile int *word = p;

	for (int i = 0; i < 1000; i++) {
		while (*word % 2 == 0)
			sched_yield();
		(*word)++;
	}
	return 3;
}

CASE(clone_vm_concurrent)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile int word = 0;
	int status,
		child = clone(clone_concurrent, stack + 65536, CLONE_VM | SIGCHLD, (void *)&word);

	for (int i = 0; i < 1000; i++) {
		while (word % 2)
			sched_yield();
		word++;
	}
	EQ(waitpid(child, &status, 0), child);
	EQ(WEXITSTATUS(status), 3);
	EQ(word, 2000);
}

#define CLEAR_SIGHAND 0x100000000ull /* CLONE_CLEAR_SIGHAND; not in older headers */

static void on_any(int number)
{
	(void)number;
}

static void look_at_handlers(void)
{
	static const int number[] = { SIGUSR1, SIGUSR2, SIGSEGV, SIGFPE };
	struct sigaction a;

	for (unsigned i = 0; i < 4; i++) {
		EQ(sigaction(number[i], NULL, &a), 0);
		printf("%d %s\n", number[i],
		       a.sa_handler == SIG_DFL	 ? "default"
		       : a.sa_handler == SIG_IGN ? "ignored"
						 : "handled");
	}
}

/* As the C library spawns since 2.38. */
CASE(clone_clears_handlers)
{
	static char page[4096] __attribute__((aligned(4096)));
	struct clone_args a = { .flags = CLEAR_SIGHAND, .exit_signal = SIGCHLD };

	signal(SIGUSR1, on_any);
	signal(SIGSEGV, on_any);
	signal(SIGUSR2, SIG_IGN);
	signal(SIGFPE, SIG_IGN);
	for (int i = 0; i < 4; i++) {
		int child;

		a.flags = CLEAR_SIGHAND | (i & 1 ? CLONE_VM | CLONE_VFORK : 0);
		child = (int)syscall(SYS_clone3, &a, sizeof a);
		if (!child) {
			look_at_handlers();
			kill(getpid(), i & 2 ? SIGSEGV : SIGUSR1);
			_exit(0);
		}
		reap(child);
	}
	look_at_handlers();
	/* larger than is known here, with nothing in it, or something */
	memcpy(page, &a, sizeof a);
	for (int i = 0; i < 2; i++) {
		int child = (int)syscall(SYS_clone3, page, 1024);

		if (!child)
			_exit(7);
		if (child > 0)
			reap(child);
		else
			printf("%d\n", errno);
		page[1000] = 1;
	}
	EQ(syscall(SYS_clone3, page, 8192), -1);
	EQ(errno, E2BIG);
}

CASE(clone_files)
{
	static char stack[65536] __attribute__((aligned(16)));
	int ends[2];

	EQ(pipe(ends), 0);
	int child = clone((int (*)(void *))close, stack + sizeof stack, CLONE_FILES | SIGCHLD,
			  (void *)(intptr_t)ends[1]);
	waitpid(child, NULL, 0);
	EQ(write(ends[1], "x", 1), -1);
	EQ(errno, EBADF);
}

CASE(spawn)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t set;
	int child, ends[2];
	char text[4000];
	ssize_t n, all = 0;

	find_self();
	EQ(pipe2(ends, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	posix_spawn_file_actions_addopen(&actions, 40, "/dev/null", O_RDONLY, 0);
	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGHUP);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	signal(SIGHUP, SIG_IGN);
	EQ(posix_spawn(&child, self, &actions, &attr,
		       (char *[]){ self, "child_look", "spawned", NULL }, plain_env),
	   0);
	close(ends[1]);
	while ((n = read(ends[0], text + all, sizeof text - (size_t)all)) > 0)
		all += n;
	CHECK(write(1, text, (size_t)all) == all);
	reap(child);
	EQ(posix_spawn(&child, "/no/such/file", NULL, NULL, (char *[]){ "x", NULL }, plain_env),
	   ENOENT);
	EQ(posix_spawnp(&child, "true", NULL, NULL, (char *[]){ "true", NULL }, environ), 0);
	reap(child);
}

CASE(system_and_popen)
{
	char line[100];
	FILE *f;

	EQ(system("exit 5") >> 8, 5);
	f = popen("echo a; echo b | tr b c; exit 3", "r");
	while (f && fgets(line, sizeof line, f))
		printf("%s", line);
	EQ(pclose(f) >> 8, 3);
	f = popen("cat", "w");
	fputs("through cat\n", f);
	EQ(pclose(f), 0);
}

CASE(orphan)
{
	int ends[2], parent;
	char c;

	EQ(pipe(ends), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	parent = fork();
	if (!parent) {
		int before = getpid();

		if (!fork()) {
			while (getppid() == before)
				usleep(1000);
			CHECK(write(ends[1], "o", 1) == 1);
			_exit(0);
		}
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	EQ(read(ends[0], &c, 1), 1);
	CHECK(wait(NULL) > 0);
}

CASE(parent_death_signal)
{
	int ends[2];
	char c;

	EQ(pipe(ends), 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	int parent = fork();
	if (!parent) {
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			CHECK(write(ends[1], "r", 1) == 1);
			pause();
		}
		CHECK(read(ends[0], &c, 1) == 1);
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	reap(next_child());
}

CASE(exit_handlers)
{
	on_exit((void (*)(int, void *))printf, "not run\n");
	_exit(200);
}

CASE(exit_codes)
{
	for (int i = 0; i < 300; i += 17)
		if (fork())
			reap(next_child());
		else
			syscall(i % 2 ? SYS_exit : SYS_exit_group, i);
}

CASE(usage)
{
	struct rusage u;
	int child = fork();

	if (!child) {
		for (volatile int i = 0; i < 30000000; i++)
			;
		_exit(0);
	}
	CHECK(wait4(child, NULL, 0, &u) == child);
	CHECK(u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec > 1000);
	getrusage(RUSAGE_SELF, &u);
}

/* Private memory stays private, also code that was written before and after. */
CASE(fork_and_code)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status, child;

	memcpy(code, "\xb8\x01\x00\x00\x00\xc3", 6);
	EQ(((int (*)(void))code)(), 1);
	child = fork();
	code[1] = child ? 2 : 3;
	if (!child)
		_exit(((int (*)(void))code)());
	EQ(((int (*)(void))code)(), 2);
	waitpid(child, &status, 0);
	EQ(WEXITSTATUS(status), 3);
}

/* A program that debugs its child: what it sees are the child's own system calls, code and registers. */
CASE(ptrace_child)
{
	int status, child = fork();
	long calls = 0, answers = 0;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		for (int i = 0; i < 10; i++)
			syscall(SYS_getppid);
		_exit(4);
	}
	waitpid(child, &status, 0);
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (;;) {
		struct user_regs_struct r;

		ptrace(PTRACE_SYSCALL, child, 0, 0);
		waitpid(child, &status, 0);
		if (!WIFSTOPPED(status))
			break;
		ptrace(PTRACE_GETREGS, child, 0, &r);
		calls += r.orig_rax == SYS_getppid;
		answers += r.orig_rax == SYS_getppid && (pid_t)r.rax == getpid();
	}
	printf("%ld stops, %ld answers, exit %d\n", calls, answers, WEXITSTATUS(status));
}

static NOINLINE int traced_work(int n)
{
	return n * 3 + 1;
}

CASE(ptrace_breakpoint)
{
	int status, child = fork();
	uint64_t at = (uint64_t)traced_work;
	struct user_regs_struct r;
	long code;

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(traced_work(4));
	}
	waitpid(child, &status, 0);
	code = ptrace(PTRACE_PEEKTEXT, child, at, 0);
	EQ(ptrace(PTRACE_POKETEXT, child, at, (code & ~0xffl) | 0xcc), 0);
	ptrace(PTRACE_CONT, child, 0, 0);
	waitpid(child, &status, 0);
	EQ(WSTOPSIG(status), SIGTRAP);
	ptrace(PTRACE_GETREGS, child, 0, &r);
	printf("stopped behind %d bytes, argument %d\n", (int)(r.rip - at), (int)r.rdi);
	ptrace(PTRACE_POKETEXT, child, at, code);
	r.rip = at;
	r.rdi = 5;
	ptrace(PTRACE_SETREGS, child, 0, &r);
	for (int i = 0; i < 3; i++) {
		ptrace(PTRACE_SINGLESTEP, child, 0, 0);
		waitpid(child, &status, 0);
		EQ(WSTOPSIG(status), SIGTRAP);
	}
	ptrace(PTRACE_DETACH, child, 0, 0);
	reap(child);
}

/* The image that a traced child executes: its arguments, and its system calls. */
static void watch_exec(int child)
{
	struct user_regs_struct r;
	int status;

	waitpid(child, &status, 0);
	EQ(WSTOPSIG(status), SIGTRAP);
	ptrace(PTRACE_GETREGS, child, 0, &r);
	for (long n = ptrace(PTRACE_PEEKDATA, child, r.rsp, 0), i = 1; i <= n; i++) {
		uint64_t at = (uint64_t)ptrace(PTRACE_PEEKDATA, child, r.rsp + 8 * (uint64_t)i, 0);
		union {
			long word;
			char text[9];
		} v = { .word = ptrace(PTRACE_PEEKDATA, child, at, 0) };

		if (i > 1)
			printf("argument %ld: %.8s\n", i - 1, v.text);
	}
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD);
	for (int first = 1;
	     ptrace(PTRACE_SYSCALL, child, 0, 0), waitpid(child, &status, 0), WIFSTOPPED(status);) {
		ptrace(PTRACE_GETREGS, child, 0, &r);
		if (r.orig_rax == SYS_exit_group && first--)
			printf("exits with %d\n", (int)r.rdi);
	}
	printf("status %d\n", WEXITSTATUS(status));
}

CASE(ptrace_exec)
{
	int child;

	find_self();
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(self, self, "child_count", "a", "bc", (char *)NULL);
		_exit(9);
	}
	watch_exec(child);
	child = vfork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl(self, self, "child_count", "a", "bc", (char *)NULL);
		_exit(9);
	}
	watch_exec(child);
}

/* One that runs already is attached to; it goes on as before, whatever is seen of it. */
static void attach(int look)
{
	int status, child = fork();
	struct user_regs_struct r;

	if (!child) {
		for (volatile unsigned i = 0; i < 400000000; i++)
			;
		_exit(6);
	}
	usleep(1000);
	EQ(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
	EQ(ptrace(PTRACE_INTERRUPT, child, 0, 0), 0);
	EQ(waitpid(child, &status, 0), child);
	EQ(WIFSTOPPED(status), 1);
	if (look)
		EQ(ptrace(PTRACE_GETREGS, child, 0, &r), 0);
	EQ(ptrace(PTRACE_DETACH, child, 0, 0), 0);
	reap(child);
}

CASE(ptrace_attach)
{
	attach(0);
}

CASE(may_ptrace_look)
{
	attach(1);
}

/* The first process of a pid namespace dies of what its instructions raise, and of no other signal. */
static int first_process(void *way)
{
	static const int sent[] = { SIGTERM, SIGSEGV, SIGTRAP, SIGFPE, SIGABRT };
	volatile int zero = 0;
	int status, child;

	switch ((int)(intptr_t)way) {
	case 0:
		for (int i = 0; i < 5; i++)
			raise(sent[i]);
		return 7;
	case 1:
		abort();
	case 2:
		*(volatile int *volatile)(intptr_t)zero = 1;
		return 1;
	case 3:
		__builtin_trap();
	case 4:
		return 77 / zero;
	case 5:
		__asm__ volatile("int3");
		return 1;
	case 6: /* what lies behind a file's end */
		child = (int)syscall(SYS_memfd_create, "empty", 0);
		return *(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, child, 0);
	default: /* any other process dies as usual */
		child = fork();
		if (!child) {
			raise(SIGTERM);
			_exit(4);
		}
		waitpid(child, &status, 0);
		return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
}

CASE(pid_namespaces)
{
	static char stack[65536] __attribute__((aligned(16)));
	static const int flags[] = { 0, CLONE_VM };

	for (int i = 0; i < 2; i++)
		for (intptr_t way = 0; way < 8; way++) {
			int status = 0;
			int child = clone(first_process, stack + sizeof(stack),
					  CLONE_NEWUSER | CLONE_NEWPID | SIGCHLD | flags[i],
					  (void *)way);

			if (child < 0) {
				printf("%d\n", errno);
				continue;
			}
			waitpid(child, &status, 0);
			printf("%d: %#x\n", (int)way, status & 0xff7f);
		}
}
