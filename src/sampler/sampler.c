/* SPDX-License-Identifier: MIT */
#include "sampler/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "observe/reuses.h"
#include "sampler.skel.h"
#include "sampler/backlog.h"
#include "sampler/caps.h"
#include "sampler/cgroup.h"
#include "sampler/decode.h"
#include "sampler/events.h"
#include "sampler/files.h"
#include "sampler/kernel_names.h"
#include "sampler/kernel_types.h"
#include "sampler/lifting.h"
#include "sampler/members.h"
#include "sampler/ring.h"
#include "sampler/sampler.h"
#include "sampler/slots.h"
#include "sampler/stacks.h"
#include "sampler/watches.h"

const struct sampler_options sampler_defaults = {
	.rate = 997,
	.burst = 256,
	.code_kuops = 2048,
	.neighbourhood = 4096,
};

/* A sample in a file that is not known yet, kept until the file is. */
struct pending {
	struct file_key key;
	uint64_t offset; /* offset in the file */
	uint64_t time, period;
	uint32_t pid, tid;
	char name[32];
};
#define PENDING_MAX 65536

#define DEVICES_NS 100000000 /* ns between two periodic searches for devices */
#define LOOK_NS 5000000 /* ns between two searches of one process that the kernel side asked for */
#define BACKLOG_MOST (2u << 20) /* bytes of waiting records at which observing them begins */
#define BACKLOG_FULL \
	(4u << 20) /* bytes of waiting records at which further ones stay in the ring buffer */
#define BACKLOG_ROUNDS \
	16 /* rounds of BACKLOG_MOST between two checks for signals; a ring buffer holds no more */
#define BACKLOG_TURN 16 /* records that are observed between two checks for urgent ones */

/* Rare windows (bpf/rare.h): how many for each of the timer's at most, the divisor of their length,
 * and how many may begin at once. */
#define RARE_RATE 8
#define RARE_BURST 4
#define RARE_SAVED 256
/* Mean bytes of a stack in the ring buffer: most are lists of frames, few are copies. */
#define STACK_USUAL 2048
#define RARE_MORE 1024 /* instructions after each branch that goes a way for the first time */

#define LATEST_NS \
	1000000 /* longest time from an interrupt until its records are in the ring buffer */
#define LATELY 64
#define STACK_SPACES 4096 /* most processes whose mappings the kernel side knows */
struct lately {
	uint32_t pid;
	uint64_t time;
};

struct sampler {
	struct sampler_options o;
	struct sampler_bpf *bpf;
	struct bpf_program *prog; /* the variant of the kernel side that this kernel accepts */
	struct ring ring;
	struct backlog backlog;
	struct watches *watches;	       /* watchpoints, or NULL */
	struct slots *slots;		       /* the policy of slots, or NULL */
	struct tables_memory tables;	       /* the tables of call stacks */
	struct bpf_link *on_started, *on_born; /* bpf/started.h */
	struct walker *walker;		       /* walks call stacks; or NULL */
	struct sideband *sideband;	       /* the walker's; or NULL */
	uint64_t enabled;		       /* when sampling began; ns, CLOCK_MONOTONIC */
	void *filter_map;
	struct events events, rare; /* events of rare windows; opened only with o.branches */
	struct members members;
	struct lifting lifting;
	struct files files;
	struct profile *profile;
	uint32_t kernel_image, anon_image, vdso_image;
	sampler_sink sink;
	void *ctx;
	struct err sink_err;
	bool failed;
	bool more; /* records were left in the ring buffer */
	struct pending *pending;
	size_t npending, pending_cap;
	uint64_t unattributed, lost_pending, user_samples;
	uint64_t stop[RA_STOP_N];
	struct sampler_counters n;
	/* processes whose mappings were read lately: for files, for devices */
	struct lately synced[LATELY], looked[LATELY];
	uint64_t devices_noted;
	struct retired ri[RA_LONG_MAX];
};

