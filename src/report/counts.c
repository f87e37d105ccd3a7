/* SPDX-License-Identifier: MIT */
#include "report/counts.h"

#include <stdlib.h>

#include "base/fmt.h"
#include "report/match.h"

#define UNEXECUTED_MOST 0.5 /* share of the time above which the programs differ */

int counts_init(struct counts *c, const struct reading *sampled, const struct reading *exact,
		double repeat)
{
	*c = (struct counts){ .exact = exact, .repeat = repeat };
	c->map = match_images(&sampled->view, &exact->view);
	return c->map ? 0 : -1;
}

void counts_fini(struct counts *c)
{
	free(c->map);
}

const struct site *counts_site(const struct counts *c, uint32_t image, uint64_t addr)
{
	return c->map[image] == MATCH_NONE
		       ? NULL
		       : profile_site_find(
				 c->exact->view.profile,
				 (struct site_id){ .image = c->map[image], .addr = addr });
}

bool counts_at(void *ctx, uint32_t image, uint64_t addr, struct estimate_count *n)
{
	const struct counts *c = ctx;
	const struct site *s;

	if (c->map[image] == MATCH_NONE)
		return false;
	s = counts_site(c, image, addr);
	*n = (struct estimate_count){ s ? (double)s->observed * c->repeat : 0,
				      s ? (double)s->taken * c->repeat : 0 };
	return true;
}

bool counts_misses(void *ctx, uint32_t image, uint64_t addr, double each[MISS_KIND_N])
{
	const struct counts *c = ctx;
	const struct site *s = counts_site(c, image, addr);
	const struct misses *m =
		s ? misses_find(c->exact->view.profile,
				(struct site_id){ .image = s->id.image, .addr = s->id.addr })
		  : NULL;

	if (!s || !s->observed)
		return false;
	for (int i = 0; i < MISS_KIND_N; i++)
		each[i] = m ? (double)m->n[i] / (double)s->observed : 0;
	return true;
}

double counts_unexecuted(const struct counts *c, const struct reading *sampled)
{
	const struct view *v = &sampled->view;
	double unexecuted = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct site *s = v->site[i], *t;

		if (!match_is_file(v, s->id.image))
			continue;
		t = counts_site(c, s->id.image, s->id.addr);
		if (!t || !t->observed)
			unexecuted += (double)s->samples;
	}
	return v->sum.samples ? unexecuted / (double)v->sum.samples : 0;
}

static int check(const struct reading *sampled, const struct counts *c, struct err *err)
{
	size_t matched = 0;
	double unexecuted;
	char share[16];

	if (!c->exact->view.exact) {
		err_set(err, ERR_FAILED, "%s is not exact: it counted no executions",
			c->exact->path);
		return err_hint(
			err, "`assay record --exact -o exact.db -- CMD` counts those of the same "
			     "work");
	}
	if (match_builds(sampled, c->exact, err))
		return -1;
	for (size_t i = 0; i < sampled->profile.nimage; i++)
		matched += c->map[i] != MATCH_NONE;
	if (!matched)
		return match_nothing(sampled, c->exact, err);
	unexecuted = counts_unexecuted(c, sampled);
	if (unexecuted < UNEXECUTED_MOST)
		return 0;
	err_set(err, ERR_FAILED,
		"%s %% of the time of %s is at instructions that %s never executed",
		fmt_percent(unexecuted, share, sizeof(share)), sampled->path, c->exact->path);
	return err_hint(err, "they have to be of the same work");
}

struct counts *counts_open(const struct reading *sampled, const char *path, double repeat,
			   struct err *err)
{
	const struct reading_options o = { .verb = "counts", .input = path };
	struct counts *c = calloc(1, sizeof(*c));
	struct reading *exact = calloc(1, sizeof(*exact));

	if (!c || !exact) {
		err_no_memory(err, "%s", path);
		goto fail;
	}
	if (reading_open(exact, &o, err))
		goto fail;
	if (counts_init(c, sampled, exact, repeat)) {
		err_no_memory(err, "%s", path);
		goto fail_open;
	}
	if (check(sampled, c, err))
		goto fail_open;
	return c;
fail_open:
	counts_fini(c);
	reading_close(exact, NULL);
fail:
	free(exact);
	free(c);
	return NULL;
}
