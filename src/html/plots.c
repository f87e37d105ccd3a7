/* SPDX-License-Identifier: MIT */
#include "html/html.h"

#include "report/reuse.h"
#include "report/wset.h"

/* Returns what a reading prints as JSON; NULL: nothing of the kind was recorded. */
static json_t *capture(struct reading *r, const char *verb,
		       int (*print)(struct reading *r, struct err *err))
{
	struct emit kept = r->emit;
	struct err err = { 0 };
	json_t *tree;

	emit_open(&r->emit, verb, true, false, false);
	tree = print(r, &err) ? NULL : json_incref(r->emit.root);
	emit_close(&r->emit, NULL);
	r->emit = kept;
	return tree;
}

static int print_wset(struct reading *r, struct err *err)
{
	return wset_print(r, &(struct wset_options){ .rows = 0, .height = 1 }, err);
}

static int print_reuse(struct reading *r, struct err *err)
{
	return reuse_print(r, &(struct reuse_options){ .n = 1 }, err);
}

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* Builds one series, of the members x and y of a list's objects. */
static json_t *series(const char *name, const json_t *list, const char *x, const char *y)
{
	json_t *xs = json_array(), *ys = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *point = json_array_get(list, i);

		json_array_append_new(xs, json_real(number(point, x)));
		json_array_append_new(ys, json_real(number(point, y)));
	}
	return json_pack("{s:s,s:o,s:o}", "name", name, "x", xs, "y", ys);
}

static void add_wset(json_t *plots, struct reading *r)
{
	json_t *tree = capture(r, "wset", print_wset);
	const json_t *list = json_object_get(tree, "intervals");

	if (json_array_size(list) > 1)
		json_array_append_new(plots,
				      json_pack("{s:s,s:s,s:s,s:b,s:[o]}", "title",
						"Working set: memory touched by interval", "xunit",
						"count", "yunit", "bytes", "log", 0, "series",
						series("bytes", list, "interval", "bytes")));
	json_decref(tree);
}

static void add_reuse(json_t *plots, struct reading *r)
{
	json_t *tree = capture(r, "reuse", print_reuse);
	const json_t *list = json_object_get(tree, "sizes");

	if (json_array_size(list) > 1)
		json_array_append_new(
			plots, json_pack("{s:s,s:s,s:s,s:b,s:[o]}", "title",
					 "Miss ratio of a fully associative cache, by its size",
					 "xunit", "bytes", "yunit", "share", "log", 1, "series",
					 series("ratio", list, "bytes", "ratio")));
	json_decref(tree);
}

json_t *html_plots(struct reading *r)
{
	json_t *plots = json_array();

	if (r->profile.nwset)
		add_wset(plots, r);
	if (r->profile.ndistances || r->profile.reuses)
		add_reuse(plots, r);
	return plots;
}
