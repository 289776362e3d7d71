#!/bin/sh
# The agent smtp against a server that does what it is told, t/smtpd: fed by
# hand, and under the scheduler.
. "${0%/*}/lib.sh"

A=${SMTP:-$top/ta/smtp}
po=$tmp/po
tab=$(printf '\t')
spool_new "$po"

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
	awk -F "$tab" '
	function status(s,	w) { split(s, w, "\001"); return w[3] }
	FNR == 1 { file++ }
	file == 1 && /^d / { split($1, w, "[ :]"); d[w[2]] = status($2) }
	file == 2 && /^[0-9]/ {
		split($1, w, "/"); split($3, t, " ")
		st = $2 == "" ? d[w[2]] : status($2)
		print t[1], st == "" ? "-" : st, substr($3, length(t[1]) + 2)
	}
	file == 2 && /^#/ && !/^#hungry/ { print }
	' "$po/transport/$feed_name" "$tmp/out"
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

like 'a version' "$("$A" -V)" '^smtp [0-9]'
is 'an end of input, and it leaves' "$("$A" </dev/null)" '#hungry'
for o in -Z '-T x=1' '-T rcpt=x' '-T 0' '-p 0' '-p 70000' '-m 0' '-R a,' \
    'a b' '-w x' '-T cmds=1m'; do
	nok "wrong options: $o" "$A" -N $o </dev/null
done
ok "ZMailer's times" "$A" -N -T conn=10,tcpw=5m -T cmd=1m -T dot=1h </dev/null
without NO_TCP || nok 'wrong options: -b x' "$A" -b x </dev/null
is "ZMailer's options" "$("$A" -8esrxl "$tmp/log/smtp" </dev/null)" '#hungry'

one 10-1
if without NO_TCP; then
	is 'built without TCP' "$(feed "10-1${tab}h" -- |
	    awk '{ print $1, $2 }')" 'deferall 4.3.5'
	finish
fi

# ---- the server --------------------------------------------------------------

serve() {	# [option ...]: sets srv and port
	srv_n=$((srv_n + 1))
	srv=$tmp/s$srv_n
	mkdir "$srv"
	bg "$top/t/smtpd" "$@" "$srv"
	srv_pid=$bg_pid
	wait_for 30 test -s "$srv/port" || exit 1
	port=$(cat "$srv/port")
}
serve_end() {
	kill "$srv_pid"
	wait "$srv_pid" 2>/dev/null
	lib_forget "$srv_pid"
}
srv_n=0
rules() {	# line ...
	rm -f "$srv/rules" "$srv/go"
	[ $# -eq 0 ] || printf '%s\n' "$@" >"$srv/rules"
	: >"$srv/log"
}
heard() {	# what the server heard
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
is 'delivered' "$(verdict 10-1)" 'ok3 -
ok3 -'
is '... the tags say so' "$(tags 10-1)" ++
is '... what was said' "$(heard)" 'EHLO this.example
MAIL FROM:<s@a.org>
RCPT TO:<anna@b.org>
RCPT TO:<otto@b.org>
DATA
QUIT'
is '... nothing before its turn' "$(grep -c early "$srv/log")" 0
is '... and the message' "$(raw)" \
    "$(hex 'Subject: test\r\n\r\nthe body\r\n')"

one 10-1
rules
verdict 10-1 -h me.example -l "$tmp/log/smtp" >/dev/null
is 'our name' "$(heard | head -n 1)" 'EHLO me.example'
is '... and with a transcript, too, it leaves politely' \
    "$(heard | tail -n 1)" QUIT
like 'the transcript' "$(cat "$tmp/log/smtp")" '^[0-9]+ > RCPT TO:<anna@b.org>'
unlike '... without the message' "$(cat "$tmp/log/smtp")" 'the body'

sed 's/^s .*/s error - <> 0/' "$po/transport/10-1" | sed 's/^r+/r /' \
    >"$tmp/ctl"
put_raw "$po" 10-1 <"$tmp/ctl"
rules
verdict 10-1 >/dev/null
is 'no sender' "$(heard | sed -n 2p)" 'MAIL FROM:<>'

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
is 'senders and headers of their own' "$(verdict 10-1 | sort | uniq -c |
    awk '{ print $1, $2 }')" '4 ok3'
is '... go apart, over one connection' "$(heard)" 'EHLO this.example
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
body 'dots' '.\n..\n.x\nx.\n' '..\r\n...\r\n..x\r\nx.\r\n'
body 'no last newline' 'x\n.' 'x\r\n..\r\n'
body 'CRLF' 'a\r\nb\r\n' 'a\r\nb\r\n'
body 'bare CR' 'a\rb\r\r\n\r.\r\nc\r' 'a b \r\n .\r\nc\r\n'
body 'NUL' 'a\000b\n\000.\n' 'ab\r\n..\r\n'
body '8 bits' '\303\251\n' '\303\251\r\n'
body 'nothing' '' ''
x998=$(awk 'BEGIN { for (i = 0; i < 998; i++) printf "x" }')
body '998 bytes' "$x998\\n" "$x998\\r\\n"
body 'long lines' "$x998.y$x998\\n" "$x998\\r\\n..y${x998%xx}\\r\\nxx\\r\\n"
# The dots sit around the ends of the pieces that files are read in.
body 'dots everywhere' "$(awk 'BEGIN {
	for (i = 0; i < 3000; i++) printf "..\\n.\\r\\n" }')" \
    "$(awk 'BEGIN { for (i = 0; i < 3000; i++) printf "...\\r\\n..\\r\\n" }')"
