/* SPDX-License-Identifier: MIT */
/* `assay coproc`: its readings, each of which has a table of options. */
#ifndef ASSAY_CMD_COPROC_H
#define ASSAY_CMD_COPROC_H

#include "base/opt.h"
#include "coproc/lab.h"
#include "coproc/spec.h"

extern const struct verb coproc_asm, coproc_dis, coproc_info, coproc_run, coproc_study,
	coproc_trace;

/* Options that all readings share: the co-processor's description, its parameters, and those of the program. */
struct coproc_common {
	const char *machine, *set, *define;
	struct spec spec;
	char *words; /* the texts of define */
	const char *defines[64];
	unsigned n;
};
#define COPROC_OPTIONS(c) \
	{ 'm',	      "machine", \
	  "FILE",     "the co-processor's description (`assay coproc info` prints one)", \
	  OPT_STRING, &(c).machine, \
	  0,	      0, \
	  NULL }, \
		{ 's', \
		  "set", \
		  "NAME=N[,NAME=N]", \
		  "parameters of the co-processor", \
		  OPT_STRING, \
		  &(c).set, \
		  0, \
		  0, \
		  NULL }, \
	{ \
		'D', "define", "NAME=N[,NAME=N]", "parameters of the program", OPT_STRING, \
			&(c).define, 0, 0, NULL \
	}

/* Reads the options. -1 with err set. */
int coproc_common(struct coproc_common *c, struct err *err);

#endif
