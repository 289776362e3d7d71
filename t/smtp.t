#!/bin/sh
# The agent smtp against t/smtpd, a server whose answers are rules: fed by hand,
# and under the scheduler.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

A=${SMTP:-$top/ta/smtp}

# A control file whose recipients are the lines of standard input.
message() {	# name <recipient, N and header lines
	{
		printf 'i %s\no 9\nl <x@test>\nn env+2B1\nR HDRS\n' "$1"
		printf 's smtp - s@a.org 0\n'
		cat
	} | put_raw "$po" "$1"
	printf 'skipped: the body\n' >"$po/queue/$1"
}
head='m
Subject: test
'
rcpt='r           smtp h'
one() {		# name [user ...]: an ordinary message
	one_name=$1
	shift
	{
		for one_user in ${*:-anna@b.org}; do
			echo "$rcpt $one_user 0"
		done
		echo "$head"
	} | message "$one_name"
}
# What it says of each recipient, a line "STATUS X.Y.Z text", whether the
# fields stand in the report or in the control file.
feed() {	# job ... -- option ...
	: >"$tmp/jobs"
	while [ "$1" != -- ]; do
		printf '%s\n' "$1" >>"$tmp/jobs"
		feed_name=${1%%"$tab"*}
		shift
	done
	shift
	(cd "$po/transport" && exec "$A" "$@" <"$tmp/jobs") >"$tmp/out" 2>&1
	all_verdicts "$feed_name"
}
tags() {	# name: those of the recipients, as one word
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr ' \n' '_ ' | tr -d ' '
}
send() {	# job [option ...]: to our server
	send_job=$1
	shift
	feed "$send_job${tab}h" -- -R "[127.0.0.1]:$port" "$@"
}
verdict() {	# job [option ...]: in two words
	send "$@" | awk '{ print $1, $2 }'
}

like '-V prints the version' "$("$A" -V)" '^smtp [0-9]'
is 'the agent leaves at the end of input' "$("$A" </dev/null)" '#hungry offsets'
for o in -Z '-T x=1' '-T rcpt=x' '-T 0' '-p 0' '-p 70000' '-m 0' '-R a,' \
    'a b' '-w x' '-T cmds=1m'; do
	nok "wrong options are refused: $o" "$A" -N $o </dev/null
done
ok "times of -T in ZMailer's form are accepted" \
    "$A" -N -T conn=10,tcpw=5m -T CMD=1m -T Dot=1h -T DATA=2m </dev/null
without NO_TCP || nok 'a wrong option is refused: -b x' "$A" -b x </dev/null
is "options of ZMailer are accepted" \
    "$("$A" -8esrxl "$tmp/log/smtp" </dev/null)" '#hungry offsets'

one 10-1
if without NO_TCP; then
	is 'without TCP mail is deferred' "$(feed "10-1${tab}h" -- |
	    awk '{ print $1, $2 }')" 'deferall 4.3.5'
	finish
fi

# ---- the server --------------------------------------------------------------

rules() {	# line ...
	rm -f "$srv/rules" "$srv/go"
	[ $# -eq 0 ] || printf '%s\n' "$@" >"$srv/rules"
	: >"$srv/log"
}
received() {	# the commands that the server got
	sed -n 's/^> //p' "$srv/log"
}
conns() {
	grep -c ^connection "$srv/log"
}
newest() {	# number of the last message
	ls "$srv" | sed -n 's/^msg\.//p' | sort -n | tail -n 1
}
# Bytes in a form that a shell can compare; of many only a sum.
visible() {
	od -An -v -tx1 | tr -d ' \n' >"$tmp/hex"
	if [ "$(wc -c <"$tmp/hex")" -gt 400 ]; then
		cksum <"$tmp/hex"
	else
		cat "$tmp/hex"
	fi
}
raw() {		# the last message
	visible <"$srv/msg.$(newest)"
}
hex() {		# printf format
	printf "$1" | visible
}

# ---- a plain server ------------------------------------------------------------

serve
one 10-1 anna@b.org otto@b.org
is 'two recipients are reported as ok3' "$(verdict 10-1)" 'ok3 2.0.0
ok3 2.0.0'
is 'delivered recipients have the tag +' "$(tags 10-1)" ++
is 'a transaction has its commands in order' "$(received)" 'EHLO this.example
MAIL FROM:<s@a.org>
RCPT TO:<anna@b.org>
RCPT TO:<otto@b.org>
DATA
QUIT'
is 'no command comes before the reply to the one before' \
    "$(grep -c early "$srv/log")" 0
is 'the message arrives byte for byte' "$(raw)" \
    "$(hex 'Subject: test\r\n\r\nthe body\r\n')"

one 10-1
rules
verdict 10-1 -h me.example -l "$tmp/log/smtp" >/dev/null
is '-h sets the name in EHLO' "$(received | head -n 1)" 'EHLO me.example'
is 'with a transcript the last command is QUIT' \
    "$(received | tail -n 1)" QUIT
like 'the transcript has commands' \
    "$(cat "$tmp/log/smtp")" '^[0-9]+ > RCPT TO:<anna@b.org>'
unlike 'the transcript does not have the message' \
    "$(cat "$tmp/log/smtp")" 'the body'

sed 's/^s .*/s error - <> 0/' "$po/transport/10-1" | sed 's/^r+/r /' \
    >"$tmp/ctl"
put_raw "$po" 10-1 <"$tmp/ctl"
rules
verdict 10-1 >/dev/null
is 'the empty sender is <>' "$(received | sed -n 2p)" 'MAIL FROM:<>'

message 10-1 <<END
$rcpt anna@b.org 0
$head
r           smtp h otto@b.org 0
m
Subject: other

s smtp - t@a.org 0
$rcpt ina@b.org 0
$rcpt uta@b.org 0
m
Subject: third

END
rules
is 'recipients of several senders and headers are delivered to' \
    "$(verdict 10-1 | sort | uniq -c |
    awk '{ print $1, $2 }')" '4 ok3'
