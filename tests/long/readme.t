#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands that README.md tells a newcomer to type, as they stand there.
. "$(dirname "$0")/../cli/lib.sh"

commands=$(awk '/^```sh$/ { block = 1; next } /^```$/ { block = 0 } block' "$ROOT/README.md" | sed 's/ *#.*//')
like "README has a recording" "$commands" '^sudo build/assay record -- '
packages="tools/install-packages build"
like "README begins with what installs, builds and records" "$commands" "^$packages && make demo"
like "README has what installs, builds and tests" "$commands" "$packages && make check"
like "... which continuous integration runs" "$(<"$ROOT/.ci/run")" "$packages && make check"
like "README has a report" "$commands" '^build/assay report$'

named=$(grep -oE '`assay [a-z]+' "$ROOT/README.md" | sed 's/.* //'
	sed -n 's/^| `\([a-z]*\)` |.*/\1/p' "$ROOT/README.md")
for verb in $(sort -u <<<"$named"); do
	ok "assay $verb is a verb" "$ASSAY" help "$verb"
done

if can_record; then
	ln -s "$BUILD" build
	find /usr/include -name '*.h' -print0 | LC_ALL=C sort -z | xargs -0 cat | head -c 20000000 > big.txt
	while read -r line; do
		case $line in
		"$packages && make demo") line="DEMO_BYTES=20000000 $ROOT/demo/run $ASSAY" ;;
		"$packages && make check") continue ;; # this test is a part of it
		esac
		[ "$(id -u)" != 0 ] || line=${line#sudo }
		run bash -c "$line"
		if [ "$status" = 0 ]; then pass "$line"; else fail "$line" "exit $status"$'\n'"$err"; fi
	done <<<"$commands"
else
	skip "cannot record here: $why"
fi

done_testing
