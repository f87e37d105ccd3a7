/* SPDX-License-Identifier: MIT */
#include "sampler/kernel_names.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/bpf/shared.h"

bool kernel_name_parse(const char *answer, uint64_t addr, struct kernel_name *n)
{
	const char *at = strstr(answer, "+0x"), *more, *module;
	uint64_t offset, size;
	char *end;

	while (at && (more = strstr(at + 1, "+0x")))
		at = more;
	if (!at || at == answer)
		return false;
	offset = strtoull(at + 1, &end, 16);
	if (*end != '/')
		return false;
	size = strtoull(end + 1, &end, 16);
	if ((*end && *end != ' ') || offset >= size)
		return false;
	n->start = addr - offset;
	n->end = n->start + size;
	/* the kernel does not name code of BPF programs here, but /proc/kallsyms does */
	module = !*end && !strncmp(answer, "bpf_prog_", 9) ? " [bpf]" : end;
	snprintf(n->name, sizeof(n->name), "%.*s%s", (int)(at - answer), answer, module);
	return true;
}

bool kernel_names_at(struct kernel_names *k, uint64_t addr, struct kernel_name *n)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);

	if (k->silent)
		return false;
	*k->address = addr;
	if (bpf_prog_test_run_opts(k->prog, &run) || (int)run.retval <= 0) {
		k->silent = true;
		return false;
	}
	k->answer[CODE_NAME_MAX - 1] = 0;
	return kernel_name_parse(k->answer, addr, n);
}
