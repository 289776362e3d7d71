#!/bin/sh
# maxrcpts: the recipients of a message at one host, in portions.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
gate=$tmp/gate
tab=$(printf '\t')

configure() {	# settings, options of the agent
	conf "$tmp/cf" <<-END
	PARAMglobal-report-interval 0
	*/*	interval=1m maxta=20 idlemax=1h
	t/*	$1 command="$A -c t -s $tmp/said -o $tmp/out $2"
	END
	rm -f "$tmp/said" "$tmp/out" "$gate"
	rm -rf "$po"
	spool_new "$po"
}
# A list with recipients of one host among others, and offsets of all lengths.
list() {	# name recipients [host]
	lib_po=$po
	awk -v name="$1" -v n="$2" -v host="${3:-smart.test}" 'BEGIN {
		printf "i %s\no 0\nl <x@test>\ne sender\ns local - s 0\n", name
		for (i = 1; i <= n; i++)
			printf "r           t %s u%d 65534\n", host, i
		printf "m\nSubject: x\n\n"
	}' | put_raw "$po" "$1"
	notice "$po" "$1"
}
single() {	# name [host]
	put "$po" "$1" t "${2:-smart.test}" user
	notice "$po" "$1"
}
jobs() {	# name: the recipients that each job line names, "all" for none
	sed -n "s/^<\($1${tab}.*\)/\1/p" "$tmp/said" |
	    awk -F '\t' '{ print (NF < 3 ? "all" : split($3, a, ",")) }'
}
once() {	# how many were delivered to, and how many of them twice
	awk '$1 != "+" { n++; twice += seen[$1, $2]++ > 0 }
	END { print n + 0, twice + 0 }' "$tmp/out"
}
done_all() {
	po_empty "$po"
}
words() {
	tr '\n' ' ' | sed 's/ $//'
}

# ---- several agents ------------------------------------------------------------

configure 'maxthr=10 initthr=10 maxrcpts=20' "-p -w $gate"
is 'scheduler -n shows maxrcpts' "$("$SCHEDULER" -n -f "$tmp/cf" t/host 2>&1 |
    grep -o 'maxrcpts=[0-9]*')" maxrcpts=20
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
list 100-1 200
ten_wait() {
	[ "$(jobs 100-1 | grep -c .)" -eq 10 ]
}
ok '200 recipients of one host are with ten agents at once' \
    wait_for 30 ten_wait
is 'each agent has twenty of them' "$(jobs 100-1 | sort | uniq -c | words |
    tr -s ' ')" ' 10 20'
touch "$gate"
ok 'the list is delivered' wait_for 30 done_all
is 'each recipient is delivered to once' "$(once)" '200 0'
is 'each of them is reported in the log' "$(count ' delivered ')" 200
is 'each agent has had some' \
    "$(awk '!seen[$4]++' "$tmp/out" | grep -c .)" 10
rm -f "$tmp/said"
list 101-1 45
ok 'a later list is delivered' wait_for 30 done_all
is 'a later list is in portions from the first job on' \
    "$(jobs 101-1 | sort -n | words)" '5 20 20'
rm -f "$tmp/said"
list 102-1 20
ok 'a list as large as a portion is delivered' wait_for 30 done_all
is 'a list as large as a portion has no offsets in its line' \
    "$(jobs 102-1)" all
sched_stop
is 'no report was refused' "$(count ' report agent=')" 0

# With the host in the command the line names it, too, if there are offsets.
configure 'maxring=3 maxthr=3 initthr=3 maxrcpts=100 overfeed=9' '-p -H $host'
ok 'the scheduler starts with a host in the command' \
    sched_start "$po" "$tmp/cf"
list 103-1 1000 "$(printf '%0250d' 1).test"
ok 'a list in portions of a hundred is delivered' wait_for 30 done_all
is 'a list in portions of a hundred: each recipient once' "$(once)" '1000 0'
is 'a list in portions of a hundred: ten jobs' \
    "$(jobs 103-1 | sort | uniq -c | words | tr -s ' ')" ' 10 100'
sched_stop

# ---- other mail between them ----------------------------------------------------

for order in preempt random; do
	configure "maxchannel=1 maxrcpts=20 order=$order" "-p -w $gate"
	ok "order=$order: the scheduler starts" sched_start "$po" "$tmp/cf"
	list 110-1 200
	wait_for 30 [ -s "$tmp/said" ]
	single 111-1
	single 112-1
	wait_log ' load msg=111-1 ' && wait_log ' load msg=112-1 '
	touch "$gate"
	ok "order=$order: all is delivered" wait_for 30 done_all
	is "order=$order: each recipient once" "$(once)" '202 0'
	ok "order=$order: two messages have their turns between portions" \
	    [ "$(awk '/^11[12]-1 / { n = NR } END { print n }' "$tmp/out")" \
	    -le 62 ]
	is "order=$order: one agent has all portions" \
	    "$(awk '!seen[$4]++' "$tmp/out" | grep -c .)" 1
	sched_stop
done

# ---- agents of another make ------------------------------------------------------

configure 'maxthr=10 initthr=10 maxrcpts=20' ''
ok 'an agent that says nothing of offsets: the scheduler starts' \
    sched_start "$po" "$tmp/cf"
list 120-1 200
ok 'an agent that says nothing of offsets: the list is delivered' \
    wait_for 30 done_all
is 'an agent that says nothing of offsets: one job has them all' \
    "$(jobs 120-1)" all
is 'an agent that says nothing of offsets: each recipient once' \
    "$(once)" '200 0'
is 'an agent that says nothing of offsets: each is reported' \
    "$(count ' delivered .*to=u')" 200
sched_stop

# Another make takes the place of ours, and works for recipients that portions
# have, while these wait and in their midst.
configure 'maxring=3 maxthr=9 initthr=9 maxrcpts=5 interval=1s retries=1' \
    "-l -p -w $gate"
ok 'another make takes over: the scheduler starts' \
    sched_start "$po" "$tmp/cf"
list 121-1 40
three_wait() {
	[ "$(jobs 121-1 | grep -c .)" -eq 3 ]
}
some_done() {
	[ "$(grep -c '^+' "$tmp/out")" -ge "$1" ]
}
ok 'another make takes over: three agents have a portion' \
    wait_for 30 three_wait
sed "s,-l -p -w $gate,-l -m 30," "$tmp/cf" >"$tmp/cf.new"
mv "$tmp/cf.new" "$tmp/cf"
kill -HUP "$sched_pid"
ok 'another make takes over: the first make has the first portion' \
    wait_for 30 some_done 27
other=$(lines ' agent-start ' | sed -n 's/.* pid=\([0-9]*\) .*/\1/p' |
    tail -n 1)
