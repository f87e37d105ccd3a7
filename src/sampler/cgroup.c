/* SPDX-License-Identifier: MIT */
#include "sampler/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Finds where the hierarchy is mounted: version 1 with the controller perf_event, else version 2,
 * which always has it. */
static bool find_root(char *root, size_t n)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	bool found = false, first = false;
	struct mntent *m;

	while (f && !first && (m = getmntent(f))) {
		first = !strcmp(m->mnt_type, "cgroup") && hasmntopt(m, "perf_event");
		if (!first && (found || strcmp(m->mnt_type, "cgroup2")))
			continue;
		snprintf(root, n, "%s", m->mnt_dir);
		found = true;
	}
	if (f)
		endmntent(f);
	return found;
}

static bool is_cgroup(int fd)
{
	struct statfs st;

	return !fstatfs(fd, &st) &&
	       (st.f_type == CGROUP2_SUPER_MAGIC || st.f_type == CGROUP_SUPER_MAGIC);
}

int cgroup_open(const char *name, struct err *err)
{
	char root[4096], path[8192];
	int fd = -1;

	if (!find_root(root, sizeof(root))) {
		err_set(err, ERR_FAILED, "no control groups are mounted here");
		return err_hint(err, "-p PID attaches to processes and their children");
	}
	if (name[0] == '/')
		fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !is_cgroup(fd)) {
		close(fd);
		fd = -1;
	}
	snprintf(path, sizeof(path), "%s/%s", root, name + strspn(name, "/"));
	if (fd < 0)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err_set(err, ERR_FAILED, "no control group '%s': cannot open %s: %s", name, path,
		strerror(errno));
	return err_hint(
		err, "/proc/PID/cgroup names the group of a process; `find %s -type d` lists all",
		root);
}

/* The path in a line "NUMBER:CONTROLLERS:PATH" of the hierarchy that has perf events, else of the unified one, whose
 * number is 0. NULL: the line is of another hierarchy. */
static const char *path_in(const char *line)
{
	const char *controllers = strchr(line, ':'), *path;

	path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path || (strncmp(line, "0::", 3) != 0 && !strstr(controllers, "perf_event")))
		return NULL;
	return path + 1;
}

void cgroup_of(int pid, char *buf, size_t n)
{
	char name[64], line[4200];
	FILE *f;

	buf[0] = 0;
	snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *path = path_in(line);

		if (!path || (buf[0] && line[0] == '0'))
			continue;
		snprintf(buf, n, "%s", path);
		buf[strcspn(buf, "\n")] = 0;
	}
	if (f)
		fclose(f);
}
