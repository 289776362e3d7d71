#!/bin/sh
# What each report of an agent leads to.
. "${0%/*}/lib.sh"

A=$top/t/agent
later=$(($(date +%s) + 3000))
conf "$tmp/cf" <<END
PARAMdsn="-x '*'"
*/*	interval=50s retries="1 1 2" expiry=1d skew=1000000
ok/*	command="$A -c ok ok all is well"
ok2/*	command="$A -c ok2 ok2"
ok3/*	command="$A -c ok3 ok3"
error/*	command="$A -c error error no such user"
error2/* command="$A -c error2 error2 said so myself"
deferred/* command="$A -c deferred deferred mailbox full"
deferback/* command="$A -c deferback deferback try others"
deferall/* overfeed=5 command="$A -c deferall deferall host is down"
rel/*	command="$A -c rel retryat +1000 in a while"
abs/*	command="$A -c abs retryat $later then"
past/*	command="$A -c past retryat 1000 was"
none/*	command="$A -c none retryat"
strange/* command="$A -c strange wonderful day"
first/*	command="$A -c first -1 ok3"
untagged/* command="$A -c untagged -u ok3"
END
spool_new "$tmp/po"
po=$tmp/po

printf '%s\n' 'i 301-1' 'o 0' 'l x' 'e sender' 's local - sender 0' \
    'r           ok h wants 0' 'N NOTIFY=FAILURE,success ORCPT=x' \
    'r           ok h not 0' 'N NOTIFY=FAILURE' \
    'r           error h fails 0' 'm' '' | put_raw "$po" 301-1
n=100
for c in ok ok2 ok3 error error2 deferred deferback rel abs past none strange
do
	n=$((n + 1))
	put "$po" $n-1 $c some.host user
done
put "$po" 201-1 deferall down.host a
put "$po" 202-1 deferall down.host b
put "$po" 203-1 deferall up.host c
put "$po" 211-1 first h one first h two
put "$po" 221-1 untagged h one deferred h two
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'msg=211-1 .*left=1'
wait_log 'msg=221-1 .*channel=deferred'

tag() {		# file: the tags of its r lines
	grep '^r' "$1" | cut -c2
}

n=100
for c in ok ok2 ok3; do
	n=$((n + 1))
	ok "$c: the recipient is delivered" \
	    wait_log "delivered msg=$n-1 .*status=$c delay"
	ok "$c: the message is complete" \
	    wait_log "complete msg=$n-1 .*failed=none"
	ok "$c: both files are gone" wait_for 30 \
	    [ ! -f "$po/queue/$n-1" -a ! -f "$po/transport/$n-1" ]
done

wait_log 'set-aside msg=104-1' && wait_log 'set-aside msg=105-1'
like 'error: the recipient fails with the text' "$(lines 'failed msg=104-1')" \
    'status=error .*no such user'
off=$(grep -b '^r-' "$po/postman/104-1.control" | cut -d: -f1)
like 'error: the scheduler appends the diagnostic line' \
    "$(grep '^d' "$po/postman/104-1.control" | tr '\001\t' '!>')" \
    "^d $off:[0-9]*:-1::[0-9]*>user!failed!5.0.0 .*!x-local; 550 .*!>no such user$"
is 'error: the message is kept' "$(cat "$po/postman/104-1")" 'body of 104-1'
is 'error: the tag is -' "$(tag "$po/postman/104-1.control")" '-'
is 'error2: the scheduler appends no line, as the agent has to' \
    "$(grep '^d' "$po/postman/105-1.control" |
    sed 's/^\(..\).*	/\1/')" 'd why it failed was not written down'

like 'deferred: the log has its reason' "$(lines 'deferred msg=106-1')" \
    'next=(49|5[01]) .*mailbox full$'
like 'deferback: the log has its reason' "$(lines 'deferred msg=107-1')" \
    'next=(49|5[01]) .*try others$'
is 'deferred: no diagnostic is written' \
    "$(grep -c '^d' "$po/transport/106-1")" 0
like 'retryat +N: the next try is N seconds from now' \
    "$(lines 'deferred msg=108-1')" \
    'next=(999|1000) .*in a while$'
like 'retryat N: the next try is at that moment' \
    "$(lines 'deferred msg=109-1')" \
    'next=(29[0-9][0-9]|3000) .*then$'
like 'retryat in the past: the next try is by the retry list' \
    "$(lines 'deferred msg=110-1')" \
    'next=(49|5[01]) .*was$'
like 'retryat without a time: the next try is by the retry list' \
    "$(lines 'deferred msg=111-1')" 'next=(49|5[01]) '
ok 'an unknown status is logged' logged 'report .*status=wonderful unknown status'
like 'a job with an unknown status is deferred' \
    "$(lines 'deferred msg=112-1')" 'next='

is 'deferall: the dead host is logged once' \
    "$(lines 'asleep .*host=down.host' | wc -l | tr -d ' ')" 1
like 'deferall: the dead host is logged with its reason' \
    "$(lines 'asleep .*host=down.host')" \
    'for=(49|5[01]) tries=1 host is down$'
ok 'deferall: another host of the ring is tried' \
    logged 'asleep .*host=up.host'

like 'a recipient that is not reported is deferred' \
    "$(lines 'deferred msg=211-1')" 'left=1 .*did not report'
is 'only the recipient of a job that is not reported is deferred' \
    "$(tag "$po/transport/211-1" | tr '\n' .)" '+. .'
is 'a tag that was left unset is set once the job is over' \
    "$(tag "$po/transport/221-1" | tr '\n' .)" '+. .'
wait_log 'set-aside msg=301-1'
is 'ok: of delivered recipients only NOTIFY=SUCCESS has a diagnostic' \
    "$(grep '^d' "$po/postman/301-1.control" | tr '\001\t' '!>' |
    sed 's/^[^>]*>//;s/!x.*//' | sort | tr '\n' ' ')" \
    'fails!failed!5.0.0 (permanent failure) wants!delivered!2.0.0 (delivered) '
is 'a message that is set aside has the tags of all recipients' \
    "$(tag "$po/postman/301-1.control" | tr '\n' .)" '+.+.-.'
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
