package doctor

import (
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moult-dev/moult/api/v1alpha1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// healthy is a cluster with one CRD, with which nothing is wrong.
func healthy() ClusterState {
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: widgets, UID: "u", Generation: 3, Labels: map[string]string{v1alpha1.MigrateLabel: "true"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Kind: "Widget"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}, {Name: "v1", Served: true, Storage: true}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v1"}},
	}
	says(crd, apiextensionsv1.ConditionTrue, v1alpha1.ReasonMigrated, "every object is proved to be stored at v1")
	owned(crd, "kustomize-controller", "", labelField(v1alpha1.MigrateLabel))
	owned(crd, "moult", "status", conditionField)
	return ClusterState{Now: now, Server: Known[string]{Value: "v1.36.3"}, LabelKey: v1alpha1.MigrateLabel, FieldManager: "moult", Controller: Controller{User: controller},
		CRDs: []ExaminedCRD{{CustomResourceDefinition: crd, Writable: Known[bool]{Value: true}}}}
}

func serverIs(version string) func(*ClusterState) {
	return func(s *ClusterState) { s.Server.Value = version }
}

func labelField(key string) string {
	return fmt.Sprintf(`{"f:metadata":{"f:labels":{"f:%s":{}}}}`, key)
}

const conditionField = `{"f:status":{"f:conditions":{"k:{\"type\":\"StorageMigrated\"}":{".":{}}}}}`

func owned(crd *apiextensionsv1.CustomResourceDefinition, manager, subresource, fields string) {
	operation := metav1.ManagedFieldsOperationUpdate
	if manager == "kustomize-controller" {
		operation = metav1.ManagedFieldsOperationApply
	}
	crd.ManagedFields = append(crd.ManagedFields, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields),
	})
}

func says(crd *apiextensionsv1.CustomResourceDefinition, status apiextensionsv1.ConditionStatus, reason, sentence string) {
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{
		Type: v1alpha1.StorageMigrated, Status: status, Reason: reason, Message: v1alpha1.Message(crd.Generation, sentence),
	}}
}

func gate(generation int64, status v1alpha1.VersionRemovalStatus) v1alpha1.VersionRemoval {
	return v1alpha1.VersionRemoval{
		ObjectMeta: metav1.ObjectMeta{Namespace: "apps", Name: "no-v1alpha1", Generation: generation},
		Spec:       v1alpha1.VersionRemovalSpec{CRDName: widgets, Versions: []string{"v1alpha1"}}, Status: status,
	}
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "because"}
}

func release(revision int, status string, change ...func(*Release)) Release {
	r := Release{Namespace: "apps", Name: "widgets", Revision: revision, Status: status,
		CRDs: map[string]bool{}, Files: map[string]bool{}, Uses: map[schema.GroupVersionKind]int{}}
	for _, c := range change {
		c(&r)
	}
	return r
}

func holds(kept bool) func(*Release) { return func(r *Release) { r.CRDs[widgets] = kept } }

func inFiles(r *Release) { r.Files[widgets] = true }

func uses(version string) func(*Release) {
	return func(r *Release) {
		r.Uses[schema.GroupVersionKind{Group: "example.com", Version: version, Kind: "Widget"}] = 2
	}
}

func terminating(since time.Duration, n int) func(*ClusterState) {
	return func(s *ClusterState) {
		for i := range n {
			s.CRDs[0].Terminating.Value = append(s.CRDs[0].Terminating.Value, Terminating{Name: fmt.Sprintf("default/w-%d", i), Since: now.Add(-since), Finalizers: []string{"example.com/door"}})
		}
	}
}

func lyingIn(namespaces map[string]int) func(*ClusterState) {
	return func(s *ClusterState) {
		s.Namespaces.Value = []string{"default", "apps"}
		s.CRDs[0].In.Value = namespaces
	}
}

func unreadables(of ...Unreadable) func(*ClusterState) {
	return func(s *ClusterState) {
		s.CRDs[0].Unreadable.Value, s.CRDs[0].In.Not, s.CRDs[0].Terminating.Not = of, "no list", "no list"
	}
}

func releases(of ...Release) func(*ClusterState) {
	return func(s *ClusterState) { s.Releases.Value = of }
}

func gatesAre(of ...v1alpha1.VersionRemoval) func(*ClusterState) {
	return func(s *ClusterState) { s.Gates.Value = of }
}

func migrations(of ...Migration) func(*ClusterState) {
	return func(s *ClusterState) { s.Migrations = []Known[[]Migration]{{Value: of}} }
}

func hideObjects(crd *ExaminedCRD, why string) {
	crd.Terminating.Not, crd.In.Not, crd.Unreadable.Not = why, why, why
}
