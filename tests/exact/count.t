#!/bin/bash
# SPDX-License-Identifier: MIT
# Instruction counts: the single-stepping counter against loops whose counts are known, and what is
# recorded against it, instruction for instruction.
set -u
. "$(dirname "$0")/lib.sh"
COUNT=$BUILD/tests/exact/count
PROGS=$BUILD/tests/progs/exact

at() { # FILE SYMBOL [MORE]: count of the instruction at a symbol of static/control
	local address
	address=$(nm "$PROGS/no-pie/$program" | awk -v s="$2" '$3 == s { print $1; exit }')
	awk -v a="$(printf '%#x' $((0x$address + ${3:-0})))" '$3 == a && $2 ~ /no-pie/ { print $1 }' "$1"
}

# What a tracer sees: a process that is attached to while it is recorded shows the engine, and that is said once.
run "$ASSAY" record --exact -q -o traced.db -- "$PROGS/process" may_ptrace_look
like "attached to while it is recorded: said" "$err" '^assay: process [0-9]+ is recorded, and traced: .* without --exact$'
run "$ASSAY" record --exact -q -o traced.db -- "$PROGS/process" ptrace_breakpoint
is "a child that asks to be traced runs without the engine: nothing to say" "$status:$err" 0:
like "... and is not in the recording" "$("$ASSAY" info -i traced.db)" 'not in it +1 '

# Each function is called once and then 60 times.
program=control
run "$COUNT" -s main -o loop "$PROGS/no-pie/control" flags_loop
is "counting leaves status and output" "$status:$out" "0:$("$PROGS/no-pie/control" flags_loop)"
like "… and says the total" "$err" '^instructions [0-9]+, addresses [0-9]+$'
is "the total is the sum" "$(awk '{ s += $1 } END { print s }' loop)" "$(sed 's/instructions \([0-9]*\),.*/\1/' <<<"$err")"
is "a function's first instruction: 61" "$(at loop ctl_flags_loop)" 61
is "its loop of 1000: 61000" "$(awk '$1 == 61000' loop | wc -l)" 1
program=operands
run "$COUNT" -s main -o strings "$PROGS/no-pie/operands" strings_rep
n_once=$(sed 's/instructions \([0-9]*\),.*/\1/' <<<"$err")
is "a repeated instruction counts once: 61" "$(at strings ctl_strings_rep 23)" 61
run "$COUNT" -r -s main -o rounds "$PROGS/no-pie/operands" strings_rep
is "or once a round: 61 * 77" "$(at rounds ctl_strings_rep 23)" 4697
run "$COUNT" -s main "$PROGS/no-pie/operands" strings_rep
is "the same count again" "$(sed 's/instructions \([0-9]*\),.*/\1/' <<<"$err")" "$n_once"
run "$COUNT" -o bare "$PROGS/bare" all
is "from the entry: each line of the program, 1 each but for the loops" "$(grep /bare bare | head -1 | cut -d' ' -f1,3)" "1 0x401000"
run "$COUNT" -s main "$PROGS/no-pie/faults" int3
is "a program's own trap is its own" "$status" 0
run "$COUNT" -s main -o fault "$PROGS/no-pie/faults" load
program=faults
is "a fault is not an execution" "$status:$(at fault fault_load_at)" "0:"
run "$COUNT" "$PROGS/no-pie/faults" die_segv
is "a death is passed on" "$status" 139
run "$COUNT" -s no_such_symbol "$PROGS/bare" all
is "an unknown symbol is refused" "$status" 125

