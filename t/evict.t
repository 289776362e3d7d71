#!/bin/sh
# A queue that is larger than memory is to be: what is evicted to make room, and
# comes again.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/core.sh"

# ---- evicted, to make room -----------------------------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 20
PARAMdsn="-x '*'"
*/*	interval=4s retries=1 expiry=0
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
# How much room new mail wants depends on how fast it comes.
push_out() {
	for n in 42 43 44 45; do
		"$top/t/mkspool" -c late -n b -h 1 -f ${n}01 "$po" 99
		wait_for 20 eval '[ "$(count "evict msg=41")" -ge 30 ]' &&
		    return
	done
	return 1
}
ok 'all mail for a host is evicted' push_out
printf 'T a0.test\n' | put_raw "$po" 602-1
ok 'all mail for a host is delivered when there is a T line' \
    wait_for 60 eval '[ "$(count "complete msg=41")" -ge 30 ]'
is 'a T line delivers no mail of other hosts' \
    "$(count 'complete msg=4[2-5]')" 0
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

# ---- more recipients than PARAMrecipients ------------------------------------------

rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 10
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
ok 'all recipients of two lists are tried again' wait_for 60 eval \
    '[ "$(count "deferred msg=50[01]-1")" -ge 60 ]'
: >"$tmp/go"
POSTOFFICE=$po "$top/mailq" flush '*/*' >/dev/null 2>&1
ok 'all recipients of two lists are delivered' wait_for 60 po_empty "$po"
sched_stop
like 'recipients of two lists are counted once' "$(lines ' exit ')" \
    'rcpts-in=80 rcpts-out=80$'

