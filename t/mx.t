#!/bin/sh
# Where smtp goes: MX records, addresses, and what is this machine.  The name
# servers are files: see t/dns.c.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

need_dns
serve_in "$tmp/s"

mx() {		# name line ...
	mx_name=$1
	shift
	printf '%s\n' "$@" >"$DNS/$mx_name.mx"
}
a() {		# name address ...
	a_name=$1
	shift
	printf '%s\n' "$@" >"$DNS/$a_name.a"
}
# What becomes of mail for this host: "STATUS X.Y.Z text".  With go_old it was
# written long ago.
go_old=
go() {		# host [option ...]
	go_host=$1
	shift
	put "$po" 10-1 smtp "$go_host" user@x
	[ -z "$go_old" ] || touch -t 200001010000 "$po/queue/10-1"
	: >"$tmp/s/log"
	printf '10-1\t%s\n' "$go_host" | (cd "$po/transport" && exec "$A" "$@") \
	    >"$tmp/out" 2>&1
	awk -F "$tab" '
	function status(s,	w) { split(s, w, "\001"); return w[3] }
	FNR == 1 { file++ }
	file == 1 && /^d / { d = status($2) }
	file == 2 && /^[0-9]/ {
		split($3, t, " ")
		print t[1], ($2 == "" ? d : status($2)),
		    substr($3, length(t[1]) + 2)
	}' "$po/transport/10-1" "$tmp/out"
}

a plain.example 127.0.0.1
like 'without MX records the address is used' \
    "$(go plain.example -p "$port")" '^ok3 '
mx plain.example '10 mx.plain.example'
like 'an MX record is used, and the address is not' \
    "$(go plain.example -p "$port")" \
    '^error2 5.4.4 .*plain.example has an address'
is 'each name is a step, with its own time: the domain, its mail host' \
    "$(sed -n 's/^#step looking up //p' "$tmp/out" | tr '\n' ' ')" \
    'plain.example mx.plain.example '
like '-n: the address is used, and no MX record' \
    "$(go plain.example -n -p "$port")" '^ok3 '
like '-x: the address is used, and no MX record' \
    "$(go plain.example -x -p "$port")" '^ok3 '
like 'a host with a port: the address is used, and no MX record' \
    "$(go "plain.example:$port")" '^ok3 '
like 'a smart host: the address is used, and no MX record' \
    "$(go other.example -R "plain.example:$port")" \
    '^ok3 '
a mx.plain.example 127.0.0.1
like 'an MX record leads to a host with an address' \
    "$(go plain.example -p "$port")" \
    '^ok3 2.0.0 mx.plain.example \[127.0.0.1\] said'
a bare 127.0.0.1
mx bare '10 nowhere.example'
like 'a name without a dot has no MX' "$(go bare -p "$port")" '^ok3 '

# Port 1 of an address that is not here: nobody can be reached there.
a down.example 127.0.0.1
mx two.example '20 mx.plain.example' '5 down.example' '1 gone.example'
like 'MX hosts are tried in order, those without an address are left out' \
    "$(go two.example -p "$port")" '^ok3 2.0.0 down.example '
mx one.example '0 down.example' '0 mx.plain.example'
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	go one.example -p "$port" | awk '{ print $3 }'
done | sort -u >"$tmp/both"
is 'MX hosts of equal preference are tried at random' \
    "$(wc -l <"$tmp/both" | tr -d ' ')" 2
like 'all MX hosts are down: the mail is deferred' "$(go two.example -p 1)" \
    '^deferall 4.4.1 mx.plain.example'

a three.example 127.0.0.3 127.0.0.2 127.0.0.1
a families.example ::1 127.0.0.3 127.0.0.2
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	go three.example -p 1 >&3
	go families.example -p 1
done 3>"$tmp/three" | grep -c 'families.example \[IPv6:::1\]' >"$tmp/first"
diag "$(sort "$tmp/three" | uniq -c)"
ok 'the addresses of one name are tried at random' \
    [ "$(sort -u "$tmp/three" | grep -c '^deferall 4.4.1 three.example ')" -ge 2 ]
is 'addresses of another family keep their place' "$(cat "$tmp/first")" 20

a six.example ::1 127.0.0.1
like 'addresses are tried in the order of the resolver' \
    "$(go six.example -p 1)" \
    '^deferall 4.4.1 six.example \[IPv6:::1\]'
like '-6: addresses of IPv6 are tried first' "$(go six.example -6 -p 1)" \
    '^deferall 4.4.1 six.example \[127.0.0.1\]'
