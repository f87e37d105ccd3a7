# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the scripts of tests/exact share: a command's run beside the same under the runner.
#   ASSAY_RUNNER    the runner's words (default: build/assay-exact --); "" or env: native against native
#   compare NAME [-n] [-t SECONDS] [-f FILTER] COMMAND…
#       one test: stdout, stderr and the way it ended are the same. -f: a command line both outputs go
#       through first, for what differs from run to run. -n: a difference is reported, not judged.
#   need_runner     ends the script with a skip if the runner is missing
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"

TRIAL=$BUILD/tests/exact/trial
read -ra RUNNER <<<"${ASSAY_RUNNER-$BUILD/assay-exact --}"
ulimit -c 0

need_runner() {
	[ ${#RUNNER[@]} -gt 0 ] || return 0
	command -v "${RUNNER[0]}" >/dev/null && return 0
	skip "no runner: ${RUNNER[0]} is not there"
	done_testing
	exit 0
}

ended() { cut -d' ' -f1,2 "$1" 2>/dev/null; } # FILE of trial -s: "exit 0", "signal 11", "timeout"

one_run() { # PLACE COMMAND…
	local place=$1
	shift
	"$TRIAL" -t "$limit" -s "$place.status" "$@" >"$place.raw" 2>"$place.err" </dev/null
	if [ -n "$filter" ]; then eval "$filter" <"$place.raw" >"$place.out"; else mv "$place.raw" "$place.out"; fi
	{ ended "$place.status"; cat "$place.out"; echo "-- stderr"; cat "$place.err"; } >"$place.all"
}

compare() {
	local name=$1 limit=60 filter="" judged=1 difference OPTIND=1 o
	shift
	while getopts nt:f: o; do
		case $o in n) judged=0 ;; t) limit=$OPTARG ;; f) filter=$OPTARG ;; *) return 2 ;; esac
	done
	shift $((OPTIND - 1))
	one_run "$TMP/.native" "$@"
	one_run "$TMP/.runner" "${RUNNER[@]}" "$@"
	if [ "$judged" = 1 ] && [ "$(ended "$TMP/.native.status")" = timeout ]; then
		fail "$name" "native: no end in $limit s"
	elif cmp -s "$TMP/.native.all" "$TMP/.runner.all"; then
		if [ "$judged" = 1 ] && grep -qa '^BAD ' "$TMP/.native.all"; then
			fail "$name" "native: $(grep -am 5 '^BAD ' "$TMP/.native.all")"
		else
			pass "$name"
		fi
	else
		difference=$(diff -a <(head -c 1000000 "$TMP/.native.all") <(head -c 1000000 "$TMP/.runner.all") |
			cut -c-200 | tr -d '\0' | head -12)
		if [ "$judged" = 1 ]; then
			fail "$name" "$* (< native, > runner)"$'\n'"$difference"
		else
			diag "$name: $difference"
			skip "$name: differs, reported only"
		fi
	fi
}
