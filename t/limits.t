#!/bin/sh
# How many agents there are, which one takes what, and idle ones.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
gate=$tmp/gate
spool_new "$po"
put_hosts() {	# channel first hosts
	"$top/t/mkspool" -c "$1" -f "$2" -h "$3" "$po" "$3"
}
fed() {		# log number
	[ "$(cat "$tmp/$1" 2>/dev/null | grep -c '^<[0-9]')" -ge "$2" ]
}

# Agents are held at the gate with their job, so their number can be counted
# once everything is loaded and nothing more can move.
conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d
ring/a* maxring=2 command="$A -c ring -w $gate -s $tmp/ring"
ring/*	maxring=3 command="$A -c ring -w $gate -s $tmp/ring"
chan/a*	maxchannel=3 command="$A -c chan -w $gate -s $tmp/chan"
chan/*	maxchannel=3 command="$A -c chan -w $gate -s $tmp/chan"
one/*	command="$A -c one -w $gate -s $tmp/one"
thr/*	maxthr=4 overfeed=20 command="$A -c thr -w $gate -s $tmp/thr"
feed/*	overfeed=4 command="$A -c feed -w $gate -s $tmp/feed"
bound/*	maxring=2 command="$A -w $gate -s $tmp/bound -c bound -h \$host"
END
i=0
for h in a1 a2 a3 a4 b1 b2 b3 b4 b5; do
	i=$((i + 1))
	put "$po" 10$i-1 ring $h user
	put "$po" 20$i-1 chan $h user
	put "$po" 30$i-1 one same.host user
	put "$po" 40$i-1 thr same.host user
	put "$po" 50$i-1 feed same.host user
	put "$po" 60$i-1 bound $h user
done
put "$po" 691-1 bound b5 user
ok 'the scheduler starts with agents held at a gate' \
    sched_start "$po" "$tmp/cf" -S -v
agents() {	# channel
	count "agent-start .*channel=$1 "
}
for c in ring:5 chan:3 one:1 thr:4 feed:1 bound:9; do
	wait_for 20 fed ${c%:*} ${c#*:}
done
is 'maxring limits the agents of each ring' "$(agents ring)" 5
is 'maxring limits the ring of the first clause to two agents' \
    "$(count 'agent-start .*channel=ring host=a')" 2
is 'maxchannel limits the agents of all rings of a channel' "$(agents chan)" 3
is 'without maxthr a host has one agent' "$(agents one)" 1
is 'maxthr allows several agents for a host' "$(agents thr)" 4
is 'overfeed: an agent has one job in work and overfeed jobs ahead' \
    "$(count 'debug to pid=[0-9]* 50')" 5
is 'without overfeed an agent has one job at a time' \
    "$(count 'debug to pid=[0-9]* 30')" 1
is 'with $host each host has its own agents' "$(agents bound)" 9
: >"$gate"
ok 'all mail of the limited channels is delivered' wait_for 30 po_empty "$po"
is 'with $host no agent is given another host' \
    "$(count 'agent-start .*channel=bound host=b5')" 1
sched_stop

# ---- maxta, and room for others -------------------------------------------------

rm -f "$gate"
conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d maxta=4
x/*	command="$A -c x -w $gate -o $tmp/x"
y/*	command="$A -c y -o $tmp/y"
END
put_hosts x 100 10
ok 'the scheduler starts with maxta=4' sched_start "$po" "$tmp/cf"
wait_for 30 eval '[ "$(agents x)" -ge 4 ]'
put "$po" 901-1 y h user
wait_log 'load msg=901-1'
put "$po" 902-1 y h2 user
wait_log 'load msg=902-1'
is 'maxta limits the agents of all channels' "$(count agent-start)" 4
: >"$gate"
ok 'a blocked channel gets a slot when one is free' \
    wait_log 'complete msg=901-1'
ok 'all mail is delivered within maxta' wait_for 30 po_empty "$po"
rm -f "$gate" "$tmp/y"
put_hosts x 100 4
wait_log 'load msg=103-1 '
put "$po" 903-1 y h3 user
: >"$gate"
ok 'an idle agent of another channel makes room' wait_log 'complete msg=903-1'
sched_stop

# ---- one that does not go --------------------------------------------------------

# A deaf agent keeps its slot, but holds up nobody who does not need that one.
rm -f "$gate"
conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d idlemax=1h
deaf/*	idlemax=1s command="$A -i -c deaf -o $tmp/deaf"
two/a*	maxchannel=1 command="$A -c two -o $tmp/two"
two/*	maxchannel=1 command="$A -c two -o $tmp/two"
own/*	maxring=1 idlemax=1s command="$A -i -c own -o $tmp/own -h \$host"
fail/*	interval=1h command="$tmp/bin/ta/picky \$host"
END
agent picky <<END
[ "\$1" != bad ] && exec $A -c fail -o $tmp/fail
END
put "$po" 201-1 deaf h user
put "$po" 202-1 two a user
put "$po" 203-1 own a user
put "$po" 204-1 fail bad user
ok 'the scheduler starts with a deaf agent' sched_start "$po" "$tmp/cf"
for m in 201 202 203; do
	wait_log "complete msg=$m-1"
done
ok 'an agent dies for one host' wait_log 'asleep channel=fail host=bad'
wait_for 20 eval '[ "$(count "deaf|own")" -ge 2 ]'
put "$po" 211-1 own a user
put "$po" 212-1 own b user
put "$po" 213-1 two b user
put "$po" 214-1 fail good user
ok 'other hosts of a $host clause go on after an agent died' \
    wait_log 'complete msg=214-1'
ok 'a deaf agent does not block other hosts' wait_log 'complete msg=212-1'
ok 'an idle agent of another clause makes room in maxchannel' \
    wait_log 'complete msg=213-1'
sched_stop
is 'the scheduler ends well with deaf agents' $sched_rc 0
all_gone() {
	for p in $(cat "$tmp/deaf" "$tmp/own" | awk '{ print $4 }' | sort -u)
	do
		gone "$p" || return 1
	done
}
ok 'deaf agents end with the scheduler' wait_for 30 all_gone
rm -f "$po"/transport/* "$po"/queue/*

# A clause that may have fewer agents in all than others have waits for that,
# and nobody is ended for it in vain.
conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d
x/*	maxring=3 command="$A -c x -o $tmp/x3"
y/*	maxta=2 command="$A -c y -o $tmp/y3"
END
put_hosts x 1000 300
put "$po" 900-1 y h user
ok 'the scheduler starts with a clause of a smaller maxta' \
    sched_start "$po" "$tmp/cf" -S -R 1000
ok 'all mail is delivered under two values of maxta' wait_for 60 po_empty "$po"
is 'no more agents start than maxring allows' "$(agents x)" 3
sched_stop

# ---- the idle pool -----------------------------------------------------------------

conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d
idle/*	idlemax=1s command="$A -c idle -o $tmp/idle -s $tmp/said"
stay/*	idlemax=1h maxring=1 command="$A -c stay -o $tmp/stay"
END
put "$po" 101-1 stay a user
ok 'the scheduler starts with idlemax' sched_start "$po" "$tmp/cf"
wait_log 'complete msg=101-1'
put "$po" 102-1 stay b user
wait_log 'complete msg=102-1'
put "$po" 103-1 stay a user
wait_log 'complete msg=103-1'
is 'at a limit an idle agent takes other hosts of its ring' "$(agents stay)" 1
put "$po" 111-1 idle a user
ok 'an idle agent ends after idlemax' wait_log 'agent-end .*channel=idle' 20
is 'an idle agent is sent an empty line before it ends' \
    "$(tail -n 1 "$tmp/said")" '<'
is 'idle agents with a longer idlemax stay' \
    "$(count 'agent-end .*channel=stay')" 0
sched_stop

# ---- the order of a host's mail ---------------------------------------------------

# All is loaded before the first is fed, so the order is that of the thread.
conf "$tmp/cf" <<END
*/*	interval=1h expiry=0
any/*	command="$A -c any -o $tmp/any"
age/*	ageorder command="$A -c age -o $tmp/age"
alone/*	maxta=0 command="$A -c alone -o $tmp/alone -h \$host"
END
i=10
while [ $i -lt 40 ]; do
	put "$po" 1$i-1 any h user
	put "$po" 2$i-1 age h user
	touch -t 2026010203$((69 - i)) "$po/queue/2$i-1"
	i=$((i + 1))
done
ok 'the scheduler starts with and without ageorder' \
    sched_start "$po" "$tmp/cf" -S
ok 'all mail is delivered with and without ageorder' wait_for 30 po_empty "$po"
cut -d' ' -f1 "$tmp/age" >"$tmp/age.order"
is 'each message of both orders is delivered once by an agent' \
    "$(cat "$tmp/age" "$tmp/any" | wc -l | tr -d ' ')" 60
is 'ageorder: the oldest first' "$(cat "$tmp/age.order")" \
    "$(sort -r "$tmp/age.order")"
lines ' load msg=1' | sed 's/.*msg=//;s/ .*//' >"$tmp/any.loaded"
cut -d' ' -f1 "$tmp/any" >"$tmp/any.order"
nok 'without ageorder the order is not that of loading' \
    cmp -s "$tmp/any.loaded" "$tmp/any.order"
