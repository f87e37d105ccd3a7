/* SPDX-License-Identifier: MIT */
#include "windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "x86/insn.h"
#include "rng.h"
#include "runahead/code.h"
#include "runahead/user.h"
#include "slot.h"

#define UOPS (1u << 20)
#define LINE_BITS 15
#define IMAGES 256
#define LINES 256 /* memory as it was when the window began, by 64 bytes */
#define SHOWN 10

/* An executable mapping; its "ELF addresses" are file offsets. */
struct image {
	struct windows *w;
	struct proc_map map;
	uint64_t bias;
	uint64_t at; /* of the bytes in buf */
	size_t n;
	uint8_t buf[4096];
};

struct line {
	uint64_t addr;
	uint64_t window;
	uint32_t n;
	uint8_t byte[64];
};

/* What is expected of one instruction. */
struct expect {
	uint64_t ip, ea, a, b;
	uint64_t r[16];
	uint32_t known;
	uint32_t uop;
	uint64_t head;
	struct code_site site;
};

struct windows {
	const struct windows_opts *o;
	struct windows_counts *n;
	struct proc p;
	struct code code;
	struct uop *uop;
	struct code_line *code_line;
	struct image *image[IMAGES];
	uint32_t nimage;
	struct line line[LINES];
	struct ra_state s;
	struct expect expect[WINDOW_BURST];
};

static const struct line *line_at(struct windows *w, uint64_t addr)
{
	struct line *l = &w->line[addr >> 6 & (LINES - 1)];

	addr &= ~63ull;
	if (l->addr != addr || l->window != w->n->windows + 1) {
		l->addr = addr;
		l->window = w->n->windows + 1;
		l->n = (uint32_t)proc_read(&w->p, addr, l->byte, sizeof(l->byte));
	}
	return l;
}

/* Memory as it was when the window began. */
static int read_memory(void *ctx, uint64_t addr, uint32_t bytes, uint64_t *val)
{
	uint8_t *out = (uint8_t *)val;

	*val = 0;
	for (uint32_t i = 0; i < bytes; i++) {
		const struct line *l = line_at(ctx, addr + i);

		if ((addr + i) % 64 >= l->n)
			return -1;
		out[i] = l->byte[(addr + i) % 64];
	}
	return 0;
}

static const uint8_t *read_code(void *ctx, uint64_t addr, size_t *n)
{
	struct image *im = ctx;
	uint64_t ip = addr + im->bias;

	if (ip < im->map.start || ip >= im->map.end)
		return NULL;
	if (addr < im->at || addr + 2 * INSN_MAX_LEN > im->at + im->n) {
		size_t want =
			im->map.end - ip < sizeof(im->buf) ? im->map.end - ip : sizeof(im->buf);

		im->at = addr;
		im->n = proc_read(&im->w->p, ip, im->buf, want);
	}
	*n = im->at + im->n - addr;
	return *n ? im->buf + (addr - im->at) : NULL;
}

static uint32_t image_of(struct windows *w, const struct proc_map *m)
{
	struct code_source src = { .bytes = read_code };
	struct image *im;
	struct err err;

	for (uint32_t i = 1; i < w->nimage; i++)
		if (w->image[i]->map.start == m->start && w->image[i]->map.end == m->end)
			return i;
	if (w->nimage == IMAGES || !(im = calloc(1, sizeof(*im))))
		return 0;
	im->w = w;
	im->map = *m;
	im->bias = m->start - m->offset;
	src.ctx = im;
	w->image[w->nimage] = im;
	return code_image(&w->code, w->nimage, &src, &err) ? 0 : w->nimage++;
}

static int map_image(void *ctx, struct ra_state *s, uint64_t addr)
{
	struct windows *w = ctx;
	const struct proc_map *m = proc_code_at(&w->p, addr);
	uint32_t i = m ? image_of(w, m) : 0;

	if (!i)
		return RA_STOP_UNMAPPED;
	s->image = i;
	s->start = w->image[i]->map.start;
	s->end = w->image[i]->map.end;
	s->bias = w->image[i]->bias;
	return 0;
}

