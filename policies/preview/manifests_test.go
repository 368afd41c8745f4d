package preview_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/manifests"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/snapshot"
)

// stopsServing is a change after which v1alpha1 is removed and v1beta1 not served.
func stopsServing(converts bool) preview.Delivered {
	base, head := crd("v1alpha1", "v1beta1", "v1"), crd("v1beta1", "v1")
	head.Spec.Versions[0].Served = false
	if converts {
		for _, c := range []*apiextensionsv1.CustomResourceDefinition{base, head} {
			url := "https://webhook.example.com"
			c.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"}, ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url},
			}}
		}
	}
	return preview.Delivered{Name: "one", Base: crds(base), Head: crds(head)}
}

// A cluster gets manifests at all its versions.
func TestAManifestThatAClusterGetsIsNamedForWhatBecomesOfItsVersion(t *testing.T) {
	for name, c := range map[string]struct {
		converts bool
		fix      string
	}{
		"nothing converts":   {false, "`moult rewrite` writes it"},
		"a webhook converts": {true, "write it at the storage version by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := stopsServing(c.converts)
			unit := &delivery.Unit{Name: "apps"}
			for line, at := range []string{"example.com/v1alpha1", "example.com/v1beta1", "example.com/v1", "example.org/v1alpha1"} {
				unit.Objects = append(unit.Objects, object(line+1, map[string]any{"apiVersion": at, "kind": "Widget", "metadata": map[string]any{"name": "rose"}}))
			}
			unit.Objects = append(unit.Objects, object(9, map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Gadget"}))
			d.Head.Cluster = delivery.Cluster{Units: []*delivery.Unit{unit}}
			in := input(d)
			in.Manifests = []manifests.Reference{reference("apps/widget.yaml", 1, "v1alpha1"), reference("apps/widget.yaml", 2, "v1beta1")}
			r := preview.Make(in)
			var found []string
			for _, f := range r.Findings {
				if f.Place.File == "apps/widget.yaml" {
					found = append(found, f.Rule+" "+f.Place.String())
					g.Expect(f.Remediation).To(HavePrefix(c.fix))
				}
			}
			g.Expect(found).To(ConsistOf("AppliedAtRemovedVersion apps/widget.yaml:1", "AppliedAtUnservedVersion apps/widget.yaml:2"))
		})
	}
}

func reference(file string, line int, version string) manifests.Reference {
	return manifests.Reference{
		Place: finding.Place{File: file, Line: line}, GroupKind: manifests.GroupKind{Group: "example.com", Kind: "Widget"},
		Version: version, Namespace: "garden", Name: "rose", Role: manifests.Object,
	}
}

// A file that names a version that leaves fails the next time somebody applies it, and at once where something waits for it.
func TestAFileAtAVersionThatLeavesWeighsWhatWillBecomeOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		reference manifests.Reference
		role      manifests.Role
		hand      string
		applied   func(string) bool
		severity  finding.Severity
		crd       string
		why, fix  string
	}{
		"nobody applies it":           {reference: reference("docs/a.yaml", 1, "v1alpha1"), severity: finding.Warning, why: "Widget garden/rose is still written at v1alpha1, which leaves", fix: "`moult rewrite` writes it"},
		"it is no longer served":      {reference: reference("docs/a.yaml", 1, "v1beta1"), severity: finding.Warning, why: "at v1beta1, which is no longer served", fix: "`moult rewrite` writes it"},
		"somebody may apply it":       {reference: reference("docs/a.yaml", 1, "v1alpha1"), applied: func(file string) bool { return file == "docs/a.yaml" }, severity: finding.Error, why: "which leaves"},
		"somebody applies others":     {reference: reference("docs/a.yaml", 1, "v1alpha1"), applied: func(file string) bool { return file == "docs/b.yaml" }, severity: finding.Warning, why: "which leaves"},
		"it names one, in a patch":    {reference: reference("docs/a.yaml", 1, "v1alpha1"), role: "other", applied: func(string) bool { return true }, severity: finding.Warning, why: "which leaves"},
		"Flux waits for it":           {reference: reference("docs/a.yaml", 1, "v1alpha1"), role: manifests.HealthCheck, severity: finding.Error, why: "Flux waits for Widget garden/rose at v1alpha1, which leaves, so that it never gets ready"},
		"a person has to do it":       {reference: reference("docs/a.yaml", 1, "v1alpha1"), hand: "it is a template", severity: finding.Warning, fix: "a person has to change it: it is a template"},
		"it is of a CRD of no change": {reference: manifests.Reference{GroupKind: manifests.GroupKind{Group: "example.org", Kind: "Widget"}, Version: "v1alpha1"}, severity: finding.Warning, crd: "none", why: "which leaves"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			in := input(stopsServing(false))
			c.reference.Why = c.hand
			if c.role != "" {
				c.reference.Role = c.role
			}
			in.Manifests, in.MayBeApplied = []manifests.Reference{c.reference}, c.applied
			r := preview.Make(in)
			if c.crd == "" {
				c.crd = widgets
			} else {
				c.crd = ""
			}
			g.Expect(r.Findings).To(ContainElement(And(HaveField("Rule", preview.WrittenAtRemovedVersion), HaveField("Severity", c.severity), HaveField("CRD", c.crd),
				HaveField("Why", ContainSubstring(c.why)), HaveField("Remediation", ContainSubstring(c.fix)))))
			g.Expect(r.Manifests).To(HaveExactElements(And(HaveField("Rewritable", c.hand == ""), HaveField("CRD", c.crd))))
		})
	}
}

// Clients of a version that is no longer served fail, whether objects are stored at it or not.
func TestClientsOfAVersionThatIsNoLongerServedAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		used string
		want int
	}{
		"they use it":          {"v1beta1", 1},
		"they use what stays":  {"v1", 0},
		"they use what leaves": {"v1alpha1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d := stopsServing(false)
			d.Snapshot = stored([]string{"v1"}, "v1alpha1", "v1beta1", "v1")
			d.Snapshot.CRDs[0].Requests = []snapshot.Requests{{Version: c.used, Counts: map[string]int64{"LIST": 1}}}
			var found []finding.Finding
			for _, f := range preview.Make(input(d)).Findings {
				if f.Rule == preview.UsedAtUnservedVersion {
					found = append(found, f)
				}
			}
			g.Expect(found).To(HaveLen(c.want))
			for _, f := range found {
				g.Expect(f).To(And(HaveField("CRD", widgets), HaveField("Why", HaveSuffix("; that fails once the version is not served"))))
			}
		})
	}
}
