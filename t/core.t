#!/bin/sh
# A queue that is larger than memory is to be: the bounds of what is in core,
# parts of large messages, what is evicted and comes again.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
out=$tmp/out
ask=$top/t/ask
pipe=$po/public/.mailq.text

# What the last run said of itself at its end.
peak() {	# msgs | rcpts
	lines ' core peak' | sed "s/.*peak-$1=\([0-9]*\).*/\1/"
}
at_most() {	# name number limit
	if [ "${2:-999999999}" -le "$3" ]; then
		pass "$1"
	else
		fail "$1" "$2 is more than $3"
	fi
}
start() {
	sched_start "$po" "$tmp/cf" -q "$pipe" "$@"
}
fresh() {
	rm -rf "$po" "$out"
	spool_new "$po"
	: >"$out"
}
# How many different recipients there are in $out, and how many lines.
once() {
	echo "$(cut -d' ' -f1,2 "$out" | sort -u | wc -l | tr -d ' ')" \
	    "$(wc -l <"$out" | tr -d ' ')"
}
got() {		# lines
	[ "$(wc -l <"$out")" -ge "$1" ]
}

# Agents of a scheduler that was killed finish what they have in hand.
agents_gone() {
	for p in $(awk '{ print $4 }' "$out" | sort -u); do
		! alive "$p" || return 1
	done
}
# For when it was not the file for -o that changed.
done_msgs() {	# number
	[ "$(count ' complete msg=')" -ge "$1" ]
}

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
*/*	interval=1m expiry=1d bounce=none
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
at_most 'at most PARAMactive messages were in core' "$(peak msgs)" 50

# ---- one large message ---------------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 200
*/*	interval=1m expiry=1d bounce=none
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
is 'recipients that were not in core are delivered to once' \
    "$(once)" '3000 3000'
is 'reports of recipients that are not in core are believed' \
    "$(count ' delivered msg=3001-1 .*channel=all')" 3000
is 'no report of a recipient that is not in core is refused' \
    "$(count 'refused|no such rec')" 0
"$top/t/mkspool" -h 2 -c bad -r 1000 -f 3002 "$po" 1
ok 'recipients that are not in core fail' wait_log 'park msg=3002-1' 60
is 'each failure of a recipient not in core is written down' \
    "$(grep -c '^r-' "$po/postman/3002-1.control") $(grep -c '^d-' \
    "$po/postman/3002-1.control")" '1000 1000'
sched_stop
at_most 'at most PARAMrecipients and a few were in core' "$(peak rcpts)" 210

