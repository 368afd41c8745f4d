package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

// asked is a readiness on a machine that has nothing yet, with what it says, and which of its programs it would build.
type asked struct {
	*readiness
	said  bytes.Buffer
	built []string
	store string // for what is fetched
}

func onAFreshMachine(t *testing.T, indexURL string) *asked {
	t.Helper()
	for _, folder := range []string{"XDG_CACHE_HOME", "XDG_DATA_HOME", "HOME", "TMPDIR"} {
		t.Setenv(folder, t.TempDir())
	}
	for _, unset := range []string{assets.EnvDir, assets.EnvMinor, envIndex, "ENVTEST_INSTALLED_ONLY", "ENVTEST_USE_ENV", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(unset, "")
	}
	a := &asked{}
	a.readiness = newReadiness(&maker{out: &a.said})
	a.index, a.patience = indexURL, time.Minute // a busy machine is no index that hangs
	a.readiness.build = func(_ context.Context, pinned assets.Assets) error {
		for _, p := range pinned.Missing() {
			a.built = append(a.built, p.Name)
		}
		return nil
	}
	var err error
	a.store, err = assets.Fetched()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return a
}

// TestMain lets go find its own caches although HOME is another, and its telemetry, which a child of go writes after go has ended.
// It builds setup-envtest, so that no test waits for a compiler.
func TestMain(m *testing.M) {
	if config, err := os.UserConfigDir(); err == nil {
		_ = os.Setenv("XDG_CONFIG_HOME", config)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		if out, err := goCommand(context.Background(), ".", "env", name).Output(); err == nil {
			_ = os.Setenv(name, string(bytes.TrimSpace(out)))
		}
	}
	if module, err := assets.SetupEnvtest(); err == nil { // a failure is that of the tests, too
		_ = goCommand(context.Background(), module, "tool", "-n", "setup-envtest").Run()
	}
	os.Exit(m.Run())
}

func folder(version string) string { return version + "-" + runtime.GOOS + "-" + runtime.GOARCH }

// put writes programs into a folder.
func put(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	g := NewWithT(t)
	g.Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	for name, content := range files {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o755)).To(Succeed())
	}
	return dir
}

func TestOnAFreshMachineTheNewestSupportedProgramsAreFetchedOnce(t *testing.T) {
	g := NewWithT(t)
	served := serve(t, offer{version: "v1.35.2"}, offer{version: "v1.37.1"}, offer{version: "v1.38.0"})
	a := onAFreshMachine(t, served.URL)
	dir, err := a.find(t.Context())
	g.Expect(err).NotTo(HaveOccurred(), a.said.String())
	g.Expect(dir).To(Equal(filepath.Join(a.store, "k8s", folder("1.37.1"))))
	g.Expect(assets.Assets{Dir: dir}.Version(t.Context())).To(Equal("v1.37.1"))
	g.Expect(a.said.String()).To(MatchRegexp(`using kube-apiserver v1\.37\.1, fetched in \d+ s \(%s\)\n$`, dir))
	g.Expect(a.built).To(BeEmpty())
	g.Expect(left(g, a)).To(ConsistOf("k8s"))

	requests := len(served.requested())
	a.said.Reset()
	g.Expect(a.find(t.Context())).To(Equal(dir))
	g.Expect(served.requested()).To(HaveLen(requests), "nothing is asked for again")
	g.Expect(a.said.String()).To(Equal("control plane: using kube-apiserver v1.37.1 fetched before (" + dir + ")\n"))

	g.Expect(a.clean(t.Context())).To(Succeed())
	g.Expect(a.store).NotTo(BeADirectory())
}

