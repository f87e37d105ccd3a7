/* SPDX-License-Identifier: MIT */
#include "runahead/code.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "isa/lift.h"

#define RUN_MAX 64    /* instructions decoded at a time */
#define QUEUE_MAX 256 /* branch targets remembered within one neighbourhood */

int code_init(struct code *c, struct uop *uop, uint32_t uop_cap, struct code_entry *entry,
	      uint32_t entry_bits, struct err *err)
{
	memset(c, 0, sizeof(*c));
	c->uop = uop;
	c->uop_cap = uop_cap;
	c->nuop = 1;
	c->entry = entry;
	c->entry_bits = entry_bits;
	c->site_of = calloc(uop_cap, sizeof(*c->site_of));
	c->next = calloc(uop_cap, sizeof(*c->next));
	c->queue = calloc(QUEUE_MAX, sizeof(*c->queue));
	c->site_cap = 4096;
	c->site = malloc(c->site_cap * sizeof(*c->site));
	c->nsite = 1;
	if (!c->site_of || !c->next || !c->queue || !c->site) {
		code_fini(c);
		return err_set(err, ERR_FAILED, "no memory for %u micro-ops of lifted code",
			       uop_cap);
	}
	memset(c->site, 0, sizeof(*c->site));
	return 0;
}

void code_fini(struct code *c)
{
	free(c->site_of);
	free(c->next);
	free(c->queue);
	free(c->site);
	free(c->source);
	memset(c, 0, sizeof(*c));
}

int code_image(struct code *c, uint32_t image, const struct code_source *src, struct err *err)
{
	struct code_source *s;

	if (image == 0 || image > CODE_IMAGES)
		return err_set(err, ERR_FAILED, "image number %u is beyond %u", image, CODE_IMAGES);
	if (image >= c->nsource) {
		uint32_t n = image + 64;

		s = realloc(c->source, n * sizeof(*s));
		if (!s)
			return err_set(err, ERR_FAILED, "no memory for %u images", n);
		memset(s + c->nsource, 0, (n - c->nsource) * sizeof(*s));
		c->source = s;
		c->nsource = n;
	}
	c->source[image] = *src;
	return 0;
}

/* The entry of a key, made if `make`; NULL if there is none, or no room. */
static struct code_entry *entry_at(const struct code *c, uint64_t key, bool make)
{
	for (uint32_t i = 0; i < CODE_PROBES; i++) {
		struct code_entry *e = &c->entry[code_slot(key, c->entry_bits, i)];

		if (e->key == key)
			return e;
		if (!e->key) {
			if (!make)
				return NULL;
			__atomic_store_n(&e->key, key, __ATOMIC_RELEASE);
			return e;
		}
	}
	return NULL;
}

uint32_t code_find(const struct code *c, uint32_t image, uint64_t addr)
{
	const struct code_entry *e = entry_at(c, CODE_KEY(image, addr), false);

	return e ? e->uop : 0;
}

const struct code_site *code_site(const struct code *c, uint32_t uop)
{
	uint32_t i = uop < c->nuop ? c->site_of[uop] : 0;

	return i ? &c->site[i] : NULL;
}

/* Links the branch `from` to addr: now, or when addr is lifted. */
static void link_to(struct code *c, uint32_t from, uint32_t image, uint64_t addr)
{
	struct code_entry *e = entry_at(c, CODE_KEY(image, addr), true);

	if (!e) {
		c->refused++;
		return;
	}
	if (e->uop) {
		__atomic_store_n(&c->uop[from].imm, (int64_t)e->uop, __ATOMIC_RELEASE);
		return;
	}
	c->next[from] = e->pad;
	e->pad = from;
}

/* Publishes an instruction, and links what waited for it. */
static bool publish(struct code *c, uint32_t image, uint64_t addr, uint32_t uop)
{
	struct code_entry *e = entry_at(c, CODE_KEY(image, addr), true);
	uint32_t from;

	if (!e)
		return false;
	assert(!e->uop);
	__atomic_store_n(&e->uop, uop, __ATOMIC_RELEASE);
	for (from = e->pad; from; from = c->next[from])
		__atomic_store_n(&c->uop[from].imm, (int64_t)uop, __ATOMIC_RELEASE);
	e->pad = 0;
	c->nentry++;
	return true;
}

