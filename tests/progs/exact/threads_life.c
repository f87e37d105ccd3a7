/* SPDX-License-Identifier: MIT */
/* The life of a thread: how it is made, by the C library and without; how it ends, by cancellation and otherwise. */
#include "cases.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <linux/sched.h>

static __thread uint64_t local = 5;
static sem_t reached;

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

static void *quick_detached(void *number)
{
	(void)number;
	sem_post(&reached);
	return NULL;
}

CASE(detached)
{
	pthread_attr_t attr;

	sem_init(&reached, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 300; i++) {
		pthread_t t;

		while (pthread_create(&t, &attr, quick_detached, NULL))
			sched_yield();
	}
	for (int i = 0; i < 300; i++)
		while (sem_wait(&reached))
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
	sem_post(&reached);
	if (read(forever[0], &c, 1) != 1)
		cleaned[3]++;
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return nothing;
}

CASE(cancel_deferred)
{
	sem_init(&reached, 0, 0);
	EQ(pipe(forever), 0);
	for (int i = 0; i < 100; i++) {
		void *result;
		pthread_t t;

		pthread_create(&t, NULL, read_forever, NULL);
		sem_wait(&reached);
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
	sem_post(&reached);
	for (;;)
		spins++;
	pthread_cleanup_pop(0);
	return nothing;
}

CASE(cancel_asynchronous)
{
	sem_init(&reached, 0, 0);
	for (int i = 0; i < 100; i++) {
		void *result;
		pthread_t t;

		pthread_create(&t, NULL, spin_forever, NULL);
		sem_wait(&reached);
		EQ(pthread_cancel(t), 0);
		pthread_join(t, &result);
		CHECK(result == PTHREAD_CANCELED);
	}
	EQ(cleaned[2], 100);
}

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
