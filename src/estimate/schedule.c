/* SPDX-License-Identifier: MIT */
#include "estimate/schedule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/models.h"
#include "estimate/mca.h"
#include "estimate/memo.h"
#include "estimate/recur.h"
#include "x86/insn.h"

/* Models by a part of the CPU's name; the first match counts. The parenthesised text that
 * cpu/cpu.c adds is compared first. */
static const struct {
	const char *part, *model;
} by_name[] = {
	{ "(Zen 5)", "znver5" },
	{ "(Zen 4)", "znver4" },
	{ "(Zen 3)", "znver3" },
	{ "(Zen 2)", "znver2" },
	{ "(Zen)", "znver1" },
	{ "(Granite Rapids)", "sapphirerapids" },
	{ "(Sapphire Rapids)", "sapphirerapids" },
	{ "(Ice Lake)", "icelake-server" },
	{ "(Alder Lake)", "alderlake" },
	{ "(Cascade Lake)", "cascadelake" },
	{ "(Skylake server)", "skylake-avx512" },
	{ "(Skylake)", "skylake" },
	{ "(Broadwell)", "broadwell" },
	{ "(Haswell)", "haswell" },
	{ "EPYC-Genoa", "znver4" },
	{ "EPYC-Milan", "znver3" },
	{ "EPYC-Rome", "znver2" },
	{ "Skylake", "skylake-avx512" },
	{ "Cascade", "cascadelake" },
	{ "Icelake", "icelake-server" },
	{ "Sapphire", "sapphirerapids" },
	{ "Haswell", "haswell" },
	{ "Broadwell", "broadwell" },
	{ "Core", "skylake" },
	{ "Intel", "skylake-avx512" },
};

/* Zen generations by the last digit of an EPYC's number: 7601, 7R32, 7713, 9R14, 9575F. (7R13 is
 * Zen 3.) */
static const char *const by_generation[] = { "znver1", "znver2", "znver3", "znver4", "znver5" };

static const char *model_by_number(const char *name)
{
	const char *epyc = strstr(name, "EPYC ");
	size_t n;

	if (!epyc || !isdigit((unsigned char)epyc[5]))
		return NULL;
	n = strcspn(epyc + 5, " ");
	/* the last digit, without a suffix as in 9575F */
	while (n && !isdigit((unsigned char)epyc[5 + n - 1]))
		n--;
	if (n < 4 || epyc[5 + n - 1] < '1' || epyc[5 + n - 1] > '5')
		return NULL;
	return by_generation[epyc[5 + n - 1] - '1'];
}

const char *schedule_model(const char *cpu)
{
	const char *name = cpu ? cpu : "", *model = model_by_number(name);

	for (size_t i = 0; !model && i < sizeof(by_name) / sizeof(by_name[0]); i++)
		if (strstr(name, by_name[i].part))
			model = by_name[i].model;
	return model ? model : "znver4";
}

/* Cycles by the table: four instructions retire in a cycle; those that occupy a unit take more. */
static float coarse(const struct insn *in)
{
	switch (in->z.meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
		return 0.125F;
	case ZYDIS_CATEGORY_STRINGOP:
		return 4;
	default:
		break;
	}
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		return 8;
	case ZYDIS_MNEMONIC_DIVSD:
	case ZYDIS_MNEMONIC_SQRTSD:
	case ZYDIS_MNEMONIC_DIVSS:
	case ZYDIS_MNEMONIC_SQRTSS:
		return 4;
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_IMUL:
		return 1;
	default:
		break;
	}
	if (in->z.attributes & ZYDIS_ATTRIB_HAS_LOCK)
		return 16;
	switch (in->cls) {
	case INSN_RMW:
	case INSN_COPY:
	case INSN_CALL:
	case INSN_ICALL:
	case INSN_RET:
		return 0.5F;
	case INSN_SYSCALL:
		return 100;
	default:
		return 0.25F;
	}
}

void schedule_by_table(struct schedule_block *b)
{
	size_t at = 0;

	b->modelled = false;
	for (unsigned i = 0; i < b->n; i++) {
		struct insn in;
		int len = at < b->size ? insn_decode(&in, b->code + at, b->size - at, b->addr + at)
				       : 0;
		float m = len ? coarse(&in) : 0.25F;

		b->insn[i] = (struct schedule_insn){ .least = m, .cause = -1 };
		if (m > 1) {
			b->insn[i].cause = (int32_t)i;
			b->insn[i].why = SCHEDULE_LATENCY;
		}
		at += len ? (size_t)len : 1;
	}
}