static int deliver(struct sampler *s, const struct window *w)
{
	if (s->sink(s->ctx, w, &s->sink_err)) {
		s->failed = true;
		return -1;
	}
	return 0;
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (level == LIBBPF_WARN && getenv("ASSAY_DEBUG"))
		return vfprintf(stderr, fmt, ap);
	return 0;
}

/* Lifting. */

static void lift(struct sampler *s, uint32_t image, uint64_t addr)
{
	double sampled = (double)s->user_samples * 1e9 / s->o.rate;

	lifting_lift(&s->lifting, &s->files, sampled, image, addr);
}

static void lift_missing(struct sampler *s, const struct sample *h)
{
	lift(s, h->stop_image, h->target - h->stop_bias);
}

/* Mappings. */

/* True at most once in ns nanoseconds for each process in the list. */
static bool once_in(uint64_t ns, struct lately *list, const struct sample *h)
{
	struct lately *l = &list[h->pid % LATELY];

	if (l->pid == h->pid && h->time - l->time < ns)
		return false;
	*l = (struct lately){ h->pid, h->time };
	return true;
}

static bool may_sync(struct sampler *s, const struct sample *h)
{
	return once_in(50000000, s->synced, h);
}

static bool may_look(struct sampler *s, const struct sample *h)
{
	return once_in(LOOK_NS, s->looked, h);
}

static struct device_look look_of(const struct sample *h)
{
	return (struct device_look){ .pid = (pid_t)h->pid, .mm = h->mm, .other = h->other };
}

static void resolve_all(struct sampler *s, const struct sample *h)
{
	struct device_look look = look_of(h);

	files_resolve_all(&s->files, look.pid, &look);
}

/*
 * Looks for devices where the kernel side asks for it, and every DEVICES_NS: memory that is unmapped between two
 * interrupts can hide a device that is mapped between the same two.
 */
static void note_devices(struct sampler *s, const struct sample *h)
{
	struct device_look look = look_of(h);

	if (h->flags & SAMPLE_LOOK ? !may_look(s, h) : h->time - s->devices_noted < DEVICES_NS)
		return;
	s->devices_noted = h->time;
	files_note_devices(&s->files, &look);
}

static int keep_pending(struct sampler *s, const struct sample *h, const struct sample_vma *v)
{
	struct pending *p = s->pending;

	if (s->npending == PENDING_MAX) {
		s->lost_pending++;
		return 0;
	}
	if (s->npending == s->pending_cap) {
		size_t n = s->pending_cap ? 2 * s->pending_cap : 256;

		p = realloc(p, n * sizeof(*p));
		if (!p) {
			s->lost_pending++;
			return 0;
		}
		s->pending = p;
		s->pending_cap = n;
	}
	p += s->npending++;
	*p = (struct pending){ .key = { v->ino, v->dev },
			       .offset = h->ip - v->start + v->pgoff,
			       .time = h->time,
			       .period = h->period,
			       .pid = h->pid,
			       .tid = h->tid };
	memcpy(p->name, v->name, sizeof(p->name));
	p->name[sizeof(p->name) - 1] = 0;
	return 0;
}

static int deliver_at(struct sampler *s, struct window *w, uint32_t image, uint64_t addr)
{
	w->start = (struct site_id){ .image = image, .addr = addr };
	return deliver(s, w);
}

/* Retries the samples that waited for their files: those whose file is known by now, or all at the
 * end. */
static int settle_pending(struct sampler *s, bool all)
{
	size_t k = 0;

	for (size_t i = 0; i < s->npending; i++) {
		struct pending *p = &s->pending[i];
		struct mapped_file *m = files_find(&s->files, p->key);
		struct window w = { .pid = p->pid,
				    .tid = p->tid,
				    .time = p->time,
				    .weight = (double)p->period,
				    .stop = RA_STOP_UNMAPPED };
		struct profile_image *pi;

		if (!m && !all) {
			s->pending[k++] = *p;
			continue;
		}
		if (m) {
			if (deliver_at(s, &w, m->image, files_addr(m, p->offset)))
				return -1;
			continue;
		}
		s->unattributed++;
		pi = profile_image(s->profile, IMAGE_UNKNOWN, p->name, "");
		if (deliver_at(s, &w, pi ? pi->id : 0, p->offset))
			return -1;
	}
	s->npending = k;
	return 0;
}

