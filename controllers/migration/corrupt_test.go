package migration_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
)

// namesCorrupt is the minor version of Kubernetes from which on a list names the objects that cannot be read from etcd
// (AllowUnsafeMalformedObjectDeletion, on by default). Before it, the first that cannot be read is all that it has a word for.
const namesCorrupt = 37

// An object whose bytes in etcd cannot be read keeps the API server from listing any of its kind.
func TestAnObjectThatCannotBeReadFromEtcdIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	w.Create(4)
	w.Flip("v1")
	raw, err := cp.Etcd().Raw(w.ctx, w.GR, "default", "object-00001")
	w.Expect(err).NotTo(HaveOccurred())
	w.put("object-00001", bytes.ReplaceAll(raw, []byte(w.GR.Group+"/v1alpha1"), []byte(w.GR.Group+"/v1alpha0")))
	w.put("object-00002", []byte("garbage"))
	w.controller(w.quick())

	message := func() string { return w.Condition().Message }
	if cp.Minor < namesCorrupt {
		w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), message)
		w.Expect(message()).To(And(
			ContainSubstring("the API server cannot read 1 object from etcd, so it lists none; it is stored at v1alpha0, which the CRD does not have any more: put v1alpha0 back"),
			ContainSubstring("an object that `moult doctor` finds: Unreadable: request to convert CR from an invalid group/version: "+w.GR.Group+"/v1alpha0"),
		))
		return
	}
	w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonObjectsFailed), message)
	w.Expect(message()).To(And(
		ContainSubstring("the API server cannot read 2 objects from etcd, so it lists none; it is stored at v1alpha0, which the CRD does not have any more: put v1alpha0 back into spec.versions with served: false"),
		ContainSubstring("restore it in etcd from a backup, or delete it"),
		ContainSubstring("default/object-00001: Unreadable: object not decodable"),
		ContainSubstring("default/object-00002: Unreadable: object not decodable"),
	))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	// What the message says helps.
	w.Expect(w.Objects("v1").Delete(w.ctx, "object-00002", metav1.DeleteOptions{IgnoreStoreReadErrorWithClusterBreakingPotential: new(true)})).To(Succeed())
	w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
		back := crd.Spec.Versions[0]
		back.Name, back.Served, back.Storage = "v1alpha0", false, false
		crd.Spec.Versions = append(crd.Spec.Versions, back)
	})
	w.eventuallyMigrated(3)
}

func (w *world) put(name string, raw []byte) {
	w.t.Helper()
	w.Expect(cp.Etcd().Put(w.ctx, w.GR, "default", name, raw)).To(Succeed())
}
