/* SPDX-License-Identifier: MIT */
/*
 * The table as Go 1.16 and later lay it out:
 *
 *	header: magic, alignment of code, bytes of a pointer, numbers of procedures and files, from
 *	        1.18 on the address that places count from, offsets of the parts
 *	names; files; for each unit of compilation, the offsets of the names of its files
 *	tables of values by place, of which procedures' records have the offsets
 *	places and offsets of records of all procedures, in order, and the place where the last ends
 *	record: place, name, two more words; the tables of the stack pointer's values, of files' numbers and of lines; a word;
 *	        where the offsets of the unit's files begin; and more
 *
 * A table of values is a list of pairs of numbers: the change of the value, and how many bytes of code the value is for.
 */
#include "image/gopcln.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/varint.h"

#define MAGIC_1_16 0xfffffffau
#define MAGIC_1_18 0xfffffff0u
#define MAGIC_1_20 0xfffffff1u
#define TABLE_MAX (1u << 28)
#define LINE_MAX_BELIEVED (1 << 30)
#define STEPS_MAX 4096 /* pairs of a table of values: each place is looked up from the first */
#define NAME_MAX_BYTES 64
#define TEXT_MAX_BYTES 4096

/* Words of a record. */
enum {
	FIELD_NAME,
	FIELD_ROOM = 3,
	FIELD_FILE,
	FIELD_LINE,
	FIELD_UNIT = 7,
};

/* What the kernel saved for a signal's handler lies above the stack pointer: rsp, rbp and rip. */
#define SIGNAL_RSP 160
#define SIGNAL_RBP 120
#define SIGNAL_RIP 168

static bool word_at(const struct gopcln *g, uint64_t at, unsigned bytes, uint64_t *v)
{
	*v = 0;
	if (at > g->size || g->size - at < bytes)
		return false;
	memcpy(v, g->bytes + at, bytes);
	return true;
}

bool gopcln_parse(struct gopcln *g, uint64_t text)
{
	uint64_t magic, sizes, at = 24, part[5];

	if (!word_at(g, 0, 4, &magic) || !word_at(g, 4, 4, &sizes) || !word_at(g, 8, 8, &g->procs))
		return false;
	if (sizes >> 24 != 8 || (magic != MAGIC_1_16 && magic != MAGIC_1_18 && magic != MAGIC_1_20))
		return false;
	g->width = magic == MAGIC_1_16 ? 8 : 4;
	if (magic != MAGIC_1_16) {
		if (!word_at(g, at, 8, &g->text))
			return false;
		if (!g->text) /* set when the program is loaded */
			g->text = text;
		at += 8;
	}
	for (unsigned i = 0; i < 5; i++)
		if (!word_at(g, at + 8ull * i, 8, &part[i]) || part[i] > g->size)
			return false;
	g->names = part[0];
	g->units = part[1];
	g->files = part[2];
	g->values = part[3];
	g->records = part[4];
	return g->procs && g->procs < (g->size - g->records) / (2 * g->width);
}

bool gopcln_open(struct gopcln *g, const struct elf_file *f)
{
	const Elf64_Shdr *sh, *text;

	if (g->tried)
		return g->bytes;
	g->tried = true;
	text = elf_file_section(f, ".text");
	sh = elf_file_section(f, ".gopclntab");
	if (!sh)
		sh = elf_file_section(f, ".data.rel.ro.gopclntab");
	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_size > TABLE_MAX)
		return false;
	g->size = sh->sh_size;
	g->bytes = elf_file_load(f, sh->sh_offset, sh->sh_size);
	if (g->bytes && !gopcln_parse(g, text ? text->sh_addr : 0)) {
		free(g->bytes);
		g->bytes = NULL;
	}
	return g->bytes;
}

void gopcln_fini(struct gopcln *g)
{
	free(g->bytes);
	g->bytes = NULL;
}

/* Where the procedure of that number begins; of number g->procs, where the last one ends. */
static uint64_t place_of(const struct gopcln *g, uint64_t i)
{
	uint64_t v;

	word_at(g, g->records + 2 * g->width * i, g->width, &v);
	return g->text + v;
}

bool gopcln_range(const struct gopcln *g, uint64_t i, uint64_t *start, uint64_t *end)
{
	*start = place_of(g, i);
	*end = place_of(g, i + 1);
	return *start < *end;
}

/* The offset of the record of a procedure. */
static bool record_of(const struct gopcln *g, uint64_t i, uint64_t *at)
{
	if (!word_at(g, g->records + (2 * i + 1) * g->width, g->width, at))
		return false;
	*at += g->records;
	return *at < g->size;
}

/* A text that is terminated within TEXT_MAX_BYTES, or NULL. */
static const char *text_at(const struct gopcln *g, uint64_t at)
{
	uint64_t room = at < g->size ? g->size - at : 0;
	const uint8_t *text = g->bytes + (room ? at : 0);

	return memchr(text, 0, room < TEXT_MAX_BYTES ? room : TEXT_MAX_BYTES) ? (const char *)text
									      : NULL;
}

/* A word of a procedure's record, of those behind the place. */
static bool field_of(const struct gopcln *g, uint64_t record, unsigned field, uint64_t *v)
{
	return word_at(g, record + g->width + 4ull * field, 4, v);
}

const char *gopcln_name(const struct gopcln *g, uint64_t i)
{
	uint64_t at, offset;

	return record_of(g, i, &at) && field_of(g, at, FIELD_NAME, &offset)
		       ? text_at(g, g->names + offset)
		       : NULL;
}

