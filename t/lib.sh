# lib.sh - what the tests share.  A test begins with
#
#	. "${0%/*}/lib.sh"
#
# and ends with finish.  It may use $top, the project, and $tmp, a directory
# of its own with a short name, since a socket's has room for 100 bytes.  At
# its end, whatever that is, the processes started through bg and sched_start
# are ended and $tmp is removed.

LC_ALL=C
export LC_ALL
unset CDPATH COLUMNS LINES
unalias -a 2>/dev/null	# ksh has one named stop

top=$(cd "${0%/*}/.." && pwd) || exit 1
SCHEDULER=${SCHEDULER:-$top/scheduler}

# Closed to others, but an agent with user= in its clause can pass through.
lib_mask=$(umask)
umask 077
tmp=${TMPDIR:-/tmp}/t$$
lib_n=0
until mkdir "$tmp" 2>/dev/null; do
	lib_n=$((lib_n + 1))
	if [ $lib_n -gt 20 ]; then
		echo "Bail out! cannot make $tmp"
		exit 1
	fi
	tmp=${TMPDIR:-/tmp}/t$$.$lib_n
done
chmod 711 "$tmp"
umask "$lib_mask"
mkdir -p "$tmp/bin/ta" "$tmp/log"
MAILNAME=this.example	# whatever the machine is called
export MAILNAME
ln -s "$top/ta/dsn" "$tmp/bin/ta/dsn"	# it writes the DSNs of every test
ln -s "$top/scheduler-check" "$tmp/bin/scheduler-check"	# for scheduler -n

if sleep 0.1 2>/dev/null; then
	lib_nap=0.1 lib_persec=10
else
	lib_nap=1 lib_persec=1
fi

lib_pids=

lib_end() {
	lib_rc=$1
	trap - 0
	trap '' 1 2 15
	cd /
	for lib_p in $lib_pids; do
		kill "$lib_p" 2>/dev/null
	done
	lib_n=$((3 * lib_persec))
	for lib_p in $lib_pids; do
		while [ $lib_n -gt 0 ] && alive "$lib_p"; do
			sleep $lib_nap
			lib_n=$((lib_n - 1))
		done
		kill -9 "$lib_p" 2>/dev/null
		wait "$lib_p" 2>/dev/null
	done
	# agents of a scheduler that was killed may still write a moment
	rm -rf "$tmp" 2>/dev/null || {
		sleep 1
		chmod -R u+rwx "$tmp"
		rm -rf "$tmp"
	}
	exit "$lib_rc"
}
lib_traps() {
	trap 'lib_end $?' 0
	trap 'lib_end 129' 1
	trap 'lib_end 130' 2
	trap 'lib_end 143' 15
}
lib_traps

# ---- results ------------------------------------------------------------

lib_tests=0 lib_failed=0 lib_plan=

plan() {	# number
	lib_plan=$1
	echo "1..$1"
}

diag() {	# text ...
	printf '%s\n' "$*" | sed 's/^/# /'
}

pass() {	# name
	lib_tests=$((lib_tests + 1))
	printf 'ok %d - %s\n' $lib_tests "$1"
}

