#!/bin/sh
# submit: what callers of sendmail rely on, routes, the queue it writes, and
# runs over router/.
. "${0%/*}/lib.sh"

po=$tmp/po
unset POSTOFFICE MAILSHARE
TZ=UTC
export TZ
spool_new "$po"
mkdir -p "$tmp/bin"
cp "${SUBMIT:-$top/submit}" "$tmp/bin/submit" || exit 1
chmod 755 "$tmp/bin/submit"
S=$tmp/bin/submit
cat >"$tmp/routes" <<'END'
# the table of these tests
domain	our.example
spam@*			! we know you
*@our.example		local	-
*@{home,house}.example	local	-	# two names
*@up.example		uux	$h
a*b@*			other	[10.1.2.3]:25
*@*.far			smtp	mail.$h
|/bin/true*		local	-
*!*			uux	gate
*@*			smtp	relay.example
*			local	-
END
sub() {
	"$S" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
clear() {
	find "$po" -type f -exec rm -f {} +
}
# The control file of the only message, which goes away.
ctl() {
	cat "$po"/transport/[1-9]* "$po"/transport/.[1-9]* 2>/dev/null
	clear
}
rcpts() {
	ctl | sed -n 's/^r           //p' | sed "s/ $(id -u)\$//" |
	    tr '\n' ';'
}
mine=$(id -u)
me=$(id -un)
without NO_PWD && me=uid$mine

# ---- a message --------------------------------------------------------------

printf 'To: anna@our.example\nSubject: test\n\nthe body\n' >"$tmp/m"
out=$(sub -v anna@our.example <"$tmp/m")
like 'a message is queued' "$out" '^queued as [0-9]+-[0-9]+$'
name=${out##* }
f=$po/transport/$name
is 'the name of a queued message begins with its inode number' \
    "$(ls -i "$po/queue/$name" | awk '{ print $1 }')" "${name%-*}"
is 'a queued message has two files' \
    "$(find "$po" -type f | wc -l | tr -d ' ')" 2
is 'a control file: the order of its lines' \
    "$(sed -n 's/^\([iolesrNnRm]\)\( .*\)*$/\1/p' "$f" |
    tr -d '\n')" iolesrm
is 'a control file: the sender' "$(sed -n 's/^s //p' "$f")" \
    "local - $me@our.example $mine"
is 'a control file: the recipient' "$(sed -n '/^r/p' "$f")" \
    "r           local - anna $mine"
off=$(sed -n 's/^o //p' "$f")
is 'a control file: the offset leads to the body' \
    "$(dd if="$po/queue/$name" bs=1 skip="$off" 2>/dev/null)" 'the body'
is 'a control file: the header' "$(sed -n '/^m/,$p' "$f" | sed '1d
s/[0-9][0-9]*-[0-9]*;/NAME;/
s/[A-Z][a-z][a-z], [0-9]* [A-Z][a-z][a-z] 20[0-9][0-9] ..:..:.. +0000$/DATE/
s/^\(Message-ID: <\)[0-9.]*@/\1ID@/
s/^From: .*</From: </')" "Received: by our.example (submit, uid $mine)
	id NAME; DATE
To: anna@our.example
Subject: test
From: <$me@our.example>
Date: DATE
Message-ID: <ID@our.example>"
is 'the message file has the header of the control file' \
    "$(sed '/^$/q' "$po/queue/$name")" \
    "$(sed '1,/^m/d' "$f")"
is 'both files of a message are for their owner only' \
    "$(ls -l "$f" "$po/queue/$name" | cut -c1-10 |
    tr '\n' ' ')" '-rw------- -rw------- '
clear

# ---- options ------------------------------------------------------------------

code() {	# title status pattern [option ...]
	want=$2 re=$3 title=$1
	shift 3
	out=$(sub "$@" <"$tmp/m")
	is "$title" $? "$want"
	like "$title: a line says why" "$out" "$re"
	is "$title: nothing is queued" "$(find "$po" -type f)" ''
}
code 'no recipients' 64 '^submit: no recipients'
code 'an unknown option' 64 'no such option' -Z anna
code 'an argument is missing' 64 'argument is missing' -f
code '-bp' 64 'mailq' -bp
code '-bd' 64 'bd is not supported' -bd
is '-bi succeeds silently' "$("$S" -bi 2>&1; echo $?)" 0
like '-bi -v says that there is nothing to build' \
    "$(sub -bi -v; echo $?)" '^aliases are lines of .*nothing needs building
0$'
ln -s submit "$tmp/bin/newaliases"
is 'newaliases is -bi' "$("$tmp/bin/newaliases" 2>&1; echo $?)" 0
is 'behind a wrong option the usage is not printed' \
    "$("$S" -Z 2>&1 | wc -l | tr -d ' ')" 2
code '-bv without an address' 64 'bv takes addresses' -bv
code '-bv with -t' 64 'bv takes addresses' -bv -t anna
is 'after a line that is too long, the next one is whole' \
    "$(sub -bv -f "$(awk 'BEGIN { for (i = 0; i < 600; i++) printf "a, " }')" \
    anna bert | grep -c '^submit: sender a, a, ')" 2
code '-N with an unknown word' 64 'write never, or' -N sometimes anna
code '-N with an empty list' 64 'write never, or' -N , anna
code '-R with an unknown word' 64 'full or hdrs' -R half anna
code '-V with a blank' 64 'xtext' -V 'a b' anna
code '-q with a wrong span' 64 'no span' -qx
code '-q with recipients' 64 'no recipients' -q anna
code 'an option behind --' 65 'begins with a -' -- -t
code 'a wrong sender' 65 '^submit: sender a b: it contains a blank' -f 'a b' x
eight=$(printf 'gr\303\274n')
utf8() {	# where address
	code "UTF-8 in $1 of a sender" 65 '5\.6\.7 it is not ASCII' -f "$2" x
	code "UTF-8 in $1 of a recipient" 65 '5\.6\.7 it is not ASCII' "$2"
}
utf8 'the name' "$eight@a.example"
utf8 'the domain' "a@$eight.example"
utf8 'a quoted name' "\"$eight\""
utf8 'a name without a domain' $eight
code 'a program as sender' 65 'nothing can be sent back' -f '"|x"' x
code 'two senders' 65 'must be one' -f 'a,b' x
code '-bv with a missing table' \
    78 'cannot read the table .*No such file' -C "$tmp/none" -bv x
like '-bV prints the version' "$("$S" -bV)" '^submit [0-9]'
out=$("$S" -P "$tmp/nowhere" -C "$tmp/routes" anna <"$tmp/m" 2>&1)
is 'a missing post office: the exit code is 75' $? 75
like 'a missing post office: a line says what to do' \
    "$out" 'nowhere/public is missing or .*start the scheduler'

sub -i -t -oi -oem -em -odb -v -m -n -G -U -h 3 -B 8BITMIME -L tag -p ESMTP \
    -Ac -x -d0.1 -O Timeout.queue=1d -X /dev/null -bm anna <"$tmp/m" >/dev/null
