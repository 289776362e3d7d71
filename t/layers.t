#!/bin/sh
# Calls between the daemon's modules go only downwards, those of lib/ to lib/,
# the daemon's page of data is its own, and ctype.h gets no plain char.
. "${0%/*}/lib.sh"

layers=$(sed -n 's/^OBJS = //p' "$top/Makefile" | sed 's|lib/||g; s/[.]o//g')
# What of lib/ the daemon does without is in a list of its own.
lib=$(sed -n 's/^LIBOBJS = //p' "$top/Makefile" | sed 's|lib/||g; s/[.]o//g')

# Reads what nm -A -P -g says, "file.o: symbol type ...", and prints each
# thing that is wrong: "unknown X", "up X -> Y symbol", "mutual X Y".
check() {
	awk -v layers="$(echo $layers)" -v lib="$(echo $lib)" '
	BEGIN {
		n = split(layers, name, " ")
		for (i = 1; i <= n; i++) rank[name[i]] = i
		k = split(lib, name2, " ")
		for (i = 1; i <= k; i++) shared[name2[i]] = 1
	}
	{
		file = $1
		sub(/:$/, "", file); sub(/\.o$/, "", file); sub(/.*\//, "", file)
		# programs of their own
		if (file ~ /^(mailq|submit|check|syslog|box|.*[.]box)$/) next
		if ($1 ~ /lib\//) in_lib[file] = 1
		if (!(file in rank) && file in shared) next
		if (!(file in rank)) { unknown[file] = 1; next }
		if ($3 == "T" || $3 == "W") home[$2] = file
		if ($3 == "U") { n_use++; user[n_use] = file; sym[n_use] = $2 }
	}
	END {
		for (file in unknown) print "unknown " file
		for (i = 1; i <= n_use; i++) {
			if (!(sym[i] in home)) continue
			a = user[i]; b = home[sym[i]]
			if (rank[a] > rank[b]) print "up " a " -> " b " " sym[i]
			if (a in in_lib && !(b in in_lib))
				print "out " a " -> " b " " sym[i]
			edge[a, b] = 1
		}
		for (i = 1; i <= n; i++)
			for (j = i + 1; j <= n; j++)
				if (((name[i], name[j]) in edge) &&
				    ((name[j], name[i]) in edge))
					print "mutual " name[i] " " name[j]
	}'
}

# First that it finds something at all.
is 'a call downwards is accepted' "$(check <<'NM'
./queue.o: q_add_message T 0 10
./queue.o: log_err U
./util.o: log_err T 0 10
./util.o: memcpy U
./scheduler.o: q_add_message U
mailq.o: log_err U
mailq.o: main T 0 10
NM
)" ''
is 'a call upwards is found' "$(check <<'NM'
./spool.o: q_add_message U
./queue.o: q_add_message T 0 10
NM
)" 'up spool -> queue q_add_message'
is 'calls both ways are found' "$(check <<'NM'
./spool.o: q_add_message U
./spool.o: spool_next_file T 0 10
./queue.o: q_add_message T 0 10
./queue.o: spool_next_file U
NM
)" 'up spool -> queue q_add_message
mutual queue spool'
is 'a call out of lib/ is found' "$(check <<'NM'
lib/ctlfile.o: log_err U
lib/ctlfile.o: q_add_message U
./queue.o: q_add_message T 0 10
lib/util.o: log_err T 0 10
NM
)" 'up ctlfile -> queue q_add_message
out ctlfile -> queue q_add_message'
is 'a file without a layer is found' "$(check <<'NM'
./misc.o: log_err U
./util.o: log_err T 0 10
NM
)" 'unknown misc'

if ! command -v nm >/dev/null 2>&1; then
	skip 'calls between the built objects' 'no nm'
elif [ ! -f "$top/scheduler.o" ] || [ ! -f "$top/lib/util.o" ]; then
	skip 'calls between the built objects' 'they are not built'
