# Builds with any POSIX make and an ISO C90 compiler; nothing to configure.
#
#	make			the scheduler, its transport agents, mailq,
#				submit
#	make run		a small spool, and mail being delivered
#	make check		the tests
#	make install		under PREFIX; DESTDIR= for packaging
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
#	HAVE_ST_MTIM	stat has fractions of a second (POSIX 2008): spool ids
#			are as long as ZMailer's
.POSIX:

CC = cc
CFLAGS = -O
CPPFLAGS =
LDFLAGS =
LIBS =

# Files of over 2 GB and inodes of over 32 bits, on 32-bit systems that have
# them; unknown elsewhere, and harmless there.
LARGE = -D_FILE_OFFSET_BITS=64

# PREFIX and the places below are compiled in: give the same ones to make and
# to make install, and make clean in between when they change.
DESTDIR =
PREFIX = /usr/local
BIN = $(PREFIX)/bin
SBIN = $(PREFIX)/sbin
MAN = $(PREFIX)/share/man

# What mailq is installed as, where another package has that name; the pages
# call it so, too.
MAILQNAME = mailq
CALLED = "s/^\.TH MAILQ/.TH `echo $(MAILQNAME) | tr a-z A-Z`/; s/^mailq /$(MAILQNAME) /; s/^\(\.BR* [\"]*\)mailq/\1$(MAILQNAME)/; s/^\(	\)mailq/\1$(MAILQNAME)/"

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

PLACES = -DPOSTOFFICE='"$(POSTOFFICE)"' -DMAILBIN='"$(MAILBIN)"' -DMAILSHARE='"$(MAILSHARE)"' -DLOGDIR='"$(LOGDIR)"' -DMAILQNAME='"$(MAILQNAME)"'

OBJS = scheduler.o status.o dump.o admin.o destdb.o tidy.o pool.o ta.o child.o intake.o turn.o core.o report.o queue.o notice.o reason.o thread.o ring.o dest.o order.o message.o bounce.o dsn.o explain.o held.o cf.o value.o feedback.o retry.o command.o pattern.o router.o spool.o notary.o ctl.o safe.o form.o post.o line.o util.o
AGENTS = ta/mailbox ta/hold ta/sm ta/errormail ta/smtp
TESTS = t/cftest t/agent t/held t/mkspool t/notify t/ask t/clocksched t/smtpd t/dnssmtp t/evil t/block t/serve t/fbvec t/fbtest t/ordvec t/invec t/torture t/bad t/swap t/locker t/fuzz/cf t/fuzz/feedback t/fuzz/ctl t/fuzz/report t/fuzz/request t/fuzz/submit t/fuzz/dump
BENCHES = bench/waits bench/limit bench/noop bench/floor

all: scheduler mailq submit $(AGENTS)

scheduler: $(OBJS)
	$(CC) $(LDFLAGS) -o $@ $(OBJS) $(LIBS)

MAILQ = mailq.o mq/dests.o mq/json.o mq/shape.o mq/show.o mq/spool.o mq/read.o mq/ask.o mq/model.o pattern.o line.o util.o

mailq: $(MAILQ)
	$(CC) $(LDFLAGS) -o $@ $(MAILQ) $(LIBS)

# What every agent is linked with.
LIB = ta/lib.o ta/job.o line.o util.o

SUBMIT = submit.o sub/qrun.o sub/accept.o sub/recover.o sub/entry.o sub/envelope.o sub/header.o sub/route.o sub/address.o sub/rights.o sub/say.o post.o pattern.o line.o util.o

submit: $(SUBMIT)
	$(CC) $(LDFLAGS) -o $@ $(SUBMIT) $(LIBS)

MAILBOX = ta/mailbox.o ta/box.o ta/run.o $(LIB)

ta/mailbox: $(MAILBOX)
	$(CC) $(LDFLAGS) -o $@ $(MAILBOX) $(LIBS)

HOLD = ta/hold.o post.o $(LIB)

ta/hold: $(HOLD)
	$(CC) $(LDFLAGS) -o $@ $(HOLD) $(LIBS)

SM = ta/sm.o ta/table.o ta/run.o $(LIB)

ta/sm: $(SM)
	$(CC) $(LDFLAGS) -o $@ $(SM) $(LIBS)

ERRORMAIL = ta/errormail.o form.o post.o $(LIB)

ta/errormail: $(ERRORMAIL)
	$(CC) $(LDFLAGS) -o $@ $(ERRORMAIL) $(LIBS)

