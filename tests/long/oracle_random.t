#!/bin/bash
# SPDX-License-Identifier: MIT
# Random instructions against the CPU, both builds of the interpreter, in millions: from a seed that
# is the same every time, and from one that is not. TRIALS: how many of each.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../../build}
oracle=${ORACLE_RANDOM:-$build/tests/unit/oracle_random}
trials=${TRIALS:-2000000}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export CMOCKA_MESSAGE_OUTPUT=STDOUT

seeds=(20000 $RANDOM$RANDOM $RANDOM$RANDOM)
echo "1..$((2 * ${#seeds[@]}))"
i=0
for seed in "${seeds[@]}"; do
	# the last one in the program for kernels before 6.9
	[ "$seed" = "${seeds[-1]}" ] && export INTERP_CALLS=1
	"$oracle" --seed "$seed" --count "$trials" --vector 25 > "$tmp/out" 2>&1
	status=$?
	grep '^#' "$tmp/out"
	line=$(grep "^# seed $seed: " "$tmp/out")
	user=$(sed -n 's/.*: \([0-9]*\) trials in the user build.*/\1/p' <<< "$line")
	kernel=$(sed -n 's/.* \([0-9]*\) in the kernel build.*/\1/p' <<< "$line")
	i=$((i + 1))
	if [ $status = 0 ] && [ "${user:-0}" = "$trials" ]; then
		echo "ok $i - seed $seed: $user trials in the user build"
	else
		echo "not ok $i - seed $seed: exit $status, ${user:-0} trials in the user build"
	fi
	i=$((i + 1))
	if [ "${kernel:-0}" = "$trials" ] && [ $status = 0 ]; then
		echo "ok $i - seed $seed: $kernel trials in the kernel build"
	elif [ "${kernel:-0}" = 0 ]; then
		echo "ok $i - kernel build # SKIP ${line#*in the kernel build: }"
	else
		echo "not ok $i - seed $seed: exit $status, ${kernel:-0} trials in the kernel build"
	fi
done
