/* SPDX-License-Identifier: MIT */
#include "sampler/backlog.h"

#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)
#define FIRST_WORDS 65536

static size_t words_of(size_t bytes)
{
	return (bytes + WORD - 1) / WORD;
}

static bool make_room(struct backlog *b, size_t words)
{
	size_t cap = b->cap ? b->cap : FIRST_WORDS;
	uint64_t *word;

	/* The buffer reuses the space of taken records once moving the others costs less than what was taken. */
	if (b->n + words > b->cap && b->next > b->n / 2) {
		memmove(b->word, b->word + b->next, (b->n - b->next) * WORD);
		b->n -= b->next;
		b->next = 0;
	}
	while (cap < b->n + words)
		cap *= 2;
	if (cap == b->cap)
		return true;
	word = realloc(b->word, cap * WORD);
	if (!word)
		return false;
	b->word = word;
	b->cap = cap;
	return true;
}

bool backlog_put(struct backlog *b, const void *record, size_t bytes)
{
	size_t words = words_of(bytes);

	if (!make_room(b, 1 + words))
		return false;
	b->word[b->n] = bytes;
	memcpy(&b->word[b->n + 1], record, bytes);
	b->n += 1 + words;
	return true;
}

const void *backlog_take(struct backlog *b, size_t *bytes)
{
	const uint64_t *at;

	if (b->next == b->n) {
		b->next = b->n = 0;
		return NULL;
	}
	at = &b->word[b->next];
	*bytes = at[0];
	b->next += 1 + words_of(at[0]);
	return at + 1;
}

size_t backlog_waiting(const struct backlog *b)
{
	return (b->n - b->next) * WORD;
}

void backlog_fini(struct backlog *b)
{
	free(b->word);
	*b = (struct backlog){ 0 };
}
