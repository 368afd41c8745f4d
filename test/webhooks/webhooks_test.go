package webhooks_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
	"github.com/moult-dev/moult/test/webhooks"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Run(m, &cp) }

func TestConversionCanBeBrokenInEachWayAndHealed(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	conversion, err := webhooks.NewConversion()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = conversion.Close() })

	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1").
		ConversionWebhook(conversion.URL(), conversion.CABundle()).Build()
	gvr := builders.Resource(crd, "v1")
	running.Install(t, cp, crd)
	g.Expect(builders.CreateObjects(ctx, cp.Config, gvr, "default", 3)).To(Succeed())
	g.Expect(conversion.Calls()).To(BeNumerically(">", 0), "v1 is converted to be stored at v1alpha1")

	get := func(name string) error {
		_, err := resource(g, gvr).Get(ctx, name, metav1.GetOptions{})
		return err
	}
	for name, fault := range map[string]struct {
		inject func()
		want   string
	}{
		"down":     {func() { g.Expect(conversion.Down()).To(Succeed()) }, "connection refused"},
		"garbage":  {conversion.Garbage, "conversion webhook for"},
		"rejected": {func() { conversion.RejectObject("object-00001") }, "as this test wants it"},
	} {
		g.Expect(get("object-00001")).To(Succeed(), "before "+name)
		fault.inject()
		g.Eventually(get, running.Soon).WithArguments("object-00001").Should(MatchError(ContainSubstring(fault.want)), name)
		if name == "rejected" {
			g.Expect(get("object-00002")).To(Succeed(), "only one object is rejected")
		}
		g.Expect(conversion.Heal()).To(Succeed())
	}

	conversion.Slow(300 * time.Millisecond)
	started := time.Now()
	g.Expect(get("object-00001")).To(Succeed())
	g.Expect(time.Since(started)).To(BeNumerically(">=", 300*time.Millisecond))
}

func TestAdmissionRejectsAndCountsUpdates(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	admission, err := webhooks.NewAdmission()
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = admission.Close() })

	crd := builders.CRD(builders.UniqueGroup(t), "widgets").WithStatus().Build()
	gvr := builders.Resource(crd, "v1")
	running.Install(t, cp, crd)
	g.Expect(builders.CreateObjects(ctx, cp.Config, gvr, "default", 2)).To(Succeed())
	g.Expect(admission.Install(ctx, cp.Config, gvr)).To(Succeed())
	g.Expect(admission.Calls()).To(BeZero(), "the probe does not count")

	admission.RejectUpdates("widgets are frozen", "object-00001")
	g.Expect(patch(ctx, g, gvr, "object-00000")).To(Succeed())
	g.Expect(patch(ctx, g, gvr, "object-00001")).To(MatchError(ContainSubstring("widgets are frozen")))
	g.Expect(patch(ctx, g, gvr, "object-00001", "status")).To(Succeed(), "the subresource was not asked for")
	g.Expect(admission.CallsFor("object-00001")).To(BeNumerically(">=", 1))
	g.Expect(admission.Calls()).To(BeNumerically(">=", 2))

	admission.Allow("object-00001")
	g.Expect(patch(ctx, g, gvr, "object-00001")).To(Succeed())

	g.Expect(admission.Down()).To(Succeed())
	g.Eventually(func() error { return patch(ctx, g, gvr, "object-00000") }, running.Soon).Should(MatchError(ContainSubstring("connection refused")))
	g.Expect(admission.Uninstall(ctx, cp.Config, gvr.GroupResource())).To(Succeed())
	g.Eventually(func() error { return patch(ctx, g, gvr, "object-00000") }).WithTimeout(2 * time.Minute).Should(Succeed())
}

// patch sends the empty merge patch, which asks admission although it changes nothing.
func patch(ctx context.Context, g Gomega, gvr schema.GroupVersionResource, name string, subresources ...string) error {
	_, err := resource(g, gvr).Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{}, subresources...)
	return err
}

func resource(g Gomega, gvr schema.GroupVersionResource) dynamic.ResourceInterface {
	client, err := dynamic.NewForConfig(cp.Config)
	g.Expect(err).NotTo(HaveOccurred())
	return client.Resource(gvr).Namespace(metav1.NamespaceDefault)
}
