package install

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	running.Quiet()
	controlplane.Run(m, &cp, controlplane.Own("Moult is installed, policies and all"))
}

// flipped installs a CRD with a status, whose objects are stored at an older version than the storage version.
func flipped(t *testing.T, group, plural string, n int, labels ...string) *running.Witness {
	t.Helper()
	crd := builders.CRD(group, plural).Versions("v1alpha1", "v1").Storage("v1alpha1").WithStatus()
	for _, label := range labels {
		crd.Label(label, "true")
	}
	return running.InstallFlipped(t, cp, crd.Build(), n)
}

func lives(witnesses ...*running.Witness) (crds []*apiextensionsv1.CustomResourceDefinition) {
	for _, w := range witnesses {
		crds = append(crds, w.Live())
	}
	return crds
}

// lane is the UID of a PriorityLevelConfiguration.
func lane(t *testing.T, name string) string {
	t.Helper()
	var level *flowcontrolv1.PriorityLevelConfiguration
	g := NewWithT(t)
	g.Eventually(func() (err error) {
		level, err = kubernetes.NewForConfigOrDie(cp.Config).FlowcontrolV1().PriorityLevelConfigurations().Get(t.Context(), name, metav1.GetOptions{})
		return err
	}, running.Soon).Should(Succeed())
	return string(level.UID)
}

// asked is the answer to a request of the controller's ServiceAccount.
func (i *Installation) asked(t *testing.T, path string) Request {
	t.Helper()
	g := NewWithT(t)
	transport, err := rest.TransportFor(i.Config())
	g.Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(cp.Config.Host, "/")+path, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return Request{}
	}
	defer answer.Body.Close()
	return Request{Code: answer.StatusCode, Lane: answer.Header.Get("X-Kubernetes-Pf-Prioritylevel-Uid")}
}

// inForce waits until the API server knows the roles and the lanes: it learns of them by watching.
func (i *Installation) inForce(t *testing.T, objects, level string) {
	t.Helper()
	g := NewWithT(t)
	ask := func(path string) Request { return i.asked(t, path) }
	g.Eventually(ask, running.Soon).WithArguments(objects).Should(Equal(Request{Code: http.StatusOK, Lane: lane(t, level)}))
	// There is no such lease, but somebody without the role would not be told.
	lease := "/apis/coordination.k8s.io/v1/namespaces/" + i.Deployment.Namespace + "/leases/none"
	g.Eventually(ask, running.Soon).WithArguments(lease).Should(HaveField("Code", http.StatusNotFound))
}
