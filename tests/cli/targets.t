#!/bin/bash
# SPDX-License-Identifier: MIT
# Phases and samples of a program whose phases are known: how many, how large, where they begin; the specification; what
# is refused.
. "$(dirname "$0")/lib.sh"
PHASES=$BUILD/tests/progs/phases
targets() { "$ASSAY" targets -i phases.db "$@"; }
close() { # NAME GOT WANTED WITHIN
	if awk -v a="$2" -v b="$3" -v c="$4" 'BEGIN { exit !(a >= b - c && a <= b + c) }'; then
		pass "$1"
	else
		fail "$1" "got $2, wanted $3, within $4"
	fi
}

# one 4 million instructions, two 2, three 6, four 4, one 2
run timeout -k 5 120 "$ASSAY" record --exact -q --observe phases --interval 40000 -o phases.db -- "$PHASES"
is "phases are recorded" "$status:$err" 0:
targets --json >all.json
instructions=$(jq .instructions all.json)
is "intervals hold all instructions" "$(jq '.recording.executions' all.json)" "$instructions"
is "four phases" "$(jq '.phases | length' all.json)" 4
is "... in their order, and the first one comes again" "$(jq -r '.phase_of | .[10:] | [foreach .[] as $x ([null, null]; [.[1], $x]; select(.[0] != .[1]) | .[1])] | unique as $u | map(. as $x | $u | length) | length' all.json)" 5
# where one gives way to another, in instructions, from the first one's beginning
jq -r '. as $r | [range(10; .ends | length)] | .[1:] | map(select($r.phase_of[.] != $r.phase_of[. - 1])) | .[] | $r.ends[. - 1]' all.json >changes
is "... four times one gives way to another" "$(wc -l <changes)" 4
mapfile -t at <changes
close "... two has 2 million instructions, to an interval" $((at[1] - at[0])) 2000000 40000
close "... three has 6 million" $((at[2] - at[1])) 6000000 40000
close "... four has 4 million" $((at[3] - at[2])) 4000000 40000
close "... one has 2 million at the end" $((instructions - at[3])) 2000000 60000
close "... and 4 million before" "${at[0]}" 4100000 140000
# the loader's instructions are some phase's, too
is "shares are the phases'" "$(jq -c '[.phases[].share * 100] | sort | [.[0] - 11.1, .[1] - 22.1, .[2] - 33.1, .[3] - 33.1] | map(fabs < 1.5) | all' all.json)" true
is "samples are of their own phases" "$(jq '. as $r | [.phases[] | .sample as $s | ($r.ends | map(select(. <= $s)) | length) as $i | $r.phase_of[$i] == .phase] | all' all.json)" true
is "samples stand for the whole run" "$(jq '([.phases[].weight] | add) * .sample_size / .instructions | . * 1000 | round' all.json)" 1000
is "they have the same code as nearly all of it" "$(jq '.same_code > 0.98' all.json)" true
is "targeted sampling suits uniform phases" "$(jq -r .suits all.json)" targeted
is "... since its errors are smaller" "$(jq '.targeted < .systematic / 5 and ([.errors[] | .targeted_error < .systematic_error] | all)' all.json)" true
# what is printed is what --schedule takes
targets --settings >settings
spec=$(awk '$1 == "ss_target_spec" {print $2}' settings)
for from in @settings "$spec"; do
	run timeout -k 5 120 "$ASSAY" record --exact -q --schedule "$from" --sample-size "$(jq .sample_size all.json)" -o run.db -- "$PHASES"
	is "the run is observed as ${from%%:*} says" "$status:$err" 0:
	is "... with the samples that were chosen" "$("$ASSAY" info -i run.db --json | jq -c '[.schedules[0].samples[].begin]')" \
		"$(tr : '\n' <<<"$spec" | sed -n 's/^s//p' | jq -sc sort)"
	is "... which stand for the whole run" "$("$ASSAY" info -i run.db --json | jq --argjson n "$instructions" '.schedules[0].totals.instructions.total / $n * 1000 | round')" 1000
done
is "the same again" "$(targets --json | cksum)" "$(cksum <all.json)"

# The settings.
targets --settings >settings
is "settings are three lines" "$(cut -d' ' -f1 settings | tr '\n' ' ')" "ss_target_spec ss_sample_size ss_warmup_size "
like "the specification is one" "$(<settings)" '^ss_target_spec m1(:w[0-9.]+)?(:[ws][0-9.e+]+)+:e[0-9]+$'
is "... with a start for each phase" "$(grep -o ':s' settings | wc -l)" 4
is "... in order" "$(grep -o ':s[0-9]*' settings | tr -d :s | sort -nc && echo yes)" yes
is "... and the run's size" "$(sed -n 's/^ss_target_spec.*:e//p' settings)" "$instructions"
# Several samples of a phase, within their own phase, and they stand for the whole run: half of them by its share, and half
# by how unlike its intervals are, too.
targets --spread 20 --json >spread.json
part='def part($r): 20 * .share * (1 + .distance / $r.within) / 2;'
is "twenty samples are spread as phases have shares and differ within" \
	"$(jq "$part"' . as $r | [.specification | scan(":s([0-9]+)")[0] | tonumber as $s | $r.phase_of[[$r.ends[] | select(. <= $s)] | length]] |
		[group_by(.)[] | length] as $n | [range(4) | . as $k | ($r.phases[$k] | part($r)) - $n[$k] | fabs < 1] | all' spread.json)" true
