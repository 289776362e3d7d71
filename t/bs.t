#!/bin/sh
# submit -bs and -bS: mail that comes as SMTP commands.
. "${0%/*}/lib.sh"

open_spool
cr=$(printf '\r')
cat >"$tmp/routes" <<'END'
domain our.example
PARAMmessagesize 20k
spam@* ! we know you
all = anna, spam@x.org
bad = spam@x.org
*@our.example local -
|/bin/true* local -
*@* smtp -
* local -
END
sub() {
	"$S" -P "$po" -C "$tmp/routes" "$@"
}
# Lines end in CR LF, and $1 has escapes as for printf.
crlf() {
	printf "$1" | sed "s/\$/$cr/"
}
smtp() {	# commands: the replies behind the greeting
	crlf "$1" | sub -bs 2>"$tmp/err" | tr -d '\r' | sed 1d
}
clear() {
	find "$po" -type f -exec rm -f {} +
}
last() {	# commands: the last reply but that of QUIT
	smtp "$1\nQUIT\n" | sed -n '$!h;${x;p;}'
}
queued() {	# lines of the only control file that begin with these letters
	cat "$po"/transport/[1-9]* 2>/dev/null | sed '/^m$/q' |
	    sed -n "s/ $(id -u)\$//;s/^\([$1]\) */\1 /p" | tr '\n' '|'
	clear
}
body() {	# of the only message
	sed '1,/^$/d' "$po"/queue/[1-9]*
}

# ---- commands -------------------------------------------------------------------

like 'the greeting' "$(printf 'QUIT\r\n' | sub -bs | tr -d '\r' | tr '\n' '|')" \
    '^220 our.example ESMTP\|221 2.0.0 bye\|$'
is 'EHLO names what there is' "$(smtp 'EHLO me\nQUIT\n')" '250-our.example
250-SIZE 20480
250-PIPELINING
250-8BITMIME
250-ENHANCEDSTATUSCODES
250-ETRN
250 DSN
221 2.0.0 bye'
is 'HELO names us' "$(last 'HELO me')" '250 our.example'
while IFS='|' read -r commands want; do
	like "the reply to $commands" "$(last "$commands")" "^$want"
done <<'END'
EHLO|501 5.5.4
HELO a b|501 5.5.4
FOO|500 5.5.1
MAIL|501 5.5.4
MAIL FROM:anna|501 5.5.4
MAIL FROM:<anna|501 5.5.4
MAIL FROM:<a b>|501 5.1.7 sender <a b>: it contains a blank
MAIL FROM:<"a>b"@x.org>|250 2.1.0
mail from:<>|250 2.1.0
MAIL FROM: <anna> SIZE=10 BODY=8BITMIME RET=HDRS ENVID=a+2Bb|250 2.1.0
MAIL FROM:<anna>SIZE=10|501 5.5.4
MAIL FROM:<anna> SIZE=x|501 5.5.4
MAIL FROM:<anna> SIZE=20481|552 5.3.4
MAIL FROM:<anna> RET=half|555 5.5.4
MAIL FROM:<anna> ENVID=a=b|501 5.5.4
MAIL FROM:<anna> SMTPUTF8|555 5.5.4
MAIL FROM:<a>\nMAIL FROM:<b>|503 5.5.1
MAIL FROM:<a>\nRSET\nMAIL FROM:<b>|250 2.1.0
RCPT TO:<anna>|503 5.5.1
MAIL FROM:<a>\nRCPT TO:anna|501 5.5.4
MAIL FROM:<a>\nRCPT TO:<anna>|250 2.1.5
MAIL FROM:<a>\nRCPT TO:<spam@x.org>|550 5.1.1 spam@x.org: we know you
MAIL FROM:<a>\nRCPT TO:<a,b>|501 5.1.3
MAIL FROM:<a>\nRCPT TO:<>|501 5.1.3
MAIL FROM:<a>\nRCPT TO:<all>|250 2.1.5
MAIL FROM:<a>\nRCPT TO:<bad>\nRCPT TO:<bad>|550 5.1.1 bad: spam@x.org: we know
MAIL FROM:<a>\nRCPT TO:<b> NOTIFY=NEVER ORCPT=rfc822;b|250 2.1.5
MAIL FROM:<a>\nRCPT TO:<b> NOTIFY=NEVER,DELAY|555 5.5.4
MAIL FROM:<a>\nRCPT TO:<b> ORCPT=b|555 5.5.4
MAIL FROM:<a>\nRCPT TO:<b> ORCPT=rfc822;b ORCPT=rfc822;c|555 5.5.4
MAIL FROM:<a>\nRCPT TO:<b> NOTIFY=NEVER NOTIFY=DELAY|555 5.5.4
MAIL FROM:<a>\nDATA|503 5.5.1
MAIL FROM:<a>\nRCPT TO:<spam@x.org>\nDATA|503 5.5.1
VRFY anna|252 2.1.5
VRFY <spam@x.org>|550 5.1.1
VRFY|550 5.1.1
NOOP|250 2.0.0
ETRN|501 5.5.4
HELP|214 2.0.0 .*HELO
HELP MAIL|214 2.0.0
EXPN list|502 5.5.1
STARTTLS|502 5.5.1
AUTH PLAIN|502 5.5.1
STARTTLSX|500 5.5.1
ETRN @far.example|250 2.0.0 .*far.example
END
like 'no mail goes to programs' \
    "$(last 'MAIL FROM:<a>\nRCPT TO:<"|/bin/true">')" \
    '^550 5.1.1 .* may not go to programs'
