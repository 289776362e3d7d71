#!/bin/sh
# smtp through a program (-X), and with a password (-A): against t/smtpd, which
# speaks TLS with the help of openssl s_server.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

need_sockets
copy_agent
secret='open sesame'

one() {		# name: a message to one recipient
	put "$po" "$1" smtp h anna@b.org
	case $1 in
	20-*) sed 's/^e sender/e S@a.test/
s/^s local - sender/s local - S@a.test/' "$po/transport/$1" >"$tmp/sent"
		cp "$tmp/sent" "$po/transport/$1" ;;
	esac
}
# What it says of each recipient, "STATUS X.Y.Z text".
feed() {	# job ... -- option ...
	: >"$tmp/jobs"
	while [ "$1" != -- ]; do
		one "$1"
		printf '%s\th\n' "$1" >>"$tmp/jobs"
		shift
	done
	shift
	(cd "$po/transport" && exec "$A" -l "$tmp/log/smtp" "$@") \
	    <"$tmp/jobs" >"$tmp/out" 2>&1
	verdicts
}
tag() {		# name
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr ' ' _
}
rules() {	# [line]
	rm -f "$srv/rules"
	[ $# -eq 0 ] || echo "$1" >"$srv/rules"
	: >"$srv/log"
	: >"$tmp/log/smtp"
}
received() {
	sed -n 's/^> //p' "$srv/log" | sed 's/ .*//' | tr '\n' ' '
}
passwords() {	# line ...
	printf '%s\n' "$@" >"$tmp/passwords"
	chmod 600 "$tmp/passwords"
}
b64() {		# text, as for printf
	printf "$1" | od -An -v -tx1 | tr -d ' \n' | awk '{
		for (i = 1; i <= length($0); i++) {
			v = index("0123456789abcdef", substr($0, i, 1)) - 1
			for (k = 8; k >= 1; k /= 2)
				bits = bits int(v / k) % 2
		}
		while (length(bits) % 6)
			bits = bits "0"
		d = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
		d = d "0123456789+/"
		for (i = 1; i <= length(bits); i += 6) {
			for (v = k = 0; k < 6; k++)
				v = 2 * v + substr(bits, i + k, 1)
			out = out substr(d, v + 1, 1)
		}
		while (length(out) % 4)
			out = out "="
		print out
	}'
}
plain=$(b64 "\\000anna\\000$secret")

# ---- options ---------------------------------------------------------------------

while read -r o; do
	nok "wrong options are refused: $o" eval "\"\$A\" $o </dev/null"
done <<'END'
-A passwords
-o -X true
-t / -X true
-X ''
-X "a 'b"
-X '${NAME}'
-X 'NAME=value a'
END
like 'a program of -X that verifies nothing is named' "$("$A" -R a -A b \
    -X 'busybox ssl_client -s $socket' </dev/null 2>&1)" \
    'has ssl_client, which by itself verifies no certificate'
verifying='openssl s_client -connect $host -verify_return_error
    -verify_hostname $host'
echo '#!/bin/sh' >"$tmp/bin/openssl"
chmod 755 "$tmp/bin/openssl"
says() {	# what -N says of lines of passwords, the options behind them
	printf '%s\n' "$1" >"$tmp/pw"
	chmod "${mode-600}" "$tmp/pw"
	shift
	PATH=$tmp/bin:$PATH "$A" -N -A "$tmp/pw" "$@" 2>&1 |
	    sed "s,$tmp/,,g"
}
is '-N says nothing of a good file of passwords' \
    "$(says 'isp a b verified' -R isp:465 -X "$verifying")" ''
is '-N says that others can read passwords' \
    "$(mode=644 says 'isp a b verified' -R isp:465 -X "$verifying")" \
    "smtp: the file of -A, pw: others can read it; chmod 600; mail would wait"
is '-N says that a line does not say verified' \
    "$(says 'isp a b' -R isp:465 -X "$verifying")" \
    "smtp: the line of isp in the file of -A does not say \"verified\"; \
mail would wait"
is '-N says that a line does not say clear' \
    "$(says 'isp a b verified' -R isp)" \
    "smtp: the line of isp in the file of -A does not say \"clear\", and \
there is no -X; mail would wait"
is '-N says that no host has a password' \
    "$(says 'ips a b clear' -R isp,other)" "smtp: pw has no line for isp; \
mail would wait"
is '-N is content when a sender has a password' \
    "$(says 'a@b.org a b clear' -R isp,other)" ''
