#!/bin/bash
# SPDX-License-Identifier: MIT
# report, annotate, values, info, merge over recordings that are always the same, against golden text
# (tests/golden/readings; `make rebase` accepts what is printed now), and what they say of bad input.
. "$(dirname "$0")/lib.sh"
golden=$ROOT/tests/golden/readings

cat > tiny.s <<'ASM'
	.intel_syntax noprefix
	.text
	.globl match
	.type match, @function
match:
	mov rax, [rdi]
	mov ecx, 3
	add rax, rcx
	cmp rax, rsi
	jne 1f
	xor eax, eax
1:	call other
	ret
	.size match, . - match
	.globl other
	.type other, @function
other:
	ret
	.size other, . - other
	.globl _start
	.type _start, @function
_start:
	call match
	ud2
	.size _start, . - _start
ASM
assemble() { gcc -g -nostdlib -static -Wl,--build-id="0x$2$2$2$2" -Wl,-Ttext=0x401000 -o tiny "$1"; }
ok "a program is assembled" assemble tiny.s 01234567
ok "recordings are made up" "$BUILD/tests/unit/report_recordings" . "$TMP/tiny"

same() { # NAME COMMAND…: prints what tests/golden/readings/NAME holds, stderr behind stdout
	local name=$1 got
	shift
	got=$("$@" 2>"$TMP/.stderr" </dev/null; echo "exit $?"; cat "$TMP/.stderr")
	got=${got//$TMP/TMP}
	if [ -n "${REBASE:-}" ]; then
		printf '%s\n' "$got" >"$golden/$name"
		pass "$name (rebased)"
	elif diff -u "$golden/$name" <(printf '%s\n' "$got") >"$TMP/.diff"; then
		pass "$name"
	else
		fail "$name" "$(<"$TMP/.diff")"
	fi
}

same report "$ASSAY" report -i squeeze.db
narrow=$(script -qec "stty cols 60; '$ASSAY' report -i squeeze.db" /dev/null < /dev/null | tr -d '\r')
like "in 60 columns the heading tells of losses" "$narrow" '2 lost'
like "... and of what was recorded for how long" "$narrow" '1.01 s,'
is "... within the columns" "$(awk 'length($0) > 60' <<< "$narrow")" ""
same report-rows "$ASSAY" report -i squeeze.db -n 2
same report-image "$ASSAY" report -i squeeze.db --by procedure --image 'libz*'
same report-line "$ASSAY" report -i elf.db --by line
same report-kernel "$ASSAY" report -i kernel.db
same report-killed "$ASSAY" report -w -i killed.db
same report.json "$ASSAY" report -i squeeze.db --json
same annotate "$ASSAY" annotate -i squeeze.db
same annotate-elf "$ASSAY" annotate -i elf.db match
same annotate-all "$ASSAY" annotate -i elf.db --all 0x401003
same annotate-kernel "$ASSAY" annotate -i kernel.db
same annotate.json "$ASSAY" annotate -i elf.db --json
same values "$ASSAY" values -i squeeze.db
same values-elf "$ASSAY" values -i elf.db
same values-all "$ASSAY" values -i elf.db --all --min-share 0.1
same values-argument "$ASSAY" values -i squeeze.db --operand argument --procedure deflate
same values.json "$ASSAY" values -i elf.db --json
same info "$ASSAY" info -i squeeze.db
same info-empty "$ASSAY" info -i empty.db
same info-killed "$ASSAY" info -w -i killed.db
same info.json "$ASSAY" info -i squeeze.db --json

same report-explain "$ASSAY" report -i squeeze.db --explain
same annotate-explain "$ASSAY" annotate -i squeeze.db --explain
same values-explain "$ASSAY" values -i squeeze.db --explain
# What is explained on request is told of in one line otherwise, the last one; JSON has neither.
for verb in report annotate values; do
	is "$verb tells of --explain" "$("$ASSAY" "$verb" -i squeeze.db 2>/dev/null | tail -1)" \
		"--explain says what columns and marks mean."
	is "$verb --explain explains itself once" \
		"$("$ASSAY" "$verb" -i squeeze.db --explain 2>/dev/null | grep -c -e '--explain' -e '^share  ')" 1
	is "$verb --explain --json is as without" \
		"$("$ASSAY" "$verb" -i squeeze.db --explain --json 2>/dev/null | md5sum)" \
		"$("$ASSAY" "$verb" -i squeeze.db --json 2>/dev/null | md5sum)"
done

for f in "$golden"/*; do
	case $f in
	*.json | *-wide) ;;
	*) is "${f##*/}: under 80 columns" \
		"$(sed '/^exit [0-9]/,$d' "$f" | awk 'length > 79')" "" ;;
	esac
done

