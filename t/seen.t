#!/bin/sh
# What mailq says after a restart and of mail that is gone: tries, DSNs,
# mailboxes, Message-IDs.
. "${0%/*}/lib.sh"

A=$top/t/agent
own_spool
conf "$tmp/cf" <<END
PARAMglobal-report-interval 1h
*/*	interval=1h retries=1
later/*	command="$A -l -c later deferred not now"
bad/*	command="$A -c bad error no such user"
local/*	command="$A -c local deferred mailbox full"
park/*	queueonly command="$A -c park ok3"
END
M=$top/mailq
start() {
	sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
}
start
put "$po" 101-1 later a.example u
put "$po" 102-1 later a.example u later b.example u
put "$po" 103-1 park c.example u
put "$po" 104-1 bad a.example bert bad b.example carl park c.example u
put "$po" 105-1 local - anna
put "$po" 106-1 local - anna
put "$po" 107-1 local - berta
sed 's/107-1/108-1/; s/^Subject: .*/Message-ID: <one$2{@x.example>/' \
    "$po/transport/107-1" | put_raw "$po" 108-1
for m in 101-1 102-1 105-1 106-1 107-1 108-1; do
	wait_log "deferred msg=$m "
done
wait_log 'failed msg=104-1 .*host=a.example'
wait_log 'failed msg=104-1 .*host=b.example'
wait_log 'load msg=103-1'

# ---- a DSN that waits -----------------------------------------------------------

like 'a job for a DSN shows whom it is about, and why' \
    "$("$M" | sed -n '/dsn\/success/,$p' | tr '\n\t' '| ')" \
    'for the sender.*on (bert|carl): no such user|  and on 1 other|'

# ---- mailboxes --------------------------------------------------------------------

like 'mailq -s tells mailboxes apart: anna' "$("$M" -s)" '^local/- anna +2 '
like 'mailq -s tells mailboxes apart: berta' "$("$M" -s)" '^local/- berta +2 '
unlike 'mailq -s has no row for all of them' "$("$M" -s)" '^local/-  '

# ---- a Message-ID -------------------------------------------------------------------

is 'msgid= lists the message' "$("$M" 'msgid=<one$2{@x.example>' |
    sed -n 's/^\([0-9-]*\)  .*/\1/p')" 108-1
like 'show takes msgid= without brackets' \
    "$("$M" show 'msgid=one$2{@x.example' 2>/dev/null)" '^108-1 .*'
like 'a command takes msgid=' \
    "$("$M" hold 'msgid=<one$2{@x.example>')" '^108-1: 108-1 is held'
nok 'msgid= matches no part of it' "$M" flush 'msgid=one$2{@x'
nok 'msgid= needs a value' "$M" msgid=
like 'msgid= finds what goes on with others' \
    "$("$M" -n delete msgid=none@x 2>&1)" 'nothing in the queue matches'

# ---- mail that is gone when the command comes ---------------------------------------

# Another one answers the query, with a dump of before.
"$top/t/ask" pipe "$po/public/.mailq.text" >"$tmp/dump"
"$M" delete 101-1 >/dev/null
wait_for 30 [ ! -f "$po/queue/101-1" ]
sched_stop
sched_start "$po" "$tmp/cf" -q "$tmp/real"
bg "$top/t/serve" -q "$po/public/.mailq.text" "$tmp/dump"
wait_for 30 [ -p "$po/public/.mailq.text" ]
said=$("$M" flush dest='later/*' 2>&1)
rc=$?
like 'a message that is gone is done: no complaint' "$rc $said" '^0 102-1: '
like 'a message that is gone is counted as done before' \
    "$said" '^1 message was gone before the command came$'
unlike 'no line names it' "$said" 'there is no message'

# ---- after a restart -------------------------------------------------------------------

order() {
	"$M" "$@" >/dev/null
}
sched_stop
rm -f "$po/public/.mailq.text"
start
put "$po" 109-1 later d.example u
put "$po" 110-1 later e.example u
for m in 102-1 105-1 109-1; do
	wait_log "deferred msg=$m "
	order hold $m
done
order hold 'later/e*'
sleep 1.1 2>/dev/null || sleep 2	# the files are of a second that is past
touch "$po/transport/102-1" "$po/transport/109-1"	# as an agent leaves them
sched_stop
start
wait_log 'loaded msgs='
list=$("$M" | sed -n '/^1[01]/{N;s/\n/ /;p;}')
like 'a job that was tried before a restart is not "not tried yet"' "$list" \
    '^109-1 .*, tried before, at least [0-9]+s ago$'
like 'show says that a job was tried before a restart' \
    "$("$M" show 109-1 2>/dev/null)" \
    'd.example, tried before, at least [0-9]+s ago'
like 'of several jobs it is not known which was tried' "$list" \
    '^102-1 .*, not tried since the scheduler started$'
like 'queueonly mail is no tried mail' "$list" \
    '^103-1 .*, not tried since the scheduler started$'
put "$po" 111-1 park f.example u
wait_log 'load msg=111-1'
like 'new mail is not tried yet' "$("$M")" ', not tried yet$'
sched_stop
finish
