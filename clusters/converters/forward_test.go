package converters_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/util/cert"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/utils/ptr"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/webhooks"
)

// kubelet forwards ports of its pods, which are those of this machine, as kubelets do
// (k8s.io/kubelet/pkg/cri/streaming/portforward/httpstream.go).
func kubelet(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	connection := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, replied <-chan struct{}) error {
		if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			return nil
		}
		go func() {
			<-replied
			defer func() { _ = s.Close() }()
			to, err := net.Dial("tcp", "127.0.0.1:"+s.Headers().Get(corev1.PortHeader))
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(to, s) }()
			_, _ = io.Copy(s, to)
			_ = to.Close()
		}()
		return nil
	})
	if connection != nil {
		<-connection.CloseChan()
	}
}

// port is that of an address.
func port(g *WithT, address string) int32 {
	_, text, err := net.SplitHostPort(address)
	g.Expect(err).NotTo(HaveOccurred())
	number, err := strconv.Atoi(text)
	g.Expect(err).NotTo(HaveOccurred())
	return int32(number) //nolint:gosec // of 16 bits
}

// A real API server forwards to a kubelet; only that one is not real.
func TestAServiceIsReachedByAPortForward(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	node := httptest.NewTLSServer(http.HandlerFunc(kubelet))
	t.Cleanup(node.Close)
	core := kubernetes.NewForConfigOrDie(cp.Config)
	own, err := core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "forward-"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	namespace := own.Name
	certificate, key, err := cert.GenerateSelfSignedCertKey("hook."+namespace+".svc", nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	hook := serving(t, webhooks.NewHandler(), certificate, key)

	machine, err := core.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "kubelet-"}}, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = core.CoreV1().Nodes().Delete(context.Background(), machine.Name, metav1.DeleteOptions{}) })
	machine.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}}
	machine.Status.DaemonEndpoints.KubeletEndpoint.Port = port(g, node.Listener.Addr().String())
	_, err = core.CoreV1().Nodes().UpdateStatus(ctx, machine, metav1.UpdateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.PodSpec{NodeName: machine.Name, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	_, err = core.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "metrics", Port: 80}, {Name: "https", Port: 443}}}}
	_, err = core.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())

	path := "/convert"
	crd := builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").ConversionWebhook("", certificate).Build()
	crd.Spec.Conversion.Webhook.ClientConfig.URL = nil
	crd.Spec.Conversion.Webhook.ClientConfig.Service = &apiextensionsv1.ServiceReference{Namespace: namespace, Name: "hook", Path: &path}
	forwards, err := converters.NewForwards(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(forwards.Close)
	c, err := converters.Webhooks{Services: forwards}.For(crd)
	g.Expect(err).NotTo(HaveOccurred())
	ask := func() error {
		_, err := c.Convert(ctx, []map[string]any{widget("a")}, "example.com/v1")
		return err
	}
	g.Expect(ask()).To(And(HaveField("Fault", conversion.FaultUnreachable), MatchError(ContainSubstring("no pod is ready behind port 443 of Service "+namespace+"/hook"))))

	endpoint := func(pod string, ready bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod}}
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "hook", Labels: map[string]string{discoveryv1.LabelServiceName: "hook"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{endpoint("starting", false), endpoint("hook", true)},
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("metrics"), Port: ptr.To[int32](1)}, {Name: ptr.To("https"), Port: ptr.To(port(g, hook))}},
	}
	_, err = core.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ask()).To(Succeed())
	g.Expect(ask()).To(Succeed(), "by the same one")
	forwards.Close()
	g.Expect(ask()).To(Succeed(), "by another")
}

func TestServicesHaveNamesInsideOfTheirClusterOnly(t *testing.T) {
	of := func(host string) any {
		services, stop, err := converters.ServicesOf(&rest.Config{Host: host})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		stop()
		return services
	}
	g, forwards := NewWithT(t), BeAssignableToTypeOf(&converters.Forwards{})
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	g.Expect(of("https://10.0.0.1:443")).To(forwards, "on a laptop")
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	g.Expect(of("https://10.0.0.1:443")).To(BeNil())
	g.Expect(of("https://other.example.com:6443")).To(forwards, "in a pod of another cluster")
}
