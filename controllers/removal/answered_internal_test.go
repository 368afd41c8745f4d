package removal

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/policies/verdict"
)

// A watch that was away reports one that was deleted and made again as changed. The CRD that it was about must no longer call
// the versions removable.
func TestAVersionRemovalThatWasMadeAgainForAnotherCRDWakesBoth(t *testing.T) {
	g := NewWithT(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	removal := func(uid types.UID, crd string) *v1alpha1.VersionRemoval {
		return &v1alpha1.VersionRemoval{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gate", UID: uid, Generation: 1}, Spec: v1alpha1.VersionRemovalSpec{CRDName: crd},
		}
	}
	answered().Update(t.Context(), event.TypedUpdateEvent[*v1alpha1.VersionRemoval]{
		ObjectOld: removal("1", "widgets.example.com"), ObjectNew: removal("2", "gadgets.example.com"),
	}, queue)
	var woken []string
	for queue.Len() > 0 {
		request, _ := queue.Get()
		woken = append(woken, request.String())
	}
	g.Expect(woken).To(ConsistOf("ns/gate", "/gadgets.example.com", "/widgets.example.com"))
}

// A watch that is there and delivers nothing keeps no gate open for longer than a minute.
func TestAGateIsLookedAtUnwoken(t *testing.T) {
	for every, want := range map[time.Duration]time.Duration{time.Hour: time.Minute, time.Second: time.Second} {
		r := &Reconciler{opts: Options{SurveyInterval: every}}
		NewWithT(t).Expect(r.result(verdict.Situation{}, verdict.Verdict{}).RequeueAfter).To(Equal(want))
	}
}
