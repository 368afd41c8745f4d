#!/bin/sh
# Puts moult into a folder, unless it is on the PATH already: a released binary where there is one, and else it is built,
# which takes Go.
#
#   install.sh FOLDER
#
#   VERSION    which one, such as v0.2.0
#   RELEASES   where the released binaries are, default that of the project
#   MODULE     what is built, default github.com/moult-dev/moult/cmd/moult
#
# A release has moult_OS_ARCH and checksums.txt. It needs curl and sha256sum, or Go.
set -eu

folder=${1:?name the folder to put it into}
: "${VERSION:?set VERSION to a release, such as v0.2.0}"
module=${MODULE:-github.com/moult-dev/moult/cmd/moult}
releases=${RELEASES:-https://github.com/moult-dev/moult/releases/download}

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

if command -v moult >/dev/null; then
	echo "moult is $(command -v moult)"
	exit 0
fi
mkdir -p "$folder"
os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) arch=$(uname -m) ;;
esac
binary=moult_${os}_$arch

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# get FILE: true if the release has it.
get() { curl -fsSL --max-time 300 --retry 2 -o "$work/$1" "$releases/$VERSION/$1" 2>"$work/error"; }

if get checksums.txt && get "$binary"; then
	(cd "$work" && grep " [ *]\{0,1\}$binary\$" checksums.txt >expected && sha256sum -c expected >/dev/null 2>&1) ||
		fail "$binary of $VERSION is not what its checksums.txt says; nothing is installed"
	chmod 755 "$work/$binary"
	mv "$work/$binary" "$folder/moult"
	echo "moult $VERSION is in $folder"
	exit 0
fi
command -v go >/dev/null || fail "there is no $binary of $VERSION at $releases ($(tail -n 1 "$work/error")), and no Go to build it; set up Go before, or put moult on the PATH"
echo "there is no $binary of $VERSION; building it"
GOBIN=$(cd "$folder" && pwd) go install "$module@$VERSION"
