/* SPDX-License-Identifier: MIT */
/* What stands above and below the instructions of a listing. */
#include "report/annotate_priv.h"

#include <math.h>
#include <stdio.h>

#include "base/fmt.h"
#include "report/operands.h"

static void print_sampled(struct annotate *a, double share)
{
	const struct view_sum *sum = &a->proc->sum;
	double n = (double)a->r->view.sum.samples;
	struct share s = share_of(share * n, n);
	char text[40], samples[32], seen[32];

	emit_set(&a->r->emit, "bound", json_real(s.bound));
	emit_set(&a->r->emit, "samples", json_integer((json_int_t)sum->samples));
	emit_set(&a->r->emit, "observations", json_integer((json_int_t)sum->observed));
	emit_line(&a->r->emit, "%s %% of the time%s, %s samples, %s instructions observed",
		  operands_share_text(&s, text, sizeof(text)),
		  a->r->caller ? " of these calls" : "",
		  fmt_count(sum->samples, samples, sizeof(samples)),
		  fmt_count(sum->observed, seen, sizeof(seen)));
}

static void print_executed(struct annotate *a, double share)
{
	uint64_t executed = a->proc->sum.observed;
	char text[40], count[32];

	emit_set(&a->r->emit, "executions", json_integer((json_int_t)executed));
	emit_line(&a->r->emit, "%s %% of the executed instructions: %s",
		  fmt_percent(share, text, sizeof(text)),
		  fmt_count(executed, count, sizeof(count)));
}

void annotate_title(struct annotate *a)
{
	const struct view *v = &a->r->view;
	const struct view_proc *p = a->proc;
	double share = view_share(v, p->sum.time);
	char name[1024];

	view_proc_name(p, name, sizeof(name));
	emit_set(&a->r->emit, "procedure", emit_text_json(name));
	emit_set(&a->r->emit, "image", emit_text_json(v->image[p->image].name));
	emit_set(&a->r->emit, "from", emit_hex_json(p->start));
	emit_set(&a->r->emit, "to", emit_hex_json(p->end));
	emit_set(&a->r->emit, "share", json_real(share));
	emit_line(&a->r->emit, "%s (%s)", name, v->image[p->image].name);
	if (v->exact)
		print_executed(a, share);
	else
		print_sampled(a, share);
	if (a->sum)
		annotate_why(a);
	emit_line(&a->r->emit, "%s", "");
}

void annotate_hidden(struct annotate *a, size_t from, size_t to)
{
	double share = 0;
	char text[16], count[32];

	if (from == to)
		return;
	for (size_t i = from; i < to; i++)
		share += annotate_share(a, &a->row[i]);
	emit_line(&a->r->emit, "%7s ... %s instruction%s not shown ...",
		  fmt_percent(share, text, sizeof(text)),
		  fmt_count(to - from, count, sizeof(count)), plural(to - from));
	a->file = NULL;
}

static const struct term sampled_terms[] = {
	{ "share", "of the procedure's time" },
	{ "samples", "timer interrupts that found the instruction waiting to retire: often the "
		     "one before is slow" },
	{ "taken", "how often the branch was, +- the 95 % bound" },
	{ "rax:(98.9+-0.4% 0x3c8)", "rax was 0x3c8 in 98.9 % of the times that it was known, "
				    "+- the 95 % bound; load, store: the value in memory; addr: "
				    "its address; to: the target" },
	{ "known 83%", "of the observations, those that told the value" },
	{ 0 },
};

static const struct term exact_terms[] = {
	{ "share", "of the procedure's executed instructions" },
	{ "taken", "how often the branch was" },
	{ "rax:(98.9% 0x3c8)", "rax was 0x3c8 in 98.9 % of the executions; load, store: the value "
			       "in memory; addr: its address; to: the target. A bound follows "
			       "where more values came than the list holds" },
	{ 0 },
};

static const struct term why_terms[] = {
	{ "runs", "how often it was executed: estimated, or counted (--counts)" },
	{ "CPI", "cycles that each execution took" },
	{ "~ ?", "the number of executions is of medium (~) or low (?) confidence" },
	{ "static", "cycles that the order of the instructions takes by itself" },
	{ "stall", "cycles of an execution beyond the static schedule: what is expected of each "
		   "culprit (the range that it lies in) @ the instruction at fault" },
	{ "unexplained", "what no known cause can have taken" },
	{ 0 },
};

static void say_hidden(struct annotate *a, size_t hidden)
{
	char insns[32], operands[32];

	fmt_count(hidden, insns, sizeof(insns));
	fmt_count(a->hidden_operands, operands, sizeof(operands));
	if (hidden && a->hidden_operands)
		emit_footer(&a->r->emit,
			    "Not shown: %s instruction%s (--full), %s operand%s without a hot "
			    "value (--all).",
			    insns, plural(hidden), operands, plural(a->hidden_operands));
	else if (hidden)
		emit_footer(&a->r->emit, "Not shown: %s instruction%s (--full).", insns,
			    plural(hidden));
	else if (a->hidden_operands)
		emit_footer(&a->r->emit, "Not shown: %s operand%s without a hot value (--all).",
			    operands, plural(a->hidden_operands));
}

void annotate_footer(struct annotate *a, size_t hidden)
{
	emit_line(&a->r->emit, "%s", "");
	if (!a->im && a->proc->image < a->r->profile.nimage &&
	    a->r->profile.image[a->proc->image]->kind == IMAGE_KERNEL)
		emit_footer(&a->r->emit,
			    "The kernel's code is not read: samples stand beside addresses.");
	else if (!a->im)
		emit_footer(&a->r->emit, "The code is not there: values stand beside addresses.");
	say_hidden(a, hidden);
	if (a->r->view.exact)
		emit_terms(&a->r->emit, exact_terms);
	else
		emit_terms(&a->r->emit, sampled_terms);
	if (a->sum)
		emit_terms(&a->r->emit, why_terms);
	if (a->sum)
		why_print_scale(a->r, a->why->apart,
				a->why->program.sum.counted / fmax(a->why->program.sum.samples, 1));
}
