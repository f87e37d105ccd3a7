#!/bin/bash
# SPDX-License-Identifier: MIT
# Why instructions stall, as `annotate` and `report --why` show it, over recordings that are always the same of a
# program whose stalls are known by hand (tests/golden/culprits; `make rebase` accepts what is printed now).
. "$(dirname "$0")/lib.sh"

cat > stall.s <<'ASM'
	.intel_syntax noprefix
	.macro procedure name
	.globl \name
	.type \name, @function
	.balign 64
\name:
	.endm
	.text
	procedure chase			# a load from all over memory; the one behind it waits
	inc r8
	mov rax, [rdi+rcx*8]
	add rbx, rax
	dec rcx
	jnz chase
	ret
	.size chase, . - chase
	procedure divide
	mov eax, 1000
	div rcx
	add rbx, rax
	dec rsi
	jnz divide
	ret
	.size divide, . - divide
	procedure straight		# nothing that could stall: what time it has is unexplained
	inc r8
	inc r9
	inc r10
	dec rcx
	jnz straight
	ret
	.size straight, . - straight
	.globl _start
	.type _start, @function
_start:
	call chase
	call divide
	call straight
	ud2
	.size _start, . - _start
ASM
assemble() { gcc -g -nostdlib -static -Wl,--build-id="0x$1$1$1$1" -Wl,-Ttext=0x401000 -o stall stall.s; }
ok "a program is assembled" assemble 01234567
ok "recordings are made up" "$BUILD/tests/unit/report_recordings" . "$TMP/stall" stall
cp stall.db again.db

same() { # NAME COMMAND…
	local name=$1
	shift
	run "$@"
	golden "$name" "culprits/$name" "${out//$TMP/TMP}"$'\n'"exit $status${err:+$'\n'${err//$TMP/TMP}}"
	case $name in
	*.json) ;;
	*) is "$name: under 80 columns" "$(awk 'length > 79' <<< "$out")" "" ;;
	esac
}
same why "$ASSAY" report --why -i stall.db
same why.json "$ASSAY" report --why --json -i stall.db
same annotate "$ASSAY" annotate -i stall.db chase
same annotate-divide "$ASSAY" annotate -i stall.db divide
same annotate.json "$ASSAY" annotate --json -i stall.db chase
same cfg "$ASSAY" annotate --cfg -i stall.db divide
same cfg.json "$ASSAY" annotate --cfg --json -i stall.db divide
same why-dcpi "$ASSAY" report --why --method dcpi -i stall.db
same why-counts "$ASSAY" report --why --counts counts.db --repeat 3 -i stall.db
same annotate-counts "$ASSAY" annotate --counts counts.db -i stall.db divide
same cfg-counts "$ASSAY" annotate --cfg --counts counts.db -i stall.db divide

# Each key is documented.
for verb in "report --why" "annotate" "annotate --cfg" "annotate --counts counts.db" "annotate --cfg --counts missed.db"; do
	missing=
	# shellcheck disable=SC2086 # two words
	for key in $("$ASSAY" $verb --json -i stall.db | jq -r '.. | objects | keys[]' | sort -u); do
		grep -q "\`$key\`" "$ROOT/docs/json.md" || missing+=" $key"
	done
	is "$verb: each key is in docs/json.md" "$missing" ""
done

