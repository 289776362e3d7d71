#!/bin/sh
# Recipients that other processes have locked, and files that begin with the same
# number.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
po=$tmp/po
MONO=$tmp/mono
export MONO

spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1h retries=1 expiry=1d
test/*	overfeed=20 maxring=1 command="$A -c test -o $tmp/out"
gate/*	timeout=1d command="$top/ta/sm -0 -c gate -t 1d -f $tmp/sm.cf wait"
kept/*	queueonly command="$A -c kept -o $tmp/out"
stay/*	idlemax=1d command="$A -c stay -o $tmp/stay"
END
conf "$tmp/wait" <<END
#!/bin/sh
echo \$1 >>$tmp/out
until [ -f $tmp/gate ]; do
	[ -d $tmp ] || exit 1
	sleep $lib_nap
done
END
chmod 755 "$tmp/wait"
echo "wait n $tmp/wait wait \$u" >"$tmp/sm.cf"
: >"$tmp/out"
lock() {	# name [f]
	off=$(awk '/^r/ { print n + 0; exit } { n += length($0) + 1 }' \
	    "$po/transport/$1")
	bg "$top/t/held" -t "$po/transport/$1" "$off" ${2+f} >"$tmp/locked.$1"
	wait_for 30 [ -s "$tmp/locked.$1" ]
}
queue() {	# options of mailq
	POSTOFFICE=$po "$top/mailq" "$@" 2>&1
}
later() {	# seconds: they pass for the scheduler, half a minute at a time
	n=0
	while [ $n -lt "$1" ]; do
		n=$((n + 33))
		have=$(count 'locked msg=101-1')
		mono=$((mono + 33))
		set_clock "$MONO" $mono
		wait_for 20 eval '[ "$(count "locked msg=101-1")" -gt '"$have"' ] ||
		    logged "unlock msg=101-1"' || return
		! logged 'unlock msg=101-1' || return 0
	done
}
mono=0

put "$po" 101-1 test h plain
put "$po" 102-1 test h fcntl
put "$po" 103-1 test h gone
put "$po" 104-1 test h one test h two
ok 'a process has a recipient locked' lock 101-1
plain=$bg_pid
ok 'a process has a recipient locked and the file locked by fcntl' lock 102-1 f
held=$bg_pid
for off in $(awk '/^r/ { print n + 0 } { n += length($0) + 1 }' \
    "$po/transport/104-1"); do
	bg "$top/t/held" -t "$po/transport/104-1" "$off" >"$tmp/locked.$off"
	wait_for 30 [ -s "$tmp/locked.$off" ]
done
ok 'a process that is killed had a recipient locked' lock 103-1
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
put "$po" 107-1 stay h user
ok 'a process has a recipient locked for a moment' lock 107-1
moment=$bg_pid
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'the lock of a process that is gone is removed' \
    wait_log 'complete msg=103-1' 20
wait_log 'locked msg=107-1' 20
kill -9 "$moment"
wait "$moment" 2>/dev/null
like 'a flush by its name reads a skipped message again' \
    "$(POSTOFFICE=$po "$top/mailq" flush 107-1 2>&1)" '1 job flushed'
ok 'a skipped message that is flushed is delivered' \
    wait_log 'complete msg=107-1' 20
ok 'recipients locked by living processes are left alone' \
    wait_log 'locked msg=101-1' 20
wait_log 'locked msg=102-1' 20
is 'locked recipients get no mail' "$(grep -c . "$tmp/out")" 1
like 'mailq shows a skipped message' "$(queue)" \
    '^101-1'
like 'mailq names the process that has a recipient locked' "$(queue)" \
    "skipped: a recipient is locked by another process \\($plain\\)"
like 'mailq shows when a skipped message is read again' \
    "$(queue)" 'next .*in [0-9]+s'
is 'a command for a skipped message names the reason' \
    "$(POSTOFFICE=$po "$top/mailq" hold 101-1 2>&1)" \
    'mailq: 101-1 is skipped: a recipient is locked by another process'
like 'mailq counts skipped messages' "$(queue)" '3 messages, .*; 3 skipped'
like 'mailq -c counts skipped messages' "$(queue -c)" '^skipped 3$'
like 'mailq -j shows skipped messages' "$(queue -j)" \
    '"message":"101-1".*"state":"skipped".*"reason":"a recipient is locked'
unlike 'mailq does not call a queue of skipped messages empty' \
    "$(queue)" 'empty'
like 'filters of messages find a skipped message' "$(queue from=sender older=0)" \
    '3 messages, .*; 3 skipped'
like 'sender, size and age of a skipped message are known' \
    "$(queue -j from=sender)" '"101-1".*"sender":"sender","size":14,"age":[0-9]'
for i in -s -S; do
	like "skipped messages are counted below mailq $i" "$(queue $i)" \
	    '^3 messages, .*; 3 skipped$'
done

# The tag of an agent that died with the machine, and its number has come back.
put "$po" 106-1 stay h user
ok 'an agent with the number of a tag runs' wait_log 'complete msg=106-1' 20
agent=$(lines 'agent-start .*channel=stay ' | sed 's/.* pid=\([0-9]*\) .*/\1/')
{
	printf 'i 105-1\no 0\nl <x@test>\ne sender\ns local - sender 0\n'
	printf 'r~%6s    test h again 65534\nm\nSubject: x\n\n' "$(echo "$agent" |
	    awk 'BEGIN { d = "0123456789abcdefghijklmnopqrstuvwxyz" }
	    $1 < 1000000 { print $1; exit }
	    { for (i = 0; i < 5; i++) {
		s = substr(d, $1 % 36 + 1, 1) s; $1 = int($1 / 36)
	    } print "a" s }')"
} | put_raw "$po" 105-1
ok 'a tag with the number of an agent is believed at first' \
    wait_log "locked msg=105-1 .*pid=$agent " 20

