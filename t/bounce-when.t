#!/bin/sh
# DSNs: when they are made, of delays too.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
spool_new "$po"
A=$top/t/agent
delays() {	# name: the delay fields
	sed -n 's/^r.......\(....\).*/\1,/p' "$po/transport/$1" | tr -d '\n'
}

# ---- delays ----------------------------------------------------------------------

config >"$tmp/cf"
old='90 minutes ago'
simple "$po" 201-1 anna@a.example <<END
r           late h asked@x.example 0
N NOTIFY=DELAY,FAILURE ORCPT=rfc822;asked@old.example
r           late h none@x.example 0
r           late h fails@x.example 0
N NOTIFY=FAILURE
r           late h never@x.example 0
N NOTIFY=NEVER
r           every h all@x.example 0
r           every h fails@x.example 0
N NOTIFY=FAILURE
r           every h never@x.example 0
N NOTIFY=NEVER
r           kept h kept@x.example 0
r           down far down@x.example 0
r           numb h numb@x.example 0
END
simple "$po" 202-1 '<>' <<END
r           every h a@x.example 0
END
simple "$po" 209-1 anna@a.example <<END
r           late h a@x.example 0
r           late h b@x.example 0
N NOTIFY=FAILURE,SUCCESS
END
printf 'i 203-1\no 0\ns smtp - anna@a.example 0\nr every h a@x.example 0\nm\n\n' |
    mail "$po" 203-1
old=
simple "$po" 204-1 anna@a.example <<END
r           every h young@x.example 0
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
report "$po" 201-1
is 'the DSN of a delay has the right parts and no error' \
    "$(got '^!|^P|^E to ')" \
    'E to <anna@a.example>@P text/plain message/delivery-status text/rfc822-headers@'
is 'the DSN of a delay is for who asked or gets all DSNs' \
    "$(got '^R. (Final|Act|Stat|Diag|Orig)')" \
    'R1 Original-Recipient: rfc822; asked@old.example@R1 Final-Recipient: rfc822; asked@x.example@R1 Action: delayed@R1 Status: 4.2.2@R1 Diagnostic-Code: x-local; the 4.2.2 box is full@R2 Final-Recipient: rfc822; all@x.example@R2 Action: delayed@R2 Status: 4.2.2@R2 Diagnostic-Code: x-local; 4.2.2 box@R3 Final-Recipient: rfc822; down@x.example@R3 Action: delayed@R3 Status: 4.4.1@R3 Diagnostic-Code: x-local; 4.4.1 no answer@R4 Final-Recipient: rfc822; numb@x.example@R4 Action: delayed@R4 Status: 4.3.2@R4 Diagnostic-Code: x-local; 10.4.2.1 said 14.2.1, not 4.2.1.5 or 4.3.2. See@'
like 'the DSN of a delay says how long the message will be tried' \
    "$(got '^M Arr|^R1 Will')" \
    '^M Arrival-Date: .*@R1 Will-Retry-Until: [A-Z][a-z][a-z], .* \+0000@$'
is 'the subject of the DSN of a delay counts recipients' \
    "$(got '^H Subject')" \
    'H Subject: Delayed mail [DELAYED(4)]@'
is 'the warning is over for each recipient, wanted or not' "$(delays 201-1)" \
    '   1,   1,   1,   1,   1,   1,   1,   1,   1,   1,'
is 'a warning that is over has a marked line for each job' \
    "$(grep '^d' "$po/transport/201-1" | cut -c1-2 | sort | uniq -c |
    tr -d ' \n')" '5d+'
is 'the DSN of a delay makes no recipient final' "$(sed -n 's/^r\(.\).*/\1/p' \
    "$po/transport/201-1" | tr -d '\n ')" ''
wait_log 'deferred msg=203-1' 20
sched_stop
is 'no DSN of a delay is made without a sender' "$(ids 202-1)" 0
is 'no DSN of a delay is made without room to note it' "$(ids 203-1)" 0
is 'no DSN of a delay is made for a message that is not late' "$(ids 204-1)" 0
is 'the agent has no job for a delay of which nobody may want a warning' \
    "$(count 'msg=209-1 .*channel=dsn') $(grep -c '^d' \
    "$po/transport/209-1")" '0 0'
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf"
failing "$po" 205-1 anna@a.example a
old='3 hours ago'
simple "$po" 206-1 anna@a.example <<END
r           every h a@x.example 0
END
old=
report "$po" 206-1
is 'two times of reporttimes that have passed at once make one DSN' \
    "$(ids 206-1) $(delays 206-1)" \
    '1    2,'
is 'the agent has no second job for a delay after a restart' \
    "$(count 'msg=201-1 .*channel=dsn')" 0
sched_stop
touch -d '3 hours ago' "$po/queue/201-1"
ok 'the scheduler starts when the next of reporttimes has passed' \
    sched_start "$po" "$tmp/cf"
report "$po" 201-1
is 'the next of reporttimes makes one more DSN' \
    "$(got '^!|^R. Final|^H Subj') $(delays 201-1)" \
    'H Subject: Delayed mail [DELAYED(4)]@R1 Final-Recipient: rfc822; asked@x.example@R2 Final-Recipient: rfc822; all@x.example@R3 Final-Recipient: rfc822; down@x.example@R4 Final-Recipient: rfc822; numb@x.example@    2,   2,   2,   2,   2,   2,   2,   2,   2,   2,'
is 'no DSN comes when both times of reporttimes have one' "$(ids 206-1)" 0
sched_stop
rm -rf "$po"