else
	(cd "$top" && nm -A -P -g ./*.o lib/*.o) >"$tmp/nm" 2>"$tmp/nm.err"
	is 'nm can read the objects' $? 0
	found=$(check <"$tmp/nm")
	wrong() { printf '%s\n' "$found" | grep "^$1 "; }
	is 'every object has a layer' "$(wrong unknown)" ''
	is 'no call goes upwards' "$(wrong up)" ''
	is 'no call leaves lib/' "$(wrong out)" ''
	is 'no two modules call each other' "$(wrong mutual)" ''
	like 'nm shows calls of scheduler.o' \
	    "$(cat "$tmp/nm")" '^(\./)?scheduler\.o:? .* U'
fi

# Compares the parts of modules.h (first file) with the symbols that nm shows
# (second file): prints each function that is defined in another file.
parts() {
	awk '
	FNR == 1 { files++ }
	files == 1 && / \* [a-z]+\.c - / { part = $2 }
	files == 1 && /^[a-z].*\(/ {
		name = $0
		sub(/\(.*/, "", name); sub(/.*[^a-z_]/, "", name)
		head[name] = part
	}
	files == 2 && ($3 == "T" || $3 == "W") {
		file = $1
		sub(/:$/, "", file); sub(/\.o$/, ".c", file)
		sub(/.*\//, "", file)
		if ($2 in head && head[$2] != file)
			print $2 " " head[$2] " " file
	}' "$1" "$2"
}

cat >"$tmp/parts.h" <<'H'
 * queue.c - messages
int	q_add_message(struct message *, unsigned long num);
const char *spool_name(void);
 * spool.c - the directories
int	spool_next_file(char *name);
H
cat >"$tmp/parts.nm" <<'NM'
./queue.o: q_add_message T 0 10
./spool.o: spool_name T 0 10
./spool.o: spool_next_file T 0 10
NM
is 'a prototype in the part of another module is found' \
    "$(parts "$tmp/parts.h" "$tmp/parts.nm")" 'spool_name queue.c spool.c'
if [ -s "$tmp/nm" ]; then
	is 'modules.h has each prototype in the part of its module' \
	    "$(parts "$top/modules.h" "$tmp/nm")" ''
else
	skip 'modules.h has each prototype in the part of its module' 'no nm'
fi

# The list of modules in README, and the one by which the daemon is linked, the
# highest first: of lib/ in one line, of the others in their order.
list=$(sed -n '/^The modules of the daemon/,/^Their structs/p' "$top/README")
is 'README lists the modules of the daemon, the lowest first' \
    "$(printf '%s\n' "$list" | awk -F'\t' '{
	n = split($2, file, ", ")
	for (i = 1; i <= n; i++) {
		sub(/[.]c .*/, ".c", file[i])
		if (file[i] ~ /[.]c$/) print file[i]
	}
}')" "$(sed -n 's/^OBJS = //p' "$top/Makefile" | tr ' ' '\n' |
    sed -n 's/^\([a-z]*\)[.]o$/\1.c/p' | awk '{ all = $0 "\n" all }
	END { printf "%s", all }')"
words=$(printf '%s\n' "$list" | sed -n '/^	lib/,/^	spool/p' |
    tr -s ';:\t ' '\n\n\n\n')
is 'README names each module of lib/' "$(for module in $layers $lib; do
	[ ! -f "$top/lib/$module.c" ] ||
	    printf '%s\n' "$words" | grep -x "$module" >/dev/null ||
	    echo "$module"
done)" ''

# A test of the daemon's modules is part of it.
theirs=$(cd "$top" && ls mailq.c submit.c lib/*.[ch] mq/*.[ch] sub/*.[ch] \
    ta/*.[ch] bench/*.c)
is 'no other program includes scheduler.h' "$(cd "$top" &&
    grep -l -E '^# *include ".*(scheduler|modules)[.]h"' $theirs)" ''
like 'queue.c of the daemon includes scheduler.h or modules.h' "$(cd "$top" &&
    grep -l -E '^# *include ".*(scheduler|modules)[.]h"' queue.c)" 'queue.c'

is 'no line of the sources is wider than 80 columns' "$(cd "$top" && awk '{
	col = 0
	for (i = 1; i <= length($0); i++)
		col += substr($0, i, 1) == "\t" ? 8 - col % 8 : 1
	if (col > 80) print FILENAME, FNR
}' *.[ch] lib/*.[ch] mq/*.[ch] sub/*.[ch] ta/*.[ch])" ''

# Some systems take what ctype.h is given as a subscript.
is 'no plain char goes to ctype.h' "$(cd "$top" && grep -nE \
    '(^|[^a-z_])(is(alnum|alpha|cntrl|digit|graph|lower|print|punct|space|upper|xdigit)|to(lower|upper))\((\*|[a-z_>.-]+\[)' \
    *.c */*.c t/fuzz/*.c)" ''
finish