is 'senders and headers have transactions of their own' \
    "$(received)" 'EHLO this.example
MAIL FROM:<s@a.org>
RCPT TO:<anna@b.org>
DATA
MAIL FROM:<s@a.org>
RCPT TO:<otto@b.org>
DATA
MAIL FROM:<t@a.org>
RCPT TO:<ina@b.org>
RCPT TO:<uta@b.org>
DATA
QUIT'

# ---- the message -----------------------------------------------------------------

body() {	# title bytes wanted, both as for printf
	one 10-1
	printf "123456789$2" >"$po/queue/10-1"
	rules
	verdict 10-1 >/dev/null
	is "$1" "$(raw)" "$(hex "Subject: test\\r\\n\\r\\n$3")"
}
body 'the message: dots are doubled' \
    '.\n..\n.x\nx.\n' '..\r\n...\r\n..x\r\nx.\r\n'
body 'the message: a missing line end is added' 'x\n.' 'x\r\n..\r\n'
body 'the message: CR LF is kept' 'a\r\nb\r\n' 'a\r\nb\r\n'
body 'the message: a bare CR becomes a blank' \
    'a\rb\r\r\n\r.\r\nc\r' 'a b \r\n .\r\nc\r\n'
body 'the message: NUL is left out' 'a\000b\n\000.\n' 'ab\r\n..\r\n'
body 'the message: 8-bit bytes are kept' '\303\251\n' '\303\251\r\n'
body 'the message: an empty body' '' ''
x998=$(awk 'BEGIN { for (i = 0; i < 998; i++) printf "x" }')
body 'the message: a line of 998 bytes is kept' "$x998\\n" "$x998\\r\\n"
body 'the message: longer lines are broken' \
    "$x998.y$x998\\n" "$x998\\r\\n..y${x998%xx}\\r\\nxx\\r\\n"
# The dots sit around the ends of the pieces that files are read in.
body 'the message: dots at the ends of buffers are doubled' "$(awk 'BEGIN {
	for (i = 0; i < 3000; i++) printf "..\\n.\\r\\n" }')" \
    "$(awk 'BEGIN { for (i = 0; i < 3000; i++) printf "...\\r\\n..\\r\\n" }')"
message 10-1 <<END
$rcpt anna@b.org 0
m
X-Long: $x998

END
rules
verdict 10-1 >/dev/null
is 'the message: a long header field is folded' \
    "$(raw)" "$(hex "X-Long: ${x998%xxxxxxxx}\\r\\n \
xxxxxxxx\\r\\n\\r\\nthe body\\r\\n")"

# ---- answers ---------------------------------------------------------------------

one 10-1
while read -r stage want status what; do
	case $stage in '' | '#'*) continue ;; esac
	case $stage in
	helo) rules 'ehlo 502 what?' "$stage $what" ;;
	*) rules "$stage $what" ;;
	esac
	one 10-1
	is "$stage is answered by $what" "$(verdict 10-1)" "$want $status"
	case $want in
	ok*) tag=+ ;;
	error*) tag=- ;;
	*) tag=_ ;;
	esac
	is "$stage is answered by $what: the tag is $tag" "$(tags 10-1)" $tag
