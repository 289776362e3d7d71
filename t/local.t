#!/bin/sh
# Local mail: with a host of "-" each mailbox is a destination.  A box that is in
# work or takes no mail is given to nobody else, and no other waits for it.
# Takes long.
. "${0%/*}/lib.sh"

po=$tmp/po

# Delivers what is for channel local, user by user, and says in $tmp/done when
# it begins and ends with one.  While stuck.USER exists it stays at that user's
# box; while full.USER exists the box is full.  Names in lower case.
agent keep <<'END'
LC_ALL=C; export LC_ALL
dir=$1
tab=$(printf '\t') sep=$(printf '\001')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	job=${line%%"$tab"*}
	if [ "$line" != '#idle' ]; then
		awk '/^r .* local / { print off + 0, $4 }
			/^m$/ { exit }
			{ off += length($0) + 1 }' "$job" >"$dir/job.$$"
		while read -r off user; do
			user=$(echo "$user" | tr A-Z a-z | tr -d '"')
			user=${user%%[+@]*}
			echo "begin $user ${job##*/} $$" >>"$dir/done"
			while [ -e "$dir/stuck.$user" ]; do
				sleep 0.1 2>/dev/null || sleep 1
			done
			echo "end $user ${job##*/} $$" >>"$dir/done"
			if [ -e "$dir/full.$user" ]; then
				printf '%s/%s\t%s\t%s\n' "${job%%-*}" "$off" \
				    "$user${sep}delayed${sep}4.2.2 (full)${sep}${sep}" \
				    "deferred the box is full"
			else
				printf + | dd of="$job" bs=1 seek=$((off + 1)) \
				    conv=notrunc 2>/dev/null
				printf '%s/%s\t\tok3 \n' "${job%%-*}" "$off"
			fi
		done <"$dir/job.$$"
	fi
	echo '#hungry'
