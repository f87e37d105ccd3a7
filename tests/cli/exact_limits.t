#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording exactly: what cannot be run, limits, full disks, recorders and programs that are killed. Each is
# answered with what is wrong and where; the program runs as it would alone, or is not started.
set -u
. "$(dirname "$0")/lib.sh"

exactly() { # COMMAND…: sets $status, $out, $err
	run timeout -s KILL 300 "$ASSAY" record --exact -q -o exact.db -- "$@"
}

refused() { # NAME STATUS MESSAGE COMMAND…: with one line of that
	local name=$1 wanted=$2 message=$3
	shift 3
	exactly "$@"
	is "$name: status" "$status:$out" "$wanted:"
	like "$name: says so" "$(head -1 <<<"$err")" "^assay: .*$message"
}

as_alone() { # NAME COMMAND…: the same output and status as without a recorder
	local name=$1 alone
	shift
	run "$@"
	alone="$status:$out"
	exactly "$@"
	is "$name" "$status:$out" "$alone"
}

put() { printf '%s' "$2" >"$1" && chmod +x "$1"; }                               # FILE TEXT
with_bytes() { cp /bin/true "$1" && printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; } # FILE AT BYTES

# What is no program.
refused "no such command" 127 "no_such_command.*not found" no_such_command
refused "no such file" 127 "./no_such_file" ./no_such_file
cp /bin/true not_executable && chmod -x not_executable
refused "not executable" 126 "./not_executable" ./not_executable
mkdir -p folder
refused "a folder" 126 "./folder.*directory" ./folder
with_bytes arm 18 '\xb7\x00'
refused "another processor's" 126 "./arm: .*another processor" ./arm
with_bytes bits32 4 '\x01'
refused "32 bits" 126 "./bits32: .*32-bit" ./bits32
with_bytes object 16 '\x01'
refused "an object file" 126 "./object: ELF, but no program" ./object
with_bytes headers 56 '\xff\xff'
refused "too many headers" 126 "./headers: .*damaged" ./headers
for n in 4 63 64 200 5000; do
	head -c $n /bin/true >./cut && chmod +x ./cut
	exactly ./cut
	like "cut short after $n bytes: refused, or dies as it would" "$status:$err" '^(126:assay: ./cut: |139:|135:)'
done
printf 'ab\0cd\n' >binary && chmod +x binary
refused "bytes that are no program" 126 "./binary: no program" ./binary
put lost "$(printf '#!/no/such/interpreter -x\n')"
refused "a script without its interpreter" 127 "./lost: its interpreter, /no/such/interpreter: no such file" ./lost
put of_folder "#!$TMP/folder"
refused "a script of a folder" 126 "./of_folder: its interpreter.*a directory" ./of_folder
perl -pe 's,/lib64/ld-linux-x86-64.so.2,/lib64/ld-linux-x86-64.so.9,' /bin/true >unloaded && chmod +x unloaded
refused "a program without its loader" 127 "./unloaded: its interpreter, /lib64/ld-linux-x86-64.so.9: no such file" ./unloaded
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -x "$ASSAY" 2>/dev/null; then
	chmod 777 . && cp /usr/bin/id other && chmod 4755 other
	nobody=(timeout -s KILL 300 setpriv --reuid 65534 --regid 65534 --clear-groups)
	run "${nobody[@]}" "$ASSAY" record --exact -q -o nobody.db -- ./other -u
	like "set-user-ID: refused" "$status:$err" '^126:assay: ./other: set-user-ID'
	run "${nobody[@]}" "$ASSAY" record --exact -o nobody2.db -- sh -c './other -u; :'
	is "set-user-ID, from the program: runs with its rights" "$out" 0
	like "… and it is said that it is not in it" "$err" "1 program ran without the engine"
	chmod 711 other
	run "${nobody[@]}" "$ASSAY" record --exact -q -o nobody3.db -- ./other
	like "not readable: refused" "$status:$err" '^126:assay: ./other: .*not readable'
	run "${nobody[@]}" "$ASSAY" record --exact -o nobody4.db -- sh -c './other -u; :'
	is "not readable, from the program: runs" "$out" 65534
	like "… and it is said that it is not in it" "$err" "1 program ran without the engine"
else
	skip "not root, or nobody cannot reach the build: no set-user-ID programs"
fi

# What execvp runs.
put script "$(printf '#!/bin/sh\necho "$0" "$1"; exit 3')"
as_alone "a script" ./script one
put shell "$(printf '#!%s/script' "$TMP")"
as_alone "a script whose interpreter is one" ./shell one
put text 'echo "$0" "$1"; exit 4'
exactly ./text one
is "text without #! goes to a shell" "$status:$out" "4:./text one"
put empty ''
exactly ./empty
is "an empty file does nothing" "$status:$out" 0:

# Limits.
for v in 20000 300000 900000 2000000; do
	run bash -c "ulimit -v $v; exec timeout -s KILL 300 '$ASSAY' record --exact -q -o exact.db -- /bin/echo ran"
	like "ulimit -v $v: runs or says why not" "$status:$out:$err" '^(0:ran:$|126::assay: .*ulimit -v|1::assay: .*[mM]emory)'
