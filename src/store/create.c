/* SPDX-License-Identifier: MIT */
#include "store/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/privilege.h"
#include "store/db_file.h"

#define WAIT_MS 2000 /* waiting time for recorders that start in the same folder */

/* What exists at the path of a new recording. */
enum found {
	FOUND_NOTHING,
	FOUND_RECORDING, /* a recording that is finished, or that a killed recorder left; the latter may be empty */
	FOUND_LIVE,  /* a recorder is writing it */
	FOUND_OTHER, /* another file, which is neither read nor moved */
};

static enum found look_into(int fd, pid_t *recorder)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return FOUND_OTHER;
	*recorder = db_file_recorder(fd);
	if (*recorder)
		return FOUND_LIVE;
	return !st.st_size || db_file_is_recording(fd, NULL) ? FOUND_RECORDING : FOUND_OTHER;
}

static enum found look(const char *path, pid_t *recorder)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	enum found found;
	struct stat st;

	if (fd < 0) /* creating a file in an unwritable folder fails with the reason */
		return lstat(path, &st) ? FOUND_NOTHING : FOUND_OTHER;
	found = look_into(fd, recorder);
	close(fd);
	return found;
}

static int refuse_live(const char *path, pid_t recorder, struct err *err)
{
	char who[64];

	err_set(err, ERR_FAILED, "%s is being recorded by %s", path,
		db_file_recorder_text(recorder, who, sizeof(who)));
	return err_hint(err, "-o FILE records elsewhere, or wait for the other recorder to end");
}

/* Checks that PATH.old is absent or a recording, since it will be replaced. */
static int check_old(const char *path, const char *old, struct err *err)
{
	pid_t recorder = 0;

	switch (look(old, &recorder)) {
	case FOUND_LIVE:
		return refuse_live(old, recorder, err);
	case FOUND_OTHER:
		err_set(err, ERR_FAILED, "%s exists and is no recording; %s cannot be kept as it",
			old, path);
		return err_hint(err, "move it away, or -o FILE");
	default:
		return 0;
	}
}

static int move_old(const char *path, struct err *err)
{
	char old[4200], side[4300];

	snprintf(old, sizeof(old), "%s.old", path);
	if (check_old(path, old, err))
		return -1;
	if (rename(path, old)) {
		err_sys(err, "cannot keep %s as %s", path, old);
		return err_hint(err, "the folder must be writable; -o FILE records elsewhere");
	}
	/* the rollback journal of a killed recorder moves with its file */
	snprintf(side, sizeof(side), "%s-journal", old);
	unlink(side);
	snprintf(old, sizeof(old), "%s-journal", path);
	if (rename(old, side) && errno != ENOENT)
		return err_sys(err, "cannot keep %s", old);
	return 0;
}

static int keep_old(const char *path, struct err *err)
{
	pid_t recorder = 0;

	switch (look(path, &recorder)) {
	case FOUND_NOTHING:
		return 0;
	case FOUND_RECORDING:
		return move_old(path, err);
	case FOUND_LIVE:
		return refuse_live(path, recorder, err);
	default:
		err_set(err, ERR_FAILED, "%s exists and is no recording; it is not overwritten",
			path);
		return err_hint(err, "-o FILE records elsewhere");
	}
}

static int create(const char *path, struct err *err)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	err_sys(err, "cannot create %s", path);
	return err_hint(err,
			privilege_became_caller()
				? "-o FILE records elsewhere; the recording is written as the user "
				  "who called sudo (as root with `env -u SUDO_UID assay`)"
				: "-o FILE records elsewhere");
}

/* Removes the journal of a killed recorder whose recording has been deleted. */
static void remove_journal(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!st.st_size || rollback_is_journal(fd)))
		unlink(path);
	close(fd);
}

static int create_both(const char *path, struct created *c, struct err *err)
{
	char side[4300];

	c->fd = create(path, err);
	if (c->fd < 0)
		return -1;
	if (db_file_lock(c->fd))
		return err_sys(err, "cannot lock %s", path);
	snprintf(side, sizeof(side), "%s-journal", path);
	remove_journal(side);
	c->journal = create(side, err);
	return c->journal < 0 ? -1 : 0;
}

/* Locks the folder, so that recorders that start together move old recordings one after the
 * other. Waits at most WAIT_MS: a foreign process that holds the lock must not prevent
 * recording. Returns -1 if the folder cannot be opened. */
static int lock_folder(const char *path)
{
	const struct timespec nap = { 0, 10000000 };
	const char *slash = strrchr(path, '/');
	char folder[4200] = ".";
	int fd;

	if (slash)
		snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path + 1), path);
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) && i < WAIT_MS / 10; i++)
		nanosleep(&nap, NULL);
	return fd;
}

int create_files(const char *path, struct created *c, struct err *err)
{
	int folder = lock_folder(path), rc;

	*c = (struct created){ -1, -1 };
	rc = keep_old(path, err);
	if (!rc)
		rc = create_both(path, c, err);
	if (rc)
		create_close(path, c);
	if (folder >= 0)
		close(folder);
	return rc;
}

static bool is_ours(const char *path, int fd)
{
	struct stat st, own;

	return !lstat(path, &st) && !fstat(fd, &own) && st.st_dev == own.st_dev &&
	       st.st_ino == own.st_ino;
}

void create_close(const char *path, struct created *c)
{
	struct stat st;
	char side[4300];

	snprintf(side, sizeof(side), "%s-journal", path);
	if (c->journal >= 0 && !fstat(c->journal, &st) && !st.st_size && is_ours(side, c->journal))
		unlink(side);
	if (c->journal >= 0)
		close(c->journal);
	if (c->fd >= 0) /* closing the folder releases the lock */
		close(c->fd);
	*c = (struct created){ -1, -1 };
}
