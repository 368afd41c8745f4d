package reference_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

func TestEveryModuleIsUpdated(t *testing.T) {
	g := NewWithT(t)
	var modules []string
	g.Expect(filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git"):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			folder, err := filepath.Rel("../..", filepath.Dir(path))
			modules = append(modules, filepath.Join("/", folder))
			return err
		}
		return nil
	})).To(Succeed())

	content, err := os.ReadFile("../../.github/dependabot.yml")
	g.Expect(err).NotTo(HaveOccurred())
	var config struct {
		Updates []struct{ Directories []string }
	}
	g.Expect(yaml.Unmarshal(content, &config)).To(Succeed())
	var updated []string
	for _, u := range config.Updates {
		updated = append(updated, u.Directories...)
	}
	g.Expect(updated).To(ConsistOf(modules))
}

// A tag of somebody else's action can be moved to other code; a commit cannot.
func TestEveryActionIsPinned(t *testing.T) {
	g := NewWithT(t)
	files, err := filepath.Glob("../../.github/workflows/*.yml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	uses := regexp.MustCompile(`(?m)^\s*-?\s*uses: (.*)$`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		found := uses.FindAllStringSubmatch(string(content), -1)
		g.Expect(found).NotTo(BeEmpty(), file)
		for _, action := range found {
			g.Expect(action[1]).To(MatchRegexp(`^[\w./-]+@[0-9a-f]{40} # v\d`), file)
		}
	}
}

// What nobody runs each night would fail first in a release.
func TestEveryLongProofRunsEachNight(t *testing.T) {
	g := NewWithT(t)
	content, err := os.ReadFile("../full.mk")
	g.Expect(err).NotTo(HaveOccurred())
	parts := regexp.MustCompile(`(?m)^PARTS \?= (.*)$`).FindStringSubmatch(string(content))
	g.Expect(parts).NotTo(BeNil())
	content, err = os.ReadFile("../../.github/workflows/nightly.yml")
	g.Expect(err).NotTo(HaveOccurred())
	var nightly struct {
		Jobs struct {
			Proofs struct {
				Strategy struct{ Matrix struct{ Part []string } }
			}
			Kubernetes struct{ Steps []struct{ Run string } }
		}
	}
	g.Expect(yaml.Unmarshal(content, &nightly)).To(Succeed())
	g.Expect(nightly.Jobs.Kubernetes.Steps).To(ContainElement(HaveField("Run", ContainSubstring("make test-kubernetes "))))
	g.Expect(append(nightly.Jobs.Proofs.Strategy.Matrix.Part, "kubernetes")).To(ConsistOf(strings.Fields(parts[1])))

	content, err = os.ReadFile("../full.sh")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(content)).To(ContainSubstring("\nall=(" + parts[1] + ")\n"))
}
