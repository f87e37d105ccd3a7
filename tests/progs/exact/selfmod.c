/* SPDX-License-Identifier: MIT */
/* Code that is written at run time: then changed, moved, unmapped, mapped twice, or changed by itself. */
#include "cases.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)
#define RX (PROT_READ | PROT_EXEC)
#define RW (PROT_READ | PROT_WRITE)

typedef int function(void);

static uint8_t *pages(size_t size, int protection)
{
	uint8_t *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* mov $value, %eax; ret */
static void write_constant(uint8_t *at, int value)
{
	uint8_t code[] = { 0xb8, 0, 0, 0, 0, 0xc3 };

	memcpy(code + 1, &value, 4);
	memcpy(at, code, sizeof code);
}

NOINLINE static int call(void *at)
{
	return ((function *)at)();
}

CASE(write_then_call)
{
	uint8_t *p = pages(4096, RWX);

	for (int i = 0; i < 5000; i++) {
		write_constant(p, i);
		EQ(call(p), i);
	}
}

/* With every signal blocked: what an instrumenter learns by faults it must learn all the same. */
CASE(write_with_all_blocked)
{
	uint8_t *p = pages(4096, RWX);
	sigset_t all, old;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < 5000; i++) {
		write_constant(p, i);
		EQ(call(p), i);
	}
	sigprocmask(SIG_SETMASK, &old, NULL);
}

CASE(change_the_immediate_only)
{
	uint8_t *p = pages(4096, RWX);

	write_constant(p, 0);
	for (int i = 0; i < 5000; i++) {
		p[1] = (uint8_t)i;
		EQ(call(p), i & 255);
	}
}

/* Code and data on one page: stores that change no code are many. */
CASE(data_beside_code)
{
	uint8_t *p = pages(4096, RWX);
	uint64_t *data = (uint64_t *)(p + 2048), sum = 0;

	write_constant(p, 3);
	for (int i = 0; i < 20000; i++) {
		data[i % 100] += (uint64_t)call(p);
		sum = mix(sum, data[i % 100]);
	}
	printf("%#llx\n", (unsigned long long)sum);
}

CASE(many_functions)
{
	enum {
		COUNT = 500
	};
	uint8_t *p = pages(COUNT * 64, RWX);
	uint64_t sum = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = round % 3; i < COUNT; i += 3)
			write_constant(p + 64 * i, i * round + 1);
		for (int i = 0; i < COUNT; i++)
			sum = p[64 * i] ? mix(sum, (uint64_t)call(p + 64 * i)) : sum;
	}
	printf("%#llx\n", (unsigned long long)sum);
}

CASE(write_xor_execute)
{
	uint8_t *p = pages(8192, RW);

	for (int i = 0; i < 500; i++) {
		mprotect(p, 4096, RW);
		write_constant(p + 100, i);
		mprotect(p, 4096, RX);
		EQ(call(p + 100), i);
	}
}

CASE(two_mappings) /* as browsers' engines have it: one to write, one to run */
{
	int fd = (int)syscall(SYS_memfd_create, "code", 0);
	uint8_t *w, *x;

	EQ(ftruncate(fd, 8192), 0);
	w = mmap(NULL, 8192, RW, MAP_SHARED, fd, 0);
	x = mmap(NULL, 8192, RX, MAP_SHARED, fd, 0);
	for (int i = 0; i < 500; i++) {
		write_constant(w + 64 * (i % 10), i);
		EQ(call(x + 64 * (i % 10)), i);
	}
}

CASE(written_through_file)
{
	int fd = (int)syscall(SYS_memfd_create, "code", 0);
	uint8_t *x;

	EQ(ftruncate(fd, 4096), 0);
	x = mmap(NULL, 4096, RX, MAP_SHARED, fd, 0);
	for (int i = 0; i < 200; i++) {
		uint8_t code[6];

		write_constant(code, i);
		EQ(pwrite(fd, code, sizeof code, 0), 6);
		EQ(call(x), i);
	}
}

CASE(read_into_code) /* a system call writes it */
{
	int ends[2];
	uint8_t *p = pages(4096, RWX);

	EQ(pipe(ends), 0);
	for (int i = 0; i < 500; i++) {
		uint8_t code[6];

		write_constant(code, i);
		EQ(write(ends[1], code, 6), 6);
		EQ(read(ends[0], p, 6), 6);
		EQ(call(p), i);
	}
}