done <<'END'
# stage	verdict	status	what the server does
greeting deferall 4.3.2	421 not now
greeting deferall 4.3.2	450 not now
greeting deferall 4.3.2	554 go away
greeting deferall 4.4.2	drop
greeting deferall 4.5.0	SSH-2.0-nonsense
greeting deferall 4.5.0	220x
greeting deferall 4.5.0	999 nine
greeting ok3 2.0.0		220-one\n220-two\n220 three
ehlo deferall 4.3.2	421 not now
ehlo deferall 4.3.2	451 not now
ehlo deferall 4.4.2	drop
ehlo deferall 4.3.2	554 go away (last)
ehlo ok3 2.0.0		500 what?
ehlo ok3 2.0.0		550 what?
helo deferall 4.3.2	421 not now
helo deferall 4.3.2	450 not now
helo deferall 4.3.2	550 go away
helo deferall 4.3.2	drop
mail deferall 4.3.2	421 4.7.0 not now
mail deferred 4.3.1	452 no room
mail deferred 4.7.1	451 4.7.1 later
mail error2 5.1.8	550 not from you
mail error2 5.7.1	550 5.7.1 not from you
mail deferred 4.7.0	530 5.7.0 Must issue a STARTTLS command first
mail deferred 4.7.0	530 Authentication required
mail error2 5.3.4	552 too big
mail deferall 4.4.2	drop
rcpt deferall 4.3.2	421 not now
rcpt deferred 4.2.1	450 busy
rcpt deferred 4.2.2	450 4.2.2 full
rcpt deferred 4.3.0	451 error
rcpt deferred 4.3.1	452 no room
rcpt error2 5.1.1	550 no such user
rcpt error2 5.1.1	550-5.1.1 no\n550-5.1.1 such\n550 5.1.1 user
rcpt error2 5.1.6	551 not local
rcpt error2 5.2.2	552 full
rcpt error2 5.1.3	553 what?
rcpt error2 5.0.0	554 no
rcpt error2 5.5.2	500 what?
rcpt error2 5.1.1	550 4.2.2 two minds
rcpt deferred 4.0.0	354 what?
rcpt deferall 4.4.2	drop
rcpt deferall 4.5.0	what?
data deferall 4.3.2	421 not now
data deferred 4.3.0	451 later
data error2 5.0.0	554 no
data deferred 4.0.0	250 what?
data deferall 4.4.2	drop
dot deferred 4.3.2	421 not now
dot deferred 4.3.0	451 later
dot deferred 4.7.0	451 4.7.0 later
dot error2 5.6.0	554 spam
dot error2 5.3.4	552 too big
dot error2 5.7.1	550 5.7.1 spam
dot error2 5.0.0	550 4.2.0 two minds
dot deferred 4.4.2	drop
dot deferred 4.5.0	what?
quit ok3 2.0.0		421 bye
quit ok3 2.0.0		drop
END

rules 'ehlo 554 5.7.1 go away (last)'
one 10-1
like 'EHLO refused, HELO not answered: the reason is that of EHLO' \
    "$(send 10-1)" 'said to EHLO: 554 5\.7\.1 go away'
rules 'dot drop'
one 10-1
like 'connection lost after the dot: the reason says so' \
    "$(send 10-1)" 'may have arrived'
is 'connection lost after the dot: the server has the message' \
    "$(raw)" "$(hex 'Subject: test\r\n\r\nthe body\r\n')"
for user in 1 2 3 4; do
	echo "r           smtp [127.0.0.1]:$port $user@a 0"
done >"$tmp/four"
printf '%s\n' "$head" >>"$tmp/four"
for o in '' "-R [127.0.0.1]:$port"; do
	message 10-1 <"$tmp/four"
	is "lost after the dot, two times: no other mail is deferred: $o" \
	    "$(feed 10-1 -- -m 1 $o | sed 's/ .*not tried/ not tried/
	    s/ \[.* twice/ twice/; s/(.*//')" 'deferred 4.4.2 twice 
deferred 4.4.2 twice 
deferred not tried now: the connection broke when this message was sent to other recipients
deferred not tried now: the connection broke when this message was sent to other recipients'
done
rules 'rcpt 550-5.1.1 no\n550-5.1.1 such\n550 5.1.1 user'
one 10-1
like "the reason has each line of the reply once" "$(send 10-1)" \
    'said to RCPT TO: 550 5.1.1 no such user$'
like 'the diagnostic has each line of the reply once' "$(tr '\001' '|' \
    <"$po/transport/10-1")" \
    '\|failed\|5\.1\.1\|smtp; 550 5\.1\.1 no such user\|dns; \[127'
rules "rcpt 550 a${tab}b$(printf '\001')c$(printf '\033')[31m$(printf '\377')"
one 10-1
like 'control bytes of a reply do not get into the reason' \
    "$(send 10-1)" '550 a b c \[31m\?$'
rules "rcpt 550 $(awk 'BEGIN { for (i = 0; i < 1900; i++) printf "x" }')"
one 10-1
like 'a long reply is cut' "$(send 10-1)" 'error2 5.1.1 .*550 x{300,600}$'
rules "rcpt $(awk 'BEGIN { for (i = 0; i < 150; i++) printf "550-x\\n" }')550 x"
one 10-1
is 'a reply of too many lines: deferred' "$(verdict 10-1)" 'deferall 4.5.0'
rules 'rcpt 250-wait\n550 no'
one 10-1
like 'a reply whose codes differ: its text has the last one, which counts' \
    "$(send 10-1)" '^error2 5.1.1 .*: 550 wait no$'

one 10-1 bad@b.org anna@b.org later@b.org otto@b.org
rules 'rcpt:bad@ 550 no' 'rcpt:later@ 450 later'
is 'recipients have verdicts of their own' "$(verdict 10-1)" 'error2 5.1.1
deferred 4.2.1
ok3 2.0.0
ok3 2.0.0'
is 'recipients have tags of their own' "$(tags 10-1)" -+_+
one 10-1 anna@b.org otto@b.org
rules 'rcpt:otto drop'
is 'connection lost between two recipients: both are deferred' \
    "$(verdict 10-1)" 'deferall 4.4.2
deferall 4.4.2'
one 10-1 bad@b.org
rules 'rcpt:bad@ 550 no'
verdict 10-1 >/dev/null
is 'DATA is not sent when no recipient is accepted' \
    "$(received | tail -n 2 | tr '\n' ' ')" \
    'RCPT TO:<bad@b.org> QUIT '

# ---- addresses -------------------------------------------------------------------

message 10-1 <<END
$rcpt "a b"@c.org 0
$rcpt a<b@c.org 0
$rcpt "a>b"@c.org 0
$rcpt a\\ b@c.org 0
$rcpt $(printf '\303\251')@c.org 0
$rcpt anna@b.org> 0
$head
END
rules
is 'odd addresses have verdicts of their own' \
    "$(verdict 10-1 | sort)" 'error2 5.1.3
error2 5.1.3
error2 5.6.7
ok3 2.0.0
ok3 2.0.0
ok3 2.0.0'
is 'odd addresses are sent as they are, or not at all' \
    "$(received | grep RCPT)" \
    'RCPT TO:<"a b"@c.org>
RCPT TO:<"a>b"@c.org>
RCPT TO:<a\ b@c.org>'
one 10-1
sed 's/s@a.org/"s@a.org/' "$po/transport/10-1" >"$tmp/ctl"
put_raw "$po" 10-1 <"$tmp/ctl"
is 'an odd sender fails' "$(verdict 10-1)" 'error2 5.1.7'

# ---- limits of time ----------------------------------------------------------------

while read -r stage want status what; do
	case $stage in
	helo) rules "ehlo $what" ;;
	*) rules "$stage $what" ;;
	esac
	one 10-1
	out=$(send 10-1 -T "$stage=1s")
	like "time limit: $stage, $what" "$out" \
	    "^$want $status .*(no answer within 1s|may have arrived)"
