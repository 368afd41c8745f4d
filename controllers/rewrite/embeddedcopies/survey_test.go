package embeddedcopies

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/policies/survivors"
	"github.com/moult-dev/moult/policies/unpacking"
)

// lists are the objects of every resource.
type lists []*unstructured.Unstructured

func (l lists) EachObject(_ context.Context, _ schema.GroupVersionResource, take func(*unstructured.Unstructured)) (string, error) {
	for _, u := range l {
		take(u)
	}
	return "", nil
}

// A list from etcd has two objects of one name where the key of one is not that of its name. Neither may hide the other.
func TestOfTwoObjectsWithOneNameNoneIsHidden(t *testing.T) {
	g := NewWithT(t)
	version := func(version, names, holds string) *unstructured.Unstructured {
		u := object("rose")
		u.SetNamespace("garden")
		u.SetResourceVersion(version)
		u.Object["data"] = map[string]any{"apiVersion": "example.com/" + holds, "kind": "Widget", "metadata": map[string]any{"name": "small"}}
		u.Object["spec"] = map[string]any{"revisionName": names}
		return u
	}
	revisions := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}
	all := lists{version("1", "new", "v1"), version("2", "old", "v1alpha1"), version("2", "old", "v1alpha1")}
	place := survivors.Place{Name: "here", Resources: []survivors.Selector{"controllerrevisions.apps"}, Groups: []string{"example.com"}}
	move := &survivors.Move{Name: "here", References: []survivors.NameField{{Resource: "controllerrevisions.apps", Paths: []string{"spec.revisionName"}}}}
	m := &Migration{Lister: all, Work: repairs.Work{Resources: []schema.GroupVersionResource{revisions}}, removed: newRemoved(nil),
		Targets: []survivors.Target{{CRD: "widgets.example.com", Group: "example.com", Kinds: []string{"Widget"}, Staying: []string{"v1"}, Leaving: []string{"v1alpha1"}}}}
	s := &survey{moving: &moving{Move: move, places: []*survivors.Place{&place}}, unpacked: unpacking.NewLook(),
		exists: map[types.NamespacedName][]string{}, names: map[types.NamespacedName][]referrer{}}

	g.Expect(m.listStashes(t.Context(), s)).To(Succeed())
	g.Expect(s.stashes).To(ConsistOf(HaveField("ResourceVersion", "2")))
	g.Expect(m.listReferences(t.Context(), s)).To(Succeed())
	g.Expect(s.names).To(And(HaveLen(2), HaveKeyWithValue(types.NamespacedName{Namespace: "garden", Name: "old"}, ConsistOf(HaveField("ResourceVersion", "2")))))
}