# What the golden text shows, in words.
insn() { "$ASSAY" annotate --json -i stall.db "$1" | jq -c "$2"; }
load=$(insn chase '.instructions[1].address')
div=$(insn divide '.instructions[1].address')
is "chase: the instruction behind the load stalls, the load is at fault" \
	"$(insn chase "[.instructions[2].dynamic.culprits[] | select(.culprit == \"dcache\") | .fault == $load, .max > 0]")" '[true,true]'
is "chase: nobody is said to divide, or to lock" \
	"$(insn chase '[.instructions[].dynamic?.culprits[]?.culprit | select(. == "divider" or . == "serialization" or . == "multiplier")]')" '[]'
is "chase: its branch goes one way, and is innocent" \
	"$(insn chase '[.instructions[2].dynamic.culprits[] | select(.culprit == "branch") | .max < 2] | all')" true
is "divide: its schedule says so" \
	"$(insn divide "[.instructions[1].static | .fault == $div, .cycles > 5, .why == \"dependence\"]")" '[true,true,true]'
is "divide: no D-cache miss where nothing is loaded" \
	"$(insn divide '[.instructions[].dynamic?.culprits[]?.culprit | select(. == "dcache" or . == "dtlb")]')" '[]'
is "straight: it ran more often than divide, as nothing can have held it up" "$("$ASSAY" report --why --json -i stall.db |
	jq '[.procedures[] | {(.procedure): .why.executed}] | add | .straight > 1.5 * .divide')" true
is "each estimate is in its interval" "$("$ASSAY" report --why --json -i stall.db |
	jq '.why, .procedures[].why | .cpi_min < .cpi and .cpi < .cpi_max and .executed_min < .executed and .executed < .executed_max' | sort -u)" true
is "the time adds up" "$("$ASSAY" report --why --json -i stall.db |
	jq '.why, .procedures[].why | .execution + .static + .dynamic + .not_estimated | . > 0.999 and . < 1.001' | sort -u)" true
is "a culprit's range is one, and no more than all of the time" "$("$ASSAY" report --why --json -i stall.db |
	jq '.why, .procedures[].why | .culprits[] | .min <= .max and .max <= 1.001' | sort -u)" true
is "what they have had for certain, and what is unexplained, is no more than there is" "$("$ASSAY" report --why --json -i stall.db |
	jq '.why, .procedures[].why | ([.culprits[].min] | add) + .unexplained <= .dynamic + 0.001' | sort -u)" true

# Executions of another method, and as an exact recording counted them.
executions() { "$ASSAY" annotate --json -i again.db "$@" | jq -c '[.instructions[].estimated_executions // 0 | round]'; }
is "counts: executions are those" "$(executions --counts counts.db divide)" "[250000,250000,250000,250000,250000]"
is "… as often as the work was done" "$(executions --counts counts.db --repeat 20 chase)" \
	"[20000000,20000000,20000000,20000000,20000000]"
is "… CPI by them" "$("$ASSAY" annotate --json --counts counts.db -i again.db divide |
	jq '.cycles_per_sample as $c | [.instructions[] | select(.samples > 0) | .cpi * .estimated_executions / (.samples * $c) | . > 0.999 and . < 1.001] | all')" true
is "… of edges" "$("$ASSAY" annotate --cfg --json --counts counts.db -i again.db divide |
	jq -c '[.blocks[] | select(.ends == "branch") | .edges[] | [.kind, .estimated_executions, .confidence]]')" \
	'[["fall",50,"high"],["taken",249950,"high"]]'
is "… what did not run there is estimated" "$("$ASSAY" annotate --cfg --json --counts counts.db -i again.db straight |
	jq -c '[.blocks[] | select(.ends == "branch") | .estimated_executions > 0, .confidence]')" '[true,"low"]'
is "… a third of the time is there" "$("$ASSAY" report --why --json --counts counts.db -i again.db | jq '.counts.unexecuted * 3 | round')" 1
# The work 40 times over: chase stalls for some ten cycles, of which two missing loads in a hundred can have caused one.
most() { "$ASSAY" annotate --json -i again.db --repeat 40 --counts "$@" | jq '[.instructions[].dynamic?.culprits[]? | select(.culprit == "dcache") | .max] | max'; }
is "misses: they bound what the D-cache can have caused" \
	"$(jq -n "$(most missed.db chase) < 1.6 and $(most counts.db chase) > 5")" true
