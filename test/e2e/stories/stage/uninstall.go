package stage

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/process"
	"github.com/moult-dev/moult/test/e2e/story"
)

// Collect runs those controllers of Kubernetes until the test ends that finish a deletion: the garbage collector, and the one of
// Namespaces.
func (s *Stage) Collect(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	binary, err := assets.ControllerManager()
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	kubeconfig := filepath.Join(folder, "kubeconfig")
	g.Expect(cluster.WriteKubeconfig(s.Config, kubeconfig)).To(Succeed())
	manager, err := process.Start(process.Command{
		Name: "kube-controller-manager", Path: binary, LogDir: folder,
		Args: []string{"--kubeconfig=" + kubeconfig, "--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=false",
			"--controllers=garbage-collector-controller,namespace-controller"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(manager.Stop)
	g.Expect(manager.Await(t.Context(), "it collects", manager.Logged("all resource monitors have synced"))).To(Succeed())
}

// Own are the files of Moult's repository that a tool installs Moult from: a folder of clusters, without the alerts, since
// nothing has brought the kinds of the Prometheus Operator; and the policies.
func Own(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := Files(t, "clusters/base", "clusters/components", "clusters/"+folder)
	maps.Copy(files, PolicyFiles(t))
	kustomization := "clusters/" + folder + "/moult/kustomization.yaml"
	const monitoring = "  - ../../components/monitoring\n"
	NewWithT(t).Expect(files[kustomization]).To(ContainSubstring(monitoring))
	files[kustomization] = strings.Replace(files[kustomization], monitoring, "", 1)
	return files
}

// Installed are the objects that the folder of Own amounts to.
func Installed(t *testing.T, own map[string]string, folder string) (objects []*unstructured.Unstructured) {
	t.Helper()
	g := NewWithT(t)
	rendering, err := render.Folder(Commit(t, t.TempDir(), own)+"/clusters/"+folder+"/moult", render.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range rendering.Objects {
		objects = append(objects, object.Unstructured)
	}
	g.Expect(len(objects)).To(BeNumerically(">", 10))
	return objects
}

// There is a check: of the objects all are in the cluster, or none is.
func (s *Stage) There(objects []*unstructured.Unstructured, wanted bool) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		there, others := 0, ""
		for _, object := range objects {
			live := cluster.Object(object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName())
			err := s.Client.Get(ctx, client.ObjectKeyFromObject(live), live)
			switch {
			case err == nil:
				there++
			case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
				return "", false, err
			}
			if (err == nil) != wanted && others == "" {
				others = fmt.Sprintf(", not as wanted is %s %s", object.GetKind(), object.GetName())
			}
		}
		return fmt.Sprintf("%d of %d are there%s", there, len(objects), others), others == "", nil
	}
}

// OpenUninstall is the guide about it.
func (s *Stage) OpenUninstall(t *testing.T) *Guide {
	t.Helper()
	return OpenGuide(t, "guides/upgrade-uninstall.md", map[string]*rest.Config{"production": s.Config})
}

// PoliciesOf is the manifest of docs/policies.md that installs them with a tool.
func PoliciesOf(t *testing.T, kind string) string {
	t.Helper()
	return OpenGuide(t, "policies.md", nil).Block("yaml", "kind: "+kind)
}

// upgraded is a flag of the controller that only the next release of Own has.
const upgraded = "--max-rate=500"

// Upgraded are the files of Own in the next release.
func Upgraded(t *testing.T, own map[string]string) map[string]string {
	t.Helper()
	const deployment, last = "clusters/base/controller/deployment.yaml", "            - --enable-leader-election\n"
	NewWithT(t).Expect(own[deployment]).To(ContainSubstring(last))
	next := maps.Clone(own)
	next[deployment] = strings.Replace(own[deployment], last, last+"            - "+upgraded+"\n", 1)
	return next
}

// IsUpgraded is a check: the Deployment in the cluster is that of the next release.
func (s *Stage) IsUpgraded() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		deployment, err := cluster.Get(ctx, s.Client, "apps/v1", "Deployment", "moult-system", "moult-controller")
		if err != nil {
			return "", false, err
		}
		containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
		return "", strings.Contains(fmt.Sprint(containers), upgraded), nil
	}
}

// OptOut has a removal wait at its gate while Moult is upgraded, and does the first two steps of the guide: the VersionRemoval and the
// removal are taken out of Git, and so is the label. upgrade has the tool apply the next release, and end ends a sync that waits.
func (p *Play) OptOut(guide *Guide, moult *Moult, upgrade, end func()) Widgets {
	p.T.Helper()
	p.Install(TwoVersions, nil)
	const objects = 200
	widgets := p.CreateWidgets(p.T, objects)
	moult.SlowPass(objects / 4) // four times as long as in other stories: the gate does not open by itself
	p.Apply(StorageFlip, nil)
	p.Apply(Unserved, nil)
	waits := p.Waits(p.Push(Removed, nil))
	p.Await("the removal waits for its gate", Patience, waits)

	upgrade()
	p.Await("Moult is upgraded", Patience, p.IsUpgraded())
	NewWithT(p.T).Expect(cluster.BecomesAvailable(p.T.Context(), p.Client, "moult-system", "moult-controller")).To(Succeed())
	moult.Replace(p.T, upgraded)
	p.Holds("the gate is shut", 5*time.Second, All(p.Versions(OldVersion, NewVersion), p.StoredAtOld()))
	p.Await("the removal still waits", Patience, waits)

	commit := p.Push(Unserved, nil)
	end()
	p.Await("1. without the VersionRemoval and the removal", Patience, p.Applied(commit))
	p.Await("which is deleted", Patience, guide.Prints("kubectl get vr -A"))
	moult.SlowWrites(0)
	p.Await("migrated by the new controller", Patience, p.Trimmed())
	p.Say("%s", guide.MustRun("moult wait "+CRD+" --for migrated --timeout 2m"))
	p.Await("2. by hand it is refused", Patience, guide.Prints("kubectl label crd"))
	p.Apply(Unserved, map[string]string{p.CRDFile: p.optedOut(guide, Unserved)})
	p.Await("Moult takes its conditions back", Patience, guide.Prints("kubectl get crd "+CRD))
	return widgets
}

// NothingWaits has what was migrated as it was, and a removal that no gate holds.
func (p *Play) NothingWaits(guide *Guide, widgets Widgets) {
	p.T.Helper()
	p.AllAlive(widgets)
	p.Apply(Removed, map[string]string{p.GateFile: "", p.CRDFile: p.optedOut(guide, Removed)})
	p.Await("removed", Patience, p.Versions(NewVersion))
	p.AllAlive(widgets)
}

// optedOut is the CRD of a commit without the label, and with the annotation that the policies ask for then.
func (p *Play) optedOut(guide *Guide, folder string) string {
	p.T.Helper()
	key, value, _ := strings.Cut(strings.TrimPrefix(guide.Line("kubectl annotate crd "+CRD), "kubectl annotate crd "+CRD+" "), "=")
	g, crd := NewWithT(p.T), &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(Unlabelled(p.T, p.file(folder, p.CRDFile))), &crd.Object)).To(Succeed())
	annotations := crd.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	crd.SetAnnotations(annotations)
	text, err := yaml.Marshal(crd.Object)
	g.Expect(err).NotTo(HaveOccurred())
	return string(text)
}
