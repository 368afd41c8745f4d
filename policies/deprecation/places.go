package deprecation

import (
	"fmt"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// placesDiffer holds each copy against the place that the releases are judged by. The others are not compared with each other.
func placesDiffer(s *step) (found []Violation) {
	for _, c := range s.to.Copies {
		if c.CRD.Name != s.name {
			continue
		}
		if differs := differences(crddiff.Compare(s.is, c.CRD, s.LabelKey)); len(differs) > 0 {
			found = append(found, Violation{Finding: finding.Finding{
				Place:       c.Place,
				Why:         fmt.Sprintf("it is not the CRD of %s: it %s; what a user gets depends on where it is installed from", s.place(), strings.Join(differs, ", ")),
				Remediation: "write both from one source, for example in `make manifests`, and have CI fail if they differ",
			}})
		}
	}
	return found
}

// differences are what a copy has otherwise, each as what it does. What the templates of a chart fill in, and what no object
// notices, is no difference.
func differences(d crddiff.Diff) (all []string) {
	var fields, others []string
	for _, c := range d.Changes {
		switch said, known := copySays[c.Rule]; {
		case c.Against != "" || known && said == "":
		case known:
			all = append(all, strings.TrimSpace(fmt.Sprintf(said, c.Version)))
		case c.Field != "":
			fields = append(fields, c.Version+" "+c.Field)
		default:
			others = append(others, strings.TrimSpace(c.Version+" "+string(c.Rule)))
		}
	}
	if d.Flips() {
		all = append(all, fmt.Sprintf("stores at %s and not at %s", d.Head.Storage, d.Base.Storage))
	}
	if fields = words.Distinct(fields); len(fields) > 0 {
		all = append(all, fmt.Sprintf("has another schema at %s: %s", words.Count(len(fields), "field"), words.Few(fields, mostNamed)))
	}
	if others = words.Distinct(others); len(others) > 0 {
		all = append(all, "has "+words.Few(others, mostNamed))
	}
	return all
}

// copySays is what a change means for a copy; empty if nothing.
var copySays = map[crddiff.Rule]string{
	crddiff.VersionAdded:              "has %s more",
	crddiff.VersionRemoved:            "lacks %s",
	crddiff.ServedOn:                  "serves %s",
	crddiff.ServedOff:                 "does not serve %s",
	crddiff.VersionDeprecated:         "calls %s deprecated",
	crddiff.VersionUndeprecated:       "does not call %s deprecated",
	crddiff.ConversionWebhookAdded:    "converts with a webhook%s",
	crddiff.ConversionWebhookRemoved:  "converts without a webhook%s",
	crddiff.StorageFlipped:            "",
	crddiff.StorageFlippedAndRemoved:  "",
	crddiff.ConversionWebhookMoved:    "",
	crddiff.ConversionCAChanged:       "",
	crddiff.ReviewVersionsNarrowed:    "",
	crddiff.ReviewVersionsWidened:     "",
	crddiff.OptInLabelGained:          "",
	crddiff.OptInLabelLost:            "",
	crddiff.DeprecationWarningChanged: "",
	crddiff.DescriptionsChanged:       "",
	crddiff.ValidationReworded:        "",
}

// chartAheadOfImage: a program that does not know a version does not convert it, and may not even start. A CRD that the release of
// the image does not have at all is not judged: it may have been elsewhere.
func chartAheadOfImage(s *step) (found []Violation) {
	for _, chart := range s.to.Charts {
		known := chart.Image.crd(s.name)
		if known == nil {
			continue
		}
		for _, c := range chart.CRDs {
			if c.CRD.Name != s.name {
				continue
			}
			for _, v := range c.CRD.Spec.Versions {
				if !v.Served && !v.Storage || crds.Has(known, v.Name) {
					continue
				}
				does := "serves"
				if v.Storage {
					does = "stores at"
				}
				found = append(found, Violation{Finding: finding.Finding{
					Place:       chart.Place,
					Why:         fmt.Sprintf("the chart installs %s, which %s %s, and the image of %s, which does not know that version", c.Place, does, v.Name, chart.Image.Name),
					Remediation: "have the chart install the image of the release that its CRDs are of",
				}, Version: v.Name})
			}
		}
	}
	return found
}
