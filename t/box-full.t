#!/bin/sh
# Boxes and spool on a disk that is full, and boxes at a limit: what was in a
# box stays as it was, nothing half-written is left, and all is delivered as
# soon as there is room.
#
# The disk is a small tmpfs in a mount namespace of a process of its own, and
# reached through /proc: whatever ends that process takes the disk away.
. "${0%/*}/lib.sh"

A=${MAILBOX:-$top/ta/mailbox}
conf "$tmp/cf" <<END
PARAMdsn="-x '*'"
*/*	interval=1s retries=1 expiry=1d
local/*	maxring=1 command="mailbox $A $tmp/where $tmp/limit"
END
# Where the boxes are and a limit are looked up at its start.
agent mailbox <<'AGENT'
[ ! -f "$3" ] || ulimit -f "$(cat "$3")"
exec "$1" -n -d "$(cat "$2")"
AGENT

start() {	# po mail
	po=$1 mail=$2
	echo "$mail" >"$tmp/where"
	sched_start "$po" "$tmp/cf" -S -v
}

# ---- messages ----------------------------------------------------------------

# Lines of 58 bytes.
text() {	# how many
	awk -v n="$1" 'BEGIN {
		for (i = 1; i <= n; i++)
			printf "line %10d %41s\n", i, "of the text"
	}'
}
# A recipient is "USER" or "USER NOTIFY=...".
message() {	# number lines recipient ...
	lib_name=$1-1
	text "$2" >"$po/queue/$lib_name"
	shift 2
	{
		printf 'i %s\no 0\nl <x@test>\ns smtp - s@a.org 0\n' "$lib_name"
		for r; do
			printf 'r           local - %s 0\n' "${r%% *}"
			[ "$r" = "${r%% *}" ] || printf 'N %s\n' "${r#* }"
		done
		printf 'm\nSubject: %s\n%s\n' "$lib_name" "$more"
	} >"$po/transport/.$lib_name"
	mv "$po/transport/.$lib_name" "$po/transport/$lib_name"
}
more=

# What files have, "NAME:LINES" for each message in the order of names.
# Something torn, or lines in a wrong order, is none.
inside() {	# file ...
	cat "$@" | awk '
		function end() { if (name != "") print name ":" at bad }
		/^Return-Path: / { end(); name = "none"; at = 0; bad = "" }
		/^Subject: / { name = $2 }
		/^line / {
			if ($2 != at + 1 || length($0) != 57)
				bad = " torn"
			at = $2
		}
		END { end() }' | sort | tr '\n' ' '
}
deferrals() {	# number status
	count "from pid=[0-9]* $1/[0-9]*.*delayed.*$2.*deferred "
}
deferred() {	# number status how-many
	[ "$(deferrals "$1" "$2")" -ge "$3" ]
}
# With NO_FTRUNCATE there are empty lines now.
as_it_was() {	# copy box
	if without NO_FTRUNCATE; then
		[ "$(cat "$1")" = "$(cat "$2")" ]
	else
		cmp "$1" "$2"
	fi
}
left_behind() {	# locks, and parts of messages in Maildirs
	(cd "$mail" && find . -name '*.lock' -o -path './*/tmp/*')
}

# ---- a limit for files -------------------------------------------------------

# Some shells count blocks of 512 bytes, some of 1024.
unit=$(sh -c 'ulimit -f 16 && dd if=/dev/zero of="$1" bs=512 count=64' sh \
    "$tmp/unit" >/dev/null 2>&1; wc -c <"$tmp/unit")

limit_tests() {
	spool_new "$tmp/po"
	mkdir "$tmp/mail"
	start "$tmp/po" "$tmp/mail"
	message 10 1000 anna
	ok 'a message is delivered before there is a limit for files' \
	    wait_for 30 po_empty "$po"
	sched_stop
	cp "$mail/anna" "$tmp/anna"
	echo $((65536 / (unit / 16))) >"$tmp/limit"
	start "$po" "$mail"
	message 11 400 anna
	message 12 2000 dora/
	ok 'a message that would make a box too large is deferred' \
	    wait_for 30 deferred 11 4.2.2 2
	ok 'a message that is too large by itself is deferred' \
	    wait_for 30 deferred 12 4.2.2 2
	ok 'the box stays as it was at the limit for files' \
	    as_it_was "$tmp/anna" "$mail/anna"
	is 'no lock and no part is left at the limit for files' \
	    "$(left_behind)" ''
	is 'no message is in the Maildir at the limit for files' \
	    "$(ls "$mail/dora/new" "$mail/dora/cur" |
	    grep -c P)" 0
	: >"$mail/anna"
	ok 'a deferred message is delivered when the box is emptied' \
	    wait_log 'delivered msg=11-1' 30
	is 'a message that was deferred for a large box is whole' \
	    "$(inside "$mail/anna")" '11-1:400 '
	sched_stop
	rm "$tmp/limit"
	start "$po" "$mail"
	ok 'the other message is delivered when the limit is raised' \
	    wait_for 30 po_empty "$po"
	is 'a message that was deferred by itself is whole' \
	    "$(inside "$mail"/dora/new/*)" \
	    '12-1:2000 '
	sched_stop
}
if [ "$((unit))" -eq 8192 ] || [ "$((unit))" -eq 16384 ]; then
	limit_tests
else
	skip 'a message that would make a box too large is deferred' \
	    'ulimit -f has no effect here'
fi

# ---- a full disk -------------------------------------------------------------

# df would show another disk, since it looks the place up by its own mounts.
fill() {	# KB that stay free
	dd if=/dev/zero of="$disk/spare" bs=1024 count="$1" 2>/dev/null
	dd if=/dev/zero of="$disk/filler" bs=1024 2>/dev/null
	rm "$disk/spare"
}
# All that anna, bert and dora have.
boxes() {
	for box in "$mail/anna" "$mail/bert" "$mail"/dora/new/*; do
		[ ! -f "$box" ] || cat "$box"
	done | inside
}

box_tests() {
	spool_new "$tmp/po2"
	mkdir "$disk/mail"
	start "$tmp/po2" "$disk/mail"
	message 20 200 anna
	ok 'a message is delivered on a disk with room' \
	    wait_for 30 po_empty "$po"
	cp "$mail/anna" "$tmp/anna"

	fill 40
	message 21 1000 anna bert dora/
	ok 'a message is deferred on a disk with too little room' \
	    wait_for 30 deferred 21 4.3.1 6
	ok 'the box stays as it was on a disk with too little room' \
	    as_it_was "$tmp/anna" "$mail/anna"
	is 'no lock and no part is left on a disk with too little room' \
	    "$(left_behind)" ''
	is 'nobody gets a message on a disk with too little room' \
	    "$(boxes)" '20-1:200 '
	name='a small message still has room'
	if without NO_FTRUNCATE; then
		skip "$name" 'built with NO_FTRUNCATE, which leaves empty lines'
	else
		message 22 100 anna
		ok "$name" wait_log 'delivered msg=22-1' 30
		is 'a small message comes before the deferred one' \
		    "$(boxes)" '20-1:200 22-1:100 '
	fi
	rm "$disk/filler"
	ok 'all is delivered when a disk with too little room has more' \
	    wait_for 30 po_empty "$po"
	is 'all that was deferred for too little room is whole' \
	    "$(boxes | sed 's/22-1:100 //')" \
	    '20-1:200 21-1:1000 21-1:1000 21-1:1000 '

	was=$(boxes)
	cp "$mail/anna" "$tmp/anna"
	fill 0
	message 23 100 anna bert dora/
	ok 'a message is deferred on a disk with no room' \
	    wait_for 30 deferred 23 4.3.1 6
	ok 'the box stays as it was on a disk with no room' \
	    as_it_was "$tmp/anna" "$mail/anna"
	is 'no lock and no part is left on a disk with no room' \
	    "$(left_behind)" ''
	is 'nobody gets a message on a disk with no room' "$(boxes)" "$was"
	rm "$disk/filler"
	ok 'all is delivered when a disk with no room has some' \
	    wait_for 30 po_empty "$po"
	is 'all that was deferred for no room is whole' \
	    "$(boxes)" "${was}23-1:100 23-1:100 23-1:100 "

	was=$(boxes)
	cp "$mail/anna" "$tmp/anna"
	mkdir "$disk/many"
	i=0
	while touch "$disk/many/$i" 2>/dev/null; do
		i=$((i + 1))
	done
	message 24 10 anna carl dora/
	ok 'a message is deferred when no file can be made' \
	    wait_for 30 deferred 24 4.3.1 6
	ok 'the box stays as it was when no file can be made' \
	    cmp "$tmp/anna" "$mail/anna"
	is 'nobody gets a message when no file can be made' "$(boxes)" "$was"
	rm -r "$disk/many"
	ok 'all is delivered when files can be made again' \
	    wait_for 30 po_empty "$po"
	is 'all that was deferred for want of files is whole' \
	    "$(boxes)" "${was}24-1:10 24-1:10 "
	is 'a box that could not be made has its message' \
	    "$(inside "$mail/carl")" '24-1:10 '
	sched_stop
}

# A failure has to be written down in the control file, which here ends 20
# bytes before the end of a page of 4096: room for the beginning of that line.
spool_tests() {
	mkdir "$tmp/mail3"
	po=$disk/po
	spool_new "$po"
	mail=$tmp/mail3
	more=
	message 30 200 ..nobody 'anna NOTIFY=SUCCESS' dora/
	size=$(wc -c <"$po/transport/30-1")
	more=$(awk -v n=$((4096 - 20 - size - 4)) \
	    'BEGIN { printf "X: "; for (; n > 0; n--) printf "x" }')
	more="$more
"
	message 30 200 ..nobody 'anna NOTIFY=SUCCESS' dora/
	more=
	is 'the control file has the size that the test needs' \
	    "$(($(wc -c <"$po/transport/30-1")))" 4076
	fill 0
	ok 'the scheduler starts with its spool on a full disk' \
	    start "$po" "$mail"
	failure='from .* 30/.*deferred a failure, but its diagnostic cannot be written'
	ok 'a failure is deferred until it can be written down' \
	    wait_log "$failure" 30
	ok 'other recipients are delivered with the spool on a full disk' \
	    wait_for 30 eval \
	    '[ "$(boxes)" = "30-1:200 30-1:200 " ]'
	is 'other recipients have the whole message of the full spool' \
	    "$(boxes)" '30-1:200 30-1:200 '
	sched_stop KILL
	ok 'the scheduler starts again after a crash on a full disk' \
	    start "$po" "$mail"
	ok 'a failure is deferred again after a crash on a full disk' \
	    wait_log "$failure" 30
	is 'nothing is delivered twice after a crash on a full disk' \
	    "$(boxes)" '30-1:200 30-1:200 '
	is 'nothing is set aside after a crash on a full disk' \
	    "$(ls "$po/postman")" ''
	rm "$disk/filler"
	ok 'a deferred failure is written down when the disk has room' \
	    wait_log 'failed msg=30-1' 30
	ok 'nothing else of a message with a deferred failure is left' \
	    wait_for 30 po_empty "$po"
	sched_stop
	is 'a failure that was deferred has its reason' \
	    "$(grep -c '^d.*nobody.*failed.*5\.1\.1' \
	    "$po/postman/30-1.control")" 1
	is 'the text of a message with a deferred failure is kept' \
	    "$(text 200)" "$(cat "$po/postman/30-1")"
}

# Small messages, and the boxes are on that disk, too.
both_tests() {
	mail=$disk/mail4
	mkdir "$mail"
	want=
	for i in 40 41 42 43 44 45; do
		message $i 100 anna dora/
		want="$want$i-1:100 $i-1:100 "
	done
	fill 0
	start "$po" "$mail"
	for i in 40 41 42 43 44 45; do
		wait_for 30 deferred $i 4.3.1 2
	done
	is 'nothing is delivered with spool and boxes on a full disk' \
	    "$(boxes)" ''
	is 'no lock and no part is left with spool and boxes on a full disk' \
	    "$(left_behind)" ''
	sched_stop KILL
	ok 'the scheduler starts again with spool and boxes on a full disk' \
	    start "$po" "$mail"
	rm "$disk/filler"
	ok 'all is delivered when the disk of spool and boxes has room' \
	    wait_for 30 po_empty "$po"
	is 'all is delivered once and whole when that disk has room' \
	    "$(boxes)" "$want"
	sched_stop
}

if own_disk nr_inodes=80; then
	box_tests
	spool_tests
	both_tests
else
	skip 'a message is deferred on a disk with too little room' \
	    "a tmpfs cannot be mounted here"
fi
finish
