package deprecation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// sampleInvalid asks the API server's own code about each sample. A CRD that it cannot use says nothing about its samples.
func sampleInvalid(s *step) (found []Violation) {
	var engine *conversion.Engine
	for _, sample := range s.to.Samples {
		version := sample.of(s.is)
		if version == "" {
			continue
		}
		if v := crds.Version(s.is, version); v == nil || !v.Served {
			found = append(found, Violation{Finding: finding.Finding{
				Place:       sample.Place,
				Why:         fmt.Sprintf("the object is written at %s, which this release does not serve: the API server refuses a copy of it", version),
				Remediation: "write it at " + strings.Join(s.servedNow(), " or "),
			}, Version: version})
			continue
		}
		if engine == nil {
			var err error
			if engine, err = conversion.New(s.is); err != nil {
				return found
			}
		}
		found = append(found, sample.invalid(engine, version)...)
	}
	return found
}

func (s *step) servedNow() (names []string) {
	for _, v := range s.is.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// invalid is one finding for all that is wrong with a sample at a version.
func (s Sample) invalid(engine *conversion.Engine, version string) []Violation {
	reads := engine.Version(version)
	known, err := reads.Coerced(s.Object, true)
	if err != nil {
		return s.warns(version, "the API server refuses it: "+err.Error(), nil)
	}
	var says []string
	var unknown []string
	for _, lost := range crdschema.ChangeOf(s.Object, known).Lost {
		if crdschema.At(s.Object, lost) != nil {
			unknown = append(unknown, lost.String())
		}
	}
	slices.Sort(unknown)
	if len(unknown) > 0 {
		says = append(says, fmt.Sprintf("%s does not have %s, which the API server drops: %s", version, words.Count(len(unknown), "field"), words.Few(unknown, mostNamed)))
	}
	if !s.Fragment {
		if err := reads.Fill(known); err != nil {
			return s.warns(version, err.Error(), nil)
		}
		if problems := conversion.Said(engine.Problems(context.Background(), version, known)); len(problems) > 0 {
			says = append(says, "the API server refuses it: "+words.FewClauses(problems, mostNamed))
		}
	}
	if len(says) == 0 {
		return nil
	}
	return s.warns(version, strings.Join(says, "; "), unknown)
}

func (s Sample) warns(version, why string, fields []string) []Violation {
	return []Violation{{Finding: finding.Finding{
		Place: s.Place, Severity: finding.Warning, Why: why, Remediation: "write it so that `kubectl apply --server-side --validate=strict` takes it",
	}, Version: version, Fields: fields}}
}
