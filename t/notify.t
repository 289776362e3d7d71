#!/bin/sh
# New mail in a hash directory is found at once when the router says so.
. "${0%/*}/lib.sh"

po=$tmp/po
conf "$tmp/cf" <<END
test/*	command="$top/t/agent -c test -o $tmp/out"
END
spool_new "$po"
mkdir -p "$po/transport/X" "$po/queue/X"
ok 'the scheduler starts with a hash directory' sched_start "$po" "$tmp/cf"
wait_log 'loaded msgs'
if without NO_TCP; then
	skip 'notification' 'built without sockets'
	sched_stop
	finish
fi
is 'the socket of notifications is for the owner only' \
    "$(ls -l "$po/.scheduler.notify" | cut -c1-10)" 's-w-------'
put "$po" X/101-1 test h user
ok 'datagrams without a valid name are accepted by the socket' \
    "$top/t/notify" "$po/.scheduler.notify" \
    'HELLO' 'NEW ' 'NEW ../../etc/passwd' 'NEW x' "NEW /101-1"
ok 'the datagram NEW X/101-1 is sent' \
    "$top/t/notify" "$po/.scheduler.notify" 'NEW X/101-1'
ok 'notified mail in a hash directory is delivered before a scan' \
    wait_log 'complete msg=X/101-1' 10
sched_stop
ok 'the socket is removed at the end' [ ! -e "$po/.scheduler.notify" ]

echo "SCHEDULERNOTIFY=$tmp/log/sock" >"$tmp/zmailer.conf"
ok 'the scheduler starts with SCHEDULERNOTIFY in the file of -Z' \
    sched_start "$po" "$tmp/cf" -Z "$tmp/zmailer.conf"
ok 'SCHEDULERNOTIFY is the path of the socket' [ -S "$tmp/log/sock" ]
sched_stop
printf '%s\n' 'SCHEDULERNOTIFY=$POSTOFFICE/sock' 'ORGDOMAIN=-x' \
    >"$tmp/zmailer.conf"
ok 'the scheduler starts with wrong values in the file of -Z' \
    sched_start "$po" "$tmp/cf" -Z "$tmp/zmailer.conf"
is 'the log names each wrong value of the file of -Z' \
    "$(lines 'err config ' | sed 's/.*config //' | sort)" \
    'ORGDOMAIN: -x is no host'\''s name
SCHEDULERNOTIFY: $POSTOFFICE/sock is no absolute path'
ok 'a wrong SCHEDULERNOTIFY is not used' [ -S "$po/.scheduler.notify" ]
sched_stop
cat >>"$tmp/cf" <<'END'
PARAMnotifysock UNIX:${LOGDIR}/sock
END
ok 'the scheduler starts with PARAMnotifysock' sched_start "$po" "$tmp/cf"
ok 'PARAMnotifysock: ${LOGDIR} is expanded in the path of the socket' \
    [ -S "$tmp/log/sock" ]
sched_stop
finish
