package embeddedcopies

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/unpacking"
)

// removed are the objects that were deleted, or were about to be, in this run and those before it.
type removed struct {
	mu    sync.Mutex
	known map[types.NamespacedName]kept
}

// kept is where a removed object is: in the journal, which holds it, or in an annotation of another object, where it stays until it
// is needed. Annotations can hold a thousand times as much as they are long.
type kept struct {
	object *unstructured.Unstructured
	at     schema.GroupVersionResource
	in     types.NamespacedName
}

// mostKnown is how many removed objects are known of in annotations.
const mostKnown = 100_000

func newRemoved(journal Journal) *removed {
	r := &removed{known: map[types.NamespacedName]kept{}}
	if journal != nil {
		for _, u := range journal.Kept() {
			r.known[keyOf(u)] = kept{object: u}
		}
	}
	return r
}

// learn takes what an object has replaced from its annotations. The error says that it is more than is looked at.
func (r *removed) learn(at schema.GroupVersionResource, item *unstructured.Unstructured, budget *unpacking.Budget) (err error) {
	for u, broken := range Replaced(item, budget) {
		if broken == nil {
			broken = r.add(keyOf(u), kept{at: at, in: keyOf(item)})
		}
		err = cmp.Or(err, broken)
	}
	return err
}

func (r *removed) add(key types.NamespacedName, where kept) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.known[key]; !there && where.object == nil && len(r.known) >= mostKnown {
		return fmt.Errorf("more than %d objects that were replaced are kept in annotations", mostKnown)
	}
	r.known[key] = where
	return nil
}

func (r *removed) get(key types.NamespacedName) (where kept, there bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	where, there = r.known[key]
	return where, there
}

// removedObject is one that was removed, read from where it is kept.
func (m *Migration) removedObject(ctx context.Context, key types.NamespacedName, where kept) (object *unstructured.Unstructured, err error) {
	if where.object != nil {
		return where.object, nil
	}
	var holder *unstructured.Unstructured
	if err := m.Retry().Do(ctx, func() (err error) {
		holder, err = m.objects(where.at, where.in.Namespace).Get(ctx, where.in.Name, metav1.GetOptions{})
		return err
	}); err != nil {
		return nil, fmt.Errorf("reading %s, which keeps it: %w", where.in, err)
	}
	for u, err := range Replaced(holder, unpacking.One()) {
		if err == nil && keyOf(u) == key {
			return u, nil
		}
	}
	return nil, fmt.Errorf("%s does not keep it any more", where.in)
}

// Replaced are the objects whose place an object has taken, ready to be created again, as its annotations keep them. Each is of
// the object's own kind and namespace; others are left out, since anybody may write annotations. Each is let go of before the
// next is unpacked. An error is about one that is larger than what is looked at.
func Replaced(item *unstructured.Unstructured, budget *unpacking.Budget) iter.Seq2[*unstructured.Unstructured, error] {
	return func(yield func(*unstructured.Unstructured, error) bool) {
		for key, value := range item.GetAnnotations() {
			if !strings.HasPrefix(key, v1alpha1.ReplacedAnnotationPrefix) {
				continue
			}
			release := budget.Mark()
			u, err := unpack(budget, value)
			switch {
			case errors.Is(err, unpacking.ErrTooLarge), errors.Is(err, unpacking.ErrUsedUp):
				if !yield(nil, fmt.Errorf("the annotation %s: %w", key, err)) {
					return
				}
			case err == nil && u.GroupVersionKind() == item.GroupVersionKind() && u.GetNamespace() == item.GetNamespace() && key == annotationOf(u.GetName()):
				if !yield(u, nil) {
					return
				}
			}
			release()
		}
	}
}

// annotationOf is where the object of a name is kept.
func annotationOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return v1alpha1.ReplacedAnnotationPrefix + hex.EncodeToString(sum[:16])
}

func pack(u *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return "", err
	}
	buffer := &bytes.Buffer{}
	zip := gzip.NewWriter(buffer)
	if _, err := zip.Write(raw); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(buffer.Bytes()), nil
}

func unpack(budget *unpacking.Budget, value string) (*unstructured.Unstructured, error) {
	zip, err := budget.Base64(value)
	if err != nil {
		return nil, err
	}
	raw, err := budget.Gunzip(zip)
	if err != nil {
		return nil, err
	}
	if err := budget.HoldJSON(raw); err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON([]byte(raw))
}

// keep saves an object before it is deleted: in the journal, else in its successor. saved is false if the API server did not take
// it; why is in the report then.
func (v *visit) keep(ctx context.Context, live *unstructured.Unstructured) (saved bool, end error) {
	u := live.DeepCopy()
	strip(u)
	if v.Journal != nil {
		if err := v.Journal.Keep(u); err != nil {
			return false, fmt.Errorf("%s is not deleted, since it cannot be saved first: %w", v.reported.Object, err)
		}
		return true, v.removed.add(keyOf(u), kept{object: u})
	}
	if err := v.keepInSuccessor(ctx, u); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		v.Refuse(fmt.Errorf("it cannot be kept in %s: %w", v.reported.Successor, err), "patch", v.At, v.reported)
		return false, nil
	}
	if err := v.removed.add(keyOf(u), kept{at: v.At, in: keyOf(v.made)}); err != nil {
		v.leave(NotKnown, err.Error())
		return false, nil
	}
	return true, nil
}

// fits says what to do about an object that is too large for one more annotation.
func fits(annotations map[string]string, key, value string) error {
	all := map[string]string{key: value}
	for other, text := range annotations {
		if other != key {
			all[other] = text
		}
	}
	if err := validation.ValidateAnnotationsSize(all); err != nil {
		return fmt.Errorf("%w; `moult survivors migrate` keeps it in a file", err)
	}
	return nil
}

// keepInSuccessor writes an object into an annotation of the successor that was read, and looks that it is there.
func (v *visit) keepInSuccessor(ctx context.Context, u *unstructured.Unstructured) error {
	packed, err := pack(u)
	if err != nil {
		return err
	}
	at := annotationOf(u.GetName())
	if v.made.GetAnnotations()[at] == packed {
		return nil
	}
	if err := fits(v.made.GetAnnotations(), at, packed); err != nil {
		return err
	}
	why, err := rewrite.LossOf(ctx, v.Losses, v.At, types.NamespacedName{Namespace: v.Key.Namespace, Name: v.reported.Successor}, true)
	if err == nil && why != "" {
		err = errors.New("that would lose fields: " + why)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": v.made.GetUID(), "annotations": map[string]any{at: packed}}})
	if err != nil {
		return err
	}
	return v.Retry().Write(ctx, v.Lane, func() error {
		got, err := v.objects(v.At, v.Key.Namespace).Patch(ctx, v.reported.Successor, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
		if err != nil {
			return err
		}
		if got.GetAnnotations()[at] != packed {
			return fmt.Errorf("the API server answers without the annotation %s", at)
		}
		v.made = got
		return nil
	})
}
