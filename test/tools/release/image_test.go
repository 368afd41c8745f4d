package main

import (
	"archive/tar"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	. "github.com/onsi/gomega"
)

const platform = "linux/" + runtime.GOARCH

// commit is a copy of the repository that nobody changes meanwhile.
func commit(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "git", "clone", "--quiet", "--shared", "../../..", root).CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(said))
	return root
}

// built builds the image of this machine's architecture, and returns what the layout says of it.
func built(t *testing.T, root, out string) (v1.Hash, v1.Image) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(run(t.Context(), root, out, "moult-controller", []string{platform})).To(Succeed())
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "oci"))
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	of, err := inner.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(of.Manifests[0].Platform.String()).To(Equal(platform))
	image, err := inner.Image(of.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	return manifest.Manifests[0].Digest, image
}

func TestTheImage(t *testing.T) {
	root, out := commit(t), t.TempDir()
	digest, image := built(t, root, out)
	files := extract(t, image)

	t.Run("runs as nobody in particular", func(t *testing.T) {
		g := NewWithT(t)
		config, err := image.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(config.Config.User).To(Equal("65532:65532"))
		g.Expect(config.Config.Entrypoint).To(Equal([]string{"/moult-controller"}))
		g.Expect(config.Config.Labels).To(HaveKeyWithValue("org.opencontainers.image.revision", MatchRegexp("^[0-9a-f]{40}$")))
		g.Expect(config.Platform().String()).To(Equal(platform))
	})
	t.Run("holds two programs and the bill, and nothing to write to", func(t *testing.T) {
		g := NewWithT(t)
		modes := map[string]int64{}
		for name, file := range files {
			g.Expect(file.Uid + file.Gid).To(BeZero())
			modes[name] = file.Mode
		}
		g.Expect(modes).To(Equal(map[string]int64{"moult-controller": 0o555, "moult": 0o555, billPath: 0o444}))
	})
	t.Run("holds programs that need nothing around them", func(t *testing.T) {
		for _, name := range []string{"moult-controller", "moult"} {
			g := NewWithT(t)
			program, err := elf.Open(files[name].path)
			g.Expect(err).NotTo(HaveOccurred())
			for _, part := range program.Progs {
				g.Expect(part.Type).NotTo(Equal(elf.PT_INTERP), "%s is linked dynamically", name)
			}
			g.Expect(program.Close()).To(Succeed())
			said, err := exec.CommandContext(t.Context(), files[name].path, "--version").Output()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(said)).To(HavePrefix(name + " "))
		}
	})
	t.Run("has a bill of what is in it", func(t *testing.T) {
		g := NewWithT(t)
		inside, err := os.ReadFile(files[billPath].path)
		g.Expect(err).NotTo(HaveOccurred())
		beside, err := os.ReadFile(filepath.Join(out, fileName("moult-controller", platform)+".cdx.json"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(inside).To(Equal(beside))
		var bill struct {
			BOMFormat  string `json:"bomFormat"`
			Components []struct{ Name, Version, Purl string }
		}
		g.Expect(json.Unmarshal(inside, &bill)).To(Succeed())
		g.Expect(bill.BOMFormat).To(Equal("CycloneDX"))
		// `go version -m` reads the same record with other code.
		listed, err := exec.CommandContext(t.Context(), "go", "version", "-m", files["moult-controller"].path).Output()
		g.Expect(err).NotTo(HaveOccurred())
		want := []string{"pkg:golang/std@" + strings.TrimSpace(strings.SplitN(strings.SplitN(string(listed), "\n", 2)[0], ": ", 2)[1])}
		for _, line := range strings.Split(string(listed), "\n") {
			if fields := strings.Fields(line); len(fields) > 2 && fields[0] == "dep" {
				want = append(want, "pkg:golang/"+fields[1]+"@"+strings.ReplaceAll(fields[2], "+", "%2B"))
			}
		}
		var have []string
		for _, component := range bill.Components {
			have = append(have, component.Purl)
		}
		g.Expect(have).To(ConsistOf(want))
		g.Expect(have).To(ContainElement(HavePrefix("pkg:golang/sigs.k8s.io/controller-runtime@v")))
	})
	t.Run("is the same when it is built again", func(t *testing.T) {
		again, _ := built(t, root, t.TempDir())
		NewWithT(t).Expect(again).To(Equal(digest))
	})
}

type extracted struct {
	*tar.Header
	path string
}

// extract are the files of an image, on this machine's disk.
func extract(t *testing.T, image v1.Image) map[string]extracted {
	t.Helper()
	g := NewWithT(t)
	content := mutate.Extract(image)
	defer content.Close()
	dir, files := t.TempDir(), map[string]extracted{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		g.Expect(err).NotTo(HaveOccurred())
		if header.Typeflag == tar.TypeDir {
			continue
		}
		name := strings.TrimPrefix(header.Name, "/")
		body, err := io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(dir, filepath.Base(name))
		g.Expect(os.WriteFile(path, body, 0o700)).To(Succeed())
		files[name] = extracted{header, path}
	}
}
