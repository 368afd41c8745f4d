package migration_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/test/running"
)

// The schemas of a large CRD take a hundred megabytes while a walk judges objects by them. Small ones need not wait.
func TestALargeCRDWaitsForTheSchemasOfOthers(t *testing.T) {
	t.Parallel()
	crd := widgets(t).Build()
	for _, version := range crd.Spec.Versions {
		version.Schema.OpenAPIV3Schema.Description = strings.Repeat("x", 100<<10)
	}
	large := worldOf(t, crd, running.InstallFlipped(t, cp, crd, 3))
	small := flippedWorld(t, widgets(t), 3)
	opts := large.quick()
	opts.Groups = append(opts.Groups, small.GR.Group)
	opts.Room = rewrite.NewRoom()
	leave, err := opts.Room.ForSchemas(t.Context(), 2<<20)
	large.Expect(err).NotTo(HaveOccurred())
	large.controller(opts)
	large.Eventually(large.Reason, soon).Should(Equal(v1alpha1.ReasonMigrating), "the walk waits")
	small.eventuallyMigrated(3)
	large.Expect(large.Stored()).To(Equal(map[string]int{"v1alpha1": 3}))
	leave()
	large.eventuallyMigrated(3)
}
