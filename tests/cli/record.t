#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording: what it gives, and every bad input that it must answer for.
. "$(dirname "$0")/lib.sh"

PROG=$BUILD/tests/progs/invariants

# What needs no privilege: the command line.
run "$ASSAY" record
is "nothing to record: usage" "$status" 2
like "nothing to record: says what to give" "$err" "-p PID"
run "$ASSAY" record -p 1 -- true
is "a process and a command: usage" "$status" 2
run "$ASSAY" record -F 0 -- true
is "rate of 0: usage" "$status" 2
run "$ASSAY" record -F fast -- true
like "a rate that is no number" "$err" "takes a number"
run "$ASSAY" record --burst 2049 -- true
like "a burst beyond the most" "$err" "2049"
run "$ASSAY" record --ring 3 -- true
like "a ring that is no power of two" "$err" "power of two"
run "$ASSAY" record --policy best -- true
is "an unknown policy: usage" "$status" 2
like "an unknown policy" "$err" "default slots"
for other in exact reuse pgo; do
	run "$ASSAY" record --policy slots --$other -- true
	is "--policy slots with --$other: usage" "$status" 2
	like "--policy slots with --$other" "$err" "--policy slots passes over windows, which --$other"
done
for other in exact reuse pgo 'policy slots'; do
	run "$ASSAY" record -a --budget 1 --${other% *} ${other#"${other% *}"} -d 0.1
	is "--budget with --$other: usage" "$status" 2
	like "--budget with --$other" "$err" "--budget passes over windows, which --$other"
done
run "$ASSAY" record --budget 1 -- true
is "--budget of a command: usage" "$status" 2
like "--budget of a command" "$err" "--budget is for -a and --cgroup"
run "$ASSAY" record --sketch best -- true
like "an unknown sketch" "$err" "space-saving counting"
run "$ASSAY" record -e cycles -- true
if "$ASSAY" doctor 2>/dev/null | grep -q 'no cycle counter'; then
	is "cycles without a PMU" "$status" 1
	like "cycles without a PMU: says what to do" "$err" "cpu-clock"
else
	is "cycles with a PMU" "$status" 0
fi
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate 2>/dev/null || echo 0)
if [ "$max" -ge 20000 ]; then
	run "$ASSAY" record -F 20000 -b 2048 -- true
	is "a rate that leaves the program no time" "$status" 1
	like "... with what a sample takes" "$err" "a sample each 50.0 us, and one takes some [0-9.]+ us"
	like "... and what would do" "$err" "-b [0-9]+ leaves the program half of its time, or -F [0-9]+"
else
	skip "the kernel allows no rate of 20000"
fi
if [ "$max" -gt 0 ] && [ "$max" -lt 100000 ]; then
	run "$ASSAY" record -F 100000 -- true
	is "a rate beyond the kernel's limit" "$status" 1
	like "a rate beyond the kernel's limit: the command that raises it" "$err" "sysctl kernel.perf_event_max_sample_rate"
elif [ -w /proc/sys/kernel/perf_event_max_sample_rate ]; then
	echo 5000 > /proc/sys/kernel/perf_event_max_sample_rate
	run "$ASSAY" record -F 9999 -- true
	echo "$max" > /proc/sys/kernel/perf_event_max_sample_rate
	is "a rate beyond the kernel's limit" "$status" 1
	like "a rate beyond the kernel's limit: the command that raises it" "$err" "sysctl kernel.perf_event_max_sample_rate"
else
	skip "kernel.perf_event_max_sample_rate is $max and cannot be lowered"
fi
run "$ASSAY" record -o x.db -- ./no-such-command
is "no such file: 127" "$status" 127
run "$ASSAY" record -o x.db -- no-such-command-anywhere
is "no such command: 127" "$status" 127
like "no such command: says so" "$err" "command not found"
run "$ASSAY" record -- ./no-such-command
is "no such file: 127" "$status" 127
like "no such file: says so" "$err" "No such file"
echo data > not-executable
run "$ASSAY" record -o x.db -- ./not-executable
is "not executable: 126" "$status" 126
like "not executable: chmod" "$err" "chmod"
run "$ASSAY" record -o x.db -- /
is "a folder: 126" "$status" 126
[ ! -e x.db ]; is "nothing was recorded for those" $? 0

