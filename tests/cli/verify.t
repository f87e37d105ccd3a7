#!/bin/bash
# SPDX-License-Identifier: MIT
# verify over recordings that are always the same, against golden text (tests/golden/verify; `make rebase`
# accepts what is printed now), and what it says of recordings that cannot be compared. The figures
# themselves are tests/unit/verify.c's.
. "$(dirname "$0")/lib.sh"

ok "recordings are made up" "$BUILD/tests/unit/verify" .

same() { # NAME OPERANDS…
	local name=$1
	shift
	run "$ASSAY" verify "$@"
	golden "$name" "verify/$name" "$out"$'\n'"exit $status"${err:+$'\n'"$err"}
	is "$name: under 80 columns" "$(awk 'length > 79' <<<"$out")" ""
}
same one sampled.db exact.db
same two --all --min 100 --worst 2 sampled.db counting.db exact.db
same common --common --worst 0 sampled.db counting.db exact.db
same nothing --min 100000 sampled.db exact.db
same itself exact.db exact.db
same again --worst 0 sampled.db again.db exact.db
run "$ASSAY" verify --json --worst 0 sampled.db again.db exact.db
like "another exact run is one in JSON" "$(jq -c '[.recordings[].name]' <<<"$out")" '^\["A","exact2","exact"\]$'
again_keys=$(jq -r '.. | objects | keys[]' <<<"$out")
run "$ASSAY" verify --json --worst 1 sampled.db counting.db exact.db
golden "JSON" verify/json "$out"

# Every key is documented.
missing=
for key in $(sort -u <<<"$again_keys"$'\n'"$(jq -r '.. | objects | keys[]' <<<"$out")"); do
	grep -q "\`$key\`" "$ROOT/docs/json.md" || missing+=" $key"
done
is "each key is in docs/json.md" "$missing" ""
is "the schema and the verb" "$(jq -r '"\(.schema) \(.verb)"' <<<"$out")" "1 verify"
is "whoever is first is A" "$(jq -c '[.recordings[] | [.name, .file]]' <<<"$out")" \
	'[["A","sampled.db"],["B","counting.db"],["exact","exact.db"]]'
is "a recording's figures do not depend on the others" \
	"$(jq -c '[.values[], .directions[], .coverage[] | select(.name == "A")]' <<<"$out")" \
	"$("$ASSAY" verify --json sampled.db exact.db | jq -c '[.values[], .directions[], .coverage[]]')"
is "no worst sites" "$("$ASSAY" verify --worst 0 --json sampled.db exact.db | jq '.worst_values + .worst_directions | length')" 0
is "against itself nothing is off" \
	"$("$ASSAY" verify --all --json exact.db exact.db | jq -c '[.directions[0].rms == 0, .values[0].found == 1, .values[0].held == 1, .coverage[0].overlap > 0.999999]')" \
	"[true,true,true,true]"

# What cannot be compared.
run "$ASSAY" verify exact.db sampled.db
is "the wrong order: status" "$status" 2
is "… nothing on stdout" "$out" ""
like "… said" "$err" '^assay: the exact recording comes last: exact.db is exact, sampled.db is not$'
like "… the right one" "$err" '^  assay verify sampled.db exact.db$'
run "$ASSAY" verify sampled.db counting.db
is "none is exact: status" "$status" 1
like "… said" "$err" "^assay: counting.db is not exact: it was recorded by 'sampler'$"
like "… the remedy" "$err" 'assay record --exact'
run "$ASSAY" verify sampled.db rebuilt.db
is "another build: status" "$status" 1
is "… nothing on stdout" "$out" ""
like "… both build-ids" "$err" 'sampled.db and rebuilt.db ran different files: /nowhere/bin/squeeze \(build-id 0123456789abcdef, 00000000deadbeef\)'
run "$ASSAY" verify sampled.db stranger.db exact.db
is "another run of another program: status" "$status" 3
is "… nothing on stdout" "$out" ""
like "… said" "$err" 'stranger.db saw no instruction that ran in exact.db'
run "$ASSAY" verify --json sampled.db stranger.db
is "another program: status" "$status" 3
is "… nothing on stdout" "$out" ""
like "… said" "$err" 'sampled.db saw no instruction that ran in stranger.db'
like "… both programs" "$err" 'mostly of /nowhere/bin/squeeze, the other of /nowhere/bin/other'
like "… the commands" "$err" "warning: the commands differ: sampled.db is of .squeeze .*, stranger.db of .other.$"
run "$ASSAY" verify sampled.db no-such.db
is "a missing file: status" "$status" 1
like "… said" "$err" 'no-such.db: No such file'
like "… what it takes" "$err" 'assay verify SAMPLED\.\.\. EXACT'
head -c 5000 exact.db > cut.db
run "$ASSAY" verify sampled.db cut.db
is "a truncated file: status" "$status" 1
like "… named" "$err" 'cut.db'
run "$ASSAY" verify sampled.db "$0"
is "what is no recording: status" "$status" 1
run "$ASSAY" verify empty.db exact.db
is "nothing was sampled: status" "$status" 3
like "… said" "$err" 'empty.db holds no samples'
for few in "" exact.db; do
	# shellcheck disable=SC2086 # none or one
	run "$ASSAY" verify $few
	is "too few files (${few:-none}): status" "$status" 2
	like "… an example" "$err" '^  assay verify sampled.db exact.db$'
done

# Two recordings of 200,000 sites and 600,000 operands: a few times as long as to read each of them.
executed() { # COMMAND...: instructions
	"$ASSAY" record --exact -q -o executed.db -- "$@" >/dev/null 2>&1
	"$ASSAY" info -i executed.db --json | jq .executions
}
took=$(executed "$ASSAY" verify --min 1 --min-hot 1 big.db big-exact.db)
read=$(executed "$ASSAY" report -i big.db) read_exact=$(executed "$ASSAY" report -i big-exact.db)
is "200,000 sites: $took instructions, to read them $read and $read_exact" $((took < 5 * (read + read_exact))) 1

done_testing
