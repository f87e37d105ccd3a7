/* SPDX-License-Identifier: MIT */
#include "image/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static char *read_all(int fd, size_t *used)
{
	size_t cap = 1 << 16;
	char *text = malloc(cap);
	ssize_t got = 0;

	for (*used = 0; text; *used += (size_t)got) {
		if (cap - *used < 4096) {
			char *more = realloc(text, cap *= 2);

			if (!more)
				break;
			text = more;
		}
		got = read(fd, text + *used, cap - *used - 1);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			break;
	}
	if (text && !got) {
		text[*used] = 0;
		return text;
	}
	free(text);
	return NULL;
}

char *text_file_read(const char *path, size_t *n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), saved;
	size_t used;
	char *text;

	if (fd < 0)
		return NULL;
	text = read_all(fd, n ? n : &used);
	saved = errno;
	close(fd);
	errno = saved;
	return text;
}
