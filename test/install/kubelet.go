package install

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// Kubelet does for the controller's Deployment what a cluster does: while it is there, its container runs, the aggregated role
// has its rules, and the Deployment is reported as available.
type Kubelet struct {
	t          testing.TB
	g          Gomega
	cp         *controlplane.ControlPlane
	client     client.Client
	at         string // the Deployment that runs, and its generation
	moult      *Installation
	controller *Controller
}

// NewKubelet looks after the Deployment of clusters/base.
func NewKubelet(t testing.TB, cp *controlplane.ControlPlane) *Kubelet {
	t.Helper()
	return &Kubelet{t: t, g: NewWithT(t), cp: cp, client: running.Client(t, cp.Config)}
}

// Look does what is to be done now. It has to be called after each change, since nothing of it happens by itself.
func (k *Kubelet) Look() {
	k.t.Helper()
	deployment := &appsv1.Deployment{}
	err := k.client.Get(k.t.Context(), client.ObjectKey{Namespace: "moult-system", Name: "moult-controller"}, deployment)
	if apierrors.IsNotFound(err) {
		k.stop()
		return
	}
	k.g.Expect(err).NotTo(HaveOccurred())
	if at := fmt.Sprint(deployment.UID, deployment.Generation); at != k.at {
		k.stop()
		k.at, k.moult = at, Adopt(k.t, k.cp, deployment.Namespace, deployment.Name)
		k.controller = k.moult.Start()
		n := *deployment.Spec.Replicas
		deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
			Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
		k.g.Expect(k.client.Status().Update(k.t.Context(), deployment)).To(Succeed())
		return
	}
	k.moult.Aggregate()
}

// Running reports whether the controller runs.
func (k *Kubelet) Running() bool { return k.controller != nil && !k.controller.hasEnded() }

func (k *Kubelet) stop() {
	if k.controller != nil {
		k.controller.stop()
	}
	k.at, k.moult, k.controller = "", nil, nil
}
