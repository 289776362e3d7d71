#!/bin/sh
# What else a spool may hold, and what may become of it while we are at work:
# names, links, pipes and devices, files that change between a look and their
# use, a disk that cannot be written to, directories that go, files of any
# size.  What is no control file is left alone or set aside, what is one is
# delivered once, and nothing outside the spool is touched.
#
#	FILES=all sh t/files.t	a million recipients, 100 MB, more races
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
case ${FILES:-} in
all) rcpts=1000000 mega=100 swaps=100000 ;;
*) rcpts=60000 mega=12 swaps=1500 ;;
esac
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=2s retries="1" expiry=1d
test/*	command="$A -c test -o $tmp/out"
list/*	queueonly command="$A -c list"
bare/*	command="blind $tmp/out"
slow/*	command="$A -c slow -w $tmp/gate -o $tmp/out"
back/*	command="$A -c back -f $tmp/gate -o $tmp/out"
sure/*	command="sure $tmp/gate $tmp/out"
END

# As put, for names that a shell does not like.
put_odd() {	# name
	printf 'body\n' >"$po/queue/$1"
	printf 'i %s\no 0\ns local - s 0\nr           test h u 0\nm\n\n' \
	    "$1" >"$po/transport/.odd"
	mv "$po/transport/.odd" "$po/transport/$1"
}

delivered() {	# name: how often it was delivered
	awk -v name="$1" '{ sub(/.*\//, "", $1) } $1 == name { n++ }
	    END { print n + 0 }' "$tmp/out"
}

# ---- names --------------------------------------------------------------------------

spool_new "$po"
: >"$tmp/out"
printf '%s\n' "101-1;x" "102-1\$HOME" "103-1'q" '104-1"q' '105-1`id`' \
    '106-1%s%n' '107-1\n' '108-1*' '109-1~' '110' \
    '18446744073709551617-1' '99999999999999999999999999999999999999999' \
    "$(printf '111-1\344')" '1112--' '113-1.control' '114-1!#&<>|' >"$tmp/names"
while IFS= read -r name; do
	put_odd "$name"
done <"$tmp/names"
long=1$(awk 'BEGIN { for (i = 0; i < 58; i++) printf "2" }')
put_odd "$long"			# as long as can be
put_odd "${long}3"		# and longer
put_odd "$(printf '120-1\t')"
put_odd "$(printf '121-1\nx')"
put_odd '122-1 x'
put_odd '-123'
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
all_out() {
	[ "$(wc -l <"$tmp/out")" -ge "$(($(wc -l <"$tmp/names") + 1))" ]
}
ok 'files of all names that begin with a digit are delivered' \
    wait_for 20 all_out
sched_stop
{
	cat "$tmp/names"
	echo "$long"
} | sort >"$tmp/want"
awk '{ print $1 }' "$tmp/out" | sort >"$tmp/got"
is 'files of odd names are delivered once each' \
    "$(diff "$tmp/want" "$tmp/got")" ''
is 'files with a name too long or with a line end are left alone' \
    "$(ls "$po/transport" | wc -l | tr -d ' ')" \
    "$(ls "$po/queue" | wc -l | tr -d ' ')"
set -- "$po/transport/"*
is 'five files that cannot be used are left' $# 5
is 'the scheduler ends well' $sched_rc 0
rm -rf "$po"

# ---- links, pipes, devices, modes ---------------------------------------------------

spool_new "$po"
: >"$tmp/out"
printf 'precious\n' >"$tmp/outside"
cp "$tmp/outside" "$tmp/same"
put "$po" 201-1 test h u
if without NO_SYMLINK; then
	skip_links=1
else
	skip_links=
	ln -s "$tmp/outside" "$po/transport/202-1"	# a control file
	put "$po" 203-1 test h u
	rm "$po/queue/203-1"
	ln -s "$tmp/outside" "$po/queue/203-1"		# a message file
	mkdir "$tmp/elsewhere"
	printf 'x\n' >"$tmp/elsewhere/204-1"
	ln -s "$tmp/elsewhere" "$po/transport/C"	# a hash directory
	ln -s 205-1 "$po/transport/205-1"		# a loop
	ln -s /dev/zero "$po/transport/206-1"
fi
mkfifo "$po/transport/210-1"
put "$po" 211-1 test h u
rm "$po/queue/211-1"
mkfifo "$po/queue/211-1"
put "$po" 212-1 test h u
rm "$po/queue/212-1"
mkdir "$po/queue/212-1"
put "$po" 213-1 test h u
ln "$po/transport/213-1" "$po/transport/214-1"	# two names, one i line
ln "$po/transport/213-1" "$tmp/hard"
if [ "$(id -u)" -eq 0 ] && mknod "$po/transport/220-1" c 1 5 2>/dev/null; then
	put "$po" 221-1 test h u
	chown 65534 "$po/transport/221-1" "$po/queue/221-1"
	devices=1
else
	devices=
fi
put "$po" 222-1 test h u
chmod 0 "$po/transport/222-1" "$po/queue/222-1"
put "$po" 223-1 test h u
chmod 4777 "$po/transport/223-1" "$po/queue/223-1"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'a good file between odd ones is delivered' wait_log 'complete msg=201-1'
ok 'a pipe is no message file' \
    wait_log 'set-aside msg=211-1 .*message file is missing'
ok 'a directory is no message file' wait_log 'set-aside msg=212-1 .*is missing'
ok 'a file with two names is delivered under its own' \
    wait_log 'complete msg=213-1'
ok 'a file with two names is set aside under the other' \
    wait_log 'set-aside msg=214-1 .*another file'
ok 'a file is delivered whatever its mode is' wait_log 'complete msg=223-1'
if [ -n "$skip_links" ]; then
	skip 'a link is no message file' 'built without lstat'
else
	ok 'a link is no message file' wait_log 'set-aside msg=203-1 .*missing'
fi
if [ "$(id -u)" -eq 0 ]; then
	ok 'root delivers a file that nobody may read' \
	    wait_log 'complete msg=222-1'
else
	ok 'a file that may not be read is left for later' \
	    wait_log 'control-open file=222-1'
fi
if [ -n "$devices" ]; then
	ok "files of other users are delivered" wait_log 'complete msg=221-1'
else
	skip "files of other users are delivered" 'only root can make them'
fi
sched_stop
is 'links, pipes and devices in transport/ are left alone' \
    "$(cd "$po/transport" &&
    ls -d 202-1 204-1 205-1 206-1 210-1 220-1 C 2>/dev/null | wc -l |
    tr -d ' ')" $((1 + (${skip_links:-0} ? 0 : 4) + ${devices:-0}))
is 'files that links in the spool lead to are untouched' \
    "$(cmp "$tmp/outside" "$tmp/same" && cat "$tmp/elsewhere/204-1" 2>&1)" \
    "$(if [ -n "$skip_links" ]; then cat "$tmp/elsewhere/204-1" 2>&1
    else echo x; fi)"
is 'each good file is delivered once' \
    "$(delivered 201-1) $(delivered 213-1) $(delivered 223-1) $(
    delivered 214-1)" \
    '1 1 1 0'
is 'the scheduler ends well' $sched_rc 0
rm -rf "$po"

# ---- exchanged under our hands --------------------------------------------------------

# One name is now a file, now a link to one outside, now a pipe, a directory or
# nothing, while it is looked at all the time: each round it is new to the
# scheduler.  The agent does not look at it, since it would go by any link, and
# wait at a pipe; what it says has the scheduler write there, and read again.
agent blind <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	job=${job##*/}
	echo "$job" >>"$1"
	printf '%s/30\t\terror no\n#hungry\n' "${job%-*}"