fail() {	# name [text]
	lib_tests=$((lib_tests + 1))
	lib_failed=$((lib_failed + 1))
	printf 'not ok %d - %s\n' $lib_tests "$1"
	[ $# -lt 2 ] || diag "$2"
}

skip() {	# name reason
	lib_tests=$((lib_tests + 1))
	printf 'ok %d - %s # skip %s\n' $lib_tests "$1" "$2"
}

skip_all() {	# reason
	echo "1..0 # skip $1"
	exit 0
}

lib_shown() {	# status command ...
	lib_status=$1
	shift
	diag "status $lib_status of: $*"
	tail -n 40 "$tmp/ok.out" | sed 's/^/#   /'
}

# The command runs in this shell, so it may be sched_start or set variables.
ok() {		# name command ...
	lib_title=$1
	shift
	"$@" >"$tmp/ok.out" 2>&1
	set -- $? "$@"
	if [ "$1" -eq 0 ]; then
		pass "$lib_title"
	else
		fail "$lib_title"
		lib_shown "$@"
	fi
}

# 126 and more: it could not be run, or a signal killed it.
nok() {		# name command ...
	lib_title=$1
	shift
	"$@" >"$tmp/ok.out" 2>&1
	set -- $? "$@"
	if [ "$1" -gt 0 ] && [ "$1" -lt 126 ]; then
		pass "$lib_title"
	else
		fail "$lib_title"
		lib_shown "$@"
	fi
}

is() {		# name got want
	if [ "x$2" = "x$3" ]; then
		pass "$1"
	else
		fail "$1" " got: $2
want: $3"
	fi
}

lib_match() {	# text ERE
	printf '%s\n' "$1" | grep -E -e "$2" >/dev/null
}

like() {	# name text ERE
	if lib_match "$2" "$3"; then
		pass "$1"
	else
		fail "$1" "does not match $3: $2"
	fi
}

unlike() {	# name text ERE
	if lib_match "$2" "$3"; then
		fail "$1" "matches $3: $2"
	else
		pass "$1"
	fi
}

# Runs a function that mostly waits beside the rest, in a shell with a $tmp of
# its own.  How many results it has must be known.  "beside_end" waits for all
# functions and shows their results.
lib_sides=0
beside() {	# results function [argument ...]
	lib_sides=$((lib_sides + 1))
	(
		lib_pids=
		tmp=$tmp/$lib_sides
		lib_traps
		mkdir -p "$tmp/bin/ta" "$tmp/log" && chmod 711 "$tmp"
		ln -s "$top/ta/dsn" "$tmp/bin/ta/dsn"
		shift
		"$@"
		exit 0
	) >"$tmp/$lib_sides.out" 2>&1 </dev/null &
	eval "lib_side_$lib_sides=$!"
	lib_pids="$lib_pids $!"
	lib_tests=$((lib_tests + $1))
}
beside_end() {
	lib_n=0
	while [ $lib_n -lt $lib_sides ]; do
		lib_n=$((lib_n + 1))
		eval "wait \$lib_side_$lib_n; lib_forget \$lib_side_$lib_n"
		cat "$tmp/$lib_n.out"
		lib_failed=$((lib_failed +
		    $(grep -c '^not ok' "$tmp/$lib_n.out")))
	done
	lib_sides=0
}

finish() {
	[ -n "$lib_plan" ] || plan $lib_tests
	[ $lib_failed -eq 0 ] && [ $lib_tests -eq "$lib_plan" ]
	exit
}

# ---- processes and waiting ----------------------------------------------

alive() {	# pid
	kill -0 "$1" 2>/dev/null
}

gone() {	# pid
	! alive "$1"
}

wait_for() {	# seconds command ...
	lib_left=$(($1 * lib_persec))
	lib_secs=$1
	shift
	until "$@" >/dev/null 2>&1; do
		if [ $lib_left -le 0 ]; then
			diag "waited $lib_secs seconds for: $*"
			return 1
		fi
		lib_left=$((lib_left - 1))
		sleep $lib_nap
	done
}

# With exec where it is a program: some shells keep a process to wait for it.
bg() {		# command ...
	case $(command -v "$1") in
	*/*) exec "$@" </dev/null & ;;
	*) "$@" </dev/null & ;;
	esac
	bg_pid=$!
	lib_pids="$lib_pids $bg_pid"
}

# Takes it off the list: its number may soon be somebody else's.
lib_forget() {	# pid
	lib_old=$lib_pids
	lib_pids=
	for lib_p in $lib_old; do
		[ "$lib_p" = "$1" ] || lib_pids="$lib_pids $lib_p"
	done
}

# Only root can; see with "as_nobody true" whether it works here.
as_nobody() {	# command ...
	if command -v setpriv >/dev/null 2>&1; then
		setpriv --reuid nobody --clear-groups "$@" 2>&1
	elif (chroot -u nobody / true) >/dev/null 2>&1; then	# the BSDs
		chroot -u nobody -g nobody -G nobody / "$@" 2>&1
	else
		su nobody -s /bin/sh -c '"$0" "$@"' -- "$@" 2>&1
	fi
}

# Prints the words by which root starts a command as another user, with these
# groups alone: nothing where that cannot be.  On the BSDs it starts in /.
words_as() {	# user group[,group ...]
	if command -v setpriv >/dev/null 2>&1; then
		set -- setpriv --reuid "$1" --regid "${2%%,*}" --groups "$2"
	else
		set -- chroot -u "$1" -g "${2%%,*}" -G "$2" /
	fi
	[ "$(id -u)" -ne 0 ] || ! "$@" true >/dev/null 2>&1 || echo "$*"
}

# For programs that read their clocks from files: in one piece, as half a number
# would be a clock that jumps.
set_clock() {	# file seconds
	echo "$2" >"$1.new" && mv "$1.new" "$1"
}

# ---- post offices -------------------------------------------------------

spool_new() {	# dir
	for lib_d in public queue transport router postman; do
		mkdir -p "$1/$lib_d" || return 1
		chmod 755 "$1/$lib_d"
	done
}

# A file system of its own for a test, a tmpfs of 1 MB mounted in a namespace:
# sets disk, and is false where that cannot be.
own_disk() {	# [more options for mount]
	mkdir "$tmp/disk"
	lib_map=-r	# a root of his own for an ordinary user
	[ "$(id -u)" -ne 0 ] || lib_map=
	disk=/none
	command -v unshare >/dev/null 2>&1 || return
	bg unshare $lib_map -m sh -c 'mount -t tmpfs -o "$2" tmpfs "$1" &&
	    : >"$1/.here" && exec sleep 600' sh "$tmp/disk" "size=1m${1+,$1}" \
	    >"$tmp/mount.out" 2>&1
	disk=/proc/$bg_pid/root$tmp/disk
	wait_for 20 lib_mounted_or_not
	[ -f "$disk/.here" ]
}
lib_mounted_or_not() {
	[ -f "$disk/.here" ] || gone $bg_pid
}

# A scheduler whose clocks are files; see t/clock.c and t/mono.c.
own_clocks() {
	SCHEDULER=$top/t/clocksched
	WALL=$tmp/wall MONO=$tmp/mono PASSES=$tmp/passes
	export WALL MONO PASSES
}

# Gives the directory a stamp that it never had.  A scheduler whose clock the
# test moves may read it twice within one second of the disk's clock, and take
# the second reading for one of later.
new_stamp() {		# dir
	echo >>"$tmp/stamps"
	lib_stamps=$(wc -l <"$tmp/stamps")
	touch -t "20010101$(printf %02d%02d $((lib_stamps / 60 % 24)) \
	    $((lib_stamps % 60)))" "$1"
}

# Sends a scheduler a notice of new mail, which it would find by its next scan,
# within a second, as well.  For tests of something else than how mail is found.
notice() {	# po name
	[ ! -S "$1/.scheduler.notify" ] ||
	    "$top/t/notify" "$1/.scheduler.notify" "NEW $2" || :
}

# As the router does it: under a dot name first.  A name may be "X/123-1".
put_raw() {	# po name <control file
	lib_base=${2##*/}
	lib_dir=${2%"$lib_base"}
	mkdir -p "$1/queue/$lib_dir" "$1/transport/$lib_dir"
	printf 'body of %s\n' "$2" >"$1/queue/$2"
	cat >"$1/transport/$lib_dir.$lib_base"
	mv "$1/transport/$lib_dir.$lib_base" "$1/transport/$2" || return 1
	[ -z "${MONO:-}" ] || new_stamp "$1/transport/$lib_dir"
}

