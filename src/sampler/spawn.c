/* SPDX-License-Identifier: MIT */
#include "sampler/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *name, int why, struct err *err)
{
	err_set(err, why == ENOENT || why == ENOTDIR ? ERR_NOTFOUND : ERR_NOEXEC,
		"cannot run '%s': %s", name,
		why == ENOENT && !strchr(name, '/') ? "command not found" : strerror(why));
	if (why == EACCES)
		err_hint(err, "chmod +x makes a file executable");
	return -1;
}

static int check_file(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) ? errno : 0;
}

int spawn_check(char *const argv[], struct err *err)
{
	const char *path = getenv("PATH"), *p, *end;
	int why = ENOENT, now;
	char file[4400];

	if (!argv[0][0])
		return fail(argv[0], ENOENT, err);
	if (strchr(argv[0], '/')) {
		why = check_file(argv[0]);
		return why ? fail(argv[0], why, err) : 0;
	}
	for (p = path ? path : "/usr/bin:/bin";; p = end + 1) {
		end = strchrnul(p, ':');
		snprintf(file, sizeof(file), "%.*s%s%s", (int)(end - p), p, end == p ? "" : "/",
			 argv[0]);
		now = check_file(file);
		if (!now)
			return 0;
		if (now == EACCES)
			why = now;
		if (!*end)
			return fail(argv[0], why, err);
	}
}

static void child(struct spawn *s, char *const argv[], const sigset_t *mask)
{
	char c;
	int why;

	if (read(s->go, &c, 1) != 1)
		_exit(127);
	close(s->go);
	/* Unblocks signals, which were blocked until the recorder could handle the child's death by
	 * one. */
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	why = errno;
	if (write(s->result, &why, sizeof(why)) != sizeof(why))
		_exit(126);
	_exit(why == ENOENT ? 127 : 126);
}

int spawn_hold(struct spawn *s, char *const argv[], const sigset_t *mask, struct err *err)
{
	int go[2], result[2];

	if (pipe2(go, O_CLOEXEC))
		return err_sys(err, "cannot make a pipe");
	if (pipe2(result, O_CLOEXEC)) {
		err_sys(err, "cannot make a pipe");
		close(go[0]);
		close(go[1]);
		return -1;
	}
	s->pid = fork();
	if (s->pid == 0) {
		close(go[1]);
		close(result[0]);
		s->go = go[0];
		s->result = result[1];
		child(s, argv, mask);
	}
	close(go[0]);
	close(result[1]);
	s->go = go[1];
	s->result = result[0];
	if (s->pid < 0) {
		err_sys(err, "cannot fork");
		spawn_cancel(s);
		return -1;
	}
	return 0;
}

int spawn_go(struct spawn *s, char *const argv[], struct err *err)
{
	ssize_t n;
	int why;

	if (write(s->go, "", 1) != 1)
		return err_sys(err, "cannot start '%s'", argv[0]);
	close(s->go);
	s->go = -1;
	do
		n = read(s->result, &why, sizeof(why));
	while (n < 0 && errno == EINTR);
	close(s->result);
	s->result = -1;
	if (n == (ssize_t)sizeof(why)) {
		waitpid(s->pid, NULL, 0);
		s->pid = -1;
		return fail(argv[0], why, err);
	}
	return 0;
}

void spawn_cancel(struct spawn *s)
{
	if (s->go >= 0)
		close(s->go);
	if (s->result >= 0)
		close(s->result);
	s->go = s->result = -1;
	if (s->pid > 0)
		waitpid(s->pid, NULL, 0);
	s->pid = -1;
}
