// Package entry plays the entry points of clusters, flux-production and argocd-production, with the real Flux and the real
// Argo CD: what a bootstrapped cluster does with them, from an empty one to a Moult that others may depend on.
//
// There is no kubelet in these control planes, and no controller of Deployments: the test says in their place that the
// Deployment is available. What cannot be shown here is that the Pods start; test/install runs the controller with the
// shipped roles, probes and flags.
package entry

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/clusters/render"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/story"
	"github.com/moult-dev/moult/test/e2e/tools"
)

const (
	root = "../../.."
	// patience is for what takes seconds by itself: the machine may be busy with other things.
	patience = 2 * time.Minute
	// prometheusOperator has the kinds that clusters/components/monitoring is of. Both entry points list it.
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

// scene is an empty cluster to which the Prometheus Operator has brought its kinds.
type scene struct {
	*story.Story
	t            *testing.T
	g            *WithT
	controlPlane *controlplane.ControlPlane
	client       client.Client
}

func begin(t *testing.T) *scene {
	t.Helper()
	g := NewWithT(t)
	controlPlane := controlplane.New(t)
	c, err := cluster.NewClient(controlPlane.Config)
	g.Expect(err).NotTo(HaveOccurred())
	operator, err := tools.Source(prometheusOperator)
	g.Expect(err).NotTo(HaveOccurred())
	for _, kind := range []string{"servicemonitors", "prometheusrules"} {
		crds := filepath.Join(operator, "example/prometheus-operator-crd/*_"+kind+".yaml")
		g.Expect(cluster.ApplyCRDs(t.Context(), c, crds)).To(Succeed())
	}
	return &scene{Story: story.Begin(t), t: t, g: g, controlPlane: controlPlane, client: c}
}

// repository are the files of Moult's own that the entry points are built of, by their path.
func repository(g *WithT) map[string]string {
	files := map[string]string{}
	for _, top := range []string{"clusters", "lua"} {
		g.Expect(filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) == ".go" {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil || len(content) == 0 {
				return err
			}
			name, err := filepath.Rel(root, path)
			files[filepath.ToSlash(name)] = string(content)
			return err
		})).To(Succeed())
	}
	return files
}

// built are the objects that a folder of the repository amounts to.
func built(g *WithT, folder string) []*unstructured.Unstructured {
	rendering, err := render.Folder(filepath.Join(root, folder), render.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	objects := make([]*unstructured.Unstructured, len(rendering.Objects))
	for i, object := range rendering.Objects {
		objects[i] = object.Unstructured
	}
	g.Expect(len(objects)).To(BeNumerically(">", 10))
	return objects
}

// allThere is a check: every object is in the cluster.
func (s *scene) allThere(objects []*unstructured.Unstructured) story.Check {
	return func(ctx context.Context) (string, bool, error) {
		missing := ""
		for _, object := range objects {
			live := cluster.Object(object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName())
			err := s.client.Get(ctx, client.ObjectKeyFromObject(live), live)
			switch {
			case apierrors.IsNotFound(err):
				missing += fmt.Sprintf(" %s/%s", object.GetKind(), object.GetName())
			case err != nil:
				return "", false, err
			}
		}
		return fmt.Sprintf("of %d objects there are missing:%s", len(objects), missing), missing == "", nil
	}
}

// becomesAvailable says that the Deployment is available.
func (s *scene) becomesAvailable() {
	s.t.Helper()
	s.g.Expect(cluster.BecomesAvailable(s.t.Context(), s.client, "moult-system", "moult-controller")).To(Succeed())
	s.Say("the Deployment is available")
}

// aggregate does for the controller's ClusterRole what Kubernetes does: it writes the rules of other roles into it, under
// the name of the controller that does so.
func (s *scene) aggregate() story.Check {
	s.t.Helper()
	role := cluster.Object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "moult-controller")
	rules := []any{map[string]any{"apiGroups": []any{"example.com"}, "resources": []any{"widgets"}, "verbs": []any{"get"}}}
	applied := role.DeepCopy()
	applied.Object["rules"] = rules
	s.g.Expect(s.client.Apply(s.t.Context(), client.ApplyConfigurationFromUnstructured(applied),
		client.FieldOwner("clusterrole-aggregation-controller"), client.ForceOwnership)).To(Succeed())
	return func(ctx context.Context) (string, bool, error) {
		live := role.DeepCopy()
		err := s.client.Get(ctx, client.ObjectKeyFromObject(live), live)
		found, _, _ := unstructured.NestedSlice(live.Object, "rules")
		return fmt.Sprintf("the controller's role has %d rules", len(found)), err == nil && len(found) == len(rules), err
	}
}
