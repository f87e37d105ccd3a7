/* SPDX-License-Identifier: MIT */
#include "query/view.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/text.h"

/* A procedure of any table. */
struct range {
	uint64_t start, end;
	const char *name;
};

static int site_order(const void *a, const void *b)
{
	const struct site *s = *(const struct site *const *)a, *t = *(const struct site *const *)b;

	if (s->id.image != t->id.image)
		return s->id.image < t->id.image ? -1 : 1;
	return (s->id.addr > t->id.addr) - (s->id.addr < t->id.addr);
}

double view_time(const struct view *v, const struct site *s)
{
	return v->exact ? (double)s->observed : v->by_samples ? (double)s->samples : s->time;
}

uint64_t view_count(const struct view *v, const struct site *s)
{
	return v->exact ? s->observed : s->samples;
}

uint64_t view_sum_count(const struct view *v, const struct view_sum *sum)
{
	return v->exact ? sum->observed : sum->samples;
}

const char *view_whole(const struct view *v)
{
	return v->exact ? "executed instructions" : "time";
}

double view_share(const struct view *v, double time)
{
	return v->sum.time > 0 ? time / v->sum.time : 0;
}

static void add(struct view *v, struct view_sum *sum, const struct site *s)
{
	sum->samples += s->samples;
	sum->observed += s->observed;
	sum->time += view_time(v, s);
}

/* Returns the name of code that no procedure covers. */
const char *view_rest_name(const struct profile_image *pi)
{
	switch (pi->kind) {
	case IMAGE_FILE:
		return pi->stripped ? "[stripped]" : "[no symbol]";
	case IMAGE_KERNEL:
		return "[no symbol]";
	case IMAGE_ANON:
		return "[generated code]";
	case IMAGE_VDSO:
		return "[vdso]";
	default:
		return "[unknown]";
	}
}

/* Looks in the recording's table of procedures; *k only advances, because addresses ascend. */
static bool recorded_range(const struct profile_image *pi, size_t *k, uint64_t addr,
			   struct range *r)
{
	while (*k < pi->nproc && pi->proc[*k].end <= addr)
		(*k)++;
	if (*k == pi->nproc || pi->proc[*k].start > addr)
		return false;
	*r = (struct range){ pi->proc[*k].start, pi->proc[*k].end, pi->proc[*k].name };
	return true;
}

/* Looks in the file, if it still exists, because a killed recorder has not named procedures. */
static bool file_range(struct binaries *b, uint32_t image, uint64_t addr, struct range *r)
{
	struct image *im = binaries_get(b, image);
	const struct image_proc *p = im ? image_proc_at(im, addr) : NULL;

	if (p)
		*r = (struct range){ p->start, p->end, p->name };
	return p != NULL;
}

static struct view_proc *new_proc(struct view *v, uint32_t image, const struct range *r,
				  size_t first)
{
	struct view_proc *p = &v->proc[v->nproc++];

	*p = (struct view_proc){
		.image = image, .start = r->start, .end = r->end, .name = r->name, .first = first
	};
	return p;
}

/* Finds the procedures of one image's sites, [i, end). The rest of the image is one more, made
 * on demand. */
static void walk_image(struct view *v, struct binaries *b, size_t i, size_t end)
{
	uint32_t image = v->site[i]->id.image;
	const struct profile_image *pi = v->profile->image[image];
	struct range r = { 0, 0, NULL }, rest = { 0, 0, view_rest_name(pi) };
	struct view_proc *proc = NULL, *left = NULL;
	size_t k = 0;

	for (; i < end; i++) {
		const struct site *s = v->site[i];
		struct view_proc *p = proc;

		if (!proc || s->id.addr >= proc->end) {
			bool named = pi->nproc ? recorded_range(pi, &k, s->id.addr, &r)
					       : file_range(b, image, s->id.addr, &r);

			p = named  ? proc = new_proc(v, image, &r, i)
			    : left ? left
				   : (left = new_proc(v, image, &rest, 0));
		}
		add(v, &p->sum, s);
		p->n += p != left;
		v->proc_of[i] = (uint32_t)(p - v->proc);
		add(v, &v->image[image].sum, s);
		add(v, &v->sum, s);
	}
}

