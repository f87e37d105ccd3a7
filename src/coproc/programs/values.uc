; SPDX-License-Identifier: MIT
; Load values: which value each load instruction mostly loads, and how often.
;
; After the appendix of Zilles and Sohi, "A Programmable Co-processor for Profiling" (HPCA 2001). An instruction has
; a slot: its address in the associative array, an active value, and counters of what was loaded since. The host part
; is src/coproc/host_values.c. All thresholds are parameters: assay coproc run -D NAME=NUMBER values.

program values

; The microcode's.
param REPLACE = 63                ; a slot is replaced if a random number, 0 to REPLACE, is above its total
param FAILED = ENTRIES            ; the host is called when so many more replacements failed than succeeded
param OFF = ENTRIES / 4           ; the host is called when so many slots are turned off
param REPLACED = 4 * ENTRIES      ; the host is called when so many slots were replaced: they thrash
param TEST = 4                    ; a new active value is chosen if misses > TEST + 4 * hits,
param KEEP = 64                   ; with so many misses the slot is turned off instead
; The host's.
param ENOUGH = 32                 ; hits and misses of an active value that its invariance is judged by
param HIGH = 95                   ; per cent: an instruction is masked if it is at least that invariant
param LOW = 15                    ; an instruction is masked, too, if it is at most that invariant
param ROUNDS = 3                  ; and if it was recorded so often with ENOUGH samples
param TIMER = 1000000             ; main processor cycles between two looks of the host, at most
param RESAMPLE = 500000           ; main processor cycles between two looks at what is masked: an instruction is sampled
                                  ; again after one of them, and after twice as many each time that it did as before

require (REPLACE & (REPLACE + 1)) == 0 "REPLACE is no power of two less one"
require REPLACE < KEEP "REPLACE has to be less than KEEP, or slots that are turned off would be replaced"
require REPLACED <= 65535 "REPLACED does not fit an index register"
require LOW < HIGH "LOW has to be less than HIGH"
require TIMER > 0 "TIMER is 0"
require ROUNDS > 0 "ROUNDS is 0"

sample pc = pc[0:32]
sample value = value[0:32]
on load, modify -> load

array active[ENTRIES]
array stats[ENTRIES] : hits:8, misses:8, total:8

value old, h, m, r
const INIT = pack(stats, total = 1)

index slot : log2(ENTRIES)
index cand : log2(ENTRIES) wrap   ; the slot that is looked at for replacement
index failed : 16
index off : 16
index replaced : 16

load:	match pc -> slot | br !hit, new
	ld old, active[slot]
	eq old, value | br !t, miss
	bump stats[slot].hits.total | br !sat, done

; The slot has learned what it can: it is turned off, and its counters are kept.
full:	drop slot | add off, off, 1 | lt off, OFF | br y, done
	interrupt

miss:	bump stats[slot].misses.total | br sat, full
	ld h, stats[slot].hits
	ld m, stats[slot].misses | shl h, h, 2
	add h, h, TEST
	lt h, m | br !t, done
	le KEEP, m | br t, full
	st active[slot], value
	st stats[slot].hits, zero
	st stats[slot].misses, zero | done

; The instruction has no slot. What a slot knows is the number of its samples.
new:	ld m, stats[cand].total | and r, rand, REPLACE
	lt m, r | br !t, fail
	enter cand, pc | st active[cand], value | sub failed, failed, 1 | add replaced, replaced, 1
	st stats[cand], INIT | add cand, cand, 1 | lt replaced, REPLACED | br y, done
	interrupt
fail:	lt failed, FAILED | add failed, failed, 1 | br x, done
	interrupt
