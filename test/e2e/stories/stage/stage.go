// Package stage is what the stories told with Argo CD and those told with Flux have in common: a control plane with
// Moult's own CRD, the moult-controller as it is built from this tree, the widgets of the example repositories, and looks
// at what the cluster really holds. A gate is judged by the bytes in etcd, never by what it says itself.
//
//	s := stage.New(t, controlPlane)
//	moult := s.StartMoult(t)
//	moult.SlowWrites(time.Second)    // the pass takes as long as the story needs
//	widgets := s.CreateWidgets(t, 500)
//
// The stories of a package are told one after the other, since all of them are about widgets.example.com; Clear makes
// the stage empty for the next one.
package stage

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moult-dev/moult/test/controlplane"
	"github.com/moult-dev/moult/test/e2e/cluster"
)

// Patience is for what takes seconds by itself: the machine may be busy with other things.
const Patience = 2 * time.Minute

// Stage is a control plane that Moult can be started on.
type Stage struct {
	Client client.Client

	controlPlane *controlplane.ControlPlane
	controller   string // the program
}

// New installs Moult's CRDs and builds moult-controller, which takes a moment when nothing has changed.
func New(t *testing.T, controlPlane *controlplane.ControlPlane) *Stage {
	t.Helper()
	g := NewWithT(t)
	controlPlane.Config.WarningHandler = rest.NoWarnings{}
	c, err := cluster.NewClient(controlPlane.Config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.ApplyCRDs(t.Context(), c, Path("clusters/base/crds/moult.dev_*.yaml"))).To(Succeed())
	s := &Stage{Client: c, controlPlane: controlPlane, controller: filepath.Join(t.TempDir(), "moult-controller")}
	build := exec.Command("go", "build", "-o", s.controller, "./cmd/moult-controller")
	build.Dir = Path(".")
	output, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "go build ./cmd/moult-controller: %s", output)
	return s
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

// Clear deletes what the stories share, and waits until it is gone. It works in a cleanup too.
func (s *Stage) Clear(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	defer cancel()
	for _, object := range []*unstructured.Unstructured{
		cluster.Object(removalAPI, removalKind, Namespace, Removal), cluster.Object(removalAPI, removalKind, Namespace, plural+"-"+NewVersion),
		cluster.Object(crdAPI, crdKind, "", CRD),
	} {
		g.Expect(client.IgnoreNotFound(s.Client.Delete(ctx, object))).To(Succeed())
		g.Eventually(ctx, func() error {
			return s.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		}).Should(Satisfy(apierrors.IsNotFound), "%s %s is deleted", object.GetKind(), object.GetName())
	}
}
