#!/bin/sh
# smtp -k: addresses that did not answer are tried behind the others.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

need_dns
serve_in "$tmp/s"
srv_pid=$bg_pid
# Nobody listens at 127.0.0.3, which some systems do not even have.
echo 127.0.0.3 >"$DNS/down.example.a"
echo 127.0.0.1 >"$DNS/up.example.a"
printf '5 down.example\n10 up.example\n' >"$DNS/two.example.mx"
printf '5 up.example\n10 down.example\n' >"$DNS/turned.example.mx"
k=$tmp/hosts
now() {		# the wall clock, less so many seconds
	awk -v less="${1:-0}" 'BEGIN { srand(); print srand() - less }'
}
# Which addresses are tried for the host, and what becomes of the mail.
go() {		# host [option ...]
	go_host=$1
	shift
	put "$po" 10-1 smtp "$go_host" user@x
	rm -f "$tmp/smtp.log"
	printf '10-1\t%s\n' "$go_host" | (cd "$po/transport" &&
	    exec "$A" -p "$port" -l "$tmp/smtp.log" "$@") >"$tmp/out" 2>&1
	sed -n 's/.* = .*\[127\.0\.0\.\([0-9]\)\].*/\1/p' "$tmp/smtp.log" |
	    tr '\n' ' '
	sed -n "s/^[0-9].*$tab\([a-z]*\).*/\1/p" "$tmp/out"
}
remembered() {
	sed 's/^[0-9]* \[127\.0\.0\.\([0-9]\)\]:.*/\1/' "$k" 2>/dev/null |
	    sort | tr '\n' ' '
}

is 'without -k the best host is tried each time' \
    "$(go two.example)$(go two.example)" \
    '3 1 ok3 1 ok'
is 'with -k the best host is tried first' "$(go two.example -k "$k")" '3 1 ok'
is 'a dead host is remembered' "$(remembered)" '3 '
is 'with -k the next best host is tried when the best is dead' \
    "$(go two.example -k "$k")" '1 ok'
is 'no other file than that of -k is left' \
    "$(ls "$tmp" | grep '^hosts' | tr '\n' ' ')" 'hosts '
rm "$k"
echo x >"$tmp/.hosts.new"
bg "$top/t/held" -a "$tmp/.hosts.new" >"$tmp/held"
ok 'another process writes a new file' wait_for 30 test -s "$tmp/held"
is 'a new file that another process writes is left to it' \
    "$(go two.example -k "$k")$(grep cannot "$tmp/out"
    cat "$tmp/.hosts.new"; ls "$tmp" | grep '^hosts')" '3 1 okx'
kill "$bg_pid"
wait "$bg_pid" 2>/dev/null
lib_forget "$bg_pid"
is 'a new file that a killed process left is removed' \
    "$(go two.example -k "$k")$(ls -a "$tmp" | grep '^[.]*hosts')" \
    '3 1 okhosts'
rm "$k"
is 'in one process the best host is tried first' \
    "$(go two.example -o -k "$k")" '3 1 ok'
is 'in one process a dead host is remembered' \
    "$(remembered)$(go two.example -o -k "$k")" '3 1 ok'

echo "$(now) [127.0.0.1]:$port" >"$k"
is 'a host that was dead is tried last' "$(go turned.example -k "$k")" '3 1 ok'
is 'a host that answers again is forgotten, a dead one remembered' \
    "$(remembered)" '3 '
echo "$(now 3600) [127.0.0.3]:$port" >"$k"
is 'a dead host is tried in its place after an hour' \
    "$(go two.example -k "$k")" \
    '3 1 ok'
is 'a host that is dead again is remembered once' "$(remembered)" '3 '
echo "$(now -3600) [127.0.0.3]:$port" >"$k"
is 'a host that is dead in the future is not believed' \
    "$(go two.example -k "$k")" \
    '3 1 ok'
echo "$(now) [127.0.0.3]:1" >"$k"
is 'a dead host is another one at another port' \
    "$(go two.example -k "$k")" '3 1 ok'
{ printf 'x y z\n\n1 2 3\n\377\000\n'; echo "$(now) [127.0.0.3]:$port"
    echo "$(now) a;b"; } >"$k"
is 'a wrong line in the file does no harm' "$(go two.example -k "$k")" '1 ok'
awk -v now="$(now)" 'BEGIN { for (i = 0; i < 300; i++)
    print now - 100, "[192.0.2." i "]:25" }' >"$k"
is 'a long file does no harm' "$(go two.example -k "$k")" '3 1 ok'
is 'a long file is made shorter' "$(wc -l <"$k" | tr -d ' ')" 100
rm "$k"
is 'a host with one address is not worth a line' \
    "$(go down.example -k "$k"; ls "$k" 2>/dev/null)" '3 deferall'
is 'a file that cannot be written stops no mail' \
    "$(go two.example -k "$tmp/none/hosts")" '3 1 ok'
like 'a file that cannot be written is named' \
    "$(cat "$tmp/out")" '^smtp: cannot write .*none/hosts: No such'
without NO_SYMLINK || ln -s "$tmp/linked" "$k"
go two.example -k "$k" >/dev/null
nok 'a link in the place of the file is not followed' [ -e "$tmp/linked" ]
rm -f "$k"

# Smart hosts: each is a name of its own.
relays="down.example,up.example"
is 'the first smart host is tried first' \
    "$(go h -R "$relays" -k "$k")" '3 1 ok'
is 'the next smart host is tried first when the first one is dead' \
    "$(go h -R "$relays" -k "$k")" '1 ok'
serve_end
is 'each smart host is tried once when none answers' \
    "$(go h -R "$relays" -k "$k")" '1 3 deferall'
is 'both smart hosts are remembered as dead' "$(remembered)" '1 3 '
is 'the reason is that of the last smart host' "$(grep -c 'down.example \[127' \
    "$tmp/out")" 1
is 'dead smart hosts are tried in their order' "$(go h -R "$relays" -k "$k")" \
    '3 1 deferall'
is 'other hosts of dead addresses are tried in their order' \
    "$(go turned.example -k "$k")" '1 3 deferall'
echo 127.0.0.4 >"$DNS/gone.example.a"
cp "$k" "$tmp/before"
echo "$(now) [127.0.0.9]:$port" >"$k"
echo 127.0.0.3 >"$DNS/same.example.a"
go h -R down.example,same.example -k "$k" >/dev/null
like 'smart hosts with one dead address: the status is that of no connection' \
    "$(verdicts)" '^deferall 4\.4\.1 [a-z]*\.example \[127\.0\.0\.3\]: '
echo "$(now) [127.0.0.9]:$port" >"$k"
is 'in one process each smart host is tried once, too' \
    "$(go h -R gone.example,down.example -o -k "$k")" '4 3 deferall'
is 'in one process all of them are remembered' "$(remembered)" '3 4 9 '
mv "$tmp/before" "$k"
serve_in "$tmp/s" -p "$port"
is 'a smart host that answers again gets the mail' \
    "$(go h -R "$relays" -k "$k")" '3 1 ok'
is 'a smart host that answers again is forgotten' "$(remembered)" '3 '
finish
