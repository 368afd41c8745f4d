package removal_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/removal"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/running"
)

// approved is what the CRD says may be removed.
func approved(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, c := range crd.Status.Conditions {
		if c.Type == v1alpha1.VersionsRemovable {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
	}
	return ""
}

func TestTheCRDSaysWhatIsSafeToRemoveBeforeTheGateOpens(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1beta1", "v1").Storage("v1alpha1").OptedIn().Build()
	gate := running.GateFor(running.InstallFlipped(t, cp, crd, 10))
	running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	says := func() string { return approved(gate.Live()) }
	safe := func(versions string) string {
		return fmt.Sprintf("True SafeToRemove generation %d: %s", gate.Live().Generation, versions)
	}
	g.Eventually(gate.Reason, running.Soon).Should(Equal(v1alpha1.ReasonMigrated))
	g.Expect(says()).To(BeEmpty(), "clean, and nobody has asked")

	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon, "10ms").Should(Equal("True SafeToRemove"))
	g.Expect(says()).To(Equal(safe("v1alpha1")), "the very moment the gate is open")

	both := client.ObjectKey{Namespace: gate.Name.Namespace, Name: "another"}
	gate.Ask(func(r *v1alpha1.VersionRemoval) { r.Name, r.Spec.Versions = both.Name, []string{"v1beta1"} })
	g.Eventually(says, running.Soon).Should(Equal(safe("v1alpha1, v1beta1")), "what all of them have found")

	gate.Update(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[2].Deprecated = true })
	g.Eventually(says, running.Soon).Should(Equal(safe("v1alpha1, v1beta1")), "for each generation anew")

	g.Expect(running.Client(t, cp.Config).Delete(t.Context(), gate.Removal())).To(Succeed())
	g.Eventually(says, running.Soon).Should(Equal(safe("v1beta1")), "without the one that is withdrawn")

	g.Expect(builders.RemoveVersion(t.Context(), cp.Config, gate.GR.String(), "v1beta1")).To(Succeed())
	g.Eventually(says, running.Soon).Should(BeEmpty(), "what is removed needs no leave")
	g.Expect(gate.Condition().Type).To(BeEquivalentTo(v1alpha1.StorageMigrated), "the migration's condition is not disturbed")
}

// A VersionRemoval that is deleted while no controller runs leaves its approval behind, and an admission policy believes it.
func TestAnApprovalThatNoVersionRemovalBacksIsTakenBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").OptedIn().Build()
	gate := running.GateFor(running.InstallFlipped(t, cp, crd, 3))
	run := func() (stop func()) {
		return running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	}
	says := func() string { return approved(gate.Live()) }
	stop := run()
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon, "10ms").Should(Equal("True SafeToRemove"))
	stop()
	g.Expect(running.Client(t, cp.Config).Delete(t.Context(), gate.Removal())).To(Succeed())
	g.Expect(says()).To(HavePrefix("True"))
	run()
	g.Eventually(says, running.Soon).Should(BeEmpty())

	forge(t, gate)
	g.Eventually(says, running.Soon).Should(HavePrefix("False NotFoundSafe"), "what somebody else has written does not go, so it is contradicted")

	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon, "10ms").Should(Equal("True SafeToRemove"))
	g.Expect(says()).To(HavePrefix("True SafeToRemove"))
	g.Expect(running.Client(t, cp.Config).Delete(t.Context(), gate.Removal())).To(Succeed())
	g.Eventually(says, running.Soon).Should(HavePrefix("False NotFoundSafe"), "nor does it with what we have written over it")
}

