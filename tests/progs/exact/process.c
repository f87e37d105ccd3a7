/* SPDX-License-Identifier: MIT */
/*
 * fork, vfork, spawn, clone, exec: what the new process and the new image find, and what is refused.
 * Works in a folder of its own below $TMPDIR or /tmp.
 */
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/mman.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

extern char **environ;
static char self[PATH_MAX], folder[PATH_MAX];

static void find_self(void)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	CHECK(n > 0);
	self[n > 0 ? n : 0] = 0;
}

static void leave_folder(void)
{
	char command[PATH_MAX + 20];

	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	if (chdir("/") || system(command))
		perror(folder);
}

static void enter_folder(void)
{
	const char *t = getenv("TMPDIR");

	find_self();
	snprintf(folder, sizeof folder, "%s/exact.XXXXXX", t ? t : "/tmp");
	CHECK(mkdtemp(folder) && !chdir(folder));
}

/* What ends in a status: reaped, and as a text. */
static void reap(int child)
{
	int status = 0;

	CHECK(child > 0);
	EQ(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		printf("killed by %d\n", WTERMSIG(status));
	else
		printf("exited with %d\n", WEXITSTATUS(status));
}

static int next_child(void)
{
	siginfo_t info = { 0 };

	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	return info.si_pid;
}

static void write_file(const char *name, const char *text, int mode)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, mode);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	fchmod(fd, (mode_t)mode);
	close(fd);
}

/* What an image finds. */
CASE(child_look)
{
	char cwd[PATH_MAX], target[PATH_MAX];
	sigset_t mask;

	printf("%d arguments:", argc);
	for (int i = 0; i < argc; i++)
		printf(" <%s>", argv[i]);
	printf("\nenvironment:");
	for (char **e = environ; *e; e++)
		printf(" <%s>", *e);
	CHECK(getcwd(cwd, sizeof cwd) != NULL);
	printf("\ncwd: %s\n", !strncmp(cwd, "/tmp", 4) ? "in the folder" : cwd);
	for (int fd = 0; fd < 100; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			printf("fd %d\n", fd);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i <= 64; i++) {
		struct sigaction act;

		if (sigismember(&mask, i) > 0)
			printf("blocked %d\n", i);
		if (!sigaction(i, NULL, &act) && act.sa_handler == SIG_IGN)
			printf("ignored %d\n", i);
		else if (i != 32 && i != 33 && act.sa_handler != SIG_DFL)
			printf("handled %d\n", i);
	}
	stack_t alternate;
	sigaltstack(NULL, &alternate);
	EQ(alternate.ss_flags, SS_DISABLE);
	ssize_t n = readlink("/proc/self/exe", target, sizeof target - 1);
	target[n > 0 ? n : 0] = 0;
	printf("exe: %s\n", strrchr(target, '/') ? strrchr(target, '/') : target);
	FILE *f = fopen("/proc/self/comm", "r");
	char comm[64];
	CHECK(f && fgets(comm, sizeof comm, f));
	printf("comm: %s", comm);
}

static char *const plain_env[] = { "A=1", "B=two words", "EMPTY=", NULL };

static void run_image(void (*f)(void))
{
	int child = fork();

	if (!child) {
		f();
		printf("errno %d\n", errno);
		_exit(99);
	}
	reap(child);
}

static void exec_plain(void)
{
	char *const args[] = { self, "child_look", "", "x y", "\xff\xfe", NULL };

	execve(self, args, plain_env);
}

CASE(exec)
{
	find_self();
	run_image(exec_plain);
}

static void exec_state(void)
{
	char *const args[] = { "another-name", "child_look", NULL };
	static char stack[65536];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN + 5);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, (void (*)(int))exec_plain); /* reset by exec */
	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
	dup2(1, 30);
	dup2(1, 31);
	fcntl(31, F_SETFD, FD_CLOEXEC);
	dup2(1, 77);
	execve(self, args, plain_env);
}

CASE(exec_inherits)
{
	enter_folder();
	run_image(exec_state);
	leave_folder();
}

static void exec_no_arguments(void)
{
	char *const none[] = { NULL };

	execve(self, none, none);
}

CASE(exec_without_arguments) /* the kernel makes one empty argument: the cases are listed */
{
	find_self();
	run_image(exec_no_arguments);
}

static void exec_null(void)
{
	syscall(SYS_execve, self, NULL, NULL);
}

CASE(exec_null_arguments)
{
	find_self();
	run_image(exec_null);
}

static void exec_path(void)
{
	execlp("look", "look", "child_look", "by PATH", (char *)NULL);
}

CASE(exec_by_path)
{
	enter_folder();
	clearenv();
	EQ(symlink(self, "look"), 0);
	setenv("PATH", "/nowhere:.:/usr/bin", 1);
	run_image(exec_path);
	leave_folder();
}

static void exec_relative(void)
{
	char *const args[] = { "look", "child_look", "relative", NULL };

	execve("sub/../sub/look", args, plain_env);
}

CASE(exec_relative)
{
	enter_folder();
	mkdir("sub", 0755);
	EQ(symlink(self, "sub/look"), 0);
	run_image(exec_relative);
	leave_folder();
}

