#!/bin/sh
# Files of the scheduler's own in the post office: nothing is opened, changed
# or replaced by way of a link, or of a second name.
. "${0%/*}/lib.sh"

A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdestdb $po/destdb
*/*	interval=1h expiry=1d
test/*	command="$A -c test -o $tmp/out"
END
spool_new "$po"
fresh() {	# puts the target of the links back
	rm -f "$po"/.[mps]* "$po"/.destdb* "$po/destdb" "$tmp/precious"
	echo precious >"$tmp/precious"
	chmod 640 "$tmp/precious"
}
state() {
	echo "$(cat "$tmp/precious") $(ls -l "$tmp/precious" | cut -c1-10)"
}
same='precious -rw-r-----'
if without NO_SYMLINK; then
	skip_all 'built without lstat'
fi

# ---- the pid file --------------------------------------------------------------

fresh
ln -s "$tmp/precious" "$po/.pid.scheduler"
nok 'a pid file that is a link prevents the start' sched_start "$po" "$tmp/cf"
is 'a pid file that is a link: the exit code is 73' $sched_rc 73
like 'a pid file that is a link: the log says to remove it' \
    "$(cat "$tmp/sched.log")" \
    '/\.pid\.scheduler: it is a link, .*remove it'
is 'a pid file that is a link: its target is as it was' "$(state)" "$same"
fresh
ln -s "$tmp/none" "$po/.pid.scheduler"
nok 'a pid file that is a link to nothing prevents the start' \
    sched_start "$po" "$tmp/cf"
nok 'a pid file that is a link to nothing: no target is made' [ -e "$tmp/none" ]
fresh
ln "$tmp/precious" "$po/.pid.scheduler"
nok 'a pid file with a second name prevents the start' \
    sched_start "$po" "$tmp/cf"
is 'a pid file with a second name is as it was' "$(state)" "$same"
fresh
mkfifo "$po/.pid.scheduler"
nok 'a named pipe as pid file prevents the start' sched_start "$po" "$tmp/cf"
is 'a named pipe as pid file: the start fails at once' $sched_rc 73
fresh
echo 99999999 >"$po/.pid.scheduler"
chmod 666 "$po/.pid.scheduler"
if [ "$(id -u)" -ne 0 ]; then
	skip 'a pid file of another user prevents the start' 'not root'
	skip 'a pid file of another user is as it was' 'not root'
else
	chown 65534 "$po/.pid.scheduler"
	nok 'a pid file of another user prevents the start' \
	    sched_start "$po" "$tmp/cf"
	is 'a pid file of another user is as it was' \
	    "$(cat "$po/.pid.scheduler")" 99999999
	chown 0 "$po/.pid.scheduler"
fi
ok 'an own pid file that was left behind is used again' \
    sched_start "$po" "$tmp/cf"
is 'a pid file that is used again gets mode 644' \
    "$(ls -l "$po/.pid.scheduler" | cut -c1-10)" \
    '-rw-r--r--'

# ---- holds, the dump, destinations, the socket ------------------------------------

hold() {	# pattern
	"$ask" order "$po" hold "$1" | grep '^ok'
}
ln -s "$tmp/precious" "$po/.mailq.holds.new"
ln -s "$tmp/precious" "$po/.destdb.new"
ok 'a hold is written although its new file is a link' hold 'held/*'
is 'a hold: the target of the link is as it was' "$(state)" "$same"
is 'a hold: the list of holds is a file' \
    "$(cat "$po/.mailq.holds")" 'address held/*'
put "$po" 101-1 test h user
wait_log 'complete msg=101-1'
sched_stop
ok 'destinations are written although their new file is a link' \
    grep '^test' "$po/destdb"
is 'holds, destinations: the target of the links is as it was' \
    "$(state)" "$same"

fresh
ln -s "$tmp/precious" "$po/.mailq.holds"
nok 'a list of holds that is a link prevents the start' \
    sched_start "$po" "$tmp/cf"
like 'a list of holds that is a link: the log says to remove it' \
    "$(lines 'err holds')" \
    'it is a link, .*remove it; nothing is started'
fresh
ln -s "$tmp/precious" "$po/.mailq.command"
echo 'a file' >"$po/.scheduler.notify"
ok 'the scheduler starts where the names of pipe and socket are taken' \
    sched_start "$po" "$tmp/cf"
is 'a link in the place of the pipe: its target is as it was' "$(state)" "$same"
ok 'a link in the place of the pipe: no pipe is made, which is logged' \
    logged 'err mailq pipe=.*/\.mailq\.command '
