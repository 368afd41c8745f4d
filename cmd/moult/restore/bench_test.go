package restore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/running"
)

// BenchmarkRestore backs 20,000 objects up and restores them into another cluster. The restore is killed in the middle, and
// repeated; then spec, status and owners are those of before. What is measured is the whole program: `make bench SCENARIO=backup` prints it.
func BenchmarkRestore(b *testing.B) {
	const n = 20000
	g := NewWithT(b)
	p := program{b: b, g: g, binary: filepath.Join(b.TempDir(), "moult"), own: map[string]float64{}, all: map[string]float64{}, took: map[string]time.Duration{}}
	built, err := exec.Command("go", "build", "-o", p.binary, "github.com/moult-dev/moult/cmd/moult").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(built))
	crd := builders.CRD(builders.UniqueGroup(b), "widgets").Versions("v1alpha1", "v1").WithStatus().Build()
	w := running.Install(b, cp, crd)
	at := builders.Resource(crd, "v1")
	w.Create(1, builders.Prefix("owner"))
	owner, err := w.Objects("v1").Get(b.Context(), "owner-00000", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	w.Create(n-1, builders.Each(func(o *unstructured.Unstructured) {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	}))
	setStatus(g, w.Objects("v1"), n-1)
	another, err := controlplane.Start()
	g.Expect(err).NotTo(HaveOccurred())
	b.Cleanup(func() { _ = another.Stop() })
	was := digests(g, cp.Config, at, owner.GetUID())

	b.ResetTimer()
	for b.Loop() {
		file := filepath.Join(b.TempDir(), "backup.tar.gz")
		p.run("backup", cp, "backup", crd.Name, "-f", file)
		info, err := os.Stat(file)
		g.Expect(err).NotTo(HaveOccurred())
		b.ReportMetric(float64(info.Size())/(1<<20), "MiB-file")

		killed := p.start(another, "restore", "-f", file, "--with-crds")
		g.Eventually(func() int64 { return count(b.Context(), another.Config, at) }, 5*time.Minute, "200ms").Should(BeNumerically(">", 5000))
		g.Expect(killed.Process.Kill()).To(Succeed())
		g.Expect(killed.Wait()).NotTo(Succeed())
		p.run("restore", another, "restore", "-f", file)
		theirs, err := dynamic.NewForConfigOrDie(another.Config).Resource(at).Namespace("default").Get(b.Context(), owner.GetName(), metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(digests(g, another.Config, at, theirs.GetUID())).To(Equal(was))
		p.run("again", another, "restore", "-f", file)
	}
	for what := range p.own {
		b.ReportMetric(p.own[what], "MiB-"+what)
		b.ReportMetric(p.all[what], "MiB-with-program-"+what)
		b.ReportMetric(p.took[what].Seconds(), "s-"+what)
	}
}

// program is moult itself.
type program struct {
	b      *testing.B
	g      Gomega
	binary string
	// own is the most memory without the program file, and all with it, in MiB.
	own, all map[string]float64
	took     map[string]time.Duration
}

func (p program) start(cp *controlplane.ControlPlane, args ...string) *exec.Cmd {
	content, err := cp.KubeConfig()
	p.g.Expect(err).NotTo(HaveOccurred())
	kubeconfig := filepath.Join(p.b.TempDir(), "kubeconfig")
	p.g.Expect(os.WriteFile(kubeconfig, content, 0o600)).To(Succeed())
	command := exec.Command(p.binary, append(args, "--kubeconfig", kubeconfig)...)
	command.Stderr = &bytes.Buffer{}
	p.g.Expect(command.Start()).To(Succeed())
	return command
}

func (p program) run(what string, cp *controlplane.ControlPlane, args ...string) {
	began := time.Now()
	command := p.start(cp, args...)
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for own := 0.0; ; {
		select {
		case err := <-ended:
			p.g.Expect(err).NotTo(HaveOccurred(), fmt.Sprint(command.Stderr))
			usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage)
			p.g.Expect(ok).To(BeTrue())
			p.all[what] = max(p.all[what], float64(usage.Maxrss)/(1<<10)) // KiB, on Linux
			p.own[what] = max(p.own[what], own)
			p.took[what] = time.Since(began)
			return
		case <-time.After(10 * time.Millisecond):
			own = max(own, ownMemory(command.Process.Pid))
		}
	}
}

// ownMemory is that of a process without the pages of its program file, which every use of the program shares, in MiB: RssAnon of
// Linux.
func ownMemory(pid int) (mib float64) {
	content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(content)) {
		if rest, is := strings.CutPrefix(line, "RssAnon:"); is {
			_, _ = fmt.Sscanf(rest, "%f", &mib)
		}
	}
	return mib / (1 << 10)
}

// count is how many objects there are, but for the first.
func count(ctx context.Context, config *rest.Config, at schema.GroupVersionResource) int64 {
	list, err := dynamic.NewForConfigOrDie(config).Resource(at).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || list.GetRemainingItemCount() == nil {
		return 0 // not served yet
	}
	return *list.GetRemainingItemCount()
}

// setStatus gives each object one of its own.
func setStatus(g Gomega, objects dynamic.ResourceInterface, n int) {
	var all errgroup.Group
	all.SetLimit(16)
	for i := range n {
		all.Go(func() error {
			_, err := objects.Patch(context.Background(), name(i), types.MergePatchType, fmt.Appendf(nil, `{"status":{"phase":"Ready","observedSize":%d}}`, i), metav1.PatchOptions{FieldManager: "controller"}, "status")
			return err
		})
	}
	g.Expect(all.Wait()).To(Succeed())
}

// digests are those of spec, status, labels, annotations, owners and managedFields, by name. The owner of all has this UID.
func digests(g Gomega, config *rest.Config, at schema.GroupVersionResource, owner types.UID) map[string]string {
	found, opts := map[string]string{}, metav1.ListOptions{Limit: 500}
	for {
		page, err := dynamic.NewForConfigOrDie(config).Resource(at).List(context.Background(), opts)
		g.Expect(err).NotTo(HaveOccurred())
		for i := range page.Items {
			object := &page.Items[i]
			for _, ref := range object.GetOwnerReferences() {
				g.Expect(ref.UID).To(Equal(owner))
			}
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "ownerReferences"} {
				unstructured.RemoveNestedField(object.Object, "metadata", field)
			}
			content, err := object.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			found[object.GetName()] = fmt.Sprintf("%x", sha256.Sum256(content))
		}
		if opts.Continue = page.GetContinue(); opts.Continue == "" {
			return found
		}
	}
}
