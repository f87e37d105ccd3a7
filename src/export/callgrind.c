/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's format, for KCachegrind and callgrind_annotate: executions of each instruction with its line, and calls
 * with their numbers, all of them counted by an exact recording. The inclusive cost of calls was not counted:
 * export/inclusive divides it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/text.h"
#include "export/formats.h"
#include "export/inclusive.h"
#include "report/place.h"
#include "report/transfers.h"

/* A name is written with its number when it is first used; afterwards the number alone. */
struct name {
	char *s;
	size_t number;
	UT_hash_handle hh;
};

struct callgrind {
	FILE *out;
	struct view view;
	struct binaries binaries;
	struct transfers calls;	     /* calls, by place */
	struct inclusive_call *cost; /* by call, in the order of calls */
	struct name *objects, *files, *procs;
	const char *file; /* file and line that the last line named */
	bool failed;
};

static void put_name(struct callgrind *c, struct name **names, const char *key, const char *s)
{
	struct name *n;

	HASH_FIND_STR(*names, s, n);
	if (n) {
		fprintf(c->out, "%s=(%zu)\n", key, n->number);
		return;
	}
	n = calloc(1, sizeof(*n));
	if (!n || !(n->s = strdup(s))) {
		free(n);
		c->failed = true;
		return;
	}
	n->number = HASH_COUNT(*names) + 1;
	HASH_ADD_KEYPTR(hh, *names, n->s, strlen(n->s), n);
	if (!n->hh.tbl) {
		free(n->s);
		free(n);
		c->failed = true;
		return;
	}
	fprintf(c->out, "%s=(%zu) ", key, n->number);
	text_put(s, c->out);
	putc('\n', c->out);
}

static void names_free(struct name **names)
{
	struct name *n, *next;

	HASH_ITER (hh, *names, n, next) {
		HASH_DEL(*names, n);
		free(n->s);
		free(n);
	}
}

static const char *line_of(struct callgrind *c, uint32_t image, uint64_t addr, int *line)
{
	struct image *im = binaries_get(&c->binaries, image);
	const char *file;

	if (im && image_line(im, addr, &file, line) && *line >= 0)
		return file;
	*line = 0;
	return "???";
}

static void put_proc(struct callgrind *c, const struct view_proc *p, bool called)
{
	char name[1024];
	int line;
	const char *file = line_of(c, p->image, p->start, &line);

	put_name(c, &c->objects, called ? "cob" : "ob", c->view.image[p->image].image->path);
	put_name(c, &c->files, called ? "cfi" : "fl", file);
	put_name(c, &c->procs, called ? "cfn" : "fn", view_proc_name(p, name, sizeof(name)));
	if (!called)
		c->file = file;
}

static int by_place(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	int order = site_id_order(x->from, y->from);

	return order ? order : site_id_order(x->to, y->to);
}

static void put_calls(struct callgrind *c, size_t *at, const struct site *s, int line)
{
	for (; *at < c->calls.n && site_id_order(c->calls.v[*at].from, s->id) <= 0; ++*at) {
		const struct transfer *call = &c->calls.v[*at];
		int to;

		if (site_id_order(call->from, s->id) < 0 || !call->callee)
			continue;
		put_proc(c, call->callee, true);
		line_of(c, call->to.image, call->to.addr, &to);
		fprintf(c->out, "calls=%" PRIu64 " 0x%" PRIx64 " %d\n", call->count, call->to.addr,
			to);
		fprintf(c->out, "0x%" PRIx64 " %d %.0f\n", s->id.addr, line, c->cost[*at].cost);
	}
}

static void put_site(struct callgrind *c, size_t *at, const struct site *s)
{
	int line;
	const char *file = line_of(c, s->id.image, s->id.addr, &line);

	if (!s->observed)
		return;
	if (strcmp(file, c->file)) {
		put_name(c, &c->files, "fi", file);
		c->file = file;
	}
	fprintf(c->out, "0x%" PRIx64 " %d %" PRIu64 "\n", s->id.addr, line, s->observed);
	put_calls(c, at, s, line);
}