message 10-1 <<END
$rcpt anna@b.org 0
m
X-Long: $x998

END
rules
verdict 10-1 >/dev/null
is 'a long field is folded' "$(raw)" "$(hex "X-Long: ${x998%xxxxxxxx}\\r\\n \
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
	is "$stage: $what" "$(verdict 10-1)" "$want $status"
	case $want in
	ok*) tag=+ ;;
	error*) tag=- ;;
	*) tag=_ ;;
	esac
	is '... the tag' "$(tags 10-1)" $tag
done <<'END'
# stage	verdict	status	what the server does
greeting deferall 4.3.2	421 not now
greeting deferall 4.3.2	450 not now
greeting deferall 4.3.2	554 go away
greeting deferall 4.4.2	drop
greeting deferall 4.5.0	SSH-2.0-nonsense
greeting deferall 4.5.0	220x
greeting deferall 4.5.0	999 nine
greeting ok3 -		220-one\n220-two\n220 three
ehlo deferall 4.3.2	421 not now
ehlo deferall 4.3.2	451 not now
ehlo deferall 4.4.2	drop
ehlo deferall 4.3.2	554 go away (last)
ehlo ok3 -		500 what?
ehlo ok3 -		550 what?
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
quit ok3 -		421 bye
quit ok3 -		drop
END

rules 'ehlo 554 5.7.1 go away (last)'
one 10-1
like 'EHLO is refused and HELO not heard: the reason is what was said' \
    "$(send 10-1)" 'said to EHLO: 554 5\.7\.1 go away'
rules 'dot drop'
one 10-1
like 'lost after the dot: it says what may be' "$(send 10-1)" 'may have arrived'
is '... the server has it' "$(raw)" "$(hex 'Subject: test\r\n\r\nthe body\r\n')"
rules 'rcpt 550-5.1.1 no\n550-5.1.1 such\n550 5.1.1 user'
one 10-1
like "the server's words, once each" "$(send 10-1)" \
    'said to RCPT TO: 550 5.1.1 no such user$'
like '... in the fields of the report' "$(tr '\001' '|' \
    <"$po/transport/10-1")" \
    '\|failed\|5\.1\.1\|smtp; 550 5\.1\.1 no such user\|dns; \[127'
rules "rcpt 550 a${tab}b$(printf '\001')c$(printf '\033')[31m$(printf '\377')"
one 10-1
like 'control bytes in it are harmless' "$(send 10-1)" '550 a b c \[31m\?$'
rules "rcpt 550 $(awk 'BEGIN { for (i = 0; i < 1900; i++) printf "x" }')"
one 10-1
like 'a long answer is cut' "$(send 10-1)" 'error2 5.1.1 .*550 x{300,600}$'
rules "rcpt $(awk 'BEGIN { for (i = 0; i < 150; i++) printf "550-x\\n" }')550 x"
one 10-1
is 'too many lines' "$(verdict 10-1)" 'deferall 4.5.0'

