/* SPDX-License-Identifier: MIT */
/*
 * Finds which memory is code. The engine reads /proc/self/maps when control first reaches unknown
 * memory, and follows the system calls that change mappings. Pages with translated code that the
 * program may write to are protected: a write faults, the code is forgotten, and the write goes on.
 */
#include <asm/signal.h>
#include <asm/siginfo.h>
#include <linux/fcntl.h>
#include <linux/mman.h>

#include "engine/os/procfs.h"
#include "engine/core/cache.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"

#define PAGE 4096ul
#define REGIONS_MAX 2048
#define WATCHED_MAX 65536 /* a power of two */
/* most pages that are looked up one by one; for more the whole table is scanned */
#define PAGES_NEAR 1024
#define WRITES_MAX 32 /* writes to a page after which its code is translated for each execution */
/* such executions of a page's instructions after which its translations are kept until the next write: at first,
 * and at most, as the number doubles each time */
#define ALONE_FIRST 1024
#define ALONE_MAX 8192

static struct region regions[REGIONS_MAX];
static unsigned nregions;

struct watched {
	uint64_t page;
	uint32_t alone; /* executions of single instructions since it was written too often */
	uint32_t limit; /* of alone; 0: ALONE_FIRST */
	uint16_t writes;
	uint8_t prot; /* the protection that the program asked for; 0: unknown */
	bool on;
	bool never; /* the kernel writes to it at any time */
};
static struct watched *watched;
static unsigned nwatched, nwatched_on;

static struct watched *watch_entry(uint64_t page, bool make)
{
	unsigned i = (unsigned)(page / PAGE) & (WATCHED_MAX - 1);

	if (!watched) {
		if (!make)
			return NULL;
		watched = reserve(WATCHED_MAX * sizeof(*watched));
	}
	for (;; i = (i + 1) & (WATCHED_MAX - 1)) {
		if (watched[i].page == page)
			return &watched[i];
		if (!watched[i].page) {
			if (!make || nwatched > WATCHED_MAX * 3 / 4)
				return NULL;
			nwatched++;
			watched[i].page = page;
			return &watched[i];
		}
	}
}

/* start-end perms offset major:minor inode path */
static void parse(const char *s, struct region *r)
{
	uint64_t major, minor;
	size_t n = 0;

	memset(r, 0, sizeof(*r));
	s = procfs_hex(s, &r->start);
	s = procfs_hex(s + 1, &r->end) + 1;
	r->prot = (s[0] == 'r' ? PROT_READ : 0) | (s[1] == 'w' ? PROT_WRITE : 0) |
		  (s[2] == 'x' ? PROT_EXEC : 0);
	r->shared = s[3] == 's';
	s = procfs_hex(s + 5, &r->offset);
	s = procfs_hex(s + 1, &major);
	s = procfs_hex(s + 1, &minor) + 1;
	r->dev = major << 32 | minor;
	for (r->inode = 0; *s >= '0' && *s <= '9'; s++)
		r->inode = r->inode * 10 + (uint64_t)(*s - '0');
	while (*s == ' ')
		s++;
	while (*s && n + 1 < sizeof(r->path))
		r->path[n++] = *s++;
}

struct wanted {
	uint64_t addr;
	struct region *r;
	bool found;
};

static bool is_met(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < nregions; i++)
		if (regions[i].start < end && regions[i].end > start)
			return true;
	return false;
}

/* Remembers a mapping that the program is likely to execute soon: read-only code of a file, or of the kernel. That
 * saves a look at /proc/self/maps later. */
static void keep(const struct region *r)
{
	if ((r->inode || !strcmp(r->path, "[vdso]")) && r->prot & PROT_EXEC &&
	    !(r->prot & PROT_WRITE) && !r->shared && !nwatched_on && nregions < REGIONS_MAX / 2 &&
	    !is_met(r->start, r->end))
		regions[nregions++] = *r;
}

static bool is_wanted(void *ctx, const char *text, size_t n)
{
	struct wanted *w = ctx;
	struct region r;

	(void)n;
	parse(text, &r);
	if (w->addr < r.start || w->addr >= r.end) {
		keep(&r);
		return true;
	}
	w->found = true;
	*w->r = r;
	return true;
}

