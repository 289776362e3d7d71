#!/bin/sh
# Holds that must not be lost, and commands on more than a few messages.
. "${0%/*}/lib.sh"

ask=$top/t/ask
A=$top/t/agent
po=$tmp/po
pipe=$po/public/.mailq.text
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=500s
fine/*	command="$A -c fine -o $tmp/out ok3"
two/*	maxring=1 command="$A -c two -o $tmp/two -s $tmp/said retryat +8 one"
park/*	queueonly command="$A -c park ok3"
late/*	command="late"
END
agent late <<END
while [ ! -e $tmp/go ]; do sleep 1; done
exec $A -c late -o $tmp/late ok3
END
start() {
	sched_start "$po" "$tmp/cf" -q "$pipe" "$@"
}
order() {	# verb what: sets said
	said=$("$ask" order "$po" "$1" "$2" 2>&1)
}
fact() {	# message field: of its first job
	"$ask" pipe "$pipe" 2>/dev/null | awk -F'\t' -v name="$1" -v n="$2" \
	    '/^m/ { here = $2 == name } here && /^v/ { print $n; exit }'
}
is_fact() {	# message field value
	[ "$(fact "$1" "$2")" = "$3" ]
}

# ---- a hold while the spool is still being read -----------------------------

cat >"$tmp/slow" <<END
PARAMmailqsock none
late/*	interval=1h command="$A -c late deferred no"
END
for n in 101 102 103 104 105; do
	put "$po" $n-1 late h$n user
done
# one file in a second
ok 'a scheduler that reads slowly starts' sched_start "$po" "$tmp/slow" -E 1,1
wait_log 'load msg='
early=$(lines 'load msg=' | sed -n '1s/.*load msg=\([^ ]*\) .*/\1/p')
order hold "$early"
is 'a message is held before the spool was read' "$(count 'loaded msgs=')" 0
ok 'the spool is read after a hold' wait_log 'loaded msgs=' 60
is 'a hold on a message in core is not lost when the spool was read' \
    "$(cat "$po/.mailq.holds")" "message $early"
order release "$early"
like 'a hold from before the spool was read can be released' "$said" '^ok'
sched_stop
rm -rf "$po"
spool_new "$po"

# ---- a message that is locked when the spool is read -----------------------

sleep 300 &
locker=$!
lib_pids="$lib_pids $locker"
printf 'message 201-1\nmessage 299-1\nmessage 298-1\n' >"$po/.mailq.holds"
# 298-1 may be in transport/M, which cannot be searched now, and not in L/M.
ln -s M "$po/transport/M"
put_raw "$po" 201-1 <<END
i 201-1
o 0
l <x@test>
s local - sender 0
r~$(printf %6d $locker)    fine h u 0
m

END
ok 'the scheduler starts with a message that is held and locked' start
wait_log 'loaded msgs='
kill $locker
wait $locker 2>/dev/null
lib_forget $locker
is 'the hold of a locked message stays, that of one that is gone does not' \
    "$(grep -v 298 "$po/.mailq.holds")" 'message 201-1'
is 'the hold of a message stays if one of its directories cannot be searched' \
    "$(grep 298 "$po/.mailq.holds")" 'message 298-1'
rm "$po/transport/M"
ok 'a hold on a message that is gone is logged' \
    logged 'holds msg=299-1 is not in the spool'
put "$po" 202-1 fine h u
ok 'other mail goes beside a locked message' wait_log 'complete msg=202-1'
sched_stop
ok 'the scheduler starts again' start
ok 'the message is loaded when its lock is gone' wait_log 'load msg=201-1'
is 'a message that was locked at the start is held' "$(fact 201-1 3)" held
order release 201-1
is 'a message that was locked at the start is released' \
    "$said" 'ok 1 hold released'
ok 'a message that was released goes' wait_log 'complete msg=201-1'

# ---- patterns as long as can be ------------------------------------------------

long=$(awk 'BEGIN { printf "fine/"; for (i = 0; i < 990; i++) printf "x" }')
order hold "$long"
like 'a hold of a long pattern is answered' "$said" '^ok '
order hold "${long}xxxxxxxxxxxxxxx"
is 'a pattern that is too long is refused' "$said" 'no that pattern is too long'
sched_stop
ok 'the scheduler starts again with a long pattern' start
order release all
is 'a restart keeps a long pattern, and all are released' \
    "$said" 'ok 1 hold released'

# ---- a list of holds that cannot be written, or read ----------------------------

order hold 'fine/*'
order hold 'two/*'
rm -f "$po/.mailq.holds.new"
mkdir -p "$po/.mailq.holds.new/x"	# in the way of the new list
order release 'two/*'
like 'a release is refused when the list cannot be written' \
    "$said" '^no .*holds cannot be written'
put "$po" 203-1 two h u
ok 'a hold stays when the list cannot be written' \
    wait_for 30 is_fact 203-1 3 held
order hold 'park/*'
like 'no hold is made when the list cannot be written' \
    "$said" '^no .*cannot be written'
rm -rf "$po/.mailq.holds.new"
order release all
is 'holds are released when the list can be written again' \
    "$said" 'ok 2 holds released'
