#!/bin/sh
# The agent sm, fed by hand and by the scheduler: what a program gets, and
# what is made of the way it ends.
. "${0%/*}/lib.sh"

A=${SM:-$top/ta/sm}
po=$tmp/po
tab=$(printf '\t')
sep=$(printf '\001')
sh=$(command -v sh)
spool_new "$po"

table() {	# <lines
	cat >"$tmp/sm.cf"
}
job() {		# name host mailer [option ...]
	job_line=$1$tab$2
	job_mailer=$3
	shift 3
	printf '%s\n' "$job_line" | (cd "$po/transport" &&
	    exec "$A" -0 -c x -f "$tmp/sm.cf" "$@" "$job_mailer") 2>&1 |
	    grep -v -e '^#hungry' -e '^#step '
}
# A control file whose recipients are the lines of standard input.
message() {	# name [sender] <recipient, N and header lines
	{
		printf 'i %s\no 9\nl <x@test>\ns smtp - %s 0\n' "$1" \
		    "${2:-s@a.org}"
		cat
	} | put_raw "$po" "$1"
	printf 'skipped: the body\nFrom here on\n>From\nFrom' >"$po/queue/$1"
}
simple() {	# name [user [host [sender]]]
	message "$1" "$4" <<END_
r           x ${3:-h.org} ${2:-anna@h.org} 0
m
Subject: test
From : me

END_
}
tags() {	# name
	sed -n 's/^r\(.\)\(......\).*/\1/p' "$po/transport/$1" |
	    tr ' \n' '_ ' | tr -d ' '
}
verdicts() {	# the last field of each report line
	sed 's/.*	//'
}

# What it was called with, one line a run, and the last message it got.
cat >"$tmp/show" <<END_
#!$sh
for a in "\$@"; do printf '<%s>' "\$a"; done >>$tmp/args
echo >>$tmp/args
cat >$tmp/in
END_
# Ends and speaks as its first arguments say.
cat >"$tmp/end" <<END_
#!$sh
cat >/dev/null
printf "\$2"
exit \$1
END_
chmod 755 "$tmp/show" "$tmp/end"
shown() {
	cat "$tmp/args"
	rm -f "$tmp/args"
}

# ---- options ------------------------------------------------------------

like '-V prints the version' "$("$A" -V)" '^sm [0-9]'
for args in '' 'a b' '-t soon a' '-x a'; do
	"$A" $args </dev/null >"$tmp/out" 2>&1
	is "wrong arguments are an error: $args" \
	    "$?$(sed -n 's/^\(usage:\) sm .*/\1/p' \
	    "$tmp/out")" 64usage:
done
is 'a table whose path does not begin with / is named' "$({ "$A" -f sm.cf a
    echo $?; } </dev/null 2>&1 | tr '\n' ' ')" \
    'sm: the path of the table does not begin with /: sm.cf 64 '
is "other options of ZMailer are accepted" "$("$A" -8 -H -v x </dev/null)" \
    '#hungry offsets'

# ---- arguments ----------------------------------------------------------

table <<END_
# a comment
show	n	$tmp/show show -a \$g "\$h x" a\\ b "" \$\$ "q\\"q" #c
one	n	$tmp/show show \$u
many	mn	$tmp/show show -r \$h!rmail (\$u) -x
twice	mn	$tmp/show show \$u + \$u
all	mn	$tmp/show show all
none	n	$tmp/show show all
f	fn	$tmp/show show \$u
r	rn	$tmp/show show \$u
s	sn	$tmp/show show \$u
name	n	$sh called -c "cat >/dev/null; echo \\\$\$0" here
bare	-	$tmp/show show
END_
simple 10-1
if [ "$(id -u)" -ne 0 ]; then
	for i in 1 2; do
		skip 'root runs no program without -u or -0' 'not root'
	done
else
	like 'root runs no program without -u or -0: deferred, it says why' \
	    "$(printf '10-1\th.org\n' |
	    (cd "$po/transport" && exec "$A" -c x -f "$tmp/sm.cf" show))" \
	    "${sep}4\\.3\\.5${sep}.*deferred no program is run as root; .*add -u user to the command of sm .*-0"
	nok 'root runs no program without -u or -0: no argument arrives' \
	    test -f "$tmp/args"
fi
two='r           x h.org anna@h.org 0
r           x h.org bert@h.org 0
m
Subject: two

