package doctor

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pack is what Helm does to a release before it puts it into a Secret.
func pack(t *testing.T, content string) []byte {
	t.Helper()
	packed := &bytes.Buffer{}
	w := gzip.NewWriter(packed)
	_, err := w.Write([]byte(content))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(w.Close()).To(Succeed())
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes()))
}

func crdManifest(name, annotations string) string {
	return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + name + "\n" + annotations + "spec: {}\n"
}

func TestReadingARelease(t *testing.T) {
	g := NewWithT(t)
	manifest := strings.Join([]string{
		"# Source: widgets/templates/crds.yaml\n" + crdManifest("kept.example.com", "  annotations:\n    helm.sh/resource-policy: ' Keep '\n"),
		crdManifest("dropped.example.com", ""),
		"# Source: widgets/templates/empty.yaml",
		"apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n  name: a\n",
		"apiVersion: example.com/v1alpha1\nkind: Widget\nmetadata:\n  name: b\n",
		"{{ not YAML",
	}, "---\n")
	content, err := json.Marshal(map[string]any{
		"name": "widgets", "namespace": "apps", "version": 7, "info": map[string]any{"status": "deployed"}, "manifest": manifest,
		"config": map[string]any{"password": "secret"},
		"chart": map[string]any{"files": []map[string]any{
			{"name": "crds/all.yaml", "data": []byte(crdManifest("first.example.com", "") + "---\n" + crdManifest("second.example.com", ""))},
			{"name": "README.md", "data": []byte(crdManifest("no.example.com", ""))},
		}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	want := Release{
		Namespace: "apps", Name: "widgets", Revision: 7, Status: "deployed",
		CRDs:  map[string]bool{"kept.example.com": true, "dropped.example.com": false},
		Files: map[string]bool{"first.example.com": true, "second.example.com": true},
		Uses: map[schema.GroupVersionKind]int{
			{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: 2,
			{Group: "example.com", Version: "v1alpha1", Kind: "Widget"}:                      2,
		},
	}
	g.Expect(Decode(t.Context(), pack(t, string(content)))).To(Equal(want))
	g.Expect(Decode(t.Context(), []byte(base64.StdEncoding.EncodeToString(content)))).To(Equal(want), "as Helm stored releases before it packed them")
}

func TestWhatIsNoReleaseIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":              {nil, "it is not a release"},
		"no base64":            {[]byte("{}"), "it is not base64"},
		"the beginning of one": {[]byte(base64.StdEncoding.EncodeToString([]byte{0x1f, 0x8b, 0x08})), "it cannot be unpacked"},
		"no JSON":              {pack(t, "widgets"), "it is not a release"},
		"an endless one":       {pack(t, `{"name":"`+strings.Repeat("x", 2000)+`"}`), "it is larger than a release of Helm's gets"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t.Context(), c.data, limits{unpacked: 1000})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

// storing is a release with a manifest and nothing else.
func storing(t *testing.T, manifest string) []byte {
	t.Helper()
	content, err := json.Marshal(map[string]any{"name": "widgets", "manifest": manifest})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return pack(t, string(content))
}

// A client that may write a Secret could otherwise keep the doctor busy for minutes, with all the memory there is.
func TestAReleaseThatIsTooMuchIsNotRead(t *testing.T) {
	widget := "\n---\nkind: Widget\n"
	most := limits{unpacked: 1000, document: 100, documents: 10}
	for name, c := range map[string]struct {
		manifest string
		tooMuch  bool
	}{
		"ten documents":               {strings.Repeat(widget, 10), false},
		"eleven":                      {strings.Repeat(widget, 11), true},
		"empty ones do not count":     {strings.Repeat("\n---", 100) + widget, false},
		"but comments do":             {strings.Repeat("\n---#", 100) + widget, true},
		"a list of ten":               {"kind: WidgetList\nitems: [" + strings.Repeat("{},", 10) + "]", false},
		"a list of eleven":            {"kind: WidgetList\nitems: [" + strings.Repeat("{},", 11) + "]", true},
		"a document of a 100 bytes":   {"kind: " + strings.Repeat("x", 93), false},
		"a longer one":                {"kind: " + strings.Repeat("x", 94), true},
		"more than is to be unpacked": {strings.Repeat(" ", 1000), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(t.Context(), storing(t, c.manifest), most)
			if c.tooMuch {
				NewWithT(t).Expect(err).To(MatchError(ErrTooMuch))
			} else {
				NewWithT(t).Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

// A manifest of 100 KB whose aliases stand for 90 MB is no manifest that is left out: what it uses is not known.
func TestAReleaseWhoseAliasesStandForMuchIsNotRead(t *testing.T) {
	g := NewWithT(t)
	document := "kind: Widget\na0: &a0 \"" + strings.Repeat("x", 100_000) + "\"\n"
	document += "data: [" + strings.Repeat("*a0,", 900) + "end]\n"
	var before, after runtime.MemStats
	data := storing(t, document)
	runtime.ReadMemStats(&before)
	_, err := Decode(t.Context(), data)
	runtime.ReadMemStats(&after)
	g.Expect(err).To(MatchError(ErrTooMuch))
	g.Expect((after.TotalAlloc - before.TotalAlloc) >> 20).To(BeNumerically("<", 20))
}

func TestReadingAReleaseIsQuickAndCanBeInterrupted(t *testing.T) {
	g := NewWithT(t)
	data := storing(t, strings.Repeat("\n---", 3<<20))
	started := time.Now()
	_, err := Decode(t.Context(), data)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(time.Since(started)).To(BeNumerically("<", 10*time.Second))
	_, err = Decode(t.Context(), storing(t, strings.Repeat("\n---", 6<<20)))
	g.Expect(err).To(MatchError(ErrTooMuch))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Decode(ctx, data)
	g.Expect(err).To(MatchError(context.Canceled))
}

// Helm builds what a list holds. What an uninstall keeps, it decides by the annotations of the document.
func TestListsInAReleaseAreUnfolded(t *testing.T) {
	crds := func(annotations string) string {
		item := strings.ReplaceAll(crdManifest("listed.example.com", "  annotations: {helm.sh/resource-policy: keep}\n"), "\n", "\n    ")
		return "apiVersion: v1\nkind: List\nmetadata: {" + annotations + "}\nitems:\n  - " + strings.TrimSpace(item) + "\n"
	}
	crd := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for name, c := range map[string]struct {
		manifest string
		crds     map[string]bool
		uses     map[schema.GroupVersionKind]int
	}{
		"an item says keep, which Helm does not read": {crds(""), map[string]bool{"listed.example.com": false}, map[schema.GroupVersionKind]int{crd: 1}},
		"the list says keep":                          {crds("annotations: {helm.sh/resource-policy: keep}"), map[string]bool{"listed.example.com": true}, map[schema.GroupVersionKind]int{crd: 1}},
		"items that leave out what the list says":     {"apiVersion: example.com/v1\nkind: WidgetList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}, 5]", map[string]bool{}, map[schema.GroupVersionKind]int{widget: 2}},
		"a list of nothing":                           {"apiVersion: v1\nkind: List\nitems: []", map[string]bool{}, map[schema.GroupVersionKind]int{}},
		"items that are none":                         {"apiVersion: example.com/v1\nkind: Widget\nitems: 5", map[string]bool{}, map[schema.GroupVersionKind]int{widget: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, err := Decode(t.Context(), storing(t, c.manifest))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.CRDs).To(Equal(c.crds))
			g.Expect(r.Uses).To(Equal(c.uses))
		})
	}
}
