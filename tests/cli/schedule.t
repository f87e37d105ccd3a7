#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of exact runs: where they begin and end, what they stand for, and what is refused. The truth is in programs
# whose instructions are known one by one, and in recordings of whole runs.
set -u
. "$(dirname "$0")/lib.sh"
RECORDED=$BUILD/tests/exact/recorded
PROGS=$BUILD/tests/progs/exact
[ -x "$RECORDED" ] || { skip "no $RECORDED"; done_testing; exit 0; }

# A program of 6 + 4 ROUNDS instructions or so: `at` is executed once in the middle, behind FIRST rounds.
program() { # NAME FIRST SECOND [END]
	gcc -nostdlib -static -x assembler -o "$1" - <<END
	.globl _start
_start:	mov \$$2, %ecx
1:	add \$3, %rax
	xor %rcx, %rax
	dec %ecx
	jnz 1b
	mov \$$3, %ecx
2:	add \$5, %rax
	xor %rcx, %rax
	dec %ecx
	jnz 2b
${4:-	xor %edi, %edi}
	mov \$60, %eax
	syscall
END
}
record() { run setarch -R "$ASSAY" record --exact -q "$@"; } # always at the same addresses
json() { "$ASSAY" info -i "$1" --json; } # RECORDING
samples() { json "$1" | jq -c '[.schedules[0].samples[] | [.begin, .end, (.weight | round)]]'; }
count_at() { "$RECORDED" "$1" | awk -v a="$2" '$3 == a {n += $1} END {print n + 0}'; } # RECORDING ADDRESS

# The example of the RSIML manual: 1,874,500 instructions, samples at 500,000 and 1,800,000.
program example 400000 68623
record -o whole.db -- ./example
is "the program has as many instructions" "$("$RECORDED" whole.db | awk '{n += $1} END {print n}')" 1874497
cat >spec <<'END'
     ss_target_spec m1000:s500:w2:s1800:m1:e1874500
     ss_sample_size    50000
     ss_warmup_size    10000
END
record --schedule @spec -o example.db -- ./example
is "the manual's example is recorded" "$status:$err" "0:"
is "samples begin where it says" "$(samples example.db)" '[[500000,550000,1],[1800000,1850000,2]]'
first=$(nm example | awk '$3 == "_start" {print "0x" $1}')
# 400,000 rounds of 4 are in front of 1,600,001: the first sample is of them alone, the second of the others
is "the first sample counts once" "$(count_at example.db "$(printf '0x%x' $((first + 5)))")" 12500
is "the second counts twice" "$(count_at example.db "$(printf '0x%x' $((first + 5 + 4 + 3 + 2 + 2 + 5)))")" 25000
is "what was observed is said" "$(json example.db | jq -c '.schedules[0] | [.observed, .instructions, .expected, .mismatch]')" \
	'[100000,1874497,1874500,false]'
like "the heading says so" "$("$ASSAY" report -i example.db)" "observed: 5.33 % of 1,874,497 instructions, in 2 samples"
is "weights are in the totals" "$(json example.db | jq '.schedules[0].totals.instructions.total | round')" 150000

# Another program.
program longer 400000 69123
rm -f none.db
record --schedule @spec -o none.db -- ./longer
is "a program that is 2,000 instructions longer is refused" "$status:$out" "1:"
like "both lengths are named" "$err" "1876497 instructions, and the samples are of one that has 1874500, or up to 1000 more"
ok "nothing was written" test ! -e none.db
record --schedule @spec --allow-mismatch -o other.db -- ./longer
is "it is recorded where that is allowed" "$status" 0
is "the recording says so" "$(json other.db | jq .schedules[0].mismatch)" true
like "the heading, too" "$("$ASSAY" report -i other.db)" "another run than the targets are of: 1,876,497 instructions, not 1,874,500"
program nearly 400000 68823
record --schedule @spec -o near.db -- ./nearly
is "800 more are the same benchmark" "$status" 0

# All of it, in samples: exactly what a recording of the whole has.
record --schedule periodic:size=1000,period=1000 -o all.db -- ./example
is "samples without gaps are the whole run" "$("$RECORDED" all.db)" "$("$RECORDED" whole.db)"
is "1,875 of them" "$(samples all.db | jq length)" 1875
for size in 777 50000; do
	for part in 0 1; do
		record --schedule periodic:size=$size,period=$((2 * size)),skip=$((part * size)) -o part.$part.db -- sort spec
	done
	record -o sort.db -- sort spec
	for part in 0 1; do "$RECORDED" part.$part.db; done |
		awk '{n[$2 " " $3] += $1; t[$2 " " $3] += $4; b[$2 " " $3] = $4}
			END {for (i in n) print n[i] / 2, i, b[i] == "-" ? "-" : t[i] / 2}' | LC_ALL=C sort >parts
	is "every other sample and the others are the whole run, $size instructions each" \
		"$("$RECORDED" sort.db | LC_ALL=C sort | diff parts - | head)" ""
