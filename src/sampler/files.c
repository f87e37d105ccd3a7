/* SPDX-License-Identifier: MIT */
#include "sampler/files.h"

#include <bpf/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/pages.h"
#include "image/maps.h"
#include "image/perf_map.h"

#define NAMES_KEPT \
	(8u \
	 << 20) /* bytes of symbols and names: more than those of a usual program and its libraries */

#define NAMES_TRIM (1u << 20)  /* bytes of freed names after which memory is given back */
#define COPIES_KEPT (8u << 20) /* bytes of code and of unwind information */

void files_init(struct files *f, struct profile *p, struct code *c, int map,
		const struct devices *devices, const struct broker *broker)
{
	memset(f, 0, sizeof(*f));
	f->broker = broker;
	f->profile = p;
	f->code = c;
	f->map = map;
	f->devices = devices ? *devices : (struct devices){ .map = -1 };
}

void files_fini(struct files *f)
{
	struct mapped_file *m, *tmp;

	free(f->by_image);
	free(f->generator);
	HASH_ITER (hh, f->all, m, tmp) {
		HASH_DEL(f->all, m);
		image_close(m->im);
		free(m);
	}
}

struct mapped_file *files_find(const struct files *f, struct file_key key)
{
	struct mapped_file *m;

	HASH_FIND(hh, f->all, &key, sizeof(key), m);
	return m;
}

/* Tells the kernel side, so that its next sample in this file runs ahead. */
static void publish(struct files *f, const struct mapped_file *m)
{
	struct file_info info = { .image = m->image };
	const struct image_segment *seg;
	unsigned n = m->im ? image_segments(m->im, &seg) : 0;

	for (unsigned i = 0; i < n && i < FILE_SEGMENTS; i++) {
		/* mappings begin and end at pages */
		uint64_t slack = seg[i].offset & 4095;

		info.seg[i].offset = seg[i].offset - slack;
		info.seg[i].addr = seg[i].addr - slack;
		info.seg[i].size = (seg[i].size + slack + 4095) & ~4095ull;
		info.nseg = i + 1;
	}
	if (!m->im)
		info.image = PROC_NOIMAGE;
	bpf_map_update_elem(f->map, &m->key, &info, BPF_ANY);
}

static bool remember(struct files *f, uint32_t image, struct image *im)
{
	if (image >= f->nby_image && !array_widen(f->by_image, f->nby_image, image + 64))
		return false;
	f->by_image[image] = im;
	return true;
}

const struct image_proc *files_procedure(const struct files *f, uint32_t image, uint64_t addr)
{
	struct image *im = image < f->nby_image ? f->by_image[image] : NULL;

	return im ? image_proc_at(im, addr) : NULL;
}

void files_rest(struct files *f)
{
	size_t bytes = 0;

	for (size_t i = 0; i < f->nby_image; i++)
		bytes += f->by_image[i] ? image_copies_bytes(f->by_image[i]) : 0;
	for (size_t i = 0; i < f->nby_image && bytes > COPIES_KEPT; i++)
		if (f->by_image[i])
			image_forget_copies(f->by_image[i]);
}

/* From now on no names are kept until they are needed. */
static void forget_all_names(struct files *f)
{
	f->nameless = true;
	f->names = 0;
	for (size_t i = 0; i < f->nby_image; i++)
		if (f->by_image[i])
			image_forget_names(f->by_image[i]);
	pages_trim();
}

/* Reads the image's procedures. The names of few images are kept until they are needed; those of many are read again then. */
static void read_procedures(struct files *f, struct image *im)
{
	const struct image_proc *ignored;
	size_t bytes;

	image_procs(im, &ignored);
	bytes = image_names_bytes(im);
	if (f->nameless) {
		image_forget_names(im);
		if (bytes > NAMES_TRIM)
			pages_trim();
	} else if (bytes > NAMES_KEPT - f->names)
		forget_all_names(f);
	else
		f->names += bytes;
}

/* Finds the procedure of the image that holds addr, for its range. */
static const struct image_proc *range_at(struct files *f, uint32_t image, uint64_t addr)
{
	struct image *im = image < f->nby_image ? f->by_image[image] : NULL;

	if (!im)
		return NULL;
	if (!image_procs_are_read(im))
		read_procedures(f, im);
	return image_proc_at(im, addr);
}

bool files_region(struct files *f, uint32_t image, uint64_t addr, uint64_t bytes, uint64_t *start,
		  uint64_t *end)
{
	uint64_t base = addr - addr % bytes, from, to;
	const struct image_proc *p = range_at(f, image, addr);

	if (!p)
		return false;
	from = p->start;
	to = p->end;
	image_procs_near(f->by_image[image], addr, base, base + bytes, &from, &to);
	*start = from == p->start && from < base - bytes ? addr : from;
	*end = to > base + 2 * bytes ? base + 2 * bytes : to;
	return true;
}