static int deliver_generated(struct sampler *s, const struct sample *h, struct window *w)
{
	files_note_generator(&s->files, (pid_t)h->pid);
	return deliver_at(s, w, s->anon_image, h->ip);
}

/* Handles a sample in a mapping that the kernel side did not know. */
static int on_new_mapping(struct sampler *s, const struct sample *h, const struct sample_vma *v,
			  struct window *w)
{
	struct file_key key = { v->ino, v->dev };
	struct mapped_file *m;
	char name[256];

	if (!v->ino) {
		bool vdso =
			files_mapping_name(&s->files, (pid_t)h->pid, h->ip, name, sizeof(name)) &&
			!strcmp(name, "[vdso]");

		return vdso ? deliver_at(s, w, s->vdso_image, h->ip) : deliver_generated(s, h, w);
	}
	m = files_resolve(&s->files, (pid_t)h->pid, key, v->name);
	if (!m)
		return keep_pending(s, h, v);
	if (may_sync(s, h))
		resolve_all(s, h);
	w->start.addr = files_addr(m, h->ip - v->start + v->pgoff);
	lift(s, m->image, w->start.addr);
	return deliver_at(s, w, m->image, w->start.addr);
}

/* Handles a user sample whose mapping was not found in the interrupt. */
static int on_unplaced(struct sampler *s, const struct sample *h, struct window *w)
{
	char name[256] = "";

	if (h->stop == RA_STOP_NOIMAGE) {
		bool vdso =
			(h->ip & ~0xfffull) != 0 && may_sync(s, h) &&
			files_mapping_name(&s->files, (pid_t)h->pid, h->ip, name, sizeof(name)) &&
			!strcmp(name, "[vdso]");

		return vdso ? deliver_at(s, w, s->vdso_image, h->ip) : deliver_generated(s, h, w);
	}
	if (may_sync(s, h))
		resolve_all(s, h);
	s->unattributed++;
	return deliver_at(s, w, 0, h->ip);
}

/* Takes reuse times from the whole window; the window's other uses see the usual length only. */
static int note_reuses(struct sampler *s, struct window *w)
{
	if (reuses_window(s->profile, w, profile_window_weight(s->profile, w->start))) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "the sampler");
	}
	if (w->n > s->o.burst)
		w->n = s->o.burst;
	return 0;
}

static struct window window_of(struct sampler *s, const struct sample *h)
{
	return (struct window){ .pid = h->pid,
				.tid = h->tid,
				.time = h->time,
				.weight = (double)h->period,
				.stop = h->stop,
				.rare = h->flags & SAMPLE_RARE,
				.stands = h->flags >> SAMPLE_STANDS_SHIFT,
				.start = { .image = h->image, .addr = h->ip - h->bias },
				.ri = s->ri };
}

static int observe_user(struct sampler *s, const struct sample *h, const uint64_t *words,
			uint32_t n)
{
	struct window w = window_of(s, h);

	w.stack = s->walker ? walker_frame(s->walker, h->tid, h->time) : 0;
	w.n = decode_window(&s->lifting.code, words, n, s->ri, RA_LONG_MAX);
	if (s->o.branches && w.n > s->o.burst)
		w.extra = w.n - s->o.burst;
	if (s->watches && w.n && note_reuses(s, &w))
		return -1;
	if (s->slots && slots_window(s->slots, &w)) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "the policy");
	}
	return deliver(s, &w);
}

static int observe_kernel(struct sampler *s, const struct sample *h)
{
	struct window w = {
		.pid = h->pid, .tid = h->tid, .time = h->time, .weight = (double)h->period
	};

	return deliver_at(s, &w, s->kernel_image, h->ip);
}

