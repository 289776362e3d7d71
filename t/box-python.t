#!/bin/sh
# What mailbox writes, read by a library that nobody here wrote: Python's
# mailbox.  Bodies and headers that are hard to keep apart come back byte for
# byte from an mbox, once the quoting of "From " lines is undone, and from a
# Maildir as they are.
. "${0%/*}/lib.sh"
. "${0%/*}/box.sh"

need_python

cat >"$tmp/box.py" <<'PYTHON'
import mailbox, os, re, sys, time

po, mail = sys.argv[2:4]
filler = b'0123456789abcdef' * 7000

# name: (sender, header, body)
cases = []
def case(name, body, header=b'Subject: test\n', sender=b's@a.example'):
    cases.append((name, sender, header, body))

case('a plain message', b'one\ntwo\n')
case('an empty body', b'')
case('a body of one newline', b'\n')
case('a body that begins and ends in empty lines', b'\n\nx\n\n\n')
case('no final newline', b'one\ntwo')
case('no header', b'one\n', b'')
case('no header and no body', b'', b'')
case('no header, and a body like one', b'Subject: no\n\nx\n', b'')
case('CRLF', b'one\r\nFrom two\r\n\r\n>From three\r\n')
case('CRLF, no final newline', b'one\r\ntwo\r')
case('NUL', b'a\0b\n\0\nFrom \0\n\0')
case('all bytes', bytes(range(256)) * 300)
case('8 bits in the header', b'x\n', b'Subject: \xe4\xf6\xfc \xc3\xa4\n')
case('a long header line', b'x\n', b'Subject: ' + filler[:2000] + b'\n')
case('a folded header', b'x\n', b'Subject: a\n\tb\n From c\nTo: d\n')
case('a header line that begins with From', b'x\n',
     b'From: a@b\nFrom here\n>From there\nSubject: x\n')
case('a line of 100 KB', b'a\n' + filler[:102400] + b'\nb\n')
case('a line of 100 KB, begun with From',
     b'From ' + filler[:102400] + b'\n>From ' + filler[:102400])
case('many empty lines', b'\n' * 20000)
case('From first', b'From a\nb\n')
case('From last', b'a\nFrom ')
case('From last, unfinished', b'a\nFrom')
case('From alone', b'From \n')
case('a separator', b'x\n\nFrom s@a.example Sat Nov 21 06:38:42 2026\n'
     b'Return-Path: <no>\n\nx\n')
case('all that looks like From', b'From x\n>From x\n>>>>From x\n> From x\n'
     b' From x\nFrom\nFROM x\nfrom x\nFrom\tx\nFFrom x\n>\n>>\nF\nFr\nFro\n'
     b'>F\n>Fro\n>From\n>>From\nFroFrom x\nFrom>From x\n>>')
# Seven bytes go into no power of two: with seven beginnings, each of them
# meets each border of a buffer.
for i in range(7):
    case('From around the borders, %d' % i, filler[:i] + b'\n' +
         b'From x\n' * 2500)
for i in range(8):
    case('>From around the borders, %d' % i, b'\n' * i + b'>From x\n' * 1200
         + b'>>>From x\n' * 900)
