#!/bin/sh
# What is learned of a destination from its jobs: how many agents, dead or not,
# and how often.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
pipe=$po/public/.mailq.text
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=500s retries=1 feedbackdebug
dead/*	maxthr=20 command="$A -c dead deferall host is down"
gone/*	maxthr=20 command="$A -c gone -f $tmp/up -n 4.4.1 -o $tmp/gone"
full/*	maxthr=20 command="$A -c full -n 4.2.2 deferred mailbox full"
back/*	maxthr=20 command="$A -c back -f $tmp/open -n 4.4.1 -o $tmp/opened"
one/*	command="$A -c one -f $tmp/never -n 4.4.2"
both/*	maxthr=4 cohorts=0 overfeed=5 command="$A -c both -f $tmp/never -n 4.3.2"
grow/*	maxthr=8 initthr=2 command="$A -c grow -w $tmp/gate -o $tmp/grow"
rate/*	maxthr=5 rate=1/2s command="stamp $tmp/rate"
free/*	maxthr=5 command="stamp $tmp/free"
many/*	maxthr=5 interval=1s command="$A -c many -f $tmp/back -n 4.4.1 -o $tmp/many"
shut/*	idlemax=1s command="$A -c shut"
later/*	queueonly command="$A -c later"
hang/*	command="$A -c hang -w $tmp/never"
last/*	interval=1s retries="1 8" idlemax=1s command="$A -c last deferall nobody there"
long/*	idlemax=1s command="$A -c long"
slow/*	idlemax=1s forget=1s rate=1/h command="$A -c slow"
lost/*	maxthr=5 command="$A -c lost deferall nobody there"
down/*	idlemax=1s forget=1s command="$A -c down deferall nobody there"
brief/*	idlemax=1s forget=1s command="$A -c brief"
die/*	maxthr=4 interval=1s command="$A -c die -d 1"
END
agent stamp <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	if [ "$job" != '#idle' ]; then
		date +%s >>"$1"
		off=$(awk '/^r /{ print off + 0; exit }
		    { off += length($0) + 1 }' "$job")
		printf + | dd of="$job" bs=1 seek=$((off + 1)) conv=notrunc \
		    2>/dev/null
		printf '%s/%s\t\tok3\n' "${job%%-*}" "$off"
	fi
	echo '#hungry'
done
END
order() {
	said=$("$ask" order "$po" "$1" "$2" 2>&1)
}
# window, agents, good, bad and seconds until it is no longer dead.
dest() {	# channel/host
	"$ask" pipe "$pipe" 2>/dev/null | awk -F'\t' -v want="$1" \
	    '$1 == "d" && $2 "/" $3 == want { print $4, $6, $7, $8, $9 }'
}
is_dest() {	# channel/host ERE
	dest "$1" | grep -E -e "$2" >/dev/null
}

# ---- a dead host -------------------------------------------------------------

"$top/t/mkspool" -c dead "$po" 10000
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -q "$pipe" -S
wait_log 'asleep channel=dead' 30
ok 'a host that is down is found dead' \
    wait_for 30 is_dest dead/h0.test '^0 0 0 [0-9]+ [0-9]+$'
tried=$(count 'deferred msg=')
ok 'a dead host is found by a cohort of connections' \
    [ "$tried" -ge 1 ] && [ "$tried" -le 8 ]
is 'a dead host is not tried for the rest of 10 000 messages' \
    "$(count 'deferred msg=')" "$tried"
like 'the reason of a dead host is kept' "$("$ask" pipe "$pipe" |
    grep '^d	dead')" '	host is down	'
is 'all messages for a dead host wait for it' "$("$ask" pipe "$pipe" |
    awk -F'\t' '/^v/ && $3 == "host"' | wc -l | tr -d ' ')" 10000
order flush 'dead/*'
ok 'a flush has a dead host tried' wait_log "asleep channel=dead .*" && \
    wait_for 20 eval '[ "$(count "asleep channel=dead")" -ge 2 ]'
order delete 'dead/*'
wait_for 60 eval '[ -z "$(ls "$po/transport")" ]'

# ---- it stays dead without mail ------------------------------------------------

put "$po" 190001-1 last h.test u
wait_log 'asleep channel=last .* tries=2' 20
order delete 190001-1
wait_log 'complete msg=190001-1'
wait_log 'agent-end .*channel=last' 20
t=$(lines 'asleep channel=last' | sed -n '$s/.* tries=\([0-9]*\) .*/\1/p')
like 'the reason of a dead host outlives its mail' "$("$ask" pipe "$pipe" |
    grep '^d	last	h.test	')" 'nobody there'
put "$po" 190002-1 last h.test u
ok 'the place of a dead host in the retry list outlives its mail' \
    wait_log "asleep channel=last .* tries=$((t + 1)) " 40
