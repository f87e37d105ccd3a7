/* SPDX-License-Identifier: MIT */
#include "report/call_tree.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "query/view.h"

#define NODES_FIRST 1024

/* Names. */

struct call_id {
	uint64_t start;
	uint32_t image, kind;
};

struct call_key {
	struct call_id id;
	uint32_t number;
	UT_hash_handle hh;
};

void call_names_fini(struct call_names *c)
{
	struct call_key *k = c->keys, *next;

	HASH_CLEAR(hh, c->keys);
	for (; k; k = next) {
		next = k->hh.next;
		free(k);
	}
	for (size_t i = 0; i < c->n; i++)
		free(c->proc[i].name);
	free(c->proc);
	free(c->of);
	*c = (struct call_names){ 0 };
}

/* The recorded procedure that holds addr, or NULL. */
static const struct profile_proc *recorded(const struct profile_image *pi, uint64_t addr)
{
	size_t lo = 0, hi = pi->nproc;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (pi->proc[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr < pi->proc[lo - 1].end ? &pi->proc[lo - 1] : NULL;
}

/* What the frame's procedure is known by, and its name as it was recorded. */
static struct call_id identify(const struct profile *p, struct binaries *b, const struct frame *f,
			       const char **name)
{
	struct call_id id = { .image = f->image, .kind = FRAME_CODE };
	const struct profile_image *pi = p->image[f->image];
	uint64_t addr = f->addr - (f->kind == FRAME_CALL);
	const struct profile_proc *known = recorded(pi, addr);
	struct image *im = known ? NULL : binaries_get(b, f->image);
	const struct image_proc *ip = im ? image_proc_at(im, addr) : NULL;

	*name = known ? known->name : ip ? ip->name : view_rest_name(pi);
	id.start = known ? known->start : ip ? ip->start : 0;
	return id;
}

static bool add_proc(struct call_names *c, const struct call_id *id, const char *name)
{
	size_t room = c->room ? 2 * c->room : 64;
	struct call_proc *list = c->proc;
	char shown[1024];

	if (c->n == c->room) {
		list = reallocarray(list, room, sizeof(*list));
		if (!list)
			return false;
		c->proc = list;
		c->room = room;
	}
	image_demangle(name, shown, sizeof(shown));
	list[c->n] = (struct call_proc){ .name = strdup(view_cut_parameters(shown)),
					 .start = id->start,
					 .image = id->image,
					 .kind = id->kind };
	return list[c->n].name && ++c->n;
}

static bool name_frame(struct call_names *c, const struct profile *p, struct binaries *b,
		       uint32_t number)
{
	const struct frame *f = &p->stacks.frame[number];
	const char *name = frame_kind_shown[f->kind];
	struct call_id id;
	struct call_key *k;

	memset(&id, 0, sizeof(id));
	id.kind = f->kind;
	if (number && !frame_is_end(f->kind))
		id = identify(p, b, f, &name);
	HASH_FIND(hh, c->keys, &id, sizeof(id), k);
	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k || !add_proc(c, &id, name)) {
			free(k);
			return false;
		}
		k->id = id;
		k->number = (uint32_t)c->n - 1;
		HASH_ADD(hh, c->keys, id, sizeof(id), k);
	}
	c->of[number] = k->number;
	return true;
}

int call_names_init(struct call_names *c, const struct profile *p, struct binaries *b,
		    struct err *err)
{
	*c = (struct call_names){ .of = calloc(p->stacks.nframe + 1, sizeof(*c->of)) };
	for (uint32_t i = 0; c->of && i < p->stacks.nframe; i++)
		if (!name_frame(c, p, b, i)) {
			call_names_fini(c);
			break;
		}
	return c->of ? 0 : err_set(err, ERR_FAILED, "no memory");
}

/* Trees. */

void call_tree_fini(struct call_tree *t)
{
	free(t->node);
	free(t->slot);
	*t = (struct call_tree){ 0 };
}

static uint32_t *slot_of(const struct call_tree *t, uint32_t parent, uint32_t proc)
{
	uint64_t h = ((uint64_t)parent << 32 | proc) * 0x9e3779b97f4a7c15ull;
	size_t mask = t->nslot - 1, i = (h ^ h >> 32) & mask;

	while (t->slot[i] &&
	       (t->node[t->slot[i]].parent != parent || t->node[t->slot[i]].proc != proc))
		i = (i + 1) & mask;
	return &t->slot[i];
}

