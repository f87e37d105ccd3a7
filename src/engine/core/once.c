/* SPDX-License-Identifier: MIT */
/*
 * Instructions whose code changes all the time, or may be changed by others: each is translated
 * anew whenever control reaches it. Executions are counted by address and bytes.
 */
#include "engine/core/edges.h"
#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/lines.h"
#include "engine/record/log.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/core/once.h"
#include "engine/translate/plan.h"
#include "engine/shared.h"

#define KNOWN_MAX (1u << 16) /* a power of two, filled to three quarters */

struct known {
	uint64_t pc;
	uint8_t bytes[INSN_MAX];
	uint8_t len; /* 0: free */
	uint32_t id;
	uint32_t site; /* the site, if the instruction is an indirect jump; or 0 */
};
static struct known *known;
static uint32_t nknown;

static uint64_t hash(uint64_t pc, const uint8_t *p, unsigned n)
{
	uint64_t h = pc * 0x9e3779b97f4a7c15ull;

	for (unsigned i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h ^ h >> 32;
}

/* Registers a block number for an instruction, with the recorder, that has counters but no code. */
static uint32_t new_number(const struct known *k, uint32_t image)
{
	static struct plan nothing;
	static const struct log_exits none;
	struct block b = { .pc = k->pc, .len = k->len, .n = 1, .bytes = k->bytes };

	log_block(&b, image, &k->len, &nothing, &none);
	return b.id;
}

void once_note(struct thread *t, const struct block *b, struct region *r)
{
	const uint8_t *code = b->bytes;
	uint32_t i = (uint32_t)hash(b->pc, code, b->len);

	t->known = NULL;
	if (!counting() && !lines_observed())
		return;
	if (!known)
		known = reserve(KNOWN_MAX * sizeof(*known));
	for (;; i++) {
		struct known *k = &known[i &= KNOWN_MAX - 1];

		if (k->len == b->len && k->pc == b->pc && !memcmp(k->bytes, code, b->len)) {
			t->known = k;
			return;
		}
		if (k->len)
			continue;
		if (nknown >= KNOWN_MAX / 4 * 3)
			return;
		nknown++;
		k->pc = b->pc;
		k->len = (uint8_t)b->len;
		memcpy(k->bytes, code, b->len);
		if (!r->image)
			r->image = log_image(r);
		k->id = new_number(k, r->image);
		t->known = k;
		return;
	}
}

void once_reset(void)
{
	if (known)
		memset(known, 0, KNOWN_MAX * sizeof(*known));
	nknown = 0;
}

void once_uncount(struct thread *t)
{
	if (!counting())
		return;
	if (t->known)
		--*counter_of(t, 2 * t->known->id);
	else
		log_uncounted(-1);
}

void once_count(struct thread *t, bool taken)
{
	if (lines_observed() && t->known)
		lines_ran(t, t->known->id);
	if (!counting())
		return;
	if (!t->known) {
		log_uncounted(1);
		return;
	}
	++*counter_of(t, 2 * t->known->id);
	*counter_of(t, 2 * t->known->id + 1) += taken;
}

uint32_t once_number(const struct thread *t)
{
	return t->known ? t->known->id + 1 : 0;
}

uint32_t once_site(const struct thread *t)
{
	struct known *k = t->known;

	if (!k && counting())
		log_uncounted(1);
	if (k && !k->site)
		k->site = edges_site(k->id, false);
	return k ? k->site : 0;
}
