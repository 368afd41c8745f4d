package preview

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/cmd/moult/internal/clitest"
	"github.com/moult-dev/moult/test/gittest"
)

// A pull request that takes the next tag of another repository is looked at, if that is of a host that the base names.
func TestWhatComesFromAnotherRepositoryIsSeen(t *testing.T) {
	t.Setenv("CI", "true")
	server := gittest.New(t)
	server.Commit(t, "widgets", map[string]string{"deploy/kustomization.yaml": "resources: [crd.yaml]\n", "deploy/crd.yaml": widgetsCRD}, "v1.0.0")
	server.Commit(t, "widgets", map[string]string{"deploy/kustomization.yaml": "resources: [crd.yaml, more.yaml]\n", "deploy/crd.yaml": widgetsCRD, "deploy/more.yaml": configMap}, "v1.1.0")
	server.Commit(t, "widgets", map[string]string{"deploy/kustomization.yaml": "resources: [crd.yaml]\n", "deploy/crd.yaml": without}, "v2.0.0")
	for how, entry := range map[string]string{
		"Argo CD": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: widgets, namespace: argocd}\n" +
			"spec: {destination: {namespace: widgets}, source: {repoURL: 'ADDRESS', path: deploy, targetRevision: VERSION}}\n",
		"Flux": "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\nspec: {url: 'https://git.example.com/ours', ref: {branch: main}}\n---\n" +
			"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: widgets, namespace: flux-system}\nspec: {url: 'ADDRESS', ref: {tag: VERSION}}\n---\n" +
			"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: widgets, namespace: flux-system}\nspec: {path: deploy, sourceRef: {kind: GitRepository, name: widgets}}\n",
		"a remote base": "",
	} {
		of := func(address, version string) map[string]string {
			if entry == "" {
				return map[string]string{"kustomization.yaml": "resources: [\"" + address + "//deploy?ref=" + version + "\"]\n"}
			}
			return map[string]string{"w.yaml": strings.NewReplacer("ADDRESS", address, "VERSION", version).Replace(entry)}
		}
		for name, c := range map[string]struct {
			address, version string
			code             int
			says             string
			allow            []string
		}{
			"nothing about CRDs":   {server.Address("widgets"), "v1.1.0", cli.ExitDone, "no CRD changes", nil},
			"a version leaves":     {server.Address("widgets"), "v2.0.0", cli.ExitUnknown, "v1alpha1 of widgets.example.com", nil},
			"nobody is asked":      {server.Address("widgets"), "v2.0.0", cli.ExitUnknown, "with --offline", []string{"--offline"}},
			"a host of a stranger": {strings.Replace(server.Address("widgets"), "127.0.0.1", "localhost", 1), "v2.0.0", cli.ExitUnknown, "allow it with --allow-hosts localhost", nil},
			"one that is allowed": {strings.Replace(server.Address("widgets"), "127.0.0.1", "localhost", 1), "v2.0.0", cli.ExitUnknown, "v1alpha1 of widgets.example.com",
				[]string{"--allow-hosts", strings.Replace(server.Host(), "127.0.0.1", "localhost", 1)}},
		} {
			t.Run(how+": "+name, func(t *testing.T) {
				repository := map[string]string{}
				for side, files := range map[string]map[string]string{"base": of(server.Address("widgets"), "v1.0.0"), "head": of(c.address, c.version)} {
					for file, content := range files {
						repository[side+"/clusters/production/"+file] = content
					}
				}
				g := clitest.InRepository(t, repository)
				code, out, errOut := previewed(t, append([]string{"--base", "base", "--head", "head", "--entry", "clusters/production"}, c.allow...)...)
				g.Expect(code).To(Equal(c.code), out+errOut)
				g.Expect(strings.Join(strings.Fields(out), " ")).To(ContainSubstring(c.says))
				g.Expect(out).NotTo(ContainSubstring("from another place or revision"))
			})
		}
	}
}
