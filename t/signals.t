#!/bin/sh
# Reload, and the ways to end.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
gate=$tmp/gate
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=1d
test/*	command="$A -c test -o $tmp/out deferred old clause"
gate/*	command="$A -c gate -w $gate -o $tmp/gated -s $tmp/said" overfeed=5
END
spool_new "$po"

# ---- reload ------------------------------------------------------------------

put "$po" 101-1 test h user
put "$po" 102-1 gate h user
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=101-1 .*old clause'
wait_for 30 grep '^<102-1' "$tmp/said"
cp "$tmp/cf" "$tmp/good"
printf 'test/*\tinterval=oops\n\tcommand="x" bogus=1\n' >"$tmp/cf"
kill -HUP $sched_pid
ok 'a reload with errors is refused' wait_log 'reload .*has errors'
is 'a reload says all errors' \
    "$(lines "config $tmp/cf:[12]: " | wc -l | tr -d ' ')" 2
put "$po" 103-1 test h2 user
ok 'after a reload with errors the old configuration is in force' \
    wait_log 'deferred msg=103-1 .*old clause'
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=2s retries=1 expiry=1d
test/*	command="$A -c test -o $tmp/out"
gate/*	command="$A -c gate -o $tmp/gated"
END
kill -USR1 $sched_pid
ok 'USR1 reloads too' wait_log 'reload .*done'
ok 'a deferred message goes by the new clause' wait_log 'complete msg=101-1' 20
ok 'a second deferred message goes by the new clause' \
    wait_log 'complete msg=103-1' 20
is 'deferred messages go by the new clause once' \
    "$(sort "$tmp/out" | cut -d' ' -f1 | tr '\n' ' ')" '101-1 103-1 '
put "$po" 104-1 gate h user
put "$po" 105-1 gate h3 user
ok 'new agents run the new command' wait_log 'complete msg=105-1' 20
: >"$gate"
ok 'a job begun under the old one ends well' wait_log 'complete msg=102-1'
ok 'an agent of the old clause leaves' wait_log 'agent-end .*channel=gate'
ok 'the thread of an agent that left goes on' \
    wait_log 'complete msg=104-1' 20
is 'a reload has nothing delivered twice' \
    "$(cut -d' ' -f1 "$tmp/gated" | sort | uniq -d)" ''
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- nothing is left open by it ---------------------------------------------------

if [ -d /proc/self/fd ]; then
	sched_start "$po" "$tmp/cf"
	fds() {
		ls "/proc/$sched_pid/fd" | wc -l | tr -d ' '
	}
	reloads() {	# how many there were
		for i in 1 2 3 4 5; do
			kill -HUP $sched_pid
			wait_for 30 eval '[ "$(count "reload .*done")" -ge '"$(($1 + i))"' ]'
		done
	}
	reloads 0
	before=$(fds)
	reloads 5
	is 'reloads leave no descriptor open' "$(fds)" "$before"
	sched_stop
else
	skip 'reloads leave no descriptor open' 'no /proc'
fi

# ---- TERM ---------------------------------------------------------------------

rm -f "$gate" "$tmp/gated" "$tmp/said"
cp "$tmp/good" "$tmp/cf"
put "$po" 201-1 gate a user
put "$po" 202-1 gate b user
put "$po" 203-1 gate b user
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -S
wait_for 30 eval '[ "$(grep -c "^<20" "$tmp/said")" -ge 2 ]'
kill -TERM $sched_pid
ok 'TERM is logged with the number of agents' wait_log ' ending agents=2'
put "$po" 204-1 gate c user
: >"$gate"
wait $sched_pid
is 'agents finish their jobs after TERM, the exit code is 0' $? 0
is 'mail that agents had at TERM is delivered' \
    "$(cut -d' ' -f1 "$tmp/gated" | sort | tr '\n' ' ')" \
    '201-1 202-1 203-1 '
ok 'mail that comes after TERM stays for the next start' \
    [ -f "$po/transport/204-1" ]
ok 'the pid file goes at the end' [ ! -f "$po/.pid.scheduler" ]

rm -f "$gate" "$tmp/said"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 30 grep '^<204-1' "$tmp/said"
kill -TERM $sched_pid
wait_log ' ending agents=1'
pid=$(lines agent-start | tail -n 1 | sed 's/.*pid=\([0-9]*\).*/\1/')
kill -TERM $sched_pid
wait $sched_pid
is 'a second TERM ends the scheduler at once' $? 0
ok 'a second TERM ends the agent' wait_for 30 gone "$pid"
: >"$gate"
ok 'a second TERM leaves unfinished mail in the queue' \
    [ -f "$po/transport/204-1" ]
ok 'the scheduler starts after a second TERM' sched_start "$po" "$tmp/cf"
ok 'unfinished mail is delivered after the next start' \
    wait_log 'complete msg=204-1'
sched_stop INT
is 'INT ends the scheduler, too' $sched_rc 0
is 'no message is delivered twice after two TERMs' \
    "$(cut -d' ' -f1 "$tmp/gated" | sort | uniq -d)" ''

# ---- an agent that does not come to an end ------------------------------------------

rm -f "$gate" "$tmp/said"
put "$po" 211-1 gate a user
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 30 grep '^<211-1' "$tmp/said"
pid=$(lines agent-start | tail -n 1 | sed 's/.*pid=\([0-9]*\).*/\1/')
sched_stop		# waits for its end, which takes all its patience
is 'one TERM ends the scheduler within its time limit' $sched_rc 0
ok 'the end of the scheduler ends an agent' wait_for 30 gone "$pid"
like 'an agent that the scheduler ends was not silent' "$(lines agent-lost)" \
    ' it had to be ended'
ok 'mail of an ended agent stays in the queue' [ -f "$po/transport/211-1" ]
rm -f "$po/transport/211-1" "$po/queue/211-1"

# ---- the hard way ------------------------------------------------------------------

rm -f "$gate" "$tmp/gated" "$tmp/said"
put "$po" 301-1 gate a user gate a user2
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 30 grep '^<301-1' "$tmp/said"
kill -KILL $sched_pid
wait $sched_pid
: >"$gate"
pid=$(lines agent-start | tail -n 1 | sed 's/.*pid=\([0-9]*\).*/\1/')
ok 'agents leave when the scheduler is gone' wait_for 30 gone "$pid"
ok 'the scheduler starts after a crash' sched_start "$po" "$tmp/cf"
ok 'a start after a crash finds everything' wait_for 20 po_empty "$po"
is 'a start after a crash delivers each recipient once' \
    "$(sort "$tmp/gated" | cut -d' ' -f1,2 | uniq -d)" ''
sched_stop
finish