static void registers(uint64_t *to, const struct user_regs_struct *u)
{
	const uint64_t r[16] = { u->rax, u->rcx, u->rdx, u->rbx, u->rsp, u->rbp, u->rsi, u->rdi,
				 u->r8,	 u->r9,	 u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };

	memcpy(to, r, sizeof(r));
}

static void run_ahead(struct windows *w, uint32_t burst)
{
	struct ra_env env = { .code = &w->code, .read = read_memory, .map = map_image, .ctx = w };

	registers(w->s.r, &w->p.regs);
	w->s.r[UR_FS] = w->p.regs.fs_base;
	w->s.r[UR_GS] = w->p.regs.gs_base;
	w->s.known = (1u << UR_BIAS) - 1;
	ra_user_run(&w->s, &env, w->p.regs.rip, w->p.regs.eflags, burst);
}

/* Lifts what the window stopped at. False if there is nothing more to lift. */
static bool lift_more(struct windows *w)
{
	const struct ra_state *s = &w->s;
	return s->stop == RA_STOP_MISS &&
	       code_lift(&w->code, s->image, s->target - s->bias, 64) > 0;
}

/* Reads the window's words into expect[]; registers are those of windows cut behind each. */
static uint32_t expectations(struct windows *w)
{
	const uint64_t *p = &w->s.out[RA_OUT_HEAD];
	uint32_t n = w->s.n;

	for (uint32_t i = 0; i < n; i++) {
		struct expect *x = &w->expect[i];

		x->head = *p++;
		x->uop = (uint32_t)x->head;
		x->ea = x->head & RA_HAS_EA ? *p++ : 0;
		x->a = x->head & RA_HAS_A ? *p++ : 0;
		x->b = x->head & RA_HAS_B ? *p++ : 0;
		x->ip = code_site(&w->code, x->uop, &x->site)
				? x->site.addr + w->image[x->site.image]->bias
				: 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		run_ahead(w, i + 1);
		memcpy(w->expect[i].r, w->s.r, sizeof(w->expect[i].r));
		w->expect[i].known = w->s.n == i + 1 ? w->s.known : 0;
	}
	return n;
}

static void say(struct windows *w, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct expect *x = &w->expect[i];
		uint32_t rec = w->code.uop[x->uop].rec;

		if (x->head & RA_HAS_EA)
			w->o->said(w->o->ctx, &w->p, x->ip, UREC_NONE, x->ea);
		if (x->head & RA_HAS_A)
			w->o->said(w->o->ctx, &w->p, x->ip, rec >> 5 & 3, x->a);
		if (x->head & RA_HAS_B)
			w->o->said(w->o->ctx, &w->p, x->ip, rec >> 12 & 3, x->b);
	}
}

/* Comparing. */

struct stepped {
	uint64_t before, after; /* 8 bytes at the address */
	uint64_t r[16];
};

static bool equal_low(uint64_t v, uint64_t mem)
{
	return v == mem || v == (uint32_t)mem || v == (uint16_t)mem || v == (uint8_t)mem;
}

static bool in_register(const struct stepped *st, uint64_t v)
{
	for (int i = 0; i < 16; i++)
		if (equal_low(v, st->r[i]) || v == (uint8_t)(st->r[i] >> 8))
			return true;
	return false;
}

/* NULL if a recorded value is what the CPU had. */
static const char *check_value(struct windows *w, uint32_t kind, uint64_t v, const struct expect *x,
			       const struct stepped *st)
{
	switch (kind) {
	case UREC_LOAD:
		w->n->loads++;
		if ((x->head & RA_HAS_EA) && !equal_low(v, st->before) && !equal_low(v, st->after))
			return "loaded value";
		return NULL;
	case UREC_STORE:
		w->n->stores++;
		if ((x->head & RA_HAS_EA) && !equal_low(v, st->after))
			return "stored value";
		return NULL;
	case UREC_RESULT:
		w->n->results++;
		return in_register(st, v) || ((x->head & RA_HAS_EA) && equal_low(v, st->after))
			       ? NULL
			       : "result";
	default:
		return "kind of what is recorded";
	}
}

