#!/bin/sh
# A site that has put this scheduler in ZMailer's place: its scripts rotate logs
# by renaming them, and restart the scheduler without waiting for its end.
. "${0%/*}/lib.sh"

A=$top/t/agent
S=$SCHEDULER
po=$tmp/po
log=$tmp/log/scheduler
gate=$tmp/gate
spool_new "$po"
mkdir "$tmp/stats"
MAILBIN=$tmp/bin MAILSHARE=$tmp LOGDIR=$tmp/log
export MAILBIN MAILSHARE LOGDIR
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=1d
test/*	command="$A -c test -o $tmp/out"
gate/*	command="$A -c gate -w $gate -o $tmp/out -s $tmp/said"
END

start() {	# a daemon: its exit code
	"$S" -P "$po" -f "$tmp/cf" -l "$tmp/stats/stat" >"$tmp/start" 2>&1
	start_rc=$?
	pid=$(head -n 1 "$po/.pid.scheduler")
	lib_pids="$lib_pids $pid"
	cat "$tmp/start"
	return $start_rc
}
in_log() {	# pattern
	grep -e "$1" "$log"
}
delivered() {	# name ...
	for delivered_i; do
		grep "^$delivered_i " "$tmp/out" || return
	done
}

# ---- logs are renamed ----------------------------------------------------------

own_clocks
S=$SCHEDULER
ok 'the scheduler starts' start
put "$po" 101-1 test h user
ok 'mail is delivered' wait_for 30 in_log 'complete msg=101-1'
mv "$log" "$log.0"
: >"$log"
mv "$tmp/stats/stat" "$tmp/stat.0"
set_clock "$MONO" '0 5'	# each pass takes 5 seconds
ok 'a renamed log is opened anew without a signal' wait_for 30 eval \
    'put "$po" "2$((n += 1))-1" test h user && grep complete "$log"'
ok 'a renamed statistics log is made anew without a signal' \
    wait_for 30 grep . "$tmp/stats/stat"
ok 'lines of the time before are in the old logs' eval \
    'grep "complete msg=101-1" "$log.0" && grep . "$tmp/stat.0"'
# Each failure is logged once, while mail is delivered for minutes of its clock.
mv "$tmp/stats" "$tmp/stats.1"
ok 'a statistics log that cannot be opened is logged' \
    wait_for 30 in_log ' err statlog file='
mv "$tmp/log" "$tmp/logs"
log=$tmp/logs/scheduler
ok 'a log that cannot be opened is logged' wait_for 30 in_log ' err log file='
passes() {	# number: they come, of 5 seconds each
	passes_end=$(($(cat "$PASSES") + $1))
	wait_for 30 eval 'put "$po" "2$((n += 1))-1" test h user
	    [ $(($(cat "$PASSES"))) -ge $passes_end ]'
}
ok 'a minute passes' passes 12
is 'the error of each of the two logs is logged once' \
    "$(in_log ' err log file=' | wc -l | tr -d ' ') $(
    in_log ' err statlog file=' | wc -l | tr -d ' ')" '1 1'
kill -HUP "$pid"
ok 'a reload logs both once more' wait_for 30 eval \
    '[ "$(in_log " err \(stat\)*log file=" | wc -l)" -eq 4 ]'
mv "$tmp/logs" "$tmp/log"
log=$tmp/log/scheduler
mkdir "$tmp/stats"
ok 'the statistics log is made when it can be' wait_for 30 eval \
    'put "$po" "2$((n += 1))-1" test h user; [ -f "$tmp/stats/stat" ]'
kill "$pid"
wait_for 30 gone "$pid"
S=$top/scheduler
unset WALL MONO PASSES

# ---- the pid file ---------------------------------------------------------------

ok 'the scheduler starts again' start
like 'all may read the pid file' "$(ls -l "$po/.pid.scheduler")" '^-rw-r--r--'
like 'nobody else may read the lock file' \
    "$(ls -l "$po/.lock.scheduler")" '^-rw-------'
if [ "$(id -u)" -eq 0 ] && as_nobody true >/dev/null 2>&1; then
	kill "$pid"
	wait_for 30 gone "$pid"
	echo 99999999 >"$po/.pid.scheduler"
	chmod 644 "$po/.pid.scheduler"
	cp "$top/t/held" "$tmp/bin/held"
	chmod 755 "$tmp/bin/held"
	as_nobody "$tmp/bin/held" -r "$po/.pid.scheduler" >"$tmp/held" &
	lib_pids="$lib_pids $!"
	wait_for 30 grep guard "$tmp/held"
	ok 'a user who locks the pid file keeps no scheduler from starting' start
else
	skip 'a user who locks the pid file keeps no scheduler from starting' \
	    'not root'
fi

# ---- a restart without waiting ---------------------------------------------------

put "$po" 301-1 gate h user
wait_for 30 grep '^<301-1' "$tmp/said"
old=$pid
kill -TERM "$old"
bg "$S" -P "$po" -f "$tmp/cf" -l "$tmp/stats/stat" >"$tmp/start" 2>&1
new=$bg_pid
ok 'a new scheduler waits for one that is ending' \
    wait_for 30 grep " waiting pid=$old is ending" "$tmp/start"
: >"$gate"
wait $new
is 'a new scheduler starts when the old one has ended' $? 0
pid=$(head -n 1 "$po/.pid.scheduler")
lib_pids="$lib_pids $pid"
ok 'the new scheduler is another process' [ "$pid" != "$old" ]
ok 'the log says for whom the new scheduler has waited' \
    wait_for 30 in_log " waiting pid=$old is ending"
ok 'the agent of the old one has finished its job' delivered 301-1
put "$po" 302-1 test h user
ok 'the new scheduler delivers' wait_for 30 delivered 302-1
if "$S" -P "$po" -f "$tmp/cf" >"$tmp/second" 2>&1; then
	fail 'a scheduler that is not ending is not waited for'
else
	is 'a scheduler that is not ending is not waited for' $? 73
fi

# ---- a housekeeper that kills and starts ------------------------------------------

bad=
for sig in KILL TERM KILL TERM INT KILL; do
	n=$((n + 1))
	put "$po" 4$n-1 test h$n user
	kill -$sig "$pid"
	start >/dev/null || bad="$bad $sig:$start_rc"
	put "$po" 5$n-1 test h$n user
done
is 'a scheduler can be killed and started at once' "$bad" ''
ok 'all mail is delivered' wait_for 60 po_empty "$po"
kill "$pid"
wait_for 30 gone "$pid"

# ---- MAILBIN has no agent for DSNs ---------------------------------------------------

rm "$tmp/bin/ta/dsn"
mkdir "$tmp/share"
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=1d
fail/*	command="$A -c fail -o $tmp/out error no such user"
END
start >/dev/null
put "$po" 601-1 fail h user
ok 'a start names the missing agent of DSNs' \
    in_log " err agent $tmp/bin/ta/dsn cannot be run; no sender is told"
waits() {
	POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" -v >"$tmp/mailq" &&
	    grep 601-1 "$tmp/mailq" && grep 'ta/dsn: No such file' "$tmp/mailq"
}
ok 'mailq says why failed mail stays' wait_for 30 waits
kill "$pid"
wait_for 30 gone "$pid"
check() {	# [option ...]: rc and said
	said=$("$S" -n -P "$po" -f "$tmp/cf" "$@" 2>&1)
	rc=$?
}
check
like 'scheduler -n names the missing agent of DSNs' "$said" \
    "$tmp/bin/ta/dsn cannot be run: no sender would be told"
is 'scheduler -n without an agent of DSNs: the exit code is 1' $rc 1
ln -s "$top/ta/dsn" "$tmp/bin/ta/dsn"
check
is 'scheduler -n with an agent of DSNs: the exit code is 0' $rc 0

# ---- its command line and configuration -----------------------------------------------

unlike 'scheduler -n alone says nothing of other options' "$said" 'is started'
check -i
like 'scheduler -n -i says that no scheduler is started' "$said" \
    'checks the configuration; no scheduler is started'
check -M 2
like '-M is taken, and has no effect' "$said" 'option -M 2 has no effect'
is '-M is no error' $rc 0
mv "$tmp/cf" "$tmp/scheduler.conf"
check
like 'without scheduler.cf a start names scheduler.conf and -f' "$said" \
    "cannot be read: .*; -f $tmp/scheduler.conf reads ZMailer's"
cat >"$tmp/cf" <<END
*/*	maxta=-1 maxchannel=-1 maxring=-1 maxthr=-1 overfeed=-1
	expiry=-1 expiry2=5d; retries="1, 2" idlemax=1h,
