#!/bin/sh
# What an idle scheduler does: one look at the top directory a second, and
# nothing else.  And the system calls that a message costs.
. "${0%/*}/lib.sh"

command -v strace >/dev/null 2>&1 || skip_all 'no strace'
strace -o "$tmp/trace" true 2>/dev/null || skip_all 'strace may not trace'
po=$tmp/po
conf "$tmp/cf" <<END
test/*	command="$top/t/agent -c test -o $tmp/out"
END
spool_new "$po"
for d in A B C; do
	mkdir -p "$po/transport/$d"
	touch -t 202601010000 "$po/transport/$d"
done
touch -t 202601010000 "$po/transport"
VALGRIND="strace -o $tmp/trace"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
VALGRIND=
look='stat[a-z0-9]*\(.*"\.",'
looks() {	# number
	[ "$(grep -cE "$look" "$tmp/trace")" -ge "$1" ]
}
between() {	# look look: system calls between them
	grep -nE "$look" "$tmp/trace" | sed -n "$1p;$2p" |
	    awk -F: 'NR == 1 { n = $1 } END { print $1 - n }'
}
reads() {
	grep -c '^open.*O_DIRECTORY' "$tmp/trace"
}
ok 'an idle scheduler looks at the top directory' wait_for 30 looks 6
before=$(reads)
ok 'an idle scheduler looks again and again' wait_for 30 looks 12
is 'an idle scheduler reads no unchanged directory' "$(reads)" "$before"
ok 'an idle scheduler makes few other system calls' [ "$(between 6 12)" -le 36 ]
put "$po" 101-1 test h user
ok 'an idle scheduler reads a changed directory' \
    wait_for 30 grep 101-1 "$tmp/out"
ok 'a changed directory is read again' \
    [ "$(reads)" -gt "$before" ]
kill "$(head -n 1 "$po/.pid.scheduler")"
sched_stop

# Without addresses in the log the control file is read once, whether the agent
# leaves the diagnostic line to the scheduler (ok) or not (ok3).
for how in no yes; do
	rm -rf "$po"
	spool_new "$po"
	conf "$tmp/cf" <<-END
	PARAMmailqsock none
	PARAMlogaddresses $how
	test/*	command="$top/t/agent -c test -u ok"
	END
	put "$po" 301-1 test h user
	VALGRIND="strace -o $tmp/trace"
	sched_start "$po" "$tmp/cf"
	VALGRIND=
	wait_log 'complete msg=301-1'
	kill "$(head -n 1 "$po/.pid.scheduler")"
	sched_stop
	opens=1
	[ $how = no ] || opens=2
	is "the calls that name the files, PARAMlogaddresses $how" \
	    "$(grep '301-1"' "$tmp/trace" | sed 's/^open.*/open/
	    s/^[a-z0-9]*stat.*/stat/; s/(.*//' | sort | uniq -c |
	    tr -s ' \n' ' ')" \
	    " $opens open 1 stat 2 unlink "
	is "no lseek serves the message, PARAMlogaddresses $how" \
	    "$(sed -n '/301-1"/,/^unlink/p' "$tmp/trace" | grep -c 'lseek(')" 0
done

# Core is full, nothing can make room, and the router has more to say.
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
test/*	command="$top/t/agent -c test -o $tmp/out -w $tmp/gate"
END
without NO_TCP && finish
put "$po" 201-1 test h user
VALGRIND="strace -o $tmp/trace"
sched_start "$po" "$tmp/cf"
VALGRIND=
wait_log 'load msg=201-1'
put "$po" 202-1 test h user
wait_for 30 looks 4
"$top/t/notify" "$po/.scheduler.notify" 'NEW 202-1'
n=$(grep -cE "$look" "$tmp/trace")
ok 'a notification of the router waits while core is full' \
    wait_for 30 looks $((n + 7))
calls=$(between $((n + 1)) $((n + 7)))
diag "$calls system calls in six looks"
ok 'a waiting notification costs few system calls' [ "$calls" -le 150 ]
: >"$tmp/gate"
ok 'the notified mail is loaded when there is room' wait_log 'load msg=202-1' 30
kill "$(head -n 1 "$po/.pid.scheduler")"
sched_stop
finish
