#!/bin/sh
# Installs a release of moult for this machine: downloads the archive, verifies its checksum and the signature of the
# checksums, and unpacks it.
#
#   install.sh FOLDER
#
#   VERSION      which one, such as v0.1.0
#   RELEASES     where the releases are, default those of the project
#   PUBLIC_KEY   a file with the key that signed the release, in PEM; this takes openssl
#   IDENTITY     without a key: the workflow that signed the release, default that of the project; this takes cosign
#   CACHE        a folder that keeps the downloads for the next time; they are verified again
#   RUNNER_OS    the platform; GitHub sets these two, and uname has it elsewhere
#   RUNNER_ARCH
#
# It needs curl, tar (unzip on Windows), and sha256sum or shasum.
set -eu

folder=${1:?name the folder to install into}
: "${VERSION:?set VERSION to a release, such as v0.1.0}"
releases=${RELEASES:-https://github.com/moult-dev/moult/releases/download}
identity=${IDENTITY:-https://github.com/moult-dev/moult/.github/workflows/release.yml@refs/tags/$VERSION}

fail() {
	echo "install.sh: $1; nothing is installed" >&2
	exit 1
}

case ${RUNNER_OS:-$(uname -s)} in
Linux) os=linux ;;
macOS | Darwin) os=darwin ;;
Windows | MINGW* | MSYS*) os=windows ;;
*) os=${RUNNER_OS:-$(uname -s)} ;;
esac
case ${RUNNER_ARCH:-$(uname -m)} in
X64 | x86_64) arch=amd64 ;;
ARM64 | arm64 | aarch64) arch=arm64 ;;
*) arch=${RUNNER_ARCH:-$(uname -m)} ;;
esac
case $os in
windows) archive=moult_${VERSION#v}_${os}_$arch.zip program=moult.exe ;;
*) archive=moult_${VERSION#v}_${os}_$arch.tar.gz program=moult ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cache=${CACHE:-$work}/$VERSION
mkdir -p "$cache" "$folder"

# get FILE downloads a file of the release, unless the cache has it.
get() {
	[ -s "$cache/$1" ] || {
		curl -fsSL --max-time 300 --retry 2 -o "$work/part" "$releases/$VERSION/$1" 2>"$work/error" ||
			fail "$1 cannot be downloaded from $releases/$VERSION ($(tail -n 1 "$work/error"))"
		mv "$work/part" "$cache/$1"
	}
}

# refuse forgets what was downloaded.
refuse() {
	rm -f "$cache"/*
	fail "$1"
}

sum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1; }

sums=$cache/checksums.txt bundle=$cache/checksums.txt.sigstore.json
get checksums.txt
get checksums.txt.sigstore.json
if [ -n "${PUBLIC_KEY:-}" ]; then
	[ -s "$PUBLIC_KEY" ] || fail "PUBLIC_KEY names $PUBLIC_KEY, which is no file or is empty"
	command -v openssl >/dev/null || fail "there is no openssl to verify the signature with"
	tr -d ' \t\r\n' <"$bundle" | sed -n 's/.*"messageSignature":{\("messageDigest":{[^}]*},\)\{0,1\}"signature":"\([^"]*\)".*/\2/p' | openssl base64 -d -A >"$work/signature"
	openssl dgst -sha256 -verify "$PUBLIC_KEY" -signature "$work/signature" "$sums" >/dev/null 2>&1 ||
		refuse "checksums.txt of $VERSION is not signed by the key in $PUBLIC_KEY"
else
	command -v cosign >/dev/null || fail "there is no cosign to verify the signature with; install it, or set PUBLIC_KEY if the release is signed with a key"
	cosign verify-blob --bundle "$bundle" --certificate-identity "$identity" \
		--certificate-oidc-issuer https://token.actions.githubusercontent.com "$sums" >"$work/error" 2>&1 ||
		refuse "checksums.txt of $VERSION is not signed by $identity ($(tail -n 1 "$work/error"))"
fi

# A line of checksums.txt is a sum, a blank, a blank or an asterisk, and a name.
expected=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$archive\$/\1/p" "$sums")
[ -n "$expected" ] ||
	fail "$VERSION has no build for $os/$arch; it has $(sed -n 's/^.* [ *]moult_[^_]*_\([a-z0-9]*\)_\([a-z0-9]*\)\..*/\1\/\2/p' "$sums" | tr '\n' ' ' | sed 's/ $//; s/ /, /g')"
get "$archive"
[ "$(sum "$cache/$archive")" = "$expected" ] || refuse "$archive is not what checksums.txt of $VERSION says"

case $os in
windows) unzip -q -o "$cache/$archive" "$program" -d "$work" ;;
*) tar -xzf "$cache/$archive" -C "$work" "$program" ;;
esac
chmod 755 "$work/$program"
mv "$work/$program" "$folder/$program"
echo "moult $VERSION for $os/$arch is in $folder"