one 10-1 bad@b.org anna@b.org later@b.org otto@b.org
rules 'rcpt:bad@ 550 no' 'rcpt:later@ 450 later'
is 'each recipient has its own verdict' "$(verdict 10-1)" 'error2 5.1.1
deferred 4.2.1
ok3 -
ok3 -'
is '... and tag' "$(tags 10-1)" -+_+
one 10-1 anna@b.org otto@b.org
rules 'rcpt:otto drop'
is 'lost between two recipients: both wait' "$(verdict 10-1)" 'deferall 4.4.2
deferall 4.4.2'
one 10-1 bad@b.org
rules 'rcpt:bad@ 550 no'
verdict 10-1 >/dev/null
is 'nobody taken: no DATA' "$(heard | tail -n 2 | tr '\n' ' ')" \
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
is 'odd addresses' "$(verdict 10-1 | sort)" 'error2 5.1.3
error2 5.1.3
error2 5.6.7
ok3 -
ok3 -
ok3 -'
is '... go as they are, or not at all' "$(heard | grep RCPT)" \
    'RCPT TO:<"a b"@c.org>
RCPT TO:<"a>b"@c.org>
RCPT TO:<a\ b@c.org>'
one 10-1
sed 's/s@a.org/"s@a.org/' "$po/transport/10-1" >"$tmp/ctl"
put_raw "$po" 10-1 <"$tmp/ctl"
is 'an odd sender' "$(verdict 10-1)" 'error2 5.1.7'

# ---- limits of time ----------------------------------------------------------------

while read -r stage want status what; do
	case $stage in
	helo) rules "ehlo $what" ;;
	*) rules "$stage $what" ;;
	esac
	one 10-1
	out=$(send 10-1 -T "$stage=1s")
	like "no end of waiting: $stage, $what" "$out" \
	    "^$want $status .*(no answer within 1s|may have arrived)"
done <<'END'
greeting deferall 4.4.2 hang
greeting deferall 4.4.2 drip
helo deferall 4.4.2 hang
mail deferall 4.4.2 hang
rcpt deferall 4.4.2 hang
data deferall 4.4.2 hang
END
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
	is "dot, $what: -T makes it no shorter than ten minutes" \
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
	like "dot, $what: after ten minutes the message waits" \
	    "$(tr '\001' '|' <"$tmp/out")" \
	    '\|4\.4\.2\|.*deferred .*may have arrived'
done
if without NO_SOCKETPAIR; then
	skip 'a slow server gets it all' 'built with NO_SOCKETPAIR'
	skip 'one that is slower does not' 'built with NO_SOCKETPAIR'
else
	is 'a server that takes a kilobyte a minute gets it all' \
	    "$("$top/t/block" 512 30 2>/dev/null)" sent
	is 'one that takes 4 bytes a minute does not' \
	    "$("$top/t/block" 4 60 0.1 2>/dev/null)" 'no answer within 3m'
fi
rm -f "$MONO"
unset MONO
# More than any buffer between the two takes.
one 10-1
dd if=/dev/zero bs=65536 count=320 2>/dev/null | tr '\0' x \
    >"$po/queue/10-1"
rules 'data deaf'
like 'a server that reads no more' "$(send 10-1 -T block=1)" \
    '^deferred 4.4.2 .*no answer within 1s'
: >"$srv/go"
ended() {	# the connection in which there was DATA
	[ "$(sed -n '/^> DATA/,$p' "$srv/log" | tail -n 1)" = end ]
}
wait_for 20 ended
rules 'greeting wait'
one 10-1
{ verdict 10-1 >"$tmp/slow"; } &
wait_for 20 test -s "$srv/log"
: >"$srv/go"
wait $!
is 'a slow greeting' "$(cat "$tmp/slow")" 'ok3 -'

# ---- several messages ----------------------------------------------------------------

