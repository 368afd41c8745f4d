package output

import (
	"github.com/moult-dev/moult/policies/crddiff"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/preview"
	"github.com/moult-dev/moult/policies/rollout"
)

// pagePlace is where something stands, and how to get there.
type pagePlace struct{ Text, Link string }

func (o PageOptions) place(p finding.Place) pagePlace {
	return pagePlace{Text: plain(p.String()), Link: o.Links.to(p)}
}

type pageTask struct {
	What   prose
	Whose  string
	Places []pagePlace
	Beyond int
}

func (o PageOptions) tasks(r preview.Report) []pageTask {
	const most = 5
	var all []pageTask
	for _, t := range tasks(r) {
		shown := pageTask{What: proseOf(capital(t.what)), Whose: t.whose(), Beyond: max(0, len(t.places)-most)}
		for _, p := range t.places[:min(most, len(t.places))] {
			shown.Places = append(shown.Places, o.place(p))
		}
		all = append(all, shown)
	}
	return all
}

type pageCRD struct {
	Name, Kind, Anchor string
	Place              pagePlace
	// Facts compare the CRD as a whole, Versions each version, Groups the schemas.
	Facts    []pair
	Versions []pair
	Groups   []pageGroup
}

// pair is something before and after. Same tells that it has not changed.
type pair struct {
	Name, Base, Head string
	Same             bool
}

type pageGroup struct {
	Version string
	Changes []pageChange
	// Beyond are those that are folded, and More counts them.
	Beyond []pageChange
	More   string
}

type pageChange struct {
	face
	Rule, Field, From, To string
	Why                   prose
}

func (o PageOptions) crds(r preview.Report) []pageCRD {
	var all []pageCRD
	for i, crd := range gravestFirst(r) {
		shown := pageCRD{
			Name: plain(crd.Name), Kind: plain(crd.Kind), Anchor: anchor(i), Place: o.place(crd.Place),
			Facts: shapeFacts(crd.Base, crd.Head), Versions: versionPairs(crd.Base, crd.Head),
		}
		for _, g := range byVersion(crd.Changes) {
			shownOf, beyond := g.shown()
			group := pageGroup{Version: g.title(), Changes: pageChanges(shownOf), Beyond: pageChanges(beyond)}
			if len(beyond) > 0 {
				group.More = more(beyond)
			}
			shown.Groups = append(shown.Groups, group)
		}
		all = append(all, shown)
	}
	return all
}

func pageChanges(changes []crddiff.Change) []pageChange {
	var all []pageChange
	for _, c := range changes {
		all = append(all, pageChange{
			face: lookOfSeverity(c.Severity).face(), Rule: plain(string(c.Rule)), Field: plain(c.Field), From: plain(c.From), To: plain(c.To), Why: proseOf(capital(plain(c.Why))),
		})
	}
	return all
}

// shapeFacts are those that differ.
func shapeFacts(base, head *crddiff.Shape) []pair {
	was, is := shapeOf(base), shapeOf(head)
	var differ []pair
	for i, name := range []string{"Group", "Scope", "Storage version", "Conversion", "Opt-in label"} {
		if was[i] != is[i] {
			differ = append(differ, pair{Name: name, Base: was[i], Head: is[i]})
		}
	}
	return differ
}

func shapeOf(s *crddiff.Shape) [5]string {
	if s == nil {
		return [5]string{}
	}
	label := ""
	if s.Label != nil {
		label = plain(*s.Label)
	}
	return [5]string{plain(s.Group), plain(s.Scope), plain(s.Storage), plain(s.Conversion), label}
}

func versionPairs(base, head *crddiff.Shape) []pair {
	was, is := versionsOf(base), versionsOf(head)
	var pairs []pair
	for _, v := range was {
		after := ""
		for _, other := range is {
			if other.Name == v.Name {
				after = describe(other)
			}
		}
		pairs = append(pairs, pair{Name: plain(v.Name), Base: describe(v), Head: after, Same: describe(v) == after})
	}
	for _, v := range is {
		isNew := true
		for _, other := range was {
			isNew = isNew && other.Name != v.Name
		}
		if isNew {
			pairs = append(pairs, pair{Name: plain(v.Name), Head: describe(v)})
		}
	}
	return pairs
}

func versionsOf(s *crddiff.Shape) []crddiff.Version {
	if s == nil {
		return nil
	}
	return s.Versions
}

// describe says what is true of a version.
func describe(v crddiff.Version) string {
	said := "not served"
	if v.Served {
		said = "served"
	}
	if v.Storage {
		said += ", stored"
	}
	if v.Deprecated {
		said += ", deprecated"
	}
	return said
}

type pageTimeline struct {
	Cluster string
	Waves   []pageWave
}

type pageWave struct {
	Order int
	Steps []pageStep
}

type pageStep struct {
	Title, After string
	Items        []pageItem
	Others       string
}

type pageItem struct {
	Label, Name, About, Waits string
	// Role and Hold are classes.
	Role, Hold string
	Place      pagePlace
}

func (o PageOptions) timelines(r preview.Report) []pageTimeline {
	var all []pageTimeline
	for _, c := range r.Clusters {
		shown := pageTimeline{Cluster: clusterName(c.Name)}
		for _, w := range timeline(r, c) {
			line := pageWave{Order: w.order}
			for _, s := range w.steps {
				line.Steps = append(line.Steps, o.step(s))
			}
			shown.Waves = append(shown.Waves, line)
		}
		all = append(all, shown)
	}
	return all
}

func (o PageOptions) step(s step) pageStep {
	shown := pageStep{Title: s.title(), After: s.after()}
	if s.Others > 0 {
		shown.Others = count(s.Others, "other object")
	}
	for _, i := range s.items {
		shown.Items = append(shown.Items, pageItem{
			Label: i.label(), Name: plain(i.Name), About: i.about(), Waits: i.waits(), Role: roleClass(i.Role), Hold: string(i.hold), Place: o.place(i.Place),
		})
	}
	return shown
}

func roleClass(role rollout.Role) string {
	switch role {
	case rollout.Gate, rollout.Removal, rollout.Flip:
		return string(role)
	case rollout.Changed:
	}
	return string(rollout.Changed)
}

type pageFinding struct {
	face
	Rule, CRD, Cluster string
	Why, Mend          prose
	Place              pagePlace
}

func (o PageOptions) findings(r preview.Report) []pageFinding {
	var all []pageFinding
	for _, f := range r.Findings {
		all = append(all, pageFinding{
			face: lookOfSeverity(f.Severity).face(), Rule: plain(f.Rule), CRD: plain(f.CRD), Cluster: plain(f.Cluster),
			Why: proseOf(capital(plain(f.Why))), Mend: proseOf(capital(plain(f.Mend))), Place: o.place(f.Place),
		})
	}
	return all
}

type pageManifest struct {
	Place                    pagePlace
	Object, CRD, Version, By string
}

func (o PageOptions) manifests(r preview.Report) []pageManifest {
	var all []pageManifest
	for _, m := range r.Manifests {
		all = append(all, pageManifest{Place: o.place(m.Place), Object: plain(m.Object), CRD: plain(m.CRD), Version: plain(m.Version), By: rewriter(m)})
	}
	return all
}