is "options that callers of sendmail use are accepted" $? 0
ctl >/dev/null
sub -tiF 'Full Name' -fx@y.org -- carl <"$tmp/m" >/dev/null
is 'options can share a word' "$(ctl | grep -E '^(s|r|From)' | tr '\n' '|')" \
"s local - x@y.org $mine|r           local - carl $mine|r           local - anna $mine|From: Full Name <x@y.org>|"
sub -F 'B. "Q" \ Ober' anna <"$tmp/m"
like 'a full name is quoted in From' "$(ctl)" '^From: "B. \\"Q\\" \\\\ Ober" <'
sub -f '' anna <"$tmp/m"
is "-f '' is the empty sender" "$(ctl | grep '^[es]')" "s error - <> $mine"
sub -r '<>' anna <"$tmp/m"
is '-r <> is the empty sender' "$(ctl | grep '^[es]')" "s error - <> $mine"
sub -f '<bert>' anna <"$tmp/m"
is 'a sender without a domain gets ours' "$(ctl | grep '^[es]' | tr '\n' '|')" \
    "e bert@our.example|s local - bert@our.example $mine|"
sub -N success,delay -R hdrs -V env+2Bid 'a+b@up.example' carl <"$tmp/m"
is '-N, -R and -V are written to the control file' \
    "$(ctl | grep '^[nRN] ' | tr '\n' '|')" \
    'n env+2Bid|R HDRS|N NOTIFY=SUCCESS,DELAY ORCPT=rfc822;a+2Bb@up.example|N NOTIFY=SUCCESS,DELAY ORCPT=rfc822;carl|'
sub -N never -R FULL carl <"$tmp/m"
is '-N never is written to the control file' \
    "$(ctl | grep '^[nRN] ' | tr '\n' '|')" \
    'R FULL|N NOTIFY=NEVER ORCPT=rfc822;carl|'

ln -s submit "$tmp/bin/sendmail"
out=$("$tmp/bin/sendmail" -P "$po" -C "$tmp/routes" 'a@@b' <"$tmp/m" 2>&1)
like 'the name sendmail is used in error lines' \
    "$out" '^sendmail: a@@b: it has more than one @'
POSTOFFICE=$po MAILSHARE=$tmp "$tmp/bin/sendmail" anna <"$tmp/m"
is 'post office and table come from the environment' "$(rcpts)" 'local - anna;'

# ---- header and body -------------------------------------------------------------

body() {	# of the only message
	for body_f in "$po"/transport/[1-9]*; do
		tail -c "+$(($(sed -n 's/^o //p' "$body_f") + 1))" \
		    "$po/queue/${body_f##*/}"
	done
	echo x
}
fields() {	# the names, of the only message
	sed -n '/^m$/,/^$/p' "$po"/transport/[1-9]* |
	    sed -n 's/^\([A-Za-z-]*\):.*/\1/p' | tr '\n' ' '
	clear
}
printf 'Subject: x\n\none\n.\ntwo\n' | sub anna
is 'a dot on a line of its own ends the message' "$(body)" 'one
x'
clear
printf 'Subject: x\n\none\n.\ntwo\n..\n.x' | sub -i anna
is '-i: a dot does not end the message' "$(body)" 'one
.
two
..
.x
x'
clear
printf 'Subject: x\n.\n\none\n' | sub anna
is 'a dot ends a message in its header' "$(body)$(fields)" \
    'xReceived Subject From Date Message-ID To '
printf '' | sub anna
is 'an empty input is a message' \
    "$(body)$(fields)" 'xReceived From Date Message-ID To '
printf 'no header: here' | sub anna
is 'a message without a header gets one' "$(body)$(fields)" 'no header: here
xReceived From Date Message-ID To '
printf 'X: 1\n  goes on\nNot-a-field\nY: 2\n' | sub anna
is 'a header without an empty line ends at the first other line' \
    "$(body)$(fields)" 'Not-a-field
Y: 2
xReceived X From Date Message-ID To '
printf ' begins with a blank\n' | sub anna
is 'a blank in the first byte begins the body' "$(body)" ' begins with a blank
x'
clear
printf 'From x@y Mon Jan  1 00:00:00 2001\nX: 1\n\nb\n' | sub anna
is 'a From line of a mailbox is removed' "$(body)$(fields)" 'b
xReceived X From Date Message-ID To '
printf 'From \nX: 1\n\nb\n' | sub anna
is 'an empty From line of a mailbox is removed' "$(body)$(fields)" 'b
xReceived X From Date Message-ID To '
printf 'X: 1\r\nY: a\r\n b\r\n\r\none\r\ntwo\rthree\r\n.\r\nfour\r\n' |
    sub anna
is 'CR LF of the body becomes LF' "$(body | tr '\r' '@')" 'one
two@three
x'
is 'CR LF of the header becomes LF' "$(ctl | grep -c "$(printf '\r')")" 0
printf 'X: 1\nY: a\rb\n\none\r\ntwo\n' | sub anna
is 'CR LF in a message of LF is kept in the body' "$(body | tr '\r' '@')" 'one@
two
x'
is 'a CR in a header of LF becomes a blank' "$(ctl | grep '^Y')" 'Y: a b'
printf 'X: a\000b\n\none\000two\377\n' | sub anna
is 'NUL and 8-bit bytes are kept in the body' \
    "$(body | od -An -c | tr -d ' \n')" \
    'one\0two377\nx\n'
is 'NUL is removed from the header' "$(ctl | grep '^X')" 'X: ab'
printf 'To: a\nFrom: me\nDate: now\nMESSAGE-ID : <1@x>\nCc:b\nbcc: c\n d\nReturn-Path: <e>\nContent-Length: 9\nResent-Bcc: f\nX-Bcc: g\n\n' | sub anna
is 'fields are kept, but not Bcc, Return-Path and Content-Length' "$(fields)" \
    'Received To From Date Cc X-Bcc '
# What mail from cron and scripts has in From, and what it becomes.
while IFS='|' read -r from want; do
	printf 'From:%b\nTo: x@x.org\n\nb\n' "$from" | sub anna
	is "From:$from becomes From:$want" \
	    "$(ctl | awk '/^From:/ { on = 1; sub(/^From:/, "") }
	    on && /^To/ { exit } on { print }')" "$(printf '%b' "$want")"
done <<'END'
 root (Cron Daemon)| root@our.example (Cron Daemon)
 "A, B" <anna>, b@x.org, "c d"| "A, B" <anna@our.example>, b@x.org, "c d"@our.example
 team: anna,\n\tbert;| team: anna@our.example,\n\tbert@our.example;
 root@far.example| root@far.example
 Cron Daemon| Cron Daemon
 <root| <root
END
printf 'Received: by far.example\nFrom: root\n\nb\n' | sub anna
is 'From of a message that came from another host is not completed' \
    "$(ctl | grep '^From')" 'From: root'
{
	printf 'From: a'
	awk 'BEGIN { for (i = 0; i < 30000; i++) printf ",\n a" }'
	printf '\n\nb\n'
} | sub anna
is 'of a long From 100 addresses are completed' \
    "$(ctl | grep -c a@our.example)" 100
