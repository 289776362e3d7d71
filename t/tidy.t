#!/bin/sh
# What is left behind in the post office: files of writers that died, messages
# without a control file, double bounces.  The clock that never jumps is made to
# run here; see t/mono.c.
. "${0%/*}/lib.sh"

own_clocks
A=$top/t/agent
po=$tmp/po
cat >"$tmp/base" <<END
PARAMmailqsock none
*/*	interval=1h expiry=365d
bad/*	command="$A -c bad error no"
none/*	bounce=none command="$A -c none error no"
wait/*	command="$A -c wait deferred not now"
END
conf "$tmp/cf" <"$tmp/base"
spool_new "$po"
mkdir "$po/private"
chmod 700 "$po/private"

# The clock: so many seconds ahead, and so many more with each pass of the loop;
# then so many passes, each of them begun by a signal.
run_on() {	# ahead stride passes
	echo "$1 $2" >"$tmp/mono.new"
	mv "$tmp/mono.new" "$MONO"
	until_pass=$(($(tr -d ' ' <"$PASSES") + $3))
	lib_left=200000
	while read -r now <"$PASSES" && [ "${now:-0}" -lt $until_pass ] &&
	    [ $lib_left -gt 0 ] && kill -CHLD "$sched_pid"; do
		lib_left=$((lib_left - 1))
	done
}
here() {	# file ...: which of them are there
	for f in "$@"; do
		[ ! -e "$po/$f" ] && [ ! -h "$po/$f" ] || echo "$f"
	done | tr '\n' ' '
}

# ---- writers that died, and orphans ----------------------------------------------

dead=99999999
for f in public/mail:$dead.aB3 public/mail:$$.x1 public/mail:$dead.x.orig \
    public/notes public/v_$dead.x public/:$dead.x public/a:b:$dead.x \
    public/grow:$dead.g private/dsn:$dead.0 private/dsn:$dead.Z_-9 \
    private/dsn:$dead.Z.orig private/key.orig; do
	echo text >"$po/$f"
done
mkdir "$po/public/dir:$dead.d"
without NO_SYMLINK || ln -s "$tmp/precious" "$po/public/link:$dead.l"
gone="public/mail:$dead.aB3 private/dsn:$dead.0 private/dsn:$dead.Z_-9"
stay="public/mail:$$.x1 public/mail:$dead.x.orig public/notes \
    public/v_$dead.x public/:$dead.x public/a:b:$dead.x \
    private/dsn:$dead.Z.orig private/key.orig public/dir:$dead.d"
without NO_SYMLINK || stay="$stay public/link:$dead.l"
mkdir "$po/queue/A" "$po/queue/Q" "$po/queue/Q/Z" "$po/transport/S"
for n in 301 A/302 Q/Z/303-7 311 312 letters; do
	echo "message $n" >"$po/queue/$n"
done
: >"$po/transport/.311"
mv "$po/queue/312" "$po/queue/A/312"		# 312 % 26 is 0
mkdir "$po/transport/A"
: >"$po/transport/A/.312"
put "$po" 313-1 wait h user
put "$po" X/314-1 wait h user
put "$po" 315-1 wait h user
mkdir "$po/queue/D"				# 315 % 26 is 3
mv "$po/queue/315-1" "$po/queue/D/315-1"	# as a crash with -H leaves it
waits="queue/311 queue/A/312 queue/313-1 queue/X/314-1 queue/315-1 \
queue/letters "
orphans='queue/301 queue/A/302 queue/Q/Z/303-7'

echo mail >"$po/router/77"
echo text >"$po/router/77.note"
ok 'the scheduler starts with orphans and files of dead writers' \
    sched_start "$po" "$tmp/cf" -q "$tmp/pipe"
wait_log 'deferred msg=313-1' && wait_log 'deferred msg=X/314-1' &&
    wait_log 'deferred msg=315-1'
set_clock "$WALL" 315360000
run_on 3300 1 160
is 'before an hour is over no file is removed' \
    "$(here $gone $orphans)" "$gone $orphans "
is 'before an hour is over mail in router/ is not logged' \
    "$(count 'router files=')" 0
# the other clock may have gone in the same pass, or in one of its own
is 'a jump of the wall clock does not shorten the hour' \
    "$(count 'clock-step by=3153[0-9]{5} ')" 1
echo more >>"$po/public/grow:$dead.g"
run_on 5000 1 160
run_on 8000 1 160
is 'files of dead writers are removed after an hour' \
    "$(here $gone)" ''
like 'mail that stays in router/ for an hour is logged' \
    "$(lines 'router files=')" \
    'warn router files=1 or more .*for an hour; does submit -q run'
rm "$po/router/77"
is 'each removed file is logged' \
    "$(count 'tidy removed=(public/mail|private/dsn):.* process 99999999, is gone')" 3
is 'other files in public/ and private/ stay' "$(here $stay)" \
    "$(echo $stay) "
is 'a file that is still written to stays' "$(here "public/grow:$dead.g")" \
    "public/grow:$dead.g "
is 'messages without a control file are set aside after an hour' \
    "$(here $orphans postman/301 postman/302 postman/303-7)" \
    'postman/301 postman/302 postman/303-7 '
is 'a message without a control file is set aside as it is' \
    "$(cat "$po/postman/302")" 'message A/302'
is 'each message without a control file is logged' \
    "$(count 'set-aside msg=([A-Z]/)*30[0-9-]+ .*no control file for an hour')" 3
is 'messages with a control file stay' "$(here $waits)" "$waits"
run_on 9500 1 160
run_on 11500 1 160
is 'a file that was written to is removed an hour later' \
    "$(here "public/grow:$dead.g")" ''
out=$("$top/mailq" -q "$tmp/pipe" | tail -n 1)
like 'mailq counts what is set aside' "$out" '; 3 set aside, the oldest .* old$'
mv "$po/transport" "$po/moved"
run_on 13000 1 160
run_on 15000 1 160
run_on 17000 1 160
is 'without transport/ no message is set aside' "$(here $waits)" "$waits"
mv "$po/moved" "$po/transport"
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- double bounces ------------------------------------------------------------------

rm -rf "$po" "$MONO" "$WALL"
spool_new "$po"
bounce() {	# name [channel]
	printf 'i %s\no 0\ns error - x 0\nr           %s h u 0\nm\n\n' "$1" \
	    "${2:-bad}" | put_raw "$po" "$1"
}
left() {
	(cd "$po/postman" && echo *) |
	    sed 's/bounce-[0-9]*-\([0-9]*\)/bounce-RUN-\1/g'
}
ok 'the scheduler starts for double bounces' \
    sched_start "$po" "$tmp/cf" -q "$tmp/pipe"
bounce 101-1
bounce 103-1 none
printf 'no control file\n' | put_raw "$po" 102-1
wait_log 'set-aside msg=101-1' && wait_log 'set-aside msg=102-1' &&
    wait_log 'set-aside msg=103-1'
is 'a double bounce that is set aside has a mark, others do not' "$(left)" \
    '101-1.bounce-RUN-0 101-1.bounce-RUN-0.control 102-1 102-1.control 103-1 103-1.control'
aged() {	# without the age
	sed 's/, the oldest [0-9dhms]* old$/, AGED/'
}
out=$("$top/mailq" -q "$tmp/pipe" | aged)
is 'mailq counts double bounces' "$out" \
    'the queue is empty; 3 set aside (1 double bounce), AGED'
is 'mailq -c counts double bounces' \
    "$("$top/mailq" -c -q "$tmp/pipe" |
    grep -E '^(set-aside|double-bounces) ' | tr '\n' ' ')" 'set-aside 3 double-bounces 1 '
sched_stop
is 'mailq counts double bounces without a scheduler' \
    "$(POSTOFFICE=$po "$top/mailq" 2>"$tmp/err" | tail -n 1 | aged)" "$out"

ok 'the scheduler starts again with double bounces' sched_start "$po" "$tmp/cf"
run_on 0 1700 1450
is 'after 28 days double bounces are still there' \
    "$(left | wc -w | tr -d ' ')" 6
set_clock "$WALL" 315360000
run_on 0 1700 300
is 'after 30 days the double bounce is removed, others stay' "$(left)" \
    '102-1 102-1.control 103-1 103-1.control'
is 'removed double bounces are counted in the log' "$(count \
    'tidy bounces=1 removed from postman/, kept for 2592000 seconds')" 1
run_on 0 0 2
# The disk's clock did not run: a change within a second would not be seen.
second=$(date +%s)
wait_for 30 eval '[ "$(date +%s)" -gt $((second + 1)) ]'
bounce 104-1
wait_log 'set-aside msg=104-1'
like 'a double bounce of a later day has an hour of its own' \
    "$(left)" '104-1\.bounce-RUN-[78][0-9][0-9] '
run_on 0 1700 100
is 'a double bounce of a later day is not removed with the first' \
    "$(left | wc -w | tr -d ' ')" 6
sched_stop

{ cat "$tmp/base"; echo 'PARAMpostmanage 0'; } | conf "$tmp/cf"
rm -f "$MONO" "$WALL"
ok 'the scheduler starts with PARAMpostmanage 0' sched_start "$po" "$tmp/cf"
run_on 0 3400 1000
is 'PARAMpostmanage 0: double bounces stay for 39 days' \
    "$(left | wc -w | tr -d ' ')" 6
{ cat "$tmp/base"; echo 'PARAMpostmanage 2h'; } | conf "$tmp/cf"
kill -HUP "$sched_pid"
wait_log 'reload .*done'
run_on 0 1 160
run_on 0 1000 200
is 'a smaller PARAMpostmanage is effective after a reload' "$(left)" \
    '102-1 102-1.control 103-1 103-1.control'
# What submit -q sets aside has no hour yet: its time begins when it is seen.
for n in 201.bounce-0-0 202_untold.bounce-0-0.1 203_syntax; do
	echo copy >"$po/postman/$n"
done
run_on 0 100 60
is 'a double bounce that submit -q set aside stays, with a run and an hour' \
    "$(left | sed 's/-[1-9][0-9]*/-HOUR/g')" \
    '102-HOUR 102-HOUR.control 103-HOUR 103-HOUR.control 201.bounce-RUN-HOUR 202_untold.bounce-RUN-HOUR.1 203_syntax'
run_on 0 1000 200
is 'a double bounce that submit -q set aside is removed after PARAMpostmanage' \
    "$(left)" '102-1 102-1.control 103-1 103-1.control 203_syntax'
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