# Without the privilege.
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	cp "$ASSAY" "$TMP/assay" && chmod 755 "$TMP" "$TMP/assay" && mkdir -m 777 "$TMP/n"
	run setpriv --reuid nobody --clear-groups --inh-caps=-all --bounding-set=-all "$TMP/assay" record -o "$TMP/n/x.db" -- true
	is "no privilege: 1" "$status" 1
	like "no privilege: what is missing" "$err" "CAP_BPF and CAP_PERFMON"
	like "no privilege: how to get it" "$err" "setcap|sudo"
	run setpriv --reuid nobody --clear-groups --inh-caps=-all --bounding-set=-all "$TMP/assay" doctor
	is "doctor without privilege: 1" "$status" 1
	like "doctor without privilege: the fix" "$out" "sudo"
else
	skip "not root: cannot become another user"
fi

if ! can_record; then
	skip "the sampler does not work here: $why"
	done_testing
	exit 0
fi

# The program is not disturbed, and its output and status are its own.
run "$PROG" 1000000
alone=$out
run "$ASSAY" record -o a.db -- "$PROG" 1000000
is "the program's output is its own" "$out" "$alone"
is "the program's status: 0" "$status" 0
like "the closing line" "$err" '^\[ record: [0-9,]+ samples, 0 lost, .* -> a.db, cost'
run "$ASSAY" record -o short.db -- true
like "what start and end cost is apart, as a time" "$err" 'cost [0-9.]+ %, start and end [0-9.]+ m?s \]$'
run "$ASSAY" record -q -o a.db -- sh -c 'exit 7'
is "the program's status: 7" "$status" 7
is "--quiet: nothing on stderr" "$err" ""
run "$ASSAY" record -o a.db -- sh -c 'kill -9 $$'
is "a program that is killed: 128 + signal" "$status" 137
is "the recording is private" "$(stat -c %a a.db)" 600
[ -e a.db.old ]; is "the previous one is kept as .old" $? 0
is "no side files stay" "$(ls a.db* | tr '\n' ' ')" "a.db a.db.old "

# Processes that end before a sampling period is over are sampled like others: samples stand for the CPU time that the
# kernel counted.
run "$ASSAY" record -q -o brief.db -- sh -c 'i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done'
is "short processes: recorded" "$status" 0
"$ASSAY" info -i brief.db --json > brief.json
is "short processes: samples for most of their CPU time" \
	"$(jq '.runs[0].counters | .samples / 997e-9 > .program_ns * 0.6 and .processes > 20' brief.json)" true
is "short processes: nothing is said to be missed" "$("$ASSAY" info -i brief.db | grep -c '^missed')" 0
# A set-uid program is left alone, and what the recording does not have is said.
if [ "$(id -u)" = 0 ] && ! findmnt -nT "$TMP" -o OPTIONS | grep -qw nosuid; then
	cp "$PROG" other && chown nobody other && chmod 4755 other
	run "$ASSAY" record -o suid.db -- sh -c "./other 30000000; '$PROG' 5000000"
	is "a set-uid child: recorded" "$status" 0
	like "a set-uid child: what is missed is said" "$err" 'no samples of [0-9.]+ % of the program.s CPU time'
	run "$ASSAY" report -i suid.db
	unlike "a set-uid child: no samples" "$out" '  +[0-9,]+  .*other'
	like "a set-uid child: those of others" "$out" "$PROG|invariants"
	like "a set-uid child: info says what is missed" "$("$ASSAY" info -i suid.db)" 'missed +[0-9.]+ %'
else
	skip "a set-uid program takes root, and a file system that allows it"
fi

# Both policies find the same dominant values: load_95's and arg_zero's. Of load_four's values the first has half of all.
for policy in default slots; do
	run "$ASSAY" record -q -F 2000 --policy $policy -o $policy.db -- "$PROG" 30000000
	is "--policy $policy: recorded" "$status" 0
	"$ASSAY" values -i $policy.db --json --min-share 0.3 > $policy.json
	"$ASSAY" info -i $policy.db --json > $policy.info
