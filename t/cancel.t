#!/bin/sh
# A command on mail that an agent has, or on many jobs, is on disk before it is
# confirmed: a restart or a crash of the scheduler does not forget it.
. "${0%/*}/lib.sh"

ask=$top/t/ask
A=$top/t/agent
own_spool
MAILBIN=$tmp/bin
export MAILBIN
out=$tmp/out
ln -s "$top/ta/sm" "$tmp/bin/ta/sm"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=500s retries=1
hang/*	command="sm -0 -c hang -f $tmp/sm.cf wait"
good/*	command="sm -0 -c good -f $tmp/sm.cf wait"
prog/*	maxring=1 overfeed=5 backlog=5 command="sm -0 -c prog -f $tmp/sm.cf wait"
later/*	command="$A -c later deferred not now"
many/*	queueonly command="$A -c many -o $out ok3"
END
# Waits for the file, and exits as the name of the user says.
cat >"$tmp/wait" <<END
#!/bin/sh
cat >/dev/null
echo "\$1" >>$tmp/ran
until [ -f $tmp/go ]; do
	[ -d $tmp ] || exit
	sleep 0.1 2>/dev/null || sleep 1
done
exit \${1##*[!0-9]}
END
chmod 755 "$tmp/wait"
echo "wait n $tmp/wait wait \$u" >"$tmp/sm.cf"
start() {
	sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
}
stop() {	# signal
	if [ "$1" = KILL ]; then
		sched_stop KILL
	else
		sched_quit
	fi
}
order() {	# verb what: sets said
	said=$("$ask" order "$po" "$1" "$2" 2>&1)
}
shown() {	# ERE
	"$top/mailq" | grep -E -e "$1"
}
tags() {	# name
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr ' \n' '_ ' |
	    tr -d ' '
}
is_tag() {	# name tags
	[ "$(tags "$1")" = "$2" ]
}
marks() {	# name
	sed -n 's/^# //p' "$po/transport/$1"
}
outside() {	# name: nothing is left of it
	[ ! -f "$po/transport/$1" ] && [ ! -f "$po/queue/$1" ]
}

# ---- mail that an agent has -------------------------------------------------

locked() {	# signal
	ok "$1: the agents still have the mail" wait_log "locked msg=$a "
	like "$1: mailq shows the delete of mail that is locked" \
	    "$(shown 'skipped: ')" \
	    'locked by another process.*; hang/d.example is to be deleted'
	: >"$tmp/go"
	wait_for 30 is_tag $d __
	wait_for 30 is_tag $g +
}
try() {		# signal first
	d=$2-1 b=$(($2 + 1))-1 h=$(($2 + 2))-1 g=$(($2 + 3))-1 a=$(($2 + 4))-1
	rm -f "$tmp/go"
	: >"$tmp/ran"
	start
	put "$po" $d hang d.example d75 later x.example u
	put "$po" $b hang b.example b75
	put "$po" $h hang h.example h75
	put "$po" $g good g.example g$2.0
	put "$po" $a hang a.example a75
	for m in $d $b $h $g $a; do
		wait_for 30 eval "tags $m | grep '~' >/dev/null"
	done
	wait_log "deferred msg=$d .*x.example"
	order delete 'hang/d.example'
	like "$1: delete of mail that an agent has is confirmed" "$said" \
	    '^ok 0 jobs deleted, 1 when their agents have reported'
	is "$1: the command is in the control file before that" \
	    "$(marks $d)" 'hang d.example to be deleted'
	order bounce $b
	order hold $h
	order delete $g
	order delete $a
	like "$1: mailq shows the delete" "$(shown 'to be deleted')" \
	    'agent pid [0-9]+ has it: to be deleted'
	like "$1: mailq shows the bounce" "$("$top/mailq" -j)" \
	    "\"message\":\"$b\".*\"state\":\"run\",\"what\":\"to be bounced[;\"]"
	stop $1
	like "$1: mailq without a scheduler shows the delete" \
	    "$(shown '^		to be deleted')" 'to be deleted'
	ok "$1: the scheduler starts again" start
	[ $1 = TERM ] || locked $1
	: >"$tmp/go"
	# what was locked is loaded when the agents are done
	for m in $b $h $a; do
		wait_for 30 eval "kill -USR1 $sched_pid
		    ! tags $m | grep '~' >/dev/null"
	done
	kill -USR1 "$sched_pid"
	ok "$1: what was to be deleted is deleted after the restart" \
	    wait_log "complete msg=$a .*failed=none"
	like "$1: the log says so" "$(lines "deleted msg=$a")" host=a.example
	ok "$1: what was to be bounced is bounced" \
	    wait_log "failed msg=$b .*status=expire.* ended by the postmaster"
	ok "$1: what was to be held is held" \
	    wait_for 30 shown "^$h .* held\$"
	# after the second TERM no agent has delivered it
	ok "$1: what its agent delivered meanwhile is no failure" wait_log \
	    "$([ $1 = TERM ] && echo deleted || echo finished) msg=$g"
	is "$1: the job that its agent delivered meanwhile was tried once" \
	    "$(grep -c '^g' "$tmp/ran")" 1
	ok "$1: a message of which one job is deleted goes on" \
	    wait_log "deferred msg=$d .*x.example"
	is "$1: only its deleted job has a tag" "$(tags $d)" +_
	is "$1: no job that was deleted or bounced is tried" \
	    "$(count "deferred msg=($a|$b|$h) ")$(count \
	    "deferred msg=$d .*d.example")" 00
	order delete $h
	order delete $d
	for m in $d $b $h $g $a; do
		wait_for 30 outside $m
	done
	ok "$1: no file is left" po_empty "$po"
	sched_stop
}
try TERM 101
try KILL 201

# All processes are killed: the locks are those of the dead.
rm -f "$tmp/go"
: >"$tmp/ran"
start
put "$po" 301-1 good a.example c0
wait_for 30 eval "tags 301-1 | grep '~' >/dev/null"
pid=$(sed -n 's/^r~ *\([0-9]*\) .*/\1/p' "$po/transport/301-1")
order delete 'good/*'
sched_stop KILL
kill -9 "$pid"
wait_for 30 gone "$pid"
: >"$tmp/go"
start
ok 'a delete outlives a crash of the scheduler and the agent' \
    wait_log 'complete msg=301-1'