// left is what lies in the store, and makes sure that the folder for temporary files is empty.
func left(g *WithT, a *asked) (names []string) {
	temporary, err := os.ReadDir(os.Getenv("TMPDIR"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(temporary).To(BeEmpty())
	entries, err := os.ReadDir(a.store)
	g.Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

const silent = "nothing has arrived for 2s"

func TestWhatCannotBeFetchedIsBuilt(t *testing.T) {
	answers := func(code int, words string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, words, code) }
	}
	for name, c := range map[string]struct {
		index http.HandlerFunc
		offer offer // in an index that is right
		says  string
	}{
		"the index hangs":                {index: hang, says: `fetched nothing: ` + silent},
		"the index answers 500":          {index: answers(500, "no"), says: `got status "500 Internal Server Error"`},
		"the index is something else":    {index: answers(200, "<html>"), says: `unable to unmarshal index`},
		"the index has nothing for us":   {index: answers(200, "releases: {}"), says: `unable to find a version that was supported for platform`},
		"the index has old versions":     {offer: offer{version: "v1.31.0"}, says: `of no use: it has no Kubernetes 1.32 to 1.37`},
		"the checksum is another":        {offer: offer{sum: func([]byte) []byte { return []byte("another") }}, says: `checksum mismatch`},
		"half a file comes":              {offer: offer{spoil: half}, says: `checksum mismatch`},
		"half a file was published":      {offer: offer{spoil: half, sum: func(sent []byte) []byte { return sent }}, says: `fetched nothing: unable to store version to disk`},
		"the connection breaks off":      {offer: offer{answer: breakOff}, says: `unexpected EOF`},
		"the archive stops coming":       {offer: offer{answer: dryUp}, says: `fetched nothing: ` + silent},
		"a program is missing":           {offer: offer{files: map[string]string{"etcd": program("3.6.4")}}, says: `of no use: no kube-apiserver there`},
		"a program is for other chips":   {offer: offer{files: map[string]string{"etcd": program("3.6.4"), "kube-apiserver": "\x7fELF"}}, says: `of no use: kube-apiserver does not run: fork/exec`},
		"a program is another's version": {offer: offer{files: programs("v1.29.0")}, says: `of no use: kube-apiserver is v1.29.0, and Moult's demo needs 1.32 to 1.37`},
	} {
		t.Run(name, func(t *testing.T) {
			if c.index != nil {
				expectBuilt(t, (&index{}).start(t, c.index).URL, c.says)
				return
			}
			expectBuilt(t, serve(t, c.offer).URL, c.says)
		})
	}
}

func TestWithoutANetworkTheProgramsAreBuilt(t *testing.T) {
	nothingListens := httptest.NewServer(nil)
	nothingListens.Close()
	expectBuilt(t, nothingListens.URL, "connection refused")
}

// expectBuilt asks an index that is of no use, and expects that this is reported, and that nothing of it remains. One that
// sends nothing is given up after two seconds.
func expectBuilt(t *testing.T, indexURL, says string) {
	t.Helper()
	g := NewWithT(t)
	a := onAFreshMachine(t, indexURL)
	if strings.Contains(says, silent) {
		a.patience = 2 * time.Second
	}
	dir, err := a.find(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.said.String()).To(MatchRegexp("%s.*\ncontrol plane: building kube-apiserver and etcd instead\n$", says))
	g.Expect(a.built).To(ConsistOf("kube-apiserver", "etcd"))
	g.Expect(dir).To(HavePrefix(filepath.Join(filepath.Dir(a.store), "kubernetes-v1.37.")))
	g.Expect(left(g, a)).To(BeEmpty(), "no half programs")
}

func TestGivenProgramsAreTaken(t *testing.T) {
	g := NewWithT(t)
	nothing := serve(t)
	a := onAFreshMachine(t, nothing.URL)
	own := put(t, t.TempDir(), programs("v1.33.4"))
	t.Setenv(assets.EnvDir, own)
	g.Expect(a.find(t.Context())).To(Equal(own))
	g.Expect(a.said.String()).To(Equal("control plane: using kube-apiserver v1.33.4 from KUBEBUILDER_ASSETS (" + own + ")\n"))
	g.Expect(nothing.requested()).To(BeEmpty())
}

func TestProgramsOfSetupEnvtestsStoreAreTaken(t *testing.T) {
	type store map[string]map[string]string // folders, and the programs in each
	for name, c := range map[string]struct {
		store store
		minor string
		want  string
		says  string
	}{
		"the newest that is supported": {store{
			folder("1.33.0"): programs("v1.33.0"), folder("1.35.10"): programs("v1.35.10"), folder("1.35.9"): programs("v1.35.9"),
			folder("1.38.0"): programs("v1.38.0"), "1.37.0-plan9-mips": programs("v1.37.0"),
		}, "", "1.35.10", "^control plane: using kube-apiserver v1.35.10 from setup-envtest's store "},
		"the newest that is whole": {store{
			folder("1.37.0"): {"etcd": program("3.6.4"), "kube-apiserver": "\x7fEL"}, folder("1.34.0"): programs("v1.34.0"),
		}, "", "1.34.0", "not using the programs from setup-envtest's store .*: kube-apiserver does not run: .*\ncontrol plane: using kube-apiserver v1.34.0"},
		"the minor version that is asked for": {store{
			folder("1.34.0"): programs("v1.34.0"), folder("1.35.0"): programs("v1.35.0"),
		}, "1.34", "1.34.0", "^control plane: using kube-apiserver v1.34.0 "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			nothing := serve(t)
			a := onAFreshMachine(t, nothing.URL)
			t.Setenv(assets.EnvMinor, c.minor)
			in := filepath.Join(assets.SetupEnvtestStore(), "k8s")
			for dir, files := range c.store {
				put(t, filepath.Join(in, dir), files)
			}
			g.Expect(a.find(t.Context())).To(Equal(filepath.Join(in, folder(c.want))))
			g.Expect(a.said.String()).To(MatchRegexp(c.says))
			g.Expect(a.built).To(BeEmpty())
			g.Expect(nothing.requested()).To(BeEmpty())
		})
	}
}