static uint32_t words_behind(size_t bytes)
{
	return (uint32_t)((bytes - sizeof(struct sample)) / 8);
}

static int observe(struct sampler *s, const struct sample *h, size_t bytes)
{
	if (h->kind == SAMPLE_USER)
		return observe_user(s, h, (const uint64_t *)(h + 1), words_behind(bytes));
	return observe_kernel(s, h);
}

/* Does at once what cannot wait until the window is observed: the window's process may end, and the
 * next window may need the same code. */
static void supply_missing(struct sampler *s, const struct sample *h, const uint64_t *words,
			   uint32_t n)
{
	struct window w;

	if (h->stop == RA_STOP_MISS)
		lift_missing(s, h);
	if (h->stop == RA_STOP_UNMAPPED && may_sync(s, h))
		resolve_all(s, h);
	if (s->watches && h->flags & SAMPLE_PICK && watches_wanted(s->watches, h->tid)) {
		w = window_of(s, h);
		w.n = decode_window(&s->lifting.code, words, n, s->ri, RA_BURST_MAX);
		watches_pick(s->watches, &w);
	}
}

/* Places a waiting sample by the process's present mappings. True if that completes the sample. */
static bool on_user(struct sampler *s, const struct sample *h, const uint64_t *words, uint32_t n)
{
	struct window w = window_of(s, h);

	note_devices(s, h);
	s->user_samples += !w.rare;
	if (h->stop < RA_STOP_N && !w.rare)
		s->stop[h->stop]++;
	if ((h->flags & SAMPLE_VMA) && n * 8 >= sizeof(struct sample_vma)) {
		on_new_mapping(s, h, (const struct sample_vma *)words, &w);
		return true;
	}
	if (!h->image || h->image == PROC_NOIMAGE) {
		on_unplaced(s, h, &w);
		return true;
	}
	supply_missing(s, h, words, n);
	return false;
}

static void on_watch(struct sampler *s, const struct sample_watch *h)
{
	if (s->watches)
		watches_hit(s->watches, h->tid, h->addr, h->hits, h->running);
}

static uint64_t since(const struct sampler *s, uint64_t time)
{
	return time > s->enabled ? time - s->enabled : 0;
}

static int walked(struct sampler *s, int rc)
{
	if (!rc)
		return 0;
	s->failed = true;
	return err_no_memory(&s->sink_err, "call stacks");
}

static int on_frames(struct sampler *s, const struct unwind_frames *k, size_t bytes)
{
	return s->walker ? walked(s, walker_add_frames(s->walker, k, bytes, since(s, k->time))) : 0;
}

/* Done at once, because the process may end, and its mappings with it. The sample's window is
 * observed later. */
static int on_stack(struct sampler *s, const struct sample_stack *k, size_t bytes)
{
	return s->walker ? walked(s, walker_add(s->walker, k, bytes, since(s, k->time))) : 0;
}

static int on_record(void *ctx, const void *data, size_t size)
{
	const struct sample *h = data;
	struct sampler *s = ctx;

	if (size >= sizeof(struct sample_watch) && h->kind == SAMPLE_WATCH) {
		on_watch(s, data);
		return s->failed ? -1 : 0;
	}
	if (size >= offsetof(struct unwind_frames, frame) && h->kind == SAMPLE_FRAMES && !s->failed)
		return on_frames(s, data, size);
	if (size < sizeof(*h) || s->failed)
		return s->failed ? -1 : 0;
	if (h->kind == SAMPLE_STACK)
		return on_stack(s, data, size);
	if (h->kind == SAMPLE_USER && on_user(s, h, (const uint64_t *)(h + 1), words_behind(size)))
		return s->failed ? -1 : 0;
	if (!backlog_put(&s->backlog, data, size)) {
		s->failed = true;
		return err_no_memory(&s->sink_err, "samples");
	}
	/* the records that remain in the ring buffer are taken after these have been observed */
	return backlog_waiting(&s->backlog) < BACKLOG_FULL ? 0 : -EAGAIN;
}

/* Opening. */

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
static uint32_t ring_bytes(const struct sampler_options *o)
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

