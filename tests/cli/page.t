#!/bin/bash
# SPDX-License-Identifier: MIT
# The size of `assay html` pages: they stay below a limit whatever was recorded, and say what they lack. What a browser makes
# of a page is tested in tests/long/html.t.
. "$(dirname "$0")/lib.sh"

ok "recordings are made up" "$BUILD/tests/unit/report_recordings" .
data() { sed -n '/^<script id="data"/,/^<\/script>/p' "$1" | sed '1d;$d'; }
# Samples, whether each is in a node of the page, and whether no group of them is left over.
samples() {
	data "$1" | python3 -c '
import itertools, json, sys
d = json.load(sys.stdin)
s, nodes = d["samples"], len(d["nodes"]["p"])
at = list(itertools.accumulate(s["n"]))
more = sum(s["c"][1::2]) - len(s["c"][1::2])
print(len(at) + more, all(0 <= n < nodes for n in at), sum(s["g"][2::3]) == len(at), sum(t[3] for t in d["threads"]))'
}

for size in 0.5 1 50; do
	ok "a page of $size MB" "$ASSAY" html -i forest.db -o "$size.html" -n 300 --size "$size"
	is "... is no larger" "$(awk -v n="$(stat -c %s "$size.html")" -v mb="$size" 'BEGIN { print n <= mb * 1e6 ? "yes" : n }')" yes
	is "... has all samples and threads" "$(samples "$size.html")" "15000 True True 3000"
done
lacks() { data "$1" | jq -r '.notes[] | join(": ")'; }
run lacks 50.html
is "what is not cut says so of threads alone" "$out" 'flame: The 2,000 threads with the fewest samples are together with others of their name.'
run lacks 0.5.html
like "a small page says how many frames it lacks" "$out" '^flame: [0-9,]+ frames with (one sample|at most [0-9,]+ samples) each are left out;'
like "... what to do" "$out" '^: assay html --size MB makes a larger page'
like "... and which procedures it lacks" "$out" '^annotate: [0-9]+ of the hottest procedures are not annotated'
is "what was found out is kept, though the program's file is not there" "$(find "$XDG_CACHE_HOME" -type f | grep -c .)" 1
ok "the same page again" "$ASSAY" html -i forest.db -o again.html -n 300 --size 0.5
ok "... has the same bytes" cmp 0.5.html again.html
run "$ASSAY" html -i forest.db -o x.html --size 0.01
is "a page cannot be as small as that" "$status" 2

# A difference of one image: the flame graph has the stacks that end there, as the table has its procedures.
part() { # IMAGE: the part of all that the flame graph has, forward and from the ends of stacks
	"$ASSAY" diff forest.db forest.db --html diff.html --image "$1" 2> /dev/null
	data diff.html | python3 -c '
import json, sys
d = json.load(sys.stdin)
print(*["%.3f" % (t["base"][0] / float(sys.argv[1])) for t in d["trees"]], len([f for f in d["trees"][1]["p"][1:] if f == 0]))' "$all"
}
all=1 all=$(part '*' | cut -d ' ' -f 1)
is "a difference in flame graphs, of the stacks that end in the kernel" "$(part '?kernel]')" "0.250 0.250 1"
like "... and of those that end in the program" "$(part cc1)" '^0\.750 0\.750 [1-9][0-9]*$'

done_testing