static void exec_fd(void)
{
	char *const args[] = { "by-fd", "child_look", "fexecve", NULL };

	fexecve(open(self, O_RDONLY | O_CLOEXEC), args, plain_env);
}

CASE(fexecve)
{
	find_self();
	run_image(exec_fd);
}

static void exec_at(void)
{
	char *const args[] = { "at", "child_look", "execveat", NULL };
	int dir = open(folder, O_PATH | O_CLOEXEC);

	syscall(SYS_execveat, dir, "look", args, plain_env, 0);
}

CASE(execveat)
{
	enter_folder();
	EQ(symlink(self, "look"), 0);
	EQ(chdir("/"), 0);
	run_image(exec_at);
	EQ(syscall(SYS_execveat, open(folder, O_PATH), "look", (char *[]){ "x", NULL }, plain_env,
		   AT_SYMLINK_NOFOLLOW),
	   -1);
	EQ(errno, ELOOP);
	leave_folder();
}

static void exec_memory(void)
{
	char *const args[] = { "from-memory", "child_look", NULL };
	int from = open(self, O_RDONLY), to = (int)syscall(SYS_memfd_create, "image", 1);
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof buffer)) > 0)
		CHECK(write(to, buffer, (size_t)n) == n);
	close(from);
	fexecve(to, args, plain_env);
}

static void exec_proc_fd(void)
{
	char *const args[] = { "by-fd", "child_look", "descriptor", NULL };
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", open(self, O_RDONLY | O_CLOEXEC));
	execve(path, args, plain_env);
}

/* A path that names a descriptor which the new image does not have. */
CASE(exec_proc_fd)
{
	enter_folder();
	run_image(exec_proc_fd);
	leave_folder();
}

CASE(exec_memfd)
{
	find_self();
	run_image(exec_memory);
}

static void exec_script(void)
{
	char *const args[] = { "ignored", "one", "two", NULL };

	execve("./script", args, plain_env);
}

CASE(script)
{
	char text[PATH_MAX + 100];

	enter_folder();
	write_file("script", "#!/bin/sh\necho script $0 $# $1 $2\nexit 6\n", 0755);
	run_image(exec_script);
	snprintf(text, sizeof text, "#! %s child_look  \n", self);
	write_file("script", text, 0755);
	run_image(exec_script);
	write_file("inner", "#!/bin/sh\necho inner $0 $1 $2 $3\n", 0755);
	write_file("script", "#!./inner argument of it\n", 0755);
	run_image(exec_script);
	write_file("script", "#!/no/such/interpreter\n", 0755);
	run_image(exec_script);
	write_file("script", "#!\n", 0755);
	run_image(exec_script);
	write_file("script", "#!./script\n", 0755);
	run_image(exec_script);
	write_file("script", "echo no line of an interpreter\n", 0755);
	run_image(exec_script);
	leave_folder();
}

/* Refused: the errno, and the process goes on. */
static void refused(const char *path)
{
	char *const args[] = { "x", NULL };
	int child = fork();

	if (!child) {
		execve(path, args, plain_env);
		printf("%s: errno %d\n", path, errno);
		_exit(0);
	}
	reap(child);
}

CASE(exec_refused)
{
	char long_name[400], elf[5000];
	int fd;

	enter_folder();
	refused("nothing");
	refused("");
	mkdir("folder", 0755);
	refused("folder");
	refused("/");
	write_file("text", "text", 0755);
	refused("text");
	write_file("empty", "", 0755);
	refused("empty");
	write_file("plain", "#!/bin/sh\n", 0644);
	refused("plain");
	refused("text/below");
	EQ(symlink("loop", "loop"), 0);
	refused("loop");
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[sizeof long_name - 1] = 0;
	EQ(execve(long_name, (char *[]){ "x", NULL }, plain_env), -1);
	EQ(errno, ENAMETOOLONG);
	EQ(syscall(SYS_execve, (void *)8, NULL, NULL), -1);
	EQ(errno, EFAULT);
	EQ(syscall(SYS_execve, self, (void *)8, NULL), -1);
	EQ(errno, EFAULT);
	/* an executable file with a header that is damaged */
	fd = open(self, O_RDONLY);
	CHECK(read(fd, elf, sizeof elf) == sizeof elf);
	close(fd);
	for (int i = 0; i < 5; i++) {
		char bad[5000];
		static const struct {
			int at, value;
		} change[] = { { 18, 40 }, { 16, 1 }, { 54, 1 }, { 0, 0 }, { 19, 7 } };

		memcpy(bad, elf, sizeof bad);
		bad[change[i].at] = (char)change[i].value;
		fd = open("bad", O_CREAT | O_TRUNC | O_WRONLY, 0755);
		CHECK(write(fd, bad, sizeof bad) == sizeof bad);
		close(fd);
		refused("./bad");
	}
	fd = open("bad", O_CREAT | O_TRUNC | O_WRONLY, 0755);
	CHECK(write(fd, elf, 100) == 100);
	refused("./bad"); /* open for writing */
	close(fd);
	refused("./bad"); /* cut */
	if (!fork()) {
		struct rlimit small = { 8 << 20, 8 << 20 };
		char *many[40000];

		setrlimit(RLIMIT_STACK, &small);
		for (int i = 0; i < 39999; i++)
			many[i] = long_name;
		many[39999] = NULL;
		EQ(execve(self, many, plain_env), -1);
		EQ(errno, E2BIG);
		_exit(checks_failed);
	}
	reap(next_child());
	leave_folder();
}