static int open_walker(struct sampler *s, struct err *err)
{
	struct walker_options o = { .files = &s->files,
				    .kernel_image = s->kernel_image,
				    .vdso_image = s->vdso_image,
				    .anon_image = s->anon_image,
				    .spaces = bpf_map__fd(s->bpf->maps.unwind_spaces),
				    .memory = s->tables };

	s->walker = walker_new(&o);
	return s->walker ? 0 : err_no_memory(err, "the sampler");
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
	uint32_t uops = s->o.code_kuops * 1024, bits = log2_up(uops / 16), ring = ring_bytes(&s->o);
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
	return 0;
}

static int load(struct sampler *s, struct err *err)
{
	int types = kernel_types_open(), rc = load_with(s, types, err);

	if (types >= 0)
		close(types);
	return rc;
}

static void unload(struct sampler *s)
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

/* Loads the kernel side; without call stacks if it does not load with them. */
static int load_what_loads(struct sampler *s, struct err *err)
{
	struct err why;

	if (!s->o.stacks)
		return load(s, err);
	if (!load(s, &why))
		return 0;
	unload(s);
	s->o.stacks = false;
	if (load(s, err))
		return -1;
	log_warn("no call stacks are recorded: %s", why.msg);
	return 0;
}

static int add_images(struct sampler *s, struct err *err)
{
	struct profile_image *kernel = profile_image(s->profile, IMAGE_KERNEL, "[kernel]", ""),
			     *anon = profile_image(s->profile, IMAGE_ANON, "[anon]", ""),
			     *vdso = profile_image(s->profile, IMAGE_VDSO, "[vdso]", "");

	if (!kernel || !anon || !vdso)
		return err_no_memory(err, "the sampler");
	s->kernel_image = kernel->id;
	s->anon_image = anon->id;
	s->vdso_image = vdso->id;
	return 0;
}

struct sampler *sampler_open(const struct sampler_options *o, struct profile *p,
			     const struct broker *broker, sampler_sink sink, void *ctx,
			     struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	struct devices devices;
	struct caps caps;
	int kind;

	if (!s) {
		err_no_memory(err, "the sampler");
		return NULL;
	}
	s->o = *o;
	s->profile = p;
	s->sink = sink;
	s->ctx = ctx;
	s->filter_map = MAP_FAILED;
	s->ring.epoll = -1;
	caps_read(&caps);
	kind = o->event ? !strcmp(o->event, "cycles") : caps.pmu;
	if (caps_check(&caps, err) || add_images(s, err) || load_what_loads(s, err))
		goto fail;
	if (ring_open(&s->ring, bpf_map__fd(s->bpf->maps.ring), ring_bytes(&s->o), err))
		goto fail;
	if (o->watch) {
		s->watches = watches_new(p, bpf_program__fd(s->bpf->progs.on_watch));
		if (!s->watches) {
			err_no_memory(err, "the sampler");
			goto fail;
		}
	}
	devices = (struct devices){ .map = bpf_map__fd(s->bpf->maps.devices),
				    .changes = &s->bpf->bss->device_changes };
	files_init(&s->files, p, &s->lifting.code, bpf_map__fd(s->bpf->maps.files), &devices,
		   broker);
	if (s->o.stacks && open_walker(s, err))
		goto fail;
	events_init(&s->events, kind ? EVENT_CYCLES : EVENT_CPU_CLOCK, o->rate,
		    bpf_program__fd(s->prog));
	events_init(&s->rare, EVENT_FAULTS, o->rate, bpf_program__fd(s->prog));
	s->events.no_children = s->rare.no_children = o->no_children;
	s->events.no_idle = o->command;
	return s;
fail:
	sampler_close(s);
	return NULL;
}

/* Lets the kernel side note the addresses of started programs. Stacks of processes without such a note are copied. */
static void note_starts(struct sampler *s)
{
	s->on_started = bpf_program__attach(s->bpf->progs.on_started);
	s->on_born = bpf_program__attach(s->bpf->progs.on_born);
}

