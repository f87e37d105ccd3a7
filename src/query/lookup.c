/* SPDX-License-Identifier: MIT */
#include "query/lookup.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/opt.h"

#define NAMED 4 /* number of candidates that an error names */

/* Quality of a match with a name, best first. */
enum fit {
	FIT_NAME,
	FIT_STEM,
	FIT_PATTERN,
	FIT_NONE
};

struct lookup {
	const struct view *v;
	const char *what, *image;
	const struct view_proc *found[NAMED];
	size_t n; /* number of matches; the first NAMED are kept */
};

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?[") != NULL;
}

static enum fit name_fits(const struct view_proc *p, const char *what)
{
	char name[1024];
	size_t stem;

	if (!strcmp(p->name, what))
		return FIT_NAME;
	view_proc_name(p, name, sizeof(name));
	if (!strcmp(name, what))
		return FIT_NAME;
	stem = strcspn(name, "(");
	if (stem == strlen(what) && !strncmp(name, what, stem))
		return FIT_STEM;
	return is_pattern(what) && !fnmatch(what, name, 0) ? FIT_PATTERN : FIT_NONE;
}

static void add(struct lookup *l, const struct view_proc *p)
{
	if (l->n < NAMED)
		l->found[l->n] = p;
	l->n++;
}

/* Whether the procedure has code of its own, unlike the rest of an image. */
static bool is_eligible(const struct lookup *l, const struct view_proc *p)
{
	return p->n && view_image_matches(l->v, p->image, l->image);
}

static bool find_address(struct lookup *l)
{
	char *end;
	uint64_t addr;

	if (strncmp(l->what, "0x", 2))
		return false;
	addr = strtoull(l->what, &end, 16);
	if (*end)
		return false;
	for (size_t i = 0; i < l->v->nproc; i++) {
		const struct view_proc *p = &l->v->proc[i];

		if (is_eligible(l, p) && addr >= p->start && addr < p->end)
			add(l, p);
	}
	return true;
}

static void find_name(struct lookup *l, const uint32_t *order)
{
	for (int fit = FIT_NAME; fit < FIT_NONE && !l->n; fit++)
		for (size_t i = 0; i < l->v->nproc; i++) {
			const struct view_proc *p = &l->v->proc[order[i]];

			if (is_eligible(l, p) && name_fits(p, l->what) == (enum fit)fit)
				add(l, p);
		}
}

static void list_found(const struct lookup *l, char *buf, size_t n)
{
	size_t k = 0;

	buf[0] = 0;
	for (size_t i = 0; i < l->n && i < NAMED && k < n; i++) {
		const struct view_proc *p = l->found[i];
		char share[16];

		k += (size_t)snprintf(
			buf + k, n - k, "%s0x%" PRIx64 " in %.60s (%s %%)", i ? ", " : "", p->start,
			l->v->image[p->image].name,
			fmt_percent(view_share(l->v, p->sum.time), share, sizeof(share)));
	}
	if (l->n > NAMED && k < n)
		snprintf(buf + k, n - k, ", and %zu more", l->n - NAMED);
}

static void refuse_several(const struct lookup *l, struct err *err)
{
	char list[440];

	list_found(l, list, sizeof(list));
	err_set(err, ERR_USAGE, "'%s' could be %zu procedures", l->what, l->n);
	err_hint(err, "give an address, or --image: %s", list);
}

/* Suggests a name that contains the word, or is similar; else the hottest. */
static void suggest(struct lookup *l, const uint32_t *order, struct err *err)
{
	size_t n = 0;
	const char **names = malloc((l->v->nproc + 1) * sizeof(*names)), *near = NULL;
	char name[200];

	for (size_t i = 0; names && i < l->v->nproc; i++) {
		const struct view_proc *p = &l->v->proc[order[i]];

		if (!is_eligible(l, p))
			continue;
		if (!near && strstr(p->name, l->what))
			near = p->name;
		names[n++] = p->name;
	}
	if (!names)
		return;
	names[n] = NULL;
	if (!near)
		near = opt_nearest(l->what, names);
	if (near)
		err_hint(err, "did you mean '%s'?", image_demangle(near, name, sizeof(name)));
	else if (n)
		err_hint(err, "the one with most %s is '%s'; `assay report` lists them",
			 view_whole(l->v), image_demangle(names[0], name, sizeof(name)));
	free(names);
}

/* Finds the rest of an image of that name: code whose procedures are not known. */
static const struct view_proc *find_rest(const struct lookup *l)
{
	for (size_t i = 0; l->what && i < l->v->nproc; i++) {
		const struct view_proc *p = &l->v->proc[i];

		if (!p->n && !strcmp(p->name, l->what) &&
		    view_image_matches(l->v, p->image, l->image))
			return p;
	}
	return NULL;
}

static void refuse_rest(const struct lookup *l, const struct view_proc *rest, struct err *err)
{
	err_set(err, ERR_EMPTY,
		"%s is no procedure: where procedures begin in this code is not known", l->what);
	if (l->v->image[rest->image].image->kind == IMAGE_ANON)
		err_hint(err, "let its runtime write /tmp/perf-PID.map and record again: node "
			      "--perf-basic-prof, java -XX:+DumpPerfMapAtExit, python3 -X perf");
	else
		err_hint(err, "`assay report` lists those that are known");
}

static void refuse_none(struct lookup *l, const uint32_t *order, struct err *err)
{
	const char *was = l->v->exact ? "executed" : "sampled";
	const struct view_proc *rest = find_rest(l);

	if (rest) {
		refuse_rest(l, rest, err);
		return;
	}
	if (l->what)
		err_set(err, ERR_EMPTY, "no procedure '%s' was %s%s%s", l->what, was,
			l->image ? " in " : "", l->image ? l->image : "");
	else
		err_set(err, ERR_EMPTY, "no procedure was %s%s%s", was, l->image ? " in " : "",
			l->image ? l->image : "");
	if (l->what)
		suggest(l, order, err);
	else
		err_hint(err, "`assay report` shows where %s",
			 l->v->exact ? "instructions ran" : "the time went");
}

/* Finds the hottest procedure among those with observed instructions, if there are any; the
 * kernel has none. */
static void find_hottest(struct lookup *l, const uint32_t *order)
{
	for (int observed = 1; observed >= 0; observed--)
		for (size_t i = 0; i < l->v->nproc && !l->n; i++) {
			const struct view_proc *p = &l->v->proc[order[i]];

			if (is_eligible(l, p) && (p->sum.observed || !observed))
				add(l, p);
		}
}

const struct view_proc *lookup_proc(const struct view *v, const char *what, const char *image,
				    struct err *err)
{
	struct lookup l = { .v = v, .what = what, .image = image };
	uint32_t *order = view_procs_by_time(v);

	if (!order) {
		err_no_memory(err, "the look-up");
		return NULL;
	}
	if (!what)
		find_hottest(&l, order);
	else if (!find_address(&l))
		find_name(&l, order);
	if (!l.n)
		refuse_none(&l, order, err);
	else if (l.n > 1)
		refuse_several(&l, err);
	free(order);
	return l.n == 1 ? l.found[0] : NULL;
}
