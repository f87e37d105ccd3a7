/* SPDX-License-Identifier: MIT */
/*
 * What the verbs that read one recording have in common: options, and the way from it to what is printed.
 */
#ifndef ASSAY_CMD_READ_H
#define ASSAY_CMD_READ_H

#include "base/opt.h"
#include "report/reading.h"

/* Entries of a table of options; in is a struct reading_options. */
#define READ_INPUT(in) \
	{ \
		'i', "input", "FILE", "the recording (default assay.db)", OPT_STRING, &(in).input, \
			0, 0, NULL \
	}
#define READ_WIDE(in, help) \
	{ \
		'w', "wide", NULL, help, OPT_FLAG, &(in).wide, 0, 0, NULL \
	}
#define READ_METHOD(in) \
	{ \
		0, "method", "METHOD", \
			"how executions are estimated: windows (default), flow or dcpi", \
			OPT_CHOICE, &(in).method, 0, 0, "windows flow dcpi" \
	}
#define READ_COUNTS(in) \
	{ \
		0, "counts", "EXACT", \
			"an exact recording of the same work, which counted executions", \
			OPT_STRING, &(in).counts, 0, 0, NULL \
	}
#define READ_REPEAT(in) \
	{ \
		0, "repeat", "N", "how often the sampled run did that work (default 1)", \
			OPT_DOUBLE, &(in).repeat, 1e-3, 1e9, NULL \
	}
#define READ_JSON(in) \
	{ \
		'j', "json", NULL, "as JSON", OPT_FLAG, &(in).json, 0, 0, NULL \
	}

/* -1 with err set: of READ_METHOD, READ_COUNTS and READ_REPEAT, which tell where executions come from, some contradict
 * each other, or `used` is false, and `instead` says what would use them. */
int read_check_executions(const struct reading_options *in, bool used, const char *instead,
			  struct err *err);
/* Opens the recording, has it printed, closes it. Returns the exit status, with err set if it is not 0. */
int read_and_print(const struct reading_options *in, void (*print)(struct reading *, struct err *),
		   struct err *err);
/* Says that the verb takes no operands. */
void read_no_operands(const struct reading_options *in, const char *operand, struct err *err);

#endif