/* Where a direct branch leads, at run time. */
static uint64_t target_of(struct windows *w, const struct code_site *site)
{
	struct image *im = w->image[site->image];
	struct insn in;
	size_t n;
	const uint8_t *p = read_code(im, site->addr, &n);

	return p && insn_decode(&in, p, n, site->addr) ? in.target + im->bias : 0;
}

static const char *check_step(struct windows *w, const struct expect *x, const struct stepped *st)
{
	const struct code_site *site = &x->site;
	uint32_t rec = w->code.uop[x->uop].rec;
	uint64_t next = x->ip + site->len;
	const char *why = NULL;

	for (int i = 0; i < 16; i++)
		if ((x->known >> i & 1) && x->r[i] != st->r[i])
			return insn_gpr_name[i];
	if (x->head & RA_HAS_A)
		why = check_value(w, rec >> 5 & 3, x->a, x, st);
	if (!why && (x->head & RA_HAS_B))
		why = check_value(w, rec >> 12 & 3, x->b, x, st);
	if (why)
		return why;
	switch (site->cls) {
	case INSN_IJUMP:
	case INSN_ICALL:
		return x->a == w->p.regs.rip ? NULL : "target of the branch";
	case INSN_BRANCH:
		next = target_of(w, site) == next ? 0 : next;
		return (w->p.regs.rip != next) == !!(x->head & RA_TAKEN) || !next
			       ? NULL
			       : "whether the branch is taken";
	default:
		return NULL;
	}
}

/* True if a store of the window's wrote the byte. */
static bool stored_by_window(const struct ra_state *s, uint64_t addr)
{
	for (uint32_t i = 0; i < RA_SB_SLOTS; i++) {
		const struct ra_slot *e = &s->sb[i];

		if (slot_used(s, e) && slot_addr(e) == (addr & ~7ull))
			return e->valid >> (addr & 7) * 8 & 0xff;
	}
	return false;
}

/* True if memory at the address is no more what it was when the window began, and no store of the
 * window's is why. */
static bool written_by_other(struct windows *w, uint64_t addr, uint64_t before, uint32_t bytes)
{
	uint64_t began;

	for (uint32_t i = 0; i < bytes; i++)
		if (!read_memory(w, addr + i, 1, &began) && began != (before >> 8 * i & 0xff) &&
		    !stored_by_window(&w->s, addr + i))
			return true;
	return false;
}

static void show(struct windows *w, uint32_t at, const char *what)
{
	const struct expect *x = &w->expect[at];
	const struct code_site *site = &x->site;
	struct insn in;
	char text[128] = "?";
	const uint8_t *p;
	uint64_t r[16];
	size_t n;

	if (w->n->differences++ >= SHOWN)
		return;
	p = x->ip ? read_code(w->image[site->image], site->addr, &n) : NULL;
	if (p && insn_decode(&in, p, n, site->addr))
		insn_format(&in, text, sizeof(text));
	printf("# DIFFERENCE in %s, seed %llu, window %llu, instruction %u at %#llx: %s: %s\n",
	       w->o->argv[0], (unsigned long long)w->o->seed, (unsigned long long)w->n->windows, at,
	       (unsigned long long)x->ip, text, what);
	printf("#  head %#llx ea %#llx a %#llx b %#llx, now at %#llx\n",
	       (unsigned long long)x->head, (unsigned long long)x->ea, (unsigned long long)x->a,
	       (unsigned long long)x->b, (unsigned long long)w->p.regs.rip);
	registers(r, &w->p.regs);
	for (int i = 0; i < 16; i++)
		if ((x->known >> i & 1) && x->r[i] != r[i])
			printf("#  %s %#llx, the CPU has %#llx\n", insn_gpr_name[i],
			       (unsigned long long)x->r[i], (unsigned long long)r[i]);
}

/* Steps over one instruction, all rounds of it. */
static bool step_over(struct windows *w, const struct expect *x)
{
	const struct code_site *site = &x->site;
	struct insn in;
	const uint8_t *p;
	size_t n;

	if (!proc_step(&w->p))
		return false;
	if (w->p.regs.rip != x->ip)
		return true;
	p = read_code(w->image[site->image], site->addr, &n);
	if (!p || !insn_decode(&in, p, n, site->addr) ||
	    !(in.z.attributes &
	      (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)))
		return true; /* a branch to itself */
	while (w->p.regs.rip == x->ip)
		if (!proc_step(&w->p))
			return false;
	return true;
}

