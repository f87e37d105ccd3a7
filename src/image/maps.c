/* SPDX-License-Identifier: MIT */
#include "image/maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "image/text_file.h"

#define DELETED " (deleted)"

/* Parses a hex number in lower or upper case that `stop` follows. */
static bool hex(const char **p, char stop, uint64_t *v)
{
	unsigned digits = 0;

	for (*v = 0; digits <= 16; digits++, ++*p) {
		char c = **p;
		int d = c >= '0' && c <= '9'   ? c - '0'
			: c >= 'a' && c <= 'f' ? c - 'a' + 10
			: c >= 'A' && c <= 'F' ? c - 'A' + 10
					       : -1;

		if (d < 0)
			break;
		*v = *v << 4 | (uint64_t)d;
	}
	if (!digits || digits > 16 || **p != stop)
		return false;
	++*p;
	return true;
}

static bool decimal(const char **p, uint64_t *v)
{
	const char *start = *p;

	for (*v = 0; **p >= '0' && **p <= '9'; ++*p)
		if (__builtin_mul_overflow(*v, 10, v) ||
		    __builtin_add_overflow(*v, (uint64_t)(**p - '0'), v))
			return false;
	return *p != start;
}

static bool flags(const char **p, struct map *m)
{
	const char *f = *p;

	if (strnlen(f, 5) < 5 || f[4] != ' ' || !strchr("r-", f[0]) || !strchr("w-", f[1]) ||
	    !strchr("x-", f[2]) || !strchr("sp", f[3]))
		return false;
	m->read = f[0] == 'r';
	m->write = f[1] == 'w';
	m->exec = f[2] == 'x';
	m->shared = f[3] == 's';
	*p += 5;
	return true;
}

/* Replaces \012, the kernel's only escape in a path, by a newline. */
static char *unescape(const char *text, size_t n)
{
	char *name = malloc(n + 1), *to = name;

	for (size_t i = 0; name && i < n; i++) {
		bool newline = n - i >= 4 && !memcmp(text + i, "\\012", 4);

		*to++ = newline ? '\n' : text[i];
		i += newline ? 3 : 0;
	}
	if (name)
		*to = 0;
	return name;
}

static bool parse_name(struct map *m, const char *p, size_t n)
{
	const size_t tail = sizeof(DELETED) - 1;

	while (n && *p == ' ') {
		p++;
		n--;
	}
	m->deleted = n > tail && !memcmp(p + n - tail, DELETED, tail);
	m->name = unescape(p, m->deleted ? n - tail : n);
	return m->name;
}

static int parse_line(struct map *m, const char *p, size_t n, struct err *err)
{
	const char *line = p, *end = p + n;
	uint64_t major, minor;

	*m = (struct map){ 0 };
	if (!hex(&p, '-', &m->start) || !hex(&p, ' ', &m->end) || m->start >= m->end ||
	    !flags(&p, m) || !hex(&p, ' ', &m->offset) || !hex(&p, ':', &major) ||
	    !hex(&p, ' ', &minor) || major > UINT32_MAX || minor > UINT32_MAX ||
	    !decimal(&p, &m->inode) || (p != end && *p != ' '))
		return err_set(err, ERR_FAILED, "not a line of a memory map: \"%.*s\"",
			       n > 80 ? 80 : (int)n, line);
	m->dev_major = (uint32_t)major;
	m->dev_minor = (uint32_t)minor;
	if (!parse_name(m, p, (size_t)(end - p)))
		return err_sys(err, "cannot read a memory map");
	return 0;
}

static struct map *add(struct maps *m, size_t *cap, struct err *err)
{
	if (!array_reserve(m->map, *cap, m->n + 1)) {
		err_sys(err, "cannot read a memory map");
		return NULL;
	}
	return &m->map[m->n];
}

static int by_start(const void *va, const void *vb)
{
	const struct map *a = va, *b = vb;

	return (a->start > b->start) - (a->start < b->start);
}

int maps_parse(struct maps *m, const char *text, struct err *err)
{
	size_t cap = 0;

	*m = (struct maps){ 0 };
	while (*text) {
		size_t n = strcspn(text, "\n");
		struct map *map = add(m, &cap, err);

		if (!map || parse_line(map, text, n, err)) {
			maps_fini(m);
			return -1;
		}
		m->n++;
		text += n + (text[n] == '\n');
	}
	/* The mappings are sorted unless the process changed them between two reads. */
	if (m->n)
		qsort(m->map, m->n, sizeof(*m->map), by_start);
	return 0;
}

int maps_read(struct maps *m, const struct broker *b, pid_t pid, struct err *err)
{
	char *text = text_file_take(broker_open_maps(b, pid));
	int ret;

	*m = (struct maps){ 0 };
	if (!text && (errno == ENOENT || errno == ESRCH))
		return err_set(err, ERR_FAILED, "no process %d", (int)pid);
	if (!text) {
		bool denied = errno == EACCES || errno == EPERM;

		err_sys(err, "cannot read the memory map of process %d", (int)pid);
		return denied ? err_hint(err, "run as root, or as the user who owns the process")
			      : -1;
	}
	ret = maps_parse(m, text, err);
	free(text);
	return ret;
}

void maps_fini(struct maps *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->map[i].name);
	free(m->map);
	*m = (struct maps){ 0 };
}

const struct map *maps_find(const struct maps *m, uint64_t addr)
{
	size_t lo = search_first(i, 0, m->n, m->map[i].start > addr);

	return lo && addr < m->map[lo - 1].end ? &m->map[lo - 1] : NULL;
}
