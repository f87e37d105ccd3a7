/* SPDX-License-Identifier: MIT */
/*
 * AutoFDO's profile of one image, as two programs take it that turn it into what compilers read:
 *
 *   llvm  llvm-profgen --unsymbolized-profile: a number of ranges, a line FROM-TO:COUNT for each, a number of branches, a line
 *         FROM->TO:COUNT for each; hexadecimal addresses, as in the file with --use-offset=0
 *   text  create_llvm_prof and create_gcov --profiler=text: the same, with a section of addresses between (empty here), and
 *         with offsets in the file in place of addresses
 *
 * A range is a straight stretch of code, FROM its first and TO its last instruction. Where instructions of a stretch have
 * different counts, because windows begin and end anywhere, the mean is told.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "export/pgo.h"
#include "x86/insn.h"

/* Sorted addresses of jump targets, where a stretch begins. */
struct leaders {
	uint64_t *at;
	size_t n;
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int find_leaders(struct leaders *l, const struct flow *f, struct err *err)
{
	l->at = calloc(f->nstep + f->njump + 1, sizeof(*l->at));
	l->n = 0;
	if (!l->at)
		return err_no_memory(err, "the export");
	for (size_t i = 0; i < f->nstep; i++)
		if (f->step[i].target)
			l->at[l->n++] = f->step[i].target;
	for (size_t i = 0; i < f->njump; i++)
		l->at[l->n++] = f->jump[i].to;
	qsort(l->at, l->n, sizeof(*l->at), by_address);
	return 0;
}

static bool is_leader(const struct leaders *l, uint64_t addr)
{
	return l->n && bsearch(&addr, l->at, l->n, sizeof(*l->at), by_address);
}

static bool ends_stretch(int cls)
{
	return cls == INSN_BRANCH || cls == INSN_JUMP || cls == INSN_CALL || cls == INSN_TRAP ||
	       cls == INSN_IJUMP || cls == INSN_ICALL || cls == INSN_RET;
}

/* Returns the number of steps from `from` on that form one stretch; *count: the mean of their
 * counts. */
static size_t stretch(const struct flow *f, const struct leaders *l, size_t from, uint64_t *count)
{
	long double sum = 0;
	size_t i = from;

	do
		sum += (long double)f->step[i++].count;
	while (i < f->nstep && !ends_stretch(f->step[i - 1].cls) &&
	       f->step[i].addr == f->step[i - 1].next && !is_leader(l, f->step[i].addr));
	*count = (uint64_t)(sum / (long double)(i - from) + 0.5L);
	return i - from;
}

/* What is written, and in which form. */
struct writing {
	const struct flow *f;
	struct leaders l;
	const struct image *offsets_in; /* NULL: addresses are written as they are */
	FILE *out;			/* NULL: lines are counted alone */
};

/* Writes a form's name of the instruction at addr. */
static uint64_t named(const struct writing *w, uint64_t addr)
{
	const struct image_segment *seg =
		w->offsets_in ? image_segment_at(w->offsets_in, addr) : NULL;

	return seg ? addr - seg->addr + seg->offset : addr;
}

static void write_line(const struct writing *w, uint64_t from, const char *to_word, uint64_t to,
		       uint64_t count)
{
	if (w->out)
		fprintf(w->out, "%" PRIx64 "%s%" PRIx64 ":%" PRIu64 "\n", named(w, from), to_word,
			named(w, to), count);
}

static size_t write_ranges(const struct writing *w)
{
	const struct flow_step *step = w->f->step;
	size_t n = 0, steps;

	for (size_t i = 0; i < w->f->nstep; i += steps, n++) {
		uint64_t count;

		steps = stretch(w->f, &w->l, i, &count);
		write_line(w, step[i].addr, "-", step[i + steps - 1].addr, count);
	}
	return n;
}

static size_t write_branches(const struct writing *w)
{
	const struct flow *f = w->f;
	size_t n = 0;

	for (size_t i = 0; i < f->nstep; i++) {
		const struct flow_step *s = &f->step[i];
		uint64_t count = s->cls == INSN_BRANCH ? s->taken : s->count;

		if (!s->target || !count)
			continue;
		n++;
		write_line(w, s->addr, "->", s->target, count);
	}
	for (size_t i = 0; i < f->njump; i++) {
		if (f->jump[i].from == FLOW_OUTSIDE)
			continue;
		n++;
		write_line(w, f->jump[i].from, "->", f->jump[i].to, f->jump[i].count);
	}
	return n;
}

/* Writes the number of lines of a section, then the lines. */
static void write_section(struct writing *w, size_t (*section)(const struct writing *w), FILE *out)
{
	w->out = NULL;
	fprintf(out, "%zu\n", section(w));
	w->out = out;
	section(w);
}

static int write_profile(const struct pgo *g, bool text, FILE *out, struct err *err)
{
	struct writing w = { .f = &g->flow, .offsets_in = text ? g->target.im : NULL };

	if (find_leaders(&w.l, w.f, err))
		return -1;
	write_section(&w, write_ranges, out);
	if (text)
		fprintf(out, "0\n");
	write_section(&w, write_branches, out);
	free(w.l.at);
	return 0;
}

static void tell_gcc(const struct pgo *g, const struct export *x, const char *profile)
{
	char made[PATH_MAX], from[PATH_MAX + 16], to[PATH_MAX], binary[PATH_MAX + 16];

	snprintf(made, sizeof(made), "%s.afdo", target_name(&g->target));
	snprintf(binary, sizeof(binary), "--binary=%s", g->target.file);
	snprintf(from, sizeof(from), "--profile=%s", profile);
	snprintf(to, sizeof(to), "--gcov=%.4000s", made);
	pgo_command(x, "next",
		    (const char *[PGO_WORDS]){ "create_gcov", binary, "--profiler=text", from,
					       "--gcov_version=1", to });
	x->note("then build again: gcc-11 -O2 -g1 -gdwarf-4 -fauto-profile=%s ... (the recorded "
		"binary with -gdwarf-4, too)",
		made);
}

static void tell_clang(const struct pgo *g, const struct export *x, const char *profile)
{
	char made[PATH_MAX], from[PATH_MAX + 32], to[PATH_MAX], binary[PATH_MAX + 16];

	snprintf(made, sizeof(made), "%s.prof", target_name(&g->target));
	snprintf(binary, sizeof(binary), "--binary=%s", g->target.file);
	snprintf(from, sizeof(from), "--unsymbolized-profile=%s", profile);
	snprintf(to, sizeof(to), "--output=%.4000s", made);
	pgo_command(
		x, "next",
		(const char *[PGO_WORDS]){ "llvm-profgen-19", binary, from, "--use-offset=0", to });
	x->note("then build again: clang-19 -O2 -g1 -fdebug-info-for-profiling%s "
		"-fprofile-sample-use=%s ...",
		g->target.probes ? " -fpseudo-probe-for-profiling" : "", made);
	if (!g->target.probes)
		x->note("%s tells instructions by their lines alone: recorded and built with "
			"-fpseudo-probe-for-profiling, clang knows them by their blocks",
			g->target.file);
}

/* Tells the commands that turn the profile into what a compiler reads, and what the file lacks for them. */
static void tell_compiler(const struct pgo *g, const struct export *x, bool text)
{
	const char *profile = x->o->output ? x->o->output : "PROFILE";

	if (!g->target.lines)
		x->note("%s has no line numbers, by which the commands below find procedures: "
			"give them the file as it was before it was stripped, or build with -g1",
			g->target.file);
	(text ? tell_gcc : tell_clang)(g, x, profile);
}

static int write_autofdo(struct export *x, struct err *err)
{
	bool text = x->o->form && !strcmp(x->o->form, "text");
	struct pgo g;
	int rc;

	if (pgo_open(&g, x, err))
		return -1;
	rc = write_profile(&g, text, x->out, err);
	if (!rc)
		rc = pgo_tell(&g, x, err);
	if (!rc)
		tell_compiler(&g, x, text);
	pgo_close(&g);
	return rc;
}

const struct export_format export_autofdo = {
	.name = "autofdo",
	.what = "AutoFDO's profile of one image, for clang's and gcc's sample-based optimisation",
	.forms = "llvm text",
	.of_image = true,
	.write = write_autofdo,
};
