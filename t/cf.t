#!/bin/sh
# The clause language: what is read, what is refused, what holds.
. "${0%/*}/lib.sh"
POSTOFFICE=$tmp/none	# not what may be installed here
export POSTOFFICE

MAILBIN=$tmp/bin POSTOFFICE=$tmp/none
export MAILBIN POSTOFFICE
T=$top/t/cftest
cf=$tmp/cf
explain() {	# address: values without the retries shown
	"$SCHEDULER" -n -f "$cf" "$1"
}
values() {	# address keyword ...
	a=$1
	shift
	for k; do
		explain "$a" | sed -n "s/^	\($k\)\$/\1/p;s/^	$k=//p"
	done | tr '\n' ' '
}

# ---- the complete example of the seed -----------------------------------

mkdir -p "$tmp/all/ta"
for a in mailbox errormail hold smtp sm dsn; do
	printf '#!/bin/sh\n[ "$1" != -V ] || echo %s 1\n' $a >"$tmp/all/ta/$a"
	chmod 755 "$tmp/all/ta/$a"
done
echo "X=$tmp" >"$tmp/env"
cp "$top/t/example.cf" "$cf"
is 'the complete example loads as printed' \
    "$(MAILBIN=$tmp/all "$SCHEDULER" -n -f "$cf" 2>&1; echo $?)" 0
is 'values accumulate up to the first command' \
    "$(values local/x interval expiry maxchannel retries command)" \
    '10s 3h 2 "1 1 2 3 5 8 13 21 34" "mailbox" '
is 'a pattern without a slash is for a channel' \
    "$(values error/x command maxchannel)" '"errormail" 10 '
is 'an empty clause takes the next one'\''s contents' \
    "$(values smtp/a.toronto.edu command maxring)" \
    '"smtp -srl /var/log/smtp" 2 '
is 'an empty clause is a clause of its own' \
    "$("$T" same "$cf" smtp/a.toronto.edu smtp/b.utoronto.ca)" other
printf 'a command="x"\nb command="y"\n' >"$tmp/groups"
is 'a clause without a group has daemon, also when no file can be opened' \
    "$(ulimit -n 50; "$T" groups "$tmp/groups" a/h b/h |
    awk '{ print NF, ($1 == $2 && $1 > 0) }')" '2 1'
is 'two hosts of one clause share it' \
    "$("$T" same "$cf" smtp/a.utoronto.ca smtp/b.utoronto.ca)" same
is 'the first command ends the search' \
    "$(values smtp/a.utoronto.ca command)" '"smtp -srl /var/log/smtp" '
is 'a host that the first command does not match has the next one' \
    "$(values smtp/x.org command)" \
    '"smtp -esrl /var/log/smtp" '

# ---- syntax -------------------------------------------------------------

cat >"$cf" <<'END'
# comment
one interval = 2h maxta= 7 # comment
	# comment
	command="a b\
	c"
   
