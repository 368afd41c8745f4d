package stage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
)

// The releases of the operator of examples/operator: what its image is called, and the CRD that it brings.
const (
	OperatorBefore = "registry.example.com/widget-operator:1.1.0"
	OperatorAfter  = "registry.example.com/widget-operator:1.2.0"

	operatorName = "widget-operator"
)

// OperatorAt is a manifest of examples/operator, named from the root of the repository, with the image of an earlier release.
func OperatorAt(t *testing.T, name string) string {
	t.Helper()
	g := NewWithT(t)
	manifest, err := os.ReadFile(Path(name))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(manifest)).To(ContainSubstring(OperatorAfter))
	return strings.ReplaceAll(string(manifest), OperatorAfter, OperatorBefore)
}

// RunOperator plays the operator until the test ends, since a control plane without nodes runs no Deployment: for each image
// that the Deployment gets, the CRD of that release is written, and the Deployment is rolled out.
func (s *Stage) RunOperator(t *testing.T) {
	t.Helper()
	crds := map[string]string{OperatorBefore: crdOfOperator(t, StorageFlip), OperatorAfter: crdOfOperator(t, Removed)}
	ctx, leave := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			if err := s.startOperator(ctx, crds); err != nil && ctx.Err() == nil {
				fmt.Fprintf(t.Output(), "the operator fails to start: %v\n", err)
			}
			select {
			case <-time.After(story.Pace):
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		leave()
		running.Wait()
	})
}

// startOperator does nothing while the Deployment is as it was.
func (s *Stage) startOperator(ctx context.Context, crds map[string]string) error {
	deployment, image, err := s.operator(ctx)
	if observed, _, _ := unstructured.NestedInt64(deployment.Object, "status", "observedGeneration"); err != nil || image == "" || observed == deployment.GetGeneration() {
		return err
	}
	if err := s.replaceCRD(ctx, crds[image]); err != nil {
		return err
	}
	return cluster.PatchStatus(ctx, s.Client, deployment, map[string]any{
		"observedGeneration": deployment.GetGeneration(), "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
		"conditions": []any{
			map[string]any{"type": "Available", "status": "True"},
			map[string]any{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
		},
	})
}

// replaceCRD writes a CRD as Cilium's operator does: labels that it does not bring are removed.
func (s *Stage) replaceCRD(ctx context.Context, file string) error {
	crds, err := cluster.ParseFiles(file)
	if err != nil {
		return err
	}
	live, err := cluster.Get(ctx, s.Client, crdAPI, crdKind, "", CRD)
	if apierrors.IsNotFound(err) {
		return s.Client.Create(ctx, crds[0])
	}
	if err != nil {
		return err
	}
	crds[0].SetResourceVersion(live.GetResourceVersion())
	return s.Client.Update(ctx, crds[0])
}

// operator is the Deployment and its image, which is empty while there is none.
func (s *Stage) operator(ctx context.Context) (deployment *unstructured.Unstructured, image string, err error) {
	deployment, err = cluster.Get(ctx, s.Client, "apps/v1", "Deployment", Namespace, operatorName)
	if apierrors.IsNotFound(err) {
		return deployment, "", nil
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, container := range containers {
		image, _ = container.(map[string]any)["image"].(string)
	}
	return deployment, image, err
}

// OperatorRuns is a check: the Deployment has that image.
func (s *Stage) OperatorRuns(wanted string) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		_, image, err := s.operator(ctx)
		return "the operator is " + filepath.Base(image), image == wanted, err
	}
}

// InstallOld is the CRD of a release before: the operator of that time stored at the old version.
func (s *Stage) InstallOld(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(cluster.ApplyCRDs(t.Context(), s.Client, crdOfOperator(t, TwoVersions))).To(Succeed())
}

// crdOfOperator is the CRD of a commit as an operator has it in its image: without the label.
func crdOfOperator(t *testing.T, commit string) (file string) {
	t.Helper()
	const folder, name = "examples/argocd/", "crd.yaml"
	return filepath.Join(Commit(t, Path(folder+commit), map[string]string{name: Unlabelled(t, folder+commit+"/"+name)}), name)
}

// labelOperatorsCRD follows the step of docs/guides/operator-crds.md about the label. keep-label comes first, as that page says.
func (p *Play) labelOperatorsCRD() {
	p.T.Helper()
	const policy = "policies/admission/keep-label"
	guide := OpenGuide(p.T, "guides/operator-crds.md", map[string]*rest.Config{"production": p.Config})
	NewWithT(p.T).Expect(os.CopyFS(filepath.Join(guide.folder, policy), os.DirFS(Path(policy)))).To(Succeed())
	for _, begins := range []string{"kubectl get crd NAME", "kubectl apply -k " + policy, "kubectl label crd"} {
		line := strings.ReplaceAll(guide.Line(begins), "NAME", CRD)
		p.Say("$ %s\n%s", line, guide.MustRun(line))
	}
}
