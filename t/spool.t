#!/bin/sh
# What is found, what is left alone, what is set aside.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d bounce=none
test/*	command="$A -c test -o $tmp/out"
wait/*	command="$A -c wait deferred not now"
late/*	queueonly command="$A -c late"
gate/*	command="$A -c gate -w $tmp/gate -s $tmp/gated deferred no"
END

# Two messages with one number take half a minute, in a spool of their own.
spool_new "$tmp/twins"
put "$tmp/twins" C/113-1 test a user
put "$tmp/twins" D/113-2 test b user
sed "s,$tmp/out,$tmp/out.twins," "$tmp/cf" >"$tmp/cf.twins"
ok 'start with twins' sched_start "$tmp/twins" "$tmp/cf.twins"
twins=$sched_pid

# ---- directories -----------------------------------------------------------------

ok 'start without a post office' sched_start "$po" "$tmp/cf"
for d in public private queue transport router postman; do
	[ -d "$po/$d" ] || echo "$d is missing"
done >"$tmp/missing"
is 'directories are made' "$(cat "$tmp/missing")" ''
is 'no directory is made that nothing uses' \
    "$(ls "$po" | tr '\n' ' ')" 'postman private public queue router transport '
mode() {
	ls -ld "$1" | cut -c1-10
}
is 'what is ours nobody else may write to' \
    "$(mode "$po/transport") $(mode "$po/queue") $(mode "$po/postman")" \
    'drwxr-xr-x drwxr-xr-x drwx------'
is 'private/ is ours alone' "$(mode "$po/private")" 'drwx------'
is 'where anybody submits nobody may remove' \
    "$(mode "$po/public") $(mode "$po/router")" 'drwxrwxrwt drwxrwxrwt'
is 'what that allows is said in one line' \
    "$(count 'spool dir=.* any local user .*SUBMITGROUP')" 1
sched_stop
like '... and by -n' "$("$SCHEDULER" -n -P "$po" -f "$tmp/cf" 2>&1)" \
    'any local user can see names in and fill public and router.*SUBMITGROUP'
chmod 3730 "$po/public"
chmod 1730 "$po/router"
before=$(mode "$po/public")$(mode "$po/router")
ok 'start with the ways in for a group' sched_start "$po" "$tmp/cf"
is '... whose modes are kept' \
    "$(mode "$po/public")$(mode "$po/router")" "$before"
is '... and nothing is said' "$(count 'any local user')" 0
sched_stop
chmod 755 "$po/public" "$po/router"
chmod 750 "$po/private"
nok 'a private/ that others may look into is no start' \
    sched_start "$po" "$tmp/cf"
is '... with the exit code for it' $sched_rc 77
is '... said in one clear line' "$(count 'dir=.*/private .*chmod go= it')" 1
chmod 700 "$po/private"
if [ "$(id -u)" -ne 0 ]; then
	skip 'whatever the group is' 'not root'
else
	chmod 3730 "$po/router"
	chgrp 54321 "$po/router"
	chmod 3730 "$po/router"
	sched_start "$po" "$tmp/cf"
	is 'whatever the group is' \
	    "$(ls -ldn "$po/router" | awk '{ print $1, $4 }')" \
	    'drwx-ws--T 54321'
	sched_stop
	chmod 0755 "$po/router"
fi

chmod 777 "$po/queue"
nok 'a wrong mode is no start' sched_start "$po" "$tmp/cf"
is '... with the exit code for it' $sched_rc 77
is '... said in one clear line' "$(count 'dir=.*/queue .*chmod o-w it')" 1
chmod 755 "$po/queue"
chmod 777 "$po"
nok '... nor is one of the whole' sched_start "$po" "$tmp/cf"
is '... with the same code' $sched_rc 77
is '... and as clear a line' "$(count 'dir=.*/po anybody may .*chmod o-w')" 1
chmod 1777 "$po"
nok '... nor with the sticky bit' sched_start "$po" "$tmp/cf"
is '... with the code and line of the other' \
    "$sched_rc $(count 'dir=.*/po anybody may .*chmod o-w')" '77 1'
