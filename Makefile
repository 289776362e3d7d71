# Builds with any POSIX make and an ISO C90 compiler; nothing to configure.
#
#	make			the scheduler, its transport agents, mailq,
#				submit
#	make run		a small spool, and mail being delivered
#	make check		the tests
#	make install		under PREFIX; DESTDIR= for packaging
#	make box		all programs in one static binary, for flash
#	make install-box	that, and a link for each program
#	make uninstall		takes it away again, but no configuration
#	make dist		an archive of the source
#
# For an old or small system, say what is missing, for example
#	make CPPFLAGS="-DNO_SOCKETPAIR -DNO_TCP"
#
#	NO_SOCKETPAIR	no socketpair: two pipes to each agent
#	NO_TCP		no sockets: no notification of new mail, no smtp
#	NO_RESOLV	no <resolv.h>: no MX records, addresses only
#	NO_GETADDRINFO	no getaddrinfo: IPv4 only
#	NO_SELECT_H	no <sys/select.h>
#	NO_RLIMIT	no getrlimit
#	NO_INITGROUPS	no initgroups, no setgroups
#	NO_SYSLOG	no syslog: the log file alone
#	NO_SYMLINK	no lstat
#	NO_MKFIFO	no mkfifo: mknod
#	NO_MONOTONIC	no clock_gettime: times() counts
#	NO_FSYNC	no fsync: sync()
#	NO_FTRUNCATE	no ftruncate
#	NO_SETSID	no setsid: setpgid
#	NO_SETEUID	no seteuid, setegid, setreuid, setregid: setgid alone
#			switches submit's group; root's submit -q stays root
#	NO_STATVFS	no statvfs: PARAMminfree is not heeded
#	NO_PWD		no passwd and group files: numbers only
#	NO_WINSIZE	no <sys/ioctl.h> that knows the size of a terminal
#	NO_ST_MTIM	stat has no nanoseconds, whatever its header looks like:
#			spool ids are shorter than ZMailer's
#
# And on OpenBSD, never tried there:
#
#	HAVE_PLEDGE	agents and mailq promise what they will do
.POSIX:

CC = cc
CFLAGS = -O
CPPFLAGS =
LDFLAGS =
LIBS =

# Files of over 2 GB and inodes of over 32 bits, on 32-bit systems that have
# them; unknown elsewhere, and harmless there.
LARGE = -D_FILE_OFFSET_BITS=64

# PREFIX and the places below are compiled in.  When make install is given others
# than make was, it compiles all anew.
DESTDIR =
PREFIX = /usr/local
BIN = $(PREFIX)/bin
SBIN = $(PREFIX)/sbin
MAN = $(PREFIX)/share/man

# What mailq is installed as, where another package has that name.
MAILQNAME = mailq

# The pages have the places below and this name.
PAGES = "s,/usr/local/share/mail,$(MAILSHARE),g; s,/usr/local/lib/mail,$(MAILBIN),g; s,/usr/local/sbin/,$(SBIN)/,g; s,/usr/local/bin/,$(BIN)/,g; s,/var/spool/postoffice,$(POSTOFFICE),g; s,/var/log/,$(LOGDIR)/,g; s/^\.TH MAILQ/.TH `echo $(MAILQNAME) | tr a-z A-Z`/; s/^mailq /$(MAILQNAME) /; s/^\(\.BR* [\"]*\)mailq/\1$(MAILQNAME)/; s/^\(	\)mailq/\1$(MAILQNAME)/"

# What is installed once and then left alone.
CONFIG = scheduler.cf sm.cf routes forms/delivery forms/delay

# Where a running system has its things; agents are in MAILBIN/ta.
POSTOFFICE = /var/spool/postoffice
MAILBIN = $(PREFIX)/lib/mail
MAILSHARE = $(PREFIX)/share/mail
LOGDIR = /var/log

