#!/bin/bash
# SPDX-License-Identifier: MIT
# Arguments and results by caller and callee against single-stepping: recursion, calls through pointers, tail calls, calls
# that are left by longjmp, that return on another stack, signals; then with a cache of code that is emptied meanwhile.
set -u
. "$(dirname "$0")/lib.sh"
truth=$BUILD/tests/progs/exact/static/truth # the same addresses natively and under the engine
read -r size begin < <(objdump -h "$truth" | awk '$2 == "truth_code" { print $3, $4 }')
end=$(printf %x $((0x$begin + 0x$size)))

agree() { # CASE OPTIONS…
	local case=$1 said
	shift
	timeout -s KILL 600 "$ASSAY" record --exact --observe calls --values 4096 "$@" -q -o calls.db -- "$truth" "$case" >out 2>err
	if said=$(timeout -s KILL 600 "$BUILD/tests/exact/calls" calls.db "0x$begin" "0x$end" "$truth" "$case" 2>&1); then
		pass "$case $*: $(tail -1 <<<"$said")"
	else
		fail "$case $*" "$said"
	fi
}
for c in recursion pointers calls; do
	agree $c
done
agree calls --cache 64
command -v jq >/dev/null || { skip "no jq"; done_testing; exit; }

# how many arguments and results of which call, without address randomisation, twice the same
numbers() { # FILE OPTIONS…
	local file=$1
	shift
	setarch -R "$ASSAY" record --exact --observe calls "$@" -q -o calls.db -- gzip -9 -c text >/dev/null 2>err
	"$ASSAY" calls -i calls.db --json -n 0 |
		jq -c '.calls[] | [.from.address, .to.address, .count, (.operands // [] | map([.operand, .observations]))]' |
		LC_ALL=C sort >"$file"
}
head -c 50000 /bin/bash >text
numbers all
numbers few --cache 64
ok "a cache that is emptied: the same calls, $(wc -l <all)" cmp all few
ok "… and there are some, with results" test "$(grep -c '"return"' all)" -gt 50

# What lies in a register that a procedure does not take as an argument is not told of.
cat >taken.c <<'C'
static volatile long sink;
#define APART __attribute__((noinline, noclone))
APART void none(void) { for (int i = 0; i < 3; i++) sink += i; }
APART void calls_none(void) { none(); sink++; }
APART void one(long a) { sink = a; }
APART void third(long a, long b, long c) { (void)a, (void)b; sink = c; }
APART void hands_on(long a, long b) { (void)b; one(a); sink++; }
APART void ends_in(long a, long b) { (void)b; one(a); }
APART void seldom(long a, long b) { (void)a; if (sink == 1000) sink = b; }
int main(void)
{
	void (*volatile pointer)(long) = one;

	for (long i = 0; i < 10; i++) {
		none(), calls_none(), one(7), third(1, 2, 3), hands_on(9, 10), ends_in(11, 12), seldom(13, 14);
		pointer(15);
	}
	return 0;
}
C
ok "a program whose procedures take some arguments" gcc -O1 -o taken taken.c
"$ASSAY" record --exact --observe calls -q -o taken.db -- ./taken
is "arguments are told of procedures that take them" \
	"$("$ASSAY" calls -i taken.db main --json | jq -c '[.callees[] | [.to.procedure] + [.operands[].operand] | join(" ")] | sort')" \
	'["calls_none return","ends_in return arg0","hands_on return arg0","none return","one return arg0","one return arg0","seldom return arg1","third return arg2"]'
done_testing
