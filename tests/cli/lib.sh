# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# TAP for the scripts of tests/cli and tests/long. Each begins with
#   . "$(dirname "$0")/lib.sh"
# and ends with done_testing. It runs in a directory of its own, $TMP, with $ASSAY the binary under test,
# $BUILD the build folder and $ROOT the source tree.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${BUILD:-$ROOT/build}
ASSAY=$BUILD/assay
TMP=$(mktemp -d "${TMPDIR:-/tmp}/assay-test.XXXXXX") || exit 1
trap 'cd /; rm -rf "$TMP"' EXIT
cd "$TMP" || exit 1
export LC_ALL=C.UTF-8 NO_COLOR=1 ASSAY_PAGER=
export XDG_CACHE_HOME=$TMP/.cache && mkdir "$XDG_CACHE_HOME" || exit 1 # what readings keep
n_tests=0

diag() { printf '%s\n' "$*" | sed 's/^/# /'; }

pass() { n_tests=$((n_tests + 1)); echo "ok $n_tests - $1"; }
fail() { # NAME [WHY]
	n_tests=$((n_tests + 1))
	echo "not ok $n_tests - $1"
	[ $# -lt 2 ] || diag "$2"
}

# Unlike `timeout -s KILL` it returns when the command has ended: a recording that is being made is refused.
killed_after() { # SECONDS COMMAND…
	"${@:2}" > /dev/null 2>&1 &
	sleep "$1"
	{ kill -KILL $! && wait $!; } 2> /dev/null
}

ok() { # NAME COMMAND…: it succeeds
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then pass "$name"; else fail "$name" "exit $? of: $*"$'\n'"$said"; fi
}

is() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "   got: $2"$'\n'"wanted: $3"; fi
}

like() { # NAME GOT EXTENDED-REGEX: some line of it matches
	if grep -qE -- "$3" <<<"$2"; then pass "$1"; else fail "$1" "   got: $2"$'\n'"wanted: /$3/"; fi
}

golden() { # NAME FILE GOT: GOT is what FILE holds, below tests/golden; REBASE=1 writes it there
	local file=${GOLDEN:-$ROOT/tests/golden}/$2 difference
	if [ -n "${REBASE:-}" ]; then
		mkdir -p "$(dirname "$file")" && printf '%s\n' "$3" > "$file"
	fi
	if difference=$(diff -u "$file" - <<<"$3" 2>&1); then
		pass "$1"
	else
		fail "$1" "$difference"$'\n'"(make rebase accepts what is new)"
	fi
}

unlike() { # NAME GOT EXTENDED-REGEX: none does
	if grep -qE -- "$3" <<<"$2"; then fail "$1" "     got: $2"$'\n'"unwanted: /$3/"; else pass "$1"; fi
}

soon() { # COMMAND…: waits until it succeeds, 30 s at most
	local i
	for ((i = 0; i < 300; i++)); do
		! "$@" || return 0
		sleep 0.1
	done 2>/dev/null
	return 1
}

skip() { n_tests=$((n_tests + 1)); echo "ok $n_tests # SKIP $1"; } # REASON

run() { # COMMAND…: sets $status, $out, $err
	out=$("$@" 2>"$TMP/.stderr" </dev/null)
	status=$?
	err=$(<"$TMP/.stderr")
}

verbs() { "$ASSAY" help | sed -n '/^first steps/q; s/^  \([a-z][a-z]*\)  .*/\1/p'; }

can_record() { # whether doctor says that the sampler works here; else $why
	why=$("$ASSAY" doctor 2>&1) && return 0
	why=$(grep -m 1 '^NO' <<<"$why" || echo "${why%%$'\n'*}")
	return 1
}

done_testing() { echo "1..$n_tests"; }