# The group of a set-group-id submit, see submit(1).  It must exist; when empty,
# nothing is said of it.
SUBMITGROUP = mailsub
WAYIN = $(DESTDIR)$(POSTOFFICE)/public $(DESTDIR)$(POSTOFFICE)/router
CLOSE = { \
	p=$(DESTDIR)$(BIN)/submit w="$(WAYIN)"; \
	{ chgrp $(SUBMITGROUP) $$p && (umask 022; mkdir -p $$w) && \
	    chgrp $(SUBMITGROUP) $$w && chmod 3730 $$w && chmod 2755 $$p; \
	} 2>/dev/null || printf '%s\n' \
	    'Any user may write to the post office.  So that only submit does:' \
	    "	groupadd $(SUBMITGROUP)" "	mkdir -p $$w" \
	    "	chgrp $(SUBMITGROUP) $$p $$w" "	chmod 3730 $$w" \
	    "	chmod 2755 $$p"; }

PLACES = -DPOSTOFFICE='"$(POSTOFFICE)"' -DMAILBIN='"$(MAILBIN)"' -DMAILSHARE='"$(MAILSHARE)"' -DLOGDIR='"$(LOGDIR)"' -DMAILQNAME='"$(MAILQNAME)"' -DSBIN='"$(SBIN)"'

# The daemon's modules from the top down: calls go only downwards.  t/layers.t
# reads this list.
OBJS = scheduler.o status.o dump.o ta.o intake.o queue.o destdb.o thread.o order.o message.o held.o cf.o feedback.o spool.o lib/ctlfile.o lib/office.o lib/command.o lib/pattern.o lib/util.o

# What several programs share, and the daemon for scheduler -n and tests: each
# takes what it needs.
LIB = lib/lib.a
DAEMON = lib/daemon.a
LIBOBJS = lib/agent.o lib/ctlfile.o lib/office.o lib/origin.o lib/command.o lib/pattern.o lib/form.o lib/post.o lib/deferred.o lib/scan.o lib/path.o lib/util.o

HEADERS = places scheduler.h modules.h lib/agent.h lib/command.h lib/ctlfile.h lib/deferred.h lib/form.h lib/origin.h lib/path.h lib/pattern.h lib/post.h lib/office.h lib/scan.h lib/util.h mq/mq.h sub/submit.h ta/auth.h ta/box.h ta/dead.h ta/dsntext.h ta/esmtp.h ta/halves.h ta/job.h ta/lib.h ta/mx.h ta/net.h ta/run.h ta/table.h ta/trans.h ta/via.h ta/wire.h t/fuzz/fuzz.h
# Programs that the scheduler starts, in MAILBIN: what -n becomes, and what
# gives the log to syslogd.
PROGRAMS = scheduler-check scheduler-syslog
AGENTS = ta/mailbox ta/hold ta/sm ta/errormail ta/smtp ta/dsn
TESTS = t/cftest t/prints t/agent t/held t/mkspool t/notify t/ask t/clocksched t/clockmailq t/clocksubmit t/smtpd t/dnssmtp t/dnshold t/evil t/block t/serve t/fbvec t/fbtest t/ordvec t/invec t/torture t/bad t/swap t/fuzz/cf t/fuzz/feedback t/fuzz/ctl t/fuzz/ctlfile t/fuzz/report t/fuzz/request t/fuzz/submit t/fuzz/dump t/fuzz/dsn t/fuzz/smtp
BENCHES = bench/waits bench/limit bench/noop bench/floor

all: scheduler $(PROGRAMS) mailq submit $(AGENTS)

