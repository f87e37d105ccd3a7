/* SPDX-License-Identifier: MIT */
#include "sampler/members.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>

#include "sampler.skel.h"

void members_choose(struct sampler_bpf *b, bool only)
{
	b->rodata->cfg_members = only;
	bpf_program__set_autoload(b->progs.on_fork, only);
	bpf_program__set_autoload(b->progs.on_exec, only);
	bpf_program__set_autoload(b->progs.on_free, only);
	bpf_program__set_autoload(b->progs.await_command, only);
}

int members_await(struct members *m, struct sampler_bpf *b, struct err *err)
{
	struct bpf_program *const prog[MEMBERS_HOOKS] = { b->progs.on_fork, b->progs.on_exec,
							  b->progs.on_free };
	LIBBPF_OPTS(bpf_test_run_opts, run);

	for (int i = 0; i < MEMBERS_HOOKS; i++) {
		m->hook[i] = bpf_program__attach(prog[i]);
		if (!m->hook[i])
			return err_sys(err, "cannot follow the command's children");
	}
	if (bpf_prog_test_run_opts(bpf_program__fd(b->progs.await_command), &run))
		return err_sys(err, "cannot name the command to the kernel program");
	return 0;
}

uint64_t members_unfollowed(const struct sampler_bpf *b)
{
	return b->bss->unfollowed;
}

void members_fini(struct members *m)
{
	for (int i = 0; i < MEMBERS_HOOKS; i++)
		bpf_link__destroy(m->hook[i]);
	memset(m, 0, sizeof(*m));
}
