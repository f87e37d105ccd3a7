#!/bin/bash
# SPDX-License-Identifier: MIT
# Graphs of real programs and their libraries, made from the files alone, against exact recordings that
# saw where each jump went: see cfg_programs.c.
. "$(dirname "$0")/../cli/lib.sh"
check=$BUILD/tests/long/cfg_programs

awk 'BEGIN { srand(7); for (i = 0; i < 4000; i++)
	printf "%d the quick %c fox %d jumps over the laziest dog %.6f\n", i, 97 + int(26 * rand()),
		int(1e6 * rand()), rand() }' > text
cat > work.pl <<'PL'
my %n;
while (<>) {
	for my $w (split) { $n{$w}++ if $w =~ /^[a-z]+$|\d\d(\d+)$/ }
	s/(\d+)/<$1>/g;
}
printf "%s %d\n", $_, $n{$_} for sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n;
PL
cat > work.sql <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO t SELECT i, hex(i * 7919 % 10007), i * 0.5 FROM n;
CREATE INDEX tb ON t(b);
SELECT b, count(*), sum(c), avg(length(b)) FROM t GROUP BY b ORDER BY 2 DESC, 1 LIMIT 20;
SELECT count(*) FROM t x JOIN t y ON x.b = y.b AND x.a < y.a;
SELECT printf('%d %s %.3f', a, b, c) FROM t WHERE b LIKE '%3%' LIMIT 10;
SQL
cat > source.c <<'C'
struct s { int a; long b; struct s *next; };
int f(struct s *p, int n)
{
	int r = 3;

	for (int k = 0; k < n; k++) {
		switch ((p->a + k) % 7) {
		case 0: r += p->b * 3; break;
		case 1: r -= p->b; break;
		case 2: r ^= n; break;
		case 3: return r;
		case 4: r <<= 1; break;
		case 5: r = -r; break;
		}
		p = p->next ? p->next : p;
	}
	return r;
}
double g(const double *x, int n) { double s = 0; while (n--) s += x[n] * x[n]; return s; }
C

cat > throws.cc <<'C'
#include <cstdio>
#include <stdexcept>
#include <string>
static int ended;
struct guard { ~guard() { ended++; } };
__attribute__((noinline)) int throws(int i)
{
	if (i % 3 == 0)
		throw std::runtime_error("x");
	return i;
}
__attribute__((noinline)) int passes(int i) { guard g; return throws(i) + 1; }
__attribute__((noinline)) int catches(int i)
{
	guard g;
	std::string s(i, 'a');
	try {
		return passes(i) + (int)s.size();
	} catch (const std::runtime_error &e) {
		return e.what()[0];
	}
}
int main()
{
	int s = 0;
	for (int i = 0; i < 100; i++)
		s += catches(i);
	return std::printf("%d %d\n", s, ended) < 0;
}
C
g++ -O2 -o throws throws.cc

for p in gzip perl sqlite3 cc1 ./throws; do
	case $p in
	gzip) cmd=(gzip -9 -c text) ;;
	perl) cmd=(perl work.pl text) ;;
	sqlite3) cmd=(sqlite3 :memory: ".read work.sql") ;;
	./throws) cmd=(./throws) ;;
	cc1) cmd=("$(gcc -print-prog-name=cc1)" -quiet -O2 source.c -o source.s) ;;
	esac
	if ! command -v "${cmd[0]}" > found 2>&1; then
		skip "$p is not installed"
		continue
	fi
	"$ASSAY" record --exact --observe values -o "$p.db" -- "${cmd[@]}" > out 2> errors
	is "$p runs" $? 0
	ok "$p: graphs are what ran" "$check" "$p.db"
	said=$("$check" "$p.db")
	diag "$said"
	like "$p: jumps were there" "$said" '[1-9][0-9]+ targets of indirect jumps'
done
done_testing
