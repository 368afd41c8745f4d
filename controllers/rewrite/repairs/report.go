package repairs

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/words"
)

// Report is what a repair has done.
type Report struct {
	// Each is the same for each CRD, by its name. What could not be listed is in all of them.
	Each map[string]Report `json:"-"`
	// Moved is how many items were moved, or in a dry run would be. Items are some of them.
	Moved int64  `json:"moved"`
	Items []Item `json:"items"`
	// Left are those that the last look has found and that were not moved, by why.
	Left []Group `json:"left"`
	// NotLooked are the resources that could not be listed at the last look.
	NotLooked []NotLooked `json:"notLooked"`
	// Looks is how often everything was listed.
	Looks int `json:"looks"`
	// Unfinished: even the last look has found something to be moved.
	Unfinished bool `json:"unfinished,omitempty"`
	// Writers are the field managers that own the references that were found, and so may write the version again.
	Writers []Writer `json:"writers,omitempty"`
	// Taken is how many moved references belong to Moult in managedFields, because they could not be given back to the
	// one who owned them. TakenWhy is why of one of them.
	Taken    int64  `json:"taken,omitempty"`
	TakenWhy string `json:"takenWhy,omitempty"`
	// Repointed is how many objects name the successor of a copy now.
	Repointed int64 `json:"repointed,omitempty"`
	// Returned is how many came back. These are references that somebody wrote again after they had been moved, in this
	// repair or in an earlier one. Or they are copies that were removed, that something named meanwhile, and that were
	// made again. ReturnedBy are the field managers that own these references.
	Returned   int64    `json:"returned,omitempty"`
	ReturnedBy []string `json:"-"`
}

// Item is what is moved: an owner reference, or an object with a stashed copy.
type Item struct {
	Object Object `json:"object"`
	CRD    string `json:"crd,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Why says why it was left.
	Why string `json:"why,omitempty"`

	// Path is where an owner reference is, Owner is as in "Widget rose", and Writers are the field managers that own the reference.
	Path    string    `json:"path,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	UID     types.UID `json:"uid,omitempty"`
	Writers []string  `json:"writers,omitempty"`
	// OwnerTerminating: the owner is being deleted, so the garbage collector may delete the object next.
	OwnerTerminating bool `json:"ownerTerminating,omitempty"`

	// Place is where a copy lies, and Copy the kind and the name of what is in it.
	Place string `json:"place,omitempty"`
	Copy  string `json:"copy,omitempty"`
	// Successor is the name of the object that takes its place.
	Successor string `json:"successor,omitempty"`
	// Referrers is how many objects named it when it was seen last.
	Referrers int64 `json:"referrers,omitempty"`
}

// clipped is an item as it is reported: what an owner reference or a copy names may be as long as an object.
func (i Item) clipped() Item {
	for _, text := range []*string{&i.From, &i.Why, &i.Owner, (*string)(&i.UID), &i.Copy} {
		*text = words.Clip(*text, words.MostQuoted)
	}
	return i
}

// Object is an object's resource and name.
type Object = survivors.ObjectRef

// ObjectOf names an object of a resource.
func ObjectOf(r schema.GroupVersionResource, item metav1.Object) Object {
	return Object{Resource: r.GroupResource().String(), Namespace: item.GetNamespace(), Name: item.GetName()}
}

// Group are the items that were left for one reason; Items are some of them.
type Group struct {
	Reason Reason   `json:"reason"`
	Count  int64    `json:"count"`
	Needs  []string `json:"needs,omitempty"` // permissions, as in "patch on deployments in apps"
	Items  []Item   `json:"items"`
}

// NotLooked is a resource that could not be listed.
type NotLooked struct {
	Resource string `json:"resource"`
	Why      string `json:"why"`
}

// Writer is a field manager, and how many of the references it owns.
type Writer struct {
	Manager    string `json:"manager"`
	References int64  `json:"references"`
}

// Verdict is the answer in a word. The set is closed.
type Verdict string

const (
	// Done: all that were found are moved, and everything could be looked at.
	Done Verdict = "done"
	// Remaining: something is left.
	Remaining Verdict = "left"
	// NotKnown: nothing that was found is left, and not everything could be looked at.
	NotKnown Verdict = "unknown"
)

// Verdict is never better than what was seen.
func (r *Report) Verdict() Verdict {
	switch {
	case len(r.Left) > 0, r.Unfinished:
		return Remaining
	case len(r.NotLooked) > 0:
		return NotKnown
	default:
		return Done
	}
}

// LeftCount is how many are left.
func (r *Report) LeftCount() (n int64) {
	for i := range r.Left {
		n += r.Left[i].Count
	}
	return n
}

// group are those that are left for a reason.
func (r *Report) group(reason Reason) *Group {
	i := slices.IndexFunc(r.Left, func(g Group) bool { return g.Reason == reason })
	if i < 0 {
		i, r.Left = len(r.Left), append(r.Left, Group{Reason: reason})
	}
	return &r.Left[i]
}

// writes counts references that a field manager owns.
func (r *Report) writes(manager string, n int64) {
	i := slices.IndexFunc(r.Writers, func(w Writer) bool { return w.Manager == manager })
	if i < 0 {
		i, r.Writers = len(r.Writers), append(r.Writers, Writer{Manager: manager})
	}
	r.Writers[i].References += n
}

// add puts what was found for another CRD to this.
func (r *Report) add(other *Report) {
	r.Moved, r.Taken, r.Repointed, r.Returned = r.Moved+other.Moved, r.Taken+other.Taken, r.Repointed+other.Repointed, r.Returned+other.Returned
	r.Items, r.ReturnedBy = append(r.Items, other.Items...), append(r.ReturnedBy, other.ReturnedBy...)
	r.TakenWhy = cmp.Or(r.TakenWhy, other.TakenWhy)
	for _, w := range other.Writers {
		r.writes(w.Manager, w.References)
	}
	for _, g := range other.Left {
		to := r.group(g.Reason)
		to.Count += g.Count
		to.Items, to.Needs = append(to.Items, g.Items...), append(to.Needs, g.Needs...)
	}
}

// ended is the report in order, with so many items of each sort at most; 0 is for all.
func (r *Report) ended(kind *Kind, most int) Report {
	in := func(items []Item) []Item {
		sorted := append([]Item{}, items...)
		slices.SortFunc(sorted, byObject)
		if most > 0 {
			sorted = sorted[:min(most, len(sorted))]
		}
		return sorted
	}
	e := *r
	e.Items, e.Left, e.ReturnedBy = in(r.Items), []Group{}, distinct(r.ReturnedBy)
	e.NotLooked = append([]NotLooked{}, r.NotLooked...)
	for i := range kind.Reasons {
		for _, g := range r.Left {
			if g.Reason == kind.Reasons[i].Reason {
				e.Left = append(e.Left, Group{Reason: g.Reason, Count: g.Count, Needs: distinct(g.Needs), Items: in(g.Items)})
			}
		}
	}
	slices.SortFunc(e.NotLooked, func(a, b NotLooked) int { return cmp.Compare(a.Resource, b.Resource) })
	slices.SortFunc(e.Writers, func(a, b Writer) int {
		return cmp.Or(cmp.Compare(b.References, a.References), cmp.Compare(a.Manager, b.Manager))
	})
	return e
}

func byObject(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Object.Resource, b.Object.Resource), cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.Path, b.Path))
}

func distinct(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}
