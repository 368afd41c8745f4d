package runbook

import (
	"fmt"
	"slices"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/words"
)

func unserve(o Observation) Step {
	served := o.leavingThat(o.served)
	s := Step{
		Phase: 2, Name: Unserve, State: todo(len(served) == 0),
		Title:  fmt.Sprintf("Stop serving %s", o.leaving()),
		Seen:   "served: " + strings.Join(served, ", "),
		Risk:   "clients that use it fail from now on, and so does what is applied from Git at it; the garbage collector may delete dependents of owners at it",
		Back:   "serve it again: this is the last step that is taken back at once, so stay here for a while",
		Commit: o.commit("served: false at "+o.leaving(), waits),
	}
	if o.Return != nil {
		s.Risk += "; the newer release's controllers are among them, so the older release's have to run by now"
	}
	if len(served) == 0 {
		s.Seen = "none of them is served"
	}
	return s
}

func ask(o Observation) Step {
	s := Step{
		Phase: 2, Name: Ask,
		Title:  fmt.Sprintf("Ask for the removal of %s, in the commit that removes it", o.leaving()),
		Seen:   "no VersionRemoval names them",
		Risk:   "what waits for the CRD waits until the VersionRemoval is Ready, later commits too",
		Back:   "revert the commit",
		Commit: o.removal(),
	}
	if o.Return != nil && o.Return.Release != nil && crds.OptedIn(o.CRD, o.LabelKey) && !crds.OptedIn(o.Return.Release, o.LabelKey) {
		s.Risk += fmt.Sprintf("; the label %s leaves with the CRD of %s, which does not have it: add it there, so that Moult does the next upgrade, too", o.LabelKey, o.Return.Place)
	}
	all, missing := o.removals(), o.unasked()
	if len(all) > 0 {
		s.Seen = "named by " + strings.Join(words.Of(all, called), ", ")
	}
	switch {
	case len(all) == 0 && o.NoRemovals != "":
		s.State, s.Seen = Unknown, o.NoRemovals
	default:
		s.State = todo(len(missing) == 0 || o.removed())
	}
	return s
}

// backUpAgain comes behind the last change of the CRD before the removal, since a backup counts for the CRD as it was.
func backUpAgain(o Observation) Step {
	requires := func(r *v1alpha1.VersionRemoval) bool { return slices.Contains(r.Spec.Require, v1alpha1.Backup) }
	if !slices.ContainsFunc(o.removals(), requires) {
		return Step{}
	}
	lacks := crds.LastBackupOf(o.CRD).Lacks(o.CRD.UID, o.CRD.Generation, crds.StorageVersion(o.CRD), o.Now)
	s := Step{
		Phase: 2, Name: BackUpAgain, State: todo(lacks == "" || o.removed()),
		Title:    "Back up the objects as they are now: a VersionRemoval requires it",
		Seen:     lacks,
		Risk:     "none: it reads, and writes one annotation on the CRD; a later change of the CRD's spec asks for another backup",
		Back:     "delete the file and the annotation " + v1alpha1.BackupAnnotation,
		Commands: []string{o.moult("backup", o.CRD.Name, "-f", o.CRD.Name+"-before-removal.tar.gz", "--annotate")},
	}
	if lacks == "" {
		s.Seen = "the annotation " + v1alpha1.BackupAnnotation + " records one of the CRD as it is"
	}
	return s
}

func wait(o Observation) Step {
	s := Step{
		Phase: 2, Name: Wait, State: Next,
		Title:    "Wait until Moult says that they may go",
		Seen:     "no VersionRemoval has been answered",
		Risk:     "none",
		Back:     "there is nothing to take back",
		Commands: []string{o.moult("wait", o.CRD.Name, "--for", "removable", "--version", o.list(), "--timeout", "30m")},
	}
	all := o.removals()
	switch {
	case o.removed():
		s.State, s.Seen = Done, "none of them is in spec.versions"
		return s
	case len(all) == 0 && o.NoRemovals != "":
		s.State, s.Seen = Unknown, o.NoRemovals
		return s
	case len(all) == 0:
		return s
	}
	s.State = Done
	for _, r := range all { // the worst of them
		state, reason, message := said(r)
		if s.State == Done || state == Held {
			s.State, s.Seen = state, called(r)+": "+strings.TrimPrefix(reason+": "+message, ": ")
		}
	}
	if names := o.unasked(); s.State == Done && len(names) > 0 {
		s.State, s.Seen = Next, "no VersionRemoval names "+strings.Join(names, ", ")
	}
	return s
}

func remove(o Observation) Step {
	there := o.leavingThat(func(v string) bool { return crds.Has(o.CRD, v) })
	s := Step{
		Phase: 2, Name: Remove, State: todo(len(there) == 0),
		Title:  fmt.Sprintf("Remove %s from the CRD", o.leaving()),
		Seen:   "in spec.versions: " + strings.Join(there, ", "),
		Risk:   "what is restored from an older backup, or applied from an older commit, at these versions fails",
		Back:   "a commit that brings the version back serves it again; what was lost on the way is in the backup alone",
		Commit: fmt.Sprintf("spec.versions without %s, unless the commit with the VersionRemoval has that already: then Flux or Argo CD applies it now", o.leaving()),
	}
	if len(there) == 0 {
		s.Seen = "none of them is in spec.versions"
	}
	return s
}
