#!/bin/sh
# The places that no file and no option names: port 174, and the pipe in
# /usr/tmp.  They are tried in a namespace, which has a port 174 and a /usr/tmp
# of its own.
. "${0%/*}/lib.sh"

without NO_TCP && skip_all 'this build has no TCP'
map=-r
[ "$(id -u)" -ne 0 ] || map=
# shellcheck disable=SC2016
space='ip link set lo up || ifconfig lo 127.0.0.1 up || exit 1
[ -d /usr/tmp ] || {
	mount -t overlay -o "lowerdir=/usr,upperdir=$1/up,workdir=$1/work" \
	    overlay /usr && mkdir /usr/tmp || exit 1
}
mount -t tmpfs tmpfs /usr/tmp || exit 1
'
mkdir "$tmp/disk"
# An overlay wants another file system than an overlay beneath it.
# shellcheck disable=SC2086
unshare $map -n -m sh -c 'mount -t tmpfs tmpfs "$1" &&
    mkdir "$1/up" "$1/work" && '"{ $space }" sh "$tmp/disk" \
    >"$tmp/space.out" 2>&1 || skip_all 'no namespace with a net and a /usr/tmp'

po=$tmp/po
spool_new "$po"
put "$po" 101-1 test h user
conf "$tmp/cf" <<END
PARAMmailname this.example
*/*	interval=1h
test/*	queueonly command="$top/t/agent -c test"
END
cat >"$tmp/inside" <<END
mount -t tmpfs tmpfs "\$1" && mkdir "\$1/up" "\$1/work" || exit 1
$space
MAILBIN=$tmp/bin MAILSHARE=$tmp LOGDIR=$tmp/log "$SCHEDULER" -i -P "$po" \\
    -f "$tmp/cf" >"$tmp/sched.log" 2>&1 </dev/null &
pid=\$!
"$top/t/ask" log "$tmp/sched.log" ' ready' 30
ls -l /usr/tmp/.mailq.text >"$tmp/pipe"
# there is no pipe in the post office, so the next places are asked
unset RENDEZVOUS
POSTOFFICE=$po "$top/mailq" >"$tmp/by.pipe" 2>&1
"$top/mailq" -p 174 >"$tmp/by.port" 2>&1
rm /usr/tmp/.mailq.text
POSTOFFICE=$po "$top/mailq" >"$tmp/by.default" 2>&1
[ ! -e "$po/public/.mailq.text" ] || echo 'a pipe in public'
kill \$pid
wait \$pid
END
# shellcheck disable=SC2086
unshare $map -n -m sh "$tmp/inside" "$tmp/disk" >"$tmp/out" 2>&1
is 'no pipe is made in public then' "$(cat "$tmp/out")" ''
like 'without -q or RENDEZVOUS the pipe for queries is in /usr/tmp' \
    "$(cat "$tmp/pipe")" '^p'
like 'mailq asks at the pipe in /usr/tmp' "$(cat "$tmp/by.pipe")" '101-1'
like 'without PARAMmailqsock the scheduler answers at port 174' \
    "$(cat "$tmp/by.port")" '101-1'
like 'mailq asks at port 174 when there is no pipe' \
    "$(cat "$tmp/by.default")" '101-1'
finish
