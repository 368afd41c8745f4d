package ci_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A release, or none, and a go that only says what it would install.
func TestMoultIsTheReleasedOneOrIsBuilt(t *testing.T) {
	const binary = "#!/bin/sh\necho released\n"
	name := "moult_" + runtime.GOOS + "_" + runtime.GOARCH
	right := fmt.Sprintf("%x  %s\n", sha256.Sum256([]byte(binary)), name)
	for what, c := range map[string]struct {
		files  map[string]string
		noGo   bool
		code   int
		says   string
		exists bool
	}{
		"there is a release":          {files: map[string]string{"checksums.txt": "0  another\n" + right, name: binary}, says: "moult v9.9.9 is in", exists: true},
		"it has been tampered with":   {files: map[string]string{"checksums.txt": right, name: binary + "evil"}, code: 1, says: "is not what its checksums.txt says"},
		"its checksum is missing":     {files: map[string]string{"checksums.txt": "0  another\n", name: binary}, code: 1, says: "is not what its checksums.txt says"},
		"there is none":               {says: "installs example.com/moult@v9.9.9 into"},
		"there is none for this kind": {files: map[string]string{"checksums.txt": right}, says: "installs example.com/moult@v9.9.9 into"},
		"there is neither":            {noGo: true, code: 1, says: "and no Go to build it"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				content, there := c.files[strings.TrimPrefix(r.URL.Path, "/v9.9.9/")]
				if !there {
					http.NotFound(w, r)
					return
				}
				_, _ = w.Write([]byte(content))
			}))
			t.Cleanup(releases.Close)
			tools, folder := t.TempDir(), filepath.Join(t.TempDir(), "bin")
			for _, tool := range []string{"sh", "curl", "uname", "tr", "mktemp", "rm", "grep", "sha256sum", "chmod", "mv", "mkdir", "tail"} {
				at, err := exec.LookPath(tool)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(os.Symlink(at, filepath.Join(tools, tool))).To(Succeed())
			}
			if !c.noGo {
				g.Expect(os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\necho installs $2 into $GOBIN\n"), 0o700)).To(Succeed())
			}
			got := script(t, ".", "install.sh", map[string]string{
				"VERSION": "v9.9.9", "RELEASES": releases.URL, "MODULE": "example.com/moult", "PATH": tools,
			}, folder)
			g.Expect(got.code).To(Equal(c.code), got.out+got.errOut)
			g.Expect(got.out + got.errOut).To(ContainSubstring(c.says))
			if c.exists {
				g.Expect(os.ReadFile(filepath.Join(folder, "moult"))).To(BeEquivalentTo(binary))
			} else {
				g.Expect(filepath.Join(folder, "moult")).NotTo(BeAnExistingFile())
			}
		})
	}
}
