/* SPDX-License-Identifier: MIT */
#include "report/match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED 3 /* number of images that a message names */

bool match_is_file(const struct view *v, uint32_t image)
{
	return v->image[image].image->kind == IMAGE_FILE;
}

uint32_t match_find(const struct view *in, const struct profile_image *im)
{
	uint32_t found = MATCH_NONE;

	for (uint32_t i = 0; i < in->profile->nimage; i++) {
		const struct profile_image *other = in->image[i].image;

		if (!in->image[i].sum.observed || other->kind != im->kind ||
		    strcmp(other->build_id, im->build_id) != 0)
			continue;
		if (!strcmp(other->path, im->path))
			return i;
		if (im->build_id[0])
			found = i;
	}
	return found;
}

uint32_t *match_images(const struct view *of, const struct view *in)
{
	size_t n = of->profile->nimage;
	uint32_t *map = calloc(n + 1, sizeof(*map));

	for (uint32_t i = 0; map && i < n; i++)
		map[i] = match_is_file(of, i) ? match_find(in, of->image[i].image) : MATCH_NONE;
	return map;
}

/* Finds an executed ELF image of that path, matched or unmatched as requested. */
static const struct profile_image *of_path(const struct view *v, const struct view *other,
					   const char *path, bool matched)
{
	for (uint32_t i = 0; i < v->profile->nimage; i++) {
		const struct profile_image *im = v->image[i].image;

		if (match_is_file(v, i) && v->image[i].sum.observed && !strcmp(im->path, path) &&
		    (match_find(other, im) != MATCH_NONE) == matched)
			return im;
	}
	return NULL;
}

int match_builds(const struct reading *s, const struct reading *e, struct err *err)
{
	char text[512] = "";
	unsigned count = 0;

	for (uint32_t i = 0; i < e->profile.nimage; i++) {
		const struct profile_image *im = e->profile.image[i], *other;

		if (!match_is_file(&e->view, i) || !e->view.image[i].sum.observed ||
		    of_path(&e->view, &s->view, im->path, true))
			continue;
		other = of_path(&s->view, &e->view, im->path, false);
		if (!other || count++ >= NAMED)
			continue;
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%.80s (build-id %.40s, %.40s)", count > 1 ? "; " : "", im->path,
			 other->build_id[0] ? other->build_id : "unknown",
			 im->build_id[0] ? im->build_id : "unknown");
	}
	if (!count)
		return 0;
	err_set(err, ERR_FAILED, "%s and %s ran different files: %s%s", s->path, e->path, text,
		count > NAMED ? "; and more" : "");
	return err_hint(err, "record both again with the same program and libraries");
}

static const char *main_image(const struct view *v)
{
	const struct view_image *most = NULL;

	for (uint32_t i = 0; i < v->profile->nimage; i++)
		if (match_is_file(v, i) && (!most || v->image[i].sum.observed > most->sum.observed))
			most = &v->image[i];
	return most ? most->image->path : "no ELF image";
}

int match_nothing(const struct reading *s, const struct reading *e, struct err *err)
{
	err_set(err, ERR_EMPTY, "%s saw no instruction that ran in %s", s->path, e->path);
	return err_hint(err,
			"they have to be of the same run: one is mostly of %s, the other of %s",
			main_image(&s->view), main_image(&e->view));
}
