package stage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Policies is the folder of the policies that deny, in a repository like Moult's own.
const Policies = "policies/admission/deny"

// moultsOwn is a CRD that carries the label and is there before any story begins.
const moultsOwn = "versionremovals.moult.dev"

// PolicyFiles are what a repository has to hold for Policies.
func PolicyFiles(t *testing.T) map[string]string {
	t.Helper()
	return Files(t, "policies/admission/base", Policies)
}

// Guarded is a check: the API server refuses to let the label go. It is asked about Moult's own CRD, which has it, too.
func (s *Stage) Guarded() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		err := s.dryRunUnlabel(ctx, moultsOwn)
		if err != nil && !apierrors.IsForbidden(err) {
			return "", false, err
		}
		return fmt.Sprintf("asked to drop the label, the API server says: %v", err), err != nil, nil
	}
}

// dryRunUnlabel asks what would be answered.
func (s *Stage) dryRunUnlabel(ctx context.Context, name string) error {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.MigrateLabel+`":null}}}`))
	return s.Client.Patch(ctx, cluster.Object(crdAPI, crdKind, "", name), patch, client.DryRunAll)
}

// Labelled is a check: the CRD carries the label.
func (s *Stage) Labelled() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		crd, err := cluster.Get(ctx, s.Client, crdAPI, crdKind, "", CRD)
		labels := crd.GetLabels()
		return fmt.Sprintf("the CRD's labels are %v", labels), err == nil && labels[v1alpha1.MigrateLabel] == v1alpha1.MigrateLabelValue, err
	}
}

// Unlabelled is a manifest of the repository, named from its root, without the label.
func Unlabelled(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	manifest, err := os.ReadFile(Path(name))
	g.Expect(err).NotTo(HaveOccurred())
	without := strings.ReplaceAll(string(manifest), "  labels:\n    moult.dev/migrate: \"true\"\n", "")
	g.Expect(without).NotTo(ContainSubstring("moult.dev/migrate"))
	return without
}
