/* SPDX-License-Identifier: MIT */
/*
 * The processed profile of the Firefox Profiler (profiler.firefox.com, which reads a file without sending it anywhere), in
 * its version 62: tables of frames, procedures and stacks that all threads share, in columns, and samples by thread.
 * Newer versions of the profiler convert it. Each node of the call tree is a stack, so their numbers are the same, but
 * for nodes that are nowhere.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/formats.h"
#include "report/calltree.h"

#define VERSION 62
#define GECKO_VERSION 24

struct firefox {
	const struct calltree *t;
	FILE *out;
	uint32_t *stack; /* by node: its stack, or CALLTREE_NOWHERE */
	size_t nstack;
};

/* Writes "name":[v, v, ...] with that many elements; each: writes one. */
static void column(struct firefox *f, const char *name, size_t n,
		   void (*each)(struct firefox *f, size_t i))
{
	fprintf(f->out, "\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i)
			putc(',', f->out);
		each(f, i);
	}
	fputs("],\n", f->out);
}

static void zero(struct firefox *f, size_t i)
{
	(void)i;
	putc('0', f->out);
}

/* Lines and columns count from 1; so does the type of a resource that is a library. */
static void one(struct firefox *f, size_t i)
{
	(void)i;
	putc('1', f->out);
}

static void none(struct firefox *f, size_t i)
{
	(void)i;
	fputs("null", f->out);
}

static void no(struct firefox *f, size_t i)
{
	(void)i;
	fputs("false", f->out);
}

static void number(struct firefox *f, size_t i)
{
	fprintf(f->out, "%zu", i);
}

static void number_or_null(struct firefox *f, int64_t v)
{
	if (v > 0)
		fprintf(f->out, "%" PRId64, v);
	else
		fputs("null", f->out);
}

static const struct calltree_func *func_of(const struct firefox *f, size_t place)
{
	return &f->t->func[f->t->place[place].func];
}

/* Frames are places. */
static bool in_kernel(const struct firefox *f, size_t place)
{
	return f->t->profile->image[f->t->place[place].image]->kind == IMAGE_KERNEL &&
	       !func_of(f, place)->is_end;
}

static void frame_address(struct firefox *f, size_t i)
{
	if (func_of(f, i)->is_end)
		fputs("-1", f->out);
	else
		fprintf(f->out, "%" PRIu64, f->t->place[i].addr);
}

static void frame_category(struct firefox *f, size_t i)
{
	putc(in_kernel(f, i) ? '1' : '0', f->out);
}

static void frame_depth(struct firefox *f, size_t i)
{
	unsigned depth = 0;

	for (uint32_t at = f->t->place[i].outer; at != CALLTREE_NOWHERE; at = f->t->place[at].outer)
		depth++;
	fprintf(f->out, "%u", depth);
}

static void frame_func(struct firefox *f, size_t i)
{
	fprintf(f->out, "%" PRIu32, f->t->place[i].func);
}

static void frame_line(struct firefox *f, size_t i)
{
	number_or_null(f, f->t->place[i].line);
}

static void put_frames(struct firefox *f)
{
	size_t n = f->t->nplace;

	fputs("\"frameTable\":{\n", f->out);
	column(f, "address", n, frame_address);
	column(f, "category", n, frame_category);
	column(f, "subcategory", n, zero);
	column(f, "column", n, none);
	column(f, "func", n, frame_func);
	column(f, "inlineDepth", n, frame_depth);
	column(f, "innerWindowID", n, zero);
	column(f, "line", n, frame_line);
	column(f, "nativeSymbol", n, none);
	fprintf(f->out, "\"length\":%zu},\n", n);
}

/* Texts: names of procedures, then of images, then of files by procedure. */
static void func_resource(struct firefox *f, size_t i)
{
	if (f->t->func[i].is_end)
		fputs("-1", f->out);
	else
		fprintf(f->out, "%" PRIu32, f->t->func[i].image);
}

static void func_line(struct firefox *f, size_t i)
{
	number_or_null(f, f->t->func[i].line);
}

static void func_source(struct firefox *f, size_t i)
{
	if (f->t->func[i].file)
		number(f, i);
	else
		none(f, i);
}

static void put_funcs(struct firefox *f)
{
	size_t n = f->t->nfunc;

	fputs("\"funcTable\":{\n", f->out);
	column(f, "name", n, number);
	column(f, "isJS", n, no);
	column(f, "relevantForJS", n, no);
	column(f, "resource", n, func_resource);
	column(f, "source", n, func_source);
	column(f, "lineNumber", n, func_line);
	column(f, "columnNumber", n, none);
	fprintf(f->out, "\"length\":%zu},\n", n);
}

static void source_name(struct firefox *f, size_t i)
{
	fprintf(f->out, "%zu", f->t->nfunc + f->t->profile->nimage + i);
}

static void put_sources(struct firefox *f)
{
	size_t n = f->t->nfunc;

	fputs("\"sources\":{\n", f->out);
	column(f, "id", n, none);
	column(f, "filename", n, source_name);
	column(f, "startLine", n, one);
	column(f, "startColumn", n, one);
	column(f, "sourceMapURL", n, none);
	fprintf(f->out, "\"length\":%zu},\n", n);
}

