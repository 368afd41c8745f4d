package store_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/charts"
	"github.com/moult-dev/moult/clusters/charts/store"
	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/test/charttest"
)

var versions = map[string]charttest.Chart{
	"1.0.0": charttest.Of("widgets", "1.0.0", nil), "1.2.0": charttest.Of("widgets", "1.2.0", nil),
	"1.10.0": charttest.Of("widgets", "1.10.0", nil), "2.0.0-rc.1": charttest.Of("widgets", "2.0.0-rc.1", nil),
	"1.3.0+build": charttest.Of("widgets", "1.3.0+build", nil),
}

// withoutHome keeps the credentials of the person who runs the test out of it.
func withoutHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HELM_CONFIG_HOME", home)
	t.Setenv("DOCKER_CONFIG", home)
	t.Setenv("HELM_CACHE_HOME", filepath.Join(home, "cache"))
	return home
}

func only(host string) func() []string {
	return func() []string { return []string{host, network.Plain + host} }
}

func hostOf(server *httptest.Server) string { return strings.TrimPrefix(server.URL, "http://") }

func TestAVersionIsChosenAsHelmDoes(t *testing.T) {
	withoutHome(t)
	http, oci := charttest.Repository(t, "widgets", versions, nil), charttest.Registry(t, "widgets", versions, nil)
	for name, c := range map[string]struct{ asked, want, chosen string }{
		"an exact version":         {"1.2.0", "1.2.0", ""},
		"one with a build":         {"1.3.0+build", "1.3.0+build", ""},
		"a range":                  {"1.x", "1.10.0", "1.10.0"},
		"a range with an end":      {">=1.0.0 <1.5.0", "1.3.0+build", "1.3.0+build"},
		"none, so the newest":      {"", "1.10.0", "1.10.0"},
		"one with pre-releases":    {">=1.0.0-0", "2.0.0-rc.1", "2.0.0-rc.1"},
		"one that is not there":    {"3.0.0", "", ""},
		"a range without versions": {"3.x", "", ""},
	} {
		for how, repository := range map[string]string{"HTTP": http.URL + "/charts", "OCI": "oci://" + hostOf(oci) + "/charts"} {
			t.Run(name+" over "+how, func(t *testing.T) {
				g := NewWithT(t)
				s := store.New(store.Options{Fetch: true})
				chart, err := s.Chart(t.Context(), charts.Reference{Repository: repository, Name: "widgets", Version: c.asked})
				if c.want == "" {
					g.Expect(err).To(MatchError(ContainSubstring("cannot be had")))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(chart.Version()).To(Equal(c.want))
				if c.chosen == "" {
					g.Expect(s.Chosen()).To(BeEmpty())
				} else {
					g.Expect(s.Chosen()).To(ConsistOf(HaveSuffix(" is " + c.chosen)))
				}
			})
		}
	}
}

func TestAnOCIRepositoryIsTheChartItself(t *testing.T) {
	g := NewWithT(t)
	withoutHome(t)
	oci := charttest.Registry(t, "widgets", versions, nil)
	chart, err := store.New(store.Options{Fetch: true}).Chart(t.Context(), charts.Reference{Repository: "oci://" + hostOf(oci) + "/charts/widgets", Tag: "1.3.0_build"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chart.Version()).To(Equal("1.3.0+build"))
}

// Only hosts that the caller knows are asked, whatever a manifest says, and those they lead to have to be public.
func TestAHostThatIsNotAllowedIsNotAsked(t *testing.T) {
	withoutHome(t)
	asked := 0
	count := func(*http.Request) bool { asked++; return true }
	repository, registry := charttest.Repository(t, "widgets", versions, count), charttest.Registry(t, "widgets", versions, count)
	leads := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "index.yaml") && strings.HasPrefix(r.URL.Path, "/names/") {
			_, _ = w.Write([]byte("entries: {widgets: [{version: 1.0.0, urls: ['" + repository.URL + "/charts/widgets-1.0.0.tgz']}]}"))
			return
		}
		http.Redirect(w, r, repository.URL+r.URL.Path, http.StatusFound)
	}))
	t.Cleanup(leads.Close)
	for name, c := range map[string]struct{ repository, host, want string }{
		"a Helm repository":            {repository.URL + "/charts", "other.example.com", "allow it with --allow-hosts " + hostOf(repository)},
		"a registry":                   {"oci://" + hostOf(registry) + "/charts", "other.example.com", "allow it with --allow-hosts " + hostOf(registry)},
		"one that is led to":           {leads.URL + "/charts", hostOf(leads), "without HTTPS"},
		"one that an index leads to":   {leads.URL + "/names", hostOf(leads), "without HTTPS"},
		"a file":                       {"file:///etc", "other.example.com", "no address that can be asked"},
		"something without an address": {"", "other.example.com", "no address that can be asked"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked = 0
			_, err := store.New(store.Options{Fetch: true, Network: network.Only(only(c.host))}).Chart(t.Context(), charts.Reference{Repository: c.repository, Name: "widgets", Version: "1.0.0"})
			g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			g.Expect(asked).To(BeZero())
		})
	}
	chart, err := store.New(store.Options{Fetch: true, Network: network.Only(only(hostOf(repository)))}).Chart(t.Context(), charts.Reference{Repository: repository.URL + "/charts", Name: "widgets", Version: "1.0.0"})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(chart.Version()).To(Equal("1.0.0"))
}

