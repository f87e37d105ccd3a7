/* SPDX-License-Identifier: MIT */
/* The command that runs a program under the engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "exact/exact_priv.h"

#define ENGINE "assay-exact"

/* Finds the engine beside our own executable, or where `make install` puts it. */
static char *engine_path(struct err *err)
{
	static const char *const places[] = { "", "../libexec/assay/" };
	char self[4096], *path = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0) {
		err_sys(err, "cannot read /proc/self/exe");
		return NULL;
	}
	self[n] = 0;
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = 0;
	for (size_t i = 0; i < 2; i++) {
		if (asprintf(&path, "%s%s" ENGINE, self, places[i]) < 0) {
			err_no_memory(err, "the exact recording");
			return NULL;
		}
		if (!access(path, X_OK))
			return path;
		free(path);
	}
	err_set(err, ERR_FAILED, "the exact engine, " ENGINE ", is not beside %sassay", self);
	err_hint(err, "install it with `make install`, or run build/assay where it was built");
	return NULL;
}

char *const *exact_command(struct exact *e, char *const argv[], struct err *err)
{
	size_t n = 0;

	while (argv[n])
		n++;
	e->path = engine_path(err);
	if (!e->path)
		return NULL;
	e->argv = calloc(n + 4, sizeof(*e->argv));
	if (!e->argv || asprintf(&e->option, "--search=%d", e->fd) < 0) {
		err_no_memory(err, "the exact recording");
		return NULL;
	}
	e->argv[0] = e->path;
	e->argv[1] = e->option;
	e->argv[2] = argv[0];
	memcpy(e->argv + 3, argv, n * sizeof(*argv));
	return e->argv;
}
