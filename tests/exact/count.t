#!/bin/bash
# SPDX-License-Identifier: MIT
# Instruction counts: the single-stepping counter against loops whose counts are known, callgrind against it,
# and, where ASSAY_COUNTS is set, a counting engine against it.
#   ASSAY_COUNTS   the engine's words up to the command, with FILE for where it is to write "COUNT OBJECT
#                  OFFSET" lines of the instructions executed from the entry on, OBJECT and OFFSET as
#                  tests/exact/count has them (for instance: build/assay-exact --counts FILE --)
set -u
. "$(dirname "$0")/lib.sh"
COUNT=$BUILD/tests/exact/count
PROGS=$BUILD/tests/progs/exact

at() { # FILE SYMBOL [MORE]: count of the instruction at a symbol of static/control
	local address
	address=$(nm "$PROGS/no-pie/$program" | awk -v s="$2" '$3 == s { print $1; exit }')
	printf '%#x' $((0x$address - 0x400000 + ${3:-0})) >offset
	awk -v o="$(<offset)" '$3 == o && $2 ~ /no-pie/ { print $1 }' "$1"
}

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
is "from the entry: each line of the program, 1 each but for the loops" "$(head -1 bare | cut -d' ' -f1,3)" "1 0x1000"
run "$COUNT" -s main "$PROGS/no-pie/faults" int3
is "a program's own trap is its own" "$status" 0
run "$COUNT" -s main -o fault "$PROGS/no-pie/faults" load
program=faults
is "a fault is not an execution" "$status:$(at fault fault_load_at)" "0:"
run "$COUNT" "$PROGS/no-pie/faults" die_segv
is "a death is passed on" "$status" 139
run "$COUNT" -s no_such_symbol "$PROGS/bare" all
is "an unknown symbol is refused" "$status" 125

if command -v valgrind >/dev/null; then
	"$ROOT/tests/exact/callgrind-count" -o callgrind "$PROGS/static/control" flags_loop >/dev/null 2>err
	"$COUNT" -r -o stepped "$PROGS/static/control" flags_loop >/dev/null 2>err2
	cat err2 >>err
	near=$(sed -n 's/^instructions \([0-9]*\),.*/\1/p' err | awk 'NR == 1 { a = $1 } END { d = (a - $1) / $1; print (d < 0.05 && d > -0.05) ? "near" : "far: " a " " $1 }')
	is "callgrind counts about the same (it has its own processor and library choices)" "$near" near
else
	skip "valgrind is not installed"
fi

# The engine: the same lines, from the entry of static programs, whose addresses do not move.
if [ -z "${ASSAY_COUNTS:-}" ]; then
	skip "ASSAY_COUNTS is not set: no engine to compare"
	done_testing
	exit 0
fi
read -ra engine <<<"${ASSAY_COUNTS//FILE/$TMP/engine}"
for what in "bare all" "control flags_loop" "control jump_into_prefix" "control loops" \
	"control skip_after_call" "operands strings_rep" "operands gather" "selfmod own_loop" "faults load" "signals info"; do
	set -- $what
	path=$PROGS/static/$1
	[ -x "$path" ] || path=$PROGS/$1
	rm -f engine
	env -i "$COUNT" -o single "$path" "$2" >/dev/null 2>&1
	env -i "${engine[@]}" "$path" "$2" >/dev/null 2>err
	if difference=$(diff <(grep -v ' - ' single | sort) <(grep -v ' - ' engine | sort)); then
		pass "counts of $what: $(wc -l <single) addresses"
	else
		fail "counts of $what" "$(wc -l <<<"$difference") lines (< single steps, > engine)"$'\n'"$(head -12 <<<"$difference")"
	fi
done
done_testing
