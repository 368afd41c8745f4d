package repository_test

import (
	"context"
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/test/gittest"
)

// Addresses and revisions are a stranger's: none is an option of git, a program to run or a path of this machine.
func TestWhatIsNoAddressIsNotFetched(t *testing.T) {
	remotes := repository.NewRemotes(nil)
	for _, address := range []string{"", "-oProxyCommand=touch /tmp/x", "--upload-pack=x", "ext::sh -c touch", "file:///etc", "/etc", "../..", "http:///x"} {
		_, err := remotes.Fetch(t.Context(), address, "v1")
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("cannot be had")), address)
	}
	server := gittest.New(t)
	server.Commit(t, "a", map[string]string{"a.yaml": "a: b\n"}, "v1")
	for _, revision := range []string{"--upload-pack=touch", "-v", "v1:refs/heads/main", "v1 v2", "..", "refs/heads/main"} {
		_, err := remotes.Fetch(t.Context(), server.Address("a"), revision)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("cannot be had")), revision)
	}
	tree, err := remotes.Fetch(t.Context(), server.Address("a"), "refs/tags/v1")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tree.Root).To(BeADirectory())
	g.Expect(remotes.Close()).To(Succeed())
	g.Expect(tree.Root).NotTo(BeADirectory())
}

// Each revision is fetched once, and a host that does not answer is waited for once.
func TestAHostThatIsSilentIsWaitedForOnce(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	remotes := repository.NewRemotes(nil)
	for _, name := range []string{"a", "b", "c"} {
		_, err := remotes.Fetch(ctx, "http://"+listener.Addr().String()+"/"+name+".git", "v1")
		g.Expect(err).To(HaveOccurred())
		ctx = t.Context() // the others would have all the time there is
	}
}
