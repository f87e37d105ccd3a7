#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that people run, from Debian's packages: natively and under the runner, the same output and end.
# Usage: tests/exact/real.t [NAME…]      (each NAME is a function real_NAME below; all without arguments)
# What is not installed is skipped. Servers listen on 127.0.0.1 or a socket below $TMP, and end with the script
# that started them; whatever does not is killed by trial.
set -u
. "$(dirname "$0")/lib.sh"
need_runner

# Input, made once: text of 3 MB and a tree of files.
input() {
	[ ! -e "$TMP/text" ] || return 0
	find /usr/include -maxdepth 2 -name '*.h' -type f | LC_ALL=C sort | head -600 | xargs cat 2>/dev/null |
		head -c 3000000 >"$TMP/text"
	mkdir -p "$TMP/tree"
	split -b 50000 -a 3 "$TMP/text" "$TMP/tree/part-"
	find "$TMP/tree" -exec touch -d @1700000000 {} +
}

needs() { # COMMAND…: whether all are there; else a skip
	local c
	for c; do
		command -v "$c" >/dev/null || { skip "$name: $c is not installed"; return 1; }
	done
	input
}

same() { # OPTIONS… COMMAND…: compare under the function's name
	compare "$name" "$@"
}

script() { # [-t SECONDS] [-f FILTER] INTERPRETER…: runs standard input as a script
	local options=()
	while [ "${1#-}" != "$1" ]; do
		options+=("$1" "$2")
		shift 2
	done
	cat >"$TMP/$name.script"
	same "${options[@]}" "$@" "$TMP/$name.script"
}

