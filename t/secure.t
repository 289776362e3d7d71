#!/bin/sh
# What agents get and what they do not; who may do what; what a log line can
# be made to say.  scheduler-security(7) is what is tested here.
. "${0%/*}/lib.sh"

A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
env=$tmp/said/env
mkdir "$tmp/said"
chmod 777 "$tmp/said"
conf "$tmp/cf" <<EOF
PARAMmailqsock none
*/*	interval=1h expiry=1d
env/*	user=65534 group=65533 command="$A -e -c env -s $env"
root/*	command="$A -c root -s $tmp/said/root"
nice/*	nice=-5 command="$A -c nice -o $tmp/said/nice"
bad/*	command="$A -c bad -x $tmp/forged deferred no"
EOF
spool_new "$po"
said() {	# word
	sed -n "s/^$1 *//p" "$env" | tr '\n' ' ' | sed 's/ *$//'
}

# ---- what agents get -----------------------------------------------------------

# A parent that is careless: open descriptors, a strange umask, signals
# blocked, other groups.
agent careless <<'EOF'
umask 0
ulimit -S -c 0
exec 3</dev/null 5>/dev/null 9</dev/null
if env --block-signal=CHLD,TERM,HUP --ignore-signal=USR1,PIPE,TTOU,XFSZ \
    true 2>/dev/null; then
	set -- env --block-signal=CHLD,TERM,HUP \
	    --ignore-signal=USR1,PIPE,TTOU,XFSZ "$@"
fi
if command -v bash >/dev/null 2>&1 && (ulimit -n 4000) 2>/dev/null; then
	ulimit -S -n 4000
	set -- bash -c 'exec 3000</dev/null 1100>/dev/null
		ulimit -S -n 500; exec "$@"' bash "$@"
fi
exec $(cat "${0%/bin/*}/many") "$@"
EOF
words_as 0 0,54322 >"$tmp/many"
put "$po" 101-1 env h user
put "$po" 102-1 root h user
[ "$(id -u)" -ne 0 ] || chown 65534 "$po/transport/101-1"
VALGRIND=$tmp/bin/ta/careless
ok 'the scheduler starts from a careless parent' \
    sched_start "$po" "$tmp/cf" -l "$tmp/stat"
VALGRIND=
ok 'an agent with user= delivers after a careless parent' \
    wait_log 'complete msg=101-1'
ok 'an agent without user= delivers after a careless parent' \
    wait_log 'complete msg=102-1'
is 'an agent has descriptors 0, 1 and 2 only' "$(said fd)" '0 1 2'
is 'an agent has a umask that lets nobody else write' "$(said umask)" 18
is 'an agent has no signal blocked or ignored' "$(said signals)" ''
is 'an agent has a process group of its own' "$(said pgrp)" own
if without NO_RLIMIT; then
	skip 'an agent has the limit of core dumps of the scheduler' \
	    'built without'
else
	is 'an agent has the limit of core dumps of the scheduler' \
	    "$(said core)" 0
fi
if [ "$(id -u)" -ne 0 ]; then
	is 'an agent has the user of the scheduler' "$(said uid)" "$(id -u)"
	skip 'an agent has no group but its own' 'not root'
elif without NO_INITGROUPS; then
	is 'an agent has the user of its clause' "$(said uid)" 65534
	skip 'an agent has no group but its own' 'built without'
else
	is 'an agent has the user of its clause' "$(said uid)" 65534
	# where the list of groups begins with the effective one, it is there
	own=
	case $(uname) in FreeBSD | DragonFly | Darwin) own=65533 ;; esac
	is 'an agent has no group but its own' "$(said gid) $(said others)" \
	    "65533 $own"
fi
unlike 'an agent has nothing of the environment of the scheduler' \
    "$(said env | tr ' ' '\n' | grep = | grep -v -E '^(PATH|TZ|CHANNEL|MAILNAME|MAILBIN|MAILSHARE)=')" .

# ---- what a log line can be made to say ----------------------------------------

esc=$(printf '\033') high=$(printf '\303\251\377')
: >"$po/transport/501-1${esc}[2J"
: >"$po/transport/502-1
20260101000000 info forged by a name"
put "$po" 503-1 bad "a${esc}[2J" user
put "$po" 504-1 bad "c${high}" user
printf 'i 505-1\no 0\ns local - x 0\nx S101%s\r20260101 info forged\nr           bad h u 0\nm\n\n' \
    "$esc" | put_raw "$po" 505-1
put "$po" 507-1 bad 'msg=1-1%s%n' user
put "$po" 509-1 root "d${high}" user
printf '# \r20260101000000 info forged by %s an agent\n%s[2J\000\n' "$esc" \
    "$esc" >"$tmp/forged"