# ---- a channel that hangs with as many recipients as there may be ----------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 10
*/*	interval=1h
slow/*	maxring=1 command="$A -c slow -w $tmp/go"
fine/*	command="$A -c fine -o $out"
END
for i in 1 2 3 4 5 6; do
	put "$po" 51$i-1 slow h$i a slow h$i b slow h$i c slow h$i d slow h$i e
done
rm -f "$tmp/go"
ok 'a scheduler whose core lists for a hanging agent fill starts' \
    sched_start "$po" "$tmp/cf"
wait_log 'loaded msgs=' 30
for i in 1 2 3 4 5; do
	put "$po" 52$i-1 fine h u$i
done
ok 'a channel that hangs with all recipients of core keeps no other mail out' \
    wait_for 30 eval '[ "$(count "complete msg=52[1-5]-1")" -eq 5 ]'
: >"$tmp/go"
ok 'mail of a channel that hung is delivered later' wait_for 60 po_empty "$po"
sched_stop

# ---- more than is kept in mind, for one host -------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMevicted 3
*/*	interval=1h
late/*	command="$A -c late deferred not now"
fine/*	command="$A -c fine -o $out"
END
put_many "$po" 40 1 late
start
ok 'mail for one host is forgotten' \
    wait_for 30 eval '[ "$(count "evict msg=.* beyond")" -ge 30 ]'
put "$po" 501-1 fine h u
ok 'new mail is delivered after that' wait_log 'complete msg=501-1' 20
"$ask" order "$po" delete 'late/*' >"$tmp/answer"
put "$po" 502-1 late h u
ok 'mail that came after the command is tried' \
    wait_log 'deferred msg=502-1' 20
is 'mail that came after the command is not deleted' \
    "$(count ' deleted msg=502-1')" 0
sched_stop
is 'the scheduler ends well after that' $sched_rc 0

# Mail that a notice names goes to hash directories before transport/ is read
# again: here its stamp is that of before, so it is not read at all.
new_mail() {	# name
	put "$po" "$1" late h u
	touch -t 202001010000 "$po/transport"
	notice "$po" "$1"
	wait_log "deferred msg=./$1" 20
	touch -t 202001010000 "$po/transport"
}
all_twice() {
	for n in 701 702 703; do
		[ "$(count "deferred msg=./$n-1")" -ge 2 ] || return
	done
}
fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
PARAMevicted 1
*/*	interval=20m
late/*	command="$A -c late deferred not now"
END
touch -t 202001010000 "$po/transport"
plain=$SCHEDULER
SCHEDULER=$top/t/clocksched MONO=$tmp/mono
export MONO
start -H
title='mail whose new directory is not known otherwise is tried again'
if [ -S "$po/.scheduler.notify" ]; then
	for n in 701 702 703; do
		new_mail $n-1
	done
	# only an hour of this counts; skew may make the wait longer than
	# interval
	set_clock "$MONO" 4000
	ok "$title" wait_for 30 all_twice
else
	skip "$title" 'built without sockets'
fi
sched_stop
SCHEDULER=$plain
unset MONO

# ---- the end of a hold, and forgotten mail that was not held ---------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 3
*/*	interval=1h
late/*	command="$A -c late retryat +7200 greylisted"
fine/*	command="$A -c fine -o $out"
END
put_many "$po" 12 4 late
start
wait_for 30 eval '[ "$(count "deferred msg=1000")" -ge 12 ]'
put "$po" 501-1 fine h u
wait_log 'complete msg=501-1' 20
"$ask" order "$po" hold 'late/h2.test' >"$tmp/answer"
"$ask" order "$po" hold 'fine/other' >"$tmp/answer"
is 'all holds are released' "$("$ask" order "$po" release all)" \
    'ok 2 holds released'
ok 'forgotten mail that was held is tried' \
    wait_for 30 eval '[ "$(count "deferred msg=1000.*host=h2.test")" -ge 6 ]'
put "$po" 502-1 fine h u
wait_log 'complete msg=502-1' 20
is 'forgotten mail that was not held is not tried' \
    "$(count 'deferred msg=1000')" 15
sched_stop

# ---- other mail under the name of a forgotten message ---------------------------------

fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=2h expiry=0
late/*	command="$A -c late deferred not now"
fine/*	command="$A -c fine deferred greylisted"
END
put "$po" 711-1 late h1 u
touch -t 202601030000 "$po/queue/711-1"
put "$po" 712-1 late h2 u
start
# a message that comes before both were tried may leave core instead of them
wait_log 'deferred msg=711-1' 20
wait_log 'deferred msg=712-1' 20
put "$po" 713-1 late h3 u
if [ -S "$po/.scheduler.notify" ]; then
	wait_log 'evict msg=711-1 .*for=[1-9]' 20
	rm "$po/transport/711-1" "$po/queue/711-1"
	put "$po" 711-1 fine h u
	notice "$po" 711-1
	ok 'mail that got the name of a forgotten message is tried at once' \
	    wait_log 'deferred msg=711-1 .*channel=fine' 20
	at_most 'the age of the forgotten message does not count' "$(lines \
	    'load msg=711-1' | sed -n '$s/.*age=\([0-9]*\).*/\1/p')" 600
else
	skip 'mail that got the name of a forgotten message is tried at once' \
	    'built without sockets'
	skip 'the age of the forgotten message does not count' \
	    'built without sockets'
fi
sched_stop

