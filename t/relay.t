#!/bin/sh
# A relay that wants TLS and a password: servers that nobody here wrote, and the
# programs that speak TLS for smtp -X, each with each.  Whatever goes wrong, the
# message is kept, and the reason says what it was.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

need_sockets
copy_agent
certificate() {	# dir: cert and key for localhost
	mkdir "$1" && openssl req -x509 -newkey rsa:2048 -nodes -days 2 \
	    -subj /CN=localhost -addext subjectAltName=DNS:localhost \
	    -keyout "$1/key" -out "$1/cert" 2>/dev/null &&
	    chmod 711 "$1" && chmod 644 "$1/cert"
}
certificate "$tmp/aio" && certificate "$tmp/exim" ||
    skip_all 'no openssl that makes certificates'
python=/usr/bin/python3
"$python" -c 'import socket' 2>/dev/null || python=

# ---- servers ---------------------------------------------------------------------

# Each sets at_once and later, the ports for TLS from the beginning and for
# STARTTLS, and box, a directory in which each message is a file.
cat >"$tmp/aio/server.py" <<'PYTHON'
import asyncio, os, ssl, sys
from aiosmtpd.smtp import SMTP, AuthResult

home = sys.argv[1]
count = 0

class Handler:
    async def handle_DATA(self, server, session, envelope):
        global count
        count += 1
        path = os.path.join(home, "box", str(count))
        with open(path + ".new", "wb") as f:
            f.write(envelope.original_content)
        os.rename(path + ".new", path)
        return "250 taken"

class Server(SMTP):
    def connection_made(self, transport):
        if self.session is None:    # not that of STARTTLS
            with open(os.path.join(home, "connections"), "a") as f:
                f.write("connection\n")
        super().connection_made(transport)

def check(server, session, envelope, mechanism, data):
    good = data.login == b"anna" and data.password == b"open sesame"
    return AuthResult(success=good, handled=False)

async def main():
    loop = asyncio.get_running_loop()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.set_ciphers("DEFAULT:@SECLEVEL=0")  # for busybox 1.35
    tls.load_cert_chain(os.path.join(home, "cert"), os.path.join(home, "key"))
    options = dict(loop=loop, authenticator=check, auth_required=True)
    at_once = await loop.create_server(
        lambda: Server(Handler(), auth_require_tls=False, **options),
        "127.0.0.1", 0, ssl=tls)
    later = await loop.create_server(
        lambda: Server(Handler(), tls_context=tls, require_starttls=True,
                       **options), "127.0.0.1", 0)
    with open(os.path.join(home, "port.new"), "w") as f:
        for server in at_once, later:
            f.write("%d\n" % server.sockets[0].getsockname()[1])
    os.rename(os.path.join(home, "port.new"), os.path.join(home, "port"))
    await at_once.serve_forever()

asyncio.run(main())
PYTHON
start_aiosmtpd() {
	[ -n "$python" ] && "$python" -c 'import aiosmtpd' 2>/dev/null || {
		why='no python3-aiosmtpd'
		return 1
	}
	home=$tmp/aio
	box=$home/box
	mkdir "$box"
	bg "$python" "$home/server.py" "$home" 2>"$home/err"
	wait_for 30 test -s "$home/port" || { diag "$(cat "$home/err")"; exit 1; }
	at_once=$(sed -n 1p "$home/port")
	later=$(sed -n 2p "$home/port")
}
connections_of_aiosmtpd() {
	grep -c . "$home/connections"
}

# Exim wants to be root, or its own user, at the start.
start_exim() {
	why='no exim4, or not root'
	[ "$(id -u)" -eq 0 ] && id Debian-exim >/dev/null 2>&1 || return 1
	exim=$(command -v exim4 || command -v exim) || return 1
	home=$tmp/exim
	box=$home/box/new
	mkdir "$home/box" "$home/spool"
	chmod 755 "$home"
	chown Debian-exim "$home/box" "$home/spool" "$home/key"
	free_port
	at_once=$port
	free_port
	later=$port
	cat >"$home/conf" <<END
primary_hostname = exim.test
spool_directory = $home/spool
log_file_path = $home/spool/%slog
log_selector = +smtp_connection
pid_file_path = $home/spool/pid
exim_user = Debian-exim
exim_group = Debian-exim
keep_environment =
local_interfaces = 127.0.0.1
daemon_smtp_ports = $at_once : $later
tls_on_connect_ports = $at_once
tls_advertise_hosts = *
smtp_accept_queue_per_connection = 0
tls_certificate = $home/cert
tls_privatekey = $home/key
acl_smtp_rcpt = rcpt
begin acl
rcpt:
  deny message = 530 5.7.0 Authentication required
    !authenticated = *
  accept
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_advertise_condition = \${if def:tls_in_cipher}
  server_condition = \${if and{{eq{\$auth2}{anna}}{eq{\$auth3}{open sesame}}}}
begin routers
all:
  driver = accept
  transport = box
begin transports
box:
  driver = appendfile
  directory = $home/box
  maildir_format
  user = Debian-exim
  create_directory
END
	bg "$exim" -C "$home/conf" -bdf >"$home/out" 2>&1
	wait_for 30 eval '[ "$(grep -c "listening for SMTP" \
	    "$home/spool/mainlog")" -ge 1 ]' || {
		diag "$(cat "$home/out" "$home/spool/"*log)"
		exit 1
	}
}
connections_of_exim() {
	grep -c 'SMTP connection from .*TCP/IP connection count' \
	    "$home/spool/mainlog"
}