two/*.X.org	Interval=1h5m20s NICE=-5 QueueOnly
	command=x#y skew=7
END
is 'blanks around =, comments, joined lines' \
    "$(values one/h interval maxta command)" '2h 7 "a b	c" '
is 'case folded, # within a word, negative numbers' \
    "$(values Two/A.x.ORG interval nice queueonly command skew)" \
    '1h5m20s -5 queueonly "x#y" 7 '
is 'keywords have their defaults' \
    "$(values none/h interval idlemax expiry expiry2 timeout retries \
    maxta maxchannel maxring maxthr overfeed skew nice user)" \
    '1m 3m 3d 1d 6h "1 1 2 3 4 8 13 21 34" 0 0 0 1 0 5 0 0 '
is 'idlemax is three intervals' "$(values one/h idlemax)" '6h '
like '-n says that no clause matches' "$(explain none/h)" 'no clause'
like '-n names the clauses that match' "$(explain one/h)" '^#	line 2: one$'
printf '*/*\tmaxtransport=1\nb/*\tmaxtransports=2 maxchannels=3 maxrings=4\n' >"$cf"
is 'maxtransports, maxchannels and maxrings are taken' \
    "$(values b/h maxta maxchannel maxring)" '2 3 4 '
is 'maxtransport is taken in an earlier clause' "$(values c/h maxta)" '1 '
printf '*/*\tmaxrcpts=100\na/*\tmaxrcpts=-1\n' >"$cf"
is 'maxrcpts is taken, -1 as ZMailer means it' \
    "$(values b/h maxrcpts) $(values a/h maxrcpts)" '100  0 '
printf '*/*\treporttimes="4h 1d" delayreport\na/*\treporttimes=none\n' >"$cf"
is 'reporttimes and delayreport are taken' \
    "$(values b/h reporttimes delayreport)" '"4h 1d" delayreport '
is 'a later clause changes when DSNs are sent' \
    "$(values a/h reporttimes)" '"none" '
printf 'a/*\trate=25/h posfeedback="1 / 8" interval=3600 retries=" 1 2"\n' >"$cf"
is 'rules, rates and lists are shown as written, spans in plain form' \
    "$(values a/h rate posfeedback interval retries)" \
    '25/h "1 / 8" 1h " 1 2" '
printf '*/*\tbychannel\nb/*\tcommand="p $channel"\n' >"$cf"
is 'bychannel is taken' "$(values b/h bychannel)" 'bychannel '
printf 'a/*\tmaxta=1\na/*\tmaxta=2 maxring=3\na/x\tmaxta=4\n' >"$cf"
is 'later clauses lay over earlier ones' "$(values a/x maxta maxring)" '4 3 '
"$SCHEDULER" -n -f "$cf" a/x | sed 's/^#.*//' >"$tmp/again"
is 'the output of -n for an address is a good configuration' \
    "$("$SCHEDULER" -n -f "$tmp/again" a/x | grep -v '^#')" \
    "$(grep -v '^$' "$tmp/again")"
printf 'a/*\tretries="1 2" interval=1h\n' >"$cf"
like '-n shows the first ten retries' "$(explain a/h)" '^# 1h 3h$'
like '-n says from which retry on they are on a multiple of interval' \
    "$(explain a/h | tail -n 1)" 'moved towards .* from retry 5 on'
printf 'a/*\tretries=0\n' >"$cf"
unlike '-n does not say that retries=0 is moved' "$(explain a/h)" 'moved'

# ---- patterns -----------------------------------------------------------

try() {		# yes or no, pattern, text ...
	want=$1 pattern=$2
	shift 2
	for text; do
		[ "$("$T" match "$pattern" "$text")" = "$want" ] ||
		    echo "$pattern $text: not $want"
	done
}
is 'patterns match what they should and nothing else' "$(
try yes 'smtp/*' smtp/ smtp/a smtp/a/b
try no  'smtp/*' smtp lsmtp/a
try yes smtp smtp/a smtp/
try no  smtp smtpx/a
try yes '*' a/b
try yes 'a?c/x' abc/x
try no  'a?c/x' ac/x abbc/x
try yes '[a-c]x/[!0-9]' ax/a cx/-
try no  '[a-c]x/[!0-9]' dx/a ax/5
try yes '[]x]/[a-]' ]/a x/- 
try yes '[^a]/h' b/h
try no  '[^a]/h' a/h
try yes 'A[B-D]/H' ac/h
try yes 'a\*b/h' 'a*b/h'
try no  'a\*b/h' axb/h
try yes 'a/{b,c*,}d' a/bd a/cxd a/d
try no  'a/{b,c*}d' a/d a/bbd
try yes '{a,b{c,d}}/{e,f}' a/e a/f bc/e bd/f
try no  '{a,b{c,d}}/{e,f}' b/e bc/bd
try yes '{a,b/x}' a/anything b/x
try yes 'a/*b*c*d' a/bcd a/xbxcxd a/bbccdd
try no  'a/*b*c*d' a/bdc a/bcdx
try yes '[\]]/x' ]/x
)" ''
is 'alternatives in braces are expanded' \
    "$("$T" expand 'x{a,b{1,2},c}y/*' | sort | tr '\n' ' ')" \
    'xay/* xb1y/* xb2y/* xcy/* '
