/* SPDX-License-Identifier: MIT */
#include "sampler/kernel_types.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The names of what sampler/bpf declares with KERNEL_STRUCT, sorted. */
static const char *const structures[] = {
	"dentry", "file",	 "inode",	"mm_struct",	 "path",
	"qstr",	  "super_block", "task_struct", "thread_struct", "vm_area_struct",
};
static const char *const members[] = {
	"__mm_flags", "brk",	  "d_name",	"data_vm",    "dentry",	     "env_end",
	"exec_vm",    "f_inode",  "f_path",	"flags",      "fsbase",	     "gsbase",
	"i_ino",      "i_sb",	  "mm",		"name",	      "pid",	     "real_parent",
	"s_dev",      "stack_vm", "start_code", "start_data", "start_stack", "tgid",
	"thread",     "total_vm", "vm_end",	"vm_file",    "vm_pgoff",    "vm_start",
};

#define DEPTH_MOST 32 /* of types within types */
#define NOTHING UINT32_MAX
#define FIELDS_MOST 32 /* of those members in a structure */

/* Type information: records of types, which are numbered from 1 on, and their names. */
struct source {
	const uint8_t *type;
	const char *name;
	uint32_t type_bytes, name_bytes;
	uint32_t n;
	uint32_t *at;	/* where each type's record begins */
	uint32_t *made; /* the number of what was made of it; 0: it was not looked at; NOTHING */
	struct btf *out;
	bool failed; /* a type is malformed, or there was no memory */
};

struct field {
	const char *name;
	uint32_t type, offset, bits;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

static bool is_structure(const char *name)
{
	return bsearch(name, structures, sizeof(structures) / sizeof(*structures),
		       sizeof(*structures), by_name);
}

static bool is_member(const char *name)
{
	return bsearch(name, members, sizeof(members) / sizeof(*members), sizeof(*members),
		       by_name);
}

/* How many bytes follow the head of a type's record; -1: the kind is not known. */
static int64_t bytes_behind(const struct btf_type *t)
{
	int64_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * (int64_t)sizeof(struct btf_member);
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO:
		return n * 8;
	case BTF_KIND_ENUM64:
	case BTF_KIND_DATASEC:
		return n * 12;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:
		return -1;
	}
}

/* Finds the parts of type information. False if it is malformed. */
static bool find_parts(struct source *s, const void *bytes, size_t size)
{
	const struct btf_header *h = bytes;
	size_t left;

	if (size < sizeof(*h) || h->magic != BTF_MAGIC || h->version != BTF_VERSION ||
	    h->hdr_len < sizeof(*h) || h->hdr_len > size || h->hdr_len % 4 || h->type_off % 4)
		return false;
	left = size - h->hdr_len;
	if (h->type_off > left || h->type_len > left - h->type_off || h->str_off > left ||
	    h->str_len > left - h->str_off || !h->str_len)
		return false;
	s->type = (const uint8_t *)bytes + h->hdr_len + h->type_off;
	s->type_bytes = h->type_len;
	s->name = (const char *)bytes + h->hdr_len + h->str_off;
	s->name_bytes = h->str_len;
	return s->name[s->name_bytes - 1] == 0;
}

/* Finds where each type's record begins. False if they are malformed, or without memory. */
static bool number_types(struct source *s)
{
	size_t most = s->type_bytes / sizeof(struct btf_type) + 1;
	const struct btf_type *t;
	int64_t behind;

	s->at = malloc(most * sizeof(*s->at));
	s->made = calloc(most, sizeof(*s->made));
	if (!s->at || !s->made)
		return false;
	for (uint32_t at = 0; at < s->type_bytes; at += (uint32_t)(sizeof(*t) + (size_t)behind)) {
		if (s->type_bytes - at < sizeof(*t))
			return false;
		t = (const void *)(s->type + at);
		behind = bytes_behind(t);
		if (behind < 0 || s->type_bytes - at - sizeof(*t) < (size_t)behind)
			return false;
		s->at[++s->n] = at;
	}
	return true;
}

static const struct btf_type *type_of(const struct source *s, uint32_t id)
{
	return id && id <= s->n ? (const void *)(s->type + s->at[id]) : NULL;
}

static const char *name_of(const struct source *s, uint32_t at)
{
	return at < s->name_bytes ? s->name + at : "";
}

/* The number of the type that qualifiers and typedefs lead to. */
static uint32_t unqualified(const struct source *s, uint32_t id)
{
	const struct btf_type *t = type_of(s, id);

	for (int i = 0; i < DEPTH_MOST && t; i++) {
		switch (BTF_INFO_KIND(t->info)) {
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_CONST:
		case BTF_KIND_RESTRICT:
		case BTF_KIND_TYPE_TAG:
			id = t->type;
			t = type_of(s, id);
			break;
		default:
			return id;
		}
	}
	return 0;
}

