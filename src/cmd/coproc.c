/* SPDX-License-Identifier: MIT */
#include "cmd/coproc.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/verbs.h"
#include "coproc/asm.h"
#include "report/coproc.h"

static struct coproc_common common;
static const char *output;
static bool json, description;

/* Passes each of several texts, which commas separate, to `take`. */
static int each(char *list, int (*take)(struct coproc_common *c, char *text, struct err *err),
		struct coproc_common *c, struct err *err)
{
	char *save = NULL;

	for (char *t = strtok_r(list, ",", &save); t; t = strtok_r(NULL, ",", &save))
		if (take(c, t, err))
			return -1;
	return 0;
}

static int take_set(struct coproc_common *c, char *text, struct err *err)
{
	return spec_set(&c->spec, text, err);
}

static int take_define(struct coproc_common *c, char *text, struct err *err)
{
	if (c->n == sizeof(c->defines) / sizeof(c->defines[0]))
		return err_set(err, ERR_USAGE, "-D names more than 64 parameters");
	c->defines[c->n++] = text;
	return 0;
}

int coproc_common(struct coproc_common *c, struct err *err)
{
	char *sets = strdup(c->set ? c->set : "");
	int rc;

	c->spec = spec_default;
	c->n = 0;
	c->words = strdup(c->define ? c->define : "");
	if (!sets || !c->words) {
		free(sets);
		return err_no_memory(err, "the co-processor");
	}
	rc = (c->machine && spec_read(&c->spec, c->machine, err)) || each(sets, take_set, c, err) ||
	     spec_check(&c->spec, err) || each(c->words, take_define, c, err);
	free(sets);
	return rc ? -1 : 0;
}

static FILE *open_output(struct err *err)
{
	FILE *f = output ? fopen(output, "we") : stdout;

	if (!f)
		err_sys(err, "cannot write %s", output);
	return f;
}

static int close_output(FILE *f, struct err *err)
{
	bool bad = ferror(f);

	if ((f != stdout && fclose(f)) || bad)
		err_sys(err, "cannot write %s", output ? output : "the output");
	return err->code;
}

static int print_program(int argc, char **argv, bool raw, struct err *err)
{
	struct program *p;
	FILE *f;

	if (argc != 1) {
		err_set(err, ERR_USAGE, "one program is needed, not %d", argc);
		return err->code;
	}
	if (coproc_common(&common, err))
		return err->code;
	p = asm_file(argv[0], &common.spec, common.defines, common.n, err);
	f = p ? open_output(err) : NULL;
	if (f) {
		asm_print(p, raw, f);
		close_output(f, err);
	}
	free(p);
	return err->code;
}

static int run_asm(int argc, char **argv, struct err *err)
{
	return print_program(argc, argv, true, err);
}

static int run_dis(int argc, char **argv, struct err *err)
{
	return print_program(argc, argv, false, err);
}

static int run_info(int argc, char **argv, struct err *err)
{
	if (argc) {
		err_set(err, ERR_USAGE, "info takes no operand, such as \"%s\"", argv[0]);
		return err->code;
	}
	if (coproc_common(&common, err))
		return err->code;
	if (description)
		spec_print(&common.spec, stdout);
	else
		coproc_print_info(&common.spec, json, err);
	return err->code;
}

static const struct opt asm_opts[] = {
	COPROC_OPTIONS(common),
	{ 'o', "output", "FILE", "where to write (default stdout)", OPT_STRING, &output, 0, 0,
	  NULL },
	{ 0 },
};

const struct verb coproc_asm = {
	.name = "coproc asm",
	.summary = "assemble a program, and print its words",
	.synopsis = "[OPTIONS] PROGRAM",
	.about = "Prints the program with its words as numbers, which `assay coproc dis` and `run` "
		 "read like any source.",
	.examples = "assay coproc asm values -o values.uc\n",
	.opts = asm_opts,
	.run = run_asm,
};

const struct verb coproc_dis = {
	.name = "coproc dis",
	.summary = "print a program as a source again",
	.synopsis = "[OPTIONS] PROGRAM",
	.about = "Prints a source that assembles to the same words and registers.",
	.examples = "assay coproc dis values\n",
	.opts = asm_opts,
	.run = run_dis,
};

static const struct opt info_opts[] = {
	COPROC_OPTIONS(common),
	{ 0, "description", NULL, "print a description file, all parameters with what they are",
	  OPT_FLAG, &description, 0, 0, NULL },
	{ 0, "json", NULL, "print JSON", OPT_FLAG, &json, 0, 0, NULL },
	{ 0 },
};

const struct verb coproc_info = {
	.name = "coproc info",
	.summary = "the structures of the co-processor: sizes, ports, storage",
	.synopsis = "[-m FILE] [-s NAME=N] [--description] [--json]",
	.about = "Transistors are an estimate: 6 a bit of a memory, 2 more for each port beyond "
		 "the first, 10 a bit of the associative array.",
	.examples = "assay coproc info\n"
		    "assay coproc info --description > half.txt\n",
	.opts = info_opts,
	.run = run_info,
};

static const struct verb *const parts[] = { &coproc_asm,   &coproc_dis,	  &coproc_info, &coproc_run,
					    &coproc_study, &coproc_trace, NULL };

static int run(int argc, char **argv, struct err *err)
{
	int first;

	for (unsigned i = 0; argc && parts[i]; i++) {
		if (strcmp(parts[i]->name + strlen("coproc "), argv[0]) != 0)
			continue;
		first = opt_parse(parts[i], argc, argv, err);
		if (first == OPT_HELP)
			return 0;
		return first < 0 ? err->code : parts[i]->run(argc - first, argv + first, err);
	}
	if (argc)
		err_set(err, ERR_USAGE, "coproc has no reading \"%s\"", argv[0]);
	else
		err_set(err, ERR_USAGE, "coproc what?");
	err_hint(err, "asm, dis, info, run, study or trace: assay coproc run --help");
	return err->code;
}

static const struct opt no_opts[] = { { 0 } };

const struct verb cmd_coproc = {
	.name = "coproc",
	.summary = "simulate a programmable profiling co-processor",
	.synopsis = "asm|dis|info|run|study|trace [OPTIONS] ...",
	.about =
		"A profiling co-processor sits beside the main processor, gets some fields of each "
		"retired instruction that its filters pass, and summarises them with microcode, a "
		"few "
		"kilobytes of state, and rare interrupts (Zilles and Sohi, \"A Programmable "
		"Co-processor "
		"for Profiling\", HPCA 2001). Here both are simulated, on the instructions that a "
		"command executes under the exact engine.\n\n"
		"asm PROGRAM assembles, dis PROGRAM prints it as a source again; info shows the "
		"co-processor's structures.\n\n"
		"run PROGRAM -- CMD runs a command, and records what the co-processor learned: "
		"values "
		"(of loads), edges (branches and where indirect ones go), contexts (mispredictions "
		"by "
		"call), dependences (loads and the stores they read), sets (conflicts in a cache). "
		"A FILE.uc is a program of one's own.\n\n"
		"study -- CMD runs the program values, a simple sampler and an exact count on the "
		"same "
		"instructions, and compares them. trace PROGRAM -- CMD shows one sample's way "
		"through "
		"the machine, cycle by cycle.\n\n"
		"Each has --help.",
	.examples = "assay coproc info\n"
		    "assay coproc run values -- gzip -9 -k big.txt\n"
		    "assay values\n"
		    "assay coproc study -- gzip -9 -k big.txt\n",
	.opts = no_opts,
	.command = true,
	.words = "asm dis info run study trace",
	.run = run,
};
