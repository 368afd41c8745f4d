package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	. "github.com/onsi/gomega"
)

// place is where a release is published: a registry on loopback, and a key.
type place struct {
	dist, host string
	env        []string // with the programs on the PATH
	tools      string
}

// published publishes a copy of a release as the workflow does, but for the key and the registry.
func published(t *testing.T, out string) place {
	t.Helper()
	g := NewWithT(t)
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	p := place{dist: filepath.Join(t.TempDir(), "dist"), host: strings.TrimPrefix(server.URL, "http://"), tools: t.TempDir()}
	g.Expect(os.CopyFS(p.dist, os.DirFS(out))).To(Succeed())
	pinned(t, p.tools, "../cosign", "github.com/sigstore/cosign/v3/cmd/cosign")
	pinned(t, p.tools, ".", "github.com/google/go-containerregistry/cmd/crane")
	pinned(t, p.tools, "../helm", "helm.sh/helm/v4/cmd/helm")
	p.env = append(os.Environ(), "PATH="+p.tools+":"+os.Getenv("PATH"), "HOME="+t.TempDir(), "COSIGN_PASSWORD=")
	p.run(t, "cosign", "generate-key-pair")

	owner, err := os.ReadFile("owner.env")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(filepath.Join(p.tools, "owner.env"), bytes.ReplaceAll(owner, []byte("registry.example.com"), []byte(p.host)), 0o600)).To(Succeed())
	script, err := filepath.Abs("publish.sh")
	g.Expect(err).NotTo(HaveOccurred())
	p.env = append(p.env, "CRANE=crane", "HELM=helm", "COSIGN=cosign", "HELM_FLAGS=--plain-http", "KEY=cosign.key", "OWNER="+filepath.Join(p.tools, "owner.env"))
	p.run(t, script, "v0.1.0", ".")
	return p
}

// pinned builds a program at the version that a module names.
func pinned(t *testing.T, into, module, path string) string {
	t.Helper()
	program := filepath.Join(into, filepath.Base(regexp.MustCompile(`/v\d+$`).ReplaceAllString(path, "")))
	command := exec.CommandContext(t.Context(), "go", "-C", module, "build", "-o", program, path)
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	said, err := command.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(said))
	return program
}

// try runs a program in the folder of the release.
func (p place) try(t *testing.T, name string, args ...string) (string, error) {
	t.Helper()
	if !strings.Contains(name, "/") {
		if own := filepath.Join(p.tools, name); exists(own) {
			name = own
		}
	}
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir, command.Env = p.dist, p.env
	said, err := command.CombinedOutput()
	return string(said), err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (p place) run(t *testing.T, name string, args ...string) string {
	t.Helper()
	said, err := p.try(t, name, args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), said)
	return said
}

// verifying are the commands of docs/install.md that verify a release, with the key in the place of the workflow.
func (p place) verifying(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	page, err := os.ReadFile("../../../docs/install.md")
	g.Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(page), "\n## Verify a release\n")
	g.Expect(found).To(BeTrue())
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	block = strings.ReplaceAll(block, "\\\n", "")
	var commands []string
	for line := range strings.Lines(block) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "registry.example.com", p.host)
		keyed := regexp.MustCompile(`--certificate-identity \S+\s+--certificate-oidc-issuer \S+`).ReplaceAllString(line, "--key cosign.pub --insecure-ignore-tlog=true")
		g.Expect(strings.HasPrefix(line, "cosign ")).To(Equal(keyed != line), line)
		commands = append(commands, keyed)
	}
	return commands
}

// isSigned publishes the release, verifies it by the documented commands, and sees what has been changed refused.
func isSigned(t *testing.T, out string) {
	t.Helper()
	g := NewWithT(t)
	p := published(t, out)
	commands := p.verifying(t)
	g.Expect(commands).To(HaveLen(4))
	for _, command := range commands {
		p.run(t, "bash", "-ec", command)
	}

	t.Run("and the documented command finds the chart, with the image by its digest", func(t *testing.T) {
		page, err := os.ReadFile("../../../docs/install.md")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		command := regexp.MustCompile(`(?m)^helm install moult oci://.*`).FindString(string(page))
		command = strings.Replace(strings.ReplaceAll(command, "registry.example.com", p.host), "helm install", "helm template --plain-http", 1)
		NewWithT(t).Expect(p.run(t, "bash", "-ec", command)).To(ContainSubstring("/moult/moult-controller@sha256:"))
	})
	t.Run("and a changed byte of the checksums is refused", func(t *testing.T) {
		g := NewWithT(t)
		path := filepath.Join(p.dist, "checksums.txt")
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { g.Expect(os.WriteFile(path, content, 0o600)).To(Succeed()) })
		changed := bytes.Clone(content)
		changed[0] ^= 1
		g.Expect(os.WriteFile(path, changed, 0o600)).To(Succeed())
		_, err = p.try(t, "bash", "-ec", commands[0])
		g.Expect(err).To(HaveOccurred())
	})
	t.Run("and an image that another has pushed is refused", func(t *testing.T) {
		g := NewWithT(t)
		reference := regexp.MustCompile(p.host + `\S+`).FindString(commands[2])
		p.run(t, "crane", "mutate", reference, "--label", "changed=yes", "--tag", reference+"-other", "--platform", platform)
		said, err := p.try(t, "bash", "-ec", strings.Replace(commands[2], reference, reference+"-other", 1))
		g.Expect(err).To(HaveOccurred())
		g.Expect(said).To(And(ContainSubstring("signature"), Not(ContainSubstring("MANIFEST_UNKNOWN"))))
	})
	t.Run("and another key is refused", func(t *testing.T) {
		g := NewWithT(t)
		p.run(t, "cosign", "generate-key-pair", "--output-key-prefix", "other")
		for i, command := range commands {
			if i == 1 {
				continue // sha256sum
			}
			_, err := p.try(t, "bash", "-ec", strings.Replace(command, "cosign.pub", "other.pub", 1))
			g.Expect(err).To(HaveOccurred(), command)
		}
	})
	t.Run("and the script of examples/ci installs it", func(t *testing.T) {
		g := NewWithT(t)
		files := filepath.Join(t.TempDir(), "releases")
		g.Expect(os.CopyFS(filepath.Join(files, "v0.1.0"), os.DirFS(p.dist))).To(Succeed())
		script, err := filepath.Abs("../../../examples/ci/scripts/install.sh")
		g.Expect(err).NotTo(HaveOccurred())
		p.env = append(p.env, "VERSION=v0.1.0", "RELEASES=file://"+files, "PUBLIC_KEY=cosign.pub")
		p.run(t, script, "bin")
		g.Expect(p.run(t, filepath.Join(p.dist, "bin", "moult"), "version")).To(HavePrefix("moult v0.1.0 "))
	})
}
