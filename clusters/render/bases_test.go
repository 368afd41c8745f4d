package render

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/test/gittest"
)

// Forty folders may name the same base. One that cannot be had takes half a minute each time.
func TestARevisionOfARemoteBaseIsFetchedOnce(t *testing.T) {
	for _, anybody := range []bool{false, true} {
		server := gittest.New(t)
		policy := only(server.Host())
		if anybody {
			policy = nil
		}
		fetchOnce(t, server, policy)
	}
}

func fetchOnce(t *testing.T, server *gittest.Server, policy *network.Policy) {
	t.Helper()
	g := NewWithT(t)
	server.Commit(t, "base", map[string]string{"deploy/kustomization.yaml": "resources: [a.yaml]\n", "deploy/a.yaml": configMap("one")}, "v1")
	commit := server.Commit(t, "base", map[string]string{"deploy/kustomization.yaml": "resources: [a.yaml]\n", "deploy/a.yaml": configMap("two")}, "v2")
	builds := NewBuilds()
	number := 0
	fetched := func(bases string) (names, asked []string, err error) {
		number++
		before := len(server.Asked())
		dir := folderOf(t, map[string]string{"kustomization.yaml": "resources: [" + strings.ReplaceAll(bases, "BASE", server.Address("base")+"//deploy") + ", x.yaml]\n", "x.yaml": configMap("x" + strconv.Itoa(number))})
		built, err := Folder(dir, Options{Root: dir, Network: policy, Builds: builds})
		asked = slices.DeleteFunc(server.Asked()[before:], func(path string) bool { return !strings.HasSuffix(path, "/info/refs") })
		if err != nil {
			return nil, asked, err
		}
		for _, object := range built.Objects {
			names = append(names, object.GetName())
		}
		return names, asked, nil
	}
	for _, c := range []struct {
		bases string
		want  []string
		asked int
	}{
		{`"BASE?ref=v1"`, []string{"one", "x1"}, 1}, {`'BASE?ref=v1'`, []string{"one", "x2"}, 0},
		{`"BASE?ref=v1", "BASE?ref=v2"`, []string{"one", "two", "x3"}, 1}, {`"BASE?ref=` + commit + `"`, []string{"two", "x4"}, 1},
		{`"BASE?version=v2"`, []string{"two", "x5"}, 0},
	} {
		names, asked, err := fetched(c.bases)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names).To(Equal(c.want))
		g.Expect(asked).To(HaveLen(c.asked), c.bases)
	}
	for _, times := range []int{1, 0} {
		_, asked, err := fetched(`"BASE?ref=v3"`)
		g.Expect(err).To(MatchError(ContainSubstring("couldn't find remote ref v3")))
		g.Expect(OnlyHere(err)).To(BeEmpty(), "the repository has answered")
		g.Expect(asked).To(HaveLen(times))
	}
	g.Expect(builds.Close()).To(Succeed())
}
