/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cmd/verbs.h"

static int run(int argc, char **argv, struct err *err)
{
	if (argc == 1 && !opt_completion(argv[0], verbs, stdout))
		return 0;
	err_set(err, ERR_USAGE,
		argc == 1 ? "there is no completion for '%s'"
			  : "completion takes the name of a shell",
		argc ? argv[0] : "");
	err_hint(err, "one of: bash zsh fish");
	return ERR_USAGE;
}

const struct verb cmd_completion = {
	.name = "completion",
	.summary = "shell completion: bash, zsh or fish",
	.synopsis = "SHELL",
	.examples = "# for this shell\nsource <(assay completion bash)\n",
	.words = "bash zsh fish",
	.run = run,
};
