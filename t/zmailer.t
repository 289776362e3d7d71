#!/bin/sh
# Behind ZMailer's router: six messages as it wrote them, delivered by the
# scheduler and its agents.
. "${0%/*}/lib.sh"

po=$tmp/po
data=$top/t/router-files
spool_new "$po"
mkdir "$tmp/mail" "$tmp/share"
for agent in mailbox hold errormail; do
	ln -s "$top/ta/$agent" "$tmp/bin/ta/$agent"
done
agent_noop noop
conf "$tmp/cf" <<END
*/*	interval=1h expiry=3d
local/*	command="mailbox -n -w 1 -d $tmp/mail"
hold/*	command="hold"
error/*	command="errormail -d $tmp/share -n our.example"
smtp/*	command="noop smtp $tmp/sent"
END

# As scheduler-security(7) has it; the files belong to the sender, as the router
# leaves them.
chmod 700 "$po/transport" "$po/queue"
for f in "$data"/queue/*; do
	name=${f##*/}
	cp "$f" "$po/queue/$name"
	cp "$data/transport/$name" "$po/transport/.$name"
	if [ "$(id -u)" -eq 0 ]; then
		chown 65534 "$po/queue/$name" "$po/transport/.$name"
		chmod 440 "$po/queue/$name"
		chmod 460 "$po/transport/.$name"
	fi
	mv "$po/transport/.$name" "$po/transport/$name"
done
tags() {	# name: those of its recipients, but for locks
	sed -n 's/^r\([^~]\).*/\1/p' "$po/transport/$1" | tr ' \n' '_ ' |
	    tr -d ' '
}
tried() {	# all but those that wait; the pattern is that of mailq's facts
	[ ! -e "$po/transport/11077274" ] && [ ! -e "$po/transport/11077276" ] &&
	    [ ! -e "$po/transport/11077277" ] &&
	    [ ! -e "$po/transport/11077278" ] &&
	    [ "$(tags 11076215)" = ____+-_ ] &&
	    [ "$(tags 11077275)" = ++++__ ]
}
ok "the scheduler starts with six messages of ZMailer's router" \
    sched_start "$po" "$tmp/cf"
ok 'each recipient is delivered, failed or deferred' wait_for 30 tried
boxes() {
	for box in "$tmp/mail"/*; do
		printf '%s:%s ' "${box##*/}" "$(grep -c '^From ' "$box")"
	done
}
is 'local users with the name of this machine get their mail' "$(boxes)" \
    'bert:1 games:4 news:2 '
is 'local users get each message once' \
    "$(sed -n 's/^Subject: //p' "$tmp/mail/games" | sort |
    tr -d ' ' | tr '\n' ' ')" 'a1 a2 a3 a4 '
is 'mail for other machines is sent' "$(cut -d ' ' -f 3,4 <"$tmp/sent" | sort |
    tr '\n' ' ')" 'a @a,@b:c@[127.0.0.6] host.example someone@host.example '
ok 'NOTIFY=SUCCESS: the sender gets a DSN' wait_log \
    'delivered msg=11077277 .*channel=dsn .*file=router'
is 'both DSNs have the ENVID of the recipient lines' \
    "$(sed -n 's/^Original-Envelope-Id: //p' "$po"/router/* | tr '\n' ' ')" \
    'ENV123 ENV123 '
like 'a file with the privilege of nobody fails' \
    "$(cat "$po/transport/11076215")" \
    "$(printf '^d.*/var/spool/file\001failed\0015[.]7[.]1\001')"
ok 'a program with the privilege of nobody fails, which is logged' wait_log \
    'failed msg=11077278 .*mail to programs is not allowed here'
ok "a program of root is deferred" logged \
    'msg=11077275 .*as root only with -0'
ok 'a failed look-up is deferred for some minutes' logged \
    'msg=11076215 .*its time comes in'
like 'a failed look-up leaves the tag blank' "$(cat "$po/transport/11076215")" \
    '^r           hold IO:error games 65534$'
sched_stop

# ---- options ----

takes() {	# agent [option ...]
	takes_agent=$1
	shift
	ok "$takes_agent accepts options: $*" "$top/ta/$takes_agent" -N "$@"
}
refuses() {	# agent option [argument]
	out=$("$top/ta/$1" -N $2 $3 last 2>&1)
	is "$1 $2: the exit code is 64" $? 64
	like "$1 $2: a line says what to write instead" "$out" \
	    "^$1: $2 is for ZMailer's $1 only; here .*"
}
# those of the sample clauses, and all that have no effect; -0 for tests as root
takes mailbox -8
takes mailbox -8abrCHR -c local -d /var/mail -h x
takes smtp -c smtpx -x -s
takes smtp -8sl /var/log/smtp
takes smtp -esrl /var/log/smtp
takes smtp -778 -dvHPZ x -6 -w 2000 -p 24 -h us.example host.example
echo 'bsmtp3	n	/bin/cat	cat' >"$tmp/sm.cf"
takes sm -08c bsmtp3 -f "$tmp/sm.cf" bsmtp3
takes sm -08Hv -f "$tmp/sm.cf" -h host bsmtp3
takes errormail -c error
takes hold -c hold
for o in -D -P -X '-F edquot' -g '-l /log' -M -S -U; do
	refuses mailbox $o
done
for o in -D -E '-F h' '-L [127.0.0.1]' -M '-S /tls' -W; do
	refuses smtp $o
done
for o in '-l /log' -Q '-w 80'; do
	refuses sm $o
done
for o in S O; do
	out=$("$top/ta/smtp" -N -$o 2>&1)
	is "smtp -$o without an argument: the exit code is 64" $? 64
	like "smtp -$o without an argument: a line says what to write instead" \
	    "$out" "^smtp: -$o is for ZMailer's smtp only; here .*"
done
like 'smtp -Z without an argument: the usage is printed' \
    "$("$top/ta/smtp" -N -Z 2>&1; echo $?)" '^64$'
# scheduler -n asks them, as the scheduler would start them.
for agent in smtp sm; do
	[ -e "$tmp/bin/ta/$agent" ] || ln -s "$top/ta/$agent" "$tmp/bin/ta/$agent"
done
finds() {	# command words, the last of which are refused
	printf '*/*\tinterval=1h\nx/*\tcommand="%s"\n' "$1" >"$tmp/one"
	out=$(MAILBIN=$tmp/bin "$SCHEDULER" -n -f "$tmp/one" 2>&1)
	like "scheduler -n finds $1" "$out" "^${1%% *}: -[A-Z] is for ZMailer's"
	like "scheduler -n names the line of $1" "$out" "^$tmp/one:2: command: "
}
finds 'mailbox -8 -M'
finds 'smtp -8 -S /tls.conf'
finds 'sm -c usenet -Q usenet'
nok 'errormail accepts no other option' "$top/ta/errormail" -N -x
nok 'hold accepts no other option' "$top/ta/hold" -N -x
finish