say_three() {	# [option ...]
	one 11-1
	one 12-1
	one 13-1
	feed "11-1${tab}h" "12-1${tab}h" "13-1${tab}h" -- \
	    -R "[127.0.0.1]:$port" "$@" | awk '{ print $1 }' | tr '\n' ' '
}
rules
is 'three jobs' "$(say_three)" 'ok3 ok3 ok3 '
is '... one connection' "$(conns)" 1
is '... closed with QUIT' "$(heard | grep -c QUIT)" 1
rules 'dot 250 taken (last)'
is 'the server ends each connection' "$(say_three)" 'ok3 ok3 ok3 '
is '... and nobody hears of it' "$(conns)" 3
rules 'mail 421 too long idle'
is '421 to the first command' "$(say_three)" 'deferall deferall deferall '
is '... of a new connection counts' "$(conns)" 3
one 11-1
one 12-1 otto@b.org
sed 's/s@a.org/late@a.org/' "$po/transport/12-1" >"$tmp/ctl"
put_raw "$po" 12-1 <"$tmp/ctl"
rules 'mail:late@ 421 not now'
is '... of a kept one it is made anew, once' "$(feed "11-1${tab}h" \
    "12-1${tab}h" -- -R "[127.0.0.1]:$port" | awk '{ print $1 }' |
    tr '\n' ' ')$(conns)" 'ok3 deferall 2'
one 11-1 bad@b.org
one 12-1
rules 'rcpt:bad@ 550 no'
feed "11-1${tab}h" "12-1${tab}h" -- -R "[127.0.0.1]:$port" >"$tmp/two"
is 'after a transaction without a message' "$(awk '{ print $1 }' "$tmp/two" |
    tr '\n' ' ')" 'error2 ok3 '
is '... it is taken back' "$(heard | sed -n '4,5p')" 'RSET
MAIL FROM:<s@a.org>'

rules
one 11-1
sed 's/ h / other /' "$po/transport/11-1" | sed "s/^r /r /" >"$tmp/ctl"
one 12-1
for j in 11-1 12-1; do
	sed "s/ h / [127.0.0.1]:$port /" "$po/transport/$j" >"$tmp/ctl"
	put_raw "$po" $j <"$tmp/ctl"
done
is 'a host with its port' "$(feed "11-1${tab}[127.0.0.1]:$port" \
    "12-1" -- "[127.0.0.1]:$port" | awk '{ print $1 }' | tr '\n' ' ')" \
    'ok3 ok3 '
is '... one connection' "$(conns)" 1
rules
message 11-1 <<END
r           smtp [127.0.0.1]:$port anna@b.org 0
r           smtp localhost:$port otto@b.org 0
$head
END
is 'two hosts in a job for any' "$(feed 11-1 -- -4 |
    awk '{ print $1 }' | tr '\n' ' ')" 'ok3 ok3 '
is '... two connections, each with its QUIT' \
    "$(conns)$(heard | grep -c QUIT)" 22
mkfifo "$tmp/fifo"
one 10-1
rules
(cd "$po/transport" && exec "$A" -R "[127.0.0.1]:$port" -T idle=1s) \
    <"$tmp/fifo" >"$tmp/out" 2>&1 &
pid=$!
lib_pids="$lib_pids $pid"
exec 7>"$tmp/fifo"
printf '10-1\th\n' >&7
ok 'without work the connection is closed' \
    wait_for 20 grep '> QUIT' "$srv/log"
one 10-1
printf '10-1\th\n' >&7
exec 7>&-
wait $pid
lib_forget $pid
is '... and opened for the next job' \
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
	is "$code while nobody asks" "$(grep -c '	ok3' "$tmp/out")$(tags 12-1)" 2+
	is '... has the connection made anew' "$(conns)" 2
	one 11-1
	one 12-1
	rules "dot 250 taken\\n$code idle too long (last)"
	is '... right after the last answer' "$(feed "11-1${tab}h" \
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
	like "the end of the $cut is gone" "$(cat "$tmp/slow")" \
	    '^deferred 4.3.0 .*the message cannot be read$'
	is '... no dot is sent' "$(wait_for 20 grep '^end' "$srv/log"
	    newest)" "$was"
	is '... and the message waits' "$(tags 10-1)" _
done

rules
one 10-1 1@a 2@a 3@a 4@a 5@a 6@a 7@a
is 'not more recipients than are wished' "$(verdict 10-1 -m 3 | sort -u)" 'ok3 -'
is '... in a transaction' "$(heard | grep -c MAIL)$(conns)" 31

