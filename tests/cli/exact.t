#!/bin/bash
# SPDX-License-Identifier: MIT
# The readings of exact recordings: of a program whose counts are known by hand, against golden text
# (tests/golden/exact; `make rebase` accepts what is printed now), and of gzip, in each mode.
. "$(dirname "$0")/lib.sh"

cat > count.s <<'ASM'
	.intel_syntax noprefix
	.data
table:	.quad 0x3c8, 0x3c8, 0x3c8, 0x3c8, 0x3c8, 0x3c8, 0x5, 0x7
calls:	.quad one, other
	.text
	.globl pick
	.type pick, @function
pick:					# 1000 times: (edi, with each of 0 to 7 as often, 5)
	mov rax, [table+rdi*8]		# 0x3c8 in three of four
	cmp edi, 7
	jne 1f				# not taken by one in eight
	xor eax, eax
1:	ret
	.size pick, . - pick
	.globl one
	.type one, @function
one:	mov eax, 1
	ret
	.size one, . - one
	.globl other
	.type other, @function
other:	mov eax, 2
	ret
	.size other, . - other
	.globl _start
	.type _start, @function
_start:	mov ebx, 1000
	mov esi, 5
1:	mov edi, ebx
	and edi, 7
	call pick
	xor edx, edx
	test ebx, 3
	cmovz edx, ebx			# 0 in three of four, else 250 different values
	xor r9d, r9d
	mov r8d, ebx
	cmp ebx, 701
	cmovb r8d, r9d			# 300 different values, then 0 700 times
	xor ecx, ecx
	cmp ebx, 100
	setbe cl
	call [calls+rcx*8]		# other 100 times
	dec ebx
	jnz 1b
	mov eax, 231
	xor edi, edi
	syscall
	ud2				# never runs
	.size _start, . - _start
ASM
ok "a program is assembled" gcc -g -nostdlib -static -Wl,--build-id=0x0123456701234567 \
	-Wl,-Ttext=0x401000 -Wl,-Tdata=0x404000 -o count count.s
for mode in counts addresses values; do
	run "$ASSAY" record --exact --observe $mode --values 512 -o $mode.db -- ./count
	is "$mode: status" "$status" 0
	like "$mode: the closing line" "$err" '^\[ record: 22,130 instructions of [0-9]+ blocks in 1 process -> '$mode'.db \]$'
done

