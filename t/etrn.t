#!/bin/sh
# submit -qRhost: mail for a host goes when that host asks for it.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILSHARE
po=$tmp/po
S=$top/submit
spool_new "$po"

# ---- without a scheduler ---------------------------------------------------------

for bad in '' 'a b' "$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "name." }')"
do
	out=$("$S" -P "$po" "-qR$bad" 2>&1)
	rc=$?		# which the title sets anew in some shells
	is "-R refuses what is no host: $(echo "$bad" | cut -c1-9)" $rc 64
done
out=$("$S" -P "$po" -qRfar.example anna 2>&1)
is '-R takes no recipients' "$?" 64
out=$("$S" -P "$tmp/none" -qRfar.example 2>&1)
is '-R fails without a post office' "$?" 75
ok '-R asks for a host without a scheduler' "$S" -P "$po" -qRleaf.Example
is 'the request of -R waits in transport/' \
    "$(cat "$po"/transport/[1-9]*)" 'T leaf.Example'
is 'the request of -R makes no other file' \
    "$(find "$po" -type f | wc -l | tr -d ' ')" 1
chmod 500 "$po/transport"
if [ "$(id -u)" -eq 0 ] && as_nobody true; then
	chmod 1777 "$po/public" "$po/router"
	out=$(as_nobody "$S" -P "$po" -qRfar.example)
else
	out=$("$S" -P "$po" -qRfar.example 2>&1)
fi
is '-R is refused to others than the owner' "$?" 77
like '-R says that it is for the owner' "$out" 'only its owner or root'
chmod 700 "$po/transport"
is '-R leaves no file for others' "$(find "$po" -type f | wc -l | tr -d ' ')" 1

# ---- with one ----------------------------------------------------------------------

conf "$tmp/cf" <<END
*/*	interval=1h
leaf/*	queueonly command="$top/t/agent -c leaf -o $tmp/leaf"
busy/*	command="$top/t/agent -c busy -o $tmp/busy -f $tmp/open"
END
put "$po" 1-1 leaf leaf.example anna
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'a request from before the start is read' \
    wait_log 'trigger host=leaf.example'
ok 'the file of a request is removed' \
    wait_for 30 [ -z "$(grep -l '^T' "$po"/transport/* \
    2>/dev/null)" ]
put "$po" 2-1 leaf leaf.example bert
put "$po" 3-1 leaf other.example carl
put "$po" 4-1 busy leaf.example dora
ok 'mail for a host waits for its retry' wait_log 'deferred msg=4-1' 20
for n in 2 3; do
	ok 'mail of a queueonly clause is loaded' wait_log "load msg=$n-1" 20
done
nok 'mail of a queueonly clause does not go by itself' \
    logged 'complete msg=[23]-1'
: >"$tmp/open"
ok '-R asks for a host while the scheduler runs' "$S" -P "$po" -qRLEAF.example
ok 'mail of a queueonly clause goes at the request' \
    wait_log 'complete msg=2-1' 20
ok 'mail that waits for its retry goes at the request' \
    wait_log 'complete msg=4-1' 20
nok 'mail for another host does not go at the request' logged 'complete msg=3-1'

# smtpserver of ZMailer opens the file as it does a message for the router.
printf '%s\n' 'fullname Mail Server' 'loginname daemon' \
    'rcvdfrom STDIN ("??"@mx.example)' 'T Other.Example [192.0.2.1]' \
    >"$po/public/mx:77"
mv "$po/public/mx:77" "$po/transport/11076300"
ok "mail goes at a request of ZMailer's smtpserver" \
    wait_log 'complete msg=3-1' 20
is "the file of ZMailer's smtpserver is removed" \
    "$(ls "$po/transport" "$po/postman" | grep 11076300)" ''
sched_stop

# ---- with mail that is forgotten -----------------------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMactive 1
*/*	interval=1h
busy/*	command="$top/t/agent -c busy -f $tmp/none"
END
for n in 1 2; do	# T lines beside recipients
	printf '%s\n' "i $n-1" 'o 0' "l <$n@test>" 'e sender' \
	    's local - sender 0' "r           busy h$n anna 65534" \
	    'T leaf.example' m 'Subject: x' '' | put_raw "$po" $n-1
done
ok 'the scheduler starts with room for one message' sched_start "$po" "$tmp/cf"
ok 'the T line of one message has the other one read again' wait_for 30 eval \
    '[ "$(count "load msg=[12]-1")" -ge 3 ]'
put "$po" 3-1 busy h3 bert
ok 'mail that comes later is tried' wait_log 'deferred msg=3-1' 30
is 'the T lines of a message act once' "$(count 'trigger host=leaf.example')" 2
sched_stop

# ---- with mail that is skipped at first --------------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
*/*	interval=1h
leaf/*	queueonly command="$top/t/agent -c leaf -o $tmp/leaf"
busy/*	command="$top/t/agent -c busy -o $tmp/busy"
END
put "$po" 5-1 leaf leaf.example anna
sched_start "$po" "$tmp/cf"
wait_log 'load msg=5-1' 20
printf '%s\n' 'i 6-1' 'o 0' 'l <6@test>' 'e sender' 's local - sender 0' \
    'r           busy h6 bert 65534' 'T leaf.example' m 'Subject: x' '' \
    >"$tmp/6-1"
bg "$top/t/held" -t "$tmp/6-1" "$(awk '/^r/ { print n + 0; exit }
    { n += length($0) + 1 }' "$tmp/6-1")" >"$tmp/locked"
wait_for 30 [ -s "$tmp/locked" ]
put_raw "$po" 6-1 <"$tmp/6-1"
ok 'new mail with a T line is locked' wait_log 'locked msg=6-1' 20
nok 'the T line of locked mail does not act' logged 'trigger host=leaf'
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
POSTOFFICE=$po "$top/mailq" flush 6-1 >/dev/null 2>&1
ok 'mail that was locked is delivered' wait_log 'complete msg=6-1' 20
ok 'its T line acts then' wait_log 'complete msg=5-1' 20
sched_stop
like 'mail that was locked counts as accepted' "$(lines 'info exit')" 'msgs-in=2 '

# ---- mailboxes --------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
*/*	interval=1h
*/*	command="$top/t/agent -c \$channel -f $tmp/none"
END
put "$po" 11-1 there h1 anna
put "$po" 12-1 local - anna
put "$po" 13-1 there h2 anna
put "$po" 14-1 local - bert local - carl
put "$po" 15-1 post - dora
put "$po" 16-1 there h3 anna
sched_start "$po" "$tmp/cf"
wait_for 30 eval '[ "$(count "deferred msg=1[1-6]-1")" -ge 7 ]'
printf 'T -\n' | put_raw "$po" 20-1
ok 'a T line has all mail of this machine tried' wait_for 30 eval \
    '[ "$(count "deferred msg=1[245]-1")" -ge 8 ]'
like 'the log counts the mailboxes' "$(lines 'trigger host=-')" ' threads=3$'
is 'a T line for this machine has no other mail tried' \
    "$(count 'deferred msg=1[136]-1')" 3
sched_stop
finish
