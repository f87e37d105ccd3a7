/* SPDX-License-Identifier: MIT */
#include "runahead/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/pages.h"
#include "base/search.h"

#define RUN_MAX 256   /* instructions lifted at a time */
#define QUEUE_MAX 256 /* branch targets remembered within one neighbourhood */
#define RUN_ROOM (LIFT_MAX + CODE_MARK + 8)

int code_init(struct code *c, struct uop *uop, uint32_t uop_cap, struct code_line *line,
	      uint32_t line_bits, struct err *err)
{
	memset(c, 0, sizeof(*c));
	invariant(uop_cap <= CODE_UOPS_MAX && line_bits > CODE_PAGE);
	c->uop = uop;
	c->uop_cap = c->uop_room = uop_cap;
	c->nuop = CODE_MARK; /* micro-ops below this one belong to no image */
	c->line = line;
	c->line_bits = line_bits;
	/* There is a site for each micro-op; unused memory is never touched. */
	c->site = pages_new(uop_cap * sizeof(*c->site));
	c->mark = pages_new((uop_cap / CODE_MARK + 1) * sizeof(*c->mark));
	c->queue = calloc(QUEUE_MAX, sizeof(*c->queue));
	c->memo = lift_memo_new();
	if (!c->site || !c->mark || !c->queue || !c->memo) {
		code_fini(c);
		return err_no_memory(err, "%u micro-ops of lifted code", uop_cap);
	}
	return 0;
}

void code_fini(struct code *c)
{
	pages_free(c->site, c->uop_cap * sizeof(*c->site));
	pages_free(c->mark, (c->uop_cap / CODE_MARK + 1) * sizeof(*c->mark));
	free(c->queue);
	free(c->source);
	lift_memo_free(c->memo);
	memset(c, 0, sizeof(*c));
}

int code_image(struct code *c, uint32_t image, const struct code_source *src, struct err *err)
{
	if (image == 0 || image > CODE_IMAGES)
		return err_set(err, ERR_FAILED, "image number %u is beyond %u", image, CODE_IMAGES);
	if (image >= c->nsource) {
		if (!array_widen(c->source, c->nsource, image + 64))
			return err_no_memory(err, "%u images", image + 64);
	}
	c->source[image] = *src;
	return 0;
}

/* The table of lines. */

uint32_t code_find(const struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t mask = (1u << c->line_bits) - 1, slot;
	uint64_t key = CODE_KEY(image, addr);

	for (uint32_t i = 0; i < CODE_PROBES; i++) {
		const struct code_line *l = &c->line[code_record(key, c->line_bits, i) & mask];

		if (!l->key)
			return 0;
		if (l->key != key)
			continue;
		for (uint32_t k = 0; k < CODE_SLOTS; k++) {
			slot = l->slot[code_place(addr) + k];
			if (!slot || !((slot ^ (uint32_t)addr) & 63))
				return slot >> 6;
		}
	}
	return 0;
}

/* Fetches the line of addr into the cache. */
static void fetch_line(const struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t at = code_record(CODE_KEY(image, addr), c->line_bits, 0);
	const struct code_line *l = &c->line[at & ((1u << c->line_bits) - 1)];

	__builtin_prefetch(l);
	__builtin_prefetch(&l->slot[CODE_LINE_SLOTS / 2]);
}

static bool lines_left(const struct code *c)
{
	return c->nline < (1u << c->line_bits) / 4 * 3;
}

/* Returns a free slot for the instruction at addr, which is not in the table yet; NULL if there
 * is none. */
static uint32_t *free_slot(struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t mask = (1u << c->line_bits) - 1;
	uint64_t key = CODE_KEY(image, addr);

	for (uint32_t i = 0; i < CODE_PROBES; i++) {
		struct code_line *l = &c->line[code_record(key, c->line_bits, i) & mask];

		if (!l->key) {
			if (!lines_left(c))
				return NULL;
			__atomic_store_n(&l->key, key, __ATOMIC_RELEASE);
			c->nline++;
		}
		if (l->key != key)
			continue;
		for (uint32_t k = 0; k < CODE_SLOTS; k++)
			if (!l->slot[code_place(addr) + k])
				return &l->slot[code_place(addr) + k];
	}
	return NULL;
}

