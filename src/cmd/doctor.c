/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/text.h"
#include "cmd/exact_session.h"
#include "cmd/verbs.h"
#include "report/emit.h"
#include "sampler/caps.h"

static bool json;

static const struct opt opts[] = {
	{ .letter = 'j', .name = "json", .kind = OPT_FLAG, .to = &json, .help = "as JSON" },
	{ 0 },
};

struct finding {
	const char *key;
	bool ok, needed;
	char what[160];
	const char *fix; /* a command, or NULL */
};

static void find(const struct caps *c, struct finding *f)
{
	const char *fix = c->contained ? "outside of this user namespace: sudo assay record"
				       : "sudo assay record";

	f[0] = (struct finding){ "kernel", c->new_enough, true, "", "boot Linux 5.17 or newer" };
	snprintf(f[0].what, sizeof(f[0].what), "Linux %.100s (5.17 or newer)", c->release);
	f[1] = (struct finding){ "safe_reads", !(c->lockup && c->hardened), true, "",
				 "update the kernel: 6.1.36, 6.3.10, 6.4 or newer" };
	snprintf(f[1].what, sizeof(f[1].what), "reading user memory from BPF %s lock up",
		 f[1].ok ? "cannot" : "can");
	f[2] = (struct finding){ "btf", c->btf, true, "",
				 "boot a kernel with CONFIG_DEBUG_INFO_BTF=y" };
	snprintf(f[2].what, sizeof(f[2].what), "kernel type information (/sys/kernel/btf/vmlinux)");
	f[3] = (struct finding){ "cap_bpf", c->cap_bpf && !c->contained, true, "", fix };
	snprintf(f[3].what, sizeof(f[3].what), "CAP_BPF: load the sampling program");
	f[4] = (struct finding){ "cap_perfmon", c->cap_perfmon && !c->contained, true, "", fix };
	snprintf(f[4].what, sizeof(f[4].what), "CAP_PERFMON: sample with it");
	f[5] = (struct finding){ "cap_sys_ptrace", c->cap_ptrace, false, "", "sudo assay record" };
	snprintf(f[5].what, sizeof(f[5].what), "CAP_SYS_PTRACE: other users' processes, and -a");
	f[6] = (struct finding){ "rate", c->max_rate == 0 || c->max_rate >= 10000, false, "",
				 "sudo sysctl kernel.perf_event_max_sample_rate=100000" };
	snprintf(f[6].what, sizeof(f[6].what), "up to %ld samples a second", c->max_rate);
	f[7] = (struct finding){ "pmu", c->pmu, false, "", NULL };
	snprintf(f[7].what, sizeof(f[7].what),
		 c->pmu ? "cycle counter: -e cycles"
			: "no cycle counter here: cpu-clock is used instead");
}
#define FINDINGS 9
#define EXACT (FINDINGS - 1)

/* Whether a feature works is found by using it, not by looking at settings. */
static void find_exact(struct finding *f)
{
	static struct err err;
	uint64_t instructions = 0;
	char n[32];

	*f = (struct finding){ .key = "exact" };
	f->ok = !exact_session_probe(&instructions, &err);
	if (f->ok)
		snprintf(f->what, sizeof(f->what),
			 "record --exact: `true` executed %s instructions",
			 fmt_count(instructions, n, sizeof(n)));
	else
		snprintf(f->what, sizeof(f->what), "record --exact: %.130s", err.msg);
	f->fix = err.hint[0] ? err.hint : NULL;
}

static void put_line(const char *text)
{
	text_put(text, stdout);
	putchar('\n');
}

static int print_json(const struct finding *f, bool ok, struct err *err)
{
	unsigned long failures = emit_json_failures();
	json_t *list = json_array(), *root;

	for (int i = 0; i < FINDINGS; i++)
		json_array_append_new(list, json_pack("{s:s,s:b,s:b,s:o,s:o}", "check", f[i].key,
						      "ok", f[i].ok, "needed", f[i].needed, "what",
						      emit_text_json(f[i].what), "fix",
						      emit_text_json(f[i].ok ? NULL : f[i].fix)));
	root = json_pack("{s:i,s:s,s:b,s:b,s:o}", "schema", 1, "verb", "doctor", "sampler", ok,
			 "exact", f[EXACT].ok, "checks", list);
	if (emit_json_failures() != failures)
		err_no_memory(err, "the output");
	else
		emit_json_print(root, err);
	json_decref(root);
	return ok && !err->code ? 0 : ERR_FAILED;
}

static int run(int argc, char **argv, struct err *err)
{
	struct finding f[FINDINGS];
	bool ok = true, color = term_color(stdout);
	struct caps caps;

	(void)argv;
	if (argc) {
		err_set(err, ERR_USAGE, "doctor takes no operands");
		return ERR_USAGE;
	}
	caps_read(&caps);
	find(&caps, f);
	if (privilege_none(err))
		return err->code;
	find_exact(&f[EXACT]);
	for (int i = 0; i < FINDINGS; i++)
		ok &= f[i].ok || !f[i].needed;
	if (json)
		return print_json(f, ok, err);
	for (int i = 0; i < FINDINGS; i++) {
		const char *mark = f[i].ok ? "ok" : f[i].needed ? "NO" : "--";

		printf("%s%-3s%s ", color ? f[i].ok ? "\033[32m" : "\033[33m" : "", mark,
		       color ? "\033[0m" : "");
		put_line(f[i].what);
		if (!f[i].ok && f[i].fix) {
			printf("      ");
			put_line(f[i].fix);
		}
	}
	printf("\n%s\n", ok ? "The sampler works here."
			    : "The sampler does not work here: see what is marked NO.");
	printf("`assay record --exact -- CMD`, which needs no privilege, %s.\n",
	       f[EXACT].ok ? "works" : "does not work");
	return ok ? 0 : ERR_FAILED;
}

const struct verb cmd_doctor = {
	.name = "doctor",
	.summary = "what this machine allows, and the command that fixes what it does not",
	.synopsis = "[--json]",
	.about = "Looks at the kernel, its settings and this process's privileges, and runs "
		 "`true` under the exact engine. Exits 0 if the sampler works here, else 1.",
	.examples = "assay doctor\nsudo assay doctor\n",
	.opts = opts,
	.privileged = true,
	.run = run,
};
