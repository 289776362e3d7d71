#!/bin/sh
# The command line, the environment, being a daemon, and being alone.
. "${0%/*}/lib.sh"

A=$top/t/agent
S=$SCHEDULER
po=$tmp/po
conf "$tmp/cf" <<END
*/*	interval=1h expiry=0
test/*	command="$A -c test -o $tmp/out"
other/*	command="$A -c other -o $tmp/out"
old/*	expiry=1s expiry2=1s command="$A -c old -o $tmp/out"
END
code() {	# want command ...
	want=$1
	shift
	"$@" >"$tmp/code.out" 2>&1
	rc=$?
	[ $rc -eq "$want" ] || { echo "exit $rc"; cat "$tmp/code.out"; return 1; }
}
spool_new "$po"

# ---- answers without a start --------------------------------------------------------

like '-V prints the version' "$($S -V)" '^scheduler [0-9]'
is '-V knows each switch in the Makefile' "$(sed -n \
    's/^#	\(NO_[A-Z_]*\)	.*/\1/p' "$top/Makefile" | while read -r switch; do
	grep "SWITCH($switch)" "$top/scheduler.c" >/dev/null || echo "$switch"
done)" ''
ok 'a wrong option: the exit code is 64' code 64 "$S" -y
ok 'a word too many: the exit code is 64' code 64 "$S" -i word
ok 'an argument that is not numeric: the exit code is 64' code 64 "$S" -R many
ok '-E with a word: the exit code is 64' code 64 "$S" -E 10,x
ok 'no configuration file: the exit code is 78' code 78 "$S" -n -f "$tmp/none"
like 'a configuration file that is missing is named' \
    "$(cat "$tmp/code.out")" "$tmp/none"
is '-n prints nothing of a good configuration' \
    "$(MAILBIN=$tmp/bin $S -n -P "$po" -f "$tmp/cf" 2>&1; echo $?)" 0
printf 'x/* interval=oops\n\tfoo=1\n' >"$tmp/bad"
ok '-n of a bad configuration: the exit code is 78' \
    code 78 "$S" -n -f "$tmp/bad"
is '-n prints every error of a configuration' \
    "$(grep -c "^$tmp/bad:[12]: " "$tmp/code.out")" 2
like '-n channel/host prints the keywords of that address' \
    "$($S -n -f "$tmp/cf" Test/Some.Host)" 'interval'
ok 'a start with a bad configuration: the exit code is 78' \
    code 78 "$S" -i -P "$po" -f "$tmp/bad"
ok 'a missing file of -Z: the exit code is 66' code 66 "$S" -n -Z "$tmp/none"
echo 'what is this' >"$tmp/env.bad"
ok 'a bad line in the file of -Z: the exit code is 78' \
    code 78 "$S" -n -Z "$tmp/env.bad"
is 'a bad line in the file of -Z is named' "$(cat "$tmp/code.out")" \
    "scheduler: $tmp/env.bad:1: what is this: NAME=value is needed"
ok 'a directory for -Z: the exit code is 66' \
    code 66 "$S" -n -f "$tmp/cf" -Z "$tmp"

# ---- locations ---------------------------------------------------------------------------

# Where it is at work is where its pid file appears.
mkdir -p "$tmp/share"
cp "$tmp/cf" "$tmp/share/scheduler.cf"
cat >"$tmp/env" <<END
# a comment

POSTOFFICE=$tmp/po.file
MAILSHARE="$tmp/share"
LOGDIR='$tmp/log'
END
where() {	# directory command ...
	dir=$1
	shift
	exec "$@" >"$tmp/where.out" 2>&1 &
	pid=$!
	lib_pids="$lib_pids $pid"
	wait_for 30 [ -s "$dir/.pid.scheduler" ]
	is_it=$?
	kill $pid
	wait $pid
	[ $is_it -eq 0 ] || cat "$tmp/where.out"
	return $is_it
}
unset POSTOFFICE MAILBIN MAILSHARE LOGDIR RENDEZVOUS ZCONFIG
ok 'the file of -Z sets the post office' \
    where "$tmp/po.file" "$S" -i -Z "$tmp/env"
ok 'the environment goes before the file of -Z' \
    where "$tmp/po.env" env POSTOFFICE="$tmp/po.env" "$S" -i -Z "$tmp/env"
