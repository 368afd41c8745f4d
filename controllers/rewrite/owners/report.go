package owners

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Report is what a Repair has done.
type Report struct {
	// Each is the same for the owners of each CRD, by its name. What could not be listed is in all of them.
	Each map[string]Report `json:"-"`
	// Moved is how many references were moved, or in a dry run would be. References are some of them.
	Moved      int64       `json:"moved"`
	References []Reference `json:"references"`
	// Left are those that the last look has found and that were not moved, by why.
	Left []Group `json:"left"`
	// NotLooked are the resources that could not be listed at the last look.
	NotLooked []NotLooked `json:"notLooked"`
	// Writers are the field managers that own the references that were found, and so may write the version again.
	Writers []Writer `json:"writers"`
	// Taken is how many moved references belong to Moult in managedFields, because they could not be given back to the one
	// who owned them; TakenWhy is why of one of them.
	Taken    int64  `json:"taken,omitempty"`
	TakenWhy string `json:"takenWhy,omitempty"`
	// Returned is how many of those that were moved had been moved before, in this Repair or in an earlier one that had the same
	// Memory; ReturnedBy are the field managers that own these.
	Returned   int64    `json:"-"`
	ReturnedBy []string `json:"-"`
	// Looks is how often all objects were listed.
	Looks int `json:"looks"`
	// Unfinished: even the last look has found references to be moved.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Reference is one owner reference.
type Reference struct {
	Object Object `json:"object"`
	Path   string `json:"path"`
	CRD    string `json:"crd"`
	// Owner is as in "Widget rose".
	Owner string    `json:"owner"`
	UID   types.UID `json:"uid"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	// OwnerTerminating: the owner is being deleted, so the garbage collector may delete the object next.
	OwnerTerminating bool `json:"ownerTerminating,omitempty"`
	// Writers are the field managers that own the reference.
	Writers []string `json:"writers,omitempty"`
	// Why says why it was left.
	Why string `json:"why,omitempty"`
}

// Object is the object that has a reference.
type Object struct {
	Resource  string `json:"resource"` // as in deployments.apps
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is the object for people.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Resource + " " + o.Name
	}
	return o.Resource + " " + o.Namespace + "/" + o.Name
}

// Reason is why a reference was left. The set is closed.
type Reason string

const (
	// ComesBack: it was moved, and somebody has written the version again.
	ComesBack Reason = "ComesBack"
	// Forbidden: it may not be written.
	Forbidden Reason = "Forbidden"
	// Refused: the API server, a webhook or a policy has refused the write, or the write was never answered.
	Refused Reason = "Refused"
	// OwnerGone: its owner does not exist, or another object has the owner's name.
	OwnerGone Reason = "OwnerGone"
	// OwnerUnknown: whether its owner exists could not be read.
	OwnerUnknown Reason = "OwnerUnknown"
)

// Reasons are all of them.
var Reasons = []Reason{ComesBack, Forbidden, Refused, OwnerGone, OwnerUnknown}

// Group are the references that were left for one reason; References are some of them.
type Group struct {
	Reason     Reason      `json:"reason"`
	Count      int64       `json:"count"`
	Needs      []string    `json:"needs,omitempty"` // permissions, as in "patch on configmaps"
	References []Reference `json:"references"`
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

func byObject(a, b Reference) int {
	return cmp.Or(cmp.Compare(a.Object.Resource, b.Object.Resource), cmp.Compare(a.Object.Namespace, b.Object.Namespace),
		cmp.Compare(a.Object.Name, b.Object.Name), cmp.Compare(a.Path, b.Path))
}

// nameOf is the object of a resource that has these metadata.
func nameOf(r schema.GroupVersionResource, item *metav1.PartialObjectMetadata) Object {
	return Object{Resource: r.GroupResource().String(), Namespace: item.Namespace, Name: item.Name}
}

// permission is as in "patch on deployments in apps".
func permission(verb string, r schema.GroupVersionResource) string {
	if r.Group == "" {
		return verb + " on " + r.Resource
	}
	return verb + " on " + r.Resource + " in " + r.Group
}
