/* SPDX-License-Identifier: MIT */
/* Which file a sample lies in, where the kernel side did not know: from the process's mappings, or later, when the file
 * is known. Also finds mapped devices. */
#include <stdlib.h>
#include <string.h>

#include "sampler/sampler_priv.h"

#define PENDING_MAX 65536    /* samples that wait for their files */
#define DEVICES_NS 100000000 /* ns between two periodic searches for devices */
#define LOOK_NS 5000000 /* ns between two searches of one process that the kernel side asked for */

/* True at most once in ns nanoseconds for each process in the list. */
static bool once_in(uint64_t ns, struct lately *list, const struct sample *h)
{
	struct lately *l = &list[h->pid % LATELY];

	if (l->pid == h->pid && h->time - l->time < ns)
		return false;
	*l = (struct lately){ h->pid, h->time };
	return true;
}

bool sampler_may_sync(struct sampler *s, const struct sample *h)
{
	return once_in(50000000, s->synced, h);
}

static struct device_look look_of(const struct sample *h)
{
	return (struct device_look){ .pid = (pid_t)h->pid, .mm = h->mm, .other = h->other };
}

void sampler_resolve_all(struct sampler *s, const struct sample *h)
{
	struct device_look look = look_of(h);

	files_resolve_all(&s->files, look.pid, &look);
}

/*
 * Looks for devices where the kernel side asks for it, and every DEVICES_NS: memory that is unmapped between two
 * interrupts can hide a device that is mapped between the same two.
 */
void sampler_note_devices(struct sampler *s, const struct sample *h)
{
	struct device_look look = look_of(h);

	if (h->flags & SAMPLE_LOOK ? !once_in(LOOK_NS, s->looked, h)
				   : h->time - s->devices_noted < DEVICES_NS)
		return;
	s->devices_noted = h->time;
	files_note_devices(&s->files, &look);
}

void sampler_lift(struct sampler *s, uint32_t image, uint64_t addr)
{
	double sampled = (double)s->user_samples * 1e9 / s->o.rate;

	lifting_lift(&s->lifting, &s->files, sampled, image, addr);
}

static int keep_pending(struct sampler *s, const struct sample *h, const struct sample_vma *v)
{
	struct pending *p = s->pending;

	if (s->npending == PENDING_MAX) {
		s->lost_pending++;
		return 0;
	}
	if (s->npending == s->pending_cap) {
		size_t n = s->pending_cap ? 2 * s->pending_cap : 256;

		p = realloc(p, n * sizeof(*p));
		if (!p) {
			s->lost_pending++;
			return 0;
		}
		s->pending = p;
		s->pending_cap = n;
	}
	p += s->npending++;
	*p = (struct pending){ .key = { v->ino, v->dev },
			       .offset = h->ip - v->start + v->pgoff,
			       .time = h->time,
			       .period = h->period,
			       .pid = h->pid,
			       .tid = h->tid };
	memcpy(p->name, v->name, sizeof(p->name));
	p->name[sizeof(p->name) - 1] = 0;
	return 0;
}

int sampler_settle(struct sampler *s, bool all)
{
	size_t k = 0;

	for (size_t i = 0; i < s->npending; i++) {
		struct pending *p = &s->pending[i];
		struct mapped_file *m = files_find(&s->files, p->key);
		struct window w = { .pid = p->pid,
				    .tid = p->tid,
				    .time = p->time,
				    .weight = (double)p->period,
				    .stop = RA_STOP_UNMAPPED };
		struct profile_image *pi;

		if (!m && !all) {
			s->pending[k++] = *p;
			continue;
		}
		if (m) {
			if (sampler_deliver_at(s, &w, m->image, files_addr(m, p->offset)))
				return -1;
			continue;
		}
		s->unattributed++;
		pi = profile_image(s->profile, IMAGE_UNKNOWN, p->name, "");
		if (sampler_deliver_at(s, &w, pi ? pi->id : 0, p->offset))
			return -1;
	}
	s->npending = k;
	return 0;
}

static int deliver_generated(struct sampler *s, const struct sample *h, struct window *w)
{
	files_note_generator(&s->files, (pid_t)h->pid);
	return sampler_deliver_at(s, w, s->anon_image, h->ip);
}

int sampler_new_mapping(struct sampler *s, const struct sample *h, const struct sample_vma *v,
			struct window *w)
{
	struct file_key key = { v->ino, v->dev };
	struct mapped_file *m;
	char name[256];

	if (!v->ino) {
		bool vdso =
			files_mapping_name(&s->files, (pid_t)h->pid, h->ip, name, sizeof(name)) &&
			!strcmp(name, "[vdso]");

		return vdso ? sampler_deliver_at(s, w, s->vdso_image, h->ip)
			    : deliver_generated(s, h, w);
	}
	m = files_resolve(&s->files, (pid_t)h->pid, key, v->name);
	if (!m)
		return keep_pending(s, h, v);
	if (sampler_may_sync(s, h))
		sampler_resolve_all(s, h);
	w->start.addr = files_addr(m, h->ip - v->start + v->pgoff);
	sampler_lift(s, m->image, w->start.addr);
	return sampler_deliver_at(s, w, m->image, w->start.addr);
}

int sampler_unplaced(struct sampler *s, const struct sample *h, struct window *w)
{
	char name[256] = "";

	if (h->stop == RA_STOP_NOIMAGE) {
		bool vdso =
			(h->ip & ~0xfffull) != 0 && sampler_may_sync(s, h) &&
			files_mapping_name(&s->files, (pid_t)h->pid, h->ip, name, sizeof(name)) &&
			!strcmp(name, "[vdso]");

		return vdso ? sampler_deliver_at(s, w, s->vdso_image, h->ip)
			    : deliver_generated(s, h, w);
	}
	if (sampler_may_sync(s, h))
		sampler_resolve_all(s, h);
	s->unattributed++;
	return sampler_deliver_at(s, w, 0, h->ip);
}