kill -STOP "$other"
touch "$gate"
twice_deferred() {
	[ "$(count ' deferred .* did not report')" -ge 2 ]
}
ok 'another make takes over: what it has is left to it' \
    wait_for 30 twice_deferred
kill -CONT "$other"
ok 'another make takes over: the list is delivered' wait_for 60 done_all
is 'another make takes over: each recipient once' "$(once)" '40 0'
is 'another make takes over: the log has each recipient once' \
    "$(lines ' delivered ' | sed 's/.* rcpt=\([0-9]*\) .*/\1/' | sort -u |
    grep -c .)" 40
ok 'another make takes over: tags have decided' \
    [ "$(count 'delivered .*by its tag')" -ge 2 ]
sched_stop

# ---- ends -------------------------------------------------------------------------

# Each agent dies at its second job, with a tag and without a report.
configure 'maxthr=3 initthr=3 maxrcpts=10 retries="0 0 0 0 0 0 0 1"' '-p -l -D 2'
ok 'agents die: the scheduler starts' sched_start "$po" "$tmp/cf"
list 130-1 200
ok 'agents die: the list is delivered' wait_for 60 done_all
is 'agents die: each recipient once' "$(once)" '200 0'
sched_stop

configure 'maxthr=3 initthr=3 maxrcpts=10' '-p -l -m 5'
ok 'kill -9: the scheduler starts' sched_start "$po" "$tmp/cf"
list 131-1 200
agents() {
	lines ' agent-start ' | sed 's/.* pid=\([0-9]*\) .*/\1/'
}
no_agent() {
	for pid in $all; do
		gone "$pid" || return 1
	done
}
for n in 20 60 100; do
	ok "kill -9: $n are delivered to" wait_for 30 some_done $n
	kill -9 $(agents | tail -n 1)
	ok "kill -9: of one agent after $n" wait_log ' agent-lost '
	all=$(agents)
	sched_stop KILL
	ok "kill -9: its agents end after $n" wait_for 30 no_agent
	ok "kill -9: the scheduler starts again after $n" \
	    sched_start "$po" "$tmp/cf"
done
ok 'kill -9: the list is delivered' wait_for 90 done_all
is 'kill -9: no tag was set twice' \
    "$(sed -n 's/^+ //p' "$tmp/out" | sort | uniq -d)" ''
is 'kill -9: each tag was set' \
    "$(grep '^+' "$tmp/out" | sort -u | grep -c .)" 200
sched_stop

# ---- commands, reasons and warnings ---------------------------------------------

configure 'maxthr=2 initthr=2 maxrcpts=10' "-p -w $gate"
ok 'commands: the scheduler starts' sched_start "$po" "$tmp/cf" \
    -q "$po/public/.mailq.text"
list 140-1 100
two_wait() {
	[ "$(jobs 140-1 | grep -c .)" -eq 2 ]
}
ok 'commands: two agents have a portion' wait_for 30 two_wait
is 'commands: mailq shows each recipient once' \
    "$(POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" -v |
    sed -n 's/^		to //p' | sort | uniq -c | awk '{ print $1 }' | sort |
    uniq -c | tr -s ' ')" ' 100 1'