printf 'To: a\nMESSAGE-ID : <1@x>\n\n' | sub anna
is 'a Message-ID of odd spelling is used for the log' \
    "$(ctl | grep '^l')" 'l <1@x>'
awk 'BEGIN { for (i = 0; i < 50; i++) print "Received: x"; print "\nbody" }' \
    >"$tmp/loop"
out=$(sub anna <"$tmp/loop")
is 'too many Received lines: the exit code is 69' $? 69
like 'too many Received lines: a line says so' "$out" 'mail loop'
awk 'BEGIN { printf "X: "; for (i = 0; i < 40000; i++) printf "0123456789"
    print "\n" }' >"$tmp/long"
out=$(sub anna <"$tmp/long")
is 'a large header: the exit code is 65' $? 65
like 'a large header: a line says so' "$out" 'longer than 256 KB'
is 'a large header: nothing is queued' "$(find "$po" -type f)" ''
sed 's/^X: /X/' "$tmp/long" | sub anna
is 'a long line without a colon is not a header' \
    "$(body | wc -c | tr -d ' ')" 400005
clear
TZ=XYZ-5:30 sub anna <"$tmp/m"
like 'Date has the time zone, to the east' "$(ctl)" '^Date: .* \+0530$'
TZ=XYZ+11 sub anna <"$tmp/m"
like 'Date has the time zone, to the west' "$(ctl)" '^Date: .* -1100$'

# ---- recipients from the header ----------------------------------------------------

cat >"$tmp/t" <<'END'
To: Anna <anna@our.example>, "B, C" <"b c"@our.example>,
	bert (away (far)) @ our . example
Cc: friends: carl@our.example, <@a.org,@b.org:dora@home.example>;, ,emil;
 undisclosed-recipients:;
Bcc: fritz
To: gabi@x.y.far

END
sub -t hans anna@home.example <"$tmp/t"
is '-t takes recipients from To, Cc and Bcc' \
    "$(rcpts)" 'local - hans;local - anna;local - "b c";local - bert;smtp mail.x.y.far gabi@x.y.far;local - carl;local - dora;local - emil;local - fritz;'
printf 'Resent-To: a\nResent-Cc: b\nResent-Bcc: c\nTo: d\n\n' | sub -t
is '-t takes recipients from Resent fields only, if there are any' \
    "$(rcpts)" 'local - a;local - b;local - c;'
out=$(printf 'Subject: x\n\nTo: anna\n' | sub -t)
is '-t without recipients: the exit code is 65' $? 65
like '-t without recipients: a line says so' \
    "$out" 'no recipients in the header'
sub -t <<'END' >"$tmp/out"
To: anna@@x, good@our.example, Joe User, "open, x@y

END
is '-t with wrong addresses: all are named, the exit code is 0' \
    "$? $(cat "$tmp/out")" '0 submit: anna@@x: it has more than one @
submit: Joe User: it contains a blank
submit: "open, x@y: a quote is not closed
submit: every other recipient gets the message; the sender gets a DSN'
is '-t with wrong addresses: the others get the message' "$(rcpts)" \
    'error syntax anna@@x;local - good;error syntax Joe_User;error syntax _open,_x@y;'

wrong() {	# address pattern
	text=$(printf '%s' "$1" | tr -c '\040-\176' '?' | cut -c1-30)
	out=$(sub -- "$1" </dev/null)
	is "the address $text is wrong" $? 65
	like "the address $text is wrong: a line says why" "$out" "$2"
}
wrong '<>' 'empty'
wrong '<a@x.org> <b@x.org>' 'something follows the >'
wrong '@x.org' 'before the @ is missing'
wrong 'a@' 'domain is not valid'
wrong 'a@x..org' 'domain is not valid'
wrong 'a@-x.org' 'domain is not valid'
wrong 'a@x.org.' 'domain is not valid'
wrong 'a@[1.2' 'closing ]'
wrong 'a@[1 2]' 'domain cannot|not allowed'
wrong 'a@"x"' 'domain is not valid'
wrong '<a@x.org' 'closing >'
wrong 'a@x.org>' '> without'
wrong 'a <b> c' 'follows'
wrong 'a@x.org:25' 'a : follows'
wrong 'friends: a@x.org: b@x.org' 'a : follows'
wrong 'a (b' 'closing \)'
wrong 'a)b' 'must be quoted'
wrong 'a\b' 'must be quoted'
wrong "a$(printf '\001')b" 'not allowed'
wrong "\"a$(printf '\001')b\"" 'not allowed'
wrong '"-x"@y' 'begins with a -'
wrong '"\-x"@y' 'begins with a -'
wrong '""' 'empty'
wrong '""@x.org' 'empty'
wrong "$(awk 'BEGIN { for (i = 0; i < 100; i++) printf "0123456789" }')@x" \
    'too long'
printf 'To: a@b\n' >"$tmp/x"
sub 'Anna @ home: <anna@our.example>, friends: bert@our.example;' \
    @a.org:carl@our.example <"$tmp/x"
is 'the name of a group or person, and a route, may have an @' "$(rcpts)" \
    'local - anna;local - bert;local - carl;'
sub '"quoted \" and \\ (x) <y>"@up.example' 'a..b.@up.example' \
    'x@[1.2.3.4]' 'y@[IPv6:::1]' <"$tmp/x"
is 'strange but correct addresses are accepted' \
    "$(rcpts)" 'uux up.example "quoted \" and \\ (x) <y>"@up.example;uux up.example a..b.@up.example;smtp relay.example x@[1.2.3.4];smtp relay.example y@[IPv6:::1];'

awk 'BEGIN { printf "To: "; for (i = 0; i < 10000; i++)
    printf "u%d@our.example,\n ", i; print "\n" }' >"$tmp/many"
sub -t <"$tmp/many"
is '10 000 recipients are accepted' "$(ctl | grep -c '^r .* local - u')" 10000
sub -t u9999 u1 <"$tmp/many"
is '10 000 recipients: repeated ones count once' "$(ctl | grep -c '^r')" 10000
out=$(sub -t one-more <"$tmp/many")
is '10 001 recipients: the exit code is 69' $? 69
like '10 001 recipients: a line says so' "$out" 'more than 10000'

# ---- wrong recipients beside others ------------------------------------------------

sub -N success good@our.example spam@x.org spam@X.Org 'a b' >"$tmp/out" 2>&1 <"$tmp/m"
is 'one recipient is wrong: the message is taken' $? 0
is 'one recipient is wrong: the DSN gets the reason' "$(ctl | grep '^[rN]')" \
    "r           local - good $mine
