#!/bin/bash
# SPDX-License-Identifier: MIT
# Attaching to processes that run: their children and threads, several of them, and until when.
. "$(dirname "$0")/../cli/lib.sh"

if ! can_record; then
	skip "$why"
	done_testing
	exit
fi

# A program of NAME that starts THREADS threads before it says that they run; they spin until it is killed.
cat > spin.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *spin(void *unused) { for (volatile long i = 0;; i++); return unused; }
int main(int argc, char **argv)
{
	pthread_t t;
	for (int i = 1; i < (argc > 1 ? atoi(argv[1]) : 1); i++)
		pthread_create(&t, NULL, spin, NULL);
	puts("ready");
	fflush(stdout);
	spin(NULL);
}
C
if ! gcc -O1 -pthread -o spin spin.c 2>cc; then
	skip "no compiler: $(<cc)"
	done_testing
	exit
fi
cp spin left; cp spin right; cp spin own

recorded() { # OPTION…: what a short recording with them says, in $sampled and $out
	run "$ASSAY" record -F 2000 -o r.db -d 0.5 "$@"
	said=$err
	sampled=$("$ASSAY" report -i r.db --json 2>/dev/null | jq -r '[.images[] | .image] | sort | map(split("/")[-1]) | join(" ")')
	samples=$("$ASSAY" info -i r.db --json 2>/dev/null | jq .samples)
}
has() { [[ " $sampled " == *" $1 "* ]]; }

# A master that waits, with two busy children, one of which is a grandchild.
cat > master <<'SH'
#!/bin/bash
./left > left.out &
echo $! > left.pid
bash -c './right > right.out & echo $! > right.pid; wait' &
wait
SH
chmod +x master
./master & master=$!
soon grep -qs ready left.out; soon grep -qs ready right.out
soon [ -s left.pid ]; soon [ -s right.pid ]
left=$(<left.pid) right=$(<right.pid)

recorded -p "$master"
is "a process that waits: its children are attached to" "$status" 0
ok "… the child is sampled: $sampled" has left
ok "… the grandchild is, too: $sampled" has right
used() { awk '{ print $14 + $15 }' "/proc/$1/stat"; } # CPU time in ticks
like "the heading names it" "$("$ASSAY" report -i r.db)" "-p $master \(master\)"
unlike "a process that was not started has no status" "$("$ASSAY" info -i r.db)" "exit status"

before=$(($(used "$left") + $(used "$right")))
recorded -p "$master,$left,$right,$left" -p "$master"
ran=$(($(used "$left") + $(used "$right") - before))
ok "nobody is sampled twice: $samples samples at 2000 Hz of at most $ran ticks" \
	[ "$samples" -lt $((ran * 2000 * 13 / 1000 + 100)) ]

recorded -p "$master" --no-children
is "--no-children: status" "$status" 0
is "--no-children: none of them is sampled" "$samples:$sampled" "0:"

recorded -p "$left,$right"
ok "-p A,B: $sampled" eval 'has left && has right'
like "… both are named" "$("$ASSAY" report -i r.db)" "-p $left,$right \(left, right\)"
recorded -p "$left" --pid "$right"
ok "-p A -p B: $sampled" eval 'has left && has right'
recorded -p "$right"
ok "only who is named: $sampled" eval '! has left && has right'

# Threads that were there before.
./own 10 > own.out & own=$!
soon grep -qs ready own.out
"$ASSAY" record -q -o t.db -p "$own" & rec=$!
attached() { [ "$(readlink "/proc/$rec/fd/"* 2>/dev/null | grep -c perf_event)" = 10 ]; }
ok "ten threads have an event each" soon attached
kill -INT $rec; wait $rec

# Those that are born later: of a shell that starts a program when it is told.
mkfifo go
bash -c 'while read -r _ < go; do ./own > later.out & echo $! > later.pid; done; wait' & shell=$!
images() { "$ASSAY" report -i "$1" --json 2>/dev/null | jq -r '.images[].image'; }
for how in "" --no-children; do
	rm -f l.db later.pid
	# shellcheck disable=SC2086
	"$ASSAY" record -q -F 2000 -o l.db -p "$shell" $how & rec=$!
	soon [ -s l.db ]
	sleep 0.2
	echo > go
	soon [ -s later.pid ]
	sleep 0.7
	kill -INT $rec; wait $rec
	kill "$(<later.pid)"
	is "a child born later is sampled, but with --no-children: '$how'" \
		"$(images l.db | grep -c '/own$')" "$([ -n "$how" ] && echo 0 || echo 1)"
