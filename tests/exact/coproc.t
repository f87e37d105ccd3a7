#!/bin/bash
# SPDX-License-Identifier: MIT
# What a co-processor that drops nothing counts, against what the engine counts in the same run.
set -u
. "$(dirname "$0")/lib.sh"
cp "$BUILD/tests/exact/coproc" "$TMP/coproc"
ln -s "$BUILD/assay-exact" "$TMP/assay-exact"
export ASSAY_COPROC_PATH=$ROOT/src/coproc/programs

agree() { # PROGRAM COMMAND...
	local said
	if said=$(timeout -s KILL 300 env -i ASSAY_COPROC_PATH="$ASSAY_COPROC_PATH" PATH="$PATH" setarch -R "$TMP/coproc" "$@" </dev/null 2>&1); then
		pass "$*: $(tail -1 <<<"$said")"
	else
		fail "$*" "$(tail -c 2000 <<<"$said")"
	fi
}

seq 3000 > numbers
for what in edges values; do
	agree $what true
	agree $what sort -n -o sorted numbers
	agree $what gzip -kf numbers
done
agree values "$BUILD/tests/progs/exact/operands" all
read -r size begin < <(objdump -h "$BUILD/tests/progs/exact/static/truth" | awk '$2 == "truth_code" { print $3, $4 }')
program=$BUILD/tests/progs/exact/static/truth
for c in operands pointers recursion; do
	ok "$c: a recording of its values" env -i setarch -R "$ASSAY" record --exact --observe values --values 4096 \
		-o $c.db -- "$program" $c
	agree "$c.db:$begin:$(printf %x $((0x$begin + 0x$size)))" "$program" $c
done
agree values bc -l <<<'e(1)'

# Contexts, dependences and sets against --observe misses, calls, conflicts and reuse of the same program: a procedure that
# mispredicts called in two ways; stores and loads of 8 bytes; 32 lines in one set.
cat > own.c <<'C'
#include <stdint.h>
#define OWN __attribute__((noipa, section("own_code"), aligned(64)))
static uint64_t a[33 * 512], out[8];
static volatile uint64_t sink, other;
OWN static uint64_t walk(const uint64_t *p)
{
	uint64_t s = 0;

	for (unsigned r = 0; r < 200; r++)
		for (unsigned i = 0; i < 32; i++)
			s += p[i * 512];
	return s;
}
OWN static void odd(uint64_t x)
{
	if (x >> 33 & 1)
		sink = x * 3;
	else
		other = x + 1;
}
OWN static uint64_t first(uint64_t x) { odd(x); return 1; }
OWN static uint64_t second(uint64_t x) { odd(x); return 2; }
OWN static void pass(uint64_t *p, uint64_t v)
{
	for (volatile uint64_t i = 0; i < 8; i++)
		p[i] = v + i;
}
OWN static uint64_t take(const uint64_t *p)
{
	uint64_t s = 0;

	for (volatile uint64_t i = 0; i < 8; i++)
		s += p[i];
	return s;
}
int main(void)
{
	uint64_t x = 88172645463325252u, s = 0;

	for (unsigned i = 0; i < 3000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		s += i % 3 ? first(x) : second(x);
	}
	for (unsigned i = 0; i < 500; i++) {
		pass(out, i);
		s += take(out);
	}
	sink = s + walk((uint64_t *)(((uintptr_t)a + 4095) & ~4095ul));
	return 0;
}
C
if gcc -O1 -fno-tree-vectorize -static -o own own.c 2>gcc.err; then
	read -r size begin < <(objdump -h own | awk '$2 == "own_code" { print $3, $4 }')
	range=$begin,$(printf %x $((0x$begin + 0x$size)))
	own() { env -i ASSAY_COPROC_PATH="$ASSAY_COPROC_PATH" PATH="$PATH" setarch -R "$ASSAY" record -q --exact "$@" -- "$PWD/own"; }
	ok "a recording of its misses" own --observe misses -o own.misses.db
	ok "a recording of its calls" own --observe calls -o own.calls.db
	ok "a recording of its reuse" own --observe reuse -o own.reuse.db
	ok "a recording of its conflicts" own --observe conflicts --distance 4096 -o own.conflicts.db
	agree contexts=own.misses.db,own.calls.db,"$range" "$PWD/own"
	agree dependences=own.conflicts.db,-,"$range" "$PWD/own"
	agree sets=own.misses.db,own.reuse.db,"$range" "$PWD/own"
else
	skip "no static program: $(head -1 gcc.err)"
fi
done_testing
