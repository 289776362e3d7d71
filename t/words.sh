# words.sh - the agent "words", which says of each recipient what its user's name
# asks for; read behind lib.sh.
#
#	command="words DIR"
#
# DIR/tried gets a line "MESSAGE USER" for each try.  Once DIR/go is there all
# is delivered.  "slow" waits until DIR/slow is gone.

agent words <<'END'
tab=$(printf '\t') sep=$(printf '\001')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	job=${line%%"$tab"*}
	[ "$line" = '#idle' ] || awk -v host="${line#*"$tab"}" '
		/^r / && $3 == host { print off + 0, $4 }
		/^m$/ { exit }
		{ off += length($0) + 1 }' "$job" |
	while read -r off user; do
		echo "$job $user" >>"$1/tried"
		fields= word=
		case $user in
		at*) word="retryat +${user#at} come later" ;;
		full*) word='deferred 452 the box is full' ;;
		grey*) word='deferred 451 greylisted' ;;
		down*) word='deferall no answer' ;;
		conn*)
			fields="u${sep}delayed${sep}4.4.1 (no answer)$sep$sep"
			word='deferred no answer' ;;
		slow*) while [ -e "$1/slow" ]; do sleep 1; done ;;
		esac
		if [ -n "$word" ] && [ ! -e "$1/go" ]; then
			printf '%s/%s\t%s\t%s\n' "${job%%-*}" "$off" \
			    "$fields" "$word"
			continue
		fi
		printf + | dd of="$job" bs=1 seek=$((off + 1)) \
		    conv=notrunc 2>/dev/null
		printf '%s/%s\t\tok3 \n' "${job%%-*}" "$off"
	done
	echo '#hungry'
done
END

tried() {	# message [user]: how often
	grep -c "^$1 ${2:-.*}\$" "$tmp/tried"
}
often() {	# times message [user]
	[ "$(tried "$2" "$3")" -ge "$1" ]
}
reported() {	# message...: the scheduler has read what came of all tries
	for m; do
		[ "$(count "deferred msg=$m ")" -ge "$(tried "$m")" ] || return
	done
}
