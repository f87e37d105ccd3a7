/* SPDX-License-Identifier: MIT */
/*
 * Threads that run at the same time: atomics, locks, thread-local storage, signals to them, timers, identifiers, CPUs.
 * Other programs about threads are threads_life.c, threads_process.c and threads_code.c.
 */
#include "threads.h"

#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <time.h>

static uint64_t results[N];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static __thread uint64_t local = 5;
static __thread char big_local[20000];

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

static sem_t timer_fired;
static void on_thread_timer(union sigval value)
{
	__atomic_add_fetch((int *)value.sival_ptr, 1, __ATOMIC_RELAXED);
	sem_post(&timer_fired);
}

CASE(timer_threads)
{
	int fired = 0;
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_thread_timer,
			       .sigev_value = { .sival_ptr = &fired } };
	struct itimerspec t = { { 0, 2000000 }, { 0, 2000000 } };
	timer_t timer;

	sem_init(&timer_fired, 0, 0);
	EQ(timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	timer_settime(timer, 0, &t, NULL);
	for (int i = 0; i < 10; i++)
		sem_wait(&timer_fired);
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
