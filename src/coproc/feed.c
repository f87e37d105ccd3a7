/* SPDX-License-Identifier: MIT */
#include "coproc/feed.h"

#include <stdlib.h>

struct feed_sample {
	struct sample s;
	uint64_t ready; /* time when the sample is in the buffer */
};

static void charge(struct feed *f, uint64_t cycles)
{
	f->n.bus += f->c->bus;
	f->n.overhead += cycles + f->c->bus * f->c->s.host_cycles;
	f->c->bus = 0;
}

int feed_init(struct feed *f, struct copro *c, struct host host, struct err *err)
{
	*f = (struct feed){ .c = c, .host = host, .bytes = program_sample_bytes(c->p) };
	f->room = c->s.buffer / f->bytes;
	f->ring = calloc(f->room, sizeof(*f->ring));
	if (!f->ring)
		return err_no_memory(err, "the co-processor");
	f->timer_at = host.timer ? *host.timer : 0;
	charge(f, 0);
	return 0;
}

void feed_fini(struct feed *f)
{
	free(f->ring);
	f->ring = NULL;
}

static int call_host(struct feed *f, int why, uint64_t now, struct err *err)
{
	int64_t cost = f->host.handle(f->host.arg, f->c, why, now, err);

	if (cost < 0)
		return -1;
	charge(f, (uint64_t)cost + (why == HOST_END ? 0 : f->c->s.interrupt_cycles));
	if (f->host.timer && *f->host.timer && why != HOST_END)
		f->timer_at = now + *f->host.timer;
	return 0;
}

/* Begins the oldest sample if it has arrived by then. Returns false if it has not. */
static bool begin(struct feed *f, uint64_t now)
{
	const struct feed_sample *head = &f->ring[f->head];
	uint64_t start = head->ready > f->free_at ? head->ready : f->free_at;
	uint32_t cycles = 0;

	if (start > now)
		return false;
	f->outcome = copro_run(f->c, &head->s, &cycles);
	f->finish = start + (uint64_t)cycles * f->c->s.ratio;
	f->n.busy += (uint64_t)cycles * f->c->s.ratio;
	f->running = true;
	return true;
}

static int finish(struct feed *f, struct err *err)
{
	f->running = false;
	f->free_at = f->finish;
	f->head = f->head + 1 == f->room ? 0 : f->head + 1;
	f->count--;
	f->n.done++;
	if (f->outcome != COPRO_INTERRUPT)
		return 0;
	f->n.interrupts++;
	return call_host(f, HOST_INTERRUPT, f->finish, err);
}

/* Simulates everything up to this time. -1 with err set: a trap. */
static int feed_advance(struct feed *f, uint64_t now, struct err *err)
{
	while (f->count) {
		if (!f->running && !begin(f, now))
			break;
		if (f->outcome == COPRO_TRAP)
			return copro_trap(f->c, err);
		if (f->finish > now)
			break;
		if (finish(f, err))
			return -1;
	}
	f->now = now;
	if (!f->timer_at || now < f->timer_at)
		return 0;
	f->n.timers++;
	return call_host(f, HOST_TIMER, now, err);
}

int feed_take(struct feed *f, const struct sample *s, uint32_t hash, uint64_t now, struct err *err)
{
	const struct spec *spec = &f->c->s;
	unsigned when = f->c->p->when[s->cls];
	uint64_t ready;
	uint32_t tail;

	if ((f->count || f->timer_at) && feed_advance(f, now, err))
		return -1;
	f->now = now;
	if (!copro_accepts(f->c, s->cls, hash) || (when && !s->source[when - 1]))
		return 0;
	f->n.passed++;
	if (f->count == f->room) {
		f->n.dropped++;
		return 0;
	}
	tail = f->head + f->count;
	ready = now + spec->latency;
	if (ready < f->bus_free)
		ready = f->bus_free;
	f->bus_free = ready + (f->bytes + spec->bus - 1) / spec->bus;
	f->ring[tail >= f->room ? tail - f->room : tail] = (struct feed_sample){ *s, f->bus_free };
	f->count++;
	if ((uint64_t)f->count * f->bytes > f->n.deepest)
		f->n.deepest = (uint64_t)f->count * f->bytes;
	return 0;
}

int feed_end(struct feed *f, struct err *err)
{
	uint64_t now = f->now;

	f->timer_at = 0;
	while (f->count) {
		const struct feed_sample *head = &f->ring[f->head];
		uint64_t then = f->running ? f->finish : head->ready;

		if (then < f->free_at && !f->running)
			then = f->free_at;
		if (feed_advance(f, then, err))
			return -1;
	}
	f->now = now;
	return call_host(f, HOST_END, now, err);
}