SMTP = ta/smtp.o ta/halves.o ta/trans.o ta/wire.o ta/esmtp.o ta/net.o ta/mx.o $(LIB)

# MX records are asked for through the resolver.  It is in libc with musl, the
# BSDs and glibc 2.34 and newer; elsewhere say LIBS=-lresolv, or NO_RESOLV.
ta/smtp: $(SMTP)
	$(CC) $(LDFLAGS) -o $@ $(SMTP) $(LIBS)

CFTEST = t/cftest.o cf.o value.o feedback.o retry.o command.o pattern.o util.o

t/cftest: $(CFTEST)
	$(CC) $(LDFLAGS) -o $@ $(CFTEST) $(LIBS)

t/fbvec: t/fbvec.o feedback.o util.o
	$(CC) $(LDFLAGS) -o $@ t/fbvec.o feedback.o util.o $(LIBS)

t/invec: t/invec.o turn.o util.o
	$(CC) $(LDFLAGS) -o $@ t/invec.o turn.o util.o $(LIBS)

t/fbtest: t/fbtest.o feedback.o util.o
	$(CC) $(LDFLAGS) -o $@ t/fbtest.o feedback.o util.o $(LIBS)

ORDVEC = t/ordvec.o thread.o ring.o dest.o order.o message.o held.o cf.o value.o feedback.o retry.o command.o pattern.o util.o

t/ordvec: $(ORDVEC)
	$(CC) $(LDFLAGS) -o $@ $(ORDVEC) $(LIBS)

t/agent: t/agent.o util.o
	$(CC) $(LDFLAGS) -o $@ t/agent.o util.o $(LIBS)

t/held: t/held.o line.o util.o
	$(CC) $(LDFLAGS) -o $@ t/held.o line.o util.o $(LIBS)

t/mkspool: t/mkspool.o util.o
	$(CC) $(LDFLAGS) -o $@ t/mkspool.o util.o $(LIBS)

t/torture: t/torture.o util.o
	$(CC) $(LDFLAGS) -o $@ t/torture.o util.o $(LIBS)

t/bad: t/bad.o util.o
	$(CC) $(LDFLAGS) -o $@ t/bad.o util.o $(LIBS)

t/swap: t/swap.o util.o
	$(CC) $(LDFLAGS) -o $@ t/swap.o util.o $(LIBS)

t/locker: t/locker.o line.o util.o
	$(CC) $(LDFLAGS) -o $@ t/locker.o line.o util.o $(LIBS)

t/notify: t/notify.o util.o
	$(CC) $(LDFLAGS) -o $@ t/notify.o util.o $(LIBS)

t/ask: t/ask.o util.o
	$(CC) $(LDFLAGS) -o $@ t/ask.o util.o $(LIBS)

t/serve: t/serve.o util.o
	$(CC) $(LDFLAGS) -o $@ t/serve.o util.o $(LIBS)

t/smtpd: t/smtpd.o util.o
	$(CC) $(LDFLAGS) -o $@ t/smtpd.o util.o $(LIBS)

# The agent smtp, but with name servers that a test can write, and a clock that
# it can set.
t/dnssmtp: $(SMTP) t/dns.o t/mono.o
	$(CC) $(LDFLAGS) -o $@ $(SMTP) t/dns.o t/mono.o $(LIBS)

EVIL = t/evil.o ta/halves.o $(LIB)

t/evil: $(EVIL)
	$(CC) $(LDFLAGS) -o $@ $(EVIL) $(LIBS)

BLOCK = t/block.o t/mono.o ta/esmtp.o ta/net.o ta/mx.o $(LIB)

t/block: $(BLOCK)
	$(CC) $(LDFLAGS) -o $@ $(BLOCK) $(LIBS)

# Programs that take any bytes: with a driver that gives them files, or, with
# REPLAY= and a compiler that has a fuzzer, by t/fuzz/run.  LOWER is what is
# below intake.o in OBJS.
REPLAY = t/fuzz/replay.o
LOWER = turn.o core.o report.o queue.o notice.o reason.o thread.o ring.o dest.o order.o message.o bounce.o dsn.o explain.o held.o cf.o value.o feedback.o retry.o command.o pattern.o router.o spool.o notary.o ctl.o safe.o form.o post.o line.o util.o
FUZZ = t/fuzz/common.o $(REPLAY)

t/fuzz/cf: t/fuzz/cf.o $(FUZZ) $(LOWER)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/cf.o $(FUZZ) $(LOWER) $(LIBS)

t/fuzz/feedback: t/fuzz/feedback.o $(FUZZ) $(LOWER)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/feedback.o $(FUZZ) $(LOWER) $(LIBS)

