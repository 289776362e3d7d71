#!/bin/sh
# mailq show: all of one message, in the queue or not, and its part of the log.
. "${0%/*}/lib.sh"

M=$top/mailq
A=$top/t/agent
own_spool
LOGDIR=$tmp/nolog
export LOGDIR
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=500s expiry=2d
later/*	command="$A -c later deferred mailbox full"
fine/*	command="$A -c fine ok3"
bad/*	command="$A -c bad error no such user"
slow/*	command="slow"
END
agent slow <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	echo "#step connecting to mx.$host"
	while [ -d "${0%/*}" ]; do
		sleep 0.1 2>/dev/null || sleep 1
	done
done
END
show() {	# [argument ...]: sets rc and said
	said=$("$M" -L "$tmp/sched.log" show "$@" 2>"$tmp/err" </dev/null)
	rc=$?
}
section() {	# name
	printf '%s\n' "$said" |
	    awk -v s="$1" '/^[a-z]/ { on = $0 == s; next } on { print $0 }'
}
err() {
	cat "$tmp/err"
}

{
	printf '%s\n' 'i 10101-1' 'o 0' 'l x' 'e anna@a.example' \
	    's smtp here anna@a.example 0' \
	    'r           later h.example joe@h.example 65534' \
	    'N NOTIFY=FAILURE ORCPT=rfc822;jj@far.example' \
	    'r           fine h.example bert@h.example 65534' \
	    'r           bad h.example carl@h.example 65534'
	printf 'm\nSubject: lunch\n\tor dinner \001\nTo: all\n\n'
} | put_raw "$po" 10101-1
put "$po" 10102-1 slow h.example dora
ok 'the scheduler starts' \
    sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
wait_log 'deferred msg=10101-1' && wait_log 'delivered msg=10101-1' &&
    wait_log 'failed msg=10101-1'

# ---- in the queue ------------------------------------------------------------

show 10101-1
is 'mailq show of a message ends with 0' "$rc $(err)" '0 '
like 'sender, size and age are shown' "$said" \
    '^10101-1  <anna@a.example>  [0-9]+ bytes  [0-9]+s old$'
like 'the spool id is shown' "$said" '^	id S10101[A-Za-z0-9=-]+, file '
is 'the header is shown' "$(section header)" '	Subject: lunch
		or dinner \001
	To: all'
is 'each recipient is shown' \
    "$(section recipients | sed -n '/^	[^	]/p')" \
'	joe@h.example  later/h.example, for rfc822;jj@far.example, 1 try: mailbox full
	bert@h.example  fine/h.example, done
	carl@h.example  bad/h.example, failed: no such user'
like 'the next try and the expiry are shown' "$(section recipients)" \
    '^		next .*\(in [0-9].*\), expires in (1d23h|2d)$'
is 'the log is shown' "$(section log | awk '{ print $3 }' | sort -u |
    tr '\n' ' ')" 'deferred delivered failed load '
first=$said
show 10101
is 'a message is found by the beginning of its name' \
    "$rc $(printf '%s\n' "$said" | sed -n '1s/ .*//p')" '0 10101-1'
id=$(printf '%s\n' "$said" | sed -n 's/^	id \([^,]*\),.*/\1/p')
show "$id"
is 'a message is found by its spool id' \
    "$rc $(printf '%s\n' "$said" | sed -n '1s/ .*//p')" '0 10101-1'
show S10101zzz
like 'a spool id that no message has is an error' "$rc $(err)" \
    '^69 mailq: S10101zzz is not in the queue, and '
printf '20261122131433 info %s x=\n' \
    'load msg=901-1 id=S901AbmKVCyz' 'load msg=901-2 id=S901AbmKVCaa' \
    'complete msg=901-1 id=S901AbmKVCyz' 'complete msg=901-2 id=S901AbmKVCaa' \
    >"$tmp/two.log"
said=$("$M" -L "$tmp/two.log" show S901 2>&1)
is 'messages of the log are not counted by their lines' "$? $said" \
    "69 mailq: several messages in $tmp/two.log have names that begin with S901"
show 101
is 'the beginning of two names is refused' "$rc $(err)" \
    '69 mailq: 2 messages have names that begin with 101'
show 10102-1 10101-1
is 'two messages are shown' \
    "$rc $(printf '%s\n' "$said" | sed -n 's/^\(101[^ ]*\) .*/\1/p' |
    tr '\n' ' ')" '0 10102-1 10101-1 '
said=$(echo 10102-1 | "$M" -L "$tmp/sched.log" show -)
like 'a message on standard input is shown' "$said" '^10102-1  <sender>'
show to=joe@h.example
is 'a message is found by its recipient' \
    "$rc $(printf '%s\n' "$said" | sed -n '1s/ .*//p')" '0 10101-1'
show to=nobody@h.example
is 'filters that find nothing say so' "$rc $said" \
    '0 nothing in the queue matches to=nobody@h.example'
