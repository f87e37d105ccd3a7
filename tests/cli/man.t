#!/bin/bash
# SPDX-License-Identifier: MIT
# The manual pages that the option tables generate: one a verb, each clean and complete.
. "$(dirname "$0")/lib.sh"

mkdir pages
ok "pages are written" "$ASSAY" help --man-all pages
verbs=$(verbs)
is "one for each verb, and assay(1)" \
	"$(cd pages && echo *)" "$({ echo assay.1; sed 's/.*/assay-&.1/' <<<"$verbs"; } | sort | xargs)"

for page in pages/*.1; do
	name=${page##*/}
	is "$name: no complaint of troff" "$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -l "$page" 2>&1 >/dev/null)" ""
	text=$(man -l "$page" 2>/dev/null | col -bx)
	like "$name: NAME" "$text" "^ +assay(-[a-z]+)? +- +[a-z]"
done

# shellcheck disable=SC2086 # words
for verb in $verbs; do
	text=$(MANWIDTH=200 man -l "pages/assay-$verb.1" | col -bx)
	missing=
	for option in $("$ASSAY" "$verb" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+'); do
		grep -qF -- "$option" <<<"$text" || missing+=" $option"
	done
	is "assay-$verb.1: every option of --help" "$missing" ""
done

run "$ASSAY" help --man-all "$TMP/no/such/folder"
is "a folder that is not there: status" "$status" 1
like "… said" "$err" 'cannot write .*/no/such/folder/.*: No such file or directory'

done_testing
