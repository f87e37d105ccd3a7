#!/bin/bash
# SPDX-License-Identifier: MIT
# record --observe reuse and misses, and what reads them: on a program whose touches are known.
set -u
. "$(dirname "$0")/lib.sh"
program=$BUILD/tests/progs/touches
json() { jq -r "$1" <<<"$out"; }

run "$ASSAY" record --exact --observe reuse -q -o r.db -- "$program" 1048576 10
is "records reuse" "$status" 0
run "$ASSAY" reuse -i r.db
is "shows it" "$status" 0
like "… with the caches of this machine" "$out" '<- '
like "… and procedures" "$out" 'walk'
lines=$(printf '%s\n' "$out" | awk 'length > 79' | wc -l)
is "… in lines under 80 columns" "$lines" 0
is "… that end where their text does" "$(printf '%s\n' "$out" | grep -c ' $')" 0
run "$ASSAY" reuse -i r.db --json
# 1 MiB in steps of a line, ten times over: 16384 lines
walk='.procedures[] | select(.procedure == "walk")'
is "touches of walk: one a line and round" "$(json "$walk | .touches | . >= 163840 and . < 163900")" true
is "a cache of 2 MiB has all but the first round" "$(json '.sizes[] | select(.bytes == 2097152) | .misses < 20000 and .misses >= 16384')" true
is "one of half a MiB has none" "$(json '.sizes[] | select(.bytes == 524288) | .misses > 163840')" true
is "the curve falls" "$(json '[.curve[][1]] | . == (sort | reverse)')" true
is "… and ends with first touches" "$(json '.curve[-1][1] == .lines')" true
is "touches are hits and misses" "$(json '[.processes[].touches] | add')" "$(json .touches)"
run "$ASSAY" reuse -i r.db --svg curve.svg
is "draws it" "$status:$(grep -c '</svg>' curve.svg)" 0:1
run "$ASSAY" reuse -i r.db --svg /nowhere/curve.svg
is "a picture that cannot be written fails" "$status" 1
run "$ASSAY" reuse -i r.db --process 1
is "no such process: nothing to show" "$status" 3
run "$ASSAY" merge -o two.db r.db r.db
run "$ASSAY" reuse -i two.db --json
is "two add up" "$(json '[(.processes | length), (.procedures[] | select(.procedure == "walk") | .touches >= 327680)] | tostring')" '[2,true]'

run "$ASSAY" record --exact --observe misses --machine l1d=32K/8,l2=256K/8,l3=8M/16,dtlb=64/64,dtlb2=0,line=64 -q -o m.db -- "$program" 1048576 10
is "records misses" "$status" 0
run "$ASSAY" report -i m.db
like "report shows them" "$out" ' L1d +L2d +L3d +DTLB'
is "… in lines under 80 columns, but for the machine" "$(printf '%s\n' "$out" | awk 'length > 79 && !/^l1d=/' | wc -l)" 0
run "$ASSAY" report -i m.db -n 0 --json
walk='.misses[] | select(.procedure == "walk") | .counts'
is "walk misses each line, each time" "$(json "$walk | .l1d >= 163840 and .l1d < 163900")" true
is "… in the second level, too" "$(json "$walk | .l2d >= 163840 and .l2d < 163900")" true
is "… in the third once" "$(json "$walk | .l3d >= 16000 and .l3d <= 16500")" true
is "… and a page each 64 lines" "$(json "$walk | .dtlb >= 2560 and .dtlb < 2600")" true
walk='.misses[] | select(.procedure == "flip") | .counts'
is "flip's branches alternate, and are predicted" "$(json "$walk | .branches >= 20000 and .mispredicted < 200")" true
walk='.misses[] | select(.procedure == "toss") | .counts'
is "toss's are random, and are not" "$(json "$walk | .mispredicted > 4000 and .mispredicted < 6000")" true
is "the machine is told" "$(json .machine | cut -d, -f1,3)" "l1d=32K/8,l2=256K/8"
run "$ASSAY" annotate -i m.db walk
like "annotate shows them" "$out" 'l1d 100[.]0%'
run "$ASSAY" annotate -i m.db walk --json
is "… in JSON, too" "$(json '[.instructions[].misses // empty | .l1d] | add >= 163840')" true
run "$ASSAY" annotate -i r.db walk --json
is "… and not where there are none" "$(json '[.instructions[] | has("misses")] | any')" false
is "wset --mrc is the same curve" "$("$ASSAY" wset --mrc -i r.db --json | jq -c .sizes)" "$("$ASSAY" reuse -i r.db --json | jq -c .sizes)"
run "$ASSAY" reuse -i m.db
is "no distances: nothing to show" "$status" 3
# A cache that is fully associative misses what the curve says, whatever runs.
seq 1 20000 >numbers
alike=(setarch -R "$ASSAY" record --exact -q)
run "${alike[@]}" --observe reuse -o r.db -- gzip -k numbers
rm -f numbers.gz
run "${alike[@]}" --observe misses --machine l1d=64K/1024,line=64 -o m.db -- gzip -k numbers
run "$ASSAY" report -i m.db --json
missed=$(json .misses_total.l1d)
run "$ASSAY" reuse -i r.db --json
curve=$(json '.sizes[] | select(.bytes == 65536) | .misses')
ok "the curve is that of a simulated cache ($curve and $missed)" awk -v a="$curve" -v b="$missed" 'BEGIN { exit !(b > 1000 && a >= 0.99 * b && a <= 1.01 * b) }'
for bad in l1d=1000/3 l9=1K/1 line=48 l1d; do
	run "$ASSAY" record --exact --observe misses --machine $bad -o bad.db -- true
	is "--machine $bad is refused" "$status" 2
