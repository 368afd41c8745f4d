package fieldownership

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/moult-dev/moult/policies/unpacking"
)

// convert asks the webhook what becomes of the object without each claim, and
// whether the way back says the same.
func (f *Follower) convert(ctx context.Context, p *pair, claims []*claim) error {
	if p.err != nil {
		return p.err
	}
	if p.tooLarge {
		return errTooLarge
	}
	there, err := f.differ(ctx, p, p.before, p.to, claims, func(c *claim) *fieldpath.Set { return c.removable })
	if err != nil {
		return err
	}
	for _, c := range claims {
		c.candidate = there.changed(c)
	}
	if err := f.confirm(ctx, p, there.base, claims); err != nil {
		return err
	}
	for _, c := range claims {
		if c.gained.Empty() {
			continue
		}
		c.shared = true
		c.candidate = c.leaves.Intersection(there.base.leaves) // as it is called here: what depends on it is not it
		if err := f.confirm(ctx, p, there.base, []*claim{c}); err != nil {
			return err
		}
	}
	for _, c := range claims {
		p.conclude(c, there.base)
	}
	return nil
}

// confirm finds out what owning the candidates means at the version that they
// come from: which fields of a claim are not among it, and which are not the
// claim's.
func (f *Follower) confirm(ctx context.Context, p *pair, base *view, claims []*claim) error {
	back, err := f.differ(ctx, p, base, p.from, claims, func(c *claim) *fieldpath.Set { return base.removable(above(c.candidate), c.candidate) })
	if err != nil {
		return err
	}
	for _, c := range claims {
		governed := back.changed(c)
		c.missing, c.gained = c.leaves.Difference(governed), governed.Difference(c.leaves).Difference(c.keys)
	}
	return nil
}

// difference is an object converted, whole and without each of some claims.
type difference struct {
	base *view
	less map[*claim]*fieldpath.Set
}

func (d *difference) changed(c *claim) *fieldpath.Set { return d.less[c] }

func (f *Follower) differ(ctx context.Context, p *pair, whole *view, to string, claims []*claim, without func(*claim) *fieldpath.Set) (*difference, error) {
	objects := []map[string]any{whole.object.Object}
	for _, c := range claims {
		objects = append(objects, whole.without(without(c)).Object)
	}
	converted, err := f.ask(ctx, p, objects, to)
	if err != nil {
		return nil, err
	}
	base, err := f.types.view(&unstructured.Unstructured{Object: converted[0]})
	if err != nil {
		return nil, err
	}
	d := &difference{base: base, less: map[*claim]*fieldpath.Set{}}
	for i, c := range claims {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		less, err := f.types.view(&unstructured.Unstructured{Object: converted[i+1]})
		if err != nil {
			return nil, err
		}
		if d.less[c], err = base.lacking(less); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ask asks for all in one request, and for large objects in one each: the API server's code holds what it sends and reads several
// times. What there is no room for is refused before its fields are looked at.
func (f *Follower) ask(ctx context.Context, p *pair, objects []map[string]any, to string) (converted []map[string]any, err error) {
	n := p.atOnce
	if n > 1 || 2*p.most <= chunkBytes {
		n++ // beside the whole one
	}
	for part := range slices.Chunk(objects, n) {
		more, err := p.webhook.Convert(ctx, part, to)
		if err != nil {
			return nil, err
		}
		for _, object := range more {
			raw, err := json.Marshal(object)
			if err == nil {
				err = within(raw, p.most)
			}
			if err != nil {
				return nil, fmt.Errorf("an answer of the conversion webhook of %s is refused: at %s, %w", f.types.crd.Name, to, err)
			}
		}
		converted = append(converted, more...)
	}
	return converted, nil
}

// within is an error of an object whose values take more than there is room for.
func within(raw []byte, most int64) error {
	if cost, _ := unpacking.CostOfJSON(raw); cost > most {
		return fmt.Errorf("the object's values take %d KiB where %d KiB are the most by what was read first", cost>>10, most>>10)
	}
	return nil
}
