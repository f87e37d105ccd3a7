/* SPDX-License-Identifier: MIT */
#include "store/vfs.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* the sector size that SQLite assumes; a rollback journal's header takes one sector */
#define SECTOR 4096

struct handle {
	sqlite3_file base;
	const struct vfs *v;
	int fd;
	const struct rollback *rollback;
};

static int close_file(sqlite3_file *f)
{
	(void)f; /* The descriptors belong to the caller. */
	return SQLITE_OK;
}

static int read_file(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	const struct handle *file = (const struct handle *)f;
	ssize_t got = rollback_pread(file->rollback, file->fd, to, (size_t)n, (uint64_t)at);

	if (got < 0)
		return SQLITE_IOERR_READ;
	if (got == n)
		return SQLITE_OK;
	memset((char *)to + got, 0, (size_t)(n - got));
	return SQLITE_IOERR_SHORT_READ;
}

static int write_file(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	const struct handle *file = (const struct handle *)f;

	if (file->v->journal < 0)
		return SQLITE_READONLY;
	while (n > 0) {
		ssize_t done = pwrite(file->fd, from, (size_t)n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return errno == ENOSPC || errno == EDQUOT ? SQLITE_FULL
								  : SQLITE_IOERR_WRITE;
		from = (const char *)from + done;
		n -= (int)done;
		at += done;
	}
	return SQLITE_OK;
}

static int truncate_file(sqlite3_file *f, sqlite3_int64 size)
{
	const struct handle *file = (const struct handle *)f;

	if (file->v->journal < 0)
		return SQLITE_READONLY;
	return ftruncate(file->fd, size) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

/* Does nothing, because power loss is not guarded against. */
static int sync_file(sqlite3_file *f, int flags)
{
	(void)f;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
	const struct handle *file = (const struct handle *)f;
	struct stat st;

	if (fstat(file->fd, &st))
		return SQLITE_IOERR_FSTAT;
	*size = file->rollback ? (sqlite3_int64)file->rollback->size : st.st_size;
	return SQLITE_OK;
}

/* Does nothing, because recordings are locked as a whole (store/db_file.h). */
static int lock_file(sqlite3_file *f, int level)
{
	(void)f;
	(void)level;
	return SQLITE_OK;
}

static int check_lock(sqlite3_file *f, int *locked)
{
	(void)f;
	*locked = 0;
	return SQLITE_OK;
}

static int control_file(sqlite3_file *f, int what, void *arg)
{
	(void)f;
	(void)what;
	(void)arg;
	return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *f)
{
	(void)f;
	return SECTOR;
}

static int characteristics(sqlite3_file *f)
{
	(void)f;
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = close_file,
	.xRead = read_file,
	.xWrite = write_file,
	.xTruncate = truncate_file,
	.xSync = sync_file,
	.xFileSize = file_size,
	.xLock = lock_file,
	.xUnlock = lock_file,
	.xCheckReservedLock = check_lock,
	.xFileControl = control_file,
	.xSectorSize = sector_size,
	.xDeviceCharacteristics = characteristics,
};

static int open_file(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
	const struct vfs *v = vfs->pAppData;
	struct handle *file = (struct handle *)f;

	(void)name;
	*file = (struct handle){ .v = v, .fd = -1 };
	if (flags & SQLITE_OPEN_MAIN_DB) {
		file->fd = v->fd;
		file->rollback = v->rollback;
	} else if (flags & SQLITE_OPEN_MAIN_JOURNAL) {
		file->fd = v->journal;
	}
	if (file->fd < 0)
		return SQLITE_CANTOPEN;
	file->base.pMethods = &methods;
	if (out)
		*out = flags;
	return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_IOERR_DELETE;
}

/* Reports that no journal exists, so that SQLite does not roll back. */
static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *there)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*there = 0;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int n, char *to)
{
	(void)vfs;
	snprintf(to, (size_t)n, "%s", name);
	return SQLITE_OK;
}

int vfs_open(struct vfs *v, sqlite3 **db)
{
	const sqlite3_vfs *system = sqlite3_vfs_find(NULL);
	int rc;

	*db = NULL;
	if (!system)
		return SQLITE_ERROR;
	snprintf(v->name, sizeof(v->name), "assay-%p", (void *)v);
	v->vfs = *system; /* clock and random numbers */
	v->vfs.iVersion = 2;
	v->vfs.szOsFile = sizeof(struct handle);
	v->vfs.pNext = NULL;
	v->vfs.zName = v->name;
	v->vfs.pAppData = v;
	v->vfs.xOpen = open_file;
	v->vfs.xDelete = delete_file;
	v->vfs.xAccess = access_file;
	v->vfs.xFullPathname = full_name;
	rc = sqlite3_vfs_register(&v->vfs, 0);
	if (rc == SQLITE_OK)
		rc = sqlite3_open_v2("recording", db,
				     v->journal < 0 ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
				     v->name);
	if (rc == SQLITE_OK) /* no other files exist */
		rc = sqlite3_exec(*db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
	return rc;
}

void vfs_close(struct vfs *v, sqlite3 *db)
{
	sqlite3_close(db);
	if (v->vfs.pAppData)
		sqlite3_vfs_unregister(&v->vfs);
}
