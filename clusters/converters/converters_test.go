package converters_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/moult-dev/moult/clusters/converters"
	"github.com/moult-dev/moult/policies/conversion"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/webhooks"
)

var cp *controlplane.ControlPlane

// program is set where this test is itself started as the webhook of a command.
const program = "MOULT_TEST_WEBHOOK"

func TestMain(m *testing.M) {
	switch os.Getenv(program) {
	case "serve":
		fmt.Println(webhooks.NewHandler().Serve())
	case "":
		controlplane.Run(m, &cp)
	default:
		fmt.Println("no certificate of mine")
		os.Exit(3)
	}
}

// serving is the address of a handler with a certificate.
func serving(t *testing.T, handler http.Handler, certificate, key []byte) string {
	t.Helper()
	pair, err := tls.X509KeyPair(certificate, key)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

func widgets(url string, ca []byte) *apiextensionsv1.CustomResourceDefinition {
	return builders.CRD("example.com", "widgets").Versions("v1alpha1", "v1").ConversionWebhook(url, ca).Build()
}

func widget(name string) map[string]any {
	return map[string]any{"apiVersion": "example.com/v1alpha1", "kind": "Widget", "metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(3)}}
}

func TestACommandIsAWebhook(t *testing.T) {
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	// A shell between us and the program, and one beside it that holds the output: both are ended, too.
	command, err := converters.Start(t.Context(), "sleep 600 & "+program+"=serve '"+self+"'; true")
	g.Expect(err).NotTo(HaveOccurred())
	c, err := converters.Webhooks{URL: command.URL("/convert"), CA: command.CA}.For(widgets("https://127.0.0.1:1/", nil))
	g.Expect(err).NotTo(HaveOccurred())
	for _, n := range []int{1, 2} {
		var objects []map[string]any
		for i := range n {
			objects = append(objects, widget(fmt.Sprint("o", i)))
		}
		converted, err := c.Convert(t.Context(), objects, "example.com/v1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(converted).To(HaveLen(n))
		for i := range converted {
			g.Expect(converted[i]).To(HaveKeyWithValue("apiVersion", "example.com/v1"))
			g.Expect(objects[i]).To(Equal(widget(fmt.Sprint("o", i))), "it is not changed")
		}
	}
	command.Stop()
	_, err = c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
	g.Expect(err).To(MatchError(ContainSubstring("cannot be reached")))
}

func TestACommandThatServesNothingIsReportedWithWhatItPrints(t *testing.T) {
	g := NewWithT(t)
	self, err := os.Executable()
	g.Expect(err).NotTo(HaveOccurred())
	_, err = converters.Start(t.Context(), program+"=fail '"+self+"'")
	g.Expect(err).To(MatchError(And(ContainSubstring("it has ended before it listened"), ContainSubstring("no certificate of mine"))))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = converters.Start(ctx, "sleep 600")
	g.Expect(err).To(MatchError(ContainSubstring("does not listen")))
}

// A webhook that has not answered for some time is asked no more: each question takes half a minute.
func TestAWebhookThatIsLateIsAskedNoMore(t *testing.T) {
	g := NewWithT(t)
	hook, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	c, err := converters.Webhooks{Timeout: 300 * time.Millisecond}.For(widgets(hook.URL(), hook.CABundle()))
	g.Expect(err).NotTo(HaveOccurred())
	ask := func() error {
		_, err := c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
		return err
	}
	hook.Slow(time.Minute)
	late := HaveField("Fault", conversion.FaultLate)
	g.Expect([]error{ask(), ask()}).To(HaveEach(late))
	g.Expect(hook.Heal()).To(Succeed())
	g.Expect(ask()).To(Succeed(), "which is an answer")
	hook.Slow(time.Minute)
	g.Expect([]error{ask(), ask(), ask()}).To(HaveEach(late))
	g.Expect(hook.Heal()).To(Succeed())
	calls := hook.Calls()
	g.Expect(ask()).To(MatchError(ContainSubstring("is asked no more")))
	g.Expect(hook.Calls()).To(Equal(calls))
}

// What is asked about is held as long as the request is under way, so that is no longer than somebody waits. It says nothing about the webhook.
func TestARequestEndsWithThoseWhoWaitForIt(t *testing.T) {
	g := NewWithT(t)
	hook := webhooks.Converting(t)
	c, err := converters.Webhooks{}.For(widgets(hook.URL(), hook.CABundle()))
	g.Expect(err).NotTo(HaveOccurred())
	ask := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := c.Convert(ctx, []map[string]any{widget("a")}, "example.com/v1")
		return err
	}
	hook.Slow(time.Minute)
	for range 5 {
		g.Expect(ask(100 * time.Millisecond)).To(HaveField("Fault", conversion.FaultUnreachable))
	}
	g.Expect(hook.Heal()).To(Succeed())
	g.Expect(ask(10 * time.Second)).To(Succeed())
}

// The API server's code waits for as long as an answer says, and asks again.
func TestAWebhookDoesNotSayWhenItIsAskedAgain(t *testing.T) {
	g, calls := NewWithT(t), atomic.Int64{}
	busy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(busy.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: busy.Certificate().Raw})
	c, err := converters.Webhooks{}.For(widgets(busy.URL, ca))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
	g.Expect(err).To(MatchError(ContainSubstring("it answers 503")))
	g.Expect(calls.Load()).To(BeEquivalentTo(1))
}

// A webhook is somebody else's program, and does not end the one that asks it.
func TestAnAnswerHasABound(t *testing.T) {
	g := NewWithT(t)
	hook, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	kilobytes := 600
	hook.Change(func(object *unstructured.Unstructured, _, _ string) {
		object.Object["spec"] = map[string]any{"a": strings.Repeat("a", kilobytes<<10)}
	})
	c, err := converters.Webhooks{}.For(widgets(hook.URL(), hook.CABundle()))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
	g.Expect(err).To(And(HaveField("Fault", conversion.FaultAnswer), MatchError(ContainSubstring("it answers more than"))))
	kilobytes = 400
	_, err = c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
	g.Expect(err).NotTo(HaveOccurred())
}

func TestACRDThatNamesNoWebhookIsRefused(t *testing.T) {
	g := NewWithT(t)
	crd := widgets("", nil)
	crd.Spec.Conversion.Webhook = nil
	_, err := converters.Webhooks{}.For(crd)
	g.Expect(err).To(MatchError(ContainSubstring("name it with --webhook URL")))
	g.Expect(crd.Spec.Conversion.Webhook).To(BeNil(), "it is not changed")
}

// A webhook that ends and starts anew is waited for, and the object that ends it each time is the only one that it does not answer.
func TestAWebhookThatEndsCostsTheObjectThatEndsIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hook, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = hook.Close() })
	var again sync.WaitGroup
	t.Cleanup(again.Wait)
	killed := atomic.Int32{}
	hook.Change(func(object *unstructured.Unstructured, _, _ string) {
		if object.GetName() == "o17" {
			killed.Add(1)
			again.Go(func() {
				_ = hook.Down()
				_ = hook.Up()
			})
			panic(http.ErrAbortHandler)
		}
	})
	crd := widgets(hook.URL(), hook.CABundle())
	c, err := converters.Webhooks{}.For(crd)
	g.Expect(err).NotTo(HaveOccurred())
	e, err := conversion.New(crd)
	g.Expect(err).NotTo(HaveOccurred())
	var objects []map[string]any
	for i := range 40 {
		objects = append(objects, widget(fmt.Sprintf("o%02d", i)))
	}
	outcomes := append(e.With(c).RehearseAll(t.Context(), objects[:20]), e.With(c).RehearseAll(t.Context(), objects[20:])...)
	for i, o := range outcomes {
		g.Expect(o.Unknown != "").To(Equal(i == 17), "%d: %+v", i, o)
	}
	g.Expect(killed.Load()).To(BeNumerically("<=", 8), "it is not ended again and again")
	g.Expect(hook.Down()).To(Succeed())
	again.Wait()
	g.Expect(hook.Down()).To(Succeed())
	start := time.Now()
	for _, o := range e.With(c).RehearseAll(t.Context(), objects[:20]) {
		g.Expect(o.Unknown).NotTo(BeEmpty())
	}
	g.Expect(time.Since(start)).To(BeNumerically("<", 3*time.Minute), "one that stays away is waited for once: for each of twenty objects, it would be five minutes")
}

// An answer of half a megabyte may hold a hundred thousand small maps.
func TestAnAnswerThatTakesMuchWhenItIsDecodedIsRefused(t *testing.T) {
	g := NewWithT(t)
	hook := webhooks.Converting(t)
	hook.Answer(func(response *apiextensionsv1.ConversionResponse) {
		response.ConvertedObjects[0].Raw = []byte(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"parts":[` + strings.Repeat("{},", 5_000) + `{}]}}`)
	})
	c, err := converters.Webhooks{}.For(widgets(hook.URL(), hook.CABundle()))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = c.Convert(t.Context(), []map[string]any{widget("a")}, "example.com/v1")
	g.Expect(err).To(And(HaveField("Fault", conversion.FaultAnswer), MatchError(ContainSubstring("decoded"))))
}