is '-N is content when one host has a password' \
    "$(says 'other a b clear' -R isp,other)" ''
if [ "$(id -u)" -eq 0 ] && [ "$(as_nobody echo yes)" = yes ]; then
	is '-N says nothing of passwords that its user cannot read' \
	    "$(as_nobody "$A" -N -A "$tmp/pw" -R isp 2>&1; echo $?)" 0
else
	skip '-N says nothing of passwords that its user cannot read' \
	    'not root, or there is no other user'
fi
is '-N says that the program of -X is not there' \
    "$("$A" -N -X 'no-such-program $host' 2>&1; echo $?)" \
    'smtp: the program of -X is not there: no-such-program; mail would wait
0'
is '-N says that a path of -X is not there' \
    "$("$A" -N -X '/none/there $host' 2>&1)" \
    'smtp: the program of -X is not there: /none/there; mail would wait'
rm "$tmp/bin/openssl"
is 'a program of -X that verifies is accepted' \
    "$("$A" -R a -A b -X 'openssl s_client -connect $host
    -verify_return_error -verify_hostname $host' </dev/null 2>&1)" '#hungry offsets'

# ---- programs that are none ------------------------------------------------------

serve
R="-R 127.0.0.1:$port"
like 'a missing program of -X: deferred' "$(feed 10-1 -- $R -X /none/there)" \
    '^deferall 4\.4\.1 .*: cannot be run: '
is 'a missing program of -X: the tag is blank' "$(tag 10-1)" _
like 'the last line of the program on stderr is the reason' "$(feed 10-1 -- $R \
    -X "sh -c 'echo first >&2; echo last >&2; exit 3'")" \
    '^deferall 4\.4\.1 \[127.*\]: the program of -X: last \(connect\)$'
like 'a line of the program with Error is preferred as reason' \
    "$(feed 10-1 -- $R -X "sh -c '
    (echo verify return:1; echo A; echo one Error; echo fail) >&2'")" \
    ': one Error \('
like 'the number of a thread of openssl is no part of the reason' \
    "$(feed 10-1 -- $R -X "sh -c '
    echo 40E7A1F5C47F0000:error:0A000086:SSL routines:x:failed >&2'")" \
    'of -X: error:0A000086:SSL routines:x:failed \('
like 'time and process number of socat are no part of the reason' \
    "$(feed 10-1 -- $R -X "sh -c '
    echo 2026/11/27 10:00:00 socat\[4711\] E SSL_connect: error >&2'")" \
    'of -X: E SSL_connect: error \('
like 'a line of the program with verify is preferred as reason' \
    "$(feed 10-1 -- $R -X "sh -c '
    (echo A; echo cannot verify it; echo B) >&2'")" ': cannot verify it \('
like 'a program that says nothing: its exit code is the reason' \
    "$(feed 10-1 -- $R -X "sh -c 'exit 3'")" \
    ': ended with exit code 3 \('
like 'a program killed by a signal: the signal is the reason' \
    "$(feed 10-1 -- $R -X "sh -c 'kill -9 \$\$'")" \
    ': died of signal 9 \('
like 'a program that does not speak SMTP: deferred' \
    "$(feed 10-1 -- $R -X 'echo hello')" \
    '^deferall 4\.5\.0 .*no reply of a mail server: hello'
like 'control bytes of a program do not get into the reason' \
    "$(feed 10-1 -- $R \
    -X "sh -c 'printf \"a\\001b\\377c\" >&2'")" ': a b\?c \('
like 'a program that hangs: deferred' "$(feed 10-1 -- $R -T greeting=1 \
    -X 'sleep 600')" '^deferall 4\.4\.2 .*no answer within 1s \(the greet'

# ---- a program that only carries bytes -------------------------------------------

carry="sh -c 'cat <&3 & exec cat >&3'"
rules
is 'a message is sent through a program with our connection' \
    "$(feed 10-1 -- $R \
    -X "$carry \$socket")" \
    'ok3 2.0.0 [127.0.0.1] said to the message: 250 2.0.0 taken'
is 'through a program the server gets all commands' \
    "$(received)" 'EHLO MAIL RCPT DATA QUIT '
is 'through a program the log has the address as name' \
    "$(sed -n 's/.* = //p' "$tmp/log/smtp" |
    cut -d' ' -f2-)" "[127.0.0.1] [127.0.0.1]:$port"
rules
like 'a program that does STARTTLS may pass the greeting on' \
    "$(feed 10-1 -- $R -X "$carry \$socket starttls")" '^ok3'
like 'through a program a refused connection: deferred' \
    "$(feed 10-1 -- -R '[127.0.0.1]:1' \
    -X "$carry \$socket")" '^deferall 4\.4\.1 .*Connection refused'
like 'a program may write more than a pipe holds to stderr' \
    "$(feed 10-1 -- $R -X "sh -c '
    dd if=/dev/zero bs=10000 count=20 2>/dev/null >&2
    cat <&3 & exec cat >&3' \$socket")" '^ok3'
rules
like 'a program that reads no message: it was not sent in full' "$(feed 10-1 -- \
    $R -X "sh -c 'printf \"220 a b\\r\\n\"
    while read -r c x; do case \$c in
    DATA*) exec <&-; printf \"354 go\\r\\n\"; exec sleep 60 ;;
    *) printf \"250 ok\\r\\n\" ;; esac; done'")" \
    '^deferred 4\.4\.2 .*: Broken pipe \(DATA\)$'
