#!/bin/sh
# make install and make run, as a new user would.
. "${0%/*}/lib.sh"

cd "$top" || exit 1
m() {
	make DESTDIR="$tmp/root" PREFIX=/usr MAKEFLAGS= "$@"
}
ok 'make install' m install
for f in sbin/scheduler bin/mailq share/man/man1/mailq.1 bin/submit lib/mail/ta/mailbox lib/mail/ta/hold \
    lib/mail/ta/sm lib/mail/ta/errormail share/mail/sm.cf \
    share/mail/routes share/man/man1/submit.1 \
    share/man/man8/sm.8 share/man/man8/errormail.8 \
    lib/mail/ta/smtp share/man/man8/smtp.8 \
    share/mail/scheduler.cf share/man/man8/scheduler.8 share/man/man8/mailbox.8 share/man/man8/hold.8 \
    share/man/man5/scheduler.cf.5; do
	[ -f "$tmp/root/usr/$f" ] || echo "$f"
done >"$tmp/missing"
is '... everything is there' "$(cat "$tmp/missing")" ''
ok 'the installed configuration is good' \
    "$tmp/root/usr/sbin/scheduler" -n -f "$tmp/root/usr/share/mail/scheduler.cf"
echo '# mine' >>"$tmp/root/usr/share/mail/scheduler.cf"
echo '# mine, too' >>"$tmp/root/usr/share/mail/sm.cf"
m install >/dev/null 2>&1
is 'a configuration is never overwritten' \
    "$(cat "$tmp/root/usr/share/mail/"*.cf | grep '^# mine')" '# mine
# mine, too'
ok 'make uninstall' m uninstall
is '... leaves the configuration alone' \
    "$(cd "$tmp/root" && find . -type f | sort)" './usr/share/mail/routes
./usr/share/mail/scheduler.cf
./usr/share/mail/sm.cf'

# In a tree of its own, so that nobody else's ./run is touched.
mkdir "$tmp/tree" "$tmp/tree/t"
cp "$top/scheduler" "$top/submit" "$tmp/tree"
cp -R "$top/ta" "$tmp/tree/ta"
cp "$top/t/run" "$tmp/tree/t"
ok 'make run' sh "$tmp/tree/t/run"
cp "$tmp/ok.out" "$tmp/run.out"
out=$(cat "$tmp/run.out")
is '... delivers what was submitted' "$(echo "$out" | grep -c ' complete msg=.*failed=none')" 4
like '... to a program, too' "$out" 'delivered msg=.*channel=demo host=printer'
like '... one of them after a deferral' "$out" 'deferred msg=.*channel=local .*dora is locked'
is '... into all mailboxes' "$(cd "$tmp/tree/run/mail" && echo *)" \
    'anna bert carl dora'
like '... and shows the mail' "$out" '^This is a message for bert, carl@demo\.example\.'
is '... leaves no process' "$(ls "$tmp/tree/run/po/.pid.scheduler" 2>/dev/null)" ''
finish
