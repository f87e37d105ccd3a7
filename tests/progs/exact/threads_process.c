/* SPDX-License-Identifier: MIT */
/* What a thread does to a process that has others: it ends it, by exit or a signal, has children, executes another image. */
#include "threads.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile uint64_t spins;
static void *spin_forever(void *nothing)
{
	for (;;)
		spins++;
	return nothing;
}

static void at_exit(void)
{
	puts("at exit");
}

static void *exit_later(void *nothing)
{
	usleep(20000);
	puts("exit from a thread");
	exit(23);
	return nothing;
}

CASE(exit_from_thread)
{
	pthread_t t;

	atexit(at_exit);
	start_all(10, spin_forever);
	pthread_create(&t, NULL, exit_later, NULL);
	for (;;)
		pause();
}

static void *exit_group_later(void *nothing)
{
	usleep(20000);
	syscall(SYS_exit_group, 24);
	return nothing;
}

CASE(exit_group_from_thread)
{
	pthread_t t;

	start_all(10, spin_forever);
	pthread_create(&t, NULL, exit_group_later, NULL);
	for (;;)
		fib(10);
}

static void *outlive_main(void *nothing)
{
	usleep(30000);
	puts("main has ended");
	return nothing;
}

CASE(main_ends_first)
{
	pthread_t t;

	atexit(at_exit);
	pthread_create(&t, NULL, outlive_main, NULL);
	pthread_exit(NULL);
}

static void *die_here(void *nothing)
{
	usleep(20000);
	*(volatile int *volatile)nothing = 1;
	return nothing;
}

CASE(die_in_thread)
{
	pthread_t t;

	start_all(10, spin_forever);
	pthread_create(&t, NULL, die_here, NULL);
	pthread_join(t, NULL);
}

static void *kill_all(void *nothing)
{
	usleep(20000);
	kill(getpid(), SIGTERM);
	return nothing;
}

CASE(die_while_computing)
{
	pthread_t t;

	start_all(10, spin_forever);
	pthread_create(&t, NULL, kill_all, NULL);
	for (;;)
		fib(20);
}

/* A mutex whose owner was in a process that was killed. */
CASE(robust_process)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t *shared =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int child;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &attr);
	child = fork();
	if (!child) {
		pthread_mutex_lock(shared);
		raise(SIGKILL);
	}
	wait(NULL);
	EQ(pthread_mutex_lock(shared), EOWNERDEAD);
}

static void *fork_here(void *nothing)
{
	for (int i = 0; i < 30; i++) {
		int status, child = fork();

		if (!child)
			_exit((int)(fib(10) % 50));
		waitpid(child, &status, 0);
		EQ(WEXITSTATUS(status), fib(10) % 50);
	}
	return nothing;
}

CASE(fork_from_threads)
{
	start_all(4, fork_here);
	join_all(4);
}

static void *quick(void *nothing)
{
	return nothing;
}

/* Children while other threads begin: the copy of what lies lowest takes so long that one always does meanwhile. */
static volatile int children_made;
static void *begin_threads(void *nothing)
{
	while (!children_made) {
		void *result;
		pthread_t t;

		EQ(pthread_create(&t, NULL, quick, NULL), 0);
		pthread_join(t, &result);
	}
	return nothing;
}

CASE(fork_while_threads_begin)
{
	const size_t low = 1ul << 32, size = 128 << 20;
	char *memory =
		mmap((void *)low, size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	CHECK((size_t)memory == low);
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	start_all(3, begin_threads);
	for (int i = 0; i < 20; i++) {
		int status, child = fork();

		if (!child) {
			pthread_t t;

			_exit(pthread_create(&t, NULL, quick, NULL) || pthread_join(t, NULL));
		}
		waitpid(child, &status, 0);
		EQ(status, 0);
	}
	children_made = 1;
	join_all(3);
}

static void ignore(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
}

static void *change_handlers(void *nothing)
{
	struct sigaction act = { .sa_sigaction = ignore, .sa_flags = SA_SIGINFO };

	while (!children_made)
		sigaction(SIGUSR2, &act, NULL);
	return nothing;
}

CASE(fork_while_handlers_change)
{
	start_all(2, change_handlers);
	for (int i = 0; i < 100; i++) {
		int status, child = fork();

		if (!child)
			_exit(signal(SIGUSR1, SIG_DFL) == SIG_ERR);
		waitpid(child, &status, 0);
		EQ(status, 0);
	}
	children_made = 1;
	join_all(2);
}

static void *exec_here(void *path)
{
	usleep(10000);
	execl(path, path, "child_after_exec", (char *)NULL);
	return NULL;
}

CASE(child_after_exec)
{
	FILE *f = popen("ls /proc/$PPID/task | wc -l", "r");
	int n = 0;

	CHECK(f && fscanf(f, "%d", &n) == 1);
	pclose(f);
	EQ(n, 1);
	EQ(gettid(), getpid());
	puts("a new image");
}

CASE(exec_from_thread)
{
	static char path[4096];
	pthread_t t;

	CHECK(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
	printf("%s\n", strrchr(path, '/'));
	start_all(10, spin_forever);
	pthread_create(&t, NULL, exec_here, path);
	pthread_join(t, NULL);
}
