/* SPDX-License-Identifier: MIT */
/* Loads the kernel side: the sizes of its maps, what it is told, and the tables that it shares with the recorder. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "sampler/caps.h"
#include "sampler/kernel_types.h"
#include "sampler/sampler_priv.h"

/* Rare windows (bpf/rare.h): how many for each of the timer's at most, the divisor of their length,
 * and how many may begin at once. */
#define RARE_RATE 8
#define RARE_BURST 4
#define RARE_SAVED 256
/* Mean bytes of a stack in the ring buffer: most are lists of frames, few are copies. */
#define STACK_USUAL 2048
#define RARE_MORE 1024	  /* instructions after each branch that goes a way for the first time */
#define STACK_SPACES 4096 /* most processes whose mappings the kernel side knows */

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && getenv("ASSAY_DEBUG"))
		return vfprintf(stderr, fmt, ap);
	return 0;
}

static uint32_t log2_up(uint32_t v)
{
	uint32_t b = 0;

	while (1u << b < v)
		b++;
	return b;
}

/*
 * Room for a second of full windows of some 12 bytes an instruction, and of usual stacks: 16 to 64 MiB. With 8 MiB, 2.4
 * % of the samples of a machine with four times as many threads as CPUs were lost while a snapshot was written.
 */
uint32_t sampler_ring_bytes(const struct sampler_options *o)
{
	double sample = o->burst * 12 + (o->stacks ? STACK_USUAL : 0);
	double want = o->rate * libbpf_num_possible_cpus() * sample;
	uint32_t mib = 16;

	if (o->ring_mib)
		return o->ring_mib << 20;
	while (mib < 64 && mib * 1048576.0 < want)
		mib *= 2;
	return mib << 20;
}

static int open_policy(struct sampler *s, struct err *err)
{
	s->filter_map = mmap(NULL, FILTER_PLACES * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			     MAP_SHARED, bpf_map__fd(s->bpf->maps.filter), 0);
	if (s->filter_map == MAP_FAILED)
		return err_sys(err, "cannot map the filter of windows");
	s->slots = slots_new(s->filter_map);
	return s->slots ? 0 : err_no_memory(err, "the sampler");
}

static void size_stacks(struct sampler_bpf *b)
{
	uint32_t cpus = (uint32_t)libbpf_num_possible_cpus();

	bpf_map__set_max_entries(b->maps.stacks, cpus);
	bpf_map__set_max_entries(b->maps.started, STACK_SPACES);
	bpf_map__set_max_entries(b->maps.unwind_walks, cpus);
	bpf_map__set_max_entries(b->maps.unwind_spaces, STACK_SPACES);
	bpf_map__set_max_entries(b->maps.unwind_images, UNWIND_IMAGES);
	bpf_map__set_max_entries(b->maps.unwind_pages, UNWIND_PAGES);
	bpf_map__set_max_entries(b->maps.unwind_lines, UNWIND_ROWS / UNWIND_LINE);
	bpf_map__set_max_entries(b->maps.unwind_rules, UNWIND_RULES);
}

/* Maps a table of the kernel side, which stays mapped until the recorder ends. NULL with err set. */
static void *map_table(struct bpf_map *map, size_t bytes, struct err *err)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (at != MAP_FAILED)
		return at;
	err_sys(err, "cannot map the tables of call stacks");
	return NULL;
}

static int map_tables(struct sampler *s, struct err *err)
{
	struct tables_memory *m = &s->tables;

	m->image = map_table(s->bpf->maps.unwind_images, UNWIND_IMAGES * sizeof(*m->image), err);
	m->page = map_table(s->bpf->maps.unwind_pages, UNWIND_PAGES * sizeof(*m->page), err);
	m->line = map_table(s->bpf->maps.unwind_lines, UNWIND_ROWS * sizeof(uint32_t), err);
	m->rule = map_table(s->bpf->maps.unwind_rules, UNWIND_RULES * sizeof(*m->rule), err);
	return m->image && m->page && m->line && m->rule ? 0 : -1;
}

/* Opens the kernel side. The file of types is read when it is loaded. */
static struct sampler_bpf *open_with(int types)
{
	char path[32];
	const struct bpf_object_open_opts o = { .sz = sizeof(o),
						.btf_custom_path = types < 0 ? NULL : path };

