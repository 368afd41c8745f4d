package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	crds "github.com/moult-dev/moult/api/crd"
	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/plan"
	"github.com/moult-dev/moult/policies/words"
)

// A walk stores every object at the storage version. Where no webhook converts them, the API server drops what the storage
// version's schema does not have, without a word. So before a walk writes anything, the objects are read at the other versions,
// at which such fields show. What a webhook drops is known only if it is asked (Options.Rehearse).

// rehearser reports what objects of a CRD lose when its webhook converts them.
type rehearser interface {
	// Lost are the fields that clients of its version would not find again, or find changed, for each of the objects,
	// which are all read at one version. An item of a list is written as [*]. The error says why the webhook could not
	// be asked.
	Lost(ctx context.Context, objects []map[string]any) ([][]string, error)
}

// fields are those of the objects of one CRD that are lost on the way to its storage version.
type fields struct {
	why      string
	client   *rewrite.Client
	resource schema.GroupResource
	sights   []sight
	storage  string
	mayDrop  []string // as the CRD says
	statuses []string // versions at which status is its controller's alone
	trimmed  string   // what is to be said of storedVersions where it does not name a version

	losses []rewrite.FieldLoss
	unseen []unseen
	hidden []rewrite.FieldLoss // that objects may have, as far as their managedFields show; the field is empty if it cannot be named
}

// sight is a look at all objects.
type sight struct {
	rehearser
	batch int // of objects that are looked at together
	// at is the version that they are read at, and of the version that they may be stored at. If that is not served, the objects
	// are read at the storage version.
	at, of string
}

// unseen are the fields that objects may have that are stored at a version which is not served, so that no client can
// read them. No fields are all.
type unseen struct {
	version string
	fields  []string
}

// pruned is what the API server drops without a webhook. It fills in the defaults of the storage version, for which it takes room.
type pruned struct {
	*crdschema.Finder
	client *rewrite.Client
}

// Lost is a rehearser's. The error may be a *crdschema.TooLarge.
func (p pruned) Lost(ctx context.Context, objects []map[string]any) (all [][]string, err error) {
	for _, object := range objects {
		is := &unstructured.Unstructured{Object: object}
		name := strings.TrimPrefix(is.GetNamespace()+"/"+is.GetName(), "/")
		_, version, _ := strings.Cut(is.GetAPIVersion(), "/")
		done, err := p.client.RoomToAdd(ctx, p.Add(object))
		if err != nil {
			return nil, err
		}
		lost, err := p.LostFrom(object, version)
		done()
		if isTooLarge(err) {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return nil, rewrite.StoppedBy(err)
		}
		all = append(all, lost)
	}
	return all, nil
}

func isTooLarge(err error) bool { return errors.As(err, new(*crdschema.TooLarge)) }

// guard looks at all objects, and has the walk look at those that are written while it is under way. The error is a
// *walkFailure if objects would lose what they may not.
func (r *Reconciler) guard(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, walk *rewrite.Walk) ([]rewrite.FieldLoss, error) {
	if walk.Mode == rewrite.Survey {
		return nil, nil // all objects are at the storage version
	}
	f, err := r.fieldsOf(ctx, crd.Name)
	if err != nil || f == nil {
		return nil, err
	}
	// A permission that came after the walk had begun does not count for it: that it is taken back would not stop the walk.
	f.mayDrop = slices.DeleteFunc(f.mayDrop, func(field string) bool { return !slices.Contains(mayDrop(crd.Annotations), field) })
	guard := &rewrite.Guard{Lost: f.lostBy}
	for i, s := range f.sights {
		at := func(done, total int64) { walk.Look.At(int64(i)*total+done, int64(len(f.sights))*total) }
		if guard.LookedAt, err = f.look(ctx, r, s, guard.LookedAt, at); err != nil {
			return nil, err
		}
	}
	if failure := f.failure(); failure != nil {
		return f.losses, &walkFailure{*failure}
	}
	if len(f.sights) > 0 {
		walk.Guard = guard
	}
	return f.losses, nil
}

// fieldsOf reads the CRD anew, since the cache holds no schemas. It is nil if no field can be lost: a webhook converts, and
// answers for what it does, or nothing is pruned.
func (r *Reconciler) fieldsOf(ctx context.Context, name string) (f *fields, err error) {
	unread := r.whole(ctx, name, func(crd *apiextensionsv1.CustomResourceDefinition) error {
		f, err = r.fieldsIn(crd)
		return nil
	})
	if large := (*tooManySchemas)(nil); errors.As(unread, &large) {
		return nil, unknownFields(large)
	}
	if unread != nil {
		return nil, rewrite.StoppedBy(fmt.Errorf("reading the schemas of %s: %w", name, unread))
	}
	return f, err
}

func unknownFields(why error) *walkFailure {
	return &walkFailure{*failure(v1alpha1.ReasonFieldsWouldBeLost, "it is not known which fields objects would lose, since a schema of the CRD cannot be read", ": %v", why)}
}