func TestGivenProgramsOfAnotherVersionAreLeftAside(t *testing.T) {
	g := NewWithT(t)
	served := serve(t, offer{})
	a := onAFreshMachine(t, served.URL)
	t.Setenv(assets.EnvDir, put(t, t.TempDir(), programs("v1.29.0")))
	g.Expect(a.find(t.Context())).To(HaveSuffix(folder("1.37.0")))
	g.Expect(a.said.String()).To(ContainSubstring("not using the programs from KUBEBUILDER_ASSETS (" + os.Getenv(assets.EnvDir) + "): kube-apiserver is v1.29.0, and Moult's demo needs 1.32 to 1.37\n"))
}

func TestWhatWasBuiltIsTakenSilently(t *testing.T) {
	g := NewWithT(t)
	a := onAFreshMachine(t, "")
	pinned, err := assets.Of("")
	g.Expect(err).NotTo(HaveOccurred())
	put(t, pinned.Dir, programs("v1.37.2"))
	g.Expect(a.find(t.Context())).To(Equal(pinned.Dir))
	g.Expect(a.said.String()).To(BeEmpty())
}

func TestWhatAKilledFetchLeftIsRemovedByTheNext(t *testing.T) {
	g := NewWithT(t)
	served := serve(t, offer{})
	a := onAFreshMachine(t, served.URL)
	put(t, filepath.Join(a.store, ".fetching"), map[string]string{"1-envtest.tar.gz": "half"})
	half := put(t, filepath.Join(a.store, ".fetching", "k8s", folder("1.37.0")), map[string]string{"etcd": "half"})
	g.Expect(os.Chmod(half, 0o555)).To(Succeed())
	g.Expect(a.find(t.Context())).To(HaveSuffix(folder("1.37.0")))
	g.Expect(a.built).To(BeEmpty())
	g.Expect(left(g, a)).To(ConsistOf("k8s"))
}

func TestNothingIsFetchedForSomebodyWhoWantsNone(t *testing.T) {
	g := NewWithT(t)
	served := serve(t, offer{})
	a := onAFreshMachine(t, served.URL)
	t.Setenv("ENVTEST_INSTALLED_ONLY", "1")
	_, err := a.find(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(served.requested()).To(BeEmpty())
	g.Expect(a.built).To(HaveLen(2))
}

func TestWithoutSetupEnvtestsModulesItIsBuiltToo(t *testing.T) {
	g := NewWithT(t)
	a := onAFreshMachine(t, "")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOPROXY", "off")
	_, err := a.find(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.said.String()).To(ContainSubstring("setup-envtest did not build: "))
	g.Expect(a.built).To(HaveLen(2))
	g.Expect(left(g, a)).To(BeEmpty())
}

func TestAnInterruptedFetchBuildsNothing(t *testing.T) {
	g := NewWithT(t)
	ctx, interrupt := context.WithCancel(t.Context())
	served := (&index{}).start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { interrupt(); hang(w, r) }))
	a := onAFreshMachine(t, served.URL)
	_, err := a.find(ctx)
	g.Expect(err).To(HaveOccurred())
	g.Expect(a.built).To(BeEmpty())
	g.Expect(left(g, a)).To(BeEmpty())
}
