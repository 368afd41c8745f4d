package conversion

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/tally"
)

// Verdict is the answer in a word. The set is closed.
type Verdict string

const (
	// Kept: nothing is lost, and nothing is refused.
	Kept Verdict = "kept"
	// NotKept: a field is lost or changed, and that is not accepted, or an object cannot be converted or is refused.
	NotKept Verdict = "notKept"
	// NotKnown: of some objects it cannot be told, and of the others nothing is lost.
	NotKnown Verdict = "unknown"
)

// Report sums up the outcomes of many objects.
type Report struct {
	Verdict Verdict     `json:"verdict"`
	CRDs    []CRDReport `json:"crds"`
	// Unused are accepted losses that do not occur.
	Unused []Accepted `json:"unused,omitempty"`
}

// CRDReport is what becomes of the objects of one CRD.
type CRDReport struct {
	CRD     string `json:"crd"`
	Storage string `json:"storage"`
	// ReadAt is the version that a cluster's objects were read at; empty for manifests, which say it themselves.
	ReadAt string `json:"readAt,omitempty"`
	// Cluster is the context, or the backup, whose objects they are; empty for manifests, and if one alone is looked at.
	Cluster string `json:"cluster,omitempty"`
	Objects int64  `json:"objects"`
	// Same is how many of them come back as they were, and are not refused.
	Same int64 `json:"same"`
	// The others are as in an Outcome, by what is said, the most frequent first.
	Lost        []Group `json:"lost,omitempty"`
	Changed     []Group `json:"changed,omitempty"`
	Respelled   []Group `json:"respelled,omitempty"`
	Failed      []Group `json:"failed,omitempty"`
	Refused     []Group `json:"refused,omitempty"`
	Ratcheted   []Group `json:"ratcheted,omitempty"`
	Added       []Group `json:"added,omitempty"`
	Undefaulted []Group `json:"undefaulted,omitempty"`
	Unknown     []Group `json:"unknown,omitempty"`
}

// Group are the objects of which the same is said.
type Group struct {
	// What is a path, in which [*] is any index, or a sentence.
	What string `json:"what"`
	// Fault is what is wrong with a conversion, and Says what is said of the first object; else empty.
	Fault Fault  `json:"fault,omitempty"`
	Says  string `json:"says,omitempty"`
	// Objects is how many there are, and Examples are some of them.
	Objects  int64    `json:"objects"`
	Examples []string `json:"examples"`
	// Status is true for a path in status, which its controller writes anew: it is reported and holds nothing up.
	Status bool `json:"status,omitempty"`
	// Accepted is why the loss is accepted; empty if it is not.
	Accepted string `json:"accepted,omitempty"`
}

