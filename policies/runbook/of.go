package runbook

import (
	"fmt"
	"slices"
	"strings"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/labelorigin"
)

// rules make the steps, in their order. One without a name is none of this plan. A VersionRemoval holds back the commits after
// it, so it comes in the last one, after all that it requires: docs/decisions/0013-the-gate-comes-last.md.
var rules = []func(Observation) Step{serve, rehearse, backUp, optIn, flip, migrate, look, unserve, ask, backUpAgain, wait, remove}

// Of makes the plan. It is an error if no version is to be removed, or if it is not clear which stays.
func Of(o Observation) (Plan, error) {
	o, err := o.complete()
	if err != nil {
		return Plan{}, err
	}
	p, steps := Plan{CRD: o.CRD.Name, To: o.To, Leaving: o.Leaving, Rehearsed: o.Rehearsed}, rules
	if o.Return != nil {
		p.Return, p.Released, steps = true, o.Return.Released, returning
		p.Notes = o.assumed()
	}
	if o.NoRemovals != "" {
		p.Notes = append(p.Notes, o.NoRemovals)
	}
	if operator := labelorigin.Operator(o.CRD); operator != "" {
		p.Notes = append(p.Notes, labelorigin.NotInGit(operator)+"; "+labelorigin.HoldTheOperator)
	}
	if o.CRD.DeletionTimestamp != nil {
		p.Notes = append(p.Notes, "the CRD is being deleted, and all of its objects with it")
	}
	open := false
	for _, rule := range steps {
		step := rule(o)
		switch {
		case step.Name == "", step.Phase == 2 && len(o.Leaving) == 0:
			continue
		case step.State == Advised && open, step.State == Next && open:
			step.State = Later
		case step.State == Next, step.State == Waiting && !open, step.State == Held && !open, step.State == Unknown && !open:
			p.Next, open = step.Name, true
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

// todo is Done if it is, else Next, which is Later if another step comes first.
func todo(done bool) State {
	if done {
		return Done
	}
	return Next
}

// flipped reports whether the flip is over: then nothing before it is of use any more.
func (o Observation) flipped() bool { return crds.StorageVersion(o.CRD) == o.To }

// leaving is for a sentence, and list for a flag.
func (o Observation) leaving() string { return strings.Join(o.Leaving, ", ") }

func (o Observation) list() string { return strings.Join(o.Leaving, ",") }

func serve(o Observation) Step {
	return Step{
		Phase: 1, Name: Serve, State: todo(o.served(o.To)),
		Title:  fmt.Sprintf("Serve %s beside %s", o.To, o.leaving()),
		Seen:   "served: " + strings.Join(crds.Served(o.CRD), ", "),
		Risk:   "a CRD whose schemas are not valid is refused; a webhook that cannot convert makes every list fail",
		Back:   fmt.Sprintf("take %s out again; nothing is stored at it", o.To),
		Commit: fmt.Sprintf("the CRD with %s in spec.versions, served: true, storage: false", o.To),
	}
}

// before is the state of what is done before the flip and leaves no trace in the cluster.
func (o Observation) before() State {
	if o.flipped() {
		return Over
	}
	return Advised
}

func rehearse(o Observation) Step {
	s := Step{
		Phase: 1, Name: Rehearse, State: o.before(),
		Title:    fmt.Sprintf("Rehearse: what does %s lose, change or refuse?", o.To),
		Seen:     "nothing in the cluster shows whether this was done",
		Risk:     "none: it reads",
		Back:     "there is nothing to take back",
		Commands: []string{o.moult("rehearse", o.CRD.Name, "--crds", o.Folder)},
	}
	if crds.HasWebhook(o.CRD) {
		s.Commands[0] += " --webhook crd"
	}
	if o.flipped() {
		s.Seen = fmt.Sprintf("%s is stored; nothing in the cluster shows whether this was done before", o.To)
	}
	return o.answered(s)
}

func backUp(o Observation) Step {
	file := o.CRD.Name + "-before-" + o.To + ".tar.gz"
	s := Step{
		Phase: 1, Name: BackUp, State: o.before(),
		Title:    "Back up the objects at every version that is served",
		Seen:     "nothing in the cluster shows whether this was done",
		Risk:     "none: it reads; the file holds what the objects hold",
		Back:     "delete the file",
		Commands: []string{o.moult("backup", o.CRD.Name, "-f", file), o.local("backup", "verify", file)},
	}
	if o.flipped() {
		s.Seen = fmt.Sprintf("%s is stored; nothing in the cluster shows whether this was done before, and a backup of now may lack what was lost", o.To)
	}
	return s
}

func optIn(o Observation) Step {
	is := crds.OptedIn(o.CRD, o.LabelKey)
	s := Step{
		Phase: 1, Name: OptIn, State: todo(is || o.returned()),
		Title:    "Let Moult migrate the CRD",
		Seen:     fmt.Sprintf("the label %s is not there", o.LabelKey),
		Risk:     "every object is written once; admission webhooks see it, and controllers that watch them",
		Back:     "take the label off; what is written stays as it is",
		Commit:   o.commit(fmt.Sprintf("metadata.labels: {%s: %q}", o.LabelKey, v1alpha1.MigrateLabelValue), anyGate),
		Commands: []string{o.local("opt-in", o.Folder)},
	}
	if is {
		s.Seen = "the label is there"
	}
	return s
}

func flip(o Observation) Step {
	risk := fmt.Sprintf("whatever is written from now on loses what %s does not have; Moult holds back, other writers do not", o.To)
	if crds.HasWebhook(o.CRD) {
		risk = "whatever is written from now on loses what the conversion webhook drops; Moult asks it first if it runs with --rehearse, and other writers do not"
	}
	return o.holding(Step{
		Phase: 1, Name: Flip, State: todo(o.flipped()),
		Title:  fmt.Sprintf("Flip: store at %s", o.To),
		Seen:   "stored at " + crds.StorageVersion(o.CRD),
		Risk:   risk,
		Back:   "flip back: objects are stored at the old version again when they are written",
		Commit: o.commit(fmt.Sprintf("storage: true at %s, and false at the others", o.To), anyGate),
	})
}

// commits are the reasons that hold a migration until somebody does something.
var commits = []string{
	v1alpha1.ReasonFieldsWouldBeLost, v1alpha1.ReasonStorageVersionNotServed, v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonForbidden,
	v1alpha1.ReasonPaused, v1alpha1.ReasonAggregatedAPIServer, v1alpha1.ReasonUndone,
}

func migrate(o Observation) Step {
	s := Step{
		Phase: 1, Name: Migrate,
		Title:    fmt.Sprintf("Migrate: every object is stored at %s, and that is proved", o.To),
		Risk:     "load: one write for each object, paced by what the API server can take",
		Back:     "flip back; then every object is stored at the old version again",
		Commands: []string{o.moult("wait", o.CRD.Name, "--for", "migrated", "--timeout", "30m")},
	}
	if o.Return != nil {
		s.Back = fmt.Sprintf("flip forward again; then every object is stored at the newer version again, without what %s does not have", o.To)
	}
	m := crds.MigrationOf(o.CRD, o.LabelKey)
	s.Seen = "status.storedVersions: " + strings.Join(o.CRD.Status.StoredVersions, ", ")
	if m.Reason != "" {
		s.Seen = m.Reason + ": " + m.Message
	}
	switch {
	case o.returned():
		s.State = Done
	case !m.OptedIn || !o.flipped():
		s.State = Next
		s.Seen = "status.storedVersions: " + strings.Join(o.CRD.Status.StoredVersions, ", ")
	case m.Migrated:
		s.State = Done
	case m.Reason == "" || m.Outdated:
		s.State, s.Seen = Waiting, "Moult has not looked at the CRD as it is now; is moult-controller running? Without it: "+o.once()
	case slices.Contains(commits, m.Reason):
		s.State = Held
	default:
		s.State = Waiting
	}
	return s
}

// once is the migration without a controller.
func (o Observation) once() string {
	if crds.HasWebhook(o.CRD) {
		return o.moult("migrate", o.CRD.Name, "--rehearse")
	}
	return o.moult("migrate", o.CRD.Name)
}

// removed reports whether none of the versions is there any more.
func (o Observation) removed() bool {
	return len(o.leavingThat(func(v string) bool { return crds.Has(o.CRD, v) })) == 0
}

// blockers hold a removal for what names the versions elsewhere.
var elsewhere = []string{v1alpha1.ReasonStillReferenced, v1alpha1.ReasonStillStashed, v1alpha1.ReasonReferencesUnknown}

func look(o Observation) Step {
	s := Step{
		Phase: 2, Name: Look, State: Advised,
		Title:  fmt.Sprintf("Find and change what else names %s: manifests in Git, owner references, policies, stashed copies", o.leaving()),
		Seen:   "nothing in the cluster shows whether this was done; a VersionRemoval with NoReferences and NoStashes does",
		Risk:   "what remains stops working at the removal, some of it silently; the garbage collector may delete dependents as soon as the versions are not served",
		Back:   "there is nothing to take back",
		Commit: o.commit("what names them in Git, changed", waits),
		Commands: []string{
			o.moult("survivors", o.CRD.Name, "--version", o.list(), "--secrets"),
			o.local("rewrite", ".", "--crds", o.Folder, "--crd", o.CRD.Name, "--from", o.list()),
		},
	}
	open := len(o.unasked()) > 0
	for _, r := range o.removals() {
		state, reason, message := said(r)
		if slices.Contains(elsewhere, reason) {
			s.State, s.Seen = state, called(r)+": "+reason+": "+message
			return s
		}
		open = open || state != Done || !slices.Contains(r.Spec.Require, v1alpha1.NoReferences) || !slices.Contains(r.Spec.Require, v1alpha1.NoStashes)
	}
	if !open {
		s.State, s.Seen = Done, "their VersionRemovals have found nothing in the cluster that names them"
	}
	return s
}