done
END
spool_new "$po"
: >"$tmp/out"
mkdir "$tmp/victims"
names=
for i in 10 11 12 13 14 15 16 17 18 19; do
	printf 'i 3%d-1\no 0\nl x\ns local - s 0\nr           bare h u 0\nm\n\n' \
	    $i >"$tmp/victims/3$i-1"
	names="$names 3$i-1"
done
cp -R "$tmp/victims" "$tmp/same.victims"
# Where a library can be loaded before libc, each file is opened a moment after
# it was looked at.
if ! without NO_MONOTONIC && ${CC:-cc} -shared -fPIC -o "$tmp/faults.so" \
    "$top/t/faults.c" -ldl >/dev/null 2>&1 &&
    LD_PRELOAD="$tmp/faults.so" "$SCHEDULER" -V >/dev/null 2>&1; then
	VALGRIND="env LD_PRELOAD=$tmp/faults.so FAULTS=open:1:0:late"
fi
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
VALGRIND=
ok 'the test exchanges files for others all the time' \
    "$top/t/swap" "$tmp/victims" "$po" $swaps $names
diag "exchanges $((4 * swaps)); taken in $(count ' load msg=31')," \
    "refused by the agent $(wc -l <"$tmp/out" | tr -d ' ')"
put "$po" 301-1 test h u
ok 'the scheduler goes on whatever a name is exchanged for' \
    wait_log 'complete msg=301-1' 60
