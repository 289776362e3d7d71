#!/bin/sh
# A host with next to nothing: no /proc, no /dev, no network, no locale, no
# user table, a root that cannot be written to; and the scheduler as a child
# of init, from its inittab.
. "${0%/*}/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'only root can make such a host'
unshare -m -n -p -f true 2>/dev/null || skip_all 'no namespaces here'
root=$tmp/root
po=$tmp/po		# the one place that can be written to
mkdir -p "$root/sbin" "$root/ta" "$root/spool" "$root/proc"
spool_new "$po"
mkdir "$po/boxes"
cp "$top/scheduler" "$root/sbin"
cp "$top/ta/mailbox" "$root/ta"
# What a program is linked with, under the same names.
libraries() {	# program
	ldd "$1" 2>/dev/null | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$root${lib%/*}"
		cp "$lib" "$root$lib"
	done
}
libraries "$top/scheduler"
libraries "$top/ta/mailbox"
conf "$root/cf" <<'END'
PARAMmailqsock none
*/*	interval=1m user=0 group=0
local/*	command="mailbox -n -d /spool/boxes"
END
# Ends the whole host with it.
cat >"$tmp/host" <<'END'
root=$1 po=$2
shift 2
mount --make-rprivate / || mount --make-private /
mount --bind "$root" "$root" && mount --bind "$po" "$root/spool" &&
    mount -o remount,bind,ro "$root" || exit 9
cd "$root" && exec env -i MAILBIN=/ POSTOFFICE=/spool LOGDIR=/spool \
    LC_ALL=C.UTF-8 LANG=xx "$(command -v chroot)" "$root" "$@"
END
host() {	# command ...
	exec unshare -m -n -p -f --kill-child sh "$tmp/host" "$root" "$po" \
	    "$@" </dev/null >>"$tmp/sched.log" 2>&1
}
full() {	# mailbox
	grep "^body of $2" "$po/boxes/$1" >/dev/null 2>&1
}
host /sbin/scheduler -i -f /cf &
lib_pids="$lib_pids $!"
unshared=$!
ok 'the scheduler starts on a bare host' wait_log ' ready' 30
put "$po" 101-1 local - anna
ok 'a message is complete on a bare host' \
    wait_log 'complete msg=101-1 .*failed=none' 30
ok 'a message is in its mailbox on a bare host' full anna 101-1
is 'nothing outside the spool is written on a bare host' \
    "$(find "$root" -newer "$tmp/host" -print)" ''
kill -9 "$unshared" 2>/dev/null
wait "$unshared" 2>/dev/null
lib_forget "$unshared"

init=$(command -v busybox)
if [ -z "$init" ] || ! "$init" --list | grep -x init >/dev/null; then
	skip 'init starts the scheduler from inittab' 'no busybox with init'
	finish
fi
cp "$init" "$root/sbin/init"
libraries "$init"
mkdir -p "$root/etc" "$root/bin" "$root/dev"
ln -s ../sbin/init "$root/bin/sh"
: >"$root/dev/console" && : >"$root/dev/null"
sed -n '/^#::respawn.*scheduler/s/^#//p' "$top/contrib/inittab" |
    sed 's,/usr/local,,; s,/var/log/scheduler,/spool/log,
	s,-i,-i -f /cf,' >"$root/etc/inittab"
is 'the line of contrib/inittab starts the scheduler with a log' \
    "$(cat "$root/etc/inittab")" \
    '::respawn:/sbin/scheduler -i -f /cf -L /spool/log'
# init gives its children no environment of ours.
printf 'MAILBIN=/\nPOSTOFFICE=/spool\nLOGDIR=/spool\n' >"$root/env"
sed 's,-i -f /cf,-i -f /cf -Z /env,' "$root/etc/inittab" >"$tmp/tab"
cp "$tmp/tab" "$root/etc/inittab"
in_log() {	# ERE number
	[ "$(grep -c -e "$1" "$po/log" 2>/dev/null)" -ge "$2" ]
}
host /sbin/init &
lib_pids="$lib_pids $!"
unshared=$!
ok 'init starts the scheduler from inittab' wait_for 30 in_log ' ready' 1
put "$po" 102-1 local - bert
ok 'a scheduler under init delivers' wait_for 30 full bert 102-1
# Its number here is another than there.
pid=$(ps -eo pid,args 2>/dev/null | awk '$2 == "/sbin/scheduler" &&
    $0 ~ /-Z \/env$/ { print $1 }' | while read -r p; do
	[ "$(ls -di "/proc/$p/root/cf" 2>/dev/null | awk '{ print $1 }')" = \
	    "$(ls -di "$root/cf" | awk '{ print $1 }')" ] && echo "$p"
done)
if [ -n "$pid" ]; then
	kill -9 $pid
	ok 'init starts the scheduler again when it was killed' \
	    wait_for 30 in_log ' ready' 2
	put "$po" 103-1 local - carl
	ok 'a scheduler that init has started again delivers' \
	    wait_for 30 full carl 103-1
else
	skip 'init starts the scheduler again when it was killed' \
	    'cannot see it from here'
fi
kill -9 "$unshared" 2>/dev/null
wait "$unshared" 2>/dev/null
lib_forget "$unshared"
finish
