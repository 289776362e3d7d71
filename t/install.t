#!/bin/sh
# make install and make run, as a new user would.
# Takes long.
. "${0%/*}/lib.sh"

# In a copy of the tree, as it was made, since others are at work in it.
mkdir "$tmp/src"
(cd "$top" && cp -Rp Makefile LICENSE NEWS README .gitignore .ci ./*.[cho] \
    scheduler.cf sm.cf routes forms lib mq sub ta t man bench contrib \
    places scheduler scheduler-check scheduler-syslog mailq submit "$tmp/src")
cd "$tmp/src" || exit 1
m() {
	make DESTDIR="$tmp/root" MAKEFLAGS= "$@"
}
ok 'make install ends with 0' m install
for f in sbin/scheduler bin/mailq share/man/man1/mailq.1 bin/submit lib/mail/ta/mailbox lib/mail/ta/hold \
    lib/mail/scheduler-check lib/mail/scheduler-syslog \
    lib/mail/ta/sm lib/mail/ta/errormail lib/mail/ta/dsn \
    share/mail/sm.cf \
    share/mail/routes share/mail/forms/delivery share/mail/forms/delay \
    share/man/man1/submit.1 lib/mail/summary \
    share/man/man8/sm.8 share/man/man8/errormail.8 share/man/man8/dsn.8 \
    lib/mail/ta/smtp share/man/man8/smtp.8 \
    share/mail/scheduler.cf share/man/man8/scheduler.8 share/man/man8/mailbox.8 share/man/man8/hold.8 \
    share/man/man5/scheduler.cf.5 share/man/man7/scheduler-protocol.7 \
    share/man/man7/scheduler-internals.7 share/man/man7/scheduler-security.7; do
	[ -f "$tmp/root/usr/local/$f" ] || echo "$f"
done >"$tmp/missing"
is 'make install: every file is there' "$(cat "$tmp/missing")" ''
ok 'the installed configuration is good' \
    env MAILBIN="$tmp/root/usr/local/lib/mail" \
    "$tmp/root/usr/local/sbin/scheduler" -n -f "$tmp/root/usr/local/share/mail/scheduler.cf"
# Where it was installed to is compiled in.
mkdir "$tmp/other"
says_dsn() {	# scheduler
	MAILBIN=$tmp/other "$1" -n -f "$tmp/root/usr/local/share/mail/scheduler.cf" \
	    2>&1 | grep 'ta/dsn cannot be run'
}
ok 'a missing agent for DSNs is named' says_dsn "$top/scheduler"
make -s MAILBIN="$tmp/root/usr/local/lib/mail" PREFIX=/usr/local scheduler \
    scheduler-check >/dev/null 2>&1
nok 'an agent for DSNs that MAILBIN has not is that of the installation' \
    says_dsn ./scheduler
echo '# mine' >>"$tmp/root/usr/local/share/mail/scheduler.cf"
echo '# mine, too' >>"$tmp/root/usr/local/share/mail/sm.cf"
echo '# my form' >>"$tmp/root/usr/local/share/mail/forms/delay"
m install >/dev/null 2>&1
is 'make install never overwrites a configuration' \
    "$(cat "$tmp/root/usr/local/share/mail/"*.cf | grep '^# mine')" '# mine
# mine, too'
is 'make install never overwrites a form' \
    "$(tail -n 1 "$tmp/root/usr/local/share/mail/forms/delay")" \
    '# my form'
# A group of one's own can be given to files.
closed() {	# group: the modes of the program and of the way in
	m SUBMITGROUP="$1" install >"$tmp/said" 2>&1 || echo "status $?"
	cd "$tmp/root" || exit
	ls -ldn usr/local/bin/submit var/spool/postoffice/*/ 2>/dev/null |
	    awk '{ print substr($1, 1, 10), $4 }' | tr '\n' ';'
	cd "$tmp/src" || exit
}
is 'SUBMITGROUP: a group that does not exist is no error' \
    "$(closed no.such.group)" \
    "$(ls -ldn "$tmp/root/usr/local/bin/submit" | awk '{ print substr($1, 1, 10), $4 }');"
like 'make install prints the commands that make the group' \
    "$(cat "$tmp/said")" \
    '^	chmod 2755 .*/usr/local/bin/submit$'
gid=$(id -g)
is 'SUBMITGROUP: an existing group owns submit, public/ and router/' \
    "$(closed "$gid")" \
    "-rwxr-sr-x $gid;drwx-ws--T $gid;drwx-ws--T $gid;"
unlike 'make install prints no commands when the group exists' \
    "$(cat "$tmp/said")" groupadd
