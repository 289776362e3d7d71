#!/bin/sh
# The spool, the files and the habits of version 0.1, met by this version.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
out=$tmp/out
: >"$out"

# ---- the spool: as 0.1 left it when it was stopped --------------------------

for d in transport queue public router postman deferred freezer; do
	mkdir -p "$po/$d"
done
chmod 1777 "$po/public" "$po/router"
chmod 700 "$po/postman" "$po/deferred" "$po/freezer"
for n in 101 102 103 104; do
	put "$po" $n-1 smtp h$n.test user$n
done
put "$po" 105-1 dead gone.test user105 smtp h9.test other105
put "$po" 106-1 turn later.test user106
put "$po" 107-1 smtp held.test user107
put "$po" 108-1 smtp h101.test user108
# deferred mail had the time of its next try, odd or even
for n in 101 102 103 105 106 108; do
	touch -t 203712312359.3$((n % 2)) "$po/transport/$n-1"
done
# and a clock that was wrong once may have left this
touch -t 203712312359 "$po/queue/104-1"
printf 'message 107-1\naddress smtp/kept*\n' >"$po/.mailq.holds"
tab=$(printf '\t')
{
	echo "destdb 1 1795338850"
	sed "s/ /$tab/g" <<'END'
smtp h101.test 1 0 0 0 - 0 0 0 7 - 7 2 0 
dead gone.test 0 0 0 1000000 3543 1 1 0 - 7 7 0 1 4.4.1_no_answer
END
} >"$tmp/known"
# the clauses that 0.1 came with, for agents of the suite
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdestdb $tmp/known
*/*	interval=5m expiry=3d
	retries="1 1 2 3 5 8 13 21 34"
	maxring=10 overfeed=10
	reporttimes="4h 1d"
local/*	interval=1m maxchannel=2
	command="$A -c local -o $out ok"
smtp/*	maxchannel=40 maxring=40 maxthr=20 order=preempt maxage=1h
	posfeedback=1/concurrency negfeedback=1/concurrency
	command="$A -c smtp -o $out ok"
dead/*	command="$A -c dead -o $out ok"
turn/*	queueonly command="$A -c turn -o $out ok"
END
mailq() {
	POSTOFFICE=$po "$top/mailq" "$@" 2>&1
}
got() {		# lines
	[ "$(wc -l <"$out")" -ge "$1" ]
}

# What has to be changed, and is said by -n.
said() {	# configuration
	MAILBIN=$top "$top/scheduler" -n -P "$po" -f "$1" 2>&1
	echo "exit $?"
}
is 'version 1: no mode has to be changed' "$(said "$tmp/cf" |
    grep -v -E 'any local user can|mailname')" 'exit 0'
chmod o+w "$po" "$po/queue"
is 'version 1: -n names each refused mode' "$(said "$tmp/cf" |
    sed -n '/any local/d; s/.*dir=//p; /^exit/p')" "$po anybody may write there; chmod o-w it
$po/queue anybody may write there; chmod o-w it
exit 77"
is 'version 1: -n makes no directory' "$(ls -d "$po/private" 2>&1 |
    grep -c "^$po/private")" 0
chmod o-w "$po" "$po/queue"
sed 's/^PARAMmailqsock .*/PARAMmailqsock TCP:localhost:174/' "$tmp/cf" \
    >"$tmp/cf.old"
like 'version 1: -n names each line to be changed' "$(said "$tmp/cf.old")" \
    "^$tmp/cf.old:1: PARAMmailqsock: TCP:localhost:174 names a host"

is 'version 1: the clauses are good' \
    "$(MAILBIN=$top "$top/scheduler" -n -P "$tmp/none" -f "$tmp/cf" 2>&1)" ''
ok 'version 1: the scheduler starts with the old spool' \
    sched_start "$po" "$tmp/cf"
ok 'version 1: mail with a time of its next try is delivered' wait_for 30 got 6
like 'version 1: the database of destinations is ignored' \
    "$(lines ' destdb ')" \
    'known is empty, damaged or of another version'
is 'version 1: a time stamp of the future is not an age' \
    "$(lines 'load msg=104-1' | sed 's/.* age=\([0-9]*\).*/\1/')" 0
is 'version 1: held mail stays held' "$(grep -c "^107-1" "$out")" 0
like 'version 1: mailq shows the holds' "$(mailq -v)" 'held'
is 'version 1: mail that waits for a T line still waits' \
    "$(grep -c "^106-1" "$out")" 0
printf 'T later.test\n' >"$po/transport/.901-1"
mv "$po/transport/.901-1" "$po/transport/901-1"
ok 'version 1: a T line starts waiting mail' wait_for 30 grep "^106-1" "$out"
mailq release all >"$tmp/released"
ok 'version 1: a release starts held mail' wait_for 30 grep "^107-1" "$out"
mailq flush all >"$tmp/flushed"
ok 'version 1: all mail is delivered' wait_for 30 po_empty "$po"
is 'version 1: every recipient gets mail once' \
    "$(cut -d' ' -f1,3 "$out" | sort | tr ' \n' '/ ')" \
    '101-1/h101.test 102-1/h102.test 103-1/h103.test 104-1/h104.test 105-1/gone.test 105-1/h9.test 106-1/later.test 107-1/held.test 108-1/h101.test '
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- a spool that moves to another host, as scheduler(8) has it --------------------

: >"$out"
put "$po" 201-1 smtp h201.test user201
put "$po" 202-1 smtp held.test user202
touch -t 202601150000 "$po/queue/201-1"
printf 'message 202-1\n' >"$po/.mailq.holds"
sed -n '/^\.SH MOVING/,/^\.SH EXIT/p' "$top/man/scheduler.8" |
    sed -n "s/^	//p" | sed "s/\\\\-/-/g; s,^cd .*,cd $po,
    s,ssh new.example,sh -c,; s,/var/spool/postoffice,$tmp/moved,
    s/ deferred//; s/ private//" >"$tmp/move"
spool_new "$tmp/moved"
ok 'the commands for a move end with 0' sh -e "$tmp/move"
mv "$po" "$tmp/away"
ok 'the scheduler starts with the spool that was moved' \
    sched_start "$tmp/moved" "$tmp/cf"
ok 'mail that was moved is delivered' wait_for 30 got 1
is 'mail that was moved keeps its age' \
    "$(lines 'load msg=201-1' | grep -c 'age=[1-9][0-9]\{5\}')" 1
ok 'mail that was moved is loaded' wait_log 'load msg=202-1'
is 'a hold moves, too' "$(grep -c 202-1 "$out")" 0
sched_stop
finish
