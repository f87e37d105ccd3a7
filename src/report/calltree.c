/* SPDX-License-Identifier: MIT */
#include "report/calltree.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/array.h"
#include "base/keyed.h"
#include "base/search.h"
#include "base/text.h"
#include "query/name.h"
#include "query/view.h"

struct calltree_key {
	uint64_t key[2]; /* image, address */
	uint32_t number;
	UT_hash_handle hh;
};

/* An inlined procedure, by its image and name. */
struct calltree_name {
	char *key;
	uint32_t number;
	UT_hash_handle hh;
};

static struct calltree_key *key_get(struct calltree_key **keys, uint64_t image, uint64_t addr,
				    bool *is_new)
{
	unsigned had = HASH_COUNT(*keys);
	struct calltree_key *k, wanted = { 0 };

	wanted.key[0] = image;
	wanted.key[1] = addr;
	k = keyed_get(*keys, key, wanted.key);
	*is_new = HASH_COUNT(*keys) != had;
	return k;
}

/* Procedures. */

static const struct profile_proc *recorded_proc(const struct profile_image *pi, uint64_t addr)
{
	size_t low = search_first(i, 0, pi->nproc, pi->proc[i].end > addr);

	return low < pi->nproc && pi->proc[low].start <= addr ? &pi->proc[low] : NULL;
}

/* The number of the procedure of that name and start, or negative without memory. */
static long add_func(struct calltree *t, uint32_t image, uint64_t start, const char *name,
		     bool is_end)
{
	struct image *im = is_end || !start ? NULL : binaries_get(&t->binaries, image);
	struct calltree_func *f;
	char text[1024];

	if (!array_one_more(t->func, t->nfunc))
		return -1;
	f = &t->func[t->nfunc];
	*f = (struct calltree_func){ .image = image, .start = start, .is_end = is_end };
	f->name = strdup(text_clean(image_demangle(name, text, sizeof(text))));
	if (!f->name)
		return -1;
	if (im && !image_line(im, start, &f->file, &f->line))
		f->file = NULL;
	return (long)t->nfunc++;
}

long calltree_func_at(struct calltree *t, uint32_t image, uint64_t addr)
{
	const struct profile_image *pi = t->profile->image[image];
	const struct profile_proc *p = recorded_proc(pi, addr);
	struct image *im = p ? NULL : binaries_get(&t->binaries, image);
	const struct image_proc *ip = im ? image_proc_at(im, addr) : NULL;
	uint64_t start = p ? p->start : ip ? ip->start : UINT64_MAX;
	bool is_new;
	struct calltree_key *k = key_get(&t->funcs, image, start, &is_new);
	long number;

	if (!k)
		return -1;
	if (!is_new)
		return k->number;
	number = add_func(t, image, start == UINT64_MAX ? 0 : start,
			  p    ? p->name
			  : ip ? ip->name
			       : view_rest_name(pi),
			  false);
	k->number = (uint32_t)number;
	return number;
}

static long end_func(struct calltree *t, unsigned kind)
{
	bool is_new;
	struct calltree_key *k = key_get(&t->funcs, UINT64_MAX, kind, &is_new);
	long number;

	if (!k)
		return -1;
	if (!is_new)
		return k->number;
	number = add_func(t, 0, 0, frame_kind_shown[kind], true);
	k->number = (uint32_t)number;
	return number;
}

/* Places. */

static long add_place(struct calltree *t, long func, uint32_t image, uint64_t addr)
{
	struct image *im;
	struct calltree_place *p;

	if (func < 0 || !array_one_more(t->place, t->nplace))
		return -1;
	p = &t->place[t->nplace];
	*p = (struct calltree_place){
		.func = (uint32_t)func, .image = image, .addr = addr, .outer = CALLTREE_NOWHERE
	};
	im = t->func[func].is_end ? NULL : binaries_get(&t->binaries, image);
	if (im && !image_line(im, addr, &p->file, &p->line))
		p->file = NULL;
	return (long)t->nplace++;
}

/* Inlined code. */