ok 'an option goes before the environment' where "$tmp/po.opt" \
    env POSTOFFICE="$tmp/po.env" "$S" -i -Z "$tmp/env" -P "$tmp/po.opt"
cd "$tmp"
ok 'the path of the post office may be relative' \
    where "$tmp/po.rel" "$S" -i -f cf -P po.rel
cd /
ok 'with -L the scheduler makes a post office' where "$tmp/po.log" \
    "$S" -i -f "$tmp/cf" -P "$tmp/po.log" -L "$tmp/log/start"
like 'standard error has the lines of the start' \
    "$(cat "$tmp/where.out")" 'info spool made=.*/transport'
is 'the log has the lines of the start, too' \
    "$(grep 'spool' "$tmp/log/start" | grep -v -E ' (ready|mailq) ')" \
    "$(cat "$tmp/where.out")"
is 'the pid file is removed at the end' \
    "$(ls "$tmp"/po.*/.pid.scheduler 2>/dev/null)" ''

# ---- one at a time ---------------------------------------------------------------------------

ok 'the scheduler starts with -i' sched_start "$po" "$tmp/cf"
is 'the pid file has the number of the scheduler' \
    "$(head -n 1 "$po/.pid.scheduler")" $sched_pid
ok 'a second scheduler: the exit code is 73' \
    code 73 "$S" -i -P "$po" -f "$tmp/cf"
like 'a second scheduler names the process of the first' \
    "$(cat "$tmp/code.out")" \
    "already running .* $sched_pid$"
if unshare -p -f true 2>/dev/null; then
	ok 'a second scheduler in another container: the exit code is 73' \
	    code 73 unshare -p -f "$S" -i -P "$po" -f "$tmp/cf"
	is 'a second scheduler says no number that it does not know' \
	    "$(sed 's,.*: ,,' "$tmp/code.out")" \
	    'a scheduler is already running on this post office'
else
	skip 'a second scheduler in another container: the exit code is 73' \
	    'no namespaces here'
	skip 'a second scheduler says no number that it does not know' \
	    'no namespaces here'
fi
ok 'a second scheduler leaves the first one running' alive $sched_pid
sched_stop
echo 99999999 >"$po/.pid.scheduler"
ok 'the scheduler starts beside a pid file that was left behind' \
    sched_start "$po" "$tmp/cf"
is 'a pid file that was left behind holds our number alone' \
    "$(grep -v '^$' "$po/.pid.scheduler")" $sched_pid
sched_stop

# ---- daemon ----------------------------------------------------------------------------------

# Half a second is 3vWUA, as nanoseconds, where files have them.
TZ=UTC
export TZ
touch -t 202611210014.05 "$tmp/whole" "$tmp/half"
touch -d '2026-11-21 00:14:05.5' "$tmp/half" 2>/dev/null
id=S101AbmKUAOF
if [ -n "$(find "$tmp/half" -newer "$tmp/whole")" ] && ! without NO_ST_MTIM
then
	id=${id}3vWUA
fi
put "$po" 101-1 test h user
cp -p "$tmp/half" "$po/queue/101-1"
rm -f "$tmp/out"
LOGDIR=$tmp/log
export LOGDIR
ok 'the scheduler becomes a daemon, and the exit code is 0' \
    code 0 "$S" -P "$po" -f "$tmp/cf" -l "$tmp/stat"
is 'the start of a daemon prints nothing' "$(cat "$tmp/code.out")" ''
pid=$(head -n 1 "$po/.pid.scheduler")
lib_pids="$lib_pids $pid"
ok 'a daemon delivers' wait_for 30 grep '^101-1' "$tmp/out"
ok 'the log of a daemon is in LOGDIR' \
    wait_for 30 grep 'complete msg=101-1' "$tmp/log/scheduler"
like 'a line of the log is time, level, event' \
    "$(grep ready "$tmp/log/scheduler")" '^20[0-9]{12} info ready pid='
like '-l: a line has spool id, times, outcome and address' \
    "$(cat "$tmp/stat")" "^$id [0-9]+ [0-9]+ ok3 test/h 20[0-9T:-]+Z\$"