// Accepted is a loss, or a change, that is accepted.
type Accepted struct {
	CRD    string `json:"crd"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

const (
	// examples is how many objects are named of each group.
	examples = 5
	// most is how many groups a list has, and one for the rest: names that people choose can be in a path, and in what a webhook says.
	most = 500
	// others is what there is beyond them.
	others = "more than can be told apart"
)

// Tally collects outcomes, of several CRDs at a time.
type Tally struct {
	mu   sync.Mutex
	crds []*Counts
}

// Counts are those of the objects of one CRD. They are for one goroutine at a time.
type Counts struct {
	of     CRDReport
	groups tally.Tally[place, string]
	failed map[string]Failure // the first, by what is said
}

// place is that of a group: which of the lists, and what is said.
type place struct {
	list int
	what string
}

// The lists of a CRDReport, in order.
const (
	lost = iota
	changed
	respelled
	failed
	refused
	ratcheted
	added
	undefaulted
	unknown
)

func (of *CRDReport) lists() []*[]Group {
	return []*[]Group{&of.Lost, &of.Changed, &of.Respelled, &of.Failed, &of.Refused, &of.Ratcheted, &of.Added, &of.Undefaulted, &of.Unknown}
}

// NewTally begins with no objects.
func NewTally() *Tally { return &Tally{} }

// Begin counts the objects of a CRD that are read at a version, in a cluster, or goes on counting them.
func (t *Tally) Begin(e *Engine, readAt, cluster string) *Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.crds {
		if c.of.CRD == e.CRD && c.of.ReadAt == readAt && c.of.Cluster == cluster {
			return c
		}
	}
	c := &Counts{
		of:     CRDReport{CRD: e.CRD, Storage: e.Storage, ReadAt: readAt, Cluster: cluster},
		groups: tally.Tally[place, string]{MaxExamples: examples, MaxSorts: most, Other: func(p place) place { return place{p.list, others} }},
		failed: map[string]Failure{},
	}
	t.crds = append(t.crds, c)
	return c
}

// Add counts what became of some objects.
func (c *Counts) Add(outcomes ...Outcome) {
	for _, o := range outcomes {
		c.of.Objects++
		if o.IsSame() {
			c.of.Same++
		}
		for list, said := range [][]string{lost: o.Lost, changed: o.Changed, respelled: o.Respelled, refused: o.Refused, ratcheted: o.Ratcheted, added: o.Added, undefaulted: o.Undefaulted} {
			c.count(list, o.Object, said...)
		}
		for _, f := range o.Failed {
			said := "to " + f.To + ": " + f.Fault.String()
			if c.count(failed, o.Object, said); c.failed[said].Says == "" {
				c.failed[said] = f
			}
		}
		if o.Unknown != "" {
			c.count(unknown, o.Object, o.Unknown)
		}
	}
}

// Restart forgets the objects of the CRD: its list begins anew.
func (c *Counts) Restart() {
	c.of.Objects, c.of.Same = 0, 0
	c.groups.Restart()
	clear(c.failed)
}

// NotRead counts that not all objects of the CRD could be read.
func (c *Counts) NotRead(why string) { c.groups.Add(place{unknown, why}) }

// count adds an object to the groups of what is said of it, to each once.
func (c *Counts) count(list int, object string, said ...string) {
	var counted []place
	for _, what := range said {
		if at := c.groups.As(place{list, crdschema.AnyItem(what)}); !slices.Contains(counted, at) {
			counted = append(counted, at)
			c.groups.Add(at, object)
		}
	}
}

// report lists the groups.
func (c *Counts) report() CRDReport {
	of := c.of
	lists := of.lists()
	for _, s := range c.groups.Sorts() {
		what := s.Key.what
		g := Group{What: what, Objects: s.Count, Examples: append([]string{}, s.Examples...), Status: what == "status" || strings.HasPrefix(what, "status.")}
		if s.Key.list == failed {
			g.Fault, g.Says = c.failed[what].Fault, c.failed[what].Says
		}
		*lists[s.Key.list] = append(*lists[s.Key.list], g)
	}
	return of
}

// Report sums up. Losses that are accepted do not count.
func (t *Tally) Report(accepted []Accepted) Report {
	r := Report{Verdict: Kept, CRDs: []CRDReport{}}
	used := map[Accepted]bool{}
	for _, c := range t.crds {
		r.CRDs = append(r.CRDs, c.report().accepting(accepted, used))
	}
	slices.SortFunc(r.CRDs, func(a, b CRDReport) int {
		return cmp.Or(cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.ReadAt, b.ReadAt))
	})
	for _, a := range accepted {
		if !used[a] {
			r.Unused = append(r.Unused, a)
		}
	}
	switch {
	case slices.ContainsFunc(r.CRDs, CRDReport.NotKept):
		r.Verdict = NotKept
	case slices.ContainsFunc(r.CRDs, func(of CRDReport) bool { return len(of.Unknown) > 0 }):
		r.Verdict = NotKnown
	}
	return r
}

// accepting is sorted, and says which losses are accepted.
func (of CRDReport) accepting(accepted []Accepted, used map[Accepted]bool) CRDReport {
	for _, groups := range of.lists() {
		slices.SortStableFunc(*groups, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.What, b.What)) })
	}
	for _, groups := range [][]Group{of.Lost, of.Changed} {
		for i := range groups {
			for _, a := range accepted {
				if a.CRD == of.CRD && a.Path == groups[i].What {
					groups[i].Accepted, used[a] = a.Reason, true
				}
			}
		}
	}
	return of
}

// NotKept reports whether something outside of status is lost or changed and not accepted, or an object is refused.
func (of CRDReport) NotKept() bool {
	return len(of.Refused) > 0 || len(of.Failed) > 0 || slices.ContainsFunc(of.Lost, Group.Matters) || slices.ContainsFunc(of.Changed, Group.Matters)
}

// Matters reports whether a loss holds something up.
func (g Group) Matters() bool { return g.Accepted == "" && !g.Status }
