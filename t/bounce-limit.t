#!/bin/sh
# DSNs that wait for PARAMbouncelimit, or for an agent dsn that hangs.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
A=$top/t/agent

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
failing "$po" 227-1 anna@a.example u7
ok 'the scheduler starts with PARAMbouncelimit' sched_start "$po" "$tmp/cf"
wait_for 40 po_empty "$po"
ok 'with PARAMbouncelimit all DSNs are sent in the end' po_empty "$po"
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
    "$(got '^T')" '@T   <22[1-7]-1@test>@T @T It could not'
sched_stop

# mailq lists a message that waits for its DSN, and delete removes the DSN.
rm -rf "$po"
spool_new "$po"
ask=$top/t/ask
config 'PARAMbouncelimit 1h' 'PARAMglobal-report-interval 0' >"$tmp/cf"
list() {
	POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" 2>&1 |
	    sed -e 's/  <.* old$//' -e '/^		next /d' -e '/ in router, /d'
}
failing "$po" 231-1 anna@a.example a
ok 'the scheduler starts with a long PARAMbouncelimit' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
dsn_of 231-1
failing "$po" 232-1 anna@a.example a
simple "$po" 233-1 anna@a.example <<END
r           fail h a@x.example 0
r           wait h b@x.example 0
END
wait_log 'failed msg=233-1' && wait_log 'deferred msg=233-1 .*channel=wait' &&
    wait_log 'deferred msg=232-1 .*channel=dsn' 20
like 'mailq lists a message that waits for its DSN' "$(list | tr '\n' '@')" \
    '(^|@)232-1[^@]*@	all recipients are done, a DSN is to be sent@	dsn/failure  for the sender, 1 try: the sender gets a DSN after the pause@.*@2 messages, 1 recipient,'
like 'a message that waits for its DSN cannot be bounced' \
    "$("$ask" order "$po" bounce 232-1 2>&1)" \
    '^no all recipients of 232-1 are done, its DSN is still to be sent$'
is 'a message that waits for its DSN can be deleted' \
    "$("$ask" order "$po" delete 232-1)" \
    'ok the DSN of 232-1 is deleted'
ok 'a message whose DSN is deleted leaves no file' wait_for 20 eval \
    '[ ! -f "$po/transport/232-1" ] && [ ! -f "$po/queue/232-1" ]'
is 'a message with a failure is deleted' \
    "$("$ask" order "$po" delete 233-1)" 'ok 1 job deleted'
ok 'a message with a failure that is deleted still gets its DSN' \
    wait_log 'complete msg=233-1'
wait_log 'deferred msg=233-1 .*channel=dsn' 20
is 'mailq lists the DSN of the message that was deleted, nothing else' \
    "$(list | tr '\n' '@')" \
    '233-1@	all recipients are done, a DSN is to be sent@	dsn/failure  for the sender, 1 try: the sender gets a DSN after the pause@		on a@x.example: no such user@1 message, 0 recipients, 1 destination; 0 held, 0 running, 1 waiting@'
config >"$tmp/cf"
sched_stop
ok 'the scheduler starts without PARAMbouncelimit' sched_start "$po" "$tmp/cf"
report "$po" 233-1
is 'the DSN of a deleted message names its failure' "$(got '^!|^R. Final')" \
    'R1 Final-Recipient: rfc822; a@x.example@'
wait_for 20 po_empty "$po"
is 'a DSN that was deleted is not made' "$(ids 232-1)" 0
sched_stop

# A message that waits for its DSN does not keep other mail out.
rm -rf "$po"
spool_new "$po"
config 'PARAMbouncelimit 1h' 'PARAMactive 2' >"$tmp/cf"
for n in 1 2 3 4 5; do
	failing "$po" 22$n-2 anna@a.example u$n
done
ok 'the scheduler starts with little room and a long PARAMbouncelimit' \
    sched_start "$po" "$tmp/cf"
ok 'all messages are tried while DSNs wait for PARAMbouncelimit' \
    wait_for 30 eval '[ "$(count "failed msg=22")" -eq 5 ]'
failing "$po" 226-2 bert@b.example u6
ok 'another sender gets a DSN while others wait for PARAMbouncelimit' \
    wait_log 'msg=226-2 .*channel=dsn .* to=bert' 30
sched_stop
is 'four messages wait for PARAMbouncelimit' \
    "$(ls "$po/transport" | wc -l | tr -d ' ')" 4
config >"$tmp/cf"
ok 'the scheduler starts without PARAMbouncelimit' sched_start "$po" "$tmp/cf"
"$ask" order "$po" flush all >"$tmp/x"
ok 'messages that waited for PARAMbouncelimit go when flushed' \
    wait_for 30 po_empty "$po"
sched_stop		# the last line of the log follows the last file
is 'each message that waited for PARAMbouncelimit gets one DSN' \
    "$(count 'msg=22.-2 .*channel=dsn .* to=anna')" 4
is 'no message that waited for PARAMbouncelimit is tried again' \
    "$(count '^[^ ]* info failed')" 0

# Nor does what has recipients left, when its DSN waits for the limit.
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
failing "$po" 226-3 bert@b.example u6
ok 'another sender gets a DSN while recipients are left' \
    wait_log 'msg=226-3 .*channel=dsn .* to=bert' 30
is 'one DSN is sent at once, four wait for PARAMbouncelimit' \
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
ok 'DSNs that waited for PARAMbouncelimit are sent when flushed' \
    wait_for 30 eval \
    '[ "$(count "msg=22.-3 .*channel=dsn .* to=anna")" -eq 4 ]'
sched_stop

# An agent dsn that hangs delays DSNs, and no other mail.
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
	failing "$po" 24$n-1 anna@a.example u$n
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
ok 'DSNs of messages evicted for an agent dsn that hangs are sent' \
    wait_for 40 po_empty "$po"
wait_for 20 eval '[ "$(count "msg=24.-1 .*channel=dsn .* to=anna")" -ge 9 ]'
is 'each message evicted for an agent dsn that hangs gets one DSN' \
    "$(count 'msg=24.-1 .*channel=dsn .* to=anna')" 9
is 'no message evicted for an agent dsn that hangs is tried again' \
    "$(count ' failed msg=24')" 9
sched_stop

finish
