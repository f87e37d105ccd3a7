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

ended() { # FILE of trial -s: sets $how to "exit 0", "signal 11" or "timeout"
	local a b
	read -r a b _ <"$1" && how="$a $b" && [ "$a" != timeout ] || how=${a:-nothing}
}

one_run() { # PLACE COMMAND…
	local place=$1
	shift
	: >"$place.status"
	"$TRIAL" -t "$limit" -s "$place.status" "$@" >"$place.out" 2>"$place.err" </dev/null
	[ -z "$filter" ] || { mv "$place.out" "$place.raw" && eval "$filter" <"$place.raw" >"$place.out"; }
}

text_of() { # PLACE HOW: what a run gave, as one text
	echo "$2"
	head -c 1000000 "$1.out"
	echo "-- stderr"
	head -c 1000000 "$1.err"
}

compare() {
	local name=$1 limit=300 filter="" judged=1 difference native how OPTIND=1 o
	shift
	while getopts nt:f: o; do
		case $o in n) judged=0 ;; t) limit=$OPTARG ;; f) filter=$OPTARG ;; *) return 2 ;; esac
	done
	shift $((OPTIND - 1))
	one_run "$TMP/.native" "$@"
	one_run "$TMP/.runner" "${RUNNER[@]}" "$@"
	ended "$TMP/.native.status"
	native=$how
	ended "$TMP/.runner.status"
	# record tells of a signal as shells do
	[[ " ${RUNNER[*]} " != *" record "* || $native != signal* ]] ||
		[ "$how" != "exit $((128 + ${native#signal }))" ] || how=$native
	if [ $judged = 1 ] && [ "$native" = timeout ]; then
		fail "$name" "native: no end in $limit s"
	elif [ $judged = 1 ] && grep -qa '^BAD ' "$TMP/.native.out"; then
		fail "$name" "native: $(grep -am 5 '^BAD ' "$TMP/.native.out")"
	elif [ "$native" = "$how" ] && cmp -s "$TMP"/.{native,runner}.out && cmp -s "$TMP"/.{native,runner}.err; then
		pass "$name"
	else
		difference=$(diff -a <(text_of "$TMP/.native" "$native") <(text_of "$TMP/.runner" "$how") |
			cut -c-200 | tr -d '\0' | head -12)
		if [ $judged = 1 ]; then
			fail "$name" "$* (< native, > runner)"$'\n'"$difference"
		else
			diag "$name: $difference"
			skip "$name: differs, reported only"
		fi
	fi
}
