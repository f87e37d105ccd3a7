/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

static int refuse(const char *path, struct err *err)
{
	return err_set(err, ERR_FAILED, "%s: not a regular file", path);
}

int file_open(const char *path, struct stat *st, struct err *err)
{
	int fd;

	if (stat(path, st))
		return err_sys(err, "cannot open %s", path);
	if (!S_ISREG(st->st_mode))
		return refuse(path, err);
	/* The name may have become a pipe's or a terminal's. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_sys(err, "cannot open %s", path);
	if (!fstat(fd, st) && S_ISREG(st->st_mode))
		return fd;
	close(fd);
	return refuse(path, err);
}
