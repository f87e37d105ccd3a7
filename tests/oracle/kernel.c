/* SPDX-License-Identifier: MIT */
#include "kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "interp.skel.h"
#include "sampler/caps.h"

static void *map_array(const struct bpf_map *map, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

int kernel_open(struct kernel *k, char *why, size_t n)
{
	libbpf_print_fn_t print = libbpf_set_print(quiet);
	struct arena *a = &k->arena;
	bool in_place;
	int saved;

	memset(k, 0, sizeof(*k));
	k->skel = interp_bpf__open();
	in_place = caps_can_loop() && !getenv("INTERP_CALLS");
	if (k->skel) {
		k->prog = in_place ? k->skel->progs.interp : k->skel->progs.interp_calls;
		bpf_program__set_autoload(
			in_place ? k->skel->progs.interp_calls : k->skel->progs.interp, false);
		if (interp_bpf__load(k->skel)) {
			saved = errno;
			interp_bpf__destroy(k->skel);
			k->skel = NULL;
			errno = saved;
		}
	}
	saved = errno;
	libbpf_set_print(print);
	if (!k->skel) {
		snprintf(why, n, "the kernel does not load the program: %s", strerror(saved));
		return -1;
	}
	a->lane = map_array(k->skel->maps.lanes, LANES * sizeof(*a->lane));
	a->uop = map_array(k->skel->maps.code, (1 + LANES * LANE_UOPS) * sizeof(*a->uop));
	a->line = map_array(k->skel->maps.lines, sizeof(*a->line) << LANE_LINE_BITS);
	if (a->lane && a->uop && a->line)
		return 0;
	snprintf(why, n, "the program's maps cannot be mapped: %s", strerror(errno));
	kernel_close(k);
	return -1;
}

void kernel_close(struct kernel *k)
{
	struct arena *a = &k->arena;

	if (a->lane)
		munmap(a->lane, LANES * sizeof(*a->lane));
	if (a->uop)
		munmap(a->uop, (1 + LANES * LANE_UOPS) * sizeof(*a->uop));
	if (a->line)
		munmap(a->line, sizeof(*a->line) << LANE_LINE_BITS);
	interp_bpf__destroy(k->skel);
	memset(k, 0, sizeof(*k));
}

int kernel_run(struct kernel *k, uint32_t n)
{
	struct lane_range range = { .first = 0, .n = n };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &range, .ctx_size_in = sizeof(range));
	int err = bpf_prog_test_run_opts(bpf_program__fd(k->prog), &opts);

	if (err || opts.retval) {
		errno = err ? -err : EINVAL;
		return -1;
	}
	return 0;
}