order delete 'last/*'

# ---- it comes back --------------------------------------------------------------

put_many "$po" 300 1 gone 200001
wait_log 'asleep channel=gone' 30
: >"$tmp/up"
order flush 'gone/*'
ok 'a host that comes back gets all its mail' \
    wait_for 30 eval '[ "$(wc -l <"$tmp/gone")" -ge 300 ]'
is 'a host that comes back gets its mail once' \
    "$(sort "$tmp/gone" | cut -d' ' -f1 | uniq | wc -l | tr -d ' ')" 300
ok 'the counts of a host outlive its queue' \
    wait_for 30 is_dest gone/h1.test '^[1-9][0-9]* 0 300 [0-9]+ -$'

# ---- many that die and come back, again and again -------------------------------

put_many "$po" 400 20 many 250001
ok 'twenty dead hosts are tried again by their interval' \
    wait_for 60 eval '[ "$(count "asleep channel=many")" -ge 100 ]'
: >"$tmp/back"
ok 'twenty hosts that come back get all their mail' \
    wait_for 60 eval '[ "$(wc -l <"$tmp/many")" -ge 400 ]'
is 'twenty hosts that come back get nothing twice' \
    "$(cut -d' ' -f1 "$tmp/many" | sort | uniq | wc -l | tr -d ' ')" 400

# ---- one that answers, though it was not dead ------------------------------------

put "$po" 260001-1 back h.test u
put "$po" 260002-1 back h.test u
wait_log 'deferred msg=260001-1' 20 && wait_log 'deferred msg=260002-1' 20
: >"$tmp/open"
put "$po" 260003-1 back h.test u
ok 'mail that waited for a host goes when the host answers' \
    wait_for 20 eval '[ "$(wc -l <"$tmp/opened")" -ge 3 ]'

# ---- what counts ------------------------------------------------------------------

put_many "$po" 30 1 full 300001
ok 'a full mailbox is no fault of the host' \
    wait_for 20 is_dest full/h1.test '^[1-9][0-9]* 0 30 0 -$'
for n in 1 2 3; do
	put "$po" 40$n-1 one h.test u
done
ok 'with maxthr=1 one or two lost connections make a dead host' \
    wait_for 20 is_dest one/h.test '^0 0 0 [12] [0-9]+$'
put "$po" 404-1 one h.test u
wait_log 'load msg=404-1'
is 'new mail for a dead host is not tried' "$(count 'deferred msg=404-1')" 0
put_many "$po" 12 1 both 500001
ok 'with cohorts=0 a host is never dead' \
    wait_for 20 is_dest both/h1.test '^1 0 0 12 -$'
put "$po" 601-1 die h.test u
ok 'a job of an agent that dies is not begun' wait_log 'not-begun msg=601-1' 20
like 'an agent that dies says nothing of the host' \
    "$(dest die/h.test)" '^4 [0-9]+ 0 0 (-|[0-9]+)$'
like 'feedbackdebug logs each report' "$(lines ' feedback channel=both')" \
    'host=h1.test bad window=[1-4] agents=[1-4] '

# ---- the window grows ------------------------------------------------------------

put_many "$po" 40 1 grow 700001
busy() {	# number of agents at work there
	is_dest grow/h1.test "^[0-9]+ $1 "
}
ok 'at first as many agents as initthr says' wait_for 20 busy 2
: >"$tmp/gate"
ok 'all mail is delivered when the agents may go on' \
    wait_for 30 eval '[ "$(wc -l <"$tmp/grow")" -ge 40 ]'
ok 'the window has grown, and not over maxthr' \
    wait_for 30 is_dest grow/h1.test '^[3-8] [0-9]+ 40 0 -$'
rm -f "$tmp/gate"
put_many "$po" 40 1 grow 710001
ok 'more agents are there at once the next time' wait_for 20 \
    is_dest grow/h1.test '^[0-9]+ [3-8] 40 0'
: >"$tmp/gate"

# ---- what mailq says of them -----------------------------------------------------

state() {	# channel/host state
	POSTOFFICE=$po "$top/mailq" -D -q "$pipe" -f "$1" >"$tmp/shown" &&
	    grep "^$1  $2" "$tmp/shown"
}
put "$po" 720001-1 shut h.test u
put "$po" 720002-1 later h.test u
put "$po" 720003-1 full shown.test u
put "$po" 720004-1 hang h.test u
ok 'a host that an agent works for is active' \
    wait_for 20 state hang/h.test active
like 'mailq shows window and agents of an active host' \
    "$(cat "$tmp/shown")" '^	window 1 of 1, 1 agent at work'
