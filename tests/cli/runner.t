#!/bin/bash
# SPDX-License-Identifier: MIT
# The runner itself: whatever is wrong with a test file, it must not pass.
. "$(dirname "$0")/lib.sh"
unset REBASE

try() { # SCRIPT-TEXT: runs it as a test file; sets $status, $out, $last
	printf '%s\n' "$1" > case.t
	run "$ROOT/tests/run" --timeout 2 "$TMP/case.t"
	last=${out##*$'\n'}
}
fails() { # NAME SCRIPT-TEXT LAST-LINE REGEX
	try "$2"
	is "$1: status" "$status" 1
	is "$1: count" "$last" "$3"
	like "$1: said" "$out" "$4"
}

try 'echo 1..2; echo ok 1 - a; echo ok 2 - b'
is "good: status" "$status" 0
is "good: count" "$last" "2 passed, 0 failed"
try 'echo 1..2; echo ok 1 - a; echo "ok 2 # SKIP no PMU here"'
is "skip: status" "$status" 0
is "skip: count" "$last" "1 passed, 0 failed, 1 skipped"
like "skip: reason" "$out" 'skip no PMU here'
try 'echo 1..1; echo "not ok 1 # SKIP test_x"'
is "skip as cmocka says it" "$status:$last" "1:0 passed, 1 failed, 1 skipped"

fails "failure" 'echo 1..2; echo ok 1; echo "not ok 2 - sum"; echo "# got 3"' \
	"1 passed, 1 failed" '# got 3'
fails "crash" 'echo 1..2; echo ok 1; kill -SEGV $$' "1 passed, 1 failed" 'died of signal 11'
fails "no plan" 'echo ok 1 - a' "1 passed, 1 failed" 'printed no plan'
fails "too few" 'echo 1..3; echo ok 1; echo ok 2' "2 passed, 1 failed" 'planned 3 results, gave 2'
fails "too many" 'echo 1..1; echo ok 1; echo ok 2' "2 passed, 1 failed" 'planned 1 results, gave 2'
fails "exit status" 'echo 1..1; echo ok 1; exit 3' "1 passed, 1 failed" 'exit status 3'
fails "silence" 'exit 0' "0 passed, 1 failed" 'printed no plan'
fails "no end" 'echo 1..1; echo ok 1; sleep 60' "1 passed, 1 failed" 'ran out of time'
fails "nothing planned" 'echo 1..0' "0 passed, 1 failed" 'no test ran'

# Golden text, with the folder elsewhere.
use="ROOT=$ROOT; GOLDEN=$TMP/golden; . $ROOT/tests/cli/lib.sh; "
fails "golden: no file" "$use golden same a.txt text; done_testing" \
	"0 passed, 1 failed" 'No such file'
REBASE=1 try "$use golden same a.txt text; done_testing"
is "golden: rebase" "$last:$(<golden/a.txt)" "1 passed, 0 failed:text"
try "$use golden same a.txt text; done_testing"
is "golden: the same" "$last" "1 passed, 0 failed"
fails "golden: another" "$use golden same a.txt other; done_testing" \
	"0 passed, 1 failed" '^ +# \+other$'

run "$ROOT/tests/run" --build "$TMP/nothing" unit
is "programs that are not built: status" "$status" 1
like "… said" "$out" 'is not built'
run "$ROOT/tests/run" no-such-tier
is "unknown tier" "$status" 1

done_testing