chmod 775 "$po"
ok 'a group may write to the whole' sched_start "$po" "$tmp/cf"
ok '... which is said' logged 'warn spool dir=.*/po its group.*chmod g-w'
sched_stop
chmod 755 "$po"
rmdir "$po/router"
: >"$po/router"
nok 'a file in the place of a directory is no start' \
    sched_start "$po" "$tmp/cf"
like '... and is said' "$(cat "$tmp/sched.log")" 'router .*no directory'
rm "$po/router"

# ---- names and places ---------------------------------------------------------------

put "$po" 101-1 test top user
put "$po" X/102-1 test one.level user
put "$po" A/Z/103-1 test two.levels user
put "$po" B/104-1 test message.at.top user
mv "$po/queue/B/104-1" "$po/queue/104-1"
put "$po" 105-1 test message.in.hash user
mkdir -p "$po/queue/B"
mv "$po/queue/105-1" "$po/queue/B/105-1"
put "$po" 106-1 test dot user
mv "$po/transport/106-1" "$po/transport/.106-1"
put "$po" abc-1 test letters user
put "$po" QQ/107-1 test foreign user
put "$po" 108-1 test dir user
if without NO_SYMLINK; then
	mv "$po/transport/108-1" "$po/transport/.108-1"
	mkdir "$po/transport/108-1"
else
	mv "$po/transport/108-1" "$tmp/real"
	ln -s "$tmp/real" "$po/transport/108-1"
fi
mkdir "$po/transport/109-1"
ok 'start' sched_start "$po" "$tmp/cf"
for n in 101 102 103 104 105; do
	wait_log "complete msg=([A-Z]/)*$n-1"
done
is 'files at the top and in any hash directory are found' \
    "$(count 'complete msg=.*failed=none')" 5
is 'everything else is left alone' \
    "$(cd "$po/transport" && ls -d .106-1 abc-1 QQ/107-1 108-1 109-1 | tr '\n' ' ')" \
    '.106-1 108-1 109-1 QQ/107-1 abc-1 '
mv "$po/transport/.106-1" "$po/transport/106-1"
ok 'a file that gets its name is found' wait_log 'complete msg=106-1'
sched_stop

put "$po" C/110-1 wait same.number user
ok 'start' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=C/110-1'
put "$po" D/111-1 test later user
ok 'mail in a new hash directory is found without being told' \
    wait_log 'complete msg=D/111-1' 60
put "$po" D/112-1 test later user
ok '... and in one that is known' wait_log 'complete msg=D/112-1' 60
sched_stop
rm "$po/transport/C/110-1" "$po/queue/C/110-1"

# ---- moving into hash directories ----------------------------------------------------

put "$po" 11026545-1 wait h user
put "$po" 11026573-2 wait h user
ok 'start with -HH' sched_start "$po" "$tmp/cf" -HH
wait_log 'deferred msg=.*11026545-1' && wait_log 'deferred msg=.*11026573-2'
is 'control files are moved' \
    "$(cd "$po/transport" && echo ?/?/11*)" 'L/X/11026545-1 M/Z/11026573-2'
is '... with their message files' \
    "$(cd "$po/queue" && echo ?/?/11*)" 'L/X/11026545-1 M/Z/11026573-2'
sched_stop
put "$po" 11026545-3 wait h user
ok 'start with -H' sched_start "$po" "$tmp/cf" -H
wait_log 'deferred msg=X/11026545-3'
is 'one level; what has its place keeps it' \
    "$(cd "$po/transport" && echo ?/11* ?/?/11*)" \
    'X/11026545-3 L/X/11026545-1 M/Z/11026573-2'
