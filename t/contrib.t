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
	    s,/usr/local/bin/mailq,$tmp/bin/mailq," "$1"
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
	mkdir -p "$tmp/run/scheduler/log"
	here "$c/runit/run" >"$tmp/run/scheduler/run"
	printf '#!/bin/sh\nexec cat >>%s\n' "$tmp/sched.log" \
	    >"$tmp/run/scheduler/log/run"
	chmod 755 "$tmp/run/scheduler/run" "$tmp/run/scheduler/log/run"
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
    '^procd_set_param command /usr/sbin/scheduler -i$'
like 'procd gets a command for submit' "$(procd start_service)" \
    '^procd_set_param command /usr/bin/submit -q10s$'
is 'procd gets the service and the signal of a reload' \
    "$(procd reload_service)" \
    'procd_send_signal scheduler scheduler HUP'
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
# OpenRC reads variables; its own shell has the functions.
is 'OpenRC gets the command for submit' \
    "$(sh -c '. "$1"; echo "$command $command_args $command_background"' sh \
    "$c/openrc-submit")" '/usr/local/bin/submit -q10s yes'

# ---- logs that begin anew ----
conf "$tmp/log.cf" <<END
PARAMmailqsock none
*/*	interval=1m
END
spool_new "$tmp/po2"
ok 'the scheduler starts beside logrotate' sched_start "$tmp/po2" "$tmp/log.cf"
sed -n '/postrotate/,/endscript/s/^		//p' "$c/logrotate" |
    sed "s,/var/spool/postoffice,$tmp/po2," >"$tmp/postrotate"
ok 'the script of logrotate runs' sh "$tmp/postrotate"
ok 'the script of logrotate has the scheduler reload' wait_log 'reload' 20
sched_stop
ok 'the script of logrotate ends with 0 when no scheduler runs' \
    sh "$tmp/postrotate"
is 'newsyslog has the same process file as logrotate' \
    "$(sed -n '/^[^#]/s/.* //p' "$c/newsyslog")" \
    "$(sed -n 's/.*pid=//p' "$c/logrotate")"
if command -v logrotate >/dev/null 2>&1; then
	nok 'logrotate finds no mistake' eval "logrotate -d '$c/logrotate' 2>&1 |
	    grep error:"
else
	skip 'logrotate finds no mistake' 'no logrotate'
fi

# ---- packages ----
# The places and the name of mailq in the samples of the Debian package.
sed -n "s/.*-exec sed -i '\(.*\)' .*/\1/p" "$c/debian/rules" >"$tmp/places.sed"
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
	    "$tmp/wrt/out/usr/sbin/scheduler" -V
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
