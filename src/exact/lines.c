/* SPDX-License-Identifier: MIT */
/* The recorder's side of working sets: turns the engine's snapshots into the profile's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/search.h"
#include "exact/exact_priv.h"
#include "image/frames.h"
#include "observe/wset.h"

/* bytes below the known end of a stack that count as the stack, too */
#define STACK_GROWS (1ull << 30)
#define FRAMES_MAX 24
#define STACK_TEXT 2048
#define CHUNKS_MAX (1u << 20) /* chunks of 4096 lines: 256 GiB of memory with lines of 64 bytes */

struct mapped {
	uint64_t start, end;
	uint32_t region;
	bool stack;
};

struct lines_reader {
	struct wset *wset;     /* the profile's working set */
	struct wset_sets sets; /* sets of the present interval */
	struct wset_lines ever;
	struct mapped *mapped;
	size_t nmapped;
	char *stack;
	/* the count at the snapshot before; the time when recording began */
	uint64_t count, begun_wall;
	struct process_image *image; /* images of the processes that this one continues */
	size_t nimage;
	/* Code of the process's blocks, by the order of requests; n: bytes, 0: not known yet. */
	struct stretch {
		uint64_t pc;
		uint32_t n;
	} * code;
	uint64_t ncode;
};

static struct lines_reader *reader_of(struct exact *e, struct process *p, struct err *err)
{
	const struct exact_lines *l = &e->lines;
	struct lines_reader *r = p->lines;

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (r)
		r->wset = profile_wset(e->profile);
	if (!r || !r->wset) {
		free(r);
		err_no_memory(err, "the exact recording");
		return NULL;
	}
	r->wset->process = (uint32_t)e->profile->nwset - 1;
	r->wset->pid = p->pid;
	r->wset->parent = p->parent && p->parent->lines ? p->parent->lines->wset->pid : 0;
	r->wset->line = 1u << l->shift;
	r->wset->unit = (int)l->unit;
	r->wset->interval = l->interval;
	r->wset->max = l->snapshots;
	r->begun_wall = e->began_ns;
	p->lines = r;
	return r;
}

void lines_free(struct process *p)
{
	struct lines_reader *r = p->lines;

	if (!r)
		return;
	wset_sets_fini(&r->sets);
	wset_lines_fini(&r->ever);
	free(r->mapped);
	free(r->stack);
	free(r->image);
	free(r->code);
	free(r);
	p->lines = NULL;
}

int lines_go_on(struct process *p, struct process *from, struct err *err)
{
	struct lines_reader *r = from->lines;
	struct process_image *image;

	p->lines = r;
	from->lines = NULL;
	if (r) /* blocks are numbered anew */
		r->ncode = 0;
	if (!r || !from->nimage)
		return 0;
	image = realloc(r->image, (r->nimage + from->nimage) * sizeof(*image));
	if (!image)
		return err_no_memory(err, "the exact recording");
	memcpy(image + r->nimage, from->image, from->nimage * sizeof(*image));
	r->image = image;
	r->nimage += from->nimage;
	return 0;
}

static int too_many_lines(struct err *err)
{
	return exact_too_many("stretches of memory in its working set", CHUNKS_MAX, err);
}

static int kind_of(const char *name)
{
	if (!strcmp(name, "[heap]"))
		return WSET_KIND_HEAP;
	if (!strncmp(name, "[stack", 6))
		return WSET_KIND_STACK;
	return name[0] == '/' ? WSET_KIND_FILE : WSET_KIND_MAPPING;
}

