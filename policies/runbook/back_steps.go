package runbook

import (
	"fmt"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/words"
)

// mostNamed is how many things a step names.
const mostNamed = 5

func rehearseBack(o Observation) Step {
	s := rehearse(o)
	file := o.CRD.Name + "-back.yaml"
	s.Commands = nil
	if o.Return.Release != nil && !o.flipped() {
		s.Commands = []string{o.bridge(file), o.moult("rehearse", o.CRD.Name, "--crds", file)}
		if crds.HasWebhook(o.CRD) || crds.HasWebhook(o.Return.Release) {
			s.Commands[1] += " --webhook crd"
		}
	}
	switch r := o.Return.Rehearsed; {
	case o.flipped() || r == nil:
	case r.Verdict == conversion.Kept:
		s.State, s.Seen = Done, counted(r)+": nothing would be lost, and nothing refused"
	default:
		s.Seen = counted(r) + ": " + words.FewClauses(append(o.losses(), unknown(r)...), mostNamed)
	}
	return s
}

// counted is how many objects a rehearsal has looked at.
func counted(r *conversion.Report) string {
	objects := int64(0)
	for _, of := range r.CRDs {
		objects += of.Objects
	}
	return words.Count(objects, "object")
}

// losses are what objects would lose, and why they would be refused, with some of them. What the CRD lets go is none.
func (o Observation) losses() (all []string) {
	if o.Return.Rehearsed == nil {
		return nil
	}
	for _, of := range o.Return.Rehearsed.CRDs {
		all = append(all, named("lost", o.missed(of.Lost))...)
		all = append(all, named("changed", o.missed(of.Changed))...)
		all = append(all, named("not converted", of.Failed)...)
		all = append(all, named("refused", of.Refused)...)
	}
	return all
}

// missed are those that are not let go, by the CRD or by that of the release.
func (o Observation) missed(groups []conversion.Group) (left []conversion.Group) {
	allowed := crdschema.Patterns(o.CRD.Annotations[v1alpha1.AllowFieldLossAnnotation])
	if o.Return.Release != nil {
		allowed = append(allowed, crdschema.Patterns(o.Return.Release.Annotations[v1alpha1.AllowFieldLossAnnotation])...)
	}
	for _, g := range groups {
		if g.Matters() && !crdschema.Allows(allowed, g.What) {
			left = append(left, g)
		}
	}
	return left
}

func named(say string, groups []conversion.Group) (all []string) {
	for _, g := range groups {
		text := fmt.Sprintf("%s: %s of %s", say, g.What, words.Count(g.Objects, "object"))
		if len(g.Examples) > 0 {
			text += ", for example " + strings.Join(g.Examples, ", ")
		}
		all = append(all, text)
	}
	return all
}

func unknown(r *conversion.Report) (all []string) {
	for _, of := range r.CRDs {
		for _, g := range of.Unknown {
			all = append(all, "not known: "+g.What)
		}
	}
	return all
}

// serveAgain has the CRD between in place, with objects stored as they are.
func serveAgain(o Observation) Step {
	s := serve(o)
	s.Title = fmt.Sprintf("Serve %s again, beside %s", o.To, crds.StorageVersion(o.CRD))
	s.Risk = fmt.Sprintf("clients that write whole objects at %s drop what only the newer version has; a webhook that cannot convert makes every list fail", o.To)
	switch {
	case crds.Has(o.CRD, o.To):
		s.Seen += fmt.Sprintf("; the CRD knows %s", o.To)
		s.Commit = o.commit("served: true at "+o.To, anyGate)
	default:
		s.Seen += fmt.Sprintf("; the CRD does not know %s any more, and %s has it", o.To, o.Return.Place)
		file := o.CRD.Name + "-between.yaml"
		s.Commit = o.commit("in place of the CRD, "+file+" of this command, which stores as before", anyGate)
		s.Commands = []string{o.bridge(file, "--keep-storage")}
	}
	return s
}

// flipBack is held while objects would lose what the CRD does not let go.
func flipBack(o Observation) Step {
	s := flip(o)
	s.Title = fmt.Sprintf("Flip back: store at %s", o.To)
	s.Back = fmt.Sprintf("flip forward again, to %s: objects are stored at it again when they are written", crds.StorageVersion(o.CRD))
	if s.State == Done {
		return s
	}
	if losses := o.losses(); len(losses) > 0 {
		s.State = Held
		s.Seen += "; at " + o.To + " would be " + words.FewClauses(losses, mostNamed)
		if fields := o.letGo(); len(fields) > 0 {
			s.Commit = fmt.Sprintf("first, move the values, or let them go when a backup has them: metadata.annotations: {%s: %q}; then %s", v1alpha1.AllowFieldLossAnnotation, strings.Join(fields, ","), s.Commit)
		}
	}
	return s
}

// letGo are the fields that the CRD could let go.
func (o Observation) letGo() (fields []string) {
	for _, of := range o.Return.Rehearsed.CRDs {
		for _, g := range o.missed(of.Lost) {
			fields = append(fields, g.What)
		}
	}
	return words.Distinct(fields)
}
