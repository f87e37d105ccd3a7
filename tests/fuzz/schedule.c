/* SPDX-License-Identifier: MIT */
/* Any text as a schedule, and as a file of settings: what is accepted keeps its promises. */
#include <stdlib.h>
#include <string.h>

#include "stream/schedule.h"

#define MUST(x) \
	do { \
		if (!(x)) \
			abort(); \
	} while (0)

static void check(struct schedule *s)
{
	struct err err;

	if (schedule_settle(s, &err) || s->kind != SCHEDULE_TARGETED)
		return;
	MUST(s->n && s->size && s->end <= (uint64_t)SCHEDULE_MOST);
	for (size_t i = 0; i < s->n; i++) {
		uint64_t end = s->sample[i].start + s->size;

		MUST(s->sample[i].weight > 0 && end <= s->end);
		MUST(i + 1 == s->n || end <= s->sample[i + 1].start);
	}
	MUST(schedule_matches(s, s->end) &&
	     !schedule_matches(s, s->end + schedule_fuzz(s->end) + 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schedule s = { 0 }, of_lines = { 0 };
	char *text = malloc(size + 1);
	struct err err;

	MUST(text);
	memcpy(text, data, size);
	text[size] = 0;
	if (!schedule_parse(&s, text, &err))
		check(&s);
	if (!schedule_parse_lines(&of_lines, text, size, "file", &err))
		check(&of_lines);
	schedule_fini(&s);
	schedule_fini(&of_lines);
	free(text);
	return 0;
}
