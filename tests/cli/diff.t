#!/bin/bash
# SPDX-License-Identifier: MIT
# diff: exact recordings differ exactly, the same recording does not differ, and what cannot be compared is refused.
. "$(dirname "$0")/lib.sh"

cat > work.c <<'C'
#include <stdlib.h>
static volatile unsigned long sink;
__attribute__((noipa)) void often(long n) { while (n-- > 0) sink += n; }
__attribute__((noipa)) void rarely(long n) { while (n-- > 0) sink ^= n; }
__attribute__((noipa)) void never(void) { sink++; }
int main(int argc, char **argv)
{
	often(atol(argv[1]));
	rarely(1000);
	if (argc > 2)
		never();
	return 0;
}
C
gcc -O1 -g -o work work.c
"$ASSAY" record --exact -q -o a.db -- ./work 1000
"$ASSAY" record --exact -q -o b.db -- ./work 3000 x
row() { "$ASSAY" diff "$@" --image work --json | jq -r '.procedures[] | "\(.procedure) \(.verdict) \(.base) \(.new)"'; }
of() { "$ASSAY" report -i "$1" -n 0 --json | jq '.procedures[] | select(.procedure == "often") | .executions'; }

rows=$(row a.db b.db)
like "what ran more often" "$rows" "^often more $(of a.db) $(of b.db)$"
like "what is new" "$rows" '^never new 0 [1-9]'
is "what ran as often is not listed" "$(grep -c '^rarely' <<< "$rows")" "$(grep -c '^rarely same' <<< "$rows")"
like "the other way round" "$(row b.db a.db)" '^often fewer'
like "... what is gone" "$(row b.db a.db)" '^never gone [1-9][0-9]* 0$'
is "a recording does not differ from itself" "$(row a.db a.db | grep -vc ' same ')" 0
run "$ASSAY" diff a.db b.db
like "text: groups" "$out" '^more$'
like "text: rows" "$out" ' often$'
like "text: what did not change is counted" "$out" 'the same executions on both sides'
is "text: under 80 columns" "$(awk 'length > 79' <<< "$out")" ""
run "$ASSAY" diff a.db a.db a.db vs b.db b.db b.db --image work --json
is "sets of exact recordings" "$status:$(jq -r '.between_runs, (.procedures[] | select(.procedure == "often").verdict)' <<< "$out" | paste -sd:)" 0:true:more
is "by line" "$("$ASSAY" diff a.db b.db --by line --image work --json | jq -r '[.lines[] | select(.verdict == "more" and .procedure == "often").line][0]')" work.c:3
is "by image" "$("$ASSAY" diff a.db b.db --by image --json | jq -r '.images[] | select(.image == "work").verdict')" more

ok "sampled recordings are made up" "$BUILD/tests/unit/report_recordings" .
run "$ASSAY" diff squeeze.db squeeze.db
is "a sampled recording and itself" "$status" 0
like "... is a difference of chance at most" "$out" '^same: chance could have made'
unlike "... and nothing else" "$out" '^(slower|faster|new|gone)$'
is "... under 80 columns" "$(awk 'length > 79' <<< "$out")" ""
like "... in grey on a terminal" "$(TERM=xterm script -qec "env -u NO_COLOR '$ASSAY' diff squeeze.db squeeze.db" /dev/null < /dev/null | cat -v)" '^\^\[\[2m.*longest_match'
run "$ASSAY" diff squeeze.db squeeze.db --json
is "... in JSON" "$(jq -r '[.procedures[].verdict] | unique | join(" ")' <<< "$out")" same

refused() { # NAME STATUS REGEX ARGS...
	run "$ASSAY" diff "${@:4}"
	like "$1" "$status:$err" "^$2:.*$3"
	is "... and prints nothing" "$out" ""
}
refused "one recording" 2 'takes two recordings, and was given 1' a.db
refused "three without vs" 2 'takes two recordings, and was given 3' a.db b.db a.db
refused "nothing on one side" 2 'both sides of vs' a.db vs
refused "vs twice" 2 'given twice' a.db vs b.db vs a.db
refused "exact and sampled" 2 'squeeze.db is sampled' a.db squeeze.db
refused "an empty one" 3 'empty.db holds no samples' squeeze.db empty.db
refused "no such file" 1 'nowhere.db' a.db nowhere.db
refused "no recording" 1 'work.c' a.db work.c
refused "no such image" 3 "matches 'nothing'" a.db b.db --image nothing
refused "a measure of exact ones" 2 '--measure is of sampled' a.db b.db --measure share
killed_after 1 "$ASSAY" record --exact -q -o k.db -- ./work 300000000
run "$ASSAY" diff k.db a.db
like "one whose recorder was killed: what it has, or that it has nothing" "$status:$err" '^(0:|3:)'
done_testing
