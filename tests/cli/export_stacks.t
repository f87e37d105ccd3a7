#!/bin/bash
# SPDX-License-Identifier: MIT
# export: call stacks in the formats of flame graphs, pprof, speedscope, the Firefox Profiler and perf; executions and calls in
# callgrind's. Each is read by its own consumer, or decoded by another program.
. "$(dirname "$0")/lib.sh"

ok "recordings are made up" "$BUILD/tests/unit/report_recordings" .
ok "so is one of a million stacks" "$BUILD/tests/unit/report_recordings" . many
export_to() { # FILE FORMAT ARGS...
	run "$ASSAY" export "$2" -o "$1" "${@:3}"
	is "$2 ${*:3}: written" "$status:$err" "0:${said:-}"
}

export_to s.folded folded -i stacks.db
is "folded: the stacks" "$(sort s.folded)" "fill_window;[no unwind information];longest_match 3
fill_window;main;deflate;fill_window 14
fill_window;main;deflate;longest_match 16
squeeze;[no unwind information];longest_match 17
squeeze;main;deflate;fill_window 66
squeeze;main;deflate;longest_match 84"
run "$ASSAY" export folded -i stacks.db stacks.db
is "folded: two recordings add up" "$(awk '{ n += $NF } END { print n }' <<< "$out")" 400
run "$ASSAY" export folded -i hostile.db
is "folded: hostile names stay in their lines" "$(grep -vcE '^[^;]+(;[^;]+)+ [0-9]+$' <<< "$out"):$(wc -l <<< "$out")" 0:6

export_to s.perf perf-script -i stacks.db
is "perf-script: a paragraph for each sample" "$(awk -v RS= 'END { print NR }' s.perf)" 200
is "perf-script: whole stacks" "$(awk -v RS= '/longest_match\+0x8 .*deflate\+0xf .*main\+0xf / { n++ } END { print n }' s.perf)" 100

is "perf-script: samples of a stretch of time are spread over it" "$(awk '/cpu-clock/ { sub(/:/, "", $3); n += $2 == thread && $3 <= last; thread = $2; last = $3 } END { print n + 0 }' s.perf)" 0
run "$ASSAY" export perf-script -i blanks.db
is "perf-script: a path with blanks is one word" "$(awk '/^\t/ { print $NF }' <<< "$out" | sort -u | xargs)" "(/usr/bin/with_a_blank) ([unknown])"

export_to s.json speedscope -i stacks.db
is "speedscope: a procedure is one frame" "$(jq -r '[.shared.frames[].name] | group_by(.)[] | select(length > 1) | .[0]' s.json)" ""
is "speedscope: by thread" "$(jq -c '[.profiles[] | .type, (.weights | add)]' s.json)" '["sampled",167502503,"sampled",33099297]'
is "speedscope: samples name frames" "$(jq '.shared.frames as $f | [.profiles[].samples[][] | select($f[.] == null)] | length' s.json)" 0
is "speedscope: as many weights as samples" "$(jq -c '[.profiles[] | (.samples | length) == (.weights | length)] | unique' s.json)" '[true]'
is "speedscope: a stack, outermost first" "$(jq -r '.shared.frames as $f | [.profiles[0].samples[] | map($f[.].name) | join(";")] | unique | .[2]' s.json)" "main;deflate;longest_match"

export_to f.json firefox -i stacks.db
columns() { jq -c '[.shared.frameTable, .shared.funcTable, .shared.stackTable, .shared.resourceTable, .threads[].samples | . as $t | to_entries[] | select(.value | type == "array") | (.value | length) == $t.length] | unique' "$1"; }
is "firefox: columns are as long as their tables" "$(columns f.json)" '[true]'
is "firefox: weights" "$(jq '[.threads[].samples.weight[]] | add' f.json)" 200
is "firefox: prefixes come first" "$(jq '[.shared.stackTable.prefix | to_entries[] | select(.value != null and .value >= .key)] | length' f.json)" 0
is "firefox: a stack" "$(jq -r '.shared as $s | [.threads[0].samples.stack[] | [recurse($s.stackTable.prefix[.]; . != null) | $s.stringArray[$s.funcTable.name[$s.frameTable.func[$s.stackTable.frame[.]]]]] | join(";")] | any(. == "longest_match;deflate;main")' f.json)" true
for f in speedscope firefox; do
	run "$ASSAY" export $f -i hostile.db
	is "$f: hostile names are JSON's strings" "$(jq -e . <<< "$out" >/dev/null; echo $?)" 0
done

export_to s.pb.gz pprof -i stacks.db
cat > decode.py <<'PY'
import gzip, sys
def fields(b):
	i = 0
	def varint():
		nonlocal i
		v = s = 0
		while True:
			c = b[i]; i += 1; v |= (c & 127) << s; s += 7
			if c < 128: return v
	while i < len(b):
		k = varint()
		if k & 7 == 0: yield k >> 3, varint()
		else:
			n = varint(); yield k >> 3, b[i:i + n]; i += n
def packed(b):
	return [v for _, v in fields(b''.join(b'\x08' + c for c in split(b)))]
def split(b):
	at = 0
	for i, c in enumerate(b):
		if c < 128: yield b[at:i + 1]; at = i + 1
