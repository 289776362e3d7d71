#!/bin/sh
# Who goes next: the preemptive order, the share of a message, and which agent
# it gets.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
V=$top/t/ordvec
po=$tmp/po
gate=$tmp/gate

# ---- the order by itself --------------------------------------------------------

"$V" <"$top/t/vectors/preempt.txt" >"$tmp/tap"
is 'preemptive order: all vectors hold' $? 0
is 'preemptive order: no vector is left out' \
    "$(grep -c '^ok [0-9]* - ' "$tmp/tap")" \
    "$(grep -c '^VECTOR' "$top/t/vectors/preempt.txt")"
is 'preemptive order: there is no line beside those of the vectors' \
    "$(grep -vc '^ok ' "$tmp/tap")" 1
sed 's/order 1\*4 2 3 4 5/order 1*4 2 4 3 5/' "$top/t/vectors/preempt.txt" |
    "$V" >"$tmp/tap"
is 'preemptive order: a wrong order of a vector is found' \
    "$(grep '^not ok' "$tmp/tap")" \
    'not ok 2 - readme-4-1111-default'
sed 's/slot 16 sel 1     list: 1(avail=-13/slot 16 sel 1     list: 1(avail=-14/' \
    "$top/t/vectors/preempt.txt" | "$V" >"$tmp/tap"
is 'preemptive order: a wrong slot of a vector is found' \
    "$(grep '^not ok' "$tmp/tap")" \
    'not ok 14 - nested-cost2-60-10-2-1'

# Names of any length, and messages that come while others are delivered.
cat >"$tmp/vec" <<'VECTORS'
VECTOR names
  kind=dest agents=1 cost=5 loan=3 discount=50 min=3 dest_concurrency=20 initial=5 rcpts_per_delivery=2
  1=mx1.test,mx1.test,mx1.test,b-2,mx2.test,b-2
  order 1:mx1.test(2) 1:b-2(2) 1:mx2.test(1) 1:mx1.test(1)
END
VECTOR comes-later
  kind=dest agents=2 cost=5 loan=3 discount=50 min=3 dest_concurrency=1 initial=1 rcpts_per_delivery=1
  1=a,a,a
  2@2=other
  order 1:a 1:a 2:other 1:a
  finish 1@2 2@2
END
VECTOR comes-after-the-end
  kind=dest agents=1 cost=5 loan=3 discount=50 min=3 dest_concurrency=1 initial=1 rcpts_per_delivery=1
  2@7=b
  1@4.5=a,b
  order 1:a 1:b 2:b
  finish 1@5 2@7
END
VECTOR comes-and-preempts
  kind=dest agents=1 cost=2 loan=0 discount=0 min=0 dest_concurrency=1 initial=1 rcpts_per_delivery=1
  1=a1,a2,a3,a4,a5,a6
  2@3=small
  order 1:a1 1:a2 1:a3 2:small 1:a4 1:a5 1:a6
END
VECTORS
is 'vectors with long names and later messages hold' \
    "$("$V" <"$tmp/vec" | grep -v '^#' | tr '\n' ' ')" \
    'ok 1 - names ok 2 - comes-later ok 3 - comes-after-the-end ok 4 - comes-and-preempts 1..4 '
is 'a vector whose message comes a slot later does not hold' \
    "$(sed 's/^  2@2=/  2@3=/; s/^  2@3=small/  2@2=small/' "$tmp/vec" |
    "$V" | grep -c '^not ok')" 2
for line in '1@=a' '1@-1=a' '1@2' '1=' '1=a,,b' '1=a,' '1=a b' '1=a=b' \
    "1=$(awk 'BEGIN { for (i = 0; i < 1001; i++) printf "a," }')a"; do
	sed "s/^  1=mx1.*/  $line/" "$tmp/vec" | "$V" >"$tmp/tap"
	rc=$?		# which the title sets anew in some shells
	is "a message that is written as $(echo "$line" | cut -c1-20) is refused" \
	    "$rc $(sed 's/!.*//' "$tmp/tap")" '65 Bail out'
done

