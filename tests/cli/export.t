#!/bin/bash
# SPDX-License-Identifier: MIT
# export: branches of a program whose transfers of control are known, in BOLT's and AutoFDO's formats; what is refused.
set -u
. "$(dirname "$0")/lib.sh"

build() { # FILE FLAGS…
	gcc -O2 -g1 -fno-reorder-blocks-and-partition -Wl,--build-id -Wl,--emit-relocs -o "$@" "$ROOT/tests/progs/branching.c"
}
record() { "$ASSAY" record --exact -q -o "$1" -- "./$2" >/dev/null; } # RECORDING PROGRAM
address() { nm "$1" | awk -v s="$2" '$3 == s { sub(/^0+/, "", $1); print $1 }'; } # FILE SYMBOL
insns() { # FILE PROCEDURE REGEX: addresses of its instructions that match
	objdump -d --no-show-raw-insn --disassemble="$2" "$1" | awk -v r="$3" -F'\t' '/^ +[0-9a-f]+:/ && $2 ~ r { gsub(/[ :]/, "", $1); print $1 }'
}
count_of() { awk -v a="$2" -v b="$3" -v c="$4" '$1 == a && (b == "*" || "x" $2 == "x" b) && (c == "*" || "x" $3 == "x" c) { n += $4 } END { print n + 0 }' "$1"; } # FILE KIND FROM TO

check_counts() { # NAME FILE EXPORT
	local tail
	is "$1: the loop's branch" "$(count_of "$3" B "$(insns "$2" spin '^j' | tail -1)" '*')" 999
	tail=$(insns "$2" goes_on '^jmp' | tail -1)
	is "$1: a tail call" "$(count_of "$3" B "$tail" "$(address "$2" ends_here)")" 7
	is "$1: an indirect call's first target" "$(count_of "$3" B "$(insns "$2" apply '^call')" "$(address "$2" first)")" 3
	is "$1: … and its second one" "$(count_of "$3" B "$(insns "$2" apply '^call')" "$(address "$2" second)")" 5
	is "$1: a switch" "$(count_of "$3" B "$(insns "$2" choose '^(notrack )?jmp +[*]' | head -1)" '*')" 10
	is "$1: entries from another image" "$(awk -v to="x$(address "$2" compare)" '$1 == "B" && $2 == "0" && "x" $3 == to { print ($4 >= 8) }' "$3")" 1
	is "$1: a call through the linkage table" "$(for p in $(insns "$2" choose 'puts@plt'); do count_of "$3" B "$p" '*'; done | head -1)" 2
	is "$1: no returns" "$(for p in $(insns "$2" spin '^ret'); do grep -c "^B $p " "$3"; done | sort -u)" 0
	is "$1: nothing but records" "$(grep -cvE '^(B [0-9a-f]+ [0-9a-f]+ [0-9]+ 0|F [0-9a-f]+ [0-9a-f]+ [0-9]+)$' "$3")" 0
}

build program && build fixed -no-pie -gdwarf-4
record r.db program && record f.db fixed
run "$ASSAY" export bolt -i r.db -o r.pa
is "exports" "$status" 0
is "… and says nothing on the standard output" "$out" ""
like "tells which file" "$err" '/program, build-id [0-9a-f]{16}: [0-9.]+ % of what was executed'
like "… and what to do next" "$err" '^next: .*perf2bolt --pa -p r[.]pa -o r[.]pa[.]fdata .*/program$'
like "… and then" "$err" '^then: llvm-bolt-19 .*/program -o .*program[.]bolt -data r[.]pa[.]fdata .*--reorder-functions=cdsort'
check_counts "PIE" program r.pa
run "$ASSAY" export bolt -i f.db -o f.pa --image fixed
check_counts "fixed addresses" fixed f.pa
run "$ASSAY" export bolt -i r.db r.db -o two.pa
is "two recordings add up" "$(count_of two.pa B "$(insns program spin '^j' | tail -1)" '*')" 1998
run "$ASSAY" export bolt -i r.db
is "the standard output has the same" "$out" "$(cat r.pa)"
run "$ASSAY" export bolt -i r.db -o /dev/stdout
is "so has a device" "$out" "$(cat r.pa)"
mkdir elsewhere && cp program elsewhere/renamed
run "$ASSAY" export bolt -i r.db --image elsewhere/renamed -o e.pa
is "a copy elsewhere is known by its build-id" "$status:$(cmp r.pa e.pa 2>&1)" "0:"
run "$ASSAY" export bolt -i r.db --image program --binary elsewhere/renamed -o e.pa
is "… or named by --binary" "$status:$(cmp r.pa e.pa 2>&1)" "0:"
run "$ASSAY" export bolt -i r.db --image libc.so.6 -o c.pa
is "an image other than the program" "$status" 0
like "… without relocations, which is said" "$err" 'has no relocations of its code: .*link with -Wl,--emit-relocs'

