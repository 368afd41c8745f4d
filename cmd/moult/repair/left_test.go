package repair

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moult-dev/moult/cmd/moult/internal/cli"
	"github.com/moult-dev/moult/controllers/rewrite/owners"
	"github.com/moult-dev/moult/controllers/rewrite/repairs"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

func TestWhatHasNoOwnerLeftStays(t *testing.T) {
	w := newWorld(t)
	gone, another := w.refers(w.owner), w.refers(w.owner)
	gone.Name, gone.UID, gone.Controller = "gone", "gone", nil
	another.UID, another.Controller = "another", nil
	soil := w.owns(w.namespace, "soil", gone, w.refers(w.owner), another)
	d, code := w.repairs()
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(d.Moved).To(BeEquivalentTo(1))
	w.Expect(d.Left).To(ConsistOf(And(HaveField("Reason", owners.OwnerGone), HaveField("Count", BeEquivalentTo(2)), HaveField("Items", ConsistOf(
		And(HaveField("Owner", "Widget gone"), HaveField("Why", "its owner does not exist")),
		HaveField("Why", "its owner does not exist: rose is another object now, with the uid "+string(w.owner.GetUID())),
	)))))
	w.Expect(w.now(soil).OwnerReferences).To(Equal([]metav1.OwnerReference{gone, w.moved(w.refers(w.owner)), another}))

	_, code = w.repairs("--orphans")
	w.Expect(code).To(Equal(cli.ExitDone))
	w.Expect(w.now(soil).OwnerReferences).To(Equal([]metav1.OwnerReference{w.moved(gone), w.moved(w.refers(w.owner)), w.moved(another)}))
}

// The garbage collector deletes what such a reference is in, or leaves it alone; a repair that moves it makes it look good.
func TestAReferenceWithTheRightUIDButAnotherOwnerIsLeft(t *testing.T) {
	for name, change := range map[string]func(w *world, ref *metav1.OwnerReference, namespace *string){
		"another name": func(_ *world, ref *metav1.OwnerReference, _ *string) { ref.Name = "tulip" },
		"a name that leads to the owner as a path": func(w *world, ref *metav1.OwnerReference, _ *string) {
			ref.Name = "../../" + w.namespace + "/widgets/" + ref.Name
		},
		"another kind":      func(_ *world, ref *metav1.OwnerReference, _ *string) { ref.Kind = "Gadget" },
		"another namespace": func(w *world, _ *metav1.OwnerReference, namespace *string) { *namespace = w.Namespace() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			gadgets := suite.WorldOf(t, builders.CRD(w.GR.Group, "gadgets").Versions("v1alpha1", "v1").Label(w.GR.Group+"/migrate", "true"))
			w.owns(w.namespace, "good", w.refers(w.owner))
			wrong, namespace := w.refers(w.owner), w.namespace
			change(w, &wrong, &namespace)
			soil := w.owns(namespace, "soil", wrong)
			d, code := w.repairs(gadgets.CRD.Name)
			w.Expect(code).To(Equal(cli.ExitNotDone))
			w.Expect(d.Moved).To(BeEquivalentTo(1))
			w.Expect(d.Left).To(ConsistOf(And(HaveField("Reason", owners.OwnerGone), HaveField("Count", BeEquivalentTo(1)))))
			w.Expect(w.now(soil)).To(Equal(soil))
		})
	}
}

