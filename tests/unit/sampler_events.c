/* SPDX-License-Identifier: MIT */
/*
 * The events that interrupt, with a program that counts them: whom they hit, how often, with what periods.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "count.skel.h"
#include "sampler/caps.h"
#include "sampler/events.h"

#define RATE 2000.0
#define PERIOD 500000 /* ns */
#define SPIN 0.25     /* s of CPU time */

struct count {
	uint64_t n, period, time, between[16];
};

static struct count_bpf *skel;
static struct events events;
static struct err err;

static int quiet(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

static int setup(void **unused)
{
	struct caps caps;

	(void)unused;
	caps_read(&caps);
	if (caps_check(&caps, &err))
		return 0; /* each test says that it is skipped */
	libbpf_set_print(quiet);
	skel = count_bpf__open_and_load();
	return skel ? 0 : -1;
}

static int teardown(void **unused)
{
	(void)unused;
	count_bpf__destroy(skel);
	return 0;
}

static void begin(void)
{
	if (!skel) {
		print_message("# SKIP %s\n", err.msg);
		skip();
	}
	events_init(&events, EVENT_CPU_CLOCK, RATE, bpf_program__fd(skel->progs.on_event));
}

static struct count count_of(pid_t tid)
{
	uint32_t key = (uint32_t)tid;
	struct count c = { 0 };

	bpf_map_lookup_elem(bpf_map__fd(skel->maps.counts), &key, &c);
	return c;
}

static void forget(pid_t tid)
{
	uint32_t key = (uint32_t)tid;

	bpf_map_delete_elem(bpf_map__fd(skel->maps.counts), &key);
}

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin(double seconds)
{
	double end = cpu_time() + seconds;

	while (cpu_time() < end)
		;
}

/* Threads that spin when told. */
struct spinner {
	pthread_t thread;
	pid_t tid;
	pthread_barrier_t *born, *go, *done;
};

static void *spinner(void *arg)
{
	struct spinner *s = arg;

	s->tid = own_tid();
	pthread_barrier_wait(s->born);
	pthread_barrier_wait(s->go);
	spin(SPIN);
	pthread_barrier_wait(s->done);
	return NULL;
}

struct crew {
	struct spinner one[3];
	pthread_barrier_t born, go, done;
};

static void crew_begin(struct crew *c)
{
	pthread_barrier_init(&c->born, NULL, 4);
	pthread_barrier_init(&c->go, NULL, 4);
	pthread_barrier_init(&c->done, NULL, 4);
	for (int i = 0; i < 3; i++) {
		c->one[i] = (struct spinner){ .born = &c->born, .go = &c->go, .done = &c->done };
		assert_int_equal(pthread_create(&c->one[i].thread, NULL, spinner, &c->one[i]), 0);
	}
	pthread_barrier_wait(&c->born);
}

static void crew_spin(struct crew *c)
{
	pthread_barrier_wait(&c->go);
	pthread_barrier_wait(&c->done);
	for (int i = 0; i < 3; i++)
		pthread_join(c->one[i].thread, NULL);
}

/* As many as the CPU time has periods. The timer runs only while the thread does; a virtual machine that is
 * not scheduled loses some, so from below it is generous. */
static void assert_count(uint64_t n, double seconds)
{
	assert_in_range(n, (uint64_t)(0.5 * RATE * seconds), (uint64_t)(1.3 * RATE * seconds) + 10);
}

static void test_periods_of_rates(void **unused)
{
	struct events e;

	(void)unused;
	events_init(&e, EVENT_CPU_CLOCK, 997, -1);
	assert_int_equal(e.period, 1003009);
	events_fini(&e);
	events_init(&e, EVENT_CYCLES, 1000, -1);
	assert_int_equal(e.period, 3000000);
	events_fini(&e);
}

static void test_nobody_there(void **unused)
{
	pid_t pid = fork();

	(void)unused;
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	begin();
	assert_int_equal(events_add_process(&events, pid, &err), -1);
	assert_non_null(strstr(err.msg, "no process"));
	assert_true(err.hint[0]);
	assert_int_equal(events_add_thread(&events, pid, &err), -1);
	assert_non_null(strstr(err.msg, "no thread"));
	assert_int_equal(events.n, 0);
	events_fini(&events);
}

static void test_no_program(void **unused)
{
	struct events e;

	(void)unused;
	begin();
	events_init(&e, EVENT_CPU_CLOCK, RATE, -1);
	assert_int_equal(events_add_thread(&e, own_tid(), &err), -1);
	assert_non_null(strstr(err.msg, "cannot attach the program"));
	assert_int_equal(e.n, 0);
	events_fini(&e);
	events_fini(&events);
}

static void test_one_thread(void **unused)
{
	struct crew c;

	(void)unused;
	begin();
	crew_begin(&c);
	assert_int_equal(events_add_thread(&events, c.one[1].tid, &err), 0);
	assert_int_equal(events.n, 1);
	assert_int_equal(events_enable(&events, &err), 0);
	crew_spin(&c);
	assert_count(count_of(c.one[1].tid).n, SPIN);
	assert_int_equal(count_of(c.one[0].tid).n, 0);
	assert_int_equal(count_of(c.one[2].tid).n, 0);
	events_fini(&events);
}

/* All threads there are, and one born later. */
static void test_process(void **unused)
{
	struct crew c, later;

	(void)unused;
	begin();
	crew_begin(&c);
	forget(own_tid());
	assert_int_equal(events_add_process(&events, getpid(), &err), 0);
	assert_int_equal(events.n, 4);
	/* again: all are known */
	assert_int_equal(events_add_process(&events, getpid(), &err), -1);
	assert_int_equal(events.n, 4);
	assert_int_equal(events_enable(&events, &err), 0);
	crew_begin(&later);
	crew_spin(&c);
	crew_spin(&later);
	spin(SPIN);
	for (int i = 0; i < 3; i++) {
		assert_count(count_of(c.one[i].tid).n, SPIN);
		assert_count(count_of(later.one[i].tid).n, SPIN);
	}
	assert_count(count_of(own_tid()).n, SPIN);
	events_fini(&events);
}

static void test_cpus(void **unused)
{
	(void)unused;
	begin();
	assert_int_equal(events_add_cpus(&events, -1, &err), 0);
	assert_int_equal(events.n, sysconf(_SC_NPROCESSORS_ONLN));
	forget(own_tid());
	assert_int_equal(events_enable(&events, &err), 0);
	spin(SPIN);
	events_fini(&events);
	assert_count(count_of(own_tid()).n, SPIN);
	forget(own_tid());
	spin(SPIN / 5); /* and no more after events_fini() */
	assert_int_equal(count_of(own_tid()).n, 0);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The medians of the distances between interrupts, one for each of 40 draws, in order. */
static void medians_of_draws(uint64_t median[40])
{
	struct count c;

	for (int i = 0; i < 40; i++) {
		events_redraw(&events);
		spin(0.01);
		c = count_of(own_tid());
		assert_int_equal(c.period, PERIOD);
		qsort(c.between, 16, sizeof(*c.between), by_size);
		median[i] = c.between[8];
	}
	qsort(median, 40, sizeof(*median), by_size);
}

static bool in_range(uint64_t x, uint64_t min, uint64_t max)
{
	return x >= min && x <= max;
}

/*
 * Interrupts come at other distances after each draw, half of them within a sixteenth of the period; each says that
 * it stands for the mean. On a machine that is short of time interrupts come late: then all is tried again.
 */
static void test_periods_are_drawn(void **unused)
{
	uint64_t median[40];
	bool well = false;

	(void)unused;
	begin();
	forget(own_tid());
	assert_int_equal(events_add_thread(&events, own_tid(), &err), 0);
	assert_int_equal(events_enable(&events, &err), 0);
	for (int tries = 0; !well && tries < 10; tries++) {
		medians_of_draws(median);
		well = in_range(median[20], PERIOD - PERIOD / 16, PERIOD + PERIOD / 8) &&
		       in_range(median[30] - median[10], PERIOD / 40, PERIOD / 8);
	}
	events_fini(&events);
	print_message("# medians of 40 draws: quartiles %llu %llu %llu\n",
		      (unsigned long long)median[10], (unsigned long long)median[20],
		      (unsigned long long)median[30]);
	assert_true(well);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_periods_of_rates),  cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_no_program),	  cmocka_unit_test(test_one_thread),
		cmocka_unit_test(test_process),		  cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_periods_are_drawn),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
