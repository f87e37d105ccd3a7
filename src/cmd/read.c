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

int read_check_executions(const struct reading_options *in, bool used, const char *instead,
			  struct err *err)
{
	const char *option = in->counts	  ? "--counts"
			     : in->method ? "--method"
			     : in->repeat ? "--repeat"
					  : NULL;

	if (option && !used)
		return err_set(err, ERR_USAGE, "%s goes with %s", option, instead);
	if (in->counts && in->method)
		return err_set(err, ERR_USAGE, "--method estimates what --counts has counted");
	if (in->repeat > 0 && !in->counts)
		return err_set(err, ERR_USAGE, "--repeat goes with --counts");
	return 0;
}

void read_no_operands(const struct reading_options *in, const char *operand, struct err *err)
{
	err_set(err, ERR_USAGE, "%s takes no operands, but '%s' was given", in->verb, operand);
}
