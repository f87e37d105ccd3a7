/* SPDX-License-Identifier: MIT */
#include "report/wset_map.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static int unpack(const struct wset *w, size_t i, bool code, struct wset_lines *l, struct err *err)
{
	struct wset_sets sets;
	struct wset_lines *wanted = code ? &sets.code : &sets.data;
	int rc = wset_unpack(w, &w->snapshot[i], &sets, err);

	if (rc)
		return rc;
	*l = *wanted;
	*wanted = (struct wset_lines){ 0 };
	wset_sets_fini(&sets);
	return 0;
}

/* Collects all lines that any interval touched. */
static int unite(const struct wset *w, bool code, struct wset_lines *ever, struct err *err)
{
	for (size_t i = 0; i < w->nsnapshot; i++) {
		struct wset_lines l;

		if (unpack(w, i, code, &l, err))
			return -1;
		if (wset_or(ever, &l)) {
			wset_lines_fini(&l);
			return err_no_memory(err, "a map");
		}
		wset_lines_fini(&l);
	}
	return 0;
}

struct gap {
	uint64_t width;
	size_t before; /* the chunk before the gap */
};

/* Sorts by width, widest first. */
static int by_width(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->width != y->width)
		return x->width < y->width ? 1 : -1;
	return (x->before > y->before) - (x->before < y->before);
}

static int by_place(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	return (x->before > y->before) - (x->before < y->before);
}

/* Makes bands between the widest gaps. */
static int cut(struct wset_map *m, const struct wset_lines *ever, unsigned rows, struct err *err)
{
	struct gap *gap = malloc((ever->n + 1) * sizeof(*gap));
	size_t n = 0;

	if (!gap)
		return err_no_memory(err, "a map");
	for (size_t i = 1; i < ever->n; i++)
		if (ever->chunk[i].at > ever->chunk[i - 1].at + 1)
			gap[n++] = (struct gap){ ever->chunk[i].at - ever->chunk[i - 1].at, i };
	qsort(gap, n, sizeof(*gap), by_width);
	if (n > rows - 1)
		n = rows - 1;
	qsort(gap, n, sizeof(*gap), by_place);
	for (size_t i = 0; i <= n; i++) {
		size_t first = i ? gap[i - 1].before : 0, behind = i < n ? gap[i].before : ever->n;

		m->band[m->nband++] = (struct wset_band){ .start = ever->chunk[first].at,
							  .end = ever->chunk[behind - 1].at + 1 };
	}
	free(gap);
	return 0;
}

static void halve(struct wset_map *m, unsigned rows)
{
	while (m->nband < rows) {
		size_t widest = 0;
		struct wset_band *b;

		for (size_t i = 1; i < m->nband; i++)
			if (m->band[i].end - m->band[i].start >
			    m->band[widest].end - m->band[widest].start)
				widest = i;
		b = &m->band[widest];
		if (b->end - b->start < 2)
			return;
		memmove(b + 1, b, (m->nband++ - widest) * sizeof(*b));
		b[0].end = b[1].start = b[0].start + (b[1].end - b[0].start) / 2;
	}
}

/* The band that contains the place, which exists. */
static size_t band_of(const struct wset_map *m, uint64_t at)
{
	size_t low = search_first(i, 0, m->nband - 1, m->band[i].end > at);

	return low;
}

static int name_bands(struct wset_map *m, const struct wset *w, const struct wset_lines *ever,
		      struct err *err)
{
	uint64_t *sum = calloc(w->nregion + 1, sizeof(*sum));
	size_t k = 0;

	if (!sum)
		return err_no_memory(err, "a map");
	for (size_t i = 0; i < m->nband; i++) {
		memset(sum, 0, w->nregion * sizeof(*sum));
		for (; k < ever->n && ever->chunk[k].at < m->band[i].end; k++) {
			uint32_t r = ever->chunk[k].region;

			sum[r] += wset_chunk_count(&ever->chunk[k]);
			if (sum[r] > sum[m->band[i].region])
				m->band[i].region = r;
		}
	}
	free(sum);
	return 0;
}

static int fill(struct wset_map *m, const struct wset *w, bool code, struct err *err)
{
	for (size_t i = 0; i < w->nsnapshot; i++) {
		struct wset_lines l;

		if (unpack(w, i, code, &l, err))
			return -1;
		for (size_t k = 0; k < l.n; k++)
			m->lines[band_of(m, l.chunk[k].at) * m->ninterval + i] +=
				wset_chunk_count(&l.chunk[k]);
		wset_lines_fini(&l);
	}
	for (size_t i = 0; i < m->nband * m->ninterval; i++)
		if (m->lines[i] > m->most)
			m->most = m->lines[i];
	return 0;
}

int wset_map_make(struct wset_map *m, const struct wset *w, bool code, unsigned rows,
		  struct err *err)
{
	struct wset_lines ever = { 0 };
	int rc;

	*m = (struct wset_map){ .ninterval = w->nsnapshot };
	m->band = calloc(rows + 1, sizeof(*m->band));
	m->lines = calloc(rows * w->nsnapshot + 1, sizeof(*m->lines));
	rc = m->band && m->lines ? unite(w, code, &ever, err) : err_no_memory(err, "a map");
	if (!rc && ever.n) {
		rc = cut(m, &ever, rows, err);
		if (!rc) {
			halve(m, rows);
			rc = name_bands(m, w, &ever, err) || fill(m, w, code, err) ? -1 : 0;
		}
	}
	wset_lines_fini(&ever);
	if (rc)
		wset_map_fini(m);
	return rc;
}

void wset_map_fini(struct wset_map *m)
{
	free(m->band);
	free(m->lines);
	*m = (struct wset_map){ 0 };
}