seed=$$
"$V" -r "$seed" 150 >"$tmp/tap"
is 'random messages: a large one ends in time, none is forgotten' \
    "$(grep -c '^ok' "$tmp/tap")" 4
diag "ordvec -r $seed 150"

# A choice costs the same beside many blocked messages.
cost() {	# blocked
	for lib_n in 0 2000; do
		valgrind -q --tool=callgrind \
		    --callgrind-out-file="$tmp/callgrind" "$V" -c "$1" $lib_n \
		    >/dev/null || return
		awk '/^(summary|totals):/ { n = $2 } END { print n }' \
		    "$tmp/callgrind"
	done | awk '{ n[NR] = $1 } END { print n[2] - n[1] }'
}
if valgrind -q --tool=callgrind --callgrind-out-file=/dev/null "$V" -c 1 1 \
    >/dev/null 2>&1; then
	few=$(cost 1000)
	many=$(cost 30000)
	diag "2000 choices: $few instructions beside 1000, $many beside 30000"
	ok 'the instructions were counted' [ "$few" -gt 100000 ]
	ok 'blocked messages cost nothing' \
	    awk -v a="$few" -v b="$many" 'BEGIN { exit !(b / a < 1.3) }'
else
	skip 'the cost of a choice' 'no valgrind, or not for this program'
fi

# ---- small mail behind a mailing list -------------------------------------------

