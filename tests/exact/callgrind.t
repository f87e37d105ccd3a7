#!/bin/bash
# SPDX-License-Identifier: MIT
# Recorded counts of larger programs against callgrind's, address for address, in the text of a program and its
# library. What has to differ is left out: repeated string instructions, of which callgrind counts each round;
# the loader and libc, which meet another environment (valgrind's preloaded library) and another layout of the
# stack. Processor features that valgrind does not have are off on both sides.
set -u
. "$(dirname "$0")/lib.sh"
if ! command -v valgrind >/dev/null; then
	skip "valgrind is not installed"
	done_testing
	exit 0
fi
if ldd "$ASSAY" | grep -q libasan; then
	skip "the sanitizer has to be loaded before the library that valgrind preloads"
	done_testing
	exit 0
fi
unlike_valgrind=GLIBC_TUNABLES=glibc.pthread.rseq=0:glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX,-BMI2,-ERMS,-FSRM,-RTM,-LZCNT,-MOVBE
alike=(env -i "PATH=$PATH" PERL_HASH_SEED=0 LC_ALL=C "$unlike_valgrind" setarch -R)

# What valgrind adds to the environment.
mapfile -t added < <("${alike[@]}" valgrind -q --tool=none env | grep -v "^\(PATH\|PERL_HASH_SEED\|LC_ALL\|GLIBC_TUNABLES\)=")

text_of_object() { # OBJECT FILE: "ADDRESS COUNT" of its .text, addresses of 16 digits
	local from size
	read -r size from < <(objdump -h "$1" | awk '$2 == ".text" { print $3, $4 }')
	awk -v object="$1" -v from="$from" -v end="$(printf %016x $((0x$from + 0x$size)))" '
		$2 == object { a = substr("0000000000000000" substr($3, 3), length($3) - 1); k = "a" a
			if (k >= "a" from && k < "a" end) print a, $1 }' "$2" | sort
}

agree() { # MOST OBJECTS COMMAND…: of a million executions in them at most MOST differ
	local most=$1 objects=$2 name=$3 object said
	shift 2
	command -v "$1" >/dev/null || { skip "$1: not installed"; return; }
	"${alike[@]}" "$ROOT/tests/exact/callgrind-count" -o callgrind "$@" >out.1 2>/dev/null
	timeout -s KILL 600 "${alike[@]}" env "${added[@]}" "$ASSAY" record --exact -q -o exact.db -- "$@" >out.2 2>err
	is "$name: the same output" "$(cksum <out.2)" "$(cksum <out.1)"
	"$BUILD/tests/exact/recorded" exact.db >all
	"$BUILD/tests/exact/recorded" -r exact.db >recorded
	for object in $(awk -v o="$objects" '$2 ~ o { print $2 }' all | sort -u); do
		text_of_object "$object" all | cut -d' ' -f1 >ran
		text_of_object "$object" recorded >ours
		comm -23 ran <(cut -d' ' -f1 ours) >repeated
		text_of_object "$object" callgrind | grep -vFf <(sed 's/$/ /' repeated; echo none) >theirs
		said=$(join -a 1 -a 2 -e 0 -o 0,1.2,2.2 ours theirs | awk -v most="$most" '
			{ n += $2; d = $2 > $3 ? $2 - $3 : $3 - $2; differ += d; if (d && ++k <= 5) lines = lines "; " $0 }
			END { print (n && differ * 1e6 <= most * n ? "agree" : "DIFFER") ": " n " executions, " differ + 0 " off" lines }')
		like "$name, ${object##*/}: $said" "$said" '^agree'
	done
}

head -c 30000 "$(command -v bash)" >input
agree 0 '/gzip$' gzip -9 -c input
agree 0 '/(bzip2|libbz2[^/]*)$' bzip2 -c input
agree 0 '/(xz|liblzma[^/]*)$' xz -1 -c input
agree 0 '/(sqlite3|libsqlite3[^/]*)$' sqlite3 :memory: 'create table t(a, b); insert into t values(1, 2), (3, 4); select sum(a * b) from t;'
# perl and the compiler hash addresses
agree 1000 '/perl$' perl -e 'my %h; $h{$_ % 97} .= $_ for 1 .. 5000; print join(",", map { length $h{$_} } sort keys %h), "\n"'
echo 'int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n % 7; return s; }' >f.c
cc1=$(gcc -print-prog-name=cc1 2>/dev/null)
agree 100 '/cc1$' "${cc1:-cc1}" -quiet -O2 f.c -o /dev/stdout
done_testing
