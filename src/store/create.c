/* SPDX-License-Identifier: MIT */
#include "store/create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/recording.h"

/* By its first page: SQLite's magic, and our application id. An empty file will do too: a recorder that
 * was killed at once leaves one. */
static bool is_recording(const char *path)
{
	uint8_t head[72] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return false;
	}
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n == 0)
		return true;
	return n == (ssize_t)sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
	       (uint32_t)(head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71]) ==
		       RECORDING_APPLICATION_ID;
}

static int keep_old(const char *path, struct err *err)
{
	char old[4200], side[4300];
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : err_sys(err, "cannot look at %s", path);
	if (!is_recording(path)) {
		err_set(err, ERR_FAILED, "%s exists and is no recording; it is not overwritten",
			path);
		return err_hint(err, "-o FILE records elsewhere");
	}
	snprintf(old, sizeof(old), "%s.old", path);
	if (!lstat(old, &st) && !is_recording(old)) {
		err_set(err, ERR_FAILED, "%s exists and is no recording; %s cannot be kept as it",
			old, path);
		return err_hint(err, "move it away, or -o FILE");
	}
	if (rename(path, old)) {
		err_sys(err, "cannot keep %s as %s", path, old);
		return err_hint(err, "the folder must be writable; -o FILE records elsewhere");
	}
	/* the rollback journal of a recorder that was killed goes with its file */
	snprintf(side, sizeof(side), "%s-journal", old);
	unlink(side);
	snprintf(old, sizeof(old), "%s-journal", path);
	if (rename(old, side) && errno != ENOENT)
		return err_sys(err, "cannot keep %s", old);
	return 0;
}

static long id_of(const char *name)
{
	const char *text = getenv(name);
	char *end;
	long v;

	if (!text || !*text)
		return -1;
	v = strtol(text, &end, 10);
	return *end || v < 0 ? -1 : v;
}

int create_file(const char *path, struct err *err)
{
	long uid = id_of("SUDO_UID"), gid = id_of("SUDO_GID");
	int fd;

	if (keep_old(path, err))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err_sys(err, "cannot create %s", path);
		return err_hint(err, "-o FILE records elsewhere");
	}
	if (getuid() == 0 && uid > 0 && gid >= 0 && fchown(fd, (uid_t)uid, (gid_t)gid)) {
		err_sys(err, "cannot give %s to user %ld", path, uid);
		close(fd);
		return -1;
	}
	close(fd);
	return 0;
}