like 'more than 256 alternatives are too many' \
    "$("$T" expand '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/x')" 'too many'
is '256 alternatives are not too many' \
    "$("$T" expand '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}/x' | wc -l | tr -d ' ')" 256
like 'more than 256 braces in a row are too many alternatives' \
    "$("$T" expand "$(awk 'BEGIN { while (i++ < 5000) printf "{a}" }')")" \
    'too many'
long=$(awk 'BEGIN { for (i = 0; i < 30; i++) printf "*a" }')
text=$(awk 'BEGIN { for (i = 0; i < 900; i++) printf "a" }')
is 'a pattern with many stars is matched in time' \
    "$("$T" match "x/${long}b" "x/$text")" no

# ---- errors -------------------------------------------------------------

cat >"$cf" <<'END'
	early=1
a[b	maxta=1
a{b	maxta=1
a\
c/*	bogus=1 intervall=3
	interval=5x interval=3660d interval interval=
	retries=" " retries="1 a" retries="1 70000"
	maxta=-2 maxthr=-2 skew=0 nice=99 maxring=3x overfeed=99999999999 maxrcpts=101
	queueonly=1 byhost maxhost=3 gangschedule
	user=no.such.user group=no.such.group user=4294967295
	command="x 'y" command="$host" command="bin/$channel a" command=" "
	command="A=b" command="a ${b"
	command="open
d/*	maxta="1"2
PARAMbogus x
PARAMnotifysock
	=4 user="" bogus=
PARAMnotifysock "x"y
e/*
f/*
END
"$SCHEDULER" -n -f "$cf" >"$tmp/out" 2>"$tmp/err"
is 'errors make the exit code 78' $? 78
is 'errors leave nothing on standard output' "$(cat "$tmp/out")" ''
is 'each error is file:line: keyword: reason' \
    "$(grep -Ev "^$cf:[0-9]+: [^ ]+: .+" "$tmp/err")" ''
while read -r want; do
	grep -E -e "^$cf:$want" "$tmp/err" >/dev/null || echo "$want"
done >"$tmp/missing" <<'END'
1: early: 
2: a\[b: .*]
3: a\{b: .*}
4: a.*: a backslash
5: bogus: is no keyword
5: intervall: is no keyword; see scheduler.cf
6: interval: 5x is no span
6: interval: 3660d is not between
6: interval: a value is missing
6: interval: there is no value
7: retries: the list is empty
7: retries: a is no number
7: retries: 70000 is not between 0 and 65535
8: maxta: -2 is not between
8: maxthr: -2 is not between
8: skew: 0 is not between
8: nice: 99 is not between
8: maxring: 3x is no number
8: overfeed: 99999999999 is no
8: maxrcpts: 101 is not between 0 and 100
9: queueonly: takes no value
9: byhost: is no longer
9: maxhost: is no longer
9: gangschedule: is no longer
10: user: there is no user no.such.user
10: user: there is no user 4294967295
10: group: there is no group
11: command: has a quote that is not closed
11: command: would run a program that depends on the address
11: command: names no program
12: command: names no program
12: command: has \$\{ without
13: command: the closing " is missing
14: maxta: a blank is missing
15: PARAMbogus: is not known
16: PARAMnotifysock: a value is missing
17: -: there is no keyword
17: user: a value is missing
17: bogus: is no keyword
17: bogus: there is no value
18: PARAMnotifysock: a blank is missing
19: e/\*: is empty
20: f/\*: is empty
END
is 'all errors are printed at once' "$(cat "$tmp/missing")" ''
is 'nothing is printed beside the errors' "$(wc -l <"$tmp/err" | tr -d ' ')" 44
refused() {	# what -n says of standard input, without the file's name
	cat >"$cf"
	"$SCHEDULER" -n -f "$cf" 2>&1 | sed "s,^$cf:,,"
}
is 'a clause with nothing but an error is not called empty' \
    "$(printf 'a/*\n\tmaxta=\n' | refused)" \
    '2: maxta: there is no value behind the ='
is 'a list without quotes is one error, which says to quote it' \
    "$(printf 'a/*\tretries=1 2 3 maxta=2\n\tcommand=smtp -s /x\n' | refused)" \
    '1: 2: is no keyword; if it is a part of the value of retries, write retries="..."
2: -s: is no keyword; if it is a part of the value of command, write command="..."'
is 'a wrong keyword may be a part of the value before it' \
    "$(printf 'a/*\tmaxta=1 queueonl\n\tinterval=1 foo=3\n' | refused)" \
    '1: queueonl: is no keyword; if it is a part of the value of maxta, write maxta="..."
2: foo: is no keyword; see scheduler.cf(5)'
is 'a value that goes on behind its quote is one error' \
    "$(printf 'a/*\tmaxta="1"2 skew=2\n' | refused)" \
    '1: maxta: a blank is missing behind the closing "'
is 'a keyword in the first column is no pattern' \
    "$(printf 'a/*\ninterval=5m\n\tcommand="c"\n' | refused)" \
    '2: interval=5m: is a keyword and must not stand in the first column'
is 'a keyword in the first column is no pattern in upper case either' \
    "$(printf 'a/*\nInterval=5m\n\tcommand="c"\n' | refused)" \
    '2: Interval=5m: is a keyword and must not stand in the first column'
is 'another name of a keyword in the first column is no pattern' \
    "$(printf 'a/*\nmaxrings=5\n\tcommand="c"\n' | refused)" \
    '2: maxrings=5: is a keyword and must not stand in the first column'
printf 'a/*\tmaxta=1\nqueueonly\nb/*\tcommand="c"\nInterval\tmaxta=2
user/*\tmaxta=3\nqueue*\tmaxta=4\n' >"$cf"
"$SCHEDULER" -n -f "$cf" b/x >"$tmp/out" 2>"$tmp/err"
is '-n warns of a keyword alone in the first column' \
    "$? $(sed "s,^$cf:,,; s/; .*//" "$tmp/err")" \
    '0 2: queueonly: is a keyword in the first column, taken for the pattern queueonly/*
4: Interval: is a keyword in the first column, taken for the pattern Interval/*'
like 'with a warning -n explains all the same' "$(cat "$tmp/out")" \
    '^	command="c"$'
cp "$cf" "$tmp/cf.daemon"
spool_new "$tmp/po"
ok 'a keyword alone in the first column is no error' \
    sched_start "$tmp/po" "$tmp/cf.daemon"
is 'the log warns of a keyword in the first column at the start' \
    "$(count "warn.*config $tmp/cf.daemon:2: queueonly: ")" 1
kill -HUP "$sched_pid"
wait_log 'reload .* done'
is 'the log warns of a keyword in the first column after a reload' \
    "$(count "warn.*config $tmp/cf.daemon:2: queueonly: ")" 2
sched_stop
is 'PARAMdestdb is an absolute path' \
    "$(printf 'PARAMdestdb UNIX:/x\n' | refused)" \
    '1: PARAMdestdb: UNIX:/x is no absolute path'
is 'PARAMmailqsock is an address, a port, or none' "$(printf '%s\n' \
    'PARAMmailqsock TCP:localhost:174' 'PARAMmailqsock TCP:127.0.0.1:' \
    'PARAMmailqsock x' 'PARAMmailqsock TCP:127.0.0.1:174' \
    'PARAMmailqsock TCP::174' 'PARAMmailqsock none' | refused |
    sed 's/;.*//')" \
    '1: PARAMmailqsock: TCP:localhost:174 names a host
2: PARAMmailqsock: TCP:127.0.0.1: has no port from 1 to 65535
3: PARAMmailqsock: x is not TCP:port, TCP:address:port or none
5: PARAMmailqsock: TCP::174 names a host'
is 'PARAMmailqsock refuses an address that is not one of IPv4' \
    "$(printf 'PARAMmailqsock TCP:%s:174\n' 999.1.1.1 1.2.3 1.2.3.4. 1..2.3 |
    refused | sed 's/.*: TCP:\([0-9.]*\):174 .*/\1/')" \
    '999.1.1.1
1.2.3
1.2.3.4.
1..2.3'
is 'PARAMnotifysock is an absolute path' \
    "$(printf 'PARAMnotifysock sock\n' | refused)" \
    '1: PARAMnotifysock: sock is no absolute path'
is 'reporttimes takes spans, each later than the one before' "$(printf \
    'a/*\treporttimes="1h x" reporttimes="2h 1h" reporttimes=0
\treporttimes=" " reporttimes="1 2 3 4 5 6 7 8 9"\n' | refused)" \
    '1: reporttimes: x is no span of time such as 90, 10m or 1h5m20s
1: reporttimes: 1h is not later than the one before
1: reporttimes: 0 is not between 1 and 315360000 seconds
2: reporttimes: the list is empty; say none
2: reporttimes: has more than 8 values'
printf 'a/*\tbounce=none command="c"\n' >"$cf"
is 'bounce=none is taken, and -n says what takes its place' \
    "$("$SCHEDULER" -n -f "$cf" a/h 2>&1 | grep -e bounce -e command=)" \
    "$cf:1: bounce: is no longer a keyword: instead of bounce=none write PARAMdsn=\"-x 'channel/host'\" with the pattern of its clause
	command=\"c\""
is 'PARAMdsn has complete words' \
    "$(printf 'PARAMdsn "-x %s"\n' "'a" | refused)" \
    '1: PARAMdsn: has a quote that is not closed'
is 'PARAMdsn has no more words than a command may have' \
    "$(awk 'BEGIN { while (n++ < 20) s = s " -x a"; print "PARAMdsn \"" s "\"" }' |
    refused)" '1: PARAMdsn: has too many words'
