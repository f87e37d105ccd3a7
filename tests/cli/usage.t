#!/bin/bash
# SPDX-License-Identifier: MIT
# What the command line says to those who do not know it yet.
. "$(dirname "$0")/lib.sh"

run "$ASSAY"
is "no verb: usage" "$status" 2
is "… nothing on stdout" "$out" ""
like "… the verbs on stderr" "$err" '^  record  +[a-z]'

run "$ASSAY" --help
is "--help: status" "$status" 0
like "--help: on stdout" "$out" '^  report  +[a-z]'
run "$ASSAY" help
is "help: status" "$status" 0
is "help: under 80 columns" "$(awk 'length > 79' <<<"$out")" ""
run "$ASSAY" --version
like "--version" "$out" '^assay [0-9]+\.[0-9]+\.[0-9]+$'

run "$ASSAY" reprot
is "unknown verb: status" "$status" 2
like "unknown verb: named" "$err" "^assay: there is no verb 'reprot'$"
like "unknown verb: the nearest" "$err" "did you mean 'report'\?"
run "$ASSAY" help reprot
is "help of an unknown verb" "$status" 2
run "$ASSAY" --json report
like "option before the verb" "$err" 'options come behind the verb'

verbs=$(verbs)
like "there are verbs" "$verbs" '^record$'
for verb in $verbs; do
	run "$ASSAY" "$verb" --help
	is "$verb --help: status" "$status" 0
	like "$verb --help: usage" "$out" "^usage: assay $verb"
	is "$verb --help: under 80 columns" "$(awk 'length > 79' <<<"$out")" ""
	is "$verb --help: same as help $verb" "$("$ASSAY" help "$verb")" "$out"
	run "$ASSAY" "$verb" --no-such-option
	is "$verb --no-such-option: status" "$status" 2
	like "$verb --no-such-option: said" "$err" "^assay: $verb has no option --no-such-option$"
	is "$verb --no-such-option: nothing on stdout" "$out" ""
done

# What those type who are used to perf: what stands in its place here is said.
while IFS='|' read -r line want; do
	read -ra words <<<"$line"
	run "$ASSAY" "${words[@]}"
	is "$line: status" "$status" 2
	like "$line: what to type" "$err" "$want"
done <<'TABLE'
top|`sudo assay record -a -d 10`, then `assay report`
stat -- true|`assay record --exact -- CMD` counts instructions
script|assay export perf-script
c2c|report --why
version|`assay --version`
record -c 1000 -- true|-F HZ
record -C 0 -a|-a records all CPUs
record -e instructions -- true|`assay record --exact -- CMD` counts every instruction
record --event=cycles:u -- true|one of: cpu-clock cycles
record -e branch-misses -- true|--observe misses
record -F max -- true|-F HZ takes a number
record -p 1 -- sleep 1|-d S ends a recording
report --stdio|leave it out: readings are text
report --sort=dso|--by image
report -s sym|--by image
report --pid 1|-p PID
report -g|--callers PROC
annotate -s main|assay annotate PROCEDURE
annotate --stdio2|leave it out
TABLE

run bash -c "'$ASSAY' --help >/dev/full"
is "a full disk is an error" "$status" 1
like "… and said" "$err" '^assay: cannot write the output: No space left on device$'

done_testing