# ---- several large messages ----------------------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMrecipients 40
PARAMrcptminimum 4
PARAMrcptextra 7
*/*	interval=1m expiry=1d bounce=none
test/*	maxring=2 overfeed=3 command="$A -c test -o $out"
END
"$top/t/mkspool" -h 777 -r 300 "$po" 9
ok 'the scheduler starts with several large messages' start
ok 'several large messages are delivered' wait_for 60 po_empty "$po"
sched_stop
is 'several large messages are delivered to everybody once' \
    "$(once)" '2700 2700'
at_most 'recipients of several large messages are within the bound' \
    "$(peak rcpts)" $((40 + 5 * 4 + 7))
at_most 'several large messages are within the bound' "$(peak msgs)" 5

# ---- the pools of another program --------------------------------------------
# Its parts are of other sizes; bound, progress and order must be the same.

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
	PARAMrcptminimum $(value minimum)
	PARAMrcptextra $(value extra)
	*/*	interval=1m expiry=1d order=preempt slotcost=$(value cost)
	test/*	maxta=$(value agents) minslots=$(value min) command="$A -c test -o $out"
	END
	name=$1 total=0
	shift
	for m; do
		put_large "$((1000 + ${m%:*}))-1" "${m#*:}"
		total=$((total + ${m#*:}))
	done
	start -S
	ok "$name: all is delivered" wait_for 60 po_empty "$po"
	sched_stop
	is "$name: every recipient is delivered to once" \
	    "$(once)" "$total $total"
	at_most "$name: recipients are within the bound" "$(peak rcpts)" \
	    $(($(value minimum) * $# + $(value pool) + $(value extra)))
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
limits='agents=1 global_limit=4 minimum=2 pool=4 extra=16 cost=2 min=0'
pool 'an extra share of recipients' \
    1:200 2:14 3:12 4:10 5:8 6:6

# ---- channels share --------------------------------------------------------

share_conf() {	# refill delay
	conf "$tmp/cf" <<-END
	PARAMmailqsock none
	PARAMrecipients 200
	PARAMrefill $1
	PARAMrefilldelay $2
	*/*	interval=1m expiry=1d bounce=none
	hang/*	maxring=4 command="$A -c hang -o $out -w $tmp/gate"
	fine/*	maxring=4 overfeed=10 command="$A -c fine -o $out -w $tmp/fine"
	END
}
two_channels() {	# one hangs with all there is, then another comes
	fresh
	rm -f "$tmp/gate" "$tmp/fine"
	"$top/t/mkspool" -c hang -h 1000 -r 1000 -f 1001 "$po" 1
	start -v && wait_log 'load msg=1001-1 .*rcpts=1000 hosts=200 unread=800' &&
	    wait_log ' loaded ' || return
	"$top/t/mkspool" -c fine -h 400 -r 400 -f 2001 "$po" 1
	wait_log 'load msg=2001-1'
}
share_conf 100 1h
ok 'a channel hangs with the whole pool' two_channels
wait_log 'load-more msg=2001-1'
is 'another channel gets its share at once' \
    "$(lines ' (load|load-more) msg=2001-1' |
    sed 's/.* \(hosts=[0-9]*\).*/\1/' | tr '\n' ' ')" 'hosts=10 hosts=90 '
: >"$tmp/fine"
ok 'mail of another channel is delivered while one hangs' \
    wait_log 'complete msg=2001-1' 60
is 'nothing of the channel that hangs is delivered meanwhile' \
    "$(count ' delivered msg=1001-1')" 0
is 'all of another channel is read before more of the one that hangs' \
    "$(lines ' load-more msg=' | sed -n '/msg=1001-1/,$p' |
    grep -c msg=2001-1)" 0
is 'another channel is read on by half of its share at least' \
    "$(lines ' load-more msg=2001-1' | awk '{ sub(/.*rcpts=/, "")
    n += $1; small += $1 < 50 && n < 390 } END { print n, small + 0 }')" '390 0'
: >"$tmp/gate"
ok 'the channel that has hung goes on to the end' wait_for 60 po_empty "$po"
sched_stop
is 'mail of both channels is delivered once' "$(once)" '1400 1400'
at_most 'recipients of both channels are within the bound' "$(peak rcpts)" 220

away() {	# hosts number: so many are deleted then
	"$ask" order "$po" delete "hang/$1.test" >"$tmp/answer" &&
	    wait_for 20 eval '[ "$(count " deleted msg=")" -eq '"$2"' ]'
}
read_on() {	# what was read of each channel, in turn
	lines ' load-more ' | sed 's/.*channel=\([^ ]*\) rcpts=\([0-9]*\) .*/\1 \2/' |
	    tr '\n' ' '
}
share_conf 100 1h
ok 'a channel hangs with the whole pool, another one with its share' \
    two_channels
wait_log 'load-more msg=2001-1'
away 'h[5-8][0-9]' 40
away 'h9[0-9]' 50
ok 'half a share that is free is filled' wait_log 'load-more .*rcpts=50 '
share_conf 25 1h
kill -HUP $sched_pid
wait_log 'reload .*done'
away 'h4[0-9]' 60
away 'h3[0-4]' 65
away 'h1[0-9]' 75
ok 'as many free places as PARAMrefill says are filled' \
    wait_log 'load-more .*rcpts=25 '
share_conf 100 1
kill -HUP $sched_pid
wait_for 20 eval '[ "$(count "reload .*done")" -eq 2 ]'
away h39 76
ok 'a single free place is filled after PARAMrefilldelay' \
    wait_log 'load-more .*rcpts=1 '
