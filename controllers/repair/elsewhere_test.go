package repair_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Somebody has put an object into etcd under a key that is not that of its name. It is listed, and cannot be written by its name.
func TestAReferenceInAnObjectUnderTheKeyOfAnotherNameIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	things := running.Install(t, cp, builders.CRD(builders.UniqueGroup(t), "things").Versions("v1").Storage("v1").Build())
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": things.GR.Group + "/v1", "kind": "Thing", "metadata": map[string]any{"name": "bench"}}}
	thing.SetOwnerReferences([]metav1.OwnerReference{w.at("v1alpha1", w.owner)})
	_, err := things.Objects("v1").Create(t.Context(), thing, metav1.CreateOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	raw, err := cp.Etcd().Raw(t.Context(), things.GR, "default", "bench")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(cp.Etcd().Put(t.Context(), things.GR, "default", "key", bytes.ReplaceAll(raw, []byte("bench"), []byte("fence")))).To(Succeed())
	w.Ask()
	w.runs(cp.Config, time.Second)
	w.Eventually(w.events, soon).Should(ContainElement(And(HavePrefix("Warning OwnerReferencesLeft: "), ContainSubstring("1 were refused"), ContainSubstring("look in etcd for mod_revision"))))
}
