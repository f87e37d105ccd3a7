/* SPDX-License-Identifier: MIT */
#include "export/target.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "image/elf_file.h"

/* The weighted observations of each image, by image number. */
static double *executed(const struct profile *p, struct err *err)
{
	double *sum = calloc(p->nimage + 1, sizeof(*sum));
	const struct site *s;

	if (!sum) {
		err_no_memory(err, "the export");
		return NULL;
	}
	SITES_EACH(&p->sites, s)
	if (s->len && s->id.image < p->nimage)
		sum[s->id.image] += site_weights(s).observed;
	return sum;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_named(const struct profile_image *im, const char *name, const char *real)
{
	return !strcmp(im->path, name) || !strcmp(base_name(im->path), name) ||
	       (real && !strcmp(im->path, real));
}

/* The build-id of the file at path, in buf; "" if it is no ELF file for this architecture. */
static const char *id_of_file(const char *path, char *buf, size_t n)
{
	struct err ignored;
	struct image *im = image_open(path, path, &ignored);

	buf[0] = '\0';
	if (im)
		strncat(buf, image_build_id(im), n - 1);
	image_close(im);
	return buf;
}

/* The image that is looked for. */
struct wanted {
	const char *name;		     /* NULL: any name */
	char *real;			     /* the canonical path of its name, or NULL */
	char id[2 * IMAGE_BUILD_ID_MAX + 8]; /* build-id of the file that the user names, or "" */
};

static void want(struct wanted *w, const struct export_options *o)
{
	const char *file = o->binary ? o->binary : o->image;

	*w = (struct wanted){ .name = o->image };
	w->real = o->image ? realpath(o->image, NULL) : NULL;
	if (file && !access(file, R_OK))
		id_of_file(file, w->id, sizeof(w->id));
}

/* How well an image of the recording matches the request; 0: not at all. A library matches only
 * if it is named. */
static int fits(const struct wanted *w, const struct profile_image *im)
{
	if (im->kind != IMAGE_FILE)
		return 0;
	if (w->id[0] && im->build_id && !strcmp(w->id, im->build_id))
		return 3;
	if (w->name)
		return is_named(im, w->name, w->real) ? 2 : 0;
	return strstr(base_name(im->path), ".so") ? 1 : 2;
}

static const struct profile_image *choose(const struct profile *p, const struct wanted *w,
					  const double *sum)
{
	const struct profile_image *best = NULL;
	int best_fit = 0;

	for (size_t i = 0; i < p->nimage; i++) {
		int fit = sum[i] > 0 ? fits(w, p->image[i]) : 0;

		if (fit > best_fit || (fit && fit == best_fit && sum[i] > sum[best->id])) {
			best = p->image[i];
			best_fit = fit;
		}
	}
	return best;
}

/* Whether an image of the recording has that name, executed or not. */
static bool is_known(const struct profile *p, const struct wanted *w)
{
	for (size_t i = 0; i < p->nimage; i++)
		if (fits(w, p->image[i]))
			return true;
	return false;
}

static int refuse_missing(const struct export *x, const struct wanted *w, struct err *err)
{
	if (w->name && is_known(x->profile, w))
		err_set(err, ERR_EMPTY, "no instruction of %s was seen in the recording", w->name);
	else if (w->name)
		err_set(err, ERR_FAILED, "no image '%s' in the recording", w->name);
	else
		err_set(err, ERR_EMPTY, "the recording holds no branches of any file's code");
	if (w->name && w->id[0])
		return err_hint(err,
				"%s has build-id %.16s; `assay report` lists the images recorded",
				w->name, w->id);
	return err_hint(
		err, w->name ? "`assay report` lists the images recorded"
			     : "record for longer with `assay record --pgo`, or count every branch "
			       "with `assay record --exact`");
}

static bool has_section(const struct elf_file *f, const char *name)
{
	return elf_file_section(f, name) != NULL;
}

/* Reads the section table for what BOLT, llvm-profgen and create_gcov need. */
static int read_sections(struct target *t, struct err *err)
{
	struct elf_file f;
	bool rewritten;

	if (elf_file_open(&f, t->file, err))
		return -1;
	t->relocations = has_section(&f, ".rela.text");
	t->symbols = has_section(&f, ".symtab");
	t->lines = has_section(&f, ".debug_line");
	t->probes = has_section(&f, ".pseudo_probe");
	rewritten = has_section(&f, ".note.bolt_info") || has_section(&f, ".bolt.org.text");
	elf_file_close(&f);
	if (!rewritten)
		return 0;
	err_set(err, ERR_FAILED, "%s was written by BOLT, which does not optimise its own output",
		t->file);
	return err_hint(err, "record the binary as the linker wrote it, and optimise that again");
}

static bool has_no_build_id(const char *id)
{
	return !strncmp(id, IMAGE_NO_BUILD_ID, strlen(IMAGE_NO_BUILD_ID));
}

static int refuse_other_file(const struct target *t, struct err *err)
{
	if (has_no_build_id(t->image->build_id))
		err_set(err, ERR_FAILED,
			"%s is not the file that was recorded: the recorded file had no build-id, "
			"and other headers",
			t->file);
	else
		err_set(err, ERR_FAILED,
			"%s is not the file that was recorded: its build-id is %.16s, "
			"the recording's %.16s",
			t->file, image_build_id(t->im), t->image->build_id);
	return err_hint(err, "give the recorded file with --binary FILE, or record this one");
}

static int open_file(struct target *t, const struct export *x, struct err *err)
{
	const struct export_options *o = x->o;
	const char *named = o->image && strchr(o->image, '/') && !access(o->image, R_OK)
				    ? o->image
				    : t->image->path;

	t->file = strdup(o->binary ? o->binary : named);
	if (!t->file)
		return err_no_memory(err, "the export");
	t->im = image_open(t->file, t->file, err);
	if (!t->im) {
		if (!o->binary)
			err_hint(err, "--binary FILE says where the recorded file is now");
		return -1;
	}
	if (read_sections(t, err)) /* BOLT changes the last bit of a build-id */
		return -1;
	if (strcmp(image_build_id(t->im), t->image->build_id))
		return refuse_other_file(t, err);
	if (has_no_build_id(t->image->build_id))
		x->note("%s has no build-id: that it was recorded is judged by its headers "
			"alone; link with -Wl,--build-id",
			t->file);
	return 0;
}

/* Reports other builds of the same path, whose part of the profile does not apply to this one. */
static void tell_other_builds(const struct target *t, const struct export *x, const double *sum)
{
	double other = 0;
	char share[32];

	for (size_t i = 0; i < x->profile->nimage; i++) {
		const struct profile_image *im = x->profile->image[i];

		if (!target_is(t, im) && im->kind == IMAGE_FILE &&
		    !strcmp(im->path, t->image->path))
			other += sum[i];
	}
	if (other > 0)
		x->note("the recording holds other builds of %s: %s %% of what it has of that path "
			"is "
			"left out",
			t->image->path,
			fmt_percent(other / (other + sum[t->image->id]), share, sizeof(share)));
}

static int find(struct target *t, const struct export *x, const struct wanted *w, const double *sum,
		struct err *err)
{
	double all = 0, own = 0;

	t->image = choose(x->profile, w, sum);
	if (!t->image)
		return refuse_missing(x, w, err);
	for (size_t i = 0; i < x->profile->nimage; i++) {
		all += x->profile->image[i]->kind == IMAGE_KERNEL ? 0 : sum[i];
		own += target_is(t, x->profile->image[i]) ? sum[i] : 0;
	}
	t->share = own / all;
	if (open_file(t, x, err))
		return -1;
	tell_other_builds(t, x, sum);
	return 0;
}

int target_open(struct target *t, const struct export *x, struct err *err)
{
	double *sum = executed(x->profile, err);
	struct wanted w;
	int rc;

	*t = (struct target){ 0 };
	if (!sum)
		return -1;
	want(&w, x->o);
	rc = find(t, x, &w, sum, err);
	if (rc)
		target_close(t);
	free(w.real);
	free(sum);
	return rc;
}

bool target_is(const struct target *t, const struct profile_image *im)
{
	return im == t->image || (im->kind == IMAGE_FILE && t->image->build_id[0] &&
				  !strcmp(im->build_id, t->image->build_id));
}

void target_close(struct target *t)
{
	image_close(t->im);
	free(t->file);
	*t = (struct target){ 0 };
}

const char *target_name(const struct target *t)
{
	return base_name(t->file);
}