if [ -n "$skip_links" ]; then
	skip 'files that exchanged links lead to are untouched' \
	    'built without lstat'
else
	is 'files that exchanged links lead to are untouched' \
	    "$(diff -r "$tmp/victims" "$tmp/same.victims" && echo same)" same
fi
is 'nothing but files is read while names are exchanged' \
    "$(count 'set-aside msg=31.*empty|control-read file=31')" 0
sched_stop
is 'the scheduler ends well' $sched_rc 0
rm -rf "$po"

# ---- directories that go ----------------------------------------------------------------

spool_new "$po"
: >"$tmp/out"
put "$po" X/401-1 slow h u
put "$po" 402-1 slow h u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'loaded msgs=2'
rm -rf "$po/transport/X" "$po/queue/X"
: >"$tmp/gate"
ok 'mail whose directory was removed is forgotten' \
    wait_log '(drop|complete) msg=X/401-1' 30
ok 'other mail is delivered when a directory was removed' \
    wait_log 'complete msg=402-1' 30
rm -rf "$po/postman"
printf 'no control file\n' | put_raw "$po" 403-1
ok 'a file that cannot be set aside is logged' wait_log 'set-aside file=.*403-1' 30
ok 'a file that cannot be set aside is kept' [ -f "$po/transport/403-1" ]
rm -f "$po/transport/403-1" "$po/queue/403-1"
mkdir "$po/postman"
mv "$po/transport" "$po/old"
mkdir "$po/transport"
put "$po" 404-1 test h u
ok 'mail in a new transport/ is delivered' \
    wait_log 'complete msg=404-1' 30
ok 'a new transport/ is logged' logged 'transport .*was replaced by another'
mv "$po/transport" "$po/ours"
mkdir "$po/transport"
chmod 777 "$po/transport"
put "$po" 405-1 test h u
ok 'a new transport/ in which anybody may write is refused' \
    wait_log 'scan dir=.*transport anybody may write' 30
is 'nothing is taken from a transport/ that is refused' "$(delivered 405-1)" 0
chmod 755 "$po/transport"
ok 'mail is taken when the mode of transport/ is right' \
    wait_log 'complete msg=405-1' 30
# Refuses mail of a transport/ that was put in the place of ours.
refused() {	# name what words
	put "$po" $1 test h u
	ok "$2 in the place of transport/ is refused" \
	    wait_log "scan dir=.*transport $3" 30
	is "nothing is taken from $2 in the place of transport/" \
	    "$(delivered $1)" 0
	rm -rf "$po/transport" "$po/mine/$1" "$po/queue/$1"
	mv "$po/mine" "$po/transport"
	put "$po" ${1}1 test h u
	ok "mail is taken when $2 has left the place of transport/" \
	    wait_log "complete msg=${1}1" 30
}
mv "$po/transport" "$po/mine"
if [ -n "$skip_links" ]; then
	mv "$po/mine" "$po/transport"
	for i in 1 2 3; do skip 'a link as transport/' 'built without lstat'; done