# Whatever is asked for, JSON is one object with the schema and the verb.
for verb in report annotate values info; do
	for db in squeeze elf; do
		is "$verb --json of $db" "$("$ASSAY" "$verb" -i $db.db --json 2>/dev/null | jq -r '"\(.schema) \(.verb)"')" "1 $verb"
	done
	is "$verb: nothing but data on stdout" "$("$ASSAY" "$verb" -i squeeze.db 2>/dev/null | grep -c warning)" 0
	run "$ASSAY" "$verb" -i no-such.db
	is "$verb of a missing file: status" "$status" 1
	like "$verb of a missing file: said" "$err" 'no-such.db'
	run "$ASSAY" "$verb" -i tiny
	is "$verb of what is no recording: status" "$status" 1
	is "$verb of what is no recording: stdout" "$out" ""
done
is "values in JSON are whole" \
	"$("$ASSAY" annotate -i squeeze.db --json 2>/dev/null | jq -r '[.instructions[].operands[].values[].value | select(. == "0xffffffffffffffff")] | length')" 1

# Nothing to show is exit 3.
for verb in report annotate values; do
	run "$ASSAY" "$verb" -i empty.db
	is "$verb of nothing: status" "$status" 3
	like "$verb of nothing: said" "$err" 'empty.db holds no samples'
done
run "$ASSAY" values -i kernel.db
is "values of the kernel alone: status" "$status" 3
like "… said" "$err" 'kernel.db has no windows'
run "$ASSAY" report -i squeeze.db --image 'nope*'
is "no such image: status" "$status" 3
run "$ASSAY" annotate -i squeeze.db longest_mach
is "unknown procedure: status" "$status" 3
like "… the nearest" "$err" "did you mean 'longest_match'\?"
run "$ASSAY" annotate -i squeeze.db '*e*'
is "ambiguous procedure: status" "$status" 2
like "… candidates" "$err" '0x3a10 in squeeze \(80.0 %\)'
run "$ASSAY" annotate -i squeeze.db a b
is "two procedures: status" "$status" 2
run "$ASSAY" report -i squeeze.db squeeze.db
is "an operand too many: status" "$status" 2

# A file that was replaced.
cp tiny tiny.keep
sed 's/ecx, 3/ecx, 4/' tiny.s >other.s
assemble other.s 89abcdef
run "$ASSAY" annotate -i elf.db match
is "a replaced file: status" "$status" 0
like "… said, with both build-ids" "$err" 'tiny is not the file that was recorded \(build-id 89abcdef89abcdef, recorded 0123456701234567\)'
like "… values by address" "$out" ' 401000  \(load\) .*rsi:\(100.0'
unlike "… no code" "$out" 'mov rax'
rm tiny
run "$ASSAY" report -i elf.db --by line
is "a file that is gone: status" "$status" 0
like "… said once" "$(grep -c 'cannot open' <<<"$err")" '^1$'
like "… by procedure" "$out" ' 200  - +match$'
mv tiny.keep tiny

# Merging.
run "$ASSAY" merge -o sum.db squeeze.db elf.db squeeze.db
is "merge: status" "$status" 0
is "merge: nothing on stdout" "$out" ""
is "merge: closing line" "$err" "[ merge: 3 recordings, 2,200 samples -> sum.db ]"
like "report says of how many runs it is" "$("$ASSAY" report -i sum.db | head -1)" '^3 runs, the first: '
is "merge adds up" "$("$ASSAY" report -i sum.db --json | jq -c '[.recording.samples, .recording.runs, (.procedures[] | select(.procedure == "longest_match" or .procedure == "match") | .samples)]')" "[2200,3,1600,200]"
is "shares stay in merges of one thing" \
	"$("$ASSAY" merge -o twice.db squeeze.db squeeze.db 2>/dev/null; "$ASSAY" report -i twice.db --json | jq -c '[.procedures[] | [.procedure, .share]]')" \
	"$("$ASSAY" report -i squeeze.db --json | jq -c '[.procedures[] | [.procedure, .share]]')"
run "$ASSAY" merge squeeze.db
is "merge without -o: status" "$status" 2
run "$ASSAY" merge -o sum.db
is "merge of nothing: status" "$status" 2
run "$ASSAY" merge -o sum.db squeeze.db no-such.db
is "merge of a missing file: status" "$status" 1
is "… the sum is as it was" "$("$ASSAY" report -i sum.db --json | jq .recording.samples)" 2200

# Over 200,000 sites (bench/reading has how long they take).
for verb in report annotate values info; do
	all=()
	[ $verb != values ] || all=(--all) # each is worth less than what is shown otherwise
	run "$ASSAY" "$verb" "${all[@]}" -i big.db
	is "$verb of 200,000 sites: status" "$status" 0
	ok "$verb of 200,000 sites: prints something" [ -n "$out$err" ]
done

done_testing
