#!/bin/sh
# Filters of mailq: by sender, recipient, destination, age and state, for the
# list and for commands; a dry run; several messages, and those on standard
# input.
. "${0%/*}/lib.sh"

M=$top/mailq
A=$top/t/agent
own_spool
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=500s expiry=0
later/*	command="$A -c later deferred mailbox full"
park/*	queueonly command="$A -c park ok3"
END
# A message of that sender; it is new, or old.
mail() {	# name sender age channel host user ...
	mail_name=$1 mail_from=$2 mail_age=$3
	shift 3
	mkdir -p "$po/queue" "$po/transport"
	echo body >"$po/queue/$mail_name"
	[ "$mail_age" = new ] || touch -t 202601020000 "$po/queue/$mail_name"
	{
		printf 'i %s\no 0\nl x\ne %s\n' "$mail_name" "$mail_from"
		echo "s smtp here $mail_from 0"
		while [ $# -ge 3 ]; do
			printf 'r           %s %s %s 65534\n' "$1" "$2" "$3"
			shift 3
		done
		printf 'm\nSubject: %s\n\n' "$mail_name"
	} >"$po/transport/.$mail_name"
	mv "$po/transport/.$mail_name" "$po/transport/$mail_name"
}
mailq() {	# [argument ...]: sets rc
	"$M" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	rc=$?
}
# The messages that a list shows, and how it ended.
found() {	# filter ...
	mailq "$@"
	echo "$rc" $(sed -n 's/^\([0-9]*\)-1  .*/\1/p' "$tmp/out" | sort)
}
err() {
	cat "$tmp/err"
}

mail 101-1 anna@a.example old later x.example joe@far.example
mail 102-1 Anna@A.example new later x.example bert@far.example \
    later y.example joe@far.example
mail 103-1 carl@c.example new park z.example joe@near.example
mail 104-1 '' new later y.example dora@far.example
ok 'the scheduler starts' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
wait_log 'deferred msg=101-1' && wait_log 'deferred msg=102-1.*x.example' &&
    wait_log 'deferred msg=102-1.*y.example' && wait_log 'load msg=103-1' &&
    wait_log 'deferred msg=104-1'

# ---- the list ----------------------------------------------------------------

is 'without a filter mailq shows all messages' "$(found)" '0 101 102 103 104'
is 'from= finds a sender, whatever its case' \
    "$(found from=anna@a.EXAMPLE)" '0 101 102'
is 'from= takes a pattern' "$(found 'from=*@{a,c}.example')" '0 101 102 103'
is 'from= finds an address as a whole' "$(found from=nna@a.example)" 0
is 'from=<> finds DSNs' "$(found 'from=<>')" '0 104'
is 'to= finds a recipient' "$(found to=joe@far.example)" '0 101 102'
is 'to= shows the jobs of that recipient alone' \
    "$(sed -n 's/^	\([a-z][^ ]*\) .*/\1/p' "$tmp/out")" 'later/x.example
later/y.example'
is 'dest= finds a channel and host' "$(found 'dest=*/x.example')" '0 101 102'
is 'older= finds old messages' "$(found older=1d)" '0 101'
is 'younger= finds new messages' "$(found younger=1d)" '0 102 103 104'
is 'state= finds jobs of a state' "$(found state=queueonly)" '0 103'
is 'state= takes several states' "$(found state=retry,held)" '0 101 102 104'
is 'a job is shown when all filters match it' \
    "$(found to=joe@far.example dest=later/y.example)" '0 102'
found from=none@a.example >/dev/null
is 'a filter that finds nothing is named' "$(cat "$tmp/out")" \
    'nothing in the queue matches from=none@a.example'
mailq -c from=anna@a.example
is '-c counts the messages that the filters find' \
    "$(sed -n 's/^messages //p; s/^recipients //p' "$tmp/out" | tr '\n' ' ')" \
    '2 3 '
mailq -j to=joe@near.example
like '-j shows the messages that the filters find' "$(cat "$tmp/out")" \
    '^\{"message":"103-1".*"state":"queueonly"'