rules 'mail drop'
like 'connection lost later: the reason is not that of the program' \
    "$(feed 10-1 -- $R \
    -X "$carry \$socket")" '^deferall 4\.4\.2 .*closed by the other side'

# ---- TLS -------------------------------------------------------------------------

if ! openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$tmp/key" \
    -out "$tmp/cert" 2>/dev/null; then
	skip 'TLS and passwords' 'no openssl that makes certificates'
	finish
fi
chmod 644 "$tmp/cert"
cat "$tmp/cert" "$tmp/key" >"$tmp/both"
client="openssl s_client -quiet -no_ign_eof -nocommands -verify_return_error"
conns() {
	grep -c ^connection "$srv/log"
}
plain_port=$port plain_srv=$srv
serve -t "$tmp/both" -k 'AUTH LOGIN PLAIN'
R="-R localhost:$port"
tls="$client -CAfile $tmp/cert -verify_hostname \$host -connect \$host:\$port"

rules
feed 10-1 11-1 12-1 -- $R -X "$tls" >"$tmp/said"
is 'TLS: three messages are delivered' "$(cut -c1-5 "$tmp/said" |
    tr '\n' ,)" 'ok3 2,ok3 2,ok3 2,'
is 'TLS: three messages share a handshake' "$(conns)" 1
is 'TLS: the connection is ended by QUIT' "$(received)" \
    'EHLO MAIL RCPT DATA MAIL RCPT DATA MAIL RCPT DATA QUIT '
is 'TLS: the message arrives whole' "$(tr -d '\r' <"$srv/msg.2")" \
    'Subject: 11-1

body of 11-1'
rules
like 'TLS: a certificate that is not trusted: deferred' "$(feed 10-1 -- $R \
    -X "$client -connect \$host:\$port")" \
    '^deferall 4\.4\.1 localhost: the program.*verify error.*self.signed'
is 'TLS: a certificate that is not trusted: the tag is blank' "$(tag 10-1)" _
is 'TLS: a certificate that is not trusted: no SMTP is spoken' "$(received)" ''
like 'TLS: a certificate of another name: deferred' \
    "$(feed 10-1 -- $R -X "$client \
    -CAfile $tmp/cert -verify_hostname other.example \
    -connect \$host:\$port")" '^deferall 4\.4\.1 .*verify error.*mismatch'
rules 'greeting 421 4.3.2 not now'
like 'TLS: the reason has the words of the server' \
    "$(feed 10-1 -- $R -X "$tls")" \
    '^deferall 4\.3\.2 .*said to the greeting: 421 4.3.2 not now'
rules
like 'TLS: the next host is used when one has no TLS' "$(feed 10-1 -- \
    -R "localhost:$plain_port,localhost:$port" -X "$tls")" '^ok3'
like 'TLS: a server without TLS: deferred' \
    "$(feed 10-1 -- -R "localhost:$plain_port" \
    -X "$tls")" '^deferall 4\.4\.1 .*[Ee]rror'