# Delivers a list to 2000 hosts and 200 single messages that came after it, and
# prints the places in the order of deliveries of the 100th single and of the
# list's end.
race() {	# order
	rm -f "$gate" "$tmp/race"
	conf "$tmp/cf" <<-END
	PARAMmsgconcurrency 1000
	*/*	interval=1h order=$1 maxring=20 idlemax=1h
	test/*	command="$A -c test -o $tmp/race -w $gate"
	END
	spool_new "$po"
	"$top/t/mkspool" -h 2000 -r 20000 "$po" 1
	sched_start "$po" "$tmp/cf" -R 1000 >&2 || return
	wait_log 'load msg=1000-1 .*rcpts=20000' >&2
	"$top/t/mkspool" -n single -h 200 -f 2000 "$po" 200
	wait_for 30 loaded 201 >&2
	: >"$gate"
	wait_for 60 po_empty "$po" >&2
	sched_stop
	awk '$1 != "1000-1" && ++n == 100 { single = NR }
	$1 == "1000-1" { last = NR }
	END { print single, last, NR }' "$tmp/race"
}
loaded() {
	[ "$(count 'load msg=')" -ge "$1" ]
}
set -- $(race age)
diag "by age: 100th single at $1, list done at $2 of $3"
age=$1
is 'order=age: all mail is delivered' "$3" 20200
set -- $(race preempt)
diag "preempting: 100th single at $1, list done at $2 of $3"
is 'order=preempt: all mail is delivered' "$3" 20200
ok 'order=preempt: the median single waits less than a twentieth' \
    [ $(($1 * 20)) -lt "$age" ]
ok 'order=preempt: the list is done within its bound' [ "$2" -le 25000 ]

# ---- the share of a message ---------------------------------------------------------

# Those of the message that agents have begun.
begun() {	# name number
	[ "$(grep -c "^<$1	" "$tmp/said" 2>/dev/null)" -ge "$2" ]
}
share() {	# order
	rm -f "$gate" "$tmp/out" "$tmp/said"
	conf "$tmp/cf" <<-END
	PARAMmsgconcurrency 2
	PARAMmsgscale = 2
	*/*	interval=1h order=$1 maxring=12
	test/*	command="$A -c test -o $tmp/out -s $tmp/said -w $gate"
	END
	spool_new "$po"
	"$top/t/mkspool" -h 50 -r 50 "$po" 1
	ok "order=$1 with PARAMmsgconcurrency: the scheduler starts" \
	    sched_start "$po" "$tmp/cf" -R 1000
	ok "order=$1: one message alone takes most agents" \
	    wait_for 30 begun 1000-1 8
	"$top/t/mkspool" -h 50 -r 50 -f 1001 "$po" 1
	ok "order=$1: a second message gets its share of the rest" \
	    wait_for 30 begun 1001-1 3
	put "$po" 1002-1 test single user
	ok "order=$1: a small message gets the last agent" \
	    wait_for 30 begun 1002-1 1
	is "order=$1: the first message gets no more than its share" \
	    "$(grep -c '^<1000-1' "$tmp/said")" 8
	is "order=$1: the second message gets no more than its share" \
	    "$(grep -c '^<1001-1' "$tmp/said")" 3
	: >"$gate"
	ok "order=$1: messages with shares are all delivered" \
	    wait_for 20 po_empty "$po"
	is "order=$1: messages with shares are delivered once" \
	    "$(cut -d ' ' -f 1-2 "$tmp/out" | sort | uniq | wc -l |
	    tr -d ' ')" 101
	sched_stop
}
share random
share preempt

# ---- which agent ---------------------------------------------------------------------

# Who delivered the message.
agent_of() {	# name
	awk -v name="$1" '$1 == name { print $4 }' "$tmp/out"
}
# As the router does; without sockets it is found a little later.
announce() {	# name channel host
	put "$po" "$1" "$2" "$3" user
	without NO_TCP || "$top/t/notify" "$po/.scheduler.notify" "NEW $1"
}
deliver() {	# name host
	announce "$1" test "$2"
	wait_log "complete msg=$1"
}
for order in random preempt; do
	rm -f "$tmp/out"
	conf "$tmp/cf" <<-END
	*/*	interval=1h order=$order maxring=2 idlemax=1h
	test/*	command="$A -c test -o $tmp/out -w $gate"
	END
	spool_new "$po"
	rm -f "$gate"
	ok "order=$order with maxring=2: the scheduler starts" \
	    sched_start "$po" "$tmp/cf" -v
	announce 101-1 test a
	wait_log 'to pid=.* 101-1'
	announce 102-1 test b
	ok "order=$order: a second host gets an agent while the first is busy" \
	    wait_log 'to pid=.* 102-1'
	: >"$gate"
	ok "order=$order: mail for both hosts is delivered" \
	    wait_for 20 eval 'logged "complete msg=101-1" &&
	    logged "complete msg=102-1"'
	p1=$(agent_of 101-1)
	p2=$(agent_of 102-1)
	ok "order=$order: two agents deliver for the two hosts" \
	    [ "$p1" != "$p2" ]
	deliver 103-1 b
	deliver 104-1 a
	is "order=$order: a host gets the idle agent that served it last" \
	    "$(agent_of 103-1) $(agent_of 104-1)" "$p2 $p1"
	deliver 105-1 c
	is "order=$order: a third host gets the agent that is idle longest" \
	    "$(agent_of 105-1)" "$p2"
	deliver 106-1 d
	is "order=$order: a fourth host gets the agent that is idle longest" \
	    "$(agent_of 106-1)" "$p1"
	n=0
	while [ $n -lt 15 ]; do
		n=$((n + 1))
		deliver $((200 + n))-1 host$n
	done
	is "order=$order: mail that comes one by one needs no third agent" \
	    "$(count agent-start)" 2
	sched_stop
done

# A stretch has an end in time, too.
conf "$tmp/cf" <<-END
*/*	interval=1h maxta=2
slow/*	command="$A -c slow -o $tmp/slow -m 300"
fast/*	command="$A -c fast -o $tmp/out"
END
rm -f "$tmp/slow"
: >"$tmp/slow"
spool_new "$po"
"$top/t/mkspool" -c slow -f 3001 -h 80 "$po" 80
ok 'the scheduler starts with slow jobs in both slots' \
    sched_start "$po" "$tmp/cf" -S
wait_for 20 eval '[ "$(count agent-start)" -ge 2 ]'
announce 3901-1 fast h
ok 'mail of another channel gets a slot' wait_log 'complete msg=3901-1' 60
ok 'mail of another channel goes before the last slow jobs' \
    [ "$(grep -c . "$tmp/slow")" -lt 70 ]
sched_stop
rm -rf "$po"

# Two channels share one slot: each keeps the agent for a stretch.
for order in random preempt; do
	rm -f "$gate" "$tmp/out"
	conf "$tmp/cf" <<-END
	*/*	interval=1h order=$order maxta=1
	one/*	command="$A -c one -o $tmp/out"
	two/*	command="$A -c two -o $tmp/out"
	END
	spool_new "$po"
	"$top/t/mkspool" -c one -f 1001 -h 150 "$po" 150
	"$top/t/mkspool" -c two -f 2001 -h 150 "$po" 150
	ok "order=$order: the scheduler starts with maxta=1" \
	    sched_start "$po" "$tmp/cf" -S
	ok "order=$order: all mail is delivered with maxta=1" \
	    wait_for 60 po_empty "$po"
	ok "order=$order: 300 messages of two channels need few agents" \
	    [ "$(count agent-start)" -le 6 ]
	sched_stop
done

# It needs no option for its channel, and marks whatever is the first recipient.
agent any <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	if [ "$job" != '#idle' ]; then
		off=$(awk '/^r /{ print off + 0; exit }
		    { off += length($0) + 1 }' "$job")
		printf + | dd of="$job" bs=1 seek=$((off + 1)) conv=notrunc \
		    2>/dev/null
		echo "$job test h $$" >>"$1"
		printf '%s/%s\t\tok3\n' "${job%%-*}" "$off"
	fi
	echo '#hungry'
done
END
for word in '' bychannel; do
	rm -f "$tmp/out"
	conf "$tmp/cf" <<-END
	*/*	interval=1h idlemax=1h
	{one,two}/*	$word command="any $tmp/out"
	END
	spool_new "$po"
	ok "the scheduler starts with one clause for two channels $word" \
	    sched_start "$po" "$tmp/cf"
	for n in 1 2 3; do
		channel=one
		[ $n != 2 ] || channel=two
		announce 10$n-1 $channel h
		wait_log "complete msg=10$n-1"
	done
	ok "each channel has an agent of its own $word" \
	    [ "$(agent_of 101-1)" != "$(agent_of 102-1)" ]
	is "a channel has its agent again $word" "$(agent_of 103-1)" \
	    "$(agent_of 101-1)"
	sched_stop
done

for order in random preempt; do
	rm -f "$gate" "$tmp/out"
	conf "$tmp/cf" <<-END
	*/*	interval=1h order=$order maxthr=3 backlog=2
	test/*	command="$A -c test -o $tmp/out -w $gate"
	END
	spool_new "$po"
	ok "order=$order with backlog=2: the scheduler starts" \
	    sched_start "$po" "$tmp/cf" -v
	for n in 1 2 3 4 5; do
		announce "10$n-1" test h
		wait_log "to pid=.* 10$n-1"
	done
	is "order=$order: with backlog=2 two jobs share an agent" \
	    "$(lines 'to pid=' | sed 's/.*pid=//' | awk '{ print $1 }' |
	    uniq -c | awk '{ printf "%d ", $1 }')" '2 2 1 '
	: >"$gate"
	ok "order=$order: with backlog=2 all mail is delivered" \
	    wait_for 30 po_empty "$po"
	sched_stop
done

# Ten jobs that come at once share agents, too.
for order in random preempt; do
	rm -f "$gate"
	conf "$tmp/cf" <<-END
	*/*	interval=1h order=$order maxthr=9 initthr=9 backlog=4
	test/*	command="$A -c test -o $tmp/out -w $gate"
	END
	spool_new "$po"
	put_many "$po" 10 1 test
	ok "order=$order with backlog=4: the scheduler starts" \
	    sched_start "$po" "$tmp/cf" -v
	ok "order=$order: with backlog=4 ten jobs at once go to agents" \
	    wait_for 30 \
	    eval '[ "$(count "to pid=.*-1")" -eq 10 ]'
	is "order=$order: with backlog=4 three agents start for ten jobs" \
	    "$(count agent-start)" 3
	: >"$gate"
	ok "order=$order: with backlog=4 all mail is delivered" \
	    wait_for 30 po_empty "$po"
	sched_stop
done

# A job ahead would be delivered at once when the one before it ends.
rm -f "$gate" "$tmp/pace"
conf "$tmp/cf" <<END
*/*	interval=1h maxthr=3 maxring=1 rate=20/s
feed/*	overfeed=5 command="$A -c feed -w $gate"
back/*	backlog=5 command="$A -c back -w $gate"
pace/*	command="$A -c pace -o $tmp/pace"
END
spool_new "$po"
put_many "$po" 5 1 feed 101
put_many "$po" 5 1 back 201
ok 'the scheduler starts with overfeed, backlog and a rate' \
    sched_start "$po" "$tmp/cf" -v
wait_log 'to pid=.* 10' && wait_log 'to pid=.* 20'
put_many "$po" 10 1 pace 301
wait_log 'complete msg=30' && wait_for 20 \
    eval '[ "$(wc -l <"$tmp/pace")" -ge 10 ]'
is 'with a rate there are no jobs ahead by overfeed' "$(count 'to pid=.* 10')" 1
is 'with a rate there are no jobs ahead by backlog' "$(count 'to pid=.* 20')" 1
: >"$gate"
ok 'mail with a rate is delivered one by one' wait_for 30 po_empty "$po"
sched_stop

# What mailq says of it.
rm -f "$gate"
conf "$tmp/cf" <<END
PARAMmsgconcurrency 1
PARAMmsgscale 0
*/*	interval=1h order=preempt maxthr=9 maxring=2
test/*	command="$A -c test -o $tmp/out -w $gate"
END
spool_new "$po"
put "$po" 101-1 test a u test b u
put "$po" 102-1 test a u
ok 'the scheduler starts for queries about blocked mail' \
    sched_start "$po" "$tmp/cf" -v -q "$po/public/.mailq.text"
wait_log 'to pid=.* 101-1'
wait_log 'to pid=.* 102-1'
put "$po" 103-1 test a u
wait_log 'load msg=103-1'
say() {	# argument ...
	POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" "$@"
}
like 'mailq -D counts ready jobs' "$(say -D -f test/a)" \
    '^	1 job ready, 0 waiting'
like 'mailq names maxring as the reason of blocked mail' "$(say -f test/a)" \
    'waits for a slot, maxring is reached'
like 'mailq names PARAMmsgconcurrency as the reason of blocked mail' \
    "$(say -v | tr '\n' ' ')" \
    'waits for a slot, PARAMmsgconcurrency is reached'
: >"$gate"
ok 'blocked mail is delivered in the end' wait_for 30 po_empty "$po"
sched_stop

# Jobs ahead are those that are next.
rm -f "$gate" "$tmp/out"
conf "$tmp/cf" <<END
*/*	interval=1h order=preempt slotcost=0 maxthr=1 overfeed=4
test/*	command="$A -c test -o $tmp/out -w $gate"
END
spool_new "$po"
put_many "$po" 150 1 test
ok 'order=preempt with overfeed=4: the scheduler starts' \
    sched_start "$po" "$tmp/cf" -v
wait_for 30 loaded 150
: >"$gate"
wait_for 20 po_empty "$po"
lines 'load msg=' | sed 's/.*load msg=//; s/ .*//' >"$tmp/loaded"
is 'order=preempt: jobs ahead are the next ones in the order' \
    "$(awk '{ print $1 }' "$tmp/out" | cmp - "$tmp/loaded" 2>&1)" ''
ok 'order=preempt: an agent has at least three jobs ahead' \
    awk '/ to pid=.*-1/ { n++ } / from pid=.*#hungry/ {
	n -= n > 0 }
	n > most { most = n }
	END { exit most < 3 }' "$tmp/sched.log"
