package controlplane_test

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
)

var cp *controlplane.ControlPlane

func TestMain(m *testing.M) {
	if ending := os.Getenv(orphanEnv); ending != "" {
		endBadly(ending)
		return
	}
	controlplane.Run(m, &cp, controlplane.Own("its tests pause and stop servers"))
}

// patience is for a machine that is busy with other things.
const patience = 2 * time.Minute

func TestStartsInSecondsAndStopsCleanly(t *testing.T) {
	g := NewWithT(t)
	took := patience
	for range 3 { // no try looks faster than it is, and one may look slower
		took = min(took, startAndStop(t, g))
		if took < 30*time.Second {
			break
		}
	}
	g.Expect(took).To(BeNumerically("<", 30*time.Second))
}

func startAndStop(t *testing.T, g *WithT) (took time.Duration) {
	t.Helper()
	started := time.Now()
	own, err := controlplane.Start(controlplane.Flag("max-requests-inflight", "50"))
	g.Expect(err).NotTo(HaveOccurred())
	took = time.Since(started)
	t.Logf("up after %s", took.Round(time.Millisecond))

	_, err = version(own.Config)
	g.Expect(err).NotTo(HaveOccurred())

	started = time.Now()
	g.Expect(own.Stop()).To(Succeed())
	t.Logf("stopped after %s", time.Since(started).Round(time.Millisecond))
	g.Expect(own.Stop()).To(Succeed(), "the second time")
	_, err = own.SecondAPIServer()
	g.Expect(err).To(MatchError(ContainSubstring("is stopped")))
	return took
}

func TestKubeConfigReachesTheServerAsAdmin(t *testing.T) {
	g := NewWithT(t)
	content, err := cp.KubeConfig()
	g.Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.RESTConfigFromKubeConfig(content)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version(config)).To(HavePrefix("v1."))
}