'
simple 10-1
is 'an exit code of 0 is reported as ok3' "$(job 10-1 h.org show)" \
    "10/$(LC_ALL=C awk '/^r/ { print n + 0 } { n += length($0) + 1 }' \
    "$po/transport/10-1")${tab}${tab}ok3 Ok"
is 'an exit code of 0: the tag is +' "$(tags 10-1)" +
is '$g, $h and $$ in arguments are expanded, quotes taken off' "$(shown)" \
    '<-a><s@a.org><h.org x><a b><><$><q"q>'
is 'a program gets the message' "$(cat "$tmp/in")" 'Subject: test
From : me

the body
From here on
>From
From'
printf %s "$two" | message 11-1
job 11-1 h.org one >/dev/null
is 'without flag m each recipient has a run of its own' "$(shown)" '<anna@h.org>
<bert@h.org>'
printf %s "$two" | message 11-1
is 'flag m: recipients share a run' "$(job 11-1 h.org many | verdicts)" 'ok3 Ok
ok3 Ok'
is 'flag m: an argument with $u is repeated for each recipient' "$(shown)" \
    '<-r><h.org!rmail><(anna@h.org)><(bert@h.org)><-x>'
printf %s "$two" | message 11-1
job 11-1 h.org twice >/dev/null
is 'flag m: each argument with $u is repeated' "$(shown)" \
    '<anna@h.org><bert@h.org><+><anna@h.org><bert@h.org>'
printf %s "$two" | message 11-1
job 11-1 h.org all >/dev/null
is 'flag m without $u in the arguments: recipients share a run' \
    "$(shown)" '<all>'
printf %s "$two" | message 11-1
job 11-1 h.org none >/dev/null
is 'neither flag m nor $u: each recipient has a run' "$(shown)" '<all>
<all>'
for flag in f r; do
	simple 12-1
	job 12-1 h.org $flag >/dev/null
	is "flag $flag puts the sender before the arguments" \
	    "$(shown)" "<-$flag><s@a.org><anna@h.org>"
done
message 12-1 '<>' <<END_
r           x - anna 0
m

END_
job 12-1 - f >/dev/null
is 'flag f: the empty sender is <>' "$(shown)" '<-f><<>><anna>'
simple 12-1 '"an\"na b"@h.org'
job 12-1 h.org s >/dev/null
is 'flag s takes quotes off a user' "$(shown)" '<an"na b@h.org>'
simple 12-1 '"anna b"@h.org'
job 12-1 h.org one >/dev/null
is 'without flag s quotes of a user stay' "$(shown)" '<"anna b"@h.org>'
simple 12-1
is '$0 is the name of the table, the output is reported' \
    "$(job 12-1 h.org name | verdicts)" 'ok3 here'

# Other senders, headers and hosts are other runs.
message 13-1 <<END_
r           x h.org u1 0
r           x h.org u2 0
m
Subject: one

r           x h.org u3 0
r           x g.org u4 0
m
Subject: two

s smtp - t@a.org 0
r           x h.org u5 0
m
Subject: three

END_
printf '13-1\n' | (cd "$po/transport" && exec "$A" -0 -c x -f "$tmp/sm.cf" many) |
    grep -c 'ok3 Ok' >"$tmp/n"
is 'recipients share a run when sender, header and host are equal' \
    "$(shown)" '<-r><h.org!rmail><(u1)><(u2)><-x>
<-r><h.org!rmail><(u3)><-x>
<-r><g.org!rmail><(u4)><-x>
<-r><h.org!rmail><(u5)><-x>'
is 'recipients of several runs have a verdict each' "$(cat "$tmp/n")" 5

{
	awk 'BEGIN { for (i = 1; i <= 250; i++)
	    printf "r           x h.org user%d 0\n", i }'
	printf 'm\n\n'
} | message 14-1
is '250 recipients have a verdict each' \
    "$(job 14-1 h.org many | grep -c 'ok3 Ok')" 250
shown >"$tmp/runs"
is '250 recipients: a run has 100 of them at most' \
    "$(awk -F '[(]' '{ print NF - 1 }' "$tmp/runs" | tr '\n' ' ')" '100 100 50 '
