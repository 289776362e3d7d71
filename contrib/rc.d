#!/bin/sh
# For FreeBSD and NetBSD.
#
# PROVIDE: scheduler
# REQUIRE: DAEMON
# KEYWORD: shutdown
#
# In rc.conf: scheduler_enable="YES"

. /etc/rc.subr

name=scheduler
rcvar=scheduler_enable
command=/usr/local/sbin/scheduler
pidfile=/var/spool/postoffice/.pid.scheduler
extra_commands=reload

load_rc_config $name
: ${scheduler_enable:=NO}
run_rc_command "$1"