is 'ETRN asks the scheduler' "$(cat "$po"/transport/*)" 'T far.example'
clear
is 'nothing is on standard error, which may be the connection' \
    "$(cat "$tmp/err")" ''

# ---- messages -------------------------------------------------------------------

out=$(last 'EHLO me\nMAIL FROM:<bert@x.org> RET=HDRS ENVID=e1\nRCPT TO:<anna@our.example> NOTIFY=success,DELAY ORCPT=rfc822;a\nRCPT TO:<spam@x.org>\nRCPT TO:<carl@y.org> NOTIFY=NEVER\nRCPT TO:<spam@y.org>\nDATA\nSubject: x\n\n..one\n.two\nFrom: x\n.')
like 'a message is queued under the name in the reply' "$out" \
    '^250 2\.0\.0 queued as [0-9]+-[0-9]+$'
is 'the name in the reply is that of the message' "${out##* }" \
    "$(ls "$po/queue")"
is 'dots at the beginning of a line are taken off' "$(body)" '.one
two
From: x'
is 'envelope and parameters' "$(queued enrRN)" \
'n e1|R HDRS|e bert@x.org|r local - anna|N NOTIFY=SUCCESS,DELAY ORCPT=rfc822;a|r smtp - carl@y.org|N NOTIFY=NEVER ORCPT=rfc822;carl@y.org|'
one='MAIL FROM:<a@x.org>\nRCPT TO:<anna>\nDATA\nSubject: x\n\n1\n.\n'
is 'a session has several messages' "$(smtp "$one$one$one" | grep -c 'queued as'
    ls "$po/queue" | wc -l | tr -d ' ')" '3
3'
clear
smtp 'MAIL FROM:<a@x.org>\nRCPT TO:<all>\nDATA\nx\n.\n' >/dev/null
is 'a member of an alias that is refused has a DSN' "$(queued rN)" \
'r local - anna|r error refused spam@x.org|N WHY=we+20know+20you|'
smtp 'MAIL FROM:<a@x.org>\nRCPT TO:<anna>\nDATA\nx: y\n\nhalf' >/dev/null
is 'a message without its end is not queued' "$(find "$po" -type f)" ''
big=$(awk 'BEGIN { for (i = 0; i < 4000; i++) printf "01234\\n" }')
is 'a message that is too big is refused, and the next one is taken' \
    "$(smtp "MAIL FROM:<a>\nRCPT TO:<b>\nDATA\nx: y\n\n$big.\n$one" |
    grep -v '250 2.1\|354' | cut -c1-9 | tr '\n' ' ')" '554 5.3.4 250 2.0.0 '
clear
loop=$(awk 'BEGIN { for (i = 0; i < 50; i++) printf "Received: x\\n" }')
like 'a message in a loop is refused' \
    "$(last "MAIL FROM:<a>\nRCPT TO:<b>\nDATA\n$loop\n.")" '^554 5.4.6 .*mail loop'

title='a reply has one status: that of the line, if it has one'
(cat "$tmp/routes"; echo 'PARAMminfree 4000000G') >"$tmp/small"
if without NO_STATVFS || ! "$S" -bn -C "$tmp/small" >/dev/null 2>&1; then
	skip "$title" 'no such limit here'
else
	like "$title" "$(crlf "${one}QUIT\n" | "$S" -P "$po" -C "$tmp/small" -bs \
	    2>/dev/null | grep 451)" '^451 4.3.1 the file system of .*'
fi

# ---- bare CR and LF --------------------------------------------------------------