done
dominant() {
	jq -r '.values[] | select(.procedure | test("^(load_95|arg_zero|load_four)$")) |
		select(.operand == "load" or .operand == "arg1") | "\(.procedure) \(.operand) \(.value)"' "$1.json" | sort -u
}
is "the policies find the same dominant values" "$(dominant slots | grep -v load_four)" "$(dominant default | grep -v load_four)"
like "... the one of load_95" "$(dominant slots)" 'load_95 load 0x3c8'
is "--policy slots passes windows over, and says so" "$(jq '.runs[0].counters | .policy_masked > 0 and .user > .windows' slots.info)" true
like "... in text" "$("$ASSAY" info -i slots.db)" 'passed-over|policy slots'
is "the default passes none over" "$(jq '.runs[0].counters.policy_operands' default.info)" 0

# No recording keeps within a budget of nearly nothing: most windows are passed over, and the values are the same.
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ "$(id -u)" = 0 ] && [ -n "$root" ] && mkdir "$root/assay-budget-$$" 2>/dev/null; then
	for budget in 0 0.001; do
		run "$ASSAY" record -q -F 2000 --budget $budget -o budget$budget.db --cgroup "assay-budget-$$" -- \
			bash -c "echo \$\$ >'$root/assay-budget-$$/cgroup.procs'
				while ((++i < 30 || SECONDS < 5)); do '$PROG' 30000000 >/dev/null; done"
		"$ASSAY" values -i budget$budget.db --json --min-share 0.3 > budget$budget.json
		like "--budget $budget: the dominant value" "$(dominant budget$budget)" 'load_95 load 0x3c8'
		"$ASSAY" info -i budget$budget.db --json > budget$budget.info
	done
	is "--budget: windows are passed over, and info says how many" "$(jq '.window_stands > 1' budget0.001.info)" true
	like "... in text" "$("$ASSAY" info -i budget0.001.db)" 'each +[0-9.]+ windows'
	is "--budget 0: no window is passed over" "$(jq .window_stands budget0.info)" null
	rmdir "$root/assay-budget-$$"
else
	skip "control groups take root, and cgroup2"
fi

# Memory in large pages is looked at while the program runs.
run "$ASSAY" record -q -o memory.db -- perl -e 'my $x = "a" x 3e7; my $t = time; 1 while time < $t + 2'
if [ -e /proc/self/smaps_rollup ]; then
	"$ASSAY" info -i memory.db --json | jq -e '.runs[0].counters | .memory_kib > 29000 and .large_kib <= .memory_kib' > /dev/null
	is "a process's memory is looked at" $? 0
	like "the share of large pages" "$("$ASSAY" info -i memory.db)" "large pages +[0-9.]+ % of memory"
else
	skip "the kernel adds up no process's memory"
fi

# Procedures of the kernel are what /proc/kallsyms has at their addresses: text, up to the next symbol.
# Programs for BPF, which come and go, among them the recorder's own, are left out.
named() { # FILE
	sqlite3 "$1" "SELECT printf('%016x %s', start, procedure.name) FROM procedure
		JOIN image ON image = image.id WHERE image.kind = 'kernel' AND procedure.name NOT LIKE '% [bpf]' ORDER BY 1"
}
run "$ASSAY" record -q -F 5000 -o kernel.db -- dd if=/dev/zero of=/dev/null bs=4096 count=200000
named kernel.db > named
tr '\t' ' ' < /proc/kallsyms | sed 's/^\([0-9a-f]*\) [tTwW] /\1 /' | sort > known
if [ -s known ] && ! grep -q '^0000000000000000' known; then
	[ -s named ]; is "the kernel's procedures have names" $? 0
	is "… of /proc/kallsyms" "$(sort named | comm -23 - known)" ""
else
	skip "/proc/kallsyms shows no addresses"
fi
# Who may load the sampler's program is told the same names, though /proc/kallsyms shows him nothing.
if [ "$(id -u)" = 0 ]; then
	few=-all,+bpf,+perfmon
	run setpriv --reuid nobody --clear-groups "--inh-caps=$few" "--ambient-caps=$few" "--bounding-set=$few" \
		"$TMP/assay" record -q -F 5000 -o "$TMP/n/few.db" -- dd if=/dev/zero of=/dev/null bs=4096 count=200000
	is "CAP_BPF and CAP_PERFMON are enough" "$status" 0
	[ -n "$(named "$TMP/n/few.db")" ]; is "… for the kernel's names, too" $? 0
	[ ! -s known ] || grep -q '^0000000000000000' known ||
		is "… which are the same" "$(named "$TMP/n/few.db" | sort | comm -23 - known)" ""
