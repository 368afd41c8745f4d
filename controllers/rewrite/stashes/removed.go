package stashes

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// removed are the objects that were deleted, or were about to be, in this run and those before it.
type removed struct {
	mu    sync.Mutex
	known map[types.NamespacedName]*unstructured.Unstructured
}

func newRemoved(journal Journal) *removed {
	r := &removed{known: map[types.NamespacedName]*unstructured.Unstructured{}}
	if journal != nil {
		for _, u := range journal.Kept() {
			r.known[keyOf(u)] = u
		}
	}
	return r
}

// learn takes what an object has replaced from its annotations.
func (r *removed) learn(item *unstructured.Unstructured) {
	for _, u := range Replaced(item) {
		r.add(u)
	}
}

func (r *removed) add(u *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known[keyOf(u)] = u
}

func (r *removed) get(key types.NamespacedName) *unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

// maxReplaced is the longest object that is read from an annotation, in bytes. etcd takes no larger ones.
const maxReplaced = 4 << 20

// Replaced are the objects whose place an object has taken, ready to be created again, as its annotations keep them. Each is of
// the object's own kind and namespace; others are left out, since anybody may write annotations.
func Replaced(item *unstructured.Unstructured) (all []*unstructured.Unstructured) {
	for key, value := range item.GetAnnotations() {
		if !strings.HasPrefix(key, v1alpha1.ReplacedAnnotationPrefix) {
			continue
		}
		u, err := unpack(value)
		if err == nil && u.GroupVersionKind() == item.GroupVersionKind() && u.GetNamespace() == item.GetNamespace() && key == annotationOf(u.GetName()) {
			all = append(all, u)
		}
	}
	return all
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

func unpack(value string) (*unstructured.Unstructured, error) {
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(value)))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(zip, maxReplaced))
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	return u, u.UnmarshalJSON(raw)
}

// keep saves an object before it is deleted: in the journal, else in its successor. kept is false if the API server did not take
// it; why is in the report then.
func (v *visit) keep(ctx context.Context, live *unstructured.Unstructured) (kept bool, end error) {
	u := live.DeepCopy()
	strip(u)
	if v.Journal != nil {
		if err := v.Journal.Keep(u); err != nil {
			return false, fmt.Errorf("%s is not deleted, since it cannot be saved first: %w", v.told.Object, err)
		}
		v.removed.add(u)
		return true, nil
	}
	if err := v.keepInSuccessor(ctx, u); err != nil {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		v.refused(fmt.Errorf("it cannot be kept in %s: %w", v.told.Successor, err), "patch", v.at)
		return false, nil
	}
	v.removed.add(u)
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
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": v.made.GetUID(), "annotations": map[string]any{at: packed}}})
	if err != nil {
		return err
	}
	return v.write(ctx, func() error {
		got, err := v.objects(v.at, v.key.Namespace).Patch(ctx, v.told.Successor, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager})
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
