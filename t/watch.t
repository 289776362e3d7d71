#!/bin/sh
# mailq -w: looks at the queue, one after the other, and what changes in between.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
pipe=$po/public/.mailq.text
spool_new "$po"
POSTOFFICE=$po
export POSTOFFICE
unset LINES COLUMNS
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=3d
fine/*	command="$A -c fine ok3"
wait/*	command="$A -c wait deferred not now"
END
watch() {	# options ...: sets watcher; $tmp/looks is what it shows
	bg "$top/mailq" -w "$@" >"$tmp/looks" 2>"$tmp/err"
	watcher=$bg_pid
}
shown() {	# ERE: in some look
	grep -E -e "$1" "$tmp/looks" >/dev/null
}
looks() {	# number: there are so many
	[ "$(grep -c ', every ' "$tmp/looks")" -ge "$1" ]
}
unwatch() {
	kill "$watcher"
	wait "$watcher" 2>/dev/null
	lib_forget "$watcher"
}

ok 'a scheduler starts' sched_start "$po" "$tmp/cf" -q "$pipe"
put "$po" 101-1 wait h user
wait_log 'deferred msg=101-1'
watch 1
ok 'mailq -w shows the queue a second time' wait_for 20 looks 2
ok 'a look begins with the time of day and the pause' \
    shown '^[0-9][0-9]:[0-9][0-9]:[0-9][0-9], every 1s$'
ok 'a look has the totals' \
    shown '^1 message, 1 recipient, 1 destination; 0 held, 0 running, 1 waiting$'
ok 'a look has a row for a destination' \
    shown '^wait/h {35}       1     0     0      [0-] '
ok 'the second look has what has changed' \
    shown '^in [0-9]+s: 0 accepted, 0 delivered, 0 deferred, 0 failed$'
ok 'the first look has no reports to compare' \
    shown '^wait/h .* 0 {6}- {6}-$'
is 'no escape sequence goes into a file' "$(tr -cd '\033' <"$tmp/looks")" ''
put "$po" 102-1 fine host anna fine host bert
# They may fall into two looks.
counted() {
	[ "$(awk '/^in [0-9]+s: / { sub(/^in [0-9]+s: /, ""); n += $1; d += $3 }
		END { print n, d }' "$tmp/looks")" = '1 2' ]
}
ok 'messages that come and go between two looks are counted' wait_for 20 counted
ok 'deliveries between two looks are shown by the minute, too' shown \
    '^in [0-9]+s: [01] accepted, [12] delivered \([0-9]+ a minute\), 0 deferred'
ok 'a destination without jobs has a row when there were reports' \
    shown '^fine/host +0     0     0     \+[12]      0$'
mkdir -p "$po/router" && echo mail >"$po/router/77"
ok 'a look shows mail in router' wait_for 20 shown '^1 message waits in router'
sched_stop
ok 'without the scheduler the spool is shown, and said' \
    wait_for 20 shown '^no scheduler answers .*this is the spool'
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf" -q "$pipe"
n=$(grep -c ', every ' "$tmp/looks")
ok 'mailq -w goes on with a scheduler that comes back' \
    wait_for 20 looks $((n + 3))
unlike 'nothing is compared over a restart' "$(cat "$tmp/looks")" ' -[0-9]'
unwatch
watch -f 'nosuch/*' 1
ok 'mailq -w -f counts matching messages alone' \
    wait_for 20 shown '^0 messages, '
unlike 'mailq -w -f leaves out other rows' "$(cat "$tmp/looks")" '^wait/h'
unwatch
put_many "$po" 30 30 wait
wait_for 60 eval '[ "$(count "deferred msg=10[0-9]*-1")" -ge 31 ]'
LINES=12
export LINES
watch
ok 'rows without room on the terminal are counted' \
    wait_for 20 shown '^and 27 more$'
ok 'the pause is 5 seconds when none is given' shown ', every 5s$'
unwatch
if without NO_TCP; then
	skip 'mailq -w ends when its first look fails' 'built with NO_TCP'
else
	POSIXLY_CORRECT=1 POSTOFFICE=$tmp/none "$top/mailq" -w 1 -p 1 >"$tmp/looks" \
	    2>"$tmp/err"
	is 'mailq -w ends when its first look fails' $? 69
fi
"$top/mailq" -wj >"$tmp/looks" 2>"$tmp/err"
is '-w with -j is refused' $? 64
if command -v script >/dev/null 2>&1 &&
    script -qc true /dev/null </dev/null >"$tmp/x" 2>&1; then
	bg env TERM=vt100 script -qc "$top/mailq -w 1" /dev/null \
	    >"$tmp/looks" 2>"$tmp/err"
	watcher=$bg_pid
	wait_for 20 looks 2
	is 'on a terminal each look begins at its top' \
	    "$(tr -cd '\033HJ' <"$tmp/looks" | cut -c 1-8 | tr '\033' E)" \
	    EHEJEHEJ
	unwatch
else
	skip 'on a terminal each look begins at its top' 'no script'
fi
sched_stop

# One that is soon as old as the last one was, and has done less.
ok 'a young scheduler starts' sched_start "$po" "$tmp/cf" -q "$pipe"
put "$po" 301-1 fine host anna
wait_log 'complete msg=301-1'
watch 4
wait_for 20 looks 1
sched_stop
ok 'the next one starts at once' sched_start "$po" "$tmp/cf" -q "$pipe"
ok 'there is a look at the next one' wait_for 20 looks 2
unlike 'two young schedulers are not compared' "$(cat "$tmp/looks")" ' -[0-9]'
unwatch

# The next try is the beginning of a minute, so each look has the same one.
mkdir -p "$po/deferred"
echo mail >"$po/deferred/77"
echo '7 1 no route' >"$po/deferred/77.why"
touch -t "$(date +%Y%m%d%H%M)" "$po/deferred/77.why"
watch 1
ok 'mail in deferred is told in a look' wait_for 20 shown '^deferred/77, '
n=$(grep -c ', every ' "$tmp/looks")
ok 'looks go on with mail in deferred' wait_for 20 looks $((n + 3))
is 'each look has the same time for the next try' \
    "$(sed -n 's/^deferred.* next \([^ ]*\) .*/\1/p' "$tmp/looks" | sort -u |
    wc -l | tr -d ' ')" 1
unwatch
sched_stop
finish
