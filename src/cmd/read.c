/* SPDX-License-Identifier: MIT */
#include "cmd/read.h"

#include "base/pages.h"

int read_and_print(const struct reading_options *in, void (*print)(struct reading *, struct err *),
		   struct err *err)
{
	/* one in a process, which ends behind it: the kernel frees at once what takes long piece by piece */
	static struct reading r;

	pages_keep();
	if (reading_open(&r, in, err))
		return err->code;
	print(&r, err);
	emit_close(&r.emit, err->code == 0);
	return err->code;
}

void read_no_operands(const struct reading_options *in, const char *operand, struct err *err)
{
	err_set(err, ERR_USAGE, "%s takes no operands, but '%s' was given", in->verb, operand);
}
