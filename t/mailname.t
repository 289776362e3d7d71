#!/bin/sh
# The one name of this host in mail: where it is set, and who has it.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILNAME
po=$tmp/po
spool_new "$po"
chmod 1777 "$po/public" "$po/router"
mkdir "$tmp/share" "$tmp/other" "$tmp/empty" "$tmp/s"
echo '  mail.home.example second' >"$tmp/share/mailname"
printf '*@$d local -\n*@* smtp -\n* smtp -\n' >"$tmp/share/routes"
MAILSHARE=$tmp/share
export MAILSHARE

# ---- where it is set -----------------------------------------------------------

calls() {	# title name [command before submit]
	title=$1 name=$2
	shift 2
	is "$title" "$("$@" "$top/submit" -bv -C "$tmp/share/routes" anna |
	    sed 1q)" \
	    "anna: smtp - anna@$name"
}
calls 'the mail name is that of the file mailname' mail.home.example env
calls 'MAILNAME of the environment goes before the file' \
    env.example env MAILNAME=env.example
calls 'a wrong MAILNAME of the environment is ignored' mail.home.example \
    env MAILNAME='a b'
calls 'an empty MAILNAME of the environment is ignored' \
    mail.home.example env MAILNAME=
system=$(uname -n)
case $system in
*[!A-Za-z0-9.-]*|*-.*|*.-*|-*|*-|*..*|.*|*.) system=localhost ;;
esac
calls 'without a file the mail name is that of the system' "$system" \
    env MAILSHARE="$tmp/empty"
for bad in '' '-a.example' 'a..example' 'a.example.' 'a/b' "$(awk 'BEGIN {
    for (i = 0; i < 100; i++) printf "name" }')"; do
	printf '%s\n' "$bad" >"$tmp/other/mailname"
	calls "a wrong name in the file is ignored: $bad" "$system" \
	    env MAILSHARE="$tmp/other"
done
is 'a domain line in routes goes before the mail name' \
    "$( (echo 'domain our.example'
    cat "$tmp/share/routes") >"$tmp/routes"
    "$top/submit" -bv -C "$tmp/routes" anna@our.example | sed 1q)" \
    'anna@our.example: local - anna'

# ---- scheduler -n asks for a full one --------------------------------------------

conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1m
sm/*	command="sm -0 -c sm -f $tmp/sm.cf uucp"
error/*	command="errormail"
END
is 'scheduler -n says nothing of a full name' "$("$SCHEDULER" -P "$po" -n \
    -f "$tmp/cf" 2>&1 | grep calls)" ''
echo box >"$tmp/other/mailname"
out=$(MAILBIN=$top MAILSHARE=$tmp/other "$SCHEDULER" -P "$po" -n \
    -f "$tmp/cf" 2>&1)
is 'scheduler -n takes a short name without an error' $? 0
like 'scheduler -n asks for a full name instead of a short one' "$out" \
    "calls this host box, which is not a full name: .*$tmp/other/mailname"
echo 'box.example.org.' >"$tmp/other/mailname"
like 'scheduler -n says that the file has no name' "$(MAILSHARE=$tmp/other \
    "$SCHEDULER" -P "$po" -n -f "$tmp/cf" 2>&1)" \
    "calls this host .*: $tmp/other/mailname cannot be read, or its first word"
unlike 'scheduler -n takes MAILNAME instead of a wrong file' \
    "$(MAILNAME=env.example \
    MAILSHARE=$tmp/other "$SCHEDULER" -P "$po" -n -f "$tmp/cf" 2>&1)" calls
# as "hostname -f >mailname" leaves it where no name is known
for empty in '' ' \n'; do
	printf "$empty" >"$tmp/other/mailname"
	out=$(MAILSHARE=$tmp/other "$SCHEDULER" -P "$po" -n -f "$tmp/cf" 2>&1)
	is 'scheduler -n refuses an empty file' $? 78
	like 'scheduler -n says what belongs into an empty file' "$out" \
	    "$tmp/other/mailname is empty: write the full name of this host"
done
out=$(MAILSHARE=$tmp/other "$SCHEDULER" -i -P "$tmp/none" -f "$tmp/cf" 2>&1)
is 'a start with an empty file is refused' $? 78
like 'a start says what belongs into an empty file' "$out" \
    "$tmp/other/mailname is empty: write the full name of this host"
nok 'a refused start makes no post office' [ -e "$tmp/none" ]
echo box.example.org >"$tmp/other/mailname"
chmod 640 "$tmp/other/mailname"
like 'scheduler -n says that other users cannot read the name' \
    "$(MAILSHARE=$tmp/other "$SCHEDULER" -P "$po" -n -f "$tmp/cf" 2>&1)" \
    "mail of other users has another name .*$tmp/other/mailname: chmod 644 it"
chmod 644 "$tmp/other/mailname"
unlike 'scheduler -n says nothing of a name that all can read' \
    "$(MAILSHARE=$tmp/other \
    "$SCHEDULER" -P "$po" -n -f "$tmp/cf" 2>&1)" mailname

# ---- who has it --------------------------------------------------------------------

"$top/submit" -P "$po" anna@far.example <<END
Subject: x

END
like 'submit puts the mail name into the sender' \
    "$(sed -n 's/^e //p' "$po"/transport/[1-9]*)" \
    '@mail\.home\.example$'
find "$po" -type f -exec rm -f {} +
cat >"$tmp/show" <<END
#!/bin/sh
exec cat >>$tmp/in
END
chmod 755 "$tmp/show"
echo "uucp U $tmp/show show" >"$tmp/sm.cf"
ln -s "$top/ta/sm" "$top/ta/errormail" "$tmp/bin/ta"
put "$po" 10-1 sm far anna
put "$po" 11-1 error nohost anna@far
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'the agent sm delivers a message' wait_log 'complete msg=10-1'
ok 'the agent errormail delivers a message' wait_log 'complete msg=11-1'
like 'the From line of UUCP has the first word of the mail name' \
    "$(sed 1q "$tmp/in")" \
    ' remote from mail$'
like 'a DSN has the mail name in From' "$(cat "$po"/router/*)" \
    '^From: Mail Delivery <postmaster@mail\.home\.example>'
rm -f "$po"/router/* "$tmp/in"
printf 'PARAMuucpname leaf-1\nuucp U %s show\n' "$tmp/show" >"$tmp/sm.cf"
put "$po" 12-1 sm far anna
"$top/t/notify" "$po/.scheduler.notify" 'NEW 12-1'
ok 'sm delivers with PARAMuucpname' wait_log 'complete msg=12-1' 30
like 'the From line of UUCP has PARAMuucpname' \
    "$(sed 1q "$tmp/in")" ' remote from leaf-1$'
sched_stop
(echo 'PARAMmailname dsn.example'; cat "$tmp/cf") >"$tmp/cf2"
printf 'PARAMuucpname a b\nuucp U %s show\n' "$tmp/show" >"$tmp/sm.cf"
put "$po" 13-1 sm far anna
put "$po" 14-1 error nohost anna@far
ok 'the scheduler starts with PARAMmailname' sched_start "$po" "$tmp/cf2"
ok 'errormail delivers with PARAMmailname' wait_log 'complete msg=14-1'
like 'a DSN has PARAMmailname in From' "$(cat "$po"/router/*)" \
    '^From: Mail Delivery <postmaster@dsn\.example>'
ok 'a wrong PARAMuucpname defers mail' \
    wait_log 'deferred msg=13-1 .*sm.cf:1: PARAMuucpname needs one name of '
sched_stop

if without NO_TCP; then
	skip 'EHLO has the full mail name' 'built without'
	skip 'EHLO has an address instead of a short mail name' 'built without'
else
	bg "$top/t/smtpd" "$tmp/s"
	wait_for 30 test -s "$tmp/s/port" || exit 1
	ehlo() {	# name
		put "$po" 20-1 smtp host anna
		: >"$tmp/s/log"
		printf '20-1\thost\n' | (cd "$po/transport" &&
		    MAILNAME=$1 "$top/ta/smtp" -R \
		    "[127.0.0.1]:$(cat "$tmp/s/port")") >/dev/null 2>&1
		sed -n 's/^> EHLO //p' "$tmp/s/log"
	}
	is 'EHLO has the full mail name' "$(ehlo some.example)" some.example
	is 'EHLO has an address instead of a short mail name' \
	    "$(ehlo box)" '[127.0.0.1]'
fi
finish
