#!/bin/bash
# SPDX-License-Identifier: MIT
# Working sets of the exact engine: known ones, those that single steps find, and what may go wrong.
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { skip "no jq"; done_testing; exit; }
TOUCH=$BUILD/tests/progs/touch
record() { timeout -k 5 120 "$ASSAY" record --exact -q --observe lines -o wset.db "$@"; }
wset() { "$ASSAY" wset -i wset.db --json; }
usual() { wset | jq -r '[.intervals[].kinds.mapping // 0] | group_by(.) | max_by(length) | .[0]'; }
most() { wset | jq '[.intervals[].kinds.mapping // 0] | max'; }
total() { wset | jq '[.regions[] | select(.kind == "mapping") | .lines] | add'; }
at_least() { if [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; then pass "$1"; else fail "$1" "got $2, wanted $3 to $4"; fi; }

record --interval 100000 -- "$TOUCH" stride
is "stride: 3000 lines in each interval" "$(usual)" 3000
cp wset.db one.db
record --interval 100000 -- "$TOUCH" stride
is "the same twice" "$("$ASSAY" wset -i one.db --json | jq -c '[.intervals[] | [.end, .lines, .new, .reused, .gone, .code_lines]]')" \
	"$(wset | jq -c '[.intervals[] | [.end, .lines, .new, .reused, .gone, .code_lines]]')"
for how in check coalesce neither; do
	record --interval 100000 --lines-how $how -- "$TOUCH" stride
	is "the same with --lines-how $how" "$(wset | jq -c '[.intervals[] | .lines]')" \
		"$("$ASSAY" wset -i one.db --json | jq -c '[.intervals[] | .lines]')"
done
record --interval 100000 --line 4096 -- "$TOUCH" stride
is "in lines of 4096 bytes: 47" "$(usual)" 47
record --interval 100000 -- "$TOUCH" sparse
is "sparse, in 64 GiB: 2000" "$(usual)" 2000
record --interval 100000 -- "$TOUCH" reserved 100
is "terabytes reserved, little touched: 2000" "$(usual)" 2000
record --interval 50000 -- "$TOUCH" window
at_least "a moving window: all lines, each first in one interval" "$(wset | jq '[.intervals[].first] | add')" 200000 203000
is "… and the regions' sum is that of firsts" "$(wset | jq '.lines_total')" "$(wset | jq '[.intervals[].first] | add')"
is "procedures: what they were the first to touch is all that was touched" "$(wset | jq '[.procedures[].lines] | add')" \
	"$(wset | jq '[.intervals[].lines] | add')"
is "… main most of it" "$(wset | jq -r '.procedures[0].procedure')" main
record --interval 2000000 -- "$TOUCH" two
at_least "two threads: 2500, of which they share 500" "$(most)" 2500 2700
record --interval 100000 --snapshots 512 -- "$TOUCH" two 20000
is "… and none of their intervals, but for the last, is half as long as another" "$(wset |
	jq '[.intervals[].end] | [.[:-2], .[1:-1]] | transpose | map(.[1] - .[0]) | length > 100 and 2 * min > max')" true

# What threads share: besides those 500, of mappings the same as where a program's threads share none; and lines of the C
# library's.
shared() { wset | jq '[.regions[] | select(.kind == "mapping") | .shared] | add'; }
for interval in 1e9 2000; do
	record --interval $interval --snapshots 2 -- "$TOUCH" apart
	apart=$(shared) library=$(($(wset | jq '.shared_total') - apart))
	largest=$(wset | jq '[.intervals[].shared] | max')
	record --interval $interval --snapshots 2 -- "$TOUCH" two
	is "two threads share 500, intervals of $interval" $(($(shared) - apart)) 500
	at_least "… in one interval, too" $(($(wset | jq '[.intervals[].shared] | max') - largest)) 490 510
	is "… and regions' sum is that of all" "$(wset | jq '[.regions[].shared] | add')" "$(wset | jq '.shared_total')"
