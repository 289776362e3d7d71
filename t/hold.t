#!/bin/sh
# The agent hold: what it waits for, and what it gives back to the router.
. "${0%/*}/lib.sh"

A=${HOLD:-$top/ta/hold}
po=$tmp/po
tab=$(printf '\t')
sep=$(printf '\001')
spool_new "$po"
# Far from any clock: 2001, and about 2255.
past=1000000000
priv=$(id -u)
future=9000000000

ask() {		# condition [touch -t stamp]
	rm -f "$po/router/"*
	put_raw "$po" 10-1 <<END_
i 10-1
o 9
l <x@test>
n envid+2B
R HDRS
s smtp - s@a.org 0
r           hold $1 who@else.org $priv
N NOTIFY=SUCCESS ORCPT=rfc822;w
m
Subject: test

END_
	printf 'skipped: the body\n' >"$po/queue/10-1"
	[ $# -lt 2 ] || touch -t "$2" "$po/queue/10-1"
	printf '10-1\t%s\n' "$1" | (cd "$po/transport" && exec "$A") 2>&1 |
	    grep -v '^#hungry'
}
tag() {
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/10-1"
}
holds() {	# title condition [stamp]
	title=$1
	shift
	like "$title: the report is ok3" \
	    "$(ask "$@")" "^10/[0-9]+${tab}${tab}ok3 \$"
	is "$title: the router gets the message" \
	    "$(ls "$po/router" | wc -l | tr -d ' ')" 1
	is "$title: the recipient is done with" "$(tag)" +
}
waits() {	# title condition pattern [stamp]
	title=$1 pattern=$3
	out=$(ask "$2" $4)
	like "$title: the recipient is deferred" "$out" \
	    "^10/[0-9]+${tab}who@else.org${sep}delayed${sep}4[^$tab]*${tab}$pattern"
	is "$title: the router gets nothing" "$(find "$po/router" "$po/public" \
	    -type f)" ''
	is "$title: the recipient stays to be done" "$(tag)" ' '
}

fails() {	# title condition pattern
	like "$1: the recipient fails" \
	    "$(ask "$2")" "^10/[0-9]+${tab}${tab}error2 $3"
	is "$1: the router gets nothing" "$(find "$po/router" "$po/public" \
	    -type f)" ''
	is "$1: the diagnostic has the status" "$(tag)$(grep -c \
	    "^d.*${sep}failed${sep}5[.]3[.]5${sep}" "$po/transport/10-1")" -1
}

like 'hold -V prints its version' "$("$A" -V)" '^hold [0-9]'
nok 'hold refuses an argument' "$A" hold </dev/null
nok 'hold refuses a relative directory of scripts' "$A" -d scripts </dev/null
is 'the end of input ends the agent' "$("$A" </dev/null)" '#hungry offsets'
is 'a job whose message is gone makes a resync' \
    "$(printf '9-1\n' | (cd "$po/transport" && exec "$A") |
    tr '\n' ' ')" '#hungry offsets #resync 9-1 #hungry '

if [ "$(id -u)" -eq 0 ]; then
	priv=54321
	holds 'a time that has come, for root in the name of a user' time:$past
	is 'the file for the router belongs to that user' \
	    "$(ls -ln "$po/router" | awk '$3 > 0 { print $3 }')" 54321
	nobody=65534
	without NO_PWD || nobody=$(id -u nobody 2>/dev/null || echo 65534)
	for priv in -1 -2 '' x 4294967295 4294967296; do
		ask time:$past >"$tmp/said"
		is "the privilege '$priv' does not become root's" \
		    "$(ls -ln "$po/router" | awk 'NF > 8 { print $3 }')" \
		    "$nobody"
	done
	priv=0
else
	skip 'a time that has come, for root in the name of a user' 'not root'
fi

holds 'a time that has come' time:$past
new=$(ls "$po/router")
is 'the file for the router has envelope and message' \
    "$(cat "$po/router/$new")" 'via suspension
from <s@a.org>
envid envid+2B
notaryret HDRS
todsn NOTIFY=SUCCESS ORCPT=rfc822;w
to <who@else.org>
env-end
Subject: test

the body'
is 'the file for the router is named by its inode' \
    "$(ls -i "$po/router/$new" | awk '{ print $1 }')" \
    "$new"
is 'nothing is left in public/' "$(ls "$po/public")" ''
is 'a message that goes on makes no diagnostic' \
    "$(grep -c '^d' "$po/transport/10-1")" 0
holds "TIMEOUT, the word of ZMailer" TIMEOUT:$past
waits 'a time to come' time:$future 'retryat \+[1-9][0-9]* its time comes in'
fails 'a time that is no number' time:x '"x" is no time'

holds 'an age that has come' age:1h 200101010000
waits 'an age to come' age:1h "retryat \\+3[56][0-9][0-9] its time"
waits 'the age of a message from the future' \
    age:1m 'retryat \+(60|59) its time' 203001010000
fails 'an age that is no span' age:soon '"soon" is no span'

holds 'a failed look-up of some minutes ago' IO:error 200101010000
waits 'a failed look-up of a moment ago' \
    IO:error 'retryat \+(300|29[0-9]) its time comes in'

cat >"$tmp/bin/yes" <<'END'
#!/bin/sh
echo "$# <$1> $(id -u) $(env | sed 's/=.*//' | grep HOME)" >&2
[ "$1" != no ]
END
chmod 755 "$tmp/bin/yes"
script() {	# test title script ...
	A="$tmp/script" "$@"
}
printf '#!/bin/sh\nexec "%s" -d "%s"\n' "$A" "$tmp/bin" >"$tmp/script"
chmod 755 "$tmp/script"
script holds 'a script that says yes' SCRIPT:yes
script holds 'a script with an argument' 'script:yes/a;b$(c)'
uid=$(id -u)
[ "$uid" -ne 0 ] || uid=$(id -u nobody 2>/dev/null || echo 65534)
# A sh may say that it cannot find its directory, which is not nobody's.
script waits 'a script that says no, run as nobody by root' script:yes/no \
    "deferred (sh: .* )?1 <no> $uid \[exit 1\]"
