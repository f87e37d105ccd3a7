/* SPDX-License-Identifier: MIT */
#include "model/machine.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/cache.h"

#define SYSFS "/sys/devices/system/cpu/cpu0/cache/index%u/%s"
#define INDEXES 8

static const struct machine plain = {
#define X(id, name, size, ways) .id = { size, ways },
	MACHINE_CACHES(X) MACHINE_TLBS(X)
#undef X
		.line = 64,
	.page = 4096, .policy = CACHE_LRU,
#define X(id, value, least, most, what) .id = value,
	MACHINE_NUMBERS(X)
#undef X
};

/* Caches, from sysfs. */

static bool read_word(unsigned index, const char *name, char *buf, size_t n)
{
	char path[128];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), SYSFS, index, name);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(buf, (int)n, f);
	fclose(f);
	buf[strcspn(buf, "\n")] = 0;
	return ok;
}

static uint64_t read_number(unsigned index, const char *name)
{
	char buf[64];

	return read_word(index, name, buf, sizeof(buf)) ? strtoull(buf, NULL, 10) : 0;
}

static void read_cache(struct machine *m, unsigned index)
{
	char type[32];
	uint64_t level = read_number(index, "level"), ways;
	struct machine_size *s;
	uint64_t sets = read_number(index, "number_of_sets");
	uint64_t line = read_number(index, "coherency_line_size");

	if (!read_word(index, "type", type, sizeof(type)))
		return;
	s = level == 2			   ? &m->l2
	    : level == 3		   ? &m->l3
	    : !strcmp(type, "Instruction") ? &m->l1i
					   : &m->l1d;
	ways = read_number(index, "ways_of_associativity");
	if (level < 1 || level > 3 || !line || line & (line - 1) || !sets || !ways || ways > 1024 ||
	    sets > 1u << 28)
		return;
	m->line = (uint32_t)line;
	*s = (struct machine_size){ sets * ways * line, (uint32_t)ways };
}

/* TLBs for pages of 4 KiB, from cpuid. */

/* AMD's codes for the associativity of the second level; 0: fully associative. */
static uint32_t amd_ways(unsigned code)
{
	static const uint8_t ways[16] = { 0, 1, 2, 3, 4, 6, 8, 0, 16, 0, 32, 48, 64, 96, 128, 0 };

	return ways[code & 15];
}

static void set_tlb(struct machine_size *s, uint32_t entries, uint32_t ways)
{
	if (!entries)
		return;
	if (!ways || ways > entries || entries % ways)
		ways = entries;
	*s = (struct machine_size){ entries, ways };
}

static void read_amd(struct machine *m)
{
	unsigned a, b, c, d;

	if ((unsigned)__get_cpuid_max(0x80000000, NULL) < 0x80000006)
		return;
	__cpuid(0x80000005, a, b, c, d);
	set_tlb(&m->itlb, b & 0xff, b >> 8 & 0xff);
	set_tlb(&m->dtlb, b >> 16 & 0xff, b >> 24);
	__cpuid(0x80000006, a, b, c, d);
	/* Twelve bits are too few for newer TLBs, and hypervisors invent values. */
	if ((b & 0xfff) >= 2 * m->itlb.size)
		set_tlb(&m->itlb2, b & 0xfff, amd_ways(b >> 12 & 15));
	if ((b >> 16 & 0xfff) >= 2 * m->dtlb.size)
		set_tlb(&m->dtlb2, b >> 16 & 0xfff, amd_ways(b >> 28));
}

static void read_intel(struct machine *m)
{
	unsigned a, b, c, d, last;

	if (__get_cpuid_max(0, NULL) < 0x18)
		return;
	__cpuid_count(0x18, 0, last, b, c, d);
	for (unsigned i = 0; i <= last && i < 32; i++) {
		unsigned type, level, ways;

		__cpuid_count(0x18, i, a, b, c, d);
		type = d & 31;
		level = d >> 5 & 7;
		ways = d >> 8 & 1 ? 0 : b >> 16;
		if (!(b & 1)) /* it has no entries for pages of 4 KiB */
			continue;
		if (type == 1 || type == 3 || type == 4) /* data, unified, loads */
			set_tlb(level > 1 ? &m->dtlb2 : &m->dtlb, c * (b >> 16), ways);
		if (type == 2 || type == 3)
			set_tlb(level > 1 ? &m->itlb2 : &m->itlb, c * (b >> 16), ways);
	}
}

/* The core, chosen by maker and generation, because no instruction tells its parameters. */

