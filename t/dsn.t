#!/bin/sh
# The agent dsn and its channel: a slot of its own, and who reaches it.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
A=$top/t/agent
D=$top/ta/dsn
ask=$top/t/ask
order() {	# verb what
	"$ask" order "$po" "$1" "$2" 2>&1
}
failed() {	# name: a message whose sender is to get a DSN
	simple "$po" "$1" "${2-anna@a.example}" <<END_
r-          fail h u@x.example 0
d u@x.example|failed|5.1.1|||no
END_
}

# ---- by hand ----------------------------------------------------------------

like 'dsn -V prints its version' "$("$D" -V)" '^dsn [0-9]'
is 'spans and sizes may have units' \
    "$("$D" -p 1h30m -s 64k </dev/null 2>&1)" '#hungry'
for args in a '-d forms' -x '-p x' '-s -1' '-x a[b'; do
	"$D" $args </dev/null >"$tmp/out" 2>&1
	is "wrong options are refused: $args" \
	    "$?$(sed -n 's/: .*//p' "$tmp/out" |
	    tail -n 1)" 64usage
done
spool_new "$po"
failed 101-1
job() {		# line [option ...]
	printf '%s\n' "$1" >"$tmp/line"
	shift
	(cd "$po/transport" && exec "$D" -n mx.here "$@") <"$tmp/line" 2>&1 |
	    grep -v '^#hungry'
}
like 'a job makes a DSN' "$(job "101-1${tab}failure")" \
    "^101/0$tab${tab}ok to=anna@a.example rcpts=1 msgs=1 file=router/[0-9]*\$"
is 'a job whose DSN was made makes no other' \
    "$(job "101-1${tab}failure")" \
    "101/0$tab${tab}ok no DSN is needed"
is 'a job whose message is gone makes no DSN' \
    "$(job "102-1${tab}failure")" \
    "102/0$tab${tab}ok no DSN is needed"
is 'a job with a name that leads elsewhere is refused' \
    "$(job "../101-1${tab}failure")" \
    '#resync ../101-1'
failed 103-1 '<>'
like 'a failure without a sender for the DSN is an error' \
    "$(job "103-1${tab}failure")" "^103/0$tab${tab}error2 a failure was reported to no sender"
simple "$po" 104-1 anna@a.example <<END
r-          fail h u@x.example 0
d-u@x.example|failed|5.1.1|||no
END
like 'a failure that -x keeps out of DSNs is an error' \
    "$(job "104-1${tab}failure" -x 'smtp/*' -x '{none,fail}/[g-i]')" \
    "^104/0$tab${tab}error a failure was reported to no sender"
like 'a failure that an older scheduler marked is in a DSN without -x' \
    "$(job "104-1${tab}failure" -x 'fail/g')" \
    "^104/0$tab${tab}ok to=anna@a.example rcpts=1 "
simple "$po" 109-1 anna@a.example <<END
r-         1fail h u@x.example 0
d+u@x.example|delayed|||1795220140|4.2.2 box is full
END
like 'a failure whose line was lost is in a DSN after that of its delay' \
    "$(job "109-1${tab}failure")" \
    "^109/0$tab${tab}ok to=anna@a.example rcpts=1 "
simple "$po" 111-1 anna@a.example <<END
r-         1fail h u@x.example 0
END
awk '/^r/ { printf "d %d:-1:-1::0\tu@x.example\001delayed\001\001\001\tlate\n",
    at } { at += length($0) + 1 }' "$po/transport/111-1" >"$tmp/warning"
cat "$tmp/warning" >>"$po/transport/111-1"
dsn=$(job "111-1${tab}failure" | sed 's,.*=router/,,')
like 'the line of a delay without a DSN is no reason of a failure' \
    "$(grep '^Diagnostic' "$po/router/$dsn")" 'was not written down'
simple "$po" 110-1 anna@a.example <<END
r-          fail h u@x.example 0
d u@x.example|delayed|4.2.0|||expired by ZMailer
END
like 'a failure whose line says delayed is in the DSN' \
    "$(job "110-1${tab}failure")" \
    "^110/0$tab${tab}ok to=anna@a.example rcpts=1 "
is 'a failure whose line says delayed gets no other line' \
    "$(grep -c '^d' "$po/transport/110-1")" 1
