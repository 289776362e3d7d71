#!/bin/sh
# The copy of the log for syslog.
. "${0%/*}/lib.sh"

po=$tmp/po
A=$top/t/agent
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=0
test/*	command="$A -c test -o $tmp/out" maxta=1
END
spool_new "$po"
mkdir "$tmp/place"
ln -s "$SCHEDULER" "$tmp/place/scheduler"
LOGDIR=$tmp/log MAILBIN=$tmp/bin
export LOGDIR MAILBIN
log=$LOGDIR/scheduler

if without NO_SYSLOG; then
	skip_all 'built without syslog'
fi

# A program in the place of scheduler-syslog, which is beside the scheduler.
fake() {	# <script
	{
		echo '#!/bin/sh'
		echo "echo \$\$ >$tmp/fake.pid.new; echo \"\$1\" >$tmp/ident"
		echo "mv $tmp/fake.pid.new $tmp/fake.pid"
		cat
	} >"$tmp/place/scheduler-syslog"
	chmod 755 "$tmp/place/scheduler-syslog"
}
start() {
	rm -f "$log" "$tmp/fake.pid" "$tmp/copy"
	"$tmp/place/scheduler" -P "$po" -f "$tmp/cf" >"$tmp/start" 2>&1 || return 1
	pid=$(head -n 1 "$po/.pid.scheduler")
	lib_pids="$lib_pids $pid"
}
stop() {
	kill "$pid"
	wait_for 30 gone "$pid"
}
in_log() {	# pattern
	grep "$1" "$log"
}

# ---- the lines ---------------------------------------------------------------

fake <<END
exec cat >$tmp/copy
END
put "$po" 101-1 test h user
start
wait_for 30 in_log 'complete msg=101-1'
wait_for 20 test -s "$tmp/fake.pid"
is 'the program knows the process that its lines are of' \
    "$(cat "$tmp/ident")" "scheduler[$pid]"
fake_pid=$(cat "$tmp/fake.pid")
ok 'the daemon ends' stop
ok 'the program ends with the daemon' wait_for 20 gone "$fake_pid"
ok 'the program gets each line of the log' cmp "$log" "$tmp/copy"

# ---- a program that does not read ---------------------------------------------

fake <<END
until [ -f $tmp/go ] || [ ! -d $tmp ]; do
	sleep 1
done
exec cat >$tmp/copy
END
start
wait_for 20 test -s "$tmp/fake.pid"
put_many "$po" 800 1 test
ok 'mail is delivered while syslog takes no lines' wait_for 100 po_empty "$po"
nok 'no line is lost in the log' \
    test "$(grep -c ' delivered ' "$log")" -ne 800
: >"$tmp/go"
wait_for 20 test -s "$tmp/copy"
kill -HUP "$pid"
ok 'syslog gets the number of lines that it has lost' \
    wait_for 30 grep 'warn syslog lost=[1-9][0-9]* lines' "$tmp/copy"
stop

# ---- a program that ends, or is not there ---------------------------------------

fake <<'END'
exit 3
END
start
ok 'the log has that the program has ended' \
    wait_for 30 in_log 'syslog program=.*place/scheduler-syslog has ended'
rm -f "$tmp/fake.pid"
fake <<END
exec cat >$tmp/copy
END
kill -HUP "$pid"
ok 'a reload starts the program again' \
    wait_for 30 grep 'reload file' "$tmp/copy"
stop
rm -f "$tmp/place/scheduler-syslog"
MAILBIN=$tmp/none
start
ok 'the log names a program that is not there' wait_for 30 \
    in_log 'syslog program=.*none/scheduler-syslog has ended, exit code 72 (no '
put "$po" 102-1 test h user
ok 'mail is delivered without the program' \
    wait_for 30 in_log 'complete msg=102-1'
stop

# ---- scheduler-syslog itself -----------------------------------------------------

is 'scheduler-syslog gives lines with their levels, and others as they are' \
    "$(printf '%s\n' '20261122091011 err a b' '20261122091011 warn c=d' \
    '20261122091011 info e' '20261122091011 debug f %s' 'no line' \
    '2026 other' | "$top/t/prints" 'scheduler[7]')" \
    'scheduler[7] is open, option 0, mail
scheduler[7] err: a b
scheduler[7] warning: c=d
scheduler[7] info: e
scheduler[7] debug: f %s
scheduler[7] info: no line
scheduler[7] info: 2026 other'
"$top/scheduler-syslog" </dev/null 2>/dev/null
is 'scheduler-syslog without a name: the exit code is 64' $? 64

finish
