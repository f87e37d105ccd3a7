#!/bin/bash
# SPDX-License-Identifier: MIT
# What each process of an exactly recorded program has mapped for the engine, as /proc shows it to another process: of
# the memory shared with the recorder its own pieces alone, nothing of what it was forked from; of memory that can be
# written and executed not more than its code needs; and after it has restricted its system calls neither.
set -u
. "$(dirname "$0")/lib.sh"

cat >maps.c <<'EOC'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static int begun[2], gate[2];
static char c;

static void *stays(void *arg)
{
	return write(begun[1], "", 1) == 1 && read(gate[0], &c, 1) ? arg : NULL;
}

static void *ends(void *arg) { return arg; }

static void threads(void)
{
	pthread_t t;

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, stays, NULL) || read(begun[0], &c, 1) != 1)
			exit(1);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, ends, NULL) || pthread_join(t, NULL))
			exit(1);
	if (!vfork()) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	wait(NULL);
}

static void restrict_calls(void)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog p = { 1, all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		exit(1);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	const char *name = "parent";

	if (pipe(begun) || pipe(gate))
		return 1;
	if (strchr(what, 't'))
		threads();
	if (strchr(what, 'f') && !fork())
		name = "child";
	if (strchr(what, 's'))
		restrict_calls();
	printf("%s %d\n", name, (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	while (wait(NULL) > 0)
		;
	return 0;
}
EOC
ok "a program is compiled" gcc -O1 -pthread -o maps maps.c

begin() { # MODE COMMAND…: runs it until the gate is closed; $pid is of each of its processes, by name
	local mode=$1 name number
	shift
	rm -f gate said && mkfifo gate
	"$ASSAY" record --exact -q --observe "$mode" -o maps.db -- "$@" <gate >said 2>errors &
	exec 9>gate
	soon grep -q '^parent' said && { [[ $* != *f ]] || soon grep -q '^child' said; }
	declare -gA pid=()
	while read -r name number; do pid[$name]=$number; done <said
}

end() { # NAME
	exec 9>&-
	wait $!
	is "$1: ends well" "$?:$(<errors)" 0:
}

pieces() { # PID: of the shared memory, mapped there: offset and end, in decimal
	local range perms offset rest
	while read -r range perms offset rest; do
		[[ $rest != *memfd:assay* ]] || echo $((0x$offset)) $((0x$offset + 0x${range#*-} - 0x${range%-*}))
	done <"/proc/$1/maps"
}

shared_bytes() { pieces "$1" | awk '{ n += $2 - $1 } END { print n + 0 }'; } # PID

common() { # PID PID: pieces behind the header, its first page, that both have mapped
	local a b x y
	while read -r a b; do
		while read -r x y; do
			[ $((a > x ? a : x)) -ge $((b < y ? b : y)) ] || [ $((b < y ? b : y)) -le 4096 ] ||
				echo "$((a > x ? a : x))-$((b < y ? b : y))"
		done < <(pieces "$2")
	done < <(pieces "$1")
}

rwx_kb() { # PID: mapped so that it can be written and executed, and how much of that is in memory
	awk '/^[0-9a-f]+-[0-9a-f]+ / { rwx = $2 ~ /^rwx/ } rwx && /^Size:/ { n += $2 } rwx && /^Rss:/ { m += $2 }
		END { print n + 0, m + 0 }' "/proc/$1/smaps"
}

advised_kb() { # PID: of such memory, for which it has asked the system for large pages
	awk '/^[0-9a-f]+-[0-9a-f]+ / { rwx = $2 ~ /^rwx/ } rwx && /^Size:/ { size = $2 } rwx && /^VmFlags:.* hg/ { n += size }
		END { print n + 0 }' "/proc/$1/smaps"
}

header() { # PID: how it is mapped
	awk '$3 == "00000000" && /memfd:assay/ { print $2 }' "/proc/$1/maps"
}

descriptors() { find "/proc/$1/fd" -lname '*memfd:assay*' | wc -l; } # PID

# A process has the header, its own record and a chunk of its log, beside what its threads have.
own=$((4096 + 4096 + 0x40000))
declare -A thread=([counts]=$((0x6200000)) [values]=$((0x6200000 + 4096 + 2 * 0x200000)) [lines]=$((0x2000000)))
for mode in counts values lines; do
	begin $mode ./maps tf
	is "$mode, a process of three threads, others have ended: bytes mapped of the shared memory" \
		"$(shared_bytes "${pid[parent]}")" $((own + 3 * thread[$mode]))
	is "$mode, its forked child, of one" "$(shared_bytes "${pid[child]}")" $((own + thread[$mode]))
	is "$mode, both of them have nothing mapped" "$(common "${pid[parent]}" "${pid[child]}")" ""
	for p in parent child; do
		like "$mode, the $p: memory that can be written and executed, kB" "$(rwx_kb "${pid[$p]}")" '^4096 '
		[ $mode = lines ] || # whose marks take far more
			is "$mode, the $p: little code asks for no large pages" "$(advised_kb "${pid[$p]}")" 0
	done
	is "$mode, neither of them can write the header" "$(header "${pid[parent]}") $(header "${pid[child]}")" "r--s r--s"
	end "$mode"
	begin $mode ./maps fs
	for p in parent child; do
		is "$mode, the $p has restricted its system calls: bytes mapped, rwx memory, descriptors" \
			"$(shared_bytes "${pid[$p]}"), $(rwx_kb "${pid[$p]}"), $(descriptors "${pid[$p]}")" "0, 0 0, 0"
	done
	end "$mode, restricted"
done

# By its number the program does not reach it, though it can guess that.
cat >numbers.c <<'EOC'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int files;
#define TRY(call) (errno = 0, (void)!(call), files += errno != EBADF)

int main(void)
{
	struct stat st;
	char c[64];
	int out[2];

	for (int fd = 3; fd < 5000; fd++)
		close(fd);
	if (pipe(out))
		return 1;
	for (int fd = out[1] + 1; fd < 5000; fd++) {
		TRY(read(fd, c, 1));
		TRY(pread(fd, c, 1, 0));
		TRY(pwrite(fd, c, 0, 0));
		TRY(fstat(fd, &st));
		TRY(lseek(fd, 0, SEEK_CUR));
		TRY(ftruncate(fd, 1l << 52));
		TRY(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
		TRY(sendfile(out[1], fd, NULL, 1));
		TRY(splice(fd, NULL, out[1], NULL, 1, 0));
		TRY(splice(out[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK));
		TRY(copy_file_range(fd, NULL, out[1], NULL, 1, 0));
	}
	printf("%d\n", files);
	return 0;
}
EOC
ok "a program that guesses descriptors is compiled" gcc -O1 -o numbers numbers.c
run "$ASSAY" record --exact -q -o numbers.db -- ./numbers
is "it finds none open" "$status:$out" 0:0

# More code than the cache's first pages hold.
cat >large.s <<'ASM'
	.intel_syntax noprefix
	.globl _start
_start:	xor eax, eax
	.rept 150000
	cmp eax, 1
	je 1f
	inc ebx
1:	dec ebx
	.endr
	mov eax, 1
	mov edi, 1
	lea rsi, said[rip]
	mov edx, 7
	syscall
	xor eax, eax
	xor edi, edi
	syscall
	mov eax, 231
	xor edi, edi
	syscall
said:	.ascii "parent\n"
ASM
ok "a large program is assembled" gcc -nostdlib -static -o large large.s
begin counts ./large
large=$(pgrep -P $! -x large)
read -r mapped used < <(rwx_kb "$large")
advised=$(advised_kb "$large")
ok "much code: $mapped kB can be written and executed, more than at first" test "$mapped" -gt 4096
ok "… of which $used kB are in use: half of it, but for the first pages" test "$mapped" -le $((2 * used + 4096))
[ -d /sys/kernel/mm/transparent_hugepage ] || advised=$mapped # the system has none
ok "… and $advised kB of which lie in large pages if possible" test "$advised" -ge $((mapped - 2048)) -a "$advised" -gt 0
end "much code"
done_testing
