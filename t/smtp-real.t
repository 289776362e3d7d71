#!/bin/sh
# The agent smtp against servers that nobody here wrote, each with its own
# configuration and spool, at a free port of the loopback.
#
# Programs are looked for under $MTA_ROOT (/var/tmp/mta), where packages may
# be unpacked without being installed, and then in the usual places.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

A=${SMTP:-$top/ta/smtp}
R=${MTA_ROOT:-/var/tmp/mta}
# What anybody may have put there is not run.
[ -n "$(find "$R" -prune -user "$(id -u)" ! -perm -0002 2>/dev/null)" ] ||
    R=
need_sockets

program() {	# path: sets found
	for found in "$R$1" "$1"; do
		[ ! -x "$found" ] || return 0
	done
	return 1
}
message() {	# name user ...
	msg=$1
	shift
	{
		printf 'i %s\no 0\nl <x@test>\ns local - s@a.test 0\n' "$msg"
		for user; do
			echo "r           smtp h $user 0"
		done
		printf 'm\nSubject: real\nFrom: s@a.test\n\n'
	} | put_raw "$po" "$msg"
	awk 'BEGIN {
		print "first"; print "."; print "..two"; print ".three"
		for (i = 0; i < 1000; i++) printf "x"
		printf "\n\303\251\nlast"
	}' >"$po/queue/$msg"
}
# What it says, in the order of the recipients: "STATUS X.Y.Z".
verdict() {	# job [option ...]
	job=$1
	shift
	printf '%s\th\n' "$job" | (cd "$po/transport" && exec "$A" \
	    -R "[127.0.0.1]:$port" "$@") >"$tmp/out" 2>&1
	all_verdicts "$job" | awk '!/^#/ { print $1, $2 }'
}
reached() {	# is the server there?  The message waits until it is.
	case $(verdict 9-1) in
	*4.4.1*) return 1 ;;
	esac
}
up() {		# name user: waits for the server, which gets a message
	message 9-1 "$2"
	ok "$1 listens" wait_for 30 reached
}
# The bytes that must come out, whoever put them where.
arrived() {	# file ...
	cat "$@" 2>/dev/null | tr -d '\r' | sed -n '/^first/,$p' | tr -s 'x' |
	    od -An -v -c | tr -d ' \n'
}
body='first\n.\n..two\n.three\nx\nx\n303251\nlast\n'
box_has() {	# dir: one message, complete
	[ "$(find "$1" -type f | wc -l)" -ge 1 ]
}

# ---- Exim ------------------------------------------------------------------------

exim_tests='there refuses_some and_delivers complete many_recipients each_once'
if [ "$(id -u)" -ne 0 ] || ! id Debian-exim >/dev/null 2>&1 ||
    ! program /usr/sbin/exim4; then
	for i in $exim_tests; do
		skip "Exim: $i" 'no exim4, or not root'
	done
else
	E=$tmp/exim
	mkdir "$E" "$E/box" "$E/spool"
	chmod 755 "$E"
	chown Debian-exim "$E/box" "$E/spool"
	cat >"$E/conf" <<END
primary_hostname = exim.test
spool_directory = $E/spool
log_file_path = $E/spool/%slog
pid_file_path = $E/spool/pid
exim_user = Debian-exim
exim_group = Debian-exim
keep_environment =
tls_advertise_hosts =
dsn_advertise_hosts = *
recipients_max = 5
message_size_limit = 100K
acl_smtp_rcpt = rcpt
begin acl
rcpt:
  deny local_parts = bad
  defer local_parts = later
  accept
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = $E/box
  maildir_format
  user = Debian-exim
  create_directory
END
	free_port
	bg "$found" -C "$E/conf" -bdf -oX "127.0.0.1.$port" >"$E/out" 2>&1
	exim_pid=$bg_pid
	up Exim probe@exim.test
	message 10-1 me@exim.test bad@exim.test later@exim.test you@exim.test
	is 'Exim: each recipient has its verdict' "$(verdict 10-1 | tr '\n' ,)" \
	    'error2 5.1.1,deferred 4.3.0,ok3 2.0.0,ok3 2.0.0,'
	ok 'Exim: the message is delivered' wait_for 30 box_has "$E/box/new"
	is 'Exim: the message arrives byte for byte' \
	    "$(arrived "$(ls "$E/box/new/"* |
	    head -n 1)")" "$body"
	message 11-1 a1@e a2@e a3@e a4@e a5@e a6@e a7@e a8@e a9@e a10@e a11@e \
	    a12@e
	is 'Exim: twelve recipients are delivered to, five at a time' \
	    "$(verdict 11-1 -h me.test | sort | uniq -c |
	    awk '{ print $1, $2 }')" '12 ok3'
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		print "0123456789012345678901234567890123456789" }' \
	    >"$po/queue/12-1"
	message 12-1 me@exim.test
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		print "0123456789012345678901234567890123456789" }' \
	    >"$po/queue/12-1"
	is 'Exim: a message that is too large fails' \
	    "$(verdict 12-1)" 'error2 5.3.4'
	kill "$exim_pid"
	wait "$exim_pid" 2>/dev/null
	lib_forget "$exim_pid"
