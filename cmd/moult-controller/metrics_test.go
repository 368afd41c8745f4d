package main

import (
	"context"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

// A client that reaches the port of the metrics could read the memory of the controller in profiles, and load it.
func TestProfilesAreServedOnlyWhereAFlagAsksForThem(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want int
	}{
		"by default":   {nil, http.StatusNotFound},
		"with --pprof": {[]string{"--pprof"}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			address := freeAddress(g)
			f, err := parse(append([]string{"--metrics-addr", address, "--health-addr", "0"}, c.args...))
			g.Expect(err).NotTo(HaveOccurred())
			mgr, err := newManager(cp.Config, f)
			g.Expect(err).NotTo(HaveOccurred())
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- mgr.Start(ctx) }()
			status := func(path string) func() (int, error) {
				return func() (int, error) {
					answer, err := http.Get("http://" + address + path)
					if err != nil {
						return 0, err
					}
					return answer.StatusCode, answer.Body.Close()
				}
			}
			g.Eventually(status("/metrics"), soon).Should(Equal(http.StatusOK))
			for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline"} {
				g.Expect(status(path)()).To(Equal(c.want), path)
			}
			stop()
			g.Expect(<-ended).To(Succeed())
		})
	}
}

// freeAddress is one that nothing listened on just now.
func freeAddress(g *WithT) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
