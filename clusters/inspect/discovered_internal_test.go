package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/moult-dev/moult/policies/survivors"
)

// The API server lists what a CRD has of short names and categories for each of its versions: of 200, more than 100 MB.
func TestOfVeryManyCategoriesNoneIsHeld(t *testing.T) {
	g := NewWithT(t)
	many := func(n int) string {
		return `["` + strings.TrimSuffix(strings.Repeat(`c","`, n), `","`) + `"]`
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		resource := func(plural, categories string) string {
			return fmt.Sprintf(`{"resource":%q,"scope":"Namespaced","responseKind":{"kind":"K"},"singularResource":"k","verbs":["list","shortNames"],"shortNames":%s,"categories":%s}`,
				plural, many(100_000), categories)
		}
		items := ""
		if r.URL.Path == "/apis" {
			items = fmt.Sprintf(`{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[%s,%s]}]}`, resource("categories", many(33)), resource("shortnames", `["claim","all"]`))
		}
		_, _ = fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[%s]}`, items)
	}))
	defer api.Close()
	c, err := Connect(&rest.Config{Host: api.URL})
	g.Expect(err).NotTo(HaveOccurred())
	all, _, err := c.resources()
	g.Expect(err).NotTo(HaveOccurred())
	of := func(plural string, categories ...string) listed {
		return listed{survivors.Resource{GroupResource: schema.GroupResource{Group: "example.com", Resource: plural}, Categories: categories}, schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}}
	}
	g.Expect(all).To(Equal([]listed{of("categories", survivors.AnyCategory), of("shortnames", "claim", "all")}))
	_, lists, err := c.discovery.ServerGroupsAndResources()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lists[0].APIResources).To(HaveEach(And(HaveField("ShortNames", BeEmpty()), HaveField("Verbs", ConsistOf("list", "shortNames")))))

	claims := &survivors.Place{Resources: []survivors.Selector{"category:claim"}}
	g.Expect(claims.In(all[0].Resource)).To(BeTrue(), "it may be one")
	g.Expect(claims.In(all[1].Resource)).To(BeTrue())
	g.Expect((&survivors.Place{Resources: []survivors.Selector{"category:composite"}}).In(all[1].Resource)).To(BeFalse())
}