sched_stop

# Tries that fail, of messages or of hosts, go on for ever here, as they take
# longer than the retries wait.
for said in deferred deferall; do
	n=20
	[ $said = deferred ] || n=800
	conf "$tmp/cf" <<-END
	*/*	interval=1s retries=1 skew=100 order=preempt maxring=1
	test/*	command="$A -c test -m 100 $said not now"
	END
	rm -rf "$po"
	spool_new "$po"
	put_many "$po" $n 20 test
	ok "order=preempt: the scheduler starts with mail that is $said" \
	    sched_start "$po" "$tmp/cf" -S -v
	wait_for 30 eval '[ "$(count "deferred msg=")" -ge 25 ]'
	put "$po" 999-1 test new.test user
	ok "order=preempt: new mail has its turn beside mail that is $said" \
	    wait_log 'to pid=.* 999-1' 20
	sched_stop
	rm -rf "$po"
done

# An agent of a configuration that was replaced ends with what it has.
rm -f "$gate" "$tmp/old" "$tmp/new"
conf "$tmp/cf" <<END
*/*	interval=1h maxthr=2 backlog=9
test/*	command="$A -c test -o $tmp/old -w $gate"
END
spool_new "$po"
ok 'the scheduler starts with an agent held at a gate' \
    sched_start "$po" "$tmp/cf" -v
announce 101-1 test h
wait_log 'to pid=.* 101-1'
sed "s|$tmp/old|$tmp/new|" "$tmp/cf" >"$tmp/cf1"
mv "$tmp/cf1" "$tmp/cf"
kill -HUP "$sched_pid"
wait_log 'reload .* done'
announce 102-1 test h
ok 'after a reload the new command gets mail' wait_log 'to pid=.* 102-1'
: >"$gate"
wait_for 30 po_empty "$po"
is 'after a reload all mail is delivered' \
    "$(sed 's/ .*//' "$tmp/old" "$tmp/new" | tr '\n' ' ')" '101-1 102-1 '
