#!/bin/sh
# The agent mailbox, fed by hand: what it puts into boxes, what it says, and
# what it leaves in control files.
. "${0%/*}/lib.sh"
. "${0%/*}/box.sh"

# Jobs come on standard input; a word for its end saves printf "\n" at calls.
agent() {	# [option ...] <jobs
	(cd "$po/transport" && exec "$A" -n -d "$mail" "$@") 2>&1
}
job() {		# name host [option ...]
	job_line=$1$tab$2
	shift 2
	printf '%s\n' "$job_line" | agent "$@" | grep -v '^#hungry'
}
# A control file whose recipients are the lines of standard input.
message() {	# name <recipient, N and header lines
	{
		printf 'i %s\no 9\nl <x@test>\ns smtp - s@a.org 0\n' \
		    "${1##*/}"
		cat
	} | put_raw "$po" "$1"
	printf 'skipped: the body\n' >"$po/queue/$1"
}
offset() {	# name pattern: of the line that it begins
	LC_ALL=C awk -v re="$2" '$0 ~ re { print off + 0; exit }
	    { off += length($0) + 1 }' "$po/transport/$1"
}
tags() {	# name: those of the recipients, as one word
	sed -n 's/^r\(.\)\(......\).*/\1/p' "$po/transport/$1" |
	    tr ' \n' '_ ' | tr -d ' '
}
diags() {	# name
	grep -c '^d' "$po/transport/$1"
}
rcpt='r           local -'
head='m
Subject: test
'
# The stamp is the only thing that is not known beforehand.  The x keeps the
# shell from cutting the end off.
box() {		# user
	sed 's/^\(From [^ ]* \)[A-Z][a-z][a-z] [A-Z].*/\1DATE/' "$mail/$1"
	echo x
}

# ---- talking ------------------------------------------------------------

is 'the agent leaves at the end of input' "$(agent </dev/null)" '#hungry offsets'
is 'the agent leaves at an empty line' "$(printf '\n#idle\n' | agent)" '#hungry offsets'
is 'the agent answers each line with one #hungry' \
    "$(printf '#idle\n#idle\n\n' | agent | tr '\n' ' ')" \
    '#hungry offsets #hungry #hungry '
is 'a line without a line end is ignored' "$(printf '#idle' | agent)" '#hungry offsets'
is 'a job whose file does not exist: #resync' "$(job 1-1 -)" '#resync 1-1'
is 'a job outside transport/: #resync' \
    "$(job ../queue/1-1 -)" '#resync ../queue/1-1'
like '-V prints the version' "$("$A" -V)" '^mailbox [0-9]'
nok 'an unknown option is an error' "$A" -Z </dev/null

# ---- mbox -----------------------------------------------------------------

message 10-1 <<END_
$rcpt anna 0
$head
END_
off=$(offset 10-1 '^r')
is 'mbox: a delivery is reported as ok3' \
    "$(job 10-1 -)" "10/$off$tab${tab}ok3 Ok"
is 'mbox: the tag of a delivered recipient is +' "$(tags 10-1)" +
is 'mbox: a delivered recipient is not locked any more' \
    "$(sed -n 's/^r+\(......\).*/\1/p' \
    "$po/transport/10-1")" '      '
is 'mbox: a delivery without NOTIFY has no diagnostic' "$(diags 10-1)" 0
is 'mbox: the box has the message byte for byte' \
    "$(box anna)" "From s@a.org DATE
Return-Path: <s@a.org>
Delivered-To: anna
Subject: test

the body

x"
is 'mbox: no lock file stays behind' "$(ls "$mail")" anna
is 'a delivered message is not delivered again' "$(job 10-1 -)" '#resync 10-1'

message 11-1 <<END_
$rcpt anna 0
${head}X: From here
From there: a header

END_
printf 'skipped: From me\n>From you\n>>From us\nFrom: x\nFro\nFrom' \
    >"$po/queue/11-1"
is 'mbox: a second message is delivered' \
    "$(job 11-1 - | sed 's/.*	//')" 'ok3 Ok'
is 'mbox: the second message follows the first, From is quoted' \
    "$(box anna | sed 1,7d)" "From s@a.org DATE
Return-Path: <s@a.org>
Delivered-To: anna
Subject: test
X: From here
>From there: a header

>From me
>>From you
>>>From us
From: x
Fro
From

