package migration_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/migration"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

// An API server ends creates, updates, patches and deletes after 34 s, but a DELETECOLLECTION only after its
// --request-timeout (k8s.io/apiserver pkg/endpoints/handlers/delete.go). Until then it writes a deletionTimestamp into
// every object with a finalizer, at the storage version of the moment that the request began. A settle time that does
// not outlast it proves nothing; one that does is enough, even if the server stood still across the flip.
func TestADeletionOfACollectionIsWaitedFor(t *testing.T) {
	t.Parallel()
	const longest = 5 * time.Second
	own, err := controlplane.Start(controlplane.Flag("request-timeout", longest.String()))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = own.Stop() })

	for name, c := range map[string]struct {
		on   *controlplane.ControlPlane
		safe bool // the settle time ends when the server has cut the request short, and not before
	}{
		"a settle time shorter than --request-timeout is too short": {cp, false},
		"a settle time that covers --request-timeout is enough":     {own, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := collectionWorld(t, c.on, 20)
			second := w.second(c.on)
			deletions := webhooks.HoldDeletions(t, second.Config, w.GR.WithVersion("v1alpha1"), 3)

			ended := w.deleteAll(second)
			w.Eventually(w.terminating, soon).Should(Equal(3))
			w.Expect(second.Pause()).To(Succeed())
			w.Flip("v1")
			w.Expect(second.Resume()).To(Succeed())
			opts := w.quick()
			opts.Settle = time.Hour
			running.Migration(t, c.on.Config, opts)
			w.eventuallySettling()
			if c.safe {
				w.Eventually(ended, soon).Should(BeClosed())
			}
			w.triesAgain()
			w.Eventually(w.StoredVersions, soon).Should(Equal([]string{"v1"}))
			w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}), "when the trim is visible")

			deletions.Release()
			<-ended
			w.Eventually(w.Reason, soon).Should(Equal(v1alpha1.ReasonMigrated))
			if c.safe {
				w.Expect(w.Stored()).To(Equal(map[string]int{"v1": 20}))
			} else {
				w.Expect(w.Stored()).To(HaveKeyWithValue("v1alpha1", 17), "what was deleted after the trim")
			}
		})
	}
}

// collectionWorld has n objects with a finalizer, stored at v1alpha1.
func collectionWorld(t *testing.T, on *controlplane.ControlPlane, n int) *world {
	t.Helper()
	crd := widgets(t).Build()
	w := worldOf(t, crd, running.Install(t, on, crd))
	w.Create(n, builders.Each(func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/stays"}) }))
	t.Cleanup(func() { // or the CRD would never go
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		list, _ := w.Objects("v1").List(context.Background(), metav1.ListOptions{})
		for _, o := range list.Items {
			_, _ = w.Objects("v1").Patch(context.Background(), o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		}
	})
	return w
}

// deleteAll begins to delete all objects in one request; the channel is closed when it has been answered.
func (w *world) deleteAll(server *controlplane.APIServer) (ended chan struct{}) {
	objects := dynamic.NewForConfigOrDie(server.Config).Resource(w.GR.WithVersion("v1alpha1")).Namespace("default")
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_ = objects.DeleteCollection(w.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}) // one that takes too long is cut short
	}()
	return ended
}

// terminating counts the objects that are being deleted.
func (w *world) terminating() (n int) {
	list, err := w.Objects("v1").List(w.ctx, metav1.ListOptions{})
	w.Expect(err).NotTo(HaveOccurred())
	for _, o := range list.Items {
		if o.GetDeletionTimestamp() != nil {
			n++
		}
	}
	return n
}

// The default covers the longest request that this API server allows by default, with a margin for lag.
func TestTheDefaultSettleTimeCoversTheDefaultRequestTimeout(t *testing.T) {
	g := NewWithT(t)
	programs, err := assets.Locate()
	g.Expect(err).NotTo(HaveOccurred())
	help, err := exec.CommandContext(t.Context(), filepath.Join(programs.Dir, "kube-apiserver"), "--help").Output()
	g.Expect(err).NotTo(HaveOccurred())
	found := regexp.MustCompile(`--request-timeout duration[^(]*\(default ([^)]+)\)`).FindSubmatch(help)
	g.Expect(found).To(HaveLen(2), "%s", help)
	longest, err := time.ParseDuration(string(found[1]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(migration.DefaultSettle).To(BeNumerically(">=", longest+30*time.Second))
}