t/fuzz/ctl: t/fuzz/ctl.o $(FUZZ) $(LOWER)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/ctl.o $(FUZZ) $(LOWER) $(LIBS)

t/fuzz/report: t/fuzz/report.o $(FUZZ) child.o intake.o $(LOWER)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/report.o $(FUZZ) child.o intake.o $(LOWER) $(LIBS)

FUZZREQ = dump.o admin.o pool.o ta.o child.o intake.o $(LOWER)

t/fuzz/request: t/fuzz/request.o $(FUZZ) $(FUZZREQ)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/request.o $(FUZZ) $(FUZZREQ) $(LIBS)

FUZZSUB = sub/entry.o sub/envelope.o sub/header.o sub/route.o sub/address.o sub/say.o $(LOWER)

t/fuzz/submit: t/fuzz/submit.o $(FUZZ) $(FUZZSUB)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/submit.o $(FUZZ) $(FUZZSUB) $(LIBS)

FUZZDUMP = mq/dests.o mq/json.o mq/shape.o mq/show.o mq/spool.o mq/read.o mq/ask.o mq/model.o pattern.o line.o util.o

t/fuzz/dump: t/fuzz/dump.o $(FUZZ) $(FUZZDUMP)
	$(CC) $(LDFLAGS) -o $@ t/fuzz/dump.o $(FUZZ) $(FUZZDUMP) $(LIBS)

bench/waits: bench/waits.o util.o
	$(CC) $(LDFLAGS) -o $@ bench/waits.o util.o $(LIBS)

bench/noop: bench/noop.o util.o
	$(CC) $(LDFLAGS) -o $@ bench/noop.o util.o $(LIBS)

bench/floor: bench/floor.o util.o
	$(CC) $(LDFLAGS) -o $@ bench/floor.o util.o $(LIBS)

bench/limit: bench/limit.o $(LIB)
	$(CC) $(LDFLAGS) -o $@ bench/limit.o $(LIB) $(LIBS)

# The scheduler, but with clocks that a test can set.
t/clocksched: $(OBJS) t/clock.o t/mono.o
	$(CC) $(LDFLAGS) -o $@ $(OBJS) t/clock.o t/mono.o $(LIBS)

scheduler.o: scheduler.c scheduler.h modules.h line.h util.h
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ scheduler.c

ta/sm.o: ta/sm.c ta/run.h ta/table.h ta/lib.h line.h util.h
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ ta/sm.c

ta/errormail.o: ta/errormail.c form.h post.h ta/lib.h util.h
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ ta/errormail.c

submit.o: submit.c sub/submit.h post.h util.h
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ submit.c

sub/qrun.o: sub/qrun.c sub/submit.h post.h util.h
sub/accept.o: sub/accept.c sub/submit.h post.h util.h
sub/rights.o: sub/rights.c sub/submit.h post.h util.h
sub/recover.o: sub/recover.c sub/submit.h post.h util.h
sub/entry.o: sub/entry.c sub/submit.h post.h util.h
sub/envelope.o: sub/envelope.c sub/submit.h post.h util.h
sub/header.o: sub/header.c sub/submit.h post.h util.h
sub/route.o: sub/route.c sub/submit.h post.h scheduler.h modules.h line.h util.h
sub/address.o: sub/address.c sub/submit.h post.h util.h
sub/say.o: sub/say.c sub/submit.h post.h util.h
mailq.o: mailq.c mq/mq.h scheduler.h modules.h line.h util.h
	$(CC) $(LARGE) $(CPPFLAGS) $(PLACES) $(CFLAGS) -c -o $@ mailq.c

