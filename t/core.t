#!/bin/sh
# A queue that is larger than memory is to be: the bounds of what is in core,
# and large messages.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/core.sh"

# ---- vectors of intake ---------------------------------------------------

"$top/t/invec" <"$top/t/vectors/intake.txt" >"$tmp/tap"
is 'all vectors of intake hold' $? 0
is 'no vector of intake is left out' "$(grep -c '^ok [0-9]* - ' "$tmp/tap")" \
    "$(grep -c '^VECTOR' "$top/t/vectors/intake.txt")"
sed 's/fed I1 D1/fed I1 I2/' "$top/t/vectors/intake.txt" >"$tmp/vectors"
nok 'a changed vector of intake does not hold' "$top/t/invec" <"$tmp/vectors"

# ---- many messages, few in core ------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 50
PARAMdsn="-x '*'"
*/*	interval=1m expiry=1d
test/*	maxring=4 overfeed=10 command="$A -c test -o $out"
END
"$top/t/mkspool" -h 30 "$po" 3000
ok 'the scheduler starts with more mail than fits in core' start -HH
wait_for 60 got 1000
sched_stop KILL
wait_for 60 agents_gone
ok 'the scheduler starts again when it was killed in the middle' start -S
ok 'a scheduler that was killed delivers the rest' wait_for 60 po_empty "$po"
sched_stop
is 'every message is delivered once, though the scheduler was killed' \
    "$(once)" '3000 3000'
at_most 'at most PARAMactive messages and one were in core' "$(peak msgs)" 51

# ---- one large message ---------------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 200
PARAMdsn="-x '*'"
*/*	interval=1m expiry=1d
test/*	maxring=4 overfeed=10 command="$A -c test -o $out"
all/*	command="$A -c all -o $out"
bad/*	command="$A -c bad error no such user"
END
"$top/t/mkspool" -h 1700 -r 5000 "$po" 1
ok 'the scheduler starts with a message of 5000 recipients' start
wait_for 60 got 1500
sched_stop KILL
wait_for 60 agents_gone
start
ok 'a message of 5000 recipients is delivered in spite of a kill' \
    wait_for 60 po_empty "$po"
is 'every one of 5000 recipients is delivered to once' "$(once)" '5000 5000'
: >"$out"
"$top/t/mkspool" -h 1 -c all -r 3000 -f 3001 "$po" 1
ok 'an agent delivers to all recipients of a host at once' \
    wait_for 60 po_empty "$po"
is 'all recipients of a host are delivered to once' "$(once)" '3000 3000'
is 'reports on all recipients of a host are believed' \
    "$(count ' delivered msg=3001-1 .*channel=all')" 3000
is 'no report on a recipient of a host is refused' \
    "$(count 'refused|no such rec')" 0
"$top/t/mkspool" -h 2 -c bad -r 1000 -f 3002 "$po" 1
ok 'a message of 1000 recipients fails' wait_log 'set-aside msg=3002-1' 60
is 'each failure of 1000 recipients is written down' \
    "$(grep -c '^r-' "$po/postman/3002-1.control") $(grep -c '^d ' \
    "$po/postman/3002-1.control")" '1000 1000'
sched_stop

# ---- several large messages ----------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMrecipients 40
PARAMdsn="-x '*'"
*/*	interval=1m expiry=1d
test/*	maxring=2 overfeed=3 command="$A -c test -o $out"
END
"$top/t/mkspool" -h 777 -r 300 "$po" 9
ok 'the scheduler starts with several large messages' start
ok 'several large messages are delivered' wait_for 60 po_empty "$po"
sched_stop
is 'several large messages are delivered to everybody once' \
    "$(once)" '2700 2700'
at_most 'of several large messages three are in core at once' "$(peak rcpts)" 940
at_most 'several large messages are within PARAMactive' "$(peak msgs)" 5

# ---- the pools of another program --------------------------------------------
# It reads messages in parts; progress and order must be the same.

put_large() {	# name recipients: each with a host of its own
	awk -v name="$1" -v n="$2" 'BEGIN {
		print "i " name "\no 0\nl <x@test>\ns local - sender 0"
		for (i = 1; i <= n; i++)
			print "r           test " name "." i ".test u 0"
		print "m\n"
	}' | put_raw "$po" "$1"
}
value() {	# word of the line "agents=1 svc=0.4 ..."
	echo " $limits" | sed -n "s/.* $1=\([0-9]*\).*/\1/p"
}
pool() {	# name messages: runs one with its limits
	fresh
	conf "$tmp/cf" <<-END
	PARAMmailqsock none
	PARAMactive $#
	PARAMrecipients $(value global_limit)
	*/*	interval=1m expiry=1d order=preempt slotcost=$(value cost)
	test/*	maxta=$(value agents) minslots=$(value min) command="$A -c test -o $out"
	END
	name=$1 total=0 most=0
	shift
	for m; do
		put_large "$((1000 + ${m%:*}))-1" "${m#*:}"
		total=$((total + ${m#*:}))
		[ $most -ge ${m#*:} ] || most=${m#*:}
	done
	start -S
	ok "$name: all is delivered" wait_for 60 po_empty "$po"
	sched_stop
	is "$name: every recipient is delivered to once" \
	    "$(once)" "$total $total"
	at_most "$name: recipients are within the bound" "$(peak rcpts)" \
	    $((3 * most + $(value global_limit)))
}
# Those of at most some hundreds of recipients.
awk '$1 == "VECTOR" { name = $2 } $1 == "messages" { $1 = ""; list = $0 }
    $1 ~ /^agents=/ && list !~ /0000/ { print name " |" list " |" $0 }' \
    "$top/t/vectors/pool.txt" >"$tmp/pools"
while IFS='|' read -r name list limits; do
	pool $name $list
	case $limits in
	*agents=1*)
		is "$name: messages are delivered one after the other" \
		    "$(cut -d- -f1 "$out" | uniq | wc -l)" \
		    "$(cut -d- -f1 "$out" | sort -u | wc -l)" ;;
	esac
done <"$tmp/pools"
limits='agents=1 global_limit=4 cost=2 min=0'
pool 'a list before small messages' 1:200 2:14 3:12 4:10 5:8 6:6

# ---- channels share --------------------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 20
PARAMrecipients 200
PARAMdsn="-x '*'"
*/*	interval=1m expiry=1d
hang/*	maxring=4 command="$A -c hang -o $out -w $tmp/gate"
fine/*	maxring=4 overfeed=10 command="$A -c fine -o $out"
END
rm -f "$tmp/gate"
"$top/t/mkspool" -c hang -h 10 -f 1001 "$po" 100
start
ok 'a channel hangs with all of core' wait_log ' loaded msgs=20 '
"$top/t/mkspool" -c fine -h 10 -f 2001 "$po" 60
fine_done() {	# messages
	[ "$(count ' complete msg=2')" -ge "$1" ]
}
ok 'mail of another channel is delivered while one hangs' \
    wait_for 60 fine_done 60
is 'nothing of the channel that hangs is delivered meanwhile' \
    "$(count ' complete msg=1')" 0
"$top/t/mkspool" -c hang -h 1000 -r 1000 -f 1201 "$po" 1
"$top/t/mkspool" -c fine -h 400 -r 400 -f 2201 "$po" 2
ok 'lists of another channel are delivered while a list hangs' \
    wait_for 60 fine_done 62
: >"$tmp/gate"
ok 'the channel that has hung goes on to the end' wait_for 60 po_empty "$po"
sched_stop
is 'mail of both channels is delivered once' "$(once)" '1960 1960'
at_most 'PARAMactive and one more were in core' "$(peak msgs)" 21

# A file is read again when there is room, not all the time.
fresh
rm -f "$tmp/gate"
"$top/t/mkspool" -c hang -h 10 -f 1001 "$po" 60
start
wait_log ' loaded '
put "$po" 2001-1 fine h u
ok 'mail for which another message leaves is delivered' \
    wait_log 'complete msg=2001-1' 60
ok 'no file is read more than three times meanwhile' [ "$(lines ' load msg=' |
    awk '{ n[$4]++ } END { for (m in n) if (n[m] > most) most = n[m]
    print most }')" -le 3 ]
: >"$tmp/gate"
ok 'what had left comes in again' wait_for 60 po_empty "$po"
sched_stop
is 'what had left is delivered once' "$(once)" '61 61'

# One list keeps nobody out, though it has more than PARAMrecipients.
fresh
rm -f "$tmp/gate"
"$top/t/mkspool" -c hang -h 1000 -r 1000 -f 1001 "$po" 1
start
wait_log 'load msg=1001-1'
"$top/t/mkspool" -c hang -n x -h 2 -f 1101 "$po" 50
"$top/t/mkspool" -c fine -h 10 -f 2001 "$po" 100
ok 'single messages are delivered beside a list that hangs' \
    wait_for 60 fine_done 100
: >"$tmp/gate"
ok 'the list that has hung is delivered' wait_for 60 po_empty "$po"
sched_stop
is 'list and single messages are delivered once' "$(once)" '1150 1150'

# One message for both, in an order that is none of ours to choose.
fresh
rm -f "$tmp/gate"
awk 'BEGIN {
	print "i 1-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 1; i <= 1200; i++)
		print "r           " (i <= 600 || i % 3 == 0 ? "hang" : "fine") \
		    " h" i " u 0"
	print "m\n"
}' | put_raw "$po" 1-1
start
fine_done() {
	[ "$(count ' delivered msg=1-1 .*channel=fine')" -ge 400 ]
}
ok 'a channel that hangs does not keep the rest of its message out' \
    wait_for 60 fine_done
is 'nothing of a channel that hangs is delivered meanwhile' \
    "$(count ' delivered msg=1-1 .*channel=hang')" 0
sched_stop KILL
: >"$tmp/gate"
wait_for 60 agents_gone
start
ok 'the channel that has hung is delivered after another start' \
    wait_for 60 po_empty "$po"
sched_stop
is 'everybody gets a message of two channels once' "$(once)" '1200 1200'

# ---- a large one that waits, expires, is deleted ----------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 60
PARAMdsn="-x '*'"
*/*	interval=2s retries=1 expiry=1d
test/*	maxring=4 overfeed=10 command="$A -c test -o $out -f $tmp/gate"
old/*	expiry=1h expiry2=0 command="$A -c old -o $out"
park/*	queueonly command="$A -c park -o $out"
END
rm -f "$tmp/gate"
"$top/t/mkspool" -h 400 -r 400 "$po" 1
start
tried() {	# times
	lines ' deferred msg=' | awk -v n="$1" '{ tried[$8]++ }
	    END { for (h in tried) all += tried[h] >= n; exit all < 400 }'
}
ok 'all of a large message is tried' \
    wait_for 60 tried 1
ok 'all of a large message is tried again' \
    wait_for 60 tried 2
: >"$tmp/gate"
ok 'a large message that has waited is delivered' wait_for 60 po_empty "$po"
is 'a large message that has waited is delivered once' "$(once)" '400 400'
sched_stop

"$top/t/mkspool" -c old -h 300 -r 500 "$po" 1
touch -t 202601020304 "$po/queue/1000-1"
start
ok 'a large message expires' wait_log 'set-aside msg=1000-1' 60
is 'everybody who expired is written down' \
    "$(grep -c '^r-' "$po/postman/1000-1.control") $(grep -c '^d ' \
    "$po/postman/1000-1.control")" '500 500'

"$top/t/mkspool" -c park -h 300 -r 500 -f 2001 "$po" 3
for n in 2001 2002 2003; do
	wait_log "load msg=$n-1"
done
like 'a command deletes a large message' \
    "$("$ask" order "$po" delete 2001-1)" '^ok '
ok 'all of a large message is deleted' wait_log 'complete msg=2001-1' 60
is 'nobody gets a large message that is deleted' "$(grep -c 2001-1 "$out")" 0
like 'a command bounces a large message' \
    "$("$ask" order "$po" bounce 2002-1)" '^ok '
ok 'all of a large message is bounced' wait_log 'set-aside msg=2002-1' 60
is 'everybody who was bounced is written down' \
    "$(grep -c '^d ' "$po/postman/2002-1.control")" 500
like 'a command holds a large message' \
    "$("$ask" order "$po" hold 2003-1)" '^ok '
like 'a command releases a large message' \
    "$("$ask" order "$po" release 2003-1)" '^ok '
rm "$po/transport/2003-1"
printf 'i 2004-1\no 0\n%s\n%s\nm\n\n' 's local - s 0' \
    'r           test h u 0' | put_raw "$po" 2004-1
wait_log 'complete msg=2004-1'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# Agents that leave the tags to us: what is read again must have them.
fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=2s retries=1 expiry=1d
wait/*	command="$A -u -c wait -o $out -f $tmp/gate"
fine/*	maxring=1 overfeed=1 command="$A -u -c fine -o $out"
END
for m in 1-1 2-1; do
	awk -v m=$m 'BEGIN {
		print "i " m "\no 0\nl <x@test>\ns local - sender 0"
		for (i = 1; i <= 60; i++)
			print "r           " (i > 30 ? "fine" : "wait") " h" i \
			    " u 0"
		print "m\n"
	}' | put_raw "$po" $m
done
start
wait_for 30 got 60
n=$(count ' deferred msg=')
ok 'recipients of forgotten messages are tried again when they are due' \
    wait_for 30 eval '[ "$(count " deferred msg=")" -ge $((n + 80)) ]'
ok 'both messages were forgotten' eval \
    '[ "$(count "evict msg=1-1")" -ge 1 ] && [ "$(count "evict msg=2-1")" -ge 1 ]'
: >"$tmp/gate"
ok 'recipients of forgotten messages are delivered to' \
    wait_for 60 po_empty "$po"
is 'recipients of forgotten messages get it once' "$(once)" '120 120'
sched_stop
finish
