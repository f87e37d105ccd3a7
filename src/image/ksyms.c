/* SPDX-License-Identifier: MIT */
#include "image/ksyms.h"

#include <stdlib.h>
#include <string.h>

#include "image/ksyms_priv.h"
#include "image/text_file.h"

#define PAGE 4096ull

struct ksym {
	uint64_t start, end;
	const char *name, *module; /* in the text */
	char type;
};

struct ksyms {
	char *text;
	struct ksym *v; /* by start; only code, once all is read */
	size_t n, cap;
};

static bool is_text(char type)
{
	return strchr("tTwW", type) && type;
}

/* One line, "address type name[\t[module]]", is cut in its place. */
static bool parse_line(struct ksym *sym, char *line)
{
	char *end, *name, *module;

	sym->start = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	sym->type = end[1];
	name = end + 3;
	module = name + strcspn(name, " \t");
	sym->name = name;
	sym->module = "";
	if (*module) {
		*module++ = 0;
		module += strspn(module, " \t[");
		module[strcspn(module, "]")] = 0;
		sym->module = module;
	}
	return *name;
}

static bool add(struct ksyms *k, const struct ksym *sym)
{
	if (k->n == k->cap) {
		size_t cap = k->cap ? k->cap * 2 : 1 << 16;
		struct ksym *v = realloc(k->v, cap * sizeof(*v));

		if (!v)
			return false;
		k->v = v;
		k->cap = cap;
	}
	k->v[k->n++] = *sym;
	return true;
}

static int read_lines(struct ksyms *k, char *p, struct err *err)
{
	while (*p) {
		char *next = p + strcspn(p, "\n");
		struct ksym sym;

		if (*next)
			*next++ = 0;
		if (!parse_line(&sym, p))
			return err_set(err, ERR_FAILED, "not a line of kernel symbols: \"%.80s\"",
				       p);
		if (sym.start && !add(k, &sym))
			return err_sys(err, "cannot read kernel symbols");
		p = next;
	}
	if (k->n)
		return 0;
	err_set(err, ERR_FAILED, "the addresses of kernel symbols are hidden");
	return err_hint(err, "run as root, or: sudo sysctl kernel.kptr_restrict=0 "
			     "kernel.perf_event_paranoid=1");
}

/* Of one address: code first, global first, then the name with the fewest leading underscores. */
static int by_start(const void *va, const void *vb)
{
	const struct ksym *a = va, *b = vb;
	bool text_a = is_text(a->type), text_b = is_text(b->type);

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (text_a != text_b)
		return text_a ? -1 : 1;
	if ((a->type == 'T') != (b->type == 'T'))
		return a->type == 'T' ? -1 : 1;
	if (strspn(a->name, "_") != strspn(b->name, "_"))
		return strspn(a->name, "_") < strspn(b->name, "_") ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* The next symbol's start, of whatever kind; the last of a module or of all ends with its page. */
static uint64_t end_of(const struct ksyms *k, size_t i)
{
	const struct ksym *sym = &k->v[i];
	uint64_t page = (sym->start | (PAGE - 1)) + 1;
	uint64_t next = i + 1 < k->n ? k->v[i + 1].start : UINT64_MAX;
	bool last = i + 1 == k->n || strcmp(sym->module, k->v[i + 1].module) != 0;

	return last && page && page < next ? page : next;
}

static void keep_text(struct ksyms *k)
{
	size_t n = 0;

	if (!k->v)
		return;
	qsort(k->v, k->n, sizeof(*k->v), by_start);
	for (size_t i = 0; i < k->n; i++)
		if (!n || k->v[n - 1].start != k->v[i].start)
			k->v[n++] = k->v[i];
	k->n = n;
	for (size_t i = n = 0; i < k->n; i++) {
		k->v[i].end = end_of(k, i);
		if (is_text(k->v[i].type))
			k->v[n++] = k->v[i];
	}
	k->n = n;
}

struct ksyms *ksyms_parse(char *text, size_t n, struct err *err)
{
	struct ksyms *k = calloc(1, sizeof(*k));

	if (!k) {
		err_sys(err, "cannot read kernel symbols");
		free(text);
		return NULL;
	}
	k->text = text;
	if (memchr(text, 0, n))
		err_set(err, ERR_FAILED, "kernel symbols with a zero byte among them");
	else if (!read_lines(k, text, err)) {
		keep_text(k);
		return k;
	}
	ksyms_close(k);
	return NULL;
}

struct ksyms *ksyms_open(struct err *err)
{
	size_t n;
	char *text = text_file_read("/proc/kallsyms", &n);

	if (text)
		return ksyms_parse(text, n, err);
	err_sys(err, "cannot read /proc/kallsyms");
	return NULL;
}

void ksyms_close(struct ksyms *k)
{
	if (!k)
		return;
	free(k->v);
	free(k->text);
	free(k);
}

bool ksyms_at(const struct ksyms *k, uint64_t addr, const char **name, const char **module,
	      uint64_t *start, uint64_t *end)
{
	size_t lo = 0, hi = k->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= k->v[lo - 1].end)
		return false;
	*name = k->v[lo - 1].name;
	*module = k->v[lo - 1].module;
	*start = k->v[lo - 1].start;
	*end = k->v[lo - 1].end;
	return true;
}
