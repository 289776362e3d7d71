#!/bin/sh
# What mailq shows that is no mail in the queue: router/, postman/,
# holds, damaged control files, message files without one, totals.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
po=$tmp/po
WALL=$tmp/wall
export WALL
pipe=$po/public/.mailq.text
set_clock "$WALL" 0
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=3d
fine/*	command="$A -c fine ok3"
bad/*	command="$A -c bad error no"
wait/*	command="$A -c wait deferred not now"
END
mailq() {	# options ...
	POSTOFFICE=$po "$top/t/clockmailq" "$@" 2>"$tmp/err"
}
count_of() {	# name: in mailq -c
	mailq -c | awk -v name="$1" '$1 == name { print $2 }'
}
is_count() {	# name value
	[ "$(count_of "$1")" = "$2" ]
}
spans() {	# without what depends on the time of day
	sed 's/[0-9][0-9dhms]* old/SPAN old/; s/for [0-9][0-9dhms]*$/for SPAN/'
}

# ---- without a scheduler -------------------------------------------------------

echo mail >"$po/router/77"
echo mail >"$po/router/78"
touch -t 202601020304 "$po/router/77"
echo mail >"$po/router/mail:1.x"	# somebody still writes it
mkdir "$po/router/79"
echo gone >"$po/postman/9-1"
echo gone >"$po/postman/9-1.control"
echo gone >"$po/postman/8-1.bounce-17-3"
printf 'address smtp/kept*\nmessage 107-1\n' >"$po/.mailq.holds"
beside='1 message, 1 recipient, 1 destination; 2 set aside (1 double bounce), the oldest SPAN old
2 messages wait in router, the oldest SPAN old; is submit -q running?
on hold: smtp/kept*
on hold: message 107-1'
touch -t 197001020304 "$po/router/78"	# there was no clock
is 'a spool with mail in router is not called empty, and its holds are listed' \
    "$(mailq | sed 1d | spans)" \
    'no message is in the queue; 2 set aside (1 double bounce), the oldest SPAN old
2 messages wait in router, the oldest SPAN old; is submit -q running?
on hold: smtp/kept*
on hold: message 107-1'
like 'the age of the oldest mail in router is that of its file' \
    "$(mailq | grep router)" 'oldest [0-9]{3,4}d'
put "$po" 101-1 wait h user
is 'the sizes are followed by totals, router, postman and holds' \
    "$(mailq -S | tail -n 4 | spans)" "$beside"
is 'the shape is followed by totals, router, postman and holds' \
    "$(mailq -s | tail -n 4 | spans)" "$beside"
unlike 'with a filter nothing is said of router, postman and holds' \
    "$(mailq -f 'wait/*')" '(router|set aside|on hold)'
is 'counts of a spool have router, postman and holds' \
    "$(mailq -c | grep -E '^(router|set-aside|double|holds|total|orphans)' |
    sed 's/-oldest [0-9]*/-oldest N/' | tr '\n' ' ')" \
    'router 2 router-oldest N set-aside 2 set-aside-oldest N double-bounces 1 holds 2 '
is 'objects for router, postman and holds come last' \
    "$(mailq -j | tail -n 4 | sed 's/"oldest":[0-9]*/"oldest":N/')" \
    '{"waits":"router","messages":2,"oldest":N}
{"waits":"postman","messages":2,"oldest":N,"bounces":1}
{"hold":"smtp/kept*","of":"address"}
{"hold":"107-1","of":"message"}'
if [ "$(id -u)" -ne 0 ]; then
	chmod 0 "$po/router"
	like 'a router that cannot be read is not taken for an empty one' \
	    "$(mailq)" 'the mail in router cannot be counted: '
	chmod 755 "$po/router"
else
	skip 'a router that cannot be read is not taken for an empty one' \
	    'root reads all'
