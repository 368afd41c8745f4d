package golden_test

import (
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/moult-dev/moult/clusters/desired"
	"github.com/moult-dev/moult/clusters/repository"
	"github.com/moult-dev/moult/policies/snapshot"
)

// What is expected is worth something only if the repository is what it seems: everything can be built and followed, and
// the snapshots can be read.
func TestTheGoldenRepositoryIsSound(t *testing.T) {
	all := pulls(t)
	t.Chdir(newRepository(t, all))
	for _, p := range append(all, pull{name: "main"}) {
		t.Run(p.name, func(t *testing.T) {
			g := NewWithT(t)
			opened, err := repository.Open(t.Context(), "git:"+p.name)
			g.Expect(err).NotTo(HaveOccurred())
			defer opened.Close()
			for _, cluster := range clusters {
				followed, err := desired.Follow(t.Context(), opened, "clusters/"+cluster, desired.Options{})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(followed.Findings).To(BeEmpty(), cluster)
				g.Expect(len(followed.CRDs())).To(BeNumerically(">=", 3), cluster)
			}
		})
	}
}

func TestTheGoldenSnapshotsCanBeRead(t *testing.T) {
	for _, p := range pulls(t) {
		for _, cluster := range p.Snapshots {
			t.Run(p.name+" "+cluster, func(t *testing.T) {
				g := NewWithT(t)
				content, err := os.ReadFile(p.snapshot(cluster))
				g.Expect(err).NotTo(HaveOccurred())
				if *update {
					content = sealed(g, content)
					g.Expect(os.WriteFile(p.snapshot(cluster), content, 0o600)).To(Succeed())
				}
				read, err := snapshot.Read(content)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(read.Cluster).To(Equal(cluster))
			})
		}
	}
}

var digest = regexp.MustCompile(`(?m)^(digest: .*\n)?crds:`)

// sealed is a snapshot that a person has written, with its digest.
func sealed(g *WithT, content []byte) []byte {
	var s snapshot.Snapshot
	g.Expect(yaml.UnmarshalStrict(content, &s)).To(Succeed())
	return digest.ReplaceAll(content, []byte("digest: "+s.Sum()+"\ncrds:"))
}
