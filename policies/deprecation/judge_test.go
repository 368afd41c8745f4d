package deprecation

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/policies/finding"
)

func TestJudge(t *testing.T) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(without(found(name), c.want)).To(ConsistOf(c.want))
		})
	}
}

// without leaves out what is for information and what no case asks for.
func without(all, want []string) []string {
	return slices.DeleteFunc(all, func(said string) bool {
		return strings.HasPrefix(said, "info "+LostOnTheWayBack) && !slices.Contains(want, said)
	})
}

// Without any one rule, some case comes out differently.
func TestEveryRuleIsNeeded(t *testing.T) {
	whole := slices.Clone(rules)
	defer func() { rules = whole }()
	for i, r := range whole {
		t.Run("without "+r.name, func(t *testing.T) {
			rules = slices.Delete(slices.Clone(whole), i, i+1)
			var missed []string
			for name, c := range cases {
				if ok, err := ConsistOf(c.want).Match(without(found(name), c.want)); err == nil && !ok {
					missed = append(missed, name)
				}
			}
			NewWithT(t).Expect(missed).NotTo(BeEmpty())
		})
	}
}

func TestEachFindingSaysWhatHappensAndWhatToDo(t *testing.T) {
	for name, c := range cases {
		g := NewWithT(t)
		for _, f := range Judge(Input{Releases: c.releases, Policy: DefaultPolicy()}).Findings {
			g.Expect(f.Why).NotTo(Or(BeEmpty(), HaveSuffix(".")), name)
			g.Expect(f.CRD).NotTo(BeEmpty())
			g.Expect(f.From).NotTo(Equal(f.To))
			if f.Severity != finding.Info {
				g.Expect(f.Remediation).NotTo(Or(BeEmpty(), HaveSuffix(".")), f.Rule)
			}
		}
	}
}

func TestAnErrorThatIsNotAcceptedIsNotOK(t *testing.T) {
	g := NewWithT(t)
	in := Input{Releases: cases["a field goes"].releases, Policy: DefaultPolicy()}
	g.Expect(Judge(in).OK).To(BeFalse())
	meant := Accepted{Rule: FieldRemoved, CRD: "widgets.example.com", Version: "v1", Reason: "nobody used it"}
	other := Accepted{Rule: FieldRemoved, CRD: "widgets.example.com", Version: "v2", Reason: "nobody used it"}
	in.Policy.Accept = []Accepted{meant, other}
	report := Judge(in)
	g.Expect(report.OK).To(BeTrue())
	g.Expect(report.Findings).To(ContainElement(HaveField("Acknowledged", "nobody used it")))
	g.Expect(report.Unused).To(ConsistOf(other))
	in.Policy.Accept = nil
	in.Releases = append(in.Releases, releases(state{"v1.2.0", 200, widgets("v1*", "v1 properties: {}")})...)
	g.Expect(Judge(in).OK).To(BeFalse())
	in.Newest = true
	g.Expect(Judge(in).Findings).To(BeEmpty(), "what the newest release does not change is not told")
}

func TestNumbersOfReleases(t *testing.T) {
	for name, want := range map[string]string{
		"v1.4.0": "1.4.0", "1.4": "1.4.0", "charts/widgets-1.4.0-rc.1": "1.4.0-rc.1", "api/v1.2.3": "1.2.3", "next": "", "v1": "", "release-one": "", "go1.2": "",
	} {
		number := NumberOf(name)
		if want == "" {
			NewWithT(t).Expect(number).To(BeNil(), name)
			continue
		}
		NewWithT(t).Expect(number).NotTo(BeNil(), name)
		NewWithT(t).Expect(number.String()).To(Equal(want), name)
	}
}

func TestAPolicyIsReadStrictly(t *testing.T) {
	g := NewWithT(t)
	policy, err := ReadPolicy([]byte("windows: {beta: {releases: 1}}\nseverities: {NoWayBack: error}\naccept:\n- {rule: FieldRemoved, crd: a.b, reason: c}\n"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(policy.Windows).To(Equal(Windows{Stable: Window{3, 365}, Beta: Window{1, 270}}), "what is not said is as Kubernetes has it")
	g.Expect(policy.Accept).To(HaveLen(1))
	g.Expect(ReadPolicy(nil)).To(Equal(DefaultPolicy()))
	for content, says := range map[string]string{
		"windows:\n  ga: {}\n":                                    "line 2: field ga not found",
		"severities:\n  NoSuchRule: error\n":                      "line 2: severities: there is no rule NoSuchRule; there are StorageWithoutOverlap",
		"severities:\n  NoWayBack: fatal\n":                       `line 2: severities: NoWayBack: "fatal" is none of error, warning, info, off`,
		"windows:\n  beta: {days: -1}\n":                          "line 2: windows: beta: a window is at least 0",
		"accept:\n- {rule: FieldRemoved, crd: a.b}\n":             "line 2: accept: the crd or the reason is missing",
		"accept:\n- {rule: FieldLost, crd: a, reason: b}\n- {}\n": `line 3: accept: there is no rule ""`,
		"accept:\n- {rule: FieldLost, crd: '[', reason: b}\n":     "line 2: accept: syntax error in pattern",
		"windows: [":         "did not find expected node content",
		"{}\n---\n{}\n":      "it has a second document",
		"windows: {beta: 3}": "line 1: cannot unmarshal",
	} {
		_, err := ReadPolicy([]byte(content))
		g.Expect(err).To(MatchError(ContainSubstring(says)), content)
	}
}