func TestOtherProcessesAttachToASharedControlPlane(t *testing.T) {
	g := NewWithT(t)
	dir, err := cp.Share()
	g.Expect(err).NotTo(HaveOccurred())
	t.Setenv(controlplane.EnvShared, dir)
	attached, err := controlplane.AttachOrStart()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(attached.Config.Host).To(Equal(cp.Config.Host))
	g.Expect(attached.Minor).To(Equal(cp.Minor))
	g.Expect(attached.Etcd().Endpoint).To(Equal(cp.Etcd().Endpoint))
	_, err = attached.SecondAPIServer()
	g.Expect(err).To(MatchError(ContainSubstring("controlplane.Own")))

	g.Expect(attached.Stop()).To(Succeed())
	_, err = version(cp.Config)
	g.Expect(err).NotTo(HaveOccurred(), "it goes on running")

	own, err := controlplane.AttachOrStart(controlplane.Own("a test"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(own.Config.Host).NotTo(Equal(cp.Config.Host))
	g.Expect(own.Stop()).To(Succeed())

	t.Setenv(controlplane.EnvShared, t.TempDir())
	_, err = controlplane.AttachOrStart()
	g.Expect(err).To(MatchError(ContainSubstring("which MOULT_CONTROL_PLANE names")))
}

func TestMissingProgramsNameTheCommandThatBuildsThem(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := controlplane.Start()
	g.Expect(err).To(MatchError(ContainSubstring("make control-plane")))

	t.Setenv("MOULT_KUBERNETES", "")
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	_, err = controlplane.Start()
	g.Expect(err).To(MatchError(ContainSubstring("unset KUBEBUILDER_ASSETS")))
}

func TestFailedStartShowsTheLog(t *testing.T) {
	g := NewWithT(t)
	_, err := controlplane.Start(controlplane.Flag("no-such-flag", "1"))
	g.Expect(err).To(MatchError(ContainSubstring("unknown flag: --no-such-flag")))
}

func TestSecondServerSharesEtcdAndCanBePaused(t *testing.T) {
	g := NewWithT(t)
	ctx := t.Context()
	started := time.Now()
	second, err := cp.SecondAPIServer()
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("second server up after %s", time.Since(started).Round(time.Millisecond))
	g.Expect(second.Config.Host).NotTo(Equal(cp.Config.Host))

	crd := builders.CRD(builders.UniqueGroup(t), "widgets").Build()
	gvr := builders.Resource(crd, "v1")
	g.Expect(builders.Install(ctx, cp.Config, crd)).To(Succeed())
	g.Expect(builders.CreateObjects(ctx, cp.Config, gvr, "default", 1)).To(Succeed())
	g.Expect(builders.WaitServed(ctx, second.Config, crd)).To(Succeed())

	here, err := objects(g, cp.Config).Resource(gvr).Namespace("default").Get(ctx, "object-00000", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	there, err := objects(g, second.Config).Resource(gvr).Namespace("default").Get(ctx, "object-00000", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(there).To(Equal(here))

	g.Expect(second.Pause()).To(Succeed())
	hasty := rest.CopyConfig(second.Config)
	hasty.Timeout = 500 * time.Millisecond
	g.Eventually(func() error { _, err := version(hasty); return err }).WithTimeout(patience).
		Should(MatchError(Or(ContainSubstring("deadline exceeded"), ContainSubstring("Timeout"))), "a signal takes a moment to arrive")
	g.Expect(version(cp.Config)).NotTo(BeEmpty(), "the other server still answers")

	g.Expect(second.Resume()).To(Succeed())
	g.Expect(version(second.Config)).NotTo(BeEmpty())

	g.Expect(second.Pause()).To(Succeed())
	g.Expect(second.Stop()).To(Succeed(), "although it is paused")
	g.Expect(second.Stop()).To(Succeed(), "although it is stopped")
	g.Expect(second.Pause()).To(MatchError(ContainSubstring("is not running")))
}

func TestStoredBytesShowAFlipOnlyAfterAWrite(t *testing.T) {
	for name, builder := range map[string]func(*builders.CRDBuilder) *builders.CRDBuilder{
		"namespaced":     func(b *builders.CRDBuilder) *builders.CRDBuilder { return b },
		"cluster-scoped": (*builders.CRDBuilder).ClusterScoped,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx := t.Context()
			crd := builder(builders.CRD(builders.UniqueGroup(t), "widgets").Versions("v1alpha1", "v1").Storage("v1alpha1")).Build()
			namespace := ""
			if crd.Spec.Scope == "Namespaced" {
				namespace = "default"
			}
			gvr := builders.Resource(crd, "v1")
			gr := gvr.GroupResource()
			const total = 1001 // more than two pages of a walk

			g.Expect(builders.Install(ctx, cp.Config, crd)).To(Succeed())
			g.Expect(builders.CreateObjects(ctx, cp.Config, gvr, namespace, total)).To(Succeed())
			g.Expect(cp.Etcd().CountByVersion(ctx, gr)).To(Equal(map[string]int{"v1alpha1": total}))
			g.Expect(cp.Etcd().Writes(ctx, gr)).To(BeZero())

			g.Expect(builders.FlipStorage(ctx, cp.Config, crd.Name, "v1")).To(Succeed())
			g.Expect(cp.Etcd().StoredVersion(ctx, gr, namespace, "object-00000")).To(Equal("v1alpha1"))

			g.Eventually(func(g Gomega) {
				touch(ctx, g, gvr, namespace, "object-00000")
				g.Expect(cp.Etcd().StoredVersion(ctx, gr, namespace, "object-00000")).To(Equal("v1"))
			}).WithTimeout(patience).Should(Succeed(), "the server needs a moment to see the flip")
			g.Expect(cp.Etcd().Writes(ctx, gr)).To(BeEquivalentTo(1))
			g.Expect(cp.Etcd().CountByVersion(ctx, gr)).To(Equal(map[string]int{"v1alpha1": total - 1, "v1": 1}))
			g.Expect(cp.Etcd().Stale(ctx, gr, "v1alpha1")).To(HaveExactElements(HaveSuffix("object-00000")))

			touch(ctx, g, gvr, namespace, "object-00000")
			g.Expect(cp.Etcd().Writes(ctx, gr)).To(BeEquivalentTo(1), "a write that changes nothing is elided")

			raw, err := cp.Etcd().Raw(ctx, gr, namespace, "object-00000")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(raw)).To(HavePrefix(`{"apiVersion":"` + crd.Spec.Group + `/v1"`))
			_, err = cp.Etcd().StoredVersion(ctx, gr, namespace, "nobody")
			g.Expect(err).To(MatchError(controlplane.ErrNotStored))
		})
	}
}

// touch sends the empty merge patch that rewrites an object stored at an old version.
func touch(ctx context.Context, g Gomega, gvr schema.GroupVersionResource, namespace, name string) {
	_, err := objects(g, cp.Config).Resource(gvr).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}

func objects(g Gomega, config *rest.Config) dynamic.Interface {
	client, err := dynamic.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	return client
}

func version(config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := client.ServerVersion()
	if err != nil {
		return "", err
	}
	return info.GitVersion, nil
}