sched_stop
put "$po" 11026547-1 wait h user
mv "$po/queue/11026547-1" "$po/queue/Z/11026547-1" 2>/dev/null || {
	mkdir "$po/queue/Z"
	mv "$po/queue/11026547-1" "$po/queue/Z/11026547-1"
}
ok 'start when a crash has come between the two' \
    sched_start "$po" "$tmp/cf" -H
ok '... the control file follows' wait_log 'deferred msg=Z/11026547-1'
sched_stop
rm -rf "$po"

# ---- what cannot be used ---------------------------------------------------------------

spool_new "$po"
raw() {		# name why <control file
	put_raw "$po" "$1"
	echo "$1 $2" >>"$tmp/bad"
}
head='l <x@test>
e sender
s local - sender 0
r           test h user 0'
printf '' | raw 201-1 'it is empty'
printf 'not a control file\n' | raw 202-1 'no i line'
printf 'o 0\n%s\nm\n\n' "$head" | raw 203-1 'no i line'
printf 'i 999-9\no 0\n%s\nm\n\n' "$head" | raw 204-1 'names another file'
printf 'i ../../../etc/passwd\no 0\n%s\nm\n\n' "$head" |
    raw 205-1 'names another file'
printf '@ 0x0000000f\ni 206-1\n%s\nm\n\n' "$head" |
    raw 206-1 'its format .* is not known'
printf 'i 207-1\no 99999\n%s\nm\n\n' "$head" | raw 207-1 'body offset'
printf 'i 208-1\no 0\n%s' "$head" | raw 208-1 'it was cut'
printf 'i 209-1\no 0\n%s\nm\nSubject: x\n' "$head" | raw 209-1 'it was cut'
printf 'i 210-1\no 0\nl x\ns local - s 0\nm\n\n' | raw 210-1 'no recipient'
printf 'i 211-1\no 0\nr           test h user 0\nm\n\n' |
    raw 211-1 'before any sender'
printf 'i 212-1\no 0\ns local - s 0\nr           test\nm\n\n' |
    raw 212-1 'cannot be read'
printf 'i 213-1\no 0\n%s\nm\n\n' "$head" | raw 213-1 'message file is missing'
rm "$po/queue/213-1"
awk 'BEGIN { printf "i 214-1\no 0\ns local - s 0\nr           test h "
    for (i = 0; i < 3000; i++) printf "uuuuuuuuuu"
    print " 0\nm\n" }' | raw 214-1 'cannot be read'
head -c 100000 /dev/urandom >"$tmp/junk" 2>/dev/null || : >"$tmp/junk"
raw 215-1 '' <"$tmp/junk"
raw 217-1 'larger than' </dev/null
dd if=/dev/null of="$po/transport/217-1" bs=1024 seek=66000 2>/dev/null
printf 'T\n' | raw 216-1 'names no host'
put "$po" 290-1 test good user

ok 'start' sched_start "$po" "$tmp/cf"
ok 'good mail between bad ones is delivered' wait_log 'complete msg=290-1'
while read -r name why; do
	if ! wait_log "park msg=$name .*why: .*$why"; then
		echo "$name: $why: $(lines "msg=$name")"
	elif [ ! -f "$po/postman/$name.control" ]; then
		echo "$name is not in postman/"
	elif [ -f "$po/transport/$name" ] || [ -f "$po/queue/$name" ]; then
		echo "$name is still there"
	fi
done <"$tmp/bad" >"$tmp/wrong"
is 'each bad file is set aside, with the reason in the log' \
    "$(cat "$tmp/wrong")" ''
is '... as it was' "$(cat "$po/postman/202-1.control")" 'not a control file'
is '... with its message' "$(cat "$po/postman/202-1")" 'body of 202-1'
is '... once' "$(count 'park msg=202-1')" 1
printf 'bad again\n' | put_raw "$po" 202-1
wait_log 'park msg=202-1 to=postman/202-1.1 '
is 'a second one of that name is kept beside it' \
    "$(cat "$po/postman/202-1.1.control")" 'bad again'