is 'the first smart host that answers' "$(one 10-1
    feed "10-1${tab}x" -- -R "[127.0.0.1]:1,[127.0.0.1]:$port" |
    awk '{ print $1 }')" '#resync'
one 10-1
is 'the first smart host that answers is taken' "$(feed "10-1${tab}h" -- \
    -R "[127.0.0.1]:1,[127.0.0.1]:$port" -b 127.0.0.1 |
    awk '{ print $1 }')" ok3
one 10-1
is 'a smart host that does not exist' "$(feed "10-1${tab}h" -- \
    -R "nowhere..invalid" | awk '{ print $1, $2 }')" 'deferall 4.3.5'
one 10-1
like 'nobody answers' "$(feed "10-1${tab}h" -- -R '[127.0.0.1]:1')" \
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
is 'PIPELINING' "$(send 10-1 | sed 's/ \[.* said/ said/')" \
    'ok3 - said to the message: 250 2.0.0 taken
ok3 - said to the message: 250 2.0.0 taken'
is 'SIZE and DSN' "$(heard)" 'EHLO this.example
MAIL FROM:<s@a.org> SIZE=27 RET=HDRS ENVID=env+2B1
RCPT TO:<anna@b.org> NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;o+2Borcpt
RCPT TO:<otto@b.org> NOTIFY=NEVER
DATA
QUIT'
is '... success is reported by the other side' \
    "$(grep -c '^d' "$po/transport/10-1")" 0
one 10-1
printf '123456789\n.\n\303\251\n' >"$po/queue/10-1"
rules
verdict 10-1 -7 >/dev/null
like '8BITMIME, and the size without added dots' "$(heard | grep MAIL)" \
    ' SIZE=26 BODY=8BITMIME '
awk 'BEGIN { for (i = 0; i < 100; i++) print "1234567890" }' \
    >"$po/queue/10-1"
one 11-1
cp "$po/queue/10-1" "$po/queue/11-1"
rules
like 'larger than the server takes' "$(send 11-1)" \
    '^error2 5.3.4 .*has 12[0-9][0-9] bytes, but it takes no more than 1000'
is '... is not sent' "$(heard | grep -c MAIL)" 0
serve_end
serve -k 'SIZE 000001000'
one 11-1
cp "$po/queue/10-1" "$po/queue/11-1"
is '... which may be written with nine digits' "$(verdict 11-1)" 'error2 5.3.4'
serve_end
serve -k 'SIZE 1000' -k PIPELINING -k 8bitmime -k DSN -m 3
one 10-1 1@a 2@a 3@a 4@a 5@a 6@a 7@a 8@a
rules
is 'enough recipients' "$(verdict 10-1 | sort -u)" 'ok3 -'
is '... the rest goes in other transactions' \
    "$(heard | grep -c MAIL)$(conns)" 31
one 10-1 1@a 2@a
rules 'rcpt:<2@a> 452 4.2.2 full'
is 'a box that is full is something else' "$(verdict 10-1 | sort)" \
    'deferred 4.2.2
ok3 -'
one 10-1 bad@b.org
rules 'rcpt 550 no' 'data 354 go on'
is 'DATA is taken, but nobody is' "$(verdict 10-1)" 'error2 5.1.1'
is '... a dot, and nothing else' "$(cat "$srv/msg.$(newest)")" ''
one 10-1 bad@b.org
rules 'rcpt 550 no'
is '... which is known with -P' "$(verdict 10-1 -P)" 'error2 5.1.1'
is '... when DATA was to be sent' "$(heard | sed 's/[ :].*//' |
    tr '\n' ' ')" 'EHLO MAIL RCPT QUIT '
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
rules
is '8 bits with -77' "$(verdict 10-1 -77)" 'error2 5.6.3'
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
is '... and -8' "$(verdict 10-1 -778)" 'ok3 -'
is '... with nothing that the server offers' "$(heard | grep MAIL)" \
    'MAIL FROM:<s@a.org>'
one 10-1
is '-w' "$(verdict 10-1 -w 4096)" 'ok3 -'
rules 'mail 550 no'
one 10-1 1@a 2@a
is 'MAIL is refused, what is behind it does not count' "$(verdict 10-1)" \
    'error2 5.1.8
