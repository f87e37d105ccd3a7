/* SPDX-License-Identifier: MIT */
#include "report/emit.h"

#include <assert.h>
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/log.h"
#include "base/text.h"

#define BOLD "\033[1m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"
#define HOT_SHARE 0.1 /* share from which on a row is bold */

static unsigned long failures;

static void *json_allocate(size_t n)
{
	void *p = malloc(n);

	failures += !p;
	return p;
}

unsigned long emit_json_failures(void)
{
	json_set_alloc_funcs(json_allocate, free);
	return failures;
}

void emit_open(struct emit *e, const char *verb, bool json, bool wide, bool explain)
{
	memset(e, 0, sizeof(*e));
	e->json = json;
	e->wide = wide;
	e->explain = explain;
	e->color = !json && term_color(stdout);
	e->width = term_width(stdout) - 1;
	e->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	e->failures = emit_json_failures();
	if (json)
		e->root = json_pack("{s:i,s:s}", "schema", EMIT_SCHEMA, "verb", verb);
}

/* Text. */

/* Prints text within `width` columns; the part that does not fit is replaced by "..". */
static void put_cut(const char *s, int width, bool keep_tail)
{
	int n = text_columns(s);

	if (n <= width)
		fputs(s, stdout);
	else if (width <= 2)
		fputs(&".."[2 - (width > 0 ? width : 0)], stdout);
	else if (keep_tail)
		printf("..%s", text_at_column(s, n - width + 2));
	else
		printf("%.*s..", (int)(text_at_column(s, width - 2) - s), s);
}

void emit_line(struct emit *e, const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	if (e->json)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	text_clean(line);
	if (e->wide)
		fputs(line, stdout);
	else
		put_cut(line, e->width, false);
	putchar('\n');
}

void emit_whole(struct emit *e, const char *text)
{
	char *copy = e->json ? NULL : strdup(text);

	if (!copy)
		return;
	text_clean(copy);
	puts(copy);
	free(copy);
}

/* Prints wrapped lines that begin in column `indent`; the caller has printed the first line's
 * indentation. */
static void put_wrapped(const char *text, int indent, int width)
{
	int column = 0;

	width -= indent;
	while (*text) {
		int n = (int)strcspn(text, " "), cols = n;

		for (int i = 0; i < n; i++)
			cols -= (text[i] & 0xc0) == 0x80;
		if (column && column + 1 + cols > width) {
			printf("\n%*s", indent, "");
			column = 0;
		} else if (column) {
			putchar(' ');
			column++;
		}
		printf("%.*s", n, text);
		column += cols;
		text += n;
		text += strspn(text, " ");
	}
	putchar('\n');
}

void emit_heading(struct emit *e, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (e->json)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	put_wrapped(text_clean(text), 0, e->wide ? INT_MAX : e->width);
}

void emit_footer(struct emit *e, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	if (e->json)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs(e->color ? DIM : "", stdout);
	put_wrapped(text_clean(text), 0, e->width);
	fputs(e->color ? PLAIN : "", stdout);
}

void emit_terms(struct emit *e, const struct term *t)
{
	for (int i = 0; i < e->nterms; i++)
		if (e->terms[i] == t)
			return;
	assert(e->nterms < EMIT_TERMS);
	e->terms[e->nterms++] = t;
}

static void print_terms(const struct emit *e)
{
	int widest = 0;

	for (int i = 0; i < e->nterms; i++)
		for (const struct term *t = e->terms[i]; t->name; t++)
			if (text_columns(t->name) > widest)
				widest = text_columns(t->name);
	putchar('\n');
	fputs(e->color ? DIM : "", stdout);
	for (int i = 0; i < e->nterms; i++)
		for (const struct term *t = e->terms[i]; t->name; t++) {
			printf("%s%*s", t->name, widest + 2 - text_columns(t->name), "");
			put_wrapped(t->text, widest + 2, e->width);
		}
	fputs(e->color ? PLAIN : "", stdout);
}

void emit_close(struct emit *e, struct err *err)
{
	bool complete = err && !err->code;

	if (complete && !e->json && e->nterms && e->explain)
		print_terms(e);
	else if (complete && !e->json && e->nterms)
		emit_footer(e, "--explain says what columns and marks mean.");
	e->nterms = 0;
	names_forget(&e->names);
	if (complete && e->json && emit_json_failures() != e->failures)
		err_no_memory(err, "the output");
	else if (complete && e->json)
		emit_json_print(e->root, err);
	json_decref(e->root);
	e->root = NULL;
}