# The moment itself, without a restart.
spool_new "$po"
cat >"$tmp/cf2" <<END
PARAMmailqsock none
PARAMglobal-report-interval 0
*/*	interval=1s retries=1 reporttimes="2s 8s 1h" delayreport
late/*	command="$A -c late -f $tmp/go"
fail/*	command="$A -c fail error no such user"
END
simple "$po" 207-1 anna@a.example <<END
r           late h a@x.example 0
r           fail h b@x.example 0
END
ok 'the scheduler starts with reporttimes of seconds' \
    sched_start "$po" "$tmp/cf2"
ok 'each of reporttimes that passes makes a DSN' wait_for 40 eval \
    '[ "$(count "delivered msg=207-1 .*host=delay .* to=")" -eq 2 ]'
is 'a failure waits for the end of its message' "$(ids 207-1)" 2
: >"$tmp/go"
ok 'a message is delivered after DSNs of its delay' \
    wait_log 'delivered msg=207-1' 20
ok 'the DSN of a failure is sent at the end of its message' \
    wait_log 'delivered msg=207-1 .*host=failure .* to=' 20
is 'two delays and a failure make three DSNs' "$(ids 207-1)" 3
rm "$tmp/go"
sched_stop

# With more mail than there may be in core.
rm -rf "$po"
spool_new "$po"
config 'PARAMactive 2' >"$tmp/cf"
old='90 minutes ago'
for n in 1 2 3 4; do
	simple "$po" 20$n-2 anna@a.example <<END
r           every h$n a@x.example 0
END
done
old=
ok 'the scheduler starts with more mail than fits in core' \
    sched_start "$po" "$tmp/cf"
wait_for 60 eval '[ "$(files_of "20.-2" | wc -l)" -ge 4 ]'
is 'DSNs of a delay are sent for all mail that does not fit in core' \
    "$(files_of '20.-2' | wc -l | tr -d ' ')" 4
sched_stop

# ---- before a message is done ---------------------------------------------------------

rm -rf "$po"
spool_new "$po"
config 'PARAMglobal-report-interval 2s' >"$tmp/cf"
simple "$po" 211-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
report "$po" 211-1
is 'the DSN of a failure is sent while other recipients wait' \
    "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; a@x.example@'
is 'a failure with a DSN is marked, and its message stays' \
    "$(sed -n 's/^\([rd].\).*/\1/p' "$po/transport/211-1" | tr ' \n' '_,')" \
    'r-,r_,d+,'
sched_stop
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=211-1' 20
simple "$po" 212-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
report "$po" 212-1
is 'no second DSN of a failure is made after a restart' "$(ids 211-1)" 0
sched_stop
config 'PARAMglobal-report-interval 0' >"$tmp/cf"
simple "$po" 213-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
sed 's/^wait.*/wait\/*	expiry=4s interval=1s reporttimes=none command="'"$(
    echo "$A" | sed 's,/,\\/,g')"' -c wait deferred not now"/' "$tmp/cf" >"$tmp/cf2"
ok 'the scheduler starts with PARAMglobal-report-interval 0' \
    sched_start "$po" "$tmp/cf2"
report "$po" 213-1
is 'with PARAMglobal-report-interval 0 one DSN has all failures' \
    "$(ids 213-1) $(got '^!|^R. (Final|Stat)')" \
    '1 R1 Final-Recipient: rfc822; a@x.example@R1 Status: 5.0.0@R2 Final-Recipient: rfc822; b@x.example@R2 Status: 4.4.7@'
ok 'a message whose failure has a DSN gets its last DSN' dsn_of 211-1 20
report "$po" 211-1
is 'the last DSN leaves out the failure of an earlier DSN' \
    "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; b@x.example@'
sched_stop

# The DSN of a failure is sent in time, though its message had to leave core.
rm -rf "$po"
spool_new "$po"
{
	config 'PARAMglobal-report-interval 5s' 'PARAMactive 1'
	echo 'dsn/*	interval=2s'
} >"$tmp/cf"
simple "$po" 215-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
ok 'the scheduler starts with room for one message' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=215-1' && wait_log 'failed msg=215-1'
simple "$po" 216-1 anna@a.example <<END
r           wait h a@x.example 0
END
ok 'a message with a failure without a DSN is evicted' \
    wait_log 'evict msg=215-1' 20
is 'a message is evicted before the DSN of its failure is sent' "$(ids 215-1)" 0
report "$po" 215-1
is 'the DSN of a failure of an evicted message is sent in time' \
    "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; a@x.example@'
sched_stop

# A line of a failure is no warning.
rm -rf "$po"
spool_new "$po"
config >"$tmp/cf"
simple "$po" 217-1 anna@a.example <<END
r-          fail h a@x.example 0
r           wait h b@x.example 0
d a@x.example|failed|5.1.1|||no a
END
old='90 minutes ago'
simple "$po" 218-1 anna@a.example <<END
r           every h a@x.example 0
r          1every h b@x.example 0
d a@x.example|delayed||1 all||left by a crash
END
old=
ok 'the scheduler starts with diagnostic lines in control files' \
    sched_start "$po" "$tmp/cf"
report "$po" 218-1
wait_log 'deferred msg=217-1'
sched_stop
is 'the DSN of a delay that a crash has cut short is sent to who lacks it' \
    "$(got '^!|^R. (Final|Diag)') $(delays 218-1)" \
    'R1 Final-Recipient: rfc822; a@x.example@R1 Diagnostic-Code: x-local; 4.2.2 box@    1,   1,'
is 'no agent looks for delays where there are failures alone' \
    "$(count 'msg=217-1 .*host=delay')" 0

finish