N NOTIFY=SUCCESS ORCPT=rfc822;good@our.example
r           error refused spam@x.org $mine
N NOTIFY=SUCCESS ORCPT=rfc822;spam@x.org WHY=we+20know+20you
r           error syntax a_b $mine
N NOTIFY=SUCCESS ORCPT=rfc822;a+20b WHY=it+20contains+20a+20blank"
all() {		# title status want [option ...]
	title=$1 want=$3 status=$2
	shift 3
	sub "$@" spam@x.org spam@y.org <"$tmp/m" >"$tmp/out"
	is "all recipients are wrong, $title: the exit code" $? "$status"
	is "all recipients are wrong, $title: the queue" "$(rcpts)" "$want"
}
both='error refused spam@x.org;error refused spam@y.org;'
all 'without -oe' 67 ''
all '-oep' 67 '' -oep
all '-oem' 67 "$both" -oem
all '-em' 67 "$both" -em
all '-o em' 67 "$both" -o em
all '-oee' 0 "$both" -oee
all '-oem, no sender' 67 '' -oem -f '<>'
all '-oeq' 67 '' -oeq
is 'with -oeq no line says what is wrong' "$(cat "$tmp/out")" ''
if script -qc true /dev/null >/dev/null 2>&1 </dev/null; then
	# without -e, and that of the BSDs ends before the command does
	script -qc "'$S' -P '$po' -C '$tmp/routes' -oem spam@x <'$tmp/m'
	    echo \$? >'$tmp/rc'" /dev/null >"$tmp/x" 2>&1 </dev/null
	wait_for 30 test -s "$tmp/rc"
	is 'a person at a terminal gets the exit code with -oem' \
	    "$(cat "$tmp/rc")$(find "$po" -type f)" 67
else
	skip 'a person at a terminal gets the exit code with -oem' \
	    'no script -c'
fi
out=$(sub -f '<>' -v good 'a>, x@y<' 'spam@x' </dev/null)
is 'one is wrong, without a sender: the message goes through router/' \
    "$? $(sed -n 's/^[cte].* /&/p' "$po"/router/* | tr '\n' ' ')" \
    '0 channel error to <good> to <<a___x@y_> to <spam@x> '
sub -q >/dev/null
is '... and the postmaster gets a copy' \
    "$(ls "$po/postman" | sed 's/^[0-9]*//; s/-0-1$/-0-0/') $(rcpts)" \
    '_untold.bounce-0-0 local - good;'
printf 'spam@* ! no\n*@* smtp syntax\n' >"$tmp/syntax"
sub -C "$tmp/syntax" -f '<>' anna@y spam@x <"$tmp/m" >/dev/null
is 'a host whose name is "syntax" makes no address wrong' \
    "$(sed -n 's/^to //p' "$po"/router/* | tr '\n' ' ')" \
    '<anna@y> <spam@x> '
clear
rmdir "$po/private"

# ---- routes --------------------------------------------------------------------------

to() {		# address route
	out=$(sub -- "$1" <"$tmp/x")
	is "route of $1" "$out$(rcpts)" "$2"
}
refused() {	# address pattern [status = 67]
	out=$(sub -- "$1" <"$tmp/x")
	is "the recipient $1 is refused" $? "${3:-67}"
	like "the recipient $1 is refused: a line says why" "$out" "$2"
}
to postmaster 'local - root;'
to PostMaster@our.example 'local - root;'
to postmaster@far.org 'smtp relay.example postmaster@far.org;'
to ANNA@Our.Example 'local - ANNA;'
to anna@house.example 'local - anna;'
to anna@up.example 'uux up.example anna@up.example;'
to aXYb@x 'other [10.1.2.3]:25 aXYb@x;'
to A@B.Far 'smtp mail.b.far A@b.far;'
to a!b 'uux gate a!b;'
to a@elsewhere.org 'smtp relay.example a@elsewhere.org;'
refused spam@our.example 'we know you'
refused '"s\pam"@our.example' 'we know you'
refused /etc/passwd 'no route'
refused '"|rm x"' 'no route'
refused '"|rm x"@our.example' 'no route'
refused '" |rm"' 'no route'
refused '":include:/x"@our.example' 'no route'
to '"|/bin/true x"' 'local - "|/bin/true x";'
to '|/bin/true' 'local - |/bin/true;'
cp "$tmp/routes" "$tmp/good"
printf '*@home smtp $h\n* smtp far.example\n' >"$tmp/routes"
to anna@home 'smtp home anna@home;'
sub anna <"$tmp/x"
like 'a name without a domain gets ours for another host' "$(rcpts)" \
    '^smtp far.example anna@[^;]+;$'
printf '* smtp $h\n' >"$tmp/routes"
refused anna 'no host' 68

# What the agent gets as user.
cat >"$tmp/routes" <<'END'
domain		our.example
*@$d		local	-
err@*		error	-
*@wait.example	hold	-
*@box.example	boxes	-	$u	# names
*@gate.example	uux	gate	$u
*@whole.example	local	-	$u@$h
bang!*		uux	-
|/bin/prog*	sm	-
|/bin/gate*	smtp	gate.example
{fax*,x@fax}	sm	-	$u
bob		local	-	$u@$h
*@*		smtp	-
*		smtp	-
END
to joe@far.example 'smtp - joe@far.example;'
to joe@FAR.Example 'smtp - joe@far.example;'
to '"b c"@far.example' 'smtp - "b c"@far.example;'
to joe 'smtp - joe@our.example;'
to joe@our.example 'local - joe;'
to err@far.example 'error - err;'
to joe@wait.example 'hold - joe;'
to joe@box.example 'boxes - joe;'
to '"a@b"@box.example' 'boxes - "a@b";'
to '"a@box.example"' 'smtp - "a@box.example"@our.example;'
to '"|/bin/prog x@y"' 'sm - "|/bin/prog x@y";'
to joe@gate.example 'uux gate joe;'
to joe@whole.example 'local - joe@whole.example;'
to bang!joe 'uux - bang!joe;'
to '|/bin/prog' 'sm - |/bin/prog;'
to '|/bin/gate' 'smtp gate.example |/bin/gate@our.example;'
to fax123 'sm - fax123;'
to x@fax 'sm - x;'
to bob 'local - bob@our.example;'
sub joe@a.example joe@b.example <"$tmp/x"
is 'equal names at two domains are two recipients' "$(rcpts)" \
    'smtp - joe@a.example;smtp - joe@b.example;'

