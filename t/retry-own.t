#!/bin/sh
# Each vertex waits for its own next try, whatever else comes for its host.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/words.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
po=$tmp/po
MONO=$tmp/mono
export MONO

mono=0
pass_by() {	# seconds, for the scheduler
	mono=$((mono + $1))
	set_clock "$MONO" $mono
}

spool_new "$po"
: >"$tmp/tried"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1s retries="1 1 1 1" expiry=30d skew=1000000
far/*	interval=1s retries="1 5000 5000 5000" command="words $tmp"
test/*	command="words $tmp"
both/*	cohorts=50 retries=5000 command="words $tmp"
turn/*	queueonly command="words $tmp"
run/*	interval=1000s retries=0 maxthr=2 command="words $tmp"
END
put "$po" 101-1 test h at3600
put "$po" 102-1 test h full
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'a deferred job is tried by its retry list' wait_for 30 often 6 102-1
is 'mail with a retryat for the same host is not tried' "$(tried 101-1)" 1
like 'the log has the time of a retryat' \
    "$(lines 'deferred msg=101-1')" ' next=(3600|35[0-9][0-9]) '

# A place in the retry list is used up by the vertex's own tries alone.
put "$po" 111-1 far h full
ok 'a job is tried a second time by its retry list' wait_for 30 often 2 111-1
n=0
while [ $n -lt 20 ]; do
	n=$((n + 1))
	put "$po" 12$n-1 far h fine
	notice "$po" 12$n-1
	wait_log "complete msg=12$n-1" 20
done
is 'new mail for the host starts no third try of a deferred job' \
    "$(tried 111-1)" 2
is 'new mail for the host was delivered' "$(count 'complete msg=12')" 20

# The latest time of a run counts for all of it.
put "$po" 131-1 test other at100 test other at2000 test other full
ok 'a job with two retryats and a deferral is deferred' \
    wait_log 'deferred msg=131-1' 20
like 'a job with several retryats waits until the latest' \
    "$(lines 'deferred msg=131-1')" ' next=(2000|19[0-9][0-9]) '
put "$po" 141-1 test third at100
ok 'a job with a retryat of 100 seconds is deferred' \
    wait_log 'deferred msg=141-1' 20
have=$(tried 102-1)
pass_by 90
wait_for 20 often $((have + 1)) 102-1
is 'a job is not tried before its retryat' "$(tried 141-1)" 1
pass_by 11
ok 'a job is tried when its retryat has come' wait_for 20 often 2 141-1
is 'a job with a later retryat is not tried' \
    "$(grep -c '^131-1 full' "$tmp/tried")" 1

# So it is beside a deferral for the host's sake, when the host answers.
put "$po" 145-1 both h at3600 both h conn
ok 'a job with a retryat and a lost connection is deferred' \
    wait_log 'deferred msg=145-1' 20
pass_by 5
put "$po" 146-1 both h fine
ok 'a dead host answers' wait_log 'complete msg=146-1' 20
pass_by 5
put "$po" 147-1 both h fine
wait_log 'complete msg=147-1' 20
is 'a retryat counts though its host answers again' \
    "$(grep -c '^145-1 at' "$tmp/tried")" 1

# What an operator wants happens at once.
put "$po" 148-1 test held.h at3600
wait_log 'deferred msg=148-1' 20
for verb in hold release; do
	POSTOFFICE=$po "$top/mailq" $verb 'test/held.h' >"$tmp/$verb" 2>&1
done
ok 'a release of an address tries its mail' wait_for 20 often 2 148-1
POSTOFFICE=$po "$top/mailq" flush 101-1 >"$tmp/flushed" 2>&1
ok 'a flush tries a job with a retryat at once' wait_for 20 often 2 101-1
printf 'T other\n' >"$po/transport/.900-1"
mv "$po/transport/.900-1" "$po/transport/900-1"
new_stamp "$po/transport"
ok 'a T line tries all mail of its host' \
    wait_for 20 eval '[ "$(grep -c "^131-1 full" "$tmp/tried")" -ge 2 ]'
put "$po" 149-1 test busy at3600
wait_log 'deferred msg=149-1' 20
pass_by 2
: >"$tmp/slow"
put "$po" 150-1 test busy at7200 test busy slow
ok 'an agent is at work for the host of a deferred job' \
    wait_for 20 grep '^150-1 slow' "$tmp/tried"
printf 'T busy\n' | put_raw "$po" 902-1
ok 'a T line comes while an agent is at work for its host' \
    wait_log 'trigger host=busy' 20
rm "$tmp/slow"
ok 'a T line tries what was deferred before the run at work' \
    wait_for 20 often 2 149-1
kill -HUP "$sched_pid"
ok 'a reload with retryats is logged' wait_log 'reload' 20
have=$(tried 102-1)
wait_for 20 often $((have + 2)) 102-1
is 'a reload leaves a retryat as it is' "$(tried 101-1)" 2

# What a run defers it is not given again; the run is that of all its agents.
: >"$tmp/slow"
put "$po" 162-1 run r.host slow
ok 'a run begins' wait_for 20 grep '^162-1 slow' "$tmp/tried"
put "$po" 163-1 run r.host full
wait_log 'deferred msg=163-1' 20
pass_by 5
put "$po" 164-1 run r.host fine
ok 'the run goes on with other mail' wait_log 'complete msg=164-1' 20
is 'a job that is due is not given again to the run that deferred it' \
    "$(tried 163-1)" 1
like 'mailq shows that it waits for an interval at most' \
    "$(POSTOFFICE=$po "$top/mailq" 2>&1 | tr '\n' ' ')" \
    '163-1 .*box is full 		next [^ ]* \(in 1[56]m[0-9]+s\), exp'
rm "$tmp/slow"
ok 'a job that is due is tried again after the run' wait_for 20 often 2 163-1
wait_log 'complete msg=162-1' 20
: >"$tmp/slow"
put "$po" 165-1 run r.host slow
wait_for 20 grep '^165-1 slow' "$tmp/tried"
put "$po" 166-1 run r.host full
wait_log 'deferred msg=166-1' 20
pass_by 1001
ok 'a run without an end delays a job for an interval at most' \
    wait_for 20 often 2 166-1
is 'the run has not ended meanwhile' "$(count 'complete msg=165-1')" 0
rm "$tmp/slow"

# Without a T line a queueonly job waits.
put "$po" 151-1 turn q.host full
wait_log 'load msg=151-1' 20
printf 'T q.host\n' >"$po/transport/.901-1"
mv "$po/transport/.901-1" "$po/transport/901-1"
new_stamp "$po/transport"
ok 'a queueonly job is deferred after a T line' wait_log 'deferred msg=151-1' 20
like 'the log says that a queueonly job waits for a T line' \
    "$(lines 'deferred msg=151-1')" \
    ' next=queueonly '
put "$po" 152-1 turn down.host down
wait_log 'load msg=152-1' 20
printf 'T down.host\n' | put_raw "$po" 903-1
ok 'a queueonly job is deferred with its host after a T line' \
    wait_log 'deferred msg=152-1' 20
like 'the log says that a queueonly job of a dead host waits for a T line' \
    "$(lines 'deferred msg=152-1')" ' next=queueonly '

# Old files that are new to us begin at the beginning.
old=$(date -d '3 hours ago' +%Y%m%d%H%M.%S 2>/dev/null)
put "$po" .161-1 far old full
touch -t "${old:-200001010000}" "$po/queue/.161-1"
mv "$po/queue/.161-1" "$po/queue/161-1"
sed 's/^i .*/i 161-1/' "$po/transport/.161-1" >"$po/transport/.x"
mv "$po/transport/.x" "$po/transport/161-1"
new_stamp "$po/transport"
rm -f "$po/transport/.161-1"
ok 'a message with an old file is deferred' wait_log 'deferred msg=161-1' 20
like 'a new message with an old file starts at the first interval' \
    "$(lines 'deferred msg=161-1' | head -n 1)" ' next=[12] '
