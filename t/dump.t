#!/bin/sh
# The dump that mailq reads: its bytes, by pipe and by port; and that no caller
# can delay anything.
. "${0%/*}/lib.sh"

ask=$top/t/ask
A=$top/t/agent
po=$tmp/po
pipe=$po/public/.mailq.text
spool_new "$po"

# A port that nobody has: the scheduler says when it cannot have it.
start() {	# [option ...]
	start_n=0
	while :; do
		port=$((20000 + ($$ + start_n * 7919) % 40000))
		{
			echo "PARAMmailqsock TCP:$port"
			cat "$tmp/base"
		} >"$tmp/cf"
		sched_start "$po" "$tmp/cf" -q "$pipe" "$@" || return 1
		logged "mailq port=" || return 0
		sched_stop
		start_n=$((start_n + 1))
		[ $start_n -lt 20 ] || return 1
	done
}

# What changes from run to run becomes a letter.
still() {
	sed -e 's/pid=[0-9]*/pid=PID/' -e 's/P={[0-9]*}/P={PID}/' \
	    -e 's/retry in [0-9ms]*/retry in T/' \
	    -e 's/HA={[0-9]*}/HA={S}/' -e 's/FA={[0-9]*}/FA={S}/' \
	    -e 's/W=[0-9]*s/W=S/' -e 's/QA=[0-9ms]*/QA=T/' \
	    -e 's/Uptime: [0-9ms]*$/Uptime: T/' \
	    -e '/^d	/d' -e "s|	$po\$|	PO|" \
	    -e 's/^t	[0-9]*	[0-9]*$/t	WALL	S/' \
	    -e 's/^c	.*/c	TOTALS/' \
	    -e 's/^\(m	[^	]*	\)[0-9]*	/\1S	/' \
	    -e 's/^\(v	[0-9]*	retry	\)[0-9]*	/\1S	/' \
	    -e 's/^\(v	[0-9]*	host	\)[0-9]*	/\1S	/' \
	    -e 's/^\(v	[0-9]*	[a-z]*	[S0-9-]*	\)4[0-9]*	/\1E	/' \
	    -e 's/^\(v	[0-9]*	run	0	E	0	\)[0-9]*/\1PID/'
}

conf "$tmp/base" <<END
*/*	interval=500s retries=1 expiry=119h30m maxring=1
later/*	command="$A -c later deferred mailbox full"
down/*	command="$A -c down deferall host is down"
work/*	maxthr=3 overfeed=2 command="busy"
queue/*	queueonly command="$A -c queue ok3"
END

# Takes a job, and never comes to an end with it.
agent busy <<'END'
echo '#hungry'
cat >/dev/null
END

# ---- an empty queue -------------------------------------------------------

ok 'the scheduler starts with an empty queue' start
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'the dump of an empty queue is as it should be' \
    "$(still <"$tmp/dump")" "version zmailer 1.0
Vertices:
End:
Kids: 0  Idle:  0  Msgs:   0  Thrds:   0  Rcpnts:    0  Uptime: T
Msgs in 0 out 0 stored 0 Rcpnts in 0 out 0 stored 0
Facts:
p	PO
t	WALL	S
c	TOTALS
End:"

# ---- a fixed queue --------------------------------------------------------

put "$po" 101-1 later a.host u1 later b.host u2 later a.host u3
put "$po" 102-1 down c.host u4
wait_log 'deferred msg=101-1 .*b.host' && wait_log 'deferred msg=101-1 .*a.host'
wait_log 'asleep channel=down'
put "$po" 103-1 work d.host u5
wait_log 'agent-start .*channel=work'
put "$po" 104-1 work e.host u6
put "$po" 105-1 queue f.host u7
put "$po" 106-1 none g.host u8
wait_log 'load msg=106-1'
want='version zmailer 1.0
Vertices:
1:	101-1	2; 55,123	#mailbox full (retry in T, expires in 4d23h, tries=1)
2:	101-1	1; 89	#mailbox full (retry in T, expires in 4d23h, tries=1)
3:	102-1	1; 55	#host is down (retry in T, expires in 4d23h, tries=1)
4:	103-1	1; 55	#(running now, pid=PID, expires in 4d23h, tries=0)
5:	104-1	1; 55	#(waiting for thread slot, expires in 4d23h, tries=0)
6:	105-1	1; 55	#(activation pending, thread inactive, expires in 4d23h, tries=0)
7:	106-1	1; 55	#(activation pending, thread inactive, expires in 4d23h, tries=0)
Channels:
down:	>3
later:	>1>2
none:	>7
queue:	>6
work:	>4>5
Hosts:
a.host:	>1
b.host:	>2
c.host:	>3
d.host:	>4
e.host:	>5
f.host:	>6
g.host:	>7
End:'
report='*/*/0
    none/g.host/0		N=1   R=1   A=0  QA=T
	Threads:    1 Msgs:     1 Procs:   0 Idle:   0 Plim:   1 Flim:   0 Tlim: 1
