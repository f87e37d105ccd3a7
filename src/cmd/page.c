/* SPDX-License-Identifier: MIT */
#include "cmd/page.h"

#include <sys/stat.h>

#include "base/fmt.h"
#include "base/log.h"
#include "base/output.h"
#include "base/progress.h"

/* A recording holds private data: a file of the page is as private as the recording. */
static int open_private(struct output *out, const char *path, struct err *err)
{
	mode_t mask = umask(077);
	int rc = output_open(out, path, err);

	umask(mask);
	return rc;
}

static void tell(const char *path)
{
	struct stat st;
	char size[32];

	if (!stat(path, &st) && S_ISREG(st.st_mode))
		log_line("[ html: %s -> %s ]", fmt_size((uint64_t)st.st_size, size, sizeof(size)),
			 path);
}

int page_write(const char *path, int (*write)(FILE *out, void *ctx, struct err *err), void *ctx,
	       struct err *err)
{
	bool to_stdout = path[0] == '-' && !path[1];
	struct output out;
	int rc;

	if (open_private(&out, to_stdout ? NULL : path, err))
		return -1;
	rc = write(out.f, ctx, err);
	progress_end();
	if (rc) {
		output_abandon(&out);
		return -1;
	}
	if (output_commit(&out, err))
		return -1;
	if (!to_stdout)
		tell(path);
	return 0;
}