script fails 'a script that is not there' \
    script:none/yes 'there is no script none'
for word in ../bin/yes -yes yes/-x /bin/true .yes '' 'yes.'; do
	script fails "a name that is no script: $word" "script:$word" \
	    "\"$word\" is no name and argument"
done

me=$(id -un)
if without NO_PWD; then
	holds 'a home directory where no user is known' home:nobody
else
	if [ -d "$(eval echo "~$me")" ]; then
		holds 'a home directory that is there' "HOME:$me"
	else
		skip 'a home directory that is there' 'we have none'
	fi
	holds 'a home directory of an unknown user' home:no-such-user
fi
gone=$(awk -F : '$6 ~ "^/" { print $1, $6 }' /etc/passwd | while read -r u dir
do
	[ -d "$dir" ] || { echo "$u"; break; }
done)
if [ -z "$gone" ] || without NO_PWD; then
	skip 'a home directory that is not there' 'all are'
else
	waits 'a home directory that is not there' "home:$gone" \
	    'deferred the home directory of .* is not there'
fi

if without NO_TCP; then
	fails 'up without a look-up of names' up:localhost '.*unknown here'
	fails 'ns without a look-up of names' ns:localhost/a '.*unknown here'
else
	waits 'up with a name that has no address' \
	    up:no.such.name.invalid 'deferred .*'
	fails 'ns without a type of record' \
	    ns:example.org '"example.org" is no name and'
	fails 'ns with a type of record and no name' \
	    ns:/mx '"/mx" is no name and'
	fails 'up without a name' up: '"" is no name of a host'
	fails 'ns with an unknown type of record' \
	    ns:example.org/x '"example.org/x" is no name and'
fi
# t/dns.c has none where that is left out
if without NO_TCP || "$top/ta/smtp" -V | grep NO_RESOLV >/dev/null ||
    nm "$top/t/dns.o" 2>/dev/null | grep dns_unused >/dev/null; then
	skip 'ns with a record that is there' 'built without a resolver'
else
	mkdir "$tmp/dns"
	DNS=$tmp/dns
	export DNS
	A=$top/t/dnshold
	echo '10 mx.example' >"$DNS/here.example.mx"
	echo later >"$DNS/later.example.mx"
	echo 2001:db8::1 >"$DNS/six.example.a"
	chmod -R a+rX "$DNS"
	holds 'ns with a record that is there' NS:here.example/MX
	holds 'ns with a name that is none' ns:none.example/mx
	for type in a NS cname soa mb mg mr wks ptr hinfo minfo txt rp aaaa \
	    srv Any; do
		holds "ns with the type $type" ns:none.example/$type
	done
	holds 'up with a name that has an IPv6 address only' up:six.example
	waits 'ns with name servers that do not answer' ns:later.example/mx \
	    'deferred no name server answers for later.example'

	# The answers of strangers are not read by root.
	if [ "$(id -u)" -eq 0 ] && as_nobody true >/dev/null 2>&1; then
		echo later >"$DNS/secret.example.mx"
		chmod 600 "$DNS/secret.example.mx"
		holds 'ns is looked up as nobody when hold is root' \
		    ns:secret.example/mx
	else
		for i in 1 2 3; do
			skip 'ns is looked up as nobody' \
			    'not root, or no nobody'
		done
	fi
	mkfifo "$DNS/slow.example.mx"
	find_child() {
		child=$(ps -A -o ppid= -o pid= |
		    awk -v p=$pid '$1 == p { print $2 }')
		[ -n "$child" ]
	}
	ended() {	# again, as it may have been too young
		! kill -$sig "$child" || gone "$child"
	}
	printf '10-1\tns:slow.example/mx\n' >"$tmp/jobs"
	for sig in TERM STOP; do
		ask time:$future >/dev/null
		sed 's,hold time:[0-9]* ,hold ns:slow.example/mx ,' \
		    "$po/transport/10-1" >"$po/transport/.10-1"
		mv "$po/transport/.10-1" "$po/transport/10-1"
		(cd "$po/transport" && exec "$A") <"$tmp/jobs" >"$tmp/out" \
		    2>&1 &
		pid=$!
		lib_pids="$lib_pids $pid"
		ok "a lookup has a process of its own, before $sig" \
		    wait_for 20 find_child
		ok "a lookup that gets $sig is over" wait_for 20 ended
		wait_for 20 gone $pid
		wait $pid
		lib_forget $pid
		like "a lookup that got $sig defers the recipient" \
		    "$(cat "$tmp/out")" \
		    'deferred no name server answers for slow.example'
	done
	A=${HOLD:-$top/ta/hold}
fi

fails 'an unknown condition' moon:full '"moon:full" is a condition unknown'
fails 'no condition' - '"-" is a condition unknown'

put "$po" 11-1 hold time:$past a@b
rm "$po/queue/11-1" && mkdir "$po/queue/11-1"
like 'a message file that cannot be opened: the reason says so' \
    "$(printf '11-1\ttime:%s\n' $past | (cd "$po/transport" && exec "$A"))" \
    'deferred cannot open the message file: '
rmdir "$po/queue/11-1"
rmdir "$po/public"
like 'without public/ the recipient is deferred' \
    "$(ask time:$past)" 'deferred the condition holds, but'
is 'without public/ the recipient stays to be done' "$(tag)" ' '
finish
