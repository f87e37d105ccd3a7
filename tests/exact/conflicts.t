#!/bin/bash
# SPDX-License-Identifier: MIT
# Conflicts of the exact engine: known ones, and those that single steps find.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { skip "no jq"; done_testing; exit; }
prog=$BUILD/tests/progs/conflicts
record() { timeout -k 5 120 "$ASSAY" record --exact -q --observe conflicts -o conflicts.db "$@"; }

record -- "$prog" 1000 >/dev/null
run "$ASSAY" conflicts -i conflicts.db --json -n 0
is "found" "$status" 0
for kind in full partial alias; do
	is "$kind: each execution, two instructions behind the store" \
		"$(jq -r ".conflicts[] | select(.load.procedure == \"$kind\" and .kind == \"$kind\") | \"\(.count) \(.share) \(.nearest) \(.farthest) \(.store.procedure)\"" <<<"$out")" \
		"1000 1 2 2 $kind"
done
is "nothing else of theirs" "$(jq '[.conflicts[] | select((.load.procedure | test("^(full|partial|alias)$")) and .kind != .load.procedure)] | length' <<<"$out")" 0
record --distance 1 -- "$prog" 1000 >/dev/null
run "$ASSAY" conflicts -i conflicts.db --json -n 0
is "within one instruction: none of these" "$(jq '[.conflicts[]? | select(.load.procedure | test("^(full|partial|alias)$"))] | length' <<<"$out")" 0
run "$ASSAY" record --exact --observe conflicts --distance 0 -- true
is "within none: a usage error" "$status" 2

# Against single steps; count.t says why paths are padded.
place=$(mktemp -d /tmp/XXXX) || exit 1
trap 'cd /; rm -rf "$TMP" "$place"' EXIT
alike=(env -i GLIBC_TUNABLES=glibc.pthread.rseq=0 setarch -R timeout -k 5 600)
stepped() { # CASE DISTANCE
	local path n
	cp "$BUILD/tests/progs/exact/static/truth" "$place/program"
	n=$((${#BUILD} + 12 - ${#place} - 8))
	path=$(printf '%*s' "$n" '' | tr ' ' /)$place/program
	"${alike[@]}" "$ASSAY" record --exact -q --observe conflicts --distance "$2" -o conflicts.db -- "$path" "$1" >/dev/null
	"$BUILD/tests/exact/conflicts" -r conflicts.db -o recorded
	sort -o recorded recorded
	"${alike[@]}" "$BUILD/tests/exact/conflicts" -d "$2" -o stepped "$path" "$1" >/dev/null
	sort -o stepped stepped
	if [ -s recorded ] && cmp -s recorded stepped; then
		pass "$1, within $2: what single steps find, $(wc -l <recorded) pairs"
	else
		fail "$1, within $2: what single steps find" "$(diff recorded stepped | head -20)"
	fi
}
for c in recursion jumps loops pointers operands; do
	stepped $c 128
done
stepped operands 7
stepped pointers 4096
done_testing