perf2bolt=/usr/lib/llvm-19/bin/perf2bolt
if [ -x $perf2bolt ]; then
	run $perf2bolt --pa -p r.pa -o r.fdata program
	is "perf2bolt takes it" "$status:$(awk '/spin/ { n++ } END { print (n > 0) }' r.fdata)" 0:1
	is "… and mismatches at most 0.5 % of it" "$(sed -n 's/.*mismatching.*(\(.*\)%).*/\1/p' <<<"$out$err" | awk '{ print ($1 <= 0.5) }')" 1
	run $perf2bolt --pa -p f.pa -o f.fdata fixed
	is "likewise with fixed addresses" "$status" 0
	run llvm-bolt-19 program -o program.bolt -data r.fdata --reorder-blocks=ext-tsp
	is "BOLT optimises by it" "$status:$(./program.bolt)" "0:$(./program)"
	cp program.bolt elsewhere/program
	run "$ASSAY" export bolt -i r.db --image program --binary elsewhere/program -o no.pa
	like "what BOLT wrote is refused" "$status:$err" '^1:.*elsewhere/program was written by BOLT'
	record b.db program.bolt
	run "$ASSAY" export bolt -i b.db -o no.pa
	like "… also where that was recorded" "$status:$err" '^1:.*program[.]bolt was written by BOLT'
else
	skip "perf2bolt takes it: no bolt-19 here"
fi

run "$ASSAY" export autofdo -i r.db -o r.afdo
is "AutoFDO" "$status" 0
like "… says what to do next" "$err" 'llvm-profgen-19 --binary=.*/program --unsymbolized-profile=r[.]afdo --use-offset=0'
sections() { awk 'left == 0 { left = $1 + 0; n = n " " (NF == 1 && $1 ~ /^[0-9]+$/ ? "s" : "?"); next } { left-- } END { print n, left }' "$1"; }
is "… has two sections of as many lines as they say" "$(sections r.afdo)" " s s 0"
like "… with the loop's branch" "$(cat r.afdo)" "^$(insns program spin '^j' | tail -1)->[0-9a-f]+:999$"
run "$ASSAY" export autofdo --form text -i r.db -o r.txt
like "… and the form text" "$err" 'create_gcov --binary=.*/program --profiler=text'
is "… has a section of addresses, empty" "$(grep -c '^0$' r.txt)" 1
run "$ASSAY" export autofdo --form text -i f.db --image fixed -o f.txt
at=$(printf %x $((0x$(insns fixed spin '^j' | tail -1) - 0x400000)))
like "... with offsets in the file, also where addresses are fixed" "$(<f.txt)" "$at->[0-9a-f]+:999"
if command -v create_gcov >/dev/null; then
	run create_gcov --binary=fixed --profiler=text --profile=f.txt --gcov_version=1 --gcov=f.gcov
	is "... by which create_gcov finds procedures" "$status:$(grep -c apply f.gcov)" 0:1
else
	skip "... by which create_gcov finds procedures: no autofdo here"
fi
if command -v llvm-profgen-19 >/dev/null; then
	run llvm-profgen-19 --binary=program --unsymbolized-profile=r.afdo --use-offset=0 --format=text --output=r.prof
	is "llvm-profgen takes it" "$status" 0
	like "… and where indirect calls went" "$(grep -A4 '^apply:' r.prof)" 'second:5.*first:3'
	like "… and finds the loop" "$(grep -A4 '^spin:' r.prof)" ' 9[0-9][0-9]|1000'