x"
printf 'unfinished' >"$mail/bert"
message 12-1 <<END_
$rcpt bert 0
$head
END_
job 12-1 - >/dev/null
is 'mbox: a box without a line end gets one' \
    "$(box bert | head -n 3 | tr '\n' '|')" \
    'unfinished||From s@a.org DATE|'

message 13-1 <<END_
$rcpt carl 0
END_
sed 's/^s .*/s error - whoever 0/' "$po/transport/13-1" >"$tmp/x" &&
    cat "$tmp/x" >"$po/transport/13-1"
job 13-1 - >/dev/null
is 'mbox: the empty sender becomes <>, no header is needed' \
    "$(box carl | tr '\n' '|')" \
    'From MAILER-DAEMON DATE|Return-Path: <>|Delivered-To: carl||the body||x|'

# ---- Maildir --------------------------------------------------------------

message 20-1 <<END_
$rcpt dora/ 0
$head
END_
is 'Maildir: a delivery is reported as ok3' \
    "$(job 20-1 - | sed 's/.*	//')" 'ok3 Ok'
is 'Maildir: the directories are made' \
    "$(cd "$mail/dora" && echo *)" 'cur new tmp'
is 'Maildir: new/ has the message' \
    "$(cat "$mail"/dora/new/*)" 'Return-Path: <s@a.org>
Delivered-To: dora/
Subject: test

the body'
is 'Maildir: nothing stays in tmp/' "$(ls "$mail/dora/tmp")" ''

# The second sync is that of new/.
message 21-1 <<END_
$rcpt dora/ 0
$head
END_
if ! without NO_FSYNC &&
    ${CC:-cc} -shared -fPIC -o "$tmp/faults.so" "$top/t/faults.c" -ldl \
    >/dev/null 2>&1 && LD_PRELOAD=$tmp/faults.so FAULTS=fsync:1:0:EIO \
    FAULTS_LOG=$tmp/faults "$A" -V >/dev/null 2>&1 && [ -s "$tmp/faults" ]
then
	like 'Maildir: new/ cannot be synced: deferred' \
	    "$(LD_PRELOAD=$tmp/faults.so FAULTS=fsync:2:1:EIO
	    export LD_PRELOAD FAULTS
	    job 21-1 -)" 'deferred cannot sync .*/dora/new: '
	is 'Maildir: new/ cannot be synced: nothing is added' \
	    "$(find "$mail/dora" -type f | wc -l | tr -d ' ')" 1
else
	skip 'Maildir: new/ cannot be synced: deferred' \
	    'no fsync, or nothing is loaded before libc'
	skip 'Maildir: new/ cannot be synced: nothing is added' \
	    'no fsync, or nothing is loaded before libc'
fi

# ---- several recipients -------------------------------------------------------

message A/B/30-1 <<END_
$rcpt e1 0
N NOTIFY=SUCCESS,FAILURE ORCPT=rfc822;e1@x
r           smtp - e2 0
r           local h.org e3 0
$rcpt ../e4 0
r~$(printf %6d $$)    local - e5 0
r+          local - e6 0
r           LOCAL - E7 0
N NOTIFY=FAILURE
$head
${rcpt} e8 0
m
Subject: other

END_
f=$po/transport/A/B/30-1
out=$(job A/B/30-1 -)
is 'several recipients: the recipients of the job alone are reported' \
    "$(printf '%s\n' "$out" | sed 's/.*	//')" \
"ok2 Ok
error2 there is no such user here
ok3 Ok
ok3 Ok"
is 'several recipients: the reports have their offsets' \
    "$(printf '%s\n' "$out" | sed 's/	.*//')" \
"30/$(offset A/B/30-1 'e1 0')
30/$(offset A/B/30-1 'e4 0')
30/$(offset A/B/30-1 'E7 0')
30/$(offset A/B/30-1 'e8 0')"
is 'several recipients: each has its tag' "$(tags A/B/30-1)" '+__-~+++'
is 'several recipients: each message has its own header' \
    "$(cat "$mail/E7" "$mail/e8" | grep Subject | tr '\n' ' ')" \
    'Subject: test Subject: other '
is 'diagnostics: one for NOTIFY=SUCCESS, one for the failure, no others' \
    "$(diags A/B/30-1)" 2
