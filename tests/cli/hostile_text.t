#!/bin/bash
# SPDX-License-Identifier: MIT
# Text from outside, in recordings, ELF files, names of files and of threads, never reaches a terminal as an order
# to it, and never takes a row away from JSON.
. "$(dirname "$0")/lib.sh"

# What a terminal obeys or a screen lies with: control characters of ASCII, DEL, those of U+0080 to U+009F, and what
# changes the direction of text; and bytes that are no UTF-8, 0x9b alone among them.
controls='[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]|\xd8\x9c'
# In the middle of a name, with UTF-8 that is to stay.
evil=$'\e]0;owned\a\e[31m\x7f\x9b1m\xc2\x9b2m\nforged\tline\r\xff\xc3(\xe2\x80\xae\xe2\x81\xa6<&"\\\xc3\xa9'

clean() { # NAME: nothing of the above is in the files of out/, of which there are some
	local bad
	bad=$(LC_ALL=C.UTF-8 grep -axv '.*' out/* /dev/null | head -3; LC_ALL=C grep -aP "$controls" out/* | head -3)
	if [ -z "$bad" ] && [ -n "$(cat out/*)" ]; then pass "$1"; else fail "$1" "$(cat -v <<<"$bad")"; fi
	rm -f out/*
}

mkdir out
# A program whose file, folder, and source have such names.
mkdir "in$evil"
cat > "in$evil/src$evil.s" <<'ASM'
	.intel_syntax noprefix
	.text
	.globl match
	.type match, @function
match:
	mov rax, [rdi]
	mov ecx, 3
	add rax, rcx
	cmp rax, rsi
	jne 1f
	xor eax, eax
1:	call other
	ret
	.size match, . - match
	.globl other
	.type other, @function
other:
	ret
	.size other, . - other
	.globl _start
	.type _start, @function
_start:
	mov edx, 100
1:	lea rdi, [rsp]
	mov [rdi], rdx
	call match
	dec edx
	jnz 1b
	mov eax, 231
	xor edi, edi
	syscall
	.size _start, . - _start
ASM
program="in$evil/tiny$evil"
ok "a program with such a name is assembled" gcc -g -nostdlib -static -Wl,--build-id=0x0123456701234567 \
	-Wl,-Ttext=0x401000 -o tiny "in$evil/src$evil.s"
cp tiny "$program"
ok "recordings are made up" "$BUILD/tests/unit/report_recordings" . "$TMP/tiny"
for mode in values calls lines reuse misses conflicts; do
	"$ASSAY" record --exact -q --observe $mode -o $mode.db -- ./tiny 2>>recorded ||
		fail "record --observe $mode" "$(<recorded)"
done

# Every text column but those with words of the format's own, all at once.
words=' run.source run.event run.unit image.kind edge.kind conflict.kind wset.unit wset_region.kind counter.name '
hex() { od -An -v -tx1 | tr -d ' \n'; }
bytes=$(printf %s "$evil" | hex)
columns() { # DB: TABLE.COLUMN, the columns of text
	sqlite3 "$1" "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND c.type = 'TEXT' ORDER BY 1"
}
poison() { # TABLE.COLUMN: SQL that puts the bytes into all of its values
	case $1 in
	image.path) # the program stays where it is, under its name
		echo "UPDATE image SET path = CAST(x'$(printf %s "$TMP/$program" | hex)' AS TEXT) WHERE path LIKE '%/tiny';
			UPDATE image SET path = path || CAST(x'$bytes' AS TEXT) WHERE path NOT LIKE '%/in%';"
		;;
	image.build_id) ;; # the program is found by it
	wset_region.name) echo "UPDATE wset_region SET name = name || CAST(x'$bytes' AS TEXT) WHERE region > 0;" ;; # 0 is "code"
	*) echo "UPDATE ${1%.*} SET ${1#*.} = ${1#*.} || CAST(x'$bytes' AS TEXT) || 'end' WHERE ${1#*.} IS NOT NULL;" ;;
	esac
}
poison_all() { # FROM TO
	local column
	cp "$1" "$2"
	for column in $(columns "$1"); do
		case $words in *" $column "*) ;; *) poison "$column" ;; esac
	done | sqlite3 "$2"
}
ok "the schema has columns of text" [ "$(columns lines.db | wc -l)" -gt 15 ]

readings() { # DB: the ways to read it, a line each
	printf '%s\n' "info -w" report "annotate"
	case $1 in
	squeeze.db) printf '%s\n' "report --image nope" "annotate nope*" "annotate *" ;;
	elf.db | values.db)
		printf '%s\n' "report -w --by line" "annotate -w --full --all" "annotate --cfg match*" "values -w --all" \
			"annotate --dot match*" "calls match*"
		;;&
	elf.db) printf '%s\n' "report --method windows" "report --why" ;;
	calls.db) printf '%s\n' "calls -w" calls ;;
	lines.db) printf '%s\n' "wset --svg out/bars.svg" "wset -w --stacks" "wset --map --svg out/map.svg" "wset --code" "wset --process 1" ;;
	reuse.db) printf '%s\n' "reuse -w --svg out/curve.svg" reuse ;;
	conflicts.db) printf '%s\n' "conflicts -w" conflicts ;;
	esac
}

# What there is in JSON, without what it says.
shapes() { jq -c '[.verb, ([paths] | length)]' "$@"; }

for db in squeeze.db elf.db values.db calls.db lines.db reuse.db misses.db conflicts.db; do
	poison_all $db evil.db
	n=0
	rm -rf was && mkdir was
	set -f
	while read -r verb options; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		"$ASSAY" $verb -i evil.db $options >out/$n.text 2>out/$n.said
		# shellcheck disable=SC2086
		"$ASSAY" $verb -i evil.db $options --json >out/$n.json 2>out/$n.json.said
		echo "exit $?" >>out/$n.json.said
		# shellcheck disable=SC2086
		"$ASSAY" $verb -i $db $options --json >was/$n.json 2>was/$n.json.said
		[ $? = "$(sed -n '$s/exit //p' out/$n.json.said)" ] || fail "$db: $verb $options: another status" "$(cat -v out/$n.json.said)"
	done < <(readings $db)
	set +f
	rm -f out/*.dot.json
	is "$db: JSON has all that it has without the bytes" "$(shapes out/*.json 2>&1)" "$(shapes was/*.json 2>&1)"
	for svg in out/*.svg; do
		[ ! -e "$svg" ] || is "$db: ${svg##*/} has no elements but its own, and no entities" \
			"$(grep -oE '<[^/ >]+|&[^;]{5}' "$svg" | grep -vxE '<(svg|g|title|text|path|rect|line)')" ""
	done
	clean "$db: all that is printed is clean"
done

# Words of the format's own, and build-ids, one at a time: a message, or a reading.
for column in $words image.build_id; do
	case $column in wset*) db=lines ;; conflict*) db=conflicts ;; edge*) db=calls ;; *) db=elf ;; esac
	cp $db.db evil.db
	sqlite3 evil.db "UPDATE OR IGNORE ${column%.*} SET ${column#*.} = ${column#*.} || CAST(x'$bytes' AS TEXT)"
	for verb in info report "report --why" wset; do
		# shellcheck disable=SC2086
		"$ASSAY" $verb -i evil.db >"out/$column.${verb##* }" 2>"out/$column.${verb##* }.said"
		# shellcheck disable=SC2086
		"$ASSAY" $verb -i evil.db --json >"out/$column.${verb##* }.json" 2>"out/$column.${verb##* }.json.said"
	done
