/* SPDX-License-Identifier: MIT */
#include "coproc/host_values.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* Finds registers, arrays and parameters by name. */
static int find_all(struct host_values *h, struct err *err)
{
	const struct program *p = h->p;
	const struct {
		const char *name;
		uint64_t *to;
	} params[] = { { "ENOUGH", &h->enough }, { "HIGH", &h->high },
		       { "LOW", &h->low },	 { "ROUNDS", &h->rounds },
		       { "TIMER", &h->timer },	 { "RESAMPLE", &h->resample },
		       { "REPLACED", &h->limit } };

	h->failed = program_index(p, "failed");
	h->off = program_index(p, "off");
	h->replaced = program_index(p, "replaced");
	h->cand = program_index(p, "cand");
	h->active = program_base(p, "active");
	h->stats = program_base(p, "stats");
	if (h->failed < 0 || h->off < 0 || h->replaced < 0 || h->active < 0 || h->stats < 0)
		return err_set(err, ERR_FAILED,
			       "program %s lacks a register or an array of failed, off, replaced, "
			       "active, stats, which its host part reads",
			       p->name);
	h->hits = program_field(&p->base[h->stats], "hits");
	h->misses = program_field(&p->base[h->stats], "misses");
	h->total = program_field(&p->base[h->stats], "total");
	if (!h->hits || !h->misses || !h->total)
		return err_set(err, ERR_FAILED,
			       "array stats of program %s lacks hits, misses or total", p->name);
	for (unsigned i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
		const struct program_param *x = program_param(p, params[i].name);

		if (!x)
			return err_set(err, ERR_FAILED, "program %s lacks the parameter %s",
				       p->name, params[i].name);
		*params[i].to = x->value;
	}
	return 0;
}

int host_values_init(struct host_values *h, const struct program *p, const struct spec *s,
		     struct err *err)
{
	*h = (struct host_values){ .p = p, .random = 88172645463325252ull };
	if (find_all(h, err))
		return -1;
	h->wait = h->timer;
	h->resample_at = h->resample;
	h->entry = calloc(s->entries, sizeof(uint64_t));
	h->value = calloc(s->entries, sizeof(uint64_t));
	h->stat = calloc(s->entries, sizeof(uint64_t));
	if (h->entry && h->value && h->stat)
		return 0;
	host_values_fini(h);
	return err_no_memory(err, "the co-processor");
}

void host_values_fini(struct host_values *h)
{
	table_fini(&h->table);
	free(h->entry);
	free(h->value);
	free(h->stat);
	h->entry = h->value = h->stat = NULL;
}

static uint64_t field(uint64_t word, const struct program_field *f)
{
	return word >> f->shift & ((1ull << f->bits) - 1);
}

static bool is_known(const struct host_values *h, const struct table_load *l, uint64_t hits,
		     uint64_t misses, uint64_t total)
{
	if (hits + misses >= h->enough && 100 * hits >= h->high * (hits + misses))
		return true;
	if (total >= 2 * h->enough && 100 * hits <= h->low * total)
		return true;
	return l->rounds >= h->rounds;
}

/* Whether a slot's counts confirm what the table has. */
static bool agrees(const struct table_load *l, uint64_t value, uint64_t hits, uint64_t total)
{
	double before = 0, now = (double)hits / (double)total;

	for (unsigned i = 0; i < l->n; i++)
		if (l->value[i].value == value)
			before = (double)l->value[i].hits / (double)l->total;
	return before - now < 0.1 && now - before < 0.1;
}

/* Stops sampling the load until a later look; the pause doubles each time that nothing new was
 * seen. */
static void mask(struct host_values *h, struct copro *c, struct table_load *l, bool agreed)
{
	uint32_t *head;

	if (l->masked)
		return;
	l->pause = !agreed || !l->pause ? 1 : l->pause < HOST_LOOKS / 2 ? 2 * l->pause : l->pause;
	head = &h->calendar[(h->look + l->pause) % HOST_LOOKS];
	l->later = *head;
	*head = (uint32_t)(l - h->table.load) + 1;
	h->masked++;
	l->masked = true;
	copro_ignore(c, copro_hash(l->pc), true);
}

/* Records a slot. Returns whether it was in use; -1 without memory. */
static int record(struct host_values *h, struct copro *c, uint32_t pc, uint64_t value,
		  uint64_t stat)
{
	uint64_t hits = field(stat, h->hits), misses = field(stat, h->misses);
	uint64_t total =
		/* the total includes the sample that chose the first active value */
		field(stat, h->total);
	struct table_load *l;
	uint64_t weight;
	bool agreed;

	if (total-- < 2)
		return 0;
	l = table_get(&h->table, pc);
	if (!l)
		return -1;
	agreed = l->total && agrees(l, value, hits, total);
	weight = total >= h->enough && l->weight ? l->weight : 1;
	if (total >= h->enough)
		l->weight = 1;
	table_add(l, value, weight * hits, weight * misses, weight * total);
	l->rounds += total >= h->enough;
	h->records++;
	if (is_known(h, l, hits, misses, total))
		mask(h, c, l, agreed);
	return 1;
}

