/* SPDX-License-Identifier: MIT */
/*
 * The files of /proc/self that would show the engine: /proc/self/exe names the program, and maps and smaps hold the
 * program's mappings with the program's protections.
 */
#include <asm/errno.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>
#include <linux/mman.h>

#include "engine/os/procfs.h"
#include "engine/core/cache.h"
#include "engine/core/dispatch.h"
#include "engine/core/layout.h"
#include "engine/core/regions.h"
#include "engine/core/registers.h"
#include "engine/core/thread.h"
#include "engine/os/util.h"
#include "engine/record/log.h"
#include "engine/record/marks.h"
#include "engine/record/mode.h"
#include "engine/translate/block.h"
#include "engine/os/sys.h"

#define PAGE 4096ul
#define OWN_PATH_MAX 64

extern const char _end[]; /* the end of the engine's image, from the linker */

const char *procfs_hex(const char *s, uint64_t *v)
{
	for (*v = 0;; s++) {
		if (*s >= '0' && *s <= '9')
			*v = *v << 4 | (uint64_t)(*s - '0');
		else if (*s >= 'a' && *s <= 'f')
			*v = *v << 4 | (uint64_t)(*s - 'a' + 10);
		else
			return s;
	}
}

void procfs_lines(long fd, bool (*line)(void *ctx, const char *text, size_t n), void *ctx)
{
	char buf[8192]; /* the longest path is half of the buffer */
	size_t have = 0;
	long n;

	while ((n = sys(__NR_read, fd, buf + have, sizeof(buf) - have)) > 0) {
		size_t at = 0;

		have += (size_t)n;
		for (size_t end = 0; end < have; end++) {
			if (buf[end] != '\n')
				continue;
			buf[end] = 0;
			if (!line(ctx, buf + at, end - at))
				return;
			at = end + 1;
		}
		for (size_t i = at; i < have; i++)
			buf[i - at] = buf[i];
		have -= at;
	}
}

static const char *after_number(const char *s)
{
	while (*s >= '0' && *s <= '9')
		s++;
	return s;
}

/* A thread's folder holds the same files as its process's. */
static const char *after_task(const char *s)
{
	return starts_with(s, "task/") && *after_number(s + 5) == '/' ? after_number(s + 5) + 1 : s;
}

/* Returns the name that `path` has in the process's folder of /proc ("exe" and others), in buf; or
 * NULL. */
static const char *own_file(uint64_t path, char buf[OWN_PATH_MAX])
{
	char own[32];
	const char *s;
	size_t i = 0;

	if (!rt_copy(buf, (const void *)path, 6) || memcmp(buf, "/proc/", 6))
		return NULL;
	for (i = 6; i < OWN_PATH_MAX; i++) {
		if (!rt_copy(buf + i, (const void *)(path + i), 1))
			return NULL;
		if (!buf[i])
			break;
	}
	if (i == OWN_PATH_MAX)
		return NULL;
	format(own, sizeof(own), "%ld/", sys(__NR_getpid));
	s = buf + 6;
	if (starts_with(s, "thread-self/"))
		return s + 12;
	if (starts_with(s, "self/"))
		s += 5;
	else if (starts_with(s, own))
		s += strlen(own);
	else
		return NULL;
	return after_task(s);
}

static bool is_own_exe(uint64_t path)
{
	char buf[OWN_PATH_MAX];
	const char *s = own_file(path, buf);

	return s && !strcmp(s, "exe");
}

long procfs_readlink(struct thread *t, uint64_t path, uint64_t buf, int64_t size)
{
	size_t n = strlen(config.program);

	if (!is_own_exe(path))
		return rt_syscall(t);
	if (size <= 0)
		return -EINVAL;
	if ((int64_t)n > size)
		n = (size_t)size;
	return rt_copy((void *)buf, config.program, n) ? (long)n : -EFAULT;
}

