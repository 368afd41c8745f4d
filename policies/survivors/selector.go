package survivors

import (
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Selector selects resources: "all"; <plural>.<group>, as a CRD is called, or just the plural in the core group, where
// the plural may be * and so may be the group. Or category:<name>, as API discovery lists categories.
type Selector string

// All selects every resource, and Secrets the one that is read only on demand.
const (
	All     Selector = "all"
	Secrets Selector = "secrets"
)

const category = "category:"

// AnyCategory is among the categories of a resource that may be in each, since it has more than are read.
const AnyCategory = "*"

// Resource is a resource as API discovery lists it.
type Resource struct {
	schema.GroupResource
	Categories []string
}

// selects reports whether a resource is selected.
func (s Selector) selects(r Resource) bool {
	if s == All {
		return true
	}
	if name, ok := strings.CutPrefix(string(s), category); ok {
		return slices.Contains(r.Categories, name) || slices.Contains(r.Categories, AnyCategory)
	}
	plural, group, _ := strings.Cut(string(s), ".")
	return matches(plural, r.Resource) && matches(group, r.Group)
}

// matches compares with a pattern, in which * is any text.
func matches(pattern, text string) bool {
	ok, err := path.Match(pattern, text)
	return ok && err == nil
}

// In reports whether objects of a resource have the place.
func (p *Place) In(r Resource) bool {
	return slices.ContainsFunc(p.Resources, func(s Selector) bool { return s.selects(r) })
}

// ResourcesOf are the resources that places name, each once and sorted. Places in all resources, in a category or by a pattern name none.
func ResourcesOf(places []Place) (named []schema.GroupResource) {
	for i := range places {
		for _, s := range places[i].Resources {
			of := schema.ParseGroupResource(string(s))
			if s != All && !strings.HasPrefix(string(s), category) && !strings.Contains(string(s), anything) {
				named = append(named, of)
			}
		}
	}
	slices.SortFunc(named, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(named)
}

// Condition is what an object's metadata must be. All that is set has to hold.
type Condition struct {
	// Labels that the object has; the value * is any.
	Labels map[string]string `json:"labels,omitempty"`
	// Lacks are labels that it does not have.
	Lacks []string `json:"lacks,omitempty"`
	// Owners are kinds with their groups, such as VirtualMachine.kubevirt.io, of which one owns the object.
	Owners []string `json:"owners,omitempty"`
	// Names are patterns of which the object's name matches one; * is any text without a slash.
	Names []string `json:"names,omitempty"`
}

// holds looks at an object's metadata.
func (c Condition) holds(o *metadata) bool {
	for key, want := range c.Labels {
		if got, has := o.labels[key]; !has || !matches(want, got) {
			return false
		}
	}
	for _, key := range c.Lacks {
		if _, has := o.labels[key]; has {
			return false
		}
	}
	isOwner := func(owner string) bool { return slices.Contains(c.Owners, owner) }
	isName := func(pattern string) bool { return matches(pattern, o.name) }
	return (len(c.Owners) == 0 || slices.ContainsFunc(o.owners, isOwner)) && (len(c.Names) == 0 || slices.ContainsFunc(c.Names, isName))
}

// applies reports whether an object has the place, by its metadata.
func (p *Place) applies(o *metadata) bool {
	holds := func(c Condition) bool { return c.holds(o) }
	return (len(p.When) == 0 || slices.ContainsFunc(p.When, holds)) && !p.excludes(o)
}

// excludes reports whether the place is declared not to apply to an object.
func (p *Place) excludes(o *metadata) bool {
	return slices.ContainsFunc(p.Unless, func(c Condition) bool { return c.holds(o) })
}
