/* SPDX-License-Identifier: MIT */
/* Reads what the engine logs: images, blocks, threads, and how blocks were left. Everything is
 * validated. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "exact/exact_priv.h"
#include "x86/insn.h"

#define CODE_CHUNK 65536

/* Images. */

static bool same_file(const struct exact_image *r)
{
	struct stat st;

	return !stat(r->path, &st) && st.st_ino == r->inode;
}

/* Returns the profile's image, opened at its first use; *to_addr: what is added to run-time
 * addresses to give the image's. */
static uint32_t image_of(struct exact *e, const struct process *p, const struct exact_image *r,
			 uint64_t *to_addr)
{
	struct profile_image *pi = NULL;
	const struct image_segment *seg;
	struct image *im = NULL;
	struct err ignored;

	*to_addr = 0;
	if (r->path[0] == '/' && r->inode && same_file(r))
		im = image_open(r->path, r->path, &ignored);
	if (!im) {
		bool vdso = !strcmp(r->path, "[vdso]");

		pi = profile_image(e->profile, vdso ? IMAGE_VDSO : IMAGE_ANON,
				   r->path[0] ? r->path : "[anon]", "");
		if (vdso)
			*to_addr = 0 - r->start;
		else
			files_note_generator(&e->files, (pid_t)p->pid);
		return pi ? pi->id : 0;
	}
	pi = profile_image(e->profile, IMAGE_FILE, r->path, image_build_id(im));
	for (unsigned i = image_segments(im, &seg); i-- > 0;)
		if (r->offset < seg[i].offset + seg[i].size &&
		    r->offset + (r->end - r->start) > seg[i].offset)
			*to_addr = seg[i].addr - seg[i].offset + r->offset - r->start;
	if (!pi) {
		image_close(im);
		return 0;
	}
	if (array_widen(e->files.by_image, e->files.nby_image, pi->id + 1u) &&
	    !e->files.by_image[pi->id])
		e->files.by_image[pi->id] = im;
	else
		image_close(im);
	return pi->id;
}

/* Records. */

int exact_bad(struct err *err)
{
	return err_set(err, ERR_FAILED, "the engine's records are damaged");
}

int exact_too_many(const char *what, uint64_t most, struct err *err)
{
	err_set(err, ERR_FAILED, "the program has more than %lu %s, as many as are recorded",
		(unsigned long)most, what);
	return err_hint(err, "record a part of what it does, or a shorter run");
}

static int take_image(struct exact *e, struct process *p, const struct exact_image *r,
		      struct err *err)
{
	struct exact_image copy = *r;
	struct process_image *to;

	copy.path[sizeof(copy.path) - 1] = 0;
	if (r->number != p->nimage + 1)
		return exact_bad(err);
	if (p->nimage >= EXACT_IMAGES_MAX)
		return exact_too_many("mappings of code in a process", EXACT_IMAGES_MAX, err);
	if (!array_one_more(p->image, p->nimage))
		return err_no_memory(err, "the exact recording");
	to = &p->image[p->nimage++];
	*to = (struct process_image){ .start = copy.start, .end = copy.end };
	to->image = image_of(e, p, &copy, &to->to_addr);
	return 0;
}

/* Blocks. */

static void *code_alloc(struct process *p, size_t n)
{
	struct code_memory *m = p->memory;
	void *at;

	n = (n + 7) & ~7ul;
	if (!m || m->size - m->used < n) {
		size_t size = n > CODE_CHUNK ? n : CODE_CHUNK;

		m = calloc(1, sizeof(*m) + size);
		if (!m)
			return NULL;
		m->size = size;
		m->next = p->memory;
		p->memory = m;
	}
	at = m->data + m->used;
	m->used += n;
	return at;
}

/* Returns an element of an array of the process's, by number of block. */
static bool widen(void *array, uint32_t room, size_t size)
{
	void **a = array, *p = realloc(*a, room * size);

	if (p)
		*a = p;
	return p;
}

int exact_add_block(struct exact *e, struct process *p, struct code_block *b, bool inverted,
		    struct err *err)
{
	if (e->nblock >= EXACT_LIVE_BLOCKS)
		return exact_too_many("blocks of code in processes that run", EXACT_LIVE_BLOCKS,
				      err);
	if (p->nblock == p->room) {
		uint32_t room = p->room ? 2 * p->room : 256;

		if (!widen(&p->block, room, sizeof(struct code_block *)) ||
		    !widen(&p->inverted, room, sizeof(*p->inverted)) ||
		    (e->mode & EXACT_STREAM && !sinks_widen(p, room)))
			return err_no_memory(err, "the exact recording");
		p->room = room;
	}
	p->inverted[p->nblock] = inverted;
	if (b && b->exits > p->most_exits)
		p->most_exits = b->exits;
	p->block[p->nblock++] = b;
	e->nblock++;
	return 0;
}