fail/*	command="$A"
END
check
is 'numbers as ZMailer takes them are no error' $rc 0
is 'each number as ZMailer takes it is named with its value' \
    "$(printf '%s\n' "$said" |
    sed -n 's/.*: \([a-z2]*\): \(.*\) is taken for \(.*\), as in .*/\1 \2 \3/p' |
    tr '\n' ' ')" "maxta -1 0 maxchannel -1 0 maxring -1 0 maxthr -1 1 \
overfeed -1 0 expiry -1 0 expiry2 5d; 5d retries 1, 1 idlemax 1h, 1h "
is 'numbers as ZMailer takes them have these values' \
    "$("$S" -n -P "$po" -f "$tmp/cf" fail/h 2>/dev/null |
    grep -E 'maxta|maxthr|overfeed|expiry|retries' | tr -d '\t' |
    tr '\n' ' ')" \
    'expiry=0s expiry2=5d retries="1, 2" maxta=0 maxthr=1 overfeed=0 '

# ---- agents of another make ---------------------------------------------------------

cat >"$tmp/bin/ta/mailbox" <<END
#!/bin/sh
[ "\$1" = -V ] || echo "asked \$*" >>$tmp/asked
echo "mailbox: invalid option -- '\${1#-}'
ZMailer mailbox 3.0.1" >&2
END
chmod 755 "$tmp/bin/ta/mailbox"
ln -s "$top/ta/sm" "$tmp/bin/ta/sm"
cat >"$tmp/cf" <<END
*/*	interval=1h
local/*	command="mailbox -8"
a/*	command="sm -c a -Q a"
END
check
like 'the options of an agent of another make are not checked' "$said" \
    "cf:2: command: the options of .*/mailbox are not checked, as it is not the agent"
