; SPDX-License-Identifier: MIT
; Correlation of branches: the outcomes of each two conditional branches that were executed one after the other.
;
; first is the earlier branch, second the later one; counters are by both outcomes, n: not taken, t: taken.

program pairs

param SLOTS = DATA / 4
param TIMER = 4000000

require SLOTS <= ENTRIES "the associative array has fewer entries than a quarter of the data array"

sample pc = pc[0:32]
sample taken = taken[0:1]
on branch -> branch

array first[SLOTS]
array second[SLOTS]
array count[SLOTS] : nn:8, nt:8, tn:8, tt:8

value before, key, old
index slot : 16
index used : 16
index keep_taken : 1              ; whether the branch before was
index keep_clashes : 16

branch:	shl key, before, 16
	xor key, key, pc
	match key -> slot | br !hit, new
	ld old, first[slot]
	eq old, before | br !t, clash
	ld old, second[slot]
	eq old, pc | br !t, clash
count:	ne taken, zero | ne keep_taken, zero | br x, was
	br t, nt
	bump count[slot].nn | mov before, pc | mov keep_taken, zero | br sat, full
check:	le SLOTS, used | br !x, done
full:	interrupt
nt:	bump count[slot].nt | mov before, pc | mov keep_taken, 1 | br !sat, check
	interrupt
was:	br t, tt
	bump count[slot].tn | mov before, pc | mov keep_taken, zero | br !sat, check
	interrupt
tt:	bump count[slot].tt | mov before, pc | mov keep_taken, 1 | br !sat, check
	interrupt

new:	enter used, key | st first[used], before | mov slot, used | add used, used, 1
	st second[slot], pc | jump count

clash:	add keep_clashes, keep_clashes, 1 | mov before, pc
	mov keep_taken, taken | done