put() {		# po name channel host user [channel host user] ...
	lib_po=$1
	lib_name=$2
	shift 2
	{
		printf 'i %s\no 0\nl <%s@test>\ne sender\n' \
		    "${lib_name##*/}" "$lib_name"
		echo 's local - sender 0'
		while [ $# -ge 3 ]; do
			printf 'r           %s %s %s 65534\n' "$1" "$2" "$3"
			shift 3
		done
		printf 'm\nSubject: %s\n\n' "$lib_name"
	} | put_raw "$lib_po" "$lib_name"
}

# Messages FIRST-1 and so on, one recipient user@hN.test each, N from 1 to
# hosts in turn.
put_many() {	# po count hosts channel [first = 100001]
	mkdir "$1/many" || return 1
	awk -v po="$1" -v n="$2" -v hosts="$3" -v chan="$4" \
	    -v first="${5:-100001}" 'BEGIN {
		for (i = 0; i < n; i++) {
			name = sprintf("%d-1", first + i)
			f = po "/queue/" name
			print "body of " name >f
			close(f)
			f = po "/many/" name
			printf "i %s\no 0\nl <%s@test>\ne sender\n", \
			    name, name >f
			print "s local - sender 0" >f
			printf "r           %s h%d.test user 65534\n", \
			    chan, i % hosts + 1 >f
			printf "m\nSubject: %s\n\n", name >f
			close(f)
		}
	}' && (cd "$1/many" && find . -name '*-1' -print |
	    xargs sh -c 'mv "$@" ../transport' mv) && rmdir "$1/many"
}

