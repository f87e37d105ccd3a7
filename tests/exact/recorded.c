/* SPDX-License-Identifier: MIT */
/*
 * What a recording holds of counts, as tests/exact/count writes them: a line "COUNT OBJECT ADDRESS TAKEN" for
 * each instruction.
 * Usage: recorded [-r] RECORDING
 *   -r   leaves out repeated string instructions, of which others count each round
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "x86/insn.h"
#include "observe/profile.h"
#include "store/recording.h"

static const char *object_of(const struct profile *p, const struct site *s)
{
	const struct profile_image *i = p->image[s->id.image];

	return i->kind == IMAGE_FILE ? i->path : i->kind == IMAGE_VDSO ? "[vdso]" : "-";
}

static const struct profile *sorting;

static int by_place(const void *x, const void *y)
{
	const struct site *a = *(const struct site *const *)x, *b = *(const struct site *const *)y;
	int c = strcmp(object_of(sorting, a), object_of(sorting, b));

	return c ? c : (a->id.addr > b->id.addr) - (a->id.addr < b->id.addr);
}

static bool is_repeated(const struct profile *p, const struct site *s)
{
	static struct image *image;
	static uint32_t of;
	const struct profile_image *i = p->image[s->id.image];
	const uint8_t *code;
	struct insn in;
	struct err ignored;
	size_t n;

	if (i->kind != IMAGE_FILE)
		return false;
	if (!image || of != s->id.image) {
		image_close(image);
		image = image_open(i->path, i->path, &ignored);
		of = s->id.image;
	}
	code = image ? image_code(image, s->id.addr, &n) : NULL;
	return code && insn_decode(&in, code, n, s->id.addr) &&
	       in.z.attributes &
		       (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
}

int main(int argc, char **argv)
{
	bool leave_out = argc == 3 && !strcmp(argv[1], "-r");
	struct profile p;
	struct err err;
	struct site **list;

	if (argc != 2 + leave_out) {
		fprintf(stderr, "usage: recorded [-r] RECORDING\n");
		return 2;
	}
	if (profile_init(&p, &err) || recording_read(argv[argc - 1], &p, &err)) {
		fprintf(stderr, "recorded: %s\n", err.msg);
		return 1;
	}
	sorting = &p;
	list = sites_sorted(&p.sites);
	if (!list)
		abort();
	qsort(list, p.sites.n, sizeof(*list), by_place);
	for (size_t i = 0; i < p.sites.n; i++) {
		const struct site *s = list[i];

		if (!s->observed || (leave_out && is_repeated(&p, s)))
			continue;
		printf("%" PRIu64 " %s %#" PRIx64 " ", s->observed, object_of(&p, s), s->id.addr);
		if (s->cls == INSN_BRANCH)
			printf("%" PRIu64 "\n", s->taken);
		else
			printf("-\n");
	}
	free(list);
	profile_fini(&p);
	return 0;
}
