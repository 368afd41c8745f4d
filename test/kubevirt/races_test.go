package kubevirt

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/controllers/rewrite/repairs"
)

func TestAVirtualMachineThatIsEditedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	var once sync.Once
	report := w.runs(w.migration(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if isWrite(req, http.MethodPatch, vms.Resource) {
			once.Do(func() { w.patches(vms, "vm", `{"metadata":{"labels":{"edited":"yes"}},"spec":{"running":true}}`) })
		}
		return send()
	}))
	w.Expect(report).To(And(HaveField("Moved", BeEquivalentTo(1)), HaveField("Left", BeEmpty())))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
	w.Expect(w.now(vms, "vm").GetLabels()).To(HaveKeyWithValue("edited", "yes"))
	w.Expect(w.revisions()).To(Equal(map[string]string{"vm" + successor: "v1beta1"}))
}

func TestARevisionThatMoreThanOneName(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	w.named("other", "vm-old")
	w.makes(contents, "content", map[string]any{"spec": map[string]any{"source": map[string]any{"virtualMachine": map[string]any{
		"spec": map[string]any{"instancetype": map[string]any{"revisionName": "vm-old"}},
	}}}})
	report := w.migrates()
	w.Expect(report).To(And(HaveField("Moved", BeEquivalentTo(1)), HaveField("Repointed", BeEquivalentTo(3)), HaveField("Left", BeEmpty())))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
	w.Expect(w.names("other")).To(Equal("vm" + successor))
	w.Expect(text(w.now(contents, "content"), "spec.source.virtualMachine.spec.instancetype.revisionName")).To(Equal("vm" + successor))
}

// behind is a clock on which every survey is old when its objects are to be deleted.
type behind struct {
	clock.Clock

	asked atomic.Int64
}

func (b *behind) Now() time.Time {
	return b.Clock.Now().Add(time.Duration(b.asked.Add(1)) * 20 * time.Second)
}

func TestWhatASurveyShowsIsOldAfterAWhile(t *testing.T) {
	w := newWorld(t)
	for i := range 8 {
		w.one(fmt.Sprintf("vm-%d", i))
	}
	m := w.migration(nil)
	m.Clock = &behind{Clock: clock.RealClock{}}
	report := w.runs(m)
	w.Expect(report).To(And(HaveField("Moved", BeEquivalentTo(8)), HaveField("Left", BeEmpty()), HaveField("Unfinished", BeFalse())))
	w.Expect(report.Looks).To(BeNumerically(">", 5), "each look deletes only some")
}

func TestWhatIsNamedWhileItGoesIsGivenBackAndMovedAgain(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	var once sync.Once
	report := w.runs(w.migration(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if req.Method == http.MethodDelete { // a restore has found the old one, and names it
			once.Do(func() { w.patches(vms, "vm", `{"spec":{"instancetype":{"revisionName":"vm-old"}}}`) })
		}
		return send()
	}))
	w.Expect(report).To(And(HaveField("Returned", BeEquivalentTo(1)), HaveField("Left", BeEmpty())))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
	w.Expect(w.revisions()).To(Equal(map[string]string{"vm" + successor: "v1beta1"}))
}

func TestARunAfterAKillGivesBackWhatTheFileHas(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	_, err := w.migration(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if req.Method == http.MethodDelete {
			defer kill()
		}
		return send()
	}).Run(ctx)
	w.Expect(err).To(MatchError(context.Canceled))
	w.Expect(w.revision("vm-old")).To(BeNil())
	w.patches(vms, "vm", `{"spec":{"instancetype":{"revisionName":"vm-old"}}}`)
	w.Expect(w.migrates()).To(And(HaveField("Returned", BeEquivalentTo(1)), HaveField("Left", BeEmpty())))
	w.Expect(w.names("vm")).To(Equal("vm" + successor))
}

func TestWhoNamesItAgainAndAgainKeepsIt(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	report := w.runs(w.migration(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if req.Method == http.MethodDelete {
			w.patches(vms, "vm", `{"spec":{"instancetype":{"revisionName":"vm-old"}}}`)
		}
		return send()
	}))
	w.Expect(report.Left).To(leaves(repairs.ComesBack, "again"))
	w.Expect(w.names("vm")).To(Equal("vm-old"))
	w.Expect(w.revision("vm-old")).NotTo(BeNil(), "it resolves still")
}

func TestAnObjectThatChangesBeforeItIsDeleted(t *testing.T) {
	w := newWorld(t)
	w.one("vm")
	var deletes atomic.Int64
	report := w.runs(w.migration(func(req *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if req.Method == http.MethodDelete && deletes.Add(1) == 1 {
			w.patches(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}, "vm-old", `{"metadata":{"labels":{"claimed":"yes"}}}`)
		}
		return send()
	}))
	w.Expect(report.Left).To(BeEmpty())
	w.Expect(deletes.Load()).To(BeEquivalentTo(2), "the first is refused")
	_, err := w.core.AppsV1().ControllerRevisions(w.namespace).Get(t.Context(), "vm-old", metav1.GetOptions{})
	w.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}
