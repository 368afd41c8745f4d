package runbook

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// answered is the step of the rehearsal with what was found.
func (o Observation) answered(s Step) Step {
	switch {
	case len(o.reports()) == 0:
	case o.kept():
		s.State, s.Seen = Done, o.found()+": nothing would be lost, and nothing refused"
	case !o.flipped():
		if o.Rehearsed != nil || o.holds() {
			s.Seen = o.found()
		}
	case o.holds(): // the flip is done, and the CRD of the release is not there yet
		s.State, s.Seen = Held, o.found()
		s.First, s.Commit = o.beforehand(), "then go on to the CRD of "+o.way().Place
	default:
		s.Seen += "; the CRD of " + o.way().Place + " is still to come: " + o.found()
	}
	return s
}

// holds reports whether something would be lost, or is not known.
func (o Observation) holds() bool {
	losses, _ := o.losses()
	unknown, _ := o.unknown()
	return len(losses)+len(unknown) > 0
}

// holding is the flip, which is held while objects would lose what the CRD does not let go, and while that is not known.
func (o Observation) holding(s Step) Step {
	if s.State == Done || !o.holds() {
		return s
	}
	s.State = Held
	if losses, _ := o.losses(); len(losses) > 0 {
		s.Seen += "; at " + o.To + " would be " + words.FewClauses(words.Of(losses, loss.String), mostNamed)
	}
	if unknown, _ := o.unknown(); len(unknown) > 0 {
		s.Seen += "; " + words.FewClauses(unknown, mostNamed)
	}
	s.First = o.beforehand()
	return s
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

// lossesOf are those of a report, each once. What the CRD lets go is none, nor is what the API server lets pass: it is said to be.
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
		for _, g := range of.Ratcheted {
			add(&let, "refused once a write changes it", g)
		}
	}
	return losses, let
}

// allowed are the fields that are let go, by the CRD or by that of the release.
func (o Observation) allowed() []string {
	allowed := crdschema.Patterns(o.CRD.Annotations[v1alpha1.AllowFieldLossAnnotation])
	if o.way().Release != nil {
		allowed = append(allowed, crdschema.Patterns(o.way().Release.Annotations[v1alpha1.AllowFieldLossAnnotation])...)
	}
	return allowed
}

// losses are those of both rehearsals, and what holds nothing up.
func (o Observation) losses() (losses, let []loss) {
	flip, letByFlip := o.lossesOf(o.byFlip())
	release, letByRelease := o.lossesOf(o.way().Released)
	return o.placed(flip, release), o.placed(letByFlip, letByRelease)
}

// placed are those of both. One of a single rehearsal says of which, if both were made.
func (o Observation) placed(flip, release []loss) (all []loss) {
	for _, l := range flip {
		if o.way().Released != nil && !slices.ContainsFunc(release, l.isOf) {
			l.where = fmt.Sprintf(" (by the schema of %s that the cluster has)", o.To)
		}
		all = append(all, l)
	}
	for _, l := range release {
		if slices.ContainsFunc(flip, l.isOf) {
			continue
		}
		if o.way().Release != nil {
			l.where = fmt.Sprintf(" (by the schema of %s in %s)", o.To, o.way().Place)
		}
		all = append(all, l)
	}
	return all
}

// spared are the losses by the cluster's schema of To that the release's would not bring. That is known if no webhook converts.
func (o Observation) spared() []loss {
	if o.way().Released == nil || o.flipped() || o.converted() {
		return nil
	}
	flip, _ := o.lossesOf(o.byFlip())
	release, _ := o.lossesOf(o.way().Released)
	return slices.DeleteFunc(flip, func(l loss) bool { return slices.ContainsFunc(release, l.isOf) })
}

// byFlip is what the flip makes of the objects. It is not asked any more when it is done.
func (o Observation) byFlip() *conversion.Report {
	if o.flipped() {
		return nil
	}
	return o.Rehearsed
}

// lacking are the fields of To that only the release's schema has. They are asked for if the flip was not rehearsed.
func (o Observation) lacking() []string {
	if o.way().Release == nil || !crds.Has(o.CRD, o.To) || o.flipped() || o.Rehearsed != nil {
		return nil
	}
	both := o.CRD.DeepCopy()
	is, was := *crds.Version(o.CRD, o.To), *crds.Version(o.way().Release, o.To)
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
	return slices.DeleteFunc([]*conversion.Report{o.byFlip(), o.way().Released}, func(r *conversion.Report) bool { return r == nil })
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
	_, let := o.losses()
	return (o.flipped() || o.Rehearsed != nil) && len(all) > 0 && len(let) == 0 &&
		!slices.ContainsFunc(all, func(r *conversion.Report) bool { return r.Verdict != conversion.Kept })
}

// beforehand says what has to be done before a commit that would lose something; empty if there is nothing to do.
func (o Observation) beforehand() (first []string) {
	if len(o.spared()) > 0 {
		first = append(first, fmt.Sprintf("bring the schema of %s in %s, with the CRD between of the step before", o.To, o.way().Place))
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
