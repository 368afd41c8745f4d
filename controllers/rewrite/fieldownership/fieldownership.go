package fieldownership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/unpacking"
)

// Objects are those of one CRD.
type Objects interface {
	// Whole reads an object at an apiVersion, as JSON; nil if that version is not served.
	Whole(ctx context.Context, key types.NamespacedName, apiVersion string) ([]byte, error)
	// Room waits until there is room for so many bytes, decoded, and keeps it until done is called.
	Room(ctx context.Context, bytes int64) (done func(), err error)
}

// Follower follows owned fields of the objects of one CRD.
type Follower struct {
	types   *Types
	objects Objects
	slots   chan conversion.Converter // each is used for one object at a time
}

const (
	// atATime is how many objects are followed at a time: each is held whole, and
	// may have 1.5 MiB.
	atATime = 4
	// chunkBytes, decoded as unpacking.CostOfJSON reckons, and chunkObjects bound what is sent to the webhook at once.
	chunkBytes   = 4 << 20
	chunkObjects = 8
	// heldTimes is how many times an object is held as it is decoded: at two versions, there and back, without a claim, and as sets of its
	// fields. Each further claim that is asked about at once takes two. An object of 80,000 fields takes 12 MB decoded, as it is reckoned, and
	// 56 MB when it is followed.
	heldTimes = 5
	// mostConverted is what an object that is sent to the webhook, or comes back, may take when it is decoded, in bytes, as
	// unpacking.CostOfJSON reckons. The time that the sets of its fields take grows with the square: half a second for 40,000, in 6 MB.
	mostConverted = 8 << 20
	// An object may take timesRead as much at the other version as where it was read first, and roomAdded more. A tenant decides what
	// the webhook answers.
	timesRead, roomAdded = 4, 64 << 10
	// readTries is how often an object is read that others write meanwhile.
	readTries = 10
)

// New is a Follower of the objects that the schemas are of. newWebhook makes callers of the CRD's webhook, since one makes one
// call at a time. It is nil where the CRD has no webhook.
func New(types *Types, newWebhook func() conversion.Converter, objects Objects) *Follower {
	f := &Follower{types: types, objects: objects, slots: make(chan conversion.Converter, atATime)}
	for range atATime {
		var webhook conversion.Converter
		if newWebhook != nil {
			webhook = newWebhook()
		}
		f.slots <- webhook
	}
	return f
}

// Followed is what a manager owns at the version it was followed to.
type Followed struct {
	Fields *fieldpath.Set
	// Lost are the fields at the version it was followed from that are not among
	// Fields in any shape, and Why is why; empty and nil as a rule.
	Lost *fieldpath.Set
	Why  error
}

var (
	errNoCounterpart = errors.New("the conversion webhook gives it no field of its own there")
	errTooLarge      = fmt.Errorf("the object is too large to be converted as a trial: its values would take more than %d MiB", mostConverted>>20)
	errShared        = errors.New("the conversion webhook makes one field of it and of fields that the manager does not own")
)

// Follow finds what sets of fields of one object, owned at one apiVersion, are at
// another. The error is that of reading the object; what the webhook cannot tell
// is Lost.
func (f *Follower) Follow(ctx context.Context, key types.NamespacedName, from, to string, owned []*fieldpath.Set) ([]Followed, error) {
	followed := make([]Followed, len(owned))
	var rest []*claim
	for i, fields := range owned {
		meta, body := split(fields)
		followed[i] = Followed{Fields: meta, Lost: fieldpath.NewSet()}
		if !body.Empty() {
			rest = append(rest, &claim{owned: body, result: &followed[i]})
		}
	}
	if len(rest) == 0 {
		return followed, nil // metadata is the same at all versions
	}
	var webhook conversion.Converter
	select {
	case webhook = <-f.slots:
		defer func() { f.slots <- webhook }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pair, done, err := f.pair(ctx, webhook, key, from, to, len(rest))
	if err != nil {
		return nil, err
	}
	defer done()
	if webhook == nil {
		for _, c := range rest {
			pair.regroup(c)
		}
		return followed, nil
	}
	for _, c := range rest {
		pair.place(c)
	}
	for chunk := range slices.Chunk(slices.DeleteFunc(rest, pair.same), pair.atOnce) {
		if err := f.convert(ctx, pair, chunk); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			for _, c := range chunk {
				pair.keepEqual(c, err)
			}
		}
	}
	return followed, nil
}