mq/ask.o: mq/ask.c mq/mq.h line.h util.h
mq/model.o: mq/model.c mq/mq.h line.h util.h
mq/read.o: mq/read.c mq/mq.h line.h util.h
mq/spool.o: mq/spool.c mq/mq.h line.h util.h
mq/show.o: mq/show.c mq/mq.h line.h util.h
mq/shape.o: mq/shape.c mq/mq.h line.h util.h
mq/json.o: mq/json.c mq/mq.h line.h util.h
mq/dests.o: mq/dests.c mq/mq.h line.h util.h
ta.o: ta.c scheduler.h modules.h line.h util.h
status.o: status.c scheduler.h modules.h line.h util.h
dump.o: dump.c scheduler.h modules.h line.h util.h
admin.o: admin.c scheduler.h modules.h line.h util.h
destdb.o: destdb.c scheduler.h modules.h line.h util.h
tidy.o: tidy.c scheduler.h modules.h line.h util.h
held.o: held.c scheduler.h modules.h line.h util.h
pool.o: pool.c scheduler.h modules.h line.h util.h
child.o: child.c scheduler.h modules.h line.h util.h
intake.o: intake.c scheduler.h modules.h line.h util.h
turn.o: turn.c scheduler.h modules.h line.h util.h
core.o: core.c scheduler.h modules.h line.h util.h
queue.o: queue.c scheduler.h modules.h line.h util.h
report.o: report.c scheduler.h modules.h line.h util.h
thread.o: thread.c scheduler.h modules.h line.h util.h
ring.o: ring.c scheduler.h modules.h line.h util.h
order.o: order.c scheduler.h modules.h line.h util.h
message.o: message.c scheduler.h modules.h line.h util.h
dest.o: dest.c scheduler.h modules.h line.h util.h
reason.o: reason.c scheduler.h modules.h line.h util.h
notice.o: notice.c scheduler.h modules.h line.h util.h
bounce.o: bounce.c scheduler.h modules.h form.h post.h line.h util.h
dsn.o: dsn.c scheduler.h modules.h form.h post.h line.h util.h
notary.o: notary.c scheduler.h modules.h line.h util.h
safe.o: safe.c scheduler.h modules.h line.h util.h
explain.o: explain.c scheduler.h modules.h line.h util.h
feedback.o: feedback.c scheduler.h modules.h line.h util.h
cf.o: cf.c scheduler.h modules.h line.h util.h
value.o: value.c scheduler.h modules.h line.h util.h
retry.o: retry.c scheduler.h modules.h line.h util.h
command.o: command.c scheduler.h modules.h line.h util.h
pattern.o: pattern.c scheduler.h modules.h line.h util.h
router.o: router.c scheduler.h modules.h line.h util.h
spool.o: spool.c scheduler.h modules.h line.h util.h
ctl.o: ctl.c scheduler.h modules.h line.h util.h
line.o: line.c line.h util.h
post.o: post.c post.h util.h
form.o: form.c form.h util.h
util.o: util.c util.h
ta/lib.o: ta/lib.c ta/job.h ta/lib.h line.h util.h
ta/job.o: ta/job.c ta/job.h ta/lib.h line.h util.h
ta/mailbox.o: ta/mailbox.c ta/box.h ta/run.h ta/lib.h util.h
ta/box.o: ta/box.c ta/box.h ta/lib.h util.h
ta/hold.o: ta/hold.c post.h ta/lib.h util.h
ta/run.o: ta/run.c ta/run.h ta/lib.h util.h
ta/table.o: ta/table.c ta/table.h line.h util.h
ta/halves.o: ta/halves.c ta/halves.h ta/job.h ta/lib.h util.h
ta/smtp.o: ta/smtp.c ta/halves.h ta/trans.h ta/esmtp.h ta/net.h ta/lib.h util.h
ta/trans.o: ta/trans.c ta/trans.h ta/esmtp.h ta/net.h ta/wire.h ta/lib.h util.h
ta/wire.o: ta/wire.c ta/wire.h util.h
ta/esmtp.o: ta/esmtp.c ta/esmtp.h ta/net.h ta/lib.h util.h
ta/net.o: ta/net.c ta/mx.h ta/net.h ta/lib.h util.h
ta/mx.o: ta/mx.c ta/mx.h ta/net.h ta/lib.h util.h
t/cftest.o: t/cftest.c scheduler.h modules.h line.h util.h
t/fuzz/common.o: t/fuzz/common.c t/fuzz/fuzz.h util.h
t/fuzz/replay.o: t/fuzz/replay.c t/fuzz/fuzz.h util.h
t/fuzz/cf.o: t/fuzz/cf.c t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/feedback.o: t/fuzz/feedback.c t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/ctl.o: t/fuzz/ctl.c intake.c t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/report.o: t/fuzz/report.c ta.c t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/request.o: t/fuzz/request.c status.c t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/submit.o: t/fuzz/submit.c sub/submit.h post.h t/fuzz/fuzz.h scheduler.h modules.h line.h util.h
t/fuzz/dump.o: t/fuzz/dump.c mq/mq.h t/fuzz/fuzz.h line.h util.h
t/fbvec.o: t/fbvec.c scheduler.h modules.h line.h util.h
t/ordvec.o: t/ordvec.c scheduler.h modules.h line.h util.h
t/fbtest.o: t/fbtest.c scheduler.h modules.h line.h util.h
t/invec.o: t/invec.c scheduler.h modules.h line.h util.h
t/agent.o: t/agent.c util.h
t/held.o: t/held.c line.h util.h
t/mkspool.o: t/mkspool.c util.h
t/torture.o: t/torture.c util.h
t/bad.o: t/bad.c util.h
t/swap.o: t/swap.c util.h
t/locker.o: t/locker.c line.h util.h
t/notify.o: t/notify.c util.h
t/ask.o: t/ask.c util.h
bench/waits.o: bench/waits.c util.h
bench/noop.o: bench/noop.c util.h
bench/floor.o: bench/floor.c util.h
bench/limit.o: bench/limit.c ta/lib.h util.h
t/serve.o: t/serve.c util.h
t/smtpd.o: t/smtpd.c util.h
t/dns.o: t/dns.c util.h
t/block.o: t/block.c ta/esmtp.h ta/net.h util.h
t/evil.o: t/evil.c ta/halves.h ta/lib.h util.h
t/clock.o: t/clock.c util.h
t/mono.o: t/mono.c util.h