static uint32_t add_site(struct code *c, uint32_t image, uint64_t addr, uint64_t target,
			 uint8_t cls, uint8_t len)
{
	struct code_site *s = c->site;

	if (c->nsite == c->site_cap) {
		s = realloc(s, 2 * (size_t)c->site_cap * sizeof(*s));
		if (!s)
			return 0;
		c->site = s;
		c->site_cap *= 2;
	}
	s[c->nsite] = (struct code_site){
		.addr = addr, .target = target, .image = image, .cls = cls, .len = len
	};
	return c->nsite++;
}

bool code_has_room(const struct code *c)
{
	return c->nuop + LIFT_MAX + 8 < c->uop_cap && c->nentry < (1u << c->entry_bits) / 8 * 5;
}

/* Ends a run with a link to the instruction at addr. */
static void add_link(struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t at = c->nuop++;

	c->uop[at] = (struct uop){ .op = UOP_JMP };
	c->site_of[at] = add_site(c, image, addr, addr, INSN_JUMP, 0);
	link_to(c, at, image, addr);
}

/* Lifts one decoded instruction behind the last. False if there is no room. */
static bool add_insn(struct code *c, uint32_t image, const struct insn *in, uint16_t fl_live,
		     bool may_enter)
{
	const struct code_source *src = &c->source[image];
	uint32_t site;
	struct uop out[LIFT_MAX];
	int n;

	site = add_site(c, image, in->addr, in->target, in->cls, in->len);
	if (!site)
		return false;
	if (may_enter && src->entry && src->entry(src->ctx, in->addr)) {
		c->uop[c->nuop] = (struct uop){ .op = UOP_ARGS };
		c->site_of[c->nuop++] = site;
	}
	n = lift_insn(in, fl_live, out);
	memcpy(&c->uop[c->nuop], out, (size_t)n * sizeof(*out));
	for (int i = 0; i < n; i++) {
		uint32_t at = c->nuop + (uint32_t)i;

		c->site_of[at] = site;
		if (out[i].op == UOP_JCC || (out[i].op == UOP_JMP && (out[i].flags & UF_RETIRE)))
			link_to(c, at, image, in->target);
	}
	c->nuop += (uint32_t)n;
	c->lifted++;
	return true;
}

struct walk {
	struct insn run[RUN_MAX];
	uint16_t live[RUN_MAX];
	uint32_t first[RUN_MAX]; /* micro-op that each begins with */
	uint64_t *queue;
	uint32_t head, tail;
};

/* Decodes from addr up to n instructions: to the end of control flow, to what is lifted, to what is
 * no code. Returns how many; *more: the address to go on at, if control does. */
static uint32_t decode_run(const struct code *c, uint32_t image, uint64_t addr, struct insn *run,
			   uint32_t n, bool *more, uint64_t *next)
{
	const struct code_source *src = &c->source[image];
	uint32_t k = 0;
	size_t left = 0;
	const uint8_t *p = NULL;

	*more = true;
	while (k < n && !(k && code_find(c, image, addr))) {
		struct insn *in = &run[k];
		int len;

		if (left < INSN_MAX_LEN)
			p = src->bytes(src->ctx, addr, &left);
		if (!p || !(len = insn_decode(in, p, left, addr))) {
			*more = k != 0;
			break;
		}
		k++;
		addr += (uint64_t)len;
		p += len;
		left -= (size_t)len;
		if (!insn_falls_through(in)) {
			*more = false;
			break;
		}
	}
	*next = addr;
	return k;
}

/* The status flags that may be read behind each instruction of a run. At its end, and where control
 * can leave it, all. */
