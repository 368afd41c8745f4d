package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
)

// Groups of the migrators that are told what to do by objects.
const (
	InTree = "storagemigration.k8s.io"
	KSVM   = "migration.k8s.io"
)

// clusterAPI is what Cluster API's migrator leaves on the CRDs it looks after (controllers/crdmigrator).
const clusterAPI = "crd-migration.cluster.x-k8s.io/observed-generation"

// otherMigrators: two that work on one CRD undo each other's proofs.
func otherMigrators(c ClusterState) Result {
	r := Result{Evidence: "nobody else is at work on the CRDs", Findings: c.all(func(crd ExaminedCRD) []finding.Finding {
		findings := append(c.otherMoults(crd), c.migrations(crd)...)
		if apihelpers.IsCRDConditionTrue(crd.CustomResourceDefinition, v1alpha1.StorageMigrating) {
			findings = append(findings, finding.Finding{Severity: finding.Warning, Object: crd.Name,
				Why:  "Kubernetes' own migrator is at work (condition " + v1alpha1.StorageMigrating + " is True), so Moult stands back",
				Mend: "wait until it has ended; what hinders it stands in its StorageVersionMigration"})
		}
		if _, found := crd.Annotations[clusterAPI]; found {
			findings = append(findings, finding.Finding{Severity: finding.Info, Object: crd.Name, Why: "Cluster API's migrator looks after the CRD, too (annotation " + clusterAPI + ")",
				Mend: "nothing, or take the CRD out of one of the two; Moult proves for itself in any case"})
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
			Why:  fmt.Sprintf("another Moult, whose label is %s, writes the condition %s, too (field manager %q)", label, v1alpha1.StorageMigrated, entry.Manager),
			Mend: fmt.Sprintf("leave one of the labels %s and %s on the CRD", label, c.LabelKey)})
	}
	return findings
}

func (c ClusterState) migrations(crd ExaminedCRD) (findings []finding.Finding) {
	for _, known := range c.Migrations {
		for _, m := range known.Value {
			if m.Ended || m.Resource != crd.resource() {
				continue
			}
			findings = append(findings, finding.Finding{Severity: finding.Warning, Object: crd.Name,
				Why:  fmt.Sprintf("%s is at work on the CRD, too: its StorageVersionMigration %s (%s) has not ended", migratorNames[m.API], m.Name, m.API),
				Mend: "wait until it has ended, or delete it"})
		}
	}
	return findings
}

// migratorNames are what people call them.
var migratorNames = map[string]string{InTree: "Kubernetes' own migrator", KSVM: "kube-storage-version-migrator"}