static bool is_float_sum(const struct insn *in)
{
	switch (in->z.mnemonic) {
	case ZYDIS_MNEMONIC_ADDPD:
	case ZYDIS_MNEMONIC_ADDPS:
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_SUBPD:
	case ZYDIS_MNEMONIC_SUBPS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_VADDPD:
	case ZYDIS_MNEMONIC_VADDPS:
	case ZYDIS_MNEMONIC_VADDSD:
	case ZYDIS_MNEMONIC_VADDSS:
	case ZYDIS_MNEMONIC_VSUBPD:
	case ZYDIS_MNEMONIC_VSUBPS:
	case ZYDIS_MNEMONIC_VSUBSD:
	case ZYDIS_MNEMONIC_VSUBSS:
		return true;
	default:
		return false;
	}
}

static bool is_multiplication(const struct insn *in)
{
	return in->z.mnemonic == ZYDIS_MNEMONIC_MUL || in->z.mnemonic == ZYDIS_MNEMONIC_IMUL ||
	       in->z.mnemonic == ZYDIS_MNEMONIC_MULX;
}

/* The properties of an instruction in which a core differs from llvm-mca's model. */
enum kind {
	KIND_OTHER,
	KIND_SUM,
	KIND_MULTIPLICATION,
	KIND_STORE,
};

static enum kind kind_of(const struct insn *in)
{
	return is_float_sum(in)	       ? KIND_SUM
	       : is_multiplication(in) ? KIND_MULTIPLICATION
	       : in->cls == INSN_STORE ? KIND_STORE
				       : KIND_OTHER;
}

static void find_kinds(const struct schedule_block *b, uint8_t kind[SCHEDULE_BLOCK_MAX])
{
	size_t at = 0;

	for (unsigned i = 0; i < b->n && at < b->size; i++) {
		struct insn in;
		int len = insn_decode(&in, b->code + at, b->size - at, b->addr + at);

		kind[i] = len ? kind_of(&in) : KIND_OTHER;
		at += len ? (size_t)len : 1;
	}
}

/* The cycles for which an instruction occupies the unit that divides integers. */
static float division_of(const struct insn *in, const struct cpu_model *m)
{
	if (in->z.mnemonic != ZYDIS_MNEMONIC_DIV && in->z.mnemonic != ZYDIS_MNEMONIC_IDIV)
		return 0;
	return m->division[in->z.operand_width == 64];
}

/* Lengthens a loop that takes less than its divisions occupy their unit: each waits for the one before. */
static void occupy_divider(struct schedule_block *b, const struct cpu_model *m)
{
	float busy[SCHEDULE_BLOCK_MAX] = { 0 }, all = 0, taken = 0;
	int32_t last = -1;
	size_t at = 0;

	for (unsigned i = 0; i < b->n && at < b->size; i++) {
		struct insn in;
		int len = insn_decode(&in, b->code + at, b->size - at, b->addr + at);

		busy[i] = len ? division_of(&in, m) : 0;
		all += busy[i];
		taken += b->insn[i].least;
		if (busy[i] > 0)
			last = (int32_t)i;
		at += len ? (size_t)len : 1;
	}
	for (unsigned i = 0; i < b->n && all > taken; i++) {
		struct schedule_insn *s = &b->insn[i];

		if (busy[i] <= 0)
			continue;
		s->least += (all - taken) * busy[i] / all;
		s->why = SCHEDULE_UNIT;
		s->cause = last;
		last = (int32_t)i;
	}
}

/* Shortens the waits for moves, of additions for additions, of multiplications for a multiplier, and of stores for anything but
 * operands. b: at most SCHEDULE_BLOCK_MAX instructions. */
static void correct(struct schedule_block *b, const struct cpu_model *m)
{
	uint8_t kind[SCHEDULE_BLOCK_MAX] = { KIND_OTHER };

	if (m->renames && b->carried == SCHEDULE_LOOP)
		recur_shorten(b, m);
	find_kinds(b, kind);
	for (unsigned i = 0; i < b->n; i++) {
		struct schedule_insn *s = &b->insn[i];
		bool sums = kind[i] == KIND_SUM && s->cause >= 0 && s->cause < (int32_t)b->n &&
			    kind[s->cause] == KIND_SUM;

		if (sums && s->why == SCHEDULE_DEPENDENCE)
			s->least = s->least > m->early ? s->least - m->early : 0;
		if (kind[i] == KIND_MULTIPLICATION && s->why == SCHEDULE_UNIT)
			s->least /= (float)m->multipliers;
		if (kind[i] == KIND_STORE &&
		    (s->why == SCHEDULE_UNIT || s->why == SCHEDULE_LATENCY))
			s->least /= (float)m->stores;
	}
	if (m->division[0] > 0 && b->carried == SCHEDULE_LOOP)
		occupy_divider(b, m);
}