else
	skip "not root: cannot become another user"
fi

# The output.
run bash -c "ulimit -f 1; exec '$ASSAY' record -o limit.db -- true"
is "a limit on files that has no room for it: 1" "$status" 1
like "… says what cannot be written" "$err" "cannot (write|create) limit.db"
echo precious > taken
run "$ASSAY" record -o taken -- true
is "an output that is no recording: 1" "$status" 1
is "it is not overwritten" "$(cat taken)" precious
mkdir dir
run "$ASSAY" record -o dir -- true
is "an output that is a folder: 1" "$status" 1
run "$ASSAY" record -o no/such/dir/x.db -- true
is "an output nowhere: 1" "$status" 1
like "an output nowhere: says where" "$err" "no/such/dir/x.db"
cp a.db b.db; echo precious > b.db.old
run "$ASSAY" record -o b.db -- true
is "an .old that is no recording: 1" "$status" 1
is "it is not overwritten either" "$(cat b.db.old)" precious
ln -s /etc/passwd link.db
run "$ASSAY" record -o link.db -- true
is "a link is not followed" "$status" 1

# Processes.
samples() { readlink "/proc/$1/fd/"* | grep -q perf_event; }
run "$ASSAY" record -o p.db -p 4194304
is "no such process: 1" "$status" 1
like "no such process: says so" "$err" "no process 4194304"
"$PROG" 3000000000 > /dev/null &
pid=$!
run "$ASSAY" record -o p.db -d 0.7 -p $pid
is "attached to a process" "$status" 0
run "$ASSAY" report -i p.db --json
like "it was sampled" "$out" '"procedure": "load_|"procedure": "main"'
run "$ASSAY" info -i p.db
unlike "a process that was not started has no status" "$out" "exit status"
run "$ASSAY" info -i a.db.old
like "a command has one" "$out" "; exit status 7"
kill -0 $pid; is "it goes on" $? 0
"$ASSAY" record -o p.db -p $pid 2> err & rec=$!
soon samples $rec; kill -INT $rec; wait $rec
is "Ctrl-C ends it" "$(grep -c '^\[ record:' err)" 1
"$ASSAY" record -q -o p.db -p $pid & rec=$!
soon samples $rec; kill $pid; wait $rec
is "it ends with the process" $? 0
for ((i = 0; i < 10; i++)); do # a process that ends while it is attached to
	sleep 0.0$((i * 3)) & pid=$!
	"$ASSAY" record -q -d 0.2 -o q.db -p $pid 2> err
	status=$?
	[ $status = 0 ] || [ $status = 1 ] || break
done
ok "a process that ends while it is attached to" [ $status -le 1 ]

run "$ASSAY" record -t 4194304 -d 0.1
is "no such thread: status" "$status" 1
like "no such thread: said" "$err" '^assay: no thread 4194304$'
like "no such thread: how to find one" "$err" 'ps -eL'

# A control group: what is in it, and nothing else.
run "$ASSAY" record -o g.db --cgroup no/such/group -d 0.1
is "no such control group: 1, as 127 is for commands" "$status" 1
like "no such control group: says how to find one" "$err" "/proc/PID/cgroup|no control groups are mounted"
run "$ASSAY" record -o g.db --cgroup x -p 1
is "a control group and a process: usage" "$status" 2
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
if [ -n "$root" ] && mkdir "$root/assay-test-$$" 2>/dev/null; then
	group=$root/assay-test-$$
	in=in$$; cp "$PROG" $in; cp "$PROG" outside
	./outside 3000000000 > /dev/null & out_pid=$!
	sh -c "echo \$\$ > $group/cgroup.procs; ./$in 3000000000 & wait" > /dev/null & in_pid=$!
	group_runs() { pgrep -x $in > /dev/null; }
	soon group_runs
	run "$ASSAY" record -o g.db --cgroup "assay-test-$$" -d 0.5
	is "a control group: recorded" "$status" 0
	run "$ASSAY" report -i g.db
	like "a control group: the heading names it" "$out" "^--cgroup assay-test-$$"
	like "a control group: what runs in it" "$out" "  $in"
	unlike "a control group: nothing else" "$out" "outside"
	kill $out_pid; pkill -x $in; wait $out_pid $in_pid 2>/dev/null
	rmdir "$group"