echo 'greeting hang' >"$plain_srv/rules"
like 'TLS: a server that stops within the handshake: deferred' "$(feed 10-1 -- \
    -R "localhost:$plain_port" -T greeting=1 -X "$tls")" \
    '^deferall 4\.4\.2 localhost: no answer within 1s \(the greeting\)'
echo 'greeting drop' >"$plain_srv/rules"
like 'TLS: a server that drops the handshake: deferred' \
    "$(feed 10-1 -- -R "localhost:$plain_port" \
    -X "$tls")" '^deferall 4\.4\.1 .*the program of -X: .*(error|errno)'

# ---- passwords -------------------------------------------------------------------

passwords '# host user password' "other anna wrong verified" \
    "localhost anna $secret verified" 'localhost bert second verified'
: >"$tmp/dump" && chmod 666 "$tmp/dump"
rules 'dot wait'
feed 10-1 -- $R -A "$tmp/passwords" -X "sh -c '{ env; ps -A -o args; } \
    >>$tmp/dump; exec \"\$@\"' sh $tls" >"$tmp/said" &
wait_for 30 grep '> DATA' "$srv/log"
ps -A -o args >>"$tmp/dump"
cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline >>"$tmp/dump" 2>/dev/null
: >"$srv/go"
wait $!
like 'AUTH PLAIN: the message is delivered' "$(cat "$tmp/said")" '^ok3'
is 'AUTH PLAIN: user and password are sent' \
    "$(sed -n 's/^> AUTH //p' "$srv/log")" \
    "PLAIN $plain"
like 'AUTH PLAIN: the transcript does not have the password' \
    "$(cat "$tmp/log/smtp")" \
    '> AUTH PLAIN \(user and password\)'
like 'AUTH PLAIN: the list of processes has the program' \
    "$(tr '\0' ' ' <"$tmp/dump")" \
    's_client'
known() {	# file ...: which say it?
	grep -l -F -e "$secret" -e "$plain" "$@"
}
is 'AUTH PLAIN: no log, process list or environment has the password' \
    "$(known "$tmp/log/smtp" "$tmp/out" "$tmp/dump" "$po/transport/10-1")" ''
rm -f "$srv/go"

rules "auth 535 5.7.8 no $plain or $secret"
like 'a wrong password: deferred' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" -X "$tls")" \
    '^deferall 4\.7\.8 localhost said to AUTH: 535 \(our password\)$'
is 'a wrong password: the tag is blank' "$(tag 10-1)" _
is 'a wrong password: no mail is offered' "$(received)" 'EHLO AUTH QUIT '
is 'a wrong password: the log hides it when the server repeats it' \
    "$(known "$tmp/log/smtp" "$tmp/out" "$po/transport/10-1")" ''
for words in "$secret" "$(b64 "$secret")" "$plain"; do
	rules "mail 550 5.7.1 after AUTH: $words"
	like 'a password repeated after AUTH: the recipient fails' \
	    "$(feed 10-1 -- $R -A "$tmp/passwords" -X "$tls")" \
	    '^error.* said to MAIL FROM: 550 \(our password\)$'
	is 'a password repeated after AUTH is in no log, reason or DSN' \
	    "$(grep -l -F -e "$words" "$tmp/log/smtp" "$tmp/out" \
	    "$po/transport/10-1")" ''
done
long=$(printf '%0250d' 0 | tr 0 x)
passwords "localhost $long $long verified"
rules "auth 535 no $(b64 "\\000$long\\000$long")"
like 'a long password is hidden when the server repeats it' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" -X "$tls")" \
    '^deferall 4\.7\.8 localhost said to AUTH: 535 \(our password\)$'
passwords "localhost a $(printf 'gr\303\274n\tsecret') verified"
rules "auth 535 no $(printf 'gr\303\274n\tsecret')"
like 'a password beyond ASCII is hidden when the server repeats it' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" -X "$tls")" \
    '^deferall 4\.7\.8 localhost said to AUTH: 535 \(our password\)$'
rules 'auth 454 4.7.0 try later'
like 'a password that cannot be checked now: deferred' "$(feed 10-1 -- $R \
    -A "$tmp/passwords" -X "$tls")" '^deferall 4\.7\.0 .*454 4.7.0 try later'

chmod 640 "$tmp/passwords"
rules
like 'a file of passwords that others can read: deferred' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" \
    -X "$tls")" '^deferall 4\.3\.5 .*passwords: others can read it; chmod 600'
