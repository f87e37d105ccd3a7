/* SPDX-License-Identifier: MIT */
#include "sampler/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "sampler/caps.h"
#include "sampler/kernel_names.h"
#include "sampler/sampler_priv.h"

const struct sampler_options sampler_defaults = {
	.rate = 997,
	.burst = 256,
	.code_kuops = 1536,
	.neighbourhood = 4096,
};

#define BACKLOG_MOST (2u << 20) /* bytes of waiting records at which observing them begins */
/* Rounds of BACKLOG_MOST between two checks for signals; a ring buffer holds no more. */
#define BACKLOG_ROUNDS 16

int sampler_deliver(struct sampler *s, const struct window *w)
{
	if (s->sink(s->ctx, w, &s->sink_err)) {
		s->failed = true;
		return -1;
	}
	return 0;
}

int sampler_deliver_at(struct sampler *s, struct window *w, uint32_t image, uint64_t addr)
{
	w->start = (struct site_id){ .image = image, .addr = addr };
	return sampler_deliver(s, w);
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
	if (caps_check(&caps, err) || add_images(s, err) || sampler_load(s, err))
		goto fail;
	if (ring_open(&s->ring, bpf_map__fd(s->bpf->maps.ring), sampler_ring_bytes(&s->o), err))
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

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	events_fini(&s->events);
	events_fini(&s->rare);
	members_fini(&s->members);
	sampler_end_starts(s);
	watches_free(s->watches);
	walker_free(s->walker);
	ring_close(&s->ring);
	backlog_fini(&s->backlog);
	files_fini(&s->files);
	sampler_unload(s);
	free(s->pending);
	free(s);
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

int sampler_poll(struct sampler *s, struct err *err)
{
	s->more = true;
	for (int i = 0; s->more && i < BACKLOG_ROUNDS; i++) {
		if (sampler_take_records(s, err))
			return -1;
		if (backlog_waiting(&s->backlog) > BACKLOG_MOST && sampler_observe(s, err))
			return -1;
	}
	return 0;
}

/* Lifts again what windows saw, because they will most likely see it again. */
static void lift_again(struct sampler *s)
{
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	const struct site *site;

	SITES_EACH(&s->profile->sites, site)
	{
		if (site->seen && !code_again(&s->lifting.code, site->id.image, site->id.addr))
			break;
	}
	s->lifting.ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin;
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
	lift_again(s);
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

void sampler_look_at_pages(struct sampler *s)
{
	large_pages_look(&s->large_pages, s->files.broker);
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
	sampler_end_starts(s);
	if (s->watches)
		watches_stop(s->watches);
	rc = sampler_poll(s, err) || sampler_observe(s, err) ? -1 : 0;
	if (s->watches && watches_settle(s->watches) && !rc)
		rc = err_no_memory(err, "the sampler");
	if (sampler_settle(s, true) && !rc) {
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
	n->memory_kib = s->large_pages.memory_kib;
	n->large_kib = s->large_pages.large_kib;
	n->small_kib = s->large_pages.small_kib;
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