static bool make_room(struct call_tree *t)
{
	size_t room = t->room ? 2 * t->room : NODES_FIRST;
	struct call_node *node;
	uint32_t *slot;

	if (t->n < t->room)
		return true;
	node = reallocarray(t->node, room, sizeof(*node));
	if (!node)
		return false;
	t->node = node;
	slot = calloc(2 * room, sizeof(*slot));
	if (!slot)
		return false;
	free(t->slot);
	t->slot = slot;
	t->nslot = 2 * room;
	t->room = room;
	for (uint32_t i = 1; i < t->n; i++)
		*slot_of(t, node[i].parent, node[i].proc) = i;
	if (!t->n)
		node[t->n++] = (struct call_node){ 0 };
	return true;
}

/* The node of the procedure below `parent`, made if new. 0 without memory. */
static uint32_t node_of(struct call_tree *t, uint32_t parent, uint32_t proc)
{
	uint32_t *slot;

	if (!make_room(t))
		return 0;
	slot = slot_of(t, parent, proc);
	if (!*slot) {
		*slot = (uint32_t)t->n;
		t->node[t->n++] = (struct call_node){ .proc = proc, .parent = parent };
	}
	return *slot;
}

static void take(struct call_node *to, const struct stack_sum *sum)
{
	to->self += sum->self;
	to->self_count += sum->self_count;
}

/* `at` is by frame: its node. */
static bool build_down(struct call_tree *t, const struct call_names *names, const struct stacks *s,
		       const struct stack_sum *sum)
{
	uint32_t *at = calloc(s->nframe + 1, sizeof(*at));
	bool ok = at != NULL;

	for (uint32_t i = 1; ok && i < s->nframe; i++) {
		if (!sum[i].all_count)
			continue;
		at[i] = node_of(t, at[s->frame[i].parent], names->of[i]);
		ok = at[i] != 0;
		if (ok)
			take(&t->node[at[i]], &sum[i]);
	}
	free(at);
	return ok;
}

static bool build_up(struct call_tree *t, const struct call_names *names, const struct stacks *s,
		     const struct stack_sum *sum)
{
	for (uint32_t i = 1; i < s->nframe; i++) {
		uint32_t at = 0;

		if (!sum[i].self_count)
			continue;
		for (uint32_t f = i; f; f = s->frame[f].parent) {
			at = node_of(t, at, names->of[f]);
			if (!at)
				return false;
		}
		take(&t->node[at], &sum[i]);
	}
	return true;
}

/* Sums of what lies below. What was taken of an upward tree's ends is time of their innermost nodes. */
static void sum_up(struct call_tree *t, enum call_tree_order order)
{
	for (size_t i = t->n; i-- > 0;) {
		struct call_node *n = &t->node[i], *parent = &t->node[n->parent];

		n->all += n->self;
		n->all_count += n->self_count;
		if (!i)
			break;
		parent->all += n->all;
		parent->all_count += n->all_count;
		n->next = parent->child;
		parent->child = (uint32_t)i;
	}
	for (size_t i = 0; order == CALL_TREE_UP && i < t->n; i++) {
		struct call_node *n = &t->node[i];

		n->self = i && !n->parent ? n->all : 0;
		n->self_count = i && !n->parent ? n->all_count : 0;
	}
}

int call_tree_build(struct call_tree *t, const struct call_names *names, const struct stacks *s,
		    const struct stack_filter *f, enum call_tree_order order, struct err *err)
{
	struct stack_sum *sum = stacks_sum(s, f);
	bool ok;

	*t = (struct call_tree){ 0 };
	ok = sum && make_room(t) &&
	     (order == CALL_TREE_DOWN ? build_down(t, names, s, sum) : build_up(t, names, s, sum));
	free(sum);
	if (!ok) {
		call_tree_fini(t);
		return err_set(err, ERR_FAILED, "no memory");
	}
	sum_up(t, order);
	return 0;
}

static bool below_itself(const struct call_tree *t, const struct call_node *n)
{
	for (uint32_t i = n->parent; i; i = t->node[i].parent)
		if (t->node[i].proc == n->proc)
			return true;
	return false;
}

struct call_node *call_tree_totals(const struct call_tree *t, const struct call_names *names)
{
	struct call_node *total = calloc(names->n + 1, sizeof(*total));

	for (uint32_t i = 0; total && i < names->n; i++)
		total[i].proc = i;
	for (size_t i = 1; total && i < t->n; i++) {
		const struct call_node *n = &t->node[i];
		struct call_node *to = &total[n->proc];

		to->self += n->self;
		to->self_count += n->self_count;
		if (below_itself(t, n))
			continue;
		to->all += n->all;
		to->all_count += n->all_count;
	}
	return total;
}
