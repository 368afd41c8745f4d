package rollout

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/moult-dev/moult/policies/delivery"
	"github.com/moult-dev/moult/policies/finding"
	"github.com/moult-dev/moult/policies/words"
)

// What brings objects that are not seen may hold CRDs, and what is written at their versions. Were each one reason enough to
// know nothing, the preview would be of no use in any repository that has a chart. So the question is what this pull request
// does. A source that is the same in the base and in the head brings the same after the merge as before, and is only mentioned
// (NotFollowed). One that comes, goes or changes leaves it unknown what the cluster gets (UnseenChanged), as does a unit
// that is taken from another place than before (SourceMoved).

// LeavesUnknown reports whether a rule says that this pull request changes what a cluster gets in a way that cannot be seen.
// However harmless what can be seen is, the verdict is unknown then.
func LeavesUnknown(rule string) bool { return rule == UnseenChanged || rule == SourceMoved }

// unseenChanged: what the cluster gets changes, and it is not seen how.
func unseenChanged(s *situation) []finding.Finding {
	before, after := fingerprints(s.base.Unseen), fingerprints(s.head.Unseen)
	var findings []finding.Finding
	add := func(u delivery.Unseen, by *delivery.Object, why string) {
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, Object: u.Name, Place: by.Place("spec"), Why: fmt.Sprintf("%s %s: %s", u.Name, why, u.Why), Remediation: seeing(u),
		})
	}
	for _, u := range s.head.Unseen {
		switch was, there := before[u.Name]; {
		case !there && (s.losesOnlyOthers(u) || isOfUnseen(s.head, u, s.base)):
		case !there && unitBy(s.base, u) != nil:
			add(u, u.By, "could be seen before this change and cannot any more, so what CRDs it brings is not known")
		case !there:
			add(u, u.By, becomes(u, "is new", ", or can no longer be seen"))
		case was != after[u.Name]:
			add(u, u.By, becomes(u, "changes", ", or a file that it names does"))
		}
	}
	for _, u := range s.base.Unseen {
		if _, there := after[u.Name]; !there && !isOfUnseen(s.base, u, s.head) {
			add(u, unitBy(s.head, u), "no longer exists, or can be seen from now on; it is not known which CRDs it brought")
		}
	}
	return slices.Concat(findings, deletedUnseen(s), inputsChanged(s))
}

// isOfUnseen reports whether a source is in a unit that can be seen on its side only, which is reported.
func isOfUnseen(c *delivery.Cluster, source delivery.Unseen, other *delivery.Cluster) bool {
	return slices.ContainsFunc(c.Units, func(u *delivery.Unit) bool {
		return u.By != nil && u.By != source.By && slices.Contains(u.Objects, source.By) && isUnseen(other, u) && !isUnseen(c, u)
	})
}

// becomes says what becomes of a source. A file stands for all that is made of it.
func becomes(u delivery.Unseen, what, orOfFile string) string {
	if u.By != nil && u.By.GetKind() == "File" {
		what += orOfFile
	}
	return what + ", and what CRDs it brings is not known"
}

// losesOnlyOthers reports whether all that is wrong with a source is that its folder was deleted, in which there was nothing about CRDs.
// The tool's next sync fails, and wherever else the folder may be, this pull request does not touch it.
func (s *situation) losesOnlyOthers(source delivery.Unseen) bool {
	if !strings.HasPrefix(source.Why, "there is no folder ") {
		return false
	}
	i := slices.IndexFunc(s.base.Units, func(u *delivery.Unit) bool { return u.By != nil && u.By.Same(source.By) })
	if i < 0 || len(s.base.Units[i].Dirs) == 0 || s.base.Units[i].Incomplete() || !reflect.DeepEqual(s.base.Units[i].By.Field("spec"), source.By.Field("spec")) {
		return false
	}
	was := s.base.Units[i]
	brings := func(by *delivery.Object) bool { return by != nil && slices.Contains(was.Objects, by) }
	return !slices.ContainsFunc(was.Objects, isAboutCRDs) &&
		!slices.ContainsFunc(s.base.Units, func(u *delivery.Unit) bool { return brings(u.By) || u.Parent == was }) &&
		!slices.ContainsFunc(s.base.Unseen, func(u delivery.Unseen) bool { return brings(u.By) })
}

func isAboutCRDs(o *delivery.Object) bool {
	crds, unread := o.Inside()
	return o.IsCRD() || o.IsGate() || delivery.ToolOf(o) != "" || len(crds)+len(unread) > 0
}

// fingerprints are those of sources by name. There may be several of one name, in several units.
func fingerprints(sources []delivery.Unseen) map[string]string {
	found := map[string]string{}
	for _, s := range sources {
		found[s.Name] += s.Fingerprint + " "
	}
	return found
}

// unitBy is the Kustomization or Application of a source, nil if the cluster does not have it. What the head no longer
// has gets no place, since findings are read beside the files of the head.
func unitBy(c *delivery.Cluster, source delivery.Unseen) *delivery.Object {
	for _, u := range c.Units {
		if u.By != nil && u.By.Same(source.By) {
			return u.By
		}
	}
	return nil
}