AGENT = ta/lib.o ta/job.o $(LIB)
MQ = mq/watch.o mq/story.o mq/verbs.o mq/name.o mq/pick.o mq/dests.o mq/json.o mq/shape.o mq/show.o mq/spool.o mq/around.o mq/unrouted.o mq/words.o mq/two.o mq/read.o mq/md5.o mq/ask.o mq/model.o
MAILQ = mailq.o $(MQ) $(LIB)
SUB = sub/qrun.o sub/smtpd.o sub/peer.o sub/clause.o sub/defer.o sub/etrn.o sub/accept.o sub/recover.o sub/tidy.o sub/entry.o sub/envelope.o sub/header.o sub/route.o sub/address.o sub/rights.o sub/say.o
SUBMIT = submit.o $(SUB) $(LIB)
TALK = ta/halves.o ta/trans.o ta/dead.o ta/wire.o ta/auth.o ta/esmtp.o ta/via.o ta/net.o ta/mx.o
SMTP = ta/smtp.o $(TALK) $(AGENT)
LINK = $(CC) $(LDFLAGS) -o $@
# ranlib, where ar makes no table of symbols
RANLIB = :

$(LIB): $(LIBOBJS)
	rm -f $@; ar rc $@ $(LIBOBJS); $(RANLIB) $@
# All but its main.
$(DAEMON): $(OBJS)
	rm -f $@; ar rc $@ $(OBJS); ar d $@ scheduler.o; $(RANLIB) $@

scheduler: $(OBJS)
	$(LINK) $(OBJS) $(LIBS)
scheduler-check: check.o $(DAEMON) $(LIB)
	$(LINK) check.o $(DAEMON) $(LIB) $(LIBS)
scheduler-syslog: syslog.o
	$(LINK) syslog.o $(LIBS)
mailq: $(MAILQ)
	$(LINK) $(MAILQ) $(LIBS)
submit: $(SUBMIT)
	$(LINK) $(SUBMIT) $(LIBS)

MAILBOX = ta/mailbox.o ta/box.o ta/run.o $(AGENT)
ta/mailbox: $(MAILBOX)
	$(LINK) $(MAILBOX) $(LIBS)
HOLD = ta/hold.o ta/mx.o ta/run.o $(AGENT)
ta/hold: $(HOLD)
	$(LINK) $(HOLD) $(LIBS)
SM = ta/sm.o ta/table.o ta/run.o $(AGENT)
ta/sm: $(SM)
	$(LINK) $(SM) $(LIBS)
DSN = ta/dsn.o ta/dsntext.o $(AGENT)
ta/dsn: $(DSN)
	$(LINK) $(DSN) $(LIBS)
ERRORMAIL = ta/errormail.o ta/dsntext.o $(AGENT)
ta/errormail: $(ERRORMAIL)
	$(LINK) $(ERRORMAIL) $(LIBS)

# MX records are asked for through the resolver.  It is in libc with musl, the
# BSDs and glibc 2.34 and newer; elsewhere say LIBS=-lresolv, or NO_RESOLV.
ta/smtp: $(SMTP)
	$(LINK) $(SMTP) $(LIBS)