is 'a keyword behind a PARAM is refused' \
    "$(printf '%s\n' '*/* command=x' 'PARAMactive 10 maxta=3 maxring=y' \
    'PARAMevicted=5	# so many' 'smtp maxta=9' | refused)" \
    '2: PARAMactive: takes one value, with nothing behind it'
is 'wrong values of PARAM lines are refused' \
    "$(printf 'PARAMbouncelimit 5x\nPARAMbouncesize 1m
PARAMglobal-report-interval 4000d\nPARAMmailname a..b\nPARAMrouternotify x
PARAMactive 1000000000\n' |
    refused)" '1: PARAMbouncelimit: 5x is no span of time such as 90, 10m or 1h5m20s
2: PARAMbouncesize: 1m is no number
3: PARAMglobal-report-interval: 4000d is not between 0 and 315360000 seconds
4: PARAMmailname: a..b is no host'\''s name
5: PARAMrouternotify: x is no absolute path
6: PARAMactive: 1000000000 is not between 0 and 999999999'
awk 'BEGIN {
	for (i = 0; i < 5000; i++)
		x = x "x"
	print x "[\tmaxta=1\n\t" x "=1 maxta=" x " user=" x "\n\tretries=" x
}' | refused >"$tmp/out"
is 'the reason of an error is printed after a long word' \
    "$(sed 's/x\{50,\}/X/;s/;.*//' "$tmp/out")" '1: X: the closing ] is missing
