#!/bin/bash
# SPDX-License-Identifier: MIT
# The pager: for long output on a terminal alone, with colours, without a say in the exit status.
. "$(dirname "$0")/lib.sh"

"$BUILD/tests/unit/report_recordings" . || exit 1
export TERM=xterm
unset NO_COLOR ASSAY_PAGER LESS
on_terminal() { # ROWS COMMAND: what a terminal of so many rows shows
	timeout 30 script -qec "stty rows $1 cols 80; $2" /dev/null < /dev/null | tr -d '\r'
}
marks="PAGER='sed s/^/paged:/'"
report="'$ASSAY' report -i squeeze.db --explain"

is "long output is paged" "$(on_terminal 10 "$marks $report" | grep -vc '^paged:')" 0
is "what fits on the screen is not" "$(on_terminal 200 "$marks $report" | grep -c '^paged:')" 0
is "... line by line, to the last row" "$(on_terminal $(($(on_terminal 200 "$report" | wc -l) + 1)) "$marks $report" | grep -c '^paged:')" 0
is "... and not one row less" "$(on_terminal "$(on_terminal 200 "$report" | wc -l)" "$marks $report" | grep -vc '^paged:')" 0
like "colours stay" "$(on_terminal 10 "$marks $report" | cat -v)" '\^\[\[1m'
is "ASSAY_PAGER comes before PAGER" "$(on_terminal 10 "$marks ASSAY_PAGER='sed s/^/mine:/' $report" | grep -vc '^mine:')" 0
is "... empty: no pager" "$(on_terminal 10 "$marks ASSAY_PAGER= $report" | grep -c '^paged:')" 0
is "--no-pager" "$(on_terminal 10 "$marks $report --no-pager" | grep -c '^paged:')" 0
is "a dumb terminal has none" "$(on_terminal 10 "TERM=dumb $marks $report" | grep -c '^paged:')" 0
is "what is no terminal has none" "$(PAGER='sed s/^/paged:/' "$ASSAY" report -i squeeze.db --explain | grep -c '^paged:')" 0
is "nothing is lost" "$(on_terminal 10 "NO_COLOR=1 PAGER='sed -n p' $report")" "$("$ASSAY" report -i squeeze.db --explain)"
like "a pager that is not there" "$(on_terminal 10 "PAGER=no-such-pager $report")" 'longest_match'
is "a pager that fails changes no exit status" "$(on_terminal 10 "PAGER='head -1; exit 5' $report; echo status \$?" | tail -1)" "status 0"
is "... nor one that is killed" "$(on_terminal 10 "PAGER='kill -9 \$\$' $report; echo status \$?" | tail -1)" "status 0"
is "an error has its own" "$(on_terminal 10 "$marks '$ASSAY' report -i nowhere.db; echo status \$?" | tail -1)" "status 1"
like "what to record is asked for" "$(on_terminal 50 "'$ASSAY' record; echo status \$?")" 'assay record -- CMD.*-p PID'
done_testing
