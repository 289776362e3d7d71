#!/bin/sh
# 2 000 messages by ten agents at once into five boxes, while programs that
# nobody here wrote lock and read the boxes: Python's mailbox by both locks,
# which also throws messages away and so rewrites boxes; fcntl alone; and
# lockfile or dotlockfile around copies.  Every message is found once for each
# of its recipients, and whole.
. "${0%/*}/lib.sh"
. "${0%/*}/box.sh"

need_python
mkdir "$tmp/copies"

cat >"$tmp/many.py" <<'PYTHON'
import collections, fcntl, mailbox, os, random, re, sys, time

what, tmp = sys.argv[1:3]
po, mail = tmp + '/po', tmp + '/mail'
MESSAGES = 2000
BOXES = 'a', 'b', 'c', 'd', 'e/'	# the last one is a Maildir

def rcpts(n):
    k = 5 if n % 100 == 7 else 3 if n % 10 == 3 else 1
    return [BOXES[(n + i) % 5] for i in range(k)]

def header(n):
    return b'Subject: %d\n' % n

# Up to 20 KB that nobody else has, and full of traps.
def body(n):
    lines = [b'message %d, line %d\nFrom %d\n\n>From %d' % (n, i, n, i)
             for i in range(600 if n % 50 == 0 else n % 40)]
    return b'\n\n'.join(lines + [b'end of %d\n' % n])

def make():
    for n in range(MESSAGES):
        name = '%d-1' % (1000 + n)
        with open(po + '/queue/' + name, 'wb') as f:
            f.write(body(n))
        with open(po + '/transport/.' + name, 'wb') as f:
            f.write(b'i %s\no 0\nl <x@test>\ns smtp - s%d@test 0\n' %
                    (name.encode(), n))
            for box in rcpts(n):
                f.write(b'r           local - %s 0\n' % box.encode())
            f.write(b'm\n' + header(n) + b'\n')
        os.rename(po + '/transport/.' + name, po + '/transport/' + name)
    print(sum(len(rcpts(n)) for n in range(MESSAGES)))

# The number of a message in this box, or None for what is not as it was sent.
def whole(raw, box):
    found = re.search(rb'^Subject: (\d+)$', raw, re.M)
    if not found:
        return None
    n = int(found[1])
    if box != 'e/':
        raw = re.sub(rb'(?m)^>(>*From )', rb'\1', raw)
    sent = b'Return-Path: <s%d@test>\nDelivered-To: %s\n' % (n, box.encode())
    return n if raw == sent + header(n) + b'\n' + body(n) else None

def show(raw):
    return '%d bytes, %r ... %r' % (len(raw), raw[:200], raw[-100:])

# All in an open box: their numbers, by key.
def numbers(box, name):
    found = {}
    for key in box.keys():
        raw = box.get_bytes(key)
        found[key] = whole(raw, name)
        if found[key] is None:
            print('torn in %s:' % name, show(raw))
    return found

def open_box(name, path=None):
    if name == 'e/':
        return mailbox.Maildir(mail + '/e', create=False)
    return mailbox.mbox(path or mail + '/' + name, create=False)