po_empty() {	# po
	[ -z "$(find "$1/transport" "$1/queue" ! -type d -print)" ]
}

# An empty post office, $po, that mailq looks at without options.
own_spool() {
	po=$tmp/po
	spool_new "$po"
	POSTOFFICE=$po MAILSHARE=$tmp RENDEZVOUS=$po/public/.mailq.text
	export POSTOFFICE MAILSHARE RENDEZVOUS
}

# One that any user may write to, and a copy of submit that he may run: S.
open_spool() {
	unset POSTOFFICE MAILSHARE
	po=$tmp/po
	spool_new "$po"
	chmod 1777 "$po/public" "$po/router"
	S=$tmp/bin/submit
	cp "${SUBMIT:-$top/submit}" "$S" && chmod 755 "$S" || exit 1
}

conf() {	# file <text
	cat >"$1"
}

# ---- the scheduler ------------------------------------------------------

# $VALGRIND may hold a command to run it under.
sched_start() {	# po conf [option ...]
	lib_po=$1
	lib_conf=$2
	shift 2
	# root's would all answer at one port, to each other's mailq too
	grep mailqsock "$lib_conf" >/dev/null 2>&1 || [ ! -w "$lib_conf" ] ||
	    echo 'PARAMmailqsock none' >>"$lib_conf"
	[ ! -f "$tmp/sched.log" ] || mv "$tmp/sched.log" "$tmp/sched.old"
	exec env MAILBIN="${MAILBIN:-$tmp/bin}" MAILSHARE="${MAILSHARE:-$tmp}" \
	    LOGDIR="$tmp/log" \
	    $VALGRIND "$SCHEDULER" -i -P "$lib_po" -f "$lib_conf" "$@" \
	    </dev/null >"$tmp/sched.log" 2>&1 &
	sched_pid=$!
	lib_pids="$lib_pids $sched_pid"
	lib_left=$((30 * lib_persec))
	until logged ' ready'; do
		if gone "$sched_pid"; then
			wait "$sched_pid"
			sched_rc=$?
			lib_forget "$sched_pid"
			diag "the scheduler ended, status $sched_rc; it said:"
			diag "$(cat "$tmp/sched.log")"
			return 1
		fi
		if [ $lib_left -le 0 ]; then
			diag "the scheduler is not ready; it said:"
			diag "$(cat "$tmp/sched.log")"
			return 1
		fi
		lib_left=$((lib_left - 1))
		sleep $lib_nap
	done
}

