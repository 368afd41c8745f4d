package deprecation

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

func shown(seen string, about ...any) Criterion {
	return Criterion{State: Shown, Seen: fmt.Sprintf(seen, about...)}
}

func notShown(seen string, about ...any) Criterion {
	return Criterion{State: NotShown, Seen: fmt.Sprintf(seen, about...)}
}

func notKnown(seen string, about ...any) Criterion {
	return Criterion{State: NotKnown, Seen: fmt.Sprintf(seen, about...)}
}

func servedBeside(p *promotion) Criterion {
	was := crds.Version(p.crd, p.was.Name)
	switch {
	case !p.is.Served:
		return notShown("%s does not serve %s", p.newest.Name, p.Version)
	case was == nil || !was.Served:
		return notShown("%s does not serve %s any more", p.newest.Name, p.was.Name)
	default:
		return shown("%s serves %s and %s", p.newest.Name, p.was.Name, p.Version)
	}
}

// first is the place of the first release in which the CRD is so; -1 if there is none.
func (p *promotion) first(is func(r Release, crd *definition) bool) int {
	return slices.IndexFunc(p.Releases, func(r Release) bool {
		crd := r.crd(p.crd.Name)
		return crd != nil && is(r, crd)
	})
}

func (p *promotion) serves(crd *definition, versions ...string) bool {
	return !slices.ContainsFunc(versions, func(name string) bool {
		v := crds.Version(crd, name)
		return v == nil || !v.Served
	})
}

func servedBeforeStored(p *promotion) Criterion {
	both := p.first(func(r Release, crd *definition) bool { return !r.Unreleased && p.serves(crd, p.was.Name, p.Version) })
	stored := p.first(func(_ Release, crd *definition) bool { return crds.StorageVersion(crd) == p.Version })
	switch {
	case stored == 0 && p.Earlier:
		return notKnown("%s, the first release that was read, stores at %s", p.Releases[0].Name, p.Version)
	case both < 0:
		return notShown("no release serves %s and %s", p.was.Name, p.Version)
	case stored >= 0 && stored <= both:
		return notShown("%s stores at %s, and no release before served both", p.Releases[stored].Name, p.Version)
	case stored < 0:
		return shown("%s serves both, and none stores at %s yet", p.Releases[both].Name, p.Version)
	default:
		return shown("%s serves both, and %s stores at %s", p.Releases[both].Name, p.Releases[stored].Name, p.Version)
	}
}

func unchanged(p *promotion) Criterion {
	since := p.first(func(r Release, crd *definition) bool { return !r.Unreleased && p.serves(crd, p.Version) })
	if since < 0 {
		return notShown("no release serves it yet")
	}
	var fields []string
	last := p.Releases[since].crd(p.crd.Name)
	for _, r := range p.Releases[since+1:] {
		crd := r.crd(p.crd.Name)
		if crd == nil {
			continue
		}
		for _, c := range crddiff.Compare(last, crd, p.LabelKey).Changes {
			if c.Version == p.Version && c.Against == "" && c.Field != "" && c.Severity == finding.Error {
				fields = append(fields, fmt.Sprintf("%s in %s (%s)", c.Field, r.Name, c.Rule))
			}
		}
		last = crd
	}
	if len(fields) > 0 {
		return notShown("%s since %s: %s", words.Count(len(fields), "incompatible change"), p.Releases[since].Name, words.Few(fields, mostNamed))
	}
	return shown("nothing incompatible since %s", p.Releases[since].Name)
}

func noFieldMissing(p *promotion) Criterion {
	if crds.HasWebhook(p.crd) {
		return shown("a webhook converts; whether it keeps everything is for the tests of round trips to show")
	}
	if !crds.Has(p.crd, p.was.Name) {
		return notShown("%s does not have %s any more, so that nothing can be compared", p.newest.Name, p.was.Name)
	}
	flipped := p.crd.DeepCopy()
	for i := range flipped.Spec.Versions {
		flipped.Spec.Versions[i].Storage = flipped.Spec.Versions[i].Name == p.Version
	}
	finder, err := crdschema.Of(flipped)
	if err != nil {
		return notKnown("the schema cannot be used: %v", err)
	}
	if lacking := finder.Lacking(p.was.Name); len(lacking) > 0 {
		return notShown("%s lacks %s of %s, and nothing converts: %s", p.Version, words.Count(len(lacking), "field"), p.was.Name, words.Few(lacking, mostNamed))
	}
	return shown("%s has all fields of %s", p.Version, p.was.Name)
}

