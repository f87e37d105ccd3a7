/* SPDX-License-Identifier: MIT */
#include "store/derived.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/digest.h"

#define NAME_LEN (DIGEST_TEXT + 32)

/* The cache folder. */

static bool is_mine(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid == geteuid();
}

/* Makes the folder only if its parent belongs to the effective user: under sudo, HOME may belong
 * to another user. */
static void make_in_mine(const char *parent, const char *name)
{
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && is_mine(fd))
		mkdirat(fd, name, 0700);
	if (fd >= 0)
		close(fd);
}

static const char *folder_in(const char *variable)
{
	const char *path = secure_getenv(variable);

	return path && path[0] == '/' && strlen(path) < 4000 ? path : NULL;
}

/* Finds the folder's parent, which may be a symbolic link of the user's. */
static bool find_base(char *base, size_t n)
{
	const char *cache = folder_in("XDG_CACHE_HOME"), *home = folder_in("HOME");

	if (cache) {
		snprintf(base, n, "%s", cache);
		return true;
	}
	if (home) {
		make_in_mine(home, ".cache");
		snprintf(base, n, "%s/.cache", home);
	}
	return home != NULL;
}

/* Opens the folder if only its owner, the effective user, can write to it; else returns -1. */
static int open_folder(void)
{
	char base[4096], path[4200];
	struct stat st;
	int fd;

	if (!find_base(base, sizeof(base)))
		return -1;
	make_in_mine(base, "assay");
	snprintf(path, sizeof(path), "%s/assay", base);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (is_mine(fd) && !fstat(fd, &st) && !(st.st_mode & 022))
		return fd;
	close(fd);
	return -1;
}

static void file_name(const char *content, const char *kind, char name[NAME_LEN])
{
	snprintf(name, NAME_LEN, "%.64s.%.30s", content, kind);
}

/* Writes a file's header; the derived data follows, compressed. */
static size_t header(const char *key, char *buf, size_t n)
{
	size_t used = (size_t)snprintf(buf, n, "assay derived 1 %zu\n%s\n", strlen(key), key);

	return used < n ? used : 0;
}

/* Limiting the size of the cache. */

struct entry {
	char name[256];
	struct timespec used;
	uint64_t size;
};

static int by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct entry *)a)->used;
	const struct timespec *y = &((const struct entry *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool add_entry(struct buffer *list, int folder, const char *name, uint64_t *total)
{
	struct entry *e;
	struct stat st;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return true;
	if (!buffer_room(list, sizeof(*e)))
		return false;
	e = (struct entry *)(list->p + list->n);
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->used = st.st_mtim;
	e->size = (uint64_t)st.st_size;
	*total += e->size;
	list->n += sizeof(*e);
	return true;
}

/* Removes the least recently used files until all together have at most DERIVED_MAX bytes. */
static void make_room(int folder)
{
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again >= 0 ? fdopendir(again) : NULL;
	struct buffer list = { 0 };
	uint64_t total = 0;
	struct dirent *found;
	struct entry *e;

	if (!d && again >= 0)
		close(again);
	while (d && (found = readdir(d)) && add_entry(&list, folder, found->d_name, &total))
		;
	if (d)
		closedir(d);
	e = (struct entry *)list.p;
	if (list.n)
		qsort(e, list.n / sizeof(*e), sizeof(*e), by_use);
	for (size_t i = 0; i < list.n / sizeof(*e) && total > DERIVED_MAX; i++) {
		unlinkat(folder, e[i].name, 0);
		total -= e[i].size;
	}
	free(list.p);
}

/* Reading a file. */

static bool read_file(int folder, const char *name, struct buffer *b)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	bool ok = fd >= 0 && is_mine(fd) && !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		  st.st_size > 0 && st.st_size <= DERIVED_MAX && buffer_room(b, (size_t)st.st_size);

	while (ok && b->n < (size_t)st.st_size) {
		ssize_t got = read(fd, b->p + b->n, (size_t)st.st_size - b->n);

		if (got > 0)
			b->n += (size_t)got;
		else
			ok = got < 0 && errno == EINTR;
	}
	if (ok)
		futimens(fd, NULL); /* marks the file as recently used */
	if (fd >= 0)
		close(fd);
	return ok;
}

static bool unpack(const uint8_t *p, size_t n, struct buffer *to)
{
	unsigned long long size = ZSTD_getFrameContentSize(p, n);

	if (!size || size > DERIVED_MAX || !buffer_room(to, (size_t)size))
		return false;
	to->n = ZSTD_decompress(to->p, (size_t)size, p, n);
	return !ZSTD_isError(to->n) && to->n == size;
}

bool derived_read(const char *content, const char *kind, const char *key, struct buffer *b)
{
	struct buffer file = { 0 };
	char name[NAME_LEN], head[1024];
	size_t n = header(key, head, sizeof(head));
	int folder = open_folder();
	bool ok;

	*b = (struct buffer){ 0 };
	file_name(content, kind, name);
	ok = folder >= 0 && n && read_file(folder, name, &file) && file.n > n &&
	     !memcmp(file.p, head, n) && unpack(file.p + n, file.n - n, b);
	if (folder >= 0)
		close(folder);
	free(file.p);
	if (!ok) {
		free(b->p);
		*b = (struct buffer){ 0 };
	}
	return ok;
}

/* Writing a file. */

/* Compresses the data with a checksum, which detects damage. */
static bool pack(const struct buffer *b, const char *key, struct buffer *to)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();
	char head[1024];
	size_t bound = ZSTD_compressBound(b->n), n = header(key, head, sizeof(head));
	bool ok = c && n && buffer_room(to, n + bound) &&
		  !ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1));

	if (ok) {
		memcpy(to->p, head, n);
		to->n = ZSTD_compress2(c, to->p + n, bound, b->p, b->n);
		ok = !ZSTD_isError(to->n);
		to->n += n;
	}
	ZSTD_freeCCtx(c);
	return ok && to->n <= DERIVED_MAX;
}

static bool write_file(int folder, const char *name, const struct buffer *b)
{
	char made[64];
	bool ok;
	int fd;

	snprintf(made, sizeof(made), ".new-%d", (int)getpid());
	unlinkat(folder, made, 0); /* a temporary file of a process that was killed */
	fd = openat(folder, made, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ok = write(fd, b->p, b->n) == (ssize_t)b->n;
	close(fd);
	ok = ok && !renameat(folder, made, folder, name);
	if (!ok)
		unlinkat(folder, made, 0);
	return ok;
}

bool derived_write(const char *content, const char *kind, const char *key, const struct buffer *b)
{
	struct buffer file = { 0 };
	char name[NAME_LEN];
	int folder = -1;
	bool ok = b->n && b->n <= DERIVED_MAX && pack(b, key, &file);

	if (ok)
		folder = open_folder();
	if (folder >= 0) {
		file_name(content, kind, name);
		ok = write_file(folder, name, &file);
		make_room(folder);
		close(folder);
	}
	free(file.p);
	return ok && folder >= 0;
}