hdr=$(($(offset A/B/30-1 '^m') + 2))
is 'diagnostics: the line of a delivery' \
    "$(grep '^d.*delivered' "$f" | sed 's/::[0-9]*/::TIME/')" \
    "d $(offset A/B/30-1 'e1 0'):$hdr:$(offset A/B/30-1 '^N')::TIME${tab}e1${sep}delivered${sep}2.0.0${sep}x-local; 250 (Ok)${sep}${tab}Ok"
is 'diagnostics: the line of a failure' \
    "$(grep '^d.*failed' "$f" | sed 's/::[0-9]*/::TIME/')" \
    "d $(offset A/B/30-1 'e4 0'):$hdr:-1::TIME${tab}../e4${sep}failed${sep}5.1.1${sep}x-local; 550 (there is no such user here)${sep}${tab}there is no such user here"
is 'a job with another host is delivered' \
    "$(job A/B/30-1 H.ORG | sed 's/.*	//')" 'ok3 Ok'
is 'a recipient locked by another process: #resync' \
    "$(job A/B/30-1 -)" '#resync A/B/30-1'
is 'a recipient locked by another process keeps its tag' \
    "$(tags A/B/30-1)" '+_+-~+++'
is '-c: a job of another channel is delivered' \
    "$(job A/B/30-1 - -c smtp | sed 's/.*	//')" 'ok3 Ok'

message 31-1 <<END_
$rcpt e9 0
r           local other e10 0
END_
is 'a job without a host delivers to all hosts' "$(printf '31-1\n' | agent |
    sed -n 's/.*	//p' | tr '\n' ' ')" 'ok3 Ok ok3 Ok '
# Old routers leave out pid and delay: there is nothing to lock with.
message 32-1 <<END_
r local - e11 0
END_
is 'a recipient line without pid and delay is delivered' \
    "$(job 32-1 - | sed 's/.*	//')" 'ok3 Ok'
is 'a recipient line without pid and delay: only its tag is written' \
    "$(grep '^r' "$po/transport/32-1")" \
    'r+local - e11 0'

# The host is not looked at, but a quoted name is a whole one.
at() {		# title user box
	message 34-1 <<END_
$rcpt $2 65534
$head
END_
	is "$1" "$(job 34-1 - | sed 's/.*	//') $(ls "$mail/$3")" \
	    "ok3 Ok $mail/$3"
}
at 'the user of user@host names the box' fay@vm fay
at 'the user of user@host@host names the box' f1@vm@other f1
at 'a user in quotes names the box' '"f2"@vm' f2
at 'a user with a backslash names the box' '\f3@vm' f3
for user in '"f4@vm"' @vm '@a,@b:f5@vm' '"|id"@vm' '"/tmp/f6"@vm' \
    '"|id"@"vm"x'; do
	message 34-1 <<END_
$rcpt $user 65534
$head
END_
	like "no user: $user" "$(job 34-1 -)" 'error2 there is no such user'
done

# It would be the lock of bob's box.
for user in bob.lock bob.lock/ .lock; do
	message 33-1 <<END_
$rcpt $user 0
END_
	like "no user: $user" "$(job 33-1 -)" 'error2 there is no such user'
done
is 'a user that ends in .lock gets no box' "$(ls -a "$mail" | grep '\.lock')" ''

# ---- order ---------------------------------------------------------------------

