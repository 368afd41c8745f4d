package survival_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/api/v1alpha1"
	optin "github.com/moult-dev/moult/clusters/components/opt-in"
)

// git is what the repository holds at a commit: a folder that builds one CRD, and the opt-in Component as it is shipped.
type git struct {
	group string
	// annotations of the CRD, which tell a tool how to apply it.
	annotations map[string]string
	// component: the folder's kustomization lists the Component.
	component bool
	// change tells the commits apart.
	change int
}

// folder is where the kustomization is, in the repository.
const folder = "crds"

func (git git) crd() string { return "widgets." + git.group }

func (git git) files(t *testing.T) map[string]string {
	t.Helper()
	kustomization := "resources: [widgets.yaml]\n"
	if git.component {
		kustomization += "components: [../opt-in]\n"
	}
	return map[string]string{
		folder + "/kustomization.yaml": kustomization,
		folder + "/widgets.yaml":       git.manifest(t, nil),
		"opt-in/kustomization.yaml":    string(optin.Component),
	}
}

// labelled is the manifest as somebody applies it by hand: with the label that Git does not have.
func (git git) labelled(t *testing.T) string {
	t.Helper()
	return git.manifest(t, map[string]string{v1alpha1.MigrateLabel: v1alpha1.MigrateLabelValue})
}

func (git git) manifest(t *testing.T, labels map[string]string) string {
	t.Helper()
	annotations := maps.Clone(git.annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["example.com/change"] = fmt.Sprint(git.change)
	metadata := map[string]any{"name": git.crd(), "annotations": annotations}
	if labels != nil {
		metadata["labels"] = labels
	}
	written, err := json.Marshal(metadata) // which is YAML, too
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: %s
spec:
  group: %s
  scope: Namespaced
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  versions:
    - name: v1alpha1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    - name: v1
      served: true
      storage: false
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, written, git.group)
}