nok 'without ageorder the order is not that of file numbers' \
    sort -c "$tmp/any.order"
sched_stop

sed 's/maxta=0/maxta=1/' "$tmp/cf" >"$tmp/cf1"
put_hosts alone 1000 30
ok 'the scheduler starts with maxta=1 and 30 hosts' \
    sched_start "$po" "$tmp/cf1" -S -R 1000
ok 'all 30 hosts are delivered to with maxta=1' wait_for 60 po_empty "$po"
lines ' load msg=' | sed 's/.*msg=//;s/ .*//' >"$tmp/alone.loaded"
cut -d' ' -f1 "$tmp/alone" >"$tmp/alone.order"
nok 'hosts with agents of their own are picked at random' \
    cmp -s "$tmp/alone.loaded" "$tmp/alone.order"
is 'maxta=1: there is never more than one agent' \
    "$(lines agent-start | sed 's/.*agents=//' | sort -u)" 1
sched_stop

# ---- descriptors and the fork rate ------------------------------------------------

if (ulimit -n 64) 2>/dev/null; then
	conf "$tmp/cf" <<END
*/*	interval=1h expiry=1d
many/*	command="$A -c many -o $tmp/many"
END
	put_hosts many 1000 200
	agent few <<'END'
ulimit -S -n 40		# it is raised again
ulimit -H -n 64
exec "$@"
END
	VALGRIND=$tmp/bin/ta/few
	ok 'the scheduler starts with few descriptors' \
	    sched_start "$po" "$tmp/cf"
	each=$(lines 'limits maxta' | sed 's/.* agent=//;s/ .*//')
	fds=64
	! without NO_RLIMIT || fds=40
	like 'maxta is probed: descriptors less 30, for each agent' \
	    "$(lines 'limits maxta')" \
	    "maxta=$(((fds - 30) / each)) descriptors=$fds"
	ok 'more hosts than agents are delivered to' \
	    wait_for 60 po_empty "$po"
	is 'few descriptors: each message is delivered once' \
	    "$(sort -u "$tmp/many" | wc -l | tr -d ' ')" 200
	sched_stop
	VALGRIND=

	# Too few are said at once, and as many as that says are enough.
	cat >>"$tmp/cf" <<END
