; SPDX-License-Identifier: MIT
; Memory dependences: which store wrote what a load reads, by 8 bytes of memory.
;
; The associative array holds pairs of a load and a store, from 0 on, and the last places that were stored to, behind
; them; the highest bit of their keys tells them apart.

program dependences

param SLOTS = DATA / 8
param TIMER = 4000000

require 2 * SLOTS <= ENTRIES "the associative array has fewer entries than a quarter of the data array"
require DATA >= 2 * ENTRIES "the data array is smaller than twice the associative array"

sample pc = pc[0:32]
sample place = address[3:31]
on load -> load
on store -> store
on modify -> modify

array writer[ENTRIES]
array first[SLOTS]
array second[SLOTS]
array count[SLOTS] : n:32

value store_pc, key, old
const PAIR = 1 << 31
const FIRST = SLOTS
const LAST = ENTRIES - 1
index slot : 16
index pair : 16
index used : 16
index keep_next : 16 = SLOTS      ; the place that the next store takes
index both : 1                    ; loads, then stores
index keep_clashes : 16

store:	match place -> slot | br !hit, fresh
	st writer[slot], pc | done
fresh:	enter keep_next, place | st writer[keep_next], pc | eq keep_next, LAST | add keep_next, keep_next, 1 | br !x, done
	mov keep_next, FIRST | done

modify:	mov both, 1 | jump look
load:	mov both, zero
look:	match place -> slot | br !hit, end
	ld store_pc, writer[slot]
	shl key, pc, 16
	xor key, key, store_pc
	or key, key, PAIR
	match key -> pair | br !hit, new
	ld old, first[pair]
	eq old, pc | br !t, clash
	ld old, second[pair]
	eq old, store_pc | br !t, clash
	bump count[pair].n
end:	ne both, zero | br x, store
	done

new:	enter used, key | st first[used], pc | mov pair, used | add used, used, 1
	st second[pair], store_pc
	bump count[pair].n | le SLOTS, used | br !x, end
	interrupt

clash:	add keep_clashes, keep_clashes, 1 | jump end
