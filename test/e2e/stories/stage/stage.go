// Package stage is what the stories told with Argo CD and those told with Flux have in common: a control plane with
// Moult's own CRD, the moult-controller as it is built from this tree, the widgets of the example repositories, and looks
// at what the cluster really holds. A gate is judged by the bytes in etcd, never by what it says itself.
//
//	s := stage.New(t, stage.Build(t, "moult-controller"))
//	moult := s.StartMoult(t)
//	moult.SlowWrites(time.Second)    // the pass takes as long as the story needs
//	widgets := s.CreateWidgets(t, 500)
//
// Each story begins on an empty cluster: it has a stage and a tool to itself. What a story would leave to the next one is
// more than objects. A tool asks the address that a source had for minutes, and remembers which versions a kind had.
package stage

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/cluster"
)

// Patience is for what takes seconds by itself: the machine may be busy with other things.
const Patience = 2 * time.Minute

// Stage is a control plane that Moult can be started on.
type Stage struct {
	*controlplane.ControlPlane
	Client client.Client

	controller string // the program
}

// New starts a control plane for one story, with Moult's CRDs. The controller is a program that Build has made.
func New(t *testing.T, controller string) *Stage {
	t.Helper()
	g := NewWithT(t)
	s := &Stage{ControlPlane: controlplane.New(t), controller: controller}
	s.Config.WarningHandler = rest.NoWarnings{}
	var err error
	s.Client, err = cluster.NewClient(s.Config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.ApplyCRDs(t.Context(), s.Client, Path("clusters/base/crds/moult.dev_*.yaml"))).To(Succeed())
	return s
}

// Build makes a program of this tree, which takes a moment when nothing has changed.
func Build(t *testing.T, program string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), program)
	command := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./cmd/"+program)
	command.Dir = Path(".")
	output, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "go build ./cmd/%s: %s", program, output)
	return file
}

// Path is a file or folder of the repository, named from its root. A package's tests run in the package's own folder.
func Path(name string) string {
	return filepath.Join("..", "..", "..", "..", filepath.FromSlash(name))
}

// Files are the files below folders of the repository, by their names from its root: for a repository like Moult's own.
func Files(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	files := map[string]string{}
	for _, folder := range folders {
		g.Expect(filepath.WalkDir(Path(folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil || len(content) == 0 {
				return err
			}
			name, err := filepath.Rel(Path("."), path)
			files[filepath.ToSlash(name)] = string(content)
			return err
		})).To(Succeed())
	}
	return files
}

// Commit is a copy of a folder with other content in some files, named by their path in it. A file without content is
// left out.
func Commit(t *testing.T, folder string, changes map[string]string) string {
	t.Helper()
	g := NewWithT(t)
	copied := t.TempDir()
	g.Expect(os.CopyFS(copied, os.DirFS(folder))).To(Succeed())
	for name, content := range changes {
		path := filepath.Join(copied, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		if content == "" {
			g.Expect(os.Remove(path)).To(Succeed(), "leave out %s of %s", name, folder)
			continue
		}
		g.Expect(os.WriteFile(path, []byte(content), fs.FileMode(0o644))).To(Succeed())
	}
	return copied
}
