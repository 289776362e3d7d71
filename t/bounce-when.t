#!/bin/sh
# Reports: when they are made, of delays too; and limits.
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
is 'the DSN of a delay is noted with each recipient' "$(delays 201-1)" \
    '   1,    ,    ,    ,   1,    ,    ,    ,   1,   1,'
is 'the DSN of a delay makes no recipient final' "$(sed -n 's/^r\(.\).*/\1/p' \
    "$po/transport/201-1" | tr -d '\n ')" ''
wait_log 'deferred msg=203-1' 20
sched_stop
is 'no delay is told without a sender' "$(ids 202-1)" 0
is 'no delay is told without room to note it' "$(ids 203-1)" 0
is 'no delay is told of a message that is not late' "$(ids 204-1)" 0
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf"
simple "$po" 205-1 anna@a.example <<END
r           fail h a@x.example 0
END
old='3 hours ago'
simple "$po" 206-1 anna@a.example <<END
r           every h a@x.example 0
END
old=
report "$po" 206-1
is 'two times of reporttimes that have passed at once make one DSN' \
    "$(ids 206-1) $(delays 206-1)" \
    '1    2,'
is 'a delay is not told again after a restart' "$(ids 201-1)" 0
sched_stop
touch -d '3 hours ago' "$po/queue/201-1"
ok 'the scheduler starts when the next of reporttimes has passed' \
    sched_start "$po" "$tmp/cf"
report "$po" 201-1
is 'the next of reporttimes makes one more DSN' \
    "$(got '^!|^R. Final|^H Subj') $(delays 201-1)" \
    'H Subject: Delayed mail [DELAYED(4)]@R1 Final-Recipient: rfc822; asked@x.example@R2 Final-Recipient: rfc822; all@x.example@R3 Final-Recipient: rfc822; down@x.example@R4 Final-Recipient: rfc822; numb@x.example@    2,    ,    ,    ,   2,    ,    ,    ,   2,   2,'
is 'no DSN comes when both times of reporttimes were told' "$(ids 206-1)" 0
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
ok 'a failure is told at the end of its message' \
    wait_log 'delivered msg=207-1 .*host=failure .* to=' 20
is 'two delays and a failure make three DSNs' "$(ids 207-1)" 3
rm "$tmp/go"
sched_stop

# With more mail than there may be in core: it does not go before its warning.
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
is 'a delay is told of all mail that does not fit in core' \
    "$(files_of '20.-2' | wc -l | tr -d ' ')" 4
ok 'no message is evicted before its DSN of a delay' eval \
    '[ "$(grep -nE "channel=dsn .*to=|evict " "$tmp/sched.log" | head -n 1 |
    grep -c channel=dsn)" -eq 1 ] && logged "evict msg"'
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
is 'a failure is told while other recipients wait' "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; a@x.example@'
is 'a failure that was told is marked, and its message stays' \
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
is 'a failure is not told again after a restart' "$(ids 211-1)" 0
sched_stop
config 'PARAMglobal-report-interval 0' >"$tmp/cf"
simple "$po" 213-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
sed -i.old 's/^wait.*/wait\/*	expiry=4s interval=1s reporttimes=none command="'"$(
    echo "$A" | sed 's,/,\\/,g')"' -c wait deferred not now"/' "$tmp/cf"
ok 'the scheduler starts with PARAMglobal-report-interval 0' \
    sched_start "$po" "$tmp/cf"
report "$po" 213-1
is 'with PARAMglobal-report-interval 0 one DSN tells all failures' \
    "$(ids 213-1) $(got '^!|^R. (Final|Stat)')" \
    '1 R1 Final-Recipient: rfc822; a@x.example@R1 Status: 5.0.0@R2 Final-Recipient: rfc822; b@x.example@R2 Status: 4.4.7@'
ok 'a message with a failure that was told gets its last DSN' told_of 211-1 20
report "$po" 211-1
is 'the last DSN leaves out the failure that was told before' \
    "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; b@x.example@'
sched_stop

# What has failed is told in time, though its message had to leave core.
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
ok 'a message with an untold failure is evicted' wait_log 'evict msg=215-1' 20
is 'a message is evicted before its failure is told' "$(ids 215-1)" 0
report "$po" 215-1
is 'the failure of an evicted message is told in time' "$(got '^!|^R. Final')" \
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
simple "$po" 218-1 anna@a.example <<END
r           wait h b@x.example 0
d b@x.example|delayed|4.4.1|||late
END
ok 'the scheduler starts with diagnostic lines in control files' \
    sched_start "$po" "$tmp/cf"
wait_log 'delivered msg=218-1 .*channel=dsn host=delay'
wait_log 'deferred msg=217-1'
sched_stop
like 'a delay that the control file has untold is told' \
    "$(lines 'msg=218-1 .*channel=dsn')" 'host=delay '
is 'no agent looks for delays where there are failures alone' \
    "$(count 'msg=217-1 .*host=delay')" 0

