#!/usr/bin/env bash
# Publishes what `make release` has written: pushes the image and the chart to the registries of owner.env, and has cosign sign
# both, and the checksums. Without a key the signatures are keyless: they are those of the workflow that runs this.
#
#   publish.sh VERSION DIST
#
#   CRANE, HELM, COSIGN   the programs
#   OWNER                 another file in place of owner.env
#   KEY                   a private key of cosign, for a release without the public transparency log
#   HELM_FLAGS            --plain-http for a registry without TLS
set -euo pipefail
version=${1:?name the version, such as v0.1.0} dist=${2:?name the folder of the release}
# shellcheck source=owner.env
. "${OWNER:-$(dirname "$0")/owner.env}"

sign=(--yes)
[ -z "${KEY:-}" ] || sign+=(--key "$KEY" --use-signing-config=false --tlog-upload=false)

"$COSIGN" sign-blob "${sign[@]}" --bundle "$dist/checksums.txt.sigstore.json" "$dist/checksums.txt" >/dev/null

oci=$(mktemp -d)
trap 'rm -rf "$oci"' EXIT
tar -xzf "$dist/moult-controller-${version#v}.oci.tar.gz" -C "$oci"
# By the digests of what was pushed: a tag could be moved before the signature.
image=$("$CRANE" push "$oci" "$IMAGE:$version")
# shellcheck disable=SC2086 # flags
chart=$("$HELM" push "$dist/moult-${version#v}.tgz" "$CHARTS" ${HELM_FLAGS:-} 2>&1 | tee /dev/stderr | sed -n 's/^Digest: //p')

for pushed in "$image" "${CHARTS#oci://}/moult@${chart:?helm push names no digest}"; do
	"$COSIGN" sign "${sign[@]}" "$pushed"
	echo "published $pushed"
done
