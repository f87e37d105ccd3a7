/* SPDX-License-Identifier: MIT */
#include "sampler/family.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "sampler/permit.h"

static int append(struct family *f, pid_t pid, struct err *err)
{
	if (!array_reserve(f->pid, f->cap, f->n + 1))
		return err_no_memory(err, "%zu processes", f->n + 1);
	f->pid[f->n++] = pid;
	return 0;
}

int family_add(struct family *f, struct events *e, pid_t pid, struct err *err)
{
	if (events_add_process(e, pid, err) || permit_process(pid, err))
		return -1;
	return append(f, pid, err);
}

/* Returns the parent's pid, or 0 if the process has ended, and when the process was born. The name is in parentheses,
 * and may itself contain some. */
static pid_t parent_of(pid_t pid, uint64_t *ticks)
{
	char path[64], text[1024];
	unsigned long long born;
	const char *name_end;
	size_t n = 0;
	int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	name_end = strrchr(text, ')');
	if (!name_end || sscanf(name_end,
				") %*c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %llu",
				&parent, &born) != 2)
		return 0;
	*ticks = born;
	return parent;
}

/* A process that had a member of the family as its parent when that member was attached to, and
 * that is not a member itself. */
static bool is_descendant(const struct events *e, pid_t pid)
{
	uint64_t ticks;
	pid_t parent = parent_of(pid, &ticks);

	return parent && events_miss_child(e, parent, pid, ticks);
}

/* A descendant may end meanwhile, or belong to another user: that is not an error. */
static int add_descendant(struct family *f, struct events *e, pid_t pid, struct err *err)
{
	size_t before = e->n;
	struct err why;

	if (events_add_process(e, pid, &why)) {
		if (errno == EMFILE || errno == ENOMEM) {
			*err = why;
			return -1;
		}
		events_keep(e, before);
		return 0;
	}
	if (permit_process(pid, &why)) {
		events_keep(e, before);
		f->refused += errno == EACCES || errno == EPERM;
		return 0;
	}
	return append(f, pid, err);
}

/* Looks once at all processes of the machine. */
static int follow_once(struct family *f, struct events *e, DIR *proc, struct err *err)
{
	struct dirent *d;

	f->refused = 0;
	while ((d = readdir(proc))) {
		pid_t pid = (pid_t)atoi(d->d_name);

		if (pid <= 0 || pid == getpid() || !is_descendant(e, pid))
			continue;
		if (add_descendant(f, e, pid, err))
			return -1;
	}
	return 0;
}

int family_follow(struct family *f, struct events *e, struct err *err)
{
	DIR *proc = opendir("/proc");
	size_t before;
	int rc;

	if (!proc)
		return err_sys(err, "cannot look for child processes in /proc");
	do {
		before = f->n;
		rewinddir(proc);
		rc = follow_once(f, e, proc, err);
	} while (!rc && f->n > before);
	closedir(proc);
	return rc;
}

void family_fini(struct family *f)
{
	free(f->pid);
	*f = (struct family){ 0 };
}