later/*/0
    later/a.host/0		N=1   R=2   A=1  W=S QA=T
    later/b.host/0		N=1   R=1   A=1  W=S QA=T
	Threads:    2 Msgs:     2 Procs:   1 Idle:   1 Plim:   1 Flim:   0 Tlim: 1
down/*/0
    down/c.host/0		N=1   R=1   A=1  W=S QA=T
	Threads:    1 Msgs:     1 Procs:   1 Idle:   1 Plim:   1 Flim:   0 Tlim: 1
work/*/0
    work/d.host/0		N=1   R=1   A=0  P={PID} HA={S}s FA={S}s OF={1} S={STUFF} UF=0 QA=T
    work/e.host/0		N=1   R=1   A=0  pend=>MaxRing QA=T threadwait
	Threads:    2 Msgs:     2 Procs:   1 Idle:   0 Plim:   1 Flim:   2 Tlim: 3
queue/*/0
    queue/f.host/0		N=1   R=1   A=0  QA=T
	Threads:    1 Msgs:     1 Procs:   0 Idle:   0 Plim:   1 Flim:   0 Tlim: 1
Kids: 3  Idle:  2  Msgs:   6  Thrds:   7  Rcpnts:    7  Uptime: T
Msgs in 6 out 0 stored 6 Rcpnts in 8 out 0 stored 8'
facts='Facts:
p	PO
t	WALL	S
c	TOTALS
m	101-1	S	14	-	sender
v	1	retry	S	E	1	0	
v	2	retry	S	E	1	0	
m	102-1	S	14	-	sender
v	3	host	S	E	1	0	
m	103-1	S	14	-	sender
v	4	run	0	E	0	PID	
m	104-1	S	14	-	sender
v	5	limit	-1	E	0	0	maxring
m	105-1	S	14	-	sender
v	6	queueonly	-1	E	0	0	
m	106-1	S	14	-	sender
v	7	command	-1	E	0	0	
End:'
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'the dump of a fixed queue comes by the pipe byte for byte' \
    "$(still <"$tmp/dump")" "$want
$report
$facts"
if without NO_TCP; then
	skip 'the dump of a fixed queue comes by the port byte for byte' \
	    'built without'
else
	"$ask" tcp $port >"$tmp/dump" 2>&1
	is 'the dump of a fixed queue comes by the port byte for byte' \
	    "$(still <"$tmp/dump")" "$want
$report
$facts"
	"$ask" bare $port >"$tmp/dump" 2>&1
	is "ZMailer's mailq, which would show facts, gets none" \
	    "$(still <"$tmp/dump")" "$want
$report"
	like 'our mailq asks for facts by the port' "$("$top/mailq" -p $port)" \
	    '^101-1  <sender>  14 bytes'
fi
sed 's/^PARAMmailqsock .*/PARAMmailqsock none/' "$tmp/cf" >"$tmp/cf.none"
cp "$tmp/cf.none" "$tmp/cf"
kill -HUP $sched_pid
wait_log 'reload file=.* done'
nok 'PARAMmailqsock none closes the port' "$ask" tcp $port
if ! without NO_TCP; then
	{
		echo "PARAMmailqsock TCP:192.0.2.1:$port"
		echo "PARAMmailqsock TCP:$port"
		cat "$tmp/base"
	} >"$tmp/cf"
	kill -HUP $sched_pid
	ok 'a later PARAMmailqsock has no address of an earlier one' \
	    wait_for 30 "$ask" tcp $port
