package runbook

import (
	"fmt"

	crds "github.com/moult-dev/moult/api/crd"
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
	return s
}

// serveAgain has the CRD between in place, with objects stored as they are.
func serveAgain(o Observation) Step {
	s := serve(o)
	s.Title = fmt.Sprintf("Serve %s again, beside %s", o.To, crds.StorageVersion(o.CRD))
	if o.flipped() {
		s.Title = fmt.Sprintf("Serve %s again", o.To)
		if len(o.Leaving) > 0 {
			s.Title += ", beside " + o.leaving()
		}
	}
	file := o.CRD.Name + "-between.yaml"
	s.Risk = fmt.Sprintf("clients that write whole objects at %s drop what only the newer version has; a webhook that cannot convert makes every list fail", o.To)
	switch spared, lacking := o.spared(), o.lacking(); {
	case len(spared)+len(lacking) > 0:
		s.State = Next
		s.Title = fmt.Sprintf("Serve %s as %s has it, beside %s", o.To, o.Return.Place, crds.StorageVersion(o.CRD))
		s.Seen += fmt.Sprintf("; the CRD has another schema of %s, ", o.To)
		if len(spared) > 0 {
			s.Seen += "by which more would be " + words.FewClauses(words.Of(spared, loss.String), mostNamed)
		} else {
			s.Seen += "without " + words.Few(lacking, mostNamed)
		}
		s.Commit = o.commit(fmt.Sprintf("in place of the CRD, %s of this command, which has the schema of %s in %s, and stores as before", file, o.To, o.Return.Place), anyGate)
		s.Commands = []string{o.bridge(file, "--keep-storage")}
	case crds.Has(o.CRD, o.To):
		s.Seen += fmt.Sprintf("; the CRD knows %s", o.To)
		s.Commit = o.commit("served: true at "+o.To, anyGate)
	default:
		s.Seen += fmt.Sprintf("; the CRD does not know %s any more, and %s has it", o.To, o.Return.Place)
		s.Commit = o.commit("in place of the CRD, "+file+" of this command, which stores as before", anyGate)
		s.Commands = []string{o.bridge(file, "--keep-storage")}
	}
	return s
}

func flipBack(o Observation) Step {
	s := flip(o)
	s.Title = fmt.Sprintf("Flip back: store at %s", o.To)
	s.Back = fmt.Sprintf("flip forward again, to %s: objects are stored at it again when they are written", crds.StorageVersion(o.CRD))
	return s
}