func TestAnswersThatFail(t *testing.T) {
	answers := func(code int, reason, message string) sends {
		return func(req *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
			body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: req}, nil
		}
	}
	lost := func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if err == nil {
			_ = answer.Body.Close()
		}
		return nil, errors.New("connection reset")
	}
	for name, c := range map[string]struct {
		hands  sends
		times  int64
		reason repairs.Reason // empty: it is moved
		why    string
		taken  int64
	}{
		"the answer is lost":      {hands: lost, times: 1, taken: 1},
		"the API server is busy":  {hands: answers(429, "TooManyRequests", "later"), times: 2},
		"it has an error":         {hands: answers(500, "InternalError", "an error"), times: 2},
		"a webhook refuses it":    {hands: answers(403, "Forbidden", "admission webhook \"a\" denied the request: no"), times: 100, reason: repairs.Refused, why: "denied the request: no"},
		"the object is not valid": {hands: answers(422, "Invalid", "spec.size is wrong"), times: 100, reason: repairs.Refused, why: "spec.size is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			soil := w.owns(w.namespace, "soil", w.refers(w.owner))
			var writes atomic.Int64
			report, err := w.through(w.T.Context(), func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if writes.Add(1) <= c.times {
					return c.hands(req, send)
				}
				return send()
			})
			w.Expect(err).NotTo(HaveOccurred())
			if c.reason != "" {
				w.Expect(report.Moved).To(BeZero())
				w.Expect(report.Left).To(ConsistOf(And(HaveField("Reason", c.reason), HaveField("Items", ConsistOf(HaveField("Why", ContainSubstring(c.why)))))))
				return
			}
			w.Expect(report.Left).To(BeEmpty())
			w.Expect(report.Moved).To(BeEquivalentTo(1))
			w.Expect(report.Taken).To(BeEquivalentTo(c.taken))
			w.Expect(w.now(soil).OwnerReferences).To(Equal([]metav1.OwnerReference{w.moved(w.refers(w.owner))}))
		})
	}
}

func TestWhoWritesItBackIsNamed(t *testing.T) {
	w := newWorld(t)
	c := w.owns(w.namespace, "soil", w.refers(w.owner))
	report, err := w.through(w.T.Context(), func(_ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if ref := w.now(c).OwnerReferences[0]; ref.APIVersion == w.GR.Group+"/v1" {
			w.patches(c, "another-operator", `{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"Widget","name":"rose","uid":%q}]}}`, w.refers(w.owner).APIVersion, ref.UID)
		}
		return answer, err
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(report.Left).To(ConsistOf(And(HaveField("Reason", repairs.ComesBack), HaveField("Items", ConsistOf(HaveField("Why", "another-operator writes it back"))))))
	w.Expect(report.Moved).To(BeEquivalentTo(1), "one reference, however often")
}

func TestWhatMayNotBeDoneIsNamed(t *testing.T) {
	w := newWorld(t)
	w.owns(w.namespace, "soil", w.refers(w.owner))
	reader := w.KubeconfigAs(w.EverythingBut("leases.coordination.k8s.io")...)
	got := w.Run("repair", "owners", w.CRD.Name, "--kubeconfig", reader)
	w.Expect(got.Code).To(Equal(cli.ExitNotDone), got.Out+got.ErrOut)
	w.Expect(got.Out).To(And(ContainSubstring("\nleft  1 owner reference: they may not be written\n"), ContainSubstring("\n         it needs patch on configmaps\n"),
		ContainSubstring("\nnot looked at    leases.coordination.k8s.io may not be read; it needs list on leases in coordination.k8s.io\n"),
		HaveSuffix("\nleft: 0 owner references moved; 1 left\n")))

	blind := w.KubeconfigAs(w.EverythingBut(w.CRD.Name)...)
	d, code := w.repairs("--kubeconfig", blind)
	w.Expect(code).To(Equal(cli.ExitNotDone))
	w.Expect(d.Left).To(ConsistOf(And(HaveField("Reason", repairs.OwnerUnknown), HaveField("Needs", []string{"get on widgets in " + w.GR.Group}))))

	writer := w.KubeconfigAs(append(w.EverythingBut("leases.coordination.k8s.io"), running.Rule("", "configmaps", "patch"))...)
	got = w.Run("repair", "owners", w.CRD.Name, "--kubeconfig", writer)
	w.Expect(got.Code).To(Equal(cli.ExitUnknown), got.Out+got.ErrOut)
	w.Expect(got.Out).To(HaveSuffix("\nnot known: 1 owner reference moved; not all could be looked at\n"))
}
