/* SPDX-License-Identifier: MIT */
/* `assay coproc run`, `study` and `trace`: a command under the exact engine, its instructions to the co-processor. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cmd/coproc.h"
#include "cmd/exact_session.h"
#include "coproc/asm.h"
#include "exact/coprocess.h"
#include "report/coproc.h"

static struct coproc_common common;
static const char *output = "assay.db", *core = "", *folder;
static bool json, no_timing, quiet;
static unsigned period = 1024, which = 1, samples = 1;

/* A run of one program. */
struct run_of {
	struct program *p;
	struct machine machine;
	struct lab lab;
	struct coprocess *c;
	struct coproc_totals totals;
	bool study, opened;
	/* for a trace */
	uint64_t first, last;
};

static const struct order_consumer *start(void *arg, struct profile *p, struct err *err)
{
	struct run_of *r = arg;

	r->c = coprocess_new(&r->lab, p, no_timing ? NULL : &r->machine, err);
	return r->c ? coprocess_consumer(r->c) : NULL;
}

static bool failed(void *arg)
{
	struct run_of *r = arg;

	return coprocess_failed(r->c) || (r->last && r->lab.c.samples > r->last);
}

static int finish(void *arg, struct profile *p, struct err *err)
{
	struct run_of *r = arg;

	if (coprocess_end(r->c, err))
		return -1;
	r->totals =
		(struct coproc_totals){ .instructions = coprocess_instructions(r->c),
					.cycles = coprocess_cycles(r->c),
					.seconds = (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e9,
					.timed = !no_timing };
	free(p->run[0].source);
	free(p->run[0].unit);
	p->run[0].source = strdup("coproc");
	p->run[0].unit = strdup("samples");
	if (!p->run[0].source || !p->run[0].unit || (!r->study && coprocess_record(r->c, p)))
		return err_no_memory(err, "the co-processor");
	return 0;
}

/* Finds the command among the operands, with or without "--" before it. */
static char **command_of(int argc, char **argv, struct err *err)
{
	if (argc && !strcmp(argv[0], "--")) {
		argc--;
		argv++;
	}
	if (argc)
		return argv;
	err_set(err, ERR_USAGE, "there is no command to run");
	err_hint(err, "for instance assay coproc run values -- gzip -9 -k big.txt");
	return NULL;
}

static int prepare(struct run_of *r, const char *program, struct err *err)
{
	struct lab_options o = { .study = r->study, .period = period };

	if (coproc_common(&common, err))
		return -1;
	machine_this(&r->machine);
	if (machine_parse(&r->machine, core, err))
		return -1;
	r->p = asm_file(program, &common.spec, common.defines, common.n, err);
	if (!r->p)
		return -1;
	o.spec = common.spec;
	o.program = r->p;
	r->opened = true;
	return lab_init(&r->lab, &o, err);
}

static int run_command(struct run_of *r, char **argv, struct err *err)
{
	const struct session_custom custom = {
		.arg = r,
		.observed = r->p->name,
		.records = !r->study && !r->last,
		.start = start,
		.failed = failed,
		.finish = finish,
	};
	struct session_options o = {
		.output = output,
		.argv = argv,
		.sketch = HOT_SPACE_SAVING,
		.sketch_capacity = HOT_CAPACITY_DEFAULT,
		.cache_kib = 393216,
		.quiet = quiet || json,
		.custom = &custom,
	};

	return exact_session_run(&o, err);
}

static void release(struct run_of *r)
{
	coprocess_free(r->c);
	if (r->opened)
		lab_fini(&r->lab);
	free(r->p);
}

static int run_run(int argc, char **argv, struct err *err)
{
	struct run_of r = { 0 };
	char **command = NULL;
	int rc;

	if (!argc)
		err_set(err, ERR_USAGE, "there is no program");
	else
		command = command_of(argc - 1, argv + 1, err);
	if (!command || prepare(&r, argv[0], err)) {
		release(&r);
		return err->code;
	}
	rc = run_command(&r, command, err);
	if (!err->code)
		coproc_print_run(&r.lab, &r.totals, json, err);
	release(&r);
	return err->code ? err->code : rc;
}

static int run_study(int argc, char **argv, struct err *err)
{
	struct run_of r = { .study = true };
	char **command = command_of(argc, argv, err);
	int rc;

	if (!command || prepare(&r, "values", err)) {
		release(&r);
		return err->code;
	}
	rc = run_command(&r, command, err);
	if (!err->code)
		coproc_print_study(&r.lab, &r.totals, json, err);
	if (!err->code && folder)
		coproc_draw_study(&r.lab, folder, command[0], err);
	release(&r);
	return err->code ? err->code : rc;
}

/* Trace. */

static uint64_t before[WORD_OPERANDS];

static void print_changes(const struct copro *c)
{
	const struct program *p = c->p;

	for (unsigned i = 0; i < p->nvalue; i++)
		if (c->reg[i] != before[i])
			printf(" %s=0x%llx", p->value_name[i], (unsigned long long)c->reg[i]);
	for (unsigned i = 0; i < p->nindex; i++)
		if (c->reg[WORD_INDEXES + i] != before[WORD_INDEXES + i])
			printf(" %s=%llu", p->index[i].name,
			       (unsigned long long)c->reg[WORD_INDEXES + i]);
}

static void watch(void *arg, const struct copro *c, const struct copro_step *step)
{
	const struct run_of *r = arg;
	char word[512];

	if (c->samples < r->first || c->samples > r->last) {
		memcpy(before, c->reg, sizeof(before));
		return;
	}
	if (step->cycle == 1) {
		printf("sample %llu:", (unsigned long long)c->samples);
		for (unsigned i = 0; i < c->p->nsample; i++)
			printf(" %s=0x%llx", c->p->sample[i].name,
			       (unsigned long long)c->reg[WORD_FIELDS + i]);
		printf("\ncycle word  operations\n");
	}
	printf("%5u %4u  %s\n", step->cycle, step->at,
	       asm_word(c->p, step->at, word, sizeof(word)));
	printf("            flags t=%d x=%d y=%d hit=%d sat=%d%s", c->t, c->x, c->y, c->hit, c->sat,
	       step->taken ? ", branch taken" : "");
	if (step->stall)
		printf(", mispredicted: %u cycle%s lost", step->stall, step->stall == 1 ? "" : "s");
	print_changes(c);
	putchar('\n');
	memcpy(before, c->reg, sizeof(before));
}

static int run_trace(int argc, char **argv, struct err *err)
{
	struct run_of r = { .first = which, .last = (uint64_t)which + samples - 1 };
	char **command = NULL;
	int rc;

	if (!argc)
		err_set(err, ERR_USAGE, "there is no program");
	else
		command = command_of(argc - 1, argv + 1, err);
	if (!command || prepare(&r, argv[0], err)) {
		release(&r);
		return err->code;
	}
	r.lab.c.watch = watch;
	r.lab.c.watch_arg = &r;
	rc = run_command(&r, command, err);
	if (!err->code && r.lab.c.samples < r.first)
		err_set(err, ERR_EMPTY, "the co-processor took only %llu samples",
			(unsigned long long)r.lab.c.samples);
	release(&r);
	return err->code ? err->code : rc;
}

#define RUN_OPTIONS \
	COPROC_OPTIONS(common), \
		{ 0,	      "core", \
		  "WHAT",     "the main processor: caches and core, l1d=32K/8,width=4,...", \
		  OPT_STRING, &core, \
		  0,	      0, \
		  NULL }, \
		{ 0,	    "no-timing", NULL, "four instructions retire in each cycle: faster", \
		  OPT_FLAG, &no_timing,	 0,    0, \
		  NULL }, \
	{ \
		'q', "quiet", NULL, "no closing line", OPT_FLAG, &quiet, 0, 0, NULL \
	}

static const struct opt run_opts[] = {
	RUN_OPTIONS,
	{ 'o', "output", "FILE", "where to record (default assay.db)", OPT_STRING, &output, 0, 0,
	  NULL },
	{ 0, "json", NULL, "print JSON", OPT_FLAG, &json, 0, 0, NULL },
	{ 0 },
};

const struct verb coproc_run = {
	.name = "coproc run",
	.summary = "run a program of the co-processor on a command",
	.synopsis = "[OPTIONS] PROGRAM -- CMD...",
	.about = "The command runs under the exact engine; the co-processor gets its instructions "
		 "when they retire. Its results go into a recording that values, annotate, "
		 "report --misses and conflicts read; what it took is printed.",
	.examples = "assay coproc run values -- gzip -9 -k big.txt\n"
		    "assay coproc run -s entries=256,data=512 values -- gzip -9 -k big.txt\n",
	.opts = run_opts,
	.command = true,
	.run = run_run,
};

static const struct opt study_opts[] = {
	RUN_OPTIONS,
	{ 0, "period", "LOADS", "the simple sampler takes one of so many loads (default 1024)",
	  OPT_UINT, &period, 1, 1e9, NULL },
	{ 0, "svg", "FOLDER", "write time.svg, overhead.svg and scatter.svg there", OPT_STRING,
	  &folder, 0, 0, NULL },
	{ 0, "json", NULL, "print JSON, with the error over time", OPT_FLAG, &json, 0, 0, NULL },
	{ 0 },
};

const struct verb coproc_study = {
	.name = "coproc study",
	.summary = "hold the program values and a simple sampler against an exact count",
	.synopsis = "[OPTIONS] -- CMD...",
	.about = "All three see the same instructions. The error is that of the invariances of "
		 "values, "
		 "weighted by how often they were loaded.",
	.examples = "assay coproc study --svg . -- gzip -9 -k big.txt\n",
	.opts = study_opts,
	.command = true,
	.run = run_study,
};

static const struct opt trace_opts[] = {
	RUN_OPTIONS,
	{ 'n', "sample", "N", "the first sample to show (default 1)", OPT_UINT, &which, 1, 4e9,
	  NULL },
	{ 0, "samples", "N", "how many (default 1)", OPT_UINT, &samples, 1, 1e6, NULL },
	{ 0 },
};

const struct verb coproc_trace = {
	.name = "coproc trace",
	.summary = "show a sample's way through the co-processor, cycle by cycle",
	.synopsis = "[OPTIONS] PROGRAM -- CMD...",
	.about =
		"Prints for each cycle the word, the flags that it left, and the registers that it "
		"changed.",
	.examples = "assay coproc trace -n 1000 --samples 3 values -- gzip -9 -k big.txt\n",
	.opts = trace_opts,
	.command = true,
	.run = run_trace,
};
