package survivors

import (
	"strings"
	"testing"
	"testing/fstest"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func resource(name string) Resource {
	return Resource{GroupResource: schema.ParseGroupResource(name)}
}

// surveyed is a survey in which resources were looked at, and these references made.
func surveyed(most int, looked []string, references ...Reference) *Survey {
	s := NewSurvey(NewWalker(Embedded(), []Target{targets[""]}), most)
	for i, name := range looked {
		b := s.NewBatch()
		if i == 0 {
			s.Add(b, references)
		}
		s.Covered(resource(name), 10, b)
	}
	return s
}

func found(effect Effect, state State) Reference {
	return Reference{Place: "owner-references", State: state, Effect: effect, CRD: "widgets.example.com", Version: "v1alpha1", Object: ObjectRef{Resource: "pods", Name: "x"}}
}

func TestTheVerdict(t *testing.T) {
	for name, c := range map[string]struct {
		references []Reference
		after      func(*Survey)
		want       Verdict
	}{
		"nothing is found":                              {want: NoneFound},
		"what is cosmetic does not matter":              {references: []Reference{found(Cosmetic, Found)}, want: NoneFound},
		"nor does what is possible":                     {references: []Reference{{State: Possible}, found(LosesData, Possible)}, want: NoneFound},
		"something is found":                            {references: []Reference{found(BreaksAtNextWrite, Found)}, want: StillNamed},
		"a payload is not known":                        {references: []Reference{found(BreaksAtUse, Unknown)}, want: NotKnown},
		"a cosmetic one does not matter":                {references: []Reference{found(Cosmetic, Unknown)}, want: NoneFound},
		"what is found is found, whatever is not known": {references: []Reference{found(BreaksAtUse, Unknown), found(LosesData, Found)}, want: StillNamed},
		"a resource may not be listed": {after: func(s *Survey) {
			s.NotLooked(resource("leases.coordination.k8s.io"), "it needs list", s.NewBatch())
		}, want: NotKnown},
		"a resource was left out": {after: func(s *Survey) { s.LeftOut(resource("secrets"), "--secrets") }, want: NoneFound},
		"a group does not answer": {after: func(s *Survey) { s.Unseen("example.org", "it does not answer") }, want: NotKnown},
	} {
		t.Run(name, func(t *testing.T) {
			s := surveyed(0, []string{"pods"}, c.references...)
			if c.after != nil {
				c.after(s)
			}
			NewWithT(t).Expect(s.Report().Verdict).To(Equal(c.want))
		})
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	g := NewWithT(t)
	var all []Reference
	for _, effect := range []Effect{BreaksAtUse, Cosmetic, LosesData, StopsSilently, BreaksAtNextWrite, BreaksAtRemoval} {
		all = append(all, found(effect, Found))
	}
	r := surveyed(0, []string{"pods"}, all...).Report()
	var effects []Effect
	for _, group := range r.Found {
		effects = append(effects, group.Effect)
		g.Expect(group.Title).To(Equal("ownerReferences"))
		g.Expect(group.Evidence).NotTo(BeEmpty())
		g.Expect(group.Movable).To(BeFalse(), "nobody moves what is no copy")
	}
	copied := Reference{Place: "kubevirt-vm-revisions", State: Found, Effect: LosesData, Object: ObjectRef{Resource: "controllerrevisions.apps", Name: "x"}}
	w := NewSurvey(NewWalker(Embedded(), []Target{targets["instancetypes"]}), 0)
	b := w.NewBatch()
	w.Add(b, []Reference{copied})
	w.Covered(resource("controllerrevisions.apps"), 1, b)
	g.Expect(w.Report().Found).To(HaveExactElements(And(HaveField("Movable", true), HaveField("Stash", true))))
	g.Expect(effects).To(Equal(Effects))
}

func TestAllAreCountedAndSomeAreKept(t *testing.T) {
	g := NewWithT(t)
	var all []Reference
	for range 7 {
		all = append(all, found(LosesData, Found))
	}
	for most, kept := range map[int]int{0: 7, 3: 3, 10: 7} {
		group := surveyed(most, []string{"pods"}, all...).Report().Found[0]
		g.Expect(group.Count).To(BeEquivalentTo(7))
		g.Expect(group.References).To(HaveLen(kept))
	}
}

// looked is what became of a place.
func looked(g *WithT, r Report, place string) Coverage {
	for _, l := range r.Places {
		if l.Place == place {
			return l
		}
	}
	g.Expect(place).To(BeEmpty(), "the place is not told of")
	return Coverage{}
}

func TestItReportsWhichPlacesWereLookedAt(t *testing.T) {
	g := NewWithT(t)
	s := surveyed(0, []string{"pods", "configmaps", "applications.argoproj.io"})
	s.LeftOut(resource("secrets"), "--secrets")
	s.NotLooked(resource("apiservices.apiregistration.k8s.io"), "it needs list", s.NewBatch())
	s.Unseen("keda.sh", "it does not answer")
	r := s.Report()
	g.Expect(r.Places).To(HaveLen(len(s.walker.Places())))
	g.Expect(looked(g, r, "owner-references")).To(Equal(Coverage{Place: "owner-references", Effect: LosesData, Outcome: InPart, Objects: 30, Failed: true,
		Not: []string{"secrets", "apiservices.apiregistration.k8s.io", "*.keda.sh"}}))
	g.Expect(looked(g, r, "argocd-applications")).To(HaveField("Outcome", LookedAt))
	g.Expect(looked(g, r, "helm-releases")).To(HaveField("Outcome", NotLookedAt))
	g.Expect(looked(g, r, "api-services")).To(HaveField("Outcome", NotLookedAt))
	g.Expect(looked(g, r, "keda-scale-targets")).To(HaveField("Outcome", NotLookedAt))
	g.Expect(looked(g, r, "velero-backups")).To(HaveField("Outcome", NotThere))
	g.Expect(looked(g, r, "helm-config-maps")).To(HaveField("Outcome", LookedAt))
}

// A place that is cosmetic but for one of its fields matters as that one does.
func TestAPlaceMattersAsTheWorstOfItsFields(t *testing.T) {
	g := NewWithT(t)
	content := strings.NewReplacer("effect: breaksAtUse", "effect: cosmetic", "{path: spec.ref, shape: apiVersion}",
		"{path: spec.ref, shape: apiVersion}, {path: spec.owner, shape: apiVersion, effect: losesData}").Replace(valid)
	places, err := Load(fstest.MapFS{"ours.yaml": {Data: []byte(content)}})
	g.Expect(err).NotTo(HaveOccurred())
	s := NewSurvey(NewWalker(places, []Target{targets[""]}), 0)
	s.NotLooked(ours, "it needs list", s.NewBatch())
	r := s.Report()
	g.Expect(looked(g, r, "ours")).To(HaveField("Effect", LosesData))
	g.Expect(r.Verdict).To(Equal(NotKnown))
	g.Expect(r.Unread()).To(Equal([]string{"ours.example.org"}))
}

// A release has one of two places, whatever its status.
func TestEveryHelmReleaseHasAPlace(t *testing.T) {
	secrets := Resource{GroupResource: schema.GroupResource{Resource: "secrets"}}
	for status, want := range map[string]string{"deployed": "helm-releases", "unknown": "helm-releases", "": "helm-releases", "pending-upgrade": "helm-releases",
		"superseded": "helm-history", "uninstalling": "helm-history"} {
		t.Run(status, func(t *testing.T) {
			e := exampleOf(NewWithT(t), "helm-releases")
			labels := e.Object["metadata"].(map[string]any)["labels"].(map[string]any)
			if labels["status"] = status; status == "" {
				delete(labels, "status")
			}
			got := NewWalker(Embedded(), []Target{targets[""]}).Walk(secrets, e.Object, Whole)
			NewWithT(t).Expect(got).To(And(HaveLen(2), HaveEach(HaveField("Place", want))))
		})
	}
}
