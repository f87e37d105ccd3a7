/* SPDX-License-Identifier: MIT */
#include "image/text_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static char *read_all(int fd)
{
	size_t cap = 1 << 16, used = 0;
	char *text = malloc(cap);
	ssize_t got = 0;

	for (; text; used += (size_t)got) {
		if (cap - used < 4096) {
			char *more = realloc(text, cap *= 2);

			if (!more)
				break;
			text = more;
		}
		got = read(fd, text + used, cap - used - 1);
		if (got < 0 && errno == EINTR)
			got = 0;
		else if (got <= 0)
			break;
	}
	if (text && !got) {
		text[used] = 0;
		return text;
	}
	free(text);
	return NULL;
}

char *text_file_take(int fd)
{
	char *text;
	int saved;

	if (fd < 0)
		return NULL;
	text = read_all(fd);
	saved = errno;
	close(fd);
	errno = saved;
	return text;
}