fi
kill -USR2 $sched_pid
ok 'SIGUSR2, which once asked for a dump, ends nothing' eval \
    '"$ask" pipe "$pipe" >"$tmp/dump" && [ "$(tail -n 1 "$tmp/dump")" = End: ]'
sched_stop KILL		# its pipes stay behind

ok 'the scheduler starts with -Q' start -Q -F
wait_log 'loaded msgs=6'
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'with -Q there are no vertices' "$(sed -n '1,/End:/p' "$tmp/dump")" \
    "$(printf 'version zmailer 1.0\nVertices:\nEnd:')"
like 'with -Q there is the report' "$(cat "$tmp/dump")" \
    'down/c.host/0		N=1   R=1   A=0  QA='
is 'with -Q there are no facts on messages' \
    "$(sed -n '/^Facts/,$p' "$tmp/dump" | still)" \
    "$(printf 'Facts:\np\tPO\nt\tWALL\tS\nc\tTOTALS\nEnd:')"
sched_stop
is 'the pipes go when the scheduler ends' \
    "$(ls -a "$po" "$po/public" | grep mailq)" ''

# ---- what an agent has reported ---------------------------------------------

# It ends no job until the file is there.
agent slow <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	printf '%s/55\t\tok\n' "${job%%-*}"
	echo '#step all reported'
	while [ -d ../transport ] && [ ! -f "$1" ]; do sleep 1; done
	echo '#hungry'
done
END
po=$tmp/po1
pipe=$po/public/.mailq.text
spool_new "$po"
conf "$tmp/base" <<END
slow/*	command="slow $tmp/over"
END
start
put "$po" 151-1 slow a.host u1
wait_log 'delivered msg=151-1'
reported() {	# [option ...]
	POSTOFFICE=$po "$top/mailq" -q "$pipe" "$@"
}
ok 'the step of an agent that has reported all comes' \
    wait_for 30 eval 'reported | grep "all reported"'
like 'mailq shows a job of which all recipients are reported' \
    "$(reported 2>&1 | tr '\n' '@')" \
    '@	slow/a.host  0 recipients, not tried yet@		.*pid [0-9]+'
for i in -v -s -c -j -Q; do
	ok "mailq $i takes a job of which all recipients are reported" \
	    reported $i
done
: >"$tmp/over"
ok 'the message goes' wait_for 30 po_empty "$po"
sched_stop

# ---- what an agent says cannot break it -------------------------------------

po=$tmp/po2
pipe=$po/public/.mailq.text
spool_new "$po"
conf "$tmp/base" <<END
*/*	interval=500s
odd/*	command="$A -c odd deferred $(printf 'esc\033[2J cr\r end')"
fine/*	command="$A -c fine ok3"
parked/* queueonly command="$A -c parked ok3"
END
ok 'the scheduler starts again' start
put "$po" 201-1 odd h u
wait_log 'deferred msg=201-1'
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'control bytes do not go through' \
    "$(tr -d '\n\t\r -~' <"$tmp/dump" | wc -c | tr -d ' ')" 0
like 'the text around control bytes goes through' \
    "$(cat "$tmp/dump")" '#esc\?\[2J cr'

# Words with blanks, bytes above 127 and backslashes.
u=$(printf '\303\274')
put "$po" 202-1 none "\"a b\"" u none "b${u}cher" u \
    none 'c\040d' u
put "$po" 203-1 "n${u}n" h u odd "x${u}y" u
put "$po" 204-1 shut "z${u}z" u
wait_log 'load msg=204-1'
wait_log 'deferred msg=203-1'
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'the words of channels and hosts are printing bytes without blanks' \
    "$(sed -n '/^Channels:/,/^End:/p' "$tmp/dump" | LC_ALL=C grep -v \
    '^[!-~]*:\(	>[0-9>]*\)\{0,1\}$')" ''
is 'any other byte of channels and hosts becomes \ooo' \
    "$(sed -n '/^Hosts:/,/^End:/p' \
    "$tmp/dump" | sed -n 's/:	.*//p' | grep '\\' | sort)" '"a\040b"
