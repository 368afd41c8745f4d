package survivors

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/test/builders"
)

// One look answers several who ask, and for each of them other versions stay.
func TestEachWhoAsksIsAnsweredByTheVersionsThatStayForItself(t *testing.T) {
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1beta1", "v1").Unserved("v1beta1").Build()
	for name, c := range map[string]struct {
		versions, policy string
		asked            []string // what the others ask for beside v1alpha1
		more             []string // what leaves with it
		matters          bool
	}{
		"the version that stays is in the rule, and another asks for it": {versions: "[v1alpha1, v1]", asked: []string{"v1"}},
		"that of another who asks stays for this one":                    {versions: "[v1alpha1, v1beta1]", asked: []string{"v1beta1"}},
		"it leaves with this one's":                                      {versions: "[v1alpha1, v1beta1]", asked: []string{"v1beta1"}, more: []string{"v1beta1"}, matters: true},
		"one of two leaves with this one's":                              {versions: "[v1alpha1, v1beta1, v1]", asked: []string{"v1beta1", "v1"}, more: []string{"v1beta1"}},
		"all three leave":                                                {versions: "[v1alpha1, v1beta1, v1]", asked: []string{"v1beta1", "v1"}, more: []string{"v1beta1", "v1"}, matters: true},
		"the rule is exact, and what stays beside it is not served":      {versions: "[v1alpha1, v1beta1]", policy: "Exact", asked: []string{"v1beta1"}, matters: true},
		"the rule is exact, and what stays beside it is served":          {versions: "[v1alpha1, v1]", policy: "Exact", asked: []string{"v1"}},
		"another asks for a version that the CRD does not have":          {versions: "[v1alpha1, v0]", asked: []string{"v0"}, matters: true},
		"the rule names this one's version alone":                        {versions: "[v1alpha1]", asked: []string{"v1", "v1beta1"}, matters: true},
		"it is the only one that asks":                                   {versions: "[v1alpha1, v1]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := NewWalker(Embedded(), []Target{TargetOf(crd, []string{"v1alpha1"}, nil).With(c.asked)})
			s, hooks := NewSurvey(w, 0), resource("validatingwebhookconfigurations.admissionregistration.k8s.io")
			rule := func(versions string) string {
				return `{matchPolicy: "` + c.policy + `", rules: [{apiGroups: [example.com], apiVersions: ` + versions + `, resources: [widgets]}]}`
			}
			content := Content{}
			g.Expect(yaml.Unmarshal([]byte(`{webhooks: [`+rule(c.versions)+`, `+rule("[v1alpha1, v1beta1, v1]")+`]}`), &content)).To(Succeed())
			b := s.NewBatch()
			s.Add(b, w.Walk(hooks, content, Whole))
			s.Covered(hooks, 1, b)
			report := s.Report()

			of := report.Of(crd.Name, "example.com", []string{"v1alpha1"}, c.more...)
			g.Expect(of.Verdict).To(Equal(map[bool]Verdict{true: StillNamed, false: NoneFound}[c.matters]))
			var fields int64
			for _, group := range of.Found {
				g.Expect(group.Version).To(Equal("v1alpha1"))
				g.Expect(group.References).To(And(HaveLen(int(group.Count)), HaveEach(HaveField("Effect", group.Effect))))
				fields += group.Count
			}
			g.Expect(fields).To(BeEquivalentTo(2), "each rule once, whether it matters or not")
		})
	}
}

// What is named beside is for those who ask: a report has each place, effect and version once.
func TestAReportHasOneGroupWhateverIsNamedBeside(t *testing.T) {
	g := NewWithT(t)
	ours := func(beside string) Reference {
		f := found(StopsSilently, Found)
		f.beside = beside
		return f
	}
	for most, kept := range map[int]int{0: 3, 2: 2} {
		report := surveyed(most, []string{"pods"}, ours(""), ours("v1"), ours("v1beta1")).Report()
		g.Expect(report.Found).To(HaveExactElements(And(HaveField("Count", BeEquivalentTo(3)), HaveField("References", HaveLen(kept)))))
	}
}

// A few kilobytes of a tenant's patterns name thousands of sets of versions. What is not kept apart may be about each who asks.
func TestThereAreNoMoreSortsThanAreKeptApart(t *testing.T) {
	g := NewWithT(t)
	const each = 500
	letters := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
	crd := builders.CRD("example.com", "widgets").Versions(append(letters, "v1")...).Storage("v1").Build()
	w := NewWalker(Embedded(), []Target{TargetOf(crd, letters, nil)})
	s, policies := NewSurvey(w, 5), resource("policies.kyverno.io")
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		var kinds []any
		for range each {
			random.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
			kinds = append(kinds, "example.com/["+strings.Join(letters[:13], "")+"]/Widget")
		}
		b := s.NewBatch()
		s.Add(b, w.Walk(policies, Content{"spec": map[string]any{"rules": []any{map[string]any{"match": map[string]any{"resources": map[string]any{"kinds": kinds}}}}}}, Whole))
		s.Covered(policies, 1, b)
	}
	g.Expect(len(s.all.Sorts())).To(Equal(mostSorts + 1))
	report := s.Report()
	var fields int64
	for _, group := range slices.Concat(report.Found, report.Unknown) {
		fields += group.Count
	}
	g.Expect(fields).To(BeEquivalentTo(4*each*13), "all are counted")

	of := report.Of(crd.Name, "example.com", []string{"z"})
	g.Expect(of.Unknown).To(HaveExactElements(And(HaveField("Effect", StopsSilently), HaveField("References", And(HaveLen(5), HaveEach(HaveField("Why", ContainSubstring("kept apart"))))))))
	g.Expect(of.Verdict).To(Equal(NotKnown), "z may be in any of them, and may be all that leaves")
	g.Expect(report.Of("gadgets.example.com", "example.com", []string{"z"}).Verdict).To(Equal(NoneFound))
}

// What is named beside a version may be much longer than the version.
func TestWhatIsNamedBesideIsDrawnFromTheBudget(t *testing.T) {
	g := NewWithT(t)
	v := &visit{budget: unpacking.One(), seen: map[string]bool{}, kept: map[Reference]bool{}}
	held := 0
	for i := range 20_000 {
		v.found(Reference{Path: fmt.Sprint("spec.rules[", i, "]"), beside: strings.Repeat("v", 6<<10)})
	}
	for _, f := range v.references {
		held += len(f.beside)
	}
	g.Expect(held).To(And(BeNumerically(">", 1<<20), BeNumerically("<", 64<<20)))
	g.Expect(v.references).To(ContainElement(HaveField("State", Unknown)))
}