static int take_mapping(struct lines_reader *r, const struct exact_mapping *m, struct err *err)
{
	char name[EXACT_PATH_MAX];
	long region;
	int kind;

	memcpy(name, m->name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	if (m->first)
		r->nmapped = 0;
	if (m->end <= m->start || (r->nmapped && m->start < r->mapped[r->nmapped - 1].end))
		return exact_bad(err);
	kind = kind_of(name);
	region = wset_region(r->wset, kind, name[0] ? name : "[anon]");
	if (region < 0 || !array_one_more(r->mapped, r->nmapped))
		return err_no_memory(err, "the exact recording");
	r->mapped[r->nmapped++] =
		(struct mapped){ m->start, m->end, (uint32_t)region, kind == WSET_KIND_STACK };
	return 0;
}

/* Returns the first mapping that ends behind the address, or none. */
static const struct mapped *mapped_at(const struct lines_reader *r, uint64_t addr)
{
	size_t low = search_first(i, 0, r->nmapped, r->mapped[i].end > addr);

	return low < r->nmapped ? &r->mapped[low] : NULL;
}

static bool holds(const struct mapped *m, uint64_t addr)
{
	return m && (addr >= m->start || (m->stack && m->start - addr <= STACK_GROWS));
}

int exact_touched_lines(const struct exact_touched *c, uint64_t bits[EXACT_CHUNK / 64])
{
	const uint16_t *list = (const void *)c->lines;

	if (c->r.size < sizeof(*c) || c->n > EXACT_CHUNK || c->chunk >= 1ull << 35 ||
	    c->r.size - sizeof(*c) < (c->listed ? 2ull * c->n : EXACT_CHUNK / 8))
		return -1;
	memset(bits, 0, EXACT_CHUNK / 8);
	if (!c->listed)
		memcpy(bits, c->lines, EXACT_CHUNK / 8);
	for (unsigned i = 0; c->listed && i < c->n; i++)
		bits[list[i] % EXACT_CHUNK / 64] |= 1ull << list[i] % 64;
	return 0;
}

/* Planes come one after the other. The first plane's lines are told apart when another plane has
 * some. */
static struct wset_chunk *chunk_of_plane(struct lines_reader *r, const struct exact_touched *c)
{
	if (!r->sets.thread.n && wset_join(&r->sets.thread, &r->sets.data, 0))
		return NULL;
	return wset_chunk(&r->sets.thread, c->chunk, c->plane);
}

/* Lines that are not mapped, because the access faulted, do not belong to the working set. */
static int take_touched(const struct exact *e, struct lines_reader *r,
			const struct exact_touched *c, struct err *err)
{
	unsigned shift = e->lines.shift;
	uint64_t bits[EXACT_CHUNK / 64], base = c->chunk * EXACT_CHUNK << shift;
	const struct mapped *m = NULL;
	struct wset_chunk *to = NULL, *by = NULL;

	if (exact_touched_lines(c, bits) || c->plane >= WSET_THREADS_MAX)
		return exact_bad(err);
	if (r->sets.data.n >= CHUNKS_MAX || r->sets.thread.n >= CHUNKS_MAX)
		return too_many_lines(err);
	if (c->plane) {
		by = chunk_of_plane(r, c);
		if (!by)
			return err_no_memory(err, "the exact recording");
	}
	for (unsigned k = 0; k < EXACT_CHUNK / 64; k++)
		for (uint64_t v = bits[k]; v; v &= v - 1) {
			uint64_t addr =
				base + ((64ull * k + (unsigned)__builtin_ctzll(v)) << shift);

			if (!holds(m, addr) || addr >= m->end) {
				m = mapped_at(r, addr);
				to = NULL;
			}
			if (!holds(m, addr))
				continue;
			if (!to)
				to = wset_chunk(&r->sets.data, c->chunk, m->region);
			if (!to)
				return err_no_memory(err, "the exact recording");
			to->bits[k] |= v & -v;
			if (by)
				by->bits[k] |= v & -v;
		}
	return 0;
}

/* *c: the chunk that was used last, or NULL. */
static int add_code(const struct exact *e, struct lines_reader *r, uint64_t pc, unsigned len,
		    struct wset_chunk **c)
{
	for (uint64_t i = pc >> e->lines.shift; i <= (pc + len - 1) >> e->lines.shift; i++) {
		if (!*c || (*c)->at != i / WSET_CHUNK)
			*c = wset_chunk(&r->sets.code, i / WSET_CHUNK, WSET_CODE);
		if (!*c)
			return -1;
		(*c)->bits[i % WSET_CHUNK / 64] |= 1ull << i % 64;
	}
	return 0;
}

/* The blocks' code lies side by side, because executed blocks are asked for in order at each
 * snapshot. */
static int widen_code(const struct process *p, struct lines_reader *r)
{
	return array_widen(r->code, r->ncode, 2ull * p->nblock) ? 0 : -1;
}

static const struct stretch *code_of(const struct process *p, struct lines_reader *r, uint64_t i)
{
	const struct code_block *b;

	if (!r->code[i].n) {
		b = p->block[i];
		if (b)
			r->code[i] = (struct stretch){ b->pc, b->len };
	}
	return &r->code[i];
}

static int take_ran(const struct exact *e, const struct process *p, struct lines_reader *r,
		    const struct exact_ran *c, struct err *err)
{
	struct wset_chunk *chunk = NULL;

	if (c->bytes > c->r.size - sizeof(*c))
		return exact_bad(err);
	if (r->sets.code.n >= CHUNKS_MAX)
		return too_many_lines(err);
	if (r->ncode < p->nblock && widen_code(p, r))
		return err_no_memory(err, "the exact recording");
	for (uint64_t at = 0; at < c->bytes; at++)
		for (unsigned v = c->blocks[at]; v; v &= v - 1) {
			uint64_t i = c->first + 8 * at + (unsigned)__builtin_ctz(v);
			const struct stretch *b = i < p->nblock ? code_of(p, r, i) : NULL;

			if (b && b->n && add_code(e, r, b->pc, b->n, &chunk))
				return err_no_memory(err, "the exact recording");
		}
	return 0;
}

/* Reads where the program stood. */

struct walk {
	const struct exact *e;
	const struct process *p;
	const struct exact_stack *s;
	size_t n; /* bytes of the stack that were copied */
};

static const struct process_image *image_at(const struct process *p, uint64_t pc)
{
	const struct lines_reader *r = p->lines;

	for (size_t i = p->nimage; i-- > 0;)
		if (pc >= p->image[i].start && pc < p->image[i].end)
			return &p->image[i];
	for (size_t i = r->nimage; i-- > 0;)
		if (pc >= r->image[i].start && pc < r->image[i].end)
			return &r->image[i];
	return NULL;
}

static bool read_stack(void *ctx, uint64_t at, uint64_t *v)
{
	const struct walk *w = ctx;
	uint64_t from = w->s->reg[4];

	if (at < from || at - from > w->n || w->n - (at - from) < sizeof(*v))
		return false;
	memcpy(v, w->s->bytes + (at - from), sizeof(*v));
	return true;
}

static void put_name(const struct walk *w, uint64_t pc, bool returned, char *text)
{
	const struct process_image *im = image_at(w->p, pc);
	const struct image_proc *proc = NULL;
	size_t n = strlen(text);
	char number[32];
	const char *name = number;

	if (im)
		proc = files_procedure(&w->e->files, im->image, pc - returned + im->to_addr);
	if (proc)
		name = proc->name;
	else
		snprintf(number, sizeof(number), "0x%lx", (unsigned long)pc);
	if (n + strlen(name) + 2 > STACK_TEXT)
		return;
	if (n)
		text[n++] = ';';
	strcpy(text + n, name);
}

static int take_stack(const struct exact *e, const struct process *p, struct lines_reader *r,
		      const struct exact_stack *s, struct err *err)
{
	struct walk w = { e, p, s, s->r.size - sizeof(*s) };
	struct frame_state f = { .pc = s->pc };
	char text[STACK_TEXT] = "";

	memcpy(f.reg, s->reg, sizeof(f.reg));
	for (int i = 0; i < FRAMES_MAX; i++) {
		const struct process_image *im = image_at(p, f.pc - (i > 0));
		struct image *file =
			im && im->image < e->files.nby_image ? e->files.by_image[im->image] : NULL;

		put_name(&w, f.pc, i > 0, text);
		if (!file || !frames_step(file, &f, im->to_addr, i > 0, read_stack, &w))
			break;
	}
	free(r->stack);
	r->stack = strdup(text);
	return r->stack ? 0 : err_no_memory(err, "the exact recording");
}

/* Returns the key that code is counted under: its procedure, or its image. */
static const char *name_of_block(const struct exact *e, const struct code_block *b)
{
	const struct image_proc *proc = files_procedure(&e->files, b->image, b->addr);
	const char *path;

	if (proc)
		return proc->name;
	path = b->image < e->profile->nimage ? e->profile->image[b->image]->path : "[anon]";
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

static int add_first(const struct exact *e, struct lines_reader *r, const struct code_block *b,
		     uint64_t lines)
{
	return lines ? wset_first(r->wset, name_of_block(e, b), lines) : 0;
}

int lines_finish(struct exact *e, struct process *p, struct err *err)
{
	uint64_t bytes = 8ull * p->nblock;

	for (size_t t = 0; t < p->nthread && bytes; t++) {
		struct lines_reader *r;
		const uint64_t *c;
		int rc = 0;

		if (!p->thread[t]->firsts)
			continue;
		r = reader_of(e, p, err);
		if (!r)
			return -1;
		c = exact_map(e, p->thread[t]->firsts, bytes);
		if (!c)
			return err_no_memory(err, "the exact recording");
		for (uint32_t i = 0; i < p->nblock && !rc; i++)
			if (p->block[i] &&
			    add_first(e, r, p->block[i], __atomic_load_n(&c[i], __ATOMIC_RELAXED)))
				rc = err_no_memory(err, "the exact recording");
		munmap((void *)c, bytes);
		if (rc)
			return rc;
	}
	return 0;
}

uint64_t lines_instructions(const struct exact *e)
{
	uint64_t n = 0;

	for (size_t i = 0; i < e->nprocess && e->lines.unit != EXACT_ACCESSES; i++)
		n += e->process[i]->lines ? e->process[i]->lines->count : 0;
	return n;
}

/* Returns the name of the process's first thread. */
static int name_process(struct wset *w, const struct exact_snapshot *c)
{
	char *name = strndup(c->name, sizeof(c->name));

	if (!name)
		return -1;
	free(w->command);
	w->command = name;
	return 0;
}

/* Completes the snapshot. */
static int take_snapshot(struct lines_reader *r, const struct exact_snapshot *c, struct err *err)
{
	struct wset_snapshot s = { .start = r->count, .end = c->count, .stack = r->stack };
	int rc;

	r->stack = NULL;
	if ((c->tid == r->wset->pid || !r->wset->command) && name_process(r->wset, c)) {
		free(s.stack);
		return err_no_memory(err, "the exact recording");
	}
	if (c->count < r->count) {
		free(s.stack);
		return exact_bad(err);
	}
	if (r->ever.n >= CHUNKS_MAX) {
		free(s.stack);
		return too_many_lines(err);
	}
	s.cpu_ns = c->cpu_ns;
	s.wall_ns = c->wall_ns > r->begun_wall ? c->wall_ns - r->begun_wall : 0;
	s.first = wset_count(&r->sets.data) - wset_common(&r->sets.data, &r->ever);
	rc = wset_or(&r->ever, &r->sets.data) ? err_no_memory(err, "the exact recording")
					      : wset_pack(&s, &r->sets, err);
	wset_sets_fini(&r->sets);
	r->count = c->count;
	if (rc) {
		free(s.stack);
		return rc;
	}
	return wset_add(r->wset, &s, err);
}

int lines_record(struct exact *e, struct process *p, const struct exact_record *c, struct err *err)
{
	struct lines_reader *r = reader_of(e, p, err);
	size_t least = c->kind == EXACT_MAPPING	  ? sizeof(struct exact_mapping)
		       : c->kind == EXACT_TOUCHED ? sizeof(struct exact_touched)
		       : c->kind == EXACT_RAN	  ? sizeof(struct exact_ran)
		       : c->kind == EXACT_STACK	  ? sizeof(struct exact_stack)
						  : sizeof(struct exact_snapshot);

	if (!r)
		return -1;
	if (c->size < least)
		return exact_bad(err);
	switch (c->kind) {
	case EXACT_MAPPING:
		return take_mapping(r, (const void *)c, err);
	case EXACT_TOUCHED:
		return take_touched(e, r, (const void *)c, err);
	case EXACT_RAN:
		return take_ran(e, p, r, (const void *)c, err);
	case EXACT_STACK:
		return take_stack(e, p, r, (const void *)c, err);
	default:
		return take_snapshot(r, (const void *)c, err);
	}
}