# What is recorded: the same counts, of instructions and of branches taken, from the first instruction of the
# process on. Both see the same addresses: the program's path is padded to the length of the engine's, so that
# strings on the stack lie alike; where the stack's arrays lie differs, and with it what the loader's string
# functions do with buffers there: ld.so is left out of dynamic programs. rseq is off on both sides: how
# often a restartable sequence is aborted is chance.
place=$(mktemp -d /tmp/XXXX) || exit 1 # no longer than the engine's folder can be
trap 'cd /; rm -rf "$TMP" "$place"' EXIT
alike=(env -i GLIBC_TUNABLES=glibc.pthread.rseq=0 setarch -R)
same_as_stepping() { # FORM PROGRAM CASE [PATTERN]: what lines of counts have to match
	local path=$PROGS/$1/$2 only=${4:-.} n difference
	[ -x "$path" ] || path=$PROGS/$2
	cp "$path" "$place/program"
	n=$((${#BUILD} + 12 - ${#place} - 8))
	path=$(printf '%*s' "$n" '' | tr ' ' /)$place/program
	rm -f exact.db
	timeout -s KILL 600 "${alike[@]}" "$COUNT" -s _ -o stepped "$path" "$3" >out.1 2>/dev/null
	timeout -s KILL 600 "${alike[@]}" "$ASSAY" record --exact -q -o exact.db -- "$path" "$3" >out.2 2>err
	"$BUILD/tests/exact/recorded" exact.db >recorded
	difference=$(diff <(counts stepped "$only") <(counts recorded "$only"))
	if [ -s stepped ] && [ -z "$difference" ] && cmp -s out.1 out.2; then
		pass "$1 $2 $3: $(counts stepped "$only" | awk '{ n += $1 } END { print NR " instructions, " n }') executions"
	else
		fail "$1 $2 $3" "$(wc -l <<<"$difference") lines (< single steps, > recorded)"$'\n'"$(head -12 <<<"$difference")$(<err)"
	fi
}

# Code of no file is known by the end of its address: where its pages lie differs.
counts() { # FILE PATTERN
	awk -v only="$2" '
		$2 == "-" { $3 = "…" substr($3, length($3) - 2) }
		$2 " " $3 ~ only { k = $2 " " $3; n[k] += $1; if ($4 != "-") t[k] += $4 }
		END { for (k in n) print n[k], k, t[k] }' "$1" | sort
}

for what in "- bare all" "static faults load"; do
	# shellcheck disable=SC2086 # words
	same_as_stepping $what "$([[ $what != no-pie* ]] || echo /program)"
done
for c in recursion jumps loops pointers operands signals retried children executes; do
	same_as_stepping static truth $c
	same_as_stepping . truth $c '/(program|libc.so.6) '
done
# Code that keeps changing.
same_as_stepping static truth rewritten
same_as_stepping static truth shared_page
is "… none of it is left out" "$(sqlite3 exact.db "SELECT value FROM counter WHERE name = 'uncounted'")" 0
# What a thread meets in the library depends on when: the program's own code does not.
section=$(objdump -h "$PROGS/no-pie/truth" | awk '$2 == "truth_code" { print $4, $3 }')
own=$(awk -v s="$section" 'BEGIN { split(s, p, " "); print "/program 0x" substr(p[1], length(p[1]) - 5, 3) }')
same_as_stepping no-pie truth threads "$own"

# In storms of signals: each instruction of the loop once a round, the handler once a signal.
symbol() { nm "$PROGS/no-pie/truth" | awk -v s="$1" '$3 == s { sub(/^0*/, "", $1); print "a0x" $1 }'; }
storm() { # CASE OPTIONS…
	local c=$1
	shift
	rm -f storms
	run timeout -k 5 600 "$ASSAY" record --exact -q "$@" -o storm.db -- "$PROGS/no-pie/truth" "$c" storms
	is "$c $*: runs to its end" "$status:$err" 0:
	"$BUILD/tests/exact/recorded" storm.db | awk -v b="$(symbol storm_begin)" -v e="$(symbol storm_end)" \
		-v c="$(symbol storm_callee)" -v d="$(symbol storm_callee_end)" -v h="$(symbol storm_handler)" -v file=storms '
		BEGIN { getline < file; n = $1; storms = $2 }
		$2 ~ /truth$/ {
			a = "a" $3
			if ((a >= b && a < e) || (a >= c && a < d)) {
				seen++
				if ($1 != n || ($4 != "-" && $4 != n - 1)) print
			}
			if (a == h && $1 != storms) print $0 ": the handler, signals: " storms
		}
		END { print seen " instructions" }' >odd
	is "$c $*: each of its instructions was executed $(cut -d' ' -f1 storms) times" "$(<odd)" "26 instructions"
}
for c in storm storm_restarting; do
	storm $c
	storm $c --observe values
done
done_testing
