/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <string.h>

/* Returns how many bytes follow the first byte of a character; -1: `first` begins none. */
static int more_bytes(unsigned char first)
{
	if (first < 0x80)
		return 0;
	if (first < 0xc2 || first > 0xf4)
		return -1;
	return first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
}

uint32_t text_next(const char **s)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)*s;
	int more = more_bytes(p[0]);
	uint32_t c = p[0];

	++*s;
	if (more <= 0)
		return more ? TEXT_INVALID : c;
	c &= 0x3fU >> more;
	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return TEXT_INVALID;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return TEXT_INVALID;
	*s += more;
	return c;
}

const char *text_last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool text_shows(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0x7f, 0x9f },
		{ 0x61c, 0x61c },
		{ 0x200e, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2066, 0x2069 },
		{ 0xfffe, 0xffff },
		{ 0x110000, TEXT_INVALID },
	};

	if (c < 0x7f)
		return c >= ' ';
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	return true;
}

size_t text_span(const char *s)
{
	const char *at = s, *next = s;

	while (*at && text_shows(text_next(&next)))
		at = next;
	return (size_t)(at - s);
}

char *text_clean(char *s)
{
	char *to = s + text_span(s);
	const char *from = to;

	while (*from) {
		const char *at = from;
		bool shown = text_shows(text_next(&from));
		size_t n = shown ? (size_t)(from - at) : 1;

		memmove(to, shown ? at : "?", n);
		to += n;
	}
	*to = 0;
	return s;
}

char *text_copy(const char *s, char *buf, size_t n)
{
	snprintf(buf, n, "%s", s);
	return text_clean(buf);
}

void text_put(const char *s, FILE *f)
{
	while (*s) {
		size_t n = text_span(s);

		fwrite(s, 1, n, f);
		s += n;
		if (!*s)
			break;
		text_next(&s);
		fputc('?', f);
	}
}

int text_columns(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

const char *text_at_column(const char *s, int at)
{
	for (; *s; s++)
		if ((*s & 0xc0) != 0x80 && at-- == 0)
			break;
	return s;
}