# The report is read from a pipe whose reader looks at the file just then.
message 40-1 <<END_
$rcpt no/body 0
$head
END_
mkfifo "$tmp/fifo"
# In a shell of its own: a child that ends may interrupt our open of the pipe.
(printf '40-1\t-\n' | agent >"$tmp/fifo") &
while read -r line; do
	case $line in
	40/*) grep -c '^d .*5.1.1' "$po/transport/40-1" ;;
	esac
done <"$tmp/fifo" >"$tmp/seen"
wait
is 'the diagnostic is written before the report' "$(cat "$tmp/seen")" 1
is 'the tag of a failure is - in the end' "$(tags 40-1)" -

message 41-1 <<END_
$rcpt no/body 0
$head
END_
printf 'd 1:2:3::4' >>"$po/transport/41-1"
job 41-1 - >/dev/null
is 'a diagnostic cut by a crash gets a line end' \
    "$(grep -c '^d ' "$po/transport/41-1")" 2

# ---- what goes wrong --------------------------------------------------------------

deferred() {	# name user pattern [option ...]
	title=$1
	message 50-1 <<END_
$rcpt $2 0
$head
END_
	pattern=$3
	shift 3
	like "$title" "$(job 50-1 - -w 0 "$@")" \
	    "^50/[0-9]+	[^	]*${sep}delayed${sep}4[^	]*	deferred .*$pattern"
	is "$title: the tag is blank again" "$(tags 50-1)$(diags 50-1)" _0
}

deferred 'deferred: there is no mail directory' x 'No such file' -d "$tmp/none"

echo secret >"$tmp/target"
ln -s "$tmp/target" "$mail/frank"
# without lstat it is the opening that fails
deferred 'deferred: the box is a link' frank '(no regular file|cannot open)'
is 'a box that is a link is not followed' "$(cat "$tmp/target")" secret
ln "$tmp/target" "$mail/georg"
deferred 'deferred: the box has a second name' georg 'second name'
mkfifo "$mail/hans"
deferred 'deferred: the box is a named pipe' hans 'no regular file'
mkdir "$mail/ida"
deferred 'deferred: the box is a directory' ida 'no regular file'
is 'deferrals leave no lock file behind' "$(ls "$mail" | grep lock)" ''

locked() {	# title
	deferred "$1" jan 'locked by another'
	is "$1: the lock file stays" "$(ls "$mail" | grep 'jan\.lock')" jan.lock
}
echo $$ >"$mail/jan.lock"
locked 'deferred: the box is locked'
is 'a locked box is not made' "$(ls "$mail" | grep jan)" jan.lock
touch -t 200001010000 "$mail/jan.lock"
locked 'deferred: an old lock of a living process'
(exit 0) &
echo $! >"$mail/jan.lock"
wait
locked 'deferred: a new lock of a dead process'
touch -t 200001010000 "$mail/jan.lock"
is 'an old lock of a dead process is ignored' \
    "$(job 50-1 - -w 3 | sed 's/.*	//')" \
    'ok3 Ok'
is 'an old lock of a dead process is removed' "$(ls "$mail" | grep jan)" jan

# By the clock of another zone: N hours ago, and once more.
ago() {		# hours
	TZ=UTC-$1 touch -t "$(TZ=UTC+$1 date +%Y%m%d%H%M)" "$mail/jan.lock"
}
echo $$ >"$mail/jan.lock"
touch -t 197001020000 "$mail/jan.lock"
locked 'deferred: lock of a living process, clock was set'
ago 1
is 'a lock of two hours is ignored though its process lives' \
    "$(job 50-1 - -w 3 | sed 's/.*	//')" 'ok3 Ok'
is 'a lock of two hours is removed' "$(ls "$mail" | grep jan)" jan

message 51-1 <<END_
$rcpt anna 0
$head
END_
rm "$po/queue/51-1"
like 'a missing message file: the recipient fails' \
    "$(job 51-1 -)" 'error2 the message file is'
is 'a missing message file: the tag is -, with a diagnostic' \
    "$(tags 51-1)$(diags 51-1)" -1
message 52-1 <<END_
$rcpt anna 0
$head
END_
: >"$po/queue/52-1"
like 'a message file cut short: deferred' "$(job 52-1 -)" 'deferred the mess'

# 40 blocks are 20 or 40 KB; the message has more.
cp "$mail/anna" "$tmp/anna"
message 60-1 <<END_
$rcpt anna 0
$rcpt kurt/ 0
$head
END_
awk 'BEGIN { for (i = 0; i < 4000; i++) print "0123456789abcdef" }' \
    >"$po/queue/60-1"
# posh has no ulimit of its own
printf '#!/bin/sh\nulimit -f 40 && exec "%s" "$@"\n' "$A" >"$tmp/limited"
chmod 755 "$tmp/limited"
out=$(A=$tmp/limited && printf '60-1\t-\n' | agent)
is 'a file limit: an mbox and a Maildir are deferred' "$(printf '%s\n' "$out" |
    grep -c 'delayed.4\.2\.2.*deferred cannot write')" 2
case $out in
*'ends with a part of a message'*)
	skip 'a file limit: the mbox is as it was' 'built with NO_FTRUNCATE'
	cat "$tmp/anna" >"$mail/anna"
	;;
*)
	is 'a file limit: the mbox is as it was' \
	    "$(cat "$mail/anna")" "$(cat "$tmp/anna")"
	;;
esac
is 'a file limit: no part of the message stays in the Maildir' \
    "$(ls "$mail/kurt/tmp" "$mail/kurt/new" |
    grep -c P)" 0
is 'a file limit: the tags are blank' "$(tags 60-1)" __
is 'a file limit: both are delivered when there is room' \
    "$(job 60-1 - | grep -c 'ok3 Ok')" 2

# ---- rubbish ---------------------------------------------------------------------

bad() {		# title; the control file is $tmp/bad
	put_raw "$po" 70-1 <"$tmp/bad"
	cp "$po/transport/70-1" "$tmp/was"
	is "$1: #resync" "$(job 70-1 -)" '#resync 70-1'
	ok "$1: the control file is not changed" \
	    cmp "$tmp/was" "$po/transport/70-1"
}
whole="i 70-1
o 0
s local - x 0
$rcpt luis 0"
printf '%s\n' "$whole" >"$tmp/whole"
: >"$tmp/bad"
bad 'an empty control file'
printf '%s\nm\nSubject: x\n' "$whole" >"$tmp/bad"
bad 'a control file cut in the header'
printf '%s' "$whole" >"$tmp/bad"
bad 'a control file cut in a line'
sed 's/70-1/71-1/' "$tmp/whole" >"$tmp/bad"
bad 'a control file with another name inside'
sed 1d "$tmp/whole" >"$tmp/bad"
bad 'a control file without a name'
printf '@ 0xf\n%s\n' "$whole" >"$tmp/bad"
bad 'a control file of an unknown format'
sed 3d "$tmp/whole" >"$tmp/bad"
bad 'a control file without a sender'
sed 's/ luis.*//' "$tmp/whole" >"$tmp/bad"
bad 'a control file without a user'
sed "s/luis/a$(printf '\007')b/" "$tmp/whole" >"$tmp/bad"
bad 'a control file with control bytes'
{
	sed 4d "$tmp/whole"
	awk 'BEGIN { printf "r           local - "
	    for (i = 0; i < 20000; i++) printf "luis"
	    print " 0" }'
} >"$tmp/bad"
bad 'a control file with a long line'
dd if="$A" of="$tmp/bad" bs=1024 count=32 2>/dev/null
bad 'a program as control file'
printf '%s\nm\n%s\n\n' "$(sed 4d "$tmp/whole")" "$rcpt luis 0" >"$tmp/bad"
bad 'a control file with a recipient in a header'
mkdir "$po/transport/72-1"
like 'a directory as control file: a note, and #resync' \
    "$(job 72-1 - | tr '\n' ' ')" \
    '^# cannot open the control file 72-1: .* #resync 72-1 $'