done
is "… before anything is written" "$(ls bad.db 2>/dev/null)" ""
# Options that would do nothing.
while IFS='|' read -r options what; do
	# shellcheck disable=SC2086
	run "$ASSAY" record $options -q -o bad.db -- true
	is "record $options: 2" "$status" 2
	like "… says why" "$err" "$what"
done <<-'END'
	--observe lines|--observe is for --exact
	--observe counts|--observe is for --exact
	--cache 1000|--cache is for --exact
	--exact -F 997|--rate is the sampler's
	--exact --observe values --burst 20|--burst is the sampler's
	--exact --line 64|--line is for --exact --observe lines
	--exact --observe misses --interval 1e6|--interval is for --exact --observe lines
	--exact --observe values --machine l1d=32K/8|--machine is for --exact --observe misses, cycles or reuse
END
is "… before anything is written" "$(ls bad.db 2>/dev/null)" ""
# Sampled: estimated, by windows and watchpoints.
run "$ASSAY" record --reuse --exact -o bad.db -- true
is "--reuse is the sampler's" "$status" 2
if can_record; then
	# 128 MiB in steps of a line, over and over: what is larger holds it, what is smaller nothing of it
	run "$ASSAY" record --reuse -q -F 4000 -o s.db -- "$program" 134217728 500
	is "records an estimate" "$status" 0
	run "$ASSAY" reuse -i s.db
	is "shows it" "$status" 0
	like "… and says what it is" "$out" '^estimated: .* windows, .* lines watched, .* hits'
	like "… with bounds" "$out" 'misses % +from +to'
	is "… in lines under 80 columns" "$(printf '%s\n' "$out" | awk 'length > 79' | wc -l)" 0
	run "$ASSAY" reuse -i s.db --json
	is "lines were watched, and hit" "$(json '.estimated | .watches > 0 and .hits > 0')" true
	is "a cache of 1 MiB has none of it" "$(json '.sizes[] | select(.bytes == 1048576) | .ratio > 0.9')" true
	is "one of 4 GiB nearly all" "$(json '([.curve[] | select(.[0] <= 67108864)] | last[1]) / .touches | . < 0.1')" true
	is "bounds are around" "$(json '[.sizes[] | .low <= .ratio and .ratio <= .high] | all')" true
	is "the curve falls" "$(json '[.curve[][1]] | . == (sort | reverse)')" true
	run "$ASSAY" reuse -i s.db --svg sampled.svg
	is "draws it" "$status:$(grep -c '</svg>' sampled.svg)" 0:1
	run "$ASSAY" reuse -i s.db --process 1
	is "no such process: nothing to show" "$status" 3
	run "$ASSAY" info -i s.db
	like "info says how many were watched" "$out" 'watched +[0-9]'
	hits=$("$ASSAY" info -i s.db --json | jq '.runs[0].counters | .watch_hits <= 16 * .watches')
	is "hits are bounded" "$hits" true
	run "$ASSAY" merge -o twice.db s.db s.db
	run "$ASSAY" reuse -i twice.db --json
	is "two add up" "$(json '.processes | length')" 2
	sqlite3 twice.db "DELETE FROM reuse_region; UPDATE reuse SET watched = 15"
	run "$ASSAY" reuse -i twice.db
	unlike "30 lines watched are not few" "$out" "Few lines"
	sqlite3 twice.db "UPDATE reuse SET watched = 14"
	run "$ASSAY" reuse -i twice.db
	like "28 are, and it is said" "$out" "Few lines were watched"
	sqlite3 twice.db "UPDATE reuse SET soon = watches + 1"
	run "$ASSAY" reuse -i twice.db
	is "more lines that came soon than were watched: refused" "$status" 1
	like "… as damaged" "$err" "damaged: reuse"
	sqlite3 s.db "UPDATE reuse_region SET windows = 1 + (SELECT max(windows) FROM reuse)"
	run "$ASSAY" reuse -i s.db
	is "a region with more windows than its process: refused" "$status" 1
	like "… as damaged" "$err" "damaged: reuse_region"
	sqlite3 s.db "UPDATE reuse_region SET windows = 1, address = address + 1"
	run "$ASSAY" reuse -i s.db
	is "so is one that does not begin where regions do" "$status" 1
	sqlite3 s.db "DELETE FROM reuse_region"
	# One window with a single touch: most draws of its bounds have none
	sqlite3 s.db "UPDATE reuse SET windows = 1, instructions = 204800, touches = 102400, watched = 0, watches = 0, soon = 0, \
		before = 0, same = 0, other = 0, near_ended = x'', near_left = x'018008', far_ended = x'', far_left = x''"
	run "$ASSAY" reuse -i s.db
	is "one window has a curve, too" "$status" 0
	run "$ASSAY" reuse -i s.db --json
	is "… of what is far nothing is known where nothing was watched" \
		"$(json '[.sizes[] | select(.bytes >= 65536) | .low < 0.1 and .high > 0.9] | length > 0 and all')" true
	# Of two phases the slow one takes most of the time, and the fast one makes most of the touches.
	cp "$BUILD/tests/progs/speeds" speeds
	run "$ASSAY" record --reuse -q -o p.db -- ./speeds 400000000 4000000
	read -r touches missed <<<"$out"
	# Within a factor of three of the bounds, since these hold in 95 of 100 cases.
	held="($missed / $touches) as \$true | .sizes[] | select(.bytes == 65536) | .low / 3 <= \$true and .high * 3 >= \$true"
	run "$ASSAY" reuse -i p.db --json
	is "of phases of different speed the bounds hold what is true" "$(json "$held")" true
	# It is one in 96 touches. Where touches count as often as windows see them, most of them miss.
	is "… and say something" "$(json '.sizes[] | select(.bytes == 65536) | .high < 0.2')" true
	is "… and its executions are known" "$(json '.estimated.known > 0.5')" true
	mv speeds gone
	run "$ASSAY" reuse -i p.db
	like "without the program they are not, and it is said" "$out" "How often most of the code ran is not known"
	run "$ASSAY" reuse -i p.db --json
	# What is not known of the parts' speeds moves the estimate by the ratio of these speeds, some forty.
	is "… and the bounds are wide" "$(json '.sizes[] | select(.bytes == 65536) | .high > 8 * .low')" true
	run "$ASSAY" record -q -o plain.db -- "$program" 4096 10
	run "$ASSAY" reuse -i plain.db
	is "without --reuse there is nothing to show" "$status" 3
else
	skip "the sampler does not work here: $why"
fi
done_testing
