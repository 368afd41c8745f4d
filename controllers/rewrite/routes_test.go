package rewrite

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// A proxy may answer 404 for a moment. It is the groups that an API server lists that show whether it has APIServices.
func TestA404AloneDoesNotShowThatThereIsNoAPIService(t *testing.T) {
	const (
		page   = "404 page not found\n"
		status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"apiservices.apiregistration.k8s.io \"v1.example.com\" not found","reason":"NotFound","details":{"name":"v1.example.com","group":"apiregistration.k8s.io","kind":"apiservices"},"code":404}`
		with   = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiregistration.k8s.io"},{"name":"example.com"}]}`
		within = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apiextensions.k8s.io"},{"name":"example.com"}]}`
	)
	for name, c := range map[string]struct {
		answer, groups string
		fails          bool
	}{
		"the API server looked for it":                                 {answer: status, groups: with},
		"an API server without aggregation":                            {answer: page, groups: within},
		"a proxy, which goes away before the groups are asked for":     {answer: page, groups: with, fails: true},
		"a proxy that answers 404 for all":                             {answer: page, groups: "", fails: true},
		"a proxy that answers nothing to all":                          {answer: page, groups: "{}", fails: true},
		"another server, which does not have the group of the objects": {answer: page, groups: `{"groups":[{"name":"apps"}]}`, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				body, code := c.answer, http.StatusNotFound
				if req.URL.Path == "/apis" && c.groups != "" {
					body, code = c.groups, http.StatusOK
				}
				if body[0] == '{' {
					w.Header().Set("Content-Type", "application/json")
				}
				w.WriteHeader(code)
				_, _ = w.Write([]byte(body))
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			found, err := client.Routes(t.Context(), "example.com", "v1")
			if c.fails {
				g.Expect(err).To(MatchError(HavePrefix("reading APIService v1.example.com: ")))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(Equal([]Route{{APIService: "v1.example.com"}}))
		})
	}
}

// A built-in resource is sent as protobuf, and one of a CRD never is.
func TestWhetherAResourceIsBuiltInIsAskedOfTheAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		group       string
		code        int
		is, unknown bool
	}{
		"a built-in resource":                                    {group: "networking.k8s.io", code: http.StatusOK, is: true},
		"one of a CRD":                                           {group: "gateway.networking.k8s.io", code: http.StatusNotAcceptable},
		"a version that is not there":                            {group: "networking.k8s.io", code: http.StatusNotFound},
		"one that may not be listed":                             {group: "networking.k8s.io", code: http.StatusForbidden, unknown: true},
		"an API server that fails":                               {group: "networking.k8s.io", code: http.StatusInternalServerError, unknown: true},
		"a group that is not Kubernetes' own is not asked about": {group: "example.com", code: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				g.Expect(req.Header.Get("Accept")).To(Equal("application/vnd.kubernetes.protobuf"))
				w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
				w.WriteHeader(c.code)
			}))
			defer server.Close()
			client, err := NewClient(&rest.Config{Host: server.URL}, server.Client())
			g.Expect(err).NotTo(HaveOccurred())
			is, err := client.BuiltIn(t.Context(), schema.GroupVersionResource{Group: c.group, Version: "v1", Resource: "ingresses"})
			g.Expect(is).To(Equal(c.is))
			g.Expect(err != nil).To(Equal(c.unknown), "%v", err)
		})
	}
}
