/* SPDX-License-Identifier: MIT */
#include "store/journal.h"

#include "x86/uop.h"
#include "runahead/state.h"

#define STANDS_SHIFT \
	8 /* a window's word: why it ended, and from this bit on the number of windows that it stands for */
#define TAKEN (1u << OPERAND_N)
#define ACCESS (2u << OPERAND_N) /* the access size follows the values */
#define COUNTS (4u << OPERAND_N) /* the register, its size and the step follow the access size */

bool journal_put(struct buffer *b, const struct window *w)
{
	uint64_t last = w->start.addr;

	if (!buffer_room(b, 10 * VARINT_MAX + (size_t)w->n * (9 + OPERAND_N) * VARINT_MAX))
		return false;
	varint_put(b, w->pid);
	varint_put(b, w->tid);
	varint_put(b, w->time);
	varint_put(b, (uint64_t)w->weight);
	varint_put(b, w->stop | (uint64_t)w->stands << STANDS_SHIFT);
	varint_put(b, w->start.image);
	varint_put(b, w->start.addr);
	varint_put(b, w->n);
	for (uint32_t i = 0; i < w->n; i++) {
		const struct retired *r = &w->ri[i];

		varint_put(b, r->site.image);
		varint_put(b, zigzag((int64_t)(r->site.addr - last)));
		varint_put(b, r->cls);
		varint_put(b, r->len);
		varint_put(b, r->have | (r->taken ? TAKEN : 0) | (r->access ? ACCESS : 0) |
				      (r->counts ? COUNTS : 0));
		for (unsigned have = r->have; have; have &= have - 1)
			varint_put(b, r->value[__builtin_ctz(have)]);
		if (r->access)
			varint_put(b, r->access);
		if (r->counts) {
			varint_put(b, r->counts);
			varint_put(b, r->reg);
			varint_put(b, zigzag(r->step));
		}
		last = r->site.addr;
	}
	return true;
}

struct decoder {
	struct cursor c;
	const uint32_t *map;
	size_t nmap;
};

static bool get_site(struct decoder *d, uint64_t image, uint64_t addr, struct site_id *id)
{
	if (image >= d->nmap)
		return false;
	id->image = d->map[image];
	id->addr = addr;
	return true;
}

static bool get_step(struct decoder *d, struct retired *r)
{
	uint64_t counts, reg, zigzagged;
	int64_t step;

	if (!varint_get(&d->c, &counts) || !varint_get(&d->c, &reg) ||
	    !varint_get(&d->c, &zigzagged))
		return false;
	step = unzigzag(zigzagged);
	r->counts = (uint8_t)counts;
	r->reg = (uint8_t)reg;
	r->step = (int32_t)step;
	return reg < 16 && (counts == 4 || counts == 8) && step && step == r->step &&
	       r->have >> OPERAND_RESULT & 1;
}

static bool get_retired(struct decoder *d, struct retired *r, uint64_t *last)
{
	uint64_t image, delta, cls, len, have, access;

	if (!varint_get(&d->c, &image) || !varint_get(&d->c, &delta) || !varint_get(&d->c, &cls) ||
	    !varint_get(&d->c, &len) || !varint_get(&d->c, &have))
		return false;
	*last += (uint64_t)unzigzag(delta);
	if (!get_site(d, image, *last, &r->site) || cls > 255 || len > 15 || have >= 2 * COUNTS)
		return false;
	r->cls = (uint8_t)cls;
	r->len = (uint8_t)len;
	r->taken = have & TAKEN;
	r->have = (uint16_t)(have & (TAKEN - 1));
	for (unsigned h = r->have; h; h &= h - 1)
		if (!varint_get(&d->c, &r->value[__builtin_ctz(h)]))
			return false;
	access = 0;
	if (have & ACCESS && (!varint_get(&d->c, &access) || access > 64))
		return false;
	r->access = (uint8_t)access;
	r->counts = 0;
	r->step = 0;
	return !(have & COUNTS) || get_step(d, r);
}

static bool get_window(struct decoder *d, struct window *w, struct retired *ri)
{
	uint64_t pid, tid, weight, stop, image, addr, n, last;

	if (!varint_get(&d->c, &pid) || !varint_get(&d->c, &tid) || !varint_get(&d->c, &w->time) ||
	    !varint_get(&d->c, &weight) || !varint_get(&d->c, &stop) ||
	    !varint_get(&d->c, &image) || !varint_get(&d->c, &addr) || !varint_get(&d->c, &n))
		return false;
	if (!get_site(d, image, addr, &w->start) || n > RA_BURST_MAX ||
	    (stop & ((1u << STANDS_SHIFT) - 1)) > RA_STOP_N ||
	    stop >> STANDS_SHIFT > WINDOW_STANDS_MOST)
		return false;
	w->rare = false;
	w->extra = 0;
	w->stack = 0; /* call stacks are not in the journal */
	w->stands = (uint32_t)(stop >> STANDS_SHIFT);
	stop &= (1u << STANDS_SHIFT) - 1;
	w->pid = (uint32_t)pid;
	w->tid = (uint32_t)tid;
	w->weight = (double)weight;
	w->stop = (uint32_t)stop;
	w->n = (uint32_t)n;
	w->ri = ri;
	last = addr;
	for (uint32_t i = 0; i < w->n; i++)
		if (!get_retired(d, &ri[i], &last))
			return false;
	return true;
}

int journal_replay(const uint8_t *p, size_t n, struct profile *to, uint64_t sites_max,
		   const uint32_t *map, size_t nmap, struct err *err)
{
	struct decoder d = { { p, p + n }, map, nmap };
	struct retired *ri = calloc(RA_BURST_MAX, sizeof(*ri));
	struct window w;
	int rc = 0;

	if (!ri)
		return err_no_memory(err, "the recording");
	while (!rc && d.c.p < d.c.end) {
		if (!get_window(&d, &w, ri))
			rc = err_set(err, ERR_FAILED, "malformed journal");
		else if (profile_window(to, &w))
			rc = err_no_memory(err, "the recording");
		else if (to->sites.n > sites_max)
			rc = err_set(err, ERR_FAILED, "more instructions than its size allows");
	}
	free(ri);
	return rc;
}