ln -s 10-1 "$po/transport/73-1"
like 'a link as control file: a note, and #resync' \
    "$(job 73-1 - | tr '\n' ' ')" \
    '^# cannot open the control file 73-1: .* #resync 73-1 $'
is 'bad control files deliver nothing' "$(ls "$mail" | grep luis)" ''

# ---- as root, for a real user ------------------------------------------------------

# nobody is on every system; what he may do is what is looked at.
as_root() {	# name directory [option ...]
	job_line=$1$tab-
	dir=$2
	shift 2
	(cd "$po/transport" && printf '%s\n' "$job_line" |
	    "$A" -d "$dir" "$@") 2>&1 | grep -v '^#hungry'
}
owner() {
	ls -ln "$1" | awk '{ print $1, $3 }' | sed 's/[.+] / /'
}
uid=$(id -u nobody 2>/dev/null)
if [ "$(id -u)" -ne 0 ] || [ -z "$uid" ] || without NO_PWD; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		skip 'root for a real user' 'not root, or no user nobody'
	done
else
	mkdir "$tmp/spool" "$tmp/deep" "$tmp/deep/nobody"
	chmod 755 "$tmp/spool" "$tmp/deep"
	chown nobody "$tmp/deep/nobody"
	for n in 90 91 92 93 94 95 198 199; do
		message $n-1 <<END_
