/* SPDX-License-Identifier: MIT */
/* Any bytes as a snapshot of sites; what is read is written and read again, and then the same. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_all(const struct profile *p, struct buffer *b)
{
	struct snapshot part;
	struct site *s;

	snapshot_begin_sites(&part, HOT_ALL);
	SITES_EACH(&p->sites, s)
	if (!snapshot_put(&part, s))
		abort();
	if (p->sites.n && !columns_join(&part.columns, b))
		abort();
	columns_fini(&part.columns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t map[3] = { 0, 0, 0 };
	struct buffer a = { 0 }, b = { 0 };
	struct profile p, q;
	struct err err;

	if (profile_init(&p, &err))
		return 0;
	if (size && !profile_init(&q, &err)) {
		if (!snapshot_read(data, size, &p, map, 3, &err)) {
			put_all(&p, &a);
			/* sums over sites that came twice may be too large to be read */
			if (a.n && !snapshot_read(a.p, a.n, &q, map, 3, &err)) {
				put_all(&q, &b);
				if (a.n != b.n || memcmp(a.p, b.p, a.n))
					abort();
			}
		}
		profile_fini(&q);
	}
	profile_fini(&p);
	free(a.p);
	free(b.p);
	return 0;
}
