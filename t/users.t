#!/bin/sh
# Users who cannot be looked up for the moment: nobody is taken for unknown, or
# for somebody else, and all is tried again.
. "${0%/*}/lib.sh"

uid=1
user=$(sed -n 's/^\([a-z]*\):[^:]*:1:.*/\1/p' /etc/passwd | head -n 1)
[ -n "$user" ] && ! without NO_PWD || skip_all 'no passwd file with a user 1'
hurt() {	# error command ...: each look into the file fails
	hurt_error=$1
	shift
	$who strace -f -o /dev/null -P /etc/passwd \
	    -e "inject=openat:error=$hurt_error" "$@" 2>&1
}
who=
hurt EIO cat /etc/passwd >/dev/null && skip_all 'no strace that can do it'
hurt EIO true >/dev/null || skip_all 'no strace that can do it'

po=$tmp/po
spool_new "$po"
mkdir "$po/private"
chmod 700 "$po/private"
echo '* local -' >"$tmp/routes"
printf 'Subject: test\n\ntext\n' >"$tmp/m"
files() {
	(cd "$po" && find router deferred transport queue -type f ! -name '*.why' \
	    2>/dev/null | sed 's/[0-9][0-9-]*$/N/' | sort | tr '\n' ' ')
}

# ---- submit ----------------------------------------------------------

out=$(strace -o /dev/null -e 'inject=?setuid,?setuid32:error=EAGAIN' \
    "$top/submit" -bV 2>&1)
like 'a set-user-id bit that cannot be given up: a line says why' "$?$out" \
    '^77submit: cannot give up the privileges of a set-id bit: .'
echo our.example >"$tmp/mailname"
out=$(unset MAILNAME; MAILSHARE=$tmp strace -o /dev/null -P "$tmp/mailname" \
    -e inject=openat:error=EIO "$top/submit" -bn -C "$tmp/routes" 2>&1)
like 'a file mailname that cannot be read: a line names that file' "$?$out" \
    '^75submit: cannot read the file mailname: .'

if [ "$(id -u)" -ne 0 ]; then
	skip 'the author cannot be looked up' 'not root'
else
	for error in EIO EMFILE ENOMEM; do
		printf 'to anna\nenv-end\nSubject: test\n\ntext\n' \
		    >"$po/router/77"
		chown "$uid" "$po/router/77"
		out=$(hurt $error "$top/submit" -q -P "$po" -C "$tmp/routes")
		is "$error for the author: submit -q exits with 75, the file waits" \
		    "$? $(files)" '75 deferred/N '
		like "$error for the author: submit -q says why" "$out" \
		    "router/77: the user 1 cannot be looked up: "
		rm "$po"/deferred/*.why
		"$top/submit" -q -P "$po" -C "$tmp/routes"
		like "$error for the author is over: the mail is his" \
		    "$(cat "$po"/transport/[1-9]*)" \
		    "^s local - $user@[^ ]* 1\$"
		rm "$po"/transport/* "$po"/queue/*
	done

	chown "$uid" "$tmp" "$po" "$po"/*
	who="setpriv --reuid $uid --clear-groups"
	if ! $who test -x "$top/submit" 2>/dev/null; then
		skip 'a user cannot be looked up: submit' 'no setpriv'
	else
		out=$(hurt EMFILE "$top/submit" -P "$po" -C "$tmp/routes" \
		    anna <"$tmp/m")
		is 'a user who cannot be looked up: submit exits with 75' \
		    "$? $(files)" '75 '
		like 'a user who cannot be looked up: submit says why' "$out" \
		    'the user 1 cannot be looked up: Too many'
		hurt EMFILE "$top/submit" -bv -C "$tmp/routes" anna \
		    >/dev/null
		is 'a user who cannot be looked up: submit -bv exits with 75' $? 75
	fi
	who=
	chown 0 "$tmp" "$po" "$po"/*
fi
mkdir "$tmp/share"
echo box.example >"$tmp/share/mailname"
cp "$tmp/routes" "$tmp/share"
for f in mailname routes; do
	rm -f "$po"/router/*
	out=$(unset MAILNAME; MAILSHARE=$tmp/share strace -f -o /dev/null -P "$tmp/share/$f" \
	    -e inject=openat:error=EIO "$top/submit" -P "$po" anna <"$tmp/m" 2>&1)
	is "$f cannot be read for the moment: the mail waits in router/" \
	    "$? $(files)" '0 router/N '
	like "$f cannot be read for the moment: submit says why" "$out" \
	    "cannot read .*$f: Input"
done

# ---- others ----------------------------------------------------------

conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h
x/*	user=$user group=0 command="sm -0 x"
END
out=$(hurt EIO "$SCHEDULER" -n -f "$tmp/cf" -P "$po")
is 'a user of a clause cannot be looked up: scheduler -n exits with 75' $? 75
like 'a user of a clause cannot be looked up: scheduler -n says why' "$out" \
    "cf:3: user: the user $user cannot be looked up: Input"
out=$(hurt EIO "$SCHEDULER" -i -f "$tmp/cf" -P "$po")
is 'a user of a clause cannot be looked up: the scheduler exits with 75' $? 75
echo 'x/* maxta=x' >>"$tmp/cf"
hurt EIO "$SCHEDULER" -n -f "$tmp/cf" -P "$po" >/dev/null
is 'another error in the configuration: scheduler -n exits with 78' $? 78

put "$po" 101-1 x - anna
echo "x - $top/t/agent x" >"$tmp/sm.cf"
out=$(printf '101-1\t-\n' | (cd "$po/transport" &&
    hurt EIO "$top/ta/sm" -c x -f "$tmp/sm.cf" -u "$user" x))
like 'the user of sm cannot be looked up: the mail is deferred, and why' "$out" \
    "deferred the user $user, who is .*, cannot be looked up now"
if without NO_TCP; then
	skip 'the user of smtp cannot be looked up: it exits with 75' 'no smtp'
else
	out=$(hurt EIO "$top/ta/smtp" -u "$user" </dev/null)
	is 'the user of smtp cannot be looked up: it exits with 75' $? 75
fi
finish
