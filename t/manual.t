#!/bin/sh
# The manual pages are good, dated, and refer to what there is.
. "${0%/*}/lib.sh"

cd "$top/man" || exit 1
# "scheduler-protocol.7 SCHEDULER-PROTOCOL 7 DATE"
for page in *.[1-9]; do
	printf '%s %s\n' "$page" "$(sed -n '1s/^\.TH //p' "$page")"
done >"$tmp/heads"
is 'each begins with its name, section and a date' "$(awk '{
	name = $1; sub(/\.[1-9]$/, "", name)
	section = $1; sub(/.*\./, "", section)
	if (NF != 4 || $2 != toupper(name) || $3 != section ||
	    $4 !~ /^20[0-9][0-9]-[01][0-9]-[0-3][0-9]$/)
		print
}' "$tmp/heads")" ''
# Others' pages have these names.
others=' mail cron rmail sendmail '
is 'references lead somewhere' "$(sed -n \
    's/\\-/-/; s/^\.BR \([a-z.-]*\) *(\([15-8]\)).*/\1 \2/p' *.[1-9] | sort -u |
    while read -r name section; do
	[ -f "$name.$section" ] || case $others in
	*" $name "*) ;;
	*) echo "$name($section)" ;;
	esac
done)" ''

if command -v mandoc >/dev/null 2>&1; then
	for page in *.[1-9]; do
		is "mandoc says nothing of $page" \
		    "$(mandoc -Tlint "$page" 2>&1)" ''
	done
	printf '.TH X 1\n' >"$tmp/x.1"
	like 'it would' "$(mandoc -Tlint "$tmp/x.1" 2>&1)" 'missing date'
else
	skip 'the pages are good' 'no mandoc'
fi
finish