done <<'END'
greeting deferall 4.4.2 hang
greeting deferall 4.4.2 drip
helo deferall 4.4.2 hang
mail deferall 4.4.2 hang
rcpt deferall 4.4.2 hang
data deferall 4.4.2 hang
END

# A step that takes long is shown.
while read -r stage what; do
	rules "$stage hang"
	one 10-1
	printf '10-1\th\n' >"$tmp/jobs"
	(cd "$po/transport" && exec "$A" -R "[127.0.0.1]:$port" -T 4s \
	    <"$tmp/jobs") >"$tmp/out" 2>&1
	is "a step that waits for a slow server is shown: $stage" \
	    "$(sed -n 's/^#step //p' "$tmp/out" | tail -n 1)" \
	    "[127.0.0.1], at $what"
done <<'END'
greeting the greeting
rcpt RCPT TO
END
rules
one 10-1
printf '10-1\th\n' >"$tmp/jobs"
(cd "$po/transport" && exec "$A" -4 -R "localhost:$port" <"$tmp/jobs") \
    >"$tmp/out" 2>&1
is 'a step that waits for name servers is shown' \
    "$(sed -n 's/^#step looking/looking/p' "$tmp/out")" 'looking up localhost'

# The reply to the message has ten minutes at least; a process with a clock that
# can be set spends them.  A signal wakes it, to look at the clock.
MONO=$tmp/mono
export MONO
dot_is_there() {
	[ "$(newest)" != "$was" ]
}
for what in hang drip; do
	rm -f "$MONO"
	rules "dot $what"
	was=$(newest)
	one 10-1
	printf '10-1\th\n' >"$tmp/jobs"
	(cd "$po/transport" && exec "$top/t/dnssmtp" -o \
	    -R "[127.0.0.1]:$port" -T dot=1s) <"$tmp/jobs" >"$tmp/out" 2>&1 &
	pid=$!
	lib_pids="$lib_pids $pid"
	wait_for 30 dot_is_there
	set_clock "$MONO" 500
	kill -HUP $pid
	sleep 1
	is "time limit: -T dot=1s is ten minutes for $what" \
	    "$(alive $pid && grep -c '^10/' "$tmp/out")" 0
	ahead=500
	ten_minutes_more() {
		ahead=$((ahead + 600))
		set_clock "$MONO" $ahead
		kill -HUP $pid
		gone $pid
	}
	wait_for 60 ten_minutes_more
	wait $pid
	lib_forget $pid
	like "time limit: after ten minutes of $what the message is deferred" \
	    "$(tr '\001' '|' <"$tmp/out")" \
	    '\|4\.4\.2\|.*deferred .*may have arrived'
done
if without NO_SOCKETPAIR; then
	skip 'a server that reads a kilobyte a minute gets the message' \
	    'built with NO_SOCKETPAIR'
	skip 'a server that reads 4 bytes a minute is given up' \
	    'built with NO_SOCKETPAIR'
else
	is 'a server that reads a kilobyte a minute gets the message' \
	    "$("$top/t/block" 512 30 2>/dev/null)" sent
	is 'a server that reads 4 bytes a minute is given up' \
	    "$("$top/t/block" 4 60 0.1 2>/dev/null)" 'no answer within 3m'
fi
rm -f "$MONO"
unset MONO
# More than any buffer between the two takes.
one 10-1
dd if=/dev/zero bs=65536 count=320 2>/dev/null | tr '\0' x \
    >"$po/queue/10-1"
rules 'data deaf'
like 'time limit: the server reads no more' "$(send 10-1 -T block=1)" \
    '^deferred 4.4.2 .*no answer within 1s'
: >"$srv/go"
ended() {	# the connection in which there was DATA
	[ "$(sed -n '/^> DATA/,$p' "$srv/log" | tail -n 1)" = end ]
}
wait_for 20 ended
rules 'data deaf'
one 10-1
dd if=/dev/zero bs=65536 count=320 2>/dev/null | tr '\0' x \
    >"$po/queue/10-1"
