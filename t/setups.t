#!/bin/sh
# The setups in contrib/setups: each as it is, what its README shows, and mail
# through it, with the names of hosts and programs of this test.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILNAME
umask 022	# the files are for all users to read
c=$top/contrib/setups
PATH=$top:$PATH MAILBIN=$tmp/bin
export PATH MAILBIN
for a in mailbox sm smtp errormail; do
	ln -s "$top/ta/$a" "$tmp/bin/ta/$a"
done
mkdir "$tmp/boxes"

# A copy of the setup, with a post office; sets share and po.
setup() {	# name
	s=$1 share=$tmp/$1 po=$tmp/po-$1
	mkdir "$share"
	cp "$c/$s"/[a-z]* "$share"
	spool_new "$po"
	[ ! -f "$share/passwords" ] || chmod 600 "$share/passwords"
	is "$s: scheduler -n says nothing" "$(MAILSHARE=$share "$SCHEDULER" \
	    -P "$po" -n 2>&1 | grep -v -e '^sm: ' -e ': sm could not' \
	    -e '-X is not there: openssl')" ''
	# sm.cf is looked for where it is installed
	# what the README shows
	tab=$(printf '\t')
	sed -n "s/^$tab\\\$ submit \\(-bv .*\\)/\\1/p" "$c/$s/README" >"$tmp/cmd"
	sed -n "/^$tab\\\$ submit -bv/,/^\$/{s/^$tab\\([^\$]\\)/\\1/p;}" \
	    "$c/$s/README" >"$tmp/shown"
	MAILSHARE=$c/$s "$top/submit" $(cat "$tmp/cmd") >"$tmp/out" 2>&1
	is "$s: addresses lead where its README says" \
	    "$(grep -v "^$tab" "$tmp/out")" \
	    "$(cat "$tmp/shown")"
	is "$s: each address of its README has a command" \
	    "$(grep -c "^${tab}command=" "$tmp/out")" \
	    "$(grep -c . "$tmp/shown")"
	like "$s: its README shows where addresses lead" "$(cat "$tmp/shown")" :
	MAILSHARE=$share
	export MAILSHARE
	edit scheduler.cf "s,mailbox -8,mailbox -n -d $tmp/boxes,"
}
edit() {	# file sed-script: of the copy
	sed "$2" "$share/$1" >"$tmp/edited"
	if cmp -s "$tmp/edited" "$share/$1" && [ "$1" != scheduler.cf ]; then
		fail "$s: $1 has the words that the test edits"
	fi
	cat "$tmp/edited" >"$share/$1"
}
# What the two services do, one after the other.
start() {
	ok "$s: the scheduler starts" sched_start "$po" "$share/scheduler.cf"
}
send() {	# recipient
	printf 'Subject: for %s\n\nthe body\n' "$1" |
	    "$top/submit" -P "$po" "$1"
}
serve() {	# dir [option ...]: sets port
	dir=$1
	shift
	mkdir "$dir"
	bg "$top/t/smtpd" "$@" "$dir"
	wait_for 30 test -s "$dir/port" || exit 1
	port=$(cat "$dir/port")
}

# ---- relay: a provider with TLS and a password ---------------------------------

if without NO_TCP; then
	skip 'relay' 'built with NO_TCP'
elif ! openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$tmp/key" \
    -out "$tmp/cert" 2>/dev/null; then
	skip 'relay' 'no openssl that makes certificates'
else
	cat "$tmp/cert" "$tmp/key" >"$tmp/both"
	chmod 644 "$tmp/cert"
	serve "$tmp/isp" -t "$tmp/both" -k 'AUTH PLAIN'
	setup relay
	edit scheduler.cf "s,mail.isp.example:465,localhost:$port,
	    s,-verify_return_error,& -CAfile $tmp/cert,"
	edit passwords 's,mail.isp.example,localhost,'
	chmod 600 "$share/passwords"
	start
	echo 'auth 535 5.7.8 no' >"$tmp/isp/rules"
	send root
	ok 'relay: mail is deferred when the password is refused' wait_log \
	    'deferred .*localhost said to AUTH: 535' 30
	like 'relay: the provider is one host for all addresses' \
	    "$("$top/mailq" -D -q "$po/public/.mailq.text")" '^smtp/provider'
	rm "$tmp/isp/rules"
	"$top/t/ask" order "$po" flush all >/dev/null
	ok 'relay: mail goes when the password is right' \
	    wait_for 30 po_empty "$po"
	sched_stop
	like 'relay: mail goes to the address in routes' \
	    "$(cat "$tmp/isp/log")" '> RCPT TO:<you@example.org>'
	like 'relay: the sender has the domain in routes' \
	    "$(cat "$tmp/isp/log")" '> MAIL FROM:<[^@]*@example.org>'
	like 'relay: EHLO has the name in mailname' \
	    "$(cat "$tmp/isp/log")" '> EHLO box.example.org'