/* Takes known schedules from the memo. Returns the number of blocks without one. */
static size_t recall(struct schedule_block *v, size_t n, const struct schedule_memo *memo,
		     uint64_t seed)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		v[i].known = v[i].cold || !v[i].n || (memo && schedule_memo_get(memo, seed, &v[i]));
		left += !v[i].known;
	}
	return left;
}

/* Splits off the first n instructions; the rest stays in b. The rest waits for the code before it,
 * which is most likely similar. */
static struct schedule_block split(struct schedule_block *b, unsigned n)
{
	struct schedule_block first = *b;

	first.n = n;
	first.size = 0;
	first.carried = b->carried = SCHEDULE_LOOP;
	for (unsigned i = 0; i < n; i++) {
		struct insn in;
		int len = insn_decode(&in, b->code + first.size, b->size - first.size,
				      b->addr + first.size);

		first.size += len ? (size_t)len : 1;
		if (first.size > b->size)
			first.size = b->size;
	}
	b->code += first.size;
	b->addr += first.size;
	b->size -= first.size;
	b->insn += n;
	b->n -= n;
	return first;
}

static size_t pieces_of(const struct schedule_block *b)
{
	return b->n ? (b->n + SCHEDULE_BLOCK_MAX - 1) / SCHEDULE_BLOCK_MAX : 1;
}

/* Copies the blocks to a list one after the other; a long block becomes several pieces. */
static void divide(const struct schedule_block *v, size_t n, struct schedule_block *piece)
{
	for (size_t i = 0; i < n; i++) {
		struct schedule_block rest = v[i];

		for (size_t k = pieces_of(&v[i]); k > 1; k--)
			*piece++ = split(&rest, SCHEDULE_BLOCK_MAX);
		*piece++ = rest;
	}
}

/* Takes over a piece's schedule. Causes are the piece's own instructions; a cause later in the
 * piece stands for the piece before, and is dropped. */
static void join(struct schedule_block *b, const struct schedule_block *piece)
{
	b->modelled = true;
	for (unsigned at = 0; at < b->n; at += piece++->n) {
		b->modelled &= piece->modelled;
		for (unsigned i = at; i < at + piece->n && piece->n < b->n; i++) {
			struct schedule_insn *s = &b->insn[i];

			s->cause = s->cause > (int32_t)(i - at) ? -1
				   : s->cause >= 0		? s->cause + (int32_t)at
								: -1;
		}
	}
}

static int schedule_pieces(struct schedule_block *v, size_t n, const struct schedule_options *o,
			   struct err *err)
{
	const char *program = mca_program(o);
	uint64_t seed = schedule_memo_seed(schedule_model(o->cpu), program ? program : "");

	for (size_t i = 0; i < n; i++)
		schedule_by_table(&v[i]);
	if (o->table || !recall(v, n, o->memo, seed))
		return 0;
	if (mca_run(v, n, o, err) < 0)
		return 1;
	for (size_t i = 0; i < n && o->memo; i++)
		if (!v[i].known)
			schedule_memo_put(o->memo, seed, &v[i]);
	return 0;
}

int schedule_blocks(struct schedule_block *v, size_t n, const struct schedule_options *o,
		    struct err *err)
{
	const struct cpu_model *model = cpu_model(schedule_model(o->cpu), o->cpu);
	struct schedule_block *piece;
	size_t pieces = 0;
	int rc;

	for (size_t i = 0; i < n; i++)
		pieces += pieces_of(&v[i]);
	piece = calloc(pieces + 1, sizeof(*piece));
	if (!piece)
		return err_no_memory(err, "schedules");
	divide(v, n, piece);
	rc = schedule_pieces(piece, pieces, o, err);
	for (size_t i = 0; !rc && i < pieces; i++)
		if (piece[i].modelled)
			correct(&piece[i], model);
	for (size_t i = 0, at = 0; i < n; at += pieces_of(&v[i++]))
		join(&v[i], &piece[at]);
	free(piece);
	return rc;
}
