#!/bin/bash
# SPDX-License-Identifier: MIT
# With which rights a recorder, its broker and a reader run, and whom a user may sample. Under sudo assay is root with
# SUDO_UID and SUDO_GID set, which is how it is run here.
. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
	skip "not root: no user to become"
	done_testing
	exit
fi
caller=(env SUDO_UID=65534 SUDO_GID=65534)
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
chmod 755 "$TMP"
mkdir -m 755 bin && cp "$ASSAY" "$BUILD/assay-exact" bin/
mkdir -m 700 own && chown 65534:65534 own

of() { awk -v key="$2:" '$1 == key { print $2 }' "/proc/$1/status" 2>/dev/null; } # PID FIELD
broker_of() { pgrep -P "$1" -x assay-broker; }
child_of() { pgrep -P "$1" -x "$2"; }
none=0000000000000000
caps() { # CAPABILITY…: the mask of /proc/PID/status
	local bits="" c
	for c in "$@"; do bits+="${bits:+,}$c"; done
	setpriv --bounding-set "-all${bits:+,+${bits//,/,+}}" awk '/^CapBnd/ { print $2 }' /proc/self/status
}

# A recorder that has begun: the command runs, PID of the recorder in $recorder.
begin() { # RECORDER… (its command is sleep)
	"$@" &
	recorder=$!
	soon child_of "$recorder" sleep >/dev/null
	soon [ "$(of "$recorder" CapEff)" != "$(of self CapEff)" ]
}
finish() { pkill -P "$recorder" -x sleep; wait "$recorder" 2>/dev/null; }

if can_record; then
	begin "${caller[@]}" bin/assay record -q -o own/a.db -- sleep 100
	is "under sudo a recorder is the user who called" "$(of "$recorder" Uid)" 65534
	is "… and of that user's group" "$(of "$recorder" Gid)" 65534
	is "… without capabilities" "$(of "$recorder" CapPrm) $(of "$recorder" CapEff)" "$none $none"
	is "… and without any to come" "$(of "$recorder" CapInh) $(of "$recorder" CapAmb)" "$none $none"
	is "its broker keeps four" "$(of "$(broker_of "$recorder")" CapPrm)" \
		"$(caps sys_ptrace dac_read_search checkpoint_restore kill)"
	is "the broker has two descriptors" "$(find /proc/"$(broker_of "$recorder")"/fd -mindepth 1 | wc -l)" 2
	is "the command is root's, as sudo would run it" "$(of "$(child_of "$recorder" sleep)" Uid)" 0
	kill -TERM "$recorder"
	wait "$recorder"
	is "a signal reaches root's command through the broker" $? $((128 + 15))
	is "the recording belongs to the caller" "$(stat -c '%u %a' own/a.db)" "65534 600"
	run "${caller[@]}" bin/assay record -q -F 5000 -o own/b.db -- gzip -9 -c "$BUILD/assay"
	run bin/assay report -i own/b.db --json
	ok "images of root's process are found" jq -e '[.images[].image] | any(endswith("gzip"))' <<<"$out"

	sleep 100 & target=$!
	"${caller[@]}" bin/assay record -q -o own/p.db -p "$target" & recorder=$!
	soon [ -e own/p.db ]
	is "attached to root's process, it is the caller" "$(of "$recorder" Uid) $(of "$recorder" CapEff)" "65534 $none"
	kill -INT "$recorder"; wait "$recorder"
	is "… and ends when asked to" $? 0

	begin bin/assay record -q -o own/root.db -- sleep 100
	is "a root login's recorder keeps root's rights on files" "$(of "$recorder" Uid) $(of "$recorder" CapPrm)" \
		"0 $(caps dac_override)"
	finish
	[ -s own/root.db ]; is "… and writes into folders of others" $? 0
	mkdir -m 700 roots
	run "${caller[@]}" bin/assay record -o roots/x.db -- true
	is "under sudo a folder that is closed to the caller is refused" "$status" 1
	like "… by name" "$err" "roots/x.db"
	like "… with what to do" "$err" "env -u SUDO_UID"
else
	skip "$why"
fi

begin "${caller[@]}" bin/assay record --exact -q -o own/e.db -- sleep 100
is "under sudo the recorder of an exact run is the caller" "$(of "$recorder" Uid) $(of "$recorder" CapPrm)" "65534 $none"
is "… its command is root's" "$(of "$(child_of "$recorder" sleep)" Uid)" 0
kill -TERM "$recorder"
wait "$recorder"
is "… and gets the recorder's signals" $? $((128 + 15))
run bin/assay record --exact -q -o e.db -- true
is "a root login records exactly" "$status" 0