is '250 recipients are given to a program once each' \
    "$(tr '(' '\n' <"$tmp/runs" | grep -c '^user')$(tr '(' '\n' \
    <"$tmp/runs" | grep '^user' | sort -u | wc -l | tr -d ' ')" 250250
{
	awk 'BEGIN { for (j = 0; j < 900; j++) a = a "x"
	    for (i = 1; i <= 150; i++)
		printf "r           x h.org user%d%s 0\n", i, a }'
	printf 'm\n\n'
} | message 14-1
is '150 long addresses have a verdict each' \
    "$(job 14-1 h.org twice | grep -c 'ok3 Ok')" 150
shown >"$tmp/runs"
is '150 long addresses are given to a program once each' \
    "$(tr '<' '\n' <"$tmp/runs" |
    sed -n 's/^\(user[0-9]*\)x.*/\1/p' | sort | uniq -c |
    awk '$1 == 2' | wc -l | tr -d ' ')" 150
ok '150 long addresses: no run has too many arguments' \
    awk 'length($0) > 32768 { exit 1 }' "$tmp/runs"

# ---- what looks like something else -------------------------------------

table <<END_
u	mn	$tmp/show show \$u
to	n	$tmp/show show --to=\$u
h	n	$tmp/show show \$h!rmail
g	n	$tmp/show show \$g
f	fn	$tmp/show show
p	n	$tmp/show show (\$u)
uucp	mU	$tmp/show show \$h!rmail (\$u)
from	mU	$tmp/show show -f\$g (\$u)
fU	fU	$tmp/show show \$u
rU	rU	$tmp/show show \$u
bU	bU	$tmp/show show \$h!rsmtp
bUu	bU	$tmp/show show \$h!rsmtp (\$u)
s	sn	$tmp/show show \$u
END_
refused() {	# title mailer user host sender status
	simple 15-1 "$3" "$4" "$5"
	is "refused: $1" "$(job 15-1 "$4" "$2" | verdicts)$(tags 15-1)" \
	    'error2 an address of this form cannot be given to a program-'
	like "refused: $1: the status is $6" \
	    "$(grep '^d' "$po/transport/15-1")" \
	    "${sep}failed${sep}$6${sep}"
	nok "refused: $1: no program runs" test -f "$tmp/args"
}
refused 'a user like an option' u -oQ/tmp h.org s@a.org 5.1.3
refused 'a user like an option in parentheses' p -x h.org s@a.org 5.1.3
refused 'a user like an option in quotes' s '"-x"' h.org s@a.org 5.1.3
refused 'a user of quotes only' s '""' h.org s@a.org 5.1.3
refused 'a host like an option' h u -x s@a.org 5.1.2
refused 'a sender like an option' g u h.org -x@a.org 5.1.7
refused 'a sender like an option after -f' f u h.org -x@a.org 5.1.7
refused 'UUCP: a user with a blank' uucp '"a b"@c' h.org s@a.org 5.1.3
refused 'UUCP: a user with a semicolon' uucp 'a;b@c' h.org s@a.org 5.1.3
for user in "o'brien@c" 'a*@c' 'a?@c' 'a[b]@c' 'a^b@c' '#a@c' '~a@c'; do
	refused "UUCP: a user that a shell would change: $user" uucp \
	    "$user" h.org s@a.org 5.1.3
done
refused 'UUCP: a host that a shell would change' uucp a@c "h'" s@a.org 5.1.2
refused 'UUCP: a sender with an apostrophe' from a@c h.org "s'@a.org" 5.1.7
simple 15-1 'a#~@c'
job 15-1 h.org uucp >/dev/null
is 'UUCP: # and ~ within a user are accepted' "$(shown)" \
    '<h.org!rmail><(a#~@c)>'
refused 'UUCP: a user with a parenthesis' uucp 'a)b@c' h.org s@a.org 5.1.3
refused 'UUCP: a user with a semicolon in the argument of a batch' bUu \
    'a;b@c' h.org s@a.org 5.1.3
simple 15-1 'a;b@c'
job 15-1 h.org bU >/dev/null
is 'UUCP: a user with a semicolon within a batch is accepted' "$(shown)" \
    '<h.org!rsmtp>'
refused 'UUCP: a host that is a path' uucp a@c 'h!i' s@a.org 5.1.2
for mailer in from fU rU; do
	refused "UUCP: a sender that a shell would run: $mailer" $mailer \
	    a@c h.org 's`x`@a.org' 5.1.7