is "… which is said" "$("$ASSAY" report --why -i again.db --counts missed.db | grep -c '^What caches, TLBs and predictors missed there')" 1
is "… in JSON, too" "$(for c in counts missed; do "$ASSAY" report --why --json -i again.db --counts $c.db | jq .counts.misses; done | xargs)" "false true"
is "methods differ" "$(for m in windows dcpi; do executions --method $m divide; done | sort -u | wc -l)" 2
is "the default is by windows" "$(executions --method windows divide)" "$(executions divide)"
for verb in "annotate" "annotate --cfg" "report --why"; do
	# shellcheck disable=SC2086 # two words
	is "$verb: the method is said" "$("$ASSAY" $verb --json --method flow -i again.db | jq -r .method)" flow
done

sqlite3 missed.db "UPDATE run SET finished = 0"
is "counts of a killed recorder: it is said" "$("$ASSAY" annotate -i again.db --counts missed.db | grep -c '^Its recorder was killed')" 1

# What is kept in the user's cache.
cache=$XDG_CACHE_HOME/assay
kept() { (cd "$cache" 2> /dev/null && ls) | sed -n "s/^$(b2sum -l 256 < "$1" | cut -d' ' -f1)\.//p" | tr '\n' ' '; }
without() { XDG_CACHE_HOME=/nowhere "$ASSAY" "$@"; }
is "the analysis is kept" "$(kept stall.db)" "culprits schedules "
is "… for the user alone" "$(stat -c %a "$cache" "$cache"/* | sort -u | tr '\n' ' ')" "600 700 "
is "… not in the recording" "$(sqlite3 stall.db "SELECT count(*) FROM sqlite_schema WHERE name = 'derived'")" 0
is "again: the same" "$("$ASSAY" report --why -i stall.db)" "$(without report --why -i stall.db)"
is "kept or not, it prints alike" "$("$ASSAY" annotate -i stall.db chase)" "$(without annotate -i stall.db chase)"
for f in "$cache"/*.culprits; do
	[ ! -e "$f" ] || truncate -s -9 "$f"
done
is "damaged: made anew" "$("$ASSAY" report --why -i stall.db)" "$(without report --why -i stall.db)"
for f in "$cache"/*.culprits; do
	[ ! -e "$f" ] || sed -i '1,2s/windows/dcpi   /' "$f"
done
is "of another kind: made anew" "$("$ASSAY" report --why -i stall.db)" "$(without report --why -i stall.db)"
chmod 777 "$cache"; rm "$cache"/*
is "a folder that others may write in: not used" "$("$ASSAY" report --why -i stall.db | wc -l) $(kept stall.db)" \
	"$(without report --why -i stall.db | wc -l) "
chmod 700 "$cache"
"$ASSAY" report --why -i stall.db > /dev/null
is "… again the user's: kept" "$(kept stall.db)" "culprits schedules "
# A table of earlier recordings, into which readings wrote.
cp stall.db earlier.db
sqlite3 earlier.db "CREATE TABLE derived(kind TEXT PRIMARY KEY, key TEXT, size INTEGER, data BLOB) WITHOUT ROWID;
	INSERT INTO derived VALUES('culprits', '', 1, x'00')"
is "what earlier readings wrote is not looked at" "$("$ASSAY" report --why -i earlier.db)" "$("$ASSAY" report --why -i stall.db | sed 's/stall\.db/earlier.db/')"
ok "a merge leaves it out" "$ASSAY" merge -o both.db earlier.db again.db
is "… and reads" "$(sqlite3 both.db "SELECT count(*) FROM sqlite_schema WHERE name = 'derived'")" 0
is "… as twice as much" "$("$ASSAY" report --why --json -i both.db | jq '.recording.samples')" 6000

# Readings write nothing where the recording lies, and need not be allowed to.
mkdir -m 700 shelf && "$ASSAY" merge -o shelf/it.db stall.db 2> /dev/null && chmod 400 shelf/it.db
was=$(stat -c '%Y %Z %s %i' shelf/it.db shelf; sha256sum shelf/*)
[ "$(id -u)" = 0 ] || chmod 500 shelf
for verb in info report "report --why" "report --by line" annotate "annotate --cfg" values calls conflicts reuse wset; do
	# shellcheck disable=SC2086 # two words
	run "$ASSAY" $verb -i shelf/it.db
	case $status in 0 | 3) pass "$verb: reads it, or has nothing to show" ;; *) fail "$verb: reads it" "$status $err" ;; esac
	is "… and changes nothing" "$(stat -c '%Y %Z %s %i' shelf/it.db shelf; sha256sum shelf/*)" "$was"
done
for verb in "merge -o sum.db" verify; do
	# shellcheck disable=SC2086 # two words
	run "$ASSAY" $verb shelf/it.db counts.db
	is "$verb: changes nothing" "$(stat -c '%Y %Z %s %i' shelf/it.db shelf; sha256sum shelf/*)" "$was"
done
chmod 700 shelf

# An unknown CPU: bounds are wide, and it is said.
run "$ASSAY" report --why -i strange.db
is "an unknown CPU: status" "$status" 0
like "… said" "$out" 'unknown CPU'

# Bad input.
run "$ASSAY" report --why -i empty.db
is "zero samples: status" "$status" 3
is "… nothing on stdout" "$out" ""
like "… said" "$err" 'holds no samples'
run "$ASSAY" report --why -i squeeze.db
is "no file is there: status" "$status" 3
like "… said" "$err" 'no samples in code whose file is there'
like "… what to do" "$err" 'put back the files that were recorded, or record again'
run "$ASSAY" report --why --by line -i stall.db
is "two ways at once: status" "$status" 2
run "$ASSAY" report --why --image 'libz*' -i stall.db
is "no such image: status" "$status" 3
like "… said" "$err" "matches 'libz\*'"
run "$ASSAY" report --why -i counts.db
is "of an exact recording: status" "$status" 1
like "… said" "$err" 'it counts executions and has no time'
like "… what to do" "$err" 'record without --exact'
refused() { # NAME STATUS MESSAGE HINT COMMAND…
	run "${@:5}"
	is "$1: status" "$status" "$2"
	is "… nothing on stdout" "$out" ""
	like "… said" "$err" "$3"
	like "… what to do" "$err" "$4"
}
refused "counts of a sampled recording" 1 'strange.db is not exact' 'assay record --exact' \
	"$ASSAY" annotate --counts strange.db -i again.db
refused "counts for an exact recording" 1 'counts.db is exact: it counts executions itself' 'is for sampled' \
	"$ASSAY" annotate --counts counts.db -i counts.db
refused "a method for an exact recording" 1 'counts.db is exact' '--method is for sampled' \
	"$ASSAY" annotate --method dcpi -i counts.db
refused "counts of another program" 3 'again.db saw no instruction that ran in exact.db' 'squeeze' \
	"$ASSAY" annotate --counts exact.db -i again.db
refused "counts that are not there" 1 'nowhere.db' 'No such file|record' \
	"$ASSAY" report --why --counts nowhere.db -i again.db
refused "counts of hardly anything" 1 '100.0 % of the time of again.db is at instructions that hardly.db never executed' 'same work' \
	"$ASSAY" annotate --counts hardly.db -i again.db
for option in "--counts counts.db" "--method dcpi" "--repeat 2"; do
	# shellcheck disable=SC2086 # two words
	run "$ASSAY" report $option -i again.db
	is "report $option: status" "$status" 2
	like "… said" "$err" "^assay: ${option% *} goes with --why"
done
run "$ASSAY" annotate --repeat 2 -i again.db
is "--repeat of nothing: status" "$status" 2
run "$ASSAY" annotate --method dcpi --counts counts.db -i again.db
is "two sources of executions: status" "$status" 2
run "$ASSAY" annotate --method guess -i again.db
is "no such method: status" "$status" 2
assemble 89abcdef
cp again.db changed.db
run "$ASSAY" report --why -i changed.db
is "another file, but kept: it is shown" "$status" 0
rm "$cache"/*
run "$ASSAY" report --why -i changed.db
is "another file: status" "$status" 3
like "… said" "$err" 'not the file that was recorded'
run "$ASSAY" annotate -i changed.db chase
is "another file: annotate shows what was recorded" "$status" 0
unlike "… without estimates" "$out" ' runs '
done_testing
