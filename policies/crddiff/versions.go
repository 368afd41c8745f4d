package crddiff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/moult-dev/moult/policies/finding"
)

// versions: which there are, which is stored, which are served and which are on their way out.
func versions(c *comparison) {
	for _, v := range c.to.Versions {
		if was, ok := c.from.Version(v.Name); ok {
			c.served(was, v)
			c.deprecated(was, v)
			continue
		}
		c.tell(v.Name, VersionAdded, finding.Info, "", role(v), "clients may use it as soon as every API server has seen the CRD")
	}
	for _, name := range c.removed {
		was, _ := c.from.Version(name)
		c.leaves(was)
	}
	c.storage()
}

// storage: a CRD has one storage version; what has none or two is refused, but may be somebody's base or head all the same.
func (c *comparison) storage() {
	from, to := c.from.stored(), c.to.stored()
	flip := Change{Rule: StorageFlipped, Severity: finding.Error, From: strings.Join(from, ", "), To: strings.Join(to, ", ")}
	switch {
	case slices.Equal(from, to):
	case len(to) != 1:
		flip.Why = "the API server refuses a CRD that does not have exactly one storage version"
		c.add(flip)
	case len(from) != 1:
		flip.Severity, flip.Why = finding.Info, "the CRD as it was could not be applied, since it did not have exactly one storage version"
		c.add(flip)
	default:
		c.flipped()
	}
}

// stored are the storage versions, sorted.
func (s *Shape) stored() []string {
	var names []string
	for _, v := range s.Versions {
		if v.Storage {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (c *comparison) leaves(v Version) {
	why := "the API server refuses it while status.storedVersions names the version"
	if v.Served {
		why += ", and clients and manifests that use it fail afterwards"
	}
	c.tell(v.Name, VersionRemoved, finding.Warning, role(v), "", why)
}

// flipped: the objects are still stored at the old version, and only a migration changes that.
func (c *comparison) flipped() {
	from, to := c.from.Storage, c.to.Storage
	flip := Change{
		Rule: StorageFlipped, Severity: finding.Info, Version: to, From: from, To: to,
		Why: fmt.Sprintf("objects stay stored at %s until something rewrites them; Moult does so when the CRD carries the opt-in label", from),
	}
	was, known := c.from.Version(to)
	is, _ := c.to.Version(to)
	switch {
	case !is.Served:
		flip.Severity, flip.Why = finding.Error, fmt.Sprintf("%s is not served, so nothing can rewrite the objects that are stored at %s", to, from)
	case version.CompareKubeAwareVersionStrings(to, from) < 0:
		flip.Severity, flip.Why = finding.Warning, fmt.Sprintf("it goes back to the older %s, and objects written in the meantime stay stored at %s", to, from)
	case !known:
		flip.Severity, flip.Why = finding.Warning, fmt.Sprintf("%s comes and is stored at once: API servers that have not seen it yet, and the release before after a rollback, cannot read what is stored at it", to)
	case !was.Served:
		flip.Severity, flip.Why = finding.Warning, fmt.Sprintf("%s is served and stored at once: an API server that has not seen the change yet does not serve what is written at it", to)
	}
	c.add(flip)
	if !c.to.Has(from) {
		c.tell(from, StorageFlippedAndRemoved, finding.Error, from, to,
			fmt.Sprintf("the API server refuses it where objects were ever stored at %s: flip in one commit, wait for the migration, and remove in another", from))
	}
}

func (c *comparison) served(was, is Version) {
	switch {
	case !was.Served && is.Served:
		c.tell(is.Name, ServedOn, finding.Info, role(was), role(is), "clients may use it")
	case was.Served && !is.Served && is.Storage:
		c.tell(is.Name, ServedOff, finding.Error, role(was), role(is), "it is the storage version, and nothing can rewrite objects at a version that is not served")
	case was.Served && !is.Served:
		c.tell(is.Name, ServedOff, finding.Warning, role(was), role(is), "clients and manifests that use it fail; objects stored at it can still be read at other versions")
	}
}

func (c *comparison) deprecated(was, is Version) {
	switch from, to := was.DeprecationWarning, is.DeprecationWarning; {
	case !was.Deprecated && is.Deprecated:
		c.tell(is.Name, VersionDeprecated, finding.Info, from, to, "clients that use it are warned; kubectl shows the warning")
	case was.Deprecated && !is.Deprecated:
		c.tell(is.Name, VersionUndeprecated, finding.Info, from, to, "clients that use it are not warned any more")
	case from != to:
		c.tell(is.Name, DeprecationWarningChanged, finding.Info, from, to, "clients that use it get another warning")
	}
}

// role says what a version is for.
func role(v Version) string {
	switch {
	case v.Storage && v.Served:
		return "served, storage"
	case v.Storage:
		return "storage, not served"
	case v.Served:
		return "served"
	default:
		return "not served"
	}
}
