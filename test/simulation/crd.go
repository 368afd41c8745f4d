package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
)

// versions are those of the one CRD, all of them served.
var versions = []string{"v1alpha1", "v1beta1", "v1"}

// leaving are those that a VersionRemoval asks about.
var leaving = versions[:2]

const (
	group   = "example.com"
	plural  = "widgets"
	crdName = plural + "." + group
)

var crdResource = schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}

// definition is one revision of the CRD; a nil crd is its deletion.
type definition struct {
	at       time.Time
	crd      *apiextensionsv1.CustomResourceDefinition
	revision int64
	restored bool // by a restore of etcd, and so known to every API server at once
	bumped   bool // by one that makes watches begin anew
}

// current is the CRD, nil if there is none; never to be changed. It needs the lock.
func (e *etcd) current() *apiextensionsv1.CustomResourceDefinition { return e.crds[len(e.crds)-1].crd }

// install makes a new CRD. It needs the lock.
func (e *etcd) install(storage, uid string) {
	crd := builders.CRD(group, plural).Versions(versions...).Storage(storage).WithStatus().OptedIn().Build()
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Schema = nil // only makes a play slower
	}
	crd.UID, crd.Generation = types.UID(uid), 1
	crd.Status.StoredVersions = []string{storage}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
	}
	e.commit(crd)
}

// edit changes the CRD's spec as people do, with what the API server adds to it: a new generation, and a storage version
// that storedVersions names. It needs the lock.
func (e *etcd) edit(storage string) {
	crd := e.current().DeepCopy()
	crd.Generation++
	for i := range crd.Spec.Versions {
		crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == storage
	}
	if !slices.Contains(crd.Status.StoredVersions, storage) {
		crd.Status.StoredVersions = append(crd.Status.StoredVersions, storage)
	}
	e.commit(crd)
}

// commit stores a revision of the CRD, nil for its deletion. It needs the lock.
func (e *etcd) commit(crd *apiextensionsv1.CustomResourceDefinition) {
	e.revision++
	if crd != nil {
		crd.ResourceVersion = strconv.FormatInt(e.revision, 10)
	}
	e.define(definition{at: time.Now(), crd: crd, revision: e.revision})
}

// define adds what the CRD is from now on. It needs the lock.
func (e *etcd) define(d definition) {
	e.crds = append(e.crds, d)
	close(e.changed)
	e.changed = make(chan struct{})
}

func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// patchStatus is as much of a patch to the CRD's status as Moult sends: a merge patch that trims and an apply of its
// condition. It returns the CRD as it is to be, or the very same if nothing changes.
func patchStatus(crd *apiextensionsv1.CustomResourceDefinition, kind, manager string, body []byte) (*apiextensionsv1.CustomResourceDefinition, error) {
	wanted := apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(body, &wanted); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if crd == nil {
		return nil, apierrors.NewNotFound(crdResource, crdName)
	}
	if wanted.UID != "" && wanted.UID != crd.UID || wanted.ResourceVersion != "" && wanted.ResourceVersion != crd.ResourceVersion {
		return nil, apierrors.NewConflict(crdResource, crdName, fmt.Errorf("the object has been modified"))
	}
	changed := crd.DeepCopy()
	switch kind {
	case string(types.MergePatchType):
		changed.Status.StoredVersions = wanted.Status.StoredVersions
	case string(types.ApplyPatchType):
		own(changed, manager, wanted.Status.Conditions)
	default:
		return nil, apierrors.NewBadRequest("no such patch here: " + kind)
	}
	if equality.Semantic.DeepEqual(crd, changed) {
		return crd, nil
	}
	return changed, nil
}

// own makes these the conditions of ours that a field manager owns.
func own(crd *apiextensionsv1.CustomResourceDefinition, manager string, conditions []apiextensionsv1.CustomResourceDefinitionCondition) {
	crd.Status.Conditions = slices.DeleteFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return string(c.Type) == v1alpha1.StorageMigrated
	})
	crd.Status.Conditions = append(crd.Status.Conditions, conditions...)
	crd.ManagedFields = nil
	if len(conditions) > 0 {
		crd.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Subresource: "status",
			APIVersion: "apiextensions.k8s.io/v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"` + v1alpha1.StorageMigrated + `\"}":{".":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`),
		}}
	}
}

// condition is Moult's, in words.
func condition(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if string(c.Type) == v1alpha1.StorageMigrated {
			return fmt.Sprintf("%s: %s", c.Reason, c.Message)
		}
	}
	return "nothing"
}

// migrated reports whether Moult's condition is True and speaks of the CRD as it is.
func migrated(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return string(c.Type) == v1alpha1.StorageMigrated && c.Status == apiextensionsv1.ConditionTrue && v1alpha1.SpeaksOf(c.Message, crd.Generation)
	})
}
