/* SPDX-License-Identifier: MIT */
/* How fast this machine can be sampled. */
#include <string.h>

#include "base/log.h"
#include "cmd/record_priv.h"
#include "runahead/state.h"
#include "sampler/bearable.h"
#include "sampler/caps.h"

/* The kernel throttles rates beyond its limit, so that samples would be lost in silence. */
static int check_rate(double rate, const char *event, struct err *err)
{
	struct caps caps;

	caps_read(&caps);
	if (caps.max_rate > 0 && rate > (double)caps.max_rate) {
		err_set(err, ERR_FAILED, "-F %g is beyond kernel.perf_event_max_sample_rate, %ld",
			rate, caps.max_rate);
		return err_hint(err,
				"sudo sysctl kernel.perf_event_max_sample_rate=%.0f, or a lower -F",
				rate);
	}
	if (event && !strcmp(event, "cycles") && !caps.pmu) {
		err_set(err, ERR_FAILED, "this machine shows no cycle counter (no PMU)");
		return err_hint(err, "leave -e out: cpu-clock works everywhere");
	}
	return 0;
}

/* Refuses a rate at which the program would hardly go on between interrupts: a second of it would
 * take minutes. */
static int choose_burst(struct sampler_options *o, struct err *err)
{
	unsigned usual = o->branches ? RA_BURST_MAX : sampler_defaults.burst;
	unsigned wanted = record_given.burst ? record_given.burst : usual, fits;
	bool virtual = bearable_is_virtual();

	fits = bearable_burst(o->rate, wanted, virtual);
	if (fits < wanted && (record_given.burst || !fits)) {
		err_set(err, ERR_FAILED,
			"-F %g asks for a sample each %.1f us, and one takes some %.1f us%s, with "
			"%u instructions ahead",
			o->rate, 1e6 / o->rate, bearable_sample_us(wanted, virtual),
			virtual ? " in a virtual machine" : "", wanted);
		if (fits)
			return err_hint(err,
					"-b %u leaves the program half of its time, or -F %.0f",
					fits, bearable_rate(wanted, virtual));
		return err_hint(err, "-F %.0f leaves the program half of its time, with -b %u",
				bearable_rate(BEARABLE_BURST, virtual), BEARABLE_BURST);
	}
	if (fits < wanted)
		log_warn("at -F %g windows have %u instructions: %u would not leave the program "
			 "half of its time",
			 o->rate, fits, wanted);
	o->burst = fits;
	return 0;
}

/* Whether call stacks are recorded. Unless they were asked for, the rate must leave time for them. */
static bool choose_stacks(const struct sampler_options *o)
{
	if (record_given.stacks || record_given.no_stacks || o->branches || o->slots)
		return record_given.stacks;
	if (bearable_stacks(o->rate, o->burst, bearable_is_virtual()))
		return true;
	log_warn("at -F %g call stacks would not leave the program half of its time: none are "
		 "recorded (-g records them all the same)",
		 o->rate);
	return false;
}

int record_pace(struct sampler_options *o, struct err *err)
{
	if (check_rate(o->rate, o->event, err) || choose_burst(o, err))
		return -1;
	o->stacks = choose_stacks(o);
	return 0;
}
