#!/bin/bash
# SPDX-License-Identifier: MIT
# Static schedules of loops of several blocks: what an execution finds in registers its last one left there, or another block set.
. "$(dirname "$0")/../cli/lib.sh"

if can_record; then
	cat > loops.c <<-'C'
	int main(int argc, char **argv)
	{
		long a = 3, n = 150000000;
		(void)argv;
		if (argc > 1)
			__asm__ volatile("1: imul $3, %0, %0\n imul $5, %0, %0\n imul $7, %0, %0\n test $3, %b1\n jz 2f\n"
					 "inc %%rdx\n2: mov %1, %0\n dec %1\n jnz 1b" : "+r"(a), "+r"(n) : : "rdx");
		else
			__asm__ volatile("1: imul $3, %0, %0\n imul $5, %0, %0\n imul $7, %0, %0\n test $3, %b1\n jz 2f\n"
					 "inc %%rdx\n2: dec %1\n jnz 1b" : "+r"(a), "+r"(n) : : "rdx");
		return a == 5;
	}
	C
	ok "loops of three blocks" gcc -O1 -o loops loops.c
	for way in "" set; do
		run "$ASSAY" record -q -F 1000 -o "loops$way.db" -- ./loops $way
		is "sampled: status" "$status" 0
	done
	waits() { "$ASSAY" report --why --json -i "$1" | jq '.procedures[] | select(.procedure == "main") | .why.static_dependence'; }
	is "a chain of results goes around: most of the time one multiplication waits for another" "$(jq -n "$(waits loops.db) > 0.5")" true
	is "... which is told" "$("$ASSAY" annotate -i loops.db main | grep -q 'static .* waits for what .* computes' && echo yes)" yes
	is "what another block has set is waited for less of the time" "$(jq -n "$(waits loopsset.db) < $(waits loops.db)")" true
	# A multiplication takes three cycles and more, and another may begin each cycle or two: in a chain that goes around
	# each waits for all of the one before it, else for what the width of the core leaves of it. The CPU's model decides that.
	told() { "$ASSAY" annotate --json -i "$1" main | jq '[.instructions[].static | select(.why? == "dependence") | .cycles] | add // 0'; }
	around=$(told loops.db) within=$(told loopsset.db)
	is "... but for less than half as long as in the chain ($within and $around cycles)" "$(jq -n "2 * $within < $around")" true
else
	skip "cannot record here: $why"
fi

done_testing