# Names or addresses?  For our own domain the line must say which.
unclear() {	# line: is wrong until it has a user
	printf 'domain Our.example\n%s\n' "$1" >"$tmp/routes"
	out=$(sub -bn)
	is "no user for our own domain: $1: the exit code is 78" $? 78
	like "no user for our own domain: $1: a line says so" \
	    "$out" 'routes:2: .*\$u for the name alone, or \$u@\$h'
	printf 'domain Our.example\n%s $u\n' "$1" >"$tmp/routes"
	to joe@our.example "${1#* } joe;"
	printf 'domain Our.example\n%s $u@$h\n' "$1" >"$tmp/routes"
	to joe@our.example "${1#* } joe@our.example;"
}
unclear '*@$d boxes -'
unclear '*@{localhost,$d} smtp -'
unclear 'joe@OUR.example smtp -'
certain() {	# line: needs no user
	printf 'domain our.example\n%s\n' "$1" >"$tmp/routes"
	to joe@our.example "${1#* } joe@our.example;"
}
certain '*@* smtp -'
certain '*@*.example smtp -'
certain '* smtp -'
certain '*@$d smtp hub.example'
: >"$tmp/routes"
refused anna 'no route'
cat >"$tmp/routes" <<'END'
*@x		local
*@[x		local -
{a,b		local -
*		lo/cal -
*		local a(b
*		local $x
domain	a..b
*		local - more
*		local - $h
*		local - $u $u
END
out=$(sub -bn)
is 'a wrong table: the exit code is 78' $? 78
is 'a wrong table: each wrong line is named, with its word' \
    "$(printf '%s\n' "$out" |
    sed -n 's/.*routes:\([0-9]*: [^ ]*\): [a-z].*/\1/p')" '1: *@x
2: *@[x
3: {a,b
4: lo/cal
5: a(b
6: $x
7: a..b
8: more
9: $h
10: $u'
out=$(sub -v -f bert anna@a.example 'b c' <"$tmp/m")
is 'a wrong table: mail is taken' $? 0
like 'a wrong table: a line says that mail waits' "$out" \
    'has to be mended \(.*routes:1: \*@x: .*\); the message waits for that'
is 'a wrong table: mail waits in router/, without a route' \
    "$(sed '/^fullname/d;/^To:/q' "$po"/router/*)" 'from <bert>
to <anna@a.example>
to <<b_c>
env-end
To: anna@our.example'
clear
like 'a missing table: mail is taken' \
    "$(sub -v -C "$tmp/none" anna <"$tmp/m"; echo $?)" \
    'cannot read .*none: No such file.*waits for that
given to router/[0-9]*
0$'
clear
cp "$tmp/good" "$tmp/routes"
ok 'the sample table is correct' "$S" -P "$po" \
    -C "$top/routes" anna@localhost <"$tmp/x"
is 'the sample table delivers here' "$(rcpts)" 'local - anna;'

# ---- trouble ---------------------------------------------------------------------------

awk 'BEGIN { print "X: y\n"; for (i = 0; i < 9000; i++)
    print "0123456789abcdef" }' >"$tmp/big"
(ulimit -f 20; sub anna <"$tmp/big") >"$tmp/out" 2>&1
is 'a file limit: the exit code is 75' $? 75
like 'a file limit: a line says so' \
    "$(cat "$tmp/out")" 'cannot write .*; nothing was queued, try'
is 'a file limit: nothing is left in the post office' "$(find "$po" -type f)" ''
rmdir "$po/public"
: >"$po/public"
out=$(sub anna <"$tmp/m")
is 'a missing public/: the exit code is 75' $? 75
rm "$po/public"
mkdir "$po/public"
chmod 1777 "$po/public" "$po/router"

mkfifo "$tmp/fifo"
exec "$S" -P "$po" -C "$tmp/routes" anna <"$tmp/fifo" &
pid=$!
lib_pids="$lib_pids $pid"
exec 7>"$tmp/fifo"
printf 'X: y\n\nsome\n' >&7
writing() { [ -n "$(find "$po/public" -type f)" ]; }
ok 'a message is written to public/ before its input ends' wait_for 30 writing
kill -TERM $pid
wait $pid
is 'TERM while a message is written: the exit code is 75' $? 75
lib_forget $pid
exec 7>&-
is 'TERM while a message is written: nothing is left' "$(find "$po" -type f)" ''

# ---- runs over router/ --------------------------------------------------------------------

file() {	# number <text
	cat >"$po/router/$1"
}
bad() {		# title pattern [name in postman/]; the file is 77
	title=$1
	out=$(sub -q)
	is "submit -q finds $title: the exit code is 0" $? 0
	like "submit -q finds $title: a line says so" \
	    "$out" "^submit: router/77: .*$2.*postman/77"
	is "submit -q finds $title: the file is set aside" \
	    "$(cd "$po" && find . -type f ! -name .tidy | sort |
	    tr '\n' ' ')" "./.submit.lock ./postman/${3:-77} "
	clear
}
is 'submit -q with an empty router/ says nothing' "$(sub -q)" ''
file 77 <<'END'
rcvdfrom STDIN ("??"@vm)
with LOCAL
via suspension
identinfo x
From <s@a.org>
envid env+20id
notaryret full
todsn NOTIFY=NEVER ORCPT=rfc822;w
to <bert@our.example>, emil
to <carl@far.org>
ENV-END
Subject: test

the body
END
ino=$(ls -i "$po/router/77" | awk '{ print $1 }')
is 'submit -q takes a file' "$(sub -q)" ''
is 'submit -q moves the file itself into queue/' "$(ls -i "$po"/queue/"$ino"-* |
    awk '{ print $1 }')" "$ino"
is 'submit -q keeps the body' "$(body)" 'the body
x'
is 'submit -q writes what the envelope says' \
    "$(sed -n '/^[esnRrN] /p' "$po"/transport/[1-9]*)" \
"n env+20id
R FULL
e s@a.org
s local - s@a.org $mine
r           local - bert $mine
N NOTIFY=NEVER ORCPT=rfc822;w
r           local - emil $mine
N NOTIFY=NEVER ORCPT=rfc822;w
r           smtp relay.example carl@far.org $mine"
is 'submit -q completes the header' \
    "$(fields)" 'Received Subject From Date Message-ID To '
file 77 <<'END'
from <s@a.org>
to <anna>
env-end

END
sub -q
is 'submit -q completes From with the address of the sender alone' \
    "$(ctl | grep '^From')" 'From: <s@a.org>'
file 77 <<'END'
fullname S. Ender
from <s@a.org>
to <anna>
env-end

END
sub -q
is 'submit -q completes From with the name in the envelope' \
    "$(ctl | grep '^From')" 'From: "S. Ender" <s@a.org>'
file 77 <<'END'
channel error
errormsg
todsn ORCPT=rfc822;sender@origin.example
to <anna@our.example>
to <nobody@@x>
env-end
To: sender@origin.example

END
out=$(sub -q)
is 'channel error in the envelope: the message has the empty sender' \
    "$(ctl | grep '^[esr]' | tr '\n' '|')" \
    "s error - <> $mine|r           local - anna $mine|"
like 'channel error in the envelope: a wrong recipient is named' \
    "$out" 'router/77: <nobody@@x>: .*than one @'
file 77 <<'END'
from <s@a.org>
to <spam@our.example>
to <a b@x>
to <anna>
env-end

END
sub -q >/dev/null
is 'submit -q gives refused recipients to the channel error' \
    "$(ctl | grep '^[sr]' | tr '\n' '|')" \
"s local - s@a.org $mine|r           error refused spam@our.example $mine|r           error syntax <a_b@x> $mine|r           local - anna $mine|"
put_raw "$po" 10-1 <<END
i 10-1
o 0
l <x@test>
n envid+2B
s smtp - s@a.org 0
r           hold time:1000000000 who@else.org 0
N NOTIFY=SUCCESS ORCPT=rfc822;w
m
Subject: test

END
printf '10-1\ttime:1000000000\n' |
    (cd "$po/transport" && exec "$top/ta/hold") >/dev/null
rm "$po/transport/10-1" "$po/queue/10-1"
sub -q
is 'submit -q takes what the agent hold gives back' \
    "$(ctl | grep '^[nsrN] ' | tr '\n' '|')" \
"n envid+2B|s local - s@a.org $mine|r           smtp relay.example who@else.org $mine|N NOTIFY=SUCCESS ORCPT=rfc822;w|"
printf 'from <s@a>\nto <|/bin/true>, "|/bin/true x", anna\nenv-end\n\n' | file 77
sub -q >/dev/null
is 'submit -q refuses a program as recipient in an envelope' \
    "$(ctl | grep '^r' |
    tr '\n' '|')" "r           error refused |/bin/true $mine|r           error refused \"|/bin/true x\" $mine|r           local - anna $mine|"
printf 'To: anna\r\nCc: bert\r\n\r\nbody\r\n' | file 77
sub -q
is 'submit -q takes a file without an envelope' \
    "$(ctl | grep '^[sr]' | tr '\n' '|')" \
"s local - $me@our.example $mine|r           local - anna $mine|r           local - bert $mine|"
printf 'from s@a.org\nto anna\nenv-end\nno header\n' | file 77
sub -q
is 'submit -q takes a message without a header' "$(body)" 'no header
x'
clear
printf 'from s@a.org\nto anna\n\nno header\n' | file 77
sub -q
is 'submit -q takes an envelope without its end' "$(body)" 'no header
x'
clear
printf 'from s@a.org\nenvid :a:b\nto anna\n\n' | file 77
sub -q
is 'submit -q takes an envid that begins with a colon' \
    "$(ctl | grep '^[nr] ' | tr '\n' '|')" "n :a:b|r           local - anna $mine|"
long=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "+2B" }')
printf "from s@a.org\ntodsn ORCPT=rfc822;$long\nto anna\n\n" | file 77
sub -q
is 'submit -q takes what submit makes of a long address for DSNs' \
    "$(ctl | grep '^N ')" "N ORCPT=rfc822;$long"
