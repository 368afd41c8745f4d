package runbook

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/bridge"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// Rehearsal is a CRD that objects are to be rehearsed with.
type Rehearsal struct {
	CRD *apiextensionsv1.CustomResourceDefinition
	// ReadAt are the versions to read them at. Default: all that they may be stored at, but for the storage version of the CRD.
	ReadAt []string
	// Report is where the answer belongs.
	Report **conversion.Report
}

// Rehearsals are those of a way back: with what the flip makes of the CRD, and with the release's schema, if that is another one.
// What only a conversion webhook knows is left out.
func Rehearsals(o Observation) (all []Rehearsal, err error) {
	flipped, err := Returned(o)
	if err != nil {
		return nil, err
	}
	if !o.flipped() && !crds.HasWebhook(flipped) {
		all = append(all, Rehearsal{CRD: flipped, Report: &o.Return.Rehearsed})
	}
	if crd, at := o.released(); crd != nil {
		all = append(all, Rehearsal{CRD: crd, ReadAt: at, Report: &o.Return.Released})
	}
	return all, nil
}

// Returned is the CRD that objects are stored by once the flip back is done: the cluster's, or the one between if the cluster's
// does not have the version. It is an error if there is no way back to To.
func Returned(o Observation) (*apiextensionsv1.CustomResourceDefinition, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if crds.Has(o.CRD, o.To) {
		return o.storing(o.CRD), nil
	}
	made, err := bridge.Beside(o.CRD, o.Return.Release, o.LabelKey)
	if err != nil {
		return nil, err
	}
	return o.storing(made.CRD), nil
}

// storing is a CRD that stores at To.
func (o Observation) storing(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == o.To
	}
	return crd
}

// released is the CRD with the release's schema of To, and where objects are read. It is nil if the flip brings that schema. With
// a conversion webhook they are read at To, which shows what its answers would lose, or that there are none.
func (o Observation) released() (crd *apiextensionsv1.CustomResourceDefinition, readAt []string) {
	if !crds.Has(o.CRD, o.To) {
		return nil, nil
	}
	crd, release := o.storing(o.CRD), o.Return.Release
	differs := release != nil && !bridge.SameSchema(o.CRD, release, o.To)
	if differs {
		crds.Version(crd, o.To).Schema = crds.Version(release, o.To).Schema.DeepCopy()
	}
	crd.Spec.Conversion = nil
	switch {
	case o.flipped() && differs:
		return crd, []string{o.To}
	case o.flipped(), !differs && !crds.HasWebhook(o.CRD):
		return nil, nil
	case !o.converted():
		return crd, crds.MayBeStoredAt(o.CRD, o.LabelKey)
	case o.served(o.To):
		return crd, []string{o.To}
	}
	return nil, nil
}

// converted reports whether a webhook converts, now or in the release.
func (o Observation) converted() bool {
	return crds.HasWebhook(o.CRD) || o.Return.Release != nil && crds.HasWebhook(o.Return.Release)
}

// loss is what objects would lose, or why they would be refused.
type loss struct {
	say, where string
	conversion.Group
}

func (l loss) String() string {
	text := fmt.Sprintf("%s: %s of %s", l.say, l.What, words.Count(l.Objects, "object"))
	if len(l.Examples) > 0 {
		text += ", for example " + strings.Join(l.Examples, ", ")
	}
	return text + l.where
}

func (l loss) isOf(other loss) bool { return l.say == other.say && l.What == other.What }

// lossesOf are those of a report, each once. What the CRD lets go is none: it is said to be.
func (o Observation) lossesOf(r *conversion.Report) (losses, let []loss) {
	if r == nil {
		return nil, nil
	}
	add := func(to *[]loss, say string, g conversion.Group) {
		l := loss{say: say, Group: g}
		switch at := slices.IndexFunc(*to, l.isOf); {
		case at < 0:
			*to = append(*to, l)
		case (*to)[at].Objects < g.Objects: // read at another version
			(*to)[at] = l
		}
	}
	allowed := o.allowed()
	for _, of := range r.CRDs {
		for _, all := range []struct {
			say    string
			groups []conversion.Group
			fields bool
		}{{"lost", of.Lost, true}, {"changed", of.Changed, true}, {"not converted", of.Failed, false}, {"refused", of.Refused, false}} {
			for _, g := range all.groups {
				switch {
				case all.fields && !g.Matters():
				case all.fields && crdschema.Allows(allowed, g.What):
					add(&let, "let go", g)
				default:
					add(&losses, all.say, g)
				}
			}
		}
	}
	return losses, let
}

// allowed are the fields that are let go, by the CRD or by that of the release.
func (o Observation) allowed() []string {
	allowed := crdschema.Patterns(o.CRD.Annotations[v1alpha1.AllowFieldLossAnnotation])
	if o.Return.Release != nil {
		allowed = append(allowed, crdschema.Patterns(o.Return.Release.Annotations[v1alpha1.AllowFieldLossAnnotation])...)
	}
	return allowed
}