# Nothing but CR LF . CR LF ends a message: the rest is in it, and it is refused.
for end in '\n.\n' '\n.\r\n' '\r\n.\n' '\r.\r' '\r\n.\r' '\r.\r\n' '\r\n.\r\r\n'; do
	out=$(printf "MAIL FROM:<a@x.org>\r\nRCPT TO:<b>\r\nDATA\r\nx: y\r\n\r\none${end}MAIL FROM:<evil@x.org>\r\nRCPT TO:<carl>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n" |
	    sub -bs | tr -d '\r' | sed 1d | cut -c1-9 | tr '\n' ' ')
	is "no end of a message: $end" "$out$(find "$po" -type f)" \
	    '250 2.1.0 250 2.1.5 354 end w 554 5.6.0 221 2.0.0 '
done
is 'a command that ends in LF is refused' "$(printf 'NOOP\nQUIT\r\n' |
    sub -bs | tr -d '\r' | sed -n 2p)" '500 5.5.2 the line must end in CR LF'
is 'a command with a CR is refused' "$(printf 'NOOP\rRSET\r\nQUIT\r\n' |
    sub -bs | tr -d '\r' | sed -n 2p)" '500 5.5.2 a CR or NUL is within the line'

# ---- limits ---------------------------------------------------------------------

long=$(awk 'BEGIN { for (i = 0; i < 3000; i++) printf "x" }')
is 'a long line is refused, and the next one is read' \
    "$(smtp "NOOP $long\nNOOP\n" | cut -c1-9 | tr '\n' ' ')" \
    '500 5.5.6 250 2.0.0 '
pad=$(awk 'BEGIN { for (i = 0; i < 2093; i++) printf "x" }')
is 'a command has 2099 bytes with its CR, and no more' \
    "$(smtp "NOOP $pad\nNOOP x$pad\n" | cut -c1-9 | tr '\n' ' ')" \
    '250 2.0.0 500 5.5.6 '
waits='?select,?_newselect,?pselect6,?pselect6_time64'
title='a client that is silent for 300 seconds is told so'
if strace -o /dev/null -e "trace=$waits" -e "inject=$waits:retval=0" true \
    2>/dev/null; then
	like "$title" "$(strace -o /dev/null -e "trace=$waits" \
	    -e "inject=$waits:retval=0" "$S" -P "$po" -C "$tmp/routes" -bs |
	    tail -n 1)" '^421 4.4.2 nothing came for 300 seconds'
else
	skip "$title" 'no strace'
fi
is 'a client has 20 errors' "$(smtp "$(awk 'BEGIN { for (i = 0; i < 30; i++)
    printf "FOO\\n" }')" | cut -c1-9 | uniq -c | awk '{ print $1, $2 }' |
    tr '\n' ' ')" '20 500 1 421 '
is '10 030 recipients are too many, which are no errors' "$(
    { echo 'MAIL FROM:<a>'
    awk 'BEGIN { for (i = 0; i < 10030; i++) print "RCPT TO:<u" i "@x>" }'
    printf 'DATA\nx\n.\n'; } | sed "s/\$/$cr/" | sub -bs | cut -c1-9 |
    sed 1,2d | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" \
    '10000 250 30 452 1 354 1 250 '
is 'the others get the message' "$(cat "$po"/transport/* | grep -c '^r')" 10000
clear
echo 'pair = v1@x, v2@x' >>"$tmp/routes"
most() {	# number: the commands of a message, up to so many recipients
	echo 'MAIL FROM:<a>'
	awk "BEGIN { for (i = 0; i < $1; i++) print \"RCPT TO:<u\" i \"@x>\" }"
}
is 'an alias with which there are more than 10 000 recipients is refused' "$(
    { most 9999; printf 'RCPT TO:<%s>\n' pair v2@x pair; printf 'DATA\nx\n.\n'; } |
    sed "s/\$/$cr/" | sub -bs | sed '1,10001d' | cut -c1-9 | tr '\n' ' ')" \
    '452 4.5.3 250 2.1.5 452 4.5.3 354 end w 250 2.0.0 '
is 'nobody of that alias gets the message' \
    "$(sed -n 's/^r .* \(v.@x\) .*/\1/p' "$po"/transport/* | tr '\n' ' ')" 'v2@x '
clear
out=$({ most 10001; printf 'DATA\nx\n.\n'; } | sub -bS 2>&1)
is 'a recipient that a batch loses counts in the exit status' $? 65
is 'a recipient that a batch loses is named once' "$out" \
    'submit: with u10000@x the message would have more than 10000 recipients'