static void end_starts(struct sampler *s)
{
	bpf_link__destroy(s->on_started);
	bpf_link__destroy(s->on_born);
	s->on_started = s->on_born = NULL;
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	events_fini(&s->events);
	events_fini(&s->rare);
	members_fini(&s->members);
	end_starts(s);
	watches_free(s->watches);
	walker_free(s->walker);
	ring_close(&s->ring);
	backlog_fini(&s->backlog);
	files_fini(&s->files);
	unload(s);
	free(s->pending);
	free(s);
}

/* Opens events of the CPUs, for everything that runs there or for a control group's processes. */
static int add_cpus(struct sampler *s, int cgroup, struct err *err)
{
	if (events_add_cpus(&s->events, cgroup, err))
		return -1;
	return s->o.branches ? events_add_cpus(&s->rare, cgroup, err) : 0;
}

/* Subscribes to the kernel's records of processes, for call stacks. Where the kernel sends none, mappings are read from
 * /proc alone. */
static int follow(struct sampler *s, int cgroup, pid_t only, struct err *err)
{
	struct err why;

	if (!s->walker)
		return 0;
	s->sideband = sideband_open(cgroup, &why);
	if (!s->sideband) {
		log_warn("call stacks of processes that live shortly may be cut: %s", why.msg);
		return 0;
	}
	walker_follow(s->walker, s->sideband, only);
	note_starts(s);
	return sideband_watch(s->sideband, s->ring.epoll, err);
}

int sampler_attach_command(struct sampler *s, pid_t pid, struct err *err)
{
	return add_cpus(s, -1, err) || members_await(&s->members, s->bpf, err) ||
			       follow(s, -1, pid, err)
		       ? -1
		       : 0;
}

/* Opens the rare windows of the family's members from that number on. A member that has ended gets
 * none. */
static int attach_rare(struct sampler *s, const struct family *f, size_t from, struct err *err)
{
	struct err why;

	for (size_t i = from; s->o.branches && i < f->n; i++) {
		size_t before = s->rare.n;

		if (!events_add_process(&s->rare, f->pid[i], &why))
			continue;
		if (errno == EMFILE || errno == ENOMEM) {
			*err = why;
			return -1;
		}
		events_keep(&s->rare, before);
	}
	return 0;
}

int sampler_attach_process(struct sampler *s, struct family *f, pid_t pid, struct err *err)
{
	size_t before = f->n;

	return family_add(f, &s->events, pid, err) || attach_rare(s, f, before, err) ? -1 : 0;
}

int sampler_attach_descendants(struct sampler *s, struct family *f, struct err *err)
{
	size_t before = f->n;

	return family_follow(f, &s->events, err) || attach_rare(s, f, before, err) ? -1 : 0;
}

int sampler_attach_thread(struct sampler *s, pid_t tid, struct err *err)
{
	if (events_add_thread(&s->events, tid, err))
		return -1;
	return s->o.branches ? events_add_thread(&s->rare, tid, err) : 0;
}

int sampler_attach_all(struct sampler *s, struct err *err)
{
	return add_cpus(s, -1, err) || follow(s, -1, 0, err) ? -1 : 0;
}

int sampler_attach_cgroup(struct sampler *s, const char *name, struct err *err)
{
	int rc, fd = cgroup_open(name, err);

	if (fd < 0)
		return -1;
	rc = add_cpus(s, fd, err) || follow(s, fd, 0, err) ? -1 : 0;
	close(fd);
	return rc;
}

/* Before Linux 6.0 every use of a map needs CAP_BPF if kernel.unprivileged_bpf_disabled is set. */
static bool maps_want_privilege(const struct sampler *s)
{
	cap_t had = cap_get_proc(), none = had ? cap_dup(had) : NULL;
	struct sampler_counters n;
	uint32_t first = 0;
	bool refused = true;

	if (none && !cap_clear_flag(none, CAP_EFFECTIVE) && !cap_set_proc(none)) {
		refused = bpf_map_lookup_elem(bpf_map__fd(s->bpf->maps.counters), &first, &n) &&
			  errno == EPERM;
		cap_set_proc(had);
	}
	cap_free(had);
	cap_free(none);
	return refused;
}

