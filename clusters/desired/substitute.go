package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/envsubst"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/finding"
)

// waits tells whether a Kustomization takes variables from a ConfigMap that no unit so far holds, but another may.
func (f *follower) waits(p pointer) bool {
	return slices.ContainsFunc(entries(p.by.Unstructured, "spec", "postBuild", "substituteFrom"), func(from *unstructured.Unstructured) bool {
		return text(from, "kind") == "ConfigMap" && f.configMap(p.by.GetNamespace(), text(from, "name")) == nil
	})
}

func (f *follower) configMap(namespace, name string) *unstructured.Unstructured {
	for _, unit := range f.cluster.Units {
		for _, object := range unit.Objects {
			if object.is("", "ConfigMap") && object.GetName() == name && object.GetNamespace() == namespace {
				return object.Unstructured
			}
		}
	}
	return nil
}

// variables are what Flux puts in place of ${…}, those of substitute over those of substituteFrom. From a Secret, or
// from a ConfigMap that is not in this repository, they cannot be known: then some are missing.
func (f *follower) variables(by *Object) (values map[string]string, missing []string) {
	values = map[string]string{}
	for _, from := range entries(by.Unstructured, "spec", "postBuild", "substituteFrom") {
		kind, name := text(from, "kind"), text(from, "name")
		found := f.configMap(by.GetNamespace(), name)
		if kind != "ConfigMap" || found == nil {
			missing = append(missing, kind+" "+name)
			continue
		}
		maps.Copy(values, texts(found, "data"))
	}
	maps.Copy(values, texts(by.Unstructured, "spec", "postBuild", "substitute"))
	return values, missing
}

// substitute does what spec.postBuild says, as far as it can be known.
func (f *follower) substitute(u *Unit) error {
	values, missing := f.variables(u.By)
	if len(values)+len(missing) == 0 && text(u.By.Unstructured, "spec", "postBuild", "substituteStrategy") != "Always" {
		return nil
	}
	unknown := map[string]bool{}
	matters := false
	for _, object := range u.Objects {
		const setting = "kustomize.toolkit.fluxcd.io/substitute"
		if object.GetAnnotations()[setting] == "disabled" || object.GetLabels()[setting] == "disabled" {
			continue
		}
		of, err := substituteIn(object, values, len(missing) == 0)
		if err != nil {
			return fmt.Errorf("variables of %s %s cannot be substituted: %w", object.GetKind(), object.GetName(), err)
		}
		object.variables = len(of) > 0
		for _, name := range of {
			unknown[name] = true
			matters = matters || object.matters()
		}
	}
	if len(unknown) > 0 {
		severity := finding.Info
		if matters {
			severity = finding.Warning
		}
		f.cluster.find(VariableUnknown, severity, u.By, []string{"spec", "postBuild", "substituteFrom"},
			fmt.Sprintf("%s puts in values for %s that are not in this repository (%s)", u.Name, strings.Join(slices.Sorted(maps.Keys(unknown)), ", "), strings.Join(missing, ", ")),
			"give the variables defaults, as in ${name:=value}, or keep them in a ConfigMap in Git")
	}
	return nil
}

// matters tells whether an object decides about CRDs, gates or what Flux and Argo CD apply.
func (o *Object) matters() bool {
	return isCRD(o.Unstructured) || o.is("moult.dev", "VersionRemoval") || delivers(o)
}

// substituteIn changes an object as Flux does, by its text. What has no value becomes empty with Flux; it stays as it is
// here if it may have one that cannot be known, and is returned.
func substituteIn(object *Object, values map[string]string, complete bool) ([]string, error) {
	raw, err := yaml.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(raw), "$") {
		return nil, nil
	}
	unknown := map[string]bool{}
	changed, err := envsubst.Eval(string(raw), func(name string) (string, bool) {
		value, known := values[name]
		if !known && !complete {
			unknown[name] = true
		}
		return value, true
	})
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		return slices.Collect(maps.Keys(unknown)), nil
	}
	content := &unstructured.Unstructured{}
	raw, err = yaml.YAMLToJSON([]byte(changed))
	if err == nil {
		err = content.UnmarshalJSON(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("it is no manifest afterwards: %w", err)
	}
	object.Unstructured = content
	return nil, nil
}
