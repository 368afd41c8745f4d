package survivors

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Where metadata do not tell whether an object has a place, all of it is read; where they do, only what has one.
func TestNoMoreOfAnObjectIsReadThanItsPlacesNeed(t *testing.T) {
	g := NewWithT(t)
	w := NewWalker(Embedded(), []Target{targets[""]})
	g.Expect(w.NeedOfAll(resource("applications.argoproj.io"))).To(Equal(Whole))
	g.Expect(w.NeedOfAll(resource("configmaps"))).To(Equal(OnlyMetadata), "it depends on their labels")
	g.Expect(w.NeedOfAll(resource("pods"))).To(Equal(OnlyMetadata), "owner references are metadata")
	e := exampleOf(g, "helm-config-maps")
	g.Expect(w.NeedOf(resource("configmaps"), e.Object)).To(Equal(Whole))
	g.Expect(w.NeedOf(resource("configmaps"), Content{})).To(Equal(OnlyMetadata))

	named := ResourcesOf(Embedded())
	g.Expect(named).To(ContainElements(resource("secrets").GroupResource, resource("applications.argoproj.io").GroupResource))
	for i, r := range named {
		g.Expect(string(All) + " * category:").NotTo(ContainSubstring(r.Resource))
		g.Expect(named[:i]).NotTo(ContainElement(r), "each once")
	}
}

// A client that may write an object may pack into a few kilobytes what takes gigabytes to read, or hours to walk
// through.
func TestWhatAnObjectMayCost(t *testing.T) {
	numbers := strings.Repeat("9,", 7<<20) + "9"
	for name, c := range map[string]struct{ packing, content string }{
		"values in JSON":         {"json", `{"apiVersion":"example.com/v1alpha1","kind":"Widget","spec":[` + numbers + `]}`},
		"objects in JSON":        {"json", `{"apiVersion":"example.com/v1alpha1","kind":"Widget","spec":[` + strings.Repeat(`{"":1},`, 2<<20) + `1]}`},
		"many documents in YAML": {"yaml", "apiVersion: example.com/v1alpha1\nkind: Widget\nspec: [" + numbers[:150_000] + "9]\n" + strings.Repeat("---\nexample.com: ["+strings.Repeat(`{"":1},`, 2000)+"1]\n", 500)},
		"values in YAML":         {"yaml", "apiVersion: example.com/v1alpha1\nkind: Widget\nspec: [" + numbers[:2<<20] + "9]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			packed := base64.StdEncoding.EncodeToString([]byte(pack(c.content, []string{"gzip"}).(string)))
			annotated := Content{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"note": packed}}}
			w := NewWalker([]Place{stashes(t, "base64, gzip, "+c.packing)}, []Target{targets[""]})
			var got []Reference
			g.Expect(allocated(func() { w.Walk(ours, annotated, OnlyMetadata) })).To(BeNumerically("<", 300<<20), "in a field that nobody has described")
			g.Expect(allocated(func() {
				got = w.Walk(ours, Content{"spec": map[string]any{"copy": packed}}, Whole)
			})).To(BeNumerically("<", 300<<20), "in a declared place")
			g.Expect(got).To(ContainElement(And(HaveField("State", Unknown), HaveField("Why", ContainSubstring("larger than what is looked at")))))
		})
	}
}

// An alias of a long text is the same text, however often it is written, and in a declared place it hides nothing.
func TestALongTextUnderHundredsOfAliases(t *testing.T) {
	g := NewWithT(t)
	document := "apiVersion: example.com/v1alpha1\nkind: Widget\na: &a " + strings.Repeat("x", 2<<20) + "\nb: [" + strings.Repeat("*a,", 400) + "]\n"
	packed := base64.StdEncoding.EncodeToString([]byte(pack(document, []string{"gzip"}).(string)))
	g.Expect(len(packed)).To(BeNumerically("<", 6<<10))
	w := NewWalker([]Place{stashes(t, "base64, gzip, yaml")}, []Target{targets[""]})
	var got []Reference
	g.Expect(allocated(func() {
		got = w.Walk(ours, Content{"spec": map[string]any{"copy": packed, "note": packed}}, Whole)
	})).To(BeNumerically("<", 300<<20))
	g.Expect(got).To(ContainElement(And(HaveField("State", Found), HaveField("Path", "spec.copy|base64|gzip|yaml[0]"))))
	g.Expect(got).To(ContainElement(And(HaveField("State", Unknown), HaveField("Effect", Cosmetic), HaveField("Place", ""), HaveField("Path", HavePrefix("spec.note|base64|gzip|yaml")))),
		"nobody has described it: it is named, and holds nothing up")
}

// allocated is how many bytes something takes, one after the other.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestPathsAreOfBoundedLength(t *testing.T) {
	g := NewWithT(t)
	const many = 20_000
	var inside any = slices.Repeat([]any{"example.com/v1alpha1"}, many)
	for range 50 {
		inside = map[string]any{strings.Repeat("k", 100_000): inside, "ref": map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "name": strings.Repeat("n", 100_000)}}
	}
	place := strings.Replace(valid, "spec.ref", "spec.**", 1)
	places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(place)}})
	g.Expect(err).NotTo(HaveOccurred())
	w := NewWalker(places, []Target{targets[""]})
	var got []Reference
	g.Expect(allocated(func() { got = w.Walk(ours, Content{"spec": inside}, Whole) })).To(BeNumerically("<", 200<<20))
	found := slices.DeleteFunc(got, func(r Reference) bool { return r.State != Found })
	g.Expect(found).NotTo(BeEmpty())
	for _, r := range found {
		g.Expect(len(r.Path)).To(BeNumerically("<=", longest+3))
		g.Expect(len(r.Names)).To(BeNumerically("<", 400))
	}
}

func TestThousandsOfRulesAndReferencesInOneObject(t *testing.T) {
	g := NewWithT(t)
	const many = 20_000
	var rules, owners []any
	for i := range many {
		rules = append(rules, map[string]any{"apiGroups": []any{"example.com"}, "apiVersions": []any{"v1alpha1"}, "resources": []any{"widgets"}, "scope": fmt.Sprint(i)})
		owners = append(owners, map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "name": fmt.Sprint(i), "uid": fmt.Sprint(i)})
	}
	policy := Resource{GroupResource: schema.GroupResource{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}}
	w := NewWalker(Embedded(), []Target{targets[""]})
	began := time.Now()
	got := w.Walk(policy, Content{
		"metadata": map[string]any{"name": "x", "ownerReferences": owners},
		"spec":     map[string]any{"matchConstraints": map[string]any{"resourceRules": rules}},
	}, Whole)
	g.Expect(got).To(HaveLen(2 * many))
	g.Expect(time.Since(began)).To(BeNumerically("<", 20*time.Second), "it takes a second, and with comparisons of each with each minutes")
}
