/* SPDX-License-Identifier: MIT */
#include "report/operands.h"

#include <stdio.h>
#include <string.h>

#include "base/fmt.h"
#include "x86/reg.h"
#include "observe/sampled.h"

#define NOISE 0.01 /* share below which text shows no value except the hottest */

/* The number of n observations of a site that count as independent: observations of one window
 * do not, and unevenly weighted windows count less. If the number of the site's windows is
 * unknown, that of the recording bounds it. */
static double operands_independent(const struct view *v, const struct site *s, uint64_t n)
{
	uint64_t windows = s->windows ? s->windows : v->counters.windows;
	double most = (double)(windows && windows < n ? windows : n);
	const struct site_weights *w = s->weights;
	double effective = w && w->square > 0 ? w->observed * w->observed / w->square : most;

	return effective < most ? effective : most;
}

/* The share of a count in an exact recording under a schedule, with its number of independent
 * samples. */
static struct share share_counted(const struct view *v, const struct site *s,
				  const struct hot_value *value, double total)
{
	double independent = sampled_independent(v->profile, (double)s->observed, s->windows);

	return independent > 0 ? share_hot(value, total, independent) : share_all(value, total);
}

struct share operands_share(const struct view *v, const struct site *s, const struct hot *h,
			    const struct hot_value *value)
{
	double total = (double)hot_total(h);

	return v->exact ? share_counted(v, s, value, total)
			: share_weighed(value, total, hot_weight(h),
					operands_independent(v, s, hot_total(h)));
}

bool operands_read(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand)
{
	return operands_list(o, v, s, operand, site_hot(s, operand), s->observed);
}

bool operands_list(struct operand_values *o, const struct view *v, const struct site *s,
		   int operand, const struct hot *h, uint64_t observed)
{
	if (!h || !hot_total(h))
		return false;
	*o = (struct operand_values){ .operand = operand,
				      .observations = hot_total(h),
				      .exact = hot_exact(h) };
	o->known = observed ? (double)o->observations / (double)observed : 1;
	if (o->known > 1)
		o->known = 1;
	o->n = hot_top(h, o->value, OPERANDS_TOP);
	for (unsigned i = 0; i < o->n; i++)
		o->share[i] = operands_share(v, s, h, &o->value[i]);
	return true;
}

struct share operands_taken(const struct view *v, const struct site *s)
{
	struct site_weights w = site_weights(s);
	double taken = (double)s->taken, total = (double)s->observed;
	struct hot_value all = { .count = taken,
				 .low = taken,
				 .high = taken,
				 .weight = w.taken,
				 .weight_low = w.taken,
				 .weight_high = w.taken };

	return v->exact ? share_counted(v, s, &all, total)
			: share_weighed(&all, total, w.observed,
					operands_independent(v, s, s->observed));
}

/* Name of the k-th register that the instruction writes. */
static const char *written_register(const struct insn *in, int k)
{
	for (int i = 0; i < in->z.operand_count; i++) {
		const ZydisDecodedOperand *op = &in->op[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && reg_part(op->reg.value).reg >= 0 &&
		    (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && k-- == 0)
			return ZydisRegisterGetString(op->reg.value);
	}
	return NULL;
}

const char *operands_label(const struct insn *in, int operand)
{
	static const char *const args[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	const char *reg = NULL;

	switch (operand) {
	case OPERAND_RESULT:
	case OPERAND_RESULT2:
		reg = in ? written_register(in, operand == OPERAND_RESULT2) : NULL;
		return reg ? reg : operand_name[operand];
	case OPERAND_ADDRESS:
		return "addr";
	case OPERAND_TARGET:
		return "to";
	case OPERAND_RETURN:
		return "rax";
	default:
		break;
	}
	return operand >= OPERAND_ARG0 ? args[operand - OPERAND_ARG0] : operand_name[operand];
}

char *operands_share_text(const struct share *s, char *buf, size_t n)
{
	char share[16], bound[16];

	fmt_percent(s->value, share, sizeof(share));
	fmt_percent(s->bound, bound, sizeof(bound));
	if (s->bound > 0)
		snprintf(buf, n, "%s+-%s", share, bound);
	else
		snprintf(buf, n, "%s", share);
	return buf;
}

char *operands_text(const struct operand_values *o, const char *label, int width, char *buf,
		    size_t n)
{
	char known[32] = "", one[96], hex[32], share[40];
	int k, room;

	if (o->known < 0.995)
		snprintf(known, sizeof(known), " known %.0f%%", 100 * o->known);
	room = width - (int)strlen(known);
	k = snprintf(buf, n, "%s:", label);
	for (unsigned i = 0; i < o->n; i++) {
		operands_share_text(&o->share[i], share, sizeof(share));
		snprintf(one, sizeof(one), "%s(%s%% %s)", i ? " " : "", share,
			 fmt_hex(o->value[i].value, hex, sizeof(hex)));
		/* the hottest value is shown at any width */
		if (i && o->share[i].value < NOISE)
			break;
		if ((i && k + (int)strlen(one) > room) ||
		    (size_t)k + strlen(one) + sizeof(known) >= n)
			break;
		k += snprintf(buf + k, n - (size_t)k, "%s", one);
	}
	snprintf(buf + k, n - (size_t)k, "%s", known);
	return buf;
}

static json_t *value_json(const struct operand_values *o, unsigned i)
{
	return json_pack("{s:o,s:f,s:f,s:f,s:f,s:f}", "value", emit_hex_json(o->value[i].value),
			 "share", o->share[i].value, "raw", o->share[i].raw, "bound",
			 o->share[i].bound, "low", o->share[i].low, "count", o->value[i].count);
}

json_t *operands_json(const struct operand_values *o, const struct insn *in)
{
	json_t *values = json_array();
	const char *reg = NULL;

	for (unsigned i = 0; i < o->n; i++)
		json_array_append_new(values, value_json(o, i));
	if (o->operand == OPERAND_RETURN || o->operand >= OPERAND_ARG0)
		reg = operands_label(NULL, o->operand);
	else if (in && (o->operand == OPERAND_RESULT || o->operand == OPERAND_RESULT2))
		reg = operands_label(in, o->operand);
	return json_pack("{s:s,s:s?,s:I,s:f,s:b,s:o}", "operand", operand_name[o->operand],
			 "register", reg, "observations", (json_int_t)o->observations, "known",
			 o->known, "exact", o->exact, "values", values);
}
