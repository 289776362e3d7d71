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

like 'a version' "$("$A" -V)" '^hold [0-9]'
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
waits 'no time' time:x 'deferred .*no time'

holds 'an age' age:1h 200101010000
waits 'a younger one' age:1h "retryat \\+3[56][0-9][0-9] its time"
waits 'one from the future' age:1m 'retryat \+(60|59) its time' 203001010000
waits 'no age' age:soon 'deferred .*no span'

waits 'a name without an address' up:no.such.name.invalid 'deferred .*'
waits 'an unknown condition' moon:full 'deferred .*unknown here'
waits 'no condition' - 'deferred .*unknown here'

rmdir "$po/public"
like 'no way to the router' "$(ask time:$past)" 'deferred its time has come, but'
is '... it stays' "$(tag)" ' '
finish