is 'an agent of another make says nothing' \
    "$(printf '%s\n' "$said" | grep -c 'invalid option')" 0
nok 'an agent of another make is not started with -N' [ -f "$tmp/asked" ]
like 'the options of our agent are checked' "$said" 'cf:3: command: sm does not take these'

# ---- what agents and programs find ----------------------------------------------------

rm "$tmp/bin/ta/mailbox"
ln -s "$top/ta/mailbox" "$top/ta/errormail" "$tmp/bin/ta"
mkdir "$tmp/box" "$tmp/share/forms"
chmod 1777 "$tmp/box"
cat >"$tmp/zenv" <<END
POSTOFFICE=$po
MAILSHARE=$tmp/share
MAILBOX='$tmp/box'
END
printf 'cat\tnX\t/bin/sh\tsh -c "cat >%s"\n' "$tmp/catted" >"$tmp/share/sm.cf"
printf 'SUB No such user\nADR Bcc: <other@x.example>\nour own form\n' \
    >"$tmp/share/forms/norecipients"
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h
local/*	command="mailbox -0nw 1"
pipe/*	command="mailbox -0 -c pipe"
cat/*	command="sm -0 cat"
error/*	command="errormail"
END
unset MAILSHARE
# A sender chooses how many words there are.
again=$(awk 'BEGIN { for (i = 0; i < 400; i++) printf " ORCPT=rfc822;%d", i }')
put_pipe() {	# name envid
	printf '%s\n' "i $1" 'o 0' 'l <x@test>' "n $2" 'e anna@a.example' \
	    's smtp - anna@a.example 65534' \
	    "r           pipe - \"|env >$tmp/env.$1; pwd >$tmp/pwd.$1\" $(id -u)" \
	    "N NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;b+40x$again INRCPT=rfc822;c INFROM=rfc822;d" \
	    m 'Subject: x' '' | put_raw "$po" "$1"
}
put "$po" 701-1 local - anna
put_pipe 702-1 QQ+20
put "$po" 703-1 error norecipients user
put "$po" 704-1 cat h user
printf '.dot\n' >"$po/queue/704-1"
"$S" -P "$po" -f "$tmp/cf" -Z "$tmp/zenv" >"$tmp/start" 2>&1
pid=$(head -n 1 "$po/.pid.scheduler")
lib_pids="$lib_pids $pid"
ok 'mailbox delivers to the MAILBOX of zmailer.conf' \
    wait_for 30 test -s "$tmp/box/anna"
ok 'a program of mailbox runs' wait_for 30 test -s "$tmp/pwd.702-1"
has() {	# NAME: its value
	sed -n "s/^$1=//p" "$tmp/env.702-1"
}
is 'a program knows the envelope as from mailbox of ZMailer' \
    "$(for i in SENDER NOTIFY ORCPT INRCPT INFROM ENVID MESSAGEID UID; do
	printf '%s ' "$(has $i)"; done)" "anna@a.example SUCCESS,FAILURE \
rfc822;b+40x rfc822;c rfc822;d QQ+20 702-1 $(id -u) "
is 'of 401 words of one kind a program gets the first' \
    "$(grep -c '^ORCPT=' "$tmp/env.702-1") $(has ORCPT)" '1 rfc822;b+40x'
is 'a program knows the places' "$(has MAILBIN) $(has MAILSHARE) $(has ZCONFIG)" \
    "$tmp/bin $tmp/share $tmp/zenv"
is 'a program knows the spool id' "$(has MSGSPOOLID)" \
    "$(sed -n 's/.*load msg=702-1 id=\([^ ]*\).*/\1/p' "$log")"
