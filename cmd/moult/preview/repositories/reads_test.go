package repositories

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/moult-dev/moult/clusters/network"
	"github.com/moult-dev/moult/clusters/render"
)

// What a kustomization may be built of is known before it is built, and Kustomize reads nothing else that is there.
func TestKustomizeReadsNothingThatWasNotForeseen(t *testing.T) {
	read := 0
	for _, r := range readCorpus(t) {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.start.write(dir)).To(Succeed())
		for _, file := range r.start.paths() {
			if filepath.Base(file) != "kustomization.yaml" {
				continue
			}
			at := filepath.Dir(filepath.Join(dir, filepath.FromSlash(file)))
			local := render.Local(at, dir)
			_, _ = render.Folder(at, render.Options{Root: dir, Network: network.Offline(), Note: func(path string) { // what fails was read as far as it went
				short, err := filepath.Rel(dir, path)
				if err != nil || r.start[filepath.ToSlash(short)] == "" {
					return
				}
				read++
				foreseen := slices.ContainsFunc(local, func(known string) bool {
					return path == known || strings.HasPrefix(path, known+string(filepath.Separator)) && render.KustomizationIn(known) == ""
				})
				g.Expect(foreseen).To(BeTrue(), "%s: %s reads %s, beside %q", r.name, file, short, local)
			}})
		}
	}
	NewWithT(t).Expect(read).To(BeNumerically(">", 20), "files that were read")
}