# ---- what smtp says --------------------------------------------------------------

one() {		# name
	{
		printf 'i %s\no 0\nl <x@test>\ns local - s@a.test 0\n' "$1"
		printf 'r           smtp h me@relay.test 0\n'
		printf 'm\nSubject: %s\nFrom: s@a.test\n\n' "$1"
	} | put_raw "$po" "$1"
	printf 'first\n.\n..two\nlast\n' >"$po/queue/$1"
}
# The verdict on one message, "STATUS X.Y.Z text".
relay() {	# host:port password option ...; without a password no line
	echo "${2:+${1%:*} }anna ${2:-of another host} verified" \
	    >"$tmp/passwords"
	chmod 600 "$tmp/passwords"
	relay_host=$1
	shift 2
	one 10-1
	printf '10-1\th\n' | (cd "$po/transport" && exec "$A" -h me.test \
	    -R "$relay_host" -A "$tmp/passwords" "$@") >"$tmp/out" 2>&1
	verdicts
}
is_kept() {	# "yes" when the message waits, untouched
	[ "$(sed -n 's/^r\(.\).*/\1/p' "$po/transport/10-1")" = ' ' ] &&
	    [ -s "$po/queue/10-1" ] && echo yes
}
boxes() {
	find "$box" -type f ! -name '*.new' 2>/dev/null
}
grew() {
	[ "$(boxes | wc -l)" -gt "$before" ]
}
newest() {	# the bytes of the message that came
	tr -d '\r' <"$(boxes | xargs ls -t | sed 1q)" | sed -n '/^first/,$p'
}
body='first
.
..two
last'

# Passes bytes to a port and back until the client has said hello; of what the
# server then answers, so many bytes: there it stops, or hangs up.
cat >"$tmp/half.py" <<'PYTHON'
import os, socket, sys, threading

home, port, most, drop = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), \
    sys.argv[4] == "drop"

def serve(client):
    server = socket.create_connection(("127.0.0.1", port))
    hello = threading.Event()
    def up():
        try:
            data = client.recv(4096)
            while data:
                if data[0] == 0x16:
                    hello.set()
                server.sendall(data)
                data = client.recv(4096)
        except OSError:
            pass
    threading.Thread(target=up, daemon=True).start()
    left = most
    while left > 0:
        data = server.recv(min(left, 4096) if hello.is_set() else 4096)
        if not data:
            break
        if hello.is_set():
            data = data[:left]
            left -= len(data)
        client.sendall(data)
    if drop:
        client.shutdown(socket.SHUT_RDWR)
    else:
        threading.Event().wait()

s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
with open(home + ".new", "w") as f:
    f.write("%d\n" % s.getsockname()[1])
os.rename(home + ".new", home)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
PYTHON
half() {	# port "drop" or "stop": sets port
	rm -f "$tmp/half"
	bg "$python" "$tmp/half.py" "$tmp/half" "$1" 100 "$2"
	wait_for 30 test -s "$tmp/half" || exit 1
	port=$(cat "$tmp/half")
}

# ---- each with each --------------------------------------------------------------

openssl='openssl s_client -quiet -no_ign_eof -nocommands -verify_return_error'
openssl="$openssl -verify_hostname \$host -connect \$host:\$port"
gnutls='gnutls-cli --logfile=/dev/stderr -p $port $host'

# By a program that verifies.
verifying() {	# server program option port
	title="$1, $2${3:+ $3}"
	eval "program=\$$2"
	command -v "${program%% *}" >/dev/null 2>&1 || {
		skip "$title" "no ${program%% *}"
		return
	}
	program="$program $3"
	case $2 in
	gnutls) trust=--x509cafile=$home/cert ;;
	*) trust="-CAfile $home/cert" ;;
	esac
	before=$(boxes | wc -l)
	like "$title: the message is delivered" "$(relay "localhost:$4" \
	    'open sesame' -X "$program $trust")" '^ok3 '
	ok "$title: the server has it" wait_for 30 grew
	is "$title: it arrives byte for byte" "$(newest)" "$body"
	like "$title: a wrong password: the reason is what the server said" \
	    "$(relay "localhost:$4" wrong -X "$program $trust")" \
	    '^deferall 4\.7\.8 localhost said to AUTH: 535'
	is "$title: a wrong password: the message is kept" "$(is_kept)" yes
	like "$title: no trust in the certificate: the reason says so" \
	    "$(relay "localhost:$4" 'open sesame' -X "$program")" \
	    '^deferall 4\.4\.1 localhost: .*([Cc]ertificate|verify error)'
	is "$title: no trust in the certificate: the message is kept" \
	    "$(is_kept)" yes
	like "$title: a certificate of another name: the reason says so" \
	    "$(relay "127.0.0.1:$4" 'open sesame' -X "$program $trust")" \
	    '^deferall 4\.4\.1 .*([Cc]ertificate|mismatch)'
	is "$title: a certificate of another name: the message is kept" \
	    "$(is_kept)" yes
	like "$title: no password: mail waits" "$(relay "localhost:$4" '' \
	    -X "$program $trust")" \
	    '^deferall 4\.3\.5 .*has no line for it, nor for the sender'
	[ -n "$python" ] || {
		skip "$title: a server stops in mid-handshake" 'no python3'
		return
	}
	half "$4" stop
	like "$title: a server stops in mid-handshake: the reason says so" \
	    "$(relay "localhost:$port" 'open sesame' -T greeting=1 \
	    -X "$program $trust")" \
	    '^deferall 4\.4\.2 localhost: no answer within 1s'
	is "$title: a server stops in mid-handshake: the message is kept" \
	    "$(is_kept)" yes
	serve_end "$bg_pid"
	half "$4" drop
	like "$title: a server hangs up in mid-handshake: the reason says so" \
	    "$(relay "localhost:$port" 'open sesame' -X "$program $trust")" \
	    '^deferall 4\.4\.1 localhost: the program of -X: .*([Ee]rror|terminated)'
	is "$title: a server hangs up in mid-handshake: the message is kept" \
	    "$(is_kept)" yes
	serve_end "$bg_pid"
}

