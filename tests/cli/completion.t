#!/bin/bash
# SPDX-License-Identifier: MIT
# Completion: each shell takes what is generated for it, and bash completes.
. "$(dirname "$0")/lib.sh"

for shell in bash zsh fish; do
	ok "completion $shell" "$ASSAY" completion $shell
	"$ASSAY" completion $shell > "assay.$shell"
	if command -v $shell >/dev/null; then
		ok "$shell takes it" $shell -n "assay.$shell"
	else
		skip "no $shell here"
	fi
done
run "$ASSAY" completion tcsh
is "another shell: status" "$status" 2
like "another shell: those there are" "$err" 'one of: bash zsh fish'
run "$ASSAY" completion
is "no shell: status" "$status" 2

complete_line() { # WORDS…: what bash offers for the last of them, sorted, in one line
	bash --norc -c '
		. ./assay.bash
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_assay
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@" | sort | xargs
}
touch recording.db
is "a verb" "$(complete_line assay anno)" annotate
is "an option" "$(complete_line assay report --inp)" --input
is "words of an option" "$(complete_line assay record --event cy)" cycles
is "words of an operand" "$(complete_line assay completion f)" fish
is "a verb as operand" "$(complete_line assay help anno)" annotate
is "a file" "$(complete_line assay report --input reco)" recording.db
like "a command" "$(complete_line assay record -- gunzi)" '(^| )gunzip( |$)'

done_testing
