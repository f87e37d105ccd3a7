/* SPDX-License-Identifier: MIT */
/* Code that several threads run: new to all of them, more than a small code cache has room for, changed by one of them. */
#include "threads.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sched.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

static uint64_t results[N];
static pthread_barrier_t barrier;

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

/* One thread writes code that another runs. */
static volatile int version, ran; /* versions: written, and run */
static uint8_t *patched;
static void *run_patched(void *nothing)
{
	for (int v = 1; v <= 200; v++) {
		while (version < v)
			sched_yield();
		EQ(((int (*)(void))patched)(), v);
		__atomic_store_n(&ran, v, __ATOMIC_RELEASE);
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
		while (ran < v)
			sched_yield();
	}
	join_all(1);
}
