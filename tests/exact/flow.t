#!/bin/bash
# SPDX-License-Identifier: MIT
# As much control reaches each instruction of a recording as leaves it (tests/exact/flow has what that means).
set -u
. "$(dirname "$0")/lib.sh"
truth=$BUILD/tests/progs/exact/static/truth

balance() { # NAME EXPECTED COMMAND…
	local name=$1 expected=$2 said
	shift 2
	timeout -s KILL 600 "$ASSAY" record --exact $observe -q -o flow.db -- "$@" >out 2>err
	said=$("$BUILD/tests/exact/flow" flow.db)
	like "$name: $(grep -o 'executions [0-9]*' <<<"$said")" "$said" "$expected"
}
one=', starts 1, ends 1, interrupts 0, odd 0$'
observe=
for c in recursion jumps loops pointers operands; do
	balance $c "$one" "$truth" $c
done
# blocks that go on behind branches
observe='--observe values'
for c in jumps loops pointers operands; do
	balance "$c, with values" "$one" "$truth" $c
done
balance "retried, with values" ', starts 1, ends 1, interrupts 10, odd 0$' "$truth" retried
balance "storm, with values" ', starts 1, ends 1, interrupts [0-9]*, odd 0$' "$truth" storm storms
observe=
# four children, one of them killed in its system call; five threads
balance children ', starts 5, ends 5, interrupts 0, odd 0$' "$truth" children
balance threads ', starts 6, ends 6, interrupts 0, odd 0$' "$truth" threads
balance retried ', starts 1, ends 1, interrupts 10, odd 0$' "$truth" retried
balance storm ', odd 0$' "$truth" storm storms
storms=$(cut -d' ' -f2 storms)
like "… handlers as often as there were signals" "$("$BUILD/tests/exact/flow" flow.db)" \
	", starts 1, ends 1, interrupts $storms, odd 0\$"
# ten writes that fault, from which handlers do not return
balance signals ', odd 0$' "$truth" signals
# a child that the kernel ends, at an instruction
balance "killed by its own fault" ', starts 1, ends 1, interrupts 0, odd 0$' bash -c 'kill -SEGV $$'

cat >query.c <<'C'
#include <sqlite3.h>
#include <stdio.h>
static int row(void *p, int n, char **v, char **k) { (void)p, (void)k; for (int i = 0; i < n; i++) printf("%s ", v[i]); puts(""); return 0; }
int main(void) { sqlite3 *d; char *e = 0; sqlite3_open(":memory:", &d);
	sqlite3_exec(d, "create table t(a integer primary key, b, c text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)"
		" insert into t select i, i * 7919 % 101, 'row ' || i from n; create index x on t(b); select b, count(*), max(c) from t group by b order by 2, 1 limit 5;"
		"select count(*) from t x join t y on x.b = y.b where y.a < 50; select sum(a) from t where c like '%7%';", row, 0, &e);
	puts(e ? e : "ok"); sqlite3_close(d); return 0; }
C
if gcc -O1 -static -no-pie -o query query.c -lsqlite3 -lm -ldl -lpthread 2>err; then
	balance "sqlite, static" "$one" "$TMP/query"
	like "… its own output" "$(<out)" '^ok$'
else
	skip "no static libsqlite3 (libsqlite3-dev): $(head -1 err)"
fi

whole() { # NAME COMMAND…
	local name=$1
	shift
	command -v "$1" >/dev/null || { skip "$name: not installed"; return; }
	balance "$name" "$one" "$@"
}
head -c 100000 "$(command -v bash)" >input
whole gzip gzip -9 -c input
observe='--observe addresses'
whole "gzip" gzip -9 -c input
observe=
whole bzip2 bzip2 -c input
whole xz xz -1 -c input
whole sqlite3 sqlite3 :memory: 'create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;'
whole perl perl -e 'my %h; $h{$_ % 97} .= $_ for 1 .. 5000; print join(",", map { length $h{$_} } sort keys %h), "\n"; print "x" =~ /^(?:x|y)$/;'
whole awk awk 'BEGIN { for (i = 0; i < 20000; i++) n[i % 71] += length(i); for (k in n) s += n[k]; print s }'
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
echo 'int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n % 7; return s; }' >f.c
[ -x "$cc1" ] && whole cc1 "$cc1" -quiet -O2 f.c -o f.s || skip "gcc is not installed"
done_testing