like '-4: addresses of IPv4 are tried only' "$(go six.example -4 -p 1)" \
    '^deferall 4.4.1 six.example \[127.0.0.1\]'

a many.example 127.0.0.1 ::1 ::2 ::3 ::4 ::5 ::6 ::7 ::8 ::9 ::10 \
    ::11 ::12 ::13 ::14 ::15 ::16 ::17 ::18 ::19 ::20
like '-4: an address of IPv4 behind twenty of IPv6 is tried' \
    "$(go many.example -4 -p "$port")" '^ok3 '

like 'an unknown domain: failed' \
    "$(go none.example)" '^error2 5.1.2 .*none.example'
x63=$(awk 'BEGIN { for (i = 0; i < 63; i++) printf "x" }')
mx a..example later
mx "x$x63.example" later
for name in a..example "x$x63.example" "$x63.$x63.$x63.${x63%x}"; do
	like "a name that no name server can have fails: $name" \
	    "$(go "$name")" '^error2 5.1.2 .*is no name of a host'
done
mx "$x63.example" later
like 'a name with a part of 63 bytes is looked up' \
    "$(go "$x63.example")" '^deferall 4.4.3'
mx none.example
like 'a domain with neither MX nor address: failed' \
    "$(go none.example)" '^error2 5.1.2'
mx null.example '0 .'
like 'a domain with the null MX: failed' "$(go null.example)" '^error2 5.1.10'
mx null.example '0 .' '10 mx.plain.example'
like 'a null MX beside another MX is ignored' \
    "$(go null.example -p "$port")" '^ok3'
mx later.example later
a later.example 127.0.0.1
like 'a temporary error for the MX: deferred, the address is not used' \
    "$(go later.example -p "$port")" '^deferall 4.4.3'
mx soon.example '10 soon.example'
a soon.example later
like 'a temporary error for the address of the MX: deferred' \
    "$(go soon.example)" '^deferall 4.4.3'
mx soon.example '10 soon.example' '20 mx.plain.example'
like 'a temporary error for the address of one MX: the other is used' \
    "$(go soon.example -p "$port")" '^ok3'
mx both.example '10 soon.example' '20 me.example'
like 'a temporary error for the address of an MX before us: deferred' \
    "$(go both.example -h me.example)" \
    '^deferall 4.4.3'
a later later
like 'a temporary error for the address of a host: deferred' \
    "$(go later)" '^deferall 4.4.3'
like 'an unknown smart host: deferred' \
    "$(go x.example -R none.example)" '^deferall 4.3.5'
like 'a temporary error for the address of a smart host: deferred' \
    "$(go x.example -R later)" '^deferall 4.4.3 .*cannot be looked up now'

# ---- this machine ---------------------------------------------------------------

mx loop.example '10 mx.plain.example'
like 'an MX at the loopback address is this machine' \
    "$(go loop.example)" '^error2 5.4.6 .*loop.example'
a zero.example 0.0.0.0
like 'the address 0.0.0.0 is this machine' "$(go zero.example)" '^error2 5.4.6'
a other.example 127.9.9.9
like 'the address 127.9.9.9 is this machine' \
    "$(go other.example)" '^error2 5.4.6'
a far.example 192.0.2.1
mx loop.example '10 far.example' '10 me.example' '20 far.example'
like 'an MX of our name without a better one is this machine' \
    "$(go loop.example -h ME.example)" \
    '^error2 5.4.6'
# The better one is not connected to: our end cannot be 192.0.2.9.
mx loop.example '5 far.example' '10 me.example' '20 plain.example'
like 'a better MX than our name is down: deferred' \
    "$(go loop.example -h me.example \
    -b 192.0.2.9)" '^deferall 4.4.1 far.example'
a us6.example ::1
mx loop.example '10 us6.example' '20 far.example'
for o in -4 '-b 192.0.2.9'; do
	like "an MX at an address that $o excludes is this machine" \
	    "$(go loop.example $o -T connect=1s)" '^error2 5.4.6'
done
like 'a host at an address that -4 excludes is this machine' \
    "$(go us6.example -4)" '^error2 5.4.6'
a six6.example 2001:db8::1
like 'a host with IPv6 addresses alone and -4: failed, and the reason says so' \
    "$(go six6.example -4)" '^error2 5.4.4 -4 or -b of smtp excludes all addresses'
like 'an MX behind one that -4 excludes is used' \
    "$(mx two.example '5 six6.example' '9 plain.example'
    mx plain.example
    go two.example -4 -p "$port")" '^ok3 2.0.0 plain.example'
like 'an MX of our name at another port is not this machine' \
    "$(go plain.example -h mx.plain.example -p "$port")" '^ok3'

