#!/bin/bash
# SPDX-License-Identifier: MIT
# Call stacks by the sampler's tables against libdwfl's, at each instruction of a program with frames of all kinds, as two
# compilers make it.
. "$(dirname "$0")/../cli/lib.sh"
oracle=$BUILD/tests/long/unwind_oracle source=$ROOT/tests/progs/stacked.c

for options in -O0 -O1 -O2 -O3 -Os '-O2 -fno-omit-frame-pointer' '-O2 -static' '-O2 -fcf-protection' '-O2 -g -fno-asynchronous-unwind-tables'; do
	for cc in gcc clang-14; do
		# shellcheck disable=SC2086
		$cc $options -o stacked "$source" || continue
		said=$("$oracle" 1 ./stacked 2> err)
		is "$cc $options: ${said%%;*}" "$?" 0
		# what user space has to walk: an epilogue of a procedure that realigns the stack, and the like
		ok "$cc $options: nearly all are walked" \
			test "$(sed -E 's/.* ([0-9]+) whole.*/\1/' <<< "$said")" -gt "$(awk '{ print int($1 * 0.99) }' <<< "$said")"
	done
done
done_testing