is 'the mail is not tried again' "$(grep -c '^c' "$tmp/ran")" 1

# A reload, and a later command on the same mail.
rm -f "$tmp/go"
put "$po" 302-1 hang a.example a75
wait_for 30 eval "tags 302-1 | grep '~' >/dev/null"
order delete 302-1
order delete 302-1
is 'a command that is given twice is written once' \
    "$(marks 302-1)" 'hang a.example to be deleted'
order bounce 302-1
is 'another command is written behind it' "$(marks 302-1)" \
    "$(printf '%s\n' 'hang a.example to be deleted' \
    'hang a.example to be bounced')"
stop KILL
start
wait_log 'locked msg=302-1 '
: >"$tmp/go"
wait_for 30 is_tag 302-1 _
kill -USR1 "$sched_pid"
ok 'the last command counts' wait_log 'failed msg=302-1 .*status=expire'
wait_for 30 outside 302-1

# ---- lines that are no commands ----------------------------------------------

: >"$tmp/ran"
printf '%s\n' 'i 303-1' 'o 0' 'l <x>' 's local - sender 0' \
    '# good a.example to be deleted' 'r           good a.example n0 0' \
    '#' '# a comment' '# good a.example' '# good a.example to be delete' \
    '# good b.example to be deleted' '# hang a.example to be deleted' \
    "m" "Subject: x" "# good a.example to be deleted" '' |
    put_raw "$po" 303-1
printf '# good a.example to be deleted' >>"$po/transport/303-1"
ok 'comments, commands on others and cut ones keep no mail' \
    wait_log 'complete msg=303-1'
is 'mail with comments and cut commands is delivered' "$(cat "$tmp/ran")" n0

# ---- an agent that has more jobs than one --------------------------------------

rm -f "$tmp/go"
: >"$tmp/ran"
order hold 'prog/*'
put "$po" 311-1 prog p.example one0
put "$po" 312-1 prog p.example two0
put "$po" 313-1 prog p.example three0
wait_log 'load msg=311-1' && wait_log 'load msg=312-1'
wait_log 'load msg=313-1'
order release 'prog/*'
wait_for 30 eval '[ "$("$top/mailq" -j | grep -c "\"state\":\"run\"")" = 3 ]'
wait_for 30 [ -s "$tmp/ran" ]
m=312-1 u=two0
[ "$(cat "$tmp/ran")" != two0 ] || m=311-1 u=one0
order delete $m
like 'a job that an agent has not begun is deleted by its report' "$said" \
    '^ok 0 jobs deleted, 1 when'
