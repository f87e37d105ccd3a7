# shellcheck shell=bash disable=SC2086,SC2034,SC2154,SC2164
# SPDX-License-Identifier: MIT
# The programs of bench/pgo: how each is built, and its two workloads. Before: D, the folder to build in; HERE, this one; tmp.
#   build_PROGRAM         makes $D/PROGRAM/PROGRAM.bin for BOLT, with gcc
#   prepare_PROGRAM       makes its sources ready to be compiled
#   compile_PROGRAM OUT COMPILER...   compiles and links them, with these words before all others
#   run_PROGRAM WHAT BINARY           one run of the workload WHAT, train or eval

CFLAGS="-O2 -g1 -fno-reorder-blocks-and-partition"
LDFLAGS="-Wl,--emit-relocs -Wl,--build-id"

# Debian's sources, by a list of sources of this bench alone.
source_of() { # PACKAGE DIR: unpacks its upstream archive
	[ ! -d "$2" ] || return 0
	mkdir -p "$D/apt/lists/partial" "$2.new"
	local apt=(apt-get -q -o "Dir::Etc::sourcelist=$D/apt/src.sources" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$D/apt/lists")
	if [ ! -e "$D/apt/src.sources" ]; then
		awk 'BEGIN { RS = ""; ORS = "\n\n" } !/security/' /etc/apt/sources.list.d/debian.sources |
			sed 's/^Types: deb$/Types: deb-src/' >"$D/apt/src.sources"
		"${apt[@]}" update >/dev/null
	fi
	(cd "$2.new" && "${apt[@]}" source --download-only "$1/$(. /etc/os-release && echo "$VERSION_CODENAME")" >/dev/null &&
		tar -xf "$(find . -name "*.orig.tar.*" | head -1)" --strip-components=1)
	mv "$2.new" "$2"
}

prepare_sqlite3() {
	[ ! -e "$D/sqlite3/shell.c" ] || return 0
	source_of sqlite3 "$D/sqlite3"
	cd "$D/sqlite3" && ./configure --disable-tcl --disable-readline && make sqlite3.c shell.c
}
compile_sqlite3() {
	cd "$D/sqlite3"
	"${@:2}" -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION -o "$1" shell.c sqlite3.c -lm
}
build_sqlite3() { prepare_sqlite3 && compile_sqlite3 sqlite3.bin gcc $CFLAGS $LDFLAGS; }
run_sqlite3() { "$2" :memory: <"$HERE/$1.sql"; }

prepare_lua() { source_of lua5.4 "$D/lua"; }
compile_lua() {
	cd "$D/lua/src"
	rm -f luac.c # a program of its own
	# the same seed of hashes in each run
	"${@:2}" -DLUA_USE_LINUX -DLUA_COMPAT_5_3 '-Dluai_makeseed(L)=1' -o "$1" ./*.c -Wl,-E -lm -ldl
}
# BOLT refuses tables of labels (computed gotos).
build_lua() { prepare_lua && compile_lua "$D/lua/lua.bin" gcc $CFLAGS -DLUA_USE_JUMPTABLE=0 $LDFLAGS; }
run_lua() { "$2" "$HERE/$1.lua"; }

binutils() {
	[ ! -e "$D/binutils/gold/ld-new" ] || return 0
	mkdir -p "$D/binutils" "$D/binutils-src"
	tar -xf /usr/src/binutils/binutils-*.tar.xz -C "$D/binutils-src" --strip-components=1
	cd "$D/binutils" && ../binutils-src/configure CFLAGS="$CFLAGS" CXXFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" --enable-gold \
		--disable-gdb --disable-gdbserver --disable-sim --disable-libdecnumber --disable-readline --disable-gprofng \
		--disable-nls --disable-werror --disable-plugins MAKEINFO=true
	make -j2 MAKEINFO=true all-gas all-gold
}
build_as() {
	binutils
	mkdir -p "$D/as"
	cp "$D/binutils/gas/as-new" "$D/as/as.bin"
	local src=$D/binutils-src i="-I$D/binutils/bfd -I$D/binutils-src/include -I$D/binutils-src/bfd -I$D/binutils-src/zlib"
	gcc -O2 -S $i -DHAVE_CONFIG_H -o "$D/as/train.s" "$src/bfd/elf.c"
	gcc -O0 -g -fPIC -S -I"$src/zlib" -x c -o "$D/as/eval1.s" "$src/zlib/deflate.c"
	g++ -O1 -g -S -o "$D/as/eval2.s" -x c++ - <<<'#include <map>
#include <regex>
#include <string>
std::map<std::string, int> m; bool f(const std::string &s) { m[s]++; return std::regex_match(s, std::regex("a+(b|c)*[0-9]{2,5}")); }'
}
run_as() {
	if [ "$1" = train ]; then
		"$2" -o "$tmp/as.o" "$D/as/train.s"
	else
		"$2" -o "$tmp/as.o" "$D/as/eval1.s" && "$2" --gdwarf-5 -al=/dev/null -o "$tmp/as.o" "$D/as/eval2.s"
	fi
}

build_gold() {
	binutils
	mkdir -p "$D/gold"
	cp "$D/binutils/gold/ld-new" "$D/gold/gold.bin"
	printf 'int main(void) { return 0; }\n' | gcc -c -fPIC -o "$D/gold/main.o" -x c -
}
run_gold() {
	if [ "$1" = train ]; then # a program of C
		"$2" -o "$tmp/gold.out" -e main "$D/gold/main.o" --whole-archive "$D/binutils/opcodes/.libs/libopcodes.a" \
			"$D/binutils/bfd/.libs/libbfd.a" "$D/binutils/libiberty/libiberty.a" "$D/binutils/zlib/libz.a" --no-whole-archive --unresolved-symbols=ignore-all
	else # a position-independent program of C++, identical code folded
		"$2" -pie -e main -o "$tmp/gold.out" --icf=all --build-id --hash-style=gnu -O2 --sort-section=name -z now --defsym=__dso_handle=0 "$D"/binutils/gold/[a-e]*.o \
			--unresolved-symbols=ignore-all --no-export-dynamic
	fi
}

build_python() {
	source_of python3.11 "$D/python"
	cd "$D/python" && ./configure --without-computed-gotos CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" && make -j2
	cp python python.bin
}
run_python() { "$2" "$HERE/$1.py"; }

build_perl() {
	prepare_sqlite3 # the text that it works on
	source_of perl "$D/perl"
	cd "$D/perl" && ./Configure -des -Doptimize="$CFLAGS" -Dldflags="$LDFLAGS" -Dccflags="-fno-strict-aliasing" -Dusedevel && make -j2 perl
	cp perl perl.bin
}
run_perl() { "$2" -I"$D/perl/lib" "$HERE/$1.pl" "$D/sqlite3/shell.c"; }

build_cppcheck() {
	prepare_lua # C that it checks
	source_of cppcheck "$D/cppcheck"
	cd "$D/cppcheck" && make -j2 CXXFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" cppcheck
	cp cppcheck cppcheck.bin
}
run_cppcheck() {
	cd "$D/cppcheck"
	if [ "$1" = train ]; then # a program of C
		"$2" -q --max-configs=1 ../lua/src/l{strlib,code,gc}.c 2>/dev/null
	else # of C++, with more checks
		"$2" -q --max-configs=1 --enable=all -I lib lib/{path,suppressions,mathlib}.cpp 2>/dev/null
	fi
}

prepare_gawk() {
	[ ! -e "$D/gawk/config.h" ] || return 0
	prepare_sqlite3
	source_of gawk "$D/gawk"
	cd "$D/gawk" && CFLAGS=-O2 LDFLAGS='' ./configure --disable-extensions --disable-nls --disable-mpfr --without-readline
}
compile_gawk() {
	cd "$D/gawk"
	make -C support clean && make -C support CC="${*:2}" CFLAGS= && rm -f ./*.o gawk && make CC="${*:2}" CFLAGS= gawk && cp gawk "$1"
}
run_gawk() { "$2" -f "$HERE/$1.awk" "$D/sqlite3/shell.c"; }
