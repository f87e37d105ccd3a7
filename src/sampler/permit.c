/* SPDX-License-Identifier: MIT */
#include "sampler/permit.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/privilege.h"

int permit_process(pid_t pid, struct err *err)
{
	char path[64];
	int fd;

	if (privilege_has(CAP_SYS_PTRACE))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		err_sys(err, "process %d may not be sampled by this user: cannot open %s", (int)pid,
			path);
		return err_hint(err, "sample a process of your own, or use sudo "
				     "(kernel.yama.ptrace_scope can forbid that, too)");
	}
	close(fd);
	return 0;
}

int permit_all(const char *what, struct err *err)
{
	if (privilege_has(CAP_SYS_PTRACE))
		return 0;
	err_set(err, ERR_FAILED, "%s: CAP_SYS_PTRACE is missing", what);
	return err_hint(err, "use sudo, or -p PID for a process of your own");
}
