/* SPDX-License-Identifier: MIT */
/*
 * Runs code that no file holds, as a just-in-time compiler's output does: generated LOOPS [names]. With names it says
 * where its procedures are in /tmp/perf-PID.map, which stays.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* mov rcx, rdi; again: imul rax, rax, 3; inc rax; dec rcx; jnz again; ret */
static const uint8_t loop[] = { 0x48, 0x89, 0xf9, 0x48, 0x6b, 0xc0, 0x03, 0x48,
				0xff, 0xc0, 0x48, 0xff, 0xc9, 0x75, 0xf4, 0xc3 };

typedef uint64_t (*procedure)(uint64_t);

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	uint8_t *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char name[64];
	FILE *f;

	if (code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	memcpy(code + 64, loop, sizeof(loop));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		return 1;
	if (argc > 2) {
		snprintf(name, sizeof(name), "/tmp/perf-%d.map", (int)getpid());
		f = fopen(name, "w");
		if (!f)
			return 1;
		fprintf(f,
			"%lx 100 what:was there before\n%lx 10 Interpreter:hot loop\n%lx 10 "
			"LazyCompile:*other /x.js:3\n",
			(unsigned long)code, (unsigned long)code, (unsigned long)code + 64);
		fclose(f);
		printf("%s\n", name);
	}
	((procedure)code)(n);
	((procedure)(code + 64))(n / 2);
	return 0;
}
