/* SPDX-License-Identifier: MIT */
#include "report/analysis.h"

#include <stdlib.h>
#include <string.h>

#include "culprit/culprit.h"
#include "estimate/memo.h"
#include "store/derived.h"

#define KIND_SCHEDULES "schedules"

static struct image *image_of(void *ctx, uint32_t image)
{
	return binaries_get(ctx, image);
}

/* Reads the memo of schedules. The file's key is irrelevant, because schedules are found by
 * their code. */
static struct schedule_memo *read_memo(const struct reading *r)
{
	struct schedule_memo *m = schedule_memo_new();
	struct buffer b;

	if (m && derived_read(r->content, KIND_SCHEDULES, "4", &b)) {
		schedule_memo_read(m, b.p, b.n);
		free(b.p);
	}
	return m;
}

static void keep_memo(const struct reading *r, const struct schedule_memo *m)
{
	struct buffer b = { 0 };

	if (m && schedule_memo_changed(m) && schedule_memo_write(m, &b))
		derived_write(r->content, KIND_SCHEDULES, "4", &b);
	free(b.p);
}

const char *analysis_cpu(const struct reading *r)
{
	return r->profile.nrun ? r->profile.run[0].cpu : NULL;
}

int analysis_open(struct analysis *a, struct reading *r, bool warn, struct err *err)
{
	memset(a, 0, sizeof(*a));
	if (binaries_init(&a->quiet, &r->profile, NULL, err))
		return -1;
	a->r = r;
	a->method = r->method;
	a->files = warn ? &r->binaries : &a->quiet;
	a->source = (struct estimate_source){
		.profile = &r->profile,
		.image = image_of,
		.ctx = a->files,
		.schedule = { .cpu = analysis_cpu(r), .memo = read_memo(r) },
		.count = counts_at,
		.missed =
			r->counts && r->counts->exact->profile.misses.chunks ? counts_misses : NULL,
		.count_ctx = r->counts,
	};
	return 0;
}

void analysis_close(struct analysis *a)
{
	keep_memo(a->r, a->source.schedule.memo);
	schedule_memo_free(a->source.schedule.memo);
	binaries_fini(&a->quiet);
}

int analysis_estimate(const struct analysis *a, struct estimate *e, struct err *err)
{
	struct culprits *c;

	if (estimate_make(e, &a->source, a->method, err))
		return -1;
	if (a->method == ESTIMATE_COUNTED)
		return 0; /* the scale has been applied */
	c = culprits_open(e, &a->source, err);
	if (!c) {
		estimate_fini(e);
		return -1;
	}
	culprits_close(c);
	return 0;
}