# ---- as many stubs as there may be, and a channel that hangs -------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMevicted 5
*/*	interval=1h
hang/*	maxring=2 command="$A -c hang -o $out -w $tmp/gate"
fine/*	command="$A -c fine -o $out"
END
put_many "$po" 20 4 hang
start
wait_for 30 eval '[ "$(count "evict msg=")" -ge 5 ]'
put "$po" 501-1 fine h u
ok 'a channel that hangs does not keep other mail out, though stubs are full' \
    wait_log 'complete msg=501-1' 60
: >"$tmp/gate"
# 501-1 came into a full core, and took the place of one of ten messages
ok 'its mail in core and with stubs is delivered then' \
    wait_for 30 eval '[ "$(count "complete msg=1000")" -ge 9 ]'
sched_stop KILL
start
ok 'all its mail is delivered' wait_for 30 po_empty "$po"
sched_stop

# Mail is found behind much mail of a channel that hangs.
fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMevicted 5
*/*	interval=1h
hang/*	maxring=2 command="$A -c hang -o $out -w $tmp/gate"
fine/*	command="$A -c fine -o $out"
END
put_many "$po" 60 4 hang
start
wait_for 30 eval '[ "$(count "beyond PARAMevicted")" -ge 50 ]'
put_many "$po" 12 4 fine 200001
ok 'all mail of another channel is found beyond PARAMevicted' \
    wait_for 60 eval '[ "$(count "complete msg=2000")" -ge 12 ]'
is 'its mail has no need to leave without a stub' \
    "$(count 'evict msg=2000.*beyond')" 0
sched_stop KILL

# At the bound of stubs files wait on disk while core has room at times.
fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 5
PARAMevicted 5
*/*	interval=1h
slow/*	maxring=1 overfeed=0 command="$A -c slow -m 1500 -o $out"
END
put_many "$po" 60 4 slow
start
wait_for 60 eval '[ "$(count "complete msg=")" -ge 12 ]'
at_most 'files are not read in vain while core has room at times' \
    "$(count ' load msg=')" 40
sched_stop KILL

# ---- a message with a vertex that waits and one that can go ---------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 4
*/*	interval=1h overfeed=0
hang/*	maxring=1 command="$A -c hang -o $out -w $tmp/gate"
late/*	command="$A -c late deferred not now"
fine/*	command="$A -c fine -o $out"
END
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 72$n-1 hang s$n u late l$n v
done
start
for n in 1 2 3 4 5 6; do
	wait_for 20 eval '[ "$(count "deferred msg=72")" -ge '$((n > 3 ? 3 : n))' ]'
	put "$po" 73$n-1 fine f$n u
	wait_log "complete msg=73$n-1" 30
done
is 'a vertex that waits is not tried early for another one of its message' \
    "$(lines 'deferred msg=72.*channel=late' | awk '{ print $4 }' | sort |
    uniq -d)" ''
: >"$tmp/gate"
sched_stop

# ---- a retry and mail without room, of one channel -----------------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 2
*/*	interval=1h overfeed=0
one/again	command="$A -c one retryat +3 later"
one/*	maxring=1 command="$A -c one -o $out -w $tmp/gate"
END
put "$po" 741-1 one again u
start
wait_log 'deferred msg=741-1' 20
for n in 1 2 3 4 5; do
	put "$po" 74$((n + 4))-1 one s$n u
done
wait_for 20 eval '[ "$(count "evict msg=74[5-9]")" -ge 3 ]'
sleep 5			# the retry is due before the following messages come
for n in 1 2 3 4 5 6; do
	put "$po" 75$n-1 one s$n u
done
wait_for 20 eval '[ "$(count "evict msg=75")" -ge 6 ]'
: >"$tmp/gate"
ok 'all mail of the channel is delivered, and the retry is tried' \
    wait_for 30 eval '[ "$(count "complete msg=7")" -ge 11 ] &&
    [ "$(count "deferred msg=741-1")" -ge 2 ]'
at_most 'a retry goes before mail that had to leave core after it was due' \
    "$(lines '(deferred|complete) msg=7' | awk '
	/deferred msg=741-1/ { n++ }
	/complete msg=75/ && n < 2 { before++ }
	END { print before + 0 }')" 2
sched_stop

# ---- retries of a channel beside one that hangs with all of core ---------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 3
*/*	interval=2s retries=1 expiry=0
hang/*	maxring=2 overfeed=0 command="$A -c hang -o $out -w $tmp/gate"
fine/*	command="$A -c fine deferred later"
END
put "$po" 761-1 fine h1 u
put "$po" 762-1 fine h2 u
start
wait_log 'deferred msg=762-1' 20
put_many "$po" 20 4 hang
wait_for 20 eval '[ "$(count "evict msg=1000")" -ge 17 ]'
n=$(count 'deferred msg=761-1')
ok 'a channel that hangs does not keep retries of another channel out' \
    wait_for 40 eval '[ "$(count "deferred msg=761-1")" -ge $((n + 3)) ]'
: >"$tmp/gate"
ok 'mail of the channel that hung is delivered' \
    wait_for 30 eval '[ "$(count "complete msg=1000")" -ge 20 ]'
sched_stop

# ---- what counts for a channel -------------------------------------------------------

# A message with several channels counts for the one that keeps it in core, and
# a message that is held by name counts for none.
fresh
rm -f "$tmp/gate" "$tmp/gate2"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 3
*/*	interval=1h overfeed=0
hang/*	maxring=1 command="$A -c hang -o $out -w $tmp/gate"
fine/*	command="$A -c fine -o $out -f $tmp/gate2"
END
: >"$tmp/gate2"
for n in 1 2 3 4 5 6; do
	put "$po" 77$n-1 fine f$n u hang s$n v
done
start
for n in 1 2 3; do
	put "$po" 78$n-1 fine g$n u
done
ok 'messages of which only a hanging channel is left keep no mail out' \
    wait_for 20 eval '[ "$(count "complete msg=78")" -ge 3 ] &&
    [ "$(count "delivered msg=77.*channel=fine")" -ge 6 ]'
: >"$tmp/gate"
ok 'they are delivered later' wait_for 20 po_empty "$po"
sched_stop
fresh
rm -f "$tmp/gate" "$tmp/gate2"
for n in 1 2 3; do
	put "$po" 77$n-1 fine f$n u
done
start
wait_for 20 eval '[ "$(count "deferred msg=77")" -ge 3 ]'
for n in 1 2 3; do
	"$ask" order "$po" hold 77$n-1 >"$tmp/answer"
done
for n in 1 2 3 4 5 6; do
	put "$po" 75$n-1 hang s$n u
done
wait_for 20 eval '[ "$(count "evict msg=75")" -ge 3 ]'
: >"$tmp/gate2"
for n in 1 2 3; do
	put "$po" 78$n-1 fine g$n u
done
ok 'messages that are held keep no mail of their channel out' \
    wait_for 20 eval '[ "$(count "complete msg=78")" -ge 3 ]'
sched_stop KILL

# ---- a T line, and a message that leaves before it is tried --------------------------

fresh
rm -f "$tmp/gate" "$tmp/gate2"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 2
*/*	interval=1h overfeed=0
late/*	queueonly maxring=1 command="$A -c late -o $out -w $tmp/gate"
fine/*	maxring=1 command="$A -c fine -o $out -w $tmp/gate2"
END
put "$po" 721-1 late h u
put "$po" 722-1 late h u
start
wait_log 'load msg=722-1' 20
printf 'T h\n' | put_raw "$po" 601-1
wait_log 'agent-start .*channel=late' 20
put "$po" 731-1 fine g u
ok 'a message that a T line lets go leaves core' wait_log 'evict msg=72' 20
: >"$tmp/gate"
wait_log 'complete msg=72' 20
: >"$tmp/gate2"
ok 'it is delivered without another T line' \
    wait_for 20 eval '[ "$(count "complete msg=72")" -ge 2 ]'
sched_stop
fresh
rm -f "$tmp/gate"
for n in 1 2 3 4; do
	put "$po" 72$n-1 late h u late g v
done
start
wait_for 20 eval '[ "$(count "load msg=72")" -ge 4 ]'
printf 'T h\n' | put_raw "$po" 601-1
wait_log 'agent-start .*channel=late' 20
for n in 1 2 3; do
	put "$po" 73$n-1 fine g$n u
done
ok 'mail of which a T line lets a part go keeps no other mail out' \
    wait_for 20 eval '[ "$(count "complete msg=73")" -ge 3 ]'
sched_stop KILL
rm -f "$tmp/gate2"

# A delete of mail that waits reaches all of it beside mail that can go.
fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 2
*/*	interval=1h overfeed=0
one/again*	command="$A -c one deferred later"
one/*	maxring=1 command="$A -c one -o $out -w $tmp/gate"
END
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 74$n-1 one again$n u
done
start
wait_for 20 eval '[ "$(count "deferred msg=74")" -ge 8 ]'
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 75$n-1 one s$n u
done
wait_for 20 eval '[ "$(count "evict msg=74")" -ge 8 ] &&
    [ "$(count "evict msg=75")" -ge 6 ]'
"$ask" order "$po" delete 'one/again*' >"$tmp/answer"
ok 'a delete reaches mail that waits while core is full of mail that can go' \
    wait_for 20 eval '[ "$(count " deleted msg=74")" -ge 8 ]'
: >"$tmp/gate"
ok 'the mail that can go is delivered' wait_for 20 po_empty "$po"
sched_stop

# ---- recipients --------------------------------------------------------------------

fresh
rm -f "$tmp/gate"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 4
*/*	interval=1h overfeed=0
list/*	command="$A -c list deferred later"
fine/*	command="$A -c fine -o $out"
END
for n in 1 2; do
	put "$po" 72$n-1 list a u list a v list a w list a x list a y
done
start
wait_for 20 eval '[ "$(count "deferred msg=72")" -ge 10 ]'
"$ask" order "$po" hold 721-1 >"$tmp/answer"
"$ask" order "$po" hold 722-1 >"$tmp/answer"
for n in 1 2 3; do
	put "$po" 73$n-1 fine g$n u
done
ok 'lists that are held by name keep no other mail out' \
    wait_for 20 eval '[ "$(count "complete msg=73")" -ge 3 ]'
sched_stop KILL
fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 10
*/*	interval=1h overfeed=0
hang/*	maxring=1 command="$A -c hang -o $out -w $tmp/gate"
list/*	maxring=1 command="$A -c list -o $out -w $tmp/gate"
END
put_many "$po" 20 4 hang
start
wait_for 20 eval '[ "$(count "evict msg=")" -ge 8 ]'
set --
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	set -- "$@" list h u$n
done
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 74$n-1 "$@"
done
wait_for 20 eval '[ "$(count "load msg=74")" -ge 8 ]'
: >"$tmp/gate"
ok 'all of lists and single mail is delivered' wait_for 60 po_empty "$po"
sched_stop
# the largest list, PARAMrecipients, and two lists that came while there was room
at_most 'lists that come in place of single mail keep to PARAMrecipients' \
    "$(peak rcpts)" 70

# A command on a message in core needs no room for it.
rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=1h
part/*	command="$A -c part deferred not now"
END
put "$po" 503-1 part a u
ok 'a scheduler with room for one message starts' sched_start "$po" "$tmp/cf"
ok 'the message is deferred' wait_log 'deferred msg=503-1' 20
like 'a command on it is done' "$("$ask" order "$po" hold 503-1)" '^ok '
is 'the message is not evicted for the command' \
    "$(count ' (evict|load) msg=503-1 ')" 1
sched_stop

# A command on a pattern reaches mail that had to leave core, when it comes in
# again, and no mail that came after the command.
rm -rf "$po"
spool_new "$po"
rm -f "$tmp/gate" "$out"
: >"$out"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 2
*/*	interval=1h
hang/*	maxring=2 command="$A -c hang -o $out -w $tmp/gate"
END
for n in 1 2 3 4 5 6; do
	put "$po" 61$n-1 hang h$n u
done
ok 'a scheduler with room for two messages starts' sched_start "$po" "$tmp/cf"
wait_for 30 eval '[ "$(count "evict msg=61")" -ge 4 ]'
wait_for 30 eval '[ "$(count "agent-start")" -ge 2 ]'
like 'a command on a pattern tells how many files are read for it' \
    "$("$ask" order "$po" delete 'hang/*')" \
    '^ok 0 jobs deleted, 2 when .*; 4 files to be read$'
put "$po" 620-1 hang h9 u
wait_log 'load msg=620-1' 20
: >"$tmp/gate"
ok 'all mail is done' wait_for 60 po_empty "$po"
is 'mail that had left core is deleted' "$(count ' deleted msg=61')" 4
is 'mail that came after a command on a pattern is delivered' \
    "$(grep -c 620-1 "$out")" 1
sched_stop

# ---- no reading in vain --------------------------------------------------------

# The last reading finds that the agent has delivered to all, and the message
# file cannot be removed: the control file is not read again and again meanwhile.
rm -rf "$po"
spool_new "$po"
rm -f "$tmp/gate"
agent whole <<'END'
# reports all recipients of the file in one write
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	until [ -f "$1" ]; do sleep 0.1 2>/dev/null || sleep 1; done
	awk -v num="${job%-*}" '/^r / { s = s num "/" off + 0 "\t\tok3\n" }
	{ off += length($0) + 1 } END { printf "%s#hungry\n", s }' "$job"
done
END
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h
part/*	command="$tmp/bin/ta/whole $tmp/gate"
END
put "$po" 504-1 part a u part a v part a w part a x
sched_start "$po" "$tmp/cf" -v
wait_log 'load msg=504-1'
rm "$po/queue/504-1"
mkdir -p "$po/queue/504-1/x"	# root, too, removes no such file
: >"$tmp/gate"
ok 'a message file cannot be removed' wait_log 'remove file=queue/504-1' 20
put "$po" 505-1 part b u
ok 'other mail is delivered meanwhile' wait_log 'complete msg=505-1' 20
is 'its control file is not read again' "$(count 'load msg=504-1')" 1
sched_stop

# A full core of mail for dead hosts: files are not read all the time while they
# wait.
rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 2
*/*	interval=2s retries=1
dead/*	maxthr=1 command="$A -c dead -m 50 deferall down"
END
for i in 1 2 3 4 5 6 7 8; do
	put "$po" 60$i-1 dead a$i u
done
sched_start "$po" "$tmp/cf" -v
ok 'mail for dead hosts is tried again and again' wait_for 60 eval \
    '[ "$(count "deferred msg=60")" -ge 32 ]'
at_most 'mail for dead hosts is not read all the time' \
    "$(count 'load msg=60')" "$(($(count 'deferred msg=60') * 2 + 16))"
sched_stop

# ---- no time has to pass ---------------------------------------------------------

# The clock stands still, so only events can end a search for room in vain.
if ! without NO_TCP; then
	fresh
	SCHEDULER=$top/t/clocksched
	MONO=$tmp/mono
	export MONO
	set_clock "$MONO" '1000 -1'
	rm -f "$tmp/gate"
	conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=1h overfeed=0
part/*	command="$A -c part -o $out -w $tmp/gate"
put/*	command="$A -c put deferred later"
slow/*	maxring=1 command="$A -c slow -o $out -w $tmp/gate2"
END
	put "$po" 701-1 put h u part h u
	start
	wait_log 'deferred msg=701-1' 20
	put "$po" 702-1 part h u
	notice "$po" 702-1
	ok 'mail comes while core is full of a message with an agent' \
	    wait_log 'evict msg=702-1' 20
	: >"$tmp/gate"
	ok 'a message leaves when its last job that did not wait is done' \
	    wait_log 'evict msg=701-1' 20
	ok 'the other one is delivered then' wait_log 'complete msg=702-1' 20
	sched_stop
	sed 's/^PARAMactive .*/PARAMactive 2/' "$tmp/cf" >"$tmp/cf2"
	mv "$tmp/cf2" "$tmp/cf"
	fresh
	put "$po" 703-1 slow h u
	start
	wait_log 'load msg=703-1' 20
	for n in 704 705; do
		put "$po" $n-1 slow h$n u
		notice "$po" $n-1
		wait_log "load msg=$n-1" 20
	done
	ok 'mail comes while core is full of mail that can go' \
	    wait_log 'evict msg=705-1' 20
	"$ask" order "$po" hold slow/h704 >"$tmp/answer"
	ok 'a message leaves when its address is held' \
	    wait_log 'evict msg=704-1' 20
	: >"$tmp/gate2"
	ok 'the other one is delivered, too' wait_log 'complete msg=705-1' 20
	sched_stop
	unset MONO
	SCHEDULER=$top/scheduler
fi
finish
