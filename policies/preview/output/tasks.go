package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/words"
)

// task is one thing for a person to do, with all the places where it has to be done.
type task struct {
	What           string
	crds, clusters []string
	places         []finding.Place
}

// tasks are what to do next, in order: first what the pull request itself lacks, then what the clusters wait for, then
// what somebody should look at. Tasks in the same words are one.
func tasks(r preview.Report) []task {
	var all list
	everywhere := rows(r)
	all.fix(r, finding.Error)
	all.rewrite(r)
	all.act(everywhere, func(in preview.InCluster) []v1alpha1.Blocker { return in.Blockers })
	all.wait(everywhere)
	all.learn(r, everywhere)
	all.fix(r, finding.Warning)
	all.act(everywhere, func(in preview.InCluster) []v1alpha1.Blocker { return in.Warnings })
	return all.tasks
}

type list struct{ tasks []task }

func (l *list) add(what, crd, cluster string, places ...finding.Place) {
	if what = plain(what); what == "" {
		return
	}
	i := slices.IndexFunc(l.tasks, func(t task) bool { return t.What == what })
	if i < 0 {
		l.tasks, i = append(l.tasks, task{What: what}), len(l.tasks)
	}
	t := &l.tasks[i]
	t.crds, t.clusters = appendNew(t.crds, plain(crd)), appendNew(t.clusters, plain(cluster))
	for _, p := range places {
		if p.File != "" {
			t.places = appendOnce(t.places, p)
		}
	}
}

func (l *list) fix(r preview.Report, severity finding.Severity) {
	for _, f := range r.Findings {
		if f.Severity != severity {
			continue
		}
		l.add(cmp.Or(f.Remediation, "look at this: "+f.Why), f.CRD, f.Cluster, f.Place)
	}
}

// rewrite is about manifests for which no finding has a fix: first those that the command can rewrite.
func (l *list) rewrite(r preview.Report) {
	const (
		byCommand = "run `moult rewrite` on the manifests that are still written at a version that leaves"
		byHand    = "rewrite by hand the manifests that are still written at a version that leaves: a webhook converts these, and only it knows how"
	)
	for _, what := range []string{byCommand, byHand} {
		for _, m := range r.Manifests {
			if m.Rewritable == (what == byCommand) && !foundAt(r, m.Place) {
				l.add(what, m.CRD, "", m.Place)
			}
		}
	}
}

// foundAt reports whether there is a finding at a place.
func foundAt(r preview.Report, place finding.Place) bool {
	return place.File != "" && slices.ContainsFunc(r.Findings, func(f finding.Finding) bool { return f.Place == place })
}

// act is what blockers or warnings ask of people.
func (l *list) act(everywhere []row, of func(preview.InCluster) []v1alpha1.Blocker) {
	for _, row := range everywhere {
		for _, what := range actions(of(row.in)) {
			l.add(what, row.crd.Name, row.in.Cluster)
		}
	}
}

func (l *list) wait(everywhere []row) {
	for _, row := range everywhere {
		if row.in.Verdict == preview.Blocked && slices.Equal(row.toDo, []string{waitForIt}) {
			l.add(waitForIt, row.crd.Name, row.in.Cluster)
		}
	}
}

// learn is about clusters of which nothing is known.
func (l *list) learn(r preview.Report, everywhere []row) {
	for _, row := range everywhere {
		if row.in.Verdict == preview.Unknown && row.delivered && !known(r, row.in.Cluster) {
			l.add(lookAtIt, row.crd.Name, row.in.Cluster)
		}
	}
}

// Whose says, after a task, which CRDs and clusters it is about.
func (t task) Whose() string {
	var parts []string
	if len(t.crds) > 0 {
		parts = append(parts, words.Few(t.crds, 3))
	}
	if len(t.clusters) > 0 {
		parts = append(parts, "in "+words.Few(t.clusters, 5))
	}
	return strings.Join(parts, " ")
}

// mostPlaces are as many as are shown of a task.
const mostPlaces = 5

// Shown are the first places, and Beyond is how many more there are.
func (t task) Shown() []finding.Place { return t.places[:min(mostPlaces, len(t.places))] }

// Beyond is how many places are not shown.
func (t task) Beyond() int { return len(t.places) - len(t.Shown()) }

// nothingToDo is said in place of tasks.
func nothingToDo(r preview.Report) string {
	switch r.Verdict {
	case preview.Safe:
		return "Nothing stands in the way of merging."
	case preview.Warned:
		return "Nothing has to be done; read the warnings before merging."
	case preview.Unknown, preview.Blocked:
	}
	return fmt.Sprintf("No next step is known; the verdict is %s.", badgeOfVerdict(r.Verdict).Word)
}
