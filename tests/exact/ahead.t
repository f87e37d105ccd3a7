#!/bin/bash
# SPDX-License-Identifier: MIT
# Recorded values against the run-ahead interpreter: what it says of the next instructions, from anywhere in
# truth_code, is what the engine recorded of them.
set -u
. "$(dirname "$0")/lib.sh"
truth=$BUILD/tests/progs/exact/static/truth # the same addresses natively and under the engine
read -r size begin < <(objdump -h "$truth" | awk '$2 == "truth_code" { print $3, $4 }')
end=$(printf %x $((0x$begin + 0x$size)))

timeout -s KILL 120 "$ASSAY" record --exact --observe values --values 4096 -q -o values.db -- "$truth" rounds >out 2>err
if said=$(timeout -s KILL 1500 "$BUILD/tests/exact/ahead" values.db "0x$begin" "0x$end" 400 "$truth" rounds 2>&1); then
	pass "$(tail -1 <<<"$said")"
else
	fail "values of windows" "$said"
fi
done_testing
