#!/bin/sh
# What agents promise where a system takes promises (HAVE_PLEDGE), they keep
# everywhere: strace shows what they open, start and call.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

strace -f -o /dev/null true 2>/dev/null || skip_all 'no strace that works here'
po=$tmp/po
spool_new "$po"
mkdir "$tmp/forms" "$tmp/s"
printf 'SUB told\nThe text.\n' >"$tmp/forms/delivery"
trace() {	# line command ...: its system calls go to $tmp/trace
	printf '%s\n' "$1" >"$tmp/job"
	shift
	(cd "$po/transport" && exec strace -f -o "$tmp/trace" \
	    -e trace=file,network,process,write "$@" <"$tmp/job" >"$tmp/out")
}
# The calls but for those on what is open already.  Once it has greeted the
# scheduler, whatever was needed to start is over.
calls() {
	awk '
	/write\(1, "#hungry/ { on = 1 }
	!on || / (exit|exit_group|write|fstat|fstat64|wait4)\(/ { next }
	/ (newfstatat|statx)\([0-9]+, ""/ || / [-+<][-+.]/ { next }
	{ sub(/^[0-9]+ +/, ""); print }' "$tmp/trace"
}
# Of them, those that are not promised.
broken() {
	calls | grep -v -e '"[^/"]*",' -e '"\.\./[a-z]*[/"]' \
	    -e "\"$tmp/forms/" -e '"/dev/urandom"' -e '"/etc/localtime"' \
	    -e '^socket(AF_UNIX, ' -e "sun_path=\"$tmp/router\""
}

simple "$po" 101-1 anna@a.example <<END
r-          fail h u@x.example 0
d u@x.example|failed|5.1.1|||no
END
trace "101-1${tab}failure" "$top/ta/dsn" -d "$tmp/forms" -r "$tmp/router"
like 'dsn writes a DSN' "$(cat "$tmp/out")" 'ok to=anna@a.example .*router/'
like 'dsn reads its form' "$(calls)" 'forms/delivery'
is 'dsn opens nothing but the post office and its forms' "$(broken)" ''

put "$po" 102-1 error nosuchuser u@x.example
trace 102-1 "$top/ta/errormail" -d "$tmp/forms"
like 'errormail writes a DSN' "$(cat "$tmp/out")" '102/[0-9]*	.*DSN to '
is 'errormail opens nothing but the post office and its forms' \
    "$(broken; calls | grep socket)" ''

# Calls of these kinds, by anybody, once the program is there.
made() {	# pattern
	sed -e '/ execve("[^"]*\/ta\//d' -e '/ execve("[^"]*\/mailq"/d' \
	    "$tmp/trace" | grep -E " ($1)[a-z0-9_]*\\("
}
mkdir "$tmp/mail"
put "$po" 104-1 local - anna
trace 104-1 "$top/ta/mailbox" -n -d "$tmp/mail"
like 'mailbox delivers a job' "$(cat "$tmp/out")" '104/[0-9]*	.*	ok'
is 'mailbox has no network, and starts no program for a mailbox' \
    "$(made 'socket|bind|listen|connect|execve')" ''
put "$po" 105-1 hold age:0 anna
trace 105-1 "$top/ta/hold"
like 'hold gives mail back' "$(cat "$tmp/out")" '105/[0-9]*	.*	ok3'
is 'hold has no network and starts no program for a span of time' \
    "$(made 'socket|bind|listen|connect|execve')" ''
printf 'true - /bin/sh sh -c "cat >%s"\n' "$tmp/s/got" >"$tmp/sm.cf"
put "$po" 106-1 true h anna
trace 106-1 "$top/ta/sm" -0 -f "$tmp/sm.cf" true
like 'sm has its program take a job' "$(cat "$tmp/out")" '106/[0-9]*	.*	ok'
is 'sm has no network, and starts its program alone' \
    "$(made 'socket|bind|listen|connect|execve' |
    sed -n 's/.*\(socket\|bind\|listen\|connect\|execve\)(\([^,]*\),.*/\1 \2/p' |
    grep -v '^execve "/[a-z/]*/cat"')" 'execve "/bin/sh"'
put "$po" 107-1 local - anna
sed 's/^r           /r~     1    /' "$po/transport/107-1" >"$tmp/ctl"
cp "$tmp/ctl" "$po/transport/107-1"
(POSTOFFICE=$po RENDEZVOUS=$tmp/none strace -f -o "$tmp/trace" \
    -e trace=file,network,process,kill "$top/mailq" -v >"$tmp/out" 2>&1)
like 'mailq lists the spool' "$(cat "$tmp/out")" '^107-1 '
is 'mailq starts nothing, signals nobody and has no socket but for TCP' \
    "$(made 'kill|fork|vfork|clone|execve|bind|listen|accept|chown|socket' |
    grep -v 'socket(AF_INET')" ''

like 'mailq promises tty, as it asks a terminal for its size' \
    "$(cat "$top"/mq/*.c | grep -c TIOCGWINSZ) $(grep "pledge(" "$top/mailq.c")" \
    '^[1-9].* tty"'

if without NO_TCP; then
	skip 'smtp delivers a job' 'built with NO_TCP'
	finish
fi
bg "$top/t/smtpd" "$tmp/s"
ok 'a server for smtp starts' wait_for 30 test -s "$tmp/s/port"
put "$po" 103-1 smtp h u@x.example
trace "103-1${tab}h" "$top/ta/smtp" -R "[127.0.0.1]:$(cat "$tmp/s/port")"
like 'smtp delivers a job' "$(cat "$tmp/out")" '103/[0-9]*	.*	ok'
# The talker has been to / and is in the place of nobody by then.
is 'the child of smtp opens no file and starts no program' "$(awk '
	/ chdir\("\/"\)/ { talker = $1; next }
	talker != "" && $1 == talker && / (open|exec|[v]?fork|clone|unlink|rename|mkdir|chmod|chown|link|stat|access|kill)[a-z0-9]*\(/ &&
	    !/\([0-9]+, ""/' "$tmp/trace")" ''
like 'the child of smtp makes the connection' "$(awk '
	/ chdir\("\/"\)/ { talker = $1; next }
	talker != "" && $1 == talker' "$tmp/trace")" 'connect\('
finish
