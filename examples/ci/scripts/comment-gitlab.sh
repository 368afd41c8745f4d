#!/bin/sh
# Posts a file as a note on a merge request at GitLab, or updates the note whose first line is the same.
#
#   comment-gitlab.sh FILE
#
# Without a token, as in a pipeline of a fork, the file goes to the job's log.
#
#   GITLAB_TOKEN           a project access token with the scope api; a job's own token may not write notes
#   CI_API_V4_URL          GitLab sets these three
#   CI_PROJECT_ID
#   CI_MERGE_REQUEST_IID
#
# It needs curl and jq.
set -eu

file=${1:?name the file to post}
: "${CI_API_V4_URL:?}" "${CI_PROJECT_ID:?}" "${CI_MERGE_REQUEST_IID:?run this in a pipeline of a merge request}"
notes=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
marker=$(head -n 1 "$file")

# print says why there is no note, and shows the file.
print() {
	echo "$1; this is the preview:"
	cat "$file"
	exit 0
}

[ -n "${GITLAB_TOKEN:-}" ] || print "there is no GITLAB_TOKEN to write a note with"
# The token is in a file, since anyone on the machine can read a command line.
(
	umask 077
	printf 'PRIVATE-TOKEN: %s\n' "$GITLAB_TOKEN" >"$work/headers"
)

# ask METHOD URL [curl's arguments]: the answer goes to $work/answer, and its status to $status.
ask() {
	method=$1 url=$2
	shift 2
	status=$(curl -sS --max-time 60 -H @"$work/headers" -o "$work/answer" -w '%{http_code}' -X "$method" "$@" "$url") ||
		fail "GitLab cannot be reached"
}

fail() {
	echo "comment-gitlab.sh: $1" >&2
	exit 1
}

# refused says what GitLab said.
refused() {
	fail "GitLab answered $status to $method $url: $(jq -r '.message? // .error? // empty | tostring' "$work/answer" 2>/dev/null || head -c 300 "$work/answer")"
}

ask GET "$CI_API_V4_URL/user"
[ "$status" = 200 ] || refused
author=$(jq -r .id "$work/answer")

# The first note of our own that begins with the marker. GitLab gives at most 100 at a time.
id=
page=1
while [ -z "$id" ]; do
	ask GET "$notes?sort=asc&per_page=100&page=$page"
	[ "$status" = 200 ] || refused
	# shellcheck disable=SC2016 # $marker and $author are jq's
	id=$(jq -r --arg marker "$marker" --arg author "$author" '
		first(.[] | select((.body // "" | split("\n")[0] | rtrimstr("\r")) == $marker and (.author.id | tostring) == $author) | .id) // empty' "$work/answer" 2>/dev/null) ||
		fail "GitLab's answer to $method $url is no list of notes"
	[ "$(jq length "$work/answer")" -eq 100 ] || break
	page=$((page + 1))
done

# Where there is nothing to say, only a note from before is put right.
if [ -z "$id" ] && [ "$(sed -n 2p "$file")" = "<!-- moult preview has nothing to say -->" ]; then
	sed -n 3p "$file" | sed 's/^#* *//'
	echo "no note: nothing that matters changes"
	exit 0
fi

if [ -n "$id" ]; then
	ask PUT "$notes/$id" --data-urlencode body@"$file"
else
	ask POST "$notes" --data-urlencode body@"$file"
fi
case $status in
200 | 201) echo "the note is written" ;;
401 | 403) print "the token may not write notes (GitLab answered $status); it needs the scope api and the role Reporter" ;;
*) refused ;;
esac
