package migration_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/webhooks"
)

// oneWay is a conversion webhook that, while it is shut, converts to v1 and not back. That is the moment in which the
// API server forgets who owns what (kubernetes#136919). It can store an object at v1 and cannot compare what its
// entries at v1alpha1 own, so it clears them all and says nothing.
type oneWay struct {
	*httptest.Server
	conversion *webhooks.Conversion
	shut       atomic.Bool
}

func newOneWay(t *testing.T) *oneWay {
	t.Helper()
	o := &oneWay{conversion: webhooks.Converting(t)}
	o.Server = httptest.NewUnstartedServer(o)
	o.Config.ErrorLog = log.New(io.Discard, "", 0)
	o.StartTLS()
	t.Cleanup(o.Close)
	return o
}

func (o *oneWay) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	review := apiextensionsv1.ConversionReview{}
	_ = json.Unmarshal(body, &review)
	if o.shut.Load() && bytes.HasSuffix([]byte(review.Request.DesiredAPIVersion), []byte("/v1alpha1")) {
		http.Error(rw, "no way back", http.StatusServiceUnavailable)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	o.conversion.ServeHTTP(rw, r)
}

func (o *oneWay) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: o.Certificate().Raw})
}

// keepsOwners is the minor version of Kubernetes from which on the API server then leaves the entries as they were
// (k8s.io/apimachinery pkg/util/managedfields/internal, UpdateNoErrors).
const keepsOwners = 37

// eventuallyWiped waits until the API server has forgotten the owners of an object, so that something is shown; where it never
// does, until it might have.
func (w *world) eventuallyWiped(n int) {
	w.t.Helper()
	if cp.Minor < keepsOwners {
		w.Eventually(w.wiped, soon, "5ms").ShouldNot(BeEmpty())
		return
	}
	w.Eventually(w.Stored, soon, "5ms").Should(Equal(map[string]int{"v1": n}))
	w.Expect(w.wiped()).To(BeEmpty())
}

// wiped are the objects of which no manager owns a field, as etcd holds them.
func (w *world) wiped() (names []string) {
	w.t.Helper()
	w.Expect(cp.Etcd().Walk(w.ctx, w.GR, func(s controlplane.Stored) {
		if len(managedFields(s)) == 0 {
			names = append(names, s.Name)
		}
	})).To(Succeed())
	return names
}

// wipingWorld has objects that their first rewrite makes the API server forget
// the owners of. Without visitor.restore both tests find them still forgotten.
func wipingWorld(t *testing.T) (*oneWay, *world) {
	t.Helper()
	hook := newOneWay(t)
	w := ownedWorld(t, widgets(t).WithStatus().ConversionWebhook(hook.URL, hook.ca()).Build(), 3)
	hook.shut.Store(true)
	return hook, w
}

// isRestore reports whether a write puts entries back; repairs were not asked for.
func isRestore(req *http.Request) bool {
	return req.Method == http.MethodPatch && req.Header.Get("Content-Type") == string(types.JSONPatchType)
}

func TestOwnersThatAFailingWebhookMadeTheServerForgetArePutBack(t *testing.T) {
	t.Parallel()
	hook, w := wipingWorld(t)
	before := w.owners()
	valve := w.valve(3, isRestore) // what is tried at once fails, too
	w.controllerAt(intercepted(cp.Config, valve.intercept), w.quick())
	w.eventuallyWiped(3)
	hook.shut.Store(false)
	valve.open()
	w.Eventually(w.owners, soon).Should(ConsistOf(before))
	w.eventuallyMigrated(3)
	w.Expect(w.owners()).To(ConsistOf(before))
}

// As long as nothing can be converted to v1alpha1, entries at it would be
// forgotten again. At v1 they need no conversion.
func TestOwnersArePutBackAtTheStorageVersionWhereTheWebhookStaysDown(t *testing.T) {
	t.Parallel()
	hook, w := wipingWorld(t)
	before := w.owners()
	valve := w.valve(3, isRestore)
	w.controllerAt(intercepted(cp.Config, valve.intercept), w.quick())
	w.eventuallyWiped(3)
	valve.open()
	after := before // nothing was forgotten, and a move was not asked for
	if cp.Minor < keepsOwners {
		after = w.moved(before)
	}
	w.Eventually(w.owners, soon).Should(ConsistOf(after))
	hook.shut.Store(false)
	w.triesAgain()
	w.eventuallyMigrated(3)
	w.Expect(w.owners()).To(ConsistOf(after))
}

// With a request for v1alpha1, they are moved once the webhook converts again.
func TestARepairingWalkCannotBeMadeToForgetOwners(t *testing.T) {
	t.Parallel()
	hook, w := wipingWorld(t)
	before := w.owners()
	w.controller(w.requesting())
	w.Eventually(w.Stored, soon, "5ms").Should(Equal(map[string]int{"v1": 3}))
	hook.shut.Store(false)
	w.eventuallyMigrated(3)
	w.Eventually(w.owners, soon).Should(ConsistOf(w.moved(before)))
}

// isPlain reports whether a write changes nothing.
func (w *world) isPlain(req *http.Request) bool {
	return w.isObjectWrite(req) && req.Header.Get("Content-Type") == string(types.MergePatchType)
}

// Another tool applies after Moult has listed the objects, and then the webhook
// begins to fail. What is put back is what there was then.
func TestOwnersArePutBackAsTheyWereWhenTheyWereForgotten(t *testing.T) {
	t.Parallel()
	hook := newOneWay(t)
	w := ownedWorld(t, widgets(t).WithStatus().ConversionWebhook(hook.URL, hook.ca()).Build(), 1)
	plain, restores := w.valve(0, w.isPlain), w.valve(0, isRestore)
	w.controllerAt(intercepted(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		return plain.intercept(req, roundTripper(func(req *http.Request) (*http.Response, error) { return restores.intercept(req, next) }))
	}), w.quick())
	w.Eventually(plain.held.Load, soon, "5ms").Should(BeNumerically(">", 0), "listed, and about to be written")
	w.Expect(w.applySpec("v1alpha1", "late-tool", "owned-0", spec{"payload": "late"})).To(Succeed())
	fewer := wholeSpec()
	delete(fewer, "color")
	w.Expect(w.applySpec("v1alpha1", "old-tool", "owned-0", fewer)).To(Succeed())
	before := w.owners()

	hook.shut.Store(true)
	plain.open()
	w.eventuallyWiped(1)
	hook.shut.Store(false)
	restores.open()
	w.Eventually(w.owners, soon).Should(ConsistOf(before))
	w.eventuallyMigrated(1)
	w.Expect(w.owners()).To(ConsistOf(before))
}
