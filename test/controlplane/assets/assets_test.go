package assets_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/controlplane/assets"
)

func TestTheFolderIsNamedByThePinnedVersions(t *testing.T) {
	g := NewWithT(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(assets.EnvDir, "")
	found, err := assets.Locate()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(filepath.Dir(found.Dir)).To(Equal(filepath.Join(cache, "moult", "control-plane")))
	g.Expect(filepath.Base(found.Dir)).To(MatchRegexp(`^kubernetes-v1\.\d+\.\d+-etcd-v3\.\d+\.\d+-[a-z0-9]+-[a-z0-9]+$`))
	g.Expect(found.Missing()).To(HaveLen(2))
	g.Expect(found.Check()).To(MatchError(ContainSubstring("make control-plane")))
}

func TestAGivenFolderWins(t *testing.T) {
	g := NewWithT(t)
	given := t.TempDir()
	t.Setenv(assets.EnvDir, given)
	t.Chdir(t.TempDir()) // the repository is not needed then
	found, err := assets.Locate()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Dir).To(Equal(given))
	g.Expect(found.ModuleDir).To(BeEmpty(), "nothing is built into it")
}

func TestOutsideTheRepositoryTheErrorSaysSo(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(assets.EnvDir, "")
	t.Chdir(t.TempDir())
	_, err := assets.Locate()
	g.Expect(err).To(MatchError(ContainSubstring("run inside the repository or set KUBEBUILDER_ASSETS")))
}
