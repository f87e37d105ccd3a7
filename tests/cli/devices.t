#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory of devices is not read, however short a time it has been mapped.
. "$(dirname "$0")/lib.sh"

device=$BUILD/tests/progs/device
if ! can_record; then
	skip "$why"
elif ! "$device" 1 2>device.err; then
	skip "nothing to map as a device is mapped: $(<device.err)"
else
	run "$ASSAY" record -q -F 5000 -o a.db -- "$device" 10
	is "the recording of a program that maps devices" "$status" 0
	loads() { # PROCEDURE: how many of its loads were observed
		"$ASSAY" annotate -i a.db --json --all "$1" |
			jq '[.instructions[].operands[]? | select(.operand == "load") | .observations] | add // 0'
	}
	is "no load from a device is observed" "$(loads load_device)" 0
	ok "loads beside them are" [ "$(loads load_memory)" -gt 100 ]
fi

done_testing