is 'the others of the batch get the message' \
    "$(cat "$po"/transport/* | grep -c '^r')" 10000
clear
echo 'x' >>"$tmp/routes"
like 'with a wrong table mail waits in router/' "$(last "${one%??}")" \
    '^250 2.0.0 queued as router/'
sed '$d' "$tmp/routes" >"$tmp/r" && mv "$tmp/r" "$tmp/routes"
is 'a message in router/ has no route yet' \
    "$(sed '/^fullname/d;/^to/q' "$po"/router/*)" \
    'from <a@x.org>
to <anna>'
clear
like '-bs without a post office' "$("$S" -bs -P "$tmp/none" -C "$tmp/routes" \
    </dev/null; echo $?)" '^421 4.3.0 .*'
title='-bs without the rights of the owner says so'
if without NO_SYMLINK; then
	skip "$title" 'built without'
else
	mv "$po/transport" "$po/t"
	ln -s t "$po/transport"
	like "$title" "$(sub -bs </dev/null 2>/dev/null | tr -d '\r'; echo $?)" \
	    '^421 4.3.0 .*/transport is a link, or no directory$'
	rm "$po/transport"
	mv "$po/t" "$po/transport"
fi
out=$("$S" -bs anna </dev/null 2>&1)
is '-bs takes no addresses' $? 64
for net in 10.0.0.0 10.0.0.0/33 10.0.0/8 x/8 10.0.0.0/8,,::/0 10.0.0.0/8x; do
	echo "PARAMnetworks $net" >"$tmp/r"
	like "a wrong network: $net" "$("$S" -bn -C "$tmp/r" 2>&1)" \
	    ":1: $net: a network is ADDRESS/BITS"
done

# ---- peers ----------------------------------------------------------------------

python=
for p in python3 python; do
	[ -n "$python" ] || python=$(command -v $p)
done
cat >"$tmp/peer.py" <<'END'
import socket, subprocess, sys
where, commands = sys.argv[1], sys.argv[2].encode().decode('unicode_escape')
if where == 'own':
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect(('192.0.2.1', 9))
    where = s.getsockname()[0]
    if where.startswith('127.'):
        sys.exit(9)
    if not commands:
        print(where)
        sys.exit(0)
family = socket.AF_INET6 if ':' in where else socket.AF_INET
l = socket.socket(family, socket.SOCK_STREAM)
l.bind((where, 0))
l.listen(1)
c = socket.socket(family, socket.SOCK_STREAM)
c.connect(l.getsockname())
a = l.accept()[0]
p = subprocess.Popen(sys.argv[3:], stdin=a, stdout=a, stderr=a)
a.close()
f = c.makefile('rb')
greeting = f.readline()
sys.stdout.write(greeting.decode().replace('\r', ''))
if greeting.startswith(b'220'):
    c.sendall(commands.encode())
c.shutdown(socket.SHUT_WR)
sys.stdout.write(f.read().decode().replace('\r', ''))
sys.stdout.write('%d\n' % p.wait())
END
peer() {	# address commands
	"$python" "$tmp/peer.py" "$@" "$S" -bs -P "$po" -C "$tmp/routes" 2>&1
}
tcp='MAIL FROM:<a@x.org>\r\nRCPT TO:<"|/bin/true">\r\nRCPT TO:<anna>\r\nDATA\r\nX: y\r\n\r\n.\r\n'
if [ -n "$python" ] && [ "$(peer 127.0.0.1 '' | tail -n 1)" = 0 ]; then
	is 'a client on the loopback is served' \
	    "$(peer 127.0.0.1 "EHLO (me)\r\n$tcp" | sed -n '9,$p' | cut -c1-9 |
	    tr '\n' ' ')" '250 2.1.0 550 5.1.1 250 2.1.5 354 end w 250 2.0.0 0 '
	is 'Received has the name and the address of the client' \
	    "$(sed -n 's/^Received: //p' "$po"/queue/*)" \
	    'from _me_ ([127.0.0.1])'
	is 'mail by a socket has the privilege of nobody' \
	    "$(sed -n 's/^r.*- //p' "$po"/transport/*)" 'anna 65534'
	clear
	own=$(peer own '')
	if [ $? -eq 0 ]; then
		like 'a client of another network is refused' \
		    "$(peer own "$tcp")" "^554 5.7.1 no service for $own .*"
		is 'a client of another network: the exit code is 77' \
		    "$(peer own "$tcp" | sed 1d)" 77
		for net in "$own/32" "203.0.113.0/24,$own/9"; do
			echo "PARAMnetworks $net" >>"$tmp/routes"
			like "PARAMnetworks names the client: $net" \
			    "$(peer own "$tcp")" '^250 2.0.0 queued'
		done
		for net in 203.0.113.0/24 ::/0; do
			echo "PARAMnetworks $net" >>"$tmp/routes"
			like "PARAMnetworks names others: $net" \
			    "$(peer own "$tcp")" '^554 5.7.1'
		done
	else
		for i in 1 2 3 4 5 6; do
			skip 'a client of another network' 'no such address'
		done
	fi
	sed '/PARAMnet/d' "$tmp/routes" >"$tmp/r" && mv "$tmp/r" "$tmp/routes"
	clear
	case $(peer ::1 "$tcp") in
	220*) pass 'a client on the loopback of IPv6 is served' ;;
	*Traceback*) skip 'the loopback of IPv6' 'no IPv6' ;;
	*) fail 'a client on the loopback of IPv6 is served' ;;
	esac
	clear
	cat >"$tmp/lib.py" <<'END'
