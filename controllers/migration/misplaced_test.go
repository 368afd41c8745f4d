package migration_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/controlplane"
)

// The API server lists what lies under any key, and finds an object only under the key of its name.
func TestAnObjectUnderTheKeyOfAnotherNameHoldsTheProof(t *testing.T) {
	t.Parallel()
	for name, called := range map[string]string{
		"no object has its name":      "object-other",
		"another object has its name": "object-00001",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, widgets(t).Build())
			w.Create(4)
			stale := bytes.ReplaceAll([]byte(w.raw("object-00001")), []byte("object-00001"), []byte(called))
			w.Flip("v1")
			w.Eventually(func() map[string]int { // until the flip has come into force, and a cache with it
				w.annotate("object-00000", rand.Text())
				return w.Stored()
			}, soon).Should(HaveKey("v1"))
			w.put("object-key", stale)
			placed, err := cp.Etcd().Object(w.ctx, w.GR, "default", "object-key")
			w.Expect(err).NotTo(HaveOccurred())
			revision := strconv.FormatInt(placed.Revision, 10)
			w.Eventually(func() (listed []string, err error) { // by the cache, which has one object of each name
				list, err := w.Objects("v1").List(w.ctx, metav1.ListOptions{Limit: 50})
				if err != nil {
					return nil, err
				}
				for i := range list.Items {
					listed = append(listed, list.Items[i].GetName()+" "+list.Items[i].GetResourceVersion())
				}
				return listed, nil
			}, soon).Should(And(ContainElement(called+" "+revision), HaveLen(map[string]int{"object-00001": 4, "object-other": 5}[called])))
			w.controller(w.quick())

			w.Eventually(w.Reason, soon).Should(BeElementOf(v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
			w.Expect(w.Condition().Message).To(And(ContainSubstring("default/"+called+": Misplaced: "),
				ContainSubstring("below /registry/"+w.GR.Group+"/ for mod_revision "+revision+". Delete the object by the name in that key")))
			w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

			w.Expect(w.Objects("v1").Delete(w.ctx, "object-key", metav1.DeleteOptions{})).To(Succeed(), "as the message says")
			w.annotate("object-00001", "once")
			w.triesAgain()
			w.eventuallyMigrated(4)
		})
	}
}

// annotate writes an object.
func (w *world) annotate(name, value string) {
	w.t.Helper()
	_, err := w.Objects("v1").Patch(w.ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"written":%q}}}`, value), metav1.PatchOptions{})
	w.Expect(err).NotTo(HaveOccurred())
}

// A server without a cache lists both. A client that writes the one that is found by the name makes the other one look overtaken.
func TestOfTwoObjectsWithOneNameNoneIsOvertaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, widgets(t).Build())
	w.Create(4)
	stale := []byte(w.raw("object-00001"))
	w.Flip("v1")
	w.Eventually(func() map[string]int { // until the flip has come into force
		w.annotate("object-00001", rand.Text())
		return w.Stored()
	}, soon).Should(HaveKey("v1"))
	w.put("object-key", stale)
	server := w.second(cp, controlplane.Flag("watch-cache", "false"))
	w.controllerAt(intercepted(server.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodPatch && path.Base(req.URL.Path) == "object-00001" { // a dry run, too
			w.annotate("object-00001", rand.Text())
		}
		return next.RoundTrip(req)
	}), w.quick())

	w.Eventually(w.Reason, soon).Should(BeElementOf(v1alpha1.ReasonObjectsFailed, v1alpha1.ReasonMigrated), func() string { return w.Condition().Message })
	w.Expect(w.Condition().Message).To(ContainSubstring("default/object-00001: Misplaced: it is listed behind default/object-00003, so the key in etcd of one of the two"))
	w.Expect(w.StoredVersions()).To(Equal([]string{"v1alpha1", "v1"}))

	w.Expect(w.Objects("v1").Delete(w.ctx, "object-key", metav1.DeleteOptions{})).To(Succeed(), "as the message says")
	w.annotate("object-00001", "once")
	w.triesAgain()
	w.eventuallyMigrated(4)
}
