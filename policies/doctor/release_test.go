package doctor

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

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
	g.Expect(Decode(pack(t, string(content)))).To(Equal(want))
	g.Expect(Decode([]byte(base64.StdEncoding.EncodeToString(content)))).To(Equal(want), "as Helm stored releases before it packed them")
}

func TestWhatIsNoReleaseSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"nothing":              {nil, "it is not a release"},
		"no base64":            {[]byte("{}"), "it is not base64"},
		"the beginning of one": {[]byte(base64.StdEncoding.EncodeToString([]byte{0x1f, 0x8b, 0x08})), "it cannot be unpacked"},
		"no JSON":              {pack(t, "widgets"), "it is not a release"},
		"an endless one":       {pack(t, `{"name":"`+strings.Repeat("x", 2000)+`"}`), "it is not a release"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := decode(c.data, 1000)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}