simple "$po" 113-1 anna@a.example <<END
r           late h u@x.example 0
d u@x.example|delayed||10000 all||more than a delay field holds
END
is 'a line on a delay with a number that is too large makes no DSN' \
    "$(job "113-1${tab}delay")" "113/0$tab${tab}ok no DSN is needed"
mail "$po" 112-1 <<END
i 112-1
o 0
s smtp - a@a.example 0
r-          fail h u1@x.example 0
r-          fail h u2@x.example 0
s smtp - b@a.example 0
r-          fail h u3@x.example 0
e c@a.example
r-          fail h u4@x.example 0
m
Subject: first

s smtp - d@a.example 0
r-          fail h u5@x.example 0
s smtp - a@a.example 0
r-          fail h u6@x.example 0
m
Subject: second

d u4@x.example|failed|5.1.1|||no
d u1@x.example|failed|5.1.1|||no
d u6@x.example|failed|5.1.1|||no
d u5@x.example|failed|5.1.1|||no
d u3@x.example|failed|5.1.1|||no
d u2@x.example|failed|5.1.1|||no
END
rm -f "$po/router/"*
job "112-1${tab}failure" >"$tmp/out"
is 'each of many senders gets his recipients and their header' \
    "$(for j in "$po/router/"*; do
	sed -n -e 's/^to <*\([^>]*\)>*/\1/p' \
	    -e 's/^Final-Recipient: rfc822; \(.*\)@.*/\1/p' \
	    -e '/^Subject: [fs][a-z]*$/s/.* //p' "$j" | tr '\n' ' '
	echo
    done | sort | tr '\n' ,)" \
    'a@a.example u1 u2 first ,a@a.example u6 second ,b@a.example u3 first ,c@a.example u4 first ,d@a.example u5 second ,'
# Each DSN goes before the next one is made, and leaves it its file number.
for n in 1 2 3 4 5 6 7 8; do
	failed 12$n-1
done
rm -f "$po/router/"*
mkfifo "$tmp/in" "$tmp/answers"
(cd "$po/transport" && exec "$D") <"$tmp/in" >"$tmp/answers" &
exec 8>"$tmp/in" 9<"$tmp/answers"
for n in 1 2 3 4 5 6 7 8; do
	printf '%s\n' "12$n-1${tab}failure" >&8
	while read -r said <&9 && [ "$said" = '#hungry' ]; do
		:
	done
	sed -n '/^Message-ID:/{n;p;q;}' "$po/router/"*
	rm "$po/router/"*
done >"$tmp/ids"
exec 8>&- 9<&-
wait
is 'no two DSNs have the same Message-ID' "$(sort -u "$tmp/ids" | grep -c '<')" 8
failed 105-1
failed 106-1
printf '105-1\tfailure\n106-1\tfailure\n106-1\tsuccess\n' >"$tmp/lines"
like 'the second DSN to a sender waits for the pause' "$(cd "$po/transport" &&
    "$D" -p 60 <"$tmp/lines" | tr '\n' '@')" \
    "105/0[^@]*ok to=.*@#hungry@106/0$tab${tab}retryat \+[56][0-9] the sender.*106/0$tab${tab}retryat \+"
printf 's smtp - anna@a.example 0\nr-          a h u@x.example 0\ns smtp - bert@b.example 0\nr-          b h v@x.example 0\nm\n\nd u@x.example|failed|5.1.1|||no\nd v@x.example|failed|5.1.1|||no\n' |
    { printf 'i 107-1\no 0\n'; cat; } | mail "$po" 107-1
failed 108-1
printf '108-1\tfailure\n107-1\tfailure\n' >"$tmp/lines"
like 'the pause of one sender delays no other of the message' \
    "$(cd "$po/transport" &&
    "$D" -p 60 <"$tmp/lines" | tr '\n' '@')" \
    "107/0$tab${tab}retryat \+[56][0-9] to=bert"
