/* SPDX-License-Identifier: MIT */
#include "sampler/tables.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

#include "base/search.h"
#include "image/rows.h"
#include "image/unwind.h"

#define GROUP 4		       /* pages that are made at once; power of two */
#define SPEND_FIRST 200000000u /* ns that making the rows of an image may take, */
#define SPEND_ROW 20000u       /* and further ns for each row */
#define LOOK 16		       /* rows that are made between looks at the clock */

/* An unwind rule and its number. Many rows share one rule. */
struct known_rule {
	struct unwind_rule rule;
	uint32_t number;
	UT_hash_handle hh;
};

/* A range of code that has rules, in bytes from the image's first page on. */
struct known_range {
	uint32_t start, end;
};

struct known_image {
	bool tried;
	uint64_t spent;		   /* CPU time, ns */
	size_t rows;		   /* rows made in that time */
	struct known_range *range; /* sorted */
	size_t ranges;
	uint64_t entry; /* where the image begins to run; 0: not known */
};

struct tables {
	struct tables_memory m;
	struct known_rule *rules;
	struct known_image *image; /* by number */
	size_t images;
	uint32_t nrule, npage, nrow;
	size_t made;   /* pages */
	size_t looks;  /* looks at unwind information; at one in LOOK of them the clock is read */
	uint64_t late; /* CPU time at which the page that is being made has taken too long; ns */
	uint32_t row[UNWIND_PAGE];
};

/* Returns the number of the rule; 0, which is RULE_NONE, without room. */
static uint32_t rule_number(struct tables *t, const struct unwind_rule *rule)
{
	struct known_rule *k;

	HASH_FIND(hh, t->rules, rule, sizeof(*rule), k);
	if (k)
		return k->number;
	if (t->nrule == UNWIND_RULES)
		return UINT32_MAX;
	k = calloc(1, sizeof(*k));
	if (!k)
		return UINT32_MAX;
	k->rule = *rule;
	HASH_ADD(hh, t->rules, rule, sizeof(k->rule), k);
	if (!k->hh.tbl) {
		free(k);
		return UINT32_MAX;
	}
	k->number = t->nrule++;
	t->m.rule[k->number] = *rule;
	return k->number;
}

struct tables *tables_new(const struct tables_memory *m)
{
	const struct unwind_rule none = { .kind = RULE_NONE }, other = { .kind = RULE_OTHER };
	struct tables *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->m = *m;
	if (rule_number(t, &none) == UINT32_MAX || rule_number(t, &other) == UINT32_MAX) {
		tables_free(t);
		return NULL;
	}
	return t;
}

void tables_free(struct tables *t)
{
	struct known_rule *k, *next;

	if (!t)
		return;
	k = t->rules;
	HASH_CLEAR(hh, t->rules);
	for (; k; k = next) {
		next = k->hh.next;
		free(k);
	}
	for (size_t i = 0; i < t->images; i++)
		free(t->image[i].range);
	free(t->image);
	free(t);
}

/* Images. */

static struct known_image *image_at(struct tables *t, uint32_t number)
{
	size_t n = number + 64;
	struct known_image *list;

	if (number < t->images)
		return &t->image[number];
	list = reallocarray(t->image, n, sizeof(*list));
	if (!list)
		return NULL;
	memset(list + t->images, 0, (n - t->images) * sizeof(*list));
	t->image = list;
	t->images = n;
	return &list[number];
}

/* Gives the image's code pages of its own. */
static void place_image(struct tables *t, uint32_t number, const struct image *im)
{
	const struct image_segment *seg;
	unsigned n = image_segments(im, &seg);
	uint64_t from = UINT64_MAX, to = 0;

	for (unsigned i = 0; i < n; i++) {
		if (seg[i].addr < from)
			from = seg[i].addr;
		if (seg[i].addr + seg[i].size > to)
			to = seg[i].addr + seg[i].size;
	}
	from /= UNWIND_PAGE;
	to = (to + UNWIND_PAGE - 1) / UNWIND_PAGE;
	/* one file cannot use up the room for all */
	if (!n || to <= from || to - from > (UNWIND_PAGES - t->npage) / 2)
		return;
	t->m.image[number].first = from;
	t->m.image[number].page = t->npage;
	t->npage += (uint32_t)(to - from);
	__atomic_store_n(&t->m.image[number].pages, (uint32_t)(to - from), __ATOMIC_RELEASE);
}

/* Gives the image pages and keeps its ranges, which lie in the pages. */
static void add_ranges(struct tables *t, struct known_image *k, uint32_t number,
		       const struct image *im, const struct unwind *u)
{
	struct known_range *range = malloc((u->n + 1) * sizeof(*range));
	uint64_t base;

	if (!range)
		return;
	place_image(t, number, im);
	base = t->m.image[number].first * UNWIND_PAGE;
	for (size_t i = 0; i < u->n && t->m.image[number].pages; i++)
		range[k->ranges++] = (struct known_range){ (uint32_t)(u->v[i].start - base),
							   (uint32_t)(u->v[i].end - base) };
	k->range = range;
}

static struct known_image *known(struct tables *t, uint32_t number, struct image *im)
{
	struct known_image *k = number < UNWIND_IMAGES ? image_at(t, number) : NULL;
	struct unwind u;

