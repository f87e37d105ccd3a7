#!/bin/bash
# SPDX-License-Identifier: MIT
# What is executed, in order, against single-stepping: accesses, branches, lines of code of truth_code and of whole
# programs' own code.
set -u
. "$(dirname "$0")/lib.sh"
order=$TMP/order
cp "$BUILD/tests/exact/order" "$order"
ln -s "$BUILD/assay-exact" "$TMP/assay-exact"

agree() { # PROGRAM CASE BEGIN END
	local said data
	data=$(nm "$BUILD/tests/progs/exact/$1" | awk '$3 == "_end" { print $1 }')
	if said=$(timeout -s KILL 600 env -i setarch -R "$order" "$3" "$4" "0x$data" "$BUILD/tests/progs/exact/$1" "$2" 2>&1); then
		pass "$1 $2: $(tail -1 <<<"$said")"
	else
		fail "$1 $2" "$said"
	fi
}

read -r size begin < <(objdump -h "$BUILD/tests/progs/exact/static/truth" | awk '$2 == "truth_code" { print $3, $4 }')
for c in operands loops pointers jumps recursion; do
	agree static/truth $c "0x$begin" "$(printf %x $((0x$begin + 0x$size)))"
done

# Operands of other kinds: the code between the first and the last of its functions.
operands=static/operands
read -r begin end < <(nm -n "$BUILD/tests/progs/exact/$operands" | awk '$3 ~ /^ctl_/ { last = $1; if (!first) first = $1 } END { print first, last }')
for c in push_it push_16 pop_to cmpxchg_it tls_operands strings_rep rsp_relative_to_rip sse_load hints all_registers_live; do
	agree $operands "$c" "0x$begin" "0x$end"
done
done_testing
