/* SPDX-License-Identifier: MIT */
#include "store/db_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/privilege.h"
#include "store/recording.h"

#define MAGIC "SQLite format 3"
#define ID_AT 68	 /* offset of the application id in the first page */
#define VERSION_AT 18	 /* offset of the version, which is 2 in WAL mode */
#define LOCKS 0x40000000 /* first of the LOCKS_N bytes that SQLite locks */
#define LOCKS_N 512
#define OUR_LOCK (LOCKS + LOCKS_N)

static bool read_head(int fd, const struct rollback *r, uint8_t head[ID_AT + 4])
{
	return rollback_pread(r, fd, head, ID_AT + 4, 0) == ID_AT + 4;
}

bool db_file_is_recording(int fd, const struct rollback *r)
{
	uint8_t head[ID_AT + 4];
	const uint8_t *id = head + ID_AT;

	return read_head(fd, r, head) && !memcmp(head, MAGIC, sizeof(MAGIC)) &&
	       ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
		       RECORDING_APPLICATION_ID;
}

int db_file_lock(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OUR_LOCK, .l_len = 1
	};

	return fcntl(fd, F_SETLK, &lock);
}

/* Earlier versions of the recorder held SQLite's own lock. */
pid_t db_file_recorder(int fd)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCKS, .l_len = LOCKS_N + 1
	};

	if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

const char *db_file_recorder_text(pid_t recorder, char *buf, size_t n)
{
	if (recorder > 0)
		snprintf(buf, n, "process %d", (int)recorder);
	else /* the process belongs to another pid namespace, or machine */
		snprintf(buf, n, "a process that cannot be seen from here");
	return buf;
}

static int check_owner(int fd, const struct stat *journal, const char *name, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return err_sys(err, "cannot look at the recording of %s", name);
	if (!S_ISREG(journal->st_mode)) {
		err_set(err, ERR_FAILED, "%s is no regular file, as a recorder's journal is", name);
		return err_hint(err, "nothing of assay's makes such a file: delete it");
	}
	if (journal->st_uid != st.st_uid && journal->st_uid != 0) {
		err_set(err, ERR_FAILED, "%s belongs to user %u, its recording to user %u", name,
			(unsigned)journal->st_uid, (unsigned)st.st_uid);
		return err_hint(err, "who owns the recording did not write that: delete it");
	}
	return 0;
}

static int open_journal(struct db_file *f, const char *name, struct err *err)
{
	struct stat st;

	f->journal = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (f->journal < 0 && errno == ENOENT)
		return 0;
	if (f->journal < 0) {
		err_sys(err, "cannot read %s, which a killed recorder may have left", name);
		return err_hint(err, "a recording is not whole without it");
	}
	if (fstat(f->journal, &st))
		return err_sys(err, "cannot look at %s", name);
	if (check_owner(f->fd, &st, name, err))
		return -1;
	if (rollback_is_hot(f->journal))
		return rollback_open(&f->rollback, f->journal, name, err);
	close(f->journal);
	f->journal = -1;
	return 0;
}

/* Looks for the journal beside the file itself, not beside a symbolic link to it. */
static int find_journal(struct db_file *f, const char *path, struct err *err)
{
	char *real = realpath(path, NULL), name[4200];

	if (!real)
		return err_sys(err, "cannot read %s", path);
	snprintf(name, sizeof(name), "%s-journal", real);
	free(real);
	return open_journal(f, name, err);
}

static const char *remedy(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return "`assay record` makes one; -i FILE names another";
	if (!S_ISREG(st.st_mode))
		return "-i FILE names a recording";
	return privilege_became_caller()
		       ? "it is read as the user who called sudo, and is not theirs (as root with "
			 "`env -u SUDO_UID assay`)"
		       : "recordings are private to their owner";
}

static int open_regular(const char *path, struct err *err)
{
	struct stat st;
	int fd = file_open(path, &st, err);

	return fd < 0 ? err_hint(err, "%s", remedy(path)) : fd;
}

static int refuse_foreign(const char *path, struct err *err)
{
	err_set(err, ERR_FAILED, "%s is no recording of assay's", path);
	return err_hint(err, "`assay record` makes one");
}

/* Checks the file before SQLite reads it. */
static int check(struct db_file *f, const char *path, struct err *err)
{
	pid_t recorder = db_file_recorder(f->fd);
	uint8_t head[ID_AT + 4];
	struct stat st;
	char who[64];

	if (recorder) {
		err_set(err, ERR_FAILED, "%s is still being recorded, by %s", path,
			db_file_recorder_text(recorder, who, sizeof(who)));
		return err_hint(err, "read it when the recorder has ended");
	}
	if (fstat(f->fd, &st))
		return err_sys(err, "cannot look at %s", path);
	if (st.st_size && find_journal(f, path, err))
		return -1;
	if (!st.st_size || (f->journal >= 0 && !f->rollback.size)) {
		err_set(err, ERR_FAILED, "%s is empty", path);
		return err_hint(
			err,
			"its recorder was killed, or could not write, before it kept anything");
	}
	if (!db_file_is_recording(f->fd, db_file_rollback(f)) ||
	    !read_head(f->fd, db_file_rollback(f), head))
		return refuse_foreign(path, err);
	if (head[VERSION_AT] == 1 && head[VERSION_AT + 1] == 1)
		return 0;
	err_set(err, ERR_FAILED, "%s was put into SQLite's WAL mode, in which recordings are not",
		path);
	return err_hint(err, "sqlite3 %s 'PRAGMA journal_mode=DELETE' changes it back", path);
}

int db_file_open(struct db_file *f, const char *path, struct err *err)
{
	*f = (struct db_file){ .journal = -1, .rollback = { .fd = -1 } };
	f->fd = open_regular(path, err);
	if (f->fd < 0)
		return -1;
	if (!check(f, path, err))
		return 0;
	db_file_close(f);
	return -1;
}

void db_file_close(struct db_file *f)
{
	rollback_close(&f->rollback);
	if (f->journal >= 0)
		close(f->journal);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = f->journal = -1;
}

struct rollback *db_file_rollback(struct db_file *f)
{
	return f->journal >= 0 ? &f->rollback : NULL;
}