done
simple 15-1 a@c h.org '"s s"@a.org'
job 15-1 h.org uucp >/dev/null
is 'UUCP: a strange sender is accepted where it is no argument' \
    "$(shown)" '<h.org!rmail><(a@c)>'
simple 15-1 a@c h.org '<>'
job 15-1 h.org from >/dev/null
is 'UUCP: the empty sender is MAILER-DAEMON' \
    "$(shown)" '<-fMAILER-DAEMON><(a@c)>'
simple 15-1 -x
job 15-1 h.org to >/dev/null
is 'a user like an option is accepted behind other words' "$(shown)" '<--to=-x>'
simple 15-1 '$(date)`id`;x'
job 15-1 h.org u >/dev/null
is 'no shell looks at arguments' "$(shown)" '<$(date)`id`;x>'
message 15-1 <<END_
r           x h.org anna 0
r           x h.org -x 0
r           x h.org bert 0
m

END_
is 'a refused recipient does not stop the others' \
    "$(job 15-1 h.org u | verdicts | cut -c 1-9 |
    tr '\n' ' ')$(tags 15-1)" 'ok3 Ok ok3 Ok error2 an +-+'
is 'the others of a refused recipient share a run' "$(shown)" '<anna><bert>'

# ---- the message --------------------------------------------------------

table <<END_
plain	-	$tmp/show show
n	n	$tmp/show show
uucp	U	$tmp/show show
b	b	$tmp/show show
bm	bm	$tmp/show show
E	nE	$tmp/show show
P	nP	$tmp/show show
R	nR	$tmp/show show
ER	nER	$tmp/show show
idle	n78DFMShu	$tmp/show show
END_
got() {		# mailer [sender]: the message, and an x
	simple 16-1 '' '' "$2"
	job 16-1 h.org "$1" >/dev/null
	cat "$tmp/in"
	echo x
}
head='Subject: test
From : me
'
body='the body
From here on
>From
From'
date=' [A-Z][a-z][a-z] [A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]{8} [0-9]{4}'
like 'without flag n the message begins with a From line' \
    "$(got plain | sed 1q)" "^From s@a\\.org$date\$"
like 'the From line of an empty sender has MAILER-DAEMON' \
    "$(got plain '<>' | sed 1q)" "^From MAILER-DAEMON$date\$"
like 'the From line has _ for a blank and for 8-bit bytes in the sender' \
    "$(got plain '"a bé"@c' | sed 1q)" \
    "^From \"a_b__\"@c$date\$"
is 'the From line is followed by the message' "$(got plain | sed 1d)" "$head
${body}x"
like 'flag U: the From line ends in remote from' "$(got uucp | sed 1q)" \
    "^From s@a\\.org$date remote from this\$"
is 'flag n: there is no From line' "$(got n)" "$head
${body}x"
is 'flag b: a batch of SMTP commands' "$(got b | sed 's/^HELO .*/HELO/')" \
"HELO
MAIL FROM:<s@a.org>
RCPT TO:<anna@h.org>
DATA
$head
${body}
.
QUIT
x"
message 1-2 '<>' <<END_
r           x h.org anna@h.org 0
r           x h.org "b>c"@h.org 0
r           x h.org carl 0
m
Subject: test

END_
printf 'skipped: .one\n..\n.' >"$po/queue/1-2"
: >"$tmp/args"
job 1-2 h.org bm >"$tmp/out"
is 'flags b and m: all recipients are in the batch, and dots are doubled' \
    "$(sed 1d "$tmp/in")" 'MAIL FROM:<>
RCPT TO:<anna@h.org>
RCPT TO:<carl>
DATA
Subject: test

..one
...
..
.
QUIT'
is 'flags b and m: there is one run' "$(wc -l <"$tmp/args" | tr -d ' ')" 1
like 'flag b: an address that would end the path fails' "$(cat "$tmp/out")" \
    'error2 an address of this form'
is 'flag E: From in the body is quoted' "$(got E)" "$head
the body
>From here on
>From
Fromx"
is 'flag P: there is a Return-Path' "$(got P)" "Return-Path: <s@a.org>
$head
${body}x"
is 'flag P: the Return-Path of an empty sender is <>' \
    "$(got P '<>' | sed 1q)" 'Return-Path: <>'
