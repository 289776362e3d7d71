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
	    grep -v '^#hungry$'
}
tag() {
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/10-1"
}
holds() {	# title condition [stamp]
	title=$1
	shift
	like "$title" "$(ask "$@")" "^10/[0-9]+${tab}${tab}ok3 \$"
	is '... the router gets it' "$(ls "$po/router" | wc -l | tr -d ' ')" 1
	is '... once' "$(tag)" +
}
waits() {	# title condition pattern [stamp]
	title=$1 pattern=$3
	out=$(ask "$2" $4)
	like "$title" "$out" \
	    "^10/[0-9]+${tab}who@else.org${sep}delayed${sep}4[^$tab]*${tab}$pattern"
	is '... the router gets nothing' "$(find "$po/router" "$po/public" \
	    -type f)" ''
	is '... it stays' "$(tag)" ' '
}

fails() {	# title condition pattern
	like "$1" "$(ask "$2")" "^10/[0-9]+${tab}${tab}error2 $3"
	is '... the router gets nothing' "$(find "$po/router" "$po/public" \
	    -type f)" ''
	is '... and its sender is told why' "$(tag)$(grep -c \
	    "^d.*${sep}failed${sep}5[.]3[.]5${sep}" "$po/transport/10-1")" -1
}

like 'a version' "$("$A" -V)" '^hold [0-9]'
nok 'an argument' "$A" hold </dev/null
nok 'a directory without its path' "$A" -d scripts </dev/null
is 'an end of input, and it leaves' "$("$A" </dev/null)" '#hungry'
is 'nothing to do' "$(printf '9-1\n' | (cd "$po/transport" && exec "$A") |
    tr '\n' ' ')" '#hungry #resync 9-1 #hungry '

if [ "$(id -u)" -eq 0 ]; then
	priv=54321
	holds 'as root, in the name of somebody' time:$past
	is '... who owns what the router gets' \
	    "$(ls -ln "$po/router" | awk '$3 > 0 { print $3 }')" 54321
	priv=0
else
	skip 'as root, in the name of somebody' 'not root'
fi

holds 'a time that has come' time:$past
new=$(ls "$po/router")
is '... in full' "$(cat "$po/router/$new")" 'via suspension
from <s@a.org>
envid envid+2B
notaryret HDRS
todsn NOTIFY=SUCCESS ORCPT=rfc822;w
to <who@else.org>
env-end
Subject: test

the body'
is '... named by its inode' "$(ls -i "$po/router/$new" | awk '{ print $1 }')" \
    "$new"
is '... nothing is left in public/' "$(ls "$po/public")" ''
is '... and nobody is told' "$(grep -c '^d' "$po/transport/10-1")" 0
holds "ZMailer's word, upper case" TIMEOUT:$past
waits 'a time to come' time:$future 'retryat \+[1-9][0-9]* its time comes in'
fails 'no time' time:x '"x" is no time'

holds 'an age' age:1h 200101010000
waits 'a younger one' age:1h "retryat \\+3[56][0-9][0-9] its time"
waits 'one from the future' age:1m 'retryat \+(60|59) its time' 203001010000
fails 'no age' age:soon '"soon" is no span'

holds 'a failed look-up of the router, some minutes old' IO:error 200101010000
waits '... a new one' IO:error 'retryat \+(300|29[0-9]) its time comes in'

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
script holds 'a script' SCRIPT:yes
script holds '... with an argument' 'script:yes/a;b$(c)'
uid=$(id -u)
[ "$uid" -ne 0 ] || uid=$(id -u nobody 2>/dev/null || echo 65534)
script waits '... that says no, run as nobody by root' script:yes/no \
    "deferred 1 <no> $uid \[exit 1\]"
script fails '... that is not there' script:none/yes 'there is no script none'
for word in ../bin/yes -yes yes/-x /bin/true .yes '' 'yes.'; do
	script fails "... no script: $word" "script:$word" \
	    "\"$word\" is no name and argument"
done

me=$(id -un)
if without NO_PWD; then
	holds 'a home directory of whom nobody knows' home:nobody
else
	if [ -d "$(eval echo "~$me")" ]; then
		holds 'a home directory that is there' "HOME:$me"
	else
		skip 'a home directory that is there' 'we have none'
	fi
	holds 'one of nobody, who is for the router to tell' home:no-such-user
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
	fails 'names cannot be looked up' up:localhost '.*unknown here'
	fails '... by their name servers' ns:localhost/a '.*unknown here'
else
	waits 'a name without an address' up:no.such.name.invalid 'deferred .*'
	fails 'no type of record' ns:example.org '"example.org" is no name and'
	fails 'an unknown one' ns:example.org/x '"example.org/x" is no name and'
fi
# t/dns.c has none where that is left out
if without NO_TCP || "$top/ta/smtp" -V | grep NO_RESOLV >/dev/null ||
    nm "$top/t/dns.o" 2>/dev/null | grep dns_unused >/dev/null; then
	skip 'records of name servers' 'built without a resolver'
else
	mkdir "$tmp/dns"
	DNS=$tmp/dns
	export DNS
	A=$top/t/dnshold
	echo '10 mx.example' >"$DNS/here.example.mx"
	echo later >"$DNS/later.example.mx"
	holds 'records that are there' NS:here.example/MX
	holds 'a name that is none' ns:none.example/mx
	waits 'name servers that do not answer' ns:later.example/mx \
	    'deferred no name server answers for later.example'
	A=${HOLD:-$top/ta/hold}
fi

fails 'an unknown condition' moon:full '"moon:full" is a condition unknown'
fails 'no condition' - '"-" is a condition unknown'

rmdir "$po/public"
like 'no way to the router' "$(ask time:$past)" 'deferred its time has come, but'
is '... it stays' "$(tag)" ' '
finish