like 'after a reload the old agent gets no new mail' \
    "$(cat "$tmp/new")" '^102-1 '
sched_stop

conf "$tmp/cf" <<END
*/*	interval=1h
few/*	maxjobs=2 command="$A -c few -o $tmp/few"
old/*	maxage=1s idlemax=1h command="$A -c old -o $tmp/old"
END
spool_new "$po"
put "$po" 99-1 old h user
ok 'the scheduler starts with maxjobs and maxage' sched_start "$po" "$tmp/cf"
for n in 1 2 3 4 5; do
	announce "10$n-1" few h
	wait_log "complete msg=10$n-1"
done
is 'an agent ends after maxjobs' "$(awk '{ print $4 }' "$tmp/few" | uniq -c |
    awk '{ printf "%d ", $1 }')" '2 2 1 '
ok 'an agent ends after maxage' wait_log 'agent-end .*channel=old'
sched_stop

# With $host in the command, the next host is one of those that wait at random.
# The same directory is read each time, so without chance the first is the same.
agent names <<'AGENT'
echo "$1" >>"$2"
echo '#hungry'
while read -r line && [ -n "$line" ]; do :; done
AGENT
conf "$tmp/cf" <<END
*/*	interval=1h maxta=1
test/*	command="names \$host $tmp/names"
END
spool_new "$po"
put_many "$po" 10 10 test
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	rm -f "$tmp/names"
	sched_start "$po" "$tmp/cf" -S && wait_for 20 test -s "$tmp/names"
	sched_quit
	cat "$tmp/names" >>"$tmp/firsts"
done
diag "the first hosts: $(tr '\n' ' ' <"$tmp/firsts")"
is 'with $host one host is started at a time' "$(grep -c . "$tmp/firsts")" 12
ok 'with $host any of ten hosts may be the first' \
    [ "$(sort -u "$tmp/firsts" | grep -c .)" -ge 3 ]

conf "$tmp/cf" <<END
*/*	order=small slotcost=x backlog=-1 command="x"
END
"$SCHEDULER" -n -f "$tmp/cf" >"$tmp/said" 2>&1
like 'an unknown order is refused' "$(cat "$tmp/said")" \
    '1: order: small is not random, age or preempt'
like 'a slotcost that is not numeric is refused' \
    "$(cat "$tmp/said")" '1: slotcost: x is no number'
conf "$tmp/cf" <<END
a/*	ageorder command="x"
b/*	order=preempt command="x"
b/*	ageorder
END
like 'ageorder sets order=age' \
    "$("$SCHEDULER" -n -f "$tmp/cf" a/x 2>&1)" '	order=age'
like 'ageorder does not override an order set before it' \
    "$("$SCHEDULER" -n -f "$tmp/cf" b/x 2>&1)" '	order=preempt'
finish
