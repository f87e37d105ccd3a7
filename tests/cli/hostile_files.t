#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that recordings, ELF files and debug information name, and what these files claim of themselves: nothing is
# waited for, and no more memory and time is taken than the file is large.
. "$(dirname "$0")/lib.sh"

cat > peak.c <<'C'
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv) /* FILE COMMAND...: into FILE goes how much memory it had at most, in MiB */
{
	struct rusage r;
	pid_t pid = fork();
	int status;
	FILE *f;

	if (!pid)
		execv(argv[2], argv + 2);
	if (argc < 3 || wait4(pid, &status, 0, &r) != pid || !(f = fopen(argv[1], "w")))
		return 99;
	fprintf(f, "%ld\n", r.ru_maxrss >> 10);
	return fclose(f) || !WIFEXITED(status) ? 99 : WEXITSTATUS(status);
}
C
ok "what measures memory is built" gcc -O1 -o peak peak.c

# Ends in time, in so much address space (KiB).
bounded() { (ulimit -v 6000000 && exec timeout 20 ./peak peak.out "$@"); }
annotated() { # NAME DB [OPTIONS…]: annotate ends, has not taken much memory, and shows the procedure
	local name=$1 db=$2
	shift 2
	echo none > peak.out
	run bounded "$ASSAY" annotate -i "$db" "$@" work
	is "$name: annotate ends" "$status" 0
	like "… in less than 500 MiB" "$(<peak.out)" '^[0-9]{1,2}$|^[1-4][0-9]{2}$'
	like "… and shows the procedure" "$out" 'work \('
}

