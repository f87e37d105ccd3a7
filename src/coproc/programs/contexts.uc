; SPDX-License-Identifier: MIT
; Mispredictions by calling context: the call that the branch's procedure was entered by, and the call around that.
;
; The stack of calls is a circular buffer: where calls are nested more deeply, or end without returns, the oldest are lost.

program contexts

param SLOTS = DATA / 8
param DEPTH = 64
param TIMER = 4000000

require SLOTS <= ENTRIES "the associative array has fewer entries than an eighth of the data array"

sample pc = pc[0:32]
on call, icall -> call
on return -> return
on branch, jump when mispredicted -> wrong

array stack[DEPTH]
array first[SLOTS]
array second[SLOTS]
array count[SLOTS] : n:32

value top, below, key, old
index keep_depth : log2(DEPTH) wrap
index slot : 16
index used : 16
index keep_clashes : 16

call:	st stack[keep_depth], below | mov below, top | add keep_depth, keep_depth, 1
	mov top, pc | done

return:	mov top, below | sub keep_depth, keep_depth, 1
	ld below, stack[keep_depth] | done

wrong:	shl key, below, 16
	xor key, key, top
	match key -> slot | br !hit, new
	ld old, first[slot]
	eq old, top | br !t, clash
	ld old, second[slot]
	eq old, below | br !t, clash
	bump count[slot].n | br !sat, done
	interrupt

new:	enter used, key | st first[used], top | mov slot, used | add used, used, 1
	st second[slot], below
	bump count[slot].n | le SLOTS, used | br !x, done
	interrupt

clash:	add keep_clashes, keep_clashes, 1 | done
