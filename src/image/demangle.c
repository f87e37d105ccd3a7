/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "image/image.h"

/*
 * A mangled name of a hundred bytes can stand for gigabytes of text. The demanglers have no way to
 * be stopped, so the one that fills the buffer jumps out with longjmp; they keep their state on the
 * stack (except for Rust's Unicode identifiers, whose buffer is then lost).
 */
struct sink {
	char *buf;
	size_t n, used;
	jmp_buf full;
};

static void put(const char *text, size_t n, void *ctx)
{
	struct sink *s = ctx;
	size_t room = s->n - 1 - s->used;

	memcpy(s->buf + s->used, text, n < room ? n : room);
	s->used += n < room ? n : room;
	if (n > room)
		longjmp(s->full, 1);
}

static bool demangle(const char *name, struct sink *s)
{
	if (setjmp(s->full))
		return true;
	if (rust_demangle_callback(name, DMGL_PARAMS, put, s))
		return true;
	s->used = 0;
	return cplus_demangle_v3_callback(name, DMGL_ANSI | DMGL_PARAMS, put, s);
}

char *image_demangle(const char *name, char *buf, size_t n)
{
	struct sink s = { .buf = buf, .n = n };
	char head[1024];
	size_t len = strlen(name), suffix = sizeof(IMAGE_PLT) - 1;
	bool stub = len > suffix && len - suffix < sizeof(head) &&
		    !strcmp(name + len - suffix, IMAGE_PLT);

	if (!n)
		return buf;
	if (stub)
		snprintf(head, sizeof(head), "%.*s", (int)(len - suffix), name);
	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R') &&
	    demangle(stub ? head : name, &s) && s.used)
		snprintf(buf + s.used, n - s.used, "%s", stub ? IMAGE_PLT : "");
	else
		snprintf(buf, n, "%s", name);
	return buf;
}
