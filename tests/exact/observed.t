#!/bin/bash
# SPDX-License-Identifier: MIT
# Cases of programs.t that see what observing adds to the code: faults, while counts, lines and values are observed.
set -u
. "$(dirname "$0")/lib.sh"
need_runner
PROGS=$BUILD/tests/progs/exact
for mode in counts lines values; do
	RUNNER=("$ASSAY" record -q --exact --observe "$mode" -o trial.db --)
	for c in $("$PROGS/faults"); do
		flags=()
		[ "${c#may_}" = "$c" ] || flags=(-n)
		compare "faults/$c, $mode" "${flags[@]}" "$PROGS/faults" "$c"
	done
done
done_testing