2: X: is no keyword
2: maxta: X is no number
2: user: there is no user X
3: retries: X is no number'
is 'a file that cannot be read is one error' \
    "$("$SCHEDULER" -n -f "$tmp/none" 2>&1 | sed 's,.*/none:,,;s/read: .*/read/')" \
    '0: -: cannot be read'
printf 'a/*\tmaxta=1\0\n' >"$cf"
nok 'a NUL byte is refused' "$SCHEDULER" -n -f "$cf"
head -c 300000 /dev/zero 2>/dev/null | tr '\0' 'x' >"$cf"
nok 'a file that is too large is refused' "$SCHEDULER" -n -f "$cf"
: >"$cf"
is 'an empty file is one without clauses, which -n refuses' \
    "$("$SCHEDULER" -n -f "$cf" 2>&1)" \
    "$cf: it has no clause, so no mail would be delivered"
printf 'a/*\tmaxta=1' >"$cf"
is 'a last line without an end is read' "$(values a/h maxta)" '1 '
printf 'PARAMmailqsock = "TCP:174"\nPARAMauthfile x\nPARAMnotifysock=${X}/s
a/*\tmaxta=1\n' >"$cf"
is 'PARAM lines of ZMailer are ignored silently by -n' \
    "$("$SCHEDULER" -n -f "$cf" -Z "$tmp/env" 2>&1)" ''

cat >"$cf" <<'END'
PARAMauthfile = "/usr/share/scheduler.auth"
parammsgwriteasync 1
ParamMailqSock 0174
params/*
	maxta=1
*/*	interval=0 idlemax=0 maxthr=0 priority=7 deliveryform=delivery
	expiryform = "expiry" sysnice=-2 syspriority=-2