has_agent() {
	show 10102-1
	printf '%s\n' "$said" | grep 'agent pid.*last heard'
}
ok 'the agent at work is shown' wait_for 20 has_agent
like 'the time of the last job of the agent is shown' "$(section recipients)" \
    '^		agent pid [0-9]+: 1 job, the last given [0-9].* ago, last heard'
like 'the step that the agent is at is in the list' "$("$M")" \
    '^		agent pid [0-9]+ has it: connecting to mx.h.example'
like 'the step that the agent is at is shown' "$(section recipients)" \
    '^		agent pid [0-9]+ has it: connecting to mx.h.example'
like 'the step that the agent is at is in JSON' "$("$M" -j dest='slow/*')" \
    '"state":"run","what":"connecting to mx.h.example"'
is 'a step is not logged' "$(count agent-says)" 0
"$M" hold 10101-1 >/dev/null
show 10101-1
like 'a hold is shown' "$said" '^		held, expires|^		held'
like 'a command is in the log of its message' \
    "$(section log)" ' command .*what=10101-1'
for i in '' 'smtp/x' '../1' '-' 'from=a 10101-1'; do
	"$M" show $i </dev/null >"$tmp/out" 2>&1
	is "wrong arguments have their exit code: show $i" \
	    $? $([ "$i" = - ] && echo 0 || echo 64)
done
for i in '-n show 1' '-j show 1' '-L x' '-L x flush all'; do
	"$M" $i </dev/null >"$tmp/out" 2>&1
	is "wrong options are refused: $i" $? 64
done
"$M" show 10101-1 >"$tmp/out" 2>&1
is 'a log that cannot be read is named' \
    "$? $(tail -n 1 "$tmp/out" | sed "s|$tmp||")" \
    '0 	/nolog/scheduler cannot be read: No such file or directory'

mkfifo "$tmp/pipe.log"
for i in "$tmp" "$tmp/pipe.log"; do
	"$M" -L "$i" show 10101-1 >"$tmp/out" 2>&1
	like "a log that is no file is no empty log: ${i#$tmp}" \
	    "$? $(tail -n 1 "$tmp/out")" '^0 .* cannot be read: '
done
cp "$tmp/sched.log" "$tmp/lines.log"
printf '20261122153112 info deferred msg=10101-1 %s\033\n' \
    'say=\015\015one\015two \033[m\015' >>"$tmp/lines.log"
"$M" -L "$tmp/lines.log" show 10101-1 >"$tmp/out"
is 'line ends in the log are shown as blanks, other bytes as they are there' \
    "$(tail -n 1 "$tmp/out" | sed 's/.*say=//')" ' one two \033[m \033'
printf '20261122153112 info deferred msg=10101-1 say=one\\015\\015\n' \
    >>"$tmp/lines.log"
"$M" -L "$tmp/lines.log" show 10101-1 >"$tmp/out"
is 'line ends at the end of a line of the log are not shown' \
    "$(tail -n 1 "$tmp/out" | sed 's/.*say=//')" one

# ---- not in the queue ----------------------------------------------------------

put "$po" 777-1 fine h u
wait_log 'complete msg=777-1'
put "$po" 777-1 fine h u
wait_for 30 eval '[ "$(count "complete msg=777-1")" -eq 2 ]'
show 777-1
is 'of a message that is gone the log is shown, of the last of that name' \
    "$rc $(section log | awk '{ print $3 }' | tr '\n' ' ')" \
    '0 load delivered complete '
like 'mailq show says that a message is gone' "$said" \
    '^777-1 is not in the queue any more$'
show 778-1
like 'a message without a line in the log is an error' "$rc $(err)" \
    '^69 mailq: 778-1 is not in the queue, and .* has no line about it$'
printf 'i 779-1\nnonsense' | put_raw "$po" 779-1
ok 'a damaged control file is set aside' wait_log 'set-aside msg=779-1'
show 779-1
like 'the place of a message that was set aside is shown' "$rc $said" \
    '^0 779-1 is not in the queue, it was set aside: .*postman/779-1'
sched_quit
show 10101-1
like 'without a scheduler the control file is shown' "$rc $said" \
    "bert@h.example  fine/h.example, done"
like 'without a scheduler the first line says so' \
    "$said" '^no scheduler answers'
echo line >"$tmp/closed"
chmod 600 "$tmp/closed"
chmod 755 "$tmp" "$tmp/bin"
cp "$top/mailq" "$tmp/bin/mailq"
if ! as_nobody true >/dev/null 2>&1; then
	skip 'mailq show says who may read the log' 'not root'
else
	like 'mailq show says who may read the log' \
	    "$(as_nobody "$tmp/bin/mailq" -L "$tmp/closed" show 1-1)" \
	    'closed cannot be read: root and the user 0 may read it$'
fi

finish
