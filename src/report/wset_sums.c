/* SPDX-License-Identifier: MIT */
#include "report/wset_sums.h"

#include <stdlib.h>
#include <string.h>

static void count_regions(const struct wset *w, const struct wset_lines *l, uint64_t *sum)
{
	memset(sum, 0, w->nregion * sizeof(*sum));
	for (size_t i = 0; i < l->n; i++)
		sum[l->chunk[i].region] += wset_chunk_count(&l->chunk[i]);
}

static int count_shared(const struct wset_lines *thread, uint64_t *n, struct err *err)
{
	struct wset_lines shared = { 0 };
	int rc = wset_shared(thread, &shared) ? err_no_memory(err, "the working set") : 0;

	*n = wset_count(&shared);
	wset_lines_fini(&shared);
	return rc;
}

/* Computes the shared lines of each region, over all intervals. */
static int share_regions(struct wset_sums *s, const struct wset_lines *ever,
			 const struct wset_lines *thread, struct err *err)
{
	struct wset_lines shared = { 0 }, one, rest;
	size_t at = 0;

	if (wset_shared(thread, &shared)) {
		wset_lines_fini(&shared);
		return err_no_memory(err, "the working set");
	}
	for (size_t i = 0; i < ever->n; i++) {
		while (at < shared.n && shared.chunk[at].at < ever->chunk[i].at)
			at++;
		if (at == shared.n)
			break;
		one = (struct wset_lines){ &ever->chunk[i], 1, 1 };
		rest = (struct wset_lines){ &shared.chunk[at], shared.n - at, shared.n - at };
		s->region[ever->chunk[i].region].shared += wset_common(&one, &rest);
	}
	s->shared = wset_count(&shared);
	wset_lines_fini(&shared);
	return 0;
}

static int follow(struct wset_sums *s, const struct wset *w, struct err *err)
{
	struct wset_lines before = { 0 };
	struct wset_sets ever = { 0 };
	uint64_t *sum = calloc(w->nregion + 1, sizeof(*sum));
	int rc = 0;

	if (!sum)
		return err_no_memory(err, "the working set");
	for (size_t i = 0; i < w->nsnapshot && !rc; i++) {
		struct wset_sets sets;

		rc = wset_unpack(w, &w->snapshot[i], &sets, err);
		if (rc)
			break;
		s->interval[i].reused = wset_common(&sets.data, &before);
		s->interval[i].gone = wset_count(&before) - s->interval[i].reused;
		rc = count_shared(&sets.thread, &s->interval[i].shared, err);
		count_regions(w, &sets.data, sum);
		for (size_t k = 0; k < w->nregion; k++) {
			s->interval[i].kind[w->region[k].kind] += sum[k];
			if (sum[k] > s->region[k].most)
				s->region[k].most = sum[k];
		}
		if (!rc && wset_sets_or(&ever, &sets))
			rc = err_no_memory(err, "the working set");
		wset_lines_fini(&before);
		before = sets.data;
		sets.data = (struct wset_lines){ 0 };
		wset_sets_fini(&sets);
	}
	if (!rc) {
		count_regions(w, &ever.data, sum);
		for (size_t k = 0; k < w->nregion; k++) {
			s->region[k].lines = sum[k];
			s->region[k].region = (uint32_t)k;
			s->total += sum[k];
		}
		s->code_total = wset_count(&ever.code);
		rc = share_regions(s, &ever.data, &ever.thread, err);
	}
	wset_lines_fini(&before);
	wset_sets_fini(&ever);
	free(sum);
	return rc;
}

int wset_sums(struct wset_sums *s, const struct wset *w, struct err *err)
{
	*s = (struct wset_sums){ .interval = calloc(w->nsnapshot + 1, sizeof(*s->interval)),
				 .region = calloc(w->nregion + 1, sizeof(*s->region)) };
	if (!s->interval || !s->region)
		return err_no_memory(err, "the working set");
	return follow(s, w, err);
}

void wset_sums_fini(struct wset_sums *s)
{
	free(s->interval);
	free(s->region);
}
