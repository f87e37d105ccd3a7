/* SPDX-License-Identifier: MIT */
#include "coproc/spec.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "coproc/source.h"

const struct spec spec_default = {
#define X(name, value, least, most, what) .name = value,
	SPEC_PARAMETERS(X)
#undef X
};

#define TEXT_MAX 65536

struct parameter {
	const char *name, *what;
	size_t at;
	uint32_t least, most;
};

static const struct parameter parameters[] = {
#define X(name, value, least, most, what) { #name, what, offsetof(struct spec, name), least, most },
	SPEC_PARAMETERS(X)
#undef X
};
#define PARAMETERS (sizeof(parameters) / sizeof(parameters[0]))

static uint32_t *slot_of(struct spec *s, const struct parameter *p)
{
	return (uint32_t *)((char *)s + p->at);
}

static const struct parameter *find(const char *name, size_t n)
{
	for (size_t i = 0; i < PARAMETERS; i++)
		if (strlen(parameters[i].name) == n && !strncmp(parameters[i].name, name, n))
			return &parameters[i];
	return NULL;
}

/* Parses a number, optionally with K or M; false: there is none, or it is too large. */
static bool number(const char **p, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*v = strtoull(*p, &end, 0);
	if (*v > UINT32_MAX)
		return false;
	if (*end == 'K' || *end == 'M')
		*v <<= *end++ == 'K' ? 10 : 20;
	*p = end;
	return true;
}

/* Parses "name = number" and nothing else. `where` begins the message. */
static int assign(struct spec *s, const char *line, const char *where, struct err *err)
{
	const struct parameter *p;
	const char *name = line + strspn(line, " \t"), *at;
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
	uint64_t v;

	at = name + n + strspn(name + n, " \t");
	if (!n || *at != '=') {
		err_set(err, ERR_USAGE, "%s: \"%.40s\" is not NAME = NUMBER", where, name);
		return err_hint(err, "for instance entries = 256");
	}
	p = find(name, n);
	if (!p) {
		err_set(err, ERR_USAGE, "%s: the machine has no parameter \"%.*s\"", where,
			n > 40 ? 40 : (int)n, name);
		return err_hint(err, "`assay coproc info` lists the parameters");
	}
	at++;
	at += strspn(at, " \t");
	if (!number(&at, &v) || at[strspn(at, " \t\r")])
		return err_set(err, ERR_USAGE, "%s: %s is given \"%.40s\", which is no number",
			       where, p->name, at);
	if (v < p->least || v > p->most)
		return err_set(err, ERR_USAGE, "%s: %s is %llu, not within %u and %u (%s)", where,
			       p->name, (unsigned long long)v, p->least, p->most, p->what);
	*slot_of(s, p) = (uint32_t)v;
	return 0;
}

int spec_set(struct spec *s, const char *assignment, struct err *err)
{
	return assign(s, assignment, "--set", err);
}

int spec_parse(struct spec *s, const char *text, const char *from, struct err *err)
{
	char line[256], where[320];

	for (unsigned number = 1; *text; number++) {
		size_t n = strcspn(text, "\n"), kept = strcspn(text, "#\n");

		snprintf(where, sizeof(where), "%.200s:%u", from, number);
		if (kept >= sizeof(line))
			return err_set(err, ERR_USAGE, "%s: the line is too long", where);
		memcpy(line, text, kept);
		line[kept] = 0;
		if (line[strspn(line, " \t\r")] && assign(s, line, where, err))
			return -1;
		text += n + (text[n] == '\n');
	}
	return spec_check(s, err);
}

