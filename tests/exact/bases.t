#!/bin/bash
# SPDX-License-Identifier: MIT
# The engine where instructions may not set the bases of fs and gs, as in some virtual machines: programs run as they do
# natively, and the addresses and values that are relative to fs are those of the engine that uses the instructions.
set -u
. "$(dirname "$0")/lib.sh"
need_runner
with=ASSAY_EXACT_NO_FSGSBASE=0 without=ASSAY_EXACT_NO_FSGSBASE=1

export "${without?}"
for program in exec process threads threads_code threads_life threads_process world; do
	for c in $("$BUILD/tests/progs/exact/$program"); do
		[ "${c#may_}" != "$c" ] || compare "$program/$c" "$BUILD/tests/progs/exact/$program" "$c"
	done
done

# A program's allocations are found through fs.
seq 3000 -1 1 >numbers
gawk=$(command -v gawk || command -v awk)
recorded() { # VARIABLE VERB ARGS…
	env -i "PATH=$PATH" "$1" setarch -R "$ASSAY" record --exact -q "${@:3}" -o bases.db -- \
		"$gawk" '{ n[$1 % 100] += $1 } END { for (i in n) print i, n[i] }' numbers >/dev/null || echo "exit $?"
	# reading the clock takes another number of instructions when the kernel's time is older
	"$ASSAY" "$2" -i bases.db --json | jq -S 'del(.recording, .. | .cpu_ns?, .wall_ns?, .pid?, .elapsed?, .end?, .executions?)'
}
for observed in "wset --observe lines --interval 1e9" "wset --observe lines --interval 1e9 --line 32" \
	"values --observe values"; do
	# shellcheck disable=SC2086 # words
	wanted=$(recorded $with $observed)
	# shellcheck disable=SC2086
	is "$observed: the same" "$(diff <(recorded $without $observed) <(cat <<<"$wanted") | head -5)" ""
	lines=$(wc -l <<<"$wanted")
	ok "… and they are more than none" test "$lines" -gt 100
done

# A thread without a thread pointer has none of its own for the decoder's library.
is "a program without a C library" "$("${RUNNER[@]}" "$BUILD/tests/progs/exact/bare"; echo $?)" "$("$BUILD/tests/progs/exact/bare"; echo $?)"
done_testing
