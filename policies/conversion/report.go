package conversion

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Verdict is the answer in a word. The set is closed.
type Verdict string

const (
	// Kept: nothing is lost, and nothing is refused.
	Kept Verdict = "kept"
	// NotKept: a field is lost that nobody has accepted, or an object is refused.
	NotKept Verdict = "notKept"
	// NotKnown: of some objects it cannot be told, and of the others nothing is lost.
	NotKnown Verdict = "unknown"
)

// Report sums up the outcomes of many objects.
type Report struct {
	Verdict Verdict `json:"verdict"`
	CRDs    []OfCRD `json:"crds"`
	// Unused are accepted losses that do not occur.
	Unused []Accepted `json:"unused,omitempty"`
}

// OfCRD is what becomes of the objects of one CRD.
type OfCRD struct {
	CRD     string `json:"crd"`
	Storage string `json:"storage"`
	// ReadAt is the version that a cluster's objects were read at; empty for manifests, which say it themselves.
	ReadAt  string `json:"readAt,omitempty"`
	Objects int64  `json:"objects"`
	// Lost, Refused, Ratcheted and Unknown are as in an Outcome, by what is said, the most frequent first.
	Lost      []Group `json:"lost,omitempty"`
	Refused   []Group `json:"refused,omitempty"`
	Ratcheted []Group `json:"ratcheted,omitempty"`
	Unknown   []Group `json:"unknown,omitempty"`
}

// Group are the objects of which the same is said.
type Group struct {
	// What is a path, in which [*] is any index, or a sentence.
	What string `json:"what"`
	// Objects is how many there are, and Examples are some of them.
	Objects  int64    `json:"objects"`
	Examples []string `json:"examples"`
	// Status is true for a path in status, which its controller writes anew: it is told and holds nothing up.
	Status bool `json:"status,omitempty"`
	// Accepted is why the loss is meant; empty if nobody has said so.
	Accepted string `json:"accepted,omitempty"`
}

// Accepted is a loss that is meant.
type Accepted struct {
	CRD    string `json:"crd"`
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// examples is how many objects are named of each group.
const examples = 5

// Tally collects outcomes, of one CRD after the other.
type Tally struct {
	crds []*Counts
}

// Counts are those of the objects of one CRD.
type Counts struct{ of OfCRD }

// NewTally begins with no objects.
func NewTally() *Tally { return &Tally{} }

// Begin counts the objects of a CRD that are read at a version, or goes on counting them.
func (t *Tally) Begin(e *Engine, readAt string) *Counts {
	for _, c := range t.crds {
		if c.of.CRD == e.CRD && c.of.ReadAt == readAt {
			return c
		}
	}
	c := &Counts{OfCRD{CRD: e.CRD, Storage: e.Storage, ReadAt: readAt}}
	t.crds = append(t.crds, c)
	return c
}

// Add counts what became of one object.
func (c *Counts) Add(o Outcome) {
	c.of.Objects++
	count(&c.of.Lost, o.Object, o.Lost)
	count(&c.of.Refused, o.Object, o.Refused)
	count(&c.of.Ratcheted, o.Object, o.Ratcheted)
	if o.Unknown != "" {
		count(&c.of.Unknown, o.Object, []string{o.Unknown})
	}
}

// Restart forgets the objects of the CRD: its list begins anew.
func (c *Counts) Restart() { c.of = OfCRD{CRD: c.of.CRD, Storage: c.of.Storage, ReadAt: c.of.ReadAt} }

// NotRead counts that not all objects of the CRD could be read.
func (c *Counts) NotRead(why string) { count(&c.of.Unknown, "", []string{why}) }

// index is that of a list's item.
var index = regexp.MustCompile(`\[\d+\]`)

// count adds an object to the groups of what is said of it, to each once.
func count(groups *[]Group, object string, what []string) {
	var counted []string
	for _, w := range what {
		w = index.ReplaceAllString(w, "[*]")
		if slices.Contains(counted, w) {
			continue
		}
		counted = append(counted, w)
		at := slices.IndexFunc(*groups, func(g Group) bool { return g.What == w })
		if at < 0 {
			at = len(*groups)
			*groups = append(*groups, Group{What: w, Examples: []string{}, Status: strings.HasPrefix(w, "status.")})
		}
		g := &(*groups)[at]
		if g.Objects++; len(g.Examples) < examples && object != "" {
			g.Examples = append(g.Examples, object)
		}
	}
}

// Report ends the tally. Losses that are accepted do not count.
func (t *Tally) Report(accepted []Accepted) Report {
	r := Report{Verdict: Kept, CRDs: []OfCRD{}}
	used := map[Accepted]bool{}
	for _, c := range t.crds {
		of := &c.of
		for i := range of.Lost {
			for _, a := range accepted {
				if a.CRD == of.CRD && a.Path == of.Lost[i].What {
					of.Lost[i].Accepted, used[a] = a.Reason, true
				}
			}
		}
		for _, groups := range [][]Group{of.Lost, of.Refused, of.Ratcheted, of.Unknown} {
			slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Or(cmp.Compare(b.Objects, a.Objects), cmp.Compare(a.What, b.What)) })
		}
		r.CRDs = append(r.CRDs, *of)
	}
	slices.SortFunc(r.CRDs, func(a, b OfCRD) int { return cmp.Or(cmp.Compare(a.CRD, b.CRD), cmp.Compare(a.ReadAt, b.ReadAt)) })
	for _, a := range accepted {
		if !used[a] {
			r.Unused = append(r.Unused, a)
		}
	}
	matters := func(g Group) bool { return g.Accepted == "" && !g.Status }
	switch {
	case slices.ContainsFunc(r.CRDs, func(of OfCRD) bool { return len(of.Refused) > 0 || slices.ContainsFunc(of.Lost, matters) }):
		r.Verdict = NotKept
	case slices.ContainsFunc(r.CRDs, func(of OfCRD) bool { return len(of.Unknown) > 0 }):
		r.Verdict = NotKnown
	}
	return r
}
