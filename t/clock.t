#!/bin/sh
# Clocks that are wrong, are set, or go on while the machine sleeps: nothing
# expires, nothing stops, nothing spins.
#
# With CLOCK=1 also a scheduler whose time_t has 32 bits, if that can be built.
# Takes long.
. "${0%/*}/lib.sh"

own_clocks
A=$top/t/agent
po=$tmp/po
began=$(date +%s)
conf "$tmp/cf" <<END
test/*	interval=1s retries=1 expiry=2d expiry2=1d skew=1000
	command="$A -c test -f $tmp/go -o $tmp/out"
new/*	expiry=0 command="$A -c new -o $tmp/out"
END
tried() {	# times
	[ "$(count 'deferred msg=101-1')" -ge "$1" ]
}
spool_new "$po"
put "$po" 101-1 test h user

# No clock chip: it is 1970, and the files are from the future.
set_clock "$WALL" $((0 - $(date +%s) + 100))
ok 'the scheduler starts in 1970' sched_start "$po" "$tmp/cf"
ok 'mail is tried twice in 1970' wait_for 20 tried 2
nok 'a second scheduler does not start in 1970' \
    "$SCHEDULER" -i -P "$po" -f "$tmp/cf"
is 'a scheduler that does not start does not count as a start' \
    "$(cat "$po/.starts")" 1
n=$(count 'deferred msg=101-1')
set_clock "$WALL" 0
ok 'a clock that is set to today is logged' \
    wait_log 'clock-step by=1[0-9]{9}' 20
ok 'mail is tried again when the clock is set to today' \
    wait_for 20 tried $((n + 1))
is 'nothing expires when the clock is set to today' "$(count expire)" 0
n=$(count 'deferred msg=101-1')
set_clock "$WALL" -400000000
ok 'a clock that goes back years is logged' wait_log 'clock-step by=-' 20
ok 'mail is tried again when the clock goes back years' \
    wait_for 20 tried $((n + 1))
is 'nothing expires when the clock goes back years' "$(count expire)" 0

# The same for each of these: set, tried again, and new mail is seen.
new=200
goes_on() {	# title
	n=$(count 'deferred msg=101-1')
	new=$((new + 1))
	put "$po" $new-1 new h user	# its file is of today
	ok "$1: mail is tried again" wait_for 20 tried $((n + 1))
	ok "$1: new mail is delivered" wait_log "complete msg=$new-1" 20
	is "$1: nothing expires" "$(count expire)" 0
}
set_clock "$WALL" -400086400
goes_on 'a clock that goes back a day'
day=86400
set_clock "$WALL" $((49 * day))
goes_on 'a clock that goes forward 49 days'
set_clock "$WALL" $((98 * day))
set_clock "$MONO" $((49 * day))
ok 'a sleep of 49 days is logged' wait_log 'clock-sleep by=42336' 20
goes_on 'a sleep of 49 days'
set_clock "$MONO" $((98 * day + 49 * day))
goes_on 'a sleep that the wall clock did not notice'
set_clock "$WALL" $((2147483647 - $(date +%s) - 2))
goes_on 'the end of 32-bit time'
: >"$tmp/go"
ok 'mail is delivered at the end of 32-bit time' \
    wait_log 'complete msg=101-1' 20
sched_stop
is 'the scheduler ends well' $sched_rc 0
passes() {
	tr -d ' ' <"$PASSES"
}
ok 'the scheduler does not spin with any of these clocks' \
    [ "$(passes)" -lt $((100 * ($(date +%s) - began + 1))) ]
rm -f "$tmp/go" "$MONO"
set_clock "$WALL" $((2147483647 - $(date +%s) + 1000000))
put "$po" 301-1 test h user
touch -t 204001010000 "$po/queue/301-1" 2>/dev/null
ok 'the scheduler starts behind the end of 32-bit time' \
    sched_start "$po" "$tmp/cf"
: >"$tmp/go"
ok 'mail is delivered behind the end of 32-bit time' \
    wait_log 'complete msg=301-1' 20
sched_stop

# Mail that came in before the clock was set, and a start after that.
rm -rf "$po" "$tmp/go" "$tmp/out"
spool_new "$po"
put "$po" 102-1 test h user
put "$po" 103-1 test h user
touch -t 197001020000 "$po/queue/102-1" "$po/transport/102-1"
touch -t 201001020000 "$po/queue/103-1"
set_clock "$WALL" 0
ok 'the scheduler starts with mail of 1970' sched_start "$po" "$tmp/cf"
stays() {
	[ "$(count 'deferred msg=102-1')" -ge 2 ] &&
	    [ "$(count 'deferred msg=103-1')" -ge 2 ]
}
ok 'mail of 1970 is tried twice' wait_for 20 stays
is 'mail of 1970 has an age of 0' \
    "$(lines 'load msg=' | sed 's/.* age=\([0-9]*\).*/\1/' | sort -u)" 0
