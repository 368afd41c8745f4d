#!/bin/sh
# Fetches the pull request and says on it what it would do to this cluster. SCRIPTS is the folder examples/ci/scripts of
# Moult in the image.
set -eu
git clone --quiet "$REPOSITORY" fleet
cd fleet
git fetch --quiet origin "$HEAD_SHA"
BASE=$(git merge-base "origin/$TARGET_BRANCH" "$HEAD_SHA") # what main has got since does not count
export BASE HEAD="$HEAD_SHA" NAME=production OUT=/tmp/moult-preview
"$SCRIPTS/preview.sh"
"$SCRIPTS/comment-github.sh" "$OUT/preview.md"
cat "$OUT/preview.json" 2>/dev/null || true # for whoever reads the log
# The Job has done its work, whatever the answer is: the comment says it.
