/* SPDX-License-Identifier: MIT */
#include "coproc/lab.h"

#include <stdlib.h>
#include <string.h>

/* cycles until the first picture; the time until each later one is half as long again */
#define FIRST_PICTURE 100000

static int start_host(struct lab *l, struct host *host, struct err *err)
{
	const struct program *p = l->o.program;

	l->values = !strcmp(p->name, "values");
	if (l->values) {
		if (host_values_init(&l->of_values, p, &l->o.spec, err))
			return -1;
		*host = host_values_host(&l->of_values);
		return 0;
	}
	if (host_counts_init(&l->of_counts, p, err))
		return -1;
	*host = host_counts_host(&l->of_counts);
	return 0;
}

int lab_init(struct lab *l, const struct lab_options *o, struct err *err)
{
	struct host host;

	*l = (struct lab){ .o = *o, .next_picture = FIRST_PICTURE };
	if (copro_init(&l->c, &o->spec))
		return err_no_memory(err, "the co-processor");
	copro_load(&l->c, o->program);
	if (start_host(l, &host, err) || feed_init(&l->f, &l->c, host, err))
		return -1;
	if (o->study && !l->values)
		return err_set(err, ERR_USAGE, "a study is of the program values, not of %s",
			       o->program->name);
	return o->study && simple_init(&l->simple, &o->spec, o->period)
		       ? err_no_memory(err, "the co-processor")
		       : 0;
}

void lab_fini(struct lab *l)
{
	for (unsigned i = 0; i < l->npicture; i++) {
		free(l->picture[i].estimate);
		free(l->picture[i].simple);
	}
	feed_fini(&l->f);
	host_values_fini(&l->of_values);
	host_counts_fini(&l->of_counts);
	truth_fini(&l->truth);
	simple_fini(&l->simple);
	copro_fini(&l->c);
}

static int take_picture(struct lab *l, uint64_t now, struct err *err)
{
	struct lab_picture *p = &l->picture[l->npicture];

	*p = (struct lab_picture){ .now = now,
				   .overhead = l->f.n.overhead,
				   .simple_overhead = l->simple.overhead };
	p->estimate = estimate_all(&l->of_values.table, TABLE_MOST, &p->n);
	p->simple = estimate_all(&l->simple.table, 0, &p->simple_n);
	l->npicture++;
	l->next_picture = now + now / 2 + 1;
	return p->estimate && p->simple ? 0 : err_no_memory(err, "the co-processor");
}

static int study(struct lab *l, const struct sample *s, size_t load, uint64_t now, struct err *err)
{
	uint64_t value = s->source[SOURCE_VALUE];

	if (truth_add(&l->truth, load, value) ||
	    simple_take(&l->simple, (uint32_t)s->source[SOURCE_PC], value))
		return err_no_memory(err, "the co-processor");
	if (now < l->next_picture || l->npicture == LAB_PICTURES - 1)
		return 0;
	return take_picture(l, now, err);
}

int lab_take(struct lab *l, const struct sample *s, uint32_t hash, size_t load, uint64_t now,
	     struct err *err)
{
	l->f.n.offered++;
	if (l->o.study && study(l, s, load, now, err))
		return -1;
	return feed_take(&l->f, s, hash, now, err);
}

int lab_end(struct lab *l, struct err *err)
{
	if (feed_end(&l->f, err))
		return -1;
	if (!l->o.study)
		return 0;
	if (simple_end(&l->simple) || truth_close(&l->truth))
		return err_no_memory(err, "the co-processor");
	return take_picture(l, l->f.now, err);
}
