#!/bin/sh
# New mail in a hash directory is found at once when the router says so.
. "${0%/*}/lib.sh"

po=$tmp/po
conf "$tmp/cf" <<END
test/*	command="$top/t/agent -c test -o $tmp/out"
END
spool_new "$po"
mkdir -p "$po/transport/X" "$po/queue/X"
ok 'start' sched_start "$po" "$tmp/cf"
wait_log 'loaded msgs'
if without NO_TCP; then
	skip 'notification' 'built without sockets'
	sched_stop
	finish
fi
is 'the socket is for the owner' \
    "$(ls -l "$po/.scheduler.notify" | cut -c1-10)" 's-w-------'
put "$po" X/101-1 test h user
ok 'a datagram that is none' "$top/t/notify" "$po/.scheduler.notify" \
    'HELLO' 'NEW ' 'NEW ../../etc/passwd' 'NEW x' "NEW /101-1"
ok 'NEW X/101-1' "$top/t/notify" "$po/.scheduler.notify" 'NEW X/101-1'
ok 'it is delivered, long before a scan would look there' \
    wait_log 'complete msg=X/101-1' 10
sched_stop
ok 'the socket is removed' [ ! -e "$po/.scheduler.notify" ]

cat >>"$tmp/cf" <<'END'
PARAMnotifysock UNIX:${LOGDIR}/sock
END
ok 'PARAMnotifysock places it' sched_start "$po" "$tmp/cf"
ok '... with ${NAME} filled in' [ -S "$tmp/log/sock" ]
sched_stop
finish