run "${caller[@]}" bin/assay report -i e.db
is "under sudo root's recording is closed to the caller" "$status" 1
like "… who is told what to do" "$err" "env -u SUDO_UID"

# A reader stands still where the pipe is full that it prints to.
reader() { # NAME STATUS-LINE COMMAND…
	local name=$1 wanted=$2 pid
	shift 2
	rm -f full; mkfifo full
	exec 5<>full
	dd if=/dev/zero of=full bs=65536 count=1 2>/dev/null
	"$@" >full 2>/dev/null &
	pid=$!
	soon grep -q pipe_write "/proc/$pid/wchan" 2>/dev/null || soon grep -q '^State:.S' "/proc/$pid/status"
	is "$name" "$(of "$pid" Uid) $(of "$pid" CapPrm) $(of "$pid" CapEff) $(of "$pid" NoNewPrivs)" "$wanted"
	kill -KILL "$pid"; wait "$pid" 2>/dev/null
	exec 5>&-
}
reader "under sudo a reader is the caller, without capabilities" "65534 $none $none 1" \
	"${caller[@]}" bin/assay report -i own/e.db
reader "a root login's reader keeps root's rights on files, and can become nobody" \
	"0 $(caps dac_override setuid setgid) $(caps dac_override) 1" \
	bin/assay report -i e.db

if unshare -Ur true 2>/dev/null; then
	run unshare -Ur bin/assay doctor
	is "capabilities of a user namespace alone: doctor says that the sampler does not work" "$status" 1
	run unshare -Ur bin/assay record -o contained.db -- true
	is "… and record is refused" "$status" 1
	like "… for the same reason" "$err" "user namespace"
else
	skip "no user namespaces here"
fi

# File capabilities: more than the ones that are suggested, as an administrator may have given.
mkdir -m 755 capable && cp "$ASSAY" "$BUILD/assay-exact" capable/
if setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_checkpoint_restore+ep capable/assay 2>/dev/null &&
	"${nobody[@]}" capable/assay --version >/dev/null 2>&1; then
	echo "the secret of root" > secret; chmod 600 secret
	printf '#line 1 "%s/secret"\n%s\n' "$TMP" \
		'int main(void) { volatile long v = 0; for (long i = 0; i < 100000; i++) v += i; return 0; }' > spy.c
	gcc -g -O1 -o spy spy.c
	run bin/assay record --exact -q -o own/spy.db -- ./spy
	chown 65534:65534 own/spy.db
	run bin/assay annotate -i own/spy.db main
	like "root itself is shown the source" "$out" "the secret of root"
	run "${nobody[@]}" capable/assay annotate -i own/spy.db main
	is "a reader with file capabilities works" "$status" 0
	unlike "… and opens no file that is closed to its user" "$out$err" "secret of"
	reader "… and has given them up" "65534 $none $none 1" "${nobody[@]}" capable/assay report -i own/e.db

	setcap cap_bpf,cap_perfmon+ep capable/assay
	if can_record; then
		sleep 100 & roots=$!
		run "${nobody[@]}" capable/assay record -o own/x.db -d 1 -p "$roots"
		is "with CAP_BPF and CAP_PERFMON a user cannot sample root's process" "$status" 1
		like "… and is told so" "$err" "process $roots may not be sampled by this user"
		run "${nobody[@]}" capable/assay record -o own/x.db -d 1 -t "$roots"
		is "… nor its thread" "$status" 1
		run "${nobody[@]}" capable/assay record -o own/x.db -d 1 -a
		is "… nor all processes" "$status" 1
		like "… for which a capability is missing" "$err" "CAP_SYS_PTRACE"
		[ ! -e own/x.db ]; is "… and nothing is left behind" $? 0
		kill "$roots"
		"${nobody[@]}" sleep 100 & theirs=$!
		run "${nobody[@]}" capable/assay record -q -o own/x.db -d 0.2 -p "$theirs"
		is "a process of the user's own is sampled" "$status" 0
		kill "$theirs"
		run "${nobody[@]}" capable/assay record -q -F 5000 -o own/y.db -- gzip -9 -c capable/assay
		is "… and a command" "$status" 0
		run "${nobody[@]}" capable/assay report -i own/y.db --json
		ok "… whose images are found" jq -e '[.images[].image] | any(endswith("gzip"))' <<<"$out"
	else
		skip "$why"
	fi
else
	skip "no file capabilities here (setcap, of libcap2-bin, and a file system that keeps them)"
fi

done_testing