without NO_TCP ||
    ok 'a file in the place of the socket: no socket, which is logged' \
        logged 'warn notify path=.*/\.scheduler\.notify'
is 'a file in the place of the socket is not removed' \
    "$(cat "$po/.scheduler.notify")" 'a file'
sched_stop

# ---- logs ----------------------------------------------------------------------------

fresh
mkdir "$tmp/logs"
ln -s "$tmp/far.log" "$tmp/logs/own"
ln "$tmp/precious" "$tmp/logs/second"
for opt in -L -l; do
	rm -f "$tmp/far.log"
	"$SCHEDULER" -i -P "$po" -f "$tmp/cf" $opt "$tmp/logs/second" \
	    >"$tmp/out" 2>&1
	is "$opt: a log with a second name prevents the start" "$?" 73
	is "$opt: a log with a second name is as it was" "$(state)" "$same"
	bg "$SCHEDULER" -i -P "$po" -f "$tmp/cf" $opt "$tmp/logs/own"
	ok "$opt: an own link as log is followed" \
	    wait_for 30 [ -f "$tmp/far.log" ]
	kill "$bg_pid"
	wait_for 20 gone "$bg_pid"
done
if [ "$(id -u)" -ne 0 ]; then
	skip 'a log that is a link of another user prevents the start' \
	    'not root'
	skip 'a log that is a link of another user: its target is as it was' \
	    'not root'
	skip 'a log of another user' 'not root'
else
	ln -s "$tmp/precious" "$tmp/logs/theirs"
	chown -h 65534 "$tmp/logs/theirs"
	"$SCHEDULER" -i -P "$po" -f "$tmp/cf" -L "$tmp/logs/theirs" \
	    >"$tmp/out" 2>&1
	is 'a log that is a link of another user prevents the start' "$?" 73
	is 'a log that is a link of another user: its target is as it was' \
	    "$(state)" "$same"
	mkdir "$tmp/open"
	chmod 1777 "$tmp/open"
	: >"$tmp/open/file"
	mkfifo "$tmp/open/pipe"
	chown 65534 "$tmp/open/file" "$tmp/open/pipe"
	for f in file pipe; do
		for opt in -L -l; do
			bg "$SCHEDULER" -i -P "$po" -f "$tmp/cf" \
			    $opt "$tmp/open/$f" >"$tmp/out" 2>&1
			wait_for 20 gone "$bg_pid" || kill "$bg_pid"
			wait "$bg_pid"
			is "$opt: a $f of another user is no log" "$?" 73
			like "$opt: a $f of another user: a line says so" \
			    "$(cat "$tmp/out")" \
			    "open/$f:? it is a link, or somebody else's; remove it"
		done
	done
	echo '* local -' >"$tmp/routes"
	bg "$top/submit" -P "$po" -C "$tmp/routes" -q1s 2>>"$tmp/open/file"
	wait_for 20 gone "$bg_pid" || kill "$bg_pid"
	wait "$bg_pid"
	is 'submit -q1s with the log of another user: the exit code is 77' "$?" 77
	like 'submit -q1s with the log of another user: a line says why' \
	    "$(cat "$tmp/open/file")" 'the log belongs to the user 65534'
fi

# ---- directories -------------------------------------------------------------------

for d in public private router queue postman transport; do
	fresh
	mkdir -p "$po/$d" "$tmp/else"
	chmod 700 "$tmp/else"
	mv "$po/$d" "$po/was"
	ln -s "$tmp/else" "$po/$d"
	sched_start "$po" "$tmp/cf" >"$tmp/ok.out" 2>&1
	is "a link in the place of $d/ prevents the start" \
	    "$? $sched_rc $(count "dir=.*/$d this is no directory")" '1 77 1'
	rm "$po/$d"
	mv "$po/was" "$po/$d"
done
is 'nothing is made behind links in the place of directories' \
    "$(ls -A "$tmp/else")" ''
finish
