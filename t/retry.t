#!/bin/sh
# When deferred mail is tried again, and when it expires.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
conf "$tmp/cf" <<END
PARAMdsn="-x '*'"
*/*	interval=1s retries="1" expiry=1d
again/*	command="$A -c again -f $tmp/go -o $tmp/out"
down/*	command="$A -c down -o $tmp/down deferall host down" interval=50s
old/*	expiry=3s command="$A -c old -s $tmp/old deferred no room"
older/*	expiry=1s expiry2=2s queueonly command="$A -c older"
host/*	expiry=2s interval=1h command="$A -c host deferall nobody home"
peer/*	expiry=4s expiry2=1h interval=1h command="$A -c peer deferall nobody home"
past/*	expiry=1h expiry2=1d interval=1h command="$A -c past -s $tmp/past deferall away"
off/*	expiry=1h expiry2=1h command="$A -c off"
wake/*	overfeed=1 interval=1h command="$A -c wake -f $tmp/wakes deferall asleep"
gone/*	interval=1h expiry=15s command="$A -c gone deferred no"
never/*	expiry=2s interval=1h command="$A -c never deferred full"
jack/*	retries=0 interval=1h command="$A -c jack -s $tmp/jack deferred no"
turn/*	queueonly interval=50s command="$A -c turn -f $tmp/go"
keep/*	wakeuprestartonly interval=50s command="$A -c keep -s $tmp/keep deferred no"
END
spool_new "$po"

put "$po" 101-1 again h user
put "$po" 111-1 down h user
put "$po" 121-1 old h one old h two
put "$po" 131-1 older h user
put "$po" 141-1 host h user
put "$po" 142-1 peer h user
put "$po" 143-1 peer h user
put "$po" 151-1 never h user
for i in 1 2 3 4 5 6; do
	put "$po" 70$i-1 past h user
	touch -t "$(date -d '2 hours ago' +%Y%m%d%H%M 2>/dev/null ||
	    date +%Y%m%d%H%M)" "$po/queue/70$i-1"
done
put "$po" 201-1 off h user
touch -t 202601010000 "$po/queue/201-1"
cp "$po/transport/201-1" "$tmp/201"
put "$po" 161-1 jack h user
put "$po" 171-1 turn my.host user
put "$po" 181-1 keep h user
ok 'the scheduler starts with clauses for deferrals' sched_start "$po" "$tmp/cf"

# ---- once more ----------------------------------------------------------------

put "$po" 191-1 gone h user	# its expiry is not to pass in a slow start
wait_log 'deferred msg=191-1'
rm "$po/transport/191-1" "$po/queue/191-1"
ok 'deferred mail is tried again' \
    wait_for 20 eval '[ "$(count "deferred msg=101-1")" -ge 2 ]'
: >"$tmp/go"
ok 'deferred mail is delivered in the end' wait_log 'complete msg=101-1' 20

wait_log 'deferred msg=111-1'
put "$po" 112-1 down h user
wait_log 'load msg=112-1'
wait_log 'deferred msg=181-1'
put "$po" 182-1 keep h user
wait_log 'load msg=182-1'
put "$po" 183-1 jack other user
wait_log 'deferred msg=183-1'
is 'wakeuprestartonly: new mail waits for deferred mail' \
    "$(grep -c '^<182' "$tmp/keep")" 0
is 'new mail for a dead host is blocked' "$(count 'deferred msg=112-1')" 0

ok 'retries=0: deferred mail is tried again' \
    wait_for 20 eval '[ "$(count "deferred msg=161-1")" -ge 3 ]'
unlike 'retries=0: a deferral lasts at least a second' \
    "$(lines 'deferred msg=161-1')" 'next=0'

ok 'mail that is older than its expiry is tried' \
    wait_log 'asleep .*channel=past'
ok 'mail that is older than expiry and expiry2 is tried after a start' \
    wait_log 'delivered msg=201-1'
: >"$po/queue/202-1"
touch -t 202601010000 "$po/queue/202-1"
sed 's/201-1/202-1/' "$tmp/201" >"$po/transport/.202-1"
mv "$po/transport/.202-1" "$po/transport/202-1"
ok 'old mail that comes from a router is tried' wait_log 'delivered msg=202-1'
is 'old mail does not expire untried when its host is dead' \
    "$(count 'failed msg=70.*expire')" \
    "$(count 'deferred msg=70')"

# ---- queueonly and T ------------------------------------------------------------

is 'queueonly: mail is not tried without a T line' \
    "$(count 'deferred msg=171-1')" 0
printf 'T My.Host 127.0.0.1\n' >"$po/transport/.900-1"
mv "$po/transport/.900-1" "$po/transport/900-1"
ok 'a T line starts queueonly mail' wait_log 'complete msg=171-1'
printf 'T My.Host\n' >"$po/transport/.901-1"
mv "$po/transport/.901-1" "$po/transport/901-1"
wait_log 'trigger host=my.host threads=0'
put "$po" 172-1 turn my.host user
wait_log 'load msg=172-1'
put "$po" 102-1 again other user
wait_log 'complete msg=102-1'
is 'mail that comes after a T line waits for another' \
    "$(count 'complete msg=172-1')" 0
ok 'the file of a T line is removed' wait_for 30 [ ! -f "$po/transport/900-1" ]
ok 'the file of a T line is not set aside' \
    [ -z "$(ls "$po/postman" | grep 900)" ]

# ---- expiry -----------------------------------------------------------------------

ok 'tried mail expires' wait_log 'set-aside msg=121-1' 20
is 'expired mail: all recipients fail' \
    "$(count 'failed msg=121-1 .*status=expire')" 2
ok 'expired mail was tried before' grep '^<121-1' "$tmp/old"
ctl=$po/postman/121-1.control
is 'expired mail: the tags are -' \
    "$(grep '^r' "$ctl" | cut -c2 | tr '\n' .)" '-.-.'
like 'expired mail: each recipient has a diagnostic with the last reason' \
    "$(grep '^d' "$ctl" | tr '\001\r\t' '!|>' | tr '\n' '@')" \
    '^d [0-9]*:[0-9]*:-1::[0-9]*>one!failed!4.4.7 .*>expired after [0-9ms]+, problem was:\|no room@d .*two!.*@$'
ok 'untried mail expires by expiry2' \
    wait_log 'failed msg=131-1 .*status=expire' 20
ok 'mail of a dead host expires' \
    wait_log 'failed msg=141-1 .*status=expire.*nobody home' 20
ok 'untried mail of a dead host expires' \
    wait_log 'failed msg=142-1 .*status=expire' 90
ok 'all untried mail of a dead host expires' \
    wait_log 'failed msg=143-1 .*status=expire' 90
ok 'a message whose control file was removed is forgotten' \
    wait_log 'drop msg=191-1 its control file was taken' 40
ok 'expiry does not wait for the next retry' \
    wait_log 'failed msg=151-1 .*status=expire' 20
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- the age of a message after a restart ---------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
test/*	interval=100s retries="1 2 5 9" skew=1000000 expiry=30d
	command="$A -c test deferred no"
END
# 250 s ago: after 100 s and 200 s more, so the third wait is the next
put "$po" 301-1 test h user
old=$(date -d '250 seconds ago' +%Y%m%d%H%M.%S 2>/dev/null)
if [ -n "$old" ] && touch -t "$old" "$po/queue/301-1"; then
	sched_start "$po" "$tmp/cf"
	wait_log 'deferred msg=301-1'
	like 'after a restart the retry list goes on by the age of the mail' \
	    "$(lines 'deferred msg=301-1')" ' delay=25[0-9] .*next=(199|20[01]) '
	sched_stop
else
	skip 'after a restart the retry list goes on by the age of the mail' \
	    'date -d'
fi

# ---- alignment ------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
test/*	interval=1h retries="1" skew=1 command="$A -c test deferred no"
END
put "$po" 401-1 test h user
sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=401-1'
next=$(lines 'deferred msg=401-1' | sed 's/.* next=\([0-9]*\).*/\1/')
at=$((($(date +%s) + next) % 3600))
ok 'with skew=1 the first retry is at a multiple of the interval' \
    [ $at -le 5 -o $at -ge 3595 ]
sched_stop
finish
