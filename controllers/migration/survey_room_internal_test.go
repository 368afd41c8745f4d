package migration

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/controllers/rewrite"
	"github.com/moult-dev/moult/policies/plan"
)

// A survey reads the schemas to move entries of managedFields, and holds them until it ends.
func TestASurveyWaitsForTheRoomForSchemas(t *testing.T) {
	for _, mode := range []plan.Mode{plan.Rewriting, plan.Checking, plan.Surveying} {
		t.Run(string(mode), func(t *testing.T) {
			g := NewWithT(t)
			r := &Reconciler{opts: Options{Room: rewrite.NewRoom()}, live: large{}}
			leave, err := r.makeRoom(t.Context(), &walking{crd: &apiextensionsv1.CustomResourceDefinition{}, mode: mode})
			g.Expect(err).NotTo(HaveOccurred())

			other := make(chan error, 1)
			go func() {
				_, err := r.opts.Room.ForSchemas(t.Context(), func() int { return 1 << 20 })
				other <- err
			}()
			g.Consistently(other, "100ms").ShouldNot(Receive(), "the walk has all the room")
			leave()
			g.Eventually(other).Should(Receive(BeNil()))
		})
	}
}

// large is a CRD of a megabyte.
type large struct{ liveCRDs }

func (large) Get(_ context.Context, _ types.NamespacedName, crd client.Object, _ ...client.GetOption) error {
	crd.SetAnnotations(map[string]string{"long": strings.Repeat("x", 1<<20)})
	return nil
}
