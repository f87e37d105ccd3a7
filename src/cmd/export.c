/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include "base/fmt.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pages.h"
#include "base/progress.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "store/recording.h"

static const char *input = "assay.db";
static struct export_options o;

static const struct opt opts[] = {
	{ 'i', "input", "FILE", "the recording (default assay.db); more of them may follow FORMAT",
	  OPT_STRING, &input, 0, 0, NULL },
	{ 'o', "output", "FILE", "where to write (default: the standard output)", OPT_STRING,
	  &o.output, 0, 0, NULL },
	{ 0, "image", "IMAGE",
	  "the image, by name, path or a file with its build-id (default: what executed most)",
	  OPT_STRING, &o.image, 0, 0, NULL },
	{ 0, "binary", "FILE", "the image's file, if it is not where it was recorded", OPT_STRING,
	  &o.binary, 0, 0, NULL },
	{ 0, "form", "FORM", "a variant of the format: autofdo has llvm (default) and text",
	  OPT_STRING, &o.form, 0, 0, NULL },
	{ 0 },
};

static int read_all(struct profile *p, int argc, char **argv, struct err *err)
{
	progress_file("reading", input);
	if (recording_read(input, p, err))
		return -1;
	for (int i = 0; i < argc; i++)
		if (read_add(p, argv[i], err))
			return -1;
	return 0;
}

static int write_file(const struct profile *p, const struct export_format *f, struct err *err)
{
	struct export x = { .profile = p, .o = &o, .note = log_line };
	struct output out;

	progress_show("exporting", 0, 0);
	if (output_open(&out, o.output, err))
		return -1;
	x.out = out.f;
	if (!export_write(&x, f, err))
		return output_commit(&out, err);
	output_abandon(&out);
	return -1;
}

static int run(int argc, char **argv, struct err *err)
{
	const struct export_format *f;
	struct profile p;

	if (!argc) {
		err_set(err, ERR_USAGE, "export needs a format");
		err_hint(err, "one of: %s", EXPORT_FORMATS);
		return err->code;
	}
	f = export_find(argv[0], err);
	if (!f)
		return err->code;
	pages_keep();
	if (profile_init(&p, err))
		return err->code;
	if (!read_all(&p, argc - 1, argv + 1, err))
		write_file(&p, f, err);
	profile_fini(&p);
	return err->code;
}

const struct verb cmd_export = {
	.name = "export",
	.summary = "write a profile for other tools: pprof, speedscope, callgrind, BOLT",
	.synopsis = "FORMAT [-i FILE] [FILE...] [--image IMAGE] [-o FILE]",
	.about =
		"Writes what a recording holds in the format of another tool. Several recordings "
		"of one kind, sampled or exact, are added up. The output is written completely or "
		"not "
		"at all.\n\n"
		"Profiles for optimisers, of one image:\n\n"
		"bolt: a pre-aggregated profile for llvm-bolt --pa, which reorders the code of a "
		"linked "
		"binary. The binary should be linked with -Wl,--emit-relocs.\n\n"
		"autofdo: a profile for compilers. The form llvm, the default, is for llvm-profgen "
		"and "
		"clang; the form text for create_gcov and gcc. The binary needs debug information "
		"(-g1).\n\n"
		"The file on disk has to be the one that was recorded: build-ids are compared. "
		"Branches of a sampled recording are those that windows saw, each window weighed. "
		"How much that leaves unseen, which procedures rest on few windows, and the "
		"commands "
		"to run next are printed on the standard error.\n\n"
		"Call stacks, of the whole recording; a recording without stacks gives its "
		"procedures "
		"one by one:\n\n"
		"folded: stacks as lines, for flamegraph.pl and inferno. pprof: for `go tool "
		"pprof`, "
		"Pyroscope, Parca, Perfetto, with build-ids, lines, and labels for thread, process "
		"and "
		"control group. speedscope: for speedscope.app. firefox: for profiler.firefox.com, "
		"with threads and time. perf-script: the text of `perf script`.\n\n"
		"callgrind: of an exact recording, executions of each instruction and line, and "
		"calls "
		"(KCachegrind, callgrind_annotate). Numbers of calls are counted; what a call "
		"costs "
		"with all that it leads to is divided among callers by these numbers, as gprof "
		"does.",
	.examples = "sudo assay record --pgo -p 1234 -d 60\n"
		    "assay export bolt -o server.pa\n"
		    "assay export bolt -i monday.db tuesday.db --image server -o server.pa\n"
		    "assay export autofdo --image ./server -o server.afdo\n"
		    "assay export autofdo --form text --image ./server -o server.txt\n"
		    "assay export pprof -o profile.pb.gz && go tool pprof -http : profile.pb.gz\n"
		    "assay export folded | flamegraph.pl > flame.svg\n"
		    "assay export callgrind -i exact.db -o callgrind.out\n",
	.opts = opts,
	.run = run,
};
