package backup

import (
	"context"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/running"
)

// meanwhile has something happen between the last look and the write.
type meanwhile struct {
	apiextensions.CustomResourceDefinitionInterface
	happens func()
}

func (m *meanwhile) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, sub ...string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if m.happens != nil {
		m.happens()
		m.happens = nil
	}
	return m.CustomResourceDefinitionInterface.Patch(ctx, name, kind, data, opts, sub...)
}

func TestACRDThatChangesMeanwhileIsNotAnnotated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		record  func(*crds.Backup)
		happens func(*gate)
		says    string // empty: it is annotated
	}{
		"nothing happens":       {},
		"it was made anew":      {record: func(b *crds.Backup) { b.UID = "another" }, says: "it was deleted and recreated while it was backed up; back up again"},
		"it was flipped before": {happens: func(g *gate) { g.Flip("v1") }, says: "its storage version became v1 while it was backed up; back up again"},
		"its schema changed": {happens: func(g *gate) {
			g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Deprecated = true })
		}, says: "its spec changed while it was backed up (generation 1, now 2); back up again"},
		"only its status changed": {happens: func(g *gate) { g.Says(apiextensionsv1.ConditionFalse, v1alpha1.ReasonMigrating, "at work", 0) }},
		"somebody annotated it":   {happens: func(g *gate) { g.annotate("something else") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGate(t)
			live := g.Live()
			record := crds.Backup{Time: live.CreationTimestamp.Time, Digest: "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", UID: live.UID, Generation: live.Generation, StorageVersion: "v1alpha1"}
			if c.record != nil {
				c.record(&record)
			}
			client := &meanwhile{CustomResourceDefinitionInterface: g.CRDs()}
			if c.happens != nil {
				client.happens = func() { c.happens(g) }
			}
			err := annotate(t.Context(), client, live.Name, record)
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(g.annotation()).To(Equal(record.Annotation()))
				return
			}
			g.Expect(err).To(MatchError(live.Name + " was not annotated: " + c.says))
			g.Expect(g.annotation()).To(BeEmpty())
		})
	}
}

func TestOnlyAWholeBackupIsAnnotated(t *testing.T) {
	t.Parallel()
	g := newGate(t)
	file := filepath.Join(g.folder, "backup.tar.gz")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"-f", "-"}, "--annotate is for a file that is read back"},
		{[]string{"-f", file, "--version", "v1"}, "--annotate is for a backup at all versions that are served"},
	} {
		got := g.Run(append([]string{"backup", g.CRD.Name, "--annotate"}, c.args...)...)
		g.Expect(got.Code).To(Equal(2))
		g.Expect(got.ErrOut).To(ContainSubstring(c.says))
	}
	got := suite.Moult.Run(t, "backup", g.CRD.Name, "-f", file, "--annotate", "--kubeconfig", g.KubeconfigAs(
		running.Rule("apiextensions.k8s.io", "customresourcedefinitions", "get"), running.Rule(g.CRD.Spec.Group, "widgets", "list")))
	g.Expect(got.Code).To(Equal(1), got.Out)
	g.Expect(got.Out).To(ContainSubstring("verified"))
	g.Expect(got.ErrOut).To(ContainSubstring("--annotate needs get and patch on customresourcedefinitions in apiextensions.k8s.io"))
	g.Expect(g.annotation()).To(BeEmpty())

	g.Flip("v1")
	g.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Served = false
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["only"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	got = g.Run("backup", g.CRD.Name, "-f", file, "--replace", "--annotate")
	g.Expect(got.Code).To(Equal(3), got.ErrOut)
	g.Expect(got.ErrOut).To(ContainSubstring("so it was not annotated"))
	g.Expect(g.annotation()).To(BeEmpty())
}