is 'flag R: lines end in CR LF' "$(got R | tr '\r' '@')" 'Subject: test@
From : me@
@
the body@
From here on@
>From@
Fromx'
is 'flags E and R: CR LF and quoted From' \
    "$(got ER | tr '\r' '@')" 'Subject: test@
From : me@
@
the body@
>From here on@
>From@
Fromx'
simple 16-1
printf 'skipped: one\r\ntwo\nFro\nFrom \n' >"$po/queue/16-1"
job 16-1 h.org ER >/dev/null
is 'flags E and R: lines with CR get no other' \
    "$(sed 1,3d "$tmp/in" | tr '\r' '@')" 'one@
two@
Fro@
>From @'
is 'flags of ZMailer without effect are accepted' "$(got idle)" "$head
${body}x"

# ---- how it ends --------------------------------------------------------

table <<END_
end	n	$tmp/end end \$u "words"
T	nT	$tmp/end end \$u "words"
B	nB	$tmp/end end \$u "words"
END_
ends() {	# mailer code verdict status
	message 20-1 <<END_
r           x h.org $2 0
m

END_
	out=$(job 20-1 h.org "$1")
	case $3 in
	error2) where=$(grep '^d' "$po/transport/20-1") ;;
	*) where=$out ;;
	esac
	like "mailer $1 exits with $2: $3" "$out" "$tab$3 words \\[exit $2[]:]"
	like "mailer $1 exits with $2: the status is $4" \
	    "$where" "$sep(failed|delayed)$sep$4$sep"
}
ends end 1 deferred 4.3.0
ends end 2 deferred 4.3.0
ends end 64 deferred 4.3.5
ends end 65 error2 5.6.0
ends end 66 deferred 4.3.0
ends end 67 error2 5.1.1
ends end 68 error2 5.1.2
ends end 69 error2 5.3.0
ends end 70 deferred 4.3.0
ends end 71 deferred 4.3.0
ends end 72 deferred 4.3.5
ends end 73 deferred 4.3.0
ends end 74 deferred 4.3.0
ends end 75 deferred 4.4.0
ends end 76 deferred 4.5.0
ends end 77 error2 5.7.0
ends end 78 deferred 4.3.5
ends end 79 deferred 4.3.0
ends end 127 deferred 4.3.0
ends end 255 deferred 4.3.0
ends T 65 error2 5.6.0
ends T 67 error2 5.1.1
ends T 68 deferred 4.4.3
ends T 69 deferred 4.4.0
ends T 77 deferred 4.7.0
ends B 1 error2 5.3.0
ends B 75 deferred 4.4.0
message 20-1 <<END_
r           x h.org 0 0
N NOTIFY=SUCCESS
m

END_
is 'NOTIFY=SUCCESS: a success is reported as ok2' \
    "$(job 20-1 h.org end | verdicts)" \
    'ok2 words'
like 'NOTIFY=SUCCESS: the diagnostic says relayed' \
    "$(grep '^d' "$po/transport/20-1")" \
    "0${sep}relayed${sep}2.0.0${sep}"

table <<END_
lines	n	$tmp/end end 75 "one\\\\ntwo\\\\t\\\\001\\\\033[m three\\\\377 \\\\n\\\\n"
long	n	$sh sh -c "cat >/dev/null; yes word | head -n 1000; exit 75"
err	n	$sh sh -c "echo out; echo err >&2; cat >/dev/null; exit 75"
quiet	n	$tmp/end end 75
killed	n	$sh sh -c "cat >/dev/null; kill -9 \$\$\$\$"
END_
says() {	# title mailer verdict
	simple 21-1
	is "$1" "$(job 21-1 h.org "$2" | verdicts)" "$3"
	is "$1: the mail is deferred" "$(tags 21-1)" _
}
says 'control bytes in the output become one clean line' lines \
    'deferred one two [m three? [exit 75: temporary failure]'
says 'the output of both descriptors is reported' err \
    'deferred out err [exit 75: temporary failure]'
says 'a program without output' quiet 'deferred [exit 75: temporary failure]'
says 'a program that is killed by a signal' \
    killed 'deferred [killed by signal 9]'
simple 21-1
like 'a long output is cut' "$(job 21-1 h.org long | verdicts)" \
    '^deferred (word ){110,125}[word]*\.\.\. \[exit 75: temporary failure\]$'