/* Cycles that recording an observation in a table takes: bench/handler measures them. */
static uint32_t record_cycles(const struct spec *s, const struct table *t)
{
	return s->record_cycles + (table_bytes(t) > s->host_cache ? s->far_cycles : 0);
}

/* All slots go to the table. Returns the handler's cycles. */
static int64_t copy(struct host_values *h, struct copro *c)
{
	const struct program *p = h->p;
	uint32_t n = c->s.entries;
	int64_t cycles = 0;

	h->copies++;
	copro_read_data(c, p->base[h->stats].at, n, h->stat);
	copro_read_entries(c, 0, n, h->entry);
	copro_read_data(c, p->base[h->active].at, n, h->value);
	for (uint32_t i = 0; i < n; i++) {
		int rc = record(h, c, (uint32_t)h->entry[i], h->value[i], h->stat[i]);

		if (rc < 0)
			return -1;
		cycles += rc ? record_cycles(&c->s, &h->table) : c->s.scan_cycles;
	}
	return cycles;
}

/* Turns to the next part of the program. */
static void turn(struct host_values *h)
{
	if (!h->bits)
		return;
	h->part = (h->part + 1) & ((1ull << h->bits) - 1);
	if (h->part || h->turn_since) {
		h->turn_since = h->part ? h->turn_since : 0;
		return;
	}
	h->bits--; /* a whole turn passed without thrashing */
	h->part = 0;
}

/* Divides the program into more parts, according to how fast the slots thrashed. */
static void divide(struct host_values *h, uint64_t samples)
{
	unsigned more = samples < 2 * h->limit ? 3 : samples < 4 * h->limit ? 2 : 1;

	h->thrashes++;
	h->turn_since = 1;
	while (more-- && h->bits < 6)
		h->part |= (random_bits(&h->random) & 1) << h->bits++;
}

static void restart(struct host_values *h, struct copro *c)
{
	copro_invalidate(c);
	copro_clear(c);
	copro_reset_indexes(c);
	copro_write_filter(c, (1ull << h->bits) - 1, h->part);
}

/* Samples loads again whose pause is over, because their values may have changed. */
static int64_t look_again(struct host_values *h, struct copro *c)
{
	uint32_t *head = &h->calendar[++h->look % HOST_LOOKS], at = *head;
	int64_t cycles = 0;

	*head = 0;
	while (at) {
		struct table_load *l = &h->table.load[at - 1];

		at = l->later;
		cycles += c->s.scan_cycles;
		l->masked = false;
		l->rounds = h->rounds - 1;
		l->weight = l->pause; /* the load is assumed to have behaved the same in between */
		h->resampled++;
		copro_ignore(c, copro_hash(l->pc), false);
	}
	return cycles;
}

static int64_t handle(void *arg, struct copro *c, int why, uint64_t now, struct err *err)
{
	struct host_values *h = arg;
	uint64_t replaced = copro_read_index(c, h->replaced);
	int64_t cycles = 0;

	if (why == HOST_INTERRUPT && replaced >= h->limit) {
		divide(h, c->samples - h->done_before);
	} else {
		if (replaced || why == HOST_END)
			cycles = copy(h, c);
		if (cycles < 0)
			return err_no_memory(err, "the co-processor");
		turn(h);
	}
	if (h->resample && now >= h->resample_at) {
		cycles += look_again(h, c);
		h->resample_at = now + h->resample;
	}
	h->done_before = c->samples;
	h->wait = (h->timer >> h->bits) + 1;
	restart(h, c);
	return cycles;
}

struct host host_values_host(struct host_values *h)
{
	return (struct host){ .arg = h, .handle = handle, .timer = &h->wait };
}

/* The simple sampler. */

static uint64_t distance(struct simple *m)
{
	return 1 + random_below(&m->random, 2 * m->period - 1);
}

int simple_init(struct simple *m, const struct spec *s, uint64_t period)
{
	*m = (struct simple){ .s = *s, .period = period, .random = 2463534242ull };
	m->room = s->buffer / 8;
	m->buffer = calloc(m->room, sizeof(*m->buffer));
	m->left = distance(m);
	return m->buffer ? 0 : -1;
}

void simple_fini(struct simple *m)
{
	table_fini(&m->table);
	free(m->buffer);
	m->buffer = NULL;
}

static int empty(struct simple *m)
{
	for (uint32_t i = 0; i < m->held; i++) {
		struct table_load *l = table_get(&m->table, m->buffer[i].pc);

		if (!l)
			return -1;
		table_add(l, m->buffer[i].value, 1, 0, 1);
	}
	m->overhead += m->s.interrupt_cycles + (uint64_t)m->held * record_cycles(&m->s, &m->table) +
		       (uint64_t)m->held * 8 / m->s.host_bus * m->s.host_cycles;
	m->interrupts++;
	m->held = 0;
	return 0;
}

int simple_take(struct simple *m, uint32_t pc, uint64_t value)
{
	if (--m->left)
		return 0;
	m->left = distance(m);
	m->buffer[m->held].pc = pc;
	m->buffer[m->held].value = (uint32_t)value;
	m->samples++;
	return ++m->held == m->room ? empty(m) : 0;
}

int simple_end(struct simple *m)
{
	return m->held ? empty(m) : 0;
}
