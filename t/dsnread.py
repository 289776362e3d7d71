#!/usr/bin/env python3
# dsnread.py - a report in router/, as Python's email package understands it.
#
#	dsnread.py file
#
# Prints its envelope, then one line for each thing in it: "H" fields of the
# header, "P" its parts, "M" and "R" fields of the message and of recipients,
# "T" the text, "B" the returned message.  "!" is what is wrong with it.
import email
import email.policy
import re
import sys

data = open(sys.argv[1], 'rb').read()
envelope, found, rest = data.partition(b'env-end\n')
if not found:
    print('! no envelope')
for line in envelope.decode('ascii').splitlines():
    print('E ' + line)
for line in rest.split(b'\n'):
    if len(line) > 998:
        print('! a line of %d bytes' % len(line))
for line in rest.partition(b'\n\n')[0].split(b'\n'):
    if len(line) > 78:
        print('! a line of %d bytes in the header' % len(line))
    if not re.match(rb'[\x20-\x7e\t]*$', line):
        print('! the header is not printable')


def fields(mark, message):
    for name, value in message.items():
        print(mark, name + ':', re.sub(r'\n(?=[ \t])', '', value))


def defects(what, message):
    for d in message.defects:
        print('! %s: %r' % (what, d))


m = email.message_from_bytes(rest, policy=email.policy.compat32)
strict = email.message_from_bytes(rest, policy=email.policy.default)
for name in strict.keys():
    for d in strict[name].defects:
        print('! %s: %r' % (name, d))
defects('header', m)
for name in ('From', 'To', 'Subject', 'Date', 'Message-ID', 'MIME-Version',
             'Auto-Submitted', 'Content-Type'):
    if len(m.get_all(name, [])) != 1:
        print('! %d fields %s' % (len(m.get_all(name, [])), name))
fields('H', m)
if m.get_content_type() != 'multipart/report' or \
        m.get_param('report-type') != 'delivery-status':
    print('! it is', m.get_content_type(), m.get_param('report-type'))
parts = m.get_payload()
print('P', ' '.join(p.get_content_type() for p in parts))
eight = any(ord(c) > 127 for c in rest.decode('latin-1'))
for p in [m] + parts:
    if p is not m:
        defects(p.get_content_type(), p)
if eight != (m.get('Content-Transfer-Encoding') == '8bit'):
    print('! Content-Transfer-Encoding:', m.get('Content-Transfer-Encoding'))
for p in parts:
    encoding = p.get('Content-Transfer-Encoding')
    eight = any(c > 127 for c in p.as_bytes())
    if encoding != ('8bit' if eight else None):
        print('! %s: Content-Transfer-Encoding:' % p.get_content_type(),
              encoding)
if b'\0' in rest:
    print('! a NUL byte')
for line in parts[0].get_payload(decode=True).decode(
        parts[0].get_content_charset('ascii')).split('\n'):
    print('T ' + line)
dsn = parts[1].get_payload()
seen = []
for i, group in enumerate(dsn):
    defects('group %d' % i, group)
    if group.get_payload():
        print('! text in group %d' % i)
    fields('M' if i == 0 else 'R%d' % i, group)
    needed = ['Reporting-MTA'] if i == 0 else \
        ['Final-Recipient', 'Action', 'Status']
    for name in needed:
        if len(group.get_all(name, [])) != 1:
            print('! group %d: no single %s' % (i, name))
    for name in group.keys():
        if len(group.get_all(name)) != 1:
            print('! group %d: two of %s' % (i, name))
    if i > 0:
        # Status, Action as of RFC 3464
        if not re.match(r'[245]\.\d{1,3}\.\d{1,3}$', group['Status']):
            print('! status', group['Status'])
        if group['Action'] not in ('failed', 'delayed', 'delivered',
                                   'relayed', 'expanded'):
            print('! action', group['Action'])
        for name in ('Final-Recipient', 'Original-Recipient', 'Remote-MTA',
                     'Diagnostic-Code'):
            if name in group and not re.match(r'[A-Za-z0-9.-]+;\s*\S',
                                              group[name]):
                print('! %s: %s' % (name, group[name]))
    for name in ('Arrival-Date', 'Last-Attempt-Date', 'Will-Retry-Until'):
        if name in group and email.utils.parsedate_to_datetime(
                group[name]) is None:
            print('! %s: %s' % (name, group[name]))
if not dsn or len(dsn) < 2:
    print('! no recipient')
if len(parts) > 2:
    back = parts[2]
    if back.get_content_type() == 'message/rfc822':
        text = back.get_payload()[0].as_bytes().decode('latin-1')
    else:
        text = back.get_payload()
    for line in text.split('\n'):
        print('B ' + line)
if len(parts) > 3:
    print('! %d parts' % len(parts))