rm -f "$po"/*/1*

# ---- clauses ----------------------------------------------------------------

cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMmailname mx.here.example
PARAMbouncelimit 1h
*/*	interval=1h retries=1 expiry=1d maxta=1 queueonly
PARAMdsn="-x 'kept/*' -x '*/h.test'"
d*/*	queueonly
fail/*	command="$A -c fail error no such user"
hang/*	command="$A -c hang ok"
END
explained=$("$SCHEDULER" -n -f "$tmp/cf" dsn/failure)
like 'no pattern but its own reaches the channel dsn' "$explained" 'no clause'
like 'the channel dsn has a command of ours' "$explained" \
    '^	command="dsn .*-p 3600 -s 65536 -n .mx.here.example. -x .kept/\*. -x .\*/h\.test.'
like 'the channel dsn never expires' "$explained" '^	expiry=0s'
printf 'dsn/*	expiry=1d queueonly maxring=9 interval=7s\n' >>"$tmp/cf"
explained=$("$SCHEDULER" -n -f "$tmp/cf" dsn/delay)
like 'a clause that names the channel dsn reaches it' \
    "$explained" '^#.*: dsn/\*$'
like 'a clause for the channel dsn sets how it is tried' \
    "$explained" '^	interval=7s'
is 'a clause for the channel dsn sets no expiry, limit or queueonly' \
    "$(printf '%s\n' "$explained" |
    grep -E '^	(expiry=|queueonly|maxring=)' | tr -d '\t\n')" 'expiry=0smaxring=1'
printf '*/*	user=12345\n' >>"$tmp/cf"
like 'the agent dsn has the user of the scheduler' \
    "$("$SCHEDULER" -n -f "$tmp/cf" dsn/delay)" "^	user=$(id -u)\$"
printf 'dsn/*	user=12345\n' >>"$tmp/cf"
like 'a clause for the channel dsn sets its user' \
    "$("$SCHEDULER" -n -f "$tmp/cf" dsn/delay)" '^	user=12345$'

# ---- a slot of its own, and operators -----------------------------------------

agent stuck <<'END'
echo '#hungry'
read -r line
while :; do sleep 1; done
END
agent liar <<'END'
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" = '#idle' ] || printf '%s/0\t\tok it is done\n' "${line%%-*}"
	echo '#hungry'
done
END
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMbouncelimit 1h
*/*	interval=1h retries=1 maxta=1 maxchannel=1 maxring=1
stuck/*	command="stuck"
fail/*	command="$A -c fail error no such user"
END
put "$po" 201-1 stuck h u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -p stuck/h
ok 'the only agent is at work' wait_log 'agent-start .*channel=stuck'
failed 202-1
dsn_of 202-1
is 'a DSN is made beside all limits, whatever -p says' \
    "$(dsns_of 202-1 | sed 's/ file.*//')" 'to=anna@a.example rcpts=1 msgs=1'
failed 203-1
ok 'the next DSN to a sender waits for the pause' \
    wait_log 'deferred msg=203-1 .*channel=dsn'
for verb in delete bounce; do
	like "$verb */* does not reach the channel dsn" \
	    "$(order $verb 's*/*')$(order \
	    $verb '{x,[c-e]*}/*')" '^ok .*no nothing in the queue'
done
like 'delete dsn/* reaches the channel dsn' \
    "$(order delete 'dsn/*')" '^ok 1 job deleted'
ok 'a message whose DSN is deleted goes' \
    wait_for 20 eval '[ ! -f "$po/transport/203-1" ]'
is 'a DSN that is deleted is not made' "$(dsns_of 203-1)" ''
sched_quit

