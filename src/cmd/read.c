/* SPDX-License-Identifier: MIT */
#include "cmd/read.h"

#include <unistd.h>

#include "base/pages.h"
#include "base/progress.h"
#include "report/counts.h"
#include "store/recording.h"

bool read_no_pager;

int read_and_print(const struct reading_options *in, void (*print)(struct reading *, struct err *),
		   struct err *err)
{
	/* static: a process has one reading, and ends after it; the kernel frees at once what would
	 * take long piece by piece */
	static struct reading r;

	pages_keep();
	progress_file("reading", in->input);
	if (reading_open(&r, in, err))
		return err->code;
	progress_show("analysing", 0, 0);
	print(&r, err);
	emit_close(&r.emit, err);
	return err->code;
}

int read_check_executions(const struct read_executions *from, bool used, const char *instead,
			  struct err *err)
{
	const char *option = from->counts   ? "--counts"
			     : from->method ? "--method"
			     : from->repeat ? "--repeat"
					    : NULL;

	if (option && !used)
		return err_set(err, ERR_USAGE, "%s goes with %s", option, instead);
	if (from->counts && from->method)
		return err_set(err, ERR_USAGE, "--method estimates what --counts has counted");
	if (from->repeat > 0 && !from->counts)
		return err_set(err, ERR_USAGE, "--repeat goes with --counts");
	return 0;
}

int read_choose_executions(struct reading *r, const struct read_executions *from, struct err *err)
{
	if (!from->counts && !from->method)
		return 0;
	if (r->view.exact) {
		err_set(err, ERR_FAILED, "%s is exact: it counts executions itself", r->path);
		return err_hint(err, "%s is for sampled recordings",
				from->counts ? "--counts" : "--method");
	}
	if (from->method) {
		r->method = (enum estimate_method)estimate_method_by_name(from->method);
		return 0;
	}
	r->method = ESTIMATE_COUNTED;
	r->counts = counts_open(r, from->counts, from->repeat > 0 ? from->repeat : 1, err);
	return r->counts ? 0 : -1;
}

int read_add(struct profile *sum, const char *path, struct err *err)
{
	struct profile p;
	int rc;

	if (profile_init(&p, err))
		return -1;
	progress_file("adding", path);
	rc = recording_read(path, &p, err);
	if (!rc)
		rc = profile_merge(sum, &p, err);
	profile_fini(&p);
	return rc;
}

int read_no_operands(const struct reading_options *in, const char *operand, const char *instead,
		     struct err *err)
{
	err_set(err, ERR_USAGE, "%s takes no operands, but '%s' was given", in->verb, operand);
	if (!access(operand, F_OK))
		err_hint(err, "-i %s reads that recording", operand);
	else if (instead)
		err_hint(err, "`assay %s %s` shows a procedure; -i FILE names a recording", instead,
			 operand);
	else
		err_hint(err, "-i FILE names a recording");
	return err->code;
}

int read_one_procedure(const struct reading_options *in, int argc, char **argv, struct err *err)
{
	if (argc <= 1)
		return 0;
	err_set(err, ERR_USAGE, "%s takes one procedure, but %d were given", in->verb, argc);
	if (!access(argv[0], F_OK))
		err_hint(err, "-i %s reads that recording", argv[0]);
	return err->code;
}
