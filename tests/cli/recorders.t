#!/bin/bash
# SPDX-License-Identifier: MIT
# Two recorders with one output: the second one is refused, the first one and its program go on.
. "$(dirname "$0")/lib.sh"

integrity() { sqlite3 "$1" 'PRAGMA integrity_check' 2>&1; }
started() { [ -s "$1" ] && [ "$(head -c 15 "$1")" = "SQLite format 3" ] && [ -s pid ]; }
# Records a program that says its pid and ends when the file `stop` is there.
start() { # OPTIONS…
	rm -f pid stop
	"$ASSAY" record -q "$@" -o two.db -- sh -c 'echo $$ > pid; while [ ! -e stop ]; do sleep 0.02; done; exit 5' 2> first.err &
	recorder=$!
	soon started two.db
}
try() { # NAME OPTIONS…
	local name=$1
	shift
	start "$@"
	was=$(sha256sum < two.db.old)
	for again in once twice; do
		run "$ASSAY" record "$@" -o two.db -- touch command-ran
		is "$name: the second recorder, $again: status" "$status" 1
		like "… names the first one" "$err" "two.db is being recorded by process $recorder\$"
		like "… says what to do" "$err" '-o FILE records elsewhere'
		[ ! -e command-ran ]; is "… its command was not started" $? 0
	done
	run "$ASSAY" info -i two.db
	is "$name: reading it meanwhile: status" "$status" 1
	like "… names the recorder" "$err" "still being recorded, by process $recorder\$"
	kill -0 "$(cat pid)"; is "$name: the first one's program runs" $? 0
	touch stop
	wait $recorder
	is "… and ends with its own status" "$?$(cat first.err)" 5
	is "$name: the recording is whole" "$(integrity two.db)" ok
	is "… the old one, too" "$(integrity two.db.old)$was" "ok$(sha256sum < two.db.old)"
	is "… no side files stay" "$(echo two.db*)" "two.db two.db.old"
	ok "… it can be read" "$ASSAY" info -i two.db

	start "$@"
	kill -KILL $recorder
	wait $recorder 2> /dev/null
	touch stop
	run "$ASSAY" record -q "$@" -o two.db -- true
	is "$name: one whose recorder was killed is not in the way" "$status$err" 0
	is "… the new one is whole" "$(integrity two.db)" ok
	is "… the one that was killed, too" "$(integrity two.db.old)" ok
	ok "… it can be read" "$ASSAY" info -i two.db.old
}

"$ASSAY" record -q --exact -o two.db -- true
"$ASSAY" record -q --exact -o two.db -- true
try exact --exact
if can_record; then
	try sampled
else
	skip "the sampler does not work here: $why"
fi
done_testing