long procfs_path(struct thread *t, enum reg reg)
{
	uint64_t path = t->regs[reg];
	long ret;

	if (!is_own_exe(path))
		return rt_syscall(t);
	t->regs[reg] = (uint64_t)config.program;
	ret = rt_syscall(t);
	t->regs[reg] = path;
	return ret;
}

/* A line of maps: an extent, its protection, and the rest from the offset's end on. */
struct line {
	uint64_t start, end, offset;
	char prot[4];
	const char *rest;
	size_t nrest;
};

/* The output, written in blocks. */
struct out {
	long fd;
	size_t n;
	char buf[8192];
};

static void flush(struct out *o)
{
	sys(__NR_write, o->fd, o->buf, o->n);
	o->n = 0;
}

static void put(struct out *o, const char *s, size_t n)
{
	for (; n; n--) {
		if (o->n == sizeof(o->buf))
			flush(o);
		o->buf[o->n++] = *s++;
	}
}

static void put_hex(struct out *o, uint64_t v)
{
	char digits[32];
	size_t n = format(digits, sizeof(digits), "%lx", v);

	if (n < 8)
		put(o, "00000000", 8 - n);
	put(o, digits, n);
}

/* Parses the first line of a mapping. False if the line is another one, as in smaps. */
static bool parse(const char *s, size_t n, struct line *l)
{
	const char *p = procfs_hex(s, &l->start);

	if (p == s || *p != '-')
		return false;
	p = procfs_hex(p + 1, &l->end);
	memcpy(l->prot, p + 1, 4);
	l->rest = procfs_hex(p + 6, &l->offset);
	l->nrest = n - (size_t)(l->rest - s);
	return true;
}

static void put_line(struct out *o, const struct line *l)
{
	put_hex(o, l->start);
	put(o, "-", 1);
	put_hex(o, l->end);
	put(o, " ", 1);
	put(o, l->prot, 4);
	put(o, " ", 1);
	put_hex(o, l->offset);
	put(o, l->rest, l->nrest);
	put(o, "\n", 1);
}

/* Writes the line, divided where pages are watched for writes, because the program may write to
 * those. */
static void put_cut(struct out *o, const struct line *whole)
{
	struct line l = *whole;

	while (l.start < whole->end) {
		l.prot[1] = regions_watched(l.start) ? 'w' : whole->prot[1];
		l.end = regions_watched_alike(l.start, whole->end);
		put_line(o, &l);
		if (!starts_with(l.rest, " 00:00 0 ")) /* whether a file is mapped */
			l.offset += l.end - l.start;
		l.start = l.end;
	}
}

static bool is_engines(const struct line *l)
{
	return (l->start >= ROOM_BASE && l->start < ROOM_END) ||
	       (marks_kept() && marks_in_the_way(l->start, 1)) ||
	       (l->start >= CACHE_BASE && l->start < (uint64_t)_end);
}

struct filter {
	struct out out;
	/* the text is smaps; the lines belong to one of the engine's mappings */
	bool details, drop;
};

static bool filter_line(void *ctx, const char *text, size_t n)
{
	struct filter *f = ctx;
	struct line l;

	if (!parse(text, n, &l)) {
		if (!f->drop) {
			put(&f->out, text, n);
			put(&f->out, "\n", 1);
		}
		return true;
	}
	f->drop = is_engines(&l);
	if (!f->drop && (f->details || l.prot[1] == 'w'))
		put_line(&f->out, &l);
	else if (!f->drop)
		put_cut(&f->out, &l);
	return true;
}