user="$(id -un) $(awk -F: -v u="$(id -u)" '$3 == u { print $6; exit }' /etc/passwd)"
without NO_PWD && user="$(id -u) /"
is 'a program knows its user' "$(has USER) $(has HOME)" "$user"
is 'a program has nothing else in its environment' \
    "$(sed 's/=.*//' "$tmp/env.702-1" | grep -v -x -E 'SENDER|NOTIFY|ORCPT|INRCPT|INFROM|ENVID|MESSAGEID|UID|MAILBIN|MAILSHARE|ZCONFIG|MSGSPOOLID|USER|LOGNAME|HOME|SHELL|PATH|TZ|PWD|OLDPWD|SHLVL|_')" ''
ok 'sm takes its table from MAILSHARE, and X doubles dots' \
    wait_for 30 grep -x '[.][.]dot' "$tmp/catted"
ok 'errormail takes its forms from MAILSHARE' \
    wait_for 30 eval 'grep "our own form" "$po"/router/*'
ok 'the first line of To has the address' grep '^To: <' "$po"/router/*
kill "$pid"
wait_for 30 gone "$pid"

# ---- a post office of another owner ------------------------------------------------------

if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$po/transport"
	check
	like 'scheduler -n names the chown that is wanted' "$said" \
	    "dir=$po/transport it is neither root's nor ours; chown 0 it"
	chown 0 "$po/transport"
else
	skip 'scheduler -n names the chown that is wanted' 'not root'
fi

# ---- options of smtp --------------------------------------------------------------------

for o in '-S /x' -M -1 '-O ignore-ezmlm' '-X -s'; do
	is "smtp $o is answered in one line" \
	    "$("$top/ta/smtp" -N $o last 2>&1 | wc -l | tr -d ' ')" 1
done
like 'smtp -X without a program says that' "$("$top/ta/smtp" -X -s 2>&1)" \
    '^smtp: .* -X wants a program, not -s'
finish