sched_stop
if [ -n "$old" ]; then
	ok 'the scheduler starts again' sched_start "$po" "$tmp/cf"
	ok 'a message is tried after a restart' wait_log 'deferred msg=161-1' 20
	like 'mail found by a restart has the place of its age' \
	    "$(lines 'deferred msg=161-1')" ' next=(49[0-9][0-9]|50[0-9][0-9]) '
	sched_stop
else
	skip 'mail found by a restart has the place of its age' 'date -d'
fi
is 'the scheduler ends well' $sched_rc 0

# A message that leaves core comes back at the latest retryat within an hour.
rm -rf "$po"
spool_new "$po"
: >"$tmp/tried"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
PARAMdsn="-x '*'"
*/*	interval=40s retries=1 expiry=30d skew=1000000
test/*	command="words $tmp"
END
put "$po" 201-1 test h1 full test h2 at3600
ok 'a start with room for one message' sched_start "$po" "$tmp/cf"
ok 'one host of a message has a retryat' \
    wait_for 20 eval '[ "$(count "deferred msg=201-1")" -ge 2 ]'
put "$po" 202-1 test h3 full
notice "$po" 202-1
ok 'a message with a retryat is evicted' wait_log 'evict msg=201-1' 20
wait_log 'deferred msg=202-1' 20
pass_by 45
ok 'the other message is tried again' wait_for 20 often 2 202-1
is 'a retryat counts in a full core' "$(grep -c '^201-1 at' "$tmp/tried")" 1
pass_by 3560
ok 'both hosts of a message are tried again when its retryat has come' \
    wait_for 20 eval '[ "$(grep -c "^201-1 full" "$tmp/tried")" -ge 2 ] &&
    [ "$(grep -c "^201-1 at" "$tmp/tried")" -ge 2 ]'
sched_stop
finish