/* Finds the mapping of `addr`; r is empty before. False if there is none. */
static bool look_up(uint64_t addr, struct region *r)
{
	struct wanted w = { addr, r, false };
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (sys_failed(fd)) { /* no /proc: a page that can be read counts as code */
		char c;

		r->start = addr & ~(PAGE - 1);
		r->end = r->start + PAGE;
		r->prot = PROT_READ | PROT_EXEC | PROT_WRITE;
		return rt_copy(&c, (const void *)addr, 1);
	}
	procfs_lines(fd, is_wanted, &w);
	sys(__NR_close, fd);
	return w.found;
}

static struct region *find(uint64_t addr)
{
	static unsigned last;

	if (last < nregions && addr >= regions[last].start && addr < regions[last].end)
		return &regions[last];
	for (unsigned i = 0; i < nregions; i++)
		if (addr >= regions[i].start && addr < regions[i].end) {
			last = i;
			return &regions[i];
		}
	return NULL;
}

struct region *region_of(uint64_t pc)
{
	struct region *r = find(pc), new = { 0 };

	if (!r) {
		if (!look_up(pc, &new))
			return NULL;
		if (nregions == REGIONS_MAX)
			nregions = 0; /* the table is only a cache of /proc/self/maps */
		r = &regions[nregions++];
		*r = new;
	}
	return r->prot & PROT_EXEC ? r : NULL;
}

void regions_detached(uint64_t addr)
{
	const struct region *r = find(addr);

	if (r)
		regions_forget(r->start, r->end - r->start);
}

int regions_fault(uint64_t pc)
{
	struct region r = { 0 };

	return look_up(pc, &r) ? SEGV_ACCERR : SEGV_MAPERR;
}

/* Removes [start, end) from the known regions. */
static void cut(uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < nregions; i++) {
		struct region *r = &regions[i];

		if (r->end <= start || r->start >= end)
			continue;
		if (r->start < start && r->end > end && nregions < REGIONS_MAX) {
			struct region *tail = &regions[nregions++];

			*tail = *r;
			tail->offset += end - r->start;
			tail->start = end;
			r->end = start;
		} else if (r->start < start) {
			r->end = start;
		} else if (r->end > end) {
			r->offset += end - r->start;
			r->start = end;
		} else {
			*r = regions[--nregions];
			i--;
		}
	}
}

static void unwatch_page(struct watched *w)
{
	nwatched_on -= w->on;
	w->on = false;
	w->prot = 0;
}

static void unwatch(uint64_t start, uint64_t end)
{
	if (!nwatched)
		return;
	if ((end - start) / PAGE < 256) {
		for (uint64_t page = start & ~(PAGE - 1); page < end; page += PAGE) {
			struct watched *w = watch_entry(page, false);

			if (w)
				unwatch_page(w);
		}
		return;
	}
	for (unsigned i = 0; i < WATCHED_MAX; i++)
		if (watched[i].page >= start && watched[i].page < end)
			unwatch_page(&watched[i]);
}

void regions_forget(uint64_t start, uint64_t n)
{
	uint64_t end = start + ((n + PAGE - 1) & ~(PAGE - 1));

	cut(start, end);
	unwatch(start, end);
	cache_invalidate(start, end - start);
}

void regions_protect(uint64_t start, uint64_t n, int prot)
{
	uint64_t end = start + ((n + PAGE - 1) & ~(PAGE - 1));
	struct region part[16];
	unsigned k = 0;

	for (unsigned i = 0; i < nregions && k < 16; i++) {
		struct region *r = &regions[i];

		if (r->end <= start || r->start >= end)
			continue;
		part[k] = *r;
		if (part[k].start < start) {
			part[k].offset += start - part[k].start;
			part[k].start = start;
		}
		if (part[k].end > end)
			part[k].end = end;
		part[k].prot = prot;
		k++;
	}
	cut(start, end);
	for (unsigned i = 0; i < k && nregions < REGIONS_MAX; i++)
		regions[nregions++] = part[i];
	unwatch(start, end);
	cache_invalidate(start, end - start);
}

/* Whether the page was written too often for translations of its code to be kept. A compiler that fills a page
 * procedure by procedure writes often, but not for ever: so the page is tried again from time to time. */
