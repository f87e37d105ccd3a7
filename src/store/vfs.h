/* SPDX-License-Identifier: MIT */
/*
 * SQLite on open descriptors: a VFS for one database. SQLite opens, looks for and deletes no file
 * by name, takes no lock, and writes nothing if the database is only read. The code that opens the
 * descriptors has checked the files.
 */
#ifndef ASSAY_STORE_VFS_H
#define ASSAY_STORE_VFS_H

#include <sqlite3.h>

#include "store/rollback.h"

struct vfs {
	sqlite3_vfs vfs;
	char name[32];
	int fd; /* descriptor of the database; the caller's */
	/* descriptor of its rollback journal; the caller's; -1: the database is read-only */
	int journal;
	struct rollback *
		/* a killed writer's journal, whose pages replace those of the database; or NULL */
		rollback;
};

/* Opens the database of v. Returns SQLite's error code; *db must be closed with vfs_close in any
 * case. */
int vfs_open(struct vfs *v, sqlite3 **db);
void vfs_close(struct vfs *v, sqlite3 *db);

#endif