long=$(awk 'BEGIN { for (i = 0; i < 993; i++) printf "a" }')@a.org
file 77 <<END
from <$long>
to anna

END
sub -q
is 'submit -q takes the longest sender of submit' "$(ctl | grep '^e ')" \
    "e $long"
printf 'from s@a.org\nmoon full\nto anna\nenv-end\n\n' | file 77
bad 'an unknown word in the envelope' 'not known'
printf 'from s@@a\nto anna\nenv-end\n\n' | file 77
bad 'a wrong sender' 'sender is wrong'
printf 'from s@a\nenv-end\n\n' | file 77
bad 'an envelope without recipients' 'no recipient'
printf 'channel error\nto spam@x\nenv-end\n\n' | file 77
bad 'a bounce whose recipient is refused' 'no recipient can get it' \
    77.bounce-0-1
printf 'from s@a\nenvid a b\nto anna\nenv-end\n\n' | file 77
bad 'a wrong envid' 'envid'
printf 'from s@a\ntodsn a\001b\nto anna\nenv-end\n\n' | file 77
bad 'a wrong todsn' 'todsn'
printf 'from s@a\nto anna\000\nenv-end\n\n' | file 77
bad 'a NUL byte' 'NUL'
printf 'from s@a\nto anna\nenv-end\n' | cat - "$tmp/long" | file 77
bad 'a large header' '256 KB'
printf 'channel error\nto anna\nenv-end\n' | cat - "$tmp/loop" | file 77
bad 'too many Received lines, and no sender' 'mail loop'
{ printf 'to '; sed 's/^X: //' "$tmp/long"; } | file 77
bad 'a long line' 'too long'
dd if="$S" bs=1024 count=20 2>/dev/null | file 77
bad 'a program as message' '[a-z]'
cp "$tmp/m" "$tmp/linked"
if ln "$tmp/linked" "$po/router/77" 2>/dev/null; then
	bad 'a file with a second name' 'second name'
fi
cp "$tmp/m" "$po/router/x77"
without NO_SYMLINK || ln -s "$tmp/m" "$po/router/78"
mkdir "$po/router/79"
ls "$po/router" >"$tmp/was"
is 'submit -q leaves other files in router/ alone' \
    "$(sub -q; ls "$po/router")" \
    "$(cat "$tmp/was")"
rm -r "$po/router/"*
: >"$po/postman/77"
: | file 77
printf 'from s@a\nmoon full\n\n' | file 77
sub -q >/dev/null
is 'submit -q replaces no file in postman/' \
    "$(ls "$po/postman" | tr '\n' ' ')" \
    '77 77.1 '
clear

printf 'from s@a\nto anna\nenv-end\n\nbody\n' | file 77
echo 'x y' >"$tmp/routes"
out=$(sub -q)
is 'submit -q with a wrong table: the exit code is 78' $? 78
is 'submit -q with a wrong table: the file waits in deferred/' \
    "$(cd "$po" && find router deferred -type f | sort | tr '\n' ' ')" \
    'deferred/77 deferred/77.why '
cp "$tmp/good" "$tmp/routes"
is 'submit -q takes deferred mail once the table was changed' \
    "$(sub -q; rcpts; ls "$po/deferred")" 'local - anna;'
clear
mv "$po/queue" "$po/away"
out=$(sub -q)
is 'submit -q without queue/: the exit code is 75' $? 75
mv "$po/away" "$po/queue"
awk 'BEGIN { print "from s@a\nto anna\nenv-end"
    for (i = 0; i < 30; i++) print "X: 0123456789012345678901234567890"
    }' >"$po/router/77"
(ulimit -f 1; sub -q) >"$tmp/out" 2>&1
is 'submit -q at a file limit: the exit code is 75' $? 75
like 'submit -q at a file limit: a line says so' \
    "$(cat "$tmp/out")" 'router/77: cannot write .*transport/\.'
is 'submit -q at a file limit: the file waits in deferred/' \
    "$(cd "$po" && find router queue transport deferred -type f | sort |
    tr '\n' ' ')" 'deferred/77 deferred/77.why '
rm "$po/deferred/77.why"
is 'submit -q takes the file after the file limit' \
    "$(sub -q; rcpts)" 'local - anna;'

# Some of these limits are too small for the header alone.
awk 'BEGIN { printf "X: "; for (i = 0; i < 25000; i++) printf "0123456789"
    print "\n" }' >"$tmp/large"
: >"$tmp/codes"
v=1500
while [ $v -lt 6000 ]; do
	(ulimit -v $v && sub anna <"$tmp/large") >"$tmp/out" 2>/dev/null
	code=$?
	! grep 'no memory for the header' "$tmp/out" >/dev/null ||
	    echo $code >>"$tmp/codes"
	v=$((v + 50))
done 2>/dev/null
clear
if [ -s "$tmp/codes" ]; then
	is 'no memory for the header: the exit code is 71' \
	    "$(sort -u "$tmp/codes")" 71
else
	skip 'no memory for the header: the exit code is 71' \
	    'memory cannot be limited so'
fi