/* Enters the instruction in the table. If an instruction finds no slot, control can run into it,
 * but not jump to it. */
static bool publish(struct code *c, uint32_t image, uint64_t addr, uint32_t uop)
{
	uint32_t *slot = free_slot(c, image, addr);

	invariant(uop >= CODE_MARK && uop < c->nuop);
	if (!slot) {
		c->refused++;
		return false;
	}
	__atomic_store_n(slot, CODE_SLOT(uop, addr), __ATOMIC_RELEASE);
	return true;
}

void code_hide(struct code *c)
{
	for (uint32_t i = 0; i < 1u << c->line_bits; i++) {
		struct code_line *l = &c->line[i];

		if (!l->key)
			continue;
		__atomic_store_n(&l->key, 0, __ATOMIC_RELEASE);
		for (uint32_t k = 0; k < CODE_LINE_SLOTS; k++)
			__atomic_store_n(&l->slot[k], 0, __ATOMIC_RELAXED);
	}
}

void code_empty(struct code *c)
{
	c->nuop = CODE_MARK;
	c->nsite = c->nline = c->last_image = 0;
}

/* Sites of micro-ops. */

#define SITE_ADDR 0x7fffffffffffull

static uint32_t site_uops(uint64_t site)
{
	return site >> 55 & 63;
}

/* Encodes 1 to 64 bytes in three bits. */
static unsigned access_code(unsigned bytes)
{
	return bytes && bytes <= 64 && !(bytes & (bytes - 1)) ? (unsigned)__builtin_ctz(bytes) + 1
							      : 0;
}

/* Records the site of an instruction with micro-ops from `first` on; len 0: they belong to no
 * instruction. */
static void add_site(struct code *c, uint32_t first, uint64_t addr, uint8_t cls, uint8_t len,
		     unsigned access)
{
	uint32_t at = (first + CODE_MARK - 1) / CODE_MARK;

	invariant(c->nuop > first && c->nuop - first < 64 && len < 16 && cls < 16);
	invariant(c->nuop <= c->uop_cap && c->nsite < c->uop_cap);
	c->site[c->nsite] = (addr & SITE_ADDR) | (uint64_t)cls << 47 | (uint64_t)len << 51 |
			    (uint64_t)(c->nuop - first) << 55 | (uint64_t)access_code(access) << 61;
	for (; at * CODE_MARK < c->nuop; at++)
		c->mark[at] = (struct code_mark){ c->nsite, first, c->last_image };
	c->nsite++;
}

/* Begins a new mark, because all micro-ops of a mark belong to one image. */
static void enter_image(struct code *c, uint32_t image)
{
	uint32_t first = c->nuop;

	if (c->last_image == image)
		return;
	if (first % CODE_MARK) {
		c->nuop = (first | (CODE_MARK - 1)) + 1;
		add_site(c, first, 0, INSN_TRAP, 0, 0);
	}
	c->last_image = image;
}

bool code_site_next(const struct code *c, uint32_t uop, struct code_cursor *at,
		    struct code_site *site)
{
	struct code_mark m;
	uint64_t s;

	if (uop < CODE_MARK || uop >= c->nuop)
		return false;
	m = c->mark[uop / CODE_MARK];
	if (at->site && uop - at->uop < site_uops(c->site[at->site])) {
		m.site = at->site;
		m.uop = at->uop;
	}
	invariant(m.uop <= uop && m.site < c->nsite);
	for (; uop - m.uop >= site_uops(c->site[m.site]); m.site++)
		m.uop += site_uops(c->site[m.site]);
	invariant(m.site < c->nsite && m.image == c->mark[uop / CODE_MARK].image);
	s = c->site[m.site];
	*at = (struct code_cursor){ m.site + 1, m.uop + site_uops(s) };
	*site = (struct code_site){
		.addr = s & SITE_ADDR,
		.image = m.image,
		.cls = s >> 47 & 15,
		.len = s >> 51 & 15,
		.access = s >> 61 ? (uint8_t)(1u << ((s >> 61) - 1)) : 0,
	};
	return true;
}