ok 'a second daemon: the exit code is 73' code 73 "$S" -P "$po" -f "$tmp/cf"
like 'a second daemon says at its start that one is running' \
    "$(cat "$tmp/code.out")" 'already'
mv "$tmp/log/scheduler" "$tmp/log/old"
kill -HUP $pid
ok 'HUP opens the log anew' wait_for 30 grep reload "$tmp/log/scheduler"
kill $pid
ok 'a daemon ends at TERM' wait_for 20 gone $pid
mkdir "$po/.mailq.holds"
ok 'a daemon that cannot read the holds: the exit code is 71' \
    code 71 "$S" -P "$po" -f "$tmp/cf"
like 'a daemon that cannot read the holds says so at its start' \
    "$(cat "$tmp/code.out")" 'holds file=.*nothing is started'
rmdir "$po/.mailq.holds"
ok 'a daemon with a bad configuration: the exit code is 78' \
    code 78 "$S" -P "$po" -f "$tmp/bad"
ok 'a statistics log that cannot be opened: the exit code is 73' \
    code 73 "$S" -P "$po" -f "$tmp/cf" -l "$tmp/none/stat"
like 'a statistics log that cannot be opened is named at the start' \
    "$(cat "$tmp/code.out")" 'none/stat'
ok '-d -v starts a daemon' code 0 "$S" -dv -P "$po" -f "$tmp/cf"
pid=$(head -n 1 "$po/.pid.scheduler")
kill $pid
wait_for 20 gone $pid
ok '-v -d starts a daemon' \
    code 0 "$S" -vd -P "$po" -f "$tmp/cf" -L "$tmp/log/dv"
pid=$(head -n 1 "$po/.pid.scheduler")
kill $pid
ok '-v -d: -L names the log' wait_for 20 grep 'exit code=0' "$tmp/log/dv"

# ---- what the other options do -------------------------------------------------------------------

rm -f "$tmp/out"
for i in 1 2 3 4 5 6 7 8; do
	put "$po" 20$i-1 test h$i user
done
put "$po" 209-1 old h user
touch -t 202601010000 "$po/queue/209-1"
sched_start "$po" "$tmp/cf" -F
wait_log 'loaded msgs=9 '
is '-F: no agent is started' "$(count agent-start)" 0
sched_stop
sched_start "$po" "$tmp/cf" -F -E 3
wait_log 'load .*msg=' && wait_for 20 eval '[ "$(count " load msg=")" -ge 6 ]'
sched_stop
like '-E: a scan loads only so many new messages' \
    "$(lines ' load msg=' | cut -c1-14 | sort | uniq -c |
    awk '{ print $1 }' | sort -n | tail -n 1)" '^[3-6]$'
mkdir "$po/transport/1-1" "$po/transport/2-1" "$po/transport/3-1"
sched_start "$po" "$tmp/cf" -F -E 1
ok '-E: other files do not count' wait_log 'load msg=208' 30
sched_stop
rmdir "$po/transport/1-1" "$po/transport/2-1" "$po/transport/3-1"
put "$po" 301-1 other h1 user
sched_start "$po" "$tmp/cf" -p Other/H1
wait_log 'complete msg=301-1'
is '-p: only one address is delivered to' "$(count 'complete msg=')" 1
sched_stop
is 'mail that -F or -p keeps back does not expire' \
    "$(grep -c '^r ' "$po/transport/209-1")" 1
rm "$po/transport/209-1" "$po/queue/209-1"
sched_start "$po" "$tmp/cf" -S
wait_log 'complete msg=208-1'
po_empty "$po" || wait_for 20 po_empty "$po"
is '-S: everything is loaded before the first agent' \
    "$(lines 'loaded msgs|agent-start' | head -n 1 | cut -d' ' -f3-4)" \
    'loaded msgs=8'
sched_stop
put "$po" 401-1 test h user
sched_start "$po" "$tmp/cf" -v
wait_log 'complete msg=401-1'
like '-v: the jobs of agents are logged' "$(lines debug)" 'to pid=.*401-1'
sched_stop
put "$po" 402-1 test h user
sched_start "$po" "$tmp/cf" -v -W -S
wait_log 'complete msg=402-1'
is '-W: no agent starts before all mail is loaded' \
    "$(lines 'loaded msgs|debug' | head -n 1 | cut -d' ' -f3)" loaded
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