PARAMdestdb $tmp/dests
bad/*	command="$A -c bad error no"
END
	agent few <<'END'
ulimit -n 13
exec "$@"
END
	VALGRIND=$tmp/bin/ta/few
	nok 'the scheduler does not start with 13 descriptors' \
	    sched_start "$po" "$tmp/cf"
	is 'too few descriptors: the exit code is 71' $sched_rc 71
	like 'too few descriptors: the log has the number needed' \
	    "$(cat "$tmp/sched.log")" \
	    ': 13 files may be open at a time, and [0-9]+ are needed .*ulimit'
	need=$(sed -n 's/.* and \([0-9]*\) are needed.*/\1/p' "$tmp/sched.log")
	agent few <<END
ulimit -n ${need:-13}
exec "\$@"
END
	put_hosts many 1000 20
	put "$po" 701-1 bad h1 user
	put "$po" 702-1 bad h2 user
	ok 'the scheduler starts with as many descriptors as it needs' \
	    sched_start "$po" "$tmp/cf" \
	    -l "$tmp/few.stat" -H
	VALGRIND=
	ok 'fewest descriptors: all mail is delivered or fails' \
	    wait_for 60 po_empty "$po"
	sched_stop
	is 'fewest descriptors: the two failures have DSNs' \
	    "$(ls "$po/router" | wc -l | tr -d ' ')" 2
	is 'fewest descriptors: no error is logged' \
	    "$(lines '^[0-9]+ (err|warn) ' | grep -v clock-)" ''
	rm -f "$po/router/"*