printf 'half\n' | put_raw "$po" 218-1
mv "$po/queue/218-1" "$po/postman/218-1"
ok 'a message that was set aside alone gets its control file' \
    wait_log 'park msg=218-1 to=postman/218-1 '
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- partly done, locked, without the pid field ---------------------------------------

rm -rf "$po" "$tmp/out"
spool_new "$po"
printf 'i 301-1\no 0\n%s\n%s\n%s\nm\n\n' \
    "$head" 'r+          test h done 0' 'r-          test h failed 0' |
    put_raw "$po" 301-1
printf 'i 302-1\no 0\nl x\ns local - s 0\nr+          test h a 0\nm\n\n' |
    put_raw "$po" 302-1
printf 'i 303-1\no 0\nl x\ns local - s 0\nr-          test h a 0\nm\n\n' |
    put_raw "$po" 303-1
printf 'i 304-1\no 0\nl x\ns local - s 0\nr~999998    test h a 0\nm\n\n' |
    put_raw "$po" 304-1
printf 'i 305-1\no 0\nl x\ns local - s 0\nr~%6d    test h a 0\nm\n\n' $$ |
    put_raw "$po" 305-1
printf 'i 306-1\no 0\nl x\ns local - s 0\nr test h a 0\nm\n\n' |
    put_raw "$po" 306-1
printf 'i 307-1\no 0\nl x\ns local - s 0\nr       test h a 0\nm\n\n' |
    put_raw "$po" 307-1
printf 'i 308-1\no 0\nl x\ns local - s 0\nr           nowhere h a 0\nm\n\n' |
    put_raw "$po" 308-1
printf 'i 309-1\no 0\nl x\ns local - s 0\nr           test ((mx1 mx2)(mx3)) a 0\nm\n\n' |
    put_raw "$po" 309-1
ok 'start' sched_start "$po" "$tmp/cf"
wait_log 'park msg=301-1'
is 'only pending recipients are delivered to' \
    "$(grep -c '^301' "$tmp/out")" 1
ok '... a failed one keeps the message' [ -f "$po/postman/301-1" ]
ok 'a file with nothing left to do is removed' \
    wait_for 10 [ ! -f "$po/transport/302-1" -a ! -f "$po/queue/302-1" ]
ok '... kept when somebody was not reached' wait_log 'park msg=303-1'
ok 'the lock of a dead process is taken off' wait_log 'complete msg=304-1'
ok 'the lock of a living one is respected' \
    wait_log "locked msg=305-1 .*pid=$$ "
ok 'recipients without pid and delay' wait_log 'complete msg=306-1'
ok '... with a pid field alone' wait_log 'complete msg=307-1'
ok 'mail for which there is no clause waits, and that is said' \
    wait_log 'no-command channel=nowhere'
is '... untouched' "$(ls "$po/transport" | grep 308)" 308-1
ok 'a list of hosts goes by its first' wait_log 'agent-(says|start) .*host=mx1 |deferred msg=309-1 .*host=mx1 '

# ---- replacing, verbose files ------------------------------------------------------------

put "$po" 401-1 late old.host user
wait_log 'load msg=401-1'
id=S401
printf 'i 402-1\no 0\nl x\ne somebody@else\nx %s\ns local - s 0\nr           test h a 0\nm\n\n' \
    $id | put_raw "$po" 402-1
ok 'an x line that names no message is said' wait_log 'replace msg=402-1'
ok '... and changes nothing' [ -f "$po/transport/401-1" ]
: >"$po/public/v_501"
printf 'secret\n' >"$tmp/outside"
without NO_SYMLINK || ln -s "$tmp/outside" "$po/public/v_502"
verbose() {	# name path
	printf 'v %s\ni %s\no 0\nl x\ns local - s 0\nr           test h a 0\nm\n\n' \
	    "$2" "$1" | put_raw "$po" "$1"
	wait_log "complete msg=$1"
}
verbose 501-1 ../public/v_501
like 'a verbose file is told what happens' "$(cat "$po/public/v_501")" 'processing'
verbose 502-1 ../public/v_502
verbose 503-1 "../../outside"
verbose 504-1 "$tmp/outside"
is '... but none outside public/' "$(cat "$tmp/outside")" secret
: >"$po/public/v_506"
if [ "$(id -u)" -eq 0 ] && chown 65534 "$po/public/v_506"; then
	verbose 506-1 ../public/v_506
	is '... and none of another owner' "$(cat "$po/public/v_506")" ''