// notFollowed: what brings it is as it was, so that the merge changes nothing about it. Where a version or a CRD leaves,
// it may be written at that.
func notFollowed(s *situation) []finding.Finding {
	same := s.unseenAsBefore()
	if len(same) == 0 {
		return nil
	}
	f := finding.Finding{
		Severity: finding.Info, Place: same[0].By.Place("spec"),
		Why: "not seen, and the same before and after this change: " + fewOfEachKind(same),
	}
	if s.leaves() {
		f.Severity = finding.Warning
		f.Why = "what these apply is not seen; it is the same before and after this change, and fails if it is written at a version that leaves: " + fewOfEachKind(same)
		f.Remediation = "see to it that what they apply is not written at a version that leaves"
	}
	return []finding.Finding{f}
}

// unseenAsBefore are the sources that are not seen and that the pull request does not change.
func (s *situation) unseenAsBefore() []delivery.Unseen {
	before, after := fingerprints(s.base.Unseen), fingerprints(s.head.Unseen)
	return slices.DeleteFunc(slices.Clone(s.head.Unseen), func(u delivery.Unseen) bool {
		was, there := before[u.Name]
		return !there || was != after[u.Name]
	})
}

// mostOfAKind is how many sources of a kind a finding names; a repository may have hundreds.
const mostOfAKind = 3

func fewOfEachKind(sources []delivery.Unseen) string {
	ofKind := map[string][]string{}
	left := 0
	for _, u := range sources {
		kind := u.By.GetKind()
		if ofKind[kind] = append(ofKind[kind], inFull(u)); len(ofKind[kind]) > mostOfAKind {
			left++
		}
	}
	var said []string
	for _, kind := range slices.Sorted(maps.Keys(ofKind)) {
		said = append(said, words.Few(ofKind[kind], mostOfAKind))
	}
	if left > 0 {
		said = append(said, "the JSON report has them all")
	}
	return strings.Join(said, "; ")
}

// inFull names a source and says why it is not seen.
func inFull(u delivery.Unseen) string { return fmt.Sprintf("%s (%s)", u.Name, u.Why) }

// leaves reports whether a version or a whole CRD leaves.
func (s *situation) leaves() bool {
	for _, c := range s.changes {
		if c.Head == nil || len(c.Removed) > 0 {
			return true
		}
	}
	return false
}

// whereFrom says where a Flux Kustomization or an Argo CD Application takes what it applies, and where to.
var whereFrom = [][]string{
	{"spec", "sourceRef"}, {"spec", "kubeConfig"},
	{"spec", "source", "repoURL"}, {"spec", "source", "targetRevision"}, {"spec", "source", "chart"}, {"spec", "sources"}, {"spec", "destination"},
	{"spec", "sourceHydrator", "drySource", "repoURL"}, {"spec", "sourceHydrator", "drySource", "targetRevision"}, {"spec", "sourceHydrator", "syncSource"},
}

// movable are those of the fields that name a place, of two units. A chart that was rendered, and a repository that was built,
// was fetched from where the fields have it, so that has been seen. One that was not is the matter of unseenChanged.
func movable(was, now *delivery.Unit) [][]string {
	switch {
	case now.Tool == delivery.Flux && len(now.Elsewhere) > 0:
		return [][]string{{"spec", "kubeConfig"}}
	case saidUnseen(was, now):
	case !isFetched(was) || !isFetched(now) || !reflect.DeepEqual(notFetched(was), notFetched(now)):
		return whereFrom
	}
	return [][]string{{"spec", "sourceRef"}, {"spec", "kubeConfig"}, {"spec", "destination"}}
}

// saidUnseen reports whether a repository was looked at, and cannot be any more: that is reported as unseen.
func saidUnseen(was, now *delivery.Unit) bool { return now.Unseen != "" && len(was.Elsewhere) > 0 }

// isFetched reports whether something of a unit is looked at where it is, or not at all.
func isFetched(u *delivery.Unit) bool { return len(u.Charts)+len(u.Elsewhere) > 0 || u.Unseen != "" }

// notFetched are the addresses of a unit's sources that are no charts, and that are read as they are in this repository.
func notFetched(u *delivery.Unit) (from [][3]string) {
	for _, source := range u.Sources {
		if s := source.Settings; s.Text("chart") == "" && !strings.HasPrefix(s.Text("repoURL"), "oci://") && !slices.Contains(u.Elsewhere, s.Text("repoURL")) {
			from = append(from, [3]string{s.Text("repoURL"), s.Text("path"), s.Text("targetRevision")})
		}
	}
	return from
}

// ofASource are the fields of Flux's sources that decide where from and which revision.
var ofASource = [][]string{{"spec", "url"}, {"spec", "ref"}, {"spec", "endpoint"}, {"spec", "bucketName"}, {"spec", "prefix"}, {"spec", "include"}}

