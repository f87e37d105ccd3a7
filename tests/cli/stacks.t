#!/bin/bash
# SPDX-License-Identifier: MIT
# Call stacks: found by unwind information in code without frame pointers, through recursion, alloca and a signal's
# handler; the readings by callers and callees; and what is refused.
. "$(dirname "$0")/lib.sh"

if ! "$ASSAY" doctor >/dev/null 2>&1; then
	echo "1..0 # SKIP the sampler does not work here"
	exit 0
fi

cat > nest.c <<'C'
#include <alloca.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static volatile unsigned long sink;
static volatile int stop;
static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
#define FN __attribute__((noinline, noclone))
FN static void burn(double s)
{
	double end = cpu() + s;

	do
		for (int i = 0; i < 20000; i++)
			sink = sink * 31 + (unsigned long)i;
	while (cpu() < end);
}
FN static void inner(double s) { burn(s); sink++; }
FN static void outer(double s) { inner(s); sink++; }
FN static void deep(int n, double s)
{
	if (n)
		deep(n - 1, s);
	else
		inner(s);
	sink++;
}
FN static void grown(unsigned n, double s)
{
	char *room = alloca(n);

	memset(room, 1, n);
	burn(s);
	sink += (unsigned long)room[n / 2];
}
FN static void in_handler(void) { burn(0.15); stop = 1; }
static void handler(int sig) { (void)sig; in_handler(); sink++; }
FN static void interrupted(void)
{
	while (!stop)
		for (int i = 0; i < 1000; i++)
			sink = sink * 17 + (unsigned long)i;
}
int main(void)
{
	struct itimerval soon = { .it_value = { 0, 1000 } };

	outer(0.15);
	deep(40, 0.15);
	grown(3000, 0.15);
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &soon, 0);
	interrupted();
	return 0;
}
C
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o nest nest.c || exit 1
ok "a recording with call stacks" "$ASSAY" record -q -F 2000 -o nest.db -- ./nest
"$ASSAY" export folded -i nest.db > folded 2> err
# Of all stacks that end in burn below that procedure and are said to be whole, those that are not as they must be. A stack may
# be cut, and then says so: one that was taken before the mappings were known, for instance.
odd() { # PROCEDURE EXTENDED-REGEX
	grep -vE '^[^;]*;\[' folded | grep -E ";$1[;.]?.*;burn( |;)" | grep -vE "$2" | head -3
}
n() { awk -v p="$1" '$0 ~ p { t += $NF } END { print t + 0 }' folded; }
ok "stacks of one call in another" test "$(n ';outer;inner;burn')" -gt 20
is "they are whole" "$(odd outer '(^|;)_start;__libc_start_main[^;]*;([^;]*;)?main;outer;inner;burn')" ""
ok "stacks of a recursion" test "$(n ';deep;inner;burn')" -gt 20
is "all its 41 frames are there" "$(odd deep ';main;(deep;){41}inner;burn')" ""
ok "stacks above a frame of alloca" test "$(n ';grown;burn')" -gt 20
is "they are whole, too" "$(odd grown ';main;grown;burn')" ""
ok "stacks of a signal's handler" test "$(n ';handler;in_handler;burn')" -gt 20
is "they go on with what the signal interrupted" "$(odd handler ';main;interrupted;.*handler;in_handler;burn')" ""

ok "few stacks are cut" test "$((5 * $(n '^[^;]*;\\[')))" -lt "$(n .)"

