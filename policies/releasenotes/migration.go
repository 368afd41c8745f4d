package releasenotes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// migration are the steps from objects stored at an old version to a CRD without it: opt in, store at the new version
// and wait, remove behind a gate. A release may ask for any part of them.
func migration(crd crddiff.Diff, base, head, labelKey string) []Step {
	return append(fields(crd, head), stages(crd, base, head, labelKey)...)
}

// fields: those that objects lose when they are stored at the new version, where nothing converts them.
func fields(crd crddiff.Diff, head string) []Step {
	var lost []string
	for _, c := range crd.Changes {
		if c.Rule == crddiff.FieldLost && c.Severity == finding.Error && !crdschema.InStatus(c.Field) {
			lost = append(lost, c.Field)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []Step{{
		Text: fmt.Sprintf("Move the values of %s: %s does not have %s, and Moult rewrites nothing while an object uses %s (%s). What may be lost is named in the CRD's annotation %s. See which objects use what:",
			words.Few(words.Of(words.Distinct(lost), code), maxLost), code(crd.Head.Storage), words.Agree(len(lost), "it", "them"), words.Agree(len(lost), "it", "one of them"),
			code(v1alpha1.ReasonFieldsWouldBeLost), code(v1alpha1.AllowFieldLossAnnotation)),
		Language: "sh", Code: "moult rehearse --crds " + words.Shell(head),
	}}
}

// maxLost is how many fields a step names.
const maxLost = 10

func stages(crd crddiff.Diff, base, head, labelKey string) []Step {
	removed, flipped := crd.Removed, crd.Flips()
	stored := flipped && slices.Contains(removed, crd.Base.Storage)
	switch {
	case stored:
		return slices.Concat([]Step{bridge(crd, base, head)}, []Step{wait(crd)}, []Step{look(crd, removed)}, []Step{gate(crd, removed)})
	case len(removed) > 0 && flipped:
		return []Step{optIn(crd, labelKey, true), wait(crd), look(crd, removed), gate(crd, removed), {Text: fmt.Sprintf("Apply this release. It stores at %s; wait once more before a later release removes %s.", code(crd.Head.Storage), code(crd.Base.Storage))}}
	case len(removed) > 0:
		return []Step{optIn(crd, labelKey, true), wait(crd), look(crd, removed), gate(crd, removed)}
	case flipped:
		return []Step{optIn(crd, labelKey, false), {Text: "Apply this release."}, wait(crd), {
			Text: fmt.Sprintf("From then on a release may remove %s, in a commit that adds a VersionRemoval in an earlier wave.", code(crd.Base.Storage)),
		}}
	default:
		return nil
	}
}

// optIn: before is about the CRD as it was, else about the one of this release.
func optIn(crd crddiff.Diff, labelKey string, before bool) Step {
	shape, whose := crd.Head, "The CRD of this release carries"
	if before {
		shape, whose = crd.Base, "The CRD of the release before carries"
	}
	if shape.OptedIn() {
		return Step{Text: whose + " the opt-in label, so that Moult migrates its objects."}
	}
	return Step{
		Text: "Opt in, in Git: add the label to the CRD.", Language: "yaml",
		Code: fmt.Sprintf("metadata:\n  name: %s\n  labels:\n    %s: %q", crd.Name, labelKey, v1alpha1.MigrateLabelValue),
	}
}

func wait(crd crddiff.Diff) Step {
	return Step{
		Text:     fmt.Sprintf("Wait until %s is True for the CRD; without Moult's controller in the cluster, `moult migrate` does the work.", code(v1alpha1.StorageMigrated)),
		Language: "sh", Code: "moult status --watch " + crd.Name,
	}
}

// look: what else names the versions is in no CRD, so these notes cannot know of it.
func look(crd crddiff.Diff, removed []string) Step {
	return Step{
		Text:     fmt.Sprintf("Look for what else in the cluster names %s, such as owner references, webhooks, policies and stashed copies, and move it.", list(removed, "or")),
		Language: "sh", Code: fmt.Sprintf("moult survivors %s --version %s --secrets", crd.Name, strings.Join(removed, ",")),
	}
}

func gate(crd crddiff.Diff, removed []string) Step {
	plural, _, _ := strings.Cut(crd.Name, ".")
	return Step{
		Text: "Apply this release in a commit that adds a VersionRemoval in an earlier sync wave (Argo CD), or in a Kustomization that the CRD's Kustomization lists under `dependsOn` (Flux). " +
			"It becomes Ready when no object is stored at what goes, and the wave behind it goes on by itself.",
		Language: "yaml",
		Code: fmt.Sprintf(`apiVersion: moult.dev/v1alpha1
kind: VersionRemoval
metadata:
  name: %s-%s
  namespace: YOUR-NAMESPACE
  annotations:
    argocd.argoproj.io/sync-wave: "-1" # the CRD is in wave 0
spec:
  crdName: %s
  versions: [%s]`, plural, strings.Join(removed, "-"), crd.Name, strings.Join(removed, ", ")),
	}
}

// bridge: the release cannot be applied to a cluster that has the one before.
func bridge(crd crddiff.Diff, base, head string) Step {
	return Step{
		Text: fmt.Sprintf("This release cannot be applied to a cluster that has the one before: apply a CRD that has %s and stores at %s first. It carries the opt-in label.",
			list(append(crd.Removed, crd.Head.Storage), "and"), code(crd.Head.Storage)),
		Language: "sh", Code: fmt.Sprintf("moult bridge --base %s --head %s --crd %s > bridge.yaml\nkubectl apply --server-side -f bridge.yaml", words.Shell(base), words.Shell(head), crd.Name),
	}
}

// dryRun are what to try.
func dryRun(crds []crddiff.Diff) []Command {
	var migrated []string
	applied := false
	for _, crd := range crds {
		applied = applied || crd.Head != nil
		if crd.Flips() || len(crd.Removed) > 0 {
			migrated = append(migrated, crd.Name)
		}
	}
	var commands []Command
	if applied {
		commands = append(commands, Command{"kubectl apply --server-side --dry-run=server -f CRDS", "whether the API server would take the CRDs of this release; CRDS is the file or folder that holds them"})
	}
	if len(migrated) > 0 {
		commands = append(commands, Command{"moult migrate --dry-run " + strings.Join(migrated, " "), "whether every stored object could be rewritten, and which webhook or rule would refuse one"})
	}
	return commands
}