b\303\274cher
c\134040d
x\303\274y
z\303\274z'
ok 'a channel is written with \ooo' grep '^n\\303\\274n:	>' "$tmp/dump"
ok 'the report has hosts with \ooo' \
    grep '^    none/"a\\040b"/0	' "$tmp/dump"
ok 'facts of destinations have hosts with \ooo' \
    grep '^d	odd	x\\303\\274y	' "$tmp/dump"
shown() {	# argument ...
	POSTOFFICE=$po "$top/mailq" -q "$pipe" "$@"
}
is 'mailq shows hosts as they are' "$(shown -f none | grep '^	[a-z]' |
    sed 's/  .*//' | sort)" '	none/"a b"
	none/b\303\274cher
	none/c\134040d'
is 'mailq -j has the bytes of hosts' "$(shown -j -f none | sed -n \
    's/.*"host":"\(.*\)","recipients.*/\1/p' | sort)" '\"a b\"
b\u00fccher
c\\040d'
is 'a filter is compared with the bytes of hosts' "$(shown -c -f "n${u}n" |
    sed -n '2p')" 'messages 1'
is 'mailq -D finds destinations by their bytes' "$(shown -D -f "odd/x${u}y" |
    sed -n '1s/  .*//p')" 'odd/x\303\274y'
is 'a filter of the report is compared with the bytes of hosts' \
    "$(shown -Q -f "none/\"a b\"" |
    sed -n '2s/	.*//p')" '    none/"a\040b"/0'
for n in 202-1 203-1 204-1; do
	POSTOFFICE=$po "$top/mailq" delete $n >"$tmp/out" 2>&1
	wait_log "complete msg=$n"
done

# ---- hostile callers ---------------------------------------------------------

say() {		# what ... : to the pipe
	printf "$@" >"$pipe"
}
: >"$tmp/plain"
ln -s "$tmp/plain" "$pipe.link"
cp "$tmp/plain" "$pipe.plain"
mkfifo "$pipe.nobody"
say 'dump link\ndump plain\ndump nobody\ndump ../../../etc\n'
say 'dump\ndump  x\ndump x y\nDUMP x\n\n\377\200\n'
say 'dump 123456789012345678901\n'
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "long"; print "" }' >"$pipe"
dd if="$A" bs=1024 count=8 2>/dev/null >"$pipe"
printf '\n' >"$pipe"
printf 'dump half' >"$pipe"
printf '\n' >"$pipe"
"$ask" pipe "$pipe" >"$tmp/dump" 2>&1
is 'a query is answered after hostile ones' "$(tail -n 1 "$tmp/dump")" 'End:'
is 'hostile queries write into no file' \
    "$(cat "$tmp/plain" "$pipe.plain")" ''
like 'lines that are no query are logged' "$(lines ' mailq pipe=')" \
    '(no pipe for an answer|not a request|a line too long)'

# A query of another program, behind a part of a line that has been read: the
# answer to a command comes after that.
printf x >"$pipe"
POSTOFFICE=$po "$top/mailq" flush all >/dev/null
bg "$ask" pipe "$pipe" >"$tmp/dump"
asker=$bg_pid
ok 'a line without its end does not join a later query' wait_for 20 gone "$asker"
is 'a query behind a line without its end is answered' "$(tail -n 1 "$tmp/dump")" 'End:'
gone "$asker" || kill "$asker"

# Both are in the pipe when the scheduler reads it.
kill -STOP "$sched_pid"
printf x >"$pipe"
MAILQ_WAIT=20s
export MAILQ_WAIT
bg "$top/mailq" -q "$pipe" -c >"$tmp/out" 2>&1
asker=$bg_pid
wait_for 20 eval 'ls "$pipe".[0-9]*x* >/dev/null 2>&1'
sleep 1		# the request follows the pipe for its answer
printf x >"$pipe"
kill -CONT "$sched_pid"
wait "$asker"
is 'mailq is answered between parts of lines of others' \
    "$? $(sed 1q "$tmp/out")" '0 scheduler 1'

