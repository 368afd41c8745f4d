package judges

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/lua"
)

const argocdCM = `apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  labels:
    app.kubernetes.io/part-of: argocd
data:
  url: https://argocd.example.com
`

// build runs `kustomize build` with the restrictions it has by default, on a copy of the repository's folders and one
// more that installs Argo CD with the component.
func build(t *testing.T, files map[string]string) (map[string]configMap, error) {
	t.Helper()
	g := NewWithT(t)
	root := t.TempDir()
	g.Expect(os.CopyFS(filepath.Join(root, "clusters/components"), os.DirFS("../../clusters/components"))).To(Succeed())
	g.Expect(os.CopyFS(filepath.Join(root, "lua"), os.DirFS(luaFolder))).To(Succeed())
	for name, content := range files {
		file := filepath.Join(root, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o644)).To(Succeed())
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, "install"))
	if err != nil {
		return nil, err
	}
	found := map[string]configMap{}
	for _, resource := range built.Resources() {
		content, err := resource.AsYAML()
		g.Expect(err).NotTo(HaveOccurred())
		var cm configMap
		g.Expect(yaml.Unmarshal(content, &cm)).To(Succeed())
		found[cm.Metadata.Namespace+"/"+cm.Metadata.Name] = cm
	}
	return found, nil
}

type configMap struct {
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Data map[string]string
}

func TestTheComponentsFillArgoCDsConfigMap(t *testing.T) {
	const url = "https://argocd.example.com"
	all := lua.ArgoCDConfig()
	gateOnly := map[string]string{"url": url, lua.GateHealthKey: all[lua.GateHealthKey], lua.GateActionsKey: all[lua.GateActionsKey]}
	both := map[string]string{"url": url, lua.GateHealthKey: all[lua.GateHealthKey], lua.GateActionsKey: all[lua.GateActionsKey], lua.CRDHealthKey: all[lua.CRDHealthKey]}
	const head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
	for name, c := range map[string]struct {
		files map[string]string
		in    string
		want  map[string]string
	}{
		"the gate only": {map[string]string{
			"install/kustomization.yaml": head + "namespace: argocd\nresources: [argocd-cm.yaml]\ncomponents: [../clusters/components/argocd-health]\n",
			"install/argocd-cm.yaml":     argocdCM,
		}, "argocd/argocd-cm", gateOnly},
		"the gate, and CRDs as gates": {map[string]string{
			"install/kustomization.yaml": head + "namespace: argocd\nresources: [argocd-cm.yaml]\ncomponents: [../clusters/components/argocd-crd-health]\n",
			"install/argocd-cm.yaml":     argocdCM,
		}, "argocd/argocd-cm", both},
		"both components are listed": {map[string]string{
			"install/kustomization.yaml": head + "resources: [argocd-cm.yaml]\ncomponents: [../clusters/components/argocd-health, ../clusters/components/argocd-crd-health]\n",
			"install/argocd-cm.yaml":     argocdCM,
		}, "/argocd-cm", both},
		"Argo CD is a base without a namespace": {map[string]string{
			"install/kustomization.yaml": head + "namespace: argocd\nresources: [../base]\ncomponents: [../clusters/components/argocd-health]\n",
			"base/kustomization.yaml":    head + "resources: [argocd-cm.yaml]\n",
			"base/argocd-cm.yaml":        argocdCM,
		}, "argocd/argocd-cm", gateOnly},
		"Argo CD is a base with a namespace": {map[string]string{
			"install/kustomization.yaml": head + "resources: [../base]\ncomponents: [../clusters/components/argocd-health]\n",
			"base/kustomization.yaml":    head + "namespace: argocd\nresources: [argocd-cm.yaml]\n",
			"base/argocd-cm.yaml":        argocdCM,
		}, "argocd/argocd-cm", gateOnly},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			built, err := build(t, c.files)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(built).To(HaveLen(1))
			g.Expect(built).To(HaveKey(c.in))
			g.Expect(built[c.in].Data).To(Equal(c.want))
			g.Expect(built[c.in].Metadata.Labels).To(HaveKeyWithValue("app.kubernetes.io/part-of", "argocd"), "Argo CD looks for this label")
		})
	}
}

// Without the entries every gate is open, so a build that cannot place them must not pass.
func TestWhereTheEntriesFindNoPlaceTheBuildFails(t *testing.T) {
	const head = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\ncomponents: [../clusters/components/argocd-health]\n"
	for name, files := range map[string]map[string]string{
		"there is no argocd-cm": {"install/kustomization.yaml": head},
		"argocd-cm names its namespace itself": {
			"install/kustomization.yaml": head + "resources: [argocd-cm.yaml]\n",
			"install/argocd-cm.yaml":     strings.Replace(argocdCM, "name: argocd-cm", "name: argocd-cm\n  namespace: argocd", 1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := build(t, files)
			g.Expect(err).To(MatchError(ContainSubstring("argocd-cm")))
		})
	}
}

// What is in the ConfigMap is what was tested: the very bytes of the files.
func TestTheEntriesAreTheFiles(t *testing.T) {
	for key, file := range map[string]string{
		lua.GateHealthKey: "moult.dev/VersionRemoval/health.lua",
		lua.CRDHealthKey:  "apiextensions.k8s.io/CustomResourceDefinition/health.lua",
	} {
		g := NewWithT(t)
		content, err := os.ReadFile(filepath.Join(luaFolder, file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(lua.ArgoCDConfig()).To(HaveKeyWithValue(key, string(content)))
	}
	read := actions(t)
	scripts := map[string]string{"discovery.lua": read.ActionDiscoveryLua}
	for _, definition := range read.Definitions {
		scripts[definition.Name+"/action.lua"] = definition.ActionLua
	}
	g := NewWithT(t)
	g.Expect(scripts).To(HaveLen(4))
	for file, script := range scripts {
		content, err := os.ReadFile(filepath.Join(luaFolder, "moult.dev/VersionRemoval/actions", file))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(script).To(Equal(string(content)), file)
	}
}
