#!/bin/sh
# What is left behind in the post office: files of writers that died, messages
# without a control file, double bounces; submit -q removes them or sets them
# aside.  Its clock that never jumps is a file here; see t/mono.c.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
cat >"$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=365d
bad/*	command="$A -c bad error no"
PARAMdsn="-x 'none/*'"
none/*	command="$A -c none error no"
wait/*	command="$A -c wait deferred not now"
END
spool_new "$po"
mkdir "$po/private"
chmod 700 "$po/private"
: >"$tmp/routes"
WALL=$tmp/wall MONO=$tmp/mono
export WALL MONO

# A round of a process of its own, which begins so many seconds later.
ahead=0
later() {	# seconds [-q...]
	ahead=$((ahead + $1))
	set_clock "$MONO" $ahead
	"$top/t/clocksubmit" "${2:--qT}" -C "$tmp/routes" -P "$po" 2>>"$tmp/said"
}
laters() {	# times seconds
	lib_n=$1
	while [ $((lib_n -= 1)) -ge 0 ]; do
		later "$2" || return 1
	done
}
said() {	# pattern: how many lines submit has printed
	grep -cE "$1" "$tmp/said"
}
here() {	# file ...: which of them are there
	for f in "$@"; do
		[ ! -e "$po/$f" ] && [ ! -h "$po/$f" ] || echo "$f"
	done | tr '\n' ' '
}

# ---- writers that died, and orphans ----------------------------------------------

dead=99999999
for f in public/mail:$dead.aB3 public/mail:$$.x1 public/mail:1.x public/mail:$dead.x.orig \
    public/notes public/v_$dead.x public/:$dead.x public/a:b:$dead.x \
    public/grow:$dead.g private/dsn:$dead.0 private/dsn:$dead.Z_-9 \
    private/dsn:$dead.Z.orig private/key.orig; do
	echo text >"$po/$f"
done
mkdir "$po/public/dir:$dead.d"
without NO_SYMLINK || ln -s "$tmp/precious" "$po/public/link:$dead.l"
gone="public/mail:$dead.aB3 private/dsn:$dead.0 private/dsn:$dead.Z_-9"
stay="public/mail:$$.x1 public/mail:1.x public/mail:$dead.x.orig public/notes \
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
waits="queue/311 queue/A/312 queue/313-1 queue/X/314-1 queue/D/315-1 \
queue/letters "
orphans='queue/301 queue/A/302 queue/Q/Z/303-7'

mkdir "$po/bulk"
echo mail >"$po/router/77"
echo mail >"$po/bulk/78"
echo text >"$po/router/77.note"
later 0
is 'the first round removes no file' "$(here $gone $orphans)" "$gone $orphans "
laters 9 300
is 'rounds are at least 20 minutes apart' "$(here $gone $orphans)" \
    "$gone $orphans "
set_clock "$WALL" 315360000
later 600
is 'a jump of the wall clock does not shorten the hour' \
    "$(here $gone $orphans)" "$gone $orphans "
is 'before an hour is over mail in router/ is not reported' \
    "$(said 'in router/ for an hour')" 0
echo more >>"$po/public/grow:$dead.g"
later 1200
is 'files of dead writers are removed after an hour' \
    "$(here $gone)" ''
is 'mail that stays in router/ or bulk/ for an hour is reported' \
    "$(sed -n 's/^[0-9]* *\(.*router.*\)/\1/p' "$tmp/said")" 'clocksubmit: files that nobody has taken for an hour from router/ and the other directories of the router: at least 2; does the router run?'
rm "$po/router/77" "$po/bulk/78"
is 'each removed file is reported' \
    "$(said '(public/mail|private/dsn):.* removed; its writer, process 99999999, is gone')" 3
is 'other files in public/ and private/ stay' "$(here $stay)" \
    "$(echo $stay) "
is 'a file that is still written to stays' "$(here "public/grow:$dead.g")" \
    "public/grow:$dead.g "
is 'messages without a control file are set aside after an hour' \
    "$(here $orphans postman/301 postman/302 postman/303-7)" \
    'postman/301 postman/302 postman/303-7 '
is 'a message without a control file is set aside as it is' \
    "$(cat "$po/postman/302")" 'message A/302'
is 'each message without a control file is reported' \
    "$(said 'queue/([A-Z]/)*30[0-9-]+: it had no control file for an hour; it is now .*/postman/30')" 3
is 'messages with a control file stay' "$(here $waits)" "$waits"
laters 2 1200
is 'a file that was written to stays for an hour of its own' \
    "$(here "public/grow:$dead.g")" "public/grow:$dead.g "