.SUFFIXES:
.SUFFIXES: .o .c
.c.o:
	$(CC) $(LARGE) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

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
	sh bench/pair
	sh bench/writes
	sh bench/hostile

# A program that runs is not written over but replaced.
install: all
	umask 022; mkdir -p $(DESTDIR)$(BIN) $(DESTDIR)$(SBIN) $(DESTDIR)$(MAILBIN)/ta $(DESTDIR)$(MAILSHARE)/forms $(DESTDIR)$(MAN)/man1 $(DESTDIR)$(MAN)/man5 $(DESTDIR)$(MAN)/man7 $(DESTDIR)$(MAN)/man8
	umask 022; rm -f $(DESTDIR)$(SBIN)/scheduler; cp scheduler $(DESTDIR)$(SBIN)/scheduler
	umask 022; for f in $(AGENTS); do rm -f $(DESTDIR)$(MAILBIN)/$$f && cp $$f $(DESTDIR)$(MAILBIN)/$$f || exit; done
	umask 022; rm -f $(DESTDIR)$(BIN)/submit $(DESTDIR)$(BIN)/$(MAILQNAME)
	umask 022; cp submit $(DESTDIR)$(BIN)/submit
	umask 022; cp mailq $(DESTDIR)$(BIN)/$(MAILQNAME)
	umask 022; sed $(CALLED) man/submit.1 >$(DESTDIR)$(MAN)/man1/submit.1
	umask 022; sed $(CALLED) man/mailq.1 >$(DESTDIR)$(MAN)/man1/$(MAILQNAME).1
	umask 022; for s in 5 7 8; do for f in man/*.$$s; do sed $(CALLED) $$f >$(DESTDIR)$(MAN)/man$$s/$${f#man/} || exit; done; done
	umask 022; for f in $(CONFIG); do test -f $(DESTDIR)$(MAILSHARE)/$$f || cp $$f $(DESTDIR)$(MAILSHARE)/$$f || exit; done
	@test -z "$(SUBMITGROUP)" || $(CLOSE)

# The configuration and the post office stay.
uninstall:
	rm -f $(DESTDIR)$(SBIN)/scheduler $(DESTDIR)$(BIN)/submit $(DESTDIR)$(BIN)/$(MAILQNAME)
	for f in $(AGENTS); do rm -f $(DESTDIR)$(MAILBIN)/$$f; done
	rm -f $(DESTDIR)$(MAN)/man1/submit.1 $(DESTDIR)$(MAN)/man1/$(MAILQNAME).1
	for s in 5 7 8; do for f in man/*.$$s; do rm -f $(DESTDIR)$(MAN)/man$$s/$${f#man/}; done; done

# A directory and an archive of it, named by the version.
dist: clean
	v=scheduler-`sed -n 's/^#define VERSION[^"]*"\(.*\)".*/\1/p' scheduler.h`; rm -rf $$v $$v.tar.gz && mkdir $$v && cp -R .ci .gitignore LICENSE Makefile README *.c *.h scheduler.cf sm.cf routes forms mq sub ta t man bench contrib $$v && tar cf - $$v | gzip -n >$$v.tar.gz && rm -rf $$v && echo $$v.tar.gz

# The example of scheduler-protocol(7), a transport agent in shell.
give: man/scheduler-protocol.7
	sh t/cut-agent >$@ && chmod 755 $@

clean:
	rm -f scheduler mailq submit give $(AGENTS) $(TESTS) *.o mq/*.o sub/*.o ta/*.o t/*.o t/fuzz/*.o bench/*.o $(BENCHES)
