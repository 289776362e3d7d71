#!/bin/sh
# The samples in contrib/: each is tried by the program that reads it, where
# the machine has that.
. "${0%/*}/lib.sh"

c=$top/contrib
po=$tmp/po
# The sample, with the programs of this tree.
here() {	# file
	sed "s,/usr/local/sbin/scheduler,$top/scheduler,
	    s,/usr/local/bin/submit,$top/submit,
	    s,/usr/local/bin/mailq,$tmp/bin/mailq,
	    s,/var/log/,$tmp/log/," "$1"
}
conf "$tmp/scheduler.cf" <<END
PARAMmailqsock none
*/*	interval=1m
test/*	command="$top/t/agent -c test -o $tmp/out"
END

for f in rc.d runit/run openrc procd if-up rc.d-submit runit-submit/run \
    openrc-submit setups/dialup/ip-up setups/uucp/rmail; do
	ok "contrib/$f is a shell script" sh -n "$c/$f"
	ok "contrib/$f can be executed" [ -x "$c/$f" ]
done
for f in "$c"/*; do
	[ -d "$f" ] || sed -n '/^#/d; s,.*/usr/local/\(s*bin/[a-z]*\).*,\1,p' "$f"
done | sort -u >"$tmp/programs"
is 'the samples start what make install installs' "$(cat "$tmp/programs")" \
    'bin/mailq
bin/submit
sbin/scheduler'
is 'the samples start submit with -q' \
    "$(sed -n 's/.*submit \(-q\).*/\1/p' "$c/inittab" \
    "$c/crontab" "$c/submit.service" "$c/runit-submit/run" | sort -u)" -q

is 'cron keeps what submit -q says where mailq show looks' \
    "$(sed -n 's,^[*/].*bin/submit ,,p' "$c/crontab")" '-q -v >>/var/log/submit 2>&1'

for f in inittab runit/run runit-submit/run scheduler.service submit.service \
    openrc-submit rc.d-submit procd; do
	grep -q '/var/log/s' "$c/$f" || echo "$f"
done >"$tmp/nolog"
is 'the samples write logs where mailq show looks' "$(cat "$tmp/nolog")" ''

# ---- runit ----
export POSTOFFICE="$po" MAILSHARE="$tmp" MAILBIN="$tmp/bin" LOGDIR="$tmp/log" \
    RENDEZVOUS="$tmp/pipe"
spool_new "$po"
pid() {
	cat "$po/.pid.scheduler"
}
other() {	# pid
	[ -n "$(pid)" ] && [ "$(pid)" != "$1" ] && alive "$(pid)"
}
if command -v runsv >/dev/null 2>&1; then
	mkdir -p "$tmp/run/scheduler"
	here "$c/runit/run" >"$tmp/run/scheduler/run"
	ln -s log/scheduler "$tmp/sched.log"
	chmod 755 "$tmp/run/scheduler/run"
	bg runsv "$tmp/run/scheduler"
	ok 'runsv starts the scheduler' wait_log ' ready' 30
	put "$po" 101-1 test host anna
	ok 'a scheduler under runsv delivers' wait_log 'complete msg=101-1' 30
	old=$(pid)
	kill -9 "$old"
	ok 'runsv starts the scheduler again when it was killed' \
	    wait_for 30 other "$old"
	ok 'sv down ends the scheduler' sv -w 30 down "$tmp/run/scheduler"
	ok 'sv down leaves no file with a process number' \
	    [ ! -e "$po/.pid.scheduler" ]
	rm -f "$tmp/sched.log"
	sv -w 30 exit "$tmp/run/scheduler" >/dev/null 2>&1
	wait "$bg_pid" 2>/dev/null
else
	skip 'runsv starts the scheduler' 'no runsv'
fi

# ---- systemd ----
if command -v systemd-analyze >/dev/null 2>&1; then
	for unit in scheduler submit; do
		here "$c/$unit.service" >"$tmp/$unit.service"
		is "systemd-analyze says nothing of $unit.service" \
		    "$(systemd-analyze verify --man=no \
		    "$tmp/$unit.service" 2>&1 | grep "$unit.service")" ''
	done
	echo 'Restrat=always' >>"$tmp/submit.service"
	like 'systemd-analyze names a wrong word in a unit' \
	    "$(systemd-analyze verify \
	    --man=no "$tmp/submit.service" 2>&1)" Restrat
