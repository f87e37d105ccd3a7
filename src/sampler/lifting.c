/* SPDX-License-Identifier: MIT */
#include "sampler/lifting.h"

#include <linux/membarrier.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define MAPPED_AT_ONCE ((size_t)4 << 20)

/* Time that lifting may take: at first, and as a share of the sampled time (see reach()). */
#define LIFT_FIRST_NS 30e6
#define LIFT_SHARE 0.03
#define LIFT_ROOM 1.5 /* a full room for lifted code counts as this multiple of the limit of time */

int lifting_open(struct lifting *l, int code, uint32_t uops, int lines, uint32_t line_bits,
		 struct err *err)
{
	l->uop_fd = code;
	l->uop_bytes = (size_t)uops * sizeof(struct uop);
	l->line_bytes = sizeof(struct code_line) << line_bits;
	l->uop_map = mmap(NULL, l->uop_bytes, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	l->line_map = mmap(NULL, l->line_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lines, 0);
	l->uop_map = l->uop_map == MAP_FAILED ? NULL : l->uop_map;
	l->line_map = l->line_map == MAP_FAILED ? NULL : l->line_map;
	if (!l->uop_map || !l->line_map)
		return err_sys(err, "cannot map the code map (%zu MiB)",
			       (l->uop_bytes + l->line_bytes) >> 20);
	if (code_init(&l->code, l->uop_map, uops, l->line_map, line_bits, err))
		return -1;
	l->code.uop_room = 0; /* map_code() */
	return 0;
}

void lifting_close(struct lifting *l)
{
	uint64_t lifted = l->code.lifted;

	code_fini(&l->code);
	l->code.lifted = lifted;
	if (l->uop_map)
		munmap(l->uop_map, l->uop_bytes);
	if (l->line_map)
		munmap(l->line_map, l->line_bytes);
	l->uop_map = l->line_map = NULL;
	l->uop_mapped = 0;
}

/*
 * Maps n more micro-ops of the code map. Each page costs time to map and to unmap, and most programs need few pages.
 * Micro-ops that cannot be mapped are no room.
 */
static void map_code(struct lifting *l, size_t n)
{
	size_t want = (l->code.nuop + n) * sizeof(struct uop), left, bytes;

	while (l->uop_mapped < want && l->uop_mapped < l->uop_bytes) {
		left = l->uop_bytes - l->uop_mapped;
		bytes = left < MAPPED_AT_ONCE ? left : MAPPED_AT_ONCE;
		if (mmap((char *)l->uop_map + l->uop_mapped, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, l->uop_fd, (off_t)l->uop_mapped) == MAP_FAILED)
			break;
		l->uop_mapped += bytes;
	}
	l->code.uop_room = (uint32_t)(l->uop_mapped / sizeof(struct uop));
}

/*
 * Returns how many bytes of code around missing code are lifted for each instruction. Lifting may take some time at
 * first and a share of the sampled time: the nearer that limit, the less is lifted at once. So a program that always
 * meets new code costs a few per cent more than its samples, while a program that stays in its code has all of it
 * lifted. Less is lifted as the room for lifted code fills, too, so that the room lasts for code that runs later.
 */
static uint32_t reach(const struct lifting *l, double sampled)
{
	static const struct {
		double used;
		uint32_t bytes;
	} most[] = { { 0.5, 4096 }, { 0.75, 2048 }, { 1, 1024 }, { 1.25, 512 }, { 2, 256 } };
	double time = (double)l->ns / (LIFT_FIRST_NS + LIFT_SHARE * sampled);
	double room = (double)l->code.nuop / l->code.uop_cap, used = fmax(time, LIFT_ROOM * room);

	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++)
		if (used < most[i].used)
			return most[i].bytes;
	return 128;
}

void lifting_lift(struct lifting *l, struct files *files, double sampled, uint32_t image,
		  uint64_t addr)
{
	uint64_t begin, start, end, bytes;

	map_code(l, 4 * (size_t)l->neighbourhood + 65536);
	l->full = l->full || !code_has_room(&l->code);
	/* samples that missed the code before it was lifted are still arriving */
	if (l->full || code_find(&l->code, image, addr))
		return;
	begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	code_follow(&l->code, image, addr, l->ahead);
	/* the code that runs next is most likely in the same procedure, else in its neighbours */
	bytes = (uint64_t)l->neighbourhood * reach(l, sampled) / 1024;
	if (files_region(files, image, addr, bytes, &start, &end))
		code_sweep(&l->code, image, start, end, (uint32_t)(bytes / 2));
	/* true if the stretch belongs to no procedure, or instructions overlap */
	code_lift(&l->code, image, addr, l->neighbourhood / 32);
	l->ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
}

/* The barrier waits for an RCU grace period, which no program of the kernel side outlasts. */
bool lifting_hide(struct lifting *l)
{
	long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (can < 0 || !(can & MEMBARRIER_CMD_GLOBAL))
		return false;
	l->full = true;
	code_hide(&l->code);
	l->hidden = !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return l->hidden;
}

void lifting_empty(struct lifting *l)
{
	code_empty(&l->code);
	l->hidden = l->full = false;
}
