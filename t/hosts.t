#!/bin/sh
# What costs O(1) or O(log n) for each is to cost that: the same work is done
# at two sizes, and instructions are counted, not seconds.
# Takes long.
. "${0%/*}/lib.sh"

valgrind -q "$SCHEDULER" -V >/dev/null 2>&1 ||
	skip_all 'no valgrind, or not for this program'
active=0 overfeed=20 rcpts=0
configure() {	# arguments of the agent
	conf "$tmp/cf" <<-END
	PARAMactive $active
	*/*	interval=1h
	test/*	maxring=2 overfeed=$overfeed maxrcpts=$rcpts command="$top/t/agent -c test $*"
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

all_asleep() {
	[ "$(count ' asleep ')" -ge "$(ls "$tmp/po/transport" | wc -l)" ]
}

# A busy machine has the loop pass more often: up to three tries.
compare() {	# title times most until few-option few many-option many ...
	title=$1 times=$2 most=$3 until_when=$4 few=$5 n=$6 many=$7 m=$8
	shift 8
	for try in 1 2 3; do
		a=$(instructions "$few" "$n" "$until_when" "$@")
		b=$(instructions "$many" "$m" "$until_when" "$@")
		diag "$title: $a instructions, with $times times as many $b"
		! in_bounds || break
	done
	ok "$title: instructions were counted" [ "$a" -gt 1000000 ]
	ok "$title: $times times as many cost less than $most times as much" \
	    in_bounds
}
in_bounds() {
	awk -v a="$a" -v b="$b" -v most="$most" \
	    'BEGIN { exit !(b > a && b / a < most) }'
}

loaded='logged "loaded .* rcpts="'
come_in() {
	configure
	compare 'hosts of one ring' 2 2.3 "$loaded" \
	    '-h 3000 -r 100' 30 '-h 6000 -r 100' 60 -F
	compare 'messages that come in' 4 4.5 "$loaded" \
	    '-h 10' 1000 '-h 10' 4000 -F -S
}
delivered() {
	configure
	compare 'messages that are delivered' 4 4.5 'po_empty "$tmp/po"' \
	    '-h 10' 400 '-h 10' 1600
	compare 'recipients of one message at one host' 4 4.5 \
	    'po_empty "$tmp/po"' '-h 1 -r 500' 1 '-h 1 -r 2000' 1
	rcpts=10
	configure -p
	compare 'recipients of one message in portions of ten' 4 4.5 \
	    'po_empty "$tmp/po"' '-h 1 -r 500' 1 '-h 1 -r 2000' 1
}
beyond() {
	overfeed=0 most=1.5
	for try in 1 2 3; do
		active=0
		configure
		a=$(instructions '-h 10' 800 'po_empty "$tmp/po"')
		active=200
		configure
		b=$(instructions '-h 10' 800 'po_empty "$tmp/po"')
		diag "800 messages: $a instructions, with room for 200 at a time $b"
		! in_bounds || break
	done
	ok 'messages beyond PARAMactive cost less than half as much again' \
	    in_bounds
	active=0 overfeed=20
	configure deferall gone
	compare 'hosts that are found dead' 4 4.5 all_asleep \
	    '-h 300' 300 '-h 1200' 1200
}
beside 4 come_in
beside 6 delivered
beside 3 beyond
beside_end
finish
