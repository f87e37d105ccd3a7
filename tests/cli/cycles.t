#!/bin/bash
# SPDX-License-Identifier: MIT
# record --observe cycles, and what reads it: on a program whose misses and mispredictions are known.
set -u
. "$(dirname "$0")/lib.sh"
program=$BUILD/tests/progs/touches
json() { jq -r "$1" <<<"$out"; }
machine=l1d=32K/8,l2=256K/8,l3=8M/16,dtlb=64/64,dtlb2=0,line=64,width=4,window=64,fills=4,streams=0,l3lat=50,memlat=200
machine+=,memgap=0,tlblat=0,walklat=0,refill=14
simulate() { "$ASSAY" record --exact --observe cycles -q "$@"; }

run simulate --machine $machine -o c.db -- "$program" 1048576 10
is "records cycles" "$status" 0
run "$ASSAY" report -i c.db
like "report has a table of them" "$out" 'cycles % +CPI +base +exec +data +code branch +image +procedure'
like "… and one of misses" "$out" ' L1d +L2d +L3d +DTLB'
is "… in lines under 80 columns" "$(printf '%s\n' "$out" | awk 'length > 79' | wc -l)" 0
like "… says that they are simulated" "$out" 'Cycles and misses are simulated: l1d=32K/8'
like "… and of what core" "$out" 'width=4, window=64'
run "$ASSAY" report -i c.db --explain
like "--explain says what the parts are" "$out" 'latencies of operations and of hits in the first level'
run "$ASSAY" report -i c.db -n 0 --json
is "the machine is told" "$(json .machine | grep -o 'width=4,window=64')" width=4,window=64
close='def close(a; b): (a - b | if . < 0 then -. else . end) <= 0.001 * b + 0.01;'
is "parts add up to the cycles" "$(json "$close"'[.cycles[] | . as $c | close(.parts | add; $c.cycles)] | all')" true
is "… and procedures to all" "$(json "$close"'close([.cycles[].cycles] | add; .cycles_total.cycles)')" true
is "CPI is cycles of an execution" "$(json "$close"'[.cycles[] | select(.executions > 100) | close(.cpi * .executions; .cycles)] | all')" true
of() { echo ".cycles[] | select(.procedure == \"$1\")"; }
# ten rounds over 16384 lines, of which the first comes from memory; four lines at once
is "walk waits for a line a quarter of its latency" \
	"$(json "$(of walk) | .parts.l3 + .parts.memory + .parts.base + .parts.execute | . > 0.95 * (147456 * 12.5 + 16384 * 50) and . < 1.05 * (147456 * 12.5 + 16384 * 50)")" true
is "… mostly for the last level" "$(json "$(of walk) | .parts.l3 > 0.5 * .cycles and .parts.memory > 0.2 * .cycles")" true
is "… and for no branches" "$(json "$(of walk) | .parts.mispredict < 0.01 * .cycles")" true
is "flip's branches cost little" "$(json "$(of flip) | .parts.mispredict < 200 * 15")" true
is "toss's cost a refill each that is mispredicted" \
	"$(json '(.misses[] | select(.procedure == "toss") | .counts.mispredicted) as $m | '"$(of toss) | .parts.mispredict > 10 * \$m and .parts.mispredict < 15 * \$m")" true
run "$ASSAY" annotate -i c.db walk
like "annotate has an instruction's cycles" "$out" 'simulated 1[0-9][.][0-9]+ cycles'
run "$ASSAY" annotate -i c.db walk --json
is "… in JSON, too" "$(json '[.instructions[].simulated_cycles // empty | .total] | add > 147456 * 12')" true
run "$ASSAY" merge -o two.db c.db c.db
run "$ASSAY" report -n 0 -i two.db --json
twice=$(json .cycles_total.cycles)
run "$ASSAY" report -n 0 -i c.db --json
is "two add up" "$(json "$close close($twice; 2 * .cycles_total.cycles)")" true
run "$ASSAY" info -i c.db
like "info says what was observed" "$out" 'cycles'

run simulate --machine $machine,width=1 -o narrow.db -- "$program" 4096 1
run "$ASSAY" report -i narrow.db --json
is "a core of width 1 takes three quarters of a cycle at least" "$(json '.cycles_total | .cycles / .executions > 0.75')" true
run simulate --machine "$(json .machine | sed 's/,/, /g')" -o again.db -- "$program" 4096 1
is "a machine as it is shown is one" "$status" 0
run "$ASSAY" record --exact --observe misses -q -o m.db -- "$program" 4096 1
run "$ASSAY" report -i m.db --json
is "misses alone have no cycles" "$(json 'has("cycles")')" false
for d in 1 2; do
	setarch -R "$ASSAY" record --exact --observe cycles -q --machine $machine -o same$d.db -- "$program" 65536 3 >/dev/null
done
is "two runs have the same cycles" "$("$ASSAY" report -n 0 -i same1.db --json | jq -c '[.cycles, .misses]' | md5sum)" \
	"$("$ASSAY" report -n 0 -i same2.db --json | jq -c '[.cycles, .misses]' | md5sum)"
for bad in width=0 width=11 window=7 fills=0 l2lat=0 memlat=99999 streams=65 width=4/2 windows=9; do
	run simulate --machine $bad -o bad.db -- true
	is "--machine $bad is refused" "$status" 2
done
is "… before anything is written" "$(ls bad.db 2>/dev/null)" ""
done_testing