int spec_read(struct spec *s, const char *path, struct err *err)
{
	char *text = source_read(path, TEXT_MAX, err);
	int rc = text ? spec_parse(s, text, path, err) : -1;

	free(text);
	return rc;
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

int spec_check(const struct spec *s, struct err *err)
{
	if (!power_of_two(s->entries))
		return err_set(err, ERR_USAGE, "entries is %u, which is no power of two",
			       s->entries);
	if (!power_of_two(s->data))
		return err_set(err, ERR_USAGE, "data is %u, which is no power of two", s->data);
	if (!power_of_two(s->ignore))
		return err_set(err, ERR_USAGE, "ignore is %u, which is no power of two", s->ignore);
	if (s->predictor && !power_of_two(s->predictor))
		return err_set(err, ERR_USAGE, "predictor is %u, which is no power of two",
			       s->predictor);
	if (s->bus > s->buffer)
		return err_set(err, ERR_USAGE,
			       "bus moves %u bytes a cycle into a buffer of only %u (buffer)",
			       s->bus, s->buffer);
	if (s->targets > s->words)
		return err_set(err, ERR_USAGE, "there are more branch targets than words");
	return 0;
}

void spec_print(const struct spec *s, FILE *to)
{
	struct spec copy = *s;

	for (size_t i = 0; i < PARAMETERS; i++) {
		const struct parameter *p = &parameters[i];
		int n = fprintf(to, "%s = %u", p->name, *slot_of(&copy, p));

		fprintf(to, "%*s# %s\n", n < 28 ? 28 - n : 1, "", p->what);
	}
}

/* Transistors of a bit: a memory cell with one port has six, each further port adds two; a cell
 * of an associative array has ten. */
#define CELL 6
#define CELL_PORT 2
#define CELL_MATCH 10
#define ALU_BIT 80    /* transistors of a bit of adder, logic, comparison and short shifter */
#define DECODER 12000 /* transistors of instruction decoder and field extractor */
#define CONTROL 15000 /* transistors of pipeline, bypasses and buses to the host */

static void part(struct spec_part *p, const char *name, uint64_t bits, unsigned reads,
		 unsigned writes, bool shared)
{
	unsigned ports = shared ? 1 : reads + writes;

	p->name = name;
	p->reads = reads;
	p->writes = writes;
	p->bits = bits;
	p->transistors = bits * (CELL + CELL_PORT * (ports - 1));
}

unsigned spec_parts(const struct spec *s, struct spec_part list[SPEC_PARTS])
{
	struct spec_part *p = list;

#define SIZE(...) snprintf(p->size, sizeof(p->size), __VA_ARGS__), p++
	part(p, "PC filter, ignore bits", s->ignore, 1, 1, true);
	SIZE("%u bits", s->ignore);
	part(p, "sample buffer", 8ull * s->buffer, 1, 1, false);
	SIZE("%u bytes", s->buffer);
	part(p, "microcode array", 128ull * s->words, 1, 1, true);
	SIZE("%u words of 128 bits", s->words);
	part(p, "associative array", (uint64_t)s->entries * (s->entry_bits + 1), 1, 1, true);
	p->transistors = p->bits * CELL_MATCH;
	SIZE("%u of %u + 1 bits", s->entries, s->entry_bits);
	part(p, "data array", (uint64_t)s->data * s->data_bits, 1, 1, true);
	SIZE("%u words of %u bits", s->data, s->data_bits);
	part(p, "value registers", 64ull * s->values, s->value_reads, s->value_writes, false);
	SIZE("%u of 64 bits", s->values);
	part(p, "index registers", 16ull * s->indexes, s->index_reads, s->index_writes, false);
	SIZE("%u of 16 bits", s->indexes);
	part(p, "constant registers", 64ull * s->constants, s->constant_reads, 1, false);
	SIZE("%u of 64 bits", s->constants);
	part(p, "base address registers", 32ull * s->bases, 1, 1, false);
	SIZE("%u of 32 bits", s->bases);
	part(p, "branch target registers", 10ull * s->targets, 1, 1, false);
	SIZE("%u of 10 bits", s->targets);
	part(p, "branch predictor", s->predictor, 1, 1, false);
	SIZE("%u bits", s->predictor);
	*p = (struct spec_part){ .name = "ALUs",
				 .transistors = ALU_BIT * (64 + 16 * s->index_alus) };
	SIZE("64 bits and %u of 16", s->index_alus);
	*p = (struct spec_part){ .name = "decoder, field extractor", .transistors = DECODER };
	SIZE("%u fields", s->fields);
	*p = (struct spec_part){ .name = "control", .transistors = CONTROL };
	SIZE("%u stages", s->stages);
#undef SIZE
	return (unsigned)(p - list);
}