is '-j prints one job as one line' "$(grep -c . "$tmp/out")" 1
mailq -s to=joe@far.example
is '-s counts the messages that the filters find' \
    "$(sed -n 's/^later.x.example *\([0-9]*\) .*/\1/p' "$tmp/out")" 1
mailq -s younger=1d
is '-s begins with the destination of most messages that the filters find' \
    "$(sed -n '2p' "$tmp/out" | cut -d' ' -f1)" later/y.example

for i in 'who=anna' 'older=soon' 'state=sleepy' 'dest=' 'from=[' \
    'from=a from=b' '-f smtp from=a' '-D from=a' '-Q from=a' '-n' \
    '-n from=a' 'delete from=a 101-1' '-n delete' 'delete who=anna'; do
	mailq $i
	is "wrong filters are refused: $i" "$rc" 64
done

# ---- commands ----------------------------------------------------------------

mailq -n delete from=anna@a.example
is 'a dry run says how many messages it means' "$rc $(tail -n 1 "$tmp/out")" \
    '0 dry run, nothing is done: delete would affect 2 messages'
is 'a dry run shows the messages' \
    "$(sed -n 's/^\([0-9]*\)-1  .*/\1/p' "$tmp/out" | tr '\n' ' ')" '101 102 '
is 'a dry run changes nothing' "$(found)$(count ' command ')" \
    '0 101 102 103 1040'
mailq -n delete later/x.example 103-1
is 'a dry run shows jobs of a pattern, and messages' \
    "$(sed -n 's/^	\([a-z][^ ]*\) .*/\1/p' "$tmp/out")" 'later/x.example
later/x.example
park/z.example'
mailq -n delete later/x.example 101-1 101-1
is 'a dry run takes words that mean the same message' \
    "$rc $(err)$(tail -n 1 "$tmp/out")" \
    '0 dry run, nothing is done: delete would affect 2 messages'
mailq -n delete 105-1
is 'a dry run names a message that is not there' "$rc $(err)" \
    '69 mailq: nothing in the queue matches 105-1'

mailq hold from=anna@a.example
is 'hold from= holds the messages of a sender' \
    "$rc $(tr '\n' ';' <"$tmp/out")" \
    '0 101-1: 101-1 is held, 1 job;102-1: 102-1 is held, 2 jobs;'
is 'state=held finds held messages' "$(found state=held)" '0 101 102'
mailq -n release all
is 'a dry run of release all counts held messages' "$(tail -n 1 "$tmp/out")" \
    'dry run, nothing is done: release would affect 2 messages'
"$M" hold none/y.example >/dev/null
mailq -n release none/y.example
is 'a dry run of a release shows a hold that has caught nothing' \
    "$rc $(cat "$tmp/out")" '0 hold on none/y.example: would be released'
mailq -n release all
is 'a dry run of release all shows each hold' \
    "$(sed -n 's/: would be released$//p' "$tmp/out" | sort | tr '\n' ';')" \
    'hold on message 101-1;hold on message 102-1;hold on none/y.example;'
"$M" release none/y.example >/dev/null
mailq -n release none/y.example
is 'a dry run of a release without a hold fails' "$rc $(err)" \
    '69 mailq: there is no hold on none/y.example'
mailq release to=bert@far.example
is 'release to= releases the message of a recipient' \
    "$rc $(cat "$tmp/out")" '0 102-1: 1 hold released'
is 'release to= leaves other messages held' "$(found state=held)" '0 101'
mailq flush state=queueonly
is 'flush state= flushes the jobs of a state' \
    "$rc $(cat "$tmp/out")" '0 103-1: 1 job flushed'
ok 'a message that was flushed by its state is tried' \
    wait_log 'complete msg=103-1'

mailq delete to=joe@far.example
is 'delete to= leaves a message to others alone' "$rc $(err)" \
    "0 mailq: 1 message is left alone: it goes also to recipients that do not \
match; name it to delete it"
is 'delete to= deletes the message of a recipient' \
    "$(cat "$tmp/out")" '101-1: 1 job deleted'
