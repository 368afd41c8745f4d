package doctor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
)

// Groups of the migrators that objects instruct.
const (
	InTree = "storagemigration.k8s.io"
	KSVM   = "migration.k8s.io"
)

// clusterAPI is what Cluster API's migrator leaves on the CRDs it looks after (controllers/crdmigrator).
const clusterAPI = "crd-migration.cluster.x-k8s.io/observed-generation"

// otherMigrators: two that work on one CRD undo each other's proofs.
func otherMigrators(c ClusterState) Result {
	r := Result{Evidence: "no other migrator is at work on the CRDs", Findings: c.all(func(crd ExaminedCRD) []finding.Finding {
		findings := append(c.otherMoults(crd), c.migrations(crd)...)
		if apihelpers.IsCRDConditionTrue(crd.CustomResourceDefinition, v1alpha1.StorageMigrating) {
			findings = append(findings, finding.Finding{Severity: finding.Warning, Object: crd.Name,
				Why:         "Kubernetes' own migrator is at work (condition " + v1alpha1.StorageMigrating + " is True), so Moult stands back",
				Remediation: "wait until it has ended; what hinders it is in its StorageVersionMigration"})
		}
		if _, found := crd.Annotations[clusterAPI]; found {
			findings = append(findings, finding.Finding{Severity: finding.Info, Object: crd.Name, Why: "Cluster API's migrator looks after the CRD, too (annotation " + clusterAPI + ")",
				Remediation: "nothing, or take the CRD out of one of the two; Moult proves for itself in any case"})
		}
		return findings
	})}
	for _, known := range c.Migrations {
		if known.Not != "" {
			r.NotSeen = append(r.NotSeen, known.Not)
		}
	}
	return r
}

// otherMoults are those that have written the condition beside ours.
func (c ClusterState) otherMoults(crd ExaminedCRD) (findings []finding.Finding) {
	for _, entry := range crd.ManagedFields {
		name, label, _ := strings.Cut(entry.Manager, ":")
		if name != v1alpha1.FieldManager || entry.Manager == c.FieldManager || !crds.Owns(entry, v1alpha1.StorageMigrated) {
			continue
		}
		label = cmp.Or(label, v1alpha1.MigrateLabel)
		findings = append(findings, finding.Finding{Severity: finding.Error, Object: crd.Name,
			Why:         fmt.Sprintf("another Moult, whose label is %s, writes the condition %s, too (field manager %q)", label, v1alpha1.StorageMigrated, entry.Manager),
			Remediation: fmt.Sprintf("leave one of the labels %s and %s on the CRD", label, c.LabelKey)})
	}
	return findings
}

func (c ClusterState) migrations(crd ExaminedCRD) (findings []finding.Finding) {
	for _, known := range c.Migrations {
		for _, m := range known.Value {
			if f, found := c.migration(crd, m); found && m.Resource == crd.resource() {
				findings = append(findings, finding.Finding{Severity: finding.Warning, Object: crd.Name, Why: f.why, Remediation: f.fix})
			}
		}
	}
	return findings
}

type advice struct{ why, fix string }

// stuck is how long a StorageVersionMigration may go without a change.
const stuck = 10 * time.Minute

// migration is what there is to say of a StorageVersionMigration. One that has failed is history once Moult has its own proof.
func (c ClusterState) migration(crd ExaminedCRD, m Migration) (a advice, found bool) {
	by, name := migratorNames[m.API], fmt.Sprintf("StorageVersionMigration %s (%s)", m.Name, m.API)
	switch {
	case m.Failed != "" && !crds.MigrationOf(crd.CustomResourceDefinition, c.LabelKey).Migrated:
		why := fmt.Sprintf("the %s of %s has failed: %s", name, by, m.Failed)
		if m.API == InTree {
			why += ". It removes old versions from status.storedVersions all the same, so the API server may accept a removal that loses objects"
		}
		return advice{why, "leave the migration to Moult, which names the objects that hinder it in the condition " + v1alpha1.StorageMigrated + ", and delete the StorageVersionMigration"}, true
	case m.Ended:
		return advice{}, false
	case !m.Changed.IsZero() && c.Now.Sub(m.Changed) >= stuck:
		return advice{fmt.Sprintf("the %s of %s has not ended, and nothing of it has changed for %s", name, by, c.Now.Sub(m.Changed).Round(time.Minute)),
			"look at the log of the migrator, or delete the StorageVersionMigration; then Moult goes on by itself"}, true
	default:
		return advice{fmt.Sprintf("%s is at work on the CRD, too: its %s has not ended", by, name), "wait until it has ended, or delete it"}, true
	}
}

// migratorNames are what people call them.
var migratorNames = map[string]string{InTree: "Kubernetes' own migrator", KSVM: "kube-storage-version-migrator"}
