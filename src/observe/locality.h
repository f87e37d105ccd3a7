/* SPDX-License-Identifier: MIT */
/*
 * What windows show of caches and predictors, by site: how often an access, or a fetch, was to a
 * line that the window had not used before; how often a branch went where a learning predictor did
 * not expect it.
 *
 * A line that was used a few hundred instructions ago is in the first level in any case, so the
 * share of accesses to lines not used before bounds misses. Accesses count once a window is
 * LOCALITY_AFTER instructions old. A fetch is an instruction in another line than the one before
 * it. The predictor (model/branch) keeps its state from window to window; its predictions count
 * once a window has as many outcomes as its middle histories are long, and where it is sure of them. The thread that touched a
 * line last, and whether it wrote, is kept from window to window, which shows lines that threads
 * contend for. Of windows that are long enough, a fraction is examined, some thousand a second.
 */
#ifndef ASSAY_OBSERVE_LOCALITY_H
#define ASSAY_OBSERVE_LOCALITY_H

#include "observe/profile.h"
#include "sketch/distinct.h"

#define LOCALITY_AFTER 64
#define LOCALITY_OUTCOMES 16
#define LOCALITY_LINE 6 /* bits of an address within a line */
#define LOCALITY_PAGE 12

/* How many lines and pages a site's accesses go to. Kept from the site's 64th access on to a line that the window had
 * not used. */
struct spread {
	uint64_t seen; /* accesses that were added */
	struct distinct lines, pages;
};
#define SPREAD_AFTER 64

/* Counts of a site, as they are recorded. One line an item. */
#define LOCALITIES(X) \
	X(accesses, "accesses of memory that were asked about") \
	X(lines, "of those, to lines that the window had not used") \
	X(pages, "… to pages") \
	X(fetches, "entries of a line of code that were asked about") \
	X(code_lines, "of those, of lines that the window had not used") \
	X(code_pages, "… of pages") \
	X(branches, "branches and indirect jumps and calls that were predicted for sure") \
	X(mispredicted, "of those, mispredicted")
struct locality {
#define X(name, what) uint64_t name;
	LOCALITIES(X)
#undef X
	/* windows that touched a line there, and of these the ones in which another thread had
	 * touched the line a moment before, and one of the two threads wrote */
	uint64_t met, contended;
	struct spread *spread; /* NULL: too few accesses to new lines */
};
#define X(name, what) +1
enum {
	LOCALITY_N = 0 LOCALITIES(X)
};
#undef X

/*
 * A site keeps its counts in 16 bits each as long as they fit and it has no spread, because there are as many as instructions
 * and most are small.
 */
struct locality_kept;
/* The site's counts; zeros if there are none. The spread stays the site's. */
struct locality locality_get(const struct site *s);
/* The site's counts for writing, in full, made if there are none; NULL without memory. */
struct locality *locality_of(struct site *s);
/* Adds to the site's counts, without the spread. -1 without memory. */
int locality_count(struct site *s, const struct locality *now);
/* Adds counts, without the spread. */
void locality_add(struct locality *to, const struct locality *from);
/* Adds what is known of the spread. -1 without memory. */
int locality_spread(struct locality *to, const struct spread *from);

struct locality_past;

/* Begins a window. *now: state for locality_note(); NULL: the window is not examined. -1 without
 * memory. */
int locality_begin(struct profile *p, const struct window *w, struct locality_past **now);
/* What a predictor made of an instruction. */
enum locality_prediction {
	LOCALITY_UNSURE, /* nothing that counts: the predictor had not learned that branch */
	LOCALITY_RIGHT,
	LOCALITY_WRONG
};

/* Observes the window's next instruction, of site s. asked: the window is old enough for accesses and fetches to count. -1
 * without memory. */
int locality_note(struct locality_past *t, struct site *s, const struct retired *r, bool asked,
		  enum locality_prediction prediction);
void locality_free(struct profile *p);
/* Frees a site's entry, which may be NULL. */
void locality_drop(struct locality_kept *k);

#endif