/* Copies the name of a procedure, cut, without the suffix that tells its calling convention. */
static void name_of(const struct gopcln *g, uint64_t i, char name[NAME_MAX_BYTES])
{
	const char *text = gopcln_name(g, i);
	char *end;

	snprintf(name, NAME_MAX_BYTES, "%s", text ? text : "");
	end = strstr(name, ".abi");
	if (end)
		*end = 0;
}

/* Procedures of Go's own that have callers of another kind, or none. */
static bool special_rule(const char *name, struct unwind_rule *r)
{
	static const char *const outermost[] = {
		"runtime.goexit", "runtime.mstart", "runtime.mcall",	"runtime.morestack",
		"runtime.rt0_go", "_rt0_amd64",	    "_rt0_amd64_linux",
	};
	size_t n = sizeof(outermost) / sizeof(outermost[0]);

	*r = (struct unwind_rule){ .kind = RULE_NONE };
	if (!strcmp(name, "runtime.systemstack") || !strcmp(name, "runtime.asmcgocall"))
		r->kind = RULE_SWITCH;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, outermost[i]))
			r->kind = RULE_OUTERMOST;
	if (!strncmp(name, "runtime.sigreturn", 17))
		*r = (struct unwind_rule){ .kind = RULE_SIGNAL,
					   .off = SIGNAL_RSP,
					   .bp_off = SIGNAL_RBP,
					   .ra_off = SIGNAL_RIP };
	return r->kind != RULE_NONE;
}

/* A procedure that has made room on its stack has saved rbp right below the return address. */
static struct unwind_rule rule_of(int64_t room)
{
	return (struct unwind_rule){ .kind = RULE_CFA,
				     .reg = RULE_RSP,
				     .off = (int32_t)room + 8,
				     .bp = room > 0 ? RULE_BP_CFA : RULE_BP_SAME,
				     .bp_off = room > 0 ? -16 : 0 };
}

/* A stretch of code for which a table has one value. */
struct stretch {
	uint64_t start, end;
	int64_t value;
};

/* Finds the stretch that holds the address in the table at that offset, of a procedure that begins at start. */
static bool find_value(const struct gopcln *g, uint64_t table, uint64_t start, uint64_t addr,
		       struct stretch *found)
{
	struct cursor c = { g->bytes + g->values, g->bytes + g->size };
	uint64_t pc = start, change, bytes;
	int64_t value = -1;

	if (table >= g->size - g->values)
		return false;
	c.p += table;
	for (unsigned i = 0; i < STEPS_MAX; i++) {
		if (!varint_get(&c, &change) || (!change && i) || !varint_get(&c, &bytes) ||
		    change > UINT32_MAX || bytes > UINT32_MAX || pc + bytes < pc)
			return false;
		value += unzigzag(change);
		if (addr - pc < bytes) {
			*found = (struct stretch){ pc, pc + bytes, value };
			return value >= 0;
		}
		pc += bytes;
	}
	return false;
}

/* The value at the address of the table that the record has in that field; -1: there is none. */
static int64_t value_at(const struct gopcln *g, uint64_t record, unsigned field, uint64_t start,
			uint64_t addr)
{
	struct stretch found;
	uint64_t table;

	return field_of(g, record, field, &table) && find_value(g, table, start, addr, &found)
		       ? found.value
		       : -1;
}

/* Finds the procedure that holds the address, and its record. */
static bool find_proc(const struct gopcln *g, uint64_t addr, uint64_t *i, uint64_t *start,
		      uint64_t *end)
{
	*i = search_first(k, 0, g->procs, place_of(g, k) > addr);
	return *i && gopcln_range(g, --*i, start, end) && addr < *end;
}

/* A signal's handler returns to where its return begins: that address is looked up by the byte before. */
static bool returns_from_signal(const struct gopcln *g, uint64_t i, uint64_t addr,
				struct unwind_row *row)
{
	char name[NAME_MAX_BYTES];

	if (i + 1 >= g->procs || place_of(g, i + 1) != addr + 1 || !(addr + 1))
		return false;
	name_of(g, i + 1, name);
	if (strncmp(name, "runtime.sigreturn", 17) != 0)
		return false;
	*row = (struct unwind_row){ .start = addr, .end = addr + 1 };
	return special_rule(name, &row->rule);
}

bool gopcln_row(const struct gopcln *g, uint64_t addr, struct unwind_row *row)
{
	uint64_t i, start, end, at, table;
	char name[NAME_MAX_BYTES];
	struct stretch found;

	if (!find_proc(g, addr, &i, &start, &end))
		return false;
	if (returns_from_signal(g, i, addr, row))
		return true;
	name_of(g, i, name);
	*row = (struct unwind_row){ .start = start, .end = end };
	if (special_rule(name, &row->rule))
		return true;
	if (!record_of(g, i, &at) || !field_of(g, at, FIELD_ROOM, &table) ||
	    !find_value(g, table, start, addr, &found) || found.value >= INT32_MAX / 2 ||
	    found.end > end)
		return false;
	*row = (struct unwind_row){ found.start, found.end, rule_of(found.value) };
	return true;
}

bool gopcln_line(const struct gopcln *g, uint64_t addr, const char **file, int *line)
{
	uint64_t i, start, end, at, unit, offset;
	int64_t number, found;

	if (!find_proc(g, addr, &i, &start, &end) || !record_of(g, i, &at) ||
	    !field_of(g, at, FIELD_UNIT, &unit))
		return false;
	number = value_at(g, at, FIELD_FILE, start, addr);
	found = value_at(g, at, FIELD_LINE, start, addr);
	if (number < 0 || number > UINT32_MAX || found < 1 || found > LINE_MAX_BELIEVED ||
	    !word_at(g, g->units + 4 * (unit + (uint64_t)number), 4, &offset))
		return false;
	*file = text_at(g, g->files + offset);
	*line = (int)found;
	return *file && **file;
}
