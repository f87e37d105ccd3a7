/* SPDX-License-Identifier: MIT */
/*
 * One way out for every reading: the same calls print tables for people or build JSON.
 *
 *   emit_open ─▶ (emit_line | emit_set | emit_item | emit_table emit_row… | emit_footer | emit_terms)… ─▶ emit_close
 *
 * A table is described by its columns, one line each: what the column is called in JSON and over the
 * table, its unit, width, alignment and kind. In JSON each table is an array of objects; shares are
 * 0 to 1, addresses and values are strings ("0x3c8"), since 64 bits do not survive a double. In text
 * shares are per cent, and no line is longer than the terminal (79 columns where there is none).
 *
 * Text may hold any bytes: what a terminal would obey is replaced in text and escaped in JSON (base/text).
 */
#ifndef ASSAY_REPORT_EMIT_H
#define ASSAY_REPORT_EMIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/name.h"

#define EMIT_SCHEMA 1 /* of the JSON: docs/json.md */
#define EMIT_COLUMNS 32
#define EMIT_TERMS 8

enum emit_kind {
	EMIT_TEXT,
	EMIT_COUNT, /* 12,034 */
	EMIT_SHARE, /* 0 to 1; per cent in text */
	EMIT_REAL,  /* two decimals in text */
	EMIT_TIME,  /* ns; with its unit in text */
	EMIT_HEX,   /* a value: 0xff..ff in text, whole in JSON */
	EMIT_ADDR,  /* an address: bare digits in text */
	EMIT_BOOL,  /* yes, no */
	EMIT_JSON,  /* not in text */
};

enum emit_align {
	EMIT_RIGHT,
	EMIT_LEFT,
	EMIT_LEFT_TAIL, /* what is too long loses its beginning: paths */
	EMIT_LEFT_NAME, /* procedures' names: report/name.h */
};

struct column {
	const char *key;    /* NULL: not in JSON */
	const char *header; /* NULL: not in text */
	const char *unit;   /* behind the header, or NULL */
	int width;	    /* at least the header's is taken; 0 in the last column: what is left */
	enum emit_align align;
	enum emit_kind kind;
};

struct cell {
	bool known; /* false: "-" in text, null in JSON */
	bool blank; /* not shown in text */
	union {
		const char *text;
		uint64_t count;
		double real;
		json_t *json; /* taken */
	};
};

struct emit {
	bool json, color, wide;
	bool ascii;   /* the locale has no other characters */
	bool explain; /* terms are explained at the end */
	bool dim;     /* rows are grey until this is false again */
	int width;    /* columns of a line */
	json_t *root;
	struct names names; /* in the table under way */
	const struct term *terms[EMIT_TERMS];
	int nterms;
	/* of the table under way */
	const struct column *column;
	int columns, offset[EMIT_COLUMNS], column_width[EMIT_COLUMNS];
	int blanks; /* owed in front of what comes next in the row: a row ends without any */
	json_t *rows;
};

/* What a column or a mark of a reading means. */
struct term {
	const char *name, *text;
};

/* wide: text is never cut. explain: terms are explained. */
void emit_open(struct emit *e, const char *verb, bool json, bool wide, bool explain);
/* Prints the JSON, if it is complete; in text, what terms mean, or how to ask for that. */
void emit_close(struct emit *e, bool complete);

/* Text only: a line, cut at the width. */
void emit_line(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: a line for other programs, which is neither cut nor wrapped. */
void emit_whole(struct emit *e, const char *text);
/* Text only: what must not be cut, wrapped. */
void emit_heading(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: a remark below what was shown, wrapped. */
void emit_footer(struct emit *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Text only: what terms mean, for the end of the reading, if that was asked for. The list ends with a term without a
 * name, and stays with the caller. A list given twice is told once; EMIT_TERMS different ones at most. */
void emit_terms(struct emit *e, const struct term *t);
/* JSON only. value is taken. */
void emit_set(struct emit *e, const char *key, json_t *value);
/* "label   value  note" or "key": value, by the column's kind; the column's unit follows the value. */
void emit_item(struct emit *e, const struct column *c, struct cell cell, const char *note);

/* The columns stay with the caller, until the next table. */
void emit_table(struct emit *e, const char *key, const struct column *c, int n);
/* One cell a column. */
void emit_row(struct emit *e, const struct cell *cell);
/* Where column i begins in a line of text. */
int emit_column_at(const struct emit *e, int i);
/* How much text it takes before it is cut. */
int emit_column_width(const struct emit *e, int i);

/* A cell as text, and as JSON. */
char *emit_cell_text(enum emit_kind kind, struct cell cell, char *buf, size_t n);
json_t *emit_cell_json(enum emit_kind kind, struct cell cell);
json_t *emit_hex_json(uint64_t v);
/* A string, whatever the bytes are: those that belong to no UTF-8 become U+FFFD. NULL is null. */
json_t *emit_text_json(const char *s);
/* To stdout; what base/text does not show is escaped. root stays with the caller. */
void emit_json_print(const json_t *root);

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
/* For "3 images", "1 image". */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