like 'time limit: the server reads no more, with a transcript' \
    "$(send 10-1 -T block=1 -l "$tmp/log/deaf")" \
    '^deferred 4.4.2 .*no answer within 1s'
: >"$srv/go"
wait_for 20 ended
rules 'data deaf 552 5.3.4 too big'
one 10-1
dd if=/dev/zero bs=65536 count=320 2>/dev/null | tr '\0' x \
    >"$po/queue/10-1"
like 'a server refuses the message and reads no more of it: failed' \
    "$(send 10-1 -T block=1)" '^error2 5.3.4 .*: 552 5.3.4 too big$'
: >"$srv/go"
wait_for 20 ended
rules 'greeting wait'
one 10-1
{ verdict 10-1 >"$tmp/slow"; } &
wait_for 20 test -s "$srv/log"
: >"$srv/go"
wait $!
is 'a greeting that comes late is waited for' "$(cat "$tmp/slow")" 'ok3 2.0.0'

# ---- several messages ----------------------------------------------------------------

say_three() {	# [option ...]
	one 11-1
	one 12-1
	one 13-1
	feed "11-1${tab}h" "12-1${tab}h" "13-1${tab}h" -- \
	    -R "[127.0.0.1]:$port" "$@" | awk '{ print $1 }' | tr '\n' ' '
}
rules
is 'three jobs are delivered' "$(say_three)" 'ok3 ok3 ok3 '
is 'three jobs share a connection' "$(conns)" 1
is 'three jobs share a QUIT' "$(received | grep -c QUIT)" 1
rules 'dot 250 taken (last)'
is 'a server that closes after each message gets three jobs' \
    "$(say_three)" 'ok3 ok3 ok3 '
is 'a server that closes after each message gets three connections' "$(conns)" 3
rules 'mail 421 too long idle'
is '421 to the first MAIL of a new connection: deferred' \
    "$(say_three)" 'deferall deferall deferall '
is '421 to the first MAIL: each job has a connection of its own' "$(conns)" 3
one 11-1
one 12-1 otto@b.org
sed 's/s@a.org/late@a.org/' "$po/transport/12-1" >"$tmp/ctl"
put_raw "$po" 12-1 <"$tmp/ctl"
rules 'mail:late@ 421 not now'
is '421 to MAIL of a kept connection: one new connection' \
    "$(feed "11-1${tab}h" \
    "12-1${tab}h" -- -R "[127.0.0.1]:$port" | awk '{ print $1 }' |
    tr '\n' ' ')$(conns)" 'ok3 deferall 2'
one 11-1 bad@b.org
one 12-1
rules 'rcpt:bad@ 550 no'
feed "11-1${tab}h" "12-1${tab}h" -- -R "[127.0.0.1]:$port" >"$tmp/two"
is 'a job after a transaction without a message is delivered' \
    "$(awk '{ print $1 }' "$tmp/two" |
    tr '\n' ' ')" 'error2 ok3 '
is 'a transaction without a message is ended by RSET' \
    "$(received | sed -n '4,5p')" 'RSET
MAIL FROM:<s@a.org>'

rules
one 11-1
sed 's/ h / other /' "$po/transport/11-1" | sed "s/^r /r /" >"$tmp/ctl"
one 12-1
for j in 11-1 12-1; do
	sed "s/ h / [127.0.0.1]:$port /" "$po/transport/$j" >"$tmp/ctl"
	put_raw "$po" $j <"$tmp/ctl"
done
is 'two jobs for a host with a port are delivered' \
    "$(feed "11-1${tab}[127.0.0.1]:$port" \
    "12-1" -- "[127.0.0.1]:$port" | awk '{ print $1 }' | tr '\n' ' ')" \
    'ok3 ok3 '
is 'two jobs for a host with a port share a connection' "$(conns)" 1
rules
message 11-1 <<END
r           smtp [127.0.0.1]:$port anna@b.org 0
r           smtp localhost:$port otto@b.org 0
$head
END
is 'a job for any host delivers to two hosts' "$(feed 11-1 -- -4 |
    awk '{ print $1 }' | tr '\n' ' ')" 'ok3 ok3 '
is 'a job for any host has a connection and a QUIT for each host' \
    "$(conns)$(received | grep -c QUIT)" 22
mkfifo "$tmp/fifo"
one 10-1
rules
(cd "$po/transport" && exec "$A" -R "[127.0.0.1]:$port" -T idle=1s) \
    <"$tmp/fifo" >"$tmp/out" 2>&1 &
pid=$!
lib_pids="$lib_pids $pid"
exec 7>"$tmp/fifo"
printf '10-1\th\n' >&7
ok 'a connection without work is closed' \
    wait_for 20 grep '> QUIT' "$srv/log"
one 10-1
printf '10-1\th\n' >&7
exec 7>&-
wait $pid
lib_forget $pid
is 'a closed connection is opened again for the next job' \
    "$(grep -c ok3 "$tmp/out")$(conns)" 22