static uint32_t make(struct source *s, uint32_t id, int depth);

/* Takes the member if it is needed. False if it is not. */
static bool take_member(struct source *s, const struct btf_type *of, const struct btf_member *m,
			int depth, struct field *f)
{
	bool with_bits = BTF_INFO_KFLAG(of->info);

	f->name = name_of(s, m->name_off);
	if (*f->name && !is_member(f->name))
		return false;
	f->type = make(s, m->type, depth + 1);
	f->offset = with_bits ? BTF_MEMBER_BIT_OFFSET(m->offset) : m->offset;
	f->bits = with_bits ? BTF_MEMBER_BITFIELD_SIZE(m->offset) : 0;
	return f->type != 0;
}

/* Makes a structure or union of those members that are needed; 0 if none is. */
static int make_structure(struct source *s, const struct btf_type *t, int depth)
{
	const struct btf_member *m = (const void *)(t + 1);
	const char *name = name_of(s, t->name_off);
	struct field field[FIELDS_MOST];
	uint32_t n = 0;
	int id;

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info) && n < FIELDS_MOST; i++)
		n += take_member(s, t, &m[i], depth, &field[n]);
	if (!n)
		return 0;
	id = BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT ? btf__add_struct(s->out, name, t->size)
						       : btf__add_union(s->out, name, t->size);
	for (uint32_t i = 0; i < n && id > 0; i++)
		if (btf__add_field(s->out, field[i].name, (int)field[i].type, field[i].offset,
				   field[i].bits))
			return -1;
	return id;
}

static int make_array(struct source *s, const struct btf_type *t, int depth)
{
	const struct btf_array *a = (const void *)(t + 1);
	int element = (int)make(s, a->type, depth + 1);

	/* nobody asks for the type of the index */
	return element ? btf__add_array(s->out, element, element, a->nelems) : 0;
}

static int make_kind(struct source *s, const struct btf_type *t, int depth)
{
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
		return btf__add_int(s->out, name_of(s, t->name_off), t->size,
				    BTF_INT_ENCODING(*(const uint32_t *)(t + 1)));
	case BTF_KIND_PTR:
		return btf__add_ptr(s->out, 0);
	case BTF_KIND_ARRAY:
		return make_array(s, t, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return make_structure(s, t, depth);
	default:
		return 0;
	}
}

/* Returns the number of a type made of another, pointers without what they point to; 0: it is not needed. */
static uint32_t make(struct source *s, uint32_t id, int depth)
{
	const struct btf_type *t;
	int made;

	id = unqualified(s, id);
	t = type_of(s, id);
	if (!t || depth > DEPTH_MOST)
		return 0;
	if (!s->made[id]) {
		s->made[id] = NOTHING; /* malformed types can hold themselves */
		made = make_kind(s, t, depth);
		s->failed |= made < 0;
		if (made > 0)
			s->made[id] = (uint32_t)made;
	}
	return s->made[id] == NOTHING ? 0 : s->made[id];
}

static void make_structures(struct source *s)
{
	for (uint32_t id = 1; id <= s->n; id++) {
		const struct btf_type *t = type_of(s, id);

		if (BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT &&
		    is_structure(name_of(s, t->name_off)))
			make(s, id, 0);
	}
}

struct btf *kernel_types_reduce(const void *bytes, size_t size)
{
	struct source s = { 0 };

	if (find_parts(&s, bytes, size) && number_types(&s))
		s.out = btf__new_empty();
	if (s.out)
		make_structures(&s);
	free(s.at);
	free(s.made);
	if (!s.failed)
		return s.out;
	btf__free(s.out);
	return NULL;
}

/* Reads the file into new memory, or returns MAP_FAILED. */
static void *read_types(int fd, size_t size)
{
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t have = 0;
	ssize_t n = 1;

	if (at == MAP_FAILED)
		return at;
	while (have < size && n > 0) {
		n = read(fd, at + have, size - have);
		have += n > 0 ? (size_t)n : 0;
	}
	if (have == size)
		return at;
	munmap(at, size);
	return MAP_FAILED;
}

/* The kernel's type information, mapped where the kernel allows that (Linux 6.16); or NULL. */
static void *map_types(size_t *size)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0) {
		*size = (size_t)st.st_size;
		at = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			at = read_types(fd, *size);
	}
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* Returns a descriptor of a file with these bytes, or -1. */
static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("types", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -1;
}

int kernel_types_open(void)
{
	size_t size = 0;
	void *bytes = map_types(&size);
	struct btf *b = bytes ? kernel_types_reduce(bytes, size) : NULL;
	const void *raw;
	uint32_t n;
	int fd = -1;

	if (b) {
		raw = btf__raw_data(b, &n);
		fd = raw ? file_of(raw, n) : -1;
		btf__free(b);
	}
	if (bytes)
		munmap(bytes, size);
	return fd;
}
