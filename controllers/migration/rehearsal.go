package migration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/policies/crdschema"
	"github.com/moult-dev/moult/policies/unpacking"
	"github.com/moult-dev/moult/policies/words"
)

const (
	// rehearsed is how many objects a webhook is asked about at a time.
	rehearsed = 50
	// mostRehearsed is what objects may take that are asked about together, in bytes, and what each of the two answers may. So they are held
	// four times at most, in a container of 256 MiB.
	mostRehearsed = 32 << 20
)

// rehearsal asks the webhook of one CRD what it loses. It is a rehearser.
type rehearsal struct{ engine *conversion.Engine }

// turn is of the process: an object there and back is held four times, so all CRDs take turns.
var turn = semaphore.NewWeighted(1)

// newRehearsal asks nothing yet.
func (r *Reconciler) newRehearsal(crd *apiextensionsv1.CustomResourceDefinition) (*rehearsal, error) {
	engine, err := conversion.New(crd)
	if err != nil {
		return nil, err
	}
	webhook, err := r.opts.NewConverter(crd)
	if err != nil {
		return nil, err
	}
	return &rehearsal{engine.With(webhook)}, nil
}

// Lost is a rehearser's. An object that cannot be converted there and back is an error: a webhook that is not ready may do it the
// next time, and lose something.
func (r *rehearsal) Lost(ctx context.Context, objects []map[string]any) (all [][]string, err error) {
	if err := turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer turn.Release(1)
	return r.lost(ctx, objects)
}

// lost asks about fewer objects at a time if the answers about all of them would be too large, or their defaults.
func (r *rehearsal) lost(ctx context.Context, objects []map[string]any) (all [][]string, err error) {
	if err := fits(objects); err != nil {
		return nil, notAsked(ctx, err)
	}
	outcomes := r.engine.Losses(ctx, objects, mostRehearsed)
	if half := len(objects) / 2; half > 0 && slices.ContainsFunc(outcomes, needsMore) {
		first, err := r.lost(ctx, objects[:half])
		if err != nil {
			return nil, err
		}
		others, err := r.lost(ctx, objects[half:])
		return append(first, others...), err
	}
	for _, o := range outcomes {
		if o.Unknown != "" {
			return nil, notAsked(ctx, errors.New(o.Unknown))
		}
		if len(o.Failed) > 0 {
			err := fmt.Errorf("%s cannot be converted to %s: %w", o.Object, o.Failed[0].To, o.Failed[0])
			if needsMore(o) {
				err = fmt.Errorf("%w; %s", err, smaller)
			}
			return nil, notAsked(ctx, err)
		}
		lost := words.Of(slices.Concat(o.Lost, o.Changed), crdschema.AnyItem)
		slices.Sort(lost)
		all = append(all, slices.Compact(lost))
	}
	return all, nil
}

// needsMore reports whether an outcome is that of an object that became larger than there was room for.
func needsMore(o conversion.Outcome) bool {
	return slices.ContainsFunc(o.Failed, func(f conversion.Failure) bool { return f.Fault == conversion.FaultTooLarge })
}

// smaller is what to do about an object that is too large.
const smaller = "run `moult rehearse`, and then the controller without --rehearse, or make the object smaller"

// fits is an error of objects that are too large to be asked about. Several are of one page, which is smaller.
func fits(objects []map[string]any) error {
	size := int64(0)
	for _, object := range objects {
		size += unpacking.SizeOf(object)
	}
	if size <= mostRehearsed {
		return nil
	}
	is := &unstructured.Unstructured{Object: objects[0]}
	return fmt.Errorf("%s takes %d MiB when it is decoded, and the controller has memory for %d; %s",
		strings.TrimPrefix(is.GetNamespace()+"/"+is.GetName(), "/"), size>>20, mostRehearsed>>20, smaller)
}

// notAsked is that a webhook could not be asked, if there was time for it.
func notAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &rewrite.Stopped{Cause: rewrite.ConversionUnavailable, Err: fmt.Errorf("asked by Moult what it would lose: %w", err)}
}