fi

# ---- Postfix -----------------------------------------------------------------------

if [ "$(id -u)" -ne 0 ] || ! program /usr/lib/postfix/sbin/master ||
    ! id mail >/dev/null 2>&1; then
	for i in there verdicts delivers complete; do
		skip "Postfix: $i" 'no postfix, or not root'
	done
else
	P=$tmp/postfix
	B=${found%/usr/lib/postfix/sbin/master}
	mkdir "$P" "$P/conf" "$P/q" "$P/data" "$P/box" "$P/log"
	chmod 755 "$P"
	for d in active bounce corrupt defer deferred flush hold incoming \
	    private saved trace public maildrop pid; do
		mkdir "$P/q/$d"
	done
	chown mail "$P/q/"* "$P/data" "$P/box"
	chown root "$P/q/pid"
	chmod 700 "$P/q/"*
	chmod 755 "$P/q/pid"
	chgrp daemon "$P/q/public" "$P/q/maildrop"
	chmod 710 "$P/q/public"
	chmod 730 "$P/q/maildrop"
	free_port
	cat >"$P/conf/main.cf" <<END
compatibility_level = 3.6
queue_directory = $P/q
command_directory = $B/usr/sbin
daemon_directory = $B/usr/lib/postfix/sbin
data_directory = $P/data
shlib_directory = $B/usr/lib/postfix
meta_directory = $B/etc/postfix
import_environment = MAIL_CONFIG LD_LIBRARY_PATH
mail_owner = mail
setgid_group = daemon
default_privs = nobody
myhostname = postfix.test
mydestination =
alias_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
maillog_file = $P/log/log
maillog_file_prefixes = $tmp
virtual_mailbox_domains = post.test
virtual_mailbox_base = $P/box
virtual_mailbox_maps = static:all/
virtual_minimum_uid = 1
virtual_uid_maps = static:$(id -u mail)
virtual_gid_maps = static:$(id -g mail)
smtpd_relay_restrictions = reject_unauth_destination
smtpd_recipient_restrictions =
  check_recipient_access inline:{ bad@post.test=REJECT later@post.test=DEFER }
END
	cat >"$P/conf/master.cf" <<END
$port inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n - 0 flush
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
error unix - - n - - error
retry unix - - n - - error
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
END
	bg env LD_LIBRARY_PATH="$B/usr/lib/postfix" "$found" -c "$P/conf" -d
	postfix_pid=$bg_pid
	up Postfix probe@post.test
	message 10-1 me@post.test bad@post.test later@post.test you@post.test
	is 'Postfix: each recipient has its verdict' \
	    "$(verdict 10-1 | tr '\n' ,)" \
	    'error2 5.7.1,deferred 4.7.1,ok3 2.0.0,ok3 2.0.0,'
	ok 'Postfix: the message is delivered' \
	    wait_for 30 box_has "$P/box/all/new"
	is 'Postfix: the message arrives byte for byte' \
	    "$(arrived "$(ls "$P/box/all/new/"* |
	    head -n 1)")" "$body"
	kill "$postfix_pid"
	wait "$postfix_pid" 2>/dev/null
	lib_forget "$postfix_pid"
fi

# ---- msmtpd ------------------------------------------------------------------------

if ! program /usr/bin/msmtpd; then
	for i in there delivers complete; do
		skip "msmtpd: $i" 'no msmtpd'
	done
else
	free_port
	mkdir "$tmp/msmtpd"
	bg "$found" --port="$port" \
	    --command="cat >$tmp/msmtpd/new; echo %F >$tmp/msmtpd/from; :"
	up msmtpd probe@m.test
	message 10-1 me@m.test you@m.test
	is 'msmtpd: the message is delivered' \
	    "$(verdict 10-1 | sort -u | tr '\n' ,)" 'ok3 2.0.0,'
	is 'msmtpd: the message arrives byte for byte' \
	    "$(arrived "$tmp/msmtpd/new")" "$body"
	kill "$bg_pid"
	wait "$bg_pid" 2>/dev/null
	lib_forget "$bg_pid"