done
for limit in '-n 16' '-u 0' '-l 0' '-s 64' '-d 2000' '-c 0'; do
	run bash -c "ulimit $limit; exec timeout -s KILL 300 '$ASSAY' record --exact -q -o exact.db -- /bin/echo ran"
	like "ulimit $limit: runs or says why not" "$status:$out:$err" '^(0:ran:$|126::assay: .*ulimit|1::assay: )'
done
run bash -c "ulimit -f 20; exec timeout -s KILL 300 '$ASSAY' record --exact -q -o exact.db -- /bin/echo ran"
like "ulimit -f: runs or says why not" "$status:$out:$err" '^(0:ran:$|1:(ran)?:assay: )'

# Restartable sequences: threads of one process that register different signatures. The engine knows one.
cat > two.c <<'C'
#include <errno.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static struct rseq area[2] __attribute__((aligned(32)));
static int enter(int i, unsigned signature) { return syscall(SYS_rseq, &area[i], 32, 0, signature) ? errno : 0; }
static void *other(void *result)
{
	int *r = result;
	r[0] = enter(1, 0x22222222);
	r[1] = enter(1, 0x11111111);
	return NULL;
}
int main(void)
{
	int first = enter(0, 0x11111111), r[2];
	pthread_t t;
	pthread_create(&t, NULL, other, r);
	pthread_join(t, NULL);
	printf("%d %d %d\n", first, r[0], r[1]);
}
C
if gcc -pthread -o two two.c 2>cc; then
	own=(env GLIBC_TUNABLES=glibc.pthread.rseq=0)
	run "${own[@]}" ./two
	is "two signatures of restartable sequences: the kernel takes both" "$out" "0 0 1"
	run "${own[@]}" "$ASSAY" record --exact -q -o exact.db -- ./two
	is "… the engine refuses the second, and takes the first from another thread" "$status:$out" "0:0 22 0"
	like "… and says so" "$err" "two signatures, 0x11111111 and 0x22222222, .*the second one is refused"
else
	skip "no compiler: $(<cc)"
fi

# Where to write.
# The engine under itself: its addresses are taken.
run timeout -s KILL 300 "$ASSAY" record --exact -q -o outer.db -- "$ASSAY" record --exact -o inner.db -- true
is "an exact recorder recorded exactly: status" "$status" 126
like "an exact recorder recorded exactly: says why" "$err" 'assay-exact: its addresses are taken by the exact engine'

refused_output() { # NAME MESSAGE FILE
	run timeout -s KILL 300 "$ASSAY" record --exact -o "$3" -- /bin/echo ran
	is "$1: the program is not started" "$status:$out" 1:
	like "$1: says so" "$err" "$2"
}
refused_output "no such folder" "/no/such/file.db" /no/such/file.db
echo text >text.db
refused_output "a file that is no recording" "text.db.*not overwritten" text.db
if mkdir disk && mount -t tmpfs -o size=160k assay-test disk 2>/dev/null; then
	for what in counts lines; do
		run timeout -s KILL 300 "$ASSAY" record --exact --observe $what -o disk/exact.db -- sh -c 'echo ran; exit 5'
		is "a full disk, $what: the program runs" "$out" ran
		like "a full disk, $what: says so" "$status:$err" '^1:assay: (warning: )?cannot write disk/exact.db: .*full'
		like "a full disk, $what: so does the recording" "$("$ASSAY" info -i disk/exact.db 2>&1)" 'unfinished: .* could not write'
		rm -f disk/*
	done
	umount disk
else
	skip "no tmpfs can be mounted: no full disk"
fi

# Ends.
exactly sh -c 'kill -TERM $$'
is "killed by a signal: 128 + signal" "$status" 143
run "$ASSAY" info -i exact.db
is "… and the recording can be read" "$status" 0
for what in counts values lines; do
	rm -f pid
	timeout -s KILL 300 "$ASSAY" record --exact --observe $what -q -o killed.db -- \
		sh -c 'echo $$ >pid; i=0; while [ $i -lt 100000000 ]; do i=$((i + 1)); done' 2>err &
	soon [ -s pid ]
	sleep 0.4
	kill -KILL "$(<pid)"
	wait $!
	is "kill -9 of the program, $what" "$?" 137
	run "$ASSAY" info -i killed.db
	is "… the recording can be read" "$status" 0
	if [ $what = lines ]; then # intervals, and how much was executed in them
		like "… it holds what ran until then" \
			"$("$ASSAY" wset -i killed.db --json | jq -r '[(.intervals | length), .recording.executions] | @tsv')" \
			$'^[1-9][0-9]*\t[0-9]{8,}$'
	else
		like "… it holds what ran until then" \
			"$("$BUILD/tests/exact/recorded" killed.db | grep 'sh 0x' | sort -n | tail -1)" '^[0-9]{4,} .*/(ba|da)?sh '
	fi
	rm -f pid ended
	"$ASSAY" record --exact --observe $what -q -o killed.db -- \
		sh -c 'echo >pid; i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; echo "$i" >ended' 2>err &
	soon [ -s pid ]
	{ kill -KILL $! && wait $!; } 2>/dev/null
	soon [ -s ended ]
	is "kill -9 of the recorder, $what: the program goes on to its end" "$(cat ended)" 20000
	run "$ASSAY" info -i killed.db
	like "… what it left is a recording" "$status" '^[03]$'
done
done_testing
