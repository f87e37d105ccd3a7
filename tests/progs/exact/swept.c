/* SPDX-License-Identifier: MIT */
/*
 * A signal at every instruction. Another process executes this one by single steps once, through some code of the program's
 * and whatever an instrumenter executes in its place. Then it lets the code run again and again, stops it by a hardware
 * breakpoint at each of these steps in turn, and sends a signal there. Each time the code gives the same.
 *
 * EXACT_SWEEP is the distance between two such places, in steps; 1 sweeps every place. By default they are as far apart as
 * a budget of stops allows. Where tracing is forbidden nothing is swept.
 */
#include "cases.h"
#include "handlers.h"
#include "work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <ucontext.h>

#define MARK SIGURG /* the program ignores it, and the tracer does not pass it on */
#define TRAP_FLAG 0x100
#define STEPS_MOST 65536
#define STOPS_MOST 20000 /* of the tracer, unless EXACT_SWEEP says how many places there are */
#define STOPS_A_ROUND 10

/* Memory that both processes share. */
static struct shared {
	volatile int ready, runs, finished;
	volatile unsigned rounds, caught;
} * shared;

/* Overwrites what the interrupted code has in registers and below its stack. */
static void on_sweep(int number, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	volatile char below[512];

	(void)number;
	(void)info;
	for (unsigned i = 0; i < sizeof below; i++)
		below[i] = (char)i;
	if (__builtin_cpu_supports("avx512f"))
		__asm__ volatile("vpternlogd $255, %%zmm17, %%zmm17, %%zmm17\n\tvpternlogd $255, "
				 "%%zmm31, %%zmm31, %%zmm31\n\tkxnorw %%k3, %%k3, %%k3"
				 :
				 :
				 : "memory");
	if (__builtin_cpu_supports("avx2"))
		__asm__ volatile(
			"vpcmpeqb %%ymm0, %%ymm0, %%ymm0\n\tvpcmpeqb %%ymm5, %%ymm5, %%ymm5\n\t"
			"vpcmpeqb %%ymm7, %%ymm7, %%ymm7\n\tvpcmpeqb %%ymm14, %%ymm14, %%ymm14"
			:
			:
			: "memory");
	__asm__ volatile(
		"fninit\n\tfldz\n\tpcmpeqb %%xmm0, %%xmm0\n\tpcmpeqb %%xmm1, %%xmm1\n\t"
		"pcmpeqb %%xmm2, %%xmm2\n\tpcmpeqb %%xmm3, %%xmm3\n\tpcmpeqb %%xmm15, %%xmm15"
		:
		:
		: "xmm0", "xmm1", "xmm2", "xmm3", "xmm15", "memory");
	CHECK(uc->uc_mcontext.gregs[REG_RIP]);
	caught++;
	shared->caught++;
}

static void mark(void)
{
	syscall(SYS_tgkill, getpid(), gettid(), MARK);
}

/* What follows runs in the process that traces the program. */
static pid_t victim;
static uint64_t at[STEPS_MOST]; /* where each step of a round begins */
static long steps;
static long stops; /* of the victim, so far */

__attribute__((noreturn)) static void end_tracing(int status)
{
	shared->finished = 1;
	ptrace(PTRACE_DETACH, victim, NULL, NULL);
	_exit(status);
}

/* Lets the victim run until it stops again. Returns the signal that it stopped for, or -1: it has ended. */
static int resume(int request, int number)
{
	int status;

	stops++;
	if (ptrace(request, victim, NULL, (void *)(intptr_t)number))
		return -1;
	while (waitpid(victim, &status, __WALL) != victim)
		if (errno != EINTR)
			return -1;
	if (!WIFSTOPPED(status))
		return -1;
	return status >> 16 ? 0 : WSTOPSIG(status);
}

/* Lets the victim run until it begins a round, with the signal at first. False: it has ended. */
static bool run_to_mark(int number)
{
	do
		number = resume(PTRACE_CONT, number);
	while (number >= 0 && number != MARK);
	return number == MARK;
}

static uint64_t position(void)
{
	return (uint64_t)ptrace(PTRACE_PEEKUSER, victim, offsetof(struct user, regs.rip), NULL);
}

