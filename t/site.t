#!/bin/sh
# A site that has put this scheduler in ZMailer's place: its scripts rotate logs
# by renaming them, and restart the scheduler without waiting for its end.
. "${0%/*}/lib.sh"

A=$top/t/agent
S=$SCHEDULER
po=$tmp/po
log=$tmp/log/scheduler
gate=$tmp/gate
spool_new "$po"
MAILBIN=$tmp/bin MAILSHARE=$tmp LOGDIR=$tmp/log
export MAILBIN MAILSHARE LOGDIR
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=1d
test/*	command="$A -c test -o $tmp/out"
gate/*	command="$A -c gate -w $gate -o $tmp/out -s $tmp/said"
END

start() {	# a daemon: its exit code
	"$S" -P "$po" -f "$tmp/cf" -l "$tmp/stat" >"$tmp/start" 2>&1
	start_rc=$?
	pid=$(head -n 1 "$po/.pid.scheduler")
	lib_pids="$lib_pids $pid"
	cat "$tmp/start"
	return $start_rc
}
in_log() {	# pattern
	grep -e "$1" "$log"
}
delivered() {	# name ...
	for delivered_i; do
		grep "^$delivered_i " "$tmp/out" || return
	done
}

# ---- logs are renamed ----------------------------------------------------------

own_clocks
S=$SCHEDULER
ok 'the scheduler starts' start
put "$po" 101-1 test h user
ok 'mail is delivered' wait_for 30 in_log 'complete msg=101-1'
mv "$log" "$log.0"
: >"$log"
mv "$tmp/stat" "$tmp/stat.0"
set_clock "$MONO" '0 5'	# each pass takes 5 seconds
ok 'a renamed log is opened anew without a signal' wait_for 30 eval \
    'put "$po" "2$((n += 1))-1" test h user && grep complete "$log"'
ok 'a renamed statistics log is made anew without a signal' \
    wait_for 30 grep . "$tmp/stat"
ok 'lines of the time before are in the old logs' eval \
    'grep "complete msg=101-1" "$log.0" && grep . "$tmp/stat.0"'
kill "$pid"
wait_for 30 gone "$pid"
S=$top/scheduler
unset WALL MONO PASSES

# ---- the pid file ---------------------------------------------------------------

ok 'the scheduler starts again' start
like 'all may read the pid file' "$(ls -l "$po/.pid.scheduler")" '^-rw-r--r--'
like 'nobody else may read the lock file' \
    "$(ls -l "$po/.lock.scheduler")" '^-rw-------'
if [ "$(id -u)" -eq 0 ] && as_nobody true >/dev/null 2>&1; then
	kill "$pid"
	wait_for 30 gone "$pid"
	echo 99999999 >"$po/.pid.scheduler"
	chmod 644 "$po/.pid.scheduler"
	cp "$top/t/held" "$tmp/bin/held"
	chmod 755 "$tmp/bin/held"
	as_nobody "$tmp/bin/held" -r "$po/.pid.scheduler" >"$tmp/held" &
	lib_pids="$lib_pids $!"
	wait_for 30 grep guard "$tmp/held"
	ok 'a user who locks the pid file keeps no scheduler from starting' start
else
	skip 'a user who locks the pid file keeps no scheduler from starting' \
	    'not root'
fi

# ---- a restart without waiting ---------------------------------------------------

put "$po" 301-1 gate h user
wait_for 30 grep '^<301-1' "$tmp/said"
old=$pid
kill -TERM "$old"
bg "$S" -P "$po" -f "$tmp/cf" -l "$tmp/stat" >"$tmp/start" 2>&1
new=$bg_pid
ok 'a new scheduler waits for one that is ending' \
    wait_for 30 grep " waiting pid=$old is ending" "$tmp/start"
: >"$gate"
wait $new
is 'a new scheduler starts when the old one has ended' $? 0
pid=$(head -n 1 "$po/.pid.scheduler")
lib_pids="$lib_pids $pid"
ok 'the new scheduler is another process' [ "$pid" != "$old" ]
ok 'the log says for whom the new scheduler has waited' \
    wait_for 30 in_log " waiting pid=$old is ending"
ok 'the agent of the old one has finished its job' delivered 301-1
put "$po" 302-1 test h user
ok 'the new scheduler delivers' wait_for 30 delivered 302-1
if "$S" -P "$po" -f "$tmp/cf" >"$tmp/second" 2>&1; then
	fail 'a scheduler that is not ending is not waited for'
else
	is 'a scheduler that is not ending is not waited for' $? 73
fi

# ---- a housekeeper that kills and starts ------------------------------------------

bad=
for sig in KILL TERM KILL TERM INT KILL; do
	n=$((n + 1))
	put "$po" 4$n-1 test h$n user
	kill -$sig "$pid"
	start >/dev/null || bad="$bad $sig:$start_rc"
	put "$po" 5$n-1 test h$n user
done
is 'a scheduler can be killed and started at once' "$bad" ''
ok 'all mail is delivered' wait_for 60 po_empty "$po"
kill "$pid"
wait_for 30 gone "$pid"
finish
