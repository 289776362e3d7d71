#!/bin/sh
# What the log and answers say in small: failed=, complete once, windows after a
# reload, dead destinations.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
spool_new "$po"
POSTOFFICE=$po RENDEZVOUS=$po/public/.mailq.text
export POSTOFFICE RENDEZVOUS
fill() {	# maxthr of the channel wide
	conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMglobal-report-interval 1
*/*	interval=1s retries=1 expiry=1d
good/*	command="$A -c good ok3"
bad/*	command="$A -c bad error no such user"
later/*	command="$A -c later -f $tmp/now deferred no"
wide/*	maxthr=$1 initthr=5 command="$A -c wide -w $tmp/gate ok3"
lost/*	interval=1h command="lost"
many/*	interval=1h maxthr=1 command="many"
slow/*	command="$A -c slow -w $tmp/done ok3"
END
}
agent lost <<'END'
echo 'lost: out of paper'
exit 9
END

agent many <<'END'
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" = '#idle' ] || printf '%s/55\t\tdeferall one\rtwo\r\n' \
	    "${line%%-*}"
	echo '#hungry'
done
END

# ---- help ------------------------------------------------------------------

# Each option of the manual, and its arguments, is explained.
for p in scheduler.8 mailq.1 submit.1; do
	name=${p%.*}
	prog=$top/$name
	"$prog" --help >"$tmp/help" 2>"$tmp/err"
	is "$name --help is no error" "$? $(cat "$tmp/err")" '0 '
	"$prog" -\? >"$tmp/out" 2>"$tmp/err"
	is "a wrong option of $name is one" $? 64
	like "a wrong option of $name names --help" "$(cat "$tmp/err")" \
	    "^ *$name --help"
	sed -n '/^usage/,/--help$/p' "$tmp/help" >"$tmp/usage"
	missing=
	for o in $(tr -s '[] |' '\n\n\n\n' <"$tmp/usage" |
	    sed -n 's/^-\([A-Za-z]*\)$/\1/p'); do
		case $name,$o in
		submit,b?) letters=$o ;;
		submit,q*) letters=q ;;
		*) letters=$(echo "$o" | sed 's/./& /g') ;;
		esac
		for l in $letters; do
			grep -q -E "^  -$l[^a-z]|^  -[a-z]*, -$l " "$tmp/help" ||
			    missing="$missing -$l"
		done
	done
	is "$name --help explains each option of its usage" "$missing" ''
	is "$name --help has no option that the manual has not" "$(
	    sed -n 's/^  -\([A-Za-z]*\).*/\1/p' "$tmp/help" |
	    sed 's/^qRhost/qR/' |
	    while read -r o; do
		grep -q "^\.B.*\\\\-$o" "$top/man/$p" || echo "$o"
	done)" ''
done

# ---- complete --------------------------------------------------------------

fill 5
mv "$tmp/bin/ta/dsn" "$tmp/bin/ta/away"	# no DSN is sent for a while
put "$po" 101-1 bad h u
put "$po" 102-1 good h u bad h u
put "$po" 103-1 good h u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" \
    -q "$po/public/.mailq.text"
ok 'failed=all when all recipients failed' \
    wait_log 'complete msg=101-1 .*rcpts=1 failed=all'
ok 'failed=some when one of two recipients failed' \
    wait_log 'complete msg=102-1 .*rcpts=2 failed=some'
ok 'failed=none when no recipient failed' \
    wait_log 'complete msg=103-1 .*rcpts=1 failed=none'
put "$po" 104-1 good h u later h u
wait_log 'deferred msg=104-1'
sched_stop
sed 's/^r  *later /r           bad /' "$po/transport/104-1" >"$tmp/ctl"
cat "$tmp/ctl" >"$po/transport/104-1"
first=$(count 'complete')
cp "$tmp/sched.log" "$tmp/first.log"
sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
ok 'deliveries before a restart count for failed=' \
    wait_log 'complete msg=104-1 .*rcpts=1 failed=some'
mv "$tmp/bin/ta/away" "$tmp/bin/ta/dsn"
dsns_sent() {
	po_empty "$po"
}
ok 'DSNs are sent after a restart' wait_for 60 dsns_sent
is 'each message is complete once, though its DSN is sent later' \
    "$(cat "$tmp/first.log" "$tmp/sched.log" |
    sed -n 's/.* complete msg=\([^ ]*\) .*/\1/p' | sort | tr '\n' ' ')" \
    '101-1 102-1 103-1 104-1 '

# ---- windows -----------------------------------------------------------------

put "$po" 201-1 wide h u
wait_log 'agent-start .*channel=wide'
window() {
	"$top/mailq" -D -f 'wide/*' | sed -n 's/.*\(window [0-9]* of [0-9]*\).*/\1/p'
}
has_window() {	# window limit
	[ "$(window)" = "window $1 of $2" ]
}
ok 'a window begins with initthr' wait_for 20 has_window 5 5
fill 2
kill -HUP $sched_pid
wait_log 'reload .*done'
put "$po" 202-1 wide h u
wait_log 'load msg=202-1'
ok 'a reload with a smaller maxthr leaves no window above it' \
    wait_for 20 has_window 2 2

# ---- the report ------------------------------------------------------------------

put "$po" 203-1 lost h0 u
wait_log 'err agent channel=lost'
"$top/mailq" -Q >"$tmp/report"
sed -n '/^\.SH REPORT/,/^\.SH FILTERS/p' "$top/man/mailq.1" >"$tmp/page"
is 'the report has agents, and what is waited for' \
    "$(grep -c -E ' P=[{][0-9,]*[}] | pend=Start ' "$tmp/report")" 2