# ---- many addresses ----------------------------------------------------------------

# Ports of the loopback where nobody listens, and our server.
a dead.example 127.0.0.11 127.0.0.12 127.0.0.13 127.0.0.14 127.0.0.15 \
    127.0.0.16 127.0.0.17 127.0.0.18
tried() {	# connections in the transcript
	grep -c ' = ' "$tmp/tried"
}
rm -f "$tmp/tried"
like 'eight addresses where nobody listens: the mail is deferred' \
    "$(go dead.example -p "$port" -l "$tmp/tried")" '^deferall 4.4.1'
is 'five of them are tried for a job' "$(tried)" 5
a refuse.example 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1
for what in '421 not now' '554 go away' drop; do
	echo "greeting $what" >"$tmp/s/rules"
	like "four addresses that greet with $what: the mail is deferred" \
	    "$(go refuse.example -p "$port")" '^deferall 4'
	is "two of them that greet with $what are tried for a job" \
	    "$(grep -c ^connection "$tmp/s/log")" 2
done
echo 'greeting hang' >"$tmp/s/rules"
like 'four addresses that do not greet: the mail is deferred' \
    "$(go refuse.example -p "$port" -T greeting=1s)" '^deferall 4.4.2'
is 'two of them that do not greet are tried for a job' \
    "$(grep -c ^connection "$tmp/s/log")" 2
rm -f "$tmp/s/rules"

mx sixth.example '1 dead.example' '2 mx.plain.example'
like 'a good address behind eight others is not tried at once' \
    "$(go sixth.example -p "$port")" '^deferall 4.4.1'
# Mail that was tried before goes on from an address that chance chooses.
later() {	# host
	go_old=1
	go "$1" -p "$port" >"$tmp/later"
	go_old=
	grep '^ok3' "$tmp/later"
}
ok 'a good address behind eight others is reached by a later try' \
    wait_for 60 later sixth.example
a evil.example 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1 127.0.0.1
mkdir "$tmp/good"
bg "$top/t/smtpd" -a 127.0.0.2 -p "$port" "$tmp/good" 2>/dev/null
good_is_up() {
	test -s "$tmp/good/port" || gone "$bg_pid"
}
wait_for 30 good_is_up
if [ -s "$tmp/good/port" ]; then
	echo 'greeting 421 not now' >"$tmp/s/rules"
	a good.example 127.0.0.2
	mx evil.example '1 evil.example' '2 good.example'
	like 'a good address behind five that refuse is not tried at once' \
	    "$(go evil.example -p "$port")" '^deferall 4.3.2'
	ok 'a good address behind five that refuse is reached by a later try' \
	    wait_for 60 later evil.example
	mx pair.example '1 plain.example' '2 good.example'
	for what in 'mail 421 not now' 'mail drop' 'rcpt drop' \
	    'data 421 not now'; do
		echo "$what" >"$tmp/s/rules"
		like "the next server is tried after $what" \
		    "$(go pair.example -p "$port")" '^ok3 2.0.0 good.example'
		is "a server is tried once when there is $what" \
		    "$(grep -c ^connection "$tmp/s/log")" 1
		like "the next smart host is tried after $what" \
		    "$(go h -R "[127.0.0.1]:$port,[127.0.0.2]:$port")" '^ok3'
	done
	echo 'data drop' >"$tmp/good/rules"
	like 'both servers break the connection: the mail is deferred' \
	    "$(go pair.example -p "$port")" \
	    '^deferall 4.4.2 good.example .*closed by the other side \(DATA\)'
	like 'the other server is down: the mail is deferred' \
	    "$(mx pair.example '1 plain.example' '2 dead.example'
	    go pair.example -p "$port")" '^deferall 4.4.1 dead.example'
	mx pair.example '1 plain.example' '2 good.example'
	rm "$tmp/good/rules"
	echo 'rcpt:two@x drop' >"$tmp/s/rules"
	put "$po" 20-1 smtp pair.example two@x
	: >"$tmp/s/log"
	put "$po" 10-1 smtp pair.example one@x
	printf '%s\tpair.example\n' 10-1 20-1 | (cd "$po/transport" &&
	    exec "$A" -p "$port") >"$tmp/out" 2>&1
	is 'the next server is tried after rcpt drop on a kept connection' \
	    "$(verdicts | cut -d' ' -f 1-3 | tr '\n' ' ')" \
	    'ok3 2.0.0 plain.example ok3 2.0.0 good.example '
	is 'a server is tried once when a kept connection breaks after MAIL' \
	    "$(grep -c ^connection "$tmp/s/log")" 1
	rm -f "$tmp/s/rules"
	kill "$bg_pid"
	wait "$bg_pid" 2>/dev/null
