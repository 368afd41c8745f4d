package desired_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/rollout"
)

// Whatever lies in a repository, it is followed, put in order and placed without a panic. One input
// takes several builds, so run it with -fuzzminimizetime=1x.
func FuzzWiring(f *testing.F) {
	// Kustomize fetches what looks like a URL, by git or by HTTP: here neither finds a way out.
	f.Setenv("PATH", "")
	for _, proxy := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		f.Setenv(proxy, "http://127.0.0.1:1")
	}
	const all = "prune: true, wait: true, timeout: 5m, dependsOn: [{name: a}], targetNamespace: n, postBuild: {substitute: {x: '1'}, substituteFrom: [{kind: ConfigMap, name: m}]}, commonMetadata: {labels: {a: b}}, "
	f.Add("resources: [x.yaml]\n", "path: ./deploy, "+all+"patches: [{target: {kind: ConfigMap}, patch: '[]'}]", "source: {path: deploy, kustomize: {namePrefix: p-}}", crd("x.example.com"))
	f.Add("resources: [x.yaml, ../entry]\ncomponents: [../deploy]\n", "path: ./entry, sourceRef: {kind: GitRepository, name: x}", "sources: [{path: deploy, directory: {recurse: true, include: '{*,}'}}, {chart: c}]", flux("c", "path: ./deploy")+configMap("m", "a: ${x:=1}"))
	f.Add("namePrefix: a\nconfigMapGenerator: [{name: a, literals: [a=b]}]\n", "path: deploy, components: [../deploy], "+all, "source: {path: ., plugin: }", app("d", "source: {path: entry}"))
	f.Add("replacements: [{source: {kind: ConfigMap}, targets: [{select: {kind: ConfigMap}, fieldPaths: [data.x]}]}]\nresources: [x.yaml]\n", "", "", "kind: List\napiVersion: v1\nitems: [{apiVersion: moult.dev/v1alpha1, kind: VersionRemoval, metadata: {name: x}, spec: {crdName: 1}}]\n")
	f.Fuzz(func(t *testing.T, kustomization, kustomizationSpec, applicationSpec, manifests string) {
		for _, text := range []string{kustomization, kustomizationSpec, applicationSpec, manifests} {
			if strings.Contains(text, "://") || strings.Contains(text, "github") || len(text) > 4_000 {
				return // it would be fetched, or is longer than it takes
			}
		}
		dir := t.TempDir()
		for name, content := range map[string]string{
			"entry/a.yaml":              flux("a", kustomizationSpec),
			"entry/b.yaml":              app("b", applicationSpec),
			"entry/c.yaml":              strings.Replace(app("c", "generators: [{git: {directories: [{path: '*'}]}}], template: {metadata: {name: '{{path}}'}, spec: {"+applicationSpec+"}}"), "kind: Application", "kind: ApplicationSet", 1),
			"deploy/kustomization.yaml": kustomization,
			"deploy/x.yaml":             manifests,
		} {
			file := filepath.Join(dir, name)
			if os.MkdirAll(filepath.Dir(file), 0o750) != nil || os.WriteFile(file, []byte(content), 0o600) != nil {
				t.Fatal("the files cannot be written")
			}
		}
		opened, err := repository.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range []string{"entry", "deploy/x.yaml"} {
			c, err := desired.Follow(t.Context(), opened, entry, desired.Options{})
			if err != nil {
				continue
			}
			for _, crd := range c.CRDs() {
				crd.At("spec", "versions", "0")
			}
			rollout.Of(delivery.Cluster{}, *c, nil, "moult.dev/migrate")
			rollout.Of(*c, delivery.Cluster{}, nil, "moult.dev/migrate")
		}
	})
}
