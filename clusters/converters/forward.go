package converters

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/webhook"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	discovery "k8s.io/client-go/kubernetes/typed/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// Forwards reach the Services of a cluster as kubectl port-forward does: through the API server and a kubelet, to one ready pod. It
// is a webhook.ServiceResolver, to be closed.
type Forwards struct {
	cfg    *rest.Config
	core   core.CoreV1Interface
	slices discovery.DiscoveryV1Interface

	mu   sync.Mutex
	open map[forwarded]*forward
}

// forwarded is the port of a Service.
type forwarded struct {
	namespace, name string
	port            int32
}

// forward is one that is open.
type forward struct {
	address string
	stop    chan struct{}
	ended   chan struct{}
}

// ServicesOf finds the Services of a cluster from where this runs: inside of that cluster they have names, which nil resolves, and
// elsewhere they are reached through port-forwards. A pod of another cluster is elsewhere: the same name may be another webhook
// there. It opens none yet; stop closes them.
func ServicesOf(cfg *rest.Config) (services webhook.ServiceResolver, stop func(), err error) {
	// This is how rest.InClusterConfig makes the address.
	if host := os.Getenv("KUBERNETES_SERVICE_HOST"); host != "" && cfg.Host == "https://"+net.JoinHostPort(host, os.Getenv("KUBERNETES_SERVICE_PORT")) {
		return nil, func() {}, nil
	}
	forwards, err := NewForwards(cfg)
	if err != nil {
		return nil, nil, err
	}
	return forwards, forwards.Close, nil
}

// NewForwards opens nothing yet.
func NewForwards(cfg *rest.Config) (*Forwards, error) {
	f := &Forwards{cfg: cfg, open: map[forwarded]*forward{}}
	var err error
	if f.core, err = core.NewForConfig(cfg); err != nil {
		return nil, err
	}
	f.slices, err = discovery.NewForConfig(cfg)
	return f, err
}

// ResolveEndpoint is the local end of a port-forward, which is opened if it is not yet, or not any more.
func (f *Forwards) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := forwarded{namespace, name, port}
	if is := f.open[to]; is != nil {
		select {
		case <-is.ended:
		default:
			return &url.URL{Scheme: "https", Host: is.address}, nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), DefaultTimeout)
	defer cancel()
	pod, podPort, err := f.pod(ctx, to)
	if err != nil {
		return nil, err
	}
	opened, err := f.to(ctx, namespace, pod, podPort)
	if err != nil {
		return nil, fmt.Errorf("no port-forward to pod %s/%s of the conversion webhook, which needs create on pods/portforward: %w", namespace, pod, err)
	}
	f.open[to] = opened
	return &url.URL{Scheme: "https", Host: opened.address}, nil
}

// Close ends all of them.
func (f *Forwards) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for to, is := range f.open {
		close(is.stop)
		<-is.ended
		delete(f.open, to)
	}
}

// pod is a ready one of a Service, and the port there.
func (f *Forwards) pod(ctx context.Context, to forwarded) (pod string, port int32, err error) {
	service, err := f.core.Services(to.namespace).Get(ctx, to.name, metav1.GetOptions{})
	if err != nil {
		return "", 0, err
	}
	slices, err := f.slices.EndpointSlices(to.namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + to.name})
	if err != nil {
		return "", 0, err
	}
	for _, p := range service.Spec.Ports {
		if p.Port != to.port {
			continue
		}
		for i := range slices.Items {
			if pod, port := ready(&slices.Items[i], p.Name); pod != "" {
				return pod, port, nil
			}
		}
	}
	return "", 0, fmt.Errorf("no pod is ready behind port %d of Service %s/%s", to.port, to.namespace, to.name)
}

// ready is a pod that takes requests at a port of this name.
func ready(slice *discoveryv1.EndpointSlice, portName string) (pod string, port int32) {
	for _, p := range slice.Ports {
		if p.Port == nil || p.Name != nil && *p.Name != portName || p.Name == nil && portName != "" {
			continue
		}
		for _, e := range slice.Endpoints {
			is := e.Conditions.Ready == nil || *e.Conditions.Ready
			if is && e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
				return e.TargetRef.Name, *p.Port
			}
		}
	}
	return "", 0
}

// to opens one. As in kubectl, it goes by WebSocket, and by SPDY where the API server knows no other.
func (f *Forwards) to(ctx context.Context, namespace, pod string, port int32) (*forward, error) {
	at := f.core.RESTClient().Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()
	dialer, err := f.dialer(at)
	if err != nil {
		return nil, err
	}
	is, ready := &forward{stop: make(chan struct{}), ended: make(chan struct{})}, make(chan struct{})
	forwarder, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(int(port))}, is.stop, ready, io.Discard, io.Discard)
	if err != nil {
		return nil, err
	}
	var failed error
	go func() {
		defer close(is.ended)
		failed = forwarder.ForwardPorts()
	}()
	select {
	case <-ready:
	case <-is.ended:
		return nil, cmp.Or(failed, errors.New("it has ended at once"))
	case <-ctx.Done():
		close(is.stop)
		return nil, ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		close(is.stop)
		return nil, err
	}
	is.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local)))
	return is, nil
}

func (f *Forwards) dialer(at *url.URL) (httpstream.Dialer, error) {
	transport, upgrader, err := spdy.RoundTripperFor(f.cfg)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, at)
	byWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(at, f.cfg)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(byWebSocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}