else
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
		skip 'a good address behind addresses that refuse' \
		    'no address 127.0.0.2'
	done
fi
lib_forget "$bg_pid"

# ---- rubbish ----------------------------------------------------------------------

for host in '-' '.' 'a..' '[' '[]' '[1.2.3]' '[1.2.3.4]x' '[1.2.3.4]:' \
    '[1.2.3.4]:70000' 'a:0' 'a:b' 'a:25:25' '[::g]' 'a/b' '1::2'; do
	like "a word that is no host fails: $host" \
	    "$(go "$host")" '^error2 5.1.2'
done

raw() {		# title pattern printf-format: an answer, byte for byte
	mx raw.example raw
	printf "$3" >"$DNS/raw.example.raw"
	like "an answer of a name server $1" "$(go raw.example -p "$port")" "$2"
}
head='\0\0\201\200\0\1\0\1\0\0\0\0\3raw\7example\0\0\17\0\1'
mx='\300\014\0\17\0\1\0\0\0\0'
two='\0\0\201\200\0\1\0\2\0\0\0\0\3raw\7example\0\0\17\0\1'
a m 127.0.0.1
raw 'in the expected form' '^ok3' "$head$mx\\0\\5\\0\\12\\1m\\0"
raw 'with another record before' '^ok3' \
    "$two\\300\\014\\0\\20\\0\\1\\0\\0\\0\\0\\0\\2\\1m$mx\\0\\5\\0\\12\\1m\\0"
later='^deferall 4.4.3'
raw 'without a byte' "$later" ''
raw 'that ends in the header' "$later" '\0\0\201\200\0\1'
raw 'that ends in the question' "$later" '\0\0\201\200\0\1\0\1\0\0\0\0\77x'
raw 'that ends in a record' "$later" "$head\\300"
raw 'with a length beyond its end' "$later" "$head$mx\\377\\377\\0\\12\\1m\\0"
raw 'with a name that leads to itself' "$later" \
    "$head$mx\\0\\4\\0\\12\\300\\053"
raw 'with a name of forbidden characters' "$later" \
    "$head$mx\\0\\7\\0\\12\\3m;|\\0"
a -m 127.0.0.1
raw 'with a name that begins like an option' "$later" \
    "$head$mx\\0\\6\\0\\12\\2-m\\0"
raw 'of a server in trouble' "$later" \
    '\0\0\201\202\0\1\0\0\0\0\0\0\3raw\7example\0\0\17\0\1'
raw 'that there is no such name' '^error2 5.1.2' \
    '\0\0\201\203\0\1\0\0\0\0\0\0\3raw\7example\0\0\17\0\1'

# Whose MX is it?  "e" has an address where nobody listens.
other='\1e\0\0\17\0\1\0\0\0\0'
cname='\300\014\0\5\0\1\0\0\0\0\0'
a e 192.0.2.1
raw 'with an MX of another owner' "$later" "$head$other\\0\\5\\0\\1\\1m\\0"
raw 'with an MX of another owner, and a better one' '^ok3 2.0.0 m ' \
    "$two$other\\0\\5\\0\\1\\1e\\0$mx\\0\\5\\0\\12\\1m\\0"
raw 'with another owner that takes no mail' '^ok3 2.0.0 m ' \
    "$two$other\\0\\3\\0\\0\\0$mx\\0\\5\\0\\12\\1m\\0"
raw 'with an owner in capitals' '^ok3 2.0.0 m ' \
    "$head\\3RAW\\7Example\\0\\0\\17\\0\\1\\0\\0\\0\\0\\0\\5\\0\\12\\1m\\0"
raw 'with an alias, and its MX' '^ok3 2.0.0 m ' \
    "$two${cname}\\3\\1E\\0$other\\0\\5\\0\\12\\1m\\0"
raw 'with the MX before the alias' '^ok3 2.0.0 m ' \
    "$two$other\\0\\5\\0\\12\\1m\\0${cname}\\3\\1e\\0"
raw 'with an alias, and an MX of what it is an alias for' "$later" \
    "$two${cname}\\3\\1e\\0$mx\\0\\5\\0\\12\\1m\\0"
raw 'with an alias of itself' "$later" \
    "$two${cname}\\2\\300\\014$other\\0\\5\\0\\12\\1m\\0"
raw 'with an owner of forbidden characters' "$later" \
    "$head\\3;|x\\0\\0\\17\\0\\1\\0\\0\\0\\0\\0\\5\\0\\12\\1m\\0"
finish