done
kill "$shell" "$own"

# Until the last of those named has ended.
sleep 100 & one=$!
sleep 100 & two=$!
"$ASSAY" record -q -o e.db -p $one,$two & rec=$!
soon [ -s e.db ]
kill $one; wait $one 2>/dev/null
sleep 0.3
kill -0 $rec; is "it goes on when one of two has ended" $? 0
kill $two; wait $rec
is "it ends with the last one" $? 0

# What it says.
for list in "1,,2" "x" "1,x" "" "1,"; do
	run "$ASSAY" record -o x.db -p "$list"
	is "-p '$list': usage" "$status" 2
	like "-p '$list': said" "$err" "--pid takes a number, not '"
done
run "$ASSAY" record -o x.db -p 1,0
like "a pid out of bounds" "$err" "--pid is 0"
run "$ASSAY" record -o x.db -p "$left,4194304"
is "one of two is not there: status" "$status" 1
like "one of two is not there: named" "$err" "no process 4194304"
run "$ASSAY" record -o x.db --no-children -- true
is "--no-children without -p: usage" "$status" 2
like "--no-children without -p: said" "$err" "no-children is for -p"

# A descriptor for each thread: the soft limit is raised, the hard one is told.
bash -c 'for ((i = 0; i < 60; i++)); do sleep 100 & done; echo > many; trap "kill \$(jobs -p)" TERM; wait' & crowd=$!
soon [ -e many ]
run bash -c 'ulimit -Sn 50; exec "$0" record -q -o m.db -d 0.1 -p "$1"' "$ASSAY" "$crowd"
is "more threads than the soft limit has descriptors: $err" "$status" 0
run bash -c 'ulimit -n 50; exec "$0" record -q -o m.db -d 0.1 -p "$1"' "$ASSAY" "$crowd"
is "more than the hard limit: status" "$status" 1
like "more than the hard limit: said" "$err" "too many threads: each takes a file descriptor"
kill "$crowd" "$left" "$right"; wait 2>/dev/null

# A server under load: its master waits, its workers work.
nginx=$(command -v nginx || command -v /usr/sbin/nginx)
if [ -z "$nginx" ] || ! command -v ab >/dev/null; then
	skip "no nginx, or no ab: no server under load"
else
	mkdir -p site/logs
	chmod 755 "$TMP" site
	head -c 20000 /dev/urandom | base64 > site/page
	where=127.$((1 + RANDOM % 250)).$((RANDOM % 250)).$((1 + RANDOM % 250)):$((20000 + RANDOM % 12000)) # in use by nobody
	cat > nginx.conf <<-END
		daemon off;
		master_process on;
		worker_processes 2;
		pid $PWD/nginx.pid;
		error_log $PWD/error.log;
		events { worker_connections 64; }
		http {
			access_log off;
			gzip on; gzip_types *; gzip_min_length 0; gzip_http_version 1.0;
			server { listen $where; root $PWD/site; }
		}
	END
	"$nginx" -e "$PWD/error.log" -p "$PWD" -c "$PWD/nginx.conf" 2>nginx.err & server=$!
	soon eval "curl -s -o /dev/null http://$where/page"
	ab -q -k -c 8 -t 20 -n 10000000 -H 'Accept-Encoding: gzip' "http://$where/page" > load 2>&1 & load=$!
	sleep 0.3
	recorded -p "$server"
	is "a server under load, by its master: status" "$status" 0
	ok "… it has samples: $samples" [ "${samples:-0}" -gt 20 ]
	ok "… in the server: $sampled" has nginx
	ok "… and in the library that compresses: $sampled" eval '[[ $sampled == *libz* ]]'
	like "… the heading names it" "$("$ASSAY" report -i r.db)" "-p $server \(nginx\)"
	kill "$load" "$server"
	wait "$load" "$server" 2>/dev/null
fi

done_testing