static void resource_name(struct firefox *f, size_t i)
{
	fprintf(f->out, "%zu", f->t->nfunc + i);
}

static void put_resources(struct firefox *f)
{
	size_t n = f->t->profile->nimage;

	fputs("\"resourceTable\":{\n", f->out);
	column(f, "host", n, none);
	column(f, "lib", n, number);
	column(f, "name", n, resource_name);
	column(f, "type", n, one);
	fprintf(f->out, "\"length\":%zu},\n", n);
	fputs("\"nativeSymbols\":{\"address\":[],\"functionSize\":[],\"libIndex\":[],\"name\":[],"
	      "\"length\":0},\n",
	      f->out);
}

static void put_stacks(struct firefox *f)
{
	const char *comma = "";

	fputs("\"stackTable\":{\n\"frame\":[", f->out);
	for (size_t i = 0; i < f->t->nnode; i++)
		if (f->stack[i] != CALLTREE_NOWHERE) {
			fprintf(f->out, "%s%" PRIu32, comma, f->t->node[i].place);
			comma = ",";
		}
	fputs("],\n\"prefix\":[", f->out);
	comma = "";
	for (size_t i = 0; i < f->t->nnode; i++)
		if (f->stack[i] != CALLTREE_NOWHERE) {
			uint32_t above = f->stack[f->t->node[i].parent];

			if (above == CALLTREE_NOWHERE)
				fprintf(f->out, "%snull", comma);
			else
				fprintf(f->out, "%s%" PRIu32, comma, above);
			comma = ",";
		}
	fprintf(f->out, "],\n\"length\":%zu},\n", f->nstack);
}

static void put_strings(struct firefox *f)
{
	fputs("\"stringArray\":[", f->out);
	for (size_t i = 0; i < f->t->nfunc; i++) {
		fputs(i ? ",\n" : "\n", f->out);
		export_json_string(f->out, f->t->func[i].name);
	}
	for (size_t i = 0; i < f->t->profile->nimage; i++) {
		fputs(",\n", f->out);
		export_json_string(f->out, calltree_image(f->t, (uint32_t)i));
	}
	for (size_t i = 0; i < f->t->nfunc; i++) {
		fputs(",\n", f->out);
		export_json_string(f->out, f->t->func[i].file ? f->t->func[i].file : "");
	}
	fputs("]}", f->out);
}

/* A breakpad identifier is the build-id's first 16 bytes as a GUID, which is little-endian in its first three parts. */
static void breakpad_id(const char *id, char text[34])
{
	static const char order[] = { 6, 7, 4, 5, 2, 3, 0, 1, 10, 11, 8, 9, 14, 15, 12, 13 };
	size_t n = strlen(id);

	for (size_t i = 0; i < 32; i++) {
		size_t from = i < sizeof(order) ? (size_t)order[i] : i;
		char c = from < n ? id[from] : '0';

		text[i] = c >= 'a' && c <= 'f' ? (char)(c - 'a' + 'A') : c;
	}
	memcpy(text + 32, "0", 2);
}

static void put_libs(struct firefox *f)
{
	fputs("\"libs\":[", f->out);
	for (uint32_t i = 0; i < f->t->profile->nimage; i++) {
		const struct profile_image *pi = f->t->profile->image[i];
		const char *id = strncmp(pi->build_id, "noid-", 5) ? pi->build_id : "";
		char breakpad[34];

		breakpad_id(id, breakpad);
		fprintf(f->out, "%s{\"arch\":\"x86_64\",\"breakpadId\":\"%s\",\"codeId\":",
			i ? ",\n" : "\n", breakpad);
		export_json_string(f->out, id);
		for (int k = 0; k < 4; k++) {
			static const char *const key[] = { "name", "debugName", "path",
							   "debugPath" };

			fprintf(f->out, ",\"%s\":", key[k]);
			export_json_string(f->out, k < 2 ? calltree_image(f->t, i) : pi->path);
		}
		putc('}', f->out);
	}
	fputs("],\n", f->out);
}

static void put_meta(struct firefox *f)
{
	const struct profile *p = f->t->profile;
	const struct run *run = p->nrun ? &p->run[0] : NULL;

	fprintf(f->out,
		"{\"meta\":{\"categories\":[{\"name\":\"User\",\"color\":\"yellow\","
		"\"subcategories\":["
		"\"Other\"]},{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":["
		"\"Other\"]},"
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],"
		"\"debug\":false,\"extensions\":{\"baseURL\":[],\"id\":[],\"length\":0,\"name\":[]}"
		","
		"\"interval\":%g,\"markerSchema\":[],\"pausedRanges\":[],"
		"\"preprocessedProfileVersion\":%d,\"processType\":0,\"product\":",
		run && run->rate > 0 ? 1e3 / run->rate : 1, VERSION);
	export_json_string(f->out, run && run->command ? run->command : "assay");
	fputs(",\"oscpu\":", f->out);
	export_json_string(f->out, run && run->cpu ? run->cpu : "");
	fprintf(f->out,
		",\"sampleUnits\":{\"eventDelay\":\"ms\",\"threadCPUDelta\":\"µs\",\"time\":\"ms\"}"
		","
		"\"sourceCodeIsNotOnSearchfox\":true,\"startTime\":%" PRIu64
		",\"symbolicated\":true,"
		"\"usesOnlyOneStackType\":true,\"importedFrom\":\"Assay\",\"version\":%d},\n",
		(run ? run->started : 0) * 1000, GECKO_VERSION);
}