p = list(fields(gzip.open(sys.argv[1]).read()))
strings = [v.decode() for k, v in p if k == 6]
functions = {dict(fields(v))[1]: strings[dict(fields(v)).get(2, 0)] for k, v in p if k == 5}
locations = {dict(fields(v))[1]: functions[dict(fields(dict(fields(v))[4]))[1]] for k, v in p if k == 4}
mapping = [dict(fields(v)) for k, v in p if k == 3][0]
print('map', strings[mapping[5]], strings[mapping[6]])
total = {}
for k, v in p:
	if k != 2: continue
	s = list(fields(v)); d = dict(s)
	key = ';'.join(reversed([locations[x] for x in packed(d[1])]))
	labels = {strings[dict(fields(l))[1]]: dict(fields(l)) for n, l in s if n == 3}
	print(key, strings[labels['thread'][2]], labels['tid'][3], *packed(d[2]))
PY
decoded=$(python3 decode.py s.pb.gz)
like "pprof: the program and its build-id" "$decoded" '^map /usr/bin/squeeze aabbccdd00112233$'
like "pprof: a stack with labels and values" "$decoded" '^main;deflate;longest_match squeeze 100 84 84252756$'
like "pprof: a cut stack says so" "$decoded" '^\[no unwind information\];longest_match fill_window 101 3 '
if command -v go >/dev/null; then
	like "pprof: go tool pprof reads it" "$(go tool pprof -top s.pb.gz 2>/dev/null)" '120.36ms 60.00% 60.00%   120.36ms 60.00%  longest_match'
else
	skip "pprof: go tool pprof reads it: no golang-go here"
fi

cat > calls.c <<'C'
static volatile int sink;
__attribute__((noipa)) void leaf(void) { sink++; }
__attribute__((noipa)) void twice(void) { leaf(); leaf(); }
__attribute__((noipa)) int down(int n) { sink++; return n ? down(n - 1) + 1 : 0; }
int main(void)
{
	for (int i = 0; i < 10; i++)
		twice();
	leaf();
	down(20);
	return 0;
}
C
gcc -O1 -g -o calls calls.c
"$ASSAY" record --exact --observe calls -q -o x.db -- ./calls
export_to x.cg callgrind -i x.db
for cost in no yes; do
	run callgrind_annotate --auto=no --threshold=100 --inclusive=$cost x.cg
	is "callgrind: callgrind_annotate reads it, inclusive=$cost" "$status:$(grep -v '^ *line:' <<< "$err")" 0:
	eval "${cost}_out=\$out"
done
self() { sed 's/,//g' <<< "$no_out" | awk -v p="calls.c:$1" '$4 == p || $5 == p || $3 == p || $2 == p { print $1; exit }'; }
all() { sed 's/,//g' <<< "$yes_out" | awk -v p="calls.c:$1" '$4 == p || $5 == p || $3 == p || $2 == p { print $1; exit }'; }
of() { "$ASSAY" report -i x.db -n 0 --json | jq --arg p "$1" '.procedures[] | select(.procedure == $p and .image == "calls") | .executions'; }
is "callgrind: own executions" "$(self leaf) $(self twice) $(self down)" "$(of leaf) $(of twice) $(of down)"
is "callgrind: with what twice calls" "$(all twice)" "$(($(of twice) + $(of leaf) * 20 / 21))"
is "callgrind: with all that main leads to" "$(all main)" "$(($(of main) + $(of twice) + $(of leaf) + $(of down)))"
like "callgrind: calls are counted" "$(grep -A1 '^cfn=.*leaf' x.cg; grep '^calls=' x.cg)" '^calls=10 0x'

# A procedure that calls itself and another one at random: 2^20 different stacks of 20 frames.
sum() { awk '{ n += $NF; d += gsub(/;/, ";") } END { print NR, n, d }'; }
is "a million different stacks: folded" "$("$ASSAY" export folded -i many.db | sum)" "1048576 1048576 20971520"
export_to many.pb.gz pprof -i many.db
is "... pprof" "$(gzip -dc many.pb.gz | python3 -c '
import sys
b, i, n = sys.stdin.buffer.read(), 0, 0
def varint():
	global i
	v = s = 0
	while True:
		c = b[i]; i += 1; v |= (c & 127) << s; s += 7
		if c < 128: return v
while i < len(b):
	k, v = varint(), varint()
	n += k == 2 << 3 | 2
	i += v if k & 7 == 2 else 0
print(n)')" 1048576
run "$ASSAY" report --children -i many.db --json
is "... report --children" "$(jq -c '[.procedures[] | .procedure, .samples]' <<< "$out")" '["[root]",1048576,"even",1048575,"odd",1048575]'

# What there is to refuse.
refused() { # NAME STATUS REGEX FORMAT ARGS...: nothing is written
	run "$ASSAY" export "$4" -o no.out "${@:5}"
	like "$1" "$status:$err" "^$2:.*$3"
	is "... and writes nothing" "$(ls no.out* 2>/dev/null)" ""
}
refused "callgrind of samples" 1 'only exact recordings do' callgrind -i stacks.db
refused "perf-script of executions" 1 'counts executions instead' perf-script -i x.db
for f in folded pprof speedscope firefox perf-script; do
	refused "$f of an empty recording" 3 'holds no samples' $f -i empty.db
	refused "$f of one image" 2 'is of all images' $f -i stacks.db --image squeeze
done
for f in folded pprof speedscope firefox; do
	said='the recording has no call stacks: each procedure stands alone' export_to flat.$f $f -i x.db
done
is "executions without stacks" "$(awk '$NF > 0 && /;leaf / { n += $NF } END { print n }' flat.folded)" "$(of leaf)"
killed_after 1 "$ASSAY" record --exact -q -o k.db -- sh -c 'i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done'
for f in folded callgrind pprof; do
	run "$ASSAY" export $f -i k.db -o k.out
	like "$f of a killed recording: what it has, or that it has nothing" "$status:$err" '^(0:|3:)'
done
done_testing
