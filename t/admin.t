#!/bin/sh
# What an operator can do to the queue, message by message and by address.
. "${0%/*}/lib.sh"

ask=$top/t/ask
A=$top/t/agent
po=$tmp/po
out=$tmp/out
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=500s retries=1
later/*	command="$A -c later deferred not now"
down/*	command="$A -c down deferall host is down"
fine/*	command="$A -c fine -o $out ok3"
park/*	queueonly command="$A -c park -o $out ok3"
slow/*	overfeed=1 command="slow $tmp/go"
END
# Takes a job, and defers it when the file is there.
agent slow <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	until [ -f "$1" ]; do
		[ -d "${1%/*}" ] || exit	# the test has ended
		sleep 0.1 2>/dev/null || sleep 1
	done
	num=${job%%-*}
	off=$(awk '/^r /{ print off + 0; exit } { off += length($0) + 1 }' "$job")
	printf '%s/%s\t\tdeferred %s\n' "$num" "$off" 'slow one'
	echo '#hungry'
done
END
order() {	# verb what: sets said
	said=$("$ask" order "$po" "$1" "$2" 2>&1)
}
state() {	# name: the states of its vertices, in the order of a dump
	"$ask" pipe "$po/public/.mailq.text" 2>/dev/null |
	    awk -v name="$1" '/^m/ { here = $2 == name }
		here && /^v/ { printf "%s ", $3 }'
}
is_state() {	# name states
	[ "$(state "$1")" = "$2 " ]
}
tags() {	# name
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr ' \n' '_ ' |
	    tr -d ' '
}

ok 'the scheduler starts' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
like 'the pipe is for its owner and group' \
    "$(ls -l "$po/.mailq.command")" '^prw--w----'

# ---- flush ------------------------------------------------------------------

put "$po" 101-1 later a.org u later b.org u
put "$po" 102-1 down c.org u
put "$po" 103-1 park d.org u
wait_log 'deferred msg=101-1 .*a.org' && wait_log 'deferred msg=101-1 .*b.org'
wait_log 'asleep channel=down' && wait_log 'load msg=103-1'
is 'three messages wait each for another reason' \
    "$(state 101-1)$(state 102-1)$(state 103-1)" \
    'retry retry host queueonly '
order flush later/b.org
is 'a flush of an address is answered' "$said" 'ok 1 job flushed'
ok 'a flush of an address tries its mail' \
    wait_log 'deferred msg=101-1 .*b.org .*tries=2'
is 'a flush of an address tries no other mail' \
    "$(count 'deferred msg=101-1 .*a.org')" 1
order flush down/*
ok 'a flush of a dead host tries its mail' wait_log 'deferred .*down.*tries=2'
order flush 103-1
is 'a flush of a message is answered' "$said" 'ok 1 job flushed'
ok 'a flush of a queueonly message delivers it' wait_log 'complete msg=103-1'
order flush all
like 'a flush of all is answered' "$said" '^ok 3 jobs flushed'
ok 'a flush of all tries deferred mail' \
    wait_log 'deferred msg=101-1 .*a.org .*tries=2'
order flush none/*
like 'a flush of an address without mail is refused' \
    "$said" '^no nothing in the queue is for none/\*'

# ---- hold and release -----------------------------------------------------------

order hold 101-1
is 'a hold of a message is answered' "$said" 'ok 101-1 is held, 2 jobs'
is 'all jobs of a message that is held are held' "$(state 101-1)" 'held held '
order hold 101-1
is 'a second hold of a message changes nothing' \
    "$said" 'ok 101-1 is already held, 2 jobs'
order flush later/*
is 'a flush ends no hold' "$(state 101-1)" 'held held '
order hold 'fine/*.org'
is 'a hold of addresses is answered' "$said" 'ok fine/*.org is held, 0 jobs'
put "$po" 104-1 fine e.org u fine f.net u
ok 'a hold of addresses counts for mail to come' wait_for 30 is_state 104-1 held
is 'mail for addresses that a hold does not mean goes' \
    "$(cut -d' ' -f3 "$out" | tail -n 1)" f.net
is 'the list of holds has messages and addresses' \
    "$(cat "$po/.mailq.holds")" 'message 101-1
address fine/*.org'
sched_stop
ok 'the scheduler starts again' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
wait_log 'loaded msgs='
is 'a restart ends no hold' "$(state 101-1)$(state 104-1)" 'held held held '
order release 'fine/*'
is 'a hold is released by its own name' "$said" 'no there is no hold on fine/*'
order release 'fine/*.org'
is 'a release of addresses is answered' "$said" 'ok 1 hold released'
ok 'mail of released addresses goes' wait_log 'complete msg=104-1'
order release 101-1
is 'a release of a message is answered' "$said" 'ok 1 hold released'
ok 'a message that was released is tried' wait_log 'deferred msg=101-1 .*b.org'
is 'the list of holds has no released hold' "$(cat "$po/.mailq.holds")" ''
order hold 'later/*'
order hold 101-1
tries=$(count 'deferred msg=101-1 .*b.org')
order release all
is 'a release of all is answered' "$said" 'ok 2 holds released'
wait_for 20 eval '[ "$(count "deferred msg=101-1 .*b.org")" -gt "$tries" ]'

# ---- delete and bounce ------------------------------------------------------------

order delete later/b.org
is 'a delete of an address is answered' "$said" 'ok 1 job deleted'
is 'an address that is deleted has its tag on disk' "$(tags 101-1)" _+
order delete 101-1
is 'a delete of a message is answered' "$said" 'ok 1 job deleted'
ok 'a message that is deleted is complete' wait_log 'complete msg=101-1'
wait_for 30 [ ! -f "$po/queue/101-1" ]
is 'a message that is deleted leaves no file' \
    "$(ls "$po/transport" "$po/queue" "$po/postman" | grep 101-1)" ''
put "$po" 141-1 later e.org u
wait_log 'deferred msg=141-1 '
: >"$po/transport/141-1"
order delete 141-1
is 'a message whose control file was emptied can be deleted' "$said" \
    'ok 1 job deleted'
ok 'a deleted message with an emptied control file is complete' \
    wait_log 'complete msg=141-1'
wait_for 10 [ ! -f "$po/queue/141-1" ]
is 'a deleted message with an emptied control file leaves no file' \
    "$(ls "$po/transport" "$po/queue" "$po/postman" | grep 141-1)" ''
order bounce down/c.org
is 'a bounce of an address is answered' "$said" 'ok 1 job bounced'
ok 'an address that is bounced fails' \
    wait_log 'failed msg=102-1 .*status=expire'
wait_for 20 test -f "$po/postman/102-1.control"
like 'a bounced job has its last reason' \
    "$(cat "$po/postman/102-1.control")" \
    '4\.4\.7.*ended by the postmaster after .*problem was:.?host is down'

# ---- while an agent has it -----------------------------------------------------------

for n in 111 112 113; do
	put "$po" $n-1 slow h$n u
done
ok 'three agents have a job' wait_for 20 is_state 113-1 run
wait_for 20 is_state 111-1 run
wait_for 20 is_state 112-1 run
order delete 111-1
like 'delete waits for the agent' "$said" \
    '^ok 0 jobs deleted, 1 when their agents have reported'
order bounce slow/h112
like 'bounce waits for the agent' "$said" '^ok 0 jobs bounced, 1 when'
order hold 113-1
like 'hold waits for the agent' "$said" '^ok 113-1 is held, 0 jobs and 1 when'
is 'jobs that agents have still run' \
    "$(state 111-1)$(state 112-1)$(state 113-1)" \
    'run run run '
: >"$tmp/go"
ok 'a job that an agent has is deleted at its report' \
    wait_log 'deleted msg=111-1'
ok 'a job that an agent has is bounced at its report' \
    wait_log 'failed msg=112-1 .*status=expire'
ok 'a job that an agent has is held at its report' \
    wait_for 30 is_state 113-1 held
order delete 113-1
is 'a held job can be deleted' "$said" 'ok 1 job deleted'
ok 'the hold of a message that is deleted goes with it' \
    wait_for 30 [ ! -s "$po/.mailq.holds" ]

# ---- two commands at one moment ----------------------------------------------------------

awk 'BEGIN {
	print "i 121-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 1; i <= 150; i++)
		print "r           park p" i " u 0"
	print "m\n"
}' | put_raw "$po" 121-1
put "$po" 122-1 park p151 u
wait_log 'load msg=121-1' && wait_log 'load msg=122-1'
mkfifo -m 622 "$po/public/.mailq.command.1x1" "$po/public/.mailq.command.2x2"
exec 7<>"$po/public/.mailq.command.1x1" 8<>"$po/public/.mailq.command.2x2"
printf 'delete 121-1 1x1\nrelease 121-1 2x2\n' >"$po/.mailq.command"
ok 'a message of 150 jobs is being deleted' \
    wait_log 'verb=delete .*100 jobs deleted, 50 more'
ok 'a release comes while a message is being deleted' \
    wait_log 'verb=release what=121-1 '
ok 'a message whose deletion takes long is deleted whole' \
    wait_log 'complete msg=121-1'
is 'a release frees nothing of what is being deleted' \
    "$(count 'deleted msg=121-1')" 150
is 'a message that was not named stays' "$(state 122-1)" 'queueonly '
exec 7>&- 8>&-
rm -f "$po/public/.mailq.command."*
order delete 122-1

# ---- what is no command --------------------------------------------------------------

order explode all
is 'a command that is not known is refused' "$said" 'no explode is no command'
order delete all
like 'a delete of everything is refused' \
    "$said" '^no all: it is neither the name of a message'
order hold 999-1
is 'a hold of a message that is not there is refused' \
    "$said" 'no there is no message 999-1'
order hold 'a/[b'
like 'a hold of a wrong pattern is refused' \
    "$said" '^no a/\[b: the closing \] is missing'
order hold "x/$(printf '{a,b}%.0s' 1 2 3 4 5 6 7 8 9)"
like 'a hold of a pattern with too many alternatives is refused' \
    "$said" '^no x/.*: too many alternatives; write more than one pattern$'
like 'the log says which command was given, and whose pipe got the answer' \
    "$(lines ' command .*verb=delete what=101-1')" "answer-to=$(id -u) .* ok 1 job"
printf 'delete 113-1\nflush all nobodysuffix\nhold\n' >"$po/.mailq.command"
ok 'a command without a pipe for its answer is not done' \
    wait_log 'mailq pipe=.*command (not a request|no pipe)'
sleep 1
printf 'hold  all of it, once more\n' >"$po/.mailq.command"
ok 'the log has the whole line of what is no request' \
    wait_log 'mailq pipe=.*command not a request: hold  all of it, once more$'
as=$(words_as 65534 65534)
if [ -n "$as" ]; then
	chmod 1777 "$po/public"
	nok 'other users may not command' $as "$ask" order "$po" flush all
	like 'the pipe of commands refuses others' "$(cat "$tmp/ok.out")" \
	    'mailq.command: Permission denied'
	is 'a command of others is not done' "$(count ' command answer-to=65534')" 0
	ok 'other users may query' $as "$ask" pipe "$po/public/.mailq.text"
else
	for i in 1 2 3; do
		skip 'other users may not command' 'no other user can be had'
	done
	skip 'other users may query' 'no other user can be had'
fi
sched_stop

# ---- a pipe that somebody still holds ------------------------------------------------

mkfifo "$po/.mailq.command"
exec 8<>"$po/.mailq.command"
ok 'the scheduler starts while another holds the pipe' \
    sched_start "$po" "$tmp/cf"
like 'while another holds the pipe there are no commands' \
    "$(lines 'mailq pipe=.* commands=')" \
    'commands=none$'
exec 8>&-
ok 'the pipe is opened when nobody else holds it' \
    wait_log 'mailq pipe=.* commands=/' 20
order flush none/*
like 'commands are answered by the pipe that was opened later' \
    "$said" '^no nothing in the queue'
is 'a pipe that another holds is logged once' \
    "$(count ' err mailq pipe=.*command ')" 1
sched_stop
finish
