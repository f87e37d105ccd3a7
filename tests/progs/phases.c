/* SPDX-License-Identifier: MIT */
/*
 * Four phases of known lengths: phases [ROUNDS]. A round is one (4 million instructions), two (2), three (6), four (4),
 * and one again (2). Each is a loop with blocks of its own.
 */
#include <stdlib.h>

static long memory[64];

__attribute__((noinline)) static void one(long n) /* 4 instructions a round of the loop */
{
	long a = 1;

	__asm__ volatile("1: addq $3, %1\n"
			 "xorq %0, %1\n"
			 "decq %0\n"
			 "jnz 1b"
			 : "+r"(n), "+r"(a));
}

__attribute__((noinline)) static void two(
	long n) /* 8, or 7 where the branch jumps: every other time */
{
	long a = 1;

	__asm__ volatile("1: leaq 1(%1), %1\n"
			 "testb $1, %b0\n"
			 "jz 2f\n"
			 "nop\n"
			 "2: imulq %1, %1\n"
			 "notq %1\n"
			 "decq %0\n"
			 "jnz 1b"
			 : "+r"(n), "+r"(a));
}

__attribute__((noinline)) static void three(long n) /* 6 */
{
	long a = 1;

	__asm__ volatile("jmp 2f\n"
			 "3: addq $1, %1\n"
			 "ret\n"
			 "2: subq $128, %%rsp\n"
			 "1: call 3b\n"
			 "nop\n"
			 "decq %0\n"
			 "jnz 1b\n"
			 "addq $128, %%rsp"
			 : "+r"(n), "+r"(a)
			 :
			 : "memory");
}

__attribute__((noinline)) static void four(long n) /* 5 */
{
	long a = 1;

	__asm__ volatile("1: movq (%2), %1\n"
			 "addq %0, %1\n"
			 "movq %1, 8(%2)\n"
			 "subq $1, %0\n"
			 "jne 1b"
			 : "+r"(n), "+r"(a)
			 : "r"(memory)
			 : "memory");
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++) {
		one(4000000 / 4);
		two(2000000 * 2 / 15);
		three(6000000 / 6);
		four(4000000 / 5);
		one(2000000 / 4);
	}
	return 0;
}