done
record --schedule periodic:size=1000,period=50000 -o one.db -- sort spec
record --schedule periodic:size=1000,period=50000 -o two.db -- sort spec
is "two runs have the same counts" "$("$RECORDED" one.db)" "$("$RECORDED" two.db)"
is "and the same counters" "$(json one.db | jq -c .schedules[0].totals)" "$(json two.db | jq -c .schedules[0].totals)"
record --schedule periodic:size=1000,period=50000 -o two.db -- sort spec
is "a run that counted what the one before it did" "$status:$err" "0:"
run setarch -R "$ASSAY" record --exact --schedule periodic:size=1000,period=50000 -o two.db -- sort spec
like "… is said to be reproduced" "$err" "the same counts as in two.db.old: this run can be reproduced"
record --schedule periodic:size=1000,period=50000 -o two.db -- sort -r spec
is "another command is not compared" "$status:$err" "0:"
cat >dice.c <<'C'
#include <unistd.h>
int main(void)
{
	for (volatile int i = getpid() % 32768 * 8; i > 0; i--)
		;
	return 0;
}
C
ok "a program that goes by its process's number" gcc -O1 -static -o dice dice.c
record --schedule periodic:size=1000,period=50000 -o dice.db -- ./dice
record --schedule periodic:size=1000,period=50000 -o dice.db -- ./dice
like "a program that is not deterministic is said to be" "$err" \
	"the same command counted otherwise the last time, in dice.db.old \([0-9].*instructions, then [0-9].*\). Unless its input has changed, the program is not deterministic"
ok "another program of that name" gcc -O0 -static -o dice dice.c
record --schedule periodic:size=1000,period=50000 -o dice.db -- ./dice
like "… and another program is not" "$err" "counted otherwise the last time.*It executed other files then"

# Observers.
for what in counts addresses values calls conflicts misses; do
	record --observe $what --schedule periodic:size=20000,period=100000 -o $what.db -- ./example
	is "$what of samples" "$status:$(json $what.db | jq -c '.schedules[0] | [.observed, (.totals.instructions.total | round)]')" \
		"0:[380000,1900000]"
done
for what in lines reuse; do
	record --observe $what --schedule periodic -o no.db -- ./example
	is "$what of samples: refused" "$status" 2
	like "$what: says why" "$err" "is of a whole run: .* cannot be scaled"
done
# misses of a walk through 64 KiB again and again: cold in each sample without a warm-up, none with one
gcc -nostdlib -static -x assembler -o walk - <<'END'
	.globl _start
_start:	mov $2000, %edx
1:	mov $512, %ecx
	lea room(%rip), %rsi
2:	mov (%rsi), %rax
	add $64, %rsi
	dec %ecx
	jnz 2b
	dec %edx
	jnz 1b
	xor %edi, %edi
	mov $60, %eax
	syscall
	.bss
	.balign 64
room:	.skip 32768
END
record --observe values --schedule periodic:size=20000,period=100000 -o values.db -- ./walk
is "values stand for all, too" "$("$ASSAY" values -i values.db --json |
	jq -c '.values[] | select(.operand == "load") | [.value, .share, .observations > 1020000 and .observations < 1030000]')" \
	'["0x0",1,true]'
misses() { # OPTIONS…: lines of data that were not in the first level, per thousand accesses
	record --observe misses --machine l1d=48K/12,line=64 --schedule periodic:size=10000,period=1000000,skip=500000 "$@" -o walk.db -- ./walk
	json walk.db | jq '.schedules[0].totals | (.l1d.total // 0) * 1000 / .accesses.total | round'
}
is "a cache that is warmed up has the lines" "$(misses --warmup-size 10000)" 0
cold=$(misses)
ok "without, the first sample at least finds none" test "$cold" -gt 0

# What is touched while instructions are skipped is in large caches when a sample begins: 1 MiB by loads, 64 KiB by a
# string instruction, walked through again behind 400,000 other instructions.
gcc -nostdlib -static -x assembler -o again - <<'END'
	.globl _start
walk:	mov (%rsi), %rax
	add $64, %rsi
	dec %ecx
	jnz walk
	ret
