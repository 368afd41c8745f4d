package render

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/test/gittest"
)

func only(hosts ...string) *network.Policy {
	return network.Only(func() []string {
		for _, host := range hosts {
			hosts = append(hosts, network.Plain+host)
		}
		return hosts
	})
}

// files serves one manifest, and counts who asks for it.
func files(t *testing.T, asked *atomic.Int32) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/file.yaml" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(configMap("remote")))
	}))
	t.Cleanup(server.Close)
	return server
}

// Whatever a kustomization names, and wherever in it, no host is asked that may not be.
func TestNobodyIsAskedWhoMayNotBe(t *testing.T) {
	var asked atomic.Int32
	server := files(t, &asked)
	host := strings.TrimPrefix(server.URL, "http://")
	patch := "resources: [a.yaml]\n"
	for name, folder := range map[string]map[string]string{
		"a base of Git":              {"kustomization.yaml": "resources: [\"" + server.URL + "/org/repo.git//deploy?ref=v1\"]\n"},
		"a file":                     {"kustomization.yaml": "resources: [" + server.URL + "/file.yaml]\n"},
		"in capitals":                {"kustomization.yaml": "resources: [HTTP" + strings.TrimPrefix(server.URL, "http") + "/file.yaml]\n"},
		"an older field":             {"kustomization.yaml": "bases: [\"" + server.URL + "/org/repo?ref=v1\"]\n"},
		"a component":                {"kustomization.yaml": patch + "components: [git::" + server.URL + "/org/repo]\n"},
		"over SSH":                   {"kustomization.yaml": "resources: [\"ssh://git@" + host + "/org/repo\"]\n"},
		"a patch":                    {"kustomization.yaml": patch + "patches: [{path: " + server.URL + "/file.yaml}]\n"},
		"schemas":                    {"kustomization.yaml": patch + "openapi: {path: " + server.URL + "/file.yaml}\n"},
		"a generator":                {"kustomization.yaml": patch + "configMapGenerator: [{name: c, files: [a=" + server.URL + "/file.yaml]}]\n"},
		"a generator in a file":      {"kustomization.yaml": patch + "generators: [g.yaml]\n", "g.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: c}\nfiles: [a=" + server.URL + "/file.yaml]\n"},
		"a transformer of elsewhere": {"kustomization.yaml": patch + "transformers: [" + server.URL + "/org/repo]\n"},
		"in a folder":                {"kustomization.yaml": "resources: [below]\n", "below/kustomization.yaml": "resources: [" + server.URL + "/file.yaml]\n"},
	} {
		folder["a.yaml"] = configMap("a")
		t.Run(name, func(t *testing.T) {
			for how, policy := range map[string]*network.Policy{"other hosts": only("other.example.com"), "offline": network.Offline()} {
				g := NewWithT(t)
				asked.Store(0)
				_, err := Folder(folderOf(t, folder), Options{Network: policy})
				var refused *network.RefusedError
				g.Expect(errors.As(err, &refused)).To(BeTrue(), "%s: %v", how, err)
				g.Expect(err).To(MatchError(ContainSubstring(host)))
				g.Expect(OnlyHere(err)).NotTo(BeEmpty())
				g.Expect(asked.Load()).To(BeZero(), how)
			}
		})
	}
	g := NewWithT(t)
	for _, policy := range []*network.Policy{nil, only(host)} {
		built, err := Folder(folderOf(t, map[string]string{"kustomization.yaml": "resources: [" + server.URL + "/file.yaml]\n"}), Options{Network: policy})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(built)).To(Equal([]string{"remote"}))
	}
}

// A host that may be asked does not choose others: where it leads to has to speak HTTPS.
func TestAFileDoesNotLeadElsewhere(t *testing.T) {
	g := NewWithT(t)
	var asked atomic.Int32
	server := files(t, &asked)
	leads := httptest.NewServer(http.RedirectHandler(server.URL+"/file.yaml", http.StatusFound))
	t.Cleanup(leads.Close)
	_, err := Folder(folderOf(t, map[string]string{"kustomization.yaml": "resources: [" + leads.URL + "/file.yaml]\n"}),
		Options{Network: only(strings.TrimPrefix(leads.URL, "http://"))})
	g.Expect(err).To(MatchError(ContainSubstring("without HTTPS")))
	g.Expect(asked.Load()).To(BeZero())
}