error2 5.1.8'
serve_end

serve -k PIPELINING
message 10-1 <<END
$(awk 'BEGIN { for (i = 0; i < 500; i++)
	print "r           smtp h recipient" i "@some.where.example 0" }')
$head
END
is 'many recipients' "$(verdict 10-1 | sort | uniq -c | awk '{ print $1, $2 }')" \
    '500 ok3'
is '... a hundred at a time' "$(heard | grep -c MAIL)$(conns)" 51
is '... each of them' "$(heard | grep RCPT | sort -u | wc -l | tr -d ' ')" 500
message 10-1 <<END
$rcpt anna@b.org 0
N NOTIFY=SUCCESS
$head
END
is 'a server without DSN' "$(verdict 10-1)" 'ok2 2.0.0'
like '... success is told, as relayed' "$(tr '\001' '|' \
    <"$po/transport/10-1" | grep '^d')" \
    'anna@b.org\|relayed\|2.0.0\|smtp; 250 2.0.0 taken\|dns; '
one 10-1
printf '123456789\303\251\n' >"$po/queue/10-1"
is '8 bits for a server of 7, if they are to be kept' "$(verdict 10-1 -7)" \
    'error2 5.6.3'
one 10-1
is '... without any' "$(verdict 10-1 -7)" 'ok3 -'

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
		skip 'ourselves' 'port 25 cannot be had'
	done
else
	put_raw "$po" 10-1 <"$tmp/ctl"
	is 'a server that is ourselves' "$(feed 10-1 -- -h Test.Example |
	    awk '{ print $1, $2 }')" 'error2 5.4.6'
	put_raw "$po" 10-1 <"$tmp/ctl"
	is '... as a smart host' "$(feed 10-1 -- -h test.example \
	    -R '[127.0.0.1]' | awk '{ print $1, $2 }')" 'deferall 4.3.5'
	is '... gets no message' "$(grep -c 'EHLO\|MAIL' "$tmp/self/log")" 0
	put_raw "$po" 10-1 <"$tmp/ctl"
	is 'one with another name does' "$(feed 10-1 -- -h me.example |
	    awk '{ print $1, $2 }')" 'ok3 -'
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
ok 'the scheduler has it deliver all' wait_for 30 po_empty "$po"
is '... over one connection' "$(conns)" 1
is '... each once' "$(heard | grep RCPT | sort -u | wc -l | tr -d ' ')" 8
serve_end
for i in 1 2 3 4; do
	put "$po" 21$i-1 smtp h user$i@h
done
ok 'the server is down: all of it waits' wait_log 'status=deferall|deferall|asleep .*channel=smtp' 20
old=$srv
serve -p "$port"
ok 'the server is up again: all is delivered' wait_for 30 po_empty "$po"
is '... each once' "$(heard | grep RCPT | sort -u | wc -l | tr -d ' ')" 4
# The scheduler dies while the server makes up its mind: what it takes is done.
rules 'dot wait'
was=$(newest)
put "$po" 221-1 smtp h u1@h smtp h u2@h smtp h u3@h smtp h u4@h
ok 'four in one transaction' wait_for 20 grep '> DATA' "$srv/log"
sched_stop KILL
: >"$srv/go"
all_done() {
	[ "$(tags 221-1)" = ++++ ]
}
ok 'the scheduler is killed: all four are marked' wait_for 20 all_done
ok '... and the agent ends' wait_for 20 grep '^end' "$srv/log"
rules
sched_start "$po" "$tmp/cf"
ok '... the next one finds nothing to do' wait_for 30 po_empty "$po"
is '... no message comes twice' "$(newest)$(conns)" $((was + 1))0
put "$po" 222-1 smtp h u5@h
ok '... but a new one' wait_for 30 po_empty "$po"
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
is 'a smart host is told whole addresses' "$(heard | grep RCPT | sort |
    tr '\n' ' ')" 'RCPT TO:<"a b"@far.example> RCPT TO:<joe@else.example> RCPT TO:<joe@far.example> RCPT TO:<joe@our.example> '
sched_stop
is 'the agent says QUIT when it has to leave' \
    "$(wait_for 10 grep '> QUIT' "$srv/log" && heard | grep -c QUIT)" 1
serve_end
finish
