package refusal_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crddiff/refusal"
)

func examples(t testing.TB) map[string][2][]byte {
	t.Helper()
	all := map[string][2][]byte{}
	files, err := filepath.Glob("../testdata/*/base.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no examples", err)
	}
	for _, file := range files {
		base, errBase := os.ReadFile(file)
		head, errHead := os.ReadFile(filepath.Join(filepath.Dir(file), "head.yaml"))
		if errBase != nil || errHead != nil {
			t.Fatal(errBase, errHead)
		}
		all[filepath.Base(filepath.Dir(file))] = [2][]byte{base, head}
	}
	return all
}

func FuzzNoCRDIsTooOdd(f *testing.F) {
	for _, example := range examples(f) {
		if len(example[0])+len(example[1]) < 8<<10 {
			f.Add(example[0], example[1])
		}
	}
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, a, b []byte) {
		base, head := decoded(a), decoded(b)
		if head == nil {
			return
		}
		for _, r := range refusal.Of(base, head) {
			if r.Path == "" || r.Said == "" {
				t.Errorf("a refusal says nothing: %+v", r)
			}
		}
	})
}

func decoded(content []byte) crd {
	var object map[string]any
	if yaml.Unmarshal(content, &object) != nil {
		return nil
	}
	read, err := crddiff.Decode(&unstructured.Unstructured{Object: object})
	if err != nil {
		return nil
	}
	return read
}

// The examples of package change are CRDs that API servers take, but for those that are about what they refuse.
func TestOfTheExamplesOnlyTheseAreRefused(t *testing.T) {
	g := NewWithT(t)
	said := map[string]string{}
	for name, example := range examples(t) {
		if head := decoded(example[1]); head != nil {
			for _, r := range refusal.Of(decoded(example[0]), head) {
				said[name] = r.Path
			}
		}
	}
	g.Expect(said).To(Equal(map[string]string{
		"pruning-goes":                                      "spec.preserveUnknownFields",
		"something-without-a-name-changes":                  "spec.validation.openAPIV3Schema.properties[spec].properties[a].patternProperties",
		"a-conversion-webhook-speaks-nothing-that-is-known": "spec.conversion.conversionReviewVersions",
	}))
}