ok 'a message that was deleted by recipient is complete' \
    wait_log 'complete msg=101-1'
is 'messages that delete to= left alone stay' "$(found)" '0 102 104'
mailq delete state=retry dest=later/y.example
is 'delete dest= leaves a message to others alone' \
    "$(grep -c 'left alone' "$tmp/err") $(cat "$tmp/out")" \
    '1 104-1: 1 job deleted'
ok 'a message that was deleted by destination is complete' \
    wait_log 'complete msg=104-1'
mailq delete from=nobody@x.example
is 'a command that finds nothing says so' "$rc $(err)" \
    '69 mailq: nothing in the queue matches from=nobody@x.example'

# ---- names -------------------------------------------------------------------

for n in 201 202 203; do
	mail $n-1 anna@a.example new later x.example u$n
	wait_log "deferred msg=$n-1"
done
mv "$po/transport/203-1" "$tmp/203-1" && mkdir "$po/transport/203-1"
mailq hold 'to=u20*'
is 'a command stops when recipients cannot be read' \
    "$rc $(cat "$tmp/out")$(sed 's/: [^:]*$//' "$tmp/err")" \
    '69 mailq: the recipients of 203-1 cannot be seen'
rmdir "$po/transport/203-1"
mailq -n hold 'to=u20*'
is 'a filter passes over a message without a control file' \
    "$rc $(sed -n 's/^\([0-9]*\)-1  .*/\1/p' "$tmp/out" | tr '\n' ' ')" \
    '0 201 202 '
mv "$tmp/203-1" "$po/transport/203-1"
mailq hold 201-1 202-1
is 'a command takes two names of messages' "$rc $(tr '\n' ';' <"$tmp/out")" \
    '0 201-1: 201-1 is held, 1 job;202-1: 202-1 is held, 1 job;'
mailq hold 201-1 smtp
is 'a wrong word beside a name stops the command' "$rc $(cat "$tmp/out")" '64 '
"$M" release 203-1 - >"$tmp/out" 2>"$tmp/err" <<END
201-1

202-1
END
rc=$?
is 'a command takes names on standard input' \
    "$rc $(tr '\n' ';' <"$tmp/out")$(err)" \
    "69 201-1: 1 hold released;202-1: 1 hold released;mailq: 203-1: there \
is no hold on 203-1"
printf '201-1\nall the rest\n' | "$M" delete - >"$tmp/out" 2>"$tmp/err"
is 'a wrong name on standard input stops the command' \
    "$? $(cat "$tmp/out")$(err)" \
    '65 mailq: standard input: "all the rest" is no name of a message'
"$M" delete - </dev/null >"$tmp/out" 2>&1
is 'a command with an empty standard input does nothing' \
    "$? $(cat "$tmp/out")" '0 '
"$M" -j from=anna@a.example younger=1d |
    sed 's/.*"message":"\([^"]*\)".*/\1/' | sort -u |
    "$M" delete - >"$tmp/out" 2>&1
is 'a command takes names that came from -j' \
    "$? $(grep -c deleted "$tmp/out")" '0 4'

# ---- what is not in core, and no scheduler -----------------------------------

wait_log 'complete msg=203-1' && wait_log 'complete msg=102-1'
sched_stop
echo 'PARAMactive 1' >>"$tmp/cf"
mail 301-1 anna@a.example new later x.example joe@far.example
mail 302-1 carl@c.example new later x.example joe@far.example
ok 'the scheduler starts with room for one message' \
    sched_start "$po" "$tmp/cf" \
    -q "$po/public/.mailq.text"
ok 'a message is evicted' wait_log 'evict msg=30' 20
wait_log 'deferred msg=302-1' 20 && wait_log 'deferred msg=301-1' 20
for i in '' -s -S; do
	mailq $i
	like "the totals have what is not listed: mailq $i" \
	    "$(tail -n 1 "$tmp/out")" '^1 message, .*; 1 evicted$'