later 1200
is 'a file that was written to is removed an hour later' \
    "$(here "public/grow:$dead.g")" ''

# The table of an area has room for a hundred.
many() {
	ls "$po/public" | grep -c '^many:'
}
later 1200
n=0
while [ $((n += 1)) -le 150 ]; do
	: >"$po/public/many:$dead.$n"
done
laters 4 1200
is 'a hundred files of dead writers are removed after an hour' "$(many)" 50
laters 5 1200
is 'the other files of dead writers are removed an hour later' "$(many)" 0
ok 'the scheduler starts beside that' \
    sched_start "$po" "$tmp/cf" -q "$tmp/pipe"
wait_log 'deferred msg=313-1' && wait_log 'deferred msg=X/314-1' &&
    wait_log 'deferred msg=315-1'
out=$("$top/mailq" -q "$tmp/pipe" | tail -n 1)
like 'mailq counts what is set aside' "$out" '; 3 set aside, the oldest .* old$'
sched_stop
waits=$(echo "$waits" | sed 's,D/315,315,')	# the scheduler moved it
mv "$po/transport" "$po/moved"
laters 5 1200
is 'without transport/ no message is set aside' "$(here $waits)" "$waits"
mv "$po/moved" "$po/transport"
is 'the scheduler ends well' $sched_rc 0

# ---- the state ----------------------------------------------------------------------

echo late >"$po/queue/320"
laters 2 1200
echo '1 nonsense' >"$po/.tidy"
laters 3 1200
is 'after a damaged state the hour begins anew' "$(here queue/320)" 'queue/320 '
read -r age up <"$po/.tidy"
ahead=$((ahead - up))			# the machine was booted a moment ago
later 60
is 'after a boot only the time since then counts' \
    "$(here queue/320) $(sed -n '1s/.* //p' "$po/.tidy")" "queue/320  $up"
ahead=$((ahead + 1200))
set_clock "$MONO" $ahead
"$top/t/clocksubmit" -q1 -C "$tmp/routes" -P "$po" 2>>"$tmp/said" &
pid=$!
ok 'a submit that goes on tidies, too' wait_for 60 test -e "$po/postman/320"
ahead=$((ahead + 1300))
set_clock "$MONO" $ahead
echo old >"$po/postman/321.bounce-17-3"
ok '... and again, 20 minutes later' \
    wait_for 60 eval '[ ! -e "$po/postman/321.bounce-17-3" ]'
kill "$pid"
wait "$pid"
is 'a submit that goes on ends well' $? 0

# ---- control files of other programs ------------------------------------------------

# 99-1 has no message, somebody has a lock on 97-1, and 96-1 grows.
rm -rf "$po" "$MONO" "$WALL"
ahead=0
spool_new "$po"
for i in 96 97 98; do
	echo body >"$po/queue/$i-1"
done
for i in 96 97 98 99; do
	echo "i $i-1" >"$po/transport/.$i-1"
done
echo other >"$po/postman/98-1.control"
exec "$top/t/held" -a "$po/transport/.97-1" >"$tmp/held" &
held=$!
lib_pids="$lib_pids $held"
wait_for 20 test -s "$tmp/held"
laters 12 3600
echo "o 0" >>"$po/transport/.96-1"
laters 12 3600
is 'no control file of others is set aside before a day' \
    "$(ls "$po/postman")" 98-1.control
later 3600
is 'a control file of others is set aside after a day, with its message' \
    "$(ls "$po/postman" | tr '\n' ' ')$(cat "$po/postman/98-1.control")" \
    '98-1.1 98-1.1.control 98-1.control 99-1.control other'
is 'a line says why a control file of others is set aside' "$(said \
    'transport/\.98-1: it was unfinished for a day; it is now .*98-1\.1\.control')" 1
later 3600
is 'a control file of others that is locked or has changed stays' \
    "$(cd "$po" && echo queue/9* transport/.9*)" \
    'queue/96-1 queue/97-1 transport/.96-1 transport/.97-1'
kill $held
wait $held 2>/dev/null
lib_forget $held

# ---- double bounces ------------------------------------------------------------------

rm -rf "$po" "$MONO" "$WALL"
ahead=0
spool_new "$po"
bounce() {	# name [channel]
	printf 'i %s\no 0\ns error - x 0\nr           %s h u 0\nm\n\n' "$1" \
	    "${2:-bad}" | put_raw "$po" "$1"
}
left() {
	(cd "$po/postman" && echo *) | sed 's/-0-[1-9][0-9]*/-HOUR/g'
}
ok 'the scheduler starts for double bounces' \
    sched_start "$po" "$tmp/cf" -q "$tmp/pipe"
