#!/bin/sh
# Tags that cannot be written for a while: what is delivered meanwhile is not
# delivered again, and nothing stays behind in core.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
MONO=$tmp/mono
export MONO
mono=0
pass_by() {	# seconds
	steps=$(($(count clock-step) + 1))
	mono=$((mono + $1))
	set_clock "$MONO" $mono
	wait_for 60 eval '[ "$(count clock-step)" -ge "$steps" ]'
}

# ---- a vertex that is done, and its message evicted --------------------------

spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=1h expiry=30d
gate/*	command="$A -c gate -u -s $tmp/said -w $tmp/free"
later/*	command="$A -c later deferred not now"
fine/*	command="$A -c fine"
END
: >"$tmp/said"
put "$po" 101-1 gate a u later b u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=101-1' 20
wait_for 20 grep '101-1' "$tmp/said"
mv "$po/transport/101-1" "$tmp/kept"
: >"$tmp/free"
ok 'the tag of a delivered recipient cannot be written' \
    wait_log 'err tag msg=101-1' 20
mv "$tmp/kept" "$po/transport/101-1"
pass_by 61
ok 'it is written when a minute has passed' \
    wait_for 20 grep '^r+.* gate ' "$po/transport/101-1"
put "$po" 102-1 fine h u
ok 'its message is evicted for another one' wait_log 'evict msg=101-1' 20
wait_log 'complete msg=102-1' 20
like 'a command has it loaded again' "$("$ask" order "$po" flush 101-1)" '^ok '
ok 'and it is tried again' \
    wait_for 20 eval '[ "$(count "deferred msg=101-1")" -eq 2 ]'
sched_stop
finish