static const uint8_t *code_bytes(void *ctx, uint64_t addr, size_t *n)
{
	const struct mapped_file *m = ctx;

	return image_code(m->im, addr, n);
}

static bool code_entry_at(void *ctx, uint64_t addr)
{
	struct mapped_file *m = ctx;

	if (addr < m->start || addr >= m->end) {
		const struct image_proc *p = range_at(m->files, m->image, addr);

		m->start = p ? p->start : 0;
		m->end = p ? p->end : 0;
	}
	return m->start < m->end && m->start == addr;
}

/* the file takes over fd */
static struct mapped_file *add(struct files *f, struct file_key key, int fd, const char *path)
{
	struct mapped_file *m = calloc(1, sizeof(*m));
	struct profile_image *pi;
	struct err err;

	if (!m) {
		close(fd);
		return NULL;
	}
	m->files = f;
	m->key = key;
	m->im = image_take(fd, path, &err);
	pi = profile_image(f->profile, m->im ? IMAGE_FILE : IMAGE_ANON, path,
			   m->im ? image_build_id(m->im) : "");
	if (!pi || !remember(f, pi->id, m->im)) {
		image_close(m->im);
		free(m);
		return NULL;
	}
	m->image = pi->id;
	if (m->im) {
		struct code_source src = { code_bytes, code_entry_at, m };

		code_image(f->code, m->image, &src, &err);
	}
	HASH_ADD(hh, f->all, key, sizeof(m->key), m);
	if (!m->hh.tbl)
		return NULL; /* other structures refer to the image, so it stays open, but is not found again */
	publish(f, m);
	return m;
}

struct mapped_file *files_add(struct files *f, pid_t pid, const struct map *map)
{
	struct file_key key = { .ino = map->inode,
				.dev = (uint64_t)map->dev_major << 20 | map->dev_minor };
	struct mapped_file *m = files_find(f, key);
	struct err err;
	int fd;

	if (m)
		return m;
	fd = maps_open(map, f->broker, pid, &err);
	return fd < 0 ? NULL : add(f, key, fd, map->name);
}

uint64_t files_addr(const struct mapped_file *m, uint64_t offset)
{
	const struct image_segment *seg;
	unsigned n = m->im ? image_segments(m->im, &seg) : 0;

	for (unsigned i = 0; i < n; i++)
		if (offset - seg[i].offset < seg[i].size)
			return offset - seg[i].offset + seg[i].addr;
	return offset;
}

/* Opens the file of that name if the file has that key, or returns -1. */
static int open_if(struct file_key key, const char *path)
{
	struct stat st;
	struct err err;
	int fd = file_open(path, &st, &err);

	if (fd < 0)
		return -1;
	if (st.st_ino == key.ino &&
	    ((uint64_t)major(st.st_dev) << 20 | minor(st.st_dev)) == key.dev)
		return fd;
	close(fd);
	return -1;
}

/* Looks in the usual folders of programs and libraries, and beside the files that are already
 * known. */
static struct mapped_file *guess(struct files *f, struct file_key key, const char *name)
{
	static const char *const dirs[] = { "/usr/bin", "/bin", "/usr/lib/x86_64-linux-gnu",
					    "/usr/sbin", "/usr/local/bin" };
	const size_t ndirs = sizeof(dirs) / sizeof(dirs[0]);
	char path[4400];

	for (size_t i = 0; i < ndirs + f->profile->nimage; i++) {
		int fd;

		const char *known = i < ndirs ? NULL : f->profile->image[i - ndirs]->path;
		const char *slash = known ? strrchr(known, '/') : NULL;

		if (known && (!slash || known[0] != '/'))
			continue;
		if (known)
			snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - known), known, name);
		else
			snprintf(path, sizeof(path), "%s/%s", dirs[i], name);
		fd = open_if(key, path);
		if (fd >= 0)
			return add(f, key, fd, path);
	}
	return NULL;
}

struct mapped_file *files_resolve(struct files *f, pid_t pid, struct file_key key, const char *name)
{
	struct mapped_file *m = files_find(f, key);
	struct maps maps;
	struct err err;

	if (m)
		return m;
	if (!maps_read(&maps, f->broker, pid, &err)) {
		for (size_t i = 0; i < maps.n && !m; i++) {
			const struct map *map = &maps.map[i];

			if (map->inode == key.ino &&
			    ((uint64_t)map->dev_major << 20 | map->dev_minor) == key.dev)
				m = files_add(f, pid, map);
		}
		maps_fini(&maps);
	}
	return m ? m : guess(f, key, name);
}

void files_resolve_all(struct files *f, pid_t pid, const struct device_look *look)
{
	struct maps maps;
	struct err err;

	if (maps_read(&maps, f->broker, pid, &err))
		return;
	for (size_t i = 0; i < maps.n; i++)
		if (maps.map[i].exec && maps.map[i].inode)
			files_add(f, pid, &maps.map[i]);
	if (look)
		devices_note(&f->devices, look, &maps);
	maps_fini(&maps);
}