static char big[130000];
static void exec_big(void)
{
	static char *args[1000];

	memset(big, 'b', sizeof big - 1);
	args[0] = self;
	args[1] = "child_count";
	for (int i = 2; i < 12; i++)
		args[i] = big;
	for (int i = 12; i < 999; i++)
		args[i] = "short";
	execve(self, args, plain_env);
}

CASE(child_count)
{
	uint64_t n = 0;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]);
	printf("%d arguments, %llu bytes\n", argc, (unsigned long long)n);
}

CASE(exec_big)
{
	find_self();
	run_image(exec_big);
}

/* One image after another in the same process: memory of the old ones is gone. */
CASE(child_chain)
{
	int left = atoi(argv[0]);
	char number[20];
	void *waste = malloc(10 << 20);

	memset(waste, left, 10 << 20);
	printf("%d\n", left);
	if (!left) {
		FILE *f = fopen("/proc/self/statm", "r");
		long size = 0, resident = 0;

		CHECK(f && fscanf(f, "%ld %ld", &size, &resident) == 2);
		CHECK(resident < 50000 / 4 * 10);
		return;
	}
	find_self();
	snprintf(number, sizeof number, "%d", left - 1);
	execl(self, argv[1], "child_chain", number, argv[1], (char *)NULL);
}

CASE(exec_chain)
{
	find_self();
	execl(self, "chained", "child_chain", "30", "chained", (char *)NULL);
}

/* Pending signals, timers and times survive exec; the process stays the same one. */
CASE(child_pending)
{
	sigset_t set;
	struct itimerval t;

	sigpending(&set);
	CHECK(sigismember(&set, SIGUSR1) == 1);
	CHECK(getpid() == atoi(argv[0]));
	getitimer(ITIMER_REAL, &t);
	CHECK(t.it_value.tv_sec > 50);
	printf("umask %o priority %d\n", umask(0), getpriority(PRIO_PROCESS, 0));
	puts("unblock");
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	puts("not reached");
}

static void exec_pending(void)
{
	char pid[20];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	alarm(100);
	umask(037);
	nice(3);
	snprintf(pid, sizeof pid, "%d", getpid());
	execl(self, self, "child_pending", pid, (char *)NULL);
}

CASE(exec_keeps)
{
	find_self();
	run_image(exec_pending);
}

/* New processes. */
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

/* A program that debugs its child. */
#include <sys/ptrace.h>
#include <sys/user.h>
CASE(may_ptrace_child)
{
	int status, child = fork();
	long calls = 0;

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
	}
	printf("%ld stops, exit %d\n", calls, WEXITSTATUS(status));
}

/* Processes that restrict their system calls, and run code that they have not run before. */
static unsigned after_restriction(unsigned n)
{
	return n < 2 ? n : after_restriction(n - 1) + after_restriction(n - 2);
}

CASE(seccomp_strict)
{
	int child = fork();

	if (!child) {
		prctl(PR_SET_SECCOMP, 1);
		if (write(1, "only write\n", 11) == 11)
			syscall(SYS_exit, after_restriction(12) & 127);
	}
	reap(child);
}

static volatile sig_atomic_t refused_call;
static void on_refused(int number, siginfo_t *info, void *context)
{
	(void)number;
	refused_call = info->si_syscall;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RAX] = (int)(-EDOM);
}

/* Of all system calls, those that are needed to say so; others are what `others` says. */
static void restrict_calls(uint32_t others)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, others),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof f / sizeof *f, f };

	EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void restricted(uint32_t others)
{
	int child = fork();

	if (!child) {
		struct sigaction a = { .sa_sigaction = on_refused,
				       .sa_flags = SA_SIGINFO | SA_ONSTACK };
		static char stack[65536];
		stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
		double product = 3;
		long result;

		sigaltstack(&alternate, NULL);
		sigaction(SIGSYS, &a, NULL);
		__asm__ volatile("" : "+x"(product)); /* vector registers are kept */
		restrict_calls(others);
		__asm__ volatile("mulsd %0, %0" : "+x"(product));
		errno = 0;
		result = syscall(SYS_getppid);
		printf("%d %d, %d refused, %g\n", result > 0, errno, (int)refused_call, product);
		syscall(SYS_exit, after_restriction(12) & 127);
	}
	reap(child);
}

CASE(seccomp_refuses)
{
	restricted(SECCOMP_RET_ERRNO | EPERM);
}

CASE(seccomp_traps)
{
	restricted(SECCOMP_RET_TRAP);
}

CASE(seccomp_kills)
{
	restricted(SECCOMP_RET_KILL_PROCESS);
}
