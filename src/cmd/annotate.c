/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "cmd/habits.h"
#include "cmd/read.h"
#include "cmd/verbs.h"
#include "report/annotate.h"
#include "report/blocks.h"

static struct reading_options in = { .verb = "annotate", .input = "assay.db", .warn = log_warn };
static struct annotate_options o;
static struct read_executions executions;
static bool graph, dot;

static const struct opt opts[] = {
	READ_INPUT(in),
	{ 0, "image", "GLOB", "only procedures of images whose name or path matches", OPT_STRING,
	  &o.image, 0, 0, NULL },
	{ 'f', "full", NULL, "all instructions, not only those around the hot ones", OPT_FLAG,
	  &o.full, 0, 0, NULL },
	{ 0, "all", NULL, "values of all operands, not only the semi-invariant ones", OPT_FLAG,
	  &o.all, 0, 0, NULL },
	{ 0, "cfg", NULL, "its control-flow graph, block by block", OPT_FLAG, &graph, 0, 0, NULL },
	{ 0, "dot", NULL, "the same for Graphviz: | dot -Tsvg > graph.svg", OPT_FLAG, &dot, 0, 0,
	  NULL },
	{ 0, "caller", "PROC",
	  "only the time and the values of calls by that procedure, from call stacks", OPT_STRING,
	  &in.caller, 0, 0, NULL },
	READ_METHOD(executions),
	READ_COUNTS(executions),
	READ_REPEAT(executions),
	READ_WIDE(in, "do not cut lines; all hot values"),
	READ_EXPLAIN(in),
	READ_JSON(in),
	READ_PAGER(),
	{ 0 },
};

static void print(struct reading *r, struct err *err)
{
	if (read_choose_executions(r, &executions, err))
		return;
	if (graph || dot)
		blocks_print(r,
			     &(struct blocks_options){
				     .procedure = o.procedure, .image = o.image, .dot = dot },
			     err);
	else
		annotate_print(r, &o, err);
}

static int run(int argc, char **argv, struct err *err)
{
	if (read_one_procedure(&in, argc, argv, err))
		return err->code;
	if (dot && in.json) {
		err_set(err, ERR_USAGE, "--dot and --json are two forms of output");
		return err->code;
	}
	if (in.caller && (graph || dot || executions.method || executions.counts)) {
		err_set(err, ERR_USAGE,
			"--caller goes without --cfg, --dot, --method and --counts: executions are "
			"estimated over all callers");
		return err->code;
	}
	if (read_check_executions(&executions, true, NULL, err))
		return err->code;
	o.procedure = argc ? argv[0] : NULL;
	return read_and_print(&in, print, err);
}

const struct verb cmd_annotate = {
	.name = "annotate",
	.summary = "one procedure, each instruction with its time, stalls and values",
	.synopsis = "[PROC] [-i FILE] [--full | --cfg | --dot] [--json]",
	.about =
		"PROC is a procedure's name (C++ and Rust names as they are written, with "
		"or without parameters), a shell pattern, or an address in it such as "
		"0x3a10. Without it, the procedure with most time is shown.\n\n"
		"Beside an instruction stand the values it kept producing: "
		"`rax:(98.9+-0.4% 0x3c8)` says that rax was 0x3c8 in 98.9 % of the times "
		"that it was known, and how far that share can be trusted (95 %). load and "
		"store name the value in memory, addr its address, to the target of an "
		"indirect jump or call, rdi rsi rdx rcx r8 r9 the arguments at the entry. "
		"`known 83%` is added where a value could not be told in some of the "
		"observations. `taken` is how often a branch was.\n\n"
		"An instruction's samples are of the time it waited to retire: often the "
		"one behind the slow one has them.\n\n"
		"For a sampled recording whose files are there, `runs` is an estimate of "
		"how often an instruction was executed, `CPI` how many cycles each took; ~ "
		"marks one of medium, ? one of low confidence. Above an instruction stands "
		"why: `static` is what the order of the instructions takes by itself "
		"(llvm-mca tells), `stall` cycles beyond that, with all that can have "
		"caused them: `D-cache 0.3-4.1 @401003` says that of each execution's "
		"stall at least 0.3 and at most 4.1 cycles were for misses of the load at "
		"401003. Whatever is not shown to be innocent is listed; what nothing "
		"explains is `unexplained`. docs/methods/culprits.md has the rules. The first time "
		"the whole program is analysed, which takes seconds for a large one; it is "
		"kept in the recording.\n\n"
		"--counts takes executions from an exact recording of the same work instead "
		"(`assay record --exact -o exact.db -- CMD`): then CPI is as good as the "
		"time is, and stalls follow. --repeat says how often the sampled run did that "
		"work. If it was made with --observe misses, what it missed bounds culprits, "
		"too. --method estimates them otherwise; `assay verify --methods` shows how "
		"well.\n\n"
		"For an exact recording it shows how often each instruction was executed. "
		"Shares are exact and have no bound, except where there were more different values "
		"than the list holds: then the bound is certain.\n\n"
		"--cfg shows the control-flow graph instead: basic blocks, how often each "
		"ran, how it ends, and how often control went where from there. Blocks (and "
		"edges) of one class run equally often, whatever the program does, but for calls "
		"that do not return, or return twice. Indirect jumps are followed through their "
		"tables, and by the targets that a recording with values has; where one goes is "
		"not always known: then edges are missing, it says so, and each block has a class "
		"of its own. A block begins behind each call.",
	.examples =
		"assay annotate\n"
		"assay annotate longest_match\n"
		"assay annotate --image 'libc*' 'mem*' --full\n"
		"assay annotate deflate --cfg\n"
		"# executions counted, not estimated\n"
		"assay record --exact -o exact.db -- gzip -9 -k -f big.txt\n"
		"assay annotate longest_match --counts exact.db\n"
		"assay annotate deflate --dot | dot -Tsvg > deflate.svg\n"
		"assay annotate deflate --json | jq '.instructions[] | select(.share > 0.05)'\n",
	.opts = opts,
	.habits = habits_annotate,
	.words = "",
	.run = run,
};
