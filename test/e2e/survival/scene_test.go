package survival_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/test/builders"
	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/cluster"
	"github.com/moult-dev/moult/test/e2e/kubectl"
	"github.com/moult-dev/moult/test/e2e/story"
)

// patience is for what takes seconds by itself: the machine may be busy with other things.
const patience = 2 * time.Minute

// site is a cluster, seen by a person with kubectl.
type site struct {
	*controlplane.ControlPlane
	client  client.Client
	kubectl *kubectl.Kubectl
}

func newSite(t *testing.T, controlPlane *controlplane.ControlPlane) *site {
	t.Helper()
	g := NewWithT(t)
	c, err := cluster.NewClient(controlPlane.Config)
	g.Expect(err).NotTo(HaveOccurred())
	k, err := kubectl.New(controlPlane.Config, t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	return &site{ControlPlane: controlPlane, client: c, kubectl: k}
}

// tool delivers what is in Git to the site it was started at.
type tool interface {
	// begin makes ready for one scene. Nothing is applied yet.
	begin(s *scene, m mode) delivery
}

// delivery is one CRD's way from Git to the cluster.
type delivery interface {
	// push makes files the newest commit. A tool may set to work at once.
	push(files map[string]string)
	// sync returns when the tool has applied the newest commit, once more if it had done so before.
	sync()
	// comesBy lets the tool come by itself, as it does from time to time.
	comesBy()
}

// scene is one row while it is played.
type scene struct {
	*story.Story
	t         *testing.T
	g         *WithT
	at        *site
	elsewhere func() (*site, tool)
	mode      mode
	git       git
	delivery  delivery
}

func newScene(t *testing.T, at *site, by tool, m mode, elsewhere func() (*site, tool)) *scene {
	t.Helper()
	s := &scene{
		Story: story.Begin(t), t: t, g: NewWithT(t), at: at, elsewhere: elsewhere, mode: m,
		git: git{group: builders.UniqueGroup(t), annotations: m.annotations},
	}
	t.Cleanup(func() { s.clear(at) })
	s.delivery = by.begin(s, m)
	return s
}

func (s *scene) clear(at *site) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), patience)
	defer cancel()
	crd := cluster.Object(crdAPI, crdKind, "", s.git.crd())
	s.g.Expect(client.IgnoreNotFound(at.client.Delete(ctx, crd))).To(Succeed())
	s.g.Eventually(ctx, func() error {
		return at.client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
	}).WithTimeout(patience).Should(Satisfy(apierrors.IsNotFound))
}

const crdAPI, crdKind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"

// deliver commits what Git holds now, and has it synced.
func (s *scene) deliver() {
	s.git.change++
	s.delivery.push(s.git.files(s.t))
	s.delivery.sync()
}

func (s *scene) live() *unstructured.Unstructured {
	s.t.Helper()
	crd, err := cluster.Get(s.t.Context(), s.at.client, crdAPI, crdKind, "", s.git.crd())
	s.g.Expect(err).NotTo(HaveOccurred())
	return crd
}

func isLabelled(crd *unstructured.Unstructured) bool {
	return crd.GetLabels()[v1alpha1.MigrateLabel] == v1alpha1.MigrateLabelValue
}

// backAgain is a check: the label is on the CRD.
func (s *scene) backAgain() story.Check {
	return func(ctx context.Context) (string, bool, error) {
		crd, err := cluster.Get(ctx, s.at.client, crdAPI, crdKind, "", s.git.crd())
		return fmt.Sprintf("the labels are %v", crd.GetLabels()), err == nil && isLabelled(crd), err
	}
}

// ownersOf are the field managers that own the label, read without any help of Moult's.
func ownersOf(g *WithT, crd *unstructured.Unstructured) string {
	var owners []string
	for _, entry := range crd.GetManagedFields() {
		var fields struct {
			Metadata struct {
				Labels map[string]json.RawMessage `json:"f:labels"`
			} `json:"f:metadata"`
		}
		g.Expect(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		if _, owns := fields.Metadata.Labels["f:"+v1alpha1.MigrateLabel]; owns {
			owners = append(owners, fmt.Sprintf("`%s` (%s)", entry.Manager, entry.Operation))
		}
	}
	slices.Sort(owners)
	switch {
	case !isLabelled(crd):
		return "–"
	case len(owners) == 0:
		return "nobody"
	}
	return strings.Join(owners, ", ")
}

// by runs kubectl, as a person does.
func (s *scene) by(input string, args ...string) {
	s.t.Helper()
	said, err := s.at.kubectl.RunWith(s.t.Context(), input, args...)
	s.g.Expect(err).NotTo(HaveOccurred())
	s.Say("kubectl %s: %s", strings.Join(args, " "), strings.TrimSpace(said))
}
