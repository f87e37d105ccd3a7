/* SPDX-License-Identifier: MIT */
#include "base/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_temporary(struct output *o, struct err *err)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		return err_no_memory(err, "writing %s", o->path);
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		err_sys(err, "cannot write %s", o->path);
		free(o->temporary);
		o->temporary = NULL;
		return -1;
	}
	fchmod(fd, 0666 & ~mask);
	o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	err_sys(err, "cannot write %s", o->path);
	close(fd);
	output_abandon(o);
	return -1;
}

int output_open(struct output *o, const char *path, struct err *err)
{
	struct stat st;

	*o = (struct output){ .path = path };
	if (path && (stat(path, &st) || S_ISREG(st.st_mode)))
		return open_temporary(o, err);
	o->f = path ? fopen(path, "we") : open_memstream(&o->text, &o->size);
	return o->f ? 0 : err_sys(err, "cannot write %s", path ? path : "the output");
}

static int close_file(struct output *o)
{
	int failed = ferror(o->f);

	failed |= fclose(o->f);
	o->f = NULL;
	return failed ? -1 : 0;
}

int output_commit(struct output *o, struct err *err)
{
	const char *path = o->path ? o->path : "the output";

	if (close_file(o) ||
	    (!o->path && o->size && fwrite(o->text, 1, o->size, stdout) != o->size) ||
	    (o->temporary && rename(o->temporary, o->path))) {
		err_sys(err, "cannot write %s", path);
		output_abandon(o);
		return -1;
	}
	free(o->temporary);
	o->temporary = NULL;
	output_abandon(o);
	return 0;
}

void output_abandon(struct output *o)
{
	if (o->f)
		close_file(o);
	if (o->temporary)
		unlink(o->temporary);
	free(o->temporary);
	free(o->text);
	*o = (struct output){ 0 };
}
