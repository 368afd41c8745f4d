package snapshot

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// full has every field set.
func full() *Snapshot {
	since := taken.Add(-time.Hour)
	return with(ownedBy("old-tool", time.Hour), open(requires(time.Minute, v1alpha1.Quiet), func(r *Removal) {
		r.Paused, r.LastWriteAt, r.Failures = true, &since, []string{"ns/o: Invalid"}
	}), func(s *Snapshot) {
		s.NamesLeftOut, s.Named, s.Metrics = true, []string{"absent.example.com", widgets}, &Metrics{Since: &since}
		s.NotRead = []NotRead{{What: ObjectsOfCRD, CRD: widgets, Why: "may not be read", Rule: &rbacv1.PolicyRule{APIGroups: []string{"example.com"}, Resources: []string{"widgets"}, Verbs: []string{"list"}}}}
		at := metav1.NewTime(since)
		s.CRDs[0].Label.Managers = []Manager{{Name: "kubectl-label", Operation: "Update", Time: &at, OwnsLabel: true, OwnsLastApplied: true}}
		s.CRDs[0].Label.Annotations = map[string]string{"a": "b"}
		s.CRDs[0].Requests = []Requests{{Version: "v1", Deprecated: true, Counts: map[string]int64{"GET": 1}, Watches: 2}}
		s.CRDs[0].Objects.Stuck = &Stuck{Count: 1, Examples: []string{"ns/o"}}
	})
}

func TestAFileIsReadAsItWasWritten(t *testing.T) {
	for name, write := range map[string]func(*Snapshot) ([]byte, error){"YAML": (*Snapshot).Write, "JSON": (*Snapshot).JSON} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			content, err := write(full())
			g.Expect(err).NotTo(HaveOccurred())
			read, err := Read(content)
			g.Expect(err).NotTo(HaveOccurred())
			for _, r := range read.CRDs[0].Label.Managers { // a metav1.Time is read in the local time zone
				*r.Time = metav1.NewTime(r.Time.UTC())
			}
			g.Expect(read.Digest).To(Equal(full().Sum()))
			read.Digest = ""
			g.Expect(read).To(Equal(full()))
		})
	}
}

// A file of which a part is missing would make a cluster look emptier than it is. Only the last line break may be.
func TestAFileThatWasCutAnywhereIsRefused(t *testing.T) {
	for name, write := range map[string]func(*Snapshot) ([]byte, error){"YAML": (*Snapshot).Write, "JSON": (*Snapshot).JSON} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			content, err := write(full())
			g.Expect(err).NotTo(HaveOccurred())
			for cut := range len(content) - 1 {
				_, err := Read(content[:cut])
				g.Expect(err).To(HaveOccurred(), "cut after\n%s", content[:cut])
			}
		})
	}
}