# The scheduler takes the query, and says nothing.
kill -STOP "$sched_pid"
MAILQ_WAIT=1s
POSTOFFICE=$po RENDEZVOUS=$pipe "$top/mailq" -c >"$tmp/out" 2>"$tmp/err"
is 'a scheduler that does not answer is an error of mailq -c' \
    "$? $(sed 1q "$tmp/out")" '69 scheduler 0'
like 'a scheduler that does not answer: mailq -c says so' \
    "$(cat "$tmp/err")" 'no scheduler answers .*nothing came for 1 seconds'
kill -CONT "$sched_pid"
unset MAILQ_WAIT

# ---- readers that do not read -------------------------------------------------

# A dump that no pipe holds; 50 who want it and do not read it.
put_many "$po" 1500 100 parked
wait_for 60 eval '[ "$(count "load msg=10[0-9]*-1")" -ge 1500 ]'
bg "$ask" stuck pipe "$pipe" 50
stuck=$bg_pid
wait_for 30 sh -c "ls '$pipe'.*x49"
put_many "$po" 500 20 fine 200001
ok '50 stuck readers do not stop deliveries' \
    wait_for 60 eval '[ "$(count "complete msg=200[0-9]*-1")" -ge 500 ]'
served() {	# what place: has it answered with all of the queue?
	"$ask" "$1" "$2" >"$tmp/dump" 2>&1
	[ "$(grep -c '^m' "$tmp/dump")$(tail -n 1 "$tmp/dump")" = 1501End: ]
}
ok 'a client that reads gets a dump beside 50 that do not' \
    wait_for 60 served pipe "$pipe"
ok 'dumps of clients that do not read end when another client waits' \
    wait_log 'mailq pid=.* the dump has ended, as its client reads nothing'
kill $stuck
wait_for 60 served pipe "$pipe"
# Six who do not read: as many as are served.  Once in 2 seconds they all go, so
# it may take more than one crowd to meet them.
crowd() {
	bg "$ask" stuck pipe "$pipe" 6 >"$tmp/ready"
	stuck=$bg_pid
	wait_for 20 grep ready "$tmp/ready"
	"$ask" pipe "$pipe" 2>&1 | sed 1q >"$tmp/busy"
	if without NO_TCP; then
		wait_for 60 served pipe "$pipe"
	else
		served tcp $port
	fi
	crowd_rc=$?
	kill $stuck
	wait $stuck 2>/dev/null
	lib_forget $stuck
	grep '^busy' "$tmp/busy"
}
ok 'one more caller is refused as busy' wait_for 120 crowd
is 'a caller who reads gets his turn' $crowd_rc 0
sched_stop
is 'the scheduler ends well with stuck readers' "$sched_rc" 0

# On a busy machine a dump may be made seconds after the time of a job, and
# before that is tried.
SCHEDULER=$top/t/clocksched
MONO=$tmp/mono
export MONO
rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END
*/*	interval=10m
late/*	command="$A -c late deferred not now"
END
put "$po" 701-1 late h user
ok 'the scheduler starts with a clock of its own' \
    sched_start "$po" "$tmp/cf" -q "$pipe"
wait_log 'deferred msg=701-1'
kill -STOP "$sched_pid"
set_clock "$MONO" 3000
bg "$ask" pipe "$pipe" >"$tmp/late"
asker=$bg_pid
wait_for 20 eval 'ls "$pipe".* >/dev/null 2>&1'
sleep 1		# the request follows the pipe for its answer
kill -CONT "$sched_pid"
wait_for 20 gone "$asker"
like 'a job whose time is past is due now' \
    "$(sed -n '/^v	/p' "$tmp/late" | tr '\t' ' ')" '^v 1 (retry|run|next) 0 '
sched_stop
finish