else
	mkdir "$po/else"
	ln -s else "$po/transport"
	refused 407-1 'a link' 'this is no directory'
fi
if [ "$(id -u)" -eq 0 ]; then
	mv "$po/transport" "$po/mine"
	mkdir "$po/transport"
	chown 65534 "$po/transport"
	refused 408-1 'a directory of another user' "it is neither root's nor ours"
else
	for i in 1 2 3; do skip 'a foreign directory as transport/' 'not root'; done
fi
rm -rf "$po/ours"
mv "$po/queue" "$po/away"
printf 'i 406-1\no 0\nl x\ns local - s 0\nr           test h a 0\nm\n\n' \
    >"$po/transport/.406-1"
mv "$po/transport/.406-1" "$po/transport/406-1"
ok 'a missing queue/ is logged' wait_log 'look file=../queue No' 30
ok 'nothing is set aside while queue/ is missing' [ -f "$po/transport/406-1" ]
rm -rf "$po/transport" "$po/away" "$po/old"
ok 'a missing transport/ is logged' wait_log 'scan dir=.*transport .*No such' 30
sched_stop
is 'the scheduler ends well' $sched_rc 0
rm -rf "$po"

# ---- sizes ------------------------------------------------------------------------------

most() {	# of memory in KB so far; 0: not known
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$sched_pid/status" \
	    2>/dev/null || echo 0
}
spool_new "$po"
: >"$tmp/out"
put "$po" 501-1 test h u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'complete msg=501-1'
before=$(most)
: | put_raw "$po" 502-1
ok 'an empty control file is set aside' wait_log 'set-aside msg=502-1 .*empty'
line() {	# bytes in millions
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < 1000; i++) s = s " user@host"
		for (i = 0; i < n * 100; i++) printf "%s", s }'
}
{
	printf 'i 503-1\no 0\ns local - s 0\nr           test h'
	line 10
	printf ' 0\nm\n\n'
} | put_raw "$po" 503-1
ok 'a million recipients on one line are set aside' \
    wait_log 'set-aside msg=503-1 .*cannot be read' 60
{
	printf 'i 504-1\no 0\ns local - s 0\nr           test h u 0\nm\nTo: '
	line $((mega / 2))
	printf '\n\n'
} | put_raw "$po" 504-1
ok 'a message with a header of one long line is delivered' \
    wait_log 'complete msg=504-1' 60
after=$(most)
if [ "${before:-0}" -gt 0 ]; then
	ok 'large files take no memory' [ "$after" -lt $((before + 2000)) ]
else
	skip 'large files take no memory' 'no /proc that shows it'
fi
dd if=/dev/null of="$tmp/large" bs=1048576 seek="$((mega + 64))" 2>/dev/null
put_raw "$po" 505-1 <"$tmp/large"
rm "$tmp/large"
ok 'a file larger than any real one is set aside' \
    wait_log 'set-aside msg=505-1 .*larger' 60
awk -v n="$rcpts" 'BEGIN {
	print "i 506-1\no 0\nl x\ns local - s 0"
	for (i = 0; i < n; i++)
		print "r           list h" i % 1000 " u" i " 0"
	print "m\n" }' | put_raw "$po" 506-1
put "$po" 507-1 test h u
ok 'many recipients are loaded' \
    wait_log "load msg=506-1 .*rcpts=$rcpts hosts=1000" 100
ok 'other mail is delivered beside many recipients' \
    wait_log 'complete msg=507-1' 60
diag "$rcpts recipients: $(most) KB"
sched_stop
is 'the scheduler ends well' $sched_rc 0
rm -rf "$po"