: >"$tmp/go"
ok 'that job is deleted' wait_log "deleted msg=$m"
ok 'the job behind it is delivered' wait_log 'complete msg=313-1'
is 'the agent does not begin with what is to be deleted' \
    "$(grep -c $u "$tmp/ran")$(grep -c three0 "$tmp/ran")" 01

# ---- many jobs -----------------------------------------------------------------

: >"$out"
awk 'BEGIN {
	print "i 321-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 1; i <= 1500; i++)
		print "r           many p" i " u 0"
	print "m\n"
}' | put_raw "$po" 321-1
wait_log 'load msg=321-1'
order bounce 321-1
sched_stop KILL
like 'a bounce of many jobs is confirmed before all is done' "$said" \
    '^ok 100 jobs bounced, 1400 more will follow'
start
ok 'a crash does not forget the rest' wait_for 60 outside 321-1
# the crash may have lost some lines of the log
ok 'all have failed' [ "$(cat "$tmp/sched.old" "$tmp/sched.log" |
    grep -c ' failed msg=321-1 .*status=expire')" -gt 1400 ]
is 'none is delivered' "$(cat "$out")" ''
sched_stop

# ---- mail that is forgotten -----------------------------------------------------

conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
PARAMevicted 2
PARAMdsn="-x '*'"
*/*	interval=1h retries=1
later/*	command="$A -c later deferred not now"
END
for m in 331-1 332-1 333-1 334-1 335-1; do
	put "$po" $m later h$m u
done
start
wait_log 'evict msg=33.*beyond PARAMevicted'
forgotten() {	# name: a message that is, the first of which nothing is kept
	lines ' evict msg=' | awk -v beyond="$1" '{
		sub(/.* msg=/, "")
		is[$1] = /beyond/
	}
	END { for (m in is) if (is[m] == beyond) print m }' | sort | sed -n 1p
}
in_core() {
	"$top/mailq" -c | sed -n 's/^messages //p'
}
wait_for 30 eval '[ "$(count " deferred msg=")" -ge 5 ]'
m=$(forgotten 1)
order delete "$m"
is 'a forgotten message of which nothing is kept is deleted by its name' \
    "$said" 'ok 1 job deleted'
m2=$(forgotten 0)
order bounce "$m2"
is 'a forgotten message is bounced by its name' "$said" 'ok 1 job bounced'
sched_stop KILL
start
wait_for 30 eval '[ "$(count " deferred msg=")" -ge 3 ]'
is 'a crash brings neither of them back' "$(count " (load|deferred) msg=($m|$m2) ")" 0
order delete 'later/*'
like 'a delete by a pattern counts the files of forgotten mail' "$said" \
    '^ok 1 job deleted; [12] files? to be read$'
ok 'the files that are kept in mind are deleted' wait_for 30 eval \
    '[ "$(count " deleted msg=")" -ge 2 ]'
sched_stop KILL
start
wait_log ' loaded '
order delete 'later/*'
ok 'the pattern reaches all when it is given again' wait_for 30 po_empty "$po"
sched_stop

# The locked file is found when there are as many stubs as PARAMevicted allows.
put "$po" 331-1 later h331 u
put "$po" 332-1 later h332 u
put "$po" 333-1 later h333 u
start
wait_for 30 eval '[ "$(count " evict msg=")" -ge 2 ]'
printf '%s\n' 'i 336-1' 'o 0' 'l <336@test>' 's local - sender 0' \
    'r           later h336 u 65534' m 'Subject: x' '' >"$tmp/336-1"
bg "$top/t/held" -t "$tmp/336-1" "$(awk '/^r/ { print n + 0; exit }
    { n += length($0) + 1 }' "$tmp/336-1")" >"$tmp/locked"
wait_for 30 [ -s "$tmp/locked" ]
put_raw "$po" 336-1 <"$tmp/336-1"
wait_log 'locked msg=336-1'
order delete 'later/h336'
like 'a delete by a pattern counts a locked file beyond PARAMevicted' "$said" \
    '^ok 0 jobs deleted; 3 files to be read$'
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
printf 'T nowhere\n' | put_raw "$po" 337-1	# all files are read again
ok 'the message is deleted when the lock has ended' \
    wait_log ' deleted msg=336-1'
is 'the message is not tried' "$(count ' deferred msg=336-1')" 0
sched_stop KILL
rm -rf "$po"
spool_new "$po"

# ---- DSNs ---------------------------------------------------------------------

. "$top/t/bounce.sh"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMglobal-report-interval 1h
*/*	interval=1h retries=1
fail/*	command="$A -c fail error no such user"
late/*	queueonly command="$A -c late error too late"
fine/*	queueonly command="$A -c fine"
END
three() {	# name channel: one recipient fails at once
	simple "$po" $1 anna@a.example <<END
r           fail h first@x.example 0
r           $2 h second@x.example 0
END
}
three 341-1 late
three 342-1 fine
start
for m in 341-1 342-1; do
	wait_log "failed msg=$m "
done
order delete 'dsn/success'
is 'the DSNs on failures of two messages are deleted' "$said" 'ok 2 jobs deleted'
is 'both commands are in the control files' "$(marks 341-1) $(marks 342-1)" \
    'dsn success to be deleted dsn success to be deleted'
sched_stop KILL
start
wait_log ' loaded msgs=2'
is 'a crash brings no DSN back' "$(shown 'dsn/')" ''
order flush '{late,fine}/*'
ok 'the message without a later failure ends' wait_log 'complete msg=342-1 '
ok 'without a DSN' wait_for 30 outside 342-1
ok 'a later failure has a DSN' dsn_of 341-1
is 'the message without a later failure has none' "$(dsns_of 342-1)" ''
like 'the job of that DSN is for failures' "$(lines 'msg=341-1 .*channel=dsn')" \
    'host=failure'
ok 'no message is left' wait_for 30 po_empty "$po"
sched_stop

# The command comes behind the first line, and a crash before the end.
simple "$po" 343-1 anna@a.example <<END
r-          fail h first@x.example 0
r-          fail h second@x.example 0
d first@x.example|failed|5.1.1|||no
END
at=$(awk '/second/ { print n; exit } { n += length($0) + 1 }' "$po/transport/343-1")
{
	echo '# dsn success to be deleted'
	printf 'd %s:0:-1::1795220140\tsecond@x.example\001failed\0015.1.1' "$at"
	printf '\001\001\tno\n'
} >>"$po/transport/343-1"
simple "$po" 344-1 anna@a.example <<END
r-          fail h first@x.example 0
d first@x.example|failed|5.1.1|||no
END
echo '# dsn success to be deleted' >>"$po/transport/344-1"
start
ok 'a failure behind a command has a DSN' dsn_of 343-1
like 'the job of a DSN on a failure behind a command is dsn/failure' \
    "$(lines 'msg=343-1 .*channel=dsn')" \
    'host=failure'
ok 'a failure before a command has none' wait_for 30 po_empty "$po"
is 'nothing was sent on it' "$(dsns_of 344-1)" ''
sched_stop

# ---- a disk that cannot be synced -------------------------------------------------

rm -f "$tmp/go"
syncs='?fsync,?fdatasync,?sync'
if ! without NO_FSYNC &&
    strace -o /dev/null -e "inject=$syncs:error=EIO" true 2>/dev/null; then
	cat >>"$tmp/cf" <<END
hang/*	command="sm -0 -c hang -f $tmp/sm.cf wait"
END
	VALGRIND="strace -o /dev/null -e trace=$syncs -e inject=$syncs:error=EIO"
	start
	VALGRIND=
	put "$po" 351-1 hang h a75
	wait_for 30 eval "tags 351-1 | grep '~' >/dev/null"
	order delete 351-1
	like 'a disk that cannot be synced: a command whose mark is written counts' \
	    "$said" '^ok 0 jobs deleted, 1 when their agents have reported'
	ok 'a disk that cannot be synced: the log says so' \
	    wait_log 'diagnostic msg=351-1 .*rcpt=0 not synced'
	: >"$tmp/go"
	ok 'a disk that cannot be synced: the mail is deleted' \
	    wait_log 'deleted msg=351-1'
	ok 'a disk that cannot be synced: no file is left' \
	    wait_for 30 outside 351-1
	# strace ends with the scheduler, but not the scheduler with strace
	kill "$(sed -n 1p "$po/.pid.scheduler")"
	wait_for 30 gone "$sched_pid"
	sched_stop
else
	for i in 'a command counts' 'the log says so' 'the mail is deleted' \
	    'no file is left'; do
		skip "a disk that cannot be synced: $i" 'no strace, or no fsync'
	done
fi
finish
