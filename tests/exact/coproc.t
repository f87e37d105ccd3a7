#!/bin/bash
# SPDX-License-Identifier: MIT
# What a co-processor that drops nothing counts, against what the engine counts in the same run.
set -u
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/exact/coproc" "$TMP/coproc"
ln -s "$BUILD/assay-exact" "$TMP/assay-exact"
export ASSAY_COPROC_PATH=$ROOT/src/coproc/programs

agree() { # PROGRAM COMMAND...
	local said
	if said=$(timeout -s KILL 300 env -i ASSAY_COPROC_PATH="$ASSAY_COPROC_PATH" PATH="$PATH" setarch -R "$TMP/coproc" "$@" </dev/null 2>&1); then
		pass "$*: $(tail -1 <<<"$said")"
	else
		fail "$*" "$(tail -c 2000 <<<"$said")"
	fi
}

seq 3000 > numbers
for what in edges values; do
	agree $what true
	agree $what sort -n -o sorted numbers
	agree $what gzip -kf numbers
done
agree values "$BUILD/tests/progs/exact/operands" all
read -r size begin < <(objdump -h "$BUILD/tests/progs/exact/static/truth" | awk '$2 == "truth_code" { print $3, $4 }')
program=$BUILD/tests/progs/exact/static/truth
for c in operands pointers recursion; do
	ok "$c: a recording of its values" env -i setarch -R "$ASSAY" record --exact --observe values --values 4096 \
		-o $c.db -- "$program" $c
	agree "$c.db:$begin:$(printf %x $((0x$begin + 0x$size)))" "$program" $c
done
agree values bc -l <<<'e(1)'
done_testing
