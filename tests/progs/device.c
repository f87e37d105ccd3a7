/* SPDX-License-Identifier: MIT */
/*
 * Maps device memory and loads from it at once, time and again: the ring buffer of a perf event, which the kernel maps as it
 * maps a device (VM_PFNMAP, VM_IO). Each child process maps one, loads for some milliseconds, and ends.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint32_t *map_device(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	void *p = fd < 0 ? MAP_FAILED
			 : mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		perror("device");
		exit(1);
	}
	return p;
}

__attribute__((noinline)) uint64_t load_device(volatile uint32_t *p, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += p[i % 16];
	return sum;
}

/* The same of its own memory, to tell that loads are seen at all. */
__attribute__((noinline)) uint64_t load_memory(volatile uint32_t *p, uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += p[i % 16];
	return sum;
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 20;
	static uint32_t memory[16];

	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			volatile uint32_t *p = map_device();
			uint64_t end = now_ns() + 20000000;

			while (now_ns() < end) {
				load_device(p, 100000);
				load_memory(memory, 100000);
			}
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}
