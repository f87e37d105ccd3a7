/* SPDX-License-Identifier: MIT */
/*
 * What a killed recorder leaves beside its file: SQLite's rollback journal, which holds pages as they were before
 * the transaction that was going on. SQLite would write them back, and delete files that the journal names. Here
 * they are read in place of the file's pages, and nothing is written. The journal is not trusted.
 *
 *   offset 0   magic (8 bytes)
 *          8   pages in it: 0xffffffff, all to the journal's end (a recorder syncs nothing)
 *         12   what checksums begin with
 *         16   pages of the database before the transaction: it is cut to these
 *         20   bytes of a sector: the first page's record begins there
 *         24   bytes of a page
 *   records    page's number (4), the page, its checksum (4)
 *
 * All numbers are big-endian. A journal that names a super-journal ends with the magic.
 */
#ifndef ASSAY_STORE_ROLLBACK_H
#define ASSAY_STORE_ROLLBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define ROLLBACK_MAGIC "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

struct rollback {
	int fd; /* descriptor of the journal; the caller's */
	uint32_t page_size;
	uint64_t size; /* bytes of the database */
	struct rollback_page {
		uint32_t number;
		uint64_t offset; /* offset in the journal */
	} * page;		 /* sorted by number */
	size_t n;
};

/* Whether fd begins like a rollback journal, hot or not. */
bool rollback_is_journal(int fd);
/* Whether the journal in fd has pages to restore: after a commit it is empty, or begins with 0. */
bool rollback_is_hot(int fd);
/* Reads the hot journal in fd, which has that name. -1 with err set: no recorder wrote it. */
int rollback_open(struct rollback *r, int fd, const char *name, struct err *err);
void rollback_close(struct rollback *r);

/* Reads the database db as it was before the transaction; without r (NULL) as it is, like pread. */
ssize_t rollback_pread(const struct rollback *r, int db, void *to, size_t n, uint64_t at);

#endif
