# A recipe for Buildroot: package/mail-scheduler, with the archive of `make dist`
# in dl/mail-scheduler.  Its commands were tried, Buildroot was not tried.
MAIL_SCHEDULER_VERSION = 0.2
MAIL_SCHEDULER_SOURCE = scheduler-$(MAIL_SCHEDULER_VERSION).tar.gz
MAIL_SCHEDULER_LICENSE = ISC
MAIL_SCHEDULER_LICENSE_FILES = LICENSE

# /var is often memory.
MAIL_SCHEDULER_PLACES = PREFIX=/usr SBIN=/usr/sbin \
	MAILBIN=/usr/lib/mail-scheduler MAILSHARE=/etc/mail-scheduler \
	POSTOFFICE=/srv/postoffice SUBMITGROUP= \
	CC="$(TARGET_CC)" CFLAGS="$(TARGET_CFLAGS)" LDFLAGS="$(TARGET_LDFLAGS)"

define MAIL_SCHEDULER_BUILD_CMDS
	$(MAKE) -C $(@D) $(MAIL_SCHEDULER_PLACES)
endef

define MAIL_SCHEDULER_INSTALL_TARGET_CMDS
	$(MAKE) -C $(@D) $(MAIL_SCHEDULER_PLACES) DESTDIR=$(TARGET_DIR) install
endef

define MAIL_SCHEDULER_USERS
	- - mailsub -1 - - - - group of submit
endef

define MAIL_SCHEDULER_PERMISSIONS
	/usr/bin/submit f 2755 0 mailsub - - - - -
	/srv/postoffice/public d 3730 0 mailsub - - - - -
	/srv/postoffice/router d 3730 0 mailsub - - - - -
endef

# For busybox init, which starts again what ends.
define MAIL_SCHEDULER_INITTAB
	grep -q sbin/scheduler $(TARGET_DIR)/etc/inittab || \
	sed -n 's,^#::,::,; s,/usr/local/,/usr/,; /^::/p' $(@D)/contrib/inittab \
		>>$(TARGET_DIR)/etc/inittab
endef
MAIL_SCHEDULER_TARGET_FINALIZE_HOOKS += MAIL_SCHEDULER_INITTAB

$(eval $(generic-package))
