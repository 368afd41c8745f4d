package migration

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/moult-dev/moult/api/v1alpha1"
	"github.com/moult-dev/moult/controllers/rewrite"
)

type losesNothing struct{}

func (losesNothing) Lost(_ context.Context, objects []map[string]any) ([][]string, error) {
	return make([][]string, len(objects)), nil
}

func TestAnObjectThatCannotBeDecodedHoldsItsCRDAndIsNamed(t *testing.T) {
	g := NewWithT(t)
	deep := `{"data":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `,"metadata":{"name":"deep","namespace":"garden"}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1","items":[%s,{"metadata":{"name":"flat"}}],"kind":"WidgetList","metadata":{"resourceVersion":"7"}}`, deep)
	}))
	t.Cleanup(server.Close)
	client, err := rewrite.NewClient(&rest.Config{Host: server.URL}, server.Client())
	g.Expect(err).NotTo(HaveOccurred())
	f := &fields{client: client, resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}}
	seen := int64(0)
	_, err = f.look(t.Context(), &Reconciler{opts: Options{Clock: clock.RealClock{}}}, sight{losesNothing{}, 1, "v1", "v1"}, "", func(done, _ int64) { seen = done })
	held := failureOf(nil, rewrite.Result{}, err)
	g.Expect(seen).To(BeEquivalentTo(1), "the other object is looked at")
	g.Expect(held.Reason).To(Equal(v1alpha1.ReasonObjectsFailed))
	g.Expect(held.Public).NotTo(ContainSubstring("garden"))
	g.Expect(held.Message).To(ContainSubstring("garden/deep: "))
}