$rcpt nobody 0
$head
END_
	done
	like 'root: a missing box is made' "$(as_root 90-1 "$tmp/spool")" \
	    'ok3 Ok'
	is 'root: a missing box is made for its user only' \
	    "$(owner "$tmp/spool/nobody")" "-rw------- $uid"
	is 'root: no lock file stays behind' "$(ls "$tmp/spool")" nobody
	like 'root: a second message is delivered' \
	    "$(as_root 91-1 "$tmp/spool")" \
	    'ok3 Ok'
	is 'root: the box has both messages' \
	    "$(grep -c '^From s@' "$tmp/spool/nobody")" 2
	chown 0 "$tmp/spool/nobody"
	like 'root: a box of another user is not written to' \
	    "$(as_root 92-1 "$tmp/spool")" 'deferred .*somebody else'
	: >"$tmp/spool/nobody"
	ln "$tmp/spool/nobody" "$tmp/spool/second"
	like "root: an empty box of root's with a second name is not given away" \
	    "$(as_root 95-1 "$tmp/spool") $(owner "$tmp/spool/second")" \
	    'deferred .* 0$'
	rm "$tmp/spool/second"
	said=$(as_root 95-1 "$tmp/spool")
	like "root: an empty box of root's is given to its user, and that is said" \
	    "$said" "^#.*spool/nobody, empty and root's, is given to nobody"
	like "root: an empty box of root's does not defer mail" "$said" 'ok3 Ok'
	is "root: an empty box of root's is its user's then" \
	    "$(owner "$tmp/spool/nobody")" "-rw------- $uid"
	rm "$tmp/spool/nobody"
	# What root's own process, not the user's, does to files by their names.
	touched() {	# name: files, and what was done with them
		(cd "$po/transport" && printf '%s\n' "$1$tab-" | strace \
		    -o "$tmp/trace" -e trace=file "$A" -d "$tmp/spool") \
		    >"$tmp/said" 2>&1
		sed -n -e '/O_RDONLY/d' -e '/ = -1 /d' \
		    -e 's/^\([a-z]*\)at[0-9]*(AT_FDCWD, /\1(/' \
		    -e "s,$tmp/spool/,," \
		    -e 's/^\([a-z]*\)[0-9]*("\([^"]*\)".*/\1 \2/p' \
		    "$tmp/trace" | grep -v \
		    -e '^[a-z]*stat' -e '^access' -e '^exec' -e '^readlink' |
		    tr '\n' ';'
	}
	if strace -o /dev/null true 2>/dev/null; then
		is "root: besides the control file it opens a lock and a new box" \
		    "$(touched 198-1)" \
		    'open 198-1;open nobody.lock;open nobody;unlink nobody.lock;'
		is 'root: it does not open a box that exists' \
		    "$(touched 199-1)" \
		    'open 199-1;open nobody.lock;unlink nobody.lock;'
	else
		skip 'root: it opens a lock and a new box' 'no strace'
		skip 'root: it does not open a box that exists' 'no strace'
	fi
	rm -f "$tmp/spool/nobody"
	: >"$tmp/secret"
	ln -s "$tmp/secret" "$tmp/spool/nobody"
	like 'root: a box that is a link is not followed' \
	    "$(as_root 93-1 "$tmp/spool")" 'deferred'
	is 'root: the target of a box that is a link stays empty' \
	    "$(cat "$tmp/secret")" ''
	like 'root: a Maildir in the directory of its user is delivered to' \
	    "$(as_root 94-1 "$tmp/deep" -f %u/in/)" 'ok3 Ok'
	is 'root: a Maildir in the directory of its user is his' \
	    "$(owner "$tmp"/deep/nobody/in/new/* | head -n 1)" \
	    "-rw------- $uid"
fi

# The child waits for a lock as its user, who stops it.
child_of() {	# pid
	ps -A -o pid= -o ppid= 2>/dev/null | awk -v p="$1" '$2 == p { print $1 }'
}
stopped() {
	kid=$(child_of $pid) && [ -n "$kid" ] && kill -STOP "$kid"
}
reported() {
	[ "$(grep -c '^9[67]/' "$tmp/out")" -eq 2 ]
}
if [ "$(id -u)" -ne 0 ] || [ -z "$uid" ] || without NO_PWD ||
    [ -z "$(child_of $PPID)" ]; then
	for i in 1 2 3; do
		skip 'the delivery of a user is stopped' \
		    'not root, no user nobody, or no ps'
	done
else
	echo $$ >"$tmp/deep/nobody/slow.lock"
	message 96-1 <<END_