# What differs from run to run and from machine to machine.
steady() {
	sed -E "s|$TMP|TMP|g
		s/[0-9.]+ (ns|µs|us|ms|s)(; exit|, 1 process| of the)/TIME\2/
		s/(process )[0-9]+/\1PID/; s/(\"(pid|cpu_ns|wall_ns)\": )[0-9]+/\10/
		s/^(started  +).*/\1WHEN/; s/^(on  +).*/\1HERE/; s/(exact )[0-9.]+:/\1VERSION:/
		s/(\"(elapsed|elapsed_ns|recorder_ns|program_ns)\": )[0-9.e-]+/\10/
		s/(\"(host|cpu|kernel|version|started)\": )\"[^\"]*\"/\1\"\"/"
}

same() { # NAME COMMAND…
	local name=$1
	shift
	run "$@"
	golden "$name" "exact/$name" "$(steady <<<"$out")"$'\n'"exit $status${err:+$'\n'}$(steady <<<"$err")"
	case $name in
	*.json | info*) ;;
	*) is "$name: under 80 columns" "$(LC_ALL=C.UTF-8 grep -E '.{80}' <<<"$out")" "" ;;
	esac
	unlike "$name: no word of sampling" "$out$err" '[Ss]ample|Hz|window|lost|cost|[^U] time[^a-z]'
}

same report "$ASSAY" report -i counts.db
same report-line "$ASSAY" report -i counts.db --by line -n 5
same report.json "$ASSAY" report -i counts.db --json
same annotate-counts "$ASSAY" annotate -i counts.db
same annotate "$ASSAY" annotate -i values.db
same annotate-pick "$ASSAY" annotate -i values.db --all pick
same annotate-addresses "$ASSAY" annotate -i addresses.db --all pick
same annotate.json "$ASSAY" annotate -i values.db --json pick
same values "$ASSAY" values -i values.db
same values-argument "$ASSAY" values -i values.db --operand argument
same values-target "$ASSAY" values -i values.db --operand target --all
same values-address "$ASSAY" values -i addresses.db --operand address --min-share 0.1
same values.json "$ASSAY" values -i values.db --json -n 3
same info "$ASSAY" info -w -i values.db
"$ASSAY" record --exact -q --observe lines --interval 5000 -o lines.db -- ./count
same wset "$ASSAY" wset -i lines.db
same wset-map "$ASSAY" wset -i lines.db --map --height 4
same wset-code "$ASSAY" wset -i lines.db --code --height 3 -n 2
same wset.json "$ASSAY" wset -i lines.db --json --map --height 4
"$ASSAY" record --exact -q --observe lines --interval-unit accesses -o lines_accesses.db -- ./count
for picture in --map ""; do
	is "wset $picture: in a locale of ASCII it is ASCII" "$(LC_ALL=C "$ASSAY" wset -i lines.db $picture | LC_ALL=C grep -c '[^ -~]')" 0
	is "wset $picture: with its picture" "$(LC_ALL=C "$ASSAY" wset -i lines.db $picture | grep -c '|.*#')" \
		"$("$ASSAY" wset -i lines.db $picture | grep -c '|.*█')"
done
same wset-accesses "$ASSAY" wset -i lines_accesses.db
same info-lines "$ASSAY" info -w -i lines.db
same info-accesses "$ASSAY" info -w -i lines_accesses.db
same info-accesses.json "$ASSAY" info -i lines_accesses.db --json
is "instructions that were not counted are null" "$("$ASSAY" wset -i lines_accesses.db --json | jq -c '.recording | [has("executions"), .executions]')" '[true,null]'
run "$ASSAY" merge -o lines_both.db lines.db lines_accesses.db
is "… of a sum, too" "$err" "[ merge: 2 recordings -> lines_both.db ]"
is "… and so is the sum with those that were" \
	"$("$ASSAY" info -i lines_both.db --json | jq -c '[.executions, (.runs[].counters.executions)]')" '[null,22130,null]'
for mode in calls conflicts misses reuse; do
	"$ASSAY" record --exact -q --observe $mode -o other.db -- ./count
	is "info of $mode: hot values, if any are kept" "$("$ASSAY" info -i other.db | grep -c '^hot values') $("$ASSAY" info -i other.db --json | jq -c '.runs[0] | [.sketch, .sketch_capacity]')" \
		"$([ $mode = calls ] && echo '1 ["space-saving",16]' || echo '0 [null,null]')"
done
same info-counts "$ASSAY" info -w -i counts.db
same info.json "$ASSAY" info -i counts.db --json

# What is loaded is an address to prefetch, or only part of one.
cat > offset.s <<'ASM'
	.intel_syntax noprefix
	.data
	.quad 1
end:	.quad 2
back:	.quad -8
where:	.quad end
	.text
	.globl _start
	.type _start, @function
_start:	mov ebx, 1000
1:	mov rax, [back]
	mov rdx, [end+rax]
	mov rcx, [where]
	mov rsi, [rcx]
	dec ebx
	jnz 1b
	mov eax, 231
	xor edi, edi
	syscall
	.size _start, . - _start
ASM
gcc -nostdlib -static -Wl,-Ttext=0x401000 -Wl,-Tdata=0x402000 -o offset offset.s
"$ASSAY" record --exact -q --observe values -o offset.db -- ./offset
run "$ASSAY" values -i offset.db --operand load --json
is "an offset is no address, an address is one" \
	"$(jq -r '[.values[] | .value + " " + .hint] | sort | join(", ")' <<<"$out")" \
	"0x1 guard, 0x2 guard, 0x402008 fetch, 0xfffffffffffffff8 guard"

# Nothing to show is exit 3, and says what would.
same values-counts "$ASSAY" values -i counts.db
same values-addresses "$ASSAY" values -i addresses.db
same unknown "$ASSAY" annotate -i counts.db elsewhere
same image "$ASSAY" report -i counts.db --image nope
is "values of counts: status" "$("$ASSAY" values -i counts.db 2>/dev/null; echo $?)" 3

# Known by hand.
json() { "$ASSAY" "$1" -i "$2" --json "${@:4}" | jq -c "$3"; } # VERB FILE FILTER OPTIONS…
is "all that ran" "$(json report counts.db '[.recording.exact, .recording.observe, .recording.executions]')" '[true,"counts",22130]'
is "by procedure" "$(json report counts.db '[.procedures[] | [.procedure, .executions]]')" \
	'[["_start",16005],["pick",4125],["one",1800],["other",200]]'
is "a branch" "$(json annotate counts.db '[.instructions[] | select(.taken) | .executions, .taken.count, .taken.share, .taken.bound]' pick)" '[1000,875,0.875,0]'
is "what never ran" "$(json annotate counts.db '[.instructions[-1] | .executions, .share, has("samples"), has("bound")]')" '[0,0,false,false]'
is "a load: the list is exact" "$(json annotate values.db '[.instructions[0].operands[] | select(.operand == "load") | .exact, .known, (.values[] | .value, .count, .bound)]' pick)" \
	'[true,1,"0x3c8",750,0,"0x5",125,0,"0x7",125,0]'
is "an argument" "$(json annotate values.db '[.instructions[0].operands[] | select(.operand == "arg1") | .exact, .values[0].value, .values[0].share]' pick)" '[true,"0x5",1]'
is "targets" "$(json annotate values.db '[.instructions[].operands[] | select(.operand == "target" and (.values | length) == 2) | .values[].count]' _start)" '[900,100]'
is "a list that is long enough has none" \
	"$(json annotate values.db '[.instructions[].operands[] | select(.register == "r8d" and .exact) | .exact, .values[0].count, .values[0].bound]' _start)" '[true,700,0]'
run "$ASSAY" record -q --exact --observe values -o short.db -- ./count
like "a list that is too short: >= is told" "$("$ASSAY" values -i short.db --all --operand result --procedure _start)" '^ all % share %  >= % executions'
like "… and why" "$("$ASSAY" values -i short.db --all --operand result --procedure _start --explain)" '^>= .*where more values came'
is "… it has a bound that holds" \
	"$(json annotate short.db '[.instructions[].operands[] | select(.register == "r8d" and (.exact | not)) | .values[0] | select(.value == "0x0") | .low <= 0.7 and .share + .bound >= 0.7, .bound > 0 and .bound < 0.05]' _start)" '[true,true]'

# All that ran was observed: of each load, value and address, as often as the instruction ran.
head -c 300000 "$(command -v bash)" > text
like "gzip: under 80 columns" "$("$ASSAY" record -q --exact -o gzip.db -- gzip -c text 2>&1 > /dev/null; "$ASSAY" info -i gzip.db)" '^executed'
is "… all lines" "$("$ASSAY" info -i gzip.db | awk 'length > 79')" ""
for mode in addresses values; do
	"$ASSAY" record -q --exact --observe $mode -o gzip.db -- gzip -c text > text.gz
	is "gzip, $mode: status" $? 0
	for proc in $(json report gzip.db '.procedures[:8][].address' --image gzip | tr -d \"); do
		json annotate gzip.db '.instructions[] | select(.executions > 0) | .executions as $n | .operands[] | select(.operand | startswith("arg") | not) | $n - .observations' --image gzip "$proc"
	done | sort | uniq -c > missed
	is "gzip, $mode: all observed" "$(awk '$2 != 0' missed)" ""
	[ "$(awk '{ n += $1 } END { print n }' missed)" -gt 200 ]
	is "… of many operands" $? 0
done

# Code that is rewritten for each of its executions is counted; what of it is too much is said.
cat > changing.c <<'C'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(int argc, char **argv)
{
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0, n = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < n; i++) {
		unsigned char code[] = { 0xb8, i, i >> 8, 0, 0, 0x90, 0x90, 0xc3 };
		memcpy(p, code, sizeof(code));
		sum += ((int (*)(void))p)() == i;
	}
	return sum == n ? 0 : 1;
}
C
ok "a program that changes its code is built" gcc -O1 -o changing changing.c
run "$ASSAY" record --exact -o changing.db -- ./changing 1000
is "changing code: status" "$status" 0
is "all 4,000 are counted" \
	"$(json report changing.db '(.images[] | select(.image == "[anon]") | .executions), .recording.uncounted')" $'4000\n0'
run "$ASSAY" record --exact -o changing.db -- ./changing 60000
is "much changing code: status" "$status" 0
like "much changing code: said" "$err" '^\[ [0-9,]+ instructions whose code kept changing are not in it \]$'
is "all 240,000 are counted, or known not to be" \
	"$(json report changing.db '[(.images[] | select(.image == "[anon]") | .executions), .recording.uncounted] | add')" 240000
run "$ASSAY" record --exact -q -o changing.db -- sh -c './changing 55000; exec ./changing 60000'
is "in a child, and after another image has taken its place: all 460,000 are counted, or known not to be" \
	"$(json report changing.db '[(.images[] | select(.image == "[anon]") | .executions), .recording.uncounted] | add')" 460000
like "report says it" "$("$ASSAY" report -i changing.db)" '^[0-9,]+ instructions whose code kept changing are not in it$'

# A compiler that fills a page procedure by procedure, and calls each: its code is soon observed as other code is.
cat > compiler.c <<'C'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	unsigned char *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int sum = 0;
	for (int i = 0; i < 100; i++) {
		unsigned char code[] = { 0xb8, i, 0, 0, 0, 0xc3 };
		memcpy(p + 16 * i, code, sizeof(code));
		sum += ((int (*)(void))(p + 16 * i))();
	}
	for (int i = 0; i < 20000; i++)
		sum += ((int (*)(void))(p + 16 * 99))();
	return sum != 100 * 99 / 2 + 20000 * 99;
}
C
ok "a compiler is built" gcc -O1 -o compiler compiler.c
run "$ASSAY" record --exact --observe values -q -o compiler.db -- ./compiler
is "a page written 100 times: status" "$status" 0
is "all 40,200 instructions are counted" "$(json report compiler.db '.images[] | select(.image == "[anon]") | .executions')" 40200
seen=$("$ASSAY" values -i compiler.db --json --all -n 0 | jq '[.values[] | select(.operand == "return" and .value == "0x63" and .image == "[anon]") | .observations] | max')
ok "most of 20,000 returned values are observed: $seen" test "$seen" -gt 18000