ok 'locked recipients are left alone for ten minutes' later 600
is 'locked recipients get no mail for ten minutes' "$(grep -c . "$tmp/out")" 1
ok 'the lock of a living process counts for 15 minutes' later 400
ok 'the lock of a living process is removed after 15 minutes' \
    wait_log 'unlock msg=101-1' 20
ok 'mail is delivered when the lock is removed' wait_log 'complete msg=101-1' 20
ok 'two locks in one file are removed together' wait_log 'complete msg=104-1' 20
is 'a lock beside an fcntl lock still counts' "$(count 'unlock msg=102-1')" 0
kill "$held"
mono=$((mono + 40))
set_clock "$MONO" $mono
ok 'a lock beside an fcntl lock counts until its process is gone' \
    wait_log 'complete msg=102-1' 20
ok 'a tag with the number of an agent that has no job of the file is removed' \
    wait_log 'complete msg=105-1' 20
is 'the agent of that number is alive' "$(kill -0 "$agent" && echo yes)" yes
like 'the queue is empty in the end' "$(queue)" 'the queue is empty'
sched_stop

# ---- the file of a job, locked by somebody who can read it ------------------------------

: >"$tmp/out"
put "$po" 108-1 gate h user
bg "$top/t/held" -r "$po/transport/108-1" >"$tmp/guard"
wait_for 30 [ -s "$tmp/guard" ]
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'an agent gets a job whose file another process has locked' \
    wait_for 20 [ -s "$tmp/out" ]
like 'the agent has written its lock' "$(grep '^r' "$po/transport/108-1")" '^r~'
steps=$(count clock-step)
mono=$((mono + 2000))
set_clock "$MONO" $mono
ok 'more than 15 minutes pass' \
    wait_for 20 eval '[ "$(count clock-step)" -gt "$steps" ]'
like 'the agent has the job for all that' "$(queue)" 'agent pid [0-9]* has it'
: >"$tmp/gate"
ok 'the job is delivered' wait_log 'complete msg=108-1' 20
is 'a foreign lock made the agent not look dead' \
    "$(count 'unlock|agent-lost|agent-silent') $(grep -c . "$tmp/out")" '0 1'
sched_stop

# ---- a command on addresses of locked mail ----------------------------------------------

: >"$tmp/out"
put "$po" 109-1 test h user
ok 'another process has a recipient locked' lock 109-1
held=$bg_pid
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'locked msg=109-1' 20
is 'a command on addresses counts the file of locked mail' \
    "$(POSTOFFICE=$po "$top/mailq" delete 'test/*' 2>&1)" \
    '0 jobs deleted; 1 file to be read'
ok 'the file is read, and is still locked' wait_for 20 eval \
    '[ "$(count "locked msg=109-1")" -ge 2 ]'