# busybox verifies nothing, and needs TLS from the beginning.
busybox() {	# server port
	title="$1, busybox ssl_client"
	command busybox ssl_client --help 2>&1 | grep -e '-s FD' >/dev/null || {
		skip "$title" 'no busybox with ssl_client'
		return
	}
	program='busybox ssl_client -s $socket -n $host'
	before=$(boxes | wc -l)
	tries=0
	lost='4\.4\.2 .*no answer.*the greeting'	# by busybox 1.35
	until said=$(relay "localhost:$2" 'open sesame' \
	    -T greeting=$((tries + 3)) -X "$program"); [ $tries -eq 9 ] ||
	    ! lib_match "$said" "$lost"; do
		tries=$((tries + 1))
	done
	if lib_match "$said" "$lost"; then
		skip "$title" 'busybox has lost ten greetings'
		return
	fi
	like "$title: the message is delivered" "$said" '^ok3 '
	ok "$title: the server has it" wait_for 30 grew
	is "$title: it arrives byte for byte" "$(newest)" "$body"
	like "$title: it is named as one that verifies nothing" \
	    "$(cat "$tmp/out")" 'ssl_client, which by itself verifies no cert'
}

# Many messages, by the scheduler: one connection.
many() {	# server
	conf "$tmp/cf" <<END
*/*	interval=1h retries=1 idlemax=1h maxta=1
	command="$A -R localhost:$at_once -A $tmp/passwords -X '$openssl \\
	-CAfile $home/cert'"
END
	rm -f "$po/transport/"* "$po/queue/"*
	relay localhost:1 'open sesame' >/dev/null	# makes the passwords
	rm -f "$po/transport/"* "$po/queue/"*
	before=$(($(boxes | wc -l) + 19))
	conns=$("connections_of_$1")
	for n in 1 2 3 4 5 6 7 8 9; do
		one "10$n-1"
		one "20$n-1"
	done
	one 301-1
	one 302-1
	ok "$1: a scheduler starts" sched_start "$po" "$tmp/cf"
	ok "$1: twenty messages are delivered" wait_for 60 po_empty "$po"
	sched_stop
	ok "$1: the server has twenty messages" wait_for 30 grew
	is "$1: twenty messages cost one handshake" \
	    "$(($("connections_of_$1") - conns))" 1
}

# By mailq an operator sees the reason, mends it, and the mail goes.
mend() {	# server
	rm -f "$po/transport/"* "$po/queue/"*
	relay localhost:1 wrong >/dev/null
	before=$(boxes | wc -l)
	ok "$1: a scheduler with a wrong password starts" \
	    sched_start "$po" "$tmp/cf"
	ok "$1: a wrong password: the mail is deferred" \
	    wait_log 'deferred .*msg=10-1 .*AUTH: 535|deferred msg=10-1 .*535' 60
	like "$1: a wrong password: mailq says why" \
	    "$(POSTOFFICE=$po "$top/mailq" 2>&1)" 'localhost said to AUTH: 535'
	echo 'localhost anna open sesame verified' >"$tmp/passwords"
	POSTOFFICE=$po "$top/mailq" flush all >/dev/null
	ok "$1: with the right password and flush the mail goes" \
	    wait_for 60 po_empty "$po"
	sched_stop
	ok "$1: the server has the mail" wait_for 30 grew
}

for server in aiosmtpd exim; do
	if ! "start_$server"; then
		skip "$server" "$why"
		continue
	fi
	verifying $server openssl '' "$at_once"
	verifying $server openssl '-starttls smtp' "$later"
	verifying $server gnutls '' "$at_once"
	verifying $server gnutls --starttls-proto=smtp "$later"
	busybox $server "$at_once"
	many $server
	mend $server
done
finish
