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

run bash -c "'$ASSAY' --help >/dev/full"
is "a full disk is an error" "$status" 1
like "… and said" "$err" '^assay: cannot write the output: No space left on device$'

done_testing