/* Records a direct jump's target: at its site if the target lies in the same image, otherwise at
 * the block that ends with it. */
static void take_target(const struct exact *e, const struct process *p, struct code_block *b,
			const struct exact_block *r, struct site *s, uint64_t target)
{
	const struct process_image *pi =
		r->image && r->image <= p->nimage ? &p->image[r->image - 1] : NULL;
	uint64_t at = pi ? target - pi->to_addr : target;

	b->leaves = 0;
	if (!target)
		return;
	if (pi && at >= pi->start && at < pi->end &&
	    e->profile->image[pi->image]->kind != IMAGE_ANON)
		s->target = target;
	else
		b->leaves = at;
}

/* Reads what executions of the block write into the stream, which depends on what is observed. */
static int block_fields(struct exact *e, const struct process *p, struct code_block *b,
			const struct exact_block *r, struct err *err)
{
	if (e->consumer)
		return order_block(e, b, r, err);
	if (e->mode & EXACT_CALLS)
		return calls_block(p, b, r, err);
	return e->mode & EXACT_STREAM ? fields_block(b, r, err) : 0;
}

static int exit_fields(const struct exact *e, struct code_block *b, const struct code_block *of,
		       const struct exact_exit *r, struct err *err)
{
	if (e->consumer)
		return order_exit(b, of, r, err);
	if (e->mode & EXACT_CALLS)
		return 0;
	return e->mode & EXACT_STREAM ? fields_exit(b, of, r, err) : 0;
}

/* Finds the block's instructions in the profile. */
static int block_sites(struct exact *e, const struct process *p, struct code_block *b,
		       const struct exact_block *r, struct err *err)
{
	unsigned at = 0;

	while (b->n < r->n) {
		int cls;
		uint64_t target;
		unsigned len = r->bytes[r->len + b->n];
		struct site *s = profile_site(
			e->profile, (struct site_id){ .image = b->image, .addr = b->addr + at });

		if (!s)
			return err_no_memory(err, "the exact recording");
		s->len = (uint8_t)len;
		cls = classes_of(e->classes, r->bytes + at, len, b->addr + at, &target);
		if (cls >= 0) {
			s->cls = (uint8_t)cls;
			b->branch = cls == INSN_BRANCH;
			b->callee = cls == INSN_CALL ? target : 0;
			take_target(e, p, b, r, s, target);
		}
		b->site[b->n++] = s;
		at += len;
	}
	return 0;
}

/* Code ends before this address, so that the addresses after a block do not wrap around. */
#define LAST_PC (0 - (1ull << 20))

/* True if the record's sizes, counts and lengths of instructions agree with each other. */
static bool block_fits(const struct exact_block *r)
{
	unsigned len = 0;

	if (r->r.size - sizeof(*r) < (size_t)r->len + r->n || r->n > EXACT_INSNS_MAX ||
	    r->nfield > EXACT_FIELDS_MAX || r->pc > LAST_PC || (r->exits && r->exits >= r->n) ||
	    r->before > r->exits)
		return false;
	for (unsigned i = 0; i < r->n; i++) {
		unsigned n = r->bytes[r->len + i];

		if (!n || n > INSN_MAX_LEN)
			return false;
		len += n;
	}
	return len == r->len;
}

static int take_block(struct exact *e, struct process *p, const struct exact_block *r,
		      struct err *err)
{
	bool counts = e->mode & EXACT_COUNTS;
	struct code_block *b;