// fieldsIn is fieldsOf a CRD that was read with its schemas.
func (r *Reconciler) fieldsIn(crd *apiextensionsv1.CustomResourceDefinition) (*fields, error) {
	if crds.HasWebhook(crd) {
		return r.convertedFields(crd)
	}
	finder, err := crdschema.Of(crd)
	if err != nil && crd.Spec.PreserveUnknownFields {
		return nil, nil // metadata of embedded resources alone are dropped in spite of it, and a schema with these is structural
	}
	if err != nil {
		return nil, unknownFields(err)
	}
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil // the finder has them, and a large one takes as much as all that is found by it
	}
	f, left := r.newFields(crd), maxFieldLosses
	for _, version := range crd.Spec.Versions {
		lacking := slices.DeleteFunc(finder.Lacking(version.Name), func(field string) bool { return !version.Served && f.may(version.Name, field) })
		switch {
		case len(lacking) == 0:
		case version.Served:
			f.sights = append(f.sights, sight{pruned{finder, f.client}, 1, version.Name, version.Name})
		case crds.IsHidden(crd, version.Name):
			f.sights = append(f.sights, sight{named{finder, version.Name}, 1, f.storage, version.Name})
		default:
			clipped := words.Of(lacking[:min(len(lacking), max(left, 1))], func(field string) string { return words.Clip(field, words.MostQuoted) })
			left -= len(clipped)
			f.unseen = append(f.unseen, unseen{version.Name, clipped})
		}
	}
	return f, nil
}

func (r *Reconciler) newFields(crd *apiextensionsv1.CustomResourceDefinition) *fields {
	storage := crds.StorageVersion(crd)
	return &fields{
		client: r.objects, resource: resourceOf(crd), storage: storage, mayDrop: mayDrop(crd.Annotations), trimmed: r.unproved(crd),
		statuses: slices.DeleteFunc(crds.Versions(crd), func(v string) bool { return !crds.HasStatus(crd, v) }),
		why:      "objects have fields that " + storage + " does not have, and would lose them for good",
	}
}

// convertedFields are those that a webhook loses of what is read at other versions. It is nil if it is not to be asked.
func (r *Reconciler) convertedFields(crd *apiextensionsv1.CustomResourceDefinition) (*fields, error) {
	if !r.opts.Rehearse {
		return nil, nil
	}
	webhook, err := r.newRehearsal(crd)
	if err != nil {
		return nil, &rewrite.Stopped{Cause: rewrite.ConversionUnavailable, Err: err}
	}
	f := r.newFields(crd)
	f.client = f.client.Converted()
	f.why = "the conversion webhook would lose or change fields of objects for good on the way to " + f.storage
	for _, version := range crd.Spec.Versions {
		switch {
		case version.Name == f.storage:
		case version.Served: // also if storedVersions does not have it: somebody else may have trimmed that
			f.sights = append(f.sights, sight{webhook, rehearsed, version.Name, version.Name})
		case crds.IsHidden(crd, version.Name):
			f.sights = append(f.sights, sight{written{crd, version.Name}, 1, f.storage, version.Name})
		default:
			f.unseen = append(f.unseen, unseen{version: version.Name})
		}
	}
	return f, nil
}

// may reports whether a field of a version may be lost. One of status may where its controller alone writes it, and will write it
// anew: without the subresource, each client that writes an object writes its status, too.
func (f *fields) may(version, field string) bool {
	return crdschema.InStatus(field) && slices.Contains(f.statuses, version) || crdschema.Allows(f.mayDrop, field)
}

// look reads all objects, and says how far it is. It returns the resourceVersion up to which this look and those before have
// seen all.
func (f *fields) look(ctx context.Context, r *Reconciler, s sight, before string, at func(done, total int64)) (lookedAt string, err error) {
	var found []rewrite.FieldLoss
	var seen int64
	listed, err := f.client.EachWhole(ctx, f.resource.WithVersion(s.at), r.opts.Clock, func() { found, seen = nil, 0 }, func(page []map[string]any, left int64) error {
		total := seen + int64(len(page)) + left
		for batch := range slices.Chunk(page, s.batch) {
			lost, err := s.Lost(ctx, batch)
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			for i := range lost {
				for _, field := range lost[i] {
					found = f.count(found, s.of, field, batch[i])
				}
			}
			seen += int64(len(batch))
			at(seen, total)
		}
		return nil
	})
	if failed := (*rewrite.Undecoded)(nil); errors.As(err, &failed) {
		return "", &walkFailure{*failure(v1alpha1.ReasonObjectsFailed, words.Count(int64(failed.All), "object")+
			" cannot be decoded, so it is not known which fields would be lost; delete each, or make it smaller or less deep; trying again with growing pauses", ": %v", failed)}
	}
	if isTooLarge(err) {
		return "", &walkFailure{*failure(v1alpha1.ReasonObjectsFailed,
			"it is not known which fields an object would lose, since it is too large, by itself or with all defaults; make it smaller; trying again with growing pauses", ": %v", err)}
	}
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(found, func(a, b rewrite.FieldLoss) int { return strings.Compare(a.Field, b.Field) })
	if s.at == s.of {
		f.losses = most(append(f.losses, found...))
	} else {
		f.hidden = most(append(f.hidden, slices.DeleteFunc(found, func(l rewrite.FieldLoss) bool { return l.Allowed })...))
	}
	if before != "" && plan.Older(before, listed) {
		return before, nil
	}
	return listed, nil
}

// lostBy are fields that one object would lose that it may not: as many as a sentence names.
func (f *fields) lostBy(ctx context.Context, key types.NamespacedName) (lost []string, err error) {
	for _, s := range f.sights {
		err := f.client.TakeWhole(ctx, f.resource.WithVersion(s.at), key, func(raw []byte) error {
			object := map[string]any{}
			if err := utiljson.Unmarshal(raw, &object); err != nil {
				return err
			}
			more, err := s.Lost(ctx, []map[string]any{object})
			if isTooLarge(err) {
				lost, err = append(lost, fmt.Sprintf("something that is not known (%v)", err)), nil
			}
			lost = append(lost, slices.DeleteFunc(slices.Concat(more...), func(field string) bool { return f.may(s.of, field) })...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(lost)
	lost = slices.Compact(lost)
	return lost[:min(len(lost), maxFieldsTold)], nil
}
