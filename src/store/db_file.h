/* SPDX-License-Identifier: MIT */
/*
 * A recording's file: what tells it from others, its lock, and opening it for reading.
 *
 * A recorder holds a lock (fcntl) on its file from creation on to the end, in a byte that SQLite does not use. The lock belongs
 * to the process: it ends with it, and when the process closes any descriptor of the file.
 */
#ifndef ASSAY_STORE_DB_FILE_H
#define ASSAY_STORE_DB_FILE_H

#include <sys/types.h>

#include "store/rollback.h"

/* By its first page, in fd or in r if that is not NULL: SQLite's magic, and our application id. */
bool db_file_is_recording(int fd, const struct rollback *r);

/* Takes the recorder's lock. -1: another process holds it. */
int db_file_lock(int fd);
/* The recorder that holds the lock: its pid; 0 if there is none, -1 if its pid is not known here. */
pid_t db_file_recorder(int fd);
/* Describes the recorder: "process 17", or "a process" whose pid is not known here. */
const char *db_file_recorder_text(pid_t recorder, char *buf, size_t n);

/* A recording to be read. Nothing is ever written to it. */
struct db_file {
	int fd, journal;	  /* -1: no journal, or an empty one */
	struct rollback rollback; /* the journal's, where there is one */
};

/* Opens the recording at path, which may be a symbolic link. Recordings of other users are read, too; a hot journal
 * beside the file must be the owner's of the file, or root's. -1 with err set: there is none, it is something else, is being
 * recorded, or its journal is not to be trusted. */
int db_file_open(struct db_file *f, const char *path, struct err *err);
void db_file_close(struct db_file *f);
/* The rollback journal that is to be applied while reading, or NULL. */
struct rollback *db_file_rollback(struct db_file *f);

#endif
