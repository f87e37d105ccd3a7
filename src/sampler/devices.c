/* SPDX-License-Identifier: MIT */
#include "sampler/devices.h"

#include <bpf/bpf.h>
#include <string.h>

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* Files with these names may be memory, but only known memory is read. */
static bool is_device(const char *name)
{
	if (begins(name, "/dev/"))
		return !begins(name, "/dev/shm/") && !begins(name, "/dev/hugepages/") &&
		       strcmp(name, "/dev/zero");
	return begins(name, "/sys/") || begins(name, "/proc/") || begins(name, "anon_inode:") ||
	       begins(name, "/dmabuf:") || begins(name, "/drm mm object");
}

void devices_find(const struct maps *m, struct device_ranges *r)
{
	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < m->n; i++) {
		const struct map *map = &m->map[i];

		if (!is_device(map->name))
			continue;
		if (r->n < DEVICE_RANGES)
			r->range[r->n++].start = map->start;
		r->range[r->n - 1].end = map->end;
	}
}

void devices_note(struct devices *d, const struct device_look *look, const struct maps *m)
{
	uint32_t tgid = (uint32_t)look->pid;
	struct device_ranges now, before = { 0 };

	if (d->map < 0)
		return;
	devices_find(m, &now);
	now.mm = look->mm;
	now.other = look->other;
	bpf_map_lookup_elem(d->map, &tgid, &before);
	if (!memcmp(&now, &before, sizeof(now)))
		return;
	bpf_map_update_elem(d->map, &tgid, &now, BPF_ANY);
	__atomic_add_fetch(d->changes, 1, __ATOMIC_RELEASE);
}
