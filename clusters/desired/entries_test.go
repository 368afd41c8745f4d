package desired_test

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/desired/scan"
	"github.com/moult-dev/moult/clusters/repository"
)

const aHelmRepository = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: h, namespace: flux-system}\nspec: {url: 'https://charts.example.com', interval: 1h}\n"

func TestEntryPointsThatNobodyHasNamed(t *testing.T) {
	const kustomization = "resources: []\n"
	bootstrap := func(path string) string { return flux("flux-system", "path: ./"+path) }
	for name, c := range map[string]struct {
		files files
		at    string
		want  []string
	}{
		"several clusters of Flux": {
			files{
				"clusters/production/flux-system/sync.yaml": bootstrap("clusters/production"), "clusters/production/apps.yaml": flux("apps", "path: ./apps"),
				"clusters/staging/flux-system/sync.yaml": bootstrap("clusters/staging"), "apps/more.yaml": flux("more", "path: ./more"), "more/x.yaml": configMap("x"),
			}, ".", []string{"clusters/production", "clusters/staging"},
		},
		"folders of a cluster, with the sources beside them": {
			files{
				"clusters/a/apps/a.yaml": flux("a", "path: ./apps"), "clusters/a/infra/i.yaml": flux("i", "path: ./infra"), "clusters/a/sources/h.yaml": aHelmRepository,
				"clusters/b/apps/a.yaml": flux("a", "path: ./apps"), "clusters/b/infra/i.yaml": flux("i", "path: ./infra"), "apps/x.yaml": configMap("x"), "infra/x.yaml": aHelmRepository,
			}, ".", []string{"clusters/a", "clusters/b/apps", "clusters/b/infra"},
		},
		"files that a kustomization above is built of": {
			files{"boot/root/kustomization.yaml": "resources: [apps/a.yaml]\nnamespace: argocd\n", "boot/root/apps/a.yaml": app("a", "source: {path: c}"), "c/x.yaml": configMap("x")}, ".", []string{"boot/root"},
		},
		"files of which a kustomization above has some": {
			files{
				"boot/root/kustomization.yaml": "resources: [apps/a.yaml]\n", "boot/root/apps/a.yaml": app("a", "source: {path: c}"), "boot/root/apps/b.yaml": app("b", "source: {path: c}"),
				"c/x.yaml": configMap("x"),
			}, ".", []string{"boot/root/apps"},
		},
		"the folder that a FluxInstance has synced": {
			files{
				"clusters/a/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x"), "clusters/b/h.yaml": aHelmRepository,
				"boot/f.yaml": object("fluxcd.controlplane.io/v1", "FluxInstance", "flux", "sync: {kind: GitRepository, url: 'https://git/ours', path: clusters/b}"),
			}, ".", []string{"clusters/a", "clusters/b"},
		},
		"a cluster for tests, beside others": {
			files{"envs/main/a.yaml": flux("a", "path: ./apps"), "envs/test/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x"), "more/test/a.yaml": flux("a", "path: ./apps")},
			".", []string{"envs/main", "envs/test"},
		},
		"a cluster that is called docs": {files{"clusters/docs/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", []string{"clusters/docs"}},
		"an environment beside another": {files{"e2e/a.yaml": flux("a", "path: ./apps"), "dev/x.yaml": configMap("x")}, ".", []string{"e2e"}},
		"a cluster that is an example":  {files{"clusters/example/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", []string{"clusters/example"}},
		"a cluster for tests, alone":    {files{"clusters/test/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", []string{"clusters/test"}},
		"tests":                         {files{"test/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", nil},
		"one opened at the folder around them": {
			files{".git/HEAD": "", "clusters/production/a.yaml": flux("a", "path: ./apps"), "clusters/staging/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")},
			"clusters", []string{"production", "staging"},
		},
		"clusters of Argo CD": {
			files{"clusters/a/app.yaml": app("a", "source: {path: apps}"), "clusters/b/app.yaml": app("a", "source: {path: apps}"), "apps/x.yaml": app("c", "source: {path: c}"), "c/x.yaml": configMap("x")},
			".", []string{"clusters/a", "clusters/b"},
		},
		"an Application of another repository's root": {
			files{"clusters/production/app.yaml": app("a", "source: {path: .}"), "1/x.yaml": configMap("x")}, ".", []string{"clusters/production"},
		},
		"Kustomizations of other repositories' roots": {
			files{
				"clusters/production/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x"),
				"clusters/production/b.yaml":         flux("b", "path: ., sourceRef: {kind: GitRepository, name: b}"),
				"clusters/production/sources/b.yaml": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: b, namespace: flux-system}\nspec: {url: https://example.com/b, ref: {tag: v1}}\n",
				"clusters/production/c.yaml":         flux("c", "path: ./, sourceRef: {kind: OCIRepository, name: c}"),
			}, ".", []string{"clusters/production"},
		},
		"a patch of a Kustomization": {
			files{
				"clusters/production/kustomization.yaml": "resources: [sync.yaml]\npatches: [{path: patch.yaml}]\n",
				"clusters/production/sync.yaml":          bootstrap("clusters/production"), "clusters/production/patch.yaml": flux("flux-system", "timeout: 2m"),
			}, ".", []string{"clusters/production"},
		},
		"a Kustomization of this repository's root": {
			files{"clusters/production/a.yaml": flux("a", "path: ., sourceRef: {kind: GitRepository, name: flux-system}"), "apps/x.yaml": configMap("x")}, ".", nil,
		},
		"an Application that takes all folders below, itself with them": {
			files{"clusters/production/apps/app.yaml": app("a", "source: {path: clusters/production, directory: {recurse: true}}"), "1/x.yaml": configMap("x")}, ".", []string{"clusters/production"},
		},
		"one": {
			files{"clusters/only/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", []string{"clusters/only"},
		},
		"one that is bootstrapped, with nothing beside flux-system": {
			files{"clusters/only/flux-system/sync.yaml": bootstrap("clusters/only"), "clusters/only/apps/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, ".", []string{"clusters/only"},
		},
		"one that is written with an anchor, beside CRDs that name such kinds": {
			files{"clusters/only/a.yaml": strings.Replace(app("a", "source: {path: apps}"), "apiVersion: ", "apiVersion: &v ", 1), "apps/x.yaml": configMap("x"),
				"crds/x.yaml": crd("applications.argoproj.io")}, ".", []string{"clusters/only"},
		},
		"ones that apply one another": {
			files{"a/a.yaml": flux("a", "path: ./b"), "b/b.yaml": flux("b", "path: ./a")}, ".", []string{"a", "b"},
		},
		"a root beside a kustomization": {
			files{
				"argocd/kustomization.yaml": "resources: [ns.yaml]\n", "argocd/ns.yaml": configMap("ns"), "argocd/root.yaml": app("root", "source: {path: argocd/apps}"),
				"argocd/apps/a.yaml": app("a", "source: {path: a}"), "argocd/apps/argocd.yaml": app("argocd", "source: {path: argocd}"), "a/x.yaml": configMap("x"),
			}, ".", []string{"argocd/root.yaml"},
		},
		"a root that is built": {
			files{"argocd/kustomization.yaml": "resources: [root.yaml]\n", "argocd/root.yaml": app("root", "source: {path: apps}"), "apps/x.yaml": configMap("x")}, ".", []string{"argocd"},
		},
		"a root that another folder builds": {
			files{
				"argocd/kustomization.yaml": kustomization, "argocd/root.yaml": app("root", "source: {path: apps}"),
				"prod/kustomization.yaml": "resources: [../argocd/root.yaml]\n", "apps/x.yaml": configMap("x"),
			}, ".", []string{"prod"},
		},
		"two beside a kustomization": {
			files{
				"argocd/kustomization.yaml": "resources: [ns.yaml]\n", "argocd/ns.yaml": configMap("ns"), "argocd/one.yaml": app("one", "source: {path: apps}"),
				"argocd/two.yaml": app("two", "source: {path: apps}"), "apps/x.yaml": configMap("x"),
			}, ".", []string{"argocd"},
		},
		"what was opened is one":             {files{".git/HEAD": "", "clusters/only/a.yaml": flux("a", "path: ./apps"), "apps/x.yaml": configMap("x")}, "clusters/only", nil},
		"what was opened is inside of one":   {files{".git/HEAD": "", "only/flux-system/sync.yaml": bootstrap("only"), "only/more/x.yaml": configMap("x"), "only/more/below/a.yaml": flux("a", "path: ./x")}, "only/more", []string{"below"}},
		"what was opened is a kustomization": {files{"kustomization.yaml": kustomization, "clusters/only/a.yaml": flux("a", "path: ./apps")}, ".", nil},
		"what was opened is a file":          {files{"a.yaml": flux("a", "path: ./apps")}, "a.yaml", nil},
		"none":                               {files{"crds/x.yaml": crd("x"), "chart/templates/a.yaml": "{{ x }}\n" + app("a", "source: {path: x}")}, ".", nil},
		"none but in a hidden folder":        {files{"crds/x.yaml": crd("x"), ".old/a.yaml": flux("a", "path: ./x")}, ".", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			place, err := repository.Open(t.Context(), filepath.Join(opened(t, c.files).Dir, c.at))
			g.Expect(err).NotTo(HaveOccurred())
			found, err := scan.EntryPoints(place)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(Equal(c.want))
			for _, entry := range found {
				_, err := desired.Follow(t.Context(), place, entry, desired.Options{})
				g.Expect(err).NotTo(HaveOccurred(), "it can be named as it is")
			}
		})
	}
}