	if (!k || k->tried)
		return k;
	k->tried = true;
	if (unwind_read(&u, im))
		add_ranges(t, k, number, im, &u);
	unwind_fini(&u);
	if (image_called(im, &k->entry, 1) != 1)
		k->entry = 0;
	return k;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Rows. */

/* Appends a row to the page's n rows, unless the row before has the same rule. */
static uint32_t put(struct tables *t, uint32_t n, uint64_t off, uint32_t rule)
{
	if (n && (t->row[n - 1] & ((1u << UNWIND_RULE_BITS) - 1)) == rule)
		return n;
	t->row[n] = (uint32_t)off << UNWIND_RULE_BITS | rule;
	return n + 1;
}

/* Makes the rows of the part [at, end) of one range; 0: no room, or too late. */
static uint32_t make_range(struct tables *t, struct image *im, uint32_t n, uint64_t page,
			   uint64_t at, uint64_t end)
{
	struct unwind_row row;
	uint32_t rule;

	while (at < end) {
		if (++t->looks % LOOK == 0 && cpu_ns() > t->late)
			return 0;
		rows_at(im, at, &row);
		rule = rule_number(t, &row.rule);
		if (rule == UINT32_MAX)
			return 0;
		n = put(t, n, at - page, rule);
		if (row.rule.kind ==
		    RULE_NONE) /* the range's information is malformed and gives no rule */
			return n;
		at = row.end;
	}
	return n;
}

/* Appends a row for code without a rule. The code that runs first has no caller. */
static uint32_t put_none(struct tables *t, const struct known_image *k, uint32_t n, uint64_t page,
			 uint64_t at, uint64_t end)
{
	const struct unwind_rule outermost = { .kind = RULE_OUTERMOST };
	uint64_t from = k->entry > at ? k->entry : at, to = k->entry + TABLES_ENTRY;
	uint32_t rule = RULE_NONE;

	if (to > end)
		to = end;
	if (k->entry && from < to)
		rule = rule_number(t, &outermost);
	if (rule == RULE_NONE || rule == UINT32_MAX)
		return put(t, n, at - page, 0);
	if (at < from)
		n = put(t, n, at - page, 0);
	n = put(t, n, from - page, rule);
	return to < end ? put(t, n, to - page, 0) : n;
}

/* Rows of the page at that address into t->row, of an image whose first page is at `base`; 0: no room. */
static uint32_t make_rows(struct tables *t, const struct known_image *k, struct image *im,
			  uint64_t base, uint64_t page)
{
	uint64_t at = page, end = page + UNWIND_PAGE;
	size_t i = search_first(r, 0, k->ranges, base + k->range[r].end > page);
	uint32_t n = 0;

	for (; i < k->ranges && base + k->range[i].start < end; i++) {
		uint64_t from = base + k->range[i].start, to = base + k->range[i].end;

		to = to < end ? to : end;
		if (from > at) {
			n = put_none(t, k, n, page, at, from);
			at = from;
		}
		n = make_range(t, im, n, page, at, to);
		if (!n)
			return 0;
		at = to;
	}
	return at < end ? put_none(t, k, n, page, at, end) : n;
}

static bool store_rows(struct tables *t, uint64_t *page, uint32_t n)
{
	if (n > UNWIND_ROWS - t->nrow)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = t->nrow + i;

		t->m.line[at / UNWIND_LINE].row[at % UNWIND_LINE] = t->row[i];
	}
	__atomic_store_n(page, UNWIND_READY | (uint64_t)n << 32 | t->nrow, __ATOMIC_RELEASE);
	t->nrow += n;
	t->made++;
	return true;
}

/* Whether the image's rows take so long that the file seems made to waste time: a real row takes less than a
 * microsecond. */
static bool is_hostile(const struct known_image *k)
{
	return k->spent > SPEND_FIRST + SPEND_ROW * k->rows;
}

static void make_page(struct tables *t, struct known_image *k, struct image *im,
		      const struct unwind_image *where, uint32_t i)
{
	uint64_t *page = &t->m.page[where->page + i], began;
	uint32_t n;

	if (*page & UNWIND_READY || is_hostile(k))
		return;
	began = cpu_ns();
	t->late = began + SPEND_FIRST;
	n = make_rows(t, k, im, where->first * UNWIND_PAGE, (where->first + i) * UNWIND_PAGE);
	if (n)
		store_rows(t, page, n);
	k->spent += cpu_ns() - began;
	k->rows += n;
}

void tables_want(struct tables *t, uint32_t number, struct image *im, uint64_t addr)
{
	struct known_image *k = known(t, number, im);
	const struct unwind_image *where = &t->m.image[number < UNWIND_IMAGES ? number : 0];
	uint64_t at = addr / UNWIND_PAGE - where->first;
	uint32_t from;

	if (!k || at >= where->pages || t->m.page[where->page + at] & UNWIND_READY)
		return;
	from = (uint32_t)at & ~(GROUP - 1u);
	for (uint32_t i = from; i < from + GROUP && i < where->pages; i++)
		make_page(t, k, im, where, i);
}

void tables_want_all(struct tables *t, uint32_t number, struct image *im)
{
	struct known_image *k = known(t, number, im);
	const struct unwind_image *where = &t->m.image[number < UNWIND_IMAGES ? number : 0];

	for (uint32_t i = 0; k && i < where->pages; i++)
		make_page(t, k, im, where, i);
}

struct tables_size tables_size(const struct tables *t)
{
	return (struct tables_size){ t->nrow, t->nrule, t->made };
}