is 'an empty SUBMITGROUP: submit gets no set-group-id bit' \
    "$(m SUBMITGROUP= install \
    2>&1 | grep groupadd; ls -l "$tmp/root/usr/local/bin/submit" | cut -c1-10)" \
    -rwxr-xr-x
# A running program cannot be written over.
inode() {
	ls -i "$tmp/root/usr/local/sbin/scheduler" | awk '{ print $1 }'
}
was=$(inode)
ln "$tmp/root/usr/local/sbin/scheduler" "$tmp/running"
m install >/dev/null 2>&1
ok 'make install replaces a program and does not write over it' \
    [ "$(inode)" != "$was" ]
ok 'make uninstall ends with 0' m uninstall
is 'make uninstall leaves the configuration alone' \
    "$(cd "$tmp/root" && find . -type f | sort)" './usr/local/share/mail/forms/delay
./usr/local/share/mail/forms/delivery
./usr/local/share/mail/routes
./usr/local/share/mail/scheduler.cf
./usr/local/share/mail/sm.cf'

# Other places are other programs.  To build them takes half as long without
# CFLAGS.
other_submit() {
	make PREFIX="$tmp/else" CFLAGS= MAKEFLAGS= submit
}
ok 'make submit with another PREFIX ends with 0' other_submit
like 'submit looks for its table below the PREFIX of make' \
    "$(./submit -bv anna 2>&1)" \
    "cannot read the table $tmp/else/share/mail/routes"
is 'make does not build submit again for the same PREFIX' \
    "$(other_submit | grep submit.o)" ''

ok 'make dist ends with 0' make MAKEFLAGS= dist
like 'make dist: the name of the archive has the version' \
    "$(ls)" '^scheduler-[0-9.]+\.tar\.gz$'
ok 'make dist: the archive can be unpacked' \
    sh -c 'gzip -dc scheduler-*.tar.gz | tar xf -'
is 'make dist: the archive has no objects and no programs' \
    "$(find scheduler-* -name '*.o' -o -name scheduler -type f)" ''
cd scheduler-*[0-9] || exit 1
is 'make dist: the archive has all files of git' \
    "$( (cd "$top" && git ls-files 2>/dev/null) |
    while read -r f; do
	[ -f "$f" ] || echo "$f"
done)" ''
n() {
	make DESTDIR="$tmp/other" PREFIX=/opt MAILQNAME=mqueue CFLAGS= \
	    MAKEFLAGS= "$@"
}
ok 'make install from the archive with another MAILQNAME ends with 0' n install
is 'MAILQNAME: program and page are installed under that name' \
    "$(cd "$tmp/other/opt" &&
    find . -name 'mailq*' -o -name 'mqueue*' | sort)" './bin/mqueue
./share/man/man1/mqueue.1'
like 'MAILQNAME: the program prints that name' \
    "$("$tmp/other/opt/bin/mqueue" -V)" '^mqueue '
is 'MAILQNAME: the pages use that name' "$(cd "$tmp/other/opt/share/man" &&
    sed -n '1s/ [^ ]*$//p; /^mqueue /p' man1/mqueue.1
    grep -h '^\.BR* "*mailq' man?/*)" '.TH MQUEUE 1
mqueue \- show the mail queue, and change it'
n uninstall >/dev/null 2>&1
is 'make uninstall removes mailq under its other name' \
    "$(cd "$tmp/other" && find . -name 'mqueue*')" ''
cd "$top" || exit 1

# In a tree of its own, so that nobody else's ./run is touched.
mkdir "$tmp/tree" "$tmp/tree/t"
cp "$top/scheduler" "$top/submit" "$tmp/tree"
cp -R "$top/ta" "$tmp/tree/ta"
cp "$top/t/run" "$tmp/tree/t"
ok 'make run ends with 0' sh "$tmp/tree/t/run"
cp "$tmp/ok.out" "$tmp/run.out"
out=$(cat "$tmp/run.out")
is 'make run: all submitted mail is delivered' \
    "$(echo "$out" | grep -c ' complete msg=.*failed=none')" 6
like 'make run: a program gets mail, too' \
    "$out" 'delivered msg=.*channel=demo host=printer'
like 'make run: one message is deferred first' \
    "$out" 'deferred msg=.*channel=local .*dora is locked'
is 'make run: all mailboxes have mail' "$(cd "$tmp/tree/run/mail" && echo *)" \
    'anna bert carl dora root'
ok "make run: root's box has the postmaster's mail" \
    grep 'This is a message for postmaster' "$tmp/tree/run/mail/root"
is 'make run: an alias leads to a box and a program' \
    "$(cat "$tmp/tree/run/mail/anna" "$tmp/tree/run/printed" |
    grep -c 'This is a message for team')" 2
like 'make run: the mail is shown' \
    "$out" '^This is a message for bert, carl@demo\.example\.'
is 'make run: no scheduler is left' \
    "$(ls "$tmp/tree/run/po/.pid.scheduler" 2>/dev/null)" ''

# README's first steps, word for word but for the port and for what stays in
# the foreground.
mkdir "$tmp/steps"
cp "$top/scheduler" "$top/scheduler-check" "$top/submit" "$tmp/steps"
cp -R "$top/ta" "$tmp/steps/ta"
cd "$tmp/steps" || exit 1
sed -n '/^FIRST STEPS/,/^Within/p' "$top/README" | sed '/^    /!d
    s/ >my.cf$/&; echo PARAMmailqsock none >>my.cf/
    /-L log/s/  *#.*/ \& until grep " ready" log; do sleep 1; done/' >steps
