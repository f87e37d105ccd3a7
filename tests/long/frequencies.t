#!/bin/bash
# SPDX-License-Identifier: MIT
# Estimated frequencies of a real program, sampled, against its exact counts.
. "$(dirname "$0")/../cli/lib.sh"

if can_record; then
	find /usr/include -name '*.h' -print0 | LC_ALL=C sort -z | xargs -0 cat | head -c 8000000 > text
	run "$ASSAY" record -q -F 2000 -o sampled.db -- bash -c 'for i in 1 2 3; do gzip -9 -c text; done'
	is "sampled: status" "$status" 0
	run "$ASSAY" record -q --exact -o exact.db -- gzip -9 -c text
	is "exact: status" "$status" 0
	frequency() { # REPEAT METHOD WHAT
		"$ASSAY" verify --json --worst 0 --methods --repeat "$1" sampled.db exact.db 2>/dev/null |
			jq ".frequency[] | select(.method == \"$2\") | $3"
	}
	for method in dcpi windows flow; do
		is "$method: nearly all is estimated" "$(frequency 3 $method '.estimated > 0.95')" true
	done
	is "what is relative does not depend on repetitions" "$(frequency 1 windows '[.within5, .within10, .within15, .procedure5, .procedure15, .low]')" \
		"$(frequency 3 windows '[.within5, .within10, .within15, .procedure5, .procedure15, .low]')"
	is "what is absolute does" "$(jq -n "$(frequency 1 windows .factor) / $(frequency 3 windows .factor) * 1000 | round")" 3000
	is "windows bring something" "$(jq -n "$(frequency 3 windows .within15) > $(frequency 3 dcpi .within15)")" true
	is "each sample is in a histogram of executions, and in one of CPI" \
		"$(frequency 3 windows '[.histogram[] | .none + .low + .medium + .high] | add * 1000 | round')$(
		frequency 3 windows '[.histogram[] | .cpi_none + .cpi_low + .cpi_medium + .cpi_high] | add * 1000 | round')" 10001000
	run "$ASSAY" verify --histogram --worst 0 --repeat 3 sampled.db exact.db
	is "both are printed: status" "$status" 0
	is "... both" "$(grep -c '^how far' <<< "$out")" 2
	run "$ASSAY" record -q --exact -o again.db -- gzip -9 -c text
	is "exact again: status" "$status" 0
	"$ASSAY" verify --json --worst 0 --repeat 3 sampled.db again.db exact.db > verified 2> /dev/null
	is "another exact run knows" "$(jq '.frequency[] | select(.method == "counted") | .absolute5 > 0.99 and .edges10 > 0.99' verified)" true
	is "... and so CPI, which is within 5 % where executions are" "$(jq '.frequency[] | select(.method == "counted") |
		[.histogram[9, 10] | .cpi_none + .cpi_low + .cpi_medium + .cpi_high] | add > 0.99' verified)" true
	is "... and a scale, at which windows are nearly as good as at the best" \
		"$(jq '.frequency[] | select(.method == "windows") | .anchored15 > .within15 - 0.2' verified)" true
	is "... which readings show" "$("$ASSAY" report --why --json --counts again.db --repeat 3 -i sampled.db |
		jq '.counts.unexecuted < 0.02 and .method == "counted"')" true
	# What a program counts itself is known exactly, but for what lies before its code is lifted (samples without a window),
	# and behind the last window.
	cat > counts.c <<-'C'
	static long searches;
	static __attribute__((noinline)) void search(void) { __asm__ volatile("addq $3, %0" : "+m"(searches)); }
	int main(int argc, char **argv)
	{
		long n = argc > 1 ? 100000000 : 1000000000;
		(void)argv;
		for (long i = 0; i < n; i++)
			search();
		return searches != 3 * n;
	}
	C
	ok "a program that counts" gcc -O1 -o counts counts.c
	run "$ASSAY" record -q -F 1000 -o counts.db -- ./counts
	is "it is sampled: status" "$status" 0
	is "what it counts is known" "$("$ASSAY" info -i counts.db --json |
		jq '(.windows / .samples) as $seen | [.tallies[].advance | . / 3000000000 > 0.99 * $seen and . / 3000000000 < 1.01]')" \
		$'[\n  true\n]'
	is "a reading says that executions are by that" "$("$ASSAY" annotate -i counts.db --json | jq '.counted > 0.99')" true
	is "... in words" "$("$ASSAY" annotate -i counts.db | grep -c '^Executions: by the program.s own counters for .* % of the time')" 1
	# Its two procedures are one block each, but for what runs once: how often that ran follows from what ran in it.
	run "$ASSAY" record -q --exact -o counts-exact.db -- ./counts tenth
	is "a tenth of it, exactly: status" "$status" 0
	is "within procedures it is right" "$("$ASSAY" verify --json --worst 0 --repeat 10 counts.db counts-exact.db 2>/dev/null |
		jq '.frequency[] | select(.method == "windows") | .procedure5 > 0.95')" true
	advice() { "$ASSAY" report --why --counts counts-exact.db "$@" -i counts.db | tr '\n' ' ' | grep -o 'did that work some [0-9]* times'; }
	is "how often the work was done is known where the program counts" "$(advice)" "did that work some 10 times"
	is "... and not said where it is right" "$(advice --repeat 10)" ""
	# Loops that wait for memory, for their own results, or not at all count themselves, so what they wait for makes no
	# difference. Scales that follow from time depend on the machine's caches: tests/unit/culprit_scale and estimate_anchor
	# test how these are computed.
	ok "programs that wait" gcc -O2 -fno-tree-vectorize -o waits "$ROOT/bench/waits.c"
	for program in chase chain mix; do
		run "$ASSAY" record -q -F 2000 -o waits.db -- ./waits $program
		is "$program: sampled: status" "$status" 0
		run "$ASSAY" record -q --exact -o waits-exact.db -- ./waits $program
		is "$program: exact: status" "$status" 0
		is "$program: it counts itself" "$("$ASSAY" report --why --json -i waits.db | jq '.counted > 0.9')" true
		is "$program: executions are known" "$("$ASSAY" verify --json --worst 0 waits.db waits-exact.db 2>/dev/null |
			jq '.frequency[] | select(.method == "windows") | .absolute15 > 0.95')" true
	done
	# Phases that differ in what an instruction takes by a factor of a thousand, and that nothing joins: their own counters
	# tell, in registers, in memory, and where each is run again and again.
	for level in O2 O0; do
		ok "phases, -$level" gcc -$level -o known-$level "$ROOT/bench/known.c" -lm -lpthread
	done
	# What is measured depends on the machine: nine runs of eight-O0 on two CPUs gave 0.91 to 0.98 of the time, 0.94 where it is
	# said to be.
	for phases in eight-O2 inlined-O2 rounds-O2 distances-O2 eight-O0; do
		known=("./known-${phases#*-}" "${phases%-*}" 0.5)
		run "$ASSAY" record -q -F 2000 -o known.db -- "${known[@]}"
		is "$phases: sampled: status" "$status" 0
		run "$ASSAY" record -q --exact -o known-exact.db -- "${known[@]}"
		is "$phases: exact: status" "$status" 0
		"$ASSAY" verify --json --worst 0 known.db known-exact.db 2> /dev/null | jq '.frequency[] | select(.method == "windows")' > verified
		is "$phases: executions are known in most of the time" "$(jq '.factor1_5 > 0.75' verified)" true
		is "$phases: they are where they are said to be" "$(jq '.held > 0.8 and .held_procedure > 0.8' verified)" true
	done
	# A pointer that two loops advance by turns counts for neither.
	cat > turns.c <<-'C'
	#include <stdlib.h>
	#include <string.h>
	static __attribute__((noinline)) const char *some(const char *p, long *n) { const char *end = p + 40; for (; p < end; p++) *n += *p & 1; return p; }
	static __attribute__((noinline)) const char *others(const char *p, long *n) { const char *end = p + 60; for (; p < end; p++) *n ^= *p; return p; }
	int main(void)
	{
		enum { SIZE = 1 << 28 };
		char *text = malloc(SIZE);
		long n = 0;
		memset(text, 7, SIZE);
		for (int i = 0; i < 5; i++)
			for (const char *p = text; p < text + SIZE - 100;)
				p = others(some(p, &n), &n);
		return n == 1;
	}
	C
	ok "a program whose loops take turns" gcc -O1 -o turns turns.c
	run "$ASSAY" record -q -F 2000 -o turns.db -- ./turns
	is "turns: sampled: status" "$status" 0
	is "turns: no counter is taken for one" "$("$ASSAY" report --why --json -i turns.db | jq '.counted < 0.05')" true
	# A procedure with two entries: one is called through a linkage table that binds lazily, a jump leads to the other. And one
	# that a branch leaves either way: it runs into the next one, or goes to another.
	cat > entries.c <<-'C'
	__asm__(".text\n"
		".globl guard\n.type guard, @function\n"
		"guard: test $3, %dil\n jz middle\n.size guard, .-guard\n"
		".globl enter\n.type enter, @function\n"
		"enter: mov %rdi, %rax\n"
		"inner: mov $5, %ecx\n"
		"again: imul $3, %rax\n add $7, %rax\n dec %ecx\n jnz again\n"
		"ret\n.size enter, .-enter\n"
		".globl middle\n.type middle, @function\n"
		"middle: lea 1(%rdi), %rax\n jmp inner\n.size middle, .-middle\n");
	C
	cat > enters.c <<-'C'
	#include <stdlib.h>
	long enter(long), middle(long), guard(long);
	int main(int argc, char **argv)
	{
		long n = atol(argv[1]), sum = 0;
		if (argc == 2)
			for (long i = 0; i < n; i++)
				sum += i % 4 ? enter(i) : middle(i);
		else
			for (long i = 0; i < n; i++)
				sum += guard(i);
		return sum == 1;
	}
	C
	ok "a library with two entries" gcc -shared -fPIC -o libentries.so entries.c
	ok "a program that enters there" gcc -O1 -Wl,-z,lazy -Wl,-rpath,"$PWD" -o enters enters.c -L. -lentries
	for way in "" guard; do
		run "$ASSAY" record -q -F 1000 -o enters.db -- ./enters 400000000 $way
		is "${way:-entries}: sampled: status" "$status" 0
		run "$ASSAY" record -q --exact -o enters-exact.db -- ./enters 40000000 $way
		is "${way:-entries}: a tenth of it, exactly: status" "$status" 0
		is "${way:-entries}: both ways are known" "$("$ASSAY" verify --json --worst 0 --repeat 10 enters.db enters-exact.db 2>/dev/null |
			jq '.frequency[] | select(.method == "windows") | .within10 > 0.9 and .edges10 > 0.9')" true
	done
else
	skip "cannot record here: $why"
fi
for few in 0 -1 x; do
	run "$ASSAY" verify --repeat "$few" a.db b.db
	is "--repeat $few: status" "$status" 2
done

done_testing