ok 'a host whose agent waits for more is idle' \
    wait_for 20 state full/shown.test idle
like 'mailq shows mail that waits for an idle host' \
    "$(cat "$tmp/shown")" '0 jobs ready, 1 waiting'
ok 'a host whose agent has ended is closed' wait_for 20 \
    state shut/h.test closed
ok 'a host that is not tried is unused' wait_for 20 \
    state later/h.test unused
ok 'a dead host is shown with its retry' wait_for 20 \
    state one/h.test 'retry: not yet'
like 'mailq shows the next retry of a dead host' \
    "$(cat "$tmp/shown")" 'next .*failed 1 time in a row'

# ---- rates ----------------------------------------------------------------------------

for n in 1 2 3 4; do
	put "$po" 80$n-1 rate h.test u
	put "$po" 81$n-1 free h.test u
done
ok 'mail with a rate is delivered' wait_for 40 \
    eval '[ "$(wc -l <"$tmp/rate")" -ge 4 ]'
# stamps are whole seconds: two seconds apart may look like one
ok 'mail with a rate is not faster than its rate' \
    awk 'NR > 1 && $1 - last < 1 { bad = 1 }
    NR == 1 { first = $1 } { last = $1 }
    END { exit bad || last - first < 5 }' "$tmp/rate"
is 'a rate defers nothing' "$(count 'deferred msg=80[1-4]-1 ')" 0
ok 'mail without a rate is delivered' \
    wait_for 20 eval '[ "$(wc -l <"$tmp/free")" -ge 4 ]'

# ---- what is forgotten -------------------------------------------------------------

# The first is known for longer than those that come after it.
put "$po" 830001-1 long h.test u
wait_log 'agent-end .*channel=long' 20
put "$po" 830002-1 slow h.test u
put "$po" 830003-1 down h.test u
wait_log 'agent-end .*channel=slow' 20
wait_log 'asleep channel=down' 20
order delete 830003-1
wait_log 'agent-end .*channel=down' 20
put "$po" 830004-1 brief h.test u
wait_log 'agent-end .*channel=brief' 20
ok 'a host is forgotten after the time that its clause says' \
    wait_for 20 eval '[ -z "$(dest brief/h.test)" ]'
like 'a host of a clause with a longer time is not forgotten' \
    "$(dest long/h.test)" '^1 0 1 0 -$'
like 'a host stays while its rate allows no delivery' \
    "$(dest slow/h.test)" '^1 0 1 0 -$'
like 'a host that is dead stays' "$(dest down/h.test)" '^0 0 0 1 [1-9]'

# ---- a reload -----------------------------------------------------------------------

put_many "$po" 10 1 lost 840001
wait_log 'asleep channel=lost' 20
sed 's/feedbackdebug$/& cohorts=0/' "$tmp/cf" >"$tmp/cf1" &&
    mv "$tmp/cf1" "$tmp/cf"
kill -HUP "$sched_pid"
wait_log 'reload .*done'
ok 'a host is not dead any more after a reload with cohorts=0' \
    wait_for 20 is_dest lost/h1.test '^1 0 0 [1-9][0-9] -$'
put "$po" 850001-1 down h.test u
ok 'nor is one without mail at the reload, when mail comes' \
    wait_log 'deferred msg=850001-1' 20

# ---- what the clauses may say -------------------------------------------------------

conf "$tmp/kw" <<END
a/*	maxthr=7 initthr=3 posfeedback=1/concurrency negfeedback="0.5 / 2"
	cohorts=2 rate=10/m forget=2h feedbackdebug command=x
b/*	command=x
END
out=$("$SCHEDULER" -n -f "$tmp/kw" a/x)
for want in maxthr=7 initthr=3 posfeedback=1/concurrency \
    'negfeedback="0.5 / 2"' cohorts=2 rate=10/m forget=2h feedbackdebug; do
	like "-n shows $want" "$out" "^	$want\$"
done
out=$("$SCHEDULER" -n -f "$tmp/kw" b/x)
for want in maxthr=1 initthr=5 posfeedback=1 negfeedback=1 cohorts=1 forget=1h
do
	like "-n shows the default $want" "$out" "^	$want\$"
done
printf 'a/*	posfeedback=2 command=x\n' >"$tmp/kw"
like 'a wrong feedback rule is refused' "$("$SCHEDULER" -n -f "$tmp/kw" 2>&1)" \
    ':1: posfeedback: 2 is not between 0 and 1'
printf 'a/*	rate=10 command=x\n' >"$tmp/kw"
like 'a wrong rate is refused' "$("$SCHEDULER" -n -f "$tmp/kw" 2>&1)" \
    ':1: rate: 10 has no /'
: >"$tmp/never"			# what hangs need not be killed
sched_stop
finish
