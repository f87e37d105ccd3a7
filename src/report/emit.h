/* SPDX-License-Identifier: MIT */
/*
 * The output of every reading: the same calls print tables for people or build JSON.
 *
 *   emit_open ─▶ (emit_line | emit_set | emit_item | emit_table, emit_row ... | emit_footer | emit_terms)* ─▶ emit_close
 *
 * A table is described by its columns, one line each: key in JSON, header, unit, width, alignment and kind. In JSON
 * each table is an array of objects; shares are 0 to 1, addresses and values are strings ("0x3c8"), since 64 bits do
 * not fit a double. In text shares are per cent, and no line is longer than the terminal (79 columns if there is none).
 *
 * Text may hold any bytes: characters that a terminal would obey are replaced in text and escaped in JSON (base/text).
 */
#ifndef ASSAY_REPORT_EMIT_H
#define ASSAY_REPORT_EMIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "query/name.h"

#define EMIT_SCHEMA 1 /* version of the JSON: docs/json.md */
#define EMIT_COLUMNS 32
#define EMIT_TERMS 8

enum emit_kind {
	EMIT_TEXT,
	EMIT_COUNT, /* count: 12,034 */
	EMIT_SHARE, /* share: 0 to 1; per cent in text */
	EMIT_REAL,  /* real number: two decimals in text */
	EMIT_TIME,  /* time in ns; with a unit in text */
	EMIT_HEX,   /* value: 0xff..ff in text, whole in JSON */
	EMIT_ADDR,  /* address: bare digits in text */
	EMIT_BOOL,  /* truth value: yes, no */
	EMIT_JSON,  /* cell for JSON only */
};

enum emit_align {
	EMIT_RIGHT,
	EMIT_LEFT,
	EMIT_LEFT_TAIL, /* text that loses its beginning if it is too long: paths */
	EMIT_LEFT_NAME, /* text that is cut as query/name.h says: names of procedures */
};

struct column {
	const char *key;    /* NULL: not in JSON */
	const char *header; /* NULL: not in text */
	const char *unit;   /* printed after the header, or NULL */
	/* at least the header's width is used; 0 in the last column: the rest of the line */
	int width;
	enum emit_align align;
	enum emit_kind kind;
};

struct cell {
	bool known; /* false: "-" in text, null in JSON */
	bool blank; /* blank in text */
	union {
		const char *text;
		uint64_t count;
		double real;
		json_t *json; /* a JSON value, which is taken */
	};
};

struct emit {
	bool json, color, wide;
	bool ascii;   /* the locale has only ASCII characters */
	bool explain; /* terms are explained at the end */
	bool dim;     /* rows are grey until this is false again */
	int width;    /* columns of a line */
	json_t *root;
	unsigned long failures; /* emit_json_failures() when the output began */
	struct names names;	/* names shown in the current table */
	const struct term *terms[EMIT_TERMS];
	int nterms;
	/* columns of the current table */
	const struct column *column;
	int columns, offset[EMIT_COLUMNS], column_width[EMIT_COLUMNS];
	int blanks; /* blanks that precede the next cell; a row ends without trailing ones */
	json_t *rows;
};

/* The meaning of a column or mark of a reading. */
struct term {
	const char *name, *text;
};

/* wide: text is never cut. explain: terms are explained at the end. */
void emit_open(struct emit *e, const char *verb, bool json, bool wide, bool explain);
/*
 * Prints the JSON; in text, the explained terms, or how to ask for them. Nothing is printed if err is NULL or set already.
 * JSON of which a part could not be allocated is not printed either, but reported in err.
 */
void emit_close(struct emit *e, struct err *err);

/*
 * The number of allocations of JSON values that failed in this process. jansson passes such a value on as a missing one, so
 * whoever prints or writes JSON compares the number with what it was before the first value was made.
 */
unsigned long emit_json_failures(void);

/* Text only: a line, which is cut at the width. */
void emit_line(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: a line for other programs, which is neither cut nor wrapped. */
void emit_whole(struct emit *e, const char *text);
/* Text only: a line that is wrapped instead of cut. */
void emit_heading(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: a remark below what was shown, which is wrapped. */
void emit_footer(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: terms that are explained at the end of the reading on request. The list ends with a
 * term without a name, and stays with the caller. A repeated list is printed once; at most
 * EMIT_TERMS different lists are kept. */
void emit_terms(struct emit *e, const struct term *t);
/* JSON only. value is taken. */
void emit_set(struct emit *e, const char *key, json_t *value);
/* Prints "label   value  note", or sets "key": value; column c gives the kind, and the unit that
 * follows the value. */
void emit_item(struct emit *e, const struct column *c, struct cell cell, const char *note);

/* Begins a table. The columns stay with the caller, until the next table. */
void emit_table(struct emit *e, const char *key, const struct column *c, int n);
/* Prints a row, with one cell for each column. */
void emit_row(struct emit *e, const struct cell *cell);
/* Where column i begins in a line of text. */
int emit_column_at(const struct emit *e, int i);
/* The number of columns that text may take before it is cut. */
int emit_column_width(const struct emit *e, int i);

/* Returns a cell as JSON. */
json_t *emit_cell_json(enum emit_kind kind, struct cell cell);
json_t *emit_hex_json(uint64_t v);
/* A JSON string of arbitrary bytes: those that are not UTF-8 become U+FFFD. NULL is null. */
json_t *emit_text_json(const char *s);
/* Prints JSON to stdout, escaping characters that base/text hides. root stays with the caller. */
void emit_json_print(const json_t *root, struct err *err);

static inline struct cell cell_text(const char *s)
{
	return (struct cell){ .known = s != NULL, .text = s };
}
static inline struct cell cell_count(uint64_t v)
{
	return (struct cell){ .known = true, .count = v };
}
static inline struct cell cell_real(double v)
{
	return (struct cell){ .known = v == v, .real = v };
}
static inline struct cell cell_json(json_t *v)
{
	return (struct cell){ .known = v != NULL, .json = v };
}
static inline struct cell cell_none(void)
{
	return (struct cell){ .known = false };
}
static inline struct cell cell_blank_if(bool blank, struct cell cell)
{
	cell.blank = blank;
	return cell;
}
/* The ending for "3 images", "1 image". */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
