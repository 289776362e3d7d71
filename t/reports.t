#!/bin/sh
# Reports of an agent that says what it likes: numbers that wrap, offsets that
# begin no recipient, recipients of other hosts.  The message is only partly in
# core.
. "${0%/*}/lib.sh"

po=$tmp/po

# It says what $tmp/say has, reports on the recipients of its job one by one,
# and ends the job; with a second file, not before that is there.
agent evil <<'END'
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" = '#idle' ] || {
		while [ -n "$2" ] && [ -d ../transport ] && [ ! -f "$2" ]; do
			sleep 1
		done
		cat "$1"
	}
	echo '#hungry'
done
END

# 30000 recipients for each of two hosts, in turn; lines of one length.  The file
# is larger than all data of the scheduler, so that an offset that wraps leads
# out of its memory.
spool_new "$po"
awk 'BEGIN {
	print "i 301-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 0; i < 60000; i++)
		printf("r           evil %s u%05d 0\n", (i % 2 ? "b" : "a") \
		    ".host", i)
	print "m\nSubject: x\nr:          evil a.host forged 0\n"
}' >"$tmp/ctl"
forged=$(awk '/^r:/ { print n + 0 } { n += length($0) + 1 }' "$tmp/ctl")
first=$(sed -n '1,4p' "$tmp/ctl" | wc -c | tr -d ' ')
each=$(sed -n 5p "$tmp/ctl" | wc -c | tr -d ' ')
at() {	# recipient
	echo $((first + $1 * each))
}
put_raw "$po" 301-1 <"$tmp/ctl"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 20
PARAMrcptminimum 5
PARAMdsn="-x '*'"
*/*	interval=1h expiry=1d overfeed=0 maxthr=1
evil/a.host	command="evil $tmp/say"
evil/b.host	command="evil $tmp/none"
END
: >"$tmp/none"
report() {	# offset status
	printf '301/%s\t\t%s\n' "$1" "$2"
}
{
	# a true offset far back, and then those that wrap
	report "$(at 50000)" 'deferred far back'
	report 18446744073709551615 'deferred wrapped'
	report 18446744073709551614 'ok wrapped'
	report 4294967295 'ok wrapped'
	report 4294967296 'ok wrapped'
	# these would be true offsets modulo 2^64 and 2^32
	report 18446744073709551616 'ok wrapped'
	report "$(at 0 | awk '{ printf("%.0f", 4294967296 + $1) }')" \
	    'error wrapped'
	report 99999999999999999999999999999999 'error wrapped'
	report 67108864 'error beyond all files'
	report -1 'error negative'
	report '' 'error without a number'
	# no recipient begins there
	report $(($(at 50000) + 1)) 'error within a line'
	report $(($(at 50000) - 1)) 'error the end of a line'
	report 0 'error the first line'
	report "$(wc -c <"$tmp/ctl" | tr -d ' ')" 'error the end of the file'
	report "$forged" 'error a line of the header'
	# recipients of the other host, in core and not
	report "$(at 1)" 'error of another host'
	report "$(at 50001)" 'error of another host'
	# another file
	printf '302/%s\t\terror of another file\n' "$(at 0)"
	# the recipients of the job, in core and not
	report "$(at 0)" 'ok it is true'
	report "$(at 50002)" 'ok it is true'
	report "$(at 50004)" 'error it is true'
	# twice, and the opposite
	report "$(at 0)" 'error said twice'
	report "$(at 50002)" 'error said twice'
} >"$tmp/say"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'the agent has ended its job' wait_log 'deferred msg=301-1 .*host=a.host' 30
ok 'the scheduler is alive' kill -0 "$sched_pid"
is 'only reports on recipients of the job count' \
    "$(lines ' (delivered|failed) msg=' |
    sed 's/.* \([df][a-z]*\) .*rcpt=\([0-9]*\) .*/\1 \2/' | sort -u -k 2n | tr '\n' ' ')" \
    "delivered $(at 0) delivered $(at 50002) failed $(at 50004) "
is 'only recipients of the job have a tag' \
    "$(sed -n 's/^r\([-+]\).* \(u[0-9]*\) 0$/\1\2/p' \
    "$po/transport/301-1" | tr '\n' ' ')" '+u00000 +u50002 -u50004 '
is 'only tags of the control file change, and lines are appended' \
    "$(sed -e '/^d[- ]/d' -e 's/^r[-+~]......./r        /' \
    -e 's/^r.......\(.*\)/r       \1/' "$po/transport/301-1" |
    cksum)" "$(sed 's/^r.......\(.*\)/r       \1/' "$tmp/ctl" | cksum)"
is 'no recipient of the other host has a tag' \
    "$(grep -c '^r .* b\.host' "$po/transport/301-1")" 30000
like 'reports that do not count are logged' "$(cat "$tmp/sched.log")" \
    'refused|garbled'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ZMailer's agents report the last recipient first.
