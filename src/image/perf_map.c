/* SPDX-License-Identifier: MIT */
#include "image/perf_map.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"

#define BYTES_MAX ((size_t)256 << 20)
/* earlier entries that may still hold the address: replaced code mostly lies in the same place */
#define BACK 64

static int by_start(const void *a, const void *b)
{
	const struct perf_map_entry *p = a, *q = b;

	if (p->start != q->start)
		return p->start < q->start ? -1 : 1;
	return p->line > q->line ? -1 : 1;
}

/* Parses a number and the space after it. */
static bool hex(char **at, uint64_t *v)
{
	char *end;

	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*v = strtoull(*at, &end, 16);
	if (errno || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool entry_of(char *line, struct perf_map_entry *e)
{
	uint64_t size;

	if (!hex(&line, &e->start) || !hex(&line, &size) || !size || !*line ||
	    e->start + size < e->start)
		return false;
	e->end = e->start + size;
	e->name = line;
	return true;
}

int perf_map_parse(struct perf_map *m, char *text, size_t bytes)
{
	size_t room = 0, lines = 0;
	char *next;

	*m = (struct perf_map){ .text = text };
	for (char *line = text; line < text + bytes; line = next) {
		struct perf_map_entry e = { .line = lines++ };

		next = memchr(line, '\n', (size_t)(text + bytes - line));
		if (!next)
			break; /* an incomplete last line is being written */
		*next++ = 0;
		if (!entry_of(line, &e))
			continue;
		if (!array_reserve(m->entry, room, m->n + 1)) {
			perf_map_fini(m);
			return -1;
		}
		m->entry[m->n++] = e;
	}
	if (m->n)
		qsort(m->entry, m->n, sizeof(*m->entry), by_start);
	return 0;
}

static int read_all(struct perf_map *m, int fd, size_t bytes)
{
	char *text = malloc(bytes + 1);
	size_t n = 0;
	ssize_t got = 1;

	while (text && n < bytes && got > 0) {
		got = pread(fd, text + n, bytes - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (!text)
		return -1;
	text[n] = 0;
	return perf_map_parse(m, text, n);
}

int perf_map_read(struct perf_map *m, const struct broker *b, pid_t pid, pid_t inner)
{
	int fd = broker_open_perf_map(b, pid, inner), rc = -1;
	struct stat st;
	char path[64];

	*m = (struct perf_map){ 0 };
	if (fd < 0 && pid == inner) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && (fstat(fd, &st) || (st.st_uid && st.st_uid != geteuid()))) {
			close(fd);
			fd = -1;
		}
	}
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= BYTES_MAX)
		rc = read_all(m, fd, (size_t)st.st_size);
	close(fd);
	return rc;
}

const struct perf_map_entry *perf_map_find(const struct perf_map *m, uint64_t addr)
{
	const struct perf_map_entry *found = NULL;
	size_t low = search_first(i, 0, m->n, m->entry[i].start > addr);

	for (size_t back = 0; low-- > 0 && back < BACK; back++)
		if (addr < m->entry[low].end && (!found || m->entry[low].line > found->line))
			found = &m->entry[low];
	return found;
}

void perf_map_fini(struct perf_map *m)
{
	free(m->entry);
	free(m->text);
	*m = (struct perf_map){ 0 };
}
