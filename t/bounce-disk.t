#!/bin/sh
# DSNs: a full disk, or one that refuses, keeps everything as it is.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1s retries=1 expiry=5d reporttimes="1h" delayreport
late/*	command="$top/t/agent -c late deferred not now"
END

fill() {	# leaves so many kB
	dd if=/dev/zero of="$disk/filler" bs=1024 2>/dev/null
	[ "$1" -eq 0 ] || truncate -s "-${1}k" "$disk/filler" 2>/dev/null
}
disk_tests() {
	po=$disk/po
	spool_new "$po"
	awk 'BEGIN { for (i = 0; i < 600; i++) print "line " i " of the text" }' \
	    >"$tmp/long"
	body=$tmp/long
	simple "$po" 311-1 anna@a.example <<END
r-          fail h b@x.example 0
d b@x.example|failed|5.1.1|||no
END
	old='90 minutes ago'
	simple "$po" 312-1 anna@a.example <<END
r           late h b@x.example 0
END
	old= body=
	fill 0
	ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
	ok 'no DSN is written on a full disk' \
	    wait_log 'deferred msg=311-1 .*channel=dsn .*a DSN cannot be sent now: No space' 20
	ok 'no DSN of a delay is written on a full disk' \
	    wait_log \
	    'deferred msg=312-1 .*channel=dsn .*a DSN cannot be sent now: No space' 20
	is 'DSNs that cannot be written leave no file' \
	    "$(find "$po/public" "$po/router" -type f)" ''
	is 'on a full disk neither the failure nor the delay is marked' \
	    "$(sed -n 's/^\(d.\).*/\1,/p' \
	    "$po/transport/311-1") $(sed -n 's/^r.......\(....\).*/\1,/p' \
	    "$po/transport/312-1")" 'd ,     ,'
	is 'the message file stays whole on a full disk' \
	    "$(wc -l <"$po/queue/311-1" | tr -d ' ')" 600
	rm "$disk/filler"
	ok 'the DSN is written when the disk has room' \
	    wait_log 'msg=311-1 .*channel=dsn .* to=anna' 70
	ok 'the DSN of a delay is written when the disk has room' \
	    wait_log 'msg=312-1 .*channel=dsn .* to=anna' 70
	report "$po" 311-1
	is 'the DSN is whole after a full disk' \
	    "$(got '^!')$(grep -c '^B line' "$tmp/r")" 600
	sched_stop
	is 'the DSN is written once after a full disk' \
	    "$(files_of 311-1 | wc -l | tr -d ' ')" 1
}
if own_disk; then
	disk_tests
else
	skip 'no DSN is written on a full disk' 'a tmpfs cannot be mounted here'
fi

# ---- a file that may not be written ------------------------------------------------------

po=$tmp/po
spool_new "$po"
simple "$po" 321-1 anna@a.example <<END
r-          fail h b@x.example 0
d b@x.example|failed|5.1.1|||no
END
chmod 444 "$po/transport/321-1"
if [ "$(id -u)" -ne 0 ]; then
	who=
else
	who=$(words_as nobody 65534)
	chown -R nobody "$po" "$tmp/log" || who=
	[ -n "$who" ] || who=none
fi
if [ "$who" = none ]; then
	skip 'a control file that may not be written is logged' \
	    'everybody is root here'
else
	VALGRIND="$who"
	ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
	ok 'a control file that may not be written is logged' \
	    wait_log 'deferred msg=321-1 .*channel=dsn .*Permission denied' 20
	chmod 644 "$po/transport/321-1"
	ok 'the DSN is written when its control file may be written' \
	    wait_log 'msg=321-1 .*channel=dsn .* to=anna' 70
	sched_stop
fi

# ---- a write that fails ------------------------------------------------------------------

simple "$po" 331-1 anna@a.example <<END
r           late h a@x.example 0
r           late h b@x.example 0
d a@x.example|delayed||1 all||late
END
job() {		# [command ...]: the job of a delay, by hand
	printf '331-1\tdelay\n' >"$tmp/line"
	(cd "$po/transport" && exec "$@" "$top/ta/dsn") <"$tmp/line" 2>&1 |
	    grep -v '^#hungry'
}
marks() {	# of the recipients and the line
	sed -n -e 's/^r.......\(....\).*/\1,/p' -e 's/^d\(.\).*/\1,/p' \
	    "$po/transport/331-1" | tr -d '\n'
}
# the writes into the control file: a trial, one mark, and the other
fault='inject=write:error=EIO:when=3'
title='a warning whose recipients cannot all be marked is deferred'
if strace -o "$tmp/trace" -e trace=write -e $fault true >/dev/null 2>&1; then
	like "$title" "$(job strace -o "$tmp/trace" -P 331-1 -e trace=write \
	    -e $fault)" 'deferred a DSN cannot be sent now'
	is 'no recipient of a deferred warning stays marked' \
	    "$(marks)" '    ,    , ,'
	like 'the next try of a deferred warning names all recipients' \
	    "$(job env)" 'ok to=anna@a.example rcpts=2 '
	is 'all recipients of a warning that was sent are marked' \
	    "$(marks)" '   1,   1,+,'
else
	skip "$title" 'no strace that can have a system call fail'
fi

# ---- a disk that fails for moments ------------------------------------------

# Writes to the control file fail: the tag of the failure, its line, and the
# attempt to take the tag back.
po=$tmp/moments
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1s retries="1" expiry=1h
bad/*	command="$top/t/agent -c bad error no such user"
END
for when in 1 2 1..2 2..3 1..6 2..30; do
	if ! strace -o /dev/null -e trace=write -e "inject=write:error=EIO:when=$when" \
	    true 2>/dev/null; then
		skip "writes $when fail: all who failed are in a DSN" \
		    'no strace that can do it'
		continue
	fi
	rm -rf "$po"
	spool_new "$po"
	put "$po" 101-1 bad h u1 bad h u2
	put "$po" 102-1 bad h u3
	VALGRIND="strace -D -o /dev/null -P $po/transport/101-1 -e trace=write \
	    -e inject=write:error=EIO:when=$when"
	sched_start "$po" "$tmp/cf"
	VALGRIND=
	wait_for 60 po_empty "$po"
	sched_stop
	is "writes $when fail: all who failed are in a DSN" \
	    "$(sed -n 's/^Final-Recipient: .* //p' "$po"/router/* | sort |
	    tr '\n' ' ')" 'u1 u2 u3 '
	[ "$when" != 2..3 ] ||
	    like "writes $when fail: the reason is that it was not written" \
	    "$(cat "$po"/router/*)" 'why it failed was not written down'
done

# ---- many failures at once ----------------------------------------------------

# A tag without its line would have a generic text after a power cut, no more.
title='the scheduler waits for the disk for no failed recipient'
if strace -o "$tmp/trace" -e trace=fsync true 2>/dev/null; then
	rm -rf "$po"
	spool_new "$po"
	put "$po" 101-1 bad h u1 bad h u2 bad h u3 bad g u4
	VALGRIND="strace -D -o $tmp/trace -e trace=fsync"
	sched_start "$po" "$tmp/cf"
	VALGRIND=
	ok 'recipients that fail end a message' \
	    wait_for 60 po_empty "$po"
	sched_stop
	is "$title" "$(grep -c fsync "$tmp/trace")" 0
else
	skip "$title" 'no strace'
fi
finish
