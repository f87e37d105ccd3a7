/* SPDX-License-Identifier: MIT */
/* Threads: many at once, their ends, cancellation, atomics, thread-local storage, signals to them. */
#include "cases.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#define N 64
static pthread_t threads[N];
static uint64_t results[N];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static __thread uint64_t local = 5;
static __thread char big_local[20000];

static void start_all(int n, void *(*f)(void *))
{
	for (int i = 0; i < n; i++)
		EQ(pthread_create(&threads[i], NULL, f, (void *)(intptr_t)i), 0);
}

static void join_all(int n)
{
	for (int i = 0; i < n; i++)
		EQ(pthread_join(threads[i], NULL), 0);
}

NOINLINE static uint64_t fib(uint64_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *compute(void *number)
{
	uint64_t i = (uint64_t)(intptr_t)number, h = i;
	char text[100];

	pthread_barrier_wait(&barrier);
	for (int round = 0; round < 200; round++) {
		h = mix(h, fib(round % 15));
		snprintf(text, sizeof text, "%d %g", round, (double)h / 3);
		h = mix(h, strlen(text));
		local += h & 7;
		big_local[round] = (char)local;
	}
	results[i] = mix(h, local) + (uint64_t)big_local[199];
	return NULL;
}

CASE(sixty_four)
{
	uint64_t h = 0;

	pthread_barrier_init(&barrier, NULL, N);
	start_all(N, compute);
	join_all(N);
	for (int i = 0; i < N; i++)
		h = mix(h, results[i]);
	EQ(local, 5);
	printf("%#llx\n", (unsigned long long)h);
}

/* Code that no thread has run yet, by all at the same moment. */
static uint8_t *fresh_code;
static void *run_fresh(void *number)
{
	uint64_t sum = 0;

	(void)number;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 3; i++)
		for (int f = 0; f < 2000; f++)
			sum += ((uint64_t(*)(uint64_t))(fresh_code + 16 * f))((uint64_t)f);
	__atomic_add_fetch(&results[0], sum, __ATOMIC_RELAXED);
	return NULL;
}

CASE(same_new_code)
{
	enum {
		FUNCTIONS = 2000
	};

	fresh_code = mmap(NULL, 16 * FUNCTIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	for (int f = 0; f < FUNCTIONS; f++) {
		uint8_t code[] = { 0x48, 0x8d, 0x87, 0,	   0,	 0,    0,    0xa8,
				   1,	 0x74, 1,    0xc3, 0x48, 0xff, 0xc0, 0xc3 };

		memcpy(code + 3, &f,
		       4); /* lea f(%rdi), %rax; test $1, %al; je +1; ret; inc %rax; ret */
		memcpy(fresh_code + 16 * f, code, 16);
	}
	mprotect(fresh_code, 16 * FUNCTIONS, PROT_READ | PROT_EXEC);
	pthread_barrier_init(&barrier, NULL, 16);
	start_all(16, run_fresh);
	join_all(16);
	printf("%llu\n", (unsigned long long)results[0]);
}

/* Runs code that nothing has run yet, begins the next one, and goes on. */
static void *begin_next(void *number)
{
	int i = (int)(intptr_t)number;
	uint64_t h = 0;

	for (int k = 0; k < 8; k++) {
		h = mix(h, fib(19) + ((uint32_t(*)(uint64_t))(fresh_code + 256 * i + 32 * k))(7));
		if (k == 2 && i + 1 < N)
			EQ(pthread_create(&threads[i + 1], NULL, begin_next,
					  (void *)(intptr_t)(i + 1)),
			   0);
	}
	results[i] = h;
	if (i + 1 < N)
		EQ(pthread_join(threads[i + 1], NULL), 0);
	return NULL;
}

CASE(new_code_and_threads)
{
	const uint8_t code[] = { 0x8d, 0x47, 0, 0xc3 }; /* lea i(%rdi), %eax; ret */
	uint64_t h = 0;

	fresh_code =
		mmap(NULL, 256 * N, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 8 * N; i++) {
		memcpy(fresh_code + 32 * i, code, sizeof(code));
		fresh_code[32 * i + 2] = (uint8_t)i;
	}
	mprotect(fresh_code, 256 * N, PROT_READ | PROT_EXEC);
	begin_next(0);
	for (int i = 0; i < N; i++)
		h = mix(h, results[i]);
	printf("%#llx\n", (unsigned long long)h);
}

/* A thread that comes out of its loop only when all that code has run: what a small code cache has no room for. */
static volatile int code_has_run;
static void *wait_in_a_loop(void *nothing)
{
	while (!code_has_run)
		fib(3);
	return nothing;
}

static void run_much_code(void)
{
	enum {
		FUNCTIONS = 4000
	};
	uint64_t sum = 0;

	fresh_code = mmap(NULL, 16 * FUNCTIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	for (int f = 0; f < FUNCTIONS; f++) {
		uint8_t code[] = { 0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3 };

		memcpy(code + 3, &f, 4); /* lea f(%rdi), %rax; ret */
		memcpy(fresh_code + 16 * f, code, sizeof(code));
	}
	mprotect(fresh_code, 16 * FUNCTIONS, PROT_READ | PROT_EXEC);
	start_all(3, wait_in_a_loop);
	for (int f = 0; f < FUNCTIONS; f++)
		sum += ((uint64_t(*)(uint64_t))(fresh_code + 16 * f))(1);
	code_has_run = 1;
	join_all(3);
	printf("%llu\n", (unsigned long long)sum);
}

CASE(much_code_beside_loops)
{
	run_much_code();
}

/* A process that may have no signal queued. */
CASE(much_code_without_queue)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_SIGPENDING, &none);
	run_much_code();
}

