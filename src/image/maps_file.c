/* SPDX-License-Identifier: MIT */
#include "image/maps.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"

/* Whether mappings of the file system show another device than stat does. */
static bool shows_device(const struct statfs *fs)
{
	return fs->f_type != BTRFS_SUPER_MAGIC && fs->f_type != OVERLAYFS_SUPER_MAGIC;
}

/* Returns 0 if it is the mapped file, else the reason as an errno (ESTALE: it is another file). */
static int compare(const struct map *m, const struct stat *st, const struct statfs *fs)
{
	if (!S_ISREG(st->st_mode))
		return EINVAL;
	if (st->st_ino != m->inode)
		return ESTALE;
	if (st->st_dev != makedev(m->dev_major, m->dev_minor) && shows_device(fs))
		return ESTALE;
	return 0;
}

static int compare_path(const struct map *m, const char *path)
{
	struct stat st;
	struct statfs fs;

	return stat(path, &st) || statfs(path, &fs) ? errno : compare(m, &st, &fs);
}

static int compare_file(const struct map *m, int fd)
{
	struct stat st;
	struct statfs fs;

	return fstat(fd, &st) || fstatfs(fd, &fs) ? errno : compare(m, &st, &fs);
}

enum place {
	PLACE_MAP_FILES,
	PLACE_ROOT,
	PLACE_ROOT_DELETED, /* the file's name may really end in " (deleted)" */
	PLACE_PATH,
	PLACES,
};

static bool path_in(enum place place, const struct map *m, pid_t pid, char *buf, size_t n)
{
	int len = 0;

	if (place == PLACE_MAP_FILES)
		len = snprintf(buf, n, "/proc/%d/map_files/%llx-%llx", (int)pid,
			       (unsigned long long)m->start, (unsigned long long)m->end);
	else if (m->name[0] == '/' && (place != PLACE_ROOT_DELETED || m->deleted))
		len = place == PLACE_PATH ? snprintf(buf, n, "%s", m->name)
					  : snprintf(buf, n, "/proc/%d/root%s%s", (int)pid, m->name,
						     place == PLACE_ROOT ? "" : " (deleted)");
	return len > 0 && (size_t)len < n;
}

static void explain(const struct map *m, pid_t pid, int why, struct err *err)
{
	if (m->deleted || why == ESTALE) {
		err_set(err, ERR_FAILED, "%s, as mapped by process %d, was %s", m->name, (int)pid,
			m->deleted ? "deleted" : "replaced");
		err_hint(err,
			 "run as root (CAP_CHECKPOINT_RESTORE opens it through /proc/%d/map_files)",
			 (int)pid);
		return;
	}
	errno = why;
	err_sys(err, "cannot open %s, as mapped by process %d", m->name, (int)pid);
}

char *maps_file(const struct map *m, pid_t pid, char *buf, size_t n, struct err *err)
{
	int why = ENOENT;

	if (!m->inode) {
		err_set(err, ERR_FAILED, "no file is mapped at 0x%llx of process %d",
			(unsigned long long)m->start, (int)pid);
		return NULL;
	}
	for (int place = 0; place < PLACES; place++) {
		int result;

		if (!path_in(place, m, pid, buf, n))
			continue;
		result = compare_path(m, buf);
		if (!result)
			return buf;
		/* the reason that another file was found says more than that a path was closed to
		 * the recorder */
		if (why != ESTALE && place != PLACE_MAP_FILES)
			why = result;
	}
	explain(m, pid, why, err);
	return NULL;
}

/* Opens the file through map_files. -1: that is not allowed, or it is another file. */
static int open_mapped(const struct map *m, const struct broker *b, pid_t pid)
{
	int fd = m->inode ? broker_open_mapped(b, pid, m->start, m->end) : -1;

	if (fd >= 0 && compare_file(m, fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

int maps_open(const struct map *m, const struct broker *b, pid_t pid, struct err *err)
{
	int fd = open_mapped(m, b, pid);
	char path[4400];
	struct stat st;

	if (fd >= 0 || !maps_file(m, pid, path, sizeof(path), err))
		return fd;
	fd = file_open(path, &st, err);
	if (fd >= 0 && compare_file(m, fd)) {
		close(fd);
		return err_set(err, ERR_FAILED, "%s was replaced while it was opened", m->name);
	}
	return fd;
}