done
END
spool_new "$po"
config() {	# [keywords]
	conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1h retries=1 expiry=1d $*
local/*	maxchannel=4 maxring=4 command="keep $tmp"
END
}
begun() {	# user: how often, with how many agents
	awk -v u="$1" '$1 == "begin" && $2 == u { n++; pid[$4] }
	    END { for (p in pid) k++; print n + 0, k + 0 }' "$tmp/done"
}
ended() {	# user times
	[ "$(grep -c "^end $1 " "$tmp/done")" -ge "$2" ]
}
most_at_once() {
	awk '$1 == "begin" { if (++n > most) most = n } $1 == "end" { n-- }
	    END { print most + 0 }' "$tmp/done"
}

# ---- a box in work --------------------------------------------------------------------

: >"$tmp/done"
: >"$tmp/stuck.anna"
config
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -v
put "$po" 101-1 local - anna
ok 'an agent is at a box' wait_for 20 grep 'begin anna' "$tmp/done"
put "$po" 102-1 local - Anna
put "$po" 103-1 local - anna+lists
put "$po" 104-1 local - anna@here.example
put "$po" 105-1 local - '"anna"'
n=0
while [ $n -lt 12 ]; do
	n=$((n + 1))
	put "$po" 11$((n % 10))-$n local - bert
	put "$po" 12$((n % 10))-$n local - carl
done
ok 'other boxes get their mail beside a box in work' wait_for 30 ended bert 12
ok 'a second box gets its mail beside a box in work' wait_for 30 ended carl 12
is 'a box in work is given to no second agent in any spelling' \
    "$(begun anna)" '1 1'
ok 'mailq shows mail that waits for a box in work' sh -c \
    "POSTOFFICE='$po' '$top/mailq' -v >'$tmp/q' 2>&1; grep mailbox '$tmp/q'"
rm "$tmp/stuck.anna"
ok 'a box gets the rest of its mail when its job is done' \
    wait_for 30 ended anna 5
ok 'the queue is empty' wait_for 30 po_empty "$po"
ok 'boxes were served side by side' [ "$(most_at_once)" -gt 1 ]

# ---- a box that takes no mail ---------------------------------------------------------

: >"$tmp/done"
: >"$tmp/full.dora"
for n in 1 2 3 4 5 6 7 8; do
	put "$po" 13$n-1 local - dora
	put "$po" 14$n-1 local - emil
done
ok 'a full box does not block other boxes' wait_for 30 ended emil 8
is 'mail for a full box is tried once' "$(begun dora)" '1 1'
ok 'mail deferred with a full box is shown with its reason' sh -c \
    "POSTOFFICE='$po' '$top/mailq' -v | grep -c 'the box is full' | grep -x 8"
put "$po" 151-1 local - dora local - fred local - gerd
ok 'a full box does not stop others of the same message' \
    wait_for 30 ended gerd 1
wait_log 'deferred msg=151-1' 20
rm "$tmp/full.dora"
ok 'mailq flush all is accepted' sh -c "POSTOFFICE='$po' '$top/mailq' flush all"
ok 'the box that has room again gets all' wait_for 30 ended dora 10
ok 'the queue is empty when no box is full' wait_for 30 po_empty "$po"
is 'everybody has had the message to several once' \
    "$(grep -c '^end [fg].* 151-1' "$tmp/done")" 2
: >"$tmp/full.dora"
put "$po" 161-1 local - dora local - hans
ok 'one of two boxes is full' wait_log 'deferred msg=161-1' 20
like 'a full box of a message to two sleeps with the words of its deferral' \
    "$(lines 'asleep channel=local' | tail -n 1)" ' the box is full$'
put "$po" 162-1 local - dora
put "$po" 163-1 local - hans
ok 'new mail for the box with room is delivered' wait_for 30 ended hans 2
is 'new mail for a full box is not tried' \
    "$(grep -c '^begin dora 162-1' "$tmp/done")" 0
rm "$tmp/full.dora"
sched_stop
is 'the scheduler ends well' $sched_rc 0

# Others' mail does not have a message to two full boxes tried.
: >"$tmp/done"
: >"$tmp/full.ines"
: >"$tmp/full.jens"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1s retries="1 500 500" expiry=1d
local/*	maxchannel=4 maxring=4 command="keep $tmp"
END
ok 'the scheduler starts with short intervals' sched_start "$po" "$tmp/cf"
put "$po" 165-1 local - ines local - jens
ok 'a message to two full boxes is tried a second time by its list' \
    wait_for 20 eval '[ "$(grep -c "begin ines" "$tmp/done")" -ge 2 ]'
have=0
while [ $have -lt 12 ]; do
	have=$((have + 1))
	put "$po" 31$have-1 local - karl local - lena
	wait_log "complete msg=31$have-1" 20
	sleep 0.5 2>/dev/null || sleep 1
done
is "others' mail does not bring a third try" "$(grep -c 'begin ines' "$tmp/done")" 2
rm "$tmp/full.ines" "$tmp/full.jens"
sched_stop

# ---- clauses for all mail --------------------------------------------------------------

# None makes one host of all mailboxes, or has messages to several wait.
apart() {	# keywords: how often others' mail waits
	: >"$tmp/done"
	: >"$tmp/stuck.anna"
	config "$*"
	sched_start "$po" "$tmp/cf" || return
	put "$po" 171-1 local - anna
	put "$po" 172-1 local - anna local - bert
	wait_for 20 eval '[ "$(begun anna)" = "2 2" ]' &&
	    put "$po" 173-1 local - carl &&
	    put "$po" 174-1 local - dora local - emil &&
	    wait_for 20 ended carl 1 && wait_for 20 ended emil 1 &&
	    put "$po" 175-1 local - anna && put "$po" 176-1 local - fred &&
	    wait_for 20 ended fred 1
	rc=$?
	[ "$(begun anna)" = "2 2" ] || rc=2
	rm "$tmp/stuck.anna"
	wait_for 30 po_empty "$po" || rc=3
	sched_stop
	return $rc
}
for keyword in maxthr=0 maxthr=1 maxthr=4 rate=1/s; do
	ok "with $keyword no mailbox waits for another" apart $keyword
done

# Nor does a reload that sets it.
config
ok 'the scheduler starts without maxthr' sched_start "$po" "$tmp/cf"
have=190
for user in mara nina; do
	: >"$tmp/full.$user"
	put "$po" $((have += 1))-1 local - $user
	wait_log "deferred msg=$have-1"
done
config maxthr=2
kill -HUP $sched_pid
wait_log 'reload .*done'
put "$po" 195-1 local - olga
wait_log 'complete msg=195-1'
know() {
	POSTOFFICE=$po RENDEZVOUS=$po/public/.mailq.text "$top/mailq" -D 2>&1
}
is 'mailq -D shows no mailbox after a reload with maxthr' \
    "$(know | grep -c '^local/-')" 0
is 'a reload with maxthr has mail of a full box wait as before' \
    "$(begun mara) $(begun nina)" '1 1 1 1'
rm "$tmp/full.mara" "$tmp/full.nina"
sched_stop
finish
