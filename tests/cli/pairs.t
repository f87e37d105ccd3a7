#!/bin/bash
# SPDX-License-Identifier: MIT
# calls and conflicts: what recordings of programs say that are known.
set -u
. "$(dirname "$0")/lib.sh"
prog=$BUILD/tests/progs/conflicts

run "$ASSAY" record --exact --observe values -q -o exact.db -- "$prog" 1000
run "$ASSAY" calls -i exact.db main
is "calls of a procedure: found" "$status" 0
for p in full partial alias; do
	like "main calls $p once, with its arguments" "$(grep -A1 "main+.* $p " <<<"$out")" 'rsi:\(100.0% 0x3e8\)'
done
like "who calls it" "$out" '^callers$'
run "$ASSAY" calls -i exact.db --json -n 0
is "JSON: the same calls" "$(jq '[.calls[] | select(.from.procedure == "main" and (.to.procedure | test("^(full|partial|alias)$"))) | .count] | add' <<<"$out")" 3
is "JSON: indirect ones" "$(jq '[.calls[] | select(.how == "indirect")] | length > 0' <<<"$out")" true
like "no line is beyond 79 columns" "$("$ASSAY" calls -i exact.db -n 0 | awk 'length > 79' | wc -l)" '^0$'
run "$ASSAY" calls -i exact.db nosuch
is "a procedure that is not there: nothing to show" "$status" 3
run "$ASSAY" conflicts -i exact.db
is "an exact recording without conflicts: nothing to show" "$status" 3
like "… which one has them" "$err" 'record --exact --observe conflicts'
run "$ASSAY" record --exact --observe conflicts -q -o met.db -- "$prog" 1000
run "$ASSAY" conflicts -i met.db --json --procedure partial
is "an exact recording with conflicts" "$(jq -c '[.conflicts[] | select(.load.procedure == "partial")] | [length, .[0].kind, .[0].count, .[0].share, .[0].distance]' <<<"$out")" '[1,"partial",1000,1,2]'
run "$ASSAY" conflicts -i met.db
like "… as text: no line is beyond 79 columns" "$(awk 'length > 79' <<<"$out" | wc -l)" '^0$'
run "$ASSAY" merge -o twice.db exact.db exact.db
is "merging adds edges up" "$("$ASSAY" calls -i twice.db --json -n 0 | jq '[.calls[].count] | add')" \
	"$((2 * $("$ASSAY" calls -i exact.db --json -n 0 | jq '[.calls[].count] | add')))"

if "$ASSAY" doctor --json 2>/dev/null | jq -e .sampler >/dev/null; then
	run "$ASSAY" record -q -F 4999 -o sampled.db -- "$prog" 300000000
	run "$ASSAY" conflicts -i sampled.db --json
	is "conflicts: found" "$status" 0
	for kind in full partial alias; do
		row=$(jq ".conflicts[] | select(.load.procedure == \"$kind\" and .kind == \"$kind\")" <<<"$out")
		is "$kind: each execution, two instructions behind the store" \
			"$(jq -r '"\(.share) \(.nearest) \(.farthest) \(.store.procedure)"' <<<"$row")" "1 2 2 $kind"
	done
	is "nothing else of theirs" "$(jq '[.conflicts[] | select((.load.procedure | test("^(full|partial|alias)$")) and .kind != .load.procedure)] | length' <<<"$out")" 0
	run "$ASSAY" conflicts -i sampled.db
	like "as text: failing ones first" "$(grep -n -E ' (partial|alias|full) ' <<<"$out" | head -3 | tr '\n' ' ')" 'partial.*alias.*full'
	is "the instruction behind a load that waits has its time, and that is the pair's" \
		"$("$ASSAY" conflicts -i sampled.db --json | jq '[.conflicts[] | select(.kind == "partial") | .time_share] | max > 0.3')" true
	like "no line is beyond 79 columns" "$(awk 'length > 79' <<<"$out" | wc -l)" '^0$'
	run "$ASSAY" conflicts -i sampled.db --kind alias
	unlike "--kind: only those" "$out" ' partial '
else
	skip "no sampling here"
fi
done_testing
