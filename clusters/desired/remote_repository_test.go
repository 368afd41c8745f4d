package desired_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/test/gittest"
)

// gitRepository is Flux's.
func gitRepository(name, spec string) string {
	return "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: " + name + ", namespace: flux-system}\nspec: {" + spec + "}\n---\n"
}

// inOperator is an operator's repository.
var inOperator = files{
	"deploy/x.yaml":             crd("x"),
	"deploy/m.yaml":             configMap("m", "x: '${who:=nobody}'", "w: w", "z: z"),
	"chart/Chart.yaml":          "apiVersion: v2\nname: o\nversion: 1.0.0\n",
	"chart/crds/y.yaml":         crd("y"),
	"chart/templates/m.yaml":    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {x: {{ .Values.x | quote }}, w: w, z: z}\n",
	"jsonnet/a.jsonnet":         "{}",
	"broken/kustomization.yaml": "resources: [none.yaml]\n",
}

func TestATagOrACommitOfAnotherRepositoryIsBuilt(t *testing.T) {
	server := gittest.New(t)
	commit := server.Commit(t, "operator", inOperator, "v1.0.0", "1.1")
	server.Commit(t, "operator", with(inOperator, files{"deploy/y.yaml": crd("y")}), "v2.0.0")
	server.Commit(t, "ignoring", with(inOperator, files{".sourceignore": "deploy/x.yaml\n"}), "v1.0.0")
	address := server.Address("operator")
	ours := gitRepository("flux-system", "url: 'https://git/ours'")
	kustomization := func(spec, source string) string {
		return ours + flux("a", "path: deploy, sourceRef: {kind: GitRepository, name: other}"+spec) + gitRepository("other", source)
	}
	application := func(spec string) string {
		return app("root", "source: {path: apps, repoURL: 'https://git/ours'}") + app("a", spec)
	}
	artifact := func(copies, source string) string {
		return ours + flux("a", "path: app, sourceRef: {kind: ExternalArtifact, name: art}") + gitRepository("other", source) + generator(copies)
	}
	source := func(more string) string { return application("source: {repoURL: '" + address + "', " + more + "}") }
	for name, c := range map[string]struct{ objects, want string }{
		"Flux, a tag":                         {kustomization("", "url: '"+address+"', ref: {tag: v1.0.0}"), "${who:=nobody} w z x"},
		"Flux, the next tag":                  {kustomization("", "url: '"+address+"', ref: {tag: v2.0.0}"), "${who:=nobody} w z x y"},
		"Flux, a commit":                      {kustomization("", "url: '"+address+"', ref: {branch: main, commit: "+commit+"}"), "${who:=nobody} w z x"},
		"Flux, variables":                     {kustomization(", postBuild: {substitute: {who: us}}", "url: '"+address+"', ref: {tag: v1.0.0}"), "us w z x"},
		"Flux, a branch":                      {kustomization("", "url: '"+address+"', ref: {branch: main}"), "another repository"},
		"Flux, a range":                       {kustomization("", "url: '"+address+"', ref: {semver: 1.x}"), "another repository"},
		"Flux, something ignored":             {kustomization("", "url: '"+address+"', ref: {tag: v1.0.0}, ignore: x.yaml"), "${who:=nobody} w z"},
		"Flux, only some of it":               {kustomization("", "url: '"+address+"', ref: {tag: v1.0.0}, sparseCheckout: [deploy]"), "another repository"},
		"Flux, .sourceignore":                 {kustomization("", "url: '"+server.Address("ignoring")+"', ref: {tag: v1.0.0}"), "${who:=nobody} w z"},
		"Flux, no such tag":                   {kustomization("", "url: '"+address+"', ref: {tag: v9}"), "v9 of " + address + " cannot be had"},
		"Flux, no such folder":                {ours + flux("a", "path: none, sourceRef: {kind: GitRepository, name: other}") + gitRepository("other", "url: '"+address+"', ref: {tag: v1.0.0}"), "there is no folder none in " + address},
		"Flux, a broken build":                {ours + flux("a", "path: broken, sourceRef: {kind: GitRepository, name: other}") + gitRepository("other", "url: '"+address+"', ref: {tag: v1.0.0}"), "it cannot be built"},
		"Flux, an artifact of a tag":          {artifact("{from: '@other/deploy/**', to: '@artifact/app/'}", "url: '"+address+"', ref: {tag: v1.0.0}"), "${who:=nobody} w z x"},
		"Flux, an artifact and .sourceignore": {artifact("{from: '@other/deploy/**', to: '@artifact/app/'}", "url: '"+server.Address("ignoring")+"', ref: {tag: v1.0.0}"), "${who:=nobody} w z"},
		"Flux, an artifact of both":           {artifact("{from: '@other/deploy/**', to: '@artifact/app/'}, {from: '@repo/apps/**', to: '@artifact/app/'}", "url: '"+address+"', ref: {tag: v2.0.0}"), "${who:=nobody} w z x y"},
		"Flux, an artifact of a branch":       {artifact("{from: '@other/deploy/**', to: '@artifact/app/'}", "url: '"+address+"', ref: {branch: main}"), "another repository"},
		"Flux, an artifact of no such tag":    {artifact("{from: '@other/deploy/**', to: '@artifact/app/'}", "url: '"+address+"', ref: {tag: v9}"), "v9 of " + address + " cannot be had"},
		"Argo CD, a tag":                      {source("path: deploy, targetRevision: v1.0.0"), "${who:=nobody} w z x"},
		"Argo CD, a short tag":                {source("path: deploy, targetRevision: '1.1'"), "${who:=nobody} w z x"},
		"Argo CD, a commit":                   {source("path: deploy, targetRevision: " + commit), "${who:=nobody} w z x"},
		"Argo CD, a chart":                    {source("path: chart, targetRevision: v1.0.0, helm: {valuesObject: {x: given}}"), "given w z y"},
		"Argo CD, HEAD":                       {source("path: deploy, targetRevision: HEAD"), "there is no folder deploy in this repository"},
		"Argo CD, a range":                    {source("path: deploy, targetRevision: 1.*"), "there is no folder deploy in this repository"},
		"Argo CD, jsonnet":                    {source("path: jsonnet, targetRevision: v1.0.0"), "it is rendered by jsonnet"},
		"Argo CD, our values":                 {application("sources: [{repoURL: '" + address + "', path: chart, targetRevision: v1.0.0, helm: {valueFiles: [$v/x.yaml]}}, {ref: v, repoURL: 'https://git/ours'}]"), "its values come from another source"},
		"Argo CD, one of two":                 {application("sources: [{repoURL: '" + address + "', path: deploy}, {repoURL: '" + address + "', path: chart, targetRevision: v1.0.0}]"), "there is no folder deploy in this repository"},
		"Argo CD, nobody says which is ours":  {app("a", "source: {repoURL: '"+address+"', path: chart/crds, targetRevision: v1.0.0}"), "y"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			remotes := repository.NewRemotes(nil)
			t.Cleanup(func() { g.Expect(remotes.Close()).To(Succeed()) })
			tree := opened(t, files{"entry/all.yaml": c.objects, "apps/none.yaml": configMap("none")})
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{Repositories: remotes})
			g.Expect(err).NotTo(HaveOccurred())
			var why []string
			for _, one := range cluster.Unseen {
				if !strings.Contains(one.Name, "root") {
					why = append(why, one.Why)
				}
			}
			if len(why) > 0 {
				g.Expect(strings.Join(why, "\n")).To(ContainSubstring(c.want))
				return
			}
			g.Expect(brought(cluster)).To(Equal(c.want))
			for _, object := range cluster.CRDs() {
				g.Expect(object.Place().File).To(BeEmpty(), "it is no file of this repository")
			}
		})
	}
}

