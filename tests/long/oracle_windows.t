#!/bin/bash
# SPDX-License-Identifier: MIT
# Real windows of nine programs: run ahead, then single-stepped and compared. WINDOWS: how many of
# each.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
stepper=${ORACLE_WINDOWS:-$build/tests/long/oracle_windows}
windows=${WINDOWS:-3000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

text() {
	awk 'BEGIN { srand(7); for (i = 0; i < 150000; i++) {
		printf "%d the quick %c fox %d jumps over %s dog %.6f\n", i, 97 + int(26 * rand()),
			int(1e6 * rand()), (rand() < 0.5) ? "a lazy" : "the laziest", rand() } }'
}

c_source() {
	awk 'BEGIN { for (i = 0; i < 400; i++) {
		printf "struct s%d { int a; long b; struct s%d *next; };\n", i, i
		printf "int f%d(struct s%d *p, int n)\n{\n\tint r = %d;\n", i, i, i
		printf "\tfor (int k = 0; k < n; k++) {\n\t\tswitch ((p->a + k) %% 7) {\n"
		for (c = 0; c < 7; c++) printf "\t\tcase %d: r += p->b * %d; break;\n", c, c * i + 1
		printf "\t\t}\n\t\tp = p->next ? p->next : p;\n\t}\n\treturn r;\n}\n" } }'
}

text > "$tmp/text"
c_source > "$tmp/source.c"
cat > "$tmp/work.pl" <<'PL'
my %n;
for my $round (1 .. 20) {
	open(my $f, '<', $ARGV[0]) or die;
	while (<$f>) {
		for my $w (split) { $n{$w}++ if $w =~ /^[a-z]+$|\d\d(\d+)$/ }
		tr/a-z/A-Z/ if $. % 3 == 0;
		s/(\d+)/<$1>/g;
	}
	my @top = (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0 .. 9];
}
PL
cat > "$tmp/work.py" <<'PY'
import json, re, sys
for _ in range(20):
    n = {}
    for line in open(sys.argv[1]):
        for w in line.split():
            n[w] = n.get(w, 0) + 1
        m = re.search(r"fox (\d+) jumps (\w+)", line)
        if m and int(m.group(1)) % 3:
            n[m.group(2)] = str(n.get(m.group(2), 0))[:8]
    json.loads(json.dumps(sorted(map(str, n.items()))))
PY
cat > "$tmp/work.sql" <<'SQL'
CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO t SELECT i, hex(i * 7919 % 10007), i * 0.5 FROM n;
CREATE INDEX tb ON t(b);
SELECT b, count(*), sum(c), avg(length(b)) FROM t GROUP BY b ORDER BY 2 DESC, 1 LIMIT 20;
SELECT count(*) FROM t x JOIN t y ON x.b = y.b AND x.a < y.a WHERE x.a < 20000;
UPDATE t SET b = b || a WHERE a % 3 = 0;
SELECT count(DISTINCT substr(b, 1, 3)) FROM t WHERE b LIKE '%3%';
SQL

programs=(gzip bzip2 xz perl python3 sqlite3 cc1 as sort)
echo "1..$((${#programs[@]} + 1))"
total=0 i=0 seed=${SEED:-1}
for p in "${programs[@]}"; do
	i=$((i + 1))
	case $p in
	gzip | bzip2) cmd=("$p" -9 -c "$tmp/text") ;;
	xz) cmd=(xz -T1 -6 -c "$tmp/text") ;;
	perl) cmd=(perl "$tmp/work.pl" "$tmp/text") ;;
	# the interpreter itself, not a script that picks one
	python3) cmd=("$(python3 -c 'import sys; print(sys.executable)' 2> "$tmp/err")" \
		"$tmp/work.py" "$tmp/text") ;;
	sqlite3) cmd=(sqlite3 :memory: ".read $tmp/work.sql") ;;
	# the C library's memcmp, strcmp, strlen and the like
	as) gcc -O2 -S "$tmp/source.c" -o "$tmp/as.s" && cmd=(as "$tmp/as.s" -o "$tmp/as.o") ;;
	sort) cmd=(sort --parallel=1 "$tmp/text") ;;
	cc1) cmd=("$(gcc -print-prog-name=cc1)" -quiet -O2 "$tmp/source.c" -o "$tmp/source.s") ;;
	esac
	if ! command -v "${cmd[0]}" > "$tmp/err" 2>&1; then
		echo "ok $i - $p # SKIP $p is not installed"
		continue
	fi
	"$stepper" --seed "$seed" --windows "$windows" "${cmd[@]}" > "$tmp/out" 2>&1
	status=$?
	sed 's/^#* */# /' "$tmp/out"
	n=$(sed -n 's/.*: \([0-9]*\) windows in .*/\1/p' "$tmp/out")
	total=$((total + ${n:-0}))
	if [ $status = 0 ] && [ "${n:-0}" -ge "$windows" ]; then
		echo "ok $i - $p: $n windows, no difference"
	else
		echo "not ok $i - $p: exit $status, ${n:-0} windows"
	fi
done
i=$((i + 1))
if [ $total -ge $((windows * 20 / 3)) ]; then
	echo "ok $i - $total windows compared"
else
	echo "not ok $i - only $total windows compared"
fi
