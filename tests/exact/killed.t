#!/bin/bash
# SPDX-License-Identifier: MIT
# Exact recordings whose recorder, or program, is killed at any moment: what is left opens and says what it is,
# and the program is not disturbed by the end of its recorder.
. "$(dirname "$0")/../cli/lib.sh"

# work N [CHILDREN [FILE]] computes, longer under the engine, waits until there is a FILE, and prints what it computed.
# Once it runs there is a file `began`.
cat > work.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned long sum(unsigned n)
{
	unsigned char table[4096];
	unsigned long a = 1;
	for (unsigned i = 0; i < sizeof(table); i++)
		table[i] = i * 7;
	for (unsigned i = 0; i < n; i++) {
		a = a * 3 + table[(a >> 8) % sizeof(table)];
		if (a & 64)
			table[a % sizeof(table)]++;
	}
	return a;
}
static void await(const char *file)
{
	while (access(file, F_OK))
		usleep(10000);
}
int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
	int children = argc > 2 ? atoi(argv[2]) : 0;
	const char *file = argc > 3 ? argv[3] : "/";
	fclose(fopen("began", "w"));
	for (int i = 0; i < children; i++)
		if (!fork()) {
			unsigned long a = sum(n / (i + 2));
			await(file);
			printf("%d %lx\n", i, a);
			return 0;
		}
	unsigned long a = sum(n);
	await(file);
	printf("%lx\n", a);
	while (wait(NULL) > 0)
		;
	return 5;
}
C
work=./work-$$ # a name that no other process has
ok "a program is built" gcc -O1 -o $work work.c

moment() { sleep "0.$(printf %03d $((RANDOM % 900)))"; }
json() { "$ASSAY" "$1" -i "$2" --json 2>/dev/null | jq -c "$3"; }
settle() { # until no process of the program is left; false after 40 s
	for _ in {1..400}; do
		pgrep -f "^$work " > /dev/null || return 0
		sleep 0.1
	done
	return 1
}

# The recorder.
declare -A size=([counts]=100000000 [addresses]=10000000 [values]=7000000)
for mode in "${!size[@]}"; do
	$work "${size[$mode]}" 2 | sort > native.$mode
	is "the program's own result, $mode" "$(wc -l < native.$mode)" 3
done
opened=0 said=0 right=0 hung=0 counted=0 why=""
for i in {1..20}; do
	mode=$(cut -d' ' -f$((i % 3 + 1)) <<< "counts addresses values")
	rm -f killed.db* go began
	"$ASSAY" record -q --exact --observe "$mode" -o killed.db -- $work "${size[$mode]}" 2 go > got 2>/dev/null &
	recorder=$!
	soon [ -e began ]
	moment
	[ $((i % 4)) != 0 ] || sleep 2
	kill -9 $recorder
	wait $recorder 2>/dev/null
	touch go
	run "$ASSAY" info -i killed.db
	if [ "$status" = 0 ]; then opened=$((opened + 1)); else why+="$i $mode: $err"$'\n'; fi
	if grep -q 'unfinished: recorder killed' <<< "$out"; then
		said=$((said + 1))
	else
		why+="$i $mode: $out"$'\n'
	fi
	"$ASSAY" report -i killed.db > report.out 2>&1 && counted=$((counted + 1))
	settle || hung=$((hung + 1))
	if sort got | cmp -s - native.$mode; then right=$((right + 1)); else why+="$i $mode: $(<got)"$'\n'; fi
done
is "recorder killed 20 times: the recording opens" "$opened" 20
is "… and says that it is unfinished" "$said" 20
is "… the program goes on to its end" "$hung" 0
is "… and gives what it does alone" "$right" 20
[ "$counted" -ge 4 ]
is "… and some had been written by then" $? 0
[ -z "$why" ] || diag "$why"

# What was written is there to be read.
rm -f killed.db*
"$ASSAY" record -q --exact -o killed.db -- $work 4000000000 > /dev/null 2>&1 &
recorder=$!
sleep 3
kill -9 $recorder
wait $recorder 2>/dev/null
pkill -9 -f "^$work "
like "after some seconds it holds what ran" "$("$ASSAY" report -i killed.db)" '^unfinished: the recorder was killed or could not write; the rest is missing'
[ "$(json report killed.db .recording.executions)" -gt 10000000 ]
is "… millions of instructions" $? 0
is "… with the program's procedures" "$(json report killed.db '.procedures[0].procedure')" '"sum"'
is "… unfinished in JSON" "$(json info killed.db '[.runs[].finished]')" '[false]'

rm -f killed.db*
"$ASSAY" record -q --exact --observe values -o killed.db -- $work 4000000000 > /dev/null 2>&1 &
recorder=$!
sleep 4
kill -9 $recorder
wait $recorder 2>/dev/null
pkill -9 -f "^$work "
[ "$("$ASSAY" annotate -i killed.db --json sum 2>/dev/null | jq '[.instructions[].operands[].observations] | max')" -gt 100000 ]
is "after some seconds it holds values, too" $? 0

# The program.
whole=0 status_right=0 counted=0 why=""
for i in {1..20}; do
	mode=$(cut -d' ' -f$((i % 3 + 1)) <<< "counts addresses values")
	rm -f dead.db* began
	"$ASSAY" record -q --exact --observe "$mode" -o dead.db -- $work 4000000000 > /dev/null 2>&1 &
	recorder=$!
	soon [ -e began ]
	program=$(pgrep -f "^$work ")
	moment
	kill -9 "$program"
	wait $recorder
	[ $? = 137 ] && status_right=$((status_right + 1))
	if [ "$(json info dead.db '[.runs[] | .finished, .status]')" = '[true,9]' ]; then
		whole=$((whole + 1))
	else
		why+="$i $mode: $("$ASSAY" info -i dead.db 2>&1)"$'\n'
	fi
	[ "$(json report dead.db .recording.executions)" -gt 1000 ] && counted=$((counted + 1))
done
is "program killed 20 times: the recording is whole" "$whole" 20
is "… the status is the program's" "$status_right" 20
is "… and holds what ran" "$counted" 20
[ -z "$why" ] || diag "$why"

done_testing