kill -9 "$held"
wait "$held" 2>/dev/null
put "$po" 110-1 test h user
wait_log 'complete msg=110-1' 20
mono=$((mono + 40))
set_clock "$MONO" $mono
ok 'the command is done when the lock is gone' \
    wait_log 'deleted msg=109-1' 20
ok 'the queue is empty' wait_for 20 po_empty "$po"
is 'mail that came after the command is delivered' "$(cut -c 1-3 "$tmp/out")" 110
sched_stop

# ---- one number, two files ------------------------------------------------------------

: >"$tmp/out"
n=0
while [ $n -lt 5 ]; do
	n=$((n + 1))
	put "$po" 201-$n test h u$n
	put "$po" 30$n-1 test h v$n
done
ok 'a start with five files of one number' sched_start "$po" "$tmp/cf" -v
ok 'files of one number are logged' wait_log 'twin msg=201-' 20
ok 'files of one number are delivered' wait_for 20 po_empty "$po"
is 'files of one number are delivered once each' \
    "$(sort "$tmp/out" | cut -d ' ' -f 1 | uniq -c |
    awk '{ print $1, $2 }' | sort -k 2 | tr '\n' ' ')" \
    '1 201-1 1 201-2 1 201-3 1 201-4 1 201-5 1 301-1 1 302-1 1 303-1 1 304-1 1 305-1 '
is 'each outcome is logged for its own file' \
    "$(lines ' delivered msg=' | sed 's/.*msg=\([^ ]*\) .*/\1/' | sort -u |
    wc -l | tr -d ' ')" 10
is 'no report is refused' "$(count 'refused|no such')" 0
# What was fed and is not answered: each #hungry answers the oldest.
is 'no agent has two files of one number at once' \
    "$(lines '(to|from) pid=' | awk '
	/ to pid=.* (201|30.)-/ {
		job[last++] = $0
		for (i = n = 0; first + i < last; i++)
			n += job[first + i] ~ / 201-/
		if (n > most)
			most = n
	}
	/ from pid=.*#hungry/ { if (first < last) first++ }
	END { print most + 0, (last + 0) " jobs" }')" '1 10 jobs'
sched_stop

# ---- an orphan of a scheduler with another -H ----------------------------------------

# It has the lock and opens the message by its name after that.
: >"$tmp/out"
put "$po" 401-1 test h one test h two
ok 'an orphan has a recipient locked' lock 401-1 f
orphan=$bg_pid
ok 'the scheduler starts with another -H' sched_start "$po" "$tmp/cf" -H
wait_log 'locked msg=401-1' 20
is 'files of an orphan that has a lock are not moved' \
    "$(cd "$po" && echo queue/4* transport/4*)" 'queue/401-1 transport/401-1'
is 'no recipient of a message is given away while an orphan has one' \
    "$(cat "$tmp/out")" ''
kill -9 "$orphan"
wait "$orphan" 2>/dev/null
POSTOFFICE=$po "$top/mailq" flush all >"$tmp/flush" 2>&1
ok 'a message is delivered when its orphan is gone' \
    wait_log 'complete msg=[A-Z/]*401-1' 20
ok 'the queue is empty after that' wait_for 20 po_empty "$po"
dir=$(lines 'complete msg=' | sed 's/.*msg=\([A-Z]\).401-1.*/\1/')
sched_stop

# ---- a new file with the name of one that was skipped ----------------------------------

mkdir "$tmp/locked.$dir"
put "$po" "$dir/401-1" test h one
ok 'a process has a recipient of a file in its directory locked' \
    lock "$dir/401-1"
ok 'the scheduler starts with it' sched_start "$po" "$tmp/cf" -H
wait_log 'locked msg=[A-Z].401-1' 20
like 'the file is skipped' "$(queue)" '1 skipped'
rm "$po/transport/$dir/401-1" "$po/queue/$dir/401-1"
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
put "$po" 401-1 kept h one
ok 'a new file with its name is loaded' wait_log 'load msg=[A-Z].401-1' 20
like 'the new message is in the queue' "$(queue)" '^1 message'
unlike 'no file is skipped any more' "$(queue)" 'skipped'
mono=$((mono + 40))
set_clock "$MONO" $mono
POSTOFFICE=$po "$top/mailq" delete 401-1 >"$tmp/delete" 2>&1
ok 'the new message can be deleted' wait_for 20 po_empty "$po"
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
