package render

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// To open a named pipe is to wait for good, whatever signal comes.
func TestWhatIsNoFileIsNamedAndNotWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		build func(dir string) (*Rendering, error)
	}{
		"a folder without a kustomization": {nil, func(dir string) (*Rendering, error) { return Folder(dir, Options{}) }},
		"confined to a repository":         {nil, func(dir string) (*Rendering, error) { return Folder(dir, Options{Root: dir}) }},
		"with files that are left out": {nil, func(dir string) (*Rendering, error) {
			return Folder(dir, Options{LeaveOut: func(string, []byte) bool { return false }})
		}},
		"a kustomization": {map[string]string{"kustomization.yaml": "resources: [pipe.yaml]\n"}, func(dir string) (*Rendering, error) { return Folder(dir, Options{}) }},
		"Argo CD's way":   {nil, func(dir string) (*Rendering, error) { return Directory(dir, DirectoryOptions{}) }},
	} {
		for what, put := range map[string]func(path string) error{
			"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a device":     func(path string) error { return os.Symlink("/dev/zero", path) },
			"a socket": func(path string) error {
				listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
				if err == nil {
					t.Cleanup(func() { _ = listener.Close() })
				}
				return err
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				g, says := NewWithT(t), what
				if what == "a device" && name == "confined to a repository" {
					says = "outside" // so does the link that leads to it
				}
				t.Chdir(folderOf(t, c.files)) // the path of a socket has to be short
				dir, err := os.Getwd()
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(put("pipe.yaml")).To(Succeed())
				failed := make(chan error, 1)
				go func() {
					_, err := c.build(dir)
					failed <- err
				}()
				g.Eventually(failed, 10*time.Second).Should(Receive(MatchError(And(ContainSubstring(filepath.Join(dir, "pipe.yaml")), ContainSubstring(says)))))
			})
		}
	}
}
