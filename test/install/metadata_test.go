package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Metadata has no limit but that of a request: one object may have a hundred thousand labels. Walks over several CRDs hold pages of
// it, and each write is answered by all of it.
func TestTheShippedMemoryIsEnoughForLargeMetadata(t *testing.T) {
	moult := Install(t, cp, "clusters/base")
	var sets []*running.Witness
	var granted []*apiextensionsv1.CustomResourceDefinition
	for range 3 {
		group := builders.UniqueGroup(t)
		crd := builders.CRD(group, "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").Build()
		w := running.InstallFlipped(t, cp, crd, 0)
		sets, granted = append(sets, w), append(granted, lives(w)...)
	}
	for _, w := range sets {
		large(t, w, 40)
	}
	moult.Grant("memory-test-objects", granted...)
	for _, w := range sets {
		moult.inForce(t, "/apis/"+w.GR.Group+"/v1/widgets", "moult-objects")
		w.Update(func(crd *apiextensionsv1.CustomResourceDefinition) {
			metav1.SetMetaDataLabel(&crd.ObjectMeta, v1alpha1.MigrateLabel, "true")
		})
	}

	migratesWithin(t, moult, sets)
}

// migratesWithin has the controller migrate CRDs in the memory that the Deployment gives it.
func migratesWithin(t *testing.T, moult *Installation, sets []*running.Witness) (peak int64) {
	t.Helper()
	g, began := NewWithT(t), time.Now()
	controller, within := moult.StartWithin()
	for _, w := range sets {
		g.Eventually(func() (string, error) {
			if controller.hasEnded() {
				kills, err := within.Kills()
				return "", StopTrying(fmt.Sprintf("moult-controller has ended; killed for memory %d times", kills)).Wrap(err)
			}
			return w.Reason(), nil
		}, enough, "500ms").Should(Equal(v1alpha1.ReasonMigrated))
	}
	g.Expect(within.Kills()).To(BeZero())
	peak, err := within.Peak()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("at most %d MiB, in %s", peak>>20, time.Since(began).Round(time.Second))
	return peak
}

// large stores n objects whose metadata is about as large as etcd takes. They are put into etcd as they are, which takes less time
// than to have the API server compute who owns each label.
func large(t *testing.T, w *running.Witness, n int) {
	t.Helper()
	g := NewWithT(t)
	for i := range n {
		name := fmt.Sprintf("large-%03d", i)
		meta := map[string]any{"name": name, "namespace": "default", "uid": w.GR.Group + name, "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}
		weigh(meta)
		raw, err := json.Marshal(map[string]any{"apiVersion": w.GR.Group + "/v1alpha1", "kind": "Widget", "metadata": meta})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cp.Etcd().Put(t.Context(), w.GR, "default", name, raw)).To(Succeed())
	}
}

// weigh gives an object large metadata. It has few parts that are long, since the API server takes seconds for many.
func weigh(meta map[string]any) {
	owns := `{"f:` + strings.Repeat("x", 400<<10) + `":{},"f:` + strings.Repeat("y", 400<<10) + `":{}}`
	meta["annotations"] = heavy()
	meta["managedFields"] = []any{map[string]any{"manager": "m", "operation": "Update", "apiVersion": "a/v1", "fieldsType": "FieldsV1", "fieldsV1": json.RawMessage(owns)}}
}