void files_note_devices(struct files *f, const struct device_look *look)
{
	struct maps maps;
	struct err err;

	if (maps_read(&maps, f->broker, look->pid, &err))
		return;
	devices_note(&f->devices, look, &maps);
	maps_fini(&maps);
}

bool files_mapping_name(const struct files *f, pid_t pid, uint64_t addr, char *buf, size_t n)
{
	const struct map *map;
	struct maps maps;
	struct err err;

	if (maps_read(&maps, f->broker, pid, &err))
		return false;
	map = maps_find(&maps, addr);
	snprintf(buf, n, "%s", map ? map->name : "");
	maps_fini(&maps);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct profile_proc *p = a, *q = b;

	return (p->start > q->start) - (p->start < q->start);
}

void files_sort_procedures(struct profile_image *pi)
{
	size_t k = 0;

	if (!pi->nproc)
		return;
	qsort(pi->proc, pi->nproc, sizeof(*pi->proc), by_start);
	for (size_t i = 0; i < pi->nproc; i++) {
		if (k && pi->proc[k - 1].start == pi->proc[i].start) {
			free(pi->proc[i].name);
			continue;
		}
		pi->proc[k++] = pi->proc[i];
	}
	pi->nproc = k;
}

bool files_add_procedure(struct profile_image *pi, uint64_t start, uint64_t end, const char *name,
			 size_t *cap)
{
	if (!array_reserve(pi->proc, *cap, pi->nproc + 1))
		return false;
	pi->proc[pi->nproc] = (struct profile_proc){ start, end, strdup(name) };
	return pi->proc[pi->nproc].name && ++pi->nproc;
}

/* Returns a process's pid in its own namespace, the last one that the kernel tells; its pid if that
 * is not known. */
static pid_t inner_pid(pid_t pid)
{
	char path[64], line[512];
	int inner = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && !inner && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NSpid:", 6)) {
			line[strcspn(line, "\n")] = 0;
			inner = atoi(strrchr(line, '\t') ? strrchr(line, '\t') : line + 6);
		}
	if (f)
		fclose(f);
	return inner > 0 ? inner : pid;
}

void files_note_generator(struct files *f, pid_t pid)
{
	for (size_t i = 0; i < f->ngenerator; i++)
		if (f->generator[i].pid == pid)
			return;
	if (!array_reserve(f->generator, f->generator_room, f->ngenerator + 1))
		return;
	f->generator[f->ngenerator++] = (struct generator){ pid, inner_pid(pid) };
}

/* If processes generate different code at one address, the first process that ran there names the code. */
static void name_generated(struct files *f, uint32_t image, const struct perf_map *m, size_t *cap)
{
	struct profile_image *pi = f->profile->image[image];
	const struct perf_map_entry *e;
	struct site *s;

	SITES_EACH(&f->profile->sites, s)
	{
		if (s->id.image != image)
			continue;
		e = perf_map_find(m, s->id.addr);
		if (e && !files_add_procedure(pi, e->start, e->end, e->name, cap))
			return;
	}
}

static void name_all_generated(struct files *f)
{
	for (size_t i = 0; i < f->ngenerator; i++) {
		struct perf_map m;

		if (perf_map_read(&m, f->broker, f->generator[i].pid, f->generator[i].inner))
			continue;
		for (uint32_t k = 0; k < f->profile->nimage; k++) {
			struct profile_image *pi = f->profile->image[k];
			size_t cap = pi->nproc;

			if (pi->kind != IMAGE_ANON)
				continue;
			name_generated(f, k, &m, &cap);
			files_sort_procedures(pi);
		}
		perf_map_fini(&m);
	}
}

static void name_image(struct files *f, struct site *const *site, size_t n, size_t *cap)
{
	struct profile_image *pi = f->profile->image[site[0]->id.image];
	struct image *im = f->by_image[site[0]->id.image];
	const struct image_proc *last = NULL;
	bool again = image_read_names(im);

	for (size_t i = 0; i < n; i++) {
		uint64_t addr = site[i]->id.addr;

		if (last && addr >= last->start && addr < last->end)
			continue;
		last = image_proc_at(im, addr);
		if (last && !files_add_procedure(pi, last->start, last->end, last->name, cap))
			break;
	}
	files_sort_procedures(pi);
	pi->stripped = !image_has_symbols(im);
	if (again)
		image_forget_names(im);
}

void files_name_procedures(struct files *f)
{
	struct site **site = sites_sorted(&f->profile->sites);
	size_t n = f->profile->sites.n, end;

	name_all_generated(f);
	for (size_t i = 0; site && i < n; i = end) {
		uint32_t image = site[i]->id.image;
		size_t cap = f->profile->image[image]->nproc;

		for (end = i + 1; end < n && site[end]->id.image == image; end++)
			;
		if (image < f->nby_image && f->by_image[image])
			name_image(f, site + i, end - i, &cap);
	}
	free(site);
}