size_t sampler_needs(const struct sampler *s, cap_value_t need[SAMPLER_NEEDS])
{
	size_t n = 0;

	if (maps_want_privilege(s))
		need[n++] = CAP_BPF;
	if (s->watches)
		need[n++] = CAP_PERFMON;
	return n;
}

void sampler_look(struct sampler *s, pid_t pid)
{
	files_resolve_all(&s->files, pid, NULL);
}

int sampler_enable(struct sampler *s, struct err *err)
{
	s->enabled = clock_ns(CLOCK_MONOTONIC);
	if (s->sideband && sideband_enable(s->sideband, err))
		return -1;
	return events_enable(&s->rare, err) || events_enable(&s->events, err) ? -1 : 0;
}

int sampler_fd(const struct sampler *s)
{
	return s->ring.epoll;
}

/* Reads records from the ring buffer. */
static int take_records(struct sampler *s, struct err *err)
{
	uint64_t before = clock_ns(CLOCK_MONOTONIC) - LATEST_NS;
	int n = ring_read(&s->ring, on_record, s);

	if (s->walker && n >= 0) /* no older records are left in the ring buffer */
		walker_advance(s->walker, before);
	if (s->watches)
		watches_expire(s->watches, clock_ns(CLOCK_MONOTONIC));
	if (s->npending)
		settle_pending(s, false);
	if (s->failed) {
		*err = s->sink_err;
		return -1;
	}
	s->more = n == -EAGAIN;
	return n < 0 && n != -EAGAIN ? err_no_memory(err, "the ring buffer") : 0;
}

int sampler_observe(struct sampler *s, struct err *err)
{
	size_t left = backlog_waiting(&s->backlog), bytes, took = 0;
	const void *record;

	/* records that arrive meanwhile are observed the next time */
	for (unsigned i = 1; took < left; i++) {
		record = backlog_take(&s->backlog, &bytes);
		if (!record)
			break;
		took += 8 + (bytes + 7) / 8 * 8;
		if (observe(s, record, bytes)) {
			*err = s->sink_err;
			return -1;
		}
		if (i % BACKLOG_TURN == 0 && backlog_waiting(&s->backlog) < BACKLOG_FULL &&
		    take_records(s, err))
			return -1;
	}
	return 0;
}

int sampler_poll(struct sampler *s, struct err *err)
{
	s->more = true;
	for (int i = 0; s->more && i < BACKLOG_ROUNDS; i++) {
		if (take_records(s, err))
			return -1;
		if (backlog_waiting(&s->backlog) > BACKLOG_MOST && sampler_observe(s, err))
			return -1;
	}
	return 0;
}

/* Makes room for other code, in place of what was lifted. */
static int make_room(struct sampler *s, struct err *err)
{
	if (!s->lifting.hidden && !lifting_hide(&s->lifting))
		return 0;
	if (sampler_poll(s, err))
		return -1;
	/* records that are still in the ring buffer may be of windows that ran before */
	if (s->more)
		return 0;
	if (sampler_observe(s, err))
		return -1;
	lifting_empty(&s->lifting);
	return 0;
}

int sampler_rest(struct sampler *s, struct err *err)
{
	files_rest(&s->files);
	return s->lifting.full ? make_room(s, err) : 0;
}

void sampler_thin(struct sampler *s, unsigned every)
{
	s->bpf->data->budget_every = every;
}

void sampler_redraw(struct sampler *s)
{
	events_redraw(&s->events);
}

static void add_counters(struct sampler_counters *sum, const struct sampler_counters *n)
{
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)n;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void read_counters(struct sampler *s)
{
	int ncpu = libbpf_num_possible_cpus(), fd = bpf_map__fd(s->bpf->maps.counters);
	struct sampler_counters n;

	memset(&s->n, 0, sizeof(s->n));
	for (uint32_t cpu = 0; cpu < (uint32_t)ncpu; cpu++)
		if (!bpf_map_lookup_elem(fd, &cpu, &n))
			add_counters(&s->n, &n);
}