# All in one: each source with a main() gives it a name of its own, see box.c.
# Where the C library is no static one, say STATIC=.
STATIC = -static
MAINS = scheduler.c check.c syslog.c mailq.c submit.c ta/mailbox.c ta/hold.c ta/sm.c ta/errormail.c ta/smtp.c ta/dsn.c
BOXED = box.o $(MQ) $(SUB) ta/box.o ta/run.o ta/table.o ta/dsntext.o $(TALK) ta/lib.o ta/job.o $(DAEMON) $(LIB)
box: $(BOXED) $(MAINS)
	for c in $(MAINS); do p=$${c##*/}; $(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -DBOX=box_$${p%.c} -c -o $${c%.c}.box.o $$c || exit; done
	$(LINK) $(STATIC) *.box.o ta/*.box.o $(BOXED) $(LIBS)

# For the tests.  clocksched, clockmailq and clocksubmit have clocks that a test
# can set, dnssmtp and dnshold are agents with name servers that a test can write.
t/cftest: t/cftest.o $(DAEMON)
	$(LINK) t/cftest.o $(DAEMON) $(LIBS)
t/fbvec: t/fbvec.o $(DAEMON)
	$(LINK) t/fbvec.o $(DAEMON) $(LIBS)
t/fbtest: t/fbtest.o $(DAEMON)
	$(LINK) t/fbtest.o $(DAEMON) $(LIBS)
t/invec: t/invec.o $(DAEMON)
	$(LINK) t/invec.o $(DAEMON) $(LIBS)
t/ordvec: t/ordvec.o $(DAEMON)
	$(LINK) t/ordvec.o $(DAEMON) $(LIBS)
t/clocksched: $(OBJS) t/clock.o t/mono.o
	$(LINK) $(OBJS) t/clock.o t/mono.o $(LIBS)
t/clockmailq: $(MAILQ) t/clock.o $(DAEMON)
	$(LINK) $(MAILQ) t/clock.o $(DAEMON) $(LIBS)
t/clocksubmit: $(SUBMIT) t/clock.o t/mono.o $(DAEMON)
	$(LINK) $(SUBMIT) t/clock.o t/mono.o $(DAEMON) $(LIBS)
t/dnssmtp: $(SMTP) t/dns.o t/mono.o
	$(LINK) t/dns.o t/mono.o $(SMTP) $(LIBS)
t/dnshold: $(HOLD) t/dns.o
	$(LINK) t/dns.o $(HOLD) $(LIBS)
t/prints: syslog.o t/prints.o
	$(LINK) syslog.o t/prints.o $(LIBS)
EVIL = t/evil.o ta/halves.o ta/dead.o $(AGENT)
t/evil: $(EVIL)
	$(LINK) $(EVIL) $(LIBS)
BLOCK = t/block.o t/mono.o ta/esmtp.o ta/via.o ta/net.o ta/mx.o $(AGENT)
t/block: $(BLOCK)
	$(LINK) $(BLOCK) $(LIBS)

# Those of one file; a rule below makes them.
ONES = t/agent.o t/held.o t/mkspool.o t/torture.o t/bad.o t/swap.o t/notify.o t/ask.o t/serve.o t/smtpd.o bench/waits.o bench/noop.o bench/floor.o
t/agent t/held t/mkspool t/torture t/bad t/swap t/notify t/ask t/serve t/smtpd bench/waits bench/noop bench/floor: $(LIB)
bench/limit: bench/limit.o $(AGENT)
	$(LINK) bench/limit.o $(AGENT) $(LIBS)

# Programs that take any bytes: with a driver that gives them files, or, with
# REPLAY= and a compiler that has a fuzzer, by t/fuzz/run.
REPLAY = t/fuzz/replay.o
FUZZ = t/fuzz/common.o $(REPLAY) $(DAEMON) $(LIB)
t/fuzz/cf: t/fuzz/cf.o $(FUZZ)
	$(LINK) t/fuzz/cf.o $(FUZZ) $(LIBS)
t/fuzz/feedback: t/fuzz/feedback.o $(FUZZ)
	$(LINK) t/fuzz/feedback.o $(FUZZ) $(LIBS)
t/fuzz/ctl: t/fuzz/ctl.o $(FUZZ)
	$(LINK) t/fuzz/ctl.o $(FUZZ) $(LIBS)
t/fuzz/ctlfile: t/fuzz/ctlfile.o $(FUZZ)
	$(LINK) t/fuzz/ctlfile.o $(FUZZ) $(LIBS)
t/fuzz/report: t/fuzz/report.o $(FUZZ)
	$(LINK) t/fuzz/report.o $(FUZZ) $(LIBS)
t/fuzz/request: t/fuzz/request.o $(FUZZ)
	$(LINK) t/fuzz/request.o $(FUZZ) $(LIBS)
FUZZSUB = t/fuzz/submit.o sub/entry.o sub/envelope.o sub/header.o sub/route.o sub/peer.o sub/rights.o sub/address.o sub/say.o $(FUZZ)
t/fuzz/submit: $(FUZZSUB)
	$(LINK) $(FUZZSUB) $(LIBS)
FUZZDSN = t/fuzz/dsn.o ta/dsntext.o ta/lib.o ta/job.o $(FUZZ)
t/fuzz/dsn: $(FUZZDSN)
	$(LINK) $(FUZZDSN) $(LIBS)
FUZZSMTP = t/fuzz/smtp.o ta/trans.o ta/wire.o ta/auth.o ta/net.o ta/mx.o ta/lib.o ta/job.o $(FUZZ)
t/fuzz/smtp: $(FUZZSMTP)
	$(LINK) $(FUZZSMTP) $(LIBS)
FUZZDUMP = t/fuzz/dump.o mq/watch.o mq/name.o mq/pick.o mq/dests.o mq/json.o mq/shape.o mq/show.o mq/spool.o mq/around.o mq/unrouted.o mq/words.o mq/two.o mq/read.o mq/md5.o mq/ask.o mq/model.o $(FUZZ)
t/fuzz/dump: $(FUZZDUMP)
	$(LINK) $(FUZZDUMP) $(LIBS)

# The places that the objects have; changed, and so newer than these, only when
# they are others.
places: FORCE
	@printf '%s\n' '$(POSTOFFICE) $(MAILBIN) $(MAILSHARE) $(LOGDIR) $(MAILQNAME) $(SBIN)' | cmp -s - $@ || printf '%s\n' '$(POSTOFFICE) $(MAILBIN) $(MAILSHARE) $(LOGDIR) $(MAILQNAME) $(SBIN)' >$@
FORCE:

# Any object may depend on any header: to build all takes seconds.
$(OBJS): $(HEADERS)
$(LIBOBJS): $(HEADERS)
$(MAILQ): $(HEADERS)
$(SUBMIT): $(HEADERS)
$(MAILBOX): $(HEADERS)
$(SM): $(HEADERS)
$(DSN): $(HEADERS)
$(SMTP): $(HEADERS)
check.o syslog.o box.o ta/hold.o ta/errormail.o bench/limit.o: $(HEADERS)
$(ONES): $(HEADERS)
t/cftest.o t/fbvec.o t/fbtest.o t/invec.o t/ordvec.o t/clock.o t/mono.o t/dns.o t/evil.o t/block.o t/prints.o: $(HEADERS)
t/fuzz/cf.o t/fuzz/feedback.o t/fuzz/ctl.o t/fuzz/ctlfile.o t/fuzz/report.o t/fuzz/request.o t/fuzz/submit.o t/fuzz/dump.o t/fuzz/dsn.o t/fuzz/smtp.o t/fuzz/common.o t/fuzz/replay.o: $(HEADERS)
t/fuzz/ctl.o t/invec.o: intake.c
t/fuzz/cf.o: check.c
t/fuzz/report.o: ta.c
t/fuzz/dsn.o: ta/dsn.c
t/fuzz/smtp.o: ta/esmtp.c
t/fuzz/request.o: status.c
t/ordvec.o: order.c
t/fbvec.o t/fbtest.o t/fuzz/feedback.o: cf.c

.SUFFIXES:
.SUFFIXES: .o .c
.c.o:
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ $<
.o:
	$(LINK) $< $(LIB) $(LIBS)

run: all
	sh t/run

check: all $(TESTS)
	sh t/tap-driver

# Measurements; each prints what it measured.
bench: all $(TESTS) $(BENCHES)
	sh bench/pause
	sh bench/limiter
	sh bench/order
	sh bench/core
	sh bench/run
	sh bench/size
	sh bench/lines
	sh bench/pair
	sh bench/writes
	sh bench/tls
	sh bench/hostile

# A program that runs is not written over but replaced.
install: all install-files
	umask 022; rm -f $(DESTDIR)$(SBIN)/scheduler; cp scheduler $(DESTDIR)$(SBIN)/scheduler
	umask 022; for f in $(PROGRAMS) $(AGENTS); do rm -f $(DESTDIR)$(MAILBIN)/$$f && cp $$f $(DESTDIR)$(MAILBIN)/$$f || exit; done
	umask 022; rm -f $(DESTDIR)$(BIN)/submit $(DESTDIR)$(BIN)/$(MAILQNAME)
	umask 022; cp submit $(DESTDIR)$(BIN)/submit
	umask 022; cp mailq $(DESTDIR)$(BIN)/$(MAILQNAME)
	@test -z "$(SUBMITGROUP)" || $(CLOSE)

# The links have the box's modes, so its submit is never set-group-id.
install-box: box install-files
	umask 022; rm -f $(DESTDIR)$(MAILBIN)/box; cp box $(DESTDIR)$(MAILBIN)/box
	for f in $(SBIN)/scheduler $(BIN)/submit $(BIN)/$(MAILQNAME); do rm -f $(DESTDIR)$$f && ln -s $(MAILBIN)/box $(DESTDIR)$$f || exit; done
	for f in $(PROGRAMS) $(AGENTS); do rm -f $(DESTDIR)$(MAILBIN)/$$f && ln -s $(MAILBIN)/box $(DESTDIR)$(MAILBIN)/$$f || exit; done

install-files:
	umask 022; mkdir -p $(DESTDIR)$(BIN) $(DESTDIR)$(SBIN) $(DESTDIR)$(MAILBIN)/ta $(DESTDIR)$(MAILSHARE)/forms $(DESTDIR)$(MAN)/man1 $(DESTDIR)$(MAN)/man5 $(DESTDIR)$(MAN)/man7 $(DESTDIR)$(MAN)/man8
	umask 022; cp contrib/summary $(DESTDIR)$(MAILBIN)/summary
	umask 022; sed $(PAGES) man/submit.1 >$(DESTDIR)$(MAN)/man1/submit.1
	umask 022; sed $(PAGES) man/mailq.1 >$(DESTDIR)$(MAN)/man1/$(MAILQNAME).1
	umask 022; for s in 5 7 8; do for f in man/*.$$s; do sed $(PAGES) $$f >$(DESTDIR)$(MAN)/man$$s/$${f#man/} || exit; done; done
	umask 022; for f in $(CONFIG); do test -f $(DESTDIR)$(MAILSHARE)/$$f || cp $$f $(DESTDIR)$(MAILSHARE)/$$f || exit; done

# The configuration and the post office stay.
uninstall:
	rm -f $(DESTDIR)$(SBIN)/scheduler $(DESTDIR)$(BIN)/submit $(DESTDIR)$(BIN)/$(MAILQNAME)
	for f in $(PROGRAMS) $(AGENTS) summary box; do rm -f $(DESTDIR)$(MAILBIN)/$$f; done
	rm -f $(DESTDIR)$(MAN)/man1/submit.1 $(DESTDIR)$(MAN)/man1/$(MAILQNAME).1
	for s in 5 7 8; do for f in man/*.$$s; do rm -f $(DESTDIR)$(MAN)/man$$s/$${f#man/}; done; done

# A directory and an archive of it, named by the version.
dist: clean
	v=scheduler-`sed -n 's/^#define VERSION[^"]*"\(.*\)".*/\1/p' lib/util.h`; rm -rf $$v $$v.tar.gz && mkdir $$v && cp -R .ci .gitignore LICENSE Makefile NEWS README *.c *.h scheduler.cf sm.cf routes forms lib mq sub ta t man bench contrib $$v && tar cf - $$v | gzip -n >$$v.tar.gz && rm -rf $$v && echo $$v.tar.gz

# The example of scheduler-protocol(7), a transport agent in shell.
give: man/scheduler-protocol.7
	sh t/cut-agent >$@ && chmod 755 $@

clean:
	rm -f places scheduler $(PROGRAMS) mailq submit box give $(AGENTS) $(TESTS) *.o lib/*.o $(LIB) $(DAEMON) mq/*.o sub/*.o ta/*.o t/*.o t/fuzz/*.o bench/*.o $(BENCHES)
