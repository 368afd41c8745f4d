package delivery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

// CRD is a CustomResourceDefinition as a manifest says it, and the unit that applies it; nil if there is none.
type CRD struct {
	*Object

	Unit *Unit
}

// CRDs are those among objects, in their order.
func CRDs(objects []*Object) []CRD { return (&Unit{Objects: objects}).CRDs() }

// CRDs are those that the unit applies, in their order.
func (u *Unit) CRDs() []CRD {
	var found []CRD
	for _, object := range u.Objects {
		if object.IsCRD() {
			found = append(found, CRD{Object: object, Unit: u})
		}
	}
	return found
}

// CRDs are all that the cluster would get, by name, then in the order of the units. A name stands there twice if two
// units apply it, which is a finding, too.
func (c *Cluster) CRDs() []CRD {
	var found []CRD
	for _, unit := range c.Units {
		found = append(found, unit.CRDs()...)
	}
	slices.SortStableFunc(found, func(a, b CRD) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

// CRD is the first CRD of a name, nil if the cluster would get none.
func (c *Cluster) CRD(name string) *Object {
	for _, object := range c.Objects() {
		if object.IsCRD() && object.GetName() == name {
			return object
		}
	}
	return nil
}

// LastCRD is the last CRD of a name with the unit that brings it, nil if the cluster would get none.
func (c *Cluster) LastCRD(name string) (last *CRD) {
	for unit, object := range c.Objects() {
		if object.IsCRD() && object.GetName() == name {
			last = &CRD{Object: object, Unit: unit}
		}
	}
	return last
}

// leftAlone are annotations, or labels with Flux, with which a tool does not bring an object that the cluster has up to date.
// https://fluxcd.io/flux/components/kustomize/kustomizations/#controlling-the-apply-behavior-of-resources
// https://argo-cd.readthedocs.io/en/stable/user-guide/resource_hooks/
var leftAlone = map[string][]string{
	"kustomize.toolkit.fluxcd.io/reconcile": {"disabled"},
	"kustomize.toolkit.fluxcd.io/ssa":       {"Ignore", "IfNotPresent"},
	"argocd.argoproj.io/skip-reconcile":     {"true"},
	ArgoCDHook:                              {Skip},
}

// LeftAlone is the annotation, or the label, with which an object is not brought up to date, empty if it has none.
func (o *Object) LeftAlone() string {
	for _, key := range slices.Sorted(maps.Keys(leftAlone)) {
		for _, value := range []string{o.Annotation(key), o.Text("metadata", "labels", key)} {
			if slices.ContainsFunc(leftAlone[key], func(v string) bool { return strings.EqualFold(v, value) }) {
				return key + ": " + value
			}
		}
	}
	return ""
}

// Waits reports whether what the manifest says need not have reached the cluster: its tool does not look at the unit for now, or is
// to leave the CRD alone.
func (c CRD) Waits() bool { return c.LeftAlone() != "" || c.Unit.Suspended }

// Versions are all names in spec.versions, in their order.
func (c CRD) Versions() []string {
	return words.Of(c.Entries("spec", "versions"), func(version *Object) string { return fmt.Sprint(version.Field("name")) })
}

// Label is the value of the opt-in label, nil if there is none; a manifest may hold something else than a string.
func (c CRD) Label(key string) any { return c.Field("metadata", "labels", key) }

// OptedIn reports whether the label opts the CRD in.
func (c CRD) OptedIn(key string) bool { return c.Label(key) == v1alpha1.MigrateLabelValue }

// Excluded reports whether the CRD is left out on purpose.
func (c CRD) Excluded(key string) bool { return c.Label(key) == v1alpha1.MigrateLabelExcluded }