done
clean "each of the format's own words: all that is printed is clean"

# Verbs that read several.
poison_all values.db evil.db
poison_all elf.db evil2.db
"$ASSAY" verify evil2.db evil.db >out/verify 2>out/verify.said
"$ASSAY" verify --all --json evil2.db evil.db >out/verify.json 2>out/verify.json.said
is "verify --json has all that it has without the bytes" "$(shapes out/verify.json)" \
	"$("$ASSAY" verify --all --json elf.db values.db 2>out/verify2.said | shapes)"
"$ASSAY" merge -o "sum$evil.db" evil.db evil.db 2>out/merge.said
is "merge keeps what was recorded" "$("$ASSAY" info -i "sum$evil.db" --json | jq -r '.runs[0].command')" \
	"$("$ASSAY" info -i evil.db --json | jq -r '.runs[0].command')"
"$ASSAY" merge -o sum.db evil.db "sum$evil.db" evil2.db 2>out/merge2.said # sampled and exact
clean "verify and merge: all that is printed is clean"

# Command lines and names of files that are refused.
"$ASSAY" "$evil" 2>out/1
"$ASSAY" report "--$evil" 2>out/2
"$ASSAY" report -i "$evil" 2>out/3
"$ASSAY" report -i "$program" 2>out/4
"$ASSAY" report -i elf.db --by "$evil" 2>out/5
"$ASSAY" report -i elf.db --image "$evil" 2>out/6
"$ASSAY" annotate -i elf.db "$evil" 2>out/7
"$ASSAY" report -i elf.db -n "$evil" 2>out/8
"$ASSAY" report -i elf.db "$evil" 2>out/9
"$ASSAY" report -i elf.db --counts "$evil" 2>out/10
"$ASSAY" wset -i lines.db --svg "no/$evil" 2>out/11
"$ASSAY" record --exact -o "no/$evil" -- true 2>out/12
"$ASSAY" record --exact -- "no/$evil" 2>out/13
"$ASSAY" record --exact -o r.db -- "./in$evil/src$evil.s" 2>out/14
"$ASSAY" record -o "no/$evil" -- true 2>out/15
"$ASSAY" merge -o sum.db "$evil" 2>out/16
"$ASSAY" help "$evil" 2>out/17
"$ASSAY" completion "$evil" 2>out/18
is "each is refused with a message" "$(find out -size 0)" ""
clean "what is refused: all that is printed is clean"