is 'a file of passwords that others can read is not used' \
    "$(received)" 'EHLO QUIT '
like 'a missing file of passwords: deferred' "$(feed 10-1 -- $R -A "$tmp/none" \
    -X "$tls")" '^deferall 4\.3\.5 .*none: No such file'
passwords "localhost:$port anna $secret"
rules
like 'a line without verified: deferred' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" \
    -X "$tls")" '^deferall 4\.3\.5 .*does not say "verified"'
is 'a line without verified: no password is sent' "$(received)" 'EHLO QUIT '
passwords 'localhost anna'
like 'a line without a password: deferred' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" \
    -X "$tls")" '^deferall 4\.3\.5 .*localhost in .*has no user or no password'
passwords 'local anna secret verified'
rules
like 'a host without a line: deferred' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" \
    -X "$tls")" '^deferall 4\.3\.5 .*has no line for it, nor for the sender'
is 'a host without a line: no password is sent, and no mail' \
    "$(received)" 'EHLO QUIT '
passwords 'else@a.test anna secret verified'
rules
like 'another sender has a line: deferred, but not the mail of others' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" -X "$tls")" \
    '^deferred 4\.3\.5 .*has no line for it, nor for the sender'
passwords "localhost anna $secret verified" 's@a.test anna other clear'
rules
like 'the line of the sender without verified: the reason names that line' \
    "$(feed 20-1 -- $R -A "$tmp/passwords" -X "$tls")" \
    '^deferred 4\.3\.5 .*: the line of s@a.test in .* does not say "verified"'
passwords "localhost anna other verified" \
    "s@a.TEST anna $secret verified" 's@a.test bert second verified'
rules
like 'the line of the sender is used: delivered' \
    "$(feed 20-1 -- $R -A "$tmp/passwords" -X "$tls")" '^ok3'
is 'the line of the sender goes before that of the host' \
    "$(sed -n 's/^> AUTH //p' "$srv/log")" "PLAIN $plain"
rules
feed 10-1 20-1 20-2 -- $R -A "$tmp/passwords" -X "$tls" >/dev/null
is 'another sender has a connection of his own' "$(received)" \
    'EHLO AUTH MAIL RCPT DATA QUIT EHLO AUTH MAIL RCPT DATA MAIL RCPT DATA QUIT '

serve -k AUTH=LOGIN
passwords "localhost anna $secret clear"
rules
like 'AUTH=LOGIN, as old servers say it: the message is delivered' \
    "$(feed 10-1 -- -R "localhost:$port" -A "$tmp/passwords")" '^ok3'

serve -k 'AUTH LOGIN'
R="-R LOCALHOST:$port"
passwords "localhost anna $secret verified"
rules
like 'a line without clear, and no program: deferred' "$(feed 10-1 -- $R \
    -A "$tmp/passwords")" '^deferall 4\.3\.5 .*not say "clear", and there is no'
is 'a line without clear, and no program: no password is sent' \
    "$(received)" 'EHLO QUIT '
passwords "localhost anna $secret  clear "
rules
like 'AUTH LOGIN in clear, also with -77: the message is delivered' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" -o -77)" '^ok3'
is 'AUTH LOGIN in clear: user and password are sent' \
    "$(sed -n '/AUTH/,/MAIL/s/^> //p' \
    "$srv/log" | sed '$d' | tr '\n' ,)" \
    "AUTH LOGIN,$(b64 anna),$(b64 "$secret"),"
is 'AUTH LOGIN in clear: the transcript does not have the password' \
    "$(known "$tmp/log/smtp")" ''
passwords "localhost anna $secret clear"
serve
like 'a server without AUTH: deferred' "$(feed 10-1 -- -R "localhost:$port" \
    -A "$tmp/passwords")" '^deferall 4\.7\.0 .*neither AUTH PLAIN nor'

# ---- STARTTLS, other programs ----------------------------------------------------

passwords "localhost anna $secret verified"
serve -s "$tmp/both" -k STARTTLS -k 'AUTH PLAIN'
R="-R localhost:$port"
rules
like 'STARTTLS by openssl: the message is delivered' \
    "$(feed 10-1 -- $R -A "$tmp/passwords" \
    -X "$tls -starttls smtp")" '^ok3'
