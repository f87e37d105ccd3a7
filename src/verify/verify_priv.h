/* SPDX-License-Identifier: MIT */
/* What the parts of the reading `verify` share. */
#ifndef ASSAY_VERIFY_VERIFY_PRIV_H
#define ASSAY_VERIFY_VERIFY_PRIV_H

#include <math.h>

#include "verify/frequency.h"
#include "verify/verify.h"

struct verify {
	const struct verify_options *o;
	struct reading *reading; /* o->n recordings that are open */
	size_t open, n;		 /* n: the number of sampled ones */
	size_t last;		 /* index of the exact recording */
	struct accuracy *a;	 /* n elements */
	struct frequency (*f)[ESTIMATE_METHOD_N];
	struct emit *emit; /* output of the exact recording's reading */
};

#define COUNT_OF(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* The first column of each table: the recording. It has no header if there is only one. */
#define COLUMN_NAME \
	{ \
		"name", "", NULL, 1, EMIT_LEFT, EMIT_TEXT \
	}
#define PERCENT(key, header, width) \
	{ \
		key, header, "%", width, EMIT_RIGHT, EMIT_SHARE \
	}
#define POINTS(key, header) \
	{ \
		key, header, "pt", 7, EMIT_RIGHT, EMIT_SHARE \
	}
#define HIDDEN(key, kind) \
	{ \
		key, NULL, NULL, 0, EMIT_LEFT, kind \
	}

static inline double verify_ratio(double part, double of)
{
	return of > 0 ? part / of : NAN;
}

/* Whether every instruction was observed. */
bool verify_is_exact(const struct reading *r);
/* The second exact recording, or NULL. */
const struct reading *verify_again(const struct verify *v);
/* Begins a table whose columns stay until the next one. */
void verify_table(struct verify *v, const char *key, const char *title, const struct column *c,
		  int n);
/* The cell that names sampled recording i; buf has room for two characters. */
struct cell verify_name_cell(const struct verify *v, size_t i, char *buf);

/* verify_frequency.c */
/* Measures the estimates of all sampled recordings. -1 with err set. */
int verify_measure_frequency(struct verify *v, struct err *err);
void verify_print_frequency(struct verify *v);
void verify_print_histograms(struct verify *v);

/* verify_worst.c */
/* The sites that add most to the error, of values or of directions. */
void verify_print_worst(struct verify *v, bool values);

#endif
