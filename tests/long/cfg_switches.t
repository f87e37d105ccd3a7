#!/bin/bash
# SPDX-License-Identifier: MIT
# Jump tables as gcc and clang make them, at each level of optimisation, position independent or not,
# against exact recordings that saw where each jump went. In what is named every_… all that a table leads
# to runs: its graph must have nothing else.
. "$(dirname "$0")/../cli/lib.sh"
check=$BUILD/tests/long/cfg_programs

cat > switches.c <<'C'
#define N(x) __attribute__((noinline, noclone)) x
volatile int sink;

N(int every_dense)(int x, int y)
{
	switch (x) {
	case 0: return y * 3;
	case 1: return y + 7;
	case 2: sink = y; return 9;
	case 3: return y << 3;
	case 4: return y / 3;
	case 5: return y ^ 0x55;
	case 6: return y % 11;
	case 7: sink += 3; return 1;
	default: return 0;
	}
}
N(int every_offset)(int x, int y)
{
	int r = 0;

	switch (x) {
	case 100: r = y * 3; break;
	case 101: r = y + 7; break;
	case 102: sink = y; /* fall through */
	case 103: r = y << 3; break;
	case 104: r = y / 3; break;
	case 106: r = y ^ 0x55; break;
	case 108: r = y % 11; break;
	case 109: sink += 3; break;
	default: r = -1;
	}
	return r + sink;
}
N(int every_negative)(long x, long y)
{
	switch (x) {
	case -3: return (int)(y * 3);
	case -2: return (int)(y + 7);
	case -1: sink = (int)y; return 9;
	case 0: return (int)(y << 3);
	case 1: return (int)(y / 3);
	case 2: return (int)(y ^ 0x55);
	default: return 5;
	}
}
N(int every_char)(const char *s)
{
	int r = 0;

	for (; *s; s++)
		switch (*s) {
		case 'a': r += 2; break;
		case 'b': r *= 3; break;
		case 'c': r ^= 0x1234; break;
		case 'd': sink = r; break;
		case 'e': r -= sink; break;
		case 'g': r >>= 1; break;
		case 'i': r = -r; break;
		case 'j': r |= 64; break;
		default: r++;
		}
	return r;
}
N(int masked)(unsigned x, int y)
{
	switch (x & 7) {
	case 0: return y * 3;
	case 1: return y + 7;
	case 2: sink = y; return 9;
	case 3: return y << 3;
	case 4: return y / 3;
	case 5: return y ^ 0x55;
	case 6: return y % 11;
	case 7: sink += 3; return 1;
	}
	return 0;
}
struct thing { long pad; unsigned char kind; int n; };
N(int every_field)(struct thing *p)
{
	switch (p->kind) {
	case 1: return p->n * 3;
	case 2: return p->n + 7;
	case 3: sink = p->n; return 9;
	case 4: return p->n << 3;
	case 5: return p->n / 3;
	case 6: return p->n ^ 0x55;
	default: return 0;
	}
}
N(int every_nested)(int x, int y)
{
	switch (x) {
	case 0: return y;
	case 1: return y + 7;
	case 2:
		switch (y) {
		case 0: return 11 * sink;
		case 1: return 12 - sink;
		case 2: sink++; return 3;
		case 3: return 14 / (sink | 1);
		case 4: sink--; return 6;
		case 5: return 14 % (sink | 1);
		default: return 5;
		}
	case 3: return y << 3;
	case 4: return y / 3;
	case 5: sink = 4; return 2;
	default: return 0;
	}
}
N(int every_goto)(const unsigned char *code)
{
	static const void *const to[] = { &&stop, &&add, &&sub, &&twice, &&keep, &&swap };
	int a = 1, b = 2, t;

	goto *to[*code++];
add:	a += b; goto *to[*code++];
sub:	a -= b; goto *to[*code++];
twice:	a *= 2; goto *to[*code++];
keep:	sink = a; goto *to[*code++];
swap:	t = a; a = b; b = t; goto *to[*code++];
stop:	return a;
}
N(int every_interpreter)(const unsigned char *code, int n)
{
	int acc = 0, aux = 1;

	for (int i = 0; i < n; i++) {
		switch (code[i]) {
		case 0: acc += aux; break;
		case 1: acc -= aux; break;
		case 2: aux = acc; break;
		case 3: acc = every_dense(acc & 7, aux); break;
		case 4: acc *= 3; break;
		case 5: aux ^= 0x55; break;
		case 6: acc >>= 2; break;
		case 7: aux++; break;
		case 8: continue;
		case 9: sink = acc; break;
		default: acc = ~acc;
		}
		sink += acc;
	}
	return acc;
}
static int one(int x) { return x + sink; }
static int two(int x) { return x - sink; }
static int three(int x) { return x * sink; }
static int (*const table[])(int) = { one, two, three };
N(int by_table)(unsigned i, int x) { return table[i % 3](x); }
N(int by_pointer)(int (*f)(int), int x) { return f(x); }

int main(void)
{
	static const unsigned char program[] = { 1, 2, 3, 4, 5, 1, 3, 0 };
	unsigned char code[64];
	int s = every_char("") + every_interpreter(code, 0);

	for (int i = 0; i < 64; i++)
		code[i] = (unsigned char)(i % 11);
	for (int i = 0; i < 200; i++) {
		struct thing t = { 0, (unsigned char)(i % 8), i };

		s += every_dense(i % 9, i) + every_offset(98 + i % 14, i) + every_negative(i % 8 - 4, i);
		s += every_char("abcdefghijk") + masked((unsigned)i, i) + every_field(&t);
		s += every_nested(i % 7, i / 7 % 7) + every_goto(program) + every_interpreter(code, 64);
		s += by_table((unsigned)i, i) + by_pointer(table[i % 3], i);
	}
	return s == 42;
}
C
for cc in gcc clang; do
	for level in 0 1 2 3 s; do
		for form in "-fPIE -pie" "-fno-pie -no-pie"; do
			name="$cc -O$level $form"
			# shellcheck disable=SC2086 # words
			ok "$name: is compiled" "$cc" -w -g -O$level $form -o switches switches.c
			"$ASSAY" record --exact --observe values -o switches.db -- ./switches 2> record.err
			is "$name: runs" $? 0
			ok "$name: graphs are what ran" "$check" --every every_ switches.db
			said=$("$check" --every every_ switches.db | grep -E 'every|targets')
			diag "$said"
			like "$name: tables were there" "$said" '[1-9][0-9]* targets of indirect jumps'
		done
		strip -o stripped switches
		"$ASSAY" record --exact --observe values -o stripped.db -- ./stripped 2> record.err
		ok "$cc -O$level: graphs of the stripped program are what ran" "$check" stripped.db
	done
done
done_testing
