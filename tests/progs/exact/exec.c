/* SPDX-License-Identifier: MIT */
/*
 * exec: what the new image finds, and what is refused. Works in a folder of its own below $TMPDIR or /tmp.
 */
#include "cases.h"
#include "children.h"
#include "images.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

static char folder[PATH_MAX];

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

static void write_file(const char *name, const char *text, int mode)
{
	int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, mode);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	fchmod(fd, (mode_t)mode);
	close(fd);
}

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
