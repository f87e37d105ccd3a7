#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments and results by caller and callee against single-stepping: recursion, calls through pointers, tail calls, calls
# that are left by longjmp, that return on another stack, signals; then with a cache of code that is emptied meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
truth=$BUILD/tests/progs/exact/static/truth # the same addresses natively and under the engine
read -r size begin < <(objdump -h "$truth" | awk '$2 == "truth_code" { print $3, $4 }')
end=$(printf %x $((0x$begin + 0x$size)))

agree() { # CASE OPTIONS…
	local case=$1 said
	shift
	timeout -s KILL 600 "$ASSAY" record --exact --observe calls --values 4096 "$@" -q -o calls.db -- "$truth" "$case" >out 2>err
	if said=$(timeout -s KILL 600 "$BUILD/tests/exact/calls" calls.db "0x$begin" "0x$end" "$truth" "$case" 2>&1); then
		pass "$case $*: $(tail -1 <<<"$said")"
	else
		fail "$case $*" "$said"
	fi
}
for c in recursion pointers calls; do
	agree $c
done
agree calls --cache 64
command -v jq >/dev/null || { skip "no jq"; done_testing; exit; }

# how many arguments and results of which call, without address randomisation, twice the same
numbers() { # FILE OPTIONS…
	local file=$1
	shift
	setarch -R "$ASSAY" record --exact --observe calls "$@" -q -o calls.db -- gzip -9 -c text >/dev/null 2>err
	"$ASSAY" calls -i calls.db --json -n 0 |
		jq -c '.calls[] | [.from.address, .to.address, .count, (.operands // [] | map([.operand, .observations]))]' |
		LC_ALL=C sort >"$file"
}
head -c 50000 /bin/bash >text
numbers all
numbers few --cache 64
ok "a cache that is emptied: the same calls, $(wc -l <all)" cmp all few
ok "… and there are some, with results" test "$(grep -c '"return"' all)" -gt 50
done_testing
