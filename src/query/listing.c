/* SPDX-License-Identifier: MIT */
#include "query/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "x86/reg.h"

#define LISTING_MAX (16u << 20) /* largest extent of code; a recording's extents are untrusted */
#define CANARY 0x28		/* offset of the stack protector's canary: fs:[0x28] */

int listing_decode(struct insn *in, struct image *im, uint64_t addr)
{
	size_t n;
	const uint8_t *p = image_code(im, addr, &n);

	return p ? insn_decode(in, p, n, addr) : 0;
}

/* Facts about instructions. */

static bool clears(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		return in->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       in->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		       in->op[0].reg.value == in->op[1].reg.value;
	default:
		return false;
	}
}

static uint16_t killed(const struct insn *in)
{
	uint16_t set = 0;

	for (int i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];
		int reg =
			op->type == ZYDIS_OPERAND_TYPE_REGISTER ? reg_part(op->reg.value).reg : -1;

		if (reg >= 0 && (op->actions & ZYDIS_OPERAND_ACTION_WRITE) && op->size >= 32)
			set |= (uint16_t)(1u << reg);
	}
	return set;
}

static uint16_t addressed(const struct insn *in)
{
	uint16_t set = 0;

	for (int i = 0; in->nmem && i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];
		int base, index;

		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		base = reg_part(op->mem.base).reg;
		index = reg_part(op->mem.index).reg;
		set |= (uint16_t)((base >= 0 ? 1u << base : 0) | (index >= 0 ? 1u << index : 0));
	}
	return set;
}

static bool is_constant(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		return in->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_LEA:
		return !in->gpr_read;
	default:
		return clears(in);
	}
}

static bool reads_canary(const struct insn *in)
{
	for (int i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.segment == ZYDIS_REGISTER_FS &&
		    op->mem.base == ZYDIS_REGISTER_NONE && op->mem.disp.value == CANARY)
			return true;
	}
	return false;
}

static bool is_frame(const struct insn *in)
{
	const uint16_t frame = 1u << UR_RSP | 1u << UR_RBP;

	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_PUSH:
	case ZYDIS_CATEGORY_POP:
		return true;
	default:
		break;
	}
	if (in->z.mnemonic == ZYDIS_MNEMONIC_LEAVE || in->z.mnemonic == ZYDIS_MNEMONIC_ENTER)
		return true;
	if ((in->gpr_written & (1u << UR_RSP)) || reads_canary(in))
		return true;
	/* the instruction computes an address in the frame, or the frame pointer; a load from the
	 * frame does not count */
	return !in->nmem && (in->gpr_read & (1u << UR_RSP)) && !(in->gpr_read & ~frame);
}

static void fill(struct listing_insn *li, const struct insn *in)
{
	bool clear = clears(in);

	li->len = in->len;
	li->cls = in->cls;
	li->valid = true;
	li->target = in->target;
	li->reads = clear ? 0 : in->gpr_read;
	li->writes = in->gpr_written;
	li->kills = killed(in);
	li->addresses = addressed(in);
	li->fl_reads = in->fl_read;
	li->fl_writes = in->fl_written;
	li->constant = is_constant(in);
	li->frame = is_frame(in);
}

/* Walking through the code. */

struct walk {
	struct listing *l;
	size_t cap;
	const struct view *view;
	size_t site, sites_end; /* the next site, and the end of the procedure's sites */
};

static struct listing_insn *append(struct walk *w, uint64_t addr)
{
	struct listing *l = w->l;

	if (!array_reserve(l->v, w->cap, l->n + 1))
		return NULL;
	memset(&l->v[l->n], 0, sizeof(*l->v));
	l->v[l->n].addr = addr;
	return &l->v[l->n++];
}

/* Returns the site at addr, if there is one; *next: the address of the following site. */
static const struct site *take_site(struct walk *w, uint64_t addr, uint64_t *next)
{
	const struct site *const *site = w->view->site, *here = NULL;

	while (w->site < w->sites_end && site[w->site]->id.addr < addr)
		w->site++;
	if (w->site < w->sites_end && site[w->site]->id.addr == addr)
		here = site[w->site++];
	*next = w->site < w->sites_end ? site[w->site]->id.addr : UINT64_MAX;
	return here;
}

/* Where the next piece of code begins: at an instruction that would cross the end of the present
 * piece. */
static uint64_t piece_end(uint64_t addr, size_t n, uint64_t end)
{
	uint64_t safe = n > INSN_MAX_LEN ? addr + n - INSN_MAX_LEN : addr + n;

	return safe < end ? safe : end;
}

/* Decodes from *addr to end; *addr becomes the start of the next piece. */
static int walk_code(struct walk *w, const uint8_t *code, size_t n, uint64_t *addr, uint64_t end)
{
	uint64_t start = *addr;
	struct insn in;

	while (*addr < end) {
		uint64_t next, here = *addr;
		size_t at = here - start;
		const struct site *s = take_site(w, here, &next);
		int len = insn_decode(&in, code + at, n - at, here);
		struct listing_insn *li = append(w, here);

		if (!li)
			return -1;
		li->site = s;
		li->len = 1;
		/* Bytes that would run into an executed site, and were not executed themselves,
		 * are data. */
		if (len && (s || here + (unsigned)len <= next))
			fill(li, &in);
		*addr = next < here + li->len ? next : here + li->len;
	}
	return 0;
}

static bool transfers(const struct listing_insn *li)
{
	switch (li->cls) {
	case INSN_BRANCH:
	case INSN_JUMP:
	case INSN_IJUMP:
	case INSN_CALL:
	case INSN_ICALL:
	case INSN_RET:
	case INSN_TRAP:
		return true;
	default:
		return !li->valid;
	}
}

static void group_blocks(struct listing *l, const struct view *v)
{
	struct listing_insn *to, *first;

	for (size_t i = 0; i < l->n; i++) /* block_n marks the beginnings of blocks here */
		if ((l->v[i].cls == INSN_BRANCH || l->v[i].cls == INSN_JUMP) &&
		    (to = listing_at(l, l->v[i].target)))
			to->block_n = 1;
	for (size_t i = 0, at = 0; i < l->n; i++) {
		if (l->v[i].block_n || (i && transfers(&l->v[i - 1])))
			at = i;
		first = &l->v[at];
		l->v[i].first = at;
		first->block_n = i - at + 1;
		first->block_time += l->v[i].site ? view_time(v, l->v[i].site) : 0;
	}
}

int listing_read(struct listing *l, struct image *im, const struct view *v,
		 const struct view_proc *p)
{
	struct walk w = { .l = l, .view = v, .site = p->first, .sites_end = p->first + p->n };
	uint64_t at = p->start;

	*l = (struct listing){ NULL, 0 };
	if (p->end - p->start > LISTING_MAX)
		return -1;
	while (at < p->end) {
		size_t n;
		const uint8_t *code = image_code(im, at, &n);

		if (!code)
			break;
		if (walk_code(&w, code, n, &at, piece_end(at, n, p->end))) {
			listing_fini(l);
			return -1;
		}
	}
	group_blocks(l, v);
	return l->n ? 0 : -1;
}

void listing_fini(struct listing *l)
{
	free(l->v);
	*l = (struct listing){ NULL, 0 };
}

struct listing_insn *listing_at(const struct listing *l, uint64_t addr)
{
	size_t low = search_first(i, 0, l->n, l->v[i].addr >= addr);

	return low < l->n && l->v[low].addr == addr ? &l->v[low] : NULL;
}
