package deprecation

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/test/builders"
)

// widgets is a CRD with these versions, as in "~v1alpha1 (v1beta1) v1*". The one with a star is stored, those in
// parentheses are not served, and those with a tilde are deprecated. Edits are texts in YAML for the schema of spec, by
// version.
func widgets(versions string, specs ...string) *definition {
	var names []string
	storage, marks := "", strings.NewReplacer("*", "", "(", "", ")", "", "~", "")
	for _, v := range strings.Fields(versions) {
		names = append(names, marks.Replace(v))
		if strings.Contains(v, "*") {
			storage = marks.Replace(v)
		}
	}
	b := builders.CRD("example.com", "widgets").Versions(names...).Storage(storage)
	for _, name := range names {
		b.Schema(name, "type: object\nproperties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object}}")
	}
	for _, spec := range specs {
		version, properties, _ := strings.Cut(spec, " ")
		b.Schema(version, "type: object\nproperties: {spec: {type: object, "+properties+"}, status: {type: object}}")
	}
	crd := b.Build()
	for i, v := range strings.Fields(versions) {
		crd.Spec.Versions[i].Deprecated = strings.Contains(v, "~")
		crd.Spec.Versions[i].Served = !strings.Contains(v, "(")
	}
	return crd
}

// state is a release with a day, so many days after the first.
type state struct {
	name string
	day  int
	crd  *definition
}

func releases(states ...state) (all []Release) {
	for _, s := range states {
		r := Release{Name: s.name, When: time.Date(2025, 1, 1+s.day, 0, 0, 0, 0, time.UTC), Unreleased: s.name == "next"}
		if s.crd != nil {
			r.CRDs = []*definition{s.crd}
		}
		all = append(all, r)
	}
	return all
}

// step is a history of two releases.
func of2(was, is *definition) []Release {
	return releases(state{"v1.0.0", 0, was}, state{"v1.1.0", 90, is})
}

