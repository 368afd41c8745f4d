package runbook_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/runbook"
	"github.com/moult-dev/moult/test/builders"
)

const (
	wide   = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}, extra: {type: string}}}}}"
	narrow = "{type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}"
)

// schemas gives v1alpha1 of the cluster's CRD a schema, and v1 the wide one.
func schemas(old string) func(*runbook.Observation) {
	return func(o *runbook.Observation) {
		for version, text := range map[string]string{"v1alpha1": old, "v1": wide} {
			if crds.Has(o.CRD, version) {
				crds.Version(o.CRD, version).Schema = builders.CRD("example.com", "widgets").Versions(version).Schema(version, text).Build().Spec.Versions[0].Schema
			}
		}
	}
}

func releaseOf(text string) *apiextensionsv1.CustomResourceDefinition {
	return builders.CRD("example.com", "widgets").Versions("v1alpha1").Schema("v1alpha1", text).Build()
}

func hooked(o *runbook.Observation) {
	o.CRD.Spec.Conversion = builders.CRD("example.com", "widgets").ConversionWebhook("https://hook.example.com", nil).Build().Spec.Conversion
}

// asked does both rehearsals, with the answers of the flip and of the release.
func asked(flip, release *conversion.CRDReport) func(*runbook.Observation) {
	report := func(of *conversion.CRDReport) *conversion.Report {
		if of == nil {
			return nil
		}
		r := &conversion.Report{Verdict: conversion.Kept, CRDs: []conversion.CRDReport{*of}}
		switch {
		case of.NotKept():
			r.Verdict = conversion.NotKept
		case len(of.Unknown) > 0:
			r.Verdict = conversion.NotKnown
		}
		return r
	}
	return func(o *runbook.Observation) { o.Rehearsed, o.Return.Released = report(flip), report(release) }
}

var (
	nothing = &conversion.CRDReport{Objects: 20, Same: 20, ReadAt: "v1"}
	extra   = &conversion.CRDReport{Objects: 20, ReadAt: "v1", Lost: []conversion.Group{{What: "spec.extra", Objects: 20, Examples: []string{"a/b"}}}}
	hidden  = &conversion.CRDReport{ReadAt: "v1beta1", Unknown: []conversion.Group{{What: "objects may be stored at v1beta1"}}}
	dead    = &conversion.CRDReport{ReadAt: "v1alpha1", Objects: 20, Unknown: []conversion.Group{{What: "it cannot be read at v1alpha1: no answer", Objects: 20}}}
)

// Both the flip and the CRD of the release can lose something, each by its schema of the version.
func TestWhatIsRehearsedOfAWayBack(t *testing.T) {
	two := []string{"v1alpha1", "v1"}
	type rehearsal struct {
		fields string // of v1alpha1
		at     []string
	}
	for name, c := range map[string]struct {
		o             runbook.Observation
		flip, release *rehearsal
	}{
		"the flip brings the release's schema":   {backFrom([]string{"v1"}, releaseOf(narrow), schemas("")), &rehearsal{narrow, nil}, nil},
		"the cluster has the release's schema":   {backFrom(two, releaseOf(narrow), schemas(narrow)), &rehearsal{narrow, nil}, nil},
		"no release":                             {backFrom(two, nil, schemas(narrow)), &rehearsal{narrow, nil}, nil},
		"the cluster's is narrower":              {backFrom(two, releaseOf(wide), schemas(narrow)), &rehearsal{narrow, nil}, &rehearsal{wide, two}},
		"the release's is narrower":              {backFrom(two, releaseOf(narrow), schemas(wide)), &rehearsal{wide, nil}, &rehearsal{narrow, two}},
		"it is flipped":                          {backFrom([]string{"v1", "v1alpha1"}, releaseOf(narrow), schemas(narrow)), nil, nil},
		"it is flipped, and there is a webhook":  {backFrom([]string{"v1", "v1alpha1"}, releaseOf(narrow), schemas(narrow), hooked), nil, nil},
		"it is flipped, by another schema":       {backFrom([]string{"v1", "v1alpha1"}, releaseOf(narrow), schemas(wide)), nil, &rehearsal{narrow, []string{"v1alpha1"}}},
		"there is no other version":              {backFrom([]string{"v1alpha1"}, releaseOf(narrow), schemas(wide)), nil, &rehearsal{narrow, []string{"v1alpha1"}}},
		"the flip is by a webhook":               {backFrom(two, releaseOf(narrow), schemas(wide), hooked), nil, &rehearsal{narrow, []string{"v1alpha1"}}},
		"a webhook may be dead":                  {backFrom(two, nil, schemas(wide), hooked), nil, &rehearsal{wide, []string{"v1alpha1"}}},
		"a webhook, and the version is unserved": {backFrom(two, nil, schemas(wide), hooked, unserved), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			all, err := runbook.Rehearsals(&c.o)
			g.Expect(err).NotTo(HaveOccurred())
			for report, want := range map[**conversion.Report]*rehearsal{&c.o.Rehearsed: c.flip, &c.o.Return.Released: c.release} {
				at := slices.IndexFunc(all, func(r runbook.Rehearsal) bool { return r.Report == report })
				g.Expect(at >= 0).To(Equal(want != nil))
				if want == nil {
					continue
				}
				g.Expect(all[at].ReadAt).To(Equal(want.at))
				g.Expect(crds.StorageVersion(all[at].CRD)).To(Equal("v1alpha1"))
				g.Expect(crds.Version(all[at].CRD, "v1alpha1").Schema).To(Equal(releaseOf(want.fields).Spec.Versions[0].Schema))
			}
		})
	}
}