/* One instruction done by the CPU and compared. 0 alike, 1 the window is over. */
static int compare_step(struct windows *w, uint32_t i)
{
	const struct expect *x = &w->expect[i];
	struct stepped st = { 0 };
	const char *why;

	if (w->p.regs.rip != x->ip) {
		show(w, i, "not where control went");
		return 1;
	}
	if (x->head & RA_HAS_EA)
		proc_read(&w->p, x->ea, &st.before, sizeof(st.before));
	if (!step_over(w, x)) {
		w->n->cut++;
		return 1;
	}
	if (x->head & RA_HAS_EA)
		proc_read(&w->p, x->ea, &st.after, sizeof(st.after));
	registers(st.r, &w->p.regs);
	why = check_step(w, x, &st);
	if (!why)
		return 0;
	if ((x->head & RA_HAS_EA) && written_by_other(w, x->ea, st.before, 8))
		w->n->explained++;
	else
		show(w, i, why);
	return 1;
}

/* Everything the window stored is in memory now. */
static void compare_stores(struct windows *w, uint32_t last)
{
	const struct ra_state *s = &w->s;

	for (uint32_t i = 0; i < RA_SB_SLOTS; i++) {
		const struct ra_slot *e = &s->sb[i];
		uint64_t mem = 0, sure = e->valid & ~e->unknown;

		if (!slot_used(s, e) || proc_read(&w->p, slot_addr(e), &mem, 8) != 8)
			continue;
		if ((mem ^ e->data) & sure) {
			show(w, last, "what the window stored");
			return;
		}
	}
}

static void one_window(struct windows *w)
{
	uint32_t n, i;

	run_ahead(w, WINDOW_BURST);
	for (i = 0; i < 256 && lift_more(w); i++)
		run_ahead(w, WINDOW_BURST);
	w->n->stops[w->s.stop]++;
	w->n->full += w->s.stop == RA_STOP_FULL;
	n = expectations(w);
	w->n->instructions += n;
	if (w->o->said)
		say(w, n);
	for (i = 0; i < n; i++)
		if (compare_step(w, i))
			break;
	if (n && i == n)
		compare_stores(w, n - 1);
	w->n->windows++;
}

static void drop_code(struct windows *w)
{
	for (uint32_t i = 1; i < w->nimage; i++)
		free(w->image[i]);
	w->nimage = 0;
	code_fini(&w->code);
}

/* Begins lifting anew. */
static int fresh_code(struct windows *w)
{
	struct err err;

	drop_code(w);
	memset(w->uop, 0, UOPS * sizeof(*w->uop));
	memset(w->code_line, 0, sizeof(*w->code_line) << LINE_BITS);
	if (code_init(&w->code, w->uop, UOPS, w->code_line, LINE_BITS, &err))
		return -1;
	w->nimage = 1;
	return 0;
}

static int restart(struct windows *w)
{
	if (fresh_code(w))
		return -1;
	w->n->runs++;
	return proc_start(&w->p, w->o->argv);
}

int windows_run(const struct windows_opts *o, struct windows_counts *n)
{
	struct windows *w = calloc(1, sizeof(*w));
	struct rng r = { o->seed };
	int ret = -1;

	if (!w)
		return -1;
	w->o = o;
	w->n = n;
	w->uop = malloc(UOPS * sizeof(*w->uop));
	w->code_line = malloc(sizeof(*w->code_line) << LINE_BITS);
	if (w->uop && w->code_line)
		ret = restart(w);
	while (!ret && n->windows < o->count) {
		if (proc_run(&w->p,
			     o->least_us + (uint32_t)rng_below(&r, o->most_us - o->least_us)))
			one_window(w);
		if (!code_has_room(&w->code))
			ret = fresh_code(w);
		if (!ret && w->p.pid == 0)
			ret = restart(w);
	}
	if (w->p.pid > 0)
		proc_kill(&w->p);
	drop_code(w);
	free(w->uop);
	free(w->code_line);
	free(w);
	return ret;
}