else
	skip "control groups cannot be made here"
fi

# Generated code: by the names that its runtime wrote.
for how in "" --exact; do
	# shellcheck disable=SC2086 # an option or none
	run "$ASSAY" record -q $how -o jit.db -- "$BUILD/tests/progs/generated" 50000000 names
	is "generated code: recorded $how" "$status" 0
	rm -f "$out"
	run "$ASSAY" report -i jit.db
	like "generated code: its names" "$out" '\[anon\] +Interpreter:hot loop'
	like "generated code: the second, too" "$out" '\[anon\] +LazyCompile:\*other /x.js:3'
	unlike "generated code: not what was there before" "$out" 'what:was'
	run "$ASSAY" annotate -i jit.db 'Interpreter:hot loop'
	is "generated code: can be annotated" "$status" 0
done
run "$ASSAY" record -q -o jit.db -- "$BUILD/tests/progs/generated" 50000000
run "$ASSAY" annotate -i jit.db '[generated code]'
is "generated code without names: nothing to annotate" "$status" 3
like "generated code without names: says why" "$err" 'is no procedure: where procedures begin'
like "generated code without names: says what to do" "$err" 'perf-PID.map'

# Ctrl-C, once: the command decides; twice: the recording ends, and is kept.
cat > deaf <<'SH'
#!/bin/bash
echo ready
end=$((SECONDS + 60)); while [ $SECONDS -lt $end ] && [ ! -e stop ]; do :; done
SH
chmod +x deaf
cat > interrupt <<'SH' # RECORDER once|twice
"$1" record -o c.db -- ./deaf > out 2> err & p=$!
for ((i = 0; i < 300; i++)); do grep -q ready out && break; sleep 0.1; done
kill -INT $p
sleep 0.5
if [ $2 = twice ]; then # two that come at once are one
	for ((i = 0; i < 200; i++)); do kill -INT $p && ! grep -q recorded err && sleep 0.2 || break; done
fi
touch stop
wait $p
echo $? > status
SH
setsid -w bash interrupt "$ASSAY" once
is "Ctrl-C once: the recording goes on to the command's end" "$(cat status):$(grep -c 'without being recorded' err)" 0:0
run "$ASSAY" info -i c.db
is "and is whole" "$status" 0
rm -f out stop status
setsid -w bash interrupt "$ASSAY" twice
like "Ctrl-C twice: the command goes on unobserved" "$(cat err)" "goes on without being recorded"
run "$ASSAY" info -i c.db
is "and the recording is kept" "$status" 0

# A recorder that is killed: what had been flushed is there.
missed_little() {
	n=$("$ASSAY" info -i k.db --json | jq .samples)
	awk -v n="${n:-0}" -v s="$ran" 'BEGIN { exit !(s > 0.5 && n > 997 * (s - 1.3)) }'
}
cp "$PROG" ends-early
for _ in 1 2 3; do # a machine that is short of time flushes late
	"$ASSAY" record -q -o k.db -- ./ends-early 4000000000 > /dev/null 2>&1 & rec=$!
	soon pgrep -P $rec -x ends-early >/dev/null
	pid=$(pgrep -P $rec -x ends-early)
	sleep 3
	for _ in {1..600}; do # some of it on a busy machine
		ran=$(awk '{ print $14 / 100 }' "/proc/$pid/stat") # CPU seconds
		awk -v s="$ran" 'BEGIN { exit !(s > 1) }' && break
		sleep 0.1
	done
	kill -9 $rec; wait $rec 2>/dev/null
	kill $pid
	missed_little && break
done
run "$ASSAY" info -i k.db --json
is "killed: the recording opens" "$status" 0
ok "killed: at most a second is missing ($n samples at 997 Hz of $ran s)" missed_little
like "killed: it says that it is unfinished" "$("$ASSAY" info -i k.db)" "[Uu]nfinished|UNFINISHED"