echo 'echo x' >"$tmp/script"
chmod 755 "$tmp/script"
: >"$tmp/plain"
table <<END_
missing	n	$tmp/none none
plain	n	$tmp/plain plain
script	n	$tmp/script script
dir	n	$tmp dir
END_
cannot() {	# mailer path pattern
	simple 22-1
	like "a program that cannot be run is deferred: $1" \
	    "$(job 22-1 h.org "$1")" \
	    "delayed${sep}4\\.3\\.5${sep}.*deferred cannot execute $2: $3\$"
}
cannot missing "$tmp/none" 'No such file.*'
cannot plain "$tmp/plain" 'Permission denied'
cannot script "$tmp/script" '.*format.*'
cannot dir "$tmp" 'Permission denied'

# ---- programs that behave badly -----------------------------------------

table <<END_
deaf	n	$sh sh -c "exit 0"
loud	n	$sh sh -c "yes 01234567890123456789 | head -n 5000000; exit 75"
child	n	$sh sh -c "sleep 30 & echo \$\$! >$tmp/child; echo x; exit 75"
sleepy	n	$sh sh -c "echo hm; exec sleep 100"
stubborn n	$sh sh -c "trap '' TERM; cat >/dev/null; echo hm; sleep 100; sleep 100"
count	n	$sh sh -c "wc -c"
cut	n	$sh sh -c ": >$po/transport/33-1; echo run >>$tmp/cuts"
stop	n	$sh sh -c "kill -STOP \$\$\$\$; echo never"
size	n	$sh sh -c ": >$tmp/begun; until [ -f $tmp/read ]; do sleep $lib_nap; done; wc -c >$tmp/size.new; mv $tmp/size.new $tmp/size"
END_
simple 30-1
{
	printf 'skipped: '
	awk 'BEGIN { for (i = 0; i < 1000000; i++) print "0123456789abcdefghi" }'
} >"$po/queue/30-1"
is 'a program that does not read 20 MB is a success' \
    "$(job 30-1 h.org deaf | verdicts)$(tags 30-1)" 'ok3 Ok+'
simple 31-1
mv "$po/queue/30-1" "$po/queue/31-1"
is 'a program reads 20 MB' "$(job 31-1 h.org count | verdicts | tr -d ' ')" \
    'ok320000025'
simple 32-1
mv "$po/queue/31-1" "$po/queue/32-1"
like 'a program writes 100 MB before it reads' \
    "$(job 32-1 h.org loud | verdicts)" '^deferred 0123.*\.\.\. \[exit 75'
simple 31-1
is 'a background process that keeps the pipe is not waited for' \
    "$(job 31-1 h.org child | verdicts)" \
    'deferred x [exit 75: temporary failure]'
child=$(cat "$tmp/child")
lib_pids="$lib_pids $child"
ok 'a background process that keeps the pipe goes on' alive "$child"
kill "$child"
lib_forget "$child"
simple 31-1
is 'a program that takes too long: deferred' \
    "$(job 31-1 h.org sleepy -t 1 | verdicts)" \
    'deferred hm [took longer than 1s]'
simple 31-1
is 'a program that takes too long and ignores TERM: deferred' \
    "$(job 31-1 h.org stubborn -t 1 | verdicts)" \
    'deferred hm [took longer than 1s]'
if [ "$(strace -f -o /dev/null -e trace=chdir \
    -e inject=chdir:delay_enter=1000 $sh -c 'cd / && echo x' 2>/dev/null)" != x ]
then
	skip 'a program that takes too long to start: deferred' \
	    'no strace that can delay'
else
	simple 31-1
	A_was=$A
	# a directory that does not answer
	cat >"$tmp/slow" <<END_
#!$sh
ulimit -n 64
exec strace -f -o /dev/null -e trace=chdir \
    -e inject=chdir:delay_enter=6000000 $A "\$@"
END_
	chmod 755 "$tmp/slow"
	A=$tmp/slow
	like 'a program that takes too long to start: deferred' \
	    "$(job 31-1 h.org deaf -t 1 | verdicts)$(tags 31-1)" \
	    'deferred \[took longer than 1s]_$'
	A=$A_was
fi
# The first run takes away the header that the second needs.
message 33-1 <<END_
r           x h.org anna 0
r           x h.org bert 0
m
Subject: test

