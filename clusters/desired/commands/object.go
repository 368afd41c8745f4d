package commands

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/moult-dev/moult/clusters/desired/kinds"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/delivery"
)

// InObject is what commands in an object install or delete, and the objects in it that have something applied once somebody applies these;
// empty if there are none.
func InObject(object *delivery.Object) string { return inScripts(object) + inside(object) }

func inScripts(object *delivery.Object) string {
	says := maps.Clone(object.Object)
	delete(says, "metadata")
	delete(says, "status")
	for _, key := range []string{"data", "binaryData"} {
		if packed, _ := says[key].(map[string]any); object.Is("", "Secret") || key == "binaryData" {
			says[key] = unpacked(packed)
		}
	}
	raw, err := json.Marshal(says)
	if err != nil || !MayRun(raw) && !bytes.Contains(raw, []byte("crd")) {
		return ""
	}
	text, _ := yaml.Marshal(says) // lines, as a person writes them
	found := In("object.yaml", text)
	if found.About+found.Applied == "" {
		return ""
	}
	return found.About + given(says)
}

// unpacked are texts in base64 as they are mounted.
func unpacked(packed map[string]any) map[string]any {
	plain := map[string]any{}
	for key, value := range packed {
		text, _ := value.(string)
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil && utf8.Valid(decoded) {
			value = string(decoded)
		}
		plain[key] = value
	}
	return plain
}

// given is what an object with commands fetches before these run, and what it gives them: artifacts, volumes of images, containers that come
// first, parameters.
func given(says map[string]any) (text string) {
	for at, value := range crdschema.Each(says) {
		if len(at) == 0 {
			continue
		}
		volume, _ := value.(map[string]any)
		isFirst := slices.Contains([]any{"initContainers", "artifacts", "params", "parameters"}, at.Last())
		if isFirst || len(at) > 1 && at[len(at)-2] == "volumes" && (volume["image"] != nil || volume["gitRepo"] != nil || volume["csi"] != nil) {
			content, err := json.Marshal(value)
			text += fmt.Sprintln(string(content), err)
		}
	}
	return text
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

// namesInstaller reports whether a text names such a kind, and its group.
func namesInstaller(text string) bool {
	return kinds.NamesInstaller(text) || strings.Contains(text, "argoproj.io/v1alpha1") && application.MatchString(text) || strings.Contains(text, "kustomize.toolkit.fluxcd.io")
}

var application = regexp.MustCompile(`kind["']?\s*:\s*["']?Application(?:Set)?\b`)