static void put_header(struct callgrind *c, const struct profile *p)
{
	fputs("# callgrind format\nversion: 1\ncreator: assay-" ASSAY_VERSION "\ncmd: ", c->out);
	text_put(p->run[0].command ? p->run[0].command : "?", c->out);
	fprintf(c->out,
		"\ndesc: Calls: numbers are counted, inclusive costs are divided by them\n"
		"positions: instr line\nevents: Ir\nsummary: %" PRIu64 "\n\n",
		c->view.sum.observed);
}

static void put_all(struct callgrind *c, const struct profile *p)
{
	uint32_t last = UINT32_MAX;
	size_t at = 0;

	put_header(c, p);
	for (size_t i = 0; i < c->view.n; i++) {
		if (c->view.proc_of[i] != last) {
			last = c->view.proc_of[i];
			putc('\n', c->out);
			put_proc(c, &c->view.proc[last], false);
		}
		put_site(c, &at, c->view.site[i]);
	}
	fprintf(c->out, "\ntotals: %" PRIu64 "\n", c->view.sum.observed);
}

static int by_number(const void *a, const void *b)
{
	const struct inclusive_call *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int find_costs(struct callgrind *c)
{
	size_t n = c->view.nproc, k = c->calls.n;
	double *own = calloc(n + 1, sizeof(*own));
	int rc = -1;

	c->cost = calloc(k + 1, sizeof(*c->cost));
	if (!own || !c->cost)
		goto done;
	for (size_t i = 0; i < n; i++)
		own[i] = (double)c->view.proc[i].sum.observed;
	for (size_t i = 0; i < k; i++) {
		const struct transfer *t = &c->calls.v[i];

		c->cost[i].from = (uint32_t)(t->caller - c->view.proc);
		c->cost[i].to = (uint32_t)((t->callee ? t->callee : t->caller) - c->view.proc);
		c->cost[i].count = (double)t->count;
		c->cost[i].number = i;
	}
	rc = inclusive_costs(n, own, c->cost, k);
	qsort(c->cost, k, sizeof(*c->cost), by_number);
done:
	free(own);
	return rc;
}

static int refuse(const struct profile *p, struct err *err)
{
	if (p->nrun && run_is_exact(&p->run[0]))
		return 0;
	err_set(err, ERR_FAILED, "callgrind's format counts executions: only exact recordings do");
	return err_hint(err, "assay record --exact -- CMD; of samples, export pprof or folded");
}

static int write_callgrind(struct export *x, struct err *err)
{
	struct callgrind c = { .out = x->out };
	int rc = 0;

	if (refuse(x->profile, err) || binaries_init(&c.binaries, x->profile, NULL, err))
		return -1;
	if (view_open(&c.view, x->profile, &c.binaries, err)) {
		binaries_fini(&c.binaries);
		return -1;
	}
	if (!c.view.sum.observed) {
		rc = err_set(err, ERR_EMPTY, "the recording holds no executed instructions");
	} else if (transfers_collect(&c.calls, &c.view)) {
		rc = err_no_memory(err, "the export");
	} else {
		if (c.calls.n)
			qsort(c.calls.v, c.calls.n, sizeof(*c.calls.v), by_place);
		if (!find_costs(&c))
			put_all(&c, x->profile);
		else
			c.failed = true;
		if (c.failed)
			rc = err_no_memory(err, "the export");
	}
	names_free(&c.objects);
	names_free(&c.files);
	names_free(&c.procs);
	free(c.cost);
	transfers_fini(&c.calls);
	view_fini(&c.view);
	binaries_fini(&c.binaries);
	return rc;
}

const struct export_format export_callgrind = {
	.name = "callgrind",
	.what = "callgrind's format, of exact recordings (KCachegrind, callgrind_annotate)",
	.write = write_callgrind,
};
