package deprecation

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/moult-dev/moult/policies/finding"
)

type definition = apiextensionsv1.CustomResourceDefinition

// Release is what a project gave its users at one time, or is about to.
type Release struct {
	// Name is what the project calls it, for example v1.4.0.
	Name string
	// When is the day of the release; zero if it is not known.
	When time.Time
	// Unreleased is a state that no user has yet, so that it can still be fixed.
	Unreleased bool
	CRDs       []*definition
	// Places are where the CRDs are written, by their names.
	Places map[string]finding.Place
	// Copies are the same CRDs at other places, which other users install from. Only those of the newest release matter.
	Copies []Copy
	// Samples are manifests that users copy. Only those of the newest release matter.
	Samples []Sample
	// Charts are those that install CRDs and an image of another release. Only those of the newest release matter.
	Charts []Chart
}

// Chart installs CRDs, with a program that may be older.
type Chart struct {
	// Place is where it says which image it installs.
	Place finding.Place
	CRDs  []Copy
	// Image is the release of the image, with its CRDs.
	Image Release
}

// Sample is an object in a sample or a document.
type Sample struct {
	Place  finding.Place
	Object map[string]any
	// Fragment: it does not claim to be whole, as one with placeholders, so only its version and its fields' names are looked at.
	Fragment bool
}

// of is the version of a CRD that the sample is written at; empty if it is none of its objects.
func (s Sample) of(crd *definition) string {
	apiVersion, _ := s.Object["apiVersion"].(string)
	group, version, _ := strings.Cut(apiVersion, "/")
	if kind, _ := s.Object["kind"].(string); group != crd.Spec.Group || kind != crd.Spec.Names.Kind {
		return ""
	}
	return version
}

// Copy is a CRD that is written once more.
type Copy struct {
	CRD   *definition
	Place finding.Place
}

// crd finds one by its name; nil if there is none.
func (r Release) crd(name string) *definition {
	i := slices.IndexFunc(r.CRDs, func(crd *definition) bool { return crd.Name == name })
	if i < 0 {
		return nil
	}
	return r.CRDs[i]
}

var number = regexp.MustCompile(`(?:^|[/_-])v?\d+\.\d+.*$`)

// NumberOf is the semantic version with which the name of a release ends, as in v1.4.0, 1.4 and charts/widgets-1.4.0-rc.1; nil
// if there is none.
func NumberOf(name string) *semver.Version {
	parsed, err := semver.NewVersion(strings.TrimLeft(number.FindString(name), "/_-"))
	if err != nil {
		return nil
	}
	return parsed
}
