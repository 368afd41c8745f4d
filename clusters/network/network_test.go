package network_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/network"
)

// Git, SSH and Go do not agree on which host some addresses mean, so these are not asked.
func TestAnAddressThatCanBeReadOtherwiseIsRefused(t *testing.T) {
	policy := network.Only(func() []string {
		return []string{"a.example.com", "a.example.com:2222", "p.example.com", network.Plain + "p.example.com"}
	})
	for _, address := range []string{
		"https://a.example.com/x.git", "https://a.example.com/x/_git/y//z", "ssh://git@a.example.com/x.git", "ssh://git@a.example.com:2222/x", "git@a.example.com:x/y.git",
		"a.example.com:x", "http://p.example.com/x", "https://p.example.com/x",
	} {
		NewWithT(t).Expect(policy.AllowGit(address)).To(Succeed(), address)
	}
	for _, address := range []string{
		"", "https://b.example.com/x", "http://a.example.com/x", "https://a.example.com:444/x", "git://a.example.com/x",
		"git://b.example.com%2f@a.example.com/x.git", "ssh://b.example.com%2f@a.example.com/x", "ssh://a.example.com?@b.example.com/x", "ssh://a.example.com#@b.example.com/x",
		"https://a.example.com\\@b.example.com/x", "http://b.example.com#@a.example.com/o/x", "https://u:p@a.example.com/x", "https://a.example.com@b.example.com/x",
		"file://a.example.com/srv/x.git", "file:///srv/x.git", "/srv/x.git", "../x", "ext::sh -c touch", "ext::https://a.example.com/x", "-oProxyCommand=x", "ssh://-oProxyCommand=x/y",
		"https://a.example.com /x", "https://a.example.com\n/x", "https://a.example.com./x", "https://[::1]/x", "HTTPS://a.example.com/x", "git@b.example.com:a.example.com",
	} {
		var refused *network.RefusedError
		NewWithT(t).Expect(policy.AllowGit(address)).To(BeAssignableToTypeOf(refused), address)
	}
}

// Credentials of a host that is asked over HTTPS do not go in the clear.
func TestAHostThatIsAskedWithHTTPSIsNotAskedWithoutIt(t *testing.T) {
	g := NewWithT(t)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	for plain, want := range map[bool]int{false: 0, true: 1} {
		asked = 0
		client := &http.Client{Transport: network.Only(func() []string {
			if plain {
				return []string{host, network.Plain + host}
			}
			return []string{host}
		}).Guard()}
		response, err := client.Get(server.URL)
		if err == nil {
			g.Expect(response.Body.Close()).To(Succeed())
		}
		g.Expect(err == nil).To(Equal(plain))
		g.Expect(asked).To(Equal(want))
	}
}