/* One thread may not send a signal to another. */
CASE(much_code_without_tkill)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tkill, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(filter) / sizeof(filter[0]), filter };
	pthread_t t;

	pthread_create(&t, NULL, wait_in_a_loop,
		       NULL); /* the engine leaves a process of one thread */
	EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p), 0);
	run_much_code();
	pthread_join(t, NULL);
}

static uint64_t counter, locked_counter, exchange_sum;
static unsigned __int128 wide __attribute__((aligned(16)));

static void *count(void *number)
{
	uint64_t one = 1;

	(void)number;
	for (int i = 0; i < 20000; i++) {
		__asm__ volatile("lock incq %0" : "+m"(counter));
		__asm__ volatile("lock xaddq %1, %0" : "+m"(exchange_sum), "+r"(one) : : "memory");
		one = 1;
		pthread_mutex_lock(&mutex);
		locked_counter++;
		pthread_mutex_unlock(&mutex);
		unsigned __int128 old = wide, next;
		uint64_t low, high;
		uint8_t done;

		do {
			low = (uint64_t)old;
			high = (uint64_t)(old >> 64);
			next = old + 3 + ((unsigned __int128)1 << 64);
			__asm__ volatile("lock cmpxchg16b %1\n\tsete %0"
					 : "=q"(done), "+m"(wide), "+a"(low), "+d"(high)
					 : "b"((uint64_t)next), "c"((uint64_t)(next >> 64))
					 : "cc", "memory");
			old = ((unsigned __int128)high << 64) | low;
		} while (!done);
	}
	return NULL;
}

CASE(atomics)
{
	start_all(8, count);
	join_all(8);
	EQ(counter, 160000);
	EQ(locked_counter, 160000);
	EQ(exchange_sum, 160000);
	EQ((uint64_t)wide, 480000);
	EQ((uint64_t)(wide >> 64), 160000);
}

static int turn;
static void *ping(void *number)
{
	for (int i = 0; i < 300; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != (int)(intptr_t)number)
			pthread_cond_wait(&cond, &mutex);
		locked_counter = mix(locked_counter, (uint64_t)turn);
		turn = (turn + 1) % 5;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

CASE(condition)
{
	start_all(5, ping);
	join_all(5);
	printf("%#llx\n", (unsigned long long)locked_counter);
}

static void *quick(void *number)
{
	local += (uint64_t)(intptr_t)number;
	return (void *)(intptr_t)local;
}

CASE(two_thousand_in_turn)
{
	uint64_t h = 0;

	for (int i = 0; i < 2000; i++) {
		void *result;
		pthread_t t;

		EQ(pthread_create(&t, NULL, quick, (void *)(intptr_t)i), 0);
		pthread_join(t, &result);
		h = mix(h, (uint64_t)result);
	}
	printf("%#llx\n", (unsigned long long)h);
}

static sem_t ended;
static void *quick_detached(void *number)
{
	(void)number;
	sem_post(&ended);
	return NULL;
}

CASE(detached)
{
	pthread_attr_t attr;

	sem_init(&ended, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 300; i++) {
		pthread_t t;

		while (pthread_create(&t, &attr, quick_detached, NULL))
			sched_yield();
	}
	for (int i = 0; i < 300; i++)
		while (sem_wait(&ended))
			;
}

/* The smallest stack there may be, and one that the program made. */
CASE(small_stacks)
{
	pthread_attr_t attr;
	static char own[65536] __attribute__((aligned(4096)));
	void *result;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN + 24576);
	for (int i = 0; i < 50; i++) {
		EQ(pthread_create(&t, &attr, quick, (void *)(intptr_t)i), 0);
		pthread_join(t, &result);
		EQ(result, i + 5);
	}
	pthread_attr_setstack(&attr, own, sizeof own);
	EQ(pthread_create(&t, &attr, quick, (void *)7), 0);
	pthread_join(t, &result);
	EQ(result, 12);
}

