/* SPDX-License-Identifier: MIT */
/*
 * BOLT's pre-aggregated profile (llvm-bolt --pa -p FILE): a record a line, addresses in hexadecimal, counts in decimal.
 *
 *   B FROM TO COUNT 0   a branch that was taken, a jump, a call; from 0: from outside the image. No returns.
 *   F ADDR NEXT COUNT   control went on from the instruction at ADDR to the next one
 *
 * BOLT takes an F record as a straight stretch of code between two branches, and adds its count to the edges between
 * blocks on the way. Stretches of two instructions tell all such edges, whatever blocks BOLT makes, without saying how long
 * a stretch was, which windows that end anywhere do not tell.
 */
#include <inttypes.h>
#include <limits.h>

#include "export/formats.h"
#include "export/pgo.h"
#include "x86/insn.h"

static void branch(FILE *out, uint64_t from, uint64_t to, uint64_t count)
{
	if (count)
		fprintf(out, "B %" PRIx64 " %" PRIx64 " %" PRIu64 " 0\n", from, to, count);
}

static void write_records(const struct flow *f, FILE *out)
{
	size_t j = 0;

	for (; j < f->njump && f->jump[j].from == FLOW_OUTSIDE; j++)
		branch(out, FLOW_OUTSIDE, f->jump[j].to, f->jump[j].count);
	for (size_t i = 0; i < f->nstep; i++) {
		const struct flow_step *s = &f->step[i];
		uint64_t falls = flow_falls(f, i);

		if (s->target)
			branch(out, s->addr, s->target,
			       s->cls == INSN_BRANCH ? s->taken : s->count);
		for (; j < f->njump && f->jump[j].from <= s->addr; j++)
			branch(out, f->jump[j].from, f->jump[j].to, f->jump[j].count);
		if (falls)
			fprintf(out, "F %" PRIx64 " %" PRIx64 " %" PRIu64 "\n", s->addr, s->next,
				falls);
	}
}

#define PERF2BOLT "/usr/lib/llvm-19/bin/perf2bolt" /* the program's name chooses its role */

static void tell_commands(const struct pgo *g, const struct export *x)
{
	const struct target *t = &g->target;
	const char *allow = t->symbols ? NULL : "--allow-stripped";
	const char *profile = x->o->output ? x->o->output : "PROFILE";
	char fdata[PATH_MAX], bolted[PATH_MAX];

	snprintf(fdata, sizeof(fdata), "%s.fdata", profile);
	snprintf(bolted, sizeof(bolted), "%s.bolt", t->file);
	if (!t->relocations)
		x->note("%s has no relocations of its code: BOLT will reorder blocks within "
			"procedures, not procedures; link with -Wl,--emit-relocs and do not strip",
			t->file);
	pgo_command(x, "next",
		    (const char *[PGO_WORDS]){ PERF2BOLT, "--pa", "-p", profile, "-o", fdata, allow,
					       t->file });
	pgo_command(x, "then",
		    (const char *[PGO_WORDS]){ "llvm-bolt-19", t->file, "-o", bolted, "-data",
					       fdata, "--reorder-blocks=ext-tsp",
					       t->relocations ? "--reorder-functions=cdsort" : NULL,
					       "--split-functions", "--split-all-cold", "--icf=1",
					       allow });
}

static int write_bolt(struct export *x, struct err *err)
{
	struct pgo g;
	int rc;

	if (pgo_open(&g, x, err))
		return -1;
	write_records(&g.flow, x->out);
	rc = pgo_tell(&g, x, err);
	if (!rc)
		tell_commands(&g, x);
	pgo_close(&g);
	return rc;
}

const struct export_format export_bolt = {
	.name = "bolt",
	.what = "BOLT's pre-aggregated profile of one image (llvm-bolt --pa)",
	.of_image = true,
	.write = write_bolt,
};
