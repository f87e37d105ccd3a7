/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, for flamegraph.pl, inferno, speedscope: the thread's name and the procedures from the outermost to the
 * innermost with semicolons between, a blank, and how many samples (executions, in an exact recording) ended there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "export/formats.h"
#include "report/calltree.h"

/* Semicolons and blanks in names would be taken for separators: ; becomes :, which no name begins or ends with. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		putc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? '?' : *name, out);
}

/* A line without its count. Stacks that differ in places within procedures alone are one line. */
struct line {
	char *text;
	uint64_t count;
	UT_hash_handle hh;
};

/* The line's text, to be freed; NULL without memory. */
static char *stack_text(const struct calltree *t, const struct stack_sample *s)
{
	uint32_t stack[CALLTREE_DEPTH];
	size_t n = calltree_stack(t, s->frame, stack, CALLTREE_DEPTH), size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	put_name(f, t->thread[s->thread].comm);
	for (size_t i = 0; i < n; i++) {
		putc(';', f);
		put_name(f, t->func[calltree_func_of(t, stack[i])].name);
	}
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

static bool add_line(struct line **lines, const struct calltree *t, const struct stack_sample *s)
{
	char *text = stack_text(t, s);
	struct line *line = NULL;

	if (!text)
		return false;
	HASH_FIND_STR(*lines, text, line);
	if (line) {
		free(text);
	} else {
		line = calloc(1, sizeof(*line));
		if (!line) {
			free(text);
			return false;
		}
		line->text = text;
		HASH_ADD_KEYPTR(hh, *lines, text, strlen(text), line);
		if (!line->hh.tbl) {
			free(line);
			free(text);
			return false;
		}
	}
	line->count += s->count;
	return true;
}

static int by_text(const struct line *a, const struct line *b)
{
	return strcmp(a->text, b->text);
}

static int write_folded(struct export *x, struct err *err)
{
	struct line *lines = NULL, *line, *next;
	struct calltree t;
	bool ok = true;

	if (calltree_open(&t, x->profile, err))
		return -1;
	for (size_t i = 0; i < t.nsample && ok; i++)
		ok = add_line(&lines, &t, &t.sample[i]);
	HASH_SORT(lines, by_text);
	HASH_ITER (hh, lines, line, next) {
		if (ok)
			fprintf(x->out, "%s %" PRIu64 "\n", line->text, line->count);
		HASH_DEL(lines, line);
		free(line->text);
		free(line);
	}
	if (ok)
		export_tell_flat(x, &t);
	calltree_close(&t);
	return ok ? 0 : err_no_memory(err, "the export");
}

const struct export_format export_folded = {
	.name = "folded",
	.what = "folded stacks (flamegraph.pl, inferno, speedscope)",
	.write = write_folded,
};
