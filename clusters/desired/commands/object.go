package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/delivery"
)

// InObject is what commands in an object install or delete, and the objects in it that have something applied once somebody applies these;
// empty if there are none.
func InObject(object *delivery.Object) string { return inScripts(object) + inside(object) }

func inScripts(object *delivery.Object) string {
	says := maps.Clone(object.Object)
	delete(says, "metadata")
	delete(says, "status")
	raw, err := json.Marshal(says)
	if err != nil || !MayRun(raw) && !bytes.Contains(raw, []byte("crd")) {
		return ""
	}
	text, _ := yaml.Marshal(says) // lines, as a person writes them
	return In("object.yaml", text).About
}

// inside are the objects in another one by which controllers install something, or that have such commands: those of a ConfigMap that a
// ClusterResourceSet has applied, or of a ManifestWork. What an object brings as a whole is not among them.
func inside(holder *delivery.Object) string {
	if kinds.Delivers(holder) || kinds.Installs(holder) && len(kinds.Becoming(holder)) == 0 {
		return ""
	}
	held, unread := holder.Holds(
		func(text string) bool {
			return strings.Contains(text, "apiVersion") && (namesInstaller(text) || MayRun([]byte(text)))
		},
		func(inner *delivery.Object) bool {
			return kinds.Delivers(inner) || kinds.Installs(inner) || inScripts(inner) != ""
		},
	)
	var about []string
	for _, inner := range held {
		text, err := json.Marshal(inner.Object) // with its keys in order
		about = append(about, string(text), fmt.Sprint(err))
	}
	for _, text := range unread {
		if namesInstaller(text) { // what commands are in it is known
			about = append(about, text)
		}
	}
	return strings.Join(about, "\n")
}

var installers = append(kinds.InstallerGroups(), "argoproj.io", "kustomize.toolkit.fluxcd.io")

func namesInstaller(text string) bool {
	return slices.ContainsFunc(installers, func(group string) bool { return strings.Contains(text, group) })
}
