package desired_test

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/repository"
)

// Several repositories of a company may have the same folders, and an entry point may name that of each.
func TestAnApplicationOfAnotherRepositoryIsNotTheEntryPoint(t *testing.T) {
	const ours, theirs = "https://git/ours.git", "https://git/theirs.git"
	of := func(name, url, path string) string {
		return app(name, "source: {repoURL: '"+url+"', path: "+path+"}")
	}
	elsewhere := func(url, name string) string {
		return "argocd/" + name + ": (it comes from another repository, " + url + ")"
	}
	others := of("a", ours, "a") + of("b", ours, "b")
	for name, c := range map[string]struct {
		objects, origin string
		units           []string
	}{
		"most are, and nothing is known": {of("theirs", theirs, "entry") + others, "", []string{"argocd/theirs: theirs a b", elsewhere(ours, "a"), elsewhere(ours, "b")}},
		"one is, and the origin":         {of("theirs", theirs, "entry") + of("a", ours, "a"), "git@git:ours", []string{"entry: theirs a", elsewhere(theirs, "theirs"), "argocd/a: x"}},
		"one is, and nothing is known":   {of("theirs", theirs, "entry") + of("a", ours, "a"), "", []string{"argocd/theirs: theirs a", elsewhere(ours, "a")}},
		"the origin is the entry":        {of("theirs", theirs, "entry") + others, theirs, []string{"argocd/theirs: theirs a b", elsewhere(ours, "a"), elsewhere(ours, "b")}},
		"the entry is ours":              {of("root", ours, "entry") + others, "https://git/fork", []string{"argocd/root: root a b", "argocd/a: x", "argocd/b: y"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tree := opened(t, files{"entry/all.yaml": c.objects, "a/x.yaml": crd("x"), "b/y.yaml": crd("y")})
			if c.origin != "" {
				cloned(t, tree, c.origin)
			}
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(units(cluster)).To(Equal(c.units))
		})
	}
}

// cloned is a tree whose remote origin is known.
func cloned(t *testing.T, tree *repository.Tree, origin string) *repository.Tree {
	t.Helper()
	g := NewWithT(t)
	made, err := git.PlainInit(tree.Root, false)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = made.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{origin}})
	g.Expect(err).NotTo(HaveOccurred())
	return tree
}

// What lies in the entry point is compared as it is, so it is not a part of what another repository has.
func TestWhatAnotherRepositoryHasForTheEntryPointIsNotInIt(t *testing.T) {
	g := NewWithT(t)
	objects := app("theirs", "source: {repoURL: 'https://git/theirs', path: entry}") + app("a", "source: {repoURL: 'https://git/ours', path: a}")
	fingerprint := func(more files) string {
		tree := cloned(t, opened(t, with(files{"entry/all.yaml": objects, "a/x.yaml": crd("x")}, more)), "https://git/ours")
		cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return cluster.Unseen[0].Fingerprint
	}
	g.Expect(fingerprint(files{"entry/more.yaml": configMap("more")})).To(Equal(fingerprint(nil)))
}

// A kustomization may take a folder of its own repository from a branch, which this pull request becomes part of. A tag stays as it is.
func TestARemoteBaseOfTheOwnRepositoryIsMadeOfItsFolder(t *testing.T) {
	g := NewWithT(t)
	fingerprint := func(origin, reference, content string) string {
		tree := opened(t, files{"entry/kustomization.yaml": "resources: [a.yaml, 'https://git/ours.git//crds?ref=" + reference + "']\n", "entry/a.yaml": flux("a", "path: ./a"), "crds/kustomization.yaml": "resources: [x.yaml]\n", "crds/x.yaml": content})
		cluster, err := desired.Follow(t.Context(), cloned(t, tree, origin), "entry", desired.Options{Network: network.Offline()})
		g.Expect(err).NotTo(HaveOccurred())
		return cluster.Unseen[0].Fingerprint
	}
	const ours = "git@git:ours"
	g.Expect(fingerprint(ours, "main", crd("y"))).NotTo(Equal(fingerprint(ours, "main", crd("x"))))
	g.Expect(fingerprint(ours, "v1.0.0", crd("y"))).To(Equal(fingerprint(ours, "v1.0.0", crd("x"))))
	g.Expect(fingerprint("https://git/theirs", "main", crd("y"))).To(Equal(fingerprint("https://git/theirs", "main", crd("x"))))
}