// Whom a pull request names is not asked, and its password is not printed.
func TestOtherRepositoriesAreAskedOnlyWhereTheyMayBe(t *testing.T) {
	g := NewWithT(t)
	server := gittest.New(t)
	server.Commit(t, "operator", inOperator, "v1.0.0")
	named := strings.Replace(server.Address("operator"), "http://", "http://user:secret@", 1)
	for _, policy := range []*network.Policy{network.Offline(), network.Only(func() []string { return []string{"git.example.com"} })} {
		remotes := repository.NewRemotes(policy)
		tree := opened(t, files{"entry/a.yaml": app("a", "source: {repoURL: '"+named+"', path: deploy, targetRevision: v1.0.0}")})
		cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{Repositories: remotes})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cluster.Unseen).To(HaveLen(1))
		g.Expect(cluster.Unseen[0].Why).To(And(ContainSubstring("cannot be had"), Not(ContainSubstring("secret"))))
		g.Expect(server.Asked()).To(BeEmpty())
	}
}

// A folder of the same name is not what lies in another repository, and nothing says that it is this one.
func TestAPinnedSourceIsNotReadFromThisRepository(t *testing.T) {
	server := gittest.New(t)
	server.Commit(t, "operator", inOperator, "v1.0.0")
	for name, objects := range map[string]string{
		"Flux":    flux("a", "path: deploy, sourceRef: {kind: GitRepository, name: other}") + gitRepository("other", "url: '"+server.Address("operator")+"', ref: {tag: v1.0.0}"),
		"Argo CD": app("a", "source: {repoURL: '"+server.Address("operator")+"', path: deploy, targetRevision: v1.0.0}"),
		"Flux, of this repository": flux("a", "path: deploy, sourceRef: {kind: GitRepository, name: other}") + gitRepository("flux-system", "url: '"+server.Address("operator")+"', ref: {branch: main}") +
			gitRepository("other", "url: '"+server.Address("operator")+"', ref: {tag: v1.0.0}"),
	} {
		t.Run(name, func(t *testing.T) {
			for policy, want := range map[*network.Policy]string{nil: "${who:=nobody} w z x", network.Offline(): ""} {
				g := NewWithT(t)
				tree := opened(t, files{"entry/all.yaml": objects, "deploy/ours.yaml": crd("ours")})
				cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{Repositories: repository.NewRemotes(policy)})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(brought(cluster)).To(Equal(want))
				if want == "" {
					g.Expect(cluster.Unseen).To(ConsistOf(HaveField("Why", ContainSubstring("need not be what lies here"))))
				}
			}
		})
	}
}