static long add_inlined(struct calltree *t, uint32_t image, const char *name)
{
	struct calltree_func *f;
	char text[1024];
	long number;

	if (!array_one_more(t->func, t->nfunc))
		return -1;
	number = (long)t->nfunc;
	f = &t->func[number];
	*f = (struct calltree_func){ .image = image, .inlined = true };
	if (asprintf(&f->name, "%s" NAME_INLINED,
		     text_clean(image_demangle(name, text, sizeof(text)))) < 0)
		return -1;
	t->nfunc++;
	return number;
}

static long inlined_func(struct calltree *t, uint32_t image, const char *name)
{
	struct calltree_name *n;
	char *key;
	long number;

	if (asprintf(&key, "%u %s", image, name) < 0)
		return -1;
	HASH_FIND_STR(t->inlined, key, n);
	if (n) {
		free(key);
		return n->number;
	}
	n = malloc(sizeof(*n));
	number = n ? add_inlined(t, image, name) : -1;
	if (number < 0) {
		free(key);
		free(n);
		return -1;
	}
	n->key = key;
	n->number = (uint32_t)number;
	HASH_ADD_KEYPTR(hh, t->inlined, n->key, strlen(n->key), n);
	if (!n->hh.tbl) {
		free(key);
		free(n);
		return -1;
	}
	return number;
}

/* Finds the place in the innermost procedure. In each outer procedure the place is the call of the
 * next inner one. */
static long add_inlined_place(struct calltree *t, uint32_t image, uint64_t addr, long outer,
			      const struct image_inline *found, size_t n)
{
	for (size_t i = 0; i < n && outer >= 0; i++) {
		struct calltree_place *p = &t->place[outer];
		struct calltree_place inner = *p;
		long func = inlined_func(t, image, found[i].name);

		p->file = found[i].file;
		p->line = found[i].line;
		p->is_outer = true;
		inner.func = (uint32_t)func;
		inner.outer = (uint32_t)outer;
		inner.addr = addr;
		if (func < 0 || !array_one_more(t->place, t->nplace))
			return -1;
		outer = (long)t->nplace;
		t->place[t->nplace++] = inner;
	}
	return outer;
}

static long code_place(struct calltree *t, uint32_t image, uint64_t addr)
{
	struct image_inline found[IMAGE_INLINES_MAX];
	struct image *im = t->inlines ? binaries_get(&t->binaries, image) : NULL;
	size_t n = im ? image_inlines(im, addr, found, IMAGE_INLINES_MAX) : 0;
	long outer = add_place(t, calltree_func_at(t, image, addr), image, addr);

	return outer < 0 ? -1 : add_inlined_place(t, image, addr, outer, found, n);
}

/* A call ends right before its return address. */
static long place_at(struct calltree *t, const struct frame *f)
{
	uint64_t addr = f->kind == FRAME_CALL && f->addr ? f->addr - 1 : f->addr;
	uint32_t image = f->image < t->profile->nimage ? f->image : 0;
	bool is_end = frame_is_end(f->kind), is_new;
	struct calltree_key *k;
	long number;

	if (f->kind == FRAME_NONE || f->kind == FRAME_ROOT)
		return CALLTREE_NOWHERE;
	k = is_end ? key_get(&t->places, UINT64_MAX, f->kind, &is_new)
		   : key_get(&t->places, image, addr, &is_new);
	if (!k)
		return -1;
	if (!is_new)
		return k->number;
	number = is_end ? add_place(t, end_func(t, f->kind), 0, 0) : code_place(t, image, addr);
	k->number = (uint32_t)number;
	return number;
}

/* Nodes. */

static bool add_node(struct calltree *t, uint32_t parent, uint32_t place)
{
	if (!array_one_more(t->node, t->nnode))
		return false;
	t->node[t->nnode++] = (struct calltree_node){ parent, place };
	return true;
}

/* Adds the nodes of a place and of everything that it was inlined into, below `parent`: the last one is the place's. */
static bool add_nodes(struct calltree *t, uint32_t parent, uint32_t place)
{
	uint32_t chain[IMAGE_INLINES_MAX + 1];
	size_t n = 0;

	chain[n++] = place;
	while (place != CALLTREE_NOWHERE && t->place[place].outer != CALLTREE_NOWHERE &&
	       n <= IMAGE_INLINES_MAX)
		chain[n++] = place = t->place[place].outer;
	while (n) {
		if (!add_node(t, parent, chain[--n]))
			return false;
		parent = (uint32_t)t->nnode - 1;
	}
	return true;
}

