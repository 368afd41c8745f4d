package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"go.yaml.in/yaml/v3"
)

func TestARelease(t *testing.T) {
	g := NewWithT(t)
	root, out := commit(t), filepath.Join(t.TempDir(), "dist")
	r := release{version: "v0.1.0", out: out, kustomize: pinned(t, t.TempDir(), "../kustomize", "sigs.k8s.io/kustomize/kustomize/v5"), images: []string{platform}, programs: []string{platform, "windows/amd64"}}
	g.Expect(r.write(t.Context(), root)).To(Succeed())
	own := "moult_0.1.0_linux_" + runtime.GOARCH + ".tar.gz"

	t.Run("has these files", func(t *testing.T) {
		entries, err := os.ReadDir(out)
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		g.Expect(names).To(ConsistOf(own, "moult_0.1.0_windows_amd64.zip", "moult-linux-"+runtime.GOARCH+".cdx.json", "moult-windows-amd64.cdx.json",
			"moult-controller-0.1.0.oci.tar.gz", "moult-controller-linux-"+runtime.GOARCH+".cdx.json", "install.yaml", "install-references.yaml", "monitoring.yaml",
			"in-tree-migrator.yaml", "argocd-health.yaml", "crd-schemas.tar.gz", "moult-0.1.0.tgz", "moult.krew.yaml", "release-notes.md", "checksums.txt", "provenance.intoto.json"))
	})
	t.Run("has checksums that another program confirms", func(t *testing.T) {
		check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
		check.Dir = out
		said, err := check.CombinedOutput()
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred(), string(said))
		g.Expect(string(said)).To(ContainSubstring("provenance.intoto.json: OK"))
	})
	t.Run("has a program that names its version and commit, with license and completions", func(t *testing.T) {
		g := NewWithT(t)
		files := untar(t, filepath.Join(out, own))
		g.Expect(files).To(And(HaveLen(6), HaveKey("LICENSE"), HaveKeyWithValue("completions/moult.bash", ContainSubstring("bash completion"))))
		program := filepath.Join(t.TempDir(), "moult")
		g.Expect(os.WriteFile(program, []byte(files["moult"]), 0o700)).To(Succeed())
		said, err := exec.CommandContext(t.Context(), program, "version").Output()
		g.Expect(err).NotTo(HaveOccurred())
		head, err := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "HEAD").Output()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(said)).To(HavePrefix("moult v0.1.0 (commit " + string(head[:12]) + " of 20"))
	})
	t.Run("installs the image by the digest that the layout has", func(t *testing.T) {
		g := NewWithT(t)
		var index struct{ Manifests []struct{ Digest string } }
		g.Expect(json.Unmarshal([]byte(untar(t, filepath.Join(out, "moult-controller-0.1.0.oci.tar.gz"))["index.json"]), &index)).To(Succeed())
		for _, name := range []string{"install.yaml", "install-references.yaml"} {
			content, err := os.ReadFile(filepath.Join(out, name))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(content)).To(ContainSubstring("image: registry.example.com/moult/moult-controller@"+index.Manifests[0].Digest), name)
			g.Expect(strings.Contains(string(content), "- --references\n")).To(Equal(name == "install-references.yaml"), name)
		}
		chart := untar(t, filepath.Join(out, "moult-0.1.0.tgz"))
		g.Expect(chart["moult/Chart.yaml"]).To(And(ContainSubstring("\nversion: 0.1.0\n"), ContainSubstring("\nappVersion: v0.1.0\n")))
		var values struct {
			Image struct{ Repository, Digest string }
		}
		g.Expect(yaml.Unmarshal([]byte(chart["moult/values.yaml"]), &values)).To(Succeed())
		g.Expect(values.Image.Digest).To(Equal(index.Manifests[0].Digest))
		g.Expect(values.Image.Repository).To(Equal("registry.example.com/moult/moult-controller"))
	})
	t.Run("gives Argo CD its health check", func(t *testing.T) {
		content, err := os.ReadFile(filepath.Join(out, "argocd-health.yaml"))
		g := NewWithT(t)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(content)).To(And(ContainSubstring("name: argocd-cm"), ContainSubstring("namespace: argocd"),
			ContainSubstring("resource.customizations.health.moult.dev_VersionRemoval")))
	})
	t.Run("has a schema for each kind", func(t *testing.T) {
		g := NewWithT(t)
		var schema struct {
			Properties struct{ Spec struct{ Required []string } }
		}
		g.Expect(json.Unmarshal([]byte(untar(t, filepath.Join(out, "crd-schemas.tar.gz"))["moult.dev/versionremoval_v1alpha1.json"]), &schema)).To(Succeed())
		g.Expect(schema.Properties.Spec.Required).To(ContainElements("crdName", "versions"))
	})
	t.Run("has the notes of its own version", func(t *testing.T) {
		g := NewWithT(t)
		notes, err := os.ReadFile(filepath.Join(out, "release-notes.md"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(notes)).To(And(HavePrefix("# Moult v0.1.0\n\n### Added\n"), ContainSubstring("`moult-controller` migrates"), MatchRegexp("\nImage: `sha256:[0-9a-f]{64}`\n$")))
		g.Expect(string(notes)).To(ContainSubstring("](https://github.com/moult-dev/moult/blob/v0.1.0/docs/decisions/0013-the-gate-comes-last.md)"))
		g.Expect(string(notes)).NotTo(Or(ContainSubstring("](docs/"), ContainSubstring("\n## "), ContainSubstring("\n["), ContainSubstring("Unreleased")))
	})
	t.Run("is the same when it is written again", func(t *testing.T) {
		g := NewWithT(t)
		again := r
		again.out = filepath.Join(t.TempDir(), "dist")
		g.Expect(again.write(t.Context(), root)).To(Succeed())
		first, err := os.ReadFile(filepath.Join(out, "checksums.txt"))
		g.Expect(err).NotTo(HaveOccurred())
		second, err := os.ReadFile(filepath.Join(again.out, "checksums.txt"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(second)).To(Equal(string(first)))
	})
	t.Run("is a plug-in that krew accepts and installs", func(t *testing.T) { installsWithKrew(t, out) })
	t.Run("is signed when it is published", func(t *testing.T) { isSigned(t, out) })
}

func TestAReleaseIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ version, file, says string }{
		"for what is not committed":          {"v0.1.0", "LICENSE", "commit them first"},
		"for a file that Git does not know":  {"v0.1.0", "cmd/moult/more.go", "commit them first"},
		"without a section in the changelog": {"v0.1.1", "", "CHANGELOG.md has no section about 0.1.1"},
		"with the section of another":        {"v0.1.0-rc.1", "", "CHANGELOG.md has no section about 0.1.0-rc.1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			root, out := commit(t), filepath.Join(t.TempDir(), "dist")
			if c.file != "" {
				g.Expect(os.WriteFile(filepath.Join(root, c.file), []byte("package main\n"), 0o600)).To(Succeed())
			}
			g.Expect(release{version: c.version, out: out}.write(t.Context(), root)).To(MatchError(ContainSubstring(c.says)))
			g.Expect(out).NotTo(BeAnExistingFile(), "nothing is built before")
		})
	}
}

func TestAVersionThatIsNoneIsRefused(t *testing.T) {
	for _, version := range []string{"0.1.0", "v1", "v01.2.3", "v1.2.3/..", "latest"} {
		NewWithT(t).Expect(release{version: version}.write(t.Context(), ".")).To(MatchError(ContainSubstring("write it like v0.1.0")), version)
	}
}

// untar is what an archive holds.
func untar(t *testing.T, path string) map[string]string {
	t.Helper()
	g := NewWithT(t)
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	g.Expect(err).NotTo(HaveOccurred())
	files := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		g.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
		files[header.Name] = string(body)
	}
}