# ---- who is refused -------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h retries=1
liar/*	command="liar"
END
put "$po" 301-1 dsn failure u
put "$po" 302-1 liar h u dsn delay u
put "$po" 303-1 liar h u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok "a control file with a recipient on the channel dsn is set aside" \
    wait_log 'set-aside msg=301-1 .*channel dsn'
ok 'a recipient on the channel dsn beside others sets its file aside' \
    wait_log 'set-aside msg=302-1 .*channel dsn'
ok 'a report with the offset 0 of another agent is refused' \
    wait_log 'report agent=.*num=303 rcpt=0 .* refused'
ok 'a report with the offset 0 changes nothing' \
    wait_log 'deferred msg=303-1 .*channel=liar'
sched_stop

# ---- without the agent -----------------------------------------------------------

rm -rf "$po"
spool_new "$po"
rm "$tmp/bin/ta/dsn"
cat >>"$tmp/cf" <<END
PARAMglobal-report-interval 0
late/*	reporttimes=1h delayreport command="$A -c late deferred later"
END
failed 401-1
old='90 minutes ago'
simple "$po" 403-1 anna@a.example <<END
r-          fail h u@x.example 0
r           late h v@x.example 0
d u@x.example|failed|5.1.1|||no
END
old=
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'DSNs wait while there is no agent dsn' \
    wait_log 'agent channel=dsn .*mail waits'
ok 'the DSN of a delay can be deleted while there is no agent' \
    wait_for 20 eval \
    'order delete dsn/delay | grep -q "^ok 1 job deleted"'
like 'the rest of its message can be deleted while there is no agent' \
    "$(order delete 'late/*')" '^ok 1 job'
simple "$po" 402-1 anna@a.example <<END
r+          fail h u@x.example 0
N NOTIFY=SUCCESS
d u@x.example|delivered|2.0.0|||there
END
ln -s "$D" "$tmp/bin/ta/dsn"
ok 'the DSN of a failure is sent when there is an agent dsn' dsn_of 401-1
ok 'the DSN of a failure before a deleted delay is sent' dsn_of 403-1
ok 'the DSN of a success is sent when there is an agent dsn' dsn_of 402-1
like 'the DSN of a success has the host success' \
    "$(lines 'delivered msg=402-1')" \
    'channel=dsn host=success status=ok'
wait_for 20 po_empty "$po"
ok 'nothing is left when all DSNs are made' po_empty "$po"
sched_stop

# ---- in the midst of a message -----------------------------------------------------

# It sets the tag '-' and waits before it reports that, as if with a slow disk.
agent slow <<'END'
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" = '#idle' ] && continue
	name=${line%%-*}
	off=$(awk -v c="$1" '/^r/ && index($0, " " c " ") { print at }
	    { at += length($0) + 1 }' "$name-1")
	printf '-' | dd of="$name-1" bs=1 seek=$((off + 1)) conv=notrunc \
	    2>/dev/null
	: >"$2"
	until [ -f "$3" ]; do sleep 0.1; done
	printf '%s/%s\t\terror the reason of %s\n' "$name" "$off" "$1"
	echo '#hungry'
done
END
rm -rf "$po"
spool_new "$po"
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMglobal-report-interval 1s
*/*	interval=1h retries=1
one/*	command="slow one $tmp/one $tmp/two"
two/*	command="slow two $tmp/two $tmp/go"
PARAMdsn="-x 'none/*'"
none/*	command="slow none $tmp/none $tmp/go"
END
simple "$po" 501-1 anna@a.example <<END
r           one h u@x.example 0
r           two h v@x.example 0
r           none h w@x.example 0
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'the DSN of a failure is sent while its message is in work' dsn_of 501-1
nok 'no reason is made up for failures that are not reported yet' \
    grep 'not written down' "$po"/*/501-1
: >"$tmp/go"
ok 'the DSN of later failures of a message is sent at its end' \
    wait_log 'msg=501-1 .*channel=dsn host=failure .* to=' 20
wait_for 20 po_empty "$po"
is 'each failure is in one DSN and has its reason' \
    "$(dsns_of 501-1 | sed 's/ file.*//' | tr '\n' ',')$(cat "$po"/router/* |
    sed -n 's/^Diagnostic-Code.*the reason of \(.*\))$/\1/p' | sort | tr '\n' ,)" \
    'to=anna@a.example rcpts=1 msgs=1,to=anna@a.example rcpts=1 msgs=1,one,two,'
sched_stop

# ---- a report beside -----------------------------------------------------------