/* Cancellation. */
static int cleaned[4];
static void clean(void *which)
{
	cleaned[(intptr_t)which]++;
}

static int forever[2];
static void *read_forever(void *nothing)
{
	char c;

	pthread_cleanup_push(clean, (void *)0);
	pthread_cleanup_push(clean, (void *)1);
	sem_post(&ended);
	if (read(forever[0], &c, 1) != 1)
		cleaned[3]++;
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return nothing;
}

CASE(cancel_deferred)
{
	sem_init(&ended, 0, 0);
	EQ(pipe(forever), 0);
	for (int i = 0; i < 100; i++) {
		void *result;
		pthread_t t;

		pthread_create(&t, NULL, read_forever, NULL);
		sem_wait(&ended);
		if (i % 2)
			usleep(500);
		EQ(pthread_cancel(t), 0);
		pthread_join(t, &result);
		CHECK(result == PTHREAD_CANCELED);
	}
	EQ(cleaned[0], 100);
	EQ(cleaned[1], 100);
	EQ(cleaned[3], 0);
}

static volatile uint64_t spins;
static void *spin_forever(void *nothing)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	pthread_cleanup_push(clean, (void *)2);
	sem_post(&ended);
	for (;;)
		spins++;
	pthread_cleanup_pop(0);
	return nothing;
}

CASE(cancel_asynchronous)
{
	sem_init(&ended, 0, 0);
	for (int i = 0; i < 100; i++) {
		void *result;
		pthread_t t;

		pthread_create(&t, NULL, spin_forever, NULL);
		sem_wait(&ended);
		EQ(pthread_cancel(t), 0);
		pthread_join(t, &result);
		CHECK(result == PTHREAD_CANCELED);
	}
	EQ(cleaned[2], 100);
}

/* Ends. */
static pthread_key_t keys[3];
static void destroyed(void *value)
{
	printf("destroyed %d\n", (int)(intptr_t)value);
}

static void *with_keys(void *number)
{
	for (int i = 0; i < 3; i++)
		pthread_setspecific(keys[i], (void *)((intptr_t)number * 10 + i + 1));
	pthread_exit((void *)99);
}

CASE(destructors)
{
	void *result;
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_key_create(&keys[i], destroyed);
	for (int i = 1; i < 4; i++) {
		pthread_create(&t, NULL, with_keys, (void *)(intptr_t)i);
		pthread_join(t, &result);
		EQ(result, 99);
	}
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

/* A mutex whose owner is gone. */
static pthread_mutex_t robust;
static void *leave_locked(void *nothing)
{
	pthread_mutex_lock(&robust);
	return nothing;
}

CASE(robust_mutex)
{
	pthread_mutexattr_t attr;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attr);
	for (int i = 0; i < 20; i++) {
		pthread_create(&t, NULL, leave_locked, NULL);
		pthread_join(t, NULL);
		EQ(pthread_mutex_lock(&robust), EOWNERDEAD);
		EQ(pthread_mutex_consistent(&robust), 0);
		pthread_mutex_unlock(&robust);
	}
}

/* And in a process that was killed. */
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

/* Signals to threads. */
static volatile int got[N];
static __thread int my_number = -1;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	if (my_number >= 0)
		got[my_number]++;
	CHECK(info->si_pid == getpid());
}

static void *wait_for_signals(void *number)
{
	uint64_t h = 0;

	my_number = (int)(intptr_t)number;
	pthread_barrier_wait(&barrier);
	while (got[my_number] < 15)
		if (my_number % 3 == 0)
			usleep(1000);
		else if (my_number % 3 == 1)
			h = mix(h, fib(8));
		else
			sched_yield();
	results[my_number] = h != 0;
	return NULL;
}