is 'commands: mailq -s counts a message once' \
    "$(POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" -s |
    awk '$1 == "t/smart.test" { print $2 }')" 1
is 'commands: delete is for all portions' \
    "$(POSTOFFICE=$po "$top/mailq" delete t/smart.test)" \
    '1 job deleted, 2 when their agents have reported'
touch "$gate"
ok 'commands: the message ends' wait_for 30 done_all
is 'commands: only what agents had is delivered' "$(once)" '20 0'
sched_stop

# Each recipient has a reason of its own, and a portion to itself.
agent tell <<'AGENT'
echo '#hungry offsets'
tab=$(printf '\t')
while IFS="$tab" read -r job host offsets && [ -n "$job" ]; do
	for off in $(echo "$offsets" | tr , ' '); do
		printf '%s/%s\t\tdeferred reason %s\n' "${job%%-*}" "$off" "$off"
	done
	echo '#hungry'
done
AGENT
configure 'maxthr=2 initthr=2 maxrcpts=1 interval=1h reporttimes=2s delayreport'
sed 's/command=.*/command=tell/' "$tmp/cf" >"$tmp/cf.new"
mv "$tmp/cf.new" "$tmp/cf"
ok 'warnings: the scheduler starts' sched_start "$po" "$tmp/cf" \
    -q "$po/public/.mailq.text"
list 150-1 12
ok 'warnings: a DSN is sent' wait_log ' channel=dsn .* file=router'
is 'warnings: one line for the host' "$(grep -c '^d' "$po/transport/150-1")" 1
is 'warnings: each recipient has its own reason in the DSN' \
    "$(sed -n 's/^Diagnostic-Code: .*reason //p' "$po"/router/[0-9]* | words)" \
    "$(awk '/^r / { print off } { off += length($0) + 1 }' \
    "$po/transport/150-1" | words)"
is 'warnings: mailq show has the reason of each' \
    "$(POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" show 150-1 |
    sed -n 's/.*1 try: reason //p' | words)" \
    "$(awk '/^r / { print off } { off += length($0) + 1 }' \
    "$po/transport/150-1" | words)"
sched_stop

# ---- our agents -------------------------------------------------------------------

for a in mailbox hold errormail smtp "sm -c t x" "dsn"; do
	set -- $a
	[ "$1" != smtp ] || ! without NO_TCP || continue
	program=$1
	shift
	want='#hungry offsets'
	[ "$program" != dsn ] || want='#hungry'
	is "$program says whether it takes offsets" \
	    "$("$top/ta/$program" "$@" </dev/null 2>&1)" "$want"
done

cat >"$tmp/keep" <<END
#!$(command -v sh)
cat >/dev/null
echo "\$1" >>"$tmp/to"
END
chmod 755 "$tmp/keep"
echo "one	n	$tmp/keep keep \$u" >"$tmp/sm.cf"
rm -rf "$po"
spool_new "$po"
feed() {	# host and offsets
	rm -f "$tmp/to"
	printf '160-1\t%s\n' "$1" | (cd "$po/transport" &&
	    exec "$top/ta/sm" -0 -c t -f "$tmp/sm.cf" one) >"$tmp/said" 2>&1
	cat "$tmp/to" 2>/dev/null | words
}
fresh() {
	put "$po" 160-1 t h a t h b t other c t h d t h e
}
fresh
set -- $(awk '/^r / { print off } { off += length($0) + 1 }' \
    "$po/transport/160-1")
is 'an agent takes the recipients that are named' "$(feed "h$tab$2,$5")" 'b e'
is 'an agent reports those alone' \
    "$(sed -n 's/^160.\([0-9]*\).*/\1/p' "$tmp/said" | words)" "$2 $5"
fresh
is 'an agent takes none of another host' "$(feed "h$tab$1,$3")" a
fresh
is 'an agent takes nobody where an offset is that of no recipient' \
    "$(feed "h$tab$(($1 + 1)),$(($4 - 1))")" ''
for bad in x "$1,x" "$1 $2" "-$1" "+$1" "$1$tab$2" "$1;" \
    "$(awk 'BEGIN { for (i = 0; i < 400; i++) printf "%d,", i }')$1"; do
	is "offsets that are none: nobody is delivered to: $bad" \
	    "$(feed "h$tab$bad")" ''
	is "offsets that are none: the agent says so: $bad" \
	    "$(grep -c -e "^# the job's list of offsets is too long or damaged" \
	    -e '^#resync 160-1$' "$tmp/said")" 2
done
for bad in '' , 0 99999999999999999999999 "$1$2"; do
	is "offsets of nobody: nobody is delivered to: $bad" \
	    "$(feed "h$tab$bad") $(grep -c '^#resync 160-1$' "$tmp/said")" ' 1'
done
is 'offsets that are none: all still wait' \
    "$(grep -c '^r  ' "$po/transport/160-1")" 5
finish
