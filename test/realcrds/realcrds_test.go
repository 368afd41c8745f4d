package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/preview"
)

// cases are those of policies/crddiff: two states of a CRD each.
const cases = "../../policies/crddiff/testdata/"

// states reads the two states of a case.
func states(t *testing.T, name string) (base, head *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	g := NewWithT(t)
	read := func(state string) *apiextensionsv1.CustomResourceDefinition {
		dir := t.TempDir()
		content, err := os.ReadFile(filepath.Join(cases, name, state+".yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(dir, "crd.yaml"), content, 0o600)).To(Succeed())
		crds, err := crdsIn(dir, []string{"none", "."})
		g.Expect(err).NotTo(HaveOccurred())
		return crds[0]
	}
	return read("base"), read("head")
}

// The oracle would be worth nothing if it found nothing.
func TestALossThatIsNotReportedIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		folder string
		rule   crddiff.Rule
		says   string
	}{
		"a field that goes":                 {"a-field-is-removed", crddiff.FieldRemoved, "v1: spec.engine is lost in v1"},
		"a field that only the old one has": {"the-storage-version-flips-and-a-field-is-lost", crddiff.FieldLost, "v1alpha1: spec.legacy is lost in v1"},
		"a field of a version that goes":    {"a-removed-version-has-a-field-that-the-storage-version-lacks", crddiff.FieldLost, "v1alpha1: spec.legacy is lost in v1"},
		"what the schema does not name":     {"a-map-becomes-an-object", crddiff.FieldRemoved, "v1: spec.labels{*} is lost in v1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := states(t, c.folder)
			crd := crddiff.Compare(base, head, "")
			g.Expect(misjudged(base, head, crd)).To(BeEmpty())
			var others []crddiff.Change
			for _, told := range crd.Changes {
				if told.Rule != c.rule {
					others = append(others, told)
				}
			}
			g.Expect(others).NotTo(HaveLen(len(crd.Changes)))
			crd.Changes = others
			g.Expect(misjudged(base, head, crd)).To(ContainElement(ContainSubstring(c.says)))
		})
	}
}

func TestALossThatIsNoneIsFound(t *testing.T) {
	g := NewWithT(t)
	base, head := states(t, "a-field-is-removed")
	crd := crddiff.Compare(base, head, "")
	crd.Changes = append(crd.Changes, crddiff.Change{Rule: crddiff.FieldRemoved, Version: "v1", Field: "spec.size"})
	g.Expect(misjudged(base, head, crd)).To(ConsistOf("widgets.example.com v1: spec.size is said to be lost in v1, and is not"))
}

func TestTheCheckNamesWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	base, head := states(t, "a-field-is-removed")
	crds := func(crd *apiextensionsv1.CustomResourceDefinition) []*apiextensionsv1.CustomResourceDefinition {
		return []*apiextensionsv1.CustomResourceDefinition{crd}
	}
	g.Expect(check(crds(base), crds(head), crddiff.Sets(crds(base), crds(head), ""))).To(BeEmpty())
	silent := crddiff.Compare(base, head, "")
	silent.Changes = nil
	g.Expect(check(crds(base), crds(head), []crddiff.Diff{silent})).To(ContainElement(MatchError(ContainSubstring("nobody says so"))))
}

func TestTheTablesOfThePage(t *testing.T) {
	g := NewWithT(t)
	base, head := states(t, "the-storage-version-flips")
	r := result{row: row{pair: pair{project: "Widgets", from: release{version: "v1"}, to: release{version: "v2"}}, crds: 1}}
	r.count(crddiff.Compare(base, head, ""))
	r.answer = answer{seen: 3, visible: 20, took: 1234 * time.Millisecond, memory: 99 << 20, report: preview.Report{
		Verdict: preview.Unknown, CRDs: []preview.ChangedCRD{{Clusters: []preview.InCluster{{Verdict: preview.Unknown}}}},
	}}
	r.rulings = []ruling{{aged: errors.New("no")}}
	results := []result{r}
	g.Expect(comparisons.of(results)).To(HaveSuffix("| Widgets | v1 → v2 | 1 | 1 | 0 / 0 / 1 | 0 / 0 | 0 | 0 | 0 | 1 |\n"))
	g.Expect(previews.of(results)).To(HaveSuffix("| Widgets | v1 → v2 | 3 | unknown | 0 / 1 / 0 | 0 / 1 | 20 | 1.2 s | 99 MB |\n"))

	page := filepath.Join(t.TempDir(), "page.md")
	content := "before\n" + comparisons.begin() + "an old table\n" + end + "between\n" + previews.begin() + end + "after\n"
	g.Expect(os.WriteFile(page, []byte(content), 0o600)).To(Succeed())
	g.Expect(compare(options{page: page}, tables, results)).To(MatchError(ContainSubstring("has other tables")))
	g.Expect(compare(options{page: page, write: true}, tables, results)).To(Succeed())
	results[0].answer.took, results[0].answer.memory = time.Second, 1<<30
	g.Expect(compare(options{page: page}, tables, results)).To(Succeed(), "what is measured is not the same twice")
	results[0].answer.visible++
	g.Expect(compare(options{page: page}, tables, results)).To(MatchError(ContainSubstring("has other tables")))
	written, err := os.ReadFile(page)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(written)).To(And(HavePrefix("before\n"), ContainSubstring(end+"between\n"), HaveSuffix(end+"after\n")))
	g.Expect(os.WriteFile(page, []byte("nothing"), 0o600)).To(Succeed())
	g.Expect(compare(options{page: page}, tables, results)).To(MatchError(ContainSubstring("the page has no lines")))
}

func TestWhatIsReportedIsReadable(t *testing.T) {
	g := NewWithT(t)
	base, head := states(t, "the-storage-version-flips-and-a-field-is-lost")
	var out strings.Builder
	tell(&out, pair{project: "Widgets", from: release{version: "v1"}, to: release{version: "v2"}}, crddiff.Compare(base, head, ""))
	g.Expect(out.String()).To(ContainSubstring("  error   FieldLost v1alpha1 against v1 spec.legacy: \"string\" → \"\"\n"))
}
