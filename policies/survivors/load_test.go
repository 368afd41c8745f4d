package survivors

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
)

const valid = `name: ours
title: ours
resources: [ours.example.org]
fields: [{path: spec.ref, shape: apiVersion}]
effect: breaksAtUse
consequence: it fails
clears: commit
remediation: write it anew
evidence: [https://example.org/ours]
tried: not tried
`

// movedByCRD goes on after the path of a place's field.
const movedByCRD = `shape: object}]
groups: [example.com]
convert: crd
moveBy: {successor: "{owner}-{version}", references: [{resource: gardens.example.org, paths: [spec.ref]}], evidence: [https://example.org/ours]}`

func TestAPlaceIsReadStrictly(t *testing.T) {
	for name, c := range map[string]struct {
		old, replacement string
		says             string // empty: it is read
	}{
		"a place":                                  {},
		"a field that there is not":                {"title:", "titel:", `unknown field "titel"`},
		"an effect that there is not":              {"breaksAtUse", "breaks", `effect "breaks" is none of losesData, stopsSilently`},
		"nobody clears it":                         {"clears: commit\n", "", `clears "" is none of moult, controller, commit, person`},
		"no evidence":                              {"evidence: [https://example.org/ours]\n", "", "evidence is missing"},
		"evidence that is no address":              {"https://example.org/ours", "somewhere", `evidence "somewhere" is no https address`},
		"no sentence about what was tried":         {"tried: not tried\n", "", "tried is missing"},
		"a name other than the file's":             {"name: ours", "name: theirs", `its name is "theirs"; a place is called as its file, so "ours"`},
		"a shape that there is not":                {"shape: apiVersion", "shape: text", `fields[0]: shape "text" is none of apiVersion, groupVersion`},
		"a packing that there is not":              {"shape: apiVersion", "shape: apiVersion, packing: [zip]", `packing "zip" is none of base64, gzip, json, yaml`},
		"a path with a hole":                       {"spec.ref", "spec..ref", `is no name`},
		"a path that is not closed":                {"spec.ref", `'spec["ref'`, `a name in brackets ends`},
		"a resource that is none":                  {"[ours.example.org]", "[Ours/v1]", `resource "Ours/v1" is none of all`},
		"metadata are not enough for the path":     {"tried:", "metadata: true\ntried:", "path spec.ref is outside of metadata"},
		"a condition of a label and one less":      {"tried:", "when: [{labels: {a: b}, lacks: [c]}]\ntried:", ""},
		"a condition of owners and names":          {"tried:", "when: [{owners: [Pod.], names: [c]}]\ntried:", ""},
		"no resources":                             {"[ours.example.org]", "[]", "resources are missing"},
		"no fields":                                {"[{path: spec.ref, shape: apiVersion}]", "[]", "fields are missing"},
		"a policy beside a list at the top":        {"{path: spec.ref, shape: apiVersion}", "{path: 'rules[*]', shape: groupVersion, policy: matchPolicy}", ""},
		"a policy beside the whole object":         {"{path: spec.ref, shape: apiVersion}", "{path: '[*]', shape: groupVersion, policy: matchPolicy}", "policy is for the shape groupVersion"},
		"a condition that always holds":            {"tried:", "when: [{}]\ntried:", "a condition is empty"},
		"a whole object without a conversion":      {"shape: apiVersion", "shape: object", "a place that holds whole objects says how they get to another version"},
		"a conversion without a whole object":      {"tried:", "convert: crd\ntried:", "convert is for places of the shape object"},
		"a move of one's own":                      {"spec.ref, shape: apiVersion}]", "data, " + movedByCRD, ""},
		"a move and another":                       {"shape: apiVersion}]", movedByCRD + "\nmove: kubevirt-instancetypes", "move and moveBy say two things"},
		"a move that nothing refers to":            {"shape: apiVersion}]", strings.Replace(movedByCRD, "references: [{resource: gardens.example.org, paths: [spec.ref]}], ", "", 1), "references or evidence are missing"},
		"a move of copies that nobody converts":    {"shape: apiVersion}]", strings.Replace(movedByCRD, "convert: crd", "convert: writer", 1), "moveBy is for copies that can be converted"},
		"a move by rules that has none":            {"shape: apiVersion}]", strings.Replace(movedByCRD, "convert: crd", "convert: project", 1), "moveBy: rules are missing"},
		"a move of what is not in data":            {"spec.ref, shape: apiVersion}]", "spec.ref, " + movedByCRD, "copies are moved that lie in the field data"},
		"labels of a payload without its group":    {"shape: apiVersion}", "shape: object, payload: {version: v, kind: k}}", "the place exactly one group"},
		"Secrets without a word":                   {"[ours.example.org]", "[secrets]", "secret is true for places in secrets"},
		"a policy beside what is no rule":          {"shape: apiVersion", "shape: apiVersion, policy: matchPolicy", "policy is for the shape groupVersion and a path that ends in a list of rules"},
		"two lines where a table has room for one": {"remediation: write it anew", "remediation: \"a\\nb\"", "remediation is more than one line"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(strings.Replace(valid, c.old, c.replacement, 1))}})
			if c.says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(names(places)).To(Equal([]string{"ours"}))
				return
			}
			g.Expect(err).To(MatchError(And(HavePrefix("ours.yaml: "), ContainSubstring(c.says))))
		})
	}
}

func TestEveryFileThatIsWrongIsNamed(t *testing.T) {
	g := NewWithT(t)
	places, err := Load(fstest.MapFS{"a.yaml": {Data: []byte("{")}, "b.yaml": {Data: []byte("name: b")}, "ours.yaml": {Data: []byte(valid)}})
	g.Expect(err).To(MatchError(And(ContainSubstring("a.yaml: "), ContainSubstring("b.yaml: "), Not(ContainSubstring("ours.yaml")))))
	g.Expect(names(places)).To(Equal([]string{"ours"}))
	_, err = Load(fstest.MapFS{})
	g.Expect(err).To(MatchError(ContainSubstring("no file that ends in .yaml")))
	_, err = Join(Embedded(), Embedded()[:1])
	g.Expect(err).To(MatchError(ContainSubstring("give yours another name")))
	both, err := Join(Embedded()[1:], Embedded()[:1])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(both).To(HaveLen(len(Embedded())))
}

func TestEveryMemberOfAnEnumIsDescribed(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../docs/survivors.md")
	g.Expect(err).NotTo(HaveOccurred())
	members := strings.Join([]string{list(Effects), list(Clearers), list(Shapes), list(Conversions)}, ", ")
	for member := range strings.SplitSeq(members, ", ") {
		g.Expect(string(page)).To(ContainSubstring("`"+member+"`"), "docs/survivors.md")
	}
}