# Reports another line of its job's control file before it ends well.
agent beside <<'END'
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" = '#idle' ] && continue
	name=${line%%-*}
	off=$(awk '/^r/ && / dsn success / { print at }
	    { at += length($0) + 1 }' "$name-1")
	printf '%s/%s\t\tok it is done\n' "$name" "$off"
	printf '%s/0\t\tok it is done\n' "$name"
	echo '#hungry'
done
END
rm -rf "$po"
spool_new "$po"
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMglobal-report-interval 1s
*/*	interval=1h retries=1
dsn/*	command="beside"
fail/*	command="$A -c fail error no such user"
late/*	queueonly command="$A -c late ok"
END
simple "$po" 551-1 anna@a.example <<END
r           fail h u@x.example 0
r+          dsn success v@x.example 0
r           late g1 w1@x.example 0
r           late g2 w2@x.example 0
r           late g3 w3@x.example 0
END
ok 'the scheduler starts with an agent of the channel dsn that errs' \
    sched_start "$po" "$tmp/cf"
ok 'a report of a recipient line by an agent of the channel dsn is refused' \
    wait_log 'report agent=.*num=551 rcpt=[1-9].* (refused|no such)'
ok 'a job of the channel dsn ends after a report that was refused' \
    wait_log 'delivered msg=551-1 .*rcpt=0 channel=dsn'
sched_stop

# ---- an agent that crashes, or hangs -----------------------------------------------

# It takes a job and crashes, or hangs if there is a file, until it is mended.
agent ill <<END
[ ! -f "$tmp/mended" ] || exec "$D" "\$@"
echo '#hungry'
read -r line
echo "\$line" >>"$tmp/ill.jobs"
[ -f "$tmp/hang" ] || kill -9 \$\$
until [ -f "$tmp/mended" ] || [ ! -d "$tmp" ]; do sleep $lib_nap; done
END
rm -rf "$po"
spool_new "$po"
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h retries=1
dsn/*	interval=1s retries=1 maxring=1 command="ill -n mx.here"
fail/*	command="$A -c fail error no such user"
fine/*	command="$A -c fine"
END
failing "$po" 561-1 anna@a.example u
ok 'the scheduler starts with an agent of the channel dsn that crashes' \
    sched_start "$po" "$tmp/cf"
ok 'the agent of the channel dsn crashes three times' wait_for 30 eval \
    '[ "$(count "agent-lost .*channel=dsn .*signal 9")" -ge 3 ]'
put "$po" 562-1 fine h u
failing "$po" 563-1 bert@b.example u
ok 'other mail is delivered beside its crashes' wait_log 'complete msg=562-1'
ok 'other mail fails beside its crashes' wait_log 'failed msg=563-1'
: >"$tmp/ill.jobs"
: >"$tmp/hang"
ok 'the agent of the channel dsn hangs with a job' \
    wait_for 30 [ -s "$tmp/ill.jobs" ]
put "$po" 564-1 fine h u
failing "$po" 565-1 carl@c.example u
ok 'other mail is delivered while it hangs' wait_log 'complete msg=564-1'
ok 'other mail fails while it hangs' wait_log 'failed msg=565-1'
is 'only messages that owe a DSN are left' \
    "$(cd "$po/transport" && echo *)" '561-1 563-1 565-1'
: >"$tmp/mended"
for m in 561-1 563-1 565-1; do
	ok "the DSN is sent when the agent is mended: $m" dsn_of $m
done
ok 'no message is left' wait_for 30 po_empty "$po"
sched_stop

# ---- two clauses -----------------------------------------------------------------

# Says so when another runs.
agent lone <<'END'
mkdir "$1/lone" || : >"$1/both"
"$2" -p "$3" -n mx.here
rmdir "$1/lone"
END
rm -rf "$po"
spool_new "$po"
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h retries=1
dsn/failure	command="lone $tmp $D 3600"
dsn/success	command="lone $tmp $D 3600"
END
failed 601-1
simple "$po" 602-1 bert@b.example <<END
r+          fail h u@x.example 0
N NOTIFY=SUCCESS
d u@x.example|delivered|2.0.0|||there
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'with two clauses for the channel dsn a DSN of a failure is sent' \
    dsn_of 601-1
ok 'with two clauses for the channel dsn a DSN of a success is sent' \
    dsn_of 602-1
nok 'two clauses for the channel dsn run one agent at a time' \
    test -f "$tmp/both"
failed 603-1
dsn_of 603-1
failed 605-1
ok 'another failure waits for the pause' \
    wait_log 'deferred msg=605-1 .*channel=dsn'
printf 'T failure\n' | put_raw "$po" 604-1
ok 'a T line of a host with the name failure is read' \
    wait_log 'trigger host=failure'
like 'a T line does not reach the channel dsn' \
    "$(lines 'trigger host')" 'threads=0$'
kill -HUP "$sched_pid"
ok 'a reload ends the pause' dsn_of 605-1 20
sched_stop
finish
