/* SPDX-License-Identifier: MIT */
/* What the verbs that read one recording share: options, and the steps from them to the output. */
#ifndef ASSAY_CMD_READ_H
#define ASSAY_CMD_READ_H

#include "base/opt.h"
#include "report/reading.h"

/* Options that tell where executions come from. */
struct read_executions {
	const char *method; /* method of estimating them; NULL: the default */
	const char *counts; /* an exact recording of the same work, which counted them; or NULL */
	double repeat;	    /* how often the sampled run did the exact run's work; 0: once */
};

/* Entries of a table of options; in is a struct reading_options, from a struct read_executions. */
#define READ_INPUT(in) \
	{ \
		'i', "input", "FILE", "the recording (default assay.db)", OPT_STRING, &(in).input, \
			0, 0, NULL \
	}
#define READ_WIDE(in, help) \
	{ \
		'w', "wide", NULL, help, OPT_FLAG, &(in).wide, 0, 0, NULL \
	}
#define READ_METHOD(from) \
	{ \
		0, "method", "METHOD", \
			"how executions are estimated: windows (default), flow or dcpi", \
			OPT_CHOICE, &(from).method, 0, 0, "windows flow dcpi" \
	}
#define READ_COUNTS(from) \
	{ \
		0, "counts", "EXACT", \
			"an exact recording of the same work, which counted executions", \
			OPT_STRING, &(from).counts, 0, 0, NULL \
	}
#define READ_REPEAT(from) \
	{ \
		0, "repeat", "N", "how often the sampled run did that work (default 1)", \
			OPT_DOUBLE, &(from).repeat, 1e-3, 1e9, NULL \
	}
#define READ_EXPLAIN(in) \
	{ \
		0, "explain", NULL, "what columns and marks mean", OPT_FLAG, &(in).explain, 0, 0, \
			NULL \
	}
#define READ_JSON(in) \
	{ \
		'j', "json", NULL, "as JSON", OPT_FLAG, &(in).json, 0, 0, NULL \
	}

#define READ_PAGER() \
	{ \
		0, "no-pager", NULL, "do not show long output through a pager", OPT_FLAG, \
			&read_no_pager, 0, 0, NULL \
	}

extern bool read_no_pager;

/* Says which options contradict each other, or need another one. -1 with err set. */
int read_check_executions(const struct read_executions *from, bool used, const char *instead,
			  struct err *err);
/*
 * Makes the readings of a sampled recording show executions as requested. -1 with err set: the
 * recording is exact, or the one that should have counted the executions is not an exact recording
 * of the same work.
 */
int read_choose_executions(struct reading *r, const struct read_executions *from, struct err *err);
/* Opens the recording, has it printed, and closes it. Returns the exit status, with err set if that is not 0. */
int read_and_print(const struct reading_options *in, void (*print)(struct reading *, struct err *),
		   struct err *err);
/* Adds the recording at that path to the sum. -1 with err set. */
int read_add(struct profile *sum, const char *path, struct err *err);
/*
 * Sets the error that the verb takes no operands, with a hint how to name a recording, or, if
 * `instead` is not NULL, a procedure: `assay INSTEAD OPERAND`. Returns the error's code.
 */
int read_no_operands(const struct reading_options *in, const char *operand, const char *instead,
		     struct err *err);
/* Returns 0, or the code of the error that the verb takes at most one procedure. */
int read_one_procedure(const struct reading_options *in, int argc, char **argv, struct err *err);

#endif