else
	skip "llvm-profgen takes it: no llvm-19 here"
fi

refused() { # NAME STATUS REGEX ARGS: nothing is written
	for format in bolt autofdo; do
		run "$ASSAY" export $format -o no.pa "${@:4}"
		like "$1: $format" "$status:$err" "^$2:.*$3"
		is "... and writes nothing" "$(ls no.pa* 2>/dev/null)" ""
	done
}
cp program kept
build program -DOTHER
refused "a program that was built again" 1 'program is not the file that was recorded: its build-id is' -i r.db
record o.db program
"$ASSAY" merge -o m.db r.db o.db 2>/dev/null
run "$ASSAY" export bolt -i m.db -o m.pa
like "of two builds, that of the file is exported" "$status:$err" '^0:.*other builds of .*/program: [0-9.]+ % of what'
is "… with its counts" "$(count_of m.pa B "$(insns program spin '^j' | tail -1)" '*')" $((999 + 9))
build program -DOTHER -Wl,-z,norelro
refused "two builds, of which the file is neither" 1 'program is not the file that was recorded' -i m.db
cp kept program
strip -o stripped kept
run "$ASSAY" export bolt -i r.db --image program --binary stripped -o s.pa
like "a stripped file is the same" "$status:$(cmp r.pa s.pa 2>&1):$err" '^0::'
like "… and BOLT is told" "$err" '--allow-stripped'
gcc -O2 -Wl,--build-id=none -o nameless "$ROOT/tests/progs/branching.c" && record n.db nameless
gcc -O1 -Wl,--build-id=none -o nameless "$ROOT/tests/progs/branching.c"
refused "another program without a build-id" 1 'the recorded file had no build-id, and other headers' -i n.db
cp kept arm && printf '\xb7' | dd of=arm bs=1 seek=18 conv=notrunc status=none
refused "another architecture" 1 'x86-64' -i r.db --binary arm
refused "a file that is gone" 1 'No such file' -i r.db --binary nowhere/program
refused "an image that was not recorded" 1 "no image 'nothing' in the recording" -i r.db --image nothing
"$ASSAY" record --exact --observe lines -q -o l.db -- ./program >/dev/null
refused "a recording without branches" 3 'holds no branches' -i l.db
refused "a file that is no recording" 1 'kept' -i kept
refused "a recording that is not there" 1 'No such file' -i nowhere.db
run "$ASSAY" export bolt -i r.db -o /nowhere/x
like "a place that cannot be written" "$status:$err" '^1:.*cannot write /nowhere/x'
run "$ASSAY" export gprof -i r.db
like "no such format" "$status:$err" "^2:.*no export format 'gprof'"
run "$ASSAY" export bolt -i r.db --form text
like "no such form" "$status:$err" "^2:.*bolt has no form 'text'"
run "$ASSAY" export
is "no format at all" "$status" 2

if can_record; then
	run "$ASSAY" record --pgo -F 4000 -q -o p.db -- sh -c 'gzip -9 -c "$0" >/dev/null' "$ASSAY"
	is "record --pgo" "$status" 0
	run "$ASSAY" export bolt -i p.db --image gzip -o p.pa
	like "its branches are exported" "$status:$(grep -c '^B ' p.pa)" '^0:[1-9]'
	like "… with what was not seen" "$err" 'windows; some [0-9.]+ % of what gzip executes was not seen'
	run "$ASSAY" values -i p.db --all
	is "it has no values" "$status" 3
	refused "sampled and exact ones do not add up" 1 'exact' -i p.db r.db
else
	skip "record --pgo: $why"
fi
run "$ASSAY" record --pgo --exact -- true
like "record --pgo --exact: refused" "$status:$err" "^2:.*--pgo is the sampler's"
run "$ASSAY" record --pgo --values 8 -- true
like "record --pgo --values: refused" "$status:$err" '^2:.*--values is of values'
done_testing