is 'STARTTLS by openssl: EHLO is sent again' "$(received)" \
    'EHLO STARTTLS EHLO AUTH MAIL RCPT DATA QUIT '
rules
like 'STARTTLS by openssl: a wrong certificate: deferred' "$(feed 10-1 -- $R \
    -X "$client -connect \$host:\$port -starttls smtp")" \
    '^deferall 4\.4\.1 localhost: the program.*verify error.*self.signed'
gnutls='gnutls-cli --logfile=/dev/stderr -p $port $host'
if command -v gnutls-cli >/dev/null 2>&1; then
	rules
	like 'STARTTLS by gnutls-cli: the message is delivered' \
	    "$(feed 10-1 -- $R \
	    -A "$tmp/passwords" -X "$gnutls --x509cafile=$tmp/cert \
	    --starttls-proto=smtp")" '^ok3'
	rules
	like 'STARTTLS by gnutls-cli: a wrong certificate: deferred' \
	    "$(feed 10-1 -- $R \
	    -X "$gnutls --starttls-proto=smtp")" \
	    '^deferall 4\.4\.1 .*: .*certificate'
else
	skip 'STARTTLS by gnutls-cli: the message is delivered' 'no gnutls-cli'
	skip 'STARTTLS by gnutls-cli: a wrong certificate: deferred' \
	    'no gnutls-cli'
fi
serve -t "$tmp/both"
R="-R localhost:$port"
if command -v gnutls-cli >/dev/null 2>&1; then
	like 'TLS by gnutls-cli: the message is delivered' "$(feed 10-1 -- $R \
	    -X "$gnutls --x509cafile=$tmp/cert")" '^ok3'
else
	skip 'TLS by gnutls-cli: the message is delivered' 'no gnutls-cli'
fi

# ---- the process -----------------------------------------------------------------

# By the scheduler: quotes, and $host in them, are the agent's.
rules
: >"$tmp/pid" && chmod 666 "$tmp/pid"
cat >"$tmp/program" <<END
#!/bin/sh
echo \$\$ >>$tmp/pid
exec "\$@"
END
chmod 755 "$tmp/program"
conf "$tmp/cf" <<END
*/*	interval=1h retries=1
	command="$A -R localhost:$port -X '$tmp/program $tls'"
END
rm -f "$po/transport/"* "$po/queue/"*
one 10-1
sched_start "$po" "$tmp/cf"
ok 'the scheduler delivers through a program' wait_for 30 po_empty "$po"
sched_stop
is 'the scheduler: one program runs' "$(wc -l <"$tmp/pid" | tr -d ' ')" 1
ok 'the scheduler: the program ends with the agent' \
    wait_for 30 gone "$(cat "$tmp/pid")"

: >"$tmp/pid"
rules 'dot wait'
feed 10-1 -- -R "localhost:$port" -X "$tmp/program $tls" >"$tmp/said" &
wait_for 30 grep '> DATA' "$srv/log"
program=$(cat "$tmp/pid")
kill -9 "$(ps -A -o pid= -o ppid= | awk -v p="$program" '$1 == p { print $2 }')"
ok 'an agent whose child is killed: the program ends' \
    wait_for 30 gone "$program"
: >"$srv/go"
wait_for 30 grep signal "$tmp/said"
like 'an agent whose child is killed: the message is deferred' \
    "$(cat "$tmp/said")" '^deferred 4\.3\.0 .*signal 9'

# A file of passwords that is mended counts for the next job, also where the
# agent has a connection.
for o in '' -o; do
	serve -k 'AUTH LOGIN'
	passwords 'localhost anna one clear'
	conf "$tmp/cf" <<END
*/*	interval=1h retries=1 idlemax=1h
	command="$A $o -R localhost:$port -A $tmp/passwords"
END
	rm -f "$po/transport/"* "$po/queue/"*
	one 10-1
	sched_start "$po" "$tmp/cf"
	wait_for 30 po_empty "$po"
	passwords 'localhost anna another clear'
	one 11-1
	ok "smtp $o: mail goes with a mended file of passwords" \
	    wait_for 30 po_empty "$po"
	sched_stop
	is "smtp $o: each password was sent once" \
	    "$(grep -c -x -e "> $(b64 one)" -e "> $(b64 another)" "$srv/log")" 2
done
finish
