package install

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// keepsToItsLanes looks at the header by which the API server tells in which priority level it served a request.
func keepsToItsLanes(t *testing.T, controller *Controller, group string) {
	t.Helper()
	objects, ordinary := lane(t, "moult-objects"), lane(t, "workload-low")
	for name, c := range map[string]struct {
		match func(Request) bool
		lane  string
	}{
		"writes of objects":            {func(r Request) bool { return r.Is(http.MethodPatch, "/apis/"+group+"/") }, objects},
		"lists of objects":             {func(r Request) bool { return r.Is(http.MethodGet, "/apis/"+group+"/v1/widgets") }, objects},
		"the lease's renewals":         {func(r Request) bool { return r.Is(http.MethodPut, "/leases/") }, ordinary},
		"the conditions of CRDs":       {func(r Request) bool { return r.Is(http.MethodPatch, "/customresourcedefinitions/") }, ordinary},
		"lists and watches of CRDs":    {func(r Request) bool { return r.Is(http.MethodGet, "/customresourcedefinitions") }, ordinary},
		"Events":                       {func(r Request) bool { return r.Is(http.MethodPost, "/events") }, ordinary},
		"what the gates are told":      {func(r Request) bool { return r.Is(http.MethodPatch, "/versionremovals/") }, ordinary},
		"lists and watches of gates":   {func(r Request) bool { return r.Is(http.MethodGet, "/versionremovals") }, ordinary},
		"all that is asked of objects": {func(r Request) bool { return strings.HasPrefix(r.Path, "/apis/"+group+"/") && !isDiscovery(r, group) }, objects},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Eventually(func() []Request { return controller.Seen(c.match) }, "1m").ShouldNot(BeEmpty())
			for _, request := range controller.Seen(c.match) {
				g.Expect(request.Lane).To(Equal(c.lane), "%s %s", request.Method, request.Path)
			}
		})
	}
}

func isDiscovery(r Request, group string) bool {
	return r.Method == http.MethodGet && strings.Count(strings.TrimPrefix(r.Path, "/apis/"+group), "/") < 2
}

// The lists of --references go there, too, also those of the groups in which the controller writes Events and its lease. The
// lane is chosen before the role is looked at.
func looksInItsLane(t *testing.T, moult *Installation) {
	t.Helper()
	g := NewWithT(t)
	objects, ordinary := lane(t, "moult-objects"), lane(t, "workload-low")
	for _, list := range []string{"/api/v1/configmaps", "/api/v1/pods", "/api/v1/events", "/apis/events.k8s.io/v1/events", "/apis/coordination.k8s.io/v1/leases", "/apis/apps/v1/controllerrevisions"} {
		g.Expect(moult.asked(t, list+"?limit=500")).To(HaveField("Lane", objects), list)
	}
	own := "/apis/coordination.k8s.io/v1/namespaces/" + moult.Deployment.Namespace + "/leases/moult-controller"
	g.Expect(moult.asked(t, own)).To(HaveField("Lane", ordinary))
}