int sampler_stop(struct sampler *s, struct err *err)
{
	int rc;

	events_fini(&s->events);
	events_fini(&s->rare);
	if (members_unfollowed(s->bpf))
		log_warn("%llu processes were not followed: there were too many at once",
			 (unsigned long long)members_unfollowed(s->bpf));
	members_fini(&s->members);
	end_starts(s);
	if (s->watches)
		watches_stop(s->watches);
	rc = sampler_poll(s, err) || sampler_observe(s, err) ? -1 : 0;
	if (s->watches && watches_settle(s->watches) && !rc)
		rc = err_no_memory(err, "the sampler");
	if (settle_pending(s, true) && !rc) {
		*err = s->sink_err;
		rc = -1;
	}
	read_counters(s);
	return rc;
}

static void name_kernel_procedures(struct sampler *s)
{
	struct kernel_names k = { .prog = bpf_program__fd(s->bpf->progs.name_code),
				  .address = &s->bpf->bss->code_address,
				  .answer = s->bpf->bss->code_name };
	struct profile_image *pi = s->profile->image[s->kernel_image];
	struct kernel_name n = { 0 };
	struct site *site;
	size_t cap = 0;

	SITES_EACH(&s->profile->sites, site)
	{
		if (site->id.image != s->kernel_image ||
		    (site->id.addr >= n.start && site->id.addr < n.end) ||
		    !kernel_names_at(&k, site->id.addr, &n))
			continue;
		if (!files_add_procedure(pi, n.start, n.end, n.name, &cap))
			break;
	}
	files_sort_procedures(pi);
}

void sampler_name_procedures(struct sampler *s)
{
	lifting_close(&s->lifting); /* reading names takes memory, and no window is run any more */
	files_name_procedures(&s->files);
	if (s->walker)
		walker_name_procedures(s->walker);
	name_kernel_procedures(s);
}

static void count_policy(const struct sampler *s, struct run_counters *n)
{
	struct slots_counts c;

	slots_count(s->slots, &c);
	n->policy_operands = c.operands;
	n->policy_masked = c.masked;
	n->policy_reopened = c.reopened;
	n->policy_thrashed = c.thrashed;
}

void sampler_fill_run(struct sampler *s, struct run *r)
{
	struct run_counters *n = &r->n;

	if (s->bpf)
		read_counters(s);
	if (!r->event)
		r->event = strdup(event_name[s->events.kind]);
	if (!r->unit)
		r->unit = strdup(s->events.kind == EVENT_CYCLES ? "cycles" : "ns");
	r->rate = s->o.rate;
	r->burst = s->o.burst;
	n->user = s->n.user;
	n->kernel = s->n.kernel;
	n->idle = s->n.idle;
	n->samples = n->user + n->kernel + n->idle;
	n->windows = s->n.windows;
	n->rare = s->n.rare;
	n->instructions = s->n.instructions;
	n->uops = s->n.uops;
	n->ahead_ns = s->n.ahead_ns;
	n->lost_ring = s->n.lost_ring;
	n->stacks = s->n.stacks;
	n->stack_frames = s->n.stack_frames;
	n->stack_copies = s->n.stack_copies;
	n->walk_ns = s->n.walk_ns;
	n->stack_ns = s->n.stack_ns;
	n->lost_stacks = s->n.lost_stacks;
	n->lost_nested = s->n.lost_nested;
	n->lost_map = s->n.lost_map + s->lost_pending;
	n->unattributed = s->unattributed;
	n->lifted = s->lifting.code.lifted;
	n->lift_ns = s->lifting.ns;
	memcpy(n->stop, s->stop, sizeof(n->stop));
	if (s->watches)
		watches_count(s->watches, n);
	if (s->slots)
		count_policy(s, n);
}