_start:	lea room(%rip), %rsi
	mov $16384, %ecx
	call walk
	lea filled(%rip), %rdi
	mov $65536, %ecx
	rep stosb
	mov $200000, %ecx
1:	dec %ecx
	jnz 1b
	lea room(%rip), %rsi
	mov $17408, %ecx
	call walk
	xor %edi, %edi
	mov $60, %eax
	syscall
	.bss
	.balign 4096
room:	.skip 1048576
filled:	.skip 65536
END
again() { # HOW: lines of data that the sample of the second walk did not find in the last level
	record --observe misses --machine l1d=4K/8,l1i=4K/8,l2=64K/8,l3=4M/16,line=64 --schedule single:size=69000,skip=466000 \
		--warmup-size 300 --warming "$1" -o again.db -- ./again
	json again.db | jq '.schedules[0].totals | [(.l3d.total // 0), .accesses.total > 17000]' -c
}
is "lines that were touched while skipping are in the last level" "$(again lines)" "[0,true]"
is "… as they are if all of it is simulated" "$(again all)" "[0,true]"
is "… and are not if nothing tells" "$(again none | jq -c '[.[0] > 16000, .[1]]')" "[true,true]"
record --observe misses --schedule @spec -o example.db -- ./example
is "samples begin where they should" "$(samples example.db)" '[[500000,550000,1],[1800000,1850000,2]]'
record --observe misses --schedule auto -o auto.db -- ./example
is "an automatic schedule of a simulation has a warm-up" "$(json auto.db | jq '.schedules[0] | .warmup == .size')" true
record --warming all -o no.db -- ./example
is "warming of what has no state: refused" "$status" 2
like "… with a reason" "$err" "--warming is for --exact --observe misses or cycles"

# Processes.
record --schedule periodic:size=100,period=1000,skip=0 -o sh.db -- sh -c 'true; (sort spec | sort); exec sort spec'
is "children and images: the output" "$status:$(grep -c ss_ <<<"$out")" "0:6"
ok "children have samples of their own" test "$(json sh.db | jq '[.schedules[0].samples[].pid] | unique | length')" -ge 4
record --schedule single:size=1000000000,skip=1000 -o exec.db -- sh -c 'exec ./example'
is "a sample that the run ends within is left out" "$status:$("$RECORDED" exec.db | wc -l)" "0:0"
like "and that is said" "$err" "ended within a sample, after [0-9]* of its 1000000000 instructions"
record --schedule single:size=100000,skip=1000000 -o exec.db -- sh -c 'exec ./example'
is "positions go on in a new image" "$(samples exec.db)" '[[1000000,1100000,1]]'
record --schedule single:skip=1e9 -o late.db -- ./example
like "a run that ends before its first sample" "$status:$err" "^0:.*1874497 instructions, before the first sample"
record --schedule periodic:size=1000,period=1000 -o threads.db -- "$PROGS/threads" condition
is "threads run as they do alone" "$status:$out" "0:$("$PROGS/threads" condition)"
cat >both.c <<'C'
#include <pthread.h>
#include <stddef.h>
static void *loop(void *n)
{
	long i = (long)n;
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(i));
	return NULL;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, loop, (void *)60000000L);
	loop((void *)20000000L);
	return pthread_join(t, NULL);
}
C
ok "a program of two threads" gcc -O1 -o both both.c -lpthread
record --schedule periodic:size=10000,period=1000000 -o both.db -- ./both
is "no sample is missed where threads share what is left" \
	"$(json both.db | jq -c '[.schedules[0].samples[].number] | [. == [range(length)], length > 158]')" "[true,true]"
is "each begins late by what threads were granted at least" \
	"$(json both.db | jq '[.schedules[0].samples[] | .begin - 495000 - .number * 1000000] | max < 3000')" true