is "README's first steps can be pasted: they have no tabs" \
    "$(grep -c '	' steps)" 0
# Behind a message that goes wrong comes a look when it was tried; each answer
# is in a file of its own, with what it is to have.
sed -n '/^Within/,/^A COMPLETE/p' "$top/README" | sed '/^    /!d' |
    awk '{ n++; want = ""; if (i = index($0, " # ")) {
	want = substr($0, i + 3); $0 = substr($0, 1, i) }
	print "until [ -e go" n " ]; do sleep 1; done"
	print "{ " $0 "; } >said" n " 2>&1; echo >did" n
	gsub(/[][*.]/, "[&]", want); gsub(/\[.\]\[.\]\[.\]/, ".*", want)
	print want >("want" n) } END { print n + 0 >"count" }' >more
cp "$top/mailq" .
{
	echo 'until [ -s boxes/anna ]; do sleep 1; done; echo >anna'
	cat more
	echo 'kill "$(cat spool/.pid.scheduler)"; wait $!'
} >>steps
bg sh steps >"$tmp/said" 2>&1
ok "README's first steps deliver to a box" wait_for 30 [ -s anna ]
is "README's session has seven steps" "$(cat count)" 7
for i in 1 2 3 4 5 6 7; do
	case $i in
	2) wait_for 30 grep 'deferred msg=' log ;;
	7) wait_for 30 grep -E 'complete msg=.* failed=none age=([0-9]+)$' log &&
	    wait_for 30 [ -s boxes/dora ] ;;
	esac >/dev/null
	: >go$i
	wait_for 30 [ -s did$i ] >/dev/null
	[ ! -s want$i ] || [ -z "$(cat want$i)" ] ||
	    like "README's session answers: $(cat want$i)" "$(cat said$i)" \
	    "$(cat want$i)"
done
# What of a screen differs each time: names, times, the path of the box.
plain() {
	sed 's/^[	 ]*//; s/<[^>]*>/<>/; s/[^ ]* old/N old/
	s/\(cannot make\).*/\1/; s/(in [^)]*)/(in N)/; s/\(expires in\).*/\1/
	s/[0-9][0-9]*/N/g'
}
is "README's screen of mailq is one of mailq" "$(
    sed -n '/The first m prints/,/^A COMPLETE/p' "$top/README" |
    sed -n '/^	[0-9].* old$/,/^$/p' | sed '/^$/d' | plain)" "$(plain <said3)"
# "deferred msg id ..." for each line of the log, without the words at its end.
keys() {
	sed 's/^[	 ]*//; s/^[0-9]* info //' | awk '/^[a-z]+ msg=/ {
		if (n++) print ""
		printf "%s", $1
	}
	{ for (i = 1; i <= NF; i++) if ($i ~ /^[a-z]+=/) {
		sub(/=.*/, "", $i); printf " %s", $i } }
	END { print "" }'
}
is "README's lines of the log have the keys of the log" "$(
    sed -n '/The first m prints/,/^A COMPLETE/p' "$top/README" |
    sed -n '/^	deferred/,/^$/p' | keys)" \
    "$(grep ' to=dora ' log | keys)"
is "README's session delivers the message in the end" \
    "$(grep -c '^hello$' boxes/dora)" 1
ok "README's first steps come to an end" wait_for 30 gone $bg_pid
[ ! -s spool/.pid.scheduler ] || kill "$(cat spool/.pid.scheduler)"
like "README's first steps: the mail is in the box" \
    "$(cat boxes/anna 2>&1)" '^hello$'
like "README's first steps: the clause of an address is shown" \
    "$(cat "$tmp/said")" '^local/-$'
cd "$top" || exit 1
finish