# What really runs: a program of that name, threads of that name, arguments; the recording, too.
cat > threads.c <<'C'
#include <pthread.h>
#include <sys/prctl.h>
static volatile unsigned long sum;
static void *work(void *name)
{
	prctl(PR_SET_NAME, name);
	for (unsigned long i = 0; i < 20000000; i++)
		sum += i;
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t t;

	prctl(PR_SET_NAME, argv[argc - 1]);
	return pthread_create(&t, 0, work, argv[argc - 1]) || pthread_join(t, 0);
}
C
ok "a program with threads is built" gcc -O1 -g -pthread -Wl,--dynamic-linker="$TMP/ld$evil" -o nold threads.c
gcc -O1 -g -pthread -o "in$evil/threads$evil" threads.c
"$ASSAY" record --exact -o "run$evil.db" -- ./nold 2>out/no-interpreter
like "a program whose interpreter is missing is refused" "$(cat -v out/no-interpreter)" '^assay: .*nold'
"$ASSAY" record --exact -o "run$evil.db" -- "in$evil/threads$evil" "$evil" 2>out/exact >out/exact.out
is "record --exact of such a program: status" $? 0
like "… its closing line" "$(<out/exact)" '^\[ record: .* blocks in 1 process -> run\?\]0;owned\?.*é\.db \]$'
"$ASSAY" record --exact --observe lines -o "lines$evil.db" -- "in$evil/threads$evil" "$evil" 2>out/lines >out/lines.out
recorded=("run$evil.db" "lines$evil.db")
if can_record; then
	"$ASSAY" record -o "sampled$evil.db" -- "in$evil/threads$evil" "$evil" 2>out/sampled >out/sampled.out
	is "record of such a program: status" $? 0
	recorded+=("sampled$evil.db")
else
	skip "record of such a program: $why"
fi
n=0
for db in "${recorded[@]}"; do
	n=$((n + 1))
	"$ASSAY" report -w -i "$db" >out/$n.report 2>out/$n.report.said
	"$ASSAY" report -w -i "$db" --json >out/$n.json 2>out/$n.json.said
	"$ASSAY" info -i "$db" --json >out/$n.info.json 2>out/$n.info.said
	"$ASSAY" annotate -i "$db" >out/$n.annotate 2>out/$n.annotate.said
	is "a recording of such a program is read" "$(jq -r .verb out/$n.info.json)" info
done
"$ASSAY" wset -i "lines$evil.db" >out/wset 2>out/wset.said
like "the name of the process is shown" "$(<out/wset)" '^\?\]0;owned\?.*process'
clean "what really ran: all that is printed is clean"

done_testing