is 'a channel is read on up to its share, when that is worth it' "$(read_on)" \
    'fine 90 hang 50 hang 25 hang 1 '
: >"$tmp/gate"
: >"$tmp/fine"
ok 'the rest of both channels is delivered' wait_for 60 po_empty "$po"
sched_stop
is 'the rest of both channels is delivered once' "$(once)" '1324 1324'

# One message for both, in an order that is none of ours to choose.
fresh
rm -f "$tmp/gate"
: >"$tmp/fine"
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
at_most 'recipients of one message of two channels are within the bound' \
    "$(peak rcpts)" 210

# ---- a large one that is evicted, in part --------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 60
*/*	interval=2s retries=1 expiry=1d bounce=none
test/*	maxring=4 overfeed=10 command="$A -c test -o $out -f $tmp/gate"
old/*	expiry=1h expiry2=1h command="$A -c old -o $out"
park/*	queueonly command="$A -c park -o $out"
END
rm -f "$tmp/gate"
"$top/t/mkspool" -h 400 -r 400 "$po" 1
start
tried() {	# times
	lines ' deferred msg=' | awk -v n="$1" '{ tried[$8]++ }
	    END { for (h in tried) all += tried[h] >= n; exit all < 400 }'
}
ok 'recipients that wait do not keep the rest of a message out' \
    wait_for 60 tried 1
ok 'recipients of a message that is evicted in part are tried again' \
    wait_for 60 tried 2
: >"$tmp/gate"
ok 'a message that was evicted in part is delivered' wait_for 60 po_empty "$po"
is 'a message that was evicted in part is delivered once' "$(once)" '400 400'
sched_stop
at_most 'recipients of a message evicted in part are within the bound' \
    "$(peak rcpts)" 70

"$top/t/mkspool" -c old -h 300 -r 500 "$po" 1
touch -t 202601020304 "$po/queue/1000-1"
start
ok 'recipients that are not read yet expire' wait_log 'park msg=1000-1' 60
is 'everybody who expired is written down' \
    "$(grep -c '^r-' "$po/postman/1000-1.control") $(grep -c '^d-' \
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
ok 'all of a large message is bounced' wait_log 'park msg=2002-1' 60
is 'everybody who was bounced is written down' \
    "$(grep -c '^d-' "$po/postman/2002-1.control")" 500
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
PARAMrecipients 20
PARAMrcptminimum 5
*/*	interval=2s retries=1 expiry=1d
wait/*	command="$A -u -c wait -o $out -f $tmp/gate"
fine/*	maxring=1 overfeed=1 command="$A -u -c fine -o $out"
END
awk 'BEGIN {
	print "i 1-1\no 0\nl <x@test>\ns local - sender 0"
	for (i = 1; i <= 60; i++)
		print "r           " (i > 30 ? "fine" : "wait") " h" i " u 0"
	print "m\n"
}' | put_raw "$po" 1-1
start
wait_for 30 got 30
n=$(count ' deferred msg=')
ok 'evicted recipients are tried again when they are due' \
    wait_for 30 eval '[ "$(count " deferred msg=")" -ge $((n + 40)) ]'
: >"$tmp/gate"
ok 'recipients that were evicted without a tag are delivered to' \
    wait_for 60 po_empty "$po"
is 'recipients that were evicted without a tag get it once' "$(once)" '60 60'
sched_stop

# ---- evicted, to make room -----------------------------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 20
*/*	interval=4s retries=1 expiry=1d bounce=none
slow/*	maxring=4 overfeed=10 command="$A -c slow -o $out -f $tmp/gate"
dead/*	interval=1h command="$A -c dead -n 4.4.1 -o $out -f $tmp/gate"
late/*	queueonly command="$A -c late -o $out"
fine/*	command="$A -c fine -o $out"
END
"$top/t/mkspool" -c slow -h 30 -f 1001 "$po" 100
before=$(ls -l "$po/queue/1001-1")
start
all_tried() {	# channel number times
	lines " deferred msg=.*channel=$1 " | awk -v n="$2" -v t="$3" '
	    { tried[$4]++ } END { for (m in tried) all += tried[m] >= t
	    exit all < n }'
}
ok 'all of more mail than fits in core is tried' \
    wait_for 60 all_tried slow 100 1
ok 'all of more mail than fits in core is tried again' \
    wait_for 60 all_tried slow 100 2
is 'nothing is tried before its time' "$(lines ' (deferred|load) msg=' |
    awk '{ split($5, c, "="); t = substr($1, 9, 2) * 3600 + \
	substr($1, 11, 2) * 60 + substr($1, 13, 2) }
	$3 == "deferred" {
		if (($4 in due) && t < due[$4] - 1 && t > due[$4] - 3600)
			print $4, t, due[$4]
		for (i = 5; i <= NF; i++)
			if ($i ~ /^next=/) due[$4] = t + substr($i, 6)
	}')" ''
is 'eviction leaves the message file as old as it is' \
    "$(ls -l "$po/queue/1001-1")" "$before"
put "$po" 501-1 fine h u
ok 'new mail comes in beside evicted mail' wait_log 'complete msg=501-1' 20
"$top/t/mkspool" -c dead -h 3 -f 2001 "$po" 100
ok 'mail for a dead host makes room' \
    wait_for 60 eval '[ "$(count "evict msg=2[0-9]*-1")" -ge 80 ]'
put "$po" 502-1 fine h u
ok 'mail for a dead host does not stop other mail' \
    wait_log 'complete msg=502-1' 20
old=$(lines ' evict msg=2' | sed -n '$s/.* msg=\([^ ]*\) .*/\1/p')
TZ=UTC touch -t 202611210014.05 "$po/queue/$old"
printf 'i 503-1\no 0\nl x\n%s\nx S%sAbmKUAOF\ns local - s 0\nr           fine h u 0\nm\n\n' \
    "$(grep '^e ' "$po/transport/$old")" "${old%-*}" | put_raw "$po" 503-1