END
is 'other words of ZMailer are ignored silently by -n' \
    "$("$SCHEDULER" -n -f "$cf" 2>&1)" ''
sed 's,0174,"UNIX:/tmp/no.sock",' "$cf" >"$tmp/cf.daemon"
ok 'the scheduler starts with other words of ZMailer' \
    sched_start "$tmp/po" "$tmp/cf.daemon"
is 'the log warns of each word of ZMailer that has no meaning' \
    "$(lines "warn.*config $tmp/cf.daemon:" |
    sed 's/.*daemon:[0-9]*: \([A-Za-z-]*\): .*/\1/' | tr '\n' ' ')" \
    'PARAMauthfile parammsgwriteasync Parammailqsock deliveryform expiryform sysnice syspriority '
sched_stop
is 'interval=0, idlemax=0 and maxthr=0 are the defaults' \
    "$(values a/h interval idlemax maxthr)" \
    '1m 3m 1 '
printf 'a/*\tinterval=0s\n' >"$cf"
is 'interval=0s is the default, too' "$(values a/h interval)" '1m '
cat >"$cf" <<'END'
*/*	priority=7
params/*
	maxta=1
END
is 'priority=7 is nice=7' "$(values a/h nice)" '7 '
is 'a channel whose name begins like PARAM is a channel' \
    "$(values params/h maxta)" '1 '
is 'a line in small letters is a PARAM line, too' \
    "$(printf 'parammailqsock x\n' | refused)" \
    '1: parammailqsock: x is not TCP:port, TCP:address:port or none'
for where in UNIX:/tmp/mailq.sock /tmp/mailq.sock TCP:174 174 TCP:no-service \
    TCP:smtp TCP:174@host 'UNIX:${POSTOFFICE}/sock' '${POSTOFFICE}/sock'; do
	printf 'PARAMmailqsock = "%s"\na/*\tmaxta=1\n' "$where" >"$cf"
	ok "PARAMmailqsock of ZMailer: $where" "$SCHEDULER" -n -f "$cf"
done
is '-n warns of a PARAMmailqsock that is taken in another meaning' \
    "$(printf '%s\n' 'PARAMmailqsock TCP:smtp' 'PARAMmailqsock UNIX:/x' |
    refused | sed '$d')" \
    '1: PARAMmailqsock: the name of a service is taken for port 174
2: PARAMmailqsock: the scheduler makes no such socket; mailq uses its pipe'

# ---- commands -----------------------------------------------------------

run() {
	"$T" command "$@" | tr '\n' '|'
}
is 'words, quotes and backslashes of a command are read' \
    "$(run 'a  "b c" '\''d "e'\'' f\ g "h\"i" ""' c h)" \
    'bound 0|arg a|arg b c|arg d "e|arg f g|arg h"i|arg |'
is 'within double quotes a backslash is kept but before \" \\ \$' \
    "$(run 'p "a\d\"\\\$"' c h)" 'bound 0|arg p|arg a\d"\$|'
is 'NAME=value words in front of a command are its environment' \
    "$(run 'A=1 B="x y" p C=2' c h)" \
    'bound 0|env A=1|env B=x y|arg p|arg C=2|'
is '$channel and $host are replaced in a command' \
    "$(run 'p $channel -h$host ${channel}/${host}' c 'h i')" \
    'bound 1|arg p|arg c|arg -hh i|arg c/h i|'
is '$host as a word is not given with each job' "$(run 'p -x $host' c h)" \
    'bound 2|arg p|arg -x|arg h|'
is '$host as a word in quotes is not given with each job' \
    "$(run 'p "$host"' c h)" \
    'bound 2|arg p|arg h|'
is '$host within a longer word is given with each job' \
    "$(run 'p "$host x" "$host"y' c h)" \
    'bound 1|arg p|arg h x|arg hy|'
is '${host} in braces is given with each job' "$(run 'p ${host}' c h)" \
    'bound 1|arg p|arg h|'
is 'a value never becomes more than one word, nor a command' \
    "$(run 'p $host' c 'a; rm -rf "$x" `y` | z')" \
    'bound 2|arg p|arg a; rm -rf "$x" `y` | z|'
is 'single quotes keep $' "$(run "p '\$host \${x}'" c h)" \
    'bound 0|arg p|arg $host ${x}|'
is 'another $ in a command stands for itself' "$(run 'p $5 $hosts a$' c h)" \
    'bound 0|arg p|arg $5|arg $hosts|arg a$|'
is '${POSTOFFICE} is replaced in a command' "$(run 'p ${POSTOFFICE}/x' c h)" \
    'bound 0|arg p|arg /a b/post/x|'
like 'an unknown ${NAME} in a command is refused' \
    "$(run 'p ${NOPE}' c h)" 'why .*not known'
like 'a host that looks like an option is refused' \
    "$(run 'p $host' c -oProxy)" 'why .*option'
like 'a channel and a host that make an option together are refused' \
    "$(run 'p $channel$host' - oX)" 'why .*option'
is 'a host with a dash within a word is no option' "$(run 'p x$host' c -o)" \
    'bound 1|arg p|arg x-o|'
is 'a single dash is a host' "$(run 'p $host' c -)" \
    'bound 2|arg p|arg -|'
like 'a command of too many words is refused' \
    "$(run "p$(awk 'BEGIN { for (i = 0; i < 40; i++) printf " x" }')" c h)" \
    'why .*too many'
like 'a command that is too long is refused' \
    "$(run 'p $host $host $host $host $host' c "$text")" 'why .*too long'

# ---- retries ------------------------------------------------------------

# From a wall clock that is a multiple of the interval; with a skew that
# takes very long, each wait is moved by a second.
wait_list() {	# config wall n
	printf 'a/*\t%s\n' "$1" >"$cf"
	"$T" waits "$cf" a/h "$2" "$3"
}
is 'retries follow the list from its beginning' \
    "$(wait_list 'interval=10m retries="1 2 5" skew=1' 1800000000 3)" \
    '600 1200 3000 at 1800004800'
is 'retries behind the list begin at a random place in it' "$(wait_list \
    'interval=10m retries="1 2 5" skew=1' 1800000000 60 | tr ' ' '\n' |
    sort -n | uniq | grep '00$' | head -n 3 | tr '\n' ' ')" '600 1200 3000 '
like 'with skew=1 the first retry is aligned' \
    "$(wait_list 'interval=10m retries=1 skew=1' 1800000123 1)" '^477 '
like 'with skew=1 the first retry is aligned to the nearer side' \
    "$(wait_list 'interval=10m retries=1 skew=1' 1800000423 1)" '^777 '
like 'with skew=3 the third retry is aligned' \
    "$(wait_list 'interval=10m retries=1 skew=3' 1800000123 3)" '00$'
unlike 'with skew=3 the second retry is not aligned' \
    "$(wait_list 'interval=10m retries=1 skew=3' 1800000123 2)" '00$'
like 'with skew=3 the three retries have equal waits' \
    "$(wait_list 'interval=10m retries=1 skew=3' 1800000123 3)" '^559 559 559 '
is 'retries=0 is a second, never aligned' \
    "$(wait_list 'interval=10m retries=0 skew=1' 1800000123 2)" '1 1 at 1800000125'
is 'a clock that is not set is not aligned to' \
    "$(wait_list 'interval=10m retries=1 skew=1' -5 1)" '600 at 595'
like 'the largest wait does not overflow' \
    "$(wait_list 'interval=3650d retries=65535 skew=1' 1800000000 1)" '^[1-9][0-9]* '
step() {	# age
	"$T" step "$cf" a/h "$1"
}
printf 'a/*\tinterval=100s retries="1 2 5 9" skew=1\n' >"$cf"
is 'an age has its place in the retry list' \
    "$(step 0) $(step 99) $(step 100) $(step 299) $(step 300) $(step 1699)" \
    '0 0 1 1 2 3'
like 'an age behind the end of the retry list has a place in it' \
    "$(step 99999)" '^[0-3]$'

# ---- many broken files --------------------------------------------------

# Lines of the example cut, doubled and with bytes changed: whatever comes of
# it is an exit code of ours.
awk -v dir="$tmp" 'BEGIN {
	srand(1)
	while ((getline line < "'"$top/t/example.cf"'") > 0) text = text line "\n"
	some = "{}[]\\\"='\''$*/# \t\nx"
	for (i = 0; i < 150; i++) {
		s = text
		for (j = 0; j < 1 + i / 10; j++) {
			at = 1 + int(rand() * length(s))
			c = substr(some, 1 + int(rand() * length(some)), 1)
			s = substr(s, 1, at - 1) c substr(s, at + int(rand() * 3))
		}
		f = dir "/fuzz." i
		printf "%s", s >f
		close(f)
	}
}'
for f in "$tmp"/fuzz.*; do
	"$SCHEDULER" -n -f "$f" smtp/x.toronto.edu >/dev/null 2>&1
	case $? in
	0 | 78) ;;
	*) echo "${f##*/}" ;;
	esac