# What is said while nobody asks is no answer to the next message.
for code in 554 451 421; do
	rules "dot idle $code 4.4.2 idle too long"
	one 11-1
	one 12-1
	(cd "$po/transport" && exec "$A" -R "[127.0.0.1]:$port") \
	    <"$tmp/fifo" >"$tmp/out" 2>&1 &
	pid=$!
	lib_pids="$lib_pids $pid"
	exec 7>"$tmp/fifo"
	printf '11-1\th\n' >&7
	wait_for 20 grep '	ok3' "$tmp/out"
	: >"$srv/go"
	wait_for 20 grep '^end' "$srv/log"
	rm -f "$srv/rules"
	printf '12-1\th\n' >&7
	exec 7>&-
	wait $pid
	lib_forget $pid
	is "reply $code without a command: the next job is delivered" \
	    "$(grep -c '	ok3' "$tmp/out")$(tags 12-1)" 2+
	is "reply $code without a command: the connection is made anew" \
	    "$(conns)" 2
	one 11-1
	one 12-1
	rules "dot 250 taken\\n$code idle too long (last)"
	is "reply $code right after another: the connection is made anew" \
	    "$(feed "11-1${tab}h" \
	    "12-1${tab}h" -- -R "[127.0.0.1]:$port" | awk '{ print $1 }' |
	    tr '\n' ' ')$(conns)" 'ok3 ok3 2'
done

# A part of a message must never look like all of it.
for cut in header body; do
	rules 'data wait'
	message 10-1 <<END
$rcpt anna@b.org 0
m
$(awk 'BEGIN { for (i = 0; i < 3000; i++) print "X-Header: 0123456789" }')

END
	awk 'BEGIN { for (i = 0; i < 3000; i++) print "body: 0123456789" }' \
	    >"$po/queue/10-1"
	{ send 10-1 >"$tmp/slow"; } &
	wait_for 20 grep '> DATA' "$srv/log"
	was=$(newest)
	case $cut in
	header) dd if="$po/transport/10-1" of="$tmp/ctl" bs=1000 count=30
		cat "$tmp/ctl" >"$po/transport/10-1" ;;
	body)	dd if="$po/queue/10-1" of="$tmp/msg" bs=1000 count=30
		cat "$tmp/msg" >"$po/queue/10-1" ;;
	esac 2>/dev/null
	: >"$srv/go"
	wait $!
	like "the $cut is cut while it is sent: deferred" "$(cat "$tmp/slow")" \
	    '^deferred 4.3.0 .*the message cannot be read$'
	is "the $cut is cut while it is sent: no dot is sent" \
	    "$(wait_for 20 grep '^end' "$srv/log"
	    newest)" "$was"
	is "the $cut is cut while it is sent: the tag is blank" "$(tags 10-1)" _
done

rules
one 10-1 1@a 2@a 3@a 4@a 5@a 6@a 7@a
is '-m 3: seven recipients are delivered to' \
    "$(verdict 10-1 -m 3 | sort -u)" 'ok3 2.0.0'
is '-m 3: a transaction has three recipients at most' \
    "$(received | grep -c MAIL)$(conns)" 31

is 'a job for a host without recipients: #resync' "$(one 10-1
    feed "10-1${tab}x" -- -R "[127.0.0.1]:1,[127.0.0.1]:$port" |
    awk '{ print $1 }')" '#resync'
one 10-1
is 'the first smart host that answers is used' "$(feed "10-1${tab}h" -- \
    -R "[127.0.0.1]:1,[127.0.0.1]:$port" -b 127.0.0.1 |
    awk '{ print $1 }')" ok3
one 10-1
is 'an unknown smart host: deferred' "$(feed "10-1${tab}h" -- \
    -R "nowhere..invalid" | awk '{ print $1, $2 }')" 'deferall 4.3.5'
one 10-1
like 'a host that does not answer: deferred' \
    "$(feed "10-1${tab}h" -- -R '[127.0.0.1]:1')" \
    '^deferall 4.4.1 .*refused'

# ---- what servers offer ------------------------------------------------------------

serve_end
serve -k 'SIZE 1000' -k PIPELINING -k 8bitmime -k DSN -m 3
message 10-1 <<END
$rcpt anna@b.org 0
N NOTIFY=success,FAILURE,x ORCPT=rfc822;o+2Borcpt INRCPT=x
$rcpt otto@b.org 0
N NOTIFY=NEVER ORCPT=a=b
$head
END
# They answer only when DATA has come: it must be sent ahead.
rules 'mail hold' 'rcpt hold'
is 'PIPELINING: commands are sent ahead' \
    "$(send 10-1 | sed 's/ \[.* said/ said/')" \
    'ok3 2.0.0 said to the message: 250 2.0.0 taken
ok3 2.0.0 said to the message: 250 2.0.0 taken'
is 'SIZE and DSN: parameters are sent' "$(received)" 'EHLO this.example
MAIL FROM:<s@a.org> SIZE=27 RET=HDRS ENVID=env+2B1
RCPT TO:<anna@b.org> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;o+2Borcpt
RCPT TO:<otto@b.org> NOTIFY=NEVER
DATA
QUIT'
is 'DSN: the server reports success, there is no diagnostic' \
    "$(grep -c '^d' "$po/transport/10-1")" 0
