package desired_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/network"
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
			cluster, err := desired.Wired(t.Context(), opened(t, files{"templates/a.yaml": c.content}), desired.Options{Network: network.Offline()})
			g.Expect(err).NotTo(HaveOccurred())
			if c.why == "" {
				g.Expect(cluster.Unseen).To(BeEmpty())
				return
			}
			g.Expect(cluster.Unseen).To(ConsistOf(And(HaveField("Name", "templates/a.yaml"), HaveField("Why", HavePrefix(c.why)))))
		})
	}
}

// A repository as a whole can seldom be built. So it must not be built for a Kustomization that is of another one, or for a patch of one.
func TestAmongAllFilesNoKustomizationOfAnotherRepositoryIsBuiltHere(t *testing.T) {
	const kustomization = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: b}\n"
	const source = "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: s, namespace: b}\nspec: {url: https://example.com/s, ref: {tag: v1}}\n"
	for name, c := range map[string]struct{ content, unseen string }{
		"of a tag": {kustomization + "spec: {path: ., sourceRef: {kind: GitRepository, name: s}}\n" + source, "it is taken from tag v1 (GitRepository s), which need not be what lies here"},
		"a patch":  {kustomization + "spec: {postBuild: {substitute: {x: y}}}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			cluster, err := desired.Wired(t.Context(), opened(t, files{"a.yaml": c.content, "values.yaml": "no: manifest\n"}), desired.Options{Network: network.Offline()})
			g.Expect(err).NotTo(HaveOccurred())
			for _, u := range cluster.Units {
				g.Expect(u.Err).NotTo(HaveOccurred())
			}
			if c.unseen != "" {
				g.Expect(cluster.Unseen).To(ContainElement(HaveField("Why", c.unseen)))
			}
		})
	}
}

// A preview that may ask no host asks none that a pull request names.
func TestAmongAllFilesNoRemoteBaseIsFetchedThatMayNotBeAsked(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer server.Close()
	cluster, err := desired.Wired(t.Context(), opened(t, files{
		"a.yaml":               "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a, namespace: flux-system}\nspec: {path: ./b, sourceRef: {kind: GitRepository, name: flux-system}}\n",
		"b/kustomization.yaml": "resources: [" + server.URL + "/crds.yaml, m.yaml]\n", "b/m.yaml": configMap("m", "x: y"),
		"values.yaml": "no: manifest\n",
	}), desired.Options{Network: network.Offline()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(asked).To(BeEmpty())
	g.Expect(cluster.Unseen).NotTo(BeEmpty())
}

// A key of YAML is no path. Else each change below a folder with the name of one would count.
func TestAKeyNamesNoFolder(t *testing.T) {
	sum := func(config, content string) string {
		cluster, err := scan.OtherTools(t.Context(), opened(t, files{"talos/talconfig.yaml": config, "kubernetes/a.yaml": content}), nil, scan.Options{})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(cluster.Unseen).To(HaveLen(1))
		return cluster.Unseen[0].Fingerprint
	}
	g := NewWithT(t)
	const config = "extraManifests: [https://example.com/a.yaml]\nkubernetes:\n  version: 1\n"
	g.Expect(sum(config, configMap("x"))).To(Equal(sum(config, configMap("y"))))
	for _, path := range []string{"- kubernetes\n", "- ../kubernetes\n", "of: kubernetes\n", "other: {at: kubernetes}\n"} {
		g.Expect(sum(config+path, configMap("x"))).NotTo(Equal(sum(config+path, configMap("y"))), path)
	}
}