# ---- a disk that cannot be written to ---------------------------------------------------

ready() {
	[ -f "$tmp/mounted" ] || gone $bg_pid
}
# Mounts, and remounts when $2.ro or $2.rw is there.  Only transport/ changes:
# our lock is open elsewhere, and a disk on which something is open stays as it
# is.  With both names mount does not repeat options that an ordinary user may
# not give.
cat >"$tmp/mounter" <<'END'
mount -t tmpfs -o size=4m,mode=755 tmpfs "$1" &&
    mkdir -p "$1/po/transport" &&
    mount -t tmpfs -o size=4m,mode=755 tmpfs "$1/po/transport" && : >"$2" ||
    exit
while sleep 0.1 2>/dev/null || sleep 1; do
	for how in ro rw; do
		[ -f "$2.$how" ] &&
		    mount -o "remount,$how" tmpfs "$1/po/transport" &&
		    rm -f "$2.$how"
	done
done
END
mkdir "$tmp/disk"
map=-r
[ "$(id -u)" -ne 0 ] || map=
if command -v unshare >/dev/null 2>&1; then
	bg unshare $map -m sh "$tmp/mounter" "$tmp/disk" "$tmp/mounted" \
	    >"$tmp/mount.out" 2>&1
	wait_for 20 ready
fi
disk=/proc/$bg_pid/root$tmp/disk
remount() {	# ro or rw
	: >"$tmp/mounted.$1"
	wait_for 30 [ ! -f "$tmp/mounted.$1" ]
}
# Delivers without a mark, as the disk has it.
agent sure <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	if [ -f "$1" ]; then
		what=ok
		echo "$job" >>"$2"
	else
		what=deferred
	fi
	off=$(awk '/^r / { print off + 0 } { off += length($0) + 1 }' "$job")
	printf '%s/%s\t\t%s\n#hungry\n' "${job%-*}" "$off" $what
done
END
read_only() {
	po=$disk/po
	spool_new "$po"
	: >"$tmp/out"
	rm -f "$tmp/gate"
	put "$po" 601-1 back h u back h v
	put "$po" 602-1 sure h u
	ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
	ok 'mail is deferred while the disk can be written to' \
	    wait_log 'deferred msg=601-1'
	wait_log 'deferred msg=602-1'
	ok 'the disk becomes read-only' remount ro
	: >"$tmp/gate"
	ok 'a job whose control file cannot be written is deferred' \
	    wait_log 'deferred msg=601-1 .*did not report' 30
	ok 'a message on a read-only disk stays' [ -f "$po/transport/601-1" ]
	ok 'a delivery on a read-only disk is neither marked nor removed' \
	    wait_log 'remove file=transport/602-1 ' 30
	remount rw
	ok 'a deferred message is delivered when the disk can be written to' \
	    wait_log 'complete msg=601-1' 30
	ok 'a message that is delivered after that is removed' \
	    wait_for 30 [ ! -f "$po/transport/601-1" ]
	is 'a message that is delivered after that is delivered once' \
	    "$(delivered 601-1)" 2
	sched_stop
	is 'the scheduler ends well' $sched_rc 0
	remount ro
	nok 'no scheduler starts on a read-only disk' \
	    sched_start "$po" "$tmp/cf"
	is 'a start on a read-only disk ends with exit code 77' $sched_rc 77
	ok 'a start on a read-only disk is logged with the reason' \
	    logged 'err spool dir=.*Read-only'
	remount rw
	ok 'the scheduler starts when the disk can be written to' \
	    sched_start "$po" "$tmp/cf"
	ok 'a delivery that could not be marked is set aside' \
	    wait_log 'set-aside (msg|file)=.*602-1 ' 30
	is 'a delivery that could not be marked is not done again' \
	    "$(delivered 602-1)" 1
	sched_stop
}
if [ -f "$tmp/mounted" ]; then
	read_only
else
	skip 'a message on a read-only disk stays' 'nothing can be mounted here'
fi
finish
