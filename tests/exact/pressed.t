#!/bin/bash
# SPDX-License-Identifier: MIT
# Exact recordings under pressure: a recorder that stands still, a program that gets no more memory, no room in
# /dev/shm, programs with capabilities. What is recorded is whole, or what is missing is said.
set -u
. "$(dirname "$0")/lib.sh"

head -c 200000 /bin/bash >text
gzip -9 -c text >native
of_gzip() { "$BUILD/tests/exact/recorded" "$1" | grep '/gzip 0x' | LC_ALL=C sort; } # FILE
waits() { # PID: until it sleeps, or is gone; false after 20 s
	for _ in {1..200}; do
		[[ $(awk '{ print $3 }' "/proc/$1/stat" 2>/dev/null) != R ]] && return 0
		sleep 0.1
	done
	return 1
}
recording() { # FILE: of gzip, in $mode, once something is written to the fifo go; its pid and the recorder's in pids
	exec setarch -R timeout -s KILL 120 "$ASSAY" record --exact --observe "$mode" -q -o "$1" -- \
		sh -c 'echo $$ $PPID >pids; read line <go; exec gzip -9 -c text'
}

# The recorder is stopped before gzip begins, and goes on when that can do no more without it.
mkfifo go
for mode in counts values; do
	rm -f pids
	(recording whole.db) >whole.out 2>err &
	echo >go
	wait $!
	rm -f pids
	(recording stopped.db) >stopped.out 2>err &
	for _ in {1..400}; do [ ! -s pids ] || break; sleep 0.05; done
	read -r program recorder <pids
	ok "$mode: the recorder is stopped" kill -STOP "$recorder"
	echo >go
	ok "… without it the program waits, or ends" waits "$program"
	kill -CONT "$recorder"
	wait $!
	is "… then it ends as ever" "$?" 0
	ok "… with its output" cmp native stopped.out
	of_gzip whole.db >whole
	of_gzip stopped.db >stopped
	ok "… and each instruction is counted: $(wc -l <whole)" cmp whole stopped
	ok "… of which there are some" test "$(wc -l <whole)" -gt 500
done

# The recorder keeps little of processes that have ended. AddressSanitizer would keep the memory that the recorder frees.
export ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=1
kept() { # PROCESSES: the most memory that the recorder had, KiB
	command time -f %M -o memory "$ASSAY" record --exact -q -o many.db -- \
		sh -c "i=0; while [ \$i -lt $1 ]; do /bin/true; i=\$((i + 1)); done"
	cat memory
}
few=$(kept 60) many=$(kept 260)
ok "200 processes more: $few KiB, then $many" test "$many" -lt $((few + 20000))
is "… all of them recorded" "$("$ASSAY" info -i many.db --json | jq .processes)" 261

# No more memory than its cgroup has: the kernel kills it, the recorder is not in there.
limit_memory() { # MIB: makes a cgroup, sets $cgroup
	local base
	for base in /sys/fs/cgroup/memory /sys/fs/cgroup /sys/fs/cgroup/unified; do
		cgroup=$base/assay-test-$$
		mkdir "$cgroup" 2>/dev/null || continue
		{ echo $(($1 << 20)) >"$cgroup/memory.limit_in_bytes" ||
			{ echo $(($1 << 20)) >"$cgroup/memory.max" && echo 0 >"$cgroup/memory.swap.max"; }; } 2>/dev/null &&
			return 0
		rmdir "$cgroup"
	done
	return 1
}
if [ "$(awk 'END { print NR }' /proc/swaps)" -gt 1 ]; then
	skip "there is swap: a cgroup's memory does not end"
elif limit_memory 64; then
	for mode in counts values; do
		run timeout -s KILL 120 "$ASSAY" record --exact --observe $mode -q -o memory.db -- sh -c \
			"echo \$\$ >$cgroup/cgroup.procs; exec perl -e 'push @a, q(x) x 1000000 for 1 .. 400; print qq(all\n)'"
		is "$mode, no more memory: the program is killed, and that is told" "$status:$out" "137:"
		run "$ASSAY" info -i memory.db
		is "… the recording can be read" "$status" 0
		like "… it holds what ran until then" "$("$BUILD/tests/exact/recorded" memory.db | grep 'perl 0x' | sort -n | tail -1)" \
			'^[0-9]{2,} .*/perl '
	done
	for _ in {1..50}; do ! rmdir "$cgroup" 2>/dev/null || break; sleep 0.1; done
	ok "… nothing of it is left" test ! -e "$cgroup"
else
	skip "no cgroup can be made: no end of memory"
fi

# What both share is no file of /dev/shm.
if unshare -m true 2>/dev/null; then
	run unshare -m sh -c "mount -t tmpfs -o size=4k assay-test /dev/shm && head -c 4096 /dev/zero >/dev/shm/full &&
		! echo more >/dev/shm/more && exec '$ASSAY' record --exact --observe values -o shm.db -- gzip -9 -c text" 2>/dev/null
	is "/dev/shm is full: recorded all the same" "$status" 0
	of_gzip shm.db >shm
	is "… each instruction" "$(wc -l <shm)" "$(wc -l <whole)"
else
	skip "no mount namespace: no full /dev/shm"
fi

# Who runs a program with capabilities would lose them under the engine.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
cp /bin/true ./capable && chmod 777 .
if setcap cap_net_raw+ep ./capable 2>/dev/null && "${nobody[@]}" test -x "$ASSAY" 2>/dev/null; then
	run "${nobody[@]}" timeout -s KILL 600 "$ASSAY" record --exact -q -o capable.db -- ./capable
	like "a program with capabilities: refused" "$status:$err" '^126:assay: ./capable: .*capabilities'
	run "${nobody[@]}" timeout -s KILL 600 "$ASSAY" record --exact -o capable2.db -- sh -c './capable; echo $?'
	is "… from the program: runs" "$status:$out" 0:0
	like "… and it is said that it is not in it" "$err" "1 program ran without the engine"
	is "… in the recording, too" "$("$ASSAY" info -i capable2.db --json | jq '.native')" 1
else
	skip "no file capabilities here (setcap, of libcap2-bin), or nobody cannot reach the build"
fi
done_testing