// What is to be done now never loses a field, and is never a guess.
func TestAWayBackIsHeldWhileSomethingWouldBeLostOrIsUnknown(t *testing.T) {
	two, back := []string{"v1alpha1", "v1"}, []string{"v1", "v1alpha1"}
	for name, c := range map[string]struct {
		o          runbook.Observation
		next, step runbook.Name
		state      runbook.State
		seen, does string // of the step
	}{
		"the cluster's schema is narrower": {backFrom(two, releaseOf(wide), schemas(narrow), asked(extra, nothing)), runbook.Serve, runbook.Serve, runbook.Next,
			"the CRD has another schema of v1alpha1, by which more would be lost: spec.extra of 20 objects, for example a/b",
			"in place of the CRD, widgets.example.com-between.yaml of this command, which has the schema of v1alpha1 in git:v1:crds, and stores as before"},
		"and the flip is not taken": {backFrom(two, releaseOf(wide), schemas(narrow), asked(extra, nothing)), runbook.Serve, runbook.Flip, runbook.Held,
			"spec.extra of 20 objects, for example a/b (by the schema of v1alpha1 that the cluster has)", "bring the schema of v1alpha1 in git:v1:crds, with the CRD between of the step before\nstorage: true at v1alpha1"},
		"and that is seen without a rehearsal": {backFrom(two, releaseOf(wide), schemas(narrow)), runbook.Serve, runbook.Serve, runbook.Next,
			"the CRD has another schema of v1alpha1, without spec.extra", "widgets.example.com-between.yaml"},
		"the release's schema is narrower": {backFrom(two, releaseOf(narrow), schemas(wide), asked(nothing, extra)), runbook.Flip, runbook.Flip, runbook.Held,
			"lost: spec.extra of 20 objects, for example a/b (by the schema of v1alpha1 in git:v1:crds)", `moult.dev/allow-field-loss: "spec.extra"`},
		"both lose it": {backFrom(two, releaseOf(narrow), schemas(narrow), asked(extra, extra)), runbook.Flip, runbook.Flip, runbook.Held,
			"lost: spec.extra of 20 objects, for example a/b", `moult.dev/allow-field-loss: "spec.extra"`},
		"the flip is done, and the release's is narrower": {backFrom(back, releaseOf(narrow), schemas(wide), asked(nil, extra)), runbook.Rehearse, runbook.Rehearse, runbook.Held,
			"20 objects: lost: spec.extra of 20 objects, for example a/b (by the schema of v1alpha1 in git:v1:crds)", `moult.dev/allow-field-loss: "spec.extra"`},
		"there is no other version": {backFrom([]string{"v1alpha1"}, releaseOf(narrow), schemas(wide), asked(nil, extra)), runbook.Rehearse, runbook.Rehearse, runbook.Held,
			"20 objects: lost: spec.extra", "then go on to the CRD of git:v1:crds"},
		"the flip is done, and the release keeps all": {backFrom(back, releaseOf(narrow), schemas(wide), asked(nil, nothing)), runbook.Migrate, runbook.Rehearse, runbook.Done,
			"20 objects: nothing would be lost, and nothing refused", ""},
		"a stored version is not served": {backFrom(two, nil, asked(hidden, nil)), runbook.Flip, runbook.Flip, runbook.Held,
			"not known: objects may be stored at v1beta1", "serve v1beta1 (served: true), and plan again, so that it is known what would be lost\nstorage: true"},
		"the webhook is dead": {backFrom(two, nil, hooked, asked(nil, dead)), runbook.Flip, runbook.Flip, runbook.Held,
			"not known: it cannot be read at v1alpha1: no answer", "see that the conversion webhook answers, and plan again"},
		"the webhook answers, and was not asked for all": {backFrom(two, nil, hooked, asked(nil, nothing)), runbook.Flip, runbook.Rehearse, runbook.Advised,
			"nothing in the cluster shows whether this was done", ""},
		"objects cannot be read": {backFrom(two, nil, asked(dead, nil)), runbook.Flip, runbook.Flip, runbook.Held,
			"not known", "see to it that all objects can be read, and plan again"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(c.o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Next).To(Equal(c.next))
			s := p.Steps[slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == c.step })]
			g.Expect(s.State).To(Equal(c.state))
			g.Expect(s.Seen).To(ContainSubstring(c.seen))
			g.Expect(strings.Join(append(s.First, s.Commit), "\n")).To(ContainSubstring(c.does))
		})
	}
}