else
	for i in 1 2 3 4 5 6 7 8 9 10 11; do
		skip 'few descriptors' 'ulimit -n'
	done
fi
rm -f "$gate"
conf "$tmp/cf" <<END
rate/*	interval=1h command="$A -c rate -o $tmp/rate -w $gate"
END
put_hosts rate 1000 12
ok 'the scheduler starts with -R 2' sched_start "$po" "$tmp/cf" -R 2 -S
wait_for 30 eval '[ "$(count agent-start)" -ge 6 ]'
like '-R 2: about two agents start in a second' \
    "$(lines agent-start |
    cut -c1-14 | sort | uniq -c | awk '{ print $1 }' | sort -n | tail -n 1)" \
    '^[234]$'
: >"$gate"
wait_for 60 po_empty "$po"
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- a small stack ----------------------------------------------------------

# The last, as a limit can only be lowered.  It holds for agents and mailq, too.
if ! (ulimit -s 64) 2>/dev/null; then
	skip 'a stack of 64 KB' 'it cannot be limited'
	finish
	exit
fi
po=$tmp/small
spool_new "$po"
conf "$tmp/cf" <<END
*/*	interval=1s retries="1" expiry=2s
good/*	command="$A -c good"
bad/*	command="$A -c bad error no"
none/*	bounce=none command="$A -c none error no"
late/*	command="$A -c late deferred not now"
END
put "$po" 701-1 good h u1 bad h u2
put "$po" 702-1 none h u1 late h u2
put "$po" 703-1 late h u1 late i u2
put_raw "$po" 704-1 <<END
i 704-1
o 0
l <704-1@test>
s local - sender 0
r-          none h u0 0
r           none h u1 0
r           late h u2 0
m
Subject: small

END
ulimit -s 64
"$SCHEDULER" -n -f "$tmp/cf" -P "$po" late/h >/dev/null
is 'a stack of 64 KB is enough for scheduler -n' $? 0
sched_start "$po" "$tmp/cf"
is 'a stack of 64 KB is enough for mailq' "$(POSTOFFICE=$po "$top/mailq" -c |
    sed 1q) $(POSTOFFICE=$po "$top/mailq" -D >/dev/null; echo $?)" \
    'scheduler 1 0'
ok 'a stack of 64 KB is enough for mail that fails and expires' \
    wait_for 30 po_empty "$po"
sched_stop
is 'the scheduler with a stack of 64 KB ends well' $sched_rc 0
finish
