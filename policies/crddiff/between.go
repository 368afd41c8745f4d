package crddiff

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/version"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/finding"
)

// newVersions holds each version that comes against the one that its users come from.
func newVersions(c *comparison) {
	limit := finding.Warning
	if c.converts() {
		limit = finding.Info
	}
	for _, v := range c.to.Versions {
		before := c.predecessor(v.Name)
		if c.from.Has(v.Name) || before == "" {
			continue
		}
		for _, change := range schemas(schemaOf(crds.Version(c.base, before)), schemaOf(crds.Version(c.head, v.Name))) {
			stored := c.flips() && before == c.from.Storage && v.Name == c.to.Storage
			if change.Rule == DescriptionsChanged || stored && change.Severity != finding.Info {
				continue // losses reports what becomes of objects that are stored
			}
			change.Version, change.Against = v.Name, before
			change.Severity = atMost(limit, change.Severity)
			if change.Rule == FieldRemoved {
				change.Why = c.gone(before, v.Name)
			}
			c.add(change)
		}
	}
}

// predecessor is the version that stays and comes next in Kubernetes' own order, else the one that objects are stored at.
func (c *comparison) predecessor(name string) string {
	var older []string
	for _, v := range c.from.Versions {
		if version.CompareKubeAwareVersionStrings(v.Name, name) < 0 {
			older = append(older, v.Name)
		}
	}
	if len(older) == 0 {
		return c.from.Storage
	}
	return slices.MaxFunc(older, version.CompareKubeAwareVersionStrings)
}

func (c *comparison) gone(from, to string) string {
	if c.converts() {
		return fmt.Sprintf("%s has it and %s does not: the conversion webhook has to carry it", from, to)
	}
	return fmt.Sprintf("%s has it, %s does not, and nothing converts: a client that reads an object at %s does not see the field, and drops it when it writes the object", from, to, to)
}

// losses reports what a version that was stored, or that goes, has and the storage version has not. Nothing else looks
// at it: schema checkers compare a version with itself.
func losses(c *comparison) {
	if c.to.Storage == "" {
		return
	}
	if c.flips() {
		c.lost(c.from.Storage, true)
	}
	for _, name := range c.removed {
		if !c.flips() || name != c.from.Storage {
			c.lost(name, false)
		}
	}
}

// lost holds a version as it was against the storage version as it is to be. Objects are stored at it if the storage
// version is only now another one; else they have been rewritten long since, or have to be before it can go.
func (c *comparison) lost(name string, stored bool) {
	for _, change := range schemas(schemaOf(crds.Version(c.base, name)), schemaOf(crds.Version(c.head, c.to.Storage))) {
		if change.Severity == finding.Info {
			continue
		}
		change.Version, change.Against = name, c.to.Storage
		switch change.Rule { //nolint:exhaustive // all others are for the default
		case FieldRemoved:
			change.Rule, change.Severity, change.Why = FieldLost, c.lossSeverity(stored), c.lossWhy(stored)
		case FieldTypeChanged, SchemaTooLarge:
			change.Severity = c.lossSeverity(stored)
		default:
			if c.converts() {
				continue // it is for the webhook to make them valid
			}
			change.Severity = atMost(finding.Warning, change.Severity)
		}
		c.add(change)
	}
}

func (c *comparison) lossSeverity(stored bool) finding.Severity {
	switch {
	case stored && !c.converts():
		return finding.Error
	case stored || !c.converts():
		return finding.Warning
	default:
		return finding.Info
	}
}

func (c *comparison) lossWhy(stored bool) string {
	switch {
	case c.converts():
		return fmt.Sprintf("%s has no such field: the conversion webhook has to carry it elsewhere, or it is lost when the object is stored at %s", c.to.Storage, c.to.Storage)
	case stored:
		return fmt.Sprintf("%s has no such field and nothing converts, so every object that is rewritten at %s loses it. Moult rewrites none while one uses it and the CRD does not allow the loss", c.to.Storage, c.to.Storage)
	case c.from.Conversion != "None":
		return fmt.Sprintf("%s has no such field, and the conversion webhook that may have carried it elsewhere goes; manifests that set it have to say it in another way", c.to.Storage)
	default:
		return fmt.Sprintf("%s has no such field and nothing converts, so objects stored at %s have lost it already; manifests that set it have to say it in another way", c.to.Storage, c.to.Storage)
	}
}

// divergence: while nothing converts, a field that only some of the served versions have is dropped by a client that
// reads an object at another one and writes it back.
func divergence(c *comparison) {
	if c.converts() {
		return
	}
	for _, change := range slices.Clone(c.changes) {
		if change.Rule != FieldAdded || change.Against != "" || change.Field == whole {
			continue
		}
		for _, other := range c.to.Versions {
			if other.Name != change.Version && other.Served && c.lacks(other.Name, change.Field) {
				c.add(Change{
					Rule: FieldNotInAll, Severity: finding.Warning, Version: change.Version, Against: other.Name, Field: change.Field,
					Why: fmt.Sprintf("%s has no such field and nothing converts: a client that reads an object at %s and writes it back drops it", other.Name, other.Name),
				})
			}
		}
	}
}

// lacks reports whether a version would drop a field.
func (c *comparison) lacks(name, path string) bool {
	known, ok := c.trees[name]
	if !ok {
		if s := schemaOf(crds.Version(c.head, name)); within(s) {
			known = treeOf(s)
		}
		c.trees[name] = known
	}
	_, has := known[path]
	return len(known) > 0 && !has
}