// losses are those of both rehearsals. One of a single rehearsal says of which, if both were made.
func (o Observation) losses() (losses, let []loss) {
	flip, letByFlip := o.lossesOf(o.byFlip())
	release, letByRelease := o.lossesOf(o.Return.Released)
	for _, l := range flip {
		if o.Return.Released != nil && !slices.ContainsFunc(release, l.isOf) {
			l.where = fmt.Sprintf(" (by the schema of %s that the cluster has)", o.To)
		}
		losses = append(losses, l)
	}
	for _, l := range release {
		if slices.ContainsFunc(flip, l.isOf) {
			continue
		}
		if o.Return.Release != nil {
			l.where = fmt.Sprintf(" (by the schema of %s in %s)", o.To, o.Return.Place)
		}
		losses = append(losses, l)
	}
	let = letByFlip
	for _, l := range letByRelease {
		if !slices.ContainsFunc(let, l.isOf) {
			let = append(let, l)
		}
	}
	return losses, let
}

// spared are the losses by the cluster's schema of To that the release's would not bring. That is known if no webhook converts.
func (o Observation) spared() []loss {
	if o.Return.Released == nil || o.flipped() || o.converted() {
		return nil
	}
	flip, _ := o.lossesOf(o.byFlip())
	release, _ := o.lossesOf(o.Return.Released)
	return slices.DeleteFunc(flip, func(l loss) bool { return slices.ContainsFunc(release, l.isOf) })
}

// byFlip is what the flip makes of the objects. It is not asked any more when it is done.
func (o Observation) byFlip() *conversion.Report {
	if o.flipped() {
		return nil
	}
	return o.Return.Rehearsed
}

// lacking are the fields of To that only the release's schema has. They are asked for if the flip was not rehearsed.
func (o Observation) lacking() []string {
	if o.Return.Release == nil || !crds.Has(o.CRD, o.To) || o.flipped() || o.Return.Rehearsed != nil {
		return nil
	}
	both := o.CRD.DeepCopy()
	is, was := *crds.Version(o.CRD, o.To), *crds.Version(o.Return.Release, o.To)
	is.Storage, was.Storage, was.Name = true, false, was.Name+"-released"
	both.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{is, was}
	finder, err := crdschema.Of(both)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(finder.Lacking(was.Name), crdschema.InStatus)
}

// reports are the rehearsals that were made.
func (o Observation) reports() []*conversion.Report {
	return slices.DeleteFunc([]*conversion.Report{o.byFlip(), o.Return.Released}, func(r *conversion.Report) bool { return r == nil })
}

// unknown is what could not be found out, and what is to be done for that.
func (o Observation) unknown() (all, todo []string) {
	for _, r := range o.reports() {
		for _, of := range r.CRDs {
			for _, g := range of.Unknown {
				all = append(all, "not known: "+g.What)
				switch {
				case of.ReadAt != "" && !o.served(of.ReadAt):
					todo = append(todo, "serve "+of.ReadAt+" (served: true)")
				case crds.HasWebhook(o.CRD):
					todo = append(todo, "see that the conversion webhook answers")
				default:
					todo = append(todo, "see to it that all objects can be read")
				}
			}
		}
	}
	return words.Distinct(all), words.Distinct(todo)
}

// found is what the rehearsals have shown, for a sentence: how many objects, and what becomes of them.
func (o Observation) found() string {
	objects := int64(0)
	for _, r := range o.reports() {
		for _, of := range r.CRDs { // the same objects, read at several versions
			objects = max(objects, of.Objects)
		}
	}
	losses, let := o.losses()
	unknown, _ := o.unknown()
	said := slices.Concat(words.Of(losses, loss.String), unknown, words.Of(let, loss.String))
	text := words.Count(objects, "object")
	if len(said) > 0 {
		text += ": " + words.FewClauses(said, mostNamed)
	}
	return text
}

// kept reports whether all was rehearsed, and nothing would be lost or refused.
func (o Observation) kept() bool {
	all := o.reports()
	return (o.flipped() || o.Return.Rehearsed != nil) && len(all) > 0 &&
		!slices.ContainsFunc(all, func(r *conversion.Report) bool { return r.Verdict != conversion.Kept })
}

// beforehand says what has to be done before a commit that would lose something; empty if there is nothing to do.
func (o Observation) beforehand() (first []string) {
	if len(o.spared()) > 0 {
		first = append(first, fmt.Sprintf("bring the schema of %s in %s, with the CRD between of the step before", o.To, o.Return.Place))
	}
	if _, todo := o.unknown(); len(todo) > 0 {
		first = append(first, strings.Join(todo, ", ")+", and plan again, so that it is known what would be lost")
	}
	if fields := o.letGo(); len(fields) > 0 {
		first = append(first, fmt.Sprintf("move the values, or let them go when a backup has them: metadata.annotations: {%s: %q}", v1alpha1.AllowFieldLossAnnotation, strings.Join(fields, ",")))
	}
	return first
}

// letGo are the fields that the CRD could let go: those that are lost by each schema.
func (o Observation) letGo() (fields []string) {
	losses, _ := o.losses()
	spared := o.spared()
	for _, l := range losses {
		if l.say == "lost" && !slices.ContainsFunc(spared, l.isOf) {
			fields = append(fields, l.What)
		}
	}
	return words.Distinct(fields)
}