ok 'mail goes when the list can be written again' wait_log 'deferred msg=203-1'
sched_stop
rm -f "$po/.mailq.holds"
mkdir "$po/.mailq.holds"
nok 'the scheduler does not start with a list that cannot be read' start
rmdir "$po/.mailq.holds"
if ! without NO_MONOTONIC && ${CC:-cc} -shared -fPIC -o "$tmp/faults.so" \
    "$top/t/faults.c" -ldl >/dev/null 2>&1 &&
    LD_PRELOAD="$tmp/faults.so" FAULTS_LOG="$tmp/faults" "$SCHEDULER" -V \
    >/dev/null 2>&1 && [ -s "$tmp/faults" ]; then
	# each allocation from the list on: the file's, the hold's, others
	bad=
	for n in 1 2 3 4 5 6 7 8; do
		printf 'address fine/*\n' >"$po/.mailq.holds"
		VALGRIND="env LD_PRELOAD=$tmp/faults.so"
		VALGRIND="$VALGRIND FAULTS=memory:$n:1:ENOMEM"
		VALGRIND="$VALGRIND FAULTS_FROM=1:.mailq.holds"
		if start >"$tmp/ok.out"; then
			order release all
			[ "$said" = 'ok 1 hold released' ] || bad="$bad $n"
			sched_stop
		else
			logged 'holds file=.* nothing is started' ||
			    bad="$bad $n:silent"
		fi
	done
	VALGRIND=
	is 'without memory the scheduler does not start without a hold' \
	    "$bad" ''
else
	skip 'without memory the scheduler does not start without a hold' \
	    'nothing is loaded before libc here'
fi
{
	echo 'address fine/[a'
	echo 'address {1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}{1,2}/x'
	echo 'address fine/*'
} >"$po/.mailq.holds"
ok 'the scheduler starts with holds of wrong patterns' start
is 'holds of wrong patterns are ignored with a warning' \
    "$(count 'holds address .* is no hold and is ignored')" 2
order release all
is 'a hold behind those of wrong patterns is taken' \
    "$said" 'ok 1 hold released'
sched_stop

# ---- the next try is the thread's --------------------------------------------------

ok 'the scheduler starts' start
wait_log 'deferred msg=203-1'
put "$po" 204-1 two h u
wait_log 'deferred msg=204-1'
a=$(fact 203-1 4)
b=$(fact 204-1 4)
ok 'both jobs of a host are tried when the first one is due' \
    [ "$((a - b))" -le 1 ] && [ "$((b - a))" -le 1 ]

# ---- many -------------------------------------------------------------------------------

put_many "$po" 800 20 park
wait_for 60 eval '[ "$(count "load msg=10[0-9]*-1")" -ge 800 ]'
order delete 'park/h1.*'
is 'the jobs of one host are deleted at once' "$said" 'ok 40 jobs deleted'
order bounce 'park/*'
is 'the rest of 760 jobs is bounced later' "$said" \
    'ok 100 jobs bounced, 660 more will follow'
put "$po" 301-1 fine h u
ok 'mail goes while jobs are bounced later' wait_log 'complete msg=301-1'
ok 'all jobs that are bounced later fail' wait_for 60 eval \
    '[ "$(count "complete msg=10.*failed=all")" -eq 760 ]'
is 'each job that is bounced later fails once' \
    "$(lines 'failed msg=10' | sed 's/.*msg=\([^ ]*\).*/\1/' |
    sort | uniq | wc -l | tr -d ' ')" 760
ok 'the DSNs of all jobs that are bounced later are sent' wait_for 90 eval \
    '[ "$(ls "$po/transport" | grep -c "^10")" -eq 0 ]'
sched_stop

# ---- while an agent starts ------------------------------------------------------------

ok 'the scheduler starts for agents that start slowly' start
for n in 401 402 403; do
	put "$po" $n-1 late h$n u
	wait_log "agent-start .*host=h$n"
done
order delete 401-1
order hold 402-1
: >"$tmp/go"
ok 'a job is delivered when its agent is up' wait_log 'complete msg=403-1' 30
ok 'a job that is deleted while its agent starts goes' \
    wait_for 30 eval '[ ! -e "$po/transport/401-1" ]'
ok 'a job that is held while its agent starts is not begun' \
    wait_log 'not-begun msg=402-1' 30
is 'only the job that is neither deleted nor held is delivered' \
    "$(cut -d' ' -f1 "$tmp/late" | cut -c1-3 | tr '\n' ' ')" '403 '
order release 402-1
ok 'a job that was held while its agent started is delivered' \
    wait_log 'complete msg=402-1'
sched_stop

# ---- one user and the others ----------------------------------------------------------

as=$(words_as 65534 65534)
if [ -n "$as" ]; then
	chmod 1777 "$po/public"
	# a dump that no pipe holds
	put_many "$po" 1500 100 park 200001
	ok 'the scheduler starts' start
	wait_for 60 logged 'loaded msgs='
	# Those who do not read are given up in 2 seconds, so it may take more
	# than one crowd.
	crowd() {
		bg $as "$ask" stuck pipe "$pipe" 10
		wait_for 30 sh -c "ls '$pipe'.*x9"
		$as "$ask" pipe "$pipe" >"$tmp/busy" 2>&1
		"$ask" pipe "$pipe" | tail -n 1 >"$tmp/root"
		kill $bg_pid
		wait $bg_pid 2>/dev/null
		lib_forget $bg_pid
		rm -f "$pipe".*
		grep '^busy others are being answered' "$tmp/busy"
	}
	ok 'a user gets a busy line when others wait for a dump' \
	    wait_for 60 crowd
	is 'root and the owner are answered while others wait' \
	    "$(cat "$tmp/root")" End:
	sched_stop
else
	skip 'a user gets a busy line when others wait for a dump' \
	    'no other user can be had'
	skip 'root and the owner are answered while others wait' \
	    'no other user can be had'
fi
finish