$rcpt nobody 0
$head
END_
	message 97-1 <<END_
r           local - /dev/null $(id -u daemon)
$head
END_
	printf '96-1\t-\n97-1\t-\n' >"$tmp/jobs"
	: >"$tmp/out"
	(cd "$po/transport" && exec "$A" -d "$tmp/deep" -f %u/slow -w 90 -t 90 \
	    <"$tmp/jobs" >"$tmp/out" 2>&1) &
	pid=$!
	lib_pids="$lib_pids $pid"
	ok 'the delivery of a user is stopped' wait_for 30 stopped
	ok 'a stopped delivery does not block other jobs' wait_for 30 reported
	like 'a stopped delivery is deferred, the other job delivered' \
	    "$(sed -n 's/.*	//p' "$tmp/out" | tr '\n' ' ')" \
	    '^deferred the delivery was stopped ok3 Ok $'
	kill -9 "$kid" 2>/dev/null
	wait $pid
	lib_forget $pid
	rm "$tmp/jobs"
fi

# The child is stopped when it has written all and has not synced it.
stopped_at() {	# name form fsync
	printf '%s\t-\n' "$1" | (cd "$po/transport" && exec strace -f \
	    -o /dev/null -e trace=fsync -e "inject=fsync:signal=STOP:when=$3" \
	    "$A" -d "$tmp/deep" -f "$2" -w 0) 2>&1 | grep -v '^#hungry'
}
if [ "$(id -u)" -ne 0 ] || [ -z "$uid" ] || without NO_PWD ||
    without NO_FSYNC || ! strace -f -o /dev/null -e trace=fsync \
    -e inject=fsync:signal=STOP sh -c 'exit 0' 2>/dev/null; then
	for i in 1 2 3 4; do
		skip 'what a stopped delivery wrote is removed' \
		    'not root, no user nobody, no fsync, or no strace'
	done
else
	printf 'From x\n\nold\n\n' >"$tmp/deep/nobody/half"
	chown nobody "$tmp/deep/nobody/half"
	for n in 98 99; do
		message $n-1 <<END_
$rcpt nobody 0
$head
END_
	done
	like 'a delivery that is stopped behind its mbox is deferred' \
	    "$(stopped_at 98-1 %u/half 1)" \
	    '^98/[0-9]*.*deferred the delivery was stopped$'
	if without NO_FTRUNCATE; then
		skip 'a delivery that is stopped leaves the mbox as it was' \
		    'no ftruncate'
	else
		is 'a delivery that is stopped leaves the mbox as it was' \
		    "$(tail -n 2 "$tmp/deep/nobody/half")$(ls \
		    "$tmp/deep/nobody" | grep half)" oldhalf
	fi
	rm -rf "$tmp/deep/nobody/in"/*/*
	like 'a delivery that is stopped behind its Maildir is deferred' \
	    "$(stopped_at 99-1 %u/in/ 2)" \
	    '^99/[0-9]*.*deferred the delivery was stopped$'
	is 'a delivery that is stopped leaves the Maildir as it was' \
	    "$(ls "$tmp/deep/nobody/in/new" "$tmp/deep/nobody/in/tmp" |
	    grep '^[0-9]')" ''
fi

# ---- leaving -----------------------------------------------------------------------

mkfifo "$tmp/jobs" "$tmp/says"
start() {
	cd "$po/transport" || exit 1
	exec "$A" -n -d "$mail" <"$tmp/jobs" >"$tmp/says" &
	pid=$!
	lib_pids="$lib_pids $pid"
	exec 7>"$tmp/jobs" 8<"$tmp/says"
	read -r line <&8
}
ended() {	# sets rc
	wait $pid
	rc=$?
	lib_forget $pid
}

start
kill -TERM $pid
ended
is 'SIGTERM ends the agent' "$rc$(cat <&8)" 0
exec 7>&- 8<&-

# Nobody reads what it says: what was done stays done, the rest is given back.
message 80-1 <<END_
$rcpt maria 0
$rcpt nora 0
$head
END_
start
exec 8<&-
printf '80-1\t-\n' >&7
ended
exec 7>&-
is 'an agent whose output is closed leaves, the rest is not tried' \
    "$rc$(tags 80-1)" 0+_
is 'an agent whose output is closed makes one delivery' \
    "$(ls "$mail" | grep -E 'maria|nora')" maria
finish
