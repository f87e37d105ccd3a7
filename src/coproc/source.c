/* SPDX-License-Identifier: MIT */
#include "coproc/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define PATH_ROOM 4096

static char *fill(int fd, size_t n, const char *path, struct err *err)
{
	char *text = malloc(n + 1);
	size_t got = 0;
	ssize_t r = 1;

	while (text && got < n && r > 0) {
		r = read(fd, text + got, n - got);
		if (r < 0 && errno == EINTR)
			r = 1;
		else if (r > 0)
			got += (size_t)r;
	}
	if (!text)
		err_no_memory(err, "the program");
	else if (r < 0)
		err_sys(err, "cannot read %s", path);
	else if (memchr(text, 0, got))
		err_set(err, ERR_FAILED, "%s is no text: it holds a zero byte", path);
	else
		return text[got] = 0, text;
	free(text);
	return NULL;
}

char *source_read(const char *path, size_t most, struct err *err)
{
	struct stat st;
	int fd = file_open(path, &st, err);
	char *text = NULL;

	if (fd < 0)
		return NULL;
	if ((size_t)st.st_size > most)
		err_set(err, ERR_FAILED, "%s has %lld bytes; %zu are read at most", path,
			(long long)st.st_size, most);
	else
		text = fill(fd, (size_t)st.st_size, path, err);
	close(fd);
	return text;
}

/* Writes the folder of the running program, with a slash. */
static void own_folder(char *buf, size_t n)
{
	ssize_t got = readlink("/proc/self/exe", buf, n - 1);
	char *slash;

	buf[got > 0 ? got : 0] = 0;
	slash = strrchr(buf, '/');
	if (slash)
		slash[1] = 0;
	else
		strcpy(buf, "./");
}

char *source_find(const char *name, struct err *err)
{
	static const char *const near[] = { "../share/assay/coproc/", "../src/coproc/programs/",
					    "../../../src/coproc/programs/" };
	const char *given = getenv("ASSAY_COPROC_PATH");
	size_t len = strlen(name);
	char own[PATH_ROOM], *path;

	if (strchr(name, '/') || (len > 3 && !strcmp(name + len - 3, ".uc"))) {
		path = strdup(name);
		if (!path)
			err_no_memory(err, "the program");
		return path;
	}
	own_folder(own, sizeof(own));
	for (int i = given ? -1 : 0; i < 3; i++) {
		int n = i < 0 ? asprintf(&path, "%s/%s.uc", given, name)
			      : asprintf(&path, "%s%s%s.uc", own, near[i], name);

		if (n < 0) {
			err_no_memory(err, "the program");
			return NULL;
		}
		if (!access(path, R_OK))
			return path;
		free(path);
	}
	err_set(err, ERR_FAILED, "there is no microcode program \"%s\"", name);
	err_hint(err, "values, edges, contexts, dependences and sets are installed; or name a "
		      "file, FILE.uc");
	return NULL;
}