/* A step over popf lets the kernel believe that the victim has set the trap flag by itself. */
static void clear_trap_flag(void)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, victim, NULL, &r))
		return;
	r.eflags &= ~(unsigned long)TRAP_FLAG;
	ptrace(PTRACE_SETREGS, victim, NULL, &r);
}

/* Does a round by single steps, and notes where each begins. */
static bool record_steps(void)
{
	int number = 0;
	bool begun = false;

	for (steps = 0; steps < STEPS_MOST && (!begun || shared->runs); steps += begun) {
		at[steps] = position();
		number = resume(PTRACE_SINGLESTEP, number);
		if (number < 0)
			return false;
		if (number == SIGTRAP)
			number = 0;
		begun |= shared->runs;
	}
	clear_trap_flag();
	return true;
}

/* Whether the step is a further repetition of a string instruction, which has no breakpoint. */
static bool repeats(long i)
{
	return i && at[i] == at[i - 1];
}

static bool set_breakpoint(uint64_t address)
{
	return !ptrace(PTRACE_POKEUSER, victim, offsetof(struct user, u_debugreg[7]), NULL) &&
	       !ptrace(PTRACE_POKEUSER, victim, offsetof(struct user, u_debugreg[0]),
		       (void *)address) &&
	       !ptrace(PTRACE_POKEUSER, victim, offsetof(struct user, u_debugreg[7]), (void *)1);
}

/* Lets the victim run from a round's beginning to before a step of it. Returns the signal that it stopped for. */
static int run_to_step(long step)
{
	long first = step, passes = 0;
	int number = 0;

	while (repeats(first))
		first--;
	for (long i = 0; i < first; i++)
		passes += at[i] == at[first] && !repeats(i);
	if (!set_breakpoint(at[first]))
		end_tracing(2);
	while (passes >= 0 && number >= 0 && number != MARK) {
		number = resume(PTRACE_CONT, number);
		if (number == SIGTRAP && position() == at[first]) {
			number = 0;
			passes--;
		}
	}
	ptrace(PTRACE_POKEUSER, victim, offsetof(struct user, u_debugreg[7]), NULL);
	for (; first < step && !number; first++) {
		number = resume(PTRACE_SINGLESTEP, 0);
		number = number == SIGTRAP ? 0 : number;
	}
	return number;
}

/* The distance between places, so that going to each does not take too long. */
static long distance(void)
{
	static unsigned
		passes[STEPS_MOST]; /* by address; that some share a place does not matter */
	const char *given = getenv("EXACT_SWEEP");
	long all = 0;

	if (given)
		return atol(given) > 0 ? atol(given) : 1;
	memset(passes, 0, sizeof passes);
	for (long i = 0; i < steps; i++)
		all += STOPS_A_ROUND + passes[at[i] % STEPS_MOST]++;
	return all / STOPS_MOST + 1;
}

static void trace(void)
{
	int number = 0;
	long d, stepped = 0;

	if (ptrace(PTRACE_SEIZE, victim, NULL, NULL) ||
	    ptrace(PTRACE_INTERRUPT, victim, NULL, NULL))
		end_tracing(2);
	shared->ready = 1;
	if (waitpid(victim, NULL, __WALL) != victim)
		end_tracing(3);
	for (int i = 0; i < 3; i++) /* everything is translated then */
		if (!run_to_mark(0))
			end_tracing(4);
	if (!record_steps())
		end_tracing(5);
	d = distance();
	for (long i = 0, again = -1;
	     i < steps && (getenv("EXACT_SWEEP") || stops < 2 * STOPS_MOST);) {
		if (number != MARK && !run_to_mark(number))
			end_tracing(6);
		number = run_to_step(i);
		/* the round has gone another way than before */
		if (number == MARK && i != again &&
		    (getenv("EXACT_SWEEP") || stepped + steps <= STOPS_MOST)) {
			again = i;
			stepped += steps;
			if (!record_steps())
				end_tracing(7);
			number = 0;
			d = distance();
			continue;
		}
		if (number < 0)
			end_tracing(8);
		shared->rounds++;
		if (!number)
			number = SIGUSR1;
		i += d;
	}
	if (getenv("EXACT_SWEEP"))
		fprintf(stderr, "%ld steps, %u rounds, %u signals\n", steps, shared->rounds,
			shared->caught);
	end_tracing(0);
}

