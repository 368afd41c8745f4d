package main

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/deprecation"
	"github.com/moult-dev/moult/policies/finding"
)

// travelled is what the API server says of a step, and the findings about it.
func travelled(t *testing.T, base, head *apiextensionsv1.CustomResourceDefinition) ([]deprecation.Violation, []trip) {
	t.Helper()
	g := NewWithT(t)
	j, err := newJudge(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	was, is := []*apiextensionsv1.CustomResourceDefinition{base}, []*apiextensionsv1.CustomResourceDefinition{head}
	trips, err := j.travel(t.Context(), was, is)
	g.Expect(err).NotTo(HaveOccurred())
	return deprecation.Judge(deprecation.Input{Releases: []deprecation.Release{{Name: "v1.0.0", CRDs: was}, {Name: "v1.1.0", CRDs: is}}, Policy: deprecation.DefaultPolicy()}).Findings, trips
}

func TestTheWayThereAndBack(t *testing.T) {
	for name, c := range map[string]struct {
		folder      string
		change      func(base, head *apiextensionsv1.CustomResourceDefinition)
		there, back string
	}{
		"both ways":                          {folder: "the-storage-version-flips"},
		"the version leaves that was stored": {folder: "the-storage-version-flips-and-the-old-one-is-removed", there: "storedVersions"},
		"the new version is stored": {
			folder: "the-storage-version-flips", back: "storedVersions",
			change: func(base, _ *apiextensionsv1.CustomResourceDefinition) {
				for _, v := range base.Spec.Versions {
					if v.Storage {
						base.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{v}
					}
				}
			},
		},
		"a certificate is still to be filled in": {
			folder: "the-storage-version-flips",
			change: func(base, head *apiextensionsv1.CustomResourceDefinition) {
				for _, crd := range []*apiextensionsv1.CustomResourceDefinition{base, head} {
					crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
						ClientConfig:             &apiextensionsv1.WebhookClientConfig{CABundle: []byte("\n"), Service: &apiextensionsv1.ServiceReference{Namespace: "system", Name: "webhook"}},
						ConversionReviewVersions: []string{"v1"},
					}}
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			base, head := states(t, c.folder)
			if c.change != nil {
				c.change(base, head)
			}
			findings, trips := travelled(t, base, head)
			g.Expect(trips).To(HaveLen(1))
			g.Expect(words(trips[0].there)).To(ContainSubstring(c.there))
			g.Expect(words(trips[0].back)).To(ContainSubstring(c.back))
			g.Expect([]bool{trips[0].there == nil, trips[0].back == nil}).To(Equal([]bool{c.there == "", c.back == ""}))
			g.Expect(misled(findings, trips)).To(BeEmpty())
			if c.there+c.back != "" {
				g.Expect(misled(nil, trips)).To(ConsistOf(MatchError(ContainSubstring("nobody says"))))
			}
		})
	}
}

func TestWhatIsReportedAndNotSoIsFound(t *testing.T) {
	g := NewWithT(t)
	told := func(rule string) []deprecation.Violation {
		return []deprecation.Violation{{Finding: finding.Finding{Rule: rule, CRD: "widgets.example.com"}}}
	}
	fine := []trip{{name: "widgets.example.com"}}
	g.Expect(misled(told(deprecation.UpgradeRefused), fine)).To(ConsistOf(MatchError(ContainSubstring("said to be refused, and the API server accepts it"))))
	g.Expect(misled(told(deprecation.NoWayBack), fine)).To(ConsistOf(MatchError(ContainSubstring("said to be no way back, and the API server accepts it"))))
	g.Expect(misled(nil, []trip{{name: "widgets.example.com", before: errors.New("no")}})).To(HaveLen(1))
}