func TestWhatIsLetGoOnTheWayBackIsNamed(t *testing.T) {
	lets := func(o *runbook.Observation) {
		o.CRD.Annotations = map[string]string{v1alpha1.AllowFieldLossAnnotation: "spec.extra"}
	}
	status := &conversion.CRDReport{Objects: 20, Lost: []conversion.Group{{What: "status.x", Status: true, Objects: 20}}}
	for name, c := range map[string]struct {
		o    runbook.Observation
		seen string
	}{
		"a field":                 {backFrom([]string{"v1alpha1", "v1"}, nil, lets, asked(extra, nil)), "20 objects: let go: spec.extra of 20 objects, for example a/b"},
		"by the flip and release": {backFrom([]string{"v1alpha1", "v1"}, releaseOf(narrow), schemas(narrow), lets, asked(extra, extra)), "20 objects: let go: spec.extra of 20 objects, for example a/b"},
		"nothing that is said":    {backFrom([]string{"v1alpha1", "v1"}, nil, func(o *runbook.Observation) { asked(status, nil)(o); o.Rehearsed.Verdict = conversion.NotKept }), "20 objects"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(c.o)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Steps[0].Seen).To(Equal(c.seen))
			g.Expect(p.Next).To(Equal(runbook.Flip))
			g.Expect(p.Steps[slices.IndexFunc(p.Steps, func(s runbook.Step) bool { return s.Name == runbook.Flip })].State).To(Equal(runbook.Next))
		})
	}
}

// A name is only a name: a release that stored at a version was there, and so was a version that storedVersions names first.
func TestWhichVersionIsOlder(t *testing.T) {
	for name, c := range map[string]struct {
		is, to  string
		stored  []string
		release bool
		noted   string
	}{
		"a beta of the next, with a release":         {is: "v2beta1", to: "v1", stored: []string{"v2beta1"}, release: true, noted: "by its name v1 would be newer than v2beta1; that it is the older one is taken from git:v1:crds"},
		"an alpha of the next, with a release":       {is: "v2alpha1", to: "v1beta1", stored: []string{"v2alpha1"}, release: true, noted: "taken from git:v1:crds"},
		"dates, with a release":                      {is: "a20250101", to: "a20240101", stored: []string{"a20250101"}, release: true, noted: "taken from git:v1:crds"},
		"storedVersions names it behind, a release":  {is: "v2beta1", to: "v1", stored: []string{"v2beta1", "v1"}, release: true, noted: "taken from git:v1:crds"},
		"a beta of the next, in the middle":          {is: "v2beta1", to: "v1", stored: []string{"v1", "v2beta1"}, noted: "taken from status.storedVersions, which names it first"},
		"dates, in the middle":                       {is: "a20250101", to: "a20240101", stored: []string{"a20240101", "a20250101"}, noted: "taken from status.storedVersions"},
		"a name that says it, and nothing is stored": {is: "v1", to: "v1alpha1", stored: []string{"v1"}, noted: "nothing shows that objects were ever stored at v1alpha1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var r *apiextensionsv1.CustomResourceDefinition
			if c.release {
				r = release(c.to)
			}
			p, err := runbook.Of(backFrom([]string{c.to, c.is}, r, func(o *runbook.Observation) { o.To, o.CRD.Status.StoredVersions = c.to, c.stored }))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Next).To(Equal(runbook.Flip))
			g.Expect(p.Leaving).To(Equal([]string{c.is}))
			g.Expect(p.Notes).To(ContainElement(ContainSubstring(c.noted)))
		})
	}
}

func TestWhatLeavesWithoutARelease(t *testing.T) {
	for name, c := range map[string]struct {
		versions, stored []string // the last one of versions is stored
		to               string
		leaving          []string
	}{
		"the name says it":                  {[]string{"v1alpha1", "v1"}, []string{"v1"}, "v1alpha1", []string{"v1"}},
		"the flip back has named it last":   {[]string{"v1", "v1alpha1"}, []string{"v1", "v1alpha1"}, "v1alpha1", []string{"v1"}},
		"storedVersions says what is older": {[]string{"v1", "v2beta1", "v3alpha1"}, []string{"v1", "v2beta1", "v3alpha1"}, "v2beta1", []string{"v3alpha1"}},
		"and does so after the flip":        {[]string{"v1", "v3alpha1", "v2beta1"}, []string{"v1", "v2beta1", "v3alpha1"}, "v2beta1", []string{"v3alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p, err := runbook.Of(backFrom(c.versions, nil, func(o *runbook.Observation) { o.To, o.CRD.Status.StoredVersions = c.to, c.stored }))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Leaving).To(Equal(c.leaving))
		})
	}
}

func TestTheServedVersionIsBesideTheOneThatLeaves(t *testing.T) {
	for title, o := range map[string]runbook.Observation{
		"Serve v1alpha1 again, beside v1": backFrom([]string{"v1", "v1alpha1"}, release("v1alpha1")),
		"Serve v1alpha1 again":            backFrom([]string{"v1alpha1"}, release("v1alpha1")),
	} {
		p, err := runbook.Of(o)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(p.Steps).To(ContainElement(And(HaveField("Name", runbook.Serve), HaveField("Title", title), HaveField("State", runbook.Done))))
	}
}