bool code_site(const struct code *c, uint32_t uop, struct code_site *site)
{
	struct code_cursor at = { 0 };

	return code_site_next(c, uop, &at, site);
}

/* Lifting of code. */

bool code_has_room(const struct code *c)
{
	return c->nuop + RUN_ROOM < c->uop_room && lines_left(c);
}

struct item {
	const struct lift_form *form;
	uint64_t addr;
	struct lift_values v;
	uint32_t first; /* its first micro-op */
	uint16_t live;
};

struct walk {
	struct item run[RUN_MAX];
	uint32_t n;
	bool more; /* Control continues after the run of instructions, at `next`. */
	uint64_t next;
	uint64_t *queue;
	uint32_t head, tail;
};

static uint64_t target_of(const struct item *it)
{
	return it->addr + it->form->len + (uint64_t)it->v.imm;
}

/* Whether the instruction only pads code up to an alignment. */
static bool is_filler(const struct lift_form *f)
{
	return f->nop || f->cls == INSN_TRAP;
}

/* The number of zeros from p on, if there are two: no code that control reaches begins with them, but padding does, and
 * memory that was never written. */
static size_t zeros(const uint8_t *p, size_t left)
{
	size_t n = 0;

	while (n < left && !p[n])
		n++;
	return n > 1 ? n : 0;
}

/*
 * Decodes from addr on, to the end of control flow, to lifted code, or to bytes that are no code.
 * If `end` is not 0, decoding goes on after the end of control flow, up to `end`, and skips
 * padding.
 */
static void decode_run(const struct code *c, struct walk *w, uint32_t image, uint64_t start,
		       uint64_t end)
{
	const struct code_source *src = &c->source[image];
	bool falls = !end;
	const uint8_t *p = NULL;
	uint64_t addr = start, ahead = start;
	size_t left = 0;

	lift_memo_rest(c->memo);
	w->n = 0;
	while (w->n < RUN_MAX && (!end || falls || addr < end)) {
		struct item *it = &w->run[w->n];
		size_t skip;

		if (!w->n || (addr ^ it[-1].addr) >> 6)
			fetch_line(c, image, addr + 128);
		if (addr != start && code_find(c, image, addr))
			break;
		if (left < INSN_MAX_LEN)
			p = src->bytes(src->ctx, addr, &left);
		skip = p && !falls ? zeros(p, left < end - addr ? left : end - addr) : 0;
		if (skip) {
			addr += skip;
			p += skip;
			left -= skip;
			continue;
		}
		if (p && addr >= ahead)
			ahead = addr + 1 + lift_memo_ahead(c->memo, p, left);
		it->form = p ? lift_memo_decode(c->memo, p, left, &it->v) : NULL;
		if (!it->form) {
			falls = falls && w->n;
			break;
		}
		it->addr = addr;
		addr += it->form->len;
		p += it->form->len;
		left -= it->form->len;
		if (!falls && is_filler(it->form))
			continue;
		w->n++;
		falls = it->form->falls_through;
		if (!falls && !end)
			break;
		if (end && addr >= end)
			break;
	}
	w->more = falls;
	w->next = addr;
}

/* Computes the status flags that may be read after each instruction of a run. At its end, and
 * where control can leave it, all flags count as live. */
static void flags_live(struct item *run, uint32_t n)
{
	uint16_t l = FL_STATUS;

	for (uint32_t i = n; i-- > 0;) {
		const struct lift_form *f = run[i].form;

		if (f->ends_block)
			l = FL_STATUS;
		run[i].live = l;
		l = (uint16_t)((l & ~f->fl_written) | f->fl_read) & FL_STATUS;
	}
}

