#!/bin/bash
# SPDX-License-Identifier: MIT
# record --pgo of running processes, of the machine, of a control group, of several machines; and what the export makes of
# binaries whose procedures are in parts, or that have no build-id.
set -u
. "$(dirname "$0")/lib.sh"

build() { # FILE FLAGS...
	gcc -O2 -g1 -Wl,--build-id -Wl,--emit-relocs -o "$@" "$ROOT/tests/progs/branching.c"
}
insns() { # FILE PROCEDURE REGEX: addresses of its instructions that match
	objdump -d --no-show-raw-insn --disassemble="$2" "$1" | awk -v r="$3" -F'\t' '/^ +[0-9a-f]+:/ && $2 ~ r { gsub(/[ :]/, "", $1); print $1 }'
}
branch_of() { insns "$1" "$2" '^j' | tail -1; } # FILE PROCEDURE: its loop's
taken() { awk -v a="$2" '$1 == "B" && "x" $2 == "x" a { n += $4 } END { print n + 0 }' "$1"; } # EXPORT ADDRESS
seen() { [ "$(taken "$1" "$(branch_of forever "$2")")" -gt 0 ]; } # EXPORT PROCEDURE
counter() { "$ASSAY" info -i "$1" --json | jq ".runs[0].counters | $2"; } # RECORDING EXPRESSION

# Sampled: of processes that run already, of those that come.
sampled() {
	build forever -DFOREVER -fno-reorder-blocks-and-partition
	./forever & pid=$!
	soon sh -c "pgrep -P $pid >/dev/null"
	run "$ASSAY" record --pgo -F 2000 -q -d 0.4 -o p.db -p $pid
	is "-p: recorded" "$status" 0
	run "$ASSAY" export bolt -i p.db -o p.pa
	is "... and exported" "$status" 0
	ok "... the process" seen p.pa spin
	ok "... and its child" seen p.pa child_spin
	run "$ASSAY" record --pgo -F 2000 -q -d 0.3 -o n.db -p $pid --no-children
	run "$ASSAY" export bolt -i n.db -o n.pa
	ok "--no-children: the process" seen n.pa spin
	is "... and not its child" "$(taken n.pa "$(branch_of forever child_spin)")" 0
	run "$ASSAY" record --pgo -F 2000 -q -a -d 0.4 -o a.db
	run "$ASSAY" export bolt -i a.db --image forever -o a.pa
	is "-a: exported" "$status" 0
	ok "... both processes" eval 'seen a.pa spin && seen a.pa child_spin'
	in_group
	elsewhere
	kill $pid; wait $pid 2>/dev/null
	begins
}
in_group() {
	local root group
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
	if [ -z "$root" ] || ! mkdir "$root/assay-pgo-$$" 2>/dev/null; then
		skip "control groups cannot be made here"
		return
	fi
	group=$root/assay-pgo-$$
	pgrep -P "$pid" >"$group/cgroup.procs"
	run "$ASSAY" record --pgo -F 2000 -q -d 0.4 -o g.db --cgroup "assay-pgo-$$"
	run "$ASSAY" export bolt -i g.db --image forever -o g.pa
	ok "--cgroup: what is in it" seen g.pa child_spin
	is "... and nothing else" "$(taken g.pa "$(branch_of forever spin)")" 0
	pgrep -P "$pid" >"$root/cgroup.procs"
	rmdir "$group"
}
# Another machine has the same build at another path.
elsewhere() {
	local at other one two
	mkdir -p machine && cp forever machine/server
	machine/server & other=$!
	"$ASSAY" record --pgo -F 2000 -q -d 0.3 -o e.db -p $other
	kill $other; wait $other 2>/dev/null
	at=$(branch_of forever spin)
	"$ASSAY" export bolt -i e.db --image forever -o e.pa 2>/dev/null
	one=$(taken p.pa "$at") two=$(taken e.pa "$at")
	run "$ASSAY" export bolt -i p.db e.db --image forever -o pe.pa
	is "recordings of one build at two paths: exported" "$status" 0
	is "... and added up" "$(($(taken pe.pa "$at") - one - two))" 0
	unlike "... of which nothing is left out" "$err" "left out"
	"$ASSAY" merge -o pe.db p.db e.db 2>/dev/null
	run "$ASSAY" export bolt -i pe.db --image forever -o merged.pa
	is "... likewise where assay merge added them up" "$(taken merged.pa "$at")" "$((one + two))"
}
# Windows beside the samples begin where a program begins.
begins() {
	run "$ASSAY" record --pgo -q -o b.db -- sh -c 'for i in 1 2 3 4 5; do gzip --version >/dev/null; done'
	ok "processes that begin: rare windows" [ "$(counter b.db .rare)" -gt 0 ]
	is "... which are no samples" "$(counter b.db '.samples - .user - .kernel - .idle')" 0
	run "$ASSAY" record -q -o v.db -- gzip --version
	is "... and which nothing else has" "$(counter v.db .rare)" 0
}
if can_record; then sampled; else skip "record --pgo: $why"; fi

