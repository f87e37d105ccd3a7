/* SPDX-License-Identifier: MIT */
/*
 * Landing pads: where control goes on when an exception passes a procedure. The exception table that its
 * unwind information names begins
 *
 *	encoding, base of landing pads (if the encoding is not "omit": else the procedure's start)
 *	encoding, distance of the type table (likewise)
 *	encoding of the call sites, their size in bytes
 *	call sites: start, length, landing pad (0: none), action (uleb128)
 */
#include "image/pads.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/search.h"
#include "image/image_priv.h"
#include "image/unwind.h"

#define SITES_MAX 65536

struct table {
	struct image *im;
	uint64_t at;
	bool bad;
};

static uint64_t take(struct table *t, unsigned bytes)
{
	uint64_t v = 0;
	bool constant;

	if (t->bad || !image_data(t->im, t->at, &v, bytes, &constant)) {
		t->bad = true;
		return 0;
	}
	t->at += bytes;
	return v;
}

static uint64_t take_uleb(struct table *t)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 63; shift += 7) {
		uint64_t byte = take(t, 1);

		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	t->bad = true;
	return 0;
}

static uint64_t take_encoded(struct table *t, uint8_t encoding)
{
	uint64_t here = t->at, v;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		v = take(t, 8);
		break;
	case DW_EH_PE_uleb128:
		v = take_uleb(t);
		break;
	case DW_EH_PE_udata4:
		v = take(t, 4);
		break;
	case DW_EH_PE_sdata4:
		v = (uint64_t)(int64_t)(int32_t)take(t, 4);
		break;
	case DW_EH_PE_udata2:
		v = take(t, 2);
		break;
	default:
		t->bad = true;
		return 0;
	}
	if (encoding & DW_EH_PE_indirect)
		t->bad = true;
	return (encoding & 0x70) == DW_EH_PE_pcrel ? v + here : v;
}

static size_t read_pads(struct image *im, const struct unwind_range *r, uint64_t *pad, size_t max)
{
	struct table t = { im, r->lsda, false };
	uint8_t encoding = (uint8_t)take(&t, 1);
	uint64_t base = encoding == DW_EH_PE_omit ? r->start : take_encoded(&t, encoding), end;
	size_t n = 0;

	if ((uint8_t)take(&t, 1) != DW_EH_PE_omit)
		take_uleb(&t);
	encoding = (uint8_t)take(&t, 1);
	end = take_uleb(&t);
	end += t.at;
	for (unsigned i = 0; i < SITES_MAX && !t.bad && t.at < end && n < max; i++) {
		uint64_t to;

		take_encoded(&t, encoding);
		take_encoded(&t, encoding);
		to = take_encoded(&t, encoding);
		take_uleb(&t);
		if (!t.bad && to && (!n || pad[n - 1] != base + to))
			pad[n++] = base + to;
	}
	return n;
}

static void find_tables(struct image *im)
{
	struct unwind u;
	size_t n = 0;

	im->pads.read = true;
	if (unwind_read(&u, im))
		for (size_t i = 0; i < u.n; i++)
			if (u.v[i].lsda)
				u.v[n++] = u.v[i];
	im->pads.v = u.v;
	im->pads.n = n;
}

size_t image_pads(struct image *im, uint64_t start, uint64_t *pad, size_t max)
{
	size_t lo;

	if (!im->pads.read)
		find_tables(im);
	lo = search_first(i, 0, im->pads.n, im->pads.v[i].start >= start);
	if (lo == im->pads.n || im->pads.v[lo].start != start)
		return 0;
	return read_pads(im, &im->pads.v[lo], pad, max);
}

void pads_fini(struct pads *p)
{
	free(p->v);
	*p = (struct pads){ 0 };
}