ok 'a message replaces an evicted one' wait_log "drop msg=$old " 20
ok 'the control file of a replaced message goes' \
    wait_for 20 [ ! -f "$po/transport/$old" ]
wait_log 'complete msg=503-1' 20
: >"$tmp/gate"
like 'a command flushes an evicted message by its name' \
    "$("$ask" order "$po" flush 2050-1)" '^ok '
ok 'an evicted message that is flushed is delivered' \
    wait_log 'complete msg=2050-1' 20
like 'a command flushes all' "$("$ask" order "$po" flush all)" '^ok '
ok 'a flush of all delivers evicted mail' wait_for 60 po_empty "$po"
is 'every recipient of evicted mail is delivered to once' "$(once)" '202 202'
"$top/t/mkspool" -c late -h 1 -f 4001 "$po" 60
for n in 1 2 3; do
	put "$po" 50$((n + 2))-1 fine h u
	ok 'mail that waits for a T line makes room' \
	    wait_log "complete msg=50$((n + 2))-1" 20
done
printf 'T h0.test\n' | put_raw "$po" 601-1
ok 'evicted mail is delivered when there is a T line' \
    wait_for 60 eval '[ "$(count "complete msg=40")" -ge 60 ]'
"$top/t/mkspool" -c late -n a -h 1 -f 4101 "$po" 30
wait_for 30 eval '[ "$(count "load msg=41")" -ge 30 ]'
"$top/t/mkspool" -c late -n b -h 1 -f 4201 "$po" 99
ok 'all mail for a host is evicted' \
    wait_for 60 eval '[ "$(count "evict msg=41")" -ge 30 ]'
printf 'T a0.test\n' | put_raw "$po" 602-1
ok 'all mail for a host is delivered when there is a T line' \
    wait_for 60 eval '[ "$(count "complete msg=41")" -ge 30 ]'