# Every key is documented.
for verb in report annotate values info; do
	json $verb values.db '.. | objects | keys[]'
done | tr -d \" | sort -u | while read -r key; do
	grep -q "\`$key\`" "$ROOT/docs/json.md" || echo "$key"
done > undocumented
is "each key is in docs/json.md" "$(<undocumented)" ""

# Installed, and without any privilege.
ok "make install" make -s -C "$ROOT" BUILD="$BUILD" DESTDIR="$TMP/root" PREFIX=/usr install
run root/usr/bin/assay record --exact -o installed.db -- ./count
is "installed: status" "$status" 0
is "installed: it records" "$(json report installed.db .recording.executions)" 22130
is "doctor has run it" "$(root/usr/bin/assay doctor --json | jq -c '[.exact, (.checks[] | select(.check == "exact") | .ok, .needed, .fix)]')" '[true,true,false,null]'
if [ "$(id -u)" = 0 ] && id nobody > /dev/null 2>&1 && command -v setpriv > /dev/null; then
	chmod 755 . count && mkdir -m 777 nobody
	alone=(setpriv --reuid nobody --clear-groups --inh-caps=-all --bounding-set=-all)
	run "${alone[@]}" root/usr/bin/assay record --exact -o nobody/n.db -- ./count
	is "without privilege: status" "$status" 0
	is "without privilege: it records" "$(json report nobody/n.db .recording.executions)" 22130
	run "${alone[@]}" root/usr/bin/assay doctor
	is "doctor without privilege: the sampler does not work" "$status" 1
	like "… the engine does" "$out" '^ok  record --exact: `true` executed [0-9,]+ instructions$'
	like "… and is offered" "$out" '^`assay record --exact -- CMD`, which needs no privilege, works.$'
	cp "$ROOT/demo/run" demo && chmod 755 demo
	run env DEMO_BYTES=20000 TMPDIR="$TMP/nobody" "${alone[@]}" ./demo root/usr/bin/assay
	is "the demo without privilege: status" "$status" 0
	like "… says so" "$out" '^The sampler is not allowed here'
	like "… and what would allow it" "$out" 'sudo make demo'
	like "… and uses the exact engine" "$out" '^exact \(values\): [0-9,]+ instructions executed'