fi

# ---- uucp: a leaf ------------------------------------------------------------------

setup uucp
cat >"$tmp/uux" <<END
#!/bin/sh
echo "\$*" >>$tmp/uux.args
cat >$tmp/uux.in
END
chmod 755 "$tmp/uux"
edit sm.cf "s,/usr/bin/uux,$tmp/uux,"
edit scheduler.cf "s,sm -u uucp,sm -0 -f $share/sm.cf,"
edit rmail "s,/usr/local/bin/submit,$top/submit -P $po,"
start
send bert@far.example
ok 'uucp: mail for others is taken' wait_for 30 po_empty "$po"
is 'uucp: uux is called with the address' "$(cat "$tmp/uux.args")" \
    '- -r hub!rmail (bert@far.example)'
like 'uucp: the message begins with our name' "$(sed 1q "$tmp/uux.in")" \
    '^From .*@box.example.org .* remote from leaf$'
rmail() {	# from-lines: the sender that the box has
	rm -f "$tmp/boxes/anna"
	printf "$1"'Subject: x\n\nthe body\n' |
	    "$share/rmail" postmaster anna@box.example.org
	wait_for 30 test -s "$tmp/boxes/anna"
	wait_for 30 po_empty "$po" >/dev/null
	sed -n 's/^Return-Path: //p' "$tmp/boxes/anna"
}
is 'uucp: our own name is taken off' \
    "$("$top/submit" -C "$share/routes" -bv leaf!anna | sed 1q)" \
    'leaf!anna: local - anna'
is 'uucp: a reply to a sender with a path goes back by the path' \
    "$("$top/submit" -C "$share/routes" -bv far!joe@box.example.org |
    sed 1q)" 'far!joe@box.example.org: uucp hub far!joe'
date='Sun Nov 22 12:00:00 2026'
is 'uucp: rmail delivers mail with an address' \
    "$(rmail "From bert@far.example $date remote from hub\n")" \
    '<bert@far.example>'
is 'uucp: rmail delivers it once' "$(grep -c '^the body' "$tmp/boxes/anna")" 1
is 'uucp: rmail takes a name at a host' \
    "$(rmail "From bert $date remote from hub\n")" '<bert@hub>'
is 'uucp: rmail takes a path' \
    "$(rmail "From a!b!bert $date remote from hub\n")" '<bert@b>'
is 'uucp: rmail takes the last line with a host' \
    "$(rmail "From x $date remote from y\n>From z $date\n")" '<x@y>'
is 'uucp: rmail takes the line of the first hop' \
    "$(rmail "From uucp $date remote from hub\n>From bert $date remote from \
far\n")" '<bert@far>'
is 'uucp: rmail leaves no such line in the message' \
    "$(grep -c 'remote from' "$tmp/boxes/anna")" 0
is 'uucp: rmail takes a DSN, which has no sender' \
    "$(rmail "From MAILER-DAEMON $date remote from hub\n")" '<>'
rm -f "$tmp/boxes/anna"
printf 'From x %s remote from y\nSubject: x\n\nthe body\n' "$date" |
    TMPDIR=$tmp "$share/rmail" a@@b anna 2>/dev/null
is 'uucp: rmail takes mail with a wrong address among others' $? 0
ok 'uucp: rmail with a wrong address delivers to the others' \
    wait_for 30 grep '^the body' "$tmp/boxes/anna"
is 'uucp: rmail leaves no file' "$(ls "$tmp" | grep '^rmail')" ''
printf 'From x %s remote from y\nSubject: x\n\nthe body\n' "$date" |
    TMPDIR=$tmp PATH=$tmp/none "$share/rmail" anna 2>/dev/null
is 'uucp: rmail that cannot read the message asks for another try' $? 75
sched_stop

# ---- hub: neighbours of UUCP -------------------------------------------------------

setup hub
edit sm.cf "s,/usr/bin/uux,$tmp/uux,"
edit scheduler.cf "s,sm -u uucp,sm -0 -f $share/sm.cf,"
start
rm -f "$tmp/uux.args"
send 'leaf!anna, leaf!far!bert' 
ok 'hub: mail for a neighbour is taken' wait_for 30 po_empty "$po"
is 'hub: paths lose their first hop, and share a job' "$(cat "$tmp/uux.args")" \
    '- -r leaf!rmail (anna) (far!bert)'
