/* SPDX-License-Identifier: MIT */
/* Whom the sampler observes: a command, processes, threads, a control group, or all. */
#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "sampler/cgroup.h"
#include "sampler/family.h"
#include "sampler/sampler_priv.h"

/* Lets the kernel side note the addresses of started programs. Stacks of processes without such a note are copied. */
static void note_starts(struct sampler *s)
{
	s->on_started = bpf_program__attach(s->bpf->progs.on_started);
	s->on_born = bpf_program__attach(s->bpf->progs.on_born);
}

void sampler_end_starts(struct sampler *s)
{
	bpf_link__destroy(s->on_started);
	bpf_link__destroy(s->on_born);
	s->on_started = s->on_born = NULL;
}

/* Opens events of the CPUs, for everything that runs there or for a control group's processes. */
static int add_cpus(struct sampler *s, int cgroup, struct err *err)
{
	if (events_add_cpus(&s->events, cgroup, err))
		return -1;
	return s->o.branches ? events_add_cpus(&s->rare, cgroup, err) : 0;
}

/* Subscribes to the kernel's records of processes, for call stacks. Where the kernel sends none, mappings are read from
 * /proc alone. */
static int follow(struct sampler *s, int cgroup, pid_t only, struct err *err)
{
	struct err why;

	if (!s->walker)
		return 0;
	s->sideband = sideband_open(cgroup, &why);
	if (!s->sideband) {
		log_warn("call stacks of processes that live shortly may be cut: %s", why.msg);
		return 0;
	}
	walker_follow(s->walker, s->sideband, only);
	note_starts(s);
	return sideband_watch(s->sideband, s->ring.epoll, err);
}

int sampler_attach_command(struct sampler *s, pid_t pid, struct err *err)
{
	return add_cpus(s, -1, err) || members_await(&s->members, s->bpf, err) ||
			       follow(s, -1, pid, err)
		       ? -1
		       : 0;
}

/* Opens the rare windows of the family's members from that number on. A member that has ended gets
 * none. */
static int attach_rare(struct sampler *s, const struct family *f, size_t from, struct err *err)
{
	struct err why;

	for (size_t i = from; s->o.branches && i < f->n; i++) {
		size_t before = s->rare.n;

		if (!events_add_process(&s->rare, f->pid[i], &why))
			continue;
		if (errno == EMFILE || errno == ENOMEM) {
			*err = why;
			return -1;
		}
		events_keep(&s->rare, before);
	}
	return 0;
}

int sampler_attach_process(struct sampler *s, struct family *f, pid_t pid, struct err *err)
{
	size_t before = f->n;

	return family_add(f, &s->events, pid, err) || attach_rare(s, f, before, err) ? -1 : 0;
}

int sampler_attach_descendants(struct sampler *s, struct family *f, struct err *err)
{
	size_t before = f->n;

	return family_follow(f, &s->events, err) || attach_rare(s, f, before, err) ? -1 : 0;
}

int sampler_attach_thread(struct sampler *s, pid_t tid, struct err *err)
{
	if (events_add_thread(&s->events, tid, err))
		return -1;
	return s->o.branches ? events_add_thread(&s->rare, tid, err) : 0;
}

int sampler_attach_all(struct sampler *s, struct err *err)
{
	return add_cpus(s, -1, err) || follow(s, -1, 0, err) ? -1 : 0;
}

int sampler_attach_cgroup(struct sampler *s, const char *name, struct err *err)
{
	int rc, fd = cgroup_open(name, err);

	if (fd < 0)
		return -1;
	rc = add_cpus(s, fd, err) || follow(s, fd, 0, err) ? -1 : 0;
	close(fd);
	return rc;
}
