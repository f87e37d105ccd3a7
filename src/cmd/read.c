/* SPDX-License-Identifier: MIT */
#include "cmd/read.h"

int read_and_print(const struct reading_options *in, void (*print)(struct reading *, struct err *),
		   struct err *err)
{
	struct reading r;

	if (reading_open(&r, in, err))
		return err->code;
	print(&r, err);
	reading_close(&r, err->code == 0);
	return err->code;
}

void read_no_operands(const struct reading_options *in, const char *operand, struct err *err)
{
	err_set(err, ERR_USAGE, "%s takes no operands, but '%s' was given", in->verb, operand);
}