	if (!block_fits(r))
		return exact_bad(err);
	b = code_alloc(p, sizeof(*b) + (counts ? r->n * sizeof(b->site[0]) : 0));
	if (!b)
		return err_no_memory(err, "the exact recording");
	b->pc = b->addr = r->pc;
	b->len = r->len;
	if (r->image && r->image <= p->nimage) {
		b->image = p->image[r->image - 1].image;
		b->addr += p->image[r->image - 1].to_addr;
	}
	if (counts && block_sites(e, p, b, r, err))
		return -1;
	b->exits = r->exits;
	b->before = r->before;
	b->next = p->own;
	p->own = b;
	if (block_fields(e, p, b, r, err))
		return -1;
	/* numbers that belong to no code */
	while (p->nblock < r->id && p->nblock < EXACT_BLOCKS_MAX)
		if (exact_add_block(e, p, NULL, false, err))
			return -1;
	if (r->id != p->nblock || p->nblock >= EXACT_BLOCKS_MAX)
		return exact_bad(err);
	e->totals.blocks++;
	return exact_add_block(e, p, b, false, err);
}

static int take_exit(struct exact *e, struct process *p, const struct exact_exit *r,
		     struct err *err)
{
	const struct code_block *of = r->of < p->nblock ? p->block[r->of] : NULL;
	struct code_block *b;

	if (!of || of->exit || r->n > of->n || !r->n || r->id != p->nblock ||
	    r->id - r->of > of->exits || p->nblock >= EXACT_BLOCKS_MAX)
		return exact_bad(err);
	b = code_alloc(p, sizeof(*b) + r->n * sizeof(b->site[0]));
	if (!b)
		return err_no_memory(err, "the exact recording");
	b->exit = b->branch = true;
	b->n = r->n;
	b->image = of->image;
	memcpy(b->site, of->site, r->n * sizeof(b->site[0]));
	b->leaves = b->site[b->n - 1]->target ? 0 : r->target;
	b->next = p->own;
	p->own = b;
	if (exit_fields(e, b, of, r, err))
		return -1;
	return exact_add_block(e, p, b, false, err);
}

/* True if the thread has only the pieces that this mode observes, and these lie in the file. */
static bool thread_fits(const struct exact *e, const struct exact_thread *r)
{
	return (e->mode & EXACT_COUNTS || !r->counters) && (e->mode & EXACT_STREAM || !r->stream) &&
	       (e->mode & EXACT_LINES || !r->firsts) &&
	       exact_fits(r->counters, EXACT_COUNTERS_SIZE) &&
	       exact_fits(r->stream, EXACT_STREAM_SIZE + EXACT_STREAM_PAGE) &&
	       exact_fits(r->firsts, EXACT_FIRSTS_SIZE);
}

static int take_thread(struct exact *e, struct process *p, const struct exact_thread *r,
		       struct err *err)
{
	struct counted *t;

	if (!thread_fits(e, r))
		return exact_bad(err);
	if (e->nthread >= EXACT_THREADS_MAX)
		return exact_too_many("threads", EXACT_THREADS_MAX, err);
	t = malloc(sizeof(*t));
	if (!t || !array_one_more(p->thread, p->nthread)) {
		free(t);
		return err_no_memory(err, "the exact recording");
	}
	*t = (struct counted){
		.at = r->counters, .stream_at = r->stream, .firsts = r->firsts, .tid = r->tid
	};
	p->thread[p->nthread++] = t;
	e->nthread++;
	e->totals.threads++;
	return 0;
}

static int take_sampled(struct exact *e, struct process *p, const struct exact_sampled *r,
			struct err *err)
{
	if (!e->sampling || r->end < r->begin)
		return exact_bad(err);
	if (e->nsample >= EXACT_SAMPLES_KEPT)
		return exact_too_many("samples", EXACT_SAMPLES_KEPT, err);
	if (!array_one_more(e->sample, e->nsample))
		return err_no_memory(err, "the exact recording");
	e->sample[e->nsample++] = (struct exact_sample){
		.pid = p->pid,
		.number = r->number,
		.begin = r->begin,
		.end = r->end,
		.cut = r->cut,
	};
	p->gap = r->gap;
	return 0;
}

static int take_record(struct exact *e, struct process *p, const struct exact_record *r,
		       struct err *err)
{
	const struct exact_block *b = (const void *)r;
	const struct exact_inverted *v = (const void *)r;
	const struct exact_thread *t = (const void *)r;