else
	skip "not root: cannot become another user"
fi
rm root/usr/libexec/assay/assay-exact
run root/usr/bin/assay record --exact -o installed.db -- ./count
is "without the engine: status" "$status" 1
like "… said" "$err" 'the exact engine, assay-exact, is not beside .*root/usr/bin/assay'
is "… by doctor, too" "$(root/usr/bin/assay doctor --json | jq -c '[.exact, (.checks[] | select(.check == "exact") | .ok)]')" '[false,false]'

# Exact ones add up; with sampled ones they do not.
run "$ASSAY" merge -o sum.db counts.db values.db
is "merge: status" "$status" 0
is "merge: closing line" "$err" "[ merge: 2 recordings, 44,260 instructions -> sum.db ]"
is "merge adds up" "$(json report sum.db '[.recording.runs, .recording.executions, (.procedures[] | select(.procedure == "pick") | .executions)]')" '[2,44260,8250]'
is "what half of them observed is known of half" "$(json annotate sum.db '[.instructions[0].operands[] | select(.operand == "load") | .known]' pick)" '[0.5]'
ok "a sampled recording is made up" "$BUILD/tests/unit/verify" .
run "$ASSAY" merge -o mixed.db sampled.db counts.db
is "exact and sampled: status" "$status" 1
like "… said" "$err" '^assay: an exact recording and a sampled one do not add up'
like "… what to do" "$err" 'assay verify SAMPLED EXACT'
[ ! -e mixed.db ]
is "… nothing is written" $? 0
cp counts.db mixed.db
sqlite3 mixed.db "INSERT INTO run(id, source, command, finished) VALUES(1, 'sampler', 'made up', 1)"
for verb in report annotate values info; do
	run "$ASSAY" $verb -i mixed.db
	is "$verb of a mixture: status" "$status" 1
	like "$verb of a mixture: said" "$err" 'mixed.db adds up exact and sampled recordings'
done

done_testing