// A Moult that has read the CRD before another one contradicted, and writes after that, does not take the contradiction back.
func TestAContradictionStaysWhenAnotherMoultWritesLate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1").OptedIn().Build()
	gate := running.GateFor(running.Install(t, cp, crd))
	says := func() string { return approved(gate.Live()) }
	held, late, contradicted := &atomic.Int64{}, &atomic.Int64{}, make(chan struct{})
	let := sync.OnceFunc(func() { close(contradicted) })
	t.Cleanup(let)
	lagging := via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if req.Method != http.MethodPatch || !strings.HasSuffix(req.URL.Path, crd.Name+"/status") || req.URL.Query().Get("fieldManager") != v1alpha1.RemovalFieldManager {
			return next.RoundTrip(req)
		}
		held.Add(1)
		select {
		case <-contradicted:
		case <-req.Context().Done():
		}
		defer late.Add(1)
		return next.RoundTrip(req)
	})
	running.Moult(t, lagging, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	forge(t, gate)
	g.Eventually(held.Load, running.Soon).Should(BeNumerically(">", 0), "it is about to contradict")
	running.Moult(t, cp.Config, running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	g.Eventually(says, running.Soon).Should(HavePrefix("False NotFoundSafe"))

	let()
	g.Eventually(late.Load, running.Soon).Should(BeNumerically(">", 0), "it writes late")
	g.Expect(says()).To(HavePrefix("False NotFoundSafe"))
}

// forge writes the condition as somebody else would.
func forge(t *testing.T, gate *running.Gate) {
	t.Helper()
	c := running.Client(t, cp.Config)
	NewWithT(t).Eventually(func() error { // until no reconciler writes at the same moment
		live := gate.Live()
		live.ManagedFields = nil
		live.Status.Conditions = append(live.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{
			Type: v1alpha1.VersionsRemovable, Status: apiextensionsv1.ConditionTrue, Reason: v1alpha1.ReasonSafeToRemove,
			Message: v1alpha1.Message(live.Generation, "v1alpha1"),
		})
		return c.Status().Update(t.Context(), live, client.FieldOwner("kubectl-replace"))
	}, running.Soon).Should(Succeed())
}

// refusing refuses that condition alone, as a policy may, until it is over.
func refusing(over *atomic.Bool) *rest.Config {
	return via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if over.Load() || req.Method != http.MethodPatch || !strings.HasSuffix(req.URL.Path, "/status") || req.URL.Query().Get("fieldManager") != v1alpha1.RemovalFieldManager {
			return next.RoundTrip(req)
		}
		const denied = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,"message":"admission webhook \"guard.example.com\" denied the request: not today"}`
		return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(denied)), Request: req}, nil
	})
}

// The refusal is the answer, and not what was under way before.
func TestAConditionThatMayNotBeWrittenIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	gate := running.GateFor(running.Install(t, cp, builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1").OptedIn().Build()))
	running.Moult(t, refusing(&atomic.Bool{}), running.Quick(gate.GR.Group), removal.Options{Namespaces: []string{gate.Name.Namespace}})
	gate.Ask()
	g.Eventually(gate.Verdict, running.Soon).Should(Equal("False Forbidden Reconciling"))
	g.Expect(gate.Message()).To(And(ContainSubstring("the condition VersionsRemovable may not be written to the CRD"), ContainSubstring("not today"),
		ContainSubstring("The answer would be SafeToRemove: every object of "+gate.GR.String())))
}

// A refusal may last for long, and anything may be written meanwhile.
func TestAGateThatWasRefusedOpensOnANewLook(t *testing.T) {
	t.Parallel()
	g := flipped(t, 3)
	g.Ask()
	var over atomic.Bool
	g.moultAt(refusing(&over))
	g.eventually("False Forbidden Reconciling")
	g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix("late"))).To(Succeed())
	g.Expect(g.versionsInManagedFields()).To(HaveKey(g.GR.Group + "/v1alpha1"))
	over.Store(true)
	g.patch(`{"metadata":{"annotations":{"example.com/wakes":"it"}}}`)
	g.eventually("True SafeToRemove")
	g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group+"/v1alpha1"), "open while managedFields name v1alpha1")
}

// So may a webhook be down.
func TestAGateThatCouldNotBeOpenedOpensOnANewLook(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]func(g *gate) string{
		"the condition of the CRD":         func(g *gate) string { return "/customresourcedefinitions/widgets." + g.GR.Group + "/status" },
		"the status of the VersionRemoval": func(g *gate) string { return "/versionremovals/" + g.Name.Name + "/status" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := flipped(t, 3)
			g.Ask()
			var over, failed atomic.Bool
			g.moultAt(via(cp.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
				if over.Load() || req.Method != http.MethodPatch || !strings.HasSuffix(req.URL.Path, written(g)) {
					return next.RoundTrip(req)
				}
				body, err := io.ReadAll(req.Body)
				if err != nil {
					return nil, err
				}
				req.Body = io.NopCloser(bytes.NewReader(body))
				if !bytes.Contains(body, []byte(v1alpha1.ReasonSafeToRemove)) {
					return next.RoundTrip(req)
				}
				failed.Store(true)
				answer := httptest.NewRecorder()
				http.Error(answer, "failed calling webhook", http.StatusInternalServerError)
				return answer.Result(), nil
			}))
			g.Eventually(failed.Load, soon).Should(BeTrue())
			g.Expect(builders.CreateObjects(g.ctx, cp.Config, g.GR.WithVersion("v1alpha1"), "default", 1, builders.Prefix("late"))).To(Succeed())
			over.Store(true)
			g.eventually("True SafeToRemove")
			g.Expect(g.versionsInManagedFields()).NotTo(HaveKey(g.GR.Group+"/v1alpha1"), "open while managedFields name v1alpha1")
		})
	}
}
