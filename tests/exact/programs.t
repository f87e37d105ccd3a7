#!/bin/bash
# SPDX-License-Identifier: MIT
# The cases of tests/progs/exact: each alone, natively and under the runner. Without arguments the dynamic
# programs; forms.t has the others.
# Usage: tests/exact/programs.t [PROGRAM[/CASE]…]   (PROGRAM as below build/tests/progs/exact)
set -u
. "$(dirname "$0")/lib.sh"
need_runner
PROGRAMS_DIR=$BUILD/tests/progs/exact

program() { # NAME [CASE]
	local path=$PROGRAMS_DIR/$1 cases c flags
	[ -x "$path" ] || { fail "$1" "$path is not built"; return; }
	cases=${2:-$("$path")}
	[ -n "$cases" ] || { fail "$1" "it lists no cases"; return; }
	for c in $cases; do
		flags=()
		[ "${c#may_}" = "$c" ] || flags=(-n)
		compare "$1/$c" "${flags[@]}" "$path" "$c"
	done
}

if [ $# = 0 ]; then
	while read -r path; do
		set -- "$@" "${path#"$PROGRAMS_DIR"/}"
	done < <(find "$PROGRAMS_DIR" -maxdepth 1 -type f -executable ! -name '*.so' | LC_ALL=C sort)
fi
for what; do
	name=${what%/} case=
	if [ ! -x "$PROGRAMS_DIR/$name" ] || [ -d "$PROGRAMS_DIR/$name" ]; then
		name=${what%/*} case=${what##*/}
	fi
	program "$name" $case
done
done_testing
