package embeddedcopies

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/policies/survivors"
)

// longestName is how long the name of an object may be.
const longestName = 253

// successor makes the object with the converted copy, or finds it made, and reads it back. If another object has its name, it
// gets the same name with a hash of the copy. No name is returned if there is no successor; why is in the report then.
func (v *visit) successor(ctx context.Context, live *unstructured.Unstructured, converted survivors.Copy) (name string, end error) {
	digest, err := digestOf(converted, live)
	if err != nil {
		return "", err
	}
	name = live.GetName() + "-" + converted.Version
	if owner := metav1.GetControllerOfNoCopy(live); owner != nil {
		name = v.SuccessorName(owner.Name, converted)
	}
	plain := name
	if len(name) > longestName {
		name = cut(name) + digest
	}
	for {
		fits, err := v.create(ctx, v.wanted(live, converted, name))
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err != nil:
			v.Refuse(err, "create", v.At, v.reported)
			return "", nil
		case fits:
			return name, nil
		case name != plain:
			v.leave(Conflict, fmt.Sprintf("%s exists and is another object", name))
			return "", nil
		}
		name = cut(plain) + digest
	}
}

// cut leaves room for a digest.
func cut(name string) string { return name[:min(len(name), longestName-9)] + "-" }

// digestOf is the same whenever it is asked for, and another for each old object.
func digestOf(c survivors.Copy, live *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(c.Object())
	sum := sha256.Sum256(append(raw, live.GetUID()...))
	return hex.EncodeToString(sum[:4]), err
}

// wanted is the successor as it has to be.
func (v *visit) wanted(live *unstructured.Unstructured, converted survivors.Copy, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(live.Object)}
	strip(u)
	u.SetName(name)
	u.SetLabels(v.place.SuccessorLabels(live.GetLabels(), converted))
	u.Object["data"] = converted.Object()
	return u
}

// strip leaves of an object what another can be made from.
func strip(u *unstructured.Unstructured) {
	meta, _ := u.Object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "finalizers"} {
		delete(meta, field)
	}
}

// create makes an object, unless it is there. It reports whether the one that is there is the one that was wanted.
func (v *visit) create(ctx context.Context, wanted *unstructured.Unstructured) (fits bool, err error) {
	err = v.Retry().Write(ctx, v.Lane, func() error {
		_, err := v.objects(v.At, v.Key.Namespace).Create(ctx, wanted, metav1.CreateOptions{DryRun: v.DryRunOption(), FieldManager: manager})
		return err
	})
	if err == nil && v.DryRun {
		return true, nil
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return false, err
	}
	got, err := v.read(ctx, v.At, types.NamespacedName{Namespace: v.Key.Namespace, Name: wanted.GetName()})
	if err != nil {
		return false, err
	}
	v.made = got
	return v.same(got, wanted), nil
}

// same reports whether an object is a successor as it is wanted: the copy, what the copy's labels tell, and who owns it.
func (v *visit) same(got, wanted *unstructured.Unstructured) bool {
	a, errA := json.Marshal(got.Object["data"])
	b, errB := json.Marshal(wanted.Object["data"])
	if errA != nil || errB != nil || !bytes.Equal(a, b) || got.GetDeletionTimestamp() != nil {
		return false
	}
	if !reflect.DeepEqual(got.Object["revision"], wanted.Object["revision"]) {
		return false
	}
	kind, version := v.place.Labelled(got.GetLabels())
	wantedKind, wantedVersion := v.place.Labelled(wanted.GetLabels())
	return kind == wantedKind && version == wantedVersion && reflect.DeepEqual(owners(got), owners(wanted))
}

func owners(u *unstructured.Unstructured) map[types.UID]bool {
	all := map[types.UID]bool{}
	for _, ref := range u.GetOwnerReferences() {
		all[ref.UID] = ref.Controller != nil && *ref.Controller
	}
	return all
}
