/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include <string.h>

#include "export/formats.h"
#include "report/calltree.h"
#include "report/emit.h"

const struct export_format *const export_formats[] = {
	&export_bolt,	    &export_autofdo, &export_callgrind,	  &export_folded, &export_pprof,
	&export_speedscope, &export_firefox, &export_perf_script, NULL,
};

const struct export_format *export_find(const char *name, struct err *err)
{
	for (size_t i = 0; export_formats[i]; i++)
		if (!strcmp(export_formats[i]->name, name))
			return export_formats[i];
	err_set(err, ERR_USAGE, "there is no export format '%s'", name);
	err_hint(err, "one of: %s", EXPORT_FORMATS);
	return NULL;
}

static bool has_word(const char *words, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = words; at && *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == n && !strncmp(at, word, n))
			return true;
	return false;
}

/* Writes it; names in some formats are JSON strings. */
static int write_all(struct export *x, const struct export_format *f, struct err *err)
{
	unsigned long failures = emit_json_failures();

	if (f->write(x, err))
		return -1;
	return emit_json_failures() == failures ? 0 : err_no_memory(err, "the export");
}

int export_write(struct export *x, const struct export_format *f, struct err *err)
{
	if (!f->of_image && (x->o->image || x->o->binary)) {
		err_set(err, ERR_USAGE, "%s is of all images: %s chooses one of them", f->name,
			x->o->image ? "--image" : "--binary");
		return err_hint(err, "these options go with bolt and autofdo");
	}
	if (!x->o->form || has_word(f->forms, x->o->form))
		return write_all(x, f, err);
	err_set(err, ERR_USAGE, "%s has no form '%s'", f->name, x->o->form);
	return err_hint(err, f->forms ? "one of: %s" : "it has only one: leave --form out",
			f->forms);
}

void export_tell_flat(const struct export *x, const struct calltree *t)
{
	if (t->flat)
		x->note("the recording has no call stacks: each procedure stands alone");
}

void export_json_string(FILE *out, const char *s)
{
	json_t *text = emit_text_json(s);

	json_dumpf(text, out, JSON_ENCODE_ANY);
	json_decref(text);
}
