/* SPDX-License-Identifier: MIT */
#include "sampler/caps.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

/* Not in every libcap's header. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

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

/* True if the kernel's configuration says so, or cannot be found. zlib reads plain text too. */
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

static bool has_cap(cap_t have, cap_value_t cap)
{
	cap_flag_value_t v = CAP_CLEAR, admin = CAP_CLEAR;

	cap_get_flag(have, cap, CAP_EFFECTIVE, &v);
	cap_get_flag(have, CAP_SYS_ADMIN, CAP_EFFECTIVE, &admin);
	return v == CAP_SET || admin == CAP_SET;
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

void caps_read(struct caps *c)
{
	struct utsname u;
	cap_t have = cap_get_proc();

	memset(c, 0, sizeof(*c));
	uname(&u);
	caps_kernel(c, u.release, u.version);
	c->hardened = config_has(c->release, "CONFIG_HARDENED_USERCOPY=y");
	c->btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	if (have) {
		c->cap_bpf = has_cap(have, CAP_BPF);
		c->cap_perfmon = has_cap(have, CAP_PERFMON);
		c->cap_ptrace = has_cap(have, CAP_SYS_PTRACE);
		cap_free(have);
	}
	c->pmu = has_pmu();
	c->paranoid = (int)read_number("/proc/sys/kernel/perf_event_paranoid", -2);
	c->max_rate = read_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);
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
		return err_hint(err, "run it with sudo, or once: sudo setcap "
				     "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,"
				     "cap_checkpoint_restore+ep "
				     "\"$(readlink -f \"$(command -v assay)\")\"");
	}
	return 0;
}

int caps_drop(struct err *err)
{
	/* what goes on being done: BPF maps, programs and events; reading other processes' mappings and
	 * files; writing the recording where its owner may */
	static const cap_value_t keep[] = { CAP_BPF,	      CAP_PERFMON,
					    CAP_SYS_PTRACE,   CAP_DAC_READ_SEARCH,
					    CAP_DAC_OVERRIDE, CAP_CHECKPOINT_RESTORE };
	cap_t now = cap_get_proc(), want = cap_init();
	int rc = 0;

	if (!now || !want)
		rc = err_sys(err, "cannot read the capabilities");
	for (size_t i = 0; !rc && i < sizeof(keep) / sizeof(keep[0]); i++) {
		cap_flag_value_t v = CAP_CLEAR;

		cap_get_flag(now, keep[i], CAP_PERMITTED, &v);
		if (v == CAP_SET) {
			cap_set_flag(want, CAP_PERMITTED, 1, &keep[i], CAP_SET);
			cap_set_flag(want, CAP_EFFECTIVE, 1, &keep[i], CAP_SET);
		}
	}
	if (!rc && cap_set_proc(want))
		rc = err_sys(err, "cannot give up capabilities");
	cap_free(now);
	cap_free(want);
	return rc;
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
