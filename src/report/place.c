/* SPDX-License-Identifier: MIT */
#include "report/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "query/name.h"

size_t place_index(const struct view *v, struct site_id id)
{
	size_t low = search_first(i, 0, v->n, site_id_order(v->site[i]->id, id) >= 0);

	return low < v->n && !site_id_order(v->site[low]->id, id) ? low : SIZE_MAX;
}

static void find_line(struct place *p, struct image *im)
{
	const char *file, *slash;
	int line;

	if (!im || !image_line(im, p->id.addr, &file, &line))
		return;
	slash = strrchr(file, '/');
	snprintf(p->line, sizeof(p->line), "%s:%d", slash ? slash + 1 : file, line);
}

void place_find(struct place *p, struct reading *r, struct site_id id)
{
	const struct view *v = &r->view;
	size_t i = place_index(v, id);
	struct image *im =
		id.image < r->profile.nimage ? binaries_get(&r->binaries, id.image) : NULL;
	const struct image_proc *ip = im ? image_proc_at(im, id.addr) : NULL;

	*p = (struct place){ .id = id };
	p->image = id.image < r->profile.nimage ? v->image[id.image].name : "[unknown]";
	if (i != SIZE_MAX) {
		p->site = v->site[i];
		p->proc = &v->proc[v->proc_of[i]];
		view_proc_name(p->proc, p->name, sizeof(p->name));
		p->start = p->proc->n ? p->proc->start : 0;
	} else if (ip) {
		image_demangle(ip->name, p->name, sizeof(p->name));
		p->start = ip->start;
	} else {
		snprintf(p->name, sizeof(p->name), "[unknown]");
	}
	find_line(p, im);
}

char *place_text(const struct place *p, int width, char *buf, size_t n)
{
	char offset[32] = "", name[sizeof(p->name)];
	int room;

	snprintf(name, sizeof(name), "%s", p->name);
	view_cut_parameters(name);
	if (!p->start)
		snprintf(offset, sizeof(offset), " 0x%" PRIx64, p->id.addr);
	else if (p->id.addr > p->start)
		snprintf(offset, sizeof(offset), "+0x%" PRIx64, p->id.addr - p->start);
	room = width - (int)strlen(offset);
	if (room > 4)
		name_fit(name, room, 0, buf, n);
	else
		snprintf(buf, n, "%s", name);
	snprintf(buf + strlen(buf), n - strlen(buf), "%s", offset);
	return buf;
}

json_t *place_json(const struct place *p)
{
	return json_pack("{s:o,s:o,s:o,s:o}", "image", emit_text_json(p->image), "procedure",
			 emit_text_json(p->name), "address", emit_hex_json(p->id.addr), "line",
			 emit_text_json(p->line[0] ? p->line : NULL));
}