END_
is 'a message that cannot be read to its end: deferred' \
    "$(job 33-1 h.org cut | verdicts | sed -n 2p)" \
    "deferred $sh: the message cannot be read"
is 'a message that cannot be read to its end: no program is run' \
    "$(cat "$tmp/cuts")" run
simple 34-1
is 'a program that is stopped is not waited for' \
    "$(job 34-1 h.org stop | verdicts)" 'deferred [stopped]'

# Whatever becomes of us, the program has the whole message.
simple 35-1
mv "$po/queue/32-1" "$po/queue/35-1"
bg job 35-1 h.org size
wait_for 20 test -f "$tmp/begun"
kill -9 "$(sed -n 's/^r~ *\([0-9]*\).*/\1/p' "$po/transport/35-1")"
: >"$tmp/read"
wait_for 30 test -f "$tmp/size"
is 'the agent is killed: the program reads the whole message' \
    "$(tr -d ' ' <"$tmp/size")" 20000025

simple 36-1
like 'no directory for a copy of the message: deferred' \
    "$(TMPDIR=$tmp/none job 36-1 h.org deaf)" \
    "delayed${sep}4\\.3\\.0${sep}.*deferred cannot copy the message to $tmp/none for $sh: No such file"
if own_disk; then
	simple 37-1
	mv "$po/queue/35-1" "$po/queue/37-1"
	like 'no room for a copy of the message: deferred' \
	    "$(TMPDIR=$disk job 37-1 h.org deaf)" \
	    "delayed${sep}4\\.3\\.1${sep}.*deferred cannot copy the message to $disk for $sh: No space"
	is 'no room for a copy: nothing is left there' "$(ls "$disk")" ''
	kill "$bg_pid"
else
	skip 'no room for a copy of the message: deferred' \
	    'no file system of its own'
	skip 'no room for a copy: nothing is left there' \
	    'no file system of its own'
fi

# ---- what a program finds -----------------------------------------------

table <<END_
env	n	$sh sh -c "cat >/dev/null; env | sort >$tmp/env"
fd	n	$sh sh -c "cat >/dev/null; for i in 3 4 5 6 7 8 9; do (: <&\$\$i) 2>/dev/null && echo \$\$i; done; pwd"
END_
simple 40-1
(
	HOME=/home/x SECRET=y TZ=EET-2 LOGNAME=me
	export HOME SECRET TZ LOGNAME
	unset USER
	exec 5</dev/null
	job 40-1 h.org env
) >"$tmp/out"
is 'a program has a small environment' \
    "$(grep -v -e '^_=' -e '^PWD=' -e '^SHLVL=' \
    -e '^OLDPWD=' "$tmp/env" | sed 's/^PATH=.*/PATH/')" 'HOME=/home/x
LOGNAME=me
PATH
TZ=EET-2'
simple 40-1
is 'a program has no descriptor of ours, and / as directory' \
    "$(job 40-1 h.org fd 5</dev/null | verdicts)" 'ok3 /'

# ---- whose it is ---------------------------------------------------------

table <<END_
id	n	$sh sh -c "cat >/dev/null; id -u; id -G"
END_
me=$(id -u) nobody=$(id -u nobody 2>/dev/null) name=nobody
if without NO_PWD; then
	name=$nobody
fi
simple 41-1
is 'a program runs as our user' \
    "$(job 41-1 h.org id | verdicts | cut -d ' ' -f 1,2)" \
    "ok3 $me"
simple 41-1
like '-u with an unknown user: deferred' "$(job 41-1 h.org id -u no/body)" \
    "${sep}4\\.3\\.5${sep}.*deferred there is no user no/body"
if [ -z "$nobody" ]; then
	skip '-u with the user nobody' 'no user nobody'
elif [ "$me" -eq 0 ]; then
	groups='( [1-9][0-9]*)+$'
	if without NO_INITGROUPS; then
		groups=
	fi
	simple 41-1
	like '-u: root runs a program as another user' \
	    "$(job 41-1 h.org id -u "$name" | verdicts)" \
	    "^ok3 $nobody$groups"
else
	simple 41-1
	like '-u: an ordinary user runs no program as another user' \
	    "$(job 41-1 h.org id -u "$name" | verdicts)" \
	    "^(ok3 $me .*|deferred cannot execute $sh: .*)\$"
