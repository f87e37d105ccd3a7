/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include <string.h>

#include "export/formats.h"

const struct export_format *const export_formats[] = {
	&export_bolt,
	&export_autofdo,
	NULL,
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

int export_write(struct export *x, const struct export_format *f, struct err *err)
{
	if (!x->o->form || has_word(f->forms, x->o->form))
		return f->write(x, err);
	err_set(err, ERR_USAGE, "%s has no form '%s'", f->name, x->o->form);
	return err_hint(err, f->forms ? "one of: %s" : "it has only one: leave --form out",
			f->forms);
}
