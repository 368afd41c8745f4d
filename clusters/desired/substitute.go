package desired

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
)

// waits reports whether a Kustomization takes variables from a ConfigMap, or its manifests from an artifact, that no unit so far
// holds or makes, but another may.
func (f *follower) waits(p pointer) bool {
	if from := p.by.SourceRef(); from.Kind == "ExternalArtifact" && !f.artifactIsSeen(from) {
		return true
	}
	return slices.ContainsFunc(p.by.Entries("spec", "postBuild", "substituteFrom"), func(from *delivery.Object) bool {
		return from.Text("kind") == "ConfigMap" && f.known.Held("ConfigMap", p.by.GetNamespace(), from.Text("name")) == nil
	})
}

// substitute does what spec.postBuild says, and reports what is not known for it.
func (f *follower) substitute(u *delivery.Unit) error {
	unknown, err := f.known.SubstituteAll(u.By, u.Objects)
	if err != nil || len(unknown.Names) == 0 {
		return err
	}
	severity := finding.Info
	if unknown.Matters {
		severity = finding.Warning
	}
	f.find(VariableUnknown, severity, u.By, []string{"spec", "postBuild", "substituteFrom"},
		fmt.Sprintf("%s puts in values for %s that are not in this repository (%s)", u.Name, strings.Join(unknown.Names, ", "), strings.Join(unknown.Missing, ", ")),
		"give the variables defaults, as in ${name:=value}, or keep them in a ConfigMap in Git")
	return nil
}
