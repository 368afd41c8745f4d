package removal_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// Between the look at a VersionRemoval and the answer it is deleted, and created again to ask for another version, at
// generation 1 as before. A tool that reads the answer would let that version go.
func TestAnAnswerIsNotWrittenIntoAnotherVersionRemovalOfItsName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running.InstallFlipped(t, cp, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").OptedIn().Build(), 3)
	gate := running.GateFor(w)
	gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Spec.Versions = []string{"v7"} })
	c := running.Client(t, cp.Config)

	var once sync.Once
	var wrong atomic.Int64
	var other atomic.Pointer[v1alpha1.VersionRemoval]
	config := rest.CopyConfig(cp.Config)
	read := func() (*v1alpha1.VersionRemoval, error) { // in a worker of the manager, where a test may not fail
		now := &v1alpha1.VersionRemoval{}
		return now, c.Get(context.Background(), gate.Name, now)
	}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			about := r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/versionremovals/"+gate.Name.Name+"/status")
			if about {
				once.Do(func() {
					old, err := read()
					if err != nil {
						return
					}
					_ = c.Delete(context.Background(), old)
					created := &v1alpha1.VersionRemoval{
						ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: old.Name},
						Spec:       v1alpha1.VersionRemovalSpec{CRDName: w.GR.String(), Versions: []string{"v1"}},
					}
					_ = c.Create(context.Background(), created)
					other.Store(created)
				})
			}
			response, err := rt.RoundTrip(r)
			if !about {
				return response, err
			}
			if now, unread := read(); unread == nil && conditions.IsReady(now) {
				wrong.Add(1) // it is about v1, the storage version
			}
			return response, err
		})
	})
	running.Moult(t, config, running.Quick(w.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("False IntermediateRevisionRequired Stalled"), "v1 is the storage version")
	g.Expect(gate.Removal().UID).To(Equal(other.Load().UID))
	g.Expect(wrong.Load()).To(BeZero(), "the answer about v7 was written into it")
}