# Sources that are pipes, devices, folders.
mkfifo pipe
cat > sources.c <<C
#line 1 "$TMP/pipe"
int work(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
#line 1 "/dev/zero"
int work_zero(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
#line 1 "/dev/tty"
int work_tty(int n) { int s = 0; for (int i = 0; i < n; i++) s += i ^ n; return s; }
#line 1 "/"
volatile int x;
int main(void) { x = work(1000) + work_zero(1000) + work_tty(1000); return 0; }
C
ok "a program whose line table names them is built" gcc -O1 -fno-inline -g -o sources sources.c
"$ASSAY" record --exact -q -o sources.db -- ./sources
annotated "a source file that is a pipe" sources.db
for proc in work_zero work_tty main; do
	run bounded "$ASSAY" annotate -i sources.db $proc
	is "a source file that is a device or a folder ($proc): annotate ends" "$status" 0
done
run bounded "$ASSAY" report -i sources.db --by line
is "… and report --by line" "$status" 0

# Images that are pipes and devices.
for path in "$TMP/pipe" /dev/zero /dev/tty "$TMP"; do
	cp sources.db other.db
	sqlite3 other.db "UPDATE image SET path = '$path' WHERE path LIKE '%/sources'"
	run bounded "$ASSAY" annotate -i other.db 'work*'
	like "an image that is $path: annotate ends" "$status" '^[0-3]$'
done

# Separate debug files that are.
cp sources linked
objcopy --only-keep-debug linked linked.debug
objcopy --strip-debug --remove-section=.note.gnu.build-id --add-gnu-debuglink=linked.debug linked
rm linked.debug
mkfifo linked.debug
"$ASSAY" record --exact -q -o linked.db -- ./linked
annotated "a debug file that is a pipe" linked.db

# A file of what dwz takes out of several debug files: libdw would open it.
cat > refers.s <<ASM
	.intel_syntax noprefix
	.text
	.globl work
	.type work,@function
work:	mov ecx, 1000
1:	dec ecx
	jnz 1b
	ret
	.size work, .-work
end:
	.globl _start
_start:	call work
	mov eax, 231
	xor edi, edi
	syscall
	.section .gnu_debugaltlink,"",@progbits
	.asciz "$TMP/shared.dwz"
	.fill 20,1,0x11
	.section .debug_abbrev,"",@progbits
	.uleb128 1
	.uleb128 0x11
	.byte 0
	.uleb128 0x03	# name
	.uleb128 0x1f21	# GNU_strp_alt
	.uleb128 0x1b	# comp_dir
	.uleb128 0x1f21
	.uleb128 0x10	# stmt_list
	.uleb128 0x17
	.uleb128 0x11	# low_pc
	.uleb128 0x01
	.uleb128 0x12
	.uleb128 0x07
	.byte 0,0,0
	.section .debug_info,"",@progbits
	.long 2f-1f
1:	.value 4
	.long 0
	.byte 8
	.uleb128 1
	.long 0
	.long 0
	.long 0
	.quad work
	.quad end-work
2:
	.section .debug_line,"",@progbits
	.long 4f-3f
3:	.value 4
	.long 6f-5f
5:	.byte 1,1,1,-5,14,13
	.byte 0,1,1,1,1,0,0,0,1,0,0,1
	.byte 0
	.asciz "x.c"
	.byte 0,0,0,0
6:	.byte 0,9,2
	.quad work
	.byte 3,1,1
	.byte 2,10
	.byte 0,1,1
4:
ASM
ok "a program that refers to a shared debug file is built" gcc -nostdlib -static -o refers refers.s
"$ASSAY" record --exact -q -o refers.db -- ./refers
annotated "a shared debug file that is missing" refers.db
like "… lines are shown" "$out" 'x\.c:2'
mkfifo shared.dwz
annotated "a shared debug file that is a pipe" refers.db
rm shared.dwz
cp sources shared.dwz
annotated "a shared debug file that is one" refers.db
like "… lines are shown" "$out" 'x\.c:2'

# Sections that expand to a thousand times the file.
cat > bomb.s <<'ASM'
	.text
	.globl _start, work
	.type work, @function
_start:	call work
	mov $231, %eax
	xor %edi, %edi
	syscall
work:	mov $1000, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size work, . - work
	.section .debug_str, "", @progbits
	.zero 100000000
ASM
gcc -nostdlib -static -Wl,--build-id -o plain bomb.s
"$ASSAY" record --exact -q -o bomb.db -- ./plain
sqlite3 bomb.db "UPDATE image SET path = '$TMP/bomb' WHERE path LIKE '%/plain'"
for how in zlib zlib-gnu; do
	ok "a program whose debug information expands ($how) is built" objcopy --compress-debug-sections=$how plain bomb
	run bounded "$ASSAY" annotate -i bomb.db work
	is "… annotate ends" "$status" 0
	like "… and says so" "$err" 'bomb: its compressed sections claim to be more than 64 times the file'
	like "… without expanding it" "$(<peak.out)" '^[0-9]{1,2}$'
	ok "… record goes on" "$ASSAY" record --exact -q -o other.db -- ./bomb
done

# Many sections of one table: 60000 times 8 MiB.
cat > sections.c <<'C'
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define SIZE (24u * 349520) /* whole relocations, 8 MiB */
int main(int argc, char **argv) /* IN OUT TYPE FLAGS NAME */
{
	static unsigned char file[64 << 20];
	Elf64_Ehdr *e = (void *)file;
	FILE *f = fopen(argv[1], "r");
	size_t n = (fread(file, 1, 16 << 20, f) + 15) & ~15ul, at = n;
	Elf64_Shdr *old = (void *)(file + e->e_shoff), *new, like = { 0 };
	const char *names = (char *)file + old[e->e_shstrndx].sh_offset;

	if (argc != 6)
		return 1;
	for (int i = 0; i < e->e_shnum; i++)
		if (!strcmp(names + old[i].sh_name, argv[5]))
			like = old[i];
	like.sh_type = (Elf64_Word)atoi(argv[3]);
	like.sh_flags = (Elf64_Xword)atoi(argv[4]);
	like.sh_offset = at;
	like.sh_size = SIZE;
	like.sh_addralign = like.sh_type == SHT_NOTE ? 4 : 8;
	if (like.sh_type == SHT_NOTE)
		like.sh_size = 1 << 20;
	memset(file + n, like.sh_type == SHT_PROGBITS ? 'x' : 0, SIZE);
	n += SIZE;
	file[n - 1] = 0;
	new = (void *)(file + n);
	memcpy(new, old, e->e_shnum * sizeof(*new));
	for (int i = e->e_shnum; i < 60000; i++)
		new[i] = like;
	e->e_shoff = n;
	e->e_shnum = 60000;
	n += 60000 * sizeof(*new);
	f = fopen(argv[2], "w");
	return fwrite(file, 1, n, f) != n || fclose(f);
}
C
ok "what makes such files is built" gcc -O1 -o sections sections.c
cat > table.c <<'C'
int work(int n)
{
	static const void *const where[] = { &&a, &&b, &&c, &&d };
	int s = 0;

	for (int i = 0; i < n; i++) {
		goto *where[i & 3];
a:		s += 1;
		continue;
b:		s ^= 2;
		continue;
c:		s -= 3;
		continue;
d:		s *= 3;
	}
	return s;
}
volatile int x;
int main(void) { x = work(100); return 0; }
C
gcc -O1 -g -o table table.c
for what in "4 2 .rela.dyn" "1 0 .debug_str"; do
	# shellcheck disable=SC2086
	ok "$what: 60000 sections share one" ./sections table shared $what
	chmod +x shared
	"$ASSAY" record --exact -q -o shared.db -- ./table
	sqlite3 shared.db "UPDATE image SET path = '$TMP/shared' WHERE path LIKE '%/table'"
	annotated "$what" shared.db
	annotated "$what, --cfg" shared.db --cfg
	"$ASSAY" record --exact -q -o shared.db -- ./shared
	annotated "$what, recorded" shared.db
done
objcopy --only-keep-debug -R .note.gnu.build-id table full.debug
ok "notes: 60000 sections share them" ./sections full.debug notes.debug 7 0 .comment
cp table notes
objcopy --strip-debug --add-gnu-debuglink=notes.debug notes
"$ASSAY" record --exact -q -o notes.db -- ./notes
annotated "notes" notes.db

done_testing
