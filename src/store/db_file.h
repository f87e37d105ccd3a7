/* SPDX-License-Identifier: MIT */
/*
 * The file of a recording: identification, its lock, and opening it for reading.
 *
 * A recorder holds a lock (fcntl) on a byte of its file that SQLite does not use, from creation to
 * the end. The lock belongs to the process: it is released when the process ends, or closes any
 * descriptor of the file.
 */
#ifndef ASSAY_STORE_DB_FILE_H
#define ASSAY_STORE_DB_FILE_H

#include <sys/types.h>

#include "store/rollback.h"

/* Identifies a recording by its first page, in fd, or in r if that is not NULL: SQLite's magic
 * and our application id. */
bool db_file_is_recording(int fd, const struct rollback *r);

/* Takes the recorder's lock. -1: another process holds it. */
int db_file_lock(int fd);
/* The pid of the recorder that holds the lock; 0 if there is none, -1 if its pid is not visible
 * here. */
pid_t db_file_recorder(int fd);
/* Describes the recorder: "process 17", or "a process" if its pid is not visible here. */
const char *db_file_recorder_text(pid_t recorder, char *buf, size_t n);

/* A recording that is read. Nothing is ever written to it. */
struct db_file {
	int fd, journal;	  /* descriptors; journal -1: there is none, or it is empty */
	struct rollback rollback; /* the journal's contents, if there is one */
};

/* Opens the recording at path, which may be a symbolic link. Recordings of other users are
 * accepted; a hot journal beside the file must belong to the file's owner, or to root. -1 with
 * err set: there is none, it is something else, is being recorded, or its journal cannot be
 * trusted. */
int db_file_open(struct db_file *f, const char *path, struct err *err);
void db_file_close(struct db_file *f);
/* The rollback journal to apply while reading, or NULL. */
struct rollback *db_file_rollback(struct db_file *f);

#endif