long procfs_open(struct thread *t, enum reg path, enum reg flags)
{
	static struct filter f; /* protected by cache_lock */
	char buf[OWN_PATH_MAX];
	const char *s = own_file(t->regs[path], buf);
	long fd, cloexec = (long)t->regs[flags] & O_CLOEXEC;

	if (!s || (strcmp(s, "maps") && strcmp(s, "smaps")))
		return procfs_path(t, path);
	fd = rt_syscall(t);
	if (sys_failed(fd))
		return fd;
	lock(&cache_lock);
	f = (struct filter){ .details = s[0] == 's' };
	f.out.fd = sys(__NR_memfd_create, "maps", MFD_CLOEXEC);
	if (!sys_failed(f.out.fd)) {
		procfs_lines(fd, filter_line, &f);
		flush(&f.out);
		sys(__NR_lseek, f.out.fd, 0, 0);
		sys(__NR_dup3, f.out.fd, fd, cloexec);
		sys(__NR_close, f.out.fd);
	}
	unlock(&cache_lock);
	return fd;
}

struct entry { /* the kernel's linux_dirent64, as far as it is used here */
	uint64_t inode, offset;
	uint16_t size;
	uint8_t type;
	char name[13];
};

/* Whether the open folder lists the process's descriptors. */
static bool lists_descriptors(uint64_t fd)
{
	char link[64], path[OWN_PATH_MAX + 1], own[OWN_PATH_MAX];
	long pid = sys(__NR_getpid), n;
	const char *s = path;

	format(link, sizeof(link), "/proc/self/fd/%ld", (long)fd);
	n = sys(__NR_readlink, link, path, OWN_PATH_MAX);
	if (n <= 0)
		return false;
	path[n] = 0;
	format(own, sizeof(own), "/proc/%ld/", pid);
	if (!starts_with(s, own))
		return false;
	s = after_task(s + strlen(own));
	return !strcmp(s, "fd") || !strcmp(s, "fdinfo");
}

/* Removes the entries at [at, at + size) from the `n` bytes at `buf`. False if they cannot be
 * accessed. */
static bool take_out(uint64_t buf, uint64_t n, uint64_t at, uint64_t size)
{
	char piece[256];

	for (uint64_t from = at + size; from < n;) {
		uint64_t k = n - from < sizeof(piece) ? n - from : sizeof(piece);

		if (!rt_copy(piece, (const void *)(buf + from), k) ||
		    !rt_copy((void *)(buf + from - size), piece, k))
			return false;
		from += k;
	}
	return true;
}

long procfs_list(struct thread *t)
{
	uint64_t fd = t->regs[RDI], buf = t->regs[RSI];
	long n = rt_syscall(t);
	char ours[32];

	if (sys_failed(n) || n == 0 || log_fd < 0 || !lists_descriptors(fd))
		return n;
	format(ours, sizeof(ours), "%ld", (long)log_fd);
	for (uint64_t at = 0; at + 24 <= (uint64_t)n;) {
		struct entry e;

		if (!rt_copy(&e, (const void *)(buf + at), 24) || e.size < 24)
			break;
		memset(e.name, 0, sizeof(e.name));
		rt_copy(e.name, (const void *)(buf + at + 19),
			e.size - 19u < sizeof(e.name) ? e.size - 19u : sizeof(e.name));
		e.name[sizeof(e.name) - 1] = 0;
		if (!strcmp(e.name, ours)) {
			n = take_out(buf, (uint64_t)n, at, e.size) ? n - e.size : n;
			break;
		}
		at += e.size;
	}
	return n ? n : procfs_list(t); /* 0 would mean the end of the folder */
}

struct sum {
	uint64_t all, data;
};

static bool add_line(void *ctx, const char *text, size_t n)
{
	struct sum *sum = ctx;
	struct line l;

	if (parse(text, n, &l) && is_engines(&l)) {
		sum->all += l.end - l.start;
		if (l.prot[1] == 'w' && l.prot[3] == 'p')
			sum->data += l.end - l.start;
	}
	return true;
}

uint64_t procfs_engine_size(bool data)
{
	struct sum sum = { 0 };
	long fd = sys(__NR_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (sys_failed(fd))
		return 0;
	procfs_lines(fd, add_line, &sum);
	sys(__NR_close, fd);
	return data ? sum.data : sum.all;
}
