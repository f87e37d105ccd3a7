/* SPDX-License-Identifier: MIT */
/*
 * Control transfers in every form (control_asm.S), once and hot, and the registers that a call keeps.
 * */
#include "table.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

/* One call site with more and more targets. */
CASE(all_by_one_site)
{
	uint64_t sum = 0;

	for (int i = 0; i < 20; i++)
		for (const struct entry *e = __start_ctl_table; e < __stop_ctl_table; e++)
			sum = mix(sum, call_kept(e->f, (uint64_t)i));
	printf("%#llx\n", (unsigned long long)sum);
}

static jmp_buf buffers[100];
static int depth_reached;

NOINLINE static int deeper(int n, int back_to)
{
	if (n == 99)
		longjmp(buffers[back_to], n + 1);
	if (setjmp(buffers[n])) {
		depth_reached = n;
		return n;
	}
	return deeper(n + 1, back_to) + 1;
}

CASE(longjmp)
{
	uint64_t sum = 0;

	for (int i = 0; i < 5000; i++) {
		int r = deeper(0, i % 99);

		EQ(depth_reached, i % 99);
		sum = mix(sum, (uint64_t)r);
	}
	printf("%#llx\n", (unsigned long long)sum);
}

static ucontext_t main_context, contexts[20];
static uint64_t context_sum;

static void in_context(int number, int high)
{
	volatile double x = number;

	for (int i = 0; i < 500; i++) {
		x = x * 1.5 + high;
		if (x > 1e9)
			x -= 1e9;
		context_sum = mix(context_sum, (uint64_t)(x * 16) + (uint64_t)number);
		swapcontext(&contexts[number], &contexts[(number + 7) % 20]);
	}
}

CASE(swapcontext)
{
	static char stacks[20][32768] __attribute__((aligned(16)));

	for (int i = 0; i < 20; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof stacks[i];
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))in_context, 2, i, 3 - i);
	}
	swapcontext(&main_context, &contexts[0]);
	printf("%#llx\n", (unsigned long long)context_sum);
}

/* Code below 2 GiB: push of an address and ret, absolute jumps, moffs. */
CASE(low_code)
{
	uint8_t *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	uint32_t at = (uint32_t)(uintptr_t)low;
	uint8_t code[] = {
		0x68, 0,    0,	  0,	0, /* push $low + 16 */
		0xc3,			   /* ret */
		0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
		0xcc, 0xcc, 0x67, 0xa1, 0,    0,    0,	  0, /* mov low + 64, %eax: 32-bit moffs */
		0x03, 0x04, 0x25, 0,	0,    0,    0,	     /* add low + 68, %eax: absolute */
		0xff, 0x14, 0x25, 0,	0,    0,    0,	     /* call *low + 72 */
		0xff, 0x24, 0x25, 0,	0,    0,    0,	     /* jmp *low + 80 */
	};

	CHECK(low != MAP_FAILED);
	memcpy(code + 1, &(uint32_t){ at + 16 }, 4);
	memcpy(code + 18, &(uint32_t){ at + 64 }, 4);
	memcpy(code + 25, &(uint32_t){ at + 68 }, 4);
	memcpy(code + 32, &(uint32_t){ at + 72 }, 4);
	memcpy(code + 39, &(uint32_t){ at + 80 }, 4);
	memcpy(low, code, sizeof code);
	memcpy(low + 64, (uint32_t[]){ 1000, 234 }, 8);
	memcpy(low + 72, (uint64_t[]){ at + 100, at + 104 }, 16);
	memcpy(low + 100, "\xff\xc0\xc3\x90\x01\xc0\xc3",
	       7); /* inc eax; ret; nop; add eax, eax; ret */
	for (int i = 0; i < 100; i++)
		EQ(((uint32_t(*)(void))low)(), 2470);
}

/* Far transfers that stay in 64-bit code, as runtimes use them to restore all registers. */
CASE(far_returns)
{
	uint64_t to, flags, stack, before;

	for (int i = 0; i < 100; i++) {
		__asm__ volatile(
			"mov %%rsp, %[before]\n\tmov %%ss, %%eax\n\tpush %%rax\n\t"
			"push %[before]\n\t"
			"push $0xed5\n\tmov %%cs, %%eax\n\tpush %%rax\n\t"
			"lea 1f(%%rip), %%rax\n\tpush %%rax\n\txor %[to], %[to]\n\tiretq\n\t"
			"inc %[to]\n1:\tpushf\n\tcld\n\tpop %[flags]\n\tmov %%rsp, %[stack]"
			: [to] "=&r"(to), [flags] "=&r"(flags), [stack] "=&r"(stack),
			  [before] "=&r"(before)
			:
			: "rax", "cc", "memory");
		EQ(to, 0);
		EQ(flags & 0xcd5, 0xcd5);
		EQ(stack, before);
		__asm__ volatile(
			"mov %%rsp, %[before]\n\tsub $24, %%rsp\n\t"
			"mov %%cs, %%eax\n\tpush %%rax\n\t"
			"lea 1f(%%rip), %%rax\n\tpush %%rax\n\txor %[to], %[to]\n\t"
			".byte 0x48, 0xca, 24, 0\n\tinc %[to]\n1:\tmov %%rsp, %[stack]\n\t"
			"mov %%cs, %%eax\n\tpush %%rax\n\tlea 2f(%%rip), %%rax\n\tpush %%rax\n\t"
			".byte 0x48, 0xcb\n\tinc %[to]\n2:"
			: [to] "=&r"(to), [stack] "=&r"(stack), [before] "=&r"(before)
			:
			: "rax", "cc", "memory");
		EQ(to, 0);
		EQ(stack, before);
	}
}

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Calls from the library back into the program, and varargs (al counts vector registers). */
CASE(callbacks)
{
	static int v[20000];
	uint64_t sum = 0;
	char text[200];

	for (int i = 0; i < 20000; i++)
		v[i] = (int)((uint32_t)i * 2654435761u >> 8);
	qsort(v, 20000, sizeof *v, compare_ints);
	for (int i = 0; i < 20000; i++)
		sum = mix(sum, (uint64_t)v[i]);
	snprintf(text, sizeof text, "%.17g %.3f %s %d %Lf %c", 1.0 / 3, 2.5e10, "text", -5, 1.25L,
		 'x');
	printf("%#llx %s\n", (unsigned long long)sum, text);
}