var cases = map[string]struct {
	releases []Release
	policy   func(*Policy)
	earlier  bool
	// want are rule, version and path of what is found beside LostOnTheWayBack, with the severity in front.
	want []string
}{
	"nothing changes": {of2(widgets("v1*"), widgets("v1*")), nil, false, nil},
	"a version comes": {of2(widgets("v1*"), widgets("v1* v2")), nil, false, nil},
	"a CRD comes":     {of2(nil, widgets("v1*")), nil, false, nil},
	"the storage version moves to one that is new": {
		of2(widgets("v1alpha1*"), widgets("v1alpha1 v1beta1*")), nil, false,
		[]string{"error StorageWithoutOverlap v1beta1", "warning NoWayBack v1beta1"},
	},
	"the storage version moves to one that was there and not served": {
		of2(widgets("v1alpha1* (v1beta1)"), widgets("v1alpha1 v1beta1*")), nil, false,
		[]string{"error StorageWithoutOverlap v1beta1"},
	},
	"the storage version moves to one that was served beside it": {
		of2(widgets("v1alpha1* v1beta1"), widgets("v1alpha1 v1beta1*")), nil, false, nil,
	},
	"both were served once": {
		releases(state{"v1.0.0", 0, widgets("v1alpha1* v1beta1")}, state{"v1.1.0", 90, widgets("(v1alpha1*) v1beta1")}, state{"v1.2.0", 180, widgets("(v1alpha1) v1beta1*")}), nil, false, nil,
	},
	"the storage version goes back to a less stable one": {
		of2(widgets("v1beta1* v1alpha1"), widgets("v1beta1 v1alpha1*")), nil, false, []string{"error LessStableStorage v1alpha1"},
	},
	"the storage version leaves as another one is stored": {
		of2(widgets("v1alpha1* v1beta1"), widgets("v1beta1*")), nil, false, []string{"error FlippedAndRemoved v1alpha1"},
	},
	"a version leaves that was stored a release before": {
		releases(state{"v1.0.0", 0, widgets("v1alpha1* v1beta1")}, state{"v1.1.0", 90, widgets("v1alpha1 v1beta1*")}, state{"v1.2.0", 180, widgets("v1beta1*")}), nil, false,
		[]string{"warning RemovedWhileStored v1alpha1"},
	},
	"the scope changes": {
		of2(widgets("v1*"), builders.CRD("example.com", "widgets").Versions("v1").ClusterScoped().Schema("v1", "type: object\nproperties: {spec: {type: object, properties: {size: {type: integer}}}, status: {type: object}}").Build()), nil, false,
		[]string{"error UpgradeRefused ", "warning NoWayBack v1"},
	},
	"a beta version leaves that nobody called deprecated": {
		of2(widgets("v1beta1 v1*"), widgets("v1*")), nil, false, []string{"error NeverDeprecated v1beta1"},
	},
	"a beta version is not served any more, and nobody called it deprecated": {
		of2(widgets("v1beta1 v1*"), widgets("(v1beta1) v1*")), nil, false, []string{"error NeverDeprecated v1beta1"},
	},
	"an alpha version leaves": {of2(widgets("v1alpha1 v1*"), widgets("v1*")), nil, false, nil},
	"an alpha version leaves, and the policy promises more": {
		of2(widgets("v1alpha1 v1*"), widgets("v1*")), func(p *Policy) { p.Windows.Alpha.Releases = 1 }, false, []string{"error NeverDeprecated v1alpha1"},
	},
	"a version leaves that was not served": {of2(widgets("(v1beta1) v1*"), widgets("v1*")), nil, false, nil},
	"a beta version leaves a release after it was deprecated": {
		releases(state{"v1.0.0", 0, widgets("v1beta1 v1*")}, state{"v1.1.0", 90, widgets("~v1beta1 v1*")}, state{"v1.2.0", 180, widgets("v1*")}), nil, false,
		[]string{"error RemovedTooSoon v1beta1"},
	},
	"a beta version leaves after three releases, of patches only": {
		releases(state{"v1.0.0", 0, widgets("~v1beta1 v1*")}, state{"v1.0.1", 90, widgets("~v1beta1 v1*")}, state{"v1.0.2", 180, widgets("~v1beta1 v1*")}, state{"v1.1.0", 300, widgets("v1*")}), nil, false,
		[]string{"error RemovedTooSoon v1beta1"},
	},
	"a beta version leaves after three releases, and too few days": {
		releases(state{"v1.0.0", 0, widgets("~v1beta1 v1*")}, state{"v1.1.0", 90, widgets("~v1beta1 v1*")}, state{"v1.2.0", 180, widgets("~v1beta1 v1*")}, state{"v1.3.0", 269, widgets("v1*")}), nil, false,
		[]string{"error RemovedTooSoon v1beta1"},
	},
	"a beta version leaves after three releases and nine months": {
		releases(state{"v1.0.0", 0, widgets("~v1beta1 v1*")}, state{"v1.1.0", 90, widgets("~v1beta1 v1*")}, state{"v1.2.0", 180, widgets("~v1beta1 v1*")}, state{"v1.3.0", 270, widgets("v1*")}), nil, false, nil,
	},
	"a beta version leaves that was deprecated before all that is known": {
		of2(widgets("~v1beta1 v1*"), widgets("v1*")), nil, true, []string{"warning RemovedTooSoon v1beta1"},
	},
	"a beta version was deprecated, and then not, before it leaves": {
		releases(state{"v1.0.0", 0, widgets("~v1beta1 v1*")}, state{"v1.1.0", 400, widgets("v1beta1 v1*")}, state{"v1.2.0", 800, widgets("v1*")}), nil, false,
		[]string{"error NeverDeprecated v1beta1"},
	},
	"a stable version leaves within a major release, deprecated or not": {
		releases(state{"v1.0.0", 0, widgets("~v1 v2*")}, state{"v1.9.0", 900, widgets("v2*")}), nil, false, []string{"error StableRemoved v1"},
	},
	"a stable version leaves with the next major release": {
		releases(state{"v1.0.0", 0, widgets("~v1 v2*")}, state{"v1.1.0", 100, widgets("~v1 v2*")}, state{"v1.2.0", 200, widgets("~v1 v2*")}, state{"v2.0.0", 400, widgets("v2*")}), nil, false, nil,
	},
	"a stable version leaves with what is not released, which has no number": {
		releases(state{"v1.0.0", 0, widgets("~v1 v2*")}, state{"next", 900, widgets("v2*")}), nil, false, []string{"error StableRemoved v1"},
	},
	"a CRD is gone, with a beta version":   {of2(widgets("v1beta1*"), nil), nil, false, []string{"error CRDRemoved "}},
	"a CRD is gone, with an alpha version": {of2(widgets("v1alpha1*"), nil), nil, false, nil},
	"a version is deprecated, and only a less stable one is left": {
		of2(widgets("v1beta1* v1alpha2"), widgets("~v1beta1* v1alpha2")), nil, false, []string{"error DeprecatedForLessStable v1beta1"},
	},
	"a version is deprecated, and its successor is there": {of2(widgets("v1beta1 v1*"), widgets("~v1beta1 v1*")), nil, false, nil},
	"a field has another name": {
		of2(widgets("v1*", "v1 properties: {colour: {type: string}, size: {type: integer}}"), widgets("v1*", "v1 properties: {color: {type: string}, size: {type: integer}}")), nil, false,
		[]string{"error FieldRenamed v1 spec.colour"},
	},
	"a beta version leaves three releases after a deprecation whose day is a later one": {
		releases(state{"v1.0.0", 500, widgets("~v1beta1 v1*")}, state{"v1.1.0", 90, widgets("~v1beta1 v1*")}, state{"v1.2.0", 180, widgets("~v1beta1 v1*")}, state{"v1.3.0", 270, widgets("v1*")}), nil, false,
		[]string{"error RemovedTooSoon v1beta1"},
	},
	"a version begins to drop what it does not name": {
		of2(widgets("v1*", "v1 x-kubernetes-preserve-unknown-fields: true"), widgets("v1*", "v1 properties: {a: {type: string}}")), nil, false,
		[]string{"error UnknownFieldsPruned v1 spec"},
	},
	"the CRD begins to drop what it does not name": {
		of2(func() *definition { crd := widgets("v1*"); crd.Spec.PreserveUnknownFields = true; return crd }(), widgets("v1*")), nil, false,
		[]string{"error UnknownFieldsPruned "},
	},
	"the status subresource goes": {
		of2(builders.CRD("example.com", "widgets").Versions("v1").WithStatus().Build(), builders.CRD("example.com", "widgets").Versions("v1").Build()), nil, false,
		[]string{"error SubresourceRemoved v1"},
	},
	"a combination is asked for": {
		of2(widgets("v1*", "v1 properties: {a: {type: string}}"), widgets("v1*", "v1 properties: {a: {type: string}}, anyOf: [{required: [a]}]")), nil, false,
		[]string{"warning ValidationTightened v1 spec"},
	},
	"a list is merged in another way": {
		of2(widgets("v1*", "v1 properties: {a: {type: array, items: {type: string}}}"), widgets("v1*", "v1 properties: {a: {type: array, x-kubernetes-list-type: set, items: {type: string}}}")), nil, false,
		[]string{"warning ValidationTightened v1 spec.a"},
	},
	"nothing converts any more": {
		of2(builders.CRD("example.com", "widgets").Versions("v1beta1", "v1").ConversionWebhook("https://example.com/convert", nil).Build(), builders.CRD("example.com", "widgets").Versions("v1beta1", "v1").Build()), nil, false,
		[]string{"error ConversionRemoved "},
	},
	"a list goes, and one of other items comes": {
		of2(widgets("v1*", "v1 properties: {requests: {type: array, items: {type: object, properties: {a: {type: string}}}}}"), widgets("v1*", "v1 properties: {names: {type: array, items: {type: string}}}")), nil, false,
		[]string{"error FieldRemoved v1 spec.requests"},
	},
	"a list has another name": {
		of2(widgets("v1*", "v1 properties: {lists: {type: array, items: {type: object, properties: {old: {type: string}}}}}"), widgets("v1*", "v1 properties: {lists: {type: array, items: {type: object, properties: {new: {type: string}}}}}")), nil, false,
		[]string{"error FieldRenamed v1 spec.lists[*].old"},
	},
	"an advance of the storage version is taken back": {
		releases(state{"v1.0.0", 0, widgets("v1alpha1* v1beta1")}, state{"v1.1.0", 90, widgets("v1alpha1 v1beta1*")}, state{"v1.2.0", 180, widgets("v1alpha1* v1beta1")}), nil, false,
		[]string{"warning LessStableStorage v1alpha1"},
	},
	"a version is deprecated, and its warning says what to use": {
		of2(widgets("v1beta1*"), func() *definition {
			crd := widgets("~v1beta1*")
			crd.Spec.Versions[0].DeprecationWarning = ptr.To("use gadgets.example.com")
			return crd
		}()), nil, false, []string{"info DeprecatedForLessStable v1beta1"},
	},
	"a field goes, and one of another type comes": {
		of2(widgets("v1*", "v1 properties: {colour: {type: string}}"), widgets("v1*", "v1 properties: {number: {type: integer}}")), nil, false,
		[]string{"error FieldRemoved v1 spec.colour"},
	},
	"a field goes":                      {of2(widgets("v1*", "v1 properties: {colour: {type: string}}"), widgets("v1*", "v1 properties: {}")), nil, false, []string{"error FieldRemoved v1 spec.colour"}},
	"a field goes, of an alpha version": {of2(widgets("v1alpha1*", "v1alpha1 properties: {colour: {type: string}}"), widgets("v1alpha1*", "v1alpha1 properties: {}")), nil, false, []string{"info FieldRemoved v1alpha1 spec.colour"}},
	"a field goes, of a version that is not served any more": {
		of2(widgets("v1alpha1 v1*", "v1alpha1 properties: {colour: {type: string}}"), widgets("(v1alpha1) v1*", "v1alpha1 properties: {}")), nil, false, nil,
	},
	"a field has another type": {of2(widgets("v1*"), widgets("v1*", "v1 properties: {size: {type: string}}")), nil, false, []string{"error FieldTypeChanged v1 spec.size"}},
	"a field has to be there":  {of2(widgets("v1*"), widgets("v1*", "v1 required: [size], properties: {size: {type: integer}}")), nil, false, []string{"error FieldRequired v1 spec.size"}},
	"an enum loses a value": {
		of2(widgets("v1*", "v1 properties: {kind: {type: string, enum: [a, b]}}"), widgets("v1*", "v1 properties: {kind: {type: string, enum: [a]}}")), nil, false,
		[]string{"error EnumValuesRemoved v1 spec.kind"},
	},
	"a default changes": {
		of2(widgets("v1*", "v1 properties: {size: {type: integer, default: 1}}"), widgets("v1*", "v1 properties: {size: {type: integer, default: 2}}")), nil, false,
		[]string{"warning DefaultChanged v1 spec.size"},
	},
	"a default changes, which the policy calls an error": {
		of2(widgets("v1*", "v1 properties: {size: {type: integer, default: 1}}"), widgets("v1*", "v1 properties: {size: {type: integer, default: 2}}")),
		func(p *Policy) { p.Severities = map[string]finding.Severity{DefaultChanged: finding.Error} }, false, []string{"error DefaultChanged v1 spec.size"},
	},
	"a default changes, of which nobody wants to hear": {
		of2(widgets("v1*", "v1 properties: {size: {type: integer, default: 1}}"), widgets("v1*", "v1 properties: {size: {type: integer, default: 2}}")),
		func(p *Policy) { p.Severities = map[string]finding.Severity{DefaultChanged: Off} }, false, nil,
	},
	"a limit is tightened": {
		of2(widgets("v1*"), widgets("v1*", "v1 properties: {size: {type: integer, maximum: 3}}")), nil, false, []string{"warning ValidationTightened v1 spec.size"},
	},
	"the new storage version lacks a field, and nothing converts": {
		of2(widgets("v1alpha1* v1", "v1alpha1 properties: {colour: {type: string}, size: {type: integer}}"), widgets("v1alpha1 v1*", "v1alpha1 properties: {colour: {type: string}, size: {type: integer}}")), nil, false,
		[]string{"error FieldLost v1alpha1 spec.colour"},
	},
	"a field comes to one of two versions, and nothing converts": {
		of2(widgets("v1beta1 v1*"), widgets("v1beta1 v1*", "v1 properties: {colour: {type: string}, size: {type: integer}}")), nil, false,
		[]string{"warning FieldNotInAll v1 spec.colour", "info LostOnTheWayBack v1"},
	},
	"an accepted field goes": {
		of2(widgets("v1*", "v1 properties: {colour: {type: string}}"), widgets("v1*", "v1 properties: {}")),
		func(p *Policy) {
			p.Accept = []Accepted{{Rule: FieldRemoved, CRD: "*.example.com", Path: "spec.*", Release: "v1.1.0", Reason: "nobody used it"}}
		}, false, []string{"info FieldRemoved v1 spec.colour"},
	},
}

func found(name string) (all []string) {
	c := cases[name]
	in := Input{Releases: c.releases, Earlier: c.earlier, Policy: DefaultPolicy(), LabelKey: v1alpha1.MigrateLabel}
	if c.policy != nil {
		c.policy(&in.Policy)
	}
	for _, f := range Judge(in).Findings {
		said := strings.TrimRight(fmt.Sprintf("%s %s %s %s", f.Severity, f.Rule, f.Version, f.Path), " ")
		if f.Version == "" {
			said += " "
		}
		all = append(all, said)
	}
	return all
}