fi

# ---- the table ----------------------------------------------------------

wrong() {	# pattern <table
	table
	simple 50-1
	like "a wrong table, sm.cf:$1" "$(job 50-1 h.org bad)" \
	    "delayed${sep}4\\.3\\.5${sep}.*deferred $tmp/sm\\.cf:$1"
	is "a wrong table, sm.cf:$1: deferred" "$(tags 50-1)" _
}
wrong ' there is no line for bad' <<END_
good - /bin/cat cat
END_
wrong '2: bad needs flags, a path' <<END_
# comment
bad
END_
wrong '1: bad needs flags, a path' <<END_
bad - /bin/cat # cat
END_
wrong '1: bin/cat: the path must' <<END_
bad - bin/cat cat
END_
wrong '1: there is no flag z' <<END_
bad mzn /bin/cat cat
END_
wrong '1: flags n and U exclude' <<END_
bad mnU /bin/cat cat
END_
wrong '2: a quote of bad is not closed' <<END_
"
bad - /bin/cat cat "a\\"b
END_
wrong '1: a quote of bad' <<END_
bad "- /bin/cat cat
END_
wrong '1: a\$x: after a \$ comes' <<END_
bad - /bin/cat cat a\$x
END_
wrong '1: \$: after a \$ comes' <<END_
bad - /bin/cat cat \$
END_
awk 'BEGIN { printf "bad - /bin/cat"
    for (i = 0; i < 61; i++) printf " x"
    print "" }' >"$tmp/table"
wrong '1: bad has too many arguments' <"$tmp/table"
awk 'BEGIN { printf "bad - /bin/cat "
    for (i = 0; i < 9000; i++) printf "x"
    print "" }' >"$tmp/table"
wrong '1: the line of bad is too long' <"$tmp/table"
rm "$tmp/sm.cf"
simple 50-1
like 'a missing table: deferred' \
    "$(job 50-1 h.org bad | verdicts)" "sm.cf: No such file"
sed "s,/usr/s*bin/,$tmp/none/," "$top/sm.cf" | table
for mailer in $(sed -n 's/^\([a-z]*\)[ 	].*/\1/p' "$top/sm.cf"); do
	simple 50-1
	like "the sample table can be read: $mailer" \
	    "$(job 50-1 h.org $mailer | verdicts)" 'cannot execute'
done

# ---- under the scheduler ------------------------------------------------

ln -s "$A" "$tmp/bin/ta/sm"
rm -rf "$po"
spool_new "$po"
table <<END_
real z $tmp/show show \$u
END_
conf "$tmp/cf" <<END_
*/*	interval=1s retries="1" expiry=1d
x/*	command="sm -0 -c \$channel -f $tmp/sm.cf real"
END_
put "$po" 60-1 x h.org anna x h.org bert
sched_start "$po" "$tmp/cf"
ok 'the scheduler: a wrong table defers mail, the log says why' \
    wait_log "deferred msg=60-1 .*$tmp/sm.cf:1: there is no flag z"
nok 'the scheduler: mail deferred for a wrong table stays' po_empty "$po"
rm -f "$tmp/args"
table <<END_
real mn $tmp/show show \$u
END_
ok 'the scheduler: mail is delivered with a mended table' \
    wait_for 20 po_empty "$po"
is 'the scheduler: two recipients share a run' "$(shown)" '<anna><bert>'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# The scheduler dies while the program works: what that takes is done.
table <<END_
real mn $sh sh -c "cat >/dev/null; echo run >>$tmp/crash; until test -f $tmp/go; do sleep 1; done"
END_
sched_start "$po" "$tmp/cf"
put "$po" 61-1 x h.org u1 x h.org u2 x h.org u3 x h.org u4
ok 'the scheduler: four recipients share a run' wait_for 20 test -s "$tmp/crash"
sched_stop KILL
: >"$tmp/go"
all_done() {
	[ "$(tags 61-1)" = ++++ ]
}
ok 'a killed scheduler: all four recipients are marked' wait_for 20 all_done
sched_start "$po" "$tmp/cf"
ok 'a killed scheduler: the next one finds nothing to do' \
    wait_for 20 po_empty "$po"
is 'a killed scheduler: there is no second run' "$(grep -c run "$tmp/crash")" 1
sched_stop
finish
