package assets_test

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/test/controlplane/assets"
	"github.com/moult-dev/moult/test/reference"
)

func TestTheFolderIsNamedByThePinnedVersions(t *testing.T) {
	g := NewWithT(t)
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(assets.EnvDir, "")
	t.Setenv(assets.EnvMinor, "")
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
	t.Setenv(assets.EnvMinor, "")
	t.Chdir(t.TempDir()) // the repository is not needed then
	found, err := assets.Locate()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found.Dir).To(Equal(given))
	g.Expect(found.Given).To(BeTrue(), "nothing is built into it")
}

func TestOutsideTheRepositoryTheErrorReportsThat(t *testing.T) {
	g := NewWithT(t)
	t.Setenv(assets.EnvDir, "")
	t.Chdir(t.TempDir())
	_, err := assets.Locate()
	g.Expect(err).To(MatchError(ContainSubstring("run inside the repository or set KUBEBUILDER_ASSETS")))
}

func TestEveryMinorHasAFolderOfItsOwn(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(assets.EnvDir, "")
	minors, err := assets.Minors()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(minors).To(HaveExactElements("1.32", "1.33", "1.34", "1.35", "1.36", "1.37"))
	for _, minor := range minors {
		t.Setenv(assets.EnvMinor, minor)
		found, err := assets.Locate()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(filepath.Base(found.Dir)).To(HavePrefix("kubernetes-v" + minor + "."))
		g.Expect(found.Check()).To(MatchError(ContainSubstring("run 'MOULT_KUBERNETES=" + minor + " make control-plane'")))
		for _, p := range found.Programs {
			g.Expect(filepath.Join(p.ModuleDir, "go.mod")).To(BeAnExistingFile(), p.Name)
		}
	}
}

func TestAWrongChoiceIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ dir, minor, message string }{
		"a minor that nobody has pinned":         {"", "1.31", `no Kubernetes "1.31" is pinned: choose one of 1.32, 1.33, 1.34, 1.35, 1.36`},
		"a patch, which is the module's to pick": {"", "1.34.3", `no Kubernetes "1.34.3" is pinned`},
		"a minor beside a folder":                {t.TempDir(), "1.34", "KUBEBUILDER_ASSETS and MOULT_KUBERNETES are both set"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			t.Setenv(assets.EnvDir, c.dir)
			t.Setenv(assets.EnvMinor, c.minor)
			_, err := assets.Locate()
			g.Expect(err).To(MatchError(ContainSubstring(c.message)))
		})
	}
}

// docs/reference.md says what was run.
func TestTheReferenceHasTheVersionsThatArePinned(t *testing.T) {
	g := NewWithT(t)
	minors, err := assets.Minors()
	g.Expect(err).NotTo(HaveOccurred())
	row := "| |"
	for _, minor := range minors {
		found, err := assets.Of(minor)
		g.Expect(err).NotTo(HaveOccurred())
		row += " " + strings.TrimPrefix(found.Programs[1].Version, "v") + " |"
	}
	text, err := reference.Text()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(ContainSubstring(row))
}
