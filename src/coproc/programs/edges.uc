; SPDX-License-Identifier: MIT
; Edges: how often each conditional branch was taken and not, and where indirect jumps, calls and returns went.
;
; An entry is a branch (second is 0), or an indirect one with a target. Its host part is src/coproc/host_counts.c.

program edges

param SLOTS = DATA / 4            ; entries between two interrupts
param TIMER = 4000000             ; main processor cycles between two looks of the host, at most

require SLOTS <= ENTRIES "the associative array has fewer entries than a quarter of the data array"

sample pc = pc[0:32]
sample target = target[0:32]
sample taken = taken[0:1]
on branch -> branch
on jump, icall, return -> far

array first[SLOTS]
array second[SLOTS]
array count[SLOTS] : other:16, taken:16

value key, old
index slot : 16
index used : 16
index keep_clashes : 16           ; samples whose entry was another one's

branch:	match pc -> slot | br !hit, new
	ld old, first[slot]
	eq old, pc | br !t, clash
went:	ne taken, zero | br t, took
	bump count[slot].other | br sat, full
check:	le SLOTS, used | br x, full
	done
took:	bump count[slot].taken | br !sat, check
full:	interrupt

new:	enter used, pc | st first[used], pc | mov slot, used | add used, used, 1
	st second[slot], zero | jump went

far:	shl key, target, 16
	xor key, key, pc
	match key -> slot | br !hit, fresh
	ld old, first[slot]
	eq old, pc | br !t, clash
	ld old, second[slot]
	eq old, target | br t, took
clash:	add keep_clashes, keep_clashes, 1 | done

fresh:	enter used, key | st first[used], pc | mov slot, used | add used, used, 1
	st second[slot], target | jump took