done >"$tmp/odd"
is 'broken files end in an exit code of ours' "$(cat "$tmp/odd")" ''

# ---- options of agents --------------------------------------------------------

# Our own agents are asked; of others nothing is known.
ln -s "$top/ta/smtp" "$top/ta/mailbox" "$tmp/bin/ta"
printf '#!/bin/sh\necho other >&2\nexit 64\n' >"$tmp/bin/ta/other"
chmod 755 "$tmp/bin/ta/other"
conf "$tmp/agents" <<'END'
*/*	interval=1m
good/*	command="smtp -R a -A b -c $channel -T idle=1"
tls/*	command="smtp -R a -A b -X 'busybox ssl_client -s $socket'"
root/*	command="smtp -X 'openssl s_client' -t /"
box/*	command="mailbox -q"
none/*	command="sm nosuch"
other/*	command="other -q"
END
out=$(MAILBIN=$tmp/bin "$SCHEDULER" -n -f "$tmp/agents" 2>&1)
is 'scheduler -n with wrong options of agents ends with 0' $? 0
is 'scheduler -n has agents check their options' "$(echo "$out" |
    sed -n "s,^$tmp/agents:,,p" | tr '\n' '|')" \
    "4: command: smtp does not take these options|5: command: mailbox does not take these options|6: command: $tmp/bin/ta/sm: No such file or directory; its mail would wait|"
like 'smtp says why -X does not go with another root' "$out" \
    '^smtp: -X goes with neither -o nor -t$'
like 'smtp names programs that verify nothing' "$out" \
    '^smtp: the command of -X has ssl_client, which .*verifies no'
unlike 'agents of others are not started' "$out" '^other$'
finish