printf 'dump %s[2J\nhold\r20260101 forged all x\n' "$esc" \
    >"$po/.mailq.command"
ok 'a bad control file with an escape byte is set aside' \
    wait_log 'set-aside msg=503-1'
ok 'mail with control bytes in an x line is deferred' \
    wait_log 'deferred msg=505-1'
ok 'a host of 8-bit bytes is logged as numbers' \
    wait_log 'deferred msg=504-1 .*host=c\\303\\251'
ok 'a host that looks like a format is logged as it is' \
    wait_log 'deferred msg=507-1 .*host=msg=1-1%s%n '
ok 'a query with control bytes is not repeated in the log' \
    wait_log 'mailq pipe=.*or with control bytes'
is 'the log has printable characters only' \
    "$(tr -d '\n\040-\176' <"$tmp/sched.log" | wc -c | tr -d ' ')" 0
wait_log 'complete msg=509-1'
like 'the statistics log shows 8-bit bytes as numbers' "$(cat "$tmp/stat")" \
    ' root/d\\303\\251\\377 20'
nok 'each log line begins with time, level and event' \
    grep -v -E '^20[0-9]{12} (err|warn|info) [a-z-]+ ' "$tmp/sched.log"
nok 'no log line has a forged event' \
    grep -E '^[0-9]+ [a-z]+ forged' "$tmp/sched.log"
ok 'an escape byte is logged as \033' logged '\\033'
is 'files with control bytes in their names are left alone' \
    "$(ls "$po/transport" | grep -c -E '^50[12]')" 2
rm -f "$po"/transport/50* "$po"/queue/50*

# ---- who may do what -------------------------------------------------------------

mode() {
	ls -ld "$1" | cut -c1-10
}
is 'the pipe for commands is for owner and group' \
    "$(mode "$po/.mailq.command")" 'prw--w----'
is 'the pid file is for all to read' "$(mode "$po/.pid.scheduler")" '-rw-r--r--'
is 'the lock file is for its owner only' \
    "$(mode "$po/.lock.scheduler")" '-rw-------'
"$ask" order "$po" hold 'bad/*' >"$tmp/ok.out" 2>&1
like 'the list of holds cannot be written by others' \
    "$(mode "$po/.mailq.holds")" \
    '^-rw..-..-.$'
printf 'core' >"$po/transport/core"
printf 'core' >"$po/transport/core.101"
put "$po" 508-1 root h user
ok 'a core dump in transport/ does not stop the scan' \
    wait_log 'complete msg=508-1'
is 'a core dump in transport/ is left alone' \
    "$(ls "$po/transport" | grep -c '^core')" 2
kill -TERM "$sched_pid"
ok 'TERM ends the scheduler although its parent had blocked it' \
    wait_for 20 gone "$sched_pid"
sched_stop

# ---- a limit of memory --------------------------------------------------------------

conf "$tmp/few.cf" <<EOF
PARAMmailqsock none
*/*	interval=1h expiry=1d
one/*	command="$A -c one -o $tmp/said/one"
list/*	maxring=1 overfeed=50 command="$A -c list -o $tmp/said/list"
EOF
rm -rf "$po"
spool_new "$po"
sched_start "$po" "$tmp/few.cf"
peak=$(sed -n 's/^VmPeak:[^0-9]*\([0-9]*\).*/\1/p' \
    "/proc/$sched_pid/status" 2>/dev/null)
sched_stop
if [ -n "$peak" ] && (ulimit -v $((peak + 700)) && "$A" -V | :) 2>/dev/null
then
	agent less <<EOF
ulimit -v $((peak + 700))
exec "\$@"
EOF
	"$top/t/mkspool" -c list -h 4000 -r 4000 -f 900 "$po" 1
	put "$po" 901-1 one h user
	VALGRIND=$tmp/bin/ta/less
	ok 'the scheduler starts with little memory' \
	    sched_start "$po" "$tmp/few.cf"
	VALGRIND=
	ok 'too little memory for a large message is logged' \
	    wait_log 'err memory ' 30
	ok 'other mail is delivered with little memory' \
	    wait_log 'complete msg=901-1' 30
	ok 'the scheduler goes on with little memory' alive "$sched_pid"
	is 'a large message stays in the queue with little memory' \
	    "$(ls "$po/transport" "$po/postman" | grep -c 900-1)" 1
	sched_stop
	ok 'the scheduler starts with more memory' \
	    sched_start "$po" "$tmp/few.cf"
	ok 'the large message is delivered with more memory' \
	    wait_for 60 po_empty "$po"
	sched_stop
	is 'the large message is delivered to each recipient once' \
	    "$(sort -u "$tmp/said/list" | wc -l | tr -d ' ')" 4000
	echo 'gone/*	queueonly' >>"$tmp/few.cf"
	put_many "$po" 5000 5000 gone
	VALGRIND=$tmp/bin/ta/less
	sched_start "$po" "$tmp/few.cf"
	VALGRIND=
	ok 'too little memory for many messages is logged' \
	    wait_log 'err memory ' 30
	wait_log ' loaded msgs='
	ok 'too little memory is logged once in a second' [ "$(lines \
	    'err memory ' | cut -c 1-14 | uniq -c | sort -n |
	    sed -n '$s/^ *\([0-9]*\) .*/\1/p')" -le 2 ]
	sched_stop
