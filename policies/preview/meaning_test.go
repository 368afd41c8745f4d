package preview_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
)

// What keeps a change from being safe comes first: a person who reads no further must not read that it is safe.
func TestAWarningComesBeforeWhatIsSafe(t *testing.T) {
	for name, c := range map[string]struct {
		maxAge  time.Duration
		served  bool
		reason  string
		because string
	}{
		"the snapshot is old":                  {maxAge: time.Minute, reason: snapshot.KindOutdated, because: "the snapshot of one is 1h0m0s old; but for that, "},
		"and the version is still served":      {maxAge: time.Minute, served: true, reason: snapshot.KindOutdated, because: "the snapshot of one is 1h0m0s old; but for that, "},
		"the version is still served, no more": {served: true, because: "v1alpha1 is still served by the CRD widgets.example.com, so clients may be using it; but for that, "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := proved("v1alpha1", "v1")
			s.CRDs[0].Versions[0].Served = c.served
			s.CRDs[0].Conditions[1].Message = v1alpha1.Message(1, "every object is proved to be stored at v1: 3 of 3 objects, 0 failed")
			in := input(preview.Delivered{Name: "one", Base: crds(crd("v1alpha1", "v1")), Head: crds(crd("v1")), Snapshot: s})
			in.MaxAge = c.maxAge
			r := preview.Make(in)
			got := r.CRDs[0].Clusters[0]
			g.Expect(got.Verdict).To(Equal(preview.Warned))
			g.Expect(got.Sentence).To(HavePrefix(c.because))
			g.Expect(r.Sentence).To(ContainSubstring(": " + c.because))
			if c.reason != "" {
				g.Expect(got.Reason).To(Equal(c.reason))
			}
		})
	}
}

// A CRD that is new in Git need not be new in the cluster, and then there are objects that it was not compared with.
func TestACRDThatTheClusterHadBeforeGitIsNotCalledSafe(t *testing.T) {
	empty, absent := stored([]string{"v1"}, "v1"), stored([]string{"v1"}, "v1")
	empty.CRDs[0].Objects.Count, absent.CRDs = 0, nil
	for name, c := range map[string]struct {
		snapshot *snapshot.Snapshot
		want     preview.Verdict
		reason   string
	}{
		"it has the CRD":                    {stored([]string{"v1"}, "v1"), preview.Warned, preview.ReasonAdopted},
		"it has the CRD, and no object":     {empty, preview.Safe, preview.ReasonNew},
		"it does not have the CRD":          {absent, preview.Safe, preview.ReasonNew},
		"it has a version that Git has not": {stored([]string{"v1"}, "v1alpha1", "v1"), preview.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := preview.Make(input(preview.Delivered{Name: "one", Head: crds(crd("v1")), Snapshot: c.snapshot}))
			got := r.CRDs[0].Clusters[0]
			g.Expect(got.Verdict).To(Equal(c.want), "%+v", got)
			if c.reason != "" {
				g.Expect(got.Reason).To(Equal(c.reason))
			}
		})
	}
}

// An operator's repository says of no cluster what it has; its next kind begins there.
func TestAKindThatBeginsInAnOperatorsRepositoryIsSafe(t *testing.T) {
	gadgets := func(group string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
		c := crd(versions...)
		c.Spec.Group, c.Name = group, "gadgets."+group
		c.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"}
		return c
	}
	for name, c := range map[string]struct {
		added     *apiextensionsv1.CustomResourceDefinition
		inCluster bool
		known     []string
		want      preview.Verdict
	}{
		"one version, of a group that is there": {gadgets("example.com", "v1alpha1"), false, nil, preview.Safe},
		"of a cluster's manifests":              {gadgets("example.com", "v1alpha1"), true, nil, preview.Unknown},
		"two versions: it has a past":           {gadgets("example.com", "v1alpha1", "v1"), false, nil, preview.Unknown},
		"of another group":                      {gadgets("example.org", "v1alpha1"), false, nil, preview.Unknown},
		"that another folder had":               {gadgets("example.com", "v1alpha1"), false, []string{"gadgets.example.com"}, preview.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			d := preview.Delivered{Name: "all", NoCluster: !c.inCluster, KnownBefore: c.known, Base: crds(crd("v1")), Head: crds(crd("v1"), c.added)}
			NewWithT(t).Expect(preview.Make(input(d)).Verdict).To(Equal(c.want))
		})
	}
}