done
at_least "few are the library's" "$library" 1 60
run "$ASSAY" wset -i wset.db --svg shared.svg
like "what is shared is a column" "$out" "gone +shared"
like "… and in the picture's legend" "$(<shared.svg)" "shared between threads"
is "… which is XML" "$(python3 -c 'import xml.dom.minidom as m; m.parse("shared.svg"); print("yes")')" yes
record -- "$TOUCH" stride
run "$ASSAY" wset -i wset.db
unlike "one thread shares nothing, and no column says so" "$out" "shared"
record --interval 20000 -- "$TOUCH" once
at_least "two threads, each line once: none is lost" "$(total)" 200000 200300
record --interval 100000 -- "$TOUCH" free
at_least "what is unmapped leaves the set" "$(most)" 0 1300
for n in 1 3001; do
	record --interval 1000 --snapshots 4000 -- "$TOUCH" grow $n
	grown=$(($(total) - ${grown:-0}))
done
is "memory that is mapped and touched while another thread ends intervals: each line of it" $grown 3000
record --interval 100000 -- "$TOUCH" fork
is "a child has its own: processes" "$(wset | jq '.processes | length')" 2
is "… and it touches 2000" "$(usual)" 2000
record --interval 100000 -- "$TOUCH" exec
is "so has each image of one that executes another" "$(wset | jq '.processes | length')" 2
is "… this one's 3000" "$(usual)" 3000
record --interval 10000 -- "$TOUCH" replace 1000
at_least "memory that is replaced under another thread: as much as there is" "$(most)" 1 1400
record --interval 1e9 -- "$TOUCH" prefetch
prefetched=$(total)
record --interval 1e9 -- "$TOUCH" none
is "what is prefetched is not touched" "$prefetched" "$(total)"
none=$prefetched
record --interval 1e9 -- "$TOUCH" kernel
is "nor what the kernel reads and writes" "$(total)" "$none"
record --interval 1e9 --kernel-buffers -- "$TOUCH" kernel
is "… unless it is asked for" "$(($(total) - none))" 1500
if grep -qm1 avx2 /proc/cpuinfo; then
	record --interval 1e9 -- "$TOUCH" gather
	is "a gather touches what its mask takes: 2000" $(($(total) - none)) 2000
else
	skip "no AVX2"
fi
if grep -qm1 avx512f /proc/cpuinfo; then
	record --interval 1e9 -- "$TOUCH" scatter
	is "so does a scatter: 2000" $(($(total) - none)) 2000
else
	skip "no AVX-512"
fi

# A run a hundred times as long.
for n in 30 3000; do
	record --interval 2000 --snapshots 64 -- "$TOUCH" stride $n
	stat -c %s wset.db >size.$n
done
at_least "a run 100 times as long: % of the recording's size" $(($(<size.3000) * 100 / $(<size.30))) 50 120

# Memory for marks: lines of 64 bytes, a million of them.
marks=$("$ROOT/tests/exact/marks" "$ASSAY" "$TOUCH" wset.db)
at_least "marks of 62500 KiB of lines take a 40th of that at most, KiB" "$marks" 900 1562
record --interval 1000 --snapshots 16 -- "$TOUCH" stride
at_least "the number of intervals is bounded" "$(wset | jq '.intervals | length')" 8 16
is "… the last one ends where all is executed, it says" "$(wset | jq '.intervals[-1].end')" "$(wset | jq '.recording.executions')"
setarch -R "$ASSAY" record --exact -q -o counts.db -- "$TOUCH" stride
is "… as counting does" "$(wset | jq '.recording.executions')" "$("$ASSAY" report -i counts.db --json | jq '.recording.executions')"
run "$ASSAY" report -i wset.db
is "there are no counts" "$status" 3
like "… which a reading of them says" "$err" "holds working sets, and counts nothing"
like "… and what to do" "$err" "assay wset.*assay record --exact"
run "$ASSAY" info -i wset.db
unlike "info has no sites" "$out" "^sites"
for unit in accesses cpu wall; do
	record --interval-unit $unit --interval 1000000 -- "$TOUCH" stride
	at_least "intervals of $unit" "$(wset | jq '.intervals | length')" 1 128