static void walk(struct view *v, struct binaries *b)
{
	for (size_t i = 0, end; i < v->n; i = end) {
		for (end = i + 1; end < v->n; end++)
			if (v->site[end]->id.image != v->site[i]->id.image)
				break;
		walk_image(v, b, i, end);
	}
}

static bool several_units(const struct profile *p)
{
	for (size_t i = 1; i < p->nrun; i++)
		if (strcmp(p->run[i].unit ? p->run[i].unit : "",
			   p->run[0].unit ? p->run[0].unit : ""))
			return true;
	return false;
}

int view_open(struct view *v, const struct profile *p, struct binaries *b, struct err *err)
{
	size_t n = p->sites.n;
	struct site *s;

	*v = (struct view){ .profile = p, .by_samples = several_units(p) };
	v->exact = p->nrun && run_is_exact(&p->run[0]);
	profile_counters(p, &v->counters);
	v->site = malloc((n + 1) * sizeof(*v->site));
	v->proc_of = malloc((n + 1) * sizeof(*v->proc_of));
	/* at most one procedure for each site, and one rest for each image */
	v->proc = malloc((n + p->nimage + 1) * sizeof(*v->proc));
	v->image = calloc(p->nimage + 1, sizeof(*v->image));
	if (!v->site || !v->proc_of || !v->proc || !v->image) {
		view_fini(v);
		return err_no_memory(err, "%zu sites", n);
	}
	SITES_EACH(&p->sites, s)
	if (s->id.image < p->nimage)
		v->site[v->n++] = s;
	qsort(v->site, v->n, sizeof(*v->site), site_order);
	for (size_t i = 0; i < p->nimage; i++) {
		v->image[i].image = p->image[i];
		v->image[i].name = text_last_component(p->image[i]->path);
	}
	walk(v, b);
	return 0;
}

void view_fini(struct view *v)
{
	free(v->site);
	free(v->proc_of);
	free(v->proc);
	free(v->image);
	memset(v, 0, sizeof(*v));
}

bool view_image_matches(const struct view *v, uint32_t image, const char *glob)
{
	return !glob || !fnmatch(glob, v->image[image].name, 0) ||
	       !fnmatch(glob, v->image[image].image->path, 0);
}

const char *view_proc_name(const struct view_proc *p, char *buf, size_t n)
{
	return image_demangle(p->name, buf, n);
}

char *view_cut_parameters(char *name)
{
	char *paren = strchr(name, '(');

	/* "(anonymous namespace)::f(int)" and "operator()(int)" have earlier parentheses */
	while (paren && (paren == name || paren[1] == ')' || !strncmp(paren, "(anonymous", 10)))
		paren = strchr(paren + 1, '(');
	if (paren) {
		size_t n = strlen(paren), stub = sizeof(IMAGE_PLT) - 1;
		bool is_stub = n > stub && !strcmp(paren + n - stub, IMAGE_PLT);

		memmove(paren, is_stub ? IMAGE_PLT : "", is_stub ? stub + 1 : 1);
	}
	return name;
}

int view_sum_order(const struct view_sum *a, const struct view_sum *b)
{
	if (a->time != b->time)
		return a->time > b->time ? -1 : 1;
	return (a->samples < b->samples) - (a->samples > b->samples);
}

static int proc_order(const void *a, const void *b, void *ctx)
{
	const struct view *v = ctx;
	const struct view_proc *p = &v->proc[*(const uint32_t *)a],
			       *q = &v->proc[*(const uint32_t *)b];
	int order = view_sum_order(&p->sum, &q->sum);

	if (order)
		return order;
	if (p->image != q->image)
		return p->image < q->image ? -1 : 1;
	return (p->start > q->start) - (p->start < q->start);
}

uint32_t *view_procs_by_time(const struct view *v)
{
	uint32_t *order = malloc((v->nproc + 1) * sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < v->nproc; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, v->nproc, sizeof(*order), proc_order, (void *)v);
	return order;
}