// A chart may be given the address of this repository as a value, and takes nothing from it.
func TestAnAddressAmongValuesIsNoRemoteBase(t *testing.T) {
	g := NewWithT(t)
	fingerprint := func(content string) string {
		tree := opened(t, files{"entry/kustomization.yaml": "resources: [a.yaml]\nhelmCharts: [{name: c, repo: 'https://charts.example.com', valuesInline: {of: 'https://git/ours'}}]\n", "entry/a.yaml": app("a", "source: {repoURL: 'https://git/ours', path: a}"), "a/x.yaml": crd("x"), "beside/x.txt": content})
		cluster, err := desired.Follow(t.Context(), cloned(t, tree, "https://git/ours"), "entry", desired.Options{Network: network.Offline()})
		g.Expect(err).NotTo(HaveOccurred())
		return cluster.Unseen[0].Fingerprint
	}
	g.Expect(fingerprint("x")).To(Equal(fingerprint("y")))
}

// The root of another repository is not that of this one, whatever an ApplicationSet makes of it.
func TestAnApplicationSetOfAnotherRepositoryTakesNothingFromThisOne(t *testing.T) {
	g := NewWithT(t)
	set := object("argoproj.io/v1alpha1", "ApplicationSet", "s", "generators: [{clusters: {}}], template: {metadata: {name: s}, spec: {source: {path: /, repoURL: 'https://git/theirs'}}}")
	fingerprint := func(origin string, more files) string {
		tree := opened(t, with(files{"entry/all.yaml": set + app("a", "source: {repoURL: 'https://git/ours', path: a}"), "a/x.yaml": crd("x")}, more))
		cluster, err := desired.Follow(t.Context(), cloned(t, tree, origin), "entry", desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return cluster.Unseen[len(cluster.Unseen)-1].Fingerprint
	}
	more := files{"more/x.yaml": crd("x")}
	g.Expect(fingerprint("https://git/ours", more)).To(Equal(fingerprint("https://git/ours", nil)))
	g.Expect(fingerprint("https://git/theirs", more)).NotTo(Equal(fingerprint("https://git/theirs", nil)))
}

// Two repositories have folders of one name, and a set for each. What lies here is not what the generator of the other finds.
func TestAGeneratorOfAnotherRepositoryFindsNothingHere(t *testing.T) {
	g := NewWithT(t)
	of := func(name, url string) string {
		return object("argoproj.io/v1alpha1", "ApplicationSet", name, "generators: [{matrix: {generators: [{git: {repoURL: '"+url+"', directories: [{path: 'at/*'}]}}, {list: {elements: [{x: y}]}}]}}], "+
			"template: {metadata: {name: '{{path.basename}}'}, spec: {source: {path: '{{path}}', repoURL: '"+url+"'}}}")
	}
	both := files{"entry/all.yaml": of("a", "https://git/theirs") + of("b", "https://git/ours"), "at/one/x.yaml": crd("x")}
	cluster, err := desired.Follow(t.Context(), cloned(t, opened(t, both), "https://git/ours"), "entry", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(units(cluster)).To(Equal([]string{"entry: a b", "flux-system/a: (its generator looks at another repository, https://git/theirs)", "flux-system/one: x"}))
	more, err := desired.Follow(t.Context(), cloned(t, opened(t, with(both, files{"more/y.yaml": crd("y")})), "https://git/ours"), "entry", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(more.Unseen[0].Fingerprint).To(Equal(cluster.Unseen[0].Fingerprint))
}

// What is not seen and names this repository may take any folder of it.
func TestWhatNamesThisRepositoryMayTakeAnyFolder(t *testing.T) {
	for _, installer := range []string{
		object("fleet.cattle.io/v1alpha1", "GitRepo", "g", "repo: 'https://git/ours', bundles: [{base: deep}]"),
		app("a", "source: {chart: argocd-apps, repoURL: 'https://charts', targetRevision: 1.2.3, helm: {valuesObject: {apps: {a: {repoURL: 'git@git:ours.git', path: deep}}}}}"),
	} {
		g := NewWithT(t)
		fingerprints := map[string]bool{}
		for _, version := range []string{"x", "y"} {
			tree := cloned(t, opened(t, files{"entry/g.yaml": installer, "deep/w.yaml": crd(version)}), "https://git/ours")
			cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(cluster.Unseen).To(HaveLen(1))
			fingerprints[cluster.Unseen[0].Fingerprint] = true
		}
		g.Expect(fingerprints).To(HaveLen(2))
	}
}

// The folder beside the address of this repository is what is taken of it. An address in a schema is none.
func TestOnlyTheFolderBesideTheOwnAddressCounts(t *testing.T) {
	g := NewWithT(t)
	instance := "apiVersion: fluxcd.controlplane.io/v1\nkind: FluxInstance\nmetadata: {name: f}\nspec: {sync: {kind: GitRepository, url: 'https://git/ours.git', path: PATH}}\n"
	schema := "apiVersion: apiextensions.crossplane.io/v1\nkind: CompositeResourceDefinition\nmetadata: {name: x}\nspec: {versions: [{schema: {openAPIV3Schema: {properties: {repository: {default: 'https://git/ours'}}}}}]}\n"
	fingerprint := func(object string, more files) string {
		tree := cloned(t, opened(t, with(files{"entry/f.yaml": object}, more)), "https://git/ours")
		cluster, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		return cluster.Unseen[0].Fingerprint
	}
	one, other := files{"other/kustomization.yaml": "resources: []\n"}, files{"other/kustomization.yaml": "namespace: x\n"}
	synced := strings.ReplaceAll(instance, "PATH", "./entry")
	g.Expect(fingerprint(synced, one)).To(Equal(fingerprint(synced, other)))
	g.Expect(fingerprint(schema, one)).To(Equal(fingerprint(schema, other)))
	deployment := "apiVersion: gitops.kluctl.io/v1beta1\nkind: KluctlDeployment\nmetadata: {name: k}\nspec: {source: {git: {url: 'https://git/ours', path: entry}}}\n"
	g.Expect(fingerprint(deployment, one)).NotTo(Equal(fingerprint(deployment, other)), "its folder may take another one")
	for _, path := range []string{"'./${cluster}'", "."} {
		everywhere := strings.ReplaceAll(instance, "PATH", path)
		g.Expect(fingerprint(everywhere, one)).NotTo(Equal(fingerprint(everywhere, other)), path)
	}
	artifact := strings.NewReplacer("GitRepository", "OCIRepository", "PATH", "./none").Replace(instance)
	g.Expect(fingerprint(artifact, one)).NotTo(Equal(fingerprint(artifact, other)), "it has other folders")
	nowhere := strings.ReplaceAll(instance, "PATH", "./none")
	g.Expect(fingerprint(nowhere, one)).To(Equal(fingerprint(nowhere, other)), "the sync fails")
	g.Expect(fingerprint(nowhere, files{"none/x.yaml": crd("x")})).NotTo(Equal(fingerprint(nowhere, one)), "until there is such a folder")
}

// A Kustomization without a path, in an entry point that was found, is a base that others complete. Named, it is what it says.
func TestAKustomizationWithoutAPathIsCompletedElsewhere(t *testing.T) {
	g := NewWithT(t)
	tree := opened(t, files{"entry/base.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: base, namespace: flux-system}\nspec: {interval: 1h, prune: true}\n", "compose.yaml": "services: {}\n"})
	found, err := desired.Follow(t.Context(), tree, "entry", desired.Options{Guessed: true})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Units[1].Err).NotTo(HaveOccurred())
	g.Expect(found.Units[1].Unseen).To(ContainSubstring("another manifest completes it"))
	elsewhere := opened(t, files{"entry/base.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: base, namespace: flux-system}\nspec: {interval: 1h, prune: true}\n", "crds/kustomization.yaml": "resources: ['https://git.example.com/o//crds?ref=v1']\n"})
	found, err = desired.Follow(t.Context(), elsewhere, "entry", desired.Options{Guessed: true, Network: network.Offline()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Units[1].Unseen).NotTo(Or(BeEmpty(), ContainSubstring("completes it")), "its tool may well build it")
	named, err := desired.Follow(t.Context(), tree, "entry", desired.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(named.Units[1].Err).To(MatchError(ContainSubstring("compose.yaml holds no manifests")))
}