message 10-1 <<END
$rcpt anna@b.org 0
N ORCPT=rfc822;anna+at@b.org
$rcpt ina@b.org 0
N ORCPT=ina@b.org
$rcpt otto@b.org 0
N ORCPT=rfc822;o+2
$head
END
sed 's/^n .*/n a+b/' "$po/transport/10-1" >"$tmp/ctl"
put_raw "$po" 10-1 <"$tmp/ctl"
rules
is 'DSN: parameters that are not valid are left out' \
    "$(send 10-1 >/dev/null; received | grep ':')" \
    'MAIL FROM:<s@a.org> SIZE=22 RET=HDRS
RCPT TO:<anna@b.org>
RCPT TO:<ina@b.org>
RCPT TO:<otto@b.org>'
one 10-1
printf '123456789\n.\n\303\251\n' >"$po/queue/10-1"
rules
verdict 10-1 -7 >/dev/null
like '8BITMIME is sent, SIZE does not count added dots' \
    "$(received | grep MAIL)" \
    ' SIZE=26 BODY=8BITMIME '
awk 'BEGIN { for (i = 0; i < 100; i++) print "1234567890" }' \
    >"$po/queue/10-1"
one 11-1
cp "$po/queue/10-1" "$po/queue/11-1"
rules
like 'SIZE: a message that is too large fails' "$(send 11-1)" \
    '^error2 5.3.4 .*has 12[0-9][0-9] bytes, but the server accepts at most 1000'
is 'SIZE: a message that is too large is not sent' \
    "$(received | grep -c MAIL)" 0
serve_end
serve -k 'SIZE 000001000'
one 11-1
cp "$po/queue/10-1" "$po/queue/11-1"
is 'SIZE: a limit with leading zeros is understood' \
    "$(verdict 11-1)" 'error2 5.3.4'
one 11-1
cp "$po/queue/10-1" "$po/queue/11-1"
is '-77: a limit that the server offers does not count' \
    "$(verdict 11-1 -77)" 'ok3 2.0.0'
serve_end
serve -k 'SIZE 1000' -k PIPELINING -k 8bitmime -k DSN -m 3
one 10-1 1@a 2@a 3@a 4@a 5@a 6@a 7@a 8@a
rules
is '452 to a fourth recipient: all are delivered to' \
    "$(verdict 10-1 | sort -u)" 'ok3 2.0.0'
is '452 to a fourth recipient: the rest has other transactions' \
    "$(received | grep -c MAIL)$(conns)" 31
one 10-1 1@a 2@a
rules 'rcpt:<2@a> 452 4.2.2 full'
is '452 with 4.2.2: that recipient is deferred' "$(verdict 10-1 | sort)" \
    'deferred 4.2.2
ok3 2.0.0'
for reply in '450 4.5.3 too many' '550 5.5.3 too many'; do
	one 10-1 1@a 2@a
	rules "rcpt:<2@a> $reply"
	verdict 10-1 >/dev/null
	is "$reply to a second recipient: it has another transaction" \
	    "$(received | grep -c MAIL)$(tags 10-1 | sed 's/[-_]$/ /')" '2+ '
done
one 10-1 bad@b.org
rules 'rcpt 550 no' 'data 354 go on'
is 'DATA accepted without a recipient: the recipient fails' \
    "$(verdict 10-1)" 'error2 5.1.1'
is 'DATA accepted without a recipient: the message is empty' \
    "$(cat "$srv/msg.$(newest)")" ''
one 10-1 bad@b.org
rules 'rcpt 550 no'
is '-P: a refused recipient fails' "$(verdict 10-1 -P)" 'error2 5.1.1'
is '-P: DATA is not sent ahead' "$(received | sed 's/[ :].*//' |
    tr '\n' ' ')" 'EHLO MAIL RCPT QUIT '
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
rules
is '-77: a message with 8 bits fails' "$(verdict 10-1 -77)" 'error2 5.6.3'
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
is '-778: a message with 8 bits is delivered' "$(verdict 10-1 -778)" 'ok3 2.0.0'
is '-778: no parameter is sent' "$(received | grep MAIL)" \
    'MAIL FROM:<s@a.org>'
one 10-1
is '-w is accepted' "$(verdict 10-1 -w 4096)" 'ok3 2.0.0'
rules 'mail 550 no'
one 10-1 1@a 2@a
is 'MAIL refused with PIPELINING: replies to RCPT do not count' \
    "$(verdict 10-1)" \
    'error2 5.1.8
error2 5.1.8'
serve_end

serve -k PIPELINING
message 10-1 <<END
$(awk 'BEGIN { for (i = 0; i < 500; i++)
	print "r           smtp h recipient" i "@some.where.example 0" }')
$head
END
is '500 recipients are delivered to' \
    "$(verdict 10-1 | sort | uniq -c | awk '{ print $1, $2 }')" \
    '500 ok3'
is '500 recipients: a transaction has a hundred at most' \
    "$(received | grep -c MAIL)$(conns)" 51
is '500 recipients: each is sent' \
    "$(received | grep RCPT | sort -u | wc -l | tr -d ' ')" 500
message 10-1 <<END
$rcpt anna@b.org 0
N NOTIFY=SUCCESS
$head
END
is 'a server without DSN: NOTIFY=SUCCESS is reported as ok2' \
    "$(verdict 10-1)" 'ok2 2.0.0'
like 'a server without DSN: the diagnostic says relayed' "$(tr '\001' '|' \
    <"$po/transport/10-1" | grep '^d')" \
    'anna@b.org\|relayed\|2.0.0\|smtp; 250 2.0.0 taken\|dns; '
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
is '-7: 8 bits for a server without 8BITMIME fail' "$(verdict 10-1 -7)" \
    'error2 5.6.3'