/* Runs the code until the tracer has been everywhere. */
static void sweep(uint64_t (*f)(void *), void *argument)
{
	uint64_t wanted = f(argument);
	pid_t child;
	int status;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	handle(SIGUSR1, on_sweep, SA_RESTART);
	victim = getpid();
	child = fork();
	if (!child)
		trace();
	prctl(PR_SET_PTRACER, child);
	while (!shared->ready && !waitpid(child, &status, WNOHANG))
		usleep(1000);
	while (shared->ready && !shared->finished) {
		uint64_t got;

		mark();
		shared->runs = 1;
		got = f(argument);
		shared->runs = 0;
		if (!EQ(got, wanted))
			printf("after %u rounds\n", shared->rounds);
	}
	EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 2));
	CHECK(shared->rounds < 2 || caught);
	printf("%#llx\n", (unsigned long long)wanted);
}

#define SWEEP(name) \
	uint64_t swept_##name(void *); \
	CASE(name) \
	{ \
		sweep(swept_##name, NULL); \
	}
SWEEP(backwards)
SWEEP(calls)
SWEEP(flags)
SWEEP(strings)
SWEEP(memory)
SWEEP(vectors)
uint64_t swept_ymm(void *), swept_zmm(void *);
CASE(wide_vectors)
{
	if (__builtin_cpu_supports("avx2"))
		sweep(swept_ymm, NULL);
	if (__builtin_cpu_supports("avx512f"))
		sweep(swept_zmm, NULL);
}

/* System calls, with a mask of signals that changes. */
static uint64_t system_calls(void *argument)
{
	int fd = *(int *)argument;
	uint64_t h = 1;
	sigset_t set, old;
	char c;

	h = mix(h, (uint64_t)syscall(SYS_getppid) != 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, &old);
	h = mix(h, (uint64_t)sigismember(&old, SIGUSR1));
	sigprocmask(SIG_SETMASK, &old, &set);
	h = mix(h, (uint64_t)sigismember(&set, SIGUSR1));
	h = mix(h, (uint64_t)pread(fd, &c, 1, 0));
	h = mix(h, (uint64_t)read(-1, &c, 1));
	return mix(h, (uint64_t)errno);
}

CASE(system_calls)
{
	int fd = open("/dev/zero", O_RDONLY);

	sweep(system_calls, &fd);
}

/* Another signal's handler, and the way there and back: the mask of signals is what it was, in the handler and behind. */
static uint64_t mask_now(void)
{
	uint64_t set = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &set, sizeof set);
	return set;
}

static volatile uint64_t handled;
static void on_raised(int number, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;

	handled = mix(handled, (uint64_t)number);
	handled = mix(handled, (uint64_t)sigismember(&uc->uc_sigmask, SIGUSR1));
	handled = mix(handled, mask_now());
	handled = mix(handled, (uint64_t)info->si_code);
}

static uint64_t raised(void *argument)
{
	(void)argument;
	handled = 1;
	raise(SIGUSR2);
	return mix(handled, mask_now());
}

CASE(raised)
{
	handle(SIGUSR2, on_raised, 0);
	sweep(raised, NULL);
}

/* The same on the alternate stack. */
CASE(raised_on_stack)
{
	static char stack[65536];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };

	sigaltstack(&alternate, NULL);
	handle(SIGUSR2, on_raised, SA_ONSTACK);
	sweep(raised, NULL);
}

/* A fault of the program, whose handler continues behind it. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	uc->uc_mcontext.gregs[REG_RIP] += 3;
	uc->uc_mcontext.gregs[REG_RCX] = (greg_t)(intptr_t)info->si_addr;
	on_raised(number, info, context);
}

static uint64_t faulting(void *argument)
{
	uint64_t at = 8, flags = 0;

	(void)argument;
	handled = 1;
	__asm__ volatile("cmp $9, %0\n\tmov %0, (%0)\n\tsbb %1, %1"
			 : "+c"(at), "+r"(flags)
			 :
			 : "cc", "memory");
	return mix(mix(mix(handled, at), flags), mask_now());
}

CASE(faulting)
{
	handle(SIGSEGV, on_fault, 0);
	sweep(faulting, NULL);
}

/* Much of a library, as in storms.c. */
static uint64_t working(void *argument)
{
	(void)argument;
	return work(17);
}

CASE(working)
{
	sweep(working, NULL);
}