# A worker that blocks all signals and is mostly within one long string instruction, while the other thread ends phases.
cat >fills.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#define SIZE (1 << 24)
#define TIMES 100
__attribute__((noinline)) static void fill(unsigned char *p, int byte)
{
	size_t n = SIZE;

	__asm__ volatile("add $1, %%r8; .globl filling; filling: rep stosb"
			 : "+D"(p), "+c"(n) : "a"(byte) : "memory", "r8", "cc");
}
static void *worker(void *p)
{
	unsigned char *bytes = p;

	for (int i = 1; i <= TIMES; i++) {
		fill(bytes, i);
		for (long k = 0; k < SIZE; k += 65521)
			if (bytes[k] != i)
				exit(3);
	}
	return NULL;
}
int main(void)
{
	sigset_t all, old;
	pthread_t t;
	long i = 1000000;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_create(&t, NULL, worker, malloc(SIZE));
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(i));
	return pthread_join(t, NULL);
}
C
ok "a program with long string instructions" gcc -O1 -o fills fills.c -lpthread
filling=$((16#$(nm fills | awk '$3 == "filling" {print $1}')))
record --schedule periodic:size=5000,period=5000 -o fills.db -- ./fills
is "threads leave a long string instruction where phases end" "$status:$out$err" "0:"
is "each is executed once, however often it is left" "$(count_at fills.db "$(printf '0x%x' $filling)")" 100
record --schedule periodic:size=5000,period=50000 --observe misses -o fills.db -- ./fills
is "and so where a model is warmed between samples" "$status:$out$err" "0:"

# Code that is written anew all the time is made again where a phase begins in the middle of it.
record --schedule periodic:size=100,period=20000 -o anew.db -- "$BUILD/tests/progs/exact/selfmod" generator
is "a program that keeps writing code goes on from phase to phase" "$status" 0

# What is granted is exhausted at a return before which no flag is dead: the program goes on behind the subtraction there.
cat >returns.s <<'ASM'
	.intel_syntax noprefix
	.globl _start
_start:	mov ebx, 500000
1:	mov ecx, ebx
	stc
	call leaf
	jnc wrong
	cmp ecx, ebx
	jne wrong
	dec ebx
	jnz 1b
	xor edi, edi
2:	mov eax, 231
	syscall
wrong:	mov edi, 1
	jmp 2b
leaf:	lea edx, [rcx + 1]
	ret
ASM
ok "a program whose returns keep flags and registers" gcc -nostdlib -static -o returns returns.s
run "$ASSAY" record --exact -q --schedule periodic:size=100,period=20000 -o returns.db -- ./returns
is "it finds them unchanged wherever grants end" "$status:$err" 0:

# Every other branch of a loop jumps: said with a bound that holds, and exactly where all of it was observed.
record --schedule periodic:size=1000,period=50000 -o half.db -- "$BUILD/tests/progs/phases" 3
record -o halves.db -- "$BUILD/tests/progs/phases" 3
halves() { "$ASSAY" annotate -i "$1" two.constprop.0 --json | jq -c '[.instructions[] | .taken // empty | select(.share > 0.4 and .share < 0.6)][0] | '"$2"; }
is "the share of a sampled branch has a bound, which holds" \
	"$(halves half.db '.bound > 0 and .bound < 0.1 and (.share - 0.5 | fabs) <= .bound')" true
is "that of a whole run is exact" "$(halves halves.db '[.share, .bound] | map(. * 1000 | round)')" "[500,0]"

# A program that is killed in its last sample: those before are kept.
program killed 400000 1000 '	mov $39, %eax
	syscall
	mov %eax, %edi
	mov $9, %esi
	mov $62, %eax
	syscall'
record --schedule s100000:w3:s1590000:e10000000 --sample-size 100000 -o killed.db -- ./killed
is "a program that is killed" "$status" 137
is "its complete samples are kept" "$("$RECORDED" killed.db | awk '{n += $1} END {print n}')" 100000
like "the other one is said to be left out" "$("$ASSAY" report -i killed.db)" "ended within a sample, which is left out|another run"

# What is refused.
echo "who knows" >bad
refused() { # NAME MESSAGE OPTIONS…
	local name=$1 message=$2
	shift 2
	record "$@" -o no.db -- ./example
	is "$name: status" "$status:$out" "2:"
	like "$name: says where and why" "$err" "$message"
	ok "$name: nothing is written" test ! -e no.db
}
refused "no end" "no e in it" --schedule s1000
refused "no schedule" 'one of: whole single periodic auto' --schedule foo
refused "no letter" 'column 7, "5": no w, m, s or e' --schedule s1000:5:e10000
refused "overlapping samples" 'column 1: the sample at 1000, of 50000 instructions, overlaps' --schedule s1000:s2000:e1000000
refused "past the end" 'column 1: the sample at 1000, of 50000 instructions, goes on beyond' --schedule s1000:e2000
refused "a weight of nothing" 'column 1, "w0": a weight' --schedule w0:s1000:e2000
refused "a file of something else" 'bad, line 1, "who knows": no setting' --schedule @bad
refused "counting sketches" 'cannot be scaled' --schedule periodic --sketch counting
run "$ASSAY" record --schedule periodic -o no.db -- ./example
is "without --exact" "$status" 2
done_testing