"$ASSAY" report -i nest.db --children --json -n 0 > children.json
is "each stack ends with a reason" "$(jq '[.procedures[] | select(.procedure | test("^\\[(root|no unwind|stack|deeper|generated|unknown)")) | .samples] | add' children.json)" \
	"$(awk '{ t += $NF } END { print t }' folded)"
like "time with what was called" "$("$ASSAY" report -i nest.db --children)" ' main$'
is "no procedure has less than its own" "$(jq '[.procedures[] | select(.children + 1e-9 < .self)] | length' children.json)" 0
is "main calls what it calls" "$("$ASSAY" report -i nest.db --callees main --json -n 0 | jq -c '[.callees[].procedure] | map(select(. == "outer" or . == "deep" or . == "grown" or . == "interrupted")) | sort')" \
	'["deep","grown","interrupted","outer"]'
is "who calls inner" "$("$ASSAY" report -i nest.db --callers inner --json -n 0 | jq -c '[.callers[].procedure] | sort')" '["deep","outer"]'
"$ASSAY" report -i nest.db --children --from 0 --to 0.2 --json -n 0 > early.json
is "the first stretch of time has not all" "$(jq -n --slurpfile a early.json --slurpfile b children.json \
	'[$a, $b] | map(.[0].procedures | map(select(.procedure == "[root]") | .samples) | add // 0) | .[0] < .[1]')" true

cat > two.c <<'C'
#include <pthread.h>
#include <sys/prctl.h>
#include <time.h>
static volatile unsigned long sink;
static void burn(double s)
{
	struct timespec t;

	do {
		for (int i = 0; i < 20000; i++)
			sink = sink * 31 + (unsigned long)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < s);
}
static void *worker(void *arg)
{
	prctl(PR_SET_NAME, "worker");
	burn(0.3);
	return arg;
}
int main(void)
{
	pthread_t t;

	burn(0.1);
	prctl(PR_SET_NAME, "passing");
	burn(0.14);
	prctl(PR_SET_NAME, "two");
	pthread_create(&t, 0, worker, 0);
	pthread_join(t, 0);
	return 0;
}
C
gcc -O1 -o two two.c -lpthread || exit 1
"$ASSAY" record -q -o two.db -- ./two
is "names of threads" "$("$ASSAY" report -i two.db --by comm --json | jq -c '[.comms[].comm]')" '["worker","two","passing"]'
is "threads of one process" "$("$ASSAY" report -i two.db --by thread --json | jq -c '[.threads[].pid] | unique | length')" 1
is "processes have all samples, and the name of most of their time" "$("$ASSAY" report -i two.db --by process --json | jq '.processes | length, .[0].comm, .[0].share')" $'1\n"two"\n1'
is "control groups" "$("$ASSAY" report -i two.db --by cgroup --json | jq '.cgroups | length')" 1
"$ASSAY" export firefox -i two.db -o two.json 2> /dev/null
first_cell=$("$ASSAY" info -i two.db --json | jq '.threads[] | select(.comm == "worker") | .load | map(. > 0) | index(true)')
ok "a thread that came later has no load before its first sample" \
	jq -e "([.threads[].samples.timeDeltas | add] | max + 10) as \$last | (.threads[] | select(.name == \"worker\").samples.timeDeltas[0]) as \$first |
		$first_cell - (\$first * 48 / \$last | floor) | fabs <= 1" two.json

# Another program in the same process, where the first one's code was: its stacks are its own.
ok "a process that executes another program" setarch -R "$ASSAY" record -q -F 2000 -o exec.db -- \
	sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exec ./nest'
"$ASSAY" export folded -i exec.db 2> /dev/null | grep '^nest;' > folded
ok "its stacks are there" test "$(n ';outer;inner;burn')" -gt 20
is "they are its own" "$(odd outer '(^|;)_start;__libc_start_main[^;]*;([^;]*;)?main;outer;inner;burn')" ""

# Processes that end before anybody can read their mappings: the kernel told of these. A thread that executes a program has
# no stack for a while, and is whole without.
"$ASSAY" record -q -F 2000 -o brief.db -- sh -c 'i=0; while [ $i -lt 150 ]; do /bin/true; i=$((i+1)); done'
"$ASSAY" export folded -i brief.db > folded 2> /dev/null
ok "few stacks of short-lived processes are cut" test "$((10 * $(n '^[^;]*;\\[[a-z ]*\\](;|$)') - 10 * $(n '^[^;]*;\\[no symbol\\](;|$)')))" -lt "$(n .)"

# A program whose rules are in .debug_frame alone, like those of Go.
cat > bare.c <<'C'
#define FN __attribute__((noinline, noclone))
static volatile unsigned long sink;
__asm__(".globl _start\n_start: xor %ebp, %ebp\ncall work\nmov $60, %eax\nxor %edi, %edi\nsyscall\n");
FN static void burn(void)
{
	for (unsigned long i = 0; i < 200000000; i++)
		sink = sink * 31 + i;
}
FN static void inner(void) { burn(); sink++; }
FN static void outer(void) { inner(); sink++; }
void work(void) { outer(); sink++; }
C
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-stack-protector \
	-static -nostdlib -o bare bare.c || exit 1
"$ASSAY" record -q -F 2000 -o bare.db -- ./bare
"$ASSAY" export folded -i bare.db > folded 2> /dev/null
ok "rules of .debug_frame: stacks are there" test "$(n ';_start;work;outer;inner;burn')" -gt 20
is "they are whole" "$(odd outer ';_start;work;outer;inner;burn')" ""

# The same with the C library, which brings .eh_frame for code of its own.
sed -e '/_start/d; s/void work(void)/int main(void)/; s/sink++; }$/sink++; return 0; }/; s/FN static void \(inner\|outer\)/FN static int \1/' bare.c > mixed.c
gcc -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -o mixed mixed.c || exit 1
"$ASSAY" record -q -F 2000 -o mixed.db -- ./mixed
"$ASSAY" export folded -i mixed.db > folded 2> /dev/null
ok "rules of .eh_frame and of .debug_frame: stacks are there" test "$(n ';main;outer;inner;burn')" -gt 20
is "they are whole, too" "$(odd outer '(^|;)_start;__libc_start_main[^;]*;([^;]*;)?main;outer;inner;burn')" ""

# The exact engine is a program like others: its own code has rules, but for what runs on the observed program's stack, and the code that it
# generates has none.
readelf -sW "$BUILD/assay-exact" | awk '$4 == "FUNC" && $3 > 0 || $8 ~ /^rt_(syscall|copy|on_signal|sigreturn|call_on|clone|enter)$/ { print $2, $8 }' | sort -u > procedures
readelf --debug-dump=frames "$BUILD/assay-exact" | sed -n 's/.* FDE .*pc=\([0-9a-f]*\)\.\.\([0-9a-f]*\)/\1 \2/p' | sort > ranges
is "procedures of the engine without rules" "$(awk 'NR == FNR { from[NR] = $1; to[NR] = $2; n = NR; next }
	{ for (i = 1; i <= n; i++) if (from[i] <= $1 && $1 < to[i]) next; print $2 }' ranges procedures)" ""
ok "there are many with rules" test "$(wc -l < procedures)" -gt 100
gcc -O1 -o looped -x c - <<'C' || exit 1
int main(void)
{
	volatile unsigned long sink = 0;

	for (unsigned long i = 0; i < 30000000; i++)
		sink = sink * 31 + i;
	return 0;
}
C
"$ASSAY" record -q -F 2000 -o engine.db -- "$ASSAY" record -q --exact -o exact.db -- ./looped
"$ASSAY" export folded -i engine.db > folded 2> /dev/null
ok "stacks of code that the engine generates say so" test "$(n '^looped;\\[generated code without frame pointers\\];\\[generated code\\]')" -gt 20

# Go: leaf procedures keep no frame pointer, and stripped programs have no other table than Go's own.
if command -v go > /dev/null; then
	cat > rooted.go <<'GO'
package main

var sink uint64

//go:noinline
func leaf(x uint64) uint64 {
	for i := uint64(0); i < 100; i++ {
		x = x*31 + i
	}
	return x
}

//go:noinline
func inner(n int) {
	for i := 0; i < n; i++ {
		sink += leaf(sink)
	}
}

//go:noinline
func outer(n int) { inner(n); sink++ }

func main() {
	done := make(chan bool)
	go func() { outer(6000000); done <- true }()
	<-done
}
GO
	GO111MODULE=off GOCACHE=$TMP/go-cache go build -o rooted rooted.go || exit 1
	GO111MODULE=off GOCACHE=$TMP/go-cache go build -ldflags '-s -w' -o rooted-stripped rooted.go || exit 1
	"$ASSAY" record -q -F 2000 -o go.db -- ./rooted
	"$ASSAY" export folded -i go.db > folded 2> /dev/null
	ok "Go: stacks are there" test "$(n ';main.outer;main.inner;main.leaf')" -gt 20
	is "they are whole" "$(grep ';main.leaf' folded | grep -vE '^[^;]*;\[' | grep -vE '^[^;]*;runtime.goexit[.a-z0-9]*;main.main.func1;main.outer;main.inner;main.leaf' | head -3)" ""
	"$ASSAY" record -q -F 2000 -o go.db -- ./rooted-stripped
	"$ASSAY" export folded -i go.db > folded 2> /dev/null
	ok "names and lines of a stripped program" test "$(n ';main.outer;main.inner;main.leaf')" -gt 20
	like "... lines" "$("$ASSAY" annotate main.leaf -i go.db)" 'rooted.go:8'
	ok "few stacks of a stripped program are cut" test "$((10 * $(n '^[^;]*;\\[(no unwind|stack|deeper|unknown|generated)')))" -lt "$(n .)"
else
	skip "no Go here"
fi

# Values by caller: mode is 0 whenever `parse` calls.
cat > modes.c <<'C'
#define FN __attribute__((noipa))
static volatile unsigned long sink;
FN unsigned long mix(unsigned long mode, unsigned long x)
{
	for (int i = 0; i < 40; i++)
		x = mode ? x * 31 + i : x ^ (x >> 7) ^ i;
	return x;
}
FN unsigned long parse(unsigned long x) { return mix(0, x) + 1; }
FN unsigned long eval(unsigned long x) { return mix(x % 1000 + 1, x) + 2; }
int main(void)
{
	unsigned long x = 1;

	for (int i = 0; i < 8000000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		sink += parse(x >> 20) + eval(x >> 33);
	}
	return 0;
}
C
gcc -O1 -o modes modes.c || exit 1
"$ASSAY" record -q -F 4000 -o modes.db -- ./modes
is "an argument that is one value from one caller" \
	"$("$ASSAY" values -i modes.db --by caller --operand argument --procedure mix --json | jq -c '[.values[] | [.operand, .value, .at.procedure, .caller.procedure, .share]]')" \
	'[["arg0","0x0","mix","parse",1]]'
arguments() { "$ASSAY" annotate mix -i modes.db --all --json "$@" | jq -c '[.instructions[0].operands[]? | select(.operand == "arg0") | .values[0].value] | .[0]'; }
is "annotate has the values of one caller" "$(arguments --caller parse)" '"0x0"'
ok "and not those of another" test "$(arguments --caller eval)" != '"0x0"'
time_of() { "$ASSAY" annotate mix -i modes.db --json "$@" | jq .samples; }
# A lost sample may have left its stack, and so may one whose mapping could not be found in the interrupt.
lost=$("$ASSAY" info -i modes.db --json | jq '.lost_ring + .lost_nested + .lost_map + .unattributed')
ok "and its samples: those of both callers are all" \
	test "$(($(time_of --caller parse) + $(time_of --caller eval)))" -le "$(($(time_of) + lost))"
share() { "$ASSAY" values -i modes.db --by caller --operand argument --procedure mix --json | jq .values[0].time_share; }
all=$("$ASSAY" report -i modes.db --json | jq '[.images[].samples] | add')
ok "an argument's time is that of its procedure in calls by the caller" \
	jq -en "$(share) * $all - $(time_of --caller parse) | fabs < 1 + $lost"
ok "merging keeps them" "$ASSAY" merge -o modes2.db modes.db modes.db
is "values by caller add up" \
	"$("$ASSAY" values -i modes2.db --by caller --operand argument --procedure mix --json | jq '.values[0].observations')" \
	"$((2 * $("$ASSAY" values -i modes.db --by caller --operand argument --procedure mix --json | jq '.values[0].observations')))"

# Recordings add up.
ok "merging" "$ASSAY" merge -o both.db nest.db nest.db
"$ASSAY" export folded -i nest.db > folded 2> err
is "stacks add up" "$("$ASSAY" export folded -i both.db 2> /dev/null | awk '{ t += $NF } END { print t }')" "$((2 * $(awk '{ t += $NF } END { print t }' folded)))"

refused() { # NAME STATUS SAYS COMMAND…
	local name=$1 status=$2 says=$3
	shift 3
	"$@" > out 2> err
	is "$name: status" "$?" "$status"
	like "$name: said" "$(cat err)" "$says"
}
"$ASSAY" record -q --no-stacks -o plain.db -- ./nest
refused "no stacks" 3 'without --no-stacks' "$ASSAY" report -i plain.db --children
refused "no such procedure" 3 "no call stack .* 'nothing'" "$ASSAY" report -i nest.db --callers nothing
refused "both at once" 2 'one at a time' "$ASSAY" report -i nest.db --callers main --callees main
refused "with another reading" 2 'without' "$ASSAY" report -i nest.db --children --why
refused "a stretch of nothing" 2 'from and --to' "$ASSAY" report -i nest.db --from 1
refused "no values by caller" 3 'without --no-stacks' "$ASSAY" values -i plain.db --by caller
"$BUILD/tests/unit/report_recordings" . || exit 1 # hostile.db has call stacks alone
refused "call stacks without a value by caller" 3 'seen twice in calls from one place' "$ASSAY" values -i hostile.db --by caller
refused "no value that one caller alone has" 3 'a lower one over all callers' "$ASSAY" values -i modes.db --by caller --min-share 1
refused "no such caller" 3 "'nobody' called" "$ASSAY" annotate mix -i modes.db --caller nobody
refused "a graph of one caller" 2 'without --cfg' "$ASSAY" annotate mix -i modes.db --caller parse --cfg
refused "threads without stacks" 3 'without --no-stacks' "$ASSAY" report -i plain.db --by thread
refused "with --exact" 2 'observe calls' "$ASSAY" record --exact -g -o x.db -- true
refused "--no-stacks with --exact" 2 'observe calls' "$ASSAY" record --exact --no-stacks -o x.db -- true
refused "stacks and none" 2 'exclude each other' "$ASSAY" record -g --no-stacks -o x.db -- true
refused "branch records" 2 'leave it out' "$ASSAY" record --call-graph lbr -o x.db -- true
refused "a method that perf does not have" 2 'none of dwarf, fp, no' "$ASSAY" record --call-graph dwarfs -o x.db -- true

# What has stacks.
stacks_of() { # OPTION…: the number of call stacks of a recording, and what the recorder says
	"$ASSAY" record -q -o opt.db "$@" -- ./two 2>&1
	"$ASSAY" info -i opt.db --json | jq '.runs[0].counters.stacks > 0'
}
for given in "" -g "--call-graph dwarf" "--call-graph=fp" "--call-graph dwarf,8192" "--pgo -g" "--policy slots -g"; do
	# shellcheck disable=SC2086
	is "stacks with '$given', and nothing is said" "$(stacks_of $given)" true
done
for given in --no-stacks "--call-graph no" --pgo "--policy slots"; do
	# shellcheck disable=SC2086
	is "no stacks with '$given', and nothing is said" "$(stacks_of $given)" false
done
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
if [ "$max" -ge 90000 ]; then
	like "at a rate that leaves no time for stacks there are none" "$(stacks_of -F 90000 -b 16 | tr '\n' ' ')" 'half of its time.*false|-F'
fi

# Where the kernel refuses what stacks take, the recording goes on without, and says why.
cat > refuse.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Refuses large tables of stacks, or all events of processes: as REFUSE says. */
long syscall(long number, ...)
{
	static long (*real)(long, ...);
	const char *what = getenv("REFUSE");
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (what && *what == 't' && number == SYS_bpf && a[0] == BPF_MAP_CREATE) {
		const union bpf_attr *map = (const union bpf_attr *)a[1];

		if (!strncmp(map->map_name, "unwind_pages", 12) && map->max_entries > 1)
			return errno = ENOMEM, -1;
	}
	if (what && *what == 'e' && number == SYS_perf_event_open && ((struct perf_event_attr *)a[0])->mmap)
		return errno = EPERM, -1;
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
C
gcc -O1 -shared -fPIC -o refuse.so refuse.c -ldl || exit 1
case $(ldd "$ASSAY") in
*libasan* | *statically*) skip "a sanitizer is loaded first" ;;
*)
	run env REFUSE=tables LD_PRELOAD="$PWD/refuse.so" "$ASSAY" record -q -o refused.db -- ./two
	is "the kernel refuses the walk of stacks: status" "$status" 0
	like "... what is said" "$err" '^assay: warning: no call stacks are recorded: the kernel refused'
	is "... once" "$(grep -c . <<< "$err")" 1
	ok "... samples are there" jq -e '.runs[0].counters | .user > 100 and .stacks == 0' <("$ASSAY" info -i refused.db --json)
	run env REFUSE=events LD_PRELOAD="$PWD/refuse.so" "$ASSAY" record -q -o refused.db -- ./two
	is "the kernel refuses to tell of processes: status" "$status" 0
	like "... what is said" "$err" '^assay: warning: call stacks of processes that live shortly may be cut: cannot follow'
	ok "... stacks are there" jq -e '.runs[0].counters | .stacks > 100' <("$ASSAY" info -i refused.db --json)
	;;
esac
done_testing
