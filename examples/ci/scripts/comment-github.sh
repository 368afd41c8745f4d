#!/bin/sh
# Posts a file as a comment on a pull request at GitHub, or updates the comment whose first line is the same.
#
#   comment-github.sh FILE
#
# A pull request from a fork has no token that may write: then the file goes to the job's summary.
#
#   GITHUB_TOKEN         of a job with the permission pull-requests: write
#   PULL_REQUEST         its number
#   GITHUB_REPOSITORY    owner/name; GitHub sets it, and the two below
#   GITHUB_API_URL
#   GITHUB_STEP_SUMMARY
#   AUTHOR               whose comments are updated, default github-actions[bot]
#
# It needs curl and jq.
set -eu

file=${1:?name the file to post}
: "${GITHUB_REPOSITORY:?}" "${GITHUB_API_URL:?}" "${PULL_REQUEST:?set PULL_REQUEST to the number of the pull request}"
repository=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY
author=${AUTHOR-github-actions[bot]}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
marker=$(head -n 1 "$file")
jq -n --rawfile body "$file" '{body: $body}' >"$work/comment"

# summarize says why there is no comment, and puts the file where it can be read.
summarize() {
	echo "::notice::$1; the preview is in the summary of this job"
	cat "$file" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
	exit 0
}

[ -n "${GITHUB_TOKEN:-}" ] || summarize "there is no token to comment with"
# The token is in a file, since anyone on the machine can read a command line.
(
	umask 077
	printf 'Authorization: Bearer %s\nAccept: application/vnd.github+json\n' "$GITHUB_TOKEN" >"$work/headers"
)

# ask METHOD URL [curl's arguments]: the answer goes to $work/answer, and its status to $status.
ask() {
	method=$1 url=$2
	shift 2
	status=$(curl -sS --max-time 60 -H @"$work/headers" -o "$work/answer" -w '%{http_code}' -X "$method" "$@" "$url") ||
		fail "GitHub cannot be reached"
}

fail() {
	echo "comment-github.sh: $1" >&2
	exit 1
}

# refused says what GitHub said.
refused() {
	fail "GitHub answered $status to $method $url: $(jq -r '.message? // empty' "$work/answer" 2>/dev/null || head -c 300 "$work/answer")"
}

# The first comment of the author's that begins with the marker. GitHub gives at most 100 at a time.
id=
page=1
while [ -z "$id" ]; do
	ask GET "$repository/issues/$PULL_REQUEST/comments?per_page=100&page=$page"
	[ "$status" = 200 ] || refused
	# shellcheck disable=SC2016 # $marker and $author are jq's
	id=$(jq -r --arg marker "$marker" --arg author "$author" '
		first(.[] | select((.body // "" | split("\n")[0] | rtrimstr("\r")) == $marker and ($author == "" or .user.login == $author)) | .id) // empty' "$work/answer" 2>/dev/null) ||
		fail "GitHub's answer to $method $url is no list of comments"
	[ "$(jq length "$work/answer")" -eq 100 ] || break
	page=$((page + 1))
done

# Where there is nothing to say, only a comment from before is put right.
if [ -z "$id" ] && [ "$(sed -n 2p "$file")" = "<!-- moult preview has nothing to say -->" ]; then
	sed -n 3p "$file" | sed 's/^#* *//' >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
	echo "no comment: nothing that matters changes"
	exit 0
fi

if [ -n "$id" ]; then
	ask PATCH "$repository/issues/comments/$id" --data-binary @"$work/comment"
else
	ask POST "$repository/issues/$PULL_REQUEST/comments" --data-binary @"$work/comment"
fi
case $status in
200 | 201) echo "commented: $(jq -r '.html_url // "done"' "$work/answer")" ;;
401 | 403) summarize "this job may not comment on the pull request (GitHub answered $status), as is so with forks; else give it the permission pull-requests: write" ;;
*) refused ;;
esac