func TestTheCredentialsOfHelmAreUsed(t *testing.T) {
	g := NewWithT(t)
	home := withoutHome(t)
	let := func(r *http.Request) bool {
		user, password, _ := r.BasicAuth()
		return user == "u" && password == "p"
	}
	repository, registry := charttest.Repository(t, "widgets", versions, let), charttest.Registry(t, "widgets", versions, let)
	ofHTTP := charts.Reference{Repository: repository.URL + "/charts", Name: "widgets", Version: "1.0.0"}
	ofOCI := charts.Reference{Repository: "oci://" + hostOf(registry) + "/charts", Name: "widgets", Version: "1.0.0"}
	for _, r := range []charts.Reference{ofHTTP, ofOCI} {
		_, err := store.New(store.Options{Fetch: true}).Chart(t.Context(), r)
		g.Expect(err).To(HaveOccurred())
	}
	g.Expect(os.WriteFile(filepath.Join(home, "repositories.yaml"), []byte("repositories: [{name: r, url: '"+repository.URL+"/charts', username: u, password: p}]"), 0o600)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(home, "registry"), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(home, "registry", "config.json"), []byte(`{"auths": {"`+hostOf(registry)+`": {"auth": "`+base64.StdEncoding.EncodeToString([]byte("u:p"))+`"}}}`), 0o600)).To(Succeed())
	for _, r := range []charts.Reference{ofHTTP, ofOCI} {
		_, err := store.New(store.Options{Fetch: true}).Chart(t.Context(), r)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestAChartInAFolderIsNotFetched(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for version, chart := range versions {
		g.Expect(os.WriteFile(filepath.Join(folder, "widgets-"+version+".tgz"), chart.Packed(t), 0o600)).To(Succeed())
	}
	g.Expect(os.WriteFile(filepath.Join(folder, "widgets-more-1.11.0.tgz"), charttest.Of("widgets-more", "1.11.0", nil).Packed(t), 0o600)).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(folder, "gadgets"), 0o700)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(folder, "gadgets", "Chart.yaml"), []byte("apiVersion: v2\nname: gadgets\nversion: 3.0.0\n"), 0o600)).To(Succeed())
	for name, c := range map[string]struct {
		asked charts.Reference
		want  string
	}{
		"an exact version":      {charts.Reference{Repository: "https://none.invalid", Name: "widgets", Version: "1.0.0"}, "1.0.0"},
		"a range":               {charts.Reference{Repository: "https://none.invalid", Name: "widgets", Version: "~1"}, "1.10.0"},
		"a tag":                 {charts.Reference{Repository: "oci://none.invalid/x/widgets", Tag: "1.3.0_build"}, "1.3.0+build"},
		"an unpacked one":       {charts.Reference{Repository: "https://none.invalid", Name: "gadgets", Version: "3.0.0"}, "3.0.0"},
		"another version of it": {charts.Reference{Repository: "https://none.invalid", Name: "gadgets", Version: "4.0.0"}, ""},
		"one that is not there": {charts.Reference{Repository: "https://none.invalid", Name: "others"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			chart, err := store.New(store.Options{Folders: []string{folder}}).Chart(t.Context(), c.asked)
			if c.want == "" {
				g.Expect(err).To(MatchError(ContainSubstring("is not in " + folder)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(chart.Version()).To(Equal(c.want))
		})
	}
}

// A network that swallows what is sent to it costs the time of one chart, not of each.
func TestAHostThatCannotBeReachedIsAskedOnce(t *testing.T) {
	g := NewWithT(t)
	withoutHome(t)
	server := charttest.Repository(t, "widgets", versions, nil)
	s := store.New(store.Options{Fetch: true})
	gone := httptest.NewServer(nil)
	gone.Close()
	_, err := s.Chart(t.Context(), charts.Reference{Repository: gone.URL, Name: "widgets"})
	g.Expect(err).To(MatchError(ContainSubstring("refused")))
	again := httptest.NewUnstartedServer(server.Config.Handler)
	listener, err := net.Listen("tcp", hostOf(gone))
	g.Expect(err).NotTo(HaveOccurred())
	again.Listener = listener
	again.Start()
	t.Cleanup(again.Close)
	_, err = s.Chart(t.Context(), charts.Reference{Repository: gone.URL + "/charts", Name: "widgets"})
	g.Expect(err).To(MatchError(ContainSubstring("refused")))
	_, err = s.Chart(t.Context(), charts.Reference{Repository: server.URL + "/charts", Name: "widgets"})
	g.Expect(err).NotTo(HaveOccurred())
}

// A chart of the same name may be another repository's, so the digest decides.
func TestAChartInTheCacheOfHelmIsNotFetched(t *testing.T) {
	g := NewWithT(t)
	home := withoutHome(t)
	packed := versions["1.0.0"].Packed(t)
	sum := sha256.Sum256(packed)
	digest := hex.EncodeToString(sum[:])
	for name, content := range map[string]string{
		"repositories.yaml":                                     "repositories: [{name: r, url: 'https://charts.invalid'}]",
		"cache/repository/r-index.yaml":                         "entries: {widgets: [{version: 1.0.0, digest: " + digest + "}, {version: 1.2.0, digest: " + digest + "}]}",
		"cache/repository/widgets-1.2.0.tgz":                    string(versions["1.2.0"].Packed(t)),
		"cache/content/" + digest[:2] + "/" + digest + ".chart": string(packed),
	} {
		file := filepath.Join(home, name)
		g.Expect(os.MkdirAll(filepath.Dir(file), 0o750)).To(Succeed())
		g.Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	}
	for name, c := range map[string]struct {
		asked charts.Reference
		found bool
	}{
		"the version in the index":   {charts.Reference{Repository: "https://charts.invalid/", Name: "widgets", Version: "1.0.0"}, true},
		"one with another digest":    {charts.Reference{Repository: "https://charts.invalid", Name: "widgets", Version: "1.2.0"}, false},
		"a range":                    {charts.Reference{Repository: "https://charts.invalid", Name: "widgets", Version: "1.x"}, false},
		"that of another repository": {charts.Reference{Repository: "https://other.invalid", Name: "widgets", Version: "1.0.0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := store.New(store.Options{}).Chart(t.Context(), c.asked)
			NewWithT(t).Expect(err == nil).To(Equal(c.found), "%v", err)
		})
	}
}
