package rollout

import (
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/delivery"
)

// A flag that answers comes before tools that do.
func TestTheAdviceIsTheFlagThatAnswers(t *testing.T) {
	g := NewWithT(t)
	by := delivery.Wrap(map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet"})
	g.Expect(seeing(delivery.Unseen{By: by, Offline: true})).To(HavePrefix("leave out --offline"))
	g.Expect(seeing(delivery.Unseen{By: by, Runs: true, Offline: true})).To(ContainSubstring("acknowledge it in .moult.yaml"), "nothing renders what a program does")
	g.Expect(seeing(delivery.Unseen{By: by, Why: "name their Secrets with --cluster-secrets"})).To(ContainSubstring("--cluster-secrets FILE"))
}

func TestTheAdviceFitsWhatIsNotSeen(t *testing.T) {
	for object, says := range map[string]string{
		"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease}":                                                           "`helm template",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription}":                                                      "the operator's bundles",
		"{apiVersion: pkg.crossplane.io/v1, kind: Provider}":                                                                   "out of the packages",
		"{apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: CoreProvider}":                                                 "`clusterctl generate provider`",
		"{apiVersion: fluxcd.controlplane.io/v1, kind: FluxInstance}":                                                          "`flux-operator build`",
		"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {sourceRef: {kind: OCIRepository, name: x}}}": "`flux pull artifact`",
		"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {sourceRef: {kind: Bucket, name: x}}}":        "fetch what was applied",
		"{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, spec: {sourceRef: {kind: GitRepository, name: x}}}": "`kustomize build`",
		"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {chart: c}}}":                                    "`helm template",
		"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {sources: [{path: p, helm: {}}]}}":                        "`helm template",
		"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {path: p, plugin: {}}}}":                         "`argocd app manifests",
		"{kind: Submodule}": "in the submodule's own repository",
		"{kind: File}":      "if it is of a chart",
		"{apiVersion: kappctrl.k14s.io/v1alpha1, kind: App}": "where they can be rendered",
	} {
		t.Run(object, func(t *testing.T) {
			g := NewWithT(t)
			content := map[string]any{}
			g.Expect(yaml.Unmarshal([]byte(object), &content)).To(Succeed())
			g.Expect(seeing(delivery.Unseen{By: delivery.Wrap(content)})).To(ContainSubstring(says))
		})
	}
}
