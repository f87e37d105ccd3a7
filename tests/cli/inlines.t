#!/bin/bash
# SPDX-License-Identifier: MIT
# Inlined procedures as frames: of each executed instruction those that addr2line -i names, with its executions.
. "$(dirname "$0")/lib.sh"

cat > inl.c <<'C'
static volatile unsigned long sink;
#define INLINE static inline __attribute__((always_inline))
INLINE void deep(long n) { while (n-- > 0) sink += n; }
INLINE void middle(long n) { deep(n); sink ^= n; }
INLINE void other(long n) { if (n & 1) sink += 3; else deep(n / 2); }
__attribute__((noipa)) void outer(long n) { middle(n); other(n); sink += 2; deep(3); }
int main(void) { for (int i = 0; i < 40; i++) outer(100 + i); return 0; }
C
gcc -O2 -g -o inl inl.c || exit 1
ok "an exact recording" "$ASSAY" record --exact -q -o inl.db -- ./inl

# By executed instruction: executions, and from the outermost procedure on what addr2line names.
"$ASSAY" annotate -i inl.db outer --json | jq -r '.instructions[] | select(.executions > 0) | "\(.address) \(.executions)"' > sites
while read -r address executions; do
	echo "$(addr2line -i -f -e inl "$address" | sed -n 1~2p | tac | sed '2,$s/$/ (inlined)/' | paste -sd';') $executions"
done < sites | awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) print s, sum[s] }' | sort > wanted
"$ASSAY" export folded -i inl.db 2> /dev/null | sed -n 's|^\./inl;\(outer.*\)|\1|p' | sort > got
is "inlined as deep as addr2line says" "$(grep -c 'middle (inlined);deep (inlined)' wanted)" 1
is "each stack has the executions that it should have" "$(cat got)" "$(cat wanted)"
"$ASSAY" export firefox -i inl.db -o f.json 2> /dev/null
is "lines are those of addr2line: where the next one is called, and the instruction's" \
	"$(jq -r '.shared as $t | range($t.frameTable.length) |
		"\($t.stringArray[$t.funcTable.name[$t.frameTable.func[.]]]) \($t.frameTable.line[.])"' f.json | grep -E '^(deep|middle|outer) ' | sort -u)" \
	"$(while read -r address _; do
		addr2line -i -f -e inl "$address" | paste - - | awk '{ n[NR] = $1; l[NR] = $2 } END { for (i = 1; i <= NR; i++) { sub(/.*:/, "", l[i]); sub(/ .*/, "", l[i]); if (n[i] != "other") print n[i] (i < NR ? " (inlined)" : ""), l[i] } }'
	done < sites | sort -u)"
if command -v go > /dev/null; then
	"$ASSAY" export pprof -i inl.db -o p.gz 2> /dev/null
	like "pprof knows what was inlined" "$(HOME=$TMP go tool pprof -top p.gz 2> /dev/null)" 'deep \(inline\)'
fi
strip -g -o bare inl
ok "without debug information" "$ASSAY" record --exact -q -o bare.db -- ./bare
unlike "... nothing is inlined" "$("$ASSAY" export folded -i bare.db 2> /dev/null | grep '^./bare;outer')" inlined
done_testing