bounce 101-1
bounce 103-1 none
printf 'no control file\n' | put_raw "$po" 102-1
wait_log 'set-aside msg=101-1' && wait_log 'set-aside msg=102-1' &&
    wait_log 'set-aside msg=103-1'
others='102-1 102-1.control 103-1 103-1.control'
is 'a double bounce that is set aside has a mark, others do not' "$(left)" \
    "101-1.bounce-0-0 101-1.bounce-0-0.control $others"
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

later 0
is 'the first round writes its hour into the mark' "$(left)" \
    "101-1.bounce-HOUR 101-1.bounce-HOUR.control $others"
laters 29 86400
set_clock "$WALL" 315360000
later 86400
is 'after 30 days less than an hour double bounces are still there' \
    "$(left | wc -w | tr -d ' ')" 6
bounce 104-1
mv "$po/queue/104-1" "$po/postman/104-1.bounce-1795000000-2"
rm "$po/transport/104-1"
later 7200
is 'after 30 days the double bounce is removed, others stay' "$(left)" \
    "$others 104-1.bounce-HOUR"
is 'removed double bounces are counted' "$(said \
    'double bounces older than 2592000 seconds .PARAMpostmanage. removed from postman/: 1$')" 1
later 31536000
is 'a long time without a round counts as one day' "$(left)" \
    "$others 104-1.bounce-HOUR"
echo 'PARAMpostmanage 0' >"$tmp/routes"
laters 31 86400
is 'PARAMpostmanage 0: double bounces stay' "$(left)" \
    "$others 104-1.bounce-HOUR"
echo 'PARAMpostmanage 2x' >"$tmp/routes"
later 1200
is 'with a table that has mistakes double bounces stay' \
    "$(left) $(said 'routes:1: .*it is no span of time')" \
    "$others 104-1.bounce-HOUR 1"
echo 'PARAMpostmanage 2h' >"$tmp/routes"
later 1200
is 'a smaller PARAMpostmanage is effective at once' "$(left)" "$others"
for n in 201.bounce-0-0 202_untold.bounce-0-0.1 203_syntax; do
	echo copy >"$po/postman/$n"
done
later 86400
is 'a double bounce that submit -q set aside gets an hour, too' "$(left)" \
    "$others 201.bounce-HOUR 202_untold.bounce-HOUR.1 203_syntax"
rm "$tmp/routes"
laters 29 86400
is 'without a table they stay for 30 days' "$(left)" \
    "$others 201.bounce-HOUR 202_untold.bounce-HOUR.1 203_syntax"
laters 2 86400
is 'a double bounce that submit -q set aside is removed then' \
    "$(left)" "$others 203_syntax"

# ---- the bytes of double bounces -----------------------------------------------------

# Times of files that were written one after the other.
heap() {	# count
	i=0
	while [ $((i += 1)) -le "$1" ]; do
		f=$po/postman/$((500 + i))-1.bounce-0-0
		echo message >"$f"
		echo control >"$f.control"
		touch -t "20260101$(printf %02d%02d $((i / 60)) $((i % 60)))" \
		    "$f" "$f.control"
	done
}
kept() {
	left | tr ' ' '\n' | grep -c '[0-9]-1[.]bounce'
}
dd if=/dev/zero of="$po/postman/9-1" bs=1024 count=100 2>/dev/null
heap 20
echo 'PARAMpostbytes 80k' >"$tmp/routes"
later 1200
is 'double bounces above PARAMpostbytes are removed, with control files' \
    "$(kept)" 20
is 'the newest stay' "$(left | tr ' ' '\n' |
    sed -n 's/-1[.]bounce-HOUR$//p' | tr '\n' ' ')" \
    '511 512 513 514 515 516 517 518 519 520 '
is 'other files that were set aside are neither counted nor removed' \
    "$(here postman/9-1 postman/102-1 postman/203_syntax | wc -w | tr -d ' ')" 3
is 'removed double bounces above PARAMpostbytes are counted' "$(said \
    'took more than 81920 bytes .PARAMpostbytes.; the oldest are removed: 10$')" 1
echo 'PARAMpostbytes 0' >"$tmp/routes"
rm "$po"/postman/5??-1.bounce*
heap 300
later 1200
is 'PARAMpostbytes 0: all stay' "$(kept)" 600
echo 'PARAMpostbytes 1k' >"$tmp/routes"
echo 'PARAMminfree x' >>"$tmp/routes"
later 1200
is 'with a table that has mistakes all stay' "$(kept)" 600
rm "$tmp/routes"
later 1200
is 'without a table 1 MB is the most' "$(kept)" 256
finish
