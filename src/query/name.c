/* SPDX-License-Identifier: MIT */
#include "query/name.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/text.h"
#include "query/view.h"

#define MARKED_LEAST 20 /* columns in which a name is told apart beside a mark */
#define ATTEMPTS 1000	/* attempts to make names distinct; after that two may look alike */

struct name_shown {
	char *text, *name;
	UT_hash_handle hh;
};

/* Returns the length of an operator's name at s ("<", "<<", "<=", "->" and the like), or 0. */
static size_t operator_at(const char *s, const char *begin)
{
	static const char word[] = "operator";
	size_t n = sizeof(word) - 1;

	if ((size_t)(s - begin) < n || strncmp(s - n, word, n) != 0)
		return 0;
	return strspn(s, "<>=-");
}

/* Replaces outermost template arguments and their brackets by `mark`. */
static void elide_templates(const char *name, const char *mark, char *buf, size_t n)
{
	size_t used = 0;
	int depth = 0;

	for (const char *s = name; *s && used + 5 < n; s++) {
		size_t op = operator_at(s, name);

		if (op && used + op < n) {
			if (!depth) {
				memcpy(buf + used, s, op);
				used += op;
			}
			s += op - 1;
			continue;
		}
		if (*s == '<' && depth++ == 0) {
			/* Rust writes path::<argument> */
			if (!*mark && used > 2 && !memcmp(buf + used - 2, "::", 2))
				used -= 2;
			used += (size_t)snprintf(buf + used, n - used, "%s", mark);
		} else if (!depth)
			buf[used++] = *s;
		/* the arrow of a type, as in "fn() -> u8", is no closing bracket */
		else if (*s == '>' && s[-1] != '-')
			depth--;
	}
	buf[used] = 0;
}

/* Keeps the first `head` columns, then "..", and as much of the end as there is room for. */
static void cut(const char *name, int width, int head, char *buf, size_t n)
{
	int tail = width - 2 - head, columns = text_columns(name);

	if (columns <= width)
		snprintf(buf, n, "%s", name);
	else if (width <= 2)
		snprintf(buf, n, "%.*s", width > 0 ? width : 0, "..");
	else
		snprintf(buf, n, "%.*s..%s", (int)(text_at_column(name, head) - name), name,
			 text_at_column(name, columns - tail));
}

static char *fit_plain(const char *name, int width, unsigned attempt, char *buf, size_t n)
{
	char elided[1024], number[16] = "";
	int room = width > 2 ? width - 2 : 0;

	elide_templates(name, "<..>", elided, sizeof(elided));
	if (text_columns(elided) > width)
		view_cut_parameters(elided);
	if (text_columns(elided) > width) {
		elide_templates(name, "", elided, sizeof(elided));
		view_cut_parameters(elided);
	}
	switch (attempt) {
	case 0:
		cut(text_columns(name) > width ? elided : name, width, room / 3, buf, n);
		break;
	case 1:
		cut(name, width, room / 3, buf, n);
		break;
	case 2:
		cut(name, width, room, buf, n);
		break;
	case 3:
		cut(name, width, 0, buf, n);
		break;
	default:
		snprintf(number, sizeof(number), "#%u", attempt - 2);
		room = width - (int)strlen(number);
		cut(elided, room, room > 2 ? (room - 2) / 3 : 0, buf, n);
		snprintf(buf + strlen(buf), n - strlen(buf), "%s", number);
	}
	return buf;
}

/* What is said of a procedure behind its name stays. */
char *name_fit(const char *name, int width, unsigned attempt, char *buf, size_t n)
{
	size_t length = strlen(name), mark = sizeof(NAME_INLINED) - 1;
	char plain[1024];

	if (length < mark || strcmp(name + length - mark, NAME_INLINED) != 0 ||
	    width < MARKED_LEAST || length - mark >= sizeof(plain))
		return fit_plain(name, width, attempt, buf, n);
	memcpy(plain, name, length - mark);
	plain[length - mark] = 0;
	fit_plain(plain, width - (int)mark, attempt, buf, n - mark);
	strcat(buf, NAME_INLINED);
	return buf;
}

static void remember(struct names *t, const char *text, const char *name)
{
	struct name_shown *s = malloc(sizeof(*s) + strlen(text) + strlen(name) + 2);

	if (!s)
		return;
	s->text = (char *)(s + 1);
	s->name = s->text + strlen(text) + 1;
	memcpy(s->text, text, strlen(text) + 1);
	memcpy(s->name, name, strlen(name) + 1);
	HASH_ADD_KEYPTR(hh, t->shown, s->text, strlen(s->text), s);
	if (!s->hh.tbl)
		free(s);
}

char *names_fit(struct names *t, const char *name, int width, char *buf, size_t n)
{
	struct name_shown *s;

	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		name_fit(name, width, attempt, buf, n);
		HASH_FIND(hh, t->shown, buf, strlen(buf), s);
		if (!s)
			remember(t, buf, name);
		if (!s || !strcmp(s->name, name))
			break;
	}
	return buf;
}

void names_forget(struct names *t)
{
	struct name_shown *s, *tmp;

	HASH_ITER (hh, t->shown, s, tmp) {
		HASH_DEL(t->shown, s);
		free(s);
	}
}
