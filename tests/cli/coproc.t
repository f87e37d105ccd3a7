#!/bin/bash
# SPDX-License-Identifier: MIT
# assay coproc: its readings, what it records, and what it refuses.
. "$(dirname "$0")/lib.sh"

cop() { run timeout 120 "$ASSAY" coproc "$@"; }

cop info
is "info succeeds" "$status" 0
like "info has the associative array" "$out" '^associative array +512 of 32 \+ 1 bits +1 +1 +16,896 +168,960$'
cop info --json
is "info --json is JSON" "$(jq -r '.structures | length' <<<"$out")" 14
cop info --description
printf '%s\n' "$out" > machine.txt
cop info -m machine.txt --description
is "a description describes itself" "$out" "$(<machine.txt)"
printf 'entries = 256\ndata = 512\n' > half.txt
cop info -m half.txt
like "a description from a file" "$out" '^associative array +256 of'
printf 'entries = 256\n\nentries = 7\n' > bad.txt
cop info -m bad.txt
is "a bad description is refused" "$status" 2
printf 'wheels = 3\n' > bad.txt
cop info -m bad.txt
like "an unknown parameter" "$err" 'bad.txt:1: the machine has no parameter "wheels"'
cop info -s entries=300
like "sizes that are no power of two" "$err" 'entries is 300, which is no power of two'

for p in values edges pairs contexts dependences sets; do
	cop dis $p
	printf '%s\n' "$out" > $p.uc
	cop dis ./$p.uc
	is "dis $p assembles to itself" "$out" "$(<$p.uc)"
	cop asm $p -o $p.words.uc
	cop dis ./$p.words.uc
	is "asm $p holds the same" "$out" "$(<$p.uc)"
done
cop asm nothing
like "a program that there is not" "$err" 'there is no microcode program "nothing"'
printf 'program x\nsample pc = pc\non load -> go\ngo: frob\n' > x.uc
cop asm x.uc
is "an error is the command line's" "$status" 2
like "an error has line and column" "$err" 'x.uc:4:5: there is no operation "frob"'
cop run -s buffer=8,bus=8 -D REPLACE=64 values -- true
like "contradictory parameters" "$err" 'REPLACE is no power of two less one'
cop run -D NOTHING=1 values -- true
like "a parameter that there is not" "$err" 'no parameter of that name'
cop run -s entries=256 values -- true
is "a smaller machine" "$status" 0
cop run -s words=16 values -- true
like "a program that does not fit" "$err" 'needs 22 microcode words, the machine has 16'
cop run values
like "no command" "$err" 'there is no command to run'
cop walk
like "no such reading" "$err" 'coproc has no reading "walk"'
cop run --help
like "help of a part" "$out" 'assay coproc run'

# Traps end the run, with the word and its line.
printf 'program x\nsample pc = pc[0:32]\non load -> go\nindex i : 9 = 9\narray first[8]\narray second[8]\narray count[8] : n:8\ngo: bump count[i].n\ndone\n' > over.uc
cop run -o over.db over.uc -- true
like "an index beyond its array" "$err" 'program x, word 0 \(source line 8\): index 9 is beyond array count of 8'
[ "$status" -ne 0 ]; is "it fails" $? 0
printf 'program x\nsample pc = pc[0:32]\non load -> go\narray first[8]\narray second[8]\narray count[8] : n:8\ngo: nop\nback: jump back\n' > endless.uc
cop run -o endless.db endless.uc -- true
like "a program without end" "$err" 'word 1 \(source line 8\): a sample took 4096 words'

# A program whose loads are known: a loop that loads the same value each time.
cat > loop.c <<'C'
volatile unsigned value = 0x1234567, sum;
int main(void)
{
	for (int i = 0; i < 300000; i++)
		sum += value;
	return 7;
}
C
if gcc -O1 -o loop loop.c; then
	cop run -q -o loop.db values -- ./loop
	is "run exits as the command does" "$status" 7
	like "run tells what it took" "$out" '^interrupts '
	run "$ASSAY" values -i loop.db --json --min-share 0.9
	is "values finds the constant" "$(jq -r '[.values[] | select(.value == "0x1234567") | .share][0] | . > 0.999' <<<"$out")" true
	ok "a recording of counts" "$ASSAY" record -q --exact -o counts.db -- true
	run "$ASSAY" merge -o merged.db loop.db counts.db
	is "it does not add up with others" "$status" 1
	run "$ASSAY" info -i loop.db
	like "info says what recorded it" "$out" 'coproc .*: what values saw on a simulated co-processor'
	run "$ASSAY" annotate -i loop.db main
	like "annotate says what its samples are" "$out" '^co-processor with the program values: .* samples'
	like "annotate shows it" "$out" 'load:.*0x1234567'
	cop run -q --no-timing -o edges.db -s buffer=1M edges -- ./loop
	run "$ASSAY" annotate -i edges.db main
	like "annotate shows branches" "$out" 'taken (9[0-9]|100)'
	cop run -q --json -o x.db values -- ./loop
	is "run --json" "$(jq -r '.program' <<<"$out")" values
	cop run -q -o deps.db dependences -- ./loop
	run "$ASSAY" conflicts -i deps.db
	like "conflicts reads dependences" "$out" 'main'
	cop study -q --json --svg . -- ./loop
	is "a study's error is small where all is constant" \
		"$(jq -r '.profilers[0].error < 0.2 and .profilers[0].loads > 100' <<<"$out")" true
	is "the curve ends with the study's error" \
		"$(jq -r '.curve[-1].error == .profilers[0].error' <<<"$out")" true
	for f in time overhead scatter; do
		like "a picture: $f" "$(<$f.svg)" '^</svg>$'
	done
	cop trace -q -n 100 --samples 2 values -- ./loop
	like "trace shows a sample" "$out" '^sample 101: pc=0x'
	like "trace shows words" "$out" '^ +1 +0  match pc -> slot'
else
	skip "no compiler"
fi
done_testing