CASE(signals_to_each)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &act, NULL);
	pthread_barrier_init(&barrier, NULL, 13);
	start_all(12, wait_for_signals);
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 15; i++)
		for (int t = 0; t < 12; t++) {
			int before = got[t];

			EQ(pthread_kill(threads[t], SIGUSR1), 0);
			while (got[t] == before)
				sched_yield();
		}
	join_all(12);
	for (int t = 0; t < 12; t++)
		EQ(got[t], 15);
}

static void *faulting(void *number)
{
	(void)number;
	for (int i = 0; i < 300; i++)
		__asm__ volatile("ud2");
	return NULL;
}

static volatile int n_faults;
static void on_ill(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	__atomic_add_fetch(&n_faults, 1, __ATOMIC_RELAXED);
	((ucontext_t *)context)->uc_mcontext.gregs[16] += 2; /* rip */
}

CASE(faults_in_all)
{
	struct sigaction act = { .sa_sigaction = on_ill, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &act, NULL);
	start_all(16, faulting);
	join_all(16);
	EQ(n_faults, 16 * 300);
}

/* Timers and threads that come and go at the same time. */
static volatile int ticks;
static void on_tick(int number)
{
	(void)number;
	ticks++;
}

CASE(create_in_storm)
{
	struct itimerspec t = { { 0, 200000 }, { 0, 200000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	timer_t timer;

	sigaction(SIGALRM, &act, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	timer_settime(timer, 0, &t, NULL);
	for (int round = 0; round < 30; round++) {
		pthread_barrier_init(&barrier, NULL, 10);
		start_all(10, compute);
		join_all(10);
	}
	timer_delete(timer);
	CHECK(ticks > 0);
}

static void on_thread_timer(union sigval value)
{
	__atomic_add_fetch((int *)value.sival_ptr, 1, __ATOMIC_RELAXED);
	sem_post(&ended);
}

CASE(timer_threads)
{
	int fired = 0;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_thread_timer,
			       .sigev_value = { .sival_ptr = &fired } };
	struct itimerspec t = { { 0, 2000000 }, { 0, 2000000 } };
	timer_t timer;

	sem_init(&ended, 0, 0);
	EQ(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	timer_settime(timer, 0, &t, NULL);
	for (int i = 0; i < 10; i++)
		sem_wait(&ended);
	timer_delete(timer);
	CHECK(fired >= 10);
}

/* Identifiers. */
static void *identify(void *number)
{
	char name[32], path[64], line[64] = "";
	FILE *f;

	snprintf(name, sizeof name, "thread-%d", (int)(intptr_t)number);
	EQ(pthread_setname_np(pthread_self(), name), 0);
	snprintf(path, sizeof path, "/proc/self/task/%d/comm", gettid());
	f = fopen(path, "r");
	if (f && fgets(line, sizeof line, f))
		line[strcspn(line, "\n")] = 0;
	CHECK(!strcmp(line, name));
	if (f)
		fclose(f);
	CHECK(gettid() != getpid());
	return NULL;
}

CASE(identifiers)
{
	EQ(gettid(), getpid());
	start_all(8, identify);
	join_all(8);
}

/* Threads that no library knows of. */
static volatile int raw_done, raw_tid;
static int raw(void *argument)
{
	raw_done = *(int *)argument + 1;
	return 0;
}

CASE(clone_without_tls)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int argument = 41;

	raw_tid = 1;
	CHECK(clone(raw, stack + 65536,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		    &argument, &raw_tid, NULL, &raw_tid) > 0);
	while (raw_tid)
		syscall(SYS_futex, &raw_tid, 0, raw_tid, NULL, NULL, 0);
	EQ(raw_done, 42);
}

/* clone3 with a stack, as libraries call it: the child runs at the next instruction, on the new stack. */
CASE(clone3_thread)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct clone_args args = { .flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
					    CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
					    CLONE_CHILD_CLEARTID,
				   .stack = (uint64_t)stack,
				   .stack_size = 65536,
				   .parent_tid = (uint64_t)&raw_tid,
				   .child_tid = (uint64_t)&raw_tid };
	long r;

	__asm__ volatile("mov $0x1234567, %%r12\n\t"
			 "syscall\n\t"
			 "test %%eax, %%eax\n\tjnz 1f\n\t"
			 "lea -65536(%%rsp), %%rax\n\tcmp %%rax, %[stack]\n\tjne 2f\n\t"
			 "cmp $0x1234567, %%r12\n\tjne 2f\n\t"
			 "movl $77, (%[done])\n"
			 "2:\tmov $60, %%eax\n\txor %%edi, %%edi\n\tsyscall\n\tud2\n"
			 "1:"
			 : "=a"(r)
			 : "a"(SYS_clone3), "D"(&args),
			   "S"(sizeof args), [done] "d"(&raw_done), [stack] "b"(stack)
			 : "rcx", "r11", "r12", "memory", "cc");
	CHECK(r > 0);
	while (raw_tid)
		syscall(SYS_futex, &raw_tid, 0, raw_tid, NULL, NULL, 0);
	EQ(raw_done, 77);
}

/* Restartable sequences: if the library registered one, it must work; glibc says so by its size. */
struct per_cpu {
	uint64_t value;
	char pad[56];
};
static struct per_cpu per_cpu[256];

static void rseq_increment(void)
{
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

	__asm__ volatile goto(
		".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n3:\t.long 0, 0\n\t.quad 1f, 2f - "
		"1f, 4f\n\t.popsection\n\t"
		"5:\tlea 3b(%%rip), %%rax\n\tmov %%rax, %c[cs](%[rs])\n"
		"1:\tmovl %c[cpu](%[rs]), %%eax\n\tshl $6, %%rax\n\t"
		"mov (%[base],%%rax), %%rcx\n\tinc %%rcx\n\tmov %%rcx, (%[base],%%rax)\n"
		"2:\tjmp %l[done]\n\t"
		".long 0x53053053\n4:\tjmp 5b"
		:
		: [rs] "r"(rs), [base] "r"(per_cpu), [cs] "i"(offsetof(struct rseq, rseq_cs)),
		  [cpu] "i"(offsetof(struct rseq, cpu_id))
		: "rax", "rcx", "memory", "cc"
		: done);
done:
	return;
}

static void *rseq_count(void *nothing)
{
	for (int i = 0; i < 1000000; i++)
		rseq_increment();
	return nothing;
}

CASE(rseq)
{
	uint64_t sum = 0;

	if (__rseq_size == 0) {
		puts("4000000 increments");
		return;
	}
	start_all(4, rseq_count);
	join_all(4);
	for (int i = 0; i < 256; i++)
		sum += per_cpu[i].value;
	printf("%llu increments\n", (unsigned long long)sum);
}

CASE(getcpu)
{
	cpu_set_t set;
	unsigned cpu;
	int n = 0;

	sched_getaffinity(0, sizeof set, &set);
	for (int i = 0; i < CPU_SETSIZE && n < 4; i++) {
		cpu_set_t one;

		if (!CPU_ISSET(i, &set))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		sched_setaffinity(0, sizeof one, &one);
		EQ(sched_getcpu(), i);
		syscall(SYS_getcpu, &cpu, NULL, NULL);
		EQ(cpu, i);
		n++;
	}
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

static void *change_handlers(void *nothing)
{
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

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

/* Spinning on what another thread must write: no thread may hold up the others. */
static volatile int flags[4];
static void *relay(void *number)
{
	int i = (int)(intptr_t)number;

	for (int round = 1; round <= 300; round++) {
		while (flags[i] < round)
			sched_yield();
		flags[(i + 1) % 4] = i == 3 ? round + 1 : round;
	}
	return NULL;
}

CASE(spin_relay)
{
	flags[0] = 1;
	start_all(4, relay);
	join_all(4);
	EQ(flags[0], 301);
}

/* One thread writes code that another runs. */
static volatile int version;
static uint8_t *patched;
static void *run_patched(void *nothing)
{
	for (int v = 1; v <= 200; v++) {
		while (version < v)
			sched_yield();
		EQ(((int (*)(void))patched)(), v);
		__atomic_store_n(&flags[0], v, __ATOMIC_RELEASE);
	}
	return nothing;
}

CASE(cross_modifying)
{
	patched = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	start_all(1, run_patched);
	for (int v = 1; v <= 200; v++) {
		uint8_t code[] = { 0xb8, 0, 0, 0, 0, 0xc3 };

		memcpy(code + 1, &v, 4);
		memcpy(patched, code, sizeof code);
		__atomic_store_n(&version, v, __ATOMIC_RELEASE);
		while (flags[0] < v)
			sched_yield();
	}
	join_all(1);
}
