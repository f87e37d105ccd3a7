#!/bin/bash
# SPDX-License-Identifier: MIT
# A full code cache is emptied, and the program goes on: with room for few hundred blocks the same is counted and
# done as with room for all.
set -u
. "$(dirname "$0")/lib.sh"
need_runner
PROGS=$BUILD/tests/progs/exact
small=(--cache 64)
recorded() { # FILE: each instruction and how often
	"$BUILD/tests/exact/recorded" "$1" | LC_ALL=C sort
}
blocks() { sed -n 's/.* instructions of \([0-9,]*\) blocks in 1 .*/\1/p' err | tr -d ,; }

# A shell writes its parent's pid down, digit by digit: returns when those to come have as many. They begin anew at
# pid_max.
steady_pids() {
	local pid later most
	most=$(</proc/sys/kernel/pid_max)
	while pid=$(sh -c 'echo $$') later=$((pid + 1000)) &&
		[ ${#pid} != ${#later} ] || [ $later -ge "$most" ]; do :; done
}

# without address randomisation, twice the same
same_counts() { # NAME MODE COMMAND…
	local name=$1 mode=$2 all few
	shift 2
	steady_pids
	setarch -R "$ASSAY" record --exact --observe "$mode" -o all.db -- "$@" >out.all 2>err
	all=$(blocks)
	setarch -R "$ASSAY" record --exact --observe "$mode" "${small[@]}" -o few.db -- "$@" >out.few 2>err
	few=$(blocks)
	ok "$name: emptied at least once: $all blocks, with little room $few" test "$few" -gt $((all + 50))
	ok "… prints the same" cmp out.all out.few
	recorded all.db >all
	recorded few.db >few
	ok "… each instruction is counted the same: $(wc -l <all)" cmp all few
	ok "… and there are some" test "$(wc -l <all)" -gt 1000
}
head -c 50000 /bin/bash >text
same_counts "one thread" counts gzip -9 -c text
same_counts "with values" values gzip -9 -c text
same_counts "a shell" counts sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; echo $i'

balance() { # NAME EXPECTED COMMAND…
	local name=$1 expected=$2
	shift 2
	for mode in counts values; do
		timeout -s KILL 600 "$ASSAY" record --exact --observe $mode "${small[@]}" -o flow.db -- "$@" >out 2>err
		like "$name, $mode: as much comes to each instruction as leaves it" "$("$BUILD/tests/exact/flow" flow.db)" "$expected"
	done
}
balance children ', starts 5, ends 5, interrupts 0, odd 0$' "$PROGS/static/truth" children
# a thread that is in a system call when the cache is emptied ends and starts there, for the recorder
balance threads ', interrupts 0, odd 0$' "$PROGS/static/truth" threads
balance retried ', starts 1, ends 1, interrupts 10, odd 0$' "$PROGS/static/truth" retried

# the same as natively, whoever has to leave the cache
RUNNER=("$ASSAY" record -q --exact "${small[@]}" -o trial.db --)
for mode in counts lines; do
	[ $mode = counts ] || RUNNER=("$ASSAY" record -q --exact --observe lines "${small[@]}" -o trial.db --)
	for c in threads/{sixty_four,create_in_storm,signals_to_each} threads_life/cancel_deferred \
		threads_code/much_code_{beside_loops,without_queue,without_tkill} \
		threads_process/{fork_from_threads,fork_while_threads_begin} \
		signals/{race_sigsuspend,restart} storms/storm_{timers,from_thread} \
		selfmod/{on_the_heap,same_block,own_loop} process/{vfork,spawn,fork_deep,clone_vm_concurrent} exec/exec_chain; do
		compare "$c, $mode" -t 200 "$PROGS/${c%/*}" "${c#*/}"
	done
done

# a working set goes on where the cache was emptied
touched() { "$ASSAY" wset -i "$1" --json | jq -c '[.intervals[-1].end, .lines_total, .code_lines_total]'; }
n=()
steady_pids
for c in all few; do
	limit=()
	[ $c = all ] || limit=("${small[@]}")
	setarch -R "$ASSAY" record --exact --observe lines "${limit[@]}" -o $c.db -- sh -c 'i=0; while [ $i -lt 300 ]; do i=$((i + 1)); done; echo $i' >out 2>err
	n[${#n[@]}]=$(blocks)
done
ok "working sets: emptied at least once: ${n[0]} blocks, with little room ${n[1]}" test "${n[1]}" -gt $((n[0] + 50))
is "… and the same lines are touched" "$(touched few.db)" "$(touched all.db)"
done_testing