# ... and sizes around those of a buffer.
for size in list(range(8188, 8196)) + [4095, 4096, 4097, 16384]:
    case('%d bytes' % size, (filler[:63] + b'\n') * (size // 64) +
         filler[:size % 64])

case('no sender', b'x\n', sender=b'')
for s in (b'"a b"@c.example', b'"From x"@c.example', b'u@[IPv6:2001:db8::1]',
          b'host!user', b'@a,@b:c@d.example', b'x' * 300 + b'@a.example',
          b"!#$%&'*+-/=?^_`{|}~@a.example", b'"\\"\\\\ <>"@a.example',
          b'From', b'J\xc3\xb6rg@a.example'):
    case('sender ' + ascii(s)[2:32], b'x\n', sender=s)

def write(path, data):
    with open(path, 'wb') as f:
        f.write(data)

def make():
    for i, (name, sender, header, body) in enumerate(cases):
        n = b'%d-1' % (100 + i)
        path = n.decode()
        write(po + '/queue/' + path, b'skipped: ' + body)
        write(po + '/transport/' + path,
              b'i ' + n + b'\no 9\nl <x@test>\ns ' +
              (b'smtp - ' + sender if sender else b'error - x') + b' 0\n' +
              b'r           local - all 0\n' +
              b'r           local - dir/ 0\n' +
              b'm\n' + header + b'\n')
        print('%s\t-' % path)

def unquote(text):
    return re.sub(rb'(?m)^>(>*From )', rb'\1', text)

bad = []
def same(what, got, want):
    if got == want:
        return
    got = got or ''		# no such header
    i = 0
    while i < min(len(got), len(want)) and got[i] == want[i]:
        i += 1
    bad.append('%s: %d bytes for %d, they part at %d: %r, wanted %r' % (what,
               len(got), len(want), i, got[i:i + 40], want[i:i + 40]))

def verdict(name):
    print('not ok' if bad else 'ok', name)
    for text in bad:
        print('#', text)
    del bad[:]

def trace(sender, user):
    return b'Return-Path: <' + sender + b'>\nDelivered-To: ' + user + b'\n'

# "sender Sat Nov 21 06:38:42 2026", and the sender is one word
def check_from(msg, sender):
    word, date = msg.get_from().split(' ', 1)
    time.strptime(date)
    sender = sender.replace(b' ', b'_') or b'MAILER-DAEMON'
    sender = re.sub(rb'[^!-~]', b'_', sender)
    same('separator', word, sender.decode())

def check_mbox():
    box = mailbox.mbox(mail + '/all', create=False)
    keys = sorted(box.keys())
    same('messages', [len(keys)], [len(cases)])
    verdict('mbox: as many messages as were sent')
    for key, (name, sender, header, body) in zip(keys, cases):
        raw = box.get_bytes(key)
        if body and not body.endswith(b'\n'):
            body += b'\n'
        same('bytes', unquote(raw), trace(sender, b'all') + header + b'\n' +
             body)
        if re.search(rb'(?m)^From ', raw):
            bad.append('a line is not quoted')
        try:
            msg = box.get_message(key)
            check_from(msg, sender)
            if len(sender) < 60 and max(sender, default=0) < 128:
                same('return path', msg['Return-Path'], '<%s>' %
                     sender.decode())
            same('delivered to', msg['Delivered-To'], 'all')
        except ValueError as e:
            bad.append('get_message: %s' % e)
        verdict('mbox: ' + name)
    box.close()

def check_maildir():
    box = mailbox.Maildir(mail + '/dir', create=False)
    keys = sorted(box.keys(), key=lambda k: int(re.search(r'Q(\d+)', k)[1]))
    same('messages', [len(keys)], [len(cases)])
    verdict('Maildir: as many messages as were sent')
    for key, (name, sender, header, body) in zip(keys, cases):
        same('bytes', box.get_bytes(key), trace(sender, b'dir/') + header +
             b'\n' + body)
        same('place', box.get_message(key).get_subdir(), 'new')
        same('delivered to', box.get_message(key)['Delivered-To'], 'dir/')
        verdict('Maildir: ' + name)

# What the library makes of a box is one for mailbox.
def change():
    box = mailbox.mbox(mail + '/all', create=False)
    box.lock()
    for key in sorted(box.keys())[3:]:
        box.remove(key)
    box.flush()
    box.add('Subject: added\n\nFrom the library\nno end')
    box.close()

def check_changed():
    box = mailbox.mbox(mail + '/all', create=False)
    got = [box.get_bytes(key) for key in sorted(box.keys())]
    same('messages', [len(got)], [6])
    if not bad:
        for i, case in zip((0, 1, 2, 4, 5), cases[:3] + cases[:2]):
            same('message %d' % i, got[i], trace(case[1], b'all') + case[2] +
                 b'\n' + case[3])
        same('message 3', got[3].rstrip(b'\n'),
             b'Subject: added\n\n>From the library\nno end')
    verdict('behind what the library wrote there is room for more')

globals()[sys.argv[1]]()
PYTHON
python() {	# what
	"$PYTHON" "$tmp/box.py" "$1" "$po" "$mail"
}
# TAP without numbers becomes ours.
check() {	# what
	python "$1" >"$tmp/tap" 2>"$tmp/err"
	is "$1: the reader comes to its end" "$?$(tail -n 3 "$tmp/err")" 0
	while IFS= read -r line; do
		case $line in
		'ok '*) pass "${line#ok }" ;;
		'not ok '*) fail "${line#not ok }" ;;
		*) diag "$line" ;;
		esac
	done <"$tmp/tap"
}
deliver() {	# <jobs
	(cd "$po/transport" && exec "$A" -n -d "$mail") 2>&1
}

python make >"$tmp/jobs"
count=$(wc -l <"$tmp/jobs" | tr -d ' ')
TZ=UTC deliver <"$tmp/jobs" >"$tmp/said"
is 'two messages for each box are delivered' \
    "$(grep -c 'ok3 Ok' "$tmp/said")" $((2 * count))
check check_mbox
check check_maildir
python change
python make >/dev/null
sed 2q "$tmp/jobs" | deliver >"$tmp/said"
check check_changed
finish