real_gzip() { needs gzip && same gzip -9 -n -c text; }
real_gunzip() { needs gzip && gzip -n -c text >text.gz && same gzip -d -c text.gz; }
real_bzip2() { needs bzip2 && same bzip2 -c text; }
real_bunzip2() { needs bzip2 && bzip2 -c text >text.bz2 && same bzip2 -d -c text.bz2; }
real_xz() { needs xz && same xz -2 -T1 -c text; }
real_xz_threads() { needs xz && same xz -1 -T2 --block-size=400000 -c text; }
real_zstd() { needs zstd && same zstd -q -9 -T1 -c text; }
real_zstd_threads() { needs zstd && same zstd -q -5 -T2 -c text; }
real_coreutils() {
	needs sort && script bash <<-'S'
	sort text | uniq -c | sort -rn -k1,1 -k2 | head -50
	sha256sum text; md5sum tree/*; wc text; tr a-z A-Z < text | cksum; cut -c1-5 text | sort -u | wc -l
	ls -l --time-style=+ tree | head; find tree -name '*a' | LC_ALL=C sort; seq 100000 | paste -sd+ | cksum
	factor 123456789012345678; numfmt --to=iec 123456789; expr 3 + 4; printf '%s\n' "${PWD##*/}" | wc -c
	S
}
real_sort_parallel() { needs sort && same sort --parallel=2 -S 1M text; }
real_grep() { needs grep && same grep -rnE '(struct|union) [a-z_]+ \{$' tree; }
real_sed() { needs sed && same sed -nE 's/([a-z]+)_([a-z]+)/\2-\1/gp' text; }
real_awk() { needs awk && same awk '{ n[$1]++; l += length } END { for (k in n) if (n[k] > 50) print n[k], k | "sort"; close("sort"); print l, sin(1) }' text; }
real_gawk() { needs gawk && same gawk 'BEGIN { RS = "[;{}]" } { s += NF } END { print s, NR; printf "%.10f\n", exp(1) }' text; }
real_tar() {
	needs tar gzip && script bash <<-'S'
	tar --sort=name --owner=0 --group=0 -cf - tree | cksum
	tar --sort=name --owner=0 --group=0 -czf tree.tgz tree && rm -rf out && mkdir out && tar -xzf tree.tgz -C out
	diff -r tree out/tree && echo same; tar -tvzf tree.tgz | wc -l
	S
}
real_diff() {
	needs diff patch && script bash <<-'S'
	sed 's/int/long/' tree/part-aaa > a; diff -u tree/part-aaa a > d; sed 1,2d d | cksum
	cp tree/part-aaa b; patch -s b < d; cmp a b && echo same; rm -f a b d
	S
}
real_sqlite3() {
	needs sqlite3 && cat >sql <<-'S' && same sqlite3 :memory: '.read sql'
	CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT);
	WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
	  INSERT INTO t SELECT i, (i * 7919) % 1009, 'row-' || (i * 31 % 6553) FROM n;
	CREATE INDEX t_a ON t(a);
	SELECT a, count(*), max(b) FROM t GROUP BY a ORDER BY 2 DESC, 1 LIMIT 20;
	SELECT count(*) FROM t x JOIN t y ON x.a = y.a AND y.id < 500;
	SELECT sum(id) FROM t WHERE b LIKE '%77%';
	SELECT json_group_array(a) FROM (SELECT DISTINCT a FROM t ORDER BY a LIMIT 10);
	S
}
real_perl() {
	needs perl && script perl <<-'S'
	use strict; my %n; open my $f, '<', 'text' or die;
	while (<$f>) { $n{lc $_}++ for /[A-Za-z_]\w+/g; }
	print "$_ $n{$_}\n" for (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0 .. 200];
	my @p = map { my $p = fork; exit $_ unless $p; $p } 1 .. 5; print waitpid($_, 0) == $_ ? $? >> 8 : 'bad', "\n" for @p;
	local $SIG{ALRM} = sub { die "alarm\n" }; eval { alarm 1; 1 while 1; }; print $@;
	print sprintf("%.15g", sqrt(2)), " ", `echo from a shell`;
	S
}
real_python3() {
	needs python3 && script python3 <<-'S'
	import collections, hashlib, json, re, subprocess, threading, zlib, decimal, random, struct, ctypes, signal, os
	text = open('text', errors='replace').read()
	print(collections.Counter(re.findall(r'\w+', text)).most_common(20))
	print(hashlib.sha256(text.encode()).hexdigest(), zlib.crc32(text.encode()))
	print(len(json.dumps({str(i): [i, i / 7] for i in range(20000)})))
	results = [0] * 8
	def work(i):
	    for j in range(20000): results[i] += j * i
	ts = [threading.Thread(target=work, args=(i,)) for i in range(8)]
	[t.start() for t in ts]; [t.join() for t in ts]; print(results)
	print(subprocess.run(['tr', 'a-z', 'A-Z'], input='through a pipe', capture_output=True, text=True).stdout)
	random.seed(5); print(random.random(), decimal.Decimal(2).sqrt(), 3 ** 500 % 10 ** 30)
	ctypes.CDLL(None).qsort; print(ctypes.CDLL(None).abs(-5))
	signal.signal(signal.SIGALRM, lambda n, f: print('alarm', n)); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
	def f(n): return f(n - 1) + 1 if n else 0
	print(f(900))
	try: f(10000)
	except RecursionError: print('too deep')
	print(os.path.basename(os.readlink('/proc/self/exe')))
	S
}
real_python3_processes() {
	needs python3 && script python3 <<-'S'
	import multiprocessing
	def f(x): return x * x
	if __name__ == '__main__':
	    for method in 'fork', 'spawn':
	        with multiprocessing.get_context(method).Pool(3) as p:
	            print(method, p.map(f, range(30)))
	S
}
c_program() {
	cat <<-'S'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <math.h>
	static int compare(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
	int main(int argc, char **argv) { qsort(argv + 1, argc - 1, sizeof *argv, compare);
	  for (int i = 1; i < argc; i++) printf("%s %.6f\n", argv[i], sqrt(i)); return argc; }
	S
}
real_gcc() {
	needs gcc && c_program >p.c && script bash <<-'S'
	gcc -O2 -g -o p p.c -lm && ./p b a c; echo $?; gcc -O0 -S -o - p.c | cksum; gcc -flto -O2 -o p p.c -lm && ./p x; echo $?
	echo 'int main( {' | gcc -x c -fno-diagnostics-color - ; echo $?; rm -f p
	S
}
real_cc1() { needs gcc && gcc -E -include /usr/include/stdio.h -x c - </dev/null >p.i && c_program | gcc -E -x c - >p.i && same "$(gcc -print-prog-name=cc1)" -quiet -O2 -fpreprocessed p.i -o -; }
real_as_ld() {
	needs as ld && script bash <<-'S'
	printf '.globl _start\n_start: mov $60,%%eax\nmov $9,%%edi\nsyscall\n' > p.s
	as -o p.o p.s && ld -o p p.o && ./p; echo $?; objdump -d --no-show-raw-insn p | tail -3; readelf -h p | grep Entry
	nm p; strip p; cksum < p; ar rcs p.a p.o; ar t p.a; rm -f p p.[soa]
	S
}
real_clang() {
	needs clang && c_program >p.c && script bash <<-'S'
	clang -O2 -o p p.c -lm && ./p b a; echo $?; clang -S -emit-llvm -O1 -o - p.c | cksum; rm -f p
	S
}
real_gxx() {
	needs g++ dash && script bash <<-'S'
	printf '#include <iostream>\n#include <map>\n#include <regex>\nint main() { std::map<std::string,int> m; m["a"] = 1; std::cout << m.size() << std::regex_match("ab", std::regex("a.")) << std::endl; throw 5; }\n' > p.cc
	g++ -O1 -o p p.cc && dash -c './p; echo $?'; rm -f p p.cc
	S
}
# A real project: libiberty of Debian's binutils-source, with its own configure and make.
real_make() {
	local tar
	tar=$(ls /usr/src/binutils/binutils-*.tar.xz 2>/dev/null | head -1)
	needs make gcc xz || return
	[ -n "$tar" ] || { skip "$name: binutils-source is not installed"; return; }
	if [ ! -d project ]; then
		mkdir project && tar -xJf "$tar" -C project --strip-components=1 --wildcards '*/libiberty/*' '*/include/*' '*/config*' \
			'*/install-sh' '*/move-if-change' '*/missing' '*/symlink-tree' '*/mkinstalldirs'
	fi
	script -t 900 bash <<-'S'
	rm -rf built && mkdir built && cd built && ../project/libiberty/configure -q CC=gcc AR=ar RANLIB=ranlib CFLAGS=-O1 > /dev/null && make -j2 AR=ar RANLIB=ranlib > log 2>&1
	echo $?; ar t libiberty.a | LC_ALL=C sort; nm libiberty.a | cut -c18- | LC_ALL=C sort | cksum
	S
}
real_bash() {
	needs bash && script bash <<-'S'
	trap 'echo exit trap' EXIT; trap 'echo usr1' USR1
	kill -USR1 $$; (kill -USR1 $$); wait
	seq 1000 | while read -r i; do echo $((i * i)); done | sort -n | tail -3
	for i in $(seq 50); do (exit $i) & done; wait; echo ${PIPESTATUS[@]}
	diff <(seq 10) <(seq 2 11); coproc cat; echo hello >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
	declare -A a; for w in $(head -c 100000 text | tr -cs a-z ' '); do ((a[$w]++)); done; for w in "${!a[@]}"; do echo "${a[$w]} $w"; done | sort -rn | head -5
	timeout 1 sleep 5; echo $?; (ulimit -v 500000; echo limited); f() { [ "$1" = 0 ] || f $(($1 - 1)); }; f 300; echo $?
	(sh -c 'kill -9 $$'; echo $?; sh -c 'kill -SEGV $$'; echo $?) 2> /dev/null; (trap '' PIPE; yes 2>/dev/null | head -1); exec 3<>/dev/null; echo $BASHPID | grep -c .
	S
}
real_dash() { needs dash && script dash <<-'S'
	i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo $i; echo a b | (read x y; echo "$y $x"); ls tree | wc -l; cat <<E
	here $i
E
	S
}
real_zsh() { needs zsh && script zsh <<-'S'
	setopt extendedglob; print -l tree/*a(N) | head -5; typeset -A m; for w in ${(s: :)"a b a c"}; do ((m[$w]++)); done; print ${(k)m} | tr ' ' '\n' | sort; print $((2.0 ** 0.5))
	S
}
real_git() {
	needs git && script bash <<-'S'
	rm -rf repo copy; export HOME=$PWD GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
	export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	git init -q -b main repo && cd repo && cp ../tree/* . && git add . && git commit -q -m first
	for f in part-*; do sed -i 's/int/long/' $f; git commit -qam "change $f"; [ $f != part-aai ] || break; done
	git log --stat --oneline | cat; git gc -q; git fsck 2>&1; cd ..; git clone -q repo copy 2>&1; cd copy; git log --format=%H%n%s | cksum
	git checkout -q -b side HEAD~3; echo x >> part-aab; git commit -qam side; git merge -q main 2>&1 | head -3; git diff --stat main | cat; git grep -c define | tail -3
	S
}
real_openssl() {
	needs openssl && script bash <<-'S'
	for d in md5 sha1 sha256 sha512 sha3-256 blake2b512; do openssl dgst -$d text; done
	for c in aes-128-gcm aes-256-cbc chacha20 camellia-128-cbc; do [ $c = aes-128-gcm ] || openssl enc -$c -K 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff -iv 000102030405060708090a0b0c0d0e0f -in text 2>/dev/null | cksum; done
	openssl prime -generate -bits 64 | grep -c .; openssl genrsa 1024 2>/dev/null | openssl rsa -check -noout 2>/dev/null
	openssl ecparam -name prime256v1 -genkey -noout -out key && openssl dgst -sha256 -sign key -out sig text && openssl ec -in key -pubout -out pub 2>/dev/null && openssl dgst -sha256 -verify pub -signature sig text; rm -f key sig pub
	S
}
real_openssl_speed() { needs openssl && same -t 300 -f 'sed -E "s/[0-9]+(\.[0-9]+)?k?/N/g; s/ +/ /g"' sh -c 'openssl speed -seconds 1 -bytes 8192 md5 sha256 sha512 rsa1024 ecdsap256 2>/dev/null'; }
real_redis() {
	needs redis-server redis-benchmark redis-cli && script -t 180 -f 'grep -vE "^$|requests completed|parallel|payload|keep alive|percentile|latency|cumulative|throughput|milliseconds|avg |[0-9]+\.[0-9]+ "' bash <<-'S'
	sock=$PWD/redis.sock; rm -f "$sock"
	redis-server --port 0 --unixsocket "$sock" --save '' --appendonly no --daemonize no > redis.log 2>&1 & pid=$!
	for i in $(seq 300); do [ -S "$sock" ] && redis-cli -s "$sock" ping > /dev/null 2>&1 && break; sleep 0.1; done
	redis-benchmark -q -s "$sock" -n 3000 -c 20 -t set,get,incr,lpush,hset,zadd,mset > bench.log 2>&1; echo "benchmark $?"; tr '\r' '\n' < bench.log | sed -n 's/: .* requests per second.*//p' | sort -u
	redis-cli -s "$sock" eval 'local s = 0; for i = 1, 100000 do s = s + i end; return s' 0; [ "$(redis-cli -s "$sock" llen mylist)" -ge 3000 ] && echo pushed; redis-cli -s "$sock" set k v; redis-cli -s "$sock" get k
	redis-cli -s "$sock" config set save '3600 1' ; redis-cli -s "$sock" bgsave; redis-cli -s "$sock" shutdown nosave; wait $pid; echo "server $?"
	S
}
real_postgres() {
	local bin
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)
	[ -n "$bin" ] && [ -x "$bin/pgbench" ] || { skip "$name: postgresql is not installed"; return; }
	needs setpriv || return
	chmod 755 "$TMP"; rm -rf pg; mkdir pg; chmod 777 pg
	cat >pg.sh <<-S
	cd $TMP/pg && rm -rf data sock && mkdir sock && export PATH=$bin:/usr/bin:/bin PGHOST=$TMP/pg/sock LC_ALL=C
	initdb -D data -N -A trust > initdb.log 2>&1; echo initdb \$?
	pg_ctl -D data -w -t 120 -o "-c listen_addresses='' -c fsync=off -k $TMP/pg/sock" -l log start > /dev/null; echo start \$?
	createdb b; pgbench -q -i -s 1 b > /dev/null 2>&1; echo init \$?
	pgbench -n -c 4 -j 2 -t 50 b 2>&1 | grep -E 'actually|failed|clients'; psql -Atc "select count(*), sum(abalance) - sum(delta) from pgbench_accounts, (select sum(delta) delta from pgbench_history) h group by delta is null" b | cut -d'|' -f1
	psql -Atc "select md5(string_agg(i::text, ',')) from generate_series(1, 50000) i" b; psql -Atc 'select 1/0' b 2>&1
	pg_ctl -D data -w -t 120 -m fast stop > /dev/null; echo stop \$?
	S
	if [ "$(id -u)" = 0 ]; then
		same -t 400 setpriv --reuid 65534 --regid 65534 --clear-groups bash pg.sh
	else
		same -t 400 bash pg.sh
	fi
}
real_nginx() {
	needs nginx ab && script -t 120 bash <<-'S'
	port=$((20000 + $$ % 20000)); rm -rf web && mkdir -p web/logs && cp text web/index.html && echo small > web/small
	cat > web/conf <<-C
	daemon off; worker_processes 2; pid $PWD/web/pid; error_log $PWD/web/logs/error; user root;
	events { worker_connections 200; }
	http { access_log off; client_body_temp_path web/b; proxy_temp_path web/p; fastcgi_temp_path web/f; uwsgi_temp_path web/u; scgi_temp_path web/s;
	server { listen 127.0.0.1:$port; root $PWD/web; gzip on; gzip_types text/html; } }
	C
	nginx -p "$PWD" -c "$PWD/web/conf" 2>/dev/null & pid=$!
	for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/$port) 2>/dev/null && break; sleep 0.1; done
	ab -q -n 1000 -c 10 http://127.0.0.1:$port/small 2>&1 | grep -E 'Complete|Failed|Non-2xx|Document Length'
	ab -q -n 20 -c 5 http://127.0.0.1:$port/ 2>&1 | grep -E 'Complete|Failed|Document Length'
	kill -HUP $pid; sleep 0.3; ab -q -n 100 -c 5 http://127.0.0.1:$port/none 2>&1 | grep -E 'Complete|Non-2xx'; kill -QUIT $pid; wait $pid; echo "server $?"
	S
}
real_memcached() {
	needs memcached && script -t 60 bash <<-'S'
	s=$PWD/m.sock; rm -f $s; memcached -u "$(id -un)" -s $s -t 4 & pid=$!; for i in $(seq 50); do [ -S $s ] && break; sleep 0.1; done; kill $pid; wait $pid; echo $?
	S
}
real_lua() {
	needs lua5.4 && script lua5.4 <<-'S'
	local t = {} for i = 1, 200000 do t[i] = (i * 7919) % 100003 end table.sort(t) print(t[1], t[#t])
	local co = coroutine.wrap(function() for i = 1, 10000 do coroutine.yield(i) end end) local s = 0 for i = 1, 10000 do s = s + co() end print(s)
	print(pcall(function() error('e', 0) end)) print(("x"):rep(10):gsub("x", "yz")) print(string.format("%.14g", math.pi))
	print(select(2, pcall(function() local function f() return f() + 1 end return f() end)):match("stack overflow"))
	S
}
luajit_script() {
	cat <<-'S'
	local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end print(fib(27))
	local s = 0 for i = 1, 2e7 do s = s + i % 7 end print(s)
	local t = {} for i = 1, 100000 do t[i] = tostring(i):reverse() end table.sort(t) print(t[1], t[100000])
	local ffi = require("ffi") ffi.cdef[[int abs(int); double sqrt(double); typedef struct { int x; double y; } p; void qsort(void *, size_t, size_t, int (*)(const int *, const int *));]]
	local a = ffi.new("p[1000]") for i = 0, 999 do a[i].x = i a[i].y = i / 2 end local u = 0 for j = 1, 1000 do for i = 0, 999 do u = u + a[i].x * a[i].y end end print(u, ffi.C.abs(-5), ffi.C.sqrt(2))
	local v = ffi.new("int[100]") for i = 0, 99 do v[i] = (i * 37) % 101 end ffi.C.qsort(v, 100, 4, function(x, y) return x[0] - y[0] end) print(v[0], v[99])
	for i = 1, 200 do local f = loadstring("local s = 0 for i = 1, 100 do s = s + i * " .. i .. " end return s") u = u + f() end print(u)
	S
}
real_luajit() { needs luajit && script luajit < <(luajit_script); }
real_luajit_interpreter() { needs luajit && script luajit -joff < <(luajit_script | sed s/2e7/2e6/); }
real_node() {
	needs node && script -t 120 node <<-'S'
	const c = require('crypto'), fs = require('fs'), z = require('zlib'), { Worker, isMainThread, parentPort } = require('worker_threads');
	if (!isMainThread) { let s = 0; for (let i = 0; i < 1e6; i++) s = (s * 31 + i) | 0; parentPort.postMessage(s); } else {
	const text = fs.readFileSync('text');
	console.log(c.createHash('sha256').update(text).digest('hex'), z.gzipSync(text).length, z.brotliCompressSync(text.subarray(0, 100000), {}).length);
	let s = 0; for (let i = 0; i < 3e7; i++) s = (s + i * i) % 1000003; console.log(s);
	const o = {}; for (const w of text.toString('latin1').match(/\w+/g)) o[w] = (o[w] || 0) + 1;
	console.log(Object.entries(o).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 20).join());
	class A { f(x) { return x + 1; } } class B extends A { f(x) { return super.f(x) * 2; } } let y = 0; for (let i = 0; i < 1e6; i++) y = (i & 1 ? new A() : new B()).f(y) & 0xffff; console.log(y);
	try { (function f() { f(); })(); } catch (e) { console.log(e.constructor.name); }
	const w = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11]))); console.log(w.exports.add(40, 2));
	console.log(require('child_process').execSync('echo from a shell').toString());
	new Worker(__filename).on('message', m => { console.log(m); setTimeout(() => { console.log('timer'); process.exit(3); }, 20); }); }
	S
}
real_go() { # programs in Go that Debian has
	needs fzf && same bash -c 'fzf --filter "struct xauth" <text'
	name=$name-pipe script bash <<-'S'
	fzf --filter=t < text | cksum; fzf --version | wc -l
	S
}
real_age() {
	needs age age-keygen && script bash <<-'S'
	rm -f k; age-keygen -o k 2>/dev/null; age -r "$(age-keygen -y k)" < text | age -d -i k | cksum
	S
}
real_go_build() { # the Go tool chain itself, and what it built
	needs go && cat >p.go <<-'S' && script -t 300 bash <<-'T'
	package main
	import ("fmt"; "sync"; "sort"; "runtime"; "time"; "os")
	func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }
	func main() {
		var wg sync.WaitGroup; var mu sync.Mutex; var r []int
		for i := 0; i < 200; i++ { wg.Add(1); go func(i int) { defer wg.Done(); v := fib(i % 20); mu.Lock(); r = append(r, v); mu.Unlock(); runtime.Gosched() }(i) }
		wg.Wait(); sort.Ints(r); fmt.Println(r)
		c := make(chan int); go func() { for i := 0; i < 10000; i++ { c <- i }; close(c) }(); s := 0; for v := range c { s += v }; fmt.Println(s)
		func() { defer func() { fmt.Println(recover()) }(); var p *int; fmt.Println(*p) }()
		go func() { for { } }(); time.Sleep(20 * time.Millisecond); runtime.GC(); m := map[string][]byte{}; for i := 0; i < 20000; i++ { m[fmt.Sprint(i % 1000)] = make([]byte, 1000) }; fmt.Println(len(m)); os.Exit(4)
	}
	S
	export HOME=$PWD GOCACHE=$PWD/gocache GOFLAGS=-mod=mod GO111MODULE=off; go build -o gop p.go; echo $?; ./gop; echo $?
	T
}
real_rust() { needs rg && same rg --no-config -j2 --sort path -n '(struct|union) [a-z_]+ \{$' tree; }
real_rust_threads() { needs rg && same -f sort rg --no-config -j4 -c 'define' tree; }
real_fd() { needs fdfind && same -f sort fdfind -j 4 a tree; }
real_rustc() {
	needs rustc && echo 'use std::thread; fn main() { let v: Vec<u64> = (0..8).map(|i| thread::spawn(move || (0..100000u64).fold(i, |a, b| a.wrapping_mul(31) ^ b))).map(|t| t.join().unwrap()).collect(); println!("{:?}", v); let r = std::panic::catch_unwind(|| { let v: Vec<i32> = vec![]; v[3] }); println!("{}", r.is_err()); std::process::exit(6) }' >p.rs &&
		script -t 300 bash <<-'S'
	rustc -O -o rs p.rs; echo $?; ./rs 2>/dev/null; echo $?
	S
}
real_busybox() {
	needs busybox && script busybox sh <<-'S'
	busybox sort text | busybox uniq -c | busybox sort -rn | busybox head -5; busybox sha256sum text; busybox gzip -c text | busybox gunzip | busybox crc32; busybox awk '{ n += NF } END { print n }' text
	busybox seq 1000 | busybox wc -l; busybox tar -cf - tree | busybox tar -tf - | busybox wc -l; busybox vi --help 2>&1 | busybox head -1
	S
}
real_vim() {
	local vim=
	for vim in vim.basic vim.tiny vim; do command -v $vim >/dev/null && break; done
	needs $vim && script bash <<-S
	cp text v; $vim -u NONE -es -c '%s/int/long/ge' -c 'g/^#/d' -c 'sort u' -c wq v < /dev/null; echo \$?; cksum < v; rm -f v
	S
}
real_emacs() {
	needs emacs && script -t 120 emacs --batch -Q --load <<-'S'
	(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
	(princ (format "%d\n" (fib 20))) (with-temp-buffer (insert-file-contents-literally "text") (goto-char 1) (princ (format "%d\n" (how-many "struct"))) (sort-lines nil 1 (min (point-max) 100000)) (princ (md5 (current-buffer))))
	(condition-case e (error "caught") (error (princ (cadr e)))) (message "%s" (shell-command-to-string "echo from a shell")) (require 'json) (princ (json-encode '((a . 1) (b . [1 2 3]))))
	S
}
real_ffmpeg() { needs ffmpeg && same -t 120 ffmpeg -hide_banner -loglevel error -f lavfi -i testsrc=duration=1:size=320x240:rate=10 -f lavfi -i sine=duration=1 -threads 2 -c:v mpeg4 -c:a ac3 -bitexact -f framemd5 -; }
real_imagemagick() { local c; c=$(command -v convert-im6.q16 || echo convert); needs "$c" && same "$c" -size 300x300 -seed 5 plasma:red-blue -blur 0x3 -resize 50% -rotate 30 -depth 8 ppm:-; }
real_gnuplot() {
	needs gnuplot && script gnuplot <<-'S'
	set term dumb 79 24
	plot sin(x) * exp(-x / 5)
	set term svg
	set samples 200
	splot x**2 - y**2
	S
}
real_ghostscript() { needs gs && printf '%%!PS\n/f { dup 1 gt { dup 1 sub f exch 2 sub f add } if } def 15 f == 100 100 moveto /Times-Roman 30 selectfont (text) show 50 50 200 0 360 arc stroke showpage\n' >p.ps && same gs -q -dNOSAFER -dBATCH -dNOPAUSE -sDEVICE=ppmraw -r50 -sOutputFile=- p.ps; }
real_ocaml() {
	needs ocaml && script ocaml <<-'S'
	let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2);;
	print_int (fib 22); print_newline ();;
	module M = Map.Make (String);; let m = ref M.empty;; for i = 1 to 20000 do m := M.add (string_of_int i) i !m done; print_int (M.cardinal !m);;
	let rec deep n = 1 + deep (n + 1);; try print_int (deep 0) with Stack_overflow -> print_string "overflow";;
	S
}
real_ocamlopt() {
	needs ocamlfind ocamlopt 2>/dev/null && script bash <<-'S'
	echo 'let () = try List.hd [] with Failure s -> print_string s' > p.ml; ocamlopt -o ml p.ml && ./ml
	S
}
real_sbcl() {
	needs sbcl && script sbcl --script <<-'S'
	(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (print (fib 27))
	(print (handler-case (car 5) (type-error () "type error"))) (print (handler-case (/ 1 0) (division-by-zero () "division")))
	(let ((l nil)) (dotimes (i 300000) (push (make-string 20) l) (when (> (length l) 1000) (setf l nil)))) (gc :full t) (print (expt 3 200))
	(print (funcall (compile nil '(lambda (x) (* x 2))) 21))
	S
}
real_guile() {
	needs guile && script -t 120 guile --no-auto-compile -s <<-'S'
	(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (display (fib 25)) (newline)
	(display (call/cc (lambda (k) (for-each (lambda (x) (if (> x 5) (k x))) '(1 3 7 9)) 0))) (newline)
	(display (catch #t (lambda () (vector-ref (vector 1) 5)) (lambda (k . a) k))) (display (expt 7 100))
	S
}
real_php() {
	needs php && script php <<-'S'
	<?php $n = []; foreach (str_word_count(file_get_contents('text'), 1) as $w) @$n[$w]++; arsort($n); $k = array_slice($n, 0, 5); print_r($k);
	function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); } echo fib(24), "\n", md5_file('text'), "\n", json_encode([1.5, "a" => null]), preg_replace('/(\w)(\w)/', '$2$1', 'hello'), "\n";
	try { intdiv(1, 0); } catch (DivisionByZeroError $e) { echo $e->getMessage(), "\n"; } mt_srand(3); echo mt_rand(), "\n"; exit(9);
	S
}
real_ruby() {
	needs ruby && script ruby <<-'S'
	def fib(n) n < 2 ? n : fib(n - 1) + fib(n - 2) end
	puts fib(22), File.read('text', encoding: 'BINARY').scan(/\w+/).tally.max_by(5) { |k, v| [v, k] }.inspect
	puts 4.times.map { |i| Thread.new { (1..20000).sum * i } }.map(&:value).inspect, `echo from a shell`, 3**200
	f = Fiber.new { 5.times { |i| Fiber.yield i } }; puts 5.times.map { f.resume }.inspect; begin; def d; d; end; d; rescue SystemStackError; puts 'deep'; end
	puts Process.wait2(fork { exit 7 })[1].exitstatus; Signal.trap('USR1') { puts 'usr1' }; Process.kill('USR1', $$); sleep 0.01; puts [3, 1, 2].sort.pack('n*').unpack1('H*')
	S
}
real_R() { needs Rscript && same -t 120 Rscript --vanilla -e 'set.seed(1); x <- rnorm(5000); print(summary(lm(x ~ seq_along(x)))$coefficients); print(tryCatch(stop("e"), error = conditionMessage)); print(det(crossprod(matrix(x[1:400], 20)))); f <- function(n) if (n < 2) n else f(n - 1) + f(n - 2); print(f(18))'; }
real_octave() { needs octave-cli && same -t 120 octave-cli --no-init-file --eval 'rand("seed",1); A = magic(30) + eye(30); printf("%.6g\n", det(A / 100), sum(svd(A)), norm(inv(A))); x = fft(1:64); disp(abs(x(1:3))); try; error("e"); catch e; disp(e.message); end'; }
real_java() {
	needs java javac && cat >P.java <<-'S' && script -t 240 bash <<-'T'
	import java.util.*; import java.util.stream.*;
	public class P { static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] a) throws Exception { System.out.println(fib(30)); System.out.println(IntStream.range(0, 1000000).parallel().mapToLong(i -> i * 7L % 13).sum());
	try { Object o = null; o.hashCode(); } catch (NullPointerException e) { System.out.println("null"); } try { f(0); } catch (StackOverflowError e) { System.out.println("deep"); }
	List<byte[]> l = new ArrayList<>(); for (int i = 0; i < 20000; i++) { l.add(new byte[10000]); if (l.size() > 100) l.clear(); } System.gc();
	Thread[] t = new Thread[8]; long[] r = new long[8]; for (int i = 0; i < 8; i++) { int k = i; t[i] = new Thread(() -> { for (int j = 0; j < 1000000; j++) r[k] = r[k] * 31 + j; }); t[i].start(); } for (Thread x : t) x.join(); System.out.println(Arrays.toString(r)); System.exit(5); }
	static int f(int n) { return f(n + 1) + 1; } }
	S
	javac P.java; echo $?; java -Xmx256m -cp . P; echo $?; java -Xint -Xmx256m -version > /dev/null 2>&1; echo $?
	T
}
real_gdb() { needs gdb && same gdb -nx -batch -ex 'print 6 * 7' -ex 'info symbol _start' -ex 'x/20i _start' "$BUILD/tests/progs/exact/bare"; }
real_cmake() {
	needs cmake make gcc && script -t 240 bash <<-'S'
	rm -rf cm && mkdir cm && cd cm && printf 'cmake_minimum_required(VERSION 3.10)\nproject(p C)\nadd_executable(p p.c)\n' > CMakeLists.txt && echo 'int main(void) { return 3; }' > p.c && cmake -S . -B b > /dev/null && cmake --build b > /dev/null; echo $?; b/p; echo $?
	S
}
real_bc() { needs bc && printf 'scale=60\n4*a(1)\nfor (i = 0; i < 300; i++) x = x * 3 + i\nx\ndefine f(n) {\nif (n < 2) return (n);\nreturn (f(n-1) + f(n-2));\n}\nf(16)\nquit\n' >bc.in && same bc -lq bc.in; }
real_dc() { needs dc && same dc -e '2 1000 ^ p 3 7 / p 50k 2 v p'; }
real_m4() { needs m4 && printf 'define(`f'"'"', `ifelse($1, 0, 1, `eval($1 * f(decr($1)))'"'"')'"'"')f(10)\nforloop\n' >m4.in && same m4 m4.in; }
real_jq() { needs jq && jq -n '[range(20000) | {i: ., s: tostring}]' >j.json && same jq -c '[.[] | select(.i % 7 == 0) | .s | length] | add, group_by(.) [0][0]' j.json; }
real_tcl() {
	needs tclsh && script tclsh <<-'S'
	proc fib n { expr {$n < 2 ? $n : [fib [expr $n - 1]] + [fib [expr $n - 2]]} }; puts [fib 18]; set f [open text]; fconfigure $f -translation binary; puts [regexp -all struct [read $f]]; puts [catch {error x} m]$m; after 10 {set done 1}; vwait done; puts [exec echo from a shell]
	S
}
real_gforth() { needs gforth && same gforth -e ': fib dup 2 < if exit then dup 1- recurse swap 2 - recurse + ; 25 fib . cr : t 0 10000000 0 do i + loop ; t . cr bye'; }
real_prolog() { needs swipl && same swipl -q -g "numlist(1, 20000, L), sum_list(L, S), print(S), nl, length(X, 8), (permutation([1,2,3,4,5,6,7,8], X), last(X, 1) -> print(X) ; true), nl, catch(atom_length(_, _), error(E, _), (print(E), nl))" -t halt; }
real_erlang() { needs erl && same -t 120 erl -noshell -eval 'P = self(), [spawn(fun() -> P ! lists:sum(lists:seq(1, I)) end) || I <- lists:seq(1, 500)], io:format("~p~n", [lists:sum([receive X -> X end || _ <- lists:seq(1, 500)])]), io:format("~p~n", [catch 1 / list_to_integer("0") =:= 5]), halt(3).'; }
real_zip() { needs zip unzip && script bash <<-'S'
	rm -f z.zip; zip -qX z.zip tree/part-aa?; unzip -tq z.zip; unzip -p z.zip tree/part-aaa | cksum; rm -f z.zip
	S
}
real_curl() { needs curl && same curl -s "file://$TMP/tree/part-aaa"; }
real_dpkg() { needs dpkg-query apt-config && script bash <<-'S'
	dpkg-query -W -f '${Package} ${Status}\n' bash coreutils; dpkg --compare-versions 1.2 lt 1.10; echo $?; apt-config dump | head -20
	S
}
real_man() { needs man && same man -P cat -l /usr/share/man/man1/bash.1.gz; }
real_ssh_keygen() { needs ssh-keygen && script bash <<-'S'
	rm -f sk sk.pub; ssh-keygen -q -t ed25519 -N '' -C c -f sk; ssh-keygen -l -f sk | cut -d' ' -f1,3-; echo data | ssh-keygen -Y sign -q -f sk -n t > sig 2>/dev/null; echo data | ssh-keygen -Y check-novalidate -n t -s sig > /dev/null 2>&1; echo $?; rm -f sk* sig
	S
}
real_socat_pipes() { needs python3 && script -t 60 python3 <<-'S'
	import asyncio
	async def main():
	    async def echo(r, w):
	        while (d := await r.read(100)): w.write(d.upper()); await w.drain()
	        w.close()
	    s = await asyncio.start_server(echo, '127.0.0.1', 0); port = s.sockets[0].getsockname()[1]; total = 0
	    async def client(i):
	        nonlocal total
	        r, w = await asyncio.open_connection('127.0.0.1', port)
	        for j in range(50): w.write(b'message %d' % j); await w.drain(); total += len(await r.read(100))
	        w.close()
	    await asyncio.gather(*(client(i) for i in range(20))); print(total)
	    p = await asyncio.create_subprocess_exec('sort', stdin=-1, stdout=-1); print(await p.communicate(b'b\na\n'))
	asyncio.run(main())
	S
}

all=$(declare -F | sed -n 's/^declare -f real_//p')
# shellcheck disable=SC2086,SC2048 # names are words
for name in ${*:-$all}; do
	declare -F "real_$name" >/dev/null || { fail "$name" "no such program"; continue; }
	"real_$name"
done
done_testing