/* Cells. */

static char *emit_cell_text(enum emit_kind kind, struct cell cell, char *buf, size_t n)
{
	if (!cell.known || cell.blank) {
		snprintf(buf, n, "%s", cell.blank ? "" : "-");
		return buf;
	}
	switch (kind) {
	case EMIT_TEXT:
		return text_copy(cell.text, buf, n);
	case EMIT_COUNT:
		return fmt_count(cell.count, buf, n);
	case EMIT_SHARE:
		return fmt_percent(cell.real, buf, n);
	case EMIT_REAL:
		snprintf(buf, n, "%.2f", cell.real);
		return buf;
	case EMIT_TIME:
		return fmt_time(cell.real, buf, n);
	case EMIT_HEX:
		return fmt_hex(cell.count, buf, n);
	case EMIT_ADDR:
		snprintf(buf, n, "%" PRIx64, cell.count);
		return buf;
	case EMIT_BOOL:
		snprintf(buf, n, "%s", cell.count ? "yes" : "no");
		return buf;
	case EMIT_JSON:
		break;
	}
	snprintf(buf, n, "%s", "");
	return buf;
}

json_t *emit_hex_json(uint64_t v)
{
	return json_sprintf("0x%" PRIx64, v);
}

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

json_t *emit_text_json(const char *s)
{
	char *valid, *to;
	json_t *j;

	if (!s)
		return json_null();
	j = json_string(s);
	if (j)
		return j;
	valid = to = malloc(strlen(s) * strlen(REPLACEMENT) + 1);
	if (!valid)
		return json_string("");
	while (*s) {
		const char *at = s;
		bool invalid = text_next(&s) == TEXT_INVALID;
		size_t n = invalid ? strlen(REPLACEMENT) : (size_t)(s - at);

		memcpy(to, invalid ? REPLACEMENT : at, n);
		to += n;
	}
	j = json_stringn(valid, (size_t)(to - valid));
	free(valid);
	return j;
}

/* jansson escapes characters below U+0020. Other characters that base/text hides occur only inside strings, where they
 * can be escaped, too. */
static void put_escaped(const char *s)
{
	while (*s) {
		size_t n = text_span(s);

		fwrite(s, 1, n, stdout);
		s += n;
		if (*s == '\n')
			putchar(*s++);
		else if (*s)
			printf("\\u%04" PRIx32, text_next(&s));
	}
}

void emit_json_print(const json_t *root, struct err *err)
{
	char *text = json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(6));

	if (!text) {
		err_no_memory(err, "the output");
		return;
	}
	put_escaped(text);
	putchar('\n');
	free(text);
}

json_t *emit_cell_json(enum emit_kind kind, struct cell cell)
{
	if (!cell.known)
		return json_null();
	switch (kind) {
	case EMIT_TEXT:
		return emit_text_json(cell.text);
	case EMIT_COUNT:
		return json_integer((json_int_t)cell.count);
	case EMIT_SHARE:
	case EMIT_REAL:
	case EMIT_TIME:
		return json_real(cell.real);
	case EMIT_HEX:
	case EMIT_ADDR:
		return emit_hex_json(cell.count);
	case EMIT_BOOL:
		return json_boolean(cell.count);
	case EMIT_JSON:
		return cell.json;
	}
	return json_null();
}

void emit_set(struct emit *e, const char *key, json_t *value)
{
	if (e->json)
		json_object_set_new(e->root, key, value);
	else
		json_decref(value);
}

void emit_item(struct emit *e, const struct column *c, struct cell cell, const char *note)
{
	char text[256];

	if (e->json) {
		if (c->key)
			json_object_set_new(e->root, c->key, emit_cell_json(c->kind, cell));
		return;
	}
	if (!c->header)
		return;
	emit_cell_text(c->kind, cell, text, sizeof(text));
	emit_line(e, "%-*s%s%s%s%s%s", c->width, c->header, text, c->unit && cell.known ? " " : "",
		  c->unit && cell.known ? c->unit : "", note ? "  " : "", note ? note : "");
}

/* Printing tables. */

