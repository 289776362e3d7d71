#!/bin/sh
# The main job: a large spool through agents and out, with each way of
# hashing, every recipient exactly once.
# Takes long.
. "${0%/*}/lib.sh"

conf "$tmp/cf" <<END
*/*	interval=1m expiry=1d
test/*	maxring=20 overfeed=50 command="$top/t/agent -c test -o $tmp/out"
END

delivered() {	# number
	[ "$(wc -l <"$tmp/out")" -ge "$1" ]
}

# Agents still there, of those that delivered something.
left() {
	for p in $(awk '{ print $4 }' "$tmp/out" | sort -u); do
		! alive "$p" || echo "$p"
	done
}

run() {		# number hosts option ...
	n=$1 hosts=$2
	shift 2
	rm -rf "$tmp/po" "$tmp/out"
	: >"$tmp/out"
	spool_new "$tmp/po"
	"$top/t/mkspool" -h "$hosts" "$tmp/po" "$n"
	sched_start "$tmp/po" "$tmp/cf" "$@"
	wait_for 150 delivered "$n"
	wait_for 60 po_empty "$tmp/po"
	sched_stop
}

# The largest with the most directories.
for level in '' -H -HH; do
	count=3000
	[ "$level" != -HH ] || count=8000
	run $count 1000 $level
	is "hashing '$level': every recipient is delivered to" \
	    "$(awk '{ print $1, $2 }' "$tmp/out" | sed 's,^[A-Z/]*,,' |
	    sort -u | wc -l | tr -d ' ')" $count
	is "hashing '$level': no recipient is delivered to twice" \
	    "$(wc -l <"$tmp/out" | tr -d ' ')" $count
	ok "hashing '$level': the spool is empty" po_empty "$tmp/po"
	is "hashing '$level': nothing was set aside" \
	    "$(ls "$tmp/po/postman")" ''
	is "hashing '$level': no agent is left" "$(left)" ''
	is "hashing '$level': the scheduler ends well" $sched_rc 0
	prefix=$(echo x$level | sed 's/^x-*//; s/H/[A-Z]\//g')
	is "hashing '$level': jobs name the directories" \
	    "$(grep -cv "^${prefix}[0-9]" "$tmp/out")" 0
done

if valgrind -q "$SCHEDULER" -V >/dev/null 2>&1; then
	VALGRIND="valgrind -q --leak-check=full --error-exitcode=9
	    --log-file=$tmp/valgrind.%p --child-silent-after-fork=yes"
	run 400 50 -HH
	VALGRIND=
	is 'under valgrind: every recipient is delivered to' \
	    "$(sort -u "$tmp/out" | wc -l | tr -d ' ')" 400
	is 'under valgrind: the scheduler has no error and no leak' \
	    "$sched_rc$(cat "$tmp"/valgrind.*)" 0
else
	skip 'under valgrind: every recipient is delivered to' \
	    'no valgrind, or not for this program'
	skip 'under valgrind: the scheduler has no error and no leak' \
	    'no valgrind, or not for this program'
fi
finish