# ---- limits ---------------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
config 'PARAMbouncelimit 4s' >"$tmp/cf"
for n in 1 2 3 4 5; do
	simple "$po" 22$n-1 anna@a.example <<END
r-          fail h u$n@x.example 0
d u$n@x.example|failed|5.1.1|||no $n
END
done
simple "$po" 226-1 bert@b.example <<END
r-          fail h u6@x.example 0
d u6@x.example|failed|5.1.1|||no 6
END
simple "$po" 227-1 anna@a.example <<END
r           fail h u7@x.example 0
END
ok 'the scheduler starts with PARAMbouncelimit' sched_start "$po" "$tmp/cf"
wait_for 40 po_empty "$po"
ok 'with PARAMbouncelimit all is told' po_empty "$po"
is 'with PARAMbouncelimit one sender gets two DSNs, another one' \
    "$(sed -n 's/.* channel=dsn .* to=\(.*\) rcpts=\(.*\) msgs=\([0-9]*\) .*/\1 \2 \3,/p' \
    "$tmp/sched.log" | sort | tr '\n' ' ')" \
    'anna@a.example 1 1, anna@a.example 5 5, bert@b.example 1 1, '
sum=$(dsns_of '[^ ]*' | sed -n 's/.* msgs=5 file=router\///p')
sh "$top/t/dsnread" "$po/router/$sum" >"$tmp/r" 2>&1
is 'a DSN of several messages returns none of them' "$(got '^!|^P|^M')" \
    'P text/plain message/delivery-status@M Reporting-MTA: dns; mx.here.example@'
is 'a DSN of several messages has the message of each recipient' \
    "$(grep -c '^R[0-9]* X-Original-Message-ID: <22[1-7]-1@test>$' "$tmp/r")" 5
like 'the text of a DSN of several messages names them' \
    "$(got '^T')" '@T   <22[1-7]-1@test>@T @T It was not'
sched_stop

# What only waits for its report is seen, and an operator can do without that.
rm -rf "$po"
spool_new "$po"
ask=$top/t/ask
config 'PARAMbouncelimit 1h' 'PARAMglobal-report-interval 0' >"$tmp/cf"
list() {
	POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" 2>&1 |
	    sed -e 's/  <.* old$//' -e '/^		next /d' -e '/ in router, /d'
}
simple "$po" 231-1 anna@a.example <<END
r           fail h a@x.example 0
END
ok 'the scheduler starts with a long PARAMbouncelimit' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
told_of 231-1
simple "$po" 232-1 anna@a.example <<END
r           fail h a@x.example 0
END
simple "$po" 233-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
wait_log 'failed msg=233-1' && wait_log 'deferred msg=233-1 .*channel=wait' &&
    wait_log 'deferred msg=232-1 .*channel=dsn' 20
like 'mailq lists a message that waits for its DSN' "$(list | tr '\n' '@')" \
    '(^|@)232-1[^@]*@	all of it is over, its report is yet to be sent@	dsn/failure  for the sender, 1 try: its sender is told when the pause is over@.*@2 messages, 1 recipient,'
like 'a message that waits for its DSN cannot be bounced' \
    "$("$ask" order "$po" bounce 232-1 2>&1)" \
    '^no all of 232-1 is over'
is 'a message that waits for its DSN can be deleted' \
    "$("$ask" order "$po" delete 232-1)" \
    'ok its report is deleted'
ok 'a message whose DSN is deleted leaves no file' wait_for 20 eval \
    '[ ! -f "$po/transport/232-1" ] && [ ! -f "$po/queue/232-1" ]'
is 'a message with a failure is deleted' \
    "$("$ask" order "$po" delete 233-1)" 'ok 1 job deleted'
ok 'a message with a failure that is deleted still gets its DSN' \
    wait_log 'complete msg=233-1'
is 'mailq lists the DSN of the message that was deleted, nothing else' \
    "$(list | tr '\n' '@')" \
    '233-1@	all of it is over, its report is yet to be sent@	dsn/failure  for the sender, 1 try: its sender is told when the pause is over@1 message, 0 recipients, 1 destination; 0 held, 0 running, 1 waiting@'
config >"$tmp/cf"
sched_stop
ok 'the scheduler starts without PARAMbouncelimit' sched_start "$po" "$tmp/cf"
report "$po" 233-1
is 'the DSN of a deleted message tells its failure' "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; a@x.example@'
wait_for 20 po_empty "$po"
is 'a DSN that was deleted is not made' "$(ids 232-1)" 0
sched_stop

# What only waits for its report does not keep other mail out.
rm -rf "$po"
spool_new "$po"
config 'PARAMbouncelimit 1h' 'PARAMactive 2' >"$tmp/cf"
for n in 1 2 3 4 5; do
	simple "$po" 22$n-2 anna@a.example <<END
r           fail h u$n@x.example 0
END
done
ok 'the scheduler starts with little room and a long PARAMbouncelimit' \
    sched_start "$po" "$tmp/cf"
ok 'all messages are tried while DSNs wait for PARAMbouncelimit' \
    wait_for 30 eval '[ "$(count "failed msg=22")" -eq 5 ]'
