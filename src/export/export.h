/* SPDX-License-Identifier: MIT */
/* Formats of other tools: one file for each format, one line in the table of export.c. */
#ifndef ASSAY_EXPORT_EXPORT_H
#define ASSAY_EXPORT_EXPORT_H

#include <stdio.h>

#include "observe/profile.h"

typedef void (*export_note)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What the user asked for. Strings are NULL where an option was not given. */
struct export_options {
	const char *image;  /* name or path of the image, or a file with its build-id */
	const char *binary; /* path of the file on disk, if it differs from the recorded path */
	const char *form;   /* a variant of the format, one of its `forms` */
	const char *
		/* destination of the export, for the commands that are printed; NULL: stdout */
		output;
};

struct export
{
	const struct profile *profile;
	const struct export_options *o;
	FILE *out;
	export_note note; /* called with remarks for the user: coverage, the next commands */
};

struct calltree;

struct export_format {
	const char *name;
	const char *what;  /* one line for the help */
	const char *forms; /* space-separated variants, the default first; NULL: there is one */
	bool of_image;	   /* of one image: --image and --binary choose it */
	int (*write)(struct export *x, struct err *err); /* -1 with err set */
};

#define EXPORT_FORMATS "bolt autofdo callgrind folded pprof speedscope firefox perf-script"
extern const struct export_format *const export_formats[]; /* NULL-terminated */

/* Returns NULL with err set if there is no such format. */
const struct export_format *export_find(const char *name, struct err *err);
/* Writes the profile in that format. -1 with err set: a format without that form; the format's own errors. */
int export_write(struct export *x, const struct export_format *f, struct err *err);

/* Tells the user that the recording has no stacks, if it has none. */
void export_tell_flat(const struct export *x, const struct calltree *t);
/* A string of JSON, quoted; bytes that belong to no UTF-8 are replaced. */
void export_json_string(FILE *out, const char *s);

#endif
