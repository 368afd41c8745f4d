package judges

import (
	"testing"

	engine "github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/health"
	"github.com/moult-dev/moult/health/argocd"
)

// Whatever the object is, all that judge a gate answer, with a known status and a message, and they agree. What they
// call healthy, kstatus calls so too.
func FuzzHealthOfAGate(f *testing.F) {
	sow(f, gate)
	f.Fuzz(func(t *testing.T, content, edits []byte) {
		object, ok := odd(gate, content, edits)
		if !ok {
			return
		}
		verdict := agreed(t, gate, object)
		g := NewWithT(t)
		switch kstatus := inKStatus(object); verdict.Status {
		case health.Healthy:
			g.Expect(kstatus).To(BeElementOf(status.CurrentStatus, status.Status("Error")))
		case health.Degraded:
			g.Expect(kstatus).To(BeElementOf(status.FailedStatus, status.Status("Error")))
		case health.Progressing: // kstatus may be less careful: see the fixtures
		}
	})
}

// The same for CRDs; without the label they fare as with Argo CD's built-in script, and the expressions for Flux never
// fail, and agree about every object that an API server could hold.
func FuzzHealthOfACRD(f *testing.F) {
	sow(f, crd)
	f.Fuzz(func(t *testing.T, content, edits []byte) {
		object, ok := odd(crd, content, edits)
		if !ok {
			return
		}
		verdict := agreed(t, crd, object)
		g := NewWithT(t)
		inCEL, err := inFlux(asServed(withMetadata(object)))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(inCEL).To(BeElementOf(status.CurrentStatus, status.InProgressStatus, status.FailedStatus))
		if plausible(object) {
			g.Expect(inCEL == status.CurrentStatus).To(Equal(verdict.Status == health.Healthy), "Flux says %s, %v", inCEL, verdict)
			if inCEL == status.FailedStatus {
				g.Expect(verdict.Status).To(Equal(health.Degraded))
			}
		}
		plain := withoutLabels(object)
		if theirs, err := asArgoCDShipsIt(plain); err == nil {
			g.Expect(engine.HealthStatusCode(health.CRD(plain).Status)).To(Equal(theirs.Status))
		}
	})
}

// Whatever the object is, every action returns it, changed as it should be.
func FuzzActions(f *testing.F) {
	sow(f, gate)
	f.Fuzz(func(t *testing.T, content, edits []byte) {
		object, ok := odd(gate, content, edits)
		if !ok {
			return
		}
		g := NewWithT(t)
		offered, err := discover(t, object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(offered).To(HaveLen(3))
		for name, annotation := range map[string]string{"pause": paused, "resume": paused, "retry-now": request} {
			changed, err := perform(t, name, object)
			g.Expect(err).NotTo(HaveOccurred(), name)
			value, found, _ := unstructured.NestedString(changed, "metadata", "annotations", annotation)
			g.Expect(found).To(Equal(name != "resume"), name)
			g.Expect(name == "pause").To(Equal(value == "true"), name)
		}
	})
}

// agreed asks everything that judges by Argo CD's words for a verdict, which has to be one and the same.
func agreed(t *testing.T, kind string, object map[string]any) health.Verdict {
	t.Helper()
	g := NewWithT(t)
	verdict := inGo(kind, object)
	g.Expect(verdict.Status).To(BeElementOf(health.Healthy, health.Progressing, health.Degraded))
	g.Expect(verdict.Message).NotTo(BeEmpty())
	want := &engine.HealthStatus{Status: engine.HealthStatusCode(verdict.Status), Message: verdict.Message}
	for _, openLibs := range []bool{false, true} {
		got, err := inArgoCD(object, openLibs)
		g.Expect(err).NotTo(HaveOccurred(), "open libraries: %v", openLibs)
		g.Expect(got).To(Equal(want), "open libraries: %v", openLibs)
	}
	g.Expect(argocd.Override{}.GetResourceHealth(&unstructured.Unstructured{Object: object})).To(Equal(want))
	return verdict
}

// sow starts from every fixture, as it is and with a few edits.
func sow(f *testing.F, kind string) {
	f.Helper()
	for _, fixture := range fixtures(f) {
		if fixture.Kind != kind {
			continue
		}
		object, err := fixture.Object()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(asJSON(f, object), []byte{})
		f.Add(asJSON(f, object), []byte("edited here and there"))
	}
	for _, content := range []string{`{}`, `{"metadata":{},"status":{"conditions":[[],{},null,0,""]}}`, `{"metadata":null,"status":null,"spec":1e400}`} {
		f.Add([]byte(content), []byte{1, 2, 3})
	}
}
