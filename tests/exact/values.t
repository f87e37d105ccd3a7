#!/bin/bash
# SPDX-License-Identifier: MIT
# Recorded values against single-stepping: of each instruction of truth_code what it left, loaded, stored and
# where, where indirect jumps went, what calls were given; with lists that hold all values, with short ones
# whose bounds have to hold, and addresses alone.
set -u
. "$(dirname "$0")/lib.sh"
truth=$BUILD/tests/progs/exact/static/truth # the same addresses natively and under the engine
read -r size begin < <(objdump -h "$truth" | awk '$2 == "truth_code" { print $3, $4 }')
end=$(printf %x $((0x$begin + 0x$size)))

agree() { # CASE WHAT OPTIONS…
	local case=$1 what=$2 said flag=()
	shift 2
	[ "$what" = values ] || flag=(-a)
	timeout -s KILL 600 "$ASSAY" record --exact --observe "$what" "$@" -q -o values.db -- "$truth" "$case" >out 2>err
	if said=$(timeout -s KILL 600 "$BUILD/tests/exact/values" "${flag[@]}" values.db "0x$begin" "0x$end" "$truth" "$case" 2>&1); then
		pass "$case $what $*: $(tail -1 <<<"$said")"
	else
		fail "$case $what $*" "$said"
	fi
}
for c in operands loops pointers jumps recursion signals; do
	agree $c values --values 4096
	agree $c values
	agree $c addresses
done
agree filled values --values 4096
agree recursion values --sketch counting
done_testing
