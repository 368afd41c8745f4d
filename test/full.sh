#!/usr/bin/env bash
# Runs the long proofs that are named, one after the other, and goes on after one that fails. The end is a table: what
# passed, what failed, how long each took, and what was left out and why. `make test-full` calls it.
set -uo pipefail

declare -A what=(
  [long]="the tests of the main module that cost most, which make test leaves out"
  [race]="every package of the main module with the race detector"
  [kubernetes]="Moult on each Kubernetes from the oldest to the newest that is supported"
  [faults]="every fault there is, before and after the gate is asked for, and all kills"
  [simulation]="20,000 schedules with API servers that lag"
  [collector]="owner references and storage migrations beside the real kube-controller-manager"
  [e2e]="the real Argo CD and Flux"
  [kubevirt]="KubeVirt's stashed copies, judged by KubeVirt's own conversions"
  [operators]="Cluster API's own conversions through moult test conversion"
  [health]="health checks in Argo CD, its sync engine and Flux give the same verdicts; lints what stands on Argo CD"
  [bench]="what measures is tested itself"
  [site]="every link and anchor of the site that README and docs become"
  [page]="the preview's page and the site in headless Chromium"
  [chart]="the Helm chart, installed, upgraded and uninstalled on an API server by Helm's own library"
  [newcomer]="the commands of docs/install.md, from install.yaml to a migrated CRD, with kubectl"
  [docs]="the guides of docs/guides, block by block, with kubectl and the controller"
  [scripts]="the scripts of examples/ci, against GitHub and GitLab played on loopback; curl and jq"
  [image]="what is in the container image and in a release, its signatures, and krew"
)
all=(long race kubernetes faults simulation collector e2e kubevirt operators health bench site page chart newcomer docs scripts image)

read -ra parts <<<"${*//,/ }" # a list with commas is a list, too
set -- "${parts[@]}"
failed=0 table=""
for part in "$@"; do
  if [ -z "${what[$part]:-}" ]; then
    printf 'no part is called "%s"; there are: %s\n' "$part" "${all[*]}" >&2
    exit 2
  fi
done
for part in "$@"; do
  printf '\n=== %s: %s\n' "$part" "${what[$part]}"
  began=$SECONDS result=passed
  "${MAKE:-make}" --no-print-directory "full-$part" || { result=FAILED; failed=1; }
  table+=$(printf '  %-12s %-8s %5d s' "$part" "$result" $((SECONDS - began)))$'\n'
done

printf '\n=== long proofs, %d s\n%s' "$SECONDS" "$table"
for part in "${all[@]}"; do
  [[ " $* " == *" $part "* ]] || printf '  %-12s left out: PARTS does not name it\n' "$part"
done
printf '  %-12s left out: it downloads half a gigabyte of modules; run make real\n' real
printf '  %-12s left out: it needs clones of repositories; run make histories CLONES=folder\n' histories
exit $failed