/* Threads. */

static void put_samples(struct firefox *f, const struct stack_sample *s, size_t n)
{
	double before = 0;

	fprintf(f->out, "\"samples\":{\"length\":%zu,\"weightType\":\"samples\",\"stack\":[", n);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? "," : "", f->out);
		if (f->stack[s[i].frame] == CALLTREE_NOWHERE)
			fputs("null", f->out);
		else
			fprintf(f->out, "%" PRIu32, f->stack[s[i].frame]);
	}
	fputs("],\n\"timeDeltas\":[", f->out);
	for (size_t i = 0; i < n; i++) {
		double at = (double)s[i].bucket * (double)f->t->width / 1e6;

		fprintf(f->out, "%s%g", i ? "," : "", at - before);
		before = at;
	}
	fputs("],\n\"threadCPUDelta\":[", f->out);
	for (size_t i = 0; i < n; i++)
		fprintf(f->out, "%s%.0f", i ? "," : "", s[i].time / 1e3);
	fputs("],\n\"weight\":[", f->out);
	for (size_t i = 0; i < n; i++)
		fprintf(f->out, "%s%" PRIu32, i ? "," : "", s[i].count);
	fputs("]}", f->out);
}

static void put_thread(struct firefox *f, const struct stack_thread *thread,
		       const struct stack_sample *s, size_t n)
{
	fputs("{\"name\":", f->out);
	export_json_string(f->out, thread->comm);
	fputs(",\"processName\":", f->out);
	export_json_string(f->out, thread->comm);
	fprintf(f->out,
		",\"isMainThread\":%s,\"pid\":\"%" PRIu32 "\",\"tid\":\"%" PRIu32 "\","
		"\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
		"\"registerTime\":%g,\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"showMarkersInTimeline\":false,\"markers\":{\"category\":[],\"data\":[],"
		"\"endTime\":[],"
		"\"name\":[],\"phase\":[],\"startTime\":[],\"length\":0},\n",
		thread->pid == thread->tid ? "true" : "false", thread->pid, thread->tid,
		(double)s[0].bucket * (double)f->t->width / 1e6);
	put_samples(f, s, n);
	putc('}', f->out);
}

static void put_threads(struct firefox *f, struct stack_sample *sample)
{
	const struct calltree *t = f->t;

	qsort(sample, t->nsample, sizeof(*sample), stack_samples_order);
	fputs("\"threads\":[", f->out);
	for (size_t i = 0, end; i < t->nsample; i = end) {
		for (end = i + 1; end < t->nsample; end++)
			if (sample[end].thread != sample[i].thread)
				break;
		fputs(i ? ",\n" : "\n", f->out);
		put_thread(f, &t->thread[sample[i].thread], sample + i, end - i);
	}
	fputs("]}\n", f->out);
}

static void number_stacks(struct firefox *f)
{
	for (size_t i = 0; i < f->t->nnode; i++)
		f->stack[i] = f->t->node[i].place == CALLTREE_NOWHERE ? CALLTREE_NOWHERE
								      : (uint32_t)f->nstack++;
}

static void put_profile(struct firefox *f, struct stack_sample *sample)
{
	number_stacks(f);
	put_meta(f);
	put_libs(f);
	fputs("\"counters\":[],\"pages\":[],\"profilerOverhead\":[],\n\"shared\":{", f->out);
	put_frames(f);
	put_funcs(f);
	put_resources(f);
	put_sources(f);
	put_stacks(f);
	put_strings(f);
	fputs(",\n", f->out);
	put_threads(f, sample);
}

static int write_firefox(struct export *x, struct err *err)
{
	struct stack_sample *sample;
	struct calltree t;
	struct firefox f = { .t = &t, .out = x->out };

	if (calltree_open(&t, x->profile, err))
		return -1;
	f.stack = malloc(t.nnode * sizeof(*f.stack));
	sample = malloc(t.nsample * sizeof(*sample));
	if (f.stack && sample) {
		memcpy(sample, t.sample, t.nsample * sizeof(*sample));
		put_profile(&f, sample);
		export_tell_flat(x, &t);
	} else {
		err_no_memory(err, "the export");
	}
	free(f.stack);
	free(sample);
	calltree_close(&t);
	return err->code ? -1 : 0;
}

const struct export_format export_firefox = {
	.name = "firefox",
	.what = "the Firefox Profiler's processed profile",
	.write = write_firefox,
};