is 'each word of the report is explained in the manual' "$(
    sed '/ in router/d; s/ dead, .*//' "$tmp/report" |
    tr -s ' \t' '\n\n' | sed -n 's/^\([A-Za-z]*\)[=:].*/\1/p
    s/^\([a-z]*wait\)$/\1/p;s/.*{\([A-Z]*\)}.*/\1/p' | sort -u |
    while read -r w; do
	sed '/^\.nf/,/^\.fi/d' "$tmp/page" |
	    grep -E "(^|[^A-Za-z])$w([^A-Za-z]|\$)" >/dev/null ||
	    echo "$w"
    done | tr '\n' ' ')" ''
: >"$tmp/gate"
wait_log 'complete msg=201-1'

# ---- the screen ------------------------------------------------------------------

h=$(awk 'BEGIN { while (n++ < 60) printf "h" }')
put "$po" 204-1 lost "$h" u
wait_log 'load msg=204-1'
wide() {	# [variable=value ...]: of -s the longest row
	env "$@" "$top/mailq" -s |
	    awk '/^lost|^dest/ && length($0) > n { n = length($0) } END { print n + 0 }'
}
like 'in a file rows of -s have 79 columns at most' "$(wide)" '^7[0-9]$'
ok 'a wide screen has the whole name' \
    eval 'COLUMNS=140 "$top/mailq" -s | grep -q "^lost/$h  "'
is 'a screen of 140 columns has rows of 139 at most' \
    "$(expr "$(wide COLUMNS=140)" '<=' 139)" 1
is 'a screen of 70 columns has rows of 69 at most' \
    "$(expr "$(wide COLUMNS=70)" '<=' 69)" 1
is 'a number of columns that is none is passed over' "$(wide COLUMNS=x)" \
    "$(wide)"
if ! command -v python3 >/dev/null 2>&1; then
	skip 'the width of a terminal is used' 'no python3'
elif without NO_WINSIZE; then
	skip 'the width of a terminal is used' 'built with NO_WINSIZE'
else
	like 'the width of a terminal is used' "$(unset COLUMNS
	    python3 - "$top/mailq" 2>&1 <<'END'
import fcntl, os, pty, struct, sys, termios
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 140, 0, 0))
    os.execv(sys.argv[1], [sys.argv[1], '-s'])
out = b''
try:
    while True:
        b = os.read(fd, 4096)
        if not b:
            break
        out += b
except OSError:
    pass
os.waitpid(pid, 0)
print(out.decode())
END
)" "^lost/$h  "
fi

# ---- destinations whose agent fails ----------------------------------------------

put "$po" 301-1 lost h u
wait_log 'load msg=301-1'
ok 'the first line of what an agent says at its end is in the log' \
    wait_log 'err agent channel=lost .*code 9: lost: out of paper; its mail'
like 'a message whose agent fails says why' "$("$top/mailq" -f 'lost/h')" \
    'no agent can be started: died with exit code 9: lost: out of paper, next'
like 'a destination whose agent fails is in the state retry, with the reason' \
    "$("$top/mailq" -D -f 'lost/h' | tr '\n' ' ')" \
    '^lost/h  retry: died with exit code 9: lost: out of paper .*next .*\(in '
like 'mailq -s says why no agent can be started' \
    "$("$top/mailq" -s | tr '\n' ' ')" \
    'lost/h .* agent     died with exit code 9: lost: out of paper '
put "$po" 302-1 many h u
wait_log 'asleep channel=many' 20
for i in -D -Q -s '-w 9'; do
	bg "$top/mailq" $i >"$tmp/look.out"
	ok "the lines of a reason are joined: mailq $i" \
	    wait_for 20 grep -E '(: |^    )one two$' "$tmp/look.out"
	kill "$bg_pid" 2>/dev/null
	wait "$bg_pid"
	lib_forget "$bg_pid"
done

# ---- what is over, and not gone ----------------------------------------------------

"$top/mailq" flush all >"$tmp/out"
"$top/mailq" delete '*/*' >"$tmp/out"
wait_for 20 po_empty "$po"
put "$po" 401-1 slow h u
wait_log 'agent-start .*channel=slow' 20
wait_for 20 eval '"$top/mailq" | grep "agent pid"'
# The query comes in the same moment as the report.
kill -STOP "$sched_pid"
: >"$tmp/done"
wait_for 20 grep '^r+' "$po/transport/401-1"
bg "$top/mailq" >"$tmp/out" 2>&1
wait_for 20 eval 'ls "$po"/public/.mailq.text.*'
sleep $lib_nap
kill -CONT "$sched_pid"
wait "$bg_pid"
like 'mail that ends with the query is no list that is left out' \
    "$? $(sed 1q "$tmp/out")" '^0 .*(queue is empty|no message)'
rm -f "$tmp/done"
put "$po" 402-1 slow h u
wait_for 20 eval '"$top/mailq" | grep "agent pid"'
rm "$po/queue/402-1" && mkdir "$po/queue/402-1"
: >"$tmp/done"
wait_log 'complete msg=402-1' 20
is 'a message that is over and cannot be removed is listed' \
    "$("$top/mailq" | sed -n '2,3p')" '	no recipient is left
1 message, 0 recipients, 0 destinations'
is 'bounce speaks of no DSN that such a message does not have' \
    "$("$top/mailq" bounce 402-1 2>&1)" \
    'mailq: all recipients of 402-1 are done'
is 'delete speaks of no such DSN either' \
    "$("$top/mailq" delete 402-1 2>&1)" \
    '402-1 is removed: all its recipients are done'
rmdir "$po/queue/402-1"
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
