#!/bin/bash
# SPDX-License-Identifier: MIT
# Cases of programs.t that see what observing adds: faults, to the code; threads, to what is recorded meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
need_runner
PROGS=$BUILD/tests/progs/exact
observe() { # MODE PROGRAM
	RUNNER=("$ASSAY" record -q --exact --observe "$1" -o trial.db --)
	for c in $("$PROGS/$2"); do
		flags=()
		[ "${c#may_}" = "$c" ] || flags=(-n)
		compare "$2/$c, $1" "${flags[@]}" "$PROGS/$2" "$c"
	done
}
for mode in counts lines values; do
	observe $mode faults
done
for mode in lines values calls conflicts; do
	for program in threads threads_code threads_life threads_process; do
		observe $mode $program
	done
done
done_testing