/* More than a page of which the last one has been run: all that was asked for comes. */
CASE(read_behind_code)
{
	uint8_t *p = pages(8192, RWX), data[8192];
	struct iovec v[2] = { { p, 100 }, { p + 4096, 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	int ends[2], fd = memfd_create("data", 0);

	memset(data, 0xc3, sizeof data);
	EQ(write(fd, data, sizeof data), sizeof data);
	for (int i = 0; i < 20; i++) {
		write_constant(p + 4096, i);
		EQ(call(p + 4096), i);
		EQ(pread(fd, p, 8192, 0), 8192);
		write_constant(p + 4096, i);
		EQ(call(p + 4096), i);
		EQ(preadv(fd, v, 2, 0), 200);
		EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		EQ(write(ends[0], data, 200), 200);
		write_constant(p + 4096, i);
		EQ(call(p + 4096), i);
		EQ(recvmsg(ends[1], &m, MSG_DONTWAIT), 200);
		EQ(write(ends[0], data, 50), 50);
		write_constant(p, i);
		EQ(call(p), i);
		EQ(recv(ends[1], p, 50, MSG_DONTWAIT), 50);
		EQ(p[0], 0xc3);
		close(ends[0]);
		close(ends[1]);
	}
}

/* What the kernel tells once is not lost where code was run in the same page. */
CASE(told_beside_code)
{
	uint8_t *p = pages(8192, RWX);
	int *status = (int *)(p + 64), *tid = (int *)(p + 128), child;
	siginfo_t *info = (siginfo_t *)(p + 256);
	struct timespec second = { 1, 0 };
	sigset_t set;

	write_constant(p, 1);
	EQ(call(p), 1);
	child = fork();
	if (!child)
		_exit(4);
	EQ(waitpid(child, status, 0), child);
	EQ(*status, 4 << 8);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);
	EQ(call(p), 1);
	EQ(sigtimedwait(&set, info, &second), SIGUSR1);
	EQ(info->si_pid, getpid());
	EQ(call(p), 1);
	child = (int)syscall(SYS_clone, CLONE_CHILD_SETTID | CLONE_PARENT_SETTID | SIGCHLD, 0,
			     status, tid, 0);
	if (!child)
		_exit(*tid == getpid() ? 0 : 1);
	EQ(*status, child);
	EQ(waitpid(child, status, 0), child);
	EQ(*status, 0);
}

/* Arguments that are no addresses, at the ends of what there can be. */
CASE(odd_arguments_beside_code)
{
	static const uint64_t odd[] = { 0, 1, 1ul << 47, ~0ul, ~0ul - 4095, 1ul << 63 };
	uint8_t *p = pages(4096, RWX);

	for (unsigned i = 0; i < 6; i++)
		for (unsigned k = 0; k < 6; k++) {
			write_constant(p, 1);
			EQ(call(p), 1);
			errno = 0;
			EQ(syscall(SYS_read, -1, odd[i], odd[k], odd[i], odd[k], odd[i]), -1);
			EQ(errno, EBADF);
			EQ(syscall(SYS_getpid, odd[i], odd[k], odd[i], odd[k], odd[i], odd[k]),
			   getpid());
			EQ(syscall(SYS_recvmsg, -1, odd[i], odd[k]), -1);
			EQ(syscall(SYS_preadv, -1, odd[i], odd[k]), -1);
		}
}

static uint8_t *cleared;

static int end_beside_code(void *unused)
{
	(void)unused;
	EQ(call(cleared), 1);
	syscall(SYS_exit, 0);
	return 0;
}

/* … and where a thread ends. */
CASE(cleared_beside_code)
{
	int *tid;

	cleared = pages(4096, RWX);
	tid = (int *)(cleared + 64);
	write_constant(cleared, 1);
	CHECK(clone(end_beside_code, pages(65536, RW) + 65536,
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
		    NULL, tid, NULL, tid) > 0);
	for (int i = 0; i < 1000 && *(volatile int *)tid; i++)
		usleep(10000);
	EQ(*(volatile int *)tid, 0);
}

static void died(int number)
{
	static const char text[] = "died\n";

	(void)number;
	_exit(write(1, text, sizeof text - 1) < 0);
}

/* The heap's end goes down and up again: what was code there is zeroes. */
CASE(below_the_break)
{
	uint8_t *p = sbrk(0);

	p += -(uintptr_t)p & 4095;
	EQ(brk(p + 8192), 0);
	EQ(mprotect(p, 8192, RWX), 0);
	write_constant(p, 1);
	EQ(call(p), 1);
	EQ(mprotect(p, 8192, RX), 0);
	EQ(call(p), 1);
	EQ(brk(p), 0);
	EQ(brk(p + 8192), 0);
	EQ(p[0], 0);
	signal(SIGSEGV, died);
	call(p);
	puts("came back");
}

/* Unlike `dropped`, nothing is read or written meanwhile. */
CASE(dropped_unseen)
{
	uint8_t *p = pages(4096, RWX);

	write_constant(p, 1);
	EQ(mprotect(p, 4096, RX), 0);
	EQ(call(p), 1);
	EQ(madvise(p, 4096, MADV_DONTNEED), 0);
	signal(SIGSEGV, died);
	call(p);
	puts("came back");
}

CASE(attached)
{
	int one = shmget(IPC_PRIVATE, 4096, 0700), other = shmget(IPC_PRIVATE, 4096, 0700);
	uint8_t *p = pages(4096, RWX), *q = shmat(one, NULL, 0);

	write_constant(q, 22);
	shmdt(q);
	q = shmat(other, NULL, 0);
	write_constant(q, 33);
	shmdt(q);
	write_constant(p, 11);
	EQ(mprotect(p, 4096, RX), 0);
	EQ(call(p), 11);
	CHECK(shmat(one, p, SHM_EXEC | SHM_RDONLY | SHM_REMAP) == p);
	EQ(call(p), 22);
	EQ(shmdt(p), 0);
	CHECK(shmat(other, p, SHM_EXEC | SHM_RDONLY) == p);
	EQ(call(p), 33);
	EQ(shmdt(p), 0);
	shmctl(one, IPC_RMID, NULL);
	shmctl(other, IPC_RMID, NULL);
	signal(SIGSEGV, died);
	call(p);
	puts("came back");
}

CASE(other_code_at_the_address)
{
	uint8_t *p = pages(4096, RWX);

	for (int i = 0; i < 300; i++) {
		munmap(p, 4096);
		uint8_t *q = mmap(p, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		CHECK(q == p);
		write_constant(p, i);
		EQ(call(p), i);
	}
	for (int i = 0; i < 300; i++) { /* mapped over, without munmap */
		mmap(p, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		write_constant(p, i);
		EQ(call(p), i);
	}
}

CASE(moved)
{
	uint8_t *p = pages(4096, RWX), *hole = pages(3 * 4096, PROT_NONE);

	write_constant(p, 77);
	EQ(call(p), 77);
	for (int i = 0; i < 100; i++) {
		uint8_t *to = p == hole ? hole + 8192 : hole;

		to = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, to);
		CHECK(to != MAP_FAILED);
		p = to;
		p[1] = (uint8_t)i;
		EQ(call(p), i);
	}
}

CASE(dropped) /* MADV_DONTNEED: the page is zero again */
{
	uint8_t *p = pages(4096, RWX);

	for (int i = 0; i < 100; i++) {
		write_constant(p, i);
		EQ(call(p), i);
		madvise(p, 4096, MADV_DONTNEED);
		EQ(p[0], 0);
	}
}

static void on_segv(int number, siginfo_t *info, void *context)
{
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	CHECK((uint64_t)info->si_addr == (uint64_t)g[REG_RIP]);
	g[REG_RIP] = *(greg_t *)g[REG_RSP]; /* return */
	g[REG_RSP] += 8;
	g[REG_RAX] = -1;
}

CASE(not_executable_any_more)
{
	struct sigaction act = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	uint8_t *p = pages(4096, RWX);

	sigaction(SIGSEGV, &act, NULL);
	write_constant(p, 5);
	for (int i = 0; i < 100; i++) {
		EQ(call(p), 5);
		mprotect(p, 4096, RW);
		EQ(call(p), -1);
		mprotect(p, 4096, PROT_NONE);
		EQ(call(p), -1);
		mprotect(p, 4096, RWX);
	}
	munmap(p, 4096);
	EQ(call(p), -1);
}

/* A block that changes the instruction that follows in it. */
CASE(same_block)
{
	uint8_t *p = pages(4096, RWX);
	static const uint8_t code[] = {
		0x40, 0x88, 0x3d, 0x01, 0,
		0,    0,		   /* mov %dil, 1(%rip): the immediate of the next one */
		0xb8, 0,    0,	  0,	0, /* mov $…, %eax */
		0xc3,
	};

	memcpy(p, code, sizeof code);
	for (int i = 0; i < 1000; i++)
		EQ(((int (*)(int))p)(i), i & 255);
}

/* A loop that changes itself while it runs. */
CASE(own_loop)
{
	uint8_t *p = pages(4096, RWX);
	static const uint8_t code[] = {
		0x31, 0xc0,			    /* xor %eax, %eax */
		0xb9, 0xe8, 3,	  0,	0,	    /* mov $1000, %ecx */
		0x05, 1,    0,	  0,	0,	    /* 7: add $1, %eax */
		0xfe, 0x05, 0xf6, 0xff, 0xff, 0xff, /* incb -10(%rip): its immediate */
		0xff, 0xc9,			    /* dec %ecx */
		0x75, 0xf1,			    /* jnz 7 */
		0xc3,
	};

	memcpy(p, code, sizeof code);
	p[8] = 1;
	int sum = 0;
	for (int i = 0, v = 1; i < 1000; i++, v = (v + 1) & 255)
		sum += v;
	EQ(call(p), sum);
}

/* A patched call: as tracing and inline caches do. */
CASE(patched_call)
{
	uint8_t *p = pages(4096, RWX);

	for (int i = 0; i < 8; i++)
		write_constant(p + 256 + 16 * i, i);
	p[0] = 0xe8;
	p[5] = 0xc3;
	for (int i = 0; i < 4000; i++) {
		int32_t to = 256 + 16 * (i * 5 % 8) - 5;

		memcpy(p + 1, &to, 4);
		EQ(call(p), i * 5 % 8);
	}
}

/* A nop that becomes a jump and again a nop, many times. */
CASE(patched_nop)
{
	static const uint8_t code[] = { 0x0f, 0x1f, 0x44, 0, 0, 0xb8, 1, 0,   0,
					0,    0xc3, 0xb8, 2, 0, 0,    0, 0xc3 };
	static const uint8_t jump[] = { 0xe9, 6, 0, 0, 0 };
	uint8_t *p = pages(4096, RWX);

	memcpy(p, code, sizeof code);
	for (int i = 0; i < 2000; i++) {
		memcpy(p, i % 2 ? jump : code, 5);
		EQ(call(p), i % 2 ? 2 : 1);
	}
}

/* Code over the end of a page, one of which changes. */
CASE(over_two_pages)
{
	uint8_t *p = pages(8192, RWX);

	for (int i = 0; i < 1000; i++) {
		write_constant(p + 4096 - 3, i * 65537);
		EQ(call(p + 4096 - 3), i * 65537);
	}
	for (int i = 0; i < 256; i++) { /* its second half only */
		p[4096] = (uint8_t)i;
		uint8_t expected[4];

		memcpy(expected, p + 4096 - 2, 4);
		int v;
		memcpy(&v, expected, 4);
		EQ(call(p + 4096 - 3), v);
	}
	write_constant(p + 4096 - 3, 5); /* its second half goes */
	EQ(call(p + 4096 - 3), 5);
}

/* On the stack and the heap. */
CASE(on_the_stack)
{
	uint8_t code[64] __attribute__((aligned(64)));
	uint8_t *page = (uint8_t *)((uintptr_t)code & ~4095ul);

	EQ(mprotect(page, 4096, RWX), 0);
	for (int i = 0; i < 300; i++) {
		write_constant(code, i);
		EQ(call(code), i);
	}
}

CASE(on_the_heap)
{
	for (int i = 0; i < 300; i++) {
		uint8_t *p = aligned_alloc(4096, 4096);

		EQ(mprotect(p, 4096, RWX), 0);
		write_constant(p, i);
		EQ(call(p), i);
		mprotect(p, 4096, RW);
		free(p);
	}
}

CASE(in_data)
{
	static uint8_t code[4096] __attribute__((aligned(4096)));

	EQ(mprotect(code, 4096, RWX), 0);
	for (int i = 0; i < 300; i++) {
		write_constant(code + i, i);
		EQ(call(code + i), i);
	}
}

/* The program's own text, as debuggers and hot patches change it. */
NOINLINE static int to_patch(int x)
{
	return x + 1;
}

CASE(own_text)
{
	uint8_t *at = (uint8_t *)to_patch, *page = (uint8_t *)((uintptr_t)at & ~4095ul);
	uint8_t saved[6];

	EQ(to_patch(1), 2);
	memcpy(saved, at, 6);
	EQ(mprotect(page, 8192, RWX), 0);
	for (int i = 0; i < 100; i++) {
		write_constant(at, i);
		EQ(to_patch(1), i);
		memcpy(at, saved, 6);
		EQ(to_patch(i), i + 1);
	}
	EQ(mprotect(page, 8192, RX), 0);
	EQ(to_patch(1), 2);
}

/* A generator: code of many sizes, calls and loops in it, thrown away again and again. */
CASE(generator)
{
	uint8_t *p = pages(1 << 20, RWX);
	uint64_t seed = 1, sum = 0;

	for (int round = 0; round < 300; round++) {
		uint8_t *at = p + round % 50 * 64;
		uint8_t *start = at;

		memcpy(at, "\x48\x89\xf8\xb9\x05\x00\x00\x00",
		       8); /* mov %rdi, %rax; mov $5, %ecx */
		at += 8;
		uint8_t *loop = at;
		for (int i = 0; i < round * 3; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			switch (seed >> 61) {
			case 0:
			case 1:
			case 2:
				memcpy(at, "\x48\x05", 2);
				memcpy(at + 2, (char *)&seed + 2, 3);
				at[5] = 0;
				at += 6; /* add $…, %rax */
				break;
			case 3:
			case 4:
				memcpy(at, "\x48\xc1\xc0\x05", 4);
				at += 4; /* rol $5, %rax */
				break;
			case 5:
				memcpy(at, "\xa8\x04\x74\x03\x48\xff\xc0", 7);
				at += 7; /* test $4, %al; jz +3; inc %rax */
				break;
			default:
				memcpy(at, "\x48\x31\xf8", 3);
				at += 3; /* xor %rdi, %rax */
			}
		}
		memcpy(at, "\xff\xc9\x0f\x85", 4); /* dec %ecx; jnz loop */
		int32_t back = (int32_t)(loop - (at + 8));
		memcpy(at + 4, &back, 4);
		at[8] = 0xc3;
		sum = mix(sum, ((uint64_t(*)(uint64_t))start)(sum));
	}
	printf("%#llx\n", (unsigned long long)sum);
}

/* A page of code is given back and used for data, and the reverse. */
CASE(code_then_data)
{
	uint8_t *p = pages(4096, RWX);
	uint64_t sum = 0;

	for (int i = 0; i < 200; i++) {
		write_constant(p, i);
		EQ(call(p), i);
		for (int j = 0; j < 4096; j++)
			p[j] = (uint8_t)(i + j);
		for (int j = 0; j < 4096; j++)
			sum = mix(sum, p[j]);
	}
	printf("%#llx\n", (unsigned long long)sum);
}

/* Written by a child through a shared mapping. */
CASE(written_by_child)
{
	uint8_t *p = mmap(NULL, 4096, RWX, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 30; i++) {
		write_constant(p, i);
		EQ(call(p), i);
		if (!fork()) {
			p[1] = (uint8_t)(i + 100);
			_exit(0);
		}
		wait(NULL);
		EQ(call(p), i + 100);
	}
}

/* One thread puts jumps in the place of no-ops, as just-in-time compilers do to have a function's new code run, and
 * writes beside it before that. The others run the functions all the time, and the new code once they are told. */
enum {
	PATCH_PAGES = 150,
	PATCH_EACH = 14, /* of a page: each is written twice */
	PATCH_SLOT = 128,
	PATCH_RUNNERS = 2
};

static struct {
	uint8_t *code;
	int page;  /* being changed; PATCH_PAGES: all are */
	int ready; /* functions of it that have been */
	uint64_t calls, wrong;
} patch;

static uint8_t *patch_slot(int page, int i)
{
	return patch.code + 4096 * page + PATCH_SLOT * i;
}

static void *run_patched(void *unused)
{
	uint64_t calls = 0, wrong = 0;
	unsigned a, b, c, d;

	(void)unused;
	for (;;) {
		int page = __atomic_load_n(&patch.page, __ATOMIC_ACQUIRE);
		int ready = __atomic_load_n(&patch.ready, __ATOMIC_ACQUIRE);

		if (page == PATCH_PAGES)
			break;
		if (page != __atomic_load_n(&patch.page, __ATOMIC_ACQUIRE))
			continue;
		__asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
		for (int i = ready ? ready - 1 : 0; i < PATCH_EACH && i <= ready; i++) {
			int value = call(patch_slot(page, i));

			calls++;
			wrong += value != i + 1000 && (i < ready || value != i);
		}
	}
	__atomic_fetch_add(&patch.calls, calls, __ATOMIC_RELAXED);
	__atomic_fetch_add(&patch.wrong, wrong, __ATOMIC_RELAXED);
	return NULL;
}

/* nopl 0(%rax,%rax); mov $value, %eax; ret; and, 64 bytes on, what is to take its place */
static void write_patchable(uint8_t *at, int value)
{
	memcpy(at, "\x0f\x1f\x44\0", 5);
	write_constant(at + 5, value);
	write_constant(at + 64, value + 1000);
}

static void patch_function(uint8_t *at, unsigned wait)
{
	uint64_t word;

	memcpy(&word, at, 8);
	at[32] = 1;
	for (volatile unsigned i = 0; i < wait; i++)
		;
	/* jmp 64 bytes on */
	__atomic_store_n((uint64_t *)at, (word & ~0xffffffffffull) | (64ull - 5) << 8 | 0xe9,
			 __ATOMIC_RELEASE);
}

CASE(patched_under_threads)
{
	pthread_t t[PATCH_RUNNERS];
	struct timespec nap = { 0, 20000 };
	unsigned seed = 1;

	patch.code = pages(PATCH_PAGES * 4096, RWX);
	for (int page = 0; page < PATCH_PAGES; page++)
		for (int i = 0; i < PATCH_EACH; i++)
			write_patchable(patch_slot(page, i), i);
	for (int i = 0; i < PATCH_RUNNERS; i++)
		EQ(pthread_create(&t[i], NULL, run_patched, NULL), 0);
	while (patch.page < PATCH_PAGES) {
		for (int i = 0; i < PATCH_EACH; i++) {
			seed = seed * 1664525 + 1013904223;
			patch_function(patch_slot(patch.page, i), seed >> 16 & 8191);
			__atomic_store_n(&patch.ready, i + 1, __ATOMIC_RELEASE);
			nanosleep(&nap, NULL);
		}
		__atomic_store_n(&patch.ready, 0, __ATOMIC_RELEASE);
		__atomic_store_n(&patch.page, patch.page + 1, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < PATCH_RUNNERS; i++)
		pthread_join(t[i], NULL);
	CHECK(patch.calls > 0);
	EQ(patch.wrong, 0);
}

#if !defined FORM_static && !defined FORM_static_pie
/* Libraries that come and go, at the same address. */
CASE(libraries)
{
	char path[4096], *slash;
	uint64_t sum = 0;
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 20);

	path[n] = 0;
	slash = strrchr(path, '/');
	for (int i = 0; i < 200; i++) {
		strcpy(slash, i % 2 ? "/plugin-b.so" : "/plugin-a.so");
		if (access(path, F_OK)) /* this is another form, in a folder of its own */
			strcpy(slash, i % 2 ? "/../plugin-b.so" : "/../plugin-a.so");
		void *library = dlopen(path, i % 3 ? RTLD_NOW : RTLD_LAZY);
		uint64_t (*f)(uint64_t);

		if (!library) {
			printf("BAD %s\n", dlerror());
			return;
		}
		*(void **)&f = dlsym(library, "plugin");
		sum = mix(sum, f((uint64_t)i));
		dlclose(library);
	}
	printf("%#llx\n", (unsigned long long)sum);
}
#endif
