package inspect

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/survivors"
)

// What an annotation has packed is unpacked while no other object is held, as what any other object has.
func TestMetadataInWhichMuchIsPackedWaitForRoom(t *testing.T) {
	g := NewWithT(t)
	c, err := Connect(&rest.Config{Host: "http://127.0.0.1:1"})
	g.Expect(err).NotTo(HaveOccurred())
	walker := survivors.NewWalker(nil, []survivors.Target{{CRD: "widgets.example.com", Group: "example.com", Kinds: []string{"Widget"}, Leaving: []string{"v1alpha1"}}})
	o := &objectScan{scan: &scan{Cluster: c, walker: walker, survey: survivors.NewSurvey(walker, 1)}}
	o.restart()
	walked := func(items int) int64 {
		ctx, end := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer end()
		text, err := json.Marshal(map[string]any{"apiVersion": "example.com/v1alpha1", "data": json.RawMessage("[" + strings.Repeat(`{"":1},`, items) + "1]")})
		g.Expect(err).NotTo(HaveOccurred())
		before := o.n
		o.walkMetadata(ctx, survivors.Content{"metadata": map[string]any{"name": "x", "annotations": map[string]any{"note": string(text)}}})
		return o.n - before
	}
	done, err := c.objects.Room(t.Context(), 1)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(walked(10)).To(BeEquivalentTo(1), "little is packed")
	g.Expect(walked(50_000)).To(BeZero(), "there is no room")
	done()
	g.Expect(walked(50_000)).To(BeEquivalentTo(1))
}