#define AVX_VNNI (1u << 4) /* leaf 7, subleaf 1, eax: Golden Cove has it, Ice Lake does not */
#define AVX512F (1u << 16) /* leaf 7, ebx: Skylake's servers have it, Zen 4 does */

static void set_core(struct machine *m, bool intel)
{
	unsigned a, b = 0, c, d, newer = 0;

	if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && a)
		__get_cpuid_count(7, 1, &newer, &c, &c, &d);
	if (intel && newer & AVX_VNNI) { /* Golden Cove */
		m->width = 6;
		m->window = 512;
		m->alus = 5;
		m->vectors = 3;
		m->loads = 3;
		m->stores = 2;
		m->buffer = 112;
		m->fills = 16;
		m->l3lat = 70;
		m->refill = 17;
	} else if (!intel) { /* Zen 3, Zen 4 */
		m->width = 6;
		m->window = b & AVX512F ? 320 : 256;
		m->vectors = 4;
		m->loads = 3;
		m->stores = 2;
		m->buffer = 64;
		m->fills = 24;
		m->l1lat = 4;
		m->refill = 13;
	}
}

void machine_this(struct machine *m)
{
	unsigned a, b, c, d;

	*m = plain;
	for (unsigned i = 0; i < INDEXES; i++)
		read_cache(m, i);
	if (!__get_cpuid(0, &a, &b, &c, &d))
		return;
	if (b == signature_INTEL_ebx)
		read_intel(m);
	else
		read_amd(m);
	set_core(m, b == signature_INTEL_ebx);
}

/* The parameters as text. */

struct named {
	const char *name;
	struct machine_size *size;
	bool entries;
};

#define NAMED 8
static void name_all(struct machine *m, struct named *n)
{
#define X(id, name, size, ways) *n++ = (struct named){ name, &m->id, false };
	MACHINE_CACHES(X)
#undef X
#define X(id, name, size, ways) *n++ = (struct named){ name, &m->id, true };
	MACHINE_TLBS(X)
#undef X
}

static bool get_number(const char **p, uint64_t max, uint64_t *v)
{
	char *end;
	unsigned shift = 0;

	if (**p < '0' || **p > '9')
		return false;
	*v = strtoull(*p, &end, 10);
	if (*end == 'K' || *end == 'k')
		shift = 10;
	else if (*end == 'M' || *end == 'm')
		shift = 20;
	else if (*end == 'G' || *end == 'g')
		shift = 30;
	*p = end + (shift != 0);
	*v = *v > max >> shift ? max + 1 : *v << shift;
	return *v <= max;
}

static int bad(struct err *err, const char *what, const char *at)
{
	err_set(err, ERR_USAGE, "--machine: %s at \"%s\"", what, at);
	return err_hint(err, "for instance l1d=32K/8,l2=1M/16,l3=0,dtlb=64/4,line=64,policy=plru");
}

struct numbered {
	const char *name;
	uint32_t *value, least, most;
};

#define X(id, value, least, most, what) +1
enum {
	NUMBERED = 0 MACHINE_NUMBERS(X)
};
#undef X

static void number_all(struct machine *m, struct numbered *n)
{
#define X(id, value, least, most, what) *n++ = (struct numbered){ #id, &m->id, least, most };
	MACHINE_NUMBERS(X)
#undef X
}

/* Parses a parameter of the core: 1 if it is one, 0 if there is none of that name. */
static int parse_number(struct machine *m, const char *name, size_t n, uint64_t v, const char *from,
			struct err *err)
{
	struct numbered all[NUMBERED];
	char what[64];

	number_all(m, all);
	for (unsigned i = 0; i < NUMBERED; i++) {
		if (strncmp(all[i].name, name, n) || all[i].name[n])
			continue;
		snprintf(what, sizeof(what), "no number from %u to %u", all[i].least, all[i].most);
		if (v < all[i].least || v > all[i].most)
			return bad(err, what, from);
		*all[i].value = (uint32_t)v;
		return 1;
	}
	return 0;
}

static const char *const policies[] = { [CACHE_LRU] = "lru", [CACHE_PLRU] = "plru" };
static const char *const predictors[] = { [MACHINE_TAGE] = "tage", [MACHINE_GSHARE] = "gshare" };

/* Parses one of two words. */
static int parse_word(int *to, const char *const word[2], const char *neither, const char *p,
		      const char **end, struct err *err)
{
	for (int i = 0; i < 2; i++) {
		size_t n = strlen(word[i]);

		if (strncmp(p, word[i], n))
			continue;
		*to = i;
		*end = p + n;
		return 0;
	}
	return bad(err, neither, p);
}

