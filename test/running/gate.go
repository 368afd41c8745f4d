package running

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// Gate is one VersionRemoval seen from outside, beside the CRD that it asks about.
type Gate struct {
	*Witness
	// Name is the VersionRemoval's, in a namespace that no other test has.
	Name client.ObjectKey

	client client.Client
}

// GateFor makes a namespace and the CRD of VersionRemovals; the CRD that is asked about may come later.
func GateFor(w *Witness) *Gate {
	w.t.Helper()
	InstallGate(w.t, w.cp.Config)
	g := &Gate{Witness: w, client: Client(w.t, w.cp.Config)}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gate-"}}
	w.g.Expect(g.client.Create(w.t.Context(), ns)).To(Succeed())
	g.Name = client.ObjectKey{Namespace: ns.Name, Name: "no-v1alpha1"}
	return g
}

// Ask creates the VersionRemoval, which goes away when the test ends: v1alpha1 is to go, unless changes say otherwise.
func (g *Gate) Ask(changes ...func(*v1alpha1.VersionRemoval)) {
	g.t.Helper()
	removal := &v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.Name.Namespace, Name: g.Name.Name},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: g.GR.String(), Versions: []string{"v1alpha1"}},
	}
	for _, change := range changes {
		change(removal)
	}
	g.g.Expect(g.client.Create(g.t.Context(), removal)).To(Succeed())
	g.t.Cleanup(func() { _ = g.client.Delete(context.Background(), removal) }) // another test's CRD may have the same name
}

// Change changes the VersionRemoval.
func (g *Gate) Change(change func(*v1alpha1.VersionRemoval)) {
	g.t.Helper()
	g.g.Expect(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		removal := &v1alpha1.VersionRemoval{}
		if err := g.client.Get(g.t.Context(), g.Name, removal); err != nil {
			return err
		}
		change(removal)
		return g.client.Update(g.t.Context(), removal)
	})).To(Succeed())
}

// Withdraw deletes the VersionRemoval, and waits until it is deleted.
func (g *Gate) Withdraw() {
	g.t.Helper()
	removal := &v1alpha1.VersionRemoval{ObjectMeta: metav1.ObjectMeta{Namespace: g.Name.Namespace, Name: g.Name.Name}}
	g.g.Expect(g.client.Delete(g.t.Context(), removal)).To(Succeed())
	g.g.Eventually(g.IsThere, Soon).Should(BeFalse())
}

// IsThere reports whether the VersionRemoval is there.
func (g *Gate) IsThere() bool {
	g.t.Helper()
	return answer(g.Witness, func(ctx context.Context) (bool, error) {
		err := g.client.Get(ctx, g.Name, &v1alpha1.VersionRemoval{})
		return err == nil, client.IgnoreNotFound(err)
	})
}

// Removal is the VersionRemoval as it is now.
func (g *Gate) Removal() *v1alpha1.VersionRemoval {
	g.t.Helper()
	return answer(g.Witness, func(ctx context.Context) (*v1alpha1.VersionRemoval, error) {
		removal := &v1alpha1.VersionRemoval{}
		return removal, g.client.Get(ctx, g.Name, removal)
	})
}

// Verdict is "True SafeToRemove", "False Migrating Reconciling" and so on; empty as long as there is none.
func (g *Gate) Verdict() string {
	g.t.Helper()
	return VerdictOf(g.Removal())
}

// VerdictOf is the condition Ready's status and reason, and behind them Stalled or Reconciling if one of them is true.
func VerdictOf(removal *v1alpha1.VersionRemoval) string {
	ready, more := "", ""
	for _, c := range removal.Status.Conditions {
		switch {
		case c.Type == "Ready":
			ready = string(c.Status) + " " + c.Reason
		case c.Status == metav1.ConditionTrue:
			more += " " + c.Type
		}
	}
	return ready + more
}

// Message is what the condition Ready says.
func (g *Gate) Message() string {
	g.t.Helper()
	for _, c := range g.Removal().Status.Conditions {
		if c.Type == "Ready" {
			return c.Message
		}
	}
	return ""
}

// gateManifest is the CRD of VersionRemovals, below the repository's root.
const gateManifest = "clusters/base/crds/moult.dev_versionremovals.yaml"

// InstallGate installs the CRD of VersionRemovals, unless another test has. It stays.
func InstallGate(t testing.TB, admin *rest.Config) {
	t.Helper()
	g := NewWithT(t)
	raw, err := readBelowRoot(gateManifest)
	g.Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(yaml.UnmarshalStrict(raw, crd)).To(Succeed())
	g.Expect(client.IgnoreAlreadyExists(Client(t, admin).Create(t.Context(), crd))).To(Succeed())
	g.Expect(builders.WaitServed(t.Context(), admin, crd)).To(Succeed())
}

// readBelowRoot looks for a file of the repository in the folders above the one that the test runs in.
func readBelowRoot(name string) ([]byte, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil || !os.IsNotExist(err) {
			return raw, err
		}
		if dir == filepath.Dir(dir) {
			return nil, fmt.Errorf("%s lies in no folder above %s; run the test in the repository", name, folder)
		}
	}
}
