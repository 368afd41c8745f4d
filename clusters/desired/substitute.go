package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/clusters/desired/flux"
	"github.com/moult-dev/moult/clusters/desired/kinds"
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
		return from.Text("kind") == "ConfigMap" && f.held("ConfigMap", p.by.GetNamespace(), from.Text("name")) == nil
	})
}

// valuesFor is what Flux puts in place of ${…}, those of substitute over those of substituteFrom. From a Secret, or
// from a ConfigMap that is not in this repository, they cannot be known: then some are missing.
func (f *follower) valuesFor(by *delivery.Object) (values map[string]string, missing []string) {
	values = map[string]string{}
	for _, from := range by.Entries("spec", "postBuild", "substituteFrom") {
		kind, name := from.Text("kind"), from.Text("name")
		found := f.held("ConfigMap", by.GetNamespace(), name)
		if kind != "ConfigMap" || found == nil {
			missing = append(missing, kind+" "+name)
			continue
		}
		maps.Copy(values, found.TextMap("data"))
	}
	maps.Copy(values, by.TextMap("spec", "postBuild", "substitute"))
	return values, missing
}

// substitute does what spec.postBuild says, as far as it can be known.
func (f *follower) substitute(u *delivery.Unit) error {
	values, missing := f.valuesFor(u.By)
	if len(values)+len(missing) == 0 && u.By.Text("spec", "postBuild", "substituteStrategy") != "Always" {
		return nil
	}
	unknown := map[string]bool{}
	important := false
	for _, object := range u.Objects {
		const setting = "kustomize.toolkit.fluxcd.io/substitute"
		if object.GetAnnotations()[setting] == "disabled" || object.GetLabels()[setting] == "disabled" {
			continue
		}
		of, err := flux.Substitute(object, values, len(missing) == 0)
		if err != nil {
			return fmt.Errorf("variables of %s %s cannot be substituted: %w", object.GetKind(), object.GetName(), err)
		}
		if len(of) > 0 {
			if f.templated == nil {
				f.templated = map[*delivery.Object]bool{}
			}
			f.templated[object] = true
		}
		for _, name := range of {
			unknown[name] = true
			important = important || kinds.Matters(object)
		}
	}
	if len(unknown) > 0 {
		severity := finding.Info
		if important {
			severity = finding.Warning
		}
		f.find(VariableUnknown, severity, u.By, []string{"spec", "postBuild", "substituteFrom"},
			fmt.Sprintf("%s puts in values for %s that are not in this repository (%s)", u.Name, strings.Join(slices.Sorted(maps.Keys(unknown)), ", "), strings.Join(missing, ", ")),
			"give the variables defaults, as in ${name:=value}, or keep them in a ConfigMap in Git")
	}
	return nil
}