else
	skip 'a limit of memory' 'it cannot be set, or the use not be seen'
fi

# ---- a limit on the size of files ------------------------------------------------------

agent short <<'EOF'
ulimit -f 8		# blocks of 512 bytes; some shells count others
exec "$@"
EOF
rm -rf "$po"
spool_new "$po"
"$top/t/mkspool" -c one -h 5 -f 100 "$po" 90
: >"$tmp/said/one"
VALGRIND=$tmp/bin/ta/short
ok 'the scheduler starts with a limit on the size of files' \
    sched_start "$po" "$tmp/few.cf"
VALGRIND=
ok 'mail is delivered although the log cannot grow' wait_for 60 po_empty "$po"
sched_stop
is 'the scheduler ends well although its log cannot grow' $sched_rc 0
# A BSD writes no part of what does not fit.
ok 'the log ends at the limit on the size of files' \
    [ "$((($(wc -c <"$tmp/sched.log") + 400) % 4096))" -le 400 ]

# The signal for that would end it with the first line, before it is caught.
agent none <<'EOF'
ulimit -f 0
exec "$@"
EOF
rm -rf "$po"
spool_new "$po"
"$SCHEDULER" -i -P "$po" -f "$tmp/bad.cf" 2>"$tmp/no.err"
rc=$?
"$tmp/bin/ta/none" "$SCHEDULER" -i -P "$po" -f "$tmp/bad.cf" >"$tmp/no.out" 2>&1
is 'a file limit of 0: a bad configuration still gives its exit code' $? $rc
is 'a file limit of 0: the scheduler starts and ends at TERM' \
    "$(env MAILSHARE="$tmp" LOGDIR="$tmp/log" \
    "$tmp/bin/ta/none" sh -c '"$@" & wait_pid=$!
	n=0
	until [ -p "$0/.mailq.command" ] || [ $n -ge 300 ]; do
		kill -0 $wait_pid 2>/dev/null || break
		sleep 0.1 2>/dev/null || sleep 1
		n=$((n + 1))
	done
	kill -TERM $wait_pid
	wait $wait_pid
	echo $?' "$po" "$SCHEDULER" -i -P "$po" -f "$tmp/few.cf" \
    2>"$tmp/zero.log")" 0

# ---- a scheduler that is not root --------------------------------------------------

why=
set --
if [ "$(id -u)" -eq 0 ]; then
	set -- $(words_as 65534 65534)
	if [ $# -eq 0 ] || ! "$@" "$SCHEDULER" -V >/dev/null 2>&1; then
		why='nobody may not run it, or cannot be had'
	fi
fi
if [ -n "$why" ]; then
	for i in 1 2 3 4 5; do
		skip 'a scheduler that is not root' "$why"
	done
	finish
fi
po=$tmp/own
spool_new "$po"
rm -f "$tmp"/said/*
give() {	# to whom the scheduler is
	[ "$(id -u)" -ne 0 ] || chown -R 65534:65534 "$tmp/own"
}
chmod 755 "$tmp/bin" "$tmp/bin/ta" "$tmp/log"
chmod 644 "$tmp/cf"
put "$po" 101-1 env h user
put "$po" 102-1 nice h user
give
VALGRIND=$*
ok 'the scheduler starts as an ordinary user' sched_start "$po" "$tmp/cf"
VALGRIND=
ok 'an ordinary user: the log says that user= has no effect' \
    logged 'info user uid=[0-9]* is not root: .*user=.*group='
ok 'an ordinary user: an agent with user= delivers' \
    wait_log 'complete msg=101-1'
is 'an ordinary user: an agent with user= runs as that user' "$(said uid)" \
    "$(sed -n 's/.* user uid=\([0-9]*\).*/\1/p' "$tmp/sched.log")"
ok 'an ordinary user: a refused nice= is logged' \
    wait_log 'err agent channel=nice .*cannot nice '
sched_stop
finish
