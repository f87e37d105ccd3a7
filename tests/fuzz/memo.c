/* SPDX-License-Identifier: MIT */
/*
 * Schedules that a recording keeps. Input: any bytes; what is read is written, and reads the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/memo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schedule_memo *m = schedule_memo_new(), *again = schedule_memo_new();
	struct buffer b = { 0 }, c = { 0 };

	if (m && again) {
		schedule_memo_read(m, data, size);
		if (!schedule_memo_write(m, &b) || (b.n && !schedule_memo_read(again, b.p, b.n)) ||
		    !schedule_memo_write(again, &c) || b.n != c.n ||
		    schedule_memo_count(m) != schedule_memo_count(again))
			abort();
	}
	schedule_memo_free(m);
	schedule_memo_free(again);
	free(b.p);
	free(c.p);
	return 0;
}