done
mailq state=retry
unlike 'evicted mail that filters do not find is not counted' \
    "$(cat "$tmp/out")" '[0-9] evicted'
is 'filters find evicted messages' "$(found to=joe@far.example)" '0 301 302'
like 'evicted mail that filters find is counted' \
    "$(tail -n 1 "$tmp/out")" '^2 messages, .*; 1 evicted$'
like 'the list says that a message is evicted' \
    "$(cat "$tmp/out")" '^		evicted, waits on disk$'
mailq -j state=evicted
is 'state=evicted finds an evicted message' \
    "$(grep -c '"state":"evicted"' "$tmp/out") $(grep -c . "$tmp/out")" '1 1'
mailq -n delete 'later/*'
is 'a dry run of delete by a pattern leaves out evicted mail' \
    "$(tail -n 1 "$tmp/out")" \
    'dry run, nothing is done: delete would affect 1 message'
mailq flush to=joe@far.example
is 'a command with a filter reaches evicted messages' \
    "$rc $(grep -c . "$tmp/out")" '0 2'
mail 303-1 carl@c.example old later x.example joe@far.example
wait_log 'deferred msg=303-1' 20
wait_for 20 eval 'mailq flush 301-1; logged "evict msg=303-1"'
mailq -c
like 'the oldest message can be an evicted one' "$(cat "$tmp/out")" \
    '^oldest [0-9]{7,}$'
mailq delete 303-1
mailq show 30
is 'show counts evicted mail that a beginning names' "$rc $(err)" \
    '69 mailq: 2 messages have names that begin with 30'
mailq hold 'no/\[such\]'
mailq -c older=0
is 'a filter that reads the spool counts a hold once' \
    "$(grep ^holds "$tmp/out")" 'holds 1'
mailq -n release all
is 'a dry run with evicted mail names a hold once' \
    "$(grep -c 'would be released' "$tmp/out")" 1
mailq -j state=evicted
evicted=$(sed -n 's/.*"message":"\([^"]*\)".*/\1/p' "$tmp/out" | sed 1q)
touch -t 197001020000 "$po/queue/$evicted"
is 'mail that came without a clock is not old' "$(found older=1h)" 0
mailq -j state=evicted
like 'mail that came without a clock has no age' "$(cat "$tmp/out")" \
    '"age":null,'
mailq
listed=$(sed -n 's/^on hold: //p' "$tmp/out")
mailq release "$listed"
is 'a hold with a backslash is released as it is listed' \
    "$rc $listed$(err)" '0 no/\134[such\134]'
sched_stop
is 'without a scheduler from= finds a message' \
    "$(found from=anna@a.example)" '0 301'
is 'without a scheduler to= finds messages' \
    "$(found to=joe@far.example)" '0 301 302'
mailq state=retry
is 'without a scheduler state= is an error' "$rc" 69
awk 'BEGIN {
	print "i 401-1\no 0\nl x\ne big@a.example\ns smtp here big@a.example 0"
	for (i = 0; i <= 100000; i++)
		print "r           later x.example u" i "@x.example 65534"
	print "m\nMessage-ID: <big@a.example>\n"
}' >"$po/transport/401-1"
echo body >"$po/queue/401-1"
is 'msgid= finds a message of many recipients' \
    "$(found 'msgid=<big@a.example>')" '0 401'
is 'to= finds the last of many recipients' \
    "$(found to=u100000@x.example)" '0 401'
is 'to= does not find a message of many others' \
    "$(found to=u100001@x.example)" '0'
rm "$po/transport/401-1" "$po/queue/401-1"
mailq delete from=anna@a.example
like 'without a scheduler a command with a filter is an error' "$rc $(err)" \
    '^69 mailq: no scheduler answers'
if without NO_TCP; then
	skip 'a message in the place of a host' 'built with NO_TCP'
else
	mailq 301301-1
	like 'a message in the place of a host names mailq show' "$(err)" \
	    'the host is not known; to see a message: mailq show NAME'
fi

finish