fi
rm -f "$po/.mailq.holds" "$po/router/78" "$po"/postman/* \
    "$po/transport/101-1" "$po/queue/101-1"

# ---- with one ------------------------------------------------------------------

ok 'a scheduler starts' sched_start "$po" "$tmp/cf" -q "$pipe"
is 'mailq shows one message in router' "$(mailq | spans)" \
    'no message is in the queue
1 message waits in router, SPAN old; is submit -q running?'
like 'the report is followed by what waits in router' \
    "$(mailq -Q | tail -n 1)" '^1 message waits in router'
unlike 'the report with a filter says nothing of router' \
    "$(mailq -Q -f 'wait/*')" 'in router'
rm "$po/router/77"
is 'with an empty router the queue is empty' "$(mailq)" 'the queue is empty'
mailq hold 'smtp/kept*' >"$tmp/out"
is 'a hold is listed before it catches anything' "$(mailq)" 'the queue is empty
on hold: smtp/kept*'
is 'a hold is listed with the destinations' "$(mailq -D | tail -n 1)" \
    'on hold: smtp/kept*'
is 'a hold is listed with the destinations as JSON' "$(mailq -Dj | tail -n 1)" \
    '{"hold":"smtp/kept*","of":"address"}'
is 'mailq -c counts a hold' "$(count_of holds)" 1
mailq release all >"$tmp/out"
is 'a hold that was released is not listed' "$(mailq)" 'the queue is empty'

# ---- totals --------------------------------------------------------------------

put "$po" 201-1 fine h anna fine h bert bad h carl
put "$po" 202-1 wait h user
printf 'no control file\n' | put_raw "$po" 203-1
wait_log 'complete msg=201-1' && wait_log 'deferred msg=202-1' &&
    wait_log 'set-aside msg=203-1' && wait_log 'delivered .*channel=dsn'
ok 'the totals are shown when all is settled' wait_for 20 is_count messages 1
is 'mailq -c shows totals since the start' \
    "$(mailq -c | grep ^total | tr '\n' ' ')" \
    'total-accepted 2 total-delivered 2 total-deferred 1 total-failed 1 total-dsns 1 total-set-aside 1 '
like 'mailq -c shows the uptime' "$(count_of uptime)" '^[0-9]+$'

# ---- damaged while the scheduler runs -------------------------------------------

is 'a control file that is whole is not called unreadable' \
    "$(count_of unreadable)" 0
ctl=$po/transport/202-1
cp "$ctl" "$tmp/kept"
: >"$ctl"
is 'an emptied control file is counted' "$(count_of unreadable)" 1
like 'an emptied control file is shown with its message' "$(mailq)" \
    'its control file cannot be read or understood'
like 'the object of a message with an emptied control file has its recipients' \
    "$(mailq -j)" '"unreadable":true,"channel":"wait","host":"h","recipients":1'
mv "$ctl" "$tmp/away"
is 'a control file that was taken away is counted' "$(count_of unreadable)" 1
cat "$tmp/kept" >"$ctl"
is 'a control file that was mended is not counted' "$(count_of unreadable)" 0

mkdir -p "$po/queue/B"
echo text >"$po/queue/301-1"
echo text >"$po/queue/B/302-1"
is 'a message file that has just come is no orphan yet' "$(count_of orphans)" 0
set_clock "$WALL" 1000
ok 'message files without control files are counted after a while' \
    wait_for 20 is_count orphans 2
is 'message files without control files are listed' \
    "$(mailq | grep '^queue/' | sort | spans)" \
    'queue/301-1 has no control file, for SPAN
queue/B/302-1 has no control file, for SPAN'
like 'a message file without a control file is an object' "$(mailq -j)" \
    '^[{]"orphan":"301-1","age":[0-9]{3,4}[}]$'
echo text >"$po/queue/303-1"
mkfifo "$po/transport/303-1"	# the scheduler leaves it alone
is 'a message file whose control file has no bytes is counted' \
    "$(count_of unreadable)" 1
: >"$po/transport/.301-1"
is 'a message file whose control file is being written is no orphan' \
    "$(count_of orphans)" 1
rm -r "$po/transport/.301-1" "$po/transport/303-1" "$po/queue/303-1"
sched_stop

# ---- other directories of the router ---------------------------------------------

mkdir "$po/bulk" "$po/freezer"
rm -rf "$po"/router/[0-9]*
echo bulk >"$po/bulk/501"
touch -t 202601010000 "$po/bulk/501"
is 'mail in bulk is counted with router' "$(count_of router)" 1
mkdir "$po/news"
mv "$po/bulk/501" "$po/news"
is 'without ROUTERDIRS other directories are not looked at' \
    "$(count_of router)" 0
ROUTERDIRS=router:news:none
export ROUTERDIRS
is 'mail in a directory of ROUTERDIRS is counted with router' \
    "$(count_of router)" 1
like 'mail in a directory of ROUTERDIRS has its age' "$(mailq)" \
    '^1 message waits in router, [0-9]{3}d'
unset ROUTERDIRS
printf '%s\n' 'export X' 'ROUTERDIRS=news' >"$tmp/zmailer.conf"
ZCONFIG=$tmp/zmailer.conf
export ZCONFIG
is 'ROUTERDIRS of zmailer.conf counts, behind a line of another form' "$(count_of router)" 1
for name in news/501 501 "$po/news/501"; do
	like "show finds what waits in news: ${name#"$tmp/"}" \
	    "$(mailq show "$name")" "^news/501 .*|is not in the queue yet"
done
mailq delete news/501
is 'a command on mail in news is refused' "$? $(cat "$tmp/err")" \
    '69 mailq: news/501 is not in the queue yet, see "mailq show news/501"'
unset ZCONFIG
is 'a freezer without mail is counted' "$(count_of frozen)" 0
printf 'to anna\nenv-end\nSubject: x\n\n' >"$po/freezer/1003.spam"
without NO_SYMLINK || ln -s 1003.spam "$po/freezer/1004.spam"
echo text >"$po/router/1005"
cp "$po/router/1005" "$po/freezer/1005.virus"
is 'mail in freezer is counted, links are not' "$(count_of frozen)" 2
like 'mail in freezer is listed' "$(mailq)" '^freezer/1003.spam is frozen, for '
like 'mail in freezer is an object' "$(mailq -j)" \
    '^[{]"frozen":"freezer/1003.spam","age":[0-9]+[}]$'
like 'mail in freezer is shown' "$(mailq show freezer/1003.spam)" \
    'is frozen; "mailq release freezer/1003.spam"'
is 'a release that only says what it would do' \
    "$(mailq -n release freezer/1003.spam)" \
    'freezer/1003.spam: would be moved to router/1003'
is 'mail in freezer is released' "$(mailq release freezer/1003.spam)" \
    'freezer/1003.spam: moved to router/1003'
is 'released mail is in router' \
    "$(sed -n 1p "$po/router/1003") $(ls "$po/freezer" | grep 1003)" 'to anna '
for n in 1004.spam 1005.virus 1006.none ../queue/301-1; do
	mailq release "freezer/$n" >"$tmp/out"
	is "a release that cannot be is an error: $n" "$? $(cat "$tmp/out")" '69 '
done
is 'a release replaces no file of router' \
    "$(cat "$po/router/1005") $(ls "$po/freezer" | grep -v 1004)" \
    'text 1005.virus'
if [ "$(id -u)" -ne 0 ]; then
	echo text >"$po/freezer/1007.spam"
	chmod 555 "$po/freezer"
	mailq release freezer/1007.spam >"$tmp/out"
	is 'mail that cannot leave freezer does not come to router' \
	    "$? $(cat "$tmp/out") $(ls "$po/router" | grep 1007)" '77  '
	chmod 755 "$po/freezer"
else
	skip 'mail that cannot leave freezer does not come to router' \
	    'root writes all'
fi
finish