/* node[]: by frame, its innermost node. */
static int add_frames(struct calltree *t, const struct stacks *s, uint32_t *node)
{
	for (size_t i = 0; i < s->nframe; i++) {
		long place = place_at(t, &s->frame[i]);

		if (place < 0 || !add_nodes(t, i ? node[s->frame[i].parent] : 0, (uint32_t)place))
			return -1;
		node[i] = (uint32_t)t->nnode - 1;
	}
	return 0;
}

static int from_stacks(struct calltree *t)
{
	const struct stacks *s = &t->profile->stacks;
	uint32_t *node = malloc(s->nframe * sizeof(*node));

	t->own_sample = malloc(s->nsample * sizeof(*t->own_sample));
	if (!node || !t->own_sample || add_frames(t, s, node)) {
		free(node);
		return -1;
	}
	for (size_t i = 0; i < s->nsample; i++) {
		t->own_sample[i] = s->sample[i];
		t->own_sample[i].frame = node[s->sample[i].frame];
	}
	free(node);
	t->sample = t->own_sample;
	t->nsample = s->nsample;
	t->thread = s->thread;
	t->nthread = s->nthread;
	t->width = s->width;
	return 0;
}

static int flat_thread(struct calltree *t)
{
	const struct run *run = t->profile->nrun ? &t->profile->run[0] : NULL;

	t->own_thread = calloc(1, sizeof(*t->own_thread));
	if (!t->own_thread)
		return -1;
	t->own_thread->comm = strdup(run && run->command ? run->command : "?");
	t->own_thread->cgroup = strdup("");
	t->thread = t->own_thread;
	t->nthread = 1;
	return t->own_thread->comm && t->own_thread->cgroup ? 0 : -1;
}

static int flat_node(struct calltree *t, const struct site *s)
{
	struct frame f = { s->id.addr, 0, s->id.image, FRAME_CODE, 0 };
	uint64_t count = t->exact ? s->observed : s->samples;
	long place;

	if (!count || s->id.image >= t->profile->nimage)
		return 0;
	place = place_at(t, &f);
	if (place < 0 || !add_nodes(t, 0, (uint32_t)place))
		return -1;
	/* a sample counts up to 2^32: executions are more */
	while (count) {
		uint32_t part = count > UINT32_MAX ? UINT32_MAX : (uint32_t)count;

		if (!array_one_more(t->own_sample, t->nsample))
			return -1;
		t->own_sample[t->nsample++] =
			(struct stack_sample){ .frame = (uint32_t)t->nnode - 1,
					       .count = part,
					       .time = t->exact || count != s->samples ? 0
										       : s->time };
		count -= part;
	}
	return 0;
}

static int from_sites(struct calltree *t)
{
	const struct profile *p = t->profile;
	struct site **site = sites_sorted(&p->sites);
	int rc = 0;

	t->flat = true;
	if (!site || !add_node(t, 0, CALLTREE_NOWHERE) || flat_thread(t)) {
		free(site);
		return -1;
	}
	for (size_t i = 0; i < p->sites.n && !rc; i++)
		rc = flat_node(t, site[i]);
	free(site);
	t->sample = t->own_sample;
	t->width = STACKS_WIDTH;
	return rc;
}

int calltree_open(struct calltree *t, const struct profile *p, struct err *err)
{
	return calltree_open_as(t, p, true, err);
}

int calltree_open_as(struct calltree *t, const struct profile *p, bool inlines, struct err *err)
{
	*t = (struct calltree){ .profile = p, .inlines = inlines };
	t->exact = p->nrun && run_is_exact(&p->run[0]);
	if (binaries_init(&t->binaries, p, NULL, err))
		return -1;
	if (p->stacks.nsample ? from_stacks(t) : from_sites(t)) {
		calltree_close(t);
		return err_no_memory(err, "the call stacks");
	}
	if (t->nsample)
		return 0;
	calltree_close(t);
	err_set(err, ERR_EMPTY, "the recording holds no samples");
	return err_hint(err, "`assay info` shows what it holds");
}