func roundTripsTested(p *promotion) Criterion {
	if p.Files == nil {
		return notKnown("the files of the release are not known")
	}
	name := fmt.Sprintf("%s.%s.%s.", p.crd.Spec.Group, p.was.Name, p.crd.Spec.Names.Kind)
	for _, file := range p.Files {
		if strings.HasPrefix(path.Base(path.Dir(file)), "release-") && strings.HasPrefix(path.Base(file), name) {
			return shown("%s is a fixture at %s", file, p.was.Name)
		}
	}
	return notShown("there is no fixture release-*/%syaml; `moult test record` writes some", name)
}

// unripe is how the description of a field says that it may go.
var unripe = regexp.MustCompile(`(?i)\balpha\b|\bexperimental\b|\bfeature[- ]?gates?\b`)

func noAlphaFields(p *promotion) Criterion {
	described, fields := false, []string{}
	if p.is.Schema != nil {
		for at, s := range crddiff.Fields(p.is.Schema.OpenAPIV3Schema) {
			described = described || s.Description != ""
			if unripe.MatchString(s.Description) {
				fields = append(fields, at)
			}
		}
	}
	slices.Sort(fields)
	switch {
	case len(fields) > 0 && levelOf(p.Version) > alpha:
		return notShown("%s with alpha, experimental or feature gate in the description: %s", words.Count(len(fields), "field"), words.Few(fields, mostNamed))
	case !described:
		return notKnown("no field has a description")
	default:
		return shown("no description has alpha, experimental or feature gate")
	}
}

func statusSubresource(p *promotion) Criterion {
	has := p.is.Subresources != nil && p.is.Subresources.Status != nil
	inSchema := false
	if p.is.Schema != nil && p.is.Schema.OpenAPIV3Schema != nil {
		_, inSchema = p.is.Schema.OpenAPIV3Schema.Properties["status"]
	}
	switch {
	case has:
		return shown("%s has it", p.Version)
	case inSchema:
		return notShown("%s has a status that users write together with spec", p.Version)
	default:
		return shown("%s has no status", p.Version)
	}
}

func printerColumns(p *promotion) Criterion {
	var missing []string
	for _, was := range p.was.AdditionalPrinterColumns {
		if !slices.ContainsFunc(p.is.AdditionalPrinterColumns, func(is apiextensionsv1.CustomResourceColumnDefinition) bool { return is.Name == was.Name }) {
			missing = append(missing, was.Name)
		}
	}
	if len(missing) > 0 {
		return notShown("%s lacks %s", p.Version, words.Few(missing, mostNamed))
	}
	return shown("%s has %s, and %s has %s", p.Version, words.Count(len(p.is.AdditionalPrinterColumns), "column"), p.was.Name, words.Count(len(p.was.AdditionalPrinterColumns), "column"))
}

func samplesAtIt(p *promotion) Criterion {
	if p.Files == nil {
		return notKnown("the files of the release are not known")
	}
	at := map[string][]string{}
	for _, sample := range p.newest.Samples {
		version := sample.of(p.crd)
		at[version] = append(at[version], sample.Place.String())
	}
	switch {
	case len(at[p.Version]) == 0:
		return notShown("no sample or document has an object at %s", p.Version)
	case len(at[p.was.Name]) > 0:
		return notShown("%s still at %s: %s", words.Count(len(at[p.was.Name]), "object"), p.was.Name, words.Few(at[p.was.Name], mostNamed))
	default:
		return shown("%s", words.Few(at[p.Version], mostNamed))
	}
}

func olderDeprecated(p *promotion) Criterion {
	was := crds.Version(p.crd, p.was.Name)
	switch {
	case was == nil:
		return notShown("%s does not have %s any more", p.newest.Name, p.was.Name)
	case !was.Deprecated:
		return notShown("%s is not deprecated, so no client is warned", p.was.Name)
	case was.DeprecationWarning != nil:
		return shown("clients at %s are warned: %s", p.was.Name, *was.DeprecationWarning)
	default:
		return shown("clients at %s are warned in the API server's own words", p.was.Name)
	}
}

func rehearsed(*promotion) Criterion {
	return notKnown("the objects are in clusters")
}

func backedUp(*promotion) Criterion {
	return notKnown("it is made in each cluster, shortly before")
}
