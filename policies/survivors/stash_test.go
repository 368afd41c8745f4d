package survivors

import (
	"encoding/base64"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

const garden = "gardens.example.org"

// move is a move of flowers and trees, of which the first tell what they are.
func move() *Move {
	return &Move{
		Name: garden, Successor: "{owner}-{name}-{version}-{uid}-{generation}",
		Rules: []Rule{
			{
				Kinds: []string{"Flower"}, From: []string{"v1alpha1", "v1alpha2"}, To: "v1", Fields: map[string][]string{"petals": {"colour", "count"}, "soil": nil},
				Defaults: map[string]any{"spec.petals.count": int64(5), "water": "daily"}, DropEmpty: []string{"spec.petals.colour", "spec.none.deep"},
			},
			{Kinds: []string{"Tree"}, From: []string{"v1alpha1"}, To: "v1", Fields: map[string][]string{"trunk": nil}},
		},
		Bare: []Bare{{Kind: "Tree", Version: "v1alpha1", Name: "a-tree"}, {Kind: "Flower", Version: "v1alpha1", Name: "a-flower"}},
	}
}

func contentOf(g *WithT, text string) Content {
	content := Content{}
	g.Expect(json.Unmarshal([]byte(text), &content)).To(Succeed(), text)
	return content
}

func TestACopyIsReadAsWhatItSaysOrLooksLike(t *testing.T) {
	packed := func(spec string) string { return base64.StdEncoding.EncodeToString([]byte(spec)) }
	for name, c := range map[string]struct {
		data string
		want Copy
		err  string
	}{
		"it tells what it is":                        {data: `{"apiVersion":"example.org/v1alpha1","kind":"Flower","metadata":{"name":"rose"}}`, want: Copy{Version: "v1alpha1", Kind: "Flower", Name: "rose"}},
		"it has no name":                             {data: `{"apiVersion":"example.org/v1","kind":"Flower"}`, want: Copy{Version: "v1", Kind: "Flower"}},
		"it is of another group":                     {data: `{"apiVersion":"example.com/v1","kind":"Flower"}`, err: `its apiVersion "example.com/v1" is none of example.org`},
		"it has no version":                          {data: `{"apiVersion":"example.org/","kind":"Flower"}`, err: `its apiVersion "example.org/" is none`},
		"its version is none":                        {data: `{"apiVersion":"example.org/v1/v2","kind":"Flower"}`, err: `its apiVersion "example.org/v1/v2" is none`},
		"it is no object":                            {data: `"text"`, err: "data is no object"},
		"bare, with the fields of the first":         {data: `{"spec":"` + packed(`{"trunk":{"rings":3}}`) + `"}`, want: Copy{Version: "v1alpha1", Kind: "Tree", Name: "a-tree", Bare: true}},
		"bare, with the fields of the other":         {data: `{"apiVersion":"","spec":"` + packed(`{"petals":{"count":3},"soil":{"of":"any"}}`) + `"}`, want: Copy{Version: "v1alpha1", Kind: "Flower", Name: "a-flower", Bare: true}},
		"bare, with a field inside that is none's":   {data: `{"spec":"` + packed(`{"petals":{"size":3}}`) + `"}`, err: "its fields are those of none"},
		"bare, with a field that is none's":          {data: `{"spec":"` + packed(`{"leaves":3}`) + `"}`, err: "it has no kind, and its fields are those of none"},
		"bare, with another field beside it":         {data: `{"spec":"` + packed(`{}`) + `","status":{}}`, err: "it has no kind"},
		"no kind, and its spec is as anybody's":      {data: `{"spec":{}}`, err: "it has no kind"},
		"bare, and no base64":                        {data: `{"spec":"?"}`, err: "its spec is no JSON in base64"},
		"bare, and no JSON":                          {data: `{"spec":"` + packed(`{`) + `"}`, err: "its spec is no JSON in base64"},
		"bare, and nothing":                          {data: `{"spec":"` + packed(`null`) + `"}`, err: "its spec is no JSON in base64"},
		"bare, without a field: the first that fits": {data: `{"spec":"` + packed(`{}`) + `"}`, want: Copy{Version: "v1alpha1", Kind: "Tree", Name: "a-tree", Bare: true}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := move().ReadCopy("example.org", contentOf(g, `{"data":`+c.data+`}`))
			if c.err != "" {
				g.Expect(err).To(And(MatchError(ErrUndecodable), MatchError(ContainSubstring(c.err))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			got.object = nil
			g.Expect(got).To(Equal(c.want))
		})
	}
}

func TestACopyIsConvertedByItsRule(t *testing.T) {
	for name, c := range map[string]struct {
		copied string
		want   string
		err    string
	}{
		"fields that the rule has stay":   {copied: `"kind":"Flower","spec":{"petals":{"colour":"red","count":3},"soil":{"wet":true}}`, want: `"kind":"Flower","spec":{"petals":{"colour":"red","count":3},"soil":{"wet":true}},"water":"daily"`},
		"others go":                       {copied: `"kind":"Flower","spec":{"petals":{"colour":"red","count":3,"size":1},"thorns":2}`, want: `"kind":"Flower","spec":{"petals":{"colour":"red","count":3}},"water":"daily"`},
		"what is missing is set":          {copied: `"kind":"Flower","spec":{}`, want: `"kind":"Flower","spec":{"petals":{"count":5}},"water":"daily"`},
		"what is there is left":           {copied: `"kind":"Flower","spec":{},"water":"weekly"`, want: `"kind":"Flower","spec":{"petals":{"count":5}},"water":"weekly"`},
		"what is empty is dropped":        {copied: `"kind":"Flower","spec":{"petals":{"colour":""}}`, want: `"kind":"Flower","spec":{"petals":{"count":5}},"water":"daily"`},
		"a rule of another kind":          {copied: `"kind":"Tree","spec":{"trunk":1,"petals":{}}`, want: `"kind":"Tree","spec":{"trunk":1}`},
		"null is as if it were not there": {copied: `"kind":"Flower","spec":{"petals":null}`, want: `"kind":"Flower","spec":{"petals":{"count":5}},"water":"daily"`},
		"no rule":                         {copied: `"kind":"Bush","spec":{}`, err: "no rule converts a Bush at v1alpha1"},
		"no spec":                         {copied: `"kind":"Flower"`, err: "its spec is no object"},
		"a field that is no object":       {copied: `"kind":"Flower","spec":{"petals":3}`, err: "spec.petals is no object"},
		"one that may be anything":        {copied: `"kind":"Flower","spec":{"soil":3}`, want: `"kind":"Flower","spec":{"petals":{"count":5},"soil":3},"water":"daily"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			m, content := move(), contentOf(g, `{"data":{"apiVersion":"example.org/v1alpha1",`+c.copied+`}}`)
			before, err := m.ReadCopy("example.org", content)
			g.Expect(err).NotTo(HaveOccurred())
			got, err := m.Convert("example.org", before)
			if c.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Object()).To(Equal(contentOf(g, `{"apiVersion":"example.org/v1",`+c.want+`}`)))
			g.Expect(got.Version).To(Equal("v1"))
			g.Expect(content).To(Equal(contentOf(g, `{"data":{"apiVersion":"example.org/v1alpha1",`+c.copied+`}}`)), "the copy itself stays as it was")
		})
	}
}

// Of what a copy does not tell, its successor's name says nothing, and its generation is the first there is.
func TestASuccessorIsCalledByItsOwnerAndTheCopy(t *testing.T) {
	g := NewWithT(t)
	read := Copy{Version: "v1alpha1", Kind: "Flower", Name: "rose"}
	full := read.As("v1", contentOf(g, `{"metadata":{"uid":"u1","generation":7}}`))
	bare := read.As("v1", contentOf(g, `{}`))
	g.Expect(move().SuccessorName("vase", full)).To(Equal("vase-rose-v1-u1-7"))
	g.Expect(move().SuccessorName("vase", bare)).To(Equal("vase-rose-v1--0"))

	p := &Place{Fields: []Field{{}, {Payload: &Payload{Version: "version", Kind: "kind", Name: "name", UID: "uid", Generation: "generation"}}}}
	g.Expect(p.SuccessorLabels(nil, full)).To(Equal(map[string]string{"version": "v1", "kind": "Flower", "name": "rose", "uid": "u1", "generation": "7"}))
	g.Expect(p.SuccessorLabels(nil, bare)).To(Equal(map[string]string{"version": "v1", "kind": "Flower", "name": "rose", "uid": "", "generation": "0"}))
	old := map[string]string{"version": "v1alpha1", "name": "tulip", "team": "blue"}
	g.Expect(p.SuccessorLabels(old, full)).To(Equal(map[string]string{"version": "v1", "kind": "Flower", "name": "tulip", "uid": "u1", "generation": "7", "team": "blue"}), "what the old one says of it stays")
	g.Expect(old).To(HaveLen(3))
	p.Fields[1].Payload.UID = ""
	g.Expect(p.SuccessorLabels(nil, full)).NotTo(HaveKey(""), "a label that the place has not")

	kind, version := p.Labelled(map[string]string{"version": "v1", "kind": "Flower"})
	g.Expect(kind + " at " + version).To(Equal("Flower at v1"))
	kind, version = (&Place{Fields: []Field{{}}}).Labelled(map[string]string{"version": "v1", "kind": "Flower"})
	g.Expect(kind + version).To(BeEmpty())
}

func TestWhatNamesACopyIsReadWithItsPlace(t *testing.T) {
	g := NewWithT(t)
	f := &NameField{Paths: []string{"spec.vase", `spec["a/b~c"]`, "spec.none"}}
	g.Expect(f.Read(contentOf(g, `{"spec":{"vase":"one","a/b~c":"two","none":""}}`))).To(Equal([]Named{
		{Path: "spec.vase", Pointer: "/spec/vase", Name: "one"}, {Path: `spec["a/b~c"]`, Pointer: "/spec/a~1b~0c", Name: "two"},
	}))
	g.Expect(f.In("anything")).To(BeTrue())
	f.Names = []string{"started-*", "x"}
	g.Expect(f.In("started-1")).To(BeTrue())
	g.Expect(f.In("stopped-1")).To(BeFalse())
}

// KubeVirt's own data say when a snapshot is done, and which controller moves copies by itself.
func TestWorkIsDoneAtOneOfItsEnds(t *testing.T) {
	g := NewWithT(t)
	kubevirt := Moves()[0]
	snapshot, restore := kubevirt.Busy[0], kubevirt.Busy[1]
	g.Expect(snapshot.Done(contentOf(g, `{"status":{"phase":"InProgress","readyToUse":false}}`))).To(BeFalse())
	g.Expect(snapshot.Done(contentOf(g, `{"status":{"phase":"Failed"}}`))).To(BeTrue())
	g.Expect(snapshot.Done(contentOf(g, `{"status":{"phase":"InProgress","readyToUse":true}}`))).To(BeTrue())
	g.Expect(restore.Done(contentOf(g, `{"status":{"conditions":[{"type":"Ready"},{"type":"Failure"}]}}`))).To(BeTrue())
	g.Expect(restore.Done(contentOf(g, `{}`))).To(BeFalse())

	g.Expect(kubevirt.Controller.Version(contentOf(g, `{"status":{"observedKubeVirtVersion":"v1.4.0"}}`))).To(Equal("v1.4.0"))
	g.Expect(kubevirt.Controller.Version(contentOf(g, `{}`))).To(BeEmpty())
	owned := func(kind string, controller *bool) Content {
		return OfMetadata(&metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "kubevirt.io/v1", Kind: kind, Name: "x", UID: "u", Controller: controller}}})
	}
	g.Expect(kubevirt.Controller.Owned(owned("VirtualMachine", nil))).To(BeTrue())
	g.Expect(kubevirt.Controller.Owned(owned("VirtualMachinePool", nil))).To(BeFalse())
	g.Expect(kubevirt.Controller.Owned(OfMetadata(&metav1.ObjectMeta{}))).To(BeFalse())

	owner := func(content Content) any {
		return content["metadata"].(map[string]any)["ownerReferences"].([]any)[0].(map[string]any)["controller"]
	}
	g.Expect(owner(owned("VirtualMachine", nil))).To(BeFalse())
	g.Expect(owner(owned("VirtualMachine", new(false)))).To(BeFalse())
	g.Expect(owner(owned("VirtualMachine", new(true)))).To(BeTrue())
}

func TestCopiesAreMovedFromTheVersionsThatARuleConverts(t *testing.T) {
	types, none := targets["instancetypes"], targets[""]
	g := NewWithT(t)
	g.Expect(types.Movable(Embedded())).To(Equal([]string{"v1alpha1", "v1alpha2"}))
	g.Expect(none.Movable(Embedded())).To(BeEmpty())
	group := targets["instancetypes"]
	group.Group = "example.com"
	g.Expect(group.Movable(Embedded())).To(BeEmpty(), "a kind of another group")
	g.Expect(types.HasKind("VirtualMachineInstancetype")).To(BeTrue())
	g.Expect(types.HasKind("VirtualMachinePreference")).To(BeFalse())
	g.Expect(types.HasKind("")).To(BeFalse())
	g.Expect(types.Leaves("v1alpha1")).To(BeTrue())
	g.Expect(types.Leaves("v1beta1")).To(BeFalse())
}

// A field of another type could not be read by the project either; what else the schema asks for was not asked then.
func TestACopyIsHeldToTheTypesOfItsFields(t *testing.T) {
	schema := &apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"status"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"count": {Type: "integer"}, "list": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": {Type: "string"}}}}},
		}},
	}}
	types, err := TypesOf(schema)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for spec, says := range map[string]string{
		`{"count":3,"list":[{"a":"x"}]}`:        "",
		`{"count":null,"list":[{"a":null},{}]}`: "",
		`{"count":"three"}`:                     "spec.count",
		`{"list":[{"a":1}]}`:                    "spec.list[0].a",
		`{}`:                                    "",
	} {
		t.Run(spec, func(t *testing.T) {
			g := NewWithT(t)
			err := types.Check(Copy{object: contentOf(g, `{"spec":`+spec+`}`)})
			if says == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(And(MatchError(ErrUndecodable), MatchError(ContainSubstring(says))))
		})
	}
}

// A report is asked about one CRD, and about places that name a version or hold whole objects at one.
func TestAReportHasParts(t *testing.T) {
	g := NewWithT(t)
	widgets, gadgets := Group{CRD: "widgets.example.com", Version: "v1alpha1"}, Group{CRD: "gadgets.example.com", Version: "v1alpha1"}
	later, unknown, others := Group{CRD: "widgets.example.com", Version: "v1beta1"}, Group{}, Group{groups: []string{"example.org"}}
	stash := Group{CRD: "widgets.example.com", Version: "v1alpha1", Stash: true, groups: []string{"example.com"}}
	r := &Report{
		Targets: []Target{{CRD: "widgets.example.com", Leaving: []string{"v1alpha1", "v1beta1"}}, {CRD: "gadgets.example.com", Leaving: []string{"v1alpha1"}}},
		Found:   []Group{widgets, gadgets, later, stash}, Unknown: []Group{unknown, others}, Possible: []Group{gadgets},
		Places: []Coverage{{Place: "any"}, {Place: "theirs", groups: []string{"example.org"}}, {Place: "ours", Stash: true, groups: []string{"example.com"}}},
	}
	of := r.Of("widgets.example.com", "example.com", []string{"v1alpha1"})
	g.Expect(of.Targets).To(HaveExactElements(And(HaveField("CRD", "widgets.example.com"), HaveField("Leaving", []string{"v1alpha1"}))))
	g.Expect(r.Targets[0].Leaving).To(HaveLen(2), "the report stays as it was")
	g.Expect(of.Found).To(Equal([]Group{widgets, stash}))
	g.Expect(of.Unknown).To(Equal([]Group{unknown}))
	g.Expect(of.Possible).To(BeEmpty())
	g.Expect(of.Places).To(HaveExactElements(HaveField("Place", "any"), HaveField("Place", "ours")))

	stashes, references := r.Only(Stashes), r.Only(References)
	g.Expect(stashes.Found).To(Equal([]Group{stash}))
	g.Expect(stashes.Places).To(HaveExactElements(HaveField("Place", "ours")))
	g.Expect(references.Found).To(Equal([]Group{widgets, gadgets, later}))
	g.Expect(references.Places).To(HaveExactElements(HaveField("Place", "any"), HaveField("Place", "theirs")))
}

func TestAnObjectIsNamedWithItsNamespace(t *testing.T) {
	g := NewWithT(t)
	g.Expect(ObjectRef{Resource: "pods", Namespace: "garden", Name: "rose"}.String()).To(Equal("pods garden/rose"))
	g.Expect(ObjectRef{Resource: "nodes", Name: "one"}.String()).To(Equal("nodes one"))
}

// What makes a move incomplete is said, all at once.
func TestAMoveIsReadStrictly(t *testing.T) {
	whole := func() *Move {
		m := move()
		m.References = []NameField{{Resource: "vases.example.org", Paths: []string{"spec.flower"}}}
		m.Busy = []Work{{Resource: "harvests.example.org", Ends: []End{{Path: "status.phase", Values: []string{"Done"}}}}}
		m.Controller = &Mover{Name: "gardener", Resource: "gardens.example.org", Path: "status.version", Since: "v1", Until: "v2", Owners: []string{"Vase.example.org"}}
		m.Evidence = []string{"https://example.org"}
		return m
	}
	for name, c := range map[string]struct {
		change func(*Move)
		by     Conversion
		says   []string
	}{
		"a move":                                  {},
		"a name other than its file's":            {change: func(m *Move) { m.Name = "other" }, says: []string{`its name is "other"`}},
		"no successor":                            {change: func(m *Move) { m.Successor = "" }, says: []string{"successor, references or evidence are missing"}},
		"nothing refers to it":                    {change: func(m *Move) { m.References = nil }, says: []string{"successor, references or evidence are missing"}},
		"no evidence":                             {change: func(m *Move) { m.Evidence = nil }, says: []string{"successor, references or evidence are missing"}},
		"no rules":                                {change: func(m *Move) { m.Rules, m.Bare = nil, nil }, says: []string{"rules are missing"}},
		"no rules, as the CRD converts":           {change: func(m *Move) { m.Rules, m.Bare = nil, nil }, by: ByCRD},
		"rules, though the CRD converts":          {by: ByCRD, says: []string{"rules and bare are not for copies that the CRD's conversion converts"}},
		"as many rules as bare copies, and so":    {change: func(m *Move) { m.Bare = m.Bare[:2] }, by: ByCRD, says: []string{"rules and bare are not"}},
		"a rule without kinds":                    {change: func(m *Move) { m.Rules[0].Kinds, m.Bare = nil, nil }, says: []string{"a rule lacks kinds, from, to or fields"}},
		"a rule that is from nowhere":             {change: func(m *Move) { m.Rules[0].From, m.Bare = nil, nil }, says: []string{"a rule lacks kinds, from, to or fields"}},
		"a rule that goes nowhere":                {change: func(m *Move) { m.Rules[0].To = "" }, says: []string{"a rule lacks kinds, from, to or fields"}},
		"a rule without fields":                   {change: func(m *Move) { m.Rules[0].Fields = nil }, says: []string{"a rule lacks kinds, from, to or fields"}},
		"a rule that stays":                       {change: func(m *Move) { m.Rules[0].To = "v1alpha2" }, says: []string{"a rule is from v1alpha2 to v1alpha2"}},
		"a default of many fields":                {change: func(m *Move) { m.Rules[0].Defaults["spec.*"] = 1 }, says: []string{`path "spec.*"`}},
		"a default of fields in a list":           {change: func(m *Move) { m.Rules[0].Defaults["spec.list[*].a"] = 1 }, says: []string{`path "spec.list[*].a" is not one field`}},
		"what is dropped is a path with a hole":   {change: func(m *Move) { m.Rules[0].DropEmpty = []string{"spec..a"} }, says: []string{"is no name"}},
		"no rule for a bare copy":                 {change: func(m *Move) { m.Bare[0].Kind = "Bush" }, says: []string{"no rule is for a bare Bush at v1alpha1"}},
		"a reference without a resource":          {change: func(m *Move) { m.References[0].Resource = "" }, says: []string{"a reference lacks the resource or paths"}},
		"a reference without paths":               {change: func(m *Move) { m.References[0].Paths = nil }, says: []string{"a reference lacks the resource or paths"}},
		"a reference at any depth":                {change: func(m *Move) { m.References[0].Paths = []string{"spec.**"} }, says: []string{`path "spec.**" is not one field`}},
		"work without a resource":                 {change: func(m *Move) { m.Busy[0].Resource = "" }, says: []string{"busy lacks the resource or ends"}},
		"work without an end":                     {change: func(m *Move) { m.Busy[0].Ends = nil }, says: []string{"busy lacks the resource or ends"}},
		"an end without a value":                  {change: func(m *Move) { m.Busy[0].Ends[0].Values = nil }, says: []string{"an end of harvests.example.org is wrong"}},
		"an end with a hole in its path":          {change: func(m *Move) { m.Busy[0].Ends[0].Path = "a..b" }, says: []string{"an end of harvests.example.org is wrong"}},
		"no controller":                           {change: func(m *Move) { m.Controller = nil }},
		"a controller without a name":             {change: func(m *Move) { m.Controller.Name = "" }, says: []string{"the controller lacks a field"}},
		"a controller without a resource":         {change: func(m *Move) { m.Controller.Resource = "" }, says: []string{"the controller lacks a field"}},
		"a controller that begins at no version":  {change: func(m *Move) { m.Controller.Since = "" }, says: []string{"the controller lacks a field"}},
		"a controller that ends at no version":    {change: func(m *Move) { m.Controller.Until = "" }, says: []string{"the controller lacks a field"}},
		"a controller that cares for nobody's":    {change: func(m *Move) { m.Controller.Owners = nil }, says: []string{"the controller lacks a field"}},
		"a controller whose version is in a list": {change: func(m *Move) { m.Controller.Path = "status[*].a" }, says: []string{"is not one field"}},
		"everything that is wrong":                {change: func(m *Move) { m.Successor, m.Controller.Name = "", "" }, says: []string{"successor, references", "the controller lacks"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, m := NewWithT(t), whole()
			if c.change != nil {
				c.change(m)
			}
			if c.by == "" {
				c.by = ByProject
			}
			err := m.check(garden, c.by)
			if c.says == nil {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(HaveOccurred())
			lines := strings.Split(err.Error(), "\n")
			g.Expect(lines).To(HaveLen(len(c.says)))
			for i, says := range c.says {
				g.Expect(lines[i]).To(ContainSubstring(says))
			}
		})
	}
}
