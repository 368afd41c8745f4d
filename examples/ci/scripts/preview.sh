#!/bin/sh
# Runs `moult preview` for a pull request, and puts what it says into a folder:
#
#   preview.md        the comment; its first line is the marker by which it is found again
#   preview.html      the whole report as one page
#   preview.json      the same for programs
#   codequality.json  remarks for GitLab
#   exit-code         what moult ended with: 0 safe, 1 blocked, 2 error, 3 unknown, 4 warnings
#
# It ends with 0 whenever there is something to comment, so that the comment is made; decide by exit-code afterwards. An
# error of moult is a comment, too: otherwise the one of an earlier commit would stand there as if it were still true.
#
# Settings are environment variables. Lists have an entry a line.
#
#   BASE       revision before the pull request; required
#   HEAD       revision after it, default HEAD
#   FOLDER     folder of the repository to look at, default all of it
#   ENTRIES    list of entry points, such as clusters/production
#   SNAPSHOTS  list of NAME=FILE that `moult snapshot` wrote
#   CONTEXTS   list of NAME=CONTEXT of the kubeconfig, for clusters that can be asked
#   CHARTS     list of folders with charts, as NAME-VERSION.tgz or unpacked, that come before a registry
#   ALLOW_HOSTS  list of hosts that may be asked for charts and other repositories, beside those that the base names
#   TRUST_HEAD true to read acknowledgements and snapshots of the repository as the pull request has them, default false: as BASE
#              has them, since a fork's author would otherwise say that its own findings do not matter
#   FAIL_ON    the mildest verdict that fails: blocked, unknown (default) or warning
#   NAME       tells this preview from others on the same pull request
#   MAX_AGE    how old a snapshot may be without a warning, default 24h; 0 for any age
#   LINKS      where files can be read, as https://git.example.com/team/repo/blob/SHA/{file}#L{line}
#   ARTIFACT   address of the whole report, for the comment
#   FORMAT     what is printed: text (default), or annotations for GitHub
#   OUT        the folder, default moult-preview
#   MOULT      the program, default moult
set -eu

: "${BASE:?set BASE to the revision before the pull request}"
out=${OUT:-moult-preview}
name=${NAME:-default}
at=${FOLDER:+:$FOLDER}
mkdir -p "$out"
rm -f "$out/preview.md" "$out/preview.html" "$out/preview.json" "$out/codequality.json" "$out/exit-code"

set -- --base "git:$BASE$at" --head "git:${HEAD:-HEAD}$at" --marker "$name" -o "${FORMAT:-text}"
for format in markdown=preview.md html=preview.html json=preview.json codequality=codequality.json; do
	set -- "$@" --output "${format%%=*}=$out/${format#*=}"
done
[ "${TRUST_HEAD:-false}" != true ] || set -- "$@" --trust-head
[ -z "${FAIL_ON:-}" ] || set -- "$@" --fail-on "$FAIL_ON"
[ -z "${MAX_AGE:-}" ] || set -- "$@" --max-age "$MAX_AGE"
[ -z "${LINKS:-}" ] || set -- "$@" --links "$LINKS"
[ -z "${ARTIFACT:-}" ] || set -- "$@" --artifact "$ARTIFACT"

# A list's entries are split at line breaks only, and stay as they are.
set -f
newline='
'
IFS=$newline
for entry in ${ENTRIES:-}; do set -- "$@" --entry "$entry"; done
for entry in ${SNAPSHOTS:-}; do set -- "$@" --snapshot "$entry"; done
for entry in ${CONTEXTS:-}; do set -- "$@" --context "$entry"; done
for entry in ${CHARTS:-}; do set -- "$@" --charts "$entry"; done
for entry in ${ALLOW_HOSTS:-}; do set -- "$@" --allow-hosts "$entry"; done
unset IFS

code=0
"${MOULT:-moult}" preview "$@" 2>"$out/error" || code=$?
cat "$out/error" >&2
echo "$code" >"$out/exit-code"

if [ ! -s "$out/preview.md" ]; then
	[ "$code" -ne 0 ] || code=2 # nothing was said, so nothing is known
	echo "$code" >"$out/exit-code"
	{
		# The marker as moult writes it.
		printf '<!-- moult preview: %s -->\n' "$(printf %s "$name" | sed -e 's#[^A-Za-z0-9._/ -]\{1,\}#-#g' -e 's/--*/-/g')"
		printf '## The preview failed\n\nNothing is known about this pull request: `moult preview` ended with %s.\n\n' "$code"
		# Four spaces make it a block of code, whatever it says.
		tail -n 20 "$out/error" | cut -c 1-1000 | sed 's/^/    /'
	} >"$out/preview.md"
fi
rm -f "$out/error"