is 'a T line delivers no mail of other hosts' "$(count 'complete msg=42')" 0
rm "$tmp/gate"
"$top/t/mkspool" -c fine -n f -h 1 -f 5001 "$po" 1
wait_log 'complete msg=5001-1' 20
"$top/t/ask" order "$po" hold 'fine/f*' >"$tmp/answer"
"$top/t/mkspool" -c fine -n f -h 1 -f 5101 "$po" 60
put "$po" 506-1 slow h u
ok 'mail whose address is held makes room' \
    wait_log 'deferred msg=506-1' 60
is 'mail whose address is held is not delivered' "$(count 'complete msg=51')" 0
: >"$tmp/gate"
like 'a command releases the address of evicted mail' \
    "$("$ask" order "$po" release 'fine/f*')" '^ok '
ok 'evicted mail is delivered when its address is released' \
    wait_for 60 eval '[ "$(count "complete msg=51")" -ge 60 ]'
sched_stop
at_most 'at most PARAMactive messages and one were in core' "$(peak msgs)" 21

# ---- less than before ------------------------------------------------------

fresh
rm -f "$tmp/gate"
"$top/t/mkspool" -c dead -h 3 -f 1001 "$po" 20
start
wait_for 30 eval '[ "$(count "load msg=")" -ge 20 ]'
sed 's/^PARAMactive .*/PARAMactive 5/' "$tmp/cf" >"$tmp/cf2"
mv "$tmp/cf2" "$tmp/cf"
kill -HUP $sched_pid
wait_log 'reload .*done'
put "$po" 501-1 fine h u
ok 'new mail comes in after a reload with a lower PARAMactive' \
    wait_log 'complete msg=501-1' 20
ok 'core shrinks to a lower PARAMactive' [ "$(count 'evict msg=1')" -ge 16 ]
sched_stop

# ---- what leaves core before its file was read to the end -----------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 10
PARAMrcptminimum 2
*/*	interval=1s retries=1
def/*	command="$A -f $tmp/go -c def"
ret/*	command="$A -f $tmp/go -c ret"
END
set --
for i in 1 2 3 4 5 6 7 8 9 10; do
	for c in def ret; do
		set -- "$@" $c h$i x $c h$((i % 4)) y
	done
done
put "$po" 500-1 "$@"
put "$po" 501-1 "$@"
rm -f "$tmp/go"
ok 'a scheduler with little room starts' sched_start "$po" "$tmp/cf"
ok 'recipients are read on and leave core again' wait_for 60 eval \
    '[ "$(count "deferred msg=50[01]-1")" -ge 60 ]'
: >"$tmp/go"
POSTOFFICE=$po "$top/mailq" flush '*/*' >/dev/null 2>&1
ok 'recipients that left core are delivered' wait_for 60 po_empty "$po"
sched_stop
like 'recipients that left core are counted once' "$(lines ' exit ')" \
    'rcpts-in=80 rcpts-out=80$'

# A lap that reads exactly what is out of core ends before a recipient that an
# agent has.
rm -rf "$po"
spool_new "$po"
rm -f "$tmp/go" "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 3
PARAMrcptminimum 2
PARAMrefill 1
*/*	interval=1s retries=1
lap/[ab]	command="$A -f $tmp/go -c lap"
lap/c	command="$A -w $tmp/gate -c lap"
lap/d	command="$A -c lap"
END
put "$po" 502-1 lap a u lap b u lap c u lap d u
ok 'a scheduler with room for three recipients starts' \
    sched_start "$po" "$tmp/cf"
ok 'a recipient leaves core and comes back while an agent has another' \
    wait_for 60 eval '[ "$(count "deferred msg=502-1.*host=a")" -ge 4 ]'
: >"$tmp/go"
: >"$tmp/gate"
ok 'recipients before and behind one of an agent are delivered' \
    wait_for 60 po_empty "$po"
sched_stop
like 'a recipient that a lap meets in core is counted once' \
    "$(lines ' exit ')" 'rcpts-in=4 rcpts-out=4$'
finish