static int header_width(const struct column *c)
{
	return text_columns(c->header) + (c->unit ? 1 + text_columns(c->unit) : 0);
}

/* Number of blanks before column i. */
static int gap_before(const struct emit *e, int i)
{
	if (!e->offset[i])
		return 0;
	return e->column[i].align == EMIT_RIGHT ? 1 : 2;
}

static void put_cell(struct emit *e, int i, const char *text, bool last)
{
	const struct column *c = &e->column[i];
	int width = e->column_width[i], pad = width - text_columns(text);
	bool cut = !e->wide && (c->kind == EMIT_TEXT || last);
	char name[1024];

	e->blanks += gap_before(e, i) + (c->align == EMIT_RIGHT && pad > 0 ? pad : 0);
	if (*text) {
		printf("%*s", e->blanks, "");
		e->blanks = 0;
	}
	if (cut && c->align == EMIT_LEFT_NAME)
		fputs(names_fit(&e->names, text, width, name, sizeof(name)), stdout);
	else if (cut)
		put_cut(text, width, c->align == EMIT_LEFT_TAIL);
	else
		fputs(text, stdout);
	if (c->align != EMIT_RIGHT && pad > 0)
		e->blanks += pad;
}

static void end_row(struct emit *e)
{
	e->blanks = 0;
	putchar('\n');
}

static int last_column(const struct emit *e)
{
	int last = 0;

	for (int i = 0; i < e->columns; i++)
		if (e->column[i].header)
			last = i;
	return last;
}

static void put_header(struct emit *e)
{
	char text[64];

	fputs(e->color ? BOLD : "", stdout);
	for (int i = 0; i < e->columns; i++) {
		const struct column *c = &e->column[i];

		if (!c->header)
			continue;
		snprintf(text, sizeof(text), "%s%s%s", c->header, c->unit ? " " : "",
			 c->unit ? c->unit : "");
		put_cell(e, i, text, i == last_column(e));
	}
	fputs(e->color ? PLAIN : "", stdout);
	end_row(e);
}

void emit_table(struct emit *e, const char *key, const struct column *c, int n)
{
	int at = 0, last, width;

	assert(n <= EMIT_COLUMNS);
	names_forget(&e->names);
	e->column = c;
	e->columns = n;
	if (e->json) {
		e->rows = json_array();
		json_object_set_new(e->root, key, e->rows);
		return;
	}
	last = last_column(e);
	memset(e->offset, 0, sizeof(e->offset));
	for (int i = 0; i < n; i++) {
		if (!c[i].header)
			continue;
		e->offset[i] = at;
		e->offset[i] += gap_before(e, i);
		width = header_width(&c[i]) > c[i].width ? header_width(&c[i]) : c[i].width;
		if (i == last && !c[i].width && e->width - e->offset[i] > width)
			width = e->width - e->offset[i];
		e->column_width[i] = width;
		at = e->offset[i] + width;
	}
	put_header(e);
}

int emit_column_at(const struct emit *e, int i)
{
	return e->json ? 0 : e->offset[i];
}

int emit_column_width(const struct emit *e, int i)
{
	return e->json || e->wide ? INT_MAX : e->column_width[i];
}

static void emit_row_json(struct emit *e, const struct cell *cell)
{
	json_t *row = json_object();

	for (int i = 0; i < e->columns; i++)
		if (e->column[i].key)
			json_object_set_new(row, e->column[i].key,
					    emit_cell_json(e->column[i].kind, cell[i]));
	json_array_append_new(e->rows, row);
}

static bool is_hot(const struct emit *e, const struct cell *cell)
{
	return e->columns && e->column[0].kind == EMIT_SHARE && cell[0].known &&
	       cell[0].real >= HOT_SHARE;
}

void emit_row(struct emit *e, const struct cell *cell)
{
	const char *style = !e->color ? "" : e->dim ? DIM : is_hot(e, cell) ? BOLD : "";
	char text[4400];

	if (e->json) {
		emit_row_json(e, cell);
		return;
	}
	fputs(style, stdout);
	for (int i = 0, last = last_column(e); i < e->columns; i++) {
		if (!e->column[i].header)
			continue;
		emit_cell_text(e->column[i].kind, cell[i], text, sizeof(text));
		put_cell(e, i, text, i == last);
	}
	fputs(*style ? PLAIN : "", stdout);
	end_row(e);
}
