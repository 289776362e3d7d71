#!/bin/sh
# What is found, what is left alone, what is set aside.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
conf "$tmp/cf" <<END
PARAMdsn="-x '*'"
*/*	interval=1h expiry=0
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
ok 'the scheduler starts with two files of one number' \
    sched_start "$tmp/twins" "$tmp/cf.twins"
twins=$sched_pid

# ---- directories -----------------------------------------------------------------

ok 'the scheduler starts without a post office' sched_start "$po" "$tmp/cf"
for d in public private queue transport router postman; do
	[ -d "$po/$d" ] || echo "$d is missing"
done >"$tmp/missing"
is 'missing directories are made' "$(cat "$tmp/missing")" ''
is 'no unused directory is made' \
    "$(cd "$po" && echo *)" 'postman private public queue router transport'
mode() {
	ls -ld "$1" | cut -c1-10
}
is 'transport/, queue/ and postman/ are writable for their owner only' \
    "$(mode "$po/transport") $(mode "$po/queue") $(mode "$po/postman")" \
    'drwxr-xr-x drwxr-xr-x drwx------'
is 'private/ is for its owner only' "$(mode "$po/private")" 'drwx------'
is 'public/ and router/ are for anybody, with the sticky bit' \
    "$(mode "$po/public") $(mode "$po/router")" 'drwxrwxrwt drwxrwxrwt'
is 'the rights of public/ and router/ are logged in one line' \
    "$(count 'spool dir=.* any local user .*SUBMITGROUP')" 1
sched_stop
like '-n shows the rights of public/ and router/' \
    "$("$SCHEDULER" -n -P "$po" -f "$tmp/cf" 2>&1)" \
    'any local user can list and fill public/ and router/.*SUBMITGROUP'
chmod 3730 "$po/public"
chmod 1730 "$po/router"
before=$(mode "$po/public")$(mode "$po/router")
ok 'the scheduler starts with public/ and router/ for a group' \
    sched_start "$po" "$tmp/cf"
is 'public/ and router/ for a group keep their modes' \
    "$(mode "$po/public")$(mode "$po/router")" "$before"
is 'public/ and router/ for a group: no line is logged' \
    "$(count 'any local user')" 0
sched_stop
chmod 755 "$po/public" "$po/router"
chmod 750 "$po/private"
nok 'a private/ that others can read prevents the start' \
    sched_start "$po" "$tmp/cf"
is 'a private/ that others can read: the exit code is 77' $sched_rc 77
is 'a private/ that others can read: one line says so' \
    "$(count 'dir=.*/private .*chmod go= it')" 1
chmod 700 "$po/private"
if [ "$(id -u)" -ne 0 ]; then
	skip 'router/ keeps its foreign group' 'not root'
else
	chmod 3730 "$po/router"
	chgrp 54321 "$po/router"
	chmod 3730 "$po/router"
	sched_start "$po" "$tmp/cf"
	is 'router/ keeps its foreign group' \
	    "$(ls -ldn "$po/router" | awk '{ print $1, $4 }')" \
	    'drwx-ws--T 54321'
	sched_stop
	chmod 0755 "$po/router"
fi

chmod 777 "$po/queue"
nok 'a queue/ that others can write to prevents the start' \
    sched_start "$po" "$tmp/cf"
is 'a queue/ that others can write to: the exit code is 77' $sched_rc 77
is 'a queue/ that others can write to: one line says so' \
    "$(count 'dir=.*/queue .*chmod o-w it')" 1
chmod 755 "$po/queue"
chmod 777 "$po"
nok 'a post office that others can write to prevents the start' \
    sched_start "$po" "$tmp/cf"
is 'a post office that others can write to: the exit code is 77' $sched_rc 77
is 'a post office that others can write to: one line says so' \
    "$(count 'dir=.*/po anybody may .*chmod o-w')" 1
chmod 1777 "$po"
nok 'a post office of mode 1777 prevents the start' sched_start "$po" "$tmp/cf"
is 'a post office of mode 1777: the exit code is 77, one line says so' \
    "$sched_rc $(count 'dir=.*/po anybody may .*chmod o-w')" '77 1'
chmod 775 "$po"
ok 'the scheduler starts with a post office that a group can write to' \
    sched_start "$po" "$tmp/cf"
ok 'a post office that a group can write to: the log says so' \
    logged 'warn spool dir=.*/po its group.*chmod g-w'
sched_stop
chmod 755 "$po"
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$po"
	ok 'the scheduler starts with a post office of another user' \
	    sched_start "$po" "$tmp/cf"
	ok 'a post office of another user: the log says so' \
	    logged 'warn spool dir=.*/po its owner, uid 65534.*chown 0'
	sched_stop
	chown 0 "$po"
else
	skip 'the scheduler starts with a post office of another user' 'not root'
	skip 'a post office of another user: the log says so' 'not root'
fi
chmod 700 "$po/transport" "$po/queue"
ok 'the scheduler starts with a queue that is closed to others' \
    sched_start "$po" "$tmp/cf"