	snprintf(path, sizeof(path), "/proc/self/fd/%d", types);
	return sampler_bpf__open_opts(&o);
}

static int load_with(struct sampler *s, int types, struct err *err)
{
	uint32_t uops = s->o.code_kuops * 1024, bits = log2_up(uops / 16),
		 ring = sampler_ring_bytes(&s->o);
	struct sampler_bpf *b;
	bool in_place;

	libbpf_set_print(quiet);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	b = s->bpf = open_with(types);
	if (!b)
		return err_sys(err, "cannot open the kernel program");
	b->rodata->cfg_burst = s->o.burst;
	b->rodata->cfg_line_bits = bits;
	b->rodata->cfg_ring_bytes = ring;
	b->rodata->cfg_filter = s->o.slots;
	b->rodata->cfg_budget = s->o.budget;
	b->rodata->cfg_stack = s->o.stacks;
	if (s->o.stacks)
		size_stacks(b);
	in_place = caps_can_loop();
	bpf_program__set_autoload(in_place ? b->progs.on_sample_calls : b->progs.on_sample, false);
	s->prog = in_place ? b->progs.on_sample : b->progs.on_sample_calls;
	bpf_map__set_max_entries(b->maps.code, uops);
	bpf_map__set_max_entries(b->maps.lines, 1u << bits);
	bpf_map__set_max_entries(b->maps.cpus, (uint32_t)libbpf_num_possible_cpus());
	bpf_map__set_max_entries(b->maps.counters, (uint32_t)libbpf_num_possible_cpus());
	bpf_map__set_max_entries(b->maps.ring, ring);
	members_choose(b, s->o.command);
	bpf_program__set_autoload(b->progs.on_started, s->o.stacks);
	bpf_program__set_autoload(b->progs.on_born, s->o.stacks);
	if (s->o.branches) {
		b->rodata->cfg_rare_ns = (uint64_t)(1e9 / (s->o.rate * RARE_RATE));
		b->rodata->cfg_more = RARE_MORE;
		b->rodata->cfg_rare_saved = RARE_SAVED * b->rodata->cfg_rare_ns;
		b->rodata->cfg_rare_burst = (s->o.burst + RARE_BURST - 1) / RARE_BURST;
	}
	bpf_program__set_autoload(b->progs.on_watch, s->o.watch);
	if (s->o.watch) {
		b->rodata->cfg_pick_every = (uint32_t)(s->o.rate / WATCH_RATE) + 1;
		b->rodata->cfg_pick_burst = RA_BURST_MAX;
		b->rodata->cfg_watch_hits = WATCH_HITS;
	}
	if (sampler_bpf__load(b)) {
		err_sys(err, "the kernel refused the sampling program");
		return err_hint(
			err,
			"ASSAY_DEBUG=1 shows what it says; `assay doctor` what is allowed here");
	}
	if ((s->o.slots && open_policy(s, err)) || (s->o.stacks && map_tables(s, err)))
		return -1;
	if (lifting_open(&s->lifting, bpf_map__fd(b->maps.code), uops, bpf_map__fd(b->maps.lines),
			 bits, err))
		return -1;
	s->lifting.code.branches = s->o.branches;
	s->lifting.neighbourhood = s->o.neighbourhood;
	s->lifting.ahead = s->o.burst;
	return 0;
}

static int load(struct sampler *s, struct err *err)
{
	int types = kernel_types_open(), rc = load_with(s, types, err);

	if (types >= 0)
		close(types);
	return rc;
}

void sampler_unload(struct sampler *s)
{
	lifting_close(&s->lifting);
	slots_free(s->slots);
	if (s->filter_map != MAP_FAILED)
		munmap(s->filter_map, FILTER_PLACES * sizeof(uint64_t));
	sampler_bpf__destroy(s->bpf);
	s->filter_map = MAP_FAILED;
	s->slots = NULL;
	s->bpf = NULL;
}

int sampler_load(struct sampler *s, struct err *err)
{
	struct err why;

	if (!s->o.stacks)
		return load(s, err);
	if (!load(s, &why))
		return 0;
	sampler_unload(s);
	s->o.stacks = false;
	if (load(s, err))
		return -1;
	log_warn("no call stacks are recorded: %s", why.msg);
	return 0;
}