done
run record -- "$TOUCH" fixed
like "a mapping where lines are marked is refused, and said so" "$out$err" "refused"
record --interval 1e9 -- "$TOUCH" none
none=$(total)
for lines in 64 32; do
	run record --interval 1e9 --line $lines -- "$TOUCH" low
	is "where the only thread's lines are marked there is room, if the program wants it; lines of $lines" "$status" 0
	[ $lines != 64 ] || is "… and what was touched before is not lost" $(($(total) - none)) 1000
done
record --interval 1e9 -- "$TOUCH" none
none=$(wset | jq '.code_lines_total')
record --interval 1e9 -- "$TOUCH" changing
at_least "code that changes all the time is in the set, too: 200 lines" $(($(wset | jq '.code_lines_total') - none)) 190 215
run "$ASSAY" record --exact --observe lines --interval 0 -- true
is "an interval of nothing is a usage error" "$status" 2
for absurd in 999 -5 1e99 nan many; do
	run "$ASSAY" record --exact --observe lines --interval $absurd -- true
	is "so is one of $absurd" "$status" 2
	like "… which says what it may be" "$err" '1000|number'
done
run "$ASSAY" record --exact --observe lines --line 48 -- true
is "so is a line of 48 bytes" "$status" 2
record -- "$TOUCH" stride
run "$ASSAY" wset -i wset.db --svg wset.svg
like "the picture" "$out" "█"
like "… as SVG" "$(<wset.svg)" "</svg>"
run "$ASSAY" wset -i wset.db --stacks -n 0
is "stacks: as JSON has them" "$(grep -c '^          [^ ]' <<<"$out")" "$(wset | jq '[.intervals[].stack | split(";") | length - 1] | add')"
like "… to where the program begins" "$out" '^          __libc_start_main'
is "the map has all lines of all intervals" "$("$ASSAY" wset -i wset.db --map --json | jq '[.map[].lines[]] | add')" \
	"$(wset | jq '[.intervals[].lines] | add')"
run "$ASSAY" wset -i wset.db --map --svg map.svg --height 7
is "… in as many rows as told" "$(grep -cE '^ *[0-9a-f]+ [a-z]+ *\|' <<<"$out")" 7
is "… and in the SVG" "$(grep -c '<g><title>' map.svg)" 7
is "… which is XML" "$(python3 -c 'import sys, xml.dom.minidom as m; m.parse("map.svg"); m.parse("wset.svg"); print("yes")')" yes
"$ASSAY" record --exact -q -o counts.db -- true
run "$ASSAY" wset -i counts.db
is "a recording without working sets: nothing to show" "$status" 3
run "$ASSAY" merge -o sum.db wset.db one.db
is "working sets of two runs are kept side by side" "$("$ASSAY" wset -i sum.db --json | jq '.processes | length')" 2
is "… with their procedures" "$("$ASSAY" wset -i sum.db --json | jq -c '.procedures')" \
	"$("$ASSAY" wset -i one.db --json | jq -c '.procedures')"