	switch (r->kind) {
	case EXACT_IMAGE:
		return r->size >= sizeof(struct exact_image)
			       ? take_image(e, p, (const void *)r, err)
			       : exact_bad(err);
	case EXACT_BLOCK:
		return r->size >= sizeof(*b) ? take_block(e, p, b, err) : exact_bad(err);
	case EXACT_EXIT:
		return r->size >= sizeof(struct exact_exit) ? take_exit(e, p, (const void *)r, err)
							    : exact_bad(err);
	case EXACT_INVERTED:
		if (r->size < sizeof(*v) || v->id >= p->nblock)
			return exact_bad(err);
		return counters_invert(e, p, v->id) ? err_no_memory(err, "the exact recording") : 0;
	case EXACT_THREAD:
		if (r->size < sizeof(*t))
			return exact_bad(err);
		return take_thread(e, p, t, err);
	case EXACT_CUT:
		if (r->size < sizeof(struct exact_cut))
			return exact_bad(err);
		if (!(e->mode & EXACT_COUNTS)) /* cuts only correct counters */
			return 0;
		if (phases_cut(e, p, (const void *)r, err))
			return -1;
		if (!array_one_more(p->cut, p->ncut))
			return err_no_memory(err, "the exact recording");
		p->cut[p->ncut++] = *(const struct exact_cut *)(const void *)r;
		return 0;
	case EXACT_NATIVE:
		e->totals.native++;
		return 0;
	case EXACT_PAIR:
		return r->size >= sizeof(struct exact_pair) ? ways_pair(p, (const void *)r, err)
							    : exact_bad(err);
	case EXACT_EDGE:
		return r->size >= sizeof(struct exact_edge) ? ways_edge(e, p, (const void *)r, err)
							    : exact_bad(err);
	case EXACT_SAMPLED:
		return r->size >= sizeof(struct exact_sampled)
			       ? take_sampled(e, p, (const void *)r, err)
			       : exact_bad(err);
	case EXACT_TOUCHED:
		if (e->warms)
			return order_touched(e, p, (const void *)r, err);
		return e->mode & EXACT_LINES ? lines_record(e, p, r, err) : exact_bad(err);
	case EXACT_MAPPING:
	case EXACT_RAN:
	case EXACT_STACK:
	case EXACT_SNAPSHOT:
		return e->mode & EXACT_LINES ? lines_record(e, p, r, err) : exact_bad(err);
	case EXACT_VECTOR:
	case EXACT_INTERVAL:
		return phases_record(e, p, r, err);
	default:
		return exact_bad(err);
	}
}

/* Copies the record, because the program can change it meanwhile, and a decoder may look beyond its
 * end. The copy is valid until the next call. */
static void *copy_of(struct exact *e, const struct exact_record *r, uint32_t size)
{
	if (!array_reserve(e->record, e->record_size, (size_t)size + INSN_MAX_LEN))
		return NULL;
	memcpy(e->record, r, size);
	memset((char *)e->record + size, 0, INSN_MAX_LEN);
	return e->record;
}

int exact_read_log_to(struct exact *e, struct process *p, uint64_t limit, struct err *err)
{
	while (p->chunk && p->bytes < limit) {
		struct exact_log *c = p->log;
		uint64_t used, next;
		int rc = 0;

		if (!c)
			c = p->log = exact_map(e, p->chunk, EXACT_LOG_SIZE);
		if (!c)
			return exact_fits(p->chunk, EXACT_LOG_SIZE)
				       ? err_no_memory(err, "the exact recording")
				       : exact_bad(err);
		next = __atomic_load_n(&c->next, __ATOMIC_ACQUIRE);
		used = __atomic_load_n(&c->used, __ATOMIC_ACQUIRE);
		if (used > EXACT_LOG_DATA)
			rc = exact_bad(err);
		while (!rc && p->pos < used && p->bytes < limit) {
			struct exact_record *r = (void *)(c->data + p->pos), *copy;
			uint32_t size = __atomic_load_n(&r->size, __ATOMIC_RELAXED);

			if (size < sizeof(*r) || size % 8 || size > used - p->pos) {
				rc = exact_bad(err);
				break;
			}
			copy = copy_of(e, r, size);
			if (!copy) {
				rc = err_no_memory(err, "the exact recording");
				break;
			}
			copy->size = size;
			rc = take_record(e, p, copy, err);
			p->pos += size;
			p->bytes += size;
		}
		if (rc)
			return rc;
		if (p->pos < used || !next)
			break;
		munmap(c, EXACT_LOG_SIZE);
		exact_punch(e, p->chunk, EXACT_LOG_SIZE);
		p->log = NULL;
		p->chunk = next;
		p->pos = 0;
	}
	return 0;
}

int exact_read_log(struct exact *e, struct process *p, struct err *err)
{
	return exact_read_log_to(e, p, UINT64_MAX, err);
}
