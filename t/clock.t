#!/bin/sh
# A wall clock that is wrong or is set expires nothing and delays nothing.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
po=$tmp/po
WALL=$tmp/wall
export WALL
conf "$tmp/cf" <<END
test/*	interval=2s retries=1 expiry=2d expiry2=1d skew=1000
	command="$A -c test -f $tmp/go -o $tmp/out"
END
tried() {	# times
	[ "$(count 'deferred msg=101-1')" -ge "$1" ]
}
spool_new "$po"
put "$po" 101-1 test h user

# No clock chip: it is 1970, and the files are from the future.
echo $((0 - $(date +%s) + 100)) >"$WALL"
ok 'start in 1970' sched_start "$po" "$tmp/cf"
ok '... mail is tried, and again' wait_for 20 tried 2
n=$(count 'deferred msg=101-1')
echo 0 >"$WALL"
ok 'the clock is set to today: that is logged' wait_log 'clock-step by=1[0-9]{9}' 20
ok '... mail goes on being tried' wait_for 20 tried $((n + 2))
is '... nothing expired' "$(count expire)" 0
n=$(count 'deferred msg=101-1')
echo -400000000 >"$WALL"
ok 'the clock goes back years' wait_log 'clock-step by=-' 20
ok '... mail goes on being tried' wait_for 20 tried $((n + 2))
is '... nothing expired' "$(count expire)" 0
: >"$tmp/go"
ok '... and is delivered' wait_log 'complete msg=101-1' 20
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
