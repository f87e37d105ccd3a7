/* SPDX-License-Identifier: MIT */
#include "sampler/caps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "base/privilege.h"

bool kernel_version_parse(const char *release, struct kernel_version *v)
{
	memset(v, 0, sizeof(*v));
	if (sscanf(release, "%d.%d.%d", &v->major, &v->minor, &v->patch) >= 2)
		return true;
	memset(v, 0, sizeof(*v));
	return false;
}

static bool at_least(const struct kernel_version *v, int major, int minor, int patch)
{
	if (v->major != major)
		return v->major > major;
	if (v->minor != minor)
		return v->minor > minor;
	return v->patch >= patch;
}

bool kernel_version_lockup(const struct kernel_version *v)
{
	if (!at_least(v, 5, 19, 0) || at_least(v, 6, 4, 0))
		return false;
	if (v->major == 6 && v->minor == 1)
		return v->patch < 36;
	if (v->major == 6 && v->minor == 3)
		return v->patch < 10;
	return true;
}

void caps_kernel(struct caps *c, const char *release, const char *version)
{
	const char *debian = strstr(version, "Debian ");
	struct kernel_version v;

	snprintf(c->release, sizeof(c->release), "%s", release);
	kernel_version_parse(release, &c->kernel);
	if (debian && kernel_version_parse(debian + strlen("Debian "), &v) &&
	    v.major == c->kernel.major && v.minor == c->kernel.minor)
		c->kernel.patch = v.patch;
	c->new_enough = at_least(&c->kernel, 5, 17, 0);
	c->lockup = kernel_version_lockup(&c->kernel);
}

static long read_number(const char *file, long otherwise)
{
	FILE *f = fopen(file, "re");
	long v;

	if (!f)
		return otherwise;
	if (fscanf(f, "%ld", &v) != 1)
		v = otherwise;
	fclose(f);
	return v;
}

/* True if the kernel's configuration has the option, or cannot be found. zlib reads plain text too. */
static bool config_has(const char *release, const char *line)
{
	char path[256], text[256];
	const char *files[2] = { "/proc/config.gz", path };
	bool found = false;

	snprintf(path, sizeof(path), "/boot/config-%s", release);
	for (int i = 0; i < 2; i++) {
		gzFile f = gzopen(files[i], "rbe");

		if (!f)
			continue;
		while (!found && gzgets(f, text, sizeof(text)))
			found = !strncmp(text, line, strlen(line));
		gzclose(f);
		return found;
	}
	return true;
}

static bool has_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Tries to load a program: capabilities in a user namespace look like others, and do not count
 * here. */
static bool can_load(void)
{
	struct bpf_insn prog[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K }, /* r0 = 0 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "can_load", "GPL", prog,
			       sizeof(prog) / sizeof(prog[0]), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || errno != EPERM;
}

void caps_read(struct caps *c)
{
	struct utsname u;
	bool admin = privilege_has(CAP_SYS_ADMIN);

	memset(c, 0, sizeof(*c));
	uname(&u);
	caps_kernel(c, u.release, u.version);
	c->hardened = config_has(c->release, "CONFIG_HARDENED_USERCOPY=y");
	c->btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	c->cap_bpf = admin || privilege_has(CAP_BPF);
	c->cap_perfmon = admin || privilege_has(CAP_PERFMON);
	c->cap_ptrace = privilege_has(CAP_SYS_PTRACE);
	c->contained = c->cap_bpf && c->cap_perfmon && !can_load();
	c->pmu = has_pmu();
	c->paranoid = (int)read_number("/proc/sys/kernel/perf_event_paranoid", -2);
	c->max_rate = read_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);
}

static int refuse_contained(struct err *err)
{
	err_set(err, ERR_FAILED,
		"no permission to sample from the kernel: CAP_BPF and CAP_PERFMON "
		"hold in this user namespace only");
	return err_hint(err, "sample from outside of the container, with -p PID; or record --exact "
			     "inside");
}

int caps_check(const struct caps *c, struct err *err)
{
	if (!c->new_enough) {
		err_set(err, ERR_FAILED, "this kernel is %s; the sampler needs 5.17 or newer",
			c->release);
		return err_hint(err, "boot a newer kernel (Debian 12 has 6.1)");
	}
	if (c->lockup && c->hardened) {
		err_set(err, ERR_FAILED,
			"kernel %s (%d.%d.%d) can lock up when a BPF program reads user memory "
			"(CONFIG_HARDENED_USERCOPY, 5.19 to the fix)",
			c->release, c->kernel.major, c->kernel.minor, c->kernel.patch);
		return err_hint(err, "update the kernel: fixed in 6.1.36, 6.3.10 and 6.4");
	}
	if (!c->btf) {
		err_set(err, ERR_FAILED,
			"this kernel has no type information (/sys/kernel/btf/vmlinux is missing)");
		return err_hint(err, "boot a kernel with CONFIG_DEBUG_INFO_BTF=y, as Debian's are");
	}
	if (!c->cap_bpf || !c->cap_perfmon) {
		err_set(err, ERR_FAILED, "no permission to sample from the kernel: %s%s%s missing",
			c->cap_bpf ? "" : "CAP_BPF", c->cap_bpf || c->cap_perfmon ? "" : " and ",
			c->cap_perfmon ? "" : "CAP_PERFMON");
		return err_hint(err,
				"run it with sudo; or with --exact, which takes a command and no "
				"privilege; "
				"or let a group sample its own processes: "
				"f=$(readlink -f \"$(command -v assay)\"); sudo chgrp GROUP $f && "
				"sudo chmod 0750 $f && sudo setcap cap_bpf,cap_perfmon+ep $f");
	}
	return c->contained ? refuse_contained(err) : 0;
}

bool caps_can_loop(void)
{
	struct bpf_insn prog[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },	   /* r0 = 0 */
		{ .code = BPF_JMP | 0xe0 | BPF_K, .off = 1 },	   /* may_goto over the next */
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = 1 }, /* r0 = 1 */
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "can_loop", "GPL", prog,
			       sizeof(prog) / sizeof(prog[0]), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