// sourceMoved: what lies in this repository is not what arrives from now on, or not in this cluster. Of a unit that is not
// seen on either side unseenChanged says it.
func sourceMoved(s *situation) []finding.Finding {
	var findings []finding.Finding
	for _, u := range s.head.Units {
		was := s.unitBefore(u)
		if u.By == nil || was == nil || was.By == nil || isUnseen(s.base, was) && isUnseen(s.head, u) {
			continue
		}
		findings = append(findings, movedFields(u, was.By, u.By, movable(was, u))...)
		// Sources are often made by hand, and one that is called otherwise is found above.
		if before, after := sourceOf(s.base, was), sourceOf(s.head, u); before != nil && after != nil && len(u.Elsewhere) == 0 && !saidUnseen(was, u) {
			findings = append(findings, movedFields(u, before, after, ofASource)...)
		}
		if before, after := sourceOf(s.base, was), sourceOf(s.head, u); before != nil && after != nil && before.True("spec", "suspend") && !after.True("spec", "suspend") {
			findings = append(findings, moved(u, after, []string{"spec", "suspend"})) // whatever has come meanwhile arrives
		}
	}
	return findings
}

// movedFields are the fields that are not as they were.
func movedFields(u *delivery.Unit, before, after *delivery.Object, all [][]string) (findings []finding.Finding) {
	for _, fields := range all {
		if !reflect.DeepEqual(before.Field(fields...), after.Field(fields...)) {
			findings = append(findings, moved(u, after, fields))
		}
	}
	return findings
}

func moved(u *delivery.Unit, by *delivery.Object, fields []string) finding.Finding {
	return finding.Finding{
		Severity: finding.Warning, Object: u.By.GetKind() + " " + u.Name, Place: by.Place(fields...),
		Why: fmt.Sprintf("%s takes what it applies from another place or revision, or applies it to another cluster, than before (%s of %s %s), and this preview looks at this repository only",
			u.Name, strings.Join(fields, "."), by.GetKind(), by.GetName()),
		Remediation: "check that the new place has the same content, or make this change in a pull request of its own",
	}
}

func isUnseen(c *delivery.Cluster, u *delivery.Unit) bool {
	return slices.ContainsFunc(c.Unseen, func(source delivery.Unseen) bool { return source.By.Same(u.By) })
}

// sourceOf is what a Kustomization's sourceRef means; nil if it is not among the manifests.
func sourceOf(c *delivery.Cluster, u *delivery.Unit) *delivery.Object {
	from := u.By.SourceRef()
	return c.Source(from.Kind, from)
}

// inputsChanged: what is built is what is seen, but something else decides how much of it arrives (what a GitRepository
// leaves out, the values of variables) and changes. There is one finding for each such thing, whatever number of units it
// decides about. A unit that comes or goes is seen to do so.
func inputsChanged(s *situation) []finding.Finding {
	units := map[string][]*delivery.Unit{}
	for _, u := range s.head.Units {
		was := s.unitBefore(u)
		if was == nil || u.By != nil && was.By != nil && isUnseen(s.base, was) && isUnseen(s.head, u) {
			continue
		}
		names := maps.Clone(was.Inputs)
		if names == nil {
			names = map[string]string{}
		}
		maps.Copy(names, u.Inputs)
		for name := range names {
			if was.Inputs[name] != u.Inputs[name] {
				units[name] = append(units[name], u)
			}
		}
		for name, now := range u.Settings {
			if before, there := was.Settings[name]; there && before != now {
				units[name] = append(units[name], u)
			}
		}
	}
	var findings []finding.Finding
	for _, name := range slices.Sorted(maps.Keys(units)) {
		first := units[name][0]
		findings = append(findings, finding.Finding{
			Severity: finding.Warning, Object: name, Place: first.By.Place("spec"),
			Why:         fmt.Sprintf("%s changes; it decides which manifests of %s are applied, and this preview cannot see that", name, words.Few(words.Of(units[name], func(u *delivery.Unit) string { return u.Name }), 3)),
			Remediation: "check that the same manifests are still applied, or make this change in a pull request of its own",
		})
	}
	return findings
}

// unitBefore is what a unit of the head is in the base. Where nothing names who applies the entry point, it is called after the
// tree that it is of. One that is called otherwise now brings a CRD that another one brought, which no longer exists.
func (s *situation) unitBefore(u *delivery.Unit) *delivery.Unit {
	if was := s.base.Unit(u.Name); was != nil {
		return was
	}
	if u == s.head.Units[0] && u.By == nil && len(s.base.Units) > 0 && s.base.Units[0].By == nil {
		return s.base.Units[0]
	}
	for _, was := range s.base.Units {
		if was.Tool == u.Tool && s.head.Unit(was.Name) == nil && slices.ContainsFunc(was.CRDs(), func(crd delivery.CRD) bool { return u.Holds(crd.Object) }) {
			return was
		}
	}
	return nil
}
