#!/bin/sh
# How agents are started, talked to, and what becomes of bad ones.
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
conf "$tmp/cf" <<END
*/*	interval=50s retries="1" expiry=1d
env/*	maxta=0 command="FOO=bar BAZ='q x' $A -e -c env -s $tmp/env.log"
host/*	command="$A -c host -s $tmp/host.log -o $tmp/\$host.out"
word/*	command="$A -c word -s $tmp/word.log -h \$host"
chan/*	command="$A -c \$channel -s $tmp/chan.log"
rel/*	command="mine"
path/*	command="PATH=/nowhere TZ=UTC3 $A -e -c path -s $tmp/path.log"
nice/*	nice=5 user=65534 group=65533 command="$A -e -c nice -s $tmp/pub/nice"
none/*	command="not-there"
dies/*	command="$A -c dies -d 1"
PARAMdsn="-x 'worn/*'"
worn/*	expiry=9s expiry2=1s command="$A -c worn -d 1"
after/*	command="$A -c after -D 1"
second/* overfeed=5 command="$A -c second -d 2"
mute/*	timeout=1s command="$A -g"
slow/*	timeout=1s command="$A -c slow -w $tmp/never"
again/*	timeout=1s command="again"
resync/* command="$A -c resync -r"
noise/*	command="$A -c noise -x $tmp/noise"
foreign/* command="$A -c foreign -x $tmp/foreign"
once/*	command="$A -c once -x $tmp/once"
wrong/*	command="wrong"
apart/*	command="apart"
END
printf '# hello\n\nthis is not it\n12/34\tx\n12/\t\tok\n99999/1\t\tok3\n' \
    >"$tmp/noise"
printf '191/55\t\tok3\n' >"$tmp/foreign"
printf '201/55\t\tdeferred twice\n' >"$tmp/once"
agent mine <<'END'
echo "#hungry"
read -r job
echo "#got $0"
END
agent wrong <<'END'
echo "wrong: invalid option -- 'z'"
echo 'usage: wrong [-x] file'
echo '             [-y]'
exit 64
END
agent again <<'END'
echo '#hungry'
read -r job
off=$(awk '/^r / { print n + 0 } { n += length($0) + 1 }' "${job%%	*}")
say() {
	printf '%s/%s\t\tdeferred once more\n' "${job%%-*}" "$off"
}
i=0
while [ $i -lt 150 ]; do
	say
	i=$((i + 1))
done
while say; do
	sleep 0.2 2>/dev/null || sleep 1
done
END
agent apart <<'END'
echo '#hungry'
read -r job
echo "an old story"
echo '#hungry'
read -r job
echo '#step looking in the attic'
exit 9
END
spool_new "$po"

# ---- start ------------------------------------------------------------------

put "$po" 101-1 env Some.Host user
put "$po" 102-1 host other.host user
put "$po" 103-1 word alone user
put "$po" 104-1 chan x user
put "$po" 105-1 rel x user
mkdir "$tmp/pub"
chmod 777 "$tmp/pub"
put "$po" 106-1 nice x user
put "$po" 107-1 word -rf user
put "$po" 108-1 path x user
TZ=UTC7
export TZ
SECRET=1
export SECRET
umask 027
exec 7>"$tmp/seven"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -N 40
exec 7>&-
unset TZ
for m in 101 104; do
	wait_log "complete msg=$m-1"
done
wait_log 'agent-says .*got'

is 'an agent gets its command words, TZ, PATH, CHANNEL, names and places only' \
    "$(grep '^env ' "$tmp/env.log" | sort | tr '\n' ' ')" \
    "env BAZ=q x env CHANNEL=env env FOO=bar env MAILBIN=$tmp/bin env MAILNAME=this.example env MAILSHARE=$tmp env PATH=$PATH env TZ=UTC7 "
wait_log 'complete msg=108-1'
is 'a name that the command sets is in the environment once' \
    "$(grep -E '^env (PATH|TZ)' "$tmp/path.log" | sort | tr '\n' ' ')" \
    'env PATH=/nowhere env TZ=UTC3 '
is 'an agent starts in transport/' \
    "$(grep '^cwd' "$tmp/env.log")" "cwd $po/transport"
is 'an agent has the descriptors 0, 1 and 2 alone' \
    "$(grep '^fd' "$tmp/env.log" | tr '\n' ' ')" 'fd 0 fd 1 fd 2 '
if without NO_RLIMIT; then
	skip 'an agent may open as many files as -N says' \
	    'built without getrlimit'
else
	is 'an agent may open as many files as -N says' \
	    "$(grep '^nofile' "$tmp/env.log")" \
	    'nofile 40'
fi
is 'a job names message and host, in lower case' \
    "$(sed -n 's/^<1/1/p' "$tmp/env.log")" '101-1	some.host'
ok 'with $host inside a word of the command a job names the host' \
    wait_for 30 grep '^<102-1	other.host$' "$tmp/host.log"
ok '$host as a word: a job names the message alone' \
    wait_for 30 grep '^<103-1$' "$tmp/word.log"
ok 'a host that looks like an option is not given to an agent' \
    wait_log 'asleep .*host=-rf .*option'
ok 'a host that looks like an option stops no other' \
    logged 'agent-start .*host=alone'
ok 'a relative command is in MAILBIN/ta' \
    logged "agent-says .*got $tmp/bin/ta/mine"
ok 'an agent with nothing to do gets the line #idle' \
    wait_for 30 grep '^<#idle$' "$tmp/chan.log"

# The tests may run at a niceness of their own.
nice=$(nice 2>/dev/null) || nice=0
nice=$((nice < 15 ? nice + 5 : 19))
ok 'an agent runs with the nice of its clause' \
    wait_for 30 grep "^nice $nice\$" "$tmp/pub/nice"
if without NO_INITGROUPS; then
	like 'an agent has the user and group of its clause' \
	    "$(tr '\n' ' ' <"$tmp/pub/nice")" \
	    "uid $(id -u | sed s/^0$/65534/) gid"
elif [ "$(id -u)" -eq 0 ]; then
	is 'an agent has the user and group of its clause and no other group' \
	    "$(grep '^[ug][ir]' "$tmp/pub/nice" | sort | tr '\n' ' ')" \
	    "gid 65533 groups $(case $(uname) in
		(FreeBSD | DragonFly | Darwin) echo 1 ;; (*) echo 0 ;; esac) uid 65534 "
else
	is 'without root an agent keeps the user of the scheduler' \
	    "$(grep '^uid' "$tmp/pub/nice")" "uid $(id -u)"
fi

# ---- trouble -------------------------------------------------------------------

put "$po" 111-1 none a user
put "$po" 112-1 none b user
put "$po" 113-1 none c user
ok 'an agent that cannot be executed is logged' \
    wait_log 'err agent channel=none .*cannot execute .*No such file'
put "$po" 114-1 none d user
wait_log 'load msg=114-1'
is 'an agent that cannot be executed is logged in one line' \
    "$(lines 'not-there' | wc -l | tr -d ' ')" 1
like 'the ring of an agent that cannot be executed stops for an interval' \
    "$(lines 'not-there')" \
    'its mail waits for 50s$'

put "$po" 117-1 wrong h user
ok 'the first complaint of an agent that ends is logged' \
    wait_log "err agent channel=wrong .*64: wrong: invalid option -- 'z'; its"
put "$po" 118-1 apart h user
ok 'the last step of an agent that ends without a word is logged' \
    wait_log 'channel=apart .*code 9 while at this: looking in the attic'
put "$po" 121-1 dies h user
put "$po" 122-1 dies h user
ok 'an agent that ends before it begins a job stops its ring for a second' \
    wait_log 'agent channel=dies .* died with exit code 70; its mail waits for 1s'
ok 'jobs of an agent that ends before it begins them are ready again' \
    wait_log 'not-begun msg=12[12]-1'
ok 'the second end before a job stops the ring for two seconds' \
    wait_log 'agent channel=dies .*its mail waits for 2s'
ok 'the third end before a job stops the ring for four seconds' \
    wait_log 'agent channel=dies .*its mail waits for 4s' 20
is 'no job is deferred before the third end of an agent' \
    "$(lines 'deferred msg=12|waits for 4s' |
    head -n 1 | grep -c 'waits for 4s')" 1
ok 'a job before which each agent ends is deferred with that reason' \
    wait_log 'deferred msg=12[12]-1 .*tries=1 .*agent died with exit code 70' 30

put "$po" 124-1 worn h user
ok 'mailq says why mail of an agent that keeps ending waits' wait_for 20 eval \
    'POSTOFFICE=$po "$top/mailq" -v 2>&1 | awk "/worn.h/ { getline; print }" |
    grep "died with exit code 70" >/dev/null'
ok 'mail of an agent that keeps ending expires' \
    wait_log 'failed msg=124-1 .*status=expire ' 60

POSTOFFICE=$po "$top/mailq" hold 'second/*' >"$tmp/held" 2>&1
put "$po" 126-1 second h user
put "$po" 127-1 second h user
put "$po" 128-1 second h user
put "$po" 129-1 second h user
wait_for 30 eval '[ "$(count "load msg=12[6-9]-1")" -eq 4 ]'
POSTOFFICE=$po "$top/mailq" release 'second/*' >>"$tmp/held" 2>&1
ok 'an agent that dies at its second job is logged' \
    wait_log 'agent-lost .*channel=second .*exit code 70'
ok 'jobs that a dead agent may not have begun are ready again' \
    wait_log 'not-begun msg=12[6-9]-1'
ok 'jobs of dead agents are delivered or deferred' wait_for 20 eval \
    '[ "$(count "(complete|deferred) msg=12[6-9]-1")" -eq 4 ]'
ok 'at most two of four jobs of dead agents are deferred' \
    [ "$(count 'deferred msg=12[6-9]')" -le 2 ]
is 'no job of dead agents has more than one attempt' \
    "$(count 'deferred msg=12[6-9].* tries=[2-9]')" 0
is 'an agent that has worked stops no ring' \
    "$(count 'agent channel=second .*waits for')" 0
put "$po" 131-1 after h user
ok 'the tag decides when an agent died before its report' \
    wait_log 'delivered msg=131-1 .*by its tag'
ok 'a message that is delivered by its tag is complete' \
    wait_log 'complete msg=131-1'

put "$po" 141-1 mute h user
ok 'an agent that never says hungry is ended' \
    wait_log 'agent channel=mute .*silent too long.*waits for 50s'
put "$po" 151-1 slow h user
ok 'an agent silent with work in hand is ended' \
    wait_log 'agent-lost .*channel=slow .*silent too long' 30
ok 'the job of an agent that was silent with it is deferred' \
    wait_log 'deferred msg=151-1'

put "$po" 152-1 again h user
ok 'an agent that repeats one report for ever is ended as silent' \
    wait_log 'agent-lost .*channel=again .*silent too long' 30
ok 'the job of an agent that repeats one report is deferred' \
    wait_log 'deferred msg=152-1 .*once more'

put "$po" 161-1 resync h user
ok '#resync is logged' wait_log 'found nothing to do in: 161-1'
ok '#resync defers the job' wait_log 'deferred msg=161-1 .*next='
is '#resync comes once, not in a loop' \
    "$(lines 'found nothing to do in: 161-1' | wc -l | tr -d ' ')" 1

put "$po" 171-1 noise h user
ok 'garbled lines of an agent change nothing' \
    wait_log 'complete msg=171-1 .*failed=none'
ok 'text of an agent is logged' logged 'agent-says .*channel=noise hello'
ok 'a line of an agent that is no report is logged as garbled' \
    logged 'garbled: this is not it'
ok 'a report with too few fields is logged as garbled' logged 'garbled: 12/34'
ok 'a report without an offset is logged as garbled' logged 'garbled: 12/.*ok'
ok 'a report of an unknown message is logged' \
    logged 'report .*num=99999 .* refused'

put "$po" 191-1 slow other user
put "$po" 192-1 foreign h user
ok 'a report for a message of another agent is refused' \
    wait_log 'report .*num=191 rcpt=55 .*refused'
ok 'the message of a refused report stays' [ -f "$po/transport/191-1" ]
put "$po" 201-1 once h user
ok 'a deferral followed by a success is a success' \
    wait_log 'complete msg=201-1 .*failed=none'

# ---- the channel of an agent -------------------------------------------------------

mkdir "$tmp/boxes"
cat >>"$tmp/cf" <<END
mail/*	command="$top/ta/mailbox -n -d $tmp/boxes"
post/*	command="$top/ta/mailbox -n -c local -d $tmp/boxes"
END
kill -HUP $sched_pid
wait_log 'reload .*done'
put "$po" 221-1 mail - anna
ok 'an agent works for the channel for which it is started' \
    wait_log 'complete msg=221-1 .*failed=none'
put "$po" 222-1 post - anna
ok 'an agent whose -c is another channel says which one the job has' wait_log \
    'agent-says .*this agent is for channel local, the job is for post; give it -c \$channel'
n=$(count 'reload .*done')

# ---- lines cut anywhere, and far too long ----------------------------------------

agent bits <<'END'
printf '#hun'
printf 'gry\n'
IFS='	' read -r job host
off=$(grep -b '^r' "$job" | cut -d: -f1)
awk 'BEGIN { for (i = 0; i < 200000; i++) printf "x"; print "" }'
printf '%s' "${job%-*}/"
printf '%s\t' "$off"
printf '\tok3 fi'
printf 'ne\n#hungry\n'
read -r job
END
cat >>"$tmp/cf" <<'END'
bits/*	command="bits"
END
kill -HUP $sched_pid
wait_for 30 eval '[ "$(count "reload .*done")" -gt $n ]'
put "$po" 211-1 bits h user
ok 'a report that comes in pieces is put together' \
    wait_log 'delivered msg=211-1 .*fine$'
ok 'a line without an end is thrown away' logged 'garbled: a line that is too'

awk 'BEGIN { for (i = 0; i < 150; i++) print "noise" }' >"$tmp/noise"
cat >>"$tmp/cf" <<END
noisy/*	command="$A -c noisy -x $tmp/noise"
END
n=$(count 'reload .*done')
kill -HUP $sched_pid
wait_for 30 eval '[ "$(count "reload .*done")" -gt $n ]'
put "$po" 212-1 noisy h user
ok 'an agent of many words delivers' wait_log 'complete msg=212-1'
is 'a hundred lines of an agent are logged, then that there were more' \
    "$(count 'agent-says .*channel=noisy .*noise') $(count \
    'agent-says .*channel=noisy too much; no more')" '100 1'

# ---- one that reads nothing --------------------------------------------------------

agent unread <<END
if mkdir $tmp/unread 2>/dev/null; then
	echo '#hungry'
	exec sleep 1000
fi
exec $A -c unread
END
cat >>"$tmp/cf" <<'END'
unread/* interval=1s retries=1 timeout=7s overfeed=1000 command="unread"
long/* command="unread $host $host $host $host $host"
END
long=$(awk 'BEGIN { for (i = 0; i < 900; i++) printf "h" }')
"$top/t/mkspool" -c unread -n "$long" -f 30000 "$po" 300
n=$(count 'reload .*done')
kill -HUP $sched_pid
wait_for 30 eval '[ "$(count "reload .*done")" -gt $n ]'
put "$po" 213-1 long "$long" user
ok 'a command that a long host makes too long is a reason' \
    wait_log 'asleep channel=long .* the command is too long$'
ok 'an agent that reads nothing is ended as silent' \
    wait_log 'agent-lost .*channel=unread .*silent too long' 90
n=$(lines 'agent-lost .*channel=unread' | sed -n '1s/.* jobs=\([0-9]*\) .*/\1/p')
ok 'an agent that reads nothing got no more jobs than it has room for' \
    eval '[ "${n:-0}" -gt 0 ] && [ "$n" -lt 300 ]'
ok 'all jobs of an agent that reads nothing go to another agent' wait_for 60 \
    eval '[ "$(count "delivered .*channel=unread")" -ge 300 ]'

sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
