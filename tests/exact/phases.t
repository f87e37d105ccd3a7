#!/bin/bash
# SPDX-License-Identifier: MIT
# Phases of exact recordings: vectors of all intervals add up to what was counted, instruction for instruction, in one
# thread and several, with signals, faults, children, code that changes, and a cache that is emptied.
. "$(dirname "$0")/lib.sh"
need_runner
PROGS=$BUILD/tests/progs/exact
PHASED=$BUILD/tests/exact/phased

record() { timeout -k 5 300 "$ASSAY" record --exact -q --observe phases -o phases.db "$@" >/dev/null 2>&1; }
adds_up() { # NAME
	local said
	said=$("$PHASED" phases.db 2>&1)
	if [[ $(tail -1 <<<"$said") == *" off by 0" ]]; then
		pass "$1: $(tail -1 <<<"$said")"
	else
		fail "$1" "$(tail -12 <<<"$said")"
	fi
}

for program in control operands process signals selfmod threads threads_code threads_life threads_process; do
	for c in $("$PROGS/$program"); do
		case $c in may_*) continue ;; esac
		record --interval 2000 -- "$PROGS/$program" "$c"
		adds_up "$program $c"
	done
done
for small in "" "--cache 64"; do
	# shellcheck disable=SC2086 # words
	record $small --interval 5000 -- bash -c 'for i in 1 2 3; do printf "%s\n" {1..300} | sort -n | gzip >/dev/null; done'
	adds_up "a shell and its children ${small:-with room}"
done
record --cache 64 --interval 3000 --snapshots 50 -- gzip -9c /bin/bash
adds_up "gzip with an emptied cache"
is "no more intervals than are kept" "$("$ASSAY" targets -i phases.db --json | jq '(.phase_of | length) < 50')" true

# Another recording of the same work that only counts.
head -c 300000 /bin/bash >text
for c in "gzip -9c text" "xz -1c text" "sort text"; do
	# shellcheck disable=SC2086 # words
	setarch -R "$ASSAY" record --exact -q -o counts.db -- $c >/dev/null
	# shellcheck disable=SC2086 # words
	setarch -R "$ASSAY" record --exact -q --observe phases -o phases.db -- $c >/dev/null
	is "$c: intervals hold what counts alone count" "$("$PHASED" phases.db counts.db | sed 's/.*, off/off/')" "off by 0"
done
done_testing