static bool is_written_often(struct watched *w)
{
	if (w->never)
		return true;
	if (w->writes <= WRITES_MAX)
		return false;
	if (!w->limit)
		w->limit = ALONE_FIRST;
	if (++w->alone < w->limit)
		return true;
	w->alone = 0;
	if (w->limit < ALONE_MAX)
		w->limit *= 2;
	w->writes = WRITES_MAX;
	return false;
}

bool regions_watch(const struct region *r, uint64_t pc, unsigned n)
{
	bool keep = true;

	if (r->shared) /* other processes that map shared memory can write it */
		return false;
	if (!(r->prot & PROT_WRITE))
		return true;
	for (uint64_t page = pc & ~(PAGE - 1); page < pc + n; page += PAGE) {
		struct watched *w = watch_entry(page, true);

		if (!w)
			return false;
		if (is_written_often(w)) {
			keep = false;
			continue;
		}
		if (w->on)
			continue;
		w->prot = (uint8_t)r->prot;
		if (sys_failed(sys(__NR_mprotect, page, PAGE, r->prot & ~PROT_WRITE)))
			return false;
		w->on = true;
		nwatched_on++;
	}
	return keep;
}

bool regions_watched(uint64_t page)
{
	const struct watched *w = nwatched_on ? watch_entry(page, false) : NULL;

	return w && w->on;
}

uint64_t regions_watched_alike(uint64_t page, uint64_t end)
{
	bool on = regions_watched(page);
	uint64_t near = end - page > PAGES_NEAR * PAGE ? page + PAGES_NEAR * PAGE : end;

	if (!nwatched_on)
		return end;
	do
		page += PAGE;
	while ((on ? page < end : page < near) && regions_watched(page) == on);
	if (on || page < near)
		return page;
	/* a mapping may be terabytes long: the table of watched pages is scanned instead of the pages */
	for (unsigned i = 0; i < WATCHED_MAX; i++)
		if (watched[i].on && watched[i].page >= page && watched[i].page < end)
			end = watched[i].page;
	return end;
}

static void release(struct watched *w)
{
	cache_invalidate(
		w->page,
		/* done before the page is writable, because other threads may write to it at
		 * once */
		PAGE);
	sys(__NR_mprotect, w->page, PAGE, w->prot);
	w->on = false;
	nwatched_on--;
}

void regions_release(uint64_t start, uint64_t n)
{
	uint64_t limit = 1ul << ADDRESS_BITS, first = start & ~(PAGE - 1), end;

	if (!n || start >= limit)
		return;
	end = n < limit - start ? start + n : limit;
	if (end - first <= PAGES_NEAR * PAGE) {
		for (uint64_t page = first; nwatched_on && page < end; page += PAGE) {
			struct watched *w = watch_entry(page, false);

			if (w && w->on)
				release(w);
		}
		return;
	}
	for (unsigned i = 0; nwatched_on && i < WATCHED_MAX; i++)
		if (watched[i].on && watched[i].page >= first && watched[i].page < end)
			release(&watched[i]);
}

bool regions_write_fault(uint64_t addr)
{
	struct watched *w = watch_entry(addr & ~(PAGE - 1), false);

	if (!w)
		return false;
	if (!w->on) /* another thread's write to the page faulted just before and made it writable */
		return w->prot & PROT_WRITE;
	w->writes++;
	release(w);
	return true;
}

void regions_keep_writable(uint64_t addr)
{
	struct watched *w;

	lock(&cache_lock);
	w = watch_entry(addr & ~(PAGE - 1), true);
	if (w && w->on)
		release(w);
	if (w)
		w->never = true;
	unlock(&cache_lock);
}

bool regions_any_watched(void)
{
	return __atomic_load_n(&nwatched_on, __ATOMIC_RELAXED);
}

bool regions_unwatch_all(void)
{
	bool any = nwatched_on > 0;

	for (unsigned i = 0; nwatched_on && i < WATCHED_MAX; i++)
		if (watched[i].on)
			release(&watched[i]);
	return any;
}

void regions_renumber(void)
{
	for (unsigned i = 0; i < nregions; i++)
		regions[i].image = 0;
}