# Children that nobody waits for are not among the CPU time that the kernel reports of a command.
run "$ASSAY" record -o unwaited.db -- perl -e '$SIG{CHLD} = "IGNORE"; if (!fork) { $i++ while $i < 2e7; exit } 1 while wait >= 0'
is "an unwaited child: status" "$status" 0
cpu=$("$ASSAY" info -i unwaited.db --json | jq '.runs[0].counters | .program_ns * 997 / 1e9 / .samples')
ok "its time is in the command's, as far as samples tell: $cpu of it" jq -en "$cpu > 0.8 and $cpu < 1.3"

# A daemon: the recording ends with the command, and says what goes on.
mkfifo wanted
run "$ASSAY" record -o daemon.db -- sh -c '(i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done; : >burnt
	read -r it <wanted) >/dev/null 2>&1 & while [ ! -e burnt ]; do :; done'
: >wanted
is "a process that outlives the command: status" "$status" 0
like "… is named" "$err" '^\[ record: 1 process outlived the command, with which recording ends: -p [0-9]+ records it \]$'

# A full disk.
if [ "$(id -u)" = 0 ] && mkdir mnt && mount -t tmpfs -o size=160k tmpfs mnt 2>/dev/null; then
	"$PROG" 30000000 > alone.out
	"$ASSAY" record -F 9999 -o mnt/x.db -- "$PROG" 1500000000 > out 2> err
	status=$?
	is "a full disk: 1" "$status" 1
	like "a full disk: says so" "$(cat err)" "full"
	is "a full disk: the program ends as ever" "$(wc -l < out)" 1
	run "$ASSAY" info -i mnt/x.db
	is "a full disk: what was recorded is readable" "$status" 0
	like "a full disk: and says why it ends early" "$out" 'unfinished: .* could not write'
	umount mnt
else
	skip "cannot mount a small tmpfs"
fi

# Binaries that change.
cp "$PROG" gone
"$ASSAY" record -q -o g.db -- sh -c './gone 400000000 >/dev/null & until grep -q gone /proc/$!/comm || ! kill -0 $!; do :; done; sleep 0.2; rm gone; wait'
run "$ASSAY" report -i g.db
like "a deleted binary is attributed" "$out" "gone"
cp "$PROG" stripped && strip stripped
"$ASSAY" record -q -o s.db -- ./stripped 100000000 > /dev/null
run "$ASSAY" report -i s.db
like "a stripped binary has ranges" "$out" "stripped +(sub_|\[)"
cp "$PROG" replaced
"$ASSAY" record -q -o r.db -- ./replaced 100000000 > /dev/null
cp /bin/true replaced
run "$ASSAY" annotate -i r.db
like "a replaced binary is noticed" "$err" "build-id"

# Values and threads of execution.
run "$ASSAY" record -q -o v.db -- "$PROG" 400000000
run "$ASSAY" values -i v.db --json
like "the argument that is always 0 is found" "$out" "arg_zero"
run "$ASSAY" record -a -d 0.1 -o all.db
like "-a says whose memory it keeps values of" "$err" "all users' processes"
run "$ASSAY" record -q -a -d 0.5 -o all.db
is "the whole machine" "$status" 0
run "$ASSAY" record -q -o m.db -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do gzip -9 < '"$PROG"' > /dev/null; done'
run "$ASSAY" report -i m.db
like "children are followed" "$out" "gzip"

# Files that are no recordings.
for verb in report annotate values info; do
	run "$ASSAY" $verb -i no-such.db
	is "$verb: no such file: 1" "$status" 1
	run "$ASSAY" $verb -i taken
	is "$verb: no recording: 1" "$status" 1
	like "$verb: no recording: says so" "$err" "recording"
	head -c 5000 v.db > cut.db
	run "$ASSAY" $verb -i cut.db
	is "$verb: a truncated one: 1" "$status" 1
	cp v.db newer.db
	sqlite3 newer.db 'PRAGMA user_version = 999'
	run "$ASSAY" $verb -i newer.db
	is "$verb: a newer schema: 1" "$status" 1
	like "$verb: a newer schema: both numbers" "$err" "999.*1"
done
done_testing