func TestWhatIsNoSnapshotIsRefusedInWords(t *testing.T) {
	written, err := safe().Write()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	replace := func(old, by string) string {
		NewWithT(t).Expect(string(written)).To(ContainSubstring(old))
		return strings.Replace(string(written), old, by, 1)
	}
	for name, c := range map[string]struct{ content, want string }{
		"an empty file":               {"\n", "the file is empty"},
		"something else":              {"\x00\x01", "neither YAML nor JSON"},
		"a list":                      {"- a\n", "neither YAML nor JSON"},
		"YAML without kind":           {"a: b\n", "no apiVersion and no kind"},
		"another kind":                {"apiVersion: v1\nkind: ConfigMap\n", "a ConfigMap of v1, and not a ClusterSnapshot of preview.moult.dev/v1alpha1"},
		"a report":                    {replace("kind: ClusterSnapshot", "kind: Report"), "a Report of preview.moult.dev/v1alpha1"},
		"a newer version":             {replace("preview.moult.dev/v1alpha1", "preview.moult.dev/v1"), "format is v1, and this Moult reads preview.moult.dev/v1alpha1; use the Moult that took it"},
		"a field of a newer Moult":    {replace("cluster: production", "cluster: production\nclouds: 3"), `unknown field "clouds"`},
		"a misspelt field of a CRD":   {replace("storedVersions:", "storedversions:"), `unknown field "crds[0].storedversions"`},
		"a field that is there twice": {replace("cluster: production", "cluster: production\ncluster: other"), `key "cluster" already set`},
		"a value of the wrong type":   {replace("generation: 3", "generation: three"), "cannot unmarshal string"},
		"two documents":               {string(written) + "---\n" + string(written), "more than one document"},
		"no uid":                      {replace("uid: u", `uid: ""`), "CRD widgets.example.com lacks uid or generation"},
		"no storage version":          {replace("storage: true", "storage: false"), "has 0 storage versions"},
		"no cluster":                  {replace("cluster: production", `cluster: ""`), "cluster is missing"},
		"a cluster of blanks":         {replace("cluster: production", `cluster: "  "`), "cluster is missing"},
		"no digest":                   {digest.ReplaceAllString(string(written), ""), "the snapshot has no digest, so nothing shows whether a CRD is missing from it; take it anew with `moult snapshot`"},
		"a digest of something else":  {digest.ReplaceAllString(string(written), "digest: sha256:00\n"), "the snapshot of production is not what was taken"},
		"a count that was fixed":      {replace("count: 7", "count: 0"), "does not match its digest"},
		"no label key":                {replace("labelKey: moult.dev/migrate", `labelKey: ""`), "labelKey is missing"},
		"no time":                     {replace("takenAt:", "#"), "takenAt is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.content))
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

var digest = regexp.MustCompile(`(?m)^digest: .*\n`)

// A CRD that is missing from the file would be one that the cluster does not have, and so one that can be changed at
// will.
func TestWhateverIsTakenOutOfTheMiddleIsMissed(t *testing.T) {
	g := NewWithT(t)
	second := full().CRDs[0]
	second.Name, second.UID = "gadgets.example.com", "v"
	whole := with(func(s *Snapshot) { *s = *full(); s.CRDs = append(s.CRDs, second) })
	content, err := whole.Write()
	g.Expect(err).NotTo(HaveOccurred())
	var tree map[string]any
	g.Expect(yaml.Unmarshal(content, &tree)).To(Succeed())
	n := 0
	without(tree, func(path string) {
		n++
		cut, err := yaml.Marshal(tree)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = Read(cut)
		g.Expect(err).To(HaveOccurred(), "without %s", path)
	})
	g.Expect(n).To(BeNumerically(">", 100))
	again, err := yaml.Marshal(tree)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = Read(again)
	g.Expect(err).NotTo(HaveOccurred(), "with everything in its place again")
}

// without calls back once for each entry of a tree, while that entry is out of it.
func without(node any, told func(path string)) {
	switch node := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			value := node[key]
			delete(node, key)
			told(key)
			node[key] = value
			withoutItem(value, func(v any) { node[key] = v }, func(path string) { told(key + "." + path) })
		}
	case []any:
		for _, item := range node {
			without(item, told)
		}
	}
}

// withoutItem takes the items out of a list, one after the other, and goes on within the value.
func withoutItem(value any, put func(any), told func(path string)) {
	if list, is := value.([]any); is {
		for i := range list {
			put(slices.Delete(slices.Clone(list), i, i+1))
			told(fmt.Sprint(i))
		}
		put(list)
	}
	without(value, told)
}

// The digest is of what is in the file, so that a tool that reformats files breaks nothing.
func TestASnapshotMayBeReformatted(t *testing.T) {
	g := NewWithT(t)
	content, err := full().Write()
	g.Expect(err).NotTo(HaveOccurred())
	asJSON, err := yaml.YAMLToJSON(append([]byte("# taken at night\n---\n"), content...))
	g.Expect(err).NotTo(HaveOccurred())
	read, err := Read(asJSON)
	g.Expect(err).NotTo(HaveOccurred())
	again, err := read.Write()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(again)).To(Equal(string(content)))
}

func TestWhatCannotBeIsNotWrittenEither(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		want   string
	}{
		"no kind":                   {func(s *Snapshot) { s.Kind = "" }, "apiVersion and kind"},
		"no cluster":                {func(s *Snapshot) { s.Cluster = "" }, "cluster is missing"},
		"a CRD twice":               {func(s *Snapshot) { s.CRDs = append(s.CRDs, s.CRDs[0]) }, "is there twice"},
		"a CRD without a name":      {crd(func(c *CRD) { c.Name = "" }), "has no name"},
		"fewer than no objects":     {crd(func(c *CRD) { c.Objects.Count = -1 }), "fewer than no objects"},
		"a gate without versions":   {open(func(r *Removal) { r.Spec.Versions = nil }), "VersionRemoval ns/gate lacks"},
		"nothing that was not read": {func(s *Snapshot) { s.NotRead = []NotRead{{Why: "?"}} }, "does not say what could not be read"},
		"no field manager":          {func(s *Snapshot) { s.FieldManager = "" }, "fieldManager is missing"},
		"a version without a name":  {crd(func(c *CRD) { c.Versions[0].Name = "" }), "a version without a name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := with(c.change).Write()
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.want)))
		})
	}
}

func FuzzRead(f *testing.F) {
	content, err := full().Write()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Fuzz(func(t *testing.T, content []byte) {
		s, err := Read(content)
		if err != nil {
			return
		}
		for _, c := range s.CRDs {
			s.Judge(Ask{CRD: c.Name, Versions: []string{"v1alpha1"}}, s.TakenAt)
		}
		if _, err := s.Write(); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
	})
}