# Against single steps, but for the stack, which the engine lays out by itself: count.t says why paths are padded.
place=$(mktemp -d /tmp/XXXX) || exit 1
trap 'cd /; rm -rf "$TMP" "$place"' EXIT
stepped() { # CASE LINE
	local path n
	cp "$BUILD/tests/progs/exact/static/truth" "$place/program"
	n=$((${#BUILD} + 12 - ${#place} - 8))
	path=$(printf '%*s' "$n" '' | tr ' ' /)$place/program
	rm -f wset.db
	env -i GLIBC_TUNABLES=glibc.pthread.rseq=0 timeout -k 5 600 "$ASSAY" record --exact -q --observe lines --interval 2000 --line "$2" \
		-o wset.db -- "$path" "$1" >/dev/null
	wset | jq -r '.intervals[] | "\(.end) \(.lines - (.kinds.stack // 0))"' >recorded
	cut -d' ' -f1 recorded >ends
	env -i GLIBC_TUNABLES=glibc.pthread.rseq=0 timeout -k 5 600 "$BUILD/tests/exact/lines" -s -l "$2" -e ends -o stepped "$path" "$1" >/dev/null
	is "$1, lines of $2: what single steps find in $(wc -l <recorded) intervals" "$(<recorded)" "$(<stepped)"
}
# Real programs: every access that they make. gzip by single steps, too, but for the stack.
# What two intervals touched that became one stays, and the second of them may have unmapped it: there are to be few.
ordered() { # NAME LINE INTERVAL COMMAND…
	local name=$1 line=$2 interval=$3
	shift 3
	for _ in {1..10}; do # until both are the same run: reading the clock is repeated if the kernel changes it meanwhile
		rm -f wset.db
		fixed ./assay record --exact -q --observe lines --interval "$interval" --snapshots 512 --line "$line" \
			-o wset.db -- "$@" >/dev/null
		wset | jq -r '.intervals[] | "\(.end) \(.lines) \(.code_lines)"' >recorded
		cut -d' ' -f1 recorded >ends
		fixed ./touched -l "$line" -e ends -o ordered "$@" >/dev/null
		[ "$(tail -n 1 recorded | cut -d' ' -f1)" = "$(tail -n 1 ordered | cut -d' ' -f1)" ] && break
	done
	at_least "$name: intervals, of which none is made of two" "$(wc -l <recorded)" 3 511
	is "$name, lines of $line: what its accesses are in each interval, and its code" "$(<recorded)" "$(<ordered)"
}
fixed() { env -i GLIBC_TUNABLES=glibc.pthread.rseq=0 timeout -k 5 300 "$@"; }
# the engine that both run, at one place: paths are on the stack
cp "$BUILD/assay" "$BUILD/assay-exact" "$BUILD/tests/exact/touched" .
head -c 60 "$ROOT/tests/exact/lines.t" >small.in
wanted=$(command -v gzip)
ordered gzip 64 50000 "$wanted" -9 -c small.in
wset | jq -r '.intervals[] | "\(.end) \(.lines - (.kinds.stack // 0))"' >recorded
cut -d' ' -f1 recorded >ends
fixed "$BUILD/tests/exact/lines" -s -l 64 -e ends -o stepped "$wanted" -9 -c small.in >/dev/null
is "gzip: what single steps find in $(wc -l <recorded) intervals" "$(cut -d' ' -f2 recorded)" "$(cut -d' ' -f2 stepped)"
if wanted=$(command -v sqlite3); then
	cat >query.sql <<-'SQL'
	CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT, c REAL);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 3000)
	  INSERT INTO t SELECT i, (i*7919)%1007, 'row-'||((i*31)%65537), i*0.5 FROM n;
	CREATE INDEX t_a ON t(a);
	SELECT a, count(*), sum(c) FROM t GROUP BY a ORDER BY 2 DESC, 1 LIMIT 5;
	SELECT count(*) FROM t x JOIN t y ON x.a = y.a AND y.id < 200;
	DELETE FROM t WHERE a < 300;
	VACUUM;
	SQL
	ordered sqlite3 64 100000 "$wanted" -init /dev/null :memory: ".read query.sql"
	ordered sqlite3 16 1000000 "$wanted" -init /dev/null :memory: ".read query.sql"
else
	skip "no sqlite3"
fi
wanted=$(gcc -print-prog-name=cc1 2>/dev/null)
if [ -x "$wanted" ]; then
	gcc -E -P "$ROOT/tests/progs/conflicts.c" -o small.i
	ordered cc1 64 1000000 "$wanted" -quiet -O2 -fpreprocessed small.i -o /dev/null
else
	skip "no cc1"
fi

for c in recursion jumps loops pointers operands; do
	stepped $c 64
	stepped $c 16
done
done_testing