simple "$po" 226-2 bert@b.example <<END
r           fail h u6@x.example 0
END
ok 'another sender is told while DSNs wait for PARAMbouncelimit' \
    wait_log 'msg=226-2 .*channel=dsn .* to=bert' 30
sched_stop
is 'four messages wait for PARAMbouncelimit' \
    "$(ls "$po/transport" | wc -l | tr -d ' ')" 4
config >"$tmp/cf"
ok 'the scheduler starts without PARAMbouncelimit' sched_start "$po" "$tmp/cf"
"$ask" order "$po" flush all >"$tmp/x"
ok 'messages that waited for PARAMbouncelimit go when flushed' \
    wait_for 30 po_empty "$po"
is 'each message that waited for PARAMbouncelimit is told once' \
    "$(count 'msg=22.-2 .*channel=dsn .* to=anna')" 4
is 'no message that waited for PARAMbouncelimit is tried again' \
    "$(count '^[^ ]* info failed')" 0
sched_stop

# Nor does what has recipients left, when its report waits for the limit.
rm -rf "$po"
spool_new "$po"
config 'PARAMbouncelimit 1h' 'PARAMactive 2' \
    'PARAMglobal-report-interval 1s' |
    sed 's/^wait.*reporttimes=none/& interval=5h/' >"$tmp/cf"
for n in 1 2 3 4 5; do
	simple "$po" 22$n-3 anna@a.example <<END
r           fail h u$n@x.example 0
r           wait h v$n@x.example 0
END
done
ok 'the scheduler starts with PARAMbouncelimit and recipients left' \
    sched_start "$po" "$tmp/cf"
ok 'all messages with recipients left are tried' wait_for 30 eval \
    '[ "$(count "failed msg=22.-3")" -eq 5 ]'
simple "$po" 226-3 bert@b.example <<END
r           fail h u6@x.example 0
END
ok 'another sender is told while recipients are left' \
    wait_log 'msg=226-3 .*channel=dsn .* to=bert' 30
is 'one failure is told at once, four wait for PARAMbouncelimit' \
    "$(count 'msg=22.-3 .*channel=dsn .* to=anna')" 1
is 'evicted mail comes in when the limit is over, not for its retry' \
    "$(lines 'evict msg=22.-3' |
    grep -v "$(sed -n 's/.* delivered \(msg=22.-3\) .* to=anna.*/\1/p' \
	"$tmp/sched.log") " | sed 's/.* for=\([0-9]*\) .*/\1/' |
    awk '{ n++ } $1 > 3602 { late++ } END { print (n > 1), late + 0 }')" '1 0'
sched_stop
config 'PARAMglobal-report-interval 1s' >"$tmp/cf"
ok 'the scheduler starts without PARAMbouncelimit' sched_start "$po" "$tmp/cf"
"$ask" order "$po" flush all >"$tmp/x"
ok 'failures that waited for PARAMbouncelimit are told when flushed' \
    wait_for 30 eval \
    '[ "$(count "msg=22.-3 .*channel=dsn .* to=anna")" -eq 4 ]'
sched_stop

# An agent dsn that hangs puts DSNs off, and no other mail.
rm -rf "$po"
spool_new "$po"
agent stuck <<'END'
echo '#hungry'
read -r line
[ -f "$1/unstuck" ] || while :; do sleep 1; done
printf '%s\n' "$line" | "$2" | grep -v '^#hungry'
exec "$2"
END
{
	config 'PARAMactive 3'
	echo "dsn/*	interval=1s retries=1 overfeed=3 timeout=1h"
	echo "	command=\"stuck $tmp $top/ta/dsn\""
	echo "good/*	command=\"$A -c good ok\""
} >"$tmp/cf"
for n in 1 2 3 4 5 6 7 8 9; do
	simple "$po" 24$n-1 anna@a.example <<END
r           fail h u$n@x.example 0
END
done
ok 'the scheduler starts with an agent dsn that hangs' \
    sched_start "$po" "$tmp/cf"
ok 'all messages are tried while the agent dsn hangs' \
    wait_for 30 eval '[ "$(count "failed msg=24")" -eq 9 ]'
simple "$po" 250-1 anna@a.example <<END
r           good h a@x.example 0
END
ok 'other mail is delivered while the agent dsn hangs' \
    wait_log 'delivered msg=250-1' 20
: >"$tmp/unstuck"
kill -9 "$(sed -n 's/.*agent-start pid=\([0-9]*\) channel=dsn .*/\1/p' \
    "$tmp/sched.log" | tail -n 1)"
ok 'messages evicted for an agent dsn that hangs are told in the end' \
    wait_for 40 po_empty "$po"
is 'each message evicted for an agent dsn that hangs is told once' \
    "$(count 'msg=24.-1 .*channel=dsn .* to=anna')" 9
is 'no message evicted for an agent dsn that hangs is tried again' \
    "$(count ' failed msg=24')" 9
sched_stop

finish