one 10-1
is '-7: 7 bits for a server without 8BITMIME are delivered' \
    "$(verdict 10-1 -7)" 'ok3 2.0.0'

# ---- ourselves ---------------------------------------------------------------------

serve_end
mkdir "$tmp/self"
bg "$top/t/smtpd" -p 25 "$tmp/self" 2>/dev/null
self_is_up() {
	test -s "$tmp/self/port" || gone "$bg_pid"
}
wait_for 30 self_is_up
one 10-1
sed 's/ h / [127.0.0.1] /' "$po/transport/10-1" >"$tmp/ctl"
if [ ! -s "$tmp/self/port" ]; then
	for i in 1 2 3 4; do
		skip 'a server that is this machine' 'port 25 cannot be had'
	done
else
	put_raw "$po" 10-1 <"$tmp/ctl"
	is 'a server that greets with our name: failed' \
	    "$(feed 10-1 -- -h Test.Example |
	    awk '{ print $1, $2 }')" 'error2 5.4.6'
	put_raw "$po" 10-1 <"$tmp/ctl"
	is 'a smart host that greets with our name: deferred' \
	    "$(feed 10-1 -- -h test.example \
	    -R '[127.0.0.1]' | awk '{ print $1, $2 }')" 'deferall 4.3.5'
	is 'a server that greets with our name gets no message' \
	    "$(grep -c -E 'EHLO|MAIL' "$tmp/self/log")" 0
	put_raw "$po" 10-1 <"$tmp/ctl"
	is 'a server that greets with another name gets the message' \
	    "$(feed 10-1 -- -h me.example |
	    awk '{ print $1, $2 }')" 'ok3 2.0.0'
	kill "$bg_pid"
	wait "$bg_pid" 2>/dev/null
fi
lib_forget "$bg_pid"
serve -k PIPELINING

# ---- under the scheduler -----------------------------------------------------------

conf "$tmp/cf" <<END
*/*	interval=1s retries="1" expiry=1d
smtp/*	maxchannel=1 command="$A -R [127.0.0.1]:$port"
END
rm -rf "$po"
spool_new "$po"
rules
for i in 1 2 3 4 5 6 7 8; do
	put "$po" 20$i-1 smtp h user$i@h
done
sched_start "$po" "$tmp/cf"
ok 'the scheduler delivers eight messages by smtp' wait_for 30 po_empty "$po"
is 'the scheduler: eight messages share a connection' "$(conns)" 1
is 'the scheduler: eight messages are delivered once each' \
    "$(received | grep RCPT | sort -u | wc -l | tr -d ' ')" 8
serve_end
for i in 1 2 3 4; do
	put "$po" 21$i-1 smtp h user$i@h
done
ok 'the scheduler: mail is deferred when the server is down' \
    wait_log 'status=deferall|deferall|asleep .*channel=smtp' 20
old=$srv
serve -p "$port"
ok 'the scheduler: mail is delivered when the server is up again' \
    wait_for 30 po_empty "$po"
is 'the scheduler: mail of the time without server comes once' \
    "$(received | grep RCPT | sort -u | wc -l | tr -d ' ')" 4
# The scheduler dies while the server makes up its mind: what it takes is done.
rules 'dot wait'
was=$(newest)
put "$po" 221-1 smtp h u1@h smtp h u2@h smtp h u3@h smtp h u4@h
ok 'the scheduler: four recipients share a transaction' \
    wait_for 20 grep '> DATA' "$srv/log"
sched_stop KILL
: >"$srv/go"
all_done() {
	[ "$(tags 221-1)" = ++++ ]
}
ok 'a killed scheduler: all four recipients are marked' wait_for 20 all_done
ok 'a killed scheduler: the agent ends' wait_for 20 grep '^end' "$srv/log"
rules
sched_start "$po" "$tmp/cf"
ok 'a killed scheduler: the next one finds nothing to do' \
    wait_for 30 po_empty "$po"
is 'a killed scheduler: no message comes twice' \
    "$(newest)$(conns)" $((was + 1))0
put "$po" 222-1 smtp h u5@h
ok 'a killed scheduler: new mail is delivered by the next one' \
    wait_for 30 po_empty "$po"
# What submit's table calls "-" is the smart host's: it must see the domains.
conf "$tmp/routes" <<'END'
domain	our.example
*@$d	local	-
*	smtp	-
END
rules
printf 'Subject: test\n\nthe body\n' | "$top/submit" -P "$po" \
    -C "$tmp/routes" joe@far.example joe@else.example '"a b"@far.example' joe
ok 'submit to a smart host with "*@* smtp -"' wait_for 30 po_empty "$po"
is 'a smart host gets whole addresses' "$(received | grep RCPT | sort |
    tr '\n' ' ')" 'RCPT TO:<"a b"@far.example> RCPT TO:<joe@else.example> RCPT TO:<joe@far.example> RCPT TO:<joe@our.example> '
sched_stop
is 'the agent says QUIT when it has to leave' \
    "$(wait_for 30 grep '> QUIT' "$srv/log" && received | grep -c QUIT)" 1
serve_end
finish
