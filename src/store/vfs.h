/* SPDX-License-Identifier: MIT */
/*
 * SQLite over descriptors: a VFS of one database. SQLite opens, looks for and deletes no file by its name, takes
 * no lock, and writes nothing where only reading was asked for. Who opens the descriptors has judged the files.
 */
#ifndef ASSAY_STORE_VFS_H
#define ASSAY_STORE_VFS_H

#include <sqlite3.h>

#include "store/rollback.h"

struct vfs {
	sqlite3_vfs vfs;
	char name[32];
	int fd;	     /* the database; stays the caller's */
	int journal; /* where its rollback journal goes, likewise; -1: it is read only */
	struct rollback *
		rollback; /* what a killed writer left, instead of what the database holds; or NULL */
};

/* Opens what v's descriptors say. SQLite's error code; *db is to be closed with vfs_close in any case. */
int vfs_open(struct vfs *v, sqlite3 **db);
void vfs_close(struct vfs *v, sqlite3 *db);

#endif
