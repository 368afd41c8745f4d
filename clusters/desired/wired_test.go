package desired_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
)

// A file that cannot be read is unseen if it may make Flux or Argo CD apply something, and it is said what it is.
func TestATemplateOfWhatIsAppliedIsUnseen(t *testing.T) {
	const argo, template = "apiVersion: argoproj.io/v1alpha1\n", "it is a template of what Flux or Argo CD applies"
	for name, c := range map[string]struct{ content, why string }{
		"Applications":                   {argo + "kind: Application\nspec: {{ .Values.spec }}\n", template},
		"an ApplicationSet":              {argo + "kind: ApplicationSet\nspec: {{ .Values.spec }}\n", template},
		"a Kustomization":                {"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: {{ .Values.spec }}\n", template},
		"a ResourceSet":                  {"apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nspec: {{ .Values.spec }}\n", template},
		"a kind that is filled in":       {argo + "kind: {{ .Values.kind }}\n{{ end }}\n", template},
		"a kind that is partly filled":   {argo + "kind: App{{ .Values.kind }}\n{{ end }}\n", template},
		"a list of these":                {argo + "kind: ApplicationList\nitems: {{ .Values.items }}\n", template},
		"a kind behind an anchor":        {argo + "kind: &k Application\nspec: {{ .Values.spec }}\n", template},
		"broken YAML":                    {argo + "kind: Application\nspec: [\n", "it is about what Flux or Argo CD applies, and fails: "},
		"a Rollout and a CRD":            {argo + "kind: Rollout\nspec: {{ .Values.spec }}\n---\nkind: CustomResourceDefinition\n", template},
		"a Rollout":                      {argo + "kind: Rollout\nmetadata: {name: {{ .Release.Name }}}\n", ""},
		"a Rollout in JSON":              {"{\"apiVersion\": \"argoproj.io/v1alpha1\", \"kind\": \"Rollout\", \"spec\": {{ .Values.spec }}}\n", ""},
		"a Workflow beside a Deployment": {argo + "kind: Workflow\nspec: {{ .Values.spec }}\n---\nkind: Deployment\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, err := desired.Wired(t.Context(), opened(t, files{"templates/a.yaml": c.content}))
			g.Expect(err).NotTo(HaveOccurred())
			if c.why == "" {
				g.Expect(cluster.Unseen).To(BeEmpty())
				return
			}
			g.Expect(cluster.Unseen).To(ConsistOf(And(HaveField("Name", "templates/a.yaml"), HaveField("Why", HavePrefix(c.why)))))
		})
	}
}