static bool starts_procedure(const struct code_source *src, const struct walk *w, uint32_t k)
{
	const struct item *it = &w->run[k], *before = k ? it - 1 : NULL;

	/* Control comes from elsewhere, or from a call that does not return. */
	if (before && before->addr + before->form->len == it->addr &&
	    before->form->cls != INSN_CALL && !before->form->nop && before->form->falls_through)
		return false;
	return src->entry && src->entry(src->ctx, it->addr);
}

/* Removes the recording of values that no operand asks for. The targets of indirect jumps are
 * control flow, and are kept. */
static void record_nothing(struct uop *u, int n, int cls)
{
	if (cls != INSN_IJUMP && cls != INSN_ICALL)
		for (int i = 0; i < n; i++)
			u[i].rec = 0;
}

/* Lifts an instruction and appends it. */
static void add_insn(struct code *c, struct walk *w, uint32_t image, uint32_t k)
{
	struct item *it = &w->run[k];
	int n;

	it->first = c->nuop;
	if (!c->branches && starts_procedure(&c->source[image], w, k))
		c->uop[c->nuop++] = (struct uop){ .op = UOP_ARGS };
	n = lift_memo_lift(c->memo, it->form, it->addr, it->v, it->live, &c->uop[c->nuop]);
	if (c->branches)
		record_nothing(&c->uop[c->nuop], n, it->form->cls);
	invariant(n > 0 && n <= LIFT_MAX);
	c->nuop += (uint32_t)n;
	add_site(c, it->first, it->addr, it->form->cls, it->form->len, it->form->access);
	c->lifted++;
}

/* Ends a run with a jump to the instruction at addr. */
static void add_link(struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t at = c->nuop++, to = code_find(c, image, addr);

	c->uop[at] =
		(struct uop){ .op = UOP_JMP, .b = UR_ZERO, .imm = to ? to : CODE_UNLINKED(addr) };
	add_site(c, at, addr, INSN_JUMP, 0, 0);
}

/* Returns the first micro-op of the run's instruction at addr, or 0. */
static uint32_t find_in_run(const struct walk *w, uint32_t n, uint64_t addr)
{
	uint32_t lo = search_first(i, 0, n, w->run[i].addr >= addr);

	invariant(n <= RUN_MAX && (!lo || w->run[lo - 1].addr < addr));
	return lo < n && w->run[lo].addr == addr ? w->run[lo].first : 0;
}

static bool is_direct(const struct uop *u)
{
	return u->op == UOP_JCC || (u->op == UOP_JMP && (u->flags & UF_RETIRE));
}

/* Links the direct branches of run[0 .. n) to their targets. */
static void link_run(struct code *c, const struct walk *w, uint32_t n, uint32_t end)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct item *it = &w->run[i];
		uint32_t last = i + 1 < n ? w->run[i + 1].first : end, to;
		uint64_t target = target_of(it);

		if (!it->form->has_target)
			continue;
		to = find_in_run(w, n, target);
		for (uint32_t at = it->first; at < last; at++)
			if (is_direct(&c->uop[at]))
				c->uop[at].imm = to ? to : CODE_UNLINKED(target);
	}
}

static void visit(struct code *c, struct walk *w, uint32_t image, uint64_t addr)
{
	if (w->tail - w->head < QUEUE_MAX && !code_find(c, image, addr))
		w->queue[w->tail++ % QUEUE_MAX] = addr;
}

/* Marks bytes that are no code as a place where windows end, so that they are not asked for
 * again. */
static bool add_no_code(struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t at;

	enter_image(c, image);
	at = c->nuop++;
	c->uop[at] = (struct uop){ .op = UOP_STOP, .imm = RA_STOP_UNSUPPORTED };
	add_site(c, at, addr, INSN_TRAP, 0, 0);
	return publish(c, image, addr, at);
}

/* Lifts w->run, in an order in which every instruction is complete before another one leads to it.
 * Returns how many were lifted; fewer than all if there is no room. */