def visit(name, gone):
    try:
        box = open_box(name)
    except mailbox.NoSuchMailboxError:
        return 0
    try:
        box.lock()
    except mailbox.ExternalClashError:
        box.close()		# in use: another time
        return 0
    found = numbers(box, name)
    if random.random() < 0.5:
        for key in random.sample(sorted(found), len(found) // 4):
            if found[key] is not None:
                box.remove(key)
                gone.append((name, found[key]))
    box.close()			# writes it anew, and unlocks
    return 1

# A look by somebody who knows no other lock than fcntl.
def peek(name):
    try:
        f = open(mail + '/' + name, 'rb+')
    except FileNotFoundError:
        return
    fcntl.lockf(f, fcntl.LOCK_EX)
    before = f.read()
    time.sleep(0.002)
    f.seek(0)
    if f.read() != before:
        print('written to while it was locked by fcntl:', name)
    if before and not re.search(rb'\nend of \d+\n\n\Z', before):
        print('torn at the end of %s:' % name, show(before))
    f.close()

# Until there is a file "stop".
def read():
    gone, rounds = [], 0
    while not os.path.exists(tmp + '/stop'):
        for name in BOXES:
            rounds += visit(name, gone)
            if name != 'e/':
                peek(name)
            time.sleep(0.02)
    with open(tmp + '/gone', 'w') as f:
        for name, n in gone:
            f.write('%s %d\n' % (name, n))
    print('visits:', rounds)

def check():
    want = collections.Counter((box, n) for n in range(MESSAGES)
                               for box in rcpts(n))
    have = collections.Counter()
    for name in BOXES:
        box = open_box(name)
        have.update((name, n) for n in numbers(box, name).values())
        box.close()
    with open(tmp + '/gone') as f:
        for line in f:
            name, n = line.split()
            have[name, int(n)] += 1
    print('lost', sorted((want - have).elements())[:20])
    print('extra', sorted((have - want).elements(), key=str)[:20])

def copies():
    for path in sorted(os.listdir(tmp + '/copies')):
        box = open_box(path[0], tmp + '/copies/' + path)
        numbers(box, path[0])
        box.close()

globals()[what]()
PYTHON
python() {	# what
	"$PYTHON" "$tmp/many.py" "$1" "$tmp" 2>&1
}

# A lock by another program, if there is one, around a copy.
if command -v lockfile >/dev/null 2>&1; then
	lock() { lockfile -1 -r 0 "$1"; }
	unlock() { rm -f "$1"; }
elif command -v dotlockfile >/dev/null 2>&1; then
	lock() { dotlockfile -l -r 0 "$1"; }
	unlock() { dotlockfile -u "$1"; }
else
	lock() { return 1; }
fi
copy_boxes() {
	copies=0
	while [ ! -f "$tmp/stop" ] && [ $copies -lt 40 ]; do
		for b in a b c d; do
			[ -f "$mail/$b" ] && lock "$mail/$b.lock" || continue
			cp "$mail/$b" "$tmp/copies/$b.$copies"
			cmp "$mail/$b" "$tmp/copies/$b.$copies" ||
				echo "$b changes while locked" >>"$tmp/differ"
			unlock "$mail/$b.lock"
			copies=$((copies + 1))
		done
		sleep $lib_nap
	done
} >/dev/null 2>&1

conf "$tmp/cf" <<END
*/*	interval=1s retries=1 expiry=1d
local/*	maxring=10 maxchannel=10 maxthr=10
	command="$A -n -d $mail"
END
deliveries=$(python make)
python read >"$tmp/read.out" &
reader=$!
lib_pids="$lib_pids $reader"
copy_boxes &
copier=$!
lib_pids="$lib_pids $copier"
sched_start "$po" "$tmp/cf"
ok "$deliveries deliveries come to an end" wait_for 120 po_empty "$po"
: >"$tmp/stop"
wait $reader
reader_rc=$?
wait $copier
lib_forget $reader
lib_forget $copier
sched_stop

is 'the reader of the boxes comes to its end' $reader_rc 0
visits=$(sed -n 's/^visits: //p' "$tmp/read.out")
diag "$visits visits, $(wc -l <"$tmp/gone") messages removed," \
    "$(ls "$tmp/copies" | wc -l) copies"
ok 'the reader of the boxes throws some messages away' test -s "$tmp/gone"
is 'the reader of the boxes sees only whole messages' \
    "$(grep -v ^visits "$tmp/read.out")" ''
is 'every message is found once for each recipient' \
    "$(python check | tr '\n' ' ')" \
    'lost [] extra [] '
name='what was copied under the lock of another program is whole'
: >>"$tmp/differ"
if [ -n "$(ls "$tmp/copies")" ]; then
	is "$name" "$(cat "$tmp/differ"; python copies)" ''
else
	skip "$name" 'no lockfile, no dotlockfile, or it never got in'
fi
is 'nothing but the boxes is left, no lock either' \
    "$(ls "$mail" | tr '\n' ' ')" \
    'a b c d e '
is 'tmp/ of the Maildir is empty' "$(ls "$mail/e/tmp")" ''
is 'nothing was set aside' "$(ls "$po/postman")" ''
ok 'ten agents were at work' test "$(count agent-start)" -ge 10
is 'the scheduler ends well' $sched_rc 0
finish
