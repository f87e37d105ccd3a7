/* SPDX-License-Identifier: MIT */
/* Prints the sites of a recording, a line each: image, class (enum insn_class), observed, taken; with tabs. */
#include <stdio.h>

#include "observe/profile.h"
#include "store/recording.h"

int main(int argc, char **argv)
{
	const struct site *s;
	struct profile p;
	struct err err;

	if (argc != 2 || profile_init(&p, &err) || recording_read(argv[1], &p, &err)) {
		fprintf(stderr, "sites: %s\n", argc == 2 ? err.msg : "usage: sites FILE");
		return 1;
	}
	SITES_EACH(&p.sites, s)
	{
		printf("%s\t%d\t%llu\t%llu\n", p.image[s->id.image]->path, s->cls,
		       (unsigned long long)s->observed, (unsigned long long)s->taken);
	}
	profile_fini(&p);
	return 0;
}