is 'a queue that is closed to others stays closed' \
    "$(mode "$po/transport") $(mode "$po/queue")" 'drwx------ drwx------'
sched_stop
chmod 755 "$po/transport" "$po/queue"
rmdir "$po/router"
: >"$po/router"
nok 'a file in the place of a directory prevents the start' \
    sched_start "$po" "$tmp/cf"
like 'a file in the place of a directory: the log says so' \
    "$(cat "$tmp/sched.log")" 'router .*no directory'
rm "$po/router"
long=$tmp/long
while [ ${#long} -lt 930 ]; do
	long=$long/a.directory.whose.name.has.sixty.characters.or.a.few.more.of.them
done
mkdir -p "$long"
nok 'a post office with a very long path prevents the start' \
    sched_start "$long" "$tmp/cf"
is 'a post office with a very long path: the exit code is 78, one line says so' \
    "$sched_rc $(count 'err spool dir=.* the name is too long')" '78 1'
rm -r "$tmp/long"

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
ok 'the scheduler starts with files in hash directories' \
    sched_start "$po" "$tmp/cf"
for n in 101 102 103 104 105; do
	wait_log "complete msg=([A-Z]/)*$n-1"
done
is 'files at the top and in any hash directory are found' \
    "$(count 'complete msg=.*failed=none')" 5
is 'other names, links and directories are left alone' \
    "$(cd "$po/transport" && ls -d .106-1 abc-1 QQ/107-1 108-1 109-1 | tr '\n' ' ')" \
    '.106-1 108-1 109-1 QQ/107-1 abc-1 '
mv "$po/transport/.106-1" "$po/transport/106-1"
ok 'a file that is renamed from its dot name is found' \
    wait_log 'complete msg=106-1'
sched_stop

put "$po" C/110-1 wait same.number user
ok 'the scheduler starts with a known hash directory' \
    sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=C/110-1'
put "$po" D/111-1 test later user
ok 'mail in a new hash directory is found by a scan' \
    wait_log 'complete msg=D/111-1' 60
put "$po" D/112-1 test later user
ok 'mail in a known hash directory is found by a scan' \
    wait_log 'complete msg=D/112-1' 60
sched_stop
rm "$po/transport/C/110-1" "$po/queue/C/110-1"

# ---- moving into hash directories ----------------------------------------------------

put "$po" 11026545-1 wait h user
put "$po" 11026573-2 wait h user
ok 'the scheduler starts with -HH' sched_start "$po" "$tmp/cf" -HH
wait_log 'deferred msg=.*11026545-1' && wait_log 'deferred msg=.*11026573-2'
is '-HH: control files are moved two levels down' \
    "$(cd "$po/transport" && echo ?/?/11*)" 'L/X/11026545-1 M/Z/11026573-2'
is '-HH: message files are moved with their control files' \
    "$(cd "$po/queue" && echo ?/?/11*)" 'L/X/11026545-1 M/Z/11026573-2'
sched_stop
put "$po" 11026545-3 wait h user
ok 'the scheduler starts with -H' sched_start "$po" "$tmp/cf" -H
wait_log 'deferred msg=X/11026545-3'
is '-H: a new file is moved one level down, others keep their place' \
    "$(cd "$po/transport" && echo ?/11* ?/?/11*)" \
    'X/11026545-3 L/X/11026545-1 M/Z/11026573-2'
sched_stop
put "$po" 11026546-4 wait h user
echo 'SCHEDULERDIRHASH=1' >"$tmp/zmailer.conf"
ok 'the scheduler starts with SCHEDULERDIRHASH=1 in the file of -Z' \
    sched_start "$po" "$tmp/cf" -Z "$tmp/zmailer.conf"
ok 'SCHEDULERDIRHASH=1: a new file is moved one level down' \
    wait_log 'deferred msg=Y/11026546-4'
sched_stop
put "$po" 11026546-5 wait h user
ok 'the scheduler starts with -HH and SCHEDULERDIRHASH=1' \
    sched_start "$po" "$tmp/cf" -Z "$tmp/zmailer.conf" -HH
ok '-HH goes before SCHEDULERDIRHASH=1' \
    wait_log 'deferred msg=L/Y/11026546-5'
sched_stop
put "$po" 11026547-1 wait h user
mv "$po/queue/11026547-1" "$po/queue/Z/11026547-1" 2>/dev/null || {
	mkdir "$po/queue/Z"
	mv "$po/queue/11026547-1" "$po/queue/Z/11026547-1"
}
ok 'the scheduler starts after a crash between the two moves' \
    sched_start "$po" "$tmp/cf" -H
ok 'after a crash the control file follows its message file' \
    wait_log 'deferred msg=Z/11026547-1'
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
    raw 206-1 'unknown format'
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

ok 'the scheduler starts with bad control files' sched_start "$po" "$tmp/cf"
ok 'good mail between bad ones is delivered' wait_log 'complete msg=290-1'
while read -r name why; do
	if ! wait_log "set-aside msg=$name .*why: .*$why"; then
		echo "$name: $why: $(lines "msg=$name")"
	elif [ ! -f "$po/postman/$name.control" ]; then
		echo "$name is not in postman/"
	elif [ -f "$po/transport/$name" ] || [ -f "$po/queue/$name" ]; then
		echo "$name is still there"
	fi
done <"$tmp/bad" >"$tmp/wrong"
is 'each bad file is set aside, with the reason in the log' \
    "$(cat "$tmp/wrong")" ''
is 'a file that is set aside is as it was' \
    "$(cat "$po/postman/202-1.control")" 'not a control file'
is 'a file is set aside with its message' \
    "$(cat "$po/postman/202-1")" 'body of 202-1'
is 'a file is set aside once' "$(count 'set-aside msg=202-1')" 1
printf 'bad again\n' | put_raw "$po" 202-1
wait_log 'set-aside msg=202-1 .*to=postman/202-1.1 '
is 'a second bad file of a name is set aside beside the first' \
    "$(cat "$po/postman/202-1.1.control")" 'bad again'
printf 'half\n' | put_raw "$po" 218-1
mv "$po/queue/218-1" "$po/postman/218-1"
ok 'a message that was set aside alone gets its control file' \
    wait_log 'set-aside msg=218-1 .*to=postman/218-1 '
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
ok 'the scheduler starts with files that are partly done' \
    sched_start "$po" "$tmp/cf"
wait_log 'set-aside msg=301-1'
is 'only pending recipients get the message' \
    "$(grep -c '^301' "$tmp/out")" 1
ok 'a failed recipient: the message is set aside' [ -f "$po/postman/301-1" ]
ok 'a file with nothing left to do is removed' \
    wait_for 30 [ ! -f "$po/transport/302-1" -a ! -f "$po/queue/302-1" ]
ok 'a file with a failed recipient only is set aside' wait_log 'set-aside msg=303-1'
ok 'the lock of a dead process is removed' wait_log 'complete msg=304-1'
ok 'the lock of a living process is respected' \
    wait_log "locked msg=305-1 .*pid=$$ "
ok 'recipients without pid and delay are delivered to' \
    wait_log 'complete msg=306-1'
ok 'recipients with a pid field only are delivered to' \
    wait_log 'complete msg=307-1'
ok 'mail without a matching clause: the log says so' \
    wait_log 'no-command channel=nowhere'
is 'mail without a matching clause stays in transport/' \
    "$(ls "$po/transport" | grep 308)" 308-1
ok 'a list of hosts goes by its first host' \
    wait_log 'agent-(says|start) .*host=mx1 |deferred msg=309-1 .*host=mx1 '

# ---- x lines, verbose files ----------------------------------------------------------------

put "$po" 401-1 late old.host user
wait_log 'load msg=401-1'
printf 'i 402-1\no 0\nl x\ne sender\nx S401\ns local - s 0\nr           test h a 0\nm\n\n' |
    put_raw "$po" 402-1
ok 'a message with an x line is delivered' wait_log 'complete msg=402-1'
ok 'an x line changes nothing' [ -f "$po/transport/401-1" ]
: >"$po/public/v_501"
printf 'secret\n' >"$tmp/outside"
without NO_SYMLINK || ln -s "$tmp/outside" "$po/public/v_502"
verbose() {	# name path
	printf 'v %s\ni %s\no 0\nl x\ns local - s 0\nr           test h a 0\nm\n\n' \
	    "$2" "$1" | put_raw "$po" "$1"
	wait_log "complete msg=$1"
}
verbose 501-1 ../public/v_501
like 'a verbose file gets lines about its message' \
    "$(cat "$po/public/v_501")" 'processing'
verbose 502-1 ../public/v_502
verbose 503-1 "../../outside"
verbose 504-1 "$tmp/outside"
is 'a verbose file outside public/ gets no line' "$(cat "$tmp/outside")" secret
: >"$po/public/v_506"
if [ "$(id -u)" -eq 0 ] && chown 65534 "$po/public/v_506"; then
	verbose 506-1 ../public/v_506
	is 'a verbose file of another owner gets no line' \
	    "$(cat "$po/public/v_506")" ''
else
	skip 'a verbose file of another owner gets no line' \
	    'only root can make one'
fi
verbose 505-1 ../public/v_none
ok 'a missing verbose file is not made' [ ! -f "$po/public/v_none" ]
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- numbers ----------------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
sched_start "$po" "$tmp/cf"
put "$po" 99999999999-1 test h user	# as of a file system of many terabytes
ok 'a message with a number of more than 32 bits is delivered' \
    wait_log 'complete msg=99999999999-1' 30
is 'the report on it is taken' "$(count ' num=99999999999 ')" 0
sched_stop
# ---- the twins ------------------------------------------------------------------------------

ok 'two messages of one number are delivered, one after the other' \
    wait_for 60 po_empty "$tmp/twins"
is 'two messages of one number are delivered once each' \
    "$(cut -d' ' -f1 "$tmp/out.twins" | sort | tr '\n' ' ')" \
    'C/113-1 D/113-2 '
sched_pid=$twins
sched_stop
finish
