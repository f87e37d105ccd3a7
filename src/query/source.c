/* SPDX-License-Identifier: MIT */
#include "query/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define SOURCE_MAX (32u << 20)

void source_init(struct source *s)
{
	memset(s, 0, sizeof(*s));
}

void source_fini(struct source *s)
{
	free(s->path);
	free(s->text);
	free(s->line);
	source_init(s);
}

static char *read_all(const char *path, size_t *n)
{
	struct stat st;
	struct err ignored;
	int fd = file_open(path, &st, &ignored);
	char *text = NULL;
	ssize_t got = 1;

	*n = 0;
	if (fd < 0)
		return NULL;
	if (st.st_size < SOURCE_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && got > 0 && *n < (size_t)st.st_size) {
		got = read(fd, text + *n, (size_t)st.st_size - *n);
		*n += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	return text;
}

static void index_lines(struct source *s)
{
	size_t n = 1;

	for (size_t i = 0; i < s->n; i++)
		n += s->text[i] == '\n';
	s->line = malloc(n * sizeof(*s->line));
	if (!s->line)
		return;
	s->line[s->nline++] = 0;
	for (size_t i = 0; i < s->n; i++)
		if (s->text[i] == '\n')
			s->line[s->nline++] = i + 1;
}

/* Loads a file and drops the previous one, because the instructions of a procedure mostly belong
 * to one. */
static void hold(struct source *s, const char *path)
{
	if (s->path && !strcmp(s->path, path))
		return;
	source_fini(s);
	s->path = strdup(path);
	s->text = read_all(path, &s->n);
	if (s->text)
		index_lines(s);
}

char *source_line(struct source *s, const char *path, int line, char *buf, size_t n)
{
	const char *p, *end;
	size_t k = 0;

	hold(s, path);
	if (line > 0 && (size_t)line <= s->nline) {
		p = s->text + s->line[line - 1];
		end = s->text + s->n;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		for (; p < end && *p != '\n' && k + 1 < n; p++)
			buf[k++] = (unsigned char)*p < ' ' ? ' ' : *p;
	}
	buf[k] = 0;
	return buf;
}

bool source_text(struct source *s, const char *path, int line, char *buf, size_t n)
{
	const char *p, *end;
	size_t k = 0;

	hold(s, path);
	if (line <= 0 || (size_t)line > s->nline || s->line[line - 1] >= s->n)
		return false;
	end = s->text + s->n;
	for (p = s->text + s->line[line - 1]; p < end && *p != '\n' && k + 8 < n; p++) {
		size_t stop = *p == '\t' ? k / 8 * 8 + 8 : k + 1;

		while (k < stop)
			buf[k++] = (unsigned char)*p < ' ' ? ' ' : *p;
	}
	buf[k] = 0;
	return true;
}
