#!/bin/sh
# What costs O(1) or O(log n) for each is to cost that: the same work is done
# at two sizes, and instructions are counted, not seconds.
# Takes long.
. "${0%/*}/lib.sh"

valgrind -q "$SCHEDULER" -V >/dev/null 2>&1 ||
	skip_all 'no valgrind, or not for this program'
active=0 overfeed=20
configure() {	# arguments of the agent
	conf "$tmp/cf" <<-END
	PARAMactive $active
	*/*	interval=1h
	test/*	maxring=2 overfeed=$overfeed command="$top/t/agent -c test $*"
	END
}

# Instructions that the scheduler takes until what the third argument says has
# come; 0 when it does not come.
instructions() {	# mkspool's-options messages command-of-sh [option ...]
	rm -rf "$tmp/po"
	spool_new "$tmp/po"
	"$top/t/mkspool" $1 "$tmp/po" "$2"
	until=$3
	shift 3
	VALGRIND="valgrind -q --tool=callgrind
	    --callgrind-out-file=$tmp/callgrind"
	sched_start "$tmp/po" "$tmp/cf" "$@" >&2 &&
	    wait_for 100 eval "$until" >&2
	came=$?
	sched_stop
	if [ $came -ne 0 ]; then
		echo 0
		return
	fi
	awk '/^(summary|totals):/ { n = $2 } END { print n + 0 }' \
	    "$tmp/callgrind"
}

compare() {	# title few many times most
	diag "$1: $2 instructions, with $4 times as many $3"
	ok "$1: instructions were counted" [ "$2" -gt 1000000 ]
	ok "$1: $4 times as many cost less than $5 times as much" \
	    awk -v a="$2" -v b="$3" -v most="$5" \
	    'BEGIN { exit !(b > a && b / a < most) }'
}

configure
loaded='logged "loaded .* rcpts="'
a=$(instructions '-h 3000 -r 100' 30 "$loaded" -F)
b=$(instructions '-h 6000 -r 100' 60 "$loaded" -F)
compare 'hosts of one ring' "$a" "$b" 2 2.3
a=$(instructions '-h 10' 1000 "$loaded" -F -S)
b=$(instructions '-h 10' 4000 "$loaded" -F -S)
compare 'messages that come in' "$a" "$b" 4 4.5
a=$(instructions '-h 10' 400 'po_empty "$tmp/po"')
b=$(instructions '-h 10' 1600 'po_empty "$tmp/po"')
compare 'messages that are delivered' "$a" "$b" 4 4.5
a=$(instructions '-h 1 -r 500' 1 'po_empty "$tmp/po"')
b=$(instructions '-h 1 -r 2000' 1 'po_empty "$tmp/po"')
compare 'recipients of one message at one host' "$a" "$b" 4 4.5
overfeed=0
configure
a=$(instructions '-h 10' 800 'po_empty "$tmp/po"')
active=200
configure
b=$(instructions '-h 10' 800 'po_empty "$tmp/po"')
diag "800 messages: $a instructions, with room for 200 at a time $b"
ok 'messages beyond PARAMactive cost less than half as much again' \
    awk -v a="$a" -v b="$b" 'BEGIN { exit !(a > 1000000 && b < 1.5 * a) }'
active=0 overfeed=20
configure deferall gone
a=$(instructions '-h 300' 300 '[ "$(count " asleep ")" -ge 300 ]')
b=$(instructions '-h 1200' 1200 '[ "$(count " asleep ")" -ge 1200 ]')
compare 'hosts that are found dead' "$a" "$b" 4 4.5
finish
