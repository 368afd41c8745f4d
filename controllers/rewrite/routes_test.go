package rewrite

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
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