else
	skip '... and none of another owner' 'only root can make one'
fi
verbose 505-1 ../public/v_none
ok '... and none is made' [ ! -f "$po/public/v_none" ]
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- the x line that holds ------------------------------------------------------------------
# The spool id has the time of the message file; 2026-11-21 00:14:05 UTC
# is AbmKUAOF in ZMailer's alphabet.

rm -rf "$po"
spool_new "$po"
TZ=UTC
export TZ
put "$po" 601-1 late old.host user
touch -t 202611210014.05 "$po/queue/601-1"
sched_start "$po" "$tmp/cf"
wait_log 'load msg=601-1'
printf 'i 602-1\no 0\nl x\ne other\nx S601AbmKUAOF\ns local - s 0\nr           late h a 0\nm\n\n' |
    put_raw "$po" 602-1
ok 'another sender may not replace it' wait_log 'replace msg=602-1 .*another sender'
if [ "$(id -u)" -eq 0 ]; then
	printf 'i 607-1\no 0\nl x\ne sender\nx S601AbmKUAOF\ns local - s 0\nr           late h a 0\nm\n\n' |
	    put_raw "$tmp/other" 607-1
	chown 65534 "$tmp/other/queue/607-1"
	mv "$tmp/other/queue/607-1" "$po/queue"
	mv "$tmp/other/transport/607-1" "$po/transport"
	ok '... nor may another owner' \
	    wait_log 'replace msg=607-1 .*another sender'
else
	skip '... nor may another owner' 'only root can make one'
fi
printf 'i 603-1\no 0\nl x\ne sender\nx S601AbmKUAOF\ns local - s 0\nr           late h a 0\nm\n\n' |
    put_raw "$po" 603-1
ok 'the same one may' wait_log 'drop msg=601-1'
put "$po" 604-1 gate busy.host user
touch -t 202611210014.05 "$po/queue/604-1"
wait_for 10 grep '^<604-1' "$tmp/gated"
printf 'i 606-1\no 0\nl x\ne sender\nx S604AbmKUAOF\ns local - s 0\nr           late h a 0\nm\n\n' |
    put_raw "$po" 606-1
wait_log 'drop msg=604-1'
ok 'one that an agent has in hand' [ -f "$po/transport/604-1" ]
: >"$tmp/gate"
ok '... goes when that is over' wait_log 'complete msg=604-1'
printf 'i 605-1\no 0\nl x\ne sender\nx S605\ns local - s 0\nr           late h a 0\nm\n\n' \
    >"$tmp/self"
id=$(sed 's/x S605/x S605AbmKUAOF/' "$tmp/self")
printf 'body\n' >"$po/queue/605-1"
touch -t 202611210014.05 "$po/queue/605-1"
printf '%s\n\n' "$id" >"$po/transport/.605-1"
mv "$po/transport/.605-1" "$po/transport/605-1"
wait_log 'replace msg=605-1'
ok 'a message cannot replace itself' [ -f "$po/transport/605-1" ]
ok '... then both files are gone' \
    wait_for 10 [ ! -f "$po/transport/601-1" -a ! -f "$po/queue/601-1" ]
sched_stop

# ---- the twins ------------------------------------------------------------------------------

ok 'two messages with one number are both delivered, one after the other' \
    wait_for 60 po_empty "$tmp/twins"
is '... each once' "$(cut -d' ' -f1 "$tmp/out.twins" | sort | tr '\n' ' ')" \
    'C/113-1 D/113-2 '
sched_pid=$twins
sched_stop
finish