static void keys_free(struct calltree_key **keys)
{
	struct calltree_key *k, *next;

	HASH_ITER (hh, *keys, k, next) {
		HASH_DEL(*keys, k);
		free(k);
	}
}

static void names_free(struct calltree_name **names)
{
	struct calltree_name *n, *next;

	HASH_ITER (hh, *names, n, next) {
		HASH_DEL(*names, n);
		free(n->key);
		free(n);
	}
}

void calltree_close(struct calltree *t)
{
	names_free(&t->inlined);
	for (size_t i = 0; i < t->nfunc; i++)
		free(t->func[i].name);
	keys_free(&t->funcs);
	keys_free(&t->places);
	if (t->own_thread) {
		free(t->own_thread->comm);
		free(t->own_thread->cgroup);
	}
	free(t->own_thread);
	free(t->own_sample);
	free(t->func);
	free(t->place);
	free(t->node);
	binaries_fini(&t->binaries);
	*t = (struct calltree){ 0 };
}

size_t calltree_stack(const struct calltree *t, uint32_t node, uint32_t *stack, size_t max)
{
	size_t n = 0;

	for (uint32_t at = node; at && n < max; at = t->node[at].parent)
		if (t->node[at].place != CALLTREE_NOWHERE)
			stack[n++] = at;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t other = stack[i];

		stack[i] = stack[n - 1 - i];
		stack[n - 1 - i] = other;
	}
	return n;
}

uint32_t calltree_func_of(const struct calltree *t, uint32_t node)
{
	uint32_t place = t->node[node].place;

	return place == CALLTREE_NOWHERE ? (uint32_t)t->nfunc : t->place[place].func;
}

const char *calltree_name(const struct calltree *t, uint32_t func)
{
	return func < t->nfunc ? t->func[func].name : frame_kind_shown[FRAME_ROOT];
}

bool calltree_is_named(const struct calltree *t, uint32_t func, const char *pattern)
{
	const char *name = calltree_name(t, func);

	/* a name may look like a pattern: operator[] */
	return !strcmp(name, pattern) || !fnmatch(pattern, name, 0);
}

bool calltree_is_inner(const struct calltree *t, uint32_t node)
{
	uint32_t func = calltree_func_of(t, node);

	while ((node = t->node[node].parent))
		if (calltree_func_of(t, node) == func)
			return true;
	return false;
}

struct stack_sum *calltree_sum(const struct calltree *t, const struct stack_filter *f)
{
	struct stack_sum *sum = calloc(t->nnode + 1, sizeof(*sum));

	for (size_t i = 0; sum && i < t->nsample; i++) {
		const struct stack_sample *one = &t->sample[i];

		if (!stacks_pass(&t->profile->stacks, f, one))
			continue;
		sum[one->frame].self += one->time;
		sum[one->frame].self_count += one->count;
	}
	for (size_t i = t->nnode; sum && i-- > 0;) {
		struct stack_sum *parent = &sum[t->node[i].parent];

		sum[i].all += sum[i].self;
		sum[i].all_count += sum[i].self_count;
		if (!i)
			break;
		parent->all += sum[i].all;
		parent->all_count += sum[i].all_count;
	}
	return sum;
}

struct calltree_total *calltree_totals(const struct calltree *t, const struct stack_sum *sum)
{
	struct calltree_total *total = calloc(t->nfunc + 1, sizeof(*total));

	for (uint32_t i = 1; total && i < t->nnode; i++) {
		struct calltree_total *to = &total[calltree_func_of(t, i)];

		if (!sum[i].all_count)
			continue;
		to->self += sum[i].self;
		to->self_count += sum[i].self_count;
		if (calltree_is_inner(t, i))
			continue;
		to->all += sum[i].all;
		to->all_count += sum[i].all_count;
	}
	return total;
}

size_t calltree_plain(const struct calltree_func *f)
{
	return strlen(f->name) - (f->inlined ? strlen(NAME_INLINED) : 0);
}

const char *calltree_image(const struct calltree *t, uint32_t image)
{
	return text_last_component(t->profile->image[image]->path);
}