static int parse_item(struct machine *m, const char *name, size_t n, const char *p,
		      const char **end, struct err *err)
{
	const char *from = p;
	struct named all[NAMED];
	uint64_t v, ways;
	int found;

	if (n == 6 && !strncmp(name, "policy", n))
		return parse_word(&m->policy, policies, "neither lru nor plru", p, end, err);
	if (n == 9 && !strncmp(name, "predictor", n))
		return parse_word(&m->predictor, predictors, "neither tage nor gshare", p, end,
				  err);
	if (!get_number(&p, 1ull << 40, &v))
		return bad(err, "no number", from);
	*end = p;
	if (n == 4 && (!strncmp(name, "line", n) || !strncmp(name, "page", n))) {
		bool line = name[0] == 'l';

		if (v & (v - 1) || v < (line ? 16 : 4096) || v > (line ? 4096 : 1u << 30))
			return bad(err, "no size of a line or a page", from);
		*(line ? &m->line : &m->page) = (uint32_t)v;
		return 0;
	}
	found = parse_number(m, name, n, v, from, err);
	if (found)
		return found < 0 ? -1 : 0;
	name_all(m, all);
	for (unsigned i = 0; i < NAMED; i++) {
		if (strncmp(all[i].name, name, n) || all[i].name[n])
			continue;
		ways = all[i].size->ways ? all[i].size->ways : 1;
		if (*p == '/') {
			p++;
			if (!get_number(&p, 1u << 20, &ways) || !ways)
				return bad(err, "no number of ways", from);
			*end = p;
		}
		*all[i].size = (struct machine_size){ v, v ? (uint32_t)ways : 0 };
		return 0;
	}
	return bad(err, "nothing of that name", name);
}

static int check(const struct machine *m, struct err *err)
{
	struct machine copy = *m;
	struct named all[NAMED];

	name_all(&copy, all);
	for (unsigned i = 0; i < NAMED; i++) {
		const struct machine_size *s = all[i].size;
		uint64_t way = (uint64_t)s->ways * (all[i].entries ? 1 : m->line);

		if (s->size && (!way || s->size % way || s->size / way > 1u << 28))
			return bad(err, "no whole number of sets", all[i].name);
		if (!all[i].entries && s->ways > CACHE_PLRU_WAYS && m->policy == CACHE_PLRU)
			return bad(err, "too many ways for plru", all[i].name);
	}
	return 0;
}

int machine_parse(struct machine *m, const char *text, struct err *err)
{
	const char *p = text;

	while (*p) {
		size_t n = strcspn(p, "=,");

		if (p[n] != '=')
			return bad(err, "no NAME=SIZE", p);
		if (parse_item(m, p, n, p + n + 1, &p, err))
			return -1;
		if (*p && *p != ',')
			return bad(err, "no comma", p);
		p += *p == ',';
		p += strspn(p, " ");
	}
	return check(m, err);
}

static void put_size(char **at, size_t *room, const char *name, uint64_t v)
{
	unsigned shift = v && !(v & ((1u << 20) - 1)) ? 20 : v && !(v & 1023) ? 10 : 0;
	int n = snprintf(*at, *room, "%s=%llu%s", name, (unsigned long long)(v >> shift),
			 shift == 20 ? "M"
			 : shift     ? "K"
				     : "");

	*at += n;
	*room -= (size_t)n;
}

char *machine_text(const struct machine *m, char *buf, size_t room)
{
	struct machine copy = *m;
	struct named all[NAMED];
	char *at = buf;

	name_all(&copy, all);
	for (unsigned i = 0; i < NAMED; i++) {
		int n;

		put_size(&at, &room, all[i].name, all[i].size->size);
		n = all[i].size->size ? snprintf(at, room, "/%u,", all[i].size->ways)
				      : snprintf(at, room, ",");
		at += n;
		room -= (size_t)n;
	}
	put_size(&at, &room, "line", m->line);
	put_size(&at, &room, ",page", m->page);
	snprintf(at, room, ",policy=%s,predictor=%s", policies[m->policy],
		 predictors[m->predictor]);
	return buf;
}

char *machine_text_core(const struct machine *m, char *buf, size_t room)
{
	struct machine copy = *m;
	struct numbered all[NUMBERED];
	size_t at = strlen(machine_text(m, buf, room));

	number_all(&copy, all);
	for (unsigned i = 0; i < NUMBERED && at < room; i++)
		at += (size_t)snprintf(buf + at, room - at, ",%s=%u", all[i].name, *all[i].value);
	return buf;
}