like 'hub: the message begins with our name' "$(sed 1q "$tmp/uux.in")" \
    ' remote from hub$'
rm -f "$tmp/uux.args"
send dora@other.example.org
ok 'hub: mail for a neighbour with rsmtp is taken' wait_for 30 po_empty "$po"
is 'hub: rsmtp has no arguments' "$(cat "$tmp/uux.args")" '- -r other!rsmtp'
sed 's/dora@other.example.org/hub!hub!anna/' "$tmp/uux.in" >"$tmp/batch"
ok 'hub: what goes to rsmtp can come by it' "$top/submit" -bS -P "$po" \
    <"$tmp/batch"
ok 'hub: our own names are taken off' wait_for 30 \
    grep '^the body' "$tmp/boxes/anna"
is 'hub: there is no way to other neighbours' "$("$top/submit" -bv 'x!y' 2>&1 |
    sed 's/^[^ ]*submit: //')" 'x!y: there is no such neighbour'
sched_stop

# ---- dialup: queueonly and ETRN ----------------------------------------------------

if without NO_TCP; then
	skip 'dialup' 'built with NO_TCP'
else
	setup dialup
	serve "$tmp/laptop"
	edit scheduler.cf "s,^smtp/laptop.example.org,smtp/localhost:$port,"
	edit routes "s,smtp	laptop.example.org,smtp	localhost:$port,"
	laptop=localhost:$port
	serve "$tmp/provider"
	edit routes "s,mail.isp.example,[127.0.0.1]:$port,"
	edit ip-up "s,mail.isp.example,[127.0.0.1]:$port,
	    s,/usr/local/bin/submit,$top/submit -P $po,"
	start
	send bert@far.example
	send carl@laptop.example.org
	send root
	ok 'dialup: mail for this host is delivered' \
	    wait_log 'delivered .*channel=local' 30
	ok 'dialup: mail for the others is loaded' wait_for 30 \
	    eval '[ "$(count "load msg=")" -eq 3 ]'
	is 'dialup: mail for the others waits' \
	    "$(POSTOFFICE=$po "$top/mailq" 2>/dev/null |
	    grep -c queueonly)" 2
	ok 'dialup: the line is up' sh "$share/ip-up"
	ok 'dialup: mail goes to the provider' \
	    wait_log 'delivered .*channel=smtp' 30
	is 'dialup: no mail goes to the laptop before its request' \
	    "$(grep -c RCPT "$tmp/laptop/log")" 0
	ok 'dialup: the laptop asks for its mail' "$top/submit" -P "$po" \
	    "-qR$laptop"
	ok 'dialup: the laptop gets its mail' wait_for 30 po_empty "$po"
	like 'dialup: the mail of the laptop is for its user' \
	    "$(cat "$tmp/laptop/log")" \
	    '> RCPT TO:<carl@laptop.example.org>'
	sched_stop
fi

# ---- standalone: boxes and MX ------------------------------------------------------

A=$top/t/dnssmtp
if "$A" -V | grep NO_ >/dev/null ||
    nm "$top/t/dns.o" 2>/dev/null | grep dns_unused >/dev/null; then
	skip 'standalone' 'built without MX records or getaddrinfo'
else
	setup standalone
	serve "$tmp/mx"
	mkdir "$tmp/dns"
	echo '10 mx.far.example' >"$tmp/dns/far.example.mx"
	echo 127.0.0.1 >"$tmp/dns/mx.far.example.a"
	edit scheduler.cf \
	    "s,command=\"smtp,command=\"DNS=$tmp/dns $A -p $port,"
	start
	rm -f "$tmp/boxes"/*
	send bert@far.example
	send hostmaster@localhost
	ok 'standalone: mail is delivered' wait_for 30 po_empty "$po"
	is 'standalone: an alias leads to a box' "$(ls "$tmp/boxes")" anna
	like 'standalone: other mail goes to the MX host' \
	    "$(cat "$tmp/mx/log")" '> RCPT TO:<bert@far.example>'
	send nobody@nowhere.example
	ok 'standalone: an address that leads nowhere fails' \
	    wait_log 'failed .*host=nowhere.example' 30
	ok 'standalone: a DSN for the sender is written' \
	    wait_for 30 eval '[ -n "$(ls "$po/router")" ]'
	"$top/submit" -q -P "$po"
	ok 'standalone: submit -q routes the DSN' wait_for 30 po_empty "$po"
	is 'standalone: a DSN is delivered' \
	    "$(grep -l 'nobody@nowhere.example' "$tmp/boxes"/* | wc -l |
	    tr -d ' ')" 1
	sched_stop
fi
finish