# What a crash leaves between the two renames.
sub anna <"$tmp/m"
(exit 0) &
wait
dead=$!
for f in "$po"/transport/[1-9]*; do
	old=${f##*/}
	num=${old%-*}
	sed "s/^i .*/i $num-$dead/" "$f" >"$po/transport/.submit:$num-$dead"
	rm "$f"
	mv "$po/queue/$old" "$po/queue/$num-$dead"
done
: >"$po/transport/.submit:99-$dead"
: >"$po/transport/.submit:98-$$"
: >"$po/transport/.97-$dead"
: >"$po/transport/.96-$dead"
: >"$po/queue/96-$dead"
: >"$po/transport/.other"
out=$(sub -q)
like 'submit -q completes a message that a crash left' \
    "$out" "transport/$num-$dead: queued now, after a crash"
is 'submit -q leaves control files of others in transport/ alone' \
    "$(cd "$po/transport" && find . -type f | sort |
    tr '\n' ' ')" "./.96-$dead ./.97-$dead ./.other ./.submit:98-$$ ./$num-$dead "
clear

# ---- again and again ------------------------------------------------------------------------

exec "$S" -P "$po" -C "$tmp/routes" -q1s >"$tmp/out" 2>&1 &
pid=$!
lib_pids="$lib_pids $pid"
queued() { [ "$(find "$po/transport" -type f ! -name '.*' | wc -l)" -eq "$1" ]; }
put_one() {
	printf 'from s@a\nto anna\nenv-end\n\nbody\n' >"$po/public/x"
	mv "$po/public/x" "$po/router/$1"
}
put_one 1
ok 'submit -q1s takes a file' wait_for 20 queued 1
put_one 2
ok 'submit -q1s takes the next file' wait_for 20 queued 2
kill -TERM $pid
wait $pid
is 'submit -q1s ends at TERM' "$?$(grep -v "accepted router=" "$tmp/out")" 0
lib_forget $pid
clear


# ---- another user -------------------------------------------------------------------------------

nobody=$(id -u nobody 2>/dev/null)
if [ "$mine" -ne 0 ] || [ -z "$nobody" ] || ! as_nobody true; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
		skip 'a user who is not the owner of the post office' \
		    'not root, or nobody cannot be had'
	done
else
	other() {
		as_nobody "$S" -P "$po" -C "$tmp/routes" "$@"
	}
	out=$(other -v -f boss@our.example -N never -V id -R full anna bert \
	    <"$tmp/m")
	like 'mail of a user goes into router/' "$out" '^given to router/[0-9]+$'
	f=$po/router/${out##*/}
	is 'mail of a user in router/ has an envelope' \
	    "$(sed '/^env-end/q' "$f" | tr '\n' '|')" \
'from <boss@our.example>|envid id|notaryret FULL|todsn NOTIFY=NEVER ORCPT=rfc822;anna|to <anna>|todsn NOTIFY=NEVER ORCPT=rfc822;bert|to <bert>|env-end|'
	is 'mail of a user in router/ is for him only' \
	    "$(ls -ln "$f" | awk '{ print substr($1, 1, 10), $3 }')" \
	    "-rw------- $nobody"
	out=$(other -q)
	is 'submit -q of a user: the exit code is 77' $? 77
	is 'submit -q of the owner takes mail of a user' "$(sub -q)" ''
	is 'mail of a user has his privilege' \
	    "$(grep '^[sr]' "$po"/transport/[1-9]* |
	    tr '\n' '|')" "s local - boss@our.example $nobody|r           local - anna $nobody|r           local - bert $nobody|"
	like 'mail of a user names him in Received' \
	    "$(ctl)" "(submit, uid $nobody)"
	out=$(other '"|/bin/true x"' <"$tmp/m")
	is 'a user may name a program as recipient' "$?$out" 0
	sub -q
	is 'a program that a user names has his privilege' \
	    "$(ctl | grep '^r')" \
	    "r           local - \"|/bin/true x\" $nobody"
	out=$(other spam@x <"$tmp/m")
	is 'a user gets a refusal at once' "$?$(find "$po" -type f)" 67
	chmod 600 "$tmp/routes"
	is 'a user who may not read the table gets no refusal at once' \
	    "$(other spam@x anna <"$tmp/m"; ls "$po/router" | wc -l | tr -d ' ')" 1
	sub -q >/dev/null
	is 'a user who may not read the table gets a DSN' \
	    "$(ctl | grep '^r' | tr '\n' '|')" \
	    "r           error refused spam@x $nobody|r           local - anna $nobody|"
	chmod 644 "$tmp/routes"

	chown nobody "$po/transport" "$po/queue"
	sub anna <"$tmp/m"
	is 'the owner of the queue owns what root submits' \
	    "$(ls -ln "$po"/queue/[1-9]* "$po"/transport/[1-9]* |
	    awk '{ printf "%s ", $3 }')" "$nobody $nobody "
	clear
	other anna <"$tmp/m"
	is 'the owner of the queue writes to it himself' "$(rcpts)" \
	    "local - anna $nobody;"
	chown 0 "$po/transport" "$po/queue"
fi

# A system call that fails, or a crash at it.
hurt() {	# what option ...: the n-th call of a kind
	hurt_what=$1
	shift
	strace -f -o "$tmp/trace" -e "trace=${hurt_what%%:*}" -e "inject=$hurt_what" \
	    "$S" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
moves='?rename,?renameat,?renameat2'
files() {
	(cd "$po" && find . -type f ! -name '.submit.lock' ! -name .tidy | sort |
	    sed 's/[0-9][0-9]*-[0-9][0-9]*$/NAME/; s/:[0-9.]*$/:N/' |
	    tr '\n' ' ')
}
if ! hurt "$moves:error=ENOSPC:when=9" -bV >/dev/null 2>&1; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
		skip 'a failed rename, a crash' 'no strace that can do it'
	done
else
	clear
	for i in 1 2; do
		out=$(hurt "$moves:error=ENOSPC:when=$i" anna <"$tmp/m")
		is "rename $i fails: the exit code is 75, nothing is queued" \
		    "$? $(files)" '75 '
		like "rename $i fails: a line says so" \
		    "$out" 'cannot rename to .*No space left'
	done
	out=$(hurt 'fsync:error=EIO:when=1' anna <"$tmp/m")
	case $? in
	0) skip 'fsync of the message fails: nothing is queued' \
	    'it is not called so' ;;
	*) is 'fsync of the message fails: nothing is queued' "$(files)" '' ;;
	esac
	clear
	out=$(hurt "$moves:error=ENOSPC:when=2+" anna <"$tmp/m")
	is 'a rename that fails and cannot be undone: the message stays whole' \
	    "$? $(files)" '75 ./queue/NAME ./transport/.submit:NAME '
	like 'a rename that cannot be undone: a line says so' \
	    "$out" 'may be in the queue nevertheless'
	sub -q >/dev/null
	is 'a rename that cannot be undone: the next run completes the message' \
	    "$(files; rcpts)" \
	    './queue/NAME ./transport/NAME local - anna;'
	clear
	put_one 77
	hurt "$moves:error=ENOSPC:when=2+" -q >/dev/null
	is 'submit -q, a rename that cannot be undone: the message stays whole' \
	    "$(files)" './queue/NAME ./transport/.submit:NAME '
	sub -q >/dev/null
	is 'submit -q, a rename that cannot be undone: the next run completes it' \
	    "$(files; rcpts)" \
	    './queue/NAME ./transport/NAME local - anna;'
	clear
	hurt "$moves:signal=KILL:when=1" anna <"$tmp/m" >/dev/null
	is 'a crash at rename 1: the message is not in the queue' "$(files)" \
	    './private/submit:N ./transport/.submit:NAME '
	is 'a crash at rename 1: the next run removes the control file' \
	    "$(sub -q; files)" \
	    './private/submit:N '
	clear
	hurt "$moves:signal=KILL:when=2" anna <"$tmp/m" >/dev/null
	is 'a crash at rename 2: the control file has its first name' "$(files)" \
	    './queue/NAME ./transport/.submit:NAME '
	sub -q >/dev/null
	is 'a crash at rename 2: the next run completes the message' \
	    "$(files; rcpts)" \
	    './queue/NAME ./transport/NAME local - anna;'
	for i in 1 2; do
		put_one 77
		out=$(hurt "$moves:error=EIO:when=$i" -q)
		is "submit -q, rename $i fails: the exit code is 75" \
		    "$? $(files)" '75 ./deferred/77 ./deferred/77.why '
		mv "$po/deferred/77" "$po/router" && rm "$po/deferred/77.why"
		like "submit -q, rename $i fails: a line says so" \
		    "$out" 'router/77: cannot rename to'
		hurt "$moves:signal=KILL:when=$i" -q >/dev/null
		is "submit -q, a crash at rename $i: the mail is in one place" \
		    "$(files)" \
		    "./$(echo router/77 queue/NAME | cut -d' ' -f$i) ./transport/.submit:NAME "
		sub -q >/dev/null
		is "submit -q, a crash at rename $i: the next run takes it" \
		    "$(files; rcpts)" \
		    './queue/NAME ./transport/NAME local - anna;'
	done
