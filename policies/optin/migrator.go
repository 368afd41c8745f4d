package optin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
)

// migrationGroups have a StorageVersionMigration: Kubernetes' own migrator, and kube-storage-version-migrator.
var migrationGroups = []string{"storagemigration.k8s.io", "migration.k8s.io"}

// otherMigrator: a StorageVersionMigration is delivered beside a CRD that is opted in, from whichever file. Kubernetes' own migrator trims
// storedVersions after a migration that failed, too, has no guard against lost fields, and Moult waits for it.
func otherMigrator(c check) (findings []Found) {
	for _, object := range c.unit.Objects {
		group, _, _ := strings.Cut(object.GetAPIVersion(), "/")
		if object.GetKind() != "StorageVersionMigration" || !slices.Contains(migrationGroups, group) {
			continue
		}
		name := object.Text("spec", "resource", "resource") + "." + object.Text("spec", "resource", "group")
		if c.optedIn(name) {
			findings = append(findings, about(object, []string{"spec", "resource"}, []string{name},
				fmt.Sprintf("it starts another migrator on %s, which is opted in; that one may remove versions from status.storedVersions although objects are still stored at them", name),
				"leave the migration to Moult, and take the StorageVersionMigration out; or leave the CRD out with the label "+c.LabelKey+`: "false"`).warning())
		}
	}
	return findings
}

// optedIn reports whether the unit, or one beside it, has a CRD of a name with the label.
func (c check) optedIn(name string) bool {
	return slices.ContainsFunc(append(slices.Clip(c.SameClusters), c.unit), func(u *delivery.Unit) bool {
		return slices.ContainsFunc(u.CRDs(), func(crd delivery.CRD) bool {
			return crd.GetName() == name && c.concerns(crd) && crd.OptedIn(c.LabelKey)
		})
	})
}