# Sets sched_rc, which is above 128 when a signal ended it.
sched_stop() {	# [signal = TERM]
	kill "-${1:-TERM}" "$sched_pid" 2>/dev/null
	if ! wait_for 30 gone "$sched_pid"; then
		kill -9 "$sched_pid" 2>/dev/null
	fi
	wait "$sched_pid" 2>/dev/null
	sched_rc=$?
	lib_forget "$sched_pid"
}

# For one whose agents do not come to an end, which it would wait for.
sched_quit() {
	kill -TERM "$sched_pid" 2>/dev/null
	wait_log ' ending agents=' 30
	sched_stop
}

# Does this build do without something?  See the switches in the Makefile.
without() {	# switch
	"$SCHEDULER" -V | grep " $1" >/dev/null
}

logged() {	# ERE
	grep -E -e "$1" "$tmp/sched.log" >/dev/null 2>&1
}

lines() {	# ERE: those of the log
	grep -E -e "$1" "$tmp/sched.log"
}

count() {	# ERE: how many there are
	lines "$1" | wc -l | tr -d ' '
}

# One process waits, instead of two for each look.  Not every test has made it.
wait_log() {	# ERE [seconds = 30]
	if [ -x "$top/t/ask" ]; then
		"$top/t/ask" log "$tmp/sched.log" "$1" "${2:-30}" && return
		diag "waited ${2:-30} seconds for: logged $1"
		return 1
	fi
	wait_for "${2:-30}" logged "$1"
}

# ---- transport agents ---------------------------------------------------

# Its cwd will be transport/, and nothing of our environment reaches it.
agent() {	# name <script
	{
		echo '#!/bin/sh'
		cat
	} >"$tmp/bin/ta/$1"
	chmod 755 "$tmp/bin/ta/$1"
}

# An agent that has every recipient delivered.  In the configuration:
#
#	command="NAME $channel FILE [STATUS]"
#
# It appends a line "JOB CHANNEL HOST USER" to FILE (or $OUT) for each.  With
# another STATUS than ok3, such as deferred or error2, it says that instead.
agent_noop() {	# name
	agent "$1" <<'AGENT'
LC_ALL=C
export LC_ALL
channel=$1
out=${2:-${OUT:-/dev/null}}
status=${3:-ok3}
case $status in
ok*) tag=+ ;;
error*) tag=- ;;
*) tag=' ' ;;
esac
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	case $line in
	'#idle') echo '#hungry'; continue ;;
	*"$tab"*) job=${line%%"$tab"*} host=${line#*"$tab"} ;;
	*) job=$line host= ;;
	esac
	num=${job##*/}
	num=${num%%[!0-9]*}
	list=$(awk -v channel="$channel" -v host="$host" '
		block { if ($0 == "") block = 0 }
		!block && /^r / {
			split(substr($0, 13), w, " ")
			if (w[1] == channel &&
			    (host == "" || tolower(w[2]) == tolower(host)))
				print off + 0, w[2], w[3]
		}
		/^[mM]$/ { block = 1 }
		{ off += length($0) + 1 }' "$job")
	[ -n "$list" ] || echo "#resync $job"
	[ -z "$list" ] || printf '%s\n' "$list" |
	while read -r off rhost user; do
		# the tag first: after the report the file may be gone, and
		# dd would make another
		printf %s "$tag" | dd of="$job" bs=1 seek=$((off + 1)) \
		    conv=notrunc 2>/dev/null
		printf '%s %s %s %s\n' "$job" "$channel" "$rhost" "$user" \
		    >>"$out"
		printf '%s/%s\t\t%s \n' "$num" "$off" "$status"
	done
	echo '#hungry'
done
AGENT
}