is "... no phase has less than half of what its share is" \
	"$(jq '. as $r | [.specification | scan(":s([0-9]+)")[0] | tonumber as $s | $r.phase_of[[$r.ends[] | select(. <= $s)] | length]] |
		[group_by(.)[] | length] as $n | [range(4) | $n[.] + 1 > 10 * $r.phases[.].share] | all' spread.json)" true
is "... and stand for the whole run" "$(jq "$part"' . as $r | ([.phases[] | .weight * ([part($r) + 0.5 | floor, 1] | max)] | add) *
	.sample_size / .instructions * 1000 | round' spread.json)" 1000
is "... in 2 % of it" "$(jq '.starts * .sample_size <= 0.02 * .instructions' spread.json)" true
is "... in order" "$(jq '[.specification | scan(":s([0-9]+)")[0] | tonumber] as $s | $s == ($s | sort) and ($s | length) == .starts' spread.json)" true
run "$ASSAY" targets -i phases.db --spread 20 --early
is "samples that are spread are not early ones" "$status" 2
like "they end the reading, too" "$(targets | grep ^ss_ | tr '\n' ' ')" "$(sed -n 's/^/^/; 1p' settings | sed 's/[.+]/\\&/g')"
targets --sample-size 20000 --warmup-size 5000 --settings >sized
like "a sample's size is the user's" "$(<sized)" '^ss_sample_size 20000$'
like "and the warm-up's" "$(<sized)" '^ss_warmup_size 5000$'
is "early samples are no later" "$(jq -n --argjson a "$(targets --early --json)" --argjson b "$(<all.json)" \
	'[range(4) as $k | $a.phases[$k].sample <= $b.phases[$k].sample] | all')" true
is "... and the last one ends no later" "$(jq -n --argjson a "$(targets --early --json)" --argjson b "$(<all.json)" '$a.last_sample <= $b.last_sample')" true
is "as many samples as asked for" "$(targets --samples 2 --json | jq '.phases | length')" 2
is "no more than asked for" "$(targets --max 3 --json | jq '.phases | length <= 3')" true
is "evenly spaced samples have one weight" "$(targets --systematic --samples 50 --settings | grep -o ':w' | wc -l)" 1
is "... and as many starts as asked for" "$(targets --systematic --samples 50 --settings | grep -o ':s' | wc -l)" 50

# Pictures.
is "a row for each phase" "$(targets | grep -c '^phase .*|.*█')" 4
is "in a locale of ASCII it is ASCII" "$(LC_ALL=C targets | LC_ALL=C grep -c '[^ -~]')" 0
is "... with its picture" "$(LC_ALL=C targets | grep -c '^phase .*|.*#')" 4
is "no line but the settings is longer than 79 columns" "$(targets | grep -v ^ss_ | awk 'length > 79' | wc -l)" 0
targets --svg phases.svg >/dev/null
is "the picture as SVG is well formed" "$(grep -c '<rect' phases.svg):$(tail -1 phases.svg)" "$(grep -c '<rect' phases.svg):</svg>"
ok "... with bars and samples" [ "$(grep -c '<rect' phases.svg)" -ge 5 -a "$(grep -c 'sample of phase' phases.svg)" = 4 ]

# What runs in them.
"$ASSAY" report -i phases.db --phases --json >report.json
is "report --phases: of each the procedure that is all of it" \
	"$(jq -r '[.procedures[] | select(.share > 0.9) | .procedure | sub("[.].*"; "")] | sort | join(" ")' report.json)" "four one three two"
is "... none has more procedures than asked for" \
	"$("$ASSAY" report -i phases.db --phases -n 1 --json | jq '.procedures | length')" 4
run "$ASSAY" report -i phases.db --phases --why
is "--phases and --why exclude each other" "$status" 2

# Threads, children, merging.
"$ASSAY" record --exact -q --observe phases -o shell.db -- bash -c 'gzip -9 </bin/bash >/dev/null; exit 0'
ok "a child is a process of its own" \
	[ "$("$ASSAY" targets -i shell.db --json | jq '.processes | length')" -ge 2 ]
is "... the largest is shown" "$("$ASSAY" targets -i shell.db --json | jq '.instructions == ([.processes[].instructions] | max)')" true
"$ASSAY" record --exact -q --observe phases -o exec.db -- bash -c 'exec gzip -1 </bin/bash >/dev/null'
is "a process that executes another image goes on" "$("$ASSAY" targets -i exec.db --json | jq -c '[(.processes | length), .instructions == .recording.executions]')" "[1,true]"
ok "recordings merge" "$ASSAY" merge -o two.db phases.db phases.db
is "... their processes stay apart" "$("$ASSAY" targets -i two.db --json | jq -c '[.processes[] | .run]')" "[0,1]"

# What is refused.
run "$ASSAY" targets -i phases.db --process 1
is "no such process" "$status" 3
like "... said" "$err" 'no phases of a process 1'
"$ASSAY" record --exact -q -o counts.db -- true
run "$ASSAY" targets -i counts.db
is "no phases" "$status" 3
like "... and what records them" "$err" 'observe phases'
run "$ASSAY" targets -i phases.db --samples 2 --max 3
is "--samples and --max exclude each other" "$status" 2
run "$ASSAY" targets -i phases.db --sample-size 1e9
is "a sample that is longer than an interval" "$status" 1
like "... with what fits" "$err" '--sample-size [0-9]+'
run "$ASSAY" targets -i phases.db --systematic --samples 1000 --sample-size 40000
is "samples that do not fit" "$status" 2
run "$ASSAY" record --exact --observe counts --interval 5000 -- true
is "--interval without intervals" "$status" 2
run "$ASSAY" targets -i phases.db extra
is "operands" "$status" 2
done_testing