fi

# A full disk, in a place of its own that goes with the process.
mkdir "$tmp/disk"
if [ "$mine" -ne 0 ] || ! unshare -m sh -c 'mount -t tmpfs -o size=96k none "$1"' \
    sh "$tmp/disk" 2>/dev/null; then
	for i in 1 2 3; do
		skip 'a full disk' 'not root, or no such mount'
	done
else
	cat >"$tmp/full" <<'END'
mount -t tmpfs -o size=96k none "$1" || exit 1
mkdir "$1/public" "$1/router" "$1/queue" "$1/transport" "$1/postman"
"$2" -P "$1" -C "$3" anna <"$4"
echo $? $(find "$1" -type f | wc -l)
printf 'from s@a\nto anna\nenv-end\n\nbody\n' >"$1/router/1"
"$2" -q -P "$1" -C "$3"
echo $?
rm "$1/queue"/* "$1/transport"/*
printf 'from s@a\nto anna\nenv-end\n\nbody\n' >"$1/router/1"
cat "$4" >"$1/fill" 2>/dev/null
"$2" -q -P "$1" -C "$3"
echo $? $(find "$1/router" "$1/queue" "$1/transport" -type f | wc -l)
rm "$1/fill"
"$2" -q -P "$1" -C "$3"
echo $? $(find "$1/router" "$1/queue" "$1/transport" -type f | wc -l)
END
	(cat "$tmp/routes"; echo 'PARAMminfree 0') >"$tmp/small"
	unshare -m sh "$tmp/full" "$tmp/disk" "$S" "$tmp/small" "$tmp/big" \
	    >"$tmp/out" 2>&1
	like 'a full disk: submit says so' "$(cat "$tmp/out")" \
	    'cannot write the message to .*No space left on device'
	like 'a full disk: submit -q says so' "$(cat "$tmp/out")" \
	    'router/1: cannot (make|write) .*No space left on device'
	is 'a full disk: nothing is queued, nothing is lost' \
	    "$(grep '^[0-9 ]*$' "$tmp/out" | tr '\n' ';')" '75 0;0;75 1;0 2;'
fi

# ---- many at once, and delivery ---------------------------------------------------------------------

clear
mkdir "$tmp/mail"
ln -s "$top/ta/mailbox" "$tmp/bin/ta/mailbox"
conf "$tmp/cf" <<END
local/*	command="mailbox -n -d $tmp/mail" interval=1s retries="1"
END
many=
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	printf 'from s@a.org\nto anna/\nenv-end\nSubject: router %d\n\nb\n' $i \
	    >"$po/router/$i"
	printf 'Subject: direct %d\n\nbody\n' $i | sub anna/ &
	many="$many $!"
done
sub -q &
many="$many $!"
sub -q &
many="$many $!"
for i in $many; do
	wait "$i" || diag "status $? of $i"
done
is '20 messages beside two runs of submit -q are all queued' \
    "$(ls "$po/transport" | wc -l | tr -d ' ')" 40
is '20 messages beside two runs leave nothing in router/ and public/' \
    "$(find "$po/router" "$po/public" -type f)" ''
if ! without NO_TCP; then
	bg "$top/t/notify" -l "$po/.scheduler.notify" 1 >"$tmp/notices"
	ok 'a socket for notifications is open' \
	    wait_for 20 [ -S "$po/.scheduler.notify" ]
	name=$(sub -v anna/ <"$tmp/m" | sed 's/.* //')
	wait $bg_pid
	lib_forget $bg_pid
	is 'submit notifies the scheduler of a message' \
	    "$(cat "$tmp/notices")" "NEW $name"
	rm -f "$po/.scheduler.notify" "$po/queue/$name" "$po/transport/$name"
else
	skip 'a socket for notifications is open' 'built with NO_TCP'
	skip 'submit notifies the scheduler of a message' 'built with NO_TCP'
fi
ok 'the scheduler starts with submitted mail' sched_start "$po" "$tmp/cf" -HH
printf 'From: "A, B" <x@y.org>\nSubject: =?utf-8?q?=C3=A4?=\n continued\nTo: carl@our.example\nBcc: bert\n\nbody\n' |
    sub -t
ok 'submitted mail is delivered' wait_for 60 po_empty "$po"
is 'each submitted message is delivered' \
    "$(cat "$tmp"/mail/anna/new/* | sed -n 's/^Subject: //p' |
    grep -E 'router|direct' | sort | uniq | wc -l | tr -d ' ')" 40
is 'no submitted message is delivered twice' \
    "$(ls "$tmp/mail/anna/new" | wc -l | tr -d ' ')" 40
like 'mail submitted under the scheduler is delivered' \
    "$(cat "$tmp/mail/carl")" \
    '^Delivered-To: carl'
if python3 -c 'import mailbox, email.utils' 2>/dev/null; then
	is 'Python reads the delivered mail' \
	    "$(python3 - "$tmp/mail/carl" <<'END'
import mailbox, email.utils, sys
for m in mailbox.mbox(sys.argv[1]):
    print(email.utils.parseaddr(m['From']), m['To'], m['Bcc'],
        email.utils.parsedate_to_datetime(m['Date']).utcoffset(),
        m['Message-ID'].endswith('@our.example>'), len(m.defects),
        repr(m.get_payload()))
END
)" "('A, B', 'x@y.org') carl@our.example None 0:00:00 True 0 'body\\n'"
else
	skip 'Python reads the delivered mail' 'no python3'
fi
sched_stop
finish
