; SPDX-License-Identifier: MIT
; Cache conflicts: lines that miss again soon after they missed, by instruction and by set of the first level cache.
;
; The associative array holds pairs of an instruction and a set, from 0 on, and the last lines that missed, behind them.

program sets

param LINE = 6                    ; log2 of a line's bytes
param SET_BITS = 6                ; log2 of the number of sets
param SOON = 5000                 ; main processor cycles
param SLOTS = DATA / 8
param TIMER = 4000000

require 2 * SLOTS <= ENTRIES "the associative array has fewer entries than a quarter of the data array"
require DATA >= 2 * ENTRIES "the data array is smaller than twice the associative array"

sample pc = pc[0:32]
sample line = address[LINE:31]
sample set = address[LINE:SET_BITS]
sample time = time[0:32]
on load, store, modify when missed -> miss

array when[ENTRIES]
array first[SLOTS]
array second[SLOTS]
array count[SLOTS] : n:32

value before, key, old
const PAIR = 1 << 31
const FIRST = SLOTS
const LAST = ENTRIES - 1
index slot : 16
index pair : 16
index used : 16
index keep_next : 16 = SLOTS
index keep_clashes : 16

miss:	match line -> slot | br !hit, fresh
	ld before, when[slot]
	st when[slot], time | sub before, time, before
	le SOON, before | br t, done
	shl key, set, 16
	xor key, key, pc
	or key, key, PAIR
	match key -> pair | br !hit, new
	ld old, first[pair]
	eq old, pc | br !t, clash
	ld old, second[pair]
	eq old, set | br !t, clash
	bump count[pair].n | br !sat, done
	interrupt

fresh:	enter keep_next, line | st when[keep_next], time | eq keep_next, LAST | add keep_next, keep_next, 1 | br !x, done
	mov keep_next, FIRST | done

new:	enter used, key | st first[used], pc | mov pair, used | add used, used, 1
	st second[pair], set
	bump count[pair].n | le SLOTS, used | br !x, done
	interrupt

clash:	add keep_clashes, keep_clashes, 1 | done