else
	skip 'systemd-analyze says nothing of the units' 'no systemd-analyze'
fi

# ---- what others' scripts would do with ours ----
# The verbs of OpenWrt's rc.common write down how they are called.
procd() {	# verb
	sh -c '
	for f in procd_open_instance procd_set_param procd_close_instance \
	    procd_send_signal mkdir; do
		eval "$f() { echo $f \"\$@\"; }"
	done
	. "$1"
	$2' sh "$c/procd" "$1"
}
like 'procd gets a command for the scheduler in the foreground' \
    "$(procd start_service)" \
    '^procd_set_param command /usr/sbin/scheduler -i -L /var/log/scheduler$'
like 'procd gets a command for submit' "$(procd start_service)" \
    '^procd_set_param command /usr/bin/submit -q10s$'
is 'procd gets the service and the signal of a reload' \
    "$(procd reload_service)" \
    'procd_send_signal scheduler scheduler HUP'
# A procd in shell: it starts what it is given, and starts again what ends until
# there is procd.stop.  Not each shell takes a signal while it waits.
sed "s,/usr/sbin/scheduler,$top/scheduler,; s,/usr/bin/submit,$top/submit,
    s,/var/log,$tmp/log,g; s,/srv/postoffice,$po,; s,/srv,$tmp/srv,
    s/-q10s/-q1/; s/sleep 3600/sleep 1/; s/500000/9000/" "$c/procd" \
    >"$tmp/procd"