static void flags_live(const struct insn *run, uint16_t *live, uint32_t n)
{
	uint16_t l = FL_STATUS;

	for (uint32_t i = n; i-- > 0;) {
		if (insn_ends_block(&run[i]))
			l = FL_STATUS;
		live[i] = l;
		l = (uint16_t)((l & ~run[i].fl_written) | run[i].fl_read) & FL_STATUS;
	}
}

static void visit(struct code *c, struct walk *w, uint32_t image, uint64_t addr)
{
	if (w->tail - w->head < QUEUE_MAX && !code_find(c, image, addr))
		w->queue[w->tail++ % QUEUE_MAX] = addr;
}

/* What is no code is a place where windows end, and not asked for again. */
static bool add_no_code(struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t at = c->nuop;

	if (!code_has_room(c))
		return false;
	c->uop[at] = (struct uop){ .op = UOP_STOP, .imm = RA_STOP_UNSUPPORTED };
	c->site_of[at] = add_site(c, image, addr, 0, INSN_TRAP, 0);
	c->nuop++;
	return publish(c, image, addr, at);
}

/* A procedure begins where control comes from elsewhere, or behind a call that does not return. */
static bool may_be_entry(const struct insn *run, uint32_t k)
{
	return k == 0 || run[k - 1].cls == INSN_CALL || run[k - 1].z.mnemonic == ZYDIS_MNEMONIC_NOP;
}

/* Lifts w->run[0..n), which goes on at `next` if `more`. Nothing leads to an instruction before those
 * behind it are there. Returns how many were lifted, fewer if there is no room. */
static uint32_t lift_run(struct code *c, struct walk *w, uint32_t image, uint32_t n, bool more,
			 uint64_t next)
{
	uint32_t i, k;

	flags_live(w->run, w->live, n);
	for (k = 0; k < n && code_has_room(c); k++) {
		w->first[k] = c->nuop;
		if (!add_insn(c, image, &w->run[k], w->live[k], may_be_entry(w->run, k)))
			break;
		if (w->run[k].target)
			visit(c, w, image, w->run[k].target);
	}
	if (k < n) {
		if (k) /* has_room() left some */
			c->uop[c->nuop++] = (struct uop){ .op = UOP_JMP };
	} else if (more) {
		add_link(c, image, next);
		visit(c, w, image, next);
	}
	for (i = 0; i < k; i++)
		if (!publish(c, image, w->run[i].addr, w->first[i]))
			c->refused++;
	return k;
}

uint32_t code_lift(struct code *c, uint32_t image, uint64_t addr, uint32_t budget)
{
	static _Thread_local struct walk w;
	uint32_t done = 0, n, k;
	uint64_t at, next;
	bool more;

	if (image >= c->nsource || !c->source[image].bytes)
		return 0;
	w.queue = c->queue;
	w.head = w.tail = 0;
	visit(c, &w, image, addr);
	while (w.head != w.tail && done < budget) {
		at = w.queue[w.head++ % QUEUE_MAX];
		if (code_find(c, image, at))
			continue;
		n = decode_run(c, image, at, w.run, RUN_MAX, &more, &next);
		if (!n && !add_no_code(c, image, at))
			break;
		k = lift_run(c, &w, image, n, more, next);
		done += k;
		if (k < n)
			break;
	}
	return done;
}

/* The length of the instruction lifted at addr, or 0. */
static uint32_t lifted_length(const struct code *c, uint32_t image, uint64_t addr)
{
	uint32_t uop = code_find(c, image, addr);
	const struct code_site *s = uop ? code_site(c, uop) : NULL;

	return s ? s->len : 0;
}

uint32_t code_sweep(struct code *c, uint32_t image, uint64_t start, uint64_t end, uint32_t budget)
{
	uint32_t done = 0, n;

	for (uint64_t at = start; at < end && done < budget; at += n ? n : 1) {
		n = lifted_length(c, image, at);
		if (!n && !code_find(c, image, at)) {
			done += code_lift(c, image, at, 1);
			n = lifted_length(c, image, at);
		}
	}
	return done;
}