// split takes the fields apart that no conversion may touch, but for labels and
// annotations, and those have the same names at all versions.
func split(fields *fieldpath.Set) (meta, body *fieldpath.Set) {
	meta, body = fieldpath.NewSet(), fieldpath.NewSet()
	for path := range paths(fields) {
		if isMeta(path) {
			meta.Insert(path)
		} else {
			body.Insert(path)
		}
	}
	return meta, body
}

func isMeta(path fieldpath.Path) bool {
	if len(path) == 0 || path[0].FieldName == nil {
		return false
	}
	switch *path[0].FieldName {
	case "apiVersion", "kind", "metadata":
		return true
	}
	return false
}

// pair reads an object at both versions, and keeps the room for what so many claims take until done is called. The error is that of
// reading it.
func (f *Follower) pair(ctx context.Context, webhook conversion.Converter, key types.NamespacedName, from, to string, claims int) (p *pair, done func(), err error) {
	raw, err := f.objects.Whole(ctx, key, to)
	if err != nil {
		return nil, nil, err
	}
	cost, _ := unpacking.CostOfJSON(raw)
	most := min(timesRead*cost+roomAdded, mostConverted)
	atOnce := min(max(chunkBytes/most, 1), chunkObjects, int64(claims))
	if done, err = f.objects.Room(ctx, max(cost, most)*(heldTimes+2*(atOnce-1))); err != nil {
		return nil, nil, err
	}
	before, after, err := f.both(ctx, key, from, to, raw, max(cost+cost/4, most))
	if err != nil {
		done()
		return nil, nil, err
	}
	p = &pair{webhook: webhook, from: from, to: to, served: before != nil, tooLarge: cost > mostConverted, most: most, atOnce: int(atOnce)}
	p.err = f.understand(ctx, p, before, after)
	return p, done, nil
}

// both are the same state of an object at both versions. One has been read. It is an error if there is no room for what is read then:
// the API server asks the webhook, too.
func (f *Follower) both(ctx context.Context, key types.NamespacedName, from, to string, raw []byte, most int64) (before, after *unstructured.Unstructured, err error) {
	for range readTries {
		if after, err = object(raw, key, to); err != nil {
			return nil, nil, err
		}
		other, err := f.objects.Whole(ctx, key, from)
		if err != nil {
			return nil, nil, err
		}
		if err := within(other, most); err != nil {
			return nil, nil, fmt.Errorf("%s at %s: %w", key, from, err)
		}
		if before, err = object(other, key, from); err != nil {
			return nil, nil, err
		}
		if before == nil || before.GetResourceVersion() == after.GetResourceVersion() {
			return before, after, nil
		}
		if raw, err = f.objects.Whole(ctx, key, to); err != nil {
			return nil, nil, err
		}
		if err := within(raw, most); err != nil {
			return nil, nil, fmt.Errorf("%s at %s: %w", key, to, err)
		}
	}
	return nil, nil, fmt.Errorf("%s was written each time between two reads", key)
}

// understand makes views of both. A version that is not served is what the other is
// converted to.
func (f *Follower) understand(ctx context.Context, p *pair, before, after *unstructured.Unstructured) (err error) {
	if p.after, err = f.types.view(after); err != nil {
		return err
	}
	if before == nil {
		if p.webhook != nil && p.tooLarge {
			return errTooLarge
		}
		if before, err = f.converted(ctx, p, after); err != nil {
			return err
		}
	}
	p.before, err = f.types.view(before)
	return err
}

func (f *Follower) converted(ctx context.Context, p *pair, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if p.webhook == nil {
		return f.types.pruned(object, p.from)
	}
	converted, err := f.ask(ctx, p, []map[string]any{object.Object}, p.from)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: converted[0]}, nil
}

// object is nil if nothing was read, because the version is not served.
func object(raw []byte, key types.NamespacedName, apiVersion string) (*unstructured.Unstructured, error) {
	if raw == nil {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("reading %s at %s: %w", key, apiVersion, err)
	}
	object.SetManagedFields(nil) // nothing that a conversion depends on
	return object, nil
}

// None is what remains when nothing can be found out: metadata.
func None(owned []*fieldpath.Set, why error) []Followed {
	followed := make([]Followed, len(owned))
	for i, fields := range owned {
		meta, body := split(fields)
		if followed[i] = (Followed{Fields: meta, Lost: body}); !body.Empty() {
			followed[i].Why = why
		}
	}
	return followed
}
