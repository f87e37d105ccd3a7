/* SPDX-License-Identifier: MIT */
#include "store/rollback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"

#define HEAD 28
#define MAGIC 8
#define ALL_PAGES 0xffffffffu
#define LOCK_BYTE 0x40000000u /* the page with this byte holds SQLite's locks and is never used */
#define PAGE_MAX 65536

static uint32_t big_endian(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_power(uint32_t v, uint32_t min)
{
	return v >= min && v <= PAGE_MAX && !(v & (v - 1));
}

/* Reads up to n bytes; -1 on error. */
static ssize_t read_all(int fd, void *to, size_t n, uint64_t at)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = pread(fd, (char *)to + got, n - got, (off_t)(at + got));

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -1;
		if (!k)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

bool rollback_is_hot(int fd)
{
	uint8_t head[HEAD];

	/* While the header is incomplete, the database has not been changed yet. */
	return read_all(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && head[0];
}

bool rollback_is_journal(int fd)
{
	uint8_t head[HEAD];

	return read_all(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	       !memcmp(head, ROLLBACK_MAGIC, MAGIC);
}

static int refuse(const char *name, const char *why, struct err *err)
{
	err_set(err, ERR_FAILED, "%s, which a killed recorder left, is not read: %s", name, why);
	return err_hint(err, "if it is not yours, delete it; a copy of the recording may be whole");
}

static bool names_super_journal(int fd, uint64_t size)
{
	uint8_t end[MAGIC];

	return size < HEAD + sizeof(end) ||
	       read_all(fd, end, sizeof(end), size - sizeof(end)) != (ssize_t)sizeof(end) ||
	       !memcmp(end, ROLLBACK_MAGIC, sizeof(end));
}

static uint32_t checksum(uint32_t from, const uint8_t *page, uint32_t size)
{
	for (int64_t i = (int64_t)size - 200; i > 0; i -= 200)
		from += page[i];
	return from;
}

static bool add(struct rollback *r, uint32_t number, uint64_t offset)
{
	if (!array_one_more(r->page, r->n))
		return false;
	r->page[r->n++] = (struct rollback_page){ number, offset };
	return true;
}

/* Of several records of a page the last one counts, as when SQLite writes them back in order. */
static int by_number(const void *a, const void *b)
{
	const struct rollback_page *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->offset < y->offset ? 1 : -1;
}

/* Reads records up to the first incomplete one. */
static bool read_records(struct rollback *r, uint64_t sector, uint32_t nonce, uint8_t *record)
{
	const size_t size = r->page_size + 8;
	uint64_t pages = r->size / r->page_size;

	for (uint64_t at = sector;; at += size) {
		uint32_t number;

		if (read_all(r->fd, record, size, at) != (ssize_t)size)
			break;
		number = big_endian(record);
		if (!number || number == LOCK_BYTE / r->page_size + 1 ||
		    checksum(nonce, record + 4, r->page_size) !=
			    big_endian(record + 4 + r->page_size))
			break;
		if (number <= pages && !add(r, number, at + 4))
			return false;
	}
	if (r->n)
		qsort(r->page, r->n, sizeof(*r->page), by_number);
	return true;
}

int rollback_open(struct rollback *r, int fd, const char *name, struct err *err)
{
	static uint8_t record[PAGE_MAX + 8];
	uint8_t head[HEAD];
	struct stat st;
	uint32_t sector;

	*r = (struct rollback){ .fd = fd };
	if (fstat(fd, &st) || read_all(fd, head, sizeof(head), 0) != (ssize_t)sizeof(head))
		return err_sys(err, "cannot read %s", name);
	sector = big_endian(head + 20);
	r->page_size = big_endian(head + 24);
	if (memcmp(head, ROLLBACK_MAGIC, MAGIC) || !is_power(sector, 32) ||
	    !is_power(r->page_size, 512))
		return refuse(name, "it is no rollback journal", err);
	if (names_super_journal(fd, (uint64_t)st.st_size))
		return refuse(name, "it names a super-journal, which no recorder's does", err);
	if (big_endian(head + 8) != ALL_PAGES)
		return refuse(name, "it is not a recorder's", err);
	r->size = (uint64_t)big_endian(head + 16) * r->page_size;
	if (read_records(r, sector, big_endian(head + 12), record))
		return 0;
	rollback_close(r);
	return err_no_memory(err, "the recording");
}

void rollback_close(struct rollback *r)
{
	free(r->page);
	*r = (struct rollback){ .fd = -1 };
}

static const struct rollback_page *find(const struct rollback *r, uint64_t number)
{
	size_t low = search_first(i, 0, r->n, r->page[i].number >= number);

	return low < r->n && r->page[low].number == number ? &r->page[low] : NULL;
}

ssize_t rollback_pread(const struct rollback *r, int db, void *to, size_t n, uint64_t at)
{
	size_t done = 0;

	if (!r)
		return read_all(db, to, n, at);
	if (at >= r->size)
		return 0;
	if (n > r->size - at)
		n = (size_t)(r->size - at);
	while (done < n) {
		uint64_t in = (at + done) % r->page_size;
		size_t some = n - done < r->page_size - in ? n - done : (size_t)(r->page_size - in);
		const struct rollback_page *page = find(r, (at + done) / r->page_size + 1);
		ssize_t got = read_all(page ? r->fd : db, (char *)to + done, some,
				       page ? page->offset + in : at + done);

		if (got < 0)
			return -1;
		done += (size_t)got;
		if ((size_t)got < some)
			break;
	}
	return (ssize_t)done;
}
