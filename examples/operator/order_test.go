// Package operator_test holds the example to its claim: the gate comes before the operator, with both tools.
package operator_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

const wave = "argocd.argoproj.io/sync-wave"

func read[T any](t *testing.T, name string) (object T) {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(name)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(content, &object)).To(Succeed(), name)
	return object
}

func waveOf(t *testing.T, annotations map[string]string) int {
	t.Helper()
	number, err := strconv.Atoi(annotations[wave])
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return number
}

func TestArgoCDAppliesTheGateBeforeTheOperator(t *testing.T) {
	gate := read[v1alpha1.VersionRemoval](t, "argocd/version-removal.yaml")
	operator := read[appsv1.Deployment](t, "argocd/operator.yaml")
	NewWithT(t).Expect(waveOf(t, gate.Annotations)).To(BeNumerically("<", waveOf(t, operator.Annotations)))
}

// kustomization is what matters of a Flux Kustomization.
type kustomization struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct{ Name, Namespace string }
	Spec       struct {
		DependsOn     []struct{ Name string }
		SourceRef     struct{ Kind, Name string }
		Path          string
		Prune, Wait   bool
		Timeout       string
		Interval      string
		RetryInterval string
	}
}

func TestFluxAppliesTheGateBeforeTheOperator(t *testing.T) {
	g := NewWithT(t)
	gate := read[kustomization](t, "flux/flux-system/operator-gate.yaml")
	operator := read[kustomization](t, "flux/flux-system/operator.yaml")
	g.Expect(gate.Spec.Wait).To(BeTrue())
	g.Expect(operator.Spec.DependsOn).To(ContainElement(HaveField("Name", gate.Metadata.Name)))
	g.Expect(operator.Spec.SourceRef).To(Equal(gate.Spec.SourceRef), "so that it waits for the gate of the same commit")
	removal := read[v1alpha1.VersionRemoval](t, filepath.Join("flux", gate.Spec.Path, "version-removal.yaml"))
	deployment := read[appsv1.Deployment](t, filepath.Join("flux", operator.Spec.Path, "deployment.yaml"))

	waved := read[v1alpha1.VersionRemoval](t, "argocd/version-removal.yaml")
	g.Expect(removal.Spec).To(Equal(waved.Spec))
	g.Expect(deployment.Spec).To(Equal(read[appsv1.Deployment](t, "argocd/operator.yaml").Spec))
}