fi

# ---- aiosmtpd ------------------------------------------------------------------------

if ! /usr/bin/python3 -c 'import aiosmtpd' 2>/dev/null; then
	skip 'aiosmtpd' 'no python3-aiosmtpd'
	finish
fi
I=$tmp/aio
mkdir "$I"
cat >"$I/server.py" <<'PYTHON'
import asyncio, os, sys
from aiosmtpd.smtp import SMTP

home = sys.argv[1]

def rule(stage):
    try:
        with open(os.path.join(home, "rule")) as f:
            name, what = f.read().strip().split(" ", 1)
    except OSError:
        return None
    return what if name == stage else None

def act(server, stage, good):
    what = rule(stage)
    if what == "drop":
        server.transport.abort()
    return what or good

class Handler:
    async def handle_EHLO(self, server, session, envelope, name, replies):
        session.host_name = name
        what = act(server, "ehlo", None)
        return [what] if what else replies

    async def handle_HELO(self, server, session, envelope, name):
        session.host_name = name
        return act(server, "helo", "250 hello")

    async def handle_MAIL(self, server, session, envelope, address, options):
        what = act(server, "mail", "250 ok")
        if what.startswith("250"):
            envelope.mail_from = address
        return what

    async def handle_RCPT(self, server, session, envelope, address, options):
        what = act(server, "rcpt", "250 ok")
        if what.startswith("250"):
            envelope.rcpt_tos.append(address)
        return what

    async def handle_DATA(self, server, session, envelope):
        with open(os.path.join(home, "message"), "wb") as f:
            f.write(envelope.original_content)
        return act(server, "dot", "250 taken")

class Server(SMTP):
    async def _handle_client(self):
        what = rule("greeting")
        if what == "drop":
            self.transport.abort()
        elif what == "slow":
            await asyncio.sleep(1.5)
            await super()._handle_client()
        elif what == "silent":
            await asyncio.sleep(60)
        elif what:
            await self.push(what)
            self.transport.close()
        else:
            await super()._handle_client()

async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Server(Handler(), enable_SMTPUTF8=False, loop=loop),
        "127.0.0.1", 0)
    with open(os.path.join(home, "port.new"), "w") as f:
        f.write("%d\n" % server.sockets[0].getsockname()[1])
    os.rename(os.path.join(home, "port.new"), os.path.join(home, "port"))
    await server.serve_forever()

asyncio.run(main())
PYTHON
bg /usr/bin/python3 "$I/server.py" "$I"
if ! wait_for 30 test -s "$I/port"; then
	fail 'aiosmtpd starts'
	finish
fi
port=$(cat "$I/port")
message 10-1 me@a.test you@a.test
is 'aiosmtpd: the message is delivered' "$(verdict 10-1 | sort -u)" 'ok3 2.0.0'
is 'aiosmtpd: the message arrives byte for byte' \
    "$(arrived "$I/message")" "$body"
while read -r stage want status what; do
	echo "$stage $what" >"$I/rule"
	message 10-1 me@a.test
	is "aiosmtpd: $stage $what" "$(verdict 10-1 -T quit=1)" "$want $status"
done <<'END'
greeting deferall 4.3.2 421 not now
greeting deferall 4.3.2 554 go away
greeting deferall 4.4.2 drop
greeting ok3 2.0.0 slow
ehlo deferall 4.3.2 421 not now
ehlo deferall 4.3.2 451 not now
ehlo ok3 2.0.0 502 what?
ehlo deferall 4.4.2 drop
mail deferall 4.3.2 421 not now
mail deferred 4.3.0 451 later
mail error2 5.1.8 550 no
mail deferall 4.4.2 drop
rcpt deferall 4.3.2 421 not now
rcpt deferred 4.2.1 450 later
rcpt error2 5.1.1 550 no
rcpt deferall 4.4.2 drop
dot deferred 4.3.2 421 not now
dot deferred 4.3.0 451 later
dot error2 5.6.0 554 no
dot deferred 4.4.2 drop
END
echo 'greeting silent' >"$I/rule"
message 10-1 me@a.test
is 'aiosmtpd: a missing greeting: deferred' \
    "$(verdict 10-1 -T greeting=1)" 'deferall 4.4.2'
finish