static uint32_t lift_run(struct code *c, struct walk *w, uint32_t image)
{
	uint32_t k, end;

	flags_live(w->run, w->n);
	enter_image(c, image);
	for (k = 0; k < w->n && code_has_room(c); k++)
		add_insn(c, w, image, k);
	end = c->nuop;
	invariant(end < c->uop_cap && (!k || w->run[0].first <= end));
	link_run(c, w, k, end);
	if (k < w->n)
		add_link(c, image, w->run[k].addr); /* has_room() leaves room for this */
	else if (w->more)
		add_link(c, image, w->next);
	for (uint32_t i = 0; i < k; i++)
		publish(c, image, w->run[i].addr, w->run[i].first);
	return k;
}

/* Queues the targets of a lifted run. */
static void visit_targets(struct code *c, struct walk *w, uint32_t image)
{
	for (uint32_t i = 0; i < w->n; i++)
		if (w->run[i].form->has_target)
			visit(c, w, image, target_of(&w->run[i]));
	if (w->more)
		visit(c, w, image, w->next);
}

static bool can_lift(const struct code *c, uint32_t image)
{
	return image < c->nsource && c->source[image].bytes && code_has_room(c);
}

uint32_t code_lift(struct code *c, uint32_t image, uint64_t addr, uint32_t budget)
{
	static _Thread_local struct walk w;
	uint32_t done = 0, k;
	uint64_t at;

	if (!can_lift(c, image))
		return 0;
	w.queue = c->queue;
	w.head = w.tail = 0;
	visit(c, &w, image, addr);
	while (w.head != w.tail && done < budget && code_has_room(c)) {
		at = w.queue[w.head++ % QUEUE_MAX];
		if (code_find(c, image, at))
			continue;
		if (!free_slot(c, image, at)) {
			c->refused++;
			continue;
		}
		decode_run(c, &w, image, at, 0);
		if (!w.n) {
			add_no_code(c, image, at);
			continue;
		}
		k = lift_run(c, &w, image);
		done += k;
		if (k < w.n)
			break;
		visit_targets(c, &w, image);
	}
	return done;
}

uint32_t code_follow(struct code *c, uint32_t image, uint64_t addr, uint32_t most)
{
	const struct lift_form *f;
	uint32_t done = 0;
	struct item at = { .addr = addr };

	for (uint32_t i = 0; i < most && can_lift(c, image); i++) {
		const uint8_t *p;
		size_t left = 0;

		if (!code_find(c, image, at.addr))
			done += code_lift(c, image, at.addr, 1);
		if (!code_find(c, image, at.addr))
			break;
		p = c->source[image].bytes(c->source[image].ctx, at.addr, &left);
		f = at.form = p ? lift_memo_decode(c->memo, p, left, &at.v) : NULL;
		if (!f || f->cls == INSN_BRANCH || !(f->has_target || f->falls_through))
			break;
		at.addr = f->has_target ? target_of(&at) : at.addr + f->len;
	}
	return done;
}

bool code_again(struct code *c, uint32_t image, uint64_t addr)
{
	if (c->nuop > c->uop_cap / 2 || !code_has_room(c))
		return false;
	if (!code_find(c, image, addr))
		code_lift(c, image, addr, 1);
	return true;
}

/* Returns the length of the instruction lifted at addr, or 0. */
static uint32_t lifted_length(const struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t uop = code_find(c, image, addr);
	struct code_site s;

	return uop && code_site(c, uop, &s) ? s.len : 0;
}

uint32_t code_sweep(struct code *c, uint32_t image, uint64_t start, uint64_t end, uint32_t budget)
{
	static _Thread_local struct walk w;
	uint32_t done = 0, n;
	uint64_t at = start;

	if (!can_lift(c, image))
		return 0;
	while (at < end && done < budget && code_has_room(c)) {
		n = lifted_length(c, image, at);
		if (n) {
			at += n;
			continue;
		}
		decode_run(c, &w, image, at, end);
		if (w.n && free_slot(c, image, w.run[0].addr))
			done += lift_run(c, &w, image);
		at = w.next > at ? w.next : at + 1;
	}
	return done;
}