# Procedures in parts.
build parts -freorder-blocks-and-partition
"$ASSAY" record --exact -q -o s.db -- ./parts >/dev/null
run "$ASSAY" export bolt -i s.db -o s.pa
is "procedures in parts: exported" "$status" 0
cold=$(nm parts | awk '$3 == "split.cold" { sub(/^0+/, "", $1); print $1 }')
[ -n "$cold" ] || diag "gcc made no split.cold"
is "... with the branch to the cold part" "$(awk -v to="$cold" '$1 == "B" && $3 == to { n += $4 } END { print n + 0 }' s.pa)" 10
perf2bolt=/usr/lib/llvm-19/bin/perf2bolt
if [ -x $perf2bolt ]; then
	run $perf2bolt --pa -p s.pa -o s.fdata parts
	is "... perf2bolt takes it" "$status" 0
	run llvm-bolt-19 parts -o parts.bolt -data s.fdata --reorder-blocks=ext-tsp
	is "... and so does BOLT" "$status:$(./parts.bolt)" "0:$(./parts)"
else
	skip "... perf2bolt takes it: no bolt-19 here"
fi

# What clang takes of values: where indirect calls went.
promoted() {
	local err_export clang=(clang-19 -O2 -g1 -fdebug-info-for-profiling "-Wl,--build-id" "$ROOT/tests/progs/promoted.c")
	"${clang[@]}" -o calls
	"$ASSAY" record --exact -q -o c.db -- ./calls
	run "$ASSAY" export autofdo -i c.db -o c.afdo
	is "indirect calls: exported" "$status" 0
	err_export=$err
	run llvm-profgen-19 --binary=calls --unsymbolized-profile=c.afdo --use-offset=0 --format=text --output=c.prof
	like "... their targets are in clang's profile" "$(<c.prof)" '[0-9.]+: 100000 often:99000 seldom:1000'
	is "... without it no call of that procedure" "$(insns calls apply 'call.*<often>' | wc -l)" 0
	run "${clang[@]}" -fprofile-sample-use=c.prof -o calls.better
	is "... with it there is one" "$status:$(insns calls.better apply 'call.*<often>' | wc -l)" 0:1
	like "... and blocks are advised to be marked" "$err_export" 'with -fpseudo-probe-for-profiling'
	marked
}
# The same where clang marked the blocks.
marked() {
	local clang=(clang-19 -O2 -g1 -fdebug-info-for-profiling -fpseudo-probe-for-profiling "-Wl,--build-id" "$ROOT/tests/progs/promoted.c")
	"${clang[@]}" -o marked
	"$ASSAY" record --exact -q -o k.db -- ./marked
	run "$ASSAY" export autofdo -i k.db -o k.afdo
	is "marked blocks: exported" "$status" 0
	like "... for the same flag" "$err" 'build again: .*-fpseudo-probe-for-profiling'
	run llvm-profgen-19 --binary=marked --unsymbolized-profile=k.afdo --use-offset=0 --format=text --output=k.prof
	like "... targets of calls are in clang's profile" "$(<k.prof)" '[0-9]+: 100000 often:99000 seldom:1000'
	run "${clang[@]}" -fprofile-sample-use=k.prof -o marked.better
	is "... which promotes the call" "$status:$(insns marked.better apply 'call.*<often>' | wc -l)" 0:1
	strip -o bare calls
	run "$ASSAY" export autofdo -i c.db --binary bare -o b.afdo
	is "a stripped program: exported" "$status" 0
	like "... for commands that need more" "$err" 'bare has no line numbers'
	is "... but the profile is the same" "$(cksum <b.afdo)" "$(cksum <c.afdo)"
}
if command -v clang-19 >/dev/null && command -v llvm-profgen-19 >/dev/null; then promoted; else skip "indirect calls: no clang-19 here"; fi

# What is refused, with nothing written.
refused() { # NAME REGEX ARGS...
	for format in bolt autofdo; do
		run "$ASSAY" export $format -o no.out "${@:3}"
		like "$1: $format" "$status:$err" "^1:.*$2"
		is "... writes nothing" "$(ls no.out* 2>/dev/null)" ""
	done
}
cp parts kept && build parts -freorder-blocks-and-partition -Wl,-z,norelro
refused "a program that was linked again" 'parts is not the file that was recorded' -i s.db
cp kept parts
gcc -O2 -Wl,--build-id=none -o nameless "$ROOT/tests/progs/branching.c"
"$ASSAY" record --exact -q -o i.db -- ./nameless >/dev/null
run "$ASSAY" export bolt -i i.db --image nameless -o i.pa
is "a program without a build-id: exported" "$status" 0
like "... which is said" "$err" 'nameless has no build-id'
gcc -O2 -DOTHER -Wl,--build-id=none -o nameless "$ROOT/tests/progs/branching.c"
refused "... another one is not" 'nameless is not the file that was recorded' -i i.db --image nameless
done_testing
