#!/bin/bash
# SPDX-License-Identifier: MIT
# Damaged programs under the exact engine, and programs and recorders that are killed at random moments.
#   ROUNDS   of each (default 150)
set -u
. "$(dirname "$0")/../cli/lib.sh"
ROUNDS=${ROUNDS:-150}
RANDOM=${SEED:-20260101}
ulimit -c 0

# Headers with random bytes in them: the engine refuses the program, or it lives or dies by itself.
damage() { # FILE ROUND: ./damaged
	perl -e '
		my ($file, $seed) = @ARGV; srand $seed; open my $f, "<:raw", $file or die; local $/; my $b = <$f>;
		my $headers = 64 + 56 * unpack("v", substr($b, 56, 2)); $headers = length $b if $headers > length $b;
		for (1 .. 1 + int rand 3) {
			my $at = 4 + int rand($headers - 4);
			my @v = (int rand 256, 0, 255, 127, 128, ord(substr($b, $at, 1)) ^ 1 << int rand 8);
			substr($b, $at, 1) = chr $v[int rand @v]; }
		$b = substr $b, 0, int rand length $b if rand() < .1;
		open my $o, ">:raw", "damaged" or die; print $o $b; chmod 0755, "damaged"' "$1" "$2"
}
engine=0 hung=0 apart=0 refused=0 ran=0 first=
for ((i = 0; i < ROUNDS; i++)); do
	programs=("$BUILD/tests/progs/exact/bare" /bin/true "$BUILD/tests/progs/exact/static-pie/bare")
	rm -f damaged
	damage "${programs[i % 3]}" $((RANDOM + i))
	run timeout -s KILL 100 "$BUILD/assay-exact" -- ./damaged all
	a=$status said=$err
	run timeout -s KILL 100 "$ASSAY" record --exact -q -o damage.db -- ./damaged all
	case $a in 137) hung=$((hung + 1)) ;; 126 | 127) refused=$((refused + 1)) ;; *) ran=$((ran + 1)) ;; esac
	if grep -q 'engine failed' <<<"$said$err"; then
		engine=$((engine + 1)) first="${first:-$i: $said$err}"
	elif [ "$status" != "$a" ]; then
		apart=$((apart + 1)) first="${first:-$i: $a, recorded $status: $err}"
	fi
done
is "damaged headers: none fails the engine ($refused refused, $ran ran)" "$engine $first" "0 "
is "… none hangs" "$hung" 0
is "… recorded or not, the same end" "$apart" 0
if [ "$refused" -gt $((ROUNDS / 10)) ] && [ "$ran" -gt $((ROUNDS / 20)) ]; then
	pass "… some are refused, some run"
else
	fail "… some are refused, some run" "$refused refused, $ran ran of $ROUNDS"
fi

# The program is killed: what ran until then is recorded, and can be read.
unreadable=0 wrong=0 lost=0
for ((i = 0; i < ROUNDS / 5; i++)); do
	what=(counts addresses values)
	rm -f killed.db
	timeout -s KILL 300 "$ASSAY" record --exact --observe "${what[i % 3]}" -q -o killed.db -- \
		sh -c 'echo $$ >pid; while :; do i=$((i + 1)); [ $i -gt 300 ] || (:); done' 2>err &
	until [ -s pid ]; do sleep 0.01; done
	sleep "0.0$((RANDOM % 90 + 10))"
	kill -KILL "$(<pid)"
	wait $! 2>/dev/null
	[ $? = 137 ] || wrong=$((wrong + 1))
	rm -f pid
	"$ASSAY" info -i killed.db >/dev/null 2>&1 || unreadable=$((unreadable + 1))
	[ "$("$BUILD/tests/exact/recorded" killed.db 2>/dev/null | wc -l)" -gt 1000 ] || lost=$((lost + 1))
done
is "programs killed at random: their status, recordings that can be read and hold what ran" "$wrong $unreadable $lost" "0 0 0"

# The recorder is killed: the program, once it runs, goes on to its end.
wrong=0 began=0
for ((i = 0; i < ROUNDS / 8; i++)); do
	what=(counts values)
	rm -f began.* ended.* killed.db
	"$ASSAY" record --exact --observe "${what[i % 2]}" -q -o killed.db -- \
		sh -c ': >began.$0; i=0; while [ $i -lt 6000 ]; do i=$((i + 1)); done; (exit 7); echo "$i $?" >ended.$0' $i 2>err &
	sleep "0.0$((RANDOM % 90 + 10))"
	{ kill -KILL $! && wait $!; } 2>/dev/null
	for ((k = 0; k < 20; k++)); do
		[ ! -e began.$i ] || break
		sleep 0.05
	done
	[ -e began.$i ] || continue # the recorder had not come to start it
	began=$((began + 1))
	soon [ -s ended.$i ]
	[ "$(cat ended.$i 2>/dev/null)" = "6000 7" ] || wrong=$((wrong + 1))
done
is "recorders killed at random: the program, $began of $((ROUNDS / 8)) times begun, goes on to its end" "$wrong" 0
done_testing