import smtplib, socket, subprocess, sys
l = socket.socket()
l.bind(('127.0.0.1', 0))
l.listen(1)
c = subprocess.Popen([sys.executable, '-c', '''
import smtplib, sys
s = smtplib.SMTP('127.0.0.1', int(sys.argv[1]))
print(sorted(s.sendmail('a@x.org', ['anna', 'spam@x.org'],
    'Subject: x\\n\\n.one\\ntwo\\n')))
s.quit()
''', str(l.getsockname()[1])])
a = l.accept()[0]
subprocess.call(sys.argv[1:], stdin=a, stdout=a)
a.close()
sys.exit(c.wait())
END
	is "Python's smtplib: who is refused" "$("$python" "$tmp/lib.py" "$S" \
	    -bs -P "$po" -C "$tmp/routes" 2>&1)" "['spam@x.org']"
	is "Python's smtplib: the message" "$(body)" '.one
two'
	clear
else
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		skip 'clients behind a socket' 'no python, or no sockets'
	done
fi

# ---- batches --------------------------------------------------------------------

batch() {	# commands: what is printed, and the exit code
	printf "$1" | sub -bS 2>&1
	echo $?
}
is 'a batch has no replies' "$(batch "HELO hub\n${one}QUIT\n")" 0
is 'a batch: the message is queued' "$(queued er)" \
    'e a@x.org|r local - anna|'
is 'a batch may have CR LF, and no QUIT' "$(crlf "$one" | sub -bS 2>&1
    echo $?; body)" '0
1'
clear
is 'a batch has several messages' \
    "$(batch "$one$one$one"; ls "$po/queue" | wc -l | tr -d ' ')" '0
3'
clear
is 'a batch: a wrong recipient is printed, and gets a DSN' \
    "$(batch 'MAIL FROM:<a@x.org>\nRCPT TO:<anna>\nRCPT TO:<spam@y>\nDATA\n\n..\n.\n')$(queued r)" \
    'submit: spam@y: we know you
0r local - anna|r error refused spam@y|'
ln -s submit "$tmp/bin/rsmtp"
is 'a batch: all recipients are wrong' "$(
    printf 'MAIL FROM:<a@x.org>\nRCPT TO:<spam@y>\nDATA\n\n.\n' |
    "$tmp/bin/rsmtp" -P "$po" -C "$tmp/routes" 2>/dev/null
    echo $?)$(queued r)" '0r error refused spam@y|'
is 'a batch: a message without a sender may wait for submit -q' \
    "$(batch 'MAIL FROM:<>\nRCPT TO:<spam@y>\nDATA\n\n.\n')$(cat \
    "$po"/router/* | sed 2q)" 'submit: spam@y: we know you
0channel error
to <spam@y>'
clear
is 'a batch: what is wrong is printed once, other messages are taken' \
    "$(batch "MAIL FROM:<a b>\nRCPT TO:<anna>\nDATA\nx\n.\n$one" |
    cut -c1-24)$(queued r)" 'submit: sender <a b>: it
submit: 503 5.5.1 MAIL c
submit: a message has no
65r local - anna|'
is 'a batch that is cut is an error, and nothing of its last message is taken' \
    "$(batch "${one}MAIL FROM:<a>\nRCPT TO:<b>\nDATA\nhalf")$(queued r)" \
    'submit: cannot read the message: the dot at its end is missing; nothing was queued
75r local - anna|'
finish