func TestARemoteBaseIsBuiltFromAHostThatMayBeAsked(t *testing.T) {
	g := NewWithT(t)
	server := gittest.New(t)
	server.Commit(t, "base", map[string]string{"deploy/kustomization.yaml": "resources: [a.yaml]\n", "deploy/a.yaml": configMap("base")}, "v1")
	dir := folderOf(t, map[string]string{"kustomization.yaml": "resources: [\"" + server.Address("base") + "//deploy?ref=v1\"]\n"})
	built, err := Folder(dir, Options{Network: only(server.Host())})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"base"}))
	g.Expect(RemoteHosts([]byte("resources: [" + server.Address("base") + "//deploy, \"git@git.example.com:org/repo\", github.com/org/repo, ./local]\n"))).
		To(Equal([]string{server.Host(), "git.example.com", "github.com"}))
}

// A base is of a host that may be asked, its submodules are not.
func TestSubmodulesOfARemoteBaseAreNotFetched(t *testing.T) {
	g := NewWithT(t)
	server, stranger := gittest.New(t), gittest.New(t)
	of := stranger.Commit(t, "module", map[string]string{"a.yaml": configMap("module")})
	server.Commit(t, "base", map[string]string{
		"kustomization.yaml": "resources: [a.yaml]\n", "a.yaml": configMap("base"),
		".gitmodules": "[submodule \"module\"]\n\tpath = module\n\turl = " + stranger.Address("module") + "\n",
	})
	server.Link(t, "base", "module", of)
	dir := folderOf(t, map[string]string{"kustomization.yaml": "resources: [" + server.Address("base") + "]\n"})
	built, err := Folder(dir, Options{Network: only(server.Host())})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(built)).To(Equal([]string{"base"}))
	g.Expect(stranger.Asked()).To(BeEmpty())

	_, err = Folder(dir, Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(stranger.Asked()).NotTo(BeEmpty(), "as Kustomize does")
}

// Kustomize hands a ref to git as it is. An option of git can run any program, and a pair of refs can put one revision in the place of
// another that was fetched before.
func TestARefIsTheNameOfARevision(t *testing.T) {
	g := NewWithT(t)
	base := folderOf(t, map[string]string{"a.yaml": configMap("a")})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, query := range []string{"ref=--upload-pack=touch " + ran, "version=--upload-pack=touch " + ran, "ref=%2Bevil:refs/tags/v1", "ref=evil:v1", "ref=%2Bv1", "ref=^v1", "ref=refs/*"} {
		dir := folderOf(t, map[string]string{"kustomization.yaml": "resources: [\"file://" + base + "?" + query + "\"]\n"})
		_, err := Folder(dir, Options{})
		g.Expect(err).To(MatchError(ContainSubstring("is not the name of a revision")))
	}
	_, err := os.Stat(ran)
	g.Expect(err).To(MatchError(os.ErrNotExist))
}

// Others start git while a folder is built: they never find a setting without its key, which git refuses.
func TestTheSettingsOfGitAreAlwaysWhole(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "user.name")
	t.Setenv("GIT_CONFIG_VALUE_0", "somebody")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 2000 {
			limitGit()()
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		environment := strings.Join(os.Environ(), "\n")
		if strings.Contains(environment, "GIT_CONFIG_COUNT=3") {
			g.Expect(environment).To(And(ContainSubstring("GIT_CONFIG_KEY_1=submodule.active"), ContainSubstring("GIT_CONFIG_VALUE_1=none"), ContainSubstring("GIT_CONFIG_VALUE_2=false")))
		}
	}
	g.Expect(os.Getenv("GIT_CONFIG_COUNT")).To(Equal("1"))
}