is 'mail of 1970 does not expire' "$(count expire)" 0
: >"$tmp/go"
ok 'mail of 1970 is delivered' wait_for 20 po_empty "$po"
sched_stop

# ---- evicted by one clock, come in by another ------------------------------------------

# A clock that was ahead when all was called in from disk, and was set right.
rm -rf "$po" "$tmp/go" "$tmp/out" "$MONO"
spool_new "$po"
conf "$tmp/cf2" <<END
PARAMmailqsock none
PARAMactive 4
test/*	interval=1h expiry=2d skew=1000
	command="$A -c test -n 4.4.1 -f $tmp/go -o $tmp/out"
fine/*	command="$A -c fine -o $tmp/out"
END
set_clock "$WALL" 7200
"$top/t/mkspool" -h 1 -f 201 "$po" 12
ok 'the scheduler starts with a clock that is ahead' \
    sched_start "$po" "$tmp/cf2"
wait_for 30 eval '[ "$(count "evict msg=")" -ge 8 ]'
"$top/t/ask" order "$po" flush all >"$tmp/answer"
set_clock "$WALL" 0
wait_log 'clock-step by=-' 20
# A clock ahead of the disk's takes what it sees first for long settled: what
# comes in the same second would wait for the next.
second=$(date +%s)
wait_for 30 eval '[ "$(date +%s)" -gt "$second" ]'
late=
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 30$n-1 fine h u
	wait_log "complete msg=30$n-1" 20 || late="$late $n"
	[ $n -ne 4 ] || loads=$(count 'load msg=2')
done
is 'new mail comes in at once when the clock is set right' "$late" ''
ok 'evicted mail stays on disk when the clock is set right' \
    [ $(($(count 'load msg=2') - loads)) -le 8 ]

# The disk is of another machine, whose clock is ahead of ours: the time of a
# next try by our clock is long over by its own.
set_clock "$WALL" -7200
wait_log 'clock-step by=-7' 20
"$top/t/mkspool" -h 1 -n late -f 401 "$po" 4
put "$po" 309-1 fine h u
ok 'new mail is delivered from a disk whose clock is ahead' \
    wait_log 'complete msg=309-1' 20
: >"$tmp/go"
"$top/t/ask" order "$po" flush all >"$tmp/answer"
ok 'evicted mail is delivered from a disk whose clock is ahead' \
    wait_for 60 po_empty "$po"
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- a time_t of 32 bits -------------------------------------------------------------

if [ -z "$CLOCK" ]; then
	finish
fi
cp -R "$top" "$tmp/tree"
if ! (cd "$tmp/tree" && make clean && make CC="${CC:-cc} -m32" CFLAGS=-O \
    t/clocksched) >"$tmp/m32.out" 2>&1; then
	skip 'a time_t of 32 bits' 'it cannot be built'
	finish
fi
SCHEDULER=$tmp/tree/t/clocksched
rm -rf "$po" "$tmp/go" "$tmp/out" "$PASSES"
began=$(date +%s)
spool_new "$po"
put "$po" 101-1 test h user
set_clock "$WALL" 0
ok '32 bits: the scheduler starts' sched_start "$po" "$tmp/cf"
ok '32 bits: mail is tried twice' wait_for 20 tried 2
set_clock "$WALL" $((2147483647 - $(date +%s) - 1))
ok '32 bits: a clock that goes round to 1901 is logged' \
    wait_log 'clock-step by=-2000000000' 20
goes_on '32 bits, a clock that goes round to 1901'
sched_stop
ok '32 bits: the scheduler starts in 1901' sched_start "$po" "$tmp/cf"
goes_on '32 bits, a start in 1901'
: >"$tmp/go"
ok '32 bits: mail is delivered in 1901' wait_log 'complete msg=101-1' 20
sched_stop
is '32 bits: the scheduler ends well' $sched_rc 0
ok '32 bits: the scheduler does not spin' \
    [ "$(passes)" -lt $((100 * ($(date +%s) - began + 1))) ]

finish
