/* SPDX-License-Identifier: MIT */
/*
 * Restartable sequences: what interrupts one sends it to its abort handler, so that what it commits is as if nothing
 * had come between. Each case counts what is committed in two ways, of which one would miss what was lost.
 */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "cases.h"

#define THREADS 4
#define SLOTS 256 /* as many CPUs at most */
#define WAIT 300  /* rounds of a section's loop: it is mostly this that is interrupted */

struct slot {
	uint64_t n, *journal, pad[14];
};
_Static_assert(sizeof(struct slot) == 1 << 7, "the sections'");

static struct slot slots[SLOTS];
static struct rseq own __attribute__((aligned(32)));
static struct rseq *own_area; /* NULL: the C library's */

static struct rseq *area(void)
{
	return own_area ? own_area
			: (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* The header has had it as a number and as a union. */
static uint64_t *section_of(struct rseq *rs)
{
	return (uint64_t *)((char *)rs + 8);
}

/* Label 9 describes the section from 1 to 2, whose handler is 4; it goes to the C label `again`. */
#define SECTION \
	".pushsection __rseq_cs, \"aw\"\n\t" \
	".balign 32\n" \
	"9:\t.long 0, 0\n\t" \
	".quad 1f, 2f - 1f, 4f\n\t" \
	".popsection\n\t" \
	".pushsection .text.unlikely, \"ax\"\n\t" \
	".byte 0x0f, 0xb9, 0x3d\n\t" \
	".long 0x53053053\n" \
	"4:\tjmp %l[again]\n\t" \
	".popsection\n\t" \
	"leaq 9b(%%rip), %%rax\n\t" \
	"movq %%rax, 8(%[rs])\n" \
	"1:\t"

/* Counts on this CPU: 1 if it was interrupted before it could. */
NOINLINE static int count(const struct rseq *rs, uint64_t wait)
{
	__asm__ goto(SECTION "movl 4(%[rs]), %%eax\n\t"
			     "shlq $7, %%rax\n\t"
			     "movq (%[slots],%%rax), %%rcx\n\t"
			     "movq %[wait], %%rdx\n"
			     "5:\tdecq %%rdx\n\t"
			     "jnz 5b\n\t"
			     "addq $1, %%rcx\n\t"
			     "movq %%rcx, (%[slots],%%rax)\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [slots] "r"(slots), [wait] "r"(wait)
		     : "rax", "rcx", "rdx", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

/* Appends to this CPU's journal: writes the value first, where nobody looks, and commits by the count. What was
 * interrupted must not write its value over another one's that is there by then. */
NOINLINE static int append(const struct rseq *rs, uint64_t v, uint64_t wait)
{
	__asm__ goto(SECTION "movl 4(%[rs]), %%eax\n\t"
			     "shlq $7, %%rax\n\t"
			     "addq %[slots], %%rax\n\t"
			     "movq (%%rax), %%rcx\n\t"
			     "movq 8(%%rax), %%rdx\n\t"
			     "movq %[wait], %%r8\n"
			     "5:\tdecq %%r8\n\t"
			     "jnz 5b\n\t"
			     "movq %[v], (%%rdx,%%rcx,8)\n\t"
			     "addq $1, %%rcx\n\t"
			     "movq %%rcx, (%%rax)\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [slots] "r"(slots), [wait] "r"(wait), [v] "r"(v)
		     : "rax", "rcx", "rdx", "r8", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

static volatile uint64_t signals, committed, aborted;

static uint64_t total(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < SLOTS; i++)
		sum += slots[i].n;
	return sum;
}

static void on_count(int sig)
{
	(void)sig;
	while (count(area(), 1))
		;
	signals++;
}

static void every(int us, void (*handler)(int))
{
	struct itimerval t = { { 0, us }, { 0, us } };

	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void stop(void)
{
	struct itimerval t = { 0 };

	setitimer(ITIMER_REAL, &t, NULL);
}

/* Counts until so many signals have come, each of which counts as well, in the midst of it. */
static void count_under_signals(unsigned n)
{
	every(500, on_count);
	while (signals < n)
		if (count(area(), WAIT))
			aborted++;
		else
			committed++;
	stop();
	CHECK(aborted > 0);
	EQ(total(), committed + signals);
}

CASE(signals)
{
	count_under_signals(100);
}

static volatile int go_on = 1;

struct worker {
	pthread_t thread;
	pid_t tid;
	uint64_t value, n;
};

static void *counting(void *arg)
{
	struct worker *w = arg;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (go_on)
		w->n += !count(area(), WAIT);
	return NULL;
}

static void *appending(void *arg)
{
	struct worker *w = arg;

	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (go_on)
		w->n += !append(area(), w->value, 10 * WAIT);
	return NULL;
}

/* Four threads work on the CPUs that they are moved between. */
static void work_moved(void *(*work)(void *), struct worker *w)
{
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < THREADS; i++) {
		w[i].value = 1ull << 16 * i;
		pthread_create(&w[i].thread, NULL, work, &w[i]);
	}
	for (int i = 0; i < THREADS; i++)
		while (!__atomic_load_n(&w[i].tid, __ATOMIC_ACQUIRE))
			usleep(100);
	for (int i = 0; i < 400; i++) {
		do
			cpu = (cpu + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(cpu, &all));
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(w[i * 7 % THREADS].tid, sizeof(one), &one);
		usleep(200);
	}
	go_on = 0;
	for (int i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
}

CASE(moved_between_cpus)
{
	struct worker w[THREADS] = { 0 };
	uint64_t sum = 0;

	work_moved(counting, w);
	for (int i = 0; i < THREADS; i++)
		sum += w[i].n;
	EQ(total(), sum);
}

#define JOURNAL (1ul << 30) /* of which little is written */

/* Of each commit the value is there, whichever came between. */
CASE(stores_before_the_commit)
{
	struct worker w[THREADS] = { 0 };
	uint64_t sum = 0, given = 0;

	for (int i = 0; i < SLOTS; i++)
		slots[i].journal = mmap(NULL, JOURNAL, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	work_moved(appending, w);
	for (int i = 0; i < THREADS; i++)
		given += w[i].n * w[i].value;
	for (int i = 0; i < SLOTS; i++)
		for (uint64_t k = 0; k < slots[i].n; k++)
			sum += slots[i].journal[k];
	EQ(sum, given);
}

/* Around and around, with a store in each round; all registers are as they were when it is left, by way of the handler.
 * `out` gets them. */
NOINLINE static void turn(struct rseq *rs, uint64_t *out, volatile uint64_t *scratch)
{
	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t"
			 ".balign 32\n"
			 "9:\t.long 0, 0\n\t"
			 ".quad 1f, 2f - 1f, 4f\n\t"
			 ".popsection\n\t"
			 "pushq %%rbp\n\t"
			 "pushq %%rdi\n\t"
			 "leaq 9b(%%rip), %%rax\n\t"
			 "movl $0xa0, %%ecx\n\t"
			 "movl $0xb0, %%ebx\n\t"
			 "movl $0xc0, %%ebp\n\t"
			 "movl $0xd0, %%r8d\n\t"
			 "movl $0xe0, %%r9d\n\t"
			 "movl $0xf0, %%r10d\n\t"
			 "movl $0x100, %%r11d\n\t"
			 "movl $0x110, %%r12d\n\t"
			 "movl $0x120, %%r13d\n\t"
			 "movl $0x130, %%r14d\n\t"
			 "movl $0x140, %%r15d\n\t"
			 "movq %%rax, 8(%%rsi)\n"
			 "1:\tmovq %%rax, (%%rdx)\n\t"
			 "addq %%rcx, 8(%%rdx)\n\t"
			 "jmp 1b\n"
			 "2:\tud2\n\t"
			 ".byte 0x0f, 0xb9, 0x3d\n\t"
			 ".long 0x53053053\n"
			 "4:\txchgq %%rdi, (%%rsp)\n\t"
			 "movq %%rax, (%%rdi)\n\t"
			 "movq %%rcx, 8(%%rdi)\n\t"
			 "movq %%rbx, 16(%%rdi)\n\t"
			 "movq %%rbp, 24(%%rdi)\n\t"
			 "movq %%r8, 32(%%rdi)\n\t"
			 "movq %%r9, 40(%%rdi)\n\t"
			 "movq %%r10, 48(%%rdi)\n\t"
			 "movq %%r11, 56(%%rdi)\n\t"
			 "movq %%r12, 64(%%rdi)\n\t"
			 "movq %%r13, 72(%%rdi)\n\t"
			 "movq %%r14, 80(%%rdi)\n\t"
			 "movq %%r15, 88(%%rdi)\n\t"
			 "movq %%rsi, 96(%%rdi)\n\t"
			 "movq %%rdx, 104(%%rdi)\n\t"
			 "popq %%rax\n\t"
			 "movq %%rax, 112(%%rdi)\n\t"
			 "leaq 9b(%%rip), %%rax\n\t"
			 "movq %%rax, 120(%%rdi)\n\t"
			 "popq %%rbp"
			 :
			 : "D"(out), "S"(rs), "d"(scratch)
			 : "rax", "rcx", "rbx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "cc", "memory");
}

static void on_nothing(int sig)
{
	(void)sig;
	signals++;
}

/* Nothing but an interruption ends the loop. */
CASE(registers)
{
	uint64_t out[16], scratch[2] = { 0 };

	every(300, on_nothing);
	while (signals < 40) {
		memset(out, 0, sizeof(out));
		turn(area(), out, scratch);
		EQ(out[0], out[15]);
		for (unsigned i = 1; i < 12; i++)
			EQ(out[i], 0x90 + 0x10 * i);
		EQ(out[12], area());
		EQ(out[13], scratch);
		EQ(out[14], out);
		EQ(*section_of(area()), 0);
	}
	stop();
	EQ(scratch[0], out[15]);
	EQ(scratch[1] % 0xa0, 0);
}

/* Reads what cannot be read: it is aborted, too, and the handler of the signal finds it there. */
NOINLINE static int read_at(const struct rseq *rs, const volatile uint64_t *p, uint64_t wait)
{
	__asm__ goto(SECTION "movq %[wait], %%r8\n"
			     "5:\tdecq %%r8\n\t"
			     "jnz 5b\n\t"
			     "movq (%[p]), %%rcx\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [p] "r"(p), [wait] "r"(wait)
		     : "rax", "rcx", "r8", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

static volatile uint64_t fault_at, fault_rip, fault_cs;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	fault_at = (uint64_t)info->si_addr;
	fault_rip = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];
	fault_cs = *section_of(area());
	sigaction(sig, &dfl, NULL);
}

static void fault_in_section(uint64_t wait)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	uint64_t signature;

	sigaction(SIGSEGV, &a, NULL);
	while (!fault_rip)
		CHECK(read_at(area(), (const uint64_t *)16, wait));
	EQ(fault_at, 16);
	EQ(fault_cs, 0);
	memcpy(&signature, (const void *)(fault_rip - 8), 8);
	EQ(signature >> 32, 0x53053053);
	EQ(read_at(area(), &signature, wait), 0);
}

CASE(faults)
{
	fault_in_section(1);
	fault_rip = 0;
	fault_in_section(3);
}

/* Stores where it may not. */
NOINLINE static int write_at(const struct rseq *rs, uint64_t *p)
{
	__asm__ goto(SECTION "movq $77, (%[p])\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [p] "r"(p)
		     : "rax", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

CASE(faulting_store)
{
	struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	uint64_t *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), signature;

	sigaction(SIGSEGV, &a, NULL);
	while (!fault_rip)
		CHECK(write_at(area(), p));
	EQ(fault_at, p);
	memcpy(&signature, (const void *)(fault_rip - 8), 8);
	EQ(signature >> 32, 0x53053053);
	EQ(*p, 0);
	mprotect(p, 4096, PROT_READ | PROT_WRITE);
	while (write_at(area(), p))
		;
	EQ(*p, 77);
}

/* A signal that comes in a section: its handler is told of the section's handler. */
static volatile uint64_t inside;
static uint64_t turn_from, turn_to;

static void on_where(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	uint64_t at = (uint64_t)uc->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	signals++;
	inside += at >= turn_from && at < turn_to;
}

CASE(handlers_find_the_abort)
{
	struct sigaction a = { .sa_sigaction = on_where, .sa_flags = SA_SIGINFO };
	uint64_t out[16], scratch[2] = { 0 };
	const struct {
		uint32_t version, flags;
		uint64_t start, size, abort;
	} * cs;

	every(300, on_nothing);
	sigaction(SIGALRM, &a, NULL);
	while (signals < 40) {
		turn(area(), out, scratch);
		cs = (const void *)out[15];
		turn_from = cs->start;
		turn_to = cs->start + cs->size;
	}
	stop();
	EQ(inside, 0);
}

/* Where each thread is: natively and here the kernel says it. */
static void *where(void *arg)
{
	cpu_set_t all, one;

	(void)arg;
	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		EQ(area()->cpu_id, cpu);
		EQ(area()->cpu_id_start, cpu);
		EQ(sched_getcpu(), cpu);
	}
	sched_setaffinity(0, sizeof(all), &all);
	return NULL;
}

CASE(cpu_numbers)
{
	pthread_t t;
	int status = 1;

	printf("registered: %d, %u bytes\n", (int)area()->cpu_id >= 0, __rseq_size);
	where(NULL);
	pthread_create(&t, NULL, where, NULL);
	pthread_join(t, NULL);
	fflush(stdout);
	if (!fork()) {
		where(NULL);
		count_under_signals(20);
		_exit(checks_failed);
	}
	wait(&status);
	EQ(status, 0);
}

static long rseq(void *at, uint32_t n, int flags, uint32_t sig)
{
	long r = syscall(SYS_rseq, at, n, flags, sig);

	return r < 0 ? -errno : r;
}

/* A program that does without the C library's. */
CASE(child_own)
{
	own_area = &own;
	printf("alone: %u\n", __rseq_size);
	EQ(rseq(&own, 31, 0, 0x53053053), -EINVAL);
	EQ(rseq((char *)&own + 8, 32, 0, 0x53053053), -EINVAL);
	EQ(rseq(&own, 32, 0, 0x53053053), 0);
	EQ(rseq(&own, 32, 0, 0x53053053), -EBUSY);
	EQ(rseq(&own, 32, 0, 0x53053054), -EPERM);
	where(NULL);
	count_under_signals(50);
	EQ(rseq(&own, 32, RSEQ_FLAG_UNREGISTER, 0x53053054), -EPERM);
	EQ(rseq(&own, 32, RSEQ_FLAG_UNREGISTER, 0x53053053), 0);
	EQ(rseq(&own, 32, RSEQ_FLAG_UNREGISTER, 0x53053053), -EINVAL);
	EQ((int)own.cpu_id, RSEQ_CPU_ID_UNINITIALIZED);
	/* nothing interrupts it now */
	own.cpu_id = 0;
	*section_of(&own) = 0;
	EQ(count(&own, 20), 0);
	EQ(total(), committed + signals + 1);
	EQ(rseq(&own, 32, 0, 0x53053053), 0);
	signals = committed = aborted = 0;
	memset(slots, 0, sizeof(slots));
	count_under_signals(50);
}

CASE(own_registration)
{
	char self[] = "/proc/self/exe", name[] = "child_own", *args[] = { self, name, NULL };

	setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
	execv(self, args);
}

/* A description that is made while the program runs, on a stack, and code that is made as well. */
CASE(made_while_running)
{
	static const uint8_t code[] = {
		0x48, 0x89, 0x77, 0x08,	      /* mov [rdi + 8], rsi */
		0x48, 0x8b, 0x02,	      /* 4: mov rax, [rdx] */
		0x48, 0xff, 0xc9,	      /* 7: dec rcx */
		0x75, 0xfb,		      /* jnz 7 */
		0x48, 0xff, 0xc0,	      /* inc rax */
		0x48, 0x89, 0x02,	      /* mov [rdx], rax */
		0x31, 0xc0,		      /* 18: xor eax, eax */
		0xc3,			      /* ret */
		0x53, 0x30, 0x05, 0x53,	      /* the signature */
		0xb8, 0x01, 0x00, 0x00, 0x00, /* 25: mov eax, 1 */
		0xc3,			      /* ret */
	};
	struct {
		uint32_t version, flags;
		uint64_t start, size, abort;
	} cs __attribute__((aligned(32))) = { 0 };
	uint8_t *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*f)(struct rseq *, void *, uint64_t *, uint64_t);

	memcpy(p, code, sizeof(code));
	mprotect(p, 4096, PROT_READ | PROT_EXEC);
	cs.start = (uint64_t)p + 4;
	cs.size = 14;
	cs.abort = (uint64_t)p + 25;
	f = (void *)p;
	every(500, on_count);
	memset(slots, 0, sizeof(slots));
	while (signals < 100) {
		uint64_t before = slots[SLOTS - 1].n;

		if (f(area(), &cs, &slots[SLOTS - 1].n, WAIT)) {
			aborted++;
			EQ(slots[SLOTS - 1].n, before);
		} else {
			committed++;
			EQ(slots[SLOTS - 1].n, before + 1);
		}
	}
	stop();
	CHECK(aborted > 0);
	EQ(total(), committed + signals);
}

static volatile uint64_t held, left;

/* Reads until there is something to read. */
NOINLINE static int spin(const struct rseq *rs, const volatile uint64_t *p)
{
	__asm__ goto(SECTION "cmpq $0, (%[p])\n\t"
			     "je 1b\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [p] "r"(p)
		     : "rax", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

static void *spinning(void *arg)
{
	(void)arg;
	while (spin(area(), &held))
		left++;
	return NULL;
}

/* After the barrier no thread is in a section that it was in before. */
CASE(barrier)
{
	pthread_t t;
	uint64_t before;

	EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0), 0);
	pthread_create(&t, NULL, spinning, NULL);
	usleep(1000);
	before = left;
	for (int i = 0; i < 10000 && left < before + 100; i++) {
		EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0), 0);
		usleep(100);
	}
	CHECK(left >= before + 100);
	held = 1;
	pthread_join(t, NULL);
}

static uint64_t *volatile current;

/* Reads where `current` leads to, some time later. */
NOINLINE static int follow(const struct rseq *rs, uint64_t *volatile *from)
{
	__asm__ goto(SECTION "movq (%[from]), %%rcx\n\t"
			     ".rept 24\n\t"
			     "imulq $1, %%rcx, %%rcx\n\t"
			     "bswapq %%rcx\n\t"
			     "bswapq %%rcx\n\t"
			     ".endr\n\t"
			     "movq (%%rcx), %%rcx\n"
			     "2:"
		     :
		     : [rs] "r"(rs), [from] "r"(from)
		     : "rax", "rcx", "cc", "memory"
		     : again);
	return 0;
again:
	return 1;
}

static void *following(void *arg)
{
	(void)arg;
	while (!held) {
		follow(area(), &current);
		left++;
	}
	return NULL;
}

/* Who read the old address before the barrier does not go there after it. */
CASE(reclaimed)
{
	pthread_t t;
	uint64_t *p[2];

	EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ, 0, 0), 0);
	for (int i = 0; i < 2; i++)
		p[i] = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	current = p[0];
	pthread_create(&t, NULL, following, NULL);
	while (left < 100)
		usleep(100);
	for (int i = 1; i < 3000; i++) {
		EQ(mprotect(p[i & 1], 4096, PROT_READ), 0);
		current = p[i & 1];
		EQ(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, 0, 0), 0);
		EQ(mprotect(p[~i & 1], 4096, PROT_NONE), 0);
	}
	held = 1;
	pthread_join(t, NULL);
}