cat >"$tmp/procd.sh" <<'END'
procd_open_instance() { :; }
procd_close_instance() { :; }
procd_set_param() {
	[ "$1" = command ] || return 0
	shift
	n=${n}1
	(while [ ! -f "$dir/procd.stop" ]; do
		"$@" &
		echo $! >"$dir/procd.pid$n"
		wait $!
	done) &
}
dir=${1%/*}
. "$1"
start_service
trap ': >"$dir/procd.stop"; kill $(cat "$dir"/procd.pid*); wait; exit 0' 15
wait
END
rm -rf "$po"
spool_new "$po"
printf '*\ttest\thost\n' >"$tmp/routes"
rm -f "$tmp/log/scheduler"
bg sh "$tmp/procd.sh" "$tmp/procd" 2>"$tmp/procd.err"
procd_pid=$bg_pid
ln -sf log/scheduler "$tmp/sched.log"
ok 'procd: the scheduler starts' wait_log ' ready'
printf 'to <anna>\nenv-end\n\nhello\n' >"$po/public/mail"
mv "$po/public/mail" "$po/router/4711"
ok 'procd: mail is routed and delivered' wait_log 'complete msg=' 60
like 'procd: mailq show finds the log' "$("$top/mailq" show \
    "$(sed -n 's/.* complete msg=\([^ ]*\).*/\1/p' "$tmp/log/scheduler")")" \
    'info delivered msg='
printf '%9000d\n' 0 >>"$tmp/log/scheduler"
ok 'procd: the log begins anew, and the scheduler opens it' \
    wait_for 30 eval '[ -s "$tmp/log/scheduler.0" ] && [ -f "$tmp/log/scheduler" ]'
put "$po" 4712-1 test host bert
ok 'procd: mail is delivered with the new log' wait_for 60 po_empty "$po"
old=$(pid)
kill -9 "$old"
ok 'procd: a scheduler that is killed comes back' wait_for 30 other "$old"
: >"$tmp/procd.stop"
kill $(cat "$tmp"/procd.pid*)
wait "$procd_pid"
lib_forget "$procd_pid"
ok 'procd: both end' wait_for 30 [ ! -e "$po/.pid.scheduler" ]
rm -f "$tmp/sched.log"
# So does rc.subr of the BSDs.
cat >"$tmp/rc.subr" <<'END'
load_rc_config() { :; }
run_rc_command() { echo "$1 $name $command $pidfile $scheduler_enable"; }
END
sed "s,/etc/rc.subr,$tmp/rc.subr," "$c/rc.d" >"$tmp/rc.d"
is 'rc.subr gets the path of the scheduler' "$(sh "$tmp/rc.d" start)" \
    'start scheduler /usr/local/sbin/scheduler /var/spool/postoffice/.pid.scheduler NO'
cat >"$tmp/rc.subr" <<'END'
load_rc_config() { :; }
run_rc_command() { echo "$1 $name $command $command_args $submit_enable"; }
END
sed "s,/etc/rc.subr,$tmp/rc.subr," "$c/rc.d-submit" >"$tmp/rc.d"
is 'rc.subr gets the command for submit' "$(sh "$tmp/rc.d" start)" \
    'start submit /usr/local/bin/submit -q10s >>/var/log/submit 2>&1 & NO'
# The functions of OpenRC, with the start-stop-daemon that is there.
openrc() {	# verb
	sh -c '
	ebegin() { :; }
	eend() { return $1; }
	. "$1"
	$2' sh "$tmp/openrc-submit" "$1"
}
if start-stop-daemon --help >/dev/null 2>&1; then
	here "$c/openrc-submit" |
	    sed "s,^pidfile=.*,pidfile=$tmp/submit.pid," >"$tmp/openrc-submit"
	spool_new "$po"
	printf '*\tlocal\t-\n' >"$tmp/routes"
	ok 'OpenRC starts submit -q' openrc start
	ok 'submit -q of OpenRC runs' wait_for 20 eval \
	    'alive "$(cat "$tmp/submit.pid")" && [ -f "$tmp/log/submit" ]'
	lib_pids="$lib_pids $(cat "$tmp/submit.pid")"
	old=$(cat "$tmp/submit.pid")
	ok 'OpenRC stops submit -q' openrc stop
	ok 'submit -q of OpenRC is gone' wait_for 20 gone "$old"
else
	skip 'OpenRC starts submit -q' 'no start-stop-daemon'
fi

# ---- logs that begin anew ----
conf "$tmp/log.cf" <<END
PARAMmailqsock none
*/*	interval=1m
END
spool_new "$tmp/po2"
# What renames a log and compresses it at once tells the scheduler; the other is
# seen by the scheduler (t/site.t).
ok 'the scheduler starts beside newsyslog' sched_start "$tmp/po2" "$tmp/log.cf"
pidfile=$(sed -n '/^[^#]/s/.* //p' "$c/newsyslog" |
    sed "s,/var/spool/postoffice,$tmp/po2,")
kill -HUP "$(cat "$pidfile")"
ok 'the signal of newsyslog has the scheduler reload' wait_log 'reload' 20
sched_stop
ok 'logrotate compresses a log of the scheduler one rotation later' \
    grep delaycompress "$c/logrotate"
if command -v logrotate >/dev/null 2>&1; then
	nok 'logrotate finds no mistake' eval "logrotate -d '$c/logrotate' 2>&1 |
	    grep error:"
else
	skip 'logrotate finds no mistake' 'no logrotate'
fi

# ---- packages ----
# The places and the name of mailq in the samples of the Debian package.
sed -n 's/^samples = //p' "$c/debian/rules" >"$tmp/places.sed"
for f in relay uucp hub dialup standalone; do
	sed -f "$tmp/places.sed" "$c/setups/$f/README"
done >"$tmp/readmes"
is 'the Debian package has its own places in the READMEs of setups' \
    "$(grep -e /usr/local -e mailq "$tmp/readmes")" ''
is 'the READMEs of setups have them copy to its /etc' \
    "$(grep -c '^	cp .*routes.* /etc/mail-scheduler$' "$tmp/readmes")" 5
# What OpenWrt's build system would do with the recipe.
if make --version 2>/dev/null | grep GNU >/dev/null; then
	mkdir -p "$tmp/wrt/scheduler-0.2" "$tmp/wrt/include"
	cp -R "$top"/* "$tmp/wrt/scheduler-0.2"
	rm -rf "$tmp/wrt/scheduler-0.2/run"
	(cd "$tmp/wrt/scheduler-0.2" && make MAKEFLAGS= clean) >/dev/null
	: >"$tmp/wrt/rules.mk"
	cat >"$tmp/wrt/include/package.mk" <<'END'
define BuildPackage
all:
	$$(Build/Compile)
	$$(call Package/$(1)/install,$$(OUT))
endef
END
	ok 'the recipe for OpenWrt builds' make -f "$c/openwrt/Makefile" \
	    MAKEFLAGS= TOPDIR="$tmp/wrt" INCLUDE_DIR="$tmp/wrt/include" \
	    BUILD_DIR="$tmp/wrt" PKG_INSTALL_DIR="$tmp/wrt/i" \
	    TARGET_CC="${CC:-cc}" TARGET_CFLAGS= OUT="$tmp/wrt/out"
	ok 'the recipe for OpenWrt makes a scheduler that runs' \
	    "$tmp/wrt/out/usr/lib/mail-scheduler/box" scheduler -V
	is 'the recipe for OpenWrt has links to the box' \
	    "$(cd "$tmp/wrt/out/usr" && ls -l sbin/scheduler bin/submit \
	    lib/mail-scheduler/ta/smtp | sed -n 's/.*-> //p' | sort -u)" \
	    /usr/lib/mail-scheduler/box
	for f in $(sed -n 's,^/etc,etc,p' "$c/openwrt/Makefile"); do
		[ -e "$tmp/wrt/out/$f" ] || echo "$f"
	done >"$tmp/missing"
	is 'the recipe for OpenWrt installs the configuration' \
	    "$(cat "$tmp/missing")" ''
	is 'an upgrade of OpenWrt keeps what a postmaster made' \
	    "$(cat "$tmp/wrt/out/lib/upgrade/keep.d/mail-scheduler")" \
	    /etc/mail-scheduler/
	ok 'the recipe for OpenWrt installs the service' \
	    [ -x "$tmp/wrt/out/etc/init.d/scheduler" ]
else
	skip 'the recipe for OpenWrt builds' 'no GNU make'
fi

# What the others would do; musl's compiler where it is, as for Alpine.
copy() {	# name: a clean tree in $tmp/name
	mkdir -p "$tmp/$1"
	(cd "$top" && tar cf - Makefile LICENSE *.[ch] scheduler.cf sm.cf routes \
	    forms lib mq sub ta man contrib t/fuzz/fuzz.h) | (cd "$tmp/$1" && tar xf - &&
	    find . -name '*.[ao]' -exec rm -f {} +)
	(cd "$tmp/$1" && make MAKEFLAGS= clean) >/dev/null
}
installed() {	# title root share
	ok "$1: the scheduler runs" "$2/usr/sbin/scheduler" -V
	ok "$1: the configuration is there" [ -f "$2/$3/scheduler.cf" ]
	ok "$1: summary is there" [ -x "$2/usr/lib/mail-scheduler/summary" ]
}
copy alpine
musl=$(command -v musl-gcc) || musl=${CC:-cc}
mkdir "$tmp/abin"
printf '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last"\n' >"$tmp/abin/install"
printf '#!/bin/sh\n' >"$tmp/abin/chgrp"
chmod 755 "$tmp/abin/install" "$tmp/abin/chgrp"
cat >"$tmp/abuild" <<END
srcdir=$tmp pkgdir=$tmp/apk CC=$musl CFLAGS=-O LDFLAGS=-static
PATH="$tmp/abin:$PATH"
export CC CFLAGS LDFLAGS MAKEFLAGS= PATH
. $c/alpine/APKBUILD
cd $tmp/alpine && set -e && build && package
END
ok 'the recipe for Alpine builds' sh "$tmp/abuild"
installed 'the recipe for Alpine' "$tmp/apk" etc/mail-scheduler
ok 'the recipe for Alpine has both services' \
    [ -x "$tmp/apk/etc/init.d/scheduler" ] &&
    [ -x "$tmp/apk/etc/init.d/submit" ]
is 'the recipe for Alpine: the set-group-id bit' \
    "$(ls -l "$tmp/apk/usr/bin/submit" | cut -c1-10)" -rwxr-sr-x
ok 'the script before installation on Alpine is one' \
    sh -n "$c/alpine/mail-scheduler.pre-install"
if make --version 2>/dev/null | grep GNU >/dev/null; then
	copy br/mail
	printf 'null::sysinit:/bin/true\n' >"$tmp/br/inittab"
	cat >"$tmp/br/Makefile" <<'END'
define doit
$(1)

endef
generic-package =
include $(RECIPE)
all:
	$(MAIL_SCHEDULER_BUILD_CMDS)
	$(MAIL_SCHEDULER_INSTALL_TARGET_CMDS)
	mkdir -p $(TARGET_DIR)/etc && cp $(D)/../inittab $(TARGET_DIR)/etc
	$(MAIL_SCHEDULER_INITTAB)
	$(MAIL_SCHEDULER_INITTAB)
END
	sed 's/\$(@D)/$(D)/g' "$c/buildroot/mail-scheduler.mk" >"$tmp/br/mk"
	ok 'the recipe for Buildroot builds' make -f "$tmp/br/Makefile" \
	    MAKEFLAGS= RECIPE="$tmp/br/mk" D="$tmp/br/mail" \
	    TARGET_DIR="$tmp/br/out" TARGET_CC="${CC:-cc}" TARGET_CFLAGS= \
	    TARGET_LDFLAGS=
	installed 'the recipe for Buildroot' "$tmp/br/out" etc/mail-scheduler
	is 'the recipe for Buildroot: busybox init starts both, once' \
	    "$(grep -c '^::respawn:/usr/s*bin/s' "$tmp/br/out/etc/inittab")" 2
fi
if command -v bmake >/dev/null 2>&1; then
	mkdir -p "$tmp/a/mk" "$tmp/a/mail/pkgsrc" "$tmp/mk"
	printf 'show:\n\t@echo ${%s}\n' 'INSTALL_MAKE_FLAGS} ${SPECIAL_PERMS' \
	    >"$tmp/a/mk/bsd.pkg.mk"
	cp "$c/pkgsrc/Makefile" "$tmp/a/mail/pkgsrc"
	like 'the recipe for pkgsrc has the places of make install' \
	    "$(cd "$tmp/a/mail/pkgsrc" && bmake PREFIX=/p VARBASE=/v \
	    PKG_SYSCONFDIR=/e PKGMANDIR=man REAL_ROOT_USER=root DESTDIR=/d \
	    show)" 'PREFIX=/p .*MAILSHARE=/e/mail-scheduler .*POSTOFFICE=/v/spool/postoffice .*DESTDIR=/d bin/submit root mailsub 2755'
	printf 'show:\n\t@echo ${MAKE_ARGS}\n' >"$tmp/mk/bsd.port.mk"
	sed 's,<\(bsd.port.mk\)>,"\1",' "$c/freebsd/Makefile" \
	    >"$tmp/mk/Makefile"
	like 'the port for FreeBSD has the places of make install' \
	    "$(cd "$tmp/mk" && bmake PREFIX=/p ETCDIR=/e \
	    show)" 'PREFIX=/p .*MAILSHARE=/e MAILQNAME=schedq '
else
	skip 'the recipe for pkgsrc' 'no bmake'
fi
for f in alpine/APKBUILD buildroot/mail-scheduler.mk pkgsrc/Makefile \
    freebsd/Makefile openwrt/Makefile; do
	grep -q 'not tried' "$c/$f" || echo "$f"
done >"$tmp/untold"
is 'each recipe says what was not tried' "$(cat "$tmp/untold")" ''

# ---- a line that comes and goes ----
cat >"$tmp/bin/mailq" <<END
#!/bin/sh
echo "\$@" >"$tmp/flushed"
END
chmod 755 "$tmp/bin/mailq"
here "$c/if-up" >"$tmp/if-up"
ok 'the script for a line that is up runs' env -i PATH="$PATH" sh "$tmp/if-up"
is 'the script for a line that is up flushes mail' \
    "$(cat "$tmp/flushed")" 'flush smtp/*'
printf '#!/bin/sh\nexit 69\n' >"$tmp/bin/mailq"
ok 'the script for a line that is up accepts an empty queue' \
    env -i PATH="$PATH" sh "$tmp/if-up"
finish