agent backwards <<'END'
echo '#hungry'
read -r job host
awk '/^r / { print n + 0 } { n += length($0) + 1 }' "$job" | sort -rn | (
	i=0
	while read -r off; do
		printf '401/%s\t\tdeferred later\n' "$off"
		i=$((i + 1))
		[ $i -lt 150 ] || [ $i -ge 155 ] || sleep 1
	done
)
echo '#hungry'
cat >/dev/null
END
rm -rf "$po"
spool_new "$po"
awk 'BEGIN {
	print "i 401-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 0; i < 300; i++)
		print "r           back a.host u" i " 0"
	print "m\nSubject: x\n"
}' | put_raw "$po" 401-1
conf "$tmp/cf" <<END
PARAMrecipients 20
PARAMrcptminimum 5
*/*	interval=1h expiry=1d
back/*	timeout=3s command="backwards"
END
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf"
ok 'reports that come backwards are read' wait_log 'deferred msg=401-1' 30
is 'an agent that reports backwards is not taken for silent' \
    "$(lines ' agent-lost ')" ''
sched_stop

# Two recipients are in core.  The third has a reason before it is read, and is
# then delivered by a report, so its reason is left over.  With some C libraries
# freed memory has other bytes.
rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=1d
evil/g	command="evil $tmp/say $tmp/go"
evil/h	command="evil $tmp/say"
END
POSTOFFICE=$po RENDEZVOUS=$po/public/.mailq.text
export POSTOFFICE RENDEZVOUS
say() {		# status of the third
	{
		echo '303/55		deferred one'
		echo '303/83		deferred two'
		echo "303/111		$1"
	} >"$tmp/say.new"
	mv "$tmp/say.new" "$tmp/say"
}
say 'deferred three'
put "$po" 303-1 evil g u1 evil h u2 evil h u3
MALLOC_PERTURB_=165 GLIBC_TUNABLES=glibc.malloc.tcache_count=0
export MALLOC_PERTURB_ GLIBC_TUNABLES
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -q "$RENDEZVOUS"
unset MALLOC_PERTURB_ GLIBC_TUNABLES
wait_log 'deferred msg=303-1 .*rcpt=83 .* tries=1 '
say ok
for n in 2 3 4; do
	flushed() {
		"$top/mailq" flush evil/h && logged "rcpt=83 .* tries=$n "
	}
	wait_for 30 flushed
done
ok 'a recipient is delivered after a deferral' \
    logged 'delivered msg=303-1 .*rcpt=111 '
: >"$tmp/go"
wait_log 'deferred msg=303-1 .*rcpt=55 '
MAILQ_WAIT=20
export MAILQ_WAIT
like 'a message with delivered and deferred recipients is bounced' \
    "$("$top/mailq" bounce 303-1 2>&1)" \
    '2 jobs bounced'
ok 'the message goes' wait_for 30 po_empty "$po"
sched_stop
is 'the scheduler ends well after a bounce' $sched_rc 0

# TABs in texts of servers: in the notary of a report, in the text of a report
# without a notary, and in the notary of a line that an agent has written.
rm -rf "$po"
spool_new "$po"
{
	printf 'i 404-1\no 0\nl <x@test>\ns smtp - anna@a.example 0\n'
	printf 'r           evil h u1 0\nr           evil h u2 0\n'
	printf 'r-          evil h u3 0\nm\nSubject: x\n\n'
} >"$tmp/ctl"
first=$(sed 4q "$tmp/ctl" | wc -c)
each=$(sed -n 5p "$tmp/ctl" | wc -c)
printf 'd %d:-1:-1::1795220140\tu3\001failed\0015.1.3\001%s\001\001\t%s\n' \
    "$(at 2)" "smtp; 550 (three	said)" "the text	three" >>"$tmp/ctl"
{
	printf '404/%d\tu1\001failed\0015.1.1\001%s\001dns; mx\001x[1]\t%s\n' \
	    "$(at 0)" "smtp; 550 (one	said)" "error the text	one"
	printf '404/%d\t\t%s\n' "$(at 1)" "error the text	two"
} >"$tmp/say"
put_raw "$po" 404-1 <"$tmp/ctl"
ok 'the scheduler starts for texts with TABs' sched_start "$po" "$tmp/cf" \
    -q "$RENDEZVOUS"
ok 'a report with a TAB in its notary counts' \
    wait_log 'failed msg=404-1 .* the text\\011one$'
ok 'the DSN of texts with TABs is sent' wait_for 30 po_empty "$po"
is 'a DSN has diagnostic codes and texts with TABs whole' \
    "$(sed -n -e 's/^Status: //p' -e 's/^Diagnostic-Code: //p' \
    -e '/^     *the text/p' "$po/router"/* | tr '\t' ' ')" \
    '      the text one
      the text two
      the text three
5.1.1
smtp; 550 (one said)
5.0.0
x-local; 550 (the text two)
5.1.3
smtp; 550 (three said)'
sched_stop
finish
